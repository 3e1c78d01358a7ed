//! Solves on ranks: every operator by every method on random decompositions, compared with the same solve on one rank. Ranks are threads
//! ([`PartsCase::on_threads`]), or those of an MPI job ([`PartsCase::on_rank`]).

use std::fmt;
use std::sync::Arc;

use lanefield_reference::layout::{DIMENSIONS, Reach};
use lanefield_reference::links::Phase;
use lanefield_reference::prelude::*;
use lanefield_reference::random::{Stream, gaussian_pair};

use super::VerifyError;
use super::case::{Draws, leg_order};
use crate::backend::{BackendError, Cpu, OpenCl};
use crate::comm::{Communicator as _, Decomposition, RanksOptions, ThreadRanks, WholeLattice};
use crate::dynamic::AnyBackend;
use crate::operator::{AnyModel, Definition, HopParameters, definitions};
use crate::solver::{Method, Preconditioning, Solve, SolveError, SolverParams, solve};

/// The extents from which one is drawn for each direction.
const EXTENTS: [usize; 5] = [2, 4, 4, 6, 8];
const MOST_SITES: usize = 512;
/// The largest number of ranks that are threads.
const MOST_THREADS: usize = 8;
/// The maximum number of iterations. Solves that have not converged by then are compared up to it.
const MOST_ITERATIONS: usize = 24;

/// Methods, their right-hand sides, precision and preconditioning.
const METHODS: [(Method, usize, Precision, Preconditioning); 8] = [
    (Method::ConjugateGradients, 1, Precision::F32, Preconditioning::EvenOdd),
    (Method::ConjugateGradients, 1, Precision::F64, Preconditioning::EvenOdd),
    (Method::ConjugateGradients, 3, Precision::F64, Preconditioning::EvenOdd),
    (Method::BlockConjugateGradients, 3, Precision::F64, Preconditioning::EvenOdd),
    (Method::ConjugateGradients, 1, Precision::F64, Preconditioning::None),
    (Method::MixedF32, 1, Precision::F64, Preconditioning::EvenOdd),
    (Method::MixedHalf, 1, Precision::F64, Preconditioning::EvenOdd),
    (Method::BiCgStab, 1, Precision::F64, Preconditioning::EvenOdd),
];

/// A solve on a decomposition. Each is a function of the seed, its number and the number of ranks.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct PartsCase {
    /// Its number. Together with the seed and the number of ranks it identifies the case.
    pub number: u64,
    /// The lattice, and the local volume of each rank.
    pub decomposition: Decomposition,
    pub model: AnyModel,
    pub method: Method,
    pub preconditioning: Preconditioning,
    pub precision: Precision,
    pub rhs: usize,
    /// How packets are exchanged. All have checksums, so that packets that lost bits are not mistaken for wrong results of kernels.
    pub options: RanksOptions,
    seed: u64,
}

/// The result of a solve, with numbers as bits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartsOutcome {
    /// |r|² of every iteration, for one right-hand side after the other.
    pub history: Vec<u64>,
    /// The solution in site order, as real and imaginary parts in f64; or a short reason why there is none.
    pub solution: Result<Vec<u64>, String>,
}

impl fmt::Display for PartsCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HopParameters { boundary, links, legs } = self.model.hop();
        let (whole, cut) = (self.decomposition.whole(), self.decomposition.cut());
        write!(f, "case {}: {} by {:?}, {}, ", self.number, self.model.describe(), self.method, self.precision)?;
        write!(f, "{} right-hand sides, {}, on {whole} among ranks {cut}, ", self.rhs, self.preconditioning.name())?;
        let packets = if self.options.by_messages { "sent" } else { "read in place" };
        write!(f, "reconstruct {links}, boundary {boundary}, legs {legs}, packets {packets}")
    }
}

