//! The kernels to tune, which are those with a tuning of their own, their arguments, and the tuning parameters to search, depending on how the work
//! of a kernel is distributed.

use std::time::Duration;

use lanefield::backend::opencl::{Count, DeviceInfo, DeviceKind, GridStride, OpenCl, Parameter, Tuned, Tuning};
use lanefield::kernel::{Case, CaseOn, Geometry, Kernel, Outcome};
use lanefield::prelude::*;
use lanefield::verify::compare_host_fields;
use lanefield_reference::layout::LayoutError;

use super::search::{Axis, Trial};
use crate::BenchCase;
use crate::ahead::{BuildAhead, KernelStep, Step};

/// The sites on which kernels are timed: solvers with even-odd preconditioning spend their time on one parity.
const SITES: Sites = Sites::Parity(Parity::Even);

/// The kernels among these that have a tuning of their own, with their usual number of components, in the requested precisions that they support,
/// with links in each format. If no lattice is given, it is a large one on GPUs, and a smaller one for several spinors.
pub fn subjects(
    kernels: &[&'static Kernel],
    precisions: &[Precision],
    links: &[LinkFormat],
    extents: Option<Extents>,
    (kind, lanes): (DeviceKind, LaneChoice),
) -> Result<Vec<BenchCase>, LayoutError> {
    let mut subjects = Vec::new();
    for &kernel in kernels.iter().filter(|kernel| kernel.tuned_as == Some(kernel.name)) {
        let usual = match (kind, kernel.usual_parts) {
            (DeviceKind::Cpu, 1) => [8, 8, 8, 16],
            (DeviceKind::Cpu, _) => [8, 8, 8, 8],
            (_, 1) => [32, 32, 32, 64],
            (_, _) => [16, 16, 32, 32],
        };
        let extents = extents.map_or_else(|| Extents::new(usual), Ok)?;
        for &precision in precisions.iter().filter(|&&precision| kernel.takes(precision)) {
            let case = |&links| BenchCase { kernel, extents, sites: SITES, precision, links, rhs: None, lanes };
            subjects.extend(links.iter().map(case));
        }
    }
    Ok(subjects)
}

pub(super) fn name_of(subject: &BenchCase) -> String {
    let BenchCase { kernel, precision, links, .. } = subject;
    format!("{kernel} {precision} reconstruct {links} x{}", subject.components())
}

/// The parameters with the largest gains come first, since a search may have to stop early.
const FIRST: [&str; 7] = [
    "lane-form",
    "accelerator-threads",
    "rhs-per-work-item",
    "work-items",
    "grid-stride",
    "accumulators",
    "max-registers",
];

/// The values to try for each tuning parameter of a kernel on a device. Parameters of the layout are left out, because it is the same for all
/// kernels, and so is what does not concern the kernel or does not fit the device. Work-items per group and right-hand sides per group are one
/// axis.
pub(super) fn axes(device: &DeviceInfo, subject: &BenchCase, lanes: usize) -> Vec<Axis> {
    let Geometry::Stencil { stages, accumulates, splits, .. } = subject.kernel.geometry else { return Vec::new() };
    let (parts, most) = (subject.components(), device.max_work_group_size);
    let concerned = |name: &str| match name {
        "access" | "site-order" | "rhs-per-group" => false,
        "accelerator-threads" => parts == 1,
        "rhs-per-work-item" | "work-items" => parts > 1,
        "rhs-per-launch" => parts > 1 && splits,
        "neighbours" => stages,
        "link-sharing" => parts > 1 && stages,
        "accumulators" => accumulates,
        "lane-form" => device.kind == DeviceKind::Cpu,
        "max-registers" => device.limits_registers(),
        _ => true,
    };
    let divides = |count: Count| parts.is_multiple_of(count.get());
    // If the driver reports the registers of a kernel, the number of grid-stride groups is known.
    let counts_groups = device.platform_name.contains("NVIDIA");
    let fits = |tuning: &Tuning| {
        let threads = tuning.accelerator_threads.map_or(1, |threads| threads.get());
        let side_by_side = tuning.rhs_per_group.map_or(1, Count::get);
        threads * lanes <= most
            && side_by_side <= parts
            && tuning.work_items.is_none_or(|items| (side_by_side * lanes..=most).contains(&items.get()))
            && tuning.rhs_per_work_item.is_none_or(divides)
            && tuning.rhs_per_launch.is_none_or(divides)
            && !matches!(tuning.grid_stride, Some(GridStride::On(groups)) if groups.is_none() != counts_groups)
    };
    let tried = |parameter: &Parameter| -> Vec<Tuning> {
        let values = parameter.tried.iter().filter_map(|value| {
            let mut tuning = Tuning::OPEN;
            parameter.set(&mut tuning, value).ok()?;
            Some(tuning)
        });
        values.filter(fits).collect()
    };
    let mut axes = Vec::new();
    for parameter in Tuning::PARAMETERS.iter().filter(|parameter| concerned(parameter.name)) {
        let mut values = tried(parameter);
        if parameter.name == "work-items" {
            let beside = Tuning::PARAMETERS.iter().filter(|beside| beside.name == "rhs-per-group").flat_map(tried);
            values = beside.flat_map(|beside| values.iter().map(move |value| beside.or(*value))).collect();
            values.retain(fits);
        }
        axes.push(Axis { name: parameter.name, values });
    }
    axes.sort_by_key(|axis| FIRST.iter().position(|name| *name == axis.name).unwrap_or(FIRST.len()));
    axes
}

/// A kernel on an OpenCL device, in its current layout of fields.
pub(super) struct KernelTrial<'b> {
    pub device: &'b mut OpenCl,
    pub case: &'b Case,
    pub held: CaseOn<OpenCl>,
    pub clock: &'b mut dyn FnMut() -> Duration,
    pub step: KernelStep,
    pub ahead: BuildAhead<'b>,
}

