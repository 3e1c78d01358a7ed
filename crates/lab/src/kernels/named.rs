//! The kernels that programs spend their time in, by name: one of each kind, to be timed or examined by itself.

use std::fmt;
use std::str::FromStr;

use lanefield::backend::{Backend, BackendError};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Parity, Sites};

use super::{
    BlasKernel, BlasKernels, CloverKernel, CloverKernels, HopKernels, KernelSet, LS, LaplaceKernels, StencilSetup,
};
use crate::Family;

const EVEN: Sites = Sites::Parity(Parity::Even);

/// A kernel by name. Stencils act onto one parity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NamedKernel {
    /// The Wilson hop.
    Hop,
    /// ψe = Mee⁻¹ Meo ψo.
    EoClover,
    /// χo = Moo χ − Moe ψe.
    OeClover,
    /// The hop of a domain wall: 16 spinors a site.
    DomainWallHop,
    /// The Laplacian's hop.
    Laplace,
    /// A vector operation, or a sum.
    Blas(BlasKernel),
}

impl NamedKernel {
    /// All of them, each with its name.
    pub const ALL: [(&'static str, Self); 10] = [
        ("hop", Self::Hop),
        ("EOClover", Self::EoClover),
        ("OEClover", Self::OeClover),
        ("domain-wall-hop", Self::DomainWallHop),
        ("laplace", Self::Laplace),
        ("axpy", Self::Blas(BlasKernel::Axpy)),
        ("axpy_norm", Self::Blas(BlasKernel::AxpyNorm)),
        ("cg_update", Self::Blas(BlasKernel::CgUpdate)),
        ("norm2", Self::Blas(BlasKernel::Norm2)),
        ("inner_product", Self::Blas(BlasKernel::InnerProduct)),
    ];

    /// Whether it reads links.
    pub fn has_links(self) -> bool {
        !matches!(self, Self::Blas(_))
    }

    /// Spinors or colour vectors a site that it is for, where nobody chose.
    pub fn usual_spinors(self) -> usize {
        if self == Self::DomainWallHop { LS } else { 1 }
    }
}

impl fmt::Display for NamedKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, kernel)| kernel == self).map_or("copy", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for NamedKernel {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        // The names that `estimate`, `access` and `occupancy` have are taken, too.
        let asked = match text.to_ascii_lowercase().as_str() {
            "clover-eo" | "eo_clover" => "EOClover",
            "clover-oe" | "oe_clover" => "OEClover",
            "domain-wall" | "domain_wall" => "domain-wall-hop",
            "laplace_hop" => "laplace",
            _ => text,
        };
        let known = Self::ALL.iter().find(|(name, _)| name.eq_ignore_ascii_case(asked));
        known.map(|(_, kernel)| *kernel).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            format!("'{text}' is no kernel: use {}", names.join(", "))
        })
    }
}

/// What is done with a kernel and the fields that it acts on.
pub trait KernelTask<B: Backend> {
    /// What it gives.
    type Output;
    /// Does it.
    fn run<S: KernelSet<B>>(self, backend: &mut B, set: &mut S, kernel: S::Kernel) -> Self::Output;
}

/// Makes the fields of a kernel, and does a task with it.
///
/// # Errors
/// What the backend reports: no room, say.
pub fn with_kernel<R: Vectors, B: Backend, T: KernelTask<B>>(
    backend: &mut B,
    kernel: NamedKernel,
    setup: StencilSetup,
    task: T,
) -> Result<T::Output, BackendError> {
    with_kernel_onto::<R, B, T>(backend, kernel, (setup, EVEN), task)
}

/// The same, where hops act onto `sites`; clover kernels have one parity each, and vector operations all sites.
///
/// # Errors
/// As [`with_kernel`].
pub fn with_kernel_onto<R: Vectors, B: Backend, T: KernelTask<B>>(
    backend: &mut B,
    kernel: NamedKernel,
    (setup, sites): (StencilSetup, Sites),
    task: T,
) -> Result<T::Output, BackendError> {
    Ok(match kernel {
        NamedKernel::Hop => {
            let mut set = HopKernels::<B, R>::new(backend, setup, sites, Family::Hop)?;
            task.run(backend, &mut set, Dagger::No)
        }
        NamedKernel::DomainWallHop => {
            let mut set = HopKernels::<B, R>::new(backend, setup, sites, Family::DomainWall)?;
            task.run(backend, &mut set, Dagger::No)
        }
        NamedKernel::EoClover | NamedKernel::OeClover => {
            let mut set = CloverKernels::<B, R>::new(backend, setup)?;
            let even_from_odd = kernel == NamedKernel::EoClover;
            let which = if even_from_odd { CloverKernel::EvenFromOdd } else { CloverKernel::OddFromEven };
            task.run(backend, &mut set, which(Dagger::No))
        }
        NamedKernel::Laplace => {
            let mut set = LaplaceKernels::<B, R>::new(backend, setup, sites)?;
            task.run(backend, &mut set, ())
        }
        NamedKernel::Blas(blas) => {
            let mut set = BlasKernels::<B, R>::new(backend, setup.lattice, setup.spinors)?;
            task.run(backend, &mut set, blas)
        }
    })
}
