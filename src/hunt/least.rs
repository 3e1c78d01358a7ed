//! Reduces a difference to the few operations that compute a wrong number: one work-item, no fields, no layout. Earlier results are inputs,
//! given as bits. The operations can be written as a C program for a bug report to the developers of the device's compiler.

use lanefield_reference::prelude::*;
use lanefield_reference::real::Real;

use crate::backend::BackendError;
use crate::backend::opencl::OpenCl;
use crate::body::dialect::Dialect;
use crate::body::program::{Id, Kind, Operands as _, Operation};
use crate::kernel::interpreter::{Evaluation, Fault, InterpretedStep};

/// An operation, or an input.
#[derive(Clone, PartialEq, Debug)]
enum ReportLine {
    /// An earlier result: of a real number the real part; of a condition a number that is 0 if it is false.
    Input(Complex<f64>),
    /// An operation on earlier lines, given by their numbers.
    Operation(Operation),
}

/// A list of operations. The last one returns a complex number.
#[derive(Clone, PartialEq, Debug)]
pub struct Least {
    precision: Precision,
    lines: Vec<(Kind, ReportLine)>,
    values: Vec<Complex<f64>>,
}

impl Least {
    /// The operations that compute word `word` of the result.
    ///
    /// # Panics
    /// If there is no result, or it has no such word.
    pub fn of<R: Vectors>(done: &Evaluation<R>, word: usize) -> Self {
        let [(_, words), ..] = &done.written[..] else { panic!("a body of which nothing was written has no words") };
        let steps = &done.steps[..=words[word]];
        let line = |InterpretedStep { operation, kind, value }: &InterpretedStep<R>| {
            let line = if operation.reads() {
                ReportLine::Input(value.to_complex())
            } else {
                ReportLine::Operation(operation.clone())
            };
            (*kind, line)
        };
        let least = Self {
            // Arithmetic in half precision is f32.
            precision: if R::PRECISION == Precision::F64 { Precision::F64 } else { Precision::F32 },
            lines: steps.iter().map(line).collect(),
            values: steps.iter().map(|step| step.value.to_complex()).collect(),
        };
        least.pruned()
    }

    /// The correct result of the operations.
    pub fn expected(&self) -> Complex<f64> {
        self.values.last().copied().unwrap_or_default()
    }

    /// Whether `found` is the correct result, bit for bit. Any NaN equals any other.
    pub(crate) fn is_right(&self, found: Complex<f64>) -> bool {
        let Complex { re, im } = self.expected();
        found.re.same_bits(re) && found.im.same_bits(im)
    }

    /// The number of operations, without inputs.
    pub fn operations(&self) -> usize {
        self.lines.iter().filter(|(_, line)| matches!(line, ReportLine::Operation(_))).count()
    }

    /// The same with one operation less, for each operation in turn: its result becomes an input.
    pub fn less(&self) -> impl Iterator<Item = Self> + use<> {
        let all = self.clone();
        let places: Vec<usize> = (0..self.lines.len() - 1).rev().collect();
        places.into_iter().filter_map(move |k| {
            let mut less = all.clone();
            let is_operation = matches!(less.lines[k].1, ReportLine::Operation(_));
            less.lines[k].1 = ReportLine::Input(less.values[k]);
            is_operation.then(|| less.pruned())
        })
    }

    /// The same without the lines that the last one does not need.
    fn pruned(self) -> Self {
        let mut needed = vec![false; self.lines.len()];
        if let Some(last) = needed.last_mut() {
            *last = true;
        }
        for k in (0..self.lines.len()).rev() {
            if let (true, (_, ReportLine::Operation(operation))) = (needed[k], &self.lines[k]) {
                for id in operation.operands() {
                    needed[id.0 as usize] = true;
                }
            }
        }
        let mut places = vec![0; self.lines.len()];
        let (mut lines, mut values) = (Vec::new(), Vec::new());
        for (k, (kind, line)) in self.lines.into_iter().enumerate().filter(|(k, _)| needed[*k]) {
            places[k] = lines.len();
            let line = match line {
                ReportLine::Operation(operation) => {
                    ReportLine::Operation(operation.with_operands(|id| Id(places[id.0 as usize] as u32)))
                }
                input => input,
            };
            lines.push((kind, line));
            values.push(self.values[k]);
        }
        Self { precision: self.precision, lines, values }
    }

