//! Errors of layouts, with the values that are possible.

use thiserror::Error;

/// An error of a layout. Messages are fragments: "failed to lay out the lattice: {error}".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum LayoutError {
    #[error(
        "invalid lattice '{extents}': expected four extents X.Y.Z.T of at least 1 each, with at most 2147483647 sites"
    )]
    Extents { extents: String },
    #[error(
        "local volume {extents} at {origin} does not fit the lattice {whole}: it must be within the lattice, and begin at even coordinates"
    )]
    Part { extents: String, origin: String, whole: String },
    #[error("invalid lane width '{bytes}': expected 8, 16, 32, 64, 128 or 256 bytes")]
    Width { bytes: String },
    #[error("a lane width of {width} bytes is too small for {scalar}, which has {needed} bytes: use at least {needed}")]
    Narrow { width: usize, scalar: &'static str, needed: usize },
    #[error("no room for a table of neighbours of {bytes} bytes in the host's memory: use a smaller lattice")]
    OutOfMemory { bytes: usize },
    #[error(
        "extent {extent} of direction {dimension} is too large for kernels that use coordinates: use at most {most}"
    )]
    Coordinates { dimension: &'static str, extent: usize, most: usize },
    #[error("{extents} cannot be divided into {nsimd} virtual nodes{even}: {possible}")]
    Split { extents: String, nsimd: usize, even: &'static str, possible: String },
    #[error("extent {extent} of {dimension} cannot be divided into {parts} virtual nodes: {possible}")]
    Cut { extent: usize, dimension: &'static str, parts: usize, possible: String },
    #[error("invalid lane layout '{nodes}' for {nsimd} lanes: expected four numbers X.Y.Z.T with product {nsimd}")]
    Nodes { nodes: String, nsimd: usize },
    #[error("extent {extent} of {dimension} is odd: even and odd sites need an even extent in every direction")]
    OddExtent { extent: usize, dimension: &'static str },
    #[error("this lattice of {extents} does not have parities: create it with Checkerboard::RedBlack")]
    NotRedBlack { extents: String },
    #[error(
        "{steps} steps along {dimension} reach beyond the neighbouring rank: the local volume {extents} is too narrow; divide the \
         lattice among fewer ranks along {dimension}"
    )]
    Reach { extents: String, dimension: &'static str, steps: usize },
    #[error("invalid leg order '{order}': expected each of -x +x -y +y -z +z -t +t once, as in -t-y-z+t+y+z-x+x")]
    LegOrder { order: String },
    #[error("invalid parity '{parity}': expected even or odd")]
    Parity { parity: String },
    #[error("invalid number of accelerator threads '{threads}' (outer sites of a work-group): expected 1 to {most}")]
    AcceleratorThreads { threads: String, most: usize },
    #[error("invalid direction '{direction}': expected x, y, z or t")]
    Direction { direction: String },
    #[error(
        "{blocks} blocks of {threads} threads in warps of {warp} are not a valid plan of a sum: a warp must be a power of two, a block a whole \
         number of warps with at most {most_threads} threads, and there must be 1 to {most_blocks} blocks"
    )]
    TreePlan { threads: usize, blocks: usize, warp: usize, most_threads: usize, most_blocks: usize },
    #[error(
        "invalid device '{device}': expected v100, a100, h100, h200, mi250x, or WARP,THREADS,BYTES,UNITS (threads of a warp, maximum \
         threads of a block, its local memory in bytes, compute units), as in 32,1024,49152,132"
    )]
    ReductionDevice { device: String },
    #[error(
        "objects of {bytes} bytes for each thread of one warp do not fit the local memory of a block of {device} \
         (warp,threads,bytes,units): sum bundles of fewer words"
    )]
    ReductionObject { bytes: usize, device: String },
}
