//! The language of kernel functions on lattice sites: their reads and writes, and what is counted of them.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use lanefield_reference::layout::{Displacement, Leg, Reach};

use super::program::{Accesses, Id, Kind, Language, Operands, Operation, Program, Statement};

/// The language of kernel functions on sites.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SiteLanguage;

impl Language for SiteLanguage {
    type Access = SiteAccess;
    type Scope = Infallible;
    type Turns = Index;
    type Needs = ();

    const TURN: Kind = Kind::U32;
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
    /// A constant.
    Number(usize),
    /// The number of a loop's turn.
    Turn(Id),
    /// The number of words of a component of argument `0`.
    WordsOf(usize),
}

/// The number of a turn is not a result.
impl Operands for Index {
    fn operands_mut(&mut self) -> Vec<&mut Id> {
        Vec::new()
    }
}

/// A read or a write at a site. Fields are identified by the number of their argument.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub enum SiteAccess {
    /// Reads the first `words` words of a component.
    Load { id: Id, argument: usize, words: usize, place: Where },
    /// Reads one word of a component at the site.
    LoadWord { id: Id, argument: usize, word: Index },
    /// Reads the doubled link of a leg: nine words.
    Link { id: Id, argument: usize, leg: Leg },
    /// Draws four uniform random numbers of the site. Words 0 to 3 of the load are the numbers; the operands are the key, the event and the number
    /// of the draw.
    Draw { id: Id, numbers: [Id; 5] },
    /// Writes all words of a component.
    Write { argument: usize, words: Vec<Id> },
    /// Writes one word of a component.
    WriteWord { argument: usize, word: Index, value: Id },
    /// Adds a double to sum number `part` of an argument.
    Sum { argument: usize, part: usize, term: Id },
}

impl Operands for SiteAccess {
    fn operands_mut(&mut self) -> Vec<&mut Id> {
        match self {
            Self::Load { .. } | Self::LoadWord { .. } | Self::Link { .. } => Vec::new(),
            Self::Draw { numbers, .. } => numbers.iter_mut().collect(),
            Self::Write { words, .. } => words.iter_mut().collect(),
            Self::WriteWord { value, .. } => vec![value],
            Self::Sum { term, .. } => vec![term],
        }
    }
}

impl Accesses for SiteAccess {
    fn result(&self) -> Option<Id> {
        match self {
            Self::Load { id, .. } | Self::LoadWord { id, .. } | Self::Link { id, .. } | Self::Draw { id, .. } => {
                Some(*id)
            }
            Self::Write { .. } | Self::WriteWord { .. } | Self::Sum { .. } => None,
        }
    }
}

impl Program<SiteLanguage> {
    /// Whether it writes to an argument, or adds to it; `all`: whether it writes every word.
    pub fn writes(&self, argument: usize, all: bool) -> bool {
        fn write(
            statements: &[Statement<SiteLanguage>],
            within: Option<(Id, Index)>,
            argument: usize,
            all: bool,
        ) -> bool {
            statements.iter().any(|statement| match statement {
                Statement::Access(SiteAccess::Write { argument: of, .. } | SiteAccess::Sum { argument: of, .. }) => {
                    *of == argument
                }
                Statement::Access(SiteAccess::WriteWord { argument: of, word, .. }) => {
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

    /// The displacements of its reads, in the order of first use.
    pub fn displacements(&self) -> Vec<Displacement> {
        let mut known = Vec::new();
        for access in self.accesses() {
            match access {
                SiteAccess::Load { place: Where::Displaced(displacement), .. } if !known.contains(displacement) => {
                    known.push(*displacement);
                }
                _ => {}
            }
        }
        known
    }

    /// How far from a site it reads an argument; `None` if it reads it only at the site.
    pub fn reach(&self, of: usize) -> Option<Reach> {
        let reach = |access: &SiteAccess| match access {
            SiteAccess::Load { argument, place: Where::Displaced(displacement), .. } if *argument == of => {
                Some(Reach::of(*displacement))
            }
            SiteAccess::Load { argument, place: Where::At(_), .. } if *argument == of => Some(Reach::Nearest),
            _ => None,
        };
        self.accesses().filter_map(reach).max()
    }

    /// Floating-point operations of a component; `words`: the number of words of a component, for a kernel function that loops over them.
    pub fn flops(&self, words: usize) -> u64 {
        fn flops(statements: &[Statement<SiteLanguage>], words: usize) -> u64 {
            let of = |statement: &Statement<SiteLanguage>| match statement {
                Statement::Compute { kind, operation, .. } => operation.flops(*kind),
                Statement::Loop { turns, statements, .. } => {
                    let turns = if let Index::Number(turns) = turns { *turns } else { words };
                    turns as u64 * flops(statements, words)
                }
                Statement::Access(_) | Statement::Within { .. } => 0,
            };
            statements.iter().map(of).sum()
        }
        flops(&self.statements, words)
    }

    /// Whether it draws random numbers.
    pub fn draws(&self) -> bool {
        self.accesses().any(|access| matches!(access, SiteAccess::Draw { .. }))
    }

    /// The first argument that is a sum with several terms of a site.
    pub fn several_terms(&self) -> Option<usize> {
        let mut known = HashSet::new();
        let mut sums = self.accesses().filter_map(|access| match access {
            SiteAccess::Sum { argument, part, .. } => Some((*argument, *part)),
            _ => None,
        });
        let is_within = self.sums_in_loops();
        sums.find(|sum| is_within || !known.insert(*sum)).map(|(argument, _)| argument)
    }

    /// Whether it adds to a sum within a loop.
    pub fn sums_in_loops(&self) -> bool {
        let sums = |statements: &[Statement<SiteLanguage>]| {
            statements.iter().filter(|s| matches!(s, Statement::Access(SiteAccess::Sum { .. }))).count()
        };
        self.accesses().filter(|access| matches!(access, SiteAccess::Sum { .. })).count() > sums(&self.statements)
    }
}

/// A word of a load.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// The load.
    pub load: Id,
    /// The number of the word.
    pub number: usize,
    /// Whether the load is a link.
    pub of_link: bool,
    /// Whether the load is this word alone.
    pub is_alone: bool,
}

/// The words of the loads among these statements.
pub fn words_of_loads<'a>(statements: impl IntoIterator<Item = &'a Statement<SiteLanguage>>) -> HashMap<Id, Word> {
    let (mut links, mut alone, mut words) = (HashSet::new(), HashSet::new(), HashMap::new());
    for statement in statements {
        match statement {
            Statement::Access(SiteAccess::Link { id, .. }) => {
                links.insert(*id);
            }
            Statement::Access(SiteAccess::LoadWord { id, .. }) => {
                alone.insert(*id);
            }
            Statement::Compute { id, operation: Operation::Word(load, number), .. } => {
                let (of_link, is_alone) = (links.contains(load), alone.contains(load));
                words.insert(*id, Word { load: *load, number: *number, of_link, is_alone });
            }
            _ => {}
        }
    }
    words
}
