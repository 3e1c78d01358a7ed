//! The site objects of fields: lists of complex words, known by type ([`Spinors`], [`Gauge`], …) or only at run time ([`Object`]).

mod link_format;

use std::fmt;

use crate::layout::{LEGS, Reach};

pub use link_format::{Angle, BoundaryPhases, LinkError, LinkFormat, Phase, cis_pi};

/// A site object that is known at run time, as kernels and backends use it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Object {
    /// [`ComplexNumber`].
    ComplexNumber,
    /// [`HalfSpinor`].
    HalfSpinor,
    /// [`ColourMatrix`].
    ColourMatrix,
    /// [`Gauge`].
    Gauge,
    /// [`Propagator`].
    Propagator,
    /// [`Spinors`], with their number.
    Spinors(usize),
    /// [`ColourVectors`], with their number.
    ColourVectors(usize),
    /// [`FieldStrength`].
    FieldStrength,
    /// [`CloverBlocks`].
    CloverBlocks,
    /// [`DoubledGauge`].
    DoubledGauge(DoubledGauge),
    /// [`Words`], with their number.
    Words(usize),
}

impl Object {
    /// Number of complex words at a site.
    pub const fn words(self) -> usize {
        match self {
            Self::ComplexNumber => ComplexNumber::WORDS,
            Self::HalfSpinor => HalfSpinor::WORDS,
            Self::ColourMatrix => ColourMatrix::WORDS,
            Self::Gauge => Gauge::WORDS,
            Self::Propagator => Propagator::WORDS,
            Self::Spinors(count) => Spinors::WORDS * count,
            Self::ColourVectors(count) => ColourVectors::WORDS * count,
            Self::FieldStrength => FieldStrength::WORDS,
            Self::CloverBlocks => CloverBlocks::WORDS,
            Self::DoubledGauge(links) => LEGS * links.format.words(),
            Self::Words(words) => words,
        }
    }

    /// The number of equal components of a site, for example the spinors of a five-dimensional fermion. Each component makes its own contribution to
    /// a sum over sites.
    pub const fn parts(self) -> usize {
        match self {
            Self::Spinors(count) | Self::ColourVectors(count) => count,
            Self::FieldStrength => FieldStrength::PARTS,
            Self::CloverBlocks => CloverBlocks::PARTS,
            _ => 1,
        }
    }

    /// Complex words of one component.
    pub const fn part_words(self) -> usize {
        match self.parts() {
            0 => 0,
            parts => self.words() / parts,
        }
    }

    /// Its name: "spinor".
    pub fn name(self) -> &'static str {
        match self {
            Self::ComplexNumber | Self::Words(ComplexNumber::WORDS) => "complex",
            Self::HalfSpinor | Self::Words(HalfSpinor::WORDS) => "half spinor",
            Self::ColourMatrix | Self::Words(ColourMatrix::WORDS) => "colour matrix",
            Self::Gauge | Self::Words(Gauge::WORDS) => "gauge",
            Self::Propagator | Self::Words(Propagator::WORDS) => "propagator",
            Self::Spinors(1) | Self::Words(Spinors::WORDS) => "spinor",
            Self::Spinors(_) => "spinors",
            Self::ColourVectors(1) | Self::Words(ColourVectors::WORDS) => "colour vector",
            Self::ColourVectors(_) => "colour vectors",
            Self::FieldStrength => "field strength",
            Self::CloverBlocks => "clover block pair",
            Self::DoubledGauge(_) => "doubled gauge",
            Self::Words(_) => "word list",
        }
    }

    /// How far from a site kernels read it on local volumes; `None` for links and objects made of links, since each site has its own.
    pub const fn reach(self) -> Option<Reach> {
        match self {
            Self::Gauge | Self::DoubledGauge(_) | Self::FieldStrength | Self::CloverBlocks => None,
            Self::ColourMatrix | Self::ColourVectors(_) => Some(Reach::ThreeSteps),
            _ => Some(Reach::Nearest),
        }
    }

    /// The object with `parts` components at a site; `None` if their number is fixed.
    pub const fn with_parts(self, parts: usize) -> Option<Self> {
        match self {
            Self::Spinors(_) => Some(Self::Spinors(parts)),
            Self::ColourVectors(_) => Some(Self::ColourVectors(parts)),
            _ => None,
        }
    }
}

/// The object of a field at each site, as a type.
pub trait SiteObject: Copy + Eq + fmt::Debug + Send + Sync + 'static {
    /// The object, known at run time.
    fn object(&self) -> Object;
    /// The type from an object known at run time; `None` if it is a different one.
    fn of(object: Object) -> Option<Self>;

    /// Number of complex words at a site.
    fn words(&self) -> usize {
        self.object().words()
    }
    /// Its name: "spinor".
    fn name(&self) -> &'static str {
        self.object().name()
    }
    /// The number of equal components of a site ([`Object::parts`]).
    fn parts(&self) -> usize {
        self.object().parts()
    }
}

