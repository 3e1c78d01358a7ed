//! Small dense matrices on the host, in f64 and in a fixed order of operations, so that solvers have the same bits on every machine. It has
//! products, pivoted Cholesky factors, triangular solves, and eigenvalues of real symmetric matrices by Jacobi rotations. Complex numbers are
//! multiplied, added and divided as in BiCGStab (`docs/arithmetic.md` §10): every operation is rounded.

use num_complex::Complex;

use crate::io::checkpoint::SavedState;

use super::SolverError;

type C = Complex<f64>;

/// A complex matrix, row by row.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct DenseMatrix {
    rows: usize,
    columns: usize,
    elements: Vec<C>,
}

impl DenseMatrix {
    /// From its elements, row by row.
    pub(super) fn new((rows, columns): (usize, usize), elements: Vec<C>) -> Self {
        debug_assert_eq!(elements.len(), rows * columns);
        Self { rows, columns, elements }
    }

    /// All zeros.
    pub(super) fn zeros((rows, columns): (usize, usize)) -> Self {
        Self { rows, columns, elements: vec![C::default(); rows * columns] }
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }
    pub(super) fn columns(&self) -> usize {
        self.columns
    }
    pub(super) fn elements(&self) -> &[C] {
        &self.elements
    }
    pub(super) fn at(&self, row: usize, column: usize) -> C {
        self.elements[row * self.columns + column]
    }
    fn at_mut(&mut self, row: usize, column: usize) -> &mut C {
        &mut self.elements[row * self.columns + column]
    }

    /// −self.
    pub(super) fn negative(&self) -> Self {
        Self { elements: self.elements.iter().map(|z| -z).collect(), ..*self }
    }

    /// The conjugate transpose.
    pub(super) fn adjoint(&self) -> Self {
        let mut adjoint = Self::zeros((self.columns, self.rows));
        for (row, column) in self.places() {
            *adjoint.at_mut(column, row) = self.at(row, column).conj();
        }
        adjoint
    }

    /// self · other: Σ_k self_ik · other_kj, starting from +0, in the order of k.
    pub(super) fn times(&self, other: &Self) -> Self {
        let mut product = Self::zeros((self.rows, other.columns));
        for (row, column) in product.places() {
            let terms = (0..self.columns).map(|k| self.at(row, k) * other.at(k, column));
            *product.at_mut(row, column) = terms.fold(C::default(), |sum, term| sum + term);
        }
        product
    }

    /// The columns with these numbers, in this order.
    pub(super) fn take_columns(&self, wanted: &[usize]) -> Self {
        let mut taken = Self::zeros((self.rows, wanted.len()));
        for (row, column) in taken.places() {
            *taken.at_mut(row, column) = self.at(row, wanted[column]);
        }
        taken
    }

    /// Σ_i |self_ij|² of column j: starting from +0, in the order of i, with re · re + im · im for each.
    pub(super) fn column_norm2(&self, column: usize) -> f64 {
        (0..self.rows).map(|row| self.at(row, column)).fold(0.0, |sum, z| sum + (z.re * z.re + z.im * z.im))
    }

    fn places(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (rows, columns) = (self.rows, self.columns);
        (0..rows).flat_map(move |row| (0..columns).map(move |column| (row, column)))
    }

    /// Saves it in a state.
    pub(super) fn save(&self, state: &mut SavedState, name: &str) {
        let shape = [self.rows as f64, self.columns as f64];
        let numbers = self.elements.iter().flat_map(|z| [z.re, z.im]);
        state.scalars(name, &shape.into_iter().chain(numbers).collect::<Vec<_>>());
    }

    /// Restores it from a state.
    ///
    /// # Errors
    /// [`SolverError::WrongState`].
    pub(super) fn restored(state: &SavedState, name: &str) -> Result<Self, SolverError> {
        let wrong = || SolverError::WrongState { what: format!("its matrix '{name}' is malformed") };
        let (&[rows, columns], numbers) = state.get_scalars(name)?.split_first_chunk().ok_or_else(wrong)?;
        let (rows, columns) = (rows as usize, columns as usize);
        if rows.checked_mul(columns).and_then(|count| count.checked_mul(2)) != Some(numbers.len()) {
            return Err(wrong());
        }
        Ok(Self::new((rows, columns), numbers.chunks_exact(2).map(|part| C::new(part[0], part[1])).collect()))
    }
}

