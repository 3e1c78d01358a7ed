//! Twisted mass fermions on every backend: the same bits as plain loops (`reference/src/scalar/twisted_mass.rs`), the operator written out with matrices,
//! and the identities that are its own; the others are in `tests/operators.rs`. The operator is `src/operator/twisted_mass.rs`, its kernels the bodies in `crates/kernels/src/kernel/twisted_mass.rs`.

use lanefield::operator::SchurComplement;
use lanefield::prelude::*;
use lanefield::solver::SolveReport;
use lanefield_reference::real::Real;

use crate::common::backends::{check_library_kernels, on_every_backend};
use crate::common::fields::{EVEN, ODD, applied, gaussian, lattice, plain_loops, upload};
use crate::common::grid::distance;
use crate::common::models::{
    SpinMatrix, Values, gamma5, gammas, image, momentum, plane_wave, product, random_case,
    the_dagger_is_gamma5_m_gamma5,
};

const MASS: f64 = -0.3;
const MU: f64 = 0.4;
const WORDS: usize = Spinors::WORDS;

check_library_kernels! {
    twisted_mass::twisted_mass_apply: twin, linear, covariant;
    twisted_mass::eo_twisted_mass: twin, dagger, linear, covariant;
    twisted_mass::twisted_mass_full: twin, dagger, linear, covariant;
    twisted_mass::oe_twisted_mass: twin, dagger, linear, covariant;
}

fn parameters(mu: f64, hop: HopParameters) -> TwistedMassParameters {
    TwistedMassParameters { mass: MASS, mu, hop }
}

/// The numbers as those of precision `R`.
fn rounded<R: Real>(values: &[Complex<f64>]) -> Vec<Complex<R>> {
    values.iter().map(|c| Complex::new(R::from_f64(c.re), R::from_f64(c.im))).collect()
}

fn promoted<R: Real>(values: &[Complex<R>]) -> Values {
    values.iter().map(|c| Complex::new(c.re.to_f64(), c.im.to_f64())).collect()
}

fn the_operator_is_bitwise_equal_to_plain_loops<B: Backend>(backend: &B) {
    fn check<R: Vectors, B: Backend>(backend: &B, links: LinkFormat, legs: LegOrder) {
        let (configuration, hop) = random_case();
        let hop = HopParameters { links, legs, ..hop };
        let (model, masses) = (parameters(MU, hop), (MASS, MU));
        let source = gaussian(configuration.extents(), 2 * WORDS, 4);
        let psi = rounded::<R>(&source);
        for dagger in Dagger::BOTH {
            let expected = plain_loops(&configuration, hop).twisted_mass(&psi, masses, dagger);
            let found = image::<R, B, _>(backend, model, &configuration, &source, dagger);
            assert!(found == promoted(&expected), "{links:?} {dagger:?}");
        }
        let source: Values = source.chunks_exact(2 * WORDS).flat_map(|site| site[..WORDS].to_vec()).collect();
        let (psi, lattice) = (rounded::<R>(&source), lattice::<R>(configuration.extents()));
        let mut schur =
            SchurComplement::new(model.even_odd::<B, R>(backend, &configuration, lattice).unwrap()).unwrap();
        for dagger in Dagger::BOTH {
            let expected = plain_loops(&configuration, hop).twisted_mass_mpc(&psi, masses, dagger);
            let found = applied::<R, Spinors, B>(backend, lattice, [ODD; 2], &source, |out, psi| {
                schur.apply(out, psi, dagger).unwrap();
            });
            assert!(found == promoted(&expected), "{links:?} {dagger:?}, Schur complement");
        }
    }
    check::<f64, B>(backend, LinkFormat::Full, LegOrder::DEFAULT);
    check::<f32, B>(backend, LinkFormat::TwoRows, "+x-x+t-z-t+z+y-y".parse().unwrap());
}

/// γ_x γ_y γ_z γ_t.
fn gamma5_matrix() -> SpinMatrix {
    let product = |a: SpinMatrix, b: SpinMatrix| -> SpinMatrix {
        std::array::from_fn(|i| std::array::from_fn(|k| (0..4).map(|j| a[i][j] * b[j][k]).sum()))
    };
    gammas().into_iter().reduce(product).unwrap()
}

