//! Block conjugate gradients: each right-hand side uses the search directions of all. It is the variant BCGrQ of Dubrulle (Electron. Trans. Numer.
//! Anal. 12 (2001) 216) as used by Clark et al. for lattice QCD (arXiv:1710.09745), which stores the residuals as Q δ with orthonormal columns Q.
//! Columns that become linearly dependent are removed from Q (Ji and Li, BIT 57 (2017) 379). `docs/arithmetic.md` §10 defines it.

use lanefield_reference::field::Repeated;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;

use super::dense::{CholeskyFactor, DenseMatrix, cholesky_with_pivots, positive_inverse, upper_inverse};
use super::recurrence::{Recurrence, Watcher, check_source, may_go_on, place, require_zeros, run, stop, watch};
use super::{BatchSolution, SavedState, SolverError, SolverInfo, SolverParams};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;
use crate::operator::DynOperator;

/// A column counts as linearly dependent if its part orthogonal to the others is less than this, in units of its own |·|².
const LEAST_PIVOT: f64 = 1e-13;
/// Below this pivot, columns are orthonormalised twice: one pass leaves the rounding error of a Gram matrix divided by the pivot.
const PIVOT_OF_ONE_PASS: f64 = 1e-4;
/// A true residual is accepted up to this multiple of the tolerance; above it, the recurrence restarts.
const ACCEPTED: f64 = 2.0;
/// Give up after this number of restarts in a row without a new minimum of the largest |r|/|b|.
const MOST_IDLE_BEGINNINGS: usize = 3;

/// The phase of the recurrence.
#[derive(Clone, Copy, PartialEq, Debug)]
enum BlockPhase {
    /// It iterates.
    Iterating,
    /// It will compute the true residuals, and then end or restart.
    Checking,
    /// All true residuals are accepted.
    Done,
}

/// Block conjugate gradients on all right-hand sides of a field.
pub struct BlockConjugateGradients<'a, B: Backend, R: Vectors, K: Repeated> {
    operator: &'a mut DynOperator<'a, B, R, K>,
    params: SolverParams,
    parts_per_rhs: usize,
    source: &'a FieldOn<B, R, K>,
    psi: FieldOn<B, R, K>,
    /// The residuals are Q δ: Q has a column for each row of δ, and δ a column for each right-hand side.
    q: FieldOn<B, R, K>,
    delta: DenseMatrix,
    direction: FieldOn<B, R, K>,
    phase: BlockPhase,
    /// Whether this is the first iteration since the last restart.
    is_first: bool,
    /// The minimum of the largest |r|²/|b|² at restarts, and the number of restarts since then.
    lowest: f64,
    idle: usize,
    infos: Vec<SolverInfo>,
    longest: usize,
}

impl<'a, B: Backend, R: Vectors, K: Repeated> BlockConjugateGradients<'a, B, R, K> {
    /// Starts A ψ = b for each of the `rhs` right-hand sides of `source`, with A Hermitian and positive definite, from a guess for all of them or
    /// from zero.
    ///
    /// # Errors
    /// [`SolverError::NotFinite`] if the source or the guess is not finite; backend errors.
    pub fn new(
        operator: &'a mut DynOperator<'a, B, R, K>,
        source: &'a FieldOn<B, R, K>,
        rhs: usize,
        guess: Option<FieldOn<B, R, K>>,
        params: SolverParams,
    ) -> Result<Self, SolverError> {
        let quiet = &mut |_, _| ();
        let parts_per_rhs = operator.object(1).parts();
        let norms = operator.backend().rhs_products(source, source, parts_per_rhs, params.sum)?;
        require_zeros(operator.backend(), source, &norms)?;
        let mut infos = Vec::with_capacity(rhs);
        for (number, source_norm2) in norms.into_iter().enumerate() {
            let info = SolverInfo { source_norm2, ..SolverInfo::default() };
            watch(quiet, (number, "|b|²"), source_norm2, &info)?;
            stop(params.tolerance, &info)?;
            infos.push(info);
        }
        let is_from_zero = guess.is_none();
        let psi = guess.map_or_else(|| operator.zeros_of(rhs), Ok)?;
        let (q, direction) = (operator.zeros()?, operator.zeros()?);
        let mut block = Self {
            operator,
            params,
            parts_per_rhs,
            source,
            psi,
            q,
            delta: DenseMatrix::zeros((0, rhs)),
            direction,
            phase: BlockPhase::Checking,
            is_first: true,
            lowest: f64::INFINITY,
            idle: 0,
            infos,
            longest: 0,
        };
        block.begin(is_from_zero, quiet)?;
        Ok(block)
    }

