//! The clover kernels: EO (Mee⁻¹ Meo ψ) and OE (Moo χ − Moe ψ), each in one launch, by precision, link format, lane width, and, on OpenCL, by
//! where the hop is added up; and the product with the blocks alone. `cargo bench --bench clover`; settings in `common/mod.rs`. The kernels are
//! `reference/src/kernels/clover.rs` and `cl/clover.cl`.

mod common;

use common::{Bench, Failure, Suite, Work};
use lanefield::backend::Backend;
use lanefield::backend::opencl::Accumulators;
use lanefield::operator::{Clover, CloverParameters, EvenOdd, HopParameters};
use lanefield_reference::field::Spinors;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::clover::{
    FLOPS_PER_SITE, ideal_bytes_per_site, inverse_hop_bytes_per_site, minus_hop_bytes_per_site,
};
use lanefield_reference::kernels::hop::{self, Dagger};
use lanefield_reference::layout::{Parity, Sites};
use lanefield_reference::links::{BoundaryPhases, LinkFormat};
use lanefield_reference::sixteen::Sixteen;

struct CloverKernels;

impl Suite for CloverKernels {
    const FAMILY: &'static str = "clover";
    const LANES: &'static str = "64,128";
    const ACCUMULATORS: &'static [Accumulators] = &Accumulators::ALL;

    fn run<B: Backend>(&self, bench: &mut Bench<'_, B>) -> Result<(), Failure> {
        let configuration = Configuration::weak(bench.extents(), 1, 0.1);
        clover::<f32, B>(bench, &configuration)?;
        clover::<f64, B>(bench, &configuration)?;
        clover::<Sixteen, B>(bench, &configuration)
    }
}

fn clover<R: Vectors, B: Backend>(bench: &mut Bench<'_, B>, configuration: &Configuration) -> Result<(), Failure> {
    let (even, odd) = (Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd));
    let real_bytes = R::BITS as usize / 8;
    for lattice in bench.lattices::<R>() {
        let sites = (lattice.osites(even) * lattice.nsimd()) as u64;
        let work = |flops, bytes| Work { flops: sites * flops, bytes: sites * bytes };
        let [psi_odd, chi_odd] = [bench.spinor::<R>(lattice, odd, 2)?, bench.spinor::<R>(lattice, odd, 3)?];
        let psi_even = bench.spinor::<R>(lattice, even, 4)?;
        let zeros = |sites| bench.backend.zeros::<R, _>(lattice, sites, Spinors::ONE);
        let [mut out_even, mut between_even] = [zeros(even)?, zeros(even)?];
        let [mut out_odd, mut between_odd] = [zeros(odd)?, zeros(odd)?];
        for links in LinkFormat::ALL {
            let hop =
                HopParameters { boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME, links, ..HopParameters::default() };
            let parameters = CloverParameters { mass: 0.1, csw_r: 1.0, csw_t: 1.0, hop };
            let mut pieces = Clover::<B, R>::even_odd(bench.backend, configuration, lattice, parameters)?;
            let about = format!("{} links {links} W {}", R::NAME, lattice.width());

            let eo = work(hop::FLOPS_PER_SITE + FLOPS_PER_SITE, inverse_hop_bytes_per_site(links, real_bytes));
            bench.kernel(&format!("EO {about}"), eo, || {
                pieces.inverse_hop(&mut out_even, &mut between_even, &psi_odd, Dagger::No)
            })?;
            let oe = work(hop::FLOPS_PER_SITE + FLOPS_PER_SITE + 48, minus_hop_bytes_per_site(links, real_bytes));
            bench.kernel(&format!("OE {about}"), oe, || {
                pieces.diagonal_minus_hop(&mut out_odd, &mut between_odd, &chi_odd, &psi_even, Dagger::No)
            })?;
            if links == LinkFormat::Full {
                let apply = work(FLOPS_PER_SITE, ideal_bytes_per_site(real_bytes));
                bench.kernel(&format!("apply {} W {}", R::NAME, lattice.width()), apply, || {
                    pieces.mooee(&mut out_odd, &chi_odd, Dagger::No)
                })?;
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    common::run(&CloverKernels)
}
