//! `lanefield reduce`: norms, inner products and sums over sites of a field in a file, with the same bits everywhere. `docs/arithmetic.md` §8
//! defines them.

use clap::ValueEnum;
use lanefield::backend::opencl::{Finish, SumForm, SumOptions};
use lanefield::comm::WholeLattice;
use lanefield::io::npy::{self, ArrayReal, ComplexArray, ComplexValues, FieldArray, Precision};
use lanefield::reference::field::Words;
use lanefield::reference::layout::Checkerboard;
use lanefield::reference::real::for_people;

use super::args::{BackendArgs, SumArgs, name_of};
use super::files::{check_beside, npy_error};
use super::numbers::bits;
use super::numbers::{shows_bits, with_bits};
use super::output::Layout;
use super::ranks::{self, RanksArgs};
use crate::prelude::*;

/// Sum a field over its sites, or slice by slice.
///
/// It computes the norm, an inner product, or the sum of each word.
///
/// It prints a line for each sum: slice and word if there are several, then the real and the imaginary part. Each is printed as the shortest decimal
/// number that reads back as the same double, and as its 16 hex digits. All NaNs are printed alike.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield apply --operator hop --config hot.nersc --source gauss:7 \\
      --output hop.npy
  lanefield reduce --op norm2 --input hop.npy
  lanefield reduce --op inner --input hop.npy --with hop.npy --sum tree --json
  lanefield reduce --op sum --input hop.npy --sum tree --lanes 64 \\
      --plan-threads 8 --plan-blocks 4
  lanefield reduce --op slices --direction x --input hop.npy --parity even")]
pub struct Reduce {
    /// Operation to compute
    #[arg(long, value_name = "OPERATION")]
    op: Operation,
    /// Field to sum: a NumPy array (T, Z, Y, X, …), complex64 or complex128. The axes after X are those of the site object. For a complex number
    /// there are none; for a colour vector 3, a half spinor 2,3, a spinor 4,3, a colour matrix 3,3, a gauge field 4,3,3, a propagator 4,4,3,3. Any
    /// others are a list of words
    #[arg(long, value_name = "A.npy")]
    input: PathBuf,
    /// Field y of ⟨x, y⟩, for inner: same shape and precision as x, which is --input
    #[arg(long, value_name = "B.npy")]
    with: Option<PathBuf>,
    /// Direction across the slices, for slices: x, y, z or t [default: t]
    #[arg(long, value_name = "DIRECTION")]
    direction: Option<Direction>,
    /// Sum only over the sites of this parity, even or odd
    #[arg(long, value_name = "PARITY")]
    parity: Option<Parity>,
    #[command(flatten)]
    sums: SumArgs,
    /// Form of the sums of words on an OpenCL device, for sum and slices: fused:R (R words at a time, in one pass), staged:R (packed first; slices
    /// are fused anyway) or serial-words. It changes no bit [default: fused]
    #[arg(long, value_name = "FORM")]
    strategy: Option<SumForm>,
    /// Method of combining the sums of work-groups on an OpenCL device: second-kernel or retirement-count. It changes no bit [default: second-kernel]
    #[arg(long, value_name = "WAY")]
    finish: Option<Finish>,
    /// Print JSON. An infinite number or NaN is null there; its bits tell which
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    ranks: RanksArgs,
    #[command(flatten)]
    backend: BackendArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Operation {
    /// |x|²
    Norm2,
    /// The sum of each complex word of a site
    Sum,
    /// ⟨x, y⟩, antilinear in x
    Inner,
    /// The sum of each word over each slice
    Slices,
}

impl Operation {
    /// Bytes that a thread of Grid's block sum holds. It sums the words of large objects in bundles of twelve.
    fn object_bytes(self, Words(words): Words) -> usize {
        const BUNDLE: usize = 12;
        let words = match self {
            Self::Norm2 | Self::Inner => 1,
            Self::Sum | Self::Slices => words.min(BUNDLE),
        };
        words * size_of::<Complex<f64>>()
    }
}

impl Reduce {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let op = name_of(self.op);
        ensure!(
            self.direction.is_none() || self.op == Operation::Slices,
            "--direction is for --op slices; {op} has no slices"
        );
        ensure!(self.with.is_none() || self.op == Operation::Inner, "--with is for --op inner; {op} takes one field");
        let (x, whole) = self.read(&self.input)?;
        match x.values.precision() {
            Precision::F32 => self.reduce::<f32>(x, &whole),
            Precision::F64 => self.reduce::<f64>(x, &whole),
        }
    }

