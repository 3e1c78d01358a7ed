//! Counts how many numbers differ, by how much, and where.

use lanefield::reference::layout::{DIMENSION_NAMES, Leg, Parity};

use super::axes::Axes;
use super::comparison::{AxisIndex, Comparison, Difference};
use super::histogram::{Bin, Histogram, SiteMap};
use super::numbers::{Kind, Numbers, hex, same, ulps_between};

/// Axes with more indices have no histogram.
const MOST_BINS: usize = 1024;

/// Ranges of distances in ulp: the largest distance of each, and its name. Ranges within rounding are narrow; larger distances indicate errors.
const ULP_BINS: [(u64, &str); 9] = [
    (1, "1"),
    (2, "2"),
    (4, "3-4"),
    (8, "5-8"),
    (16, "9-16"),
    (1 << 10, "17-2^10"),
    (1 << 20, "2^10-2^20"),
    (1 << 30, "2^20-2^30"),
    (u64::MAX, "above 2^30"),
];

#[derive(Default)]
struct Largest(Option<(f64, usize)>);

impl Largest {
    fn see(&mut self, size: f64, place: usize) {
        if self.0.is_none_or(|(largest, _)| size > largest) {
            self.0 = Some((size, place));
        }
    }
}

/// Compares and counts; causes are left empty.
pub(super) fn count(a: &Numbers, b: &Numbers, axes: &Axes, ulps: u64) -> Comparison {
    let (kind, parts) = (a.kind, a.parts);
    let (sites, words) = (axes.sites(), axes.words());
    let scale = root_mean_square(&a.values);
    let mut map =
        SiteMap { a_site: (axes.ls * words * parts) as u64, differing: vec![0; sites], relative: vec![0.0; sites] };
    let mut by_s = vec![0u64; axes.ls];
    let mut by_word = vec![0u64; words * parts];
    // The last one is for distances that involve a NaN.
    let mut by_ulp = [0u64; ULP_BINS.len() + 1];
    let (mut accepted, mut first) = (0, None);
    let (mut largest_ulp, mut largest_absolute, mut largest_relative) =
        (Largest::default(), Largest::default(), Largest::default());
    let (mut norm_of_difference, mut norm) = (0.0, 0.0);

    for site in 0..sites {
        for (s, in_s) in by_s.iter_mut().enumerate() {
            let start = axes.number(site, s, 0) * parts;
            for (k, in_word) in by_word.iter_mut().enumerate() {
                let place = start + k;
                let (x, y) = (a.values[place], b.values[place]);
                if x.is_finite() && y.is_finite() {
                    norm += (x / scale) * (x / scale);
                    norm_of_difference += ((x - y) / scale) * ((x - y) / scale);
                }
                if same(x, y) {
                    continue;
                }
                let distance = ulps_between(x, y, kind);
                if distance.is_some_and(|distance| distance <= ulps) {
                    accepted += 1;
                    continue;
                }
                first.get_or_insert(place);
                *in_s += 1;
                *in_word += 1;
                map.differing[site] += 1;
                by_ulp[ulp_bin(distance)] += 1;
                largest_ulp.see(distance.map_or(f64::INFINITY, |distance| distance as f64), place);
                let (absolute, relative) = sizes(x, y);
                largest_absolute.see(absolute, place);
                largest_relative.see(relative, place);
                map.relative[site] = map.relative[site].max(absolute / scale);
            }
        }
    }

    let differing = by_s.iter().sum();
    let describe = |place: usize| difference(a, b, axes, place);
    let largest = |Largest(found): Largest| found.map(|(_, place)| describe(place));
    let mut histograms = of_words(axes, parts, &by_word, (axes.ls * sites) as u64);
    if axes.is_five_dimensional() {
        let of = (sites * words * parts) as u64;
        histograms.push(Histogram { by: "s", bins: indexed(&by_s, of) });
    }
    if axes.extents.is_some() {
        histograms.extend(of_sites(axes, &map));
    }
    if kind != Kind::Whole {
        histograms.push(of_ulps(&by_ulp, differing));
    }
    Comparison {
        shape: a.shape.clone(),
        object: axes.content.object(),
        holds: axes.content,
        lattice: axes.extents.map(|extents| extents.as_array()),
        ls: axes.is_five_dimensional().then_some(axes.ls),
        precision: kind.name(),
        rounded: None,
        ulps,
        numbers: a.values.len() as u64,
        differing,
        accepted,
        sites: sites as u64,
        differing_sites: map.differing.iter().filter(|&&count| count > 0).count() as u64,
        first: first.map(describe),
        largest_ulp: largest(largest_ulp),
        largest_absolute: largest(largest_absolute),
        largest_relative: largest(largest_relative),
        relative_norm: if norm > 0.0 { (norm_of_difference / norm).sqrt() } else { 0.0 },
        histograms,
        notes: Vec::new(),
        causes: Vec::new(),
        hop: None,
        map,
    }
}

