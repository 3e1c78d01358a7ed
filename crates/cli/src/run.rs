//! `lanefield run`: any kernel of the list on arrays, from files to files. What a kernel's arguments are, its specification says.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use lanefield::backend::HostField;
use lanefield::in_precision;
use lanefield::io::atomic::write_atomically;
use lanefield::io::npy::{self, ComplexArray, RawArray};
use lanefield::kernel::{Access, Argument, At, Case, FieldRole, GivenArguments, Holds, Kernel, Scalars};
use lanefield::reference::field::{DoubledGauge, Field, Object};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::domain_wall::{Form, InverseForm, MobiusCoefficients, SMatrix};
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::{Direction, Extents, Lattice, LatticeOptions, Parity, Sites};
use lanefield::reference::links::{double, raw};
use lanefield::reference::real::{Precision, Real as _};
use lanefield_ports::golden::{field_array, from_array};
use num_complex::Complex;
use serde::Serialize;

use super::Outcome;
use super::args::{AnyBackend, BackendArgs, HopArgs, SumArgs, of_storage, on_backend};
use super::emit::one;
use super::files::{failed_to_write, npy_error, read_configuration, require_outputs};
use super::output::{Head, Kind, bits, facts, print, show, table, with_bits};

mod objects;

use objects::{axes_in_words, object_of, sites_in_words};

/// Run a kernel on arrays, and write what it gives: every kernel, in every precision.
///
/// --describe says what arguments a kernel has. Arrays are rounded to the precision of the kernel when they are read, also to half precision; results in
/// half precision are the f32 that the fractions stand for. Links are made of --config, or read as they are stored. Sums are printed, with their bits.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield run --kernel axpy --describe
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield source gauss:1 --lattice 4.4.4.8 --output x.npy
  lanefield source gauss:2 --lattice 4.4.4.8 --output y.npy
  lanefield run --kernel axpy --precision half --in x=x.npy --in y=y.npy \\
      --scalar a=-0.25 --out y=z.npy
  lanefield run --kernel hop --sites even --config hot.nersc --in in=x.npy \\
      --out out=hop.npy
  lanefield run --kernel inner_products --in xs=x.npy,y.npy --in y=y.npy")]
