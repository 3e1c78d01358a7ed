//! A point on the CPU: runs a body on plain numbers, and the threads of a block one after the other. Arrays are atomic integers with relaxed order:
//! if a body lets two points write one element, that is an error and not undefined behaviour.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use lanefield::body::program::{Kind, Program};
use lanefield_reference::body::number::Carried;
use lanefield_reference::exact::ExactSum;

use super::number::{Plain, PlainChoice};
use super::point::{Copied, Element, Local, Point, Register};
use super::program::{BLOCK_DIMENSIONS, PointLanguage, index_of, slot};
use super::role::{Beyond, Fold, MOST_DIMENSIONS, MapRole, MemoryPlace, folded, identity};

/// The numbers of an array on the CPU.
#[derive(Debug)]
pub enum HostNumbers {
    /// 32-bit numbers.
    Short(Vec<AtomicU32>),
    /// 64-bit numbers.
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
            Self::Short(numbers) => numbers.get(element).map_or((), |number| number.store(bits as u32, Relaxed)),
            Self::Long(numbers) => numbers.get(element).map_or((), |number| number.store(bits, Relaxed)),
        }
    }

    /// Changes a 32-bit number atomically.
    fn change(&self, element: usize, by: impl Fn(u32) -> u32) {
        if let Self::Short(numbers) = self
            && let Some(number) = numbers.get(element)
        {
            // It never refuses.
            let _ = number.fetch_update(Relaxed, Relaxed, |before| Some(by(before)));
        }
    }
}

/// Data that all points of a call share.
#[derive(Debug)]
pub struct HostCall<'a> {
    pub(super) program: &'a Program<PointLanguage>,
    pub(super) roles: &'static [MapRole],
    pub(super) range: &'a [usize],
    pub(super) threads: usize,
    pub(super) arrays: Vec<Option<&'a HostNumbers>>,
    pub(super) extents: Vec<&'a [usize]>,
    /// The pitch of each array.
    pub(super) pitches: Vec<usize>,
    pub(super) scalars: Vec<u64>,
    /// For arrays whose writers are noted: the writer of each element, counted from 1.
    pub(super) owners: Vec<Option<Vec<AtomicU32>>>,
    pub(super) beyond: Vec<AtomicU32>,
    pub(super) conflicts: Vec<AtomicU32>,
}

/// The state of a point, or of a block, while its body runs.
#[derive(Debug)]
pub struct BlockState {
    index: Cell<[i32; MOST_DIMENSIONS]>,
    number: Cell<u64>,
    thread: Cell<usize>,
    /// The number of local arrays and registers that the body has declared so far.
    locals_taken: Cell<usize>,
    registers_taken: Cell<usize>,
    locals: RefCell<Vec<Vec<u64>>>,
    registers: RefCell<Vec<Vec<u64>>>,
    pub(super) sums: RefCell<Vec<ExactSum>>,
    pub(super) folds: RefCell<Vec<u32>>,
}

impl BlockState {
    pub(super) fn new(call: &HostCall<'_>) -> Self {
        let folds = call.roles.iter().map(|role| match role {
            MapRole::Fold(kind, fold) => identity(*kind, *fold),
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
            locals: RefCell::new(rooms(&call.program.needs.locals, 1)),
            registers: RefCell::new(rooms(&call.program.needs.registers, call.threads)),
            sums: RefCell::new(call.roles.iter().map(|_| ExactSum::new()).collect()),
            folds: RefCell::new(folds.collect()),
        }
    }

    pub(super) fn begin(&self, number: u64, range: &[usize]) {
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

    /// The element at an index, if it is in range, in an array with this pitch.
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

    /// As [`element`], without padding between rows.
    #[inline(always)]
    fn element_of_room(extents: &[usize], index: &[u64]) -> Option<usize> {
        Self::element(extents, extents.last().copied().unwrap_or(1), index)
    }

    /// The element of an array at an index.
    #[inline(always)]
    fn element_of(&self, argument: usize, index: &[u64]) -> Option<usize> {
        Self::element(self.call.extents[argument], self.call.pitches[argument], index)
    }

    /// The element at an index of a place. Registers are those of this thread.
    #[inline(always)]
    fn element_in(&self, place: MemoryPlace, index: &[u64]) -> Option<usize> {
        match place {
            MemoryPlace::Argument(argument) => self.element_of(argument, index),
            MemoryPlace::Local(local) => Self::element_of_room(&self.call.program.needs.locals[local].extents, index),
            MemoryPlace::Register(register) => {
                let extents = &self.call.program.needs.registers[register].extents;
                let own = self.state.thread.get() * extents.iter().product::<usize>();
                Some(own + Self::element_of_room(extents, index)?)
            }
        }
    }

    fn note_beyond(&self, place: MemoryPlace) {
        let point = self.state.number.get().min(u64::from(u32::MAX - 1)) as u32;
        let slot = slot(&self.call.program.needs, self.call.roles.len(), place);
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
        let block = self.call.program.needs.block.unwrap_or([1; BLOCK_DIMENSIONS]);
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
    fn load(self, _: Kind, place: MemoryPlace, index: &[u64], beyond: Beyond<u64>) -> u64 {
        match (self.element_in(place, index), place) {
            (Some(element), MemoryPlace::Argument(argument)) => {
                self.call.arrays[argument].map_or(0, |numbers| numbers.load(element))
            }
            (Some(element), MemoryPlace::Local(local)) => self.state.locals.borrow()[local][element],
            (Some(element), MemoryPlace::Register(register)) => self.state.registers.borrow()[register][element],
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
    fn store(self, place: MemoryPlace, index: &[u64], value: u64, beyond: Beyond<u64>) {
        match (self.element_in(place, index), place) {
            (Some(element), MemoryPlace::Argument(argument)) => {
                self.own(argument, element);
                if let Some(numbers) = self.call.arrays[argument] {
                    numbers.store(element, value);
                }
            }
            (Some(element), MemoryPlace::Local(local)) => self.state.locals.borrow_mut()[local][element] = value,
            (Some(element), MemoryPlace::Register(register)) => {
                self.state.registers.borrow_mut()[register][element] = value;
            }
            (None, _) if beyond == Beyond::Error => self.note_beyond(place),
            (None, _) => {}
        }
    }
    fn fold_at(self, kind: Kind, place: MemoryPlace, fold: Fold, index: &[u64], value: u64) {
        match (self.element_in(place, index), place) {
            (Some(element), MemoryPlace::Argument(argument)) => {
                if let Some(numbers) = self.call.arrays[argument] {
                    numbers.change(element, |before| folded(kind, fold, before, value as u32));
                }
            }
            (Some(element), MemoryPlace::Local(local)) => {
                let number = &mut self.state.locals.borrow_mut()[local][element];
                *number = u64::from(folded(kind, fold, *number as u32, value as u32));
            }
            (Some(_), MemoryPlace::Register(_)) => {}
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
        if let MapRole::Fold(kind, fold) = self.call.roles[argument] {
            let number = &mut self.state.folds.borrow_mut()[argument];
            *number = folded(kind, fold, *number, value as u32);
        }
    }
    fn copy(self, copy: Copied<'_, u64>) {
        let Copied { local, argument, origin, inward, .. } = copy;
        let room = &self.call.program.needs.locals[local];
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
