//! The program of a kernel function: a list of statements, recorded from it. Programs are used to count operations, and are written in other
//! languages. Operations and loops are common to all of them. Reads and writes belong to a [`Language`]: `sites.rs` for lattice sites,
//! `lanefield_maps` for maps.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::fmt::Debug;

use lanefield_reference::layout::Direction;

/// The number of a result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Id(pub u32);

/// The type of a result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "those without a comment are what they are called")]
pub enum Kind {
    /// A complex number in the working precision.
    Complex,
    /// A real number in the working precision.
    Real,
    F32,
    F64,
    /// A 32-bit signed integer, for example an index of a map.
    I32,
    U32,
    /// The result of a comparison.
    Choice,
}

/// An operation on results, or on data of a site, a point of a map, or a call. Only maps use integers.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "those without a comment do what they are called")]
pub enum Operation {
    /// A constant, real or double.
    Constant(f64),
    /// A constant that is an integer.
    Integer(i64),
    /// Word `1` of load `0`.
    Word(Id, usize),
    /// A scalar of the call: argument `0`.
    Scalar(usize),
    /// A complex scalar of the call: argument `0`.
    ComplexScalar(usize),
    /// A coordinate of the site.
    Coordinate(usize, Direction),
    /// Whether the sum of coordinates in the directions of this set is odd: bit d for direction d.
    Odd(usize, u32),
    /// The index of the point in a dimension.
    Index(usize),
    /// The extent of the index space in a dimension.
    Range(usize),
    /// The index of the thread in dimension `1` of thread-block map `0`.
    Thread(usize, usize),
    /// The extent of array `0` in dimension `1`.
    Extent(usize, usize),
    Add(Id, Id),
    Sub(Id, Id),
    Mul(Id, Id),
    Div(Id, Id),
    /// The remainder of a division of integers.
    Rem(Id, Id),
    Neg(Id),
    /// a · b + c: fma of reals and doubles, madd of complex numbers.
    MulAdd(Id, Id, Id),
    /// s · a, s real and a complex.
    Scaled(Id, Id),
    /// s · a + c, s real, a and c complex.
    ScaledAdd(Id, Id, Id),
    /// re + i·im.
    New(Id, Id),
    Re(Id),
    Im(Id),
    TimesI(Id),
    Conj(Id),
    Sqrt(Id),
    Abs(Id),
    /// Conversion to a double.
    Promoted(Id),
    /// Rounded to f32, to nearest even.
    Rounded(Id),
    /// The integer part of an f32.
    Truncated(Id),
    /// An integer as a double, or its bits as the other kind of integer.
    Cast(Id),
    Less(Id, Id),
    AtMost(Id, Id),
    Equals(Id, Id),
    /// Both choices, or the bitwise and of integers.
    And(Id, Id),
    Or(Id, Id),
    Xor(Id, Id),
    Not(Id),
    /// b if a is true, else c.
    Select(Id, Id, Id),
    Least(Id, Id),
    Greatest(Id, Id),
    ShiftedLeft(Id, u32),
    ShiftedRight(Id, u32),
}

/// A language in which bodies are recorded: what they access, and over what they run.
pub trait Language: Copy + Debug + PartialEq + 'static {
    /// Reads and writes.
    type Access: Accesses;
    /// Blocks that statements may be in, in addition to loops.
    type Scope: Operands + PartialEq;
    /// The number of turns of a loop.
    type Turns: Operands + PartialEq;
    /// What a program contains in addition to its statements.
    type Needs: Clone + PartialEq + Debug + Default;

    /// The kind of the turn's number.
    const TURN: Kind;
}

/// Something with operands.
pub trait Operands: Clone + Debug {
    /// Its operands, for renaming.
    fn operands_mut(&mut self) -> Vec<&mut Id>;

    /// Its operands.
    fn operands(&self) -> Vec<Id> {
        self.clone().operands_mut().into_iter().map(|id| *id).collect()
    }
}

impl Operands for Id {
    fn operands_mut(&mut self) -> Vec<&mut Id> {
        vec![self]
    }
}

impl Operands for Infallible {
    fn operands_mut(&mut self) -> Vec<&mut Id> {
        match *self {}
    }
}

/// A read or a write.
pub trait Accesses: Operands + PartialEq {
    /// Its result.
    fn result(&self) -> Option<Id>;

