//! Numbers for people: values with errors in brackets, digits that say something, and the bits of doubles if `--bits` asks for them.

use std::sync::atomic::{AtomicBool, Ordering};

use lanefield::reference::real::for_people;
use lanefield_figure::{exponent_of, in_brackets};

/// Significant digits of a number of which neither an error nor a unit says how many matter.
const DIGITS: i32 = 6;
/// Those of a number that one compares with that of another program.
const COMPARED: i32 = 10;

/// Whether doubles are printed with their bits.
static BITS: AtomicBool = AtomicBool::new(false);

/// From now on prints doubles with all digits and their bits.
pub fn show_bits(bits: bool) {
    BITS.store(bits, Ordering::Relaxed);
}

/// Whether `--bits` is given.
pub fn shows_bits() -> bool {
    BITS.load(Ordering::Relaxed)
}

/// A number with its error in units of the last digits: `0.58227(15)`, `12.3(1.5)`, `1.23(4)e-7`. Without an error, as [`plain`].
pub fn with_error(value: f64, error: Option<f64>) -> String {
    match error {
        Some(0.0) => format!("{}(0)", plain(value)),
        error => error.and_then(|error| in_brackets(value, error)).unwrap_or_else(|| plain(value)),
    }
}

/// A number with six significant digits: `0.587266`, `6045.57`, `1.4e-10`, `0`.
pub fn plain(value: f64) -> String {
    digits(value, DIGITS)
}

/// A double that is compared: ten significant digits, or all with the bits if `--bits` is given: `1.25 (3ff4000000000000)`.
pub fn with_bits(value: f64) -> String {
    match shows_bits() {
        true => format!("{} ({})", for_people(value), bits(value)),
        false => digits(value, COMPARED),
    }
}

fn digits(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let (exponent, shortest) = (exponent_of(value.abs()), value.to_string());
    match (-4..digits).contains(&exponent) {
        true if shortest.len() <= usize::try_from(digits).unwrap_or(0) => shortest,
        true => format!("{value:.decimals$}", decimals = usize::try_from(digits - 1 - exponent).unwrap_or(0)),
        // No zeros at the end: 1.4e-10, and not 1.40000e-10.
        false => {
            let text = format!("{value:.decimals$e}", decimals = usize::try_from(digits - 1).unwrap_or(0));
            let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
            let mantissa =
                if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
            format!("{mantissa}e{power}")
        }
    }
}

/// A number with this number of decimals, or a dash.
pub fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"))
}

/// A small number with this number of decimals after its first digit: `1.35e-10`, 0.
pub fn small(value: f64, decimals: usize) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:.decimals$e}") }
}

/// The 16 hex digits of a double. All NaNs are one, since any equals any.
pub fn bits(value: f64) -> String {
    let value = if value.is_nan() { f64::NAN } else { value };
    format!("{:016x}", value.to_bits())
}

/// Bytes for people: `512 KiB`, `139.7 GiB`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(value.fract() != 0.0);
    format!("{value:.decimals$} {}", UNITS[unit])
}

/// A number of things: "1 configuration", "2 configurations", "2 passes".
pub fn count(number: impl ToString, thing: &str) -> String {
    let (number, plural) = (number.to_string(), if thing.ends_with(['s', 'h']) { "es" } else { "s" });
    format!("{number} {thing}{}", if number == "1" { "" } else { plural })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_in_brackets_with_two_digits() {
        for (value, error, text) in [
            (0.582268, 0.00153, "0.5823(15)"),
            (0.5822679, 0.00015, "0.58227(15)"),
            (12.345, 1.5, "12.3(1.5)"),
            (1234.5, 67.0, "1234(67)"),
            (1234.5, 670.0, "1234(670)"),
            (0.0, 0.001, "0.0000(10)"),
            (-0.5, 0.0996, "-0.50(10)"),
            (1.234e-7, 4.2e-9, "1.234(42)e-7"),
            (0.5, 0.0, "0.5(0)"),
        ] {
            assert_eq!(with_error(value, Some(error)), text);
        }
        assert_eq!(with_error(0.5, None), "0.5");
        assert_eq!(with_error(0.5, Some(f64::NAN)), "0.5");
    }

    #[test]
    fn numbers_have_the_digits_that_say_something() {
        for (value, text) in [
            (6045.57, "6045.57"),
            (0.961_952_51, "0.961953"),
            (0.00193232, "0.00193232"),
            (1.4e-10, "1.4e-10"),
            (0.0, "0"),
            (1.0, "1"),
            (123_456_789.0, "1.23457e8"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(plain(value), text);
        }
        assert_eq!(with_bits(0.470_802_452_972_313_6), "0.4708024530");
    }

    #[test]
    fn bytes_have_one_decimal_where_it_says_something() {
        assert_eq!(bytes(512 << 10), "512 KiB");
        assert_eq!(bytes(150_000_000_000), "139.7 GiB");
        assert_eq!(bytes(0), "0 bytes");
    }

    #[test]
    fn one_thing_is_singular() {
        assert_eq!([count(1, "configuration"), count(0, "row")], ["1 configuration", "0 rows"]);
    }
}
