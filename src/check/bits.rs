//! Compares a kernel with itself on an OpenCL device, and with its reference implementation, bit for bit.

use std::cell::RefCell;

use lanefield_reference::layout::{DIMENSIONS, LaneWidth};
use lanefield_reference::prelude::*;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;

use super::cases::{CASES, Drawn, any_case, check, config, cpu, failed};
use crate::__private::{PlainImplementation, launch_plain, reduce_plain};
use crate::backend::opencl::{
    AccessWidth, Accumulators, Count, GridStride, GroupSize, LaneForm, LinkLoads, LinkSharing, Mapping, Neighbours,
    OpenCl, OpenClError, SiteOrder, Stores, Traversal, Tuning,
};
use crate::backend::select::device_for_tests;
use crate::backend::{BackendError, Sum};
use crate::kernel::{Case, Geometry, HostFunction, Kernel, Links, Outcome, PlainLinks};
use crate::verify::{Difference, compare_host_fields};

/// The number of cases that are run on the device.
const CASES_ON_A_DEVICE: u32 = 24;

/// Lane layouts of the test lattices on a device. A kernel that reads neighbours with vectors of lanes is built for one layout.
pub const CUTS: [[usize; DIMENSIONS]; 2] = [[1, 1, 1, 2], [2, 1, 2, 1]];

/// Field layouts and variants of kernels in which every value of every tuning parameter appears.
pub fn builds() -> [Tuning; 3] {
    let subdomains = Some(SiteOrder::Subdomains([2, 1, 2, 3]));
    let few_groups = Tuning {
        access: Some(AccessWidth::Word),
        site_order: subdomains,
        accumulators: Some(Accumulators::Registers),
        link_loads: Some(LinkLoads::Ahead),
        grid_stride: Some(GridStride::On(Some(1))),
        group_size: Some(GroupSize::Required),
        lane_form: Some(LaneForm::WorkItems),
        neighbours: Some(Neighbours::LocalMemory),
        link_sharing: Some(LinkSharing::Shared),
        ..Tuning::OPEN
    };
    let sites_first = Tuning {
        access: Some(AccessWidth::Eight),
        site_order: subdomains,
        accumulators: Some(Accumulators::LocalMemory),
        grid_stride: Some(GridStride::Slice),
        mapping: Some(Mapping::SiteFast),
        group_size: Some(GroupSize::Required),
        lane_form: Some(LaneForm::WorkItems),
        neighbours: Some(Neighbours::LocalMemory),
        link_sharing: Some(LinkSharing::Shared),
        ..Tuning::OPEN
    };
    let most = Tuning {
        access: Some(AccessWidth::Sixteen),
        site_order: Some(SiteOrder::Lexicographic),
        accumulators: Some(Accumulators::Registers),
        link_loads: Some(LinkLoads::PastL1),
        stores: Some(Stores::Streaming),
        grid_stride: Some(GridStride::On(None)),
        traversal: Some(Traversal::Blocks([1, 2, 3, 1])),
        mapping: Some(Mapping::SiteFast),
        group_size: Some(GroupSize::Any),
        max_registers: Some(64),
        lane_form: Some(LaneForm::Vectors),
        neighbours: Some(Neighbours::LocalMemory),
        link_sharing: Some(LinkSharing::Each),
        ..Tuning::OPEN
    };
    [few_groups, sites_first, most]
}

/// The properties of a case that one build of a kernel depends on.
struct BuildWay {
    precision: Precision,
    nodes: [usize; DIMENSIONS],
    /// Extents of the lattices, as multiples of the smallest ones.
    factors: &'static [[usize; DIMENSIONS]],
    format: LinkFormat,
    tuning: Tuning,
}

impl BuildWay {
    /// The builds of a kernel: the usual ones first, and for a kernel that reads neighbours also those of [`builds`]. A kernel that is
    /// wrong in every build is thus reported in a usual one.
    fn of(kernel: &'static Kernel) -> impl Iterator<Item = Self> {
        use LinkFormat::{Eight, Full, TwoRows};
        use Precision::{F32, F64, Half};
        const LATTICES: &[[usize; DIMENSIONS]] = &[[1, 1, 1, 1], [3, 1, 2, 1], [2, 1, 1, 3]];
        let [few_groups, sites_first, most] = builds();
        let rhs = Tuning { rhs_per_work_item: Count::new(2), rhs_per_group: Count::new(2), ..Tuning::OPEN };
        let is_stencil = matches!(kernel.geometry, Geometry::Stencil { .. });
        let ways = [
            (F32, CUTS[0], LATTICES, Full, Tuning::OPEN),
            (F64, CUTS[1], LATTICES, TwoRows, Tuning::OPEN),
            // Site orders and traversals are built for the extents.
            (Half, CUTS[0], &LATTICES[2..], Eight, if is_stencil { few_groups } else { Tuning::OPEN }),
            (F32, CUTS[1], &LATTICES[1..2], TwoRows, rhs.or(sites_first)),
            (F64, CUTS[0], &LATTICES[2..], Full, most),
        ];
        ways.into_iter()
            .take(if is_stencil { 5 } else { 3 })
            .map(|(precision, nodes, factors, format, tuning)| Self { precision, nodes, factors, format, tuning })
            .filter(|way| kernel.precisions.contains(&way.precision))
    }

