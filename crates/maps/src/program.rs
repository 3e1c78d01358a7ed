//! What a body does at a point, as a list of statements: what its recording gives, and what is checked, bounded and written as OpenCL C. Operations are
//! those of kernel bodies (`lanefield::body::program`).

pub use lanefield::body::program::{Id, Operation};

use super::role::{Beyond, Fold, Kind, MOST_DIMENSIONS, Place};

/// The most dimensions of a block of threads.
pub const BLOCK_DIMENSIONS: usize = 3;

/// One thing that a body does.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum Statement {
    /// Computes a number.
    Compute { id: Id, kind: Kind, operation: Operation },
    /// Reads a number.
    Load { id: Id, kind: Kind, place: Place, index: Vec<Id>, beyond: Beyond<Id> },
    /// Writes a number.
    Store { place: Place, index: Vec<Id>, value: Id, beyond: Beyond<Id> },
    /// Changes a number that others may change at the same time.
    FoldAt { kind: Kind, place: Place, fold: Fold, index: Vec<Id>, value: Id },
    /// Adds to an exact sum.
    Sum { argument: usize, term: Id },
    /// Takes an integer into a number of all points.
    Fold { argument: usize, value: Id },
    /// Sets registers to 0.
    Clear { register: usize },
    /// Copies between global and local memory: from or to `origin` on there, and asynchronously if the device is asked to copy by itself.
    Copy { local: usize, argument: usize, origin: Vec<Id>, inward: bool, asynchronous: bool },
    /// What each thread of thread-block map `map` does.
    Threads { map: usize, extents: Vec<usize>, statements: Vec<Statement> },
    /// Does something where a choice is yes.
    When { choice: Id, statements: Vec<Statement> },
    /// Takes turns. `turn` stands for the number of the turn.
    Loop { turn: Id, turns: Id, carried: Vec<Carry>, statements: Vec<Statement> },
}

/// A number that a loop carries.
pub type Carry = lanefield::body::program::Carry<Kind>;

/// Memory that a body asks for.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct Room {
    pub kind: Kind,
    pub extents: Vec<usize>,
}

impl Room {
    /// Its elements.
    pub fn elements(&self) -> usize {
        self.extents.iter().fold(1, |product, &extent| product.saturating_mul(extent))
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.elements().saturating_mul(self.kind.bytes())
    }
}

/// What a body does at a point.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// Everything, in order.
    pub statements: Vec<Statement>,
    /// Local memory.
    pub locals: Vec<Room>,
    /// Registers of a thread.
    pub registers: Vec<Room>,
    /// Dimensions of the index space, where the body asks for its index.
    pub rank: Option<usize>,
    /// Thread-block maps.
    pub maps: usize,
    /// Threads of a block in each dimension, the last of which is the fastest: the most that a thread-block map has. None where there is none.
    pub block: Option<[usize; BLOCK_DIMENSIONS]>,
    /// An argument that is read at an index at which another point may write it.
    pub racy: Option<usize>,
}

impl Program {
    /// Whether a point is a block of threads.
    pub fn is_of_blocks(&self) -> bool {
        self.block.is_some()
    }

    /// Bytes of local memory that a block takes.
    pub fn local_bytes(&self) -> usize {
        self.locals.iter().map(Room::bytes).fold(0, usize::saturating_add)
    }

    /// Whether it divides, or takes roots, in f32.
    pub fn divides(&self) -> bool {
        fn any(statements: &[Statement]) -> bool {
            statements.iter().any(|statement| match statement {
                Statement::Compute { kind: Kind::F32, operation, .. } => operation.divides(),
                Statement::Threads { statements, .. }
                | Statement::When { statements, .. }
                | Statement::Loop { statements, .. } => any(statements),
                _ => false,
            })
        }
        any(&self.statements)
    }
}

/// The index of a point from its number, the last dimension fastest.
pub fn index_of(mut number: u64, range: &[usize]) -> [i32; MOST_DIMENSIONS] {
    let mut index = [0; MOST_DIMENSIONS];
    for (component, &extent) in index.iter_mut().zip(range).rev() {
        let extent = extent.max(1) as u64;
        *component = (number % extent) as i32;
        number /= extent;
    }
    index
}

/// Where it is noted that an index of a place lay beyond the ends: arguments, local memory, registers, one after the other.
pub fn slot(program: &Program, arguments: usize, place: Place) -> usize {
    match place {
        Place::Argument(argument) => argument,
        Place::Local(local) => arguments + local,
        Place::Register(register) => arguments + program.locals.len() + register,
    }
}

/// How many of these there are.
pub fn slots(program: &Program, arguments: usize) -> usize {
    arguments + program.locals.len() + program.registers.len()
}
