//! Why a map could not be run. Messages are fragments that fit after "failed to …: ".

use lanefield::backend::BackendError;
use lanefield::body::BodyError;

/// Why an array could not be made, or a map could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum MapError {
    /// A body that is none, or that does what no schedule can do.
    #[error(transparent)]
    Body(#[from] BodyError),

    /// What the backend reports.
    #[error(transparent)]
    Backend(#[from] BackendError),

    /// Extents that no array and no index space has.
    #[error("{what} of extents {extents:?}: each is at most {}, and their product at most {most}", i32::MAX)]
    Extents { what: String, extents: Vec<usize>, most: u64 },

    /// Numbers that do not fill an array.
    #[error("{given} numbers for an array of extents {extents:?}, which holds {expected}")]
    Length { given: usize, expected: usize, extents: Vec<usize> },

    /// Rows that would begin between elements.
    #[error("rows at multiples of {bytes} bytes: expected a multiple of an element's {element} bytes, such as 128")]
    Padding { bytes: usize, element: usize },

    /// An index space of another number of dimensions than the body asks for.
    #[error("map {map} runs over {expected} dimensions, and was given {given:?}")]
    Rank { map: &'static str, expected: usize, given: Vec<usize> },

    /// An index that was seen to lie beyond the ends before anything ran.
    #[error(
        "map {map} over {range:?} takes {array} of extents {extents:?} at indices from {low} to {high} in dimension {dimension}: let it run over less, give \
         it a larger array, or take what may lie beyond the ends by `at_or` and `write_inside`"
    )]
    OutOfRange {
        map: &'static str,
        range: Vec<usize>,
        array: String,
        extents: Vec<usize>,
        dimension: usize,
        low: i64,
        high: i64,
    },

    /// An index that lay beyond the ends. No memory but the arrays' was touched; what lay inside was written.
    #[error(
        "map {map} took {array} of extents {extents:?} beyond its ends, first at point {point:?}: take what may lie there by `at_or` and `write_inside`"
    )]
    WasOutOfRange { map: &'static str, array: String, extents: Vec<usize>, point: Vec<usize> },

    /// Two points that write one element.
    #[error(
        "map {map} wrote element {element:?} of {array} by several points, of which any may be the last: write each element by one, or add to an \
         `Accumulate`"
    )]
    WriteConflict { map: &'static str, array: &'static str, element: Vec<usize> },

    /// An array that is read where another point may write it.
    #[error(
        "map {map} reads {array} at another index than it writes: another point may have written that, or not yet; read from another array, or take the \
         schedule `Sequential`"
    )]
    Race { map: &'static str, array: &'static str },

    /// A block size given to a body that has one.
    #[error("map {map} was given blocks of {given:?}, and its thread-block maps make them {own:?}: give none")]
    BlockOfThreads { map: &'static str, given: [usize; 3], own: [usize; 3] },

    /// A block size, chunk, tile or number of groups of 0, or one that the schedule does not have.
    #[error("map {map}: {what}: expected {expected}")]
    Schedule { map: &'static str, what: String, expected: &'static str },

    /// A group larger than the kernel, as it was built, allows.
    #[error(
        "map {map}: blocks of {block:?} are {items} work-items, and {device} runs at most {most} in a group of this kernel ({device_most} of any, \
         {item_most:?} in each dimension, the fastest first): take smaller blocks, and tiles for several points a work-item"
    )]
    GroupSize {
        map: &'static str,
        block: [usize; 3],
        items: usize,
        device: String,
        most: usize,
        device_most: usize,
        item_most: [usize; 3],
    },

    /// More local memory than a group has.
    #[error(
        "map {map} takes {bytes} bytes of local memory a block, and {device} has {available}: take smaller local arrays, or smaller blocks"
    )]
    LocalMemory { map: &'static str, bytes: usize, device: String, available: u64 },

    /// A case that the map does not take.
    #[error("map {map}: {what}")]
    Case { map: &'static str, what: String },

    /// More points than a schedule counts.
    #[error(
        "map {map} over {range:?} has {points} points, and the schedule counts to {most}: take another schedule, or cut the map"
    )]
    Points { map: &'static str, range: Vec<usize>, points: u64, most: u64 },
}
