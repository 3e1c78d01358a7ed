//! The recorded body of a map as an OpenCL C kernel: what stands around the body is the schedule. Operations on real numbers are written as in kernel
//! bodies (`lanefield::body::text`). Counterparts: `cl/map.clh`, `plain_point.rs`.

use std::fmt::Write as _;

use lanefield::body::BodyError;
use lanefield::body::dialect::Dialect;
use lanefield::body::program::{Id, Kind, Operation, Program, Statement};
use lanefield::body::text::{Text, Writes};

use super::kernel::MapKernel;
use super::program::{BLOCK_DIMENSIONS, PointAccess, PointLanguage, Room, Scope, slot, slots};
use super::role::{Beyond, Fold, Place, Role, Use, of_fold};

/// What stands around a body.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Walk {
    /// A work-item has so many points in each of the device's dimensions, or a group has one block.
    Each([usize; BLOCK_DIMENSIONS]),
    /// Work-items, or groups, go through points, or blocks, in strides of the whole launch.
    Strides,
    /// Groups fetch their next points, or blocks.
    Queue,
}

/// How a kernel is written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct Form {
    pub walk: Walk,
    pub rank: usize,
    /// Whether indices are held against the extents of what they are of.
    pub guarded: bool,
    /// Arrays of which it is noted who writes an element.
    pub tracked: Vec<usize>,
}

/// The name of the kernel of a map.
pub fn kernel_name(map: &str) -> String {
    format!("map_{map}")
}

/// The OpenCL C text of a map.
///
/// # Errors
/// [`BodyError::Unsupported`].
pub fn kernel_text(map: &MapKernel, program: &Program<PointLanguage>, form: &Form) -> Result<String, BodyError> {
    let (named, needs) = (Names(map), &program.needs);
    let of_blocks = needs.is_of_blocks();
    let sums: Vec<usize> = named.numbers(|role| *role == Role::ExactSum);
    let folds: Vec<usize> = named.numbers(|role| matches!(role, Role::Fold(..)));
    let frame = frame(form, of_blocks);
    let mut writer = Writer {
        named,
        program,
        form,
        sums: &sums,
        in_threads: !of_blocks,
        pending: false,
        events: Vec::new(),
        copying: Vec::new(),
        copies: 0,
        text: Text { indent: 1 + frame.depth, text: String::new() },
    };
    writer.statements(&program.statements)?;
    // A group that goes on with the next block may be ahead of some of its threads.
    if !matches!(form.walk, Walk::Each(_)) || !writer.events.is_empty() {
        writer.synchronise();
    }
    let body = std::mem::take(&mut writer.text.text);
    let mut text = format!("// {}: {}. Written from its body.\n\n", map.name, map.computes);
    text += if sums.is_empty() { "#include \"map.clh\"\n" } else { "#include \"map_sums.clh\"\n" };
    let _ =
        write!(text, "\n__kernel void {}({}) {{\n", kernel_name(map.name), arguments(named, form, &sums).join(", "));
    for (number, Room { kind, .. }) in needs.locals.iter().enumerate() {
        let _ = writeln!(text, "    __local {} l{number}[{}];", type_of(*kind), needs.locals[number].elements());
    }
    for (number, room) in needs.registers.iter().enumerate() {
        let _ = writeln!(text, "    {} r{number}[{}];", type_of(room.kind), room.elements());
    }
    for number in 0..sums.len() {
        let _ = writeln!(text, "    running sum{number} = running_empty();\n    int any{number} = 0;");
        let _ = writeln!(text, "    __local uint terms{number};");
    }
    for &argument in &folds {
        if let Role::Fold(kind, fold) = map.roles[argument] {
            let (ty, identity) = (type_of(of_fold(kind)), identity(kind, fold));
            let _ = writeln!(text, "    {ty} fold{argument} = {identity};\n    __local {ty} of_group{argument};");
        }
    }
    text += &frame.begin;
    text += &body;
    text += &frame.end;
    for (number, argument) in sums.iter().enumerate() {
        let _ = writeln!(
            text,
            "    map_finish_sum(&sum{number}, any{number}, exchange, &terms{number}, partials + 3 * (map_group() * {} + {number}), \
             spill_target_of(spills, {number})); // {}",
            sums.len(),
            map.names[*argument]
        );
    }
    for &argument in &folds {
        if let Role::Fold(kind, fold) = map.roles[argument] {
            let (name, atomic, identity) = (named.argument(argument), atomic(fold), identity(kind, fold));
            let _ = write!(
                text,
                "    if (map_thread() == 0)\n        of_group{argument} = {identity};\n    barrier(CLK_LOCAL_MEM_FENCE);\n    \
                 {atomic}(&of_group{argument}, fold{argument});\n    barrier(CLK_LOCAL_MEM_FENCE);\n    \
                 if (map_thread() == 0)\n        {atomic}({name}, of_group{argument});\n"
            );
        }
    }
    text += "}\n";
    Ok(text)
}