pub struct Run {
    /// The kernel
    #[arg(long, value_name = "KERNEL", value_parser = one)]
    kernel: &'static Kernel,
    /// Print the arguments of the kernel, and do nothing
    #[arg(long)]
    describe: bool,
    /// Precision of the result, and of what it is made of: f32, f64 or half
    #[arg(long, value_name = "PRECISION", default_value = "f64", value_parser = of_storage())]
    precision: Precision,
    /// For convert: the precision of its input [default: that of the array]
    #[arg(long, value_name = "PRECISION", value_parser = of_storage())]
    from: Option<Precision>,
    /// The sites of the result: full, even or odd
    #[arg(long, value_name = "SITES", default_value = "full", value_parser = sites)]
    sites: Sites,
    /// The gauge configuration of which links are made: a NERSC file, or a NumPy array (T, Z, Y, X, 4, 3, 3) if it ends in .npy
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A field that is read, or updated; of a list of fields the files with commas between them
    #[arg(long = "in", value_name = "NAME=FILE.npy")]
    inputs: Vec<Named>,
    /// A scalar: a number, RE,IM of a complex one, or one for each right-hand side with commas between them. 0x and 16 hex digits are the bits of a double
    #[arg(long = "scalar", value_name = "NAME=VALUE", allow_hyphen_values = true)]
    scalars: Vec<Named>,
    /// Numbers of right-hand sides, from 0
    #[arg(long, value_name = "NAME=K,K,…")]
    indices: Option<Named>,
    /// The file to write a result to
    #[arg(long = "out", value_name = "NAME=FILE.npy")]
    outputs: Vec<Named>,
    /// Spinors or colour vectors of a right-hand side, in kernels of several
    #[arg(long, value_name = "N", default_value_t = 1)]
    rhs_parts: usize,
    /// For sums over slices: the direction across them, x, y, z or t
    #[arg(long, value_name = "DIRECTION", default_value = "t")]
    direction: Direction,
    #[command(flatten)]
    along_s: AlongS,
    #[command(flatten)]
    hop: HopArgs,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sums: SumArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

/// A matrix along s.
#[derive(Args, Clone, Debug)]
struct AlongS {
    /// For matrices along s: the coefficients, float64: (3, ls), of a sweep (2, 3, ls), of a dense one (2, ls, ls). In place of Mooee, or its inverse, of the
    /// parameters below
    #[arg(long, value_name = "FILE.npy", conflicts_with_all = ["mass", "m5", "ls"])]
    matrix: Option<PathBuf>,
    /// For matrices along s: the conjugate one. Of --matrix, that its coefficients are those of a conjugate one
    #[arg(long)]
    matrix_dagger: bool,
    /// Bare quark mass
    #[arg(long, value_name = "M", allow_hyphen_values = true, value_parser = super::args::finite)]
    mass: Option<f64>,
    /// Domain wall height
    #[arg(long, value_name = "M5", default_value = "1.8", allow_hyphen_values = true, value_parser = super::args::finite)]
    m5: f64,
    /// Möbius' b
    #[arg(long, value_name = "B", default_value = "1", allow_hyphen_values = true, value_parser = super::args::finite)]
    b: f64,
    /// Möbius' c
    #[arg(long, value_name = "C", default_value = "0", allow_hyphen_values = true, value_parser = super::args::finite)]
    c: f64,
    /// Extent of the fifth dimension
    #[arg(long, value_name = "LS")]
    ls: Option<usize>,
}

/// NAME=VALUE.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Named {
    name: String,
    value: String,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                Ok(Self { name: name.trim().to_owned(), value: value.to_owned() })
            }
            _ => Err(format!("'{text}' names no argument: expected NAME=VALUE")),
        }
    }
}

fn sites(text: &str) -> Result<Sites, String> {
    match text {
        "full" => Ok(Sites::Full),
        "even" => Ok(Sites::Parity(Parity::Even)),
        "odd" => Ok(Sites::Parity(Parity::Odd)),
        _ => Err(format!("unknown sites '{text}': expected full, even or odd")),
    }
}

/// A number, or the bits of one.
fn number(text: &str) -> anyhow::Result<f64> {
    let text = text.trim();
    let parsed = match text.strip_prefix("0x") {
        Some(digits) if digits.len() == 16 => u64::from_str_radix(digits, 16).ok().map(f64::from_bits),
        Some(_) => None,
        None => text.parse().ok(),
    };
    parsed.with_context(|| {
        format!("invalid number '{text}': expected a decimal, or 0x and the 16 hex digits of a double")
    })
}

fn numbers(text: &str) -> anyhow::Result<Vec<f64>> {
    text.split(',').map(number).collect()
}

/// What a run gave.
#[derive(Serialize)]
struct Report {
    kernel: &'static str,
    precision: String,
    sites: String,
    lattice: [usize; 4],
    outputs: Vec<String>,
    sums: Vec<SumOf>,
}

/// A sum.
#[derive(Serialize)]
struct SumOf {
    value: f64,
    bits: String,
}

impl Report {
    fn text(&self) -> String {
        let lattice = super::output::joined(&self.lattice, ".");
        let place = format!("{} in {} on {} sites of {lattice}", self.kernel, self.precision, self.sites);
        let sums = self.sums.iter().map(|sum| ("sum", with_bits(sum.value)));
        let outputs = self.outputs.iter().map(|file| ("written", file.clone()));
        facts([("kernel", place)].into_iter().chain(outputs).chain(sums))
    }
}

/// An array that was read.
struct Loaded {
    name: &'static str,
    path: PathBuf,
    array: ComplexArray,
}

