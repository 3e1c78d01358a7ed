//! Causes that are found by transforming the numbers of each site of A: a sign, a conjugation, exchanged spins, colours, rows or directions,
//! transposed matrices. All bits must agree with B.

use super::case::Case;
use super::guess::{Cause, Confidence};
use crate::Content;
use crate::compare::axes::Axes;
use crate::compare::numbers::same;
use crate::compare::wording::{counted, grouped, plural};

pub(super) fn causes(case: &Case<'_>) -> Vec<Cause> {
    // One or two numbers may fit an exchange by chance, if they are zeros.
    if case.comparison.differing < 3 {
        return Vec::new();
    }
    let tests = [unit, transposed, exchanged];
    tests.iter().find_map(|test| test(case)).into_iter().collect()
}

/// A power of i, after conjugation or without: a swap and signs, without rounding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    power: u8,
    conjugated: bool,
}

impl Unit {
    const ONE: Self = Self { power: 0, conjugated: false };

    /// All of them, starting with 1.
    fn all() -> impl Iterator<Item = Self> {
        [false, true].into_iter().flat_map(|conjugated| (0..4).map(move |power| Self { power, conjugated }))
    }

    fn times(self, [re, im]: [f64; 2]) -> [f64; 2] {
        let im = if self.conjugated { -im } else { im };
        match self.power {
            0 => [re, im],
            1 => [-im, re],
            2 => [-re, -im],
            _ => [im, -re],
        }
    }

    /// The result for A's number `z`, as a product: "−z", "i conj(z)".
    fn of(self, z: &str) -> String {
        let z = if self.conjugated { format!("conj({z})") } else { z.to_owned() };
        format!("{}{z}", ["", "i·", "−", "−i·"][usize::from(self.power)])
    }
}

fn is(b: [f64; 2], expected: [f64; 2]) -> bool {
    same(b[0], expected[0]) && same(b[1], expected[1])
}

/// Whether B's number is `of` A's, at every site that differs, for every s and word.
fn fits(case: &Case<'_>, of: impl Fn(usize, usize, usize) -> [f64; 2]) -> bool {
    let words = case.axes.words();
    case.sites.iter().all(|&site| {
        (0..case.axes.ls).all(|s| {
            let first = case.axes.number(site, s, 0);
            (0..words).all(|word| is(Case::complex(case.b, first + word), of(site, s, word)))
        })
    })
}

/// Whether B's number is A's times a unit, wherever they differ.
fn unit(case: &Case<'_>) -> Option<Cause> {
    let mut numbers: Vec<usize> = case.differing().map(|place| place / 2).collect();
    numbers.dedup();
    let fits =
        |unit: &Unit| numbers.iter().all(|&k| is(Case::complex(case.b, k), unit.times(Case::complex(case.a, k))));
    let unit = Unit::all().skip(1).find(fits)?;
    let name = match unit {
        Unit { power: 2, conjugated: false } => "B is −A: a sign".to_owned(),
        Unit { power: 0, conjugated: true } if case.axes.content == Content::List => {
            "B is the complex conjugate of A: the sign of a momentum, e^{ipx} for e^{−ipx}".to_owned()
        }
        Unit { power: 0, conjugated: true } => "B is the complex conjugate of A".to_owned(),
        Unit { power: 1, conjugated: true } => "real and imaginary parts are exchanged".to_owned(),
        unit => format!("B is {}", unit.of("A")),
    };
    let sentence = format!("wherever they differ, {name}");
    let evidence = format!("{}, bit for bit", counted(numbers.len() as u64, "complex number"));
    Some(Cause::new("unit", Confidence::Certain, sentence, evidence))
}

/// Spins or colours, rows, directions or s are exchanged, each with a unit.
fn exchanged(case: &Case<'_>) -> Option<Cause> {
    let of_site = (0..case.axes.site.len()).find_map(|axis| exchange(case, axis));
    of_site.or_else(|| exchanged_s(case))
}

/// The largest number of indices for an axis to be tried.
const MOST: usize = 16;

