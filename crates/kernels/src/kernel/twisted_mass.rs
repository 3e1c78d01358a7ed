//! Twisted mass fermions (`docs/arithmetic.md` §17): a spinor times a + i·b·γ5, alone and combined with a Wilson hop. Kernel functions define the
//! kernels. Their reference implementations use the scalar reference in `reference/src/scalar/twisted_mass.rs`.

use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::scalar;
use num_complex::Complex;

use super::plain::PlainCall;
use super::wilson::wilson_hop;
use super::with_hop;
use super::{Arguments, Kernel};
use crate::backend::{BackendError, FieldOn, Launch};
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
#[lane_kernel(family = "twisted_mass", twin = twisted_mass_apply_twin, hot)]
pub fn twisted_mass_apply<S: Site>(out: Write<S, Spinors>, a: ComplexScalar<S>, x: Read<S, Spinors>) {
    out.write(x.here().twisted(a.get()));
}

fn twisted_mass_apply_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let a = call.complex("a");
    call.each(|call, site, part| {
        let x = call.read("x", site, part);
        call.write("out", site, part, &scalar::twist(a, &x));
    });
}

/// out = (a.re + i·a.im·γ5)·hop(psi).
#[lane_kernel(family = "twisted_mass", twin = eo_twisted_mass_twin, dagger, hot)]
pub fn eo_twisted_mass<S: Site>(
    site: S,
    out: Write<S, Spinors>,
    a: ComplexScalar<S>,
    links: Links<S>,
    psi: Neighbours<S, Spinors>,
) {
    out.write(wilson_hop(site, links, psi).twisted(a.get()));
}

/// out = (a.re + i·a.im·γ5)·x + hop(psi).
#[lane_kernel(family = "twisted_mass", twin = twisted_mass_full_twin, dagger, hot)]
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

/// out = (a.re + i·a.im·γ5)·x − hop(psi).
#[lane_kernel(family = "twisted_mass", twin = oe_twisted_mass_twin, dagger, hot)]
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

with_hop::twins! { |call| call.wilson_hop("psi", call.dagger()), complex:
    twisted_mass_full_twin = scalar::twist_add;
    eo_twisted_mass_twin = product;
    oe_twisted_mass_twin = difference;
}

fn product<R: Vectors>(a: Complex<R>, _: &[Complex<R>], hop: &[Complex<R>]) -> Vec<Complex<R>> {
    scalar::twist(a, hop)
}

fn difference<R: Vectors>(a: Complex<R>, x: &[Complex<R>], hop: &[Complex<R>]) -> Vec<Complex<R>> {
    scalar::twist(a, x).into_iter().zip(hop).map(|(x, hop)| x - hop).collect()
}

/// Kernels that combine the hop with the operator's other terms. A number a stands for a.re + i·a.im·γ5. In f32 and f64 they have the bits of
/// storing the hop, followed by [`TWISTED_MASS_APPLY`]; in a sum, its result is not rounded by itself.
pub static WITH_HOP: with_hop::Kernels = with_hop::Kernels {
    sum: [&TWISTED_MASS_FULL, &TWISTED_MASS_FULL_DAGGER],
    product: [&EO_TWISTED_MASS, &EO_TWISTED_MASS_DAGGER],
    difference: [&OE_TWISTED_MASS, &OE_TWISTED_MASS_DAGGER],
};

/// Kernels of twisted mass fermions, on any backend. A number a stands for a.re + i·a.im·γ5.
pub trait TwistedMassKernels: Launch {
    /// out = a·x, for each spinor of a site.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if fields do not match, and errors of the backend.
    fn twisted_mass_apply<R: Vectors>(
        &self,
        out: &mut FieldOn<Self, R, Spinors>,
        a: Complex<f64>,
        x: &FieldOn<Self, R, Spinors>,
    ) -> Result<(), BackendError> {
        let arguments = Arguments::new(&TWISTED_MASS_APPLY).write("out", out).complex("a", a);
        self.launch(arguments.read("x", x).call()?)
    }
}
