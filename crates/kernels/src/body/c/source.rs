//! A source: the code around the body of a kernel or a map.

use super::about::commented;
use super::prelude::{called, includes};
use crate::body::dialect::Dialect;

/// A self-contained source of a kernel or a map.
#[derive(Clone, Debug)]
pub struct Source {
    /// The language.
    pub dialect: Dialect,
    /// The name of the kernel.
    pub name: String,
    /// The lines of the comment at the head. Lines that begin with blanks describe an argument.
    pub head: Vec<String>,
    /// The indentation of the continuation of such a line.
    pub indent: usize,
    /// The definitions of types.
    pub types: String,
    /// The functions that it may call, by name. Each comes after those that it calls.
    pub functions: Vec<(String, String)>,
    /// The declarations of its arguments.
    pub arguments: Vec<String>,
    /// The code within its braces.
    pub inside: String,
    /// Host functions.
    pub after: String,
}

impl Source {
    /// The number of a thread in CUDA and HIP.
    pub const THREAD: &'static str = "(size_t)blockIdx.x * blockDim.x + threadIdx.x";

    /// The text.
    pub fn text(self) -> String {
        let Self { dialect, name, head, indent, types, functions, arguments, inside, after } = self;
        let qualifier = if dialect == Dialect::C { "" } else { "extern \"C\" __global__ " };
        let kernel = format!("{qualifier}void {name}(\n    {}\n) {{\n{inside}}}\n", arguments.join(",\n    "));
        let (head, called) = (commented(&head, indent), called(dialect, functions, &kernel));
        format!("{head}\n{}{types}\n{called}\n{kernel}{after}", includes(dialect))
    }
}
