//! Fields on a lattice: the effect of another convention on a site, on the order of sites, or on phases.

use lanefield::prelude::*;
use lanefield::reference::layout::DIMENSION_NAMES;

use super::fit::{Fit, MOST, cause, times};
use super::spins::{Form, Op};
use crate::Content;
use crate::compare::cause::case::Case;
use crate::compare::cause::guess::{Cause, Confidence};
use crate::order::{SiteOrder, site_places};

type Z = Complex<f64>;

/// Number of blocks (the numbers of a site at one s) on which hypotheses are tried.
const SAMPLE: usize = 48;

const FEW: usize = 2;

/// With fewer nonzero complex numbers than this, every hypothesis would fit.
const LEAST_NUMBERS: usize = 24;

/// Number of moves to try among those for which the norms of sites fit.
const MOVES: usize = 8;

struct Blocks<'a> {
    case: &'a Case<'a>,
    a: Vec<Z>,
    b: Vec<Z>,
    words: usize,
    /// The largest blocks of B, in descending order.
    sample: Vec<usize>,
}

impl<'a> Blocks<'a> {
    fn new(case: &'a Case<'a>) -> Option<Self> {
        let complex = |values: &[f64]| values.as_chunks().0.iter().map(|&[re, im]| Z::new(re, im)).collect();
        let (a, b): (Vec<Z>, Vec<Z>) = (complex(case.a), complex(case.b));
        let are_enough = |array: &[Z]| array.iter().filter(|z| **z != Z::ZERO).take(LEAST_NUMBERS).count();
        let are_finite = [&a, &b].iter().all(|array| array.iter().all(|z| z.re.is_finite() && z.im.is_finite()));
        let words = case.axes.words();
        if !are_finite || words == 0 || are_enough(&a) < LEAST_NUMBERS || are_enough(&b) < LEAST_NUMBERS {
            return None;
        }
        let sample = largest(&norms(&b, words), SAMPLE);
        Some(Self { case, a, b, words, sample })
    }

    fn block<'b>(&self, array: &'b [Z], k: usize) -> &'b [Z] {
        &array[k * self.words..][..self.words]
    }

    /// How well B is c·T(A) on some blocks, where A's block `source(k)` is in the place of block k.
    fn fit(
        &self,
        blocks: impl Iterator<Item = usize>,
        form: Form,
        op: Op,
        source: &dyn Fn(usize) -> usize,
    ) -> Option<Fit> {
        let of_a = |k: usize| op.of(form, self.block(&self.a, source(k)));
        let pairs: Vec<_> = blocks.map(|k| (of_a(k), self.block(&self.b, k))).collect();
        Fit::new(&pairs)
    }

    /// The simplest hypothesis that leaves little; it is then tried on all blocks.
    fn simplest(&self, form: Form, ops: &[Op], source: &dyn Fn(usize) -> usize) -> Option<(Op, Fit)> {
        let sample = || self.sample.iter().copied();
        let few = || sample().take(FEW);
        // A few blocks reject nearly all hypotheses.
        let ops = ops.iter().filter(|op| self.fit(few(), form, **op, source).is_some());
        let fits: Vec<_> = ops.filter_map(|&op| Some((op, self.fit(sample(), form, op, source)?))).collect();
        let least = fits.iter().map(|(_, fit)| fit.left).fold(f64::INFINITY, f64::min);
        let near = |fit: &Fit| fit.left <= (10.0 * least).max(64.0 * self.case.unit());
        let (op, _) = *fits.iter().filter(|(_, fit)| near(fit)).min_by_key(|(op, _)| op.cost())?;
        // In pieces, to avoid a copy of whole fields; each has the same factor.
        let count = self.b.len() / self.words;
        let (c, mut left, mut all) = (self.fit(sample(), form, op, source)?.c, 0.0, 0.0);
        for k in 0..count {
            let (x, b) = (op.of(form, self.block(&self.a, source(k))), self.block(&self.b, k));
            left += x.iter().zip(b).map(|(x, b)| (b - c * x).norm_sqr()).sum::<f64>();
            all += b.iter().map(Z::norm_sqr).sum::<f64>();
        }
        let left = (left / all).sqrt();
        (left <= MOST).then_some((op, Fit { c, left }))
    }
}

