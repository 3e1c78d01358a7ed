//! The common interface of iterative solvers: a recurrence that runs step by step, whose state can be saved and restored to the bit, and whose
//! scalars can be watched. State is saved in site order, so that it can be restored on any backend, in any layout.

use lanefield_reference::field::{Field, Repeated, list_of};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Sites};
use num_complex::Complex;

use super::error::{SolverError, Stopped};
use super::scale::largest_of;
use super::{SolverInfo, SolverParams};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::io::checkpoint::{SavedField, SavedState};
use crate::kernel::prelude::*;
use crate::operator::DynOperator;

/// A scalar of a recurrence: a sum over sites.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WatchedScalar {
    /// Iterations done before this one.
    pub iteration: usize,
    /// The right-hand side of a batch to which it belongs, else 0.
    pub rhs: usize,
    /// Its name: "<p, A p>".
    pub quantity: &'static str,
    /// Its value.
    pub value: f64,
}

/// Watches a recurrence. Each method may stop the solve.
pub trait Watcher {
    /// Called before the first iteration.
    ///
    /// # Errors
    /// A reason to stop.
    fn begin(&mut self, _: &dyn Recurrence) -> Result<(), Stopped> {
        Ok(())
    }
    /// Called with each scalar as soon as it is known.
    ///
    /// # Errors
    /// A reason to stop.
    fn scalar(&mut self, _: WatchedScalar) -> Result<(), Stopped> {
        Ok(())
    }
    /// Called after each iteration, except those reported by [`Self::passed`].
    ///
    /// # Errors
    /// A reason to stop.
    fn iteration(&mut self, _: &dyn Recurrence) -> Result<(), Stopped> {
        Ok(())
    }
    /// Called for an iteration before [`Self::next_state`] whose state is gone, because the recurrence had already continued when its scalars became
    /// known.
    ///
    /// # Errors
    /// A reason to stop. State and history are then those of the iteration that the recurrence has reached.
    fn passed(&mut self, _: &SolverInfo) -> Result<(), Stopped> {
        Ok(())
    }
    /// Called at the maximum number of iterations, before the solve ends without convergence. The state is that after the last iteration.
    ///
    /// # Errors
    /// A reason to stop.
    fn given_up(&mut self, _: &dyn Recurrence) -> Result<(), Stopped> {
        Ok(())
    }
    /// The number of the next iteration whose state is needed, given the iterations done so far. A recurrence may report those before it by
    /// [`Self::passed`] alone, which is faster.
    fn next_state(&self, iterations: usize) -> usize {
        iterations + 1
    }
}

/// A watcher that is a function of the iteration and |r|².
impl<F: FnMut(usize, f64)> Watcher for F {
    fn begin(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.iteration(recurrence)
    }
    fn iteration(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.passed(recurrence.info())
    }
    fn passed(&mut self, info: &SolverInfo) -> Result<(), Stopped> {
        if let Some(&residual) = info.history.last() {
            self(info.iterations, residual);
        }
        Ok(())
    }
    fn next_state(&self, _: usize) -> usize {
        usize::MAX
    }
}

/// A solver that runs step by step.
pub trait Recurrence {
    /// Its name in files: "conjugate gradients".
    fn name(&self) -> &'static str;
    /// Iterations and history; for a batch, those of the right-hand side that took longest.
    fn info(&self) -> &SolverInfo;
    /// Iterations and history of each right-hand side.
    fn infos(&self) -> &[SolverInfo] {
        std::slice::from_ref(self.info())
    }
    /// Whether it has finished.
    fn is_done(&self) -> bool;
    /// Computes one iteration, or several if the watcher needs only the state after the last one ([`Watcher::next_state`]).
    ///
    /// # Errors
    /// [`SolverError`]; the state is then that of some moment within an iteration.
    fn step(&mut self, watcher: &mut dyn Watcher) -> Result<(), SolverError>;
    /// Saves everything on which the next iterations depend.
    fn save(&self) -> Result<SavedState, BackendError>;
    /// Resumes from a saved state.
    ///
    /// # Errors
    /// [`SolverError::WrongState`] for the state of another recurrence or lattice.
    fn restore(&mut self, state: &SavedState) -> Result<(), SolverError>;
}

/// Runs a recurrence to its end.
pub fn run(recurrence: &mut dyn Recurrence, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
    watcher.begin(recurrence)?;
    while !recurrence.is_done() {
        if let Err(error) = recurrence.step(watcher) {
            // Called before the next iteration starts.
            if matches!(error, SolverError::NotConverged { .. }) {
                watcher.given_up(recurrence)?;
            }
            return Err(error);
        }
        watcher.iteration(recurrence)?;
    }
    Ok(())
}

/// The suffix of the name of a system's residual history.
const HISTORY: &str = " history";

impl SavedState {
    pub(super) fn new(recurrence: &str) -> Self {
        Self { recurrence: recurrence.to_owned(), ..Self::default() }
    }

    pub(super) fn scalars(&mut self, name: &str, values: &[f64]) {
        self.scalars.push((name.to_owned(), values.to_vec()));
    }

