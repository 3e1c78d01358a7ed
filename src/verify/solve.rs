//! Whole solves: every |r|² as an integer, and the solution, for every operator and every method on a hot configuration, and for Wilson fermions on
//! a configuration from a file.

use std::fmt;
use std::sync::Arc;

use lanefield_reference::field::Words;
use lanefield_reference::layout::{Checkerboard, DIMENSIONS, LaneWidth};
use lanefield_reference::prelude::*;
use lanefield_reference::random::{Stream, gaussian_pair};
use lanefield_reference::scalar::{self, ScalarWilson, Stop};

use super::case::SMALL;
use super::compare::{Mismatch, compare_fields, compare_histories};
use super::report::Subject;
use super::rows::{Compared, ReportRows};
use super::{Against, VerifyError, VerifyOptions};
use crate::backend::{Backend, BackendError, Cpu};
use crate::dynamic::AnyBackend;
use crate::in_precision;
use crate::operator::{AnyModel, DefinitionError, HopParameters, definition, definitions};
use crate::solver::{self, Method, Preconditioning, Solve, SolveError, SolverParams};

/// The extents of the hot configuration: 6 in x, which few lane widths divide.
const HOT: [usize; DIMENSIONS] = [6, 4, 4, 8];
/// The mass of solves on a file, which take about a hundred iterations.
const FILE_MASS: &str = "-0.4";
/// Solves that take longer are compared up to this iteration.
const MOST_ITERATIONS: usize = 1000;
/// The same limit for the solves of all operators and methods.
const FEW_ITERATIONS: usize = 40;

pub(super) struct SolveCheck {
    configuration: Arc<Configuration>,
    from_file: bool,
    seed: u64,
    precision: Precision,
    model: AnyModel,
    method: Method,
    preconditioning: Preconditioning,
    right_hand_sides: usize,
    most_iterations: usize,
    lanes: LaneChoice,
}

struct ComparedSolve<R> {
    /// |r|² of every iteration, for one right-hand side after the other.
    history: Vec<f64>,
    /// The solution in site order, or a short reason why there is none.
    solution: Result<Vec<Complex<R>>, String>,
}

impl fmt::Display for SolveCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HopParameters { boundary, links, legs } = self.model.hop();
        let kind = if self.from_file { "given" } else { "hot" };
        write!(f, "{} on the {kind} configuration {}, ", self.model.describe(), self.configuration.extents())?;
        let lanes = match self.lanes {
            LaneChoice::Auto | LaneChoice::UpTo(_) | LaneChoice::InSpace(_) => "lanes of any width".to_owned(),
            LaneChoice::Width(width) => format!("{width}-byte lanes"),
            LaneChoice::Cut(_) => format!("lane layout {}", self.lanes),
        };
        write!(f, "reconstruct {links}, boundary {boundary}, legs {legs}, {lanes}")
    }
}

/// All solves of a run: Wilson fermions in f32 and f64, with and without even-odd preconditioning, with every gauge compression; then every operator
/// by every method.
pub(super) fn solves(options: &VerifyOptions) -> Result<Vec<SolveCheck>, VerifyError> {
    let hot = Arc::new(Configuration::hot(Extents::new(HOT)?, options.seed));
    let wilson = definition("wilson").map_err(undefined)?;
    let given = options.configuration.clone().map(Arc::new);
    let hop = |links| HopParameters {
        boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME,
        links,
        legs: options.legs.unwrap_or_default(),
    };
    // Conjugate gradients of one right-hand side.
    let check = |configuration: &Arc<Configuration>, precision, model, preconditioning| SolveCheck {
        configuration: Arc::clone(configuration),
        from_file: false,
        seed: options.seed,
        precision,
        model,
        method: Method::ConjugateGradients,
        preconditioning,
        right_hand_sides: 1,
        most_iterations: MOST_ITERATIONS,
        lanes: lanes(options, precision, configuration.extents(), preconditioning),
    };
    let mut solves = Vec::new();
    for configuration in [Some(&hot), given.as_ref()].into_iter().flatten() {
        let from_file = !Arc::ptr_eq(configuration, &hot);
        for preconditioning in [Preconditioning::EvenOdd, Preconditioning::None] {
            let formats = match preconditioning {
                // The configuration from a file may be large.
                _ if from_file => &LinkFormat::OF_ANY_MATRICES[..],
                Preconditioning::None if options.few_programs => &[LinkFormat::TwoRows],
                _ => &LinkFormat::ALL,
            };
            for &links in formats {
                for precision in Precision::OF_ARITHMETIC {
                    let parameters = if from_file { &[("mass", FILE_MASS)] } else { wilson.verified };
                    let model = wilson.model(parameters.iter().copied(), hop(links)).map_err(undefined)?;
                    solves.push(SolveCheck { from_file, ..check(configuration, precision, model, preconditioning) });
                }
            }
        }
    }
    if options.defaults_only {
        solves.retain(SolveCheck::is_usual);
        return Ok(solves);
    }
    let small = Arc::new(Configuration::hot(Extents::new(SMALL)?, options.seed));
    for definition in definitions() {
        let given = definition.verified.iter().copied();
        let model = definition.model(given.clone(), hop(LinkFormat::TwoRows)).map_err(undefined)?;
        let model = match model.takes_links(LinkFormat::TwoRows) {
            true => model,
            false => definition.model(given, hop(LinkFormat::Full)).map_err(undefined)?,
        };
        let methods = [
            (Method::ConjugateGradients, 1, Precision::F32),
            (Method::ConjugateGradients, 2, Precision::F64),
            (Method::BlockConjugateGradients, 3, Precision::F64),
            (Method::MixedF32, 1, Precision::F64),
            (Method::MixedHalf, 1, Precision::F64),
            (Method::BiCgStab, 1, Precision::F64),
        ];
        for (method, right_hand_sides, precision) in methods {
            let check = check(&small, precision, model, Preconditioning::EvenOdd);
            solves.push(SolveCheck { method, right_hand_sides, most_iterations: FEW_ITERATIONS, ..check });
        }
    }
    Ok(solves)
}

