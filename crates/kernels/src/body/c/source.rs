//! A source: what stands around the body of a kernel or a map.

use super::about::commented;
use super::prelude::{called, includes};
use crate::body::dialect::Dialect;

/// A kernel or a map as a source that needs nothing else.
#[derive(Clone, Debug)]
pub struct Source {
    /// The language.
    pub dialect: Dialect,
    /// The name of the kernel.
    pub name: String,
    /// Lines of the comment at the head. Those that begin with blanks say what an argument is.
    pub head: Vec<String>,
    /// How far such a line is indented where it is cut.
    pub indent: usize,
    /// Its types.
    pub types: String,
    /// What it may call, by name, each after those that it calls.
    pub functions: Vec<(String, String)>,
    /// The declarations of its arguments.
    pub arguments: Vec<String>,
    /// What stands in its braces.
    pub inside: String,
    /// Functions of the host.
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
