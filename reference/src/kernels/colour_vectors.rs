//! What the hops of colour vectors share on the CPU: the sum over the legs of a link times a neighbour's vector, on `wide` vectors, one outer
//! site after the other, rayon tasks of neighbouring outer sites. What a hop makes of the products is its [`LegSum`]. Edges and links are those
//! of `hop.rs`. Counterpart: `cl/colour_vectors.clh`.

use super::hop::{Edge, HopFields, signed_factor, words_at};
use crate::field::ColourVectors;
use crate::layout::{LEGS, Leg, Stencil};
use crate::links::LinkFormat;
use crate::memory::{outer_sites_ahead, prefetch};
use crate::real::Real;
use crate::tasks::{for_each_chunk, items_a_task};
use crate::tensor::lanes::Words;
use crate::tensor::su3::{Left, link_times_vectors, rebuilt_link};
use crate::tensor::{InstructionSet, LaneVector, Task};

/// Bytes a site that have to be moved at least, with `vectors` colour vectors a site: the links and each vector read once, each result
/// written once.
pub fn ideal_bytes_per_site(format: LinkFormat, real_bytes: usize, vectors: usize) -> u64 {
    ((LEGS * format.reals() + 2 * vectors * 2 * ColourVectors::WORDS) * real_bytes) as u64
}

/// Vectors of a site that are taken together where there are so many, so that each link is read, and what is not stored rebuilt, once for them.
const VECTORS_AT_ONCE: usize = 4;

/// How a hop adds the products of its legs, component by component. All of it has to be `#[inline(always)]`.
pub(super) trait LegSum<V: LaneVector>: Sync {
    /// What belongs to a leg at an outer site, beside its product.
    type Sign: Copy;
    /// That of the leg to `point`, in one block of a word.
    fn sign(&self, osite: usize, point: usize, block: usize) -> Self::Sign;
    /// The sum that the first leg begins.
    fn first(sign: Self::Sign, product: V) -> V;
    /// The sum with a later leg.
    fn add(sum: V, sign: Self::Sign, product: V) -> V;
    /// The result, from the sum over all legs.
    fn finish(&self, sum: V) -> V;
}

impl<R: Real> HopFields<'_, R, ColourVectors> {
    /// Runs with words of `blocks` vectors.
    pub(super) fn run<V: LaneVector<Real = R>>(self, blocks: usize, sum: &impl LegSum<V>) {
        const FULL: usize = LinkFormat::Full.words();
        const TWO_ROWS: usize = LinkFormat::TwoRows.words();
        const EIGHT: usize = LinkFormat::Eight.words();
        let one = match V::WORDS {
            Words::OfOne => true,
            Words::OfOneOrSeveral => blocks == 1,
            Words::OfAnyNumber => false,
        };
        match (self.links.kind().format, one) {
            (LinkFormat::Full, true) => self.sweep::<V, FULL, true>(1, sum),
            (LinkFormat::Full, false) => self.sweep::<V, FULL, false>(blocks, sum),
            (LinkFormat::TwoRows, true) => self.sweep::<V, TWO_ROWS, true>(1, sum),
            (LinkFormat::TwoRows, false) => self.sweep::<V, TWO_ROWS, false>(blocks, sum),
            (LinkFormat::Eight, true) => self.sweep::<V, EIGHT, true>(1, sum),
            (LinkFormat::Eight, false) => self.sweep::<V, EIGHT, false>(blocks, sum),
        }
    }

    fn sweep<V: LaneVector<Real = R>, const LINK_WORDS: usize, const ONE_BLOCK: bool>(
        self,
        blocks: usize,
        sum: &impl LegSum<V>,
    ) {
        let vectors = self.source.kind().count();
        let osites_a_task = items_a_task(self.stencil.osites());
        let sweep = Sweep::<V, _, LINK_WORDS, ONE_BLOCK> {
            sum,
            osites_a_task,
            neighbours: self.stencil.neighbours(),
            edges: std::array::from_fn(|point| Edge::new(self.stencil, point, self.links.kind(), blocks)),
            points: self.legs.legs().map(Leg::point),
            links: self.links.vectors(),
            source: self.source.vectors(),
            interior_factor: signed_factor(|_| 1.0),
            blocks,
            vectors,
        };
        let a_task = sweep.an_osite() * osites_a_task;
        for_each_chunk(self.out.vectors_mut::<V>(), a_task, |task, out| V::Set::run(&sweep, (task, out)));
    }
}

/// One block of the words of the colour vectors of an outer site, from number `first` on.
#[derive(Clone, Copy)]
struct At {
    osite: usize,
    first: usize,
    block: usize,
}

/// All that the sum over the legs at one outer site reads.
struct Sweep<'a, V: LaneVector, S, const LINK_WORDS: usize, const ONE_BLOCK: bool> {
    /// How their products are added.
    sum: &'a S,
    osites_a_task: usize,
    neighbours: &'a [u32],
    edges: [Edge<V>; LEGS],
    /// The points of the legs, in the order in which they are added.
    points: [usize; LEGS],
    links: &'a [V],
    source: &'a [V],
    interior_factor: V,
    blocks: usize,
    /// Colour vectors a site.
    vectors: usize,
}

