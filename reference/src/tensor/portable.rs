//! Eight doubles of `wide`, for every processor.

use bytemuck::cast;
use wide::{f64x8, u64x8};

use crate::doubles::{Doubles, SITES};
use crate::real::Real;

/// `wide::mul_add` fuses only if the build has the instruction. Otherwise each real uses the correctly rounded function of the standard library.
pub(super) const WIDE_FUSES: bool = cfg!(any(
    all(target_arch = "x86_64", target_feature = "fma"),
    all(target_arch = "aarch64", target_feature = "neon")
));

/// Eight doubles of `wide`, for every processor.
pub(crate) type Portable = f64x8;

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
