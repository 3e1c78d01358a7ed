//! What a kernel is, as data: all that anything else needs to know of it ([`Kernel`]), its arguments by role, and a call of it ([`Call`]). The
//! kernels of the library are described so in `crates/kernels/src/kernel/`.

mod arguments;
mod shape;

use std::fmt;

use lanefield_reference::field::FieldError;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::domain_wall::Form;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::kernels::reduce::{PartialSums, Sum};
use lanefield_reference::layout::{Lattice, LayoutError, LegOrder, Reach, Sites};
use lanefield_reference::links::BoundaryPhases;
use lanefield_reference::object::Object;
use lanefield_reference::real::Precision;
use serde::{Serialize, Serializer};

use super::Cpu;
use crate::body::Written;

pub use arguments::Inside;
pub use arguments::{Arguments, Call, Value};
pub use shape::{FieldOfCall, MatrixFacts, Shape, Work};

/// What a kernel is held against.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ceiling {
    /// Copy bandwidth: bytes read and written.
    Copy,
    /// Read bandwidth: what writes next to nothing.
    Read,
}

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
pub enum Holds {
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
pub enum At {
    /// Those of the target ([`Kernel::target`]).
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
    pub holds: Holds,
    /// Where it lies.
    pub at: At,
}

/// A table that depends on the lattice and the sites of the target alone. Backends make it once.
#[derive(Clone, Copy, Debug)]
pub struct ComputedTable {
    /// Its name.
    pub name: &'static str,
    /// What its entries are about.
    pub rows: Rows,
    /// Makes it.
    pub make: fn(&Lattice, Sites) -> Result<Vec<u32>, LayoutError>,
}

/// What the entries of a table are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rows {
    /// An entry for each outer site of the target.
    Osites,
    /// The same; the entries are numbers of outer sites of a field on all sites.
    OsitesOfAllSites,
    /// An entry for each lane.
    Lanes,
}

/// An argument of an OpenCL C kernel, by its role. The launcher packs them in this order.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// A field: its buffer.
    Field(FieldRole),
    /// Up to so many fields like the target, read: their buffers; the first one again in place of those that are not there.
    Fields(&'static str, usize),
    /// The tables of a stencil: neighbours, and lane steps.
    Stencil,
    /// The neighbours of the neighbours: the table of a stencil on their sites.
    OfNeighbours,
    /// A matrix along s of that form: its coefficients.
    Matrix(Form),
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

/// A function on fields of the host.
#[derive(Clone, Copy)]
pub enum HostFunction<L, S> {
    /// Of a kernel that writes fields.
    Launch(L),
    /// Of one that also sums.
    Reduce(S),
    /// Of a part of sums: there is none.
    None,
}

impl<L, S> fmt::Debug for HostFunction<L, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Launch(_) => "a kernel",
            Self::Reduce(_) => "a sum",
            Self::None => "none",
        })
    }
}

/// A call on fields of the host.
pub type HostCall<'a> = Call<'a, Cpu>;

