//! Reading of arguments. The error for a wrong argument is the same in all functions, and names it: "seed is -1: expected a whole number that
//! is not negative". It is a `ValueError` if the type is right, else a `TypeError`.

use std::ffi::CString;

use lanefield::observable::{TwistAngle, Wuppertal};
use lanefield::reference::layout::{Coordinate, Parity};
use pyo3::exceptions::{PyDeprecationWarning, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;

use super::errors::value;

/// An argument as Python prints it, shortened if it is long.
pub fn shown(given: &Bound<'_, PyAny>) -> String {
    const MOST: usize = 80;
    let text = given.repr().map_or_else(|_| given.get_type().to_string(), |text| text.to_string());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text,
    }
}

/// The error for an argument of the right type with an unexpected value.
pub fn wrong(name: &str, given: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    PyValueError::new_err(format!("{name} is {}: expected {expected}", shown(given)))
}

/// The error for an argument of the wrong type.
pub fn mistyped(name: &str, given: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    PyTypeError::new_err(format!("{name} is {}: expected {expected}", shown(given)))
}

/// A type of arguments.
pub trait Argument: Sized {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self>;
}

impl<T: Argument> Argument for Option<T> {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        if given.is_none() { Ok(None) } else { T::read(name, given).map(Some) }
    }
}

impl Argument for u64 {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        given.extract().map_err(|error: PyErr| match error.is_instance_of::<PyOverflowError>(given.py()) {
            true if given.lt(0).unwrap_or(false) => wrong(name, given, "a whole number that is not negative"),
            true => wrong(name, given, "a whole number below 2^64"),
            false => mistyped(name, given, "a whole number"),
        })
    }
}

impl Argument for usize {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        // The package is for machines of 64 bits.
        Ok(u64::read(name, given)? as Self)
    }
}

impl Argument for f64 {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        given.extract().map_err(|_| mistyped(name, given, "a number"))
    }
}

impl Argument for bool {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        given.extract().map_err(|_| mistyped(name, given, "True or False"))
    }
}

impl Argument for String {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        given.extract().map_err(|_| mistyped(name, given, "a string"))
    }
}

impl Argument for Vec<String> {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(one) = given.extract() {
            return Ok(vec![one]);
        }
        given.extract().map_err(|_| mistyped(name, given, "a name, or a list of names"))
    }
}

impl Argument for Coordinate {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let expected = "coordinates (x, y, z, t), whole numbers that are not negative";
        given.extract().map_err(|error: PyErr| match error.is_instance_of::<PyTypeError>(given.py()) {
            true => mistyped(name, given, expected),
            false => wrong(name, given, expected),
        })
    }
}

/// α and the number of steps of Gaussian smearing, or both as the text of the program's flag.
impl Argument for Wuppertal {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = given.extract::<String>() {
            return text.parse().map_err(|error| PyValueError::new_err(format!("{name}: {error}")));
        }
        let read = given.extract::<(f64, usize)>();
        let (alpha, steps) = read.map_err(|_| mistyped(name, given, "(alpha, steps), such as (0.25, 20)"))?;
        Self::new(alpha, steps).ok_or_else(|| wrong(name, given, "an alpha for which 1 + 6 alpha is finite and not 0"))
    }
}

impl Argument for Parity {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(if word(name, given, &["even", "odd"])? == "even" { Self::Even } else { Self::Odd })
    }
}

impl Argument for TwistAngle {
    fn read(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        const EXPECTED: &str = "degrees from -180 to 180, or 'maximal'";
        match given.extract::<String>() {
            // The sign of the angle does not change mesons.
            Ok(text) if text == "maximal" => Ok(Self::maximal(1.0)),
            Ok(_) => Err(wrong(name, given, EXPECTED)),
            Err(_) => {
                let degrees = given.extract().map_err(|_| mistyped(name, given, EXPECTED))?;
                Self::new(degrees).ok_or_else(|| wrong(name, given, EXPECTED))
            }
        }
    }
}

/// Reads one of `words`.
pub fn word(name: &str, given: &Bound<'_, PyAny>, words: &[&'static str]) -> PyResult<&'static str> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let expected = quoted.join(" or ");
    let text: String = given.extract().map_err(|_| mistyped(name, given, &expected))?;
    words.iter().find(|&&word| word == text).copied().ok_or_else(|| wrong(name, given, &expected))
}

/// Defines a function for each argument, with which PyO3 reads it.
macro_rules! named {
    ($($name:ident: $kind:ty,)+) => {
        $(pub fn $name(given: &Bound<'_, PyAny>) -> PyResult<$kind> {
            Argument::read(stringify!($name), given)
        })+
    };
}

named! {
    colour: usize,
    components: Option<usize>,
    dagger: bool,
    even_odd: bool,
    every: usize,
    kernels: Option<Vec<String>>,
    lanes: Option<usize>,
    leading: Option<usize>,
    legs: Option<String>,
    links: Option<usize>,
    ls: Option<usize>,
    max_iterations: Option<usize>,
    name: String,
    origin_time: usize,
    overwrite: bool,
    parity: Option<Parity>,
    physical: Option<bool>,
    position: Coordinate,
    precisions: Option<Vec<String>>,
    reconstruct: Option<usize>,
    seed: u64,
    smear_sink: Option<Wuppertal>,
    smear_source: Option<Wuppertal>,
    spin: usize,
    spread: f64,
    threads: Option<usize>,
    tol: Option<f64>,
    tolerance: Option<f64>,
    twist_angle: Option<TwistAngle>,
    ulps: u64,
}

/// The same for arguments with a fixed set of words. PyO3 receives them as text, so that signatures show defaults as a user writes them.
macro_rules! words {
    ($($name:ident: $words:expr,)+) => {
        $(pub fn $name(given: &Bound<'_, PyAny>) -> PyResult<&'static str> {
            word(stringify!($name), given, &$words)
        })+
    };
}

words! {
    direction: ["x", "y", "z", "t"],
    piece: ["full", "meooe", "mooee", "mooeeinv", "mpc"],
    solver: ["cg", "block-cg", "bicgstab", "mixed-f32", "mixed-half"],
}

pub fn precision(given: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    if given.is_none() { Ok(None) } else { word("precision", given, &["f32", "f64"]).map(Some) }
}

/// The deprecated keyword for `solver`, in which `mixed` is `mixed-f32`.
pub fn method(given: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    if given.is_none() {
        return Ok(None);
    }
    let name = word("method", given, &["cg", "block-cg", "bicgstab", "mixed", "mixed-f32", "mixed-half"])?;
    Ok(Some(if name == "mixed" { "mixed-f32" } else { name }))
}

/// The value of a keyword, also if it was given under its deprecated name, which is a `DeprecationWarning`.
pub fn renamed<T>(
    py: Python<'_>,
    (name, given): (&str, Option<T>),
    (deprecated, old): (&str, Option<T>),
) -> PyResult<Option<T>> {
    if old.is_none() {
        return Ok(given);
    }
    if given.is_some() {
        return Err(value(format!("{name} and {deprecated} are two names of one argument: give only {name}")));
    }
    let warning = CString::new(format!("the keyword {deprecated} is deprecated: use {name}")).map_err(value)?;
    PyErr::warn(py, &py.get_type::<PyDeprecationWarning>(), &warning, 1)?;
    Ok(old)
}