impl Run {
    pub fn run(self) -> anyhow::Result<Outcome> {
        if self.describe {
            print(self.describe_arguments())?;
            return Ok(Outcome::Done);
        }
        self.require_arguments()?;
        let written: Vec<(String, &Path)> =
            self.outputs.iter().map(|out| (format!("--out {}", out.name), Path::new(&out.value))).collect();
        let read: Vec<(String, &Path)> = self.files().collect();
        let outputs: Vec<(&str, &Path)> = written.iter().map(|(name, path)| (name.as_str(), *path)).collect();
        let inputs: Vec<(&str, &Path)> = read.iter().map(|(name, path)| (name.as_str(), *path)).collect();
        require_outputs(&outputs, &inputs)?;
        let loaded = self.load()?;
        let configuration = match &self.config {
            Some(path) => Some(read_configuration(path)?.configuration),
            None => None,
        };
        let extents = self.extents(&loaded, configuration.as_ref())?;
        let backend = self.backend.open()?;
        let case = on_backend!(&backend, _b => self.case(&backend, &loaded, configuration.as_ref(), extents))?;
        let sum = self.sums.sum(size_of::<Complex<f64>>()).context("failed to plan the sums")?;
        let outcome = on_backend!(&backend, b => case.run(b, sum));
        let outcome = outcome.with_context(|| format!("failed to run {}", self.kernel))?;
        let mut files = Vec::new();
        for Named { name, value } in &self.outputs {
            let Some((_, field)) = outcome.fields.iter().find(|(known, _)| known == name) else { continue };
            let path = Path::new(value);
            let file = field_array(field)?.to_file()?;
            write_atomically(path, |out| out.write_all(&file)).with_context(|| failed_to_write(path))?;
            files.push(value.clone());
        }
        let report = Report {
            kernel: self.kernel.name,
            precision: self.precision.to_string(),
            sites: self.sites.to_string(),
            lattice: extents.as_array(),
            outputs: files,
            sums: outcome.sums.iter().map(|&value| SumOf { value, bits: bits(value) }).collect(),
        };
        show(self.json, Head::on(Kind::Run, backend.device()), &report, Report::text)
    }

    /// The files that are read, with the names of their arguments.
    fn files(&self) -> impl Iterator<Item = (String, &Path)> {
        let of_inputs = self
            .inputs
            .iter()
            .flat_map(|input| input.value.split(',').map(|file| (format!("--in {}", input.name), Path::new(file))));
        let config = self.config.iter().map(|path| ("--config".to_owned(), path.as_path()));
        let matrix = self.along_s.matrix.iter().map(|path| ("--matrix".to_owned(), path.as_path()));
        of_inputs.chain(config).chain(matrix)
    }

    /// Whether links of a role are made of the configuration.
    fn is_made(&self, role: &FieldRole) -> bool {
        let given = self.inputs.iter().any(|input| input.name == role.name);
        matches!(role.holds, Holds::DoubledLinks | Holds::Links) && !given
    }

