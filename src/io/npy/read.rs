//! Reads arrays, and local volumes of arrays.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::marker::PhantomData;
use std::path::Path;

use bytemuck::Pod;
use lanefield_reference::ensure;
use lanefield_reference::gauge::{Configuration, SITE_WORDS};
use lanefield_reference::layout::{DIMENSIONS, Extents};
use num_complex::Complex;

use super::array::{
    ArrayReal, ComplexArray, ComplexValues, Fermion5Array, PropagatorArray, SpinorArray, any_field, gauge_extents,
    gauge_shape,
};
use super::element::Precision;
use super::error::NpyError;
use super::header::{ElementType, NpyHeader};
use crate::io::open::open;
use crate::io::rows::SitesOfFile;

/// Reads a complex array of any shape. Its elements need not be finite. Memory for elements is allocated only after the length of the file
/// was checked.
pub fn read_complex(path: &Path) -> Result<ComplexArray, NpyError> {
    let (file, length) = open(path)?;
    read_from(file, length)
}

/// Reads the header of an array, and checks it against the length of the file.
pub fn read_header(path: &Path) -> Result<ArrayHeader, NpyError> {
    let (mut file, length) = open(path)?;
    ArrayHeader::read(&mut file, length)
}

/// Reads the local volume of a rank. The lattice axes T, Z, Y, X of the array follow `leading` others. The shape of the result has the
/// extents of the local volume.
pub fn read_part(path: &Path, leading: usize, part: Extents) -> Result<ComplexArray, NpyError> {
    let (mut file, length) = open(path)?;
    let header = ArrayHeader::read(&mut file, length)?;
    let lattice = header.shape.get(leading..leading + DIMENSIONS);
    let expected: Vec<usize> = part.global().as_array().into_iter().rev().collect();
    if lattice != Some(&expected) {
        return Err(NpyError::Shape {
            field: "field",
            axes: "(…, T, Z, Y, X, …)",
            reason: format!("the lattice is {}", part.global()),
            shape: header.shape,
        });
    }
    let of_axes = |axes: &[usize]| axes.iter().product::<usize>();
    let (arrays, words) = (of_axes(&header.shape[..leading]), of_axes(&header.shape[leading + DIMENSIONS..]));
    let mut shape = header.shape.clone();
    shape[leading..leading + DIMENSIONS]
        .iter_mut()
        .zip(part.as_array().into_iter().rev())
        .for_each(|(axis, l)| *axis = l);
    let site_bytes = words * header.precision.complex_size();
    let mut bytes = Vec::new();
    let of_part = arrays * part.volume() * site_bytes;
    bytes
        .try_reserve_exact(of_part)
        .map_err(|_| NpyError::OutOfMemory { shape: shape.clone(), bytes: of_part as u64 })?;
    for array in 0..arrays {
        let start = header.data_start + (array * part.global().volume() * site_bytes) as u64;
        let mut sites = SitesOfFile::new(file.try_clone()?, start, site_bytes, part.global());
        for site in 0..part.volume() {
            bytes.extend(sites.site(part.in_whole(part.coordinate(site).map(|x| x as isize)))?);
        }
    }
    let elements = bytes.len() / header.precision.complex_size();
    let values = match header.precision {
        Precision::F32 => read_values(&mut &bytes[..], elements, &shape).map(ComplexValues::F32),
        Precision::F64 => read_values(&mut &bytes[..], elements, &shape).map(ComplexValues::F64),
    }?;
    Ok(ComplexArray { shape, values })
}

/// Reads the local volume of a gauge configuration `(T, Z, Y, X, 4, 3, 3)`, with the links around it.
pub fn read_gauge_part(path: &Path, part: Extents) -> Result<Configuration, NpyError> {
    let (mut file, length) = open(path)?;
    let header = ArrayHeader::read(&mut file, length)?;
    let shape = gauge_shape(part.global());
    if header.shape != shape {
        let reason = format!("the lattice is {}", part.global());
        let (field, axes) = ("gauge configuration", "(T, Z, Y, X, 4, 3, 3)");
        return Err(NpyError::Shape { shape: header.shape, field, axes, reason });
    }
    let site_bytes = SITE_WORDS * header.precision.complex_size();
    let mut sites = SitesOfFile::new(file, header.data_start, site_bytes, part.global());
    let configuration = Configuration::from_sites(part, |x, links| {
        let mut bytes = sites.site(x)?;
        let values = match header.precision {
            Precision::F32 => read_values(&mut bytes, SITE_WORDS, &shape).map(ComplexValues::F32),
            Precision::F64 => read_values(&mut bytes, SITE_WORDS, &shape).map(ComplexValues::F64),
        }?;
        links.copy_from_slice(&values.into_f64());
        Ok::<_, NpyError>(())
    })?;
    configuration.require_finite()?;
    Ok(configuration)
}

/// Reads a spinor field `(T, Z, Y, X, 4, 3)`. Its components need not be finite: see [`SpinorArray::require_finite`].
pub fn read_spinor(path: &Path) -> Result<SpinorArray, NpyError> {
    read_complex(path)?.into_spinor()
}

/// Reads a five-dimensional fermion `(Ls, T, Z, Y, X, 4, 3)`; in memory s is faster than the site. Its components need not be finite.
pub fn read_fermion5(path: &Path) -> Result<Fermion5Array, NpyError> {
    read_complex(path)?.into_fermion5()
}

