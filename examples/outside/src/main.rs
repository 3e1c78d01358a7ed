//! The tools of Lanefield for the kernels of this crate and of the library: `bench --kernel wilson_hop,hop`.

use lanefield_cli::toolbox::{self, Own};
use lanefield_example_outside::plane::PLANE_LAPLACIAN;
use lanefield_example_outside::{AXPY_AND_NORM, COVARIANT_SUM, SLICE_NORMS, WILSON_HOP};

fn main() -> std::process::ExitCode {
    let kernels = &[&COVARIANT_SUM, &WILSON_HOP, &AXPY_AND_NORM, &SLICE_NORMS];
    toolbox::main(Own { kernels, maps: &[&PLANE_LAPLACIAN] })
}
