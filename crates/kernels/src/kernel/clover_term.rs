//! Field strength, clover term and its inverse (`docs/arithmetic.md` §13), and the extraction of one parity of a field.

use lanefield_reference::field::{CloverBlocks, ComplexNumber, FieldStrength, Gauge, SiteObject};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::clover_term::{self, CloverCoefficients};
use lanefield_reference::layout::{Sites, osites_in_full};
use lanefield_reference::real::Precision;
use lanefield_reference::scalar::{self, ScalarClover};

use super::KernelArgument::{Computed, Double, Field, Osites, Stencil, Words};
use super::usual::USUAL;
use super::{Arguments, ComputedTable, FieldContents, FieldSites, Geometry, HostCall, Kernel, PlainLinks};
use super::{Shape, TableRows, read, write};
use crate::backend::{BackendError, FieldOn, Launch};

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&FIELD_STRENGTH, &CLOVER_TERM, &CLOVER_INVERSE, &PICK_CHECKERBOARD];

/// Common fields. These kernels run once for an operator, so their flops are not counted.
const BASE: Kernel = Kernel {
    family: "clover_term",
    geometry: Geometry::Parts { vectors: false },
    // Blocks in half precision are those of f32, rounded.
    precisions: &Precision::OF_ARITHMETIC,
    ..USUAL
};

/// out = the field strengths F_μν of the six planes.
pub(crate) static FIELD_STRENGTH: Kernel = Kernel {
    name: "field_strength",
    computes: "out = F of the six planes, from links",
    arguments: &[
        Field(write("out", FieldContents::FieldStrength, FieldSites::All)),
        Field(read("links", FieldContents::Links, FieldSites::All)),
        Stencil,
        Osites,
    ],
    cpu: launch!(R, |call| clover_term::field_strength::<R>(
        call.write("out")?,
        call.host_stencil()?,
        call.read::<R, Gauge>("links")?
    )),
    plain: launch!(R, |call, links| {
        let result = plain_clover(links, call.shape(), coefficients(call)).field_strength::<R>();
        call.data_mut::<R>("out")?.assign(&result)
    }),
    ..BASE
};

/// out = the clover term of a field strength.
pub(crate) static CLOVER_TERM: Kernel = Kernel {
    name: "clover_term",
    computes: "out = clover term of strength",
    arguments: &[
        Field(write("out", FieldContents::CloverBlocks, FieldSites::Target)),
        Field(read("strength", FieldContents::FieldStrength, FieldSites::Target)),
        Double("diagonal"),
        Double("spatial"),
        Double("temporal"),
        Osites,
    ],
    cpu: launch!(R, |call| clover_term::clover_term::<R>(
        call.write("out")?,
        call.read::<R, FieldStrength>("strength")?,
        coefficients(call)
    )),
    plain: launch!(R, |call, links| {
        let strength = call.data::<R>("strength")?.to_site_order();
        let result = plain_clover(links, call.shape(), coefficients(call)).term(&strength);
        call.data_mut::<R>("out")?.assign(&result)
    }),
    ..BASE
};

/// out = the inverse of each block, and the pivots of both.
pub(crate) static CLOVER_INVERSE: Kernel = Kernel {
    name: "clover_inverse",
    computes: "out = inverse of the blocks of term; pivots",
    arguments: &[
        Field(write("out", FieldContents::CloverBlocks, FieldSites::Target)),
        Field(write("pivots", FieldContents::ComplexNumber, FieldSites::Target)),
        Field(read("term", FieldContents::CloverBlocks, FieldSites::Target)),
        Osites,
    ],
    geometry: Geometry::Sites,
    cpu: launch!(R, |call| clover_term::clover_inverse::<R>(
        call.write("out")?,
        call.write("pivots")?,
        call.read("term")?
    )),
    plain: launch!(R, |call, _| {
        let (inverse, pivots) = scalar::clover_inverse(&call.data::<R>("term")?.to_site_order());
        call.data_mut::<R>("out")?.assign(&inverse)?;
        call.data_mut::<R>("pivots")?.assign(&pivots)
    }),
    ..BASE
};

