//! `lanefield convert`: converts an array between our order and basis and those of other programs.

use lanefield::io::hdf5;
use lanefield::io::npy::{self, ComplexArray, ComplexValues};
use lanefield::io::sidecar::Sidecar;
use lanefield::io::{claims, sidecar};
use lanefield_ports::compare::Axes;
use lanefield_ports::order::{Convention, GammaBasis, Inner, SiteOrder, from_ours};
use serde_json::Value;

use super::array_output::{is_described, require_converted};
use super::files::{failed_to_write, has_extension, named, npy_name, npy_unwritten};
use super::ordered_array::{Named, read};
use super::output::print;
use crate::prelude::*;

/// Convert an array between site orders, spin bases and formats.
///
/// Reads arrays of other programs from NumPy and HDF5 files, in f32 and f64.
///
/// A change of order changes no bit of a number, nor does a change between degrand-rossi and chiral. In dirac-pauli and ukqcd, each number is a sum
/// of two times 1/√2. It is computed in f64, and rounded once to the precision of the file.
///
/// The array that is written has the shape of its order. If even sites come first, the shape is (2, T, Z, Y, X/2, …); for links in the orders qdp and
/// quda it is (4, 2, T, Z, Y, X/2, 3, 3), as in PyQUDA. docs/ports.md explains orders and bases, and docs/agreement.md lists the conventions of other
/// programs.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield config convert hot.nersc hot.npy
  lanefield convert hot.npy quda.npy --to-order quda
  lanefield convert quda.npy milc.npy --from-order quda --to-order milc
  lanefield apply --operator hop --config hot.nersc --source gauss:7 \\
      --output psi.npy
  lanefield convert psi.npy uk.npy --to-gamma ukqcd --to-inner colour-spin
  lanefield convert uk.npy back.npy --from-gamma ukqcd \\
      --from-inner colour-spin --precision f32
  lanefield convert psi.npy psi.h5 --to-dataset fields/psi
  lanefield convert psi.h5 again.npy")]
pub struct Convert {
    /// Array to read, complex64 or complex128: a NumPy array or an HDF5 file
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Array to write: HDF5 if its name ends in .h5 or .hdf5, else a NumPy array, whose name ends in .npy
    #[arg(value_name = "OUT", value_parser = named(array_name))]
    output: PathBuf,
    /// HDF5 dataset of IN [default: the only one with complex numbers]
    #[arg(long, value_name = "NAME", help_heading = "What IN is")]
    from_dataset: Option<String>,
    /// HDF5 dataset of OUT, in groups as in a/b/c [default: data]
    #[arg(long, value_name = "NAME", help_heading = "What OUT shall be")]
    to_dataset: Option<String>,
    /// Order of the sites of IN, and of the directions of links: lexicographic, even-odd, odd-even, milc, qdp, quda or gpt [default: lexicographic,
    /// unless IN has the shape of another order]
    #[arg(long, value_name = "ORDER", help_heading = "What IN is")]
    from_order: Option<SiteOrder>,
    /// Spin basis of IN: degrand-rossi (Lanefield's and Grid's), chiral, dirac-pauli or ukqcd
    #[arg(long, value_name = "BASIS", default_value_t, help_heading = "What IN is")]
    from_gamma: GammaBasis,
    /// Order of spin and colour in a spinor of IN: spin-colour or colour-spin
    #[arg(long, value_name = "ORDER", default_value_t, help_heading = "What IN is")]
    from_inner: Inner,
    /// Same as --from-order, for OUT
    #[arg(long, value_name = "ORDER", default_value_t, help_heading = "What OUT shall be")]
    to_order: SiteOrder,
    /// Same as --from-gamma, for OUT
    #[arg(long, value_name = "BASIS", default_value_t, help_heading = "What OUT shall be")]
    to_gamma: GammaBasis,
    /// Same as --from-inner, for OUT
    #[arg(long, value_name = "ORDER", default_value_t, help_heading = "What OUT shall be")]
    to_inner: Inner,
    /// Precision of OUT, f32 or f64 [default: that of IN]
    #[arg(long, value_name = "PRECISION", help_heading = "What OUT shall be")]
    precision: Option<Precision>,
}