/// (M ψ)(x) = (4 + m + iμγ5) ψ(x) − ½ Σ_μ [(1 − γ_μ) U_μ(x) ψ(x + μ) + (1 + γ_μ) U_μ(x − μ)† ψ(x − μ)], matrix by matrix.
fn written_out(configuration: &Configuration, boundary: BoundaryPhases, psi: &[Complex<f64>], mu: f64) -> Values {
    let (extents, gammas) = (configuration.extents(), gammas());
    let spin_times = |matrix: &SpinMatrix, spinor: &[Complex<f64>]| -> Values {
        (0..WORDS).map(|word| (0..4).map(|j| matrix[word / 3][j] * spinor[3 * j + word % 3]).sum()).collect()
    };
    let mut result = Vec::new();
    for site in 0..extents.volume() {
        let x = extents.coordinate(site);
        let here = &psi[WORDS * site..][..WORDS];
        let twisted = spin_times(&gamma5_matrix(), here);
        let mut sum: Values =
            here.iter().zip(&twisted).map(|(psi, g5)| (4.0 + MASS) * psi + Complex::new(0.0, mu) * g5).collect();
        for direction in 0..4 {
            for forward in [true, false] {
                let (mut there, last) = (x, extents[direction] - 1);
                let edge = if forward { last } else { 0 };
                there[direction] = match forward {
                    true => (x[direction] + 1) % extents[direction],
                    false => (x[direction] + last) % extents[direction],
                };
                let crosses = x[direction] == edge && boundary.is_antiperiodic(direction);
                let phase = if crosses { -0.5 } else { 0.5 };
                let sign = if forward { -1.0 } else { 1.0 };
                let projector: SpinMatrix = std::array::from_fn(|i| {
                    std::array::from_fn(|k| sign * gammas[direction][i][k] + if i == k { 1.0 } else { 0.0 })
                });
                let neighbour = extents.site(there);
                let projected = spin_times(&projector, &psi[WORDS * neighbour..][..WORDS]);
                let link = configuration.link(if forward { site } else { neighbour }, direction);
                let element = |i: usize, k: usize| if forward { link[3 * i + k] } else { link[3 * k + i].conj() };
                for (word, sum) in sum.iter_mut().enumerate() {
                    let (spin, row) = (word / 3, word % 3);
                    let times = |k: usize| phase * element(row, k) * projected[3 * spin + k];
                    *sum -= (0..3).map(times).sum::<Complex<f64>>();
                }
            }
        }
        result.extend(sum);
    }
    result
}

fn the_operator_is_its_definition_written_out_with_matrices<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let psi = gaussian(configuration.extents(), WORDS, 3);
    for mu in [MU, -1.7, 0.0] {
        let expected = written_out(&configuration, hop.boundary, &psi, mu);
        let found = image::<f64, B, _>(backend, parameters(mu, hop), &configuration, &psi, Dagger::No);
        assert!(distance(&found, &expected) < 1e-14, "mu {mu}: {:e}", distance(&found, &expected));
    }
}

/// M(μ)† = γ5 M(−μ) γ5, exactly; and not γ5 M(μ) γ5.
fn m_of_mu_is_gamma5_hermitian_to_m_of_minus_mu<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    the_dagger_is_gamma5_m_gamma5(backend, [MU, -MU].map(|mu| parameters(mu, hop)), &configuration);
    let psi = gaussian(configuration.extents(), WORDS, 11);
    let m =
        |psi: &[Complex<f64>], dagger| image::<f64, B, _>(backend, parameters(MU, hop), &configuration, psi, dagger);
    assert!(distance(&m(&psi, Dagger::Yes), &gamma5(&m(&gamma5(&psi), Dagger::No))) > 0.01);
}

/// M†M = W†W + μ², with Wilson's W: Hermitian, and positive from μ² on.
fn the_normal_equations_are_those_of_wilson_and_mu_squared<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let psi = gaussian(configuration.extents(), WORDS, 19);
    let twisted = parameters(MU, hop);
    let wilson = WilsonParameters { mass: MASS, hop };
    let m_psi = image::<f64, B, _>(backend, twisted, &configuration, &psi, Dagger::No);
    let normal = image::<f64, B, _>(backend, twisted, &configuration, &m_psi, Dagger::Yes);
    let w_psi = image::<f64, B, _>(backend, wilson, &configuration, &psi, Dagger::No);
    let of_wilson = image::<f64, B, _>(backend, wilson, &configuration, &w_psi, Dagger::Yes);
    let expected: Values = of_wilson.iter().zip(&psi).map(|(w, psi)| w + MU * MU * psi).collect();
    assert!(distance(&normal, &expected) < 1e-14);
    let (expectation, norm2) = (product(&psi, &normal), product(&psi, &psi).re);
    assert!((expectation.re - product(&m_psi, &m_psi).re).abs() < 1e-12 * expectation.re);
    assert!(expectation.re > MU * MU * norm2 && expectation.im.abs() < 1e-12 * expectation.re, "{expectation}");
}