    /// Whether it does anything besides returning its result.
    fn has_effect(&self) -> bool {
        self.result().is_none()
    }
}

/// A step of a program.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum Statement<L: Language> {
    /// An operation, and its result.
    Compute { id: Id, kind: Kind, operation: Operation },
    /// A read or a write.
    Access(L::Access),
    /// Statements in a block.
    Within { scope: L::Scope, statements: Vec<Self> },
    /// A loop. `turn` is the name of the turn's number.
    Loop { turn: Id, turns: L::Turns, carried: Vec<Carry>, statements: Vec<Self> },
}

/// A number that a loop carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carry {
    /// Its name in a turn, and after the loop.
    pub id: Id,
    /// Its kind.
    pub kind: Kind,
    /// Its value before the first turn.
    pub initial: Id,
    /// Its value at the end of a turn.
    pub last: Id,
}

/// The program of a body.
#[derive(Clone, PartialEq, Debug)]
pub struct Program<L: Language> {
    /// Everything, in order.
    pub statements: Vec<Statement<L>>,
    /// What the language notes in addition to the statements.
    pub needs: L::Needs,
}

impl Operands for Operation {
    fn operands_mut(&mut self) -> Vec<&mut Id> {
        use Operation as O;
        match self {
            O::Constant(_) | O::Integer(_) | O::Scalar(_) | O::ComplexScalar(_) | O::Coordinate(..) | O::Odd(..) => {
                vec![]
            }
            O::Index(_) | O::Range(_) | O::Thread(..) | O::Extent(..) => vec![],
            O::Neg(a) | O::Not(a) | O::Re(a) | O::Im(a) | O::TimesI(a) | O::Conj(a) | O::Sqrt(a) | O::Abs(a) => vec![a],
            O::Promoted(a) | O::Rounded(a) | O::Truncated(a) | O::Cast(a) => vec![a],
            O::Word(a, _) | O::ShiftedLeft(a, _) | O::ShiftedRight(a, _) => vec![a],
            O::Add(a, b) | O::Sub(a, b) | O::Mul(a, b) | O::Div(a, b) | O::Rem(a, b) => vec![a, b],
            O::Scaled(a, b) | O::New(a, b) | O::Least(a, b) | O::Greatest(a, b) => vec![a, b],
            O::Less(a, b) | O::AtMost(a, b) | O::Equals(a, b) => vec![a, b],
            O::And(a, b) | O::Or(a, b) | O::Xor(a, b) => vec![a, b],
            O::MulAdd(a, b, c) | O::ScaledAdd(a, b, c) | O::Select(a, b, c) => vec![a, b, c],
        }
    }
}

impl Operation {
    /// Whether it reads data of the site or the call, and no result.
    pub fn reads(&self) -> bool {
        use Operation as O;
        matches!(self, O::Word(..) | O::Scalar(_) | O::ComplexScalar(_) | O::Coordinate(..) | O::Odd(..))
    }

    /// The same operation on other results. The load of a word does not change.
    pub fn with_operands(&self, of: impl Fn(Id) -> Id) -> Self {
        let mut other = self.clone();
        if !matches!(self, Self::Word(..)) {
            other.operands_mut().into_iter().for_each(|id| *id = of(*id));
        }
        other
    }

    /// Floating-point operations for a lane, by the convention of the field: an fma counts 2, a complex product 6, `madd` 8; signs, magnitudes and
    /// comparisons count 0.
    pub fn flops(&self, kind: Kind) -> u64 {
        use Operation as O;
        let of = |real, complex| if kind == Kind::Complex { complex } else { real };
        match self {
            O::Add(..) | O::Sub(..) => of(1, 2),
            O::Mul(..) => of(1, 6),
            O::MulAdd(..) => of(2, 8),
            O::Div(..) | O::Sqrt(_) => 1,
            O::Scaled(..) => 2,
            O::ScaledAdd(..) => 4,
            _ => 0,
        }
    }
}

impl<L: Language> Statement<L> {
    /// Its result.
    pub fn result(&self) -> Option<Id> {
        match self {
            Self::Compute { id, .. } => Some(*id),
            Self::Access(access) => access.result(),
            Self::Within { .. } | Self::Loop { .. } => None,
        }
    }

