//! Writes the body of a map in any dialect: reads and writes of arrays, local memory and registers, threads and their barriers. The code around it
//! is the schedule in OpenCL C (`opencl.rs`), and the loop of C or the grid of CUDA and HIP (`c.rs`). Counterpart: `plain_point.rs`.

use lanefield::body::BodyError;
use lanefield::body::dialect::Dialect;
use lanefield::body::program::{Id, Kind, Operation, Program, Statement};
use lanefield::body::text::{Text, Writes};
use lanefield_reference::extreme::Extreme;

use super::arguments::{Names, type_of_map};
use super::program::{BLOCK_DIMENSIONS, PointAccess, PointLanguage, Scope, slot, slots};
use super::role::{Beyond, Fold, MapRole, MemoryPlace, Use, of_fold};

/// Lines that compute the first `rank` components of an index from the number of the point, the last component fastest.
pub fn delinearised(ty: &str, number: &str, rank: usize) -> Vec<String> {
    let mut lines = vec![format!("{ty} rest = {number};")];
    for dimension in (1..rank).rev() {
        lines.push(format!("const int i{dimension} = (int)(rest % range{dimension});"));
        lines.push(format!("rest /= range{dimension};"));
    }
    lines.push("const int i0 = (int)rest;".to_owned());
    lines
}

/// The name of the atomic operation of a fold.
pub fn atomic(dialect: Dialect, fold: Fold) -> String {
    let operation = fold.operation();
    match dialect {
        Dialect::OpenCl => format!("atomic_{operation}"),
        _ => format!("atomic{}{}", operation[..1].to_uppercase(), &operation[1..]),
    }
}

/// Writes the body of a map in any dialect.
pub struct Writer<'a> {
    dialect: Dialect,
    named: Names<'a>,
    program: &'a Program<PointLanguage>,
    /// Whether indices are compared with the extents of their arrays.
    pub guarded: bool,
    /// Arrays for which the kernel notes which point writes an element.
    pub tracked: &'a [usize],
    sums: Vec<usize>,
    /// For each exact sum, the number of terms that have been written so far.
    pub lists: Vec<usize>,
    /// The indentation of the body.
    outermost: usize,
    /// Whether the current statements are within a thread-block map.
    in_threads: bool,
    /// Whether a barrier is needed before threads read what others wrote, or write what others read.
    pending: bool,
    /// Asynchronous copies that the next barrier waits for.
    events: Vec<usize>,
    /// Local arrays that are being filled.
    copying: Vec<usize>,
    /// The number of copies so far.
    copies: usize,
    text: Text,
}

