//! Energy density and topological charge of an improved field strength, F = 4/3 · F(1×1) − 1/12 · F(2×2). The clovers consist of squares with sides
//! of one and of two steps, whose errors of second order in the lattice spacing cancel (after Bilson-Thompson, Leinweber and Williams, Ann. Phys.
//! 304 (2003) 1).

use lanefield_reference::layout::{DIMENSIONS, Direction, Leg};

use super::hisq::each;
use super::observables::PLANES;
use super::{CloverObservables, GaugeField, GaugeFieldError, LinkField};
use crate::backend::{Backend, BackendError};
use crate::kernel::prelude::*;

impl<B: Backend> GaugeField<'_, B> {
    /// Energy density and topological charge of the improved field strength.
    pub fn improved_clover(&self) -> Result<CloverObservables, GaugeFieldError> {
        let lines = each(|direction| self.line(direction, 2))?;
        self.clover_of(|strength, plane| {
            let plane = PLANES[plane];
            self.backend.clover_leaves(strength, &self.stencil, plane, self.along(plane))?;
            let mut improved = self.zeros()?;
            self.backend.scale(&mut improved, 4.0 / 3.0, strength)?;
            self.wide_strength(strength, &lines, plane)?;
            self.backend.axpy(-1.0 / 12.0, strength, &mut improved)?;
            *strength = improved;
            Ok(())
        })
    }

    /// The clover of 2×2 squares in a plane, from lines of two links.
    fn wide_strength(
        &self,
        strength: &mut LinkField<B>,
        lines: &[LinkField<B>; DIMENSIONS],
        (mu, nu): (Direction, Direction),
    ) -> Result<(), BackendError> {
        let [along_mu, along_nu] = [mu, nu].map(|direction| &lines[direction.index()]);
        let [up, down] = [Leg::forward, Leg::backward].map(|leg| leg(nu.index()));
        let two_steps = |line, leg| self.shifted_by(line, leg, 2);
        let (mu_up, mu_down) = (two_steps(along_mu, up)?, two_steps(along_mu, down)?);
        let nu_down = two_steps(along_nu, down)?;
        let lines = [along_mu, along_nu, &mu_up, &mu_down, &nu_down];
        self.backend.wide_clover_leaves(strength, &self.stencil, (mu, nu), lines)
    }
}
