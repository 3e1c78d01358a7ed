//! Fields with several right-hand sides: vector operations with a scalar for each, and a sum for each (`docs/arithmetic.md` §7, §8).

use lanefield_reference::field::Repeated;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::kernels::{Vectors, rhs};
use lanefield_reference::scalar;
use num_complex::Complex;

use super::KernelArgument::{self, Coefficients, Field, Indices, Osites, Parts, PartsOf, RhsParts, Scalars};
use super::reduce::{plain_inner_product, plain_norm2};
use super::site_lists::{list, of_rhs, put, put_rhs};
use super::usual::{USUAL, moved};
use super::{Arguments, BuildOption, Ceiling, FieldContents, FieldSites, Geometry, Kernel, Shape, Work, read, update};
use crate::backend::{BackendError, FieldOn, Launch, Reduce};

/// The kernels of the family.
pub static KERNELS: &[&Kernel] =
    &[&TAKE_RHS, &PUT_RHS, &RHS_PRODUCTS, &RHS_AXPY_NORM, &RHS_CG_UPDATE, &RHS_GRAM, &RHS_MADD];

const X: KernelArgument = Field(read("x", FieldContents::Any, FieldSites::Target));
const Y: KernelArgument = Field(update("y", FieldContents::Any));

const BASE: Kernel = Kernel {
    family: "rhs",
    options: &[BuildOption::Sums, BuildOption::PartWords],
    geometry: Geometry::RightHandSides,
    usual_parts: 12,
    work: |shape| moved(shape, 4),
    ..USUAL
};

/// Right-hand side k of out ← right-hand side `wanted[k]` of x.
pub static TAKE_RHS: Kernel = Kernel {
    name: "take_rhs",
    computes: "right-hand side k of out ← that of number wanted[k] of x",
    arguments: &[
        Field(super::write("out", FieldContents::Any, FieldSites::Target)),
        Field(read("x", FieldContents::AnyNumber, FieldSites::Target)),
        Indices { name: "wanted", of: "out", among: "x" },
        Osites,
        Parts,
        RhsParts,
        PartsOf("x"),
    ],
    // Of x it reads as much as it writes.
    work: |shape| Work { flops: 0, bytes: 2 * shape.target.device_bytes() as u64 },
    cpu: launch!(R, |call| rhs::take_rhs::<R>(
        call.data_mut("out")?,
        call.data("x")?,
        call.indices("wanted"),
        call.shape().rhs_parts
    )),
    plain: launch!(R, |call, _| {
        let (out, x) = (call.data_mut::<R>("out")?, call.data::<R>("x")?);
        for (to, &from) in call.indices("wanted").iter().enumerate() {
            put_rhs(out, to, &of_rhs(x, from, call.shape())?)?;
        }
        Ok(())
    }),
    ..BASE
};

/// Right-hand side `wanted[k]` of out ← right-hand side k of x.
pub static PUT_RHS: Kernel = Kernel {
    name: "put_rhs",
    computes: "right-hand side wanted[k] of out ← that of number k of x",
    arguments: &[
        Field(update("out", FieldContents::Any)),
        Field(read("x", FieldContents::AnyNumber, FieldSites::Target)),
        Indices { name: "wanted", of: "x", among: "out" },
        Osites,
        PartsOf("x"),
        RhsParts,
        Parts,
    ],
    // It writes as much as it reads.
    work: |shape| Work { flops: 0, bytes: shape.field("x").map_or(0, |x| 2 * x.device_bytes() as u64) },
    cpu: launch!(R, |call| rhs::put_rhs::<R>(
        call.data_mut("out")?,
        call.data("x")?,
        call.indices("wanted"),
        call.shape().rhs_parts
    )),
    plain: launch!(R, |call, _| {
        let (out, x) = (call.data_mut::<R>("out")?, call.data::<R>("x")?);
        for (from, &to) in call.indices("wanted").iter().enumerate() {
            put_rhs(out, to, &of_rhs(x, from, call.shape())?)?;
        }
        Ok(())
    }),
    ..BASE
};