/// Reads a propagator `(T, Z, Y, X, 4, 4, 3, 3)`: sink spin, source spin, sink colour, source colour. Its components need not be finite.
pub fn read_propagator(path: &Path) -> Result<PropagatorArray, NpyError> {
    read_complex(path)?.into_propagator()
}

/// Reads a gauge configuration `(T, Z, Y, X, 4, 3, 3)`: direction x, y, z, t; row; column.
pub fn read_gauge(path: &Path) -> Result<Configuration, NpyError> {
    read_complex(path)?.into_gauge()
}

/// As [`read_complex`], from a whole file in memory.
pub fn parse(bytes: &[u8]) -> Result<ComplexArray, NpyError> {
    read_from(bytes, bytes.len() as u64)
}

/// As [`read_complex`], from a reader that contains `length` bytes. Memory is allocated according to `length`, so it must be correct. It is
/// an error if the reader ends early.
pub fn read_from(mut reader: impl Read, length: u64) -> Result<ComplexArray, NpyError> {
    let ArrayHeader { shape, precision, elements, .. } = ArrayHeader::read(&mut reader, length)?;
    let values = match precision {
        Precision::F32 => read_values(&mut reader, elements, &shape).map(ComplexValues::F32),
        Precision::F64 => read_values(&mut reader, elements, &shape).map(ComplexValues::F64),
    }?;
    Ok(ComplexArray { shape, values })
}

/// The header of a file with an array of complex numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct ArrayHeader {
    /// Extents, the slowest axis first.
    pub shape: Vec<usize>,
    /// The precision of its numbers.
    pub precision: Precision,
    elements: usize,
    /// The number of bytes before the first number.
    data_start: u64,
}

impl ArrayHeader {
    /// The lattice of a gauge configuration `(T, Z, Y, X, 4, 3, 3)`.
    pub(crate) fn gauge_extents(&self) -> Result<Extents, NpyError> {
        gauge_extents(&self.shape)
    }

    /// The lattice of a field of any object `(T, Z, Y, X, …)`.
    pub fn extents(&self) -> Result<Extents, NpyError> {
        Ok(any_field(&self.shape)?.0)
    }

    fn read(reader: &mut impl Read, length: u64) -> Result<Self, NpyError> {
        let NpyHeader { descr, fortran_order, shape, header_length } = NpyHeader::read(reader, length)?;
        let precision = match ElementType::of(&descr) {
            ElementType::Complex(precision) => precision,
            ElementType::Other(hint) => return Err(NpyError::ElementType { descr, hint }),
        };
        // An array with at most one axis longer than 1 is in both orders; NumPy writes it as C order.
        ensure!(!fortran_order, NpyError::FortranOrder);
        let elements = shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
        let sizes = elements.and_then(|n| Some((n, n.checked_mul(precision.complex_size())?)));
        let Some((elements, bytes)) = sizes else { return Err(NpyError::TooLarge { shape }) };
        let (expected, found) = (bytes as u64, length.saturating_sub(header_length));
        ensure!(found == expected, NpyError::DataLength { shape, precision, expected, found });
        Ok(Self { shape, precision, elements, data_start: header_length })
    }
}

/// Reads the numbers of an array one after the other.
pub struct Reader<R> {
    file: BufReader<File>,
    shape: Vec<usize>,
    precision: PhantomData<R>,
}

impl<R: ArrayReal> Reader<R> {
    /// Opens a file whose numbers have the precision of `R`.
    pub fn open(path: &Path) -> Result<Self, NpyError> {
        let (mut file, length) = open(path)?;
        let ArrayHeader { shape, precision, data_start, .. } = ArrayHeader::read(&mut file, length)?;
        if precision != R::PRECISION {
            return Err(NpyError::ElementType { descr: precision.dtype().to_owned(), hint: ", of another precision" });
        }
        let mut file = BufReader::new(file);
        file.seek(SeekFrom::Start(data_start))?;
        Ok(Self { file, shape, precision: PhantomData })
    }

    /// The next `count` numbers.
    ///
    /// # Errors
    /// If the file cannot be read, or ends early.
    pub fn next(&mut self, count: usize) -> io::Result<Vec<Complex<R>>>
    where
        R: Pod,
    {
        read_values(&mut self.file, count, &self.shape).map_err(io::Error::other)
    }
}

fn read_values<R>(reader: &mut impl Read, elements: usize, shape: &[usize]) -> Result<Vec<Complex<R>>, NpyError>
where
    R: ArrayReal + Pod,
{
    let mut values: Vec<Complex<R>> = Vec::new();
    values.try_reserve_exact(elements).map_err(|_| NpyError::OutOfMemory {
        shape: shape.to_owned(),
        bytes: (elements * R::PRECISION.complex_size()) as u64,
    })?;
    values.resize(elements, bytemuck::Zeroable::zeroed());
    reader.read_exact(bytemuck::cast_slice_mut(&mut values))?;
    for z in &mut values {
        // The same operation in both directions; nothing at all on a little-endian machine.
        *z = Complex::new(z.re.to_little_endian(), z.im.to_little_endian());
    }
    Ok(values)
}