impl Writes<PointLanguage> for Writer<'_> {
    fn text(&mut self) -> &mut Text {
        &mut self.text
    }
    fn dialect(&self) -> Dialect {
        self.dialect
    }
    fn type_of(&self, kind: Kind) -> &'static str {
        type_of_map(self.dialect, kind)
    }
    fn turns(&self, turns: &Id) -> String {
        self.named(*turns)
    }
    /// Finishes everything that is pending before a branch or a turn, if the whole group reaches it.
    fn before_turn(&mut self) {
        if !self.in_threads {
            self.synchronise();
        }
    }

    fn input(&self, operation: &Operation) -> Option<String> {
        Some(match operation {
            Operation::Index(dimension) => format!("i{dimension}"),
            Operation::Range(dimension) => format!("range{dimension}"),
            Operation::Thread(map, dimension) => {
                format!("(int){}", self.thread(self.device_dimension(*map, *dimension)))
            }
            Operation::Extent(argument, dimension) => self.named.extent(*argument, *dimension),
            Operation::Scalar(argument) => self.named.argument(*argument),
            _ => return None,
        })
    }

    fn access(&mut self, access: &PointAccess) -> Result<(), BodyError> {
        match access {
            PointAccess::Load { id, kind, place, index, beyond } => {
                if !self.in_threads {
                    // What all threads read here, one of them may write in the next thread-block map.
                    self.synchronise();
                    if let MemoryPlace::Argument(argument) = place {
                        self.pending =
                            matches!(self.named.0.roles[*argument], MapRole::Array { used: Use::Update, .. });
                    }
                }
                let (name, ty) = (self.name(*place), self.type_of(*kind));
                let (element, inside) = self.element(*place, &Self::names_of(index));
                match beyond {
                    Beyond::Error if !self.guarded => {
                        self.line(&format!("const {ty} v{} = {name}[{element}];", id.0));
                    }
                    Beyond::Error => {
                        self.line(&format!("{ty} v{} = 0;", id.0));
                        let id = id.0;
                        self.at_element(*place, index, true, |writer, element| {
                            writer.line(&format!("v{id} = {name}[{element}];"));
                        });
                    }
                    Beyond::Instead(value) => {
                        let value = value.map_or("0".to_owned(), |value| format!("v{}", value.0));
                        self.line(&format!("const {ty} v{} = {inside} ? {name}[{element}] : {value};", id.0));
                    }
                }
            }
            PointAccess::Store { place, index, value, beyond } => {
                let (place, value, name) = (*place, *value, self.name(*place));
                self.at_element(place, index, *beyond == Beyond::Error, |writer, element| {
                    if let MemoryPlace::Argument(argument) = place {
                        writer.own(argument, element);
                    }
                    writer.line(&format!("{name}[{element}] = v{};", value.0));
                });
            }
            PointAccess::FoldAt { kind, place, fold, index, value } => {
                let (name, fold, kind, value) = (self.name(*place), *fold, *kind, format!("v{}", value.0));
                self.at_element(*place, index, true, |writer, element| {
                    let line = writer.folded(kind, fold, &format!("{name}[{element}]"), &value);
                    writer.line(&line);
                });
            }
            PointAccess::Sum { argument, term } if self.dialect == Dialect::OpenCl => {
                let number = self.sums.iter().position(|known| known == argument).unwrap_or(0);
                let target = format!("spill_target_of(spills, {number})");
                self.line(&format!("running_add(&sum{number}, v{}, {target});", term.0));
                self.line(&format!("any{number} = 1;"));
            }
            PointAccess::Sum { argument, term } => {
                if self.text.indent > self.outermost {
                    return Err(BodyError::Unsupported {
                        kernel: self.named.0.name,
                        does: "adds to an exact sum within a loop, a condition or a thread-block map",
                        expected: "carry the number and add it after the loop, or emit the map in opencl",
                    });
                }
                let list = self.lists[*argument];
                self.lists[*argument] += 1;
                self.line(&format!("{}[{list} * points + number] = v{};", self.named.terms(*argument), term.0));
            }
            PointAccess::Fold { argument, value } => {
                if let MapRole::Fold(kind, fold) = self.named.0.roles[*argument] {
                    // Where a number is NaN so is the extreme: it lies beyond all others.
                    let number = match (kind, fold) {
                        (Kind::F32, Fold::Extreme(Extreme::Least)) => format!("map_ordered(v{}, 0)", value.0),
                        (Kind::F32, _) => format!("map_ordered(v{}, 0xffffffffu)", value.0),
                        _ => format!("v{}", value.0),
                    };
                    let line = match (self.dialect, fold) {
                        (Dialect::OpenCl, Fold::Sum) => {
                            format!("fold{argument} = add_{}(fold{argument}, {number});", self.type_of(kind))
                        }
                        (Dialect::OpenCl, Fold::Extreme(_)) => {
                            format!("fold{argument} = {}(fold{argument}, {number});", fold.operation())
                        }
                        _ => self.folded(of_fold(kind), fold, &format!("*{}", self.named.argument(*argument)), &number),
                    };
                    self.line(&line);
                }
            }
            PointAccess::Clear { register } => {
                let count = self.program.needs.registers[*register].elements();
                self.line(&format!("for (int k = 0; k < {count}; ++k)"));
                self.line(&format!("    r{register}[k] = 0;"));
            }
            PointAccess::Copy { local, argument, origin, inward, asynchronous } => {
                self.copy(*local, *argument, origin, *inward, *asynchronous);
            }
        }
        Ok(())
    }

    fn within(&mut self, scope: &Scope, statements: &[Statement<PointLanguage>]) -> Result<(), BodyError> {
        match scope {
            Scope::Threads { extents, .. } => {
                self.synchronise();
                let block = self.program.needs.block.unwrap_or([1; BLOCK_DIMENSIONS]);
                let padded = (0..BLOCK_DIMENSIONS).map(|device| {
                    let extent = extents.iter().rev().nth(device).copied().unwrap_or(1);
                    (device, extent, block[BLOCK_DIMENSIONS - 1 - device])
                });
                let fewer: Vec<String> = padded
                    .filter(|(_, extent, block)| extent < block)
                    .map(|(device, extent, _)| format!("{} < {extent}", self.thread(device)))
                    .collect();
                match fewer.is_empty() {
                    true => self.open("{"),
                    false => self.open(&format!("if ({}) {{", fewer.join(" && "))),
                }
                self.in_threads = true;
                self.statements(statements)?;
                self.in_threads = false;
                self.close();
                self.copying.clear();
                self.pending = true;
            }
            Scope::When(choice) => {
                self.before_turn();
                self.open(&format!("if (v{}) {{", choice.0));
                self.statements(statements)?;
                self.before_turn();
                self.close();
            }
        }
        Ok(())
    }
}

