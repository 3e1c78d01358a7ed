//! Eigenpairs of A, the operator that conjugate gradients invert, in host memory: computed, saved and read, and used to guess solutions (deflation).
//! The guess for A ψ = b is the projection of ψ on the eigenvectors, Σ v ⟨v, b⟩ / λ. `docs/arithmetic.md` §10 defines it.

use lanefield_reference::field::Repeated;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::LaneChoice;
use lanefield_reference::real::Real as _;
use num_complex::Complex;
use sha2::{Digest as _, Sha256};

use super::basis::Basis;
use super::between::convert;
use super::eigen_error::EigenError;
use super::error::Stopped;
use super::lanczos::{EigenParams, EigenProgress, EigenRun, Found, lowest_eigenpairs};
use super::operators::{Operators, OperatorsTask, with_operators};
use super::recurrence::Watcher;
use super::{Method, Preconditioning, SavedField, SavedState, Solve, SolveError, SolverError, SolverParams};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::comm::{CommError, WholeLattice};
use crate::io::identity::{Identity, describe_configuration};
use crate::operator::{ActsOn as _, DynOperator, HopParameters, ModelChoice, System};

/// The name of a state with eigenpairs.
const NAME: &str = "lowest eigenpairs";

/// Eigenpairs in ascending order of the eigenvalue.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Eigenpairs {
    values: Vec<f64>,
    residuals: Vec<f64>,
    /// In site order, on the sites on which the operator acts; on ranks, on the local volume.
    vectors: Vec<SavedField>,
}

impl Eigenpairs {
    /// The eigenvalues.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// |A v − λ v| of each.
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// Number of eigenpairs.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Converts them to the state that a file holds ([`crate::io::checkpoint`]).
    pub fn into_state(self) -> SavedState {
        let mut state = SavedState::new(NAME);
        state.scalars("lambda", &self.values);
        state.scalars("residual", &self.residuals);
        state.fields = self.vectors;
        state
    }

    /// Reads them from the state in a file.
    ///
    /// # Errors
    /// [`EigenError::WrongState`] if the state is not one of eigenpairs.
    pub fn of_state(state: SavedState) -> Result<Self, EigenError> {
        let wrong = |what: String| EigenError::WrongState { what };
        if state.recurrence != NAME {
            return Err(wrong(format!(
                "the file has the state of {}, and no eigenpairs: write one by 'lanefield eigen'",
                state.recurrence
            )));
        }
        let numbers =
            |name: &str| state.get_scalars(name).map(<[f64]>::to_vec).map_err(|error| wrong(error.to_string()));
        let (values, residuals) = (numbers("lambda")?, numbers("residual")?);
        if let Some(value) = values.iter().find(|&&value| !(value.is_finite() && value > 0.0)) {
            return Err(wrong(format!("one has the eigenvalue {value}, which is not positive")));
        }
        let counts = [values.len(), residuals.len(), state.fields.len()];
        match counts[0] == counts[1] && counts[0] == counts[2] {
            true => Ok(Self { values, residuals, vectors: state.fields }),
            false => Err(wrong(format!("there are {counts:?} eigenvalues, residuals and vectors"))),
        }
    }

    /// SHA-256 of all numbers, for the identity of solves that use them. All ranks must call it.
    pub fn digest(&self, lattice: &WholeLattice) -> Result<String, CommError> {
        let of_vectors: Vec<String> =
            self.vectors.iter().map(|vector| lattice.digest(&vector.values)).collect::<Result<_, _>>()?;
        let values = self.values.iter().map(|value| format!("{:016x}", value.to_bits()));
        let text: Vec<String> = values.chain(of_vectors).collect();
        Ok(hex::encode(Sha256::digest(text.join(" "))))
    }
}

/// The identity of the operator whose eigenpairs they are: it must be the same in a solve that uses them. Gauge compression and leg order are left
/// out, because they change eigenpairs only by rounding.
pub fn eigen_identity(
    operator: &str,
    hop: HopParameters,
    preconditioning: Preconditioning,
    (configuration, lattice): (&Configuration, &WholeLattice),
) -> Result<Identity, CommError> {
    let identity = Identity::default()
        .with("operator", operator)
        .with("boundary", hop.boundary)
        .with("configuration", describe_configuration(configuration, lattice)?)
        .with("preconditioning", preconditioning.name());
    Ok(identity)
}

/// Everything on which the bits of a search depend; `pairs` is the identity of its eigenpairs.
pub fn search_identity(pairs: Identity, hop: HopParameters, params: &EigenParams) -> Identity {
    let or_chosen = |value: Option<String>| value.unwrap_or_else(|| "chosen".to_owned());
    pairs
        .with("links", hop.links)
        .with("legs", hop.legs)
        .with("eigenpairs", params.count)
        .with("basis", params.most_vectors())
        .with("tolerance", format!("{:e}", params.tolerance))
        .with("degree", or_chosen(params.degree.map(|degree| degree.to_string())))
        .with("suppression from", or_chosen(params.above.map(|above| format!("{above:e}"))))
        .with("seed", params.seed)
}

/// Computes the lowest eigenpairs of the operator A that conjugate gradients invert for M. A is M†M, or Mpc†Mpc with even-odd preconditioning, or M
/// or Mpc itself if it is Hermitian and positive definite. All arithmetic is in f64. `progress` is called after each restart, and may end the
/// search.
pub fn eigenpairs<B: Backend, M: ModelChoice>(
    backend: &B,
    configuration: &Configuration,
    what: (M, Preconditioning, LaneChoice),
    params: EigenParams,
    progress: &mut dyn FnMut(EigenProgress) -> Result<(), Stopped>,
) -> Result<(Eigenpairs, EigenRun), EigenError> {
    eigenpairs_from(backend, configuration, what, params, progress, (&mut |_: usize, _: f64| (), None))
}

