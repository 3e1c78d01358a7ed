//! Records: every scalar of a solve, and digests of its fields, as JSON lines. Another run on any device is compared with them line by
//! line. The first line is the header. The last one marks the end of the solve, and has digests of its inputs and its solution.
//!
//! The last member of each line is `check`: the first 16 hex digits of the SHA-256 of all lines up to this one. Each line is hashed without
//! that member, the closing brace and the newline. The checks distinguish a damaged record from a solve that took another course.
//!
//! Records of other programs may have blanks between members, members in any order, and fewer of them: no checks, no digests, an incomplete
//! identity. Whatever they contain is compared (`docs/arithmetic.md` §18).

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use lanefield_reference::ensure;
use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::claims;
use super::identity::{Identity, IdentityMismatch};

/// The version of the format that is written, and the only one that is read.
pub(crate) const RECORD_VERSION: u64 = 2;
const FORMAT: &str = "lanefield record";
/// The maximum length of a line, in bytes.
const MOST_LINE: u64 = 1 << 20;

/// The first line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct RecordHeader {
    format: String,
    version: u64,
    /// Iterations from one set of digests to the next; 0 if there are no digests of fields.
    #[serde(default)]
    every: usize,
    /// Whether lines have checks.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    checked: bool,
    #[serde(default)]
    identity: Identity,
}

fn yes() -> bool {
    true
}

/// Deserializes a member that is present, even if it is null.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// A line after the first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Entry {
    /// A sum over sites.
    Scalar {
        /// The number of iterations done before it.
        iteration: usize,
        /// The right-hand side of a batch; 0 otherwise.
        #[serde(default)]
        rhs: usize,
        /// The name of the quantity: "<p, A p>".
        quantity: String,
        /// The bits of the double as 16 hex digits.
        bits: String,
    },
    /// A field of the state.
    Field {
        /// The number of iterations done.
        iteration: usize,
        /// Its name in the recurrence, for example "r".
        field: String,
        /// The SHA-256 of its numbers in site order, in little-endian f64.
        sha256: String,
    },
    /// The end of the solve, converged or not. Digests are computed as for fields.
    End {
        /// The number of iterations done.
        end: usize,
        /// The SHA-256 of the links; `None` if the record does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        links: Option<String>,
        /// The SHA-256 of the source, with all right-hand sides at each site; `None` if the record does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
        /// The SHA-256 of the whole solution; `Some(None)` if the solve did not converge, `None` if the record does not say.
        #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
        solution: Option<Option<String>>,
    },
}

impl Entry {
    /// Whether a recorded line agrees with this one in every member that it has.
    pub(crate) fn agrees_with(&self, recorded: &Self) -> bool {
        match (self, recorded) {
            (
                Self::End { end, links, source, solution },
                Self::End { end: their_end, links: their_links, source: their_source, solution: their_solution },
            ) => {
                end == their_end
                    && (their_links.is_none() || links == their_links)
                    && (their_source.is_none() || source == their_source)
                    && (their_solution.is_none() || solution == their_solution)
            }
            _ => self == recorded,
        }
    }

    /// The entry with its hexadecimal digits in the form that this library writes.
    fn in_our_digits(mut self) -> Self {
        let digits = |text: &mut String| text.make_ascii_lowercase();
        match &mut self {
            Self::Scalar { bits, .. } => {
                digits(bits);
                if let Some(bare) = bits.strip_prefix("0x") {
                    *bits = bare.to_owned();
                }
            }
            Self::Field { sha256, .. } => digits(sha256),
            Self::End { links, source, solution, .. } => {
                links.iter_mut().chain(source).chain(solution.iter_mut().flatten()).for_each(digits);
            }
        }
        self
    }
}

/// Why a record was not written or read. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum RecordError {
    #[error("cannot read or write {}: {source}", .path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("line {line} of {} is not a valid line of a record: {what}", .path.display())]
    Line { path: PathBuf, line: usize, what: String },
    #[error("the record {} is damaged at line {line}: its content does not match its check", .path.display())]
    Damaged { path: PathBuf, line: usize },
    #[error(
        "{} has version {found} of the format, and this program reads version {RECORD_VERSION}: use the program that wrote it",
        .path.display()
    )]
    Version { path: PathBuf, found: u64 },
    #[error("{} does not fit: {mismatch}", .path.display())]
    OtherSolve { path: PathBuf, mismatch: IdentityMismatch },
}

