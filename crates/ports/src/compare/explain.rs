//! What made a hop wrong, where its links and its source are known: the hop is computed in plain loops with one thing wrong after the other, and B is held
//! against each. A wrong sign of a leg and a leg that is missing look the same without this, and so do all orders and contractions.

use lanefield::io::npy::{ComplexArray, ComplexValues};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::{Coordinate, DIMENSION_NAMES, Extents, LEGS, Leg, LegOrder};
use lanefield::reference::links::{BoundaryPhases, LinkFormat};
use lanefield::reference::real::Real;
use lanefield::reference::scalar::{Link, ScalarWilson, madd, matrix_times_vector, mul, step};
use num_complex::Complex;
use thiserror::Error;

use super::{Cause, Confidence};

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

/// Why a hop cannot be explained.
#[derive(Debug, Error)]
pub enum ExplainError {
    /// An array that is no spinor field on the lattice of the links.
    #[error("{name} is {found}, and no spinor field {expected} on the lattice of the configuration")]
    NoSpinors {
        /// Which array.
        name: &'static str,
        /// What it is.
        found: String,
        /// Its shape.
        expected: String,
    },
}

/// How products are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Product {
    /// As they should be.
    Right,
    /// Nothing is fused.
    Unfused,
    /// (ac − bd) as fma(a, c, −(b·d)): what compilers make of plain products that they contract from the left.
    Contracted,
    /// The first product as a madd with zero.
    FromZero,
    /// The last column first.
    Reversed,
    /// Each product rounded by itself, then added.
    Separate,
}

impl Product {
    const WRONG: [Self; 5] = [Self::Unfused, Self::Contracted, Self::FromZero, Self::Reversed, Self::Separate];

