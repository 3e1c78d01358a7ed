//! Random cases of sums over sites: every site object, every summing operation, exact sums and tree sums with random plans, and every way in which a
//! device can compute them. Lattices are tiny, so that there is one on each side of every block boundary, and many cases fit into a minute. Choices
//! for which a device has to build programs are drawn once per run, since a build takes longer than a thousand cases.

use std::fmt;

use lanefield_reference::field::{
    ColourMatrix, ComplexNumber, DoubledGauge, Gauge, HalfSpinor, Object, Propagator, Words,
};
use lanefield_reference::layout::{Checkerboard, LaneWidth, LayoutError, TreePlan};
use lanefield_reference::prelude::*;

use super::case::{Draws, cut, extents_within, sites_of};
use super::kernels::compare;
use super::report::Subject;
use super::rows::ReportRows;
use super::{Against, Tested, VerifyError, VerifyOptions};
use crate::backend::opencl::{Finish, SumForm, SumOptions};
use crate::backend::{Cpu, Sum};
use crate::kernel::{self, CaseOptions, Geometry, Kernel, KernelSource, Numbers, PlainLinks, TestData, reduce};

/// Site objects to draw from. Small ones are more frequent, since more of them fit into a minute.
const OBJECTS: [usize; 10] = [
    ComplexNumber::WORDS,
    ColourVectors::WORDS,
    HalfSpinor::WORDS,
    Spinors::WORDS,
    Spinors::WORDS,
    ColourMatrix::WORDS,
    ComplexNumber::WORDS,
    ColourVectors::WORDS,
    Gauge::WORDS,
    Propagator::WORDS,
];
/// The largest number of complex words of a field, unless its lanes need more.
const SMALL_FIELD: usize = 3000;
/// The smallest and the largest number of builds per run. One is added per this number of cases; exact and tree sums alternate.
const FEWEST_BUILDS: u64 = 4;
const MOST_BUILDS: u64 = 48;
const CASES_A_BUILD: u64 = 200;

/// The choices for which a device builds programs.
#[derive(Clone, Copy, PartialEq, Debug)]
struct SumCaseBuild {
    precision: Precision,
    width: LaneWidth,
    /// Threads per block and per warp of a tree sum.
    plan: Option<(usize, usize)>,
    options: SumOptions,
    /// The number of fields x in a pass of inner products.
    fields: usize,
    /// The site object, if the program is built for one.
    object: Option<usize>,
}

/// The kernels for which sums are checked. Sums per right-hand side need components, which random objects do not have.
pub(super) fn kernels() -> impl Iterator<Item = &'static Kernel> {
    let is_random =
        |kernel: &&Kernel| matches!(kernel.source, KernelSource::Library) && !kernel.is_of_right_hand_sides();
    kernel::all().filter(|kernel| kernel.sums()).filter(is_random)
}

/// The random sums of a run.
pub(super) struct SumCases<'o> {
    options: &'o VerifyOptions,
    builds: Vec<SumCaseBuild>,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct SumCase {
    number: u64,
    build: SumCaseBuild,
    lattice: Lattice,
    sites: Sites,
    object: Words,
    numbers: Numbers,
    sum: Sum,
    direction: Direction,
    data: TestData,
}

impl fmt::Display for SumCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, build, lattice, sites, object, numbers, sum, direction, .. } = self;
        let (extents, nodes, width) = (lattice.extents(), lattice.nodes(), lattice.width());
        let SumOptions { form, finish, group, .. } = build.options;
        write!(
            f,
            "case {number}: lattice {extents}, {width}-byte lanes, lane layout {nodes}, {sites} sites, {} words a site, ",
            object.0
        )?;
        write!(f, "{numbers} numbers, {sum} sum, slices across {direction}")?;
        if let Some(form) = form {
            write!(f, ", {form}")?;
        }
        if let Some(finish) = finish {
            write!(f, ", finished by {finish}")?;
        }
        if let Some(group) = group {
            write!(f, ", groups of {group}")?;
        }
        Ok(())
    }
}

