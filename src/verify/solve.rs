//! Whole solves: every |r|² of conjugate gradients as an integer, and the solution, on a hot configuration and on one from a file.

use std::fmt;

use lanefield_reference::field::{Field, Spinors};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{
    Checkerboard, DIMENSIONS, Extents, LaneChoice, LaneWidth, Lattice, LatticeOptions, Sites,
};
use lanefield_reference::links::{BoundaryPhases, LinkFormat};
use lanefield_reference::random::{Stream, gaussian_pair};
use num_complex::Complex;

use super::compare::{Mismatch, compare_fields, compare_histories};
use super::reference::solve_on;
use super::{Compared, Precision, Reference, Rows, Solved, Subject, VerifyError, VerifyOptions};
use crate::backend::{Backend, Cpu};
use crate::operator::{HopParameters, WilsonParameters};
use crate::solver::{Method, Preconditioning, SolverParams, WilsonSolve};

/// The extents of the hot configuration: x is cut at 6, which few widths divide.
const HOT: [usize; DIMENSIONS] = [6, 4, 4, 8];
/// Masses that take some ten iterations, and some hundred.
const HOT_MASS: f64 = -0.5;
const FILE_MASS: f64 = -0.4;
/// Solves that take longer are compared so far.
const MOST_ITERATIONS: usize = 1000;

/// One solve.
pub(super) struct SolveCheck {
    configuration: std::sync::Arc<Configuration>,
    from_file: bool,
    seed: u64,
    precision: Precision,
    solve: WilsonSolve,
}

impl fmt::Display for SolveCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WilsonParameters { mass, hop: HopParameters { boundary, links, legs } } = self.solve.operator;
        let kind = if self.from_file { "given" } else { "hot" };
        write!(f, "solve on the {kind} configuration {}, {links}-real links, ", self.configuration.extents())?;
        let lanes = match self.solve.lanes {
            LaneChoice::Auto | LaneChoice::UpTo(_) => "lanes of any width".to_owned(),
            LaneChoice::Width(width) => format!("{width}-byte lanes"),
        };
        write!(f, "mass {mass}, boundary {boundary}, legs {legs}, {lanes}")
    }
}

/// All solves of a run: f32 and f64, even-odd and not, all link formats for the hot configuration, and 18 and 12 reals for the given one.
pub(super) fn solves(options: &VerifyOptions) -> Result<Vec<SolveCheck>, VerifyError> {
    let hot = Configuration::hot(Extents::new(HOT)?, options.seed);
    let configurations = [Some(hot), options.configuration.clone()];
    let mut solves = Vec::new();
    for (from_file, configuration) in [false, true].into_iter().zip(configurations) {
        let Some(configuration) = configuration.map(std::sync::Arc::new) else { continue };
        for preconditioning in [Preconditioning::EvenOdd, Preconditioning::None] {
            // The given one may be large.
            let formats = if from_file { &LinkFormat::OF_ANY_MATRICES[..] } else { &LinkFormat::ALL };
            for &links in formats {
                for precision in Precision::BOTH {
                    let lanes = match precision {
                        Precision::Single => lanes::<f32>(options, configuration.extents(), preconditioning),
                        Precision::Double => lanes::<f64>(options, configuration.extents(), preconditioning),
                    };
                    let params = match precision {
                        Precision::Single => SolverParams::auto::<f32>(),
                        Precision::Double => SolverParams::auto::<f64>(),
                    };
                    let hop = HopParameters {
                        boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME,
                        links,
                        legs: options.legs.unwrap_or_default(),
                    };
                    let mass = if from_file { FILE_MASS } else { HOT_MASS };
                    let solve = WilsonSolve {
                        operator: WilsonParameters { mass, hop },
                        preconditioning,
                        params: SolverParams { max_iterations: MOST_ITERATIONS, ..params },
                        lanes,
                        method: Method::ConjugateGradients,
                    };
                    let configuration = std::sync::Arc::clone(&configuration);
                    solves.push(SolveCheck { configuration, from_file, seed: options.seed, precision, solve });
                }
            }
        }
    }
    Ok(solves)
}

