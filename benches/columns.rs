//! Fields of twelve columns, as for a propagator: half of the columns taken and put back, and what conjugate gradients of a batch need.
//! `cargo bench --bench columns`; settings in `common/mod.rs`. The kernels are `reference/src/kernels/columns.rs` and `cl/columns.cl`.

mod common;

use common::{Bench, Failure, Suite, Work};
use lanefield::backend::{Backend, Sum};
use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Parity, Sites};
use lanefield_reference::sixteen::Sixteen;

const COLUMNS: usize = 12;
/// Every other column.
const TAKEN: [usize; COLUMNS / 2] = [0, 2, 4, 6, 8, 10];

struct Columns;

impl Suite for Columns {
    const FAMILY: &'static str = "columns";
    const LANES: &'static str = "64";

    fn run<B: Backend>(&self, bench: &mut Bench<'_, B>) -> Result<(), Failure> {
        columns::<f32, B>(bench)?;
        columns::<f64, B>(bench)?;
        columns::<Sixteen, B>(bench)
    }
}

fn columns<R: Vectors, B: Backend>(bench: &mut Bench<'_, B>) -> Result<(), Failure> {
    let (backend, sites) = (bench.backend, Sites::Parity(Parity::Odd));
    for lattice in bench.lattices::<R>() {
        let field = |seed| bench.field::<R, _>(lattice, sites, Spinors::new(COLUMNS), seed);
        let (x, mut y, mut z) = (field(1)?, field(2)?, field(3)?);
        let half = backend.take_columns(&x, &TAKEN, 1)?;
        let name = |kernel: &str| format!("{kernel} {} W {}", R::NAME, lattice.width());
        let spinors = (bench.extents().volume() / 2 * COLUMNS) as u64;
        // Operations on a real component, and halves of fields read or written.
        let work = |operations: u64, halves: u64| Work {
            flops: operations * spinors * (2 * Spinors::WORDS) as u64,
            bytes: halves * spinors / 2 * R::device_bytes(Spinors::WORDS) as u64,
        };
        // Scalars with which fields neither grow nor shrink much, however often they are applied.
        let (a, b) = ([1e-6; COLUMNS], [0.5; COLUMNS]);
        bench.kernel(&name("take_columns"), work(0, 2), || backend.take_columns(&x, &TAKEN, 1).map(drop))?;
        bench.kernel(&name("put_columns"), work(0, 2), || backend.put_columns(&mut y, &half, &TAKEN, 1))?;
        bench.kernel(&name("column_products"), work(2, 4), || {
            backend.column_products(&x, &y, 1, Sum::Exact).map(drop)
        })?;
        bench.kernel(&name("column_axpy_norm"), work(4, 6), || {
            backend.column_axpy_norm(&a, &x, &mut y, Sum::Exact).map(drop)
        })?;
        bench
            .kernel(&name("column_cg_update"), work(4, 10), || backend.column_cg_update(&mut y, &mut z, &x, &a, &b))?;
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    common::run(&Columns)
}
