//! The Wilson hop (Grid's Dhop) on the CPU: `docs/arithmetic.md` §6 with `wide` vectors. It visits rows of outer sites in an order that suits caches
//! (`blocks.rs`). Counterpart: `cl/hop.cl`.

pub use crate::dagger::Dagger;

use super::blocks::for_each_row;
use super::checks::check_place;
use super::with_vectors::LaneOperation;
use crate::field::{Field, FieldError, SiteObject, Spinors};
use crate::half::Half;
use crate::layout::{DIMENSIONS, LEGS, LaneWidth, Leg, LegOrder, Stencil};
use crate::links::{DoubledGauge, LinkFormat, Phase};
use crate::memory::{fence, is_past_caches, links_ahead, outer_sites_ahead, prefetch, prefetch_slice_far};
use crate::real::Real;
use crate::tasks::items_a_task;
use crate::tensor::spin::{FullSpinor, accumulate, project};
use crate::tensor::su3::{HalfSpinor, Left, link_times_half_spinor, third_row, two_rows};
use crate::tensor::{InstructionSet, LaneVector, Task};

/// Floating-point operations for a site, as Grid and QUDA count them: 8 legs with 2 matrix-vector products (66 each) and projections (12), and 7
/// sums of spinors (24).
pub const FLOPS_PER_SITE: u64 = 1320;

/// Ideal bytes for a site: each input is read once, the output is written once.
pub fn ideal_bytes_per_site(format: LinkFormat, real_bytes: usize) -> u64 {
    ((LEGS * format.reals() + 2 * 2 * Spinors::WORDS) * real_bytes) as u64
}

/// Ideal bytes for a spinor if each site has `count` of them. The links of a site are read once for all.
pub fn ideal_bytes_per_spinor(format: LinkFormat, real_bytes: usize, count: usize) -> f64 {
    ((LEGS * format.reals()) as f64 / count as f64 + (2 * 2 * Spinors::WORDS) as f64) * real_bytes as f64
}

/// out = hop(source) at the stencil's sites, for each spinor.
///
/// # Errors
/// [`FieldError::Mismatch`] unless links and `out` are on the stencil's lattice and sites, the source is on the sites of their neighbours, and the
/// source has as many spinors at a site as `out`.
pub fn hop<R: Compiled>(out: &mut Field<R, Spinors>, term: HostHop<'_, R>) -> Result<(), FieldError> {
    let hop = Hop::checked(out, term)?;
    R::run_hop(hop.fields.width(), hop);
    Ok(())
}

/// A hop whose result a kernel uses: all arguments except the result. Stencil, links and source are those of a backend.
pub struct HopTerm<'a, S, L, F> {
    /// The neighbours of the target sites.
    pub stencil: &'a S,
    /// The doubled links of the target sites.
    pub links: &'a L,
    /// The field to which the hop is applied.
    pub source: &'a F,
    /// The leg order.
    pub legs: LegOrder,
    /// Whether it is the Hermitian conjugate of the hop.
    pub dagger: Dagger,
}

// Not derived: that would ask it of what is referred to.
impl<S, L, F> Clone for HopTerm<'_, S, L, F> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S, L, F> Copy for HopTerm<'_, S, L, F> {}

/// A [`HopTerm`] on the CPU.
pub type HostHop<'a, R> = HopTerm<'a, Stencil, Field<R, DoubledGauge>, Field<R, Spinors>>;

/// The fields of a hop on `K` objects.
#[doc(hidden)]
pub struct HopFields<'a, R, K> {
    pub(super) out: &'a mut Field<R, K>,
    pub(super) stencil: &'a Stencil,
    pub(super) links: &'a Field<R, DoubledGauge>,
    pub(super) source: &'a Field<R, K>,
    pub(super) legs: LegOrder,
}

impl<R: Real, K: SiteObject> HopFields<'_, R, K> {
    /// Refuses fields that do not match; `what` names links, result and source.
    pub(super) fn checked(self, what: [&'static str; 3]) -> Result<Self, FieldError> {
        let Self { ref out, stencil, links, source, .. } = self;
        let (lattice, sites) = (stencil.lattice(), stencil.sites());
        check_place(what[0], links, lattice, sites)?;
        check_place(what[1], out, lattice, sites)?;
        check_place(what[2], source, lattice, sites.neighbours())?;
        match source.kind() == out.kind() {
            true => Ok(self),
            false => Err(FieldError::Mismatch { what: what[2], left: source.describe(), right: out.describe() }),
        }
    }

    pub(super) fn width(&self) -> LaneWidth {
        self.stencil.lattice().width()
    }
}

