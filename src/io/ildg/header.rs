//! What the records of an ILDG or SciDAC file say about its links. Which records exist, and in which order, depends on the program that
//! wrote them.

use std::io::{Read, Seek, SeekFrom};

use lanefield_reference::ensure;
use lanefield_reference::layout::Extents;

use super::xml::{element, elements, shown};
use super::{CHECKSUM, Checksums, DATA, FORMAT, IldgError, LFN, PRIVATE_FILE, PRIVATE_RECORD, RECORD, site_bytes};
use crate::io::lime::{Record, records};
use crate::io::nersc::FloatingPoint;

/// The maximum length of a text record, in bytes.
const MOST_TEXT: u64 = 1 << 20;

/// The plaquette and the link trace that a file states in usqcdInfo.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Observables {
    /// The average plaquette: of Re tr / 3, or, in files of MILC, of Re tr.
    pub plaquette: Option<f64>,
    /// The average of Re tr U / 3.
    pub link_trace: Option<f64>,
}

/// What a file says about its links.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct IldgHeader {
    pub records: Vec<Record>,
    /// The index of the record that holds the links.
    pub data: usize,
    pub extents: Extents,
    /// `F32Big` or `F64Big`.
    pub floating_point: FloatingPoint,
    pub checksums: Option<Checksums>,
    pub lfn: Option<String>,
    pub observables: Observables,
    /// The text of `<info>` in usqcdInfo.
    pub info: Option<String>,
    /// Defects in records that were not needed.
    pub problems: Vec<String>,
}

/// The record of this kind that belongs to the data: in the same message if there is one, else the first in the file.
pub(super) fn record_for<'a>(records: &'a [Record], data: &Record, kind: &str) -> Option<&'a Record> {
    let of_kind = || records.iter().filter(|record| record.kind == kind);
    of_kind().find(|record| record.message == data.message).or_else(|| of_kind().next())
}

/// The text of a record.
pub(super) fn text_of(
    reader: &mut (impl Read + Seek),
    record: &Record,
    name: &'static str,
) -> Result<Vec<u8>, IldgError> {
    ensure!(record.length <= MOST_TEXT, IldgError::TooLong { record: name, length: record.length, most: MOST_TEXT });
    let mut text = vec![0; record.length as usize];
    reader.seek(SeekFrom::Start(record.start))?;
    reader.read_exact(&mut text)?;
    Ok(text)
}

/// The elements of an XML record, if it exists.
pub(super) fn xml_of(
    reader: &mut (impl Read + Seek),
    header: (&[Record], &Record),
    name: &'static str,
) -> Result<Option<Vec<(String, String)>>, IldgError> {
    let Some(record) = record_for(header.0, header.1, name) else { return Ok(None) };
    let text = text_of(reader, record, name)?;
    let parsed = elements(&text).map_err(|problem| IldgError::Malformed { record: name, problem })?;
    Ok(Some(parsed))
}

/// Parses four extents.
fn extents_of(record: &'static str, numbers: &[&str]) -> Result<Extents, IldgError> {
    let malformed = |problem: String| IldgError::Malformed { record, problem };
    let parsed: Option<Vec<usize>> = numbers.iter().map(|number| number.parse().ok()).collect();
    let parsed = parsed.and_then(|extents| <[usize; 4]>::try_from(extents).ok());
    let parsed = parsed
        .ok_or_else(|| malformed(format!("the extents are {}: expected four numbers", shown(&numbers.join(", ")))))?;
    Extents::new(parsed).map_err(|error| malformed(error.to_string()))
}

