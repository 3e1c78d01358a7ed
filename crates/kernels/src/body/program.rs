//! What a body does at a site, as a list of statements: what its recording gives, and what is counted and written in other languages.

use std::collections::{HashMap, HashSet};

use lanefield_reference::layout::{Direction, Displacement, Leg, Reach};

/// The number of a result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Id(pub u32);

/// What a result is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A complex number of each lane.
    Complex,
    /// A real number of each lane.
    Real,
    /// A double of each lane.
    Double,
    /// Yes or no of each lane.
    Choice,
}

/// An operation on results, or on what a site, a point of a map or a call has. Integers are those of maps alone.
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
    /// The coordinate of the site.
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
    /// What is left of a division of integers.
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
    /// The same number as a double.
    Promoted(Id),
    /// Rounded to f32, to nearest even.
    Rounded(Id),
    /// The integer part of an f32.
    Truncated(Id),
    /// An integer as a double, or its bits as another kind of integer.
    Cast(Id),
    Less(Id, Id),
    AtMost(Id, Id),
    Equals(Id, Id),
    /// Both choices, or the bits that both integers have.
    And(Id, Id),
    Or(Id, Id),
    Xor(Id, Id),
    Not(Id),
    /// b where a, else c.
    Select(Id, Id, Id),
    Least(Id, Id),
    Greatest(Id, Id),
    ShiftedLeft(Id, u32),
    ShiftedRight(Id, u32),
}

/// Where a field is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Where {
    /// At the site.
    Here,
    /// At its neighbour along a leg.
    At(Leg),
    /// At a displacement.
    Displaced(Displacement),
}

/// A count, or the number of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Index {
    /// A number.
    Number(usize),
    /// The number of the turn of a loop.
    Turn(Id),
    /// Words of a component of argument `0`.
    WordsOf(usize),
}

/// One thing that a body does. Fields are told by their argument.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum Statement {
    /// An operation, and its result.
    Compute { id: Id, kind: Kind, operation: Operation },
    /// Reads the first `words` words of a component.
    Load { id: Id, argument: usize, words: usize, place: Where },
    /// Reads one word of a component here.
    LoadWord { id: Id, argument: usize, word: Index },
    /// Reads the doubled link of a leg: nine words.
    Link { id: Id, argument: usize, leg: Leg },
    /// Draws four uniform random numbers of the site, words 0 to 3, from the key, the event and the number of the draw.
    Draw { id: Id, numbers: [Id; 5] },
    /// Writes all words of a component.
    Write { argument: usize, words: Vec<Id> },
    /// Writes one word of a component.
    WriteWord { argument: usize, word: Index, value: Id },
    /// Adds a double to a sum: part `part` of an argument.
    Sum { argument: usize, part: usize, term: Id },
    /// Takes turns. `turn` stands for the number of the turn.
    Loop { turn: Id, turns: Index, carried: Vec<Carry>, statements: Vec<Statement> },
}

/// A number that a loop carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carry<K = Kind> {
    /// What stands for it in a turn, and after the loop.
    pub id: Id,
    /// Its kind.
    pub kind: K,
    /// Its value before the first turn.
    pub initial: Id,
    /// Its value at the end of a turn.
    pub last: Id,
}

/// What a body does at a site.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Program {
    /// Everything, in order.
    pub statements: Vec<Statement>,
}

impl Operation {
    /// The results that it takes, to be changed.
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

    /// Whether it takes what the site or the call has, and no result.
    pub fn reads(&self) -> bool {
        use Operation as O;
        matches!(self, O::Word(..) | O::Scalar(_) | O::ComplexScalar(_) | O::Coordinate(..) | O::Odd(..))
    }

    /// Whether it is a division, or a root.
    pub fn divides(&self) -> bool {
        matches!(self, Self::Div(..) | Self::Sqrt(_))
    }

    /// The results that it takes.
    pub fn operands(&self) -> Vec<Id> {
        self.clone().operands_mut().into_iter().map(|id| *id).collect()
    }

