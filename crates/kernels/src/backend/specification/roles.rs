//! Roles of kernel arguments, build options of kernels, and how their work is divided.

use lanefield_reference::kernels::domain_wall::MatrixForm;
use lanefield_reference::layout::{Lattice, LayoutError, Sites};
use lanefield_reference::object::Object;

/// How a kernel uses a field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// It reads it.
    Read,
    /// It overwrites all of it.
    Write,
    /// It reads and writes it.
    Update,
}

/// The object of a field at each site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldContents {
    /// Spinors, as many as in the target.
    Spinors,
    /// Colour vectors, as many as in the target.
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
    /// The object of the target.
    Any,
    /// Any number of the objects of the target.
    AnyNumber,
    /// The object of the target, in any precision, on a lattice whose lanes hold the same sites.
    Converted,
}

/// The sites of a field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldSites {
    /// The sites of the target ([`super::kernel::Kernel::target`]).
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
    /// Whether it is read or written.
    pub access: Access,
    /// Its object.
    pub holds: FieldContents,
    /// Its sites.
    pub at: FieldSites,
}

/// A table that depends only on the lattice and the sites of the target. Backends compute it once.
#[derive(Clone, Copy, Debug)]
pub struct ComputedTable {
    /// Its name.
    pub name: &'static str,
    /// What its entries belong to.
    pub rows: TableRows,
    /// Computes it.
    pub make: fn(&Lattice, Sites) -> Result<Vec<u32>, LayoutError>,
}

/// What the entries of a table belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableRows {
    /// One entry for each outer site of the target.
    Osites,
    /// One entry for each outer site of the target: the number of an outer site of a field on all sites.
    OsitesOfAllSites,
    /// One entry for each lane.
    Lanes,
}

/// An argument of an OpenCL C kernel, by its role. They are passed in this order.
#[derive(Clone, Copy, Debug)]
pub enum KernelArgument {
    /// The buffer of a field.
    Field(FieldRole),
    /// The buffers of a list of fields like the target, which are read. The number is the greatest length; if there are fewer, the first buffer is
    /// repeated.
    Fields(&'static str, usize),
    /// The tables of a stencil: neighbours and lane permutations.
    Stencil,
    /// The neighbours of the neighbours: the table of the stencil on their sites.
    OfNeighbours,
    /// The coefficients of a matrix along s of this form.
    Matrix(MatrixForm),
    /// A table that depends only on the lattice.
    Computed(ComputedTable),
    /// A scalar in the working precision.
    Scalar(&'static str),
    /// Real and imaginary part of a scalar in the working precision.
    Complex(&'static str),
    /// A scalar in f64.
    Double(&'static str),
    /// A buffer of scalars: the lists one after the other, each with one scalar for each right-hand side.
    Scalars(&'static [&'static str]),
    /// A buffer of complex numbers, real and imaginary parts alternating: for each right-hand side of the field `of`, one number for each right-hand
    /// side of the target. They are passed as a list of reals.
    Coefficients {
        /// Its name.
        name: &'static str,
        /// The field with the right-hand sides that are multiplied.
        of: &'static str,
    },
    /// A buffer of numbers: for each right-hand side of the field `of`, the number of a right-hand side of `among`.
    Indices {
        /// Its name.
        name: &'static str,
        /// The field with a number for each right-hand side.
        of: &'static str,
        /// The field whose right-hand sides are numbered.
        among: &'static str,
    },
    /// Outer sites and lanes of the slices across a direction, and the numbers of outer sites, lanes and classes.
    Slices,
    /// The number of outer sites of the target.
    Osites,
    /// The number of outer sites of the target times its components, for kernels that treat each component as a site.
    Elements,
    /// The number of complex words of a component of the target.
    PartWords,
    /// The number of complex words of a site of the target.
    Words,
    /// The number of components of a site of the target.
    Parts,
    /// The number of components of a site of the field with this name.
    PartsOf(&'static str),
    /// The number of components of a right-hand side.
    RhsParts,
    /// The first component of a launch, and the number of components that it computes.
    LaunchedParts,
    /// The number of components for each fermion of ls spinors.
    Fermions(u32),
    /// The extent of the fifth dimension.
    Ls,
    /// Whether a matrix along s is the Hermitian conjugate.
    Dagger,
    /// The boundary phases of the links.
    Boundary,
    /// A constant number.
    Constant(u32),
    /// Local memory for neighbours' spinors, if the variant uses it.
    Stage,
    /// Local memory for shared links, if the variant uses it.
    SharedLinks,
    /// Local memory for accumulators, if the variant uses it.
    Accumulators,
}

/// What a kernel is built for, in addition to precision, lanes and access width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BuildOption {
    /// The number of reals that are stored for a link.
    Reconstruct,
    /// The order of the legs.
    Legs,
    /// The number of components that a work-item computes, with the name of the macro.
    PartsPerWorkItem(&'static str),
    /// The number of complex words of a component.
    PartWords,
    /// The precision of the field with this name.
    PrecisionOf(&'static str),
    /// Where the hop is accumulated.
    Accumulators,
    /// How sums over sites are computed. All kernels of a file with sums are built for it.
    Sums,
    /// A macro.
    Define(&'static str),
}

/// How the work is divided among work-items.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Geometry {
    /// A stencil: over (lane, outer site), or over (lane, component, outer site).
    Stencil {
        /// Whether the launch also covers components.
        over_parts: bool,
        /// Whether local memory may hold neighbours' spinors and shared links.
        stages: bool,
        /// Whether it uses the accumulated hop, so that this may be in local memory.
        accumulates: bool,
        /// Whether components may be divided among launches.
        splits: bool,
    },
    /// Over (lane, outer site).
    Sites,
    /// Over (lane, outer site); each component counts as a site.
    Elements,
    /// Over (lane, component, outer site), or over vectors of lanes if the device prefers these.
    Parts {
        /// Whether it can be built for vectors of lanes.
        vectors: bool,
    },
    /// Over (lane, chirality of a fermion along s, or result, outer site).
    AlongS,
    /// Over (lane, component, outer site), for several right-hand sides.
    RightHandSides,
    /// A sum over sites with one term for each site and component.
    SumOfSites,
    /// A sum over the sites of each slice.
    SumOfSitesInSlices,
    /// Sums of the words of a site.
    SumOfWords,
    /// Sums of the words of a site, for each slice.
    SumOfWordsInSlices,
    /// A sum for each right-hand side, with one term for each site and component.
    SumOfRightHandSides,
    /// A complex sum for each right-hand side of x with each of y, with one term for each site and component.
    SumOfPairsOfRightHandSides,
    /// A step of other operations (sums, calls on local volumes), which backends launch by themselves.
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
