//! Reads and writes the sites of a lattice in a file by their position. Sites are in site order, and each rank touches only its own.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use lanefield_reference::gauge::{Configuration, GaugeError, SITE_WORDS, SU3_TOLERANCE};
use lanefield_reference::layout::{Coordinate, Extents};
use num_complex::Complex;

use super::stored_links::{FloatingPoint, StoredRows, decode, encode};

/// What is required of links that are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Demand {
    /// The links must be in SU(3).
    Su3,
    /// The links must be finite. They are projected to SU(3) next.
    Finite,
}

impl Demand {
    /// Refuses links that do not meet the demand.
    pub(super) fn require(self, configuration: &Configuration) -> Result<(), GaugeError> {
        match self {
            Self::Su3 => configuration.require_su3(SU3_TOLERANCE),
            Self::Finite => configuration.require_finite(),
        }
    }
}

/// The links as a reader will get them from the file: rounded, and with the third row rebuilt if it is not stored. Refuses links that a
/// reader would refuse.
pub(super) fn as_stored(
    configuration: &Configuration,
    rows: StoredRows,
    floating_point: FloatingPoint,
) -> Result<Cow<'_, Configuration>, GaugeError> {
    configuration.require_su3(SU3_TOLERANCE)?;
    if (rows, floating_point.size()) == (StoredRows::Three, 8) {
        return Ok(Cow::Borrowed(configuration));
    }
    let stored = configuration.with_changed_links(|links| {
        let mut decoded = Vec::with_capacity(links.len());
        encode(links, rows, floating_point, |bytes| decode(bytes, rows, floating_point, &mut decoded));
        links.copy_from_slice(&decoded);
    });
    stored.require_su3(SU3_TOLERANCE)?;
    Ok(Cow::Owned(stored))
}

/// An array over a lattice in a file.
pub(super) struct SitesOfFile<F = File> {
    file: F,
    /// The position of its first site.
    start: u64,
    site_bytes: usize,
    extents: Extents,
    /// The row along x that was read last, with its number.
    row: (usize, Vec<u8>),
}

impl<F: Seek> SitesOfFile<F> {
    /// The array over the whole lattice `extents` that begins at `start`.
    pub(super) fn new(file: F, start: u64, site_bytes: usize, extents: Extents) -> Self {
        Self { file, start, site_bytes, extents, row: (usize::MAX, Vec::new()) }
    }

    /// The bytes of a site. A whole row is read at a time.
    pub(super) fn site(&mut self, x: Coordinate) -> io::Result<&[u8]>
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

    /// Writes consecutive sites along x, beginning at `x`.
    pub(super) fn write(&mut self, x: Coordinate, bytes: &[u8]) -> io::Result<()>
    where
        F: Write,
    {
        self.write_at(self.start + (self.extents.site(x) * self.site_bytes) as u64, bytes)
    }

    /// Writes bytes at a position in the file.
    pub(super) fn write_at(&mut self, position: u64, bytes: &[u8]) -> io::Result<()>
    where
        F: Write,
    {
        self.file.seek(SeekFrom::Start(position))?;
        self.file.write_all(bytes)
    }
}

impl<F: Read + Seek> SitesOfFile<F> {
    /// The links of a local volume and of the sites around it, not yet checked. `add` receives each site of the local volume: its number in
    /// the whole lattice, and its bytes.
    pub(super) fn links(
        &mut self,
        part: Extents,
        floating_point: FloatingPoint,
        mut add: impl FnMut(usize, &[u8]),
    ) -> io::Result<Configuration> {
        let (whole, mut own, mut links) = (self.extents, part.volume(), Vec::new());
        // The sites of the local volume come first, then those around it.
        Configuration::from_sites(part, |x, site| {
            let bytes = self.site(x)?;
            if own > 0 {
                own -= 1;
                add(whole.site(x), bytes);
            }
            links.clear();
            decode(bytes, StoredRows::Three, floating_point, &mut links);
            site.copy_from_slice(&links);
            Ok(())
        })
    }
}

impl<F: Write + Seek> SitesOfFile<F> {
    /// Writes the links of a local volume.
    pub(super) fn write_links(
        &mut self,
        configuration: &Configuration,
        rows: StoredRows,
        floating_point: FloatingPoint,
    ) -> io::Result<()> {
        let part = configuration.extents();
        for (row, links) in configuration.links().chunks_exact(part[0] * SITE_WORDS).enumerate() {
            let x = part.in_whole(part.coordinate(row * part[0]).map(|x| x as isize));
            let mut run = Vec::new();
            encode(links, rows, floating_point, |bytes| run.extend(bytes));
            self.write(x, &run)?;
        }
        Ok(())
    }
}

/// Adds each site of a local volume in the form of a file with three rows, by its number in the whole lattice.
pub(super) fn each_site(
    configuration: &Configuration,
    floating_point: FloatingPoint,
    mut add: impl FnMut(usize, &[u8]),
) {
    let (part, mut bytes) = (configuration.extents(), Vec::new());
    for (site, links) in configuration.links().chunks_exact(SITE_WORDS).enumerate() {
        bytes.clear();
        encode(links, StoredRows::Three, floating_point, |encoded| bytes.extend(encoded));
        add(part.global_site(site) as usize, &bytes);
    }
}

/// Checks that there is memory for the links of a local volume; otherwise returns the number of bytes that are needed.
pub(super) fn require_room(part: Extents) -> Result<(), usize> {
    let words = part.volume().saturating_mul(SITE_WORDS);
    let mut room: Vec<Complex<f64>> = Vec::new();
    room.try_reserve_exact(words).map_err(|_| words.saturating_mul(size_of::<Complex<f64>>()))
}
