//! The Wilson hop: precision, link format, full lattice or one parity, lane width; and that of a batch of twelve right-hand sides, as for a
//! propagator. `cargo bench --bench hop`; settings in `common/mod.rs`. The kernels are `reference/src/kernels/hop.rs` and `cl/hop.cl`.

mod common;

use common::{Bench, Failure, Suite, Work};
use lanefield::backend::Backend;
use lanefield::operator::{HopOperator, HopParameters};
use lanefield_reference::field::Spinors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::{Dagger, FLOPS_PER_SITE, ideal_bytes_per_spinor};
use lanefield_reference::layout::{Parity, Sites};
use lanefield_reference::links::{BoundaryPhases, LinkFormat};
use lanefield_reference::sixteen::Sixteen;

struct Hop;

impl Suite for Hop {
    const FAMILY: &'static str = "hop";
    const LANES: &'static str = "32,64,128";

    fn run<B: Backend>(&self, bench: &mut Bench<'_, B>) -> Result<(), Failure> {
        let configuration = Configuration::hot(bench.extents(), 1);
        hop::<f32, B>(bench, &configuration)?;
        hop::<f64, B>(bench, &configuration)?;
        batch::<f32, B>(bench, &configuration)?;
        batch::<f64, B>(bench, &configuration)?;
        batch::<Sixteen, B>(bench, &configuration)
    }
}

fn hop<R: Vectors, B: Backend>(bench: &mut Bench<'_, B>, configuration: &Configuration) -> Result<(), Failure> {
    for lattice in bench.lattices::<R>() {
        for links in LinkFormat::ALL {
            for sites in [Sites::Full, Sites::Parity(Parity::Even)] {
                let boundary = BoundaryPhases::ANTIPERIODIC_IN_TIME;
                let parameters = HopParameters { boundary, links, ..HopParameters::default() };
                let source = bench.spinor::<R>(lattice, sites.neighbours(), 2)?;
                let hop = HopOperator::<B, R>::new(bench.backend, configuration, lattice, parameters, &[sites])?;
                let mut out = bench.backend.zeros(lattice, sites, Spinors::ONE)?;
                let name = format!("{} links {links} {sites} W {}", R::NAME, lattice.width());
                let work = Work { flops: hop.flops(sites), bytes: hop.bytes(sites) };
                bench.kernel(&name, work, || hop.apply(&mut out, &source, Dagger::No))?;
            }
        }
    }
    Ok(())
}

/// Links are read once for the whole batch.
fn batch<R: Vectors, B: Backend>(bench: &mut Bench<'_, B>, configuration: &Configuration) -> Result<(), Failure> {
    const SPINORS: usize = 12;
    let (links, sites, object) = (LinkFormat::TwoRows, Sites::Parity(Parity::Even), Spinors::new(SPINORS));
    for lattice in bench.lattices::<R>() {
        let boundary = BoundaryPhases::ANTIPERIODIC_IN_TIME;
        let parameters = HopParameters { boundary, links, ..HopParameters::default() };
        let source = bench.field::<R, _>(lattice, sites.neighbours(), object, 2)?;
        let hop = HopOperator::<B, R>::new(bench.backend, configuration, lattice, parameters, &[sites])?;
        let mut out = bench.backend.zeros(lattice, sites, object)?;
        let spinors = (lattice.osites(sites) * lattice.nsimd() * SPINORS) as u64;
        let bytes = spinors as f64 * ideal_bytes_per_spinor(links, R::BITS as usize / 8, SPINORS);
        let work = Work { flops: spinors * FLOPS_PER_SITE, bytes: bytes as u64 };
        let name = format!("{} x{SPINORS} links {links} {sites} W {}", R::NAME, lattice.width());
        bench.kernel(&name, work, || hop.apply(&mut out, &source, Dagger::No))?;
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    common::run(&Hop)
}