/// An operator that could not be created.
pub(super) fn undefined(error: DefinitionError) -> VerifyError {
    VerifyError::Backend(BackendError::device(error))
}

/// The lane width of the run, if it has one that fits the configuration.
fn lanes(
    options: &VerifyOptions,
    precision: Precision,
    extents: Extents,
    preconditioning: Preconditioning,
) -> LaneChoice {
    let checkerboard = match preconditioning {
        Preconditioning::EvenOdd => Checkerboard::RedBlack,
        Preconditioning::None => Checkerboard::FullOnly,
    };
    let fits =
        |lanes| Lattice::new(extents, precision.scalar(), LatticeOptions { lanes, nodes: None, checkerboard }).is_ok();
    if fits(options.lanes) { options.lanes } else { LaneChoice::Auto }
}

impl SolveCheck {
    /// The subject of its row.
    pub(super) fn subject(&self) -> Subject {
        let method = match (self.method, self.right_hand_sides) {
            (Method::ConjugateGradients, 1) => "cg",
            (Method::ConjugateGradients, _) => "cg batch",
            (Method::BlockConjugateGradients, _) => "block cg",
            (Method::MixedF32, _) => "cg f32 inside",
            (Method::MixedHalf, _) => "cg half inside",
            (Method::BiCgStab, _) => "bicgstab",
        };
        let preconditioning = match self.preconditioning {
            Preconditioning::EvenOdd => "",
            Preconditioning::None => ", full",
        };
        let file = if self.from_file { ", file" } else { "" };
        Subject {
            kernel: format!("solve {} {method}{preconditioning}{file}", self.model.name()),
            precision: self.precision,
            reconstruct: Some(self.model.hop().links.reals()),
        }
    }

    /// Whether it is the most common kind of solve: even-odd, in f64, with two rows of each link.
    fn is_usual(&self) -> bool {
        let usual = (Preconditioning::EvenOdd, Precision::F64, LinkFormat::TwoRows);
        (self.preconditioning, self.precision, self.model.hop().links) == usual
    }

    /// Whether the scalar reference can do this solve: conjugate gradients of Wilson fermions.
    fn is_in_plain_loops(&self) -> bool {
        matches!(self.model, AnyModel::Wilson(_))
            && self.method == Method::ConjugateGradients
            && self.right_hand_sides == 1
    }

    /// Solves on both sides. The reference uses other lanes than the backend under test, if there are any.
    pub(super) fn run<B: Backend>(
        &self,
        number: u64,
        tested: &B,
        against: Against,
        host: &Cpu,
        rows: &mut ReportRows,
    ) -> Result<(), VerifyError> {
        if against == Against::PlainLoops && !self.is_in_plain_loops() {
            return Ok(());
        }
        match self.precision {
            Precision::F32 => self.compare::<f32, B>(number, tested, against, host, rows),
            _ => self.compare::<f64, B>(number, tested, against, host, rows),
        }
    }

    fn compare<R: Vectors, B: Backend>(
        &self,
        number: u64,
        tested: &B,
        against: Against,
        host: &Cpu,
        rows: &mut ReportRows,
    ) -> Result<(), VerifyError> {
        let eta = self.source();
        let mut iterations = 0;
        let row = rows.check(&self.subject(), (number, &|| format!("case {number}: {self}")), || {
            let found = self.solved::<R, B>(tested, &eta, self.lanes)?;
            let expected = match against {
                Against::Cpu => {
                    let host = AnyBackend::from(host.clone());
                    self.solved::<R, _>(&host, &eta, LaneChoice::Width(LaneWidth::ALL[1]))?
                }
                Against::PlainLoops => self.in_plain_loops(&eta),
            };
            iterations = expected.history.len().saturating_sub(1);
            self.difference(host, &found, &expected)
        })?;
        if let Some(row) = row {
            row.iterations = Some(iterations);
        }
        Ok(())
    }

