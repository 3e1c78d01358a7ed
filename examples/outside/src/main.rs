//! The tools of Lanefield over the kernels of this crate, and over those of the library that they can be held against.

use lanefield::kernel::{blas, hop, laplace};
use lanefield_example_outside::{AXPY_AND_NORM, COVARIANT_SUM, SLICE_NORMS, WILSON_HOP};

fn main() -> std::process::ExitCode {
    let own = [&COVARIANT_SUM, &WILSON_HOP, &AXPY_AND_NORM, &SLICE_NORMS];
    let of_library = [&laplace::LAPLACE_HOP, &hop::HOP, &blas::AXPY_NORM];
    lanefield_cli::toolbox::main(&[&own[..], &of_library].concat())
}
