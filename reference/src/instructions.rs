//! The vector instructions that kernels use. A program contains the kernels for several instruction sets, and selects the best one that the
//! processor supports when the first kernel runs. The bits of results are the same with each.

use std::str::FromStr;
use std::sync::OnceLock;

/// A set of vector instructions. Better ones come later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Instructions {
    /// The instructions of every processor of the architecture: SSE2 on x86-64, where fused multiply-adds are function calls; NEON on 64-bit Arm.
    Baseline,
    /// AVX2 and FMA: x86-64 since Haswell (2013) and Zen (2017).
    Avx2,
    /// AVX-512 with F, VL, DQ and BW: x86-64 since Skylake-SP (2017) and Zen 4 (2022).
    Avx512,
}

/// An error of an instruction set. Messages are fragments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum InstructionsError {
    #[error("unknown instructions '{0}': expected baseline, avx2 or avx512")]
    Unknown(String),
    #[error("this processor has no {wanted}: its best instructions are {best}")]
    Missing { wanted: Instructions, best: Instructions },
    #[error("kernels use {used} already: choose {wanted} before the first of them runs")]
    TooLate { used: Instructions, wanted: Instructions },
}

static IN_USE: OnceLock<Instructions> = OnceLock::new();

impl Instructions {
    /// The environment variable with the name of the set to use. If its value is not valid, or the processor does not support the set, the best one
    /// is used.
    pub const VARIABLE: &str = "LANEFIELD_INSTRUCTIONS";

    /// The set that kernels use: the best of this processor, unless [`Self::choose`] or [`Self::VARIABLE`] selected another.
    #[inline]
    pub fn in_use() -> Self {
        *IN_USE.get_or_init(|| match Self::of_environment() {
            Ok(Some(wanted)) if wanted <= Self::best() => wanted,
            _ => Self::best(),
        })
    }

    /// The set that [`Self::VARIABLE`] names, if it is set.
    pub fn of_environment() -> Result<Option<Self>, InstructionsError> {
        match std::env::var_os(Self::VARIABLE) {
            Some(name) if !name.is_empty() => name.to_string_lossy().parse().map(Some),
            _ => Ok(None),
        }
    }

    /// Makes the kernels of this process use a set, for tests and measurements.
    ///
    /// # Errors
    /// [`InstructionsError`] if the processor does not have it, or if kernels already use another one.
    pub fn choose(self) -> Result<(), InstructionsError> {
        let best = Self::best();
        if self > best {
            return Err(InstructionsError::Missing { wanted: self, best });
        }
        match *IN_USE.get_or_init(|| self) {
            used if used == self => Ok(()),
            used => Err(InstructionsError::TooLate { used, wanted: self }),
        }
    }

    /// The best that this processor has.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx2 = has!("avx2") && has!("fma") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt");
            let avx512 = has!("avx512f") && has!("avx512vl") && has!("avx512dq") && has!("avx512bw");
            match (avx2, avx512) {
                (true, true) => Self::Avx512,
                (true, false) => Self::Avx2,
                (false, _) => Self::Baseline,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Self::Baseline
    }

    /// Bytes of one vector. Stencils with words of two vectors take up to 1.9 times as long as with words of one (`docs/performance.md`).
    pub fn vector_bytes(self) -> usize {
        match self {
            Self::Avx512 => 64,
            Self::Avx2 => 32,
            Self::Baseline => 16,
        }
    }

    /// The name in messages.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2 and FMA",
            Self::Baseline if cfg!(target_arch = "x86_64") => "SSE2, no fused multiply-add: slow, same bits",
            Self::Baseline if cfg!(target_arch = "aarch64") => "NEON",
            Self::Baseline => "no vector instructions: slow, same bits",
        }
    }
}

crate::named!(Instructions: Baseline = "baseline", Avx2 = "avx2", Avx512 = "avx512");

impl FromStr for Instructions {
    type Err = InstructionsError;
    fn from_str(text: &str) -> Result<Self, InstructionsError> {
        let known = Self::ALL.into_iter().find(|set| set.to_string() == text);
        known.ok_or_else(|| InstructionsError::Unknown(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for set in Instructions::ALL {
            assert_eq!(set.to_string().parse(), Ok(set));
        }
        let unknown = "sse9".parse::<Instructions>().unwrap_err();
        assert_eq!(unknown.to_string(), "unknown instructions 'sse9': expected baseline, avx2 or avx512");
    }

    #[test]
    fn a_set_is_chosen_before_kernels_run_and_only_if_there_is_one() {
        let used = Instructions::in_use();
        assert_eq!(used.choose(), Ok(()));
        for wanted in Instructions::ALL.into_iter().filter(|&wanted| wanted != used) {
            let best = Instructions::best();
            let expected = match wanted > best {
                true => InstructionsError::Missing { wanted, best },
                false => InstructionsError::TooLate { used, wanted },
            };
            assert_eq!(wanted.choose(), Err(expected));
        }
    }
}
