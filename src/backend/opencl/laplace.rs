//! The Laplacian's hop on a device: `cl/laplace.cl`, all colour vectors of a site in one launch.

use lanefield_reference::field::ColourVectors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::LegOrder;
use lanefield_reference::links::DoubledGauge;

use super::Arg;
use super::backend::{Choices, DeviceField, DeviceStencil, OpenCl, osites};
use crate::backend::BackendError;

/// What `laplace.cl` is built for, beside precision and lanes.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct LaplaceChoices {
    link_reals: usize,
    legs: LegOrder,
    /// Colour vectors that a work-item takes.
    at_once: usize,
}

impl LaplaceChoices {
    /// The build options.
    pub fn options(&self) -> String {
        let Self { link_reals, legs, at_once } = self;
        let legs = legs.legs().into_iter().enumerate().map(|(k, leg)| format!(" -DLEG_{k}={}", leg.point()));
        format!(" -DLINK_REALS={link_reals} -DVECTORS_AT_ONCE={at_once}{}", legs.collect::<String>())
    }
}

/// Most colour vectors that one work-item takes where nobody chose: as for the hop; not measured.
const MOST_AT_ONCE: usize = 4;

impl OpenCl {
    /// out = laplace_hop(source), as `Backend::laplace_hop`.
    pub(super) fn launch_laplace_hop<R: Vectors>(
        &self,
        out: &mut DeviceField<R, ColourVectors>,
        stencil: &DeviceStencil,
        links: &DeviceField<R, DoubledGauge>,
        source: &DeviceField<R, ColourVectors>,
        legs: LegOrder,
    ) -> Result<(), BackendError> {
        let (lattice, sites, vectors) = (&stencil.lattice, stencil.sites, out.kind.count());
        links.check("the Laplacian's links", lattice, sites)?;
        out.check("the Laplacian's result", lattice, sites)?;
        source.check("the Laplacian's source", lattice, sites.neighbours())?;
        source.check_kind("the Laplacian's source", out)?;
        let program = self.program(self.variant::<R>(
            "laplace.cl",
            lattice.nsimd(),
            Choices::Laplace(LaplaceChoices {
                link_reals: links.kind.format.reals(),
                legs,
                at_once: self.at_once(vectors, MOST_AT_ONCE),
            }),
        ))?;
        let arguments = [
            Arg::Buffer(&out.buffer),
            Arg::Buffer(&links.buffer),
            Arg::Buffer(&source.buffer),
            Arg::Buffer(&stencil.neighbours),
            Arg::Buffer(&stencil.lane_steps),
            osites(out),
            Arg::U32(links.kind.boundary.mask()),
            Arg::U32(vectors as u32),
        ];
        self.launch_over_parts(
            &program,
            "laplace_hop",
            lattice.nsimd(),
            (vectors, out.osites()),
            self.at_once(vectors, MOST_AT_ONCE),
            &arguments,
        )
    }
}
