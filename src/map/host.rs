//! A map on the CPU: its body on plain numbers, chunks of points on all threads, the threads of a block one after the other. Arrays are atomic integers,
//! read and written without order, so that a body that lets points write one element is an error and not undefined. Counterpart: `opencl.rs`.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use lanefield_reference::body::number::Carried;
use lanefield_reference::exact::ExactSum;
use rayon::prelude::*;

use super::array::Storage;
use super::element::{Element, Kind};
use super::error::MapError;
use super::launch::{CheckedCall, MapBackend, Outcome, Schedule, Value};
use super::number::{Plain, PlainChoice};
use super::opencl::{slot, slots};
use super::point::{Beyond, Copied, Fold, Local, MOST_DIMENSIONS, Place, Point, Register, Role};
use super::program::{BLOCK_DIMENSIONS, Program, index_of};
use crate::backend::{BackendError, Cpu};

/// The numbers of an array on the CPU.
#[derive(Debug)]
pub enum HostNumbers {
    /// Numbers of 32 bits.
    Short(Vec<AtomicU32>),
    /// Numbers of 64 bits.
    Long(Vec<AtomicU64>),
}

impl HostNumbers {
    #[inline(always)]
    fn load(&self, element: usize) -> u64 {
        match self {
            Self::Short(numbers) => numbers.get(element).map_or(0, |number| u64::from(number.load(Relaxed))),
            Self::Long(numbers) => numbers.get(element).map_or(0, |number| number.load(Relaxed)),
        }
    }

    #[inline(always)]
    fn store(&self, element: usize, bits: u64) {
        match self {
            Self::Short(numbers) => {
                if let Some(number) = numbers.get(element) {
                    number.store(bits as u32, Relaxed);
                }
            }
            Self::Long(numbers) => {
                if let Some(number) = numbers.get(element) {
                    number.store(bits, Relaxed);
                }
            }
        }
    }

    /// Changes a number of 32 bits, which others may change at the same time.
    fn change(&self, element: usize, by: impl Fn(u32) -> u32) {
        if let Self::Short(numbers) = self
            && let Some(number) = numbers.get(element)
        {
            // It never refuses.
            let _ = number.fetch_update(Relaxed, Relaxed, |before| Some(by(before)));
        }
    }
}

/// What a fold gives where there is nothing to be folded: its bits.
pub(crate) fn identity(kind: Kind, fold: Fold) -> u32 {
    match (fold, kind) {
        (Fold::Sum, _) | (Fold::Greatest, Kind::U32) => 0,
        (Fold::Least, Kind::U32) => u32::MAX,
        (Fold::Least, Kind::F32) => ordered(f32::INFINITY.to_bits()),
        (Fold::Greatest, Kind::F32) => ordered(f32::NEG_INFINITY.to_bits()),
        (Fold::Least, _) => i32::MAX as u32,
        (Fold::Greatest, _) => i32::MIN as u32,
    }
}

/// The bits of a real number as an integer that is ordered as real numbers are.
fn ordered(bits: u32) -> u32 {
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// The bits of what a fold gave.
pub(crate) fn unfolded(kind: Kind, folded: u32) -> u64 {
    u64::from(match kind {
        Kind::F32 if folded >> 31 == 1 => folded & !(1 << 31),
        Kind::F32 => !folded,
        _ => folded,
    })
}

/// Two integers folded: their bits.
pub(super) fn folded(kind: Kind, fold: Fold, a: u32, b: u32) -> u32 {
    match (fold, kind) {
        (Fold::Sum, _) => a.wrapping_add(b),
        (Fold::Least, Kind::U32 | Kind::F32) => a.min(b),
        (Fold::Least, _) => (a as i32).min(b as i32) as u32,
        (Fold::Greatest, Kind::U32 | Kind::F32) => a.max(b),
        (Fold::Greatest, _) => (a as i32).max(b as i32) as u32,
    }
}

/// What all points of a call share.
#[derive(Debug)]
pub struct HostCall<'a> {
    program: &'a Program,
    roles: &'static [Role],
    range: &'a [usize],
    /// Threads of a block.
    threads: usize,
    arrays: Vec<Option<&'a HostNumbers>>,
    extents: Vec<&'a [usize]>,
    /// From row to row of each array.
    pitches: Vec<usize>,
    scalars: Vec<u64>,
    /// Of arrays of which it is noted who writes an element: who did, from 1 on.
    owners: Vec<Option<Vec<AtomicU32>>>,
    beyond: Vec<AtomicU32>,
    conflicts: Vec<AtomicU32>,
}