    fn name(self) -> &'static str {
        match self {
            Self::Right => "as they should be",
            Self::Unfused => "not fused: each product and each sum is rounded",
            Self::Contracted => "contracted by a compiler: fma(a.re, b.re, −(a.im·b.im)), then added",
            Self::FromZero => "begun with a multiply-add to zero (arithmetic §2: mul is not a madd with c = 0)",
            Self::Reversed => "summed from the last column on",
            Self::Separate => "fused by themselves (mul) and then added, in place of madd",
        }
    }

    fn apply<R: Real>(self, u: &Link<R>, h: &[Complex<R>; 3]) -> [Complex<R>; 3] {
        let plain = |a: Complex<R>, b: Complex<R>| Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
        let contracted = |a: Complex<R>, b: Complex<R>| {
            Complex::new(a.re.fused(b.re, -(a.im * b.im)), a.re.fused(b.im, a.im * b.re))
        };
        let sum = |of: &dyn Fn(Complex<R>, Complex<R>) -> Complex<R>| {
            u.map(|row| of(row[0], h[0]) + of(row[1], h[1]) + of(row[2], h[2]))
        };
        match self {
            Self::Right => matrix_times_vector(u, h),
            Self::Unfused => sum(&plain),
            Self::Contracted => sum(&contracted),
            Self::Separate => sum(&mul),
            Self::FromZero => {
                u.map(|row| madd(row[2], h[2], madd(row[1], h[1], madd(row[0], h[0], Complex::default()))))
            }
            Self::Reversed => u.map(|row| madd(row[0], h[0], madd(row[1], h[1], mul(row[2], h[2])))),
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    Sign(Leg),
    Missing(Leg),
    Projector(Leg),
    Daggered(Leg),
    /// The link of the site itself for the backward leg, of the neighbour for the forward one.
    OtherSite(Leg),
    /// ψ of the neighbour on the other side.
    OtherSide(Leg),
    /// No boundary phase.
    PhaseOfLeg(Leg),
    PhaseOf(usize),
    Dagger,
    Products(Product),
}

impl Fault {
    fn all() -> impl Iterator<Item = Self> {
        let of_legs = Leg::all().flat_map(|leg| {
            [
                Self::Sign(leg),
                Self::Missing(leg),
                Self::Projector(leg),
                Self::Daggered(leg),
                Self::OtherSite(leg),
                Self::OtherSide(leg),
                Self::PhaseOfLeg(leg),
            ]
        });
        let phases = (0..4).map(Self::PhaseOf);
        of_legs.chain(phases).chain([Self::Dagger]).chain(Product::WRONG.map(Self::Products))
    }

    fn sentence(self) -> String {
        match self {
            Self::None => "nothing is wrong".to_owned(),
            Self::Sign(leg) => format!("leg {leg} has the wrong sign"),
            Self::Missing(leg) => format!("leg {leg} is left out"),
            Self::Projector(leg) => format!("leg {leg} has the projector of the opposite sign (arithmetic §4, §6)"),
            Self::Daggered(leg) => {
                format!("the link of leg {leg} is daggered where it should not be, or not where it should")
            }
            Self::OtherSite(leg) if leg.is_forward() => {
                format!("leg {leg} takes the link of the neighbour, U(x + μ), in place of U(x)")
            }
            Self::OtherSite(leg) => {
                format!("leg {leg} takes the link of the site, U(x)†, in place of the neighbour's, U(x − μ)†")
            }
            Self::OtherSide(leg) => format!("leg {leg} reads ψ at the neighbour on the other side"),
            Self::PhaseOfLeg(leg) => format!("leg {leg} has no boundary phase"),
            Self::PhaseOf(d) => format!("there is no boundary phase in {}", DIMENSION_NAMES[d]),
            Self::Dagger => "it is the dagger: all projectors have the opposite sign".to_owned(),
            Self::Products(product) => format!("products of the links are {}", product.name()),
        }
    }

    /// Whether it changes roundings alone.
    fn rounds(self) -> bool {
        matches!(self, Self::Products(_))
    }
}

/// Which of the hops with one thing wrong B is. A is not looked at: it may be wrong, too.
///
/// # Errors
/// [`ExplainError`] where B or the source is no spinor field on the lattice.
pub fn explain_hop(b: &ComplexArray, inputs: &HopInputs<'_>) -> Result<Vec<Cause>, ExplainError> {
    let [x, y, z, t] = inputs.configuration.extents().as_array();
    let shape = vec![t, z, y, x, 4, 3];
    for (name, array) in [("B", b), ("the source", inputs.source)] {
        if array.shape != shape || array.values.len() != shape.iter().product::<usize>() {
            let expected = super::show_shape(&shape);
            return Err(ExplainError::NoSpinors { name, found: array.describe(), expected });
        }
    }
    let source = inputs.source.values.clone();
    Ok(match &b.values {
        ComplexValues::F32(b) => {
            Hop { inputs, psi: &source.into_f32(), extents: inputs.configuration.extents() }.explain(b)
        }
        ComplexValues::F64(b) => {
            Hop { inputs, psi: &source.into_f64(), extents: inputs.configuration.extents() }.explain(b)
        }
    })
}

struct Hop<'a, R> {
    inputs: &'a HopInputs<'a>,
    psi: &'a [Complex<R>],
    extents: Extents,
}

type Spinor<R> = [Complex<R>; 12];

/// How near B is to a hop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Bits,
    Rounding,
}

