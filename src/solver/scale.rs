//! Scaling of sources with numbers so small or so large that |b|² would underflow or overflow. For the solve, each right-hand side is multiplied by
//! its own power of two, and its solution is divided by it. This changes no bit of a number that is not itself out of range.

use std::borrow::Cow;

use lanefield_reference::real::Real;
use lanefield_reference::tasks::{chunk, map};
use libm::{ilogb, scalbn};
use num_complex::Complex;

use super::solve_error::SolveError;
use crate::backend::Backend;

/// A power of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scale(i32);

/// If the largest number of a source has an exponent up to this, the source is not scaled. For solves that are all in f64: |r|² of a solve to 1e-16
/// is then a normal number.
const MOST_IN_F64: i32 = 300;
/// The same if some numbers are in f32.
const MOST_IN_F32: i32 = 40;

impl Scale {
    /// The scale of a right-hand side with this largest number, for a solve that returns `R`.
    fn of<R: Real>(largest: f64, is_mixed: bool) -> Self {
        let most = if R::BITS == 64 && !is_mixed { MOST_IN_F64 } else { MOST_IN_F32 };
        match ilogb(largest) {
            _ if largest == 0.0 => Self(0),
            exponent if exponent.abs() <= most => Self(0),
            exponent => Self(-exponent),
        }
    }
}

/// The scale of each right-hand side; their words alternate at each site.
pub(super) struct Scales {
    scales: Vec<Scale>,
    /// Words of one right-hand side at a site.
    words: usize,
}

impl Scales {
    /// The scales of `count` right-hand sides with `words` words per site. Only the sites that `is_read` selects are read.
    ///
    /// # Errors
    /// [`SolveError::Source`] if a number is not finite; backend errors.
    pub(super) fn of<R: Real, B: Backend>(
        backend: &B,
        eta: &[Complex<f64>],
        (count, words): (usize, usize),
        is_mixed: bool,
        is_read: impl Fn(usize) -> bool + Sync,
    ) -> Result<Self, SolveError> {
        let largest = largest_of(eta, (count, words), &is_read);
        let mut scales = Vec::with_capacity(count);
        for (rhs, here) in largest.into_iter().enumerate() {
            let largest = backend.largest(here)?;
            if !largest.is_finite() {
                let objects = eta.chunks_exact(words).enumerate().skip(rhs).step_by(count);
                let mut bad = objects.filter(|(_, object)| object.iter().any(|c| !c.is_finite()));
                let site = bad.next().map(|(at, _)| at / count);
                return Err(SolveError::Source { rhs, site, value: largest });
            }
            scales.push(Scale::of::<R>(largest, is_mixed));
        }
        Ok(Self { scales, words })
    }

    /// The power of two of right-hand side `rhs`; if one source has several solutions, that of the source.
    pub(super) fn power(&self, rhs: usize) -> i32 {
        self.scales[rhs % self.scales.len()].0
    }

    /// Numbers in site order, each multiplied by 2 to the power of its right-hand side times `sign`, rounded once.
    fn times<'a, R: Real>(&self, numbers: &'a [Complex<R>], sign: i32) -> Cow<'a, [Complex<R>]> {
        if self.scales.iter().all(|scale| scale.0 == 0) {
            return Cow::Borrowed(numbers);
        }
        let mut scaled = numbers.to_vec();
        for (at, object) in scaled.chunks_exact_mut(self.words).enumerate() {
            let power = sign * self.power(at);
            for number in bytemuck::cast_slice_mut::<Complex<R>, R>(object).iter_mut().filter(|_| power != 0) {
                *number = R::from_f64(scalbn(number.to_f64(), power));
            }
        }
        Cow::Owned(scaled)
    }

    /// The scaled source, for which the solve runs.
    pub(super) fn apply<'a>(&self, eta: &'a [Complex<f64>]) -> Cow<'a, [Complex<f64>]> {
        self.times(eta, 1)
    }

    /// The solutions for the original source.
    ///
    /// # Errors
    /// [`SolveError::Range`] for numbers that overflow in `R`.
    pub(super) fn undo<R: Real>(&self, solution: Vec<Complex<R>>) -> Result<Undone<R>, SolveError> {
        let mut lossy = vec![None; self.scales.len()];
        let Cow::Owned(returned) = self.times(&solution, -1) else {
            return Ok(Undone { returned: solution, again: None, lossy });
        };
        let again = self.times(&returned, 1).into_owned();
        let numbers =
            |of: &[Complex<R>]| -> Vec<f64> { of.iter().flat_map(|c| [c.re.to_f64(), c.im.to_f64()]).collect() };
        for (at, (before, after)) in solution.chunks(self.words).zip(again.chunks(self.words)).enumerate() {
            let rhs = at % self.scales.len();
            for (before, after) in
                numbers(before).into_iter().zip(numbers(after)).filter(|(before, after)| before != after)
            {
                if before.is_finite() && !after.is_finite() {
                    let power = -self.power(rhs);
                    return Err(SolveError::Range { rhs, value: before, power, precision: R::NAME });
                }
                lossy[rhs].get_or_insert(before);
            }
        }
        Ok(Undone { returned, again: Some(again), lossy })
    }
}

