//! Errors of the OpenCL runtime. They name the call, its sizes, the driver's answer, and what to try. Messages are lower-case fragments
//! that fit after "failed to …: ".

use std::fmt;

use opencl3::error_codes as codes;

/// How to install an OpenCL device on a machine that has none. Part of [`OpenClError::NoOpenCl`] if that would help.
pub(crate) const HOW_TO_GET_OPENCL: &str = if cfg!(target_feature = "crt-static") {
    "this program is linked statically, and cannot load OpenCL: take the one that is linked with glibc"
} else {
    "a CPU device comes with PoCL (on Debian and Ubuntu: apt-get install pocl-opencl-icd ocl-icd-libopencl1), a GPU device with its \
     vendor's driver; OPENCL_DYLIB_PATH names another libOpenCL, and each file in /etc/OpenCL/vendors names one driver"
};

/// The environment variable that limits device memory.
pub(crate) const MEMORY_LIMIT: &str = "LANEFIELD_MEMORY_LIMIT";

/// The status that an OpenCL call returned. Displays as its name in `CL/cl.h` with the number, `CL_OUT_OF_RESOURCES (-5)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClStatus(pub i32);

impl ClStatus {
    /// Whether the status says that the driver could not get memory or another resource.
    pub(crate) fn is_resource_failure(self) -> bool {
        matches!(
            self.0,
            codes::CL_MEM_OBJECT_ALLOCATION_FAILURE | codes::CL_OUT_OF_RESOURCES | codes::CL_OUT_OF_HOST_MEMORY
        )
    }

    /// Advice for the user; empty if the status alone does not suggest any.
    fn advice(self) -> &'static str {
        match self.0 {
            codes::CL_OUT_OF_RESOURCES => {
                "try fewer accelerator threads or a smaller lattice; NVIDIA's driver also answers so after a kernel \
                 that was queued earlier broke off"
            }
            codes::CL_MEM_OBJECT_ALLOCATION_FAILURE => {
                "the device has no room left: try a smaller lattice, f32, or end other programs that use the device"
            }
            codes::CL_OUT_OF_HOST_MEMORY => "the host has no memory left: end other programs or try a smaller lattice",
            codes::CL_DEVICE_NOT_AVAILABLE => "another program may hold the device in exclusive mode",
            codes::CL_COMPILER_NOT_AVAILABLE => "this driver has no OpenCL C compiler: choose another device",
            codes::CL_INVALID_WORK_GROUP_SIZE | codes::CL_INVALID_WORK_ITEM_SIZE => "try fewer accelerator threads",
            codes::CL_INVALID_ARG_SIZE | codes::CL_INVALID_ARG_VALUE => {
                "compare the type of the argument with the kernel's declaration"
            }
            codes::CL_INVALID_COMMAND_QUEUE | codes::CL_INVALID_CONTEXT => {
                "the device may have disappeared or been reset: look at the system log, then run again"
            }
            codes::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST => "an earlier command of the queue failed",
            NVIDIA_ILLEGAL_ACCESS => "NVIDIA's driver answers so when a kernel reads or writes outside its buffers",
            _ => "",
        }
    }
}

/// NVIDIA's status for an illegal read or write by a kernel. No header defines it.
const NVIDIA_ILLEGAL_ACCESS: i32 = -9999;

impl fmt::Display for ClStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match codes::error_text(self.0) {
            "UNKNOWN_ERROR" => write!(f, "unknown status {}", self.0),
            name => write!(f, "{name} ({})", self.0),
        }
    }
}

