//! The lowest eigenpairs of a Hermitian positive definite operator: thick-restart Lanczos (Wu and Simon, SIAM J. Matrix Anal. Appl. 22 (2000) 602)
//! on a Chebyshev polynomial of the operator, with full reorthogonalisation. `docs/arithmetic.md` §10 defines it.

use lanefield_reference::field::{Field, Repeated};
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::random::{Stream, gaussian_pair};
use num_complex::Complex;

use super::basis::Basis;
use super::chebyshev::Chebyshev;
use super::dense::symmetric_eigenpairs;
use super::eigen_error::EigenError;
use super::error::Stopped;
use super::recurrence::{Recurrence, Watcher, place, watch};
use super::{SavedState, SolverError, SolverInfo};
use crate::backend::{Backend, BackendError, FieldOn, Sum};
use crate::kernel::prelude::*;
use crate::operator::{ActsOn as _, DynOperator, Operator as _};

/// The number of eigenpairs, and the parameters of the search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EigenParams {
    /// Number of eigenpairs.
    pub count: usize,
    /// Largest number of vectors in the basis; 2 · count + 24 if `None`.
    pub basis: Option<usize>,
    /// An eigenvector is accepted if |A v − λ v| ≤ tolerance · (an upper bound of the spectrum).
    pub tolerance: f64,
    /// Give up after this number of restarts.
    pub max_restarts: usize,
    /// The degree of the polynomial; derived from the range if `None`.
    pub degree: Option<usize>,
    /// The lower end of the range that the polynomial suppresses, above the wanted eigenvalues; estimated if `None`.
    pub above: Option<f64>,
    /// Seed of the starting vector.
    pub seed: u64,
}

impl EigenParams {
    /// The defaults for `count` eigenpairs: tolerance 1e-10, 100 restarts, seed 1.
    pub fn auto(count: usize) -> Self {
        Self { count, basis: None, tolerance: 1e-10, max_restarts: 100, degree: None, above: None, seed: 1 }
    }

    pub(super) fn most_vectors(&self) -> usize {
        self.basis.unwrap_or(2 * self.count + 24)
    }
}

/// The progress of a search, reported after each restart.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EigenProgress {
    /// Restarts so far.
    pub restarts: usize,
    /// Applications of the operator so far.
    pub applications: usize,
    /// Wanted eigenvectors that have converged, by their estimated residuals.
    pub converged: usize,
    /// Number of wanted eigenvectors.
    pub count: usize,
}

/// The cost of a search, and the polynomial that it used.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EigenRun {
    /// Number of restarts.
    pub restarts: usize,
    /// Number of applications of the operator.
    pub applications: usize,
    /// The range that was suppressed: its lower end, and an upper bound of the spectrum.
    pub range: [f64; 2],
    /// The degree of the polynomial.
    pub degree: usize,
    /// Largest number of vectors in the basis.
    pub basis: usize,
}

/// The eigenvectors, in ascending order of the eigenvalue.
pub(super) struct Found<B: Backend, K: Repeated> {
    pub values: Vec<f64>,
    /// |A v − λ v| of each.
    pub residuals: Vec<f64>,
    pub vectors: Basis<B, K>,
    pub run: EigenRun,
}

/// Number of Lanczos steps on the operator itself, from which the range of its eigenvalues is estimated.
const PILOT: usize = 64;
/// Safety factor of the upper bound, which is the largest eigenvalue of the pilot run plus its residual.
const MARGIN: f64 = 1.02;
/// If less than this part of a new direction is left, relative to the range, the rest is rounding: the space is invariant.
const LEAST_REST: f64 = 1e-12;
/// After this number of restarts the polynomial must exceed [`LEAST_POLYNOMIAL`] at all wanted eigenvalues.
const RESTARTS_TO_SEE: usize = 3;
const LEAST_POLYNOMIAL: f64 = 1.5;
/// How many times an estimated range that is too low is raised.
const MOST_RAISES: usize = 12;

/// T of A V = V T + rest: real and symmetric.
struct ProjectedOperator {
    size: usize,
    elements: Vec<f64>,
}

impl ProjectedOperator {
    fn new(size: usize) -> Self {
        Self { size, elements: vec![0.0; size * size] }
    }

