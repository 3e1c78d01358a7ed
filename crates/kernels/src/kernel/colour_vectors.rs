//! Code that the kernels with hops of colour vectors share.

use lanefield_reference::kernels::colour_vectors::ideal_bytes_per_site;

use super::KernelArgument::{self, Field};
use super::{FieldContents, FieldSites, Shape, Work, read, write};

pub(super) const OUT: KernelArgument = Field(write("out", FieldContents::ColourVectors, FieldSites::Target));
pub(super) const IN: KernelArgument = Field(read("in", FieldContents::ColourVectors, FieldSites::Neighbours));

/// `flops`: floating-point operations for a colour vector.
pub(super) fn work(shape: &Shape, flops: u64) -> Work {
    let bytes =
        shape.links().map_or(0, |links| ideal_bytes_per_site(links.format, shape.real_bytes() as usize, shape.parts()));
    Work { flops: shape.volume() * shape.parts() as u64 * flops, bytes: shape.volume() * bytes }
}
