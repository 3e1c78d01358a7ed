//! The contraction of the nucleon at a site, from the propagators S of the up and D of the down quark. With Q = Γ D Γ†, Γ = C γ5, C = γy γt,
//!
//! G = Σ ε_abc ε_a'b'c' Q^{bb'}_{αα'} [ S^{aa'}_{αα'} tr(P S^{cc'}) − S^{ac'}_{αγ'} P_{γ'γ} S^{ca'}_{γα'} ]
//!
//! of ⟨N N̄⟩ with N = ε_abc (uᵀ_a C γ5 d_b) u_c, and P = (1 ± γt) / 2.

use lanefield_reference::real::Real;
use num_complex::Complex;

use super::Gamma;

/// The contraction with P = 1/2, and with P = γt/2.
#[derive(Clone, Copy, Debug)]
pub(super) struct NucleonParts {
    of_one: Complex<f64>,
    of_gamma_t: Complex<f64>,
}

impl NucleonParts {
    /// P = (1 + γt) / 2.
    pub(super) fn positive(self) -> Complex<f64> {
        self.of_one + self.of_gamma_t
    }

    /// P = (1 − γt) / 2.
    pub(super) fn negative(self) -> Complex<f64> {
        self.of_one - self.of_gamma_t
    }
}

/// The even permutations of three colours, and the odd ones, with their signs.
const COLOURS: [([usize; 3], f64); 6] =
    [([0, 1, 2], 1.0), ([1, 2, 0], 1.0), ([2, 0, 1], 1.0), ([0, 2, 1], -1.0), ([2, 1, 0], -1.0), ([1, 0, 2], -1.0)];

type SpinMatrix = [[Complex<f64>; 4]; 4];

const ZERO: Complex<f64> = Complex::ZERO;

/// Each product and sum of complex numbers is rounded, in the order of the loops (`docs/arithmetic.md` §11).
pub(super) fn parts<R: Real>(quarks: [&[Complex<R>]; 2]) -> NucleonParts {
    let matrix = |s: &[Complex<R>], c: usize, c_prime: usize| -> SpinMatrix {
        let word = |a: usize, b: usize| s[((4 * a + b) * 3 + c) * 3 + c_prime];
        std::array::from_fn(|a| std::array::from_fn(|b| Complex::new(word(a, b).re.to_f64(), word(a, b).im.to_f64())))
    };
    let [s, down]: [[[SpinMatrix; 3]; 3]; 2] =
        quarks.map(|s| std::array::from_fn(|c| std::array::from_fn(|c_prime| matrix(s, c, c_prime))));
    let q = down.map(|row| row.map(|matrix| conjugated(&matrix)));
    let mut sum = NucleonParts { of_one: ZERO, of_gamma_t: ZERO };
    for ([a, b, c], sign) in COLOURS {
        for ([a_prime, b_prime, c_prime], sign_prime) in COLOURS {
            let sign = sign * sign_prime * 0.5;
            let term = contraction(&q[b][b_prime], [&s[a][a_prime], &s[c][c_prime]], [&s[a][c_prime], &s[c][a_prime]]);
            sum.of_one += term.of_one * sign;
            sum.of_gamma_t += term.of_gamma_t * sign;
        }
    }
    sum
}

/// Γ S Γ†, Γ = C γ5 = γy γt γ5 up to a sign.
fn conjugated(s: &SpinMatrix) -> SpinMatrix {
    let gamma = Gamma::Y.times(Gamma::T).times(Gamma::FIVE);
    let element = |a: usize, b: usize| {
        let ((p, m), (q, n)) = (gamma.row(a), gamma.row(b));
        times_i_to_the(s[p][q], 4 + m - n)
    };
    std::array::from_fn(|a| std::array::from_fn(|b| element(a, b)))
}

/// iⁿ z.
fn times_i_to_the(z: Complex<f64>, n: u8) -> Complex<f64> {
    match n % 4 {
        0 => z,
        1 => Complex::new(-z.im, z.re),
        2 => -z,
        _ => Complex::new(z.im, -z.re),
    }
}