/// Writes a record line by line. If the solve is killed, the lines written so far can be read.
#[derive(Debug)]
pub struct RecordWriter {
    path: PathBuf,
    writer: BufWriter<File>,
    checks: Checks,
}

/// The text before and after the check of a line.
const CHECK: [&str; 2] = [",\"check\":\"", "\"}"];

/// Computes the checks of successive lines.
#[derive(Debug, Default)]
struct Checks(Sha256);

impl Checks {
    /// The check of the next line, from the text before it.
    fn next(&mut self, line: &str) -> String {
        self.0.update(line);
        hex::encode(&self.0.clone().finalize()[..8])
    }
}

impl RecordWriter {
    /// Creates the file with its header. `every` is the number of iterations from one set of digests to the next.
    pub fn create(path: &Path, identity: &Identity, every: usize) -> Result<Self, RecordError> {
        let file = claims::create(path).map_err(|source| RecordError::File { path: path.to_owned(), source })?;
        let mut writer = Self { path: path.to_owned(), writer: BufWriter::new(file), checks: Checks::default() };
        let identity = identity.clone();
        writer.line(&RecordHeader {
            format: FORMAT.to_owned(),
            version: RECORD_VERSION,
            every,
            checked: true,
            identity,
        })?;
        Ok(writer)
    }

    /// Adds a line.
    pub fn push(&mut self, entry: &Entry) -> Result<(), RecordError> {
        self.line(entry)
    }

    /// Writes all lines so far to the file.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        let result = self.writer.flush();
        self.failed(result)
    }

    fn line(&mut self, line: &impl Serialize) -> Result<(), RecordError> {
        let result = serde_json::to_string(line).map_err(io::Error::from).and_then(|text| {
            let line = text.strip_suffix('}').ok_or_else(|| io::Error::other("a line is a JSON object"))?;
            let [before, after] = CHECK;
            let check = self.checks.next(line);
            writeln!(self.writer, "{line}{before}{check}{after}")
        });
        self.failed(result)
    }

    fn failed(&self, result: io::Result<()>) -> Result<(), RecordError> {
        result.map_err(|source| RecordError::File { path: self.path.clone(), source })
    }
}

/// Reads a record line by line.
#[derive(Debug)]
pub struct RecordReader {
    path: PathBuf,
    reader: BufReader<File>,
    line: usize,
    every: usize,
    /// `None` if the lines have no checks.
    checks: Option<Checks>,
    left_out: Vec<String>,
}

impl RecordReader {
    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a record, and checks that it belongs to the solve `identity`.
    pub fn open(path: &Path, identity: &Identity) -> Result<Self, RecordError> {
        let failed = |source| RecordError::File { path: path.to_owned(), source };
        ensure!(fs::metadata(path).map_err(failed)?.is_file(), failed(io::Error::other("it is not a file")));
        let reader = BufReader::new(File::open(path).map_err(failed)?);
        let (checks, left_out) = (Some(Checks::default()), Vec::new());
        let mut record = Self { path: path.to_owned(), reader, line: 0, every: 0, checks, left_out };
        let text = record.text()?.ok_or_else(|| record.wrong("the file has no complete line".to_owned()))?;
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| record.wrong(format!("it is not JSON: {error}")))?;
        ensure!(value["format"] == FORMAT, record.wrong(format!("it does not say \"format\": \"{FORMAT}\"")));
        match value["version"].as_u64() {
            Some(RECORD_VERSION) => {}
            Some(found) => return Err(RecordError::Version { path: path.to_owned(), found }),
            None => return Err(record.wrong("it has no version".to_owned())),
        }
        if value["checked"] == serde_json::Value::Bool(false) {
            record.checks = None;
        } else if value.get("check").is_none() {
            return Err(
                record.wrong("it has no \"check\": that of a record without checks says \"checked\": false".to_owned())
            );
        }
        let header: RecordHeader =
            serde_json::from_str(&record.checked(&text)?).map_err(|error| record.wrong(error.to_string()))?;
        let ours = names(&serde_json::to_value(identity).unwrap_or_default());
        if let Some(unknown) = names(&value["identity"]).into_iter().find(|name| !ours.contains(name)) {
            return Err(
                record.wrong(format!("unknown name '{unknown}' in the identity: expected one of {}", ours.join(", ")))
            );
        }
        let other = |mismatch| RecordError::OtherSolve { path: path.to_owned(), mismatch };
        record.left_out = identity.check_given(&header.identity).map_err(other)?;
        record.every = header.every;
        Ok(record)
    }

    /// Iterations from one set of digests to the next; 0 if there are no digests of fields.
    pub fn every(&self) -> usize {
        self.every
    }

    /// Whether a damaged line can be distinguished from one that differs, because lines have checks.
    pub fn is_checked(&self) -> bool {
        self.checks.is_some()
    }

    /// The names of the identity that the record leaves out.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// The next line; `None` at the end of the file, even if it ends within a line.
    pub(crate) fn next_entry(&mut self) -> Result<Option<Entry>, RecordError> {
        let Some(text) = self.text()? else { return Ok(None) };
        let entry: Result<Entry, _> = serde_json::from_str(&self.checked(&text)?);
        entry.map(|entry| Some(entry.in_our_digits())).map_err(|error| self.wrong(error.to_string()))
    }

    /// A line without its check, after verifying the check.
    fn checked(&mut self, line: &str) -> Result<String, RecordError> {
        let Some(checks) = &mut self.checks else { return Ok(line.to_owned()) };
        match split_check(line) {
            Some((line, check)) if checks.next(line) == check => Ok(format!("{line}}}")),
            _ => Err(self.damaged()),
        }
    }

    /// The next line. If a solve was killed, its last line may be cut off; it counts as not written.
    fn text(&mut self) -> Result<Option<String>, RecordError> {
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(MOST_LINE).read_until(b'\n', &mut bytes);
        read.map_err(|source| RecordError::File { path: self.path.clone(), source })?;
        self.line += 1;
        ensure!(bytes.len() as u64 != MOST_LINE, self.wrong(format!("it has {MOST_LINE} bytes or more")));
        if bytes.pop() != Some(b'\n') {
            return Ok(None);
        }
        String::from_utf8(bytes).map(Some).map_err(|_| self.damaged())
    }

    fn damaged(&self) -> RecordError {
        RecordError::Damaged { path: self.path.clone(), line: self.line }
    }

    fn wrong(&self, what: String) -> RecordError {
        RecordError::Line { path: self.path.clone(), line: self.line, what }
    }
}

