//! Generates a hundred quenched configurations of 8³×16 at β = 5.7, measures on them, and writes a page that compares the results with published
//! values: `cargo run --release --example quenched [DIRECTORY]`, by default in target/quenched. It takes minutes on two cores. If a run is
//! interrupted, the next one continues it.

mod page;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use lanefield::backend::Cpu;
use lanefield::comm::WholeLattice;
use lanefield::gauge::{
    Action, Ensemble, EnsembleParameters, Flow, FlowPoint, GaugeField, Quenched, QuenchedParameters, StepChoice,
    reference_time,
};
use lanefield::io::nersc;
use lanefield::observable::{CorrelatorProjection, Hadron, Momentum, QuarkSource, Wuppertal, propagator};
use lanefield::operator::{HopParameters, WilsonParameters};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::layout::{Direction, Extents, LaneChoice};
use lanefield::reference::links::BoundaryPhases;
use lanefield::reference::real::Precision;
use lanefield::solver::{Method, Preconditioning, Solve, SolverParams};
use lanefield::statistics::{Autocorrelation, Covariance, Estimate, Fit, Resampling, Samples, States, Window};

use page::{Page, Row};
use serde::{Deserialize, Serialize};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const LATTICE: [usize; 4] = [8, 8, 8, 16];
const BETA: f64 = 5.7;
const KAPPA: f64 = 0.16;
const CONFIGURATIONS: u64 = 100;
const EVERY: u64 = 10;
const THERMALISATION: u64 = 200;
const SEED: u64 = 57;
/// Times of the fits.
const WINDOW: Window = Window { first: 5, last: 8 };

/// The measurements on a configuration. As JSON, they are a line of measurements.jsonl.
#[derive(Serialize, Deserialize)]
struct Measured {
    /// t₀ / a².
    t0: f64,
    /// Polyakov loop in time: |tr L / 3|, with tr L averaged over space.
    polyakov: f64,
    pion: Vec<f64>,
    rho: Vec<f64>,
}

fn main() -> Result<()> {
    let directory = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "target/quenched".to_owned()));
    let (cpu, start) = (Cpu::new(None)?, Instant::now());
    let (history, files) = make(&cpu, &directory.join("ensemble"))?;
    eprintln!("{} configurations after {:.0} s", files.len(), start.elapsed().as_secs_f64());
    // The measurements of an earlier run. The measurement of an incomplete line is repeated.
    let kept = directory.join("measurements.jsonl");
    let lines = fs::read_to_string(&kept).unwrap_or_default();
    let lines: Vec<&str> = lines.split_inclusive('\n').filter(|line| line.ends_with('\n')).take(files.len()).collect();
    let mut measured =
        lines.iter().map(|line| serde_json::from_str(line)).collect::<std::result::Result<Vec<Measured>, _>>()?;
    fs::write(&kept, lines.concat())?;
    let mut kept = OpenOptions::new().append(true).open(&kept)?;
    for file in &files[measured.len()..] {
        measured.push(measure(&cpu, &nersc::read(file)?.configuration)?);
        writeln!(kept, "{}", serde_json::to_string(&measured[measured.len() - 1])?)?;
        eprint!("\rmeasured on {} of {} after {:.0} s", measured.len(), files.len(), start.elapsed().as_secs_f64());
    }
    eprintln!();
    let page = page(&history, &measured)?;
    let path = directory.join("index.html");
    fs::write(&path, page.html())?;
    print!("{}", page.text());
    println!("{}", path.display());
    Ok(())
}

/// Generates the configurations. Returns the plaquette after each sweep since thermalisation, and the files.
fn make(cpu: &Cpu, directory: &Path) -> Result<(Vec<f64>, Vec<PathBuf>)> {
    let parameters = EnsembleParameters {
        action: Action::Wilson.to_string(),
        beta: BETA,
        lattice: LATTICE,
        start: "hot".to_owned(),
        overrelaxations: 4,
        seed: SEED,
        precision: Precision::F64,
        thermalisation: THERMALISATION,
        every: EVERY,
    };
    let lattice = WholeLattice::alone(Extents::new(LATTICE)?);
    let (mut ensemble, last) = match directory.join("ensemble.json").exists() {
        true => Ensemble::resume(directory, parameters, lattice)?,
        false => (Ensemble::begin(directory, parameters, lattice)?, None),
    };
    let (sweeps, configuration) = match last {
        Some(last) => last,
        None => (0, Configuration::hot(Extents::new(LATTICE)?, SEED)),
    };
    let parameters = QuenchedParameters { beta: BETA, overrelaxations: 4, seed: SEED };
    let mut field = Quenched::<_, f64>::new(cpu, &configuration, parameters, sweeps, LaneChoice::Auto)?;
    let all = THERMALISATION + CONFIGURATIONS * EVERY;
    while field.sweeps() < all {
        field.sweep()?;
        let plaquette = field.plaquette()?;
        ensemble.add(plaquette);
        eprint!("\rsweep {} of {all}, plaquette {plaquette:.4}", field.sweeps());
        if ensemble.keeps(field.sweeps()) {
            ensemble.keep(&field.configuration()?)?;
        }
    }
    eprintln!();
    let files = (1..=CONFIGURATIONS).map(|k| ensemble.configuration_path(THERMALISATION + k * EVERY)).collect();
    Ok((ensemble.history()[THERMALISATION as usize..all as usize].to_vec(), files))
}

