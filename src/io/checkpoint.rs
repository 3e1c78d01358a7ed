//! Checkpoints: the state of a solver in a file that is written whole or not at all. A solve that was killed resumes from it to the same
//! bits.
//!
//! The file contains, in this order:
//!
//! 1. the magic line `lanefield checkpoint\n`
//! 2. the length of the header, a little-endian u64
//! 3. the header in JSON: the version of the format, the identity of the solve, and the names and lengths of all data
//! 4. the data in little-endian f64: first the scalars, then the fields, whose real and imaginary parts alternate
//! 5. the SHA-256 of all that, 32 bytes

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use lanefield_reference::ensure;
use num_complex::Complex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::atomic::{WriteError, write_atomically};
use super::identity::{Identity, IdentityMismatch};
use crate::comm::WholeLattice;

const MAGIC: &[u8] = b"lanefield checkpoint\n";
/// The version of the format that is written, and the only one that is read.
pub(crate) const CHECKPOINT_VERSION: u64 = 1;
/// Bytes before the header.
const PREFIX: u64 = MAGIC.len() as u64 + 8;
const DIGEST: u64 = 32;
/// The maximum length of a header: names are few, and a batch has at most a thousand right-hand sides.
const MOST_HEADER: u64 = 1 << 24;

/// The state of a recurrence.
#[derive(Clone, PartialEq, Debug, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub struct SavedState {
    pub recurrence: String,
    pub scalars: Vec<(String, Vec<f64>)>,
    pub fields: Vec<SavedField>,
}

/// A field in site order.
#[derive(Clone, PartialEq, Debug)]
pub struct SavedField {
    /// Its name in the recurrence, for example "r".
    pub name: String,
    /// The precision of its numbers.
    pub precision: String,
    /// Complex words a site.
    pub words: usize,
    /// The words of its sites, in site order; exact in f64.
    pub values: Vec<Complex<f64>>,
}

/// Why a checkpoint was not read. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum CheckpointError {
    #[error("cannot read {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("it is not a checkpoint: it does not begin with 'lanefield checkpoint'")]
    NotACheckpoint,
    #[error(
        "it has version {found} of the format, and this program reads version {CHECKPOINT_VERSION}: use the program that wrote it"
    )]
    Version { found: u64 },
    #[error("it is truncated: it has {found} bytes, not {expected}")]
    Truncated { expected: u64, found: u64 },
    #[error("it has {found} bytes, and should end after {expected}")]
    Oversized { expected: u64, found: u64 },
    #[error("its header is damaged: {what}")]
    Header { what: String },
    #[error("it is damaged: the SHA-256 of its content is {found}, and it says {expected}")]
    Digest { expected: String, found: String },
    #[error(
        "it holds {found}, and not the state of this computation: give a file that the same command wrote as its --checkpoint"
    )]
    OtherKind { found: String },
    #[error(transparent)]
    OtherSolve(#[from] IdentityMismatch),
}

#[derive(Serialize, Deserialize)]
struct CheckpointHeader {
    version: u64,
    identity: Identity,
    recurrence: String,
    scalars: Vec<ScalarsHeader>,
    fields: Vec<FieldHeader>,
}

#[derive(Serialize, Deserialize)]
struct ScalarsHeader {
    name: String,
    length: u64,
}

#[derive(Serialize, Deserialize)]
struct FieldHeader {
    name: String,
    precision: String,
    words: usize,
    length: u64,
}

/// The version, read from a header before the rest of it is understood.
#[derive(Deserialize)]
struct Version {
    version: u64,
}

impl CheckpointHeader {
    fn of(identity: &Identity, state: &SavedState, lattice: &WholeLattice) -> Self {
        let scalars = state.scalars.iter();
        let fields = state.fields.iter();
        Self {
            version: CHECKPOINT_VERSION,
            identity: identity.clone(),
            recurrence: state.recurrence.clone(),
            scalars: scalars.map(|(name, v)| ScalarsHeader { name: name.clone(), length: v.len() as u64 }).collect(),
            fields: fields
                .map(|field| FieldHeader {
                    name: field.name.clone(),
                    precision: field.precision.clone(),
                    words: field.words,
                    // For the whole lattice.
                    length: (field.values.len() as u128 * lattice.extents().volume() as u128
                        / lattice.part().volume() as u128) as u64,
                })
                .collect(),
        }
    }

