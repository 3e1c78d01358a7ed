//! The header of a NERSC file: `KEY = value` lines from BEGIN_HEADER to END_HEADER. It is parsed into [`NerscHeader`], and written as Grid
//! writes it.

use std::fmt::Write as _;

use lanefield_reference::ensure;
use lanefield_reference::layout::{DIMENSIONS, Extents};

use super::{FloatingPoint, NerscError, StoredRows};

/// The maximum length of a header, in bytes. Typical headers have less than two thousand.
pub const MAXIMUM_HEADER: usize = 1 << 16;

/// The content of a NERSC file's header. Texts are as in the file, without surrounding blanks; they are empty if the field is missing.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct NerscHeader {
    /// DIMENSION_1 to DIMENSION_4: x, y, z, t.
    pub extents: Extents,
    pub rows: StoredRows,
    /// FLOATING_POINT, with the byte order that the data actually have.
    pub floating_point: FloatingPoint,
    /// LINK_TRACE: mean of Re tr U / 3.
    pub link_trace: Option<f64>,
    /// PLAQUETTE: mean of Re tr P / 3.
    pub plaquette: Option<f64>,
    /// CHECKSUM: wrapping sum of the 32-bit words of the data, as integers in the file's byte order.
    pub checksum: Option<u32>,
    /// BOUNDARY_1 to BOUNDARY_4. They are not interpreted: boundary phases are parameters of an operator.
    pub boundary: [String; DIMENSIONS],
    pub ensemble_id: String,
    pub ensemble_label: String,
    /// SEQUENCE_NUMBER, as text.
    pub sequence_number: String,
    pub creator: String,
    pub creator_hardware: String,
    pub creation_date: String,
    pub archive_date: String,
}