/// Σ Q_αα' [S_αα' tr(P T) − U_αγ' P_γ'γ V_γα'] without the half of P.
fn contraction(q: &SpinMatrix, [s, t]: [&SpinMatrix; 2], [u, v]: [&SpinMatrix; 2]) -> NucleonParts {
    let mut direct = ZERO;
    for (q, s) in q.as_flattened().iter().zip(s.as_flattened()) {
        direct += q * s;
    }
    let mut sum = NucleonParts { of_one: ZERO, of_gamma_t: ZERO };
    // (Uᵀ Q)_γ'α' is multiplied by V_γα' if P_γ'γ is not 0.
    for gamma_prime in 0..4 {
        let (gamma, power) = Gamma::T.row(gamma_prime);
        let mut exchange = [ZERO; 2];
        for alpha_prime in 0..4 {
            let mut product = ZERO;
            for alpha in 0..4 {
                product += u[alpha][gamma_prime] * q[alpha][alpha_prime];
            }
            exchange[0] += product * v[gamma_prime][alpha_prime];
            exchange[1] += product * v[gamma][alpha_prime];
        }
        sum.of_one += direct * t[gamma_prime][gamma_prime] - exchange[0];
        sum.of_gamma_t += times_i_to_the(direct * t[gamma][gamma_prime] - exchange[1], power);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanefield_reference::random::{Stream, gaussian_pair, su3_random};

    type Propagator = Vec<Complex<f64>>;

    fn word(a: usize, b: usize, c: usize, c_prime: usize) -> usize {
        ((4 * a + b) * 3 + c) * 3 + c_prime
    }

    fn random(seed: u64) -> Propagator {
        let number = |w| gaussian_pair(seed, Stream::TestData, 0, w);
        (0..144).map(number).map(|(re, im)| Complex::new(re, im)).collect()
    }

    fn element(gamma: Gamma, a: usize, b: usize) -> Complex<f64> {
        let (column, power) = gamma.row(a);
        if column == b { Complex::I.powu(power.into()) } else { ZERO }
    }

    fn epsilon(a: usize, b: usize, c: usize) -> f64 {
        let (a, b, c) = (a as f64, b as f64, c as f64);
        (a - b) * (b - c) * (c - a) / 2.0
    }

    /// tr(P G) with loops over all colours and spins.
    fn naive([s, down]: [&Propagator; 2], sign: f64) -> Complex<f64> {
        let gamma = Gamma::Y.times(Gamma::T).times(Gamma::FIVE);
        let spins = || (0..4usize.pow(6)).map(|k| [k, k / 4, k / 16, k / 64, k / 256, k / 1024].map(|k| k % 4));
        let colours = || (0..3usize.pow(6)).map(|k| [k, k / 3, k / 9, k / 27, k / 81, k / 243].map(|k| k % 3));
        let mut sum = ZERO;
        for [alpha, beta, alpha_prime, beta_prime, g, g_prime] in spins() {
            let one = if g == g_prime { Complex::ONE } else { ZERO };
            let projector = (one + element(Gamma::T, g_prime, g) * sign) / 2.0;
            let spin = element(gamma, alpha, beta) * element(gamma, alpha_prime, beta_prime).conj() * projector;
            if spin == ZERO {
                continue;
            }
            for [a, b, c, a_prime, b_prime, c_prime] in colours() {
                let signs = epsilon(a, b, c) * epsilon(a_prime, b_prime, c_prime);
                if signs == 0.0 {
                    continue;
                }
                let direct = s[word(alpha, alpha_prime, a, a_prime)] * s[word(g, g_prime, c, c_prime)];
                let exchange = s[word(alpha, g_prime, a, c_prime)] * s[word(g, alpha_prime, c, a_prime)];
                sum += spin * signs * down[word(beta, beta_prime, b, b_prime)] * (direct - exchange);
            }
        }
        sum
    }

    #[test]
    fn the_contraction_is_the_sum_over_all_colours_and_spins() {
        let (up, down) = (random(4), random(5));
        let found = parts([&up, &down]);
        let expected = [1.0, -1.0].map(|sign| naive([&up, &down], sign));
        for (found, expected) in [found.positive(), found.negative()].into_iter().zip(expected) {
            assert!((found - expected).norm() < 1e-12 * expected.norm(), "{found}, not {expected}");
        }
    }

    #[test]
    fn it_is_a_colour_singlet_at_source_and_sink() {
        let (s, left, right) = (random(4), su3_random(1, 0, 0), su3_random(1, 1, 0));
        let turned: Propagator = (0..144)
            .map(|w| {
                let [block, c, c_prime] = [w / 9 * 9, w / 3 % 3, w % 3];
                let terms = (0..9).map(|k| left[3 * c + k / 3] * s[block + k] * right[3 * (k % 3) + c_prime]);
                terms.sum()
            })
            .collect();
        let (found, expected) = (parts([&turned[..]; 2]).positive(), parts([&s[..]; 2]).positive());
        assert!((found - expected).norm() < 1e-12 * expected.norm(), "{found}, not {expected}");
    }

    #[test]
    fn gamma_y_gamma_t_conjugates_charge() {
        // C γμ C⁻¹ = −γμᵀ.
        let c = Gamma::Y.times(Gamma::T);
        for mu in [Gamma::X, Gamma::Y, Gamma::Z, Gamma::T] {
            for a in 0..4 {
                for b in 0..4 {
                    let product = |gammas: [Gamma; 2]| -> Complex<f64> {
                        (0..4).map(|k| element(gammas[0], a, k) * element(gammas[1], k, b)).sum()
                    };
                    // C γμ = −γμᵀ C.
                    let transposed: Complex<f64> = (0..4).map(|k| element(mu, k, a) * element(c, k, b)).sum();
                    assert_eq!(product([c, mu]), -transposed, "{mu:?}");
                }
            }
        }
    }
}
