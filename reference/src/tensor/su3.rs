//! SU(3) on lanes: products of a link with a half spinor, and the third row of a link stored as 12 reals
//! (`docs/arithmetic.md` §2, §3, §5). Counterpart: `cl/su3.clh`.

use super::LaneVector;

/// Two spins times three colours: what is left of a spinor after projection.
pub type HalfSpinor<V> = [[V; 3]; 2];

/// The right factor of complex products, with i times itself, so that a product takes two fused multiply-adds and no shuffle
/// of this factor.
#[derive(Clone, Copy)]
pub struct Factor<V> {
    b: V,
    ib: V,
}

impl<V: LaneVector> Factor<V> {
    /// Prepares `b`.
    #[inline(always)]
    pub fn new(b: V) -> Self {
        Self { b, ib: b.times_i() }
    }
}

/// The left factor of complex products: its real and its imaginary parts.
#[derive(Clone, Copy)]
pub struct Left<V> {
    re: V,
    im: V,
}

impl<V: LaneVector> Left<V> {
    /// Prepares `a`.
    #[inline(always)]
    pub fn new(a: V) -> Self {
        Self { re: a.real_parts(), im: a.imaginary_parts() }
    }

    /// Prepares a number in memory that is a left factor here and nowhere else.
    #[inline(always)]
    pub fn at(memory: &V) -> Self {
        Self { re: V::real_parts_at(memory), im: V::imaginary_parts_at(memory) }
    }

    /// self · b: (fma(−a.im, b.im, a.re · b.re), fma(a.im, b.re, a.re · b.im)).
    #[inline(always)]
    fn mul(self, b: Factor<V>) -> V {
        self.im.fused(b.ib, self.re.times(b.b))
    }

    /// self · b + c: (fma(−a.im, b.im, fma(a.re, b.re, c.re)), fma(a.im, b.re, fma(a.re, b.im, c.im))).
    #[inline(always)]
    fn madd(self, b: Factor<V>, c: V) -> V {
        self.im.fused(b.ib, self.re.fused(b.b, c))
    }

    /// −self · b + c: `madd` with both signs of `self` flipped, which is part of the fused instruction.
    #[inline(always)]
    fn negative_madd(self, b: Factor<V>, c: V) -> V {
        Self { re: self.re.negate(), im: self.im.negate() }.madd(b, c)
    }
}

/// a · b + c: (fma(−a.im, b.im, fma(a.re, b.re, c.re)), fma(a.im, b.re, fma(a.re, b.im, c.im))).
#[inline(always)]
pub fn madd<V: LaneVector>(a: V, b: Factor<V>, c: V) -> V {
    Left::new(a).madd(b, c)
}

/// conj(a) · b + c: (fma(a.im, b.im, fma(a.re, b.re, c.re)), fma(−a.im, b.re, fma(a.re, b.im, c.im))).
#[inline(always)]
pub fn conj_madd<V: LaneVector>(a: V, b: Factor<V>, c: V) -> V {
    a.imaginary_parts().fused(b.ib.negate(), a.real_parts().fused(b.b, c))
}

/// U h for both spins of a half spinor. `link(row, column)` gives the elements, as left factors.
#[inline(always)]
pub fn link_times_half_spinor<V: LaneVector>(
    link: impl Fn(usize, usize) -> Left<V>,
    h: HalfSpinor<V>,
) -> HalfSpinor<V> {
    link_times_vectors(link, h)
}

/// U h for each of `N` colour vectors, columns in order. `link(row, column)` gives the elements, as left factors.
// Loops over arrays that exist, here and below: `map` and `from_fn` were seen to be compiled to calls that pass vectors in memory.
#[inline(always)]
pub fn link_times_vectors<V: LaneVector, const N: usize>(
    link: impl Fn(usize, usize) -> Left<V>,
    h: [[V; 3]; N],
) -> [[V; 3]; N] {
    let mut factors = [[Factor { b: V::zeroed(), ib: V::zeroed() }; 3]; N];
    for (factors, h) in factors.as_flattened_mut().iter_mut().zip(h.as_flattened()) {
        *factors = Factor::new(*h);
    }
    let mut result = [[V::zeroed(); 3]; N];
    for row in 0..3 {
        let u = [link(row, 0), link(row, 1), link(row, 2)];
        for (result, &[h0, h1, h2]) in result.iter_mut().zip(&factors) {
            result[row] = u[2].madd(h2, u[1].madd(h1, u[0].mul(h0)));
        }
    }
    result
}

/// Row 2 of a link from rows 0 and 1: f·conj(r0 × r1). `signed_factor` holds (f, −f) in every lane.
#[inline(always)]
pub fn third_row<V: LaneVector>(r0: [Left<V>; 3], r1: [V; 3], signed_factor: V) -> [V; 3] {
    let r1 = [Factor::new(r1[0]), Factor::new(r1[1]), Factor::new(r1[2])];
    let cross = |i: usize, j: usize| r0[j].negative_madd(r1[i], r0[i].mul(r1[j])).times(signed_factor);
    [cross(1, 2), cross(2, 0), cross(0, 1)]
}