/// What a map and its arguments are called in its kernel.
#[derive(Clone, Copy)]
struct Names<'a>(&'a MapKernel);

impl Names<'_> {
    fn numbers(&self, wanted: impl Fn(&Role) -> bool) -> Vec<usize> {
        (0..self.0.roles.len()).filter(|&number| wanted(&self.0.roles[number])).collect()
    }

    /// The name of an argument, which is no word of the language.
    fn argument(&self, number: usize) -> String {
        format!("{}_", self.0.names[number])
    }

    /// What an array's pitch is called.
    fn pitch(&self, argument: usize) -> String {
        format!("{}_pitch", self.0.names[argument])
    }

    /// The name of an array's extent.
    fn extent(&self, argument: usize, dimension: usize) -> String {
        format!("{}_n{dimension}", self.0.names[argument])
    }
}

/// The arguments of a kernel: those of the body in their order, each array followed by its extents and its pitch; then the index space, and what the schedule, sums and
/// guards need.
fn arguments(named: Names<'_>, form: &Form, sums: &[usize]) -> Vec<String> {
    let mut declared = Vec::new();
    for (number, role) in named.0.roles.iter().enumerate() {
        let name = named.argument(number);
        match role {
            Role::Array { kind, rank, used } => {
                let qualifier = match used {
                    Use::Read => "__global const",
                    Use::Accumulate => "volatile __global",
                    Use::Write | Use::Update => "__global",
                };
                declared.push(format!("{qualifier} {}* restrict {name}", type_of(*kind)));
                declared.extend((0..*rank).map(|dimension| format!("int {}", named.extent(number, dimension))));
                declared.push(format!("int {}", named.pitch(number)));
            }
            Role::Scalar(kind) => declared.push(format!("{} {name}", type_of(*kind))),
            Role::Fold(kind, _) => {
                let ty = type_of(of_fold(*kind));
                declared.push(format!("volatile __global {ty}* restrict {name}"));
            }
            Role::ExactSum => {}
        }
    }
    declared.extend((0..form.rank).map(|dimension| format!("int range{dimension}")));
    declared.push("ulong points".to_owned());
    if form.walk == Walk::Queue {
        declared.extend(["volatile __global uint* restrict queue".to_owned(), "uint chunk".to_owned()]);
    }
    if !sums.is_empty() {
        declared.push("__global double* partials, __global uint* spills, __local double* exchange".to_owned());
    }
    if form.guarded || !form.tracked.is_empty() {
        declared.push("volatile __global uint* status".to_owned());
    }
    declared.extend(form.tracked.iter().map(|argument| format!("volatile __global uint* owners{argument}")));
    declared
}

struct Frame {
    begin: String,
    end: String,
    depth: usize,
}

impl Frame {
    fn line(&mut self, text: &str) {
        for line in text.lines() {
            let _ = writeln!(self.begin, "{}{line}", "    ".repeat(1 + self.depth));
        }
    }

    fn open(&mut self, text: &str, end: &str) {
        self.line(text);
        self.end = format!("{}{end}\n{}", "    ".repeat(1 + self.depth), self.end);
        self.depth += 1;
    }
}

