//! Maps: one Rust body over an index space of 1 to 6 dimensions that is not lattice sites, from which come the OpenCL kernel and the execution on the CPU,
//! with the same bits. `docs/maps.md` is the guide; [`lanefield::body`] is the same for lattice sites.
//!
//! ```
//! use lanefield_maps::prelude::*;
//! use lanefield::prelude::Cpu;
//!
//! /// The transpose of a matrix.
//! #[map_kernel(block = [8, 32])]
//! pub fn transposed<P: Point>(p: P, out: Write<P, f32, 2>, a: Read<P, f32, 2>) {
//!     let [i, j] = p.index();
//!     out.write([i, j], a.at([j, i]));
//! }
//!
//! let backend = Cpu::new(None)?;
//! let a = backend.array([2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let mut out = backend.zero_array([3, 2])?;
//! Transposed { out: &mut out, a: &a }.launch(&backend, [3, 2])?;
//! assert_eq!(out.read(&backend)?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two arguments cannot be the same array if one of them is written: it is exclusively borrowed.
//!
//! ```compile_fail,E0502
//! # use lanefield_maps::prelude::*;
//! # use lanefield::prelude::Cpu;
//! # #[map_kernel]
//! # pub fn transposed<P: Point>(p: P, out: Write<P, f32, 2>, a: Read<P, f32, 2>) {
//! #     let [i, j] = p.index();
//! #     out.write([i, j], a.at([j, i]));
//! # }
//! # let backend = Cpu::new(None).unwrap();
//! let mut a = backend.zero_array([3, 3]).unwrap();
//! let _ = Transposed { out: &mut a, a: &a }.launch(&backend, [3, 3]);
//! ```
//!
//! Sums of real numbers by atomic operations would have other bits in every run: there are none. `ExactSum` is what sums them.
//!
//! ```compile_fail,E0277
//! # use lanefield_maps::prelude::*;
//! #[map_kernel]
//! pub fn histogram<P: Point>(p: P, bins: Accumulate<P, f32, 1>, x: Read<P, i32, 1>) {
//!     let [i] = p.index();
//!     bins.add([x.at([i])], P::F32::constant(1.0));
//! }
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `point.rs`, `number.rs` | what a body is written with |
//! | `role.rs`, `program.rs`, `record.rs` | a body recorded |
//! | `check.rs` | bodies that depend on which thread comes first, refused |
//! | `array.rs`, `kernel.rs`, `launch.rs` | arrays; a map as data, and its schedule; a launch, checked |
//! | `bounds.rs` | where a launch reads and writes, known before it runs |
//! | `plain_point.rs`, `cpu.rs` | the CPU |
//! | `arguments.rs`, `write.rs` | the arguments and the body of a map as text, in any language |
//! | `opencl.rs`, `device.rs` | the OpenCL C of a map, and its launch |
//! | `c.rs` | its C, CUDA and HIP |
//! | `trial.rs`, `tools.rs` | maps tried on their cases, and compared; what tools do with them |

mod arguments;
mod array;
mod bounds;
mod c;
mod check;
mod cpu;
mod device;
mod error;
mod kernel;
mod launch;
mod number;
pub mod opencl;
mod plain_point;
mod point;
pub mod program;
mod record;
mod role;
mod tools;
mod trial;
mod write;

pub use array::{ArrayOn, MapMemory, Storage};
pub use error::MapError;
pub use kernel::{MapKernel, MapOptions, Schedule};
pub use lanefield_macros::map_kernel;
pub use launch::{CheckedCall, MapBackend, Outcome, Value};
pub use number::{Carries, IntegerNumber};
pub use point::{
    Accumulate, Argument, Element, ExactSum, Greatest, IntegerElement, IntegerSum, Least, Local, MapBody,
    OrderedElement, Point, Read, Register, Scalar, Update, Write,
};
pub use record::PointRecorder;
pub use role::MapRole;
pub use trial::{MapComparison, MapMismatch, Results, Trial, compare, ways};

/// What a map is written and launched with: `use lanefield_maps::prelude::*`.
pub mod prelude {
    pub use super::{
        Accumulate, ArrayOn, Element, ExactSum, Greatest, IntegerElement, IntegerNumber as _, IntegerSum, Least, Local,
        MapBackend, MapError, MapOptions, Point, Read, Register, Scalar, Schedule, Storage, Update, Write,
    };
    pub use lanefield_macros::map_kernel;
    pub use lanefield_reference::body::functions::Functions as _;
    pub use lanefield_reference::body::number::{Choice as _, Number as _, RealNumber as _};
}

/// What `#[map_kernel]` writes names everything by its path here.
#[doc(hidden)]
pub mod __private {
    pub use crate::array::ArrayOn;
    pub use crate::error::MapError;
    pub use crate::kernel::{Given, MapCase, MapKernel, MapOptions, Schedule};
    pub use crate::launch::{MapBackend, MapCall};
    pub use crate::point::{Argument, Element, MapBody, Point};
    pub use crate::record::*;
    pub use crate::role::MapRole;
}