/// Why an operation of the OpenCL runtime failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum OpenClError {
    #[error("there is no OpenCL here: {reason}")]
    NoOpenCl { reason: String, is_installed: bool },

    #[error(
        "OpenCL was used before this process was forked, and does not survive a fork: use the device \"cpu\" here, start processes with \"spawn\" \
         instead of \"fork\", or use OpenCL first in the child"
    )]
    Forked,

    #[error("device {device} is not among the {listed} OpenCL devices of this machine; list the devices again")]
    UnknownDevice { device: String, listed: usize },

    #[error("{call} failed with {status} for {what}{}", advice_after(*.status))]
    Call { call: &'static str, status: ClStatus, what: String },

    #[error(
        "{call} failed with {status}: no room for {bytes} bytes of {what} on {device}; held already: {held}; the device has \
         {device_bytes} bytes, at most {max_allocation_bytes} in one buffer; try a smaller lattice, f32 instead of f64, \
         reconstruct 12 or 8, or end other programs that use the device"
    )]
    OutOfMemory {
        call: &'static str,
        status: ClStatus,
        what: String,
        bytes: usize,
        held: String,
        device: String,
        device_bytes: u64,
        max_allocation_bytes: u64,
    },

    #[error("invalid {MEMORY_LIMIT} '{text}': expected a number of bytes, or of KiB, MiB or GiB as in 512M")]
    MemoryLimit { text: String },

    #[error(
        "{call} failed with {status} for program {program} on {device}, options \"{options}\"; build log:\n{}",
        trimmed_log(.log)
    )]
    Build { call: &'static str, status: ClStatus, program: String, device: String, options: String, log: String },

    #[error(transparent)]
    Source(#[from] SourceError),

    #[error("{what} contains a NUL byte: {value:?}")]
    NulByte { what: &'static str, value: String },

    #[error("program {program} has no kernel {kernel}; it has: {available}")]
    NoSuchKernel { program: String, kernel: String, available: String },

    #[error("bytes {offset}..{} lie outside the {bytes} bytes of {what}", .offset.saturating_add(*.len))]
    OutOfRange { what: String, bytes: usize, offset: usize, len: usize },

    #[error("{what} belongs to another OpenCL context than the one of {device}")]
    WrongContext { what: String, device: String },

    #[error("kernel {kernel} of program {program} takes {expected} arguments, and {given} were given")]
    ArgumentCount { program: String, kernel: String, expected: usize, given: usize },

    #[error(
        "kernel {kernel}: global size {global:?} must be a positive multiple of the local size {local:?} in each dimension"
    )]
    GlobalSize { kernel: String, global: [usize; 3], local: [usize; 3] },

    #[error(
        "kernel {kernel}: local size {local:?} is {} work-items, and {device} runs at most {kernel_max} for this kernel \
         ({device_max} for any, per dimension {item_max:?}): a group has its accelerator threads, or work items, times the lanes of a site, {kernel_max} in all \
         at most; where none is chosen, the size fits",
        .local.iter().product::<usize>()
    )]
    LocalSize {
        kernel: String,
        local: [usize; 3],
        device: String,
        kernel_max: usize,
        device_max: usize,
        item_max: [usize; 3],
    },

    #[error(
        "kernel {kernel}: the arguments ask for {bytes} bytes of local memory in a work-group, and {device} has \
         {available}: choose fewer accelerator threads or work items, or none, and leave accumulators and neighbours in registers"
    )]
    LocalMemory { kernel: String, bytes: usize, device: String, available: u64 },

    #[error(
        "argument {number} of {kernel}, as captured, names a buffer that does not exist, or does not have the size of its type"
    )]
    CapturedArgument { kernel: String, number: usize },
}

impl OpenClError {
    /// The error of a call, with its context.
    pub(crate) fn call(call: &'static str, status: i32, what: impl Into<String>) -> Self {
        OpenClError::Call { call, status: ClStatus(status), what: what.into() }
    }
}

fn advice_after(status: ClStatus) -> String {
    match status.advice() {
        "" => String::new(),
        advice => format!("; {advice}"),
    }
}

/// The number of lines of a build log in an error. Compilers put the first error first.
const LOG_LINES: usize = 40;

fn trimmed_log(log: &str) -> String {
    let log = log.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    if log.is_empty() {
        return "(the driver gave none)".to_owned();
    }
    let lines = log.lines().count();
    let mut kept: Vec<&str> = log.lines().take(LOG_LINES).collect();
    let rest;
    if lines > LOG_LINES {
        rest = format!("… and {} more lines", lines - LOG_LINES);
        kept.push(&rest);
    }
    kept.join("\n")
}

