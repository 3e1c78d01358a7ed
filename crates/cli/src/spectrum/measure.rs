//! `lanefield spectrum measure`: propagators and correlators on one configuration after the other.

use lanefield::comm::WholeLattice;
use lanefield::io::claims;
use lanefield::io::configuration::ConfigurationFile;
use lanefield::io::npy::ArrayReal;
use lanefield::io::sidecar::ConfigurationInput;
use lanefield::observable::{
    CorrelatorProjection, Hadron, Momentum, PropagatorError, QuarkSource, Source, TwistAngle, Wuppertal, propagator,
    require_quark,
};
use lanefield::operator::AnyModel;
use lanefield::reference::field::list_of;
use lanefield::solver::{SolveError, SolverError, Stopped, Watchers};
use lanefield::statistics::mean;

use super::data::{Correlator, Data, Inputs, Measured, OfSource, UnderWay, name_of};
use crate::args::{HopArgs, OnLatticeArgs};
use crate::configuration::EnsembleArgs;
use crate::configuration::list::{Configurations, twice};
use crate::far_times;
use crate::files::{lock_file, require_outputs_but};
use crate::interrupt::{interrupted, keep};
use crate::numbers::count;
use crate::operator::{OnSpinors, OperatorArgs, check, json_of};
use crate::output::{facts, joined};
use crate::prelude::*;
use crate::progress::progress_bar;
use crate::solving::course::{SolverArgs, lay_out};
use crate::solving::long_run::{Interrupted, LongRun};
use crate::source::field::source_or_file;
use crate::source::quark::{Columns, Links, SmearArgs, SmearLinks};
use crate::twist::{self, TwistArgs};

/// Compute correlators of hadrons on configurations.
///
/// It computes propagators and correlators, and writes the correlators to a file, which grows with each configuration.
///
/// The up and down quarks have the same mass; disconnected contractions are left out. With twisted mass, mesons are charged, and the nucleon is a
/// proton, for which the equation is also solved with −μ.
///
/// --resume continues an interrupted run, also with more configurations. Several runs can share the configurations: spectrum fit accepts several
/// files. docs/agreement.md lists the conventions of other programs.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate heatbath --beta 5.7 --lattice 4.4.4.8 --seed 1 \\
      --thermalise 20 --sweeps 40 --every 10 --output two
  lanefield spectrum measure --config two/000030.nersc two/000040.nersc \\
      --operator wilson --mass 0.5 --source point:0,0,0,0 point:2,2,2,4 \\
      --smear-source 0.25,10 --momentum 1,0,0 --output smeared.json")]
pub struct Measure {
    #[command(flatten)]
    input: EnsembleArgs,
    /// Sources of the quarks, over which correlators are averaged: point:x,y,z,t; wall:t, 1 on a time slice; momentum:nx,ny,nz,t, exp(ip·x) on a time
    /// slice with p = 2πn/L; z2:SEED,t or z4:SEED,t, the same noise in each spin and colour on a time slice; or a file of twelve columns as in
    /// propagator
    #[arg(long = "source", value_name = "SOURCE", required = true, num_args = 1.., value_parser = source_or_file(Source::columns))]
    sources: Vec<Source>,
    #[command(flatten)]
    smear: SmearArgs,
    /// Smear the sink within its time slice (Wuppertal): ALPHA,STEPS
    #[arg(long, value_name = "ALPHA,STEPS", allow_hyphen_values = true)]
    smear_sink: Option<Wuppertal>,
    /// Hadrons to measure
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "pion,rho,a0,a1,b1,nucleon")]
    hadrons: Vec<Hadron>,
    /// Momentum in addition to 0,0,0, in units of 2π/L; can be repeated
    #[arg(long = "momentum", value_name = "X,Y,Z", allow_hyphen_values = true)]
    momenta: Vec<Momentum>,
    #[command(flatten)]
    operator: OperatorArgs<OnSpinors>,
    #[command(flatten)]
    twist: TwistArgs,
    #[command(flatten)]
    hop: HopArgs,
    #[command(flatten)]
    settings: SolverArgs,
    /// Write the correlators to this file, as JSON
    #[arg(long, help_heading = "Output", value_name = "FILE.json")]
    output: PathBuf,
    /// Resume the file, or start it if there is none: configurations that it contains are skipped
    #[arg(long, help_heading = "Output")]
    resume: bool,
    #[command(flatten)]
    on: OnLatticeArgs,
}

