//! Which of Lanefield's kernels are examined, and in which variant.

use clap::Args;
use lanefield::backend::{Backend as _, OpenCl};
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{Extents, LegOrder};
use lanefield_lab::doctor::{Examination, Machine, Observation, modelled};
use lanefield_lab::kernels::{NamedKernel, StencilSetup, with_kernel};
use lanefield_lab::{Timed as _, Variant};

use crate::bench::arguments::{LayoutArgs, StoredPrecision, VariantArgs, in_precision};

/// A kernel's fields and variant.
#[derive(Args)]
pub struct ProductArgs {
    /// Extents X.Y.Z.T [default: 32.32.32.32; 8.8.8.8 on CPUs]
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    /// Precision of fields
    #[arg(long, value_name = "PRECISION", default_value = "f32")]
    precision: StoredPrecision,
    #[command(flatten)]
    layout: LayoutArgs,
    /// Spinors or colour vectors a site [default: 1; 16 of a domain wall]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    spinors: Option<u16>,
    #[command(flatten)]
    variant: VariantArgs,
}

impl ProductArgs {
    /// The variant that was asked for.
    pub fn variant(&self) -> anyhow::Result<Variant> {
        self.variant.variant::<OpenCl>()
    }

    /// Observes a kernel in a variant; `other_groups`: whether it is tried in other work-groups.
    pub fn observe(
        &self,
        backend: &mut OpenCl,
        machine: &Machine,
        kernel: NamedKernel,
        variant: Variant,
        samples: usize,
        other_groups: bool,
    ) -> anyhow::Result<Observation> {
        in_precision!(self.precision, R => self.observe_in::<R>(backend, machine, kernel, variant, samples, other_groups))
    }

    fn observe_in<R: Vectors>(
        &self,
        backend: &mut OpenCl,
        machine: &Machine,
        kernel: NamedKernel,
        variant: Variant,
        samples: usize,
        other_groups: bool,
    ) -> anyhow::Result<Observation> {
        let usual = if machine.is_cpu { [8; 4] } else { [32; 4] };
        let extents = self.lattice.map_or_else(|| Extents::new(usual), Ok)?;
        let lattice = self.layout.lattice::<R, OpenCl>(backend, extents)?;
        let spinors = self.spinors.map_or(kernel.usual_spinors(), usize::from);
        let setup = StencilSetup { lattice, links: self.layout.links, legs: LegOrder::DEFAULT, spinors };
        // Fields are made in the layout of the variant.
        backend.choose(&variant)?;
        let modelled = modelled::<R>(backend, machine, kernel, &setup, &variant)?;
        let examination = Examination { variant, machine, lattice, samples, modelled, other_groups };
        backend.takes_links::<R>(setup.links)?;
        Ok(with_kernel::<R, _, _>(backend, kernel, setup, examination)??)
    }
}
