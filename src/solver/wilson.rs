//! A Wilson solve from configuration and source to solution: even-odd preconditioned or not, in f32 or f64, with the true residual
//! computed in f64 at the end.

use std::time::Instant;

use lanefield_reference::field::{Field, FieldError, Spinors};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Checkerboard, LaneChoice, Lattice, LatticeOptions, Parity, Sites};
use lanefield_reference::real::Real;
use num_complex::Complex;
use thiserror::Error;

use super::{CgError, CgInfo, CgParams, conjugate_gradient};
use crate::backend::{Backend, BackendError, Sum};
use crate::operator::{NormalEquations, Operator, SchurComplement, Wilson, WilsonParameters};

/// Whether the even-odd Schur complement or M itself is solved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Preconditioning {
    /// Mpc†Mpc on the odd sites: about half the iterations, at half the cost each.
    #[default]
    EvenOdd,
    /// M†M on the full lattice.
    None,
}

/// What to solve, and how.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WilsonSolve {
    /// The operator.
    pub operator: WilsonParameters,
    /// Even-odd or not.
    pub preconditioning: Preconditioning,
    /// When to stop.
    pub cg: CgParams,
    /// Lane width.
    pub lanes: LaneChoice,
}

/// A solution, and what it took.
#[derive(Clone, Debug)]
pub struct SolveReport<R> {
    /// ψ with M ψ = η, in site order.
    pub solution: Vec<Complex<R>>,
    /// Iterations and history of the system that conjugate gradients solved.
    pub cg: CgInfo,
    /// |b − Aψ| / |b| of that system, computed anew in f64.
    pub true_residual: f64,
    /// |η − Mψ| / |η| on the full lattice, in f64.
    pub solution_residual: f64,
    /// Wall time of conjugate gradients, in seconds.
    pub seconds: f64,
    /// Floating-point operations of conjugate gradients.
    pub flops: u64,
    /// Bytes that conjugate gradients have to move at least.
    pub bytes: u64,
    /// The lattice as it was laid out.
    pub lattice: Lattice,
}

/// Why a solve failed. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SolveError {
    /// Conjugate gradients failed.
    #[error(transparent)]
    Cg(#[from] CgError),
    /// The solution is not one: the recurrence's residual went astray.
    #[error(
        "the true residual is {true_residual:.3e}, over ten times the tolerance {tolerance:e}, though the recurrence says \
         {recurrence:.3e} after {iterations} iterations: rounding has the better of {precision}; \
         ask for less, or use f64"
    )]
    TrueResidual {
        /// Computed anew in f64.
        true_residual: f64,
        /// What the recurrence says.
        recurrence: f64,
        /// The tolerance asked for.
        tolerance: f64,
        /// The precision of the solve.
        precision: &'static str,
        /// Iterations taken.
        iterations: usize,
        /// The whole history.
        history: Vec<f64>,
    },
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl From<FieldError> for SolveError {
    fn from(error: FieldError) -> Self {
        Self::Backend(error.into())
    }
}

impl From<lanefield_reference::layout::LayoutError> for SolveError {
    fn from(error: lanefield_reference::layout::LayoutError) -> Self {
        Self::Backend(error.into())
    }
}

impl SolveError {
    /// The residual history until the failure, where there is one.
    pub fn history(&self) -> Option<&[f64]> {
        match self {
            Self::Cg(error) => error.info().map(|info| &info.history[..]),
            Self::TrueResidual { history, .. } => Some(history),
            _ => None,
        }
    }
}