impl<'a> Writer<'a> {
    /// A writer for the body of a map. `indent` is the indentation of its lines.
    pub fn new(dialect: Dialect, named: Names<'a>, program: &'a Program<PointLanguage>, indent: usize) -> Self {
        Self {
            dialect,
            named,
            program,
            guarded: false,
            tracked: &[],
            sums: named.numbers(|role| *role == MapRole::ExactSum),
            lists: vec![0; named.0.roles.len()],
            outermost: indent,
            in_threads: !program.needs.is_of_blocks(),
            pending: false,
            events: Vec::new(),
            copying: Vec::new(),
            copies: 0,
            text: Text { indent, text: String::new() },
        }
    }

    /// Whether there are copies that nothing has waited for.
    pub fn waits_for_copies(&self) -> bool {
        !self.events.is_empty()
    }

    /// The number of a thread in a dimension of the device.
    fn thread(&self, dimension: usize) -> String {
        match self.dialect {
            Dialect::OpenCl => format!("get_local_id({dimension})"),
            _ => format!("threadIdx.{}", ["x", "y", "z"][dimension]),
        }
    }

    /// Changes a number atomically.
    fn folded(&self, kind: Kind, fold: Fold, number: &str, value: &str) -> String {
        let suffix = if kind == Kind::U32 { "uint" } else { "int" };
        match self.dialect {
            Dialect::C => format!("{number} = {}_{suffix}({number}, {value});", fold.operation()),
            dialect => format!("{}(&{number}, {value});", atomic(dialect, fold)),
        }
    }

    /// Writes a barrier for the work-group, if one is needed.
    pub fn synchronise(&mut self) {
        self.copying.clear();
        for event in std::mem::take(&mut self.events) {
            self.line(&format!("if (inside{event})"));
            self.line(&format!("    wait_group_events(1, &event{event});"));
        }
        if std::mem::take(&mut self.pending) {
            self.line(match self.dialect {
                Dialect::OpenCl => "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
                _ => "__syncthreads();",
            });
        }
    }

    fn name(&self, place: MemoryPlace) -> String {
        match place {
            MemoryPlace::Argument(argument) => self.named.argument(argument),
            MemoryPlace::Local(local) => format!("l{local}"),
            MemoryPlace::Register(register) => format!("r{register}"),
        }
    }

    fn extents(&self, place: MemoryPlace) -> Vec<String> {
        match (place, self.program.needs.room(place)) {
            (_, Some(room)) => room.extents.iter().map(usize::to_string).collect(),
            (MemoryPlace::Argument(argument), _) => self.named.extents(argument),
            _ => Vec::new(),
        }
    }

    /// The number of an element in memory. Rows of an argument are a pitch apart.
    fn number_of(&self, place: MemoryPlace, index: &[String]) -> String {
        let mut steps = self.extents(place);
        if let (MemoryPlace::Argument(argument), Some(last)) = (place, steps.last_mut()) {
            *last = self.named.pitch(argument);
        }
        // Kernels for devices whose `size_t` is 32 bits long have numbers of 64 bits too.
        let wide = if self.dialect() == Dialect::OpenCl { "ulong" } else { "size_t" };
        index[1..]
            .iter()
            .zip(&steps[1..])
            .fold(format!("({wide}){}", index[0]), |element, (index, step)| format!("({element} * {step} + {index})"))
    }

    /// The number of an element in memory, and the condition that its index is in range.
    fn element(&self, place: MemoryPlace, index: &[String]) -> (String, String) {
        let (element, extents) = (self.number_of(place, index), self.extents(place));
        let uint = self.type_of(Kind::U32);
        let inside = index.iter().zip(&extents).map(|(index, extent)| format!("({uint}){index} < ({uint}){extent}"));
        (element, inside.collect::<Vec<_>>().join(" && "))
    }

    fn names_of(index: &[Id]) -> Vec<String> {
        index.iter().map(|id| format!("v{}", id.0)).collect()
    }

    /// Notes an index out of range.
    fn beyond(&self, place: MemoryPlace) -> String {
        format!("map_beyond(status + {}, point);", slot(&self.program.needs, self.named.0.roles.len(), place))
    }

