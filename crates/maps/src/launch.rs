//! Launching a map. The checks here are the same on every backend.

use lanefield::body::program::{Kind, Program};

use super::array::{ArrayOn, MapMemory, Storage, elements, with_pitch};
use super::bounds::{Bounds, Given, bounds};
use super::error::MapError;
use super::kernel::{MapKernel, MapOptions, Schedule};
use super::point::Element;
use super::program::{BLOCK_DIMENSIONS, PointLanguage, index_of};
use super::role::{MOST_DIMENSIONS, MapRole, MemoryPlace, identity};

/// A backend that can run maps: it has memory for arrays, and runs calls.
pub trait MapBackend: MapMemory {
    /// Runs a call that has been checked. There is at least one point.
    fn run_map(&self, call: &CheckedCall<'_, Self>) -> Result<Outcome, MapError>;

    /// Creates an array with these numbers in device memory.
    fn array<T: Element, const D: usize>(
        &self,
        extents: [usize; D],
        numbers: &[T],
    ) -> Result<ArrayOn<Self, T, D>, MapError> {
        ArrayOn::new(self, extents, Storage::Global, numbers)
    }

    /// Creates an array of zeros in device memory.
    fn zero_array<T: Element, const D: usize>(&self, extents: [usize; D]) -> Result<ArrayOn<Self, T, D>, MapError> {
        ArrayOn::zeros(self, extents, Storage::Global)
    }
}

/// The result of a launch, in addition to the arrays that it wrote.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// For each argument that is a sum or an extreme over all points, its bits.
    pub results: Vec<u64>,
    /// For each place (arguments, local memory, registers), the first point with an index out of range.
    pub beyond: Vec<Option<u32>>,
    /// For each argument, the first element that several points wrote.
    pub conflicts: Vec<Option<u32>>,
}

/// The value of an argument of a call.
#[derive(Debug)]
pub enum Value<'a, B: MapBackend + ?Sized> {
    /// An array.
    Array {
        /// Its storage.
        numbers: &'a B::Numbers,
        /// Its extents.
        extents: Vec<usize>,
        /// Elements from the start of one row to the start of the next.
        pitch: usize,
    },
    /// The bits of a number.
    Number(u64),
    /// A number that the call returns.
    Result,
}

/// A call of a map, to which arguments are added in the order of the body.
#[derive(Debug)]
pub struct MapCall<'a, B: MapBackend + ?Sized> {
    map: &'static MapKernel,
    values: Vec<Value<'a, B>>,
}

impl<'a, B: MapBackend + ?Sized> MapCall<'a, B> {
    /// A call without arguments.
    pub fn new(map: &'static MapKernel) -> Self {
        Self { map, values: Vec::new() }
    }

    /// Adds an array that is read.
    pub fn read<T: Element, const D: usize>(mut self, array: &'a ArrayOn<B, T, D>) -> Self {
        let (numbers, extents, pitch) = (array.numbers(), array.extents().to_vec(), array.pitch());
        self.values.push(Value::Array { numbers, extents, pitch });
        self
    }

    /// Adds an array that is written. The exclusive borrow ensures that no other argument is the same array.
    pub fn write<T: Element, const D: usize>(self, array: &'a mut ArrayOn<B, T, D>) -> Self {
        self.read(array)
    }

    /// Adds a number.
    pub fn number<T: Element>(mut self, number: T) -> Self {
        self.values.push(Value::Number(number.bits()));
        self
    }

    /// Adds a number that the call returns.
    pub fn result(mut self) -> Self {
        self.values.push(Value::Result);
        self
    }

    /// Runs the map over an index space. Returns the bits of each number that it computes over all points, in the order of the arguments.
    pub fn launch<const D: usize>(
        self,
        backend: &B,
        range: [usize; D],
        options: MapOptions,
    ) -> Result<Vec<u64>, MapError> {
        self.launch_over(backend, &range, options)
    }

