//! `lanefield propagator`: the propagator of a quark from a source, twelve solves in one batch, or in a batch for each group of ranks.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::Args;
use lanefield::backend::Memory as _;
use lanefield::comm::{Receive, Send as Packet};
use lanefield::dynamic::AnyBackend;
use lanefield::io::configuration::ConfigurationFile;
use lanefield::io::identity::Identity;
use lanefield::io::npy::{self, ArrayReal};
use lanefield::observable::{COLUMNS, PropagatorError, Source, require_quark, solve_columns, sources};
use lanefield::operator::AnyModel;
use lanefield::reference::field::{Spinors, list_of};
use lanefield::reference::kernels::Vectors;
use lanefield::reference::real::Precision;
use lanefield::solver::{DescribedSolve, Digests, Eigenpairs, Method, Solve, SolveReport, Watchers, identity};
use lanefield_lab::Timed as _;
use num_complex::Complex;
use serde::Serialize;

use super::args::{BackendArgs, HopArgs, of_methods};
use super::array_output::{self, ArrayOutput};
use super::configuration::ConfigArgs;
use super::far_times;
use super::fields::{interleaved, write_arrays};
use super::operator::{OnSpinors, OperatorArgs, check, json_of};
use super::outcome::Outcome;
use super::output::{Head, Kind, facts, show};
use super::ranks::{self, RanksArgs};
use crate::solving::course::{Course, Fields, Rates, RhsSummary, SolverArgs, changed_inputs, lay_out};
use crate::solving::deflation::{Deflating, DeflationArgs, deflated};
use crate::solving::long_run::{LongRun, LongRunArgs, differs, since};
use crate::solving::residual_history::Progress;
use crate::source::field::source_or_file;
use crate::source::quark::{Columns, Links, NamedSource, SmearArgs};

/// Compute the propagator of a quark from a point, a wall or noise: M S = η for each spin and colour of the source, in one batch.
///
/// Operators on colour vectors have no spin, and no such propagator. That of twisted mass is in the twisted basis. docs/agreement.md lists the conventions of other programs.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc
  lanefield propagator --config weak.nersc --source point:0,0,0,0 \\
      --operator clover --mass 0.1 --csw 1.2 --output p.npy
  lanefield propagator --config weak.nersc --source point:0,0,0,0 \\
      --operator wilson --mass -0.1 --solver block-cg --output block.npy
  lanefield propagator --config weak.nersc --source point:1,2,3,4 \\
      --operator mobius --mass 0.05 --ls 8 --precision f32 --output mobius.npy
  lanefield propagator --config weak.nersc --source z2:7,0 \\
      --smear-source 0.25,5 --smear-links spatial-ape:0.5,3 \\
      --operator wilson --mass 0.1 --output noise.npy")]
pub struct Propagator {
    #[command(flatten)]
    input: ConfigArgs,
    /// Where the quark propagates from: point:x,y,z,t; wall:t, 1 on a time slice; momentum:nx,ny,nz,t, exp(ip·x) there with p = 2πn/L; z2:SEED,t or
    /// z4:SEED,t, the same noise in each spin and colour there; or twelve columns in a NumPy array, of the shape of --output or (12, T, Z, Y, X, 4, 3)
    #[arg(long, value_name = "FILE.npy|KIND:NUMBERS", value_parser = source_or_file(Source::columns))]
    source: Source,
    #[command(flatten)]
    smear: SmearArgs,
    #[command(flatten)]
    operator: OperatorArgs<OnSpinors>,
    #[command(flatten)]
    hop: HopArgs,
    /// How the twelve right-hand sides are solved: in a batch, or in a block
    #[arg(long, value_name = "SOLVER", default_value = "cg", value_parser = of_methods(Method::OF_SEVERAL))]
    solver: Method,
    #[command(flatten)]
    settings: SolverArgs,
    #[command(flatten)]
    deflation: DeflationArgs,
    /// Write the propagator as a NumPy array (T, Z, Y, X, 4, 4, 3, 3): sink spin, source spin, sink colour, source colour; complex64
    /// for f32 and complex128 for f64. Beside it P.npy.json says what it is
    #[arg(long, value_name = "P.npy", value_parser = super::files::named(super::files::npy_name))]
    output: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    long_run: LongRunArgs,
    #[command(flatten)]
    ranks: RanksArgs,
    /// Groups of ranks, each of which solves for as many spins and colours of the source on the whole lattice
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Ranks (mpirun)", value_parser = groups)]
    groups: usize,
    #[command(flatten)]
    backend: BackendArgs,
}

