//! Products with the blocks of a clover term (`docs/arithmetic.md` §13), with and without a hop.

use lanefield_reference::field::{CloverBlocks, Spinors};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::clover::{self, FLOPS_PER_SITE};
use lanefield_reference::kernels::hop::{self, Dagger};
use lanefield_reference::layout::LEGS;
use lanefield_reference::scalar;

use super::BuildOption::{self, Define, Legs, PartsPerWorkItem, Reconstruct};
use super::KernelArgument::{self, Accumulators, Boundary, Field, Osites, Parts, SharedLinks, Stage, Stencil};
use super::hop::{IN, LINKS, OUT, hop_arguments, host_hop, plain_hop, variant};
use super::usual::USUAL;
use super::{Arguments, FieldContents, FieldSites, Geometry, Kernel, Shape, Work, read};
use crate::backend::{BackendError, FieldOn, HopOn, Launch};

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[
    &EO_CLOVER,
    &EO_CLOVER_DAGGER,
    &EO_CLOVER_MANY,
    &EO_CLOVER_MANY_DAGGER,
    &OE_CLOVER,
    &OE_CLOVER_DAGGER,
    &OE_CLOVER_MANY,
    &OE_CLOVER_MANY_DAGGER,
    &CLOVER_APPLY,
];

const BLOCKS: KernelArgument = Field(read("blocks", FieldContents::CloverBlocks, FieldSites::Target));
const CHI: KernelArgument = Field(read("chi", FieldContents::Spinors, FieldSites::Target));

const EO: &[KernelArgument] = &[OUT, BLOCKS, LINKS, IN, Stencil, Osites, Boundary, Stage, SharedLinks, Accumulators];
const EO_MANY: &[KernelArgument] =
    &[OUT, BLOCKS, LINKS, IN, Stencil, Osites, Boundary, Stage, SharedLinks, Parts, Accumulators];
const OE: &[KernelArgument] =
    &[OUT, BLOCKS, CHI, LINKS, IN, Stencil, Osites, Boundary, Stage, SharedLinks, Accumulators];
const OE_MANY: &[KernelArgument] =
    &[OUT, BLOCKS, CHI, LINKS, IN, Stencil, Osites, Boundary, Stage, SharedLinks, Parts, Accumulators];
const OF_ONE: &[BuildOption] = &[Reconstruct, Legs, PartsPerWorkItem("SPINORS_AT_ONCE"), BuildOption::Accumulators];
const OF_MANY: &[BuildOption] =
    &[Reconstruct, Legs, PartsPerWorkItem("SPINORS_AT_ONCE"), BuildOption::Accumulators, Define("MANY")];

/// `term`: whether χ is multiplied and the hop subtracted. `many`: for several spinors of a site.
const fn kernel(name: &'static str, computes: &'static str, dagger: Dagger, term: bool, many: bool) -> Kernel {
    Kernel {
        name,
        family: "clover",
        computes,
        dagger,
        arguments: match (term, many) {
            (false, false) => EO,
            (false, true) => EO_MANY,
            (true, false) => OE,
            (true, true) => OE_MANY,
        },
        options: if many { OF_MANY } else { OF_ONE },
        geometry: Geometry::Stencil { over_parts: many, stages: true, accumulates: true, splits: false },
        tuned_as: Some(match (term, many) {
            (false, false) => "eo_clover",
            (false, true) => "eo_clover_many",
            (true, false) => "oe_clover",
            (true, true) => "oe_clover_many",
        }),
        usual_parts: if many { 12 } else { 1 },
        work: |shape| {
            let flops = FLOPS_PER_SITE + hop::FLOPS_PER_SITE;
            match shape.field("chi") {
                None => work(shape, flops, 2),
                Some(_) => work(shape, flops + DIFFERENCE_FLOPS, 3),
            }
        },
        cpu: launch!(R, |call| {
            let (out, blocks) = (call.write::<R, Spinors>("out")?, call.read::<R, CloverBlocks>("blocks")?);
            match call.shape().field("chi") {
                None => clover::eo_clover(out, blocks, host_hop(call)?),
                Some(_) => clover::oe_clover(out, blocks, call.read("chi")?, host_hop(call)?),
            }
        }),
        plain: launch!(R, |call, links| {
            let (blocks, hop) = (call.data::<R>("blocks")?.to_site_order(), plain_hop::<R>(call, links)?);
            let result = match call.shape().field("chi") {
                None => scalar::clover_apply(&blocks, &hop),
                Some(_) => {
                    let mut result = scalar::clover_apply(&blocks, &call.data::<R>("chi")?.to_site_order());
                    scalar::axpy(-1.0, &hop, &mut result);
                    result
                }
            };
            call.data_mut::<R>("out")?.assign(&result)
        }),
        ..USUAL
    }
}

/// ψe = Mee⁻¹ Meo ψo. `blocks` are those of the inverse.
pub static EO_CLOVER: Kernel = kernel("eo_clover", "out = blocks · hop(in)", Dagger::No, false, false);
/// As [`EO_CLOVER`], with the Hermitian conjugate of the hop.
pub(crate) static EO_CLOVER_DAGGER: Kernel =
    kernel("eo_clover_dagger", "out = blocks · hop†(in)", Dagger::Yes, false, false);
