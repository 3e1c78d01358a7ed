//! The header of a `.npy` file: magic, version, length, and a Python dictionary literal of three entries. It is parsed without recursion,
//! and never beyond [`MAXIMUM_HEADER`] bytes.

use std::io::Read;

use lanefield_reference::ensure;

use super::element::Precision;
use super::error::{NpyError, show_shape};

/// The maximum length of a header in bytes, including the magic: the limit of version 1.0. Typical headers have 128.
pub const MAXIMUM_HEADER: u64 = 1 << 16;

/// The maximum number of axes of an array, as in NumPy.
const MAXIMUM_AXES: usize = 64;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct NpyHeader {
    /// The element type in NumPy's notation.
    pub descr: String,
    pub fortran_order: bool,
    pub shape: Vec<usize>,
    /// The number of bytes before the data.
    pub header_length: u64,
}

/// The element type that a `descr` denotes.
pub(super) enum ElementType {
    Complex(Precision),
    /// A type that cannot be read, with the reason, in a form that follows the quoted `descr`.
    Other(&'static str),
}

impl ElementType {
    pub(super) fn of(descr: &str) -> Self {
        match descr {
            "<c8" => Self::Complex(Precision::F32),
            "<c16" => Self::Complex(Precision::F64),
            ">c8" | ">c16" => Self::Other(", which is big-endian"),
            "<f4" | "<f8" | ">f4" | ">f8" => Self::Other(", which is real, not complex"),
            _ => Self::Other(""),
        }
    }
}

impl NpyHeader {
    /// Reads a header from the start of a file of `length` bytes.
    pub(super) fn read(reader: &mut impl Read, length: u64) -> Result<Self, NpyError> {
        let cut_off = || NpyError::Header("is cut off: the file is truncated".to_owned());
        let mut start = [0; 8];
        let prefix = usize::try_from(length).unwrap_or(usize::MAX).min(8);
        reader.read_exact(&mut start[..prefix])?;
        ensure!(prefix >= 6 && &start[..6] == MAGIC, NpyError::NotNpy);
        ensure!(prefix >= 8, cut_off());
        let (major, minor) = (start[6], start[7]);
        let length_bytes = match (major, minor) {
            (1, 0) => 2,
            (2 | 3, 0) => 4,
            _ => return Err(NpyError::Version { major, minor }),
        };
        let mut text_length = [0; 4];
        ensure!(length >= 8 + length_bytes as u64, cut_off());
        reader.read_exact(&mut text_length[..length_bytes])?;
        let text_length = u64::from(u32::from_le_bytes(text_length));
        let header_length = 8 + length_bytes as u64 + text_length;
        ensure!(header_length <= length, cut_off());
        if header_length > MAXIMUM_HEADER {
            return Err(NpyError::Header(format!("is {header_length} bytes long; at most {MAXIMUM_HEADER} are read")));
        }
        let mut text = Vec::new();
        reader.take(text_length).read_to_end(&mut text)?;
        ensure!(text.len() as u64 == text_length, cut_off());
        let (descr, fortran_order, shape) = Parser { text: &text, position: 0 }.dictionary()?;
        Ok(Self { descr, fortran_order, shape, header_length })
    }
}

/// A header of version 1.0 as NumPy writes it: padded with blanks so that the data begins at a multiple of 64 bytes.
pub(super) fn to_bytes(descr: &str, shape: &[usize]) -> Result<Vec<u8>, NpyError> {
    let dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {}, }}", show_shape(shape));
    let total = (10 + dictionary.len() + 1).next_multiple_of(64);
    let text_length = u16::try_from(total - 10)
        .map_err(|_| NpyError::Header(format!("of an array with {} axes would be too long", shape.len())))?;
    let mut bytes = Vec::with_capacity(total);
    bytes.extend(MAGIC);
    bytes.extend([1, 0]);
    bytes.extend(text_length.to_le_bytes());
    bytes.extend(dictionary.bytes());
    bytes.resize(total - 1, b' ');
    bytes.push(b'\n');
    Ok(bytes)
}

/// A cursor over the dictionary. Whitespace between tokens is skipped.
struct Parser<'a> {
    text: &'a [u8],
    position: usize,
}

