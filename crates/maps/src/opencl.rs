//! The OpenCL C kernel of a recorded map: the schedule is the code around the body. Operations on real numbers are written as in kernel functions
//! (`lanefield::body::text`). Counterparts: `cl/map.clh`, `plain_point.rs`.

use std::fmt::Write as _;

use lanefield::body::BodyError;
use lanefield::body::dialect::Dialect;
use lanefield::body::program::{Kind, Program};
use lanefield::body::text::Writes as _;
use lanefield_reference::extreme::Extreme;

use super::arguments::{Names, kernel_name, rooms, type_of_map};
use super::kernel::MapKernel;
use super::program::{BLOCK_DIMENSIONS, PointLanguage};
use super::role::{Fold, MapRole, of_fold};
use super::write::{Writer, atomic, delinearised};

/// How a kernel goes through the points.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Walk {
    /// Each work-item computes a tile with these extents in the device's dimensions, or each work-group computes one block.
    Each([usize; BLOCK_DIMENSIONS]),
    /// Work-items, or work-groups, loop over points, or blocks, in strides of the whole launch.
    Strides,
    /// Work-groups fetch their next points, or blocks, from a queue.
    Queue,
}

/// The form in which a kernel is written.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct Form {
    pub walk: Walk,
    pub rank: usize,
    /// Whether indices are compared with the extents of their arrays.
    pub guarded: bool,
    /// Arrays for which the kernel notes which point writes an element.
    pub tracked: Vec<usize>,
}

/// The OpenCL C text of a map.
///
/// # Errors
/// [`BodyError::Unsupported`]
pub fn kernel_text(map: &MapKernel, program: &Program<PointLanguage>, form: &Form) -> Result<String, BodyError> {
    let (named, needs) = (Names(map), &program.needs);
    let of_blocks = needs.is_of_blocks();
    let sums: Vec<usize> = named.numbers(|role| *role == MapRole::ExactSum);
    let fold = |(argument, role): (usize, &MapRole)| match role {
        MapRole::Fold(kind, fold) => {
            Some((argument, *fold, type_of_map(Dialect::OpenCl, of_fold(*kind)), identity(*kind, *fold)))
        }
        _ => None,
    };
    let folds: Vec<_> = map.roles.iter().enumerate().filter_map(fold).collect();
    let frame = frame(form, of_blocks);
    let mut writer = Writer::new(Dialect::OpenCl, named, program, 1 + frame.depth);
    (writer.guarded, writer.tracked) = (form.guarded, &form.tracked);
    writer.statements(&program.statements)?;
    // A group that goes on with the next block may be ahead of some of its threads.
    if !matches!(form.walk, Walk::Each(_)) || writer.waits_for_copies() {
        writer.synchronise();
    }
    let body = std::mem::take(&mut writer.text().text);
    let mut text = format!("// {}: {}. Written from its body.\n\n", map.name, map.computes);
    text += if sums.is_empty() { "#include \"map.clh\"\n" } else { "#include \"map_sums.clh\"\n" };
    let _ =
        write!(text, "\n__kernel void {}({}) {{\n", kernel_name(map.name), arguments(named, form, &sums).join(", "));
    text += &rooms(Dialect::OpenCl, needs);
    for number in 0..sums.len() {
        let _ = writeln!(text, "    running sum{number} = running_empty();\n    int any{number} = 0;");
        let _ = writeln!(text, "    __local uint terms{number};");
    }
    for (argument, _, ty, identity) in &folds {
        let _ = writeln!(text, "    {ty} fold{argument} = {identity};\n    __local {ty} of_group{argument};");
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
    for (argument, fold, _, identity) in folds {
        let (name, atomic) = (named.argument(argument), atomic(Dialect::OpenCl, fold));
        let _ = write!(
            text,
            "    if (map_thread() == 0)\n        of_group{argument} = {identity};\n    barrier(CLK_LOCAL_MEM_FENCE);\n    \
             {atomic}(&of_group{argument}, fold{argument});\n    barrier(CLK_LOCAL_MEM_FENCE);\n    \
             if (map_thread() == 0)\n        {atomic}({name}, of_group{argument});\n"
        );
    }
    text += "}\n";
    Ok(text)
}

/// The arguments of a kernel: those of the body, the extents of the index space, then what the schedule, sums and guards need.
fn arguments(named: Names<'_>, form: &Form, sums: &[usize]) -> Vec<String> {
    let of_body = named.declared(Dialect::OpenCl, form.rank, &[]);
    let mut declared: Vec<String> = of_body.into_iter().map(|(declared, _)| declared).collect();
    declared.push("ulong points".to_owned());
    if form.walk == Walk::Queue {
        declared.extend(["volatile __global uint* restrict queue".to_owned(), "uint chunk".to_owned()]);
    }
    if !sums.is_empty() {
        declared.push("__global f64* partials, __global uint* spills, __local f64* exchange".to_owned());
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

/// The code around a body. It defines `i0` …, and `point`, the number of the point, if that is used.
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
                    2 => (0..rank - 2).map(|d| format!("(ulong)range{d}")).collect::<Vec<_>>().join(" * "),
                    _ => format!("(ulong)range{}", rank - 1 - device),
                };
                let tiles = tile[BLOCK_DIMENSIONS - 1 - device];
                let group = match tiles {
                    1 => format!("get_group_id({device})"),
                    _ => {
                        frame.open(
                            &format!("for (ulong tile_{name} = 0; tile_{name} < {tiles}; ++tile_{name}) {{"),
                            "}",
                        );
                        format!("(get_group_id({device}) * {tiles} + tile_{name})")
                    }
                };
                match of_blocks {
                    true => frame.line(&format!("const ulong {name} = {group};")),
                    false => {
                        let line = format!(
                            "const ulong {name} = {group} * get_local_size({device}) + get_local_id({device});"
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
                delinearised("ulong", "z", rank - 2).iter().for_each(|line| frame.line(line));
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
            delinearised("ulong", "number", rank).iter().for_each(|line| frame.line(line));
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
            delinearised("ulong", "number", rank).iter().for_each(|line| frame.line(line));
        }
    }
    if noted {
        frame.line("const uint point = (uint)min(number, (ulong)0xfffffffeu);");
    }
    frame
}

fn identity(kind: Kind, fold: Fold) -> &'static str {
    match (fold, kind) {
        (Fold::Sum, _) | (Fold::Extreme(Extreme::Greatest), Kind::U32) => "0",
        (Fold::Extreme(Extreme::Least), Kind::F32) => "map_ordered(INFINITY, 0)",
        (Fold::Extreme(Extreme::Greatest), Kind::F32) => "map_ordered(-INFINITY, 0)",
        (Fold::Extreme(Extreme::Least), Kind::U32) => "UINT_MAX",
        (Fold::Extreme(Extreme::Least), _) => "INT_MAX",
        (Fold::Extreme(Extreme::Greatest), _) => "INT_MIN",
    }
}
