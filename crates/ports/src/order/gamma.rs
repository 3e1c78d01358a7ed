//! Spin bases, with their γ matrices and the matrix that converts each to ours. Definitions and matrices follow the comments of QUDA's
//! `enum_quda.h`, in 2×2 blocks with the Pauli matrices σ1, σ2, σ3; tests check one against the other.

use num_complex::Complex;

use crate::words::words;

words! {
    #[derive(Default)]
    GammaBasis, "basis of spins" {
        /// The basis of DeGrand and Rossi: γk = ((0, iσ)(−iσ, 0)), for y with −i and i; γt = ((0, 1)(1, 0)); γ5 = ((1, 0)(0, −1)). Ours, Grid's,
        /// QDP++'s and Chroma's.
        #[default]
        DegrandRossi = "degrand-rossi",
        /// `QUDA_CHIRAL_GAMMA_BASIS`: γk = ((0, −iσ)(iσ, 0)), γt = ((0, −1)(−1, 0)), γ5 = ((−1, 0)(0, 1)).
        Chiral = "chiral",
        /// `QUDA_DIRAC_PAULI_GAMMA_BASIS`: γk = ((0, −iσ)(iσ, 0)), γt = ((1, 0)(0, −1)), γ5 = ((0, −1)(−1, 0)).
        DiracPauli = "dirac-pauli",
        /// `QUDA_UKQCD_GAMMA_BASIS`: γk = ((0, iσ)(−iσ, 0)), γt = ((1, 0)(0, −1)), γ5 = ((0, 1)(1, 0)).
        Ukqcd = "ukqcd",
    }
}

/// A 4×4 matrix with one nonzero element per row, given by its column and the n of its value iⁿ.
type Rows = [(usize, u8); 4];

impl GammaBasis {
    /// γx, γy, γz, γt and γ5: the element of each row, by its column and the n of its value iⁿ.
    const fn rows(self) -> [Rows; 5] {
        match self {
            Self::DegrandRossi => [
                [(3, 1), (2, 1), (1, 3), (0, 3)],
                [(3, 2), (2, 0), (1, 0), (0, 2)],
                [(2, 1), (3, 3), (0, 3), (1, 1)],
                [(2, 0), (3, 0), (0, 0), (1, 0)],
                [(0, 0), (1, 0), (2, 2), (3, 2)],
            ],
            Self::Chiral => [
                [(3, 3), (2, 3), (1, 1), (0, 1)],
                [(3, 2), (2, 0), (1, 0), (0, 2)],
                [(2, 3), (3, 1), (0, 1), (1, 3)],
                [(2, 2), (3, 2), (0, 2), (1, 2)],
                [(0, 2), (1, 2), (2, 0), (3, 0)],
            ],
            Self::DiracPauli => [
                [(3, 3), (2, 3), (1, 1), (0, 1)],
                [(3, 2), (2, 0), (1, 0), (0, 2)],
                [(2, 3), (3, 1), (0, 1), (1, 3)],
                [(0, 0), (1, 0), (2, 2), (3, 2)],
                [(2, 2), (3, 2), (0, 2), (1, 2)],
            ],
            Self::Ukqcd => [
                [(3, 1), (2, 1), (1, 3), (0, 3)],
                [(3, 0), (2, 2), (1, 2), (0, 0)],
                [(2, 1), (3, 3), (0, 3), (1, 1)],
                [(0, 0), (1, 0), (2, 2), (3, 2)],
                [(2, 0), (3, 0), (0, 0), (1, 0)],
            ],
        }
    }

    /// γx, γy, γz, γt and γ5, exactly.
    pub fn gammas(self) -> [[[Complex<f64>; 4]; 4]; 5] {
        const POWERS: [Complex<f64>; 4] =
            [Complex::new(1.0, 0.0), Complex::new(0.0, 1.0), Complex::new(-1.0, 0.0), Complex::new(0.0, -1.0)];
        self.rows().map(|rows| {
            rows.map(|(column, power)| {
                std::array::from_fn(|k| if k == column { POWERS[usize::from(power)] } else { Complex::default() })
            })
        })
    }

    /// T with ψ(ours) = T ψ(this basis), and γ(ours) = T γ T⁻¹. All of them are real and orthogonal.
    pub const fn to_ours(self) -> SpinMatrix {
        let (rows, halved) = match self {
            Self::DegrandRossi => ([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], false),
            // i ((0, −σ2)(σ2, 0)).
            Self::Chiral => ([[0, 0, 0, -1], [0, 0, 1, 0], [0, 1, 0, 0], [-1, 0, 0, 0]], false),
            // i/√2 ((σ2, −σ2)(σ2, σ2)).
            Self::DiracPauli => ([[0, 1, 0, -1], [-1, 0, 1, 0], [0, 1, 0, 1], [-1, 0, -1, 0]], true),
            // i/√2 ((−σ2, −σ2)(−σ2, σ2)).
            Self::Ukqcd => ([[0, -1, 0, -1], [1, 0, 1, 0], [0, -1, 0, 1], [1, 0, -1, 0]], true),
        };
        SpinMatrix { rows, halved }
    }

