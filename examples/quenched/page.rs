//! The page: a table of measured and published numbers, and a picture of effective masses.

use std::fmt::Write as _;

use lanefield::statistics::{Estimate, Window};
use plotters::prelude::{
    ChartBuilder, Circle, Color as _, IntoDrawingArea as _, PathElement, RGBColor, SVGBackend, SeriesLabelPosition,
    WHITE,
};

/// A measured number and the published one.
pub struct Row {
    pub name: &'static str,
    pub here: Estimate,
    pub published: &'static str,
    pub source: &'static str,
}

/// The content of the page.
pub struct Page {
    pub title: String,
    pub rows: Vec<Row>,
    /// For each hadron, the fitted mass, and the effective masses between t and t + 1.
    pub masses: Vec<(&'static str, Estimate, Vec<Option<Estimate>>)>,
    /// The window of the fits.
    pub window: Window,
}

/// A number such as "0.5492(3)". The error is in units of the last digit, and has two digits if the first is 1.
fn with_error(Estimate { value, error }: Estimate) -> String {
    let Some(error) = error.filter(|error| *error > 0.0 && *error < 1.0) else { return format!("{value:.4}") };
    let mut digits = (-error.log10().floor()).max(0.0) as usize;
    if error * 10f64.powi(digits as i32) < 2.0 {
        digits += 1;
    }
    format!("{value:.digits$}({:.0})", error * 10f64.powi(digits as i32))
}

impl Page {
    /// The page as text for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for Row { name, here, published, source } in &self.rows {
            let _ = writeln!(text, "{name:16} {:14} published {published:8} ({source})", with_error(*here));
        }
        text
    }

    /// The page as a single HTML file that includes the picture.
    pub fn html(&self) -> String {
        let mut rows = String::new();
        for Row { name, here, published, source } in &self.rows {
            let here = with_error(*here);
            let _ = writeln!(rows, "<tr><td>{name}</td><td>{here}</td><td>{published}</td><td>{source}</td></tr>");
        }
        let picture = self.picture().unwrap_or_else(|error| format!("<p>There is no picture: {error}</p>"));
        format!(
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Quenched QCD</title>\n\
             <style>body {{ font: 16px sans-serif; max-width: 60em; margin: 2em auto; }} td, th {{ text-align: left; padding: 0.3em 1em; }}</style>\n\
             <h1>Quenched QCD</h1>\n<p>{}</p>\n<table>\n<tr><th></th><th>here</th><th>published</th><th>source</th></tr>\n{rows}</table>\n{picture}\n</html>\n",
            self.title
        )
    }

    /// Effective masses, with a band for each fit.
    fn picture(&self) -> Result<String, Box<dyn std::error::Error>> {
        const COLOURS: [RGBColor; 2] = [RGBColor(0, 114, 178), RGBColor(213, 94, 0)];
        let mut svg = String::new();
        {
            let root = SVGBackend::with_string(&mut svg, (800, 450)).into_drawing_area();
            root.fill(&WHITE)?;
            let values =
                || self.masses.iter().flat_map(|(_, _, masses)| masses.iter().flatten().map(|mass| mass.value));
            let most = values().take_while(|mass| mass.is_finite()).fold(1.0, f64::max) * 1.1;
            let times = self.masses.first().map_or(1, |(_, _, masses)| masses.len() + 1);
            let mut chart = ChartBuilder::on(&root)
                .margin(12)
                .x_label_area_size(40)
                .y_label_area_size(60)
                .build_cartesian_2d(0.0..times as f64 / 2.0, 0.0..most)?;
            chart.configure_mesh().x_desc("t").y_desc("effective mass").light_line_style(WHITE).draw()?;
            for ((name, fitted, masses), colour) in self.masses.iter().zip(COLOURS) {
                let ends = [self.window.first, self.window.last].map(|t| (t as f64, fitted.value));
                chart.draw_series([PathElement::new(ends.to_vec(), colour)])?;
                // The other half of the lattice has the same masses again.
                let points = || {
                    let masses = masses[..times / 2].iter().enumerate();
                    masses.filter_map(|(t, mass)| Some((t as f64 + 0.5, (*mass)?)))
                };
                let bars = points().filter_map(|(t, mass)| {
                    let error = mass.error?;
                    Some(PathElement::new(vec![(t, mass.value - error), (t, mass.value + error)], colour))
                });
                chart.draw_series(bars)?;
                let circles = points().map(|(t, mass)| Circle::new((t, mass.value), 4, colour.filled()));
                let series = chart.draw_series(circles)?;
                series.label(*name).legend(move |place| Circle::new(place, 4, colour.filled()));
            }
            let legend = &mut chart.configure_series_labels();
            legend.position(SeriesLabelPosition::UpperRight).background_style(WHITE).draw()?;
            root.present()?;
        }
        Ok(svg)
    }
}
