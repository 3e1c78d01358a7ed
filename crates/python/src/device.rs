//! Devices: the CPU reference, or an OpenCL device.

use std::sync::Arc;

use lanefield::backend::opencl::{OpenCl, OpenClError, devices as listed, probe};
use lanefield::backend::select::{DeviceChoice, SelectError, Selected, select};
use lanefield::backend::{Cpu, Memory as _, Threads};
use lanefield::comm::Launched;
use lanefield::dynamic::AnyBackend;
use lanefield::reference::layout::LaneChoice;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::arguments::{self, mistyped, wrong};
use super::errors::{self, DeviceError, value};

/// Runs `work` on the threads of the CPU reference, with the interpreter released. Work that a user may want to interrupt belongs into
/// `running::run`.
pub fn on_host<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let device = Device::of_host(py, None)?;
    let backend = device.get().backend().as_ref();
    Ok(py.detach(|| backend.install(work)))
}

/// A device that computes. No bit of any result depends on it.
///
/// choice: "cpu", the CPU reference; "auto", the first GPU, else any OpenCL device, else the CPU reference; a number from
///     `devices()`; or part of a name. By default, the value of the environment variable LANEFIELD_DEVICE, else "auto".
/// threads: number of threads of the CPU reference; by default RAYON_NUM_THREADS, else the number of cores.
/// lanes: lane width in bytes, 8 to 256; by default a width that suits the device and the lattice.
#[pyclass(frozen, module = "lanefield")]
pub struct Device {
    backend: Arc<AnyBackend>,
    lanes: LaneChoice,
    not_bitwise: Option<String>,
}

impl Device {
    pub fn backend(&self) -> &Arc<AnyBackend> {
        &self.backend
    }

    /// The lanes for a lattice on this device.
    pub fn lanes(&self) -> LaneChoice {
        self.backend.lanes(self.lanes)
    }

    /// The device of an argument: an open device, or one to open. By default that of `LANEFIELD_DEVICE`, else "auto", which is opened once.
    pub fn of(py: Python<'_>, given: Option<&Bound<'_, PyAny>>) -> PyResult<Py<Self>> {
        static DEFAULT: PyOnceLock<Py<Device>> = PyOnceLock::new();
        let Some(given) = given else {
            let open = || Py::new(py, Self::open(py, &default_choice(), None, LaneChoice::Auto)?);
            return Ok(DEFAULT.get_or_try_init(py, open)?.clone_ref(py));
        };
        match given.cast::<Self>() {
            Ok(device) => Ok(device.clone().unbind()),
            Err(_) => Py::new(py, Self::open(py, &choice_of("device", given)?, None, LaneChoice::Auto)?),
        }
    }

    /// The same, but with the CPU reference as default: for work that takes less time than moving its data.
    pub fn of_host(py: Python<'_>, given: Option<&Bound<'_, PyAny>>) -> PyResult<Py<Self>> {
        static CPU: PyOnceLock<Py<Device>> = PyOnceLock::new();
        if given.is_some() {
            return Self::of(py, given);
        }
        let open = || Py::new(py, Self::open(py, "cpu", None, LaneChoice::Auto)?);
        Ok(CPU.get_or_try_init(py, open)?.clone_ref(py))
    }