    /// The |r|² at which right-hand side `number` has converged, with `times` the tolerance.
    fn stop(&self, number: usize, times: f64) -> f64 {
        let tolerance = times * self.params.tolerance;
        tolerance * tolerance * self.infos[number].source_norm2
    }

    /// Computes the residuals b − A ψ; then ends, or restarts with them.
    fn begin(&mut self, is_from_zero: bool, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
        let (sum, rhs) = (self.params.sum, self.infos.len());
        let mut residual = self.operator.zeros_of(rhs)?;
        self.operator.backend().copy(&mut residual, self.source)?;
        let norms = match is_from_zero {
            true => self.infos.iter().map(|info| info.source_norm2).collect(),
            false => {
                let mut product = self.operator.zeros_of(rhs)?;
                self.operator.apply(&mut product, &self.psi, Dagger::No)?;
                self.operator.backend().rhs_axpy_norm(&vec![-1.0; rhs], &product, &mut residual, sum)?
            }
        };
        let is_start = self.infos.iter().all(|info| info.history.is_empty());
        for (number, &c) in norms.iter().enumerate() {
            watch(watcher, (number, "|b - A x|²"), c, &self.infos[number])?;
        }
        self.infos.iter_mut().zip(&norms).for_each(|(info, &c)| info.push(c));
        let accepted = if is_start { 1.0 } else { ACCEPTED };
        if (0..rhs).all(|number| norms[number] <= self.stop(number, accepted)) {
            self.phase = BlockPhase::Done;
            return Ok(());
        }
        let share = |info: &SolverInfo, c: f64| if info.source_norm2 > 0.0 { c / info.source_norm2 } else { 0.0 };
        let largest = self.infos.iter().zip(&norms).map(|(info, &c)| share(info, c)).fold(0.0, f64::max);
        self.idle = if largest < self.lowest { 0 } else { self.idle + 1 };
        self.lowest = self.lowest.min(largest);
        if self.idle >= MOST_IDLE_BEGINNINGS {
            return Err(SolverError::IdleUpdates { updates: self.idle, info: self.info().clone() });
        }
        (self.q, self.delta) = self.orthonormal(residual)?;
        self.direction = self.operator.zeros_of(self.delta.rows())?;
        self.operator.backend().copy(&mut self.direction, &self.q)?;
        (self.phase, self.is_first) = (BlockPhase::Iterating, true);
        Ok(())
    }

    /// Q and ρ with S = Q ρ and orthonormal columns of Q, one for each independent column of S. Zeros, and no columns, if S is zero.
    fn orthonormal(&self, s: FieldOn<B, R, K>) -> Result<(FieldOn<B, R, K>, DenseMatrix), SolverError> {
        let (mut q, mut total) = (s, None);
        loop {
            let backend = self.operator.backend();
            let h = self.gram(&q, &q)?;
            let CholeskyFactor { kept, factor, least_pivot } = cholesky_with_pivots(&h, LEAST_PIVOT);
            if kept.is_empty() {
                return Ok((self.operator.zeros()?, DenseMatrix::zeros((0, h.columns()))));
            }
            let independent = match kept.iter().copied().eq(0..h.columns()) {
                true => q,
                false => backend.take_rhs(&q, &kept, self.parts_per_rhs)?,
            };
            let to_orthonormal = upper_inverse(&factor.take_columns(&kept));
            q = self.operator.zeros_of(kept.len())?;
            backend.rhs_madd(to_orthonormal.elements(), &independent, &mut q, self.parts_per_rhs)?;
            // In a second pass the columns are nearly orthonormal already.
            let is_second = total.is_some();
            let product = total.map_or_else(|| factor.clone(), |total| factor.times(&total));
            if is_second || least_pivot >= PIVOT_OF_ONE_PASS {
                return Ok((q, product));
            }
            total = Some(product);
        }
    }

