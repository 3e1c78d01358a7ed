//! The on-disk cache of data that take long to compute for a device: program binaries, and the verdict of the arithmetic probe. An entry is
//! one file, which is valid as a whole or not at all. Another process, a full disk or a crash can thus cost time, but never cause a wrong
//! result. No failure here is fatal: an entry that cannot be read is computed again, and one that cannot be written is skipped.
//!
//! The file contains a magic line, the full text of the key, a line `payload LENGTH SHA256`, and the payload.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use etcetera::BaseStrategy;
use sha2::{Digest, Sha256};

use crate::backend::opencl::device::DeviceInfo;
use crate::temporary::Temporary;

const MAGIC: &str = "lanefield cache 1\n";

/// The place of cache entries: a directory, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    directory: Option<PathBuf>,
    programs: bool,
}

impl Cache {
    /// `$LANEFIELD_CACHE_DIR`, or else `lanefield` in the user's cache directory (`~/.cache/lanefield` on Linux), or else none.
    pub fn from_environment() -> Self {
        let chosen = std::env::var_os("LANEFIELD_CACHE_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
        let directory = chosen.or_else(|| {
            etcetera::choose_base_strategy().ok().map(|directories| directories.cache_dir().join("lanefield"))
        });
        Self { directory, programs: true }
    }

    /// A cache in `directory`, which is created when the first entry is written.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self { directory: Some(directory.into()), programs: true }
    }

    /// A cache that stores nothing.
    pub fn disabled() -> Self {
        Self { directory: None, programs: false }
    }

    /// The same cache, without programs if the driver keeps them itself.
    pub(crate) fn for_device(self, device: &DeviceInfo) -> Self {
        Self { programs: self.programs && !device.keeps_programs(), ..self }
    }

    /// Whether program binaries are stored.
    pub fn keeps_programs(&self) -> bool {
        self.programs
    }

    pub(crate) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The payload that was stored under `key`; `None` if there is no complete one.
    pub fn load(&self, kind: EntryKind, key: &Key) -> Option<Vec<u8>> {
        let mut file = File::open(self.path(kind, key)?).ok()?;
        let mut bytes = Vec::new();
        is_ours(&file).then(|| file.read_to_end(&mut bytes).ok()).flatten()?;
        decode(key, &bytes).map(<[u8]>::to_vec)
    }

    /// Stores `payload` under `key`, replacing an existing entry atomically. A failure is silent: see the module.
    pub fn store(&self, kind: EntryKind, key: &Key, payload: &[u8]) {
        // The result is ignored on purpose: a read-only home directory must not stop a run.
        let _ = self.try_store(kind, key, payload);
    }

    fn try_store(&self, kind: EntryKind, key: &Key, payload: &[u8]) -> std::io::Result<()> {
        let (Some(directory), Some(path)) = (&self.directory, self.path(kind, key)) else {
            return Ok(());
        };
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(directory)?;
        let temporary = Temporary::new_in(directory, "entry", 0o600)?;
        temporary.file().write_all(&encode(key, payload))?;
        temporary.file().sync_all()?;
        temporary.persist(&path)
    }

    /// The file of an entry, if there is a directory.
    pub fn path(&self, kind: EntryKind, key: &Key) -> Option<PathBuf> {
        let suffix = match kind {
            EntryKind::Program => "program",
            EntryKind::Probe => "probe",
            EntryKind::Launched => "launched",
            EntryKind::Ceiling => "ceiling",
        };
        Some(self.directory.as_ref()?.join(format!("{}.{suffix}", key.digest())))
    }
}

/// Whether only this user can have written a file: a file from others may contain any code. The directory may be one that others can write
/// to.
#[cfg(unix)]
fn is_ours(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    // SAFETY: it has no arguments, and always succeeds.
    let user = unsafe { libc::geteuid() };
    file.metadata().is_ok_and(|metadata| metadata.uid() == user && metadata.mode() & 0o022 == 0)
}

#[cfg(not(unix))]
fn is_ours(_: &File) -> bool {
    true
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A program binary with its build log.
    Program,
    /// The verdict of the arithmetic probe, as JSON.
    Probe,
    /// A note that a driver with its own cache of programs has compiled a kernel. It is empty.
    Launched,
    /// A measured bandwidth, as JSON.
    Ceiling,
}

