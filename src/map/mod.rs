//! Maps: one Rust body over an index space of 1 to 6 dimensions that is not lattice sites, from which come the OpenCL kernel and the execution on the CPU,
//! with the same bits. `docs/maps.md` is the guide; [`crate::body`] is the same for lattice sites.
//!
//! ```
//! use lanefield::map::prelude::*;
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
//! # use lanefield::map::prelude::*;
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
//! # use lanefield::map::prelude::*;
//! #[map_kernel]
//! pub fn histogram<P: Point>(p: P, bins: Accumulate<P, f32, 1>, x: Read<P, i32, 1>) {
//!     let [i] = p.index();
//!     bins.add([x.at([i])], P::F32::constant(1.0));
//! }
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `point.rs`, `element.rs`, `number.rs` | what a body is written with |
//! | `array.rs` | arrays on a backend |
//! | `record.rs`, `program.rs` | a body recorded, and what comes of it |
//! | `check.rs` | bodies that depend on which thread comes first, refused |
//! | `bounds.rs` | where a launch reads and writes, told before it |
//! | `launch.rs`, `error.rs` | a call, held against its map; schedules |
//! | `host.rs` | the CPU |
//! | `opencl.rs` | OpenCL C; `device.rs` launches it |

mod array;
mod bounds;
mod check;
mod device;
mod element;
mod error;
mod host;
mod launch;
mod number;
pub mod opencl;
mod point;
pub mod program;
mod record;

pub use array::{ArrayOn, Storage};
pub use bounds::Bounds;
pub use element::{Element, IntegerElement, Kind, OrderedElement};
pub use error::MapError;
pub use host::HostNumbers;
pub(crate) use host::{identity, unfolded};
pub use lanefield_macros::map_kernel;
pub use launch::{CheckedCall, MapBackend, MapCall, MapKernel, MapOptions, Outcome, Schedule, Value};
pub use number::{Carries, IntegerNumber};
pub use point::{
    Accumulate, Argument, Beyond, ExactSum, Fold, Greatest, IntegerSum, Least, Local, MOST_DIMENSIONS, Place, Point,
    Read, Register, Role, Scalar, Update, Use, Write,
};
pub use record::Recorder;

/// What a map is written and launched with: `use lanefield::map::prelude::*`.
pub mod prelude {
    pub use super::{
        Accumulate, ArrayOn, Element, ExactSum, Greatest, IntegerElement, IntegerNumber as _, IntegerSum, Least, Local,
        MapBackend, MapError, MapOptions, Point, Read, Register, Scalar, Schedule, Storage, Update, Write,
    };
    pub use lanefield_macros::map_kernel;
    pub use lanefield_reference::body::number::{Choice as _, Number as _, RealNumber as _};
}

/// The body of a map, generic in the point that it is done at.
pub trait MapBody {
    /// What its arguments are.
    const ROLES: &'static [Role];

    /// What is done at a point.
    fn run<P: Point>(point: P);
}
