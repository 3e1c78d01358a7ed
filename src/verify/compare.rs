//! Bit-for-bit comparison of two fields, two numbers or two residual histories. Any NaN equals any other NaN; all else is compared as integers, so
//! +0 and −0 differ. A difference is reported in the terms of a physicist: site, spin, colour, both values and their bits.

use std::fmt;

use lanefield_reference::field::{FieldData, FieldError, Object};
use lanefield_reference::layout::{Coordinate, Place};
use lanefield_reference::real::Real;
use num_complex::Complex;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::backend::HostField;
use crate::in_precision;

/// Two real numbers with different bits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Difference {
    /// The value under test, as the shortest decimal that reads back as the same bits.
    pub found: String,
    /// The bits of the value under test: 16 hexadecimal digits; those of f32 are padded with zeros.
    pub found_bits: String,
    /// The value of the reference.
    pub expected: String,
    /// The bits of the value of the reference, likewise.
    pub expected_bits: String,
    /// The distance in units in the last place; `None` if one of them is NaN.
    pub ulp: Option<u64>,
}

impl Difference {
    /// The difference of two numbers, or `None` if they are the same bits, or both NaN.
    pub fn between<R: Real>(found: R, expected: R) -> Option<Self> {
        let bits = |x: R| format!("{:016x}", x.bits());
        (!found.same_bits(expected)).then(|| Self {
            found: format!("{found:e}"),
            found_bits: bits(found),
            expected: format!("{expected:e}"),
            expected_bits: bits(expected),
            ulp: (!found.is_nan() && !expected.is_nan()).then(|| found.ulp_distance(expected)),
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, found_bits, expected, expected_bits, .. } = self;
        write!(f, "{found} ({found_bits}) instead of {expected} ({expected_bits}), ")?;
        match self.ulp {
            Some(ulp) => write!(f, "{ulp} ulp apart"),
            None => f.write_str("one of them is NaN"),
        }
    }
}

/// Which part of a complex number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComplexPart {
    /// The real part.
    Re,
    /// The imaginary part.
    Im,
}

/// The first number, in site order, in which two fields differ, and how many differ.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FieldMismatch {
    /// Coordinates of the site, `[x, y, z, t]`.
    pub coordinate: Coordinate,
    /// Outer site in the field under test.
    pub osite: usize,
    /// Lane in the field under test.
    pub lane: usize,
    /// Complex word of the site object.
    pub word: usize,
    /// Spin, if it is a spinor field.
    pub spin: Option<usize>,
    /// Colour, if it is a spinor field.
    pub colour: Option<usize>,
    /// Real or imaginary part.
    pub part: ComplexPart,
    /// The two values.
    pub difference: Difference,
    /// Number of real components that differ, out of [`Self::components`].
    pub differing: u64,
    /// Real components compared.
    pub components: u64,
}

impl FieldMismatch {
    /// A remark if the field still has all bits set where it differs, as it had before the kernel ran ([`crate::kernel::Case::spoil_outputs`]).
    pub(crate) fn unwritten(&self) -> &'static str {
        match self.difference.found_bits.trim_start_matches('0') {
            "ffff" | "ffffffff" | "ffffffffffffffff" => "; the kernel did not write it",
            _ => "",
        }
    }
}

impl fmt::Display for FieldMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { coordinate: [x, y, z, t], osite, lane, word, differing, components, difference, .. } = self;
        write!(f, "{differing} of {components} real components differ, first at site x,y,z,t = {x},{y},{z},{t} ")?;
        write!(f, "(osite {osite}, lane {lane}), ")?;
        match (self.spin, self.colour) {
            (Some(spin), Some(colour)) => write!(f, "spin {spin}, colour {colour}, ")?,
            _ => write!(f, "word {word}, ")?,
        }
        let part = match self.part {
            ComplexPart::Re => "real",
            ComplexPart::Im => "imaginary",
        };
        write!(f, "{part} part: {difference}")
    }
}

/// A difference in bits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Mismatch {
    Field {
        name: String,
        mismatch: Box<FieldMismatch>,
    },
    /// A scalar: a norm, or a part of an inner product.
    Scalar {
        what: String,
        difference: Difference,
    },
    /// A residual history.
    History {
        iteration: usize,
        difference: Difference,
    },
    /// Residual histories of different lengths, which agree as far as both go.
    Iterations {
        found: usize,
        expected: usize,
    },
    /// One of the two solves has no solution.
    Outcome {
        found: String,
        expected: String,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field { name, mismatch } => write!(f, "{name}: {mismatch}{}", mismatch.unwritten()),
            Self::Scalar { what, difference } => write!(f, "{what}: {difference}"),
            Self::History { iteration, difference } => write!(f, "|r|² of iteration {iteration}: {difference}"),
            Self::Iterations { found, expected } => {
                write!(f, "{found} iterations instead of {expected}, equal as far as both go")
            }
            Self::Outcome { found, expected } => write!(f, "the solve ended with '{found}' instead of '{expected}'"),
        }
    }
}

