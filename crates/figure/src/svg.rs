//! Drawings as SVG.

use std::fmt::Write as _;

use crate::drawing::{Anchor, Drawing, Shape, Stroke, Text};
use crate::style::Colour;
use crate::text::runs;

/// Where colours come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colours {
    /// Black on white.
    Paper,
    /// The variables of a page: --ink, --quiet, --line, --paper, --c1 to --c8. The background is the page's.
    Page,
}

const FONTS: &str = "Arimo, Helvetica, Arial, Liberation Sans, sans-serif";
/// Pixels of a screen to a point.
const PIXELS: f64 = 4.0 / 3.0;

/// A length with at most two decimals.
struct Length(f64);

impl std::fmt::Display for Length {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hundredths = (100.0 * self.0).round() as i64;
        let (sign, hundredths) = (if hundredths < 0 { "-" } else { "" }, hundredths.abs());
        match (hundredths / 100, hundredths % 100) {
            (whole, 0) => write!(f, "{sign}{whole}"),
            (whole, part) if part % 10 == 0 => write!(f, "{sign}{whole}.{}", part / 10),
            (whole, part) => write!(f, "{sign}{whole}.{part:02}"),
        }
    }
}

/// Text that is no markup, and no characters that XML has none of.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            character if character.is_control() => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

impl Colours {
    fn name(self, colour: Colour) -> String {
        match (self, colour) {
            (Self::Page, Colour::Ink) => "var(--ink)".to_owned(),
            (Self::Page, Colour::Quiet) => "var(--quiet)".to_owned(),
            (Self::Page, Colour::Faint) => "var(--line)".to_owned(),
            (Self::Page, Colour::Paper) => "var(--paper)".to_owned(),
            (Self::Page, Colour::Series(number)) => format!("var(--c{})", number % 8 + 1),
            _ => {
                let [red, green, blue] = colour.rgb();
                format!("#{red:02x}{green:02x}{blue:02x}")
            }
        }
    }

    fn fill(self, colour: Colour, opacity: f64) -> String {
        let opacity = if opacity < 1.0 { format!(" fill-opacity=\"{opacity}\"") } else { String::new() };
        format!(" fill=\"{}\"{opacity}", self.name(colour))
    }

    fn stroke(self, stroke: Stroke) -> String {
        let dashes: Vec<String> = stroke.dash.iter().map(f64::to_string).collect();
        let dashes =
            if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", dashes.join(" ")) };
        format!(" stroke=\"{}\" stroke-width=\"{}\"{dashes}", self.name(stroke.colour), Length(stroke.width))
    }
}

impl Drawing {
    /// As SVG: text is text, and each length has two decimals.
    pub fn svg(&self, colours: Colours) -> String {
        let (width, height) = (Length(self.width), Length(self.height));
        let title = escaped(&self.title);
        let mut svg = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\"");
        if colours == Colours::Paper {
            let [width, height] = [self.width, self.height].map(|length| Length(PIXELS * length));
            let _ = write!(svg, " width=\"{width}\" height=\"{height}\"");
        }
        let _ = writeln!(svg, " font-family=\"{FONTS}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>");
        if colours == Colours::Paper {
            let _ = writeln!(svg, "<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>");
        }
        for shape in &self.shapes {
            draw(&mut svg, shape, colours);
        }
        svg + "</svg>\n"
    }
}