impl NerscHeader {
    /// Parses a header at the start of `bytes`. Also returns its length, including the end of line after END_HEADER.
    ///
    /// Keys may be in any order. Lines without `=` and unknown keys are ignored, as in Grid.
    pub(super) fn parse(bytes: &[u8]) -> Result<(Self, usize), NerscError> {
        let bytes = &bytes[..bytes.len().min(MAXIMUM_HEADER)];
        let mut lines = bytes.split_inclusive(|&b| b == b'\n');
        let first = lines.next().unwrap_or_default();
        ensure!(first.trim_ascii() == b"BEGIN_HEADER", NerscError::NotNersc { found: excerpt(first) });
        let mut length = first.len();
        let mut fields: Vec<(&'static str, &[u8])> = Vec::new();
        let mut ended = false;
        for line in lines {
            length += line.len();
            if line.trim_ascii() == b"END_HEADER" && line.ends_with(b"\n") {
                ended = true;
                break;
            }
            let Some(equals) = line.iter().position(|&b| b == b'=') else { continue };
            let (key, value) = (line[..equals].trim_ascii(), line[equals + 1..].trim_ascii());
            // Only known keys are kept, each once. This bounds the memory for a header.
            let Some(&field) = READ_FIELDS.iter().find(|field| field.as_bytes() == key) else { continue };
            if let Some(&(_, first)) = fields.iter().find(|&&(known, _)| known == field) {
                return Err(NerscError::DuplicateField { field, first: text(first), second: text(value) });
            }
            fields.push((field, value));
        }
        ensure!(ended, NerscError::NoEndOfHeader { searched: bytes.len() });
        HeaderFields(fields).interpret().map(|header| (header, length))
    }

    /// The header as Grid writes it, byte for byte, for the same values.
    pub(super) fn to_text(&self) -> String {
        let mut s = String::new();
        let mut line = |key: &str, value: &str| {
            s.push_str(key);
            // Grid pads this one key.
            s.push_str(if key == "PLAQUETTE" { "  = " } else { " = " });
            s.push_str(value);
            s.push('\n');
        };
        line("HDR_VERSION", "1.0");
        line("DATATYPE", self.rows.datatype());
        line("STORAGE_FORMAT", "");
        for (field, extent) in DIMENSION_FIELDS.iter().zip(self.extents.as_array()) {
            line(field, &extent.to_string());
        }
        let mut number =
            |key: &str, value: Option<f64>| value.into_iter().for_each(|value| line(key, &ten_digits(value)));
        number("LINK_TRACE", self.link_trace);
        number("PLAQUETTE", self.plaquette);
        for (field, boundary) in BOUNDARY_FIELDS.iter().zip(&self.boundary) {
            line(field, boundary);
        }
        self.checksum.into_iter().for_each(|checksum| line("CHECKSUM", &format!("{checksum:>10x}")));
        // Sums of ILDG files. Grid writes 0 into NERSC files, and does not read them back.
        line("SCIDAC_CHECKSUMA", &format!("{:>10x}", 0));
        line("SCIDAC_CHECKSUMB", &format!("{:>10x}", 0));
        line("ENSEMBLE_ID", &self.ensemble_id);
        line("ENSEMBLE_LABEL", &self.ensemble_label);
        line("SEQUENCE_NUMBER", &self.sequence_number);
        line("CREATOR", &self.creator);
        line("CREATOR_HARDWARE", &self.creator_hardware);
        line("CREATION_DATE", &self.creation_date);
        line("ARCHIVE_DATE", &self.archive_date);
        line("FLOATING_POINT", self.floating_point.name());
        format!("BEGIN_HEADER\n{s}END_HEADER\n")
    }
}

const DIMENSION_FIELDS: [&str; DIMENSIONS] = ["DIMENSION_1", "DIMENSION_2", "DIMENSION_3", "DIMENSION_4"];
const BOUNDARY_FIELDS: [&str; DIMENSIONS] = ["BOUNDARY_1", "BOUNDARY_2", "BOUNDARY_3", "BOUNDARY_4"];

/// The fields that are read: those that describe or verify the data, and those that say where it comes from.
const READ_FIELDS: [&str; 20] = [
    "DATATYPE",
    "DIMENSION_1",
    "DIMENSION_2",
    "DIMENSION_3",
    "DIMENSION_4",
    "LINK_TRACE",
    "PLAQUETTE",
    "BOUNDARY_1",
    "BOUNDARY_2",
    "BOUNDARY_3",
    "BOUNDARY_4",
    "CHECKSUM",
    "ENSEMBLE_ID",
    "ENSEMBLE_LABEL",
    "SEQUENCE_NUMBER",
    "CREATOR",
    "CREATOR_HARDWARE",
    "CREATION_DATE",
    "ARCHIVE_DATE",
    "FLOATING_POINT",
];

/// Keys and values. Each key occurs once.
struct HeaderFields<'a>(Vec<(&'static str, &'a [u8])>);

impl HeaderFields<'_> {
    fn get(&self, field: &str) -> Option<String> {
        self.0.iter().find(|&&(key, _)| key == field).map(|&(_, value)| text(value))
    }

    fn optional(&self, field: &str) -> String {
        self.get(field).unwrap_or_default()
    }

