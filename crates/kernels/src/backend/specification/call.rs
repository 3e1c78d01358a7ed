//! What backends, and CPU functions of kernels, read from a call.

use lanefield_reference::field::{Field, FieldData, FieldError, SiteObject};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::Stencil;
use num_complex::Complex;

use super::kernel::{ArgumentValue, Call, HostCall, Kernel, KernelSource, Shape};
use crate::backend::any_field::AnyField;
use crate::backend::error::BackendError;
use crate::backend::memory::Memory;
use crate::backend::table::HostTable;

type InsideOf<A, B> = for<'f> fn(&'f A) -> Option<&'f B>;
type InsideOfMut<A, B> = for<'f> fn(&'f mut A) -> Option<&'f mut B>;

/// How to get fields and tables of backend `C` from those of backend `B`. Each function returns `None` if it holds those of a third backend.
pub struct Inside<B: Memory + ?Sized, C: Memory + ?Sized> {
    /// A field that is read.
    pub read: InsideOf<AnyField<B::Storage>, AnyField<C::Storage>>,
    /// A field that is written.
    pub write: InsideOfMut<AnyField<B::Storage>, AnyField<C::Storage>>,
    /// A table.
    pub table: for<'f> fn(&'f B::Table) -> Option<&'f C::Table>,
}

impl<'a, B: Memory + ?Sized> Call<'a, B> {
    /// The kernel.
    pub fn kernel(&self) -> &'static Kernel {
        self.shape.kernel
    }

    /// The kernel, its fields and its layout.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Refuses a kernel that sums.
    pub fn check_launched(&self) -> Result<(), BackendError> {
        self.check_kind(false, "one that is launched, and sums nothing")
    }

    /// Refuses a kernel that does not sum, or not so.
    pub fn check_reduced(&self, sum: Sum) -> Result<(), BackendError> {
        self.check_kind(true, "one that sums")?;
        match (sum, self.kernel().source) {
            (Sum::Tree(_), KernelSource::Body(body)) if body.extreme().is_none() => {
                body.check_ordered(self.kernel().name, self.shape().legs).map_err(BackendError::device)
            }
            _ => Ok(()),
        }
    }

    fn check_kind(&self, sums: bool, expected: &str) -> Result<(), BackendError> {
        let kernel = self.kernel();
        if kernel.sums() == sums {
            return Ok(());
        }
        let given = if sums { "one that sums nothing" } else { "one that sums" };
        let (argument, given, expected) = ("kernel".to_owned(), given.to_owned(), expected.to_owned());
        Err(BackendError::Argument { kernel: kernel.name, argument, given, expected })
    }

    /// The values by name.
    pub fn values(&self) -> &[(&'static str, ArgumentValue<'a, B::Storage>)] {
        &self.values
    }

    /// The tables of the stencil.
    pub fn stencil(&self) -> Option<&'a B::Table> {
        self.stencil
    }

    /// The matrix along s.
    pub fn matrix(&self) -> Option<&'a B::Table> {
        self.matrix
    }

    /// The same call on another backend with the same storage and tables, for a backend that wraps another.
    pub fn on<C: Memory<Storage = B::Storage, Table = B::Table> + ?Sized>(self) -> Call<'a, C> {
        let Self { shape, values, stencil, matrix } = self;
        Call { shape, values, stencil, matrix }
    }

    /// The same call on the backend whose fields and tables are within these. The list of values keeps its memory.
    pub fn inside<C: Memory>(self, inside: &Inside<B, C>) -> Result<Call<'a, C>, BackendError> {
        let Self { shape, values, stencil, matrix } = self;
        let elsewhere = |name: &str, what: &str| BackendError::Argument {
            kernel: shape.kernel.name,
            argument: name.to_owned(),
            given: format!("a {what} of another backend"),
            expected: format!("a {what} of the backend that runs the kernel"),
        };
        // Without a `Result` for each value, which takes longer: launches are short.
        let mut wrong = None;
        let values = values.into_iter().filter_map(|(name, value)| {
            let value = match value {
                ArgumentValue::Read(field) => (inside.read)(field).map(ArgumentValue::Read),
                ArgumentValue::Write(field) => (inside.write)(field).map(ArgumentValue::Write),
                ArgumentValue::Reads(fields) => {
                    fields.into_iter().map(inside.read).collect::<Option<_>>().map(ArgumentValue::Reads)
                }
                ArgumentValue::Scalar(scalar) => Some(ArgumentValue::Scalar(scalar)),
                ArgumentValue::Complex(scalar) => Some(ArgumentValue::Complex(scalar)),
                ArgumentValue::Scalars(scalars) => Some(ArgumentValue::Scalars(scalars)),
                ArgumentValue::Indices(numbers) => Some(ArgumentValue::Indices(numbers)),
            };
            if value.is_none() {
                wrong = Some(name);
            }
            Some((name, value?))
        });
        let values = values.collect();
        if let Some(name) = wrong {
            return Err(elsewhere(name, "field"));
        }
        let table = |table: Option<&'a B::Table>, name| match table {
            Some(table) => (inside.table)(table).map(Some).ok_or_else(|| elsewhere(name, "table")),
            None => Ok(None),
        };
        let (stencil, matrix) = (table(stencil, "stencil")?, table(matrix, "matrix")?);
        Ok(Call { shape, values, stencil, matrix })
    }

    /// Notes that the halos of all fields that the call writes are out of date.
    pub fn forget_ghosts(&mut self) {
        for (_, value) in &mut self.values {
            if let ArgumentValue::Write(field) = value {
                field.forget_ghosts();
            }
        }
    }

    /// Reads another field instead of the one with that name.
    pub(crate) fn read_instead(&mut self, name: &str, field: &'a AnyField<B::Storage>) {
        for (_, value) in self.values.iter_mut().filter(|(known, _)| *known == name) {
            *value = ArgumentValue::Read(field);
        }
    }

    /// The value with this name.
    pub fn value(&self, name: &str) -> Option<&ArgumentValue<'a, B::Storage>> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The field with this name, read or written; for a list the first one.
    pub fn field(&self, name: &str) -> Option<&AnyField<B::Storage>> {
        match self.value(name)? {
            ArgumentValue::Read(field) => Some(field),
            ArgumentValue::Write(field) => Some(field),
            ArgumentValue::Reads(fields) => fields.first().copied(),
            _ => None,
        }
    }

    /// A scalar; 0 if there is none with this name.
    pub fn scalar(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(ArgumentValue::Scalar(scalar)) => *scalar,
            _ => 0.0,
        }
    }

    /// A complex scalar; 0 if there is none with this name.
    pub fn complex(&self, name: &str) -> Complex<f64> {
        match self.value(name) {
            Some(ArgumentValue::Complex(scalar)) => *scalar,
            _ => Complex::new(0.0, 0.0),
        }
    }

    /// The scalars of right-hand sides; empty if there are none with this name.
    pub fn scalars(&self, name: &str) -> &'a [f64] {
        match self.value(name) {
            Some(ArgumentValue::Scalars(scalars)) => scalars,
            _ => &[],
        }
    }

    /// A list of numbers; empty if there is none with this name.
    pub fn indices(&self, name: &str) -> &'a [usize] {
        match self.value(name) {
            Some(ArgumentValue::Indices(indices)) => indices,
            _ => &[],
        }
    }
}

