//! `lanefield apply`: applies an operator, or a piece of one, to a field in a file. `docs/arithmetic.md` defines the operators.

use std::sync::Arc;

use clap::ValueEnum;
use lanefield::dynamic::{self, Applicable, ArrayShape, DynField, HopKernel, download, field_shape, norm2, upload};
use lanefield::io::configuration::ConfigurationFile;
use lanefield::io::npy::ArrayReal;
use lanefield::kernel::Kernel;
use lanefield::reference;
use lanefield::reference::real::Real;

use super::args::{BackendArgs, HopArgs, name_of, of_arithmetic};
use super::array_output::{self, ArrayOutput};
use super::fields::{shape_of_model, shape_of_object, write_field};
use super::numbers::{bits, with_bits};
use super::operator::{Offer, OperatorArgs, check, json_of};
use super::output::{Layout, facts};
use crate::prelude::*;
use crate::source::field::{InputArgs, input_of, require_in_range};

/// Apply an operator to a field, and write the result.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield apply --operator hop --config hot.nersc --source gauss:7 \\
      --output hop.npy
  lanefield apply --operator hop --parity even --dagger --precision f32 \\
      --config hot.nersc --source hop.npy --output even.npy
  lanefield apply --operator wilson --mass -0.1 --config hot.nersc \\
      --source point:0,0,0,0,0,0 --output wilson.npy --device cpu
  lanefield apply --operator clover --csw 1.3 --mass 0.1 --piece mpc \\
      --config hot.nersc --source gauss:7 --output mpc.npy
  lanefield apply --operator mobius --ls 8 --mass 0.05 --config hot.nersc \\
      --source gauss:7 --output mobius.npy")]
pub struct Apply {
    #[command(flatten)]
    operator: OperatorArgs<OrHop>,
    /// Piece of the operator: M itself (full), or one of its even-odd pieces
    #[arg(long, value_name = "PIECE", default_value = "full")]
    piece: Piece,
    /// Apply the Hermitian conjugate
    #[arg(long)]
    dagger: bool,
    /// Compute the result on the sites of this parity, even or odd: for hops and pieces. The result is zero on the other sites. Hops and meooe read
    /// the other parity of the source; other pieces read the same parity
    #[arg(long, value_name = "PARITY")]
    parity: Option<Parity>,
    #[command(flatten)]
    input: InputArgs,
    /// NumPy array to write: same shape as the source, complex64 for f32 and complex128 for f64. FILE.npy.json, next to it, describes it
    #[arg(long, help_heading = "Output", value_name = "FILE.npy", value_parser = super::files::named(super::files::npy_name))]
    output: PathBuf,
    #[command(flatten)]
    hop: HopArgs,
    /// Precision of the operator and of the result
    #[arg(long, help_heading = "Output", value_name = "PRECISION", default_value = "f64", value_parser = of_arithmetic())]
    precision: Precision,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    backend: BackendArgs,
}

/// All operators, and their hop kernels.
struct OrHop;

impl Offer for OrHop {
    const HELP: &'static str = "Operator, or kernel of a hop";

    fn kernels() -> Vec<&'static Kernel> {
        HopKernel::all().map(HopKernel::kernel).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Piece {
    /// M on all sites
    Full,
    /// The part of M that connects the parities
    Meooe,
    /// The part of M that stays on a parity
    Mooee,
    /// The inverse of mooee
    Mooeeinv,
    /// The Schur complement Mpc = Moo − Moe Mee⁻¹ Meo on the odd sites
    Mpc,
}

#[derive(Clone, Copy)]
struct Step {
    what: Applicable,
    piece: dynamic::Piece,
    /// For a hop, its kernel determines it.
    dagger: Dagger,
}

impl Step {
    fn shape(self) -> anyhow::Result<ArrayShape> {
        match self.what {
            Applicable::Hop(hop, _) => shape_of_object(hop.object()),
            Applicable::Model(model) => shape_of_model(&model),
        }
    }
}

impl Apply {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let step = self.step()?;
        array_output::require_outputs(Some(&self.output), &[], &self.input.files(), |_| None)?;
        match self.precision {
            Precision::F32 => self.apply::<f32>(step),
            _ => self.apply::<f64>(step),
        }
    }

    /// What to apply. Fails if the arguments contradict each other.
    fn step(&self) -> anyhow::Result<Step> {
        if let Some(hop) = self.operator.kernel()?.and_then(HopKernel::of) {
            let (piece, name) = (name_of(self.piece), hop.kernel().name);
            ensure!(
                self.piece == Piece::Full,
                "--piece {piece} is for operators with even-odd pieces; {name} has none"
            );
            let conjugate = || format!("--dagger: {name} has no kernel of its Hermitian conjugate");
            let hop = if self.dagger { hop.dagger().with_context(conjugate)? } else { hop };
            let piece = self.parity.map_or(dynamic::Piece::Full, dynamic::Piece::Meooe);
            return Ok(Step { what: Applicable::Hop(hop, self.hop.parameters()), piece, dagger: Dagger::No });
        }
        let model = self.operator.model(&self.hop)?;
        let piece = match (self.piece, self.parity) {
            (Piece::Full, None) => dynamic::Piece::Full,
            (Piece::Full, Some(_)) => bail!(
                "--parity is for hops and pieces; {} acts on all sites: leave --parity out, or give a --piece",
                model.name()
            ),
            (Piece::Mpc, Some(Parity::Even)) => {
                bail!("--piece mpc acts on the odd sites: leave --parity out, or give --parity odd")
            }
            (Piece::Mpc, _) => dynamic::Piece::Mpc,
            (Piece::Meooe, Some(onto)) => dynamic::Piece::Meooe(onto),
            (Piece::Mooee, Some(onto)) => dynamic::Piece::Mooee(onto),
            (Piece::Mooeeinv, Some(onto)) => dynamic::Piece::MooeeInverse(onto),
            (piece, None) => {
                bail!("--piece {} needs --parity even or odd: the sites of the result", name_of(piece))
            }
        };
        Ok(Step { what: Applicable::Model(model), piece, dagger: if self.dagger { Dagger::Yes } else { Dagger::No } })
    }

