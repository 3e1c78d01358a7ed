//! From what a propagator is solved, and on which links its quarks are smeared.

use lanefield::gauge::Smearing;
use lanefield::observable::{COLUMNS, Source};
use lanefield::reference::layout::Coordinate;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::arguments::{Argument, mistyped, wrong};
use super::arrays::Given;
use super::configuration::Configuration;

/// Links on which quarks are smeared.
pub enum SmearLinks {
    /// Those of the operator, smeared.
    Smeared(Smearing),
    Of(Py<Configuration>),
}

impl Argument for SmearLinks {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(configuration) = given.extract() {
            return Ok(Self::Of(configuration));
        }
        let expected = "a lanefield.Configuration, or a smearing as 'spatial-ape:0.5,10'";
        let text: String = given.extract().map_err(|_| mistyped(name, given, expected))?;
        let smearing = text.parse::<Smearing>().map_err(|error| error.to_string());
        let smearing = smearing.and_then(|smearing| smearing.check().map(|()| smearing).map_err(|e| e.to_string()));
        smearing.map(Self::Smeared).map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
    }
}

/// What a propagator is solved from.
pub enum QuarkColumns<'py> {
    Named(Source),
    /// An array of twelve columns.
    Array(Given<'py>),
}

/// A point, the name of a source in each spin and colour, or an array.
pub fn quark_source<'py>(given: &Bound<'py, PyAny>) -> PyResult<QuarkColumns<'py>> {
    let name = "source";
    let Ok(text) = given.extract::<String>() else {
        let has_axes = given.getattr("ndim").and_then(|axes| axes.extract::<usize>()).is_ok_and(|axes| axes > 1);
        if has_axes || given.len().is_ok_and(|length| length == COLUMNS) {
            return Given::new(name, given).map(QuarkColumns::Array);
        }
        let position = Coordinate::read(name, given)?;
        return Ok(QuarkColumns::Named(Source::Point { position, component: None }));
    };
    match Source::columns(&text) {
        Ok(Source::File(_)) => Err(wrong(
            name,
            given,
            "the name of a source, as in 'wall:0'; of a file lanefield.read_array makes an array",
        )),
        Ok(source) => Ok(QuarkColumns::Named(source)),
        Err(error) => Err(PyValueError::new_err(error)),
    }
}

/// The argument `smear_links`.
pub fn smear_links(given: &Bound<'_, PyAny>) -> PyResult<Option<SmearLinks>> {
    Argument::read("smear_links", given)
}