    fn set(&mut self, row: usize, column: usize, value: f64) {
        self.elements[row * self.size + column] = value;
        self.elements[column * self.size + row] = value;
    }

    /// Eigenvalues and eigenvectors of the leading `size` × `size` block.
    fn eigenpairs(&self, size: usize) -> Result<Ritz, EigenError> {
        let elements = (0..size * size).map(|k| self.elements[k / size * self.size + k % size]).collect();
        let pairs = symmetric_eigenpairs(size, elements);
        let (values, vectors) = pairs.map_err(|sweeps| EigenError::Rotations { size, sweeps })?;
        Ok(Ritz { size, values, vectors })
    }
}

/// Eigenpairs of a projection; vector k is in column k.
struct Ritz {
    size: usize,
    values: Vec<f64>,
    vectors: Vec<f64>,
}

impl Ritz {
    fn at(&self, row: usize, column: usize) -> f64 {
        self.vectors[row * self.size + column]
    }

    /// Their numbers sorted by a key; equal keys in ascending order.
    fn sorted_by(&self, key: impl Fn(f64) -> f64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.size).collect();
        order.sort_by(|&a, &b| key(self.values[a]).total_cmp(&key(self.values[b])));
        order
    }
}

/// Lanczos on an operator, or on a polynomial of it. Each iteration adds a vector to the basis.
struct Lanczos<'a, 'o, B: Backend, K: Repeated> {
    operator: &'a mut DynOperator<'o, B, f64, K>,
    polynomial: Option<Chebyshev>,
    seed: u64,
    /// Number of random vectors drawn so far.
    drawn: u32,
    basis: Basis<B, K>,
    projection: ProjectedOperator,
    /// The next vector of the basis, and its coupling to the last one; `None` if the basis spans the whole space.
    next: Option<FieldOn<B, f64, K>>,
    coupling: f64,
    applications: usize,
    /// Restarts with this polynomial.
    restarts: usize,
    /// Number of polynomials before this one.
    raises: usize,
    /// For all polynomials: the coupling of each basis vector to the next one.
    info: SolverInfo,
}

/// The name of the state between two vectors.
const NAME: &str = "Lanczos with thick restarts";