fn norms(array: &[Z], words: usize) -> Vec<f64> {
    array.chunks_exact(words).map(|block| block.iter().map(Z::norm_sqr).sum()).collect()
}

fn largest(norms: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..norms.len()).filter(|&k| norms[k] > 0.0).collect();
    let count = count.min(order.len());
    if count < order.len() {
        order.select_nth_unstable_by(count, |&j, &k| norms[k].total_cmp(&norms[j]));
        order.truncate(count);
    }
    order.sort_by(|&j, &k| norms[k].total_cmp(&norms[j]).then(j.cmp(&k)));
    order
}

pub(in crate::compare::cause) fn causes(case: &Case<'_>) -> Vec<Cause> {
    if case.axes.content == Content::List || case.extents().is_none() {
        return Vec::new();
    }
    let Some(blocks) = Blocks::new(case) else { return Vec::new() };
    let form = Form::of(case.axes.content);
    let ops = Op::all(form);
    let tests = [in_place, moved, phased, opposite_mu];
    tests.iter().find_map(|test| test(&blocks, form, &ops)).into_iter().collect()
}

/// Hypotheses in which the sites stay in place.
fn in_place(blocks: &Blocks<'_>, form: Form, ops: &[Op]) -> Option<Cause> {
    let (op, fit) = blocks.simplest(form, ops, &|k| k)?;
    let claims = op.claims(form, blocks.case);
    // Numbers that differ by rounding, or by a tolerance, have a factor near 1.
    let is_factor = (fit.c - 1.0).norm() > 10.0 * fit.left.max(blocks.case.unit());
    if claims.is_empty() && !is_factor {
        return None;
    }
    Some(cause(blocks.case, claims, fit))
}

/// Hypotheses in which sites are moved: another origin, or axes that are reversed or exchanged. The norms of the sites tell which are worth trying.
fn moved(blocks: &Blocks<'_>, form: Form, ops: &[Op]) -> Option<Cause> {
    let extents = blocks.case.extents()?;
    let volume = extents.volume();
    let (of_a, of_b) = (norms(&blocks.a, blocks.words), norms(&blocks.b, blocks.words));
    let (from, to) = (*largest(&of_a, 1).first()?, *blocks.sample.first()?);
    let same_norms = |source: &dyn Fn(usize) -> usize| {
        let ratio = of_b[to] / of_a[from];
        let fits = |k: &&usize| (of_b[**k] - ratio * of_a[source(**k)]).abs() <= 0.05 * of_b[**k];
        10 * blocks.sample.iter().filter(fits).count() >= 9 * blocks.sample.len()
    };
    let moves = Move::all(extents, extents.coordinate(from % volume), extents.coordinate(to % volume));
    let moves = moves.iter().map(|step| {
        let source: Box<dyn Fn(usize) -> usize + '_> = Box::new(move |k| step.source(extents, k));
        (step.cost(), step.claims(extents), source)
    });
    let orders = [SiteOrder::EvenOdd, SiteOrder::OddEven].into_iter().filter(|_| extents[0] % 2 == 0).map(|order| {
        let mut sites = vec![0; volume];
        site_places(extents, order).into_iter().enumerate().for_each(|(site, place)| sites[place] = site);
        let source: Box<dyn Fn(usize) -> usize> = Box::new(move |k| k / volume * volume + sites[k % volume]);
        (1, vec![("order", format!("with its sites in {order} order (read B with --order {order})"))], source)
    });
    let candidates = orders.chain(moves).filter(|(_, _, source)| same_norms(source)).take(MOVES);
    let found = candidates.filter_map(|(cost, claims, source)| {
        let (op, fit) = blocks.simplest(form, ops, &source)?;
        Some((op.cost() + cost, op.claims(form, blocks.case).into_iter().chain(claims).collect(), fit))
    });
    let (_, claims, fit) = found.min_by_key(|(cost, ..)| *cost)?;
    Some(cause(blocks.case, claims, fit))
}

