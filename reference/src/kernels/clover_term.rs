//! Field strength, clover term and its inverse on the CPU (`docs/arithmetic.md` §13). They are computed once for an operator, in f64, site by site.
//! The products with spinors are in `clover.rs`. Counterpart: `cl/clover_term.cl`.

use num_complex::Complex;

use super::checks::check_place;
use crate::field::{CloverBlocks, ComplexNumber, Field, FieldData, FieldError, FieldStrength, Gauge};
use crate::gauge::LINK_WORDS;
use crate::layout::{DIMENSIONS, Leg, PLANES, Place, Sites, Stencil, osites_in_full};
use crate::real::Real;
use crate::tasks::{for_each_chunk, items_a_task};

const ROWS: usize = 6;

type C64 = Complex<f64>;
type Matrix3 = [[C64; 3]; 3];

/// The coefficients of a clover term.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CloverCoefficients {
    /// dm = 4 + mass.
    pub diagonal: f64,
    /// c_s = csw_r / 2, for the planes xy, xz, yz.
    pub spatial: f64,
    /// c_t = csw_t / 2, for the planes xt, yt, zt.
    pub temporal: f64,
}

/// out = F_μν of the six planes of each site. `links`: from [`crate::links::raw`].
///
/// # Errors
/// [`FieldError::Mismatch`] unless all are on all sites of one lattice.
pub fn field_strength<R: Real>(
    out: &mut Field<R, FieldStrength>,
    stencil: &Stencil,
    links: &Field<R, Gauge>,
) -> Result<(), FieldError> {
    let lattice = *stencil.lattice();
    check_place("the field strength", out, &lattice, stencil.sites())?;
    check_place("the field strength", out, &lattice, Sites::Full)?;
    check_place("the field strength's links", links, &lattice, Sites::Full)?;
    let words = links.words();
    let nsimd = lattice.nsimd();
    out.write_places(|place, strength| {
        for (plane, strength) in PLANES.iter().zip(strength.chunks_exact_mut(LINK_WORDS)) {
            let f = strength_of_plane(*plane, place, stencil, |direction, Place { osite, lane }| {
                let word = |k: usize| words[(osite * Gauge::WORDS + LINK_WORDS * direction + k) * nsimd + lane];
                std::array::from_fn(|row| std::array::from_fn(|column| promoted(word(3 * row + column))))
            });
            strength.iter_mut().zip(f.as_flattened()).for_each(|(word, f)| *word = rounded(*f));
        }
    });
    Ok(())
}

/// out = the clover term dm − Σ c_μν Σ_μν ⊗ F_μν.
///
/// # Errors
/// [`FieldError::Mismatch`] unless both are on the same sites of the same lattice. The same holds for every function here.
pub fn clover_term<R: Real>(
    out: &mut Field<R, CloverBlocks>,
    strength: &Field<R, FieldStrength>,
    coefficients: CloverCoefficients,
) -> Result<(), FieldError> {
    check_place("the clover term's field strength", strength, out.lattice(), out.sites())?;
    let (words, nsimd) = (strength.words(), out.lattice().nsimd());
    out.write_places(|Place { osite, lane }, term| {
        let f = |plane: usize, row: usize, column: usize| {
            let word = LINK_WORDS * plane + 3 * row + column;
            promoted(words[(osite * FieldStrength::WORDS + word) * nsimd + lane])
        };
        for (sigma, term) in [-1.0, 1.0].into_iter().zip(term.chunks_exact_mut(CloverBlocks::BLOCK_WORDS)) {
            CloverBlock::of_strength(f, sigma, coefficients).store(term);
        }
    });
    Ok(())
}

/// out = the inverse of each block of `term`; `pivots` = the least |d_j| of both blocks.
///
/// # Errors
/// Those of [`clover_term`]. A singular block is not an error: its pivot is 0.
pub fn clover_inverse<R: Real>(
    out: &mut Field<R, CloverBlocks>,
    pivots: &mut Field<R, ComplexNumber>,
    term: &Field<R, CloverBlocks>,
) -> Result<(), FieldError> {
    check_place("the clover term to invert", term, out.lattice(), out.sites())?;
    check_place("the pivots", pivots, out.lattice(), out.sites())?;
    let (words, nsimd) = (term.words(), out.lattice().nsimd());
    let block_of = |place: Place, block: usize| {
        let first = place.osite * CloverBlocks::WORDS + block * CloverBlocks::BLOCK_WORDS;
        CloverBlock::load(|word| promoted(words[(first + word) * nsimd + place.lane]))
    };
    out.write_places(|place, inverse| {
        for (block, inverse) in inverse.chunks_exact_mut(CloverBlocks::BLOCK_WORDS).enumerate() {
            block_of(place, block).factors().inverse().store(inverse);
        }
    });
    pivots.write_places(|place, pivot| {
        let [first, second] = [0, 1].map(|block| block_of(place, block).factors().pivot());
        pivot[0] = rounded(C64::new(first, second));
    });
    Ok(())
}

