//! The two sides of an experiment: how to run one, why it may fail, and whether both have the same result.

use lanefield::backend::opencl::{OpenClError, SourceError};
use lanefield::reference::ensure;

use super::guideline::Agreement;

#[derive(Debug)]
pub(super) enum Measured {
    Pairs(Vec<[f64; 2]>),
    Observed(String),
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Trouble {
    #[error(transparent)]
    OpenCl(#[from] OpenClError),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("{reason}")]
    DoesNotApply { reason: String },
    #[error("the results of the two sides differ: word {at} is {without:#010x} without, {with:#010x} with")]
    Differs { at: usize, without: u32, with: u32 },
    #[error("the results of the two sides have different lengths: {without} words without, {with} with")]
    Lengths { without: usize, with: usize },
    #[error("there is no experiment of that name")]
    NoExperiment,
    #[error("the result is {words} words of zero, which shows nothing")]
    Nothing { words: usize },
}

pub(super) struct Side<'s> {
    /// Does the work once, and returns the seconds that it took.
    pub run: Box<dyn FnMut() -> Result<f64, Trouble> + 's>,
    pub result: Box<dyn FnMut() -> Result<Vec<u32>, Trouble> + 's>,
}

pub(super) fn words_of(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|&word| u32::from_ne_bytes(word)).collect()
}

pub(super) fn agree(agreement: Agreement, without: &[u32], with: &[u32]) -> Result<(), Trouble> {
    ensure!(without.len() == with.len(), Trouble::Lengths { without: without.len(), with: with.len() });
    ensure!(!without.iter().all(|&word| word == 0), Trouble::Nothing { words: without.len() });
    let same = |a: u32, b: u32| match agreement {
        Agreement::Within(difference) => (f32::from_bits(a) - f32::from_bits(b)).abs() <= difference,
        Agreement::Words | Agreement::Observation => a == b,
    };
    match without.iter().zip(with).position(|(&a, &b)| !same(a, b)) {
        Some(at) => Err(Trouble::Differs { at, without: without[at], with: with[at] }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_that_differs_is_named() {
        assert!(agree(Agreement::Words, &[1, 2, 3], &[1, 2, 3]).is_ok());
        let error = agree(Agreement::Words, &[1, 2, 3], &[1, 7, 4]).unwrap_err();
        assert!(matches!(error, Trouble::Differs { at: 1, without: 2, with: 7 }), "{error}");
    }

    #[test]
    fn results_of_zeros_or_of_other_lengths_show_nothing() {
        assert!(matches!(agree(Agreement::Words, &[0, 0], &[0, 0]), Err(Trouble::Nothing { words: 2 })));
        let error = agree(Agreement::Words, &[1, 2], &[1]);
        assert!(matches!(error, Err(Trouble::Lengths { without: 2, with: 1 })));
    }

    #[test]
    fn floats_may_differ_by_what_is_said_and_not_by_nan() {
        let bits = |x: f32| [x.to_bits()];
        let within = Agreement::Within(1e-3);
        assert!(agree(within, &bits(1.0), &bits(1.0005)).is_ok());
        assert!(
            agree(within, &bits(1.0), &bits(1.002)).is_err() && agree(within, &bits(1.0), &bits(f32::NAN)).is_err()
        );
    }
}