/// out = the values of x, a field on all sites, at the sites of out's parity.
pub(crate) static PICK_CHECKERBOARD: Kernel = Kernel {
    name: "pick_checkerboard",
    computes: "out = x at the sites of one parity",
    arguments: &[
        Field(write("out", FieldContents::Any, FieldSites::Target)),
        Field(read("x", FieldContents::Any, FieldSites::All)),
        Computed(ComputedTable {
            name: "osites in the full lattice",
            rows: TableRows::OsitesOfAllSites,
            make: |lattice, sites| match sites {
                Sites::Parity(parity) => osites_in_full(lattice, parity),
                Sites::Full => Ok((0..lattice.osites(sites) as u32).collect()),
            },
        }),
        Osites,
        Words,
    ],
    geometry: Geometry::Sites,
    cpu: launch!(R, |call| clover_term::pick_checkerboard::<R>(call.data_mut("out")?, call.data("x")?)),
    plain: launch!(R, |call, _| {
        let x = call.data::<R>("x")?.to_site_order();
        call.data_mut::<R>("out")?.assign(&x)
    }),
    ..BASE
};

fn coefficients(call: &HostCall<'_>) -> CloverCoefficients {
    let [diagonal, spatial, temporal] = ["diagonal", "spatial", "temporal"].map(|name| call.scalar(name));
    CloverCoefficients { diagonal, spatial, temporal }
}

/// The scalar reference of the clover term, with these coefficients.
fn plain_clover<'a>(links: &PlainLinks<'a>, shape: &Shape, of: CloverCoefficients) -> ScalarClover<'a> {
    let wilson = links.wilson(shape);
    ScalarClover { wilson, mass: of.diagonal - 4.0, csw_r: 2.0 * of.spatial, csw_t: 2.0 * of.temporal }
}

/// Kernels that compute clover terms, on any backend.
pub trait CloverTermKernels: Launch {
    /// out = the field strengths F_μν of the six planes. `stencil`: that of all sites. `links`: from [`lanefield_reference::links::raw`].
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend. The same holds for every function of this trait.
    fn field_strength<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, FieldStrength>,
        stencil: &Self::Table,
        links: &FieldOn<Self, R, Gauge>,
    ) -> Result<(), BackendError> {
        self.launch(Arguments::new(&FIELD_STRENGTH).write("out", out).stencil(stencil).read("links", links).call()?)
    }

    /// out = the clover term of a field strength.
    fn clover_term<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, CloverBlocks>,
        strength: &FieldOn<Self, R, FieldStrength>,
        coefficients: CloverCoefficients,
    ) -> Result<(), BackendError> {
        let CloverCoefficients { diagonal, spatial, temporal } = coefficients;
        let arguments = Arguments::new(&CLOVER_TERM).write("out", out).read("strength", strength);
        let scalars = [("diagonal", diagonal), ("spatial", spatial), ("temporal", temporal)];
        self.launch(scalars.into_iter().fold(arguments, |all, (name, value)| all.scalar(name, value)).call()?)
    }

    /// out = the inverse of each block; pivots = (that of block 0, of block 1), which is 0 or not finite if a block is singular.
    fn clover_inverse<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, CloverBlocks>,
        pivots: &mut FieldOn<Self, R, ComplexNumber>,
        term: &FieldOn<Self, R, CloverBlocks>,
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&CLOVER_INVERSE).write("out", out).write("pivots", pivots);
        self.launch(arguments.read("term", term).call()?)
    }

    /// out = the values of x, a field on all sites, at the sites of out's parity.
    fn pick_checkerboard<R: Vectors, K: SiteObject>(
        &self,
        out: &mut FieldOn<Self, R, K>,
        x: &FieldOn<Self, R, K>,
    ) -> Result<(), BackendError> {
        if out.sites() == Sites::Full {
            return Err(clover_term::not_a_parity(out.describe()).into());
        }
        self.launch(Arguments::new(&PICK_CHECKERBOARD).write("out", out).read("x", x).call()?)
    }
}
