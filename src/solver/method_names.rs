//! The methods of solves by name, as the command line, C and Python have them.

use std::str::FromStr;

use lanefield_reference::real::{Precision, Real};

use super::Method;

/// No method has the name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown method '{name}': expected cg, block-cg, mixed-f32, mixed-half or bicgstab")]
pub struct UnknownMethod {
    name: String,
}

lanefield_reference::named!(Method:
    ConjugateGradients = "cg",
    BlockConjugateGradients = "block-cg",
    MixedF32 = "mixed-f32",
    MixedHalf = "mixed-half",
    BiCgStab = "bicgstab",
);

impl Method {
    /// Those that take several right-hand sides.
    pub const OF_SEVERAL: &[Self] = &[Self::ConjugateGradients, Self::BlockConjugateGradients];

    /// What it is, in a line of a help.
    pub fn about(self) -> &'static str {
        match self {
            Self::ConjugateGradients => {
                "Conjugate gradients, on the normal equations unless the operator is positive definite"
            }
            Self::BlockConjugateGradients => {
                "Conjugate gradients in which each right-hand side searches in the directions of all: fewer iterations, each of more work"
            }
            Self::MixedF32 => "The same in f64, with a recurrence in f32",
            Self::MixedHalf => "The same in f64, with a recurrence in half precision",
            Self::BiCgStab => "BiCGStab",
        }
    }

    /// In words, with the precision of the solution.
    pub fn describe(self, precision: &str) -> String {
        match self {
            Self::ConjugateGradients => format!("conjugate gradients in {precision}"),
            Self::BlockConjugateGradients => format!("block conjugate gradients in {precision}"),
            Self::MixedF32 => "conjugate gradients in f64 and f32".to_owned(),
            Self::MixedHalf => "conjugate gradients in f64 and half precision".to_owned(),
            Self::BiCgStab => format!("BiCGStab in {precision}"),
        }
    }

    /// Whether its recurrence has fewer bits than its solutions, which are in f64.
    pub fn is_mixed(self) -> bool {
        matches!(self, Self::MixedF32 | Self::MixedHalf)
    }

    /// The most precise arithmetic that it needs of a device, to solve in `R`: what mixed solves compute in f64 may be done on the CPU.
    pub fn device_precision<R: Real>(self) -> Precision {
        if self.is_mixed() { Precision::F32 } else { R::PRECISION }
    }

    /// Whether it takes several right-hand sides.
    pub fn takes_several(self) -> bool {
        Self::OF_SEVERAL.contains(&self)
    }
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        let named = Self::ALL.into_iter().find(|method| method.name() == name);
        named.ok_or_else(|| UnknownMethod { name: name.to_owned() })
    }
}
