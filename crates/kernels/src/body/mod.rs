//! Kernels that are written once. A kernel function is a generic Rust function that computes a site ([`Body`], in the reference, where it runs on
//! lane vectors). Here it is recorded ([`record()`]): it runs once with numbers that note every operation. The recording ([`program::Program`]) is
//! used to count operations, and is written in other languages ([`opencl`], [`c`]).
//!
//! Each kernel has a structure with its arguments, which borrows outputs mutably. So two outputs, or an output and an input, cannot be the same
//! field:
//!
//! ```compile_fail,E0502
//! use lanefield::backend::{BackendError, Cpu, FieldOn, Memory};
//! use lanefield::body::prelude::*;
//!
//! /// The sum over the neighbours.
//! #[lane_kernel]
//! fn neighbours_of<S: Site>(site: S, sum: Write<S, Spinors>, psi: Neighbours<S, Spinors>) {
//!     let mut total = Spinor::empty_sum();
//!     for leg in site.legs() {
//!         total = total + psi.at(leg);
//!     }
//!     sum.write(total);
//! }
//!
//! fn onto_itself(
//!     cpu: &Cpu,
//!     stencil: &<Cpu as Memory>::Table,
//!     psi: &mut FieldOn<Cpu, f64, Spinors>,
//! ) -> Result<(), BackendError> {
//!     NeighboursOf { sum: &mut *psi, psi: &*psi }.launch(cpu, stencil)
//! }
//! ```

pub mod c;
pub mod dialect;
pub mod opencl;
pub mod program;
mod projection;
pub mod record;
pub mod recording;
pub mod sites;
pub mod text;

use std::sync::{Arc, Mutex, PoisonError};

use lanefield_reference::extreme::Extreme;
use lanefield_reference::kernels::bodies::CompiledBody;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{LegOrder, Reach};

use program::Program;
use sites::SiteLanguage;

pub use lanefield_macros::{check_kernel, lane_kernel};
pub use lanefield_reference::body::*;
pub use record::record;

/// Everything that is needed to write a kernel function: `use lanefield::body::prelude::*`.
pub mod prelude {
    pub use lanefield_macros::{check_kernel, lane_kernel};
    pub use lanefield_reference::body::functions::Functions as _;
    pub use lanefield_reference::body::number::{Choice as _, ComplexNumber as _, Number as _, RealNumber as _};
    pub use lanefield_reference::body::value::{
        ColourVector, HalfSpinor, Links4, List, Matrix, One, SpinColourMatrix, Spinor, WordList,
    };
    pub use lanefield_reference::body::{
        Any, ComplexScalar, ComplexSliceSum, ComplexSum, Converted, Coordinates, EvenDistance, ExactSum, Greatest,
        Least, Links, Neighbours, OddDistance, Read, Scalar, Site, SliceSum, Update, Write,
    };
    pub use lanefield_reference::kernels::hop::Dagger;
    pub use lanefield_reference::layout::{Direction, Displacement, Leg};
    pub use lanefield_reference::object::{ColourMatrix, ColourVectors, ComplexNumber, Gauge, Propagator, Spinors};
}

/// An error of a kernel function. Messages are fragments.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum BodyError {
    #[error(
        "the body of {kernel} has {statements} statements, but at most {most} are supported: write a long loop as a `repeat`, or split the \
         kernel in two"
    )]
    TooLong { kernel: &'static str, statements: usize, most: usize },
    #[error(
        "the body of {kernel} did not do the same when it was recorded twice: it must depend only on its arguments, not on a clock, a random number, or what \
         it did before"
    )]
    Impure { kernel: &'static str },
    #[error("the body of {kernel} panicked: {why}")]
    Panicked { kernel: &'static str, why: String },
    #[error(
        "the body of {kernel} never writes {argument}: write it, add to it if it is a sum, or leave the argument out"
    )]
    Unwritten { kernel: &'static str, argument: &'static str },
    #[error(
        "the body of {kernel} does not write every word of {argument}: write them within `site.repeat({argument}.words(), …)`, or make it an Update"
    )]
    PartlyWritten { kernel: &'static str, argument: &'static str },
    #[error(
        "the body of {kernel} adds several terms of a site to {argument}: a sum over slices, or by a tree plan, has one term \
         for each component of a site; add them first"
    )]
    SeveralTerms { kernel: &'static str, argument: &'static str },
    #[error("the body of {kernel} {does}: {expected}")]
    Unsupported { kernel: &'static str, does: &'static str, expected: &'static str },
}

/// A kernel function, as part of a kernel's specification.
#[derive(Clone, Copy)]
pub struct BodyKernel {
    /// The names of its arguments.
    pub names: &'static [&'static str],
    /// Their roles.
    pub roles: &'static [Role],
    /// Records it: for a kernel of this name, with this leg order, or as the Hermitian conjugate.
    pub record: fn(&'static str, LegOrder, Dagger) -> Result<Program<SiteLanguage>, BodyError>,
    /// Whether it is the Hermitian conjugate.
    pub dagger: Dagger,
    /// Its CPU implementation.
    pub compiled: CompiledBody,
}

/// Recordings, by the function that makes them.
static RECORDED: Mutex<Vec<Recorded>> = Mutex::new(Vec::new());

