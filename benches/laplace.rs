//! The Laplacian's hop: precision, link format, full lattice or one parity, colour vectors a site, lane width. `cargo bench --bench laplace`;
//! settings in `common/mod.rs`. The kernels are `reference/src/kernels/laplace.rs` and `cl/laplace.cl`.

mod common;

use common::{Bench, Failure, Suite, Work};
use lanefield::backend::Backend;
use lanefield::operator::{HopParameters, Laplace, LaplaceParameters};
use lanefield_reference::field::ColourVectors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Parity, Sites};
use lanefield_reference::links::{BoundaryPhases, LinkFormat};

struct LaplaceHop;

impl Suite for LaplaceHop {
    const FAMILY: &'static str = "laplace";
    const LANES: &'static str = "64,128";

    fn run<B: Backend>(&self, bench: &mut Bench<'_, B>) -> Result<(), Failure> {
        let configuration = Configuration::hot(bench.extents(), 1);
        laplace::<f32, B>(bench, &configuration)?;
        laplace::<f64, B>(bench, &configuration)
    }
}

fn laplace<R: Vectors, B: Backend>(bench: &mut Bench<'_, B>, configuration: &Configuration) -> Result<(), Failure> {
    let backend = bench.backend;
    for lattice in bench.lattices::<R>() {
        for links in LinkFormat::ALL {
            let hop =
                HopParameters { boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME, links, ..HopParameters::default() };
            let parameters = LaplaceParameters { mass: 0.1, hop };
            for vectors in [1, 4, 12] {
                let object = ColourVectors::new(vectors);
                let full = Laplace::<B, R>::full(backend, configuration, lattice, parameters, vectors)?;
                let pieces = Laplace::<B, R>::even_odd(backend, configuration, lattice, parameters, vectors)?;
                for (laplace, sites) in [(full, Sites::Full), (pieces, Sites::Parity(Parity::Even))] {
                    let source = bench.field::<R, _>(lattice, sites.neighbours(), object, 2)?;
                    let mut out = backend.zeros(lattice, sites, object)?;
                    let name = format!("{} x{vectors} links {links} {sites} W {}", R::NAME, lattice.width());
                    let work = Work { flops: laplace.hop_flops(sites), bytes: laplace.hop_bytes(sites) };
                    bench.kernel(&name, work, || laplace.hop(&mut out, &source))?;
                }
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    common::run(&LaplaceHop)
}
