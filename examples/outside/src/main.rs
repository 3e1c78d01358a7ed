//! The tools of Lanefield over the kernels of this crate, beside those of the library: `bench wilson_hop hop`.

use lanefield_example_outside::{AXPY_AND_NORM, COVARIANT_SUM, SLICE_NORMS, WILSON_HOP};

fn main() -> std::process::ExitCode {
    lanefield_cli::toolbox::main(&[&COVARIANT_SUM, &WILSON_HOP, &AXPY_AND_NORM, &SLICE_NORMS])
}
