//! `lanefield eigen`: computes the lowest eigenpairs of the operator that conjugate gradients invert, and writes the file for `--deflate`.

use lanefield::io::checkpoint;
use lanefield::solver::{
    EigenError, EigenParams, EigenProgress, Stopped, eigen_identity, eigenpairs_from, search_identity,
};

use super::args::{BackendArgs, HopArgs, finite};
use super::configuration::ConfigArgs;
use super::files::{given, has_extension, named, require_outputs_but};
use super::numbers::bits;
use super::numbers::{plain, with_bits};
use super::operator::{Invertible, OperatorArgs, check, json_of};
use super::output::{facts, joined, table_of};
use super::progress::ShareBar;
use super::ranks::RanksArgs;
use crate::prelude::*;
use crate::solving::course::{SolverArgs, lay_out};
use crate::solving::long_run::{CheckpointArgs, Interrupted, since};

/// Compute the lowest eigenvalues and eigenvectors of an operator.
///
/// A is the operator that conjugate gradients invert to solve M: Mpc†Mpc on the odd sites, or M†M with --unpreconditioned. If Mpc or M is Hermitian
/// and positive definite, A is that operator itself. The bits are the same on every device.
///
/// The method is Lanczos with thick restarts on a Chebyshev polynomial of A, in f64. Each iteration adds a vector to the basis. If an eigenvalue
/// occurs several times, as those of free fermions do, some of its eigenvectors may be missed.
///
/// Exit code 1 if not all eigenpairs were found. The state of the search is then in the --checkpoint file, or in x.stopped.eigen for x.eigen, and the
/// search can be resumed from it. docs/agreement.md lists the conventions of other programs.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc
  lanefield eigen --config weak.nersc --mass -0.1 --number 8 --output low.eigen
  lanefield solve --config weak.nersc --mass -0.1 --source gauss:7 \\
      --deflate low.eigen
  lanefield eigen --operator staggered --config weak.nersc --mass 0.05 \\
      --number 4 --tolerance 1e-8 --json
  lanefield eigen --config weak.nersc --mass 0.1 --number 4 \\
      --checkpoint search.state --resume --output four.eigen")]
pub struct Eigen {
    #[command(flatten)]
    operator: OperatorArgs<Invertible>,
    #[command(flatten)]
    input: ConfigArgs,
    #[command(flatten)]
    hop: HopArgs,
    /// Number of eigenpairs to compute
    #[arg(long, help_heading = "Solver", value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    number: u16,
    /// Maximum number of vectors in the basis [default: 2 N + 24]
    #[arg(long, help_heading = "Solver", value_name = "M", value_parser = super::args::iterations)]
    basis: Option<usize>,
    /// Accept an eigenvector when |A v − λ v| ≤ tolerance times the largest eigenvalue
    #[arg(long, help_heading = "Solver", value_name = "TOLERANCE", default_value = "1e-10", value_parser = tolerance)]
    tolerance: f64,
    /// Maximum number of restarts
    #[arg(long, help_heading = "Solver", value_name = "N", default_value = "100", value_parser = super::args::iterations)]
    max_restarts: usize,
    /// Degree of the Chebyshev polynomial [default: from the range]
    #[arg(long, help_heading = "Solver", value_name = "N", value_parser = super::args::iterations)]
    degree: Option<usize>,
    /// Lower end of the eigenvalues to suppress, above the wanted ones [default: estimated]
    #[arg(long, help_heading = "Solver", value_name = "LAMBDA", value_parser = finite, allow_negative_numbers = true)]
    above: Option<f64>,
    /// Seed of the starting vector
    #[arg(long, help_heading = "Solver", value_name = "N", default_value = "1", value_parser = super::args::seed)]
    seed: u64,
    /// Use M on all sites instead of the even-odd Schur complement
    #[arg(long, help_heading = "Solver")]
    unpreconditioned: bool,
    /// Write the eigenpairs to this file: for --deflate of solve and propagator
    #[arg(long, help_heading = "Output", value_name = "FILE.eigen", value_parser = named(eigen_name))]
    output: Option<PathBuf>,
    #[command(flatten)]
    checkpoints: CheckpointArgs,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    ranks: RanksArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| (1e-15..1.0).contains(value));
    value.ok_or_else(|| format!("invalid tolerance '{text}': expected a number from 1e-15 to below 1, such as 1e-10"))
}

/// Reads the name of a file of eigenpairs. Names of other formats are refused.
fn eigen_name(path: &Path) -> Result<PathBuf, String> {
    let others = ["npy", "h5", "hdf5", "nersc", "lime", "ildg", "scidac", "milc"];
    match has_extension(path, &others) {
        true => {
            let path = path.display();
            Err(format!("invalid name '{path}' of a file of eigenpairs: expected another extension, as in low.eigen"))
        }
        false => Ok(path.to_owned()),
    }
}

