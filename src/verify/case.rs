//! Random cases: a lattice that the lanes divide awkwardly, a layout, the parameters of the operator, and the kind of data. Each is a function of
//! the seed, its number and the options, so that one case can be repeated alone.

use std::fmt;

use lanefield_reference::layout::{
    AcceleratorThreads, Checkerboard, DIMENSIONS, LEGS, LaneWidth, LayoutError, VirtualNodes,
};
use lanefield_reference::links::Phase;
use lanefield_reference::prelude::*;
use lanefield_reference::random::{Stream, bits};

use super::{VerifyError, VerifyOptions};
use crate::backend::opencl::{Accumulators, Tuning};
use crate::kernel::{self, Kernel, Links, Numbers, TestData};

/// Draws a tuning for a device: choices of layout, build and launch that change no bit. Numbers of work-items and components are not drawn here.
fn drawn_tuning(draws: &mut Draws) -> Tuning {
    const COUNTS: [&str; 5] =
        ["accelerator-threads", "rhs-per-work-item", "rhs-per-group", "work-items", "rhs-per-launch"];
    let mut tuning = Tuning::OPEN;
    for parameter in Tuning::PARAMETERS.iter().filter(|parameter| !COUNTS.contains(&parameter.name)) {
        // The values are those of the tuning parameter itself.
        let _ = parameter.set(&mut tuning, draws.one_of(parameter.tried));
    }
    tuning
}

/// One random case.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct RandomCase {
    /// Its number. Together with the seed it identifies the case.
    pub number: u64,
    /// Number of earlier cases with the same precision and lane width.
    pub round: u64,
    pub precision: Precision,
    pub lattice: Lattice,
    /// Outer sites per work-group on a device; also the number of threads if the CPU is tested.
    pub threads: AcceleratorThreads,
    /// How a device lays out fields and builds and launches kernels, including the outer sites of a work-group.
    pub tuning: Tuning,
    pub boundary: BoundaryPhases,
    pub legs: LegOrder,
    pub links: Links,
    /// The kind of random numbers in the other fields.
    pub numbers: Numbers,
    /// Components per site for kernels that accept several.
    pub parts: usize,
    /// The generator of the test data.
    pub data: TestData,
}

impl fmt::Display for RandomCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, lattice, threads, tuning, boundary, legs, links, numbers, .. } = self;
        let (extents, nodes, width) = (lattice.extents(), lattice.nodes(), lattice.width());
        write!(
            f,
            "case {number}: lattice {extents}, {width}-byte lanes, lane layout {nodes}, {threads} accelerator threads, "
        )?;
        write!(f, "tuning {tuning}, ")?;
        write!(f, "boundary {boundary}, legs {legs}, {links} links, {numbers} numbers")
    }
}

impl RandomCase {
    /// The sites on which fields of the lattice can be.
    pub fn sites(&self) -> &'static [Sites] {
        sites_of(&self.lattice)
    }

    /// Picks one of several alternatives, which cases use in rotation.
    pub(crate) fn in_turn<T: Copy>(&self, ways: &[T]) -> T {
        ways[self.round as usize % ways.len()]
    }

    /// Whether this is the round, out of three, in which a kernel is checked in a precision. Each precision has a different round, and so has the
    /// next kernel.
    pub(crate) fn is_turn_of(&self, kernel: &Kernel, precision: Precision) -> bool {
        let number = kernel::all().position(|known| known.name == kernel.name).map(|number| number as u64);
        let number = number.unwrap_or_else(|| kernel.name.bytes().map(u64::from).sum());
        (number + precision as u64 + self.round / ROUNDS_OF_FORMATS + self.round).is_multiple_of(ROUNDS_OF_FORMATS)
    }
}

/// The sites on which fields of a lattice can be.
pub(super) fn sites_of(lattice: &Lattice) -> &'static [Sites] {
    const ALL: [Sites; 3] = [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)];
    match lattice.checkerboard() {
        Checkerboard::FullOnly => &ALL[..1],
        Checkerboard::RedBlack => &ALL,
    }
}

