//! Causes that show in the places of the differences: one site, one slice, one parity, next to a boundary, one lane, some spins or directions.

use std::collections::BTreeSet;

use lanefield::prelude::*;
use lanefield::reference::layout::{Checkerboard, DIMENSION_NAMES, LaneWidth, Leg, Place};

use super::case::Case;
use super::guess::{Cause, Confidence};
use crate::compare::count::crosses;
use crate::compare::histogram::Histogram;
use crate::compare::wording::{grouped, percent};

pub(super) fn causes(case: &Case<'_>) -> Vec<Cause> {
    let mut causes = Vec::new();
    if let Some(extents) = case.extents() {
        // The places of one or two sites are chance.
        causes.extend(match case.sites.len() {
            0..3 => one_site(case, extents),
            _ => [boundary, parity, slice, lane].iter().find_map(|test| test(case, extents)),
        });
    }
    causes.extend(words(case));
    causes
}

fn confidence(differing: usize, of: usize) -> Confidence {
    if 2 * differing >= of { Confidence::Likely } else { Confidence::Possible }
}

fn one_site(case: &Case<'_>, extents: Extents) -> Option<Cause> {
    let [site] = case.sites[..] else { return None };
    if extents.volume() == 1 || case.comparison.differing == 1 {
        return None;
    }
    let [x, y, z, t] = extents.coordinate(site);
    let sentence = format!(
        "only one site differs, x,y,z,t = {x},{y},{z},{t}: damaged memory, a race between threads, or a loop that ends one site early or late"
    );
    Some(Cause::new("one_site", Confidence::Likely, sentence, case.counted()))
}

/// All sites that differ are next to a boundary, where the steps along one leg, or along both legs of a direction, cross it.
fn boundary(case: &Case<'_>, extents: Extents) -> Option<Cause> {
    let set = |legs: &[Leg]| -> BTreeSet<usize> {
        let crosses = |site: &usize| legs.iter().any(|leg| crosses(extents, extents.coordinate(*site), *leg));
        (0..extents.volume()).filter(crosses).collect()
    };
    let single = Leg::all().map(|leg| vec![leg]);
    let both = (0..4).map(|d| vec![Leg::forward(d), Leg::backward(d)]);
    let mut best: Option<(f64, Vec<Leg>, usize)> = None;
    for legs in single.chain(both) {
        let of = set(&legs);
        // A boundary that every site touches explains nothing.
        if of.len() == extents.volume() || !case.sites.iter().all(|site| of.contains(site)) {
            continue;
        }
        let share = case.sites.len() as f64 / of.len() as f64;
        if best.as_ref().is_none_or(|(most, _, _)| share > *most) {
            best = Some((share, legs, of.len()));
        }
    }
    let (_, legs, of) = best?;
    let d = legs[0].dimension();
    let name = DIMENSION_NAMES[d];
    let (which, slices, what) = match legs[..] {
        [leg] => {
            let slice = if leg.is_forward() { extents[d] - 1 } else { 0 };
            (
                format!("{leg}"),
                format!("{name} = {slice}"),
                format!("sign or phase of leg {leg} at the boundary, or a neighbour that does not wrap around"),
            )
        }
        _ => (
            format!("+{name} or -{name}"),
            format!("{name} = 0 and {}", extents[d] - 1),
            format!("the boundary phase in {name}, or neighbours that do not wrap around"),
        ),
    };
    let differing = case.sites.len();
    let sentence = format!("only sites whose {which} neighbour lies across the boundary differ ({slices}): {what}");
    let evidence = format!("{} of these {} sites, and no other", grouped(differing as u64), grouped(of as u64));
    Some(Cause::new("boundary", confidence(differing, of), sentence, evidence))
}

fn parity(case: &Case<'_>, extents: Extents) -> Option<Cause> {
    let parity = |site: usize| Parity::of(extents.coordinate(site));
    let first = parity(*case.sites.first()?);
    if extents.volume() < 4 || !case.sites.iter().all(|&site| parity(site) == first) {
        return None;
    }
    let of = (0..extents.volume()).filter(|&site| parity(site) == first).count();
    let differing = case.sites.len();
    let sentence = format!(
        "only {first} sites differ: the kernel for that parity, its links or its neighbours, or a field that takes it from elsewhere"
    );
    let evidence =
        format!("{} of {} {first} sites, no {} one", grouped(differing as u64), grouped(of as u64), first.other());
    // A few sites of one parity may be chance.
    let confidence = if differing >= 8 { confidence(differing, of) } else { Confidence::Possible };
    Some(Cause::new("parity", confidence, sentence, evidence))
}

