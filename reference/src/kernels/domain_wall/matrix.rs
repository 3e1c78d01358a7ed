//! Real matrices along the fifth dimension, one for each chirality: two diagonals with a corner, and two forms of their inverse
//! (`docs/arithmetic.md` §14). Coefficients are computed here, in f64, once for all implementations; kernels round them to the precision of their
//! fields.

use thiserror::Error;

use crate::kernels::hop::Dagger;

/// An error of a matrix along s. Messages are fragments.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum DomainWallError {
    #[error("ls is {ls}: the fifth dimension has 1 to {most} sites")]
    Ls { ls: usize, most: usize },
    #[error("{parameter} is {value}: it must be finite")]
    NotFinite { parameter: &'static str, value: f64 },
    #[error(
        "{diagonal} coefficients of the diagonal, {plus} for chirality + and {minus} for chirality −: there must be ls of each"
    )]
    Lengths { diagonal: usize, plus: usize, minus: usize },
    #[error("{found} coefficients: {form} with ls = {ls} has {expected}")]
    Table { form: &'static str, ls: usize, expected: usize, found: usize },
    #[error(
        "the part of M along s has no inverse: its pivot at s = {s} is {pivot}; change M5, b or the mass (M5 = 4 + 1/b is singular)"
    )]
    Singular { s: usize, pivot: f64 },
}

/// The largest extent of the fifth dimension.
pub const MOST_LS: usize = 1024;

/// How the inverse of a [`Tridiagonal`] is applied. It is part of an operator's definition, since the two forms differ in rounding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum InverseForm {
    /// Elimination along s: about five operations for a component, in sequence.
    #[default]
    Sweep,
    /// A dense matrix: ls multiply-adds for a component, independently for each s.
    Dense,
}

impl InverseForm {
    /// Both forms.
    pub const ALL: [Self; 2] = [Self::Sweep, Self::Dense];
}

/// A diagonal and one off-diagonal coefficient on the ring of ls sites, for each chirality. Without dagger, chirality + (spins 0, 1) reads s − 1,
/// and chirality − (spins 2, 3) reads s + 1; with dagger it is the reverse.
#[derive(Clone, PartialEq, Debug)]
pub struct Tridiagonal {
    diagonal: Vec<f64>,
    plus: Vec<f64>,
    minus: Vec<f64>,
    dagger: Dagger,
}

impl Tridiagonal {
    /// y_s = diagonal_s x_s + plus_s P₊ x_{s−1} + minus_s P₋ x_{s+1}, indices modulo ls.
    ///
    /// # Errors
    /// [`DomainWallError::Lengths`] unless all have the same length, and [`DomainWallError::Ls`] unless that is 1 to [`MOST_LS`].
    pub fn new(diagonal: Vec<f64>, plus: Vec<f64>, minus: Vec<f64>) -> Result<Self, DomainWallError> {
        let lengths = [diagonal.len(), plus.len(), minus.len()];
        if lengths != [lengths[0]; 3] {
            let [diagonal, plus, minus] = lengths;
            return Err(DomainWallError::Lengths { diagonal, plus, minus });
        }
        check_ls(diagonal.len())?;
        Ok(Self { diagonal, plus, minus, dagger: Dagger::No })
    }

    /// The same coefficients at every s, with `corner` for the off-diagonal ones that wrap around. `ls` has been checked.
    pub(super) fn ring(ls: usize, diagonal: f64, beside: f64, corner: f64) -> Self {
        let with_corner = |at: usize| (0..ls).map(|s| if s == at { corner } else { beside }).collect();
        let (plus, minus) = (with_corner(0), with_corner(ls - 1));
        Self { diagonal: vec![diagonal; ls], plus, minus, dagger: Dagger::No }
    }

