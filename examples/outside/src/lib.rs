//! Kernels outside of the library. Each is a Rust function of one site. `#[lane_kernel]` turns it into an OpenCL kernel, and into a CPU kernel with
//! the same bits. The command `cargo run -- verify` compares the two, `cargo run -- bench` times them, and `cargo test` compares them with scalar
//! references.

pub mod plane;

use lanefield::body::prelude::*;

/// The sum over all legs of a link times the neighbour's colour vector.
#[lane_kernel(parts = 12)]
pub fn covariant_sum<S: Site>(sum: Write<S, ColourVectors>, links: Links<S>, phi: Neighbours<S, ColourVectors>) {
    let mut total = ColourVector::empty_sum();
    for leg in links.legs() {
        total += links.times(leg, phi.at(leg));
    }
    sum.write(total);
}

/// The Wilson hop, which the library has as a handwritten kernel.
#[lane_kernel]
pub fn wilson_hop<S: Site>(out: Write<S, Spinors>, links: Links<S>, psi: Neighbours<S, Spinors>) {
    let mut sum = Spinor::empty_sum();
    for leg in links.legs() {
        sum = sum.plus_projected(leg, Dagger::No, links.times(leg, psi.projected(leg, Dagger::No)));
    }
    out.write(sum);
}

/// The exact sum |x|² over each slice. The call names the direction across which slices lie.
#[lane_kernel]
pub fn slice_norms<S: Site>(site: S, x: Read<S, Any>, norms: SliceSum<S>) {
    let from_zero = S::Double::constant(0.0);
    norms.add(site.repeat(x.words(), from_zero, |word, sum| x.word(word).norm2_onto(sum)));
}

/// y ← a·x + y, and |y|².
#[lane_kernel]
pub fn axpy_and_norm<S: Site>(site: S, y: Update<S, Any>, a: Scalar<S>, x: Read<S, Any>, norm: ExactSum<S>) {
    let from_zero = S::Double::constant(0.0);
    norm.add(site.repeat(y.words(), from_zero, |word, sum| {
        let z = x.word(word).scaled_add(a.get(), y.word(word));
        y.write_word(word, z);
        z.norm2_onto(sum)
    }));
}
