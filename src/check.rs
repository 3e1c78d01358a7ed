//! Tests of kernels, what `check_kernel!` makes: a kernel against itself on an OpenCL device, against its twin in plain loops, and identities. Cases are
//! drawn over lattices, lanes, parities, precisions, links and how they are stored, numbers that are hard on arithmetic, orders of the legs, and
//! components a site. One that fails is shrunk to the least that does.
//!
//! Every run draws the same cases, and builds kernels for the device in the few ways that all kernels share, so that a compiler's cache has them from
//! the second run on. `PROPTEST_RNG_SEED=7` searches: it draws other cases, for the device over all lanes, layouts and tuning parameters, and nearly each
//! of these is a build. `PROPTEST_CASES` is the largest number of cases; `LANEFIELD_DEVICE` names the device, `LANEFIELD_SKIP_OPENCL=1` runs without one.

use std::cell::RefCell;
use std::fmt;

use lanefield_reference::field::{FieldShape, Object};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::layout::{
    Checkerboard, DIMENSIONS, Direction, Extents, LaneChoice, LaneWidth, Lattice, LatticeOptions, Leg, LegOrder,
    Parity, Sites, TreePlan,
};
use lanefield_reference::links::{BoundaryPhases, DoubledGauge, LinkFormat, Phase};
use lanefield_reference::random::su3_random;
use lanefield_reference::real::Precision;
use num_complex::Complex;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};

use crate::backend::opencl::{
    AccessWidth, Accumulators, Count, GridStride, GroupSize, LaneForm, LinkLoads, LinkSharing, Mapping, Neighbours,
    OpenCl, OpenClError, SiteOrder, Stores, Traversal, Tuning,
};
use crate::backend::select::device_for_tests;
use crate::backend::{BackendError, Cpu, HostField, Sum};
use crate::kernel::plain::{PlainImplementation, launch_plain, reduce_plain};
use crate::kernel::{
    Access, BuildOption, Case, CaseOptions, FieldContents, Geometry, HostFunction, Kernel, Links, Numbers, Outcome,
    PlainLinks, TestData,
};
use crate::verify::{Difference, compare_host_fields};

/// Sites of a lattice, at most, beyond what its lanes make necessary.
const SITES: usize = 700;
/// Cases against the device.
const CASES_ON_A_DEVICE: u32 = 24;
/// Cases on the CPU.
const CASES: u32 = 96;
/// What identities may be off by, of the largest number: rounding of f64 over a few thousand operations.
const TOLERANCE: f64 = 1e-12;
/// The seed of every run for which `PROPTEST_RNG_SEED` gives no other.
const SEED: u64 = 43;

/// What differs between cases.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub precision: Precision,
    width: LaneWidth,
    /// The direction that each factor of two of the lanes cuts.
    cuts: Vec<usize>,
    factors: [usize; DIMENSIONS],
    sites: Sites,
    format: LinkFormat,
    pub boundary: BoundaryPhases,
    legs: LegOrder,
    direction: Direction,
    parts: usize,
    numbers: Numbers,
    links: Links,
    tree: bool,
    seed: u64,
    pub tuning: Tuning,
}

impl Drawn {
    fn lattice(&self) -> Option<Lattice> {
        let scalar = self.precision.scalar();
        let nsimd = self.width.nsimd(scalar).ok()?;
        let mut nodes = [1; DIMENSIONS];
        for k in 0..nsimd.ilog2() as usize {
            nodes[self.cuts[k % self.cuts.len()]] *= 2;
        }
        let checkerboard = if self.sites == Sites::Full { Checkerboard::FullOnly } else { Checkerboard::RedBlack };
        let mut extents = nodes.map(|n| if checkerboard == Checkerboard::RedBlack { 2 * n } else { n });
        for (d, factor) in self.factors.into_iter().enumerate() {
            if extents.iter().product::<usize>() * factor <= SITES {
                extents[d] *= factor;
            }
        }
        let options = LatticeOptions { lanes: LaneChoice::Width(self.width), nodes: Some(nodes), checkerboard };
        Lattice::new(Extents::new(extents).ok()?, scalar, options).ok()
    }

