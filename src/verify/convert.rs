//! A field in another precision on one random case.

use lanefield_reference::field::{Field, Spinors};
use lanefield_reference::kernels::Vectors;
use num_complex::Complex;

use super::kernels::KernelChecks;
use super::{Reference, Rows, Subject, VerifyError};
use crate::backend::Backend;

impl<B: Backend, P: Reference + Sync> KernelChecks<'_, B, P> {
    /// From `R` to `S`, on one of the sets of sites: the kernel knows no sites. Number by number, it needs no other reference than `as`.
    pub(super) fn convert<R: Vectors, S: Vectors>(&self, rows: &mut Rows) -> Result<(), VerifyError> {
        let Self { tested, host, case, .. } = *self;
        // The widest lanes of f32, and the narrowest of f64, have no counterpart.
        let Ok(lattice) = case.lattice.in_scalar(S::COMPLEX) else { return Ok(()) };
        let sites = case.sites()[case.number as usize / 2 % case.sites().len()];
        let x: Field<R, Spinors> = host.install(|| case.data.spinor(case.lattice, sites, case.spinors, 14))?;
        let words = || format!("{case}, {sites} sites");
        rows.check::<R>(Subject::ConvertTo(S::NAME), (case.number, &words), || {
            let mut out = tested.zeros::<S, _>(lattice, sites, Spinors::ONE)?;
            tested.convert(&mut out, &tested.upload(x.clone())?)?;
            let number = |number: R| S::from_f64(number.to_f64());
            let values: Vec<_> = x.to_site_order().iter().map(|c| Complex::new(number(c.re), number(c.im))).collect();
            self.compare(&out, &Field::from_site_order(lattice, sites, Spinors::ONE, &values)?)
        })?;
        Ok(())
    }
}
