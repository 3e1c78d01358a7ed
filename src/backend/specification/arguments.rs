//! The arguments of a call, by name and role. They are held against the specification before anything is launched, so that no two buffers can be
//! taken for each other.

use lanefield_reference::field::{Field, FieldData, FieldError, FieldShape, SiteObject};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::convert::same_cut;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::layout::{Direction, LegOrder, Stencil};
use num_complex::Complex;

use super::shape::{asked, holds, sites_of};
use super::{Access, Argument, FieldOfCall, Holds, HostCall, Kernel, Shape};
use crate::backend::{AnyField, BackendError, FieldOn, HostTable, Memory, Table as _, TableFacts};

/// The value of an argument.
pub enum Value<'a, B: Memory + ?Sized> {
    /// A field that is read.
    Read(&'a AnyField<B::Storage>),
    /// A field that is written.
    Write(&'a mut AnyField<B::Storage>),
    /// Fields that are read.
    Reads(Vec<&'a AnyField<B::Storage>>),
    /// A scalar.
    Scalar(f64),
    /// A complex one.
    Complex(Complex<f64>),
    /// A scalar for each right-hand side.
    Scalars(&'a [f64]),
    /// Numbers.
    Indices(&'a [usize]),
}

/// Arguments by name, to be completed to a [`Call`].
pub struct Arguments<'a, B: Memory + ?Sized> {
    kernel: &'static Kernel,
    values: Vec<(&'static str, Value<'a, B>)>,
    stencil: Option<&'a B::Table>,
    matrix: Option<&'a B::Table>,
    legs: LegOrder,
    rhs_parts: Option<usize>,
    direction: Direction,
}

impl<'a, B: Memory + ?Sized> Arguments<'a, B> {
    /// None yet.
    pub fn new(kernel: &'static Kernel) -> Self {
        let (stencil, matrix, rhs_parts) = (None, None, None);
        let (legs, direction) = (LegOrder::DEFAULT, Direction::T);
        Self { kernel, values: Vec::with_capacity(8), stencil, matrix, legs, rhs_parts, direction }
    }

    /// Any value.
    pub fn value(mut self, name: &'static str, value: Value<'a, B>) -> Self {
        self.values.push((name, value));
        self
    }

    /// A field that is read.
    pub fn read<R: Vectors, K: SiteObject>(self, name: &'static str, field: &'a FieldOn<B, R, K>) -> Self {
        self.value(name, Value::Read(field.any()))
    }

    /// A field that is read, if there is one.
    pub fn read_any(self, name: &'static str, field: &'a AnyField<B::Storage>) -> Self {
        self.value(name, Value::Read(field))
    }

    /// A field that is written, or read and written.
    pub fn write<R: Vectors, K: SiteObject>(self, name: &'static str, field: &'a mut FieldOn<B, R, K>) -> Self {
        self.value(name, Value::Write(field.any_mut()))
    }

    /// A scalar.
    pub fn scalar(self, name: &'static str, value: f64) -> Self {
        self.value(name, Value::Scalar(value))
    }

    /// The stencil onto the target.
    pub fn stencil(self, stencil: &'a B::Table) -> Self {
        Self { stencil: Some(stencil), ..self }
    }

    /// The matrix along s.
    pub fn matrix(self, matrix: &'a B::Table) -> Self {
        Self { matrix: Some(matrix), ..self }
    }

    /// The order of the legs.
    pub fn legs(self, legs: LegOrder) -> Self {
        Self { legs, ..self }
    }

    /// Components of a right-hand side.
    pub fn rhs_parts(self, rhs_parts: usize) -> Self {
        Self { rhs_parts: Some(rhs_parts), ..self }
    }

    /// Across which slices are summed.
    pub fn direction(self, direction: Direction) -> Self {
        Self { direction, ..self }
    }

    /// The call, if every argument is there, and what its role asks for.
    ///
    /// # Errors
    /// [`BackendError::Argument`], with the kernel and the argument.
    pub fn call(self) -> Result<Call<'a, B>, BackendError> {
        let kernel = self.kernel;
        let refused = |argument: &str, given: String, expected: String| {
            Err(BackendError::Argument { kernel: kernel.name, argument: argument.to_owned(), given, expected })
        };
        let shape_of = |value: &Value<'_, B>| match value {
            Value::Read(field) => Some(*field.shape()),
            Value::Write(field) => Some(*field.shape()),
            Value::Reads(fields) => fields.first().map(|field| *field.shape()),
            _ => None,
        };
        let given = |name: &str| self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        if let Some((name, _)) = self.values.iter().find(|(name, _)| !is_argument(kernel, name)) {
            return refused(name, "given".to_owned(), "no argument of this name".to_owned());
        }
        for argument in kernel.arguments {
            let (name, right) = match *argument {
                Argument::Field(role) => {
                    let right = match role.access {
                        Access::Read => matches!(given(role.name), Some(Value::Read(_))),
                        Access::Write | Access::Update => matches!(given(role.name), Some(Value::Write(_))),
                    };
                    (role.name, right)
                }
                Argument::Fields(name, most) => {
                    (name, matches!(given(name), Some(Value::Reads(fields)) if (1..=most).contains(&fields.len())))
                }
                Argument::Scalar(name) | Argument::Double(name) => {
                    (name, matches!(given(name), Some(Value::Scalar(_))))
                }
                Argument::Complex(name) => (name, matches!(given(name), Some(Value::Complex(_)))),
                Argument::Indices(name) => (name, matches!(given(name), Some(Value::Indices(_)))),
                Argument::Scalars(names) => {
                    let missing = names.iter().find(|name| !matches!(given(name), Some(Value::Scalars(_))));
                    (missing.copied().unwrap_or("scalars"), missing.is_none())
                }
                Argument::Stencil => ("stencil", self.stencil.is_some()),
                Argument::Matrix(_) => ("matrix", self.matrix.is_some()),
                _ => continue,
            };
            if !right {
                return refused(name, "missing, or of another kind".to_owned(), format!("{argument:?}"));
            }
        }
        let Some(target) = given(kernel.target()).and_then(shape_of) else {
            return refused(kernel.target(), "missing".to_owned(), "a field".to_owned());
        };
        let mut fields = Vec::with_capacity(self.values.len());
        for role in kernel.fields() {
            let all: Vec<FieldShape> = match given(role.name) {
                Some(Value::Reads(list)) => list.iter().map(|field| *field.shape()).collect(),
                other => other.and_then(shape_of).into_iter().collect(),
            };
            for shape in &all {
                let place = match role.holds {
                    Holds::Converted => same_cut(&shape.lattice, &target.lattice) && shape.sites == target.sites,
                    _ => {
                        (shape.lattice, shape.precision) == (target.lattice, target.precision)
                            && shape.sites == sites_of(role, target.sites)
                    }
                };
                if !place || !holds(role, shape.object, target.object) {
                    return refused(role.name, format!("a {}", shape.describe()), asked(role, &target));
                }
            }
            fields.extend(all.first().map(|&shape| FieldOfCall { name: role.name, shape }));
        }
        if let Some(TableFacts::Stencil { lattice, sites }) = self.stencil.map(|table| table.facts()) {
            let layout = (lattice.extents(), lattice.nodes(), lattice.checkerboard());
            if layout != (target.lattice.extents(), target.lattice.nodes(), target.lattice.checkerboard())
                || sites != target.sites
            {
                let given = format!("that of {sites} sites of {}", lattice.extents());
                return refused("stencil", given, format!("that of a {}", target.describe()));
            }
        }
        let matrix = match self.matrix.map(|table| table.facts()) {
            Some(TableFacts::Matrix(facts)) => Some(facts),
            _ => None,
        };
        for argument in kernel.arguments {
            if let (Argument::Matrix(form), Some(facts)) = (argument, matrix) {
                if facts.form != *form {
                    return refused("matrix", facts.form.name().to_owned(), form.name().to_owned());
                }
                if !target.object.parts().is_multiple_of(facts.ls) {
                    let expected = format!("a multiple of ls = {} spinors a site", facts.ls);
                    return refused(kernel.target(), format!("a {}", target.describe()), expected);
                }
            }
        }
        let listed = self.values.iter().find_map(|(_, value)| match value {
            Value::Reads(fields) => Some(fields.len()),
            _ => None,
        });
        let rhs_parts = self.rhs_parts.unwrap_or(target.object.parts());
        let shape = Shape {
            kernel,
            target,
            fields,
            legs: self.legs,
            matrix,
            rhs_parts,
            direction: self.direction,
            listed: listed.unwrap_or(1),
        };
        Ok(Call { shape, values: self.values, stencil: self.stencil, matrix: self.matrix })
    }
}

fn is_argument(kernel: &Kernel, name: &str) -> bool {
    kernel.arguments.iter().any(|argument| match *argument {
        Argument::Field(role) => role.name == name,
        Argument::Fields(known, _)
        | Argument::Scalar(known)
        | Argument::Double(known)
        | Argument::Complex(known)
        | Argument::Indices(known) => known == name,
        Argument::Scalars(names) => names.contains(&name),
        _ => false,
    })
}

/// A call of a kernel whose arguments were checked.
pub struct Call<'a, B: Memory + ?Sized> {
    shape: Shape,
    values: Vec<(&'static str, Value<'a, B>)>,
    stencil: Option<&'a B::Table>,
    matrix: Option<&'a B::Table>,
}

