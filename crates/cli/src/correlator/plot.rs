//! The figure of `lanefield correlator` and `spectrum fit`, with a title.

use lanefield::reference::layout::Extents;
use lanefield_figure::Drawing;
use lanefield_figure::physics::{Correlator, correlators};

pub struct Title {
    pub extents: Extents,
    /// Operator, parameters and configurations in words, where they are known.
    pub of: Option<String>,
    /// What errors are taken over: sources or configurations.
    pub errors_from: Option<&'static str>,
}

pub fn plot(curves: &[Correlator], title: &Title) -> Drawing {
    let Title { extents, of, errors_from } = title;
    let of = of.as_deref().unwrap_or("operator and configuration not known");
    let errors = errors_from.map_or_else(String::new, |from| format!("; jackknife errors over {from}"));
    correlators(curves, &format!("Correlators on {extents}")).noted(format!("{of}{errors}")).draw()
}
