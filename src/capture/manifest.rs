//! The manifest of a captured launch, `manifest.json`. docs/counters.md describes its keys; `scripts/profile_nvidia.py` also reads it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::binary::BinaryFormat;
use crate::backend::opencl::{DeviceInfo, ScalarKind};

/// The file name of the manifest.
pub const MANIFEST: &str = "manifest.json";

/// The value of `format` in the manifest of a captured launch.
pub(super) const FORMAT: &str = "lanefield capture";
/// The version of the keys. It increases when a key is renamed, removed, or changes its meaning.
pub(super) const VERSION: u64 = 1;

/// The contents of the manifest. File names are relative to the directory.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub format: String,
    pub version: u64,
    /// The version of the library.
    pub lanefield: String,
    pub device: CapturedOn,
    pub program: ProgramEntry,
    pub kernel: String,
    pub launch: LaunchEntry,
    pub arguments: Vec<ArgumentEntry>,
    pub buffers: Vec<BufferEntry>,
    pub work: Option<WorkEntry>,
    pub about: BTreeMap<String, String>,
}

/// The device on which a launch was captured.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CapturedOn {
    /// Its name.
    pub name: String,
    /// Its vendor.
    pub vendor: String,
    /// The name of its platform.
    pub platform: String,
    /// The version of its driver.
    pub driver: String,
}

impl From<&DeviceInfo> for CapturedOn {
    fn from(info: &DeviceInfo) -> Self {
        Self {
            name: info.name.clone(),
            vendor: info.vendor.clone(),
            platform: info.platform_name.clone(),
            driver: info.driver_version.clone(),
        }
    }
}

/// A file in the directory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct FileEntry {
    pub file: String,
    /// In hexadecimal.
    pub sha256: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct ProgramEntry {
    pub name: String,
    #[serde(flatten)]
    pub binary: FileEntry,
    pub binary_format: BinaryFormat,
    /// All options of the build.
    pub options: String,
    /// Of the source with all its includes.
    pub source_sha256: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct LaunchEntry {
    /// Work-items in each dimension.
    pub global: [usize; 3],
    /// Work-items of a work-group in each dimension.
    pub local: [usize; 3],
    /// The number of the first work-item.
    pub offset: [usize; 3],
    /// The number of this launch among those of the call, from 1.
    pub number: usize,
    pub launches: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum ArgumentEntry {
    /// The index of a buffer in the list, from 0.
    Buffer { buffer: usize },
    /// `hex`: its bytes in memory order.
    Scalar {
        #[serde(rename = "type")]
        kind: ScalarKind,
        hex: String,
    },
    /// Bytes of local memory for each work-group.
    Local { bytes: usize },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct BufferEntry {
    pub what: String,
    pub bytes: usize,
    pub before: FileEntry,
    /// `None` if the launch did not change the buffer.
    pub after: Option<FileEntry>,
}

/// The work of the call, as the specification of its kernel counts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WorkEntry {
    /// Floating-point operations of the call.
    pub flops: u64,
    /// Bytes that the call must move at least: each input once, each output once.
    pub bytes: u64,
}