/// The CPU kernel: on vectors of lanes, in parallel.
pub type CpuFunction = HostFunction<
    fn(&mut HostCall<'_>) -> Result<(), FieldError>,
    fn(&mut HostCall<'_>, Sum) -> Result<PartialSums, FieldError>,
>;

/// Links as the plain loops take them.
#[derive(Clone, Copy, Debug)]
pub struct PlainLinks<'a> {
    /// The configuration of which the doubled links of a call were made.
    pub configuration: &'a Configuration,
    /// The boundary phases in them.
    pub boundary: BoundaryPhases,
}

/// The plain loops, site by site.
pub type PlainFunction = HostFunction<
    fn(&mut HostCall<'_>, &PlainLinks<'_>) -> Result<(), FieldError>,
    fn(&mut HostCall<'_>, &PlainLinks<'_>, Sum) -> Result<Vec<f64>, FieldError>,
>;

/// Where the OpenCL C of a kernel comes from.
#[derive(Clone, Copy, Debug)]
pub enum KernelSource {
    /// A file of `cl/`, of the name of the family.
    Library,
    /// It is written from a body.
    Body(Written),
    /// It is written by hand, by the caller.
    Files(OwnFiles),
}

/// OpenCL C of the caller: files, each with its text.
#[derive(Clone, Copy, Debug)]
pub struct OwnFiles(&'static [(&'static str, &'static str)]);

impl OwnFiles {
    /// Files, of which one has the name that [`Kernel::file`] says, and may include the others and those of `cl/`.
    ///
    /// # Safety
    /// Nobody checks the text. Its kernel has to take the arguments of the specification in their order, and to touch no memory but theirs, for every
    /// lattice, precision and lane width that the specification allows.
    pub const unsafe fn new(files: &'static [(&'static str, &'static str)]) -> Self {
        Self(files)
    }

    /// The files.
    pub fn files(&self) -> &'static [(&'static str, &'static str)] {
        self.0
    }
}

/// The specification of a kernel.
#[derive(Debug)]
pub struct Kernel {
    /// Its one name: of the OpenCL C kernel, of its row in tables, in files and on the command line.
    pub name: &'static str,
    /// Its family: the stem of its files.
    pub family: &'static str,
    /// What it computes, in a line.
    pub computes: &'static str,
    /// Whether it applies a Hermitian conjugate.
    pub dagger: Dagger,
    /// Its arguments, in the order of the OpenCL C kernel.
    pub arguments: &'static [Argument],
    /// What it is built for.
    pub options: &'static [BuildOption],
    /// How the work is spread.
    pub geometry: Geometry,
    /// Precisions of its target.
    pub precisions: &'static [Precision],
    /// The kernel whose tuning it takes: itself, or the one of which it is the conjugate. `None` if nothing is tuned.
    pub tuned_as: Option<&'static str>,
    /// Components of a site that it is timed and tuned for.
    pub usual_parts: usize,
    /// Floating-point operations as the field counts them, and the bytes that must be moved at least: each input once, each output once.
    pub work: fn(&Shape) -> Work,
    /// What its speed is held against.
    pub ceiling: Ceiling,
    /// Where its OpenCL C comes from.
    pub source: KernelSource,
    /// The CPU kernel.
    pub cpu: CpuFunction,
    /// The plain loops.
    pub plain: PlainFunction,
}

impl Kernel {
    /// The file of `cl/`.
    pub fn file(&self) -> String {
        format!("{}.cl", self.family)
    }

    /// The fields that it reads or writes, by role; of lists one.
    pub fn fields(&self) -> impl Iterator<Item = FieldRole> {
        self.arguments.iter().filter_map(|argument| match *argument {
            Argument::Field(role) => Some(role),
            Argument::Fields(name, _) => Some(read(name, Holds::Any, At::Target)),
            _ => None,
        })
    }

    /// The field that determines lattice, sites and components of a call: the first one that is written, else the last one that lies on its sites, links
    /// apart.
    pub fn target(&self) -> &'static str {
        let written = self.fields().find(|role| role.access != Access::Read);
        let on_sites = |role: &FieldRole| role.at != At::Neighbours && role.holds != Holds::DoubledLinks;
        written.or_else(|| self.fields().filter(on_sites).last()).map_or("", |role| role.name)
    }

    /// Whether it reads doubled links, so that gauge compression and the order of the legs matter.
    pub fn reads_links(&self) -> bool {
        self.fields().any(|role| role.holds == Holds::DoubledLinks)
    }

    /// Whether it is given numbers that are the same at all sites.
    pub fn takes_scalars(&self) -> bool {
        self.arguments.iter().any(|argument| matches!(argument, Argument::Scalar(_) | Argument::Complex(_)))
    }

    /// Whether its target lies on one parity and its inputs on all sites.
    pub fn is_onto_parity_only(&self) -> bool {
        self.target_role().is_some_and(|target| target.at == At::Target)
            && self.fields().any(|role| role.at == At::All)
            && self.fields().all(|role| role.access != Access::Read || role.at == At::All)
            && self
                .arguments
                .iter()
                .any(|argument| matches!(argument, Argument::Computed(table) if table.rows == Rows::OsitesOfAllSites))
    }

    /// Whether its fields lie on all sites.
    pub fn is_full_only(&self) -> bool {
        self.target_role().is_some_and(|target| target.at == At::All)
    }

    fn target_role(&self) -> Option<FieldRole> {
        self.fields().find(|role| role.name == self.target())
    }

    /// Whether it takes several components a site, and not one alone.
    pub fn takes_parts(&self, parts: usize) -> bool {
        match self.geometry {
            Geometry::Stencil { over_parts: false, .. } => parts == 1,
            Geometry::Stencil { splits, accumulates, .. } if splits || accumulates => parts > 1,
            _ => parts > 0,
        }
    }

    /// Whether it uses the spinors of neighbours only as a hop does, projected to two spins. `legs`: in that order.
    pub fn projects_neighbours(&self, legs: LegOrder) -> bool {
        match self.source {
            KernelSource::Library => matches!(self.geometry, Geometry::Stencil { stages: true, .. }),
            KernelSource::Body(body) => body.projects_neighbours(self.name, legs),
            KernelSource::Files(_) => false,
        }
    }

    /// How far it reads a field from a site; none of one that it reads at the site alone, or writes. `legs`: in that order.
    pub fn reach(&self, role: &FieldRole, legs: LegOrder) -> Option<Reach> {
        match self.source {
            KernelSource::Body(body) => body.reach(self.name, role.name, legs),
            _ => (role.access == Access::Read && role.at == At::Neighbours).then_some(Reach::Nearest),
        }
    }

    /// Whether it runs on whole lattices alone: it reads corners of objects of which parts hold no sites of others.
    pub fn needs_whole_lattice(&self) -> bool {
        let is_body = matches!(self.source, KernelSource::Body(_));
        !is_body && self.arguments.iter().any(|argument| matches!(argument, Argument::OfNeighbours))
    }

    /// Whether it sums over sites.
    pub fn sums(&self) -> bool {
        matches!(self.cpu, HostFunction::Reduce(_))
    }

    /// Whether its fields have several right-hand sides.
    pub fn is_of_right_hand_sides(&self) -> bool {
        matches!(
            self.geometry,
            Geometry::RightHandSides | Geometry::SumOfRightHandSides | Geometry::SumOfPairsOfRightHandSides
        )
    }

    /// Whether it sums over each slice.
    pub fn sums_over_slices(&self) -> bool {
        matches!(self.geometry, Geometry::SumOfWordsInSlices | Geometry::SumOfSitesInSlices)
    }

    /// Whether it can be launched by itself.
    pub fn is_launched(&self) -> bool {
        self.geometry != Geometry::PartOfOthers
    }

    /// Whether its target can be of that precision.
    pub fn takes(&self, precision: Precision) -> bool {
        self.precisions.contains(&precision)
    }
}

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Kernel {}