    /// Refuses arguments that are missing, unknown, or given twice; says which there are.
    fn require_arguments(&self) -> anyhow::Result<()> {
        let kernel = self.kernel;
        let mut wrong = Vec::new();
        if !kernel.takes(self.precision) {
            let known: Vec<String> = kernel.precisions.iter().map(Precision::to_string).collect();
            bail!("{kernel} takes no fields in {}: expected --precision {}", self.precision, known.join(" or "));
        }
        if kernel.is_onto_parity_only() && self.sites == Sites::Full {
            bail!("{kernel} gives one parity: add --sites even or --sites odd");
        }
        if kernel.is_full_only() && self.sites != Sites::Full {
            bail!("{kernel} gives all sites: leave out --sites {}", self.sites);
        }
        for role in kernel.fields() {
            let is_given = self.inputs.iter().any(|input| input.name == role.name);
            let is_written = self.outputs.iter().any(|output| output.name == role.name);
            if role.access != Access::Write && !is_given && !(self.is_made(&role) && self.config.is_some()) {
                let or = if self.is_made(&role) { "--config FILE, or " } else { "" };
                wrong.push(format!("{or}--in {}=FILE.npy is missing", role.name));
            }
            if role.access != Access::Read && !is_written && !kernel.sums() {
                wrong.push(format!("--out {}=FILE.npy is missing", role.name));
            }
        }
        for (name, option) in scalar_names(kernel) {
            let given = self.scalars.iter().chain(&self.indices).any(|known| known.name == name);
            if !given {
                wrong.push(format!("--{option} {name}=… is missing"));
            }
        }
        let reads = |name: &str| kernel.fields().any(|role| role.name == name && role.access != Access::Write);
        let writes = |name: &str| kernel.fields().any(|role| role.name == name && role.access != Access::Read);
        let takes = |name: &str, option: &str| scalar_names(kernel).any(|known| known == (name, option));
        let unknown = |option: &str, named: &Named| format!("--{option} {}: there is no such argument", named.name);
        wrong.extend(self.inputs.iter().filter(|named| !reads(&named.name)).map(|named| unknown("in", named)));
        wrong.extend(self.outputs.iter().filter(|named| !writes(&named.name)).map(|named| unknown("out", named)));
        let scalars = self.scalars.iter().filter(|named| !takes(&named.name, "scalar"));
        wrong.extend(scalars.map(|named| unknown("scalar", named)));
        let indices = self.indices.iter().filter(|named| !takes(&named.name, "indices"));
        wrong.extend(indices.map(|named| unknown("indices", named)));
        for (option, all) in [("in", &self.inputs), ("scalar", &self.scalars), ("out", &self.outputs)] {
            let twice = |(place, named): (usize, &Named)| all[..place].iter().any(|other| other.name == named.name);
            let found = all.iter().enumerate().filter(|&pair| twice(pair));
            wrong.extend(found.map(|(_, named)| format!("--{option} {} is given twice", named.name)));
        }
        let has_matrix = kernel.arguments.iter().any(|argument| matches!(argument, Argument::Matrix(_)));
        if has_matrix && self.along_s.matrix.is_none() && (self.along_s.mass.is_none() || self.along_s.ls.is_none()) {
            wrong.push("--matrix FILE.npy, or --mass and --ls, is missing".to_owned());
        }
        ensure!(
            wrong.is_empty(),
            "{}; the arguments of {kernel} are:\n{}",
            wrong.join("; "),
            self.describe_arguments()
        );
        Ok(())
    }

    /// The arguments of the kernel, in a table.
    fn describe_arguments(&self) -> String {
        let (kernel, precision) = (self.kernel, self.precision);
        let dtype = |role: &FieldRole| match (role.holds, precision) {
            (Holds::Converted, _) => "any",
            (_, Precision::F64) => "complex128",
            _ => "complex64",
        };
        let mut rows = table(["argument", "what", "axes", "type"], []);
        for role in kernel.fields() {
            let is_list =
                kernel.arguments.iter().any(|known| matches!(known, Argument::Fields(name, _) if *name == role.name));
            let option = match role.access {
                Access::Read => format!("--in {}", role.name),
                Access::Write => format!("--out {}", role.name),
                Access::Update => format!("--in {0}, --out {0}", role.name),
            };
            let made = if self.is_made(&role) { ", or of --config" } else { "" };
            let listed = if is_list { ", one or several" } else { "" };
            let what = format!("{}, {}{listed}{made}", access_in_words(role.access), sites_in_words(role.at));
            rows.add_row([option, what, axes_in_words(kernel, role.holds, self.hop.links), dtype(&role).to_owned()]);
        }
        for (name, option) in scalar_names(kernel) {
            let what = match kernel.arguments.iter().find(|argument| names_of(argument).contains(&name)) {
                Some(Argument::Complex(_)) => "a complex number, RE,IM",
                Some(Argument::Scalars(_)) => "a number for each right-hand side",
                Some(Argument::Indices { .. }) => "numbers of right-hand sides",
                _ => "a number",
            };
            rows.add_row([format!("--{option} {name}"), what.to_owned(), String::new(), "float64".to_owned()]);
        }
        for argument in kernel.arguments {
            let row = match argument {
                Argument::Matrix(form) => Some(["--matrix", form.name(), objects::axes_of_matrix(*form)]),
                Argument::RhsParts => Some(["--rhs-parts", "components of a right-hand side", ""]),
                Argument::Slices => Some(["--direction", "across which slices are summed", ""]),
                _ => None,
            };
            rows.add_rows(row.map(|[option, what, axes]| [option, what, axes, ""]));
        }
        format!("{kernel}: {}\n{}", kernel.computes, rows.trim_fmt())
    }

