//! The Wilson hop: precision, link format, full lattice or one parity, lane width. `cargo bench --bench hop`; settings in
//! `common/mod.rs`. The kernels are `reference/src/kernels/hop.rs` and `cl/hop.cl`.

mod common;

use common::{Bench, Failure, Suite, Work};
use lanefield::backend::Backend;
use lanefield::operator::{HopOperator, HopParameters};
use lanefield_reference::field::Spinors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Parity, Sites};
use lanefield_reference::links::{BoundaryPhases, LinkFormat};

struct Hop;

impl Suite for Hop {
    const FAMILY: &'static str = "hop";
    const LANES: &'static str = "32,64,128";

    fn run<B: Backend>(&self, bench: &mut Bench<'_, B>) -> Result<(), Failure> {
        let configuration = Configuration::hot(bench.extents(), 1);
        hop::<f32, B>(bench, &configuration)?;
        hop::<f64, B>(bench, &configuration)
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

fn main() -> Result<(), Failure> {
    common::run(&Hop)
}
