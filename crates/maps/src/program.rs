//! The language of recorded maps: the reads and writes of a body at a point, and the resources that it needs. The rest is shared with kernel
//! functions (`lanefield::body::program`).

use lanefield::body::program::{Accesses, Id, Kind, Language, Operands};

use super::role::{Beyond, Fold, MOST_DIMENSIONS, MemoryPlace, bytes};

/// The most dimensions of a block of threads.
pub const BLOCK_DIMENSIONS: usize = 3;

/// The language of maps.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PointLanguage;

impl Language for PointLanguage {
    type Access = PointAccess;
    type Scope = Scope;
    type Turns = Id;
    type Needs = Needs;

    const TURN: Kind = Kind::I32;
}

/// A read or a write at a point.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum PointAccess {
    /// Reads a number.
    Load { id: Id, kind: Kind, place: MemoryPlace, index: Vec<Id>, beyond: Beyond<Id> },
    /// Writes a number.
    Store { place: MemoryPlace, index: Vec<Id>, value: Id, beyond: Beyond<Id> },
    /// Changes a number atomically.
    FoldAt { kind: Kind, place: MemoryPlace, fold: Fold, index: Vec<Id>, value: Id },
    /// Adds to an exact sum.
    Sum { argument: usize, term: Id },
    /// Includes an integer in a sum or an extreme over all points.
    Fold { argument: usize, value: Id },
    /// Sets registers to 0.
    Clear { register: usize },
    /// Copies between device memory and local memory. `origin` is the first index in the array; `asynchronous` asks for `async_work_group_copy`.
    Copy { local: usize, argument: usize, origin: Vec<Id>, inward: bool, asynchronous: bool },
}

/// Nested statements, in addition to loops.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum Scope {
    /// What each thread of a thread-block map does.
    Threads { map: usize, extents: Vec<usize> },
    /// What is done if a choice is true.
    When(Id),
}

impl Operands for PointAccess {
    fn operands_mut(&mut self) -> Vec<&mut Id> {
        match self {
            Self::Load { index, beyond, .. } => index.iter_mut().chain(beyond.instead()).collect(),
            Self::Store { index, value, beyond, .. } => {
                index.iter_mut().chain([value]).chain(beyond.instead()).collect()
            }
            Self::FoldAt { index, value, .. } => index.iter_mut().chain([value]).collect(),
            Self::Sum { term: value, .. } | Self::Fold { value, .. } => vec![value],
            Self::Clear { .. } => Vec::new(),
            Self::Copy { origin, .. } => origin.iter_mut().collect(),
        }
    }
}

impl Accesses for PointAccess {
    fn result(&self) -> Option<Id> {
        if let Self::Load { id, .. } = self { Some(*id) } else { None }
    }

    /// A read out of range is an error, even if its value is not used.
    fn has_effect(&self) -> bool {
        !matches!(self, Self::Load { beyond: Beyond::Instead(_), .. })
    }
}

impl Operands for Scope {
    fn operands_mut(&mut self) -> Vec<&mut Id> {
        match self {
            Self::Threads { .. } => Vec::new(),
            Self::When(choice) => vec![choice],
        }
    }
}

/// Local memory or registers that a body declares.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct Room {
    pub kind: Kind,
    pub extents: Vec<usize>,
}

impl Room {
    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.extents.iter().fold(1, |product, &extent| product.saturating_mul(extent))
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.elements().saturating_mul(bytes(self.kind))
    }
}

/// The resources that a body needs, and known properties of it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Needs {
    /// Local memory of a block.
    pub locals: Vec<Room>,
    /// Registers of a thread.
    pub registers: Vec<Room>,
    /// The number of dimensions of the index space, if the body uses its index.
    pub rank: Option<usize>,
    /// The number of thread-block maps.
    pub maps: usize,
    /// Threads of a block in each dimension, the last of which is the fastest: the maximum over the thread-block maps, if there are any.
    pub block: Option<[usize; BLOCK_DIMENSIONS]>,
    /// An argument that is read at an index at which another point may write it.
    pub racy: Option<usize>,
}

impl Needs {
    /// Whether a point is a block of threads.
    pub fn is_of_blocks(&self) -> bool {
        self.block.is_some()
    }

    /// The local memory or registers at a place.
    pub fn room(&self, place: MemoryPlace) -> Option<&Room> {
        match place {
            MemoryPlace::Argument(_) => None,
            MemoryPlace::Local(local) => Some(&self.locals[local]),
            MemoryPlace::Register(register) => Some(&self.registers[register]),
        }
    }

    /// Bytes of local memory of a block.
    pub fn local_bytes(&self) -> usize {
        self.locals.iter().map(Room::bytes).fold(0, usize::saturating_add)
    }
}

/// The index of the point with this number. The last dimension changes fastest.
pub fn index_of(mut number: u64, range: &[usize]) -> [i32; MOST_DIMENSIONS] {
    let mut index = [0; MOST_DIMENSIONS];
    for (component, &extent) in index.iter_mut().zip(range).rev() {
        let extent = extent.max(1) as u64;
        *component = (number % extent) as i32;
        number /= extent;
    }
    index
}

/// The number of the status word of a place, which notes an index out of range. The order is: arguments, local memory, registers.
pub fn slot(needs: &Needs, arguments: usize, place: MemoryPlace) -> usize {
    match place {
        MemoryPlace::Argument(argument) => argument,
        MemoryPlace::Local(local) => arguments + local,
        MemoryPlace::Register(register) => arguments + needs.locals.len() + register,
    }
}

/// The number of these status words.
pub fn slots(needs: &Needs, arguments: usize) -> usize {
    arguments + needs.locals.len() + needs.registers.len()
}