/// The extents of solves for all operators and methods.
pub(super) const SMALL: [usize; DIMENSIONS] = [4, 4, 4, 4];

/// The lane layout that solves have for this number of lanes.
fn usual_cut(nsimd: usize) -> Result<[usize; DIMENSIONS], LayoutError> {
    Ok(VirtualNodes::fit(Extents::new(SMALL)?, nsimd, Checkerboard::RedBlack)?.as_array())
}

/// Draws random numbers: number `k` for a seed and a purpose is always the same.
pub(super) struct Draws {
    seed: u64,
    site: u64,
    next: u32,
}

impl Draws {
    pub(super) fn of_case(seed: u64, number: u64) -> Self {
        Self { seed, site: number, next: 1 << 31 }
    }

    /// Draws for choices that a whole run shares, such as the work-group sizes of a lane width.
    pub(super) fn of_run(seed: u64, subject: u64) -> Self {
        Self { seed, site: u64::MAX - subject, next: 1 << 31 }
    }

    /// One of `0..n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        let [word, ..] = bits(self.seed, Stream::TestData, self.site, self.next);
        self.next += 1;
        word as usize % n
    }

    pub(super) fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

/// The largest number of spinors per work-item, unless the user chose it.
const MOST_AT_ONCE: usize = 4;
/// The largest number of sites of a small lattice, unless the lanes need more.
const SMALL_VOLUME: usize = 6000;
/// Extents of the large lattices of a full run, each of which fits every lane width.
const LARGE: [[usize; DIMENSIONS]; 3] = [[16, 16, 16, 32], [24, 16, 16, 32], [32, 16, 8, 48]];
/// Number of rounds in which each link format is used once.
const ROUNDS_OF_FORMATS: u64 = LinkFormat::ALL.len() as u64;
/// One of this number of rounds through the lane widths uses large lattices.
const ROUNDS: u64 = 4;

/// The cases of a run, by number.
pub(super) struct CasePlan<'o> {
    options: &'o VerifyOptions,
    widths: [Vec<LaneWidth>; 2],
}

impl<'o> CasePlan<'o> {
    /// The plan of a run.
    pub(super) fn new(options: &'o VerifyOptions) -> Result<Self, VerifyError> {
        Ok(Self { options, widths: [widths(options, Precision::F32)?, widths(options, Precision::F64)?] })
    }