    fn reduce<R: Vectors + ArrayReal>(&self, x: ComplexArray, whole: &WholeLattice) -> anyhow::Result<Outcome> {
        let described = x.describe();
        let x = x.into_field().map_err(|error| npy_error(&self.input, error))?;
        let FieldArray { words, object, .. } = x;
        let sum = self.sums.sum(self.op.object_bytes(words)).context("failed to plan the sum")?;
        let checkerboard = if self.parity.is_some() { Checkerboard::RedBlack } else { Checkerboard::FullOnly };
        let options = LatticeOptions { lanes: self.backend.lanes, nodes: None, checkerboard };
        let lattice = Lattice::new(whole.part(), R::COMPLEX, options).context("failed to lay out the lattice")?;
        let sites = self.parity.map_or(Sites::Full, Sites::Parity);
        let field = |values: ComplexValues| {
            let field = Field::from_site_order(lattice, sites, words, &values.into_precision::<R>());
            field.context("failed to lay out the field")
        };
        let x = field(x.values)?;
        let is_zero = !whole.communicator().any(x.reals().iter().any(|real| *real != R::default()))?;
        let y = match self.op {
            Operation::Inner => Some(field(self.second(&described)?)?),
            _ => None,
        };
        let mut backend =
            self.backend.open_on(whole, &self.ranks, <R as lanefield::reference::real::Real>::PRECISION)?;
        self.choose(&mut backend)?;
        let values = backend.install(|| self.values(&backend, x, y, sum)).context("failed to sum")?;
        if let (Operation::Norm2, [norm]) = (self.op, &values[..])
            && !is_zero
            && !norm.re.is_normal()
            && ranks::is_first()
        {
            say!("warning: squares of these numbers are out of range: multiply the field by a power of two");
        }
        let report = Report {
            op: name_of(self.op),
            sum: sum.to_string(),
            layout: lattice.into(),
            sites: sites.to_string(),
            object,
            words: words.0,
            precision: R::NAME,
            values,
        };
        show(self.json, Head::on(Kind::Reduce, backend.device()), &report, |report| lines(&report.values, shows_bits()))
    }

    /// The sums of `x` on a backend, with `y` for an inner product.
    fn values<R: Vectors>(
        &self,
        backend: &AnyBackend,
        x: Field<R, Words>,
        y: Option<Field<R, Words>>,
        sum: Sum,
    ) -> Result<Vec<Value>, BackendError> {
        let x = backend.upload(x)?;
        let words = |slice: Option<usize>, sums: Vec<Complex<f64>>| {
            sums.into_iter().enumerate().map(move |(word, z)| Value::complex(slice, Some(word), z))
        };
        Ok(match (self.op, y) {
            (_, Some(y)) => vec![Value::complex(None, None, backend.inner_product(&x, &backend.upload(y)?, sum)?)],
            (Operation::Sum, None) => words(None, backend.sum(&x, sum)?).collect(),
            (Operation::Slices, None) => {
                let direction = self.direction.unwrap_or(Direction::T);
                let slices = backend.slice_sums(&x, direction, sum)?.into_iter().enumerate();
                slices.flat_map(|(slice, sums)| words(Some(slice), sums)).collect()
            }
            (Operation::Norm2 | Operation::Inner, None) => vec![Value::real(backend.norm2(&x, sum)?)],
        })
    }

    /// The values of the second field of an inner product, which must have the shape and precision of the first.
    fn second(&self, first: &str) -> anyhow::Result<ComplexValues> {
        let Some(path) = &self.with else { bail!("--op inner needs --with B.npy") };
        let (array, _) = self.read(path)?;
        let second = array.describe();
        ensure!(
            first == second,
            "--input {} is {first}, and --with {} is {second}: they must have the same shape and precision",
            self.input.display(),
            path.display()
        );
        Ok(array.values)
    }

    /// An array, or its local volume on this rank.
    fn read(&self, path: &Path) -> anyhow::Result<(ComplexArray, WholeLattice)> {
        check_beside(path)?;
        let failed = |error| npy_error(path, error);
        let extents = npy::read_header(path).map_err(failed)?.extents().map_err(failed)?;
        let lattice = self.ranks.lattice(extents)?;
        let array = match lattice.part().is_part() {
            true => npy::read_part(path, 0, lattice.part()),
            false => npy::read_complex(path),
        };
        Ok((array.map_err(failed)?, lattice))
    }

