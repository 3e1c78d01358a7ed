//! The arguments of a call, by name and role. They are checked against the specification before the launch, so that no two buffers can be confused.

use lanefield_reference::field::{FieldShape, Object, SiteObject};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Direction, Lattice, LegOrder};
use lanefield_reference::real::Precision;
use num_complex::Complex;

use super::kernel::{ArgumentValue, Call, FieldOfCall, Kernel, KernelSource, Shape};
use super::roles::{Access, FieldContents, KernelArgument};
use super::shape::{an, asked, holds, sites_of};
use crate::backend::any_field::AnyField;
use crate::backend::error::BackendError;
use crate::backend::memory::{FieldOn, Memory};
use crate::backend::table::{MatrixFacts, Table, TableFacts};

/// Arguments by name, which are completed to a [`Call`].
pub type Arguments<'a, B> = ArgumentList<'a, B, ArgumentValue<'a, <B as Memory>::Storage>>;

/// Arguments by name, with values of type `V`: fields ([`Arguments`]), or their slots in a graph
/// ([`GraphLaunch`](crate::backend::graph::GraphLaunch)).
pub struct ArgumentList<'a, B: Memory + ?Sized, V> {
    pub(in crate::backend) kernel: &'static Kernel,
    pub(in crate::backend) values: Vec<(&'static str, V)>,
    pub(in crate::backend) stencil: Option<&'a B::Table>,
    pub(in crate::backend) matrix: Option<&'a B::Table>,
    pub(in crate::backend) legs: LegOrder,
    pub(in crate::backend) rhs_parts: Option<usize>,
    pub(in crate::backend) direction: Direction,
}

impl<'a, B: Memory + ?Sized, V> ArgumentList<'a, B, V> {
    /// No arguments.
    pub fn new(kernel: &'static Kernel) -> Self {
        let (stencil, matrix, rhs_parts) = (None, None, None);
        let (legs, direction) = (LegOrder::DEFAULT, Direction::T);
        Self { kernel, values: Vec::with_capacity(8), stencil, matrix, legs, rhs_parts, direction }
    }

    /// Adds any value.
    pub fn value(mut self, name: &'static str, value: V) -> Self {
        self.values.push((name, value));
        self
    }