    /// The options of the run.
    pub(super) fn options(&self) -> &'o VerifyOptions {
        self.options
    }

    /// The lane widths of f32 and of f64.
    pub(super) fn widths(&self) -> &[Vec<LaneWidth>; 2] {
        &self.widths
    }

    /// Whether a case includes kernels that take long to build: cases with the first lane width of their precision and, if the number of programs
    /// need not be small, with every third one.
    pub(super) fn is_thorough(&self, case: &RandomCase) -> bool {
        let widths = &self.widths[case.precision as usize];
        let position = widths.iter().position(|&width| width == case.lattice.width());
        position.is_some_and(|position| position == 0 || !self.options.few_programs && position.is_multiple_of(3))
    }

    /// Whether kernels that take long to build use one link format per precision, so that the three precisions cover all formats. With fewer rounds,
    /// each kernel runs in every round.
    pub(super) fn takes_turns(&self) -> bool {
        let a_round = self.widths[0].len().max(self.widths[1].len());
        self.options.few_programs && self.options.cases as usize >= LinkFormat::ALL.len() * a_round
    }

    /// The numbers of the random cases.
    pub(super) fn numbers(&self) -> std::ops::Range<u64> {
        0..2 * self.options.cases as u64
    }

    /// Case number `number`: f32 and f64 alternate, and each cycles through its lane widths.
    pub(super) fn case(&self, number: u64) -> Result<RandomCase, LayoutError> {
        let (precision, turn) = (Precision::OF_ARITHMETIC[(number % 2) as usize], number / 2);
        let widths = &self.widths[(number % 2) as usize];
        let round = turn / widths.len() as u64;
        let width = widths[(turn % widths.len() as u64) as usize];
        let scalar = precision.scalar();
        let options = self.options;
        let mut draws = Draws::of_case(options.seed, number);
        let large = options.large_lattices && round % ROUNDS == ROUNDS - 1;
        let full_only = !large && round > 0 && draws.below(4) == 0;
        let checkerboard = if full_only { Checkerboard::FullOnly } else { Checkerboard::RedBlack };
        let nsimd = width.nsimd(scalar)?;
        let (extents, nodes) = match large {
            true => (draws.one_of(&LARGE), None),
            false => {
                // Kernels that compute all lanes in vectors are built for one lane layout. Lanes of the usual width have the layout of solves, with
                // which they then share programs.
                let nodes = match options.few_cuts {
                    true if options.few_programs && width == LaneWidth::DEFAULT => usual_cut(nsimd)?,
                    true => cut(nsimd, &mut Draws::of_run(options.seed, 1 << 34 | build_subject(precision, width))),
                    false => cut(nsimd, &mut draws),
                };
                let extents = match round {
                    0 => least(nodes, checkerboard),
                    _ => extents_within(SMALL_VOLUME, nodes, checkerboard, &mut draws),
                };
                // The default lane layout; in half of the cases another one, if the lattice allows it.
                (extents, draws.one_of(&[Some(nodes), if options.few_programs { Some(nodes) } else { None }]))
            }
        };
        let lattice = Lattice::new(
            Extents::new(extents)?,
            scalar,
            LatticeOptions { lanes: LaneChoice::Width(width), nodes, checkerboard },
        )?;
        let boundary = BoundaryPhases::new(std::array::from_fn(|_| {
            draws.one_of(&[Phase::Periodic, Phase::Periodic, Phase::Antiperiodic, Phase::Antiperiodic, Phase::Fixed])
        }));
        // Another leg order needs a program for each precision, lane width and link format, so there are few of them.
        let unusual = round == 1 && turn % widths.len() as u64 <= u64::from(!options.few_programs);
        let legs = match options.legs {
            Some(legs) => legs,
            None if unusual => leg_order(&mut Draws::of_run(options.seed, number))?,
            None => LegOrder::DEFAULT,
        };
        let arbitrary = Links::Arbitrary(draws.one_of(&[Numbers::Ordinary, Numbers::Wide, Numbers::Special]));
        // Each of the first three rounds has a different format (`in_turn`): the third has 8 reals, for which links must be unitary.
        let drawn = draws.one_of(&[Links::Hot, arbitrary]);
        let links = match round {
            0 | 2 => Links::Hot,
            1 => arbitrary,
            _ => drawn,
        };
        let numbers = if round == 0 { Numbers::Ordinary } else { draws.one_of(&Numbers::ALL) };
        let threads = self.threads(precision, width, nsimd, round)?;
        let mut tuning = Tuning { accelerator_threads: Some(threads), ..self.tuning(precision, width) };
        let accumulators = threads.get() * nsimd * MOST_AT_ONCE * Spinors::WORDS * scalar.bytes();
        if accumulators as u64 > options.local_memory_bytes {
            tuning.accumulators = tuning.accumulators.map(|_| Accumulators::Registers);
        }
        let data = TestData::of_case(options.seed, number);
        let parts = 2 + draws.below(3);
        Ok(RandomCase {
            number,
            round,
            precision,
            lattice,
            threads,
            tuning,
            boundary,
            legs,
            links,
            numbers,
            parts,
            data,
        })
    }

    /// Every second lane width uses a random tuning, the same one for the whole run, to keep the number of programs small.
    fn tuning(&self, precision: Precision, width: LaneWidth) -> Tuning {
        if self.options.defaults_only {
            return Tuning::OPEN;
        }
        let position = self.widths[precision as usize].iter().position(|&known| known == width).unwrap_or(0);
        if (position as u64 + precision as u64 + self.options.seed).is_multiple_of(2) {
            return Tuning::OPEN;
        }
        drawn_tuning(&mut Draws::of_run(self.options.seed, 1 << 33 | build_subject(precision, width)))
    }

    /// The default and one random number of accelerator threads alternate for each lane width; only one of them if the number of programs must be
    /// small.
    fn threads(
        &self,
        precision: Precision,
        width: LaneWidth,
        nsimd: usize,
        round: u64,
    ) -> Result<AcceleratorThreads, LayoutError> {
        if let Some(threads) = self.options.accelerator_threads {
            return Ok(threads);
        }
        let most = self.options.largest_group.min(self.options.most_work_items) / nsimd;
        let numbers = [1, 2, 3, 4, 5, 7, 16, 32, 64, 256, 1024];
        let fit: Vec<usize> = numbers.into_iter().filter(|&threads| threads <= most).collect();
        let drawn = match fit.is_empty() {
            true => 1,
            false => Draws::of_run(self.options.seed, 1 << 32 | build_subject(precision, width)).one_of(&fit),
        };
        let usual = if self.options.few_programs { width == LaneWidth::DEFAULT } else { round.is_multiple_of(2) };
        let default = AcceleratorThreads::DEFAULT;
        if usual && default.get() <= most { Ok(default) } else { AcceleratorThreads::new(drawn) }
    }
}

