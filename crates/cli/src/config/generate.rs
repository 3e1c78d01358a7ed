//! `lanefield config generate`: configurations from a seed.

use super::heatbath::Heatbath;
use super::made::Made;
use crate::configuration::{FormatArgs, require_memory};
use crate::files::require_outputs;
use crate::prelude::*;
use crate::ranks::RanksArgs;

/// Create a configuration or an ensemble from a seed.
///
/// The links are the same on every machine.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield config generate weak --lattice 8.8.8.8 --seed 2 --spread 0.1 \\
      --output weak.npy
  lanefield config generate unit --lattice 4.4.4.4 --output unit.nersc \\
      --rows 2 --floating-point IEEE32BIG
  lanefield config generate heatbath --beta 5.7 --lattice 4.4.4.8 --seed 1 \\
      --thermalise 20 --sweeps 60 --output quenched")]
pub struct Generate {
    #[command(subcommand)]
    kind: Generated,
}

commands! {
    Generated {
        Unit(Unit),
        Hot(Hot),
        Weak(Weak),
        Heatbath(Box<Heatbath>),
    }
}

impl Generate {
    pub fn run(self) -> anyhow::Result<Outcome> {
        self.kind.run()
    }
}

/// Create a configuration of unit links, the free field.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate unit --lattice 4.4.4.4 --output unit.nersc")]
struct Unit {
    #[command(flatten)]
    target: Target,
}

/// Create a configuration of random links, uniform in SU(3).
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc")]
struct Hot {
    /// Seed of the random links
    #[arg(long, value_name = "N", value_parser = crate::args::seed)]
    seed: u64,
    #[command(flatten)]
    target: Target,
}

/// Create a configuration of links near 1.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 8.8.8.8 --seed 2 --spread 0.1 \\
      --output weak.npy")]
struct Weak {
    /// Seed of the random links
    #[arg(long, value_name = "N", value_parser = crate::args::seed)]
    seed: u64,
    /// Width of the Gaussian numbers in the exponent, 0 to 1000
    #[arg(long, value_name = "S", default_value = "0.2", value_parser = spread)]
    spread: f64,
    #[command(flatten)]
    target: Target,
}

impl Unit {
    fn run(self) -> anyhow::Result<Outcome> {
        self.target.write(Configuration::unit)
    }
}

impl Hot {
    fn run(self) -> anyhow::Result<Outcome> {
        self.target.write(|part| Configuration::hot(part, self.seed))
    }
}

impl Weak {
    fn run(self) -> anyhow::Result<Outcome> {
        self.target.write(|part| Configuration::weak(part, self.seed, self.spread))
    }
}

/// Lattice and file of a configuration that is created.
#[derive(Args)]
struct Target {
    /// Extents of the lattice
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Extents,
    /// File to write, in the format of its extension: .nersc (or none), .lime (ILDG), .milc, .npy, .h5
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    ranks: RanksArgs,
}

fn spread(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| (0.0..=1000.0).contains(value));
    value.ok_or_else(|| format!("invalid spread '{text}': expected a number from 0 to 1000"))
}

impl Target {
    /// Writes a configuration, of which `make` returns the local volume of this rank.
    fn write(&self, make: impl FnOnce(Extents) -> Configuration) -> anyhow::Result<Outcome> {
        self.format.check(&self.output)?;
        require_outputs(&[("--output", &self.output)], &[])?;
        let lattice = self.ranks.lattice(self.lattice)?;
        let part = lattice.part();
        require_memory(part)?;
        let configuration = make(part);
        let made = Made { configuration: &configuration, lattice: &lattice, ranks: &self.ranks };
        made.write(&self.output, &self.format, (None, None, None), self.json)
    }
}