/// A factor of a positive semidefinite Hermitian matrix H of which only some columns are independent: H = F† F, with a row of F for each independent
/// column.
pub(super) struct CholeskyFactor {
    /// The independent columns, in the order in which they were chosen, which is that of the rows of F.
    pub kept: Vec<usize>,
    /// F: a row for each kept column, and a column for each column of H. Restricted to the kept columns, in their order, it is upper triangular.
    pub factor: DenseMatrix,
    /// The smallest pivot, in units of the diagonal element of its column.
    pub least_pivot: f64,
}

/// Pivoted Cholesky decomposition of a Hermitian matrix; only the diagonal and the upper triangle are read. Column k is measured in units of √H_kk.
/// The next pivot is the column with the largest rest divided by H_kk, the first of equals. Columns with a rest of at most `least`, or with H_kk =
/// 0, count as linearly dependent.
pub(super) fn cholesky_with_pivots(h: &DenseMatrix, least: f64) -> CholeskyFactor {
    let size = h.rows();
    let of = |i: usize, j: usize| if i <= j { h.at(i, j) } else { h.at(j, i).conj() };
    let mut left: Vec<usize> = (0..size).filter(|&k| h.at(k, k).re > 0.0).collect();
    let mut rest: Vec<f64> = (0..size).map(|k| h.at(k, k).re).collect();
    let (mut kept, mut rows): (Vec<usize>, Vec<Vec<C>>) = (Vec::new(), Vec::new());
    let mut least_pivot = f64::INFINITY;
    loop {
        let share = |k: usize| rest[k] / h.at(k, k).re;
        let mut next: Option<usize> = None;
        for &k in &left {
            if next.is_none_or(|best| share(k) > share(best)) {
                next = Some(k);
            }
        }
        let Some(pivot) = next.filter(|&k| share(k) > least) else { break };
        least_pivot = least_pivot.min(share(pivot));
        let root = rest[pivot].sqrt();
        let mut row = vec![C::default(); size];
        row[pivot] = C::new(root, 0.0);
        left.retain(|&k| k != pivot);
        for k in (0..size).filter(|k| !kept.contains(k) && *k != pivot) {
            let done = rows.iter().fold(C::default(), |sum, above| sum + above[pivot].conj() * above[k]);
            let element = of(pivot, k) - done;
            row[k] = C::new(element.re / root, element.im / root);
            rest[k] -= row[k].re * row[k].re + row[k].im * row[k].im;
        }
        kept.push(pivot);
        rows.push(row);
    }
    let factor = DenseMatrix::new((rows.len(), size), rows.concat());
    CholeskyFactor { kept, factor, least_pivot }
}

/// The inverse of an upper triangular matrix with a real diagonal: column by column, from the bottom up.
pub(super) fn upper_inverse(upper: &DenseMatrix) -> DenseMatrix {
    let size = upper.rows();
    let mut inverse = DenseMatrix::zeros((size, size));
    for column in 0..size {
        *inverse.at_mut(column, column) = C::new(1.0 / upper.at(column, column).re, 0.0);
        for row in (0..column).rev() {
            let sum = (row + 1..=column).fold(C::default(), |sum, k| sum + upper.at(row, k) * inverse.at(k, column));
            let divisor = upper.at(row, row).re;
            *inverse.at_mut(row, column) = C::new(-sum.re / divisor, -sum.im / divisor);
        }
    }
    inverse
}