/// Solutions for the original source.
pub(super) struct Undone<R> {
    pub returned: Vec<Complex<R>>,
    /// The same, multiplied by the scales again; `None` if the source was not scaled.
    pub again: Option<Vec<Complex<R>>>,
    /// For each right-hand side: a number, as scaled, that lost digits because it became subnormal.
    pub lossy: Vec<Option<f64>>,
}

/// The largest number of each right-hand side; NaN if there is one.
pub(super) fn largest_of<R: Real>(
    eta: &[Complex<R>],
    (rhs, words): (usize, usize),
    is_read: impl Fn(usize) -> bool + Sync,
) -> Vec<f64> {
    const A_TASK: usize = 1 << 16;
    let larger = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
    let sites = (A_TASK / (rhs * words)).max(1);
    let of_task = |task| {
        let mut largest = vec![0.0; rhs];
        let objects = chunk(eta, sites * rhs * words, task).chunks_exact(words).enumerate();
        for (at, object) in objects.filter(|(at, _)| is_read(task * sites + at / rhs)) {
            let numbers = object.iter().flat_map(|c| [c.re, c.im]).map(|part| part.to_f64().abs());
            largest[at % rhs] = numbers.fold(largest[at % rhs], larger);
        }
        largest
    };
    let tasks = map(eta.len().div_ceil(sites * rhs * words), of_task);
    (0..rhs).map(|rhs| tasks.iter().map(|largest| largest[rhs]).fold(0.0, larger)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Cpu;

    fn scales<R: Real>(eta: &[Complex<f64>], rhs: usize, is_mixed: bool) -> Result<Scales, SolveError> {
        Scales::of::<R, _>(&Cpu::new(None).unwrap(), eta, (rhs, 1), is_mixed, |_| true)
    }

    #[test]
    fn only_numbers_out_of_range_are_scaled_and_come_back_as_they_were() {
        let powers = |scales: Scales| scales.scales.iter().map(|scale| scale.0).collect::<Vec<_>>();
        let numbers =
            [1.5, 2.0_f64.powi(-300), -2.0_f64.powi(300), 0.0, 2.0_f64.powi(-520) * 1.5, f64::from_bits(1), f64::MAX];
        let eta = numbers.map(|x| Complex::new(0.0, x));
        assert_eq!(powers(scales::<f64>(&eta, 7, false).unwrap()), [0, 0, 0, 0, 520, 1074, -1023]);
        let [large, small] = [60, -41].map(|power| [Complex::new(2.0_f64.powi(power), 0.0)]);
        assert_eq!(powers(scales::<f64>(&large, 1, true).unwrap()), [-60]);
        assert_eq!(powers(scales::<f32>(&small, 1, false).unwrap()), [41]);

        let eta = [Complex::new(f64::from_bits(3), -f64::from_bits(5)), Complex::new(3.0, 0.0)];
        let scales = scales::<f64>(&eta, 2, false).unwrap();
        let there = scales.apply(&eta);
        assert_eq!((there[0].im, there[1]), (-1.25, eta[1]));
        let Undone { returned, again, lossy } = scales.undo(there.to_vec()).unwrap();
        assert!(returned == eta && again.unwrap() == there[..] && lossy == [None; 2]);
    }

    #[test]
    fn numbers_that_are_not_finite_are_refused_with_their_place() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut eta = vec![Complex::new(1.0, 0.0); 8];
            eta[5].im = bad;
            let found = scales::<f64>(&eta, 2, false).map(drop);
            assert!(matches!(found, Err(SolveError::Source { rhs: 1, site: Some(2), .. })), "{found:?}");
        }
    }

    #[test]
    fn what_overflows_is_refused_and_what_loses_digits_is_seen() {
        let scaled = |power| Scales { scales: vec![Scale(0), Scale(power)], words: 1 };
        let error = scaled(-127).undo(vec![Complex::new(0.0_f32, 4.0); 2]).err().unwrap().to_string();
        assert!(error.contains("right-hand side 1") && error.contains("4e0 · 2^127, which f32 cannot hold"), "{error}");
        assert!(scaled(-1020).undo(vec![Complex::new(16.0, 0.0); 2]).is_err());
        let Undone { returned, again, lossy } = scaled(1074).undo(vec![Complex::new(1.25, 0.0); 2]).unwrap();
        assert_eq!([returned[1].re, again.unwrap()[1].re], [f64::from_bits(1), 1.0]);
        assert_eq!(lossy, [None, Some(1.25)]);
    }
}
