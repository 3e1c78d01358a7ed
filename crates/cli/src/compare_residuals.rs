//! Whether two arrays are solutions of a system M x = b: the residual of each, with the factor that makes it least, and what has to be changed in M (the sign
//! of μ, a boundary phase, the dagger) or in b (its complex conjugate, a momentum of the other sign) to make it one.

use std::fmt;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use lanefield::backend::{Cpu, Memory as _};
use lanefield::dynamic::{AnyBackend, Piece, What, apply_to_array, field_shape};
use lanefield::io::npy::ComplexArray;
use lanefield::observable::Source;
use lanefield::operator::{AnyModel, HopParameters};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::{DIMENSION_NAMES, LaneChoice, Sites};
use lanefield::reference::links::{BoundaryPhases, Phase};
use lanefield::reference::real::Precision;
use lanefield_ports::Content;
use lanefield_ports::compare::{Cause, Comparison, Confidence};
use num_complex::Complex;
use serde::Serialize;

use super::fields::FieldShape;

/// The largest residual of an array that counts as a solution.
const MOST: f64 = 1e-3;
/// A changed system is named if its residual is smaller by this factor at least.
const BETTER: f64 = 100.0;
/// How much larger than the residuals the difference of two solutions may be.
const CONDITION: f64 = 1e5;

/// The system.
pub struct System<'a> {
    pub model: AnyModel,
    pub hop: HopParameters,
    pub configuration: &'a Configuration,
    pub shape: FieldShape,
    pub source: &'a Source,
    /// b in site order.
    pub b: Vec<Complex<f64>>,
}

/// What two arrays are to a system.
#[derive(Serialize)]
pub struct Residuals {
    /// The operator M and its parameters.
    operator: String,
    a: Residual,
    b: Residual,
}

/// How well an array solves a system.
#[derive(Clone, Serialize)]
struct Residual {
    /// |b − M x| / |b|.
    residual: f64,
    /// What is changed in the system that the array solves; null if nothing is, or if it solves none that was tried.
    changed: Option<String>,
    /// The factor by which the array is a solution, real and imaginary part; null if it solves none.
    factor: Option<[f64; 2]>,
    /// The residual of the changed system with the array divided by the factor.
    residual_with_factor: f64,
}

impl Residual {
    /// Whether it solves the system as it was given: nothing that was tried does so much better.
    fn solves(&self) -> bool {
        self.residual <= MOST && self.residual <= BETTER * self.residual_with_factor.max(f64::EPSILON)
    }

    /// "A solves the system, residual 1.2e-10"
    fn words(&self, name: &str) -> String {
        match (&self.changed, self.factor) {
            _ if self.solves() => format!("{name} solves it, residual {:.1e}", self.residual),
            (_, None) => {
                format!("{name} solves neither it nor a system that was tried, residual {:.1e}", self.residual)
            }
            (changed, Some([re, im])) => {
                let times = match ((re - 1.0).hypot(im) > 10.0 * self.residual_with_factor, im.abs() <= 1e-9 * re.abs())
                {
                    (false, _) => String::new(),
                    (_, true) => format!(" times {re:.10}"),
                    _ => format!(" times {re:.10} {im:+.10} i"),
                };
                let with = changed.as_ref().map_or_else(String::new, |changed| format!(" with {changed}"));
                format!("{name} is the solution{with}{times}, residual {:.1e}", self.residual_with_factor)
            }
        }
    }
}

impl fmt::Display for Residuals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "system   of {}: {}; {}", self.operator, self.a.words("A"), self.b.words("B"))
    }
}

impl Residuals {
    /// Tries both arrays.
    pub fn new(a: &ComplexArray, b: &ComplexArray, system: &System<'_>) -> anyhow::Result<Self> {
        let cpu = AnyBackend::from(Cpu::new(None).context("failed to start the CPU reference")?);
        let of = |name: &str, array: &ComplexArray| -> anyhow::Result<Residual> {
            let x = system.column(array).with_context(|| format!("cannot take {name} for a solution"))?;
            cpu.install(|| system.residual(&cpu, &x))
        };
        Ok(Self { operator: system.model.describe(), a: of("A", a)?, b: of("B", b)? })
    }

