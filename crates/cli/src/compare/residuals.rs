//! Whether two arrays are solutions of a system M x = b: the residual of each, with the factor that makes it least, and what has to be changed in M (the sign
//! of μ, a boundary phase, the dagger), in b (its complex conjugate, a momentum of the other sign) or in the array (another basis of the spins, source and
//! sink exchanged, its complex conjugate) to make it one.

use std::fmt;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use lanefield::backend::{Cpu, Memory as _};
use lanefield::dynamic::{AnyBackend, Piece, What, apply_to_array, field_shape};
use lanefield::io::npy::{ComplexArray, ComplexValues, propagator_shape};
use lanefield::observable::{Source, word_of_column};
use lanefield::operator::{AnyModel, HopParameters};
use lanefield::reference::field::{Propagator, Spinors};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::{DIMENSIONS, LaneChoice, Sites};
use lanefield::reference::links::{BoundaryPhases, Phase};
use lanefield::reference::real::Precision;
use lanefield_ports::compare::{Cause, Comparison, Confidence};
use lanefield_ports::order::{Convention, GammaBasis, to_ours};
use num_complex::Complex;
use serde::Serialize;

use crate::fields::FieldShape;

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

/// How well two arrays solve a system.
#[derive(Serialize)]
pub struct Residuals {
    /// The operator M and its parameters.
    operator: String,
    a: Residual,
    b: Residual,
    /// |A − B| / |A| of what was tried.
    #[serde(skip)]
    difference: f64,
    /// Of propagators: which column was tried.
    #[serde(skip)]
    column: Option<[usize; 2]>,
}

