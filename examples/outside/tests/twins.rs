//! Compares the kernels of this crate with scalar references and with themselves on an OpenCL device, and tests identities.

use std::path::Path;

use lanefield::body::check_kernel;
use lanefield::io::nersc;
use lanefield::prelude::*;
use lanefield::reference::field::DoubledGauge;
use lanefield::reference::layout::{LegOrder, Stencil};
use lanefield::reference::links::double;
use lanefield::twin::*;
use lanefield_example_outside::{AXPY_AND_NORM, COVARIANT_SUM, CovariantSum, SLICE_NORMS, WILSON_HOP};

fn covariant_sum_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, part| {
        let products = call.legs().map(|leg| {
            let phi = call.read("phi", call.neighbour(site, leg), part);
            matrix_times_vector(&call.link(site, leg), &[phi[0], phi[1], phi[2]])
        });
        let sum = products.into_iter().reduce(|sum, product| std::array::from_fn(|c| sum[c] + product[c]));
        call.write("sum", site, part, &sum.unwrap());
    });
}

fn axpy_and_norm_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let a = call.scalar("a");
    call.each(|call, site, part| {
        let (x, y) = (call.read("x", site, part), call.read("y", site, part));
        let z: Vec<_> = x.iter().zip(&y).map(|(&x, &y)| real_madd(a, x, y)).collect();
        call.write("y", site, part, &z);
        call.add(0, site, part, site_norm2(&z));
    });
}

fn slice_norms_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, part| {
        let x = call.read("x", site, part);
        call.add(0, site, part, site_norm2(&x));
    });
}

check_kernel!(covariant_sum, twin = covariant_sum_twin, linear, covariant);
check_kernel!(wilson_hop, linear, covariant);
check_kernel!(axpy_and_norm, twin = axpy_and_norm_twin);
check_kernel!(slice_norms, twin = slice_norms_twin);

/// The program of docs/own-kernels.md: from a file to the result of a kernel.
fn covariant_sum_of_ones(path: &Path) -> Result<Vec<Complex<f64>>, Box<dyn std::error::Error>> {
    let configuration = nersc::read(path)?.configuration;
    let backend = Cpu::new(None)?;
    let lattice = Lattice::new(configuration.extents(), Scalar::ComplexD, LatticeOptions::default())?;
    let links = double::<f64>(&configuration, lattice, Sites::Full, DoubledGauge::default())?;
    let links = backend.upload(links)?;
    // Site order, x fastest; three complex numbers a site.
    let ones = vec![Complex::ONE; 3 * configuration.extents().volume()];
    let phi = Field::from_site_order(lattice, Sites::Full, ColourVectors::new(1), &ones)?;
    let phi = backend.upload(phi)?;
    let mut sum = backend.zeros(lattice, Sites::Full, ColourVectors::new(1))?;
    let stencil = backend.stencil(Stencil::new(lattice, Sites::Full)?)?;
    CovariantSum { sum: &mut sum, links: &links, phi: &phi }.launch(&backend, &stencil, LegOrder::DEFAULT)?;
    Ok(backend.download(&sum)?.to_site_order())
}

#[test]
fn the_program_of_the_page_is_the_one_above() {
    let page = include_str!("../../../docs/own-kernels.md");
    let program = page.split("```rust,ignore\n").find(|text| text.starts_with("fn covariant_sum_of_ones")).unwrap();
    assert!(include_str!("twins.rs").contains(program.split("```").next().unwrap()));
}

#[test]
fn a_kernel_runs_on_the_configuration_of_a_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../quenched-8x8x8x16.nersc");
    let sum = covariant_sum_of_ones(&path).unwrap();
    // The first row of each link of the origin, forward and, as Hermitian conjugates, backward; doubled links have a factor of -1/2.
    let links = nersc::read(&path).unwrap().configuration;
    let (mut stride, mut expected) = (1, Complex::ZERO);
    for (mu, extent) in links.extents().as_array().into_iter().enumerate() {
        let (forward, backward) = (links.link(0, mu), links.link((extent - 1) * stride, mu));
        stride *= extent;
        expected += (0..3).map(|column| forward[column] + backward[3 * column].conj()).sum::<Complex<f64>>();
    }
    assert!((sum[0] + expected.scale(0.5)).norm() < 1e-14, "{} and {expected}", sum[0]);
}
