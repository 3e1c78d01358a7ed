//! What cannot be laid out, and what could be instead.

use thiserror::Error;

/// Why a layout was refused. Messages are fragments: "failed to lay out the lattice: {error}".
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum LayoutError {
    #[error(
        "'{extents}' is no lattice: give four extents X.Y.Z.T of at least 1 each, at most 2147483647 sites together"
    )]
    Extents { extents: String },
    #[error(
        "{extents} from {origin} on is no part of a lattice of {whole}: parts lie in the whole, and begin at even coordinates"
    )]
    Part { extents: String, origin: String, whole: String },
    #[error("no lane width of {bytes} bytes: use 8, 16, 32, 64, 128 or 256")]
    Width { bytes: String },
    #[error("a lane width of {width} bytes holds no {scalar} of {needed} bytes: use at least {needed}")]
    Narrow { width: usize, scalar: &'static str, needed: usize },
    #[error("no room for a table of neighbours of {bytes} bytes in the host's memory: try a smaller lattice")]
    OutOfMemory { bytes: usize },
    #[error(
        "extent {extent} of direction {dimension}: kernels that ask for coordinates take extents of at most {most}"
    )]
    Coordinates { dimension: &'static str, extent: usize, most: usize },
    #[error("{extents} cannot be cut into {nsimd} virtual nodes{even}: {possible}")]
    Split { extents: String, nsimd: usize, even: &'static str, possible: String },
    #[error("extent {extent} of {dimension} cannot be cut into {parts} virtual nodes: {possible}")]
    Cut { extent: usize, dimension: &'static str, parts: usize, possible: String },
    #[error("'{nodes}' is no cut into virtual nodes for {nsimd} lanes: give four numbers X.Y.Z.T with product {nsimd}")]
    Nodes { nodes: String, nsimd: usize },
    #[error("extent {extent} of {dimension} is odd: even and odd sites need an even extent in every direction")]
    OddExtent { extent: usize, dimension: &'static str },
    #[error("this lattice of {extents} was laid out without parities: lay it out with Checkerboard::RedBlack")]
    NotRedBlack { extents: String },
    #[error(
        "{steps} steps along {dimension} reach beyond the next part of the lattice: {extents} is too narrow there; cut the lattice into fewer parts along \
         {dimension}"
    )]
    Reach { extents: String, dimension: &'static str, steps: usize },
    #[error("'{order}' is no leg order: name each of -x +x -y +y -z +z -t +t once, as in -t-y-z+t+y+z-x+x")]
    LegOrder { order: String },
    #[error("'{parity}' is no parity: use even or odd")]
    Parity { parity: String },
    #[error("'{threads}' is no number of accelerator threads (sites a work-group): use 1 to {most}")]
    AcceleratorThreads { threads: String, most: usize },
    #[error("'{direction}' is no direction: use x, y, z or t")]
    Direction { direction: String },
    #[error(
        "{blocks} blocks of {threads} threads in warps of {warp} are no plan of a sum: a warp is a power of two, a block a whole \
         number of warps with at most {most_threads} threads, and there are 1 to {most_blocks} blocks"
    )]
    TreePlan { threads: usize, blocks: usize, warp: usize, most_threads: usize, most_blocks: usize },
    #[error(
        "'{device}' describes no device: use v100, a100, h100, h200, mi250x, or WARP,THREADS,BYTES,UNITS (threads of a warp, most \
         threads of a block, its local memory in bytes, compute units), as in 32,1024,49152,132"
    )]
    ReductionDevice { device: String },
    #[error(
        "objects of {bytes} bytes for each thread of one warp do not fit the local memory of a block of {device} \
         (warp,threads,bytes,units): sum bundles of fewer words"
    )]
    ReductionObject { bytes: usize, device: String },
}
