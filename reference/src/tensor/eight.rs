//! Eight sites at a time in f64, with real and imaginary parts separate, from the vectors of any lane width. Sums over sites use these. Their
//! counterparts in `cl/` compute one site at a time.

use super::LaneVector;
use crate::doubles::{Doubles, SITES};
use crate::real::Real;

/// The number of outer sites, one vector of each of which makes eight lanes.
pub(crate) const fn osites<V: LaneVector>() -> usize {
    2 * SITES / V::REALS
}

/// The number of the lane, counted outer site by outer site, in place `k` of the result of [`parts`].
pub(crate) const fn lane_at(k: usize) -> usize {
    SITES / 2 * (k % 2) + k / 2
}

/// (re, im) of the eight lanes of `vector(0)` to `vector(osites − 1)`. Lanes are in the order of [`lane_at`], which takes two instructions; the
/// natural order would take more.
#[inline(always)]
pub(crate) fn parts<'a, V: LaneVector>(vector: impl Fn(usize) -> &'a V) -> (V::Doubles, V::Doubles) {
    let half = |half: usize| {
        let mut reals = [V::Real::default(); SITES];
        let a_piece = V::REALS.min(SITES);
        for (piece, reals) in reals.chunks_exact_mut(a_piece).enumerate() {
            let first = half * SITES + piece * a_piece;
            let vector: &[V::Real] = bytemuck::cast_slice(std::slice::from_ref(vector(first / V::REALS)));
            reals.copy_from_slice(&vector[first % V::REALS..][..a_piece]);
        }
        V::Real::to_doubles(&reals)
    };
    Doubles::unzip(half(0), half(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instructions::Instructions;
    use crate::tensor::Pair;
    use crate::tensor::sets::Baseline;

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
        lanes_are_where_lane_at_says::<Pair<f32, Baseline>>();
        lanes_are_where_lane_at_says::<wide::f32x4>();
        lanes_are_where_lane_at_says::<wide::f64x2>();
        #[cfg(target_arch = "x86_64")]
        {
            use crate::tensor::x86;
            if Instructions::best() >= Instructions::Avx2 {
                lanes_are_where_lane_at_says::<x86::F32x8>();
                lanes_are_where_lane_at_says::<x86::F64x4>();
            }
            if Instructions::best() >= Instructions::Avx512 {
                lanes_are_where_lane_at_says::<x86::F32x16>();
                lanes_are_where_lane_at_says::<x86::F64x8>();
            }
        }
    }
}