/// Like [`eigenpairs`]; `watcher` is called after each vector of the basis. It can resume, to the same bits, from a state that such a watcher saved.
pub fn eigenpairs_from<B: Backend, M: ModelChoice>(
    backend: &B,
    configuration: &Configuration,
    (operator, preconditioning, lanes): (M, Preconditioning, LaneChoice),
    params: EigenParams,
    progress: &mut dyn FnMut(EigenProgress) -> Result<(), Stopped>,
    (watcher, resume): (&mut dyn Watcher, Option<&SavedState>),
) -> Result<(Eigenpairs, EigenRun), EigenError> {
    let solver = SolverParams::auto::<f64>();
    let solve = Solve { operator, preconditioning, method: Method::ConjugateGradients, params: solver, lanes };
    with_operators::<f64, _, _, _>(backend, configuration, &solve, Finding { params, progress, watcher, resume })
}

/// Finds the eigenpairs of the operators of any model.
struct Finding<'a> {
    params: EigenParams,
    progress: &'a mut dyn FnMut(EigenProgress) -> Result<(), Stopped>,
    watcher: &'a mut dyn Watcher,
    resume: Option<&'a SavedState>,
}

impl<B: Backend> OperatorsTask<B, f64> for Finding<'_> {
    type Output = Result<(Eigenpairs, EigenRun), EigenError>;

    fn run<K: Repeated>(self, operators: &Operators<'_, B, f64, K>) -> Self::Output {
        let &Operators { configuration, backend, how, normal, own, .. } = operators;
        let lattice = how.lattice::<f64>(configuration).map_err(BackendError::from)?;
        match how.preconditioning {
            Preconditioning::None => self.of_operator(&mut *operators.full(backend, own, lattice)?, normal),
            Preconditioning::EvenOdd => self.of_operator(&mut operators.schur(backend, own, lattice)?, normal),
        }
    }
}

impl Finding<'_> {
    /// The eigenpairs of an operator, or of its normal equations.
    fn of_operator<B: Backend, K: Repeated>(
        self,
        operator: &mut DynOperator<'_, B, f64, K>,
        normal: bool,
    ) -> Result<(Eigenpairs, EigenRun), EigenError> {
        let Self { params, progress, watcher, resume } = self;
        let system = &mut System::new(operator, normal)?;
        let found = lowest_eigenpairs(system, params, progress, watcher, resume)?;
        let Found { values, residuals, vectors, run } = found;
        let (backend, mut state) = (system.backend(), SavedState::default());
        for number in 0..values.len() {
            state.field::<f64, B, _>(backend, &format!("v {number}"), &vectors.vector(backend, number)?)?;
        }
        Ok((Eigenpairs { values, residuals, vectors: state.fields }, run))
    }
}

/// Eigenvectors on a backend, for guesses.
pub(super) struct Deflation<B: Backend, K: Repeated> {
    values: Vec<f64>,
    vectors: Basis<B, K>,
}

impl<B: Backend, K: Repeated> Deflation<B, K> {
    /// From the eigenpairs of an operator's system, whatever its precision.
    pub(super) fn new<R: Vectors>(operator: &DynOperator<'_, B, R, K>, pairs: &Eigenpairs) -> Result<Self, SolveError> {
        let (backend, kind) = (operator.backend().in_f64(), operator.object(1));
        let lattice = operator.lattice().in_scalar(f64::COMPLEX)?;
        let mut vectors = Basis::new(kind.parts());
        let mut state = SavedState::new(NAME);
        for vector in &pairs.vectors {
            // One at a time, to avoid a second copy of all.
            state.fields = vec![vector.clone()];
            let place = (lattice, operator.sites(), kind);
            let field: FieldOn<B, f64, K> = state.get_field(backend, &vector.name, place)?;
            vectors.push(backend, &field)?;
        }
        Ok(Self { values: pairs.values.clone(), vectors })
    }

    /// Σ v ⟨v, b⟩ / λ for each right-hand side, in f64, rounded to the precision of b.
    pub(super) fn guess<R: Vectors>(
        &self,
        operator: &DynOperator<'_, B, R, K>,
        b: &FieldOn<B, R, K>,
    ) -> Result<FieldOn<B, R, K>, SolverError> {
        let (own, backend) = (operator.backend(), operator.backend().in_f64());
        let lattice = operator.lattice().in_scalar(f64::COMPLEX).map_err(BackendError::from)?;
        let mut projected: FieldOn<B, f64, K> = backend.zeros(lattice, b.sites(), b.kind())?;
        convert((backend, &mut projected), (own, b))?;
        let mut overlaps = self.vectors.overlaps(backend, &projected)?;
        let of_vector = overlaps.len() / self.values.len().max(1);
        for (overlaps, value) in overlaps.chunks_exact_mut(of_vector.max(1)).zip(&self.values) {
            overlaps.iter_mut().for_each(|z| *z = Complex::new(z.re / value, z.im / value));
        }
        backend.clear(&mut projected)?;
        self.vectors.add(backend, &overlaps, &mut projected)?;
        let mut guess = own.zeros(*b.lattice(), b.sites(), b.kind())?;
        convert((own, &mut guess), (backend, &projected))?;
        Ok(guess)
    }
}