    /// Saves iterations, history and |b|² of a system.
    pub(super) fn info(&mut self, name: &str, info: &SolverInfo) {
        self.scalars(&format!("{name}{HISTORY}"), &info.history);
        self.scalars(&format!("{name} source"), &[info.source_norm2]);
    }

    pub(super) fn field<R: Vectors, B: Backend, K: Repeated>(
        &mut self,
        backend: &B,
        name: &str,
        field: &FieldOn<B, R, K>,
    ) -> Result<(), BackendError> {
        let host = backend.download(field)?;
        let words = host.kind().words();
        let (extents, sites, all) = (host.lattice().extents(), host.sites(), host.try_to_site_order()?);
        let objects = all.chunks_exact(words).enumerate();
        let ours = objects.filter(|(site, _)| sites.contain(extents.coordinate(*site))).flat_map(|(_, object)| object);
        let numbers = ours.map(|c| Complex::new(c.re.to_f64(), c.im.to_f64()));
        let values = list_of(
            || format!("the field {name} of a checkpoint"),
            host.osites() * host.lattice().nsimd() * words,
            numbers,
        )?;
        self.fields.push(SavedField { name: name.to_owned(), precision: R::NAME.to_owned(), words, values });
        Ok(())
    }

    /// Iterations done when it was saved; for a batch, those of the right-hand side that took longest.
    pub fn iterations(&self) -> usize {
        let histories = self.scalars.iter().filter(|(name, _)| name.ends_with(HISTORY));
        histories.map(|(_, history)| history.len().saturating_sub(1)).max().unwrap_or(0)
    }

    fn wrong(&self, what: String) -> SolverError {
        SolverError::WrongState { what }
    }

    pub(super) fn check_name(&self, name: &str) -> Result<(), SolverError> {
        match self.recurrence == name {
            true => Ok(()),
            false => Err(self.wrong(format!("it is the state of {}, but this solve uses {name}", self.recurrence))),
        }
    }

    pub(super) fn get_scalars(&self, name: &str) -> Result<&[f64], SolverError> {
        let found = self.scalars.iter().find(|(known, _)| known == name);
        found.map(|(_, values)| &values[..]).ok_or_else(|| self.wrong(format!("it has no scalars '{name}'")))
    }

    pub(super) fn get_scalar(&self, name: &str) -> Result<f64, SolverError> {
        match self.get_scalars(name)? {
            &[value] => Ok(value),
            values => Err(self.wrong(format!("it has {} values of '{name}', not one", values.len()))),
        }
    }

    pub(super) fn get_info(&self, name: &str) -> Result<SolverInfo, SolverError> {
        let history = self.get_scalars(&format!("{name}{HISTORY}"))?.to_vec();
        let source_norm2 = self.get_scalar(&format!("{name} source"))?;
        Ok(SolverInfo { iterations: history.len().saturating_sub(1), history, source_norm2 })
    }

    pub(super) fn get_field<R: Vectors, B: Backend, K: Repeated>(
        &self,
        backend: &B,
        name: &str,
        (lattice, sites, kind): (Lattice, Sites, K),
    ) -> Result<FieldOn<B, R, K>, SolverError> {
        let Some(saved) = self.fields.iter().find(|field| field.name == name) else {
            return Err(self.wrong(format!("it has no field '{name}'")));
        };
        let wanted = lattice.osites(sites) * lattice.nsimd() * kind.words();
        let found = (saved.precision.as_str(), saved.words, saved.values.len());
        if found != (R::NAME, kind.words(), wanted) {
            let (precision, words, length) = found;
            return Err(self.wrong(format!(
                "its field '{name}' has {length} {precision} numbers, {words} a site, and this solve's has {wanted} {} numbers, {} a site",
                R::NAME,
                kind.words()
            )));
        }
        let (extents, words) = (lattice.extents(), kind.words());
        let zeros = std::iter::repeat(Complex::new(R::default(), R::default()));
        let what = || format!("the field {name} of a checkpoint in site order");
        let mut values = list_of(what, extents.volume() * words, zeros)?;
        let objects = values.chunks_exact_mut(words).enumerate();
        let ours = objects.filter(|(site, _)| sites.contain(extents.coordinate(*site)));
        for ((_, object), saved) in ours.zip(saved.values.chunks_exact(words)) {
            for (word, c) in object.iter_mut().zip(saved) {
                *word = Complex::new(R::from_f64(c.re), R::from_f64(c.im));
            }
        }
        let field = Field::from_site_order(lattice, sites, kind, &values).map_err(BackendError::from)?;
        Ok(backend.upload(field)?)
    }
}

/// The start of every recurrence for one right-hand side.
pub(super) struct Start<B: Backend, R: Vectors, K: Repeated> {
    /// b − A guess.
    pub residual: FieldOn<B, R, K>,
    /// A temporary field.
    pub product: FieldOn<B, R, K>,
    /// |r|².
    pub c: f64,
    /// The |r|² at which it has converged.
    pub stop: f64,
    pub info: SolverInfo,
}

