//! Fields in lanes (array of structures of arrays): word `w` of the lanes of outer site `o` lies at
//! `((o · words + w) · nsimd + lane)`, in complex numbers. Fields come from, and go to, site order (x fastest), which knows no
//! lanes. Where Grid's default split exists, the bytes here are those of Grid's GPU layout at the same width.

use std::fmt;

use bytemuck::{Pod, Zeroable};
use num_complex::Complex;
use rayon::prelude::*;
use thiserror::Error;

use crate::layout::{Lattice, LayoutError, Place, Sites};
use crate::memory;
use crate::real::Real;
use crate::sixteen::Sixteen;

/// What a field holds at each site: a list of complex words.
pub trait SiteObject: Copy + Eq + fmt::Debug + Send + Sync + 'static {
    /// Number of complex words a site.
    fn words(&self) -> usize;
    /// What one calls it: "spinor".
    fn name(&self) -> &'static str;
    /// Equal parts that the words of a site fall into, one after the other: the spinors of a five-dimensional fermion, say. Each makes a
    /// contribution of its own to a sum over sites.
    fn parts(&self) -> usize {
        1
    }
}

/// An object that is a number of equal parts.
pub trait Repeated: SiteObject {
    /// So many of them.
    fn repeated(count: usize) -> Self;
}

macro_rules! site_objects {
    ($($(#[$doc:meta])+ $object:ident, $words:literal, $name:literal;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $object;

        impl $object {
            /// Complex words a site.
            pub const WORDS: usize = $words;
        }

        impl SiteObject for $object {
            fn words(&self) -> usize {
                Self::WORDS
            }
            fn name(&self) -> &'static str {
                $name
            }
        }
    )+};
}

site_objects! {
    /// One complex number.
    ComplexNumber, 1, "complex";
    /// Two spins times three colours, word 3·spin + colour.
    HalfSpinor, 6, "half spinor";
    /// A 3×3 matrix, word 3·row + column.
    ColourMatrix, 9, "colour matrix";
    /// Four 3×3 links, word 9·μ + 3·row + column.
    Gauge, 36, "gauge";
    /// A spin-colour matrix, word ((s1·4 + s2)·3 + c1)·3 + c2: sink spin, source spin, sink colour, source colour.
    Propagator, 144, "propagator";
}

