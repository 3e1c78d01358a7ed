//! Names of the methods of solves, for the command line, C and Python.

use std::str::FromStr;

use lanefield_reference::real::{Precision, Real};

use super::Method;

/// The name of a method is unknown.
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
    /// The methods that accept several right-hand sides.
    pub const OF_SEVERAL: &[Self] = &[Self::ConjugateGradients, Self::BlockConjugateGradients];

    /// A description in one line, for help texts.
    pub fn about(self) -> &'static str {
        match self {
            Self::ConjugateGradients => {
                "Conjugate gradients, on the normal equations unless the operator is positive definite"
            }
            Self::BlockConjugateGradients => {
                "Conjugate gradients in which all right-hand sides share search directions: fewer iterations, more work in each"
            }
            Self::MixedF32 => "Conjugate gradients in f64 with a recurrence in f32",
            Self::MixedHalf => "Conjugate gradients in f64 with a recurrence in half precision",
            Self::BiCgStab => "BiCGStab",
        }
    }

    /// A description with the precision of the solution.
    pub fn describe(self, precision: &str) -> String {
        match self {
            Self::ConjugateGradients => format!("conjugate gradients in {precision}"),
            Self::BlockConjugateGradients => format!("block conjugate gradients in {precision}"),
            Self::MixedF32 => "conjugate gradients in f64 and f32".to_owned(),
            Self::MixedHalf => "conjugate gradients in f64 and half precision".to_owned(),
            Self::BiCgStab => format!("BiCGStab in {precision}"),
        }
    }

    /// Whether its recurrence has a lower precision than its solutions, which are in f64.
    pub fn is_mixed(self) -> bool {
        matches!(self, Self::MixedF32 | Self::MixedHalf)
    }

    /// The highest precision that the device must support to solve in `R`. The f64 arithmetic of mixed-precision solves can run on the CPU.
    pub fn device_precision<R: Real>(self) -> Precision {
        if self.is_mixed() { Precision::F32 } else { R::PRECISION }
    }

    /// Whether it accepts several right-hand sides.
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
