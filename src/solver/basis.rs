//! A basis of many vectors, stored in fields of a few right-hand sides each. Overlaps with all of them, and linear combinations, read each vector
//! once.

use lanefield_reference::field::Repeated;
use num_complex::Complex;

use crate::backend::{Backend, BackendError, FieldOn, Sum};
use crate::kernel::prelude::*;

/// Number of vectors per field.
const OF_FIELD: usize = 8;

/// Vectors v_0, v_1, … in f64.
pub(super) struct Basis<B: Backend, K: Repeated> {
    /// Each has [`OF_FIELD`] vectors; unused ones in the last field are zero.
    fields: Vec<FieldOn<B, f64, K>>,
    parts: usize,
    len: usize,
}

impl<B: Backend, K: Repeated> Basis<B, K> {
    /// An empty basis for vectors with this number of components.
    pub(super) fn new(parts: usize) -> Self {
        Self { fields: Vec::new(), parts, len: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Zeros for [`OF_FIELD`] vectors with the layout of this one.
    fn zeros(&self, backend: &B, like: &FieldOn<B, f64, K>) -> Result<FieldOn<B, f64, K>, BackendError> {
        backend.zeros(*like.lattice(), like.sites(), K::repeated(OF_FIELD * self.parts))
    }

    /// Adds a vector.
    pub(super) fn push(&mut self, backend: &B, vector: &FieldOn<B, f64, K>) -> Result<(), BackendError> {
        let place = self.len % OF_FIELD;
        if place == 0 {
            self.fields.push(self.zeros(backend, vector)?);
        }
        if let Some(last) = self.fields.last_mut() {
            backend.put_rhs(last, vector, &[place], self.parts)?;
        }
        self.len += 1;
        Ok(())
    }

    /// A copy of the vector with this number.
    pub(super) fn vector(&self, backend: &B, number: usize) -> Result<FieldOn<B, f64, K>, BackendError> {
        backend.take_rhs(&self.fields[number / OF_FIELD], &[number % OF_FIELD], self.parts)
    }

    /// The fields, [`OF_FIELD`] vectors each, with the number of the first vector and the number of vectors in use.
    pub(super) fn fields(&self) -> impl Iterator<Item = (usize, usize, &FieldOn<B, f64, K>)> {
        let numbered = (0..).step_by(OF_FIELD).zip(&self.fields);
        numbered.map(|(first, field)| (first, OF_FIELD.min(self.len - first), field))
    }

    /// ⟨v_i, w_j⟩ of each vector with each right-hand side of w, row by row.
    pub(super) fn overlaps(&self, backend: &B, w: &FieldOn<B, f64, K>) -> Result<Vec<Complex<f64>>, BackendError> {
        let of_w = w.kind().parts() / self.parts;
        let mut overlaps = Vec::with_capacity(self.len * of_w);
        for (_, used, field) in self.fields() {
            let products = backend.rhs_gram(field, w, self.parts, Sum::Exact)?;
            overlaps.extend_from_slice(&products[..used * of_w]);
        }
        Ok(overlaps)
    }

    /// w_j ← w_j + Σ v_i m_ij; m has a row for each vector.
    pub(super) fn add(&self, backend: &B, m: &[Complex<f64>], w: &mut FieldOn<B, f64, K>) -> Result<(), BackendError> {
        let of_w = w.kind().parts() / self.parts;
        for (first, used, field) in self.fields() {
            // Unused vectors have a factor of zero.
            let mut factors = m[first * of_w..][..used * of_w].to_vec();
            factors.resize(OF_FIELD * of_w, Complex::default());
            backend.rhs_madd(&factors, field, w, self.parts)?;
        }
        Ok(())
    }

    /// Removes from w its projection on the basis, twice, so that the rest is orthogonal to rounding. Returns w and the overlaps that it had.
    pub(super) fn orthogonalize(
        &self,
        backend: &B,
        w: &mut FieldOn<B, f64, K>,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        let mut all = vec![Complex::default(); self.len];
        for _ in 0..2 {
            let overlaps = self.overlaps(backend, w)?;
            let back: Vec<_> = overlaps.iter().map(|z| -z).collect();
            self.add(backend, &back, w)?;
            all.iter_mut().zip(&overlaps).for_each(|(all, z)| *all += z);
        }
        Ok(all)
    }

    /// The vectors Σ v_i m_ik for the given columns k of a real m, which has a row for each vector.
    pub(super) fn rotated(
        &self,
        backend: &B,
        m: impl Fn(usize, usize) -> f64,
        columns: &[usize],
    ) -> Result<Self, BackendError> {
        let mut rotated = Self { fields: Vec::new(), parts: self.parts, len: columns.len() };
        for columns in columns.chunks(OF_FIELD) {
            let Some(first) = self.fields.first() else { break };
            let mut field = self.zeros(backend, first)?;
            let factor = |k: usize| columns.get(k % OF_FIELD).map_or(0.0, |&column| m(k / OF_FIELD, column));
            let factors: Vec<_> = (0..self.len * OF_FIELD).map(|k| Complex::new(factor(k), 0.0)).collect();
            self.add(backend, &factors, &mut field)?;
            rotated.fields.push(field);
        }
        Ok(rotated)
    }
}
