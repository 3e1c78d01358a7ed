//! Even-odd preconditioning: the Schur complement on the odd sites (Grid's SchurDiagMooee) of any operator that has even-odd pieces. Mpc = Moo − Moe
//! Mee⁻¹ Meo.

use lanefield_reference::field::Repeated;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Parity, Sites};

use super::traits::acts_as;
use super::traits::{On, fit};
use super::{ActsOn, Operator};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;

/// The even-odd pieces of an operator, which act on all right-hand sides of a field. A field is on one parity, and knows which.
pub trait EvenOdd<B: Backend, R: Vectors>: ActsOn<B> {
    /// out = the part of M (or M†) that connects the parities, on the sites of `out`; ψ is on the other parity.
    ///
    /// # Errors
    /// This function and those below fail if fields do not match, and if the backend fails.
    fn meooe(&mut self, out: &mut On<B, R, Self>, psi: &On<B, R, Self>, dagger: Dagger) -> Result<(), BackendError>;
    /// out = the part of M that stays on a parity.
    fn mooee(&mut self, out: &mut On<B, R, Self>, psi: &On<B, R, Self>, dagger: Dagger) -> Result<(), BackendError>;
    /// out = the inverse of [`Self::mooee`].
    fn mooee_inv(&mut self, out: &mut On<B, R, Self>, psi: &On<B, R, Self>, dagger: Dagger)
    -> Result<(), BackendError>;
    /// out = Mee⁻¹ Meo ψ, with `between` like out. Operators that can do so use one launch; the bits are the same, except in half precision.
    fn inverse_hop(
        &mut self,
        out: &mut On<B, R, Self>,
        between: &mut On<B, R, Self>,
        psi: &On<B, R, Self>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        inverse_hop_in_steps(self, out, between, psi, dagger)
    }
    /// out = Moo χ − Moe ψ, with χ and `between` like out. Operators that can do so use one launch; the bits are the same, except in half precision.
    fn diagonal_minus_hop(
        &mut self,
        out: &mut On<B, R, Self>,
        between: &mut On<B, R, Self>,
        chi: &On<B, R, Self>,
        psi: &On<B, R, Self>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        diagonal_minus_hop_in_steps(self, out, between, chi, psi, dagger)
    }
    /// The factor by which Mpc and the source of its system are multiplied.
    fn schur_factor(&self) -> f64 {
        1.0
    }
    /// Floating-point operations of one Mpc on one right-hand side.
    fn schur_flops(&self) -> u64;
    /// Least number of bytes that one Mpc on one right-hand side moves, with inputs and outputs of each kernel counted once.
    fn schur_bytes(&self) -> u64;
}

/// [`EvenOdd::inverse_hop`] in separate launches.
pub(super) fn inverse_hop_in_steps<B: Backend, R: Vectors, P: EvenOdd<B, R> + ?Sized>(
    pieces: &mut P,
    out: &mut On<B, R, P>,
    between: &mut On<B, R, P>,
    psi: &On<B, R, P>,
    dagger: Dagger,
) -> Result<(), BackendError> {
    pieces.meooe(between, psi, dagger)?;
    pieces.mooee_inv(out, between, dagger)
}

/// [`EvenOdd::diagonal_minus_hop`] in separate launches.
pub(super) fn diagonal_minus_hop_in_steps<B: Backend, R: Vectors, P: EvenOdd<B, R> + ?Sized>(
    pieces: &mut P,
    out: &mut On<B, R, P>,
    between: &mut On<B, R, P>,
    chi: &On<B, R, P>,
    psi: &On<B, R, P>,
    dagger: Dagger,
) -> Result<(), BackendError> {
    pieces.meooe(between, psi, dagger)?;
    pieces.mooee(out, chi, dagger)?;
    pieces.backend().axpy(-1.0, between, out)
}

/// The Schur complement of an operator on the odd sites, with its source and the reconstruction of the even sites.
pub struct SchurComplement<'b, B: Backend, R: Vectors, K: Repeated> {
    pieces: Box<dyn EvenOdd<B, R, Object = K> + Send + 'b>,
    even: [FieldOn<B, R, K>; 2],
    odd: FieldOn<B, R, K>,
}

