//! NumPy and HDF5 arrays in the orders and bases of other programs.

use std::path::Path;

use anyhow::Context as _;

use lanefield::io::hdf5::{self, Hdf5Error};
use lanefield::io::npy::{self, ComplexArray};
use lanefield::io::open::{Reopenable, begins_an_array};
use lanefield_ports::order::{Convention, OrderError, require_shape, to_ours};

use super::files::{naming_a_dataset, npy_error};

/// Whether the user named the order of an array. If not, the shape may be that of another order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Named {
    Always,
    Never,
}

/// Reads a NumPy array, or a dataset of an HDF5 file, in some order and basis. Also returns a description of the file. `option` is the flag that
/// names the order.
pub fn read(
    (path, dataset): (&Path, Option<&str>),
    convention: Convention,
    option: &str,
    named: Named,
) -> anyhow::Result<(String, ComplexArray)> {
    in_ours(path, read_array(path, dataset)?, convention, (option, named))
}

/// Reads a NumPy array, or a dataset of an HDF5 file.
pub fn read_array(path: &Path, dataset: Option<&str>) -> anyhow::Result<ComplexArray> {
    let file = Reopenable::open(path, begins_an_array)?;
    match hdf5::is_hdf5(file.path()) {
        true => hdf5::read_complex(file.path(), dataset).map_err(|error| hdf5_error(path, error)),
        false => npy::read_complex(file.path()).map_err(|error| npy_error(path, error)),
    }
}

/// An error of reading an HDF5 file, with how to name a dataset.
fn hdf5_error(path: &Path, error: Hdf5Error) -> anyhow::Error {
    let name = path.display();
    let advice = match error {
        Hdf5Error::Several { .. } | Hdf5Error::Search(_) | Hdf5Error::TooManyGroups => {
            format!(": {}", naming_a_dataset(path))
        }
        _ => String::new(),
    };
    anyhow::anyhow!("failed to read {name}: {error}{advice}")
}

/// Brings an array into our order. Also returns a description of what it was.
pub fn in_ours(
    path: &Path,
    array: ComplexArray,
    convention: Convention,
    (option, named): (&str, Named),
) -> anyhow::Result<(String, ComplexArray)> {
    let described = array.describe();
    let fits = if named == Named::Never { require_shape(&array.shape, convention.order) } else { Ok(()) };
    match fits.and_then(|()| to_ours(array, convention)) {
        Ok(array) => Ok((described, array)),
        Err(error @ OrderError::OtherOrder { found, order, .. }) => {
            let or =
                if named == Named::Never { format!(", or {option} {order} if it is not so") } else { String::new() };
            let read = format!("failed to read {}", path.display());
            Err(anyhow::anyhow!("{read}: {error}: use {option} {found}{or}"))
        }
        Err(error) => Err(error).with_context(|| format!("failed to read {}", path.display())),
    }
}
