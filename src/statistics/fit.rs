//! Fits of one or two states to correlators: least squares with the covariance of the times.

use std::fmt;
use std::str::FromStr;

use lanefield_reference::ensure;
use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt, TerminationReason};
use nalgebra::{DMatrix, DVector, Dyn, Owned};
use thiserror::Error;

use super::covariance::{Covariance, CovarianceError, Regularised, Whitening};
use super::distribution::{chi_squared_tail, hotelling_tail};
use super::resampling::{Estimate, Resampling};
use super::samples::Samples;
use crate::observable::EffectiveMass;

/// The range of times of a fit, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The first time.
    pub first: usize,
    /// The last time.
    pub last: usize,
}

/// The number of states in a fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum States {
    /// The lowest.
    One,
    /// The lowest two.
    Two,
}

/// A fit of C(t) = Σ A_k f(m_k, t), with f = exp(−m t) + exp(−m (T − t)) for correlators that run both ways, or f = exp(−m t).
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Fit {
    pub shape: EffectiveMass,
    pub states: States,
    pub window: Window,
    /// The covariance that weights them. Resamples have the same weights as the full set of samples.
    pub covariance: Covariance,
}

/// The result of a fit.
#[derive(Clone, PartialEq, Debug)]
pub struct Fitted {
    /// A_k.
    pub amplitudes: Vec<Estimate>,
    /// m_k, in ascending order.
    pub masses: Vec<Estimate>,
    /// χ².
    pub chi_squared: f64,
    /// Degrees of freedom: the number of times minus the number of parameters.
    pub degrees: usize,
    /// The probability of a χ² at least this large, if the fit is right. With [`Covariance::Full`] it is from Hotelling's distribution, which
    /// accounts for the number of samples that determine the covariance. Otherwise it is from that of χ², and is an estimate.
    pub p_value: Option<f64>,
    /// The regularisation of the correlations, if any.
    pub regularised: Option<Regularised>,
}

/// Why there is no fit. Messages are fragments.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum FitError {
    #[error("invalid times {first} to {last} of a fit: expected times from 0 to {most} in ascending order")]
    Window { first: usize, last: usize, most: usize },
    #[error("a fit of {parameters} parameters to {times} time{}: it needs at least {}", if *times == 1 { "" } else { "s" }, parameters + 1)]
    Parameters { parameters: usize, times: usize },
    #[error("the correlator has no effective mass between t = {} and {}: it changes its sign, or rises, there", window.first, window.last)]
    NoMass { window: Window },
    #[error(
        "the fit from t = {} to {} did not converge: take other times{}",
        window.first,
        window.last,
        if *states == States::One { "" } else { ", or one state" }
    )]
    NotConverged { window: Window, states: States },
    #[error(transparent)]
    Covariance(#[from] CovarianceError),
}

impl Fit {
    /// Fits the mean of measurements of a correlator, C(0) to C(T − 1) each, with errors by resampling.
    pub fn of(&self, samples: &Samples, resampling: Resampling) -> Result<Fitted, FitError> {
        let all = samples.mean();
        let Window { first, last } = self.window;
        ensure!(first <= last && last < all.len(), FitError::Window { first, last, most: all.len().saturating_sub(1) });
        let (parameters, points) = (2 * self.states.count(), last - first + 1);
        ensure!(points > parameters, FitError::Parameters { parameters, times: points });
        let weights = Whitening::of(samples, first..=last, parameters + 1, self.covariance)?;
        let start = self.guess(all, &weights)?;
        let (at, chi_squared) = self.least_squares(all, &weights, start).ok_or_else(|| self.not_converged())?;
        // The fit to a resample starts at that to the mean, which is close.
        let of = |mean: &[f64]| match self.least_squares(mean, &weights, at.clone()) {
            Some((parameters, _)) => self.natural(&parameters).into_iter().map(Some).collect(),
            None => vec![None; parameters],
        };
        let estimates = resampling.estimates(samples, of);
        let natural = self.natural(&at);
        let estimate = |place: usize| Estimate {
            value: natural[place],
            error: estimates.get(place).copied().flatten().and_then(|estimate| estimate.error),
        };
        let places = |of_state: usize| (0..self.states.count()).map(|k| estimate(2 * k + of_state)).collect();
        let degrees = points - parameters;
        let p_value = match self.covariance {
            Covariance::Full => hotelling_tail(chi_squared, degrees, samples.bins().len()),
            _ => chi_squared_tail(chi_squared, degrees),
        };
        let regularised = weights.regularised;
        Ok(Fitted { amplitudes: places(0), masses: places(1), chi_squared, degrees, p_value, regularised })
    }