impl SiteObject for Object {
    fn object(&self) -> Object {
        *self
    }
    fn of(object: Object) -> Option<Self> {
        Some(object)
    }
}

/// An object of several equal components.
pub trait Repeated: SiteObject {
    /// The object with `count` components.
    fn repeated(count: usize) -> Self;
}

macro_rules! site_objects {
    ($($(#[$doc:meta])+ $object:ident, $words:literal;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct $object;

        impl $object {
            /// Complex words at a site.
            pub const WORDS: usize = $words;
        }

        impl SiteObject for $object {
            fn object(&self) -> Object {
                Object::$object
            }
            fn of(object: Object) -> Option<Self> {
                (object == Object::$object).then_some(Self)
            }
        }
    )+};
}

site_objects! {
    /// One complex number.
    ComplexNumber, 1;
    /// Two spins times three colours, word 3·spin + colour.
    HalfSpinor, 6;
    /// A 3×3 matrix, word 3·row + column.
    ColourMatrix, 9;
    /// Four 3×3 links, word 9·μ + 3·row + column.
    Gauge, 36;
    /// A spin-colour matrix, word ((s1·4 + s2)·3 + c1)·3 + c2: sink spin, source spin, sink colour, source colour.
    Propagator, 144;
    /// Field strengths F_μν of the six planes xy, xz, xt, yz, yt, zt, one component for each: word 9·plane + 3·row + column.
    FieldStrength, 54;
    /// Two Hermitian 6×6 blocks, one component for each. Block b acts on spins 2b and 2b + 1, with row i = 3·(spin mod 2) + colour. Of the 18 words
    /// of a block, 0 to 2 hold the six diagonal elements, two real numbers in a word. The others hold the strict upper triangle row by row: element
    /// i < j is in word 3 + [`CloverBlocks::upper`].
    CloverBlocks, 36;
}

impl FieldStrength {
    /// The number of components of a site: planes.
    pub(crate) const PARTS: usize = 6;
}

impl CloverBlocks {
    /// The number of components of a site: blocks.
    pub(crate) const PARTS: usize = 2;
    /// Complex words of one block.
    pub(crate) const BLOCK_WORDS: usize = Self::WORDS / Self::PARTS;

    /// The position of element (i, j), i < j < 6, in the strict upper triangle: Grid's order.
    #[inline]
    pub const fn upper(i: usize, j: usize) -> usize {
        15 - (6 - i) * (5 - i) / 2 + j - i - 1
    }
}

macro_rules! repeated_objects {
    ($($(#[$doc:meta])+ $object:ident, $words:literal;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $object(usize);

        impl $object {
            /// Complex words of one component.
            pub const WORDS: usize = $words;
            /// One at each site.
            pub const ONE: Self = Self(1);

            /// `count` at each site.
            pub const fn new(count: usize) -> Self {
                Self(count)
            }

            /// The number at each site.
            pub const fn count(self) -> usize {
                self.0
            }
        }

        impl SiteObject for $object {
            fn object(&self) -> Object {
                Object::$object(self.0)
            }
            fn of(object: Object) -> Option<Self> {
                match object {
                    Object::$object(count) => Some(Self(count)),
                    _ => None,
                }
            }
        }

        impl Repeated for $object {
            fn repeated(count: usize) -> Self {
                Self(count)
            }
        }
    )+};
}

repeated_objects! {
    /// Spinors, each of four spins times three colours: word 12·k + 3·spin + colour. One at each site is a fermion field. Ls at each site are a
    /// five-dimensional one, with Grid's bytes (s fastest). N at each site are N right-hand sides.
    Spinors, 12;
    /// Vectors of three colours: word 3·k + colour.
    ColourVectors, 3;
}

/// An object that is known only by its number of complex words, at run time: for example the last axes of an array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Words(pub usize);

impl SiteObject for Words {
    fn object(&self) -> Object {
        Object::Words(self.0)
    }
    fn of(object: Object) -> Option<Self> {
        match object {
            Object::Words(words) => Some(Self(words)),
            _ => None,
        }
    }
}

/// Eight links at a site: word (point · words of a link) + 3·row + column. With 8 reals, the words are v1, v2, (x, z1), (z2, z3) of
/// `docs/arithmetic.md` §5. Links include the phases, except for those of 8 reals. The phases are stored here as well, because links cannot be
/// rebuilt without them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DoubledGauge {
    /// The number of reals that are stored for a link.
    pub format: LinkFormat,
    /// The boundary phases of the links.
    pub boundary: BoundaryPhases,
}

impl SiteObject for DoubledGauge {
    fn object(&self) -> Object {
        Object::DoubledGauge(*self)
    }
    fn of(object: Object) -> Option<Self> {
        match object {
            Object::DoubledGauge(links) => Some(links),
            _ => None,
        }
    }
}
