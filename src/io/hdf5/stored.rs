//! How the numbers of a dataset are stored in the file, and what is checked before memory for them is allocated.

use std::collections::BTreeSet;

use hdf5_pure::{Dataset, FormatError, Layout};
use lanefield_reference::ensure;
use num_complex::Complex;

use super::error::Hdf5Error;
use crate::io::npy::{ComplexArray, ComplexValues, Precision, show_shape};

/// The largest expansion factor of deflate (1032), plus a little for checksums.
const MOST_INFLATION: u64 = 1040;

/// The filters that can be undone exactly: deflate, shuffle, Fletcher's checksum, LZF. None expands more than deflate.
const FILTERS: [u16; 4] = [1, 2, 3, 32000];

/// The number of pieces in which a dataset is read, so that its bytes and its numbers are not all in memory at the same time.
pub(super) const PARTS: u64 = 16;

/// How the complex numbers of a dataset are stored.
pub(super) struct StoredNumbers {
    /// The shape of the array of complex numbers.
    pub shape: Vec<u64>,
    pub precision: Precision,
    pub big_endian: bool,
    /// The extents of the dataset.
    pub extents: Vec<u64>,
    /// The size of one of its elements, in bytes.
    pub element: u64,
}

/// A dataset of complex numbers in a file.
pub(super) struct Stored {
    pub path: String,
    pub dataset: Dataset,
    pub numbers: StoredNumbers,
    /// The size of the file, in bytes.
    pub length: u64,
}

impl Stored {
    pub(super) fn read(&self) -> Result<ComplexArray, Hdf5Error> {
        let shape: Result<Vec<usize>, _> = self.numbers.shape.iter().map(|&extent| usize::try_from(extent)).collect();
        let shape = shape.map_err(|_| self.too_large())?;
        let values = match (self.numbers.precision, self.numbers.big_endian) {
            (Precision::F32, false) => ComplexValues::F32(self.values(f32::from_le_bytes)?),
            (Precision::F32, true) => ComplexValues::F32(self.values(f32::from_be_bytes)?),
            (Precision::F64, false) => ComplexValues::F64(self.values(f64::from_le_bytes)?),
            (Precision::F64, true) => ComplexValues::F64(self.values(f64::from_be_bytes)?),
        };
        Ok(ComplexArray { shape, values })
    }

    /// The numbers, whose real and imaginary parts are `SIZE` bytes each.
    fn values<R, const SIZE: usize>(&self, part: fn([u8; SIZE]) -> R) -> Result<Vec<Complex<R>>, Hdf5Error> {
        let numbers = if self.numbers.shape.contains(&0) { Some(0) } else { product(&self.numbers.shape) };
        let bytes = numbers.and_then(|n| n.checked_mul(2 * SIZE as u64)).ok_or_else(|| self.too_large())?;
        if bytes == 0 {
            return Ok(Vec::new());
        }
        let rows = self.rows_at_once(bytes)?;
        let out_of_memory = || Hdf5Error::OutOfMemory { shape: self.numbers.shape.clone(), bytes };
        let expected = usize::try_from(bytes).map_err(|_| out_of_memory())? / (2 * SIZE);
        let mut values = Vec::new();
        values.try_reserve_exact(expected).map_err(|_| out_of_memory())?;
        for first in (0..self.rows()).step_by(rows) {
            let raw = self.dataset.read_raw_rows(first, rows as u64)?;
            let (reals, _) = raw.as_chunks::<SIZE>();
            let (pairs, _) = reals.as_chunks::<2>();
            values.extend(pairs.iter().map(|&[re, im]| Complex::new(part(re), part(im))));
        }
        match values.len() == expected {
            true => Ok(values),
            false => Err(self.storage(format!("are {} and should be {expected}", values.len()))),
        }
    }

    /// The extent of the slowest axis of the dataset.
    fn rows(&self) -> u64 {
        self.numbers.extents.first().copied().unwrap_or(1)
    }