    fn not_converged(&self) -> FitError {
        FitError::NotConverged { window: self.window, states: self.states }
    }

    /// A and m of each state from the parameters of the fit: a = A exp(−m first) and m, and for the second state the logarithm of m₂ − m₁.
    fn natural(&self, parameters: &DVector<f64>) -> Vec<f64> {
        let masses = masses(parameters.as_slice());
        let pairs = parameters.as_slice().chunks_exact(2).zip(masses);
        pairs.flat_map(|(pair, mass)| [pair[0] * libm::exp(mass * self.window.first as f64), mass]).collect()
    }

    /// A starting point from the effective masses: that in the middle of the window, and for the second state that of the remainder at the start of
    /// the window.
    fn guess(&self, all: &[f64], weights: &Whitening) -> Result<DVector<f64>, FitError> {
        let Window { first, last } = self.window;
        let effective = self.shape.of(all);
        let none = FitError::NoMass { window: self.window };
        // The time with an effective mass that is nearest to the middle of the window.
        let places = (first..last).filter_map(|t| Some((t, effective[t].filter(|mass| *mass > 0.0)?)));
        let (t, mass) = places.min_by_key(|(t, _)| (2 * t + 1).abs_diff(first + last)).ok_or(none)?;
        let amplitude = all[t] / self.term(mass, t, all.len()).0;
        let one = DVector::from_vec(vec![amplitude, mass]);
        if self.states == States::One {
            return Ok(one);
        }
        let trial = |gap: f64| {
            let rest = all[first] - amplitude * self.term(mass, first, all.len()).0;
            let second = rest / self.term(mass + gap, first, all.len()).0;
            DVector::from_vec(vec![amplitude, mass, second, libm::log(gap)])
        };
        let trials = [0.1, 0.3, 0.6, 1.2].map(trial);
        let fits = trials.into_iter().filter_map(|start| self.least_squares(all, weights, start));
        let best = fits.min_by(|a, b| a.1.total_cmp(&b.1));
        best.map(|(parameters, _)| parameters).ok_or_else(|| self.not_converged())
    }

    /// f(m, t) exp(m first) and its derivative with respect to m.
    fn term(&self, mass: f64, t: usize, times: usize) -> (f64, f64) {
        let (first, t) = (self.window.first as f64, t as f64);
        let falling = libm::exp(-mass * (t - first));
        match self.shape {
            EffectiveMass::Exponential => (falling, -(t - first) * falling),
            EffectiveMass::Cosh => {
                let back = times as f64 - t - first;
                let rising = libm::exp(-mass * back);
                (falling + rising, -(t - first) * falling - back * rising)
            }
        }
    }

    /// The parameters at the minimum of χ², and the minimum.
    fn least_squares(&self, all: &[f64], weights: &Whitening, start: DVector<f64>) -> Option<(DVector<f64>, f64)> {
        let problem = Problem { fit: self, all, weights, parameters: start };
        let (solved, report) = LevenbergMarquardt::new().with_tol(1e-12).with_patience(200).minimize(problem);
        let finite = solved.parameters.iter().all(|parameter| parameter.is_finite());
        let chi_squared = 2.0 * report.objective_function;
        (finite && chi_squared.is_finite() && ended_well(&report.termination))
            .then_some((solved.parameters, chi_squared))
    }
}

/// Tolerances are near the limit of rounding, so a fit that cannot improve further ended well.
fn ended_well(reason: &TerminationReason) -> bool {
    reason.was_successful() || matches!(reason, TerminationReason::NoImprovementPossible(_))
}

/// m of each state.
fn masses(parameters: &[f64]) -> Vec<f64> {
    let mut masses = vec![parameters[1]];
    if let Some(logarithm) = parameters.get(3) {
        masses.push(parameters[1] + libm::exp(*logarithm));
    }
    masses
}

struct Problem<'a> {
    fit: &'a Fit,
    all: &'a [f64],
    weights: &'a Whitening,
    parameters: DVector<f64>,
}