    /// Sets the requested way of sums on an OpenCL device.
    fn choose(&self, backend: &mut AnyBackend) -> anyhow::Result<()> {
        match backend.opencl_mut() {
            Some(device) => {
                device.set_sum_options(SumOptions { form: self.strategy, finish: self.finish, ..device.sum_options() });
            }
            None => {
                let given = [("--strategy", self.strategy.is_some()), ("--finish", self.finish.is_some())];
                if let Some((name, _)) = given.iter().find(|(_, given)| *given) {
                    bail!("{name} is for OpenCL devices; the CPU has one way to take sums");
                }
            }
        }
        Ok(())
    }
}

/// The sums. As JSON, these fields.
#[derive(Serialize)]
struct Report {
    /// `norm2`, `sum`, `inner` or `slices`.
    op: String,
    /// `exact`, or `tree of …` with the plan.
    sum: String,
    #[serde(flatten)]
    layout: Layout,
    /// `full`, `even` or `odd`.
    sites: String,
    object: &'static str,
    words: usize,
    /// The precision of the field, f32 or f64. Sums are f64.
    precision: &'static str,
    values: Vec<Value>,
}

#[derive(Serialize)]
struct Value {
    #[serde(skip_serializing_if = "Option::is_none")]
    slice: Option<usize>,
    /// The word, if words are summed.
    #[serde(skip_serializing_if = "Option::is_none")]
    word: Option<usize>,
    /// The real part; null in JSON if it is infinite or NaN.
    re: f64,
    re_bits: String,
    /// The imaginary part, likewise; absent for a norm.
    #[serde(flatten)]
    imaginary: Option<Imaginary>,
}

#[derive(Serialize)]
struct Imaginary {
    im: f64,
    im_bits: String,
}

impl Value {
    fn real(re: f64) -> Self {
        Self { slice: None, word: None, re, re_bits: bits(re), imaginary: None }
    }

    fn complex(slice: Option<usize>, word: Option<usize>, z: Complex<f64>) -> Self {
        let imaginary = Some(Imaginary { im: z.im, im_bits: bits(z.im) });
        Self { slice, word, imaginary, ..Self::real(z.re) }
    }

    /// Its numbers as text, each with its bits if they are shown.
    fn cells(&self, with_hex: bool) -> Vec<String> {
        let number = |x: f64, bits: &str| match with_hex {
            true => vec![for_people(x), bits.to_owned()],
            false => vec![with_bits(x)],
        };
        let mut cells: Vec<String> = [self.slice, self.word].iter().flatten().map(ToString::to_string).collect();
        cells.extend(number(self.re, &self.re_bits));
        cells.extend(self.imaginary.iter().flat_map(|Imaginary { im, im_bits }| number(*im, im_bits)));
        cells
    }
}

/// One sum a line, in columns; a number and its bits stand closer together.
fn lines(values: &[Value], with_hex: bool) -> String {
    let rows: Vec<Vec<String>> = values.iter().map(|value| value.cells(with_hex)).collect();
    let columns = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> =
        (0..columns).map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0)).collect();
    let is_bits = |cell: &str| cell.len() == 16 && cell.bytes().all(|byte| byte.is_ascii_hexdigit());
    let line = |row: &Vec<String>| {
        row.iter().zip(&widths).fold(String::new(), |mut line, (cell, width)| {
            if !line.is_empty() {
                line += if is_bits(cell) { " " } else { "  " };
            }
            line + &format!("{cell:>width$}")
        })
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_columns_of_numbers_and_bits() {
        let values = [
            Value::complex(Some(9), Some(0), Complex::new(1.25, -2.0)),
            Value::complex(Some(10), Some(0), Complex::new(f64::NEG_INFINITY, -f64::NAN)),
        ];
        let expected = " 9  0  1.25 3ff4000000000000   -2 c000000000000000\n\
                        10  0  -inf fff0000000000000  NaN 7ff8000000000000";
        assert_eq!(lines(&values, true), expected);
        assert_eq!(lines(&[Value::real(0.1)], true), "0.1 3fb999999999999a");
    }

    #[test]
    fn infinity_and_nan_are_null_in_json_beside_their_bits() {
        let value = Value::complex(None, Some(3), Complex::new(f64::INFINITY, f64::NAN));
        let json = serde_json::to_string(&value).unwrap();
        let expected = r#"{"word":3,"re":null,"re_bits":"7ff0000000000000","im":null,"im_bits":"7ff8000000000000"}"#;
        assert_eq!(json, expected);
    }
}