/// out = the values of `x`, a field on all sites, at the sites of `out`'s parity.
///
/// # Errors
/// [`FieldError::Mismatch`] unless `out` has one parity, `x` has all sites of the same lattice, and both have the same object.
pub fn pick_checkerboard<R: Real>(out: &mut FieldData<R>, x: &FieldData<R>) -> Result<(), FieldError> {
    check_place("picking a parity", x, out.lattice(), Sites::Full)?;
    let Sites::Parity(parity) = out.sites() else {
        return Err(not_a_parity(out.describe()));
    };
    if x.object() != out.object() {
        return Err(FieldError::Mismatch { what: "picking a parity", left: x.describe(), right: out.describe() });
    }
    let table = osites_in_full(out.lattice(), parity)?;
    let (reals, a_site) = (x.reals(), x.reals_an_osite());
    let osites_a_task = items_a_task(table.len());
    for_each_chunk(out.reals_mut(), osites_a_task * a_site, |task, out| {
        for (out, &full) in out.chunks_exact_mut(a_site).zip(&table[task * osites_a_task..]) {
            out.copy_from_slice(&reals[full as usize * a_site..][..a_site]);
        }
    });
    Ok(())
}

/// The error for a result that should have one parity but has all sites.
pub fn not_a_parity(field: String) -> FieldError {
    FieldError::Mismatch { what: "picking a parity", left: field, right: "a field of one parity".to_owned() }
}

fn promoted<R: Real>(c: Complex<R>) -> C64 {
    C64::new(c.re.to_f64(), c.im.to_f64())
}

fn rounded<R: Real>(c: C64) -> Complex<R> {
    Complex::new(R::from_f64(c.re), R::from_f64(c.im))
}

fn times(s: f64, a: C64) -> C64 {
    C64::new(s * a.re, s * a.im)
}

fn mul(a: C64, b: C64) -> C64 {
    C64::new((-a.im).fused(b.im, a.re * b.re), a.im.fused(b.re, a.re * b.im))
}

fn madd(a: C64, b: C64, c: C64) -> C64 {
    C64::new((-a.im).fused(b.im, a.re.fused(b.re, c.re)), a.im.fused(b.re, a.re.fused(b.im, c.im)))
}

fn product(a: &Matrix3, b: &Matrix3) -> Matrix3 {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| madd(a[i][2], b[2][j], madd(a[i][1], b[1][j], mul(a[i][0], b[0][j]))))
    })
}

/// F of one plane at one site: the sum of the four leaves around it, minus its Hermitian conjugate.
fn strength_of_plane(
    [mu, nu]: [usize; 2],
    x: Place,
    stencil: &Stencil,
    link: impl Fn(usize, Place) -> Matrix3,
) -> Matrix3 {
    // From `at` along `leg`: the link, and where that leads.
    let step = |at: Place, leg: Leg| {
        let (there, _) = stencil.follow(at, leg);
        if leg.is_forward() {
            return (link(leg.dimension(), at), there);
        }
        let u = link(leg.dimension(), there);
        (std::array::from_fn(|i| std::array::from_fn(|j| u[j][i].conj())), there)
    };
    let around = [Leg::forward(mu), Leg::forward(nu), Leg::backward(mu), Leg::backward(nu)];
    let leaf = |first: usize| {
        let (mut leaf, mut at) = step(x, around[first]);
        for k in 1..DIMENSIONS {
            let (u, there) = step(at, around[(first + k) % around.len()]);
            (leaf, at) = (product(&leaf, &u), there);
        }
        leaf
    };
    let mut sum = leaf(0);
    for first in 1..around.len() {
        let next = leaf(first);
        sum.as_flattened_mut().iter_mut().zip(next.as_flattened()).for_each(|(sum, term)| *sum += term);
    }
    std::array::from_fn(|i| std::array::from_fn(|j| times(0.125, sum[i][j] - sum[j][i].conj())))
}

/// A Hermitian 6×6 block: the upper triangle, and the real diagonal separately.
struct CloverBlock {
    diagonal: [f64; ROWS],
    upper: [[C64; ROWS]; ROWS],
}

/// L, D and its inverse of a block L D L†.
struct Factors {
    d: [f64; ROWS],
    r: [f64; ROWS],
    l: [[C64; ROWS]; ROWS],
}