    fn describe(&self, step: Step) -> String {
        let name = match step.what {
            Applicable::Model(model) => model.describe(),
            // The name that was given, not that of the kernel of the Hermitian conjugate.
            Applicable::Hop(..) => self.operator.name().to_owned(),
        };
        match (self.piece, step.piece.onto()) {
            (Piece::Full, Sites::Full) => name,
            (Piece::Full, onto) => format!("{name} onto {onto} sites"),
            (piece, onto) => format!("{} of {name} onto {onto} sites", name_of(piece)),
        }
    }

    /// The array that will hold the result.
    fn array_output<R: Vectors>(
        &self,
        step: Step,
        file: &ConfigurationFile,
        source: &[Complex<f64>],
    ) -> anyhow::Result<ArrayOutput<'_>> {
        let (operator, parameters) = match step.what {
            Applicable::Hop(hop, _) => (hop.kernel().name, serde_json::Map::new()),
            Applicable::Model(model) => (model.name(), json_of(&model)),
        };
        let (piece, sites) = (name_of(self.piece), step.piece.onto().to_string());
        let settings = [("piece", piece.into()), ("dagger", self.dagger.into()), ("sites", sites.into())];
        let source = input_of(&self.input.source, source, &file.lattice, None)?;
        let inputs = array_output::inputs((operator, parameters, &self.hop), file, source, R::NAME, settings)?;
        ArrayOutput::new(&self.output, "apply", &self.input.files(), inputs)
    }

    fn apply<R: Vectors + ArrayReal>(&self, step: Step) -> anyhow::Result<Outcome> {
        if let Applicable::Model(model) = step.what {
            check::<R>(&model, false)?;
        }
        let file = self.input.configuration()?;
        let configuration = &file.configuration;
        let extents = configuration.extents();
        let shape = step.shape()?;
        let source = self.input.source(shape, extents, false)?.values;
        require_in_range::<R>(&source)?;
        let output = self.array_output::<R>(step, &file, &source)?;
        let source: Vec<_> = source.iter().map(|z| Complex::new(R::from_f64(z.re), R::from_f64(z.im))).collect();
        let Step { what, piece, dagger } = step;
        let lay_out = |lanes| {
            field_shape(what.object(), <R as Real>::PRECISION, (extents, piece.onto()), lanes)
                .context("failed to lay out the lattice")
        };
        // A lattice that does not fit is refused before a device is opened.
        lay_out(self.backend.lanes)?;
        let backend = self.backend.open_on(&file.lattice, &self.input.ranks, <R as Real>::PRECISION)?;
        let onto = lay_out(backend.lanes(self.backend.lanes))?;
        let plaquette = file.plaquette()?;
        let ConfigurationFile { configuration, lattice: whole, .. } = file;
        let apply = || -> Result<_, BackendError> {
            let psi = upload(&backend, reference::field::FieldShape { sites: piece.from(), ..onto }, &source)?;
            let mut out = DynField::zeros(&backend, onto)?;
            let mut operator = what.prepare(&backend, <R as Real>::PRECISION, Arc::new(configuration));
            operator.apply(piece, dagger, &mut out, &psi)?;
            Ok((norm2(&backend, &psi)?, norm2(&backend, &out)?, download::<R>(&backend, &out)?))
        };
        let applied = backend.install(apply).context("failed to apply the operator")?;
        let (source_norm2, result_norm2, result) = applied;
        if let Some(z) = result.iter().find(|z| !(z.re.to_f64().is_finite() && z.im.to_f64().is_finite())) {
            let or_f64 = if R::BITS == 64 { "" } else { ", or use --precision f64" };
            bail!("the result holds {z:e}, beyond {}: multiply the source by a power of two{or_f64}", R::NAME);
        }
        output.begin()?;
        let axes = write_field(shape, &self.output, &whole, None, &result)?;
        output.describe::<R>(axes)?;
        let report = Report {
            operator: self.describe(step),
            dagger: self.dagger,
            layout: onto.lattice.into(),
            precision: R::NAME,
            plaquette,
            source_norm2,
            source_norm2_bits: bits(source_norm2),
            result_norm2,
            result_norm2_bits: bits(result_norm2),
            output: self.output.display().to_string(),
        };
        show(self.json, Head::on(Kind::Apply, backend.device()), &report, Report::text)
    }
}

/// The result of the command. As JSON, these fields.
#[derive(Serialize)]
struct Report {
    /// The operator with its parameters, or the piece of it.
    operator: String,
    dagger: bool,
    #[serde(flatten)]
    layout: Layout,
    precision: &'static str,
    plaquette: f64,
    /// |source|² over the sites that the operator reads: the exact sum, rounded once.
    source_norm2: f64,
    source_norm2_bits: String,
    /// |result|², likewise.
    result_norm2: f64,
    result_norm2_bits: String,
    output: String,
}

impl Report {
    fn text(&self) -> String {
        facts([
            ("operator", format!("{}{}", self.operator, if self.dagger { ", dagger" } else { "" })),
            ("lattice", self.layout.with(&format!(" in {}", self.precision))),
            ("plaquette", with_bits(self.plaquette)),
            ("|source|²", with_bits(self.source_norm2)),
            ("|result|²", with_bits(self.result_norm2)),
            ("written", self.output.clone()),
        ])
    }
}
