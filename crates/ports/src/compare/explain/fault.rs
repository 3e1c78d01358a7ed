//! The possible faults of a hop, and their descriptions.

use lanefield::reference::layout::{DIMENSION_NAMES, Leg};
use lanefield::reference::links::{BoundaryPhases, LinkFormat, Phase};
use lanefield::reference::real::Real;
use lanefield::reference::scalar::{Link, madd, matrix_times_vector, mul};
use num_complex::Complex;

use super::inputs::HopInputs;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Legs {
    One(Leg),
    /// Forward and backward in this direction.
    Direction(usize),
    Forward,
    Backward,
    All,
}

impl Legs {
    /// All sets of legs, the smallest first.
    pub fn each() -> impl Iterator<Item = Self> {
        let ones = Leg::all().map(Self::One);
        ones.chain((0..4).map(Self::Direction)).chain([Self::Forward, Self::Backward, Self::All])
    }

    pub fn contain(self, leg: Leg) -> bool {
        match self {
            Self::One(one) => one == leg,
            Self::Direction(d) => leg.dimension() == d,
            Self::Forward => leg.is_forward(),
            Self::Backward => !leg.is_forward(),
            Self::All => true,
        }
    }

    fn name(self) -> String {
        match self {
            Self::One(leg) => format!("leg {leg}"),
            Self::Direction(d) => format!("legs {} and {}", Leg::forward(d), Leg::backward(d)),
            Self::Forward => "all forward legs".to_owned(),
            Self::Backward => "all backward legs".to_owned(),
            Self::All => "all legs".to_owned(),
        }
    }

    /// The name and a verb, in the singular for one leg, or in the plural.
    fn say(self, one: &str, several: &str) -> String {
        format!("{} {}", self.name(), if matches!(self, Self::One(_)) { one } else { several })
    }