/// Re⟨x, y⟩ of each right-hand side.
pub(crate) static RHS_PRODUCTS: Kernel = Kernel {
    name: "rhs_products",
    computes: "Re⟨x, y⟩ of each right-hand side",
    arguments: &[X, Field(read("y", FieldContents::Any, FieldSites::Target)), Osites, Parts, RhsParts],
    geometry: Geometry::SumOfRightHandSides,
    ceiling: Ceiling::Read,
    work: |shape| moved(shape, 2),
    cpu: reduce!(R, |call, sum| rhs::rhs_products(
        call.data::<R>("x")?,
        call.data::<R>("y")?,
        call.shape().rhs_parts,
        sum
    )),
    plain: plain_sum!(R, |call, sum| {
        let (x, y, shape) = (call.data::<R>("x")?, call.data::<R>("y")?, call.shape());
        let product = |rhs| Ok(plain_inner_product(&of_rhs(x, rhs, shape)?, &of_rhs(y, rhs, shape)?, sum).re);
        (0..shape.parts() / shape.rhs_parts).map(product).collect()
    }),
    ..BASE
};

/// y ← a · x + y with its own a for each right-hand side, and |y|² of each.
pub static RHS_AXPY_NORM: Kernel = Kernel {
    name: "rhs_axpy_norm",
    computes: "y ← a·x + y, and |y|², of each right-hand side",
    arguments: &[Y, Scalars(&["a"]), X, Osites, Parts, RhsParts],
    geometry: Geometry::SumOfRightHandSides,
    cpu: reduce!(R, |call, sum| rhs::rhs_axpy_norm::<R>(call.scalars("a"), call.data("x")?, call.data_mut("y")?, sum)),
    plain: plain_sum!(R, |call, sum| {
        let (y, x) = (call.data_mut::<R>("y")?, call.data::<R>("x")?);
        let mut norms = Vec::new();
        for (rhs, &a) in call.scalars("a").iter().enumerate() {
            let mut one = of_rhs(y, rhs, call.shape())?;
            let mut result = list(&one);
            scalar::axpy(a, &list(&of_rhs(x, rhs, call.shape())?), &mut result);
            put(&mut one, &result)?;
            norms.push(plain_norm2(&one, sum));
            put_rhs(y, rhs, &one)?;
        }
        Ok(norms)
    }),
    ..BASE
};

/// ψ ← a · p + ψ, then p ← b · p + r, with its own a and b for each right-hand side.
pub(crate) static RHS_CG_UPDATE: Kernel = Kernel {
    name: "rhs_cg_update",
    computes: "psi ← a·p + psi, p ← b·p + r, of each right-hand side",
    arguments: &[
        Field(update("psi", FieldContents::Any)),
        Field(update("p", FieldContents::Any)),
        Field(read("r", FieldContents::Any, FieldSites::Target)),
        Scalars(&["a", "b"]),
        Osites,
        Parts,
        RhsParts,
    ],
    cpu: launch!(R, |call| {
        let (psi, p) = (call.data_mut::<R>("psi")?, call.data_mut::<R>("p")?);
        rhs::rhs_cg_update(psi, p, call.data::<R>("r")?, call.scalars("a"), call.scalars("b"))
    }),
    plain: launch!(R, |call, _| {
        let (psi, p, r) = (call.data_mut::<R>("psi")?, call.data_mut::<R>("p")?, call.data::<R>("r")?);
        for (rhs, (&a, &b)) in call.scalars("a").iter().zip(call.scalars("b")).enumerate() {
            let shape = call.shape();
            let [mut one_psi, mut one_p] = [of_rhs(psi, rhs, shape)?, of_rhs(p, rhs, shape)?];
            let (mut new_psi, mut new_p) = (list(&one_psi), list(&one_p));
            scalar::cg_update(&mut new_psi, &mut new_p, &list(&of_rhs(r, rhs, shape)?), a, b);
            put(&mut one_psi, &new_psi)?;
            put(&mut one_p, &new_p)?;
            put_rhs(psi, rhs, &one_psi)?;
            put_rhs(p, rhs, &one_p)?;
        }
        Ok(())
    }),
    ..BASE
};

