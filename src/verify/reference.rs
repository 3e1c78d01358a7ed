//! What a backend is compared with. The CPU reference is what devices are compared with; where there is none, it is itself compared
//! with the plain scalar implementation, which knows no layout.

use lanefield_reference::field::{
    CloverBlocks, ColourVectors, ComplexNumber, Field, FieldStrength, SiteObject, Spinors,
};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Direction, Place, Sites, Stencil, TreePlan, gather, spread};
use lanefield_reference::links::DoubledGauge;
use lanefield_reference::scalar::{self, SPINOR_WORDS, ScalarClover, ScalarWilson, Stop};
use num_complex::Complex;

use super::VerifyError;
use super::clover::{self, CloverFields, CloverHopInputs, CloverInputs};
use crate::backend::{Backend, Cpu, Sum};
use crate::operator::{CloverParameters, HopParameters};
use crate::solver::{self, Preconditioning, SolveError, WilsonSolve};

/// A spinor field on the host.
type SpinorField<R> = Field<R, Spinors>;

/// All that a hop depends on but its source: plain, and made ready for kernels on lanes.
pub struct HopInputs<'a, R: Vectors> {
    /// The links.
    pub configuration: &'a Configuration,
    /// Boundary phases, link format, leg order.
    pub parameters: HopParameters,
    /// The links, doubled.
    pub links: &'a Field<R, DoubledGauge>,
    /// The table of neighbours.
    pub stencil: &'a Stencil,
}

/// How a solve ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Solved<R> {
    /// |r|² of every iteration.
    pub history: Vec<f64>,
    /// The solution in site order, or in a few words why there is none.
    pub solution: Result<Vec<Complex<R>>, String>,
}

