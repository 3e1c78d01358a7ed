//! Tries one fault of a hop after the other.

use lanefield::io::npy::{ComplexArray, ComplexValues};
use lanefield::reference::links::LinkError;
use lanefield::reference::real::Real;
use num_complex::Complex;
use thiserror::Error;

use super::fault::Fault;
use super::findings::{HopFindings, Likeness};
use super::hop::{Fit, Hop};
use super::inputs::HopInputs;
use crate::compare::cause::{Cause, Confidence};
use crate::order::show_shape;

#[derive(Debug, Error)]
pub enum ExplainError {
    #[error("{name} is {found}, not a spinor field {expected} on the lattice of the configuration")]
    NoSpinors { name: &'static str, found: String, expected: String },
    #[error(transparent)]
    Links(#[from] LinkError),
}

/// Whether two arrays are the hop that B should be, and with which single fault B agrees; with which A does, if B is correct.
pub fn explain_hop(a: &ComplexArray, b: &ComplexArray, inputs: &HopInputs<'_>) -> Result<HopFindings, ExplainError> {
    inputs.boundary.require_links(inputs.links)?;
    let [x, y, z, t] = inputs.configuration.extents().as_array();
    let shape = vec![t, z, y, x, 4, 3];
    for (name, array) in [("A", a), ("B", b), ("the source", inputs.source)] {
        if array.shape != shape || array.values.len() != shape.iter().product::<usize>() {
            let expected = show_shape(&shape);
            return Err(ExplainError::NoSpinors { name, found: array.describe(), expected });
        }
    }
    let (of_a, of_b) = (likeness(a, inputs), likeness(b, inputs));
    let mut causes = Vec::new();
    match (of_b, of_a) {
        (Likeness::Bits, Likeness::Bits) => {}
        (Likeness::Bits, _) => {
            let sentence = format!("B is {} of this source, links and boundary, bit for bit: A is not", inputs.name());
            causes.push(Cause::new("right", Confidence::Certain, sentence, "all spinors"));
            causes.extend(explain(a, inputs, "A"));
        }
        _ => causes.extend(explain(b, inputs, "B")),
    }
    Ok(HopFindings { a: of_a, b: of_b, operator: inputs.name(), causes })
}

/// Evaluates an expression with the hop in the precision of an array, and its values.
macro_rules! in_its_precision {
    ($array:expr, $inputs:expr, ($hop:ident, $values:ident) => $work:expr) => {{
        let (inputs, source) = ($inputs, $inputs.source.values.clone());
        let extents = inputs.configuration.extents();
        match &$array.values {
            ComplexValues::F32($values) => {
                let $hop = Hop { inputs, psi: &source.into_f32(), extents };
                $work
            }
            ComplexValues::F64($values) => {
                let $hop = Hop { inputs, psi: &source.into_f64(), extents };
                $work
            }
        }
    }};
}

fn likeness(array: &ComplexArray, inputs: &HopInputs<'_>) -> Likeness {
    let fit = in_its_precision!(array, inputs, (hop, values) => hop.fit(values, |x| hop.spinor(x, Fault::None)));
    match fit {
        Some(Fit::Bits) => Likeness::Bits,
        Some(Fit::Rounding) => Likeness::Roundings,
        None => Likeness::Other,
    }
}

fn explain(array: &ComplexArray, inputs: &HopInputs<'_>, name: &str) -> Option<Cause> {
    in_its_precision!(array, inputs, (hop, values) => hop.explain(values, name))
}

impl<R: Real> Hop<'_, R> {
    /// The cause for a field that does not have the bits of the hop.
    fn explain(&self, b: &[Complex<R>], name: &str) -> Option<Cause> {
        let right = self.fit(b, |x| self.spinor(x, Fault::None));
        let mut found: Vec<(Fit, Fault)> = Vec::new();
        for fault in Fault::all(self.inputs) {
            let hop = |x| self.spinor(x, fault);
            // If only rounding is wrong, faults without an effect (such as a phase 1) are close too.
            let fit = match fault.rounds() || right.is_some() {
                true => self.has_bits(b, hop).then_some(Fit::Bits),
                false => self.fit(b, hop),
            };
            found.extend(fit.map(|fit| (fit, fault)));
        }
        found.sort_by_key(|(fit, _)| *fit);
        if let Some((fit, fault)) = found.first() {
            let (confidence, how) = match fit {
                Fit::Bits => (Confidence::Certain, "bit for bit"),
                Fit::Rounding => (Confidence::Likely, "but for roundings: its order or contraction may differ, too"),
            };
            let evidence = format!("{name} is {} in which this is wrong, {how}", self.inputs.name());
            let sentence = fault.sentence(self.inputs);
            let sentence = if name == "A" { format!("A is wrong: {sentence}") } else { sentence };
            return Some(Cause::new("hop", confidence, sentence, evidence));
        }
        match right {
            // Other orders and forms of products are close to the correct hop.
            Some(_) => self.orders(b, name),
            None => self.one_link(b, name).or_else(|| self.combination(b, name)),
        }
    }
}
