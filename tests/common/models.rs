//! What holds of every operator that is given by its parameters.

use std::marker::PhantomData;

use lanefield::kernel::prelude::*;
use lanefield::operator::{
    ActsOn as _, AnyModel, EvenOdd as _, ModelChoice, ModelTask, SchurComplement, System, definitions,
};
use lanefield::prelude::*;
use lanefield::solver::conjugate_gradient;
use lanefield_reference::field::SiteObject as _;
use lanefield_reference::gauge::GaugeTransformation;

use super::fields::{EVEN, ODD, applied, download, gaussian, lattice, upload};
use super::grid::distance;

/// Numbers in site order.
pub type Values = Vec<Complex<f64>>;

/// An awkward lattice, a random configuration on it, and two kinds of boundary at once.
pub fn random_case() -> (Configuration, HopParameters) {
    let configuration = Configuration::hot(Extents::new([4, 6, 2, 10]).unwrap(), 5);
    let boundary = BoundaryPhases::antiperiodic([true, false, false, true]);
    (configuration, HopParameters { boundary, ..HopParameters::default() })
}

/// Angles in all directions, a quarter turn and −1 among them.
pub const TWISTED: &str = "0.3pi,-0.5pi,-1,2pi/3";

/// Hops that are antiperiodic in time.
pub fn antiperiodic() -> HopParameters {
    HopParameters { boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME, ..HopParameters::default() }
}

/// γ5 in the chiral basis: diag(1, 1, −1, −1).
pub fn gamma5(psi: &[Complex<f64>]) -> Values {
    psi.iter().enumerate().map(|(k, &c)| if k % Spinors::WORDS < 6 { c } else { -c }).collect()
}

pub fn product(a: &[Complex<f64>], b: &[Complex<f64>]) -> Complex<f64> {
    a.iter().zip(b).map(|(a, b)| a.conj() * b).sum()
}

/// A 4×4 matrix of spin.
pub type SpinMatrix = [[Complex<f64>; 4]; 4];

/// γx, γy, γz, γt of `docs/arithmetic.md` §4.
pub fn gammas() -> [SpinMatrix; 4] {
    let (o, l, i) = (Complex::ZERO, Complex::ONE, Complex::I);
    [
        [[o, o, o, i], [o, o, i, o], [o, -i, o, o], [-i, o, o, o]],
        [[o, o, o, -l], [o, o, l, o], [o, l, o, o], [-l, o, o, o]],
        [[o, o, i, o], [o, o, o, -i], [-i, o, o, o], [o, i, o, o]],
        [[o, o, l, o], [o, o, o, l], [l, o, o, o], [o, l, o, o]],
    ]
}

/// The momentum (2πn + θ)/L in each direction, with the boundary phase e^{iθ}.
pub fn momentum(extents: Extents, n: [usize; 4], boundary: BoundaryPhases) -> [f64; 4] {
    let turns = |d: usize| n[d] as f64 + boundary.phase(d).angle() / 2.0;
    std::array::from_fn(|d| std::f64::consts::TAU * turns(d) / extents[d] as f64)
}

/// A plane wave of momentum p, of another size in each of the `words` numbers of a site.
pub fn plane_wave(extents: Extents, p: [f64; 4], words: usize) -> Values {
    let phase = |site: usize| (0..4).map(|d| p[d] * extents.coordinate(site)[d] as f64).sum::<f64>();
    (0..extents.volume() * words).map(|k| Complex::from_polar(1.0 + (k % words) as f64, phase(k / words))).collect()
}

/// M ψ or M† ψ in site order.
pub fn image<R: Vectors, B: Backend, M: ModelChoice>(
    backend: &B,
    model: M,
    configuration: &Configuration,
    psi: &[Complex<f64>],
    dagger: Dagger,
) -> Values {
    model.run(Image { backend, configuration, psi, dagger, precision: PhantomData::<R> })
}

struct Image<'a, B, R> {
    backend: &'a B,
    configuration: &'a Configuration,
    psi: &'a [Complex<f64>],
    dagger: Dagger,
    precision: PhantomData<R>,
}

impl<R: Vectors, B: Backend> ModelTask for Image<'_, B, R> {
    type Output = Values;

    fn run<M: Model>(self, model: M) -> Values {
        let Self { backend, configuration, psi, dagger, .. } = self;
        let lattice = lattice::<R>(configuration.extents());
        let mut operator = model.full::<B, R>(backend, configuration, lattice).unwrap();
        applied::<R, M::Object, B>(backend, lattice, [Sites::Full; 2], psi, |out, psi| {
            operator.apply(out, psi, dagger).unwrap();
        })
    }
}

