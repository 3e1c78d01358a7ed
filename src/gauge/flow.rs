//! The gradient flow of a gauge field (`docs/arithmetic.md` §22), ∂_t V = Z(V) V with Z of an action. The scheme is Lüscher's Runge-Kutta scheme of
//! third order (JHEP 08 (2010) 071, appendix C). Steps have a fixed size, or sizes that adapt to the difference from the embedded scheme of second
//! order (Fritzsch and Ramos, JHEP 10 (2013) 008, appendix D).

use lanefield_reference::layout::{DIMENSIONS, Direction, Sites};
use lanefield_reference::object::ComplexNumber;

use super::staples::StapleParts;
use super::{Action, GaugeField, GaugeFieldError, LinkField};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;

/// The largest step. With larger ones the scheme is unstable, and exponents exceed the range for which `docs/arithmetic.md` §22 bounds the error.
pub const LARGEST_STEP: f64 = 0.2;

/// The smallest step of an adaptive flow.
const LEAST_STEP: f64 = 1e-8;

/// How the step size is chosen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum StepChoice {
    /// All steps have this size.
    Fixed(f64),
    /// The largest steps for which the links of the schemes of third and second order agree within a tolerance.
    Adaptive {
        /// The size that is tried for the first step.
        first: f64,
        /// The largest value of max |V − V'| / 9 over all links.
        tolerance: f64,
    },
}

/// A step that was taken.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowStep {
    /// The step size.
    pub step: f64,
    /// max |V − V'| / 9 between the two schemes, for an adaptive flow.
    pub distance: Option<f64>,
    /// Number of larger steps that were tried and rejected.
    pub rejected: usize,
}

/// A gauge field under the gradient flow.
pub struct Flow<'b, B: Backend> {
    field: GaugeField<'b, B>,
    action: Action,
    choice: StepChoice,
    time: f64,
    /// The size of the next step.
    next: f64,
    momenta: [LinkField<B>; DIMENSIONS],
    staples: [LinkField<B>; DIMENSIONS],
    parts: Option<StapleParts<B>>,
    adaptive: Option<Adaptive<B>>,
}

/// Additional fields of an adaptive flow.
struct Adaptive<B: Backend> {
    before: [LinkField<B>; DIMENSIONS],
    first: [LinkField<B>; DIMENSIONS],
    lower: [LinkField<B>; DIMENSIONS],
    distances: FieldOn<B, f64, ComplexNumber>,
}

fn check(step: f64) -> Result<(), GaugeFieldError> {
    if step > 0.0 && step <= LARGEST_STEP { Ok(()) } else { Err(GaugeFieldError::Step { step }) }
}

impl<'b, B: Backend> Flow<'b, B> {
    /// Starts the flow of a field at t = 0.
    pub fn new(field: GaugeField<'b, B>, action: Action, choice: StepChoice) -> Result<Self, GaugeFieldError> {
        let (next, is_adaptive) = match choice {
            StepChoice::Fixed(step) => (step, false),
            StepChoice::Adaptive { first, tolerance } if tolerance > 0.0 && tolerance.is_finite() => (first, true),
            StepChoice::Adaptive { first, tolerance } => {
                return Err(GaugeFieldError::Tolerance { tolerance, time: 0.0, step: first });
            }
        };
        check(next)?;
        let adaptive = match is_adaptive {
            true => Some(Adaptive {
                before: field.four_zeros()?,
                first: field.four_zeros()?,
                lower: field.four_zeros()?,
                distances: field.backend.zeros(field.lattice, Sites::Full, ComplexNumber)?,
            }),
            false => None,
        };
        let (momenta, staples) = (field.four_zeros()?, field.four_zeros()?);
        let parts = StapleParts::of(&field, action)?;
        Ok(Self { field, action, choice, time: 0.0, next, momenta, staples, parts, adaptive })
    }

    /// Sets the flow time of links that have been through a flow already.
    #[must_use]
    pub fn from_time(self, time: f64) -> Self {
        Self { time, ..self }
    }

    /// The size of the step that is tried next.
    pub fn next_step(&self) -> f64 {
        self.next
    }

