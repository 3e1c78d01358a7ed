//! `lanefield config generate heatbath`: generates configurations of the pure gauge theory in a directory, with the plaquette after each sweep.

use lanefield::comm::WholeLattice;
use lanefield::gauge::{
    Action, Ensemble, EnsembleParameters, Quenched, QuenchedError, QuenchedImproved, QuenchedParameters,
};
use lanefield::statistics::{Autocorrelation, mean};

use crate::args::{OnLatticeArgs, finite};
use crate::configuration::require_memory;
use crate::interrupt::{heed_requests, interrupted, keep, takes_request};
use crate::numbers::with_error;
use crate::output::{facts, joined};
use crate::prelude::*;
use crate::progress::progress_bar;

/// Generate quenched configurations by heat bath and overrelaxation.
///
/// The links have the same bits on every device and any number of ranks.
///
/// After --thermalise sweeps, a configuration is written to DIR every --every sweeps, and named by its sweep. With --thermalise 100 --every 30, the
/// first is 000130.nersc. The plaquette after each sweep is in history.csv.
///
/// --resume continues an interrupted run, to the bits of a run without interruption; a larger --sweeps extends it. Only one process at a time writes
/// to DIR, and each configuration names its ensemble.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate heatbath --beta 5.7 --lattice 4.4.4.8 --seed 1 \\
      --thermalise 20 --sweeps 60 --every 10 --output ensemble
  lanefield config generate heatbath --beta 5.7 --lattice 4.4.4.8 --seed 1 \\
      --thermalise 20 --sweeps 80 --every 10 --output ensemble --resume
  lanefield config generate heatbath --action symanzik --beta 4.5 --seed 1 \\
      --lattice 4.4.4.8 --sweeps 4 --every 2 --output improved")]
pub struct Heatbath {
    /// Gauge action: wilson; or with rectangles, symanzik (c1 = -1/12) or iwasaki (c1 = -0.331). Actions with rectangles require f64, and extents
    /// that are multiples of 4
    #[arg(long, value_name = "ACTION", default_value_t)]
    action: Action,
    /// Coupling β of the action: β Σ (c0 plaquettes + c1 rectangles) with c0 = 1 − 8 c1
    #[arg(long, value_name = "BETA", value_parser = beta)]
    beta: f64,
    /// Extents of the lattice, all even
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Extents,
    /// Total number of heat bath sweeps, including those before --resume
    #[arg(long, value_name = "N")]
    sweeps: u64,
    /// Number of overrelaxation sweeps after each heat bath sweep
    #[arg(long, value_name = "N", default_value = "4")]
    overrelax: usize,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", value_parser = crate::args::seed)]
    seed: u64,
    /// Number of thermalisation sweeps: the first configuration is written --every sweeps later
    #[arg(long, value_name = "N", default_value = "0")]
    thermalise: u64,
    /// Number of sweeps between configurations
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Starting configuration
    #[arg(long, value_enum, default_value_t = Start::Hot)]
    start: Start,
    /// Working precision: configurations are stored in f64
    #[arg(long, value_name = "PRECISION", default_value = "f64", value_parser = crate::args::of_arithmetic())]
    precision: Precision,
    /// Directory to write, which must be empty or not exist
    #[arg(long, help_heading = "Output", value_name = "DIR")]
    output: PathBuf,
    /// Resume the ensemble in the directory, or start one if there is none
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    on: OnLatticeArgs,
}

fn beta(text: &str) -> Result<f64, String> {
    let value = finite(text).ok().filter(|&beta| beta >= 0.0);
    value.ok_or_else(|| format!("invalid β '{text}': expected a finite number from 0 on"))
}

/// Starting configuration of an ensemble.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Start {
    /// Every link is 1
    Unit,
    /// Random links, uniform in SU(3)
    Hot,
}

