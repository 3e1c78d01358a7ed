//! The arguments of kernels by role, what kernels are built for, and how their work is spread.

use lanefield_reference::kernels::domain_wall::MatrixForm;
use lanefield_reference::layout::{Lattice, LayoutError, Sites};
use lanefield_reference::object::Object;

/// Whether a kernel reads a field, or writes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// It reads it.
    Read,
    /// It writes all of it, whatever was there.
    Write,
    /// It reads and writes it.
    Update,
}

/// What a field of a kernel holds at each site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldContents {
    /// Spinors, as many as the target.
    Spinors,
    /// Colour vectors, as many as the target.
    ColourVectors,
    /// Doubled links.
    DoubledLinks,
    /// The links themselves.
    Links,
    /// Field strengths.
    FieldStrength,
    /// Blocks of a clover term.
    CloverBlocks,
    /// One complex number.
    ComplexNumber,
    /// This object.
    Exactly(Object),
    /// Whatever the target holds.
    Any,
    /// Any number of what the target holds.
    AnyNumber,
    /// Whatever the target holds, in any precision, on a lattice whose lanes hold the same sites.
    Converted,
}

/// On which sites a field of a kernel lies.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldSites {
    /// Those of the target ([`super::kernel::Kernel::target`]).
    Target,
    /// Their neighbours.
    Neighbours,
    /// All sites.
    All,
}

/// A field of a kernel, by its role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldRole {
    /// Its name.
    pub name: &'static str,
    /// What is done with it.
    pub access: Access,
    /// What it holds.
    pub holds: FieldContents,
    /// Where it lies.
    pub at: FieldSites,
}

/// A table that depends on the lattice and the sites of the target alone. Backends make it once.
#[derive(Clone, Copy, Debug)]
pub struct ComputedTable {
    /// Its name.
    pub name: &'static str,
    /// What its entries are about.
    pub rows: TableRows,
    /// Makes it.
    pub make: fn(&Lattice, Sites) -> Result<Vec<u32>, LayoutError>,
}

/// What the entries of a table are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableRows {
    /// An entry for each outer site of the target.
    Osites,
    /// The same; the entries are numbers of outer sites of a field on all sites.
    OsitesOfAllSites,
    /// An entry for each lane.
    Lanes,
}

/// An argument of an OpenCL C kernel, by its role. The launcher packs them in this order.
#[derive(Clone, Copy, Debug)]
pub enum KernelArgument {
    /// A field: its buffer.
    Field(FieldRole),
    /// Up to so many fields like the target, read: their buffers; the first one again in place of those that are not there.
    Fields(&'static str, usize),
    /// The tables of a stencil: neighbours, and lane steps.
    Stencil,
    /// The neighbours of the neighbours: the table of a stencil on their sites.
    OfNeighbours,
    /// A matrix along s of that form: its coefficients.
    Matrix(MatrixForm),
    /// A table that the lattice determines.
    Computed(ComputedTable),
    /// A scalar in the precision in which one computes.
    Scalar(&'static str),
    /// Real and imaginary part of one.
    Complex(&'static str),
    /// A scalar in f64.
    Double(&'static str),
    /// A buffer of scalars, one for each right-hand side, of one list after the other.
    Scalars(&'static [&'static str]),
    /// A buffer of complex numbers: for each right-hand side of the field `of` one for each of the target, real and imaginary part in turn. Given as
    /// that list of reals.
    Coefficients {
        /// Its name.
        name: &'static str,
        /// The field whose right-hand sides are multiplied.
        of: &'static str,
    },
    /// A buffer of numbers: for each right-hand side of the field `of`, that of one of `among`.
    Indices {
        /// Its name.
        name: &'static str,
        /// The field that has a number for each right-hand side.
        of: &'static str,
        /// The field whose right-hand sides are numbered.
        among: &'static str,
    },
    /// Outer sites and lanes of the slices across a direction, and the numbers of outer sites, lanes and classes.
    Slices,
    /// Outer sites of the target.
    Osites,
    /// Outer sites of the target times its components: those of kernels to which each component is a site.
    Elements,
    /// Complex words of a component of the target.
    PartWords,
    /// Complex words of a site of the target.
    Words,
    /// Components of a site of the target.
    Parts,
    /// Components of a site of the field of that name.
    PartsOf(&'static str),
    /// Components of a right-hand side.
    RhsParts,
    /// The first component of a launch, and how many it takes.
    LaunchedParts,
    /// So many components for each fermion of ls spinors.
    Fermions(u32),
    /// Extent of the fifth dimension.
    Ls,
    /// Whether a matrix along s is a conjugate one.
    Dagger,
    /// Boundary phases of the links.
    Boundary,
    /// A number that is always the same.
    Constant(u32),
    /// Local memory for neighbours' spinors, where it is used.
    Stage,
    /// Local memory for shared links, where it is used.
    SharedLinks,
    /// Local memory for accumulators, where it is used.
    Accumulators,
}

/// What a kernel is built for, beside precision, lanes and access width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BuildOption {
    /// Reals stored a link.
    Reconstruct,
    /// The order of the legs.
    Legs,
    /// Components that a work-item takes, by the name of the macro.
    PartsPerWorkItem(&'static str),
    /// Complex words of a component.
    PartWords,
    /// The precision of the field of that name.
    PrecisionOf(&'static str),
    /// Where hops are added up.
    Accumulators,
    /// How sums over sites are taken: files of sums are built for it, and all their kernels with them.
    Sums,
    /// A macro.
    Define(&'static str),
}

/// How the work is spread over work-items.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Geometry {
    /// A stencil: over (lane, outer site), or over (lane, component, outer site).
    Stencil {
        /// Whether it is launched over components.
        over_parts: bool,
        /// Whether neighbours' spinors may wait, and links be shared, in local memory.
        stages: bool,
        /// Whether it goes on from what it adds up, so that this may lie in local memory.
        accumulates: bool,
        /// Whether components may be divided among launches.
        splits: bool,
    },
    /// Over (lane, outer site).
    Sites,
    /// Over (lane, outer site), where each component is a site.
    Elements,
    /// Over (lane, component, outer site); in vectors of lanes where the device prefers these.
    Parts {
        /// Whether it can be built for vectors of lanes.
        vectors: bool,
    },
    /// Over (lane, chirality of a fermion along s, or result, outer site).
    AlongS,
    /// Over (lane, component, outer site), of several right-hand sides.
    RightHandSides,
    /// A sum over sites: a number for each site and component.
    SumOfSites,
    /// The same for each slice.
    SumOfSitesInSlices,
    /// Sums of the words of a site.
    SumOfWords,
    /// The same for each slice.
    SumOfWordsInSlices,
    /// A number for each site and component, for each right-hand side.
    SumOfRightHandSides,
    /// A complex number for each site and component, for each right-hand side of x with each of y.
    SumOfPairsOfRightHandSides,
    /// A part of other operations (sums, calls on parts of lattices), which backends launch by themselves.
    PartOfOthers,
}

/// A field that is read.
pub const fn read(name: &'static str, holds: FieldContents, at: FieldSites) -> FieldRole {
    FieldRole { name, access: Access::Read, holds, at }
}

/// A field that is written.
pub const fn write(name: &'static str, holds: FieldContents, at: FieldSites) -> FieldRole {
    FieldRole { name, access: Access::Write, holds, at }
}

/// A field that is read and written.
pub const fn update(name: &'static str, holds: FieldContents) -> FieldRole {
    FieldRole { name, access: Access::Update, holds, at: FieldSites::Target }
}
