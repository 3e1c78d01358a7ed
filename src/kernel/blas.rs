//! Vector operations (`docs/arithmetic.md` §7), alone and with the norm of their result (§8).

use lanefield_reference::field::SiteObject;
use lanefield_reference::kernels::reduce::{PartialSums, Sum};
use lanefield_reference::kernels::{Vectors, blas};
use lanefield_reference::scalar;
use num_complex::Complex;

use super::Argument::{self, Again, Complex as ComplexScalar, Elements, Field, PartWords, Scalar};
use super::plain::{list, put};
use super::reduce::plain_norm2;
use super::{Arguments, At, BuildOption, Geometry, Holds, Kernel, USUAL, Value, moved, read, update, write};
use crate::backend::{BackendError, FieldOn, Launch, Reduce};

/// The kernels of the family.
pub static KERNELS: &[&Kernel] =
    &[&COPY, &SCALE, &AXPY, &AXPY_NORM, &AXPBY_NORM, &COMPLEX_AXPY, &COMPLEX_XPAY, &CG_UPDATE];

const OUT: Argument = Field(write("out", Holds::Any, At::Target));
const X: Argument = Field(read("x", Holds::Any, At::Target));
const Y: Argument = Field(update("y", Holds::Any));

const BASE: Kernel = Kernel { family: "blas", options: &[BuildOption::Sums], ..USUAL };

/// out = x.
pub static COPY: Kernel = Kernel {
    name: "copy",
    computes: "out = x",
    arguments: &[OUT, X, Elements, PartWords],
    cpu: launch!(R, |call| blas::copy::<R>(call.data_mut("out")?, call.data("x")?)),
    plain: launch!(R, |call, _| {
        let x = list(call.data::<R>("x")?);
        put(call.data_mut::<R>("out")?, &x)
    }),
    ..BASE
};

/// out = a · x.
pub static SCALE: Kernel = Kernel {
    name: "scale",
    computes: "out = a·x",
    arguments: &[OUT, Scalar("a"), X, Elements, PartWords],
    work: |shape| moved(shape, 1),
    cpu: launch!(R, |call| blas::scale::<R>(call.data_mut("out")?, call.scalar("a"), call.data("x")?)),
    plain: launch!(R, |call, _| {
        let result = scalar::scale(call.scalar("a"), &list(call.data::<R>("x")?));
        put(call.data_mut::<R>("out")?, &result)
    }),
    ..BASE
};

/// y ← a · x + y.
pub static AXPY: Kernel = Kernel {
    name: "axpy",
    computes: "y ← a·x + y",
    arguments: &[Y, Scalar("a"), X, Again("y"), Elements, PartWords],
    work: |shape| moved(shape, 2),
    cpu: launch!(R, |call| blas::axpy::<R>(call.scalar("a"), call.data("x")?, call.data_mut("y")?)),
    plain: launch!(R, |call, _| {
        let y = call.data_mut::<R>("y")?;
        let mut result = list(y);
        scalar::axpy(call.scalar("a"), &list(call.data::<R>("x")?), &mut result);
        put(y, &result)
    }),
    ..BASE
};

/// y ← a · x + y, and |y|².
pub static AXPY_NORM: Kernel = Kernel {
    name: "axpy_norm",
    computes: "y ← a·x + y, and |y|²",
    arguments: &[Y, Scalar("a"), X, Again("y"), Elements, PartWords],
    geometry: Geometry::SumOfSites,
    work: |shape| moved(shape, 4),
    cpu: reduce!(R, |call, sum| blas::axpy_norm::<R>(call.scalar("a"), call.data("x")?, call.data_mut("y")?, sum)),
    plain: plain_sum!(R, |call, sum| {
        let y = call.data_mut::<R>("y")?;
        let mut result = list(y);
        scalar::axpy(call.scalar("a"), &list(call.data::<R>("x")?), &mut result);
        put(y, &result)?;
        Ok(vec![plain_norm2(y, sum)])
    }),
    ..BASE
};

