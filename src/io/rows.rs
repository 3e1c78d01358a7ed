//! Sites of a lattice in a file that holds them in site order, read and written by position: a rank touches what is its own.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use lanefield_reference::layout::{Coordinate, Extents};

/// An array over a lattice in a file.
pub(super) struct SitesOfFile<F = File> {
    file: F,
    /// Where its first site begins.
    start: u64,
    site_bytes: usize,
    extents: Extents,
    /// The row along x that was read last, by its number.
    row: (usize, Vec<u8>),
}

impl<F: Seek> SitesOfFile<F> {
    /// The array over the whole lattice `extents` that begins at `start`.
    pub fn new(file: F, start: u64, site_bytes: usize, extents: Extents) -> Self {
        Self { file, start, site_bytes, extents, row: (usize::MAX, Vec::new()) }
    }

    /// The bytes of a site. Those of a row are read together.
    pub fn site(&mut self, x: Coordinate) -> io::Result<&[u8]>
    where
        F: Read,
    {
        let length = self.extents[0] * self.site_bytes;
        let row = self.extents.site(x) / self.extents[0];
        if self.row.0 != row {
            self.row = (usize::MAX, std::mem::take(&mut self.row.1));
            self.row.1.resize(length, 0);
            self.file.seek(SeekFrom::Start(self.start + (row * length) as u64))?;
            self.file.read_exact(&mut self.row.1)?;
            self.row.0 = row;
        }
        Ok(&self.row.1[x[0] * self.site_bytes..][..self.site_bytes])
    }

    /// Writes sites that follow each other along x, from the one at `x` on.
    pub fn write(&mut self, x: Coordinate, bytes: &[u8]) -> io::Result<()>
    where
        F: Write,
    {
        self.write_at(self.start + (self.extents.site(x) * self.site_bytes) as u64, bytes)
    }

    /// Writes bytes anywhere in the file.
    pub fn write_at(&mut self, position: u64, bytes: &[u8]) -> io::Result<()>
    where
        F: Write,
    {
        self.file.seek(SeekFrom::Start(position))?;
        self.file.write_all(bytes)
    }
}
