//! Products with matrices along the fifth dimension (`docs/arithmetic.md` §14). Each fermion is ls spinors of a site, with s fastest.

use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::{self, MatrixForm, require_tridiagonal};
use lanefield_reference::real::Precision;
use lanefield_reference::scalar;

use super::BuildOption::PartsPerWorkItem;
use super::KernelArgument::{self, Dagger, Field, Ls, Matrix, Osites, Parts};
use super::convert::ConvertKernels as _;
use super::site_lists::{list, put};
use super::usual::USUAL;
use super::{Arguments, FieldContents, FieldSites, Geometry, Kernel, Shape, Work, read, write};
use crate::backend::{BackendError, FieldOn, Launch, TableFacts};

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&S_TRIDIAGONAL, &S_TRIDIAGONAL_ADD, &S_SWEEP, &S_DENSE];

const OUT: KernelArgument = Field(write("out", FieldContents::Spinors, FieldSites::Target));
const X: KernelArgument = Field(read("x", FieldContents::Spinors, FieldSites::Target));

const fn kernel(name: &'static str, computes: &'static str, arguments: &'static [KernelArgument]) -> Kernel {
    Kernel {
        name,
        family: "domain_wall",
        computes,
        arguments,
        options: &[PartsPerWorkItem("S_AT_ONCE")],
        geometry: Geometry::AlongS,
        usual_parts: 16,
        work,
        cpu: launch!(R, |call| {
            let (out, matrix, x) = (call.write::<R, _>("out")?, call.host_matrix()?, call.read("x")?);
            match call.shape().field("z") {
                None => domain_wall::multiply(out, matrix, x),
                Some(_) => domain_wall::multiply_add(out, matrix, x, call.read("z")?),
            }
        }),
        plain: launch!(R, |call, _| {
            let x = list(call.data::<R>("x")?);
            let z = call.shape().field("z").map(|_| call.data::<R>("z")).transpose()?.map(list);
            let result = scalar::domain_wall::s_multiply(call.host_matrix()?, &x, z.as_deref());
            put(call.data_mut::<R>("out")?, &result)
        }),
        ..USUAL
    }
}

/// out = matrix · x, for a tridiagonal matrix.
pub(crate) static S_TRIDIAGONAL: Kernel = kernel(
    "s_tridiagonal",
    "out = matrix · x along s, tridiagonal",
    &[OUT, Matrix(MatrixForm::Tridiagonal), X, Osites, Parts, Ls, Dagger],
);

/// out = matrix · x + z, for a tridiagonal matrix.
pub(crate) static S_TRIDIAGONAL_ADD: Kernel = kernel(
    "s_tridiagonal_add",
    "out = matrix · x + z along s, tridiagonal",
    &[
        OUT,
        Matrix(MatrixForm::Tridiagonal),
        X,
        Field(read("z", FieldContents::Spinors, FieldSites::Target)),
        Osites,
        Parts,
        Ls,
        Dagger,
    ],
);

/// out = inverse · x, by elimination. It computes halves of spinors, but half precision rounds whole ones.
pub(crate) static S_SWEEP: Kernel = Kernel {
    precisions: &Precision::OF_ARITHMETIC,
    ..kernel(
        "s_sweep",
        "out = inverse · x along s, by a sweep",
        &[OUT, Matrix(MatrixForm::Sweep), X, Osites, KernelArgument::Fermions(2), Ls, Dagger],
    )
};

/// out = matrix · x, for a dense matrix.
pub static S_DENSE: Kernel =
    kernel("s_dense", "out = matrix · x along s, dense", &[OUT, Matrix(MatrixForm::Dense), X, Osites, Parts, Ls]);

/// Floating-point operations of a sum of spinors.
const SUM_FLOPS: u64 = 24;

fn work(shape: &Shape) -> Work {
    let spinors = shape.volume() * shape.parts() as u64;
    let fermion = shape.matrix.map_or(0, |matrix| matrix.form.flops(matrix.ls) * spinors / matrix.ls as u64);
    let sum = if shape.field("z").is_some() { SUM_FLOPS * spinors } else { 0 };
    Work { flops: fermion + sum, bytes: shape.field_bytes() }
}

/// Products along s, on any backend.
pub trait DomainWallKernels: Launch {
    /// out = matrix · x along s, for each fermion of ls spinors.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend.
    fn s_multiply<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, Spinors>,
        matrix: &Self::Table,
        x: &FieldOn<Self, R, Spinors>,
    ) -> Result<(), BackendError> {
        let form = form(matrix)?;
        if !S_SWEEP.takes(R::PRECISION) && form == MatrixForm::Sweep {
            let swept = self.in_f32(x)?;
            let mut result = self.zeros::<f32, _>(*x.lattice(), x.sites(), x.kind())?;
            self.s_multiply(&mut result, matrix, &swept)?;
            return self.convert(out, &result);
        }
        let kernel = match form {
            MatrixForm::Tridiagonal => &S_TRIDIAGONAL,
            MatrixForm::Sweep => &S_SWEEP,
            MatrixForm::Dense => &S_DENSE,
        };
        self.launch(Arguments::new(kernel).write("out", out).matrix(matrix).read("x", x).call()?)
    }

    /// out = matrix · x + z along s, fused, for a tridiagonal matrix.
    ///
    /// # Errors
    /// Those of [`Self::s_multiply`], and a matrix that is not tridiagonal.
    fn s_multiply_add<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, Spinors>,
        matrix: &Self::Table,
        x: &FieldOn<Self, R, Spinors>,
        z: &FieldOn<Self, R, Spinors>,
    ) -> Result<(), BackendError> {
        require_tridiagonal(form(matrix)?)?;
        let arguments = Arguments::new(&S_TRIDIAGONAL_ADD).write("out", out).matrix(matrix);
        self.launch(arguments.read("x", x).read("z", z).call()?)
    }
}

fn form(table: &impl crate::backend::Table) -> Result<MatrixForm, BackendError> {
    match table.facts() {
        TableFacts::Matrix { facts, .. } => Ok(facts.form),
        TableFacts::Stencil { .. } => Err(BackendError::Argument {
            kernel: "s_multiply",
            argument: "matrix".to_owned(),
            given: "a stencil".to_owned(),
            expected: "a matrix along s".to_owned(),
        }),
    }
}
