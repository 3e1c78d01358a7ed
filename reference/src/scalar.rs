//! The scalar reference: canonical arithmetic as loops over sites and complex numbers, without lanes, threads or tables of neighbours. It is written
//! from `docs/arithmetic.md` alone, and shares no arithmetic with `tensor`, `kernels`, `links` and `cl/`, so that these can be compared with it.
//! Read it first if you port a kernel. It is slow on purpose.
//!
//! The Wilson operator is here; the others are in files of `scalar/`.
//!
//! A spinor field is a slice of complex numbers in site order over the whole lattice: word 12 · site + 3 · spin + colour.

mod clover;
mod colour_vectors;
pub mod domain_wall;
pub mod functions;
pub mod gauge_fixing;
pub mod heat_bath;
pub mod hisq;
mod laplace;
mod links;
pub mod projection;
mod staggered;
mod twisted_mass;

pub use clover::{CLOVER_WORDS, ScalarClover, clover_apply, clover_inverse};
pub use twisted_mass::{twist, twist_add, twist_inverse};

use num_complex::Complex;

use crate::exact::{ExactComplexSum, ExactSum};
use crate::gauge::Configuration;
use crate::kernels::hop::Dagger;
use crate::layout::{Coordinate, Extents, Leg, LegOrder, Parity, Sites, TreePlan, gather, spread};
use crate::links::{BoundaryPhases, LinkFormat};
use crate::real::Real;

/// Complex words of a spinor: four spins of three colours.
pub const SPINOR_WORDS: usize = 12;

const COLOURS: usize = 3;
const EVEN: Sites = Sites::Parity(Parity::Even);
const ODD: Sites = Sites::Parity(Parity::Odd);

// §2, complex numbers: `+`, binary and unary `−` and `conj` of `num_complex` are component by component; its `*` is not used.

fn complex<R: Real>(re: f64, im: f64) -> Complex<R> {
    Complex::new(R::from_f64(re), R::from_f64(im))
}

/// s·a.
pub fn real_times<R: Real>(s: R, a: Complex<R>) -> Complex<R> {
    Complex::new(s * a.re, s * a.im)
}

/// s·a + c.
pub fn real_madd<R: Real>(s: R, a: Complex<R>, c: Complex<R>) -> Complex<R> {
    Complex::new(s.fused(a.re, c.re), s.fused(a.im, c.im))
}

/// a·b.
pub fn mul<R: Real>(a: Complex<R>, b: Complex<R>) -> Complex<R> {
    Complex::new((-a.im).fused(b.im, a.re * b.re), a.im.fused(b.re, a.re * b.im))
}

/// a·b + c.
pub fn madd<R: Real>(a: Complex<R>, b: Complex<R>, c: Complex<R>) -> Complex<R> {
    Complex::new((-a.im).fused(b.im, a.re.fused(b.re, c.re)), a.im.fused(b.re, a.re.fused(b.im, c.im)))
}

// §3, matrix times vector.

/// Three colours.
pub type Colour<R> = [Complex<R>; COLOURS];
/// A matrix, row by row.
pub type Link<R> = [Colour<R>; COLOURS];

/// u·h, with columns in order.
pub fn matrix_times_vector<R: Real>(u: &Link<R>, h: &Colour<R>) -> Colour<R> {
    u.map(|row| madd(row[2], h[2], madd(row[1], h[1], mul(row[0], h[0]))))
}

/// a·b: element by element, with the inner index in order.
pub fn matrix_times_matrix<R: Real>(a: &Link<R>, b: &Link<R>) -> Link<R> {
    let column = |k: usize| [b[0][k], b[1][k], b[2][k]];
    let columns = [0, 1, 2].map(|k| matrix_times_vector(a, &column(k)));
    std::array::from_fn(|row| std::array::from_fn(|k| columns[k][row]))
}

/// The Hermitian conjugate.
pub fn matrix_adjoint<R: Real>(a: &Link<R>) -> Link<R> {
    std::array::from_fn(|row| std::array::from_fn(|column| a[column][row].conj()))
}

// §4, spin projection and reconstruction.

/// ±1 or ±i.
#[derive(Clone, Copy)]
enum Unit {
    Plus,
    Minus,
    PlusI,
    MinusI,
}
use Unit::{Minus, MinusI, Plus, PlusI};

impl Unit {
    /// The product, which is at most a swap and a sign.
    fn times<R: Real>(self, a: Complex<R>) -> Complex<R> {
        match self {
            Plus => a,
            Minus => -a,
            PlusI => Complex::new(-a.im, a.re),
            MinusI => Complex::new(a.im, -a.re),
        }
    }
}

