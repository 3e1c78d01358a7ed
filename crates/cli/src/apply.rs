//! `lanefield apply`: an operator, or a piece of one, on a field, from file to file. Definitions of the operators: `docs/arithmetic.md`.

use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum};
use lanefield::backend::{Backend, BackendError, FieldOn, Sum};
use lanefield::io::npy::ArrayReal;
use lanefield::kernel::prelude::ReduceKernels as _;
use lanefield::kernel::{self, Access, Argument, Arguments, At, FieldRole, Geometry, Holds, Kernel};
use lanefield::operator::{AnyModel, EvenOdd as _, HopParameters, Model, ModelTask, Operator as _, SchurComplement};
use lanefield::reference::field::{ColourVectors, DoubledGauge, Field, Object, SiteObject, Spinors};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::{Checkerboard, Lattice, LatticeOptions, Parity, Sites, Stencil};
use lanefield::reference::links::double;
use lanefield::reference::real::Precision;
use num_complex::Complex;
use serde::Serialize;

use super::Outcome;
use super::args::{BackendArgs, HopArgs, name_of, of_arithmetic, on_part};
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
        kernel::all().filter(|kernel| Hop::of(kernel).is_some_and(|_| kernel.dagger == Dagger::No)).collect()
    }
}

/// A kernel that does nothing but a hop, of one spinor or colour vector per site, with its fields by role.
#[derive(Clone, Copy)]
struct Hop {
    kernel: &'static Kernel,
    out: FieldRole,
    links: FieldRole,
    source: FieldRole,
}

impl Hop {
    /// The kernel as a hop, if it is one: it reads doubled links and the neighbours of its target, and nothing else, not even a number.
    fn of(kernel: &'static Kernel) -> Option<Self> {
        let fields: Vec<FieldRole> = kernel.fields().collect();
        let [out, links, source] = fields[..] else { return None };
        let takes_numbers =
            kernel.arguments.iter().any(|known| matches!(known, Argument::Scalar(_) | Argument::Complex(_)));
        let is_stencil = !takes_numbers && matches!(kernel.geometry, Geometry::Stencil { .. }) && kernel.takes_parts(1);
        let of_hop = out.access == Access::Write
            && links.holds == Holds::DoubledLinks
            && (source.holds, source.at, source.access) == (out.holds, At::Neighbours, Access::Read);
        (is_stencil && of_hop).then_some(Self { kernel, out, links, source })
    }

    /// The kernel of the Hermitian conjugate.
    fn dagger(self) -> anyhow::Result<Self> {
        let conjugate = |kernel: &&'static Kernel| {
            (kernel.family, kernel.tuned_as, kernel.dagger) == (self.kernel.family, self.kernel.tuned_as, Dagger::Yes)
        };
        let found = kernel::all().filter(conjugate).find_map(Self::of);
        found.with_context(|| format!("--dagger: {} has no kernel of its Hermitian conjugate", self.kernel))
    }

    /// What it acts on.
    fn object(self) -> Object {
        if self.out.holds == Holds::ColourVectors { Object::ColourVectors(1) } else { Object::Spinors(1) }
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
            let (piece, name) = (name_of(self.piece), hop.kernel.name);
            ensure!(
                self.piece == Piece::Full,
                "--piece {piece} is for operators with even-odd pieces; {name} has none"
            );
            let hop = if self.dagger { hop.dagger()? } else { hop };
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
            Step::Hop { hop, .. } => (hop.kernel.name, serde_json::Map::new(), Piece::Full),
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
        let dagger = if self.dagger { Dagger::Yes } else { Dagger::No };
        let source = &source[..];
        let applied = on_part!(&backend, backend => {
            Task { backend, step, dagger, lattice, configuration, source }.apply()
        });
        let applied = applied.context("failed to apply the operator")?;
        let Applied { result, source_norm2, result_norm2 } = applied;
        if let Some(z) = result.iter().find(|z| !(z.re.to_f64().is_finite() && z.im.to_f64().is_finite())) {
            let or_f64 = if R::BITS == 64 { "" } else { ", or use --precision f64" };
            bail!("the result holds {z:e}, beyond {}: multiply the source by a power of two{or_f64}", R::NAME);
        }
        output.begin()?;
        let axes = shape.write(&self.output, &file.lattice, None, &result)?;
        output.describe::<R>(axes)?;
        let report = Report {
            operator: step.describe(),
            dagger: self.dagger,
            layout: lattice.into(),
            precision: R::NAME,
            plaquette: file.plaquette()?,
            source_norm2,
            source_norm2_bits: bits(source_norm2),
            result_norm2,
            result_norm2_bits: bits(result_norm2),
            output: self.output.display().to_string(),
        };
        show(self.json, Head::on(Kind::Apply, backend.device()), &report, Report::text)
    }
}

