//! Fields and stencils in device memory.

use std::marker::PhantomData;
use std::sync::Arc;

use lanefield_reference::field::{Field, FieldError, SiteObject, check, describe};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Lattice, Sites, Stencil};

use super::access::PartLayout;
use super::site_order::{to_device, to_host};
use super::{AccessWidth, Arg, Buffer, OpenCl};
use crate::backend::{BackendError, HeldField};

/// A field in device memory.
pub struct DeviceField<R, K> {
    pub(super) lattice: Lattice,
    pub(super) sites: Sites,
    pub(super) kind: K,
    pub(super) buffer: Buffer,
    precision: PhantomData<R>,
    _counted: Arc<()>,
}

/// A stencil's tables in device memory.
pub struct DeviceStencil {
    pub(super) lattice: Lattice,
    pub(super) sites: Sites,
    pub(super) neighbours: Buffer,
    pub(super) lane_steps: Buffer,
    _counted: Arc<()>,
}

impl<R: Vectors, K: SiteObject> HeldField<K> for DeviceField<R, K> {
    fn lattice(&self) -> &Lattice {
        &self.lattice
    }
    fn sites(&self) -> Sites {
        self.sites
    }
    fn kind(&self) -> K {
        self.kind
    }
}

impl<R: Vectors, K: SiteObject> DeviceField<R, K> {
    pub(super) fn describe(&self) -> String {
        describe::<R, K>(&self.lattice, self.sites, self.kind)
    }

    pub(super) fn osites(&self) -> usize {
        self.lattice.osites(self.sites)
    }

    /// Parts of all outer sites, and words of one: to vector operations and norms, a field with n parts a site is one with n times as many
    /// outer sites.
    pub(super) fn parts(&self) -> (usize, usize) {
        (self.osites() * self.kind.parts(), self.kind.words() / self.kind.parts())
    }

    pub(super) fn check(&self, what: &'static str, lattice: &Lattice, sites: Sites) -> Result<(), FieldError> {
        match (&self.lattice, self.sites) == (lattice, sites) {
            true => Ok(()),
            false => Err(FieldError::Mismatch {
                what,
                left: self.describe(),
                right: describe::<R, K>(lattice, sites, self.kind),
            }),
        }
    }

    pub(super) fn check_like(&self, what: &'static str, other: &Self) -> Result<(), FieldError> {
        self.check(what, &other.lattice, other.sites)?;
        self.check_kind(what, other)
    }

    pub(super) fn check_kind(&self, what: &'static str, other: &Self) -> Result<(), FieldError> {
        match self.kind == other.kind {
            true => Ok(()),
            false => Err(FieldError::Mismatch { what, left: self.describe(), right: other.describe() }),
        }
    }
}

impl OpenCl {
    /// The access width of kernels that see a site of `kind` as one object, whatever its parts.
    pub(super) fn access_of_sites<K: SiteObject>(&self, kind: K) -> AccessWidth {
        match kind.parts() == 1 || self.access.divides(kind.words() / kind.parts()) {
            true => self.access,
            false => AccessWidth::Word,
        }
    }

    pub(super) fn upload_table(&self, table: &[u32], what: &str) -> Result<Buffer, BackendError> {
        let buffer = self.context.allocate(size_of_val(table), what)?;
        self.context.write(&buffer, 0, bytemuck::cast_slice(table))?;
        Ok(buffer)
    }

    fn layout<R: Vectors, K: SiteObject>(&self, field: &DeviceField<R, K>) -> PartLayout {
        let (_, words) = field.parts();
        let bits = R::BITS as usize;
        PartLayout {
            bits,
            nsimd: field.lattice.nsimd(),
            words: R::device_bytes(words) / (bits / 4),
            access: self.access,
        }
    }

    pub(super) fn allocate<R: Vectors, K: SiteObject>(
        &self,
        lattice: Lattice,
        sites: Sites,
        kind: K,
    ) -> Result<DeviceField<R, K>, BackendError> {
        check::<R, K>(&lattice, sites, kind)?;
        let parts = lattice.osites(sites) * lattice.nsimd() * kind.parts();
        let bytes = parts * R::device_bytes(kind.words() / kind.parts());
        let buffer = self.context.allocate(bytes, &describe::<R, K>(&lattice, sites, kind))?;
        let _counted = Arc::clone(&self.fields);
        Ok(DeviceField { lattice, sites, kind, buffer, precision: PhantomData, _counted })
    }

    pub(super) fn upload_field<R: Vectors, K: SiteObject>(
        &self,
        field: Field<R, K>,
    ) -> Result<DeviceField<R, K>, BackendError> {
        let device = self.allocate(*field.lattice(), field.sites(), field.kind())?;
        let bytes = R::to_device(field.reals(), field.reals_a_part(), field.lattice().nsimd());
        let order = self.site_order.on(&device.lattice, device.sites);
        self.context.write(&device.buffer, 0, &to_device(order, self.layout(&device).to_device(bytes)))?;
        Ok(device)
    }

    pub(super) fn download_field<R: Vectors, K: SiteObject>(
        &self,
        field: &DeviceField<R, K>,
    ) -> Result<Field<R, K>, BackendError> {
        let mut host = Field::zeros(field.lattice, field.sites, field.kind)?;
        let (a_part, nsimd) = (host.reals_a_part(), field.lattice.nsimd());
        let layout = self.layout(field);
        let order = self.site_order.on(&field.lattice, field.sites);
        if R::BITS == 16 || !layout.is_plain() || order.is_some() {
            let mut bytes = vec![0; field.buffer.bytes()];
            self.context.read(&field.buffer, 0, &mut bytes)?;
            R::from_device(&layout.to_host(&to_host(order, bytes)), host.reals_mut(), a_part, nsimd);
        } else {
            self.context.read(&field.buffer, 0, bytemuck::cast_slice_mut(host.reals_mut()))?;
        }
        Ok(host)
    }

    pub(super) fn upload_stencil(&self, stencil: &Stencil) -> Result<DeviceStencil, BackendError> {
        Ok(DeviceStencil {
            lattice: *stencil.lattice(),
            sites: stencil.sites(),
            neighbours: self.upload_table(&self.site_order.neighbours(stencil), "table of neighbours")?,
            lane_steps: self.upload_table(stencil.lane_steps(), "table of lane steps")?,
            _counted: Arc::clone(&self.stencils),
        })
    }
}

pub(super) fn osites<R: Vectors, K: SiteObject>(field: &DeviceField<R, K>) -> Arg<'static> {
    Arg::U32(field.osites() as u32)
}

/// Parts of outer sites, and words of one, as kernels that know no object take them.
pub(super) fn extent_of_parts<R: Vectors, K: SiteObject>(field: &DeviceField<R, K>) -> [Arg<'static>; 2] {
    let (parts, words) = field.parts();
    [parts, words].map(|number| Arg::U32(number as u32))
}

/// Outer sites and words, as kernels that know no object take them.
pub(super) fn extent<R: Vectors, K: SiteObject>(field: &DeviceField<R, K>) -> [Arg<'static>; 2] {
    [osites(field), Arg::U32(field.kind.words() as u32)]
}