    /// The number of rows that are read at a time: whole chunks, in about [`PARTS`] pieces. Checks first that all `bytes` of the numbers
    /// are in the file, or that its compressed chunks can hold as many.
    fn rows_at_once(&self, bytes: u64) -> Result<usize, Hdf5Error> {
        let layout = self.dataset.layout().map_err(|error| match error {
            hdf5_pure::Error::Format(FormatError::InvalidLayoutVersion(version)) => self.storage(format!(
                "are laid out as by HDF5 2.0 and later (version {version}); they should be as by 1.14 (libver \"v114\")"
            )),
            other => other.into(),
        })?;
        let chunk_rows = match layout {
            Layout::Compact { size } if size == bytes => 1,
            Layout::Contiguous { address: None, .. } => return Err(self.unwritten(0, bytes, "bytes")),
            Layout::Contiguous { address: Some(address), size } if size == bytes => {
                ensure!(address.checked_add(size).is_some_and(|end| end <= self.length), self.too_large());
                1
            }
            Layout::Compact { size } | Layout::Contiguous { size, .. } => {
                return Err(self.storage(format!("are {size} bytes and should be {bytes}")));
            }
            Layout::Chunked { chunk_shape, .. } => self.check_chunks(&chunk_shape, bytes)?,
            _ => return Err(self.storage("are in other files; they should be in this one (h5repack)".to_owned())),
        };
        let rows = self.rows().div_ceil(PARTS).div_ceil(chunk_rows).saturating_mul(chunk_rows);
        usize::try_from(rows.min(self.rows())).map_err(|_| self.too_large())
    }

    /// Checks that all chunks exist and are large enough. Returns the number of rows of a chunk.
    fn check_chunks(&self, chunk: &[u64], bytes: u64) -> Result<u64, Hdf5Error> {
        let filters = self.dataset.filters();
        if let Some(filter) = filters.iter().find(|filter| !FILTERS.contains(filter)) {
            let reason = format!(
                "went through filter {filter}; only deflate, shuffle, fletcher32 and LZF are undone (h5repack -f NONE)"
            );
            return Err(self.storage(reason));
        }
        let (extents, element) = (&self.numbers.extents, self.numbers.element);
        if chunk.len() != extents.len() || chunk.contains(&0) {
            return Err(self.storage(format!("are in chunks of shape {}, which cannot be", show_shape(chunk))));
        }
        let counts: Vec<u64> = extents.iter().zip(chunk).map(|(extent, edge)| extent.div_ceil(*edge)).collect();
        let inflation = if filters.is_empty() { 1 } else { MOST_INFLATION };
        let inflated = |stored: u64| stored.saturating_mul(inflation);
        // A chunk needs at least one byte and its address. The chunks may be listed only after this check.
        let expected = product(&counts).filter(|count| count.saturating_mul(8) <= self.length);
        let chunk_bytes = product(chunk).and_then(|n| n.checked_mul(element));
        let (Some(expected), Some(chunk_bytes), true) = (expected, chunk_bytes, bytes <= inflated(self.length)) else {
            return Err(self.too_large());
        };
        let (mut places, mut stored) = (BTreeSet::new(), 0u64);
        for found in self.dataset.chunks()? {
            let end = found.address.checked_add(found.storage_size);
            if end.is_none_or(|end| end > self.length) || chunk_bytes > inflated(found.storage_size) {
                return Err(self.too_large());
            }
            stored = stored.saturating_add(found.storage_size);
            let place = || found.offset.iter().zip(extents).zip(chunk);
            if found.offset.len() == chunk.len() && place().all(|((at, extent), edge)| at % edge == 0 && at < extent) {
                places.insert(found.offset);
            }
        }
        // If chunks shared bytes, a small file could claim many numbers.
        ensure!(stored <= self.length, self.too_large());
        match places.len() as u64 == expected {
            // A damaged file may have chunks of an array without axes.
            true => Ok(chunk.first().copied().unwrap_or(1)),
            false => Err(self.unwritten(places.len() as u64, expected, "chunks")),
        }
    }

    fn too_large(&self) -> Hdf5Error {
        Hdf5Error::TooLarge { dataset: self.path.clone(), shape: self.numbers.shape.clone(), length: self.length }
    }

    fn unwritten(&self, found: u64, expected: u64, unit: &'static str) -> Hdf5Error {
        Hdf5Error::Unwritten { dataset: self.path.clone(), found, expected, unit }
    }

    fn storage(&self, reason: String) -> Hdf5Error {
        Hdf5Error::Storage { dataset: self.path.clone(), reason }
    }
}

/// The product of all extents; `None` if it overflows.
pub(super) fn product(extents: &[u64]) -> Option<u64> {
    extents.iter().try_fold(1u64, |n, &extent| n.checked_mul(extent))
}
