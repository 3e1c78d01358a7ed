//! A file of which no more is read than a sound one needs.

use std::io::{Read, Seek};
use std::sync::atomic::{AtomicU64, Ordering};

use hdf5_pure::{FormatError, ReadSeekSource, Source};

use super::stored::PARTS;

/// A file, of which no more is read than a sound one needs. The trees of a damaged file may be circles, in which the
/// parsers of `hdf5_pure` go round until they are as deep as they allow: a node with two branches is then read
/// exponentially often.
pub(super) struct Metered<R> {
    file: ReadSeekSource<R>,
    /// What may still be read, in bytes. A read counts as [`Self::READ`] bytes besides its own.
    left: AtomicU64,
}

impl<R: Read + Seek> Metered<R> {
    const READ: u64 = 256;

    pub(super) fn new(reader: R) -> Result<Self, FormatError> {
        let file = ReadSeekSource::new(reader)?;
        // Numbers are read once, and the index of their chunks once a part.
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