impl std::hash::Hash for Kernel {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Serialize for Kernel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// A field that is read.
pub const fn read(name: &'static str, holds: Holds, at: At) -> FieldRole {
    FieldRole { name, access: Access::Read, holds, at }
}

/// A field that is written.
pub const fn write(name: &'static str, holds: Holds, at: At) -> FieldRole {
    FieldRole { name, access: Access::Write, holds, at }
}

/// A field that is read and written.
pub const fn update(name: &'static str, holds: Holds) -> FieldRole {
    FieldRole { name, access: Access::Update, holds, at: At::Target }
}

/// The operator, or its Hermitian conjugate.
pub const fn dagger_if(dagger: bool) -> Dagger {
    if dagger { Dagger::Yes } else { Dagger::No }
}

/// Evaluates `$work` with `$Real` standing for the type of a precision.
#[macro_export]
macro_rules! in_precision {
    ($precision:expr, $Real:ident => $work:expr) => {
        match $precision {
            $crate::reference::real::Precision::F32 => {
                type $Real = f32;
                $work
            }
            $crate::reference::real::Precision::F64 => {
                type $Real = f64;
                $work
            }
            $crate::reference::real::Precision::Half => {
                type $Real = $crate::reference::half::Half;
                $work
            }
        }
    };
}
