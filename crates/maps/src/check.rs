//! Checks of a recorded body: it must not do anything that depends on which thread comes first. Nothing is run.

use std::collections::{HashMap, HashSet};

use lanefield::body::BodyError;
use lanefield::body::program::{Id, Operands as _, Operation, Program, Statement};

use super::program::{PointAccess, PointLanguage, Scope};
use super::role::{MapRole, MemoryPlace, Use};

/// Refuses a body whose result could differ between runs or devices. Notes which array is read where another point may write it.
pub fn check(name: &'static str, roles: &[MapRole], program: &mut Program<PointLanguage>) -> Result<(), BodyError> {
    let mut checker = Checker {
        roles,
        of_blocks: program.needs.is_of_blocks(),
        known: HashSet::new(),
        forms: HashMap::new(),
        named: HashMap::new(),
        in_threads: false,
        filled: HashSet::new(),
        local: LocalUse::default(),
        loads: Vec::new(),
        stores: HashSet::new(),
        outputs: HashSet::new(),
    };
    let refused = |(does, expected)| BodyError::Unsupported { kernel: name, does, expected };
    if !program.needs.locals.is_empty() && !program.needs.is_of_blocks() {
        return Err(refused(("declares local memory without a thread-block map", "use it within `threads`")));
    }
    checker.statements(&program.statements).map_err(refused)?;
    let is_output = |role: &MapRole| match role {
        MapRole::Array { used, .. } => *used != Use::Read,
        MapRole::ExactSum | MapRole::Fold(..) => true,
        MapRole::Scalar(_) => false,
    };
    if (0..roles.len()).any(|argument| is_output(&roles[argument]) && !checker.outputs.contains(&argument)) {
        let expected = "write each array that is not only read, add to each sum, or leave the argument out";
        return Err(refused(("never writes one of its outputs", expected)));
    }
    let written: HashSet<usize> = checker.stores.iter().map(|(argument, _)| *argument).collect();
    let racy = |(argument, form): &&(usize, Vec<usize>)| {
        written.contains(argument) && !checker.stores.contains(&(*argument, form.clone()))
    };
    program.needs.racy = checker.loads.iter().find(racy).map(|(argument, _)| *argument);
    Ok(())
}

type Refusal = (&'static str, &'static str);

/// How a thread-block map uses local memory, by index.
#[derive(Default)]
struct LocalUse {
    read: Vec<(usize, Vec<usize>)>,
    written: HashSet<(usize, Vec<usize>)>,
    changed: HashSet<usize>,
}

struct Checker<'a> {
    roles: &'a [MapRole],
    of_blocks: bool,
    /// Numbers that are in scope.
    known: HashSet<Id>,
    /// The number of each form: two values that are computed in the same way have the same one.
    forms: HashMap<Id, usize>,
    named: HashMap<String, usize>,
    in_threads: bool,
    /// Local arrays that have been written.
    filled: HashSet<usize>,
    local: LocalUse,
    loads: Vec<(usize, Vec<usize>)>,
    stores: HashSet<(usize, Vec<usize>)>,
    /// Arguments that have been written or added to.
    outputs: HashSet<usize>,
}

