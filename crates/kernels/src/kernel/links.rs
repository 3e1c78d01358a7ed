//! Transformations of links, site by site (`docs/arithmetic.md` §22): exponentials of traceless anti-Hermitian matrices, a step of a flow along
//! them, and the projections to U(3) and to SU(3). Kernel functions define them.

use lanefield_reference::kernels::Vectors;
use lanefield_reference::scalar::projection::{cofactors as plain_cofactors, unitary_factor as plain_unitary_factor};
use lanefield_reference::scalar::{Link, madd, matrix_adjoint, matrix_times_matrix, mul, real_madd, real_times};
use num_complex::Complex;

use super::loops::{plain_traceless, traceless};
use super::plain::PlainCall;
use super::staples::Matrices;
use super::{Arguments, Kernel};
use crate::backend::{BackendError, Launch};
use crate::body::number;
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&FLOW_LINK, &EXPONENTIAL_TIMES, &U3_PROJECTED, &SU3_PROJECTED];

/// The last power in the series of the exponential of z/4.
const LAST_POWER: u32 = 24;

/// 1/k!.
fn inverse_factorial(k: u32) -> f64 {
    1.0 / (1..=k).map(f64::from).product::<f64>()
}

/// exp z of a traceless anti-Hermitian matrix with eigenvalues of at most 8 in magnitude. It sums the series of z/4 up to the power 24, as a
/// polynomial of second order by the theorem of Cayley and Hamilton, and squares the result twice.
#[inline(always)]
pub(crate) fn exponential<C: number::ComplexNumber>(z: Matrix<C>) -> Matrix<C> {
    let real = C::Real::constant;
    let z = z.scaled(real(0.25));
    let norm = |word: C| word.im().fma(word.im(), word.re() * word.re());
    let (d, n) = ([z.0[0].im(), z.0[4].im(), z.0[8].im()], [norm(z.0[1]), norm(z.0[2]), norm(z.0[5])]);
    let diagonal = d[2].fma(d[2], d[1].fma(d[1], d[0] * d[0]));
    // z³ = c1·z + i·c0.
    let c1 = -(diagonal.fma(real(0.5), n[0] + n[1] + n[2]));
    let triple = (z.0[1] * z.0[5] * z.0[2].conj()).im();
    let products = n[0].fma(d[2], n[1].fma(d[1], n[2] * d[0]));
    let c0 = products - triple.fma(real(2.0), d[0] * d[1] * d[2]);
    let (mut f0, mut f1, mut f2) = (C::constant(inverse_factorial(LAST_POWER), 0.0), C::zero(), C::zero());
    for power in (0..LAST_POWER).rev() {
        let next = f2.times_i().scaled_add(c0, C::constant(inverse_factorial(power), 0.0));
        (f0, f1, f2) = (next, f2.scaled_add(c1, f0), f1);
    }
    let squared = z * z;
    let mut exponential = z;
    for word in 0..9 {
        let linear = f1 * z.0[word];
        exponential.0[word] = f2.madd(squared.0[word], if word % 4 == 0 { linear + f0 } else { linear });
    }
    let twice = exponential * exponential;
    twice * twice
}

/// As [`exponential`], in plain numbers.
pub(crate) fn plain_exponential<R: Vectors>(z: &Link<R>) -> Link<R> {
    let real = R::from_f64;
    let z: Link<R> = z.map(|row| row.map(|word| real_times(real(0.25), word)));
    let norm = |word: Complex<R>| word.im.fused(word.im, word.re * word.re);
    let d = [0, 1, 2].map(|k| z[k][k].im);
    let (n01, n02, n12) = (norm(z[0][1]), norm(z[0][2]), norm(z[1][2]));
    let diagonal = d[2].fused(d[2], d[1].fused(d[1], d[0] * d[0]));
    let c1 = -diagonal.fused(real(0.5), n01 + n02 + n12);
    let triple = mul(mul(z[0][1], z[1][2]), z[0][2].conj()).im;
    let products = n01.fused(d[2], n02.fused(d[1], n12 * d[0]));
    let c0 = products - triple.fused(real(2.0), d[0] * d[1] * d[2]);
    let zero = Complex::new(real(0.0), real(0.0));
    let mut f = [Complex::new(real(inverse_factorial(LAST_POWER)), real(0.0)), zero, zero];
    for power in (0..LAST_POWER).rev() {
        let i_f2 = Complex::new(-f[2].im, f[2].re);
        let constant = Complex::new(real(inverse_factorial(power)), real(0.0));
        f = [real_madd(c0, i_f2, constant), real_madd(c1, f[2], f[0]), f[1]];
    }
    let squared = matrix_times_matrix(&z, &z);
    let element = |row: usize, column: usize| {
        let linear = mul(f[1], z[row][column]);
        madd(f[2], squared[row][column], if row == column { linear + f[0] } else { linear })
    };
    let result: Link<R> = std::array::from_fn(|row| std::array::from_fn(|column| element(row, column)));
    let twice = matrix_times_matrix(&result, &result);
    matrix_times_matrix(&twice, &twice)
}