impl<B: Backend, K: Repeated> Recurrence for Lanczos<'_, '_, B, K> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn info(&self) -> &SolverInfo {
        &self.info
    }

    fn is_done(&self) -> bool {
        self.next.is_none()
    }

    fn step(&mut self, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
        let Some(vector) = self.next.take() else { return Ok(()) };
        let last = self.basis.len();
        self.basis.push(self.operator.backend(), &vector)?;
        let mut rest = self.image(&vector)?;
        let overlaps = self.basis.orthogonalize(self.operator.backend(), &mut rest)?;
        let own = watch(watcher, (0, "a diagonal element of Lanczos' matrix"), overlaps[last].re, &self.info)?;
        self.projection.set(last, last, own);
        let length = self.operator.backend().norm2(&rest, Sum::Exact)?.sqrt();
        let length = watch(watcher, (0, "a coupling of Lanczos' matrix"), length, &self.info)?;
        let largest = (0..=last)
            .fold(0.0, |largest: f64, k| largest.max(self.projection.elements[k * self.projection.size + k].abs()));
        (self.next, self.coupling) = match length > LEAST_REST * largest {
            true => (Some(self.normalized(rest, length)?), length),
            // The space is invariant: continue in another direction, without coupling.
            false => (self.random()?, 0.0),
        };
        if last + 1 < self.projection.size {
            self.projection.set(last, last + 1, self.coupling);
        }
        self.info.push(self.coupling);
        Ok(())
    }

    fn save(&self) -> Result<SavedState, BackendError> {
        let (backend, mut state) = (self.operator.backend(), SavedState::new(NAME));
        let Chebyshev { above, below, degree } = self.polynomial.unwrap_or_default();
        state.info("Lanczos", &self.info);
        let counts = [self.applications, self.restarts, self.raises, self.drawn as usize, degree, self.basis.len()];
        state.scalars("counts", &counts.map(|count| count as f64));
        state.scalars("range and coupling", &[above, below, self.coupling]);
        state.scalars("projection", &self.projection.elements);
        for number in 0..self.basis.len() {
            state.field::<f64, B, _>(backend, &format!("v {number}"), &self.basis.vector(backend, number)?)?;
        }
        self.next.iter().try_for_each(|next| state.field::<f64, B, _>(backend, "next", next))?;
        Ok(state)
    }

    fn restore(&mut self, state: &SavedState) -> Result<(), SolverError> {
        state.check_name(NAME)?;
        let info = state.get_info("Lanczos")?;
        let (counts, numbers) = (state.get_scalars("counts")?, state.get_scalars("range and coupling")?);
        let elements = state.get_scalars("projection")?;
        let (&[applications, restarts, raises, drawn, degree, vectors], &[above, below, coupling]) = (counts, numbers)
        else {
            let what = format!("it has {} counts and {} numbers, not 6 and 3", counts.len(), numbers.len());
            return Err(SolverError::WrongState { what });
        };
        let size = self.projection.size;
        if elements.len() != size * size || vectors > size as f64 {
            let found = elements.len();
            let what = format!("its matrix has {found} elements for {vectors} vectors, and this one {size} rows");
            return Err(SolverError::WrongState { what });
        }
        let like = self.operator.zeros()?;
        let field = |name: &str| state.get_field(self.operator.backend(), name, place(&like));
        let mut basis = Basis::new(self.operator.object(1).parts());
        for number in 0..vectors as usize {
            basis.push(self.operator.backend(), &field(&format!("v {number}"))?)?;
        }
        let is_whole = !state.fields.iter().any(|field| field.name == "next");
        self.next = if is_whole { None } else { Some(field("next")?) };
        self.polynomial = Some(Chebyshev { above, below, degree: degree as usize });
        (self.drawn, self.applications) = (drawn as u32, applications as usize);
        (self.restarts, self.raises) = (restarts as usize, raises as usize);
        self.projection.elements.copy_from_slice(elements);
        (self.basis, self.coupling, self.info) = (basis, coupling, info);
        Ok(())
    }
}

impl<'a, 'o, B: Backend, K: Repeated> Lanczos<'a, 'o, B, K> {
    /// With an empty basis: call [`Self::begin`], or restore a state.
    fn new(operator: &'a mut DynOperator<'o, B, f64, K>, (seed, most): (u64, usize)) -> Self {
        let basis = Basis::new(operator.object(1).parts());
        Self {
            operator,
            polynomial: None,
            seed,
            drawn: 0,
            basis,
            projection: ProjectedOperator::new(most),
            next: None,
            coupling: 0.0,
            applications: 0,
            restarts: 0,
            raises: 0,
            info: SolverInfo { history: vec![1.0], ..SolverInfo::default() },
        }
    }

    /// Starts with a random vector.
    fn begin(&mut self, polynomial: Option<Chebyshev>) -> Result<(), SolverError> {
        self.polynomial = polynomial;
        (self.drawn, self.coupling, self.restarts) = (0, 0.0, 0);
        self.basis = Basis::new(self.operator.object(1).parts());
        self.projection = ProjectedOperator::new(self.projection.size);
        self.next = self.random()?;
        Ok(())
    }

    /// The cost so far.
    fn run(&self) -> EigenRun {
        let Chebyshev { above, below, degree } = self.polynomial.unwrap_or_default();
        let Self { restarts, applications, ref projection, .. } = *self;
        EigenRun { restarts, applications, range: [above, below], degree, basis: projection.size }
    }

    /// A random vector orthogonal to the basis, of length 1; `None` if the basis spans the whole space.
    fn random(&mut self) -> Result<Option<FieldOn<B, f64, K>>, SolverError> {
        let (operator, seed) = (&*self.operator, self.seed);
        let (lattice, kind) = (operator.lattice(), operator.object(1));
        let (extents, first) = (lattice.extents(), self.drawn * kind.words() as u32);
        self.drawn += 1;
        let field = Field::from_sites(lattice, operator.sites(), kind, |site, object| {
            for (word, value) in (first..).zip(object) {
                let (re, im) = gaussian_pair(seed, Stream::Lanczos, extents.global_site(site), word);
                *value = Complex::new(re, im);
            }
        });
        let backend = operator.backend();
        let mut vector = backend.upload(field.map_err(BackendError::from)?)?;
        let before = backend.norm2(&vector, Sum::Exact)?;
        self.basis.orthogonalize(backend, &mut vector)?;
        let after = backend.norm2(&vector, Sum::Exact)?;
        if after <= LEAST_REST * before {
            return Ok(None);
        }
        self.normalized(vector, after.sqrt()).map(Some)
    }

