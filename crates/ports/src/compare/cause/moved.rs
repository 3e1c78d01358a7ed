//! Causes that are found by trying whether B's sites are other sites of A: shifted, in another order, or in another lane of a vector. All bits must
//! agree.

use lanefield::reference::layout::{DIMENSION_NAMES, Extents, Leg, Place, Sites};

use super::case::Case;
use super::guess::{Cause, Confidence};
use super::places::lane_cuts;
use crate::compare::numbers::same;
use crate::compare::wording::counted;

pub(super) fn causes(case: &Case<'_>) -> Vec<Cause> {
    let Some(extents) = case.extents().filter(|extents| extents.volume() > 1) else { return Vec::new() };
    let tests = [copied, shifted, reflected, axes, lanes];
    tests.iter().find_map(|test| test(case, extents)).into_iter().collect()
}

/// Whether B has, at every site that differs, the numbers of A at the site `source`.
fn fits(case: &Case<'_>, source: impl Fn(usize) -> usize) -> bool {
    let reals = case.axes.words() * case.parts;
    case.sites.iter().all(|&site| {
        (0..case.axes.ls).all(|s| {
            let (b, a) = (case.axes.number(site, s, 0) * case.parts, case.axes.number(source(site), s, 0) * case.parts);
            (0..reals).all(|k| same(case.b[b + k], case.a[a + k]))
        })
    })
}

fn found(case: &Case<'_>, kind: &'static str, sentence: String) -> Option<Cause> {
    // A few numbers may agree by chance if they are zero.
    let confidence = if case.comparison.differing >= 8 { Confidence::Certain } else { Confidence::Possible };
    Some(Cause::new(kind, confidence, sentence, format!("{}, bit for bit", case.counted())))
}

/// One or two sites have the numbers of other sites.
fn copied(case: &Case<'_>, extents: Extents) -> Option<Cause> {
    // Fewer numbers may be those of another site by chance.
    if case.comparison.differing < 8 {
        return None;
    }
    let name = |site: usize| {
        let [x, y, z, t] = extents.coordinate(site);
        format!("x,y,z,t = {x},{y},{z},{t}")
    };
    match case.sites[..] {
        [site] => {
            let source = (0..extents.volume()).find(|&source| source != site && fits(case, |_| source))?;
            let sentence = format!(
                "B has at {} A's numbers of {}: a site was written to the place of another",
                name(site),
                name(source)
            );
            found(case, "copied", sentence)
        }
        [first, second] if fits(case, |site| if site == first { second } else { first }) => {
            found(case, "exchanged_sites", format!("two sites are exchanged, {} and {}", name(first), name(second)))
        }
        _ => None,
    }
}

/// All sites are shifted by the same distance.
fn shifted(case: &Case<'_>, extents: Extents) -> Option<Cause> {
    let [first, _, _, ..] = case.sites[..] else { return None };
    let lengths = extents.as_array();
    let here = extents.coordinate(first);
    let at = |case: &Case<'_>, source: usize| {
        let reals = case.axes.words() * case.parts;
        let place = |site: usize| case.axes.number(site, 0, 0) * case.parts;
        (0..reals).all(|k| same(case.b[place(first) + k], case.a[place(source) + k]))
    };
    let steps = (0..extents.volume()).filter(|&source| source != first && at(case, source)).map(|source| {
        let there = extents.coordinate(source);
        std::array::from_fn(|d| (there[d] + lengths[d] - here[d]) % lengths[d])
    });
    let moved = |site: usize, step: [usize; 4]| {
        let x = extents.coordinate(site);
        extents.site(std::array::from_fn(|d| (x[d] + step[d]) % lengths[d]))
    };
    let step: [usize; 4] = steps.into_iter().find(|&step| fits(case, |site| moved(site, step)))?;
    // The shorter way round.
    let ways: Vec<(usize, Leg)> = (0..4)
        .filter(|&d| step[d] > 0)
        .map(|d| match 2 * step[d] <= lengths[d] {
            true => (step[d], Leg::forward(d)),
            false => (lengths[d] - step[d], Leg::backward(d)),
        })
        .collect();
    let sentence = match ways[..] {
        [(1, leg)] => format!("B(x) is A of the neighbour {leg}: the field is shifted by one site"),
        _ => {
            let words: Vec<String> =
                ways.iter().map(|(steps, leg)| format!("{} {leg}", counted(*steps as u64, "step"))).collect();
            format!("B(x) is A of the site {} away: the field is shifted", words.join(", "))
        }
    };
    found(case, "shifted", format!("{}{sentence}", case.where_they_differ()))
}

