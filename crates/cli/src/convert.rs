//! `lanefield convert`: an array in the order and basis of another program, and back.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::Args;
use lanefield::io::npy::{self, ComplexArray, ComplexValues};
use lanefield::reference::real::Precision;
use lanefield_ports::compare::Axes;
use lanefield_ports::order::{Convention, GammaBasis, Inner, SiteOrder, from_ours};

use super::Outcome;
use super::compare::{Named, read};
use super::files::{npy_name, npy_unwritten, require_outputs};
use super::output::print;

/// Convert an array between the orders of sites, bases of spins and precisions of programs.
///
/// Orders move numbers, and change no bit; so do degrand-rossi and chiral. Of dirac-pauli and ukqcd each number is a sum of two times 1/√2, computed in
/// f64, and rounded once to the precision of the file. What is written has the shape of its order: where even sites come first (2, T, Z, Y, X/2, …), of
/// qdp and quda links (4, 2, T, Z, Y, X/2, 3, 3), as PyQUDA has them. docs/ports.md says what the words mean.
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
      --from-inner colour-spin --precision f32")]
pub struct Convert {
    /// The array to read, complex64 or complex128
    #[arg(value_name = "IN.npy")]
    input: PathBuf,
    /// The array to write
    #[arg(value_name = "OUT.npy", value_parser = npy_name)]
    output: PathBuf,
    /// Order of the sites, and of the directions of links, of IN: lexicographic, even-odd, odd-even, milc, qdp, quda or gpt [default: lexicographic, unless
    /// IN has the shape of another]
    #[arg(long, value_name = "ORDER", help_heading = "What IN is")]
    from_order: Option<SiteOrder>,
    /// Basis of the spins of IN: degrand-rossi (ours and Grid's), chiral, dirac-pauli or ukqcd
    #[arg(long, value_name = "BASIS", default_value_t, help_heading = "What IN is")]
    from_gamma: GammaBasis,
    /// Order of the numbers of a spinor of IN: spin-colour or colour-spin
    #[arg(long, value_name = "ORDER", default_value_t, help_heading = "What IN is")]
    from_inner: Inner,
    /// As --from-order, of OUT
    #[arg(long, value_name = "ORDER", default_value_t, help_heading = "What OUT shall be")]
    to_order: SiteOrder,
    /// As --from-gamma, of OUT
    #[arg(long, value_name = "BASIS", default_value_t, help_heading = "What OUT shall be")]
    to_gamma: GammaBasis,
    /// As --from-inner, of OUT
    #[arg(long, value_name = "ORDER", default_value_t, help_heading = "What OUT shall be")]
    to_inner: Inner,
    /// Precision of OUT, f32 or f64 [default: that of IN]
    #[arg(long, value_name = "PRECISION", help_heading = "What OUT shall be")]
    precision: Option<Precision>,
}

impl Convert {
    pub fn run(self) -> anyhow::Result<Outcome> {
        ensure!(self.precision != Some(Precision::Half), "--precision half has no NumPy type: expected f32 or f64");
        require_outputs(&[("OUT", self.output.as_path())], &[("IN", self.input.as_path())])?;
        let order = self.from_order.unwrap_or_default();
        let from = Convention { order, gamma: self.from_gamma, inner: self.from_inner };
        let to = Convention { order: self.to_order, gamma: self.to_gamma, inner: self.to_inner };
        let named = if self.from_order.is_some() { Named::Always } else { Named::Never };
        let (read_as, mut array) = read(&self.input, from, "--from-order", named)?;
        let axes = Axes::of(&array.shape);
        // To f64 before the change of basis, to f32 after it: one rounding.
        if self.precision == Some(Precision::F64) {
            array.values = ComplexValues::F64(array.values.into_f64());
        }
        let mut array = from_ours(array, to).with_context(|| format!("failed to convert {}", self.input.display()))?;
        if self.precision == Some(Precision::F32) {
            array.values = ComplexValues::F32(array.values.into_f32());
        }
        let described = array.describe();
        let ComplexArray { shape, values } = array;
        let written = match &values {
            ComplexValues::F32(values) => npy::write_complex(&self.output, &shape, values),
            ComplexValues::F64(values) => npy::write_complex(&self.output, &shape, values),
        };
        written.map_err(|error| npy_unwritten(&self.output, error))?;
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

/// "even-odd order, basis ukqcd, spin-colour"; what has no spins has neither of these.
fn describe(Convention { order, gamma, inner }: Convention, axes: &Axes) -> String {
    let is_ours = (gamma, inner) == (Convention::OURS.gamma, Convention::OURS.inner);
    match axes.are_spinors() || !is_ours {
        true => format!("{order} order, basis {gamma}, {inner}"),
        false => format!("{order} order"),
    }
}
