//! Causes in how an array was read: its order or basis is not the declared one. Each alternative is tried, and fits if the other array then has the
//! same bits, or, for bases with 1/√2, the same numbers up to rounding.

use num_complex::Complex;

use super::case::Case;
use super::guess::{Cause, Confidence};
use crate::compare::numbers::same;
use crate::compare::wording::grouped;
use crate::order::{Convention, GammaBasis, Inner, Layout, Places, SiteOrder};
use crate::projection::size;

pub(super) fn causes(case: &Case<'_>) -> Vec<Cause> {
    // One or two numbers may fit an exchange by chance, if they are zeros.
    if case.comparison.differing < 3 || case.extents().is_none() {
        return Vec::new();
    }
    let [a, b] = [Side::new(case, "A"), Side::new(case, "B")];
    let mut others: Vec<(bool, Convention)> = Vec::new();
    for is_b in [true, false] {
        let declared = if is_b { b.declared } else { a.declared };
        others.extend(candidates(case, declared).map(|convention| (is_b, convention)));
    }
    // Wrong declarations come first, then missing ones.
    let declared = |is_b: bool| if is_b { case.options.b } else { case.options.a };
    others.sort_by_key(|&(is_b, other)| {
        let changed = changed(declared(is_b), other);
        (changed.iter().filter(|is_so| **is_so).count(), said(other, changed), !is_b)
    });
    let side = |is_b: bool| if is_b { &b } else { &a };
    let found = others.into_iter().find(|&(is_b, other)| side(is_b).fits(case, other));
    found.map(|(is_b, other)| cause(case, side(is_b), other)).into_iter().collect()
}

/// Which of order, basis and inner order differ.
fn changed(a: Convention, b: Convention) -> [bool; 3] {
    [a.order != b.order, a.gamma != b.gamma, a.inner != b.inner]
}

/// The number of changes that lead away from our convention.
fn said(other: Convention, changed: [bool; 3]) -> usize {
    let away = self::changed(other, Convention::OURS);
    changed.iter().zip(away).filter(|(changed, away)| **changed && *away).count()
}

/// The conventions other than the declared one in which the array could be.
fn candidates(case: &Case<'_>, declared: Convention) -> impl Iterator<Item = Convention> {
    use SiteOrder::{EvenOdd, Gpt, Lexicographic, OddEven, Qdp};
    let axes = case.axes;
    let have_directions = axes.site.first().is_some_and(|axis| axis.name == "direction");
    let orders: &[SiteOrder] =
        if have_directions { &[Lexicographic, EvenOdd, OddEven, Qdp, Gpt] } else { &[Lexicographic, EvenOdd, OddEven] };
    let (inners, gammas) = match axes.are_spinors() {
        true => (Inner::ALL, GammaBasis::ALL),
        false => (&Inner::ALL[..1], &GammaBasis::ALL[..1]),
    };
    let all = orders.iter().flat_map(move |&order| {
        let of_order = inners.iter().flat_map(move |&inner| gammas.iter().map(move |&gamma| (inner, gamma)));
        of_order.map(move |(inner, gamma)| Convention {
            order: named(order, declared.order, have_directions),
            gamma,
            inner,
        })
    });
    all.filter(move |&other| other != declared)
}

/// The order under its declared name, if that means the same for such fields.
fn named(order: SiteOrder, declared: SiteOrder, have_directions: bool) -> SiteOrder {
    let class = |order: SiteOrder| {
        let parities = (order.has_parities(), order == SiteOrder::OddEven);
        (parities, have_directions && order.has_direction_slowest())
    };
    if class(order) == class(declared) { declared } else { order }
}

struct Side<'a> {
    name: &'static str,
    declared: Convention,
    numbers: &'a [f64],
    other: &'a [f64],
    places: Option<Places>,
}

impl<'a> Side<'a> {
    fn new(case: &Case<'a>, name: &'static str) -> Self {
        let (declared, numbers, other) = match name {
            "A" => (case.options.a, case.a, case.b),
            _ => (case.options.b, case.b, case.a),
        };
        Self { name, declared, numbers, other, places: places(case, declared) }
    }

