//! Writes a captured launch to files and reads it back. All that is read is compared with the digests in the manifest.

use std::fs;
use std::path::{Component, Path};

use sha2::{Digest as _, Sha256};

use super::binary::BinaryFormat;
use super::manifest::{
    ArgumentEntry, BufferEntry, FORMAT, FileEntry, LaunchEntry, MANIFEST, Manifest, ProgramEntry, VERSION,
};
use super::{Capture, CaptureError};
use crate::backend::opencl::{CapturedArgument, CapturedBuffer, CapturedLaunch, Launch};
use crate::bounded;
use crate::io::directory::{DirectoryError, NewDirectory};

/// The number and size of the files that were written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrittenFiles {
    /// The number of files, including the manifest.
    pub files: usize,
    /// Their total size in bytes.
    pub bytes: u64,
}

/// Writes the files into a directory that does not have its final name yet.
struct CaptureWriter {
    directory: NewDirectory,
    written: WrittenFiles,
}

impl CaptureWriter {
    fn write(&mut self, file: String, bytes: &[u8]) -> Result<FileEntry, DirectoryError> {
        let place = self.directory.root().join(&file);
        fs::write(&place, bytes).map_err(DirectoryError::of(&place))?;
        self.written.files += 1;
        self.written.bytes += bytes.len() as u64;
        Ok(FileEntry { file, sha256: sha256(bytes) })
    }
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

impl Capture {
    /// Refuses a directory that [`Self::write`] would refuse.
    pub fn require_new(directory: &Path, replace: bool) -> Result<(), CaptureError> {
        Ok(on_its_way(directory, replace).map(drop)?)
    }

    /// Writes the captured launch to a directory, whole or not at all. With `replace`, a directory that holds another captured launch is
    /// replaced, but nothing else is.
    pub fn write(&self, directory: &Path, replace: bool) -> Result<WrittenFiles, CaptureError> {
        let mut writer =
            CaptureWriter { directory: on_its_way(directory, replace)?, written: WrittenFiles { files: 0, bytes: 0 } };
        let Self { launch, device, work, about } = self;
        let binary_format = self.binary_format();
        let binary = writer.write(format!("program.{}", binary_format.extension()), &launch.binary)?;
        let mut buffers = Vec::with_capacity(launch.buffers.len());
        for (number, CapturedBuffer { what, before, after }) in launch.buffers.iter().enumerate() {
            let mut file = |when: &str, bytes: &[u8]| writer.write(format!("buffer-{number:02}.{when}"), bytes);
            let entry = BufferEntry {
                what: what.clone(),
                bytes: before.len(),
                before: file("before", before)?,
                after: after.as_ref().map(|after| file("after", after)).transpose()?,
            };
            buffers.push(entry);
        }
        let arguments = launch.arguments.iter().map(|argument| match argument {
            CapturedArgument::Buffer(buffer) => ArgumentEntry::Buffer { buffer: *buffer },
            CapturedArgument::Scalar(kind, bytes) => ArgumentEntry::Scalar { kind: *kind, hex: hex::encode(bytes) },
            CapturedArgument::Local(bytes) => ArgumentEntry::Local { bytes: *bytes },
        });
        let Launch { global, local } = launch.launch;
        let manifest = Manifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            lanefield: env!("CARGO_PKG_VERSION").to_owned(),
            device: device.clone(),
            program: ProgramEntry {
                name: launch.program.clone(),
                binary,
                binary_format,
                options: launch.options.clone(),
                source_sha256: launch.source_sha256.clone(),
            },
            kernel: launch.kernel.clone(),
            launch: LaunchEntry {
                global,
                local,
                offset: launch.offset,
                number: launch.number,
                launches: launch.launches,
            },
            arguments: arguments.collect(),
            buffers,
            work: *work,
            about: about.clone(),
        };
        let failed = |error: serde_json::Error| DirectoryError::of(writer.directory.target())(error.into());
        let mut text = serde_json::to_vec_pretty(&manifest).map_err(failed)?;
        text.push(b'\n');
        writer.write(MANIFEST.to_owned(), &text)?;
        let CaptureWriter { directory, written } = writer;
        directory.finish()?;
        Ok(written)
    }

