//! What is compared: arrays of complex or real numbers, widened to f64, which changes no bit that counts.

use lanefield::io::npy::{ComplexArray, ComplexValues};
use lanefield::reference::real::Real as _;

/// An array of numbers, complex or real, of f32 or f64. What is an f32 is kept as the f64 of the same value: the way there and back keeps its bits,
/// but for those of NaN, of which any equals any.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// Extents, the slowest axis first.
    pub(super) shape: Vec<usize>,
    /// Real parts of a number: 2 of a complex one.
    pub(super) parts: usize,
    /// Whether they are f32.
    pub(super) single: bool,
    /// All parts in C order.
    pub(super) values: Vec<f64>,
}

impl Numbers {
    /// Real numbers in C order.
    pub fn of_f64(shape: Vec<usize>, values: Vec<f64>) -> Self {
        Self { shape, parts: 1, single: false, values }
    }

    /// Real numbers in single precision, in C order.
    pub fn of_f32(shape: Vec<usize>, values: &[f32]) -> Self {
        Self { shape, parts: 1, single: true, values: values.iter().map(|&x| f64::from(x)).collect() }
    }

    /// "complex128 (8, 4, 4, 4, 4, 3)"
    pub fn describe(&self) -> String {
        let element = match (self.parts, self.single) {
            (2, true) => "complex64",
            (2, false) => "complex128",
            (_, true) => "float32",
            (_, false) => "float64",
        };
        format!("{element} {}", show_shape(&self.shape))
    }
}

impl From<&ComplexArray> for Numbers {
    fn from(ComplexArray { shape, values }: &ComplexArray) -> Self {
        let (single, values) = match values {
            ComplexValues::F32(values) => (true, values.iter().flat_map(|z| [z.re.into(), z.im.into()]).collect()),
            ComplexValues::F64(values) => (false, values.iter().flat_map(|z| [z.re, z.im]).collect()),
        };
        Self { shape: shape.clone(), parts: 2, single, values }
    }
}

/// A shape as Python has it.
pub(super) fn show_shape(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        shape => format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// The bits of a number in its precision.
pub(super) fn bits(x: f64, single: bool) -> u64 {
    if single { u64::from((x as f32).to_bits()) } else { x.to_bits() }
}

/// Whether two numbers are the same bits, or both NaN.
#[inline]
pub(super) fn same(a: f64, b: f64) -> bool {
    a.same_bits(b)
}

/// Distance in units in the last place; `None` where one is NaN.
pub(super) fn ulps_between(a: f64, b: f64, single: bool) -> Option<u64> {
    (!a.is_nan() && !b.is_nan()).then(|| if single { (a as f32).ulp_distance(b as f32) } else { a.ulp_distance(b) })
}
