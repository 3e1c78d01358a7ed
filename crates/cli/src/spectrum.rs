//! `lanefield spectrum`: correlators of hadrons on several configurations, their errors, effective masses and fits.

mod data;
mod fit;
mod measure;

use clap::Args;

use super::outcome::Outcome;
use super::ranks::require_one;
use fit::Fit;
use measure::Measure;

/// Measure correlators of hadrons on an ensemble, and fit masses.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate heatbath --beta 5.7 --lattice 4.4.4.8 --seed 1 \\
      --thermalise 20 --sweeps 70 --every 10 --output beta5.7
  lanefield spectrum measure --config beta5.7 --operator wilson --mass 0.5 \\
      --source point:0,0,0,0 --output spectrum.json
  lanefield spectrum fit spectrum.json --fit pion:2:4")]
pub struct Spectrum {
    #[command(subcommand)]
    command: Command,
}

commands! {
    Command {
        Measure(Box<Measure>),
        Fit(Fit),
    }
}

impl Spectrum {
    pub fn run(self) -> anyhow::Result<Outcome> {
        if let Command::Fit(_) = self.command {
            require_one("spectrum fit")?;
        }
        self.command.run()
    }
}
