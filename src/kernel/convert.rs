//! Fields in another precision.

use lanefield_reference::field::SiteObject;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::convert;
use lanefield_reference::real::{Precision, Real};
use num_complex::Complex;

use super::Argument::{Elements, Field};
use super::BuildOption::{PartWords, PrecisionOf};
use super::{Arguments, At, Holds, HostCall, Kernel, USUAL, read, write};
use crate::backend::{BackendError, FieldOn, Launch};
use crate::in_precision;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&CONVERT];

/// out = x in another precision.
pub static CONVERT: Kernel = Kernel {
    name: "convert",
    family: "convert",
    computes: "out = x in another precision",
    arguments: &[Field(write("out", Holds::Any, At::Target)), Field(read("x", Holds::Converted, At::Target)), Elements],
    options: &[PrecisionOf("x"), PartWords],
    cpu: launch!(S, |call| {
        in_precision!(precision_of_x(call), R => convert::convert::<S, R>(call.data_mut("out")?, call.data("x")?))
    }),
    plain: launch!(S, |call, _| {
        in_precision!(precision_of_x(call), R => {
            let x = call.data::<R>("x")?.to_site_order();
            let number = |number: R| S::from_f64(number.to_f64());
            let values: Vec<_> = x.iter().map(|c| Complex::new(number(c.re), number(c.im))).collect();
            call.data_mut::<S>("out")?.assign(&values)
        })
    }),
    ..USUAL
};

fn precision_of_x(call: &HostCall<'_>) -> Precision {
    call.shape().field("x").map_or(Precision::F32, |x| x.precision)
}

/// Conversions, on any backend.
pub trait ConvertKernels: Launch {
    /// out = x in another precision, rounded to nearest even, half precision by way of f32. The lanes of both must hold the same sites.
    ///
    /// # Errors
    /// [`BackendError::Argument`] for fields that do not match; what the backend reports.
    fn convert<S: Vectors, R: Vectors, K: SiteObject>(
        &self,
        out: &mut FieldOn<Self, S, K>,
        x: &FieldOn<Self, R, K>,
    ) -> Result<(), BackendError> {
        self.launch(Arguments::new(&CONVERT).write("out", out).read("x", x).call()?)
    }

    /// The same numbers in f32.
    ///
    /// # Errors
    /// As [`Self::convert`].
    fn in_f32<R: Vectors, K: SiteObject>(
        &self,
        x: &FieldOn<Self, R, K>,
    ) -> Result<FieldOn<Self, f32, K>, BackendError> {
        let lattice = x.lattice().in_scalar(f32::COMPLEX)?;
        let mut out = self.zeros(lattice, x.sites(), x.kind())?;
        self.convert(&mut out, x)?;
        Ok(out)
    }
}
