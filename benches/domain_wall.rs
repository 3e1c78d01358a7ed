//! Domain wall fermions in f32 with ls = 16: the hop, in several cuts of its groups on a GPU, and what acts along s. `cargo bench --bench
//! domain_wall`; settings in `common/mod.rs`. The kernels are `reference/src/kernels/{hop,domain_wall}.rs` and `cl/{hop,domain_wall}.cl`.

mod common;

use common::{Bench, Failure, Suite, Work};
use lanefield::backend::{Backend, BackendError};
use lanefield::operator::{HopOperator, HopParameters};
use lanefield_reference::field::Spinors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::domain_wall::{InverseForm, MobiusCoefficients};
use lanefield_reference::kernels::hop::{Dagger, FLOPS_PER_SITE, ideal_bytes_per_spinor};
use lanefield_reference::layout::{Lattice, PartsShape, Sites};
use lanefield_reference::links::{BoundaryPhases, LinkFormat};

const LS: usize = 16;
const SPINORS: Spinors = Spinors::new(LS);

struct DomainWall;

impl Suite for DomainWall {
    const FAMILY: &'static str = "domain_wall";
    const LANES: &'static str = "32,64,128";

    fn shapes() -> Vec<PartsShape> {
        let mut shapes = vec![PartsShape::default()];
        for parts in [4, 8, 16] {
            for osites in [1, 2, 4, 8] {
                for at_once in [1, 2] {
                    let [parts, osites, at_once] = [parts, osites, at_once].map(Some);
                    shapes.push(PartsShape { parts, osites, at_once, ..PartsShape::default() });
                }
            }
        }
        shapes
    }

    fn run<B: Backend>(&self, bench: &mut Bench<'_, B>) -> Result<(), Failure> {
        let configuration = Configuration::hot(bench.extents(), 1);
        for lattice in bench.lattices::<f32>() {
            hop(bench, &configuration, lattice)?;
            along_s(bench, lattice)?;
        }
        Ok(())
    }
}

/// "4 × 2, 1 at once", or nothing for the default.
fn name_of(shape: PartsShape) -> String {
    match shape {
        PartsShape { parts: Some(parts), osites: Some(osites), at_once: Some(at_once), .. } => {
            format!(", {parts} × {osites}, {at_once} at once")
        }
        _ => String::new(),
    }
}

/// Times `launch`. A cut that the device does not take is named and passed over.
fn timed<B: Backend>(
    bench: &mut Bench<'_, B>,
    name: &str,
    work: Work,
    mut launch: impl FnMut() -> Result<(), BackendError>,
) -> Result<(), Failure> {
    if bench.shape() != PartsShape::default()
        && let Err(error) = launch()
    {
        eprintln!("no {name}: {error}");
        return Ok(());
    }
    bench.kernel(name, work, launch)
}

fn spinors(lattice: Lattice) -> u64 {
    (lattice.extents().volume() * LS) as u64
}

fn hop<B: Backend>(bench: &mut Bench<'_, B>, configuration: &Configuration, lattice: Lattice) -> Result<(), Failure> {
    for links in LinkFormat::ALL {
        let boundary = BoundaryPhases::ANTIPERIODIC_IN_TIME;
        let parameters = HopParameters { boundary, links, ..HopParameters::default() };
        let source = bench.field::<f32, _>(lattice, Sites::Full, SPINORS, 2)?;
        let hop = HopOperator::<B, f32>::new(bench.backend, configuration, lattice, parameters, &[Sites::Full])?;
        let mut out = bench.backend.zeros(lattice, Sites::Full, SPINORS)?;
        let bytes = spinors(lattice) as f64 * ideal_bytes_per_spinor(links, size_of::<f32>(), LS);
        let work = Work { flops: spinors(lattice) * FLOPS_PER_SITE, bytes: bytes as u64 };
        let name = format!("hop links {links} W {}{}", lattice.width(), name_of(bench.shape()));
        timed(bench, &name, work, || hop.apply(&mut out, &source, Dagger::No))?;
    }
    Ok(())
}

fn along_s<B: Backend>(bench: &mut Bench<'_, B>, lattice: Lattice) -> Result<(), Failure> {
    let matrix = MobiusCoefficients::new(LS, 0.01, 1.8, 1.5, 0.5)?.diagonal();
    let x = bench.field::<f32, _>(lattice, Sites::Full, SPINORS, 3)?;
    let z = bench.field::<f32, _>(lattice, Sites::Full, SPINORS, 4)?;
    let mut out = bench.backend.zeros(lattice, Sites::Full, SPINORS)?;
    let a_field = spinors(lattice) * (2 * Spinors::WORDS * size_of::<f32>()) as u64;
    let sites = lattice.extents().volume() as u64;
    let place = format!("W {}{}", lattice.width(), name_of(bench.shape()));
    let all = [
        ("tridiagonal", matrix.matrix()),
        ("inverse by sweep", matrix.inverse(InverseForm::Sweep)?),
        ("dense inverse", matrix.inverse(InverseForm::Dense)?),
    ];
    for (name, matrix) in all {
        let work = Work { flops: sites * matrix.flops(), bytes: 2 * a_field };
        let matrix = bench.backend.s_matrix::<f32>(&matrix)?;
        let backend = bench.backend;
        timed(bench, &format!("{name} {place}"), work, || backend.s_multiply(&mut out, &matrix, &x))?;
    }
    let backend = bench.backend;
    let tridiagonal = matrix.matrix();
    let held = backend.s_matrix::<f32>(&tridiagonal)?;
    let work = Work { flops: sites * tridiagonal.flops() + 24 * spinors(lattice), bytes: 3 * a_field };
    timed(bench, &format!("tridiagonal with sum {place}"), work, || backend.s_multiply_add(&mut out, &held, &x, &z))
}

fn main() -> Result<(), Failure> {
    common::run(&DomainWall)
}