/// The lane widths of a precision: all, or the one that the user chose; the default and a random one if the number of programs must be small.
fn widths(options: &VerifyOptions, precision: Precision) -> Result<Vec<LaneWidth>, VerifyError> {
    let fits = |width: &LaneWidth| {
        let threads = options.accelerator_threads.map_or(1, AcceleratorThreads::get);
        width.nsimd(precision.scalar()).is_ok_and(|nsimd| nsimd * threads <= options.most_work_items)
    };
    let all: Vec<LaneWidth> = LaneWidth::ALL.into_iter().filter(fits).collect();
    let bytes_of_cut = |cut: [usize; DIMENSIONS]| cut.iter().product::<usize>() * precision.scalar().bytes();
    let fixed = match options.lanes {
        LaneChoice::Width(width) => Some(width),
        LaneChoice::Cut(cut) => Some(LaneWidth::new(bytes_of_cut(cut))?),
        LaneChoice::Auto | LaneChoice::UpTo(_) | LaneChoice::InSpace(_) => None,
    };
    if let Some(width) = fixed {
        // 8 bytes cannot hold a complex double, so f64 has the narrowest lanes that can.
        let fixed = if width.nsimd(precision.scalar()).is_ok() { Some(width) } else { all.first().copied() };
        return fixed.filter(|w| all.contains(w)).map(|width| vec![width]).ok_or_else(|| too_large(options));
    }
    if options.few_programs && all.len() > 2 {
        let others: Vec<LaneWidth> = all.iter().copied().filter(|&width| width != LaneWidth::DEFAULT).collect();
        let other = Draws::of_run(options.seed, (precision.bits() as u64) << 40).one_of(&others);
        let default = if all.contains(&LaneWidth::DEFAULT) { LaneWidth::DEFAULT } else { all[0] };
        return Ok(if options.defaults_only { vec![default] } else { vec![default, other] });
    }
    if all.is_empty() { Err(too_large(options)) } else { Ok(all) }
}

fn too_large(options: &VerifyOptions) -> VerifyError {
    VerifyError::Group {
        lanes: options.lanes,
        threads: options.accelerator_threads.map_or(1, AcceleratorThreads::get),
        most_work_items: options.most_work_items,
    }
}

/// The number of the draws that a whole run shares for one lane width.
fn build_subject(precision: Precision, width: LaneWidth) -> u64 {
    16 * width.bytes() as u64 + precision as u64
}

