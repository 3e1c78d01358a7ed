//! The kernels that are tuned: those of the library that have a tuning of their own; their arguments; and the axes of their choices, by how the work of
//! a kernel is spread.

use std::fmt;
use std::time::{Duration, Instant};

use lanefield::backend::opencl::{
    Accumulators, Count, DeviceInfo, DeviceKind, GridStride, GroupSize, LaneForm, LinkLoads, LinkSharing, Mapping,
    Neighbours, OpenCl, Stores, Traversal, Tuned, Tuning,
};
use lanefield::backend::{BackendError, HostField, Sum};
use lanefield::in_precision;
use lanefield::kernel::{Case, CaseOn, CaseOptions, Geometry, Kernel, Outcome};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::layout::{AcceleratorThreads, Lattice, Parity, Sites};
use lanefield_reference::links::{BoundaryPhases, DoubledGauge, LinkFormat};
use lanefield_reference::real::{Precision, Real as _};

use super::search::{Axis, Trial};

/// The sites that kernels are timed on: solvers with even-odd preconditioning spend their time on one parity.
const SITES: Sites = Sites::Parity(Parity::Even);

/// A kernel to tune.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Subject {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// How its fields are stored.
    pub precision: Precision,
    /// How links are stored.
    pub links: LinkFormat,
    /// Spinors or colour vectors a site.
    pub parts: usize,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, precision, links, parts } = self;
        write!(f, "{kernel} {precision} reconstruct {links} x{parts}")
    }
}

impl Subject {
    /// The kernel with links of a configuration, and random fields.
    pub(super) fn case(&self, lattice: Lattice, links: &Configuration) -> Result<Case, BackendError> {
        let doubled = DoubledGauge { format: self.links, boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME };
        let options = CaseOptions::new(lattice, SITES, self.precision, doubled, self.parts);
        Case::new(self.kernel, &CaseOptions { configuration: Some(links), ..options })
    }
}

/// Those of some kernels that have a tuning of their own, with the components that they are usually for, in the precisions that they take of those asked
/// for, with links in each format.
pub fn subjects(kernels: &[&'static Kernel], precisions: &[Precision], links: &[LinkFormat]) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for &kernel in kernels.iter().filter(|kernel| kernel.tuned_as == Some(kernel.name)) {
        for &precision in precisions.iter().filter(|&&precision| kernel.takes(precision)) {
            let parts = kernel.usual_parts;
            subjects.extend(links.iter().map(|&links| Subject { kernel, precision, links, parts }));
        }
    }
    subjects
}

