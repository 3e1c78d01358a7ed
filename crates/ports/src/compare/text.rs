//! The report of a comparison: the verdict, the first difference, the largest ones, where they are, and possible causes.

use std::fmt;

use lanefield::reference::real::for_people;

use super::axes::Axes;
use super::cause::Confidence;
use super::comparison::{AxisIndex, Comparison, Difference, Side};
use super::histogram::Histogram;
use super::numbers::Kind;
use super::wording::{counted, grouped, percent};
use crate::Content;

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Sixteen digits for f64; eight for f32, which follow eight zeros.
        let digits = |bits: &str, other: &str| match bits.starts_with("00000000") && other.starts_with("00000000") {
            true => bits[8..].to_owned(),
            false => bits.to_owned(),
        };
        let (a, b) = (digits(&self.a_bits, &self.b_bits), digits(&self.b_bits, &self.a_bits));
        let number = |x: f64| if self.is_whole { x.to_string() } else { for_people(x) };
        write!(f, "{}: A {} ({a}), B {} ({b}), ", self.place(), number(self.a), number(self.b))?;
        match self.ulp {
            Some(ulp) => write!(f, "{} ulp apart", grouped(ulp)),
            None if self.a.is_nan() || self.b.is_nan() => f.write_str("one of them is NaN"),
            None => write!(f, "{} apart", grouped(self.absolute as u64)),
        }
    }
}

impl Difference {
    /// "site x,y,z,t = 0,0,0,3, spin 2, colour 1, re"
    fn place(&self) -> String {
        let site = self.site.map(|[x, y, z, t]| format!("site x,y,z,t = {x},{y},{z},{t}"));
        let at = self.at.iter().map(|AxisIndex { axis, index }| match *axis {
            "part" => Axes::label(axis, *index),
            axis => format!("{axis} {}", Axes::label(axis, *index)),
        });
        let part = self.part.map(str::to_owned);
        site.into_iter().chain(at).chain(part).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.verdict(f)?;
        if let Some(side) = self.rounded {
            write!(f, "\n  {side:?} is f64 and was rounded to f32 before")?;
        }
        for note in &self.notes {
            write!(f, "\n  note: {note}")?;
        }
        if self.is_same() {
            return self.hop.iter().try_for_each(|hop| write!(f, "\n  {hop}"));
        }
        if let Some(first) = &self.first {
            write!(f, "\n\nfirst    {first}")?;
        }
        self.largest(f)?;
        for histogram in self.histograms.iter().filter(|histogram| self.is_worth_showing(histogram)) {
            write!(f, "\n{}", line(histogram))?;
        }
        f.write_str("\n")?;
        if let Some(hop) = &self.hop {
            write!(f, "\nhop      {hop}")?;
        }
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
            f.write_str("\nno pattern found that would show the cause")?;
            if self.hop.is_none() && self.holds == Content::Spinor && self.precision != Kind::Whole.name() {
                f.write_str(": --config and --source let more be tried if B is a hop of Wilson fermions, and with --operator if A and B are solutions")?;
            }
        }
        Ok(())
    }
}

/// With fewer numbers or sites that differ there are no histograms: the differences themselves say more.
const FEW: u64 = 8;
const FEW_SITES: u64 = 4;

impl Comparison {
    fn is_worth_showing(&self, histogram: &Histogram) -> bool {
        let of_sites = matches!(histogram.by, "parity" | "x" | "y" | "z" | "t" | "boundary");
        let enough = self.differing >= FEW && (!of_sites || self.differing_sites >= FEW_SITES);
        enough && says_something(histogram)
    }

    fn verdict(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = counted(self.numbers, "real number");
        let lattice = self.lattice.map_or_else(String::new, |[x, y, z, t]| format!(" on {x}.{y}.{z}.{t}"));
        let ls = self.ls.map_or_else(String::new, |ls| format!(", Ls {ls}"));
        let what = format!("{}{lattice}{ls}, {}", self.object, self.precision);
        match (self.differing, self.accepted) {
            (0, 0) => write!(f, "same bits: {numbers} ({what})"),
            (0, accepted) => {
                write!(f, "within {} ulp: {} of {numbers} differ, none by more ({what})", self.ulps, grouped(accepted))
            }
            (differing, _) => {
                write!(f, "DIFFERENT: {} of {numbers}", grouped(differing))?;
                if self.lattice.is_some() {
                    write!(f, ", at {} of {}", grouped(self.differing_sites), counted(self.sites, "site"))?;
                }
                write!(f, " ({what})")?;
                if self.ulps > 0 {
                    write!(f, "\n  more than {} ulp apart; {} more differ by less", self.ulps, grouped(self.accepted))?;
                }
                Ok(())
            }
        }
    }

    fn largest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(ulp), Some(absolute), Some(relative)) =
            (&self.largest_ulp, &self.largest_absolute, &self.largest_relative)
        else {
            return Ok(());
        };
        let is_whole = self.precision == Kind::Whole.name();
        let mut found = match ulp.ulp {
            Some(distance) => vec![(format!("{} ulp", grouped(distance)), ulp.place())],
            None if is_whole => Vec::new(),
            None => vec![("NaN".to_owned(), ulp.place())],
        };
        found.push((format!("|A-B| {:.2e}", absolute.absolute), absolute.place()));
        found.push((format!("relative {:.2e}", relative.relative), relative.place()));
        // Combines those at the same place.
        let lines = found.chunk_by(|(_, place), (_, next)| place == next).map(|of_place| {
            let sizes: Vec<&str> = of_place.iter().map(|(size, _)| size.as_str()).collect();
            format!("{} at {}", sizes.join(", "), of_place[0].1)
        });
        let norm = format!("|A-B| / |A| {:.2e} of all numbers as vectors", self.relative_norm);
        let lines: Vec<String> = lines.chain([norm]).collect();
        write!(f, "\nlargest  {}", lines.join("\n         "))
    }
}

/// Whether a histogram shows where differences are: not if they are everywhere alike.
fn says_something(histogram: &Histogram) -> bool {
    match histogram.by {
        "ulp" => true,
        // Touching a boundary is significant only if no other site differs.
        "boundary" => histogram.bins.iter().any(|bin| bin.differing == 0) && !histogram.is_flat(),
        _ => !histogram.is_flat(),
    }
}

/// "by spin   0: 12  1: 0"; if there are many places, those without differences are left out.
fn line(histogram: &Histogram) -> String {
    const MOST: usize = 10;
    let all = histogram.bins.len() <= MOST;
    let bins: Vec<_> = histogram.bins.iter().filter(|bin| all || bin.differing > 0).collect();
    let words = bins.iter().take(MOST).map(|bin| {
        let share = match (histogram.by, bin.differing) {
            ("ulp", _) | (_, 0) => String::new(),
            (_, differing) if differing == bin.of => " (all)".to_owned(),
            (_, differing) => format!(" ({})", percent(differing, bin.of)),
        };
        format!("{}: {}{share}", bin.at, grouped(bin.differing))
    });
    let rest = match bins.len() {
        more if more > MOST => Some(format!("and {} more", more - MOST)),
        shown if shown < histogram.bins.len() => Some("none elsewhere".to_owned()),
        _ => None,
    };
    format!("by {:5}  {}", histogram.by, words.chain(rest).collect::<Vec<_>>().join("  "))
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