impl Problem<'_> {
    fn times(&self) -> impl Iterator<Item = usize> + Clone {
        self.fit.window.first..=self.fit.window.last
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Problem<'_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, parameters: &DVector<f64>) {
        self.parameters.copy_from(parameters);
    }

    fn params(&self) -> DVector<f64> {
        self.parameters.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let masses = masses(self.parameters.as_slice());
        let value = |t: usize| {
            let terms = masses.iter().enumerate();
            terms.fold(0.0, |sum, (k, &mass)| sum + self.parameters[2 * k] * self.fit.term(mass, t, self.all.len()).0)
        };
        let differences: Vec<f64> = self.times().map(|t| value(t) - self.all[t]).collect();
        let residuals = self.weights.apply(DVector::from_vec(differences));
        residuals.iter().all(|residual| residual.is_finite()).then_some(residuals)
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let parameters = self.parameters.as_slice();
        let masses = masses(parameters);
        let column =
            |of_time: &dyn Fn(usize) -> f64| self.weights.apply(DVector::from_vec(self.times().map(of_time).collect()));
        let term = |k: usize, t: usize| self.fit.term(masses[k], t, self.all.len());
        let mut columns = Vec::new();
        for (k, pair) in parameters.chunks_exact(2).enumerate() {
            columns.push(column(&|t| term(k, t).0));
            columns.push(match k {
                // The second mass moves with the first.
                0 => column(&|t| (0..masses.len()).map(|k| parameters[2 * k] * term(k, t).1).sum()),
                _ => column(&|t| pair[0] * term(k, t).1 * libm::exp(pair[1])),
            });
        }
        Some(DMatrix::from_columns(&columns))
    }
}

impl States {
    /// 1 or 2.
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
        }
    }
}

