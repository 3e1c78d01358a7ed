//! Eight sites at a time in f64: real and imaginary parts apart, from the vectors of any lane width. Sums over sites run on these. Their
//! counterparts in `cl/` work on one site at a time.

use bytemuck::cast;
use wide::{f64x8, u64x8};

use super::LaneVector;
use super::lanes::WIDE_FUSES;
use crate::doubles::{Doubles, SITES};
use crate::real::Real;

/// Those of `wide`, for every processor.
pub type Portable = f64x8;

impl Doubles for Portable {
    #[inline(always)]
    fn from_f32(reals: &[f32; SITES]) -> Self {
        reals.map(f64::from).into()
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        self + b
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        self - b
    }
    #[inline(always)]
    fn negate(self) -> Self {
        self ^ f64x8::splat(-0.0)
    }
    #[inline(always)]
    fn fused(self, b: Self, c: Self) -> Self {
        if WIDE_FUSES {
            self.mul_add(b, c)
        } else {
            let (x, y, z) = (self.to_array(), b.to_array(), c.to_array());
            std::array::from_fn::<f64, SITES, _>(|k| x[k].fused_here(y[k], z[k])).into()
        }
    }
    #[inline(always)]
    fn or_differences(self, a: Self, b: Self) -> Self {
        let bits = |doubles: Self| cast::<f64x8, u64x8>(doubles);
        cast(bits(self) | (bits(a) ^ bits(b)))
    }
    #[inline(always)]
    fn any_bit(self) -> bool {
        cast::<f64x8, [u64; SITES]>(self).into_iter().fold(0, |all, bits| all | bits) != 0
    }
    #[inline(always)]
    fn unzip(a: Self, b: Self) -> (Self, Self) {
        let halves = [a.to_array(), b.to_array()];
        let every_second =
            |first: usize| f64x8::from(std::array::from_fn::<f64, SITES, _>(|k| halves[k % 2][k - k % 2 + first]));
        (every_second(0), every_second(1))
    }
}

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
pub fn parts<'a, V: LaneVector>(vector: impl Fn(usize) -> &'a V) -> (V::Doubles, V::Doubles) {
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