/// A lane layout with `nsimd` virtual nodes: each factor of two goes to a random direction.
pub(super) fn cut(nsimd: usize, draws: &mut Draws) -> [usize; DIMENSIONS] {
    let mut nodes = [1; DIMENSIONS];
    for _ in 0..nsimd.ilog2() {
        nodes[draws.below(DIMENSIONS)] *= 2;
    }
    nodes
}

/// The smallest extents that fit this lane layout.
fn least(nodes: [usize; DIMENSIONS], checkerboard: Checkerboard) -> [usize; DIMENSIONS] {
    nodes.map(|n| if checkerboard == Checkerboard::RedBlack { 2 * n } else { n })
}

/// Random extents that fit this lane layout: the smallest ones, some of them times 2, 3 or 5, with at most `volume` sites unless the smallest have
/// more.
pub(super) fn extents_within(
    volume: usize,
    nodes: [usize; DIMENSIONS],
    checkerboard: Checkerboard,
    draws: &mut Draws,
) -> [usize; DIMENSIONS] {
    let mut extents = least(nodes, checkerboard);
    let first = draws.below(DIMENSIONS);
    for d in (0..DIMENSIONS).map(|d| (first + d) % DIMENSIONS) {
        let factor = draws.one_of(&[1, 2, 3, 5]);
        if extents.iter().product::<usize>() * factor <= volume {
            extents[d] *= factor;
        }
    }
    extents
}

/// A random order of the legs.
pub(super) fn leg_order(draws: &mut Draws) -> Result<LegOrder, LayoutError> {
    let mut legs = LegOrder::DEFAULT.legs();
    for k in (1..LEGS).rev() {
        let other: usize = draws.below(k + 1);
        let (a, b): (Leg, Leg) = (legs[k], legs[other]);
        (legs[k], legs[other]) = (b, a);
    }
    LegOrder::new(legs)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::kernels::takes_long_to_build;
    use super::*;

    #[test]
    fn kernels_that_take_long_to_build_meet_each_precision_and_each_link_format() {
        let kernels: Vec<&Kernel> =
            kernel::all().filter(|kernel| kernel.reads_links() && takes_long_to_build(kernel)).collect();
        assert!(kernels.len() > 20);
        for seed in 1..=20 {
            let options = VerifyOptions::standard(seed);
            let plan = CasePlan::new(&options).unwrap();
            assert!(plan.takes_turns());
            let cases: Vec<RandomCase> = plan.numbers().map(|number| plan.case(number).unwrap()).collect();
            let mut all = HashSet::new();
            for kernel in &kernels {
                let mut met = HashSet::new();
                for case in cases.iter().filter(|case| plan.is_thorough(case)) {
                    let half = (case.precision == Precision::F32).then_some(Precision::Half);
                    for precision in [Some(case.precision), half].into_iter().flatten() {
                        if kernel.takes(precision) && case.is_turn_of(kernel, precision) {
                            met.insert((precision, case.in_turn(case.links.formats())));
                        }
                    }
                }
                let (precisions, formats): (HashSet<Precision>, HashSet<LinkFormat>) = met.iter().copied().unzip();
                let taken = kernel.precisions.len();
                let seen = (met.len(), precisions.len(), formats.len());
                assert_eq!(seen, (taken, taken, taken), "seed {seed}, {kernel}: {met:?}");
                all.extend(met);
            }
            assert_eq!(all.len(), Precision::ALL.len() * LinkFormat::ALL.len(), "seed {seed}: {all:?}");
        }
    }

    #[test]
    fn kernels_take_turns_only_where_there_are_as_many_rounds_as_formats() {
        let with = |cases| VerifyOptions { cases, ..VerifyOptions::standard(1) };
        for (options, expected) in
            [(VerifyOptions::smoke(1), false), (with(5), false), (with(6), true), (VerifyOptions::full(1), false)]
        {
            assert_eq!(CasePlan::new(&options).unwrap().takes_turns(), expected, "{} cases", options.cases);
        }
    }
}