    fn open(py: Python<'_>, choice: &str, threads: Option<Threads>, lanes: LaneChoice) -> PyResult<Self> {
        require_alone(py)?;
        let choice: DeviceChoice = choice.parse().map_err(value)?;
        let (device, warnings) = py.detach(|| Self::opened(&choice, threads, lanes))?;
        for warning in warnings {
            let warning = std::ffi::CString::new(warning).map_err(value)?;
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &warning, 2)?;
        }
        Ok(device)
    }

    /// Opens a device. Returns it with warnings.
    fn opened(choice: &DeviceChoice, threads: Option<Threads>, lanes: LaneChoice) -> PyResult<(Self, Vec<String>)> {
        let (selected, note) = select(choice, (0, 1)).map_err(|error| match error {
            SelectError::NoOpenCl { .. } => DeviceError::new_err(error.to_string()),
            error => value(error),
        })?;
        match selected {
            Selected::Cpu => {
                let backend = Arc::new(Cpu::new(threads).map_err(errors::backend)?.into());
                // If OpenCL is not installed at all, there is no warning.
                let is_absent = || matches!(listed(), Err(OpenClError::NoOpenCl { is_installed: false, .. }));
                let warnings = note.filter(|_| !is_absent()).into_iter().collect();
                Ok((Self { backend, lanes, not_bitwise: None }, warnings))
            }
            Selected::OpenCl(info) => {
                let opened = OpenCl::open(&info).map_err(errors::backend)?;
                let verdict = probe(opened.context()).map_err(errors::opencl)?;
                let not_bitwise = verdict.why_not().map(|reason| reason.to_string());
                let of_tuning = opened.tuned().warnings().iter().map(ToString::to_string);
                let of_probe = not_bitwise.iter().map(|why| format!("results of this device are not bitwise: {why}"));
                let warnings = note.into_iter().chain(of_tuning).chain(of_probe).collect();
                let backend = Arc::new(opened.into());
                Ok((Self { backend, lanes, not_bitwise }, warnings))
            }
        }
    }
}

/// Fails if a launcher started several processes, unless they use mpi4py to divide their work: the module has no ranks of its own.
fn require_alone(py: Python<'_>) -> PyResult<()> {
    let launched = Launched::of_environment().filter(Launched::are_several);
    let Some(launched) = launched else { return Ok(()) };
    if py.import("sys")?.getattr("modules")?.contains("mpi4py")? {
        return Ok(());
    }
    let why = "the Python module does not divide a lattice among them";
    let cure = "run the program lanefield on ranks, or import mpi4py first and divide the work with it";
    Err(DeviceError::new_err(launched.in_words(why, cure)))
}

/// The device that is opened by default.
fn default_choice() -> String {
    let named = std::env::var("LANEFIELD_DEVICE").ok().filter(|name| !name.trim().is_empty());
    named.unwrap_or_else(|| DeviceChoice::Auto.to_string())
}

fn choice_of(name: &str, given: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(index) = given.extract::<usize>() {
        return Ok(index.to_string());
    }
    let expected = "a Device, a name, or a number from devices()";
    given.extract().map_err(|_| match given.extract::<i64>() {
        Ok(_) => wrong(name, given, expected),
        Err(_) => mistyped(name, given, expected),
    })
}

#[pymethods]
impl Device {
    #[new]
    #[pyo3(signature = (choice=None, *, threads=None, lanes=None))]
    fn new(
        py: Python<'_>,
        choice: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::threads)] threads: Option<usize>,
        #[pyo3(from_py_with = arguments::lanes)] lanes: Option<usize>,
    ) -> PyResult<Self> {
        let choice = choice.map_or_else(|| Ok(default_choice()), |choice| choice_of("choice", choice))?;
        let threads =
            threads.map(|number| number.to_string().parse()).transpose().map_err(|error: String| value(error))?;
        let lanes = lanes.map_or(Ok(LaneChoice::Auto), |bytes| bytes.to_string().parse()).map_err(value)?;
        Self::open(py, &choice, threads, lanes)
    }

    /// The device in one line of text.
    #[getter]
    pub fn description(&self) -> String {
        self.backend.describe()
    }

    /// Whether this is an OpenCL device.
    #[getter]
    fn is_opencl(&self) -> bool {
        self.backend.opencl().is_some()
    }

    /// Whether the device computes the bits that docs/arithmetic.md defines. If a probe finds that it does not, opening it gives a
    /// UserWarning.
    #[getter]
    fn is_bitwise(&self) -> bool {
        self.not_bitwise.is_none()
    }

    fn __repr__(&self) -> String {
        format!("<lanefield.Device {}>", self.description())
    }
}

/// The OpenCL devices of this machine, with the keys of `lanefield devices --json`. The list is empty if there is no OpenCL.
#[pyfunction]
pub fn devices(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let devices = match py.detach(listed) {
        Err(OpenClError::NoOpenCl { .. }) => Vec::new(),
        devices => devices.map_err(errors::opencl)?,
    };
    let text = serde_json::to_string(&devices).map_err(value)?;
    py.import("json")?.call_method1("loads", (text,))
}
