//! Where a launch reads and writes, as far as it is known before the launch. Interval arithmetic gives bounds of indices. The bounds are exact if
//! the indices are sums of multiples of the index of the point, of threads, and of loop counters. An access that is certainly out of range is
//! refused; one that may be is guarded in the kernel. The same holds for two points that write one element.

use std::collections::{BTreeMap, HashMap};

use lanefield::body::program::{Id, Kind, Operation, Program, Statement};

use super::program::{PointAccess, PointLanguage, Scope};
use super::role::{Beyond, MemoryPlace};

/// The sizes and integers of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// Extents of the index space.
    pub range: &'a [usize],
    /// Extents of the arrays, by argument; empty for other arguments.
    pub extents: &'a [Vec<usize>],
    /// Integer arguments of the call.
    pub scalars: &'a [Option<i64>],
}

/// The result of the analysis.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// Whether an index may be out of range.
    pub guarded: bool,
    /// Arrays with an element that two points may write.
    pub tracked: Vec<usize>,
    /// An access that is certainly out of range: its place, the dimension, and the least and the greatest index.
    pub beyond: Option<(MemoryPlace, usize, i64, i64)>,
}

/// Computes what is known of the accesses of a launch.
pub fn bounds(program: &Program<PointLanguage>, given: Given<'_>) -> Bounds {
    let mut finder = Finder {
        program,
        given,
        values: HashMap::new(),
        extents: HashMap::new(),
        active: Vec::new(),
        reached: true,
        found: Bounds::default(),
        writes: BTreeMap::new(),
    };
    for (dimension, &extent) in given.range.iter().enumerate() {
        finder.extents.insert(Runs::Index(dimension), extent as i64);
        finder.active.push(Runs::Index(dimension));
    }
    finder.statements(&program.statements);
    let tracked = finder.writes.iter().filter(|(_, writes)| !finder.is_one_to_one(writes));
    Bounds { tracked: tracked.map(|(argument, _)| *argument).collect(), ..finder.found.clone() }
}

/// What an index may be a multiple of. Each runs from 0 upwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Runs {
    Index(usize),
    Thread(usize, usize),
    Turn(Id),
    /// An element of a copy.
    Copied(usize, usize),
}

/// A constant plus multiples of running indices.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Multiples {
    constant: i64,
    of: BTreeMap<Runs, i64>,
}

impl Multiples {
    fn plus(&self, other: &Self, factor: i64) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (&runs, &multiple) in &other.of {
            let entry = sum.of.entry(runs).or_insert(0);
            *entry = entry.checked_add(multiple.checked_mul(factor)?)?;
        }
        sum.of.retain(|_, multiple| *multiple != 0);
        Some(sum)
    }
}

/// The bounds of a number, and its exact form if that is known.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Value {
    low: i64,
    high: i64,
    exact: Option<Multiples>,
}

impl Value {
    fn constant(constant: i64) -> Self {
        let exact = Some(Multiples { constant, of: BTreeMap::new() });
        Self { low: constant, high: constant, exact }
    }

    fn between(low: i64, high: i64) -> Self {
        Self { low, high, exact: None }
    }

    fn any(kind: Kind) -> Self {
        match kind {
            Kind::U32 => Self::between(0, i64::from(u32::MAX)),
            _ => Self::between(i64::from(i32::MIN), i64::from(i32::MAX)),
        }
    }

    /// A number that is too large wraps around.
    fn within(self, kind: Kind) -> Self {
        let any = Self::any(kind);
        if self.low < any.low || self.high > any.high { any } else { self }
    }

    fn as_constant(&self) -> Option<i64> {
        (self.low == self.high).then_some(self.low)
    }
}

/// A write: its indices, and the loops around it.
struct Written {
    index: Vec<Option<Multiples>>,
    active: Vec<Runs>,
}

struct Finder<'a> {
    program: &'a Program<PointLanguage>,
    given: Given<'a>,
    values: HashMap<Id, Value>,
    /// The extent of each running index.
    extents: HashMap<Runs, i64>,
    /// The running indices at this point of the program.
    active: Vec<Runs>,
    /// Whether this point of the program is certainly reached.
    reached: bool,
    found: Bounds,
    writes: BTreeMap<usize, Vec<Written>>,
}