fn measure(cpu: &Cpu, configuration: &Configuration) -> Result<Measured> {
    let field = GaugeField::new(cpu, configuration, LaneChoice::Auto)?;
    let polyakov = field.polyakov_loop(Direction::T)?.norm();
    // Far enough for t₀ of every configuration.
    let mut flow = Flow::new(field, Action::Wilson, StepChoice::Fixed(0.1))?;
    let mut points = vec![FlowPoint { time: 0.0, energy: flow.field().clover()?.energy() }];
    while reference_time(&points).is_none() || points.len() < 6 {
        flow.advance(f64::INFINITY)?;
        points.push(FlowPoint { time: flow.time(), energy: flow.field().clover()?.energy() });
    }
    let t0 = reference_time(&points).ok_or("the flow has no t₀")?;

    let boundary = BoundaryPhases::ANTIPERIODIC_IN_TIME;
    let hop = HopParameters { boundary, ..HopParameters::default() };
    let solve = Solve {
        operator: WilsonParameters { mass: 1.0 / (2.0 * KAPPA) - 4.0, hop },
        preconditioning: Preconditioning::EvenOdd,
        method: Method::ConjugateGradients,
        params: SolverParams::auto::<f32>(),
        lanes: LaneChoice::Auto,
    };
    let source = QuarkSource { smearing: Wuppertal::new(0.25, 12), ..[0; 4].into() };
    let s = propagator::<f32, _, _>(cpu, configuration, source, &solve, &mut |_: usize, _: f64| (), None)?;
    let at = CorrelatorProjection { source: [0; 4], momentum: Momentum::ZERO, lanes: LaneChoice::Auto };
    let correlator = |hadron: Hadron| -> Result<Vec<f64>> {
        let correlator = hadron.correlator(cpu, configuration.extents(), [&s.solution; 2], at, boundary)?;
        Ok(correlator.into_iter().map(|c| c.re).collect())
    };
    Ok(Measured { t0, polyakov, pion: correlator(Hadron::Pion)?, rho: correlator(Hadron::Rho)? })
}

/// The means with their errors, and the published values.
fn page(history: &[f64], measured: &[Measured]) -> Result<Page> {
    let plaquette = Autocorrelation::of(history).ok_or("the history of the plaquette is too short")?;
    let mean = |of: fn(&Measured) -> f64| -> Result<Estimate> {
        let samples = Samples::of(&measured.iter().map(|measured| [of(measured)]).collect::<Vec<_>>());
        let estimates = Resampling::Jackknife.estimates(&samples, |mean| vec![Some(mean[0])]);
        estimates.into_iter().flatten().next().ok_or_else(|| "no mean".into())
    };
    let mass = |hadron: Hadron, of: fn(&Measured) -> &[f64]| -> Result<(Estimate, Vec<Option<Estimate>>)> {
        let samples = Samples::of(&measured.iter().map(of).collect::<Vec<_>>());
        let shape = hadron.effective_mass();
        let fit = Fit { shape, states: States::One, window: WINDOW, covariance: Covariance::Full };
        let fitted = fit.of(&samples, Resampling::Jackknife)?;
        Ok((fitted.masses[0], Resampling::Jackknife.estimates(&samples, |mean| shape.of(mean))))
    };
    let (pion, pion_masses) = mass(Hadron::Pion, |measured| &measured.pion)?;
    let (rho, rho_masses) = mass(Hadron::Rho, |measured| &measured.rho)?;
    let row = |name, here, published, source| Row { name, here, published, source };
    let rows = vec![
        row(
            "plaquette",
            Estimate { value: plaquette.mean, error: Some(plaquette.error) },
            "0.5492",
            "large lattices, rounded",
        ),
        row(
            "t₀/a²",
            mean(|measured| measured.t0)?,
            "1.19(2)",
            "r₀/a = 2.922(9) (hep-lat/0108008) and the continuum's √(8t₀)/r₀ = 0.948(7) (1006.4518): on so coarse a lattice they differ by a cut-off effect",
        ),
        row(
            "|Polyakov loop|",
            mean(|measured| measured.polyakov)?,
            "0",
            "confined: what is left is noise of a finite volume",
        ),
        row("pion mass", pion, "0.69", "GF11 (hep-lat/9405003), rounded"),
        row("rho mass", rho, "0.81", "GF11 (hep-lat/9405003), rounded"),
    ];
    let title = format!(
        "{CONFIGURATIONS} quenched configurations of 8³×16 at β = {BETA}; Wilson quarks at κ = {KAPPA}, a smeared source on each; \
         τ_int of the plaquette {:.2} ± {:.2} sweeps",
        plaquette.time, plaquette.time_error
    );
    Ok(Page { title, rows, masses: vec![("pion", pion, pion_masses), ("rho", rho, rho_masses)], window: WINDOW })
}
