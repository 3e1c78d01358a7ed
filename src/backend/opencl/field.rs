//! Copies fields and tables to device memory and back. Kernels find them in the layout of the device: how the words of a lane are grouped,
//! and the order of outer sites.

use std::borrow::Cow;
use std::time::Duration;

use lanefield_reference::field::{FieldData, FieldShape};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::layout::{LaneChoice, Stencil};
use lanefield_reference::real::{Precision, Real as _};

use super::backend::OpenCl;
use super::device::DeviceKind;
use super::memory::Buffer;
use super::storage::{DeviceStorage, DeviceTable, Tables};
use super::tuning::{Layout, PartLayout, to_device, to_host};
use crate::backend::specification::MatrixFacts;
use crate::backend::{AnyField, BackendError, HostField, Memory};
use crate::in_precision;

impl Memory for OpenCl {
    type Storage = DeviceStorage;
    type Table = DeviceTable;

    fn describe(&self) -> String {
        self.context.info().with_driver()
    }

    fn building(&self) -> Duration {
        self.context.builds().time()
    }

    fn lanes(&self, asked_for: LaneChoice) -> LaneChoice {
        match asked_for {
            LaneChoice::Auto if self.context.info().kind != DeviceKind::Cpu => LaneChoice::OF_GPUS,
            _ => asked_for,
        }
    }

    fn allocate(&self, shape: &FieldShape) -> Result<DeviceStorage, BackendError> {
        self.context.check_process()?;
        let storage = self.room(shape)?;
        self.context.fill_zero(&storage.buffer)?;
        Ok(storage)
    }

    fn fill_zero(&self, field: &mut AnyField<DeviceStorage>) -> Result<(), BackendError> {
        self.context.check_process()?;
        Ok(self.context.fill_zero(&field.storage().buffer)?)
    }

    fn store(&self, field: Cow<'_, HostField>) -> Result<DeviceStorage, BackendError> {
        self.context.check_process()?;
        self.upload_field(&field)
    }

    fn load(&self, field: &AnyField<DeviceStorage>) -> Result<HostField, BackendError> {
        self.context.check_process()?;
        self.download_field(field)
    }

    fn stencil(&self, stencil: Stencil) -> Result<DeviceTable, BackendError> {
        self.context.check_process()?;
        self.upload_stencil(&stencil)
    }

    fn matrix(&self, matrix: &SMatrix, precision: Precision) -> Result<DeviceTable, BackendError> {
        self.context.check_process()?;
        self.upload_matrix(matrix, precision)
    }

    fn finish(&self) -> Result<(), BackendError> {
        self.context.check_process()?;
        Ok(self.context.finish()?)
    }
}

fn part_layout(shape: &FieldShape, layout: Layout) -> PartLayout {
    let bits = shape.precision.bits();
    let words = shape.precision.device_bytes(shape.object.part_words()) / (bits / 4);
    PartLayout { bits, nsimd: shape.lattice.nsimd(), words, access: layout.access }
}

impl OpenCl {
    pub(crate) fn upload_table(&self, table: &[u32], what: &str) -> Result<Buffer, BackendError> {
        let buffer = self.context.allocate_anywhere(size_of_val(table), what)?;
        self.context.write(&buffer, 0, bytemuck::cast_slice(table))?;
        Ok(buffer)
    }

    /// Memory for a field in the layout of new fields.
    pub(crate) fn room(&self, shape: &FieldShape) -> Result<DeviceStorage, BackendError> {
        let buffer = self.context.allocate_anywhere(shape.device_bytes_with_ghosts(), &shape.describe())?;
        Ok(DeviceStorage { buffer, layout: self.layout() })
    }

    /// Copies a field to the device, component by component.
    fn upload_field(&self, field: &HostField) -> Result<DeviceStorage, BackendError> {
        fn write<R: Vectors>(
            device: &OpenCl,
            storage: &mut DeviceStorage,
            field: &FieldData<R>,
        ) -> Result<(), BackendError> {
            let (shape, layout) = (field.shape(), storage.layout);
            let (part, nsimd, a_part) = (part_layout(&shape, layout), shape.lattice.nsimd(), field.reals_a_part());
            let order = layout.site_order.on(&shape.lattice, shape.sites);
            // The sites after these belong to other ranks.
            let (host, bytes) = (to_device(order, field.reals()), shape.device_bytes());
            Ok(device.context.write_pieces(&mut storage.buffer, bytes, part.bytes(), |range, to| {
                let parts = range.start / part.bytes()..range.end / part.bytes();
                let from = &host[parts.start * a_part..parts.end * a_part];
                part.to_device(&R::to_device(from, a_part, nsimd), to);
            })?)
        }
        let mut storage = self.room(&field.shape())?;
        match field {
            HostField::F32(field) => write(self, &mut storage, field)?,
            HostField::F64(field) => write(self, &mut storage, field)?,
            HostField::Half(field) => write(self, &mut storage, field)?,
        }
        Ok(storage)
    }

    /// Copies a field to the host, component by component.
    fn download_field(&self, field: &AnyField<DeviceStorage>) -> Result<HostField, BackendError> {
        let (shape, storage) = (*field.shape(), field.storage());
        let FieldShape { lattice, sites, object, precision } = shape;
        let part = part_layout(&shape, storage.layout);
        let order = storage.layout.site_order.on(&lattice, sites);
        in_precision!(precision, R => {
            let mut host = FieldData::<R>::zeros(lattice, sites, object)?;
            let (a_part, nsimd) = (host.reals_a_part(), lattice.nsimd());
            // Kernels write to a field that is exclusively borrowed, and this one is not.
            let bytes = (shape.device_bytes(), part.bytes());
            self.context.read_unchanged(&storage.buffer, bytes, host.reals_mut(), |from, reals| match precision {
                Precision::Half if part.is_plain() => R::from_device(from, reals, a_part, nsimd),
                Precision::Half => {
                    let mut plain = vec![0; from.len()];
                    part.to_host(from, &mut plain);
                    R::from_device(&plain, reals, a_part, nsimd);
                }
                _ => part.to_host(from, bytemuck::cast_slice_mut(reals)),
            })?;
            to_host(order, host.reals_mut());
            Ok(HostField::new(host))
        })
    }

    fn upload_stencil(&self, stencil: &Stencil) -> Result<DeviceTable, BackendError> {
        let layout = self.layout();
        Ok(DeviceTable(Tables::Stencil {
            lattice: Box::new(*stencil.lattice()),
            sites: stencil.sites(),
            layout,
            neighbours: self.upload_table(&layout.site_order.neighbours(stencil), "table of neighbours")?,
            lane_steps: self.upload_table(stencil.lane_steps(), "table of lane steps")?,
        }))
    }

    fn upload_matrix(&self, matrix: &SMatrix, precision: Precision) -> Result<DeviceTable, BackendError> {
        let bytes: Vec<u8> = match precision {
            Precision::F64 => bytemuck::cast_slice(matrix.table()).to_vec(),
            _ => matrix.table().iter().flat_map(|&c| f32::from_f64(c).to_ne_bytes()).collect(),
        };
        let coefficients = self.context.allocate_anywhere(bytes.len(), matrix.form().name())?;
        self.context.write(&coefficients, 0, &bytes)?;
        let (form, ls, dagger) = (matrix.form(), matrix.ls(), matrix.dagger());
        Ok(DeviceTable(Tables::Matrix { facts: MatrixFacts { form, ls, dagger }, precision, coefficients }))
    }
}
