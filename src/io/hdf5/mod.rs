//! Reads and writes arrays of complex numbers in HDF5 files (`.h5`). The format is that of the HDF5 library; the crate `hdf5_pure`
//! implements it. `npy` is the counterpart for NumPy's own format.
//!
//! A complex number is stored as h5py stores complex64 and complex128: a compound of two floats, the real part first. Two other forms can
//! be read. Other lattice programs write real arrays whose last axis is 2. QDP++ writes fields whose elements are arrays; their axes follow
//! those of the dataset.
//!
//! The sizes that a file states are compared with its length before memory is allocated, and `Metered` bounds how much is read.

mod error;
mod metered;
mod stored;

use std::collections::VecDeque;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::thread;

use hdf5_pure::{
    AttrValue, CompoundTypeBuilder, Dataset, Datatype, DatatypeByteOrder, FileBuilder, FormatError, LibVer,
    Source as _, make_f32_type, make_f64_type,
};
use lanefield_reference::ensure;
use num_complex::Complex;
use sha2::{Digest as _, Sha256};

use super::atomic::write_atomically;
use super::npy::{ComplexArray, ComplexValues, Precision, show_shape};
use super::open::{first_bytes, open};
pub use error::Hdf5Error;
use error::{MOST_GROUPS, one_line};
use metered::Metered;
use stored::{Stored, StoredNumbers, product};

/// The maximum number of nested groups in a search for a dataset. Groups may contain each other, so an unlimited search might not end.
const MOST_DEPTH: usize = 32;

/// The size of the stack on which a file is parsed, in bytes: enough for 8191 levels of a type, each of up to 10 kB in a debug build.
/// Unused stack takes no memory.
const STACK: usize = 256 << 20;

/// Whether a file begins like an HDF5 file.
pub fn is_hdf5(path: &Path) -> bool {
    first_bytes(path) == Some(*b"\x89HDF")
}

/// Reads the dataset at a path in the file (`"a/b/c"`), or the only dataset of complex numbers in any group.
///
/// Numbers need not be finite. A real array of two or more axes, the last of which is 2, loses that axis. Soft and external links are not
/// followed. If groups are of the old kind (h5py's default) and contain soft links, the dataset must be named. Memory for the numbers is
/// allocated only if the file is long enough to contain them.
pub fn read_complex(path: &Path, dataset: Option<&str>) -> Result<ComplexArray, Hdf5Error> {
    read_from(open(path)?.0, dataset)
}

/// As [`read_complex`], from an open file or from memory.
pub fn read_from(reader: impl Read + Seek + Send + 'static, dataset: Option<&str>) -> Result<ComplexArray, Hdf5Error> {
    // `hdf5_pure` descends into a type by calling itself, a level for every 8 bytes of the file: a type as large as it
    // may be overflows the stack of a usual thread. Where arithmetic is checked, some files with wrong numbers make it
    // panic (fixed_array.rs, a shift), which `join` turns into an error.
    let read = || read_here(reader, dataset);
    let thread = thread::Builder::new().name("hdf5".to_owned()).stack_size(STACK);
    thread::scope(|scope| {
        let reading = thread.spawn_scoped(scope, read).map_err(Hdf5Error::Thread)?;
        reading.join().unwrap_or(Err(Hdf5Error::Parser))
    })
}

fn read_here(reader: impl Read + Seek + Send + 'static, dataset: Option<&str>) -> Result<ComplexArray, Hdf5Error> {
    let source = Metered::new(reader).map_err(hdf5_pure::Error::from)?;
    let length = source.len();
    let file = hdf5_pure::File::from_source(source)?;
    let (path, dataset) = match dataset {
        Some(path) => (path.to_owned(), named_dataset(&file, path)?),
        None => only_complex_dataset(&file)?,
    };
    let kind = DatasetKind::of(&dataset)?;
    match kind.numbers {
        Some(numbers) => {
            // Attributes of other programs may be of any type.
            let attributes = dataset.attrs().unwrap_or_default();
            let seal = attributes.get(SEAL).and_then(|seal| seal.as_str()).map(str::to_owned);
            let array = Stored { path: path.clone(), dataset, numbers, length }.read()?;
            match seal.is_none_or(|seal| seal == seal_of(&array)) {
                true => Ok(array),
                false => Err(Hdf5Error::Damaged { dataset: path }),
            }
        }
        None => Err(Hdf5Error::NotComplex { dataset: path, found: kind.description }),
    }
}

fn named_dataset(file: &hdf5_pure::File, path: &str) -> Result<Dataset, Hdf5Error> {
    use hdf5_pure::Error::{Format, NotADataset, NotAGroup};
    match file.dataset(path) {
        Err(Format(FormatError::PathNotFound(_)) | NotADataset(_) | NotAGroup(_)) => {
            let there = all_datasets(file)?.iter().map(|(path, dataset)| described(path, dataset)).collect();
            Err(Hdf5Error::NotFound { dataset: path.to_owned(), there })
        }
        other => Ok(other?),
    }
}