impl<R: Real> Hop<'_, R> {
    fn explain(&self, b: &[Complex<R>]) -> Vec<Cause> {
        let right = self.fit(b, |x| self.spinor(x, Fault::None));
        if right == Some(Fit::Bits) {
            let sentence = "B is the hop of this source, links and boundary, bit for bit: A is not";
            return vec![Cause::new("right", Confidence::Certain, sentence, "all spinors")];
        }
        let mut found: Vec<(Fit, Fault)> = Vec::new();
        for fault in Fault::all() {
            match self.fit(b, |x| self.spinor(x, fault)) {
                // Where nothing but roundings is wrong, what changes nothing (a phase 1) fits, too.
                Some(Fit::Rounding) if fault.rounds() || right.is_some() => {}
                Some(fit) => found.push((fit, fault)),
                None => {}
            }
        }
        found.sort_by_key(|(fit, _)| *fit);
        if let Some((fit, fault)) = found.first() {
            let (confidence, how) = match fit {
                Fit::Bits => (Confidence::Certain, "bit for bit"),
                Fit::Rounding => (Confidence::Likely, "but for roundings: its order or contraction may differ, too"),
            };
            let evidence = format!("B is the hop in which this is wrong, {how}");
            return vec![Cause::new("hop", confidence, fault.sentence(), evidence)];
        }
        // Other orders and forms of products are near the right one.
        right.and_then(|_| self.orders(b)).into_iter().collect()
    }

    /// B has the legs in another order, and perhaps its products in another form.
    fn orders(&self, b: &[Complex<R>]) -> Option<Cause> {
        let products = std::iter::once(Product::Right).chain(Product::WRONG);
        for product in products {
            // A few sites far apart leave one order but for that of the first two legs, whose sum is the same.
            let volume = self.extents.volume();
            let sites = (0..4).map(|k| k * (volume - 1) / 3);
            let terms: Vec<_> = sites
                .map(|site| {
                    let x = self.extents.coordinate(site);
                    let terms: [Spinor<R>; LEGS] =
                        std::array::from_fn(|k| self.term(x, legs()[k], Fault::Products(product)));
                    (site, terms)
                })
                .collect();
            let mut order = [0; LEGS];
            let fits = |order: &[usize; LEGS]| {
                terms.iter().all(|(site, terms)| {
                    let sum = self.finish(*site, sum(order.iter().map(|&leg| terms[leg])));
                    same(&sum, &b[12 * site..][..12])
                })
            };
            if !permute(&mut order, 0, 0, &fits) {
                continue;
            }
            let legs = LegOrder::new(order.map(|k| legs()[k])).ok()?;
            let whole = |x: Coordinate| {
                let terms = legs.legs().into_iter().map(|leg| self.term(x, leg, Fault::Products(product)));
                self.finish(self.extents.site(x), sum(terms))
            };
            if self.fit(b, whole) == Some(Fit::Bits) {
                let products = match product {
                    Product::Right => String::new(),
                    product => format!(", and products of the links are {}", product.name()),
                };
                let sentence = format!("the legs are added in the order {legs}, not {}{products}", self.inputs.legs);
                return Some(Cause::new("leg_order", Confidence::Certain, sentence, "B is this hop, bit for bit"));
            }
        }
        let sentence = "B is the hop to rounding, and none of the orders of legs and forms of products that were tried has its bits";
        Some(Cause::new("rounding", Confidence::Likely, sentence, "40 320 orders with six forms of products"))
    }

    /// Whether B is a hop, at all sites.
    fn fit(&self, b: &[Complex<R>], hop: impl Fn(Coordinate) -> Spinor<R>) -> Option<Fit> {
        let mut fit = Fit::Bits;
        for (site, b) in b.chunks_exact(12).enumerate() {
            let expected = hop(self.extents.coordinate(site));
            if fit == Fit::Bits && same(&expected, b) {
                continue;
            }
            let far = expected.iter().zip(b).map(|(expected, b)| size(*expected - *b)).fold(0.0f64, f64::max);
            let largest = expected.iter().map(|z| size(*z)).fold(0.0f64, f64::max);
            let unit = if R::BITS == 64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
            // Not so with NaN.
            let near = far <= 32.0 * unit * largest;
            if !near {
                return None;
            }
            if !same(&expected, b) {
                fit = Fit::Rounding;
            }
        }
        Some(fit)
    }

    fn spinor(&self, x: Coordinate, fault: Fault) -> Spinor<R> {
        let legs = self.inputs.legs.legs().into_iter().filter(|leg| fault != Fault::Missing(*leg));
        self.finish(self.extents.site(x), sum(legs.map(|leg| self.term(x, leg, fault))))
    }

    /// Of M, the mass term: fma(dm, ψ, hop).
    fn finish(&self, site: usize, hop: Spinor<R>) -> Spinor<R> {
        let Some(mass) = self.inputs.mass else { return hop };
        let dm = R::from_f64(4.0 + mass);
        std::array::from_fn(|word| {
            let psi = self.psi[12 * site + word];
            Complex::new(dm.fused(psi.re, hop[word].re), dm.fused(psi.im, hop[word].im))
        })
    }

    /// Steps 1 to 4 of §6 for one leg, with a fault.
    fn term(&self, x: Coordinate, leg: Leg, fault: Fault) -> Spinor<R> {
        let d = leg.dimension();
        let opposite = if leg.is_forward() { Leg::backward(d) } else { Leg::forward(d) };
        let neighbour = |leg| step(self.extents, x, leg).0;
        let there = neighbour(if fault == Fault::OtherSide(leg) { opposite } else { leg });
        let there = self.extents.site(there);
        let psi = |spin: usize, colour: usize| self.psi[12 * there + 3 * spin + colour];

        let v = self.link(x, leg, fault);
        let product = if let Fault::Products(product) = fault { product } else { Product::Right };
        let swapped = [fault == Fault::Projector(leg), fault == Fault::Dagger, self.inputs.dagger == Dagger::Yes];
        let minus = swapped.iter().filter(|is_so| **is_so).count() % 2 == usize::from(!leg.is_forward());
        let table = ONE_PLUS_GAMMA[d].map(|(power, row)| ((power + if minus { 2 } else { 0 }) % 4, row));

        let h = |k: usize| std::array::from_fn(|c| psi(k, c) + times(table[k].0, psi(table[k].1, c)));
        let w = [product.apply(&v, &h(0)), product.apply(&v, &h(1))];
        let sign = |z: Complex<R>| if fault == Fault::Sign(leg) { -z } else { z };
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
        let d = leg.dimension();
        let without_phase = fault == Fault::PhaseOfLeg(leg) || fault == Fault::PhaseOf(d);
        let boundary = if without_phase { BoundaryPhases::PERIODIC } else { boundary };
        let operator = ScalarWilson { configuration, boundary, format: links, legs };
        let daggered = |v: Link<R>| std::array::from_fn(|row| std::array::from_fn(|column| v[column][row].conj()));
        match fault {
            Fault::Daggered(of) if of == leg => daggered(operator.link(x, leg)),
            // U(x)† is the dagger of the forward link; U(x + μ) is the forward link of the neighbour.
            Fault::OtherSite(of) if of == leg && !leg.is_forward() => daggered(operator.link(x, Leg::forward(d))),
            Fault::OtherSite(of) if of == leg => operator.link(step(self.extents, x, leg).0, leg),
            _ => operator.link(x, leg),
        }
    }
}

