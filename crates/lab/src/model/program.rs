//! The loads and stores of a work-item in order, with their addresses, which follow from the specification of a kernel. It is the counterpart of
//! `cl/access.clh` and of the kernels in `cl/`, without their arithmetic.

use lanefield::backend::opencl::PartLayout;
use lanefield::kernel::{Access, FieldContents, FieldRole, FieldSites, KernelArgument, TableRows};
use lanefield_reference::field::FieldShape;
use lanefield_reference::layout::{LEGS, Leg, Stencil};
use lanefield_reference::real::Precision;
use serde::{Serialize, Serializer};

use super::coalescing::WaveAccess;
use super::launched::{Item, Launched};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Array {
    Neighbours,
    /// The table of the lanes to which steps out of a virtual node lead.
    LaneSteps,
    /// A table of the lattice with an entry for each outer site.
    OfOsites(&'static str),
    /// The same, with an entry for each lane.
    OfLanes(&'static str),
    Field(&'static str),
}

impl Array {
    pub fn name(self) -> &'static str {
        match self {
            Self::Neighbours => "neighbours",
            Self::LaneSteps => "lane steps",
            Self::OfOsites(name) | Self::OfLanes(name) | Self::Field(name) => name,
        }
    }
}

impl Serialize for Array {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    pub array: Array,
    pub leg: Option<Leg>,
    /// The index among the components that the work-item computes, or among those that a site of the field has by itself, such as the blocks of a
    /// clover term.
    pub part: usize,
    pub word: usize,
    pub bytes: usize,
    pub store: bool,
    pub past_l1: bool,
}

/// Words that a vector operation processes together, and so does a norm (`cl/words.clh`).
const WORDS_AT_ONCE: usize = 2;
const WORDS_AHEAD: usize = 12;

/// The distance between arrays, as a power of two: far apart.
const APART: u32 = 44;

fn word_bytes(field: &FieldShape) -> usize {
    field.precision.bits() / 4
}

/// Stored words per component; in half precision, including its scale.
fn stored(field: &FieldShape) -> usize {
    field.object.part_words() + usize::from(field.precision == Precision::Half)
}

impl Launched {
    /// The field that a stencil reads at neighbours, else the first field that is read.
    pub fn source(&self) -> Option<&FieldShape> {
        let roles = || self.shape.kernel.fields().filter(|role| role.access != Access::Write);
        let role = roles().find(|role| role.at == FieldSites::Neighbours).or_else(|| roles().next())?;
        self.shape.field(role.name)
    }

    pub(crate) fn source_bytes(&self) -> usize {
        let nsimd = self.shape.lattice().nsimd();
        self.source().map_or(0, |field| field.object.parts() * stored(field) * word_bytes(field) * nsimd)
    }

    fn layout(&self, field: &FieldShape) -> PartLayout {
        let (bits, nsimd) = (field.precision.bits(), field.lattice.nsimd());
        PartLayout { bits, nsimd, words: stored(field), access: self.access }
    }

    /// Loads `count` stored words of a component from `first` on, in as few accesses as the layout allows.
    fn load(&self, like: Instruction, field: &FieldShape, first: usize, count: usize) -> Vec<Instruction> {
        let (layout, end) = (self.layout(field), first + count);
        let together = layout.together();
        let mut loads = Vec::new();
        for block in (first / together * together..end).step_by(together) {
            let whole = block + together <= layout.words;
            let access = |word, n| Instruction { word, bytes: n * word_bytes(field), ..like };
            match whole {
                true => loads.push(access(block, together)),
                false => loads.extend((block.max(first)..end.min(block + together)).map(|word| access(word, 1))),
            }
        }
        loads
    }

    pub fn program(&self) -> Vec<Instruction> {
        match self.stencil {
            Some(_) => self.of_stencil(),
            None => self.of_elements(),
        }
    }

    fn fields(&self) -> Vec<(FieldRole, FieldShape)> {
        self.shape.kernel.fields().filter_map(|role| Some((role, *self.shape.field(role.name)?))).collect()
    }

    /// Word by word for all fields.
    fn of_elements(&self) -> Vec<Instruction> {
        let (fields, shape) = (self.fields(), &self.shape);
        let (words, half) = (shape.target.object.part_words(), shape.precision() == Precision::Half);
        let at_once = match (half, shape.kernel.sums()) {
            (true, _) => words,
            (false, true) => WORDS_AHEAD,
            (false, false) => WORDS_AT_ONCE,
        };
        let mut program = Vec::new();
        for first in (0..words).step_by(at_once) {
            let mut all = |store: bool, not: Access| {
                for (role, field) in fields.iter().filter(|(role, _)| role.access != not) {
                    let count = if half { stored(field) } else { at_once.min(words - first) };
                    program.extend(self.load(Instruction { store, ..plain(role.name) }, field, first, count));
                }
            };
            all(false, Access::Write);
            all(true, Access::Read);
        }
        program
    }

    /// Tables, links and neighbours leg by leg, then what is read at the site itself, and the result.
    fn of_stencil(&self) -> Vec<Instruction> {
        let (fields, shape) = (self.fields(), &self.shape);
        let half = shape.precision() == Precision::Half;
        let table = |array| Instruction { array, ..plain("") };
        let mut program = Vec::new();
        for argument in shape.kernel.arguments {
            if let KernelArgument::Computed(known) = argument {
                let of = if known.rows == TableRows::Lanes { Array::OfLanes } else { Array::OfOsites };
                program.push(table(of(known.name)));
            }
        }
        for leg in shape.legs.legs() {
            let leg_of = |instruction| Instruction { leg: Some(leg), ..instruction };
            program.extend([Array::Neighbours, Array::LaneSteps].map(|array| leg_of(table(array))));
            for (role, field) in &fields {
                let like = leg_of(plain(role.name));
                if role.holds == FieldContents::DoubledLinks {
                    let words = field.object.part_words() / LEGS;
                    let link = Instruction { past_l1: self.links_past_l1, ..like };
                    program.extend(self.load(link, field, leg.point() * words, words));
                    if half {
                        program.extend(self.load(like, field, LEGS * words, 1));
                    }
                } else if role.at == FieldSites::Neighbours {
                    for part in 0..self.at_once {
                        program.extend(self.load(Instruction { part, ..like }, field, 0, stored(field)));
                    }
                }
            }
        }
        for part in 0..self.at_once {
            let here = |role: &&(FieldRole, FieldShape)| {
                role.0.at != FieldSites::Neighbours && role.0.holds != FieldContents::DoubledLinks
            };
            for (role, field) in fields.iter().filter(here).filter(|(role, _)| role.access == Access::Read) {
                match role.holds {
                    FieldContents::CloverBlocks => {
                        // Blocks are read for each spinor, unless the compiler keeps them; if there is only one spinor, they bypass the nearest
                        // cache.
                        let past_l1 = self.links_past_l1 && shape.parts() == 1;
                        for block in 0..field.object.parts() {
                            let like = Instruction { part: block, past_l1, ..plain(role.name) };
                            let words = field.object.part_words();
                            program.extend(self.load(like, field, 0, words));
                            if half {
                                program.extend(self.load(like, field, words, 1));
                            }
                        }
                    }
                    _ => program.extend(self.load(Instruction { part, ..plain(role.name) }, field, 0, stored(field))),
                }
            }
            for (role, field) in fields.iter().filter(here).filter(|(role, _)| role.access != Access::Read) {
                let like = Instruction { part, store: true, ..plain(role.name) };
                program.extend(self.load(like, field, 0, stored(field)));
            }
        }
        program
    }

    pub(crate) fn is_of_links(&self, array: Array) -> bool {
        let is = |role: FieldRole| array == Array::Field(role.name) && role.holds == FieldContents::DoubledLinks;
        self.shape.kernel.fields().any(is)
    }

    pub fn address(&self, instruction: &Instruction, item: &Item) -> u64 {
        let Instruction { array, leg, part, word, .. } = *instruction;
        let shape = &self.shape;
        let nsimd = shape.lattice().nsimd();
        let point = leg.map_or(0, Leg::point);
        let (number, offset) = match array {
            Array::Neighbours => (1, 4 * (item.osite * LEGS + point) as u64),
            Array::LaneSteps => (2, 4 * (point * nsimd + item.lane) as u64),
            Array::OfOsites(name) => (self.table(name), 4 * item.osite as u64),
            Array::OfLanes(name) => (self.table(name), 4 * item.lane as u64),
            Array::Field(name) => {
                let place = shape.fields.iter().position(|field| field.name == name).unwrap_or(0);
                let field = &shape.fields[place].shape;
                let (parts, layout) = (field.object.parts(), self.layout(field));
                // Links are those of the site itself.
                let (osite, lane) = match leg.filter(|_| !self.is_of_links(array)) {
                    Some(leg) => self.neighbour(item, leg),
                    None => (item.osite, item.lane),
                };
                // For fields with their own components per site, these are what an instruction counts.
                let first = if parts == shape.parts() && shape.target.object.with_parts(parts) == Some(field.object) {
                    item.part
                } else {
                    0
                };
                let place_in_field = (osite * parts + first + part) * layout.words * layout.nsimd;
                (3 + place as u64, ((place_in_field + layout.place(word, lane)) * word_bytes(field)) as u64)
            }
        };
        (number << APART) + offset
    }

    /// The access of a wavefront for an instruction.
    pub(crate) fn access_of(&self, instruction: &Instruction, wave: &[Item]) -> WaveAccess {
        let addresses = wave.iter().map(|item| self.address(instruction, item)).collect();
        WaveAccess { bytes: instruction.bytes as u64, addresses }
    }

    fn table(&self, name: &str) -> u64 {
        let arguments = self.shape.kernel.arguments.iter();
        let is = |argument: &KernelArgument| matches!(argument, KernelArgument::Computed(table) if table.name == name);
        (3 + self.shape.fields.len() + arguments.take_while(|argument| !is(argument)).count()) as u64
    }

    /// Whether the neighbour along a leg is in another lane.
    pub(crate) fn leads_elsewhere(&self, item: &Item, leg: Leg) -> bool {
        self.neighbour(item, leg).1 != item.lane
    }

    /// The neighbour's outer site and lane, from the tables.
    fn neighbour(&self, item: &Item, leg: Leg) -> (usize, usize) {
        let Some(stencil) = &self.stencil else { return (item.osite, item.lane) };
        let neighbour = stencil.neighbour(item.osite, leg);
        let step = stencil.lane_steps()[leg.point() * self.shape.lattice().nsimd() + item.lane];
        (neighbour.osite, if neighbour.edge { (step & !Stencil::MARK) as usize } else { item.lane })
    }
}

/// A four-byte load from a field.
fn plain(name: &'static str) -> Instruction {
    Instruction { array: Array::Field(name), leg: None, part: 0, word: 0, bytes: 4, store: false, past_l1: false }
}
