//! The kernels of this crate against plain loops, against themselves on an OpenCL device, and against identities.

use lanefield::body::check_kernel;
use lanefield::kernel::twin::PlainCall;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::scalar::{matrix_times_vector, real_madd, site_norm2};
use lanefield_example_outside::{AXPY_AND_NORM, COVARIANT_SUM, SLICE_NORMS, WILSON_HOP};

fn covariant_sum_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, part| {
        let products = call.legs().map(|leg| {
            let phi = call.read("phi", call.neighbour(site, leg), part);
            matrix_times_vector(&call.link(site, leg), &[phi[0], phi[1], phi[2]])
        });
        let sum = products.into_iter().reduce(|sum, product| std::array::from_fn(|c| sum[c] + product[c]));
        call.write("sum", site, part, &sum.unwrap());
    });
}

fn axpy_and_norm_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let a = call.scalar("a");
    call.each(|call, site, part| {
        let (x, y) = (call.read("x", site, part), call.read("y", site, part));
        let z: Vec<_> = x.iter().zip(&y).map(|(&x, &y)| real_madd(a, x, y)).collect();
        call.write("y", site, part, &z);
        call.add(0, site, part, site_norm2(&z));
    });
}

fn slice_norms_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, part| {
        let x = call.read("x", site, part);
        call.add(0, site, part, site_norm2(&x));
    });
}

check_kernel!(covariant_sum, twin = covariant_sum_twin, linear, covariant);
check_kernel!(wilson_hop, linear, covariant);
check_kernel!(axpy_and_norm, twin = axpy_and_norm_twin);
check_kernel!(slice_norms, twin = slice_norms_twin);
