//! The spin matrices of mesons and baryons: products of gamma matrices in Grid's basis (`docs/arithmetic.md` §4). Each row and each column has one
//! nonzero element, a power of i.

/// A product γxᵃ γyᵇ γzᶜ γtᵈ, in this order, with exponents 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Gamma {
    /// Bit μ is set if γμ is a factor.
    factors: u8,
}

impl Gamma {
    /// The identity, for the scalar.
    pub const IDENTITY: Self = Self { factors: 0 };
    /// γx, for a component of the rho.
    pub const X: Self = Self { factors: 1 };
    /// γy, for a component of the rho.
    pub const Y: Self = Self { factors: 2 };
    /// γz, for a component of the rho.
    pub const Z: Self = Self { factors: 4 };
    /// γt, for the charge.
    pub const T: Self = Self { factors: 8 };
    /// γ5 = γx γy γz γt, for the pion.
    pub const FIVE: Self = Self { factors: 15 };

    /// All sixteen products, which span the spin matrices.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..16).map(|factors| Self { factors })
    }

    /// The nonzero element of each row of γx, γy, γz and γt: its column, and the n of its value iⁿ.
    const VECTORS: [[(usize, u8); 4]; 4] = [
        [(3, 1), (2, 1), (1, 3), (0, 3)],
        [(3, 2), (2, 0), (1, 0), (0, 2)],
        [(2, 1), (3, 3), (0, 3), (1, 1)],
        [(2, 0), (3, 0), (0, 0), (1, 0)],
    ];

    /// Γ Γ' up to its sign, on which correlators do not depend.
    pub const fn times(self, other: Self) -> Self {
        Self { factors: self.factors ^ other.factors }
    }

    /// The nonzero element of row `spin`: its column, and the n, 0 to 3, of its value iⁿ.
    pub const fn row(self, spin: usize) -> (usize, u8) {
        let (mut column, mut power, mut mu) = (spin, 0, 0);
        while mu < Self::VECTORS.len() {
            if self.factors >> mu & 1 == 1 {
                let (next, more) = Self::VECTORS[mu][column];
                (column, power) = (next, (power + more) % 4);
            }
            mu += 1;
        }
        (column, power)
    }

    /// The column of the nonzero element of row `spin`. The map is its own inverse.
    pub const fn partner(self, spin: usize) -> usize {
        self.row(spin).0
    }

    /// The sign of the term of sink spin a and source spin b in tr[γ5 S† γ5 Γ S Γ†]: (γ5)_aa (γ5)_bb Γ_{a,p(a)} conj(Γ_{b,p(b)}), with p the
    /// [`Self::partner`]. It is real, since the elements of Γ are all real or all imaginary.
    pub const fn sign(self, a: usize, b: usize) -> f64 {
        let power = Self::FIVE.row(a).1 + Self::FIVE.row(b).1 + self.row(a).1 + 4 - self.row(b).1;
        if power.is_multiple_of(4) { 1.0 } else { -1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    type Matrix = [[Complex<f64>; 4]; 4];

    fn matrix(gamma: Gamma) -> Matrix {
        let mut matrix = [[Complex::ZERO; 4]; 4];
        for (spin, row) in matrix.iter_mut().enumerate() {
            let (column, power) = gamma.row(spin);
            row[column] = Complex::I.powu(power.into());
        }
        matrix
    }

    fn product(a: Matrix, b: Matrix) -> Matrix {
        std::array::from_fn(|i| std::array::from_fn(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()))
    }

    fn conjugate(a: Matrix) -> Matrix {
        std::array::from_fn(|i| std::array::from_fn(|j| a[j][i].conj()))
    }

    #[test]
    fn gamma_matrices_are_hermitian_and_anticommute() {
        let vectors = [Gamma::X, Gamma::Y, Gamma::Z, Gamma::T, Gamma::FIVE];
        for (i, &a) in vectors.iter().enumerate() {
            for (j, &b) in vectors.iter().enumerate() {
                let (ab, ba) = (product(matrix(a), matrix(b)), product(matrix(b), matrix(a)));
                for row in 0..4 {
                    for column in 0..4 {
                        let delta = if i == j && row == column { 2.0 } else { 0.0 };
                        assert_eq!(ab[row][column] + ba[row][column], Complex::from(delta), "{a:?} {b:?}");
                        assert_eq!(matrix(a)[row][column], matrix(a)[column][row].conj(), "{a:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn gamma_five_is_diagonal_plus_plus_minus_minus() {
        assert_eq!([0, 1, 2, 3].map(|spin| Gamma::FIVE.row(spin)), [(0, 0), (1, 0), (2, 2), (3, 2)]);
    }

    #[test]
    fn products_are_those_of_the_matrices_up_to_their_sign() {
        for a in Gamma::all() {
            for b in Gamma::all() {
                let (found, expected) = (matrix(a.times(b)), product(matrix(a), matrix(b)));
                assert!(found == expected || found == expected.map(|row| row.map(|z| -z)), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn sixteen_products_span_the_spin_matrices() {
        // tr(Γ† Γ') = 4 for the same, and 0 for others.
        for a in Gamma::all() {
            for b in Gamma::all() {
                let trace: Complex<f64> = (0..4).map(|k| product(conjugate(matrix(a)), matrix(b))[k][k]).sum();
                assert_eq!(trace, Complex::from(if a == b { 4.0 } else { 0.0 }), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn the_sign_and_partner_are_those_of_the_matrix_product() {
        for gamma in Gamma::all() {
            let (g, five) = (matrix(gamma), matrix(Gamma::FIVE));
            for a in 0..4 {
                for b in 0..4 {
                    let (p, q) = (gamma.partner(a), gamma.partner(b));
                    let expected = five[a][a] * five[b][b] * g[a][p] * conjugate(g)[q][b];
                    assert_eq!(Complex::from(gamma.sign(a, b)), expected, "{gamma:?} {a} {b}");
                    assert_eq!(gamma.partner(p), a);
                }
            }
        }
    }
}