/// All sites that differ have one coordinate in common.
fn slice(case: &Case<'_>, extents: Extents) -> Option<Cause> {
    let common = |d: usize| {
        let slice = extents.coordinate(case.sites[0])[d];
        let all = case.sites.iter().all(|&site| extents.coordinate(site)[d] == slice);
        (extents[d] > 1 && all).then_some((d, slice))
    };
    // The slice with the largest share of differences.
    let (d, slice) = (0..4).filter_map(common).min_by_key(|(d, _)| extents.volume() / extents[*d])?;
    let (differing, of) = (case.sites.len(), extents.volume() / extents[d]);
    let sentence = format!("only sites with {} = {slice} differ", DIMENSION_NAMES[d]);
    let evidence = format!("{} of its {} sites", grouped(differing as u64), grouped(of as u64));
    Some(Cause::new("slice", confidence(differing, of), sentence, evidence))
}

/// The lattices of vectors with 2 to 32 lanes, with the library's lane layouts.
pub(super) fn lane_cuts(extents: Extents) -> impl Iterator<Item = Lattice> {
    let widths = LaneWidth::ALL.into_iter();
    let boards = [Checkerboard::RedBlack, Checkerboard::FullOnly];
    let lattices = widths.flat_map(move |width| {
        boards.map(|checkerboard| {
            let options = LatticeOptions { lanes: LaneChoice::Width(width), nodes: None, checkerboard };
            Lattice::new(extents, Scalar::ComplexF, options).ok()
        })
    });
    let mut seen = Vec::new();
    lattices.flatten().filter(move |lattice| {
        let is_new = lattice.nsimd() > 1 && !seen.contains(&lattice.nodes());
        seen.push(lattice.nodes());
        is_new
    })
}

/// All sites that differ are in one lane of vectors, or in few.
fn lane(case: &Case<'_>, extents: Extents) -> Option<Cause> {
    let mut best: Option<(f64, Lattice, Vec<usize>, usize)> = None;
    for lattice in lane_cuts(extents) {
        let lane = |site: usize| {
            let Place { lane, .. } = lattice.place(Sites::Full, extents.coordinate(site));
            lane
        };
        let lanes: BTreeSet<usize> = case.sites.iter().map(|&site| lane(site)).collect();
        let of = lanes.len() * (extents.volume() / lattice.nsimd());
        // A lane with one site is that site.
        if 2 * lanes.len() > lattice.nsimd() || extents.volume() < 2 * lattice.nsimd() {
            continue;
        }
        let share = case.sites.len() as f64 / of as f64;
        if best.as_ref().is_none_or(|(most, _, _, _)| share > *most) {
            best = Some((share, lattice, lanes.into_iter().collect(), of));
        }
    }
    let (share, lattice, lanes, of) = best?;
    // One lane of wide vectors has few sites, which may be in one by chance.
    if case.sites.len() < 4 || share < 0.25 {
        return None;
    }
    let (nsimd, nodes) = (lattice.nsimd(), lattice.nodes());
    let list = lanes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let list = if lanes.len() == 1 { format!("lane {list}") } else { format!("lanes {list}") };
    let sentence = format!(
        "only {list} of {nsimd} differ (vectors that cut the lattice into {nodes}): a shuffle, a mask or the end of a vector"
    );
    let evidence =
        format!("{} of the {} sites of {list}, and no other", grouped(case.sites.len() as u64), grouped(of as u64));
    let confidence = if share > 0.9 { Confidence::Likely } else { Confidence::Possible };
    Some(Cause::new("lane", confidence, sentence, evidence))
}

/// Only some spins, colours, directions or s, or only real or imaginary parts, differ.
fn words(case: &Case<'_>) -> Vec<Cause> {
    let of_site = |histogram: &&Histogram| {
        histogram.by == "part" || histogram.by == "s" || case.axes.site.iter().any(|axis| axis.name == histogram.by)
    };
    // Few numbers are in few places.
    if case.comparison.differing < 8 {
        return Vec::new();
    }
    let mut causes = Vec::new();
    for histogram in case.comparison.histograms.iter().filter(of_site) {
        let some: Vec<_> = histogram.bins.iter().filter(|bin| bin.differing > 0).collect();
        if some.len() == histogram.bins.len() || some.len() > 4 {
            continue;
        }
        let places = some.iter().map(|bin| bin.at.as_str()).collect::<Vec<_>>().join(", ");
        let name = match (histogram.by, places.as_str()) {
            ("part", "im") => "imaginary parts".to_owned(),
            ("part", _) => "real parts".to_owned(),
            ("s", places) => format!("numbers with s = {places}"),
            (by, places) => format!("numbers of {by} {places}"),
        };
        let what = match (histogram.by, places.as_str()) {
            ("spin", "2, 3") => ": the reconstruction of rows 2 and 3 from the products (docs/arithmetic.md §4)",
            ("row", "2") => ": the third row, which is rebuilt from the other two (docs/arithmetic.md §5)",
            _ => "",
        };
        let (differing, of) = some.iter().fold((0, 0), |(differing, of), bin| (differing + bin.differing, of + bin.of));
        let evidence = format!(
            "{} of {} numbers there ({}), none elsewhere",
            grouped(differing),
            grouped(of),
            percent(differing, of)
        );
        causes.push(Cause::new("words", Confidence::Likely, format!("only {name} differ{what}"), evidence));
    }
    causes
}
