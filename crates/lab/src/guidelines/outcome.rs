//! The result of an experiment, and whether its guideline holds.

use serde::Serialize;

use super::guideline::Guideline;
use super::sides::{Measured, Trouble};
use crate::Spread;

/// Smaller differences do not matter, however certain they are.
const LEAST_FACTOR: f64 = 1.03;
/// The least number of pairs of samples for which there is a spread.
const LEAST_PAIRS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The side that follows it is faster, by more than the spread.
    Holds,
    /// The two sides take the same time, within 3%.
    NoDifference,
    /// The two sides differ by more, but within the spread: more samples, or a quieter machine, would help.
    Unclear,
    /// The side that follows it is slower, by more than the spread.
    OtherWay,
    DoesNotApply,
    Failed,
    /// An observation: there is nothing with which to compare it.
    Observed,
}
lanefield_reference::named!(
    Verdict: Holds = "holds here", NoDifference = "makes no difference here", Unclear = "unclear: within the spread",
        OtherWay = "the other way round here", DoesNotApply = "does not apply", Failed = "failed", Observed = "observed"
);

impl Verdict {
    /// The verdict from how many times as long the side without takes, in pairs of consecutive samples. For a difference, the median must be at
    /// least 3% from 1, and the range from the 10th to the 90th percentile must be on one side of 1.
    pub fn of(factor: &Spread) -> Self {
        if factor.median < LEAST_FACTOR && factor.median > 1.0 / LEAST_FACTOR {
            Self::NoDifference
        } else if factor.tenth > 1.0 {
            Self::Holds
        } else if factor.ninetieth < 1.0 {
            Self::OtherWay
        } else {
            Self::Unclear
        }
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    #[serde(flatten)]
    pub guideline: Guideline,
    /// Seconds of the side that does not follow it.
    pub without_seconds: Option<Spread>,
    pub with_seconds: Option<Spread>,
    /// How many times as long the first side takes, for each pair of samples.
    pub factor: Option<Spread>,
    pub samples: usize,
    pub verdict: Verdict,
    /// Why it does not apply or failed, or what was observed.
    pub remark: Option<String>,
}

impl Outcome {
    pub(super) fn new(guideline: &Guideline, result: Result<Measured, Trouble>) -> Self {
        let mut outcome = Self {
            guideline: guideline.clone(),
            without_seconds: None,
            with_seconds: None,
            factor: None,
            samples: 0,
            verdict: Verdict::Failed,
            remark: None,
        };
        match result {
            Ok(Measured::Pairs(pairs)) => outcome.take(pairs),
            Ok(Measured::Observed(remark)) => {
                (outcome.verdict, outcome.remark) = (Verdict::Observed, Some(remark));
            }
            Err(Trouble::DoesNotApply { reason }) => {
                (outcome.verdict, outcome.remark) = (Verdict::DoesNotApply, Some(reason));
            }
            Err(error) => outcome.remark = Some(error.to_string()),
        }
        outcome
    }

    /// Evaluates pairs of times: without, with. If the clock did not advance during the work, there is no result.
    fn take(&mut self, pairs: Vec<[f64; 2]>) {
        self.samples = pairs.len();
        if let Some([without, with]) = pairs.iter().find(|times| times.iter().any(|&time| time <= 0.0)) {
            self.remark = Some(format!("the clock did not move: {without:e} s without, {with:e} s with"));
            return;
        }
        let of = |what: fn(&[f64; 2]) -> f64| Spread::of(pairs.iter().map(what).collect());
        self.without_seconds = of(|[without, _]| *without);
        self.with_seconds = of(|[_, with]| *with);
        self.factor = of(|[without, with]| without / with);
        match &self.factor {
            Some(_) if pairs.len() < LEAST_PAIRS => {
                self.verdict = Verdict::Unclear;
                let taken = pairs.len();
                self.remark = Some(format!("{taken} of the {LEAST_PAIRS} pairs of samples that a verdict takes"));
            }
            Some(factor) => self.verdict = Verdict::of(factor),
            None => self.remark = Some("no sample was taken".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::named;
    use super::*;
    use lanefield::backend::opencl::OpenClError;

    fn verdict(tenth: f64, median: f64, ninetieth: f64) -> Verdict {
        Verdict::of(&Spread { median, tenth, ninetieth })
    }

    fn outcome(result: Result<Measured, Trouble>) -> Outcome {
        Outcome::new(&named(&["coalesced"]).unwrap()[0], result)
    }

    #[test]
    fn a_verdict_needs_the_whole_spread_on_one_side_of_one_and_three_percent() {
        assert_eq!(verdict(1.5, 2.0, 2.5), Verdict::Holds);
        assert_eq!(verdict(1.001, 1.03, 1.2), Verdict::Holds);
        assert_eq!(verdict(0.99, 1.5, 3.0), Verdict::Unclear);
        assert_eq!(verdict(0.4, 0.5, 0.6), Verdict::OtherWay);
        assert_eq!(verdict(0.4, 0.5, 1.01), Verdict::Unclear);
        // However sure.
        assert_eq!(verdict(1.019, 1.02, 1.021), Verdict::NoDifference);
        assert_eq!(verdict(0.979, 0.98, 0.981), Verdict::NoDifference);
        assert_eq!(verdict(0.5, 1.0, 2.0), Verdict::NoDifference);
    }

    #[test]
    fn fewer_than_three_pairs_tell_nothing() {
        let verdict = |pairs: usize| outcome(Ok(Measured::Pairs(vec![[2.0, 1.0]; pairs]))).verdict;
        assert_eq!([1, 2, 3].map(verdict), [Verdict::Unclear, Verdict::Unclear, Verdict::Holds]);
    }

    #[test]
    fn a_drift_that_both_sides_share_does_not_hide_the_factor() {
        // Each pair is slower than the one before, by more than the sides differ.
        let pairs = (1..=9).map(|k| [1.5 * f64::from(k), f64::from(k)]).collect();
        let outcome = outcome(Ok(Measured::Pairs(pairs)));
        let factor = outcome.factor.unwrap();
        assert_eq!((factor.tenth, factor.median, factor.ninetieth), (1.5, 1.5, 1.5));
        assert!(outcome.without_seconds.unwrap().overlaps(&outcome.with_seconds.unwrap()));
        assert_eq!((outcome.verdict, outcome.samples), (Verdict::Holds, 9));
    }

    #[test]
    fn what_cannot_be_run_is_an_outcome_with_its_reason() {
        let trouble = Trouble::DoesNotApply { reason: "it has no images".to_owned() };
        let missing = outcome(Err(trouble));
        assert_eq!((missing.verdict, missing.remark.as_deref()), (Verdict::DoesNotApply, Some("it has no images")));
        let refused = outcome(Err(Trouble::OpenCl(OpenClError::NoOpenCl {
            reason: "no driver".to_owned(),
            is_installed: false,
        })));
        assert_eq!(refused.verdict, Verdict::Failed);
        assert!(refused.remark.unwrap().contains("no driver") && refused.without_seconds.is_none());
        let differing = outcome(Err(Trouble::Differs { at: 3, without: 1, with: 2 }));
        assert_eq!(differing.verdict, Verdict::Failed);
        assert!(differing.remark.unwrap().contains("word 3") && differing.factor.is_none());
    }

    #[test]
    fn a_clock_that_stands_still_gives_no_factor() {
        let outcome = outcome(Ok(Measured::Pairs(vec![[1e-6, 1e-6], [0.0, 1e-6]])));
        assert_eq!((outcome.verdict, outcome.factor), (Verdict::Failed, None));
        assert!(outcome.remark.unwrap().contains("did not move"));
    }
}
