//! A kernel of the user, or several in a row, described in TOML so that the doctor can run them. The description has the source, buffers and
//! launches, and what the author knows about them. `docs/doctor.md` has an example of every key.

use std::path::PathBuf;

use serde::Deserialize;

use super::finding::Fault;
use crate::access::{ExpressionError, Index, Pattern};

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    pub name: String,
    /// The OpenCL C file, relative to the description.
    pub source: PathBuf,
    #[serde(default)]
    pub options: String,
    /// The ideal bytes of a run: each input once, each output once.
    pub bytes: u64,
    #[serde(default)]
    pub flops: u64,
    #[serde(rename = "buffer", default)]
    pub buffers: Vec<BufferOf>,
    #[serde(rename = "pass", default)]
    pub passes: Vec<PassOf>,
    /// Faults, each with a description of the same work without it, to confirm the gain.
    #[serde(default)]
    pub remedy: Vec<RemedyOf>,
}

/// A description of the same work in which one fault of the source is fixed.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemedyOf {
    pub fault: Fault,
    /// The other description, relative to this one.
    pub description: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Often {
    #[default]
    Once,
    EachRun,
}

#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferOf {
    pub name: String,
    pub bytes: usize,
    #[serde(default)]
    pub output: bool,
    #[serde(default)]
    pub allocated: Often,
    /// When the host writes to it (small numbers); `None` for never.
    pub written: Option<Often>,
    /// When the host reads it; `None` for never.
    pub read: Option<Often>,
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PassOf {
    pub kernel: String,
    pub global: Vec<usize>,
    pub local: Vec<usize>,
    /// The arguments, in order: names of buffers, or `{ u32 = 5 }`, `{ u64 = 5 }`, `{ f32 = 0.5 }`, `{ f64 = 0.5 }`, `{ local = 1024 }` bytes, `{
    /// first = true }`.
    pub arguments: Vec<ArgumentOf>,
    /// Bytes that it reads from buffers: `{ source = 4096 }`.
    #[serde(default)]
    pub reads: Vec<Moved>,
    #[serde(default)]
    pub writes: Vec<Moved>,
    /// The number of launches, each over its share of the work-items, whose first one is the argument `{ first = true }`.
    #[serde(default = "one")]
    pub slices: usize,
    #[serde(default)]
    pub any_group_size: bool,
    #[serde(default)]
    pub any_number_of_groups: bool,
    #[serde(rename = "access", default)]
    pub accesses: Vec<AccessOf>,
}

fn one() -> usize {
    1
}

#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    pub buffer: String,
    /// Bytes of all launches of the pass together.
    pub bytes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessOf {
    pub buffer: String,
    /// Byte address as an expression of `item`, `group` …, as for `lanefield access --pattern`.
    pub pattern: String,
    pub element: usize,
}

impl AccessOf {
    /// The accesses of the work-items of one group, in wavefronts of `wavefront`.
    pub fn pattern(&self, group: usize, wavefront: usize) -> Result<Pattern, ExpressionError> {
        Ok(Pattern {
            address: self.pattern.parse()?,
            element: self.element as u64,
            lanes: 1,
            sites: group as u64,
            words: 1,
            groups: 1,
            fast: Index::Site,
            serial: Vec::new(),
            wavefront: wavefront as u64,
        })
    }
}

#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum ArgumentOf {
    Buffer(String),
    Value(ValueOf),
}

#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum ValueOf {
    U32(u32),
    U64(u64),
    F32(f32),
    F64(f64),
    /// Bytes of local memory per group.
    Local(usize),
    /// `uint`: the first work-item of this slice.
    First(bool),
}

#[derive(Clone, Debug)]
pub struct Described {
    pub description: Description,
    pub source: String,
}

impl PassOf {
    /// Total number of work-items in all slices.
    pub fn work_items(&self) -> usize {
        self.global.iter().product()
    }

    pub fn group(&self) -> usize {
        self.local.iter().product()
    }
}
