//! Matrices along the fifth dimension on a device: their coefficients as a small buffer, and the launches of `cl/domain_wall.cl`.

use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::{Form, SMatrix, columns, require_tridiagonal};
use lanefield_reference::kernels::hop::Dagger;

use super::field::osites;
use super::variant::{Choices, Variant};
use super::{Arg, Buffer, DeviceField, DeviceKind, OpenCl};
use crate::backend::BackendError;

/// A matrix along s in device memory, in the precision of the fields that it acts on.
pub struct DeviceSMatrix<R> {
    form: Form,
    ls: usize,
    dagger: Dagger,
    table: Buffer,
    precision: std::marker::PhantomData<R>,
}

impl OpenCl {
    pub(super) fn upload_s_matrix<R: Vectors>(&self, matrix: &SMatrix) -> Result<DeviceSMatrix<R>, BackendError> {
        let table: Vec<R> = matrix.table().iter().map(|&coefficient| R::from_f64(coefficient)).collect();
        let bytes: &[u8] = bytemuck::cast_slice(&table);
        let buffer = self.context.allocate(bytes.len(), matrix.form().name())?;
        self.context.write(&buffer, 0, bytes)?;
        Ok(DeviceSMatrix {
            form: matrix.form(),
            ls: matrix.ls(),
            dagger: matrix.dagger(),
            table: buffer,
            precision: std::marker::PhantomData,
        })
    }

    /// out = matrix · x, or matrix · x + z.
    pub(super) fn launch_s_multiply<R: Vectors>(
        &self,
        out: &mut DeviceField<R, Spinors>,
        matrix: &DeviceSMatrix<R>,
        x: &DeviceField<R, Spinors>,
        z: Option<&DeviceField<R, Spinors>>,
    ) -> Result<(), BackendError> {
        x.check_like("a matrix along s", out)?;
        if let Some(z) = z {
            require_tridiagonal(matrix.form)?;
            z.check_like("adding a product along s", out)?;
        }
        if R::BITS == 16 && matrix.form == Form::Sweep {
            // The sweep makes halves of spinors, and 16-bit storage rounds whole ones.
            let swept = self.allocate::<f32, _>(out.lattice, out.sites, out.kind)?;
            self.launch_along_s(&swept, matrix, &self.in_f32(x)?, None)?;
            return self.convert_field(out, &swept);
        }
        self.launch_along_s(out, matrix, x, z)
    }

    /// The same for fields of `S`, whose coefficients are those of `R`.
    fn launch_along_s<R: Vectors, S: Vectors>(
        &self,
        out: &DeviceField<S, Spinors>,
        matrix: &DeviceSMatrix<R>,
        x: &DeviceField<S, Spinors>,
        z: Option<&DeviceField<S, Spinors>>,
    ) -> Result<(), BackendError> {
        let &DeviceSMatrix { form, ls, dagger, .. } = matrix;
        let columns = columns(x.kind, ls, || x.describe())?;
        let at_once = if form == Form::Dense { self.results_at_once(ls) } else { 1 };
        let (kernel, parts) = match (form, z) {
            (Form::Tridiagonal, None) => ("s_tridiagonal", columns * ls),
            (Form::Tridiagonal, Some(_)) => ("s_tridiagonal_add", columns * ls),
            (Form::Sweep, _) => ("s_sweep", 2 * columns),
            (Form::Dense, _) => ("s_dense", columns * ls),
        };
        let mut arguments = vec![Arg::Buffer(&out.buffer), Arg::Buffer(&matrix.table), Arg::Buffer(&x.buffer)];
        arguments.extend(z.map(|z| Arg::Buffer(&z.buffer)));
        arguments.extend([osites(out), Arg::U32(parts as u32), Arg::U32(ls as u32)]);
        if form != Form::Dense {
            arguments.push(Arg::U32(u32::from(dagger == Dagger::Yes)));
        }
        let nsimd = out.lattice.nsimd();
        let choices = Choices::DomainWall { at_once };
        let lanes = self.work_item_lanes::<S>(nsimd, None);
        let program = self.program(Variant { lanes, ..self.variant::<S>("domain_wall.cl", nsimd, choices) })?;
        self.launch_over_parts(&program, kernel, lanes.launched(nsimd), (parts, out.osites()), at_once, &arguments)
    }

    /// Results of a dense matrix that one work-item takes: where nobody chose, up to four on GPUs, the fastest on an H200.
    fn results_at_once(&self, ls: usize) -> usize {
        match self.parts_shape.at_once {
            None if self.context.info().kind != DeviceKind::Cpu => {
                [4, 2, 3].into_iter().find(|&n| ls.is_multiple_of(n)).unwrap_or(1)
            }
            _ => self.parts_shape.at_once(ls),
        }
    }
}