    /// The size of all data in bytes; `None` if it is too large for any file.
    fn data_bytes(&self) -> Option<u64> {
        let scalars = self.scalars.iter().map(|scalars| scalars.length.checked_mul(8));
        let fields = self.fields.iter().map(|field| field.length.checked_mul(16));
        scalars.chain(fields).try_fold(0u64, |sum, bytes| sum.checked_add(bytes?))
    }
}

/// Passes bytes through and hashes them.
struct Hashing<T> {
    inner: T,
    hasher: Sha256,
    /// A rank that does not hash need not read everything.
    hashes: bool,
}

impl<T> Hashing<T> {
    fn new(inner: T) -> Self {
        Self { inner, hasher: Sha256::new(), hashes: true }
    }
}

impl<T: Write> Hashing<T> {
    fn numbers(&mut self, numbers: impl Iterator<Item = f64>) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(BLOCK);
        for number in numbers {
            bytes.extend(number.to_le_bytes());
            if bytes.len() >= BLOCK {
                self.write_all(&bytes)?;
                bytes.clear();
            }
        }
        self.write_all(&bytes)
    }
}

/// The number of bytes that are hashed at a time.
const BLOCK: usize = 1 << 16;

impl<T: Write> Write for Hashing<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Hashing<T> {
    /// Reads `count` items of `REALS` numbers each.
    fn numbers_of<I, const REALS: usize>(&mut self, count: u64, of: impl Fn([f64; REALS]) -> I) -> io::Result<Vec<I>> {
        let no_room = || {
            let bytes = count.saturating_mul(size_of::<I>() as u64);
            io::Error::new(io::ErrorKind::OutOfMemory, format!("not enough host memory for {bytes} bytes of it"))
        };
        let mut items = Vec::new();
        items.try_reserve_exact(usize::try_from(count).map_err(|_| no_room())?).map_err(|_| no_room())?;
        let mut bytes = [0; BLOCK];
        let mut left = count;
        while left > 0 {
            let now = left.min((BLOCK / (8 * REALS)) as u64);
            let block = &mut bytes[..8 * REALS * now as usize];
            self.read_exact(block)?;
            let (numbers, _) = block.as_chunks::<8>();
            let (groups, _) = numbers.as_chunks::<REALS>();
            items.extend(groups.iter().map(|group| of(group.map(f64::from_le_bytes))));
            left -= now;
        }
        Ok(items)
    }
}

impl<T: Read + Seek> Hashing<T> {
    /// Reads the local volume of this rank from a field of `count` numbers.
    fn part_of_field(&mut self, count: u64, lattice: &WholeLattice) -> io::Result<Vec<Complex<f64>>> {
        let number = |[re, im]: [f64; 2]| Complex::new(re, im);
        let (whole, part) = (lattice.extents(), lattice.part());
        let rows = (whole.volume() / whole[0]) as u64;
        if !part.is_part() || !count.is_multiple_of(rows) {
            return self.numbers_of(count, number);
        }
        let of_row = |sites: usize| count / rows * sites as u64 / whole[0] as u64;
        let [x0, ..] = part.origin();
        let mut values = Vec::new();
        let mut skipped = 0;
        for row in 0..whole.volume() / whole[0] {
            let [_, y, z, t] = whole.coordinate(row * whole[0]);
            if part.here([x0, y, z, t]).is_none() {
                skipped += of_row(whole[0]);
                continue;
            }
            self.skip(16 * (skipped + of_row(x0)))?;
            values.extend(self.numbers_of(of_row(part[0]), number)?);
            skipped = of_row(whole[0]) - of_row(x0) - of_row(part[0]);
        }
        self.skip(16 * skipped)?;
        Ok(values)
    }

