//! Conversion of fields to another precision.

use lanefield_reference::field::SiteObject;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::real::Real;

use super::plain::PlainCall;
use super::{Arguments, Kernel};
use crate::backend::{BackendError, FieldOn, Launch};
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&CONVERT];

/// out = x in another precision.
#[lane_kernel(twin = convert_twin, hot)]
pub fn convert<S: Site>(site: S, out: Write<S, Any>, x: Converted<S>) {
    site.repeat(out.words(), (), |word, ()| out.write_word(word, x.word(word)));
}

fn convert_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, part| {
        let x = call.read("x", site, part);
        call.write("out", site, part, &x);
    });
}

/// Conversions, on any backend.
pub trait ConvertKernels: Launch {
    /// out = x in another precision, rounded to nearest even; half precision is converted by way of f32. Both lattices must have the same sites in
    /// the same lanes.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend. The same holds for every function of this trait.
    fn convert<S: Vectors, R: Vectors, K: SiteObject>(
        &self,
        out: &mut FieldOn<Self, S, K>,
        x: &FieldOn<Self, R, K>,
    ) -> Result<(), BackendError> {
        self.launch(Arguments::new(&CONVERT).write("out", out).read("x", x).call()?)
    }

    /// A field with the same numbers in f32.
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