    fn links(&self) -> DoubledGauge {
        DoubledGauge { format: self.format, boundary: self.boundary }
    }

    fn data(&self) -> TestData {
        TestData::new(self.seed)
    }

    pub(crate) fn sum(&self) -> Sum {
        match TreePlan::new(64, 4) {
            Ok(plan) if self.tree => Sum::Tree(plan),
            _ => Sum::Exact,
        }
    }

    /// The arguments, and the configuration of which the links are.
    pub(crate) fn case(&self, kernel: &'static Kernel) -> Result<(Case, Configuration), TestCaseError> {
        let lattice = self.lattice().ok_or_else(|| TestCaseError::reject("no such lattice"))?;
        let failed = |error: &dyn fmt::Display| TestCaseError::fail(format!("no arguments for {kernel}: {error}"));
        // Of fields in another precision, any of them, if its lanes can hold the same sites.
        let converted = kernel.fields().any(|role| role.holds == FieldContents::Converted);
        let from = converted.then_some(Precision::ALL[self.seed as usize % Precision::ALL.len()]);
        if from.is_some_and(|from| lattice.in_scalar(from.scalar()).is_err()) {
            return Err(TestCaseError::reject("no such lattice in the other precision"));
        }
        let configuration =
            crate::in_precision!(self.precision, R => self.data().configuration::<R>(lattice.extents(), self.links));
        let configuration = configuration.map_err(|error| failed(&error))?;
        let options = CaseOptions {
            configuration: kernel
                .fields()
                .any(|role| matches!(role.holds, FieldContents::DoubledLinks | FieldContents::Links))
                .then_some(&configuration),
            legs: self.legs,
            direction: self.direction,
            numbers: self.numbers,
            data: self.data(),
            from,
            ..CaseOptions::new(lattice, self.sites, self.precision, self.links(), self.parts)
        };
        let case = Case::new(kernel, &options).map_err(|error| failed(&error))?;
        Ok((case, configuration))
    }
}

/// What a failure is reported with: all that makes the case.
impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            precision,
            width,
            sites,
            format,
            boundary,
            legs,
            direction,
            parts,
            numbers,
            links,
            seed,
            tuning,
            ..
        } = self;
        if let Some(lattice) = self.lattice() {
            write!(f, "lattice {}, cut {}, ", lattice.extents(), lattice.nodes())?;
        }
        write!(f, "{sites} sites, {precision}, {width}-byte lanes, {parts} components a site, {numbers} numbers, ")?;
        write!(
            f,
            "{links} links of {} reals, boundary {boundary}, legs {legs}, slices across {direction}, ",
            format.reals()
        )?;
        write!(f, "{} sums, seed {seed}, tuning {tuning}", if self.tree { "tree" } else { "exact" })
    }
}