    /// The arrays that are read.
    fn load(&self) -> anyhow::Result<Vec<Loaded>> {
        let mut loaded = Vec::new();
        for role in self.kernel.fields() {
            for input in self.inputs.iter().filter(|input| input.name == role.name) {
                for file in input.value.split(',') {
                    let path = PathBuf::from(file);
                    let array = npy::read_complex(&path).map_err(|error| npy_error(&path, error))?;
                    loaded.push(Loaded { name: role.name, path, array });
                }
            }
        }
        Ok(loaded)
    }

    /// The lattice that all arrays lie on.
    fn extents(&self, loaded: &[Loaded], configuration: Option<&Configuration>) -> anyhow::Result<Extents> {
        let mut found: Option<(Extents, String)> = configuration.map(|known| (known.extents(), "--config".to_owned()));
        for Loaded { name, path, array } in loaded {
            let (_, extents) = self.object(name, path, array)?;
            let here = format!("--in {name} ({})", path.display());
            match &found {
                Some((known, there)) => ensure!(
                    *known == extents,
                    "{here} has the lattice {extents}, and {there} has {known}: they must be the same"
                ),
                None => found = Some((extents, here)),
            }
        }
        found.map(|(extents, _)| extents).with_context(|| format!("{} is given no field", self.kernel))
    }

    fn role(&self, name: &str) -> anyhow::Result<FieldRole> {
        let role = self.kernel.fields().find(|role| role.name == name);
        role.with_context(|| format!("{} has no field {name}", self.kernel))
    }

    /// What an array holds at each site, and the lattice.
    fn object(&self, name: &str, path: &Path, array: &ComplexArray) -> anyhow::Result<(Object, Extents)> {
        let links = DoubledGauge { format: self.hop.links, boundary: self.hop.boundary };
        let role = self.role(name)?;
        object_of(role.holds, &array.shape, links).with_context(|| {
            let axes = axes_in_words(self.kernel, role.holds, self.hop.links);
            format!("--in {name}: {} is {}, and should be {axes}", path.display(), array.describe())
        })
    }

