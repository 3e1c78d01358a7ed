//! The arguments of a call, by name and role. They are held against the specification before anything is launched, so that no two buffers can be
//! taken for each other.

use lanefield_reference::field::{Field, FieldData, FieldError, FieldShape, Object, SiteObject};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::layout::{Direction, Lattice, LegOrder, Stencil};
use lanefield_reference::real::Precision;
use num_complex::Complex;

use super::shape::{asked, holds, sites_of};
use super::{Access, Argument, FieldOfCall, Holds, HostCall, Kernel, KernelSource, MatrixFacts, Shape};
use crate::backend::{AnyField, BackendError, FieldOn, HostTable, Memory, Table, TableFacts};

/// The value of an argument.
pub enum Value<'a, S> {
    /// A field that is read.
    Read(&'a AnyField<S>),
    /// A field that is written.
    Write(&'a mut AnyField<S>),
    /// Fields that are read.
    Reads(Vec<&'a AnyField<S>>),
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
    values: Vec<(&'static str, Value<'a, B::Storage>)>,
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
    pub fn value(mut self, name: &'static str, value: Value<'a, B::Storage>) -> Self {
        self.values.push((name, value));
        self
    }

    /// A field that is read.
    pub fn read<R: Vectors, K: SiteObject>(self, name: &'static str, field: &'a FieldOn<B, R, K>) -> Self {
        self.value(name, Value::Read(field.any()))
    }

    /// A field that is read, of any objects in any precision.
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
        self.check_names()?;
        let target = self.check_target()?;
        let fields = self.check_fields(&target)?;
        if target.lattice.extents().is_part() {
            self.check_reach(&target)?;
        }
        let matrix = self.check_tables(&target)?;
        let rhs_parts = self.rhs_parts.unwrap_or(target.object.parts());
        self.check_lists(&target, rhs_parts)?;
        let listed = self.values.iter().find_map(|(_, value)| match value {
            Value::Reads(fields) => Some(fields.len()),
            _ => None,
        });
        let (legs, direction, listed) = (self.legs, self.direction, listed.unwrap_or(1));
        let shape = Shape { kernel, target, fields, legs, matrix, rhs_parts, direction, listed };
        Ok(Call { shape, values: self.values, stencil: self.stencil, matrix: self.matrix })
    }

    /// Refuses reads that lead further than a field on a part of a lattice holds sites of other parts.
    fn check_reach(&self, target: &FieldShape) -> Result<(), BackendError> {
        let kernel = self.kernel;
        if kernel.needs_whole_lattice() {
            return Err(self.refused(kernel.target(), an(target), "a whole lattice"));
        }
        for role in kernel.fields() {
            let (Some(reach), Some(field)) = (kernel.reach(&role, self.legs), self.shapes(role.name).first().copied())
            else {
                continue;
            };
            if field.object.reach().is_none_or(|held| held < reach) {
                let expected = "colour matrices, colour vectors, or a whole lattice: of other objects a part holds only the nearest sites of other parts";
                return Err(self.refused(role.name, an(&field), expected));
            }
        }
        Ok(())
    }

    fn given(&self, name: &str) -> Option<&Value<'a, B::Storage>> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The fields of that name: those of a list, or one.
    fn shapes(&self, name: &str) -> Vec<FieldShape> {
        match self.given(name) {
            Some(Value::Read(field)) => vec![*field.shape()],
            Some(Value::Write(field)) => vec![*field.shape()],
            Some(Value::Reads(fields)) => fields.iter().map(|field| *field.shape()).collect(),
            _ => Vec::new(),
        }
    }

    fn refused(&self, argument: &str, given: impl Into<String>, expected: impl Into<String>) -> BackendError {
        let (argument, given, expected) = (argument.to_owned(), given.into(), expected.into());
        BackendError::Argument { kernel: self.kernel.name, argument, given, expected }
    }

    /// Every argument is there once, is of the right kind, and there is no other.
    fn check_names(&self) -> Result<(), BackendError> {
        for (place, (name, _)) in self.values.iter().enumerate() {
            if !is_argument(self.kernel, name) {
                return Err(self.refused(name, "given", "no argument of this name"));
            }
            if self.values[..place].iter().any(|(known, _)| known == name) {
                return Err(self.refused(name, "given twice", "one value"));
            }
        }
        for argument in self.kernel.arguments {
            for name in argument.names() {
                let right = match (argument, self.given(name)) {
                    (Argument::Field(role), Some(Value::Read(_))) => role.access == Access::Read,
                    (Argument::Field(role), Some(Value::Write(_))) => role.access != Access::Read,
                    (Argument::Fields(_, most), Some(Value::Reads(fields))) => (1..=*most).contains(&fields.len()),
                    (Argument::Scalar(_) | Argument::Double(_), Some(Value::Scalar(_)))
                    | (Argument::Complex(_), Some(Value::Complex(_)))
                    | (Argument::Indices { .. }, Some(Value::Indices(_)))
                    | (Argument::Scalars(_) | Argument::Coefficients { .. }, Some(Value::Scalars(_))) => true,
                    _ => false,
                };
                if !right {
                    let given = self.given(name).map_or("missing".to_owned(), Value::kind);
                    return Err(self.refused(name, given, argument.kind()));
                }
            }
        }
        Ok(())
    }

    /// The target, if the kernel takes its precision, and as many components.
    fn check_target(&self) -> Result<FieldShape, BackendError> {
        let (kernel, name) = (self.kernel, self.kernel.target());
        let Some(target) = self.shapes(name).first().copied() else {
            return Err(self.refused(name, "missing", "a field"));
        };
        if !kernel.takes(target.precision) {
            let precisions: Vec<String> = kernel.precisions.iter().map(Precision::to_string).collect();
            return Err(self.refused(name, an(&target), format!("a field in {}", precisions.join(" or "))));
        }
        if !kernel.takes_parts(target.object.parts()) {
            let expected = if kernel.takes_parts(1) { "one component a site" } else { "several components a site" };
            return Err(self.refused(name, an(&target), expected));
        }
        Ok(target)
    }

    /// Every field holds what its role asks for, on the sites that it asks for.
    fn check_fields(&self, target: &FieldShape) -> Result<Vec<FieldOfCall>, BackendError> {
        let mut fields: Vec<FieldOfCall> = Vec::with_capacity(self.values.len());
        for role in self.kernel.fields() {
            let all = self.shapes(role.name);
            // A kernel is built for one format of links, and is told of one set of boundary phases.
            let links = fields.iter().find(|field| matches!(field.shape.object, Object::DoubledGauge(_)));
            if let (Holds::DoubledLinks, Some(first), Some(shape)) = (role.holds, links, all.first())
                && first.shape.object != shape.object
            {
                let expected = format!("links with as many reals and the same boundary phases as {}", first.name);
                return Err(self.refused(role.name, an(shape), expected));
            }
            for shape in &all {
                let place = match role.holds {
                    Holds::Converted => {
                        shape.lattice.has_cut_of(&target.lattice) && shape.sites == sites_of(role, target.sites)
                    }
                    _ => {
                        (shape.lattice, shape.precision) == (target.lattice, target.precision)
                            && shape.sites == sites_of(role, target.sites)
                    }
                };
                if !place || !holds(role, shape.object, target.object) {
                    return Err(self.refused(role.name, an(shape), asked(role, target)));
                }
                // Each component of a site writes its own.
                let is_body = matches!(self.kernel.source, KernelSource::Body(_));
                if is_body && role.access != Access::Read && shape.object.parts() != target.object.parts() {
                    let expected = format!("as many components a site as {}", an(target));
                    return Err(self.refused(role.name, an(shape), expected));
                }
            }
            fields.extend(all.first().map(|&shape| FieldOfCall { name: role.name, shape }));
        }
        Ok(fields)
    }

    /// The stencil and the matrix are such, and those of the target.
    fn check_tables(&self, target: &FieldShape) -> Result<Option<MatrixFacts>, BackendError> {
        let mut matrix = None;
        for argument in self.kernel.arguments {
            match (argument, self.stencil.map(Table::facts), self.matrix.map(Table::facts)) {
                (Argument::Stencil, Some(TableFacts::Stencil { lattice, sites }), _) => {
                    let cut = |lattice: &Lattice| (lattice.extents(), lattice.nodes(), lattice.checkerboard());
                    if cut(&lattice) != cut(&target.lattice) || sites != target.sites {
                        let given = format!("that of {sites} sites of {}, cut {}", lattice.extents(), lattice.nodes());
                        return Err(self.refused("stencil", given, format!("that of {}", an(target))));
                    }
                }
                (Argument::Stencil, given, _) => {
                    let given = if given.is_some() { "a matrix along s" } else { "missing" };
                    return Err(self.refused("stencil", given, "a stencil"));
                }
                (Argument::Matrix(form), _, Some(TableFacts::Matrix { facts, precision })) => {
                    if facts.form != *form {
                        return Err(self.refused("matrix", facts.form.name(), form.name()));
                    }
                    if precision.scalar() != target.precision.scalar() {
                        let expected = format!("one for fields in {}", target.precision);
                        return Err(self.refused("matrix", format!("one for fields in {precision}"), expected));
                    }
                    if !target.object.parts().is_multiple_of(facts.ls) {
                        let expected = format!("a multiple of ls = {} spinors a site", facts.ls);
                        return Err(self.refused(self.kernel.target(), an(target), expected));
                    }
                    matrix = Some(facts);
                }
                (Argument::Matrix(form), _, given) => {
                    let given = if given.is_some() { "a stencil" } else { "missing" };
                    return Err(self.refused("matrix", given, form.name()));
                }
                _ => {}
            }
        }
        Ok(matrix)
    }

    /// Fields have whole right-hand sides; there is a scalar for each, and numbers are those of right-hand sides.
    fn check_lists(&self, target: &FieldShape, rhs_parts: usize) -> Result<(), BackendError> {
        if !self.kernel.arguments.iter().any(|argument| matches!(argument, Argument::RhsParts)) {
            return Ok(());
        }
        for role in self.kernel.fields() {
            for shape in self.shapes(role.name) {
                if rhs_parts == 0 || !shape.object.parts().is_multiple_of(rhs_parts) {
                    let expected = format!("whole right-hand sides of {rhs_parts} components");
                    return Err(self.refused(role.name, an(&shape), expected));
                }
            }
        }
        let count = |name: &str| self.shapes(name).first().map_or(0, |shape| shape.object.parts() / rhs_parts);
        for (name, value) in &self.values {
            let of_pairs = self.kernel.arguments.iter().find_map(|argument| match *argument {
                Argument::Coefficients { name: known, of } if known == *name => Some(of),
                _ => None,
            });
            match (value, of_pairs) {
                (Value::Scalars(numbers), Some(of)) => {
                    let (rows, columns) = (count(of), target.object.parts() / rhs_parts);
                    if numbers.len() != 2 * rows * columns {
                        let expected = format!(
                            "real and imaginary part for each of {rows} × {columns} pairs of right-hand sides, {} numbers",
                            2 * rows * columns
                        );
                        return Err(self.refused(name, format!("{} numbers", numbers.len()), expected));
                    }
                }
                (Value::Scalars(scalars), None) if scalars.len() != target.object.parts() / rhs_parts => {
                    let expected = format!("one for each of {} right-hand sides", target.object.parts() / rhs_parts);
                    return Err(self.refused(name, format!("{} scalars", scalars.len()), expected));
                }
                (Value::Indices(numbers), _) => {
                    let of_fields = self.kernel.arguments.iter().find_map(|argument| match *argument {
                        Argument::Indices { name: known, of, among } if known == *name => Some((of, among)),
                        _ => None,
                    });
                    let Some((of, among)) = of_fields else { continue };
                    if numbers.len() != count(of) || numbers.iter().any(|&number| number >= count(among)) {
                        let expected = format!(
                            "a number below {} for each of {} right-hand sides of {of}",
                            count(among),
                            count(of)
                        );
                        return Err(self.refused(name, format!("{numbers:?}"), expected));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// "an f32 spinor field on …"
pub fn an(shape: &FieldShape) -> String {
    let article = if shape.precision == Precision::Half { "a" } else { "an" };
    format!("{article} {}", shape.describe())
}

impl Argument {
    /// The names of the values that it takes.
    fn names(&self) -> Vec<&'static str> {
        match *self {
            Self::Field(role) => vec![role.name],
            Self::Fields(name, _)
            | Self::Scalar(name)
            | Self::Double(name)
            | Self::Complex(name)
            | Self::Coefficients { name, .. }
            | Self::Indices { name, .. } => vec![name],
            Self::Scalars(names) => names.to_vec(),
            _ => Vec::new(),
        }
    }

    /// What is to be given, in words.
    fn kind(&self) -> String {
        match self {
            Self::Field(role) if role.access == Access::Read => "a field that is read".to_owned(),
            Self::Field(_) => "a field that is written".to_owned(),
            Self::Fields(_, most) => format!("1 to {most} fields that are read"),
            Self::Scalar(_) | Self::Double(_) => "a real number".to_owned(),
            Self::Complex(_) => "a complex number".to_owned(),
            Self::Coefficients { .. } => "a complex number for each pair of right-hand sides".to_owned(),
            Self::Indices { .. } => "a number for each right-hand side".to_owned(),
            Self::Scalars(_) => "a scalar for each right-hand side".to_owned(),
            _ => "none".to_owned(),
        }
    }
}

impl<S> Value<'_, S> {
    /// What it is, in words.
    fn kind(&self) -> String {
        match self {
            Self::Read(_) => "a field that is read".to_owned(),
            Self::Write(_) => "a field that is written".to_owned(),
            Self::Reads(fields) => format!("{} fields that are read", fields.len()),
            Self::Scalar(_) => "a real number".to_owned(),
            Self::Complex(_) => "a complex number".to_owned(),
            Self::Scalars(_) => "a scalar for each right-hand side".to_owned(),
            Self::Indices(_) => "numbers of right-hand sides".to_owned(),
        }
    }
}

fn is_argument(kernel: &Kernel, name: &str) -> bool {
    kernel.arguments.iter().any(|argument| argument.names().contains(&name))
}

type InsideOf<A, B> = for<'f> fn(&'f A) -> Option<&'f B>;
type InsideOfMut<A, B> = for<'f> fn(&'f mut A) -> Option<&'f mut B>;

/// How fields and tables of a backend `C` lie in those of a backend `B`; not at all where they are of yet another.
pub struct Inside<B: Memory + ?Sized, C: Memory + ?Sized> {
    /// A field that is read.
    pub read: InsideOf<AnyField<B::Storage>, AnyField<C::Storage>>,
    /// A field that is written.
    pub write: InsideOfMut<AnyField<B::Storage>, AnyField<C::Storage>>,
    /// A table.
    pub table: for<'f> fn(&'f B::Table) -> Option<&'f C::Table>,
}

/// A call of a kernel whose arguments were checked.
pub struct Call<'a, B: Memory + ?Sized> {
    shape: Shape,
    values: Vec<(&'static str, Value<'a, B::Storage>)>,
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

    /// Refuses a kernel that sums.
    pub fn check_launched(&self) -> Result<(), BackendError> {
        self.check_kind(false, "one that is launched, and sums nothing")
    }

    /// Refuses a kernel that does not sum.
    pub fn check_reduced(&self) -> Result<(), BackendError> {
        self.check_kind(true, "one that sums")
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
    pub fn values(&self) -> &[(&'static str, Value<'a, B::Storage>)] {
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
        let Self { shape, values, stencil, matrix } = self;
        Call { shape, values, stencil, matrix }
    }

    /// The same call of a backend whose fields and tables are those that lie in these. The list of values keeps its memory.
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
                Value::Read(field) => (inside.read)(field).map(Value::Read),
                Value::Write(field) => (inside.write)(field).map(Value::Write),
                Value::Reads(fields) => fields.into_iter().map(inside.read).collect::<Option<_>>().map(Value::Reads),
                Value::Scalar(scalar) => Some(Value::Scalar(scalar)),
                Value::Complex(scalar) => Some(Value::Complex(scalar)),
                Value::Scalars(scalars) => Some(Value::Scalars(scalars)),
                Value::Indices(numbers) => Some(Value::Indices(numbers)),
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

    /// Says of each field that the call writes that ghosts of it are old.
    pub fn forget_ghosts(&mut self) {
        for (_, value) in &mut self.values {
            if let Value::Write(field) = value {
                field.forget_ghosts();
            }
        }
    }

    /// Reads another field in place of the one of that name.
    pub fn read_instead(&mut self, name: &str, field: &'a AnyField<B::Storage>) {
        for (_, value) in self.values.iter_mut().filter(|(known, _)| *known == name) {
            *value = Value::Read(field);
        }
    }

    /// A value by name.
    pub fn value(&self, name: &str) -> Option<&Value<'a, B::Storage>> {
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
    pub fn read<R: Vectors, K: SiteObject>(&self, name: &'static str) -> Result<&'a Field<R, K>, FieldError> {
        self.data::<R>(name)?.of::<K>().ok_or_else(|| missing(name, self.kernel()))
    }

    /// Fields of a list.
    pub fn list<R: Vectors>(&self, name: &'static str) -> Result<Vec<&'a FieldData<R>>, FieldError> {
        let fields = match self.value(name) {
            Some(Value::Reads(fields)) => fields.iter().map(|field| field.storage().get::<R>()).collect(),
            _ => None,
        };
        fields.ok_or_else(|| missing(name, self.kernel()))
    }

    /// A field that is written; it can be taken once.
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
    pub fn write<R: Vectors, K: SiteObject>(&mut self, name: &'static str) -> Result<&'a mut Field<R, K>, FieldError> {
        let kernel = self.kernel();
        self.data_mut::<R>(name)?.of_mut::<K>().ok_or_else(|| missing(name, kernel))
    }

    /// The stencil.
    pub fn host_stencil(&self) -> Result<&'a Stencil, FieldError> {
        match self.stencil() {
            Some(HostTable::Stencil(stencil)) => Ok(stencil),
            _ => Err(missing("stencil", self.kernel())),
        }
    }

    /// The matrix along s.
    pub fn host_matrix(&self) -> Result<&'a SMatrix, FieldError> {
        match self.matrix() {
            Some(HostTable::Matrix(matrix, _)) => Ok(matrix),
            _ => Err(missing("matrix", self.kernel())),
        }
    }
}
