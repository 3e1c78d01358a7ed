//! The propagator S from a point or from a source smeared around it: twelve solves in one batch, one for each spin and colour of the source.

use std::ops::Range;

use lanefield_reference::ensure;
use lanefield_reference::field::{Propagator, list_of};
use lanefield_reference::prelude::*;
use thiserror::Error;

use super::columns::{COLUMNS, word_of_column};
use super::{OutsidePoint, Quark, QuarkSource};
use crate::backend::{Backend, BackendError};
use crate::solver::{Eigenpairs, SavedState, Solve, SolveError, SolveReport, Watcher, relative_errors, solve_deflated};

/// Why a propagator cannot be computed. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum PropagatorError {
    #[error(transparent)]
    Point(#[from] OutsidePoint),
    #[error(transparent)]
    Solve(Box<SolveError>),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl From<SolveError> for PropagatorError {
    fn from(error: SolveError) -> Self {
        Self::Solve(Box::new(error))
    }
}

/// The right-hand sides with which the operator is solved, for some columns of a propagator.
pub fn sources<B: Backend, Q: Quark>(
    backend: &B,
    configuration: &Configuration,
    (source, columns): (&QuarkSource<'_>, Range<usize>),
    operator: &Q,
) -> Result<Vec<Complex<f64>>, PropagatorError> {
    source.source.require_inside(configuration.extents())?;
    let columns = source.columns(backend, (configuration, operator.boundary()), columns)?;
    Ok(operator.import_sources(backend, configuration, columns)?)
}

/// Computes S, the solution of M S = η, for each spin and colour of the source in one batch. It resumes from a saved state, if there is one. Each
/// right-hand side has the bits of its own solve, unless the method is a block. `watcher` sees the recurrence. The solution in the report is S in
/// site order, with the words of [`Propagator`] at each site.
pub fn propagator<R: Vectors, B: Backend, Q: Quark>(
    backend: &B,
    configuration: &Configuration,
    source: QuarkSource<'_>,
    how: &Solve<Q>,
    watcher: &mut dyn Watcher,
    resume: Option<&SavedState>,
) -> Result<SolveReport<R>, PropagatorError> {
    let how = (how, None);
    let solved = solve_columns::<R, B, Q>(backend, configuration, (&source, 0..COLUMNS), how, watcher, resume)?;
    solved.into_propagator()
}

/// Computes some columns of S as [`propagator`] does, with eigenpairs for a guess if they are given. The solution in the report has the spinors of
/// these columns at each site.
pub fn solve_columns<R: Vectors, B: Backend, Q: Quark>(
    backend: &B,
    configuration: &Configuration,
    (source, columns): (&QuarkSource<'_>, Range<usize>),
    (how, deflation): (&Solve<Q>, Option<&Eigenpairs>),
    watcher: &mut dyn Watcher,
    resume: Option<&SavedState>,
) -> Result<SolveReport<R>, PropagatorError> {
    let sources = || sources(backend, configuration, (source, columns.clone()), &how.operator);
    let eta = sources()?;
    let mut solved = solve_deflated::<R, B, Q>(backend, configuration, &eta, how, deflation, watcher, resume)?;
    solved.require_intact()?;
    ensure!(sources()? == eta, SolveError::Changed { what: "the source in host memory" }.into());
    // A failure to compute statements about a solution must not lose the solution.
    if let Some(time) = source.time() {
        let source = (&eta[..], time);
        let powers: Vec<i32> = solved.rhs.iter().map(|rhs| rhs.source_scale).collect();
        let solution = (&solved.solution[..], &powers[..]);
        solved.relative_errors =
            relative_errors::<R, B, Q>(backend, configuration, source, how, solution).unwrap_or_default();
    }
    let solutions = how.operator.export_solutions(solved.lattice, std::mem::take(&mut solved.solution))?;
    Ok(solved.with_solution(solutions))
}

impl<R: Vectors> SolveReport<R> {
    /// Reorders all columns of a propagator to spin-colour matrices.
    pub fn into_propagator(self) -> Result<Self, PropagatorError> {
        let propagator = in_propagator_order(&self.solution)?;
        Ok(self.with_solution(propagator))
    }
}

/// Reorders twelve spinors per site to spin-colour matrices.
fn in_propagator_order<R: Vectors>(columns: &[Complex<R>]) -> Result<Vec<Complex<R>>, BackendError> {
    let mut from = [0; Propagator::WORDS];
    for at in 0..Propagator::WORDS {
        from[word_of_column(at / Spinors::WORDS, at % Spinors::WORDS)] = at;
    }
    let words = columns.chunks_exact(Propagator::WORDS).flat_map(|site| from.map(|at| site[at]));
    Ok(list_of(|| "a propagator in site order".to_owned(), columns.len(), words)?)
}
