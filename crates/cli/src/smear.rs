//! `lanefield smear`: stout, APE and hypercubic smearing of a configuration.

use lanefield::comm::WholeLattice;
use lanefield::gauge::{GaugeField, Smearing};
use lanefield::io::configuration::ConfigurationFile;
use lanefield::reference::gauge::Projection;

use super::args::OnLatticeArgs;
use super::configuration::{ConfigArgs, FormatArgs, MadeOutput};
use super::interrupt::{interrupted, keep};
use super::numbers::{bits, small, with_bits};
use super::output::{facts, joined};
use crate::prelude::*;

/// Smear the links of a configuration.
///
/// The links have the same bits on every device and any number of ranks. docs/agreement.md lists the conventions of other programs.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc
  lanefield smear --smear stout:0.1,3 --config weak.nersc --output stout.nersc
  lanefield smear --smear ape:0.6,10 --config weak.nersc --output ape.npy
  lanefield smear --smear ape:0.6,10,max-re-tr --config weak.nersc \\
      --output milc.lime
  lanefield smear --smear hyp:0.75,0.6,0.3,1 --config weak.nersc \\
      --output hyp.nersc --device cpu")]
pub struct Smear {
    /// Kind of smearing: stout:RHO,STEPS, ape:ALPHA,STEPS, spatial-ape:ALPHA,STEPS or hyp:ALPHA1,ALPHA2,ALPHA3,STEPS. The last three project by polar
    /// decomposition. With ,max-re-tr after STEPS, they project to the largest trace, as MILC, Chroma and Bridge++ do
    #[arg(long = "smear", aliases = ["kind", "smearing"], value_name = "KIND")]
    kind: Smearing,
    #[command(flatten)]
    input: ConfigArgs,
    /// File to write, in the format of its extension: .nersc (or none), .lime (ILDG), .milc, .npy, .h5
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    on: OnLatticeArgs,
}

impl Smear {
    pub fn run(self) -> anyhow::Result<Outcome> {
        MadeOutput::check((Some(&self.output), &self.format), &[], &self.input.config)?;
        let file = self.input.read(&self.on.ranks)?;
        let kind = self.kind.to_string();
        let settings = [("kind", kind.clone().into()), self.input.read.setting()];
        let output = (&*self.output, &self.format);
        let output = MadeOutput::new(output, "smear", (&self.input.config, &file), kind, settings)?;
        let before = file.configuration.unitarity_defect().defect;
        let backend = self.on.open(&file.lattice, Precision::F64)?;
        let (smeared, done) = backend.install(|| self.smear(&backend, &file))?;
        let made_by = self.kind.with_steps(done).to_string();
        let worst = smeared.unitarity_defect();
        anyhow::ensure!(
            worst.defect <= UNITARITY + TURNED * before,
            "{} is not in SU(3) after smearing by {}: |U U† − 1| or |det U − 1| is {:.1e}, and was at most {before:.1e} before{}",
            worst.link,
            self.kind,
            worst.defect,
            if self.kind.projection() == Some(Projection::Polar) {
                "; the sum that was projected is nearly singular there: max-re-tr after the steps projects such sums, too"
            } else {
                ""
            }
        );
        let steps = self.kind.steps();
        let stopped = done < steps;
        let written = match stopped {
            true => {
                let (path, note) = output.write_stopped(&smeared, Some(made_by.clone()))?;
                say!(
                    "interrupted: a signal ended the smearing after {done} of {steps} steps: the same command with --config {} --kind {} continues{note}",
                    path.display(),
                    self.kind.with_steps(steps - done)
                );
                path
            }
            false => output.write(&smeared)?,
        };
        let plaquette = file.lattice.plaquette(&smeared)?;
        let report = Report {
            file: written.display().to_string(),
            smearing: made_by,
            lattice: file.lattice.extents().as_array(),
            plaquette_before: file.plaquette()?,
            plaquette,
            plaquette_bits: bits(plaquette),
            unitarity_defect: file.lattice.largest(worst.defect)?,
        };
        show(self.on.json, Head::on(Kind::Smear, backend.device()), &report, Report::text)
    }
}

impl Smear {
    /// The links after all steps, or after those before a signal, and how many these are.
    fn smear(&self, backend: &AnyBackend, file: &ConfigurationFile) -> anyhow::Result<(Configuration, usize)> {
        let mut field = GaugeField::new(backend, &file.configuration, self.on.backend.lanes)?;
        let done = smear_until_a_signal(&mut field, &self.kind, (backend, &file.lattice), keep)?;
        Ok((field.configuration()?, done))
    }
}

/// Smears links until a signal comes; `keep` is called after each step. Gives the number of steps that were done.
pub fn smear_until_a_signal(
    field: &mut GaugeField<'_, AnyBackend>,
    kind: &Smearing,
    (backend, lattice): (&AnyBackend, &WholeLattice),
    keep: impl Fn(),
) -> anyhow::Result<usize> {
    let one = kind.with_steps(1);
    for done in 1..=kind.steps() {
        field.smear(&one)?;
        // A step that is queued is not done.
        backend.finish()?;
        keep();
        if lattice.communicator().any(interrupted())? {
            return Ok(done);
        }
    }
    Ok(kind.steps())
}

/// How far links may be from SU(3) for rounding.
const UNITARITY: f64 = 1e-10;
/// How much further links may be that are products of unitary matrices and of those that were read.
const TURNED: f64 = 3.0;

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
            ("plaquette before", with_bits(self.plaquette_before)),
            ("plaquette", with_bits(self.plaquette)),
            ("largest deviation", small(self.unitarity_defect, 2)),
        ];
        format!("{}\n{}", self.file, facts(rows))
    }
}