/// One application, on any backend.
struct Task<'a, B, R> {
    backend: &'a B,
    step: Step,
    dagger: Dagger,
    lattice: Lattice,
    configuration: &'a Configuration,
    source: &'a [Complex<R>],
}

/// A result in site order, and the squared norms.
struct Applied<R> {
    result: Vec<Complex<R>>,
    source_norm2: f64,
    result_norm2: f64,
}

impl<B: Backend, R: Vectors> Task<'_, B, R> {
    fn apply(self) -> anyhow::Result<Applied<R>> {
        match self.step {
            Step::Hop { hop, parameters, onto, .. } => match hop.object() {
                Object::ColourVectors(_) => self.hop(ColourVectors::new(1), hop, parameters, onto),
                _ => self.hop(Spinors::ONE, hop, parameters, onto),
            },
            Step::Full(model) | Step::Piece { model, .. } => model.run(self),
        }
    }

    /// Launches the kernel of a hop.
    fn hop<K: SiteObject>(
        &self,
        object: K,
        hop: Hop,
        HopParameters { boundary, links: format, legs }: HopParameters,
        onto: Sites,
    ) -> anyhow::Result<Applied<R>> {
        let backend = self.backend;
        backend.takes_links(format, R::PRECISION)?;
        let links = double::<R>(self.configuration, self.lattice, onto, DoubledGauge { format, boundary });
        let links = backend.upload(links.map_err(BackendError::from)?)?;
        let stencil = backend.stencil(Stencil::new(self.lattice, onto)?)?;
        let Hop { kernel, out: written, links: read, source } = hop;
        self.on(object, (onto.neighbours(), onto), |out, psi| {
            let arguments = Arguments::new(kernel).write(written.name, out).read(read.name, &links);
            backend.launch(arguments.read(source.name, psi).stencil(&stencil).legs(legs).call()?)
        })
    }

    /// Uploads the source to `from`, applies, and downloads the result from `onto`.
    fn on<K: SiteObject>(
        &self,
        object: K,
        (from, onto): (Sites, Sites),
        apply: impl FnOnce(&mut FieldOn<B, R, K>, &FieldOn<B, R, K>) -> Result<(), BackendError>,
    ) -> anyhow::Result<Applied<R>> {
        let backend = self.backend;
        let psi = backend.upload(Field::from_site_order(self.lattice, from, object, self.source)?)?;
        let mut out = backend.zeros(self.lattice, onto, object)?;
        apply(&mut out, &psi)?;
        Ok(Applied {
            source_norm2: backend.norm2(&psi, Sum::Exact)?,
            result_norm2: backend.norm2(&out, Sum::Exact)?,
            result: backend.download(&out)?.to_site_order(),
        })
    }
}

/// One application of an operator with parameters.
impl<B: Backend, R: Vectors> ModelTask for Task<'_, B, R> {
    type Output = anyhow::Result<Applied<R>>;

    fn run<M: Model>(self, model: M) -> anyhow::Result<Applied<R>> {
        let Self { backend, step, dagger, lattice, configuration, .. } = self;
        let object = model.object(1);
        let Step::Piece { piece, onto, .. } = step else {
            let mut full = model.full::<B, R>(backend, configuration, lattice)?;
            return self.on(object, (Sites::Full, Sites::Full), |out, psi| full.apply(out, psi, dagger));
        };
        let onto = Sites::Parity(onto);
        let mut pieces = model.even_odd::<B, R>(backend, configuration, lattice)?;
        match piece {
            Piece::Meooe => self.on(object, (onto.neighbours(), onto), |out, psi| pieces.meooe(out, psi, dagger)),
            Piece::Mooee => self.on(object, (onto, onto), |out, psi| pieces.mooee(out, psi, dagger)),
            Piece::Mooeeinv => self.on(object, (onto, onto), |out, psi| pieces.mooee_inv(out, psi, dagger)),
            Piece::Full | Piece::Mpc => {
                let mut schur = SchurComplement::new(pieces)?;
                self.on(object, (onto, onto), |out, psi| schur.apply(out, psi, dagger))
            }
        }
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