    /// v / length.
    fn normalized(&self, vector: FieldOn<B, f64, K>, length: f64) -> Result<FieldOn<B, f64, K>, SolverError> {
        let mut scaled = self.operator.zeros()?;
        self.operator.backend().scale(&mut scaled, 1.0 / length, &vector)?;
        Ok(scaled)
    }

    /// Applies the operator, or its polynomial, to a vector.
    fn image(&mut self, vector: &FieldOn<B, f64, K>) -> Result<FieldOn<B, f64, K>, SolverError> {
        let [mut out, mut image] = [self.operator.zeros()?, self.operator.zeros()?];
        let Some(polynomial) = self.polynomial else {
            self.operator.apply(&mut out, vector, Dagger::No)?;
            self.applications += 1;
            return Ok(out);
        };
        let mut v = self.operator.zeros()?;
        self.operator.backend().copy(&mut v, vector)?;
        polynomial.apply(self.operator, &mut v, &mut out, &mut image)?;
        self.applications += polynomial.degree;
        Ok(out)
    }

    /// Adds vectors to the basis until it has `most`, or spans the whole space.
    fn extend(&mut self, most: usize, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
        while self.basis.len() < most && !self.is_done() {
            self.step(watcher)?;
            watcher.iteration(self)?;
        }
        Ok(())
    }

    /// Keeps the given Ritz vectors, in this order.
    fn restart(&mut self, ritz: &Ritz, kept: &[usize]) -> Result<(), BackendError> {
        let last = ritz.size - 1;
        self.basis = self.basis.rotated(self.operator.backend(), |row, column| ritz.at(row, column), kept)?;
        let mut projection = ProjectedOperator::new(self.projection.size);
        for (place, &k) in kept.iter().enumerate() {
            projection.set(place, place, ritz.values[k]);
            if kept.len() < projection.size {
                projection.set(place, kept.len(), self.coupling * ritz.at(last, k));
            }
        }
        self.projection = projection;
        self.restarts += 1;
        Ok(())
    }
}

fn finite(quantity: &'static str, value: f64) -> Result<f64, EigenError> {
    match value.is_finite() {
        true => Ok(value),
        false => Err(EigenError::NotFinite { quantity, value }),
    }
}

/// Complex numbers in the fields on which the operator acts, over the whole lattice.
fn dimension<B: Backend, K: Repeated>(operator: &DynOperator<'_, B, f64, K>) -> Result<f64, EigenError> {
    let ones = Field::from_sites(operator.lattice(), operator.sites(), operator.object(1), |_, object| {
        object.fill(Complex::new(1.0, 0.0));
    });
    let ones = operator.backend().upload(ones.map_err(BackendError::from)?)?;
    Ok(operator.backend().norm2(&ones, Sum::Exact)?)
}

/// An upper bound of the spectrum, an estimate of the value below which there are `wanted` eigenvalues, and the number of applications used. By Gauss
/// quadrature, the weights of a random vector's Ritz vectors give the density of eigenvalues.
fn range<B: Backend, K: Repeated>(
    operator: &mut DynOperator<'_, B, f64, K>,
    (seed, wanted, dimension): (u64, f64, f64),
) -> Result<([f64; 2], usize), EigenError> {
    let steps = PILOT.min(dimension as usize);
    let mut pilot = Lanczos::new(operator, (seed, steps));
    pilot.begin(None)?;
    pilot.extend(steps, &mut |_: usize, _: f64| ())?;
    let size = pilot.basis.len();
    let ritz = pilot.projection.eigenpairs(size)?;
    let order = ritz.sorted_by(|value| value);
    let (lowest, highest) = (order[0], order[size - 1]);
    if ritz.values[highest] <= 0.0 {
        return Err(EigenError::NotPositive { value: ritz.values[lowest] });
    }
    let below = MARGIN * (ritz.values[highest] + pilot.coupling * ritz.at(size - 1, highest).abs());
    let mut count = 0.0;
    for &k in &order {
        let weight = ritz.at(0, k) * ritz.at(0, k) * dimension;
        if count + weight / 2.0 >= wanted {
            return Ok(([ritz.values[k].max(below * f64::EPSILON), below], pilot.applications));
        }
        count += weight;
    }
    Ok(([below / 2.0, below], pilot.applications))
}