macro_rules! repeated_objects {
    ($($(#[$doc:meta])+ $object:ident, $words:literal, $one:literal, $several:literal;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $object(usize);

        impl $object {
            /// Complex words of one of them.
            pub const WORDS: usize = $words;
            /// One a site.
            pub const ONE: Self = Self(1);

            /// So many a site.
            pub const fn new(count: usize) -> Self {
                Self(count)
            }

            /// How many a site.
            pub const fn count(self) -> usize {
                self.0
            }
        }

        impl SiteObject for $object {
            fn words(&self) -> usize {
                Self::WORDS * self.0
            }
            fn name(&self) -> &'static str {
                if self.0 == 1 { $one } else { $several }
            }
            fn parts(&self) -> usize {
                self.0
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
    /// Spinors, each of four spins times three colours: word 12·k + 3·spin + colour. One a site is a fermion field; Ls a site are a
    /// five-dimensional one, with Grid's bytes (s fastest); N a site are N right-hand sides.
    Spinors, 12, "spinor", "spinors";
    /// Vectors of three colours: word 3·k + colour.
    ColourVectors, 3, "colour vector", "colour vectors";
}

macro_rules! objects_in_parts {
    ($($(#[$doc:meta])+ $object:ident, $words:literal, $parts:literal, $name:literal;)+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
        pub struct $object;

        impl $object {
            /// Complex words a site.
            pub const WORDS: usize = $words;
            /// Parts of a site.
            pub const PARTS: usize = $parts;
        }

        impl SiteObject for $object {
            fn words(&self) -> usize {
                Self::WORDS
            }
            fn name(&self) -> &'static str {
                $name
            }
            fn parts(&self) -> usize {
                Self::PARTS
            }
        }
    )+};
}

objects_in_parts! {
    /// Field strengths F_μν of the six planes xy, xz, xt, yz, yt, zt, a part each: word 9·plane + 3·row + column.
    FieldStrength, 54, 6, "field strength";
    /// Two Hermitian 6×6 blocks, a part each: block b acts on spins 2b and 2b + 1, row i = 3·(spin mod 2) + colour. Of the 18 words of a block,
    /// 0 to 2 hold the six diagonal elements, two real numbers a word; the others hold the strict upper triangle row by row, element i < j in
    /// word 3 + [`CloverBlocks::upper`].
    CloverBlocks, 36, 2, "clover block pair";
}

impl CloverBlocks {
    /// Complex words of one block.
    pub const BLOCK_WORDS: usize = Self::WORDS / Self::PARTS;

    /// The place of element (i, j), i < j < 6, in the strict upper triangle: Grid's order.
    #[inline]
    pub const fn upper(i: usize, j: usize) -> usize {
        15 - (6 - i) * (5 - i) / 2 + j - i - 1
    }
}

/// An object known at run time only, by its number of complex words: what the last axes of an array hold, say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Words(pub usize);

impl SiteObject for Words {
    fn words(&self) -> usize {
        self.0
    }
    fn name(&self) -> &'static str {
        match self.0 {
            ComplexNumber::WORDS => ComplexNumber.name(),
            ColourVectors::WORDS => ColourVectors::ONE.name(),
            HalfSpinor::WORDS => HalfSpinor.name(),
            Spinors::WORDS => Spinors::ONE.name(),
            ColourMatrix::WORDS => ColourMatrix.name(),
            Gauge::WORDS => Gauge.name(),
            Propagator::WORDS => Propagator.name(),
            _ => "word list",
        }
    }
}

/// Why a field could not be made or used. Messages are fragments.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FieldError {
    /// The lattice cannot hold the field.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The lattice's scalar is of the other precision.
    #[error("a lattice of {lattice} lanes cannot hold a field of {field}")]
    Precision {
        /// Name of the lattice's scalar.
        lattice: &'static str,
        /// Name of the field's scalar.
        field: &'static str,
    },
    /// An array in site order of the wrong length.
    #[error("{given} complex numbers in site order do not make a {object} field on {extents}: that takes {needed}")]
    Length {
        /// Length given.
        given: usize,
        /// Length needed.
        needed: usize,
        /// What the field holds.
        object: &'static str,
        /// Extents of the lattice.
        extents: String,
    },
    /// A site object without words.
    #[error("a {object} of no complex words makes no field: give it at least one")]
    NoWords {
        /// What it is called.
        object: &'static str,
    },
    /// More parts than kernels can number.
    #[error(
        "{what} have {parts} parts in all: at most {most} can be numbered; take a smaller lattice, or fewer a site"
    )]
    TooLarge {
        /// Description of the field.
        what: String,
        /// Parts of all sites.
        parts: usize,
        /// How many there may be.
        most: usize,
    },
    /// Columns that a field does not have.
    #[error("a {field} has no columns {columns:?} of {column_parts} parts each")]
    Columns {
        /// The columns asked for, from 0.
        columns: Vec<usize>,
        /// Parts of a column.
        column_parts: usize,
        /// Description of the field.
        field: String,
    },
    /// The host has no room for a field.
    #[error(
        "no room for {bytes} bytes of {what} in the host's memory: try a smaller lattice, f32, or links of 12 or 8 reals"
    )]
    OutOfMemory {
        /// Description of the field.
        what: String,
        /// Its size.
        bytes: usize,
    },
    /// Links that 8 reals cannot stand for.
    #[error("links of 8 reals stand for SU(3) matrices only: {why}; use links of 18 or 12 reals")]
    NotSu3 {
        /// The worst link, and by how much.
        why: String,
    },
    /// Two fields that do not match.
    #[error("{what}: {left} does not match {right}")]
    Mismatch {
        /// What was attempted.
        what: &'static str,
        /// Description of one field.
        left: String,
        /// Description of the other.
        right: String,
    },
}

/// 64 bytes on a 64-byte boundary: the unit in which fields are stored.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Block([u64; 8]);

/// A field of `K` objects of precision `R`, in lanes.
#[derive(Clone)]
pub struct Field<R, K> {
    lattice: Lattice,
    sites: Sites,
    kind: K,
    reals: usize,
    blocks: Vec<Block>,
    precision: std::marker::PhantomData<R>,
}

impl<R: Real, K: SiteObject> Field<R, K> {
    /// A field of zeros.
    ///
    /// # Errors
    /// As [`check`]; [`FieldError::OutOfMemory`].
    pub fn zeros(lattice: Lattice, sites: Sites, kind: K) -> Result<Self, FieldError> {
        check::<R, K>(&lattice, sites, kind)?;
        let reals = lattice.osites(sites) * kind.words() * lattice.nsimd() * 2;
        let bytes = reals * size_of::<R>();
        let blocks = memory::zeros(bytes.div_ceil(size_of::<Block>()))
            .ok_or_else(|| FieldError::OutOfMemory { what: describe::<R, K>(&lattice, sites, kind), bytes })?;
        Ok(Self { lattice, sites, kind, reals, blocks, precision: std::marker::PhantomData })
    }