fn groups(text: &str) -> Result<usize, String> {
    let groups = text.parse().ok().filter(|&groups: &usize| groups > 0 && COLUMNS.is_multiple_of(groups));
    groups.ok_or_else(|| format!("invalid number of groups '{text}': expected 1, 2, 3, 4, 6 or 12"))
}

impl Propagator {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let model = self.operator.model(&self.hop)?;
        ensure!(
            self.groups == 1 || !self.long_run.is_wanted(),
            "--groups {} solves in as many batches, of which there is no one checkpoint or record: leave out --checkpoint, --record and --verify",
            self.groups
        );
        ensure!(
            self.groups == 1 || self.solver == Method::ConjugateGradients,
            "--groups {} divides the twelve right-hand sides, which --solver {} solves in one block: leave one of them out",
            self.groups,
            self.solver.name()
        );
        let others: Vec<(&str, &Path)> = self.long_run.outputs().collect();
        let inputs: Vec<(&str, &Path)> = [("--config", &*self.input.config)]
            .into_iter()
            .chain(self.source_file())
            .chain(self.smear.file())
            .chain(self.long_run.inputs())
            .chain(self.deflation.inputs())
            .collect();
        let resumes = |argument: &str| self.long_run.resumes(argument);
        array_output::require_outputs(Some(&self.output), &others, &inputs, resumes)?;
        match self.settings.precision {
            Precision::F32 => self.compute::<f32>(model),
            _ => self.compute::<f64>(model),
        }
    }

    fn compute<R: Vectors + ArrayReal>(&self, model: AnyModel) -> anyhow::Result<Outcome> {
        check::<R>(&model, !self.settings.unpreconditioned)?;
        require_quark(&model)?;
        self.smear.require_use(false)?;
        let group = ranks::work_in_groups(self.groups)?;
        let file = self.read()?;
        let configuration = &file.configuration;
        let columns = Columns::read(&self.source, configuration.extents(), &file.lattice)?;
        let links = self.smear.links(&self.input.read, &self.ranks, &file.lattice)?;
        let mut solve = self.settings.solve::<R, _>(model, self.solver, self.backend.lanes);
        // One that does not fit is refused before a device is opened.
        lay_out::<R, _>(&solve, configuration)?;
        let deflating = self.deflation.read(&model, self.hop.parameters(), solve.preconditioning, &file)?;
        let long_run = match self.long_run.is_wanted() {
            true => {
                let identity = self.identity::<R>(
                    &solve,
                    &file,
                    (&columns, links.as_ref()),
                    &model.describe(),
                    deflating.as_ref(),
                )?;
                self.long_run.open(&identity, &file.lattice)?
            }
            false => LongRun::of(&file.lattice),
        };
        let output = self.array_output::<R>(&model, &solve, &file, (&columns, links.as_ref()), deflating.as_ref())?;
        let backend = self.backend.open_on(&file.lattice, &self.ranks)?;
        solve.lanes = backend.lanes(solve.lanes);
        let summary = Summary {
            device: backend.describe(),
            operator: model.describe(),
            fields: Fields::new::<R>(lay_out::<R, _>(&solve, configuration)?, &self.hop),
            source: columns.named(),
            source_smearing: self.smear.smear_source.map(|smearing| smearing.to_string()),
            smear_links: links.as_ref().map(|links| links.description.clone()),
            solver: self.solver.name(),
            deflation: deflating.as_ref().map(|deflating| deflating.pairs.len()),
            resumed_from: long_run.resumed_from(),
            compared_with_record: None,
            course: Course::new(&solve, file.plaquette()?),
            rhs: Vec::new(),
            relative_errors: Vec::new(),
            rates: Rates::default(),
        };
        let how = (&solve, deflating.as_ref().map(|deflating| &deflating.pairs), group);
        let source = (columns, links);
        backend.install(|| self.on::<R>(&backend, &file, source, how, summary, (long_run, output)))
    }

    /// The file of the source, with the name of its argument.
    fn source_file(&self) -> Option<(&str, &Path)> {
        match &self.source {
            Source::File(path) => Some(("--source", path)),
            _ => None,
        }
    }

    fn read(&self) -> anyhow::Result<ConfigurationFile> {
        self.input.read(&self.ranks)
    }

    /// The columns that a group solves for.
    fn columns(&self, group: usize) -> Range<usize> {
        let of_group = COLUMNS / self.groups;
        group * of_group..(group + 1) * of_group
    }

    /// All that the bits of the propagator depend on.
    fn identity<R: Vectors>(
        &self,
        how: &Solve<AnyModel>,
        file: &ConfigurationFile,
        (columns, links): (&Columns, Option<&Links>),
        operator: &str,
        deflating: Option<&Deflating>,
    ) -> anyhow::Result<Identity> {
        let smeared = self.smear.smear_source.map_or_else(String::new, |smearing| format!(" smeared by {smearing}"));
        let on = links.map_or_else(String::new, |links| format!(" on links {}", links.description));
        let source = format!("{}{smeared}{on}, {COLUMNS} right-hand sides", columns.name());
        let deflated = deflating.map(|deflating| format!(", deflated by {}", deflating.description));
        let solver = &format!("{}{}", self.solver.name(), deflated.unwrap_or_default());
        let described = DescribedSolve { operator, source, solver, sum: how.params.sum.to_string() };
        Ok(identity::<R, _>(how, self.hop.parameters(), (&file.configuration, &file.lattice), described)?)
    }

    /// The array that will hold the propagator.
    fn array_output<R: Vectors>(
        &self,
        model: &AnyModel,
        solve: &Solve<AnyModel>,
        file: &ConfigurationFile,
        (columns, links): (&Columns, Option<&Links>),
        deflating: Option<&Deflating>,
    ) -> anyhow::Result<ArrayOutput<'_>> {
        let source = columns.described(&self.smear, links);
        let settings = [
            ("solver", self.solver.name().into()),
            ("preconditioning", solve.preconditioning.name().into()),
            ("tolerance", solve.params.tolerance.into()),
        ];
        let operator = (model.name(), json_of(model), &self.hop);
        let mut inputs = array_output::inputs(operator, file, source, R::NAME, settings)?;
        if let Some(deflating) = deflating {
            inputs.settings.insert("deflation".to_owned(), deflating.description.clone().into());
        }
        let files = [("--config", &*self.input.config)].into_iter().chain(self.source_file()).chain(self.smear.file());
        ArrayOutput::new(&self.output, "propagator", &files.collect::<Vec<_>>(), inputs)
    }

    /// The batch on a backend, and all that is said and written of it.
    fn on<R: Vectors + ArrayReal>(
        &self,
        backend: &AnyBackend,
        file: &ConfigurationFile,
        (columns, links): (Columns, Option<Links>),
        (solve, deflation, group): (&Solve<AnyModel>, Option<&Eigenpairs>, usize),
        mut summary: Summary,
        (mut long_run, mut output): (LongRun, ArrayOutput<'_>),
    ) -> anyhow::Result<Outcome> {
        let ConfigurationFile { configuration, lattice, .. } = file;
        let progress = Progress::new(solve.params.tolerance);
        let links = links.map(|links| links.on(backend, configuration)).transpose()?;
        let source = columns.of(self.smear.smear_source, links.as_ref());
        let state = long_run.take_state();
        let mut watch = |iteration: usize, c: f64| progress.show(iteration, c);
        let mut watcher = Watchers::default().with(Some(&mut long_run)).with(Some(&mut watch));
        let columns = (&source, self.columns(group));
        let computed = solve_columns::<R, _, _>(
            backend,
            configuration,
            columns.clone(),
            (solve, deflation),
            &mut watcher,
            state.as_ref(),
        );
        progress.end();

        let failed =
            |error: &PropagatorError| matches!(error, PropagatorError::Solve(error) if error.history().is_some());
        let solution = computed.as_ref().ok().map(|report| &report.solution[..]);
        if solution.is_some() || computed.as_ref().is_err_and(failed) {
            let digests = || {
                let sources = sources(backend, configuration, columns, &solve.operator)?;
                Ok(Digests::new(lattice, configuration, &sources, solution)?)
            };
            match long_run.finish(digests) {
                Ok(compared) => summary.compared_with_record = compared,
                Err(error) => return differs(error, (self.json, Head::on(Kind::SolveDifference, backend.device()))),
            }
        }
        let error = match computed {
            Ok(report) => {
                let rhs = self.rhs_of_all_groups(&report)?;
                summary.relative_errors = self.relative_errors_of_all_groups(&report)?;
                output.relative_errors.clone_from(&summary.relative_errors);
                let work = ranks::total([report.flops, report.bytes])?;
                let report = self.with_all_columns(report)?;
                output.begin()?;
                let shape = npy::propagator_shape(lattice.extents());
                if group == 0 {
                    let report = report.into_propagator()?;
                    write_arrays(&self.output, &shape, lattice, 1, |_| Ok(Cow::Borrowed(&report.solution)))?;
                    report.require_intact()?;
                    summary.converged(&report, work, rhs);
                } else {
                    summary.course.converge(&report);
                }
                show(self.json, Head::on(Kind::Propagator, backend.device()), &summary, Summary::text)?;
                let again = self.read().context("failed to read the configuration again")?;
                if ranks::communicator().any(again.configuration != *configuration)? {
                    return Ok(changed_inputs());
                }
                if !ranks::communicator().any(!summary.course.is_checked())? {
                    output.describe::<R>(shape)?;
                    far_times::warn(&summary.relative_errors);
                }
                return Ok(long_run.outcome(summary.course.outcome()));
            }
            Err(PropagatorError::Solve(error)) => *error,
            Err(error) => return Err(error).context("failed to compute the propagator"),
        };
        let difference = Head::on(Kind::SolveDifference, backend.device());
        self.long_run.without_solution(
            &long_run,
            (error, "failed to compute the propagator"),
            (self.json, difference),
            std::iter::empty(),
            |error, _| {
                summary.course.failure = Some(error.to_string());
                show(self.json, Head::on(Kind::Propagator, backend.device()), &summary, Summary::text)?;
                Ok(Ok(()))
            },
        )
    }
}