/// The eigenpairs with the lowest eigenvalues. `progress` is called after each restart and `watcher` after each vector; either may stop the search.
/// With a state `resume` it continues from there, with the same bits.
pub(super) fn lowest_eigenpairs<B: Backend, K: Repeated>(
    operator: &mut DynOperator<'_, B, f64, K>,
    params: EigenParams,
    progress: &mut dyn FnMut(EigenProgress) -> Result<(), Stopped>,
    watcher: &mut dyn Watcher,
    resume: Option<&SavedState>,
) -> Result<Found<B, K>, EigenError> {
    let dimension = dimension(operator)?;
    check(&params, dimension)?;
    let polynomial = |above: f64, below: f64| {
        let above = above.min(0.9 * below);
        let degree = params.degree.unwrap_or(Chebyshev::usual_degree(above, below));
        Some(Chebyshev { above, below, degree })
    };
    let place = (params.seed, params.most_vectors());
    let mut lanczos = match resume {
        Some(state) => {
            let mut lanczos = Lanczos::new(operator, place);
            lanczos.restore(state)?;
            lanczos
        }
        None => {
            // Room for twice as many eigenvalues, and some more, below the range.
            let wanted = 2.0 * params.count as f64 + 10.0;
            let ([estimated, below], applications) = range(operator, (params.seed, wanted, dimension))?;
            let mut lanczos = Lanczos { applications, ..Lanczos::new(operator, place) };
            lanczos.begin(polynomial(params.above.unwrap_or(estimated), below))?;
            lanczos
        }
    };
    watcher.begin(&lanczos)?;
    let most = if params.above.is_some() { 0 } else { MOST_RAISES };
    loop {
        if let Some(found) = restarted(&mut lanczos, params, progress, watcher)? {
            return Ok(found);
        }
        let [above, below] = lanczos.run().range;
        if lanczos.raises == most {
            return Err(EigenError::TooLow { above });
        }
        lanczos.raises += 1;
        lanczos.begin(polynomial(2.0 * above, below))?;
    }
}

fn check(params: &EigenParams, dimension: f64) -> Result<(), EigenError> {
    let (count, basis) = (params.count, params.most_vectors());
    let refuse = |what: String| Err(EigenError::Params { what });
    if count == 0 {
        return refuse("0 eigenpairs were requested: expected at least 1".to_owned());
    }
    if basis < count + 2 {
        return refuse(format!(
            "a basis of {basis} vectors is too small for {count} eigenpairs: give at least {}",
            count + 2
        ));
    }
    if basis as f64 > dimension {
        return refuse(format!(
            "a basis of {basis} vectors is larger than the space, which has {dimension} dimensions: use a smaller one, or fewer eigenpairs"
        ));
    }
    if params.degree == Some(0) {
        return refuse("a polynomial of degree 0 suppresses nothing: expected at least 1".to_owned());
    }
    if let Some(above) = params.above.filter(|&above| !(above > 0.0 && above.is_finite())) {
        return refuse(format!(
            "the suppressed range cannot begin at {above}: expected a positive number above the wanted eigenvalues"
        ));
    }
    Ok(())
}

