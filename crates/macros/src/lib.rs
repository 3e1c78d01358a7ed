//! The macros `#[lane_kernel]`, `#[map_kernel]` and `check_kernel!` of Lanefield. Use them through `lanefield`, which re-exports and documents them.

mod attribute;
mod check;
mod map;
mod signature;

use proc_macro::TokenStream;

/// Creates a kernel from a kernel function: see `lanefield::body`.
#[proc_macro_attribute]
pub fn lane_kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    attribute::expand(options.into(), item.into()).into()
}

/// Creates a map from a function: see `lanefield_maps`.
#[proc_macro_attribute]
pub fn map_kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    map::expand(options.into(), item.into()).into()
}

/// Creates tests of a kernel: see `lanefield::body`.
#[proc_macro]
pub fn check_kernel(input: TokenStream) -> TokenStream {
    check::expand(input.into()).into()
}