impl Heatbath {
    pub fn run(self) -> anyhow::Result<Outcome> {
        ensure!(
            self.action == Action::Wilson || self.precision == Precision::F64,
            "--precision {} is for --action wilson: {} has its heat bath in f64",
            self.precision,
            self.action
        );
        let first = self.thermalise.saturating_add(self.every);
        ensure!(
            self.sweeps >= first,
            "--sweeps {} would keep no configuration: the first one is kept after sweep {first}, --thermalise and --every together",
            self.sweeps
        );
        let lattice = self.on.ranks.lattice(self.lattice)?;
        require_memory(lattice.part())?;
        Lattice::new(self.lattice, Scalar::ComplexD, LatticeOptions::default())?.check(Sites::Parity(Parity::Even))?;
        let parameters = EnsembleParameters {
            action: self.action.to_string(),
            beta: self.beta,
            lattice: self.lattice.as_array(),
            start: crate::args::name_of(self.start),
            overrelaxations: self.overrelax,
            seed: self.seed,
            precision: self.precision,
            thermalisation: self.thermalise,
            every: self.every,
        };
        // As rank 0 sees it, because it creates the directory.
        let is_there = lattice.is_first() && self.output.join("ensemble.json").exists();
        let resumes = self.resume && lattice.communicator().any(is_there)?;
        let (ensemble, last) = match resumes {
            true => Ensemble::resume(&self.output, parameters, lattice.clone())?,
            false => (Ensemble::begin(&self.output, parameters, lattice.clone())?, None),
        };
        let backend = self.on.open(&lattice, self.precision)?;
        let (sweeps, configuration) = last.unwrap_or_else(|| {
            let configuration = match self.start {
                Start::Unit => Configuration::unit(lattice.part()),
                Start::Hot => Configuration::hot(lattice.part(), self.seed),
            };
            (0, configuration)
        });
        let parameters = QuenchedParameters { beta: self.beta, overrelaxations: self.overrelax, seed: self.seed };
        let (lanes, of_action) = (self.on.backend.lanes, (self.action, parameters));
        let prepare = "failed to prepare the gauge field";
        backend.install(|| match (self.action, self.precision) {
            (Action::Wilson, Precision::F32) => {
                let field = Quenched::<_, f32>::new(&backend, &configuration, parameters, sweeps, lanes);
                self.evolve(field.context(prepare)?, &lattice, ensemble)
            }
            (Action::Wilson, _) => {
                let field = Quenched::<_, f64>::new(&backend, &configuration, parameters, sweeps, lanes);
                self.evolve(field.context(prepare)?, &lattice, ensemble)
            }
            _ => {
                let field = QuenchedImproved::new(&backend, &configuration, of_action, sweeps, lanes);
                self.evolve(field.context(prepare)?, &lattice, ensemble)
            }
        })
    }

    fn evolve(
        &self,
        mut field: impl Evolved,
        lattice: &WholeLattice,
        mut ensemble: Ensemble,
    ) -> anyhow::Result<Outcome> {
        heed_requests();
        let bar = progress_bar();
        bar.set_length(self.sweeps);
        let mut kept = Vec::new();
        while field.sweeps() < self.sweeps {
            field.sweep().with_context(|| format!("failed in sweep {}", field.sweeps() + 1))?;
            let plaquette = field.plaquette()?;
            ensemble.add(plaquette);
            bar.set_position(field.sweeps());
            bar.set_message(format!("plaquette {plaquette:.6}"));
            let stopped = lattice.communicator().any(interrupted())?;
            let saves = lattice.communicator().any(takes_request())?;
            if ensemble.keeps(field.sweeps()) {
                kept.push(ensemble.keep(&field.configuration()?)?.display().to_string());
            } else if stopped || saves || field.sweeps() == self.sweeps {
                ensemble.stop(&field.configuration()?)?;
            }
            if saves {
                say!("checkpoint after sweep {}, in {}", field.sweeps(), self.output.display());
            }
            if stopped {
                bar.finish_and_clear();
                let sweeps = field.sweeps();
                say!(
                    "interrupted: a signal ended the run after sweep {sweeps}: the same command with --resume continues"
                );
                return Ok(Outcome::Done);
            }
            keep();
        }
        bar.finish_and_clear();
        let summary = Summary::of(&ensemble, kept);
        show(self.on.json, Head::of(Kind::Ensemble), &summary, Summary::text)
    }
}