/// What stands around a body: it gives `i0` … and, where it is asked for, `point`, the number of the point.
fn frame(form: &Form, of_blocks: bool) -> Frame {
    let mut frame = Frame { begin: String::new(), end: String::new(), depth: 0 };
    let rank = form.rank;
    let noted = form.guarded || !form.tracked.is_empty();
    match form.walk {
        Walk::Each(tile) => {
            const NAMES: [&str; BLOCK_DIMENSIONS] = ["x", "y", "z"];
            let dimensions = rank.min(BLOCK_DIMENSIONS);
            let mut inside = Vec::new();
            for device in (0..dimensions).rev() {
                let name = NAMES[device];
                // The last dimension of the index space is the first of the device.
                let extent = match device {
                    2 => (0..rank - 2).map(|d| format!("(size_t)range{d}")).collect::<Vec<_>>().join(" * "),
                    _ => format!("(size_t)range{}", rank - 1 - device),
                };
                let tiles = tile[BLOCK_DIMENSIONS - 1 - device];
                let group = match tiles {
                    1 => format!("get_group_id({device})"),
                    _ => {
                        frame.open(
                            &format!("for (size_t tile_{name} = 0; tile_{name} < {tiles}; ++tile_{name}) {{"),
                            "}",
                        );
                        format!("(get_group_id({device}) * {tiles} + tile_{name})")
                    }
                };
                match of_blocks {
                    true => frame.line(&format!("const size_t {name} = {group};")),
                    false => {
                        let line = format!(
                            "const size_t {name} = {group} * get_local_size({device}) + get_local_id({device});"
                        );
                        frame.line(&line);
                        inside.push(format!("{name} < {extent}"));
                    }
                }
            }
            if !of_blocks {
                frame.open(&format!("if ({}) {{", inside.join(" && ")), "}");
            }
            frame.line(&format!("const int i{} = (int)x;", rank - 1));
            if rank > 1 {
                frame.line(&format!("const int i{} = (int)y;", rank - 2));
            }
            if rank > 2 {
                delinearised("z", rank - 2).iter().for_each(|line| frame.line(line));
            }
            if noted {
                let number = (1..rank).fold("(ulong)i0".to_owned(), |n, d| format!("({n} * range{d} + i{d})"));
                frame.line(&format!("const ulong number = {number};"));
            }
        }
        Walk::Strides => {
            let (first, stride) = match of_blocks {
                true => ("get_group_id(0)", "get_num_groups(0)"),
                false => ("get_global_id(0)", "get_global_size(0)"),
            };
            frame.open(&format!("for (ulong number = {first}; number < points; number += {stride}) {{"), "}");
            delinearised("number", rank).iter().for_each(|line| frame.line(line));
        }
        Walk::Queue => {
            // A group fetches together: its threads meet at barriers. The last time it gets nothing: PoCL 3.1 runs a loop with barriers wrongly that is
            // left by a `break`.
            frame.line("__local uint fetched;\nulong first;");
            frame.open("do {", "} while (first < points);");
            frame.line("barrier(CLK_LOCAL_MEM_FENCE);");
            frame.line("if (map_thread() == 0)\n    fetched = atomic_add(queue, chunk);");
            frame.line("barrier(CLK_LOCAL_MEM_FENCE);");
            frame.line("first = fetched;");
            let (own, stride) = if of_blocks { ("first", "1") } else { ("first + map_thread()", "map_threads()") };
            let line =
                format!("for (ulong number = {own}; number < min(first + chunk, points); number += {stride}) {{");
            frame.open(&line, "}");
            delinearised("number", rank).iter().for_each(|line| frame.line(line));
        }
    }
    if noted {
        frame.line("const uint point = (uint)min(number, (ulong)0xfffffffeu);");
    }
    frame
}

/// The first `rank` components of an index from their number, the last one fastest.
fn delinearised(number: &str, rank: usize) -> Vec<String> {
    let mut lines = vec![format!("ulong rest = {number};")];
    for dimension in (1..rank).rev() {
        lines.push(format!("const int i{dimension} = (int)(rest % range{dimension});"));
        lines.push(format!("rest /= range{dimension};"));
    }
    lines.push("const int i0 = (int)rest;".to_owned());
    lines
}

