//! Fields of several columns, and in other precisions, on a device: how the kernels of `columns.cl` and `convert.cl` are launched.

use lanefield_reference::field::{FieldError, Repeated, SiteObject};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::convert::same_cut;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::LaunchGeometry;
use lanefield_reference::real::Real;

use super::reduce::Reduction;
use super::variant::Choices;
use super::{Arg, Buffer, DeviceField, OpenCl};
use crate::backend::{BackendError, column_parts};

/// Refuses columns that a field does not have.
fn check_columns<R: Vectors, K: Repeated>(
    field: &DeviceField<R, K>,
    columns: &[usize],
    column_parts: usize,
) -> Result<(), FieldError> {
    let parts = field.kind.parts();
    match column_parts > 0 && columns.iter().all(|column| (column + 1) * column_parts <= parts) {
        true => Ok(()),
        false => Err(FieldError::Columns { columns: columns.to_vec(), column_parts, field: field.describe() }),
    }
}

impl OpenCl {
    pub(super) fn convert_field<S: Vectors, R: Vectors, K: SiteObject>(
        &self,
        out: &DeviceField<S, K>,
        x: &DeviceField<R, K>,
    ) -> Result<(), BackendError> {
        if !same_cut(&out.lattice, &x.lattice) || (out.sites, out.kind) != (x.sites, x.kind) {
            let (left, right) = (x.describe(), out.describe());
            return Err(FieldError::Mismatch { what: "converting a field", left, right }.into());
        }
        let (parts, words) = out.parts();
        let nsimd = out.lattice.nsimd();
        let choices = Choices::Convert { from: R::BITS, words };
        let program = self.program(self.planner().variant::<S>("convert.cl", nsimd, choices))?;
        let geometry = LaunchGeometry::over_sites(nsimd, parts, self.accelerator_threads());
        let arguments = [Arg::Buffer(&out.buffer), Arg::Buffer(&x.buffer), Arg::U32(parts as u32)];
        self.announce_bytes(out.buffer.bytes() + x.buffer.bytes());
        self.launch(&program, "convert", geometry, &arguments)
    }

    /// The same numbers in f32.
    pub(super) fn in_f32<R: Vectors, K: SiteObject>(
        &self,
        x: &DeviceField<R, K>,
    ) -> Result<DeviceField<f32, K>, BackendError> {
        let out = self.allocate(x.lattice, x.sites, x.kind)?;
        self.convert_field::<f32, R, K>(&out, x)?;
        Ok(out)
    }

    pub(super) fn take_columns_of<R: Vectors, K: Repeated>(
        &self,
        x: &DeviceField<R, K>,
        columns: &[usize],
        column_parts: usize,
    ) -> Result<DeviceField<R, K>, BackendError> {
        check_columns(x, columns, column_parts)?;
        let out = self.allocate::<R, K>(x.lattice, x.sites, K::repeated(columns.len() * column_parts))?;
        self.move_columns("take_columns", [&out, x], &out, columns, column_parts)?;
        Ok(out)
    }

    pub(super) fn put_columns_into<R: Vectors, K: Repeated>(
        &self,
        out: &DeviceField<R, K>,
        x: &DeviceField<R, K>,
        columns: &[usize],
        column_parts: usize,
    ) -> Result<(), BackendError> {
        x.check("columns", &out.lattice, out.sites)?;
        check_columns(out, columns, column_parts)?;
        check_columns(x, &[columns.len().saturating_sub(1)], column_parts)?;
        self.move_columns("put_columns", [out, x], x, columns, column_parts)
    }

    /// Launches over the parts of `walked`, the field whose columns are moved one after the other; the kernel is told those of the other.
    fn move_columns<R: Vectors, K: Repeated>(
        &self,
        kernel: &str,
        [out, x]: [&DeviceField<R, K>; 2],
        walked: &DeviceField<R, K>,
        columns: &[usize],
        column_parts: usize,
    ) -> Result<(), BackendError> {
        let numbers: Vec<u32> = columns.iter().map(|&column| column as u32).collect();
        let table = self.upload_table(&numbers, "table of columns")?;
        let fields = [Arg::Buffer(&out.buffer), Arg::Buffer(&x.buffer), Arg::Buffer(&table)];
        let other = if std::ptr::eq(walked, out) { x } else { out };
        let last = [Arg::U32(other.kind.parts() as u32)];
        self.launch_over_columns(kernel, walked, column_parts, &fields, &last)
    }

