//! A map as data, and the options of its launch.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use lanefield::body::BodyError;
use lanefield::body::program::Program;

use super::plain_point::{BlockState, HostCall, PlainPoint};
use super::point::MapBody;
use super::program::{BLOCK_DIMENSIONS, PointLanguage};
use super::record::record;
use super::role::MapRole;

/// Which work-item or work-group computes which points, and in which order. No bit of any result depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Schedule {
    /// One work-item for each point, or one work-group for each block. The map's last dimension is the device's first; the dimensions beyond the
    /// third are combined with it.
    #[default]
    Device,
    /// A single work-group computes everything: its work-items loop over the points, or the whole group loops over the blocks.
    ThreadBlock,
    /// A fixed number of work-groups loop over the points or blocks in strides.
    Persistent {
        /// The number of work-groups; by default as many as the device can run at once.
        groups: Option<usize>,
    },
    /// Work-groups fetch `chunk` points, or blocks, at a time from a queue with an atomic counter. Use it if points take different times.
    Dynamic {
        /// The number of points, or blocks, that are fetched at a time.
        chunk: usize,
    },
    /// Points are computed one after the other: a point may read what an earlier one wrote.
    Sequential,
}

/// Options of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MapOptions {
    /// Who computes which points.
    pub schedule: Schedule,
    /// Work-items of a work-group in the last three dimensions, the last of which is the fastest. The default is the work-group multiple that the
    /// device prefers, but at least 32, in the last dimension. A body with thread-block maps determines its own.
    pub block: Option<[usize; BLOCK_DIMENSIONS]>,
    /// Points of a work-item in these dimensions. Neighbouring points of a work-item are a block apart.
    pub tile: [usize; BLOCK_DIMENSIONS],
}

impl MapOptions {
    /// The schedule `Device`, one point for each work-item, and the work-group size that the device prefers.
    pub const DEFAULT: Self = Self { schedule: Schedule::Device, block: None, tile: [1; BLOCK_DIMENSIONS] };

    /// Sets the schedule.
    pub const fn schedule(self, schedule: Schedule) -> Self {
        Self { schedule, ..self }
    }

    /// Sets the number of work-items of a work-group in the last dimensions, 1 to 3 of them.
    pub const fn block<const N: usize>(self, block: [usize; N]) -> Self {
        Self { block: Some(padded(block)), ..self }
    }

    /// Sets the number of points of a work-item in the last dimensions, 1 to 3 of them.
    pub const fn tile<const N: usize>(self, tile: [usize; N]) -> Self {
        Self { tile: padded(tile), ..self }
    }
}

/// In the syntax of the attribute: `schedule = Device, block = [8, 32]`.
impl fmt::Display for MapOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "schedule = {:?}", self.schedule)?;
        for (name, sizes) in
            [("block", self.block), ("tile", Some(self.tile).filter(|tile| *tile != [1; BLOCK_DIMENSIONS]))]
        {
            if let Some(sizes) = sizes {
                let first = sizes.iter().position(|&size| size > 1).unwrap_or(BLOCK_DIMENSIONS - 1);
                write!(f, ", {name} = {:?}", &sizes[first..])?;
            }
        }
        Ok(())
    }
}

impl Default for MapOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

const fn padded<const N: usize>(given: [usize; N]) -> [usize; BLOCK_DIMENSIONS] {
    const { assert!(1 <= N && N <= BLOCK_DIMENSIONS, "blocks and tiles have 1 to 3 dimensions") };
    let mut padded = [1; BLOCK_DIMENSIONS];
    let mut k = 0;
    while k < N {
        padded[BLOCK_DIMENSIONS - N + k] = given[k];
        k += 1;
    }
    padded
}

/// The data on which a map is tested and timed: `case(range = [96, 64], out = [96, 64], x = [1000] in 0..16, s = 1.5)` of `#[map_kernel]`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MapCase {
    /// The extents of the index space.
    pub range: &'static [usize],
    /// The value of each argument, in the order of the body.
    pub arguments: &'static [Given],
}

/// The value of an argument in a case.
#[derive(Clone, PartialEq, Debug)]
pub enum Given {
    /// An array of random numbers, with these extents.
    Array(&'static [usize]),
    /// An array of random integers in this range, for example an index table.
    Integers(&'static [usize], Range<i64>),
    /// A number.
    Number(f64),
    /// A number that the map returns.
    Result,
}

/// A map as data: `#[map_kernel]` creates it from a body.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct MapKernel {
    pub name: &'static str,
    pub computes: &'static str,
    pub names: &'static [&'static str],
    pub roles: &'static [MapRole],
    /// The default options of a launch.
    pub options: MapOptions,
    /// The data on which tools test and time it.
    pub cases: &'static [MapCase],
    record: fn(&'static str) -> Result<Program<PointLanguage>, BodyError>,
    pub(super) run: for<'a> fn(&'a HostCall<'a>, &'a BlockState),
}

impl fmt::Debug for MapKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapKernel").field("name", &self.name).field("roles", &self.roles).finish_non_exhaustive()
    }
}

/// Recordings by map: each body is recorded once.
static RECORDED: Mutex<Vec<(MapKernel, Arc<Program<PointLanguage>>)>> = Mutex::new(Vec::new());

impl MapKernel {
    /// The map of a body.
    pub const fn new<B: MapBody>(
        name: &'static str,
        computes: &'static str,
        names: &'static [&'static str],
        options: MapOptions,
        cases: &'static [MapCase],
    ) -> Self {
        Self { name, computes, names, roles: B::ROLES, options, cases, record: record::<B>, run: run::<B> }
    }

    /// The recording of its body. The body is recorded once.
    ///
    /// # Errors
    /// The body is not valid.
    pub fn program(&self) -> Result<Arc<Program<PointLanguage>>, BodyError> {
        let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
        let is_this =
            |(known, _): &&(Self, _)| std::ptr::fn_addr_eq(known.record, self.record) && known.name == self.name;
        if let Some((_, program)) = recorded.iter().find(is_this) {
            return Ok(Arc::clone(program));
        }
        let program = Arc::new((self.record)(self.name)?);
        recorded.push((*self, Arc::clone(&program)));
        Ok(program)
    }
}

fn run<B: MapBody>(call: &HostCall<'_>, state: &BlockState) {
    B::run(PlainPoint::new(call, state));
}