    /// The cases that use this build.
    fn cases(&self, kernel: &'static Kernel) -> BoxedStrategy<Drawn> {
        let Self { precision, nodes, format, tuning, .. } = *self;
        let cuts: Vec<usize> = (0..DIMENSIONS).flat_map(|d| vec![d; nodes[d].ilog2() as usize]).collect();
        let bytes = (1 << cuts.len()) * precision.scalar().bytes();
        let width = LaneWidth::new(bytes).unwrap_or(LaneWidth::DEFAULT);
        let here = move |(drawn, factors): (Drawn, [usize; DIMENSIONS])| Drawn {
            precision,
            width,
            cuts: cuts.clone(),
            factors,
            format: if kernel.reads_links() { format } else { LinkFormat::Full },
            // Links that are not unitary cannot be stored as 8 reals.
            links: if drawn.links.formats().contains(&format) { drawn.links } else { Links::Hot },
            // Each kind of sum is a separate program.
            tree: precision == Precision::F64,
            tuning,
            ..drawn
        };
        (any_case(kernel, true), select(self.factors)).prop_map(here).boxed()
    }
}

/// Compares two outcomes bit for bit.
pub(crate) fn compare(found: &Outcome, expected: &Outcome) -> Result<(), TestCaseError> {
    for ((name, found), (_, expected)) in found.fields.iter().zip(&expected.fields) {
        if let (Some(mismatch), _) = compare_host_fields(found, expected).map_err(failed)? {
            return Err(TestCaseError::fail(format!("field {name} differs: {mismatch}{}", mismatch.unwritten())));
        }
    }
    for (number, (&found, &expected)) in found.sums.iter().zip(&expected.sums).enumerate() {
        if let Some(difference) = Difference::between(found, expected) {
            return Err(TestCaseError::fail(format!("sum {number} is {difference}")));
        }
    }
    match found.sums.len() == expected.sums.len() {
        true => Ok(()),
        false => Err(TestCaseError::fail(format!("{} sums instead of {}", found.sums.len(), expected.sums.len()))),
    }
}

/// The device that the environment selects. `None` if tests may run without a device.
///
/// # Panics
/// If there is no device, unless `LANEFIELD_SKIP_OPENCL` is 1.
pub fn device() -> Option<OpenCl> {
    let info = device_for_tests().unwrap_or_else(|error| panic!("{error}"))?;
    Some(OpenCl::open(&info).unwrap_or_else(|error| panic!("failed to open {}: {error}", info.name)))
}

/// Runs a case with a tuning. If the kernel as built does not accept work-groups of that size, runs it with the default of the device.
pub(crate) fn run_tuned(device: &mut OpenCl, case: &Case, tuning: Tuning, sum: Sum) -> Result<Outcome, BackendError> {
    device.set_tuning(tuning);
    match case.run(&*device, sum) {
        Err(error) if matches!(error.of_device(), Some(OpenClError::LocalSize { .. })) => {
            device.set_tuning(Tuning::OPEN);
            case.run(&*device, sum)
        }
        done => done,
    }
}

/// Checks that a kernel has the same bits on an OpenCL device as on the CPU, and that its kernel function is valid.
///
/// # Panics
/// With the smallest case that differs; if there is no device, unless `LANEFIELD_SKIP_OPENCL` is 1.
pub fn backends(kernel: &'static Kernel) {
    if let crate::kernel::KernelSource::Body(body) = kernel.source
        && let Err(error) = body.program(kernel.name, LegOrder::DEFAULT)
    {
        panic!("{error}");
    }
    let Some(device) = device() else { return };
    let (cpu, device) = (cpu(), RefCell::new(device));
    let has_the_same_bits = |drawn: &Drawn| {
        let (mut case, _) = drawn.case(kernel)?;
        let expected = case.run(&cpu, drawn.sum()).map_err(failed)?;
        case.spoil_outputs();
        let found = run_tuned(&mut device.borrow_mut(), &case, drawn.tuning, drawn.sum()).map_err(failed)?;
        compare(&found, &expected)
    };
    if config(CASES_ON_A_DEVICE).1 {
        return check(kernel, (CASES_ON_A_DEVICE, any_case(kernel, true)), has_the_same_bits);
    }
    let ways: Vec<BuildWay> = BuildWay::of(kernel).collect();
    for way in &ways {
        check(kernel, (CASES_ON_A_DEVICE / ways.len() as u32, way.cases(kernel)), has_the_same_bits);
    }
}

/// Checks that a kernel has the same bits as its reference implementation.
///
/// # Panics
/// With the smallest case that differs.
pub fn twin<T: PlainImplementation>(kernel: &'static Kernel) {
    let cpu = cpu();
    check(kernel, (CASES, any_case(kernel, false)), |drawn| {
        let (mut case, configuration) = drawn.case(kernel)?;
        let links = PlainLinks { configuration: &configuration, boundary: drawn.boundary };
        let plain = match kernel.cpu {
            HostFunction::Reduce(_) => HostFunction::Reduce(reduce_plain::<T> as _),
            _ => HostFunction::Launch(launch_plain::<T> as _),
        };
        let expected = case.run_plain(&cpu, plain, &links, drawn.sum()).map_err(failed)?;
        case.spoil_outputs();
        compare(&case.run(&cpu, drawn.sum()).map_err(failed)?, &expected)
    });
}