impl<B: Backend, R: Vectors, K: Repeated> Start<B, R, K> {
    /// Starts from the guess ψ. A guess of zero needs no application of the operator.
    pub(super) fn new(
        operator: &mut DynOperator<B, R, K>,
        source: &FieldOn<B, R, K>,
        psi: &FieldOn<B, R, K>,
        params: &SolverParams,
    ) -> Result<Self, SolverError> {
        let quiet = &mut |_, _| ();
        let mut info =
            SolverInfo { source_norm2: operator.backend().norm2(source, params.sum)?, ..SolverInfo::default() };
        watch(quiet, (0, "|b|²"), info.source_norm2, &info)?;
        require_zeros(operator.backend(), source, &[info.source_norm2])?;
        let mut residual = operator.zeros()?;
        operator.backend().copy(&mut residual, source)?;
        let mut product = operator.zeros()?;
        let guess_norm2 = watch(quiet, (0, "|guess|²"), operator.backend().norm2(psi, params.sum)?, &info)?;
        let c = if guess_norm2 == 0.0 {
            info.source_norm2
        } else {
            operator.apply(&mut product, psi, Dagger::No)?;
            operator.backend().axpy_norm(-1.0, &product, &mut residual, params.sum)?
        };
        watch(quiet, (0, "|r|²"), c, &info)?;
        info.push(c);
        let stop = stop(params.tolerance, &info)?;
        Ok(Self { residual, product, c, stop, info })
    }
}

/// The lattice, sites and object of a field.
pub(super) fn place<B: Backend, R: Vectors, K: Repeated>(field: &FieldOn<B, R, K>) -> (Lattice, Sites, K) {
    (*field.lattice(), field.sites(), field.kind())
}

/// Passes a scalar to the watcher; fails if it is not finite.
pub(super) fn watch(
    watcher: &mut dyn Watcher,
    (rhs, quantity): (usize, &'static str),
    value: f64,
    info: &SolverInfo,
) -> Result<f64, SolverError> {
    watcher.scalar(WatchedScalar { iteration: info.iterations, rhs, quantity, value })?;
    match value.is_finite() {
        true => Ok(value),
        false => Err(SolverError::NotFinite { quantity, value, info: info.clone() }),
    }
}

/// The |r|² at which a right-hand side has converged.
///
/// # Errors
/// [`SolverError::Underflow`] if |r|² could be rounded to 0 before that.
pub(super) fn stop(tolerance: f64, info: &SolverInfo) -> Result<f64, SolverError> {
    // No solve gets below rounding, whatever its tolerance.
    let least = tolerance.max(f64::EPSILON).powi(2) * info.source_norm2;
    match info.source_norm2 > 0.0 && least < f64::MIN_POSITIVE / f64::EPSILON {
        true => Err(SolverError::Underflow { source_norm2: info.source_norm2 }),
        false => Ok(tolerance * tolerance * info.source_norm2),
    }
}

/// Fails if the square of a source is 0 and the source is not.
///
/// # Errors
/// [`SolverError::Underflow`]; backend errors.
pub(super) fn require_zeros<B: Backend, R: Vectors, K: Repeated>(
    backend: &B,
    source: &FieldOn<B, R, K>,
    norms2: &[f64],
) -> Result<(), SolverError> {
    if norms2.contains(&0.0) {
        let words = source.kind().words() / norms2.len();
        let numbers = backend.download(source)?.try_to_site_order().map_err(BackendError::from)?;
        for (&norm2, largest) in norms2.iter().zip(largest_of(&numbers, (norms2.len(), words), |_| true)) {
            if norm2 == 0.0 && backend.largest(largest)? != 0.0 {
                return Err(SolverError::Underflow { source_norm2: norm2 });
            }
        }
    }
    Ok(())
}

/// Checks that a recurrence may continue: it has not reached its maximum number of iterations, and has not stagnated.
pub(super) fn may_go_on(params: &SolverParams, info: &SolverInfo) -> Result<(), SolverError> {
    if info.iterations >= params.max_iterations {
        return Err(SolverError::NotConverged { tolerance: params.tolerance, info: info.clone() });
    }
    let (before, lately) = info.history.split_at(info.history.len().saturating_sub(params.patience));
    let least = |history: &[f64]| history.iter().copied().fold(f64::INFINITY, f64::min);
    match before.is_empty() || least(lately) < least(before) {
        true => Ok(()),
        false => Err(SolverError::Stagnation { patience: params.patience, info: info.clone() }),
    }
}

/// Rejects the state of a solve of another source or operator, if |b|² differs.
pub(super) fn check_source(ours: &SolverInfo, saved: &SolverInfo) -> Result<(), SolverError> {
    match ours.source_norm2.to_bits() == saved.source_norm2.to_bits() {
        true => Ok(()),
        false => Err(SolverError::WrongState {
            what: format!(
                "its source has |b|² = {:e}, and that of this solve {:e}: configuration, source, mass and operator must be the same",
                saved.source_norm2, ours.source_norm2
            ),
        }),
    }
}