impl<K: SiteObject> HopFields<'_, Half, K> {
    /// Runs the hop in f32, and rounds its result.
    pub(super) fn in_f32(self, run: impl FnOnce(HopFields<'_, f32, K>)) {
        let Self { out, stencil, links, source, legs } = self;
        let (links, source) = (links.as_f32(), source.as_f32());
        out.in_f32(|out| run(HopFields { out, stencil, links, source, legs }));
    }
}

compiled! {
    fn run_hop(width, Hop { fields, dagger }) {
        fields.in_f32(|fields| f32::run_hop(width, Hop { fields, dagger }));
    }
}

/// A hop whose fields have been checked.
#[doc(hidden)]
pub struct Hop<'a, R> {
    pub(super) fields: HopFields<'a, R, Spinors>,
    pub(super) dagger: Dagger,
}

impl<R: Real> LaneOperation<R> for Hop<'_, R> {
    type Output = ();

    fn run<V: LaneVector<Real = R>>(self, blocks: usize) {
        self.run_and::<V>(blocks, &HopSum);
    }
}

impl<'a, R: Real> Hop<'a, R> {
    pub(super) fn checked(out: &'a mut Field<R, Spinors>, term: HostHop<'a, R>) -> Result<Self, FieldError> {
        let HopTerm { stencil, links, source, legs, dagger } = term;
        let what = ["the hop's links", "the hop's result", "the hop's source"];
        Ok(Self { fields: HopFields { out, stencil, links, source, legs }.checked(what)?, dagger })
    }

    /// The number of spinors at a site.
    pub(super) fn parts(&self) -> usize {
        self.fields.source.kind().count()
    }

    /// Runs with words of `blocks` vectors, and stores the result of `finish` for each sum over the legs.
    pub(super) fn run_and<V: LaneVector<Real = R>>(self, blocks: usize, finish: &impl HopFinish<V>) {
        const FULL: usize = LinkFormat::Full.words();
        const TWO_ROWS: usize = LinkFormat::TwoRows.words();
        const EIGHT: usize = LinkFormat::Eight.words();
        let one = V::ONE_BLOCK;
        match (self.fields.links.kind().format, one) {
            (LinkFormat::Full, true) => self.sweep::<V, _, FULL, true>(1, finish),
            (LinkFormat::Full, false) => self.sweep::<V, _, FULL, false>(blocks, finish),
            (LinkFormat::TwoRows, true) => self.sweep::<V, _, TWO_ROWS, true>(1, finish),
            (LinkFormat::TwoRows, false) => self.sweep::<V, _, TWO_ROWS, false>(blocks, finish),
            (LinkFormat::Eight, true) => self.sweep::<V, _, EIGHT, true>(1, finish),
            (LinkFormat::Eight, false) => self.sweep::<V, _, EIGHT, false>(blocks, finish),
        }
    }

    fn sweep<V: LaneVector<Real = R>, F: HopFinish<V>, const LINK_WORDS: usize, const ONE_BLOCK: bool>(
        self,
        blocks: usize,
        finish: &F,
    ) {
        let Self { fields: HopFields { out, stencil, links, source, legs }, dagger } = self;
        let outer = stencil.lattice().outer_extents(stencil.sites());
        let sweep = HopSweep::<V, F, LINK_WORDS, ONE_BLOCK> {
            finish,
            row: outer[0],
            neighbours: stencil.neighbours()[..stencil.osites() * LEGS].as_chunks().0,
            edges: std::array::from_fn(|point| Edge::new(stencil, point, links.kind(), blocks)),
            points: legs.legs().map(Leg::point),
            dagger: dagger == Dagger::Yes,
            links: links.vectors(),
            source: source.vectors_with_ghosts(),
            interior_factor: signed_factor(|_| 1.0),
            blocks,
            parts: source.kind().count(),
            past_caches: ONE_BLOCK && is_past_caches(out.shape().device_bytes()),
        };
        let rows_a_task = items_a_task(stencil.osites()).div_ceil(outer[0]);
        let row_bytes = outer[0] * (sweep.link_vectors() + 2 * sweep.parts * Spinors::WORDS * blocks) * size_of::<V>();
        let out = out.vectors_mut::<V>();
        for_each_row(out, (outer, row_bytes), rows_a_task, |number, out| V::Set::run(&sweep, (number, out)));
    }
}