/// A trusted implementation of every operation, on fields of the host.
pub trait Reference {
    /// What it is, for people.
    fn name(&self) -> &'static str;
    /// The hop at the stencil's sites.
    fn hop<R: Vectors>(
        &self,
        inputs: &HopInputs<'_, R>,
        source: &SpinorField<R>,
        dagger: Dagger,
    ) -> Result<SpinorField<R>, VerifyError>;
    /// Field strengths, clover terms and their inverses.
    fn clover_terms<R: Vectors>(&self, inputs: &CloverInputs<'_, R>) -> Result<CloverFields<R>, VerifyError>;
    /// Blocks times a hop, or blocks times χ minus a hop.
    fn clover_hop<R: Vectors>(&self, inputs: &CloverHopInputs<'_, R>) -> Result<SpinorField<R>, VerifyError>;
    /// The Laplacian's hop at the stencil's sites.
    fn laplace_hop<R: Vectors>(
        &self,
        inputs: &HopInputs<'_, R>,
        source: &Field<R, ColourVectors>,
    ) -> Result<Field<R, ColourVectors>, VerifyError>;
    /// a · x.
    fn scale<R: Vectors>(&self, a: f64, x: &SpinorField<R>) -> Result<SpinorField<R>, VerifyError>;
    /// y ← a · x + y.
    fn axpy<R: Vectors>(&self, a: f64, x: &SpinorField<R>, y: &mut SpinorField<R>) -> Result<(), VerifyError>;
    /// y ← a · x + y, and |y|².
    fn axpy_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &Field<R, K>,
        y: &mut Field<R, K>,
        sum: Sum,
    ) -> Result<f64, VerifyError>;
    /// y ← a · x + b · y, and |y|².
    fn axpby_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &Field<R, K>,
        b: f64,
        y: &mut Field<R, K>,
        sum: Sum,
    ) -> Result<f64, VerifyError>;
    /// ψ ← a · p + ψ, then p ← b · p + r.
    fn cg_update<R: Vectors>(
        &self,
        psi: &mut SpinorField<R>,
        p: &mut SpinorField<R>,
        r: &SpinorField<R>,
        a: f64,
        b: f64,
    ) -> Result<(), VerifyError>;
    /// |x|².
    fn norm2<R: Vectors, K: SiteObject>(&self, x: &Field<R, K>, sum: Sum) -> Result<f64, VerifyError>;
    /// ⟨x, y⟩ for each x.
    fn inner_products<R: Vectors, K: SiteObject>(
        &self,
        xs: &[&Field<R, K>],
        y: &Field<R, K>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, VerifyError>;
    /// The sum of each word.
    fn sum<R: Vectors, K: SiteObject>(&self, x: &Field<R, K>, sum: Sum) -> Result<Vec<Complex<f64>>, VerifyError>;
    /// The sum of each word over each slice.
    fn slice_sums<R: Vectors, K: SiteObject>(
        &self,
        x: &Field<R, K>,
        direction: Direction,
        sum: Sum,
    ) -> Result<Vec<Vec<Complex<f64>>>, VerifyError>;
    /// matrix · x along s, or matrix · x + z.
    fn s_multiply<R: Vectors>(
        &self,
        matrix: &SMatrix,
        x: &SpinorField<R>,
        z: Option<&SpinorField<R>>,
    ) -> Result<SpinorField<R>, VerifyError>;
    /// A Wilson solve from the guess zero.
    fn solve<R: Vectors>(
        &self,
        configuration: &Configuration,
        eta: &[Complex<f64>],
        solve: &WilsonSolve,
    ) -> Result<Solved<R>, VerifyError>;
}

/// A Wilson solve on any backend. That it does not converge is an outcome, to be compared like any other.
pub(super) fn solve_on<R: Vectors, B: Backend>(
    backend: &B,
    configuration: &Configuration,
    eta: &[Complex<f64>],
    solve: &WilsonSolve,
) -> Result<Solved<R>, VerifyError> {
    match solver::solve::<R, B, _>(backend, configuration, eta, solve, |_, _| ()) {
        Ok(report) => Ok(Solved { history: report.info().history.clone(), solution: Ok(report.solution) }),
        Err(SolveError::Backend(error)) => Err(error.into()),
        Err(error) => match error.history() {
            Some(history) => Ok(Solved { history: history.to_vec(), solution: Err(error.to_string()) }),
            None => Err(error.into()),
        },
    }
}

impl Reference for Cpu {
    fn name(&self) -> &'static str {
        "CPU reference"
    }

    fn hop<R: Vectors>(
        &self,
        inputs: &HopInputs<'_, R>,
        source: &SpinorField<R>,
        dagger: Dagger,
    ) -> Result<SpinorField<R>, VerifyError> {
        let HopInputs { parameters, links, stencil, .. } = inputs;
        let mut out = Field::zeros(*stencil.lattice(), stencil.sites(), Spinors::ONE)?;
        Backend::hop(self, &mut out, stencil, links, source, parameters.legs, dagger)?;
        Ok(out)
    }

    fn clover_terms<R: Vectors>(&self, inputs: &CloverInputs<'_, R>) -> Result<CloverFields<R>, VerifyError> {
        clover::terms_on(self, inputs)
    }

    fn clover_hop<R: Vectors>(&self, inputs: &CloverHopInputs<'_, R>) -> Result<SpinorField<R>, VerifyError> {
        clover::hop_on(self, inputs)
    }

    fn laplace_hop<R: Vectors>(
        &self,
        inputs: &HopInputs<'_, R>,
        source: &Field<R, ColourVectors>,
    ) -> Result<Field<R, ColourVectors>, VerifyError> {
        let HopInputs { parameters, links, stencil, .. } = inputs;
        let mut out = Field::zeros(*stencil.lattice(), stencil.sites(), source.kind())?;
        Backend::laplace_hop(self, &mut out, stencil, links, source, parameters.legs)?;
        Ok(out)
    }

    fn scale<R: Vectors>(&self, a: f64, x: &SpinorField<R>) -> Result<SpinorField<R>, VerifyError> {
        let mut out = Field::zeros(*x.lattice(), x.sites(), Spinors::ONE)?;
        Backend::scale(self, &mut out, a, x)?;
        Ok(out)
    }