/// All cases of a kernel; those that a device builds few kernels for.
pub(crate) fn any_case(kernel: &'static Kernel, on_device: bool) -> BoxedStrategy<Drawn> {
    let widths: Vec<LaneWidth> =
        LaneWidth::ALL.into_iter().filter(|width| !on_device || [16, 64].contains(&width.bytes())).collect();
    let phases = select(vec![Phase::Periodic, Phase::Antiperiodic, Phase::Fixed]);
    let format = if kernel.reads_links() { LinkFormat::ALL.to_vec() } else { vec![LinkFormat::Full] };
    let legs = if kernel.reads_links() {
        prop_oneof![3 => Just(LegOrder::DEFAULT), 1 => any_legs()].boxed()
    } else {
        Just(LegOrder::DEFAULT).boxed()
    };
    let layout = (
        select(kernel.precisions.to_vec()),
        select(widths),
        vec(0..DIMENSIONS, 1..5),
        prop::array::uniform4(1..4usize),
        select(vec![Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)]),
    );
    let links = (
        select(format),
        prop::array::uniform4(phases),
        if on_device { Just(LegOrder::DEFAULT).boxed() } else { legs },
        prop_oneof![
            Just(Links::Hot),
            select(vec![Numbers::Ordinary, Numbers::Wide, Numbers::Special]).prop_map(Links::Arbitrary)
        ],
    );
    let direction = if kernel.sums_over_slices() { Direction::ALL.to_vec() } else { vec![Direction::T] };
    let numbers =
        (1..6usize, select(direction), select(Numbers::ALL.to_vec()), any::<bool>(), any::<u64>().no_shrink());
    let tuning = if on_device { any_tuning(kernel).boxed() } else { Just(Tuning::OPEN).boxed() };
    let fixed = kernel.is_full_only();
    (layout, links, numbers, tuning)
        .prop_map(
            move |(
                (precision, width, cuts, factors, sites),
                (format, boundary, legs, links),
                (parts, direction, numbers, tree, seed),
                tuning,
            )| Drawn {
                precision,
                // None is left out, so that shrinking can go through each: 8 bytes hold no f64.
                width: if width.nsimd(precision.scalar()).is_ok() { width } else { LaneWidth::DEFAULT },
                cuts,
                factors,
                sites: if fixed { Sites::Full } else { sites },
                // Links that are not unitary cannot be stored as 8 reals.
                format: if links.formats().contains(&format) { format } else { LinkFormat::TwoRows },
                boundary: BoundaryPhases::new(boundary),
                legs,
                direction,
                parts,
                numbers,
                links,
                tree,
                seed,
                tuning,
            },
        )
        .boxed()
}

fn any_legs() -> impl Strategy<Value = LegOrder> {
    let order = |legs: Vec<Leg>| {
        let legs = legs.try_into().ok().and_then(|legs| LegOrder::new(legs).ok());
        legs.unwrap_or(LegOrder::DEFAULT)
    };
    Just(Leg::all().collect::<Vec<_>>()).prop_shuffle().prop_map(order)
}

/// How a device lays fields out, and builds and launches the kernel: few ways, each of which is built.
fn any_tuning(kernel: &'static Kernel) -> impl Strategy<Value = Tuning> {
    let is_stencil = matches!(kernel.geometry, Geometry::Stencil { .. });
    let takes_parts = kernel.options.iter().any(|option| matches!(option, BuildOption::PartsPerWorkItem(_)));
    let parameters: Vec<_> =
        Tuning::PARAMETERS.iter().filter(|parameter| is_stencil || parameter.name == "accelerator-threads").collect();
    let parameters: Vec<_> =
        parameters.into_iter().filter(|parameter| takes_parts || !parameter.name.starts_with("rhs-")).collect();
    let one = select(parameters).prop_flat_map(|parameter| (Just(parameter), select(parameter.tried.to_vec())));
    prop_oneof![1 => Just(Tuning::OPEN), 3 => vec(one, 1..3).prop_map(|set| {
        let mut tuning = Tuning::OPEN;
        for (parameter, value) in set {
            // The values are the parameter's own.
            let _ = parameter.set(&mut tuning, value);
        }
        tuning
    })]
}

/// How virtual nodes divide the lattices of tests on a device. A kernel that reads neighbours with vectors of lanes is built for one division.
pub const CUTS: [[usize; DIMENSIONS]; 2] = [[1, 1, 1, 2], [2, 1, 2, 1]];

/// Ways to lay fields out, and to build and launch kernels, in which every choice appears.
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

/// What a device builds one program of a kernel for.
struct BuildWay {
    precision: Precision,
    nodes: [usize; DIMENSIONS],
    /// Extents of the lattices over the least ones.
    factors: &'static [[usize; DIMENSIONS]],
    format: LinkFormat,
    tuning: Tuning,
}

