//! The loads and stores of a work-item, in order, and the address of each: the counterpart of `cl/access.clh` and of the kernels of `cl/`, without
//! their arithmetic.

use lanefield::backend::opencl::{AccessWidth, PartLayout, StoredPrecision};
use lanefield_reference::field::{CloverBlocks, ColourVectors, Spinors};
use lanefield_reference::layout::{LEGS, Leg, Stencil};
use serde::Serialize;

use super::kernel::{Item, Launched, StencilKernel};

/// An array of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Array {
    /// The table of neighbours.
    Neighbours,
    /// The table of lanes to which steps out of a virtual node lead.
    LaneSteps,
    /// Doubled links.
    Links,
    /// What the stencil acts on, or x of a vector operation.
    Source,
    /// Blocks of a clover term.
    Blocks,
    /// χ of OEClover, or y of a vector operation.
    Second,
    /// The result.
    Out,
}

impl Array {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Neighbours => "neighbours",
            Self::LaneSteps => "lane steps",
            Self::Links => "links",
            Self::Source => "source",
            Self::Blocks => "blocks",
            Self::Second => "second",
            Self::Out => "out",
        }
    }

    /// Arrays lie far from each other.
    fn base(self) -> u64 {
        (self as u64 + 1) << 44
    }
}

/// A load or a store of a work-item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// From or to which array.
    pub array: Array,
    /// The leg that it serves.
    pub leg: Option<Leg>,
    /// Which of the parts that the work-item takes, or which block of the clover term.
    pub part: usize,
    /// The first word.
    pub word: usize,
    /// Bytes.
    pub bytes: usize,
    /// Whether it stores.
    pub store: bool,
    /// Whether it goes past the nearest cache.
    pub past_l1: bool,
}

/// Words that a vector operation takes at once, and a norm (`cl/blas.cl`, `cl/reduce.cl`).
const WORDS_AT_ONCE: usize = 2;
const WORDS_AHEAD: usize = 12;

impl Launched {
    fn bits(&self) -> usize {
        match self.setup.precision {
            StoredPrecision::Sixteen => 16,
            StoredPrecision::F32 => 32,
            StoredPrecision::F64 => 64,
        }
    }

    /// Bytes of a stored word.
    pub fn word_bytes(&self) -> usize {
        self.bits() / 4
    }

    /// Words of a part of the fields.
    pub fn part_words(&self) -> usize {
        if self.setup.kernel == StencilKernel::Laplace { ColourVectors::WORDS } else { Spinors::WORDS }
    }

    /// What is stored of a part of `words` words: with 16-bit storage their scale, too.
    pub fn stored(&self, words: usize) -> usize {
        words + usize::from(self.bits() == 16)
    }

    fn layout(&self, words: usize) -> PartLayout {
        let access: AccessWidth = self.setup.access;
        PartLayout { bits: self.bits(), nsimd: self.setup.lattice.nsimd(), words: self.stored(words), access }
    }

    /// `count` stored words of a part of `words` from `first` on, in as few accesses as the layout allows.
    fn load(&self, like: Instruction, words: usize, first: usize, count: usize) -> Vec<Instruction> {
        let (layout, end) = (self.layout(words), first + count);
        let together = layout.together();
        let mut loads = Vec::new();
        for block in (first / together * together..end).step_by(together) {
            let whole = block + together <= layout.words;
            let access = |word, n| Instruction { word, bytes: n * self.word_bytes(), ..like };
            match whole {
                true => loads.push(access(block, together)),
                false => loads.extend((block.max(first)..end.min(block + together)).map(|word| access(word, 1))),
            }
        }
        loads
    }

    /// All of a part that is stored.
    fn whole(&self, like: Instruction, words: usize) -> Vec<Instruction> {
        self.load(like, words, 0, self.stored(words))
    }

