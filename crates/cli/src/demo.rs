//! `lanefield demo`: shows in one command that bits are the same. It solves on a configuration that is part of the program, on the CPU reference and
//! on the first OpenCL device. Then it compares both residual histories bit for bit with each other and with the published one.

use lanefield::backend::Threads;
use lanefield::backend::opencl::OpenCl;
use lanefield::backend::select::DeviceChoice;
use lanefield::dynamic::ArrayShape;
use lanefield::io::nersc;
use lanefield::solver::WilsonSolve;
use lanefield_figure::{Axis, Drawing, Figure, Panel, Point, Series};
use sha2::{Digest as _, Sha256};
use textplots::{Chart, Plot as _, Shape};

use super::args::opencl_device;
use super::build_progress::announce;
use super::files::{figure, given, named, require_outputs, write_figure};
use super::output::{Device, facts, print};
use crate::prelude::*;
use crate::solving::residual_history::history_bytes;
use crate::source::field::gaussian;

/// A quenched configuration on 8³×16 at β = 6 (`examples/README.md`).
const CONFIGURATION: &[u8] = include_bytes!("../data/quenched-8x8x8x16.nersc");
/// The source is Gaussian, of this seed.
const SEED: u64 = 7;
const MASS: f64 = -0.4;
/// SHA-256 of the history, as `lanefield solve --history` writes it (docs/verified.md).
const PUBLISHED: &str = "2ad53384575f0b2ee387e970e008443567a5b785d981e34124a03e76513b2747";

/// Solve a small system on CPU and device, and compare all bits.
///
/// The program contains a thermalised configuration of 8³×16 sites. It solves the Wilson equation by conjugate gradients, on the CPU reference and on
/// the first OpenCL device (a GPU, or PoCL). Both residual histories must have the bits of the published one: exit code 1 if not.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield demo
  lanefield demo --plot history.svg")]
pub struct Demo {
    /// Device to compare with the CPU reference: auto (the first GPU, else any OpenCL device), a number from `lanefield devices`, or part of a
    /// device's name [env: LANEFIELD_DEVICE]
    #[arg(long, value_name = "DEVICE", default_value = crate::args::default_device())]
    device: DeviceChoice,
    /// Number of CPU threads [default: RAYON_NUM_THREADS, else all cores]
    #[arg(long, value_name = "N")]
    threads: Option<Threads>,
    /// Draw the residual history: .svg, .pdf or .png
    #[arg(long, help_heading = "Output", value_name = "FILE", value_parser = named(figure))]
    plot: Option<PathBuf>,
    /// Print JSON instead of a picture and a table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// The solve on one backend. As JSON, these fields.
#[derive(Serialize)]
struct Solved {
    device: Device,
    #[serde(skip)]
    description: String,
    iterations: usize,
    seconds: f64,
    building_seconds: f64,
    /// |η − Mψ| / |η|, in f64.
    solution_residual: f64,
    /// SHA-256 of the history as CSV.
    sha256: String,
    #[serde(skip)]
    history: Vec<f64>,
}

#[derive(Serialize)]
struct Found {
    plaquette: f64,
    /// The CPU reference, then the device if there is one.
    solved: Vec<Solved>,
    /// Why the solve on the device failed.
    failed: Option<String>,
    no_opencl: Option<String>,
    published: &'static str,
    same_bits: bool,
}

impl Demo {
    pub fn run(self) -> anyhow::Result<Outcome> {
        require_outputs(&given([("--plot", &self.plot)]).collect::<Vec<_>>(), &[])?;
        let configuration =
            nersc::parse(CONFIGURATION).context("the configuration of this program is damaged")?.configuration;
        let cpu = AnyBackend::from(Cpu::new(self.threads).context("failed to start the CPU reference")?);
        let mut solved = vec![cpu.install(|| solve_on(&cpu, &configuration))?];
        let (device, no_opencl) = self.device()?;
        let mut failed = None;
        if let Some(device) = device {
            announce(device.context().builds());
            say!("solving on {}; kernels that are not in the cache are built first", device.describe());
            match solve_on(&device.into(), &configuration) {
                Ok(on_device) => solved.push(on_device),
                Err(error) => failed = Some(format!("{error:#}")),
            }
        }
        let same_bits = failed.is_none() && solved.iter().all(|solved| solved.sha256 == PUBLISHED);
        let plaquette = configuration.plaquette();
        let found = Found { plaquette, solved, failed, no_opencl, published: PUBLISHED, same_bits };
        // If there is a device, it is the last one.
        let device = found.solved.last().map(|solved| solved.device.clone());
        if let Some(path) = &self.plot {
            write_figure(path, &picture(&found.solved[0].history))?;
        }
        show(self.json, Head::on(Kind::Demo, device), &found, Found::text)?;
        if let (Some(path), false) = (&self.plot, self.json) {
            print(format!("\nThe picture is {}.", path.display()))?;
        }
        Ok(if same_bits { Outcome::Done } else { Outcome::CheckFailed })
    }