/// The root mean square of the finite numbers, without overflow; 1 if it would be zero.
pub(super) fn root_mean_square(values: &[f64]) -> f64 {
    let finite = || values.iter().copied().filter(|x| x.is_finite());
    let largest = finite().fold(0.0f64, |largest, x| largest.max(x.abs()));
    if largest == 0.0 {
        return 1.0;
    }
    let (count, sum) = finite().fold((0usize, 0.0), |(count, sum), x| (count + 1, sum + (x / largest) * (x / largest)));
    // If the largest is subnormal, quotients by the root would be infinite.
    (largest * (sum / count as f64).sqrt()).max(f64::MIN_POSITIVE)
}

/// |a − b|, and the same divided by the larger of the two; infinite if one is not finite.
fn sizes(a: f64, b: f64) -> (f64, f64) {
    let (absolute, larger) = ((a - b).abs(), a.abs().max(b.abs()));
    match absolute.is_finite() && a.is_finite() && b.is_finite() {
        true => (absolute, if larger > 0.0 { absolute / larger } else { 0.0 }),
        false if a.is_finite() && b.is_finite() => (f64::INFINITY, (a / larger - b / larger).abs()),
        false => (f64::INFINITY, f64::INFINITY),
    }
}

/// The number at position `place` among the real numbers of both arrays.
fn difference(a: &Numbers, b: &Numbers, axes: &Axes, place: usize) -> Difference {
    let (number, part) = (place / a.parts, place % a.parts);
    let (words, sites) = (axes.words(), axes.sites());
    let (site, word) = (number / words, number % words);
    let (s, site) = (site / sites, site % sites);
    let s = axes.is_five_dimensional().then_some(AxisIndex { axis: "s", index: s });
    let of_site = axes.site.iter().zip(axes.indices(word)).map(|(axis, index)| AxisIndex { axis: axis.name, index });
    let (x, y) = (a.values[place], b.values[place]);
    let (absolute, relative) = sizes(x, y);
    Difference {
        site: axes.extents.map(|extents| extents.coordinate(site)),
        at: s.into_iter().chain(of_site).collect(),
        part: (a.parts == 2).then_some(["re", "im"][part]),
        a: x,
        a_bits: hex(x, a.kind),
        b: y,
        b_bits: hex(y, a.kind),
        ulp: ulps_between(x, y, a.kind),
        absolute,
        relative,
        is_whole: a.kind == Kind::Whole,
    }
}

fn ulp_bin(distance: Option<u64>) -> usize {
    distance.map_or(ULP_BINS.len(), |distance| ULP_BINS.partition_point(|&(largest, _)| largest < distance))
}

fn of_ulps(by_ulp: &[u64], of: u64) -> Histogram {
    let names = ULP_BINS.iter().map(|&(_, name)| name).chain(["NaN"]);
    let bins = names.zip(by_ulp).filter(|(_, count)| **count > 0);
    Histogram { by: "ulp", bins: bins.map(|(name, &differing)| Bin { at: name.to_owned(), differing, of }).collect() }
}