/// The axes of a kernel's choices on a device, the most promising first.
pub(super) fn axes(device: &DeviceInfo, subject: &Subject, lanes: usize) -> Vec<Axis> {
    const OPEN: Tuning = Tuning::OPEN;
    let Geometry::Stencil { stages, accumulates, splits, .. } = subject.kernel.geometry else { return Vec::new() };
    let (fits, several) = (|n: &usize| *n <= device.max_work_group_size, subject.parts > 1);
    let divides = |n: &usize| subject.parts.is_multiple_of(*n);
    let mut axes = Vec::new();
    /// Puts each value of an iterator into an axis, as the parameter of that name.
    macro_rules! axis {
        ($parameter:ident, $name:literal, $values:expr) => {
            let values = $values.into_iter().map(|value| Tuning { $parameter: Some(value), ..OPEN }).collect();
            axes.push(Axis { name: $name, values })
        };
    }
    if device.kind == DeviceKind::Cpu {
        axis!(lane_form, "lane-form", LaneForm::ALL);
    }
    if several {
        axis!(rhs_per_work_item, "rhs-per-work-item", [1, 2, 3, 4].into_iter().filter(divides).filter_map(Count::new));
        let mut groups = Vec::new();
        for per_group in [1, 2, 4, 8].into_iter().filter(|&n| n <= subject.parts) {
            for work_items in [64, 128, 256, 512].into_iter().filter(fits).filter(|n| *n >= per_group * lanes) {
                let (rhs_per_group, work_items) = (Count::new(per_group), Count::new(work_items));
                groups.push(Tuning { rhs_per_group, work_items, ..OPEN });
            }
        }
        axes.push(Axis { name: "group", values: groups });
    } else {
        let threads = [4, 8, 16, 32, 64].into_iter().filter(|threads| fits(&(threads * lanes)));
        axis!(accelerator_threads, "accelerator-threads", threads.filter_map(|n| AcceleratorThreads::new(n).ok()));
    }
    // Where the driver tells how many registers a kernel takes, the number of groups that stay is known.
    let groups: &[Option<usize>] = match (device.kind, device.platform_name.contains("NVIDIA")) {
        (_, true) => &[None],
        (DeviceKind::Cpu, _) => &[Some(1), Some(4)],
        _ => &[Some(2), Some(4), Some(8)],
    };
    let strides = groups.iter().map(|&groups| GridStride::On(groups));
    axis!(grid_stride, "grid-stride", std::iter::once(GridStride::Off).chain(strides));
    if accumulates {
        axis!(accumulators, "accumulators", Accumulators::ALL);
    }
    if device.limits_registers() {
        axis!(max_registers, "max-registers", [0, 64, 80, 96, 128]);
    }
    axis!(group_size, "group-size", GroupSize::ALL);
    axis!(link_loads, "link-loads", LinkLoads::ALL);
    axis!(stores, "stores", Stores::ALL);
    let blocks = [[8, 8, 4, usize::MAX], [4, 4, 4, 4], [usize::MAX, 4, 4, usize::MAX]].map(Traversal::Blocks);
    axis!(traversal, "traversal", std::iter::once(Traversal::Memory).chain(blocks));
    axis!(mapping, "mapping", Mapping::ALL);
    if stages {
        axis!(neighbours, "neighbours", Neighbours::ALL);
    }
    if stages && several {
        axis!(link_sharing, "link-sharing", LinkSharing::ALL);
    }
    if splits && several {
        let launches = [subject.parts, 4].into_iter().filter(divides).filter_map(Count::new);
        axis!(rhs_per_launch, "rhs-per-launch", launches);
    }
    axes
}

/// A kernel on an OpenCL device, in the layout of fields that this has now.
pub(super) struct KernelTrial<'b> {
    device: &'b mut OpenCl,
    case: &'b Case,
    held: CaseOn<OpenCl>,
    begin: Instant,
}

/// Launches of a sample: it shall take so long, that the clock of the device resolves it.
const SAMPLE: f64 = 1e-3;
/// At most.
const MOST_LAUNCHES: usize = 20;

impl<'b> KernelTrial<'b> {
    /// Ready to be searched. `begin`: when the clock of the search began.
    pub fn new(device: &'b mut OpenCl, case: &'b Case, begin: Instant) -> Result<Self, BackendError> {
        let held = case.on(&*device)?;
        Ok(Self { device, case, held, begin })
    }

    fn sample(&mut self, launches: usize) -> Result<f64, BackendError> {
        let Self { device, case, held, .. } = self;
        let mut launch = || held.launch(case, device, Sum::Exact).map(drop);
        let seconds = device.time(&mut || (0..launches).try_for_each(|_| launch()))?;
        Ok(seconds / launches as f64)
    }
}

impl Trial for KernelTrial<'_> {
    type Output = Outcome;

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
        fields.find_map(|((name, found), (_, expected))| Some(format!("{name}: {}", difference(found, expected)?)))
    }

    fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }
}

/// Where two fields in the same lanes differ first; any NaN is any other.
fn difference(found: &HostField, expected: &HostField) -> Option<String> {
    let shape = expected.shape();
    if found.shape() != shape {
        return Some(format!("a {} instead of a {}", found.shape().describe(), shape.describe()));
    }
    in_precision!(shape.precision, R => {
        let (found, expected) = (found.get::<R>()?.reals(), expected.get::<R>()?.reals());
        let place = found.iter().zip(expected).position(|(a, b)| !a.same_bits(*b))?;
        let [bits, expected_bits] = [found[place].bits(), expected[place].bits()];
        Some(format!("number {place} has the bits 0x{bits:x} instead of 0x{expected_bits:x}"))
    })
}
