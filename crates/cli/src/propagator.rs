//! `lanefield propagator`: the propagator of a quark from a source, twelve solves in one batch, or in a batch for each group of ranks.

mod groups;
mod summary;

use std::borrow::Cow;

use lanefield::io::configuration::ConfigurationFile;
use lanefield::io::identity::Identity;
use lanefield::io::npy::{self, ArrayReal};
use lanefield::observable::{COLUMNS, PropagatorError, Source, require_quark, solve_columns, sources};
use lanefield::operator::AnyModel;
use lanefield::solver::{DescribedSolve, Digests, Eigenpairs, Watchers, identity};

use groups::Groups;
use summary::Summary;

use super::args::{BackendArgs, HopArgs, of_methods};
use super::array_output::{self, ArrayOutput};
use super::configuration::ConfigArgs;
use super::far_times;
use super::fields::write_arrays;
use super::operator::{OnSpinors, OperatorArgs, check, json_of};
use super::ranks::{self, RanksArgs};
use crate::prelude::*;
use crate::solving::course::{Course, Fields, Rates, SolverArgs, changed_inputs, lay_out};
use crate::solving::deflation::{Deflating, DeflationArgs};
use crate::solving::long_run::{LongRun, LongRunArgs, differs};
use crate::solving::residual_history::Progress;
use crate::source::field::source_or_file;
use crate::source::quark::{Columns, Links, SmearArgs};

/// Compute a quark propagator from a point, a wall or noise.
///
/// It solves M S = η for each spin and colour of the source, in one batch.
///
/// The operator must act on spinors: operators on colour vectors have no such propagator. A propagator of twisted mass is in the twisted basis.
/// docs/agreement.md lists the conventions of other programs.
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
    /// Source of the quark: point:x,y,z,t; wall:t, 1 on a time slice; momentum:nx,ny,nz,t, exp(ip·x) on a time slice with p = 2πn/L; z2:SEED,t or
    /// z4:SEED,t, the same noise in each spin and colour on a time slice; or twelve columns in a NumPy array. The array has the shape of --output, or
    /// (12, T, Z, Y, X, 4, 3)
    #[arg(long, value_name = "SOURCE", value_parser = source_or_file(Source::columns))]
    source: Source,
    #[command(flatten)]
    smear: SmearArgs,
    #[command(flatten)]
    operator: OperatorArgs<OnSpinors>,
    #[command(flatten)]
    hop: HopArgs,
    /// Solver for the twelve right-hand sides, as a batch or as a block
    #[arg(long, help_heading = "Solver", value_name = "SOLVER", default_value = "cg", value_parser = of_methods(Method::OF_SEVERAL))]
    solver: Method,
    #[command(flatten)]
    settings: SolverArgs,
    #[command(flatten)]
    deflation: DeflationArgs,
    /// NumPy array to write: axes (T, Z, Y, X, 4, 4, 3, 3) of sink spin, source spin, sink colour, source colour. It is complex64 for f32 and
    /// complex128 for f64. P.npy.json, next to it, describes it
    #[arg(long, help_heading = "Output", value_name = "P.npy", value_parser = super::files::named(super::files::npy_name))]
    output: PathBuf,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    long_run: LongRunArgs,
    #[command(flatten)]
    ranks: RanksArgs,
    /// Number of groups of ranks: each solves for its share of the spins and colours of the source, on the whole lattice
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
            "--groups {} solves in several batches, which have no common checkpoint or record: leave out --checkpoint, --record and --verify",
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
        // A lattice that does not fit is refused before a device is opened.
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
        let backend = self.backend.open_on(&file.lattice, &self.ranks, solve.method.device_precision::<R>())?;
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

    /// Everything that the bits of the propagator depend on.
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

    /// Solves the batch on a backend, and prints and writes the results.
    fn on<R: Vectors + ArrayReal>(
        &self,
        backend: &AnyBackend,
        file: &ConfigurationFile,
        (columns, links): (Columns, Option<Links>),
        (solve, deflation, group): (&Solve<AnyModel>, Option<&Eigenpairs>, usize),
        mut summary: Summary,
        (mut long_run, mut output): (LongRun, ArrayOutput<'_>),
    ) -> anyhow::Result<Outcome> {
        let groups = Groups(self.groups);
        let ConfigurationFile { configuration, lattice, .. } = file;
        let progress = Progress::new(solve.params.tolerance);
        let links = links.map(|links| links.on(backend, configuration)).transpose()?;
        let source = columns.of(self.smear.smear_source, links.as_ref());
        let state = long_run.take_state();
        let mut watch = |iteration: usize, c: f64| progress.show(iteration, c);
        let mut watcher = Watchers::default().with(Some(&mut long_run)).with(Some(&mut watch));
        let columns = (&source, groups.columns(group));
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
                let rhs = groups.rhs(&report)?;
                summary.relative_errors = groups.relative_errors(&report)?;
                output.relative_errors.clone_from(&summary.relative_errors);
                let work = ranks::total([report.flops, report.bytes])?;
                let report = groups.with_all_columns(report)?;
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
