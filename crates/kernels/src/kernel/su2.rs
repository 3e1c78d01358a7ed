//! SU(2) subgroups of SU(3), for kernel functions: a quaternion q stands for the matrix q₀ + i q·σ in rows and columns i and j.

use crate::body::number::{ComplexNumber, RealNumber};
use crate::body::prelude::*;

/// Rows and columns of the three subgroups, in the order in which they are used.
pub(super) const SUBGROUPS: [[usize; 2]; 3] = [[0, 1], [0, 2], [1, 2]];

/// q₀ + i q·σ.
#[derive(Clone, Copy)]
pub(super) struct Quaternion<R>(pub [R; 4]);

impl<R: RealNumber> Quaternion<R> {
    /// The Hermitian conjugate.
    #[inline(always)]
    pub(super) fn conjugate(self) -> Self {
        let [a, x, y, z] = self.0;
        Self([a, -x, -y, -z])
    }

    /// The product, each component by a product and three fma.
    #[inline(always)]
    pub(super) fn times(self, other: Self) -> Self {
        let ([a, x, y, z], [b, u, v, w]) = (self.0, other.0);
        // (a + i x·σ)(b + i u·σ) = ab − x·u + i (a u + b x − x × u)·σ.
        Self([
            (-z).fma(w, (-y).fma(v, (-x).fma(u, a * b))),
            z.fma(v, (-y).fma(w, x.fma(b, a * u))),
            x.fma(w, (-z).fma(u, y.fma(b, a * v))),
            y.fma(u, (-x).fma(v, z.fma(b, a * w))),
        ])
    }
}

/// An element of the product of two matrices.
#[inline(always)]
fn element<C: ComplexNumber>(u: &Matrix<C>, v: &Matrix<C>, row: usize, column: usize) -> C {
    let (u, v) = (&u.0[3 * row..], &v.0[column..]);
    u[2].madd(v[6], u[1].madd(v[3], u[0] * v[0]))
}

/// The unit quaternion q of the part of U V† in a subgroup, and its length. As a function of g in the subgroup, Re tr g U V† is 2 · length · Re tr(g
/// q)/2 plus a constant. If the length is 0, the quaternion is 0.
#[inline(always)]
pub(super) fn projected<S: Site>(
    u: Matrix<S::Complex>,
    adjoint: Matrix<S::Complex>,
    [i, j]: [usize; 2],
) -> (Quaternion<S::Real>, S::Real) {
    let (ii, ij) = (element(&u, &adjoint, i, i), element(&u, &adjoint, i, j));
    let (ji, jj) = (element(&u, &adjoint, j, i), element(&u, &adjoint, j, j));
    let half = S::Real::constant(0.5);
    let q = [
        (ii.re() + jj.re()) * half,
        (ij.im() + ji.im()) * half,
        (ij.re() - ji.re()) * half,
        (ii.im() - jj.im()) * half,
    ];
    let length = q[3].fma(q[3], q[2].fma(q[2], q[1].fma(q[1], q[0] * q[0]))).sqrt();
    let (zero, one) = (S::Real::constant(0.0), S::Real::constant(1.0));
    let inverse = one / S::Real::select(zero.less(length), length, one);
    (Quaternion([q[0] * inverse, q[1] * inverse, q[2] * inverse, q[3] * inverse]), length)
}

/// g · u if `choice` is true, else u.
#[inline(always)]
pub(super) fn times_where<S: Site>(
    choice: S::Choice,
    g: Quaternion<S::Real>,
    mut u: Matrix<S::Complex>,
    [i, j]: [usize; 2],
) -> Matrix<S::Complex> {
    let [a, x, y, z] = g.0;
    let new = S::Complex::new;
    let (ii, ij, ji, jj) = (new(a, z), new(y, x), new(-y, x), new(a, -z));
    for k in 0..3 {
        let (above, below) = (u.0[3 * i + k], u.0[3 * j + k]);
        u.0[3 * i + k] = S::Complex::select(choice, ij.madd(below, ii * above), above);
        u.0[3 * j + k] = S::Complex::select(choice, jj.madd(below, ji * above), below);
    }
    u
}

/// A row divided by its length.
#[inline(always)]
fn normalised<C: ComplexNumber>([x, y, z]: [C; 3]) -> [C; 3] {
    let mut squares = C::Real::constant(0.0);
    for word in [x, y, z] {
        squares = word.im().fma(word.im(), word.re().fma(word.re(), squares));
    }
    let inverse = C::Real::constant(1.0) / squares.sqrt();
    [x.scaled(inverse), y.scaled(inverse), z.scaled(inverse)]
}

/// A component of the conjugate of the cross product.
#[inline(always)]
fn crossed<C: ComplexNumber>(first: [C; 3], second: [C; 3], k: usize, l: usize) -> C {
    (-first[l]).madd(second[k], first[k] * second[l]).conj()
}

/// The matrix made special unitary again: normalises the first row, orthogonalises the second to it and normalises it, and replaces the third by the
/// conjugate of their cross product.
#[inline(always)]
pub(super) fn special_unitary<S: Site>(u: Matrix<S::Complex>) -> Matrix<S::Complex> {
    let first = normalised([u.0[0], u.0[1], u.0[2]]);
    let second = [u.0[3], u.0[4], u.0[5]];
    // ⟨first, second⟩.
    let overlap = first[2].conj().madd(second[2], first[1].conj().madd(second[1], first[0].conj() * second[0]));
    let mut rest = second;
    for k in 0..3 {
        rest[k] = (-overlap).madd(first[k], second[k]);
    }
    let second = normalised(rest);
    let third = [crossed(first, second, 1, 2), crossed(first, second, 2, 0), crossed(first, second, 0, 1)];
    Matrix([first[0], first[1], first[2], second[0], second[1], second[2], third[0], third[1], third[2]])
}
