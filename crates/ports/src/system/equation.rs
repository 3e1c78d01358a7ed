//! A system M x = b, and similar systems that an array may solve instead.

use std::sync::Arc;

use lanefield::dynamic::{AnyBackend, Applicable, ArrayShape, Piece, apply_to_array, field_shape};
use lanefield::io::npy::{ComplexArray, ComplexValues, propagator_shape};
use lanefield::observable::{Source, word_of_column};
use lanefield::operator::AnyModel;
use lanefield::prelude::*;
use lanefield::reference::ensure;
use lanefield::reference::field::Propagator;
use lanefield::reference::layout::DIMENSIONS;
use lanefield::reference::links::Phase;

use super::error::SystemError;
use super::fit::fit;
use super::reading::Reading;
use super::residual::{BETTER, MOST, Residual};
use crate::order::{Convention, GammaBasis, to_ours};

/// A system M x = b.
pub struct Equation<'a> {
    /// M.
    pub model: AnyModel,
    pub hop: HopParameters,
    pub configuration: &'a Configuration,
    pub shape: ArrayShape,
    pub source: &'a Source,
    /// b in site order.
    pub b: Vec<Complex<f64>>,
}

impl Equation<'_> {
    /// Converts a field in site order from staggered phases in the order t, x, y, z, as in MILC, to ours, x, y, z, t.
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

    /// Whether an array is a propagator, of which one column is tried.
    pub(super) fn is_propagator(&self, array: &ComplexArray) -> bool {
        array.shape == propagator_shape(self.configuration.extents()) && self.shape == ArrayShape::Spinor
    }

    /// Spin and colour of the source.
    pub(super) fn component(&self) -> Result<[usize; 2], SystemError> {
        let (Source::Point { component, .. } | Source::Wall { component, .. }) = self.source else {
            return Err(SystemError::Propagator);
        };
        let [spin, colour] = component.unwrap_or_default();
        Ok([spin, colour])
    }

    /// The array as a field in site order, in the meaning `reading`; for a propagator, the column of the source.
    pub(super) fn column(&self, array: &ComplexArray, reading: &Reading) -> Result<Vec<Complex<f64>>, SystemError> {
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
        ensure!(array.shape == expected, SystemError::Axes { found: array.describe(), expected });
        if reading.phases_of_milc {
            self.change_phases(&mut numbers);
        }
        // s is the slowest axis in files, and is within a site in memory.
        let (words, parts) = (self.shape.part_words(), self.shape.words() / self.shape.part_words());
        let volume = extents.volume();
        let number = |k: usize| {
            let (site, part, word) = (k / (parts * words), k / words % parts, k % words);
            numbers[(part * volume + site) * words + word]
        };
        Ok((0..numbers.len()).map(number).collect())
    }

    /// The best result for an array as it is and, if that solves no system, for its other possible meanings.
    pub(super) fn tried(
        &self,
        cpu: &AnyBackend,
        array: &ComplexArray,
        x: &[Complex<f64>],
    ) -> Result<Residual, SystemError> {
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
        if let Some(found) = self.other_mass(cpu, x)? {
            return Ok(Residual { residual: best.residual, ..found });
        }
        // One change of the system in addition to one of the array.
        variants.retain(|(changed, ..)| changed.as_ref().is_none_or(|changed| !changed.contains(" and ")));
        for reading in Reading::all(self.is_propagator(array), self.shape.has_spins()) {
            let x = self.column(array, &reading)?;
            let mut sources = sources.clone();
            if reading.phases_of_milc {
                // They are in b too.
                sources.iter_mut().for_each(|(_, b)| self.change_phases(b));
            }
            if reading.gamma != GammaBasis::DegrandRossi
                && self.shape == ArrayShape::Spinor
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

    /// The residual with the mass m + δ with which M + δ has the least residual, if `x` is a solution with it.
    fn other_mass(&self, cpu: &AnyBackend, x: &[Complex<f64>]) -> Result<Option<Residual>, SystemError> {
        let (definition, parameters) = (self.model.definition(), self.model.parameters());
        let Some((_, mass)) = parameters.iter().find(|(known, _)| known.name == "mass") else { return Ok(None) };
        let mx = self.product(cpu, self.model, Dagger::No, x)?;
        let overlap: f64 = x.iter().zip(&self.b).zip(&mx).map(|((x, b), mx)| (x.conj() * (b - mx)).re).sum();
        // A mass is a number of few digits; those beyond are errors of the solution.
        let other = mass + overlap / x.iter().map(Complex::norm_sqr).sum::<f64>();
        let Ok(other) = format!("{other:.6}").parse::<f64>() else { return Ok(None) };
        let given = parameters.iter().map(|(known, value)| {
            (known.name, if known.name == "mass" { other.to_string() } else { known.text(*value) })
        });
        let given: Vec<(&str, String)> = given.collect();
        let Ok(model) = definition.model(given.iter().map(|(name, value)| (*name, value.as_str())), self.hop) else {
            return Ok(None);
        };
        let (residual, ..) = fit(&self.product(cpu, model, Dagger::No, x)?, &self.b);
        Ok((residual <= MOST).then(|| Residual {
            residual,
            changed: Some(format!("mass {other} instead of {mass}")),
            factor: Some([1.0, 0.0]),
            residual_with_factor: residual,
        }))
    }

    /// M x or M† x.
    fn product(
        &self,
        cpu: &AnyBackend,
        model: AnyModel,
        dagger: Dagger,
        x: &[Complex<f64>],
    ) -> Result<Vec<Complex<f64>>, SystemError> {
        let extents = self.configuration.extents();
        let sites = (extents, Sites::Full);
        let shape = field_shape(model.object(), Precision::F64, sites, cpu.lanes(LaneChoice::Auto))?;
        let mut operator = Applicable::Model(model).prepare(cpu, Precision::F64, Arc::new(self.configuration.clone()));
        Ok(apply_to_array(cpu, &mut *operator, (Piece::Full, dagger), shape, x)?)
    }

    fn residual(
        &self,
        cpu: &AnyBackend,
        x: &[Complex<f64>],
        variants: &[(Option<String>, AnyModel, Dagger)],
        sources: &[(Option<String>, Vec<Complex<f64>>)],
    ) -> Result<Residual, SystemError> {
        let mut result: Option<Residual> = None;
        for (changed, model, dagger) in variants {
            let mx = self.product(cpu, *model, *dagger, x)?;
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
        // The original system is always tried.
        Ok(result.unwrap_or_else(Residual::of_nothing))
    }

    /// The operator and similar ones, each with a description of the change.
    fn variants(&self) -> Result<Vec<(Option<String>, AnyModel, Dagger)>, SystemError> {
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
        // Those with the fewest changes first.
        variants
            .sort_by_key(|(changed, ..)| changed.as_ref().map_or(0, |changed| 1 + changed.matches(" and ").count()));
        Ok(variants)
    }
}