/// The sites are in the opposite order in one direction.
fn reflected(case: &Case<'_>, extents: Extents) -> Option<Cause> {
    for d in (0..4).filter(|&d| extents[d] > 2) {
        let reflected = |site: usize, sum: usize| {
            let mut x = extents.coordinate(site);
            x[d] = (sum + extents[d] - x[d]) % extents[d];
            extents.site(x)
        };
        let name = DIMENSION_NAMES[d];
        for (sum, what) in [(extents[d] - 1, format!("L − 1 − {name}")), (0, format!("−{name}"))] {
            if fits(case, |site| reflected(site, sum)) {
                let sentence = format!(
                    "{}B has A's sites in the opposite order in {name}: its {name} is A's {what}",
                    case.where_they_differ()
                );
                return found(case, "reflected", sentence);
            }
        }
    }
    None
}

fn inverse(places: &[usize]) -> Vec<usize> {
    let mut sites = vec![0; places.len()];
    places.iter().enumerate().for_each(|(site, &place)| sites[place] = site);
    sites
}

/// The sites in memory have another axis fastest.
fn axes(case: &Case<'_>, extents: Extents) -> Option<Cause> {
    let orders = (0..4).flat_map(|a| (0..4).flat_map(move |b| (0..4).map(move |c| [a, b, c])));
    let orders = orders.filter(|[a, b, c]| a != b && b != c && a != c).map(|[a, b, c]| [a, b, c, 6 - a - b - c]);
    for order in orders.filter(|order| *order != [0, 1, 2, 3]) {
        let coordinate = |mut place: usize| {
            let mut x = [0; 4];
            for d in order {
                x[d] = place % extents[d];
                place /= extents[d];
            }
            x
        };
        let sources: Vec<usize> = (0..extents.volume()).map(|place| extents.site(coordinate(place))).collect();
        for (name, source) in [("B", &sources), ("A", &inverse(&sources))] {
            if fits(case, |site| source[site]) {
                let names = order.map(|d| DIMENSION_NAMES[d]);
                let sentence = format!(
                    "{name} has its sites with {} fastest, then {}, {}, {}: transpose its axes",
                    names[0], names[1], names[2], names[3]
                );
                return found(case, "axes", sentence);
            }
        }
    }
    None
}

/// The sites in memory are vector by vector, or have the lanes of vectors exchanged.
fn lanes(case: &Case<'_>, extents: Extents) -> Option<Cause> {
    for lattice in lane_cuts(extents) {
        let (nsimd, nodes) = (lattice.nsimd(), lattice.nodes());
        let place = |site: usize| lattice.place(Sites::Full, extents.coordinate(site));
        let site = |osite: usize, lane: usize| extents.site(lattice.coordinate(Sites::Full, Place { osite, lane }));
        let places: Vec<usize> = (0..extents.volume())
            .map(|site| {
                let Place { osite, lane } = place(site);
                osite * nsimd + lane
            })
            .collect();
        for (name, source) in [("B", &inverse(&places)), ("A", &places)] {
            if fits(case, |site| source[site]) {
                let sentence = format!(
                    "{name} has its sites vector by vector, {nsimd} lanes each that cut the lattice into {nodes}: it was written as it lies in memory"
                );
                return found(case, "lane_order", sentence);
            }
        }
        let masks = (0..nsimd.ilog2()).map(|bit| 1usize << bit);
        let exchanged = masks.map(|mask| {
            let source: Box<dyn Fn(usize) -> usize> = Box::new(move |lane| lane ^ mask);
            (format!("lanes exchanged, lane XOR {mask}"), source)
        });
        let rotated = [1, nsimd - 1].into_iter().map(|by| {
            let source: Box<dyn Fn(usize) -> usize> = Box::new(move |lane| (lane + by) % nsimd);
            (format!("lanes shifted by {}", if by == 1 { "one up" } else { "one down" }), source)
        });
        for (what, source) in rotated.chain(exchanged) {
            let source = |x: usize| {
                let Place { osite, lane } = place(x);
                site(osite, source(lane))
            };
            if fits(case, source) {
                let sentence = format!(
                    "{}B has A's numbers of another lane: {what}, of vectors with {nsimd} lanes that cut the lattice into {nodes}",
                    case.where_they_differ()
                );
                return found(case, "lanes", sentence);
            }
        }
    }
    None
}
