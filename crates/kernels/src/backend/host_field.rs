//! Fields of the host whose precision is known at run time.

use std::any::Any;

use lanefield_reference::field::{FieldData, FieldShape};
use lanefield_reference::half::Half;
use lanefield_reference::kernels::Vectors;

/// A field of the host whose precision is known at run time.
#[derive(Clone, Debug)]
pub enum HostField {
    /// In f32.
    F32(FieldData<f32>),
    /// In f64.
    F64(FieldData<f64>),
    /// In half precision.
    Half(FieldData<Half>),
}

impl HostField {
    /// A field whose precision is known at compile time.
    pub fn new<R: Vectors>(field: FieldData<R>) -> Self {
        /// The field, if it is of precision `S`.
        fn of<R: Vectors, S: Vectors>(field: &mut Option<FieldData<R>>) -> Option<FieldData<S>> {
            (field as &mut dyn Any).downcast_mut::<Option<FieldData<S>>>()?.take()
        }
        let mut field = Some(field);
        if let Some(field) = of::<R, f32>(&mut field) {
            return Self::F32(field);
        }
        if let Some(field) = of::<R, f64>(&mut field) {
            return Self::F64(field);
        }
        match of::<R, Half>(&mut field) {
            Some(field) => Self::Half(field),
            None => unreachable!("there are three precisions"),
        }
    }

    fn any(&self) -> &dyn Any {
        match self {
            Self::F32(field) => field,
            Self::F64(field) => field,
            Self::Half(field) => field,
        }
    }

    /// The field, if it has this precision.
    pub fn get<R: Vectors>(&self) -> Option<&FieldData<R>> {
        self.any().downcast_ref()
    }

    /// Sets every bit of it to 1.
    pub(crate) fn fill_with_ones(&mut self) {
        match self {
            Self::F32(field) => field.reals_mut().fill(f32::from_bits(u32::MAX)),
            Self::F64(field) => field.reals_mut().fill(f64::from_bits(u64::MAX)),
            Self::Half(field) => bytemuck::cast_slice_mut::<_, u8>(field.reals_mut()).fill(u8::MAX),
        }
    }

    /// The field for writing, if it has this precision.
    pub(crate) fn get_mut<R: Vectors>(&mut self) -> Option<&mut FieldData<R>> {
        let any: &mut dyn Any = match self {
            Self::F32(field) => field,
            Self::F64(field) => field,
            Self::Half(field) => field,
        };
        any.downcast_mut()
    }

    /// The field by value, if it has this precision.
    pub fn into<R: Vectors>(self) -> Option<FieldData<R>> {
        let any: Box<dyn Any> = match self {
            Self::F32(field) => Box::new(field),
            Self::F64(field) => Box::new(field),
            Self::Half(field) => Box::new(field),
        };
        any.downcast().ok().map(|field| *field)
    }

    /// The lattice, sites, object and precision.
    pub fn shape(&self) -> FieldShape {
        match self {
            Self::F32(field) => field.shape(),
            Self::F64(field) => field.shape(),
            Self::Half(field) => field.shape(),
        }
    }
}