    /// T⁻¹, with ψ(this basis) = T⁻¹ ψ(ours): the transpose.
    pub const fn from_ours(self) -> SpinMatrix {
        self.to_ours().transposed()
    }
}

/// A real orthogonal spin matrix with elements 0 and ±1, or 0 and ±1/√2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpinMatrix {
    rows: [[i8; 4]; 4],
    /// Whether the elements are divided by √2.
    halved: bool,
}

impl SpinMatrix {
    const fn transposed(self) -> Self {
        let mut rows = [[0; 4]; 4];
        let mut k = 0;
        while k < 16 {
            rows[k % 4][k / 4] = self.rows[k / 4][k % 4];
            k += 1;
        }
        Self { rows, halved: self.halved }
    }

    /// Whether it only moves spins and changes signs, so that no bit is lost.
    pub(crate) const fn is_exact(&self) -> bool {
        !self.halved
    }

    pub fn elements(&self) -> [[f64; 4]; 4] {
        let factor = if self.halved { std::f64::consts::FRAC_1_SQRT_2 } else { 1.0 };
        self.rows.map(|row| row.map(|sign| f64::from(sign) * factor))
    }

    /// The matrix times four numbers: terms from the left, the sum rounded in f64, then times 1/√2, rounded in f64.
    pub fn times(&self, spins: [Complex<f64>; 4]) -> [Complex<f64>; 4] {
        self.rows.map(|row| {
            let terms = row.iter().zip(spins).filter(|(sign, _)| **sign != 0);
            let terms = terms.map(|(sign, z)| if *sign < 0 { -z } else { z });
            // A sum that starts at +0 would lose −0.
            let sum = terms.reduce(|sum, z| sum + z).unwrap_or_default();
            if self.halved { sum * std::f64::consts::FRAC_1_SQRT_2 } else { sum }
        })
    }

    /// Applies it to the spins of every number in a list; spins are `stride` numbers apart.
    pub(super) fn apply(&self, numbers: &mut [Complex<f64>], stride: usize) {
        for block in numbers.chunks_exact_mut(4 * stride) {
            for k in 0..stride {
                let result = self.times(std::array::from_fn(|spin| block[spin * stride + k]));
                (0..4).for_each(|spin| block[spin * stride + k] = result[spin]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanefield::observable::Gamma;

    type Matrix = [[Complex<f64>; 4]; 4];

    fn product(a: &Matrix, b: &Matrix) -> Matrix {
        std::array::from_fn(|i| std::array::from_fn(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()))
    }

    fn complex(matrix: SpinMatrix) -> Matrix {
        matrix.elements().map(|row| row.map(Complex::from))
    }

    fn assert_near(a: &Matrix, b: &Matrix, what: &str) {
        let far = a.iter().flatten().zip(b.iter().flatten()).any(|(a, b)| (a - b).norm() > 1e-15);
        assert!(!far, "{what}: {a:?} is not {b:?}");
    }

    #[test]
    fn gammas_anticommute_are_hermitian_and_their_product_is_gamma_five() {
        for basis in GammaBasis::ALL {
            let gammas = basis.gammas();
            for (i, a) in gammas.iter().enumerate() {
                for (j, b) in gammas.iter().enumerate() {
                    let (ab, ba) = (product(a, b), product(b, a));
                    for row in 0..4 {
                        for column in 0..4 {
                            let delta = if i == j && row == column { 2.0 } else { 0.0 };
                            assert_eq!(ab[row][column] + ba[row][column], Complex::from(delta), "{basis} {i} {j}");
                            assert_eq!(a[row][column], a[column][row].conj(), "{basis} {i}");
                        }
                    }
                }
            }
            let [x, y, z, t, five] = gammas;
            assert_eq!(product(&product(&product(&x, &y), &z), &t), five, "{basis}");
        }
    }

    #[test]
    fn the_matrix_leads_from_each_basis_to_ours() {
        let ours = GammaBasis::DegrandRossi.gammas();
        for basis in GammaBasis::ALL {
            let (there, back) = (complex(basis.to_ours()), complex(basis.from_ours()));
            let one: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| Complex::from(f64::from(i == j))));
            assert_near(&product(&there, &back), &one, "T T⁻¹");
            for (gamma, ours) in basis.gammas().iter().zip(&ours) {
                assert_near(&product(&product(&there, gamma), &back), ours, basis.name());
            }
        }
    }

    #[test]
    fn ours_is_the_basis_of_the_library() {
        let ours = GammaBasis::DegrandRossi.gammas();
        let library = [Gamma::X, Gamma::Y, Gamma::Z, Gamma::T, Gamma::FIVE];
        for (gamma, library) in ours.iter().zip(library) {
            for (row, elements) in gamma.iter().enumerate() {
                assert_ne!(elements[library.partner(row)], Complex::default(), "{library:?}");
            }
        }
    }
}
