//! Backends: who holds fields and runs kernels. Operators and solvers are written once, over [`Backend`], and never ask which one they
//! run on: every backend gives the same bits.

mod cpu;
pub mod opencl;
pub mod select;
pub mod timeline;

use lanefield_reference::field::{
    CloverBlocks, ColourVectors, ComplexNumber, Field, FieldError, FieldStrength, Gauge, Repeated, SiteObject, Spinors,
};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::clover_term::CloverCoefficients;
use lanefield_reference::kernels::domain_wall::{DomainWallError, SMatrix};
use lanefield_reference::kernels::hop::{Dagger, HopTerm};
use lanefield_reference::layout::{
    Coordinate, Direction, LaneChoice, Lattice, LayoutError, LegOrder, Sites, Stencil, TreePlan,
};
use lanefield_reference::links::{DoubledGauge, LinkFormat};
use num_complex::Complex;
use thiserror::Error;

pub use cpu::{Cpu, Threads};
pub use lanefield_reference::kernels::reduce::Sum;
pub use opencl::OpenCl;

use opencl::OpenClError;

/// Why a backend could not do what it was asked. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BackendError {
    /// Fields that do not match, or cannot be made.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A lattice that cannot be laid out.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The OpenCL runtime.
    #[error(transparent)]
    OpenCl(#[from] OpenClError),
    /// A domain wall operator that cannot be.
    #[error(transparent)]
    DomainWall(#[from] DomainWallError),
    /// A kernel source that does not resolve.
    #[error(transparent)]
    Source(#[from] opencl::SourceError),
    /// A device without doubles.
    #[error("{device} has no f64: exact sums need it; choose another device, or --device cpu")]
    NoDoubles {
        /// The device.
        device: String,
    },
    /// Links that are rebuilt by f32 division, on a device that does not round it correctly.
    #[error(
        "{device} does not round f32 division correctly, by which links of 8 reals are rebuilt: use links of 18 or 12 reals, f64, or \
         --device cpu"
    )]
    NoRoundedDivision {
        /// The device.
        device: String,
    },
    /// A plan whose blocks the device cannot run as work-groups.
    #[error(
        "{device} takes at most {most} work-items a group, and the plan has {plan}: take a plan with smaller blocks, or replay this one \
         with --device cpu"
    )]
    PlanTooLarge {
        /// The plan.
        plan: TreePlan,
        /// The device.
        device: String,
        /// Its largest group.
        most: usize,
    },
    /// Another access width while fields are laid out for the present one.
    #[error("{held} fields are held in the layout for accesses of {present}; drop them before you choose {wanted}")]
    FieldsHeld {
        /// How many.
        held: usize,
        /// The present access width.
        present: opencl::AccessWidth,
        /// The one asked for.
        wanted: opencl::AccessWidth,
    },
    /// Another order of outer sites while fields, or stencils, are in the present one.
    #[error(
        "{held} fields and stencils are held with outer sites in the order {present}; drop them before you choose {wanted}"
    )]
    SitesHeld {
        /// How many.
        held: usize,
        /// The present order.
        present: opencl::SiteOrder,
        /// The one asked for.
        wanted: opencl::SiteOrder,
    },
    /// A sum that was to be finished by the group that retires last, on a device where that is not known to be sound.
    #[error("{device} cannot finish a sum by retirement count: {reason}; finish by second-kernel")]
    NoRetirement {
        /// The device.
        device: String,
        /// What is missing.
        reason: String,
    },
    /// A block of a clover term that has no inverse.
    #[error(
        "block {block} of the clover term at site x,y,z,t = {} is singular: pivot {pivot} with mass {mass}, csw_r {csw_r}, csw_t {csw_t}; \
         even-odd pieces need its inverse: change the mass, or act on the full lattice",
        site.map(|x| x.to_string()).join(",")
    )]
    SingularClover {
        /// The site.
        site: Coordinate,
        /// 0: spins 0 and 1; 1: spins 2 and 3.
        block: usize,
        /// The least pivot: 0 or not finite.
        pivot: f64,
        /// Bare quark mass.
        mass: f64,
        /// Coefficient of the spatial planes.
        csw_r: f64,
        /// Coefficient of the temporal planes.
        csw_t: f64,
    },
    /// A thread pool that could not be made.
    #[error("a pool of {threads} threads could not be started: {reason}; use --threads N with fewer")]
    Threads {
        /// The number asked for.
        threads: usize,
        /// What the system said.
        reason: String,
    },
    /// A sum that came back damaged from a device.
    #[error("{device} returned a sum that no terms can have: {reason}; its memory or its driver cannot be trusted")]
    DamagedSum {
        /// The device.
        device: String,
        /// What is impossible about it.
        reason: String,
    },
}

