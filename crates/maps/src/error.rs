//! Errors of arrays and maps. Messages are fragments that fit after "failed to …: ".

use lanefield::backend::BackendError;
use lanefield::body::BodyError;

/// Why an array could not be created, or a map could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum MapError {
    /// The body is not valid, or no schedule can run it.
    #[error(transparent)]
    Body(#[from] BodyError),

    #[error(transparent)]
    Backend(#[from] BackendError),

    /// Extents that an array or an index space cannot have.
    #[error("{what} of extents {extents:?}: each is at most {}, and their product at most {most}", i32::MAX)]
    Extents { what: String, extents: Vec<usize>, most: u64 },

    /// The number of elements does not match the array.
    #[error("{given} numbers for an array of extents {extents:?}, which holds {expected}")]
    Length { given: usize, expected: usize, extents: Vec<usize> },

    /// The pitch is not a multiple of the size of an element.
    #[error("rows at multiples of {bytes} bytes: expected a multiple of an element's {element} bytes, such as 128")]
    Padding { bytes: usize, element: usize },

    /// The index space does not have the number of dimensions that the body expects.
    #[error("map {map} runs over {expected} dimensions, but its index space is {given:?}")]
    Rank { map: &'static str, expected: usize, given: Vec<usize> },

    /// An index would be out of range: this was found before anything ran.
    #[error(
        "map {map} over {range:?} uses {array} of extents {extents:?} at indices from {low} to {high} in dimension {dimension}: use a smaller index \
         space or a larger array, or access elements that may be out of range by `at_or` and `write_inside`"
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

    /// An index was out of range. Only memory of the arrays was touched, and the elements in range were written.
    #[error(
        "map {map} used {array} of extents {extents:?} out of range, first at point {point:?}: access elements that may be out of range by `at_or` and \
         `write_inside`"
    )]
    WasOutOfRange { map: &'static str, array: String, extents: Vec<usize>, point: Vec<usize> },

    /// Two points wrote the same element.
    #[error(
        "map {map} wrote element {element:?} of {array} by several points, any of which may be the last: write each element by one point, or add to an \
         `Accumulate`"
    )]
    WriteConflict { map: &'static str, array: &'static str, element: Vec<usize> },

    /// An array is read where another point may write it.
    #[error(
        "map {map} reads {array} at another index than it writes: another point may or may not have written it already; read from another array, or use the \
         schedule `Sequential`"
    )]
    Race { map: &'static str, array: &'static str },

    /// A block size was given, but the body determines its own.
    #[error("map {map} has thread-block maps with blocks of {own:?}, but blocks of {given:?} were given: give none")]
    BlockOfThreads { map: &'static str, given: [usize; 3], own: [usize; 3] },

    /// A block size, chunk, tile or number of groups is 0, or the schedule does not have this option.
    #[error("map {map}: {what}: expected {expected}")]
    Schedule { map: &'static str, what: String, expected: &'static str },

    /// The work-group is larger than this kernel allows.
    #[error(
        "map {map}: blocks of {block:?} are {items} work-items, and {device} runs at most {most} in a group of this kernel ({device_most} of any, \
         {item_most:?} in each dimension, the fastest first): use smaller blocks, and tiles for several points of a work-item"
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

    /// The body needs more local memory than a work-group has.
    #[error(
        "map {map} needs {bytes} bytes of local memory for a block, and {device} has {available}: use smaller local arrays, or smaller blocks"
    )]
    LocalMemory { map: &'static str, bytes: usize, device: String, available: u64 },

    /// The case does not match the map.
    #[error("map {map}: {what}")]
    Case { map: &'static str, what: String },

    /// There are more points than the schedule can count.
    #[error(
        "map {map} over {range:?} has {points} points, but the schedule supports at most {most}: use another schedule, or split the map"
    )]
    Points { map: &'static str, range: Vec<usize>, points: u64, most: u64 },
}
