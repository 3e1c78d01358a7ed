//! `--deflate`: eigenvectors that `lanefield eigen` wrote, as guesses of solves.

use lanefield::io::checkpoint::{self, CheckpointError};
use lanefield::io::configuration::ConfigurationFile;
use lanefield::operator::AnyModel;
use lanefield::solver::{Eigenpairs, eigen_identity};

use crate::files::given;
use crate::prelude::*;
use crate::solving::course::Fact;

#[derive(Args, Clone, Debug)]
pub struct DeflationArgs {
    /// Deflate with the eigenvectors in this file: `lanefield eigen` wrote them for the same operator, configuration and preconditioning. The solve
    /// starts from their component of the solution, computed in f64
    #[arg(long, help_heading = "Solver", value_name = "FILE")]
    pub deflate: Option<PathBuf>,
}

/// Eigenpairs from a file, and what identifies them.
pub struct Deflating {
    pub pairs: Eigenpairs,
    /// "24 eigenvectors of SHA-256 …"
    pub description: String,
}

impl DeflationArgs {
    /// The file that is read, with the name of its argument.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &Path)> {
        given([("--deflate", &self.deflate)])
    }

    /// Reads the eigenpairs. Fails if they belong to another system than that of the solve.
    pub fn read(
        &self,
        model: &AnyModel,
        hop: HopParameters,
        preconditioning: Preconditioning,
        file: &ConfigurationFile,
    ) -> anyhow::Result<Option<Deflating>> {
        let Some(path) = &self.deflate else { return Ok(None) };
        let of_solve = (&file.configuration, &file.lattice);
        let identity = eigen_identity(&model.describe(), hop, preconditioning, of_solve)?;
        let read = || match checkpoint::read(path, &identity, &file.lattice) {
            Err(CheckpointError::OtherKind { found }) => {
                bail!("it contains {found}, not eigenpairs: give a file that 'lanefield eigen' wrote as its --output")
            }
            state => Ok(Eigenpairs::of_state(state?)?),
        };
        let pairs = read().with_context(|| format!("cannot deflate with {}", path.display()))?;
        let description = format!("{} eigenvectors of SHA-256 {}", pairs.len(), pairs.digest(&file.lattice)?);
        Ok(Some(Deflating { pairs, description }))
    }
}

/// The number of eigenvectors in the guess, as text.
pub fn deflated(count: Option<usize>) -> Option<Fact> {
    count.map(|count| ("deflation", format!("{count} eigenvectors")))
}
