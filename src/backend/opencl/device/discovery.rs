//! Finds the OpenCL devices of the machine, and the reasons why installed drivers offer no device.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use opencl3::device as cl;
use opencl3::error_codes::{DLOPEN_FUNCTION_NOT_AVAILABLE, DLOPEN_RUNTIME_LOAD_FAILED};
use opencl3::platform::platform::{CL_PLATFORM_NAME, get_platform_data, get_platform_ids};
use opencl3::types::cl_platform_id;

use super::crashes::explaining_crashes;
use super::drivers::DriverFact;
use super::error::{ClStatus, HOW_TO_GET_OPENCL, OpenClError};
use super::forked::{is_of_parent, note_loaded};
use super::handles::{RawDevice, text};
use super::info::{DeviceInfo, LACKS, POCL, describe};
use crate::temporary::Temporary;

/// Every device of every platform, including those that cannot be used (see [`DeviceInfo::unusable_because`]). The list is made once in a
/// process.
///
/// # Errors
/// [`OpenClError::NoOpenCl`] if the library cannot be loaded or knows no platform. A platform that fails to list its devices is skipped, as
/// OpenCL loaders do; [`faults`] returns the reason.
pub fn devices() -> Result<Vec<DeviceInfo>, OpenClError> {
    Ok(enumerated()?.devices.iter().map(|(info, _)| info.clone()).collect())
}

/// Why installed drivers offer no device, one sentence each. This need not be a fault: a driver stays installed when its device is removed.
pub fn faults() -> Result<Vec<String>, OpenClError> {
    let mut faults = enumerated()?.without_devices.clone();
    faults.extend(unloaded_drivers(&driver_files().1, true));
    Ok(faults)
}

/// The driver's handle of a device that [`devices`] listed.
pub(crate) fn handle_of(info: &DeviceInfo) -> Result<RawDevice, OpenClError> {
    let listed = &enumerated()?.devices;
    match listed.iter().find(|(listed, _)| listed == info) {
        Some((_, handle)) => Ok(*handle),
        None => Err(OpenClError::UnknownDevice { device: info.to_string(), listed: listed.len() }),
    }
}

#[derive(Default)]
struct Enumerated {
    devices: Vec<(DeviceInfo, RawDevice)>,
    /// The platforms without devices, with the reasons.
    without_devices: Vec<String>,
}

const CRASHED: &str = "an OpenCL driver crashed while its devices were listed: move its .icd file out of /etc/OpenCL/vendors, set OCL_ICD_VENDORS to that of \
                       another driver, or use --device cpu, which loads none";

/// The devices and platforms that were found, or why none was found.
static LIST: OnceLock<Result<Enumerated, Absent>> = OnceLock::new();

/// The list of the process. One thread makes it while others wait, because PoCL 3.1 crashes if two threads call it for the first time
/// simultaneously.
fn enumerated() -> Result<&'static Enumerated, OpenClError> {
    // A driver creates the threads of a CPU when its devices are listed for the first time.
    let list = LIST.get_or_init(|| {
        let list = explaining_crashes(CRASHED, || with_large_stacks(enumerate));
        note_loaded();
        list
    });
    if is_of_parent() {
        return Err(OpenClError::Forked);
    }
    match list {
        Ok(list) => Ok(list),
        Err(Absent { reason, is_installed }) => {
            Err(OpenClError::NoOpenCl { reason: reason.clone(), is_installed: *is_installed })
        }
    }
}

fn enumerate() -> Result<Enumerated, Absent> {
    let mut found = Enumerated::default();
    let lost = std::env::var(LACKS).unwrap_or_default();
    let wrong = |reason| Absent { reason, is_installed: true };
    let facts = DriverFact::all().map_err(wrong)?;
    for (platform_index, platform) in platforms()?.into_iter().enumerate() {
        let devices = cl::get_device_ids(platform, cl::CL_DEVICE_TYPE_ALL);
        let status = devices.as_ref().err().copied();
        let devices = devices.unwrap_or_default();
        if devices.is_empty() {
            let name = text(get_platform_data(platform, CL_PLATFORM_NAME));
            let why = status.map(|status| format!(" (clGetDeviceIDs: {})", ClStatus(status))).unwrap_or_default();
            found.without_devices.push(format!("the platform {name} lists no device{why}{}", hint(&name)));
        }
        for (device_index, device) in devices.into_iter().enumerate() {
            let mut info = describe(found.devices.len(), (platform_index, platform), (device_index, device));
            info.know(&facts).and_then(|()| info.lose(&lost)).map_err(wrong)?;
            found.devices.push((info, RawDevice(device)));
        }
    }
    Ok(found)
}

