//! Contexts. A context has its own pool of threads, and with it the CPU reference, which checks compare with. It may also have an OpenCL
//! device. Handles keep the resources that they need, so they may be freed in any order.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use lanefield::backend::opencl::{OpenCl, probe};
use lanefield::backend::select::{DeviceChoice, Selected, select};
use lanefield::backend::{Cpu, Memory as _, Threads};
use lanefield::dynamic::AnyBackend;

use crate::pointer::{free, give, handle, put, room, text_or_none};
use crate::status::{Failure, Outcome, c_text, guarded, lf_status, note, quietly};

/// Where the library computes: the CPU reference with its own threads, or an OpenCL device. A context may be used by several threads at
/// once.
pub struct lf_context(pub(crate) Arc<Context>);

pub(crate) struct Context {
    pub host: Arc<AnyBackend>,
    /// The OpenCL device, if one was requested.
    pub device: Option<Arc<AnyBackend>>,
    /// Why the results of the device cannot be called bitwise.
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

    /// Runs work on the context's own threads, so that nothing runs in a pool that the whole process shares.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.host.install(work)
    }
}

/// Opens the device of a choice, and says why it is not bitwise. `None` if it is the CPU reference, for which no driver is loaded.
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

/// Creates a context.
///
/// `device`: null or "cpu" for the CPU reference; "auto" for the first GPU, or else any OpenCL device, or else the CPU reference
/// (lf_last_error() then says why); an index of lf_device_info(); or part of the name of a device or its platform, as in "nvidia" or
/// "nvidia:1" (the second one).
///
/// `threads`: number of CPU threads, 1 to 512; 0 for the number in RAYON_NUM_THREADS, or else one for each core.
///
/// Neither changes a bit of any result. The arithmetic of an OpenCL device is tested here: see lf_context_why_not_bitwise().
///
/// `context` receives the context; free it with lf_context_free().
///
/// Errors: LF_DEVICE if there is no such device; LF_INVALID_ARGUMENT; LF_OUT_OF_MEMORY if the threads cannot be started.
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

/// Frees a context; null is ignored. Objects that were created with it remain usable, and may be freed later. Its threads and its device
/// are released with the last of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_context_free(context: *mut lf_context) {
    // SAFETY: the caller's promise.
    quietly((), || unsafe { free(context) });
}

/// Returns one line about a context: the device and its driver, or the CPU's threads and vector instructions. The text belongs to the
/// context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_context_describe(context: *const lf_context, text: *mut *const c_char) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { put(text, handle(context, "context")?.0.description.as_ptr(), "text") })
}

/// Returns why the results of a context's device cannot be called bit-identical to the reference's: one sentence about how its arithmetic
/// differs from the standard. `text` receives null if no difference is known. The text belongs to the context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_context_why_not_bitwise(context: *const lf_context, text: *mut *const c_char) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let why = handle(context, "context")?.0.why_not_bitwise.as_deref();
        put(text, why.map_or(std::ptr::null(), |why| why.as_ptr()), "text")
    })
}