/// A field that a backend holds.
pub trait HeldField<K: SiteObject> {
    /// The lattice that it lies on.
    fn lattice(&self) -> &Lattice;
    /// The sites that it lives on.
    fn sites(&self) -> Sites;
    /// What it holds at each site.
    fn kind(&self) -> K;
}

impl<R: Vectors, K: SiteObject> HeldField<K> for Field<R, K> {
    fn lattice(&self) -> &Lattice {
        Field::lattice(self)
    }
    fn sites(&self) -> Sites {
        Field::sites(self)
    }
    fn kind(&self) -> K {
        Field::kind(self)
    }
}

/// A hop of fields that a backend holds, with which a kernel goes on.
pub type HeldHop<'a, B, R> =
    HopTerm<'a, <B as Backend>::Stencil, <B as Backend>::Field<R, DoubledGauge>, <B as Backend>::Field<R, Spinors>>;

/// Holds fields and runs kernels. Each operation is defined to the last bit in `docs/arithmetic.md`; scalars are f64 and rounded to the
/// fields' precision. Work may be queued: results are there when they are read.
///
/// Every function that takes several fields refuses those that do not match with [`BackendError::Field`], and passes on what the device
/// reports.
pub trait Backend {
    /// A field held by this backend.
    type Field<R: Vectors, K: SiteObject>: HeldField<K>;
    /// A stencil's tables held by this backend.
    type Stencil;
    /// A matrix along the fifth dimension held by this backend.
    type SMatrix<R: Vectors>;

    /// One line for people: the device and its driver, or the CPU's threads and vectors.
    fn describe(&self) -> String;

    /// The lanes for a lattice whose fields this backend is to hold: what was asked for, and in place of `auto` what suits it. No bit of any result
    /// depends on it.
    fn lanes(&self, asked_for: LaneChoice) -> LaneChoice {
        asked_for
    }

    /// Refuses a link format in which this backend's arithmetic would not have the bits of its definition.
    fn takes_links<R: Vectors>(&self, _format: LinkFormat) -> Result<(), BackendError> {
        Ok(())
    }

    /// A field of zeros.
    fn zeros<R: Vectors, K: SiteObject>(
        &self,
        lattice: Lattice,
        sites: Sites,
        kind: K,
    ) -> Result<Self::Field<R, K>, BackendError>;
    /// Makes all of a field +0.
    fn clear<R: Vectors, K: SiteObject>(&self, field: &mut Self::Field<R, K>) -> Result<(), BackendError>;
    /// Takes a field over from the host.
    fn upload<R: Vectors, K: SiteObject>(&self, field: Field<R, K>) -> Result<Self::Field<R, K>, BackendError>;
    /// A copy of a field on the host.
    fn download<R: Vectors, K: SiteObject>(&self, field: &Self::Field<R, K>) -> Result<Field<R, K>, BackendError>;
    /// Takes a stencil's tables over from the host.
    fn stencil(&self, stencil: Stencil) -> Result<Self::Stencil, BackendError>;

    /// out = the Wilson hop of `source`, at the stencil's sites.
    fn hop<R: Vectors>(
        &self,
        out: &mut Self::Field<R, Spinors>,
        stencil: &Self::Stencil,
        links: &Self::Field<R, DoubledGauge>,
        source: &Self::Field<R, Spinors>,
        legs: LegOrder,
        dagger: Dagger,
    ) -> Result<(), BackendError>;