/// Solves M ψ = η. `eta` is in site order over the whole lattice, in f64, and rounded to `R`. `observe` is told the iteration and |r|²
/// each time.
///
/// # Errors
/// [`SolveError`], also when the true residual exceeds ten times the tolerance.
pub fn solve_wilson<R: Vectors, B: Backend>(
    backend: &B,
    configuration: &Configuration,
    eta: &[Complex<f64>],
    solve: &WilsonSolve,
    observe: impl FnMut(usize, f64),
) -> Result<SolveReport<R>, SolveError> {
    let extents = configuration.extents();
    let checkerboard = match solve.preconditioning {
        Preconditioning::EvenOdd => Checkerboard::RedBlack,
        Preconditioning::None => Checkerboard::FullOnly,
    };
    let lattice = Lattice::new(extents, R::COMPLEX, LatticeOptions { lanes: solve.lanes, nodes: None, checkerboard })?;
    let rounded: Vec<Complex<R>> = eta.iter().map(|c| Complex::new(R::from_f64(c.re), R::from_f64(c.im))).collect();
    let on = |sites| -> Result<B::Field<R, Spinors>, SolveError> {
        Ok(backend.upload(Field::from_site_order(lattice, sites, Spinors::ONE, &rounded)?)?)
    };
    let mut report = match solve.preconditioning {
        Preconditioning::None => {
            let m = Wilson::<B, R>::full(backend, configuration, lattice, solve.operator)?;
            let mut normal = NormalEquations::new(m)?;
            let mut b = normal.zeros()?;
            normal.operator().apply(&mut b, &on(Sites::Full)?, Dagger::Yes)?;
            let mut psi = normal.zeros()?;
            let mut report = run_cg(backend, &mut normal, &b, &mut psi, solve, observe)?;
            report.solution = backend.download(&psi)?.to_site_order();
            report
        }
        Preconditioning::EvenOdd => {
            let pieces = Wilson::<B, R>::even_odd(backend, configuration, lattice, solve.operator)?;
            let mut normal = NormalEquations::new(SchurComplement::new(pieces)?)?;
            let [eta_even, eta_odd] = [on(Sites::Parity(Parity::Even))?, on(Sites::Parity(Parity::Odd))?];
            let mut source = normal.zeros()?;
            normal.operator().odd_source(&mut source, &eta_even, &eta_odd)?;
            let mut b = normal.zeros()?;
            normal.operator().apply(&mut b, &source, Dagger::Yes)?;
            let mut psi_odd = normal.zeros()?;
            let mut report = run_cg(backend, &mut normal, &b, &mut psi_odd, solve, observe)?;
            let mut psi_even = backend.zeros(lattice, Sites::Parity(Parity::Even), Spinors::ONE)?;
            normal.operator().even_solution(&mut psi_even, &eta_even, &psi_odd)?;
            report.solution = backend.download(&psi_odd)?.to_site_order();
            let even = backend.download(&psi_even)?.to_site_order();
            for site in (0..extents.volume()).filter(|&s| Sites::Parity(Parity::Even).contain(extents.coordinate(s))) {
                let words = site * Spinors::WORDS..(site + 1) * Spinors::WORDS;
                report.solution[words.clone()].copy_from_slice(&even[words]);
            }
            report
        }
    };
    check(backend, configuration, eta, solve, &mut report)?;
    Ok(report)
}

/// Conjugate gradients from ψ, timed; the report lacks the solution and the true residuals.
fn run_cg<R: Vectors, B: Backend>(
    backend: &B,
    operator: &mut impl Operator<B, R, Object = Spinors>,
    b: &B::Field<R, Spinors>,
    psi: &mut B::Field<R, Spinors>,
    solve: &WilsonSolve,
    observe: impl FnMut(usize, f64),
) -> Result<SolveReport<R>, SolveError> {
    backend.finish()?;
    let start = Instant::now();
    let cg = conjugate_gradient(operator, b, psi, solve.cg, observe)?;
    backend.finish()?;
    let seconds = start.elapsed().as_secs_f64();
    let lattice = operator.lattice();
    let sites = (lattice.osites(operator.sites()) * lattice.nsimd()) as u64;
    let iterations = cg.iterations as u64;
    Ok(SolveReport {
        solution: Vec::new(),
        true_residual: f64::NAN,
        solution_residual: f64::NAN,
        seconds,
        flops: iterations * (operator.flops() + ITERATION_FLOPS * sites),
        bytes: iterations * (operator.bytes() + ITERATION_SPINORS * sites * (24 * size_of::<R>()) as u64),
        lattice,
        cg,
    })
}