    /// The transpose, which is the Hermitian conjugate, since all coefficients are real.
    pub fn dagger(&self) -> Self {
        let ls = self.diagonal.len();
        let from_next = |list: &[f64]| (0..ls).map(|s| list[(s + 1) % ls]).collect();
        let from_previous = |list: &[f64]| (0..ls).map(|s| list[(s + ls - 1) % ls]).collect();
        let diagonal = self.diagonal.clone();
        match self.dagger {
            Dagger::No => {
                let (plus, minus) = (from_next(&self.plus), from_previous(&self.minus));
                Self { diagonal, plus, minus, dagger: Dagger::Yes }
            }
            Dagger::Yes => {
                let (plus, minus) = (from_previous(&self.plus), from_next(&self.minus));
                Self { diagonal, plus, minus, dagger: Dagger::No }
            }
        }
    }

    /// The matrix in the form that kernels use.
    pub fn matrix(&self) -> SMatrix {
        let table = [&self.diagonal[..], &self.plus, &self.minus].concat();
        SMatrix { form: MatrixForm::Tridiagonal, ls: self.diagonal.len(), dagger: self.dagger, table }
    }

    /// The inverse in one of the two forms.
    ///
    /// # Errors
    /// [`DomainWallError::Singular`] if there is none.
    pub fn inverse(&self, form: InverseForm) -> Result<SMatrix, DomainWallError> {
        let (ls, dagger) = (self.diagonal.len(), self.dagger);
        let ascending = dagger == Dagger::No;
        let plus = Elimination::new(&self.diagonal, &self.plus, ascending)?;
        let minus = Elimination::new(&self.diagonal, &self.minus, !ascending)?;
        Ok(match form {
            InverseForm::Sweep => {
                let table = [plus, minus].map(|e| [e.corner, e.step, e.reciprocal].concat()).concat();
                SMatrix { form: MatrixForm::Sweep, ls, dagger, table }
            }
            InverseForm::Dense => {
                let table = [plus.dense(), minus.dense()].concat();
                SMatrix { form: MatrixForm::Dense, ls, dagger, table }
            }
        })
    }
}

pub(super) fn check_ls(ls: usize) -> Result<(), DomainWallError> {
    if (1..=MOST_LS).contains(&ls) { Ok(()) } else { Err(DomainWallError::Ls { ls, most: MOST_LS }) }
}

/// The sites of the fifth dimension in the order of a sweep.
pub(super) fn sweep_order(ls: usize, ascending: bool) -> impl DoubleEndedIterator<Item = usize> + Clone {
    (0..ls).map(move |k| if ascending { k } else { ls - 1 - k })
}

/// The elimination for one chirality, with each coefficient as a list over s.
struct Elimination {
    ascending: bool,
    corner: Vec<f64>,
    step: Vec<f64>,
    reciprocal: Vec<f64>,
}

impl Elimination {
    /// The elimination of y_s = diagonal_s x_s + beside_s x_r, with r the site before s in the order of the sweep.
    fn new(diagonal: &[f64], beside: &[f64], ascending: bool) -> Result<Self, DomainWallError> {
        let ls = diagonal.len();
        let start = if ascending { 0 } else { ls - 1 };
        let [mut corner, mut step, mut reciprocal] = [(); 3].map(|()| vec![0.0; ls]);
        let invert = |s: usize, pivot: f64| match 1.0 / pivot {
            inverse if inverse.is_finite() && pivot.is_finite() => Ok(inverse),
            _ => Err(DomainWallError::Singular { s, pivot }),
        };
        // From the end of the sweep back to its start.
        let mut product = -beside[start];
        for s in sweep_order(ls, ascending).rev() {
            if s != start {
                reciprocal[s] = invert(s, diagonal[s])?;
                corner[s] = product * reciprocal[s];
                step[s] = -(beside[s] * reciprocal[s]);
                product *= step[s];
            }
        }
        reciprocal[start] = invert(start, diagonal[start] - product)?;
        corner[start] = 1.0;
        Ok(Self { ascending, corner, step, reciprocal })
    }