/// The lane width of the run, where it has one and it fits the configuration.
fn lanes<R: Vectors>(options: &VerifyOptions, extents: Extents, preconditioning: Preconditioning) -> LaneChoice {
    let checkerboard = match preconditioning {
        Preconditioning::EvenOdd => Checkerboard::RedBlack,
        Preconditioning::None => Checkerboard::FullOnly,
    };
    let fits = |lanes| Lattice::new(extents, R::COMPLEX, LatticeOptions { lanes, nodes: None, checkerboard }).is_ok();
    if fits(options.lanes) { options.lanes } else { LaneChoice::Auto }
}

impl SolveCheck {
    /// Solves on both sides. The reference takes other lanes than the backend under test, where there are any.
    pub fn run<B: Backend, P: Reference + Sync>(
        &self,
        number: u64,
        tested: &B,
        reference: &P,
        host: &Cpu,
        rows: &mut Rows,
    ) -> Result<(), VerifyError> {
        let links = self.solve.operator.hop.links;
        if self.precision == Precision::Single && tested.takes_links::<f32>(links).is_err() {
            return Ok(());
        }
        match self.precision {
            Precision::Single => self.compare::<f32, B, P>(number, tested, reference, host, rows),
            Precision::Double => self.compare::<f64, B, P>(number, tested, reference, host, rows),
        }
    }

    fn compare<R: Vectors, B: Backend, P: Reference + Sync>(
        &self,
        number: u64,
        tested: &B,
        reference: &P,
        host: &Cpu,
        rows: &mut Rows,
    ) -> Result<(), VerifyError> {
        let eta = gaussian_source(self.configuration.extents(), self.seed);
        let subject = match self.from_file {
            false => Subject::HotSolve(self.solve.preconditioning, self.solve.operator.hop.links),
            true => Subject::FileSolve(self.solve.preconditioning, self.solve.operator.hop.links),
        };
        let narrow = LaneChoice::Width(LaneWidth::ALL[1]);
        let other_lanes = WilsonSolve { lanes: narrow, ..self.solve };
        let mut iterations = 0;
        let row = rows.check::<R>(subject, (number, &|| format!("case {number}: {self}")), || {
            let found = solve_on::<R, B>(tested, &self.configuration, &eta, &self.solve)?;
            let expected = reference.solve::<R>(&self.configuration, &eta, &other_lanes)?;
            iterations = expected.history.len().saturating_sub(1);
            self.difference(host, &found, &expected)
        })?;
        row.iterations = Some(iterations);
        Ok(())
    }

    fn difference<R: Vectors>(
        &self,
        host: &Cpu,
        found: &Solved<R>,
        expected: &Solved<R>,
    ) -> Result<Compared, VerifyError> {
        let components = expected.history.len() as u64;
        if let Some(mismatch) = compare_histories(&found.history, &expected.history) {
            return Ok(Compared { components, mismatch: Some(mismatch) });
        }
        let lattice = Lattice::new(
            self.configuration.extents(),
            R::COMPLEX,
            LatticeOptions { checkerboard: Checkerboard::FullOnly, ..LatticeOptions::default() },
        )?;
        match (&found.solution, &expected.solution) {
            (Ok(found), Ok(expected)) => {
                let field = |values: &[Complex<R>]| {
                    host.install(|| Field::from_site_order(lattice, Sites::Full, Spinors::ONE, values))
                };
                let mismatch = compare_fields(&field(found)?, &field(expected)?)?;
                let components = components + 2 * expected.len() as u64;
                Ok(Compared { components, mismatch: mismatch.map(|m| Mismatch::Field(Box::new(m))) })
            }
            // Both without a solution, after the same history.
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
}

/// A Gaussian spinor field in site order.
fn gaussian_source(extents: Extents, seed: u64) -> Vec<Complex<f64>> {
    let words = 0..(extents.volume() * Spinors::WORDS) as u64;
    let words = words.map(|k| {
        let (site, word) = (k / Spinors::WORDS as u64, (k % Spinors::WORDS as u64) as u32);
        let (re, im) = gaussian_pair(seed, Stream::SpinorSource, site, word);
        Complex::new(re, im)
    });
    words.collect()
}
