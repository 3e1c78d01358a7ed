//! `lanefield apply`: an operator, or a piece of one, on a field, from file to file. Definitions of the operators: `docs/arithmetic.md`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum};
use lanefield::backend::{BackendError, Memory as _};
use lanefield::dynamic::{self, DynField, Hop, What, download, norm2, upload};
use lanefield::io::npy::ArrayReal;
use lanefield::kernel::Kernel;
use lanefield::operator::{AnyModel, HopParameters};
use lanefield::reference;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::{Checkerboard, Lattice, LatticeOptions, Parity, Sites};
use lanefield::reference::real::{Precision, Real};
use lanefield_lab::Timed as _;
use num_complex::Complex;
use serde::Serialize;

use super::Outcome;
use super::args::{BackendArgs, HopArgs, name_of, of_arithmetic};
use super::array_output::{self, ArrayOutput};
use super::fields::FieldShape;
use super::files::ConfigurationFile;
use super::operator::{Offer, OperatorArgs, check, json_of};
use super::output::{Head, Kind, Layout, bits, facts, show, with_bits};
use super::source::{InputArgs, require_in_range};

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
    /// The operator itself, or one of its even-odd pieces
    #[arg(long, value_name = "PIECE", default_value = "full")]
    piece: Piece,
    /// Apply the Hermitian conjugate
    #[arg(long)]
    dagger: bool,
    /// For hops and pieces: compute the result on the sites of this parity, even or odd, and leave it zero on the others. Hops and meooe read
    /// the other parity of the source, all else reads this one
    #[arg(long, value_name = "PARITY")]
    parity: Option<Parity>,
    #[command(flatten)]
    input: InputArgs,
    /// The NumPy array to write, of the shape of the source, complex64 for f32 and complex128 for f64. Beside it FILE.npy.json says what it is
    #[arg(long, value_name = "FILE.npy")]
    output: PathBuf,
    #[command(flatten)]
    hop: HopArgs,
    /// Precision of the operator and of the result
    #[arg(long, value_name = "PRECISION", default_value = "f64", value_parser = of_arithmetic())]
    precision: Precision,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    backend: BackendArgs,
}

/// All operators, and the hops that they are made of.
struct OrHop;

impl Offer for OrHop {
    const HELP: &'static str = "The operator, or the kernel of a hop";

    fn kernels() -> Vec<&'static Kernel> {
        Hop::all().map(Hop::kernel).collect()
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

/// What is to be applied.
#[derive(Clone, Copy)]
enum Step {
    Hop { name: &'static str, hop: Hop, parameters: HopParameters, onto: Sites },
    Full(AnyModel),
    Piece { model: AnyModel, piece: Piece, onto: Parity },
}

impl Step {
    fn shape(self) -> anyhow::Result<FieldShape> {
        match self {
            Self::Hop { hop, .. } => FieldShape::of_object(hop.object()),
            Self::Full(model) | Self::Piece { model, .. } => FieldShape::of_model(&model),
        }
    }

    fn describe(self) -> String {
        match self {
            Self::Hop { name, onto: Sites::Full, .. } => name.to_owned(),
            Self::Hop { name, onto, .. } => format!("{name} onto {onto} sites"),
            Self::Full(model) => model.describe(),
            Self::Piece { model, piece, onto } => {
                format!("{} of {} onto {} sites", name_of(piece), model.describe(), Sites::Parity(onto))
            }
        }
    }

    /// What is applied, and which piece of it; `dagger` of a hop is in its kernel.
    fn applied(self, dagger: bool) -> (What, dynamic::Piece, Dagger) {
        let dagger = if dagger { Dagger::Yes } else { Dagger::No };
        match self {
            Self::Hop { hop, parameters, onto, .. } => {
                let piece = match onto {
                    Sites::Full => dynamic::Piece::Full,
                    Sites::Parity(parity) => dynamic::Piece::Meooe(parity),
                };
                (What::Hop(hop, parameters), piece, Dagger::No)
            }
            Self::Full(model) => (What::Model(model), dynamic::Piece::Full, dagger),
            Self::Piece { model, piece, onto } => {
                let piece = match piece {
                    Piece::Meooe => dynamic::Piece::Meooe(onto),
                    Piece::Mooee => dynamic::Piece::Mooee(onto),
                    Piece::Mooeeinv => dynamic::Piece::MooeeInverse(onto),
                    Piece::Full | Piece::Mpc => dynamic::Piece::Mpc,
                };
                (What::Model(model), piece, dagger)
            }
        }
    }

    fn checkerboard(self) -> Checkerboard {
        match self {
            Self::Hop { onto: Sites::Full, .. } | Self::Full(_) => Checkerboard::FullOnly,
            Self::Hop { .. } | Self::Piece { .. } => Checkerboard::RedBlack,
        }
    }
}

impl Apply {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let step = self.step()?;
        array_output::require_outputs(Some(&self.output), &[], &self.input.files(), |_| false)?;
        match self.precision {
            Precision::F32 => self.apply::<f32>(step),
            _ => self.apply::<f64>(step),
        }
    }