/// B(x) is A(y), where y_d is the coordinate `axes[d]` of x with a sign and an offset, for each direction d.
struct Move {
    axes: [usize; 4],
    reversed: [bool; 4],
    offset: [usize; 4],
}

impl Move {
    /// All moves that take the coordinate `to` of B to `from` of A.
    fn all(extents: Extents, from: [usize; 4], to: [usize; 4]) -> Vec<Self> {
        let mut moves = Vec::new();
        for code in 0..256usize {
            let axes: [usize; 4] = std::array::from_fn(|d| code >> (2 * d) & 3);
            let is_permutation = (0..4).all(|d| axes.contains(&d));
            if !is_permutation || (0..4).any(|d| extents[d] != extents[axes[d]]) {
                continue;
            }
            for signs in 0..16 {
                let reversed: [bool; 4] = std::array::from_fn(|d| signs >> d & 1 == 1);
                let offset = std::array::from_fn(|d| {
                    let (l, there) = (extents[d], to[axes[d]]);
                    (from[d] + if reversed[d] { there } else { l - there }) % l
                });
                // With one or two sites in a direction, the opposite order is a shift, or no change.
                if (0..4).all(|d| !reversed[d] || extents[d] > 2) {
                    moves.push(Self { axes, reversed, offset });
                }
            }
        }
        moves.retain(|step| step.cost() > 0);
        moves.sort_by_key(Self::cost);
        moves
    }

    fn source(&self, extents: Extents, k: usize) -> usize {
        let (s, site) = (k / extents.volume(), k % extents.volume());
        let x = extents.coordinate(site);
        let y = std::array::from_fn(|d| {
            let (l, x) = (extents[d], x[self.axes[d]]);
            (self.offset[d] + if self.reversed[d] { l - x } else { x }) % l
        });
        s * extents.volume() + extents.site(y)
    }

    fn cost(&self) -> usize {
        let moved = usize::from(self.offset != [0; 4]);
        let reversed = self.reversed.iter().filter(|is_so| **is_so).count();
        moved + 2 * reversed + 4 * usize::from(self.axes != [0, 1, 2, 3])
    }

    fn claims(&self, extents: Extents) -> Vec<(&'static str, String)> {
        let mut claims = Vec::new();
        if self.axes != [0, 1, 2, 3] {
            let names = self.axes.map(|d| DIMENSION_NAMES[d]).join(",");
            claims.push(("axes", format!("with the axes x,y,z,t taken for {names}")));
        }
        for d in (0..4).filter(|&d| self.reversed[d]) {
            let name = DIMENSION_NAMES[d];
            let at = match self.offset[d] {
                0 => format!("−{name}"),
                offset if offset + 1 == extents[d] => format!("L − 1 − {name}"),
                offset => format!("{offset} − {name}"),
            };
            claims.push(("reflected", format!("with {name} reversed, {at}")));
        }
        let offset: [usize; 4] = std::array::from_fn(|d| if self.reversed[d] { 0 } else { self.offset[d] });
        if offset != [0; 4] {
            let [x, y, z, t] = offset;
            claims.push(("shifted", format!("with its origin x,y,z,t = {x},{y},{z},{t} of A's")));
        }
        claims
    }
}

/// Two directions: the sign (−1)^(x_j x_k) is that of staggered phases with these two in the other order.
const PAIRS: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

/// The [`PAIRS`] whose signs the phases have; `None` if they are not a product of such signs and a phase e^{iqx}.
fn signs_of_pairs(phases: &[Option<Z>], extents: Extents) -> Option<[bool; 6]> {
    let mut signs = [false; 6];
    for (is_negative, [j, k]) in signs.iter_mut().zip(PAIRS) {
        let squares = (0..phases.len()).filter_map(|site| {
            let x = extents.coordinate(site);
            if x[j] + 1 >= extents[j] || x[k] + 1 >= extents[k] {
                return None;
            }
            let at = |of_j: usize, of_k: usize| {
                let mut x = x;
                x[j] += of_j;
                x[k] += of_k;
                phases[extents.site(x)]
            };
            Some(at(0, 0)? * at(1, 0)?.conj() * at(0, 1)?.conj() * at(1, 1)?)
        });
        let (sum, count) = squares.fold((Z::ZERO, 0.0), |(sum, count), z| (sum + z, count + 1.0));
        if sum.re.abs() < 0.99 * count {
            return None;
        }
        *is_negative = sum.re < 0.0;
    }
    Some(signs)
}