/// What is known of a point, or of a block, while its body runs.
#[derive(Debug)]
pub struct BlockState {
    index: Cell<[i32; MOST_DIMENSIONS]>,
    number: Cell<u64>,
    /// The number of the thread in its block.
    thread: Cell<usize>,
    /// Local arrays and registers that the body asked for so far.
    locals_taken: Cell<usize>,
    registers_taken: Cell<usize>,
    locals: RefCell<Vec<Vec<u64>>>,
    registers: RefCell<Vec<Vec<u64>>>,
    sums: RefCell<Vec<ExactSum>>,
    folds: RefCell<Vec<u32>>,
}

impl BlockState {
    fn new(call: &HostCall<'_>) -> Self {
        let folds = call.roles.iter().map(|role| match role {
            Role::Fold(kind, fold) => identity(*kind, *fold),
            _ => 0,
        });
        let rooms = |rooms: &[super::program::Room], threads: usize| {
            rooms.iter().map(|room| vec![0; room.elements() * threads]).collect::<Vec<_>>()
        };
        Self {
            index: Cell::default(),
            number: Cell::new(0),
            thread: Cell::new(0),
            locals_taken: Cell::new(0),
            registers_taken: Cell::new(0),
            locals: RefCell::new(rooms(&call.program.locals, 1)),
            registers: RefCell::new(rooms(&call.program.registers, call.threads)),
            sums: RefCell::new(call.roles.iter().map(|_| ExactSum::new()).collect()),
            folds: RefCell::new(folds.collect()),
        }
    }

    fn begin(&self, number: u64, range: &[usize]) {
        self.number.set(number);
        self.index.set(index_of(number, range));
        self.thread.set(0);
        self.locals_taken.set(0);
        self.registers_taken.set(0);
    }
}

/// A point on the CPU.
#[derive(Clone, Copy, Debug)]
pub struct PlainPoint<'a> {
    call: &'a HostCall<'a>,
    state: &'a BlockState,
}

impl<'a> PlainPoint<'a> {
    pub(super) fn new(call: &'a HostCall<'a>, state: &'a BlockState) -> Self {
        Self { call, state }
    }

    /// The element of an index, if there is one, where rows are a pitch apart.
    #[inline(always)]
    fn element(extents: &[usize], pitch: usize, index: &[u64]) -> Option<usize> {
        let mut element = 0;
        for (dimension, (&component, &extent)) in index.iter().zip(extents).enumerate() {
            let component = component as u32 as usize;
            if component >= extent {
                return None;
            }
            let step = if dimension + 1 == extents.len() { pitch } else { extent };
            element = element * step + component;
        }
        Some(element)
    }

    /// The same where one row follows on another.
    #[inline(always)]
    fn element_of_room(extents: &[usize], index: &[u64]) -> Option<usize> {
        Self::element(extents, extents.last().copied().unwrap_or(1), index)
    }

    /// The element of an array.
    #[inline(always)]
    fn element_of(&self, argument: usize, index: &[u64]) -> Option<usize> {
        Self::element(self.call.extents[argument], self.call.pitches[argument], index)
    }

    /// The element of an index in a place; of registers those of this thread.
    #[inline(always)]
    fn element_in(&self, place: Place, index: &[u64]) -> Option<usize> {
        match place {
            Place::Argument(argument) => self.element_of(argument, index),
            Place::Local(local) => Self::element_of_room(&self.call.program.locals[local].extents, index),
            Place::Register(register) => {
                let extents = &self.call.program.registers[register].extents;
                let own = self.state.thread.get() * extents.iter().product::<usize>();
                Some(own + Self::element_of_room(extents, index)?)
            }
        }
    }

    fn note_beyond(&self, place: Place) {
        let point = self.state.number.get().min(u64::from(u32::MAX - 1)) as u32;
        let slot = slot(self.call.program, self.call.roles.len(), place);
        self.call.beyond[slot].fetch_min(point, Relaxed);
    }

    fn own(&self, argument: usize, element: usize) {
        if let Some(owners) = &self.call.owners[argument] {
            let point = self.state.number.get().min(u64::from(u32::MAX - 1)) as u32;
            let (threads, thread) = (self.call.threads as u32, self.state.thread.get() as u32);
            let owner = point.wrapping_mul(threads).wrapping_add(thread).wrapping_add(1).max(1);
            let before = owners[element].swap(owner, Relaxed);
            if before != 0 && before != owner {
                self.call.conflicts[argument].fetch_min(element.min(u32::MAX as usize - 1) as u32, Relaxed);
            }
        }
    }
}