impl IldgHeader {
    /// Reads the header from a file of `length` bytes, and checks that the data have the length that it implies. `given`: the lattice, for
    /// files that do not say it.
    pub fn read(reader: &mut (impl Read + Seek), length: u64, given: Option<Extents>) -> Result<Self, IldgError> {
        let records = records(reader, length)?;
        let Some(data) = records.iter().position(|record| DATA.contains(&record.kind.as_str())) else {
            let kinds: Vec<&str> = records.iter().take(6).map(|record| record.kind.as_str()).collect();
            return Err(IldgError::NoData(kinds.join(", ")));
        };
        let of = (&records[..], &records[data]);
        let mut problems = Vec::new();
        let format = needed(xml_of(reader, of, FORMAT), &mut problems)?;
        let private_file = needed(xml_of(reader, of, PRIVATE_FILE), &mut problems)?;
        let private_record = needed(xml_of(reader, of, PRIVATE_RECORD), &mut problems)?;

        let in_format = format.as_ref().map(|format| {
            let of_direction = |name| element(format, name).unwrap_or("missing");
            extents_of(FORMAT, &["lx", "ly", "lz", "lt"].map(of_direction)).map(Some)
        });
        let in_format = needed(in_format.unwrap_or(Ok(None)), &mut problems)?;
        let in_scidac = private_file.as_deref().and_then(|file| element(file, "dims"));
        let in_scidac =
            in_scidac.map(|dims| extents_of(PRIVATE_FILE, &dims.split_whitespace().collect::<Vec<_>>()).map(Some));
        let in_scidac = needed(in_scidac.unwrap_or(Ok(None)), &mut problems)?;
        let Some(extents) = in_format.or(in_scidac).or(given) else {
            return Err(IldgError::NoExtents {
                problems: problems.iter().map(|problem| format!("{problem}; ")).collect(),
            });
        };
        if let Some(other) = [in_scidac, given].into_iter().flatten().find(|other| *other != extents) {
            return Err(IldgError::OtherExtents { found: extents.to_string(), expected: other.to_string() });
        }

        let malformed = |record, problem| IldgError::Malformed { record, problem };
        let in_format = match format.as_deref().and_then(|format| element(format, "precision")) {
            None => None,
            Some("32") => Some(FloatingPoint::F32Big),
            Some("64") => Some(FloatingPoint::F64Big),
            Some(other) => {
                problems.push(
                    malformed(FORMAT, format!("the precision is {}: expected 32 or 64", shown(other))).to_string(),
                );
                None
            }
        };
        let in_scidac = match private_record.as_deref().and_then(|record| element(record, "precision")) {
            None => None,
            Some("F") => Some(FloatingPoint::F32Big),
            Some("D") => Some(FloatingPoint::F64Big),
            Some(other) => {
                let problem = format!("the precision is {}: expected F or D", shown(other));
                problems.push(malformed(PRIVATE_RECORD, problem).to_string());
                None
            }
        };
        let bytes = |floating_point| extents.volume() as u64 * site_bytes(floating_point) as u64;
        let both = [FloatingPoint::F32Big, FloatingPoint::F64Big];
        let by_length = both.into_iter().find(|floating_point| bytes(*floating_point) == records[data].length);
        let floating_point = in_format.or(in_scidac).or(by_length).unwrap_or(FloatingPoint::F64Big);
        if let Some(record) = &private_record {
            let count = element(record, "datacount").unwrap_or("4");
            if count != "4" {
                let datatype = element(record, "datatype").unwrap_or("unknown");
                let problem =
                    format!("datacount is {} of {}: links have 4 matrices a site", shown(count), shown(datatype));
                return Err(malformed(PRIVATE_RECORD, problem));
            }
        }
        if bytes(floating_point) != records[data].length {
            return Err(IldgError::Length {
                record: records[data].kind.clone(),
                extents: extents.to_string(),
                bits: 8 * floating_point.size(),
                expected: bytes(floating_point),
                found: records[data].length,
                hint: other_group(extents, records[data].length),
            });
        }

        let sums = xml_of(reader, of, CHECKSUM).and_then(|sums| {
            let of = |sums: &[(String, String)]| {
                Ok(Checksums { a: hexadecimal(sums, "suma")?, b: hexadecimal(sums, "sumb")? })
            };
            sums.as_deref().map(of).transpose()
        });
        let checksums = needed(sums, &mut problems)?;
        let lfn = match record_for(&records, &records[data], LFN) {
            Some(record) => {
                let text = text_of(reader, record, LFN)?;
                let text = String::from_utf8_lossy(&text).trim_matches(['\0', ' ', '\n', '\r', '\t']).to_owned();
                Some(text)
            }
            None => None,
        };
        // Content from users need not be XML.
        let record = match record_for(&records, &records[data], RECORD) {
            Some(record) if record.length <= MOST_TEXT => elements(&text_of(reader, record, RECORD)?).ok(),
            _ => None,
        };
        let number = |name| record.as_deref().and_then(|record| element(record, name)).and_then(|x| x.parse().ok());
        let observables = Observables { plaquette: number("plaq"), link_trace: number("linktr") };
        let info = record.as_deref().and_then(|record| element(record, "info")).map(str::to_owned);
        Ok(Self { data, extents, floating_point, checksums, lfn, observables, info, records, problems })
    }

    /// The record that holds the links.
    pub fn data_record(&self) -> &Record {
        &self.records[self.data]
    }
}

/// The content of an optional record. If it cannot be understood, that becomes a problem, and the record is ignored.
fn needed<T>(read: Result<Option<T>, IldgError>, problems: &mut Vec<String>) -> Result<Option<T>, IldgError> {
    match read {
        Err(error @ (IldgError::Malformed { .. } | IldgError::TooLong { .. })) => {
            problems.push(error.to_string());
            Ok(None)
        }
        other => other,
    }
}

/// Names the other groups whose matrices would have this number of bytes.
fn other_group(extents: Extents, bytes: u64) -> String {
    let of = |colours: u64, size: u64| extents.volume() as u64 * 4 * 2 * colours * colours * size == bytes;
    let found = [2, 4, 5, 6].into_iter().flat_map(|colours| [(colours, 32), (colours, 64)]);
    let found = found.into_iter().find(|&(colours, bits)| of(colours, bits / 8));
    found.map_or_else(String::new, |(colours, bits)| {
        format!("; that is the length of links of SU({colours}) in {bits}-bit numbers, and links of SU(3) are read")
    })
}

fn hexadecimal(sums: &[(String, String)], name: &str) -> Result<u32, IldgError> {
    let text = element(sums, name).unwrap_or("missing");
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u32::from_str_radix(digits, 16).map_err(|_| IldgError::Malformed {
        record: CHECKSUM,
        problem: format!("{name} is {}: expected at most eight hexadecimal digits", shown(text)),
    })
}