    /// Adds an argument whose type is known only at run time.
    pub(super) fn value(mut self, value: Value<'a, B>) -> Self {
        self.values.push(value);
        self
    }

    /// As [`Self::launch`], for an index space whose rank is known only at run time.
    pub(super) fn launch_over(self, backend: &B, range: &[usize], options: MapOptions) -> Result<Vec<u64>, MapError> {
        let map = self.map;
        let program = map.program()?;
        let call = CheckedCall::new(map, &program, range.to_vec(), options, self.values)?;
        if call.points == 0 {
            return Ok(call.identities());
        }
        if let Some((place, dimension, low, high)) = call.bounds.beyond {
            let (array, extents) = call.describe(place);
            return Err(MapError::OutOfRange {
                map: map.name,
                range: range.to_vec(),
                array,
                extents,
                dimension,
                low,
                high,
            });
        }
        let outcome = backend.run_map(&call)?;
        call.judge(&outcome)?;
        Ok(outcome.results)
    }
}

/// A call whose arguments match the map.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct CheckedCall<'a, B: MapBackend + ?Sized> {
    pub map: &'static MapKernel,
    pub program: &'a Program<PointLanguage>,
    pub range: Vec<usize>,
    pub points: u64,
    pub options: MapOptions,
    pub values: Vec<Value<'a, B>>,
    /// Where the launch reads and writes, as far as it is known.
    pub bounds: Bounds,
}

impl<'a, B: MapBackend + ?Sized> CheckedCall<'a, B> {
    fn new(
        map: &'static MapKernel,
        program: &'a Program<PointLanguage>,
        range: Vec<usize>,
        options: MapOptions,
        values: Vec<Value<'a, B>>,
    ) -> Result<Self, MapError> {
        let name = map.name;
        if range.is_empty()
            || range.len() > MOST_DIMENSIONS
            || program.needs.rank.is_some_and(|rank| rank != range.len())
        {
            return Err(MapError::Rank { map: name, expected: program.needs.rank.unwrap_or(1), given: range });
        }
        let points = elements(&range).map_err(|error| match error {
            MapError::Extents { extents, most, .. } => {
                MapError::Extents { what: format!("the index space of map {name}"), extents, most }
            }
            other => other,
        })? as u64;
        let refused = |what: String, expected| Err(MapError::Schedule { map: name, what, expected });
        match (options.schedule, options.block) {
            (Schedule::Dynamic { chunk: 0 }, _) => return refused("chunks of 0 points".to_owned(), "at least 1"),
            (Schedule::Persistent { groups: Some(0) }, _) => return refused("0 groups".to_owned(), "at least 1"),
            (_, Some(block)) if block.contains(&0) => {
                return refused(format!("blocks of {block:?}"), "at least 1 in each dimension");
            }
            (_, Some(given)) if program.needs.block.is_some() => {
                let own = program.needs.block.unwrap_or(given);
                return Err(MapError::BlockOfThreads { map: name, given, own });
            }
            _ => {}
        }
        // Of points, dimensions that the index space does not have would be counted over and over.
        let beyond = |sizes: [usize; BLOCK_DIMENSIONS]| sizes.iter().rev().skip(range.len()).any(|&size| size > 1);
        for (what, sizes) in [("blocks", options.block.unwrap_or([1; BLOCK_DIMENSIONS])), ("tiles", options.tile)] {
            if beyond(sizes) {
                let what = format!("{what} of {sizes:?} over {} dimensions", range.len());
                return refused(what, "no more dimensions than the index space has");
            }
        }
        if options.tile != [1; BLOCK_DIMENSIONS] && program.needs.is_of_blocks() {
            let what = format!("tiles of {:?} with thread-block maps", options.tile);
            return refused(what, "none: a block computes several points by a loop in its body");
        }
        if options.tile.contains(&0) {
            return refused(format!("tiles of {:?}", options.tile), "at least 1 in each dimension");
        }
        if options.tile != [1; BLOCK_DIMENSIONS] && options.schedule != Schedule::Device {
            let what = format!("tiles of {:?} with the schedule {:?}", options.tile, options.schedule);
            return refused(what, "the schedule Device: with others a work-item computes several points anyway");
        }
        let sequential = options.schedule == Schedule::Sequential && !program.needs.is_of_blocks();
        if let Some(argument) = program.needs.racy.filter(|_| !sequential) {
            return Err(MapError::Race { map: name, array: map.names[argument] });
        }
        let extents: Vec<Vec<usize>> = values
            .iter()
            .map(|value| if let Value::Array { extents, .. } = value { extents.clone() } else { Vec::new() })
            .collect();
        let scalars: Vec<Option<i64>> = values
            .iter()
            .zip(map.roles)
            .map(|(value, role)| match (value, role) {
                (Value::Number(bits), MapRole::Scalar(Kind::I32)) => Some(i64::from(i32::from_bits(*bits))),
                (Value::Number(bits), MapRole::Scalar(Kind::U32)) => Some(i64::from(u32::from_bits(*bits))),
                _ => None,
            })
            .collect();
        let mut bounds = bounds(program, Given { range: &range, extents: &extents, scalars: &scalars });
        if sequential {
            bounds.tracked.clear();
        }
        Ok(Self { map, program, range, points, options, values, bounds })
    }

