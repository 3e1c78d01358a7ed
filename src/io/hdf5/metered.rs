//! A file with a limit on the number of bytes that are read.

use std::io::{Read, Seek};
use std::sync::atomic::{AtomicU64, Ordering};

use hdf5_pure::{FormatError, ReadSeekSource, Source};

use super::stored::PARTS;

/// A file from which no more is read than an intact one needs. In a damaged file the trees may contain cycles. The parsers of `hdf5_pure`
/// follow these to their maximum depth, and read a node with two branches exponentially often.
pub(super) struct Metered<R> {
    file: ReadSeekSource<R>,
    /// The bytes that may still be read. Each read counts as [`Self::READ`] bytes more than its length.
    left: AtomicU64,
}

impl<R: Read + Seek> Metered<R> {
    const READ: u64 = 256;

    pub(super) fn new(reader: R) -> Result<Self, FormatError> {
        let file = ReadSeekSource::new(reader)?;
        // Numbers are read once, and the index of their chunks once for each piece.
        let left = file.len().saturating_mul(2 * PARTS).saturating_add(16 << 20);
        Ok(Self { file, left: left.into() })
    }
}

impl<R: Read + Seek> Source for Metered<R> {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), FormatError> {
        let cost = Self::READ + buffer.len() as u64;
        match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(cost)) {
            Ok(_) => self.file.read_at(offset, buffer),
            Err(_) => Err(FormatError::Source("its parts refer to each other without end".to_owned())),
        }
    }
}