impl BuildWay {
    /// Those of a kernel: usual builds, and of one that reads neighbours [`builds`]. Usual builds come first, so that a kernel that is wrong in
    /// every way is reported in the usual one.
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
            // Orders of sites and of launches are built for the extents.
            (Half, CUTS[0], &LATTICES[2..], Eight, if is_stencil { few_groups } else { Tuning::OPEN }),
            (F32, CUTS[1], &LATTICES[1..2], TwoRows, rhs.or(sites_first)),
            (F64, CUTS[0], &LATTICES[2..], Full, most),
        ];
        ways.into_iter()
            .take(if is_stencil { 5 } else { 3 })
            .map(|(precision, nodes, factors, format, tuning)| Self { precision, nodes, factors, format, tuning })
            .filter(|way| kernel.precisions.contains(&way.precision))
    }

    /// Cases that are built in this way.
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
            // Either kind of sum is another program.
            tree: precision == Precision::F64,
            tuning,
            ..drawn
        };
        (any_case(kernel, true), select(self.factors)).prop_map(here).boxed()
    }
}

/// How cases are drawn, and whether someone chose a seed.
fn config(cases: u32) -> (Config, bool) {
    let mut config = Config { failure_persistence: None, ..Config::default() };
    config.cases = cases.min(config.cases);
    let is_chosen = config.rng_seed != RngSeed::Random;
    if !is_chosen {
        config.rng_seed = RngSeed::Fixed(SEED);
    }
    (config, is_chosen)
}

/// Runs a test on the cases drawn, and panics with the least case that fails.
fn check(
    kernel: &'static Kernel,
    (cases, strategy): (u32, BoxedStrategy<Drawn>),
    test: impl Fn(&Drawn) -> Result<(), TestCaseError>,
) {
    let (config, _) = config(cases);
    match TestRunner::new(config).run(&strategy, |drawn| test(&drawn)) {
        Ok(()) => {}
        Err(TestError::Fail(reason, least)) => panic!("{kernel}: {reason}\nthe least case that fails: {least}"),
        Err(error) => panic!("{kernel}: {error}"),
    }
}

pub(crate) fn failed(error: impl fmt::Display) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

/// Compares what two sides gave, bit for bit.
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

fn cpu() -> Cpu {
    Cpu::new(None).unwrap_or_else(|error| panic!("failed to start the CPU backend: {error}"))
}

/// The device of the environment; `None` if tests may run without one.
///
/// # Panics
/// If there is no device, unless `LANEFIELD_SKIP_OPENCL` is 1.
pub fn device() -> Option<OpenCl> {
    let info = device_for_tests().unwrap_or_else(|error| panic!("{error}"))?;
    Some(OpenCl::open(&info).unwrap_or_else(|error| panic!("failed to open {}: {error}", info.name)))
}

/// Runs a case with a tuning, or, where the kernel as it was built takes no work-groups of that size, with the default of the device.
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

/// Checks that a kernel has the same bits on an OpenCL device as on the CPU, and that its body is one.
///
/// # Panics
/// With the least case that differs; if there is no device, unless `LANEFIELD_SKIP_OPENCL` is 1.
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

/// Checks that a kernel has the bits of its twin.
///
/// # Panics
/// With the least case that differs.
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

/// Cases of identities: f64, links of SU(3), ordinary numbers.
fn identities(kernel: &'static Kernel, sites: Option<Sites>) -> (u32, BoxedStrategy<Drawn>) {
    let ordinary = move |drawn: Drawn| {
        let width = if drawn.width.bytes() < 16 { LaneWidth::DEFAULT } else { drawn.width };
        let sites = sites.unwrap_or(drawn.sites);
        Drawn {
            precision: Precision::F64,
            links: Links::Hot,
            numbers: Numbers::Ordinary,
            tree: false,
            width,
            sites,
            ..drawn
        }
    };
    (CASES / 2, any_case(kernel, false).prop_map(ordinary).boxed())
}

