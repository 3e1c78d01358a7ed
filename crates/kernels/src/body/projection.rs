//! Whether a kernel function uses the spinors of neighbours only as a hop does: projected to two spins. If so, ranks exchange projected spinors,
//! which are half the size, and the bits are the same.

use std::collections::HashMap;

use lanefield_reference::kernels::ghosts::projector;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::Leg;

use super::program::{Id, Operands as _, Operation, Program, Statement};
use super::sites::{SiteAccess, SiteLanguage, Where};

/// Complex words of a spinor, and of its two upper spins.
const WORDS: usize = 12;
const UPPER: usize = 6;

/// A word of a neighbour's spinor times a power of i.
#[derive(Clone, Copy)]
struct Word {
    load: Id,
    leg: Leg,
    word: usize,
    power: u8,
}

/// The state of the search.
struct Search {
    dagger: Dagger,
    loads: HashMap<Id, Leg>,
    words: HashMap<Id, Word>,
}

/// Whether there are spinors of neighbours, and all of them are projected as by the legs of a hop, or of its Hermitian conjugate.
pub fn projects(program: &Program<SiteLanguage>, dagger: Dagger) -> bool {
    let mut search = Search { dagger, loads: HashMap::new(), words: HashMap::new() };
    search.accepts(&program.statements) && !search.loads.is_empty()
}

impl Search {
    fn accepts(&mut self, statements: &[Statement<SiteLanguage>]) -> bool {
        statements.iter().all(|statement| match statement {
            Statement::Access(SiteAccess::Load { id, words, place: Where::At(leg), .. }) => {
                self.loads.insert(*id, *leg);
                *words == WORDS
            }
            Statement::Access(SiteAccess::Load { place: Where::Displaced(_), .. }) => false,
            Statement::Compute { id, operation, .. } => self.computes(*id, operation),
            other => self.accepts(other.inner()) && self.are_others(&other.operands()),
        })
    }

    /// Whether none of these is a word of a neighbour that has not been projected.
    fn are_others(&self, ids: &[Id]) -> bool {
        ids.iter().all(|id| !self.words.contains_key(id))
    }

    fn computes(&mut self, id: Id, operation: &Operation) -> bool {
        let word = |of: &Id| self.words.get(of).copied();
        match operation {
            Operation::Word(load, number) => {
                if let Some(&leg) = self.loads.get(load) {
                    self.words.insert(id, Word { load: *load, leg, word: *number, power: 0 });
                }
                true
            }
            Operation::TimesI(a) | Operation::Neg(a) => {
                if let Some(a) = word(a) {
                    let by = if matches!(operation, Operation::TimesI(_)) { 1 } else { 2 };
                    self.words.insert(id, Word { power: (a.power + by) % 4, ..a });
                }
                true
            }
            Operation::Add(a, b) | Operation::Sub(a, b) => match (word(a), word(b)) {
                (None, None) => true,
                (Some(a), Some(b)) => {
                    let sign = if matches!(operation, Operation::Sub(..)) { 2 } else { 0 };
                    self.is_projected(a, Word { power: (b.power + sign) % 4, ..b })
                        || sign == 0 && self.is_projected(b, a)
                }
                _ => false,
            },
            other => self.are_others(&other.operands()),
        }
    }

    /// Whether upper + lower is one of the rows that the projector of the leg leaves.
    fn is_projected(&self, upper: Word, lower: Word) -> bool {
        let (spin, colour) = (upper.word / 3, upper.word % 3);
        upper.load == lower.load
            && upper.power == 0
            && upper.word < UPPER
            && projector(upper.leg, self.dagger)[spin] == (lower.power, lower.word / 3)
            && lower.word % 3 == colour
    }
}