/// A row of the table of §4.
struct Projector {
    /// h0 and h1: row 0 (row 1) of ψ plus a unit times another row of ψ.
    project: [(Unit, usize); 2],
    /// Rows 2 and 3 of the projected spinor: a unit times h0 or h1.
    reconstruct: [(Unit, usize); 2],
}

const fn projector(h0: (Unit, usize), h1: (Unit, usize), row2: (Unit, usize), row3: (Unit, usize)) -> Projector {
    Projector { project: [h0, h1], reconstruct: [row2, row3] }
}

/// 1 + γ for x, y, z, t.
const ONE_PLUS_GAMMA: [Projector; 4] = [
    projector((PlusI, 3), (PlusI, 2), (MinusI, 1), (MinusI, 0)),
    projector((Minus, 3), (Plus, 2), (Plus, 1), (Minus, 0)),
    projector((PlusI, 2), (MinusI, 3), (MinusI, 0), (PlusI, 1)),
    projector((Plus, 2), (Plus, 3), (Plus, 0), (Plus, 1)),
];

/// 1 − γ for x, y, z, t.
const ONE_MINUS_GAMMA: [Projector; 4] = [
    projector((MinusI, 3), (MinusI, 2), (PlusI, 1), (PlusI, 0)),
    projector((Plus, 3), (Minus, 2), (Minus, 1), (Plus, 0)),
    projector((MinusI, 2), (PlusI, 3), (PlusI, 0), (MinusI, 1)),
    projector((Minus, 2), (Minus, 3), (Minus, 0), (Minus, 1)),
];

/// The projector of a leg: 1 − γ forward, 1 + γ backward; with dagger it is the reverse.
fn projector_of(leg: Leg, dagger: Dagger) -> &'static Projector {
    match (leg.is_forward(), dagger) {
        (true, Dagger::No) | (false, Dagger::Yes) => &ONE_MINUS_GAMMA[leg.dimension()],
        (false, Dagger::No) | (true, Dagger::Yes) => &ONE_PLUS_GAMMA[leg.dimension()],
    }
}

/// h0 and h1 of the 12 words of a spinor.
///
/// # Panics
/// If `psi` has fewer words.
pub fn project<R: Real>(psi: &[Complex<R>], leg: Leg, dagger: Dagger) -> [Colour<R>; 2] {
    let projector = projector_of(leg, dagger);
    [0, 1].map(|spin| {
        let (unit, other) = projector.project[spin];
        std::array::from_fn(|c| psi[3 * spin + c] + unit.times(psi[3 * other + c]))
    })
}

/// The four rows of the spinor whose rows 0 and 1 are `half`.
pub fn reconstruct<R: Real>(half: &[Colour<R>; 2], leg: Leg, dagger: Dagger) -> [Colour<R>; 4] {
    let [row2, row3] = projector_of(leg, dagger).reconstruct.map(|(unit, source)| half[source].map(|w| unit.times(w)));
    [half[0], half[1], row2, row3]
}

/// The site one step along `leg` on the torus, and whether the step crosses the boundary.
pub fn step(extents: Extents, x: Coordinate, leg: Leg) -> (Coordinate, bool) {
    let d = leg.dimension();
    let (first, last) = (0, extents[d] - 1);
    let mut there = x;
    if leg.is_forward() {
        there[d] = if x[d] == last { first } else { x[d] + 1 };
        (there, x[d] == last)
    } else {
        there[d] = if x[d] == first { last } else { x[d] - 1 };
        (there, x[d] == first)
    }
}

/// The Wilson operator on a configuration: all that its bits depend on, except for the mass.
#[derive(Clone, Copy, Debug)]
pub struct ScalarWilson<'a> {
    /// The links, in f64.
    pub configuration: &'a Configuration,
    /// The fermions' boundary phases.
    pub boundary: BoundaryPhases,
    /// The number of reals of a link that are stored. The rest is rebuilt.
    pub format: LinkFormat,
    /// The order in which the hop adds its legs.
    pub legs: LegOrder,
}