fn exchange(case: &Case<'_>, axis: usize) -> Option<Cause> {
    let extent = case.axes.site[axis].extent;
    if !(2..=MOST).contains(&extent) {
        return None;
    }
    let (stride, words) = (case.axes.stride(axis), case.axes.words());
    // The relation of B's numbers with index `to` to A's with index `from`.
    let fits = |to: usize, from: usize, unit: Unit| {
        let words = || (0..words).filter(|word| word / stride % extent == to);
        case.sites.iter().all(|&site| {
            (0..case.axes.ls).all(|s| {
                let first = case.axes.number(site, s, 0);
                words().all(|word| {
                    let source = first + word + from * stride - to * stride;
                    is(Case::complex(case.b, first + word), unit.times(Case::complex(case.a, source)))
                })
            })
        })
    };
    let source = |to: usize| {
        let candidates = std::iter::once(to).chain((0..extent).filter(move |from| *from != to));
        candidates
            .flat_map(|from| Unit::all().map(move |unit| (from, unit)))
            .find(|(from, unit)| fits(to, *from, *unit))
    };
    let sources: Vec<(usize, Unit)> = (0..extent).map(source).collect::<Option<_>>()?;
    let changed = sources.iter().enumerate().filter(|(to, source)| **source != (*to, Unit::ONE));
    let name = case.axes.site[axis].name;
    let changes = changed.map(|(to, (from, unit))| {
        let from = unit.of(&format!("A's {}", Axes::label(name, *from)));
        format!("{} is {from}", Axes::label(name, to))
    });
    let changes = changes.collect::<Vec<_>>().join(", ");
    let signs_alone = sources.iter().enumerate().all(|(to, (from, _))| to == *from);
    let what = if signs_alone { "wrong sign or conjugation of a" } else { "exchanged" };
    let sentence = match signs_alone {
        true => format!("{}{what} {name}: B's {name} {changes}", case.where_they_differ()),
        false => format!("{}{} {what}: B's {name} {changes}", case.where_they_differ(), plural(name)),
    };
    Some(Cause::new("exchanged", Confidence::Certain, sentence, format!("{}, bit for bit", case.counted())))
}

/// The s of a five-dimensional fermion is reversed or shifted.
fn exchanged_s(case: &Case<'_>) -> Option<Cause> {
    let ls = case.axes.ls;
    if ls < 2 {
        return None;
    }
    let maps: [(&str, &dyn Fn(usize) -> usize); 3] = [
        ("in the opposite order, Ls − 1 − s", &|s| ls - 1 - s),
        ("shifted, A's s + 1", &|s| (s + 1) % ls),
        ("shifted, A's s − 1", &|s| (s + ls - 1) % ls),
    ];
    let fits = |map: &dyn Fn(usize) -> usize| {
        fits(case, |site, s, word| Case::complex(case.a, case.axes.number(site, map(s), word)))
    };
    let (name, _) = maps.into_iter().find(|(_, map)| fits(map))?;
    let sentence = format!("{}B has s {name}", case.where_they_differ());
    Some(Cause::new("s_order", Confidence::Certain, sentence, format!("{}, bit for bit", case.counted())))
}

/// Rows and columns are exchanged in all matrices that differ.
fn transposed(case: &Case<'_>) -> Option<Cause> {
    let [.., row, column] = &case.axes.site[..] else { return None };
    if row.name != "row" || row.extent != column.extent {
        return None;
    }
    let n = row.extent;
    let mut matrices: Vec<usize> = case.differing().map(|place| place / 2 / (n * n)).collect();
    matrices.dedup();
    let fits = |unit: &Unit| {
        matrices.iter().all(|matrix| {
            let number = |word: usize| matrix * n * n + word;
            (0..n * n).all(|word| {
                let source = number(word % n * n + word / n);
                is(Case::complex(case.b, number(word)), unit.times(Case::complex(case.a, source)))
            })
        })
    };
    let unit = Unit::all().find(fits)?;
    let name = match unit {
        Unit { power: 0, conjugated: true } => "B has U† where A has U".to_owned(),
        Unit { power: 0, .. } => "B has the transpose of A's matrices: rows and columns exchanged".to_owned(),
        unit => format!("B has {} of the transpose of A's matrices", unit.of("1")),
    };
    let all = case.axes.sites() * case.axes.words() / (n * n);
    let which = match matrices.len() {
        // The position of the matrix.
        1 => format!("one matrix differs, that of {}: there ", matrix_of(case, matrices[0])),
        some if some < all => "in the matrices that differ, ".to_owned(),
        _ => String::new(),
    };
    let evidence = format!("{} of {} matrices, bit for bit", grouped(matrices.len() as u64), grouped(all as u64));
    Some(Cause::new("transposed", Confidence::Certain, format!("{which}{name}"), evidence))
}

/// "x,y,z,t = 1,2,3,0, direction t"
fn matrix_of(case: &Case<'_>, matrix: usize) -> String {
    let of_site = &case.axes.site[..case.axes.site.len() - 2];
    let a_site: usize = of_site.iter().map(|axis| axis.extent).product();
    let (site, mut rest) = (matrix / a_site % case.axes.sites(), matrix % a_site);
    let mut words = Vec::new();
    for axis in of_site.iter().rev() {
        words.insert(0, format!("{} {}", axis.name, Axes::label(axis.name, rest % axis.extent)));
        rest /= axis.extent;
    }
    if let Some(extents) = case.extents() {
        let [x, y, z, t] = extents.coordinate(site);
        words.insert(0, format!("x,y,z,t = {x},{y},{z},{t}"));
    }
    words.join(", ")
}