fn indexed(counts: &[u64], of: u64) -> Vec<Bin> {
    let bins = counts.iter().enumerate();
    bins.map(|(index, &differing)| Bin { at: index.to_string(), differing, of }).collect()
}

/// By each axis of the site, and by real and imaginary part.
fn of_words(axes: &Axes, parts: usize, by_word: &[u64], places: u64) -> Vec<Histogram> {
    let mut histograms = Vec::new();
    for (number, axis) in axes.site.iter().enumerate().filter(|(_, axis)| (2..=MOST_BINS).contains(&axis.extent)) {
        let mut counts = vec![0; axis.extent];
        let stride = axes.stride(number) * parts;
        by_word.iter().enumerate().for_each(|(k, count)| counts[k / stride % axis.extent] += count);
        let of = places * (by_word.len() / axis.extent) as u64;
        let bins = counts.iter().enumerate().map(|(index, &differing)| Bin {
            at: Axes::label(axis.name, index),
            differing,
            of,
        });
        histograms.push(Histogram { by: axis.name, bins: bins.collect() });
    }
    if parts == 2 {
        let count = |part: usize| by_word.iter().skip(part).step_by(2).sum();
        let of = places * (by_word.len() / 2) as u64;
        let bins = ["re", "im"].into_iter().enumerate();
        let bins = bins.map(|(part, name)| Bin { at: name.to_owned(), differing: count(part), of }).collect();
        histograms.push(Histogram { by: "part", bins });
    }
    histograms
}

/// By parity, by slice in each direction, and by the boundary that a site touches.
fn of_sites(axes: &Axes, map: &SiteMap) -> Vec<Histogram> {
    let Some(extents) = axes.extents else { return Vec::new() };
    let mut parity = [[0u64; 2]; 2];
    let mut slices: [Vec<[u64; 2]>; 4] = std::array::from_fn(|d| vec![[0; 2]; extents[d]]);
    let mut boundary = [[0u64; 2]; 8];
    for (site, &differing) in map.differing.iter().enumerate() {
        let x = extents.coordinate(site);
        let add = |bin: &mut [u64; 2]| {
            bin[0] += u64::from(differing);
            bin[1] += map.a_site;
        };
        add(&mut parity[Parity::of(x).index()]);
        for d in 0..4 {
            add(&mut slices[d][x[d]]);
        }
        for leg in Leg::all().filter(|leg| crosses(extents, x, *leg)) {
            add(&mut boundary[leg.point()]);
        }
    }
    let bins = |counts: &[[u64; 2]], name: &dyn Fn(usize) -> String| {
        let bins = counts.iter().enumerate().map(|(k, &[differing, of])| Bin { at: name(k), differing, of });
        bins.collect::<Vec<_>>()
    };
    let mut histograms = Vec::new();
    let names = ["even", "odd"];
    histograms.push(Histogram { by: "parity", bins: bins(&parity, &|k| names[k].to_owned()) });
    for d in (0..4).filter(|&d| (2..=MOST_BINS).contains(&extents[d])) {
        histograms.push(Histogram { by: DIMENSION_NAMES[d], bins: bins(&slices[d], &|k| k.to_string()) });
    }
    let name = |point: usize| {
        let d = point % 4;
        format!("{}={}", DIMENSION_NAMES[d], if point < 4 { extents[d] - 1 } else { 0 })
    };
    histograms.push(Histogram { by: "boundary", bins: bins(&boundary, &name) });
    histograms
}

/// Whether the step from a site along a leg crosses the boundary.
pub(super) fn crosses(extents: lanefield::reference::layout::Extents, x: [usize; 4], leg: Leg) -> bool {
    let d = leg.dimension();
    x[d] == if leg.is_forward() { extents[d] - 1 } else { 0 }
}