    pub(super) fn products_of_columns<R: Vectors, K: Repeated>(
        &self,
        x: &DeviceField<R, K>,
        y: &DeviceField<R, K>,
        column_parts: usize,
        sum: Sum,
    ) -> Result<Vec<f64>, BackendError> {
        x.check_like("products of columns", y)?;
        let fields = [Arg::Buffer(&x.buffer), Arg::Buffer(&y.buffer)];
        self.reduce_columns("column_products", y, column_parts, &fields, sum)
    }

    pub(super) fn axpy_norm_of_columns<R: Vectors, K: Repeated>(
        &self,
        a: &[f64],
        x: &DeviceField<R, K>,
        y: &DeviceField<R, K>,
        sum: Sum,
    ) -> Result<Vec<f64>, BackendError> {
        x.check_like("axpy of columns", y)?;
        let column_parts = column_parts(y.kind, a.len())?;
        let a = self.upload_scalars::<R>(a)?;
        let fields = [Arg::Buffer(&y.buffer), Arg::Buffer(&a), Arg::Buffer(&x.buffer)];
        self.reduce_columns("column_axpy_norm", y, column_parts, &fields, sum)
    }

    pub(super) fn cg_update_of_columns<R: Vectors, K: Repeated>(
        &self,
        psi: &DeviceField<R, K>,
        p: &DeviceField<R, K>,
        r: &DeviceField<R, K>,
        [a, b]: [&[f64]; 2],
    ) -> Result<(), BackendError> {
        p.check_like("cg_update of columns", psi)?;
        r.check_like("cg_update of columns", psi)?;
        let column_parts = column_parts(psi.kind, a.len())?;
        if a.len() != b.len() {
            let (left, right) = (format!("{} scalars a", a.len()), format!("{} scalars b", b.len()));
            return Err(FieldError::Mismatch { what: "cg_update of columns", left, right }.into());
        }
        let scalars = self.upload_scalars::<R>(&[a, b].concat())?;
        let fields = [&psi.buffer, &p.buffer, &r.buffer, &scalars].map(Arg::Buffer);
        self.launch_over_columns("column_cg_update", psi, column_parts, &fields, &[])
    }

    /// Scalars, rounded to the fields' type, one for each column.
    fn upload_scalars<R: Vectors>(&self, scalars: &[f64]) -> Result<Buffer, BackendError> {
        let bytes: Vec<u8> = match R::BITS {
            64 => bytemuck::cast_slice(scalars).to_vec(),
            _ => scalars.iter().flat_map(|&a| f32::from_f64(a).to_ne_bytes()).collect(),
        };
        let buffer = self.context.allocate(bytes.len(), "scalars of columns")?;
        self.context.write(&buffer, 0, &bytes)?;
        Ok(buffer)
    }

    /// One sum for each column: a row of the launch.
    fn reduce_columns<R: Vectors, K: Repeated>(
        &self,
        kernel: &'static str,
        field: &DeviceField<R, K>,
        column_parts: usize,
        fields: &[Arg<'_>],
        sum: Sum,
    ) -> Result<Vec<f64>, BackendError> {
        let parts = field.kind.parts();
        let extent = [field.osites(), parts, column_parts].map(|number| Arg::U32(number as u32));
        let work = Reduction {
            file: "columns.cl",
            kernel,
            arguments: &[fields, &extent].concat(),
            elements: field.osites() * column_parts * field.lattice.nsimd(),
            a_row: 1,
            rows: parts / column_parts,
            planes: 1,
            fields: 1,
            bundle: None,
            access: self.access(),
            stored: self.stored_order(field, 1),
            sum,
        };
        self.announce_vector(kernel, 1, field);
        self.reduce::<R>(&field.lattice, field.parts().1, &work)
    }

    fn launch_over_columns<R: Vectors, K: Repeated>(
        &self,
        kernel: &str,
        out: &DeviceField<R, K>,
        column_parts: usize,
        fields: &[Arg<'_>],
        last: &[Arg<'_>],
    ) -> Result<(), BackendError> {
        let (nsimd, parts) = (out.lattice.nsimd(), out.kind.parts());
        let variant =
            self.planner().sum_variant::<R>("columns.cl", nsimd, out.parts().1, (None, 1), Sum::Exact, None)?;
        let extent = [out.osites(), parts, column_parts].map(|number| Arg::U32(number as u32));
        let program = self.program(variant)?;
        self.announce_vector(kernel, 1, out);
        self.launch_over_parts(&program, kernel, nsimd, (parts, out.osites()), 1, &[fields, &extent, last].concat())
    }
}
