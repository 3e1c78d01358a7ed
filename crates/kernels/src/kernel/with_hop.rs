//! Kernels that compute a hop and combine it with another term of an operator at the same site, in one launch: `docs/arithmetic.md` §9, §15 to §17
//! and §25. In f32 and f64 the results have the bits of separate launches, because storing a field does not round it. Kernel functions define them,
//! each in the family of its hop.

use lanefield_reference::kernels::Vectors;
use lanefield_reference::real::Precision;
use lanefield_reference::scalar::{real_madd, real_times};
use num_complex::Complex;

use super::Kernel;
use super::plain::PlainCall;

/// How a hop is combined.
#[derive(Clone, Copy, Debug)]
pub enum WithHop<'a, F, N = f64> {
    /// a·x + hop; a·x is not rounded by itself.
    Sum(N, &'a F),
    /// a·hop.
    Product(N),
    /// a·x − hop.
    Difference(N, &'a F),
}

/// Whether a combined launch has the bits of separate ones in precision `R`. In half precision it does not, because storing a field rounds it.
pub const fn has_bits_of_steps<R: Vectors>() -> bool {
    !matches!(R::PRECISION, Precision::Half)
}

/// The kernels that combine a hop with another term, each with that of the Hermitian conjugate.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "they are those of `WithHop`")]
pub struct Kernels {
    pub sum: [&'static Kernel; 2],
    pub product: [&'static Kernel; 2],
    pub difference: [&'static Kernel; 2],
}

/// The reference implementation of such a kernel. The hop is passed in site order over the whole lattice. `made` computes a component of the result
/// from those of x and of the hop; that of x is empty if the kernel has no x.
pub(super) fn twin<R: Vectors>(
    call: &mut PlainCall<'_, R>,
    hop: &[Complex<R>],
    made: impl Fn(&[Complex<R>], &[Complex<R>]) -> Vec<Complex<R>>,
) {
    let parts = call.parts();
    let words = hop.len() / (call.volume() * parts);
    call.each(|call, site, part| {
        let x = if call.has("x") { call.read("x", site, part) } else { Vec::new() };
        let made = made(&x, &hop[words * (parts * site + part)..][..words]);
        call.write("out", site, part, &made);
    });
}

/// The reference implementations of the kernels of a family, by the function that combines the number a, x and the hop.
macro_rules! twins {
    (|$call:ident| $hop:expr, $number:ident: $($twin:ident = $made:expr;)+) => {$(
        fn $twin<R: Vectors>($call: &mut PlainCall<'_, R>) {
            let (a, hop) = ($call.$number("a"), $hop);
            with_hop::twin($call, &hop, |x, hop| $made(a, x, hop));
        }
    )+};
}
pub(super) use twins;

/// a·x + hop.
pub(super) fn sum<R: Vectors>(a: R, x: &[Complex<R>], hop: &[Complex<R>]) -> Vec<Complex<R>> {
    x.iter().zip(hop).map(|(&x, &hop)| real_madd(a, x, hop)).collect()
}

/// a·hop.
pub(super) fn product<R: Vectors>(a: R, _: &[Complex<R>], hop: &[Complex<R>]) -> Vec<Complex<R>> {
    hop.iter().map(|&hop| real_times(a, hop)).collect()
}

/// a·x − hop.
pub(super) fn difference<R: Vectors>(a: R, x: &[Complex<R>], hop: &[Complex<R>]) -> Vec<Complex<R>> {
    x.iter().zip(hop).map(|(&x, &hop)| real_times(a, x) - hop).collect()
}
