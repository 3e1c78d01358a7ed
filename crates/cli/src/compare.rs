//! `lanefield compare`: compares two arrays bit for bit. It finds the first difference, the number of differences, where they lie, and a
//! probable cause.

mod plot;

use lanefield::dynamic::{ArrayShape, HopKernel};
use lanefield::io::hdf5;
use lanefield::io::npy::{self, ComplexArray, ComplexValues, NpyError, RawArray};
use lanefield::kernel::Kernel;
use lanefield::observable::Source;
use lanefield_ports::Content;
use lanefield_ports::compare::{
    CompareOptions, Comparison, HopFindings, HopInputs, Numbers, compare_numbers, explain_hop,
};
use lanefield_ports::order::{Convention, GammaBasis, Inner, SiteOrder};
use lanefield_ports::system::{Equation, TriedSolutions};

use super::args::HopArgs;
use super::configuration::{ConfigArgs, ReadArgs};
use super::fields::shape_of_model;
use super::files::{check_beside, figure, given, named, npy_error, require_outputs, write_figure};
use super::operator::{Offer, OperatorArgs, check};
use super::ordered_array::{Named, in_ours, read};
use super::output::{print, print_json};
use super::ranks::RanksArgs;
use crate::prelude::*;
use crate::source::field::{InputArgs, source_or_file};
use plot::plot;

/// Compare two arrays bit for bit, and explain differences.
///
/// It reports the first difference, the number and positions of all differences, and possible causes.
///
/// Numbers are compared as integers; any NaN equals any NaN, and +0 is not -0. If one array is complex64 and the other complex128, the latter is
/// rounded first. Exit code 0: the same bits, or within --ulps; 1: they differ; 2: they cannot be compared.
///
/// With --config and --source, it tests possible faults of a Wilson hop: the sign, link, projector, neighbour and phase of each leg, the order of the
/// legs, and the forms of products. Without them, it reports what A and B alone show.
///
/// With --operator in addition, it computes the residuals |b - M x| / |b| of both arrays as solutions, where b is the source. It then tries the other
/// sign of μ, other boundary phases, the dagger, and the other sign of a momentum. Finally, it tries other spin bases, the complex conjugate,
/// exchanged source and sink, and MILC's staggered phases.
///
/// Arrays of other programs are converted when they are read: --order, --gamma and --inner describe B; --a-order, --a-gamma and --a-inner describe A.
/// docs/ports.md explains their values, and lists the faults that are recognised.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield apply --operator hop --config hot.nersc --source gauss:7 \\
      --output a.npy
  lanefield apply --operator hop --config hot.nersc --source gauss:7 \\
      --boundary 1,1,1,1 --output b.npy
  lanefield compare a.npy a.npy
  lanefield compare a.npy b.npy --plot map.svg
  lanefield compare a.npy b.npy --config hot.nersc --source gauss:7
  lanefield solve --operator clover --mass 0.1 --csw 1.3 --config hot.nersc \\
      --source point:0,0,0,0,0,0 --output x.npy
  lanefield convert x.npy theirs.npy --to-gamma ukqcd
  lanefield compare x.npy theirs.npy --operator clover --mass 0.1 --csw 1.3 \\
      --config hot.nersc --source point:0,0,0,0,0,0
  lanefield convert b.npy quda.npy --to-order quda --to-gamma ukqcd
  lanefield compare b.npy quda.npy --order quda --gamma ukqcd --ulps 4 --json")]