/// Why an OpenCL device cannot do what was requested, apart from errors of the runtime. Messages are fragments.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum DeviceError {
    #[error(
        "{device} has no f64 (cl_khr_fp64): use f32 or half precision, a mixed precision solver, or the device cpu"
    )]
    NoDoubles { device: String },
    #[error(
        "{device} supports at most {most} work-items in a group, and the plan has {plan}: use a plan with smaller blocks, or replay this one \
         with --device cpu"
    )]
    PlanTooLarge { plan: lanefield_reference::layout::TreePlan, device: String, most: usize },
    #[error(transparent)]
    Body(#[from] crate::body::BodyError),
    #[error(
        "{first} and {other} of {kernel} have different layouts in device memory: create both with the same access width and site order"
    )]
    Layouts { kernel: &'static str, first: &'static str, other: &'static str },
    #[error("{device} cannot finish a sum by retirement count: {reason}; use second-kernel")]
    NoRetirement { device: String, reason: String },
    #[error("{device} returned a sum that no terms can have: {reason}; its memory or its driver cannot be trusted")]
    DamagedSum { device: String, reason: String },
    #[error("{kernel} was not among the {launches} launches of the call: capture a kernel that the call launches")]
    NotLaunched { kernel: String, launches: usize },
    #[error(
        "the driver of {device} does not return the binary of the program of {kernel}: capture it on another device"
    )]
    NoBinary { device: String, kernel: String },
    #[error("{role} of {kernel} has no value")]
    Role { kernel: &'static str, role: String },
}

impl DeviceError {
    /// The missing capability, if that is the error: then nothing failed.
    pub fn lack(error: &crate::backend::BackendError) -> Option<String> {
        let error = error.of_device::<Self>()?;
        matches!(error, Self::NoDoubles { .. } | Self::PlanTooLarge { .. }).then(|| error.to_string())
    }
}

/// Why a source could not be assembled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum SourceError {
    #[error("{file} is not among the known OpenCL sources ({known})")]
    NoSuchFile { file: String, known: String },
    #[error("{file}:{line}: {included} is included, but is not among the known OpenCL sources ({known})")]
    NoSuchInclude { file: String, line: usize, included: String, known: String },
}

impl From<DeviceError> for crate::backend::BackendError {
    fn from(error: DeviceError) -> Self {
        Self::device(error)
    }
}

impl From<OpenClError> for crate::backend::BackendError {
    fn from(error: OpenClError) -> Self {
        Self::device(error)
    }
}

impl From<SourceError> for crate::backend::BackendError {
    fn from(error: SourceError) -> Self {
        Self::device(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_displays_its_name_and_number() {
        assert_eq!(ClStatus(codes::CL_OUT_OF_RESOURCES).to_string(), "CL_OUT_OF_RESOURCES (-5)");
        assert_eq!(ClStatus(NVIDIA_ILLEGAL_ACCESS).to_string(), "unknown status -9999");
    }

    #[test]
    fn a_failed_call_names_the_call_its_subject_and_what_to_try() {
        let text = OpenClError::call("clEnqueueNDRangeKernel", codes::CL_OUT_OF_RESOURCES, "kernel hop").to_string();
        assert!(
            text.starts_with("clEnqueueNDRangeKernel failed with CL_OUT_OF_RESOURCES (-5) for kernel hop; try"),
            "{text}"
        );
    }

    #[test]
    fn a_long_build_log_is_cut_and_says_so() {
        let log: String = (0..100).map(|i| format!("line {i}\n")).collect();
        let text = trimmed_log(&log);
        assert!(text.starts_with("line 0\n") && text.ends_with("… and 60 more lines"), "{text}");
        assert_eq!(trimmed_log("\n\0"), "(the driver gave none)");
    }

    #[test]
    fn no_opencl_says_how_to_get_it() {
        let text = HOW_TO_GET_OPENCL;
        for word in ["pocl-opencl-icd", "ocl-icd-libopencl1", "OPENCL_DYLIB_PATH", "/etc/OpenCL/vendors"] {
            assert!(text.contains(word), "{word} is missing from: {text}");
        }
    }
}