/// What a kernel does with the sum over the legs.
pub(super) trait HopFinish<V: LaneVector>: Sync {
    /// The result, for one block of the words of a spinor. It must be `#[inline(always)]`.
    fn finish(&self, at: VectorPlace, sum: FullSpinor<V>) -> FullSpinor<V>;
}

struct HopSum;

impl<V: LaneVector> HopFinish<V> for HopSum {
    #[inline(always)]
    fn finish(&self, _: VectorPlace, sum: FullSpinor<V>) -> FullSpinor<V> {
        sum
    }
}

/// Writes one block of every word of a site.
#[inline(always)]
pub(super) fn store<V: LaneVector>(out: &mut [V], blocks: usize, block: usize, sum: FullSpinor<V>) {
    for (word, value) in out.chunks_exact_mut(blocks).zip(sum.as_flattened()) {
        word[block] = *value;
    }
}

/// (f, −f) in every lane, with f = −2·φ' for the phase φ' of the link of the lane.
pub(super) fn signed_factor<V: LaneVector>(phase: impl Fn(usize) -> f64) -> V {
    V::from_reals(|k| V::Real::from_f64(if k % 2 == 0 { -2.0 * phase(k / 2) } else { 2.0 * phase(k / 2) }))
}

/// The phase of links across the boundary of a dimension that is not included in the stored reals.
pub(super) fn phase_across(dimension: usize, links: DoubledGauge) -> f64 {
    match (links.boundary.phase(dimension), links.format) {
        (Phase::Antiperiodic, _) => -1.0,
        // The zeros of the other formats are stored.
        (Phase::Fixed, LinkFormat::Eight) => 0.0,
        _ => 1.0,
    }
}

/// The data of a leg at outer sites from which it leaves the virtual node.
pub(super) struct Edge<V: LaneVector> {
    /// The source of each block of a word.
    blocks: Vec<Vec<LanesOfNeighbour<V>>>,
    /// The factors of rebuilt rows, one vector for each block.
    pub(super) factor: Vec<V>,
}

/// A vector of a neighbour's word, of which some lanes belong to a block.
struct LanesOfNeighbour<V: LaneVector> {
    block: usize,
    permutation: V::Permutation,
    /// Sign bits in the places that come from this vector.
    mask: V,
}

impl<V: LaneVector> Edge<V> {
    pub(super) fn new(stencil: &Stencil, point: usize, links: DoubledGauge, blocks: usize) -> Self {
        let nsimd = stencil.lattice().nsimd();
        let steps = &stencil.lane_steps()[point * nsimd..][..nsimd];
        let positions: Vec<u32> = (0..2 * nsimd).map(|k| 2 * (steps[k / 2] & !Stencil::MARK) + k as u32 % 2).collect();
        let across = phase_across(point % DIMENSIONS, links);
        let phase = |lane: usize| if steps[lane] & Stencil::MARK != 0 { across } else { 1.0 };
        Self {
            blocks: positions.chunks_exact(V::REALS).map(LanesOfNeighbour::all).collect(),
            factor: (0..blocks).map(|block| signed_factor(|lane| phase(block * V::REALS / 2 + lane))).collect(),
        }
    }

    /// One block of a neighbour's word, with permuted lanes.
    #[inline(always)]
    pub(super) fn permuted(&self, word: &[V], block: usize) -> V {
        let [first, others @ ..] = &self.blocks[block][..] else { return word[block] };
        let mut permuted = word[first.block].permute(&first.permutation);
        for source in others {
            permuted = permuted.blend(word[source.block].permute(&source.permutation), source.mask);
        }
        permuted
    }

    /// The permuted lanes of a vector that is the whole word.
    #[inline(always)]
    pub(super) fn permuted_word(&self, word: V) -> V {
        word.permute(&self.blocks[0][0].permutation)
    }
}

impl<V: LaneVector> LanesOfNeighbour<V> {
    /// All sources of a block whose reals come from these positions of the word.
    fn all(positions: &[u32]) -> Vec<Self> {
        let reals = V::REALS as u32;
        let mut blocks: Vec<u32> = positions.iter().map(|position| position / reals).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let in_vector: Vec<u32> = positions.iter().map(|position| position % reals).collect();
        let sign = |from_here: bool| V::Real::from_f64(if from_here { -0.0 } else { 0.0 });
        let source = |block: u32| Self {
            block: block as usize,
            permutation: V::permutation(&in_vector),
            mask: V::from_reals(|k| sign(positions[k] / reals == block)),
        };
        blocks.into_iter().map(source).collect()
    }
}

