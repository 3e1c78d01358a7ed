//! Even-odd preconditioning: the Schur complement on the odd sites, Grid's SchurDiagMooee, for any operator that has even-odd
//! pieces. Mpc = Moo − Moe Mee⁻¹ Meo.

use lanefield_reference::field::Spinor;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Parity, Sites};

use super::Operator;
use super::hop::number_of_sites;
use super::wilson::{AXPY_FLOPS, spinor_bytes};
use crate::backend::{Backend, BackendError};

/// The even-odd pieces of an operator. Fields live on one parity; which, a field knows.
pub trait EvenOdd<B: Backend, R: Vectors> {
    /// The backend that runs it.
    fn backend(&self) -> &B;
    /// The lattice that it acts on.
    fn lattice(&self) -> Lattice;
    /// out = the part of M (with dagger: of M†) that connects parities, on the sites of `out`; ψ lives on the others.
    ///
    /// # Errors
    /// Fields that do not match; what the backend reports; as for all functions here.
    fn meooe(
        &mut self,
        out: &mut B::Field<R, Spinor>,
        psi: &B::Field<R, Spinor>,
        dagger: Dagger,
    ) -> Result<(), BackendError>;
    /// out = the part of M that stays on a parity.
    ///
    /// # Errors
    /// As [`Self::meooe`].
    fn mooee(
        &mut self,
        out: &mut B::Field<R, Spinor>,
        psi: &B::Field<R, Spinor>,
        dagger: Dagger,
    ) -> Result<(), BackendError>;
    /// out = its inverse.
    ///
    /// # Errors
    /// As [`Self::meooe`].
    fn mooee_inv(
        &mut self,
        out: &mut B::Field<R, Spinor>,
        psi: &B::Field<R, Spinor>,
        dagger: Dagger,
    ) -> Result<(), BackendError>;
    /// Floating-point operations of one [`Self::meooe`].
    fn meooe_flops(&self) -> u64;
    /// Bytes that one [`Self::meooe`] has to move at least.
    fn meooe_bytes(&self) -> u64;
    /// Floating-point operations of one [`Self::mooee`] or its inverse.
    fn mooee_flops(&self) -> u64;
    /// Bytes that one [`Self::mooee`] or its inverse has to move at least.
    fn mooee_bytes(&self) -> u64;
}

/// The Schur complement of an operator on the odd sites, and the way there and back.
pub struct SchurComplement<B: Backend, R: Vectors, P> {
    pieces: P,
    even: [B::Field<R, Spinor>; 2],
    odd: B::Field<R, Spinor>,
}

impl<B: Backend, R: Vectors, P: EvenOdd<B, R>> SchurComplement<B, R, P> {
    /// The Schur complement of `pieces`, with its temporary fields.
    ///
    /// # Errors
    /// A lattice without parities; what the backend reports.
    pub fn new(pieces: P) -> Result<Self, BackendError> {
        let zeros = |parity| pieces.backend().zeros(pieces.lattice(), Sites::Parity(parity), Spinor);
        let even = [zeros(Parity::Even)?, zeros(Parity::Even)?];
        let odd = zeros(Parity::Odd)?;
        Ok(Self { pieces, even, odd })
    }

    /// The pieces.
    pub fn pieces(&mut self) -> &mut P {
        &mut self.pieces
    }

    /// out = η_o − Moe Mee⁻¹ η_e: the right-hand side of Mpc ψ_o = out.
    ///
    /// # Errors
    /// As [`Operator::apply`].
    pub fn odd_source(
        &mut self,
        out: &mut B::Field<R, Spinor>,
        eta_even: &B::Field<R, Spinor>,
        eta_odd: &B::Field<R, Spinor>,
    ) -> Result<(), BackendError> {
        self.pieces.mooee_inv(&mut self.even[0], eta_even, Dagger::No)?;
        self.pieces.meooe(&mut self.odd, &self.even[0], Dagger::No)?;
        self.pieces.backend().copy(out, eta_odd)?;
        self.pieces.backend().axpy(-1.0, &self.odd, out)
    }

    /// out = ψ_e = Mee⁻¹ (η_e − Meo ψ_o).
    ///
    /// # Errors
    /// As [`Operator::apply`].
    pub fn even_solution(
        &mut self,
        out: &mut B::Field<R, Spinor>,
        eta_even: &B::Field<R, Spinor>,
        psi_odd: &B::Field<R, Spinor>,
    ) -> Result<(), BackendError> {
        let Self { pieces, even: [meo_psi, difference], .. } = self;
        pieces.meooe(meo_psi, psi_odd, Dagger::No)?;
        pieces.backend().copy(difference, eta_even)?;
        pieces.backend().axpy(-1.0, meo_psi, difference)?;
        pieces.mooee_inv(out, difference, Dagger::No)
    }
}

impl<B: Backend, R: Vectors, P: EvenOdd<B, R>> Operator<B, R> for SchurComplement<B, R, P> {
    fn backend(&self) -> &B {
        self.pieces.backend()
    }
    fn lattice(&self) -> Lattice {
        self.pieces.lattice()
    }
    fn sites(&self) -> Sites {
        Sites::Parity(Parity::Odd)
    }

    fn apply(
        &mut self,
        out: &mut B::Field<R, Spinor>,
        psi: &B::Field<R, Spinor>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        let Self { pieces, even: [even, even_inv], odd } = self;
        pieces.meooe(even, psi, dagger)?;
        pieces.mooee_inv(even_inv, even, dagger)?;
        pieces.meooe(odd, even_inv, dagger)?;
        pieces.mooee(out, psi, dagger)?;
        pieces.backend().axpy(-1.0, odd, out)
    }

    fn flops(&self) -> u64 {
        let sites = number_of_sites(self.lattice(), self.sites());
        2 * self.pieces.meooe_flops() + 2 * self.pieces.mooee_flops() + AXPY_FLOPS * sites
    }

    fn bytes(&self) -> u64 {
        let axpy = 3 * spinor_bytes::<R>(self.lattice(), self.sites());
        2 * self.pieces.meooe_bytes() + 2 * self.pieces.mooee_bytes() + axpy
    }
}