impl Propagator {
    /// The ranks of a group.
    fn of_group(&self) -> usize {
        ranks::communicator().ranks() / self.groups
    }

    /// How each solve went, of all groups, at rank 0.
    fn rhs_of_all_groups<R>(&self, report: &SolveReport<R>) -> anyhow::Result<Vec<RhsSummary>> {
        let here = report.rhs.iter().flat_map(|rhs| RhsSummary::from(rhs).to_words()).flat_map(u64::to_le_bytes);
        let gathered = ranks::communicator().gather(&here.collect::<Vec<u8>>())?.unwrap_or_default();
        let first_of_groups = gathered.iter().step_by(self.of_group());
        let words = |bytes: &Vec<u8>| bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let words: Vec<u64> = first_of_groups.flat_map(|bytes| -> Vec<u64> { words(bytes) }).collect();
        Ok(words.as_chunks().0.iter().map(RhsSummary::of_words).collect())
    }

    /// At times from the source, the largest of all groups, at rank 0.
    fn relative_errors_of_all_groups<R>(&self, report: &SolveReport<R>) -> anyhow::Result<Vec<f64>> {
        let bytes: Vec<u8> = report.relative_errors.iter().copied().flat_map(f64::to_le_bytes).collect();
        let gathered = ranks::communicator().gather(&bytes)?.unwrap_or_default();
        let numbers = |bytes: &Vec<u8>| bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        Ok(far_times::largest(&gathered.iter().map(numbers).collect::<Vec<Vec<f64>>>()))
    }

