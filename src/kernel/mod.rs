//! The kernels of the library as data: of each, all that anything else needs to know ([`Kernel`]). One file a family, with the name of its
//! counterparts: `reference/src/kernels/`, `reference/src/scalar/`, `cl/`, `tests/`. Backends launch what is described here; `verify`, the
//! benchmarks, the tuner and the models go through [`all`], and have no list of their own.

/// A function of the host that launches a kernel, in the precision `$Real` of the call.
macro_rules! launch {
    ($Real:ident, |$call:ident $(, $links:pat_param)?| $work:expr) => {
        $crate::kernel::HostFunction::Launch(|$call $(, $links)?| {
            $crate::in_precision!($call.shape().precision(), $Real => $work)
        })
    };
}

/// The same of a kernel that sums.
macro_rules! reduce {
    ($Real:ident, |$call:ident, $sum:ident| $work:expr) => {
        $crate::kernel::HostFunction::Reduce(|$call, $sum| {
            $crate::in_precision!($call.shape().precision(), $Real => $work)
        })
    };
}

pub mod blas;
mod case;
pub mod clover;
pub mod clover_term;
mod colour_vectors;
pub mod convert;
pub mod domain_wall;
pub mod hop;
pub mod laplace;
mod plain;
pub mod reduce;
pub mod rhs;
pub mod staggered;
mod test_data;

use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::real::Precision;

pub use crate::backend::specification::*;
pub use case::{Case, CaseOn, CaseOptions, Outcome};
pub use test_data::{Links, Numbers, TestData};

/// What most kernels have in common: an operation on two fields, tuned with others of its kind.
const USUAL: Kernel = Kernel {
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
    cpu: HostFunction::None,
    plain: HostFunction::None,
};

/// Work of a kernel that reads or writes each of its fields once. `flops`: operations on a real component.
fn moved(shape: &Shape, flops: u64) -> Work {
    Work { flops: flops * shape.components(), bytes: shape.field_bytes() }
}

/// Lists the families, in the order of tables, each with the trait of its functions, and what a backend must do to have them.
macro_rules! families {
    ($($family:ident: $functions:ident of $backend:ident),+ $(,)?) => {
        /// The functions of all families, as methods of every backend.
        pub mod prelude {
            $(pub use super::$family::$functions;)+
        }

        $(impl<B: crate::backend::$backend + ?Sized> $family::$functions for B {})+

        static FAMILIES: &[&[&Kernel]] = &[$($family::KERNELS),+];
    };
}
families! {
    hop: HopKernels of Launch,
    clover: CloverKernels of Launch,
    clover_term: CloverTermKernels of Launch,
    domain_wall: DomainWallKernels of Launch,
    laplace: LaplaceKernels of Launch,
    staggered: StaggeredKernels of Launch,
    blas: BlasKernels of Launch,
    rhs: RhsKernels of Launch,
    convert: ConvertKernels of Launch,
    reduce: ReduceKernels of Reduce,
}

/// All kernels, family by family.
pub fn all() -> impl Iterator<Item = &'static Kernel> {
    FAMILIES.iter().flat_map(|family| family.iter().copied())
}

/// The names of all families.
pub fn families() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().filter_map(|family| family.first().map(|kernel| kernel.family))
}

/// The kernels that a word names: one kernel, all of a family, or `all`. A kernel comes before a family of the same name.
///
/// # Errors
/// The words there are.
pub fn named(word: &str) -> Result<Vec<&'static Kernel>, String> {
    if word == "all" {
        return Ok(all().collect());
    }
    if let Some(kernel) = all().find(|kernel| kernel.name == word) {
        return Ok(vec![kernel]);
    }
    let family: Vec<_> = all().filter(|kernel| kernel.family == word).collect();
    match family.is_empty() {
        false => Ok(family),
        true => {
            let (families, kernels): (Vec<_>, Vec<_>) = (families().collect(), all().map(|k| k.name).collect());
            let (families, kernels) = (families.join(", "), kernels.join(", "));
            Err(format!("unknown kernel '{word}': expected all, a family ({families}), or one of {kernels}"))
        }
    }
}