/// The numbers of a field in site order.
fn numbers(field: &HostField) -> Vec<Complex<f64>> {
    field.get::<f64>().map_or_else(Vec::new, |field| field.to_site_order())
}

/// A field like another one, with these numbers.
fn with_numbers(like: &HostField, values: &[Complex<f64>]) -> Result<HostField, TestCaseError> {
    let FieldShape { lattice, sites, object, .. } = like.shape();
    let mut field = lanefield_reference::field::FieldData::<f64>::zeros(lattice, sites, object).map_err(failed)?;
    field.assign(values).map_err(failed)?;
    Ok(HostField::new(field))
}

/// The fields that a kernel reads, but links.
fn inputs(kernel: &'static Kernel) -> Vec<&'static str> {
    let reads = |access| matches!(access, Access::Read | Access::Update);
    let is_links = |holds| matches!(holds, FieldContents::DoubledLinks | FieldContents::Links);
    kernel.fields().filter(|role| reads(role.access) && !is_links(role.holds)).map(|role| role.name).collect()
}

/// Refuses numbers that differ by more than rounding.
fn close(what: &str, left: &[Complex<f64>], right: &[Complex<f64>]) -> Result<(), TestCaseError> {
    let largest = left.iter().chain(right).map(|x| x.norm()).fold(f64::MIN_POSITIVE, f64::max);
    let difference = left.iter().zip(right).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    match difference <= TOLERANCE * largest {
        true => Ok(()),
        false => Err(TestCaseError::fail(format!(
            "{what}: the two sides differ by {difference:e}, of numbers up to {largest:e}"
        ))),
    }
}

/// Which fields an identity is about. All others are held fixed, and so are links and scalars.
#[derive(Clone, Copy, Debug)]
pub struct IdentityFields {
    /// Those that a kernel reads; none for all that it reads.
    pub inputs: &'static [&'static str],
    /// Those that it writes; none for all that it writes.
    pub outputs: &'static [&'static str],
}

impl IdentityFields {
    /// All that a kernel reads and writes.
    pub const ALL: Self = Self { inputs: &[], outputs: &[] };

    /// # Panics
    /// If the kernel reads or writes no such field.
    fn of(self, kernel: &'static Kernel) -> [Vec<&'static str>; 2] {
        let writes = |access| matches!(access, Access::Write | Access::Update);
        let outputs = kernel.fields().filter(|role| writes(role.access)).map(|role| role.name).collect();
        let chosen = |named: &'static [&'static str], known: Vec<&'static str>, does: &str| {
            if let Some(unknown) = named.iter().find(|name| !known.contains(name)) {
                panic!("{kernel} {does} no field {unknown}: expected one of {}", known.join(", "));
            }
            if named.is_empty() { known } else { named.to_vec() }
        };
        [chosen(self.inputs, inputs(kernel), "reads"), chosen(self.outputs, outputs, "writes")]
    }
}

fn numbers_of(outcome: &Outcome, names: &[&str]) -> Vec<Complex<f64>> {
    outcome.fields.iter().filter(|(name, _)| names.contains(name)).flat_map(|(_, field)| numbers(field)).collect()
}

