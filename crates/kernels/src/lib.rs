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

/// What the macros name.
#[doc(hidden)]
pub mod prelude {
    pub use num_complex::Complex;
}