fn names(identity: &serde_json::Value) -> Vec<String> {
    let pairs = identity.as_array().into_iter().flatten();
    pairs.filter_map(|pair| Some(pair[0].as_str()?.to_owned())).collect()
}

/// Splits a line into the text before the comma of its check, and the check, allowing blanks.
fn split_check(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_end().strip_suffix('}')?.trim_end().strip_suffix('"')?;
    let (line, check) = line.rsplit_once('"')?;
    let line = line.trim_end().strip_suffix(':')?.trim_end().strip_suffix("\"check\"")?;
    Some((line.trim_end().strip_suffix(',')?, check))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity::default().with("operator", "wilson")
    }

    fn entries() -> [Entry; 3] {
        [
            Entry::Scalar { iteration: 0, rhs: 2, quantity: "|r|²".to_owned(), bits: "3ff0000000000000".to_owned() },
            Entry::Field { iteration: 10, field: "psi".to_owned(), sha256: "ab".to_owned() },
            Entry::End { end: 11, links: Some("cd".to_owned()), source: Some("ef".to_owned()), solution: Some(None) },
        ]
    }

    fn written(directory: &tempfile::TempDir) -> PathBuf {
        let path = directory.path().join("record");
        let mut writer = RecordWriter::create(&path, &identity(), 10).unwrap();
        for entry in entries() {
            writer.push(&entry).unwrap();
        }
        writer.flush().unwrap();
        path
    }

    #[test]
    fn what_was_written_is_read_line_by_line() {
        let directory = tempfile::tempdir().unwrap();
        let mut reader = RecordReader::open(&written(&directory), &identity()).unwrap();
        assert_eq!(reader.every(), 10);
        for entry in entries() {
            assert_eq!(reader.next_entry().unwrap(), Some(entry));
        }
        assert_eq!(reader.next_entry().unwrap(), None);
    }

    #[test]
    fn a_line_that_is_cut_off_counts_as_not_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(&directory);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, &text[..text.len() - 1]).unwrap();
        let mut reader = RecordReader::open(&path, &identity()).unwrap();
        assert!(reader.next_entry().unwrap().is_some() && reader.next_entry().unwrap().is_some());
        assert_eq!(reader.next_entry().unwrap(), None);
    }

    /// Reads all lines.
    fn read(path: &Path) -> Result<usize, RecordError> {
        let mut reader = RecordReader::open(path, &identity())?;
        let mut lines = 1;
        while reader.next_entry()?.is_some() {
            lines += 1;
        }
        Ok(lines)
    }

    #[test]
    fn a_flipped_bit_is_found_at_its_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(&directory);
        let whole = fs::read(&path).unwrap();
        assert_eq!(read(&path).unwrap(), 4);
        // Except that of the last newline, without which the line counts as cut off.
        for bit in (0..whole.len() - 1).map(|byte| 8 * byte + byte % 8) {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &bytes).unwrap();
            let expected = 1 + whole[..bit / 8].iter().filter(|&&byte| byte == b'\n').count();
            match read(&path) {
                Err(RecordError::Damaged { line, .. }) => assert_eq!(line, expected, "bit {bit}"),
                // The header is parsed before its check is verified.
                Err(RecordError::Line { line: 1, .. } | RecordError::Version { .. }) if expected == 1 => (),
                other => panic!("bit {bit}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_line_that_is_missing_or_stands_elsewhere_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(&directory);
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for order in [&[0, 2, 3][..], &[0, 2, 1, 3], &[0, 1, 1, 2, 3]] {
            let order: Vec<&str> = order.iter().map(|&line| lines[line]).collect();
            fs::write(&path, order.join("\n") + "\n").unwrap();
            let error = read(&path).unwrap_err();
            assert!(error.to_string().contains("is damaged at line"), "{error}");
        }
    }

    #[test]
    fn a_record_of_another_program_may_have_blanks_and_less_members() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record");
        let lines = [
            r#"{"version": 2, "checked": false, "format": "lanefield record"}"#,
            r#"{ "bits" : "0x3FF0000000000000", "quantity" : "|r|²", "value" : 1.0, "iteration" : 0 }"#,
            r#"{"end": 11}"#,
        ];
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        let mut reader = RecordReader::open(&path, &identity()).unwrap();
        assert_eq!((reader.every(), reader.is_checked(), reader.left_out()), (0, false, &["operator".to_owned()][..]));
        let bits = "3ff0000000000000".to_owned();
        let scalar = Entry::Scalar { iteration: 0, rhs: 0, quantity: "|r|²".to_owned(), bits };
        assert_eq!(reader.next_entry().unwrap(), Some(scalar));
        let end = reader.next_entry().unwrap().unwrap();
        assert!(entries()[2].agrees_with(&end) && !end.agrees_with(&entries()[2]));
        // With checks, over what is before their commas.
        let mut hasher = Sha256::new();
        let mut text = String::new();
        for line in lines.map(|line| line.replace("\"checked\": false, ", "")) {
            let line = line.strip_suffix('}').unwrap();
            hasher.update(line);
            text += &format!("{line} , \"check\": \"{}\" }}\n", &hex::encode(hasher.clone().finalize())[..16]);
        }
        // The blank before the comma is hashed, too.
        assert!(matches!(read_text(&path, &text), Err(RecordError::Damaged { line: 1, .. })));
        assert_eq!(read_text(&path, &text.replace(" , \"check", ", \"check")).unwrap(), 3);
    }

    fn read_text(path: &Path, text: &str) -> Result<usize, RecordError> {
        fs::write(path, text).unwrap();
        read(path)
    }

    #[test]
    fn what_is_no_record_of_this_solve_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(&directory);
        let other = Identity::default().with("operator", "another");
        let error = RecordReader::open(&path, &other).unwrap_err();
        assert!(matches!(error, RecordError::OtherSolve { .. }), "{error}");
        let text = fs::read_to_string(&path).unwrap().replace("\"version\":2", "\"version\":1");
        fs::write(&path, text).unwrap();
        let error = RecordReader::open(&path, &identity()).unwrap_err();
        assert!(matches!(error, RecordError::Version { found: 1, .. }), "{error}");
        let header = r#"{"format": "lanefield record", "version": 2"#;
        let (no_checks, mass) =
            (format!("{header}}}\n"), format!("{header}, \"checked\": false, \"identity\": [[\"mass\", \"1\"]]}}\n"));
        for (content, says) in [
            ("", "the file has no complete line"),
            ("{}", "the file has no complete line"),
            ("{}\n", "it does not say \"format\""),
            ("no record\n", "it is not JSON: "),
            (&no_checks, "it has no \"check\": that of a record without checks says \"checked\": false"),
            (&mass, "unknown name 'mass' in the identity: expected one of operator"),
        ] {
            fs::write(&path, content).unwrap();
            let error = RecordReader::open(&path, &identity()).unwrap_err();
            assert!(matches!(error, RecordError::Line { line: 1, .. }), "{content}: {error}");
            assert!(error.to_string().contains(says), "{content}: {error}");
        }
    }
}
