//! Complex arrays as read from a file: their precision and shape, and conversions to fields.

use lanefield_reference::ensure;
use lanefield_reference::field::{ColourMatrix, ComplexNumber, Gauge, HalfSpinor, Propagator, SiteObject as _, Words};
use lanefield_reference::kernels::domain_wall::MOST_LS;
use lanefield_reference::layout::LayoutError;
use lanefield_reference::prelude::*;

use super::element::Precision;
use super::error::{NpyError, show_shape};

/// A real type whose complex numbers can be stored: f32 or f64.
pub trait ArrayReal: Copy + sealed::Sealed {
    /// Its precision.
    const PRECISION: Precision;
}

impl ArrayReal for f32 {
    const PRECISION: Precision = Precision::F32;
}

impl ArrayReal for f64 {
    const PRECISION: Precision = Precision::F64;
}

pub(super) mod sealed {
    use num_complex::Complex;

    use super::ComplexValues;

    /// The private requirements of [`super::ArrayReal`]. It is sealed because the bytes of a type are written as they are.
    pub trait Sealed: bytemuck::Pod {
        fn to_little_endian(self) -> Self;
        fn of(values: ComplexValues) -> Vec<Complex<Self>>;
    }
    impl Sealed for f32 {
        fn to_little_endian(self) -> Self {
            Self::from_bits(self.to_bits().to_le())
        }
        fn of(values: ComplexValues) -> Vec<Complex<Self>> {
            values.into_f32()
        }
    }
    impl Sealed for f64 {
        fn to_little_endian(self) -> Self {
            Self::from_bits(self.to_bits().to_le())
        }
        fn of(values: ComplexValues) -> Vec<Complex<Self>> {
            values.into_f64()
        }
    }
}

/// Complex numbers in the precision of their file.
#[derive(Debug, Clone, PartialEq)]
pub enum ComplexValues {
    /// complex64.
    F32(Vec<Complex<f32>>),
    /// complex128.
    F64(Vec<Complex<f64>>),
}

impl ComplexValues {
    /// The number of complex numbers.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The precision of the numbers.
    pub fn precision(&self) -> Precision {
        match self {
            Self::F32(_) => Precision::F32,
            Self::F64(_) => Precision::F64,
        }
    }

    /// The values in f64. Values in f32 are converted exactly.
    pub fn into_f64(self) -> Vec<Complex<f64>> {
        match self {
            Self::F32(values) => values.into_iter().map(|z| Complex::new(f64::from(z.re), f64::from(z.im))).collect(),
            Self::F64(values) => values,
        }
    }

    /// The values in f32. Values in f64 are rounded to nearest, ties to even; those beyond the range of f32 become infinite.
    pub fn into_f32(self) -> Vec<Complex<f32>> {
        match self {
            Self::F32(values) => values,
            Self::F64(values) => values.into_iter().map(|z| Complex::new(z.re as f32, z.im as f32)).collect(),
        }
    }

    /// The values in the precision of `R`: [`Self::into_f32`] or [`Self::into_f64`].
    pub fn into_precision<R: ArrayReal>(self) -> Vec<Complex<R>> {
        R::of(self)
    }

    fn first_not_finite(&self) -> Option<(usize, Complex<f64>)> {
        match self {
            Self::F32(values) => values
                .iter()
                .position(|z| !z.is_finite())
                .map(|i| (i, Complex::new(f64::from(values[i].re), f64::from(values[i].im)))),
            Self::F64(values) => values.iter().position(|z| !z.is_finite()).map(|i| (i, values[i])),
        }
    }

    fn require_finite(&self, shape: &[usize]) -> Result<(), NpyError> {
        let Some((mut flat, value)) = self.first_not_finite() else { return Ok(()) };
        let mut index = vec![0; shape.len()];
        for (index, &extent) in index.iter_mut().zip(shape).rev() {
            *index = flat % extent;
            flat /= extent;
        }
        Err(NpyError::NotFinite { index, value })
    }
}

