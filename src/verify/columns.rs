//! Fields of several columns on one random case. Each column is compared with what the reference makes of that column alone.

use lanefield_reference::field::{Field, SiteObject as _, Spinors};
use lanefield_reference::kernels::Vectors;

use super::kernels::{KernelChecks, both, scalar, scalars};
use super::{ColumnOperation, Compared, Reference, Rows, Subject, VerifyError};
use crate::backend::{Backend, Sum};

/// Spinors of a column.
const COLUMN_PARTS: usize = 2;
const COLUMNS: usize = 3;
/// Columns that are taken, in another order than they lie in.
const TAKEN: [usize; 2] = [2, 0];

type Host<R> = Field<R, Spinors>;

/// A field of some columns of `x`, by way of site order.
fn columns_of<R: Vectors>(x: &Host<R>, columns: &[usize]) -> Result<Host<R>, VerifyError> {
    let a_column = COLUMN_PARTS * Spinors::WORDS;
    let values = x.to_site_order();
    let sites = values.chunks_exact(x.kind().words());
    let taken = sites.flat_map(|site| columns.iter().flat_map(|column| &site[column * a_column..][..a_column]));
    let kind = Spinors::new(columns.len() * COLUMN_PARTS);
    Ok(Field::from_site_order(*x.lattice(), x.sites(), kind, &taken.copied().collect::<Vec<_>>())?)
}

fn in_all(compared: impl IntoIterator<Item = Result<Compared, VerifyError>>) -> Result<Compared, VerifyError> {
    let nothing = Compared { components: 0, mismatch: None };
    compared.into_iter().try_fold(nothing, |before, next| Ok(both(before, next?)))
}

impl<B: Backend, P: Reference + Sync> KernelChecks<'_, B, P> {
    /// Every operation on columns, on one of the sets of sites: the kernels know no sites.
    pub(super) fn columns<R: Vectors>(&self, rows: &mut Rows) -> Result<(), VerifyError> {
        let Self { tested, reference, host, case, .. } = *self;
        let sites = case.sites()[case.number as usize / 2 % case.sites().len()];
        let kind = Spinors::new(COLUMNS * COLUMN_PARTS);
        let field = |number| host.install(|| case.data.field::<R, _>(case.lattice, sites, kind, case.spinors, number));
        let [x, y, z] = [field(11)?, field(12)?, field(13)?];
        let hold = |field: &Host<R>| tested.upload(field.clone());
        let held_x = hold(&x)?;
        let number = |k: usize| case.data.scalar::<R>(scalars(case.spinors), k as u32);
        let (a, b): ([f64; COLUMNS], [f64; COLUMNS]) =
            (std::array::from_fn(number), std::array::from_fn(|k| number(COLUMNS + k)));
        let words = || format!("{case}, {sites} sites, a = {a:?}, b = {b:?}");
        let case = (case.number, &words as &dyn Fn() -> String);
        let subject = Subject::Columns;

        rows.check::<R>(subject(ColumnOperation::TakeAndPut), case, || {
            let taken = tested.take_columns(&held_x, &TAKEN, COLUMN_PARTS)?;
            let mut put = hold(&y)?;
            tested.put_columns(&mut put, &taken, &TAKEN, COLUMN_PARTS)?;
            let put = tested.download(&put)?;
            let expected = |column: usize| if TAKEN.contains(&column) { &x } else { &y };
            let puts = (0..COLUMNS)
                .map(|column| self.same(&columns_of(&put, &[column])?, &columns_of(expected(column), &[column])?));
            Ok(both(self.compare(&taken, &columns_of(&x, &TAKEN)?)?, in_all(puts)?))
        })?;
        rows.check::<R>(subject(ColumnOperation::Products), case, || {
            let found = tested.column_products(&held_x, &hold(&y)?, COLUMN_PARTS, Sum::Exact)?;
            in_all(found.iter().enumerate().map(|(column, found)| {
                let [x, y] = [columns_of(&x, &[column])?, columns_of(&y, &[column])?];
                let expected = reference.inner_products(&[&x], &y, Sum::Exact)?[0].re;
                Ok(scalar(&format!("Re ⟨x, y⟩ of column {column}"), *found, expected))
            }))
        })?;
        rows.check::<R>(subject(ColumnOperation::AxpyNorm), case, || {
            let mut found = hold(&y)?;
            let norms = tested.column_axpy_norm(&a, &held_x, &mut found, Sum::Exact)?;
            let found = tested.download(&found)?;
            in_all(norms.iter().enumerate().map(|(column, norm2)| {
                let [x, mut expected] = [columns_of(&x, &[column])?, columns_of(&y, &[column])?];
                let expected_norm2 = reference.axpy_norm(a[column], &x, &mut expected, Sum::Exact)?;
                let field = self.same(&columns_of(&found, &[column])?, &expected)?;
                Ok(both(field, scalar(&format!("|y|² of column {column}"), *norm2, expected_norm2)))
            }))
        })?;
        rows.check::<R>(subject(ColumnOperation::CgUpdate), case, || {
            let [mut psi, mut p] = [hold(&y)?, hold(&x)?];
            tested.column_cg_update(&mut psi, &mut p, &hold(&z)?, &a, &b)?;
            let [psi, p] = [tested.download(&psi)?, tested.download(&p)?];
            in_all((0..COLUMNS).map(|column| {
                let [mut expected_psi, mut expected_p] = [columns_of(&y, &[column])?, columns_of(&x, &[column])?];
                let r = columns_of(&z, &[column])?;
                reference.cg_update(&mut expected_psi, &mut expected_p, &r, a[column], b[column])?;
                let psi = self.same(&columns_of(&psi, &[column])?, &expected_psi)?;
                Ok(both(psi, self.same(&columns_of(&p, &[column])?, &expected_p)?))
            }))
        })?;
        Ok(())
    }
}