impl<'b, B: Backend, R: Vectors, K: Repeated> SchurComplement<'b, B, R, K> {
    /// The Schur complement of `pieces`, with its temporary fields.
    ///
    /// # Errors
    /// Fails for a lattice without a checkerboard, and if the backend fails.
    pub fn new(pieces: impl EvenOdd<B, R, Object = K> + Send + 'b) -> Result<Self, BackendError> {
        Self::of(Box::new(pieces))
    }

    fn of(pieces: Box<dyn EvenOdd<B, R, Object = K> + Send + 'b>) -> Result<Self, BackendError> {
        let zeros = |parity| pieces.backend().zeros(pieces.lattice(), Sites::Parity(parity), pieces.object(1));
        let even = [zeros(Parity::Even)?, zeros(Parity::Even)?];
        let odd = zeros(Parity::Odd)?;
        Ok(Self { pieces, even, odd })
    }

    /// Resizes the temporary fields to the right-hand sides of `like`.
    fn fit(&mut self, like: &FieldOn<B, R, K>) -> Result<(), BackendError> {
        let Self { pieces, even, odd } = self;
        for temporary in even.iter_mut().chain([odd]) {
            fit::<B, R, _>(temporary, like, pieces.backend())?;
        }
        Ok(())
    }

    /// The even-odd pieces.
    pub fn pieces(&mut self) -> &mut (dyn EvenOdd<B, R, Object = K> + Send + 'b) {
        &mut *self.pieces
    }

    /// out = η_o − Moe Mee⁻¹ η_e: the right-hand side of Mpc ψ_o = out.
    pub fn odd_source(
        &mut self,
        out: &mut FieldOn<B, R, K>,
        eta_even: &FieldOn<B, R, K>,
        eta_odd: &FieldOn<B, R, K>,
    ) -> Result<(), BackendError> {
        self.fit(eta_odd)?;
        self.pieces.mooee_inv(&mut self.even[0], eta_even, Dagger::No)?;
        self.pieces.meooe(&mut self.odd, &self.even[0], Dagger::No)?;
        let (backend, factor) = (self.pieces.backend(), self.pieces.schur_factor());
        if factor == 1.0 {
            backend.copy(out, eta_odd)?;
            return backend.axpy(-1.0, &self.odd, out);
        }
        // The difference and then the product are rounded.
        let mut difference = backend.zeros(*out.lattice(), out.sites(), out.kind())?;
        backend.copy(&mut difference, eta_odd)?;
        backend.axpy(-1.0, &self.odd, &mut difference)?;
        backend.scale(out, factor, &difference)
    }

    /// out = ψ_e = Mee⁻¹ (η_e − Meo ψ_o).
    pub fn even_solution(
        &mut self,
        out: &mut FieldOn<B, R, K>,
        eta_even: &FieldOn<B, R, K>,
        psi_odd: &FieldOn<B, R, K>,
    ) -> Result<(), BackendError> {
        self.fit(psi_odd)?;
        let Self { pieces, even: [meo_psi, difference], .. } = self;
        pieces.meooe(meo_psi, psi_odd, Dagger::No)?;
        pieces.backend().copy(difference, eta_even)?;
        pieces.backend().axpy(-1.0, meo_psi, difference)?;
        pieces.mooee_inv(out, difference, Dagger::No)
    }
}

acts_as!(SchurComplement<'_, B, R, K>, [B: Backend, R: Vectors, K: Repeated], pieces, K, |this, rhs| this.pieces.object(rhs));

impl<B: Backend, R: Vectors, K: Repeated> Operator<B, R> for SchurComplement<'_, B, R, K> {
    fn sites(&self) -> Sites {
        Sites::Parity(Parity::Odd)
    }

    fn apply(
        &mut self,
        out: &mut FieldOn<B, R, K>,
        psi: &FieldOn<B, R, K>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        self.fit(psi)?;
        let Self { pieces, even: [even, even_inv], odd } = self;
        pieces.inverse_hop(even_inv, even, psi, dagger)?;
        pieces.diagonal_minus_hop(out, odd, psi, even_inv, dagger)
    }

    fn flops(&self) -> u64 {
        self.pieces.schur_flops()
    }
    fn bytes(&self) -> u64 {
        self.pieces.schur_bytes()
    }
}