/// As [`EO_CLOVER`], for several spinors of a site.
pub(crate) static EO_CLOVER_MANY: Kernel =
    kernel("eo_clover_many", "out = blocks · hop(in), several spinors a site", Dagger::No, false, true);
/// As [`EO_CLOVER_MANY`], with the Hermitian conjugate of the hop.
pub(crate) static EO_CLOVER_MANY_DAGGER: Kernel =
    kernel("eo_clover_many_dagger", "out = blocks · hop†(in), several spinors a site", Dagger::Yes, false, true);
/// χo = Moo χ − Moe ψe. `blocks` are those of the term.
pub static OE_CLOVER: Kernel = kernel("oe_clover", "out = blocks · chi − hop(in)", Dagger::No, true, false);
/// As [`OE_CLOVER`], with the Hermitian conjugate of the hop.
pub(crate) static OE_CLOVER_DAGGER: Kernel =
    kernel("oe_clover_dagger", "out = blocks · chi − hop†(in)", Dagger::Yes, true, false);
/// As [`OE_CLOVER`], for several spinors of a site.
pub(crate) static OE_CLOVER_MANY: Kernel =
    kernel("oe_clover_many", "out = blocks · chi − hop(in), several spinors a site", Dagger::No, true, true);
/// As [`OE_CLOVER_MANY`], with the Hermitian conjugate of the hop.
pub(crate) static OE_CLOVER_MANY_DAGGER: Kernel =
    kernel("oe_clover_many_dagger", "out = blocks · chi − hop†(in), several spinors a site", Dagger::Yes, true, true);

/// out = blocks · in.
pub(crate) static CLOVER_APPLY: Kernel = Kernel {
    name: "clover_apply",
    family: "clover",
    computes: "out = blocks · in",
    arguments: &[OUT, BLOCKS, Field(read("in", FieldContents::Spinors, FieldSites::Target)), Osites, Parts],
    options: &[Define("APPLY_ONLY")],
    geometry: Geometry::Parts { vectors: true },
    work: |shape| work(shape, FLOPS_PER_SITE, 2),
    cpu: launch!(R, |call| clover::clover_apply::<R>(call.write("out")?, call.read("blocks")?, call.read("in")?)),
    plain: launch!(R, |call, _| {
        let [blocks, x] = [call.data::<R>("blocks")?, call.data::<R>("in")?].map(|field| field.to_site_order());
        call.data_mut::<R>("out")?.assign(&scalar::clover_apply(&blocks, &x))
    }),
    ..USUAL
};

/// The flops of a difference of spinors. It is counted as an axpy.
const DIFFERENCE_FLOPS: u64 = 48;

/// `moved`: the number of spinors that are read or written for each spinor of a site.
fn work(shape: &Shape, flops: u64, moved: u64) -> Work {
    let (sites, spinors, real) = (shape.volume(), shape.parts() as u64, shape.real_bytes());
    let links = shape.links().map_or(0, |links| (LEGS * links.format.reals()) as u64 * real);
    let (spinor, blocks) = (2 * Spinors::WORDS as u64 * real, 2 * CloverBlocks::WORDS as u64 * real);
    Work { flops: sites * spinors * flops, bytes: sites * (links + blocks + spinors * moved * spinor) }
}

/// Products with clover blocks, on any backend.
pub trait CloverKernels: Launch {
    /// out = blocks · x, for each spinor of a site.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend. The same holds for every function of this trait.
    fn clover_apply<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, Spinors>,
        blocks: &FieldOn<Self, R, CloverBlocks>,
        x: &FieldOn<Self, R, Spinors>,
    ) -> Result<(), BackendError> {
        self.launch(Arguments::new(&CLOVER_APPLY).write("out", out).read("blocks", blocks).read("in", x).call()?)
    }

    /// out = inverse · hop: ψe = Mee⁻¹ Meo ψo. In f32 and f64 it has the bits of storing the hop, followed by [`Self::clover_apply`].
    fn eo_clover<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, Spinors>,
        inverse: &FieldOn<Self, R, CloverBlocks>,
        hop: HopOn<'_, Self, R>,
    ) -> Result<(), BackendError> {
        let kernels = [&EO_CLOVER, &EO_CLOVER_DAGGER, &EO_CLOVER_MANY, &EO_CLOVER_MANY_DAGGER];
        let kernel = variant(kernels, out.kind(), hop.dagger);
        let arguments = Arguments::new(kernel).write("out", out).read("blocks", inverse);
        self.launch(hop_arguments(arguments, hop).call()?)
    }

    /// out = term · χ − hop: χo = Moo χ − Moe ψe. In f32 and f64 it has the bits of [`Self::clover_apply`], followed by an axpy of −1 and the hop.
    fn oe_clover<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, Spinors>,
        term: &FieldOn<Self, R, CloverBlocks>,
        chi: &FieldOn<Self, R, Spinors>,
        hop: HopOn<'_, Self, R>,
    ) -> Result<(), BackendError> {
        let kernels = [&OE_CLOVER, &OE_CLOVER_DAGGER, &OE_CLOVER_MANY, &OE_CLOVER_MANY_DAGGER];
        let kernel = variant(kernels, out.kind(), hop.dagger);
        let arguments = Arguments::new(kernel).write("out", out).read("blocks", term).read("chi", chi);
        self.launch(hop_arguments(arguments, hop).call()?)
    }
}