/// Thick-restart Lanczos on a polynomial. Returns the eigenpairs, or `None` if the polynomial is small at wanted eigenvalues.
fn restarted<B: Backend, K: Repeated>(
    lanczos: &mut Lanczos<'_, '_, B, K>,
    params: EigenParams,
    progress: &mut dyn FnMut(EigenProgress) -> Result<(), Stopped>,
    watcher: &mut dyn Watcher,
) -> Result<Option<Found<B, K>>, EigenError> {
    let (count, EigenRun { basis, range: [above, below], .. }) = (params.count, lanczos.run());
    let mut found = 0;
    while lanczos.restarts < params.max_restarts {
        lanczos.extend(basis, watcher)?;
        let size = lanczos.basis.len();
        let ritz = lanczos.projection.eigenpairs(size)?;
        let order = ritz.sorted_by(|value| -value.abs());
        // If the basis spans the whole space, all Ritz vectors are eigenvectors.
        let is_whole = lanczos.next.is_none();
        let kept = &order[..if is_whole { count.min(size) } else { count + (size - count) / 2 }];
        let smallest = ritz.values[order[count.min(size) - 1]].abs();
        let estimate = |k: usize| (lanczos.coupling * ritz.at(size - 1, k)).abs() / ritz.values[k].abs();
        found = order[..count].iter().filter(|&&k| is_whole || estimate(k) <= params.tolerance).count();
        let worst = order[..count].iter().map(|&k| estimate(k)).fold(0.0, f64::max);
        lanczos.restart(&ritz, kept)?;
        let Lanczos { restarts, applications, .. } = *lanczos;
        progress(EigenProgress { restarts, applications, converged: found, count })?;
        if smallest < LEAST_POLYNOMIAL && restarts >= RESTARTS_TO_SEE {
            return Ok(None);
        }
        // The estimate is for the polynomial; the residual of the operator is mostly smaller.
        if is_whole || worst <= 10.0 * params.tolerance {
            let (values, residuals) = residuals(lanczos.operator, &lanczos.basis, count)?;
            lanczos.applications += count;
            found = residuals.iter().filter(|&&residual| residual <= params.tolerance * below).count();
            if found == count {
                let largest = values.iter().copied().fold(0.0, f64::max);
                if largest >= above {
                    return Ok(None);
                }
                return sorted(lanczos, values, residuals).map(Some);
            }
        }
    }
    watcher.given_up(lanczos)?;
    let (restarts, tolerance) = (params.max_restarts, params.tolerance);
    Err(EigenError::NotConverged { found, count, restarts, tolerance })
}

/// ⟨v, A v⟩ and |A v − λ v| for the first vectors of a basis.
fn residuals<B: Backend, K: Repeated>(
    operator: &mut DynOperator<'_, B, f64, K>,
    basis: &Basis<B, K>,
    count: usize,
) -> Result<(Vec<f64>, Vec<f64>), EigenError> {
    let parts = operator.object(1).parts();
    let (mut values, mut residuals) = (Vec::new(), Vec::new());
    for (first, used, field) in basis.fields() {
        let used = used.min(count.saturating_sub(first));
        if used == 0 {
            break;
        }
        let field = operator.backend().take_rhs(field, &(0..used).collect::<Vec<_>>(), parts)?;
        let mut image = operator.zeros_of(used)?;
        operator.apply(&mut image, &field, Dagger::No)?;
        let backend = operator.backend();
        let of_field = backend.rhs_products(&field, &image, parts, Sum::Exact)?;
        let back: Vec<f64> = of_field.iter().map(|value| -value).collect();
        let norms = backend.rhs_axpy_norm(&back, &field, &mut image, Sum::Exact)?;
        for (value, norm2) in of_field.into_iter().zip(norms) {
            values.push(finite("an eigenvalue", value)?);
            residuals.push(finite("the residual of an eigenvector", norm2.sqrt())?);
        }
    }
    if let Some(&value) = values.iter().find(|&&value| value <= 0.0) {
        return Err(EigenError::NotPositive { value });
    }
    Ok((values, residuals))
}

/// Sorted by ascending eigenvalue.
fn sorted<B: Backend, K: Repeated>(
    lanczos: &Lanczos<'_, '_, B, K>,
    values: Vec<f64>,
    residuals: Vec<f64>,
) -> Result<Found<B, K>, EigenError> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (backend, mut vectors) = (lanczos.operator.backend(), Basis::new(lanczos.operator.object(1).parts()));
    for &k in &order {
        vectors.push(backend, &lanczos.basis.vector(backend, k)?)?;
    }
    let pick = |of: &[f64]| order.iter().map(|&k| of[k]).collect();
    Ok(Found { values: pick(&values), residuals: pick(&residuals), vectors, run: lanczos.run() })
}
