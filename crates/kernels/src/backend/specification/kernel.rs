//! The specification of a kernel, and a call of it. They refer to each other, because a specification has the functions that run its calls on the
//! host.

use std::fmt;

use lanefield_reference::extreme::Extreme;
use lanefield_reference::field::{FieldError, FieldShape};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::kernels::reduce::{PartialSums, Sum};
use lanefield_reference::layout::{Direction, LegOrder, Reach};
use lanefield_reference::links::BoundaryPhases;
use lanefield_reference::real::Precision;
use num_complex::Complex;
use serde::{Serialize, Serializer};

use super::roles::{
    Access, BuildOption, FieldContents, FieldRole, FieldSites, Geometry, KernelArgument, TableRows, read,
};
use crate::backend::any_field::AnyField;
use crate::backend::cpu::Cpu;
use crate::backend::memory::Memory;
use crate::backend::table::MatrixFacts;
use crate::backend::work::Work;
use crate::body::BodyKernel;

/// The bandwidth with which a kernel's speed is compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ceiling {
    /// Copy bandwidth, for a kernel that reads and writes.
    Copy,
    /// Read bandwidth, for a kernel that writes almost nothing.
    Read,
}

/// A function on host fields.
#[derive(Clone, Copy)]
pub enum HostFunction<L, S> {
    /// For a kernel that writes fields.
    Launch(L),
    /// For a kernel that also sums.
    Reduce(S),
    /// None, for a kernel that is a step of a sum.
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

/// A call on host fields.
pub type HostCall<'a> = Call<'a, Cpu>;

/// The CPU kernel: it computes on lane vectors, in parallel.
pub type CpuFunction = HostFunction<
    fn(&mut HostCall<'_>) -> Result<(), FieldError>,
    fn(&mut HostCall<'_>, Sum) -> Result<PartialSums, FieldError>,
>;

/// The links for the scalar reference.
#[derive(Clone, Copy, Debug)]
pub struct PlainLinks<'a> {
    /// The configuration of the doubled links of a call.
    pub configuration: &'a Configuration,
    /// Their boundary phases.
    pub boundary: BoundaryPhases,
}

/// The scalar reference: it computes site by site.
pub type PlainFunction = HostFunction<
    fn(&mut HostCall<'_>, &PlainLinks<'_>) -> Result<(), FieldError>,
    fn(&mut HostCall<'_>, &PlainLinks<'_>, Sum) -> Result<Vec<f64>, FieldError>,
>;

/// Where the OpenCL C of a kernel comes from.
#[derive(Clone, Copy, Debug)]
pub enum KernelSource {
    /// A file in `cl/` with the name of the family.
    Library,
    /// It is generated from a kernel function.
    Body(BodyKernel),
    /// The caller supplies it.
    Files(OwnFiles),
}

/// OpenCL C of the caller: file names and contents.
#[derive(Clone, Copy, Debug)]
pub struct OwnFiles(&'static [(&'static str, &'static str)]);

impl OwnFiles {
    /// Files of OpenCL C. One of them has the name [`Kernel::file`], and may include the others and those of `cl/`.
    ///
    /// # Safety
    /// The text is not checked. Its kernel must take the arguments of the specification in their order, and must not touch any other memory, for
    /// every lattice, precision and lane width that the specification allows.
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
    /// Its name: in OpenCL C, in tables and files, and on the command line.
    pub name: &'static str,
    /// Its family: the stem of its files.
    pub family: &'static str,
    /// What it computes, in one line.
    pub computes: &'static str,
    /// Whether it applies a Hermitian conjugate.
    pub dagger: Dagger,
    /// Its arguments, in the order of the OpenCL C kernel.
    pub arguments: &'static [KernelArgument],
    /// Parameters of its build other than precision, lanes and access width.
    pub options: &'static [BuildOption],
    /// How its work is divided among work-items.
    pub geometry: Geometry,
    /// The precisions that its target can have.
    pub precisions: &'static [Precision],
    /// The kernel whose tuning results it uses: itself, or the one of which it is the Hermitian conjugate. `None` if it has no tuning parameters.
    pub tuned_as: Option<&'static str>,
    /// The number of components of a site for which it is timed and tuned.
    pub usual_parts: usize,
    /// Floating-point operations by the convention of the field, and ideal bytes: each input read once, each output written once.
    pub work: fn(&Shape) -> Work,
    /// The bandwidth with which its speed is compared.
    pub ceiling: Ceiling,
    /// Where its OpenCL C comes from.
    pub source: KernelSource,
    /// The CPU kernel.
    pub cpu: CpuFunction,
    /// The scalar reference.
    pub plain: PlainFunction,
}

impl Kernel {
    /// The name of its file in `cl/`.
    pub fn file(&self) -> String {
        format!("{}.cl", self.family)
    }

    /// The fields that it reads or writes, by role; a list counts as one.
    pub fn fields(&self) -> impl Iterator<Item = FieldRole> {
        self.arguments.iter().filter_map(|argument| match *argument {
            KernelArgument::Field(role) => Some(role),
            KernelArgument::Fields(name, _) => Some(read(name, FieldContents::Any, FieldSites::Target)),
            _ => None,
        })
    }

    /// The name of the field that determines lattice, sites and components of a call: the first one that is written, or else the last one on its own
    /// sites, apart from links.
    pub fn target(&self) -> &'static str {
        let written = self.fields().find(|role| role.access != Access::Read);
        let on_sites =
            |role: &FieldRole| role.at != FieldSites::Neighbours && role.holds != FieldContents::DoubledLinks;
        written.or_else(|| self.fields().filter(on_sites).last()).map_or("", |role| role.name)
    }

    /// Whether it reads doubled links, so that gauge compression and the leg order matter.
    pub fn reads_links(&self) -> bool {
        self.fields().any(|role| role.holds == FieldContents::DoubledLinks)
    }

    /// Whether it has scalar arguments, which are the same at all sites.
    pub fn takes_scalars(&self) -> bool {
        self.arguments.iter().any(|argument| matches!(argument, KernelArgument::Scalar(_) | KernelArgument::Complex(_)))
    }

    /// Whether its target has one parity and its inputs have all sites.
    pub fn is_onto_parity_only(&self) -> bool {
        self.target_role().is_some_and(|target| target.at == FieldSites::Target)
            && self.fields().any(|role| role.at == FieldSites::All)
            && self.fields().all(|role| role.access != Access::Read || role.at == FieldSites::All)
            && self
                .arguments
                .iter()
                .any(|argument| matches!(argument, KernelArgument::Computed(table) if table.rows == TableRows::OsitesOfAllSites))
    }

    /// Whether its fields have all sites.
    pub fn is_full_only(&self) -> bool {
        self.target_role().is_some_and(|target| target.at == FieldSites::All)
    }

    fn target_role(&self) -> Option<FieldRole> {
        self.fields().find(|role| role.name == self.target())
    }

    /// Whether it supports this number of components of a site, rather than only one.
    pub fn takes_parts(&self, parts: usize) -> bool {
        match self.geometry {
            Geometry::Stencil { over_parts: false, .. } => parts == 1,
            Geometry::Stencil { splits, accumulates, .. } if splits || accumulates => parts > 1,
            _ => parts > 0,
        }
    }

    /// Whether it uses the spinors of neighbours only as a hop does, projected to two spins. `legs`: the leg order.
    pub(crate) fn projects_neighbours(&self, legs: LegOrder) -> bool {
        match self.source {
            KernelSource::Library => matches!(self.geometry, Geometry::Stencil { stages: true, .. }),
            KernelSource::Body(body) => body.projects_neighbours(self.name, legs),
            KernelSource::Files(_) => false,
        }
    }

    /// How far from a site it reads a field; `None` if it reads the field only at the site, or only writes it. `legs`: the leg order.
    pub fn reach(&self, role: &FieldRole, legs: LegOrder) -> Option<Reach> {
        match self.source {
            KernelSource::Body(body) => body.reach(self.name, role.name, legs),
            _ => (role.access == Access::Read && role.at == FieldSites::Neighbours).then_some(Reach::Nearest),
        }
    }

    /// Whether it runs only on whole lattices, because it reads diagonal neighbours, which halos do not contain.
    pub(crate) fn needs_whole_lattice(&self) -> bool {
        let is_body = matches!(self.source, KernelSource::Body(_));
        !is_body && self.arguments.iter().any(|argument| matches!(argument, KernelArgument::OfNeighbours))
    }

    /// Whether it sums over sites.
    pub fn sums(&self) -> bool {
        matches!(self.cpu, HostFunction::Reduce(_))
    }

    /// The extreme that it computes instead of sums.
    pub fn extreme(&self) -> Option<Extreme> {
        match self.source {
            KernelSource::Body(body) => body.extreme(),
            _ => None,
        }
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

    /// Whether it can be launched directly.
    pub fn is_launched(&self) -> bool {
        self.geometry != Geometry::PartOfOthers
    }

    /// Whether its target can have this precision.
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

/// A field of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FieldOfCall {
    /// Its name.
    pub name: &'static str,
    /// Its lattice, sites, object and precision.
    pub shape: FieldShape,
}

/// The shape of a call: its fields and what its work depends on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// Its target.
    pub target: FieldShape,
    /// All fields, the target among them.
    pub fields: Vec<FieldOfCall>,
    /// The order of the legs.
    pub legs: LegOrder,
    /// The matrix along s.
    pub matrix: Option<MatrixFacts>,
    /// Components of a right-hand side; if there is only one, those of a site.
    pub rhs_parts: usize,
    /// The direction of slices: sums are over the slices across it.
    pub direction: Direction,
    /// The number of fields of a list.
    pub listed: usize,
}

/// The value of an argument.
pub enum ArgumentValue<'a, S> {
    /// A field that is read.
    Read(&'a AnyField<S>),
    /// A field that is written.
    Write(&'a mut AnyField<S>),
    /// Fields that are read.
    Reads(Vec<&'a AnyField<S>>),
    /// A scalar.
    Scalar(f64),
    /// A complex one.
    Complex(Complex<f64>),
    /// A scalar for each right-hand side.
    Scalars(&'a [f64]),
    /// A list of numbers.
    Indices(&'a [usize]),
}

/// Implements conversions from numbers to values of arguments.
macro_rules! of_numbers {
    ($value:ident $(, $storage:ident)?) => {
        impl<'a $(, $storage)?> From<f64> for $value<'a $(, $storage)?> {
            fn from(number: f64) -> Self {
                Self::Scalar(number)
            }
        }
        impl<'a $(, $storage)?> From<::num_complex::Complex<f64>> for $value<'a $(, $storage)?> {
            fn from(number: ::num_complex::Complex<f64>) -> Self {
                Self::Complex(number)
            }
        }
        impl<'a $(, $storage)?> From<&'a [f64]> for $value<'a $(, $storage)?> {
            fn from(number: &'a [f64]) -> Self {
                Self::Scalars(number)
            }
        }
        impl<'a $(, $storage)?> From<&'a [usize]> for $value<'a $(, $storage)?> {
            fn from(number: &'a [usize]) -> Self {
                Self::Indices(number)
            }
        }
    };
}
pub(in crate::backend) use of_numbers;

of_numbers!(ArgumentValue, S);

/// A call of a kernel. Its arguments have been checked.
pub struct Call<'a, B: Memory + ?Sized> {
    pub(super) shape: Shape,
    pub(super) values: Vec<(&'static str, ArgumentValue<'a, B::Storage>)>,
    pub(super) stencil: Option<&'a B::Table>,
    pub(super) matrix: Option<&'a B::Table>,
}

/// The operator, or its Hermitian conjugate.
pub(crate) const fn dagger_if(dagger: bool) -> Dagger {
    if dagger { Dagger::Yes } else { Dagger::No }
}
