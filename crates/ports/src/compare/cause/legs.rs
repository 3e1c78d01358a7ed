//! If one leg is wrong, the difference of two hops has the spin structure of that leg: rows 2 and 3 of (1 ± γ) times a spinor follow from rows 0
//! and 1 (`docs/arithmetic.md` §4). This needs neither the links nor the source.

use lanefield::reference::layout::{DIMENSION_NAMES, Extents, Leg};
use num_complex::Complex;

use super::case::Case;
use super::guess::{Cause, Confidence};
use crate::compare::count::crosses;
use crate::compare::wording::grouped;
use crate::projection::{distance, size};

fn name(projector: usize) -> String {
    format!("1 {} γ{}", if projector < 4 { '+' } else { '−' }, DIMENSION_NAMES[projector % 4])
}

/// The leg with this projector in the hop (forward legs have 1 − γ), and the leg in its Hermitian conjugate, which is the opposite one.
fn leg(projector: usize) -> (Leg, Leg) {
    let (forward, backward) = (Leg::forward(projector % 4), Leg::backward(projector % 4));
    if projector < 4 { (backward, forward) } else { (forward, backward) }
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
    fitting.iter_mut().for_each(|sites| sites.dedup());
    let found: Vec<usize> = (0..8).filter(|&projector| !fitting[projector].is_empty()).collect();
    if found.is_empty() || found.len() > 4 {
        return Vec::new();
    }
    let list =
        |of: &dyn Fn(usize) -> String| found.iter().map(|&projector| of(projector)).collect::<Vec<_>>().join(", ");
    let structure = list(&|projector| format!("{} at {}", name(projector), grouped(fitting[projector].len() as u64)));
    let which = match spinors {
        1 => "the spinor that differs".to_owned(),
        several => format!("all {} spinors that differ", grouped(several)),
    };
    let evidence = format!("A-B of {which} has the spin structure of one projector: {structure}");
    if let Some(sentence) = links(extents, &fitting) {
        return vec![Cause::new("link", Confidence::Certain, sentence, evidence)];
    }
    let at_boundary = found.iter().all(|&projector| {
        let sites = &fitting[projector];
        let crossing = |leg: Leg| sites.iter().all(|&site| crosses(extents, extents.coordinate(site), leg));
        let slice = extents.volume() / extents[projector % 4];
        // A few sites are there by chance.
        let are_many = 2 * sites.len() >= slice;
        extents[projector % 4] > 2 && are_many && (crossing(leg(projector).0) || crossing(leg(projector).1))
    });
    let legs = list(&|projector| leg(projector).0.to_string());
    let daggered = list(&|projector| leg(projector).1.to_string());
    let (plural, are, contribute, cross) = match found.len() {
        1 => ("leg", "is", "contributes", "it crosses"),
        _ => ("legs", "are", "contribute", "they cross"),
    };
    let legs = format!("{plural} {legs} of the hop ({daggered} of its dagger)");
    let sentence = match at_boundary {
        true => format!(
            "{legs} {are} wrong where {cross} the boundary: a boundary phase is missing, extra, or of the wrong sign"
        ),
        false => format!(
            "{legs} {contribute} wrongly{}, and nothing else does: sign, link, daggering of the link, or neighbour",
            at_few_sites(case, extents)
        ),
    };
    // A few spinors are enough: each has twelve real equations.
    vec![Cause::new(if at_boundary { "boundary_phase" } else { "leg" }, Confidence::Certain, sentence, evidence)]
}

/// The largest number of sites that are named one by one.
const FEW: usize = 4;

fn coordinates(extents: Extents, site: usize) -> String {
    let [x, y, z, t] = extents.coordinate(site);
    format!("{x},{y},{z},{t}")
}

/// " at x,y,z,t = 1,2,3,0 and 1,2,3,1"
fn at_few_sites(case: &Case<'_>, extents: Extents) -> String {
    let sites: Vec<String> = case.sites.iter().take(FEW + 1).map(|&site| coordinates(extents, site)).collect();
    if sites.len() > FEW { String::new() } else { format!(" at x,y,z,t = {}", sites.join(" and ")) }
}

/// Single links that differ in B: each shows in the forward leg of its site, and in the backward leg of the site to which it leads.
fn links(extents: Extents, fitting: &[Vec<usize>; 8]) -> Option<String> {
    let total: usize = fitting.iter().map(Vec::len).sum();
    if total == 0 || total > 2 * FEW {
        return None;
    }
    // Forward legs have 1 − γ, and 1 + γ in the Hermitian conjugate.
    let of = |dagger: bool| -> Option<Vec<String>> {
        let mut links = Vec::new();
        for (d, direction) in DIMENSION_NAMES.iter().enumerate() {
            let (forward, backward) = if dagger { (d, d + 4) } else { (d + 4, d) };
            let leads_to = |site: usize| extents.site(extents.neighbour(extents.coordinate(site), Leg::forward(d)));
            let there = |site: &usize| fitting[backward].contains(&leads_to(*site));
            if fitting[forward].len() != fitting[backward].len() || !fitting[forward].iter().all(there) {
                return None;
            }
            let name = |site: &usize| format!("U_{direction}({})", coordinates(extents, *site));
            links.extend(fitting[forward].iter().map(name));
        }
        Some(links)
    };
    let links = of(false).or_else(|| of(true))?;
    let sentence = match &links[..] {
        [link] => format!("only the link {link} is different in B"),
        links => format!("only the links {} are different in B", links.join(", ")),
    };
    Some(format!("{sentence}: the legs forward from x,y,z,t and back to it are wrong"))
}

enum Structure {
    Same,
    None,
    Of(usize),
}

/// Number of roundings of the largest number within which rows fit the structure, and which a difference must exceed.
const ROUNDINGS: f64 = 64.0;
const LEAST: f64 = 1e4;

fn projector(case: &Case<'_>, site: usize, s: usize) -> Structure {
    let first = case.axes.number(site, s, 0);
    let number = |array: &[f64], word: usize| {
        let [re, im] = Case::complex(array, first + word);
        Complex::new(re, im)
    };
    let largest = (0..12).flat_map(|word| [number(case.a, word), number(case.b, word)]);
    let largest = largest.fold(0.0f64, |largest, z| largest.max(size(z)));
    let difference: [Complex<f64>; 12] = std::array::from_fn(|word| number(case.a, word) - number(case.b, word));
    if !largest.is_finite() || difference.iter().any(|z| !z.is_finite()) {
        return Structure::None;
    }
    let most = difference.iter().fold(0.0f64, |most, z| most.max(size(*z)));
    if most == 0.0 {
        return Structure::Same;
    }
    let rounding = ROUNDINGS * case.unit() * largest;
    if most < LEAST / ROUNDINGS * rounding {
        return Structure::None;
    }
    let fits = |projector: usize| distance(&difference, projector % 4, projector >= 4) <= rounding;
    let mut fitting = (0..8).filter(|&projector| fits(projector));
    match (fitting.next(), fitting.next()) {
        (Some(projector), None) => Structure::Of(projector),
        _ => Structure::None,
    }
}