type Recorded = (BodyKernel, &'static str, LegOrder, Arc<Program<SiteLanguage>>);

impl BodyKernel {
    /// The recording. It is made once.
    ///
    /// # Errors
    /// The errors of [`record()`], and an output that is never written.
    pub fn program(&self, name: &'static str, legs: LegOrder) -> Result<Arc<Program<SiteLanguage>>, BodyError> {
        let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = recorded.iter().find(|(body, of, order, _)| {
            std::ptr::fn_addr_eq(body.record, self.record) && (*of, *order) == (name, legs)
        });
        if let Some((.., program)) = known {
            return Ok(Arc::clone(program));
        }
        let program = (self.record)(name, legs, self.dagger)?;
        for (number, (role, &argument)) in self.roles.iter().zip(self.names).enumerate() {
            let is_written = |all| program.writes(number, all);
            match role {
                Role::Field { used: FieldUse::Write, .. } if is_written(false) && !is_written(true) => {
                    return Err(BodyError::PartlyWritten { kernel: name, argument });
                }
                Role::Field { used: FieldUse::Write | FieldUse::Update, .. }
                | Role::Sums(_)
                | Role::SliceSums(_)
                | Role::Extreme(_)
                    if !is_written(false) =>
                {
                    return Err(BodyError::Unwritten { kernel: name, argument });
                }
                _ => {}
            }
        }
        if self.sums_over_slices() {
            self.check_terms(name, &program)?;
        }
        let program = Arc::new(program);
        recorded.push((*self, name, legs, Arc::clone(&program)));
        Ok(program)
    }

    /// Refuses a kernel function whose sums cannot be computed by a tree or over slices.
    ///
    /// # Errors
    /// The errors of [`Self::program`], and a site that adds several terms to a sum.
    pub fn check_ordered(&self, name: &'static str, legs: LegOrder) -> Result<(), BodyError> {
        self.check_terms(name, &*self.program(name, legs)?)
    }

    fn check_terms(&self, kernel: &'static str, program: &Program<SiteLanguage>) -> Result<(), BodyError> {
        match program.several_terms() {
            Some(argument) => Err(BodyError::SeveralTerms { kernel, argument: self.names[argument] }),
            None => Ok(()),
        }
    }

    /// Whether it uses the spinors of neighbours only as a hop does, projected to two spins.
    pub fn projects_neighbours(&self, name: &'static str, legs: LegOrder) -> bool {
        self.program(name, legs).is_ok_and(|program| projection::projects(&program, self.dagger))
    }

    /// How far from a site it reads a field; `None` if it reads the field only at the site.
    pub fn reach(&self, name: &'static str, field: &str, legs: LegOrder) -> Option<Reach> {
        let argument = self.names.iter().position(|known| *known == field)?;
        match self.roles[argument] {
            Role::Field { used: FieldUse::Neighbours, .. } => Some(Reach::Nearest),
            Role::Field { used: FieldUse::OddDistance | FieldUse::EvenDistance, .. } => {
                self.program(name, legs).ok()?.reach(argument)
            }
            _ => None,
        }
    }

    /// Drops the recording, if the kernel function has changed.
    pub fn forget(&self) {
        let mut recorded = RECORDED.lock().unwrap_or_else(PoisonError::into_inner);
        recorded.retain(|(body, ..)| !std::ptr::fn_addr_eq(body.record, self.record));
    }

    /// The kernel function `B`, with names for its arguments.
    pub const fn new<B: Body>(names: &'static [&'static str]) -> Self {
        assert!(names.len() == B::ROLES.len(), "a name for each argument");
        Self { names, roles: B::ROLES, record: record::<B>, dagger: Dagger::No, compiled: CompiledBody::of::<B>() }
    }

    /// As [`Self::new`], with native versions for the CPU ([`CompiledBody::hot`]). They take minutes to compile, so unit tests do without.
    pub const fn hot<B: Body>(names: &'static [&'static str]) -> Self {
        let compiled = if cfg!(test) { CompiledBody::of::<B>() } else { CompiledBody::hot::<B>() };
        Self { compiled, ..Self::new::<B>(names) }
    }

    /// The kernel function, or its Hermitian conjugate.
    pub const fn with_dagger(self, dagger: Dagger) -> Self {
        Self { dagger, ..self }
    }

    /// Whether it reads at neighbours.
    pub const fn is_stencil(&self) -> bool {
        uses_neighbours(self.roles)
    }

    /// Whether it reads at displacements.
    pub const fn uses_displacements(&self) -> bool {
        uses_displacements(self.roles)
    }

    /// Whether it loops over the words of any object that its target has.
    pub fn is_of_words(&self) -> bool {
        self.roles.iter().any(|role| matches!(role, Role::Field { object: None, .. }))
    }

    /// The number of the argument that is a field in any precision.
    pub fn converted(&self) -> Option<usize> {
        self.roles.iter().position(|role| matches!(role, Role::Field { used: FieldUse::Converted, .. }))
    }

    /// The number of its sums.
    pub fn sums(&self) -> usize {
        self.first_sum(self.roles.len())
    }

    /// Whether it sums over slices.
    pub const fn sums_over_slices(&self) -> bool {
        sums_over_slices(self.roles)
    }

    /// The extreme that it computes instead of sums.
    pub const fn extreme(&self) -> Option<Extreme> {
        extreme(self.roles)
    }

    /// The number of the first sum of an argument.
    pub fn first_sum(&self, argument: usize) -> usize {
        self.roles[..argument].iter().map(|role| role.sums()).sum()
    }

    /// Whether it uses coordinates.
    pub fn uses_coordinates(&self) -> bool {
        self.roles.contains(&Role::Coordinates)
    }
}

impl std::fmt::Debug for BodyKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BodyKernel").field("names", &self.names).field("roles", &self.roles).finish_non_exhaustive()
    }
}
