//! Renders the page.

use minijinja::{AutoEscape, Environment, context};

use super::document::{Document, ReportError};
use super::sections;
use super::summary;

/// The report as one HTML file; `baseline`: documents with which to compare the others.
pub fn render(title: &str, documents: &[Document], baseline: &[Document]) -> Result<String, ReportError> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("report.html", include_str!("report.html"))?;
    let sections = sections::all(documents, baseline);
    let page = environment.get_template("report.html")?.render(context! {
        title,
        style => include_str!("report.css"),
        script => include_str!("report.js"),
        summary => minijinja::Value::from_serialize(summary::summary(documents, &sections)),
        sections => minijinja::Value::from_serialize(&sections),
        version => env!("CARGO_PKG_VERSION"),
    })?;
    Ok(page)
}