/// On unit links M†M ψ = (Σ sin² p + (m + Σ (1 − cos p))² + μ²) ψ for plane waves.
fn the_free_spectrum_is_that_of_wilson_and_mu_squared<B: Backend>(backend: &B) {
    let extents = Extents::new([4, 6, 2, 10]).unwrap();
    let configuration = Configuration::unit(extents);
    for n in [[1usize, 0, 0, 0], [0, 1, 1, 3], [2, 5, 0, 1]] {
        let p = momentum(extents, n, BoundaryPhases::PERIODIC);
        let psi = plane_wave(extents, p, WORDS);
        let model = parameters(MU, HopParameters::default());
        let m_psi = image::<f64, B, _>(backend, model, &configuration, &psi, Dagger::No);
        let found = image::<f64, B, _>(backend, model, &configuration, &m_psi, Dagger::Yes);
        let mass = MASS + p.iter().map(|p| 1.0 - p.cos()).sum::<f64>();
        let eigenvalue = p.iter().map(|p| p.sin() * p.sin()).sum::<f64>() + mass * mass + MU * MU;
        let expected: Values = psi.iter().map(|c| c * eigenvalue).collect();
        assert!(distance(&found, &expected) < 1e-14, "momentum {n:?}");
    }
}

/// Mee Mee⁻¹ = 1, and |Mee ψ|² = (dm² + μ²) |ψ|², whose sixth power is the determinant of Mee at a site.
fn the_diagonal_part_has_its_inverse_and_its_determinant<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let lattice = lattice::<f64>(configuration.extents());
    let all = gaussian(lattice.extents(), WORDS, 37);
    for (mass, mu) in [(MASS, MU), (-4.0, 0.2), (0.1, -30.0), (-4.0 + 1e-3, 1e-3), (1e-3, 1e200)] {
        let model = TwistedMassParameters { mass, mu, hop };
        let mut pieces = model.even_odd::<B, f64>(backend, &configuration, lattice).unwrap();
        for dagger in Dagger::BOTH {
            let mut on = |psi: &[Complex<f64>], inverted: bool| -> Values {
                applied(backend, lattice, [EVEN; 2], psi, |out, psi| match inverted {
                    true => pieces.mooee_inv(out, psi, dagger).unwrap(),
                    false => pieces.mooee(out, psi, dagger).unwrap(),
                })
            };
            // The even sites alone.
            let psi = applied::<f64, Spinors, B>(backend, lattice, [EVEN; 2], &all, |out, psi| {
                backend.copy(out, psi).unwrap()
            });
            let turned = on(&psi, false);
            assert!(distance(&on(&turned, true), &psi) < 1e-15, "mass {mass}, mu {mu}");
            let inverse = on(&psi, true);
            assert!(distance(&on(&inverse, false), &psi) < 1e-15, "mass {mass}, mu {mu}");
            if mu < 1e100 {
                let expected = ((4.0 + mass) * (4.0 + mass) + mu * mu) * product(&psi, &psi).re;
                let found = product(&turned, &turned).re;
                assert!((found - expected).abs() < 1e-13 * expected, "mass {mass}, mu {mu}: {found} is not {expected}");
            }
        }
    }
}

/// What is done in one launch has the bits of what it is made of.
fn fused_pieces_have_the_bits_of_the_pieces<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let lattice = lattice::<f32>(configuration.extents());
    let mut pieces = parameters(MU, hop).even_odd::<B, f32>(backend, &configuration, lattice).unwrap();
    let [psi, chi] = [41, 43].map(|seed| gaussian(lattice.extents(), 3 * WORDS, seed));
    let chi = upload::<f32, Spinors, B>(backend, lattice, ODD, &chi);
    for dagger in Dagger::BOTH {
        let [fused, single] = [true, false].map(|fused| {
            let inverse = applied::<f32, Spinors, B>(backend, lattice, [EVEN, ODD], &psi, |out, psi| {
                let mut hop = backend.zeros(lattice, EVEN, psi.kind()).unwrap();
                if fused {
                    return pieces.inverse_hop(out, &mut hop, psi, dagger).unwrap();
                }
                pieces.meooe(&mut hop, psi, dagger).unwrap();
                pieces.mooee_inv(out, &hop, dagger).unwrap();
            });
            let difference = applied::<f32, Spinors, B>(backend, lattice, [ODD, EVEN], &psi, |out, psi| {
                let mut hop = backend.zeros(lattice, ODD, psi.kind()).unwrap();
                if fused {
                    return pieces.diagonal_minus_hop(out, &mut hop, &chi, psi, dagger).unwrap();
                }
                pieces.meooe(&mut hop, psi, dagger).unwrap();
                pieces.mooee(out, &chi, dagger).unwrap();
                backend.axpy(-1.0, &hop, out).unwrap();
            });
            [inverse, difference]
        });
        assert!(fused == single, "{dagger:?}");
    }
}