impl Checker<'_> {
    fn name(&mut self, id: Id, text: String) {
        let next = self.named.len();
        let form = *self.named.entry(text).or_insert(next);
        self.forms.insert(id, form);
        self.known.insert(id);
    }

    fn used(&self, ids: &[Id]) -> Result<Vec<usize>, Refusal> {
        let form = |id: &Id| match self.known.contains(id) {
            true => Ok(self.forms[id]),
            false => Err((
                "uses a number of a map, a loop or a condition after that has ended",
                "keep it in a register or an array, or have the loop carry it",
            )),
        };
        ids.iter().map(form).collect()
    }

    /// Checks nested statements. Values that are computed within them are not in scope afterwards.
    fn within(&mut self, statements: &[Statement<PointLanguage>]) -> Result<(), Refusal> {
        let known = self.known.clone();
        self.statements(statements)?;
        self.known = known;
        Ok(())
    }

    fn statements(&mut self, statements: &[Statement<PointLanguage>]) -> Result<(), Refusal> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    /// Refuses an effect outside of thread-block maps, if a point is a block of threads.
    fn by_threads(&self) -> Result<(), Refusal> {
        match self.of_blocks && !self.in_threads {
            true => Err((
                "writes, sums, or touches local memory or registers outside of its thread-block maps",
                "do it within `threads`, which determines the thread",
            )),
            false => Ok(()),
        }
    }

    fn statement(&mut self, statement: &Statement<PointLanguage>) -> Result<(), Refusal> {
        match statement {
            Statement::Compute { id, kind, operation } => {
                self.used(&operation.operands())?;
                let text = match operation {
                    // Threads of all maps are those of the block.
                    Operation::Thread(_, dimension) => format!("thread {dimension}"),
                    _ => format!("{kind:?} {:?}", operation.with_operands(|id| Id(self.forms[&id] as u32))),
                };
                self.name(*id, text);
            }
            Statement::Access(access) => self.access(access)?,
            Statement::Within { scope: Scope::Threads { .. }, statements } => {
                self.in_threads = true;
                self.local = LocalUse::default();
                self.within(statements)?;
                self.in_threads = false;
                let LocalUse { read, written, changed } = std::mem::take(&mut self.local);
                let arrays: HashSet<usize> = written.iter().map(|(local, _)| *local).collect();
                let meets = |of: &(usize, Vec<usize>)| {
                    changed.contains(&of.0) || (arrays.contains(&of.0) && !written.contains(of))
                };
                if read.iter().any(meets) || written.iter().any(|(local, _)| changed.contains(local)) {
                    return Err((
                        "reads in a thread-block map what another thread of it may write to local memory",
                        "end the map there, and continue in the next one: there is a barrier between them",
                    ));
                }
            }
            Statement::Within { scope: Scope::When(choice), statements } => {
                self.used(&[*choice])?;
                self.within(statements)?;
            }
            Statement::Loop { turn, turns, carried, statements } => {
                self.used(&[*turns])?;
                for carry in carried {
                    self.used(&[carry.initial])?;
                }
                let known = self.known.clone();
                self.name(*turn, format!("turn {}", turn.0));
                for carry in carried {
                    self.name(carry.id, format!("carried {}", carry.id.0));
                }
                self.statements(statements)?;
                for carry in carried {
                    self.used(&[carry.last])?;
                }
                self.known = known;
                self.known.extend(carried.iter().map(|carry| carry.id));
            }
        }
        Ok(())
    }

    fn access(&mut self, access: &PointAccess) -> Result<(), Refusal> {
        if let PointAccess::Store { place: MemoryPlace::Argument(argument), .. }
        | PointAccess::FoldAt { place: MemoryPlace::Argument(argument), .. }
        | PointAccess::Copy { argument, inward: false, .. }
        | PointAccess::Sum { argument, .. }
        | PointAccess::Fold { argument, .. } = access
        {
            self.outputs.insert(*argument);
        }
        self.used(&access.operands())?;
        match access {
            PointAccess::Load { id, place, index, .. } => {
                let form = self.used(index)?;
                match place {
                    MemoryPlace::Argument(argument) => self.loads.push((*argument, form)),
                    MemoryPlace::Local(local) => {
                        self.by_threads()?;
                        if !self.filled.contains(local) {
                            return Err((
                                "reads local memory before anything was written to it",
                                "write it, or copy to it, first",
                            ));
                        }
                        self.local.read.push((*local, form));
                    }
                    MemoryPlace::Register(_) => self.by_threads()?,
                }
                self.name(*id, format!("load {}", id.0));
            }
            PointAccess::Store { place, index, .. } => {
                let form = self.used(index)?;
                self.by_threads()?;
                match place {
                    MemoryPlace::Argument(argument) => {
                        self.stores.insert((*argument, form));
                    }
                    MemoryPlace::Local(local) => {
                        self.filled.insert(*local);
                        self.local.written.insert((*local, form));
                    }
                    MemoryPlace::Register(_) => {}
                }
            }
            PointAccess::FoldAt { place, .. } => {
                self.by_threads()?;
                if let MemoryPlace::Local(local) = place {
                    if !self.filled.contains(local) {
                        return Err(("adds to local memory before anything was written to it", "write 0 to it first"));
                    }
                    self.local.changed.insert(*local);
                }
            }
            PointAccess::Sum { .. } | PointAccess::Fold { .. } => self.by_threads()?,
            PointAccess::Clear { .. } => {}
            PointAccess::Copy { local, argument, inward, .. } => {
                if self.in_threads {
                    return Err((
                        "copies within a thread-block map what all threads copy together",
                        "copy before or after it",
                    ));
                }
                match inward {
                    true => {
                        self.filled.insert(*local);
                        if let Some(MapRole::Array { used: Use::Update, .. }) = self.roles.get(*argument) {
                            self.loads.push((*argument, Vec::new()));
                        }
                    }
                    false if !self.filled.contains(local) => {
                        return Err(("copies local memory before anything was written to it", "write it first"));
                    }
                    false => {}
                }
            }
        }
        Ok(())
    }
}
