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

/// a · b: (fma(−a.im, b.im, a.re · b.re), fma(a.im, b.re, a.re · b.im)).
#[inline(always)]
pub fn mul<V: LaneVector>(a: V, b: Factor<V>) -> V {
    a.imaginary_parts().fused(b.ib, a.real_parts().times(b.b))
}

/// a · b + c: (fma(−a.im, b.im, fma(a.re, b.re, c.re)), fma(a.im, b.re, fma(a.re, b.im, c.im))).
#[inline(always)]
pub fn madd<V: LaneVector>(a: V, b: Factor<V>, c: V) -> V {
    a.imaginary_parts().fused(b.ib, a.real_parts().fused(b.b, c))
}

/// conj(a) · b + c: (fma(a.im, b.im, fma(a.re, b.re, c.re)), fma(−a.im, b.re, fma(a.re, b.im, c.im))).
#[inline(always)]
pub fn conj_madd<V: LaneVector>(a: V, b: Factor<V>, c: V) -> V {
    a.imaginary_parts().fused(b.ib.negate(), a.real_parts().fused(b.b, c))
}

/// U h for both spins of a half spinor. `link(row, column)` gives the elements.
#[inline(always)]
pub fn link_times_half_spinor<V: LaneVector>(link: impl Fn(usize, usize) -> V, h: HalfSpinor<V>) -> HalfSpinor<V> {
    link_times_vectors(link, h)
}

/// U h for each of `N` colour vectors, columns in order. `link(row, column)` gives the elements.
#[inline(always)]
pub fn link_times_vectors<V: LaneVector, const N: usize>(
    link: impl Fn(usize, usize) -> V,
    h: [[V; 3]; N],
) -> [[V; 3]; N] {
    let h = h.map(|vector| vector.map(Factor::new));
    let mut result = [[V::zeroed(); 3]; N];
    for row in 0..3 {
        let u = [link(row, 0), link(row, 1), link(row, 2)];
        for (result, h) in result.iter_mut().zip(&h) {
            let column0 = mul(u[0], h[0]);
            let column1 = madd(u[1], h[1], column0);
            result[row] = madd(u[2], h[2], column1);
        }
    }
    result
}

/// Row 2 of a link from rows 0 and 1: f·conj(r0 × r1). `signed_factor` holds (f, −f) in every lane.
#[inline(always)]
pub fn third_row<V: LaneVector>(r0: [V; 3], r1: [V; 3], signed_factor: V) -> [V; 3] {
    [(1, 2), (2, 0), (0, 1)].map(|(i, j)| {
        let cross = madd(r0[j].negate(), Factor::new(r1[i]), mul(r0[i], Factor::new(r1[j])));
        cross.times(signed_factor)
    })
}