    /// The field at the current flow time.
    pub fn field(&self) -> &GaugeField<'b, B> {
        &self.field
    }

    /// Returns the field by value.
    pub fn into_field(self) -> GaugeField<'b, B> {
        self.field
    }

    /// The current flow time.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// One stage: momenta ← a·Z + b·momenta, links ← exp(momenta) links.
    fn stage(&mut self, a: f64, b: f64) -> Result<(), BackendError> {
        self.field.staples(&mut self.staples, self.action, &mut self.parts)?;
        for (d, direction) in Direction::ALL.into_iter().enumerate() {
            let links = self.field.links.along_mut(direction);
            self.field.backend.flow_link(links, &mut self.momenta[d], &self.staples[d], (a, b))?;
        }
        Ok(())
    }

    /// Takes one step, at most to flow time `until`.
    ///
    /// # Errors
    /// [`GaugeFieldError::Tolerance`] if no step meets the tolerance; backend errors.
    pub fn advance(&mut self, until: f64) -> Result<FlowStep, GaugeFieldError> {
        let left = until - self.time;
        // A step that ends within rounding of `until` ends exactly there.
        let whole = |step: f64| if step >= left * (1.0 - 1e-12) { left } else { step };
        let StepChoice::Adaptive { tolerance, .. } = self.choice else {
            let step = whole(self.next);
            check(step)?;
            self.step(step)?;
            self.time = if step == left { until } else { self.time + step };
            return Ok(FlowStep { step, distance: None, rejected: 0 });
        };
        let mut rejected = 0;
        loop {
            let step = whole(self.next);
            check(step)?;
            let distance = self.adaptive_step(step)?;
            let change = 0.95 * cube_root((tolerance / distance).clamp(1.0 / 125.0, 8.0));
            let next = (step * change).min(LARGEST_STEP);
            if distance <= tolerance {
                // A step that was shortened to reach `until` says nothing about longer ones.
                self.next = if step < self.next { self.next } else { next };
                self.time = if step == left { until } else { self.time + step };
                return Ok(FlowStep { step, distance: Some(distance), rejected });
            }
            if distance.is_nan() || next < LEAST_STEP {
                return Err(GaugeFieldError::Tolerance { tolerance, time: self.time, step: next });
            }
            (rejected, self.next) = (rejected + 1, next);
            if let Some(adaptive) = &self.adaptive {
                self.field.set(&adaptive.before)?;
            }
        }
    }

    /// A step of the scheme of third order.
    fn step(&mut self, step: f64) -> Result<(), BackendError> {
        self.stage(0.25 * step, 0.0)?;
        self.stage(8.0 / 9.0 * step, -17.0 / 9.0)?;
        self.stage(0.75 * step, -1.0)
    }

    /// The same, and the distance of the links from those of second order.
    fn adaptive_step(&mut self, step: f64) -> Result<f64, BackendError> {
        let backend = self.field.backend;
        if let Some(Adaptive { before, .. }) = &mut self.adaptive {
            for (before, links) in before.iter_mut().zip(self.field.all()) {
                backend.copy(before, links)?;
            }
        }
        self.stage(0.25 * step, 0.0)?;
        if let Some(Adaptive { first, .. }) = &mut self.adaptive {
            for (first, momenta) in first.iter_mut().zip(&self.momenta) {
                backend.copy(first, momenta)?;
            }
        }
        self.stage(8.0 / 9.0 * step, -17.0 / 9.0)?;
        // exp(2 Z1 − Z0) of the links before, of the momenta k1 = Z0 / 4 and k2 = 8/9 Z1 − 17/9 k1.
        if let Some(Adaptive { before, first, lower, .. }) = &mut self.adaptive {
            for (d, lower) in lower.iter_mut().enumerate() {
                backend.exponential_times(lower, (2.25, &self.momenta[d]), (0.25, &first[d]), &before[d])?;
            }
        }
        self.stage(0.75 * step, -1.0)?;
        let mut largest = 0.0f64;
        if let Some(Adaptive { lower, distances, .. }) = &mut self.adaptive {
            for (lower, links) in lower.iter().zip(self.field.all()) {
                backend.link_distance(distances, links, lower)?;
                for square in backend.download(distances)?.to_site_order() {
                    // A maximum would drop a NaN.
                    largest = if square.re > largest || square.re.is_nan() { square.re } else { largest };
                }
            }
        }
        Ok(backend.largest(largest)?.sqrt() / 9.0)
    }
}

/// ∛x of a number between 1/125 and 8, by Newton's iteration, so that the step size does not depend on a C library.
fn cube_root(x: f64) -> f64 {
    (0..16).fold(1.0, |root: f64, _| (2.0 * root + x / (root * root)) / 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_right_where_steps_ask_for_them() {
        for (x, root) in [(0.008, 0.2), (1.0, 1.0), (8.0, 2.0), (0.125, 0.5)] {
            assert!((cube_root(x) - root).abs() < 1e-15, "{x}");
        }
    }
}