/// momenta ← a·Z + b·momenta with Z the traceless anti-Hermitian part of staples·u†, then u ← exp(momenta)·u.
#[lane_kernel(family = "links", twin = flow_link_twin)]
pub fn flow_link<S: Site>(
    u: Update<S, ColourMatrix>,
    momenta: Update<S, ColourMatrix>,
    a: Scalar<S>,
    staples: Read<S, ColourMatrix>,
    b: Scalar<S>,
) {
    let link = u.here();
    let force = traceless(staples.here() * link.adjoint());
    let moved = force.scaled_add(a.get(), momenta.here().scaled(b.get()));
    momenta.write(moved);
    u.write(exponential(moved) * link);
}

fn flow_link_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let (a, b) = (call.scalar("a"), call.scalar("b"));
    call.each(|call, site, _| {
        let [u, k, staples] = ["u", "momenta", "staples"].map(|name| call.matrix(name, site));
        let force = plain_traceless(&matrix_times_matrix(&staples, &matrix_adjoint(&u)));
        let word = |row: usize, column: usize| real_madd(a, force[row][column], real_times(b, k[row][column]));
        let moved: Link<R> = std::array::from_fn(|row| std::array::from_fn(|column| word(row, column)));
        call.write("momenta", site, 0, &moved.concat());
        call.write("u", site, 0, &matrix_times_matrix(&plain_exponential(&moved), &u).concat());
    });
}

/// out = exp(a·x + b·y)·u.
#[lane_kernel(family = "links", twin = exponential_times_twin)]
pub fn exponential_times<S: Site>(
    out: Write<S, ColourMatrix>,
    a: Scalar<S>,
    x: Read<S, ColourMatrix>,
    b: Scalar<S>,
    y: Read<S, ColourMatrix>,
    u: Read<S, ColourMatrix>,
) {
    out.write(exponential(x.here().scaled_add(a.get(), y.here().scaled(b.get()))) * u.here());
}

fn exponential_times_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let (a, b) = (call.scalar("a"), call.scalar("b"));
    call.write_matrices("out", |call, site| {
        let [x, y, u] = ["x", "y", "u"].map(|name| call.matrix(name, site));
        let word = |row: usize, column: usize| real_madd(a, x[row][column], real_times(b, y[row][column]));
        let z = std::array::from_fn(|row| std::array::from_fn(|column| word(row, column)));
        matrix_times_matrix(&plain_exponential(&z), &u)
    });
}

/// The number of iterations for the unitary factor of a matrix, and for a cube root.
const UNITARY_TURNS: usize = 20;
const ROOT_TURNS: usize = 6;

/// The conjugates of the cofactors of a matrix, and its determinant.
#[inline(always)]
fn cofactors<C: number::ComplexNumber>(x: Matrix<C>) -> (Matrix<C>, C) {
    let mut conjugates = x;
    for row in 0..3 {
        for column in 0..3 {
            let word = |r: usize, c: usize| x.0[3 * ((row + r) % 3) + (column + c) % 3];
            let cofactor = (-word(1, 2)).madd(word(2, 1), word(1, 1) * word(2, 2));
            conjugates.0[3 * row + column] = cofactor.conj();
        }
    }
    let of_row = |k: usize| conjugates.0[k].conj();
    let determinant = x.0[2].madd(of_row(2), x.0[1].madd(of_row(1), x.0[0] * of_row(0)));
    (conjugates, determinant)
}

/// |z|².
#[inline(always)]
fn square<C: number::ComplexNumber>(z: C) -> C::Real {
    z.im().fma(z.im(), z.re() * z.re())
}

/// The unitary factor of a matrix's polar decomposition.
#[inline(always)]
pub(crate) fn unitary_factor<S: Site>(site: S, v: Matrix<S::Complex>) -> Matrix<S::Complex> {
    let real = S::Real::constant;
    let half = real(0.5);
    let mut squares = real(0.0);
    for word in v.0 {
        squares = word.im().fma(word.im(), word.re().fma(word.re(), squares));
    }
    let start = v.scaled((real(3.0) / squares).sqrt());
    site.repeat(
        site.count(UNITARY_TURNS),
        start,
        #[inline(always)]
        |_, x| {
            let (cofactors, determinant) = cofactors(x);
            let factor = determinant.scaled(half / square(determinant));
            let mut next = x.scaled(half);
            for word in 0..9 {
                next.0[word] = factor.madd(cofactors.0[word], next.0[word]);
            }
            next
        },
    )
}

/// out = the unitary factor of v.
#[lane_kernel(family = "links", twin = u3_projected_twin)]
pub fn u3_projected<S: Site>(site: S, out: Write<S, ColourMatrix>, v: Read<S, ColourMatrix>) {
    out.write(unitary_factor(site, v.here()));
}

