//! The contributions of sites to norms and inner products (`docs/arithmetic.md` §8), for eight sites at a time.

use std::marker::PhantomData;

use super::site_words::SiteWords;
use crate::kernels::task_sizes::TaskSizes;
use crate::memory::prefetch_stream;
use crate::tensor::eight::{self, parts};
use crate::tensor::{Doubles, LaneVector};

/// Receives the contributions of sites, `N` doubles each. All expensive methods must be `#[inline(always)]`.
pub(crate) trait Sink<D, const N: usize> {
    /// Receives those of eight lanes. Lane `lane + l` of outer site `osite + o` is in the place k for which [`eight::lane_at`] is o · (lanes of a
    /// vector) + l.
    fn eight(&mut self, osite: usize, lane: usize, terms: [D; N]);
    /// Receives those of one lane.
    fn one(&mut self, osite: usize, lane: usize, terms: [f64; N]);
}

/// Computes contributions from fields whose words are vectors `V`.
#[derive(Clone, Copy)]
pub(crate) struct Contributions<V> {
    /// The number of reals of an outer site.
    an_osite: usize,
    /// The number of vectors of a word.
    blocks: usize,
    words: usize,
    vectors: PhantomData<V>,
}

impl<V: LaneVector> Contributions<V> {
    pub(crate) const LANES: usize = V::REALS / 2;
    /// The best number of outer sites to compute together: one vector of each makes eight lanes.
    pub(crate) const OSITES: usize = eight::osites::<V>();

    /// For fields of this shape, with words of `blocks` vectors.
    pub(crate) fn new(shape: TaskSizes, blocks: usize) -> Self {
        let TaskSizes { an_osite, .. } = shape;
        Self { an_osite, blocks, words: an_osite / (V::REALS * blocks), vectors: PhantomData }
    }

    /// |x|² of each site of a range of outer sites.
    #[inline(always)]
    pub(crate) fn norms(&self, x: &[V::Real], sink: &mut impl Sink<V::Doubles, 1>) {
        let chunks = x.chunks_exact(Self::OSITES * self.an_osite);
        let rest = chunks.remainder();
        for (chunk, x) in chunks.enumerate() {
            let x = Chunk::<V>::new(x);
            for block in 0..self.blocks {
                let mut s = V::Doubles::splat(0.0);
                for word in 0..self.words {
                    let (re, im) = x.eight(word * self.blocks + block);
                    s = re.fused(re, s);
                    s = im.fused(im, s);
                }
                sink.eight(chunk * Self::OSITES, block * Self::LANES, [s]);
            }
        }
        if !rest.is_empty() {
            let first = (x.len() - rest.len()) / self.an_osite;
            let x = self.site_words(rest);
            for site in 0..x.count() {
                sink.one(first + site / x.nsimd, site % x.nsimd, [x.norm2(site)]);
            }
        }
    }

    /// ⟨x, y⟩ of each site of a range of outer sites, real and imaginary part.
    #[inline(always)]
    pub(crate) fn inner_products(&self, x: &[V::Real], y: &[V::Real], sink: &mut impl Sink<V::Doubles, 2>) {
        let a_chunk = Self::OSITES * self.an_osite;
        let (x_chunks, y_chunks) = (x.chunks_exact(a_chunk), y.chunks_exact(a_chunk));
        let (x_rest, y_rest) = (x_chunks.remainder(), y_chunks.remainder());
        for (chunk, (x, y)) in x_chunks.zip(y_chunks).enumerate() {
            let (x, y) = (Chunk::<V>::new(x), Chunk::<V>::new(y));
            for block in 0..self.blocks {
                let [mut s, mut t] = [V::Doubles::splat(0.0); 2];
                for word in 0..self.words {
                    let (x_re, x_im) = x.eight(word * self.blocks + block);
                    let (y_re, y_im) = y.eight(word * self.blocks + block);
                    s = x_re.fused(y_re, s);
                    s = x_im.fused(y_im, s);
                    t = x_re.fused(y_im, t);
                    t = x_im.negate().fused(y_re, t);
                }
                sink.eight(chunk * Self::OSITES, block * Self::LANES, [s, t]);
            }
        }
        if !x_rest.is_empty() {
            let first = (x.len() - x_rest.len()) / self.an_osite;
            let (x, y) = (self.site_words(x_rest), self.site_words(y_rest));
            for site in 0..x.count() {
                sink.one(first + site / x.nsimd, site % x.nsimd, x.inner_product(&y, site));
            }
        }
    }