    /// All columns at the ranks of the first group; those of their own at others.
    fn with_all_columns<R: Vectors + ArrayReal>(&self, report: SolveReport<R>) -> anyhow::Result<SolveReport<R>> {
        if self.groups == 1 {
            return Ok(report);
        }
        report.require_intact()?;
        let (communicator, of_group) = (ranks::communicator(), self.of_group());
        let (rank, length) = (communicator.rank(), report.solution.len());
        if rank >= of_group {
            let bytes = bytemuck::cast_slice(&report.solution);
            communicator.exchange(&[Packet { to: rank % of_group, tag: 0, bytes }], &mut [])?;
            return Ok(report);
        }
        let room = |_| -> anyhow::Result<Vec<Complex<R>>> {
            let what = || "the columns of another group".to_owned();
            Ok(list_of(what, length, std::iter::repeat_n(Complex::default(), length))?)
        };
        let mut others: Vec<Vec<Complex<R>>> = (1..self.groups).map(room).collect::<anyhow::Result<_>>()?;
        let mut receives: Vec<Receive<'_>> = (1..self.groups)
            .zip(&mut others)
            .map(|(group, room)| {
                let bytes = bytemuck::cast_slice_mut(room);
                Receive { from: rank + group * of_group, tag: 0, bytes }
            })
            .collect();
        communicator.exchange(&[], &mut receives)?;
        let words = self.columns(0).len() * Spinors::WORDS;
        let solution = interleaved(&[vec![report.solution.clone()], others].concat(), words)?;
        Ok(report.with_solution(solution))
    }
}

