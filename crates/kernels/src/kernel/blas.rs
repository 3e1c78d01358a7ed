//! Vector operations (`docs/arithmetic.md` §7), with and without the norm of their result (§8). Those without a norm are kernel functions. Those
//! with a norm are written by hand, because in half precision their norms are those of the stored values.

use lanefield_reference::field::SiteObject;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::kernels::{Vectors, blas};
use lanefield_reference::scalar;
use num_complex::Complex;

use super::KernelArgument::{self, Elements, Field, PartWords, Scalar as RealScalar};
use super::plain::PlainCall;
use super::reduce::{one, plain_norm2};
use super::site_lists::{list, put};
use super::usual::{USUAL, moved};
use super::{Arguments, BuildOption, FieldContents, FieldSites, Geometry, Kernel, read, update};
use crate::backend::{BackendError, FieldOn, Launch, Reduce};
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[
    &COPY,
    &SCALE,
    &AXPY,
    &AXPY_NORM,
    &AXPBY_NORM,
    &COMPLEX_AXPY,
    &COMPLEX_XPAY,
    &CG_UPDATE,
    &CG_RESIDUAL,
    &CG_ADVANCE,
    &CG_ITERATION,
];

/// out = x.
#[lane_kernel(family = "blas", twin = copy_twin, hot)]
pub fn copy<S: Site>(site: S, out: Write<S, Any>, x: Read<S, Any>) {
    site.repeat(out.words(), (), |word, ()| out.write_word(word, x.word(word)));
}

fn copy_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, part| {
        let x = call.read("x", site, part);
        call.write("out", site, part, &x);
    });
}

/// out = a·x.
#[lane_kernel(family = "blas", twin = scale_twin, hot)]
pub fn scale<S: Site>(site: S, out: Write<S, Any>, a: Scalar<S>, x: Read<S, Any>) {
    site.repeat(out.words(), (), |word, ()| out.write_word(word, x.word(word).scaled(a.get())));
}

fn scale_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let a = call.scalar("a").to_f64();
    call.each(|call, site, part| {
        let x = call.read("x", site, part);
        call.write("out", site, part, &scalar::scale(a, &x));
    });
}

/// y ← a·x + y.
#[lane_kernel(family = "blas", twin = axpy_twin, hot)]
pub fn axpy<S: Site>(site: S, y: Update<S, Any>, a: Scalar<S>, x: Read<S, Any>) {
    site.repeat(y.words(), (), |word, ()| y.write_word(word, x.word(word).scaled_add(a.get(), y.word(word))));
}

fn axpy_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let a = call.scalar("a").to_f64();
    call.each(|call, site, part| {
        let (x, mut y) = (call.read("x", site, part), call.read("y", site, part));
        scalar::axpy(a, &x, &mut y);
        call.write("y", site, part, &y);
    });
}

/// y ← a·x + y, a complex.
#[lane_kernel(family = "blas", twin = complex_axpy_twin, hot)]
pub fn complex_axpy<S: Site>(site: S, y: Update<S, Any>, a: ComplexScalar<S>, x: Read<S, Any>) {
    site.repeat(y.words(), (), |word, ()| y.write_word(word, a.get().madd(x.word(word), y.word(word))));
}

fn complex_axpy_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let a = of_doubles(call.complex("a"));
    call.each(|call, site, part| {
        let (x, y) = (call.read("x", site, part), call.read("y", site, part));
        call.write("y", site, part, &scalar::complex_axpy(a, &x, &y));
    });
}

/// y ← b·y + x, b complex.
#[lane_kernel(family = "blas", twin = complex_xpay_twin, hot)]
pub fn complex_xpay<S: Site>(site: S, y: Update<S, Any>, b: ComplexScalar<S>, x: Read<S, Any>) {
    site.repeat(y.words(), (), |word, ()| y.write_word(word, b.get().madd(y.word(word), x.word(word))));
}

fn complex_xpay_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let b = of_doubles(call.complex("b"));
    call.each(|call, site, part| {
        let (x, y) = (call.read("x", site, part), call.read("y", site, part));
        call.write("y", site, part, &scalar::complex_axpy(b, &y, &x));
    });
}