    /// The call.
    fn case(
        &self,
        backend: &AnyBackend,
        loaded: &[Loaded],
        configuration: Option<&Configuration>,
        extents: Extents,
    ) -> anyhow::Result<Case> {
        let kernel = self.kernel;
        let options = LatticeOptions { lanes: backend.lanes(self.backend.lanes), ..LatticeOptions::default() };
        let of_scalar = |precision: Precision| {
            Lattice::new(extents, precision.scalar(), options).context("failed to lay out the lattice")
        };
        // Of a conversion both sides need lanes with the same sites.
        let from = self.converted_from(loaded);
        let mut lattice = of_scalar(self.precision)?;
        if lattice.in_scalar(from.scalar()).is_err() {
            lattice = of_scalar(from)?.in_scalar(self.precision.scalar())?;
        }
        let links = DoubledGauge { format: self.hop.links, boundary: self.hop.boundary };
        let place = |role: &FieldRole| match role.at {
            At::Target => self.sites,
            At::Neighbours => self.sites.neighbours(),
            At::All => Sites::Full,
        };
        let indices = match &self.indices {
            Some(Named { value, .. }) => {
                let parsed: Result<Vec<usize>, _> = value.split(',').map(|number| number.trim().parse()).collect();
                parsed.ok().with_context(|| format!("invalid numbers '{value}': expected whole numbers from 0 on"))?
            }
            None => Vec::new(),
        };
        let mut fields = Vec::new();
        for role in kernel.fields() {
            let sites = place(&role);
            let mut of_role = Vec::new();
            for Loaded { name, path, array } in loaded.iter().filter(|loaded| loaded.name == role.name) {
                let (object, _) = self.object(name, path, array)?;
                let precision = if role.holds == Holds::Converted { from } else { self.precision };
                let lattice = lattice.in_scalar(precision.scalar())?;
                let values = from_array(object, extents, array.values.clone().into_f64());
                of_role.push(in_precision!(precision, R => {
                    let values: Vec<_> =
                        values.iter().map(|z| Complex::new(R::from_f64(z.re), R::from_f64(z.im))).collect();
                    HostField::new(Field::from_site_order(lattice, sites, object, &values)?.into_data())
                }));
            }
            if let (true, Some(configuration)) = (self.is_made(&role), configuration) {
                of_role.push(in_precision!(self.precision, R => match role.holds {
                    Holds::Links => HostField::new(raw::<R>(configuration, lattice, links.boundary)?.into_data()),
                    _ => HostField::new(double::<R>(configuration, lattice, sites, links)?.into_data()),
                }));
            }
            if role.access == Access::Write {
                let object = self.object_written(&role, &indices, loaded)?;
                of_role.push(in_precision!(self.precision, R => {
                    HostField::new(Field::<R, Object>::zeros(lattice, sites, object)?.into_data())
                }));
            }
            fields.push((role.name, of_role));
        }
        if kernel.reads_links() {
            on_backend!(&*backend, b => lanefield::backend::Memory::takes_links(b, links.format, self.precision))?;
        }
        let given = GivenArguments {
            fields,
            matrix: self.matrix()?,
            scalars: self.scalars()?,
            indices,
            legs: self.hop.legs,
            rhs_parts: self.rhs_parts,
            direction: self.direction,
        };
        Ok(Case::given(kernel, given)?)
    }

    /// The precision of what is converted.
    fn converted_from(&self, loaded: &[Loaded]) -> Precision {
        let converted = self.kernel.fields().find(|role| role.holds == Holds::Converted);
        let array = converted.and_then(|role| loaded.iter().find(|loaded| loaded.name == role.name));
        match (self.from, array.map(|loaded| loaded.array.values.precision())) {
            (Some(from), Some(_)) => from,
            (None, Some(npy::Precision::F64)) => Precision::F64,
            (None, Some(npy::Precision::F32)) => Precision::F32,
            (_, None) => self.precision,
        }
    }

    /// What a field that is written holds: as much as what is read.
    fn object_written(&self, role: &FieldRole, indices: &[usize], loaded: &[Loaded]) -> anyhow::Result<Object> {
        let kernel = self.kernel;
        let read = |wanted: &dyn Fn(Holds) -> bool| -> anyhow::Result<Option<Object>> {
            for loaded in loaded {
                if wanted(self.role(loaded.name)?.holds) {
                    return Ok(Some(self.object(loaded.name, &loaded.path, &loaded.array)?.0));
                }
            }
            Ok(None)
        };
        let like = match role.holds {
            Holds::FieldStrength => return Ok(Object::FieldStrength),
            Holds::CloverBlocks => return Ok(Object::CloverBlocks),
            Holds::ComplexNumber => return Ok(Object::ComplexNumber),
            Holds::Links => return Ok(Object::Gauge),
            Holds::Exactly(object) => return Ok(object),
            Holds::Spinors | Holds::ColourVectors => read(&|holds| holds == role.holds)?,
            _ => read(&|holds| matches!(holds, Holds::Any | Holds::AnyNumber | Holds::Converted))?,
        };
        let like = like.with_context(|| format!("nothing that {kernel} reads says what {} holds", role.name))?;
        let is_taken =
            kernel.arguments.iter().any(|known| matches!(known, Argument::Indices { of, .. } if *of == role.name));
        match is_taken {
            true => like
                .with_parts(indices.len() * self.rhs_parts)
                .with_context(|| format!("{kernel} takes spinors or colour vectors, not a {}", like.name())),
            false => Ok(like),
        }
    }

