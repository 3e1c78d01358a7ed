//! Two files compared: whether they hold the same numbers, and where they differ first.

use lanefield::io::npy::{Element, RawArray};
use lanefield::reference::real::Real;
use serde::Serialize;

/// How two arrays differ.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Difference {
    /// Numbers that differ.
    pub differ: usize,
    /// Numbers in all: of a complex array two for each element.
    pub of: usize,
    /// Index of the first element that differs, in the order of the axes.
    pub index: Vec<usize>,
    /// `re` or `im`, of complex arrays.
    pub component: Option<&'static str>,
    /// The number that should be there.
    pub expected: String,
    /// Its bits.
    pub expected_bits: String,
    /// The number that is there.
    pub found: String,
    /// Its bits.
    pub found_bits: String,
    /// How many floating-point numbers lie between them; none of whole numbers, or where one is NaN.
    pub ulp: Option<u64>,
}

impl Difference {
    /// In a line.
    pub fn describe(&self) -> String {
        let Self { differ, of, index, component, expected, expected_bits, found, found_bits, ulp } = self;
        let component = component.map_or_else(String::new, |name| format!(".{name}"));
        let ulp = ulp.map_or_else(String::new, |ulp| format!(", {ulp} ulp"));
        let index: Vec<String> = index.iter().map(usize::to_string).collect();
        let index = index.join(", ");
        format!(
            "{differ} of {of} numbers differ, first ({index}){component}: {found} (bits {found_bits}) instead of {expected} (bits {expected_bits}){ulp}"
        )
    }
}

/// What is there in place of the array that should be, if it is not the same: NaN equals NaN, all else is compared by bits, or as near as so many ulp.
pub(super) fn compare(expected: &RawArray, found: &RawArray, ulps: u64) -> Result<Option<Difference>, String> {
    if (expected.element, &expected.shape) != (found.element, &found.shape) {
        return Err(format!("it is {} instead of {}", found.describe(), expected.describe()));
    }
    let is_complex = matches!(expected.element, Element::ComplexF32 | Element::ComplexF64);
    Ok(match expected.element {
        Element::ComplexF32 | Element::F32 => {
            let [expected, found] = [expected, found].map(|array| array.to_f32().unwrap_or_default());
            reals(&expected, &found, ulps)
        }
        Element::ComplexF64 | Element::F64 => {
            let [expected, found] = [expected, found].map(|array| array.to_f64().unwrap_or_default());
            reals(&expected, &found, ulps)
        }
        Element::I16 => whole::<2>(expected, found),
        Element::I64 => whole::<8>(expected, found),
    }
    .map(|(place, mut difference)| {
        let mut element = if is_complex { place / 2 } else { place };
        difference.component = is_complex.then(|| ["re", "im"][place % 2]);
        difference.index = vec![0; expected.shape.len()];
        for (index, &extent) in difference.index.iter_mut().zip(&expected.shape).rev() {
            (*index, element) = (element % extent, element / extent);
        }
        difference
    }))
}

/// The first of some pairs that differ, and how many do.
fn first<T: Copy>(
    pairs: impl Iterator<Item = (T, T)>,
    differs: impl Fn(T, T) -> bool,
    say: impl Fn(T) -> (String, String),
    ulp: impl Fn(T, T) -> Option<u64>,
) -> Option<(usize, Difference)> {
    let (mut differ, mut of, mut found) = (0, 0, None);
    for (place, (expected, there)) in pairs.enumerate() {
        of += 1;
        if differs(expected, there) {
            differ += 1;
            found = found.or(Some((place, expected, there)));
        }
    }
    let (place, expected, there) = found?;
    let ((expected_text, expected_bits), (found_text, found_bits)) = (say(expected), say(there));
    let difference = Difference {
        differ,
        of,
        index: Vec::new(),
        component: None,
        expected: expected_text,
        expected_bits,
        found: found_text,
        found_bits,
        ulp: ulp(expected, there),
    };
    Some((place, difference))
}

fn reals<R: Real>(expected: &[R], found: &[R], ulps: u64) -> Option<(usize, Difference)> {
    let is_nan = |x: R| x.to_f64().is_nan();
    let ulp = |a: R, b: R| (!is_nan(a) && !is_nan(b)).then(|| a.ulp_distance(b));
    first(
        expected.iter().copied().zip(found.iter().copied()),
        |a, b| !a.same_bits(b) && (ulps == 0 || ulp(a, b).is_none_or(|ulp| ulp > ulps)),
        |x| (format!("{x:e}"), format!("{:0digits$x}", x.bits(), digits = R::HEX_DIGITS)),
        ulp,
    )
}

fn whole<const BYTES: usize>(expected: &RawArray, found: &RawArray) -> Option<(usize, Difference)> {
    fn numbers<const BYTES: usize>(array: &RawArray) -> impl Iterator<Item = i64> + '_ {
        array.bytes.chunks_exact(BYTES).map(|bytes| {
            // Of less than eight bytes the sign fills the rest.
            let fill = if bytes[BYTES - 1] & 0x80 == 0 { 0 } else { 0xff };
            i64::from_le_bytes(std::array::from_fn(|k| bytes.get(k).copied().unwrap_or(fill)))
        })
    }
    first(
        numbers::<BYTES>(expected).zip(numbers::<BYTES>(found)),
        |a, b| a != b,
        |x| (x.to_string(), format!("{x:016x}")),
        |_, _| None,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_that_differs_is_named_with_its_index() {
        let expected = RawArray::f64(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, f64::NAN]);
        let found = RawArray::f64(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4f64.next_up(), -f64::NAN]);
        let difference = compare(&expected, &found, 0).unwrap().unwrap();
        assert_eq!((difference.differ, difference.of, &difference.index[..]), (1, 6, &[1, 1][..]));
        assert_eq!((difference.ulp, &difference.expected_bits[..]), (Some(1), "4010000000000000"));
        assert_eq!(compare(&expected, &found, 1), Ok(None));
    }

    #[test]
    fn the_sign_of_a_zero_differs() {
        let [plus, minus] = [0.0, -0.0].map(|zero| RawArray::f32(&[1], &[zero]));
        assert!(compare(&plus, &minus, 0).unwrap().is_some());
        assert!(compare(&plus, &plus, 0).unwrap().is_none());
    }

    #[test]
    fn whole_numbers_are_compared_with_their_signs() {
        let [a, b] = [-2, 3].map(|x| RawArray::i16(&[1], &[x]));
        let difference = compare(&a, &b, 9).unwrap().unwrap();
        assert_eq!((&difference.expected[..], &difference.found[..]), ("-2", "3"));
        let error = compare(&a, &RawArray::i64(&[1], &[-2]), 0).unwrap_err();
        assert_eq!(error, "it is <i8 (1,) instead of <i2 (1,)");
    }
}