impl PartsCase {
    /// Case number `number`, on this number of ranks, or on a random number of them.
    ///
    /// # Errors
    /// [`VerifyError::TooManyRanks`] if such lattices have no room for the ranks.
    pub fn draw(seed: u64, number: u64, ranks: Option<usize>) -> Result<Self, VerifyError> {
        let mut draws = Draws::of_case(seed, number);
        let known: Vec<&Definition> = definitions().collect();
        // Each operator is solved by each method before any combination repeats.
        let of_case = number as usize % (known.len() * METHODS.len());
        let (definition, (method, rhs, precision, preconditioning)) =
            (known[of_case % known.len()], METHODS[of_case / known.len()]);
        let usual = definition.model(definition.verified.iter().copied(), HopParameters::default());
        let usual = usual.map_err(super::solve::undefined)?;
        let decomposition = drawn_decomposition(&mut draws, ranks, usual.reach())?;
        let boundary = BoundaryPhases::new(std::array::from_fn(|_| {
            draws.one_of(&[Phase::Periodic, Phase::Periodic, Phase::Antiperiodic, Phase::Antiperiodic, Phase::Fixed])
        }));
        let links = draws.one_of(&LinkFormat::ALL);
        // Another leg order needs another program on a device: one case in four has one.
        let drawn = leg_order(&mut draws)?;
        let legs = if draws.below(4) == 0 { drawn } else { LegOrder::DEFAULT };
        let model = |links| {
            let hop = HopParameters { boundary, links, legs };
            definition.model(definition.verified.iter().copied(), hop)
        };
        // Not every operator accepts every format.
        let links = if usual.takes_links(links) { links } else { LinkFormat::Full };
        let model = model(links).map_err(super::solve::undefined)?;
        let options = RanksOptions { check_packets: true, by_messages: draws.one_of(&[false, false, true]) };
        Ok(Self { number, decomposition, model, method, preconditioning, precision, rhs, options, seed })
    }

    /// The configuration, on the whole lattice or on a local volume.
    fn configuration(&self, extents: Extents) -> Configuration {
        Configuration::hot(extents, self.seed.wrapping_add(self.number))
    }

    /// Solves on one rank.
    pub fn alone(&self, backend: &AnyBackend) -> Result<PartsOutcome, VerifyError> {
        let (history, solution) = self.solve(backend, &self.configuration(self.decomposition.whole()))?;
        Ok(PartsOutcome { history, solution: solution.map(|solution| as_bits(&solution)) })
    }

    /// Solves on the local volume of a rank; all ranks must call it. Rank 0 returns the result.
    pub fn on_rank(&self, backend: &AnyBackend, lattice: &WholeLattice) -> Result<Option<PartsOutcome>, VerifyError> {
        let (history, solution) = self.solve(backend, &self.configuration(lattice.part()))?;
        let failed = |error| VerifyError::from(BackendError::device(error));
        let histories = lattice.communicator().gather(bytemuck::cast_slice(&history)).map_err(failed)?;
        let solution = match solution {
            Ok(solution) => lattice.gathered(&solution).map_err(failed)?.map(Ok),
            Err(why) => lattice.is_first().then_some(Err(why)),
        };
        let Some((histories, solution)) = histories.zip(solution) else { return Ok(None) };
        if let Some(rank) = histories.iter().position(|other| *other != histories[0]) {
            return Err(VerifyError::Ranks { case: self.to_string(), rank });
        }
        Ok(Some(PartsOutcome { history, solution: solution.map(|solution| as_bits(&solution)) }))
    }

    /// Solves on ranks that are threads of this process. `open` returns the OpenCL device of a rank; a rank without one uses the CPU reference.
    pub fn on_threads(
        &self,
        open: impl Fn(usize) -> Result<Option<OpenCl>, BackendError> + Sync,
    ) -> Result<PartsOutcome, VerifyError> {
        let outcomes = ThreadRanks::run(self.decomposition.cut().ranks(), |comm| {
            let device = open(comm.rank())?;
            let lattice = WholeLattice::new(Arc::new(comm), self.decomposition);
            let backend = match device {
                None => AnyBackend::from(one_thread()?),
                Some(device) => AnyBackend::from(device),
            };
            self.on_rank(&backend.on_ranks(&lattice, self.options), &lattice)
        });
        let mut first = None;
        for outcome in outcomes {
            first = first.or(outcome?);
        }
        first.ok_or_else(|| VerifyError::Ranks { case: self.to_string(), rank: 0 })
    }

    fn solve(&self, backend: &AnyBackend, configuration: &Configuration) -> Result<SolvedParts, VerifyError> {
        match self.precision {
            Precision::F32 => self.solve_in::<f32>(backend, configuration),
            _ => self.solve_in::<f64>(backend, configuration),
        }
    }

