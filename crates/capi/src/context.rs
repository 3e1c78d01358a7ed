//! Where is computed. A context has a pool of threads of its own, and with it the CPU reference, which checks compare with; and, if one was asked
//! for, an OpenCL device. Handles keep what they need of it, so that they may be freed in any order.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use lanefield::backend::opencl::{OpenCl, probe};
use lanefield::backend::select::{DeviceChoice, Selected, select};
use lanefield::backend::{Cpu, Memory as _, Threads};
use lanefield::dynamic::AnyBackend;

use crate::pointer::{free, give, handle, put, room, text_or_none};
use crate::status::{Failure, Outcome, c_text, guarded, lf_status, note, quietly};

/// Where is computed: the CPU reference with threads of its own, or an OpenCL device. It may be used by several threads at once.
pub struct lf_context(pub(crate) Arc<Context>);

pub(crate) struct Context {
    pub host: Arc<AnyBackend>,
    /// The OpenCL device, if one was asked for.
    pub device: Option<Arc<AnyBackend>>,
    /// Why its results cannot be called bitwise.
    why_not_bitwise: Option<CString>,
    description: CString,
}

impl Context {
    fn new(device: Option<&str>, threads: Option<Threads>) -> Outcome<Self> {
        let choice = match device {
            None => DeviceChoice::Cpu,
            Some(name) => name.parse().map_err(|error| Failure::argument(format!("{error}")))?,
        };
        let (device, why_not_bitwise) = open(&choice)?.unzip();
        let host = Arc::new(Cpu::new(threads)?.into());
        let description = c_text(&device.as_ref().unwrap_or(&host).describe());
        Ok(Self { host, device, why_not_bitwise: why_not_bitwise.flatten(), description })
    }

    pub fn backend(&self) -> &Arc<AnyBackend> {
        self.device.as_ref().unwrap_or(&self.host)
    }

    /// Runs work on the context's own threads: nothing is done by a pool that the whole process shares.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.host.install(work)
    }
}

/// The device that a choice means, and why it is not bitwise; none where that is the CPU reference, for which no driver is loaded.
fn open(choice: &DeviceChoice) -> Outcome<Option<(Arc<AnyBackend>, Option<CString>)>> {
    let (selected, said) =
        select(choice, (0, 1)).map_err(|error| Failure::new(lf_status::LF_DEVICE, error.to_string()))?;
    note(&said.unwrap_or_default());
    match selected {
        Selected::Cpu => Ok(None),
        Selected::OpenCl(info) => {
            let opencl = OpenCl::open(&info)?;
            let why_not_bitwise = probe(opencl.context())?.why_not().as_deref().map(c_text);
            Ok(Some((Arc::new(opencl.into()), why_not_bitwise)))
        }
    }
}

/// Makes a context.
///
/// `device`: null or "cpu" for the CPU reference; "auto" for the first GPU, else any OpenCL device, else the CPU reference; a number as
/// lf_device_info() counts; or part of the name of a device or its platform, as "nvidia" or "nvidia:1" (the second); where "auto" is the CPU reference,
/// lf_last_error() says why. `threads`: threads of the CPU, 1 to 512; 0 for as many as
/// RAYON_NUM_THREADS says, else as there are cores. None of it changes a bit of any result. An OpenCL device is asked for its arithmetic here: see
/// lf_context_why_not_bitwise().
///
/// `context` receives the context, to be freed by lf_context_free().
///
/// Errors: LF_DEVICE where there is no such device; LF_INVALID_ARGUMENT; LF_OUT_OF_MEMORY where the threads cannot be started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_context_create(
    device: *const c_char,
    threads: i32,
    context: *mut *mut lf_context,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        room(context, "context")?;
        let device = text_or_none(device, "device")?;
        let number = match threads {
            0 => None,
            _ => Some(usize::try_from(threads).ok().and_then(Threads::new).ok_or_else(|| {
                Failure::argument(format!("invalid number of threads {threads}: expected 0 to {}", Threads::MOST))
            })?),
        };
        give(context, lf_context(Arc::new(Context::new(device, number)?)), "context")
    })
}

/// Frees a context; null is ignored. What was made with it may be used on, and freed later: threads and device go with the last of it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_context_free(context: *mut lf_context) {
    // SAFETY: the caller's promise.
    quietly((), || unsafe { free(context) });
}

/// One line about a context: the device and its driver, or the CPU's threads and vector instructions. The text belongs to the context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_context_describe(context: *const lf_context, text: *mut *const c_char) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { put(text, handle(context, "context")?.0.description.as_ptr(), "text") })
}

/// Why the results of a context's device cannot be called the same bits as the reference's: what its arithmetic does otherwise than the standard, in
/// one sentence. `text` receives null if nothing is known against it. The text belongs to the context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_context_why_not_bitwise(context: *const lf_context, text: *mut *const c_char) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let why = handle(context, "context")?.0.why_not_bitwise.as_deref();
        put(text, why.map_or(std::ptr::null(), |why| why.as_ptr()), "text")
    })
}