/// The field error for something that is missing in a call.
fn missing(what: &'static str, kernel: &Kernel) -> FieldError {
    FieldError::Mismatch { what, left: format!("a call of {kernel}"), right: "its specification".to_owned() }
}

/// The fields of a call on the host.
impl<'a> HostCall<'a> {
    /// A field that is read.
    ///
    /// # Errors
    /// Never for the names, types and precision of the specification.
    pub fn data<R: Vectors>(&self, name: &'static str) -> Result<&'a FieldData<R>, FieldError> {
        match self.value(name) {
            Some(ArgumentValue::Read(field)) => field.storage().get::<R>(),
            _ => None,
        }
        .ok_or_else(|| missing(name, self.kernel()))
    }

    /// As [`Self::data`], as a field of `K` objects.
    pub fn read<R: Vectors, K: SiteObject>(&self, name: &'static str) -> Result<&'a Field<R, K>, FieldError> {
        self.data::<R>(name)?.of::<K>().ok_or_else(|| missing(name, self.kernel()))
    }

    /// The fields of a list.
    pub fn list<R: Vectors>(&self, name: &'static str) -> Result<Vec<&'a FieldData<R>>, FieldError> {
        let fields = match self.value(name) {
            Some(ArgumentValue::Reads(fields)) => fields.iter().map(|field| field.storage().get::<R>()).collect(),
            _ => None,
        };
        fields.ok_or_else(|| missing(name, self.kernel()))
    }

    /// A field that is written. It can be taken once.
    pub fn data_mut<R: Vectors>(&mut self, name: &'static str) -> Result<&'a mut FieldData<R>, FieldError> {
        let kernel = self.kernel();
        let place =
            self.values.iter().position(|(known, value)| *known == name && matches!(value, ArgumentValue::Write(_)));
        match place.map(|place| self.values.swap_remove(place).1) {
            Some(ArgumentValue::Write(field)) => field.storage_mut().get_mut::<R>(),
            _ => None,
        }
        .ok_or_else(|| missing(name, kernel))
    }

    /// As [`Self::data_mut`], as a field of `K` objects.
    pub fn write<R: Vectors, K: SiteObject>(&mut self, name: &'static str) -> Result<&'a mut Field<R, K>, FieldError> {
        let kernel = self.kernel();
        self.data_mut::<R>(name)?.of_mut::<K>().ok_or_else(|| missing(name, kernel))
    }

    /// The stencil.
    pub(crate) fn host_stencil(&self) -> Result<&'a Stencil, FieldError> {
        match self.stencil() {
            Some(HostTable::Stencil(stencil)) => Ok(stencil),
            _ => Err(missing("stencil", self.kernel())),
        }
    }

    /// The matrix along s.
    pub(crate) fn host_matrix(&self) -> Result<&'a SMatrix, FieldError> {
        match self.matrix() {
            Some(HostTable::Matrix(matrix, _)) => Ok(matrix),
            _ => Err(missing("matrix", self.kernel())),
        }
    }
}