    /// ⟨x_i, y_j⟩ for all pairs.
    fn gram(&self, x: &FieldOn<B, R, K>, y: &FieldOn<B, R, K>) -> Result<DenseMatrix, SolverError> {
        let products = self.operator.backend().rhs_gram(x, y, self.parts_per_rhs, self.params.sum)?;
        let [rows, columns] = [x, y].map(|field| field.kind().parts() / self.parts_per_rhs);
        match products.iter().find(|z| !(z.re.is_finite() && z.im.is_finite())) {
            None => Ok(DenseMatrix::new((rows, columns), products)),
            Some(z) => {
                let value = if z.re.is_finite() { z.im } else { z.re };
                Err(SolverError::NotFinite {
                    quantity: "an inner product of columns",
                    value,
                    info: self.info().clone(),
                })
            }
        }
    }

    /// x · m, or x · m + add.
    fn times(
        &self,
        x: &FieldOn<B, R, K>,
        m: &DenseMatrix,
        add: Option<&FieldOn<B, R, K>>,
    ) -> Result<FieldOn<B, R, K>, BackendError> {
        let mut product = self.operator.zeros_of(m.columns())?;
        let backend = self.operator.backend();
        if let Some(add) = add {
            backend.copy(&mut product, add)?;
        }
        backend.rhs_madd(m.elements(), x, &mut product, self.parts_per_rhs)?;
        Ok(product)
    }

    /// One iteration of the recurrence.
    fn iterate(&mut self, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
        let mut product = self.operator.zeros_of(self.delta.rows())?;
        self.operator.apply(&mut product, &self.direction, Dagger::No)?;
        let curvatures = self.gram(&self.direction, &product)?;
        for k in 0..curvatures.rows() {
            watch(watcher, (k, "<p, A p>"), curvatures.at(k, k).re, &self.infos[k])?;
        }
        let alpha = match positive_inverse(&curvatures) {
            Ok(alpha) => alpha,
            // For orthonormal directions the operator is at fault; later, directions that have become dependent are.
            Err(curvature) if self.is_first => {
                return Err(SolverError::Indefinite { curvature, info: self.info().clone() });
            }
            Err(_) => {
                self.phase = BlockPhase::Checking;
                return self.check(watcher);
            }
        };
        let backend = self.operator.backend();
        let step = alpha.times(&self.delta);
        backend.rhs_madd(step.elements(), &self.direction, &mut self.psi, self.parts_per_rhs)?;
        let mut s = std::mem::replace(&mut self.q, self.operator.zeros()?);
        backend.rhs_madd(alpha.negative().elements(), &product, &mut s, self.parts_per_rhs)?;
        drop(product);
        let rho;
        (self.q, rho) = self.orthonormal(s)?;
        if rho.rows() > 0 {
            self.direction = self.times(&self.direction, &rho.adjoint(), Some(&self.q))?;
        }
        self.delta = rho.times(&self.delta);
        self.is_first = false;
        for (number, info) in self.infos.iter_mut().enumerate() {
            let c = watch(watcher, (number, "|r|²"), self.delta.column_norm2(number), info)?;
            info.push(c);
        }
        let is_converged = |number: usize| {
            let c = self.infos[number].history.last().copied().unwrap_or_default();
            c <= self.stop(number, 1.0)
        };
        if self.delta.rows() == 0 || (0..self.infos.len()).all(is_converged) {
            self.phase = BlockPhase::Checking;
        }
        Ok(())
    }

    /// Computes the true residuals, with one application of the operator like an iteration.
    fn check(&mut self, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
        self.begin(false, watcher)
    }

    /// The solutions of all right-hand sides in one field, and the [`SolverInfo`] of each.
    ///
    /// # Errors
    /// [`SolverError::NotConverged`] unless all have converged.
    pub fn into_solution(self) -> Result<BatchSolution<B, R, K>, SolverError> {
        match self.phase {
            BlockPhase::Done => Ok((self.psi, self.infos)),
            _ => Err(SolverError::NotConverged { tolerance: self.params.tolerance, info: self.info().clone() }),
        }
    }

    /// Current number of search directions: less than the number of right-hand sides if some are linearly dependent.
    pub fn columns(&self) -> usize {
        self.delta.rows()
    }
}

