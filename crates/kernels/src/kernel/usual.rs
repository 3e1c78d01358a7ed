//! Defaults and macros for specifications of kernels.

use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::real::Precision;

use crate::backend::specification::{Ceiling, Geometry, HostFunction, Kernel, KernelSource, Shape, Work};

/// The CPU function of a kernel, for the precision `$Real` of the call.
macro_rules! launch {
    ($Real:ident, |$call:ident $(, $links:pat_param)?| $work:expr) => {
        $crate::backend::specification::HostFunction::Launch(|$call $(, $links)?| {
            $crate::in_precision!($call.shape().precision(), $Real => $work)
        })
    };
}

/// The scalar reference of a kernel that sums.
macro_rules! plain_sum {
    ($Real:ident, |$call:ident, $sum:ident| $work:expr) => {
        $crate::backend::specification::HostFunction::Reduce(|$call, _, $sum| {
            $crate::in_precision!($call.shape().precision(), $Real => $work)
        })
    };
}

/// The CPU function of a kernel that sums.
macro_rules! reduce {
    ($Real:ident, |$call:ident, $sum:ident| $work:expr) => {
        $crate::backend::specification::HostFunction::Reduce(|$call, $sum| {
            $crate::in_precision!($call.shape().precision(), $Real => $work)
        })
    };
}

/// Default fields: a vector operation on two fields, which shares its tuning with others of its kind.
pub(super) const USUAL: Kernel = Kernel {
    name: "",
    family: "",
    computes: "",
    dagger: Dagger::No,
    arguments: &[],
    options: &[],
    geometry: Geometry::Elements,
    precisions: &Precision::ALL,
    tuned_as: None,
    usual_parts: 1,
    work: |shape| moved(shape, 0),
    ceiling: Ceiling::Copy,
    source: KernelSource::Library,
    cpu: HostFunction::None,
    plain: HostFunction::None,
};

/// The work of a kernel that reads or writes each of its fields once. `flops`: operations on a real component.
pub(super) fn moved(shape: &Shape, flops: u64) -> Work {
    Work { flops: flops * shape.components(), bytes: shape.field_bytes() }
}
