//! The Python package `lanefield`: configurations, operators, solves, exact sums and correlators over NumPy arrays, on any OpenCL device or
//! on the CPU, with the same bits. The library computes them, as for the program. `python/lanefield/__init__.pyi` has the types and the
//! documentation for Python.
//!
//! | file | subject |
//! |---|---|
//! | `arguments.rs` | reading arguments, with errors that name them |
//! | `convention.rs` | arrays of PyQUDA and gpt |
//! | `errors.rs` | errors of Rust as exceptions of Python |
//! | `arrays.rs`, `fields.rs` | NumPy arrays in and out, and the axes of the fields of operators |
//! | `device.rs`, `running.rs` | devices; computing while Python waits, answers signals and reports progress |
//! | `configuration.rs`, `sources.rs` | gauge configurations and sources |
//! | `operator.rs`, `apply.rs` | operators by name, and their application |
//! | `solve.rs`, `result.rs`, `quark_source.rs`, `propagator.rs`, `correlator.rs` | solves, their results, propagators and correlators |
//! | `sums.rs` | exact sums over sites |
//! | `ports.rs` | comparison of arrays, and golden data |

mod apply;
mod arguments;
mod arrays;
mod configuration;
mod convention;
mod correlator;
mod device;
mod errors;
mod fields;
mod operator;
mod ports;
mod propagator;
mod quark_source;
mod result;
mod running;
mod solve;
mod sources;
mod sums;

/// Lattice fields on OpenCL devices and on CPUs, with the same bits.
#[pyo3::pymodule(name = "_lanefield")]
mod module {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::arrays::read_array;
    #[pymodule_export]
    use super::configuration::Configuration;
    #[pymodule_export]
    use super::correlator::{Correlators, correlator, effective_masses};
    #[pymodule_export]
    use super::device::{Device, devices};
    #[pymodule_export]
    use super::errors::{DeviceError, NotConverged};
    #[pymodule_export]
    use super::operator::{Operator, operators};
    #[pymodule_export]
    use super::ports::{Comparison, compare, golden_check, golden_export};
    #[pymodule_export]
    use super::propagator::propagator;
    #[pymodule_export]
    use super::result::{RightHandSide, SolveResult};
    #[pymodule_export]
    use super::solve::solve;
    #[pymodule_export]
    use super::sources::{gaussian, point, source};
    #[pymodule_export]
    use super::sums::{inner, norm2, sum_sites, sum_slices};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Pickles name these functions. They are not part of the package's interface.
        module.setattr("_configuration", wrap_pyfunction!(super::configuration::restored, module)?)?;
        module.setattr("_right_hand_side", wrap_pyfunction!(super::result::restored_rhs, module)?)?;
        module.setattr("_solve_result", wrap_pyfunction!(super::result::restored_result, module)?)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