impl<'a, B: Memory + ?Sized> Call<'a, B> {
    /// The kernel.
    pub fn kernel(&self) -> &'static Kernel {
        self.shape.kernel
    }

    /// What it is about.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The values by name.
    pub fn values(&self) -> &[(&'static str, Value<'a, B>)] {
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

    /// The same call of another backend with the same memory: what a backend does that wraps another.
    pub fn on<C: Memory<Storage = B::Storage, Table = B::Table> + ?Sized>(self) -> Call<'a, C> {
        let value = |value| match value {
            Value::Read(field) => Value::Read(field),
            Value::Write(field) => Value::Write(field),
            Value::Reads(fields) => Value::Reads(fields),
            Value::Scalar(scalar) => Value::Scalar(scalar),
            Value::Complex(scalar) => Value::Complex(scalar),
            Value::Scalars(scalars) => Value::Scalars(scalars),
            Value::Indices(indices) => Value::Indices(indices),
        };
        let values = self.values.into_iter().map(|(name, given)| (name, value(given))).collect();
        Call { shape: self.shape, values, stencil: self.stencil, matrix: self.matrix }
    }

    /// A value by name.
    pub fn value(&self, name: &str) -> Option<&Value<'a, B>> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The field of that name, whatever is done with it; of a list the first.
    pub fn field(&self, name: &str) -> Option<&AnyField<B::Storage>> {
        match self.value(name)? {
            Value::Read(field) => Some(field),
            Value::Write(field) => Some(field),
            Value::Reads(fields) => fields.first().copied(),
            _ => None,
        }
    }

    /// A scalar; 0 where there is none.
    pub fn scalar(&self, name: &str) -> f64 {
        match self.value(name) {
            Some(Value::Scalar(scalar)) => *scalar,
            _ => 0.0,
        }
    }

    /// A complex scalar; 0 where there is none.
    pub fn complex(&self, name: &str) -> Complex<f64> {
        match self.value(name) {
            Some(Value::Complex(scalar)) => *scalar,
            _ => Complex::new(0.0, 0.0),
        }
    }

    /// The scalars of right-hand sides; none where there are none.
    pub fn scalars(&self, name: &str) -> &'a [f64] {
        match self.value(name) {
            Some(Value::Scalars(scalars)) => scalars,
            _ => &[],
        }
    }

    /// Numbers; none where there are none.
    pub fn indices(&self, name: &str) -> &'a [usize] {
        match self.value(name) {
            Some(Value::Indices(indices)) => indices,
            _ => &[],
        }
    }
}

