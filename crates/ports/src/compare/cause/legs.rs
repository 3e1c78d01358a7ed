//! The difference of two hops of which one leg is wrong has the spin structure of that leg: rows 2 and 3 of (1 ± γ) times anything follow from rows 0
//! and 1 (`docs/arithmetic.md` §4). This needs neither the links nor the source.

use lanefield::reference::layout::{DIMENSION_NAMES, Leg};
use num_complex::Complex;

use super::super::count::crosses;
use super::super::text::grouped;
use super::{Case, Cause, Confidence};

/// A row of the table of §4: rows 2 and 3, each as a row of 0 and 1 and n, where it is iⁿ times that row.
type Rows = [(usize, u8); 2];

/// Of 1 + γ for x, y, z, t; then of 1 − γ.
const PROJECTORS: [Rows; 8] = [
    [(1, 3), (0, 3)],
    [(1, 0), (0, 2)],
    [(0, 3), (1, 1)],
    [(0, 0), (1, 0)],
    [(1, 1), (0, 1)],
    [(1, 2), (0, 0)],
    [(0, 1), (1, 3)],
    [(0, 2), (1, 2)],
];

/// "1 + γt"
fn name(projector: usize) -> String {
    format!("1 {} γ{}", if projector < 4 { '+' } else { '−' }, DIMENSION_NAMES[projector % 4])
}

/// The leg that has the projector in the hop: forward ones 1 − γ. In its dagger it is the opposite one.
fn leg(projector: usize) -> (Leg, Leg) {
    let (forward, backward) = (Leg::forward(projector % 4), Leg::backward(projector % 4));
    if projector < 4 { (backward, forward) } else { (forward, backward) }
}

fn times(power: u8, z: Complex<f64>) -> Complex<f64> {
    match power {
        0 => z,
        1 => Complex::new(-z.im, z.re),
        2 => -z,
        _ => Complex::new(z.im, -z.re),
    }
}

pub(super) fn causes(case: &Case<'_>) -> Vec<Cause> {
    let Some(extents) = case.extents().filter(|_| case.axes.are_spinors()) else { return Vec::new() };
    // The sites whose difference has the structure of each projector.
    let mut fitting: [Vec<usize>; 8] = Default::default();
    let mut spinors = 0;
    for &site in &case.sites {
        for s in 0..case.axes.ls {
            match projector(case, site, s) {
                Structure::None => return Vec::new(),
                Structure::Same => {}
                Structure::Of(projector) => {
                    fitting[projector].push(site);
                    spinors += 1;
                }
            }
        }
    }
    let found: Vec<usize> = (0..8).filter(|&projector| !fitting[projector].is_empty()).collect();
    if found.is_empty() || found.len() > 4 {
        return Vec::new();
    }
    let at_boundary = found.iter().all(|&projector| {
        let crossing =
            |leg: Leg| fitting[projector].iter().all(|&site| crosses(extents, extents.coordinate(site), leg));
        extents[projector % 4] > 2 && (crossing(leg(projector).0) || crossing(leg(projector).1))
    });
    let list =
        |of: &dyn Fn(usize) -> String| found.iter().map(|&projector| of(projector)).collect::<Vec<_>>().join(", ");
    let structure = list(&|projector| format!("{} at {}", name(projector), grouped(fitting[projector].len() as u64)));
    let legs = list(&|projector| leg(projector).0.to_string());
    let daggered = list(&|projector| leg(projector).1.to_string());
    let plural = if found.len() == 1 { "leg" } else { "legs" };
    let sentence = match at_boundary {
        true => format!(
            "{plural} {legs} of the hop ({daggered} of its dagger) are wrong where they cross the boundary: a boundary phase is missing, extra, or of the wrong sign"
        ),
        false => format!(
            "{plural} {legs} of the hop ({daggered} of its dagger) contribute wrongly, and nothing else does: sign, link, daggering of the link, or neighbour"
        ),
    };
    let sentence = if found.len() == 1 {
        sentence
            .replace(" are wrong", " is wrong")
            .replace("they cross", "it crosses")
            .replace("contribute wrongly", "contributes wrongly")
    } else {
        sentence
    };
    let evidence = format!(
        "A-B of all {} spinors that differ has the spin structure of one projector: {structure}",
        grouped(spinors)
    );
    // A handful of spinors is enough: each has twelve real equations.
    vec![Cause::new(if at_boundary { "boundary_phase" } else { "leg" }, Confidence::Certain, sentence, evidence)]
}

/// What structure a difference has.
enum Structure {
    /// There is none to speak of.
    Same,
    /// That of no projector.
    None,
    /// That of a projector.
    Of(usize),
}

/// Roundings of the largest number by which the rows may miss the structure, and by which a difference must exceed that.
const ROUNDINGS: f64 = 64.0;
const LEAST: f64 = 1e4;

fn projector(case: &Case<'_>, site: usize, s: usize) -> Structure {
    let first = case.axes.number(site, s, 0);
    let number = |array: &[f64], word: usize| {
        let [re, im] = Case::complex(array, first + word);
        Complex::new(re, im)
    };
    let largest = (0..12).flat_map(|word| [number(case.a, word), number(case.b, word)]);
    let largest = largest.fold(0.0f64, |largest, z| largest.max(z.re.abs()).max(z.im.abs()));
    let difference: [Complex<f64>; 12] = std::array::from_fn(|word| number(case.a, word) - number(case.b, word));
    if !largest.is_finite() || difference.iter().any(|z| !z.is_finite()) {
        return Structure::None;
    }
    let size = difference.iter().fold(0.0f64, |size, z| size.max(z.re.abs()).max(z.im.abs()));
    if size == 0.0 {
        return Structure::Same;
    }
    let rounding = ROUNDINGS * case.unit() * largest;
    if size < LEAST / ROUNDINGS * rounding {
        return Structure::None;
    }
    let fits = |rows: &Rows| {
        (0..2).all(|k| {
            let (row, power) = rows[k];
            (0..3).all(|colour| {
                let far = difference[3 * (k + 2) + colour] - times(power, difference[3 * row + colour]);
                far.re.abs().max(far.im.abs()) <= rounding
            })
        })
    };
    let mut fitting = (0..8).filter(|&projector| fits(&PROJECTORS[projector]));
    match (fitting.next(), fitting.next()) {
        (Some(projector), None) => Structure::Of(projector),
        _ => Structure::None,
    }
}
