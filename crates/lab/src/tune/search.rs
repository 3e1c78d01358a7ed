//! The search for the fastest variant of one kernel. In the coarse stage, one tuning parameter after the other is varied: each of its values is put
//! into the best variant so far, which is timed a few times. Then the best few and the default are timed again, alternately, so that changes of the
//! clock affect them equally. A variant whose result differs in bits from the default's is rejected, however fast it is.

use std::time::Duration;

use lanefield::backend::opencl::Tuning;
use serde::Serialize;

use crate::spread::median;

/// The subject of a search: a kernel that can be run and timed in any variant, and a clock.
pub trait Trial {
    type Output;
    /// Called with the next variants to try, so that their programs can be built in parallel.
    fn build_ahead(&mut self, _: &[Tuning]) {}
    fn run(&mut self, choice: &Tuning) -> Result<Self::Output, String>;
    /// Seconds of a launch: one sample.
    fn time(&mut self, choice: &Tuning) -> Result<f64, String>;
    /// Where two results differ, in words; `None` if all bits are the same.
    fn difference(&self, found: &Self::Output, expected: &Self::Output) -> Option<String>;
    /// Time since the start of the search; the maximum if it is to stop.
    fn elapsed(&mut self) -> Duration;
}

#[derive(Clone, Debug)]
pub struct Axis {
    pub name: &'static str,
    /// Its values; a parameter that a value leaves open keeps its setting.
    pub values: Vec<Tuning>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is the fastest, or the default if nothing is faster.
    Chosen,
    /// It is slower than the chosen one.
    Slower {
        /// By this percentage of the chosen one's time; a fraction in JSON.
        #[serde(rename = "share", serialize_with = "crate::json::si::percent")]
        percent: f64,
    },
    BitsDiffer {
        difference: String,
    },
    Refused {
        reason: String,
    },
    /// The budget was used up before its turn.
    LeftOut,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Candidate {
    pub choice: Tuning,
    /// Seconds of a launch, the median; `None` if it was not timed.
    pub seconds: Option<f64>,
    pub verdict: Verdict,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Searched {
    pub choice: Tuning,
    pub default_seconds: f64,
    pub seconds: f64,
    /// The default, then all others in the order in which they were tried.
    pub candidates: Vec<Candidate>,
}

const COARSE: usize = 3;
/// Number of variants that are timed again, in addition to the default.
const FINALISTS: usize = 3;
const FINAL: usize = 15;
/// The fraction of the time that the coarse stage may use.
const COARSE_SHARE: f64 = 0.75;
/// A gain of less than this fraction of the default's time is noise.
const LEAST_GAIN: f64 = 0.01;

/// Searches the axes, starting from `default`, until the clock reaches `until`. `expected`: the result of the CPU reference. Fails if the default
/// could not be run, or if its bits differ from the reference's: then no variant can be trusted.
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

/// Indices of the candidates that ran with correct bits, the default first, with their seconds.
fn timed(candidates: &[Candidate]) -> Vec<(usize, f64)> {
    candidates.iter().enumerate().filter_map(|(place, candidate)| Some((place, candidate.seconds?))).collect()
}

fn fastest(candidates: &[Candidate]) -> (usize, f64) {
    timed(candidates).into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, f64::NAN))
}

/// Times the default and the best few again, alternately, as long as there is time; a candidate that fails keeps its previous time.
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
        // The others have lost already.
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
