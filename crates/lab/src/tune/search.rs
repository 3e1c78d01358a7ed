//! The search for the fastest choice for one kernel. Coarse: one axis after the other, each value of it put into the best choice so far,
//! timed a few times. Then the best few and the default are timed again in turn, so that a clock that changes meets all of them alike. A
//! choice whose result has other bits than the default's is out, however fast.

use std::time::Duration;

use lanefield::backend::opencl::Tuning;
use serde::Serialize;

use crate::spread::median;

/// What is searched: a kernel that can be run and timed with any choice, and a clock.
pub trait Trial {
    type Output;
    /// Is told what will be tried next, before it is: what must be built for it can be built side by side.
    fn build_ahead(&mut self, _: &[Tuning]) {}
    fn run(&mut self, choice: &Tuning) -> Result<Self::Output, String>;
    /// Seconds of a launch: one sample.
    fn time(&mut self, choice: &Tuning) -> Result<f64, String>;
    /// Where two results differ, in words; `None` where all bits are the same.
    fn difference(&self, found: &Self::Output, expected: &Self::Output) -> Option<String>;
    /// Time since the beginning of the search; as much as there can be where it is to end.
    fn elapsed(&mut self) -> Duration;
}

#[derive(Clone, Debug)]
pub struct Axis {
    pub name: &'static str,
    /// Its values; what one leaves open stays as it is.
    pub values: Vec<Tuning>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is the fastest, or the default where nothing is faster.
    Chosen,
    /// It is slower than the chosen one, by so many percent.
    Slower {
        /// Percent of the chosen one's time; as JSON a share.
        #[serde(rename = "share", serialize_with = "crate::json::si::percent")]
        percent: f64,
    },
    BitsDiffer {
        difference: String,
    },
    Refused {
        reason: String,
    },
    /// The budget was spent before its turn.
    LeftOut,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Candidate {
    pub choice: Tuning,
    /// Seconds of a launch, the median; none where it was not timed.
    pub seconds: Option<f64>,
    pub verdict: Verdict,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Searched {
    pub choice: Tuning,
    pub default_seconds: f64,
    pub seconds: f64,
    /// The default, then all others, in the order in which they were tried.
    pub candidates: Vec<Candidate>,
}

const COARSE: usize = 3;
/// Choices that are timed again, beside the default.
const FINALISTS: usize = 3;
const FINAL: usize = 15;
/// The share of the time that the coarse stage may take.
const COARSE_SHARE: f64 = 0.75;
/// A choice that gains less than this share of the default's time is noise.
const LEAST_GAIN: f64 = 0.01;

/// Searches the axes from `default` on until the clock says `until`. `expected`: the result of the CPU reference.
/// Fails if the default could not be run, or if its bits differ from the reference's: then no choice can be trusted.
pub fn search<T: Trial>(
    trial: &mut T,
    default: Tuning,
    expected: &T::Output,
    axes: &[Axis],
    until: Duration,
) -> Result<Searched, String> {
    let begin = trial.elapsed();
    let coarse_until = begin + until.saturating_sub(begin).mul_f64(COARSE_SHARE);
    trial.build_ahead(&[default]);
    let by_default = trial.run(&default)?;
    if let Some(difference) = trial.difference(&by_default, expected) {
        return Err(format!("the default build differs from the CPU reference: {difference}"));
    }
    let seconds = coarse(trial, &default)?;
    let mut candidates = vec![Candidate { choice: default, seconds: Some(seconds), verdict: Verdict::Chosen }];
    for axis in axes {
        let best = candidates[fastest(&candidates).0].choice;
        let mut choices: Vec<Tuning> = Vec::new();
        for choice in axis.values.iter().map(|value| value.or(best)) {
            if !choices.contains(&choice) && candidates.iter().all(|known| known.choice != choice) {
                choices.push(choice);
            }
        }
        if trial.elapsed() < coarse_until {
            trial.build_ahead(&choices);
        }
        for choice in choices {
            let attempted = match trial.elapsed() < coarse_until {
                true => attempt(trial, &choice, &by_default),
                false => Err(Verdict::LeftOut),
            };
            let seconds = attempted.as_ref().ok().copied();
            let verdict = attempted.err().unwrap_or(Verdict::Slower { percent: 0.0 });
            candidates.push(Candidate { choice, seconds, verdict });
        }
    }
    again(trial, &mut candidates, until);
    Ok(judged(candidates))
}

fn coarse<T: Trial>(trial: &mut T, choice: &Tuning) -> Result<f64, String> {
    let times: Vec<f64> = (0..COARSE).map(|_| trial.time(choice)).collect::<Result<_, _>>()?;
    Ok(median(times))
}

/// Runs a candidate, compares its bits, and times it.
fn attempt<T: Trial>(trial: &mut T, choice: &Tuning, by_default: &T::Output) -> Result<f64, Verdict> {
    let refused = |reason| Verdict::Refused { reason };
    let found = trial.run(choice).map_err(refused)?;
    match trial.difference(&found, by_default) {
        Some(difference) => Err(Verdict::BitsDiffer { difference }),
        None => coarse(trial, choice).map_err(refused),
    }
}

/// Places of the candidates that ran with the right bits, the default first, and their seconds.
fn timed(candidates: &[Candidate]) -> Vec<(usize, f64)> {
    candidates.iter().enumerate().filter_map(|(place, candidate)| Some((place, candidate.seconds?))).collect()
}

fn fastest(candidates: &[Candidate]) -> (usize, f64) {
    timed(candidates).into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::NAN))
}

/// Times the default and the best few again, in turn, as long as there is time; what fails keeps the time that it had.
fn again<T: Trial>(trial: &mut T, candidates: &mut [Candidate], until: Duration) {
    let mut order = timed(candidates);
    order[1..].sort_by(|a, b| a.1.total_cmp(&b.1));
    let others = order.split_off(order.len().min(1 + FINALISTS));
    if order.len() == 1 {
        return;
    }
    let mut samples = vec![Vec::new(); order.len()];
    for _ in 0..FINAL {
        if trial.elapsed() >= until {
            break;
        }
        for (&(place, _), samples) in order.iter().zip(&mut samples) {
            samples.extend(trial.time(&candidates[place].choice).ok());
        }
    }
    // Old and new samples are not compared.
    if samples.iter().all(|samples| !samples.is_empty()) {
        let mut slowest = 0.0f64;
        for ((place, _), samples) in order.into_iter().zip(samples) {
            let seconds = median(samples);
            candidates[place].seconds = Some(seconds);
            slowest = slowest.max(seconds);
        }
        // The others lost already.
        for (place, seconds) in others {
            candidates[place].seconds = Some(seconds.max(slowest));
        }
    }
}

fn judged(mut candidates: Vec<Candidate>) -> Searched {
    let (_, default_seconds) = timed(&candidates)[0];
    let (mut chosen, mut seconds) = fastest(&candidates);
    if seconds > default_seconds * (1.0 - LEAST_GAIN) {
        (chosen, seconds) = (0, default_seconds);
    }
    for (place, of_place) in timed(&candidates) {
        let slower = Verdict::Slower { percent: 100.0 * (of_place / seconds - 1.0) };
        candidates[place].verdict = if place == chosen { Verdict::Chosen } else { slower };
    }
    Searched { choice: candidates[chosen].choice, default_seconds, seconds, candidates }
}