impl ScalarWilson<'_> {
    /// §6, steps 2 and 3: w0 and w1, the projected rows times the link of `leg` at the site `x`.
    pub fn transport<R: Real>(&self, psi: &[Complex<R>], x: Coordinate, leg: Leg, dagger: Dagger) -> [Colour<R>; 2] {
        let v = self.link(x, leg);
        project(psi, leg, dagger).map(|h| matrix_times_vector(&v, &h))
    }

    /// §6, steps 2 to 4: the contribution of `leg` to the hop at the site `x`, with the spinor ψ of the site to which it leads.
    ///
    /// # Panics
    /// If `psi` does not have 12 words. The same holds for [`Self::transport`].
    pub fn leg<R: Real>(
        &self,
        psi: &[Complex<R>],
        x: Coordinate,
        leg: Leg,
        dagger: Dagger,
    ) -> [Complex<R>; SPINOR_WORDS] {
        let rows = reconstruct(&self.transport(psi, x, leg, dagger), leg, dagger);
        std::array::from_fn(|word| rows[word / COLOURS][word % COLOURS])
    }

    /// §6: the hop at `sites` (zero elsewhere), for each spinor of ψ, which has one or several at a site and is read at their neighbours.
    ///
    /// # Panics
    /// If `psi` does not have 12 words for each spinor of each site of the lattice. The same holds for every method here.
    pub fn hop<R: Real>(&self, psi: &[Complex<R>], sites: Sites, dagger: Dagger) -> Vec<Complex<R>> {
        let extents = self.configuration.extents();
        let a_field = SPINOR_WORDS * extents.volume();
        assert!(psi.len().is_multiple_of(a_field), "{} complex numbers of spinor fields on {extents}", psi.len());
        let spinors = psi.len() / a_field;
        self.sum_over_legs(spinors, sites, |k, x, leg| {
            let there = extents.site(step(extents, x, leg).0);
            self.leg(&psi[SPINOR_WORDS * (spinors * there + k)..][..SPINOR_WORDS], x, leg, dagger)
        })
    }

    /// The sum over the legs of `term(k, x, leg)`, for each k of `count` components of the sites x in `sites`; zero elsewhere.
    fn sum_over_legs<R: Real, const WORDS: usize>(
        &self,
        count: usize,
        sites: Sites,
        term: impl Fn(usize, Coordinate, Leg) -> [Complex<R>; WORDS],
    ) -> Vec<Complex<R>> {
        let extents = self.configuration.extents();
        let [first, rest @ ..] = self.legs.legs();
        let mut result = vec![Complex::default(); count * WORDS * extents.volume()];
        for (number, result) in result.chunks_exact_mut(WORDS).enumerate() {
            let (x, k) = (extents.coordinate(number / count), number % count);
            if !sites.contain(x) {
                continue;
            }
            result.copy_from_slice(&term(k, x, first));
            for leg in rest {
                for (sum, term) in result.iter_mut().zip(term(k, x, leg)) {
                    *sum = *sum + term;
                }
            }
        }
        result
    }

    /// §9: M ψ or M† ψ.
    pub fn m<R: Real>(&self, psi: &[Complex<R>], mass: f64, dagger: Dagger) -> Vec<Complex<R>> {
        let mut result = self.hop(psi, Sites::Full, dagger);
        axpy(4.0 + mass, psi, &mut result);
        result
    }

    /// §9: Mpc ψ or Mpc† ψ. Reads ψ at the odd sites; zero at the even ones.
    pub fn mpc<R: Real>(&self, psi: &[Complex<R>], mass: f64, dagger: Dagger) -> Vec<Complex<R>> {
        let dm = 4.0 + mass;
        let extents = self.configuration.extents();
        let mut result = scale(dm, &spread(extents, ODD, SPINOR_WORDS, &gather(extents, ODD, SPINOR_WORDS, psi)));
        let even = scale(1.0 / dm, &self.hop(psi, EVEN, dagger));
        axpy(-1.0, &self.hop(&even, ODD, dagger), &mut result);
        result
    }

    /// §10 without preconditioning: solves M ψ = η by M†M ψ = M†η, from the guess zero.
    pub fn solve<R: Real>(&self, eta: &[Complex<R>], mass: f64, stop: Stop) -> Solution<R> {
        let normal = |psi: &[Complex<R>]| self.m(&self.m(psi, mass, Dagger::No), mass, Dagger::Yes);
        let zero = vec![Complex::default(); eta.len()];
        cg(normal, &self.m(eta, mass, Dagger::Yes), &zero, stop)
    }

    /// §10 with even-odd preconditioning: solves the normal equations of Mpc on the odd sites, from the guess zero, then computes the even sites.
    pub fn solve_even_odd<R: Real>(&self, eta: &[Complex<R>], mass: f64, stop: Stop) -> Solution<R> {
        let extents = self.configuration.extents();
        let dm = 4.0 + mass;
        // Conjugate gradients knows the odd sites only, as a list; operators act on the whole lattice.
        let odd = |psi: &[Complex<R>]| gather(extents, ODD, SPINOR_WORDS, psi);
        let full = |odd: &[Complex<R>]| spread(extents, ODD, SPINOR_WORDS, odd);
        let mpc = |psi: &[Complex<R>], dagger| self.mpc(psi, mass, dagger);

        let even_part = scale(1.0 / dm, eta);
        let mut source = eta.to_vec();
        axpy(-1.0, &self.hop(&even_part, ODD, Dagger::No), &mut source);
        let b = odd(&mpc(&source, Dagger::Yes));
        let normal = |psi: &[Complex<R>]| odd(&mpc(&mpc(&full(psi), Dagger::No), Dagger::Yes));
        let zero = vec![Complex::default(); b.len()];
        let Solution { psi: psi_odd, history, converged } = cg(normal, &b, &zero, stop);

        let mut psi = full(&psi_odd);
        let mut even = eta.to_vec();
        axpy(-1.0, &self.hop(&psi, EVEN, Dagger::No), &mut even);
        let even = scale(1.0 / dm, &even);
        let both = psi.chunks_exact_mut(SPINOR_WORDS).zip(even.chunks_exact(SPINOR_WORDS));
        for (site, (psi, even)) in both.enumerate() {
            if EVEN.contain(extents.coordinate(site)) {
                psi.copy_from_slice(even);
            }
        }
        Solution { psi, history, converged }
    }
}

