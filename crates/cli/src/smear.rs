//! `lanefield smear`: stout, APE and hypercubic smearing of a configuration.

use std::path::PathBuf;

use clap::Args;
use lanefield::gauge::{GaugeField, Smearing};
use lanefield_lab::Timed as _;
use serde::Serialize;

use super::Outcome;
use super::args::BackendArgs;
use super::config::write_configuration;
use super::files::{read_configuration_on, require_outputs};
use super::output::{Head, Kind, bits, facts, joined, show, with_bits};
use super::ranks::RanksArgs;

/// Smear the links of a gauge configuration, with the same bits on every device and any number of ranks.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc
  lanefield smear --kind stout:0.1,3 --config weak.nersc --output stout.nersc
  lanefield smear --kind ape:0.6,10 --config weak.nersc --output ape.npy
  lanefield smear --kind hyp:0.75,0.6,0.3,1 --config weak.nersc \\
      --output hyp.nersc --device cpu")]
pub struct Smear {
    /// stout:RHO,STEPS, ape:ALPHA,STEPS, spatial-ape:ALPHA,STEPS or hyp:ALPHA1,ALPHA2,ALPHA3,STEPS
    #[arg(long, value_name = "KIND")]
    kind: Smearing,
    /// The configuration: a NERSC, ILDG, SciDAC or MILC file, or a NumPy array (T, Z, Y, X, 4, 3, 3) if it ends in .npy
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The file to write: a NumPy array if it ends in .npy, an ILDG file if in .lime, a MILC file if in .milc, else a NERSC file
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    backend: BackendArgs,
    #[command(flatten)]
    ranks: RanksArgs,
}

impl Smear {
    pub fn run(self) -> anyhow::Result<Outcome> {
        require_outputs(&[("--output", &self.output)], &[("--config", &self.config)])?;
        let file = read_configuration_on(&self.ranks, &self.config)?;
        let backend = self.backend.open_on(&file.lattice, &self.ranks)?;
        let smeared = backend.install(|| {
            let field = GaugeField::new(&backend, &file.configuration, self.backend.lanes);
            field.map_err(Into::into).and_then(|mut field| {
                field.smear(&self.kind)?;
                field.configuration()
            })
        })?;
        let worst = smeared.unitarity_defect();
        anyhow::ensure!(
            worst.defect <= UNITARITY,
            "{} is not in SU(3) after smearing by {}: |U U† − 1| or |det U − 1| is {:.1e}; the sum that was projected is nearly singular there",
            worst.link,
            self.kind,
            worst.defect
        );
        write_configuration(&self.output, &smeared, &file.lattice)?;
        let plaquette = file.lattice.plaquette(&smeared)?;
        let report = Report {
            file: self.output.display().to_string(),
            smearing: self.kind.to_string(),
            lattice: file.lattice.extents().as_array(),
            plaquette_before: file.plaquette()?,
            plaquette,
            plaquette_bits: bits(plaquette),
            unitarity_defect: file.lattice.largest(worst.defect)?,
        };
        show(self.json, Head::on(Kind::Smear, backend.device()), &report, Report::text)
    }
}

/// How far links may be from SU(3).
const UNITARITY: f64 = 1e-10;

/// What came out. As JSON, these fields.
#[derive(Serialize)]
struct Report {
    file: String,
    smearing: String,
    lattice: [usize; 4],
    plaquette_before: f64,
    plaquette: f64,
    plaquette_bits: String,
    /// The largest of |U U† − 1| and |det U − 1| of any link.
    unitarity_defect: f64,
}

impl Report {
    fn text(&self) -> String {
        let rows = [
            ("lattice", joined(&self.lattice, ".")),
            ("smearing", self.smearing.clone()),
            ("plaquette before", self.plaquette_before.to_string()),
            ("plaquette", with_bits(self.plaquette)),
            ("worst unitarity", format!("{:.2e}", self.unitarity_defect)),
        ];
        format!("{}\n{}", self.file, facts(rows))
    }
}
