//! The hop in scalar code, with one fault: §6 of `docs/arithmetic.md`, site by site.

use lanefield::prelude::*;
use lanefield::reference::layout::{Coordinate, Leg};
use lanefield::reference::real::Real;
use lanefield::reference::scalar::{Link, ScalarWilson, step};

use super::fault::{Fault, LinkChange, MassTerm, Part, Product};
use super::inputs::HopInputs;
use crate::projection::{size, table, times};

pub(super) type Spinor<R> = [Complex<R>; 12];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    Bits,
    Rounding,
}

/// A link at a site in a direction, and the change to it.
pub(super) type OneLink = (Coordinate, usize, LinkChange);

pub(super) struct Hop<'a, R> {
    pub inputs: &'a HopInputs<'a>,
    pub psi: &'a [Complex<R>],
    pub extents: Extents,
}

impl<R: Real> Hop<'_, R> {
    /// Whether a field equals a hop at all sites.
    pub fn fit(&self, b: &[Complex<R>], hop: impl Fn(Coordinate) -> Spinor<R>) -> Option<Fit> {
        let mut fit = Fit::Bits;
        for (site, b) in b.chunks_exact(12).enumerate() {
            let expected = hop(self.extents.coordinate(site));
            if same(&expected, b) {
                continue;
            }
            let far = expected.iter().zip(b).map(|(expected, b)| size(*expected - *b)).fold(0.0f64, f64::max);
            // NaN must fail too.
            let near = far <= 32.0 * unit::<R>() * largest(&expected);
            if !near {
                return None;
            }
            fit = Fit::Rounding;
        }
        Some(fit)
    }

    pub(crate) fn has_bits(&self, b: &[Complex<R>], hop: impl Fn(Coordinate) -> Spinor<R>) -> bool {
        let mut sites = b.chunks_exact(12).enumerate();
        sites.all(|(site, b)| same(&hop(self.extents.coordinate(site)), b))
    }

    pub fn spinor(&self, x: Coordinate, fault: Fault) -> Spinor<R> {
        let missing = |leg: &Leg| matches!(fault, Fault::Missing(legs) if legs.contain(*leg));
        let terms = self.inputs.legs.legs().into_iter().filter(|leg| !missing(leg));
        let form = if let Fault::Mass(form) = fault { form } else { MassTerm::Fused };
        self.sum(x, terms.map(|leg| self.term(x, leg, fault)), form)
    }

    /// The hop with one link changed.
    pub(crate) fn with_link(&self, x: Coordinate, other: OneLink) -> Spinor<R> {
        let terms = self.inputs.legs.legs().map(|leg| {
            let v = self.link(x, leg, Fault::None);
            let (owner, d, change) = other;
            let from = if leg.is_forward() { x } else { step(self.extents, x, leg).0 };
            let v = if (from, leg.dimension()) == (owner, d) { change.apply(v) } else { v };
            self.through(x, leg, &v, Fault::None)
        });
        self.sum(x, terms.into_iter(), MassTerm::Fused)
    }

    /// The first term, then each added to the sum; for M, also the mass term.
    pub fn sum(&self, x: Coordinate, terms: impl Iterator<Item = Spinor<R>>, form: MassTerm) -> Spinor<R> {
        let added = |sum: Spinor<R>, term: Spinor<R>| std::array::from_fn(|word| sum[word] + term[word]);
        let Some(mass) = self.inputs.mass else { return terms.reduce(added).unwrap_or_default() };
        let dm = R::from_f64(4.0 + mass);
        let psi = |word: usize| self.psi[12 * self.extents.site(x) + word];
        let product: Spinor<R> = std::array::from_fn(|word| Complex::new(dm * psi(word).re, dm * psi(word).im));
        match form {
            MassTerm::First => terms.fold(product, added),
            MassTerm::Unfused => added(product, terms.reduce(added).unwrap_or_default()),
            MassTerm::Fused => self.with_mass(x, dm, &terms.reduce(added).unwrap_or_default()),
        }
    }

    pub fn with_mass(&self, x: Coordinate, dm: R, hop: &Spinor<R>) -> Spinor<R> {
        std::array::from_fn(|word| {
            let psi = self.psi[12 * self.extents.site(x) + word];
            Complex::new(dm.fused(psi.re, hop[word].re), dm.fused(psi.im, hop[word].im))
        })
    }

    /// Steps 1 to 4 of §6 for one leg, with a fault.
    pub fn term(&self, x: Coordinate, leg: Leg, fault: Fault) -> Spinor<R> {
        self.through(x, leg, &self.link(x, leg, fault), fault)
    }

    fn through(&self, x: Coordinate, leg: Leg, v: &Link<R>, fault: Fault) -> Spinor<R> {
        let d = leg.dimension();
        let to = match fault {
            Fault::OtherSide(legs) if legs.contain(leg) => in_direction(d, !leg.is_forward()),
            Fault::Directions(Part::Neighbours, order) => in_direction(order[d], leg.is_forward()),
            _ => leg,
        };
        let there = self.extents.site(step(self.extents, x, to).0);
        let psi = |spin: usize, colour: usize| self.psi[12 * there + 3 * spin + colour];

        let product = if let Fault::Products(product) = fault { product } else { Product::Right };
        let of_leg = matches!(fault, Fault::Projector(legs) if legs.contain(leg));
        let swapped = [of_leg, fault == Fault::Dagger, self.inputs.dagger == Dagger::Yes];
        let minus = swapped.iter().filter(|is_so| **is_so).count() % 2 == usize::from(!leg.is_forward());
        let gamma = if let Fault::Directions(Part::Projectors, order) = fault { order[d] } else { d };
        let table = table(gamma, minus);

        let h = |k: usize| std::array::from_fn(|c| psi(k, c) + times(table[k].0, psi(table[k].1, c)));
        let w = [product.apply(v, &h(0)), product.apply(v, &h(1))];
        let negated = matches!(fault, Fault::Sign(legs) if legs.contain(leg));
        let sign = |z: Complex<R>| if negated { -z } else { z };
        std::array::from_fn(|word| {
            let (spin, colour) = (word / 3, word % 3);
            sign(match spin {
                0 | 1 => w[spin][colour],
                _ => times(table[spin].0, w[table[spin].1][colour]),
            })
        })
    }

    /// The doubled link of a leg, with a fault.
    fn link(&self, x: Coordinate, leg: Leg, fault: Fault) -> Link<R> {
        let HopInputs { configuration, boundary, links, legs, .. } = *self.inputs;
        let boundary = match fault {
            Fault::PhaseOfLeg(of) if of == leg => BoundaryPhases::PERIODIC,
            Fault::Boundary(boundary) => boundary,
            _ => boundary,
        };
        let format = if let Fault::Format(format) = fault { format } else { links };
        let operator = ScalarWilson { configuration, boundary, format, legs };
        let bare = ScalarWilson { boundary: BoundaryPhases::PERIODIC, ..operator };
        let (d, dagger) = (leg.dimension(), |v: Link<R>| LinkChange::Daggered.apply(v));
        let neighbour = |leg| step(self.extents, x, leg).0;
        match fault {
            Fault::Links(legs, change) if legs.contain(leg) => change.apply(operator.link(x, leg)),
            // U(x)† is the Hermitian conjugate of the forward link; U(x + μ) is the forward link of the neighbour.
            Fault::OtherSite(legs, own_phase) if legs.contain(leg) => {
                let operator = if own_phase { operator } else { bare };
                let v = match leg.is_forward() {
                    true => operator.link(neighbour(leg), leg),
                    false => dagger(operator.link(x, Leg::forward(d))),
                };
                if own_phase { v } else { self.phased(x, leg, v) }
            }
            Fault::Directions(Part::Links, order) => self.phased(
                x,
                leg,
                match leg.is_forward() {
                    true => bare.link(x, Leg::forward(order[d])),
                    false => dagger(bare.link(neighbour(leg), Leg::forward(order[d]))),
                },
            ),
            _ => operator.link(x, leg),
        }
    }

    fn phased(&self, x: Coordinate, leg: Leg, v: Link<R>) -> Link<R> {
        let crosses = step(self.extents, x, leg).1;
        let phase = self.inputs.boundary.phase(leg.dimension()).of_leg(leg, crosses);
        v.map(|row| row.map(|z| phase.times(z)))
    }
}

fn in_direction(d: usize, forward: bool) -> Leg {
    if forward { Leg::forward(d) } else { Leg::backward(d) }
}

pub(super) fn unit<R: Real>() -> f64 {
    if R::BITS == 64 { f64::EPSILON } else { f64::from(f32::EPSILON) }
}

pub(super) fn largest<R: Real>(spinor: &[Complex<R>]) -> f64 {
    spinor.iter().map(|z| size(*z)).fold(0.0f64, f64::max)
}

pub(super) fn same<R: Real>(a: &[Complex<R>], b: &[Complex<R>]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.re.same_bits(b.re) && a.im.same_bits(b.im))
}