    fn axpy<R: Vectors>(&self, a: f64, x: &SpinorField<R>, y: &mut SpinorField<R>) -> Result<(), VerifyError> {
        Ok(Backend::axpy(self, a, x, y)?)
    }

    fn axpy_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &Field<R, K>,
        y: &mut Field<R, K>,
        sum: Sum,
    ) -> Result<f64, VerifyError> {
        Ok(Backend::axpy_norm(self, a, x, y, sum)?)
    }

    fn axpby_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &Field<R, K>,
        b: f64,
        y: &mut Field<R, K>,
        sum: Sum,
    ) -> Result<f64, VerifyError> {
        Ok(Backend::axpby_norm(self, a, x, b, y, sum)?)
    }

    fn cg_update<R: Vectors>(
        &self,
        psi: &mut SpinorField<R>,
        p: &mut SpinorField<R>,
        r: &SpinorField<R>,
        a: f64,
        b: f64,
    ) -> Result<(), VerifyError> {
        Ok(Backend::cg_update(self, psi, p, r, a, b)?)
    }

    fn norm2<R: Vectors, K: SiteObject>(&self, x: &Field<R, K>, sum: Sum) -> Result<f64, VerifyError> {
        Ok(Backend::norm2(self, x, sum)?)
    }

    fn inner_products<R: Vectors, K: SiteObject>(
        &self,
        xs: &[&Field<R, K>],
        y: &Field<R, K>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, VerifyError> {
        Ok(Backend::inner_products(self, xs, y, sum)?)
    }

    fn sum<R: Vectors, K: SiteObject>(&self, x: &Field<R, K>, sum: Sum) -> Result<Vec<Complex<f64>>, VerifyError> {
        Ok(Backend::sum(self, x, sum)?)
    }

    fn slice_sums<R: Vectors, K: SiteObject>(
        &self,
        x: &Field<R, K>,
        direction: Direction,
        sum: Sum,
    ) -> Result<Vec<Vec<Complex<f64>>>, VerifyError> {
        Ok(Backend::slice_sums(self, x, direction, sum)?)
    }

    fn s_multiply<R: Vectors>(
        &self,
        matrix: &SMatrix,
        x: &SpinorField<R>,
        z: Option<&SpinorField<R>>,
    ) -> Result<SpinorField<R>, VerifyError> {
        let mut out = Field::zeros(*x.lattice(), x.sites(), x.kind())?;
        match z {
            None => Backend::s_multiply(self, &mut out, matrix, x)?,
            Some(z) => Backend::s_multiply_add(self, &mut out, matrix, x, z)?,
        }
        Ok(out)
    }

    fn solve<R: Vectors>(
        &self,
        configuration: &Configuration,
        eta: &[Complex<f64>],
        solve: &WilsonSolve,
    ) -> Result<Solved<R>, VerifyError> {
        solve_on(self, configuration, eta, solve)
    }
}

/// The plain loops of `lanefield_reference::scalar`: slow, on one thread, and independent of layouts and vectors.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalar;

/// The objects of a field as a list, in site order.
fn list<R: Vectors, K: SiteObject>(field: &Field<R, K>) -> Vec<Complex<R>> {
    gather(field.lattice().extents(), field.sites(), field.kind().words(), &field.to_site_order())
}

/// A field like `like` from the list of its objects.
fn field<R: Vectors, K: SiteObject>(like: &Field<R, K>, list: &[Complex<R>]) -> Result<Field<R, K>, VerifyError> {
    let values = spread(like.lattice().extents(), like.sites(), like.kind().words(), list);
    Ok(Field::from_site_order(*like.lattice(), like.sites(), like.kind(), &values)?)
}