impl Measure {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let model = self.operator.model(&self.hop)?;
        let twist = self.twist.of(Some((model.name(), &json_of(&model))))?;
        let files = self.input.files()?;
        self.require_contractions(files.len())?;
        let of_sources = self.sources.iter().filter_map(|source| match source {
            Source::File(path) => Some(("--source", path.as_path())),
            _ => None,
        });
        let inputs = files.iter().map(|path| ("FILES", path.as_path())).chain(of_sources).chain(self.smear.file());
        let inputs: Vec<(&str, &Path)> = inputs.collect();
        require_outputs_but(&[("--output", &self.output)], &inputs, |_| Some(self.resume))?;
        match self.settings.precision {
            Precision::F32 => self.with_precision::<f32>((model, twist), &files),
            _ => self.with_precision::<f64>((model, twist), &files),
        }
    }

    /// Refuses correlators that the sources do not give.
    fn require_contractions(&self, files: usize) -> anyhow::Result<()> {
        self.smear.require_use(self.smear_sink.is_some())?;
        ensure!(
            files == 1 || !matches!(self.smear.smear_links, Some(SmearLinks::File(_))),
            "--smear-links names the links of one configuration, and there are {files}: give the smearing instead, as in spatial-ape:0.5,10, or measure one at a time"
        );
        for source in &self.sources {
            let is_moving = matches!(source, Source::Wall { momentum, .. } if *momentum != Momentum::ZERO);
            if self.hadrons.contains(&Hadron::Nucleon) {
                const WITHOUT: &str = "leave it out, as in --hadrons pion,rho,a0,a1,b1";
                ensure!(
                    !matches!(source, Source::Noise { .. }),
                    "the nucleon has no contraction from noise, of which the average of three equal numbers is not δ: {WITHOUT}, or use other sources than {source}"
                );
                ensure!(
                    !is_moving,
                    "three quarks from {source} have three times its momentum, and the nucleon is projected to another one: {WITHOUT}"
                );
            }
            ensure!(
                self.momenta.iter().all(|momentum| *momentum == Momentum::ZERO)
                    || matches!(source, Source::Point { .. }),
                "--momentum is for points: a quark and an antiquark from {source} have no momentum together, so that a correlator at another one is zero on average"
            );
        }
        Ok(())
    }

    fn with_precision<R: Vectors + ArrayReal>(&self, quark: Twisted, files: &[PathBuf]) -> anyhow::Result<Outcome> {
        check::<R>(&quark.0, !self.settings.unpreconditioned)?;
        require_quark(&quark.0)?;
        self.compute::<R>(quark, files)
    }

    fn compute<R: Vectors + ArrayReal>(&self, (model, twist): Twisted, files: &[PathBuf]) -> anyhow::Result<Outcome> {
        let configurations = Configurations::begin(files, self.input.read, &self.on.ranks)?;
        let lattice = configurations.lattice().clone();
        let extents = lattice.extents();
        let solve = self.settings.solve::<R, _>(model, Method::ConjugateGradients, self.on.backend.lanes);
        // One that does not fit is refused before a device is opened.
        configurations.first().map(|first| lay_out::<R, _>(&solve, &first.configuration)).transpose()?;
        let _lock = lattice.is_first().then(|| lock_file(&self.output)).transpose()?.flatten();
        let part = configurations.first().map_or(extents, |first| first.configuration.extents());
        let columns = |source: &Source| {
            let columns = Columns::read(source, part, &lattice)?;
            ensure!(
                columns.time().is_some(),
                "the source {source} lies in several time slices, and correlators count from one"
            );
            Ok(columns)
        };
        let sources = self.sources.iter().map(columns).collect::<anyhow::Result<Vec<_>>>()?;
        for (k, (source, given)) in sources.iter().zip(&self.sources).enumerate() {
            if let Some(j) = sources[..k].iter().position(|earlier| earlier.name() == source.name()) {
                bail!(
                    "--source {given} is the same source as {}: it would count twice; leave one of them out",
                    self.sources[j]
                );
            }
        }
        let links = self.smear.links(&self.input.read, &self.on.ranks, &lattice)?;
        let mut data = self.data::<R>((&model, twist), &solve, &lattice, (&sources, links.as_ref()))?;
        let there = data.configurations.len();
        let backend = self.on.open(&lattice, solve.method.device_precision::<R>())?;
        let bar = progress_bar();
        bar.set_length((files.len() * self.sources.len()) as u64);
        let mut stopped = false;
        for configuration in configurations {
            let (path, file) = configuration?;
            let input = ConfigurationInput::of(&file.configuration, &file.lattice)?;
            if !data.has(&input.sha256_of_links) {
                let correlators = backend.install(|| {
                    let of = (&sources[..], links.as_ref());
                    self.correlators::<R>(&backend, (&file, &input), of, solve, &mut data, &bar)
                });
                if correlators.as_ref().is_err_and(is_interrupted) {
                    stopped = true;
                    break;
                }
                let (correlators, relative_errors) =
                    correlators.with_context(|| format!("failed to measure on {}", path.display()))?;
                let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                let ConfigurationInput { sha256_of_links, plaquette, .. } = input;
                let measured = Measured { file, sha256_of_links, plaquette, relative_errors, correlators };
                if let Some(earlier) = data.configurations.iter().find(|earlier| measured.is_copy_of(earlier)) {
                    bail!("{}", twice(Path::new(&earlier.file), path));
                }
                data.configurations.push(measured);
                data.under_way = None;
                keep();
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
            let (done, file) = (data.configurations.len(), claims::written_to(&self.output));
            let (done_so_far, file) = (count(done, "configuration"), file.display());
            let sources = data.under_way.as_ref().map_or(0, |under_way| under_way.sources.len());
            let and = match sources {
                0 => String::new(),
                _ => format!(" and {sources} of {} sources of the next one", self.sources.len()),
            };
            match done + sources {
                0 => say!("interrupted: a signal ended the first configuration, and nothing was written: run it again"),
                _ => say!(
                    "interrupted: a signal ended the run after {done_so_far}{and}, all in {file}: the same command with --resume continues"
                ),
            }
            return Ok(Outcome::Done);
        }
        let relative_errors = far_times::largest(data.configurations.iter().map(|measured| &measured.relative_errors));
        far_times::warn(&relative_errors);
        let summary = Summary {
            file: self.output.display().to_string(),
            operator: model.describe(),
            basis: twist.map(TwistAngle::basis),
            twist_angle: twist,
            lattice: extents.as_array(),
            configurations: data.configurations.len(),
            new_configurations: data.configurations.len() - there,
            sources: self.sources.len(),
            hadrons: data.inputs.hadrons.clone(),
            relative_errors,
        };
        show(self.on.json, Head::on(Kind::SpectrumMeasure, backend.device()), &summary, Summary::text)
    }

    /// What was measured already, or nothing yet.
    fn data<R: Vectors>(
        &self,
        (model, twist_angle): (&AnyModel, Option<TwistAngle>),
        solve: &Solve<AnyModel>,
        lattice: &WholeLattice,
        (sources, smear_links): (&[Columns], Option<&Links>),
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
            sources: sources.iter().map(Columns::named).collect(),
            smear_links: smear_links.map(|links| links.description.clone()),
            source_smearing: self.smear.smear_source.map(|smearing| smearing.to_string()),
            sink_smearing: self.smear_sink.map(|smearing| smearing.to_string()),
            twist_angle,
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

    /// The correlators of a configuration, averaged over the sources, and the errors of their propagators by time. What a source gave is written as
    /// soon as it is there, and is taken from `data` if it was there before.
    fn correlators<R: Vectors + ArrayReal>(
        &self,
        backend: &AnyBackend,
        (file, input): (&ConfigurationFile, &ConfigurationInput),
        (sources, links): (&[Columns], Option<&Links>),
        mut solve: Solve<AnyModel>,
        data: &mut Data,
        bar: &indicatif::ProgressBar,
    ) -> anyhow::Result<(Vec<Correlator>, Vec<f64>)> {
        solve.lanes = backend.lanes(solve.lanes);
        let extents = file.configuration.extents();
        let twist = data.inputs.twist_angle;
        let baryons = data.inputs.hadrons.contains(&Hadron::Nucleon);
        let down = solve.operator.of_other_flavour().filter(|_| baryons).map(|operator| Solve { operator, ..solve });
        let mut of_sources = data.sources_of(&input.sha256_of_links);
        bar.inc(of_sources.len() as u64);
        let links = links.map(|links| links.on(backend, &file.configuration)).transpose()?;
        for source in &sources[of_sources.len()..] {
            let mut residuals = Vec::new();
            let source = source.of(self.smear.smear_source, links.as_ref());
            let mut quark = |solve: &Solve<AnyModel>, twist: Option<TwistAngle>| {
                let (mut s, relative_errors) = self.propagator::<R>(backend, file, solve, source.clone(), bar)?;
                twist.unwrap_or(TwistAngle::ZERO).rotate(&mut s);
                residuals.push(relative_errors);
                anyhow::Ok(s)
            };
            let up = quark(&solve, twist)?;
            let down = match &down {
                Some(down) => Some(quark(down, twist.map(TwistAngle::of_other_flavour))?),
                None => None,
            };
            let quarks = [&up, down.as_ref().unwrap_or(&up)].map(|s| &s[..]);
            let correlator = |(hadron, momentum): (Hadron, Momentum)| {
                let origin = match source.source {
                    Source::Point { position, .. } => position,
                    _ => [0, 0, 0, source.time().unwrap_or_default()],
                };
                let at = CorrelatorProjection { source: origin, momentum, lanes: solve.lanes };
                let correlator = hadron.correlator(backend, extents, quarks, at, self.hop.parameters().boundary);
                let correlator =
                    correlator.with_context(|| format!("{} has no correlator", name_of(hadron, momentum)))?;
                Ok(correlator.into_iter().map(|c| c.re).collect())
            };
            let correlators = data.kinds().map(correlator).collect::<anyhow::Result<_>>()?;
            of_sources.push(OfSource { correlators, relative_errors: residuals });
            bar.inc(1);
            if of_sources.len() < sources.len() {
                let sha256_of_links = input.sha256_of_links.clone();
                data.under_way = Some(UnderWay { sha256_of_links, sources: of_sources.clone() });
                keep();
                if file.lattice.is_first() {
                    data.write(&self.output)?;
                }
            }
        }
        let average = |k: usize| {
            let samples: Vec<&[f64]> = of_sources.iter().map(|of| &of.correlators[k][..]).collect();
            mean(&samples).unwrap_or_default()
        };
        let residuals = of_sources.iter().flat_map(|of| &of.relative_errors);
        let kinds = data.kinds().enumerate();
        let correlators = kinds.map(|(k, (hadron, momentum))| Correlator { hadron, momentum, values: average(k) });
        Ok((correlators.collect(), far_times::largest(residuals)))
    }

    /// The propagator from a source, whose residuals were computed anew, and its errors by time.
    fn propagator<R: Vectors + ArrayReal>(
        &self,
        backend: &AnyBackend,
        file: &ConfigurationFile,
        solve: &Solve<AnyModel>,
        source: QuarkSource<'_>,
        bar: &indicatif::ProgressBar,
    ) -> anyhow::Result<(Vec<Complex<f64>>, Vec<f64>)> {
        let mut watch = |iteration: usize, c: f64| bar.set_message(format!("iteration {iteration}, |r|² {c:.1e}"));
        let mut long_run = LongRun::of(&file.lattice);
        let mut watcher = Watchers::default().with(Some(&mut long_run)).with(Some(&mut watch));
        let solved = propagator::<R, _, _>(backend, &file.configuration, source.clone(), solve, &mut watcher, None);
        let mut report = solved.map_err(|error| match error {
            PropagatorError::Solve(error) => anyhow::Error::from(*error),
            error => error.into(),
        })?;
        report.require_intact()?;
        if let Some(why) = &report.unchecked {
            bail!("the solution could not be checked, so that it may be wrong: {why}");
        }
        let s = match self.smear_sink {
            Some(smearing) => {
                let links = source.links.unwrap_or(&file.configuration);
                smearing.smear_sink(backend, links, self.hop.boundary, &report.solution)?
            }
            None => {
                let words = report.solution.iter().map(|z| Complex::new(z.re.to_f64(), z.im.to_f64()));
                list_of(|| "a propagator in f64".to_owned(), report.solution.len(), words)?
            }
        };
        Ok((s, std::mem::take(&mut report.relative_errors)))
    }
}

/// Whether a signal ended a solve.
fn is_interrupted(error: &anyhow::Error) -> bool {
    let stopped = match error.downcast_ref() {
        Some(SolveError::Recurrence(SolverError::Stopped(Stopped(error)))) => error,
        _ => return false,
    };
    stopped.is::<Interrupted>()
}

/// An operator, and the twist angle that its hadrons have.
type Twisted = (AnyModel, Option<TwistAngle>);

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
    /// `physical` or `twisted`, of twisted mass; null of others, and so is the angle in degrees.
    basis: Option<&'static str>,
    twist_angle: Option<TwistAngle>,
    lattice: [usize; 4],
    /// That the file has now.
    configurations: usize,
    /// Of these, measured by this run.
    new_configurations: usize,
    /// Over which correlators were averaged.
    sources: usize,
    hadrons: Vec<Hadron>,
    /// The largest of all configurations, at times from the source.
    relative_errors: Vec<f64>,
}

impl Summary {
    fn text(&self) -> String {
        let hadrons: Vec<&str> = self.hadrons.iter().map(|hadron| hadron.name()).collect();
        let rows = [("operator", self.operator.clone())].into_iter();
        let rows = rows.chain(self.twist_angle.map(|angle| ("basis", twist::describe(angle)))).chain([
            ("lattice", joined(&self.lattice, ".")),
            ("configurations", format!("{}, {} of them new", self.configurations, self.new_configurations)),
            ("sources", format!("{} on each", self.sources)),
            ("hadrons", hadrons.join(", ")),
        ]);
        let rows = rows.chain(far_times::describe(&self.relative_errors).map(|error| ("far times", error)));
        format!("{}\n{}", self.file, facts(rows))
    }
}
