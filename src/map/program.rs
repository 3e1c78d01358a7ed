//! What a body does at a point, as a list of statements: what its recording gives, and what is checked, bounded and written as OpenCL C. Operations on
//! real numbers and choices are those of kernel bodies (`crate::body::program`).

use super::element::Kind;
use super::point::{Beyond, Fold, MOST_DIMENSIONS, Place};
pub use crate::body::program::{Id, Operation};

/// The most dimensions of a block of threads.
pub const BLOCK_DIMENSIONS: usize = 3;

/// An operation on integers.
#[derive(Clone, PartialEq, Debug)]
pub enum IntegerOperation {
    /// A constant.
    Constant(i64),
    /// a + b.
    Add(Id, Id),
    /// a − b.
    Sub(Id, Id),
    /// a · b.
    Mul(Id, Id),
    /// a / b.
    Div(Id, Id),
    /// a % b.
    Rem(Id, Id),
    /// a < b.
    Less(Id, Id),
    /// a ≤ b.
    AtMost(Id, Id),
    /// a = b.
    Equals(Id, Id),
    /// b where a, else c.
    Select(Id, Id, Id),
    /// The lesser one.
    Least(Id, Id),
    /// The greater one.
    Greatest(Id, Id),
    /// Bits of both.
    And(Id, Id),
    /// Bits of one of them.
    Or(Id, Id),
    /// Bits of just one.
    Xor(Id, Id),
    /// Shifted to the left.
    ShiftedLeft(Id, u32),
    /// Shifted to the right.
    ShiftedRight(Id, u32),
}

/// Where a number comes from.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    /// An operation on real numbers, or on choices.
    Real(Operation),
    /// An operation on integers of this kind.
    Integer(Kind, IntegerOperation),
    /// The index of the point in a dimension.
    Index(usize),
    /// The extent of the index space.
    Range(usize),
    /// The index of the thread in dimension `1` of thread-block map `0`.
    Thread(usize, usize),
    /// The extent of an array.
    Extent(usize, usize),
    /// A number of the call.
    Scalar(usize),
    /// A number of another kind.
    Converted(Kind, Id),
}

/// One thing that a body does.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// Computes a number.
    Compute {
        /// The number.
        id: Id,
        /// What it is.
        kind: Kind,
        /// Where it comes from.
        step: Step,
    },
    /// Reads a number.
    Load {
        /// The number.
        id: Id,
        /// What it is.
        kind: Kind,
        /// Where.
        place: Place,
        /// Its index.
        index: Vec<Id>,
        /// What is read beyond the ends.
        beyond: Beyond<Id>,
    },
    /// Writes a number.
    Store {
        /// Where.
        place: Place,
        /// Its index.
        index: Vec<Id>,
        /// The number.
        value: Id,
        /// What is done beyond the ends.
        beyond: Beyond<Id>,
    },
    /// Changes a number that others may change at the same time.
    FoldAt {
        /// What it is.
        kind: Kind,
        /// Where.
        place: Place,
        /// How.
        fold: Fold,
        /// Its index.
        index: Vec<Id>,
        /// By what.
        value: Id,
    },
    /// Adds to an exact sum.
    Sum {
        /// Which argument.
        argument: usize,
        /// The term.
        term: Id,
    },
    /// Takes an integer into a number of all points.
    Fold {
        /// Which argument.
        argument: usize,
        /// The integer.
        value: Id,
    },
    /// Sets registers to 0.
    Clear {
        /// Which.
        register: usize,
    },
    /// Copies between global and local memory.
    Copy {
        /// The local array.
        local: usize,
        /// The array.
        argument: usize,
        /// The first index there.
        origin: Vec<Id>,
        /// Whether it goes to local memory.
        inward: bool,
        /// Whether the device is asked to copy by itself.
        asynchronous: bool,
    },
    /// A thread-block map.
    Threads {
        /// Its number.
        map: usize,
        /// Its extents.
        extents: Vec<usize>,
        /// What a thread does.
        statements: Vec<Statement>,
    },
    /// Does something where a choice is yes.
    When {
        /// The choice.
        choice: Id,
        /// What is done.
        statements: Vec<Statement>,
    },
    /// Takes turns.
    Loop {
        /// The number of the turn.
        turn: Id,
        /// How many.
        turns: Id,
        /// What is handed from turn to turn.
        carried: Vec<Carry>,
        /// What a turn does.
        statements: Vec<Statement>,
    },
}

/// A number that a loop carries.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Carry {
    /// What stands for it in a turn, and after the loop.
    pub id: Id,
    /// What it is.
    pub kind: Kind,
    /// Its value before the first turn.
    pub initial: Id,
    /// Its value at the end of a turn.
    pub last: Id,
}

/// Memory that a body asks for.
#[derive(Clone, PartialEq, Debug)]
pub struct Room {
    /// What it holds.
    pub kind: Kind,
    /// Its extents.
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
                Statement::Compute { kind: Kind::F32, step: Step::Real(operation), .. } => {
                    matches!(operation, Operation::Div(..) | Operation::Sqrt(_))
                }
                Statement::Threads { statements, .. }
                | Statement::When { statements, .. }
                | Statement::Loop { statements, .. } => any(statements),
                _ => false,
            })
        }
        any(&self.statements)
    }
}

impl Step {
    /// The numbers that it takes.
    pub fn operands(&self) -> Vec<Id> {
        use IntegerOperation as I;
        match self {
            Self::Real(operation) => operation.operands(),
            Self::Integer(_, operation) => match *operation {
                I::Constant(_) => vec![],
                I::ShiftedLeft(a, _) | I::ShiftedRight(a, _) => vec![a],
                I::Add(a, b)
                | I::Sub(a, b)
                | I::Mul(a, b)
                | I::Div(a, b)
                | I::Rem(a, b)
                | I::Less(a, b)
                | I::AtMost(a, b)
                | I::Equals(a, b)
                | I::Least(a, b)
                | I::Greatest(a, b)
                | I::And(a, b)
                | I::Or(a, b)
                | I::Xor(a, b) => vec![a, b],
                I::Select(a, b, c) => vec![a, b, c],
            },
            Self::Converted(_, a) => vec![*a],
            Self::Index(_) | Self::Range(_) | Self::Thread(..) | Self::Extent(..) | Self::Scalar(_) => vec![],
        }
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