/// psi ← a·p + psi, then p ← b·p + r with the old p.
#[lane_kernel(family = "blas", twin = cg_update_twin, hot)]
pub fn cg_update<S: Site>(
    site: S,
    psi: Update<S, Any>,
    p: Update<S, Any>,
    r: Read<S, Any>,
    a: Scalar<S>,
    b: Scalar<S>,
) {
    site.repeat(psi.words(), (), |word, ()| {
        let old = p.word(word);
        psi.write_word(word, old.scaled_add(a.get(), psi.word(word)));
        p.write_word(word, old.scaled_add(b.get(), r.word(word)));
    });
}

fn cg_update_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let (a, b) = (call.scalar("a").to_f64(), call.scalar("b").to_f64());
    call.each(|call, site, part| {
        let [mut psi, mut p, r] = ["psi", "p", "r"].map(|field| call.read(field, site, part));
        scalar::cg_update(&mut psi, &mut p, &r, a, b);
        call.write("psi", site, part, &psi);
        call.write("p", site, part, &p);
    });
}

fn of_doubles<R: Vectors>(number: Complex<R>) -> Complex<f64> {
    Complex::new(number.re.to_f64(), number.im.to_f64())
}

const X: KernelArgument = Field(read("x", FieldContents::Any, FieldSites::Target));
const Y: KernelArgument = Field(update("y", FieldContents::Any));

const WITH_NORM: Kernel =
    Kernel { family: "blas", options: &[BuildOption::Sums], geometry: Geometry::SumOfSites, ..USUAL };

/// y ← a · x + y, and |y|².
pub static AXPY_NORM: Kernel = Kernel {
    name: "axpy_norm",
    computes: "y ← a·x + y, and |y|²",
    arguments: &[Y, RealScalar("a"), X, Elements, PartWords],
    work: |shape| moved(shape, 4),
    cpu: reduce!(R, |call, sum| blas::axpy_norm::<R>(call.scalar("a"), call.data("x")?, call.data_mut("y")?, sum)),
    plain: plain_sum!(R, |call, sum| {
        let y = call.data_mut::<R>("y")?;
        let mut result = list(y);
        scalar::axpy(call.scalar("a"), &list(call.data::<R>("x")?), &mut result);
        put(y, &result)?;
        Ok(vec![plain_norm2(y, sum)])
    }),
    ..WITH_NORM
};

/// y ← a · x + b · y, and |y|².
pub(crate) static AXPBY_NORM: Kernel = Kernel {
    name: "axpby_norm",
    computes: "y ← a·x + b·y, and |y|²",
    arguments: &[Y, RealScalar("a"), X, RealScalar("b"), Elements, PartWords],
    work: |shape| moved(shape, 5),
    cpu: reduce!(R, |call, sum| blas::axpby_norm::<R>(
        call.scalar("a"),
        call.data("x")?,
        call.scalar("b"),
        call.data_mut("y")?,
        sum
    )),
    plain: plain_sum!(R, |call, sum| {
        let y = call.data_mut::<R>("y")?;
        let mut result = list(y);
        scalar::axpby(call.scalar("a"), &list(call.data::<R>("x")?), call.scalar("b"), &mut result);
        put(y, &result)?;
        Ok(vec![plain_norm2(y, sum)])
    }),
    ..WITH_NORM
};

/// Common fields of the kernels of queued iterations of conjugate gradients ([`crate::backend::QueuedIterations`]). They compute the operations
/// above. Backends compute their scalars on the device, from sums that are stored there.
const QUEUED: Kernel = Kernel { family: "blas", geometry: Geometry::PartOfOthers, ..USUAL };

/// r ← −a · A p + r, and |r|²: [`AXPY_NORM`].
pub static CG_RESIDUAL: Kernel = Kernel {
    name: "cg_residual",
    computes: "r ← r − a·A p and |r|² of queued iterations",
    arguments: &[
        Field(update("r", FieldContents::Any)),
        Field(read("product", FieldContents::Any, FieldSites::Target)),
        Elements,
        PartWords,
    ],
    work: |shape| moved(shape, 4),
    ..QUEUED
};

/// ψ ← a · p + ψ, then p ← b · p + r with the old p: [`CG_UPDATE`].
pub static CG_ADVANCE: Kernel = Kernel {
    name: "cg_advance",
    computes: "ψ ← a·p + ψ, p ← b·p + r of queued iterations",
    arguments: &[
        Field(update("psi", FieldContents::Any)),
        Field(update("p", FieldContents::Any)),
        Field(read("r", FieldContents::Any, FieldSites::Target)),
        Elements,
        PartWords,
    ],
    work: |shape| moved(shape, 4),
    ..QUEUED
};

