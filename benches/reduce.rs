//! Sums over sites, exact and as an H200's tree: norms, inner products and slices of spinors, and the sum of each word of a propagator.
//! `cargo bench --bench reduce`; settings in `common/mod.rs`. The kernels are `reference/src/kernels/reduce.rs` and `cl/reduce.cl`; every
//! form and launch shape of a device is compared by `lanefield bench reduce`.

mod common;

use common::{Bench, Ceiling, Failure, Suite, Work};
use lanefield::backend::{Backend, Sum};
use lanefield_reference::field::{Propagator, Spinors};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Direction, ReductionDevice, Sites, get_num_blocks_and_threads};

struct Reduce;

impl Suite for Reduce {
    const FAMILY: &'static str = "reduce";
    const LANES: &'static str = "64";
    const CEILING: Ceiling = Ceiling::Read;

    fn run<B: Backend>(&self, bench: &mut Bench<'_, B>) -> Result<(), Failure> {
        reduce::<f32, B>(bench)?;
        reduce::<f64, B>(bench)
    }
}

fn reduce<R: Vectors, B: Backend>(bench: &mut Bench<'_, B>) -> Result<(), Failure> {
    let (backend, volume) = (bench.backend, bench.extents().volume());
    // Operations on a real component, components a site, and fields read.
    let work = |operations: u64, words: usize, fields: u64| {
        let reals = (volume * 2 * words) as u64;
        Work { flops: operations * reals, bytes: fields * reals * size_of::<R>() as u64 }
    };
    let plan = |bytes| get_num_blocks_and_threads(bytes, &ReductionDevice::H200);
    for lattice in bench.lattices::<R>() {
        let spinor = |seed| bench.spinor::<R>(lattice, Sites::Full, seed);
        let (x, y) = (spinor(1)?, spinor(2)?);
        let words = Spinors::WORDS;
        for (kind, sum) in [("exact", Sum::Exact), ("tree", Sum::Tree(plan(16)?))] {
            let name = |kernel: &str| format!("{kernel}, {kind}, {} W {}", R::NAME, lattice.width());
            bench.kernel(&name("norm2"), work(2, words, 1), || backend.norm2(&x, sum).map(drop))?;
            bench.kernel(&name("inner_product"), work(4, words, 2), || backend.inner_product(&x, &y, sum).map(drop))?;
            let slices = || backend.slice_sums(&x, Direction::T, sum).map(drop);
            bench.kernel(&name("slice_sums t"), work(1, words, 1), slices)?;
        }
        drop((x, y));
        let x = bench.field::<R, Propagator>(lattice, Sites::Full, Propagator, 3)?;
        for (kind, sum) in [("exact", Sum::Exact), ("tree", Sum::Tree(plan(192)?))] {
            let name = format!("sum of propagators, {kind}, {} W {}", R::NAME, lattice.width());
            bench.kernel(&name, work(1, Propagator::WORDS, 1), || backend.sum(&x, sum).map(drop))?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    common::run(&Reduce)
}