impl Point for PlainPoint<'_> {
    type Raw = u64;
    type F32 = Plain<f32>;
    type F64 = Plain<f64>;
    type I32 = Plain<i32>;
    type U32 = Plain<u32>;
    type Choice = PlainChoice;

    #[inline(always)]
    fn index<const D: usize>(self) -> [Plain<i32>; D] {
        let index = self.state.index.get();
        std::array::from_fn(|dimension| Plain(index[dimension]))
    }
    #[inline(always)]
    fn range(self, dimension: usize) -> Plain<i32> {
        Plain(self.call.range.get(dimension).map_or(1, |&extent| extent as i32))
    }
    #[inline(always)]
    fn threads<const D: usize>(self, extents: [usize; D], mut work: impl FnMut([Plain<i32>; D])) {
        let block = self.call.program.block.unwrap_or([1; BLOCK_DIMENSIONS]);
        for number in 0..extents.iter().product::<usize>() {
            let index = index_of(number as u64, &extents);
            // Its place among all threads of the block.
            let padding = BLOCK_DIMENSIONS.saturating_sub(D);
            let thread = (0..D.min(BLOCK_DIMENSIONS))
                .fold(0, |thread, dimension| thread * block[padding + dimension] + index[dimension] as usize);
            self.state.thread.set(thread);
            work(std::array::from_fn(|dimension| Plain(index[dimension])));
        }
        self.state.thread.set(0);
    }
    #[inline(always)]
    fn local<T: Element, const D: usize>(self, _: [usize; D]) -> Local<Self, T, D> {
        let number = self.state.locals_taken.get();
        self.state.locals_taken.set(number + 1);
        Local::new(self, number)
    }
    #[inline(always)]
    fn register<T: Element>(self, _: usize) -> Register<Self, T> {
        let number = self.state.registers_taken.get();
        self.state.registers_taken.set(number + 1);
        self.state.registers.borrow_mut()[number].fill(0);
        Register::new(self, number)
    }
    #[inline(always)]
    fn when(self, choice: PlainChoice, work: impl FnOnce()) {
        if choice.0 {
            work();
        }
    }
    #[inline(always)]
    fn repeat<T: Carried>(self, turns: Plain<i32>, initial: T, mut turn: impl FnMut(Plain<i32>, T) -> T) -> T {
        (0..turns.0).fold(initial, |carried, number| turn(Plain(number), carried))
    }
    fn grid_barrier(self) {}

    #[inline(always)]
    fn real(self, x: Plain<i32>) -> Plain<f32> {
        Plain(x.0 as f32)
    }
    #[inline(always)]
    fn double(self, x: Plain<i32>) -> Plain<f64> {
        Plain(f64::from(x.0))
    }
    #[inline(always)]
    fn rounded(self, x: Plain<f64>) -> Plain<f32> {
        Plain(x.0 as f32)
    }
    #[inline(always)]
    fn truncated(self, x: Plain<f32>) -> Plain<i32> {
        Plain(x.0 as i32)
    }
    #[inline(always)]
    fn unsigned(self, x: Plain<i32>) -> Plain<u32> {
        Plain(x.0 as u32)
    }
    #[inline(always)]
    fn signed(self, x: Plain<u32>) -> Plain<i32> {
        Plain(x.0 as i32)
    }

    #[inline(always)]
    fn extent(self, argument: usize, dimension: usize) -> Plain<i32> {
        Plain(self.call.extents[argument].get(dimension).map_or(1, |&extent| extent as i32))
    }
    #[inline(always)]
    fn load(self, _: Kind, place: Place, index: &[u64], beyond: Beyond<u64>) -> u64 {
        match (self.element_in(place, index), place) {
            (Some(element), Place::Argument(argument)) => {
                self.call.arrays[argument].map_or(0, |numbers| numbers.load(element))
            }
            (Some(element), Place::Local(local)) => self.state.locals.borrow()[local][element],
            (Some(element), Place::Register(register)) => self.state.registers.borrow()[register][element],
            (None, _) => match beyond {
                Beyond::Instead(value) => value.unwrap_or(0),
                Beyond::Error => {
                    self.note_beyond(place);
                    0
                }
            },
        }
    }
    #[inline(always)]
    fn store(self, place: Place, index: &[u64], value: u64, beyond: Beyond<u64>) {
        match (self.element_in(place, index), place) {
            (Some(element), Place::Argument(argument)) => {
                self.own(argument, element);
                if let Some(numbers) = self.call.arrays[argument] {
                    numbers.store(element, value);
                }
            }
            (Some(element), Place::Local(local)) => self.state.locals.borrow_mut()[local][element] = value,
            (Some(element), Place::Register(register)) => {
                self.state.registers.borrow_mut()[register][element] = value;
            }
            (None, _) if beyond == Beyond::Error => self.note_beyond(place),
            (None, _) => {}
        }
    }
    fn fold_at(self, kind: Kind, place: Place, fold: Fold, index: &[u64], value: u64) {
        match (self.element_in(place, index), place) {
            (Some(element), Place::Argument(argument)) => {
                if let Some(numbers) = self.call.arrays[argument] {
                    numbers.change(element, |before| folded(kind, fold, before, value as u32));
                }
            }
            (Some(element), Place::Local(local)) => {
                let number = &mut self.state.locals.borrow_mut()[local][element];
                *number = u64::from(folded(kind, fold, *number as u32, value as u32));
            }
            (Some(_), Place::Register(_)) => {}
            (None, _) => self.note_beyond(place),
        }
    }
    #[inline(always)]
    fn scalar(self, _: Kind, argument: usize) -> u64 {
        self.call.scalars[argument]
    }
    fn add_exactly(self, argument: usize, term: Plain<f64>) {
        self.state.sums.borrow_mut()[argument].add(term.0);
    }
    fn fold(self, argument: usize, value: u64) {
        if let Role::Fold(kind, fold) = self.call.roles[argument] {
            let value = match kind {
                Kind::F32 if f32::from_bits(value as u32).is_nan() => return,
                Kind::F32 => ordered(value as u32),
                _ => value as u32,
            };
            let number = &mut self.state.folds.borrow_mut()[argument];
            *number = folded(kind, fold, *number, value);
        }
    }
    fn copy(self, copy: Copied<'_, u64>) {
        let Copied { local, argument, origin, inward, .. } = copy;
        let room = &self.call.program.locals[local];
        let Some(numbers) = self.call.arrays[argument] else { return };
        for number in 0..room.elements() {
            let within = index_of(number as u64, &room.extents);
            let global = origin.iter().zip(within).map(|(&origin, own)| {
                let component = i64::from(origin as u32 as i32) + i64::from(own);
                u32::try_from(component).map_or(u64::from(u32::MAX), u64::from)
            });
            let mut index = [0; MOST_DIMENSIONS];
            index.iter_mut().zip(global).for_each(|(to, from)| *to = from);
            let element = self.element_of(argument, &index[..origin.len()]);
            match (inward, element) {
                (true, element) => {
                    let value = element.map_or(0, |element| numbers.load(element));
                    self.state.locals.borrow_mut()[local][number] = value;
                }
                (false, Some(element)) => {
                    // Threads of the block take the elements in turn.
                    self.state.thread.set(number % self.call.threads);
                    self.own(argument, element);
                    self.state.thread.set(0);
                    numbers.store(element, self.state.locals.borrow()[local][number]);
                }
                (false, None) => {}
            }
        }
    }
}