    /// Skips a number of bytes.
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        match self.hashes {
            true => io::copy(&mut self.by_ref().take(bytes), &mut io::sink()).map(drop),
            false => self.inner.seek_relative(bytes as i64),
        }
    }
}

impl<T: Read> Read for Hashing<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        if self.hashes {
            self.hasher.update(&bytes[..read]);
        }
        Ok(read)
    }
}

/// Writes the state of the solve `identity`, whole or not at all. `state` is that of this rank. Rank 0 writes the file, whose bytes do not
/// depend on the number of ranks. Errors are reported at rank 0; an existing file is then unchanged.
pub fn write(path: &Path, identity: &Identity, state: &SavedState, lattice: &WholeLattice) -> Result<(), WriteError> {
    let mut fields = lattice.arrays(state.fields.len(), |field| Ok(Cow::Borrowed(&state.fields[field].values[..])));
    if !lattice.is_first() {
        return Ok(());
    }
    write_atomically(path, |writer| {
        let header = serde_json::to_vec(&CheckpointHeader::of(identity, state, lattice))?;
        let mut writer = Hashing::new(writer);
        writer.write_all(MAGIC)?;
        writer.write_all(&(header.len() as u64).to_le_bytes())?;
        writer.write_all(&header)?;
        for (_, values) in &state.scalars {
            writer.numbers(values.iter().copied())?;
        }
        fields.rest(&mut |slice| writer.numbers(slice.iter().flat_map(|z| [z.re, z.im])))?;
        let Hashing { inner, hasher, .. } = writer;
        inner.write_all(&hasher.finalize())
    })
}

/// Refuses the state of another solve. An identity with other names belongs to another kind of solve.
fn check(ours: &Identity, theirs: &Identity, state: &SavedState) -> Result<(), CheckpointError> {
    match ours.has_names_of(theirs) {
        true => Ok(ours.check(theirs)?),
        false => Err(CheckpointError::OtherKind { found: state.recurrence.clone() }),
    }
}

/// Reads the state of the solve `identity`; of fields, each rank returns its local volume. Rank 0 reads the whole file and checks the
/// digest; the others read only their data. A damaged file is reported at rank 0 alone. Memory for data is allocated only after the length
/// of the file was checked.
pub fn read(path: &Path, identity: &Identity, lattice: &WholeLattice) -> Result<SavedState, CheckpointError> {
    let failed = |source| CheckpointError::Read { path: path.to_owned(), source };
    let open = || {
        let metadata = fs::metadata(path)?;
        match metadata.is_file() {
            true => Ok((BufReader::new(File::open(path)?), metadata.len())),
            false => Err(io::Error::other("it is not a file")),
        }
    };
    let (file, length) = open().map_err(failed)?;
    read_from(file, length, identity, lattice, failed)
}