impl Convert {
    pub fn run(self) -> anyhow::Result<Outcome> {
        ensure!(self.precision != Some(Precision::Half), "--precision half has no NumPy type: expected f32 or f64");
        require_converted(&self.input, &self.output)?;
        let order = self.from_order.unwrap_or_default();
        let from = Convention { order, gamma: self.from_gamma, inner: self.from_inner };
        let to = Convention { order: self.to_order, gamma: self.to_gamma, inner: self.to_inner };
        let named = if self.from_order.is_some() { Named::Always } else { Named::Never };
        for (option, dataset, path, is_hdf5) in [
            ("--from-dataset", &self.from_dataset, &self.input, hdf5::is_hdf5(&self.input)),
            ("--to-dataset", &self.to_dataset, &self.output, is_hdf5_name(&self.output)),
        ] {
            if let Some(dataset) = dataset.as_ref().filter(|_| !is_hdf5) {
                bail!("{option} {dataset} is for HDF5 files, and {} is not one", path.display());
            }
        }
        let sidecar = Sidecar::<Value>::read(&self.input)?;
        sidecar.as_ref().map_or(Ok(()), |sidecar| sidecar.check(&self.input))?;
        sidecar::remove(&self.output)?;
        let input = (self.input.as_path(), self.from_dataset.as_deref());
        let (read_as, mut array) = read(input, from, "--from-order", named)?;
        let axes = Axes::of(&array.shape);
        // f64 is set before the change of basis, f32 after it, so that there is one rounding.
        if self.precision == Some(Precision::F64) {
            array.values = ComplexValues::F64(array.values.into_f64());
        }
        let mut array = from_ours(array, to).with_context(|| format!("failed to convert {}", self.input.display()))?;
        if self.precision == Some(Precision::F32) {
            array.values = ComplexValues::F32(array.values.into_f32());
        }
        let described = array.describe();
        if is_hdf5_name(&self.output) {
            let dataset = self.to_dataset.as_deref().unwrap_or("data");
            let written = hdf5::write_complex(&self.output, dataset, &array);
            written.with_context(|| failed_to_write(&self.output))?;
        } else {
            let ComplexArray { shape, values } = &array;
            let written = match values {
                ComplexValues::F32(values) => npy::write_complex(&self.output, shape, values),
                ComplexValues::F64(values) => npy::write_complex(&self.output, shape, values),
            };
            written.map_err(|error| npy_unwritten(&self.output, error))?;
        }
        // In another order or basis, the sidecar would not describe the array.
        if let Some(sidecar) = sidecar.filter(|_| from == Convention::OURS && to == Convention::OURS)
            && is_described(&self.output)
        {
            let written = claims::written_to(&self.output);
            sidecar.of_copy(&written, (array.shape, array.values.precision().dtype()))?.write(&written)?;
        }
        let (input, output) = (self.input.display(), self.output.display());
        print(format_args!(
            "{input}: {read_as}, read as {}, {}\n{output}: {described}, {}",
            axes.describe(),
            describe(from, &axes),
            describe(to, &axes)
        ))?;
        Ok(Outcome::Done)
    }
}

/// Whether a name means an HDF5 file.
fn is_hdf5_name(path: &Path) -> bool {
    has_extension(path, &["h5", "hdf5"])
}

fn array_name(path: &Path) -> Result<PathBuf, String> {
    match is_hdf5_name(path) {
        true => Ok(path.to_owned()),
        false => npy_name(path)
            .map_err(|_| format!("invalid name '{}': expected one that ends in .npy, .h5 or .hdf5", path.display())),
    }
}

/// "even-odd order, basis ukqcd, spin-colour". Arrays without spins have no basis and no order of spin and colour.
fn describe(Convention { order, gamma, inner }: Convention, axes: &Axes) -> String {
    let is_ours = (gamma, inner) == (Convention::OURS.gamma, Convention::OURS.inner);
    match axes.are_spinors() || !is_ours {
        true => format!("{order} order, basis {gamma}, {inner}"),
        false => format!("{order} order"),
    }
}
