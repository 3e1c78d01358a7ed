//! Names of a map's kernel, arguments and memory in generated sources, and their declarations, in any dialect.

use lanefield::body::dialect::Dialect;
use lanefield::body::program::Kind;
use lanefield_reference::extreme::Extreme;

use super::kernel::MapKernel;
use super::program::{Needs, Room};
use super::role::{Fold, MapRole, Use, identity, of_fold, ordered};

pub fn kernel_name(map: &str) -> String {
    format!("map_{map}")
}

/// The names that a map's kernel uses for its arguments.
#[derive(Clone, Copy)]
pub struct Names<'a>(pub &'a MapKernel);

impl Names<'_> {
    pub fn numbers(&self, wanted: impl Fn(&MapRole) -> bool) -> Vec<usize> {
        (0..self.0.roles.len()).filter(|&number| wanted(&self.0.roles[number])).collect()
    }

    /// The name of an argument. The trailing underscore keeps it apart from the words of the language.
    pub fn argument(&self, number: usize) -> String {
        format!("{}_", self.0.names[number])
    }

    /// The name of the array with the terms of an exact sum.
    pub fn terms(&self, argument: usize) -> String {
        format!("{}_terms", self.0.names[argument])
    }

    pub fn pitch(&self, argument: usize) -> String {
        format!("{}_pitch", self.0.names[argument])
    }

    pub fn extent(&self, argument: usize, dimension: usize) -> String {
        format!("{}_n{dimension}", self.0.names[argument])
    }

    pub fn extents(self, argument: usize) -> Vec<String> {
        let rank = if let MapRole::Array { rank, .. } = self.0.roles[argument] { rank } else { 0 };
        (0..rank).map(|dimension| self.extent(argument, dimension)).collect()
    }

    /// The arguments in the order of the body, each array followed by its extents and its pitch, then the extents of the index space. Each entry is
    /// the declaration and its description in the comment at the head of the source. `lists`: for each exact sum, the number of terms of a point.
    pub fn declared(self, dialect: Dialect, rank: usize, lists: &[usize]) -> Vec<(String, String)> {
        let map = self.0;
        let mut all = Vec::new();
        for (number, role) in map.roles.iter().enumerate() {
            let (name, plain) = (self.argument(number), map.names[number]);
            match role {
                MapRole::Array { kind, used, .. } => {
                    let does = match used {
                        Use::Read => "read",
                        Use::Write => "written",
                        Use::Update => "read and written",
                        Use::Accumulate => "changed by several points",
                    };
                    let about = format!(
                        "{name}: an array of the extents {plain}_n0, ..., {does}; its rows begin {plain}_pitch elements apart"
                    );
                    all.push((pointer(dialect, *used, type_of_map(dialect, *kind), &name), about));
                    let sizes = self.extents(number).into_iter().chain([self.pitch(number)]);
                    all.extend(sizes.map(|size| (format!("int {size}"), String::new())));
                }
                MapRole::Scalar(kind) => {
                    all.push((format!("{} {name}", type_of_map(dialect, *kind)), format!("{name}: a number")));
                }
                MapRole::Fold(kind, fold) => {
                    let ty = type_of_map(dialect, of_fold(*kind));
                    all.push((pointer(dialect, Use::Accumulate, ty, &name), about_fold(&name, *kind, *fold)));
                }
                // OpenCL C has the sums of groups instead.
                MapRole::ExactSum if dialect == Dialect::OpenCl => {}
                MapRole::ExactSum => {
                    let (name, lists) = (self.terms(number), lists[number]);
                    let about = format!(
                        "{name}: {lists} terms of each point, written; the sum {plain} is {}_sum({name}, {lists} * points), on the host",
                        kernel_name(map.name)
                    );
                    all.push((pointer(dialect, Use::Write, "double", &name), about));
                }
            }
        }
        let about = |dimension| if dimension == 0 { "range0, ...: the extents of the index space" } else { "" };
        all.extend((0..rank).map(|dimension| (format!("int range{dimension}"), about(dimension).to_owned())));
        all
    }
}

/// Declares a pointer that does not alias any other argument.
fn pointer(dialect: Dialect, used: Use, ty: &str, name: &str) -> String {
    let qualifier = match (dialect, used) {
        (Dialect::OpenCl, Use::Read) => "__global const ",
        (Dialect::OpenCl, Use::Accumulate) => "volatile __global ",
        (Dialect::OpenCl, Use::Write | Use::Update) => "__global ",
        (_, Use::Read) => "const ",
        _ => "",
    };
    format!("{qualifier}{ty}* {} {name}", dialect.restrict())
}

/// Describes a fold and its value before the launch.
fn about_fold(name: &str, kind: Kind, fold: Fold) -> String {
    let what = match (fold, kind) {
        (Fold::Sum, _) => "the sum, modulo 2^32, is added to it".to_owned(),
        (Fold::Extreme(_), Kind::F32) => {
            "the bits u of a float x, ordered: x has the bits u & 0x7fffffff if u >> 31, else ~u, and is NaN if a number is"
                .to_owned()
        }
        (Fold::Extreme(extreme), _) => format!("the {extreme} number"),
    };
    let first = match (kind, fold, ordered(kind, identity(kind, fold))) {
        (Kind::F32, Fold::Extreme(Extreme::Least), bits) => format!("{bits:#010x}: bits of infinity, ordered"),
        (Kind::F32, _, bits) => format!("{bits:#010x}: bits of -infinity, ordered"),
        (Kind::I32, _, bits) => (bits as i32).to_string(),
        (_, _, 0) => "0".to_owned(),
        (_, _, bits) => format!("{bits:#x}"),
    };
    format!("{name}: one number, {what}; before the launch it is {first}")
}

/// Declares the local memory and registers of a body.
pub fn rooms(dialect: Dialect, needs: &Needs) -> String {
    let shared = if dialect == Dialect::OpenCl { "__local" } else { "__shared__" };
    let of_block = needs.locals.iter().enumerate().map(|(number, room)| (format!("{shared} "), 'l', number, room));
    let of_thread = needs.registers.iter().enumerate().map(|(number, room)| (String::new(), 'r', number, room));
    let line = |(space, letter, number, room): (String, char, usize, &Room)| {
        format!("    {space}{} {letter}{number}[{}];\n", type_of_map(dialect, room.kind), room.elements())
    };
    of_block.chain(of_thread).map(line).collect()
}

/// The type of a number. A choice is an integer.
pub fn type_of_map(dialect: Dialect, kind: Kind) -> &'static str {
    dialect.type_of(if kind == Kind::Choice { Kind::I32 } else { kind })
}
