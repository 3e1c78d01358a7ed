//! What the models say of one of Lanefield's kernels before it is run: how its wavefronts reach memory (`lanefield_lab::access`), and what it would take
//! (`lanefield_lab::estimate`).

use std::collections::BTreeMap;

use lanefield::backend::BackendError;
use lanefield::backend::opencl::{KernelChoice, OpenCl, StoredPrecision};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{AcceleratorThreads, LaneChoice, LaneWidth, Parity, Sites};

use super::DoctorError;
use super::machine::LINE;
use super::observation::{ArrayAccess, Machine};
use crate::access::{Array, ArrayCounts, Counts, KernelSetup, Launched, StencilKernel, kernel_arrays};
use crate::estimate::{self, KernelWork};
use crate::kernels::{BlasKernel, NamedKernel, StencilSetup};
use crate::{InWords as _, Variant};

/// What the models say.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Modelled {
    /// How wavefronts reach each array.
    pub accesses: Vec<ArrayAccess>,
    /// Seconds by the estimate; none where no machine is known for the device.
    pub seconds: Option<f64>,
}

/// The models' word on a kernel in a variant; nothing of kernels whose accesses they do not know.
///
/// # Errors
/// A kernel that cannot be laid out.
pub fn modelled<R: Vectors>(
    backend: &OpenCl,
    machine: &Machine,
    kernel: NamedKernel,
    setup: &StencilSetup,
    variant: &Variant,
) -> Result<Modelled, DoctorError> {
    let Some(kernel) = known(kernel) else { return Ok(Modelled::default()) };
    let sites = if kernel.family().is_some() { Sites::Parity(Parity::Even) } else { Sites::Full };
    let StencilSetup { lattice, links, legs, spinors: parts } = *setup;
    let precision = StoredPrecision::of::<R>();
    let chosen = chosen(variant);
    let choice = kernel.family().map_or(chosen, |family| {
        chosen.or(backend.choice(&backend.kernel_key::<R>(family, (&lattice, sites), links, parts)))
    });
    let access = backend.access();
    let laid_out = KernelSetup { kernel, precision, links, parts, lattice, sites, access, legs, choice };
    let launched = Launched::new(laid_out).map_err(BackendError::from)?;
    let accesses = if machine.wavefront > 1 { arrays(&launched, machine.wavefront) } else { Vec::new() };
    let seconds = match estimate::Machine::of_device(backend.context().info()) {
        None => None,
        Some(known) => {
            let known = estimate::Machine { copy_gb_per_second: machine.copy_bandwidth / 1e9, ..known };
            let width = LaneWidth::new(lattice.nsimd() * R::COMPLEX.bytes()).map_err(BackendError::from)?;
            let work = KernelWork {
                sites,
                parts,
                lanes: LaneChoice::Width(width),
                access: Some(access),
                choice,
                ..KernelWork::new(kernel, lattice.extents(), precision, links)
            };
            Some(estimate::stencil(&known, &work)?.prediction.seconds)
        }
    };
    Ok(Modelled { accesses, seconds })
}

/// The kernel under the name that the models have for it.
fn known(kernel: NamedKernel) -> Option<StencilKernel> {
    Some(match kernel {
        NamedKernel::Hop => StencilKernel::Hop,
        NamedKernel::EoClover => StencilKernel::CloverEo,
        NamedKernel::OeClover => StencilKernel::CloverOe,
        NamedKernel::DomainWallHop => StencilKernel::DomainWall,
        NamedKernel::Laplace => StencilKernel::Laplace,
        NamedKernel::Blas(BlasKernel::Axpy) => StencilKernel::Axpy,
        NamedKernel::Blas(BlasKernel::Copy) => StencilKernel::Copy,
        NamedKernel::Blas(BlasKernel::Norm2) => StencilKernel::Norm2,
        NamedKernel::Blas(_) => return None,
    })
}

/// What a variant chooses.
fn chosen(variant: &Variant) -> KernelChoice {
    let tuning = variant.build.tuning;
    KernelChoice {
        accelerator_threads: variant.threads.map(AcceleratorThreads::get),
        link_loads: tuning.link_loads,
        stores: tuning.stores,
        walk: tuning.walk,
        traversal: tuning.traversal,
        mapping: tuning.mapping,
        group_size: tuning.group_size,
        most_registers: tuning.most_registers,
        lane_form: tuning.lane_form,
        accumulators: variant.build.accumulators,
        neighbours: tuning.neighbours,
        link_sharing: tuning.link_sharing,
        ..KernelChoice::default()
    }
}

/// The counts of all legs of an array together.
fn arrays(launched: &Launched, wavefront: usize) -> Vec<ArrayAccess> {
    let mut all: BTreeMap<String, (Counts, usize)> = BTreeMap::new();
    // Tables are a few bytes a site, the same for all lanes, and stay in the first cache.
    let of_fields = |row: &ArrayCounts| !matches!(row.array, Array::Neighbours | Array::LaneSteps);
    for row in kernel_arrays(launched, wavefront, LINE).into_iter().filter(of_fields) {
        let name = format!("{:?}", row.array).to_lowercase();
        let (counts, widest) = all.entry(name).or_default();
        counts.accesses += row.counts.accesses;
        counts.asked_bytes += row.counts.asked_bytes;
        counts.distinct_bytes += row.counts.distinct_bytes;
        counts.transactions_32 += row.counts.transactions_32;
        counts.line_touches += row.counts.line_touches;
        *widest = (*widest).max(row.widest);
    }
    let mapping = launched.mapping.in_words();
    all.into_iter()
        .map(|(array, (counts, widest))| ArrayAccess {
            array,
            bytes: counts.distinct_bytes,
            efficiency: counts.sector_efficiency(),
            line_efficiency: counts.line_efficiency(LINE),
            pattern: format!(
                "{mapping}, {widest} bytes an access, {:.1} sectors of 32 bytes in {:.1} lines for one of a wavefront",
                counts.an_access(counts.transactions_32),
                counts.an_access(counts.line_touches)
            ),
        })
        .collect()
}