impl<'o> SumCases<'o> {
    /// The sums of a run on a backend that can, or cannot, finish sums by retirement count. `widths` are those of f32 and of f64.
    pub(super) fn new(options: &'o VerifyOptions, widths: &[Vec<LaneWidth>; 2], can_retire: bool) -> Self {
        let count = (u64::from(options.sums) / CASES_A_BUILD).clamp(FEWEST_BUILDS, MOST_BUILDS);
        let build = |number: u64| {
            let mut draws = Draws::of_run(options.seed, 1 << 48 | number);
            let precision = Precision::OF_ARITHMETIC[(number % 2) as usize];
            let is_tree = number / 2 % 2 == 1;
            let width = draws.one_of(&widths[(number % 2) as usize]);
            let most = options.most_work_items.min(1024);
            let plans =
                [(1, 1), (2, 2), (8, 8), (32, 32), (32, 8), (64, 32), (96, 32), (128, 64), (256, 32), (1024, 32)];
            let plan = draws.one_of(&plans);
            let small = if most < 8 { (1, 1) } else { (8, 8) };
            let plan = if plan.0 <= most { plan } else { small };
            let bundle = draws.one_of(&[1, 2, 3, 4, 5, 12]);
            let form = draws.one_of(&[
                None,
                Some(SumForm::Fused(bundle)),
                Some(SumForm::Fused(bundle)),
                Some(SumForm::Staged(bundle)),
                // Large objects would make long programs.
                if options.few_programs { None } else { Some(SumForm::SerialWords) },
            ]);
            let finish = match draws.below(3) {
                0 if can_retire => Some(Finish::RetirementCount),
                1 => Some(Finish::SecondKernel),
                _ => None,
            };
            let group = draws.one_of(&[None, Some(1), Some(3), Some(32), Some(40), Some(64), Some(128)]);
            let group = group.filter(|&group| group <= most);
            let groups_per_unit = draws.one_of(&[None, Some(1), Some(5)]);
            // As for a GPU: in one build of eight on a CPU.
            let specialised = (number % 16 == 6 || number % 16 == 9).then_some(true);
            // Compiling a bundle of a large object in one work-item takes minutes.
            let object = match (form, specialised) {
                (Some(SumForm::SerialWords), _) => Some(draws.one_of(&OBJECTS[..6])),
                (_, Some(true)) => Some(draws.one_of(&OBJECTS)),
                _ => None,
            };
            let options = SumOptions { form, finish, group, groups_per_unit, specialised, ..SumOptions::default() };
            let fields = draws.one_of(&[1, 2, 3, 4]);
            SumCaseBuild { precision, width, plan: is_tree.then_some(plan), options, fields, object }
        };
        Self { options, builds: (0..count).map(build).collect() }
    }

    /// Case `number` of the run, which is sum number `index`.
    pub(super) fn case(&self, number: u64, index: u64) -> Result<SumCase, LayoutError> {
        let build = self.builds[(index % self.builds.len() as u64) as usize];
        let mut draws = Draws::of_case(self.options.seed, number);
        let scalar = build.precision.scalar();
        let drawn = draws.one_of(&OBJECTS);
        let object = Words(build.object.unwrap_or(drawn));
        let checkerboard = draws.one_of(&[Checkerboard::RedBlack, Checkerboard::FullOnly]);
        let nodes = cut(build.width.nsimd(scalar)?, &mut draws);
        let extents = extents_within(SMALL_FIELD / object.0, nodes, checkerboard, &mut draws);
        let options = LatticeOptions { lanes: LaneChoice::Width(build.width), nodes: Some(nodes), checkerboard };
        let lattice = Lattice::new(Extents::new(extents)?, scalar, options)?;
        let sum = match build.plan {
            None => Sum::Exact,
            Some((threads, warp)) => {
                Sum::Tree(TreePlan::with_warp(threads, draws.one_of(&[1, 2, 3, 4, 7, 16, 64]), warp)?)
            }
        };
        Ok(SumCase {
            number,
            build,
            lattice,
            sites: draws.one_of(sites_of(&lattice)),
            object,
            numbers: draws.one_of(&Numbers::ALL),
            sum,
            direction: draws.one_of(&Direction::ALL),
            data: TestData::of_case(self.options.seed, number),
        })
    }
}

impl SumCase {
    /// Runs every sum on both sides.
    pub(super) fn run<B: Tested>(
        &self,
        tested: &mut B,
        against: Against,
        host: &Cpu,
        rows: &mut ReportRows,
    ) -> Result<(), VerifyError> {
        tested.set_sum_options(self.build.options);
        let outcome = self.compare(tested, against, host, rows);
        tested.set_sum_options(SumOptions::default());
        outcome
    }

    fn compare<B: Tested>(
        &self,
        tested: &B,
        against: Against,
        host: &Cpu,
        rows: &mut ReportRows,
    ) -> Result<(), VerifyError> {
        let Self { lattice, sites, object, numbers, sum, direction, data, build, .. } = *self;
        let links = DoubledGauge::default();
        // Sums read no links.
        let configuration = Configuration::unit(lattice.extents());
        let no_links = &PlainLinks { configuration: &configuration, boundary: links.boundary };
        for kernel in kernels().filter(|kernel| kernel.takes(build.precision)) {
            let options = CaseOptions {
                object: Some(Object::Words(object.0)),
                listed: build.fields,
                direction,
                numbers,
                data,
                ..CaseOptions::new(lattice, sites, build.precision, links, 1)
            };
            // The other launches of a sum occur only here.
            let launched = match kernel.geometry {
                Geometry::SumOfWords if matches!(build.options.form, Some(SumForm::Staged(_))) => &reduce::PACK,
                Geometry::SumOfSites if build.options.finish == Some(Finish::SecondKernel) => &reduce::FINISH,
                _ => kernel,
            };
            let subject = Subject::of_kernel(launched, build.precision, None);
            let words = || format!("{self}, {kernel}");
            rows.check(&subject, (self.number, &words), || {
                compare(tested, (against, host), (kernel, &options), no_links, sum)
            })?;
        }
        Ok(())
    }
}
