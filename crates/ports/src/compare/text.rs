//! What a comparison found, for people: the verdict, the first difference, the largest ones, where they lie, what may have caused them.

use std::fmt;

use super::numbers::Kind;
use super::{Axes, AxisIndex, Comparison, Confidence, Difference, Histogram, Side};

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.place(f)?;
        // Sixteen digits for f64, eight for f32, which stand behind eight zeros.
        let digits = |bits: &str, other: &str| match bits.starts_with("00000000") && other.starts_with("00000000") {
            true => bits[8..].to_owned(),
            false => bits.to_owned(),
        };
        let (a, b) = (digits(&self.a_bits, &self.b_bits), digits(&self.b_bits, &self.a_bits));
        write!(f, ": A {:e} ({a}), B {:e} ({b}), ", self.a, self.b)?;
        match self.ulp {
            Some(ulp) => write!(f, "{} ulp apart", grouped(ulp)),
            None if self.a.is_nan() || self.b.is_nan() => f.write_str("one of them no number"),
            None => write!(f, "{} apart", grouped(self.absolute as u64)),
        }
    }
}

impl Difference {
    /// "site x,y,z,t = 0,0,0,3, spin 2, colour 1, re"
    fn place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let site = self.site.map(|[x, y, z, t]| format!("site x,y,z,t = {x},{y},{z},{t}"));
        let at = self.at.iter().map(|AxisIndex { axis, index }| format!("{axis} {}", Axes::label(axis, *index)));
        let part = self.part.map(str::to_owned);
        let words: Vec<String> = site.into_iter().chain(at).chain(part).collect();
        f.write_str(&words.join(", "))
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = grouped(self.numbers);
        let lattice = self.lattice.map_or_else(String::new, |[x, y, z, t]| format!(" on {x}.{y}.{z}.{t}"));
        let ls = self.ls.map_or_else(String::new, |ls| format!(", Ls {ls}"));
        let what = format!("{}{lattice}{ls}, {}", self.object, self.precision);
        match (self.differing, self.accepted) {
            (0, 0) => write!(f, "same bits: {numbers} real numbers ({what})")?,
            (0, accepted) => write!(
                f,
                "within {} ulp: {} of {numbers} real numbers differ, none by more ({what})",
                self.ulps,
                grouped(accepted)
            )?,
            (differing, _) => {
                write!(f, "DIFFERENT: {} of {numbers} real numbers", grouped(differing))?;
                if self.lattice.is_some() {
                    write!(f, ", at {} of {} sites", grouped(self.differing_sites), grouped(self.sites))?;
                }
                write!(f, " ({what})")?;
                if self.ulps > 0 {
                    write!(f, "\n  more than {} ulp apart; {} more differ by less", self.ulps, grouped(self.accepted))?;
                }
            }
        }
        if let Some(side) = self.rounded {
            write!(f, "\n  {side:?} is f64 and was rounded to f32 before")?;
        }
        if self.is_same() {
            return Ok(());
        }
        if let Some(first) = &self.first {
            write!(f, "\n\nfirst    {first}")?;
        }
        self.largest(f)?;
        for histogram in self.histograms.iter().filter(|histogram| says_something(histogram)) {
            writeln!(f)?;
            show(histogram, f)?;
        }
        f.write_str("\n")?;
        for cause in &self.causes {
            let how = match cause.confidence {
                Confidence::Certain => "cause   ",
                Confidence::Likely => "likely  ",
                Confidence::Possible => "possible",
            };
            write!(f, "\n{how} {}", cause.sentence)?;
            write!(f, "\n         ({})", cause.evidence)?;
        }
        if self.causes.is_empty() {
            f.write_str("\nno pattern found that would tell the cause")?;
        }
        Ok(())
    }
}

impl Comparison {
    fn largest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(ulp), Some(absolute), Some(relative)) =
            (&self.largest_ulp, &self.largest_absolute, &self.largest_relative)
        else {
            return Ok(());
        };
        write!(f, "\nlargest  ")?;
        match ulp.ulp {
            Some(ulp) => write!(f, "{} ulp; ", grouped(ulp))?,
            None if self.precision == Kind::Whole.name() => {}
            None => f.write_str("NaN; ")?,
        }
        write!(
            f,
            "|A-B| {:.2e}; relative {:.2e} of a number, {:.2e} of the norm",
            absolute.absolute, relative.relative, self.relative_norm
        )
    }
}

/// Whether a histogram shows where differences lie: not if they lie everywhere alike.
fn says_something(histogram: &Histogram) -> bool {
    match histogram.by {
        "ulp" => true,
        // Touching a boundary means something only where nothing else differs.
        "boundary" => histogram.bins.iter().any(|bin| bin.differing == 0) && !histogram.is_flat(),
        _ => !histogram.is_flat(),
    }
}

/// One line: "by spin   0: 12  1: 0", with the places that have none left out where there are many.
fn show(histogram: &Histogram, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const MOST: usize = 10;
    write!(f, "by {:5} ", histogram.by)?;
    let all = histogram.bins.len() <= MOST;
    let bins: Vec<_> = histogram.bins.iter().filter(|bin| all || bin.differing > 0).collect();
    for bin in bins.iter().take(MOST) {
        let share = match (histogram.by, bin.differing) {
            ("ulp", _) | (_, 0) => String::new(),
            (_, differing) if differing == bin.of => " (all)".to_owned(),
            (_, differing) => format!(" ({})", percent(differing, bin.of)),
        };
        write!(f, " {}: {}{share} ", bin.at, grouped(bin.differing))?;
    }
    match bins.len() {
        more if more > MOST => write!(f, " and {} more", more - MOST),
        shown if shown < histogram.bins.len() => f.write_str(" none elsewhere"),
        _ => Ok(()),
    }
}

/// A share: "3%", "0.02%".
pub(super) fn percent(part: u64, whole: u64) -> String {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    match share {
        _ if part == whole => "100%".to_owned(),
        share if share >= 99.5 => format!("{share:.2}%"),
        share if share >= 1.0 => format!("{share:.0}%"),
        share => format!("{share:.1e}%"),
    }
}

/// Thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