/// The inverse of a Hermitian positive definite matrix, G G† with G = F⁻¹ and H = F† F by Cholesky in column order; or the pivot that is not
/// positive. Only the diagonal and the upper triangle are read.
pub(super) fn positive_inverse(h: &DenseMatrix) -> Result<DenseMatrix, f64> {
    let size = h.rows();
    let mut factor = DenseMatrix::zeros((size, size));
    for row in 0..size {
        let done = (0..row).fold(0.0, |sum, k| {
            let z = factor.at(k, row);
            sum + (z.re * z.re + z.im * z.im)
        });
        let pivot = h.at(row, row).re - done;
        // NaN must fail too.
        if pivot.is_nan() || pivot <= 0.0 {
            return Err(pivot);
        }
        let root = pivot.sqrt();
        *factor.at_mut(row, row) = C::new(root, 0.0);
        for column in row + 1..size {
            let done = (0..row).fold(C::default(), |sum, k| sum + factor.at(k, row).conj() * factor.at(k, column));
            let element = h.at(row, column) - done;
            *factor.at_mut(row, column) = C::new(element.re / root, element.im / root);
        }
    }
    let inverse = upper_inverse(&factor);
    Ok(inverse.times(&inverse.adjoint()))
}

/// Eigenvalues of a real symmetric matrix, given row by row, and their eigenvectors, unsorted, by Jacobi rotations. Sweeps go over the pairs (p, q),
/// p < q, row by row, until a sweep finds only negligible elements: |a_pq| ≤ 2⁻⁵³ · min(|a_pp|, |a_qq|), or |a_pq| ≤ 2⁻⁶⁰ · max |a_kk|. Vector k is
/// in column k.
///
/// # Errors
/// The number of sweeps, if it has not converged after them.
pub(super) fn symmetric_eigenpairs(size: usize, mut a: Vec<f64>) -> Result<(Vec<f64>, Vec<f64>), usize> {
    const MOST_SWEEPS: usize = 60;
    let mut vectors = vec![0.0; size * size];
    (0..size).for_each(|k| vectors[k * size + k] = 1.0);
    for _ in 0..MOST_SWEEPS {
        let largest = (0..size).fold(0.0, |largest: f64, k| largest.max(a[k * size + k].abs()));
        let mut rotated = false;
        for p in 0..size {
            for q in p + 1..size {
                let (app, aqq, apq) = (a[p * size + p], a[q * size + q], a[p * size + q]);
                let negligible = f64::EPSILON / 2.0 * app.abs().min(aqq.abs());
                if apq.abs() <= negligible.max(largest * 2.0_f64.powi(-60)) {
                    continue;
                }
                rotated = true;
                let theta = (aqq - app) / (2.0 * apq);
                let root = (theta * theta + 1.0).sqrt();
                let t = if theta >= 0.0 { 1.0 / (theta + root) } else { -1.0 / (root - theta) };
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for k in 0..size {
                    let (x, y) = (a[p * size + k], a[q * size + k]);
                    a[p * size + k] = c * x - s * y;
                    a[q * size + k] = s * x + c * y;
                }
                for row in 0..size {
                    let (x, y) = (a[row * size + p], a[row * size + q]);
                    a[row * size + p] = c * x - s * y;
                    a[row * size + q] = s * x + c * y;
                    let (x, y) = (vectors[row * size + p], vectors[row * size + q]);
                    vectors[row * size + p] = c * x - s * y;
                    vectors[row * size + q] = s * x + c * y;
                }
                (a[p * size + q], a[q * size + p]) = (0.0, 0.0);
            }
        }
        if !rotated {
            return Ok(((0..size).map(|k| a[k * size + k]).collect(), vectors));
        }
    }
    Err(MOST_SWEEPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern.
    fn number(k: usize) -> f64 {
        ((37 * k % 101) as f64 - 50.0) / 17.0
    }

    fn matrix((rows, columns): (usize, usize)) -> DenseMatrix {
        let elements = (0..rows * columns).map(|k| C::new(number(2 * k), number(2 * k * k + 1)));
        DenseMatrix::new((rows, columns), elements.collect())
    }

    /// Ones on the diagonal.
    fn one(size: usize) -> DenseMatrix {
        let mut one = DenseMatrix::zeros((size, size));
        (0..size).for_each(|k| *one.at_mut(k, k) = C::new(1.0, 0.0));
        one
    }

    fn distance(a: &DenseMatrix, b: &DenseMatrix) -> f64 {
        a.elements().iter().zip(b.elements()).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
    }

    #[test]
    fn a_product_is_that_of_complex_numbers() {
        let product = matrix((2, 3)).times(&matrix((3, 2)));
        let (a, b) = (matrix((2, 3)), matrix((3, 2)));
        let expected = a.at(1, 0) * b.at(0, 1) + a.at(1, 1) * b.at(1, 1) + a.at(1, 2) * b.at(2, 1);
        assert_eq!(product.at(1, 1), expected);
        assert_eq!(a.adjoint().at(2, 1), a.at(1, 2).conj());
    }

    #[test]
    fn a_factor_makes_the_matrix_and_finds_dependent_columns() {
        let mut x = matrix((9, 5));
        for row in 0..9 {
            // Column 3 is a combination of columns 0 and 1, column 4 is zero.
            *x.at_mut(row, 3) = x.at(row, 0) * C::new(0.0, 2.0) - x.at(row, 1);
            *x.at_mut(row, 4) = C::default();
        }
        let h = x.adjoint().times(&x);
        let CholeskyFactor { kept, factor, least_pivot } = cholesky_with_pivots(&h, 1e-13);
        assert_eq!(kept.len(), 3, "{kept:?}");
        assert!(kept.contains(&2) && !kept.contains(&4), "{kept:?}");
        assert!(least_pivot > 1e-3, "{least_pivot}");
        assert!(distance(&factor.adjoint().times(&factor), &h) < 1e-12);
        let upper = factor.take_columns(&kept);
        assert!((0..3).all(|row| (0..row).all(|column| upper.at(row, column) == C::default())));
        assert!(distance(&upper_inverse(&upper).times(&upper), &one(3)) < 1e-14);
    }

    #[test]
    fn the_inverse_is_one_and_a_matrix_that_is_not_positive_is_refused() {
        let x = matrix((7, 4));
        let h = x.adjoint().times(&x);
        assert!(distance(&positive_inverse(&h).unwrap().times(&h), &one(4)) < 1e-12);
        let mut wrong = h;
        *wrong.at_mut(2, 2) = C::new(-1.0, 0.0);
        assert!(positive_inverse(&wrong).unwrap_err() < 0.0);
    }

    #[test]
    fn eigenpairs_are_eigenpairs() {
        // An arrow, as restarts of Lanczos make it, with eigenvalues of many sizes.
        let size = 24;
        let mut a = vec![0.0; size * size];
        for k in 0..size {
            a[k * size + k] = 2.0_f64.powi(k as i32 - 12) * if k % 3 == 0 { -1.0 } else { 1.0 };
            if k > 10 {
                (a[(k - 1) * size + k], a[k * size + k - 1]) = (number(k) / 8.0, number(k) / 8.0);
            } else {
                (a[k * size + 10], a[10 * size + k]) = (number(k + 1) * 1e-3, number(k + 1) * 1e-3);
            }
        }
        let (values, vectors) = symmetric_eigenpairs(size, a.clone()).unwrap();
        for k in 0..size {
            let vector: Vec<f64> = (0..size).map(|row| vectors[row * size + k]).collect();
            let norm2: f64 = vector.iter().map(|x| x * x).sum();
            assert!((norm2 - 1.0).abs() < 1e-13, "{norm2}");
            for row in 0..size {
                let image: f64 = (0..size).map(|column| a[row * size + column] * vector[column]).sum();
                assert!((image - values[k] * vector[row]).abs() < 1e-11, "{k}: {image}");
            }
        }
    }

    #[test]
    fn a_matrix_comes_back_from_a_state() {
        let mut state = SavedState::default();
        matrix((2, 3)).save(&mut state, "delta");
        assert_eq!(DenseMatrix::restored(&state, "delta").unwrap(), matrix((2, 3)));
        state.scalars[0].1.pop();
        assert!(DenseMatrix::restored(&state, "delta").is_err());
    }
}
