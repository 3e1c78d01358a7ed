//! A map as data, and how it is launched.

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

/// Who does which points, in which order. No bit of any result depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Schedule {
    /// A work-item for each point, or a group for each block. The last dimension is the first of the device; those beyond the third are one with it.
    #[default]
    Device,
    /// One group does everything: its work-items go through the points, or all of it through the blocks.
    ThreadBlock,
    /// As many groups as the device can have at a time, or as are given, go through the points or blocks in strides.
    Persistent {
        /// How many, if not as many as suit the device.
        groups: Option<usize>,
    },
    /// Groups fetch so many points, or blocks, at a time from a queue, which an atomic operation counts: for points that take different times.
    Dynamic {
        /// How many at a time.
        chunk: usize,
    },
    /// One after the other: a point may read what an earlier one wrote.
    Sequential,
}

/// How a map is launched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MapOptions {
    /// Who does which points.
    pub schedule: Schedule,
    /// Work-items of a group in the last three dimensions, the last of which is the fastest. If none: the multiple in which the device likes them, at
    /// least 32, in the last dimension. A body with thread-block maps has its own.
    pub block: Option<[usize; BLOCK_DIMENSIONS]>,
    /// Points of a work-item in these dimensions, a block apart from each other.
    pub tile: [usize; BLOCK_DIMENSIONS],
}

impl MapOptions {
    /// The schedule `Device`, a point for each work-item, groups as the device likes them.
    pub const DEFAULT: Self = Self { schedule: Schedule::Device, block: None, tile: [1; BLOCK_DIMENSIONS] };

    /// With this schedule.
    pub const fn schedule(self, schedule: Schedule) -> Self {
        Self { schedule, ..self }
    }

    /// With groups of so many work-items in the last dimensions, 1 to 3 of them.
    pub const fn block<const N: usize>(self, block: [usize; N]) -> Self {
        Self { block: Some(padded(block)), ..self }
    }

    /// With so many points for each work-item in the last dimensions, 1 to 3 of them.
    pub const fn tile<const N: usize>(self, tile: [usize; N]) -> Self {
        Self { tile: padded(tile), ..self }
    }
}

/// As the attribute has it: `schedule = Device, block = [8, 32]`.
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

/// What a map is tried and timed on: `case(range = [96, 64], out = [96, 64], x = [1000] in 0..16, s = 1.5)` of `#[map_kernel]`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MapCase {
    /// The extents of the index space.
    pub range: &'static [usize],
    /// What each argument is given, in their order.
    pub arguments: &'static [Given],
}

/// What an argument of a case is given.
#[derive(Clone, PartialEq, Debug)]
pub enum Given {
    /// An array of these extents, of random numbers.
    Array(&'static [usize]),
    /// An array of random integers in this range: an index table.
    Integers(&'static [usize], Range<i64>),
    /// A number.
    Number(f64),
    /// A number that the map makes.
    Result,
}

/// A map as data: what `#[map_kernel]` makes of a body.
#[derive(Clone, Copy)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct MapKernel {
    pub name: &'static str,
    pub computes: &'static str,
    pub names: &'static [&'static str],
    pub roles: &'static [MapRole],
    /// How it is launched where nothing else is said.
    pub options: MapOptions,
    /// What tools try and time it on.
    pub cases: &'static [MapCase],
    record: fn(&'static str) -> Result<Program<PointLanguage>, BodyError>,
    pub(super) run: for<'a> fn(&'a HostCall<'a>, &'a BlockState),
}

impl fmt::Debug for MapKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MapKernel").field("name", &self.name).field("roles", &self.roles).finish_non_exhaustive()
    }
}

/// Recordings that were made, by the function that makes them.
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

    /// The recording of its body, made once.
    ///
    /// # Errors
    /// Why the body is none.
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
