//! Sources whose numbers are so small or so large that |b|² would underflow or overflow: they are multiplied by a power of two for the solve, and the
//! solution is divided by it, which changes no bit of any number that is not itself out of range.

use std::borrow::Cow;

use lanefield_reference::real::Real;
use lanefield_reference::tasks::{chunk, map};
use libm::{ilogb, scalbn};
use num_complex::Complex;

use super::SolveError;

/// A power of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scale(i32);

/// The largest exponent of a source's largest number that is left as it is, where all is in f64: |r|² of a solve to 1e-16 is a normal number.
const MOST_IN_F64: i32 = 300;
/// The same where some numbers are in f32.
const MOST_IN_F32: i32 = 40;

impl Scale {
    /// The largest number of a source.
    pub fn largest_of(eta: &[Complex<f64>]) -> f64 {
        const A_TASK: usize = 1 << 16;
        let largest = map(eta.len().div_ceil(A_TASK), |task| {
            chunk(eta, A_TASK, task).iter().flat_map(|c| [c.re.abs(), c.im.abs()]).fold(0.0, f64::max)
        });
        largest.into_iter().fold(0.0, f64::max)
    }

    /// That of a source with that largest number, for a solve that returns `R`.
    pub fn of<R: Real>(largest: f64, is_mixed: bool) -> Self {
        let most = if R::BITS == 64 && !is_mixed { MOST_IN_F64 } else { MOST_IN_F32 };
        match ilogb(largest) {
            _ if largest == 0.0 || !largest.is_finite() => Self(0),
            exponent if exponent.abs() <= most => Self(0),
            exponent => Self(-exponent),
        }
    }

    /// The power.
    pub fn power(self) -> i32 {
        self.0
    }

    /// The source that is solved for.
    pub fn apply(self, eta: &[Complex<f64>]) -> Cow<'_, [Complex<f64>]> {
        match self.0 {
            0 => Cow::Borrowed(eta),
            power => eta.iter().map(|c| Complex::new(scalbn(c.re, power), scalbn(c.im, power))).collect(),
        }
    }

    /// The solution of the source that was given.
    ///
    /// # Errors
    /// [`SolveError::Range`] for numbers that `R` cannot hold.
    pub fn undo<R: Real>(self, mut solution: Vec<Complex<R>>) -> Result<Vec<Complex<R>>, SolveError> {
        if self.0 != 0 {
            for number in bytemuck::cast_slice_mut::<Complex<R>, R>(&mut solution) {
                let exact = number.to_f64();
                *number = R::from_f64(scalbn(exact, -self.0));
                if scalbn(number.to_f64(), self.0) != exact {
                    return Err(SolveError::Range { value: scalbn(exact, -self.0), precision: R::NAME });
                }
            }
        }
        Ok(solution)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_out_of_range_are_scaled_and_come_back_as_they_were() {
        let scaled = |x: f64| Scale::of::<f64>(Scale::largest_of(&[Complex::new(0.0, x)]), false).power();
        assert_eq!([1.5, 2.0_f64.powi(-300), -2.0_f64.powi(300)].map(scaled), [0; 3]);
        assert_eq!([2.0_f64.powi(-520) * 1.5, f64::from_bits(1), f64::MAX].map(scaled), [520, 1074, -1023]);
        assert_eq!([0.0, f64::NAN, f64::INFINITY].map(scaled), [0; 3]);
        assert_eq!(Scale::of::<f64>(2.0_f64.powi(60), true).power(), -60);
        assert_eq!(Scale::of::<f32>(2.0_f64.powi(-41), false).power(), 41);

        let eta = [Complex::new(f64::from_bits(3), -f64::from_bits(5))];
        let scale = Scale::of::<f64>(Scale::largest_of(&eta), false);
        let there = scale.apply(&eta);
        assert_eq!(there[0].im, -1.25);
        assert_eq!(scale.undo(there.to_vec()).unwrap(), eta);
    }

    #[test]
    fn what_a_precision_cannot_hold_is_refused() {
        let error = Scale(140).undo(vec![Complex::new(0.0_f32, 1.1)]).unwrap_err().to_string();
        assert!(error.contains("e-43, which f32 cannot hold") && error.contains("use f64"), "{error}");
        assert!(Scale(1074).undo(vec![Complex::new(1.5, 0.0)]).is_err());
        assert!(Scale(-1020).undo(vec![Complex::new(16.0, 0.0)]).is_err());
    }
}