pub struct Compare {
    /// First array, usually Lanefield's: axes (T, Z, Y, X, …), complex64 or complex128. Five-dimensional fermions have axes (Ls, T, Z, Y, X, 4, 3).
    /// Arrays of float32, float64, int16 and int64 can also be compared
    #[arg(id = "file-a", value_name = "A.npy")]
    a: PathBuf,
    /// Second array, usually that of a port
    #[arg(id = "file-b", value_name = "B.npy")]
    b: PathBuf,
    /// Accept differences of up to N units in the last place
    #[arg(long, value_name = "N", default_value_t = 0)]
    ulps: u64,
    /// Content of the arrays, if shape and numbers do not show it: spinor, spinors, legs, half-spinors, links, doubled-links, words, list, …
    #[arg(long, value_name = "WORD")]
    holds: Option<Content>,
    /// Order of the sites of B, and of the directions of links: lexicographic, even-odd, odd-even, milc, qdp, quda or gpt
    #[arg(long, value_name = "ORDER", default_value_t, help_heading = "Orders and bases of other programs")]
    order: SiteOrder,
    /// Spin basis of B: degrand-rossi (Lanefield's and Grid's), chiral, dirac-pauli or ukqcd
    #[arg(long, value_name = "BASIS", default_value_t, help_heading = "Orders and bases of other programs")]
    gamma: GammaBasis,
    /// Order of spin and colour in a spinor of B: spin-colour or colour-spin
    #[arg(long, value_name = "ORDER", default_value_t, help_heading = "Orders and bases of other programs")]
    inner: Inner,
    /// Same as --order, for A
    #[arg(long, value_name = "ORDER", default_value_t, help_heading = "Orders and bases of other programs")]
    a_order: SiteOrder,
    /// Same as --gamma, for A
    #[arg(long, value_name = "BASIS", default_value_t, help_heading = "Orders and bases of other programs")]
    a_gamma: GammaBasis,
    /// Same as --inner, for A
    #[arg(long, value_name = "ORDER", default_value_t, help_heading = "Orders and bases of other programs")]
    a_inner: Inner,
    /// Configuration of the hop or of the operator: a NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep file, or a NumPy or HDF5 array (T, Z, Y,
    /// X, 4, 3, 3)
    #[arg(
        long,
        value_name = "FILE",
        requires = "source",
        help_heading = "Expected hop of B, or system that A and B solve"
    )]
    config: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    /// Source of the hop or of the system: a NumPy array (T, Z, Y, X, 4, 3), or a name as in solve: point:x,y,z,t,spin,colour,
    /// momentum:nx,ny,nz,t,spin,colour or gauss:SEED
    #[arg(long, value_name = "SOURCE", value_parser = source_or_file(Source::field), requires = "config", help_heading = "Expected hop of B, or system that A and B solve")]
    source: Option<Source>,
    #[command(flatten, next_help_heading = "Expected hop of B, or system that A and B solve")]
    operator: OperatorArgs<HopOrOperator>,
    /// Expect the dagger of the hop in B
    #[arg(long, requires = "config", help_heading = "Expected hop of B, or system that A and B solve")]
    dagger: bool,
    #[command(flatten, next_help_heading = "Expected hop of B, or system that A and B solve")]
    hop: HopArgs,
    /// Draw a map of the differences: .svg, .pdf or .png, for each t and z the sites x, y, coloured by the logarithm of the difference
    #[arg(long, help_heading = "Output", value_name = "FILE", value_parser = named(figure))]
    plot: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    json: bool,
}

struct HopOrOperator;

impl Offer for HopOrOperator {
    const HELP: &'static str = "Operator M of the system that A and B solve; for a hop, B is the hop of the source (with --mass M = 4 + mass + hop)";
    const DEFAULT: Option<&'static str> = Some("hop");

    fn kernels() -> Vec<&'static Kernel> {
        HopKernel::all().map(HopKernel::kernel).filter(|kernel| kernel.name == "hop").collect()
    }
}