/// y ← a · x + b · y, and |y|².
pub static AXPBY_NORM: Kernel = Kernel {
    name: "axpby_norm",
    computes: "y ← a·x + b·y, and |y|²",
    arguments: &[Y, Scalar("a"), X, Scalar("b"), Again("y"), Elements, PartWords],
    geometry: Geometry::SumOfSites,
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
    ..BASE
};

/// y ← a · x + y, with a complex number a.
pub static COMPLEX_AXPY: Kernel = Kernel {
    name: "complex_axpy",
    computes: "y ← a·x + y, a complex",
    arguments: &[Y, ComplexScalar("a"), X, Again("y"), Elements, PartWords],
    work: |shape| moved(shape, 4),
    cpu: launch!(R, |call| blas::complex_axpy::<R>(call.complex("a"), call.data("x")?, call.data_mut("y")?)),
    plain: launch!(R, |call, _| {
        let y = call.data_mut::<R>("y")?;
        let result = scalar::complex_axpy(call.complex("a"), &list(call.data::<R>("x")?), &list(y));
        put(y, &result)
    }),
    ..BASE
};

/// y ← b · y + x, with a complex number b.
pub static COMPLEX_XPAY: Kernel = Kernel {
    name: "complex_xpay",
    computes: "y ← b·y + x, b complex",
    arguments: &[Y, ComplexScalar("b"), Again("y"), X, Elements, PartWords],
    work: |shape| moved(shape, 4),
    cpu: launch!(R, |call| blas::complex_xpay::<R>(call.data("x")?, call.complex("b"), call.data_mut("y")?)),
    plain: launch!(R, |call, _| {
        let y = call.data_mut::<R>("y")?;
        let result = scalar::complex_axpy(call.complex("b"), &list(y), &list(call.data::<R>("x")?));
        put(y, &result)
    }),
    ..BASE
};

/// ψ ← a · p + ψ, then p ← b · p + r, with the old p in both.
pub static CG_UPDATE: Kernel = Kernel {
    name: "cg_update",
    computes: "psi ← a·p + psi, p ← b·p + r",
    arguments: &[
        Field(update("psi", Holds::Any)),
        Field(update("p", Holds::Any)),
        Field(read("r", Holds::Any, At::Target)),
        Scalar("a"),
        Scalar("b"),
        Elements,
        PartWords,
    ],
    work: |shape| moved(shape, 4),
    cpu: launch!(R, |call| {
        let (psi, p) = (call.data_mut::<R>("psi")?, call.data_mut::<R>("p")?);
        blas::cg_update(psi, p, call.data::<R>("r")?, call.scalar("a"), call.scalar("b"))
    }),
    plain: launch!(R, |call, _| {
        let (psi, p) = (call.data_mut::<R>("psi")?, call.data_mut::<R>("p")?);
        let (mut new_psi, mut new_p) = (list(psi), list(p));
        scalar::cg_update(&mut new_psi, &mut new_p, &list(call.data::<R>("r")?), call.scalar("a"), call.scalar("b"));
        put(psi, &new_psi)?;
        put(p, &new_p)
    }),
    ..BASE
};

/// Vector operations, on any backend.
pub trait BlasKernels: Launch {
    /// out = x.
    ///
    /// # Errors
    /// [`BackendError::Argument`] for fields that do not match; what the backend reports; so for every function here.
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
        self.launch(Arguments::new(&COMPLEX_AXPY).write("y", y).value("a", Value::Complex(a)).read("x", x).call()?)
    }

    /// y ← b · y + x with a complex number b, by `madd`.
    fn complex_xpay<R: Vectors, K: SiteObject>(
        &self,
        x: &FieldOn<Self, R, K>,
        b: Complex<f64>,
        y: &mut FieldOn<Self, R, K>,
    ) -> Result<(), BackendError> {
        self.launch(Arguments::new(&COMPLEX_XPAY).write("y", y).value("b", Value::Complex(b)).read("x", x).call()?)
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

    /// y ← a · x + b · y, the first product fused, and |y|² of the result.
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

/// The only sum.
pub(super) fn one(sums: &PartialSums) -> f64 {
    sums.round().first().copied().unwrap_or(f64::NAN)
}