impl Eigen {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let model = self.operator.model(&self.hop)?;
        let outputs: Vec<_> = given([("--output", &self.output)]).chain(self.checkpoints.outputs()).collect();
        let resumes = |argument: &str| self.checkpoints.resumes(argument);
        require_outputs_but(&outputs, &[("--config", &self.input.config)], resumes)?;
        check::<f64>(&model, !self.unpreconditioned)?;
        let file = self.input.read(&self.ranks)?;
        let settings = SolverArgs::of_precision_f64(self.unpreconditioned);
        let how = settings.solve::<f64, _>(model, Method::ConjugateGradients, self.backend.lanes);
        lay_out::<f64, _>(&how, &file.configuration)?;
        let identity = {
            let of_file = (&file.configuration, &file.lattice);
            eigen_identity(&model.describe(), self.hop.parameters(), how.preconditioning, of_file)?
        };
        let search = search_identity(identity.clone(), self.hop.parameters(), &self.params());
        let mut long_run = self.checkpoints.open(&search, &file.lattice, ("search", self.output.as_deref()))?;
        let (resumed_from, state) = (long_run.resumed_from(), long_run.take_state());
        let backend = self.backend.open_on(&file.lattice, &self.ranks, Precision::F64)?;
        let bar = ShareBar::new();
        let start = std::time::Instant::now();
        let mut watch = |EigenProgress { restarts, applications, converged, count }| {
            let message = format!("restart {restarts}, {applications} applications, {converged} of {count}");
            bar.show(converged as f64 / count as f64, message);
            Ok(())
        };
        let what = (model, how.preconditioning, backend.lanes(how.lanes));
        let found = backend.install(|| {
            let from = (&mut long_run as _, state.as_ref());
            eigenpairs_from(&backend, &file.configuration, what, self.params(), &mut watch, from)
        });
        bar.end();
        let seconds = start.elapsed().as_secs_f64();
        let (pairs, run) = match found {
            Ok(found) => found,
            Err(error @ (EigenError::NotConverged { .. } | EigenError::TooLow { .. })) => {
                say!("error: {error}{}", long_run.continues("--max-restarts", String::new));
                return Ok(Outcome::CheckFailed);
            }
            Err(EigenError::Stopped(Stopped(error))) if error.is::<Interrupted>() => {
                say!("interrupted: {error}");
                return Ok(Outcome::Done);
            }
            Err(error) => return Err(error).context("failed to compute eigenpairs"),
        };
        let summary = Summary {
            operator: model.name(),
            parameters: json_of(&model),
            description: model.describe(),
            lattice: file.lattice.extents().as_array(),
            preconditioning: how.preconditioning.name(),
            boundary: self.hop.parameters().boundary.to_string(),
            reconstruct: self.hop.parameters().links.reals(),
            plaquette: file.plaquette()?,
            tolerance: self.tolerance,
            seed: self.seed,
            basis: run.basis,
            degree: run.degree,
            range: run.range,
            restarts: run.restarts,
            applications: run.applications,
            seconds,
            resumed_from,
            sha256: pairs.digest(&file.lattice)?,
            output: self.output.as_ref().map(|output| output.display().to_string()),
            eigenpairs: pairs.values().iter().zip(pairs.residuals()).map(Row::of).collect(),
        };
        let write = |path: &PathBuf| checkpoint::write(path, &identity, &pairs.into_state(), &file.lattice);
        let written = self.output.as_ref().map(write).transpose();
        // What cannot be kept is printed.
        show(self.json, Head::on(Kind::Eigen, backend.device()), &summary, Summary::text)?;
        written?;
        Ok(Outcome::Done)
    }

    fn params(&self) -> EigenParams {
        let Self { basis, tolerance, max_restarts, degree, above, seed, .. } = *self;
        EigenParams { basis, tolerance, max_restarts, degree, above, seed, ..EigenParams::auto(self.number.into()) }
    }
}

/// One eigenpair. As JSON, these fields.
#[derive(Serialize)]
struct Row {
    lambda: f64,
    lambda_bits: String,
    /// |A v − λ v|.
    residual: f64,
}

impl Row {
    fn of((&lambda, &residual): (&f64, &f64)) -> Self {
        Self { lambda, lambda_bits: bits(lambda), residual }
    }
}

#[derive(Serialize)]
struct Summary {
    operator: &'static str,
    /// Its parameters by name, without those of the hop.
    parameters: serde_json::Map<String, serde_json::Value>,
    #[serde(skip)]
    description: String,
    lattice: [usize; 4],
    /// `even-odd` or `none`.
    preconditioning: &'static str,
    boundary: String,
    reconstruct: usize,
    plaquette: f64,
    tolerance: f64,
    seed: u64,
    basis: usize,
    degree: usize,
    /// The range that the polynomial suppresses; its upper end bounds the spectrum.
    range: [f64; 2],
    restarts: usize,
    applications: usize,
    seconds: f64,
    /// The iteration of the checkpoint from which it resumed.
    resumed_from: Option<usize>,
    sha256: String,
    /// The file that was written; null if none was requested.
    output: Option<String>,
    eigenpairs: Vec<Row>,
}

impl Summary {
    fn text(&self) -> String {
        let mut rows = vec![
            ("operator", format!("{}, boundary {}", self.description, self.boundary)),
            ("lattice", joined(&self.lattice, ".")),
            ("plaquette", with_bits(self.plaquette)),
            ("preconditioning", self.preconditioning.to_owned()),
            (
                "polynomial",
                format!("degree {}, small from {} to {}", self.degree, plain(self.range[0]), plain(self.range[1])),
            ),
            (
                "basis",
                format!("{} vectors, {} restarts, {} applications", self.basis, self.restarts, self.applications),
            ),
            ("time", format!("{:.3} s", self.seconds)),
        ];
        rows.extend(since(self.resumed_from, None));
        rows.push(("SHA-256", self.sha256.clone()));
        let of_pair = |(number, row): (usize, &Row)| {
            [("", number.to_string()), ("λ", with_bits(row.lambda)), ("|A v − λ v|", format!("{:.1e}", row.residual))]
        };
        let table = table_of(self.eigenpairs.iter().enumerate().map(of_pair), [0]);
        let written = self.output.as_ref().map_or_else(String::new, |output| format!("{output}\n"));
        format!("{written}{}\n{table}", facts(rows))
    }
}
