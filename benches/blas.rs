//! The vector operations that conjugate gradients need, on spinors. `cargo bench --bench blas`; settings in `common/mod.rs`. The kernels
//! are `reference/src/kernels/blas.rs` and `cl/blas.cl`.

mod common;

use common::{Bench, Failure, Suite, Work};
use lanefield::backend::{Backend, Sum};
use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::Sites;

struct Blas;

impl Suite for Blas {
    const FAMILY: &'static str = "blas";
    const LANES: &'static str = "64";

    fn run<B: Backend>(&self, bench: &mut Bench<'_, B>) -> Result<(), Failure> {
        blas::<f32, B>(bench)?;
        blas::<f64, B>(bench)
    }
}

fn blas<R: Vectors, B: Backend>(bench: &mut Bench<'_, B>) -> Result<(), Failure> {
    let (backend, extents) = (bench.backend, bench.extents());
    for lattice in bench.lattices::<R>() {
        let spinor = |seed| bench.spinor::<R>(lattice, Sites::Full, seed);
        let (x, mut y, mut z) = (spinor(1)?, spinor(2)?, spinor(3)?);
        let name = |kernel: &str| format!("{kernel} {} W {}", R::NAME, lattice.width());
        // Operations on a real component, and spinors read or written.
        let work = |operations: u64, spinors: u64| {
            let reals = (extents.volume() * 2 * Spinors::WORDS) as u64;
            Work { flops: operations * reals, bytes: spinors * reals * size_of::<R>() as u64 }
        };
        // Scalars with which fields neither grow nor shrink much, however often they are applied.
        let (a, b) = (1e-6, 0.5);
        bench.kernel(&name("copy"), work(0, 2), || backend.copy(&mut y, &x))?;
        bench.kernel(&name("scale"), work(1, 2), || backend.scale(&mut y, a, &x))?;
        bench.kernel(&name("axpy"), work(2, 3), || backend.axpy(a, &x, &mut y))?;
        bench.kernel(&name("axpy_norm"), work(4, 3), || backend.axpy_norm(a, &x, &mut y, Sum::Exact).map(drop))?;
        bench.kernel(&name("cg_update"), work(4, 5), || backend.cg_update(&mut y, &mut z, &x, a, b))?;
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    common::run(&Blas)
}