impl Compare {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let inputs = [("A", self.a.as_path()), ("B", self.b.as_path())];
        require_outputs(&given([("--plot", &self.plot)]).collect::<Vec<_>>(), &inputs)?;
        let of_a = Convention { order: self.a_order, gamma: self.a_gamma, inner: self.a_inner };
        let of_b = Convention { order: self.order, gamma: self.gamma, inner: self.inner };
        let (a, b) = (Array::read(&self.a, of_a, "--a-order")?, Array::read(&self.b, of_b, "--order")?);
        let options =
            CompareOptions { ulps: self.ulps, holds: self.holds, a: of_a, b: of_b, ..CompareOptions::default() };
        let mut comparison = compare_numbers(a.numbers(), b.numbers(), options)
            .with_context(|| format!("cannot compare {} (A) with {} (B)", self.a.display(), self.b.display()))?;
        ensure!(
            self.config.is_some() || (self.is_hop() && self.operator.given().is_empty()),
            "--operator and its parameters need --config and --source: add these, or leave out the operator"
        );
        let mut residuals = None;
        if let Some(input) = self.input() {
            let (Array::Complex(a), Array::Complex(b)) = (&a, &b) else {
                anyhow::bail!(
                    "{} contains real numbers, so it is neither a hop nor a solution: leave out --config and --source",
                    self.b.display()
                );
            };
            if self.is_hop() {
                comparison.add_hop(self.explain(a, b, &input)?);
            } else {
                let found = self.residuals(a, b, &input)?;
                found.add_to(&mut comparison);
                residuals = Some(found);
            }
        }
        if let Some(path) = &self.plot {
            let names = [&self.a, &self.b].map(|path| path.display().to_string());
            write_figure(path, &plot(&comparison, [&names[0], &names[1]])?)?;
        }
        let outcome = if comparison.is_same() { Outcome::Done } else { Outcome::CheckFailed };
        if self.json {
            print_json(Head::of(Kind::Compare), &self.report(comparison, residuals)?)?;
            return Ok(outcome);
        }
        let map = self.plot.as_ref().map(|path| format!("map      {}", path.display()));
        let more = residuals.map(|residuals| residuals.to_string()).into_iter().chain(map);
        print(more.fold(comparison.to_string(), |text, line| text + "\n" + &line))?;
        Ok(outcome)
    }

    /// The configuration and the source, if they were given.
    fn input(&self) -> Option<InputArgs> {
        Some(InputArgs {
            configuration: ConfigArgs { config: self.config.clone()?, read: self.read },
            source: self.source.clone()?,
            ranks: RanksArgs::default(),
        })
    }

    fn is_hop(&self) -> bool {
        self.operator.name() == "hop"
    }

    /// The mass of M = 4 + mass + hop.
    fn mass(&self) -> anyhow::Result<Option<f64>> {
        match self.operator.given() {
            [] => Ok(None),
            [("mass", mass)] if self.is_hop() => Ok(Some(mass.parse()?)),
            _ if self.is_hop() => self.operator.kernel().map(|_| None),
            _ => Ok(None),
        }
    }

    /// How well A and B solve the system of the operator and the source.
    fn residuals(&self, a: &ComplexArray, b: &ComplexArray, input: &InputArgs) -> anyhow::Result<TriedSolutions> {
        ensure!(!self.dagger, "--dagger is for the hop; the dagger of an operator is always tried: leave out --dagger");
        let model = self.operator.model(&self.hop)?;
        check::<f64>(&model, false)?;
        let configuration = input.configuration()?.configuration;
        let shape = shape_of_model(&model)?;
        let source = input.source(shape, configuration.extents(), false)?.values;
        let (hop, configuration) = (self.hop.parameters(), &configuration);
        Ok(TriedSolutions::new(a, b, &Equation { model, hop, configuration, shape, source: &input.source, b: source })?)
    }

    /// Compares A and B with the hop, and finds which hop with one fault has the bits of B.
    fn explain(&self, a: &ComplexArray, b: &ComplexArray, input: &InputArgs) -> anyhow::Result<HopFindings> {
        let configuration = input.configuration()?.configuration;
        let extents = configuration.extents();
        let source = input.source(ArrayShape::Spinor, extents, false)?.values;
        let [x, y, z, t] = extents.as_array();
        let source = ComplexArray { shape: vec![t, z, y, x, 4, 3], values: ComplexValues::F64(source) };
        let dagger = if self.dagger { Dagger::Yes } else { Dagger::No };
        let HopArgs { boundary, links, legs } = self.hop;
        let (configuration, source) = (&configuration, &source);
        let inputs = HopInputs { configuration, source, boundary, links, legs, dagger, mass: self.mass()? };
        let explained = explain_hop(a, b, &inputs);
        explained.with_context(|| {
            format!("cannot compare {} with a hop on {}", self.b.display(), input.configuration.config.display())
        })
    }

    fn report(&self, comparison: Comparison, residuals: Option<TriedSolutions>) -> anyhow::Result<Report> {
        let verdict = match (comparison.is_same(), comparison.accepted) {
            (true, 0) => "same bits",
            (true, _) => "within ulps",
            (false, _) => "DIFFERENT",
        };
        let name = |path: &Path| path.display().to_string();
        let mass = self.mass()?;
        let hop_of = self.input().filter(|_| self.is_hop()).map(|input| HopOf {
            config: name(&input.configuration.config),
            source: input.source.to_string(),
            boundary: self.hop.boundary.to_string(),
            links: self.hop.links.reals(),
            legs: self.hop.legs.to_string(),
            dagger: self.dagger,
            mass,
        });
        Ok(Report {
            verdict,
            file_a: name(&self.a),
            file_b: name(&self.b),
            read_a: Convention { order: self.a_order, gamma: self.a_gamma, inner: self.a_inner },
            read_b: Convention { order: self.order, gamma: self.gamma, inner: self.inner },
            hop_of,
            residuals,
            plot: self.plot.as_deref().map(name),
            comparison,
        })
    }
}