/// The least time of a sample in seconds, so that the device's clock resolves it.
const SAMPLE: f64 = 1e-3;
const MOST_LAUNCHES: usize = 20;

impl KernelTrial<'_> {
    fn sample(&mut self, launches: usize) -> Result<f64, BackendError> {
        let Self { device, case, held, .. } = self;
        let mut launch = || held.launch(case, device, Sum::Exact).map(drop);
        let seconds = device.time(&mut || (0..launches).try_for_each(|_| launch()))?;
        Ok(seconds / launches as f64)
    }
}

impl Trial for KernelTrial<'_> {
    type Output = Outcome;

    fn build_ahead(&mut self, choices: &[Tuning]) {
        let step = |choice: &Tuning| Step::Kernel(Box::new(KernelStep { tuned: Some(*choice), ..self.step.clone() }));
        (self.ahead)(self.device, choices.iter().map(step).collect());
    }

    fn run(&mut self, choice: &Tuning) -> Result<Outcome, String> {
        let Self { device, case, held, .. } = self;
        device.set_tuned(Tuned::fixed(*choice));
        let mut run = || {
            held.clear(case, device)?;
            let sums = held.launch(case, device, Sum::Exact)?;
            held.outcome(case, device, sums)
        };
        run().map_err(|error: BackendError| error.to_string())
    }

    fn time(&mut self, choice: &Tuning) -> Result<f64, String> {
        self.device.set_tuned(Tuned::fixed(*choice));
        let mut sampled = || {
            let one = self.sample(1)?;
            let launches = (SAMPLE / one.max(1e-9)) as usize;
            if launches <= 1 { Ok(one) } else { self.sample(launches.min(MOST_LAUNCHES)) }
        };
        sampled().map_err(|error: BackendError| error.to_string())
    }

    fn difference(&self, found: &Outcome, expected: &Outcome) -> Option<String> {
        let mut fields = found.fields.iter().zip(&expected.fields);
        fields.find_map(|((_, found), (_, expected))| match compare_host_fields(found, expected) {
            Ok((mismatch, _)) => mismatch.map(|mismatch| mismatch.to_string()),
            Err(error) => Some(error.to_string()),
        })
    }

    fn elapsed(&mut self) -> Duration {
        (self.clock)()
    }
}

#[cfg(test)]
mod tests {
    use lanefield::dynamic::HopKernel;
    use lanefield::kernel::{self, KernelSource};

    use super::*;
    use crate::machine::Machine;

    #[test]
    fn a_kernel_has_the_axes_of_its_geometry() {
        let device = Machine::named("h200").unwrap().device();
        let of = |kernels: &[&'static Kernel], precisions: &[Precision], links: &[LinkFormat]| {
            subjects(kernels, precisions, links, None, (device.kind, LaneChoice::Auto)).unwrap()
        };
        let names = |name: &str| -> Vec<&str> {
            let kernel = kernel::all().find(|kernel| kernel.name == name).unwrap();
            let [subject] = of(&[kernel], &[Precision::F32], &[LinkFormat::Full])[..] else { panic!("{name}") };
            let axes = axes(&device, &subject, 16);
            assert!(axes.iter().all(|axis| axis.values.len() > usize::from(axis.name != "rhs-per-launch")), "{axes:?}");
            axes.iter().map(|axis| axis.name).collect()
        };
        let of_all = ["grid-stride", "max-registers", "link-loads", "stores", "traversal", "mapping", "group-size"];
        let with = |first: &[&'static str], second: &[&'static str], last: &[&'static str]| -> Vec<&str> {
            [first, &of_all[..1], second, &of_all[1..], last].concat()
        };
        assert_eq!(names("hop"), with(&["accelerator-threads"], &[], &["neighbours"]));
        assert_eq!(names("eo_clover"), with(&["accelerator-threads"], &["accumulators"], &["neighbours"]));
        let of_several = ["rhs-per-work-item", "work-items"];
        // Hops that are written once are tuned for their usual number of components.
        let bodies = |kernel: &&Kernel| matches!(kernel.source, KernelSource::Body(_));
        for hop in HopKernel::all().map(HopKernel::kernel).filter(bodies) {
            let first = if hop.usual_parts > 1 { &of_several[..] } else { &["accelerator-threads"] };
            assert_eq!(names(hop.name), with(first, &[], &[]), "{hop}");
        }
        assert_eq!(names("hop_many"), with(&of_several, &[], &["neighbours", "link-sharing", "rhs-per-launch"]));
        assert!(of(&[&kernel::hop::HOP_DAGGER, &kernel::blas::AXPY], &Precision::ALL, &LinkFormat::ALL).is_empty());
    }
}
