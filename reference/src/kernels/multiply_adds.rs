//! Repeated multiply-adds. No operator uses them: the laboratory measures with them how fast a processor computes with the kernels' vectors.
//! Counterpart: `cl/peak_intensity.cl`.

use super::with_vectors::LaneOperation;
use crate::half::Half;
use crate::layout::LaneWidth;
use crate::real::Real;
use crate::tensor::{InstructionSet, LaneVector, Task};

/// The number of independent vectors, so that no operation waits for the previous one.
const CHAINS: usize = 8;

/// The lengths of `out` and `x` of [`multiply_adds`] must be multiples of this, so that vectors of any width divide them.
pub const NUMBERS: usize = 16 * CHAINS;

/// out ← each number of x after `count` times x ← fma(x, a, b). Runs on the calling thread only.
///
/// # Panics
/// Unless both have the same length, a multiple of [`NUMBERS`], and are aligned to 64 bytes.
pub fn multiply_adds<R: Compiled>(out: &mut [R], x: &[R], a: R, b: R, count: u32) {
    assert!(out.len() == x.len() && x.len().is_multiple_of(NUMBERS), "{} numbers out of {}", out.len(), x.len());
    R::run_multiply_adds(LaneWidth::DEFAULT, MultiplyAdds { out, x, a, b, count });
}

compiled! {
    fn run_multiply_adds(width, MultiplyAdds { out, x, a, b, count }) {
        let (a, b) = (a.into(), b.into());
        f32::run_multiply_adds(width, MultiplyAdds { out: Half::as_f32_mut(out), x: Half::as_f32(x), a, b, count });
    }
}

#[doc(hidden)]
pub struct MultiplyAdds<'a, R> {
    out: &'a mut [R],
    x: &'a [R],
    a: R,
    b: R,
    count: u32,
}

impl<R: Real> LaneOperation<R> for MultiplyAdds<'_, R> {
    type Output = ();
    fn run<V: LaneVector<Real = R>>(self, _: usize) {
        let Self { out, x, a, b, count } = self;
        let repeated = RepeatedMultiplyAdds::<V> { x: bytemuck::cast_slice(x), a: V::splat(a), b: V::splat(b), count };
        V::Set::run(&repeated, bytemuck::cast_slice_mut(out));
    }
}

struct RepeatedMultiplyAdds<'a, V> {
    x: &'a [V],
    a: V,
    b: V,
    count: u32,
}

impl<V: LaneVector> Task<&mut [V]> for RepeatedMultiplyAdds<'_, V> {
    type Output = ();
    #[inline(always)]
    fn run(&self, out: &mut [V]) {
        let (a, b) = (self.a, self.b);
        for (out, x) in out.as_chunks_mut::<CHAINS>().0.iter_mut().zip(self.x.as_chunks::<CHAINS>().0) {
            let mut chains = *x;
            for _ in 0..self.count {
                for x in &mut chains {
                    *x = x.fused(a, b);
                }
            }
            *out = chains;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C, align(64))]
    struct Aligned<R>([R; NUMBERS]);

    fn adds_so_many<R: Compiled>() {
        let (x, one) = (Aligned(std::array::from_fn(|k| R::from_f64(k as f64))), R::from_f64(1.0));
        for count in [0, 1, 7, 256] {
            let mut out = Aligned([R::default(); NUMBERS]);
            multiply_adds(&mut out.0, &x.0, one, one, count);
            let expected: Vec<R> = (0..NUMBERS).map(|k| R::from_f64((k + count as usize) as f64)).collect();
            assert_eq!(out.0[..], expected[..]);
        }
    }

    #[test]
    fn so_many_steps_with_factor_and_term_one_add_so_many() {
        adds_so_many::<f32>();
        adds_so_many::<f64>();
    }
}