#[derive(Serialize)]
struct Report {
    /// `same bits`, `within ulps` or `DIFFERENT`.
    verdict: &'static str,
    file_a: String,
    file_b: String,
    /// The order and the basis in which they were read.
    read_a: Convention,
    read_b: Convention,
    /// The hop that B should be, if that was given.
    hop_of: Option<HopOf>,
    /// How well both solve the system of an operator, if one was named.
    residuals: Option<TriedSolutions>,
    plot: Option<String>,
    #[serde(flatten)]
    comparison: Comparison,
}

#[derive(Serialize)]
struct HopOf {
    config: String,
    source: String,
    boundary: String,
    links: usize,
    legs: String,
    dagger: bool,
    mass: Option<f64>,
}

/// An array of complex numbers in any order, or of other numbers in site order.
enum Array {
    Complex(ComplexArray),
    Others(Numbers),
}

impl Array {
    fn read(path: &Path, convention: Convention, option: &str) -> anyhow::Result<Self> {
        // A sidecar that does not match is only a warning, because the comparison is to find what changed.
        if let Err(error) = check_beside(path) {
            say!("warning: {error}");
        }
        match npy::read_complex(path) {
            Err(NpyError::ElementType { .. }) if convention == Convention::OURS => {
                let array = RawArray::read(path).map_err(|error| npy_error(path, error))?;
                let numbers = Numbers::of_raw(&array);
                let numbers = numbers.with_context(|| format!("{} holds whole numbers above 2^53", path.display()))?;
                Ok(Self::Others(numbers))
            }
            Err(NpyError::NotNpy) if hdf5::is_hdf5(path) => {
                read((path, None), convention, option, Named::Always).map(|(_, array)| Self::Complex(array))
            }
            Ok(array) => {
                in_ours(path, array, convention, (option, Named::Always)).map(|(_, array)| Self::Complex(array))
            }
            Err(error) => Err(npy_error(path, error)),
        }
    }

    fn numbers(&self) -> Numbers {
        match self {
            Self::Complex(array) => array.into(),
            Self::Others(numbers) => numbers.clone(),
        }
    }
}