fn read_from(
    reader: impl Read + Seek,
    found: u64,
    identity: &Identity,
    lattice: &WholeLattice,
    failed: impl Fn(io::Error) -> CheckpointError,
) -> Result<SavedState, CheckpointError> {
    let mut reader = Hashing { hashes: lattice.is_first(), ..Hashing::new(reader) };
    let mut magic = vec![0; MAGIC.len().min(found as usize)];
    reader.read_exact(&mut magic).map_err(&failed)?;
    ensure!(MAGIC.starts_with(&magic) && !magic.is_empty(), CheckpointError::NotACheckpoint);
    let require = |expected: u64| match found < expected {
        true => Err(CheckpointError::Truncated { expected, found }),
        false => Ok(()),
    };
    require(PREFIX + DIGEST)?;
    let mut length = [0; 8];
    reader.read_exact(&mut length).map_err(&failed)?;
    let header_length = u64::from_le_bytes(length);
    if header_length > MOST_HEADER {
        return Err(CheckpointError::Header { what: format!("it would have {header_length} bytes") });
    }
    require(PREFIX + header_length + DIGEST)?;
    let mut header = vec![0; header_length as usize];
    reader.read_exact(&mut header).map_err(&failed)?;
    let damaged = |error: serde_json::Error| CheckpointError::Header { what: error.to_string() };
    let Version { version } = serde_json::from_slice(&header).map_err(damaged)?;
    ensure!(version == CHECKPOINT_VERSION, CheckpointError::Version { found: version });
    let header: CheckpointHeader = serde_json::from_slice(&header).map_err(damaged)?;
    let data = header.data_bytes().and_then(|data| data.checked_add(PREFIX + header_length + DIGEST));
    let expected =
        data.ok_or_else(|| CheckpointError::Header { what: "its data would be larger than any file".to_owned() })?;
    require(expected)?;
    ensure!(found <= expected, CheckpointError::Oversized { expected, found });

    let mut state = SavedState { recurrence: header.recurrence, ..SavedState::default() };
    for ScalarsHeader { name, length } in header.scalars {
        state.scalars.push((name, reader.numbers_of(length, |[number]| number).map_err(&failed)?));
    }
    for FieldHeader { name, precision, words, length } in header.fields {
        let values = reader.part_of_field(length, lattice).map_err(&failed)?;
        state.fields.push(SavedField { name, precision, words, values });
    }
    let Hashing { mut inner, hasher, hashes } = reader;
    if !hashes {
        check(identity, &header.identity, &state)?;
        return Ok(state);
    }
    let mut digest = [0; DIGEST as usize];
    inner.read_exact(&mut digest).map_err(&failed)?;
    let computed = hasher.finalize();
    if computed[..] != digest[..] {
        return Err(CheckpointError::Digest { expected: hex::encode(digest), found: hex::encode(computed) });
    }
    check(identity, &header.identity, &state)?;
    Ok(state)
}

#[cfg(test)]
mod tests {
    use lanefield_reference::layout::{Extents, Parity};

    use super::*;
    use crate::comm::{Communicator as _, Decomposition, ThreadRanks};

    fn identity() -> Identity {
        Identity::default().with("operator", "wilson").with("mass", 0.1)
    }

    fn alone() -> WholeLattice {
        WholeLattice::alone(Extents::new([1, 1, 1, 1]).unwrap())
    }

    fn state() -> SavedState {
        let values = vec![Complex::new(0.5, -0.0), Complex::new(f64::MIN_POSITIVE / 4.0, 1e300)];
        let field = SavedField { name: "r".to_owned(), precision: "f64".to_owned(), words: 2, values };
        SavedState {
            recurrence: "conjugate gradients".to_owned(),
            scalars: vec![("history".to_owned(), vec![3.0, 1e-17])],
            fields: vec![field],
        }
    }

