//! Exact sums over sites: norm and inner product of spinors. `cargo bench --bench reduce`; settings in `common/mod.rs`. The kernels are
//! `reference/src/kernels/reduce.rs` and `cl/reduce.cl`.

mod common;

use common::{Bench, Failure, Suite, Work};
use lanefield::backend::{Backend, Sum};
use lanefield_reference::field::Spinor;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::Sites;

struct Reduce;

impl Suite for Reduce {
    const FAMILY: &'static str = "reduce";
    const LANES: &'static str = "64";

    fn run<B: Backend>(&self, bench: &mut Bench<'_, B>) -> Result<(), Failure> {
        reduce::<f32, B>(bench)?;
        reduce::<f64, B>(bench)
    }
}

fn reduce<R: Vectors, B: Backend>(bench: &mut Bench<'_, B>) -> Result<(), Failure> {
    let (backend, extents) = (bench.backend, bench.extents());
    for lattice in bench.lattices::<R>() {
        let spinor = |seed| bench.spinor::<R>(lattice, Sites::Full, seed);
        let (x, y) = (spinor(1)?, spinor(2)?);
        let name = |kernel: &str| format!("{kernel} {} W {}", R::NAME, lattice.width());
        // Operations on a real component, and spinors read.
        let work = |operations: u64, spinors: u64| {
            let reals = (extents.volume() * 2 * Spinor::WORDS) as u64;
            Work { flops: operations * reals, bytes: spinors * reals * size_of::<R>() as u64 }
        };
        bench.kernel(&name("norm2"), work(2, 1), || backend.norm2(&x, Sum::Exact).map(drop))?;
        bench.kernel(&name("inner_product"), work(4, 2), || backend.inner_product(&x, &y, Sum::Exact).map(drop))?;
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    common::run(&Reduce)
}