    /// A field whose site objects are written by `fill(coordinate's site number, words of the site)`, in parallel.
    ///
    /// # Errors
    /// As [`Self::zeros`].
    pub fn from_sites(
        lattice: Lattice,
        sites: Sites,
        kind: K,
        fill: impl Fn(usize, &mut [Complex<R>]) + Sync,
    ) -> Result<Self, FieldError> {
        let mut field = Self::zeros(lattice, sites, kind)?;
        field.overwrite(fill);
        Ok(field)
    }

    /// Writes every site object by `fill`, as [`Self::from_sites`].
    fn overwrite(&mut self, fill: impl Fn(usize, &mut [Complex<R>]) + Sync) {
        let Self { lattice, sites, kind, .. } = *self;
        let (words, nsimd, extents) = (kind.words(), lattice.nsimd(), lattice.extents());
        self.words_mut().par_chunks_exact_mut(words * nsimd).enumerate().for_each_init(
            || vec![Complex::new(R::default(), R::default()); words],
            |object, (osite, words_of_osite)| {
                for lane in 0..nsimd {
                    fill(extents.site(lattice.coordinate(sites, Place { osite, lane })), object);
                    for (w, value) in object.iter().enumerate() {
                        words_of_osite[w * nsimd + lane] = *value;
                    }
                }
            },
        );
        self.settle();
    }

    /// Rounds the field to what its storage holds ([`Real::settle`]).
    pub fn settle(&mut self) {
        let (a_part, nsimd) = (self.reals_a_part(), self.lattice.nsimd());
        R::settle(self.reals_mut(), a_part, nsimd);
    }

    /// A field from an array in site order over the whole lattice, words fastest. Of that array a field of one parity takes its
    /// own sites.
    ///
    /// # Errors
    /// As [`Self::zeros`]; [`FieldError::Length`].
    pub fn from_site_order(lattice: Lattice, sites: Sites, kind: K, values: &[Complex<R>]) -> Result<Self, FieldError> {
        let words = kind.words();
        let needed = lattice.extents().volume() * words;
        if values.len() != needed {
            let extents = lattice.extents().to_string();
            return Err(FieldError::Length { given: values.len(), needed, object: kind.name(), extents });
        }
        Self::from_sites(lattice, sites, kind, |site, object| {
            object.copy_from_slice(&values[site * words..][..words]);
        })
    }

    /// The field in site order over the whole lattice, words fastest; zero on the sites that it does not live on.
    pub fn to_site_order(&self) -> Vec<Complex<R>> {
        let (words, nsimd, extents) = (self.kind.words(), self.lattice.nsimd(), self.lattice.extents());
        let mut values = vec![Complex::new(R::default(), R::default()); extents.volume() * words];
        let field = self.words();
        values.par_chunks_exact_mut(words).enumerate().for_each(|(site, object)| {
            let coordinate = extents.coordinate(site);
            if self.sites.contain(coordinate) {
                let Place { osite, lane } = self.lattice.place(self.sites, coordinate);
                for (w, value) in object.iter_mut().enumerate() {
                    *value = field[(osite * words + w) * nsimd + lane];
                }
            }
        });
        values
    }

    /// The same field in another precision (rounded to nearest even) and another layout of the same extents.
    ///
    /// # Errors
    /// [`FieldError::Mismatch`] if the extents differ, and as [`Self::zeros`].
    pub fn convert<S: Real>(&self, lattice: Lattice) -> Result<Field<S, K>, FieldError> {
        if lattice.extents() != self.lattice.extents() {
            return Err(FieldError::Mismatch {
                what: "converting a field",
                left: self.lattice.extents().to_string(),
                right: lattice.extents().to_string(),
            });
        }
        let (words, nsimd, extents) = (self.kind.words(), self.lattice.nsimd(), self.lattice.extents());
        let field = self.words();
        Field::from_sites(lattice, self.sites, self.kind, |site, object| {
            let Place { osite, lane } = self.lattice.place(self.sites, extents.coordinate(site));
            for (w, value) in object.iter_mut().enumerate() {
                let c = field[(osite * words + w) * nsimd + lane];
                *value = Complex::new(S::from_f64(c.re.to_f64()), S::from_f64(c.im.to_f64()));
            }
        })
    }