    /// The same on other results: loads, of which words are taken, stay what they are.
    pub fn with_operands(&self, of: impl Fn(Id) -> Id) -> Self {
        let mut other = self.clone();
        if !matches!(self, Self::Word(..)) {
            other.operands_mut().into_iter().for_each(|id| *id = of(*id));
        }
        other
    }

    /// Floating-point operations on a lane, as the field counts them: an fma two, a complex product six, `madd` eight; signs, magnitudes and comparisons
    /// none.
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

/// All statements in order, those of loops after their loop.
fn flat<'a>(statements: &'a [Statement]) -> Vec<&'a Statement> {
    let with_inner = |statement: &'a Statement| match statement {
        Statement::Loop { statements, .. } => [vec![statement], flat(statements)].concat(),
        _ => vec![statement],
    };
    statements.iter().flat_map(with_inner).collect()
}

impl Program {
    /// Whether it writes into an argument, or adds to it; `all`: whether it writes every word.
    pub fn writes(&self, argument: usize, all: bool) -> bool {
        fn write(statements: &[Statement], within: Option<(Id, Index)>, argument: usize, all: bool) -> bool {
            statements.iter().any(|statement| match statement {
                Statement::Write { argument: of, .. } | Statement::Sum { argument: of, .. } => *of == argument,
                Statement::WriteWord { argument: of, word, .. } => {
                    let is_any = matches!(within, Some((turn, Index::WordsOf(_))) if *word == Index::Turn(turn));
                    *of == argument && (is_any || !all)
                }
                Statement::Loop { turns: Index::Number(0), .. } => false,
                Statement::Loop { turn, turns, statements, .. } => {
                    write(statements, Some((*turn, *turns)), argument, all)
                }
                _ => false,
            })
        }
        write(&self.statements, None, argument, all)
    }

    /// The displacements at which it reads, in the order of first use.
    pub fn displacements(&self) -> Vec<Displacement> {
        let mut known = Vec::new();
        for statement in flat(&self.statements) {
            match statement {
                Statement::Load { place: Where::Displaced(displacement), .. } if !known.contains(displacement) => {
                    known.push(*displacement);
                }
                _ => {}
            }
        }
        known
    }

    /// How far it reads an argument from a site; none of one that it reads at the site alone.
    pub fn reach(&self, of: usize) -> Option<Reach> {
        let reach = |statement: &Statement| match statement {
            Statement::Load { argument, place: Where::Displaced(displacement), .. } if *argument == of => {
                Some(Reach::of(*displacement))
            }
            Statement::Load { argument, place: Where::At(_), .. } if *argument == of => Some(Reach::Nearest),
            _ => None,
        };
        flat(&self.statements).into_iter().filter_map(reach).max()
    }

    /// Floating-point operations a component; `words`: those of a component whose words the body goes through.
    pub fn flops(&self, words: usize) -> u64 {
        fn flops(statements: &[Statement], words: usize) -> u64 {
            let of = |statement: &Statement| match statement {
                Statement::Compute { kind, operation, .. } => operation.flops(*kind),
                Statement::Loop { turns, statements, .. } => {
                    let turns = match turns {
                        Index::Number(turns) => *turns,
                        _ => words,
                    };
                    turns as u64 * flops(statements, words)
                }
                _ => 0,
            };
            statements.iter().map(of).sum()
        }
        flops(&self.statements, words)
    }

    /// Whether it divides, or takes square roots.
    pub fn divides(&self) -> bool {
        let divides = |s: &&Statement| matches!(s, Statement::Compute { operation, .. } if operation.divides());
        flat(&self.statements).iter().any(divides)
    }

    /// Whether it draws random numbers.
    pub fn draws(&self) -> bool {
        flat(&self.statements).iter().any(|statement| matches!(statement, Statement::Draw { .. }))
    }

