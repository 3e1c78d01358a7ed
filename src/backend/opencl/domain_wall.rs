//! Matrices along the fifth dimension on a device: their coefficients as a small buffer, and the launches of `cl/domain_wall.cl`.

use lanefield_reference::field::Spinors;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::{Form, SMatrix, columns, require_tridiagonal};
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::Lattice;

use super::field::osites;
use super::variant::{Choices, Variant};
use super::{Arg, Buffer, DeviceField, DeviceKind, OpenCl, Planner};
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
        let AlongS { kernel, parts, at_once, launched, variant } =
            self.planner().along_s::<S>(&out.lattice, form, z.is_some(), (columns, ls));
        let mut arguments = vec![Arg::Buffer(&out.buffer), Arg::Buffer(&matrix.table), Arg::Buffer(&x.buffer)];
        arguments.extend(z.map(|z| Arg::Buffer(&z.buffer)));
        arguments.extend([osites(out), Arg::U32(parts as u32), Arg::U32(ls as u32)]);
        if form != Form::Dense {
            arguments.push(Arg::U32(u32::from(dagger == Dagger::Yes)));
        }
        let program = self.program(variant)?;
        self.announce_bytes((2 + usize::from(z.is_some())) * out.buffer.bytes());
        self.launch_over_parts(&program, kernel, launched, (parts, out.osites()), at_once, &arguments)
    }
}

/// A kernel along s, as it will be built and launched.
pub(super) struct AlongS {
    pub kernel: &'static str,
    /// Parts of an outer site, and how many a work-item takes.
    pub parts: usize,
    pub at_once: usize,
    /// Work-items for the lanes of an outer site.
    pub launched: usize,
    pub variant: Variant,
}

impl Planner<'_> {
    /// The product with a matrix of `form` along s, `adds` another field or not, of `columns` fields of `ls` slices.
    pub fn along_s<S: Vectors>(
        &self,
        lattice: &Lattice,
        form: Form,
        adds: bool,
        (columns, ls): (usize, usize),
    ) -> AlongS {
        let at_once = if form == Form::Dense { self.results_at_once(ls) } else { 1 };
        let (kernel, parts) = match (form, adds) {
            (Form::Tridiagonal, false) => ("s_tridiagonal", columns * ls),
            (Form::Tridiagonal, true) => ("s_tridiagonal_add", columns * ls),
            (Form::Sweep, _) => ("s_sweep", 2 * columns),
            (Form::Dense, _) => ("s_dense", columns * ls),
        };
        let nsimd = lattice.nsimd();
        let lanes = self.work_item_lanes::<S>(nsimd, None);
        let choices = Choices::DomainWall { at_once };
        let variant = Variant { lanes, ..self.variant::<S>("domain_wall.cl", nsimd, choices) };
        AlongS { kernel, parts, at_once, launched: lanes.launched(nsimd), variant }
    }

    /// Results of a dense matrix that one work-item takes: where nobody chose, up to four on GPUs, the fastest on an H200.
    fn results_at_once(&self, ls: usize) -> usize {
        match self.parts_shape.at_once {
            None if self.device.kind != DeviceKind::Cpu => {
                [4, 2, 3].into_iter().find(|&n| ls.is_multiple_of(n)).unwrap_or(1)
            }
            _ => self.parts_shape.at_once(ls),
        }
    }
}