impl Finder<'_> {
    fn value(&self, id: Id) -> Value {
        self.values.get(&id).cloned().unwrap_or_else(|| Value::between(i64::from(i32::MIN), i64::from(u32::MAX)))
    }

    /// Tightens the bounds by the exact form, if there is one: a running index that occurs twice in a number was bounded twice.
    fn tight(&self, value: Value) -> Value {
        let Some(exact) = &value.exact else { return value };
        let (mut low, mut high) = (exact.constant, exact.constant);
        for (runs, &multiple) in &exact.of {
            let last = (self.extents.get(runs).copied().unwrap_or(1) - 1).max(0);
            let most = multiple.saturating_mul(last);
            low = low.saturating_add(most.min(0));
            high = high.saturating_add(most.max(0));
        }
        Value { low, high, ..value }
    }

    fn runs(&self, runs: Runs, extent: i64) -> Value {
        let exact = Some(Multiples { constant: 0, of: BTreeMap::from([(runs, 1)]) });
        Value { low: 0, high: (extent - 1).max(0), exact }
    }

    fn statements(&mut self, statements: &[Statement<PointLanguage>]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement<PointLanguage>) {
        match statement {
            Statement::Compute { id, kind, operation } => {
                let value = self.tight(self.computed(*kind, operation)).within(*kind);
                self.values.insert(*id, value);
            }
            Statement::Access(access) => self.accessed(access),
            Statement::Within { scope: Scope::Threads { map, extents }, statements } => {
                let before = self.active.len();
                for (dimension, &extent) in extents.iter().enumerate() {
                    let runs = Runs::Thread(*map, dimension);
                    self.extents.insert(runs, extent as i64);
                    self.active.push(runs);
                }
                self.statements(statements);
                self.active.truncate(before);
            }
            Statement::Within { scope: Scope::When(_), statements } => {
                let reached = std::mem::replace(&mut self.reached, false);
                self.statements(statements);
                self.reached = reached;
            }
            Statement::Loop { turn, turns, carried, statements } => {
                let turns = self.value(*turns);
                let runs = Runs::Turn(*turn);
                self.extents.insert(runs, turns.high.max(0));
                let value = match turns.as_constant() {
                    Some(turns) => self.runs(runs, turns),
                    None => Value::between(0, (turns.high - 1).max(0)),
                };
                self.values.insert(*turn, value);
                for carry in carried {
                    self.values.insert(carry.id, Value::any(carry.kind));
                }
                let certain = turns.as_constant().is_some_and(|turns| turns > 0);
                let reached = self.reached;
                self.reached &= certain;
                if turns.high > 0 {
                    self.statements(statements);
                }
                self.reached = reached;
            }
        }
    }

    fn accessed(&mut self, access: &PointAccess) {
        match access {
            PointAccess::Load { id, kind, place, index, beyond } => {
                self.access(*place, index, *beyond == Beyond::Error);
                self.values.insert(*id, Value::any(*kind));
            }
            PointAccess::Store { place, index, beyond, .. } => {
                self.access(*place, index, *beyond == Beyond::Error);
                if let MemoryPlace::Argument(argument) = place {
                    let index = index.iter().map(|id| self.value(*id).exact).collect();
                    self.written(*argument, index, &[]);
                }
            }
            PointAccess::FoldAt { place, index, .. } => self.access(*place, index, true),
            PointAccess::Copy { local, argument, origin, inward: false, .. } => {
                let extents = self.program.needs.locals[*local].extents.clone();
                let own: Vec<Runs> = (0..extents.len()).map(|dimension| Runs::Copied(*local, dimension)).collect();
                let index = origin.iter().zip(&own).map(|(origin, &own)| {
                    let element = Multiples { constant: 0, of: BTreeMap::from([(own, 1)]) };
                    self.value(*origin).exact?.plus(&element, 1)
                });
                let index = index.collect();
                for (&runs, &extent) in own.iter().zip(&extents) {
                    self.extents.insert(runs, extent as i64);
                }
                self.written(*argument, index, &own);
            }
            PointAccess::Copy { .. }
            | PointAccess::Sum { .. }
            | PointAccess::Fold { .. }
            | PointAccess::Clear { .. } => {}
        }
    }

    /// The extents of the array at a place.
    fn extents_of(&self, place: MemoryPlace) -> Vec<usize> {
        match (place, self.program.needs.room(place)) {
            (_, Some(room)) => room.extents.clone(),
            (MemoryPlace::Argument(argument), _) => self.given.extents.get(argument).cloned().unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn access(&mut self, place: MemoryPlace, index: &[Id], is_error: bool) {
        if !is_error {
            return;
        }
        for (dimension, (id, extent)) in index.iter().zip(self.extents_of(place)).enumerate() {
            let value = self.value(*id);
            if value.low < 0 || value.high >= extent as i64 {
                self.found.guarded = true;
                if self.reached && value.exact.is_some() && self.found.beyond.is_none() {
                    self.found.beyond = Some((place, dimension, value.low, value.high));
                }
            }
        }
    }

    fn written(&mut self, argument: usize, index: Vec<Option<Multiples>>, own: &[Runs]) {
        let active = self.active.iter().chain(own).copied().collect();
        self.writes.entry(argument).or_default().push(Written { index, active });
    }

    /// Whether all points, and all threads, write at different indices, and each uses the same indices in all of these places.
    fn is_one_to_one(&self, writes: &[Written]) -> bool {
        let Some(first) = writes.first() else { return true };
        if writes.iter().any(|other| other.index != first.index || other.active != first.active) {
            return false;
        }
        let mut seen: Vec<Runs> = Vec::new();
        for index in &first.index {
            let Some(index) = index else { return false };
            let mut multiples: Vec<(i64, i64)> = Vec::new();
            for (&runs, &multiple) in &index.of {
                let extent = self.extents.get(&runs).copied().unwrap_or(0);
                if extent > 1 {
                    multiples.push((multiple.abs(), extent));
                }
                if seen.contains(&runs) {
                    return false;
                }
                seen.push(runs);
            }
            multiples.sort_unstable();
            let mut reach = 0i64;
            for (multiple, extent) in multiples {
                if multiple <= reach {
                    return false;
                }
                reach = reach.saturating_add(multiple.saturating_mul(extent - 1));
            }
        }
        first.active.iter().all(|runs| self.extents.get(runs).is_none_or(|&extent| extent <= 1) || seen.contains(runs))
    }

    fn computed(&self, kind: Kind, operation: &Operation) -> Value {
        use Operation as O;
        let value = |id: &Id| self.value(*id).within(kind);
        let sum = |a: Value, b: Value, factor: i64| {
            let (low, high) = if factor > 0 { (b.low, b.high) } else { (-b.high, -b.low) };
            let exact = a.exact.zip(b.exact).and_then(|(a, b)| a.plus(&b, factor));
            Value { low: a.low + low, high: a.high + high, exact }
        };
        let product = |a: Value, b: Value| {
            let corners =
                [(a.low, b.low), (a.low, b.high), (a.high, b.low), (a.high, b.high)].map(|(a, b)| a.saturating_mul(b));
            let exact = match (a.as_constant(), b.as_constant()) {
                (_, Some(b)) => a.exact.and_then(|a| Multiples::default().plus(&a, b)),
                (Some(a), _) => b.exact.and_then(|b| Multiples::default().plus(&b, a)),
                _ => None,
            };
            let (low, high) = (corners.into_iter().min().unwrap_or(0), corners.into_iter().max().unwrap_or(0));
            Value { low, high, exact }
        };
        let extent_of = |extents: &[usize], dimension: usize| extents.get(dimension).map(|&extent| extent as i64);
        match operation {
            O::Index(dimension) => {
                self.runs(Runs::Index(*dimension), extent_of(self.given.range, *dimension).unwrap_or(1))
            }
            O::Range(dimension) => Value::constant(extent_of(self.given.range, *dimension).unwrap_or(1)),
            O::Thread(map, dimension) => {
                let runs = Runs::Thread(*map, *dimension);
                self.runs(runs, self.extents.get(&runs).copied().unwrap_or(1))
            }
            O::Extent(argument, dimension) => {
                let extent = extent_of(&self.extents_of(MemoryPlace::Argument(*argument)), *dimension);
                extent.map_or(Value::any(kind), Value::constant)
            }
            O::Scalar(argument) => {
                let scalar = self.given.scalars.get(*argument).copied().flatten();
                scalar.map_or(Value::any(kind), Value::constant)
            }
            // What follows is of integers.
            _ if !matches!(kind, Kind::I32 | Kind::U32) => Value::any(kind),
            O::Cast(from) => self.value(*from),
            O::Integer(constant) => Value::constant(*constant),
            O::Add(a, b) => sum(value(a), value(b), 1),
            O::Sub(a, b) => sum(value(a), value(b), -1),
            // 33 bits each.
            O::Mul(a, b) => product(value(a), value(b)),
            O::Div(a, b) => match (value(a), value(b).as_constant()) {
                (a, Some(b)) if b > 0 => Value::between(a.low / b, a.high / b),
                _ => Value::any(kind),
            },
            O::Rem(a, b) => match (value(a), value(b).as_constant()) {
                (a, Some(b)) if b > 0 && a.low >= 0 && a.high < b => a,
                (a, Some(b)) if b > 0 && a.low >= 0 => Value::between(0, b - 1),
                (_, Some(b)) if b > 0 => Value::between(1 - b, b - 1),
                _ => Value::any(kind),
            },
            O::Select(_, a, b) => {
                let (a, b) = (value(a), value(b));
                Value::between(a.low.min(b.low), a.high.max(b.high))
            }
            O::Least(a, b) => {
                let (a, b) = (value(a), value(b));
                Value::between(a.low.min(b.low), a.high.min(b.high))
            }
            O::Greatest(a, b) => {
                let (a, b) = (value(a), value(b));
                Value::between(a.low.max(b.low), a.high.max(b.high))
            }
            O::And(a, b) => match (value(a), value(b)) {
                (a, b) if a.low >= 0 && b.low >= 0 => Value::between(0, a.high.min(b.high)),
                _ => Value::any(kind),
            },
            O::ShiftedLeft(a, bits) => match (value(a), bits) {
                (a, bits) if *bits < 31 => product(a, Value::constant(1 << bits)),
                _ => Value::any(kind),
            },
            O::ShiftedRight(a, bits) => match value(a) {
                a if a.low >= 0 => Value::between(a.low >> bits, a.high >> bits),
                _ => Value::any(kind),
            },
            _ => Value::any(kind),
        }
    }
}