/// Prefixes of environment variables that drivers read. They may change the code that compilers produce, or the choice of compiler.
const OF_DRIVERS: [&str; 23] = [
    "POCL_",
    "OCL_ICD_",
    "OPENCL_",
    "AMD_",
    "GPU_",
    "HSA_",
    "ROCR_",
    "IGC_",
    "NEO",
    "CL_CONFIG_",
    "INTEL_",
    "SYCL_",
    "ONEAPI_",
    "CUDA_",
    "NV_",
    "RUSTICL_",
    "MESA_",
    "GALLIUM_",
    "GALLIVM_",
    "LP_",
    "NIR_",
    "CLVK_",
    "CLC_",
];
/// Prefixes of those that change no code: where files are stored, messages, the number of threads, and the numbering of devices.
const OF_NO_CODE: [&str; 21] = [
    "POCL_CACHE_DIR",
    "POCL_DEBUG",
    "POCL_TRACING",
    "POCL_MAX_PTHREAD_COUNT",
    "POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES",
    "POCL_AFFINITY",
    "OCL_ICD_DEBUG",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_CACHE_",
    "CUDA_MPS_",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_ROOT",
    "CUDA_VERSION",
    "GPU_DEVICE_ORDINAL",
    "ROCR_VISIBLE_DEVICES",
    "ONEAPI_ROOT",
    "INTEL_LICENSE",
    "MESA_SHADER_CACHE",
    "AMD_LOG_",
];

/// The environment variables that change what drivers' compilers produce, one `NAME=value` per line, sorted by name; empty if none is set.
pub(crate) fn compiler_environment() -> &'static str {
    static LINES: OnceLock<String> = OnceLock::new();
    LINES.get_or_init(|| {
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        environment_of(std::env::vars_os().map(|(name, value)| (text(name), text(value))))
    })
}

fn environment_of(variables: impl Iterator<Item = (String, String)>) -> String {
    let begins = |name: &str, prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let of_compilers = variables.filter(|(name, _)| begins(name, &OF_DRIVERS) && !begins(name, &OF_NO_CODE));
    let mut lines: Vec<String> = of_compilers.map(|(name, value)| format!("environment {name}={value:?}\n")).collect();
    lines.sort();
    lines.concat()
}

/// Everything that a cached result depends on, as text with one line each.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key(String);

impl Key {
    /// The key of `source`, built by this version of the library with `options` (all of them) for a device and its driver.
    pub fn new(device: &DeviceInfo, source: &str, options: &str) -> Self {
        let source = hex::encode(Sha256::digest(source.as_bytes()));
        // Debug formatting quotes a text on one line, so that no text can run into the next.
        Key(format!(
            "lanefield {}\nsource {source}\noptions {options:?}\ndevice {:?}\nvendor {:?}\ndriver {:?}\nplatform {:?} {:?}\n{}",
            env!("CARGO_PKG_VERSION"),
            device.name,
            device.vendor,
            device.driver_version,
            device.platform_name,
            device.platform_version,
            compiler_environment(),
        ))
    }

    /// The key of a program that is created from a binary instead of a source.
    pub(crate) fn of_binary(device: &DeviceInfo, binary: &[u8], options: &str) -> Self {
        Self::new(device, "", options).and(&format!("binary {}", hex::encode(Sha256::digest(binary))))
    }

    /// The SHA-256 of the source in hexadecimal; empty if the key has none.
    pub(crate) fn source_sha256(&self) -> &str {
        self.0.lines().find_map(|line| line.strip_prefix("source ")).unwrap_or_default()
    }

    /// The key of a result about this host, or about some of its threads, by this version of the library.
    pub fn of_host(host: &str, what: &str) -> Self {
        Key(format!("lanefield {}\nhost {host:?}\nof {what:?}\n", env!("CARGO_PKG_VERSION")))
    }

    /// The key of a result that depends on `more`, too.
    pub(crate) fn and(&self, more: &str) -> Self {
        Key(format!("{}and {more:?}\n", self.0))
    }

    /// The SHA-256 of the text in hexadecimal: the name of the file.
    pub(crate) fn digest(&self) -> String {
        hex::encode(Sha256::digest(self.0.as_bytes()))
    }
}

fn encode(key: &Key, payload: &[u8]) -> Vec<u8> {
    let digest = hex::encode(Sha256::digest(payload));
    let mut file = format!("{MAGIC}{}payload {} {digest}\n", key.0, payload.len()).into_bytes();
    file.extend_from_slice(payload);
    file
}