/// Why there is no platform, and whether an installed driver or library should have offered one.
struct Absent {
    reason: String,
    is_installed: bool,
}

fn platforms() -> Result<Vec<cl_platform_id>, Absent> {
    let installed = |reason| Absent { reason, is_installed: true };
    library_of_the_environment().map_err(installed)?;
    let reason = match get_platform_ids() {
        Ok(platforms) if !platforms.is_empty() => return Ok(platforms),
        Err(DLOPEN_RUNTIME_LOAD_FAILED) => "the OpenCL library cannot be loaded".to_owned(),
        Err(DLOPEN_FUNCTION_NOT_AVAILABLE) => "the library that was loaded is not OpenCL".to_owned(),
        Ok(_) | Err(NO_PLATFORM) => {
            let (vendors, files) = driver_files();
            if !files.is_empty() {
                return Err(installed(unloaded_drivers(&files, false).join("; ")));
            }
            let vendors = vendors.display();
            format!("the OpenCL library is there, but no driver is registered with it: {vendors} holds no .icd file")
        }
        Err(status) => return Err(installed(format!("clGetPlatformIDs failed with {}", ClStatus(status)))),
    };
    Err(Absent { reason: format!("{reason}; {HOW_TO_GET_OPENCL}"), is_installed: false })
}

/// `CL_PLATFORM_NOT_FOUND_KHR`: the loader found no driver.
const NO_PLATFORM: i32 = -1001;

/// The environment variable that names the OpenCL library.
const LIBRARY: &str = "OPENCL_DYLIB_PATH";

/// Refuses a library that the environment names if it cannot be loaded, because another one would be loaded silently.
fn library_of_the_environment() -> Result<(), String> {
    let Some(paths) = std::env::var_os(LIBRARY) else { return Ok(()) };
    let paths = paths.to_string_lossy();
    let mut why = String::new();
    for path in paths.split(';') {
        match loaded(Path::new(path)) {
            Ok(_) => return Ok(()),
            Err(reason) => why = reason,
        }
    }
    Err(format!("{LIBRARY} names '{paths}', which cannot be loaded ({why}): give the path of a libOpenCL, or unset it"))
}

/// A hint why a platform has no device.
fn hint(platform: &str) -> String {
    let cache = unusable_cache(platform).map(|why| format!(": {why}"));
    let debug = (platform == POCL).then(|| "; POCL_DEBUG=err in the environment makes it tell why".to_owned());
    cache.or(debug).unwrap_or_default()
}

/// Why a platform cannot store its compiled programs, without which it neither lists devices nor builds anything; `None` if it can, or if
/// nothing is known.
pub(crate) fn unusable_cache(platform: &str) -> Option<String> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = named("POCL_CACHE_DIR")
        .or_else(|| Some(named("XDG_CACHE_HOME")?.join("pocl")))
        .or_else(|| Some(named("HOME")?.join(".cache/pocl")))
        .filter(|_| platform == POCL)?;
    // PoCL would have created it.
    let written = std::fs::create_dir_all(&cache).and_then(|()| Temporary::new_in(&cache, "probe", 0o600));
    let cure = "set POCL_CACHE_DIR to a directory that can be written";
    written.err().map(|error| format!("it cannot write its cache {} ({error}); {cure}", cache.display()))
}

/// The directory where drivers are registered with the loader, and its files (`*.icd`).
fn driver_files() -> (PathBuf, Vec<PathBuf>) {
    let named = ["OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"].into_iter().find_map(std::env::var_os);
    let vendors = named.map_or_else(|| PathBuf::from("/etc/OpenCL/vendors"), PathBuf::from);
    let mut files: Vec<PathBuf> = match std::fs::read_dir(&vendors) {
        Ok(files) => files.filter_map(|file| Some(file.ok()?.path())).collect(),
        Err(_) => vec![vendors.clone()],
    };
    files.retain(|file| file.extension().is_some_and(|extension| extension == "icd"));
    files.sort();
    (vendors, files)
}

