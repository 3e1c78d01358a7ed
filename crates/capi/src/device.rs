//! The OpenCL devices of the machine.

use std::ffi::c_char;

use lanefield::backend::opencl::{DeviceInfo, DeviceKind, OpenClError, devices};
use lanefield::comm::Launched;

use crate::pointer::{fixed_text, put};
use crate::status::{Failure, Outcome, guarded, lf_status, note};
use crate::struct_size::{Growing, put_sized};

/// The kind of a device's processor.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum lf_device_kind {
    /// A processor of the host.
    LF_DEVICE_CPU = 0,
    /// A graphics processor.
    LF_DEVICE_GPU = 1,
    /// An accelerator card.
    LF_DEVICE_ACCELERATOR = 2,
    /// Anything else.
    LF_DEVICE_OTHER = 3,
}

/// Size of a name, including the zero byte at its end.
pub const LF_NAME_LENGTH: usize = 128;

/// An OpenCL device. Set `size` before the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lf_device {
    /// sizeof(lf_device), set by the caller. Later versions add members at the end.
    pub size: usize,
    /// Its name, truncated if it is too long.
    pub name: [c_char; LF_NAME_LENGTH],
    /// The name of its platform, which identifies the driver.
    pub platform: [c_char; LF_NAME_LENGTH],
    /// The version of the driver.
    pub driver: [c_char; LF_NAME_LENGTH],
    /// The kind of processor: an lf_device_kind.
    pub kind: i32,
    /// 1 if it can run lattice kernels; 0 if not, for example because it has no double precision.
    pub usable: i32,
    /// The number of compute units.
    pub compute_units: u32,
    /// The highest clock rate in MHz; 0 if the driver does not report it.
    pub clock_mhz: u32,
    /// Global memory in bytes.
    pub memory_bytes: u64,
}

impl Growing for lf_device {
    const NAME: &'static str = "lf_device";
}

impl From<&DeviceInfo> for lf_device {
    fn from(info: &DeviceInfo) -> Self {
        let kind = match info.kind {
            DeviceKind::Cpu => lf_device_kind::LF_DEVICE_CPU,
            DeviceKind::Gpu => lf_device_kind::LF_DEVICE_GPU,
            DeviceKind::Accelerator => lf_device_kind::LF_DEVICE_ACCELERATOR,
            DeviceKind::Other => lf_device_kind::LF_DEVICE_OTHER,
        };
        Self {
            size: size_of::<Self>(),
            name: fixed_text(&info.name),
            platform: fixed_text(&info.platform_name),
            driver: fixed_text(&info.driver_version),
            kind: kind as i32,
            usable: i32::from(info.unusable_because().is_none()),
            compute_units: info.compute_units,
            clock_mhz: info.max_clock_mhz,
            memory_bytes: info.global_memory_bytes,
        }
    }
}

/// The devices. If there are none, the text says why.
fn listed() -> Outcome<(Vec<DeviceInfo>, String)> {
    match devices() {
        Ok(devices) => Ok((devices, String::new())),
        Err(error @ OpenClError::NoOpenCl { .. }) => Ok((Vec::new(), error.to_string())),
        Err(error) => Err(error.into()),
    }
}

/// Counts the OpenCL devices of the machine, usable or not. If there is no OpenCL, `count` is 0, the status is LF_OK, and lf_last_error()
/// says what is missing. Drivers are queried once in a process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_device_count(count: *mut i32) -> lf_status {
    guarded(|| {
        let (devices, why_none) = listed()?;
        note(&why_none);
        // SAFETY: the caller's promise.
        unsafe { put(count, i32::try_from(devices.len()).unwrap_or(i32::MAX), "count") }
    })
}

/// Detects whether a launcher (Slurm, Open MPI, MPICH and others, by their environment variables) started this process together with
/// others. The library does not divide work among processes: each process does all of the work.
///
/// `rank`: the number of this process, 0 if it is alone. `processes`: the number of processes; 1 if it is alone, 0 if there are several and
/// the launcher does not say how many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_launched(rank: *mut u64, processes: *mut u64) -> lf_status {
    guarded(|| {
        let launched = Launched::of_environment().filter(Launched::are_several);
        let [number, several] = launched.map_or([0, 1], |launched| [launched.rank, launched.ranks.unwrap_or(0)]);
        // SAFETY: the caller's promise.
        unsafe { put(rank, number as u64, "rank").and_then(|()| put(processes, several as u64, "processes")) }
    })
}

/// Returns information about device number `index`, counted from 0. `device->size` must be set.
///
/// Errors: LF_INVALID_ARGUMENT if there is no such device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_device_info(index: i32, device: *mut lf_device) -> lf_status {
    guarded(|| {
        let (devices, _) = listed()?;
        let info = usize::try_from(index).ok().and_then(|index| devices.get(index)).ok_or_else(|| {
            Failure::argument(format!("there is no device {index}: there are {}, counted from 0", devices.len()))
        })?;
        // SAFETY: the caller's promise.
        unsafe { put_sized(device, info.into()) }
    })
}
