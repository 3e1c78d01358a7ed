//! How well two arrays solve a system, and what that implies about their differences.

use std::fmt;

use lanefield::dynamic::AnyBackend;
use lanefield::io::npy::ComplexArray;
use lanefield::prelude::*;
use serde::Serialize;

use super::equation::Equation;
use super::error::SystemError;
use super::fit::fit;
use super::reading::Reading;
use super::residual::Residual;
use crate::compare::{Cause, Comparison, Confidence};

/// The largest plausible ratio of the difference of two solutions to their residuals.
const CONDITION: f64 = 1e5;

/// How well two arrays solve a system.
#[derive(Serialize)]
pub struct TriedSolutions {
    /// The operator M and its parameters.
    operator: String,
    a: Residual,
    b: Residual,
    /// |A − B| / |A| for what was tried.
    #[serde(skip)]
    difference: f64,
    /// For propagators, the column that was tried.
    #[serde(skip)]
    column: Option<[usize; 2]>,
}

impl fmt::Display for TriedSolutions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "system   of {}: {}; {}", self.operator, self.a.words("A"), self.b.words("B"))
    }
}

impl TriedSolutions {
    pub fn new(a: &ComplexArray, b: &ComplexArray, system: &Equation<'_>) -> Result<Self, SystemError> {
        let cpu = AnyBackend::from(Cpu::new(None).map_err(SystemError::Cpu)?);
        let of = |name: &'static str, array: &ComplexArray| -> Result<(Vec<Complex<f64>>, Residual), SystemError> {
            let x = system.column(array, &Reading::default());
            let x = x.map_err(|source| SystemError::Array { name, source: Box::new(source) })?;
            let residual = cpu.install(|| system.tried(&cpu, array, &x))?;
            Ok((x, residual))
        };
        let ((x, a_residual), (y, b_residual)) = (of("A", a)?, of("B", b)?);
        let (difference, ..) = fit(&y, &x);
        let column = if system.is_propagator(a) { Some(system.component()?) } else { None };
        Ok(Self { operator: system.model.describe(), a: a_residual, b: b_residual, difference, column })
    }

    /// Puts these findings before other causes, and removes causes that they supersede.
    pub fn add_to(&self, comparison: &mut Comparison) {
        if comparison.is_same() {
            return;
        }
        let evidence =
            format!("|b − M x| / |b| of {}: A {:.1e}, B {:.1e}", self.operator, self.a.residual, self.b.residual);
        let (kind, confidence, sentence) = match (self.a.solves(), self.b.solves()) {
            (true, true) => {
                let (least, most) = (self.a.residual.min(self.b.residual), self.a.residual.max(self.b.residual));
                let norm = self.difference;
                let of_column = self
                    .column
                    .map_or_else(String::new, |[spin, colour]| format!(" in column {spin},{colour} (spin, colour)"));
                let both = format!("both solve the system{of_column}, to {least:.0e} and {most:.0e}");
                let is_near = norm <= CONDITION * most;
                if self.column.is_some() && is_near && comparison.relative_norm > CONDITION * most {
                    let sentence = format!("{both}: other columns, which were not tried, differ by more");
                    comparison
                        .causes
                        .insert(0, Cause { kind: "system", confidence: Confidence::Possible, sentence, evidence });
                    return;
                }
                comparison.causes.retain(|cause| !matches!(cause.kind, "tolerance" | "single_steps"));
                match is_near {
                    true => {
                        let sentence = format!(
                            "{both}: a tolerance of {most:.0e} allows their difference, {norm:.0e} of the norm"
                        );
                        ("tolerance", Confidence::Certain, sentence)
                    }
                    false => {
                        let sentence =
                            format!("{both}, and differ by {norm:.0e} of the norm: M has a mode that is nearly zero");
                        ("near_zero_mode", Confidence::Possible, sentence)
                    }
                }
            }
            (false, false) if self.b.factor.is_none() && self.a.factor.is_none() => return,
            (a, b) => {
                let confidence = if (a || self.a.factor.is_some()) && (b || self.b.factor.is_some()) {
                    Confidence::Certain
                } else {
                    Confidence::Likely
                };
                ("system", confidence, format!("{}; {}", self.a.words("A"), self.b.words("B")))
            }
        };
        if confidence == Confidence::Certain {
            comparison.causes.retain(|cause| cause.confidence == Confidence::Certain);
        }
        comparison.causes.insert(0, Cause { kind, confidence, sentence, evidence });
    }
}