    fn scalars(&self) -> anyhow::Result<Vec<(&'static str, Scalars)>> {
        let mut scalars = Vec::new();
        for argument in self.kernel.arguments {
            for name in names_of(argument) {
                let Some(Named { value, .. }) = self.scalars.iter().find(|scalar| scalar.name == name) else {
                    continue;
                };
                let failed = || format!("--scalar {name}={value}");
                let values = numbers(value).with_context(failed)?;
                let scalar = match (argument, &values[..]) {
                    (Argument::Scalars(_), _) => Scalars::Several(values),
                    (Argument::Complex(_), &[re, im]) => Scalars::Complex(Complex::new(re, im)),
                    (Argument::Complex(_), _) => bail!("{}: expected RE,IM of a complex number", failed()),
                    (_, &[value]) => Scalars::One(value),
                    _ => bail!("{}: expected one number", failed()),
                };
                scalars.push((name, scalar));
            }
        }
        Ok(scalars)
    }

    fn matrix(&self) -> anyhow::Result<Option<SMatrix>> {
        let form = self.kernel.arguments.iter().find_map(|argument| match *argument {
            Argument::Matrix(form) => Some(form),
            _ => None,
        });
        let Some(form) = form else { return Ok(None) };
        let AlongS { matrix, matrix_dagger, mass, m5, b, c, ls } = &self.along_s;
        if let Some(path) = matrix {
            let array = RawArray::read(path).map_err(|error| npy_error(path, error))?;
            let ls = array.shape.last().copied().unwrap_or(0);
            let (dagger, expected) = (if *matrix_dagger { Dagger::Yes } else { Dagger::No }, form.shape(ls));
            let table = array.to_f64().filter(|_| array.shape == expected);
            let table = table.with_context(|| {
                let axes = objects::axes_of_matrix(form);
                format!("--matrix {} is {}, and should be <f8 {axes}", path.display(), array.describe())
            })?;
            let matrix = SMatrix::new(form, ls, dagger, table);
            return matrix.map(Some).with_context(|| format!("--matrix {}", path.display()));
        }
        let (Some(mass), Some(ls)) = (mass, ls) else { return Ok(None) };
        let diagonal = MobiusCoefficients::new(*ls, *mass, *m5, *b, *c)?.diagonal();
        let diagonal = if *matrix_dagger { diagonal.dagger() } else { diagonal };
        Ok(Some(match form {
            Form::Tridiagonal => diagonal.matrix(),
            Form::Sweep => diagonal.inverse(InverseForm::Sweep)?,
            Form::Dense => diagonal.inverse(InverseForm::Dense)?,
        }))
    }
}

fn access_in_words(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "written",
        Access::Update => "read and written",
    }
}

/// The names of the numbers that an argument takes.
fn names_of(argument: &Argument) -> Vec<&'static str> {
    match *argument {
        Argument::Scalar(name) | Argument::Double(name) | Argument::Complex(name) | Argument::Indices { name, .. } => {
            vec![name]
        }
        Argument::Scalars(names) => names.to_vec(),
        _ => Vec::new(),
    }
}

/// The numbers that a kernel takes, with the option that gives them.
fn scalar_names(kernel: &Kernel) -> impl Iterator<Item = (&'static str, &'static str)> {
    kernel.arguments.iter().flat_map(|argument| {
        let option = if matches!(argument, Argument::Indices { .. }) { "indices" } else { "scalar" };
        names_of(argument).into_iter().map(move |name| (name, option))
    })
}
