//! `lanefield spectrum measure`: propagators and correlators on one configuration after the other.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use lanefield::backend::Memory as _;
use lanefield::comm::WholeLattice;
use lanefield::dynamic::AnyBackend;
use lanefield::io::npy::ArrayReal;
use lanefield::io::sidecar::ConfigurationInput;
use lanefield::observable::{
    Hadron, Momentum, PointSource, Projection, PropagatorError, Wuppertal, propagator, require_inside, require_quark,
};
use lanefield::operator::{AnyModel, HopParameters};
use lanefield::reference::field::list_of;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::real::Precision;
use lanefield::solver::{Method, Solve};
use lanefield::statistics::mean;
use lanefield_lab::Timed as _;
use num_complex::Complex;
use serde::Serialize;

use super::data::{Correlator, Data, Inputs, Measured};
use crate::Outcome;
use crate::args::{BackendArgs, HopArgs};
use crate::configurations::{Configurations, files_of};
use crate::files::{ConfigurationFile, require_outputs_but};
use crate::interrupt::{interrupted, keep};
use crate::operator::{OnSpinors, OperatorArgs, check, json_of};
use crate::output::{Head, Kind, facts, joined, show};
use crate::progress::progress_bar;
use crate::ranks::RanksArgs;
use crate::solver::{SolverArgs, lay_out};
use crate::source::Point;

/// Compute propagators and correlators of hadrons on configurations, and write them to a file, which grows with each configuration.
///
/// The quark masses of up and down are the same; disconnected contractions are left out. A run that was ended goes on with --resume, also with more
/// configurations. Several runs can share the configurations: spectrum fit takes several files.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate heatbath --beta 5.7 --lattice 4.4.4.8 --seed 1 \\
      --thermalise 20 --sweeps 40 --every 10 --output two
  lanefield spectrum measure two/000030.nersc two/000040.nersc \\
      --operator wilson --mass 0.5 --source point:0,0,0,0 point:2,2,2,4 \\
      --smear-source 0.25,10 --momentum 1,0,0 --output smeared.json")]
pub struct Measure {
    /// The configurations: NERSC, ILDG, SciDAC or MILC files, NumPy arrays (T, Z, Y, X, 4, 3, 3) if they end in .npy, or the directory of an ensemble
    #[arg(value_name = "FILES", required = true)]
    configurations: Vec<PathBuf>,
    /// The point from which the quarks propagate, or several, over which correlators are averaged
    #[arg(long = "source", value_name = "point:x,y,z,t", required = true, num_args = 1..)]
    sources: Vec<Point>,
    /// Smear the source about the point within its time slice (Wuppertal): ALPHA,STEPS
    #[arg(long, value_name = "ALPHA,STEPS")]
    smear_source: Option<Wuppertal>,
    /// Smear the sink alike
    #[arg(long, value_name = "ALPHA,STEPS")]
    smear_sink: Option<Wuppertal>,
    /// Which hadrons
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "pion,rho,a0,a1,b1,nucleon")]
    hadrons: Vec<Hadron>,
    /// A momentum beside 0,0,0, in units of 2π/L; once for each
    #[arg(long = "momentum", value_name = "X,Y,Z", allow_hyphen_values = true)]
    momenta: Vec<Momentum>,
    #[command(flatten)]
    operator: OperatorArgs<OnSpinors>,
    #[command(flatten)]
    hop: HopArgs,
    #[command(flatten)]
    settings: SolverArgs,
    /// Write the correlators to this file, as JSON
    #[arg(long, value_name = "FILE.json")]
    output: PathBuf,
    /// Go on with the file, or begin it if there is none: configurations that it has are left out
    #[arg(long)]
    resume: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    backend: BackendArgs,
    #[command(flatten)]
    ranks: RanksArgs,
}