/// What the call has not, in the words of a field error.
fn missing(what: &'static str, kernel: &Kernel) -> FieldError {
    FieldError::Mismatch { what, left: format!("a call of {kernel}"), right: "its specification".to_owned() }
}

/// The fields of a call on the host.
impl<'a> HostCall<'a> {
    /// A field that is read.
    ///
    /// # Errors
    /// None that occurs for the names, types and precision of the specification.
    pub fn data<R: Vectors>(&self, name: &'static str) -> Result<&'a FieldData<R>, FieldError> {
        match self.value(name) {
            Some(Value::Read(field)) => field.storage().get::<R>(),
            _ => None,
        }
        .ok_or_else(|| missing(name, self.kernel()))
    }

    /// The same as a field of `K`s.
    ///
    /// # Errors
    /// As [`Self::data`].
    pub fn read<R: Vectors, K: SiteObject>(&self, name: &'static str) -> Result<&'a Field<R, K>, FieldError> {
        self.data::<R>(name)?.of::<K>().ok_or_else(|| missing(name, self.kernel()))
    }

    /// Fields of a list.
    ///
    /// # Errors
    /// As [`Self::data`].
    pub fn list<R: Vectors>(&self, name: &'static str) -> Result<Vec<&'a FieldData<R>>, FieldError> {
        let fields = match self.value(name) {
            Some(Value::Reads(fields)) => fields.iter().map(|field| field.storage().get::<R>()).collect(),
            _ => None,
        };
        fields.ok_or_else(|| missing(name, self.kernel()))
    }

    /// A field that is written; it can be taken once.
    ///
    /// # Errors
    /// As [`Self::data`].
    pub fn data_mut<R: Vectors>(&mut self, name: &'static str) -> Result<&'a mut FieldData<R>, FieldError> {
        let kernel = self.kernel();
        let place = self.values.iter().position(|(known, value)| *known == name && matches!(value, Value::Write(_)));
        match place.map(|place| self.values.swap_remove(place).1) {
            Some(Value::Write(field)) => field.storage_mut().get_mut::<R>(),
            _ => None,
        }
        .ok_or_else(|| missing(name, kernel))
    }

    /// The same as a field of `K`s.
    ///
    /// # Errors
    /// As [`Self::data`].
    pub fn write<R: Vectors, K: SiteObject>(&mut self, name: &'static str) -> Result<&'a mut Field<R, K>, FieldError> {
        let kernel = self.kernel();
        self.data_mut::<R>(name)?.of_mut::<K>().ok_or_else(|| missing(name, kernel))
    }

    /// The stencil.
    ///
    /// # Errors
    /// As [`Self::data`].
    pub fn host_stencil(&self) -> Result<&'a Stencil, FieldError> {
        match self.stencil() {
            Some(HostTable::Stencil(stencil)) => Ok(stencil),
            _ => Err(missing("stencil", self.kernel())),
        }
    }

    /// The matrix along s.
    ///
    /// # Errors
    /// As [`Self::data`].
    pub fn host_matrix(&self) -> Result<&'a SMatrix, FieldError> {
        match self.matrix() {
            Some(HostTable::Matrix(matrix)) => Ok(matrix),
            _ => Err(missing("matrix", self.kernel())),
        }
    }
}