fn atomic(fold: Fold) -> &'static str {
    match fold {
        Fold::Sum => "atomic_add",
        Fold::Least => "atomic_min",
        Fold::Greatest => "atomic_max",
    }
}

fn identity(kind: Kind, fold: Fold) -> &'static str {
    match (fold, kind) {
        (Fold::Sum, _) => "0",
        (Fold::Least, Kind::F32) => "map_ordered(INFINITY)",
        (Fold::Greatest, Kind::F32) => "map_ordered(-INFINITY)",
        (Fold::Least, Kind::U32) => "UINT_MAX",
        (Fold::Least, _) => "INT_MAX",
        (Fold::Greatest, Kind::U32) => "0",
        (Fold::Greatest, _) => "INT_MIN",
    }
}

struct Writer<'a> {
    named: Names<'a>,
    program: &'a Program<PointLanguage>,
    form: &'a Form,
    sums: &'a [usize],
    /// Whether each thread does by itself what stands here.
    in_threads: bool,
    /// Whether threads must meet before they touch what others wrote, or write what others read.
    pending: bool,
    /// Copies that are waited for then.
    events: Vec<usize>,
    /// Local arrays that are being filled.
    copying: Vec<usize>,
    /// Copies so far.
    copies: usize,
    text: Text,
}

/// Yes or no is an integer.
fn type_of(kind: Kind) -> &'static str {
    Dialect::OpenCl.type_of(if kind == Kind::Choice { Kind::I32 } else { kind })
}

