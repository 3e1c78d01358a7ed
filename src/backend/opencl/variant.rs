//! Programs by what is chosen when they are built, and the build options for it.

use lanefield_reference::layout::LegOrder;

use super::lanes::WorkItemLanes;
use super::laplace::LaplaceChoices;
use super::reduce::SumChoices;
use super::tuning::Build;
use super::{AccessWidth, Accumulators};

/// A kernel file with the choices that are made when it is built.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Variant {
    pub file: &'static str,
    pub precision: u32,
    pub nsimd: usize,
    pub lanes: WorkItemLanes,
    pub access: AccessWidth,
    pub choices: Choices,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Choices {
    Hop {
        link_reals: usize,
        legs: LegOrder,
        at_once: usize,
        build: Build,
    },
    /// Of `clover.cl`: a product with blocks alone, or after a hop.
    CloverApply,
    CloverHop {
        link_reals: usize,
        legs: LegOrder,
        at_once: usize,
        many: bool,
        accumulators: Accumulators,
        build: Build,
    },
    Laplace(LaplaceChoices),
    DomainWall {
        at_once: usize,
    },
    Convert {
        from: u32,
        words: usize,
    },
    Sum(SumChoices),
    /// A file without choices.
    None,
}

impl Variant {
    pub(super) fn options(&self) -> String {
        let mut options =
            format!("-DPRECISION={} -DNSIMD={} -DACCESS_BYTES={}", self.precision, self.nsimd, self.access.bytes());
        options += &self.lanes.options();
        match &self.choices {
            Choices::Hop { link_reals, legs, at_once, build }
            | Choices::CloverHop { link_reals, legs, at_once, build, .. } => {
                options += &build.options();
                options += &format!(" -DLINK_REALS={link_reals} -DSPINORS_AT_ONCE={at_once}");
                for (k, leg) in legs.legs().iter().enumerate() {
                    options += &format!(" -DLEG_{k}={}", leg.point());
                }
                if let Choices::CloverHop { many, accumulators, .. } = self.choices {
                    options += if many { " -DMANY" } else { "" };
                    options += if accumulators == Accumulators::LocalMemory { " -DACCUMULATORS_IN_LOCAL" } else { "" };
                }
            }
            Choices::Laplace(choices) => options += &choices.options(),
            Choices::DomainWall { at_once } => options += &format!(" -DS_AT_ONCE={at_once}"),
            Choices::CloverApply => options += " -DAPPLY_ONLY",
            Choices::None => {}
            Choices::Sum(choices) => options += &choices.options(),
            Choices::Convert { from, words } => options += &format!(" -DFROM={from} -DWORDS={words}"),
        }
        options
    }
}
