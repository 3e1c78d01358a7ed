//! `lanefield source`: writes the field of a `--source` of `apply` and `solve` as an array.

pub mod quark;

pub mod field;

use lanefield::comm::WholeLattice;
use lanefield::dynamic::ArrayShape;
use lanefield::io::npy::ArrayReal;
use lanefield::io::sidecar::SourceInputs;
use lanefield::observable::Source;
use lanefield::reference::scalar;

use super::args::of_arithmetic;
use super::array_output::{self, ArrayOutput};
use super::fields::write_field;
use super::files::{named, npy_name};
use super::numbers::{bits, with_bits};
use super::output::{facts, joined};
use crate::prelude::*;
use field::{input_of, load, require_in_range};

/// Write a source as an array.
///
/// Its numbers are those that apply and solve use for the same --source.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield source gauss:7 --lattice 4.4.4.8 --output eta.npy
  lanefield source z4:1 --lattice 4.4.4.8 --ls 8 --output noise.npy
  lanefield source momentum:1,0,0,0,1,2 --lattice 4.4.4.8 --output wave.npy
  lanefield source point:0,0,0,0,1,2 --lattice 4.4.4.8 --precision f32 \\
      --output point.npy")]
pub struct MakeSource {
    /// Source field: gauss:SEED, z4:SEED, z2:SEED, point:…, wall:… or momentum:…
    ///
    /// gauss:SEED has Gaussian random numbers of variance 1 in each real; z4:SEED has one of 1, i, -1, -i in each number; z2:SEED has 1 or -1. With
    /// SEED,t, the numbers are on time slice t alone.
    ///
    /// point:x,y,z,t,spin,colour is 1 there and 0 elsewhere; wall:t,spin,colour is 1 on a time slice; momentum:nx,ny,nz,t,spin,colour is exp(ip·x) on
    /// a time slice with p = 2πn/L. For colour vectors, the component takes the place of the spin
    #[arg(value_name = "KIND:NUMBERS", value_parser = Source::field)]
    source: Source,
    /// Extents of the lattice
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Extents,
    /// Write a five-dimensional field of LS spinors per site
    #[arg(long, value_name = "LS", value_parser = clap::value_parser!(u16).range(1..=1024), conflicts_with = "components")]
    ls: Option<u16>,
    /// Write a field of N colour vectors per site
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    components: Option<u16>,
    /// NumPy array to write: complex64 for f32 and complex128 for f64. FILE.npy.json, next to it, describes it
    #[arg(long, help_heading = "Output", value_name = "FILE.npy", value_parser = named(npy_name))]
    output: PathBuf,
    /// Precision of the array
    #[arg(long, value_name = "PRECISION", default_value = "f64", value_parser = of_arithmetic())]
    precision: Precision,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    source: String,
    lattice: [usize; 4],
    shape: Vec<usize>,
    precision: &'static str,
    /// |source|², the exact sum.
    norm2: f64,
    norm2_bits: String,
    output: String,
}

impl MakeSource {
    pub fn run(self) -> anyhow::Result<Outcome> {
        match self.precision {
            Precision::F32 => self.make::<f32>(),
            _ => self.make::<f64>(),
        }
    }

    fn make<R: Vectors + ArrayReal>(self) -> anyhow::Result<Outcome> {
        if let Source::File(path) = &self.source {
            let name = path.display();
            bail!("'{name}' is not a source that can be generated: expected {}", Source::KINDS);
        }
        array_output::require_outputs(Some(&self.output), &[], &[], |_| None)?;
        let shape = match (self.ls, self.components) {
            (Some(ls), _) => ArrayShape::FiveDimensional(ls.into()),
            (_, Some(components)) => ArrayShape::ColourVectors(components.into()),
            _ => ArrayShape::Spinor,
        };
        let loaded = load(&self.source, shape, self.lattice, false, "--lattice")?;
        require_in_range::<R>(&loaded.values)?;
        let values: Vec<Complex<R>> =
            loaded.values.iter().map(|z| Complex::new(R::from_f64(z.re), R::from_f64(z.im))).collect();
        let lattice = WholeLattice::alone(self.lattice);
        let inputs = SourceInputs {
            lattice: self.lattice.as_array(),
            source: input_of(&self.source, &loaded.values, &lattice, None)?,
            precision: R::NAME.to_owned(),
        };
        let output = ArrayOutput::new(&self.output, "source", &[], inputs)?;
        output.begin()?;
        let axes = write_field(shape, &self.output, &lattice, None, &values)?;
        output.describe::<R>(axes.clone())?;
        let norm2 = scalar::norm2(shape.part_words(), &values);
        let report = Report {
            source: self.source.to_string(),
            lattice: self.lattice.as_array(),
            shape: axes,
            precision: R::NAME,
            norm2,
            norm2_bits: bits(norm2),
            output: self.output.display().to_string(),
        };
        show(self.json, Head::of(Kind::Source), &report, Report::text)
    }
}

impl Report {
    fn text(&self) -> String {
        facts([
            ("source", format!("{} on {}", self.source, joined(&self.lattice, "."))),
            ("array", format!("{} ({})", self.output, joined(&self.shape, ", "))),
            ("|source|²", with_bits(self.norm2)),
        ])
    }
}
