//! Fields as arrays, with the axes of `docs/arithmetic.md` §18. A NaN is written as NumPy's NaN, since any NaN equals any other.

use lanefield::backend::HostField;
use lanefield::in_precision;
use lanefield::io::npy::{NpyError, RawArray};
use lanefield::prelude::*;
use lanefield::reference::field::{DoubledGauge, Object};
use lanefield::reference::real::Real;

use crate::Content;

/// The axes of an array with these objects: those before the lattice's, if there are any, then (T, Z, Y, X), then those of a site.
pub fn axes_of(object: Object, extents: Extents) -> Vec<usize> {
    let [x, y, z, t] = extents.as_array();
    let before = match object {
        Object::Spinors(count) if count > 1 => Some(count),
        _ => None,
    };
    let site = match object {
        Object::Words(words) => vec![words],
        Object::ColourVectors(count) => vec![count, 3],
        object => content_of(object).site().unwrap_or_default().iter().map(|(_, extent)| *extent).collect(),
    };
    before.into_iter().chain([t, z, y, x]).chain(site).collect()
}

pub(super) fn content_of(object: Object) -> Content {
    match object {
        Object::Spinors(1) => Content::Spinor,
        Object::Spinors(_) => Content::Spinors,
        Object::ColourVectors(_) => Content::ColourVectors,
        Object::Gauge => Content::Links,
        Object::DoubledGauge(DoubledGauge { format, .. }) => match format {
            LinkFormat::Full => Content::DoubledLinks,
            LinkFormat::TwoRows => Content::TwoRows,
            LinkFormat::Eight => Content::EightReals,
        },
        Object::FieldStrength => Content::FieldStrength,
        Object::CloverBlocks => Content::CloverBlocks,
        Object::HalfSpinor => Content::HalfSpinor,
        Object::ColourMatrix => Content::ColourMatrix,
        Object::Propagator => Content::Propagator,
        Object::ComplexNumber => Content::ComplexNumber,
        Object::Words(_) => Content::Words,
    }
}

/// A field on the whole lattice, with +0 on sites that it does not have. Half precision is written as the f32 values of its fractions.
pub fn field_array(field: &HostField) -> Result<RawArray, NpyError> {
    let shape = field.shape();
    let extents = shape.lattice.extents();
    in_precision!(shape.precision, R => {
        let Some(field) = field.get::<R>() else { unreachable!("a field is of the precision that its shape says") };
        in_site_order(shape.object, extents, &field.to_site_order())
    })
}

/// The reverse: the numbers of an array of these objects, in site order with all words of a site together.
pub fn from_array(object: Object, extents: Extents, values: Vec<Complex<f64>>) -> Vec<Complex<f64>> {
    match object {
        Object::Spinors(count) if count > 1 => {
            let (words, sites) = (Spinors::WORDS, extents.volume());
            let spinor = |site: usize, k: usize| &values[(k * sites + site) * words..][..words];
            let spinors = (0..sites).flat_map(|site| (0..count).flat_map(move |k| spinor(site, k)));
            spinors.copied().collect()
        }
        _ => values,
    }
}

/// The same for numbers in site order.
pub(super) fn in_site_order<R: Real>(
    object: Object,
    extents: Extents,
    values: &[Complex<R>],
) -> Result<RawArray, NpyError> {
    let axes = axes_of(object, extents);
    match object {
        // One spinor of all sites after the other.
        Object::Spinors(count) if count > 1 => {
            let (words, sites) = (Spinors::WORDS, extents.volume());
            let spinor = |k: usize, site: usize| &values[(site * count + k) * words..][..words];
            let spinors = (0..count).flat_map(|k| (0..sites).flat_map(move |site| spinor(k, site)));
            complex(&axes, &spinors.copied().collect::<Vec<_>>())
        }
        _ => complex(&axes, values),
    }
}

pub(super) fn complex<R: Real>(shape: &[usize], values: &[Complex<R>]) -> Result<RawArray, NpyError> {
    let number = |x: R| if x.to_f64().is_nan() { f64::NAN } else { x.to_f64() };
    let numbers = values.iter().map(|z| Complex::new(number(z.re), number(z.im)));
    match R::BITS {
        64 => RawArray::complex(shape, &numbers.collect::<Vec<Complex<f64>>>()),
        // Exact, since the numbers were of this type.
        _ => RawArray::complex(shape, &numbers.map(|z| Complex::new(z.re as f32, z.im as f32)).collect::<Vec<_>>()),
    }
}

pub(super) fn reals(shape: &[usize], values: &[f64]) -> RawArray {
    let numbers: Vec<f64> = values.iter().map(|&x| if x.is_nan() { f64::NAN } else { x }).collect();
    RawArray::f64(shape, &numbers)
}

/// The name of a field's objects in file names.
pub(super) fn name_of(object: Object) -> String {
    match object {
        Object::Spinors(1) => "spinor".to_owned(),
        Object::Spinors(count) => format!("spinors{count}"),
        Object::ColourVectors(1) => "colour_vector".to_owned(),
        Object::ColourVectors(count) => format!("colour_vectors{count}"),
        Object::Words(words) => format!("words{words}"),
        other => other.name().replace(' ', "_"),
    }
}