    /// The most terms of a site that it adds to a sum of an argument; two for any number of them.
    pub fn most_terms(&self, of: usize) -> usize {
        let mut terms = [0; 2];
        let within = |statement: &Statement| match statement {
            Statement::Loop { statements, .. } => {
                2 * usize::from(
                    flat(statements)
                        .iter()
                        .any(|inner| matches!(inner, Statement::Sum { argument, .. } if *argument == of)),
                )
            }
            _ => 0,
        };
        for statement in &self.statements {
            match statement {
                Statement::Sum { argument, part, .. } if *argument == of => terms[*part] += 1,
                _ => terms[0] += within(statement),
            }
        }
        terms[0].max(terms[1])
    }

    /// Whether it adds to a sum within a loop.
    pub fn sums_in_loops(&self) -> bool {
        let is_sum = |statement: &&Statement| matches!(statement, Statement::Sum { .. });
        let sums_within = |statement: &Statement| match statement {
            Statement::Loop { statements, .. } => flat(statements).iter().any(is_sum),
            _ => false,
        };
        self.statements.iter().any(sums_within)
    }

    /// The same with sums that begin with their first term: −0 + x is x, and −0 − x is −x, also for zeros.
    pub fn with_first_terms(mut self) -> Self {
        let mut known = Known::default();
        known.simplify(&mut self.statements);
        self
    }

    /// The same without what nothing uses: results whose every use is dropped, and loads of them.
    pub fn without_unused(mut self) -> Self {
        let mut used = HashSet::new();
        prune(&mut self.statements, &mut used);
        self
    }
}

/// Drops, from the end on, what is not in `used`, and puts what the rest uses in.
fn prune(statements: &mut Vec<Statement>, used: &mut HashSet<Id>) {
    let mut kept = Vec::with_capacity(statements.len());
    for mut statement in std::mem::take(statements).into_iter().rev() {
        let wanted = match &mut statement {
            Statement::Compute { id, operation, .. } => {
                let wanted = used.contains(id);
                if wanted {
                    used.extend(operation.operands());
                }
                wanted
            }
            Statement::Load { id, .. } | Statement::LoadWord { id, .. } | Statement::Link { id, .. } => {
                used.contains(id)
            }
            Statement::Draw { id, numbers } => {
                let wanted = used.contains(id);
                if wanted {
                    used.extend(*numbers);
                }
                wanted
            }
            Statement::Write { words, .. } => {
                used.extend(words.iter().copied());
                true
            }
            Statement::WriteWord { value: number, .. } | Statement::Sum { term: number, .. } => {
                used.insert(*number);
                true
            }
            Statement::Loop { carried, statements, .. } => {
                // What a turn hands on may be used by the next one.
                used.extend(carried.iter().flat_map(|carry| [carry.initial, carry.last]));
                prune(statements, used);
                true
            }
        };
        if wanted {
            kept.push(statement);
        }
    }
    kept.reverse();
    *statements = kept;
}

/// What is known of results on the way through a program.
#[derive(Default)]
struct Known {
    /// Constants that are −0.
    zeros: HashSet<Id>,
    /// Results that are others.
    names: HashMap<Id, Id>,
}

impl Known {
    fn simplify(&mut self, statements: &mut [Statement]) {
        let renamed = |names: &HashMap<Id, Id>, id: &mut Id| *id = names.get(id).copied().unwrap_or(*id);
        for statement in statements {
            match statement {
                Statement::Compute { id, operation, .. } => {
                    operation.operands_mut().into_iter().for_each(|operand| renamed(&self.names, operand));
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
                Statement::Draw { numbers, .. } => numbers.iter_mut().for_each(|id| renamed(&self.names, id)),
                Statement::Write { words, .. } => words.iter_mut().for_each(|id| renamed(&self.names, id)),
                Statement::WriteWord { value, .. } => renamed(&self.names, value),
                Statement::Sum { term, .. } => renamed(&self.names, term),
                Statement::Loop { carried, statements, .. } => {
                    carried.iter_mut().for_each(|carry| renamed(&self.names, &mut carry.initial));
                    self.simplify(statements);
                    carried.iter_mut().for_each(|carry| renamed(&self.names, &mut carry.last));
                }
                Statement::Load { .. } | Statement::LoadWord { .. } | Statement::Link { .. } => {}
            }
        }
    }
}
