//! Conversion of fields between precisions, and between a device without f64 and the backend that computes in f64 for it.

use lanefield_reference::field::Repeated;
use lanefield_reference::kernels::Vectors;

use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;

/// Copies the numbers of `from` to `to`, on the same backend or another. They are converted on the backend that has f64.
pub(super) fn convert<B: Backend, R: Vectors, S: Vectors, K: Repeated>(
    (there, to): (&B, &mut FieldOn<B, R, K>),
    (here, from): (&B, &FieldOn<B, S, K>),
) -> Result<(), BackendError> {
    if std::ptr::eq(there, here) {
        return here.convert(to, from);
    }
    if R::BITS == 64 {
        return there.convert(to, &there.upload(here.download(from)?)?);
    }
    let mut rounded = here.zeros(*to.lattice(), to.sites(), to.kind())?;
    here.convert(&mut rounded, from)?;
    // Queued iterations hold the field at its address on the device.
    there.copy(to, &there.upload(here.download(&rounded)?)?)
}