fn draw(svg: &mut String, shape: &Shape, colours: Colours) {
    let _ = match shape {
        Shape::Rectangle { corner, size, fill, opacity } => {
            let [x, y, width, height] = [corner[0], corner[1], size[0], size[1]].map(Length);
            let fill = colours.fill(*fill, *opacity);
            writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{fill} shape-rendering=\"crispEdges\"/>"
            )
        }
        Shape::Lines { points, closed, fill, stroke } => {
            let mut path = String::new();
            for (k, [x, y]) in points.iter().enumerate() {
                let _ = write!(path, "{}{} {}", if k == 0 { "M" } else { "L" }, Length(*x), Length(*y));
            }
            let close = if *closed { "Z" } else { "" };
            let fill = fill.map_or(" fill=\"none\"".to_owned(), |(colour, opacity)| colours.fill(colour, opacity));
            let stroke = stroke.map_or_else(String::new, |stroke| colours.stroke(stroke));
            writeln!(svg, "<path d=\"{path}{close}\"{fill}{stroke} stroke-linejoin=\"round\"/>")
        }
        Shape::Circle { centre, radius, fill, stroke } => {
            let [x, y, radius] = [centre[0], centre[1], *radius].map(Length);
            let (fill, stroke) = (colours.fill(*fill, 1.0), stroke.map_or_else(String::new, |s| colours.stroke(s)));
            writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"{fill}{stroke}/>")
        }
        Shape::Text(text) => writeln!(svg, "{}", written(text, colours)),
    };
}

fn written(text: &Text, colours: Colours) -> String {
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let [x, y] = text.place.map(Length);
    let place = match text.angle {
        0.0 => format!("x=\"{x}\" y=\"{y}\""),
        angle => format!("transform=\"translate({x} {y}) rotate({})\"", Length(-angle)),
    };
    let (mut inner, mut rise) = (String::new(), 0.0);
    for run in runs(&text.text) {
        if run.rise == rise && run.size == 1.0 {
            inner += &escaped(&run.text);
        } else {
            // Each step is from where the run before it stood.
            let step = Length(-text.size * (run.rise - rise));
            let size = Length(text.size * run.size);
            let _ = write!(inner, "<tspan dy=\"{step}\" font-size=\"{size}\">{}</tspan>", escaped(&run.text));
            rise = run.rise;
        }
    }
    let (size, fill) = (Length(text.size), colours.fill(text.colour, 1.0));
    format!("<text {place} font-size=\"{size}\"{anchor}{fill}>{inner}</text>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let mut drawing = Drawing::new("a<b>.nersc & \"c\"", 100.0, 50.0);
        drawing.text("C(t) < 0 & more\u{1}", [10.0, 20.0], 10.0, Anchor::Start);
        let svg = drawing.svg(Colours::Paper);
        assert!(svg.contains("<title>a&lt;b&gt;.nersc &amp; &quot;c&quot;</title>"), "{svg}");
        assert!(svg.contains(">C(t) &lt; 0 &amp; more </text>"), "{svg}");
    }

    #[test]
    fn raised_digits_are_smaller_and_come_down_again() {
        let mut drawing = Drawing::new("", 100.0, 50.0);
        drawing.text("10⁻³ x", [1.0, 2.0], 10.0, Anchor::End);
        let expected = "<text x=\"1\" y=\"2\" font-size=\"10\" text-anchor=\"end\" fill=\"#000000\">10<tspan dy=\"-3.6\" font-size=\"7\">−3</tspan>\
                        <tspan dy=\"3.6\" font-size=\"10\"> x</tspan></text>";
        assert!(drawing.svg(Colours::Paper).contains(expected), "{}", drawing.svg(Colours::Paper));
    }

    #[test]
    fn lengths_have_two_decimals_at_most() {
        let written = [1.0, 0.125, -0.5, 10.004, -0.001, 3.1].map(|x| Length(x).to_string());
        assert_eq!(written, ["1", "0.13", "-0.5", "10", "0", "3.1"]);
    }

    #[test]
    fn a_page_has_its_own_colours() {
        let mut drawing = Drawing::new("", 100.0, 50.0);
        drawing.lines(&[[0.0, 0.0], [1.0, 1.0]], Stroke::new(Colour::Series(1), 1.0));
        let svg = drawing.svg(Colours::Page);
        assert!(svg.contains("stroke=\"var(--c2)\"") && !svg.contains("<rect"), "{svg}");
    }
}