    fn required<T>(
        &self,
        field: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, NerscError> {
        self.read(field, expected, parse)?.ok_or(NerscError::MissingField { field })
    }

    /// An optional field.
    fn read<T>(
        &self,
        field: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, NerscError> {
        let Some(value) = self.get(field) else { return Ok(None) };
        parse(&value).map(Some).ok_or(NerscError::BadField { field, value, expected })
    }

    fn interpret(&self) -> Result<NerscHeader, NerscError> {
        let rows =
            self.required("DATATYPE", "4D_SU3_GAUGE or 4D_SU3_GAUGE_3x3: links of SU(3)", |value| match value {
                "4D_SU3_GAUGE" => Some(StoredRows::Two),
                "4D_SU3_GAUGE_3x3" => Some(StoredRows::Three),
                _ => None,
            })?;
        let floating_point = self.required(
            "FLOATING_POINT",
            "IEEE32BIG, IEEE32, IEEE32LITTLE, IEEE64BIG, IEEE64 or IEEE64LITTLE",
            |value| match value {
                "IEEE32BIG" => Some(FloatingPoint::F32Big),
                "IEEE32" | "IEEE32LITTLE" => Some(FloatingPoint::F32Little),
                "IEEE64BIG" => Some(FloatingPoint::F64Big),
                "IEEE64" | "IEEE64LITTLE" => Some(FloatingPoint::F64Little),
                _ => None,
            },
        )?;
        let mut dimensions = [0; DIMENSIONS];
        for (dimension, field) in dimensions.iter_mut().zip(DIMENSION_FIELDS) {
            *dimension = self.required(field, "a number of sites", |value| value.parse().ok())?;
        }
        let extents = Extents::new(dimensions).map_err(|_| NerscError::BadDimensions { dimensions })?;
        Ok(NerscHeader {
            extents,
            rows,
            floating_point,
            link_trace: self.read("LINK_TRACE", "a real number", |value| value.parse().ok())?,
            plaquette: self.read("PLAQUETTE", "a real number", |value| value.parse().ok())?,
            checksum: self.read("CHECKSUM", "a 32-bit hexadecimal number", |value| {
                let digits = value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")).unwrap_or(value);
                u32::from_str_radix(digits, 16).ok()
            })?,
            boundary: BOUNDARY_FIELDS.map(|field| self.optional(field)),
            ensemble_id: self.optional("ENSEMBLE_ID"),
            ensemble_label: self.optional("ENSEMBLE_LABEL"),
            sequence_number: self.optional("SEQUENCE_NUMBER"),
            creator: self.optional("CREATOR"),
            creator_hardware: self.optional("CREATOR_HARDWARE"),
            creation_date: self.optional("CREATION_DATE"),
            archive_date: self.optional("ARCHIVE_DATE"),
        })
    }
}

/// The text of a header field, shortened so that an error message remains one readable line.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAXIMUM_TEXT)]).into_owned();
    if bytes.len() > MAXIMUM_TEXT { text + "…" } else { text }
}

/// The maximum length of a field's value that is kept, in bytes.
const MAXIMUM_TEXT: usize = 200;

/// The first bytes of a file, for a message.
fn excerpt(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing (it is empty)".to_owned();
    }
    let mut shown = String::from("\"");
    for &byte in bytes.trim_ascii_end().iter().take(16) {
        let _ = write!(shown, "{}", byte.escape_ascii());
    }
    shown.push('"');
    shown
}

/// A number with ten significant digits, as C's `%.10g` and Grid's streams write it.
fn ten_digits(value: f64) -> String {
    const DIGITS: i32 = 10;
    let scientific = format!("{value:.9e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let Ok(exponent) = exponent.parse::<i32>() else { return scientific };
    let trim =
        |s: &str| if s.contains('.') { s.trim_end_matches('0').trim_end_matches('.').to_owned() } else { s.to_owned() };
    if (-4..DIGITS).contains(&exponent) {
        let decimals = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
        trim(&format!("{value:.decimals$}"))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim(mantissa), exponent.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_digits_are_written_as_by_printf() {
        for (value, printed) in [
            (0.09289896843889507, "0.09289896844"),
            (-0.002299717679036898, "-0.002299717679"),
            (1.0, "1"),
            (0.0, "0"),
            (-0.0, "-0"),
            (1.25e-5, "1.25e-05"),
            (-3.0000000001e-100, "-3e-100"),
            (9.99999999999e-5, "0.0001"),
            (12345678901.0, "1.23456789e+10"),
            (9999999999.5, "1e+10"),
            (1234567890.4, "1234567890"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(ten_digits(value), printed);
        }
    }
}
