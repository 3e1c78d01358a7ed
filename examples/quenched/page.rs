//! The page: a table of measured and published numbers, and a picture of effective masses.

use std::fmt::Write as _;

use lanefield::statistics::{Estimate, Window};
use lanefield_figure::{Axis, Band, Colours, Figure, Panel, Point, Series, with_error};

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

impl Page {
    /// The page as text for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.title);
        for Row { name, here, published, source } in &self.rows {
            let _ = writeln!(
                text,
                "{name:16} {:14} published {published:8} ({source})",
                with_error(here.value, here.error)
            );
        }
        text
    }

    /// The page as a single HTML file that includes the picture.
    pub fn html(&self) -> String {
        let mut rows = String::new();
        for Row { name, here, published, source } in &self.rows {
            let here = with_error(here.value, here.error);
            let _ = writeln!(rows, "<tr><td>{name}</td><td>{here}</td><td>{published}</td><td>{source}</td></tr>");
        }
        let picture = self.picture();
        format!(
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Quenched QCD</title>\n\
             <style>body {{ font: 16px sans-serif; max-width: 60em; margin: 2em auto; }} td, th {{ text-align: left; padding: 0.3em 1em; }}</style>\n\
             <h1>Quenched QCD</h1>\n<p>{}</p>\n<table>\n<tr><th></th><th>here</th><th>published</th><th>source</th></tr>\n{rows}</table>\n{picture}\n</html>\n",
            self.title
        )
    }

    /// Effective masses, with a band for each fit.
    fn picture(&self) -> String {
        let mut panel = Panel::new(Axis::linear("t / a").whole(), Axis::linear("a m(t)"));
        for (style, (name, fitted, masses)) in self.masses.iter().enumerate() {
            // On the other side of the lattice they come once more.
            let half = masses[..masses.len().div_ceil(2)].iter().enumerate();
            let point = |(t, mass): (usize, &Option<Estimate>)| {
                mass.map(|mass| Point { x: t as f64 + 0.5, y: mass.value, error: mass.error })
            };
            panel.series.push(Series::points(*name, style, half.filter_map(point).collect()));
            let ends = [self.window.first, self.window.last];
            let points = ends.map(|t| (t as f64, fitted.value, fitted.error.unwrap_or(0.0))).into();
            let name = format!("fit of the {name}: a m = {}", with_error(fitted.value, fitted.error));
            panel.bands.push(Band { name, style, points });
        }
        Figure::new("Effective masses", vec![panel]).draw().svg(Colours::Paper)
    }
}