    /// ⟨x, y⟩ of each site of `osites` outer sites, at most [`Self::OSITES`]. `strides` are the distances of their words in x and in y, in reals.
    #[inline(always)]
    pub(crate) fn inner_products_apart(
        &self,
        osites: usize,
        (x, x_stride): (&[V::Real], usize),
        (y, y_stride): (&[V::Real], usize),
        sink: &mut impl Sink<V::Doubles, 2>,
    ) {
        if osites == Self::OSITES {
            let (x, y) = (Chunk::<V>::apart(x, x_stride), Chunk::<V>::apart(y, y_stride));
            for block in 0..self.blocks {
                let [mut s, mut t] = [V::Doubles::splat(0.0); 2];
                for word in 0..self.words {
                    let (x_re, x_im) = x.eight_once_more(word * self.blocks + block);
                    let (y_re, y_im) = y.eight_once_more(word * self.blocks + block);
                    s = x_re.fused(y_re, s);
                    s = x_im.fused(y_im, s);
                    t = x_re.fused(y_im, t);
                    t = x_im.negate().fused(y_re, t);
                }
                sink.eight(0, block * Self::LANES, [s, t]);
            }
            return;
        }
        for osite in 0..osites {
            let x = self.site_words(&x[osite * x_stride..][..self.an_osite]);
            let y = self.site_words(&y[osite * y_stride..][..self.an_osite]);
            for site in 0..x.count() {
                sink.one(osite, site, x.inner_product(&y, site));
            }
        }
    }

    /// Outer sites that do not make eight lanes, to be read site by site.
    fn site_words<'a>(&self, osites: &'a [V::Real]) -> SiteWords<'a, V::Real> {
        SiteWords { field: bytemuck::cast_slice(osites), words: self.words, nsimd: self.blocks * Self::LANES }
    }
}

/// The vectors of outer sites, one vector of each of which makes eight lanes.
struct Chunk<'a, V> {
    vectors: &'a [V],
    /// The number of vectors of an outer site.
    an_osite: usize,
}

impl<'a, V: LaneVector> Chunk<'a, V> {
    const OSITES: usize = eight::osites::<V>();

    #[inline(always)]
    fn new(reals: &'a [V::Real]) -> Self {
        Self { vectors: bytemuck::cast_slice(reals), an_osite: reals.len() / V::REALS / Self::OSITES }
    }

    /// Outer sites whose words begin `stride` reals apart.
    #[inline(always)]
    fn apart(reals: &'a [V::Real], stride: usize) -> Self {
        Self { vectors: bytemuck::cast_slice(reals), an_osite: stride / V::REALS }
    }

    /// Real and imaginary parts of eight lanes, from vector `vector` of each outer site. Over all vectors, it prefetches all lines of a later chunk.
    #[inline(always)]
    fn eight(&self, vector: usize) -> (V::Doubles, V::Doubles) {
        const CACHE_LINE: usize = 64;
        for k in (0..Self::OSITES).step_by(CACHE_LINE.div_ceil(size_of::<V>())) {
            prefetch_stream(&self.vectors[vector * Self::OSITES + k]);
        }
        self.eight_once_more(vector)
    }

    /// As [`Self::eight`], without prefetching, for numbers that are read again and are in a cache.
    #[inline(always)]
    fn eight_once_more(&self, vector: usize) -> (V::Doubles, V::Doubles) {
        parts(|osite| &self.vectors[osite * self.an_osite + vector])
    }
}
