//! Eight sites at a time in f64: real and imaginary parts apart, from the vectors of any lane width. Sums over sites run on these. Their
//! counterparts in `cl/` work on one site at a time.

use wide::f64x8;

use super::LaneVector;
use crate::real::Real;

/// Sites that are worked on together.
pub const SITES: usize = 8;

/// Outer sites of which one vector each makes eight lanes.
pub const fn osites<V: LaneVector>() -> usize {
    2 * SITES / V::REALS
}

/// Which of the eight lanes, counted outer site by outer site, stands in place `k` of what [`parts`] returns.
pub const fn lane_at(k: usize) -> usize {
    SITES / 2 * (k % 2) + k / 2
}

/// (re, im) of eight lanes, which `vector(0)` to `vector(osites − 1)` hold. The order of lanes is that of [`lane_at`]: it costs two
/// instructions, the natural one would cost more.
#[inline(always)]
pub fn parts<'a, V: LaneVector>(vector: impl Fn(usize) -> &'a V) -> (f64x8, f64x8) {
    let half = |half: usize| {
        let mut reals = [V::Real::default(); SITES];
        let a_piece = V::REALS.min(SITES);
        for (piece, reals) in reals.chunks_exact_mut(a_piece).enumerate() {
            let first = half * SITES + piece * a_piece;
            let vector: &[V::Real] = bytemuck::cast_slice(std::slice::from_ref(vector(first / V::REALS)));
            reals.copy_from_slice(&vector[first % V::REALS..][..a_piece]);
        }
        f64x8::from(V::Real::eight_to_f64(&reals))
    };
    unzip(half(0), half(1))
}

/// The even places of two vectors, and the odd ones; those of `a` and `b` alternate.
#[cfg(all(target_arch = "x86_64", target_feature = "avx512f"))]
#[inline(always)]
fn unzip(a: f64x8, b: f64x8) -> (f64x8, f64x8) {
    use std::arch::x86_64::{__m512d, _mm512_unpackhi_pd, _mm512_unpacklo_pd};
    use std::mem::transmute;
    // SAFETY: both kinds of vectors are the same 64 bytes; the build has AVX-512F, as this function's cfg says.
    unsafe {
        let (a, b) = (transmute::<f64x8, __m512d>(a), transmute::<f64x8, __m512d>(b));
        let even = transmute::<__m512d, f64x8>(_mm512_unpacklo_pd(a, b));
        let odd = transmute::<__m512d, f64x8>(_mm512_unpackhi_pd(a, b));
        (even, odd)
    }
}

/// The even places of two vectors, and the odd ones; those of `a` and `b` alternate.
#[cfg(not(all(target_arch = "x86_64", target_feature = "avx512f")))]
#[inline(always)]
fn unzip(a: f64x8, b: f64x8) -> (f64x8, f64x8) {
    let halves = [a.to_array(), b.to_array()];
    let every_second =
        |first: usize| f64x8::from(std::array::from_fn::<f64, SITES, _>(|k| halves[k % 2][k - k % 2 + first]));
    (every_second(0), every_second(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Pair;

    fn lanes_are_where_lane_at_says<V: LaneVector>() {
        let vectors: Vec<V> = (0..osites::<V>())
            .map(|osite| V::from_reals(|k| V::Real::from_f64((V::REALS * osite + k) as f64)))
            .collect();
        let (re, im) = parts(|osite| &vectors[osite]);
        for k in 0..SITES {
            assert_eq!(re.to_array()[k], (2 * lane_at(k)) as f64);
            assert_eq!(im.to_array()[k], (2 * lane_at(k) + 1) as f64);
        }
    }

    #[test]
    fn parts_of_every_vector_are_where_lane_at_says() {
        lanes_are_where_lane_at_says::<Pair<f32>>();
        lanes_are_where_lane_at_says::<wide::f32x4>();
        lanes_are_where_lane_at_says::<wide::f32x8>();
        lanes_are_where_lane_at_says::<wide::f32x16>();
        lanes_are_where_lane_at_says::<wide::f64x2>();
        lanes_are_where_lane_at_says::<wide::f64x4>();
        lanes_are_where_lane_at_says::<wide::f64x8>();
    }
}
