//! Products with the blocks of a clover term (`docs/arithmetic.md` §13), alone and after a hop.

use lanefield_reference::field::{CloverBlocks, FieldError, Spinors};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::clover::{self, FLOPS_PER_SITE};
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::LEGS;
use lanefield_reference::links::LinkFormat;
use lanefield_reference::real::Precision;
use lanefield_reference::scalar::{self, SPINOR_WORDS};

use super::Argument::{self, Accumulators, Boundary, Field, Osites, Parts, SharedLinks, Stage, Stencil};
use super::BuildOption::{self, Define, Legs, PartsPerWorkItem, Reconstruct};
use super::hop::{IN, LINKS, OUT, hop_arguments, host_hop, plain_hops};
use super::plain::{components, together};
use super::{Arguments, At, Ceiling, Geometry, Holds, HostCall, HostFunction, Kernel, PlainLinks, Shape, Work, read};
use crate::backend::{BackendError, FieldOn, HopOn, Launch};
use crate::in_precision;

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

const BLOCKS: Argument = Field(read("blocks", Holds::CloverBlocks, At::Target));
const CHI: Argument = Field(read("chi", Holds::Spinors, At::Target));

const EO: &[Argument] = &[OUT, BLOCKS, LINKS, IN, Stencil, Osites, Boundary, Stage, SharedLinks, Accumulators];
const EO_MANY: &[Argument] =
    &[OUT, BLOCKS, LINKS, IN, Stencil, Osites, Boundary, Stage, SharedLinks, Parts, Accumulators];
const OE: &[Argument] = &[OUT, BLOCKS, CHI, LINKS, IN, Stencil, Osites, Boundary, Stage, SharedLinks, Accumulators];
const OE_MANY: &[Argument] =
    &[OUT, BLOCKS, CHI, LINKS, IN, Stencil, Osites, Boundary, Stage, SharedLinks, Parts, Accumulators];
const OF_ONE: &[BuildOption] = &[Reconstruct, Legs, PartsPerWorkItem("SPINORS_AT_ONCE"), BuildOption::Accumulators];
const OF_MANY: &[BuildOption] =
    &[Reconstruct, Legs, PartsPerWorkItem("SPINORS_AT_ONCE"), BuildOption::Accumulators, Define("MANY")];

/// `term`: whether χ is multiplied, and the hop subtracted.
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
        precisions: &Precision::ALL,
        tuned_as: Some(match (term, many) {
            (false, false) => "eo_clover",
            (false, true) => "eo_clover_many",
            (true, false) => "oe_clover",
            (true, true) => "oe_clover_many",
        }),
        usual_parts: if many { 12 } else { 1 },
        work: if term { work_of_oe } else { work_of_eo },
        ceiling: Ceiling::Copy,
        cpu: HostFunction::Launch(if term { cpu_of_oe } else { cpu_of_eo }),
        plain: HostFunction::Launch(if term { plain_of_oe } else { plain_of_eo }),
    }
}

/// ψe = Mee⁻¹ Meo ψo: `blocks` are the inverse ones.
pub static EO_CLOVER: Kernel = kernel("eo_clover", "out = blocks · hop(in)", Dagger::No, false, false);
/// The same with the hop's Hermitian conjugate.
pub static EO_CLOVER_DAGGER: Kernel = kernel("eo_clover_dagger", "out = blocks · hop†(in)", Dagger::Yes, false, false);
/// The same of several spinors a site.
pub static EO_CLOVER_MANY: Kernel =
    kernel("eo_clover_many", "out = blocks · hop(in), several spinors a site", Dagger::No, false, true);
/// The same of several spinors a site, with the hop's Hermitian conjugate.
pub static EO_CLOVER_MANY_DAGGER: Kernel =
    kernel("eo_clover_many_dagger", "out = blocks · hop†(in), several spinors a site", Dagger::Yes, false, true);
/// χo = Moo χ − Moe ψe: `blocks` are those of the term.
pub static OE_CLOVER: Kernel = kernel("oe_clover", "out = blocks · chi − hop(in)", Dagger::No, true, false);
/// The same with the hop's Hermitian conjugate.
pub static OE_CLOVER_DAGGER: Kernel =
    kernel("oe_clover_dagger", "out = blocks · chi − hop†(in)", Dagger::Yes, true, false);