/// Every operator, with these numbers for its parameters; others have those of its `verified`.
pub fn every_operator(hop: HopParameters) -> impl Iterator<Item = AnyModel> {
    let numbers = [
        ("mass", "0.3"),
        ("mu", "0.4"),
        ("csw", "1.1"),
        ("csw-t", "0.9"),
        ("ls", "4"),
        ("m5", "1.4"),
        ("naik-epsilon", "-0.2"),
    ];
    definitions().map(move |operator| {
        let has = |name: &str| operator.parameters.iter().any(|parameter| parameter.name == name);
        let is_given = |name: &str| numbers.iter().any(|(known, _)| *known == name);
        let others = operator.verified.iter().copied().filter(|(name, _)| !is_given(name));
        operator.model(numbers.into_iter().filter(|(name, _)| has(name)).chain(others), hop).unwrap()
    })
}

/// The even-odd pieces of M, and of M†, add up to it; the diagonal part has its inverse.
pub fn pieces_make_the_operator<B: Backend, M: ModelChoice>(backend: &B, model: M, configuration: &Configuration) {
    model.run(Pieces(backend, configuration));
}

struct Pieces<'a, B>(&'a B, &'a Configuration);

impl<B: Backend> ModelTask for Pieces<'_, B> {
    type Output = ();

    fn run<M: Model>(self, model: M) {
        pieces_make(self.0, model, self.1);
    }
}

fn pieces_make<B: Backend, M: Model>(backend: &B, model: M, configuration: &Configuration) {
    let lattice = lattice::<f64>(configuration.extents());
    let psi = gaussian(lattice.extents(), model.object(1).words(), 31);
    for dagger in Dagger::BOTH {
        let whole = image::<f64, B, M>(backend, model, configuration, &psi, dagger);
        let mut pieces = model.even_odd::<B, f64>(backend, configuration, lattice).unwrap();
        let mut sum = vec![Complex::new(0.0, 0.0); psi.len()];
        for (target, source) in [(EVEN, ODD), (ODD, EVEN)] {
            let off =
                applied(backend, lattice, [target, source], &psi, |out, psi| pieces.meooe(out, psi, dagger).unwrap());
            let on = applied(backend, lattice, [target; 2], &psi, |out, psi| pieces.mooee(out, psi, dagger).unwrap());
            sum.iter_mut().zip(off.iter().zip(&on)).for_each(|(sum, (off, on))| *sum += off + on);
            let [there, back] = [&psi, &on].map(|values| upload::<f64, M::Object, B>(backend, lattice, target, values));
            let mut back_again = backend.zeros(lattice, target, there.kind()).unwrap();
            pieces.mooee_inv(&mut back_again, &back, dagger).unwrap();
            let far = distance(&download(backend, &back_again), &download(backend, &there));
            assert!(far < 1e-15, "{} {dagger:?}: {far:e} from 1", model.name());
        }
        assert!(distance(&sum, &whole) < 1e-15, "{} {dagger:?}: {:e}", model.name(), distance(&sum, &whole));
    }
}

/// ⟨φ, M χ⟩ = ⟨M† φ, χ⟩.
pub fn m_dagger_is_the_adjoint_of_m<B: Backend>(backend: &B, model: AnyModel, configuration: &Configuration) {
    let m = |psi: &[Complex<f64>], dagger| image::<f64, B, _>(backend, model, configuration, psi, dagger);
    let [phi, chi] = [13, 17].map(|seed| gaussian(configuration.extents(), model.object().words(), seed));
    let left = product(&phi, &m(&chi, Dagger::No));
    let right = product(&m(&phi, Dagger::Yes), &chi);
    let scale = (product(&phi, &phi).re * product(&chi, &chi).re).sqrt();
    assert!((left - right).norm() < 4e-14 * scale, "{}: {left} is not {right}", model.name());
    assert!(left.norm() > 1e-4 * scale, "{}: {left} shows nothing", model.name());
}

/// M† = γ5 M' γ5, to the last bit: γ5 only flips signs, and the projectors change with it.
pub fn the_dagger_is_gamma5_m_gamma5<B: Backend, M: Model>(
    backend: &B,
    [model, other]: [M; 2],
    configuration: &Configuration,
) {
    let psi = gaussian(configuration.extents(), Spinors::WORDS, 11);
    let m_dagger = image::<f64, B, M>(backend, model, configuration, &psi, Dagger::Yes);
    assert!(m_dagger == gamma5(&image::<f64, B, M>(backend, other, configuration, &gamma5(&psi), Dagger::No)));
}

