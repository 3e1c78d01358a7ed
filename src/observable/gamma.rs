//! The gamma matrices that mesons are made with, in Grid's basis (`docs/arithmetic.md` §4): each row and each column has one element, a
//! power of i.

/// A Hermitian spin matrix Γ.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Gamma {
    /// The identity: the scalar.
    Identity,
    /// γx: a component of the rho.
    X,
    /// γy: a component of the rho.
    Y,
    /// γz: a component of the rho.
    Z,
    /// γt: the charge.
    T,
    /// γ5: the pion.
    Five,
}

impl Gamma {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Identity, Self::X, Self::Y, Self::Z, Self::T, Self::Five];

    /// The element of each row: its column k, and n where it is iⁿ.
    const fn rows(self) -> [(usize, u8); 4] {
        match self {
            Self::Identity => [(0, 0), (1, 0), (2, 0), (3, 0)],
            Self::X => [(3, 1), (2, 1), (1, 3), (0, 3)],
            Self::Y => [(3, 2), (2, 0), (1, 0), (0, 2)],
            Self::Z => [(2, 1), (3, 3), (0, 3), (1, 1)],
            Self::T => [(2, 0), (3, 0), (0, 0), (1, 0)],
            Self::Five => [(0, 0), (1, 0), (2, 2), (3, 2)],
        }
    }

    /// The column of the element of row `spin`. It is its own inverse.
    pub const fn partner(self, spin: usize) -> usize {
        self.rows()[spin].0
    }

    /// The sign of the term of sink spin a and source spin b in tr[γ5 S† γ5 Γ S Γ]: (γ5)_a (γ5)_b Γ_{a,p(a)} Γ_{p(b),b}, with p the
    /// [`Self::partner`]. It is real, since all elements of Γ are, or none.
    pub const fn sign(self, a: usize, b: usize) -> f64 {
        let rows = self.rows();
        let five = Self::Five.rows();
        if (five[a].1 + five[b].1 + rows[a].1 + rows[self.partner(b)].1).is_multiple_of(4) { 1.0 } else { -1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    type Matrix = [[Complex<f64>; 4]; 4];

    fn matrix(gamma: Gamma) -> Matrix {
        let mut matrix = [[Complex::ZERO; 4]; 4];
        for (row, (column, power)) in matrix.iter_mut().zip(gamma.rows()) {
            row[column] = Complex::I.powu(power.into());
        }
        matrix
    }

    fn product(a: Matrix, b: Matrix) -> Matrix {
        std::array::from_fn(|i| std::array::from_fn(|j| (0..4).map(|k| a[i][k] * b[k][j]).sum()))
    }

    #[test]
    fn gamma_matrices_are_hermitian_and_anticommute() {
        let vectors = [Gamma::X, Gamma::Y, Gamma::Z, Gamma::T, Gamma::Five];
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
    fn the_product_of_all_four_is_gamma_five() {
        let four = [Gamma::X, Gamma::Y, Gamma::Z, Gamma::T].map(matrix);
        assert_eq!(four.into_iter().reduce(product).unwrap(), matrix(Gamma::Five));
    }

    #[test]
    fn the_sign_is_the_product_of_the_four_elements() {
        for gamma in Gamma::ALL {
            let (g, five) = (matrix(gamma), matrix(Gamma::Five));
            for a in 0..4 {
                for b in 0..4 {
                    let (pa, pb) = (gamma.partner(a), gamma.partner(b));
                    let expected = five[a][a] * five[b][b] * g[a][pa] * g[pb][b];
                    assert_eq!(Complex::from(gamma.sign(a, b)), expected, "{gamma:?} {a} {b}");
                }
            }
        }
    }
}
