//! LIME files (Lattice QCD Interchange Message Encapsulation, USQCD): messages that consist of records, each with a header of 144 bytes.
//! Numbers are big-endian; data are padded to eight bytes.

use std::io::{self, Read, Seek, SeekFrom, Write};

use lanefield_reference::ensure;
use thiserror::Error;

/// The first word of a record's header.
pub const MAGIC: u32 = 0x4567_89ab;
/// The size of a record's header, in bytes.
pub const HEADER: u64 = 144;
/// The maximum number of records in a file.
pub(crate) const MOST_RECORDS: usize = 10_000;

const VERSION: u16 = 1;
const BEGIN: u16 = 0x8000;
const END: u16 = 0x4000;
const KIND: usize = 128;

/// Why a file is not a valid LIME file. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum LimeError {
    #[error("reading stopped: {0}")]
    Read(#[from] io::Error),
    #[error("there is no record at byte {offset}: it begins with {found:08x}, not with 456789ab")]
    Magic { offset: u64, found: u32 },
    #[error("the record at byte {offset} has version {version}: expected 1")]
    Version { offset: u64, version: u16 },
    #[error("the record {kind} at byte {offset} needs {needed} bytes, and the file has {left} left: it is truncated")]
    Truncated { kind: String, offset: u64, needed: u64, left: u64 },
    #[error("the record at byte {0} has a type that is not ASCII text")]
    Kind(u64),
    #[error("there are more than {MOST_RECORDS} records")]
    TooMany,
}

/// A record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Its type, for example `ildg-format`.
    pub kind: String,
    /// The number of its message.
    pub message: usize,
    /// The position of its data in the file.
    pub start: u64,
    /// The length of its data, in bytes.
    pub length: u64,
}

/// The records of a file of `file_length` bytes, in order. Only headers are read.
pub fn records(reader: &mut (impl Read + Seek), file_length: u64) -> Result<Vec<Record>, LimeError> {
    let mut records = Vec::new();
    let (mut offset, mut message, mut ended) = (0, 0, true);
    while offset < file_length {
        let left = file_length - offset;
        ensure!(left >= HEADER, LimeError::Truncated { kind: "header".to_owned(), offset, needed: HEADER, left });
        reader.seek(SeekFrom::Start(offset))?;
        let mut header = [0; HEADER as usize];
        reader.read_exact(&mut header)?;
        let (fixed, kind) = header.split_at(16);
        let [magic, rest @ ..] = fixed.as_chunks::<4>().0 else { return Err(LimeError::Kind(offset)) };
        ensure!(u32::from_be_bytes(*magic) == MAGIC, LimeError::Magic { offset, found: u32::from_be_bytes(*magic) });
        let version = u16::from_be_bytes([rest[0][0], rest[0][1]]);
        ensure!(version == VERSION, LimeError::Version { offset, version });
        let flags = u16::from_be_bytes([rest[0][2], rest[0][3]]);
        let length = u64::from(u32::from_be_bytes(rest[1])) << 32 | u64::from(u32::from_be_bytes(rest[2]));
        let kind = kind.split(|&byte| byte == 0).next().unwrap_or_default();
        let kind = match std::str::from_utf8(kind) {
            Ok(kind) if kind.bytes().all(|byte| byte.is_ascii_graphic()) => kind.to_owned(),
            _ => return Err(LimeError::Kind(offset)),
        };
        let needed = HEADER.saturating_add(length);
        ensure!(needed <= left, LimeError::Truncated { kind, offset, needed, left });
        if ended || flags & BEGIN != 0 {
            message += 1;
        }
        ended = flags & END != 0;
        records.push(Record { kind, message, start: offset + HEADER, length });
        ensure!(records.len() <= MOST_RECORDS, LimeError::TooMany);
        // The padding of the last record may be missing.
        offset = (offset + HEADER + length.next_multiple_of(8)).min(file_length);
    }
    Ok(records)
}

/// The header of a record with `length` bytes of data. `begins` and `ends` say whether it is the first or the last of its message.
pub fn header(kind: &str, [begins, ends]: [bool; 2], length: u64) -> [u8; HEADER as usize] {
    let mut header = [0; HEADER as usize];
    let flags = (u16::from(begins) * BEGIN) | (u16::from(ends) * END);
    header[..4].copy_from_slice(&MAGIC.to_be_bytes());
    header[4..6].copy_from_slice(&VERSION.to_be_bytes());
    header[6..8].copy_from_slice(&flags.to_be_bytes());
    header[8..16].copy_from_slice(&length.to_be_bytes());
    let kind = &kind.as_bytes()[..kind.len().min(KIND - 1)];
    header[16..16 + kind.len()].copy_from_slice(kind);
    header
}

/// The padding after `length` bytes of data, up to the next record.
pub fn padding(length: u64) -> &'static [u8] {
    &[0; 8][..(length.next_multiple_of(8) - length) as usize]
}

/// Writes a record.
pub fn write_record(writer: &mut dyn Write, kind: &str, ends: [bool; 2], data: &[u8]) -> io::Result<()> {
    writer.write_all(&header(kind, ends, data.len() as u64))?;
    writer.write_all(data)?;
    writer.write_all(padding(data.len() as u64))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn file(of: &[(&str, [bool; 2], &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        of.iter().for_each(|(kind, ends, data)| write_record(&mut bytes, kind, *ends, data).unwrap());
        bytes
    }

    fn found(bytes: &[u8]) -> Result<Vec<Record>, LimeError> {
        records(&mut Cursor::new(bytes), bytes.len() as u64)
    }

    #[test]
    fn records_are_found_in_their_messages() {
        let bytes = file(&[
            ("xlf-info", [true, true], b"beta"),
            ("ildg-format", [true, false], b"12345678"),
            ("ildg-binary-data", [false, true], b"x"),
        ]);
        let records = found(&bytes).unwrap();
        let of = |record: &Record| (record.kind.clone(), record.message, record.start, record.length);
        assert_eq!(of(&records[0]), ("xlf-info".to_owned(), 1, 144, 4));
        assert_eq!(of(&records[1]), ("ildg-format".to_owned(), 2, 296, 8));
        assert_eq!(of(&records[2]), ("ildg-binary-data".to_owned(), 2, 448, 1));
        assert_eq!(found(&bytes[..bytes.len() - 7]).unwrap(), records, "the last padding may be missing");
    }

    #[test]
    fn what_is_no_record_is_named() {
        let bytes = file(&[("a", [true, true], b"12345")]);
        let refused = |bytes: &[u8]| found(bytes).unwrap_err().to_string();
        assert!(refused(&bytes[..148]).contains("the record a at byte 0 needs 149 bytes"));
        assert!(refused(&bytes[..100]).contains("truncated"));
        let mut other = bytes.clone();
        other[0] = 0x46;
        assert!(refused(&other).contains("465789ab") || refused(&other).contains("466789ab"));
        let mut other = bytes.clone();
        other[8] = 0x80;
        assert!(refused(&other).contains("9223372036854775957"), "{}", refused(&other));
        let mut other = bytes.clone();
        other[5] = 2;
        assert!(refused(&other).contains("version 2"));
        let mut other = bytes;
        other[16] = 0xff;
        assert!(refused(&other).contains("not ASCII text"));
    }
}