    /// out = the field strengths F_μν of the six planes. `stencil`: that of all sites; `links`: from [`lanefield_reference::links::raw`].
    fn field_strength<R: Vectors>(
        &self,
        out: &mut Self::Field<R, FieldStrength>,
        stencil: &Self::Stencil,
        links: &Self::Field<R, Gauge>,
    ) -> Result<(), BackendError>;
    /// out = the clover term of a field strength.
    fn clover_term<R: Vectors>(
        &self,
        out: &mut Self::Field<R, CloverBlocks>,
        strength: &Self::Field<R, FieldStrength>,
        coefficients: CloverCoefficients,
    ) -> Result<(), BackendError>;
    /// out = the inverse of each block; pivots = (that of block 0, of block 1), 0 or not finite where a block is singular.
    fn clover_inverse<R: Vectors>(
        &self,
        out: &mut Self::Field<R, CloverBlocks>,
        pivots: &mut Self::Field<R, ComplexNumber>,
        term: &Self::Field<R, CloverBlocks>,
    ) -> Result<(), BackendError>;
    /// out = blocks · x.
    fn clover_apply<R: Vectors>(
        &self,
        out: &mut Self::Field<R, Spinors>,
        blocks: &Self::Field<R, CloverBlocks>,
        x: &Self::Field<R, Spinors>,
    ) -> Result<(), BackendError>;
    /// out = inverse · hop: ψe = Mee⁻¹ Meo ψo, with the bits of the hop, stored, and [`Self::clover_apply`].
    fn clover_inverse_hop<R: Vectors>(
        &self,
        out: &mut Self::Field<R, Spinors>,
        inverse: &Self::Field<R, CloverBlocks>,
        hop: HeldHop<'_, Self, R>,
    ) -> Result<(), BackendError>;
    /// out = term · χ − hop: χo = Moo χ − Moe ψe, with the bits of [`Self::clover_apply`], and [`Self::axpy`] of −1 and the hop.
    fn clover_minus_hop<R: Vectors>(
        &self,
        out: &mut Self::Field<R, Spinors>,
        term: &Self::Field<R, CloverBlocks>,
        chi: &Self::Field<R, Spinors>,
        hop: HeldHop<'_, Self, R>,
    ) -> Result<(), BackendError>;
    /// out = what x, on all sites, holds at the sites of out's parity.
    fn pick_checkerboard<R: Vectors, K: SiteObject>(
        &self,
        out: &mut Self::Field<R, K>,
        x: &Self::Field<R, K>,
    ) -> Result<(), BackendError>;