/// Numbers that are all 0, or an error where there is no room.
fn room<T>(elements: usize, what: &str, zero: impl Fn() -> T) -> Result<Vec<T>, BackendError> {
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(elements).map_err(|_| {
        BackendError::device(NoRoom { bytes: elements.saturating_mul(size_of::<T>()), what: what.to_owned() })
    })?;
    numbers.resize_with(elements, zero);
    Ok(numbers)
}

/// Memory that the host does not have.
#[derive(Debug, thiserror::Error)]
#[error("no room for {bytes} bytes of {what}; take smaller arrays, or end other programs")]
struct NoRoom {
    bytes: usize,
    what: String,
}

impl MapBackend for Cpu {
    type Numbers = HostNumbers;

    fn zero_numbers(&self, kind: Kind, elements: usize, _: Storage, what: &str) -> Result<HostNumbers, BackendError> {
        Ok(match kind.bytes() {
            8 => HostNumbers::Long(room(elements, what, || AtomicU64::new(0))?),
            _ => HostNumbers::Short(room(elements, what, || AtomicU32::new(0))?),
        })
    }

    fn write_numbers(&self, numbers: &mut HostNumbers, bytes: &[u8]) -> Result<(), BackendError> {
        match numbers {
            HostNumbers::Short(numbers) => {
                for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks().0) {
                    *number.get_mut() = u32::from_ne_bytes(*bytes);
                }
            }
            HostNumbers::Long(numbers) => {
                for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks().0) {
                    *number.get_mut() = u64::from_ne_bytes(*bytes);
                }
            }
        }
        Ok(())
    }

    fn read_numbers(&self, numbers: &HostNumbers, bytes: &mut [u8]) -> Result<(), BackendError> {
        match numbers {
            HostNumbers::Short(numbers) => {
                for (number, bytes) in numbers.iter().zip(bytes.as_chunks_mut().0) {
                    *bytes = number.load(Relaxed).to_ne_bytes();
                }
            }
            HostNumbers::Long(numbers) => {
                for (number, bytes) in numbers.iter().zip(bytes.as_chunks_mut().0) {
                    *bytes = number.load(Relaxed).to_ne_bytes();
                }
            }
        }
        Ok(())
    }

    fn run_map(&self, call: &CheckedCall<'_, Self>) -> Result<Outcome, MapError> {
        let program = call.program;
        let unset = |count: usize| (0..count).map(|_| AtomicU32::new(u32::MAX)).collect::<Vec<_>>();
        let arguments = call.map.roles.len();
        let mut owners: Vec<Option<Vec<AtomicU32>>> = Vec::new();
        for argument in 0..arguments {
            let elements = call.stored_extents(argument).iter().product();
            owners.push(match call.bounds.tracked.contains(&argument) {
                true => Some(room(elements, "owners of elements", || AtomicU32::new(0))?),
                false => None,
            });
        }
        let arrays = call
            .values
            .iter()
            .map(|value| if let Value::Array { numbers, .. } = value { Some(*numbers) } else { None });
        let scalars = call.values.iter().map(|value| if let Value::Number(bits) = value { *bits } else { 0 });
        let host = HostCall {
            program,
            roles: call.map.roles,
            range: &call.range,
            threads: program.block.map_or(1, |block| block.iter().product()),
            arrays: arrays.collect(),
            extents: (0..arguments).map(|argument| call.extents(argument)).collect(),
            pitches: (0..arguments)
                .map(|argument| call.stored_extents(argument).last().copied().unwrap_or(1))
                .collect(),
            scalars: scalars.collect(),
            owners,
            beyond: unset(slots(program, arguments)),
            conflicts: unset(arguments),
        };
        let points = |first: u64, end: u64| {
            let state = BlockState::new(&host);
            for number in first..end {
                state.begin(number, &call.range);
                (call.map.run)(&host, &state);
            }
            (state.sums.into_inner(), state.folds.into_inner())
        };
        let (mut sums, mut folds) = match call.options.schedule {
            Schedule::Sequential => points(0, call.points),
            _ => {
                // Some chunks for each thread; none is so small that it does not pay.
                const LEAST: u64 = 256;
                let least = if program.is_of_blocks() { 1 } else { LEAST };
                let chunk = (call.points / (8 * self.threads() as u64)).max(least);
                let chunks = call.points.div_ceil(chunk);
                let of_chunks: Vec<_> = self.install(|| {
                    let one = |k: u64| points(k * chunk, ((k + 1) * chunk).min(call.points));
                    (0..chunks).into_par_iter().map(one).collect()
                });
                let mut all = of_chunks.into_iter();
                let (mut sums, mut folds) = all.next().unwrap_or_default();
                for (more, others) in all {
                    sums.iter_mut().zip(&more).for_each(|(sum, more)| sum.merge(more));
                    for ((role, fold), other) in call.map.roles.iter().zip(&mut folds).zip(others) {
                        if let Role::Fold(kind, of) = role {
                            *fold = folded(*kind, *of, *fold, other);
                        }
                    }
                }
                (sums, folds)
            }
        };
        let results = call.map.roles.iter().zip(sums.drain(..)).zip(folds.drain(..));
        let results = results.filter_map(|((role, sum), fold)| match role {
            Role::ExactSum => Some(sum.round().to_bits()),
            Role::Fold(kind, _) => Some(unfolded(*kind, fold)),
            _ => None,
        });
        let first = |noted: Vec<AtomicU32>| -> Vec<Option<u32>> {
            noted.into_iter().map(|first| Some(first.into_inner()).filter(|&first| first != u32::MAX)).collect()
        };
        Ok(Outcome { results: results.collect(), beyond: first(host.beyond), conflicts: first(host.conflicts) })
    }
}