/// Driver files whose drivers cannot be loaded or offer no platform, one sentence each. `some_do`: whether a driver that can be loaded is
/// assumed to offer a platform.
fn unloaded_drivers(files: &[PathBuf], some_do: bool) -> Vec<String> {
    let driver = |file: &PathBuf| {
        let library = std::fs::read_to_string(file).map_err(|error| format!("cannot be read ({error})"));
        let library = library.map(|library| library.trim().to_owned());
        let why = match library {
            Err(why) => why,
            Ok(library) if library.is_empty() => "is empty: expected the name of the driver's library".to_owned(),
            Ok(library) => match loaded(Path::new(&library)) {
                Err(reason) => format!("names '{library}', which cannot be loaded ({reason})"),
                Ok(Loaded { is_driver: false, .. }) => {
                    format!("names '{library}', which is not an OpenCL driver: it lacks {ENTRY}")
                }
                Ok(Loaded { before: true, .. }) if some_do => return None,
                Ok(_) => format!("names '{library}', which offers no platform"),
            },
        };
        Some(format!("the driver file {} {why}", file.display()))
    };
    files.iter().filter_map(driver).collect()
}

/// The driver's function that loaders call first.
const ENTRY: &str = "clGetExtensionFunctionAddress";

/// A library that can be loaded.
struct Loaded {
    /// Whether the process had already loaded it.
    before: bool,
    is_driver: bool,
}

#[cfg(unix)]
fn open_library(library: &Path, flags: libc::c_int) -> Result<*mut libc::c_void, String> {
    use std::os::unix::ffi::OsStrExt as _;
    let name = std::ffi::CString::new(library.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: a string that ends; loading runs what the library's own start does, as the loader of OpenCL has it run.
    let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
    if !handle.is_null() {
        return Ok(handle);
    }
    // SAFETY: the message of this thread's last failure, null or a string that lives until the next call.
    let message = unsafe { libc::dlerror().as_ref().map(|text| std::ffi::CStr::from_ptr(text)) };
    Err(message.map_or_else(String::new, |text| text.to_string_lossy().into_owned()))
}

/// Loads a library, or returns why it cannot be loaded.
#[cfg(unix)]
fn loaded(library: &Path) -> Result<Loaded, String> {
    let there = open_library(library, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
    let before = there.is_ok();
    let handle = there.or_else(|_| open_library(library, libc::RTLD_LAZY | libc::RTLD_LOCAL))?;
    let entry = std::ffi::CString::new(ENTRY).map_err(|error| error.to_string())?;
    // SAFETY: a handle of this function's own, and a string that ends.
    let is_driver = unsafe { !libc::dlsym(handle, entry.as_ptr()).is_null() };
    // SAFETY: as above; it is not used afterwards.
    unsafe { libc::dlclose(handle) };
    Ok(Loaded { before, is_driver })
}

#[cfg(not(unix))]
fn loaded(_: &Path) -> Result<Loaded, String> {
    Ok(Loaded { before: true, is_driver: true })
}

/// The stack size for such groups, by an estimate: a work-item of a stencil keeps some 64 words, which is 32 KiB for two spinors in lanes
/// of 256 bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const STACK_BYTES: usize = 64 << 20;

/// Runs `work` while new threads get large stacks. On the usual 8 MiB, a group of 1024 work-items overwrites the memory below, or crashes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn with_large_stacks<T>(work: impl FnOnce() -> T) -> T {
    unsafe extern "C" {
        fn pthread_getattr_default_np(attributes: *mut libc::pthread_attr_t) -> libc::c_int;
        fn pthread_setattr_default_np(attributes: *const libc::pthread_attr_t) -> libc::c_int;
    }
    let mut usual = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: the attributes are written before they are read, as the status says; they are this function's own, and destroyed once. Attributes of
    // other threads are set when these are made: Rust gives its threads a size of its own.
    unsafe {
        if pthread_getattr_default_np(usual.as_mut_ptr()) != 0 {
            return work();
        }
        let mut usual = usual.assume_init();
        let mut bytes = 0;
        libc::pthread_attr_getstacksize(&raw const usual, &raw mut bytes);
        let mut large = usual;
        if bytes < STACK_BYTES && libc::pthread_attr_setstacksize(&raw mut large, STACK_BYTES) == 0 {
            pthread_setattr_default_np(&raw const large);
        }
        let result = work();
        pthread_setattr_default_np(&raw const usual);
        libc::pthread_attr_destroy(&raw mut usual);
        result
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn with_large_stacks<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_cannot_be_loaded_says_why() {
        let why = loaded(Path::new("/nonexistent/libOpenCL.so")).err().unwrap();
        assert!(why.contains("/nonexistent/libOpenCL.so"), "{why}");
    }
}