/// The product of the signs of pairs at a site.
fn sign(signs: [bool; 6], x: [usize; 4]) -> f64 {
    let odd = signs.iter().zip(PAIRS).filter(|(is_negative, [j, k])| **is_negative && x[*j] * x[*k] % 2 == 1).count();
    if odd % 2 == 1 { -1.0 } else { 1.0 }
}

/// B(x) is e^{iqx} A(x), or the same with its conjugate. Staggered phases in another order have signs of pairs of coordinates.
fn phased(blocks: &Blocks<'_>, form: Form, ops: &[Op]) -> Option<Cause> {
    let extents = blocks.case.extents()?;
    let volume = extents.volume();
    ops.iter().filter(|op| op.is_plain()).find_map(|&op| {
        // The phase of each block, if B's block is a multiple of A's.
        let phase = |k: usize| {
            let (x, b) = (op.of(form, blocks.block(&blocks.a, k)), blocks.block(&blocks.b, k));
            let z: Z = x.iter().zip(b).map(|(x, b)| x.conj() * b).sum();
            let norms = |array: &[Z]| array.iter().map(Z::norm_sqr).sum::<f64>();
            (z.norm_sqr() >= (1.0 - 1e-4) * norms(&x) * norms(b) && z != Z::ZERO).then(|| z / z.norm())
        };
        if 10 * blocks.sample.iter().filter(|&&k| phase(k).is_some()).count() < 9 * blocks.sample.len() {
            return None;
        }
        let phases: Vec<Option<Z>> = (0..volume).map(phase).collect();
        let signs = signs_of_pairs(&phases, extents)?;
        let sign = |site: usize| sign(signs, extents.coordinate(site));
        let phases: Vec<Option<Z>> = phases.into_iter().enumerate().map(|(site, z)| Some(z? * sign(site))).collect();
        let step = |d: usize| {
            let pairs = (0..volume).filter_map(|site| {
                let mut x = extents.coordinate(site);
                x[d] += 1;
                let next = (x[d] < extents[d]).then(|| extents.site(x))?;
                Some(phases[next]? * phases[site]?.conj())
            });
            let (sum, count) = pairs.fold((Z::ZERO, 0.0), |(sum, count), z| (sum + z, count + 1.0));
            match count {
                0.0 => Some(0.0),
                count => (sum.norm() > 0.99 * count).then(|| sum.arg()),
            }
        };
        let steps: Vec<f64> = (0..4).map(step).collect::<Option<_>>()?;
        let (has_signs, has_momentum) = (signs.contains(&true), steps.iter().any(|q| q.abs() >= 1e-6));
        if !has_signs && !has_momentum {
            return None;
        }
        // In units of 2π/L, as integers if they are close to them.
        let numbers: [f64; 4] = std::array::from_fn(|d| {
            let n = steps[d] * extents[d] as f64 / std::f64::consts::TAU;
            if (n - n.round()).abs() < 1e-4 { n.round() + 0.0 } else { n }
        });
        let pairs: Vec<_> = (0..volume * blocks.case.axes.ls)
            .map(|k| {
                let x = extents.coordinate(k % volume);
                let turns: f64 = (0..4).map(|d| numbers[d] * x[d] as f64 / extents[d] as f64).sum();
                let phase = Z::cis(std::f64::consts::TAU * turns) * sign(k % volume);
                (
                    op.of(form, blocks.block(&blocks.a, k)).into_iter().map(|z| phase * z).collect(),
                    blocks.block(&blocks.b, k),
                )
            })
            .filter(|(_, b): &(Vec<Z>, &[Z])| b.iter().any(|z| *z != Z::ZERO))
            .collect();
        let fit = Fit::new(&pairs)?;
        let shown = numbers.map(|n| if n == n.round() { format!("{n:.0}") } else { format!("{n:.4}") }).join(",");
        let halves = (0..4).all(|d| numbers[d] == 0.0 || 2.0 * numbers[d].abs() == extents[d] as f64);
        let (halved, whole) = (numbers.map(|n| n / 2.0), numbers.iter().all(|n| *n == n.round()));
        let what = if halves {
            let names: Vec<_> = (0..4).filter(|&d| numbers[d] != 0.0).map(|d| DIMENSION_NAMES[d]).collect();
            format!("(a sign (−1)^({}), as of staggered phases)", names.join("+"))
        } else if whole && halved.iter().all(|n| *n == n.round()) {
            let p = halved.map(|n| format!("{n:.0}")).join(",");
            format!("(a momentum, or e^{{ipx}} where A has e^{{−ipx}} with p = 2π/L·({p}))")
        } else if whole {
            "(a momentum)".to_owned()
        } else {
            "(a twisted boundary: 2π times these numbers are its angles)".to_owned()
        };
        let momentum = has_momentum.then(|| ("phase", format!("times e^{{iqx}} with q = 2π/L·({shown}) {what}")));
        let pairs = signs.iter().zip(PAIRS).filter(|(is_so, _)| **is_so);
        let pairs: Vec<_> = pairs.map(|(_, pair)| pair.map(|d| DIMENSION_NAMES[d]).concat()).collect();
        let other_order =
            || format!("times (−1)^({}), as of staggered phases in another order of the directions", pairs.join("+"));
        let order = has_signs.then(|| ("phase", other_order()));
        let claims = op.claims(form, blocks.case).into_iter().chain(order).chain(momentum).collect();
        Some(cause(blocks.case, claims, fit))
    })
}