/// The same of several spinors a site.
pub static OE_CLOVER_MANY: Kernel =
    kernel("oe_clover_many", "out = blocks · chi − hop(in), several spinors a site", Dagger::No, true, true);
/// The same of several spinors a site, with the hop's Hermitian conjugate.
pub static OE_CLOVER_MANY_DAGGER: Kernel =
    kernel("oe_clover_many_dagger", "out = blocks · chi − hop†(in), several spinors a site", Dagger::Yes, true, true);

/// out = blocks · in.
pub static CLOVER_APPLY: Kernel = Kernel {
    name: "clover_apply",
    family: "clover",
    computes: "out = blocks · in",
    dagger: Dagger::No,
    arguments: &[OUT, BLOCKS, Field(read("in", Holds::Spinors, At::Target)), Osites, Parts],
    options: &[Define("APPLY_ONLY")],
    geometry: Geometry::Parts { vectors: true },
    precisions: &Precision::ALL,
    tuned_as: None,
    usual_parts: 1,
    work: work_of_apply,
    ceiling: Ceiling::Copy,
    cpu: HostFunction::Launch(cpu_of_apply),
    plain: HostFunction::Launch(plain_of_apply),
};

/// Operations of a difference of spinors, counted as an axpy.
const DIFFERENCE_FLOPS: u64 = 48;

/// `moved`: spinors that are read or written for each of a site.
fn work(shape: &Shape, links: Option<LinkFormat>, flops: u64, moved: u64) -> Work {
    let (sites, spinors, real) = (shape.volume(), shape.parts() as u64, shape.real_bytes());
    let links = links.map_or(0, |format| (LEGS * format.reals()) as u64 * real);
    let (spinor, blocks) = (2 * Spinors::WORDS as u64 * real, 2 * CloverBlocks::WORDS as u64 * real);
    Work { flops: sites * spinors * flops, bytes: sites * (links + blocks + spinors * moved * spinor) }
}

fn work_of_eo(shape: &Shape) -> Work {
    let flops = FLOPS_PER_SITE + lanefield_reference::kernels::hop::FLOPS_PER_SITE;
    work(shape, shape.links().map(|links| links.format), flops, 2)
}

fn work_of_oe(shape: &Shape) -> Work {
    let flops = FLOPS_PER_SITE + lanefield_reference::kernels::hop::FLOPS_PER_SITE + DIFFERENCE_FLOPS;
    work(shape, shape.links().map(|links| links.format), flops, 3)
}

fn work_of_apply(shape: &Shape) -> Work {
    work(shape, None, FLOPS_PER_SITE, 2)
}

fn cpu_of_eo(call: &mut HostCall<'_>) -> Result<(), FieldError> {
    in_precision!(call.shape().precision(), R => {
        let out = call.write::<R, Spinors>("out")?;
        clover::eo_clover(out, call.read::<R, CloverBlocks>("blocks")?, host_hop::<R>(call)?)
    })
}

fn cpu_of_oe(call: &mut HostCall<'_>) -> Result<(), FieldError> {
    in_precision!(call.shape().precision(), R => {
        let out = call.write::<R, Spinors>("out")?;
        let (blocks, chi) = (call.read::<R, CloverBlocks>("blocks")?, call.read::<R, Spinors>("chi")?);
        clover::oe_clover(out, blocks, chi, host_hop::<R>(call)?)
    })
}

fn cpu_of_apply(call: &mut HostCall<'_>) -> Result<(), FieldError> {
    in_precision!(call.shape().precision(), R => {
        let out = call.write::<R, Spinors>("out")?;
        clover::clover_apply(out, call.read::<R, CloverBlocks>("blocks")?, call.read::<R, Spinors>("in")?)
    })
}

fn plain_of_eo(call: &mut HostCall<'_>, links: &PlainLinks<'_>) -> Result<(), FieldError> {
    in_precision!(call.shape().precision(), R => {
        let blocks = call.data::<R>("blocks")?.to_site_order();
        let hops = plain_hops::<R>(call, links)?;
        let results: Vec<_> = hops.iter().map(|hop| scalar::clover_apply(&blocks, hop)).collect();
        call.data_mut::<R>("out")?.assign(&together(&results, SPINOR_WORDS))
    })
}