    /// The bytes of a checkpoint.
    fn written() -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("checkpoint");
        write(&path, &identity(), &state(), &alone()).unwrap();
        assert_eq!(read(&path, &identity(), &alone()).unwrap(), state());
        fs::read(&path).unwrap()
    }

    fn parsed(bytes: &[u8]) -> Result<SavedState, CheckpointError> {
        let failed = |source| CheckpointError::Read { path: PathBuf::new(), source };
        read_from(io::Cursor::new(bytes), bytes.len() as u64, &identity(), &alone(), failed)
    }

    #[test]
    fn a_state_comes_back_to_the_bit() {
        let back = parsed(&written()).unwrap();
        assert_eq!(back, state());
        assert!(back.fields[0].values[0].im.is_sign_negative());
    }

    #[test]
    fn ranks_write_the_bytes_of_one_and_read_what_others_wrote() {
        let directory = tempfile::tempdir().unwrap();
        let whole = Extents::new([4, 6, 4, 8]).unwrap();
        // One field on all sites, one on the odd ones.
        let numbers = |extents: Extents| {
            let all = (0..extents.volume()).map(|site| Complex::new(extents.global_site(site) as f64, -1.0));
            let odd = |site: &usize| Parity::of(extents.coordinate(*site)) == Parity::Odd;
            let sites = (0..extents.volume()).filter(odd);
            let odd = sites.map(|site| Complex::new(-(extents.global_site(site) as f64), 2.0));
            let field = |name: &str, values| SavedField {
                name: name.to_owned(),
                precision: "f64".to_owned(),
                words: 1,
                values,
            };
            let fields = vec![field("all", all.collect()), field("odd", odd.collect())];
            SavedState { fields, ..state() }
        };
        let cuts = ["1.1.1.1", "1.1.2.2", "2.1.1.3", "2.3.2.1"];
        let paths = cuts.map(|cut| directory.path().join(cut));
        let on = |cut: &str, work: &(dyn Fn(&WholeLattice) + Sync)| {
            let decomposition = Decomposition::new(whole, cut.parse().unwrap()).unwrap();
            let ranks = decomposition.cut().ranks();
            ThreadRanks::run(ranks, |comm| {
                assert!(comm.rank() < ranks);
                work(&WholeLattice::new(std::sync::Arc::new(comm), decomposition));
            });
        };
        for (cut, path) in cuts.iter().zip(&paths) {
            on(cut, &|lattice| write(path, &identity(), &numbers(lattice.part()), lattice).unwrap());
            assert_eq!(fs::read(path).unwrap(), fs::read(&paths[0]).unwrap(), "{cut}");
            on(cut, &|lattice| {
                let back = read(&paths[0], &identity(), lattice).unwrap();
                assert_eq!(back, numbers(lattice.part()), "{cut}");
            });
        }
        // If the file cannot be written, no rank is left waiting.
        on("1.1.1.2", &|lattice| {
            let path = directory.path().join("nowhere/state");
            assert_eq!(write(&path, &identity(), &numbers(lattice.part()), lattice).is_err(), lattice.is_first());
        });
        // A file that is damaged in another rank's data is refused.
        let mut bytes = fs::read(&paths[0]).unwrap();
        let end = bytes.len();
        bytes[end - 40] ^= 1;
        fs::write(&paths[1], bytes).unwrap();
        on("1.1.1.2", &|lattice| {
            assert_eq!(read(&paths[1], &identity(), lattice).is_err(), lattice.is_first());
        });
    }

    #[test]
    fn every_shorter_file_is_refused_and_every_longer_one() {
        let whole = written();
        for length in 0..whole.len() {
            let error = parsed(&whole[..length]).unwrap_err();
            let expected = match length {
                0 => matches!(error, CheckpointError::NotACheckpoint),
                _ => matches!(error, CheckpointError::Truncated { found, .. } if found == length as u64),
            };
            assert!(expected, "{length}: {error}");
        }
        assert!(matches!(parsed(&[&whole[..], &[0]].concat()), Err(CheckpointError::Oversized { .. })));
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let whole = written();
        let flipped = |bit: usize| {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            parsed(&bytes)
        };
        for bit in 0..8 * whole.len() {
            assert!(flipped(bit).is_err(), "bit {bit}");
        }
        let error = flipped(8 * (whole.len() - 40)).unwrap_err();
        assert!(matches!(error, CheckpointError::Digest { .. }), "{error}");
    }

    #[test]
    fn another_version_is_refused_by_its_number() {
        let mut bytes = written();
        let text = b"\"version\":1";
        let at = bytes.windows(text.len()).position(|window| window == text).unwrap();
        bytes[at + text.len() - 1] = b'7';
        let error = parsed(&bytes);
        assert!(matches!(error, Err(CheckpointError::Version { found: 7 })), "{error:?}");
    }

    #[test]
    fn another_solve_is_refused_by_what_differs() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("checkpoint");
        write(&path, &identity().with("precision", "f32"), &state(), &alone()).unwrap();
        let error = read(&path, &identity().with("precision", "f64"), &alone()).unwrap_err();
        assert!(matches!(&error, CheckpointError::OtherSolve(mismatch) if mismatch.name == "precision"), "{error}");
    }
}