    /// The inverse as a matrix, row by row. Each column is the result of the sweep for a unit vector.
    fn dense(&self) -> Vec<f64> {
        let Self { corner, step, reciprocal, .. } = self;
        let ls = corner.len();
        let mut matrix = vec![0.0; ls * ls];
        for column in 0..ls {
            let x = |s: usize| if s == column { 1.0 } else { 0.0 };
            let mut order = sweep_order(ls, self.ascending);
            let Some(start) = order.next() else { break };
            let first = order.clone().fold(x(start), |sum: f64, s| corner[s].mul_add(x(s), sum));
            let mut y = reciprocal[start] * first;
            matrix[start * ls + column] = y;
            for s in order {
                y = step[s].mul_add(y, reciprocal[s] * x(s));
                matrix[s * ls + column] = y;
            }
        }
        matrix
    }
}

/// The contents of a table of coefficients.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MatrixForm {
    /// diagonal, plus, minus: ls numbers each.
    Tridiagonal,
    /// For chirality + and then −: corner, step, reciprocal, ls numbers each.
    Sweep,
    /// For chirality + and then −: ls rows of ls numbers.
    Dense,
}

impl MatrixForm {
    /// Floating-point operations of a product with a fermion of `ls` spinors: 24 for each product with a spinor, 48 if it is added to a sum.
    pub fn flops(self, ls: usize) -> u64 {
        let (ls, multiply, multiply_add) = (ls as u64, 24, 48);
        match self {
            Self::Tridiagonal => ls * (multiply + multiply_add),
            Self::Sweep => ls * multiply + 2 * (ls - 1) * multiply_add,
            Self::Dense => ls * (multiply + (ls - 1) * multiply_add),
        }
    }

    /// The shape of its table, with the slowest index first: (3, ls), (2, 3, ls), (2, ls, ls).
    pub fn shape(self, ls: usize) -> Vec<usize> {
        match self {
            Self::Tridiagonal => vec![3, ls],
            Self::Sweep => vec![2, 3, ls],
            Self::Dense => vec![2, ls, ls],
        }
    }

    /// The name of this form in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tridiagonal => "a tridiagonal matrix along s",
            Self::Sweep => "a sweep along s",
            Self::Dense => "a dense matrix along s",
        }
    }
}

/// A matrix along s in the form that kernels use.
#[derive(Clone, PartialEq, Debug)]
pub struct SMatrix {
    form: MatrixForm,
    ls: usize,
    dagger: Dagger,
    table: Vec<f64>,
}

impl SMatrix {
    /// A matrix from its coefficients, in the order of [`MatrixForm`]. `dagger` is as in [`Self::dagger`].
    ///
    /// # Errors
    /// [`DomainWallError::Ls`]; [`DomainWallError::Table`] if the number of coefficients is wrong; [`DomainWallError::NotFinite`].
    pub fn new(form: MatrixForm, ls: usize, dagger: Dagger, table: Vec<f64>) -> Result<Self, DomainWallError> {
        check_ls(ls)?;
        let expected = form.shape(ls).iter().product();
        if table.len() != expected {
            return Err(DomainWallError::Table { form: form.name(), ls, expected, found: table.len() });
        }
        match table.iter().find(|value| !value.is_finite()) {
            Some(&value) => Err(DomainWallError::NotFinite { parameter: "a coefficient", value }),
            None => Ok(Self { form, ls, dagger, table }),
        }
    }

    /// The contents of its table.
    pub fn form(&self) -> MatrixForm {
        self.form
    }

    /// Extent of the fifth dimension.
    pub fn ls(&self) -> usize {
        self.ls
    }

    /// Whether chirality + reads s + 1 and chirality − reads s − 1, or sweeps run that way. Without dagger it is the reverse.
    pub fn dagger(&self) -> Dagger {
        self.dagger
    }

    /// The coefficients in f64, in the order of [`MatrixForm`].
    pub fn table(&self) -> &[f64] {
        &self.table
    }

    /// Floating-point operations for one fermion at one site, as in `docs/arithmetic.md` §14: a multiply-add counts 2.
    pub fn flops(&self) -> u64 {
        self.form.flops(self.ls)
    }
}
