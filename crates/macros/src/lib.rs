//! The attributes `#[lane_kernel]` and `#[map_kernel]` of Lanefield, and `check_kernel!`. All are documented, and meant to be used, where `lanefield` re-exports them.

mod attribute;
mod check;
mod map;
mod signature;

use proc_macro::TokenStream;

/// Makes a kernel of a body: see `lanefield::body`.
#[proc_macro_attribute]
pub fn lane_kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    attribute::expand(options.into(), item.into()).into()
}

/// Makes a map of a body: see `lanefield_maps`.
#[proc_macro_attribute]
pub fn map_kernel(options: TokenStream, item: TokenStream) -> TokenStream {
    map::expand(options.into(), item.into()).into()
}

/// Makes tests of a kernel: see `lanefield::body`.
#[proc_macro]
pub fn check_kernel(input: TokenStream) -> TokenStream {
    check::expand(input.into()).into()
}