/// An array of complex numbers of any shape.
#[derive(Debug, Clone, PartialEq)]
pub struct ComplexArray {
    /// Extents, the slowest axis first.
    pub shape: Vec<usize>,
    /// Elements in C order.
    pub values: ComplexValues,
}

impl ComplexArray {
    /// Type and shape: "complex128 (4, 4, 4, 8, 4, 3)".
    pub fn describe(&self) -> String {
        format!("{} {}", self.values.precision().dtype(), show_shape(&self.shape))
    }

    /// Checks that every element is finite.
    ///
    /// # Errors
    /// [`NpyError::NotFinite`] with the first element that is not.
    pub fn require_finite(&self) -> Result<(), NpyError> {
        self.values.require_finite(&self.shape)
    }

    /// The array as a spinor field.
    ///
    /// # Errors
    /// [`NpyError::Shape`] if the shape is not `(T, Z, Y, X, 4, 3)`.
    pub fn into_spinor(self) -> Result<SpinorArray, NpyError> {
        let extents = field_extents(&self.shape, "spinor field", "(T, Z, Y, X, 4, 3)", &[4, 3])?;
        Ok(SpinorArray { extents, values: self.values })
    }

    /// The array as a gauge configuration; complex64 is widened.
    ///
    /// Whether links are in SU(3) is not checked, since tests of ports use links that are not: see [`Configuration::require_su3`].
    ///
    /// # Errors
    /// [`NpyError::Shape`] if the shape is not `(T, Z, Y, X, 4, 3, 3)`; [`NpyError::Links`] if a link is not finite.
    pub fn into_gauge(self) -> Result<Configuration, NpyError> {
        let extents = gauge_extents(&self.shape)?;
        let configuration = Configuration::new(extents, self.values.into_f64())?;
        configuration.require_finite()?;
        Ok(configuration)
    }

    /// The array as a propagator.
    ///
    /// # Errors
    /// [`NpyError::Shape`] if the shape is not `(T, Z, Y, X, 4, 4, 3, 3)`.
    pub fn into_propagator(self) -> Result<PropagatorArray, NpyError> {
        let extents = field_extents(&self.shape, "propagator", "(T, Z, Y, X, 4, 4, 3, 3)", &[4, 4, 3, 3])?;
        Ok(PropagatorArray { extents, values: self.values })
    }

    /// The array as a five-dimensional fermion.
    ///
    /// # Errors
    /// [`NpyError::Shape`] if the shape is not `(Ls, T, Z, Y, X, 4, 3)`.
    pub fn into_fermion5(self) -> Result<Fermion5Array, NpyError> {
        let axes = "(Ls, T, Z, Y, X, 4, 3)";
        let wrong = |reason: String| NpyError::Shape { shape: self.shape.clone(), field: FERMION5, axes, reason };
        ensure!(self.shape.len() == 7, wrong(format!("it has {} axes, not 7", self.shape.len())));
        let (ls, lattice) = (self.shape[0], &self.shape[1..]);
        ensure!((1..=MOST_LS).contains(&ls), wrong(format!("Ls is {ls}, not 1 to {MOST_LS}")));
        let extents = field_extents(lattice, FERMION5, axes, &[4, 3]).map_err(|error| match error {
            NpyError::Shape { reason, .. } => wrong(reason),
            other => other,
        })?;
        let values = match self.values {
            ComplexValues::F32(values) => ComplexValues::F32(spinors_exchanged(&values, ls)),
            ComplexValues::F64(values) => ComplexValues::F64(spinors_exchanged(&values, ls)),
        };
        Ok(Fermion5Array { extents, ls, values })
    }