/// Floating-point operations a site of an iteration beside the operator: an inner product, an axpy with norm, and the double
/// update, 48 for each fused multiply-add or product with sum on a spinor (96 for the complex inner product).
const ITERATION_FLOPS: u64 = 96 + 96 + 96;
/// Spinors read or written a site in an iteration beside the operator: 2 by the inner product, 3 by axpy with norm, 5 by the update.
const ITERATION_SPINORS: u64 = 10;

/// Computes the true residuals in f64.
fn check<R: Vectors, B: Backend>(
    backend: &B,
    configuration: &Configuration,
    eta: &[Complex<f64>],
    solve: &WilsonSolve,
    report: &mut SolveReport<R>,
) -> Result<(), SolveError> {
    let extents = configuration.extents();
    let options = |checkerboard| LatticeOptions { lanes: LaneChoice::Auto, nodes: None, checkerboard };
    let psi: Vec<Complex<f64>> = report.solution.iter().map(|c| Complex::new(c.re.to_f64(), c.im.to_f64())).collect();

    let lattice = Lattice::new(extents, f64::COMPLEX, options(Checkerboard::FullOnly))?;
    let mut m = Wilson::<B, f64>::full(backend, configuration, lattice, solve.operator)?;
    let on_full = |values| Field::from_site_order(lattice, Sites::Full, Spinors::ONE, values);
    let psi_full = backend.upload(on_full(&psi)?)?;
    let eta_full = backend.upload(on_full(eta)?)?;
    let mut residual = backend.zeros(lattice, Sites::Full, Spinors::ONE)?;
    let mut product = backend.zeros(lattice, Sites::Full, Spinors::ONE)?;
    m.apply(&mut product, &psi_full, Dagger::No)?;
    backend.copy(&mut residual, &eta_full)?;
    let norm2 = backend.axpy_norm(-1.0, &product, &mut residual, Sum::Exact)?;
    report.solution_residual = relative(norm2, backend.norm2(&eta_full, Sum::Exact)?);

    report.true_residual = match solve.preconditioning {
        Preconditioning::None => {
            // b − Aψ = M†(η − Mψ).
            m.apply(&mut product, &residual, Dagger::Yes)?;
            let norm2 = backend.norm2(&product, Sum::Exact)?;
            m.apply(&mut product, &eta_full, Dagger::Yes)?;
            relative(norm2, backend.norm2(&product, Sum::Exact)?)
        }
        Preconditioning::EvenOdd => {
            let lattice = Lattice::new(extents, f64::COMPLEX, options(Checkerboard::RedBlack))?;
            let on = |parity, values| Field::from_site_order(lattice, Sites::Parity(parity), Spinors::ONE, values);
            let pieces = Wilson::<B, f64>::even_odd(backend, configuration, lattice, solve.operator)?;
            let mut schur = SchurComplement::new(pieces)?;
            let [even, odd] = [backend.upload(on(Parity::Even, eta)?)?, backend.upload(on(Parity::Odd, eta)?)?];
            let psi = backend.upload(on(Parity::Odd, &psi)?)?;
            let [mut source, mut residual, mut product] = [schur.zeros()?, schur.zeros()?, schur.zeros()?];
            schur.odd_source(&mut source, &even, &odd)?;
            schur.apply(&mut product, &psi, Dagger::No)?;
            backend.copy(&mut residual, &source)?;
            backend.axpy(-1.0, &product, &mut residual)?;
            schur.apply(&mut product, &residual, Dagger::Yes)?;
            let norm2 = backend.norm2(&product, Sum::Exact)?;
            schur.apply(&mut product, &source, Dagger::Yes)?;
            relative(norm2, backend.norm2(&product, Sum::Exact)?)
        }
    };
    // NaN must fail too.
    if report.true_residual <= 10.0 * solve.cg.tolerance {
        return Ok(());
    }
    Err(SolveError::TrueResidual {
        true_residual: report.true_residual,
        recurrence: report.cg.relative_residual(),
        tolerance: solve.cg.tolerance,
        precision: R::NAME,
        iterations: report.cg.iterations,
        history: std::mem::take(&mut report.cg.history),
    })
}

/// √(part / whole), and 0 where both are.
fn relative(part: f64, whole: f64) -> f64 {
    if part == 0.0 { 0.0 } else { (part / whole).sqrt() }
}
