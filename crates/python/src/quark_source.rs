//! Sources of propagators, and the links on which quarks are smeared.

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
    /// The links of the operator, smeared.
    Smeared(Smearing),
    Of(Py<Configuration>),
}

impl Argument for SmearLinks {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(configuration) = given.extract() {
            return Ok(Self::Of(configuration));
        }
        let expected = "a lanefield.Configuration, or a smearing such as 'spatial-ape:0.5,10'";
        let text: String = given.extract().map_err(|_| mistyped(name, given, expected))?;
        let smearing = text.parse::<Smearing>().map_err(|error| error.to_string());
        let smearing = smearing.and_then(|smearing| smearing.check().map(|()| smearing).map_err(|e| e.to_string()));
        smearing.map(Self::Smeared).map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
    }
}

/// The source of a propagator.
pub enum QuarkColumns<'py> {
    Named(Source),
    /// An array of twelve columns.
    Array(Given<'py>),
}

/// Reads the argument `source`: a point, the name of a source, or an array of twelve columns.
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
        Ok(Source::File(_)) => {
            Err(wrong(name, given, "the name of a source, such as 'wall:0'; read a file with lanefield.read_array"))
        }
        Ok(source) => Ok(QuarkColumns::Named(source)),
        Err(error) => Err(PyValueError::new_err(error)),
    }
}

/// The argument `smear_links`.
pub fn smear_links(given: &Bound<'_, PyAny>) -> PyResult<Option<SmearLinks>> {
    Argument::read("smear_links", given)
}