/// Checks that what a kernel writes is linear in these fields, all of them together.
///
/// # Panics
/// With the least case that is not; for names that are none of the kernel's.
pub fn linear(kernel: &'static Kernel, fields: IdentityFields) {
    let cpu = cpu();
    let [inputs, outputs] = fields.of(kernel);
    check(kernel, identities(kernel, None), |drawn| {
        let (a, b) = (Complex::new(0.75, -0.5), Complex::new(-1.25, 0.375));
        let (mut first, _) = drawn.case(kernel)?;
        let (second, _) = Drawn { seed: drawn.seed ^ 1, ..drawn.clone() }.case(kernel)?;
        let mut combined = first.clone();
        let mut of_second = first.clone();
        for &name in &inputs {
            let ([x, ..], [y, ..]) = (first.fields(name), second.fields(name)) else { continue };
            let sum: Vec<_> = numbers(x).into_iter().zip(numbers(y)).map(|(x, y)| a * x + b * y).collect();
            combined.replace(name, with_numbers(x, &sum)?);
            of_second.replace(name, y.clone());
        }
        first.set_legs(drawn.legs);
        let run =
            |case: &Case| case.run(&cpu, Sum::Exact).map(|outcome| numbers_of(&outcome, &outputs)).map_err(failed);
        let (x, y) = (run(&first)?, run(&of_second)?);
        let expected: Vec<_> = x.into_iter().zip(y).map(|(x, y)| a * x + b * y).collect();
        close("K(a x + b y) = a K(x) + b K(y)", &run(&combined)?, &expected)
    });
}

/// Checks that ⟨y, K x⟩ = ⟨K y, x⟩. K reads the vector as all inputs alike, and writes one field like it.
///
/// # Panics
/// With the least case where it is not; for names that are none of the kernel's.
pub fn hermitian(kernel: &'static Kernel, fields: IdentityFields) {
    adjoint(kernel, fields, 1.0, "⟨y, K x⟩ = ⟨K y, x⟩");
}

/// Checks that ⟨y, K x⟩ = −⟨K y, x⟩, as [`hermitian`].
///
/// # Panics
/// As [`hermitian`].
pub fn anti_hermitian(kernel: &'static Kernel, fields: IdentityFields) {
    adjoint(kernel, fields, -1.0, "⟨y, K x⟩ = −⟨K y, x⟩");
}

fn adjoint(kernel: &'static Kernel, fields: IdentityFields, sign: f64, what: &str) {
    let cpu = cpu();
    let [inputs, outputs] = fields.of(kernel);
    if fields.inputs.is_empty() && inputs.len() != 1 || outputs.len() != 1 {
        panic!(
            "{kernel} reads {} and writes {}: name the vector of this identity, hermitian(in = {}, out = {})",
            inputs.join(", "),
            outputs.join(", "),
            inputs.first().unwrap_or(&"…"),
            outputs.first().unwrap_or(&"…"),
        );
    }
    check(kernel, identities(kernel, Some(Sites::Full)), |drawn| {
        let (mut of_x, _) = drawn.case(kernel)?;
        let (other, _) = Drawn { seed: drawn.seed ^ 1, ..drawn.clone() }.case(kernel)?;
        let ([x, ..], [y, ..]) = (of_x.fields(inputs[0]), other.fields(inputs[0])) else { return Ok(()) };
        let (x, y) = (x.clone(), y.clone());
        let like = |name: &&&str| of_x.fields(name).first().is_some_and(|field| field.shape() != x.shape());
        if let Some(name) = inputs.iter().chain(&outputs).find(like) {
            panic!("{kernel}: {name} is no field like {}, so that they are not one vector", inputs[0]);
        }
        let mut of_y = of_x.clone();
        for name in &inputs {
            of_x.replace(name, x.clone());
            of_y.replace(name, y.clone());
        }
        let run =
            |case: &Case| case.run(&cpu, Sum::Exact).map(|outcome| numbers_of(&outcome, &outputs)).map_err(failed);
        let (kx, ky, x, y) = (run(&of_x)?, run(&of_y)?, numbers(&x), numbers(&y));
        let product =
            |a: &[Complex<f64>], b: &[Complex<f64>]| a.iter().zip(b).map(|(a, b)| a.conj() * b).sum::<Complex<f64>>();
        let size = (x.len() as f64).max(1.0) * kx.iter().map(|x| x.norm()).fold(0.0, f64::max);
        close(what, &[product(&y, &kx) / size], &[sign * product(&ky, &x) / size]).or_else(|error| {
            // Both sides may be next to nothing.
            let difference = (product(&y, &kx) - sign * product(&ky, &x)).norm();
            if difference <= TOLERANCE * size { Ok(()) } else { Err(error) }
        })
    });
}

