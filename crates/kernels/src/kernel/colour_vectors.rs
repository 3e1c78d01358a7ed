//! What the kernels of the hops of colour vectors have in common.

use lanefield_reference::kernels::laplace::ideal_bytes_per_site;

use super::Argument::{self, Field};
use super::{At, Holds, Shape, Work, read, write};

pub(super) const OUT: Argument = Field(write("out", Holds::ColourVectors, At::Target));
pub(super) const IN: Argument = Field(read("in", Holds::ColourVectors, At::Neighbours));

/// `flops`: operations on a vector.
pub(super) fn work(shape: &Shape, flops: u64) -> Work {
    let bytes =
        shape.links().map_or(0, |links| ideal_bytes_per_site(links.format, shape.real_bytes() as usize, shape.parts()));
    Work { flops: shape.volume() * shape.parts() as u64 * flops, bytes: shape.volume() * bytes }
}