/// The payload of `file`, if the file is complete and belongs to `key`.
fn decode<'a>(key: &Key, file: &'a [u8]) -> Option<&'a [u8]> {
    let rest = file.strip_prefix(MAGIC.as_bytes())?.strip_prefix(key.0.as_bytes())?.strip_prefix(b"payload ")?;
    let line_end = rest.iter().position(|&byte| byte == b'\n')?;
    let (line, payload) = (&rest[..line_end], &rest[line_end + 1..]);
    let expected = format!("{} {}", payload.len(), hex::encode(Sha256::digest(payload)));
    (line == expected.as_bytes()).then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::opencl::device::testing::device;

    fn key() -> Key {
        Key::new(&device("H200"), "kernel void f() {}", "-DN=8")
    }

    #[test]
    fn a_stored_payload_is_loaded_again() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path().join("not/yet/there"));
        assert_eq!(cache.load(EntryKind::Program, &key()), None);
        cache.store(EntryKind::Program, &key(), b"\x7fELF\n\0");
        assert_eq!(cache.load(EntryKind::Program, &key()).unwrap(), b"\x7fELF\n\0");
        cache.store(EntryKind::Program, &key(), b"");
        assert_eq!(cache.load(EntryKind::Program, &key()).unwrap(), b"");
    }

    #[test]
    fn variables_that_change_code_are_part_of_a_key_and_others_are_not() {
        let of = |variables: &[(&str, &str)]| {
            environment_of(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
        };
        let none =
            [("HOME", "/root"), ("POCL_CACHE_DIR", "/tmp"), ("CUDA_VISIBLE_DEVICES", "3"), ("POCL_DEBUG", "err")];
        assert_eq!(of(&none), "");
        for name in [
            "POCL_EXTRA_BUILD_FLAGS",
            "AMD_OCL_BUILD_OPTIONS_APPEND",
            "IGC_ForceOCLSIMDWidth",
            "NEOReadDebugKeys",
            "CL_CONFIG_CPU_VECTORIZER_MODE",
        ] {
            assert_eq!(of(&[("HOME", "x"), (name, "1")]), format!("environment {name}=\"1\"\n"));
        }
        assert_eq!(of(&[("IGC_B", "2"), ("IGC_A", "1")]), of(&[("IGC_A", "1"), ("IGC_B", "2")]));
    }

    #[test]
    fn a_file_cut_at_any_byte_is_not_loaded() {
        let file = encode(&key(), b"some binary");
        assert!((0..file.len()).all(|len| decode(&key(), &file[..len]).is_none()));
    }

    #[test]
    fn a_file_with_any_byte_changed_or_added_is_not_loaded() {
        let file = encode(&key(), b"some binary");
        for place in 0..file.len() {
            let mut damaged = file.clone();
            damaged[place] ^= 1;
            assert_eq!(decode(&key(), &damaged), None, "byte {place}");
        }
        assert_eq!(decode(&key(), &[&file[..], b"\0"].concat()), None);
    }

    #[test]
    fn a_damaged_file_is_replaced_by_the_next_store() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path());
        std::fs::write(cache.path(EntryKind::Probe, &key()).unwrap(), b"lanefield cac").unwrap();
        assert_eq!(cache.load(EntryKind::Probe, &key()), None);
        cache.store(EntryKind::Probe, &key(), b"new");
        assert_eq!(cache.load(EntryKind::Probe, &key()).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "a temporary file was left behind");
    }

    #[test]
    #[cfg(unix)]
    fn what_others_could_have_written_is_not_loaded_and_replaced_by_the_next_store() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path().join("new"));
        cache.store(EntryKind::Program, &key(), b"x");
        assert_eq!(std::fs::metadata(directory.path().join("new")).unwrap().permissions().mode() & 0o777, 0o700);
        let entry = cache.path(EntryKind::Program, &key()).unwrap();
        std::fs::set_permissions(&entry, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert_eq!(cache.load(EntryKind::Program, &key()), None);
        cache.store(EntryKind::Program, &key(), b"x");
        assert_eq!(cache.load(EntryKind::Program, &key()).unwrap(), b"x");
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_no_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, b"").unwrap();
        let cache = Cache::at(file.join("below"));
        cache.store(EntryKind::Program, &key(), b"x");
        assert_eq!(cache.load(EntryKind::Program, &key()), None);
    }

    #[test]
    fn the_key_changes_with_everything_that_a_binary_depends_on() {
        let base = device("H200");
        let changed = [
            Key::new(&base, "kernel void g() {}", "-DN=8"),
            Key::new(&base, "kernel void f() {}", "-DN=16"),
            Key::new(&device("A100"), "kernel void f() {}", "-DN=8"),
        ]
        .into_iter()
        .chain(
            [
                DeviceInfo { vendor: "other".into(), ..base.clone() },
                DeviceInfo { driver_version: "other".into(), ..base.clone() },
                DeviceInfo { platform_name: "other".into(), ..base.clone() },
                DeviceInfo { platform_version: "other".into(), ..base.clone() },
            ]
            .map(|device| Key::new(&device, "kernel void f() {}", "-DN=8")),
        );
        for other in changed {
            assert_ne!(other.digest(), key().digest(), "{other:?}");
        }
        assert_eq!(Key::new(&base, "kernel void f() {}", "-DN=8"), key());
    }
}
