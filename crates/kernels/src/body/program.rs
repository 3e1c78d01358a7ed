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

/// An operation on results, or on words that were loaded.
#[derive(Clone, PartialEq, Debug)]
pub enum Operation {
    /// A constant, real or double.
    Constant(f64),
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
    /// a + b.
    Add(Id, Id),
    /// a − b.
    Sub(Id, Id),
    /// a · b.
    Mul(Id, Id),
    /// a / b.
    Div(Id, Id),
    /// −a.
    Neg(Id),
    /// a · b + c: fma of reals and doubles, madd of complex numbers.
    MulAdd(Id, Id, Id),
    /// s · a, s real and a complex.
    Scaled(Id, Id),
    /// s · a + c, s real, a and c complex.
    ScaledAdd(Id, Id, Id),
    /// re + i·im.
    New(Id, Id),
    /// The real part.
    Re(Id),
    /// The imaginary part.
    Im(Id),
    /// i · a.
    TimesI(Id),
    /// The complex conjugate.
    Conj(Id),
    /// The square root.
    Sqrt(Id),
    /// The magnitude.
    Abs(Id),
    /// The same number as a double.
    Promoted(Id),
    /// a < b.
    Less(Id, Id),
    /// a ≤ b.
    AtMost(Id, Id),
    /// Both.
    And(Id, Id),
    /// At least one.
    Or(Id, Id),
    /// The other.
    Not(Id),
    /// b where a, else c.
    Select(Id, Id, Id),
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

/// One thing that a body does.
#[derive(Clone, PartialEq, Debug)]
pub enum Statement {
    /// An operation, and its result.
    Compute {
        /// The result.
        id: Id,
        /// What it is.
        kind: Kind,
        /// The operation.
        operation: Operation,
    },
    /// Reads the first `words` words of a component.
    Load {
        /// The load.
        id: Id,
        /// Which field.
        argument: usize,
        /// So many words.
        words: usize,
        /// Where.
        place: Where,
    },
    /// Reads one word of a component here.
    LoadWord {
        /// The load, of one word.
        id: Id,
        /// Which field.
        argument: usize,
        /// Which word.
        word: Index,
    },
    /// Reads the doubled link of a leg: nine words.
    Link {
        /// The load.
        id: Id,
        /// Which links.
        argument: usize,
        /// The leg.
        leg: Leg,
    },
    /// Draws four uniform random numbers of the site: words 0 to 3.
    Draw {
        /// The draw.
        id: Id,
        /// The key, the event and the number of the draw.
        numbers: [Id; 5],
    },
    /// Writes all words of a component.
    Write {
        /// Which field.
        argument: usize,
        /// The words.
        words: Vec<Id>,
    },
    /// Writes one word of a component.
    WriteWord {
        /// Which field.
        argument: usize,
        /// Which word.
        word: Index,
        /// The number.
        value: Id,
    },
    /// Adds a double to a sum.
    Sum {
        /// Which argument.
        argument: usize,
        /// Which of its sums.
        part: usize,
        /// The term.
        term: Id,
    },
    /// Takes turns.
    Loop {
        /// Stands for the number of the turn.
        turn: Id,
        /// How many.
        turns: Index,
        /// Each number that is carried: what it is called, what it is, its initial value, and its value at the end of a turn.
        carried: Vec<Carry>,
        /// What a turn does.
        statements: Vec<Statement>,
    },
}

/// A number that a loop carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
            O::Constant(_) | O::Scalar(_) | O::ComplexScalar(_) | O::Coordinate(..) | O::Odd(..) => vec![],
            O::Word(a, _)
            | O::Neg(a)
            | O::Re(a)
            | O::Im(a)
            | O::TimesI(a)
            | O::Conj(a)
            | O::Sqrt(a)
            | O::Abs(a)
            | O::Promoted(a)
            | O::Not(a) => vec![a],
            O::Add(a, b)
            | O::Sub(a, b)
            | O::Mul(a, b)
            | O::Div(a, b)
            | O::Scaled(a, b)
            | O::New(a, b)
            | O::Less(a, b)
            | O::AtMost(a, b)
            | O::And(a, b)
            | O::Or(a, b) => vec![a, b],
            O::MulAdd(a, b, c) | O::ScaledAdd(a, b, c) | O::Select(a, b, c) => vec![a, b, c],
        }
    }

    /// Whether it takes what the site or the call has, and no result.
    pub fn reads(&self) -> bool {
        use Operation as O;
        matches!(self, O::Word(..) | O::Scalar(_) | O::ComplexScalar(_) | O::Coordinate(..) | O::Odd(..))
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

    /// The same on other results.
    fn renamed(&mut self, by: &HashMap<Id, Id>) {
        for id in self.operands_mut() {
            *id = by.get(id).copied().unwrap_or(*id);
        }
    }

    /// Floating-point operations on a lane, as the field counts them: an fma two, a complex product six, `madd` eight; signs, magnitudes and comparisons
    /// none.
    pub fn flops(&self, kind: Kind) -> u64 {
        use Operation as O;
        let complex = kind == Kind::Complex;
        match self {
            O::Add(..) | O::Sub(..) => {
                if complex {
                    2
                } else {
                    1
                }
            }
            O::Mul(..) => {
                if complex {
                    6
                } else {
                    1
                }
            }
            O::MulAdd(..) => {
                if complex {
                    8
                } else {
                    2
                }
            }
            O::Div(..) | O::Sqrt(_) => 1,
            O::Scaled(..) => 2,
            O::ScaledAdd(..) => 4,
            _ => 0,
        }
    }
}

impl Program {
    /// The displacements at which it reads, in the order of first use.
    pub fn displacements(&self) -> Vec<Displacement> {
        fn visit(statements: &[Statement], known: &mut Vec<Displacement>) {
            for statement in statements {
                match statement {
                    Statement::Load { place: Where::Displaced(displacement), .. } if !known.contains(displacement) => {
                        known.push(*displacement);
                    }
                    Statement::Loop { statements, .. } => visit(statements, known),
                    _ => {}
                }
            }
        }
        let mut known = Vec::new();
        visit(&self.statements, &mut known);
        known
    }

    /// How far it reads an argument from a site; none of one that it reads at the site alone.
    pub fn reach(&self, argument: usize) -> Option<Reach> {
        fn reach(statements: &[Statement], of: usize) -> Option<Reach> {
            let of_statement = |statement: &Statement| match statement {
                Statement::Load { argument, place: Where::Displaced(displacement), .. } if *argument == of => {
                    Some(Reach::of(*displacement))
                }
                Statement::Load { argument, place: Where::At(_), .. } if *argument == of => Some(Reach::Nearest),
                Statement::Loop { statements, .. } => reach(statements, of),
                _ => None,
            };
            statements.iter().filter_map(of_statement).max()
        }
        reach(&self.statements, argument)
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
        fn divides(statements: &[Statement]) -> bool {
            statements.iter().any(|statement| match statement {
                Statement::Compute { operation, .. } => matches!(operation, Operation::Div(..) | Operation::Sqrt(_)),
                Statement::Loop { statements, .. } => divides(statements),
                _ => false,
            })
        }
        divides(&self.statements)
    }

    /// Whether it draws random numbers.
    pub fn draws(&self) -> bool {
        fn draws(statements: &[Statement]) -> bool {
            statements.iter().any(|statement| match statement {
                Statement::Draw { .. } => true,
                Statement::Loop { statements, .. } => draws(statements),
                _ => false,
            })
        }
        draws(&self.statements)
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
                    operation.renamed(&self.names);
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
