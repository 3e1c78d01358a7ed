//! Ticks of axes, and their numbers.

/// Where an axis has ticks: those with a number, and shorter ones between them.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Ticks {
    pub major: Vec<(f64, String)>,
    pub minor: Vec<f64>,
}

/// "10⁻³", or "1" and "10".
pub fn power_of_ten(exponent: i32) -> String {
    match exponent {
        0 => "1".to_owned(),
        1 => "10".to_owned(),
        _ => format!("10{}", raised(exponent)),
    }
}

fn raised(number: i32) -> String {
    let raise = |character: char| match character {
        '-' => '⁻',
        digit => "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit.to_digit(10).unwrap_or(0) as usize).unwrap_or('⁰'),
    };
    number.to_string().chars().map(raise).collect()
}

/// A number for people with at most this many digits after its first one: "0.25", "1.4·10⁻¹⁰".
pub fn short(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return "not finite".to_owned();
    }
    let text = format!("{value:.digits$e}");
    let (number, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |number: &str| match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => number.to_owned(),
    };
    let text = match exponent {
        -3..6 => trimmed(&format!("{value:.*}", (digits as i32 - exponent).max(0) as usize)),
        _ => match trimmed(number).as_str() {
            "1" => power_of_ten(exponent),
            "-1" => format!("-{}", power_of_ten(exponent)),
            number => format!("{number}·10{}", raised(exponent)),
        },
    };
    text.replace('-', "−")
}

/// A number with its error as text for figures, "0.58227(15)" or "1.234(21)·10⁻⁹"; without a positive error, the number alone.
pub fn with_error(value: f64, error: Option<f64>) -> String {
    let Some(text) = error.and_then(|error| in_brackets(value, error)) else { return short(value, 4) };
    let text = match text.split_once('e') {
        Some((number, exponent)) => format!("{number}·10{}", raised(exponent.parse().unwrap_or(0))),
        None => text,
    };
    text.replace('-', "−")
}

/// A number with two digits of its error in brackets, in units of the last digits: `0.58227(15)`, `12.3(1.5)`, `1.234(42)e-7`. `None` if the error is not
/// positive or a number is not finite.
pub fn in_brackets(value: f64, error: f64) -> Option<String> {
    if !(error > 0.0 && error.is_finite() && value.is_finite()) {
        return None;
    }
    let scale = value.abs().max(error);
    if !(1e-4..1e6).contains(&scale) {
        let exponent = exponent_of(scale);
        let power = 10f64.powi(exponent);
        return Some(format!("{}e{exponent}", in_brackets(value / power, error / power)?));
    }
    // Rounding may make a third digit.
    let rounded: f64 = format!("{error:.1e}").parse().unwrap_or(error);
    let decimals = usize::try_from(1 - exponent_of(rounded)).unwrap_or(0);
    let in_units = match rounded < 1.0 {
        true => format!("{:.0}", rounded * 10f64.powi(decimals as i32)),
        false => format!("{rounded:.decimals$}"),
    };
    Some(format!("{value:.decimals$}({in_units})"))
}

/// The power of ten of the first digit.
pub fn exponent_of(value: f64) -> i32 {
    format!("{value:e}").split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0)
}

/// Ticks of a linear axis, about `wanted` of them with numbers; `whole`: at whole numbers only.
pub(crate) fn linear((low, high): (f64, f64), wanted: f64, whole: bool) -> Ticks {
    let span = high - low;
    if !(span > 0.0 && span.is_finite()) {
        return Ticks::default();
    }
    let rough = span / wanted;
    let power = 10f64.powf(rough.log10().floor());
    const STEPS: [(f64, f64); 6] = [(0.2, 4.0), (0.5, 5.0), (1.0, 5.0), (2.0, 4.0), (5.0, 5.0), (10.0, 5.0)];
    let count = |factor: f64| {
        let step = factor * power;
        (high / step + 1e-9).floor() - (low / step - 1e-9).ceil() + 1.0
    };
    let fits = STEPS.iter().position(|(factor, _)| factor * power >= 0.75 * rough).unwrap_or(STEPS.len() - 1);
    // Of a short axis, no fewer than three numbers.
    let fits = (0..=fits).rev().find(|k| count(STEPS[*k].0) >= 3.0).unwrap_or(fits);
    let (factor, parts) = STEPS[fits];
    let step = if whole { (factor * power).max(1.0).round() } else { factor * power };
    let decimals = (-step.log10() - 1e-9).ceil().max(0.0) as usize;
    // Numbers with many zeros are powers of ten times fewer digits.
    let large = low.abs().max(high.abs());
    let label = |value: f64| match (1e-4..1e6).contains(&large) {
        true => {
            let text = format!("{value:.decimals$}").replace('-', "−");
            if text.trim_matches(['−', '0', '.']).is_empty() { "0".to_owned() } else { text }
        }
        false => short(value, 3),
    };
    let multiples = |step: f64| {
        let (first, last) = ((low / step - 1e-9).ceil(), (high / step + 1e-9).floor());
        (0..=(last - first).clamp(-1.0, 10_000.0) as i64).map(move |k| (first + k as f64) * step)
    };
    let major: Vec<f64> = multiples(step).collect();
    let between = if whole { (step / parts).max(1.0) } else { step / parts };
    let is_minor = |value: &f64| major.iter().all(|major| (major - value).abs() > 0.1 * between);
    let minor = if between < step { multiples(between).filter(is_minor).collect() } else { Vec::new() };
    Ticks { major: major.iter().map(|&value| (value, label(value))).collect(), minor }
}