/// ⟨x_i, y_j⟩ of each right-hand side of x with each of y.
pub(crate) static RHS_GRAM: Kernel = Kernel {
    name: "rhs_gram",
    computes: "⟨x_i, y_j⟩ of all pairs of right-hand sides",
    arguments: &[
        Field(read("x", FieldContents::AnyNumber, FieldSites::Target)),
        Field(read("y", FieldContents::Any, FieldSites::Target)),
        Osites,
        Parts,
        RhsParts,
        PartsOf("x"),
    ],
    geometry: Geometry::SumOfPairsOfRightHandSides,
    ceiling: Ceiling::Read,
    // A complex multiply-add for each word of each pair.
    work: |shape| Work { flops: 4 * rhs_of(shape, "x") * shape.components(), bytes: shape.field_bytes() },
    cpu: reduce!(R, |call, sum| rhs::rhs_gram(call.data::<R>("x")?, call.data::<R>("y")?, call.shape().rhs_parts, sum)),
    plain: plain_sum!(R, |call, sum| {
        let (x, y, shape) = (call.data::<R>("x")?, call.data::<R>("y")?, call.shape());
        let mut sums = Vec::new();
        for j in 0..shape.parts() / shape.rhs_parts {
            for i in 0..x.object().parts() / shape.rhs_parts {
                let product = plain_inner_product(&of_rhs(x, i, shape)?, &of_rhs(y, j, shape)?, sum);
                sums.extend([product.re, product.im]);
            }
        }
        Ok(sums)
    }),
    ..BASE
};

/// y_j ← y_j + Σ x_i m_ij.
pub(crate) static RHS_MADD: Kernel = Kernel {
    name: "rhs_madd",
    computes: "y_j ← y_j + Σ x_i·m_ij of all pairs of right-hand sides",
    arguments: &[
        Y,
        Field(read("x", FieldContents::AnyNumber, FieldSites::Target)),
        Coefficients { name: "m", of: "x" },
        Osites,
        Parts,
        RhsParts,
        PartsOf("x"),
    ],
    work: |shape| Work { flops: 4 * rhs_of(shape, "x") * shape.components(), bytes: shape.field_bytes() },
    cpu: launch!(R, |call| rhs::rhs_madd::<R>(
        call.scalars("m"),
        call.data("x")?,
        call.data_mut("y")?,
        call.shape().rhs_parts
    )),
    plain: launch!(R, |call, _| {
        let (y, x, m, shape) = (call.data_mut::<R>("y")?, call.data::<R>("x")?, call.scalars("m"), call.shape());
        let (n_x, n_y) = (x.object().parts() / shape.rhs_parts, shape.parts() / shape.rhs_parts);
        for j in 0..n_y {
            let mut one = of_rhs(y, j, shape)?;
            let mut result = list(&one);
            for i in 0..n_x {
                let of_pair = 2 * (i * n_y + j);
                let factor = Complex::new(m[of_pair], m[of_pair + 1]);
                result = scalar::complex_axpy(factor, &list(&of_rhs(x, i, shape)?), &result);
            }
            put(&mut one, &result)?;
            put_rhs(y, j, &one)?;
        }
        Ok(())
    }),
    ..BASE
};

/// The number of right-hand sides of a field of a call.
fn rhs_of(shape: &Shape, name: &str) -> u64 {
    shape.field(name).map_or(0, |field| field.object.parts() / shape.rhs_parts.max(1)) as u64
}

/// Operations on several right-hand sides, on any backend.
pub trait RhsKernels: Launch {
    /// The right-hand sides `wanted` of `x`, in that order. Each has `rhs_parts` components.
    ///
    /// # Errors
    /// A right-hand side that `x` does not have, a wrong number of scalars, or fields that do not match; errors of the backend. The same holds for
    /// every function of this trait.
    fn take_rhs<R: Vectors, K: Repeated>(
        &self,
        x: &FieldOn<Self, R, K>,
        wanted: &[usize],
        rhs_parts: usize,
    ) -> Result<FieldOn<Self, R, K>, BackendError> {
        rhs::check_rhs(x.kind().object(), wanted, rhs_parts, || x.describe())?;
        let mut out = self.zeros(*x.lattice(), x.sites(), K::repeated(wanted.len() * rhs_parts))?;
        let arguments = Arguments::new(&TAKE_RHS).write("out", &mut out).read("x", x);
        self.launch(arguments.indices("wanted", wanted).rhs_parts(rhs_parts).call()?)?;
        Ok(out)
    }

    /// Right-hand side `wanted[k]` of `out` ← right-hand side k of `x`.
    fn put_rhs<R: Vectors, K: Repeated>(
        &self,
        out: &mut FieldOn<Self, R, K>,
        x: &FieldOn<Self, R, K>,
        wanted: &[usize],
        rhs_parts: usize,
    ) -> Result<(), BackendError> {
        rhs::check_rhs(out.kind().object(), wanted, rhs_parts, || out.describe())?;
        rhs::check_rhs(x.kind().object(), &[wanted.len().saturating_sub(1)], rhs_parts, || x.describe())?;
        let arguments = Arguments::new(&PUT_RHS).write("out", out).read("x", x);
        self.launch(arguments.indices("wanted", wanted).rhs_parts(rhs_parts).call()?)
    }