    /// The OpenCL device, or why there is none.
    fn device(&self) -> anyhow::Result<(Option<OpenCl>, Option<String>)> {
        if self.device == DeviceChoice::Cpu {
            return Ok((None, Some("--device cpu was given".to_owned())));
        }
        Ok(match opencl_device(&self.device)? {
            Ok(device) if !device.fp64 => {
                (None, Some(format!("{} has no f64, which this solve needs", device.with_driver())))
            }
            Ok(device) => {
                let opened = OpenCl::open(&device);
                (Some(opened.with_context(|| format!("failed to open the device {}", device.name))?), None)
            }
            Err(reason) => (None, Some(reason)),
        })
    }
}

fn solve_on(backend: &AnyBackend, configuration: &Configuration) -> anyhow::Result<Solved> {
    let eta = gaussian(SEED, ArrayShape::Spinor, configuration.extents())?;
    let hop = HopParameters { boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME, ..HopParameters::default() };
    let how = WilsonSolve {
        operator: WilsonParameters { mass: MASS, hop },
        preconditioning: Preconditioning::EvenOdd,
        method: Method::ConjugateGradients,
        params: SolverParams::auto::<f64>(),
        lanes: backend.lanes(LaneChoice::Auto),
    };
    let report = solve::<f64, _, _>(backend, configuration, &eta, &how, |_, _| ())
        .with_context(|| format!("failed to solve on {}", backend.describe()))?;
    let history = report.info().history.clone();
    ensure!(report.unchecked.is_none(), "the solution on {} could not be checked", backend.describe());
    Ok(Solved {
        device: backend.device(),
        description: backend.describe(),
        iterations: report.info().iterations,
        seconds: report.seconds,
        building_seconds: report.building,
        solution_residual: report.rhs[0].solution_residual,
        sha256: hex::encode(Sha256::digest(history_bytes(&history)?)),
        history,
    })
}

fn time(solved: &Solved) -> String {
    match solved.building_seconds {
        0.0 => format!("{:.3} s", solved.seconds),
        seconds => format!("{:.3} s, and {seconds:.1} s for building kernels", solved.seconds),
    }
}

/// |r|/|b| after each iteration.
fn relative(history: &[f64]) -> impl Iterator<Item = (f32, f32)> {
    let start = history.first().copied().unwrap_or(1.0);
    history.iter().enumerate().map(move |(k, c)| (k as f32, (c / start).sqrt().log10() as f32))
}

impl Found {
    fn text(&self) -> String {
        let cpu = &self.solved[0];
        let points: Vec<(f32, f32)> = relative(&cpu.history).collect();
        let mut chart = Chart::new(140, 48, 0.0, cpu.iterations as f32);
        let shape = Shape::Lines(&points);
        let chart = chart.lineplot(&shape);
        chart.axis();
        chart.figures();
        let mut text = format!(
            "Wilson fermions, mass {MASS}, on a quenched configuration of 8³×16 sites at β = 6, plaquette {:.7}\n\
             log₁₀ |r|/|b| over the iterations of conjugate gradients, in f64:\n\n{chart}\n",
            self.plaquette
        );
        for solved in &self.solved {
            text += &facts([
                ("device", solved.description.clone()),
                ("iterations", format!("{}, |η − Mψ| / |η| = {:.2e}", solved.iterations, solved.solution_residual)),
                ("time", time(solved)),
                ("SHA-256 of history", solved.sha256.clone()),
            ]);
            text += "\n\n";
        }
        text += &facts([("published", self.published.to_owned())]);
        if let Some(error) = &self.failed {
            text += &format!("\n\nFAILED: {error}.");
            return text;
        }
        text += match (self.same_bits, self.solved.len()) {
            (true, 1) => "\n\nSame bits as published.",
            (true, _) => "\n\nSame bits: every |r|² on both is the published one, as a 64-bit integer.",
            (false, _) => "\n\nDIFFERENT: a history is not the published one.",
        };
        if let Some(reason) = &self.no_opencl {
            text += &format!("\nNo OpenCL device was used: {reason}.");
        }
        text
    }
}

fn picture(history: &[f64]) -> Drawing {
    let start = history.first().copied().unwrap_or(1.0);
    let points = history.iter().enumerate().map(|(k, c)| Point::new(k as f64, (c / start).sqrt())).collect();
    let mut panel = Panel::new(Axis::linear("iteration"), Axis::logarithmic("|r| / |b|"));
    panel.series.push(Series::line("", 0, points));
    let title = format!("Conjugate gradients in f64: Wilson fermions, mass {MASS}, 8³×16, β = 6").replace('-', "−");
    Figure::new(title, vec![panel]).draw()
}