/// What was computed, and how it went. As JSON, these fields; what a batch that did not converge cannot tell is null or empty.
#[derive(Serialize)]
struct Summary {
    #[serde(skip)]
    device: String,
    /// The operator and its parameters.
    operator: String,
    #[serde(flatten)]
    fields: Fields,
    /// The point, x, y, z, t; the name of another source.
    source: NamedSource,
    /// α and the number of steps of its smearing; null where there is none.
    source_smearing: Option<String>,
    /// The links of the smearing; null if they are those of the operator.
    smear_links: Option<String>,
    /// `cg` or `block-cg`.
    solver: &'static str,
    /// Eigenvectors of the guess; null without `--deflate`.
    deflation: Option<usize>,
    /// The iteration of the checkpoint from which it resumed.
    resumed_from: Option<usize>,
    /// Lines of the record that were the same; null where none was compared with.
    compared_with_record: Option<usize>,
    #[serde(flatten)]
    course: Course,
    /// Each solve, number 3·spin + colour of the source.
    rhs: Vec<Rhs>,
    /// Estimated relative errors on each time slice, from the source on: the largest of all solves. Empty where they are not known.
    relative_errors: Vec<f64>,
    #[serde(flatten)]
    rates: Rates,
}

#[derive(Serialize)]
struct Rhs {
    spin: usize,
    colour: usize,
    #[serde(flatten)]
    summary: RhsSummary,
}

impl Summary {
    fn converged<R>(&mut self, report: &SolveReport<R>, [flops, bytes]: [u64; 2], rhs: Vec<RhsSummary>) {
        self.course.converge(report);
        let rhs = rhs.into_iter().enumerate();
        self.rhs = rhs.map(|(k, summary)| Rhs { spin: k / 3, colour: k % 3, summary }).collect();
        self.rates = Rates::new((report.seconds, report.building), flops, bytes);
    }

    fn text(&self) -> String {
        let mut rows = self.fields.facts(&self.device, &self.operator, &self.course);
        let smeared = self.source_smearing.as_ref();
        let smeared = smeared.map_or_else(String::new, |smearing| format!(", smeared by {smearing}"));
        let on = self.smear_links.as_ref().map_or_else(String::new, |links| format!(" on links {links}"));
        rows.push(("source", format!("{}{smeared}{on}", self.source.text())));
        let block = if self.solver == "cg" { "conjugate gradients" } else { "block conjugate gradients" };
        let solver = format!("{block} in {}, {COLUMNS} right-hand sides", self.fields.precision);
        rows.push(("solver", self.course.describe(&solver)));
        rows.extend(deflated(self.deflation));
        rows.extend(since(self.resumed_from, self.compared_with_record));
        if self.course.converged {
            let rhs = || self.rhs.iter().map(|rhs| &rhs.summary);
            let largest = |of: fn(&RhsSummary) -> f64| rhs().map(of).fold(0.0, f64::max);
            let iterations = rhs().map(|rhs| rhs.iterations);
            let (least, most) = (iterations.clone().min().unwrap_or(0), iterations.clone().max().unwrap_or(0));
            rows.push(("iterations", format!("{least} to {most} per right-hand side")));
            if self.course.is_checked() {
                rows.push(("true residual", format!("{:.3e} at most", largest(|rhs| rhs.true_residual))));
                rows.push(("|η − Mψ| / |η|", format!("{:.3e} at most", largest(|rhs| rhs.solution_residual))));
            }
            rows.extend(far_times::describe(&self.relative_errors).map(|error| ("far times", error)));
            rows.extend(self.course.facts(rhs()));
        } else {
            rows.push(("iterations", "not converged".to_owned()));
        }
        rows.extend(self.rates.facts(""));
        facts(rows)
    }
}