// §7, vector operations, on any list of words. The scalar is rounded to the field's type before it is used.

/// a · x.
pub fn scale<R: Real>(a: f64, x: &[Complex<R>]) -> Vec<Complex<R>> {
    x.iter().map(|&x| real_times(R::from_f64(a), x)).collect()
}

/// y ← a·x + y, fused.
pub fn axpy<R: Real>(a: f64, x: &[Complex<R>], y: &mut [Complex<R>]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = real_madd(R::from_f64(a), x, *y);
    }
}

/// a·x + y with a complex number a that is rounded to `R`, by the multiply-add of §2.
pub fn complex_axpy<R: Real>(a: Complex<f64>, x: &[Complex<R>], y: &[Complex<R>]) -> Vec<Complex<R>> {
    let a = Complex::new(R::from_f64(a.re), R::from_f64(a.im));
    x.iter().zip(y).map(|(x, y)| madd(a, *x, *y)).collect()
}

/// y ← a·x + b·y, with the second product rounded by itself.
pub fn axpby<R: Real>(a: f64, x: &[Complex<R>], b: f64, y: &mut [Complex<R>]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y = real_madd(R::from_f64(a), x, real_times(R::from_f64(b), *y));
    }
}

/// ψ ← a·p + ψ, then p ← b·p + r, fused, with the old p in both.
pub fn cg_update<R: Real>(psi: &mut [Complex<R>], p: &mut [Complex<R>], r: &[Complex<R>], a: f64, b: f64) {
    for ((psi, p), &r) in psi.iter_mut().zip(p).zip(r) {
        *psi = real_madd(R::from_f64(a), *p, *psi);
        *p = real_madd(R::from_f64(b), *p, r);
    }
}

// §8, sums over sites.

/// The contribution of a site to |x|².
pub fn site_norm2<R: Real>(x: &[Complex<R>]) -> f64 {
    let mut s = 0.0f64;
    for x in x {
        let [re, im] = [x.re.to_f64(), x.im.to_f64()];
        s = re.fused(re, s);
        s = im.fused(im, s);
    }
    s
}

/// The contribution of a site to ⟨x, y⟩.
pub fn site_inner_product<R: Real>(x: &[Complex<R>], y: &[Complex<R>]) -> Complex<f64> {
    let (mut re, mut im) = (0.0f64, 0.0f64);
    for (x, y) in x.iter().zip(y) {
        let [x_re, x_im] = [x.re.to_f64(), x.im.to_f64()];
        let [y_re, y_im] = [y.re.to_f64(), y.im.to_f64()];
        re = x_re.fused(y_re, re);
        re = x_im.fused(y_im, re);
        im = x_re.fused(y_im, im);
        im = (-x_im).fused(y_re, im);
    }
    Complex::new(re, im)
}

/// |x|² of a list of site objects with `words` words each: the exact sum of one double for each site.
pub fn norm2<R: Real>(words: usize, x: &[Complex<R>]) -> f64 {
    let mut sum = ExactSum::new();
    x.chunks_exact(words).for_each(|x| sum.add(site_norm2(x)));
    sum.round()
}

