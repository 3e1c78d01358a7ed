//! Twisted mass fermions (`docs/arithmetic.md` §17): a spinor times a + i·b·γ5, alone and together with a Wilson hop. The kernels are bodies; their
//! twins are made of the plain loops in `reference/src/scalar/twisted_mass.rs`.

use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::HopTerm;
use lanefield_reference::scalar;
use num_complex::Complex;

use super::twin::PlainCall;
use super::with_hop::{of_dagger, wilson_hop};
use super::{Arguments, Kernel, Value};
use crate::backend::{BackendError, FieldOn, HopOn, Launch};
use crate::body::prelude::*;

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[
    &TWISTED_MASS_FULL,
    &TWISTED_MASS_FULL_DAGGER,
    &EO_TWISTED_MASS,
    &EO_TWISTED_MASS_DAGGER,
    &OE_TWISTED_MASS,
    &OE_TWISTED_MASS_DAGGER,
    &TWISTED_MASS_APPLY,
];

/// out = (a.re + i·a.im·γ5)·x.
#[lane_kernel(family = "twisted_mass", twin = twisted_mass_apply_twin)]
pub fn twisted_mass_apply<S: Site>(out: Write<S, Spinors>, a: ComplexScalar<S>, x: Read<S, Spinors>) {
    out.write(x.here().twisted(a.get()));
}

fn twisted_mass_apply_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let a = call.complex("a");
    for site in call.sites() {
        for part in 0..call.parts() {
            let x = call.read("x", site, part);
            call.write("out", site, part, &scalar::twist(a, &x));
        }
    }
}

/// out = (a.re + i·a.im·γ5)·hop(psi).
#[lane_kernel(family = "twisted_mass", twin = eo_twisted_mass_twin, dagger)]
pub fn eo_twisted_mass<S: Site>(
    site: S,
    out: Write<S, Spinors>,
    a: ComplexScalar<S>,
    links: Links<S>,
    psi: Neighbours<S, Spinors>,
) {
    out.write(wilson_hop(site, links, psi).twisted(a.get()));
}

fn eo_twisted_mass_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    twin(call, product);
}

/// out = (a.re + i·a.im·γ5)·x + hop(psi).
#[lane_kernel(family = "twisted_mass", twin = twisted_mass_full_twin, dagger)]
pub fn twisted_mass_full<S: Site>(
    site: S,
    out: Write<S, Spinors>,
    a: ComplexScalar<S>,
    x: Read<S, Spinors>,
    links: Links<S>,
    psi: Neighbours<S, Spinors>,
) {
    out.write(x.here().twisted_add(a.get(), wilson_hop(site, links, psi)));
}

fn twisted_mass_full_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    twin(call, sum);
}

/// out = (a.re + i·a.im·γ5)·x − hop(psi).
#[lane_kernel(family = "twisted_mass", twin = oe_twisted_mass_twin, dagger)]
pub fn oe_twisted_mass<S: Site>(
    site: S,
    out: Write<S, Spinors>,
    a: ComplexScalar<S>,
    x: Read<S, Spinors>,
    links: Links<S>,
    psi: Neighbours<S, Spinors>,
) {
    out.write(x.here().twisted(a.get()) - wilson_hop(site, links, psi));
}

fn oe_twisted_mass_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    twin(call, difference);
}

/// A number, x and a hop, spinor by spinor.
type Made<R> = fn(Complex<R>, &[Complex<R>], &[Complex<R>]) -> Vec<Complex<R>>;

fn product<R: Vectors>(a: Complex<R>, _: &[Complex<R>], hop: &[Complex<R>]) -> Vec<Complex<R>> {
    scalar::twist(a, hop)
}

fn sum<R: Vectors>(a: Complex<R>, x: &[Complex<R>], hop: &[Complex<R>]) -> Vec<Complex<R>> {
    scalar::twist_add(a, x, hop)
}

fn difference<R: Vectors>(a: Complex<R>, x: &[Complex<R>], hop: &[Complex<R>]) -> Vec<Complex<R>> {
    scalar::twist(a, x).into_iter().zip(hop).map(|(x, hop)| x - hop).collect()
}

/// The twin of a kernel that makes its result of a, x and the hop of psi; x is empty where it has none.
fn twin<R: Vectors>(call: &mut PlainCall<'_, R>, made: Made<R>) {
    let (a, hop, parts) = (call.complex("a"), call.wilson_hop("psi", call.dagger()), call.parts());
    for site in call.sites() {
        for part in 0..parts {
            let x = if call.has("x") { call.read("x", site, part) } else { Vec::new() };
            let hop = &hop[Spinors::WORDS * (parts * site + part)..][..Spinors::WORDS];
            call.write("out", site, part, &made(a, &x, hop));
        }
    }
}

/// What twisted mass fermions are made of, on any backend. A number a stands for a.re + i·a.im·γ5.
pub trait TwistedMassKernels: Launch {
    /// out = a·x, of each spinor of a site.
    ///
    /// # Errors
    /// [`BackendError::Argument`] for fields that do not match; what the backend reports; so for every function here.
    fn twisted_mass_apply<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, Spinors>,
        a: Complex<f64>,
        x: &FieldOn<Self, R, Spinors>,
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&TWISTED_MASS_APPLY).write("out", out).value("a", Value::Complex(a));
        self.launch(arguments.read("x", x).call()?)
    }

    /// out = a·hop. In f32 and f64 it has the bits of the hop, stored, and [`Self::twisted_mass_apply`].
    fn eo_twisted_mass<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, Spinors>,
        a: Complex<f64>,
        hop: HopOn<'_, Self, R>,
    ) -> Result<(), BackendError> {
        let kernel = of_dagger([&EO_TWISTED_MASS, &EO_TWISTED_MASS_DAGGER], hop.dagger);
        self.launch(arguments(kernel, out, a, hop).call()?)
    }

    /// out = a·x + hop, in which a·x is not rounded by itself.
    fn twisted_mass_full<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, Spinors>,
        a: Complex<f64>,
        x: &FieldOn<Self, R, Spinors>,
        hop: HopOn<'_, Self, R>,
    ) -> Result<(), BackendError> {
        let kernel = of_dagger([&TWISTED_MASS_FULL, &TWISTED_MASS_FULL_DAGGER], hop.dagger);
        self.launch(arguments(kernel, out, a, hop).read("x", x).call()?)
    }

    /// out = a·x − hop. In f32 and f64 it has the bits of [`Self::twisted_mass_apply`], and an axpy of −1 and the hop.
    fn oe_twisted_mass<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, Spinors>,
        a: Complex<f64>,
        x: &FieldOn<Self, R, Spinors>,
        hop: HopOn<'_, Self, R>,
    ) -> Result<(), BackendError> {
        let kernel = of_dagger([&OE_TWISTED_MASS, &OE_TWISTED_MASS_DAGGER], hop.dagger);
        self.launch(arguments(kernel, out, a, hop).read("x", x).call()?)
    }
}

fn arguments<'a, B: Launch + ?Sized, R: Vectors>(
    kernel: &'static Kernel,
    out: &'a mut FieldOn<B, R, Spinors>,
    a: Complex<f64>,
    hop: HopOn<'a, B, R>,
) -> Arguments<'a, B> {
    let HopTerm { stencil, links, source, legs, .. } = hop;
    let arguments = Arguments::new(kernel).write("out", out).value("a", Value::Complex(a));
    arguments.read("links", links).read("psi", source).stencil(stencil).legs(legs)
}