/// A field in its evolution, for any action.
trait Evolved {
    fn sweeps(&self) -> u64;
    fn sweep(&mut self) -> Result<(), QuenchedError>;
    fn plaquette(&mut self) -> Result<f64, QuenchedError>;
    fn configuration(&self) -> Result<Configuration, QuenchedError>;
}

impl<R: Vectors> Evolved for Quenched<'_, AnyBackend, R> {
    fn sweeps(&self) -> u64 {
        self.sweeps()
    }
    fn sweep(&mut self) -> Result<(), QuenchedError> {
        self.sweep()
    }
    fn plaquette(&mut self) -> Result<f64, QuenchedError> {
        Ok(self.plaquette()?)
    }
    fn configuration(&self) -> Result<Configuration, QuenchedError> {
        self.configuration()
    }
}

impl Evolved for QuenchedImproved<'_, AnyBackend> {
    fn sweeps(&self) -> u64 {
        self.sweeps()
    }
    fn sweep(&mut self) -> Result<(), QuenchedError> {
        self.sweep()
    }
    fn plaquette(&mut self) -> Result<f64, QuenchedError> {
        Ok(self.field().plaquettes()?.all)
    }
    fn configuration(&self) -> Result<Configuration, QuenchedError> {
        Ok(self.field().configuration()?)
    }
}

/// The summary of an ensemble. As JSON, these fields.
#[derive(Serialize)]
struct Summary {
    ensemble: EnsembleParameters,
    sweeps: usize,
    /// The mean plaquette after thermalisation, or null.
    plaquette: Option<f64>,
    /// Its error, which includes autocorrelation; null if the run is too short.
    plaquette_error: Option<f64>,
    /// That of the plaquette, in sweeps; null if the run is too short.
    integrated_autocorrelation_time: Option<f64>,
    integrated_autocorrelation_time_error: Option<f64>,
    /// The configurations that this run generated.
    configurations: Vec<String>,
}

impl Summary {
    fn of(ensemble: &Ensemble, configurations: Vec<String>) -> Self {
        let history = ensemble.history();
        let thermalisation = usize::try_from(ensemble.parameters().thermalisation).unwrap_or(usize::MAX);
        let after = history.get(thermalisation..).unwrap_or_default();
        let numbers: Vec<[f64; 1]> = after.iter().map(|&plaquette| [plaquette]).collect();
        let autocorrelation = Autocorrelation::of(after);
        Self {
            ensemble: ensemble.parameters().clone(),
            sweeps: history.len(),
            plaquette: mean(&numbers).map(|mean| mean[0]),
            plaquette_error: autocorrelation.map(|found| found.error),
            integrated_autocorrelation_time: autocorrelation.map(|found| found.time),
            integrated_autocorrelation_time_error: autocorrelation.map(|found| found.time_error),
            configurations,
        }
    }

    fn text(&self) -> String {
        let EnsembleParameters { action, beta, lattice, .. } = &self.ensemble;
        let mut rows = vec![
            ("ensemble", format!("quenched {action}, beta {beta}, {}", joined(lattice, "."))),
            ("sweeps", self.sweeps.to_string()),
        ];
        if let Some(plaquette) = self.plaquette {
            rows.push(("plaquette", with_error(plaquette, self.plaquette_error)));
        }
        if let Some(time) = self.integrated_autocorrelation_time {
            let time = with_error(time, self.integrated_autocorrelation_time_error);
            rows.push(("autocorrelation time", format!("{time} sweeps (integrated)")));
        }
        rows.push(("new configurations", self.configurations.len().to_string()));
        facts(rows)
    }
}
