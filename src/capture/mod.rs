//! Stores one launch of a kernel in a directory: the program's binary, the sizes, every argument, and the contents of its buffers before
//! and after. Another program can then run the same code on the same arguments, and check that the results agree.
//!
//! On NVIDIA's GPUs the binary is PTX. Profilers of CUDA programs can examine it, although they do not see OpenCL
//! (`scripts/profile_nvidia.py`).
//!
//! ```no_run
//! # use lanefield::backend::{BackendError, OpenCl};
//! # fn example(device: &OpenCl, mut launch_hop: impl FnMut() -> Result<(), BackendError>) -> Result<(), Box<dyn std::error::Error>> {
//! use lanefield::capture::Capture;
//!
//! let launch = device.capture("hop", &mut launch_hop)?;
//! Capture::new(launch, device.context().info()).write("hop-f32".as_ref(), false)?;
//! let capture = Capture::read("hop-f32".as_ref())?;
//! assert_eq!(capture.differences(&device.context().replay(&capture.launch)?), []);
//! # Ok(())
//! # }
//! ```

mod binary;
mod files;
mod manifest;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::backend::opencl::{CapturedLaunch, DeviceInfo};
use crate::io::directory::DirectoryError;

pub use binary::{BinaryFormat, ptx};
pub use files::WrittenFiles;
pub use manifest::{CapturedOn, MANIFEST, WorkEntry};

/// A captured launch, with its device and a description.
#[derive(Clone, PartialEq, Debug)]
pub struct Capture {
    /// The launch.
    pub launch: CapturedLaunch,
    /// The device on which it ran.
    pub device: CapturedOn,
    /// The work of the whole call, with all its launches, if known.
    pub work: Option<WorkEntry>,
    /// Other information for people, by name: precision, lattice, tuning.
    pub about: BTreeMap<String, String>,
}

/// A buffer whose contents differ from those after the captured launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputDifference {
    /// The index of the buffer and its role.
    pub buffer: (usize, String),
    /// The index of the first byte that differs; if one buffer is a prefix of the other, the shorter length.
    pub byte: usize,
    /// The number of bytes that differ.
    pub bytes: usize,
}

impl Capture {
    /// Describes a launch that was captured on a device.
    pub fn new(launch: CapturedLaunch, device: &DeviceInfo) -> Self {
        Self { launch, device: device.into(), work: None, about: BTreeMap::new() }
    }

    /// The format of the program's binary.
    pub fn binary_format(&self) -> BinaryFormat {
        BinaryFormat::of(&self.launch.binary)
    }

    /// The number of buffers that the launch changed.
    pub fn written(&self) -> usize {
        self.launch.buffers.iter().filter(|buffer| buffer.after.is_some()).count()
    }

    /// The buffers whose contents differ from those after the captured launch. `found`: all buffers after a replay.
    pub fn differences(&self, found: &[Vec<u8>]) -> Vec<OutputDifference> {
        let mut differences = Vec::new();
        for (number, expected) in self.launch.buffers.iter().enumerate() {
            let (found, after) = (found.get(number).map_or(&[][..], Vec::as_slice), expected.after());
            let unequal = found.iter().zip(after).enumerate().filter(|(_, (found, after))| found != after);
            let bytes = unequal.clone().count() + found.len().abs_diff(after.len());
            if bytes > 0 {
                let byte = unequal.map(|(byte, _)| byte).next().unwrap_or(found.len().min(after.len()));
                differences.push(OutputDifference { buffer: (number, expected.what.clone()), byte, bytes });
            }
        }
        differences
    }
}

/// Why a captured launch was not written or read. Messages are fragments.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum CaptureError {
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error("{} holds no captured launch: {why}", .path.display())]
    NotCapture { path: PathBuf, why: String },
    #[error("the captured launch {} is damaged: {file} {what}; capture it again", .path.display())]
    Damaged { path: PathBuf, file: String, what: String },
}