    /// Solves on a backend. A solve that does not converge has an outcome that is compared like any other.
    fn solved<R: Vectors, B: Backend>(
        &self,
        backend: &B,
        eta: &[Complex<f64>],
        lanes: LaneChoice,
    ) -> Result<ComparedSolve<R>, VerifyError> {
        let &Self { model, preconditioning, method, .. } = self;
        let solve = Solve { operator: model, preconditioning, method, params: self.params(), lanes };
        match solver::solve::<R, B, _>(backend, &self.configuration, eta, &solve, |_, _| ()) {
            Ok(report) => {
                let history = report.rhs.iter().flat_map(|rhs| rhs.info.history.clone()).collect();
                Ok(ComparedSolve { history, solution: Ok(report.solution) })
            }
            Err(SolveError::Backend(error)) => Err(error.into()),
            Err(error) => match error.history() {
                Some(history) => Ok(ComparedSolve { history: history.to_vec(), solution: Err(error.to_string()) }),
                None => Err(error.into()),
            },
        }
    }

    fn params(&self) -> SolverParams {
        let auto = in_precision!(self.precision, R => SolverParams::auto::<R>());
        SolverParams { max_iterations: self.most_iterations, ..auto }
    }

    fn in_plain_loops<R: Vectors>(&self, eta: &[Complex<f64>]) -> ComparedSolve<R> {
        let HopParameters { boundary, links, legs } = self.model.hop();
        let wilson = ScalarWilson { configuration: &self.configuration, boundary, format: links, legs };
        let params = self.params();
        let stop = Stop { tolerance: params.tolerance, max_iterations: params.max_iterations };
        let rounded: Vec<Complex<R>> = eta.iter().map(|c| Complex::new(R::from_f64(c.re), R::from_f64(c.im))).collect();
        let mass = self.model.mass();
        let scalar::Solution { psi, history, converged } = match self.preconditioning {
            Preconditioning::EvenOdd => wilson.solve_even_odd(&rounded, mass, stop),
            Preconditioning::None => wilson.solve(&rounded, mass, stop),
        };
        ComparedSolve { history, solution: if converged { Ok(psi) } else { Err("no convergence".to_owned()) } }
    }

    fn difference<R: Vectors>(
        &self,
        host: &Cpu,
        found: &ComparedSolve<R>,
        expected: &ComparedSolve<R>,
    ) -> Result<Compared, VerifyError> {
        let components = expected.history.len() as u64;
        if let Some(mismatch) = compare_histories(&found.history, &expected.history) {
            return Ok(Compared { components, mismatch: Some(mismatch) });
        }
        let options = LatticeOptions { checkerboard: Checkerboard::FullOnly, ..LatticeOptions::default() };
        let lattice = Lattice::new(self.configuration.extents(), R::COMPLEX, options)?;
        match (&found.solution, &expected.solution) {
            (Ok(found), Ok(expected)) => {
                let words = Words(expected.len() / self.configuration.extents().volume());
                let field = |values: &[Complex<R>]| {
                    host.install(|| Field::from_site_order(lattice, Sites::Full, words, values))
                };
                let (found, expected) = (field(found)?, field(expected)?);
                let mismatch = compare_fields(&found, &expected)?;
                let components = components + expected.reals().len() as u64;
                let mismatch = mismatch.map(|m| Mismatch::Field { name: "solution".to_owned(), mismatch: Box::new(m) });
                Ok(Compared { components, mismatch })
            }
            // Both have no solution, after the same history.
            (Err(_), Err(_)) => Ok(Compared { components, mismatch: None }),
            (found, expected) => {
                let word = |solution: &Result<_, String>| match solution {
                    Ok(_) => "converged".to_owned(),
                    Err(reason) => reason.clone(),
                };
                let mismatch = Mismatch::Outcome { found: word(found), expected: word(expected) };
                Ok(Compared { components, mismatch: Some(mismatch) })
            }
        }
    }

    /// A Gaussian source in site order.
    fn source(&self) -> Vec<Complex<f64>> {
        let words = self.model.object().words() * self.right_hand_sides;
        let all = 0..(self.configuration.extents().volume() * words) as u64;
        let word = |k: u64| {
            let (site, word) = (k / words as u64, (k % words as u64) as u32);
            let (re, im) = gaussian_pair(self.seed, Stream::SpinorSource, site, word);
            Complex::new(re, im)
        };
        all.map(word).collect()
    }
}