/// [`CG_CURVATURE`](super::reduce::CG_CURVATURE), [`CG_RESIDUAL`] and [`CG_ADVANCE`] in one launch.
pub static CG_ITERATION: Kernel = Kernel {
    name: "cg_iteration",
    computes: "what queued iterations do behind the operator, at once",
    arguments: &[
        Field(update("psi", FieldContents::Any)),
        Field(update("p", FieldContents::Any)),
        Field(update("r", FieldContents::Any)),
        Field(read("product", FieldContents::Any, FieldSites::Target)),
        Elements,
        PartWords,
    ],
    options: &[BuildOption::PartWords],
    work: |shape| moved(shape, 2 + 4 + 4),
    ..QUEUED
};

/// Vector operations, on any backend.
pub trait BlasKernels: Launch {
    /// out = x.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend. The same holds for every function of this trait.
    fn copy<R: Vectors, K: SiteObject>(
        &self,
        out: &mut FieldOn<Self, R, K>,
        x: &FieldOn<Self, R, K>,
    ) -> Result<(), BackendError> {
        self.launch(Arguments::new(&COPY).write("out", out).read("x", x).call()?)
    }

    /// out = a · x.
    fn scale<R: Vectors, K: SiteObject>(
        &self,
        out: &mut FieldOn<Self, R, K>,
        a: f64,
        x: &FieldOn<Self, R, K>,
    ) -> Result<(), BackendError> {
        self.launch(Arguments::new(&SCALE).write("out", out).scalar("a", a).read("x", x).call()?)
    }

    /// y ← a · x + y, fused.
    fn axpy<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &FieldOn<Self, R, K>,
        y: &mut FieldOn<Self, R, K>,
    ) -> Result<(), BackendError> {
        self.launch(Arguments::new(&AXPY).write("y", y).scalar("a", a).read("x", x).call()?)
    }

    /// y ← a · x + y with a complex number a, by `madd`.
    fn complex_axpy<R: Vectors, K: SiteObject>(
        &self,
        a: Complex<f64>,
        x: &FieldOn<Self, R, K>,
        y: &mut FieldOn<Self, R, K>,
    ) -> Result<(), BackendError> {
        self.launch(Arguments::new(&COMPLEX_AXPY).write("y", y).complex("a", a).read("x", x).call()?)
    }

    /// y ← b · y + x with a complex number b, by `madd`.
    fn complex_xpay<R: Vectors, K: SiteObject>(
        &self,
        x: &FieldOn<Self, R, K>,
        b: Complex<f64>,
        y: &mut FieldOn<Self, R, K>,
    ) -> Result<(), BackendError> {
        self.launch(Arguments::new(&COMPLEX_XPAY).write("y", y).complex("b", b).read("x", x).call()?)
    }

    /// ψ ← a · p + ψ, then p ← b · p + r, with the old p in both.
    fn cg_update<R: Vectors, K: SiteObject>(
        &self,
        psi: &mut FieldOn<Self, R, K>,
        p: &mut FieldOn<Self, R, K>,
        r: &FieldOn<Self, R, K>,
        a: f64,
        b: f64,
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&CG_UPDATE).write("psi", psi).write("p", p).read("r", r);
        self.launch(arguments.scalar("a", a).scalar("b", b).call()?)
    }

    /// y ← a · x + y, fused, and |y|² of the result.
    fn axpy_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &FieldOn<Self, R, K>,
        y: &mut FieldOn<Self, R, K>,
        sum: Sum,
    ) -> Result<f64, BackendError>
    where
        Self: Reduce,
    {
        Ok(one(&self.reduce(Arguments::new(&AXPY_NORM).write("y", y).scalar("a", a).read("x", x).call()?, sum)?))
    }

    /// y ← a · x + b · y, with the first product fused, and |y|² of the result.
    fn axpby_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &FieldOn<Self, R, K>,
        b: f64,
        y: &mut FieldOn<Self, R, K>,
        sum: Sum,
    ) -> Result<f64, BackendError>
    where
        Self: Reduce,
    {
        let arguments = Arguments::new(&AXPBY_NORM).write("y", y).scalar("a", a).read("x", x).scalar("b", b);
        Ok(one(&self.reduce(arguments.call()?, sum)?))
    }
}
