//! `lanefield solve`: M ψ = η for any operator, in any solver, with the residual history that can be compared as integers; checkpoints and
//! records for long runs.

mod plot;
mod summary;

use lanefield::dynamic::ArrayShape;
use lanefield::io::configuration::ConfigurationFile;
use lanefield::io::configuration::is_stream;
use lanefield::io::identity::Identity;
use lanefield::io::npy::ArrayReal;
use lanefield::observable::Quark as _;
use lanefield::observable::Source;
use lanefield::operator::AnyModel;
use lanefield::reference::kernels::reduce::Sum;
use lanefield::solver::{
    DescribedSolve, Digests, Eigenpairs, Solve as How, SolveError, Watchers, identity, solve_deflated,
    solve_with_shifts,
};
use lanefield_figure::short;
use lanefield_lab::bandwidth::Operation;
use lanefield_lab::trace::{Group, span};

use super::args::{BackendArgs, HopArgs, SumArgs, SumKind, of_methods};
use super::array_output::{self, ArrayOutput};
use super::fields::{shape_of_model, write_field};
use super::files::{figure, given, named, npy_name, write_figure};
use super::operator::{Invertible, OperatorArgs, check, json_of};
use super::ranks;
use crate::prelude::*;
use crate::solving::course::{SolverArgs, changed_inputs, lay_out};
use crate::solving::deflation::{Deflating, DeflationArgs};
use crate::solving::long_run::{LongRun, LongRunArgs, differs};
use crate::solving::residual_history::{Progress, write_batch_history, write_history};
use crate::source::field::{InputArgs, Loaded, input_of, require_in_range};
use summary::Summary;

/// Solve M ψ = η for an operator and a source.
///
/// The residual history is the same to the last bit on every device.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 8.8.8.8 --seed 1 --output weak.nersc
  lanefield solve --config weak.nersc --source gauss:7 --mass 0.1 \\
      --history history.csv --plot history.pdf
  lanefield solve --config weak.nersc --source point:0,0,0,0,0,0 --mass 0.1 \\
      --precision f32 --output x.npy --device cpu
  lanefield solve --config weak.nersc --source gauss:7 --mass 0.1 \\
      --tolerance 1e-8 --unpreconditioned --json
  lanefield solve --operator clover --csw 1.3 --config weak.nersc --mass 0.1 \\
      --source gauss:7 --batch 3 --history batch.csv
  lanefield solve --config weak.nersc --source gauss:7 --mass -0.1 --batch 6 \\
      --solver block-cg --json
  lanefield solve --operator staggered --config weak.nersc --mass 0.05 \\
      --source gauss:7 --shifts 0,0.01,0.1 --output shifts.npy
  lanefield solve --operator hisq --config weak.nersc --mass 0.05 \\
      --source gauss:7 --shifts 0,0.01,0.1
  lanefield solve --operator dwf --ls 4 --config weak.nersc --mass 0.1 \\
      --source point:0,0,0,0,0,0 --solver mixed-f32 --output dwf.npy
  lanefield solve --config weak.nersc --source gauss:7 --mass 0.1 \\
      --checkpoint state --checkpoint-every 20 --resume --output y.npy
  lanefield solve --config weak.nersc --source gauss:7 --mass 0.1 \\
      --record record.jsonl
  lanefield solve --config weak.nersc --source gauss:7 --mass 0.1 \\
      --verify record.jsonl --device cpu --threads 1")]