fn plain_of_oe(call: &mut HostCall<'_>, links: &PlainLinks<'_>) -> Result<(), FieldError> {
    in_precision!(call.shape().precision(), R => {
        let [blocks, chi] = [call.data::<R>("blocks")?, call.data::<R>("chi")?].map(|field| field.to_site_order());
        let chi = components(&chi, SPINOR_WORDS, call.shape().parts());
        let of_spinor = |(chi, hop): (&Vec<_>, &Vec<_>)| {
            let mut result = scalar::clover_apply(&blocks, chi);
            scalar::axpy(-1.0, hop, &mut result);
            result
        };
        let results: Vec<_> = chi.iter().zip(&plain_hops::<R>(call, links)?).map(of_spinor).collect();
        call.data_mut::<R>("out")?.assign(&together(&results, SPINOR_WORDS))
    })
}

fn plain_of_apply(call: &mut HostCall<'_>, _: &PlainLinks<'_>) -> Result<(), FieldError> {
    in_precision!(call.shape().precision(), R => {
        let [blocks, x] = [call.data::<R>("blocks")?, call.data::<R>("in")?].map(|field| field.to_site_order());
        let x = components(&x, SPINOR_WORDS, call.shape().parts());
        let results: Vec<_> = x.iter().map(|x| scalar::clover_apply(&blocks, x)).collect();
        call.data_mut::<R>("out")?.assign(&together(&results, SPINOR_WORDS))
    })
}

/// Products with clover blocks, on any backend.
pub trait CloverKernels: Launch {
    /// out = blocks · x, of each spinor of a site.
    ///
    /// # Errors
    /// [`BackendError::Argument`] for fields that do not match; what the backend reports; so for every function here.
    fn clover_apply<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, Spinors>,
        blocks: &FieldOn<Self, R, CloverBlocks>,
        x: &FieldOn<Self, R, Spinors>,
    ) -> Result<(), BackendError> {
        self.launch(Arguments::new(&CLOVER_APPLY).write("out", out).read("blocks", blocks).read("in", x).call()?)
    }

    /// out = inverse · hop: ψe = Mee⁻¹ Meo ψo. In f32 and f64 it has the bits of the hop, stored, and [`Self::clover_apply`].
    fn eo_clover<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, Spinors>,
        inverse: &FieldOn<Self, R, CloverBlocks>,
        hop: HopOn<'_, Self, R>,
    ) -> Result<(), BackendError> {
        let kernel = match (out.kind().count(), hop.dagger) {
            (1, Dagger::No) => &EO_CLOVER,
            (1, Dagger::Yes) => &EO_CLOVER_DAGGER,
            (_, Dagger::No) => &EO_CLOVER_MANY,
            (_, Dagger::Yes) => &EO_CLOVER_MANY_DAGGER,
        };
        let arguments = Arguments::new(kernel).write("out", out).read("blocks", inverse);
        self.launch(hop_arguments(arguments, hop).call()?)
    }

    /// out = term · χ − hop: χo = Moo χ − Moe ψe. In f32 and f64 it has the bits of [`Self::clover_apply`], and an axpy of −1 and the hop.
    fn oe_clover<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, Spinors>,
        term: &FieldOn<Self, R, CloverBlocks>,
        chi: &FieldOn<Self, R, Spinors>,
        hop: HopOn<'_, Self, R>,
    ) -> Result<(), BackendError> {
        let kernel = match (out.kind().count(), hop.dagger) {
            (1, Dagger::No) => &OE_CLOVER,
            (1, Dagger::Yes) => &OE_CLOVER_DAGGER,
            (_, Dagger::No) => &OE_CLOVER_MANY,
            (_, Dagger::Yes) => &OE_CLOVER_MANY_DAGGER,
        };
        let arguments = Arguments::new(kernel).write("out", out).read("blocks", term).read("chi", chi);
        self.launch(hop_arguments(arguments, hop).call()?)
    }
}

impl<B: Launch + ?Sized> CloverKernels for B {}