/// At μ = 0 all numbers are those of Wilson fermions, the history of a solve as integers among them; only zeros may have the other sign.
fn at_mu_zero_it_is_the_wilson_operator<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let psi = gaussian(configuration.extents(), WORDS, 47);
    let (twisted, wilson) = (parameters(0.0, hop), WilsonParameters { mass: MASS, hop });
    for dagger in Dagger::BOTH {
        let found = image::<f32, B, _>(backend, twisted, &configuration, &psi, dagger);
        assert!(found == image::<f32, B, _>(backend, wilson, &configuration, &psi, dagger));
    }
    let configuration = Configuration::hot(Extents::new([4, 4, 4, 4]).unwrap(), 7);
    let eta = gaussian(configuration.extents(), WORDS, 53);
    for preconditioning in [Preconditioning::EvenOdd, Preconditioning::None] {
        let twisted = solved(backend, &configuration, &eta, twisted, preconditioning);
        let wilson = solved(backend, &configuration, &eta, wilson, preconditioning);
        let bits =
            |report: &SolveReport<f64>| report.rhs[0].info.history.iter().map(|c| c.to_bits()).collect::<Vec<_>>();
        assert!(bits(&twisted) == bits(&wilson) && bits(&twisted).len() > 5, "{preconditioning:?}");
        assert!(twisted.solution == wilson.solution, "{preconditioning:?}");
    }
}

fn solved<B: Backend, M: Model<Object = Spinors>>(
    backend: &B,
    configuration: &Configuration,
    eta: &[Complex<f64>],
    operator: M,
    preconditioning: Preconditioning,
) -> SolveReport<f64> {
    let (method, lanes) = (Method::ConjugateGradients, LaneChoice::Auto);
    let params = SolverParams { tolerance: 1e-10, ..SolverParams::auto::<f64>() };
    let how = Solve { operator, preconditioning, method, params, lanes };
    solve::<f64, B, _>(backend, configuration, eta, &how, |_, _| ()).unwrap()
}

fn masses_without_an_operator_are_refused_by_value<B: Backend>(backend: &B) {
    let (configuration, hop) = random_case();
    let refusal = |mass, mu, even_odd| {
        let model = TwistedMassParameters { mass, mu, hop };
        let lattice = lattice::<f32>(configuration.extents());
        let error = match even_odd {
            true => model.even_odd::<B, f32>(backend, &configuration, lattice).err(),
            false => model.full::<B, f32>(backend, &configuration, lattice).err(),
        };
        assert!(matches!(error, Some(BackendError::TwistedMass { .. })), "mass {mass}, mu {mu}: {error:?}");
        error.unwrap().to_string()
    };
    let nan = refusal(MASS, f64::NAN, false);
    assert!(nan.starts_with("mass -0.3 and twisted mass mu NaN make the diagonal 3.7 + i·γ5·NaN"), "{nan}");
    let large = refusal(MASS, 1e39, false);
    assert!(large.contains("mu 1e39 ") && large.contains("beyond f32"), "{large}");
    let singular = refusal(-4.0, 0.0, true);
    assert!(singular.contains("mass -4 and twisted mass mu 0 make the inverse of the diagonal"), "{singular}");
    assert!(refusal(-4.0, 1e-40, true).contains("inverse of the diagonal"));
    // On the full lattice nothing is inverted.
    let lattice = lattice::<f32>(configuration.extents());
    let model = TwistedMassParameters { mass: -4.0, mu: 0.0, hop };
    assert!(model.full::<B, f32>(backend, &configuration, lattice).is_ok());
}

on_every_backend! {
    m_of_mu_is_gamma5_hermitian_to_m_of_minus_mu;
    in test-all:
    the_operator_is_bitwise_equal_to_plain_loops,
    the_operator_is_its_definition_written_out_with_matrices,
    the_normal_equations_are_those_of_wilson_and_mu_squared,
    the_free_spectrum_is_that_of_wilson_and_mu_squared,
    the_diagonal_part_has_its_inverse_and_its_determinant,
    fused_pieces_have_the_bits_of_the_pieces,
    at_mu_zero_it_is_the_wilson_operator,
    masses_without_an_operator_are_refused_by_value,
}
