//! Solves M ψ = η for a point source on a gauge configuration, on an OpenCL device and on the CPU reference, and compares the residual histories bit
//! for bit: `cargo run --release --example wilson_solve [CONFIGURATION.nersc]`

use std::path::PathBuf;

use lanefield::backend::select::{DeviceChoice, Selected, select};
use lanefield::backend::{Backend, Cpu, OpenCl};
use lanefield::io::nersc;
use lanefield::operator::{HopParameters, WilsonParameters};
use lanefield::reference::field::Spinors;
use lanefield::reference::gauge::Configuration;
use lanefield::reference::layout::LaneChoice;
use lanefield::reference::links::BoundaryPhases;
use lanefield::solver::{self, Method, Preconditioning, SolverParams, WilsonSolve};
use num_complex::Complex;

/// The residual history, as the bits of its numbers.
fn history<B: Backend>(backend: &B, configuration: &Configuration) -> Result<Vec<u64>, Box<dyn std::error::Error>> {
    // Spin 0, colour 0 of the origin; site order, x fastest, 12 complex numbers a site.
    let mut eta = vec![Complex::ZERO; configuration.extents().volume() * Spinors::WORDS];
    eta[0] = Complex::ONE;
    let solve = WilsonSolve {
        operator: WilsonParameters {
            mass: 0.1,
            hop: HopParameters { boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME, ..HopParameters::default() },
        },
        preconditioning: Preconditioning::EvenOdd,
        method: Method::ConjugateGradients,
        params: SolverParams::auto::<f64>(),
        lanes: LaneChoice::Auto,
    };
    let report = solver::solve::<f64, B, _>(backend, configuration, &eta, &solve, |_, _| ())?;
    println!(
        "{}: {} iterations, |η − Mψ|/|η| = {:.2e}",
        backend.describe(),
        report.info().iterations,
        report.rhs[0].solution_residual
    );
    Ok(report.info().history.iter().map(|residual| residual.to_bits()).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let example = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/quenched-8x8x8x16.nersc"));
    let path = std::env::args_os().nth(1).map_or(example, PathBuf::from);
    let configuration = nersc::read(&path)?.configuration;
    println!("{}: plaquette {:.7}", configuration.extents(), configuration.plaquette());

    let on_the_cpu = history(&Cpu::new(None)?, &configuration)?;
    if let (Selected::OpenCl(device), _) = select(&DeviceChoice::Auto, (0, 1))? {
        let on_the_device = history(&OpenCl::open(&device)?, &configuration)?;
        let verdict = if on_the_device == on_the_cpu { "the same" } else { "not the same" };
        println!("{} residuals on both, bits {verdict}", on_the_cpu.len());
    }
    Ok(())
}