    /// The statements in it.
    pub fn inner(&self) -> &[Self] {
        match self {
            Self::Within { statements, .. } | Self::Loop { statements, .. } => statements,
            Self::Compute { .. } | Self::Access(_) => &[],
        }
    }

    fn has_effect(&self) -> bool {
        match self {
            Self::Compute { .. } => false,
            Self::Access(access) => access.has_effect(),
            Self::Within { .. } | Self::Loop { .. } => true,
        }
    }
}

/// Its own operands, without those of the statements in it.
impl<L: Language> Operands for Statement<L> {
    fn operands_mut(&mut self) -> Vec<&mut Id> {
        match self {
            Self::Compute { operation, .. } => operation.operands_mut(),
            Self::Access(access) => access.operands_mut(),
            Self::Within { scope, .. } => scope.operands_mut(),
            Self::Loop { turns, carried, .. } => {
                let carried = carried.iter_mut().flat_map(|carry| [&mut carry.initial, &mut carry.last]);
                turns.operands_mut().into_iter().chain(carried).collect()
            }
        }
    }
}

/// All statements in order. The statements in a loop follow the loop.
pub fn flat<L: Language>(statements: &[Statement<L>]) -> Vec<&Statement<L>> {
    statements.iter().flat_map(|statement| [vec![statement], flat(statement.inner())].concat()).collect()
}

impl<L: Language> Program<L> {
    /// All statements in order. The statements in a loop follow the loop.
    pub fn flat(&self) -> Vec<&Statement<L>> {
        flat(&self.statements)
    }

    /// All reads and writes in order.
    pub fn accesses(&self) -> impl Iterator<Item = &L::Access> {
        self.flat().into_iter().filter_map(|statement| match statement {
            Statement::Access(access) => Some(access),
            _ => None,
        })
    }

    /// Whether it computes in f64 regardless of the precision of fields.
    pub fn uses_doubles(&self) -> bool {
        self.flat().iter().any(|statement| matches!(statement, Statement::Compute { kind: Kind::F64, .. }))
    }

    /// The program with sums that start with their first term: −0 + x is x, and −0 − x is −x, also for zeros.
    pub fn with_first_terms(mut self) -> Self {
        Known::default().simplify(&mut self.statements);
        self
    }

    /// The program without results that are not used, and without loads of them.
    pub fn without_unused(mut self) -> Self {
        prune(&mut self.statements, &mut HashSet::new());
        self
    }
}

/// Removes statements from the end whose results are not in `used`, and adds the operands of the others to `used`.
fn prune<L: Language>(statements: &mut Vec<Statement<L>>, used: &mut HashSet<Id>) {
    let mut kept = Vec::with_capacity(statements.len());
    for mut statement in std::mem::take(statements).into_iter().rev() {
        if statement.has_effect() || statement.result().is_some_and(|id| used.contains(&id)) {
            // What a turn hands on may be used by the next one.
            used.extend(statement.operands());
            if let Statement::Within { statements, .. } | Statement::Loop { statements, .. } = &mut statement {
                prune(statements, used);
            }
            kept.push(statement);
        }
    }
    kept.reverse();
    *statements = kept;
}

/// Known properties of results.
#[derive(Default)]
struct Known {
    /// Constants that are −0.
    zeros: HashSet<Id>,
    /// Results that are equal to others.
    names: HashMap<Id, Id>,
}

impl Known {
    fn simplify<L: Language>(&mut self, statements: &mut [Statement<L>]) {
        for statement in statements {
            // What a turn hands on is computed within it.
            if let Statement::Within { statements, .. } | Statement::Loop { statements, .. } = statement {
                self.simplify(statements);
            }
            for operand in statement.operands_mut() {
                *operand = self.names.get(operand).copied().unwrap_or(*operand);
            }
            let Statement::Compute { id, operation, .. } = statement else { continue };
            match *operation {
                Operation::Constant(value) if value == 0.0 && value.is_sign_negative() => {
                    self.zeros.insert(*id);
                }
                Operation::New(re, im) if self.zeros.contains(&re) && self.zeros.contains(&im) => {
                    self.zeros.insert(*id);
                }
                Operation::Add(zero, x) | Operation::Add(x, zero) if self.zeros.contains(&zero) => {
                    self.names.insert(*id, x);
                }
                Operation::Sub(zero, x) if self.zeros.contains(&zero) => *operation = Operation::Neg(x),
                _ => {}
            }
        }
    }
}
