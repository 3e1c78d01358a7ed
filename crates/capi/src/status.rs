//! The status of every function, and the text that describes a failure. No panic leaves the library: [`guarded`] encloses every exported
//! function.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use lanefield::backend::BackendError;
use lanefield::backend::opencl::OpenClError;
use lanefield::reference::field::FieldError;
use lanefield::reference::layout::LayoutError;
use lanefield::solver::{SolveError, SolverError};

/// The status that a function returns. 0 is success; for any other value lf_last_error() says more. Later versions may add values.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum lf_status {
    /// Success.
    LF_OK = 0,
    /// A comparison was done, and the arrays differ. The report says where.
    LF_DIFFERENT = 1,
    /// The progress function of a solve asked to stop.
    LF_STOPPED = 2,
    /// An argument is wrong: a null pointer, an unknown name, a length that does not fit.
    LF_INVALID_ARGUMENT = 3,
    /// A file cannot be read or written, or has the wrong content.
    LF_FILE = 4,
    /// There is no such device, or its driver failed.
    LF_DEVICE = 5,
    /// There is not enough memory on the host or on the device.
    LF_OUT_OF_MEMORY = 6,
    /// A solver did not reach the tolerance in the allowed iterations, or stagnated.
    LF_NOT_CONVERGED = 7,
    /// There is no result: an operator without inverse, a recurrence that broke down, numbers beyond the precision.
    LF_NO_RESULT = 8,
    /// A bug in the library. The handles in use may be unusable; free them.
    LF_INTERNAL = 9,
}

/// Why a function failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub status: lf_status,
    pub message: String,
}

pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub fn new(status: lf_status, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub fn argument(message: impl Into<String>) -> Self {
        Self::new(lf_status::LF_INVALID_ARGUMENT, message)
    }
}

impl From<FieldError> for Failure {
    fn from(error: FieldError) -> Self {
        let status = match error {
            FieldError::OutOfMemory { .. } => lf_status::LF_OUT_OF_MEMORY,
            _ => lf_status::LF_INVALID_ARGUMENT,
        };
        Self::new(status, error.to_string())
    }
}

impl From<LayoutError> for Failure {
    fn from(error: LayoutError) -> Self {
        Self::argument(error.to_string())
    }
}

impl From<OpenClError> for Failure {
    fn from(error: OpenClError) -> Self {
        let status = match error {
            OpenClError::OutOfMemory { .. } => lf_status::LF_OUT_OF_MEMORY,
            _ => lf_status::LF_DEVICE,
        };
        Self::new(status, error.to_string())
    }
}

impl From<BackendError> for Failure {
    fn from(error: BackendError) -> Self {
        let status = match &error {
            BackendError::Field(FieldError::OutOfMemory { .. }) => lf_status::LF_OUT_OF_MEMORY,
            BackendError::SingularClover { .. } | BackendError::TwistedMass { .. } => lf_status::LF_NO_RESULT,
            BackendError::Threads { .. } => lf_status::LF_OUT_OF_MEMORY,
            BackendError::Device(_) => match error.of_device::<OpenClError>() {
                Some(OpenClError::OutOfMemory { .. }) => lf_status::LF_OUT_OF_MEMORY,
                _ => lf_status::LF_DEVICE,
            },
            _ => lf_status::LF_INVALID_ARGUMENT,
        };
        Self::new(status, error.to_string())
    }
}

impl From<SolverError> for Failure {
    fn from(error: SolverError) -> Self {
        let status = match error {
            SolverError::Stopped(_) => lf_status::LF_STOPPED,
            SolverError::NotConverged { .. } | SolverError::Stagnation { .. } | SolverError::IdleUpdates { .. } => {
                lf_status::LF_NOT_CONVERGED
            }
            SolverError::Backend(error) => return error.into(),
            _ => lf_status::LF_NO_RESULT,
        };
        Self::new(status, error.to_string())
    }
}

impl From<SolveError> for Failure {
    fn from(error: SolveError) -> Self {
        let status = match error {
            SolveError::Recurrence(error) => return error.into(),
            SolveError::Backend(error) => return error.into(),
            SolveError::TrueResidual { .. } => lf_status::LF_NOT_CONVERGED,
            SolveError::RightHandSides { .. } | SolveError::NoBatch { .. } | SolveError::NotMixed { .. } => {
                lf_status::LF_INVALID_ARGUMENT
            }
            _ => lf_status::LF_NO_RESULT,
        };
        Self::new(status, error.to_string())
    }
}

