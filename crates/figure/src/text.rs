//! Text in runs of one size: digits and signs that Unicode has raised or lowered (10⁻³, t₀) become smaller ordinary ones, of which every font has all.

use crate::font;

/// Letters of one size.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Run {
    pub text: String,
    /// In units of the size of the text.
    pub size: f64,
    /// How far above the line, in the same units.
    pub rise: f64,
}

const RAISED: &str = "⁰0¹1²2³3⁴4⁵5⁶6⁷7⁸8⁹9⁺+⁻−⁽(⁾)ⁿnⁱi";
const LOWERED: &str = "₀0₁1₂2₃3₄4₅5₆6₇7₈8₉9₊+₋−ₜtₓxᵢi";

fn ordinary(character: char) -> (char, f64, f64) {
    let in_table = |table: &str| {
        let place = table.chars().position(|known| known == character).filter(|place| place % 2 == 0)?;
        table.chars().nth(place + 1)
    };
    match (in_table(RAISED), in_table(LOWERED)) {
        (Some(raised), _) => (raised, 0.7, 0.36),
        (_, Some(lowered)) => (lowered, 0.7, -0.16),
        // What would end or hide a line.
        _ if character.is_control() => (' ', 1.0, 0.0),
        _ => (character, 1.0, 0.0),
    }
}

pub(crate) fn runs(text: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (character, size, rise) in text.chars().map(ordinary) {
        match runs.last_mut() {
            Some(run) if run.size == size && run.rise == rise => run.text.push(character),
            _ => runs.push(Run { text: character.to_string(), size, rise }),
        }
    }
    runs
}

/// Width of a text in units of its size.
fn width_of_one(text: &str) -> f64 {
    let of_run = |run: &Run| run.size * run.text.chars().map(|c| font::advance(font::glyph(c))).sum::<f64>();
    runs(text).iter().map(of_run).sum()
}

/// Width of a text of this size, in the unit of the size.
pub fn width(text: &str, size: f64) -> f64 {
    size * width_of_one(text)
}

/// A text in lines of at most this width. A word that is longer is a line of its own.
pub fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let longer = lines.last().map(|line| format!("{line} {word}")).filter(|line| width(line, size) <= most);
        match (longer, lines.last_mut()) {
            (Some(longer), Some(line)) => *line = longer,
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A text that ends in dots where it is wider than `most`.
pub fn shortened(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut shorter = text.to_owned();
    while shorter.pop().is_some() && width(&shorter, size) + width("…", size) > most {}
    shorter.trim_end().to_owned() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, size: f64, rise: f64) -> Run {
        Run { text: text.to_owned(), size, rise }
    }

    #[test]
    fn raised_and_lowered_digits_are_smaller_ordinary_ones() {
        assert_eq!(runs("10⁻³"), [run("10", 1.0, 0.0), run("−3", 0.7, 0.36)]);
        let t0 = [run("t", 1.0, 0.0), run("0", 0.7, -0.16), run("/a", 1.0, 0.0), run("2", 0.7, 0.36)];
        assert_eq!(runs("t₀/a²"), t0);
        assert_eq!(runs("0 + 1"), [run("0 + 1", 1.0, 0.0)]);
    }

    #[test]
    fn text_is_wrapped_between_words_and_shortened_with_dots() {
        assert_eq!(wrapped("aa bb  cc", 10.0, width("aa bb", 10.0)), ["aa bb", "cc"]);
        let short = shortened("a long name of a file", 10.0, 50.0);
        assert!(short.ends_with('…') && width(&short, 10.0) <= 50.0, "{short}");
        assert_eq!(shortened("short", 10.0, 50.0), "short");
    }

    #[test]
    fn widths_are_those_of_helvetica() {
        assert!((width("10", 10.0) - 11.12).abs() < 0.01);
        assert!((width("10⁻³", 10.0) - 11.12 - 0.7 * (5.84 + 5.56)).abs() < 0.02);
    }
}
