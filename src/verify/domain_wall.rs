//! Matrices along the fifth dimension on one random case: four spinors a site, as columns of one, two or four.

use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::{Form, InverseForm, MobiusCoefficients, Tridiagonal};

use super::kernels::{KernelChecks, both};
use super::{Reference, Rows, Subject, VerifyError};
use crate::backend::{Backend, BackendError};

/// Always as many, so that devices build kernels for few sizes of groups.
const SPINORS: Spinors = Spinors::new(4);

impl<B: Backend, P: Reference + Sync> KernelChecks<'_, B, P> {
    /// Every matrix, on one of the sets of sites: the kernels know no sites.
    pub(super) fn along_s<R: Vectors>(&self, rows: &mut Rows) -> Result<(), VerifyError> {
        let Self { tested, reference, host, case, .. } = *self;
        let sites = case.sites()[case.number as usize % case.sites().len()];
        let ls = [1, 2, 4][case.number as usize / 2 % 3];
        let field =
            |number| host.install(|| case.data.field::<R, _>(case.lattice, sites, SPINORS, case.spinors, number));
        let [x, z] = [field(6)?, field(7)?];
        let [held_x, held_z] = [tested.upload(x.clone())?, tested.upload(z.clone())?];
        let words = || format!("{case}, {sites} sites, ls {ls}");

        let matrix = MobiusCoefficients::new(ls, 0.1, 1.4, 1.5, 0.5).map_err(BackendError::from)?.diagonal();
        let of_form = |form, matrix: &Tridiagonal| match form {
            Form::Tridiagonal => Ok(matrix.matrix()),
            Form::Sweep => matrix.inverse(InverseForm::Sweep),
            Form::Dense => matrix.inverse(InverseForm::Dense),
        };
        for (form, sum) in
            [(Form::Tridiagonal, false), (Form::Tridiagonal, true), (Form::Sweep, false), (Form::Dense, false)]
        {
            rows.check::<R>(Subject::AlongS(form, sum), (case.number, &words), || {
                let check = |matrix| {
                    let matrix = of_form(form, matrix).map_err(BackendError::from)?;
                    let held = tested.s_matrix::<R>(&matrix)?;
                    // A result must not depend on what was there before.
                    let mut out = tested.upload(z.clone())?;
                    match sum {
                        false => tested.s_multiply(&mut out, &held, &held_x)?,
                        true => tested.s_multiply_add(&mut out, &held, &held_x, &held_z)?,
                    }
                    self.compare(&out, &reference.s_multiply(&matrix, &x, sum.then_some(&z))?)
                };
                Ok(both(check(&matrix)?, check(&matrix.dagger())?))
            })?;
        }
        Ok(())
    }
}