    /// out = x.
    fn copy<R: Vectors, K: SiteObject>(
        &self,
        out: &mut Self::Field<R, K>,
        x: &Self::Field<R, K>,
    ) -> Result<(), BackendError>;
    /// out = a · x.
    fn scale<R: Vectors, K: SiteObject>(
        &self,
        out: &mut Self::Field<R, K>,
        a: f64,
        x: &Self::Field<R, K>,
    ) -> Result<(), BackendError>;
    /// y ← a · x + y, fused.
    fn axpy<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &Self::Field<R, K>,
        y: &mut Self::Field<R, K>,
    ) -> Result<(), BackendError>;
    /// y ← a · x + y, fused, and |y|² of the result.
    fn axpy_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &Self::Field<R, K>,
        y: &mut Self::Field<R, K>,
        sum: Sum,
    ) -> Result<f64, BackendError>;
    /// y ← a · x + b · y, the first product fused, and |y|² of the result.
    fn axpby_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &Self::Field<R, K>,
        b: f64,
        y: &mut Self::Field<R, K>,
        sum: Sum,
    ) -> Result<f64, BackendError>;
    /// ψ ← a · p + ψ, then p ← b · p + r, with the old p in both.
    fn cg_update<R: Vectors, K: SiteObject>(
        &self,
        psi: &mut Self::Field<R, K>,
        p: &mut Self::Field<R, K>,
        r: &Self::Field<R, K>,
        a: f64,
        b: f64,
    ) -> Result<(), BackendError>;
    /// y ← a · x + y with a complex number a, by `madd`.
    fn complex_axpy<R: Vectors, K: SiteObject>(
        &self,
        a: Complex<f64>,
        x: &Self::Field<R, K>,
        y: &mut Self::Field<R, K>,
    ) -> Result<(), BackendError>;
    /// y ← b · y + x with a complex number b, by `madd`.
    fn complex_xpay<R: Vectors, K: SiteObject>(
        &self,
        x: &Self::Field<R, K>,
        b: Complex<f64>,
        y: &mut Self::Field<R, K>,
    ) -> Result<(), BackendError>;
    /// out = laplace_hop of each colour vector of `source`, at the stencil's sites.
    fn laplace_hop<R: Vectors>(
        &self,
        out: &mut Self::Field<R, ColourVectors>,
        stencil: &Self::Stencil,
        links: &Self::Field<R, DoubledGauge>,
        source: &Self::Field<R, ColourVectors>,
        legs: LegOrder,
    ) -> Result<(), BackendError>;
    /// |x|².
    fn norm2<R: Vectors, K: SiteObject>(&self, x: &Self::Field<R, K>, sum: Sum) -> Result<f64, BackendError>;
    /// out = x in another precision, rounded to nearest even, 16-bit storage by way of f32. The lanes of both must hold the same sites.
    fn convert<S: Vectors, R: Vectors, K: SiteObject>(
        &self,
        out: &mut Self::Field<S, K>,
        x: &Self::Field<R, K>,
    ) -> Result<(), BackendError>;
    /// The columns `columns` of `x`, in that order: of each site the parts c · `column_parts` and up.
    fn take_columns<R: Vectors, K: Repeated>(
        &self,
        x: &Self::Field<R, K>,
        columns: &[usize],
        column_parts: usize,
    ) -> Result<Self::Field<R, K>, BackendError>;
    /// Column `columns[k]` of `out` ← column k of `x`.
    fn put_columns<R: Vectors, K: Repeated>(
        &self,
        out: &mut Self::Field<R, K>,
        x: &Self::Field<R, K>,
        columns: &[usize],
        column_parts: usize,
    ) -> Result<(), BackendError>;
    /// Re ⟨x, y⟩ of each column of `column_parts` parts.
    fn column_products<R: Vectors, K: Repeated>(
        &self,
        x: &Self::Field<R, K>,
        y: &Self::Field<R, K>,
        column_parts: usize,
        sum: Sum,
    ) -> Result<Vec<f64>, BackendError>;
    /// y ← a · x + y, fused, with the a of each column, and |y|² of each.
    fn column_axpy_norm<R: Vectors, K: Repeated>(
        &self,
        a: &[f64],
        x: &Self::Field<R, K>,
        y: &mut Self::Field<R, K>,
        sum: Sum,
    ) -> Result<Vec<f64>, BackendError>;
    /// ψ ← a · p + ψ, then p ← b · p + r, with the old p in both, and the a and b of each column.
    fn column_cg_update<R: Vectors, K: Repeated>(
        &self,
        psi: &mut Self::Field<R, K>,
        p: &mut Self::Field<R, K>,
        r: &Self::Field<R, K>,
        a: &[f64],
        b: &[f64],
    ) -> Result<(), BackendError>;
    /// ⟨x, y⟩, antilinear in x.
    fn inner_product<R: Vectors, K: SiteObject>(
        &self,
        x: &Self::Field<R, K>,
        y: &Self::Field<R, K>,
        sum: Sum,
    ) -> Result<Complex<f64>, BackendError> {
        Ok(self.inner_products(&[x], y, sum)?[0])
    }
    /// ⟨x, y⟩ for each x of `xs`, antilinear in x; y is read once for several of them.
    fn inner_products<R: Vectors, K: SiteObject>(
        &self,
        xs: &[&Self::Field<R, K>],
        y: &Self::Field<R, K>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, BackendError>;
    /// The sum over all sites: a number for each complex word of the site object.
    fn sum<R: Vectors, K: SiteObject>(
        &self,
        x: &Self::Field<R, K>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, BackendError>;
    /// The sum over each slice across `direction`: for each slice in order, a number for each complex word.
    fn slice_sums<R: Vectors, K: SiteObject>(
        &self,
        x: &Self::Field<R, K>,
        direction: Direction,
        sum: Sum,
    ) -> Result<Vec<Vec<Complex<f64>>>, BackendError>;

    /// Takes a matrix along the fifth dimension over from the host, rounded to the fields' precision.
    fn s_matrix<R: Vectors>(&self, matrix: &SMatrix) -> Result<Self::SMatrix<R>, BackendError>;
    /// out = matrix · x along s, of each column of ls spinors.
    fn s_multiply<R: Vectors>(
        &self,
        out: &mut Self::Field<R, Spinors>,
        matrix: &Self::SMatrix<R>,
        x: &Self::Field<R, Spinors>,
    ) -> Result<(), BackendError>;
    /// out = matrix · x + z along s, fused; the matrix is tridiagonal.
    fn s_multiply_add<R: Vectors>(
        &self,
        out: &mut Self::Field<R, Spinors>,
        matrix: &Self::SMatrix<R>,
        x: &Self::Field<R, Spinors>,
        z: &Self::Field<R, Spinors>,
    ) -> Result<(), BackendError>;

    /// Seconds that the kernels of `work` take: device time where there are device events, else wall time.
    fn time(&self, work: &mut dyn FnMut() -> Result<(), BackendError>) -> Result<f64, BackendError>;
    /// Waits until all queued work is done.
    fn finish(&self) -> Result<(), BackendError>;
}

/// Parts of each of `columns` columns of fields of `kind`.
fn column_parts<K: SiteObject>(kind: K, columns: usize) -> Result<usize, FieldError> {
    let parts = kind.parts();
    match columns > 0 && parts.is_multiple_of(columns) {
        true => Ok(parts / columns),
        false => Err(FieldError::Mismatch {
            what: "scalars of columns",
            left: format!("{columns} scalars"),
            right: format!("fields of {parts} {}", kind.name()),
        }),
    }
}