fn u3_projected_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.write_matrices("out", |call, site| plain_unitary_factor(&call.matrix("v", site)));
}

/// The unitary factor of a matrix's polar decomposition, divided by the cube root of its determinant with a phase of at most π/3 in magnitude.
#[inline(always)]
pub(crate) fn su3_projection<S: Site>(site: S, v: Matrix<S::Complex>) -> Matrix<S::Complex> {
    let real = S::Real::constant;
    let (half, one) = (real(0.5), real(1.0));
    let unitary = unitary_factor(site, v);
    let (_, determinant) = cofactors(unitary);
    // A quarter of its phase is near a third: halved twice.
    let mut root = determinant;
    for _ in 0..2 {
        let [cosine, sine] = [root.re() + one, one - root.re()].map(|twice| (twice * half).abs().sqrt());
        let sine = S::Real::select(root.im().less(real(0.0)), -sine, sine);
        root = S::Complex::new(cosine, sine);
    }
    let root = site.repeat(
        site.count(ROOT_TURNS),
        root,
        #[inline(always)]
        |_, z| {
            let (n, conjugate) = (square(z), z.conj());
            let quotient = (determinant * conjugate * conjugate).scaled(one / (n * n));
            (z.scaled(real(2.0)) + quotient).scaled(real(1.0 / 3.0))
        },
    );
    let phase = root.conj();
    let mut projected = unitary;
    for word in 0..9 {
        projected.0[word] = phase * unitary.0[word];
    }
    projected
}

/// out = the projection of v to SU(3).
#[lane_kernel(family = "links", twin = su3_projected_twin)]
pub fn su3_projected<S: Site>(site: S, out: Write<S, ColourMatrix>, v: Read<S, ColourMatrix>) {
    out.write(su3_projection(site, v.here()));
}

fn su3_projected_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let real = R::from_f64;
    let root_of = |x: R| R::from_f64(x.to_f64().sqrt());
    let square = |z: Complex<R>| z.im.fused(z.im, z.re * z.re);
    let (half, one) = (real(0.5), real(1.0));
    call.write_matrices("out", |call, site| {
        let x = plain_unitary_factor(&call.matrix("v", site));
        let (_, determinant) = plain_cofactors(&x);
        let mut root = determinant;
        for _ in 0..2 {
            let [cosine, sine] = [root.re + one, one - root.re].map(|twice| {
                let magnitude = R::from_f64((twice * half).to_f64().abs());
                root_of(magnitude)
            });
            root = Complex::new(cosine, if root.im < real(0.0) { -sine } else { sine });
        }
        for _ in 0..ROOT_TURNS {
            let n = square(root);
            let quotient = real_times(one / (n * n), mul(mul(determinant, root.conj()), root.conj()));
            root = real_times(real(1.0 / 3.0), real_times(real(2.0), root) + quotient);
        }
        let phase = root.conj();
        x.map(|row| row.map(|word| mul(phase, word)))
    });
}

/// Transformations of links, on any backend.
pub trait LinksKernels: Launch {
    /// momenta ← a·Z + b·momenta with Z the traceless anti-Hermitian part of staples·u†, then u ← exp(momenta)·u.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend. The same holds for every function of this trait.
    fn flow_link<R: Vectors>(
        &self,
        u: &mut Matrices<Self, R>,
        momenta: &mut Matrices<Self, R>,
        staples: &Matrices<Self, R>,
        (a, b): (f64, f64),
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&FLOW_LINK).write("u", u).write("momenta", momenta).read("staples", staples);
        self.launch(arguments.scalar("a", a).scalar("b", b).call()?)
    }

    /// out = exp(a·x + b·y)·u.
    fn exponential_times<R: Vectors>(
        &self,
        out: &mut Matrices<Self, R>,
        (a, x): (f64, &Matrices<Self, R>),
        (b, y): (f64, &Matrices<Self, R>),
        u: &Matrices<Self, R>,
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&EXPONENTIAL_TIMES).write("out", out).read("x", x).read("y", y).read("u", u);
        self.launch(arguments.scalar("a", a).scalar("b", b).call()?)
    }

    /// out = the projection of v to U(3): the unitary factor of its polar decomposition. If v is singular, the result is NaN; if v is nearly
    /// singular, the result is not unitary.
    fn u3_projected<R: Vectors>(&self, out: &mut Matrices<Self, R>, v: &Matrices<Self, R>) -> Result<(), BackendError> {
        self.launch(Arguments::new(&U3_PROJECTED).write("out", out).read("v", v).call()?)
    }

    /// out = the projection of v to SU(3): the unitary factor of its polar decomposition, divided by the cube root of its determinant. If v is
    /// singular, the result is NaN.
    fn su3_projected<R: Vectors>(
        &self,
        out: &mut Matrices<Self, R>,
        v: &Matrices<Self, R>,
    ) -> Result<(), BackendError> {
        self.launch(Arguments::new(&SU3_PROJECTED).write("out", out).read("v", v).call()?)
    }
}