    /// The array as a field of any site object. The axes after those of the lattice determine the object:
    ///
    /// | axes | object |
    /// |---|---|
    /// | none | one complex number |
    /// | (3) | colour vector |
    /// | (2, 3) | half spinor |
    /// | (4, 3) | spinor |
    /// | (3, 3) | colour matrix |
    /// | (4, 3, 3) | the links of a site |
    /// | (4, 4, 3, 3) | propagator |
    /// | others | list of words |
    ///
    /// Elements need not be finite.
    ///
    /// # Errors
    /// [`NpyError::Shape`] if there are fewer than four axes, an extent is zero, or a site has more than [`FieldArray::MOST_WORDS`]
    /// numbers.
    pub fn into_field(self) -> Result<FieldArray, NpyError> {
        let (extents, words) = any_field(&self.shape)?;
        Ok(FieldArray { extents, words, object: object_name(&self.shape[4..]), values: self.values })
    }
}

/// The lattice of a field of any object, and the number of words of a site.
pub(super) fn any_field(shape: &[usize]) -> Result<(Extents, Words), NpyError> {
    let wrong = |reason: String| NpyError::Shape {
        shape: shape.to_vec(),
        field: "field",
        axes: "(T, Z, Y, X, numbers of a site …)",
        reason,
    };
    let Some((&[t, z, y, x], site)) = shape.split_first_chunk() else {
        return Err(wrong(format!("it has {} axes, not 4 or more", shape.len())));
    };
    let words = site.iter().fold(1usize, |words, &extent| words.saturating_mul(extent));
    if !(1..=FieldArray::MOST_WORDS).contains(&words) {
        return Err(wrong(format!("a site has {words} numbers, not 1 to {}", FieldArray::MOST_WORDS)));
    }
    let extents = Extents::new([x, y, z, t]).map_err(|error| wrong(error.to_string()))?;
    Ok((extents, Words(words)))
}

/// The lattice of a gauge configuration of this shape.
pub(super) fn gauge_extents(shape: &[usize]) -> Result<Extents, NpyError> {
    let (field, axes) = ("gauge configuration", "(T, Z, Y, X, 4, 3, 3)");
    match shape {
        &[_, _, _, _, 4, rows, columns] if rows == columns && rows != 3 => {
            let reason = format!("its links are of SU({rows}), and those of SU(3) are read");
            Err(NpyError::Shape { shape: shape.to_owned(), field, axes, reason })
        }
        _ => field_extents(shape, field, axes, &[4, 3, 3]),
    }
}

/// The name of the object whose axes at each site are `site`.
fn object_name(site: &[usize]) -> &'static str {
    match site {
        [] => ComplexNumber.name(),
        [3] => ColourVectors::ONE.name(),
        [2, 3] => HalfSpinor.name(),
        [4, 3] => Spinors::ONE.name(),
        [3, 3] => ColourMatrix.name(),
        [4, 3, 3] => Gauge.name(),
        [4, 4, 3, 3] => Propagator.name(),
        _ => "word list",
    }
}

/// A field of any site object in site order: complex number `site * words + word`, x the fastest coordinate of the site.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldArray {
    /// The lattice.
    pub extents: Extents,
    /// The number of complex numbers of a site.
    pub words: Words,
    /// The name of the object that the axes imply, for example "spinor".
    pub object: &'static str,
    /// The numbers.
    pub values: ComplexValues,
}

impl FieldArray {
    /// The maximum number of complex numbers of a site. A sum needs about a kilobyte for each of them.
    pub const MOST_WORDS: usize = 4096;
}

/// A spinor field in site order: complex number `(site * 4 + spin) * 3 + colour`. x is the fastest coordinate of the site.
#[derive(Debug, Clone, PartialEq)]
pub struct SpinorArray {
    /// The lattice.
    pub extents: Extents,
    /// 12 complex numbers a site.
    pub values: ComplexValues,
}

impl SpinorArray {
    /// Checks that every component is finite, as a source must be.
    ///
    /// # Errors
    /// [`NpyError::NotFinite`] with the index (t, z, y, x, spin, colour) of the first component that is not.
    pub fn require_finite(&self) -> Result<(), NpyError> {
        self.values.require_finite(&spinor_shape(self.extents))
    }
}