    /// The lattice that the field lies on.
    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// The sites that the field lives on.
    pub fn sites(&self) -> Sites {
        self.sites
    }

    /// What the field holds at each site.
    pub fn kind(&self) -> K {
        self.kind
    }

    /// Number of outer sites.
    pub fn osites(&self) -> usize {
        self.lattice.osites(self.sites)
    }

    /// Number of reals of one part of an outer site.
    pub fn reals_a_part(&self) -> usize {
        self.reals_an_osite() / self.kind.parts()
    }

    /// Number of reals of one outer site: twice the words times the lanes.
    pub fn reals_an_osite(&self) -> usize {
        2 * self.kind.words() * self.lattice.nsimd()
    }

    /// The field as it lies in memory, in reals.
    pub fn reals(&self) -> &[R] {
        &bytemuck::cast_slice(&self.blocks)[..self.reals]
    }

    /// The field as it lies in memory, in reals.
    pub fn reals_mut(&mut self) -> &mut [R] {
        &mut bytemuck::cast_slice_mut(&mut self.blocks)[..self.reals]
    }

    /// The field as it lies in memory, in vectors of a type that divides it, such as a `wide` type or an array of them.
    ///
    /// # Panics
    /// If the field's bytes are no whole number of `V`s.
    pub fn vectors<V: Pod>(&self) -> &[V] {
        bytemuck::cast_slice(self.reals())
    }

    /// Like [`Self::vectors`], to be written.
    ///
    /// # Panics
    /// If the field's bytes are no whole number of `V`s.
    pub fn vectors_mut<V: Pod>(&mut self) -> &mut [V] {
        bytemuck::cast_slice_mut(self.reals_mut())
    }

    /// The field as it lies in memory, in complex words.
    pub fn words(&self) -> &[Complex<R>] {
        bytemuck::cast_slice(self.reals())
    }

    /// The field as it lies in memory, in complex words.
    pub fn words_mut(&mut self) -> &mut [Complex<R>] {
        bytemuck::cast_slice_mut(self.reals_mut())
    }

    /// "f32 spinor field on 4.4.4.8, even sites, 64-byte lanes"
    pub fn describe(&self) -> String {
        describe::<R, K>(&self.lattice, self.sites, self.kind)
    }
}

impl<K: SiteObject> Field<Sixteen, K> {
    /// The same numbers in f32.
    pub fn to_f32(&self) -> Field<f32, K> {
        let Self { lattice, sites, kind, reals, ref blocks, .. } = *self;
        Field { lattice, sites, kind, reals, blocks: blocks.clone(), precision: std::marker::PhantomData }
    }

    /// Takes the numbers of a field like this one, and rounds them to what 16-bit storage holds.
    pub(crate) fn settle_from(&mut self, numbers: Field<f32, K>) {
        self.blocks = numbers.blocks;
        self.settle();
    }
}

/// Refuses what cannot be a field, on a host or on a device.
///
/// # Errors
/// [`FieldError::Precision`] if the lattice's lanes are not of `R`; [`LayoutError::NotRedBlack`] if it has no parities;
/// [`FieldError::NoWords`]; [`FieldError::TooLarge`].
pub fn check<R: Real, K: SiteObject>(lattice: &Lattice, sites: Sites, kind: K) -> Result<(), FieldError> {
    /// Kernels number lanes of parts with 32 bits, and add to such numbers.
    const MOST: usize = i32::MAX as usize;
    lattice.check(sites)?;
    if lattice.scalar() != R::COMPLEX {
        return Err(FieldError::Precision { lattice: lattice.scalar().name(), field: R::COMPLEX.name() });
    }
    if kind.words() == 0 {
        return Err(FieldError::NoWords { object: kind.name() });
    }
    let parts = (lattice.osites(sites) * lattice.nsimd()).saturating_mul(kind.parts());
    if parts > MOST {
        return Err(FieldError::TooLarge { what: describe::<R, K>(lattice, sites, kind), parts, most: MOST });
    }
    Ok(())
}

/// One line about a field of `kind` in precision `R`, for error messages.
pub fn describe<R: Real, K: SiteObject>(lattice: &Lattice, sites: Sites, kind: K) -> String {
    let (name, extents, width, nodes) = (kind.name(), lattice.extents(), lattice.width(), lattice.nodes());
    let count = if kind.parts() == 1 { String::new() } else { format!("{} ", kind.parts()) };
    format!("{} {count}{name} field on {extents}, {sites} sites, {width}-byte lanes cut {nodes}", R::NAME)
}

impl<R: Real, K: SiteObject> fmt::Debug for Field<R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}