/// ⟨x, y⟩ of two such lists, antilinear in x.
pub fn inner_product<R: Real>(words: usize, x: &[Complex<R>], y: &[Complex<R>]) -> Complex<f64> {
    let mut sum = ExactComplexSum::new();
    x.chunks_exact(words).zip(y.chunks_exact(words)).for_each(|(x, y)| sum.add(site_inner_product(x, y)));
    sum.round()
}

/// The sum of each word over the site objects of a list. It is exact, and every component is a term of its own.
pub fn sum<R: Real>(words: usize, x: &[Complex<R>]) -> Vec<Complex<f64>> {
    let sum_of = |word: usize| {
        let mut sum = ExactComplexSum::new();
        for x in x.chunks_exact(words) {
            sum.add(Complex::new(x[word].re.to_f64(), x[word].im.to_f64()));
        }
        sum.round()
    };
    (0..words).map(sum_of).collect()
}

/// Grid's block reduction of a list of terms, by a plan: what each thread of each block adds, in its order.
pub fn tree_sum(plan: TreePlan, terms: &[f64]) -> f64 {
    let buffer = tree_blocks(plan, terms);
    let mut s = vec![0.0; plan.threads()];
    for (thread, s) in s.iter_mut().enumerate() {
        let mut i = thread;
        while i < plan.blocks() {
            *s += buffer[i];
            i += plan.threads();
        }
    }
    block_reduce(plan, s)
}

/// The sums that the blocks of [`tree_sum`] leave in the buffer. The last block continues with them.
pub fn tree_blocks(plan: TreePlan, terms: &[f64]) -> Vec<f64> {
    let (threads, blocks, n) = (plan.threads(), plan.blocks(), terms.len());
    let mut buffer = Vec::new();
    for block in 0..blocks {
        let mut s = vec![0.0; threads];
        for (thread, s) in s.iter_mut().enumerate() {
            let mut i = block * 2 * threads + thread;
            while i < n {
                *s += terms[i];
                if i + threads < n {
                    *s += terms[i + threads];
                }
                i += 2 * threads * blocks;
            }
        }
        buffer.push(block_reduce(plan, s));
    }
    buffer
}

/// The sum over the threads of a block: each warp by halving, then the warps in order.
fn block_reduce(plan: TreePlan, mut s: Vec<f64>) -> f64 {
    let (threads, warp) = (plan.threads(), plan.warp());
    for first in (0..threads).step_by(warp) {
        let mut k = warp / 2;
        while k >= 1 {
            for vid in 0..k {
                s[first + vid] += s[first + vid + k];
            }
            k /= 2;
        }
    }
    let mut z = 0.0;
    for first in (0..threads).step_by(warp) {
        z += s[first];
    }
    z
}

// §10, conjugate gradients.

/// The stopping criteria of conjugate gradients.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stop {
    /// The residual |r| / |b| at which it has converged.
    pub tolerance: f64,
    /// The maximum number of iterations.
    pub max_iterations: usize,
}

/// The result of conjugate gradients.
#[derive(Clone, PartialEq, Debug)]
pub struct Solution<R> {
    /// The last iterate.
    pub psi: Vec<Complex<R>>,
    /// |r|² after every iteration, starting with the one before the first.
    pub history: Vec<f64>,
    /// Whether it converged.
    pub converged: bool,
}

/// Solves A ψ = b for a Hermitian positive definite A, from `guess`. Fields are lists of spinors.
pub fn cg<R: Real>(
    a: impl Fn(&[Complex<R>]) -> Vec<Complex<R>>,
    b: &[Complex<R>],
    guess: &[Complex<R>],
    stop: Stop,
) -> Solution<R> {
    let target = (stop.tolerance * stop.tolerance) * norm2(SPINOR_WORDS, b);
    let mut psi = guess.to_vec();
    let mut r = b.to_vec();
    if norm2(SPINOR_WORDS, guess) != 0.0 {
        axpy(-1.0, &a(guess), &mut r);
    }
    let mut p = r.clone();
    let mut c = norm2(SPINOR_WORDS, &r);
    let mut history = vec![c];
    let mut converged = c <= target;
    while !converged && history.len() <= stop.max_iterations {
        let q = a(&p);
        let alpha = c / inner_product(SPINOR_WORDS, &p, &q).re;
        axpy(-alpha, &q, &mut r);
        let c_next = norm2(SPINOR_WORDS, &r);
        cg_update(&mut psi, &mut p, &r, alpha, c_next / c);
        c = c_next;
        history.push(c);
        converged = c <= target;
    }
    Solution { psi, history, converged }
}