/// One block of the words of one spinor of an outer site.
#[derive(Clone, Copy)]
pub(super) struct VectorPlace {
    pub osite: usize,
    pub part: usize,
    pub block: usize,
}

/// The data that the sum over the legs at an outer site reads.
struct HopSweep<'a, V: LaneVector, F, const LINK_WORDS: usize, const ONE_BLOCK: bool> {
    finish: &'a F,
    /// The number of outer sites of a row.
    row: usize,
    neighbours: &'a [[u32; LEGS]],
    edges: [Edge<V>; LEGS],
    /// The points of the legs, in leg order.
    points: [usize; LEGS],
    dagger: bool,
    links: &'a [V],
    source: &'a [V],
    interior_factor: V,
    blocks: usize,
    /// The number of spinors at a site.
    parts: usize,
    /// Whether the result is written past the caches.
    past_caches: bool,
}

/// Runs `$body` with a dimension, and whether it projects with 1 + γ, as constants `$D` and `$P`.
macro_rules! with_projector {
    ($dimension:expr, $plus:expr, |$D:ident, $P:ident| $body:expr) => {
        match ($dimension, $plus) {
            (0, false) => with_projector!(0, false, $D, $P, $body),
            (1, false) => with_projector!(1, false, $D, $P, $body),
            (2, false) => with_projector!(2, false, $D, $P, $body),
            (_, false) => with_projector!(3, false, $D, $P, $body),
            (0, true) => with_projector!(0, true, $D, $P, $body),
            (1, true) => with_projector!(1, true, $D, $P, $body),
            (2, true) => with_projector!(2, true, $D, $P, $body),
            (_, true) => with_projector!(3, true, $D, $P, $body),
        }
    };
    ($d:literal, $p:literal, $D:ident, $P:ident, $body:expr) => {{
        const $D: usize = $d;
        const $P: bool = $p;
        $body
    }};
}

/// A row of outer sites: its number, and its words.
impl<V: LaneVector, F: HopFinish<V>, const LINK_WORDS: usize, const ONE_BLOCK: bool> Task<(usize, &mut [V])>
    for HopSweep<'_, V, F, LINK_WORDS, ONE_BLOCK>
{
    type Output = ();
    #[inline(always)]
    fn run(&self, (number, out): (usize, &mut [V])) {
        let blocks = self.blocks();
        for (k, out) in out.chunks_exact_mut(Spinors::WORDS * blocks).enumerate() {
            for block in 0..blocks {
                let at = VectorPlace { osite: number * self.row + k / self.parts, part: k % self.parts, block };
                let result = self.finish.finish(at, self.sum(at));
                match self.past_caches {
                    true => {
                        out.iter_mut().zip(result.as_flattened()).for_each(|(out, word)| word.store_past_caches(out));
                    }
                    false => store(out, blocks, block, result),
                }
            }
        }
        if self.past_caches {
            fence();
        }
    }
}