/// The sites of a field as they lie in memory: outer site by outer site, lane by lane.
fn places<R: Vectors, K: SiteObject>(field: &Field<R, K>) -> impl Iterator<Item = Place> {
    let nsimd = field.lattice().nsimd();
    (0..field.osites()).flat_map(move |osite| (0..nsimd).map(move |lane| Place { osite, lane }))
}

/// The object at a place.
fn object<R: Vectors, K: SiteObject>(field: &Field<R, K>, place: Place) -> Vec<Complex<R>> {
    let (words, nsimd) = (field.kind().words(), field.lattice().nsimd());
    (0..words).map(|word| field.words()[(place.osite * words + word) * nsimd + place.lane]).collect()
}

/// The parts of a field as they lie in memory, each of which makes a contribution of its own to norms and products.
fn parts<R: Vectors, K: SiteObject>(field: &Field<R, K>) -> impl Iterator<Item = Vec<Complex<R>>> {
    let (parts, nsimd) = (field.osites() * field.kind().parts(), field.lattice().nsimd());
    let words = words_a_part(field);
    let part = move |part, lane| (0..words).map(|word| field.words()[(part * words + word) * nsimd + lane]).collect();
    (0..parts).flat_map(move |number| (0..nsimd).map(move |lane| part(number, lane)))
}

fn words_a_part<R: Vectors, K: SiteObject>(field: &Field<R, K>) -> usize {
    field.kind().words() / field.kind().parts()
}

/// A tree sum of complex terms.
fn complex_tree(plan: TreePlan, terms: impl Iterator<Item = Complex<f64>>) -> Complex<f64> {
    let (re, im): (Vec<f64>, Vec<f64>) = terms.map(|term| (term.re, term.im)).unzip();
    Complex::new(scalar::tree_sum(plan, &re), scalar::tree_sum(plan, &im))
}

/// The sum of each word over the sites at some places, given as they lie in memory.
fn sum_at<R: Vectors, K: SiteObject>(x: &Field<R, K>, places: &[Place], sum: Sum) -> Vec<Complex<f64>> {
    let objects: Vec<_> = places.iter().map(|&place| object(x, place)).collect();
    match sum {
        Sum::Exact => scalar::sum(x.kind().words(), &objects.concat()),
        Sum::Tree(plan) => {
            let terms = |word: usize| {
                objects.iter().map(move |object| Complex::new(object[word].re.to_f64(), object[word].im.to_f64()))
            };
            (0..x.kind().words()).map(|word| complex_tree(plan, terms(word))).collect()
        }
    }
}