thread_local! {
    /// The message of this thread's last call.
    static LAST: RefCell<CString> = RefCell::default();
}

/// Converts a text for C.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Stores a text for lf_last_error().
pub(crate) fn note(message: &str) {
    let text = c_text(message);
    // Does nothing while a thread ends, since its text has been dropped already.
    let _ = LAST.try_with(|last| *last.borrow_mut() = text);
}

impl From<()> for lf_status {
    fn from((): ()) -> Self {
        Self::LF_OK
    }
}

/// Runs an exported function: clears the last error, catches panics, and stores the reason of a failure.
pub(crate) fn guarded<T: Into<lf_status>>(body: impl FnOnce() -> Outcome<T>) -> lf_status {
    note("");
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => return status.into(),
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::new(lf_status::LF_INTERNAL, format!("a bug in the library: {}", told(&*panic))),
    };
    note(&failure.message);
    failure.status
}

/// As [`guarded`], for a function that can fail only by a panic, and has no message.
pub(crate) fn quietly<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

fn told(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}

/// Returns why the last call of this thread did not return LF_OK: one sentence without a full stop, in UTF-8. It is empty after a success
/// without remarks. The text belongs to the library, and is valid until this thread calls any other function of the library.
#[unsafe(no_mangle)]
pub extern "C" fn lf_last_error() -> *const c_char {
    quietly(c"".as_ptr(), || LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr()))
}

/// Returns the name of a status, for example "LF_OK"; "unknown status" for other numbers. Do not free the text.
#[unsafe(no_mangle)]
pub extern "C" fn lf_status_name(status: i32) -> *const c_char {
    let name: &'static CStr = match status {
        0 => c"LF_OK",
        1 => c"LF_DIFFERENT",
        2 => c"LF_STOPPED",
        3 => c"LF_INVALID_ARGUMENT",
        4 => c"LF_FILE",
        5 => c"LF_DEVICE",
        6 => c"LF_OUT_OF_MEMORY",
        7 => c"LF_NOT_CONVERGED",
        8 => c"LF_NO_RESULT",
        9 => c"LF_INTERNAL",
        _ => c"unknown status",
    };
    name.as_ptr()
}

/// Returns the version of the library that is running: major · 65536 + minor · 256 + patch.
#[unsafe(no_mangle)]
pub extern "C" fn lf_version() -> u32 {
    let part = |text: &str| text.bytes().filter(u8::is_ascii_digit).fold(0, |n, d| 10 * n + u32::from(d - b'0'));
    part(env!("CARGO_PKG_VERSION_MAJOR")) << 16
        | part(env!("CARGO_PKG_VERSION_MINOR")) << 8
        | part(env!("CARGO_PKG_VERSION_PATCH"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        // SAFETY: the text of this thread, before any other call.
        unsafe { CStr::from_ptr(lf_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_a_status_and_a_text() {
        let quiet = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| ()));
        let status = guarded(|| -> Outcome<()> { panic!("limb {} overflowed", 3) });
        std::panic::set_hook(quiet);
        assert_eq!(status, lf_status::LF_INTERNAL);
        assert_eq!(last(), "a bug in the library: limb 3 overflowed");
        assert_eq!(guarded(|| Ok(())), lf_status::LF_OK);
        assert_eq!(last(), "");
    }

    #[test]
    fn each_thread_has_a_text_of_its_own() {
        guarded(|| Outcome::<()>::Err(Failure::argument("ours")));
        std::thread::spawn(|| assert_eq!(last(), "")).join().unwrap();
        assert_eq!(last(), "ours");
    }

    #[test]
    fn every_status_has_its_name() {
        use lf_status::*;
        let all = [LF_OK, LF_DIFFERENT, LF_STOPPED, LF_INVALID_ARGUMENT, LF_FILE, LF_DEVICE, LF_OUT_OF_MEMORY];
        for status in all.into_iter().chain([LF_NOT_CONVERGED, LF_NO_RESULT, LF_INTERNAL]) {
            // SAFETY: a text of the library.
            let name = unsafe { CStr::from_ptr(lf_status_name(status as i32)) };
            assert_eq!(name.to_str().unwrap(), format!("{status:?}"));
        }
    }

    #[test]
    fn the_version_is_that_of_the_package() {
        let version = lf_version();
        let text = format!("{}.{}.{}", version >> 16, version >> 8 & 255, version & 255);
        assert_eq!(text, env!("CARGO_PKG_VERSION"));
    }
}
