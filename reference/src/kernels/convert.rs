//! A field in another precision on the same cut of the lattice into lanes, on the CPU. Counterpart: `cl/convert.cl`.

use super::Vectors;
use crate::field::{FieldData, FieldError};
use crate::layout::Lattice;
use crate::tasks::{chunk, for_each_chunk};

/// Whether the lanes of two lattices hold the same sites.
pub fn same_cut(a: &Lattice, b: &Lattice) -> bool {
    (a.extents(), a.nodes(), a.checkerboard()) == (b.extents(), b.nodes(), b.checkerboard())
}

/// out = x, each number rounded to nearest even; to half precision by way of f32.
///
/// # Errors
/// [`FieldError::Mismatch`] unless both fields hold the same object on the same sites, and their lanes hold the same sites.
pub fn convert<S: Vectors, R: Vectors>(out: &mut FieldData<S>, x: &FieldData<R>) -> Result<(), FieldError> {
    if !same_cut(out.lattice(), x.lattice()) || (out.sites(), out.object()) != (x.sites(), x.object()) {
        let (left, right) = (x.describe(), out.describe());
        return Err(FieldError::Mismatch { what: "converting a field", left, right });
    }
    const A_TASK: usize = 1 << 14;
    let x = x.reals();
    for_each_chunk(out.reals_mut(), A_TASK, |task, out| {
        for (out, x) in out.iter_mut().zip(chunk(x, A_TASK, task)) {
            *out = S::from_f64(x.to_f64());
        }
    });
    out.quantize();
    Ok(())
}