    /// What is to be applied, unless the arguments contradict each other.
    fn step(&self) -> anyhow::Result<Step> {
        if let Some(hop) = self.operator.kernel()?.and_then(Hop::of) {
            let (piece, name) = (name_of(self.piece), hop.kernel().name);
            ensure!(
                self.piece == Piece::Full,
                "--piece {piece} is for operators with even-odd pieces; {name} has none"
            );
            let conjugate = || format!("--dagger: {name} has no kernel of its Hermitian conjugate");
            let hop = if self.dagger { hop.dagger().with_context(conjugate)? } else { hop };
            let onto = self.parity.map_or(Sites::Full, Sites::Parity);
            return Ok(Step::Hop { name, hop, parameters: self.hop.parameters(), onto });
        }
        let model = self.operator.model(&self.hop)?;
        let onto = match (self.piece, self.parity) {
            (Piece::Full, None) => return Ok(Step::Full(model)),
            (Piece::Full, Some(_)) => bail!(
                "--parity is for hops and pieces; {} acts on all sites: leave --parity out, or give a --piece",
                model.name()
            ),
            (Piece::Mpc, Some(Parity::Even)) => {
                bail!("--piece mpc acts on the odd sites: leave --parity out, or give --parity odd")
            }
            (Piece::Mpc, _) => Parity::Odd,
            (_, Some(onto)) => onto,
            (piece, None) => {
                bail!("--piece {} needs --parity even or odd: the sites of the result", name_of(piece))
            }
        };
        Ok(Step::Piece { model, piece: self.piece, onto })
    }

    /// The array that will hold the result.
    fn array_output<R: Vectors>(
        &self,
        step: Step,
        file: &ConfigurationFile,
        source: &[Complex<f64>],
    ) -> anyhow::Result<ArrayOutput<'_>> {
        let (operator, parameters, piece) = match step {
            Step::Hop { hop, .. } => (hop.kernel().name, serde_json::Map::new(), Piece::Full),
            Step::Full(model) => (model.name(), json_of(&model), Piece::Full),
            Step::Piece { model, piece, .. } => (model.name(), json_of(&model), piece),
        };
        let sites = match step {
            Step::Hop { onto, .. } => onto.to_string(),
            Step::Full(_) => Sites::Full.to_string(),
            Step::Piece { onto, .. } => Sites::Parity(onto).to_string(),
        };
        let settings = [("piece", name_of(piece).into()), ("dagger", self.dagger.into()), ("sites", sites.into())];
        let source = self.input.described(source, &file.lattice, None)?;
        let inputs = array_output::inputs((operator, parameters, &self.hop), file, source, R::NAME, settings)?;
        ArrayOutput::new(&self.output, "apply", &self.input.files(), inputs)
    }

    fn apply<R: Vectors + ArrayReal>(&self, step: Step) -> anyhow::Result<Outcome> {
        if let Step::Full(model) | Step::Piece { model, .. } = step {
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
        let lay_out = |lanes| {
            let options = LatticeOptions { lanes, nodes: None, checkerboard: step.checkerboard() };
            Lattice::new(extents, R::COMPLEX, options).context("failed to lay out the lattice")
        };
        // One that does not fit is refused before a device is opened.
        lay_out(self.backend.lanes)?;
        let backend = self.backend.open_on(&file.lattice, &self.input.ranks)?;
        let lattice = lay_out(backend.lanes(self.backend.lanes))?;
        let (what, piece, dagger) = step.applied(self.dagger);
        let plaquette = file.plaquette()?;
        let ConfigurationFile { configuration, lattice: whole, .. } = file;
        let apply = || -> Result<_, BackendError> {
            let on = |sites| {
                let (object, precision) = (what.object(), <R as Real>::PRECISION);
                reference::field::FieldShape { lattice, sites, object, precision }
            };
            let psi = upload(&backend, on(piece.from()), &source)?;
            let mut out = DynField::zeros(&backend, on(piece.onto()))?;
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
        let axes = shape.write(&self.output, &whole, None, &result)?;
        output.describe::<R>(axes)?;
        let report = Report {
            operator: step.describe(),
            dagger: self.dagger,
            layout: lattice.into(),
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

/// What was applied. As JSON, these fields.
#[derive(Serialize)]
struct Report {
    /// The operator with its parameters, or the piece of it.
    operator: String,
    /// Whether its Hermitian conjugate.
    dagger: bool,
    #[serde(flatten)]
    layout: Layout,
    /// f32 or f64.
    precision: &'static str,
    /// Average plaquette of the configuration.
    plaquette: f64,
    /// |source|² over the sites that the operator reads: the exact sum, rounded once.
    source_norm2: f64,
    /// Its 16 hex digits.
    source_norm2_bits: String,
    /// |result|², likewise.
    result_norm2: f64,
    /// Its 16 hex digits.
    result_norm2_bits: String,
    /// The file written.
    output: String,
}

impl Report {
    fn text(&self) -> String {
        facts([
            ("operator", format!("{}{}", self.operator, if self.dagger { ", dagger" } else { "" })),
            ("lattice", self.layout.with(&format!(" in {}", self.precision))),
            ("plaquette", self.plaquette.to_string()),
            ("|source|²", with_bits(self.source_norm2)),
            ("|result|²", with_bits(self.result_norm2)),
            ("written", self.output.clone()),
        ])
    }
}