pub struct Solve {
    #[command(flatten)]
    operator: OperatorArgs<Invertible>,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    hop: HopArgs,
    /// Number of right-hand sides that cg or block-cg solves together: with --source gauss:SEED, those of SEED, SEED + 1, …
    #[arg(long, help_heading = "Solver", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    batch: Option<u16>,
    /// Solve (A + σ) ψ = η for each of these σ at once, with cg. A is the operator that cg inverts: Mpc†Mpc, on the odd sites of the source, or M†M
    /// with --unpreconditioned. If Mpc or M is positive definite, A is that operator itself, so that for staggered operators σ is added to the square
    /// of the mass
    #[arg(
        long,
        help_heading = "Solver",
        value_name = "S1,S2,…",
        value_delimiter = ',',
        value_parser = shift,
        allow_negative_numbers = true,
        conflicts_with = "batch"
    )]
    shifts: Option<Vec<f64>>,
    /// Solver of the system
    #[arg(long, help_heading = "Solver", value_name = "SOLVER", default_value = "cg", value_parser = of_methods(&Method::ALL))]
    solver: Method,
    #[command(flatten)]
    settings: SolverArgs,
    #[command(flatten)]
    deflation: DeflationArgs,
    /// Write the solution as a NumPy array. It has the shape of the source, complex64 for f32 and complex128 for f64, and X.npy.json describes it.
    /// With --batch, the first axis is that of the right-hand sides, with --shifts that of the shifts
    #[arg(long, help_heading = "Output", value_name = "X.npy", value_parser = named(npy_name))]
    output: Option<PathBuf>,
    /// Write the history as CSV: iteration, squared residual |r|², and the 16 hex digits of that double; with --batch or --shifts, the number of the
    /// right-hand side or shift comes first. Without --batch, it is also written when the solver does not converge or a signal ends it
    #[arg(long, help_heading = "Output", value_name = "H.csv")]
    history: Option<PathBuf>,
    /// Draw |r|²/|b|² over the iterations of each right-hand side or shift: .svg, .pdf or .png. It is also drawn when the solver does not converge
    #[arg(long, help_heading = "Output", value_name = "FILE", value_parser = named(figure))]
    plot: Option<PathBuf>,
    /// Compare the memory traffic with the copy bandwidth: it is measured after the solve
    #[arg(long, help_heading = "Output")]
    bandwidth: bool,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    long_run: LongRunArgs,
    #[command(flatten)]
    sums: SumArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

fn shift(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite());
    value.ok_or_else(|| format!("invalid shift '{text}': expected a finite number, as 0.1"))
}