    /// Whether the array equals the other one if it is read in this convention.
    fn fits(&self, case: &Case<'_>, convention: Convention) -> bool {
        let Convention { order, gamma, inner } = convention;
        let asked = match (order, inner) == (self.declared.order, self.declared.inner) {
            true => None,
            false => match (places(case, convention), &self.places) {
                (Some(asked), Some(read)) => Some((asked, read)),
                _ => return false,
            },
        };
        // The number in the file at the position at which this one is expected.
        let source = |number: usize| asked.as_ref().map_or(number, |(asked, read)| read.number(asked.place(number)));
        let count = self.numbers.len() / 2;
        let spinors_move = inner == self.declared.inner || gamma == GammaBasis::DegrandRossi;
        if !case.axes.are_spinors() || (gamma == self.declared.gamma && spinors_move) {
            let is_so = |number: usize| {
                let (found, expected) =
                    (Case::complex(self.numbers, source(number)), Case::complex(self.other, number));
                same(found[0], expected[0]) && same(found[1], expected[1])
            };
            return (0..count).all(is_so);
        }
        let complex = |array: &[f64], number: usize| {
            let [re, im] = Case::complex(array, number);
            Complex::new(re, im)
        };
        let (undo, matrix) = (self.declared.gamma.from_ours(), convention.gamma.to_ours());
        let roundings = if undo.is_exact() && matrix.is_exact() { 0.0 } else { 8.0 * case.unit() };
        // As in the file, before its basis was changed.
        let in_file = |number: usize| {
            let (spinor, spin, colour) = (number / 12, number / 3 % 4, number % 3);
            undo.times(std::array::from_fn(|k| complex(self.numbers, 12 * spinor + 3 * k + colour)))[spin]
        };
        (0..count / 12).all(|spinor| {
            (0..3).all(|colour| {
                let number = |k: usize| 12 * spinor + 3 * k + colour;
                let found = matrix.times(std::array::from_fn(|k| in_file(source(number(k)))));
                let largest = found.iter().fold(0.0, |largest, z| size(*z).max(largest));
                let near = |k: usize| size(found[k] - complex(self.other, number(k))) <= roundings * largest;
                largest.is_finite() && (0..4).all(near)
            })
        })
    }
}

/// The positions of the numbers in a convention; `None` if such arrays cannot be in it.
fn places(case: &Case<'_>, convention: Convention) -> Option<Places> {
    let convention = Convention { gamma: GammaBasis::DegrandRossi, ..convention };
    let layout = Layout::of_ours(&case.comparison.shape, case.axes.content, convention).ok()?;
    Some(layout.places())
}

fn cause(case: &Case<'_>, side: &Side<'_>, other: Convention) -> Cause {
    let Side { name, declared, .. } = *side;
    let option = |option: &str, value: &str| match name {
        "A" => format!("--a-{option} {value}"),
        _ => format!("--{option} {value}"),
    };
    let [order, gamma, inner] = changed(declared, other);
    let (mut claims, mut give, mut leave_out) = (Vec::new(), Vec::new(), Vec::new());
    let mut reshape = "";
    if order {
        let direction_slowest = other.order.has_direction_slowest() && case.axes.site[0].name == "direction";
        claims.push(match other.order {
            SiteOrder::Lexicographic => "is lexicographic".to_owned(),
            order if direction_slowest => format!("has its links in {order} order, the direction slowest"),
            SiteOrder::OddEven => "has its sites in odd-even order, the odd ones first".to_owned(),
            order => format!("has its sites in {order} order"),
        });
        match other.order {
            SiteOrder::Lexicographic => leave_out.push(option("order", declared.order.name())),
            order => give.push(option("order", order.name())),
        }
        reshape = match (direction_slowest, other.order.has_parities()) {
            (true, true) => "reshape it to (4, 2, T, Z, Y, X/2, 3, 3), and ",
            (true, false) => "reshape it to (4, T, Z, Y, X, 3, 3), and ",
            _ => "",
        };
    }
    if inner {
        match other.inner {
            Inner::SpinColour => {
                claims.push("has spin before colour".to_owned());
                leave_out.push(option("inner", declared.inner.name()));
            }
            Inner::ColourSpin => {
                claims.push("has colour before spin, number 4·colour + spin".to_owned());
                give.push(option("inner", other.inner.name()));
            }
        }
    }
    if gamma {
        claims.push(format!("is in the basis {} of the γ matrices", other.gamma));
        match other.gamma {
            GammaBasis::DegrandRossi => leave_out.push(option("gamma", declared.gamma.name())),
            basis => give.push(option("gamma", basis.name())),
        }
    }
    let give = if give.is_empty() { String::new() } else { format!("{reshape}read it with {}", give.join(" ")) };
    let leave_out = if leave_out.is_empty() { String::new() } else { format!("leave out {}", leave_out.join(" ")) };
    let and = if give.is_empty() || leave_out.is_empty() { "" } else { ", and " };
    let sentence = format!("{name} {}: {give}{and}{leave_out}", claims.join(", and "));
    let kind = match [order, gamma, inner] {
        [true, false, false] => "order",
        [false, true, false] => "basis",
        [false, false, true] => "inner",
        _ => "reading",
    };
    let numbers = grouped(case.a.len() as u64 / 2);
    let is_exact = other.gamma.to_ours().is_exact() && declared.gamma.to_ours().is_exact();
    let evidence = match (is_exact, gamma || other.gamma != GammaBasis::DegrandRossi) {
        (true, false) => format!("all {numbers} complex numbers are then the other array's, bit for bit"),
        (true, true) => format!("all {numbers} complex numbers are then the other array's, but for signs of zeros"),
        (false, _) => {
            format!("all {numbers} complex numbers are then the other array's, to 4 ulp of the largest of their spinor")
        }
    };
    Cause::new(kind, Confidence::Certain, sentence, evidence)
}
