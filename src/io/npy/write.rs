//! Writes arrays.

use std::io::{self, Write};
use std::path::Path;

use lanefield_reference::ensure;
use lanefield_reference::prelude::*;

use super::array::{ArrayReal, fermion5_shape, gauge_shape, spinor_shape, spinors_exchanged};
use super::error::NpyError;
use super::header;
use crate::io::atomic::write_atomically;

/// Writes a complex array in C order, whole or not at all: little-endian, format version 1.0, byte for byte as NumPy does.
///
/// # Errors
/// [`NpyError::Length`] if the number of `values` does not agree with `shape`; [`NpyError::Write`].
pub fn write_complex<R: ArrayReal>(path: &Path, shape: &[usize], values: &[Complex<R>]) -> Result<(), NpyError> {
    let header = prepare(shape, values)?;
    Ok(write_atomically(path, |writer| emit(&header, values, writer))?)
}

/// The bytes that [`write_complex`] would write.
pub fn to_bytes<R: ArrayReal>(shape: &[usize], values: &[Complex<R>]) -> Result<Vec<u8>, NpyError> {
    let mut bytes = Vec::new();
    emit(&prepare(shape, values)?, values, &mut bytes)?;
    Ok(bytes)
}

fn prepare<R: ArrayReal>(shape: &[usize], values: &[Complex<R>]) -> Result<Vec<u8>, NpyError> {
    check_length(shape, values)?;
    header::to_bytes(R::PRECISION.descr(), shape)
}

fn check_length<R: ArrayReal>(shape: &[usize], values: &[Complex<R>]) -> Result<(), NpyError> {
    let expected = shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
    let expected = expected.ok_or_else(|| NpyError::TooLarge { shape: shape.to_owned() })?;
    ensure!(values.len() == expected, NpyError::Length { shape: shape.to_owned(), expected, found: values.len() });
    Ok(())
}

fn emit<R: ArrayReal>(header: &[u8], values: &[Complex<R>], writer: &mut dyn Write) -> io::Result<()> {
    writer.write_all(header)?;
    let mut reals = Vec::new();
    for chunk in values.chunks(1 << 14) {
        reals.clear();
        reals.extend(chunk.iter().flat_map(|z| [z.re.to_little_endian(), z.im.to_little_endian()]));
        writer.write_all(bytemuck::cast_slice(&reals))?;
    }
    Ok(())
}

/// As [`write_complex`], for numbers that are produced a few at a time.
pub fn write_complex_in_turn<R: ArrayReal>(
    path: &Path,
    shape: &[usize],
    values: impl FnOnce(&mut dyn FnMut(&[Complex<R>]) -> io::Result<()>) -> io::Result<()>,
) -> Result<(), NpyError> {
    let header = header::to_bytes(R::PRECISION.descr(), shape)?;
    let mut found = 0;
    let written = write_atomically(path, |writer| {
        writer.write_all(&header)?;
        values(&mut |values| {
            found += values.len();
            emit(&[], values, writer)
        })
    });
    written?;
    let expected = shape.iter().product();
    if found == expected { Ok(()) } else { Err(NpyError::Length { shape: shape.to_owned(), expected, found }) }
}

/// Writes a spinor field in site order (12 complex numbers a site) as `(T, Z, Y, X, 4, 3)`.
pub fn write_spinor<R: ArrayReal>(path: &Path, extents: Extents, values: &[Complex<R>]) -> Result<(), NpyError> {
    write_complex(path, &spinor_shape(extents), values)
}

/// Writes a five-dimensional fermion, given in site order with s faster than the site (12·ls complex numbers a site), as
/// `(Ls, T, Z, Y, X, 4, 3)`.
pub fn write_fermion5<R: ArrayReal>(
    path: &Path,
    extents: Extents,
    ls: usize,
    values: &[Complex<R>],
) -> Result<(), NpyError> {
    let shape = fermion5_shape(extents, ls);
    check_length(&shape, values)?;
    write_complex(path, &shape, &spinors_exchanged(values, extents.volume()))
}

/// Writes a gauge configuration as complex128 `(T, Z, Y, X, 4, 3, 3)`.
pub fn write_gauge(path: &Path, configuration: &Configuration) -> Result<(), NpyError> {
    write_complex(path, &gauge_shape(configuration.extents()), configuration.links())
}