impl Writes<PointLanguage> for Writer<'_> {
    fn text(&mut self) -> &mut Text {
        &mut self.text
    }
    fn dialect(&self) -> Dialect {
        Dialect::OpenCl
    }
    fn type_of(&self, kind: Kind) -> &'static str {
        type_of(kind)
    }
    fn turns(&self, turns: &Id) -> String {
        self.named(*turns)
    }
    /// Before a branch or a turn all that is pending is done, where a whole group comes to it.
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
                format!("(int)get_local_id({})", self.device_dimension(*map, *dimension))
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
                    if let Place::Argument(argument) = place {
                        self.pending = matches!(self.named.0.roles[*argument], Role::Array { used: Use::Update, .. });
                    }
                }
                let (name, ty) = (self.name(*place), type_of(*kind));
                let (element, inside) = self.element(*place, &Self::names_of(index));
                match beyond {
                    Beyond::Error if !self.form.guarded => {
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
                    if let Place::Argument(argument) = place {
                        writer.own(argument, element);
                    }
                    writer.line(&format!("{name}[{element}] = v{};", value.0));
                });
            }
            PointAccess::FoldAt { place, fold, index, value, .. } => {
                let (name, fold, value) = (self.name(*place), atomic(*fold), *value);
                self.at_element(*place, index, true, |writer, element| {
                    writer.line(&format!("{fold}(&{name}[{element}], v{});", value.0));
                });
            }
            PointAccess::Sum { argument, term } => {
                let number = self.sums.iter().position(|known| known == argument).unwrap_or(0);
                let target = format!("spill_target_of(spills, {number})");
                self.line(&format!("running_add(&sum{number}, v{}, {target});", term.0));
                self.line(&format!("any{number} = 1;"));
            }
            PointAccess::Fold { argument, value } => {
                if let Role::Fold(kind, fold) = self.named.0.roles[*argument] {
                    let combined = match fold {
                        Fold::Sum => format!("add_{}", type_of(kind)),
                        Fold::Least => "min".to_owned(),
                        Fold::Greatest => "max".to_owned(),
                    };
                    match kind {
                        Kind::F32 => {
                            self.line(&format!("if (!isnan(v{}))", value.0));
                            let line =
                                format!("    fold{argument} = {combined}(fold{argument}, map_ordered(v{}));", value.0);
                            self.line(&line);
                        }
                        _ => self.line(&format!("fold{argument} = {combined}(fold{argument}, v{});", value.0)),
                    }
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
                    .map(|(device, extent, _)| format!("get_local_id({device}) < {extent}"))
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

impl Writer<'_> {
    /// Lets all threads of the group meet, if one of them may be behind.
    fn synchronise(&mut self) {
        self.copying.clear();
        for event in std::mem::take(&mut self.events) {
            self.line(&format!("if (inside{event})"));
            self.line(&format!("    wait_group_events(1, &event{event});"));
        }
        if std::mem::take(&mut self.pending) {
            self.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
        }
    }

    fn name(&self, place: Place) -> String {
        match place {
            Place::Argument(argument) => self.named.argument(argument),
            Place::Local(local) => format!("l{local}"),
            Place::Register(register) => format!("r{register}"),
        }
    }

    fn extents(&self, place: Place) -> Vec<String> {
        match place {
            Place::Argument(argument) => match self.named.0.roles[argument] {
                Role::Array { rank, .. } => (0..rank).map(|d| self.named.extent(argument, d)).collect(),
                _ => Vec::new(),
            },
            Place::Local(local) => self.program.needs.locals[local].extents.iter().map(usize::to_string).collect(),
            Place::Register(number) => {
                self.program.needs.registers[number].extents.iter().map(usize::to_string).collect()
            }
        }
    }

    /// The number of an element: rows of an argument are a pitch apart.
    fn number_of(&self, place: Place, index: &[String]) -> String {
        let mut steps = self.extents(place);
        if let (Place::Argument(argument), Some(last)) = (place, steps.last_mut()) {
            *last = self.named.pitch(argument);
        }
        index[1..]
            .iter()
            .zip(&steps[1..])
            .fold(format!("(size_t){}", index[0]), |element, (index, step)| format!("({element} * {step} + {index})"))
    }

    /// The number of an element, and the condition that there is one.
    fn element(&self, place: Place, index: &[String]) -> (String, String) {
        let (element, extents) = (self.number_of(place, index), self.extents(place));
        let inside = index.iter().zip(&extents).map(|(index, extent)| format!("(uint){index} < (uint){extent}"));
        (element, inside.collect::<Vec<_>>().join(" && "))
    }

    fn names_of(index: &[Id]) -> Vec<String> {
        index.iter().map(|id| format!("v{}", id.0)).collect()
    }

    /// Notes that an index lay beyond the ends.
    fn beyond(&self, place: Place) -> String {
        format!("map_beyond(status + {}, point);", slot(&self.program.needs, self.named.0.roles.len(), place))
    }

    /// Notes who writes an element.
    fn own(&mut self, argument: usize, element: &str) {
        if self.form.tracked.contains(&argument) {
            let owner = match self.program.needs.is_of_blocks() {
                true => "point * map_threads() + map_thread() + 1",
                false => "point + 1",
            };
            let first = slots(&self.program.needs, self.named.0.roles.len()) + argument;
            self.line(&format!("map_own(owners{argument}, {element}, max({owner}, 1u), status + {first});"));
        }
    }

    /// Does `work`, a statement, at an element, if there is one.
    fn at_element(&mut self, place: Place, index: &[Id], is_error: bool, work: impl FnOnce(&mut Self, &str)) {
        let (element, inside) = self.element(place, &Self::names_of(index));
        if is_error && !self.form.guarded {
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

    fn copy(&mut self, local: usize, argument: usize, origin: &[Id], inward: bool, asynchronous: bool) {
        let place = Place::Argument(argument);
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
            for d in (0..rank - 1).rev() {
                self.line(&format!("const long g{d} = (long)v{} + rest % {};", origin[d].0, room.extents[d]));
                self.line(&format!("rest /= {};", room.extents[d]));
            }
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
        self.open(&format!("for (uint e = map_thread(); e < {count}; e += map_threads()) {{"));
        self.line("uint rest = e;");
        for d in (0..rank).rev() {
            self.line(&format!("const long g{d} = (long)v{} + rest % {};", origin[d].0, room.extents[d]));
            self.line(&format!("rest /= {};", room.extents[d]));
        }
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

    /// The dimension of the device that counts a dimension of a thread-block map: the last is the first.
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