impl fmt::Display for Window {
    /// `5:12`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.first, self.last)
    }
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (first, last) = text.split_once(':')?;
            Some(Self { first: first.parse().ok()?, last: last.parse().ok()? })
        };
        read().ok_or_else(|| format!("invalid times '{text}': expected the first and the last one, as in 5:12"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanefield_reference::random::{Stream, gaussian_pair};

    const T: usize = 24;

    /// C(t) = Σ A f(m, t) (1 + ε η_t), the η of neighbouring times correlated.
    fn samples(shape: EffectiveMass, states: &[(f64, f64)], noise: f64, count: u64) -> Samples {
        let value = |t: usize| {
            let (t, back) = (t as f64, (T - t) as f64);
            let f = |m: f64| match shape {
                EffectiveMass::Exponential => (-m * t).exp(),
                EffectiveMass::Cosh => (-m * t).exp() + (-m * back).exp(),
            };
            states.iter().map(|&(a, m)| a * f(m)).sum::<f64>()
        };
        let eta = |k: u64, t: usize| gaussian_pair(9, Stream::TestData, k, t as u32).0;
        let sample =
            |k: u64| (0..T).map(|t| value(t) * (1.0 + noise * (eta(k, t) + eta(k, (t + 1) % T)))).collect::<Vec<_>>();
        Samples::of(&(0..count).map(sample).collect::<Vec<_>>())
    }

    fn fit(shape: EffectiveMass, states: States, first: usize, last: usize) -> Fit {
        Fit { shape, states, window: Window { first, last }, covariance: Covariance::Full }
    }

    #[test]
    fn one_state_is_found_within_its_error_by_jackknife_and_bootstrap() {
        for shape in [EffectiveMass::Cosh, EffectiveMass::Exponential] {
            let samples = samples(shape, &[(-3.0, 0.4)], 0.02, 100);
            for resampling in [Resampling::Jackknife, Resampling::Bootstrap { resamples: 200, seed: 4 }] {
                let found = fit(shape, States::One, 3, 11).of(&samples, resampling).unwrap();
                let Estimate { value, error } = found.masses[0];
                let error = error.unwrap();
                assert!(error > 1e-5 && error < 2e-3 && (value - 0.4).abs() < 4.0 * error, "{shape:?}: {found:?}");
                assert!((found.amplitudes[0].value + 3.0).abs() < 0.1, "{shape:?}: {found:?}");
                assert!(found.degrees == 7 && found.chi_squared < 25.0, "{shape:?}: {found:?}");
            }
        }
    }

    #[test]
    fn two_states_are_found_to_the_last_digits_where_there_is_hardly_noise() {
        let states = [(1.0, 0.3), (2.0, 0.9)];
        let samples = samples(EffectiveMass::Cosh, &states, 1e-9, 40);
        let found = fit(EffectiveMass::Cosh, States::Two, 1, 12).of(&samples, Resampling::Jackknife).unwrap();
        for (k, (amplitude, mass)) in states.into_iter().enumerate() {
            assert!((found.masses[k].value - mass).abs() < 1e-5, "{found:?}");
            assert!((found.amplitudes[k].value - amplitude).abs() < 1e-5, "{found:?}");
        }
    }

    /// For many ensembles of `count` samples, the fraction of p-values below 0.05 and their mean.
    fn p_values(states: &[(f64, f64)], count: u64, covariance: Covariance) -> (f64, f64) {
        let fit = Fit { covariance, ..fit(EffectiveMass::Exponential, States::One, 4, 9) };
        let all = samples(EffectiveMass::Exponential, states, 0.02, 200 * count);
        let p = |bins: &[Vec<f64>]| fit.of(&Samples::of(bins), Resampling::Jackknife).unwrap().p_value.unwrap();
        let p: Vec<f64> = all.bins().chunks(count as usize).map(p).collect();
        (p.iter().filter(|p| **p < 0.05).count() as f64 / 200.0, p.iter().sum::<f64>() / 200.0)
    }

    #[test]
    fn p_values_are_uniform_if_the_fit_is_right_and_small_if_it_is_not() {
        // For 12 samples, for which the distribution of χ² would put a third below 0.05.
        let (small, mean) = p_values(&[(1.0, 0.5)], 12, Covariance::Full);
        assert!((0.01..0.1).contains(&small) && (mean - 0.5).abs() < 0.07, "{small} {mean}");
        let (small, _) = p_values(&[(1.0, 0.5), (3.0, 1.0)], 12, Covariance::Full);
        assert!(small > 0.9, "{small}");
    }

    #[test]
    fn a_shrunk_or_cut_covariance_fits_more_times_than_there_are_samples() {
        let samples = samples(EffectiveMass::Cosh, &[(1.0, 0.4)], 0.02, 6);
        for covariance in [Covariance::Shrunk, Covariance::Cut(0.1), Covariance::Diagonal] {
            let fit = Fit { covariance, ..fit(EffectiveMass::Cosh, States::One, 2, 11) };
            let found = fit.of(&samples, Resampling::Jackknife).unwrap();
            let Estimate { value, error } = found.masses[0];
            assert!((value - 0.4).abs() < 0.01 && error.unwrap() < 0.01, "{covariance}: {found:?}");
            assert_eq!(found.p_value, chi_squared_tail(found.chi_squared, 8));
            let expected = match covariance {
                Covariance::Shrunk => matches!(found.regularised, Some(Regularised::Shrunk(x)) if x > 0.0 && x <= 1.0),
                // Six samples have five eigenvalues that are not 0.
                Covariance::Cut(_) => matches!(found.regularised, Some(Regularised::Raised(n)) if n >= 5),
                _ => found.regularised.is_none(),
            };
            assert!(expected, "{covariance}: {found:?}");
        }
    }

    #[test]
    fn the_jacobian_is_the_derivative() {
        let samples = samples(EffectiveMass::Cosh, &[(1.0, 0.3)], 0.1, 30);
        let fit = fit(EffectiveMass::Cosh, States::Two, 2, 9);
        let weights = Whitening::of(&samples, 2..=9, 5, Covariance::Full).unwrap();
        let all = samples.mean();
        let parameters = DVector::from_vec(vec![0.9, 0.31, 1.5, -0.4]);
        let mut problem = Problem { fit: &fit, all, weights: &weights, parameters };
        let numerical = levenberg_marquardt::differentiate_numerically(&mut problem).unwrap();
        let jacobian = problem.jacobian().unwrap();
        assert!((&numerical - &jacobian).norm() < 1e-5 * jacobian.norm(), "{numerical} {jacobian}");
    }

    #[test]
    fn what_cannot_be_fitted_is_refused_with_what_would_be_right() {
        let some = samples(EffectiveMass::Cosh, &[(1.0, 0.3)], 0.01, 8);
        let of = |fit: Fit| fit.of(&some, Resampling::Jackknife).unwrap_err().to_string();
        let cosh = |first, last| fit(EffectiveMass::Cosh, States::One, first, last);
        assert!(of(cosh(5, 24)).contains("from 0 to 23"), "{}", of(cosh(5, 24)));
        assert!(of(cosh(5, 6)).contains("needs at least 3"), "{}", of(cosh(5, 6)));
        assert!(of(cosh(2, 10)).contains("8 samples do not determine the covariance of 9 times, which needs 11: take more samples, at most 6 times"), "{}", of(cosh(2, 10)));
        let rising = Fit { covariance: Covariance::Diagonal, ..cosh(13, 20) };
        assert!(rising.of(&some, Resampling::Jackknife).is_ok());
        let rising = Fit { shape: EffectiveMass::Exponential, ..rising };
        assert!(of(rising).contains("no effective mass"), "{}", of(rising));
        assert_eq!("5:12".parse(), Ok(Window { first: 5, last: 12 }));
        assert!("5-12".parse::<Window>().unwrap_err().contains("'5-12'"));
    }
}