impl Reference for Scalar {
    fn name(&self) -> &'static str {
        "plain scalar implementation"
    }

    fn hop<R: Vectors>(
        &self,
        inputs: &HopInputs<'_, R>,
        source: &SpinorField<R>,
        dagger: Dagger,
    ) -> Result<SpinorField<R>, VerifyError> {
        let HopInputs { configuration, parameters: HopParameters { boundary, links, legs }, stencil, .. } = *inputs;
        let wilson = ScalarWilson { configuration, boundary, format: links, legs };
        let out = wilson.hop(&source.to_site_order(), stencil.sites(), dagger);
        Ok(Field::from_site_order(*stencil.lattice(), stencil.sites(), Spinors::ONE, &out)?)
    }

    fn clover_terms<R: Vectors>(&self, inputs: &CloverInputs<'_, R>) -> Result<CloverFields<R>, VerifyError> {
        let CloverInputs { parameters: CloverParameters { mass, csw_r, csw_t, hop }, configuration, stencil, .. } =
            *inputs;
        let wilson = ScalarWilson { configuration, boundary: hop.boundary, format: hop.links, legs: hop.legs };
        let clover = ScalarClover { wilson, mass, csw_r, csw_t };
        let strength = clover.field_strength::<R>();
        let term = clover.term(&strength);
        let (inverse, pivots) = scalar::clover_inverse(&term);
        let lattice = *stencil.lattice();
        Ok(CloverFields {
            strength: Field::from_site_order(lattice, Sites::Full, FieldStrength, &strength)?,
            term: Field::from_site_order(lattice, Sites::Full, CloverBlocks, &term)?,
            inverse: Field::from_site_order(lattice, Sites::Full, CloverBlocks, &inverse)?,
            pivots: Field::from_site_order(lattice, Sites::Full, ComplexNumber, &pivots)?,
        })
    }

    /// Spinor by spinor.
    fn clover_hop<R: Vectors>(&self, inputs: &CloverHopInputs<'_, R>) -> Result<SpinorField<R>, VerifyError> {
        let CloverHopInputs { hop, blocks, source, chi, dagger } = *inputs;
        let HopInputs { configuration, parameters: HopParameters { boundary, links, legs }, stencil, .. } = *hop;
        let wilson = ScalarWilson { configuration, boundary, format: links, legs };
        let (blocks, count) = (blocks.to_site_order(), source.kind().count());
        let of_each = |field: &SpinorField<R>| {
            let values = field.to_site_order();
            let spinor = |k: usize| -> Vec<Complex<R>> {
                values.chunks_exact(SPINOR_WORDS).skip(k).step_by(count).flatten().copied().collect()
            };
            (0..count).map(spinor).collect::<Vec<_>>()
        };
        let chis = chi.map(of_each);
        let mut results = Vec::with_capacity(count);
        for (k, psi) in of_each(source).iter().enumerate() {
            let hop = wilson.hop(psi, stencil.sites(), dagger);
            results.push(match &chis {
                None => scalar::clover_apply(&blocks, &hop),
                Some(chis) => {
                    let mut result = scalar::clover_apply(&blocks, &chis[k]);
                    scalar::axpy(-1.0, &hop, &mut result);
                    result
                }
            });
        }
        let fill = |site: usize, words: &mut [Complex<R>]| {
            for (words, result) in words.chunks_exact_mut(SPINOR_WORDS).zip(&results) {
                words.copy_from_slice(&result[site * SPINOR_WORDS..][..SPINOR_WORDS]);
            }
        };
        Ok(Field::from_sites(*stencil.lattice(), stencil.sites(), source.kind(), fill)?)
    }

    fn laplace_hop<R: Vectors>(
        &self,
        inputs: &HopInputs<'_, R>,
        source: &Field<R, ColourVectors>,
    ) -> Result<Field<R, ColourVectors>, VerifyError> {
        let HopInputs { configuration, parameters: HopParameters { boundary, links, legs }, stencil, .. } = *inputs;
        let wilson = ScalarWilson { configuration, boundary, format: links, legs };
        let out = wilson.laplace_hop(&source.to_site_order(), source.kind().count(), stencil.sites());
        Ok(Field::from_site_order(*stencil.lattice(), stencil.sites(), source.kind(), &out)?)
    }

    fn scale<R: Vectors>(&self, a: f64, x: &SpinorField<R>) -> Result<SpinorField<R>, VerifyError> {
        field(x, &scalar::scale(a, &list(x)))
    }

    fn axpy<R: Vectors>(&self, a: f64, x: &SpinorField<R>, y: &mut SpinorField<R>) -> Result<(), VerifyError> {
        let mut sum = list(y);
        scalar::axpy(a, &list(x), &mut sum);
        *y = field(y, &sum)?;
        Ok(())
    }

    fn axpy_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &Field<R, K>,
        y: &mut Field<R, K>,
        sum: Sum,
    ) -> Result<f64, VerifyError> {
        let mut result = list(y);
        scalar::axpy(a, &list(x), &mut result);
        *y = field(y, &result)?;
        self.norm2(y, sum)
    }

    fn axpby_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &Field<R, K>,
        b: f64,
        y: &mut Field<R, K>,
        sum: Sum,
    ) -> Result<f64, VerifyError> {
        let mut result = list(y);
        scalar::axpby(a, &list(x), b, &mut result);
        *y = field(y, &result)?;
        self.norm2(y, sum)
    }

    fn cg_update<R: Vectors>(
        &self,
        psi: &mut SpinorField<R>,
        p: &mut SpinorField<R>,
        r: &SpinorField<R>,
        a: f64,
        b: f64,
    ) -> Result<(), VerifyError> {
        let (mut new_psi, mut new_p) = (list(psi), list(p));
        scalar::cg_update(&mut new_psi, &mut new_p, &list(r), a, b);
        (*psi, *p) = (field(psi, &new_psi)?, field(p, &new_p)?);
        Ok(())
    }

    fn norm2<R: Vectors, K: SiteObject>(&self, x: &Field<R, K>, sum: Sum) -> Result<f64, VerifyError> {
        Ok(match sum {
            Sum::Exact => scalar::norm2(words_a_part(x), &list(x)),
            Sum::Tree(plan) => {
                let terms: Vec<f64> = parts(x).map(|part| scalar::site_norm2(&part)).collect();
                scalar::tree_sum(plan, &terms)
            }
        })
    }

    fn inner_products<R: Vectors, K: SiteObject>(
        &self,
        xs: &[&Field<R, K>],
        y: &Field<R, K>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, VerifyError> {
        let product = |x: &&Field<R, K>| match sum {
            Sum::Exact => scalar::inner_product(words_a_part(y), &list(x), &list(y)),
            Sum::Tree(plan) => {
                let terms = parts(x).zip(parts(y)).map(|(x, y)| scalar::site_inner_product(&x, &y));
                complex_tree(plan, terms)
            }
        };
        Ok(xs.iter().map(product).collect())
    }

    fn sum<R: Vectors, K: SiteObject>(&self, x: &Field<R, K>, sum: Sum) -> Result<Vec<Complex<f64>>, VerifyError> {
        Ok(sum_at(x, &places(x).collect::<Vec<_>>(), sum))
    }

    fn slice_sums<R: Vectors, K: SiteObject>(
        &self,
        x: &Field<R, K>,
        direction: Direction,
        sum: Sum,
    ) -> Result<Vec<Vec<Complex<f64>>>, VerifyError> {
        let d = direction.index();
        let slice = |coordinate: usize| {
            let here = |place: &Place| x.lattice().coordinate(x.sites(), *place)[d] == coordinate;
            sum_at(x, &places(x).filter(here).collect::<Vec<_>>(), sum)
        };
        Ok((0..x.lattice().extents()[d]).map(slice).collect())
    }

    fn s_multiply<R: Vectors>(
        &self,
        matrix: &SMatrix,
        x: &SpinorField<R>,
        z: Option<&SpinorField<R>>,
    ) -> Result<SpinorField<R>, VerifyError> {
        field(x, &scalar::domain_wall::s_multiply(matrix, &list(x), z.map(list).as_deref()))
    }

    fn solve<R: Vectors>(
        &self,
        configuration: &Configuration,
        eta: &[Complex<f64>],
        solve: &WilsonSolve,
    ) -> Result<Solved<R>, VerifyError> {
        let HopParameters { boundary, links, legs } = solve.operator.hop;
        let wilson = ScalarWilson { configuration, boundary, format: links, legs };
        let stop = Stop { tolerance: solve.params.tolerance, max_iterations: solve.params.max_iterations };
        let rounded: Vec<Complex<R>> = eta.iter().map(|c| Complex::new(R::from_f64(c.re), R::from_f64(c.im))).collect();
        let mass = solve.operator.mass;
        let solution = match solve.preconditioning {
            Preconditioning::EvenOdd => wilson.solve_even_odd(&rounded, mass, stop),
            Preconditioning::None => wilson.solve(&rounded, mass, stop),
        };
        let scalar::Solution { psi, history, converged } = solution;
        Ok(Solved { history, solution: if converged { Ok(psi) } else { Err("no convergence".to_owned()) } })
    }
}