/// At the site of its source, a propagator for −μ is γ5 S† γ5, but not elsewhere; a Wilson propagator equals its own γ5 S† γ5 there.
fn opposite_mu(blocks: &Blocks<'_>, form: Form, ops: &[Op]) -> Option<Cause> {
    let source = *blocks.sample.first()?;
    // The site of A's source.
    let from = *largest(&norms(&blocks.a, blocks.words), 1).first()?;
    if form != Form::Propagator {
        return None;
    }
    let fits = |op: &Op| Some((*op, blocks.fit(std::iter::once(source), form, *op, &|_| from)?));
    // In another basis, γ5 may be another matrix.
    let (conjugated, others): (Vec<_>, Vec<_>) = ops.iter().filter_map(fits).partition(|(op, _)| op.is_conjugated());
    let mirrored: Vec<_> = conjugated.into_iter().filter(|(op, _)| op.opposite_mu().is_some()).collect();
    let least = |fits: &[(Op, Fit)]| fits.iter().map(|(_, fit)| fit.left).fold(f64::INFINITY, f64::min);
    let best = least(&mirrored);
    // Conjugation by other matrices keeps a block that has only small components along them.
    if best.is_nan() || best > 1e-5 || least(&others) < 100.0 * best.max(blocks.case.unit()) {
        return None;
    }
    let (op, fit) = mirrored.into_iter().filter(|(_, fit)| fit.left <= 10.0 * best).min_by_key(|(op, _)| op.cost())?;
    let extents = blocks.case.extents()?;
    let [x, y, z, t] = extents.coordinate(source % extents.volume());
    let moved = (from != source).then(|| {
        let [x, y, z, t] = extents.coordinate(from % extents.volume());
        format!("of its source x,y,z,t = {x},{y},{z},{t} (the origin is another)")
    });
    let claims: Vec<String> =
        moved.into_iter().chain(op.claims(form, blocks.case).into_iter().map(|(_, claim)| claim)).collect();
    let times = times(blocks.case, fit);
    let sentence = format!(
        "the sign of μ (twisted mass), or the other flavour: at the source x,y,z,t = {x},{y},{z},{t} B is A {}, which holds for S(−μ){}, and elsewhere it is not",
        claims.into_iter().chain(times).collect::<Vec<_>>().join(", "),
        op.opposite_mu()?
    );
    Some(Cause::new("opposite_mu", Confidence::Likely, sentence, format!("{:.1e} of it is left there", fit.left)))
}