impl Solve {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let model = self.operator.model(&self.hop)?;
        ensure!(
            self.settings.precision == Precision::F64 || !self.solver.is_mixed(),
            "--solver {} computes solutions in f64: leave out --precision {}, or use --solver cg",
            self.solver.name(),
            self.settings.precision
        );
        ensure!(
            self.batch.is_none() || self.solver.takes_several(),
            "--batch is for --solver cg and block-cg; {} takes one right-hand side",
            self.solver.name()
        );
        ensure!(
            self.shifts.is_none() || self.solver == Method::ConjugateGradients,
            "--shifts is for --solver cg; {} solves one system",
            self.solver.name()
        );
        ensure!(
            self.deflation.deflate.is_none() || self.shifts.is_none(),
            "--deflate has eigenvectors of one system, and --shifts makes several: leave one of them out"
        );
        ensure!(
            self.deflation.deflate.is_none() || self.solver != Method::BiCgStab,
            "--deflate is for solvers of the normal equations; bicgstab solves the operator itself"
        );
        let outputs: Vec<(&str, &Path)> =
            given([("--history", &self.history), ("--plot", &self.plot)]).chain(self.long_run.outputs()).collect();
        let inputs: Vec<(&str, &Path)> =
            self.input.files().into_iter().chain(self.long_run.inputs()).chain(self.deflation.inputs()).collect();
        let resumes = |argument: &str| self.long_run.resumes(argument);
        array_output::require_outputs(self.output.as_deref(), &outputs, &inputs, resumes)?;
        match self.settings.precision {
            Precision::F32 => self.solve::<f32>(model),
            _ => self.solve::<f64>(model),
        }
    }

    fn solve<R: Vectors + ArrayReal>(&self, model: AnyModel) -> anyhow::Result<Outcome> {
        check::<R>(&model, !self.settings.unpreconditioned)?;
        let (file, eta) = self.inputs(model)?;
        let configuration = &file.configuration;
        require_in_range::<R>(&eta.values)?;
        let mut how = self.settings.solve::<R, _>(model, self.solver, self.backend.lanes);
        how.params.sum = self.sums.sum(size_of::<Complex<f64>>()).context("failed to plan the sums")?;
        let mut lattice = lay_out::<R, _>(&how, configuration)?;
        let deflating = self.deflation.read(&model, self.hop.parameters(), how.preconditioning, &file)?;
        let long_run = match self.long_run.is_wanted() {
            true => {
                let identity = self.identity::<R>(&how, lattice, (&file, &eta), deflating.as_ref())?;
                self.long_run.open(&identity, &file.lattice)?
            }
            false => LongRun::of(&file.lattice),
        };
        let output = self.array_output::<R>(&how, lattice, (&file, &eta), deflating.as_ref())?;
        let backend = self.backend.open_on(&file.lattice, &self.input.ranks, self.solver.device_precision::<R>())?;
        // A tree keeps its lanes, on whose number it depends.
        if how.params.sum == Sum::Exact {
            how.lanes = backend.lanes(how.lanes);
            lattice = lay_out::<R, _>(&how, configuration)?;
        }
        let mut summary = self.summary::<R>(backend.describe(), &how, lattice, file.plaquette()?);
        summary.resumed_from = long_run.resumed_from();
        let pairs = deflating.as_ref().map(|deflating| &deflating.pairs);
        summary.deflation = pairs.map(Eigenpairs::len);
        backend.install(|| self.solve_on::<R>(&backend, &file, eta, (how, pairs), summary, (long_run, output)))
    }

    /// What is said of the solve before it begins.
    fn summary<R: Vectors>(&self, device: String, how: &How<AnyModel>, lattice: Lattice, plaquette: f64) -> Summary {
        let on = self.described_shifts().map_or_else(String::new, |shifts| format!(" for the shifts {shifts}"));
        let solver = format!("{}{on}", self.solver.describe(R::NAME));
        Summary::new::<R>((device, solver), how, (lattice, plaquette), &self.hop, self.shifts.clone())
    }

    fn inputs(&self, model: AnyModel) -> anyhow::Result<(ConfigurationFile, Loaded)> {
        let file = self.input.configuration()?;
        let (shape, extents) = (shape_of_model(&model)?, file.configuration.extents());
        let eta = match self.batch {
            Some(nrhs) => self.input.batch(shape, extents, nrhs),
            // The system of a shift is that of the operator's own fields, not of the quarks on the walls.
            None => self.input.source(shape, extents, self.shifts.is_none()),
        }?;
        Ok((file, eta))
    }

    /// The solve on a backend, and all that is said and written of it.
    fn solve_on<R: Vectors + ArrayReal>(
        &self,
        backend: &AnyBackend,
        ConfigurationFile { configuration, lattice, .. }: &ConfigurationFile,
        eta: Loaded,
        (how, deflation): (How<AnyModel>, Option<&Eigenpairs>),
        mut summary: Summary,
        (mut long_run, output): (LongRun, Option<ArrayOutput<'_>>),
    ) -> anyhow::Result<Outcome> {
        let (model, shape) = (how.operator, shape_of_model(&how.operator)?);
        // The walls that a physical source is put onto, and its solution taken from.
        let walls = match (model, eta.shape) {
            (AnyModel::DomainWall(parameters), ArrayShape::Spinor) => Some(parameters),
            _ => None,
        };
        let onto_walls = |eta: Loaded| match walls {
            Some(parameters) => {
                let eta = parameters.import_sources(backend, configuration, eta.values);
                eta.context("failed to put the source onto the walls")
            }
            None => Ok(eta.values),
        };
        let eta = onto_walls(eta)?;
        require_in_range::<R>(&eta)?;

        let difference = || Head::on(Kind::SolveDifference, backend.device());
        let progress = Progress::new(how.params.tolerance);
        let state = long_run.take_state();
        let mut watch = |iteration: usize, c: f64| progress.show(iteration, c);
        let mut watcher = Watchers::default().with(Some(&mut long_run)).with(Some(&mut watch));
        let solving = span(Group::Host, || "solve");
        let solved = match self.shifts.as_deref() {
            Some(shifts) => {
                solve_with_shifts::<R, _, _>(backend, configuration, &eta, shifts, &how, &mut watcher, state.as_ref())
            }
            None => {
                solve_deflated::<R, _, _>(backend, configuration, &eta, &how, deflation, &mut watcher, state.as_ref())
            }
        };
        drop(solving);
        progress.end();
        summary.fell_back(backend.opencl());

        let solution = solved.as_ref().ok().map(|report| &report.solution[..]);
        if solution.is_some() || solved.as_ref().is_err_and(|error| error.history().is_some()) {
            match long_run.finish(|| Ok(Digests::new(lattice, configuration, &eta, solution)?)) {
                Ok(compared) => summary.compared_with_record = compared,
                Err(error) => return differs(error, (self.json, difference())),
            }
        }
        let write_until_then = |history: &[f64]| match self.number_of_solutions() {
            Some(_) => write_batch_history(self.history.as_deref(), long_run.histories()),
            None => write_history(self.history.as_deref(), history),
        };
        match solved {
            Ok(report) => {
                let histories = report.rhs.iter().map(|rhs| &rhs.info.history[..]);
                // The solution is written, whatever becomes of the history.
                let history = match self.number_of_solutions() {
                    Some(_) => write_batch_history(self.history.as_deref(), histories),
                    None => write_history(self.history.as_deref(), &report.info().history),
                };
                let courses = report.rhs.iter().map(|rhs| (&rhs.info.history[..], Some(rhs.info.source_norm2)));
                let plotted = self.draw(courses, &summary);
                let mut axes = Vec::new();
                if let (Some(path), Some(output)) = (&self.output, &output) {
                    let nrhs = self.number_of_solutions();
                    output.begin()?;
                    axes = match walls {
                        Some(parameters) => {
                            let of_walls = || parameters.export_solutions(report.lattice, report.solution.clone());
                            let solution = of_walls()?;
                            let axes = write_field(ArrayShape::Spinor, path, lattice, nrhs, &solution)?;
                            ensure!(
                                of_walls()? == solution,
                                SolveError::Changed { what: "the solution in host memory" }
                            );
                            axes
                        }
                        None => write_field(shape, path, lattice, nrhs, &report.solution)?,
                    };
                    // Now that it is written: what was, is the solution that was checked.
                    report.require_intact()?;
                }
                let bandwidth = self.bandwidth.then(|| {
                    let _span = span(Group::Host, || "measure the copy bandwidth");
                    backend.memory().ceiling(Operation::Copy, None)
                });
                if let Some(Err(error)) = &bandwidth {
                    say!("warning: failed to measure the copy bandwidth: {error}");
                }
                let work = ranks::total([report.flops, report.bytes])?;
                summary.converged(&report, work, bandwidth.and_then(Result::ok));
                show(self.json, Head::on(Kind::Solve, backend.device()), &summary, Summary::text)?;
                // What memory lost before the solve began is found only where all is read and made once more.
                // A pipe has it once.
                if !is_stream(&self.input.configuration.config) {
                    let again =
                        self.inputs(model).and_then(|(again, source)| Ok((again.configuration, onto_walls(source)?)));
                    let (same, source) =
                        again.context("failed to read the inputs again, to see whether they are the same")?;
                    if ranks::communicator().any(same != *configuration || source != eta)? {
                        return Ok(changed_inputs());
                    }
                }
                if let Some(output) = output.filter(|_| summary.course.is_checked()) {
                    output.describe::<R>(axes)?;
                }
                history?;
                plotted?;
                Ok(long_run.outcome(summary.course.outcome()))
            }
            Err(error) => self.long_run.without_solution(
                &long_run,
                (error, "failed to solve"),
                (self.json, difference()),
                given([("--history", &self.history), ("--plot", &self.plot)]),
                |error, history| {
                    let kept = write_until_then(history);
                    let plotted = self.draw(long_run.histories().map(|history| (history, None)), &summary);
                    summary.failed(error, history);
                    show(self.json, Head::on(Kind::Solve, backend.device()), &summary, Summary::text)?;
                    plotted?;
                    Ok(kept)
                },
            ),
        }
    }

    /// Draws the course of each solution: |r|² and |b|².
    fn draw<'h>(
        &self,
        courses: impl Iterator<Item = (&'h [f64], Option<f64>)>,
        summary: &Summary,
    ) -> anyhow::Result<()> {
        let Some(path) = &self.plot else { return Ok(()) };
        let shifts = self.shifts.as_deref();
        let named = |(k, (history, source_norm2)): (usize, (&'h [f64], Option<f64>))| {
            let name = match shifts.and_then(|shifts| shifts.get(k)) {
                Some(shift) => format!("σ = {}", short(*shift, 4)),
                None => format!("right-hand side {}", k + 1),
            };
            plot::Course { name, history, source_norm2: source_norm2.filter(|norm2| *norm2 > 0.0) }
        };
        let courses: Vec<plot::Course<'_>> = courses.enumerate().map(named).collect();
        let of = if shifts.is_some() { "shifts" } else { "right-hand sides" };
        let [title, note] = summary.captions();
        write_figure(path, &plot::plot(&courses, of, summary.course.tolerance(), [&title, &note]))
    }

    /// Right-hand sides of a batch, or shifts; none of a solve of one system.
    fn number_of_solutions(&self) -> Option<usize> {
        self.batch.map(usize::from).or(self.shifts.as_ref().map(Vec::len))
    }

    /// The shifts, as they were given.
    fn described_shifts(&self) -> Option<String> {
        let shifts = self.shifts.as_ref()?.iter().map(f64::to_string);
        Some(shifts.collect::<Vec<_>>().join(","))
    }

    fn describe_sum(&self, how: &How<AnyModel>, lattice: Lattice) -> String {
        match self.sums.sum {
            SumKind::Exact => "exact".to_owned(),
            SumKind::Tree => format!("{} in {}-byte lanes", how.params.sum, lattice.width().bytes()),
        }
    }

    /// The array that will hold the solution, if one is wanted.
    fn array_output<R: Vectors>(
        &self,
        how: &How<AnyModel>,
        lattice: Lattice,
        (file, eta): (&ConfigurationFile, &Loaded),
        deflating: Option<&Deflating>,
    ) -> anyhow::Result<Option<ArrayOutput<'_>>> {
        let Some(path) = &self.output else { return Ok(None) };
        let settings = [
            ("solver", self.solver.name().into()),
            ("preconditioning", how.preconditioning.name().into()),
            ("tolerance", how.params.tolerance.into()),
            ("sum", self.describe_sum(how, lattice).into()),
        ];
        let source = input_of(&self.input.source, &eta.values, &file.lattice, self.batch)?;
        let operator = (how.operator.name(), json_of(&how.operator), &self.hop);
        let mut inputs = array_output::inputs(operator, file, source, R::NAME, settings)?;
        if let Some(shifts) = &self.shifts {
            inputs.settings.insert("shifts".to_owned(), shifts.clone().into());
        }
        if let Some(deflating) = deflating {
            inputs.settings.insert("deflation".to_owned(), deflating.description.clone().into());
        }
        ArrayOutput::new(path, "solve", &self.input.files(), inputs).map(Some)
    }

    /// All that the bits of the solve depend on.
    fn identity<R: Vectors>(
        &self,
        how: &How<AnyModel>,
        lattice: Lattice,
        (file, eta): (&ConfigurationFile, &Loaded),
        deflating: Option<&Deflating>,
    ) -> anyhow::Result<Identity> {
        let source = match (&self.input.source, self.batch) {
            (Source::File(_), _) => format!("of SHA-256 {}", file.lattice.digest(&eta.values)?),
            (source, None) => source.to_string(),
            (source, Some(nrhs)) => format!("{source}, {nrhs} right-hand sides"),
        };
        let sum = self.describe_sum(how, lattice);
        let shifts = self.described_shifts().map(|shifts| format!(", shifts {shifts}"));
        let deflated = deflating.map(|deflating| format!(", deflated by {}", deflating.description));
        let special = shifts.or(deflated).unwrap_or_default();
        let (operator, solver) = (&how.operator.describe(), &format!("{}{special}", self.solver.name()));
        let described = DescribedSolve { operator, source, solver, sum };
        Ok(identity::<R, _>(how, self.hop.parameters(), (&file.configuration, &file.lattice), described)?)
    }
}