    /// The loads and stores of a work-item, in order.
    pub fn program(&self) -> Vec<Instruction> {
        let kernel = self.setup.kernel;
        let plain = |array| Instruction { array, leg: None, part: 0, word: 0, bytes: 4, store: false, past_l1: false };
        let words = self.part_words();
        let mut program = Vec::new();
        if kernel.family().is_none() {
            let at_once = match (kernel, self.bits()) {
                (_, 16) | (StencilKernel::Norm2, _) => WORDS_AHEAD,
                _ => WORDS_AT_ONCE,
            };
            let arrays: &[Array] = match kernel {
                StencilKernel::Axpy => &[Array::Source, Array::Second, Array::Out],
                StencilKernel::Copy => &[Array::Source, Array::Out],
                _ => &[Array::Source],
            };
            for first in (0..words).step_by(at_once) {
                let count = if self.bits() == 16 { self.stored(words) } else { at_once };
                for &array in arrays {
                    let like = Instruction { store: array == Array::Out, ..plain(array) };
                    program.extend(self.load(like, words, first, count));
                }
            }
            return program;
        }
        let link_words = self.setup.links.words();
        for leg in self.setup.legs.legs() {
            let of_leg = |array| Instruction { leg: Some(leg), ..plain(array) };
            program.extend([of_leg(Array::Neighbours), of_leg(Array::LaneSteps)]);
            let link = Instruction { past_l1: self.links_past_l1, ..of_leg(Array::Links) };
            program.extend(self.load(link, LEGS * link_words, leg.point() * link_words, link_words));
            if self.bits() == 16 {
                program.extend(self.load(of_leg(Array::Links), LEGS * link_words, LEGS * link_words, 1));
            }
            for part in 0..self.at_once {
                program.extend(self.whole(Instruction { part, ..of_leg(Array::Source) }, words));
            }
        }
        let clover = matches!(kernel, StencilKernel::CloverEo | StencilKernel::CloverOe);
        for part in 0..self.at_once {
            if clover {
                // Blocks are read for each spinor, unless the compiler keeps them; past the nearest cache where there is one spinor.
                let past_l1 = self.links_past_l1 && self.setup.parts == 1;
                for block in 0..CloverBlocks::WORDS / BLOCK_WORDS {
                    let like = Instruction { part: block, past_l1, ..plain(Array::Blocks) };
                    program.extend(self.load(like, BLOCK_WORDS, 0, BLOCK_WORDS));
                    if self.bits() == 16 {
                        program.extend(self.load(like, BLOCK_WORDS, BLOCK_WORDS, 1));
                    }
                }
            }
            if kernel == StencilKernel::CloverOe {
                program.extend(self.whole(Instruction { part, ..plain(Array::Second) }, words));
            }
            program.extend(self.whole(Instruction { part, store: true, ..plain(Array::Out) }, words));
        }
        program
    }

    /// The address of an instruction of a work-item.
    pub fn address(&self, instruction: &Instruction, item: &Item) -> u64 {
        let Instruction { array, leg, part, word, .. } = *instruction;
        let parts = self.setup.parts;
        let point = leg.map_or(0, Leg::point);
        let in_field = |words: usize, number: usize, lane: usize| {
            let layout = self.layout(words);
            ((number * layout.words * layout.nsimd + layout.place(word, lane)) * self.word_bytes()) as u64
        };
        let own = item.osite * parts + item.part + part;
        let offset = match array {
            Array::Neighbours => 4 * (item.osite * LEGS + point) as u64,
            Array::LaneSteps => 4 * (point * self.setup.lattice.nsimd() + item.lane) as u64,
            Array::Links => in_field(LEGS * self.setup.links.words(), item.osite, item.lane),
            Array::Source => match leg {
                Some(leg) => {
                    let (osite, lane) = self.neighbour(item, leg);
                    in_field(self.part_words(), osite * parts + item.part + part, lane)
                }
                None => in_field(self.part_words(), own, item.lane),
            },
            Array::Blocks => in_field(BLOCK_WORDS, 2 * item.osite + part, item.lane),
            Array::Second | Array::Out => in_field(self.part_words(), own, item.lane),
        };
        array.base() + offset
    }

    /// Whether the neighbour along a leg lies in another lane.
    pub fn leads_elsewhere(&self, item: &Item, leg: Leg) -> bool {
        self.neighbour(item, leg).1 != item.lane
    }

    /// The neighbour's outer site and lane, as the tables have them.
    fn neighbour(&self, item: &Item, leg: Leg) -> (usize, usize) {
        let neighbour = self.stencil.neighbour(item.osite, leg);
        let step = self.stencil.lane_steps()[leg.point() * self.setup.lattice.nsimd() + item.lane];
        (neighbour.osite, if neighbour.edge { (step & !Stencil::MARK) as usize } else { item.lane })
    }
}

/// Words of one of the two blocks of a site.
const BLOCK_WORDS: usize = CloverBlocks::WORDS / 2;