impl Measure {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let model = self.operator.model(&self.hop)?;
        let files = files_of(&self.configurations)?;
        let inputs: Vec<(&str, &Path)> = files.iter().map(|path| ("FILES", path.as_path())).collect();
        require_outputs_but(&[("--output", &self.output)], &inputs, |_| self.resume)?;
        match self.settings.precision {
            Precision::F32 => self.with_precision::<f32>(model, &files),
            _ => self.with_precision::<f64>(model, &files),
        }
    }

    fn with_precision<R: Vectors + ArrayReal>(&self, model: AnyModel, files: &[PathBuf]) -> anyhow::Result<Outcome> {
        check::<R>(&model, !self.settings.unpreconditioned)?;
        require_quark(&model)?;
        self.compute::<R>(model, files)
    }

    fn compute<R: Vectors + ArrayReal>(&self, model: AnyModel, files: &[PathBuf]) -> anyhow::Result<Outcome> {
        let configurations = Configurations::begin(files, &self.ranks)?;
        let lattice = configurations.lattice().clone();
        let extents = lattice.extents();
        self.sources.iter().try_for_each(|source| require_inside(extents, source.0))?;
        let solve = self.settings.solve::<R, _>(model, Method::ConjugateGradients, self.backend.lanes);
        // One that does not fit is refused before a device is opened.
        configurations.first().map(|first| lay_out::<R, _>(&solve, &first.configuration)).transpose()?;
        let mut data = self.data::<R>(&model, &solve, &lattice)?;
        let there = data.configurations.len();
        let backend = self.backend.open_on(&lattice, &self.ranks)?;
        let bar = progress_bar();
        bar.set_length((files.len() * self.sources.len()) as u64);
        let mut stopped = false;
        for configuration in configurations {
            let (path, file) = configuration?;
            let input = ConfigurationInput::of(&file.configuration, &file.lattice)?;
            if !data.has(&input.sha256_of_links) {
                let correlators = backend.install(|| self.correlators::<R>(&backend, &file, solve, &data, &bar));
                let correlators = correlators.with_context(|| format!("failed to measure on {}", path.display()))?;
                let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                let ConfigurationInput { sha256_of_links, plaquette, .. } = input;
                data.configurations.push(Measured { file, sha256_of_links, plaquette, correlators });
                if lattice.is_first() {
                    data.write(&self.output)?;
                }
            } else {
                bar.inc(self.sources.len() as u64);
            }
            keep();
            if lattice.communicator().any(interrupted())? {
                stopped = true;
                break;
            }
        }
        bar.finish_and_clear();
        if stopped {
            say!("a signal ended the run after {} configurations: --resume goes on with it", data.configurations.len());
            return Ok(Outcome::Done);
        }
        let summary = Summary {
            file: self.output.display().to_string(),
            operator: model.describe(),
            lattice: extents.as_array(),
            configurations: data.configurations.len(),
            new_configurations: data.configurations.len() - there,
            sources: self.sources.len(),
            hadrons: data.inputs.hadrons.clone(),
        };
        show(self.json, Head::on(Kind::SpectrumMeasure, backend.device()), &summary, Summary::text)
    }

    /// What was measured already, or nothing yet.
    fn data<R: Vectors>(
        &self,
        model: &AnyModel,
        solve: &Solve<AnyModel>,
        lattice: &WholeLattice,
    ) -> anyhow::Result<Data> {
        let HopParameters { boundary, links, legs } = self.hop.parameters();
        let mut momenta = vec![Momentum::ZERO];
        momenta.extend(&self.momenta);
        let inputs = Inputs {
            lattice: lattice.extents().as_array(),
            operator: model.name().to_owned(),
            parameters: json_of(model),
            boundary: boundary.to_string(),
            reconstruct: links.reals(),
            legs: legs.to_string(),
            precision: R::NAME.to_owned(),
            tolerance: solve.params.tolerance,
            preconditioning: solve.preconditioning.name().to_owned(),
            sources: self.sources.iter().map(|source| source.0).collect(),
            source_smearing: self.smear_source.map(|smearing| smearing.to_string()),
            sink_smearing: self.smear_sink.map(|smearing| smearing.to_string()),
            hadrons: once(&self.hadrons),
            momenta: once(&momenta),
        };
        // As rank 0 sees it, which writes the file.
        let is_there = lattice.is_first() && self.output.exists();
        if !(self.resume && lattice.communicator().any(is_there)?) {
            return Ok(Data::new(inputs));
        }
        let data = Data::read(&self.output)?;
        data.require_same(&inputs, [&format!("--output {}", self.output.display()), "this run"])?;
        Ok(data)
    }

    /// The correlators of a configuration, averaged over the sources.
    fn correlators<R: Vectors + ArrayReal>(
        &self,
        backend: &AnyBackend,
        file: &ConfigurationFile,
        mut solve: Solve<AnyModel>,
        data: &Data,
        bar: &indicatif::ProgressBar,
    ) -> anyhow::Result<Vec<Correlator>> {
        solve.lanes = backend.lanes(solve.lanes);
        let extents = file.configuration.extents();
        let mut of_sources: Vec<Vec<Vec<f64>>> = Vec::new();
        for source in &self.sources {
            let source = PointSource { point: source.0, smearing: self.smear_source };
            let s = self.propagator::<R>(backend, file, &solve, source, bar)?;
            let correlator = |(hadron, momentum): (Hadron, Momentum)| {
                let at = Projection { source: source.point, momentum, lanes: solve.lanes };
                let correlator = hadron.correlator(backend, extents, &s, at, self.hop.parameters().boundary)?;
                Ok(correlator.into_iter().map(|c| c.re).collect())
            };
            of_sources.push(data.kinds().map(correlator).collect::<anyhow::Result<_>>()?);
            bar.inc(1);
        }
        let average = |k: usize| {
            let samples: Vec<&[f64]> = of_sources.iter().map(|correlators| &correlators[k][..]).collect();
            mean(&samples).unwrap_or_default()
        };
        let kinds = data.kinds().enumerate();
        Ok(kinds.map(|(k, (hadron, momentum))| Correlator { hadron, momentum, values: average(k) }).collect())
    }

    /// The propagator from a source, whose residuals were computed anew.
    fn propagator<R: Vectors + ArrayReal>(
        &self,
        backend: &AnyBackend,
        file: &ConfigurationFile,
        solve: &Solve<AnyModel>,
        source: PointSource,
        bar: &indicatif::ProgressBar,
    ) -> anyhow::Result<Vec<Complex<f64>>> {
        let mut watch = |iteration: usize, c: f64| bar.set_message(format!("iteration {iteration}, |r|² {c:.1e}"));
        let solved = propagator::<R, _, _>(backend, &file.configuration, source, solve, &mut watch, None);
        let report = solved.map_err(|error| match error {
            PropagatorError::Solve(error) => anyhow::Error::from(*error),
            error => error.into(),
        })?;
        report.require_intact()?;
        if let Some(why) = &report.unchecked {
            bail!("the solution could not be checked, so that it may be wrong: {why}");
        }
        match self.smear_sink {
            Some(smearing) => Ok(smearing.smear_sink(backend, &file.configuration, &report.solution)?),
            None => {
                let words = report.solution.iter().map(|z| Complex::new(z.re.to_f64(), z.im.to_f64()));
                Ok(list_of(|| "a propagator in f64".to_owned(), report.solution.len(), words)?)
            }
        }
    }
}

/// Each once, in the order in which they come.
fn once<T: Copy + PartialEq>(given: &[T]) -> Vec<T> {
    let mut kept = Vec::new();
    for one in given {
        if !kept.contains(one) {
            kept.push(*one);
        }
    }
    kept
}

/// What was measured. As JSON, these fields.
#[derive(Serialize)]
struct Summary {
    file: String,
    operator: String,
    lattice: [usize; 4],
    /// That the file has now.
    configurations: usize,
    /// Of these, measured by this run.
    new_configurations: usize,
    /// Over which correlators were averaged.
    sources: usize,
    hadrons: Vec<Hadron>,
}

impl Summary {
    fn text(&self) -> String {
        let hadrons: Vec<&str> = self.hadrons.iter().map(|hadron| hadron.name()).collect();
        let rows = [
            ("operator", self.operator.clone()),
            ("lattice", joined(&self.lattice, ".")),
            ("configurations", format!("{}, {} of them new", self.configurations, self.new_configurations)),
            ("sources", format!("{} on each", self.sources)),
            ("hadrons", hadrons.join(", ")),
        ];
        format!("{}\n{}", self.file, facts(rows))
    }
}