/// A propagator in site order: complex number `site * 144 + ((s1 * 4 + s2) * 3 + c1) * 3 + c2`, for sink spin s1, source spin s2, sink
/// colour c1 and source colour c2. x is the fastest coordinate of the site.
#[derive(Debug, Clone, PartialEq)]
pub struct PropagatorArray {
    /// The lattice.
    pub extents: Extents,
    /// 144 complex numbers a site.
    pub values: ComplexValues,
}

impl PropagatorArray {
    /// Checks that every component is finite.
    ///
    /// # Errors
    /// [`NpyError::NotFinite`] with the index (t, z, y, x, s1, s2, c1, c2) of the first component that is not.
    pub fn require_finite(&self) -> Result<(), NpyError> {
        self.values.require_finite(&propagator_shape(self.extents))
    }
}

/// A five-dimensional fermion in site order with s fastest: complex number `((site * ls + s) * 4 + spin) * 3 + colour`. In the file s is
/// the slowest axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Fermion5Array {
    /// The lattice.
    pub extents: Extents,
    /// Sites of the fifth dimension.
    pub ls: usize,
    /// 12·ls complex numbers a site.
    pub values: ComplexValues,
}

impl Fermion5Array {
    /// Checks that every component is finite, as a source must be.
    ///
    /// # Errors
    /// [`NpyError::NotFinite`] with the index (t, z, y, x, s, spin, colour) of the first component that is not.
    pub fn require_finite(&self) -> Result<(), NpyError> {
        let [x, y, z, t] = self.extents.as_array();
        self.values.require_finite(&[t, z, y, x, self.ls, 4, 3])
    }
}

const FERMION5: &str = "five-dimensional fermion";

/// Transposes a matrix of spinors with `rows` rows.
pub(super) fn spinors_exchanged<T: Copy>(values: &[T], rows: usize) -> Vec<T> {
    let a_row = values.len() / Spinors::WORDS / rows;
    let spinor = |k: usize| &values[Spinors::WORDS * k..][..Spinors::WORDS];
    (0..a_row).flat_map(|column| (0..rows).flat_map(move |row| spinor(row * a_row + column))).copied().collect()
}

pub(super) fn fermion5_shape(extents: Extents, ls: usize) -> Vec<usize> {
    [&[ls][..], &spinor_shape(extents)].concat()
}

pub(super) fn spinor_shape(extents: Extents) -> Vec<usize> {
    let [x, y, z, t] = extents.as_array();
    vec![t, z, y, x, 4, 3]
}

/// The axes of a propagator in a file: (T, Z, Y, X, 4, 4, 3, 3).
pub fn propagator_shape(extents: Extents) -> Vec<usize> {
    let [x, y, z, t] = extents.as_array();
    vec![t, z, y, x, 4, 4, 3, 3]
}

/// The axes of a gauge configuration.
pub(crate) fn gauge_shape(extents: Extents) -> Vec<usize> {
    let [x, y, z, t] = extents.as_array();
    vec![t, z, y, x, 4, 3, 3]
}

fn field_extents(
    shape: &[usize],
    field: &'static str,
    axes: &'static str,
    site: &[usize],
) -> Result<Extents, NpyError> {
    let wrong = |reason: String| NpyError::Shape { shape: shape.to_owned(), field, axes, reason };
    ensure!(shape.len() == 4 + site.len(), wrong(format!("it has {} axes, not {}", shape.len(), 4 + site.len())));
    let (lattice, words) = shape.split_at(4);
    ensure!(words == site, wrong(format!("the last axes are {}, not {}", show_shape(words), show_shape(site))));
    let &[t, z, y, x] = lattice else { return Err(wrong("it has no four lattice axes".to_owned())) };
    Extents::new([x, y, z, t]).map_err(|error: LayoutError| wrong(error.to_string()))
}