    /// Re ⟨x, y⟩ of each right-hand side of `rhs_parts` components.
    fn rhs_products<R: Vectors, K: Repeated>(
        &self,
        x: &FieldOn<Self, R, K>,
        y: &FieldOn<Self, R, K>,
        rhs_parts: usize,
        sum: Sum,
    ) -> Result<Vec<f64>, BackendError>
    where
        Self: Reduce,
    {
        rhs::parts_of(y.kind().object(), y.kind().parts() / rhs_parts.max(1))?;
        let call = Arguments::new(&RHS_PRODUCTS).read("x", x).read("y", y).rhs_parts(rhs_parts).call()?;
        Ok(self.reduce(call, sum)?.round())
    }

    /// y ← a · x + y with its own a for each right-hand side, and |y|² of each.
    fn rhs_axpy_norm<R: Vectors, K: Repeated>(
        &self,
        a: &[f64],
        x: &FieldOn<Self, R, K>,
        y: &mut FieldOn<Self, R, K>,
        sum: Sum,
    ) -> Result<Vec<f64>, BackendError>
    where
        Self: Reduce,
    {
        let rhs_parts = rhs::parts_of(y.kind().object(), a.len())?;
        let arguments = Arguments::new(&RHS_AXPY_NORM).write("y", y).scalars("a", a).read("x", x);
        Ok(self.reduce(arguments.rhs_parts(rhs_parts).call()?, sum)?.round())
    }

    /// ψ ← a · p + ψ, then p ← b · p + r with the old p, with its own a and b for each right-hand side.
    fn rhs_cg_update<R: Vectors, K: Repeated>(
        &self,
        psi: &mut FieldOn<Self, R, K>,
        p: &mut FieldOn<Self, R, K>,
        r: &FieldOn<Self, R, K>,
        a: &[f64],
        b: &[f64],
    ) -> Result<(), BackendError> {
        rhs::check_scalars(a, b)?;
        let rhs_parts = rhs::parts_of(psi.kind().object(), a.len())?;
        let arguments = Arguments::new(&RHS_CG_UPDATE).write("psi", psi).write("p", p).read("r", r);
        let arguments = arguments.scalars("a", a).scalars("b", b);
        self.launch(arguments.rhs_parts(rhs_parts).call()?)
    }

    /// ⟨x_i, y_j⟩, antilinear in x, of each right-hand side i of x with each j of y, row by row (i). Each has the bits of the inner product of these
    /// two right-hand sides alone. x and y may have different numbers of right-hand sides.
    fn rhs_gram<R: Vectors, K: Repeated>(
        &self,
        x: &FieldOn<Self, R, K>,
        y: &FieldOn<Self, R, K>,
        rhs_parts: usize,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, BackendError>
    where
        Self: Reduce,
    {
        rhs::parts_of(y.kind().object(), y.kind().parts() / rhs_parts.max(1))?;
        let call = Arguments::new(&RHS_GRAM).read("x", x).read("y", y).rhs_parts(rhs_parts).call()?;
        let sums = self.reduce(call, sum)?.round_complex();
        let (n_x, n_y) = (x.kind().parts() / rhs_parts, y.kind().parts() / rhs_parts);
        Ok((0..n_x).flat_map(|i| (0..n_y).map(move |j| (i, j))).map(|(i, j)| sums[j * n_x + i]).collect())
    }

    /// y_j ← madd(m_ij, x_i, y_j) for i = 0, 1, …, for each right-hand side j of y.
    ///
    /// `m` is stored row by row (i), and its numbers are rounded to the field's precision. x and y may have different numbers of right-hand sides.
    fn rhs_madd<R: Vectors, K: Repeated>(
        &self,
        m: &[Complex<f64>],
        x: &FieldOn<Self, R, K>,
        y: &mut FieldOn<Self, R, K>,
        rhs_parts: usize,
    ) -> Result<(), BackendError> {
        let reals: &[f64] = bytemuck::cast_slice(m);
        let arguments = Arguments::new(&RHS_MADD).write("y", y).read("x", x).scalars("m", reals);
        self.launch(arguments.rhs_parts(rhs_parts).call()?)
    }
}
