//! Fields and tables in device memory. The layout of a field belongs to it: words of a lane that lie together, and the order of outer sites.

use lanefield_reference::field::{FieldData, FieldShape};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::layout::{Lattice, Sites, Stencil};
use lanefield_reference::real::{Precision, Real as _};

use super::access::PartLayout;
use super::plan::Layout;
use super::site_order::{to_device, to_host};
use super::{Buffer, OpenCl};
use crate::backend::specification::MatrixFacts;
use crate::backend::{AnyField, BackendError, HostField, Table, TableFacts};
use crate::in_precision;

/// The numbers of a field in device memory.
#[derive(Debug)]
pub struct DeviceStorage {
    pub(super) buffer: Buffer,
    pub(super) layout: Layout,
}

impl DeviceStorage {
    /// Its layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.buffer.bytes()
    }
}

/// A table in device memory.
#[derive(Debug)]
pub struct DeviceTable(pub(super) Tables);

#[derive(Debug)]
pub(super) enum Tables {
    Stencil { lattice: Lattice, sites: Sites, layout: Layout, neighbours: Buffer, lane_steps: Buffer },
    Matrix { facts: MatrixFacts, precision: Precision, coefficients: Buffer },
}

impl Table for DeviceTable {
    fn facts(&self) -> TableFacts {
        match &self.0 {
            Tables::Stencil { lattice, sites, .. } => TableFacts::Stencil { lattice: *lattice, sites: *sites },
            Tables::Matrix { facts, precision, .. } => TableFacts::Matrix { facts: *facts, precision: *precision },
        }
    }
}

fn part_layout(shape: &FieldShape, layout: Layout) -> PartLayout {
    let bits = shape.precision.bits();
    let words = shape.precision.device_bytes(shape.object.part_words()) / (bits / 4);
    PartLayout { bits, nsimd: shape.lattice.nsimd(), words, access: layout.access }
}

impl OpenCl {
    pub(super) fn upload_table(&self, table: &[u32], what: &str) -> Result<Buffer, BackendError> {
        let buffer = self.context.allocate(size_of_val(table), what)?;
        self.context.write(&buffer, 0, bytemuck::cast_slice(table))?;
        Ok(buffer)
    }

    /// Room for a field in the layout of new ones.
    pub(super) fn room(&self, shape: &FieldShape) -> Result<DeviceStorage, BackendError> {
        let buffer = self.context.allocate(shape.device_bytes(), &shape.describe())?;
        Ok(DeviceStorage { buffer, layout: self.layout() })
    }

    pub(super) fn upload_field(&self, field: &HostField) -> Result<DeviceStorage, BackendError> {
        /// Writes the field in its layout.
        fn write<R: Vectors>(
            device: &OpenCl,
            storage: &DeviceStorage,
            field: &FieldData<R>,
        ) -> Result<(), BackendError> {
            let (shape, layout) = (field.shape(), storage.layout);
            let bytes = R::to_device(field.reals(), field.reals_a_part(), shape.lattice.nsimd());
            let order = layout.site_order.on(&shape.lattice, shape.sites);
            let bytes = to_device(order, part_layout(&shape, layout).to_device(bytes));
            Ok(device.context.write(&storage.buffer, 0, &bytes)?)
        }
        let storage = self.room(&field.shape())?;
        match field {
            HostField::F32(field) => write(self, &storage, field)?,
            HostField::F64(field) => write(self, &storage, field)?,
            HostField::Half(field) => write(self, &storage, field)?,
        }
        Ok(storage)
    }

    pub(super) fn download_field(&self, field: &AnyField<DeviceStorage>) -> Result<HostField, BackendError> {
        let (shape, storage) = (*field.shape(), field.storage());
        let FieldShape { lattice, sites, object, precision } = shape;
        let layout = part_layout(&shape, storage.layout);
        let order = storage.layout.site_order.on(&lattice, sites);
        in_precision!(precision, R => {
            let mut host = FieldData::<R>::zeros(lattice, sites, object)?;
            let (a_part, nsimd) = (host.reals_a_part(), lattice.nsimd());
            if precision == Precision::Half || !layout.is_plain() || order.is_some() {
                let mut bytes = vec![0; storage.buffer.bytes()];
                self.context.read(&storage.buffer, 0, &mut bytes)?;
                R::from_device(&layout.to_host(&to_host(order, bytes)), host.reals_mut(), a_part, nsimd);
            } else {
                self.context.read(&storage.buffer, 0, bytemuck::cast_slice_mut(host.reals_mut()))?;
            }
            Ok(HostField::new(host))
        })
    }

    pub(super) fn upload_stencil(&self, stencil: &Stencil) -> Result<DeviceTable, BackendError> {
        let layout = self.layout();
        Ok(DeviceTable(Tables::Stencil {
            lattice: *stencil.lattice(),
            sites: stencil.sites(),
            layout,
            neighbours: self.upload_table(&layout.site_order.neighbours(stencil), "table of neighbours")?,
            lane_steps: self.upload_table(stencil.lane_steps(), "table of lane steps")?,
        }))
    }

    pub(super) fn upload_matrix(&self, matrix: &SMatrix, precision: Precision) -> Result<DeviceTable, BackendError> {
        let bytes: Vec<u8> = match precision {
            Precision::F64 => bytemuck::cast_slice(matrix.table()).to_vec(),
            _ => matrix.table().iter().flat_map(|&c| f32::from_f64(c).to_ne_bytes()).collect(),
        };
        let coefficients = self.context.allocate(bytes.len(), matrix.form().name())?;
        self.context.write(&coefficients, 0, &bytes)?;
        let (form, ls, dagger) = (matrix.form(), matrix.ls(), matrix.dagger());
        Ok(DeviceTable(Tables::Matrix { facts: MatrixFacts { form, ls, dagger }, precision, coefficients }))
    }
}
