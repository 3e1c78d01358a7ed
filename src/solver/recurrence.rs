//! What all iterative solvers have in common: a recurrence that goes on step by step, whose state can be saved and restored to the bit, and
//! whose scalars can be watched. State is saved in site order, so that it can be restored on any backend, in any layout.

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

/// A sum over sites that a recurrence goes on with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WatchedScalar {
    /// Iterations done before this one.
    pub iteration: usize,
    /// The right-hand side of a batch that it belongs to, else 0.
    pub rhs: usize,
    /// What it is: "<p, A p>".
    pub quantity: &'static str,
    /// Its value.
    pub value: f64,
}

/// Watches a recurrence. Each method may end the solve.
pub trait Watcher {
    /// Before the first iteration.
    ///
    /// # Errors
    /// A reason to end.
    fn begin(&mut self, _: &dyn Recurrence) -> Result<(), Stopped> {
        Ok(())
    }
    /// A scalar, as soon as it is known.
    ///
    /// # Errors
    /// A reason to end.
    fn scalar(&mut self, _: WatchedScalar) -> Result<(), Stopped> {
        Ok(())
    }
    /// After each iteration, but for those of [`Self::passed`].
    ///
    /// # Errors
    /// A reason to end.
    fn iteration(&mut self, _: &dyn Recurrence) -> Result<(), Stopped> {
        Ok(())
    }
    /// After an iteration before [`Self::next_state`] whose state is gone: the recurrence was already further when its scalars became known.
    ///
    /// # Errors
    /// A reason to end. State and history are then those of the iteration that it was at.
    fn passed(&mut self, _: &SolverInfo) -> Result<(), Stopped> {
        Ok(())
    }
    /// When no more iterations are allowed, before the solve ends without convergence. The state is that after the last iteration.
    ///
    /// # Errors
    /// A reason to end.
    fn given_up(&mut self, _: &dyn Recurrence) -> Result<(), Stopped> {
        Ok(())
    }
    /// After so many iterations, the number of the next one whose state is needed: a recurrence may tell of those before by [`Self::passed`] alone, and be
    /// faster.
    fn next_state(&self, iterations: usize) -> usize {
        iterations + 1
    }
}

/// Watches by a function of the iteration and |r|².
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

/// A solver that goes on step by step.
pub trait Recurrence {
    /// What it is called in files: "conjugate gradients".
    fn name(&self) -> &'static str;
    /// Iterations and history; of a batch those of the right-hand side that took longest.
    fn info(&self) -> &SolverInfo;
    /// Iterations and history of each right-hand side.
    fn infos(&self) -> &[SolverInfo] {
        std::slice::from_ref(self.info())
    }
    /// Whether nothing is left to do.
    fn is_done(&self) -> bool;
    /// One iteration, or several of which the watcher needs no state but the last one's ([`Watcher::next_state`]).
    ///
    /// # Errors
    /// [`SolverError`]; the state is then that of some moment within an iteration.
    fn step(&mut self, watcher: &mut dyn Watcher) -> Result<(), SolverError>;
    /// All that the next iterations depend on.
    fn save(&self) -> Result<SavedState, BackendError>;
    /// Goes on from a state that was saved.
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
            // Told before anything of the next iteration is done.
            if matches!(error, SolverError::NotConverged { .. }) {
                watcher.given_up(recurrence)?;
            }
            return Err(error);
        }
        watcher.iteration(recurrence)?;
    }
    Ok(())
}

/// How the name of a system's residual history ends.
const HISTORY: &str = " history";

impl SavedState {
    pub(super) fn new(recurrence: &str) -> Self {
        Self { recurrence: recurrence.to_owned(), ..Self::default() }
    }

    pub(super) fn scalars(&mut self, name: &str, values: &[f64]) {
        self.scalars.push((name.to_owned(), values.to_vec()));
    }

    /// Iterations, history and |b|² of a system.
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

    /// Iterations done when it was saved; of a batch those of the right-hand side that took longest.
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
            false => Err(self.wrong(format!("it is of {}, and this solve is by {name}", self.recurrence))),
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

/// Where every recurrence for one right-hand side starts.
pub(super) struct Start<B: Backend, R: Vectors, K: Repeated> {
    /// b − A guess.
    pub residual: FieldOn<B, R, K>,
    /// A temporary field.
    pub product: FieldOn<B, R, K>,
    /// |r|².
    pub c: f64,
    /// The |r|² at which it is done.
    pub stop: f64,
    pub info: SolverInfo,
}

impl<B: Backend, R: Vectors, K: Repeated> Start<B, R, K> {
    /// From the guess ψ. A guess of zero takes no application of the operator.
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

/// Where a field lies, and what it holds.
pub(super) fn place<B: Backend, R: Vectors, K: Repeated>(field: &FieldOn<B, R, K>) -> (Lattice, Sites, K) {
    (*field.lattice(), field.sites(), field.kind())
}

/// Passes a scalar on, and refuses it if it is no finite number.
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

/// The |r|² at which a right-hand side is done.
///
/// # Errors
/// [`SolverError::Underflow`] where |r|² could be rounded to 0 before.
pub(super) fn stop(tolerance: f64, info: &SolverInfo) -> Result<f64, SolverError> {
    // No solve gets below rounding, whatever its tolerance.
    let least = tolerance.max(f64::EPSILON).powi(2) * info.source_norm2;
    match info.source_norm2 > 0.0 && least < f64::MIN_POSITIVE / f64::EPSILON {
        true => Err(SolverError::Underflow { source_norm2: info.source_norm2 }),
        false => Ok(tolerance * tolerance * info.source_norm2),
    }
}

/// Refuses a source that is not 0 though its square is.
///
/// # Errors
/// [`SolverError::Underflow`]; what the backend reports.
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

/// Whether a recurrence may go on: not beyond its most iterations, and not without getting nearer.
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

/// Refuses the state of a solve of another source, or by another operator, as far as |b|² tells.
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
