//! Errors of backends. The type is extensible: errors of a new backend are [`BackendError::Device`].

use std::error::Error;

use lanefield_reference::field::FieldError;
use lanefield_reference::kernels::domain_wall::DomainWallError;
use lanefield_reference::kernels::reduce::MergeError;
use lanefield_reference::layout::{Coordinate, Direction, LayoutError};
use lanefield_reference::links::LinkFormat;
use lanefield_reference::real::for_people;
use num_complex::Complex;
use thiserror::Error;

/// An error of a backend. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum BackendError {
    #[error("argument {argument} of {kernel} is {given}: expected {expected}")]
    Argument { kernel: &'static str, argument: String, given: String, expected: String },
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    DomainWall(#[from] DomainWallError),
    #[error(transparent)]
    Merge(#[from] MergeError),
    #[error(
        "block {block} of the clover term at site x,y,z,t = {} is singular with mass {}, csw_r {}, csw_t {}; \
         even-odd pieces need its inverse: change the mass, or act on the full lattice",
        site.map(|x| x.to_string()).join(","), for_people(*mass), for_people(*csw_r), for_people(*csw_t)
    )]
    SingularClover { site: Coordinate, block: usize, pivot: f64, mass: f64, csw_r: f64, csw_t: f64 },
    #[error(
        "mass {} and twisted mass mu {} make the {what} {} + i·γ5·{}, which is beyond {precision}: use finite numbers that are not too large, with 4 + mass \
         or mu not 0",
        for_people(*mass), for_people(*mu), for_people(diagonal.re), for_people(diagonal.im)
    )]
    TwistedMass { mass: f64, mu: f64, what: &'static str, diagonal: Complex<f64>, precision: &'static str },
    #[error(
        "HISQ fermions have fat and long links, which are not in SU(3): use reconstruct 18 instead of {}", format.reals()
    )]
    FatLinks { format: LinkFormat },
    #[error(
        "the smeared {direction} link of site x,y,z,t = {} has no unitary factor (|W W† − 1| is {defect:.1e}): it is singular or \
         nearly so, or links are not finite",
        site.map(|x| x.to_string()).join(",")
    )]
    SingularLink { site: Coordinate, direction: Direction, defect: f64 },
    #[error("failed to start a pool of {threads} threads: {reason}; use fewer (--threads N), or raise ulimit -u")]
    Threads { threads: usize, reason: String },
    #[error(transparent)]
    Device(Box<dyn Error + Send + Sync>),
}

impl BackendError {
    /// Wraps an error of a backend's own type.
    pub fn device(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Device(Box::new(error))
    }

    /// The wrapped error of a backend's own, if it has this type.
    pub fn of_device<E: Error + 'static>(&self) -> Option<&E> {
        match self {
            Self::Device(error) => error.downcast_ref(),
            _ => None,
        }
    }
}
