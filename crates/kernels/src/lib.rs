//! The kernels of Lanefield, one file a family ([`kernel`]): the specification, and the body where there is one. Below them the language in which bodies are
//! written ([`body`]), and what a backend is ([`backend`]), with the CPU reference as one. Nearly all code that has to be fast is generated here and in the
//! reference: what is built on this crate launches kernels, and is optimised less.

// What the macros write names the library so, also within it.
extern crate self as lanefield;

pub mod backend;
pub mod body;
mod in_precision;
pub mod kernel;

pub use lanefield_reference as reference;

/// What `#[lane_kernel]` and `check_kernel!` write names everything by its path here.
#[doc(hidden)]
pub mod __private {
    /// The words of twins.
    pub mod twin {
        pub use crate::kernel::twin::*;
    }

    pub use crate::backend::{BackendError, FieldOn, Launch, Memory, Reduce, Sum};
    pub use crate::body::record::Recorder;
    pub use crate::body::{Argument, Body, BodyKernel, Role, Site};
    pub use crate::kernel::body_kernel::{
        COORDINATES, LOCAL, SLICE_SUMS, STENCIL, SUMS, WORDS, argument, launch, reduce,
    };
    pub use crate::kernel::plain::{PlainCall, PlainImplementation, launch_plain, reduce_plain};
    pub use crate::kernel::{
        ArgumentValue, Arguments, BuildOption, HostFunction, Kernel, KernelArgument, KernelSource,
    };
    pub use lanefield_reference::field::SiteObject;
    pub use lanefield_reference::kernels::Vectors;
    pub use lanefield_reference::kernels::hop::Dagger;
    pub use lanefield_reference::kernels::reduce::PartialSums;
    pub use lanefield_reference::layout::{Direction, LegOrder};
    pub use lanefield_reference::links::DoubledGauge;
    pub use num_complex::Complex;
}