    /// Puts what they tell before other causes, and takes away what they answer.
    pub fn add_to(&self, comparison: &mut Comparison) {
        if comparison.is_same() {
            return;
        }
        let evidence =
            format!("|b − M x| / |b| of {}: A {:.1e}, B {:.1e}", self.operator, self.a.residual, self.b.residual);
        let (kind, confidence, sentence) = match (self.a.solves(), self.b.solves()) {
            (true, true) => {
                let (least, most) = (self.a.residual.min(self.b.residual), self.a.residual.max(self.b.residual));
                let norm = comparison.relative_norm;
                let both = format!("both solve the system, to {least:.0e} and {most:.0e}");
                comparison.causes.retain(|cause| !matches!(cause.kind, "tolerance" | "single_steps"));
                match norm <= CONDITION * most {
                    true => {
                        let sentence = format!(
                            "{both}: that they differ by {norm:.0e} of the norm is what a tolerance of {most:.0e} allows"
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

impl System<'_> {
    /// The array as a field in site order; of a propagator the column of the source.
    fn column(&self, array: &ComplexArray) -> anyhow::Result<Vec<Complex<f64>>> {
        let numbers = array.values.clone().into_f64();
        let [x, y, z, t] = self.configuration.extents().as_array();
        let volume = x * y * z * t;
        let lattice = [t, z, y, x];
        let (words, parts) = (self.shape.part_words(), self.shape.words() / self.shape.part_words());
        let expected = match self.shape {
            FieldShape::FiveDimensional(ls) => [&[ls][..], &lattice, &[4, 3]].concat(),
            _ => [&lattice[..], &[words / 3, 3]].concat(),
        };
        if Content::Propagator.fits(&array.shape) && array.shape[..4] == lattice && self.shape == FieldShape::Spinor {
            let (Source::Point { component, .. } | Source::Wall { component, .. }) = self.source else {
                bail!("it is a propagator: a --source with a spin and a colour says which of its columns is tried");
            };
            let [spin, colour] = component.unwrap_or_default();
            let number = |k: usize| numbers[k / 12 * 144 + k / 3 % 4 * 36 + 9 * spin + k % 3 * 3 + colour];
            return Ok((0..12 * volume).map(number).collect());
        }
        ensure!(
            array.shape == expected,
            "it is {}, and the operator acts on arrays {expected:?} on the lattice of the configuration",
            array.describe()
        );
        // s is the slowest axis of files, and within a site in memory.
        let number = |k: usize| {
            let (site, part, word) = (k / (parts * words), k / words % parts, k % words);
            numbers[(part * volume + site) * words + word]
        };
        Ok((0..numbers.len()).map(number).collect())
    }

    fn residual(&self, cpu: &AnyBackend, x: &[Complex<f64>]) -> anyhow::Result<Residual> {
        let configuration = Arc::new(self.configuration.clone());
        let shape = field_shape(
            self.model.object(),
            Precision::F64,
            (self.configuration.extents(), Sites::Full),
            cpu.lanes(LaneChoice::Auto),
        )?;
        let conjugated: Vec<_> = self.b.iter().map(Complex::conj).collect();
        let mut result: Option<Residual> = None;
        for (changed, model, dagger) in self.variants()? {
            let mut operator = What::Model(model).prepare(cpu, Precision::F64, configuration.clone());
            let mx = apply_to_array(cpu, &mut *operator, (Piece::Full, dagger), shape, x)?;
            let sources = [(None, &self.b), (Some("b*, a momentum of the other sign"), &conjugated)];
            for (other, b) in sources {
                // A real source is its own conjugate.
                if other.is_some() && *b == self.b {
                    continue;
                }
                let (plain, factor, left) = fit(&mx, b);
                let best = result.get_or_insert(Residual {
                    residual: plain,
                    changed: None,
                    factor: (left <= MOST).then_some([factor.re, factor.im]),
                    residual_with_factor: left,
                });
                if left <= MOST && left * BETTER < best.residual_with_factor.max(f64::EPSILON) {
                    let changed = other.map(str::to_owned).into_iter().chain(changed.clone());
                    best.changed = Some(changed.collect::<Vec<_>>().join(" and "));
                    (best.factor, best.residual_with_factor) = (Some([factor.re, factor.im]), left);
                }
            }
        }
        result.context("no system was tried")
    }

    /// The operator, and others near it: what is changed in each.
    fn variants(&self) -> anyhow::Result<Vec<(Option<String>, AnyModel, Dagger)>> {
        let (definition, parameters) = (self.model.definition(), self.model.parameters());
        let text: Vec<(&str, String)> =
            parameters.iter().map(|(known, value)| (known.name, known.text(*value))).collect();
        let model = |mu: bool, hop: HopParameters| {
            let given = text.iter().map(|(name, value)| {
                let negated = match value.strip_prefix('-') {
                    Some(positive) => positive.to_owned(),
                    None => format!("-{value}"),
                };
                (*name, if mu && *name == "mu" { negated } else { value.clone() })
            });
            let given: Vec<(&str, String)> = given.collect();
            definition.model(given.iter().map(|(name, value)| (*name, value.as_str())), hop)
        };
        let signs: &[bool] =
            if parameters.iter().any(|(known, _)| known.name == "mu") { &[false, true] } else { &[false] };
        let mut boundaries = vec![(None, self.hop)];
        for (d, name) in DIMENSION_NAMES.iter().enumerate() {
            let phases: [Phase; 4] = std::array::from_fn(|k| match (k == d, self.hop.boundary.phase(k)) {
                (true, Phase::Periodic) => Phase::Antiperiodic,
                (true, _) => Phase::Periodic,
                (false, phase) => phase,
            });
            let boundary = BoundaryPhases::new(phases);
            boundaries.push((
                Some(format!("boundary phases {boundary} (of {name} another)")),
                HopParameters { boundary, ..self.hop },
            ));
        }
        let mut variants = Vec::new();
        for dagger in [Dagger::No, Dagger::Yes] {
            for (boundary, hop) in &boundaries {
                for &mu in signs {
                    let words = [
                        mu.then(|| "−μ".to_owned()),
                        boundary.clone(),
                        (dagger == Dagger::Yes).then(|| "M†".to_owned()),
                    ];
                    let words: Vec<String> = words.into_iter().flatten().collect();
                    variants.push(((!words.is_empty()).then(|| words.join(" and ")), model(mu, *hop)?, dagger));
                }
            }
        }
        // Of few changes first.
        variants
            .sort_by_key(|(changed, ..)| changed.as_ref().map_or(0, |changed| 1 + changed.matches(" and ").count()));
        Ok(variants)
    }
}

/// |b − M x| / |b|, the factor c with which x/c solves the system best, and what is then left.
fn fit(mx: &[Complex<f64>], b: &[Complex<f64>]) -> (f64, Complex<f64>, f64) {
    let norm = |of: &dyn Fn(Complex<f64>, Complex<f64>) -> Complex<f64>| {
        mx.iter().zip(b).map(|(x, b)| of(*x, *b).norm_sqr()).sum::<f64>().sqrt()
    };
    let (size, overlap) = (norm(&|_, b| b), mx.iter().zip(b).map(|(x, b)| b.conj() * x).sum::<Complex<f64>>());
    let c = overlap / (size * size);
    // M x = c b.
    (norm(&|x, b| b - x) / size, c, norm(&|x, b| b - x / c) / size)
}