/// D + D† = 2 m, of staggered fermions.
pub fn the_hop_is_anti_hermitian<B: Backend, M: Model>(backend: &B, model: M, configuration: &Configuration) {
    let chi = gaussian(configuration.extents(), model.object(1).words(), 17);
    let [d_chi, d_dagger_chi] =
        Dagger::BOTH.map(|dagger| image::<f64, B, M>(backend, model, configuration, &chi, dagger));
    let sum: Values = d_chi.iter().zip(d_dagger_chi).map(|(a, b)| a + b).collect();
    let twice: Values = chi.iter().map(|c| c * 2.0 * model.mass()).collect();
    assert!(distance(&sum, &twice) < 1e-14, "{}: D + D† is not twice the mass", model.name());
}

/// U(1)_ε: ε D ε = D†, with ε(x) = (−1)^(x + y + z + t), of staggered fermions.
pub fn epsilon_turns_the_operator_into_its_conjugate<B: Backend, M: Model>(
    backend: &B,
    model: M,
    configuration: &Configuration,
) {
    let (extents, words) = (configuration.extents(), model.object(1).words());
    let psi = gaussian(extents, words, 23);
    let epsilon = |psi: &[Complex<f64>]| -> Values {
        let sign = |k: usize| if EVEN.contain(extents.coordinate(k / words)) { 1.0 } else { -1.0 };
        psi.iter().enumerate().map(|(k, c)| c * sign(k)).collect()
    };
    let d = |psi: &[Complex<f64>], dagger| image::<f64, B, M>(backend, model, configuration, psi, dagger);
    assert!(distance(&epsilon(&d(&epsilon(&psi), Dagger::No)), &d(&psi, Dagger::Yes)) < 1e-14);
}

/// ψ(x) → g(x) ψ(x) and U_μ(x) → g(x) U_μ(x) g(x + μ)† turn D ψ into g D ψ.
pub fn it_is_gauge_covariant<B: Backend>(backend: &B, model: AnyModel, configuration: &Configuration, tolerance: f64) {
    let words = model.object().words();
    let psi = gaussian(configuration.extents(), words, 29);
    let g = GaugeTransformation { seed: 13 };
    let d = |configuration, psi: &[Complex<f64>]| image::<f64, B, _>(backend, model, configuration, psi, Dagger::No);
    let (before, after) = (configuration, g.of_links(configuration));
    let distance = distance(&d(&after, &g.of_field(words, &psi)), &g.of_field(words, &d(before, &psi)));
    assert!(distance < tolerance, "{}: {distance:e}", model.name());
}

/// The operator with boundary phases e^{iθ} is, but for a gauge transformation e^{iθx/L}, that with periodic boundaries of links which have e^{iθ/L} each; and it has a
/// conjugate and even-odd pieces.
pub fn a_twist_is_that_of_links_which_share_it<B: Backend>(
    backend: &B,
    [twisted, periodic]: [AnyModel; 2],
    configuration: &Configuration,
) {
    let (extents, boundary) = (configuration.extents(), twisted.hop().boundary);
    m_dagger_is_the_adjoint_of_m(backend, twisted, configuration);
    pieces_make_the_operator(backend, twisted, configuration);
    let angle = |d: usize| std::f64::consts::PI * boundary.phase(d).angle() / extents[d] as f64;
    let links = configuration.links().iter().enumerate();
    let shared = links.map(|(k, u)| u * Complex::cis(angle(k / 9 % 4))).collect();
    let shared = Configuration::new(extents, shared).unwrap();
    let words = twisted.object().words();
    let turned = |psi: &[Complex<f64>]| -> Values {
        let phase = |x: [usize; 4]| Complex::cis((0..4).map(|d| angle(d) * x[d] as f64).sum());
        psi.iter().enumerate().map(|(k, z)| z * phase(extents.coordinate(k / words))).collect()
    };
    let psi = gaussian(extents, words, 43);
    for dagger in Dagger::BOTH {
        let found = image::<f64, B, _>(backend, twisted, configuration, &turned(&psi), dagger);
        let expected = turned(&image::<f64, B, _>(backend, periodic, &shared, &psi, dagger));
        let distance = distance(&found, &expected);
        assert!(distance < 1e-14, "{} {dagger:?}: {distance:e}", twisted.name());
    }
}