    fn solve_in<R: Vectors>(
        &self,
        backend: &AnyBackend,
        configuration: &Configuration,
    ) -> Result<SolvedParts, VerifyError> {
        let &Self { seed, model, method, preconditioning, rhs, .. } = self;
        let words = (model.object().words() * rhs) as u32;
        let extents = configuration.extents();
        let number = |(site, word)| {
            let (re, im) = gaussian_pair(seed, Stream::SpinorSource, site, word);
            Complex::new(re, im)
        };
        let sites = (0..extents.volume()).map(|site| extents.global_site(site));
        let eta: Vec<Complex<f64>> =
            sites.flat_map(|site| (0..words).map(move |word| (site, word))).map(number).collect();
        let params = SolverParams { max_iterations: MOST_ITERATIONS, ..SolverParams::auto::<R>() };
        let how = Solve { operator: model, preconditioning, method, params, lanes: LaneChoice::Auto };
        let bits = |history: &[f64]| history.iter().map(|c| c.to_bits()).collect::<Vec<_>>();
        match solve::<R, _, _>(backend, configuration, &eta, &how, |_, _| ()) {
            Ok(report) => {
                let history = report.rhs.iter().flat_map(|rhs| bits(&rhs.info.history)).collect();
                let solution = report.solution.iter().map(|z| Complex::new(z.re.to_f64(), z.im.to_f64()));
                Ok((history, Ok(solution.collect())))
            }
            Err(SolveError::Backend(error)) => Err(error.into()),
            Err(error) => Ok((error.history().map(bits).unwrap_or_default(), Err(error.to_string()))),
        }
    }
}

/// The CPU reference with one thread, since there is one for each rank.
fn one_thread() -> Result<Cpu, BackendError> {
    Cpu::new(crate::backend::Threads::new(1))
}

/// |r|² as bits, and the solution.
type SolvedParts = (Vec<u64>, Result<Vec<Complex<f64>>, String>);

fn as_bits(solution: &[Complex<f64>]) -> Vec<u64> {
    solution.iter().flat_map(|z| [z.re.to_bits(), z.im.to_bits()]).collect()
}

/// A lattice, and a random decomposition of it over this number of ranks.
fn drawn_decomposition(draws: &mut Draws, ranks: Option<usize>, reach: Reach) -> Result<Decomposition, VerifyError> {
    /// Number of attempts until a decomposition fits.
    const DRAWS: usize = 1000;
    for _ in 0..DRAWS {
        let ranks = ranks.unwrap_or_else(|| 2 + draws.below(MOST_THREADS - 1));
        let mut extents = [0; DIMENSIONS].map(|_: usize| draws.one_of(&EXTENTS));
        // A prime number of ranks needs a direction with that number of pairs of sites; for up to 7 ranks, any lattice will do.
        let longest = draws.below(DIMENSIONS);
        let pairs = draws.one_of(&[1, 3, 5, 7, ranks.min(MOST_SITES)]);
        let narrowest = reach.steps().next_multiple_of(2);
        extents[longest] = extents[longest].max(narrowest * pairs);
        if extents.iter().product::<usize>() > MOST_SITES.max(narrowest * 8 * ranks) {
            continue;
        }
        let all = Decomposition::all(Extents::new(extents)?, ranks);
        let all: Vec<Decomposition> = all.filter(|all| all.reaches(reach)).collect();
        if !all.is_empty() {
            return Ok(all[draws.below(all.len())]);
        }
    }
    Err(VerifyError::TooManyRanks { ranks: ranks.unwrap_or(MOST_THREADS), sites: MOST_SITES })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_a_function_of_its_number_and_all_are_possible() {
        for number in 0..200 {
            let case = PartsCase::draw(3, number, None).unwrap();
            assert_eq!(case.to_string(), PartsCase::draw(3, number, None).unwrap().to_string());
            assert!((2..=MOST_THREADS).contains(&case.decomposition.cut().ranks()));
        }
        for ranks in 1..=16 {
            assert_eq!(PartsCase::draw(1, 5, Some(ranks)).unwrap().decomposition.cut().ranks(), ranks);
        }
        let error = PartsCase::draw(1, 5, Some(1 << 20)).unwrap_err().to_string();
        assert!(error.contains("1048576 ranks"), "{error}");
    }
}