    /// Whether all of them are forward, or all backward; `None` if there are both.
    fn is_forward(self) -> Option<bool> {
        match self {
            Self::One(leg) => Some(leg.is_forward()),
            Self::Forward => Some(true),
            Self::Backward => Some(false),
            Self::Direction(_) | Self::All => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LinkChange {
    Transposed,
    Conjugated,
    Daggered,
    Negated,
}

lanefield::reference::named!(LinkChange:
    Transposed = "transposed", Conjugated = "complex conjugated", Daggered = "daggered", Negated = "of the opposite sign"
);

impl LinkChange {
    /// The changes that are tried on whole legs; a sign is a separate fault.
    const OF_LEGS: [Self; 3] = [Self::Daggered, Self::Transposed, Self::Conjugated];

    /// If U is changed, U† is changed in the same way.
    pub fn apply<R: Real>(self, v: Link<R>) -> Link<R> {
        let transposed = |v: Link<R>| std::array::from_fn(|row| std::array::from_fn(|column| v[column][row]));
        match self {
            Self::Transposed => transposed(v),
            Self::Conjugated => v.map(|row| row.map(|z| z.conj())),
            Self::Daggered => transposed(v).map(|row: [Complex<R>; 3]| row.map(|z| z.conj())),
            Self::Negated => v.map(|row| row.map(|z| -z)),
        }
    }

    /// What replaces U in a forward leg, or U† in a backward one.
    fn in_place(self, forward: bool) -> &'static str {
        match (self, forward) {
            (Self::Transposed, true) => "Uᵀ, transposed, in place of U",
            (Self::Transposed, false) => "U*, conjugated and not transposed, in place of U†",
            (Self::Conjugated, true) => "U*, conjugated, in place of U",
            (Self::Conjugated, false) => "Uᵀ, transposed and not conjugated, in place of U†",
            (Self::Daggered, true) => "U†, daggered, in place of U",
            (Self::Daggered, false) => "U, not daggered, in place of U†",
            (Self::Negated, true) => "−U in place of U",
            (Self::Negated, false) => "−U† in place of U†",
        }
    }
}

/// The quantity that has the directions x, y, z, t in another order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Links,
    Projectors,
    Neighbours,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Product {
    Right,
    Unfused,
    /// (ac − bd) as fma(a, c, −(b·d)): plain products as compilers contract them from the left.
    Contracted,
    /// The first product is a madd with zero.
    FromZero,
    /// Starts with the last column.
    Reversed,
    /// Each product is rounded separately, then added.
    Separate,
}

impl Product {
    pub(crate) const WRONG: [Self; 5] =
        [Self::Unfused, Self::Contracted, Self::FromZero, Self::Reversed, Self::Separate];

    pub fn name(self) -> &'static str {
        match self {
            Self::Right => "as they should be",
            Self::Unfused => "not fused: each product and each sum is rounded",
            Self::Contracted => "contracted by a compiler: fma(a.re, b.re, −(a.im·b.im)), then added",
            Self::FromZero => "begun with a multiply-add to zero (arithmetic §2: mul is not a madd with c = 0)",
            Self::Reversed => "summed from the last column on",
            Self::Separate => "fused by themselves (mul) and then added, in place of madd",
        }
    }

    pub fn apply<R: Real>(self, u: &Link<R>, h: &[Complex<R>; 3]) -> [Complex<R>; 3] {
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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MassTerm {
    Fused,
    /// The product is rounded, then added.
    Unfused,
    /// The product is the first term, and the legs are added to it.
    First,
}

impl MassTerm {
    pub(crate) const WRONG: [Self; 2] = [Self::Unfused, Self::First];

    pub fn name(self) -> &'static str {
        match self {
            Self::Fused => "as it should be",
            Self::Unfused => "multiplied and added, each rounded, in place of one fma(4 + mass, ψ, hop)",
            Self::First => {
                "multiplied first, and the legs are added to it, in place of fma(4 + mass, ψ, hop) after all legs"
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    None,
    Sign(Legs),
    Missing(Legs),
    Projector(Legs),
    /// ψ is that of the neighbour on the other side.
    OtherSide(Legs),
    Links(Legs, LinkChange),
    /// The link of the site itself for a backward leg, or of the neighbour for a forward one, with the phase of the leg or with that of its own
    /// place.
    OtherSite(Legs, bool),
    /// Directions in another order: each uses the one at its position in the list.
    Directions(Part, [usize; 4]),
    PhaseOfLeg(Leg),
    Boundary(BoundaryPhases),
    Dagger,
    Products(Product),
    Mass(MassTerm),
    Format(LinkFormat),
}

impl Fault {
    pub fn all(inputs: &HopInputs<'_>) -> Vec<Self> {
        let of_legs = Legs::each().flat_map(|legs| {
            let whole = [Self::Sign(legs), Self::Missing(legs), Self::Projector(legs)];
            let places = [Self::OtherSide(legs), Self::OtherSite(legs, false), Self::OtherSite(legs, true)];
            let changes = LinkChange::OF_LEGS.map(|change| Self::Links(legs, change));
            // If all signs are wrong it is a factor, and if all projectors are, the Hermitian conjugate.
            let whole = whole.into_iter().filter(move |_| legs != Legs::All);
            whole.chain(places).chain(changes)
        });
        let directions = [Part::Links, Part::Projectors, Part::Neighbours].into_iter();
        let directions = directions.flat_map(|part| permutations().map(move |order| Self::Directions(part, order)));
        let mass = MassTerm::WRONG.into_iter().filter(|_| inputs.mass.is_some()).map(Self::Mass);
        let formats = LinkFormat::ALL.into_iter().filter(|format| *format != inputs.links).map(Self::Format);
        let products = Product::WRONG.into_iter().map(Self::Products);
        let phases =
            Leg::all().map(Self::PhaseOfLeg).chain(boundaries(inputs.boundary).into_iter().map(Self::Boundary));
        of_legs
            .chain(phases)
            .chain([Self::Dagger])
            .chain(directions)
            .chain(products)
            .chain(mass)
            .chain(formats)
            .collect()
    }

    pub fn sentence(self, inputs: &HopInputs<'_>) -> String {
        match self {
            Self::None => "nothing is wrong".to_owned(),
            Self::Sign(legs) => legs.say("has the wrong sign", "have the wrong sign"),
            Self::Missing(legs) => legs.say("is left out", "are left out"),
            Self::Projector(legs) => {
                let of = "of the opposite sign (arithmetic §4, §6)";
                legs.say(&format!("has the projector {of}"), &format!("have the projectors {of}"))
            }
            Self::OtherSide(legs) => {
                legs.say("reads ψ at the neighbour on the other side", "read ψ at the neighbours on the other side")
            }
            Self::Links(legs, change) => match (legs, legs.is_forward()) {
                (legs, Some(forward)) => legs.say("takes ", "take ") + change.in_place(forward),
                (Legs::All, None) => format!("all links are {}", change.name()),
                (legs, None) => format!("the links of {} are {}", legs.name(), change.name()),
            },
            Self::OtherSite(legs, own_phase) => {
                let what = match legs.is_forward() {
                    Some(true) => "the link of the neighbour, U(x + μ), in place of U(x)",
                    Some(false) => "the link of the site, U(x)†, in place of the neighbour's, U(x − μ)†",
                    None => "the link at their other end, U(x + μ) forward and U(x)† backward",
                };
                let phase = if own_phase { ", with the boundary phase of that place" } else { "" };
                format!("{}{what}{phase}", legs.say("takes ", "take "))
            }
            Self::Directions(part, order) => {
                let list = |directions: [usize; 4]| directions.map(|d| DIMENSION_NAMES[d]).join(",");
                let (names, order) = (list([0, 1, 2, 3]), list(order));
                match part {
                    Part::Links => format!(
                        "directions {names} take the links of {order}: the configuration has them in another order"
                    ),
                    Part::Projectors => format!("directions {names} take the γ matrices of {order}"),
                    Part::Neighbours => format!("directions {names} read ψ at the neighbours in {order}"),
                }
            }
            Self::PhaseOfLeg(leg) => format!("leg {leg} has no boundary phase"),
            Self::Boundary(found) => boundary(inputs.boundary, found),
            Self::Dagger => "it is the dagger: all projectors have the opposite sign".to_owned(),
            Self::Products(product) => format!("products of the links are {}", product.name()),
            Self::Mass(term) => format!("the mass term is {}", term.name()),
            Self::Format(format) => {
                let (found, expected) = (format.reals(), inputs.links.reals());
                format!("links have {found} reals, not {expected} (--reconstruct {found})")
            }
        }
    }

    /// Whether it affects only rounding.
    pub fn rounds(self) -> bool {
        matches!(self, Self::Products(_) | Self::Mass(_) | Self::Format(_))
    }
}

fn permutations() -> impl Iterator<Item = [usize; 4]> {
    let all = (0..256).map(|k| [k / 64, k / 16 % 4, k / 4 % 4, k % 4]);
    all.filter(|order| (0..4).all(|d| order.contains(&d)) && *order != [0, 1, 2, 3])
}

const PHASES: [Phase; 3] = [Phase::Periodic, Phase::Antiperiodic, Phase::Fixed];

/// All other boundary phases, first those that differ in one direction. An angle that is expected may be right, or have the opposite sign.
fn boundaries(expected: BoundaryPhases) -> Vec<BoundaryPhases> {
    let mut all = vec![BoundaryPhases::PERIODIC];
    for d in 0..4 {
        let phase = expected.phase(d);
        let turned = [phase, phase.of_crossings(-1)].into_iter().filter(|phase| !PHASES.contains(phase));
        let phases: Vec<Phase> = PHASES.into_iter().chain(turned).collect();
        all = all.iter().flat_map(|known| phases.iter().map(|&phase| known.with(d, phase))).collect();
    }
    all.retain(|phases| *phases != expected);
    all.sort_by_key(|phases| changed(expected, *phases).count());
    all
}

fn changed(a: BoundaryPhases, b: BoundaryPhases) -> impl Iterator<Item = usize> {
    (0..4).filter(move |&d| a.phase(d) != b.phase(d))
}

fn boundary(expected: BoundaryPhases, found: BoundaryPhases) -> String {
    let mut differ = changed(expected, found);
    let name = |phase| match phase {
        Phase::Periodic => "periodic (1)".to_owned(),
        Phase::Antiperiodic => "antiperiodic (-1)".to_owned(),
        Phase::Fixed => "fixed (0)".to_owned(),
        Phase::Twisted(_) => format!("twisted ({phase})"),
    };
    match (differ.next(), differ.next()) {
        (Some(d), None) => match (expected.phase(d), found.phase(d)) {
            (Phase::Antiperiodic | Phase::Twisted(_), Phase::Periodic) => {
                format!("there is no boundary phase in {}", DIMENSION_NAMES[d])
            }
            (expected, found) => {
                format!("the boundary in {} is {}, and should be {}", DIMENSION_NAMES[d], name(found), name(expected))
            }
        },
        _ => format!("the boundary phases are {found}, and should be {expected}"),
    }
}