/// §4 for 1 + γ: h0, h1 as ψ0 (ψ1) plus iⁿ times another row; rows 2 and 3 as iⁿ times h0 or h1. Of 1 − γ each n has 2 more.
const ONE_PLUS_GAMMA: [[(u8, usize); 4]; 4] = [
    [(1, 3), (1, 2), (3, 1), (3, 0)],
    [(2, 3), (0, 2), (0, 1), (2, 0)],
    [(1, 2), (3, 3), (3, 0), (1, 1)],
    [(0, 2), (0, 3), (0, 0), (0, 1)],
];

fn legs() -> [Leg; LEGS] {
    std::array::from_fn(|point| if point < LEGS / 2 { Leg::forward(point) } else { Leg::backward(point - LEGS / 2) })
}

fn times<R: Real>(power: u8, z: Complex<R>) -> Complex<R> {
    match power {
        0 => z,
        1 => Complex::new(-z.im, z.re),
        2 => -z,
        _ => Complex::new(z.im, -z.re),
    }
}

/// The first term, then each added to the sum.
fn sum<R: Real>(terms: impl Iterator<Item = Spinor<R>>) -> Spinor<R> {
    let added = |sum: Spinor<R>, term: Spinor<R>| std::array::from_fn(|word| sum[word] + term[word]);
    terms.reduce(added).unwrap_or_else(|| [Complex::default(); 12])
}

fn same<R: Real>(a: &[Complex<R>], b: &[Complex<R>]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.re.same_bits(b.re) && a.im.same_bits(b.im))
}

fn size<R: Real>(z: Complex<R>) -> f64 {
    z.re.to_f64().abs().max(z.im.to_f64().abs())
}

/// Tries all orders of legs until one fits; `used` marks those that stand before `place`.
fn permute(order: &mut [usize; LEGS], place: usize, used: usize, fits: &impl Fn(&[usize; LEGS]) -> bool) -> bool {
    if place == LEGS {
        return fits(order);
    }
    (0..LEGS).filter(|leg| used >> leg & 1 == 0).any(|leg| {
        order[place] = leg;
        permute(order, place + 1, used | 1 << leg, fits)
    })
}
