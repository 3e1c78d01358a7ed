//! The random cases for a kernel (lattices, lanes, numbers, links, leg orders), and how a test runs through them.

use std::fmt;

use lanefield_reference::layout::{Checkerboard, DIMENSIONS, LaneWidth, TreePlan};
use lanefield_reference::links::{DoubledGauge, Phase};
use lanefield_reference::prelude::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};

use crate::backend::opencl::Tuning;
use crate::backend::{Cpu, Sum};
use crate::kernel::{BuildOption, Case, CaseOptions, FieldContents, Geometry, Kernel, Links, Numbers, TestData};

/// The maximum number of sites of a lattice, unless its lanes need more.
const SITES: usize = 700;
/// The number of cases on the CPU.
pub const CASES: u32 = 96;
/// The seed of every run for which `PROPTEST_RNG_SEED` is not set.
const SEED: u64 = 43;

#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    pub precision: Precision,
    pub width: LaneWidth,
    /// For each factor of two in the number of lanes, the direction that it divides.
    pub cuts: Vec<usize>,
    pub factors: [usize; DIMENSIONS],
    pub sites: Sites,
    pub format: LinkFormat,
    pub boundary: BoundaryPhases,
    pub legs: LegOrder,
    pub direction: Direction,
    pub parts: usize,
    pub numbers: Numbers,
    pub links: Links,
    pub tree: bool,
    pub seed: u64,
    pub tuning: Tuning,
}

impl Drawn {
    pub fn lattice(&self) -> Option<Lattice> {
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

    pub fn links(&self) -> DoubledGauge {
        DoubledGauge { format: self.format, boundary: self.boundary }
    }

    pub fn data(&self) -> TestData {
        TestData::new(self.seed)
    }

    /// The sum of the case. Trees have block sizes that every device supports.
    pub(crate) fn sum(&self) -> Sum {
        match TreePlan::with_warp(32, 4, 16) {
            Ok(plan) if self.tree => Sum::Tree(plan),
            _ => Sum::Exact,
        }
    }

    /// The arguments, and the configuration that the links were made from.
    pub(crate) fn case(&self, kernel: &'static Kernel) -> Result<(Case, Configuration), TestCaseError> {
        let lattice = self.lattice().ok_or_else(|| TestCaseError::reject("no such lattice"))?;
        let failed = |error: &dyn fmt::Display| TestCaseError::fail(format!("no arguments for {kernel}: {error}"));
        // A converted field may have any precision whose lanes can hold the same sites.
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

/// A failure is reported with everything that determines the case.
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

/// Any case of a kernel. With `on_device`, only those for which a device builds few kernels.
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
                // None is omitted, so that shrinking can try each; 8 bytes hold no complex f64.
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

/// Any tuning of a device. There are few of them, each of which is built.
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
            // The values come from the parameter itself.
            let _ = parameter.set(&mut tuning, value);
        }
        tuning
    })]
}

/// The configuration of proptest, and whether the user chose a seed.
pub fn config(cases: u32) -> (Config, bool) {
    let mut config = Config { failure_persistence: None, ..Config::default() };
    config.cases = cases.min(config.cases);
    let is_chosen = config.rng_seed != RngSeed::Random;
    if !is_chosen {
        config.rng_seed = RngSeed::Fixed(SEED);
    }
    (config, is_chosen)
}

/// Runs a test on the random cases. Panics with the smallest case that fails.
pub fn check(
    kernel: &'static Kernel,
    (cases, strategy): (u32, BoxedStrategy<Drawn>),
    test: impl Fn(&Drawn) -> Result<(), TestCaseError>,
) {
    let (config, _) = config(cases);
    match TestRunner::new(config).run(&strategy, |drawn| test(&drawn)) {
        Ok(()) => {}
        Err(TestError::Fail(reason, least)) => {
            // A panic that was silent while cases ran is repeated, with its line.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&least)));
            panic!("{kernel}: {reason}\nthe smallest case that fails: {least}")
        }
        Err(error) => panic!("{kernel}: {error}"),
    }
}

pub(crate) fn failed(error: impl fmt::Display) -> TestCaseError {
    TestCaseError::fail(error.to_string())
}

pub fn cpu() -> Cpu {
    Cpu::new(None).unwrap_or_else(|error| panic!("failed to start the CPU backend: {error}"))
}
