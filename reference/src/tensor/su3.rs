//! SU(3) on lanes: products of a link with a half spinor, and rebuilding of links that are stored as 12 or 8 reals (`docs/arithmetic.md` §2, §3,
//! §5). Counterpart: `cl/su3.clh`.

use super::LaneVector;
use crate::real::Real;

/// Two spins times three colours: a spinor after projection.
pub type HalfSpinor<V> = [[V; 3]; 2];

/// The right factor of complex products, together with i times itself, so that a product takes two fused multiply-adds and no shuffle of this
/// factor.
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

    /// Prepares a number in memory that is used once as a left factor.
    #[inline(always)]
    pub fn at(memory: &V) -> Self {
        Self { re: V::real_parts_at(memory), im: V::imaginary_parts_at(memory) }
    }

    /// self · b: (fma(−a.im, b.im, a.re · b.re), fma(a.im, b.re, a.re · b.im)).
    #[inline(always)]
    pub(crate) fn mul(self, b: Factor<V>) -> V {
        self.im.fused(b.ib, self.re.times(b.b))
    }

    /// self · b + c: (fma(−a.im, b.im, fma(a.re, b.re, c.re)), fma(a.im, b.re, fma(a.re, b.im, c.im))).
    #[inline(always)]
    pub(crate) fn madd(self, b: Factor<V>, c: V) -> V {
        self.im.fused(b.ib, self.re.fused(b.b, c))
    }

    /// −self · b + c: `madd` with both signs of `self` flipped. The sign is part of the fused instruction.
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
pub(crate) fn conj_madd<V: LaneVector>(a: V, b: Factor<V>, c: V) -> V {
    a.imaginary_parts().fused(b.ib.negate(), a.real_parts().fused(b.b, c))
}

/// U h for both spins of a half spinor. `link(row, column)` returns the elements, as left factors.
#[inline(always)]
pub(crate) fn link_times_half_spinor<V: LaneVector>(
    link: impl Fn(usize, usize) -> Left<V>,
    h: HalfSpinor<V>,
) -> HalfSpinor<V> {
    link_times_vectors(link, h)
}

/// U h for each of `N` colour vectors, with columns in order. `link(row, column)` returns the elements, as left factors.
// Loops over the indices of arrays that exist, here and below: `map`, `from_fn` and `zip` were seen to be compiled to calls that pass vectors in memory.
#[expect(clippy::needless_range_loop, reason = "as said")]
#[inline(always)]
pub(crate) fn link_times_vectors<V: LaneVector, const N: usize>(
    link: impl Fn(usize, usize) -> Left<V>,
    h: [[V; 3]; N],
) -> [[V; 3]; N] {
    let mut factors = [[Factor { b: V::zeroed(), ib: V::zeroed() }; 3]; N];
    for k in 0..N {
        factors[k] = [Factor::new(h[k][0]), Factor::new(h[k][1]), Factor::new(h[k][2])];
    }
    let mut result = [[V::zeroed(); 3]; N];
    for row in 0..3 {
        let u = [link(row, 0), link(row, 1), link(row, 2)];
        for k in 0..N {
            let [h0, h1, h2] = factors[k];
            result[k][row] = u[2].madd(h2, u[1].madd(h1, u[0].mul(h0)));
        }
    }
    result
}

/// conj(a) · b: (fma(a.im, b.im, a.re · b.re), fma(−a.im, b.re, a.re · b.im)).
#[inline(always)]
fn conj_mul<V: LaneVector>(a: V, b: Factor<V>) -> V {
    a.imaginary_parts().fused(b.ib.negate(), a.real_parts().times(b.b))
}

/// All rows of a link stored as `WORDS` words: 9, 6 or 4, see [`crate::links::LinkFormat::words`]. `signed_factor` holds (f, −f) in every lane, with
/// f = −2·φ' for a boundary phase φ'.
#[inline(always)]
pub fn rebuilt_link<V: LaneVector, const WORDS: usize>(word: impl Fn(usize) -> V, signed_factor: V) -> [[V; 3]; 3] {
    match WORDS {
        9 => [[word(0), word(1), word(2)], [word(3), word(4), word(5)], [word(6), word(7), word(8)]],
        6 => with_third_row([[word(0), word(1), word(2)], [word(3), word(4), word(5)]], signed_factor),
        _ => with_third_row(two_rows([word(0), word(1), word(2), word(3)], signed_factor), signed_factor),
    }
}

#[inline(always)]
fn with_third_row<V: LaneVector>([r0, r1]: [[V; 3]; 2], signed_factor: V) -> [[V; 3]; 3] {
    let left = [Left::new(r0[0]), Left::new(r0[1]), Left::new(r0[2])];
    [r0, r1, third_row(left, r1, signed_factor)]
}

/// Rows 0 and 1 of a link stored as 8 reals: words v1, v2, (x, z1), (z2, z3). `signed_factor` is as in [`rebuilt_link`].
#[inline(always)]
pub fn two_rows<V: LaneVector>([v1, v2, xz, z]: [V; 4], signed_factor: V) -> [[V; 3]; 2] {
    let splat = |value| V::splat(V::Real::from_f64(value));
    let (one, two) = (splat(1.0), splat(2.0));
    let (x, z1) = (xz.real_parts(), xz.imaginary_parts());
    // −φ'/2, and the same with the sign of row 0.
    let half = signed_factor.real_parts().times(splat(0.25));
    let row0_scale = half.times_sign_of(x);
    let s = two.fused(x.magnitude(), splat(-1.25));

    let squared = |sum: V, v: V| {
        let (re, im) = (v.real_parts(), v.imaginary_parts());
        re.fused(re, im.fused(im, sum))
    };
    let p2 = s.fused(s, one);
    let d = squared(squared(p2, v2), v1);
    let t = z1.fused(z1, squared(one, z));
    let (pt, dp) = (p2.times(t), d.times(p2));
    // One quotient for all: 2 / (d · p2 · t).
    let quotient = two.divided_by(dp.times(t));
    let r = quotient.times(pt);

    // α and β: the point of the 3-sphere at four times the angle of z's tangent. Forms of T alone keep it on the sphere.
    let h = quotient.times(dp);
    let (u, z2) = (two.sub(t), t.sub(one));
    let scale = half.times(h.times(h));
    let g = scale.times(u);
    let alpha_re = scale.times(splat(0.25).times(u).fused(u, z2.negate()));
    let alpha = alpha_re.with_imaginary_parts(g.times(z1));
    let beta = g.times(z);

    let w = conj_madd(v2, Factor::new(beta), conj_mul(v1, Factor::new(alpha)));
    let k = quotient.times(t).negate().times(s.fused(w.times_i(), w));
    let row1 = [s.fused(k.times_i(), k), madd(k, Factor::new(v1), alpha), madd(k, Factor::new(v2), beta)];

    let er = row0_scale.times(r);
    let row0 = [er.times(splat(-0.5).fused(d, one).with_imaginary_parts(s)), er.times(v1), er.times(v2)];
    [row0, row1]
}

/// Row 2 of a link from rows 0 and 1: f·conj(r0 × r1). `signed_factor` holds (f, −f) in every lane.
#[inline(always)]
pub fn third_row<V: LaneVector>(r0: [Left<V>; 3], r1: [V; 3], signed_factor: V) -> [V; 3] {
    let r1 = [Factor::new(r1[0]), Factor::new(r1[1]), Factor::new(r1[2])];
    let cross = |i: usize, j: usize| r0[j].negative_madd(r1[i], r0[i].mul(r1[j])).times(signed_factor);
    [cross(1, 2), cross(2, 0), cross(0, 1)]
}