    /// Reads the directory that [`Self::write`] wrote.
    ///
    /// # Errors
    /// [`CaptureError`] if a file is missing or disagrees with the manifest.
    pub fn read(directory: &Path) -> Result<Self, CaptureError> {
        let manifest = manifest(directory)?;
        let not_capture = |why: String| CaptureError::NotCapture { path: directory.to_owned(), why };
        let read = |entry: &FileEntry, bytes: Option<usize>| read(directory, entry, bytes);
        let binary = read(&manifest.program.binary, None)?;
        if BinaryFormat::of(&binary) != manifest.program.binary_format {
            let what = format!("is not {}, as its manifest says", manifest.program.binary_format);
            return Err(damaged(directory, &manifest.program.binary.file, what));
        }
        let mut buffers = Vec::with_capacity(manifest.buffers.len());
        for BufferEntry { what, bytes, before, after } in &manifest.buffers {
            let before = read(before, Some(*bytes))?;
            let after = after.as_ref().map(|after| read(after, Some(*bytes))).transpose()?;
            buffers.push(CapturedBuffer { what: what.clone(), before, after });
        }
        let argument = |(number, entry): (usize, &ArgumentEntry)| match entry {
            ArgumentEntry::Buffer { buffer } if *buffer < buffers.len() => Ok(CapturedArgument::Buffer(*buffer)),
            ArgumentEntry::Buffer { buffer } => Err(not_capture(format!(
                "argument {number} is buffer {buffer}, and there are {}, numbered from 0",
                buffers.len()
            ))),
            ArgumentEntry::Local { bytes } => Ok(CapturedArgument::Local(*bytes)),
            ArgumentEntry::Scalar { kind, hex } => match hex::decode(hex) {
                Ok(bytes) if bytes.len() == kind.bytes() => Ok(CapturedArgument::Scalar(*kind, bytes)),
                _ => Err(not_capture(format!(
                    "argument {number} is '{hex}': expected the {} bytes of a {kind} in hexadecimal",
                    kind.bytes()
                ))),
            },
        };
        let arguments = manifest.arguments.iter().enumerate().map(argument).collect::<Result<_, _>>()?;
        let LaunchEntry { global, local, offset, number, launches } = manifest.launch;
        if global.iter().zip(local).any(|(&global, local)| global == 0 || local == 0 || !global.is_multiple_of(local)) {
            let sizes = format!("{global:?} work-items are no whole groups of {local:?}");
            return Err(not_capture(sizes));
        }
        let ProgramEntry { name, options, source_sha256, .. } = manifest.program;
        let launch = CapturedLaunch {
            program: name,
            binary,
            options,
            source_sha256,
            kernel: manifest.kernel,
            launch: Launch { global, local },
            offset,
            number,
            launches,
            arguments,
            buffers,
        };
        Ok(Self { launch, device: manifest.device, work: manifest.work, about: manifest.about })
    }
}

fn on_its_way(directory: &Path, replace: bool) -> Result<NewDirectory, DirectoryError> {
    NewDirectory::new(directory, ".lanefield-capture-", replace, |there| manifest(there).is_ok())
}

/// Reads the manifest of a directory, if its version is the one that this program reads.
fn manifest(directory: &Path) -> Result<Manifest, CaptureError> {
    let not_capture = |why: String| CaptureError::NotCapture { path: directory.to_owned(), why };
    let text = bounded::read(&directory.join(MANIFEST)).map_err(|error| not_capture(format!("{MANIFEST}: {error}")))?;
    let wrong = |error: serde_json::Error| not_capture(format!("{MANIFEST}: {error}"));
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(wrong)?;
    if value["format"] != FORMAT {
        return Err(not_capture(format!("the format of {MANIFEST} is {}, not \"{FORMAT}\"", value["format"])));
    }
    if value["version"] != VERSION {
        return Err(not_capture(format!("it is of version {}, and this program reads {VERSION}", value["version"])));
    }
    serde_json::from_value(value).map_err(wrong)
}

fn damaged(directory: &Path, file: &str, what: impl Into<String>) -> CaptureError {
    CaptureError::Damaged { path: directory.to_owned(), file: file.to_owned(), what: what.into() }
}