    /// Notes which point writes an element.
    fn own(&mut self, argument: usize, element: &str) {
        if self.tracked.contains(&argument) {
            let owner = match self.program.needs.is_of_blocks() {
                true => "point * map_threads() + map_thread() + 1",
                false => "point + 1",
            };
            let first = slots(&self.program.needs, self.named.0.roles.len()) + argument;
            self.line(&format!("map_own(owners{argument}, {element}, max({owner}, 1u), status + {first});"));
        }
    }

    /// Writes a statement, `work`, for an element, guarded by the condition that its index is in range.
    fn at_element(&mut self, place: MemoryPlace, index: &[Id], is_error: bool, work: impl FnOnce(&mut Self, &str)) {
        let (element, inside) = self.element(place, &Self::names_of(index));
        if is_error && !self.guarded {
            return work(self, &element);
        }
        self.open(&format!("if ({inside}) {{"));
        work(self, &element);
        self.text.indent -= 1;
        match is_error {
            true => {
                let beyond = self.beyond(place);
                self.open("} else {");
                self.line(&beyond);
                self.close();
            }
            false => self.line("}"),
        }
    }

    /// The index in device memory of element `rest` of a local array of these extents.
    fn global_index(&mut self, origin: &[Id], extents: &[usize]) {
        let long = if self.dialect == Dialect::OpenCl { "long" } else { "long long" };
        for (d, (origin, extent)) in origin.iter().zip(extents).enumerate().rev() {
            self.line(&format!("const {long} g{d} = ({long})v{} + rest % {extent};", origin.0));
            self.line(&format!("rest /= {extent};"));
        }
    }

    fn copy(&mut self, local: usize, argument: usize, origin: &[Id], inward: bool, asynchronous: bool) {
        let asynchronous = asynchronous && self.dialect == Dialect::OpenCl;
        let uint = self.type_of(Kind::U32);
        let place = MemoryPlace::Argument(argument);
        let (name, extents) = (self.name(place), self.extents(place));
        let room = self.program.needs.locals[local].clone();
        let rank = room.extents.len();
        let row = room.extents[rank - 1];
        // What stands before it may still read or write the local array, but not a copy to another one.
        if !inward || self.copying.is_empty() || self.copying.contains(&local) {
            self.synchronise();
        }
        if inward {
            self.copying.push(local);
        }
        let index: Vec<String> = (0..rank).map(|d| format!("g{d}")).collect();
        let element = self.number_of(place, &index);
        if asynchronous {
            let number = self.copies;
            self.copies += 1;
            let inside: Vec<String> = (0..rank)
                .map(|d| format!("v{0} >= 0 && (long)v{0} + {1} <= {2}", origin[d].0, room.extents[d], extents[d]))
                .collect();
            self.line(&format!("event_t event{number} = 0;"));
            self.line(&format!("const int inside{number} = {};", inside.join(" && ")));
            self.open(&format!("if (inside{number}) {{"));
            self.open(&format!("for (int row = 0; row < {}; ++row) {{", room.elements() / row));
            self.line("int rest = row;");
            self.global_index(origin, &room.extents[..rank - 1]);
            self.line(&format!("const long g{} = v{};", rank - 1, origin[rank - 1].0));
            self.line(&format!(
                "event{number} = async_work_group_copy(l{local} + row * {row}, {name} + {element}, {row}, event{number});"
            ));
            self.close();
            self.text.indent -= 1;
            self.open("} else {");
            self.events.push(number);
        }
        let count = room.elements();
        self.open(&format!("for ({uint} e = map_thread(); e < {count}; e += map_threads()) {{"));
        self.line(&format!("{uint} rest = e;"));
        self.global_index(origin, &room.extents);
        let inside: Vec<String> =
            index.iter().zip(&extents).map(|(g, extent)| format!("{g} >= 0 && {g} < {extent}")).collect();
        let inside = inside.join(" && ");
        match inward {
            true => self.line(&format!("l{local}[e] = {inside} ? {name}[{element}] : 0;")),
            false => {
                self.open(&format!("if ({inside}) {{"));
                self.own(argument, &element);
                self.line(&format!("{name}[{element}] = l{local}[e];"));
                self.close();
            }
        }
        self.close();
        if asynchronous {
            self.close();
        }
        self.pending = true;
    }

    /// The device's dimension for a dimension of a thread-block map: the map's last dimension is the device's first.
    fn device_dimension(&self, map: usize, dimension: usize) -> usize {
        let rank = self.program.flat().into_iter().find_map(|statement| match statement {
            Statement::Within { scope: Scope::Threads { map: known, extents }, .. } if *known == map => {
                Some(extents.len())
            }
            _ => None,
        });
        rank.unwrap_or(1).saturating_sub(1 + dimension)
    }
}