impl Parser<'_> {
    fn dictionary(mut self) -> Result<(String, bool, Vec<usize>), NpyError> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        self.expect(b'{', "'{'")?;
        while !self.accept(b'}') {
            let key = self.string("a key in quotes")?;
            self.expect(b':', "':' after a key")?;
            let twice = match key.as_str() {
                "descr" => descr.replace(self.string("a type in quotes")?).is_some(),
                "fortran_order" => fortran_order.replace(self.boolean()?).is_some(),
                "shape" => shape.replace(self.tuple()?).is_some(),
                _ => return Err(self.wrong("one of the keys 'descr', 'fortran_order', 'shape'")),
            };
            ensure!(!twice, NpyError::Header(format!("has the key '{key}' twice")));
            if !self.accept(b',') {
                self.expect(b'}', "',' or '}'")?;
                break;
            }
        }
        self.skip_blanks();
        ensure!(self.position == self.text.len(), self.wrong("nothing after '}'"));
        let missing = |key| NpyError::Header(format!("has no key '{key}'"));
        Ok((
            descr.ok_or_else(|| missing("descr"))?,
            fortran_order.ok_or_else(|| missing("fortran_order"))?,
            shape.ok_or_else(|| missing("shape"))?,
        ))
    }

    fn wrong(&self, expected: &str) -> NpyError {
        let rest = self.text.get(self.position..).unwrap_or_default();
        let found = &rest[..rest.len().min(16)];
        NpyError::Header(format!(
            "is not as it should be: at byte {} of the dictionary there is \"{}\" instead of {expected}",
            self.position,
            found.escape_ascii()
        ))
    }

    fn skip_blanks(&mut self) {
        while self.text.get(self.position).is_some_and(u8::is_ascii_whitespace) {
            self.position += 1;
        }
    }

    fn accept(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let found = self.text.get(self.position) == Some(&byte);
        if found {
            self.position += 1;
        }
        found
    }

    fn expect(&mut self, byte: u8, expected: &str) -> Result<(), NpyError> {
        if self.accept(byte) { Ok(()) } else { Err(self.wrong(expected)) }
    }

    /// A short string without escapes, in either kind of quotes.
    fn string(&mut self, expected: &str) -> Result<String, NpyError> {
        self.skip_blanks();
        let rest = self.text.get(self.position..).unwrap_or_default();
        let [quote @ (b'\'' | b'"'), inside @ ..] = rest else { return Err(self.wrong(expected)) };
        let inside = &inside[..inside.len().min(64)];
        let Some(length) = inside.iter().position(|b| b == quote) else { return Err(self.wrong(expected)) };
        let value = &inside[..length];
        ensure!(value.iter().all(|&b| b == b' ' || (b.is_ascii_graphic() && b != b'\\')), self.wrong(expected));
        let value = String::from_utf8_lossy(value).into_owned();
        self.position += length + 2;
        Ok(value)
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        self.skip_blanks();
        let rest = self.text.get(self.position..).unwrap_or_default();
        for (name, value) in [(&b"False"[..], false), (&b"True"[..], true)] {
            if rest.starts_with(name) {
                self.position += name.len();
                return Ok(value);
            }
        }
        Err(self.wrong("True or False"))
    }

    fn tuple(&mut self) -> Result<Vec<usize>, NpyError> {
        self.expect(b'(', "'(' of a shape")?;
        let mut shape = Vec::new();
        while !self.accept(b')') {
            if shape.len() == MAXIMUM_AXES {
                return Err(NpyError::Header(format!("has a shape of more than {MAXIMUM_AXES} axes")));
            }
            shape.push(self.number()?);
            if !self.accept(b',') {
                self.expect(b')', "',' or ')'")?;
                break;
            }
        }
        Ok(shape)
    }

    fn number(&mut self) -> Result<usize, NpyError> {
        self.skip_blanks();
        let start = self.position;
        let mut value = 0usize;
        while let Some(digit) = self.text.get(self.position).filter(|b| b.is_ascii_digit()) {
            let next = value.checked_mul(10).and_then(|v| v.checked_add(usize::from(digit - b'0')));
            value = next.ok_or_else(|| NpyError::Header("has an extent too large to count".to_owned()))?;
            self.position += 1;
        }
        if self.position == start { Err(self.wrong("an extent")) } else { Ok(value) }
    }
}