impl<B: Backend, R: Vectors, K: Repeated> Recurrence for BlockConjugateGradients<'_, B, R, K> {
    fn name(&self) -> &'static str {
        "block conjugate gradients"
    }
    fn info(&self) -> &SolverInfo {
        &self.infos[self.longest]
    }
    fn infos(&self) -> &[SolverInfo] {
        &self.infos
    }
    fn is_done(&self) -> bool {
        self.phase == BlockPhase::Done
    }

    fn step(&mut self, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
        // The info of the largest residual stands for all.
        let share = |info: &SolverInfo| info.relative_residual();
        for number in 0..self.infos.len() {
            if share(&self.infos[number]) > share(&self.infos[self.longest]) {
                self.longest = number;
            }
        }
        match self.phase {
            BlockPhase::Done => Ok(()),
            BlockPhase::Checking => self.check(watcher),
            BlockPhase::Iterating => {
                may_go_on(&self.params, self.info())?;
                self.iterate(watcher)
            }
        }
    }

    fn save(&self) -> Result<SavedState, BackendError> {
        let backend = self.operator.backend();
        let mut state = SavedState::new(self.name());
        let phase = match self.phase {
            BlockPhase::Iterating => 0.0,
            BlockPhase::Checking => 1.0,
            BlockPhase::Done => 2.0,
        };
        let first = f64::from(u8::from(self.is_first));
        state.scalars("recurrence", &[phase, first, self.lowest, self.idle as f64, self.longest as f64]);
        for (number, info) in self.infos.iter().enumerate() {
            state.info(&format!("rhs {number}"), info);
        }
        self.delta.save(&mut state, "delta");
        state.field::<R, B, _>(backend, "psi", &self.psi)?;
        if self.phase == BlockPhase::Iterating {
            state.field::<R, B, _>(backend, "q", &self.q)?;
            state.field::<R, B, _>(backend, "p", &self.direction)?;
        }
        Ok(state)
    }

    fn restore(&mut self, state: &SavedState) -> Result<(), SolverError> {
        state.check_name(self.name())?;
        let &[phase, first, lowest, idle, longest] = state.get_scalars("recurrence")? else {
            return Err(SolverError::WrongState { what: "it does not have five scalars of the recurrence".to_owned() });
        };
        for (number, ours) in self.infos.iter_mut().enumerate() {
            let info = state.get_info(&format!("rhs {number}"))?;
            check_source(ours, &info)?;
            *ours = info;
        }
        let delta = DenseMatrix::restored(state, "delta")?;
        let rhs = self.infos.len();
        if delta.columns() != rhs || delta.rows() > rhs || longest as usize >= rhs {
            let what = format!("it is of {} right-hand sides, and this solve has {rhs}", delta.columns());
            return Err(SolverError::WrongState { what });
        }
        let backend = self.operator.backend();
        let place = place::<B, R, _>(&self.psi);
        self.psi = state.get_field(backend, "psi", place)?;
        self.phase = match phase {
            0.0 => BlockPhase::Iterating,
            1.0 => BlockPhase::Checking,
            _ => BlockPhase::Done,
        };
        if self.phase == BlockPhase::Iterating {
            let of_columns = (place.0, place.1, self.operator.object(delta.rows()));
            self.q = state.get_field(backend, "q", of_columns)?;
            self.direction = state.get_field(backend, "p", of_columns)?;
        }
        (self.delta, self.is_first, self.lowest) = (delta, first != 0.0, lowest);
        (self.idle, self.longest) = (idle as usize, longest as usize);
        Ok(())
    }
}

/// Solves A ψ = b for all of the `rhs` right-hand sides of `source` in one block, from the guess zero. Unlike in a batch, the bits of each depend on
/// all.
pub fn block_conjugate_gradient<'a, B: Backend, R: Vectors, K: Repeated>(
    operator: &'a mut DynOperator<'a, B, R, K>,
    source: &'a FieldOn<B, R, K>,
    rhs: usize,
    params: SolverParams,
    mut watcher: impl Watcher,
) -> Result<BatchSolution<B, R, K>, SolverError> {
    let mut recurrence = BlockConjugateGradients::new(operator, source, rhs, None, params)?;
    run(&mut recurrence, &mut watcher)?;
    recurrence.into_solution()
}
