//! Spinor fields from one precision to another, on the same cut of the lattice into lanes. `cargo bench --bench convert`; settings in
//! `common/mod.rs`, lane widths are those of f32. The kernels are `reference/src/kernels/convert.rs` and `cl/convert.cl`.

mod common;

use common::{Bench, Failure, Suite, Work};
use lanefield::backend::Backend;
use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Lattice, Sites};
use lanefield_reference::sixteen::Sixteen;

struct Convert;

impl Suite for Convert {
    const FAMILY: &'static str = "convert";
    const LANES: &'static str = "32,64,128";

    fn run<B: Backend>(&self, bench: &mut Bench<'_, B>) -> Result<(), Failure> {
        for lattice in bench.lattices::<f32>() {
            convert::<f64, f32, B>(bench, lattice)?;
            convert::<f32, f64, B>(bench, lattice)?;
            convert::<f64, Sixteen, B>(bench, lattice)?;
            convert::<Sixteen, f64, B>(bench, lattice)?;
            convert::<f32, Sixteen, B>(bench, lattice)?;
            convert::<Sixteen, f32, B>(bench, lattice)?;
        }
        Ok(())
    }
}

/// From `R` to `S`; `lattice` is that of f32.
fn convert<R: Vectors, S: Vectors, B: Backend>(bench: &mut Bench<'_, B>, lattice: Lattice) -> Result<(), Failure> {
    let backend = bench.backend;
    let x = bench.spinor::<R>(lattice.in_scalar(R::COMPLEX)?, Sites::Full, 1)?;
    let mut out = backend.zeros::<S, _>(lattice.in_scalar(S::COMPLEX)?, Sites::Full, Spinors::ONE)?;
    let a_spinor = R::device_bytes(Spinors::WORDS) + S::device_bytes(Spinors::WORDS);
    let work = Work { flops: 0, bytes: (bench.extents().volume() * a_spinor) as u64 };
    bench.kernel(&format!("{} to {} W {}", R::NAME, S::NAME, lattice.width()), work, || backend.convert(&mut out, &x))
}

fn main() -> Result<(), Failure> {
    common::run(&Convert)
}
