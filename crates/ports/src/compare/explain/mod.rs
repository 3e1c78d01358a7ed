//! What made a hop wrong, where its links and its source are known: the hop is computed in plain loops with one thing wrong after the other, and B is held
//! against each. A wrong sign of a leg and a leg that is missing look the same without this, and so do all orders and contractions.

mod fault;
mod hop;
mod link;
mod mass;
mod orders;

use std::fmt;

use lanefield::io::npy::{ComplexArray, ComplexValues};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::LegOrder;
use lanefield::reference::links::{BoundaryPhases, LinkError, LinkFormat};
use lanefield::reference::real::Real;
use num_complex::Complex;
use serde::Serialize;
use thiserror::Error;

use super::{Cause, Comparison, Confidence};
use crate::order::show_shape;
use fault::Fault;
use hop::{Fit, Hop};

/// What a hop is of.
#[derive(Clone, Debug)]
pub struct HopInputs<'a> {
    /// The links.
    pub configuration: &'a Configuration,
    /// The source ψ, `(T, Z, Y, X, 4, 3)`.
    pub source: &'a ComplexArray,
    /// The boundary phases that it should have.
    pub boundary: BoundaryPhases,
    /// How much of a link is read.
    pub links: LinkFormat,
    /// The order of legs that it should have.
    pub legs: LegOrder,
    /// Whether it is the dagger.
    pub dagger: Dagger,
    /// Of M = 4 + mass + hop; `None` of the hop alone.
    pub mass: Option<f64>,
}

impl HopInputs<'_> {
    /// "the hop", "M = 4 + mass + hop"
    fn name(&self) -> &'static str {
        match (self.mass, self.dagger) {
            (None, Dagger::No) => "the hop",
            (None, Dagger::Yes) => "the hop†",
            (Some(_), Dagger::No) => "M = 4 + mass + hop",
            (Some(_), Dagger::Yes) => "M† = 4 + mass + hop†",
        }
    }
}

/// Why a hop cannot be explained.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum ExplainError {
    /// An array that is no spinor field on the lattice of the links.
    #[error("{name} is {found}, and no spinor field {expected} on the lattice of the configuration")]
    NoSpinors { name: &'static str, found: String, expected: String },
    /// Links that cannot have their boundary phases.
    #[error(transparent)]
    Links(#[from] LinkError),
}

/// How much an array is like the hop that it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Likeness {
    /// All its bits.
    #[serde(rename = "same bits")]
    Bits,
    /// But for roundings.
    #[serde(rename = "but for roundings")]
    Roundings,
    /// It is another field.
    #[serde(rename = "another")]
    Other,
}

/// What two arrays have to do with the hop that B should be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HopFindings {
    /// What A is.
    pub a: Likeness,
    /// What B is.
    pub b: Likeness,
    /// What it should be: "the hop", "M = 4 + mass + hop".
    pub operator: &'static str,
    /// Of which hop with one thing wrong an array has the numbers.
    #[serde(skip)]
    pub causes: Vec<Cause>,
}

impl fmt::Display for HopFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hop = format!("{} of this source, links and boundary", self.operator);
        match (self.b, self.a) {
            (Likeness::Other, Likeness::Other) if self.causes.is_empty() => write!(
                f,
                "neither A nor B is {hop}, nor is B with one thing wrong: check --config, --source, --boundary, --legs{}",
                if self.operator.starts_with('M') { ", --mass" } else { ", and --mass of M" }
            ),
            (Likeness::Other, Likeness::Other) => write!(f, "neither A nor B is {hop}"),
            (Likeness::Other, _) => write!(f, "B is not {hop}; A is{}", self.a.words()),
            (b, Likeness::Other) => write!(f, "B is {hop}{}; A is not", b.words()),
            (b, a) if a == b => write!(f, "A and B are {hop}{}", b.words()),
            (b, a) => write!(f, "B is {hop}{}; A is{}", b.words(), a.words()),
        }
    }
}

impl Likeness {
    fn words(self) -> &'static str {
        match self {
            Self::Bits => ", bit for bit",
            Self::Roundings => ", but for roundings",
            Self::Other => " not",
        }
    }
}

impl Comparison {
    /// Adds what is known of the hop that B should be; its causes come first.
    pub fn add_hop(&mut self, mut findings: HopFindings) {
        if !self.is_same() {
            self.causes.splice(0..0, findings.causes.iter().cloned());
        } else {
            findings.causes.clear();
        }
        if self.causes.iter().any(|cause| cause.confidence == Confidence::Certain) {
            self.causes.retain(|cause| cause.confidence != Confidence::Possible);
        }
        self.hop = Some(findings);
    }
}

/// Whether two arrays are the hop that B should be, and which of the hops with one thing wrong B is; A, where B is right.
///
/// # Errors
/// [`ExplainError`] where A, B or the source is no spinor field on the lattice.
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
    /// What a field is that has not the bits of the hop.
    fn explain(&self, b: &[Complex<R>], name: &str) -> Option<Cause> {
        let right = self.fit(b, |x| self.spinor(x, Fault::None));
        let mut found: Vec<(Fit, Fault)> = Vec::new();
        for fault in Fault::all(self.inputs) {
            let hop = |x| self.spinor(x, fault);
            // Where nothing but roundings is wrong, what changes nothing (a phase 1) is near, too.
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
            // Other orders and forms of products are near the right one.
            Some(_) => self.orders(b, name),
            None => self.one_link(b, name).or_else(|| self.combination(b, name)),
        }
    }
}
