//! A map: a kernel over an index space of its own, not over lattice sites.

use lanefield_maps::prelude::*;

/// The five-point Laplacian of a plane, 0 beyond its edges.
#[map_kernel(block = [4, 32], case(range = [61, 97], out = [61, 97], a = [61, 97]))]
pub fn plane_laplacian<P: Point>(p: P, out: Write<P, f64, 2>, a: Read<P, f64, 2>) {
    let ([i, j], zero) = (p.index(), P::F64::constant(0.0));
    let along = a.at_or([i + 1, j], zero) + a.at_or([i - 1, j], zero);
    let across = a.at_or([i, j + 1], zero) + a.at_or([i, j - 1], zero);
    out.write([i, j], P::F64::constant(-4.0).fma(a.at([i, j]), along + across));
}