    /// The result of the operations with a fault.
    pub fn with_fault(&self, fault: Fault) -> Complex<f64> {
        match self.lines.last() {
            Some((_, ReportLine::Operation(operation))) => fault(operation, self.expected()),
            _ => self.expected(),
        }
    }

    /// The kernel `least` in OpenCL C. Inputs and results are the bits of doubles, real part first.
    pub fn kernel(&self) -> String {
        let real = if self.precision == Precision::F64 { "double" } else { "float" };
        let mut text = HEAD.replace("REAL", real);
        text += "__kernel void least(__global const double *in, __global double *out) {\n";
        let mut inputs = 0;
        for (number, (kind, line)) in self.lines.iter().enumerate() {
            let value = match line {
                ReportLine::Input(_) => {
                    inputs += 1;
                    let re = 2 * (inputs - 1);
                    match kind {
                        Kind::Real => format!("(real)in[{re}]"),
                        Kind::F64 => format!("in[{re}]"),
                        Kind::Choice => format!("in[{re}] != 0"),
                        // Kernel functions have no other kind.
                        _ => format!("(cplx)((real)in[{re}], (real)in[{}])", re + 1),
                    }
                }
                ReportLine::Operation(operation) => {
                    Dialect::OpenCl.operation(*kind, operation, &|id| format!("z{}", id.0))
                }
            };
            text += &format!("    const {} z{number} = {value};\n", Dialect::OpenCl.type_of(*kind));
        }
        let last = self.lines.len().saturating_sub(1);
        text += &format!("    out[0] = z{last}.lo;\n    out[1] = z{last}.hi;\n}}\n");
        text
    }

    /// The inputs, as real and imaginary parts.
    fn inputs(&self) -> Vec<f64> {
        let input = |(_, line): &(Kind, ReportLine)| match line {
            ReportLine::Input(z) => Some([z.re, z.im]),
            ReportLine::Operation(_) => None,
        };
        let inputs: Vec<f64> = self.lines.iter().filter_map(input).flatten().collect();
        // A buffer has at least one number.
        if inputs.is_empty() { vec![0.0] } else { inputs }
    }

    /// Runs the operations on a device, built with the usual options.
    pub fn run_on(&self, device: &OpenCl) -> Result<Complex<f64>, BackendError> {
        let [re, im] = device.run_text(&self.kernel(), "least", &self.inputs())?;
        Ok(Complex::new(re, im))
    }

    /// A C program that runs the operations on the first device of its kind, and reports whether the bits are right.
    pub fn program(&self, found_on: &Precision) -> String {
        let bits = |x: &f64| format!("0x{:016x}", x.to_bits());
        let quoted: Vec<String> = self.kernel().lines().map(|line| format!("    \"{line}\\n\"")).collect();
        let expected = self.expected();
        PROGRAM
            .replace("FOUND_ON", &found_on.to_string())
            .replace("SOURCE", &quoted.join("\n"))
            .replace("INPUTS", &self.inputs().iter().map(bits).collect::<Vec<_>>().join(", "))
            .replace("EXPECTED", &[expected.re, expected.im].iter().map(bits).collect::<Vec<_>>().join(", "))
    }
}

/// The parts of `cl/complex.clh` and `cl/body.clh` that kernels need, for one lane.
const HEAD: &str = include_str!("least.clh");
/// The C program around a kernel.
const PROGRAM: &str = include_str!("least.c");