    /// The extents of an argument; empty if it is not an array.
    pub fn extents(&self, argument: usize) -> &[usize] {
        match &self.values[argument] {
            Value::Array { extents, .. } => extents,
            _ => &[],
        }
    }

    /// The extents in memory: the last one is the pitch.
    pub fn stored_extents(&self, argument: usize) -> Vec<usize> {
        match &self.values[argument] {
            Value::Array { extents, pitch, .. } => with_pitch(extents, *pitch),
            _ => Vec::new(),
        }
    }

    /// The bits of sums and extremes over no points.
    pub fn identities(&self) -> Vec<u64> {
        let made = self.map.roles.iter().filter_map(|role| match role {
            MapRole::ExactSum => Some(0f64.to_bits()),
            MapRole::Fold(kind, fold) => Some(u64::from(identity(*kind, *fold))),
            _ => None,
        });
        made.collect()
    }

    /// The name of a place in error messages, and its extents.
    fn describe(&self, place: MemoryPlace) -> (String, Vec<usize>) {
        let room = self.program.needs.room(place).map(|room| room.extents.clone()).unwrap_or_default();
        match place {
            MemoryPlace::Argument(argument) => (self.map.names[argument].to_owned(), self.extents(argument).to_vec()),
            MemoryPlace::Local(local) => (format!("local array {local}"), room),
            MemoryPlace::Register(register) => (format!("register array {register}"), room),
        }
    }

    fn judge(&self, outcome: &Outcome) -> Result<(), MapError> {
        let arguments = self.map.roles.len();
        if let Some((slot, point)) = outcome.beyond.iter().enumerate().find_map(|(slot, first)| Some((slot, (*first)?)))
        {
            let place = match slot {
                _ if slot < arguments => MemoryPlace::Argument(slot),
                _ if slot < arguments + self.program.needs.locals.len() => MemoryPlace::Local(slot - arguments),
                _ => MemoryPlace::Register(slot - arguments - self.program.needs.locals.len()),
            };
            let (array, extents) = self.describe(place);
            let point = index_in(u64::from(point), &self.range);
            return Err(MapError::WasOutOfRange { map: self.map.name, array, extents, point });
        }
        let first = outcome.conflicts.iter().enumerate().find_map(|(argument, first)| Some((argument, (*first)?)));
        if let Some((argument, element)) = first {
            let element = index_in(u64::from(element), &self.stored_extents(argument));
            return Err(MapError::WriteConflict { map: self.map.name, array: self.map.names[argument], element });
        }
        Ok(())
    }
}

fn index_in(number: u64, extents: &[usize]) -> Vec<usize> {
    index_of(number, extents)[..extents.len()].iter().map(|&component| component as usize).collect()
}