/// Checks that `K[U^g](g x) = g K[U](x)` for gauge transformations g, of a kernel of colour vectors or spinors.
///
/// # Panics
/// With the least case where it is not.
pub fn covariant(kernel: &'static Kernel) {
    let cpu = cpu();
    check(kernel, identities(kernel, None), |drawn| {
        let lattice = drawn.lattice().ok_or_else(|| TestCaseError::reject("no such lattice"))?;
        let (case, configuration) = drawn.case(kernel)?;
        let gauge = GaugeTransformation { seed: drawn.seed, extents: lattice.extents() };
        let turned_links = gauge.of_links(&configuration).map_err(failed)?;
        let options = CaseOptions {
            configuration: Some(&turned_links),
            legs: drawn.legs,
            data: drawn.data(),
            ..CaseOptions::new(lattice, drawn.sites, drawn.precision, drawn.links(), drawn.parts)
        };
        let mut turned = Case::new(kernel, &options).map_err(failed)?;
        for name in inputs(kernel) {
            let [x, ..] = case.fields(name) else { continue };
            turned.replace(name, with_numbers(x, &gauge.of_field(x.shape().object, &numbers(x)))?);
        }
        let found = turned.run(&cpu, Sum::Exact).map_err(failed)?;
        let expected = case.run(&cpu, Sum::Exact).map_err(failed)?;
        for ((_, found), (_, expected)) in found.fields.iter().zip(&expected.fields) {
            let expected = gauge.of_field(expected.shape().object, &numbers(expected));
            close("K[U^g](g x) = g K[U](x)", &numbers(found), &expected)?;
        }
        Ok(())
    });
}

type SiteMatrix = [Complex<f64>; 9];

/// A random matrix of SU(3) at each site.
struct GaugeTransformation {
    seed: u64,
    extents: Extents,
}

impl GaugeTransformation {
    fn at(&self, site: usize) -> SiteMatrix {
        su3_random(self.seed, site as u64, 0)
    }

    /// U_μ(x) → g(x) U_μ(x) g(x + μ)†.
    fn of_links(&self, configuration: &Configuration) -> Result<Configuration, lanefield_reference::gauge::GaugeError> {
        let product = |a: &SiteMatrix, b: &SiteMatrix| -> SiteMatrix {
            std::array::from_fn(|i| (0..3).map(|k| a[3 * (i / 3) + k] * b[3 * k + i % 3]).sum())
        };
        let mut links = Vec::new();
        for site in 0..self.extents.volume() {
            for mu in 0..DIMENSIONS {
                let mut next = self.extents.coordinate(site);
                next[mu] = (next[mu] + 1) % self.extents[mu];
                let there = self.at(self.extents.site(next));
                let adjoint: SiteMatrix = std::array::from_fn(|i| there[3 * (i % 3) + i / 3].conj());
                let link: SiteMatrix = std::array::from_fn(|i| configuration.link(site, mu)[i]);
                links.extend(product(&product(&self.at(site), &link), &adjoint));
            }
        }
        Configuration::new(self.extents, links)
    }

    /// ψ(x) → g(x) ψ(x), of objects made of colour vectors; of others the same.
    fn of_field(&self, object: Object, psi: &[Complex<f64>]) -> Vec<Complex<f64>> {
        if !matches!(object, Object::Spinors(_) | Object::ColourVectors(_) | Object::HalfSpinor) {
            return psi.to_vec();
        }
        let words = object.words();
        let turned = |(site, object): (usize, &[Complex<f64>])| {
            let g = self.at(site);
            let word = |k: usize| (0..3).map(|b| g[3 * (k % 3) + b] * object[k - k % 3 + b]).sum();
            (0..words).map(word).collect::<Vec<_>>()
        };
        psi.chunks_exact(words).enumerate().flat_map(turned).collect()
    }
}