/// Number of reals that are compared at a time: first as bytes, at the speed of memory, then as numbers if these differ.
const CHUNK: usize = 1 << 14;

/// Compares two fields on the same sites of the same extents bit for bit; their lane layouts may differ. Runs on the current rayon pool.
///
/// # Errors
/// [`FieldError::Mismatch`] if the fields differ in sites, extents or object.
pub fn compare_fields<R: Real>(
    found: &FieldData<R>,
    expected: &FieldData<R>,
) -> Result<Option<FieldMismatch>, FieldError> {
    let place = |field: &FieldData<R>| (field.lattice().extents(), field.sites(), field.object());
    if place(found) != place(expected) {
        return Err(FieldError::Mismatch {
            what: "comparing fields",
            left: found.describe(),
            right: expected.describe(),
        });
    }
    if found.lattice() == expected.lattice() {
        let chunks = found.reals().par_chunks(CHUNK).zip(expected.reals().par_chunks(CHUNK));
        if chunks.into_par_iter().all(|(found, expected)| same_numbers(found, expected)) {
            return Ok(None);
        }
    }
    Ok(search(found, expected))
}

/// The same for fields whose precision is known at run time. Returns the mismatch, if there is one, and the number of real components compared.
pub fn compare_host_fields(
    found: &HostField,
    expected: &HostField,
) -> Result<(Option<FieldMismatch>, u64), FieldError> {
    let mismatch = || FieldError::Mismatch {
        what: "comparing fields",
        left: found.shape().describe(),
        right: expected.shape().describe(),
    };
    in_precision!(expected.shape().precision, R => {
        let (Some(found), Some(expected)) = (found.get::<R>(), expected.get::<R>()) else { return Err(mismatch()) };
        Ok((compare_fields(found, expected)?, expected.reals().len() as u64))
    })
}

fn same_numbers<R: Real>(found: &[R], expected: &[R]) -> bool {
    bytemuck::cast_slice::<R, u8>(found) == bytemuck::cast_slice::<R, u8>(expected)
        || found.iter().zip(expected).all(|(found, expected)| found.same_bits(*expected))
}

/// Compares site by site, in site order.
fn search<R: Real>(found: &FieldData<R>, expected: &FieldData<R>) -> Option<FieldMismatch> {
    let (extents, sites, words) = (found.lattice().extents(), found.sites(), found.object().words());
    let spinor = found.object() == Object::Spinors(1);
    let value = |field: &FieldData<R>, place: Place, word: usize| -> Complex<R> {
        let nsimd = field.lattice().nsimd();
        field.words()[(place.osite * words + word) * nsimd + place.lane]
    };
    let components = |coordinate: Coordinate| {
        let [here, there] = [found, expected].map(|field| field.lattice().place(sites, coordinate));
        (0..words).flat_map(move |word| {
            let (a, b) = (value(found, here, word), value(expected, there, word));
            [(word, ComplexPart::Re, a.re, b.re), (word, ComplexPart::Im, a.im, b.im)]
        })
    };
    let differing_at = |site: usize| {
        let coordinate = extents.coordinate(site);
        match sites.contain(coordinate) {
            true => components(coordinate).filter(|(_, _, a, b)| !a.same_bits(*b)).count() as u64,
            false => 0,
        }
    };
    let (differing, first) = (0..extents.volume())
        .into_par_iter()
        .map(|site| (differing_at(site), site))
        .filter(|(differing, _)| *differing > 0)
        .reduce(|| (0, usize::MAX), |a, b| (a.0 + b.0, a.1.min(b.1)));
    if differing == 0 {
        return None;
    }
    let coordinate = extents.coordinate(first);
    let Place { osite, lane } = found.lattice().place(sites, coordinate);
    components(coordinate).find_map(|(word, part, a, b)| {
        Some(FieldMismatch {
            coordinate,
            osite,
            lane,
            word,
            spin: spinor.then_some(word / 3),
            colour: spinor.then_some(word % 3),
            part,
            difference: Difference::between(a, b)?,
            differing,
            components: found.reals().len() as u64,
        })
    })
}

/// Compares two residual histories bit for bit.
pub fn compare_histories(found: &[f64], expected: &[f64]) -> Option<Mismatch> {
    let differing = found.iter().zip(expected).enumerate().find_map(|(iteration, (&found, &expected))| {
        Difference::between(found, expected).map(|difference| Mismatch::History { iteration, difference })
    });
    differing.or_else(|| {
        let [found, expected] = [found, expected].map(|history| history.len().saturating_sub(1));
        (found != expected).then_some(Mismatch::Iterations { found, expected })
    })
}
