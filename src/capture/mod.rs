//! One launch of a kernel in a directory: the program's binary, the sizes, every argument, and what its buffers held before and after. Another program can
//! run the very same code on the very same arguments, and see whether it did: on NVIDIA's GPUs the binary is PTX, which profilers of CUDA programs
//! can look at, where they do not see OpenCL (`scripts/profile_nvidia.py`).
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

/// A captured launch, and what is known of it besides.
#[derive(Clone, PartialEq, Debug)]
pub struct Capture {
    /// The launch.
    pub launch: CapturedLaunch,
    /// Where it ran.
    pub device: CapturedOn,
    /// What the call does, where that is known; of all its launches together.
    pub work: Option<WorkEntry>,
    /// Anything else, by name, for people: precision, lattice, tuning.
    pub about: BTreeMap<String, String>,
}

/// A buffer that holds something else than it did after the captured launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputDifference {
    /// The number of the buffer, and what it is for.
    pub buffer: (usize, String),
    /// The first byte that differs, or the shorter length where one is a part of the other.
    pub byte: usize,
    /// Bytes that differ.
    pub bytes: usize,
}

impl Capture {
    /// A launch that was captured on a device.
    pub fn new(launch: CapturedLaunch, device: &DeviceInfo) -> Self {
        Self { launch, device: device.into(), work: None, about: BTreeMap::new() }
    }

    /// What the binary of its program is.
    pub fn binary_format(&self) -> BinaryFormat {
        BinaryFormat::of(&self.launch.binary)
    }

    /// Buffers that the launch wrote something to.
    pub fn written(&self) -> usize {
        self.launch.buffers.iter().filter(|buffer| buffer.after.is_some()).count()
    }

    /// Which buffers hold something else than after the launch: `found` are all of them, after it was run again.
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