/// Reads a file and checks that it has the size and digest that the manifest states.
fn read(directory: &Path, entry: &FileEntry, bytes: Option<usize>) -> Result<Vec<u8>, CaptureError> {
    let FileEntry { file, sha256: expected } = entry;
    let mut components = Path::new(file).components();
    if !matches!((components.next(), components.next()), (Some(Component::Normal(_)), None)) {
        let why = format!("'{file}' is no name of a file in the directory");
        return Err(CaptureError::NotCapture { path: directory.to_owned(), why });
    }
    let place = directory.join(file);
    let there = fs::metadata(&place).map_err(|error| damaged(directory, file, error.to_string()))?.len();
    // Checked before the bytes are read.
    if let Some(bytes) = bytes.filter(|&bytes| bytes as u64 != there) {
        return Err(damaged(directory, file, format!("has {there} bytes instead of {bytes}")));
    }
    let content = if bytes.is_some() { fs::read(&place) } else { bounded::read(&place) };
    let content = content.map_err(|error| damaged(directory, file, error.to_string()))?;
    match sha256(&content) == *expected {
        true => Ok(content),
        false => Err(damaged(directory, file, "has another SHA-256 than its manifest says")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::WorkEntry;
    use super::*;
    use crate::backend::opencl::{DeviceInfo, ScalarKind};

    fn capture() -> Capture {
        let launch = CapturedLaunch {
            program: "scale.cl".to_owned(),
            binary: b"poclbin\0code".to_vec(),
            options: "-cl-std=CL1.2 -DN=8".to_owned(),
            source_sha256: sha256(b"kernel void scale() {}"),
            kernel: "scale".to_owned(),
            launch: Launch { global: [8, 1, 1], local: [4, 1, 1] },
            offset: [0; 3],
            number: 1,
            launches: 2,
            arguments: vec![
                CapturedArgument::Buffer(0),
                CapturedArgument::Scalar(ScalarKind::Float, 0.5f32.to_ne_bytes().to_vec()),
                CapturedArgument::Local(64),
                CapturedArgument::Buffer(0),
                CapturedArgument::Buffer(1),
            ],
            buffers: vec![
                CapturedBuffer { what: "x".to_owned(), before: vec![1, 2, 3], after: Some(vec![2, 4, 6]) },
                CapturedBuffer { what: "table".to_owned(), before: Vec::new(), after: None },
            ],
        };
        let about = [("precision".to_owned(), "f32".to_owned())].into();
        let work = Some(WorkEntry { flops: 3, bytes: 6 });
        Capture { work, about, ..Capture::new(launch, &DeviceInfo::imagined("PoCL")) }
    }

    fn written() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("capture");
        let WrittenFiles { files, bytes } = capture().write(&directory, false).unwrap();
        let sizes: Vec<u64> =
            fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).collect();
        assert_eq!((files, bytes), (sizes.len(), sizes.iter().sum()));
        (folder, directory)
    }

    #[test]
    fn what_was_written_is_read_again() {
        let (_folder, directory) = written();
        assert_eq!(Capture::read(&directory).unwrap(), capture());
        let refused = capture().write(&directory, false).unwrap_err().to_string();
        assert!(refused.ends_with("is not empty: give another name, or --force to replace it"), "{refused}");
        capture().write(&directory, true).unwrap();
    }

    #[test]
    fn a_file_with_a_byte_changed_missing_or_added_is_refused_by_name() {
        for file in ["program.bin", "buffer-00.before", "buffer-00.after", "buffer-01.before"] {
            let (_folder, directory) = written();
            let place = directory.join(file);
            let content = fs::read(&place).unwrap();
            let refused = |content: &[u8]| {
                fs::write(&place, content).unwrap();
                let error = Capture::read(&directory).unwrap_err().to_string();
                assert!(error.contains(&format!("is damaged: {file} has ")), "{error}");
            };
            refused(&[&content[..], b"x"].concat());
            if let Some((last, rest)) = content.split_last() {
                refused(rest);
                refused(&[rest, &[last ^ 1]].concat());
            }
            fs::remove_file(&place).unwrap();
            let error = Capture::read(&directory).unwrap_err().to_string();
            assert!(error.contains(&format!("is damaged: {file} ")), "{error}");
        }
    }

    #[test]
    fn a_manifest_that_does_not_fit_is_refused_with_what_is_wrong() {
        let (_folder, directory) = written();
        let place = directory.join(MANIFEST);
        let text = fs::read_to_string(&place).unwrap();
        for (from, to, named) in [
            ("\"version\": 1", "\"version\": 2", "it is of version 2, and this program reads 1"),
            ("lanefield capture", "lanefield golden data", "the format of manifest.json is \"lanefield golden data\""),
            ("\"buffer\": 1", "\"buffer\": 2", "argument 4 is buffer 2, and there are 2, numbered from 0"),
            ("0000003f", "00003f", "argument 1 is '00003f': expected the 4 bytes of a float in hexadecimal"),
            ("buffer-00.before", "../before", "'../before' is no name of a file in the directory"),
            ("\"program.bin\"", "\"/etc/hostname\"", "'/etc/hostname' is no name of a file in the directory"),
            ("\"kernel\": \"scale\"", "\"kernels\": \"scale\"", "missing field `kernel`"),
            ("\"binary_format\": \"pocl\"", "\"binary_format\": \"ptx\"", "program.bin is not PTX"),
        ] {
            assert!(text.contains(from), "{from}");
            fs::write(&place, text.replacen(from, to, 1)).unwrap();
            let error = Capture::read(&directory).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
        let eight = "\"global\": [\n      8,";
        assert!(text.contains(eight));
        fs::write(&place, text.replacen(eight, "\"global\": [\n      6,", 1)).unwrap();
        let error = Capture::read(&directory).unwrap_err().to_string();
        assert!(error.ends_with("[6, 1, 1] work-items are no whole groups of [4, 1, 1]"), "{error}");
        let error = Capture::read(&directory.join("nowhere")).unwrap_err().to_string();
        assert!(error.contains("holds no captured launch: manifest.json: "), "{error}");
    }

    #[test]
    fn buffers_that_differ_are_named_with_the_first_byte() {
        let capture = capture();
        assert_eq!(capture.differences(&[vec![2, 4, 6], vec![]]), []);
        let found = capture.differences(&[vec![2, 5, 7], vec![1]]);
        let places: Vec<_> = found.iter().map(|one| (one.buffer.1.as_str(), one.byte, one.bytes)).collect();
        assert_eq!(places, [("x", 1, 2), ("table", 0, 1)]);
        assert_eq!(capture.differences(&[vec![2, 4]])[0].byte, 2);
        assert_eq!(capture.written(), 1);
    }
}
