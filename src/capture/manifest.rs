//! The manifest of a captured launch, `manifest.json`. docs/counters.md describes its keys; `scripts/profile_nvidia.py` reads it, too.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::binary::BinaryFormat;
use crate::backend::opencl::{DeviceInfo, ScalarKind};

/// The name of the manifest.
pub const MANIFEST: &str = "manifest.json";

/// What the manifest of a captured launch says that it is.
pub(super) const FORMAT: &str = "lanefield capture";
/// The version of its keys. It goes up where a key is renamed, removed, or means something else.
pub(super) const VERSION: u64 = 1;

/// All that is said of a captured launch. Files are named relative to the directory.
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

/// The device that a launch was captured on.
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

/// A file of the directory.
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
    /// Those of the build, all of them.
    pub options: String,
    /// Of the source with all that it includes.
    pub source_sha256: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct LaunchEntry {
    /// Work-items in each dimension.
    pub global: [usize; 3],
    /// Work-items of a group.
    pub local: [usize; 3],
    /// The number of the first work-item.
    pub offset: [usize; 3],
    /// From 1, of the launches of the call.
    pub number: usize,
    pub launches: usize,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum ArgumentEntry {
    /// The number of a buffer in the list, from 0.
    Buffer { buffer: usize },
    /// `hex`: its bytes as they lie in memory.
    Scalar {
        #[serde(rename = "type")]
        kind: ScalarKind,
        hex: String,
    },
    /// Bytes of local memory of a group.
    Local { bytes: usize },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct BufferEntry {
    pub what: String,
    pub bytes: usize,
    pub before: FileEntry,
    /// None where the launch changed nothing of it.
    pub after: Option<FileEntry>,
}

/// What the call has to do, as the specification of its kernel counts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WorkEntry {
    /// Floating-point operations of the call.
    pub flops: u64,
    /// Bytes that it must move at least: each input once, each output once.
    pub bytes: u64,
}