impl CloverBlock {
    fn load(word: impl Fn(usize) -> C64) -> Self {
        let mut block = Self { diagonal: [0.0; ROWS], upper: [[C64::ZERO; ROWS]; ROWS] };
        for i in 0..ROWS {
            let pair = word(i / 2);
            block.diagonal[i] = if i % 2 == 0 { pair.re } else { pair.im };
            for j in i + 1..ROWS {
                block.upper[i][j] = word(3 + CloverBlocks::upper(i, j));
            }
        }
        block
    }

    fn store<R: Real>(&self, words: &mut [Complex<R>]) {
        for i in 0..ROWS {
            let value = R::from_f64(self.diagonal[i]);
            match i % 2 {
                0 => words[i / 2].re = value,
                _ => words[i / 2].im = value,
            }
            for j in i + 1..ROWS {
                words[3 + CloverBlocks::upper(i, j)] = rounded(self.upper[i][j]);
            }
        }
    }

    /// `f(plane, row, column)` is the field strength; `sigma` is −1 for block 0, +1 for block 1.
    fn of_strength(f: impl Fn(usize, usize, usize) -> C64, sigma: f64, coefficients: CloverCoefficients) -> Self {
        let CloverCoefficients { diagonal, spatial, temporal } = coefficients;
        let [xy, xz, xt, yz, yt, zt] = [0, 1, 2, 3, 4, 5];
        let sum = |space: usize, c: f64, time: usize, row: usize, column: usize| {
            let (s, t) = (f(space, row, column), times(c, f(time, row, column)));
            C64::new(spatial.fused(s.re, t.re), spatial.fused(s.im, t.im))
        };
        let a = |row, column| sum(xy, sigma * temporal, zt, row, column);
        let b = |row, column| sum(xz, -sigma * temporal, yt, row, column);
        let g = |row, column| sum(yz, sigma * temporal, xt, row, column);
        let mut block = Self { diagonal: [0.0; ROWS], upper: [[C64::ZERO; ROWS]; ROWS] };
        for i in 0..3 {
            let im = a(i, i).im;
            block.diagonal[i] = diagonal - im;
            block.diagonal[i + 3] = diagonal + im;
            for j in 0..3 {
                let (b, g) = (b(i, j), g(i, j));
                block.upper[i][j + 3] = C64::new(b.re - g.im, b.im + g.re);
                if i < j {
                    let a = a(i, j);
                    block.upper[i][j] = C64::new(-a.im, a.re);
                    block.upper[i + 3][j + 3] = C64::new(a.im, -a.re);
                }
            }
        }
        block
    }

    fn factors(&self) -> Factors {
        let mut factors = Factors { d: [0.0; ROWS], r: [0.0; ROWS], l: [[C64::ZERO; ROWS]; ROWS] };
        for j in 0..ROWS {
            let Factors { d, l, .. } = &factors;
            let w: [C64; ROWS] = std::array::from_fn(|k| times(d[k], l[j][k]).conj());
            let less = |start: C64, row: usize| (0..j).fold(start, |s, k| madd(-l[row][k], w[k], s));
            let pivot = less(C64::new(self.diagonal[j], 0.0), j).re;
            let reciprocal = 1.0 / pivot;
            let column: [C64; ROWS] = std::array::from_fn(|i| match i > j {
                true => times(reciprocal, less(self.upper[j][i].conj(), i)),
                false => C64::ZERO,
            });
            factors.d[j] = pivot;
            factors.r[j] = reciprocal;
            for (row, l) in factors.l.iter_mut().zip(column).skip(j + 1) {
                row[j] = l;
            }
        }
        factors
    }
}

impl Factors {
    fn pivot(&self) -> f64 {
        let finite = self.d.iter().all(|d| d.is_finite());
        let least = self.d.iter().fold(f64::INFINITY, |least, d| if d.abs() < least { d.abs() } else { least });
        if finite { least } else { f64::NAN }
    }

    fn inverse(&self) -> CloverBlock {
        let Self { r, l, .. } = self;
        let mut m = [[C64::ZERO; ROWS]; ROWS];
        for j in 0..ROWS {
            for i in j + 1..ROWS {
                m[i][j] = -(j + 1..i).fold(l[i][j], |s, k| madd(l[i][k], m[k][j], s));
            }
        }
        let tail = |start: C64, i: usize, j: usize| {
            (j + 1..ROWS).fold(start, |s, k| madd(times(r[k], m[k][i].conj()), m[k][j], s))
        };
        let mut inverse = CloverBlock { diagonal: [0.0; ROWS], upper: [[C64::ZERO; ROWS]; ROWS] };
        for j in 0..ROWS {
            inverse.diagonal[j] = tail(C64::new(r[j], 0.0), j, j).re;
            for (i, lower) in m[j].iter().enumerate().take(j) {
                inverse.upper[i][j] = tail(times(r[j], lower.conj()), i, j);
            }
        }
        inverse
    }
}