/// Of staggered fermions the Schur complement is m² − Doe Deo: that part of D†D which lives on the odd sites.
pub fn the_schur_complement_is_d_dagger_d_on_the_odd_sites<B: Backend, M: Model>(
    backend: &B,
    model: M,
    configuration: &Configuration,
) {
    let lattice = lattice::<f64>(configuration.extents());
    let (extents, words) = (configuration.extents(), model.object(1).words());
    let odd: Vec<_> = gaussian(extents, words, 37)
        .into_iter()
        .enumerate()
        .map(|(k, c)| if ODD.contain(extents.coordinate(k / words)) { c } else { Complex::new(0.0, 0.0) })
        .collect();
    let pieces = model.even_odd::<B, f64>(backend, configuration, lattice).unwrap();
    let mut schur = SchurComplement::new(pieces).unwrap();
    let found = applied(backend, lattice, [ODD; 2], &odd, |out, psi| schur.apply(out, psi, Dagger::No).unwrap());
    let d_psi = image::<f64, B, M>(backend, model, configuration, &odd, Dagger::No);
    assert!(distance(&found, &image::<f64, B, M>(backend, model, configuration, &d_psi, Dagger::Yes)) < 1e-14);
    let phi = upload::<f64, M::Object, B>(backend, lattice, ODD, &odd);
    let mut a_phi = schur.zeros().unwrap();
    schur.apply(&mut a_phi, &phi, Dagger::No).unwrap();
    let expectation = backend.inner_product(&phi, &a_phi, Sum::Exact).unwrap();
    let norm2 = backend.norm2(&phi, Sum::Exact).unwrap();
    let mass = model.mass();
    assert!(expectation.re > mass * mass * norm2 && expectation.im.abs() < 1e-12 * norm2, "{expectation}");
    assert!(schur.object(2) == model.object(2));
}

/// Grid's parameters of all solves.
const PARAMS: SolverParams = SolverParams { tolerance: 1e-10, max_iterations: 1000, patience: 1000, sum: Sum::Exact };

/// x of M†M x = b, and the iterations it took.
pub fn normal_solve<B: Backend, M: Model>(
    backend: &B,
    model: M,
    configuration: &Configuration,
    b: &[Complex<f64>],
) -> (Values, usize) {
    let lattice = lattice::<f64>(configuration.extents());
    let mut normal = System::new(model.full::<B, f64>(backend, configuration, lattice).unwrap(), true).unwrap();
    let b = upload::<f64, M::Object, B>(backend, lattice, Sites::Full, b);
    let mut x = normal.zeros().unwrap();
    let info = conjugate_gradient(&mut normal, &b, &mut x, PARAMS, |_, _| ()).unwrap();
    (download(backend, &x), info.iterations)
}

/// ψ of M ψ = η by the normal equations of the Schur complement, and the iterations it took.
pub fn schur_solve<B: Backend, M: Model>(
    backend: &B,
    model: M,
    configuration: &Configuration,
    eta: &[Complex<f64>],
) -> (Values, usize) {
    let lattice = lattice::<f64>(configuration.extents());
    let pieces = model.even_odd::<B, f64>(backend, configuration, lattice).unwrap();
    let mut normal = System::new(SchurComplement::new(pieces).unwrap(), true).unwrap();
    let [eta_even, eta_odd] = [EVEN, ODD].map(|sites| upload::<f64, M::Object, B>(backend, lattice, sites, eta));
    let [mut source, mut b, mut odd] = [(); 3].map(|()| normal.zeros().unwrap());
    normal.operator().odd_source(&mut source, &eta_even, &eta_odd).unwrap();
    normal.operator().apply(&mut b, &source, Dagger::Yes).unwrap();
    let info = conjugate_gradient(&mut normal, &b, &mut odd, PARAMS, |_, _| ()).unwrap();
    let mut even = backend.zeros(lattice, EVEN, eta_even.kind()).unwrap();
    normal.operator().even_solution(&mut even, &eta_even, &odd).unwrap();
    // Each is zero on the other's sites.
    let [even, odd] = [even, odd].map(|half| download(backend, &half));
    (even.iter().zip(odd).map(|(even, odd)| even + odd).collect(), info.iterations)
}

/// M ψ is the source that ψ was solved for, by each of these methods.
pub fn solves_solve<B: Backend>(
    backend: &B,
    model: AnyModel,
    configuration: &Configuration,
    methods: &[(Preconditioning, Method)],
) {
    let eta = gaussian(configuration.extents(), model.object().words(), 41);
    for &(preconditioning, method) in methods {
        let params = SolverParams { tolerance: 1e-10, ..SolverParams::auto::<f64>() };
        let how = Solve { operator: model, preconditioning, method, params, lanes: LaneChoice::Auto };
        let report = solve::<f64, B, _>(backend, configuration, &eta, &how, |_, _| ()).unwrap();
        let image = image::<f64, B, _>(backend, model, configuration, &report.solution, Dagger::No);
        assert!(distance(&image, &eta) < 1e-9, "{} {preconditioning:?} {method:?}", model.name());
    }
}