/// How well an array solves a system.
#[derive(Clone, Serialize)]
struct Residual {
    /// |b − M x| / |b|.
    residual: f64,
    /// What is changed in the system that the array solves, or in the array; null if nothing is, or if it solves none that was tried.
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
            _ if self.solves() => format!("{name} solves the system, residual {:.1e}", self.residual),
            (_, None) => {
                format!("{name} solves neither the system nor one near it, residual {:.1e}", self.residual)
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
        let of = |name: &str, array: &ComplexArray| -> anyhow::Result<(Vec<Complex<f64>>, Residual)> {
            let x = system.column(array, &Reading::default());
            let x = x.with_context(|| format!("cannot take {name} for a solution"))?;
            let residual = cpu.install(|| system.tried(&cpu, array, &x))?;
            Ok((x, residual))
        };
        let ((x, a_residual), (y, b_residual)) = (of("A", a)?, of("B", b)?);
        let (difference, ..) = fit(&y, &x);
        let column = if system.is_propagator(a) { Some(system.component()?) } else { None };
        Ok(Self { operator: system.model.describe(), a: a_residual, b: b_residual, difference, column })
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
                let norm = self.difference;
                let of_column = self
                    .column
                    .map_or_else(String::new, |[spin, colour]| format!(" in column {spin},{colour} (spin, colour)"));
                let both = format!("both solve the system{of_column}, to {least:.0e} and {most:.0e}");
                let is_near = norm <= CONDITION * most;
                if self.column.is_some() && is_near && comparison.relative_norm > CONDITION * most {
                    let sentence = format!("{both}: other columns differ by more, which were not tried");
                    comparison
                        .causes
                        .insert(0, Cause { kind: "system", confidence: Confidence::Possible, sentence, evidence });
                    return;
                }
                comparison.causes.retain(|cause| !matches!(cause.kind, "tolerance" | "single_steps"));
                match is_near {
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
    /// From staggered phases in the order t, x, y, z, as MILC has them, to ours, x, y, z, t, of a field in site order.
    fn change_phases(&self, numbers: &mut [Complex<f64>]) {
        let extents = self.configuration.extents();
        let words = numbers.len() / extents.volume();
        for (site, numbers) in numbers.chunks_exact_mut(words).enumerate() {
            let [x, y, z, t] = extents.coordinate(site);
            if t * (x + y + z) % 2 == 1 {
                numbers.iter_mut().for_each(|number| *number = -*number);
            }
        }
    }

    /// Whether an array is a propagator, of which a column is tried.
    fn is_propagator(&self, array: &ComplexArray) -> bool {
        array.shape == propagator_shape(self.configuration.extents()) && self.shape == FieldShape::Spinor
    }

    /// Spin and colour of the source.
    fn component(&self) -> anyhow::Result<[usize; 2]> {
        let (Source::Point { component, .. } | Source::Wall { component, .. }) = self.source else {
            bail!("it is a propagator: a --source with a spin and a colour says which of its columns is tried");
        };
        let [spin, colour] = component.unwrap_or_default();
        Ok([spin, colour])
    }

    /// The array as a field in site order, meant as `reading` says; of a propagator the column of the source.
    fn column(&self, array: &ComplexArray, reading: &Reading) -> anyhow::Result<Vec<Complex<f64>>> {
        let read = to_ours(array.clone(), Convention { gamma: reading.gamma, ..Convention::OURS })?;
        let mut numbers = read.values.into_f64();
        if reading.conjugated {
            numbers.iter_mut().for_each(|z| *z = z.conj());
        }
        let extents = self.configuration.extents();
        if self.is_propagator(array) {
            let [spin, colour] = self.component()?;
            let exchanged =
                |is_so: bool, sink: usize, source: usize| if is_so { (source, sink) } else { (sink, source) };
            let number = |site: &[Complex<f64>], word: usize| {
                let (sink, source) = exchanged(reading.spins, word / 3, spin);
                let (row, column) = exchanged(reading.colours, word % 3, colour);
                site[word_of_column(3 * source + column, 3 * sink + row)]
            };
            let column = |site| std::array::from_fn::<_, { Spinors::WORDS }, _>(|word| number(site, word));
            return Ok(numbers.chunks_exact(Propagator::WORDS).flat_map(column).collect());
        }
        let expected = self.shape.axes(extents);
        ensure!(
            array.shape == expected,
            "it is {}, and the operator acts on arrays {expected:?} on the lattice of the configuration",
            array.describe()
        );
        if reading.phases_of_milc {
            self.change_phases(&mut numbers);
        }
        // s is the slowest axis of files, and within a site in memory.
        let (words, parts) = (self.shape.part_words(), self.shape.words() / self.shape.part_words());
        let volume = extents.volume();
        let number = |k: usize| {
            let (site, part, word) = (k / (parts * words), k / words % parts, k % words);
            numbers[(part * volume + site) * words + word]
        };
        Ok((0..numbers.len()).map(number).collect())
    }

    /// The best of an array as it is and, if that solves no system, of what it may be meant as.
    fn tried(&self, cpu: &AnyBackend, array: &ComplexArray, x: &[Complex<f64>]) -> anyhow::Result<Residual> {
        let mut variants = self.variants()?;
        let conjugated: Vec<_> = self.b.iter().map(Complex::conj).collect();
        // A real source is its own conjugate.
        let mut sources = vec![(None, self.b.clone())];
        if conjugated != self.b {
            sources.push((Some("b* in place of b, a momentum of the other sign".to_owned()), conjugated));
        }
        let mut best = self.residual(cpu, x, &variants, &sources)?;
        if best.factor.is_some() {
            return Ok(best);
        }
        // One change of the system beside one of the array.
        variants.retain(|(changed, ..)| changed.as_ref().is_none_or(|changed| !changed.contains(" and ")));
        for reading in Reading::all(self.is_propagator(array), self.shape.has_spins()) {
            let x = self.column(array, &reading)?;
            let mut sources = sources.clone();
            if reading.phases_of_milc {
                // They are in b, too.
                sources.iter_mut().for_each(|(_, b)| self.change_phases(b));
            }
            if reading.gamma != GammaBasis::DegrandRossi
                && self.shape == FieldShape::Spinor
                && !self.is_propagator(array)
            {
                let b = ComplexArray { shape: array.shape.clone(), values: ComplexValues::F64(self.b.clone()) };
                let b = self.column(&b, &reading)?;
                sources.push((Some("the spins of b in that basis, too".to_owned()), b));
            }
            let found = self.residual(cpu, &x, &variants, &sources)?;
            if found.factor.is_some() && found.residual_with_factor * BETTER < best.residual_with_factor {
                let changed = std::iter::once(reading.to_string()).chain(found.changed.clone());
                let changed = Some(changed.collect::<Vec<_>>().join(" and "));
                best = Residual { residual: best.residual, changed, ..found };
            }
        }
        Ok(best)
    }

    fn residual(
        &self,
        cpu: &AnyBackend,
        x: &[Complex<f64>],
        variants: &[(Option<String>, AnyModel, Dagger)],
        sources: &[(Option<String>, Vec<Complex<f64>>)],
    ) -> anyhow::Result<Residual> {
        let configuration = Arc::new(self.configuration.clone());
        let shape = field_shape(
            self.model.object(),
            Precision::F64,
            (self.configuration.extents(), Sites::Full),
            cpu.lanes(LaneChoice::Auto),
        )?;
        let mut result: Option<Residual> = None;
        for (changed, model, dagger) in variants {
            let mut operator = What::Model(*model).prepare(cpu, Precision::F64, configuration.clone());
            let mx = apply_to_array(cpu, &mut *operator, (Piece::Full, *dagger), shape, x)?;
            for (other, b) in sources {
                let (plain, factor, left) = fit(&mx, b);
                let best = result.get_or_insert(Residual {
                    residual: plain,
                    changed: None,
                    factor: (left <= MOST).then_some([factor.re, factor.im]),
                    residual_with_factor: left,
                });
                if left <= MOST && left * BETTER < best.residual_with_factor.max(f64::EPSILON) {
                    let changed = other.iter().chain(changed).cloned();
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
        for d in 0..DIMENSIONS {
            let phases: [Phase; 4] = std::array::from_fn(|k| match (k == d, self.hop.boundary.phase(k)) {
                (true, Phase::Periodic) => Phase::Antiperiodic,
                (true, _) => Phase::Periodic,
                (false, phase) => phase,
            });
            let boundary = BoundaryPhases::new(phases);
            boundaries.push((
                Some(format!("boundary phases {boundary} instead of {}", self.hop.boundary)),
                HopParameters { boundary, ..self.hop },
            ));
        }
        let opposite = BoundaryPhases::new(std::array::from_fn(|d| self.hop.boundary.phase(d).of_crossings(-1)));
        if opposite != self.hop.boundary {
            let words = format!("boundary phases {opposite} (angles of the other sign)");
            boundaries.push((Some(words), HopParameters { boundary: opposite, ..self.hop }));
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

/// What an array may be meant as.
#[derive(Clone, Copy, Default)]
struct Reading {
    gamma: GammaBasis,
    /// Source and sink of a propagator exchanged in spin, in colour.
    spins: bool,
    colours: bool,
    conjugated: bool,
    /// Staggered phases in the order t, x, y, z.
    phases_of_milc: bool,
}

impl Reading {
    /// All but the array as it is.
    fn all(is_propagator: bool, has_spins: bool) -> Vec<Self> {
        let exchanges: &[(bool, bool)] =
            if is_propagator { &[(false, false), (true, false), (true, true)] } else { &[(false, false)] };
        let bases: &[GammaBasis] =
            if is_propagator || has_spins { GammaBasis::ALL } else { &[GammaBasis::DegrandRossi] };
        let mut readings = Vec::new();
        for &(spins, colours) in exchanges {
            readings.extend(bases.iter().map(|&gamma| Self { gamma, spins, colours, ..Self::default() }));
            readings.push(Self { spins, colours, conjugated: true, ..Self::default() });
        }
        if !is_propagator && !has_spins {
            readings.push(Self { phases_of_milc: true, ..Self::default() });
        }
        // The first is the array as it is.
        readings.remove(0);
        readings
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exchanged = match (self.spins, self.colours) {
            (true, true) => Some("the spins and colours of source and sink exchanged".to_owned()),
            (true, false) => Some("the spins of source and sink exchanged".to_owned()),
            _ => None,
        };
        let conjugated = self.conjugated.then(|| "complex conjugation".to_owned());
        let basis =
            (self.gamma != GammaBasis::DegrandRossi).then(|| format!("the basis {} of the γ matrices", self.gamma));
        let phases = self.phases_of_milc.then(|| "staggered phases in the order t, x, y, z, as MILC's".to_owned());
        f.write_str(
            &exchanged.into_iter().chain(conjugated).chain(basis).chain(phases).collect::<Vec<_>>().join(" and "),
        )
    }
}

/// |b − M x| / |b|, the factor c with which x/c solves the system best, and what is then left. Numbers of any scale have squares that neither underflow nor
/// overflow.
fn fit(mx: &[Complex<f64>], b: &[Complex<f64>]) -> (f64, Complex<f64>, f64) {
    let (of_mx, of_b) = (power(mx), power(b));
    let most = of_mx.max(of_b);
    let times = |z: Complex<f64>, power: i32| z * 2f64.powi(power / 2) * 2f64.powi(power - power / 2);
    let norm = |of: &dyn Fn(Complex<f64>, Complex<f64>) -> Complex<f64>| {
        mx.iter().zip(b).map(|(x, b)| of(*x, *b).norm_sqr()).sum::<f64>().sqrt()
    };
    let size = norm(&|_, b| times(b, -of_b));
    let overlap: Complex<f64> = mx.iter().zip(b).map(|(x, b)| times(b.conj(), -of_b) * times(*x, -of_mx)).sum();
    let c = overlap / (size * size);
    let plain = norm(&|x, b| times(b, -most) - times(x, -most)) / size;
    // M x = c b.
    let left = norm(&|x, b| times(b, -of_b) - times(x, -of_mx) / c) / size;
    (times(plain.into(), most - of_b).re, times(c, of_mx - of_b), left)
}

/// The power of two of the largest number.
fn power(numbers: &[Complex<f64>]) -> i32 {
    let most = numbers.iter().fold(0.0, |most: f64, z| most.max(z.re.abs()).max(z.im.abs()));
    if most > 0.0 && most.is_finite() { most.log2().floor() as i32 } else { 0 }
}
