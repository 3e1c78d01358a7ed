//! The few operations that give a wrong number, by themselves: one work-item, no fields, no layout. What stood before them is their input, as bits. As text
//! they are a program in C for whoever makes the device's compiler.

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
    /// What stood before: of a real number the real part, of a choice one that is not 0.
    Input(Complex<f64>),
    /// An operation on earlier lines, by number.
    Operation(Operation),
}

/// A list of operations, the last of which gives a complex number.
#[derive(Clone, PartialEq, Debug)]
pub struct Least {
    precision: Precision,
    lines: Vec<(Kind, ReportLine)>,
    values: Vec<Complex<f64>>,
}

impl Least {
    /// The operations of word `word` of what was written.
    ///
    /// # Panics
    /// If nothing was written, or it has no such word.
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
            // In half precision one computes in f32.
            precision: if R::PRECISION == Precision::F64 { Precision::F64 } else { Precision::F32 },
            lines: steps.iter().map(line).collect(),
            values: steps.iter().map(|step| step.value.to_complex()).collect(),
        };
        least.pruned()
    }

    /// What the operations should give.
    pub fn expected(&self) -> Complex<f64> {
        self.values.last().copied().unwrap_or_default()
    }

    /// Whether this is what they should give, bit for bit; any NaN is the same as any other.
    pub(crate) fn is_right(&self, found: Complex<f64>) -> bool {
        let Complex { re, im } = self.expected();
        found.re.same_bits(re) && found.im.same_bits(im)
    }

    /// Operations, inputs apart.
    pub fn operations(&self) -> usize {
        self.lines.iter().filter(|(_, line)| matches!(line, ReportLine::Operation(_))).count()
    }

    /// The same with one operation less, each in turn: what it gives is an input instead.
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

    /// The same without what the last line does not need.
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

    /// What the operations give with a fault.
    pub fn with_fault(&self, fault: Fault) -> Complex<f64> {
        match self.lines.last() {
            Some((_, ReportLine::Operation(operation))) => fault(operation, self.expected()),
            _ => self.expected(),
        }
    }

    /// The kernel `least` in OpenCL C: inputs and result are the bits of doubles, real part and imaginary part.
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
                        // Bodies have no other kind.
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

    /// The inputs, real and imaginary parts.
    fn inputs(&self) -> Vec<f64> {
        let input = |(_, line): &(Kind, ReportLine)| match line {
            ReportLine::Input(z) => Some([z.re, z.im]),
            ReportLine::Operation(_) => None,
        };
        let inputs: Vec<f64> = self.lines.iter().filter_map(input).flatten().collect();
        // A buffer has at least one number.
        if inputs.is_empty() { vec![0.0] } else { inputs }
    }

    /// What the operations give on a device, built as all else is there.
    pub fn run_on(&self, device: &OpenCl) -> Result<Complex<f64>, BackendError> {
        let [re, im] = device.run_text(&self.kernel(), "least", &self.inputs())?;
        Ok(Complex::new(re, im))
    }

    /// A program in C that runs them on the first device of its kind, and says whether the bits are right.
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

/// What kernels need of `cl/complex.clh` and `cl/body.clh`, on one lane.
const HEAD: &str = include_str!("least.clh");
/// The program around a kernel.
const PROGRAM: &str = include_str!("least.c");