fn only_complex_dataset(file: &hdf5_pure::File) -> Result<(String, Dataset), Hdf5Error> {
    let all = all_datasets(file)?;
    // An unknown type (strings of a later version, for example) is not a complex number.
    let is_complex = |dataset: &Dataset| DatasetKind::of(dataset).is_ok_and(|kind| kind.numbers.is_some());
    let (mut complex, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, dataset)| is_complex(dataset));
    match (complex.len(), complex.pop()) {
        (1, Some((path, only))) => Ok((one_line(&path), only)),
        (_, None) => Err(Hdf5Error::NoneComplex {
            there: others.iter().map(|(path, dataset)| described(path, dataset)).collect(),
        }),
        (_, Some(last)) => {
            let names = complex.iter().chain([&last]).map(|(path, _)| one_line(path)).collect();
            Err(Hdf5Error::Several { names })
        }
    }
}

/// A dataset with its type and shape: `a/b: f64 (4, 4)`.
fn described(path: &str, dataset: &Dataset) -> String {
    let kind = DatasetKind::of(dataset).map_or_else(|_| "of an unknown type".to_owned(), |kind| kind.description);
    format!("{}: {kind}", one_line(path))
}

/// All datasets with their paths, in alphabetical order.
fn all_datasets(file: &hdf5_pure::File) -> Result<Vec<(String, Dataset)>, Hdf5Error> {
    let mut found = Vec::new();
    let mut groups = VecDeque::from([(String::new(), 0, file.root())]);
    let mut seen = 1;
    while let Some((prefix, depth, group)) = groups.pop_front() {
        found.extend(
            group
                .iter_datasets()
                .map_err(Hdf5Error::Search)?
                .map(|(name, dataset)| (format!("{prefix}{name}"), dataset)),
        );
        if depth == MOST_DEPTH {
            continue;
        }
        for (name, group) in group.iter_groups().map_err(Hdf5Error::Search)? {
            seen += 1;
            ensure!(seen <= MOST_GROUPS, Hdf5Error::TooManyGroups);
            groups.push_back((format!("{prefix}{name}/"), depth + 1, group));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// The type of a dataset's elements.
struct DatasetKind {
    /// Type and shape, for messages.
    description: String,
    /// How the numbers are stored, if they are complex.
    numbers: Option<StoredNumbers>,
}

impl DatasetKind {
    fn of(dataset: &Dataset) -> Result<Self, hdf5_pure::Error> {
        let (datatype, extents) = (dataset.datatype()?, dataset.shape()?);
        let description = one_line(&format!("{datatype} {}", show_shape(&extents)));
        // Elements that are arrays have their own axes.
        let (mut shape, mut scalar) = (extents.clone(), &datatype);
        while let Datatype::Array { base_type, dimensions } = scalar {
            shape.extend(dimensions.iter().map(|&dimension| u64::from(dimension)));
            scalar = base_type;
        }
        let in_element = product(&shape[extents.len()..]);
        let element = |bytes: usize| in_element.and_then(|count| count.checked_mul(bytes as u64));
        let numbers = match scalar {
            Datatype::Compound { size, members } => match members.as_slice() {
                [first, second] if are_parts(&first.name, &second.name) && first.datatype == second.datatype => {
                    let half = u64::from(*size / 2);
                    float(&first.datatype)
                        .filter(|(precision, _)| *size as usize == precision.complex_size())
                        .filter(|_| first.byte_offset == 0 && second.byte_offset == half)
                        .and_then(|(precision, big_endian)| {
                            let element = element(precision.complex_size())?;
                            Some(StoredNumbers { shape, precision, big_endian, extents, element })
                        })
                }
                _ => None,
            },
            other => match (float(other), shape.split_last()) {
                // An array of only two numbers may be anything.
                (Some((precision, big_endian)), Some((2, axes))) if !axes.is_empty() => {
                    let shape = axes.to_vec();
                    let element = element(precision.complex_size() / 2);
                    element.map(|element| StoredNumbers { shape, precision, big_endian, extents, element })
                }
                _ => None,
            },
        };
        Ok(Self { description, numbers })
    }
}

/// Whether the names of a compound's members are those of a real and an imaginary part: r and i, re and im, real and imag, x and y. Two
/// floats may have another meaning, for example a mean and its error.
fn are_parts(first: &str, second: &str) -> bool {
    let initial = |name: &str| name.trim_start_matches('_').chars().next().map(|c| c.to_ascii_lowercase());
    match (initial(first), initial(second)) {
        (Some('r'), Some('i')) => true,
        _ => first.eq_ignore_ascii_case("x") && second.eq_ignore_ascii_case("y"),
    }
}

/// The precision of an IEEE float, and whether it is big-endian.
fn float(datatype: &Datatype) -> Option<(Precision, bool)> {
    let Datatype::FloatingPoint { size, byte_order, layout } = datatype else { return None };
    let big_endian = match byte_order {
        DatatypeByteOrder::LittleEndian => false,
        DatatypeByteOrder::BigEndian => true,
        DatatypeByteOrder::Vax => return None,
    };
    let (byte_order, layout) = (DatatypeByteOrder::LittleEndian, *layout);
    let little_endian = Datatype::FloatingPoint { size: *size, byte_order, layout };
    [(make_f32_type(), Precision::F32), (make_f64_type(), Precision::F64)]
        .into_iter()
        .find(|(ieee, _)| *ieee == little_endian)
        .map(|(_, precision)| (precision, big_endian))
}

/// The attribute with the SHA-256 that a dataset had when it was written.
const SEAL: &str = "lanefield_sha256";

/// The SHA-256 of the shape, as `(4, 8)` and a newline, and of all numbers in little-endian f64.
fn seal_of(array: &ComplexArray) -> String {
    let mut digest = Sha256::new();
    let shape: Vec<u64> = array.shape.iter().map(|&extent| extent as u64).collect();
    digest.update(format!("{}\n", show_shape(&shape)));
    let mut add = |re: f64, im: f64| {
        digest.update(re.to_le_bytes());
        digest.update(im.to_le_bytes());
    };
    match &array.values {
        ComplexValues::F32(values) => values.iter().for_each(|z| add(z.re.into(), z.im.into())),
        ComplexValues::F64(values) => values.iter().for_each(|z| add(z.re, z.im)),
    }
    hex::encode(digest.finalize())
}

/// Writes a file with one dataset, whole or not at all. The numbers are compounds {r, i}, little-endian and contiguous, as h5py writes
/// complex64 and complex128. Groups in its path (`"a/b/c"`) are created. HDF5 1.8 and later can read the file.
///
/// # Errors
/// [`Hdf5Error::Name`], [`Hdf5Error::Length`], [`Hdf5Error::OutOfMemory`] (the bytes are in memory in addition to the array),
/// [`Hdf5Error::Write`].
pub fn write_complex(path: &Path, dataset: &str, array: &ComplexArray) -> Result<(), Hdf5Error> {
    let file = builder(dataset, array)?;
    Ok(write_atomically(path, |writer| emit(file, writer))?)
}

fn emit(file: FileBuilder, writer: &mut dyn Write) -> io::Result<()> {
    file.finish_to(writer).map_err(|error| match error {
        hdf5_pure::Error::Io(error) => error,
        other => io::Error::other(one_line(&other.to_string())),
    })
}

fn builder(dataset: &str, array: &ComplexArray) -> Result<FileBuilder, Hdf5Error> {
    let mut names: Vec<&str> = dataset.strip_prefix('/').unwrap_or(dataset).split('/').collect();
    if names.iter().any(|name| matches!(*name, "" | ".") || name.contains(char::is_control)) {
        return Err(Hdf5Error::Name(dataset.to_owned()));
    }
    let shape: Vec<u64> = array.shape.iter().map(|&extent| extent as u64).collect();
    let expected = if shape.contains(&0) { Some(0) } else { product(&shape) };
    if expected != Some(array.values.len() as u64) {
        let expected = expected.map_or("more than 2^64".to_owned(), |n| n.to_string());
        return Err(Hdf5Error::Length { shape, expected, found: array.values.len() });
    }
    let out_of_memory = |bytes| Hdf5Error::OutOfMemory { shape: shape.clone(), bytes };
    let (real, bytes) = match &array.values {
        ComplexValues::F32(values) => (make_f32_type(), bytes_of(values, f32::to_le_bytes).map_err(out_of_memory)?),
        ComplexValues::F64(values) => (make_f64_type(), bytes_of(values, f64::to_le_bytes).map_err(out_of_memory)?),
    };
    let complex = CompoundTypeBuilder::new().field("r", real.clone()).field("i", real).build();
    let complex = complex.map_err(hdf5_pure::Error::from)?;

    let (count, seal) = (array.values.len() as u64, AttrValue::AsciiString(seal_of(array)));
    let mut file = FileBuilder::new();
    file.with_libver_bounds(LibVer::Earliest, LibVer::V18);
    let name = names.pop().unwrap_or_default();
    let Some(innermost) = names.pop() else {
        file.create_dataset(name).with_compound_data(complex, bytes, count).with_shape(&shape).set_attr(SEAL, seal);
        return Ok(file);
    };
    let mut group = file.create_group(innermost);
    group.create_dataset(name).with_compound_data(complex, bytes, count).with_shape(&shape).set_attr(SEAL, seal);
    for outer in names.into_iter().rev() {
        let inner = std::mem::replace(&mut group, file.create_group(outer));
        group.add_group(inner.finish());
    }
    file.add_group(group.finish());
    Ok(file)
}

/// The bytes of the numbers; if there is not enough memory for them, how many bytes that would be.
fn bytes_of<R: Copy, const SIZE: usize>(values: &[Complex<R>], bytes: fn(R) -> [u8; SIZE]) -> Result<Vec<u8>, u64> {
    let needed = std::mem::size_of_val(values);
    let mut all = Vec::new();
    all.try_reserve_exact(needed).map_err(|_| needed as u64)?;
    all.extend(values.iter().flat_map(|z| [bytes(z.re), bytes(z.im)]).flatten());
    Ok(all)
}

#[cfg(test)]
mod tests;