/// Ticks of a logarithmic axis, at most about `wanted` with numbers.
pub(crate) fn logarithmic((low, high): (f64, f64), wanted: f64) -> Ticks {
    if !(low > 0.0 && high > low && high.is_finite()) {
        return Ticks::default();
    }
    let (first, last) = ((low.log10() - 1e-9).ceil() as i32, (high.log10() + 1e-9).floor() as i32);
    let inside = |value: &f64| (low * 0.999_999..=high * 1.000_001).contains(value);
    let multiples = |factors: &'static [f64]| {
        (first - 1..=last).flat_map(move |k| factors.iter().map(move |factor| factor * 10f64.powi(k))).filter(inside)
    };
    let decades = last - first + 1;
    // Of few decades, other numbers, too.
    if decades < 2 {
        if high / low < 3.0 {
            return linear((low, high), wanted, false);
        }
        let label = |value: f64| (value, short(value, 3));
        return Ticks {
            major: multiples(&[1.0, 2.0, 5.0]).map(label).collect(),
            minor: multiples(&[3.0, 4.0, 6.0, 7.0, 8.0, 9.0]).collect(),
        };
    }
    let every = (f64::from(decades) / wanted).ceil().max(1.0) as i32;
    let is_major = |k: &i32| k.rem_euclid(every) == 0;
    // From 0.1 to 10 000, plain numbers are shorter.
    let plain = first >= -1 && last <= 4;
    let label = |k: i32| if plain { short(10f64.powi(k), 1) } else { power_of_ten(k) };
    let minor = match every {
        1 => multiples(&[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]).collect(),
        _ => (first..=last).filter(|k| !is_major(k)).map(|k| 10f64.powi(k)).collect(),
    };
    Ticks { major: (first..=last).filter(is_major).map(|k| (10f64.powi(k), label(k))).collect(), minor }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &Ticks) -> Vec<&str> {
        ticks.major.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn linear_ticks_are_round_numbers_with_as_many_decimals_as_they_need() {
        assert_eq!(labels(&linear((0.0, 1.0), 5.0, false)), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(&linear((-0.02, 0.031), 5.0, false)), ["−0.02", "−0.01", "0", "0.01", "0.02", "0.03"]);
        assert_eq!(labels(&linear((-0.5, 7.5), 20.0, true)), ["0", "1", "2", "3", "4", "5", "6", "7"]);
        assert_eq!(labels(&linear((0.549, 0.5499), 4.0, false)), ["0.5490", "0.5492", "0.5494", "0.5496", "0.5498"]);
        let ticks = linear((0.0, 10.0), 5.0, false);
        assert_eq!(ticks.minor.len(), 15);
        assert_eq!(labels(&linear((-0.45, 0.47), 3.0, false)), ["−0.4", "−0.2", "0", "0.2", "0.4"]);
        assert_eq!(linear((1.0, 1.0), 5.0, false), Ticks::default());
        assert_eq!(linear((f64::NAN, 1.0), 5.0, false), Ticks::default());
    }

    #[test]
    fn logarithmic_ticks_are_powers_of_ten() {
        assert_eq!(labels(&logarithmic((5e-5, 2.0), 8.0)), ["10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "1"]);
        assert_eq!(
            labels(&logarithmic((1e-21, 3.0), 8.0)),
            ["10⁻²¹", "10⁻¹⁸", "10⁻¹⁵", "10⁻¹²", "10⁻⁹", "10⁻⁶", "10⁻³", "1"]
        );
        assert_eq!(labels(&logarithmic((0.3, 2000.0), 8.0)), ["1", "10", "100", "1000"]);
        assert_eq!(labels(&logarithmic((0.15, 4.0), 8.0)), ["0.2", "0.5", "1", "2"]);
        assert!(logarithmic((0.5, 200.0), 8.0).minor.contains(&20.0));
        assert_eq!(logarithmic((0.0, 1.0), 8.0), Ticks::default());
    }

    #[test]
    fn errors_are_in_units_of_the_last_digits() {
        let shown = |value, error| with_error(value, Some(error));
        assert_eq!(shown(0.582271, 0.00015), "0.58227(15)");
        assert_eq!(shown(-0.5823, 0.003), "−0.5823(30)");
        assert_eq!(shown(2.9, 0.0951), "2.900(95)");
        assert_eq!(shown(3.1678, 1.23), "3.2(1.2)");
        assert_eq!(shown(119.6, 31.0), "120(31)");
        assert_eq!(shown(1.2345e-9, 2.1e-11), "1.234(21)·10⁻⁹");
        assert_eq!(with_error(0.25, None), "0.25");
        assert_eq!(shown(0.25, 0.0), "0.25");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(0.25, 3), "0.25");
        assert_eq!(short(1.4e-10, 3), "1.4·10⁻¹⁰");
        assert_eq!(short(1e-10, 3), "10⁻¹⁰");
        assert_eq!(short(-1250.0, 3), "−1250");
        assert_eq!(short(0.0, 3), "0");
        assert_eq!(power_of_ten(-3), "10⁻³");
    }
}
