//! The words of fields, read site by site in f64.

use num_complex::Complex;

use crate::field::FieldData;
use crate::real::Real;

/// The words of a field, for reading site by site.
#[derive(Clone, Copy)]
pub(crate) struct SiteWords<'a, R> {
    pub(crate) field: &'a [Complex<R>],
    pub(crate) words: usize,
    pub(crate) nsimd: usize,
}

impl<'a, R: Real> SiteWords<'a, R> {
    pub(in super::super) fn of(field: &'a FieldData<R>) -> Self {
        Self { field: field.words(), words: field.object().words(), nsimd: field.lattice().nsimd() }
    }

    pub(in super::super) fn count(&self) -> usize {
        self.field.len() / self.words
    }

    /// Word `word` of a site, in f64.
    #[inline(always)]
    pub(super) fn word(&self, osite: usize, lane: usize, word: usize) -> [f64; 2] {
        let Complex { re, im } = self.field[(osite * self.words + word) * self.nsimd + lane];
        [re.to_f64(), im.to_f64()]
    }

    /// |x|² of site number `element` in memory.
    #[inline(always)]
    pub(in super::super) fn norm2(&self, element: usize) -> f64 {
        let (osite, lane) = (element / self.nsimd, element % self.nsimd);
        let mut s = 0.0;
        for word in 0..self.words {
            let [re, im] = self.word(osite, lane, word);
            s = im.fused_here(im, re.fused_here(re, s));
        }
        s
    }

    /// ⟨x, y⟩ of a site.
    #[inline(always)]
    pub(super) fn inner_product(&self, y: &Self, element: usize) -> [f64; 2] {
        let (osite, lane) = (element / self.nsimd, element % self.nsimd);
        let [mut s, mut t] = [0.0; 2];
        for word in 0..self.words {
            let ([x_re, x_im], [y_re, y_im]) = (self.word(osite, lane, word), y.word(osite, lane, word));
            s = x_im.fused_here(y_im, x_re.fused_here(y_re, s));
            t = (-x_im).fused_here(y_re, x_re.fused_here(y_im, t));
        }
        [s, t]
    }
}