/// The outer sites of a task.
impl<V: LaneVector, S: LegSum<V>, const LINK_WORDS: usize, const ONE_BLOCK: bool> Task<(usize, &mut [V])>
    for Sweep<'_, V, S, LINK_WORDS, ONE_BLOCK>
{
    type Output = ();
    #[inline(always)]
    fn run(&self, (task, out): (usize, &mut [V])) {
        for (k, out) in out.chunks_exact_mut(self.an_osite()).enumerate() {
            for block in 0..self.blocks() {
                self.site(out, task * self.osites_a_task + k, block);
            }
        }
    }
}

impl<V: LaneVector, S: LegSum<V>, const LINK_WORDS: usize, const ONE_BLOCK: bool>
    Sweep<'_, V, S, LINK_WORDS, ONE_BLOCK>
{
    #[inline(always)]
    fn blocks(&self) -> usize {
        if ONE_BLOCK { 1 } else { self.blocks }
    }

    /// Vectors in memory of an outer site.
    #[inline(always)]
    fn an_osite(&self) -> usize {
        ColourVectors::WORDS * self.blocks() * self.vectors
    }

    /// Writes one block of every word of an outer site.
    #[inline(always)]
    fn site(&self, out: &mut [V], osite: usize, block: usize) {
        let mut first = 0;
        while first < self.vectors {
            let at = At { osite, first, block };
            first += match self.vectors - first >= VECTORS_AT_ONCE {
                true => self.store(out, at, self.sum::<VECTORS_AT_ONCE>(at)),
                false => self.store(out, at, self.sum::<1>(at)),
            };
        }
    }

    /// Writes some vectors, and says how many.
    #[inline(always)]
    fn store<const N: usize>(&self, out: &mut [V], at: At, sums: [[V; 3]; N]) -> usize {
        let words = out.chunks_exact_mut(self.blocks()).skip(ColourVectors::WORDS * at.first);
        for (word, value) in words.zip(sums.as_flattened()) {
            word[at.block] = *value;
        }
        N
    }

    /// The sum over the legs, of `N` vectors.
    #[inline(always)]
    fn sum<const N: usize>(&self, at: At) -> [[V; 3]; N] {
        let [first, rest @ ..] = self.points;
        let sign = |point| self.sum.sign(at.osite, point, at.block);
        let (mut sums, of_first) = (self.leg::<N>(first, at), sign(first));
        for sum in sums.as_flattened_mut() {
            *sum = S::first(of_first, *sum);
        }
        for point in rest {
            let (products, sign) = (self.leg::<N>(point, at), sign(point));
            for (sum, product) in sums.as_flattened_mut().iter_mut().zip(products.as_flattened()) {
                *sum = S::add(*sum, sign, *product);
            }
        }
        sums.map(|vector| vector.map(|component| self.sum.finish(component)))
    }

    /// The link of one leg times each of `N` neighbouring vectors.
    #[inline(always)]
    fn leg<const N: usize>(&self, point: usize, at: At) -> [[V; 3]; N] {
        let At { osite, first, block } = at;
        let blocks = self.blocks();
        if block == 0 && first == 0 {
            self.prefetch(osite + outer_sites_ahead(blocks * size_of::<V>()), point);
        }
        let entry = self.neighbours[osite * LEGS + point];
        let at_edge = entry & Stencil::MARK != 0;
        let edge = &self.edges[point];
        let psi = words_at(self.source, neighbour(entry), ColourVectors::WORDS * blocks * self.vectors);
        let mut h = [[V::zeroed(); 3]; N];
        let words = psi.chunks_exact(blocks).skip(ColourVectors::WORDS * first);
        for (h, word) in h.as_flattened_mut().iter_mut().zip(words) {
            *h = if at_edge { edge.permuted(word, block) } else { word[block] };
        }
        let link = words_at(self.links, osite * LEGS + point, LINK_WORDS * blocks);
        let word = |word: usize| link[word * blocks + block];
        if LINK_WORDS == LinkFormat::Full.words() {
            return link_times_vectors(|row, column| Left::new(word(3 * row + column)), h);
        }
        let factor = if at_edge { edge.factor[block] } else { self.interior_factor };
        let rows = rebuilt_link::<V, LINK_WORDS>(word, factor);
        link_times_vectors(|row, column| Left::new(rows[row][column]), h)
    }

    /// Asks for what a leg of an outer site will read: hardware prefetchers do not follow ten streams at once.
    #[inline(always)]
    fn prefetch(&self, osite: usize, point: usize) {
        if let Some(&entry) = self.neighbours.get(osite * LEGS + point) {
            prefetch(words_at(self.source, neighbour(entry), ColourVectors::WORDS * self.blocks() * self.vectors));
            prefetch(words_at(self.links, osite * LEGS + point, LINK_WORDS * self.blocks()));
        }
    }
}

/// The outer site that an entry of a stencil names.
fn neighbour(entry: u32) -> usize {
    (entry & !Stencil::MARK) as usize
}