impl<V: LaneVector, F, const LINK_WORDS: usize, const ONE_BLOCK: bool> HopSweep<'_, V, F, LINK_WORDS, ONE_BLOCK> {
    #[inline(always)]
    fn blocks(&self) -> usize {
        if ONE_BLOCK { 1 } else { self.blocks }
    }

    /// Vectors of the links of an outer site.
    #[inline(always)]
    fn link_vectors(&self) -> usize {
        LEGS * LINK_WORDS * self.blocks()
    }

    /// The sum over the legs. It is a loop, so that the compiler keeps the sums and the data of a leg in registers. With eight copies of the code in
    /// a row, the compiler does all loads first and the arithmetic last, with all of the data in memory in between.
    #[inline(always)]
    fn sum(&self, at: VectorPlace) -> FullSpinor<V> {
        let VectorPlace { osite, part, .. } = at;
        let (blocks, block) = (self.blocks(), if ONE_BLOCK { 0 } else { at.block });
        let neighbours = &self.neighbours[osite];
        // −0 + x is x, and −0 − x is −x, also for zeros: so the first leg assigns.
        let mut sum = [[V::splat(V::Real::from_f64(-0.0)); 3]; 4];
        for point in self.points {
            if block == 0 {
                self.prefetch(osite, part, point, blocks);
            }
            // Forward legs take 1 − γ, backward ones 1 + γ, and the other way round with dagger.
            let (dimension, plus) = (point % DIMENSIONS, (point >= DIMENSIONS) != self.dagger);
            let entry = neighbours[point];
            let at_edge = entry & Stencil::MARK != 0;
            let neighbour = (entry & !Stencil::MARK) as usize * self.parts + part;
            let h = self.projected(neighbour, dimension, plus, at_edge.then_some(&self.edges[point]), block);
            let link = words_at(self.links, osite * LEGS + point, LINK_WORDS * blocks);
            let word = |word: usize| &link[word * blocks + block];
            let factor = if at_edge { self.edges[point].factor[block] } else { self.interior_factor };
            let w = match LINK_WORDS {
                9 => link_times_half_spinor(|row, column| Left::at(word(3 * row + column)), h),
                6 => {
                    let row0 = [Left::at(word(0)), Left::at(word(1)), Left::at(word(2))];
                    let third = third_row(row0, [*word(3), *word(4), *word(5)], factor);
                    let left = |row, column| match row {
                        2 => Left::new(third[column]),
                        _ => Left::at(word(3 * row + column)),
                    };
                    link_times_half_spinor(left, h)
                }
                _ => {
                    let [row0, row1] = two_rows([*word(0), *word(1), *word(2), *word(3)], factor);
                    let row0 = [Left::new(row0[0]), Left::new(row0[1]), Left::new(row0[2])];
                    let third = third_row(row0, row1, factor);
                    let left = |row, column| match row {
                        0 => row0[column],
                        1 => Left::new(row1[column]),
                        _ => Left::new(third[column]),
                    };
                    link_times_half_spinor(left, h)
                }
            };
            with_projector!(dimension, plus, |D, P| accumulate::<V, D, P>(&mut sum, w));
        }
        sum
    }

    /// The two independent rows of a neighbour, with permuted lanes.
    #[inline(always)]
    fn projected(
        &self,
        neighbour: usize,
        dimension: usize,
        plus: bool,
        edge: Option<&Edge<V>>,
        block: usize,
    ) -> HalfSpinor<V> {
        let blocks = self.blocks();
        let psi = words_at(self.source, neighbour, Spinors::WORDS * blocks);
        let word = |spin: usize, colour: usize| psi[(3 * spin + colour) * blocks + block];
        match edge {
            Some(edge) if !ONE_BLOCK => {
                let mut permuted = [[V::zeroed(); 3]; 4];
                for (permuted, word) in permuted.as_flattened_mut().iter_mut().zip(psi.chunks_exact(blocks)) {
                    *permuted = edge.permuted(word, block);
                }
                with_projector!(dimension, plus, |D, P| project::<V, D, P>(|spin, colour| permuted[spin][colour]))
            }
            _ => {
                let mut h = with_projector!(dimension, plus, |D, P| project::<V, D, P>(word));
                // Lanes move as well after the projection as before it.
                if let Some(edge) = edge {
                    for word in h.as_flattened_mut() {
                        *word = edge.permuted_word(*word);
                    }
                }
                h
            }
        }
    }

    /// Prefetches what a leg of the next spinor, or of one of the next outer sites, will read: hardware prefetchers cannot follow ten streams at
    /// once.
    #[inline(always)]
    fn prefetch(&self, osite: usize, part: usize, point: usize, blocks: usize) {
        let next_osite = part + 1 == self.parts;
        let ahead = if self.parts == 1 { outer_sites_ahead(blocks * size_of::<V>()) } else { 1 };
        let (osite, part) = if next_osite { (osite + ahead, 0) } else { (osite, part + 1) };
        if let Some(entries) = self.neighbours.get(osite) {
            let neighbour = (entries[point] & !Stencil::MARK) as usize;
            prefetch(words_at(self.source, neighbour * self.parts + part, Spinors::WORDS * blocks));
            if next_osite {
                prefetch(words_at(self.links, osite * LEGS + point, LINK_WORDS * blocks));
            }
        }
        let far = osite + links_ahead(self.link_vectors() * size_of::<V>());
        if next_osite && far < self.neighbours.len() {
            prefetch_slice_far(words_at(self.links, far * LEGS + point, LINK_WORDS * blocks));
        }
    }
}

/// The words of object number `index`, of `length` vectors in all, with a single bounds check.
#[inline(always)]
pub(super) fn words_at<V>(words: &[V], index: usize, length: usize) -> &[V] {
    &words[index * length..][..length]
}