    /// Adds a scalar.
    pub fn scalar(self, name: &'static str, value: f64) -> Self
    where
        V: From<f64>,
    {
        self.value(name, value.into())
    }

    /// Adds a complex scalar.
    pub fn complex(self, name: &'static str, value: Complex<f64>) -> Self
    where
        V: From<Complex<f64>>,
    {
        self.value(name, value.into())
    }

    /// Adds a scalar for each right-hand side.
    pub fn scalars(self, name: &'static str, values: &'a [f64]) -> Self
    where
        V: From<&'a [f64]>,
    {
        self.value(name, values.into())
    }

    /// Adds a list of right-hand side numbers.
    pub fn indices(self, name: &'static str, values: &'a [usize]) -> Self
    where
        V: From<&'a [usize]>,
    {
        self.value(name, values.into())
    }

    /// Sets the stencil of the target's sites.
    pub fn stencil(self, stencil: &'a B::Table) -> Self {
        Self { stencil: Some(stencil), ..self }
    }

    /// Sets the matrix along s.
    pub fn matrix(self, matrix: &'a B::Table) -> Self {
        Self { matrix: Some(matrix), ..self }
    }

    /// Sets the leg order.
    pub fn legs(self, legs: LegOrder) -> Self {
        Self { legs, ..self }
    }

    /// Sets the number of components of a right-hand side.
    pub fn rhs_parts(self, rhs_parts: usize) -> Self {
        Self { rhs_parts: Some(rhs_parts), ..self }
    }

    /// Sets the direction of slices: those across it.
    pub fn direction(self, direction: Direction) -> Self {
        Self { direction, ..self }
    }
}

impl<'a, B: Memory + ?Sized> ArgumentList<'a, B, ArgumentValue<'a, B::Storage>> {
    /// Adds a field that is read.
    pub fn read<R: Vectors, K: SiteObject>(self, name: &'static str, field: &'a FieldOn<B, R, K>) -> Self {
        self.value(name, ArgumentValue::Read(field.any()))
    }

    /// Adds a field that is read, with any object and precision.
    pub fn read_any(self, name: &'static str, field: &'a AnyField<B::Storage>) -> Self {
        self.value(name, ArgumentValue::Read(field))
    }

    /// Adds a field that is written, or read and written.
    pub fn write<R: Vectors, K: SiteObject>(self, name: &'static str, field: &'a mut FieldOn<B, R, K>) -> Self {
        self.value(name, ArgumentValue::Write(field.any_mut()))
    }

    /// The call. Every argument must be there and match its role.
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
            ArgumentValue::Reads(fields) => Some(fields.len()),
            _ => None,
        });
        let (legs, direction, listed) = (self.legs, self.direction, listed.unwrap_or(1));
        let shape = Shape { kernel, target, fields, legs, matrix, rhs_parts, direction, listed };
        Ok(Call { shape, values: self.values, stencil: self.stencil, matrix: self.matrix })
    }

    /// Refuses a kernel that reads further than the halo of a field on a local volume is deep.
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
                let expected = "colour matrices, colour vectors, or a whole lattice: halos of other objects have only the nearest sites";
                return Err(self.refused(role.name, an(&field), expected));
            }
        }
        Ok(())
    }

    fn given(&self, name: &str) -> Option<&ArgumentValue<'a, B::Storage>> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The shapes of the fields with that name: several for a list, else one.
    fn shapes(&self, name: &str) -> Vec<FieldShape> {
        match self.given(name) {
            Some(ArgumentValue::Read(field)) => vec![*field.shape()],
            Some(ArgumentValue::Write(field)) => vec![*field.shape()],
            Some(ArgumentValue::Reads(fields)) => fields.iter().map(|field| *field.shape()).collect(),
            _ => Vec::new(),
        }
    }

    fn refused(&self, argument: &str, given: impl Into<String>, expected: impl Into<String>) -> BackendError {
        let (argument, given, expected) = (argument.to_owned(), given.into(), expected.into());
        BackendError::Argument { kernel: self.kernel.name, argument, given, expected }
    }

    /// Checks that every argument is there once and has the right kind, and that there are no others.
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
                    (KernelArgument::Field(role), Some(ArgumentValue::Read(_))) => role.access == Access::Read,
                    (KernelArgument::Field(role), Some(ArgumentValue::Write(_))) => role.access != Access::Read,
                    (KernelArgument::Fields(_, most), Some(ArgumentValue::Reads(fields))) => {
                        (1..=*most).contains(&fields.len())
                    }
                    (KernelArgument::Scalar(_) | KernelArgument::Double(_), Some(ArgumentValue::Scalar(_)))
                    | (KernelArgument::Complex(_), Some(ArgumentValue::Complex(_)))
                    | (KernelArgument::Indices { .. }, Some(ArgumentValue::Indices(_)))
                    | (
                        KernelArgument::Scalars(_) | KernelArgument::Coefficients { .. },
                        Some(ArgumentValue::Scalars(_)),
                    ) => true,
                    _ => false,
                };
                if !right {
                    let given = self.given(name).map_or("missing".to_owned(), ArgumentValue::kind);
                    return Err(self.refused(name, given, argument.kind()));
                }
            }
        }
        Ok(())
    }

    /// The target. The kernel must support its precision and number of components.
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

    /// Checks that every field has the object and the sites of its role.
    fn check_fields(&self, target: &FieldShape) -> Result<Vec<FieldOfCall>, BackendError> {
        let mut fields: Vec<FieldOfCall> = Vec::with_capacity(self.values.len());
        for role in self.kernel.fields() {
            let all = self.shapes(role.name);
            // A kernel is built for one format of links, and is told of one set of boundary phases.
            let links = fields.iter().find(|field| matches!(field.shape.object, Object::DoubledGauge(_)));
            if let (FieldContents::DoubledLinks, Some(first), Some(shape)) = (role.holds, links, all.first())
                && first.shape.object != shape.object
            {
                let expected = format!("links with as many reals and the same boundary phases as {}", first.name);
                return Err(self.refused(role.name, an(shape), expected));
            }
            for shape in &all {
                let place = match role.holds {
                    FieldContents::Converted => {
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

    /// Checks that the stencil and the matrix match the target.
    fn check_tables(&self, target: &FieldShape) -> Result<Option<MatrixFacts>, BackendError> {
        let mut matrix = None;
        for argument in self.kernel.arguments {
            match (argument, self.stencil.map(Table::facts), self.matrix.map(Table::facts)) {
                (KernelArgument::Stencil, Some(TableFacts::Stencil { lattice, sites }), _) => {
                    let cut = |lattice: &Lattice| (lattice.extents(), lattice.nodes(), lattice.checkerboard());
                    if cut(&lattice) != cut(&target.lattice) || sites != target.sites {
                        let given = format!("that of {sites} sites of {}, cut {}", lattice.extents(), lattice.nodes());
                        return Err(self.refused("stencil", given, format!("that of {}", an(target))));
                    }
                }
                (KernelArgument::Stencil, given, _) => {
                    let given = if given.is_some() { "a matrix along s" } else { "missing" };
                    return Err(self.refused("stencil", given, "a stencil"));
                }
                (KernelArgument::Matrix(form), _, Some(TableFacts::Matrix { facts, precision })) => {
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
                (KernelArgument::Matrix(form), _, given) => {
                    let given = if given.is_some() { "a stencil" } else { "missing" };
                    return Err(self.refused("matrix", given, form.name()));
                }
                _ => {}
            }
        }
        Ok(matrix)
    }

    /// Checks that fields have whole right-hand sides, that there is a scalar for each, and that numbers of right-hand sides are in range.
    fn check_lists(&self, target: &FieldShape, rhs_parts: usize) -> Result<(), BackendError> {
        if !self.kernel.arguments.iter().any(|argument| matches!(argument, KernelArgument::RhsParts)) {
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
                KernelArgument::Coefficients { name: known, of } if known == *name => Some(of),
                _ => None,
            });
            match (value, of_pairs) {
                (ArgumentValue::Scalars(numbers), Some(of)) => {
                    let (rows, columns) = (count(of), target.object.parts() / rhs_parts);
                    if numbers.len() != 2 * rows * columns {
                        let expected = format!(
                            "real and imaginary part for each of {rows} × {columns} pairs of right-hand sides, {} numbers",
                            2 * rows * columns
                        );
                        return Err(self.refused(name, format!("{} numbers", numbers.len()), expected));
                    }
                }
                (ArgumentValue::Scalars(scalars), None) if scalars.len() != target.object.parts() / rhs_parts => {
                    let expected = format!("one for each of {} right-hand sides", target.object.parts() / rhs_parts);
                    return Err(self.refused(name, format!("{} scalars", scalars.len()), expected));
                }
                (ArgumentValue::Indices(numbers), _) => {
                    let of_fields = self.kernel.arguments.iter().find_map(|argument| match *argument {
                        KernelArgument::Indices { name: known, of, among } if known == *name => Some((of, among)),
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

fn is_argument(kernel: &Kernel, name: &str) -> bool {
    kernel.arguments.iter().any(|argument| argument.names().contains(&name))
}

impl KernelArgument {
    /// The names of its values.
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

    /// The kind of value that is expected, in words.
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

impl<S> ArgumentValue<'_, S> {
    /// The kind of value, in words.
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
