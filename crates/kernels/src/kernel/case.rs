//! A kernel with arguments created from its specification alone: random fields by role, tables, scalars. Verification, benchmarks and the tuner use
//! such cases.

use std::borrow::Cow;

use lanefield_reference::field::{DoubledGauge, FieldShape, Object};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::domain_wall::{InverseForm, MatrixForm, MobiusCoefficients, SMatrix};
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::kernels::reduce::Sum;
use lanefield_reference::layout::{Direction, Lattice, LegOrder, Sites, Stencil};
use lanefield_reference::links::{double, raw};
use lanefield_reference::real::Precision;
use num_complex::Complex;

use super::test_data::{Numbers, TestData};
use super::{
    Access, ArgumentValue, Arguments, FieldContents, FieldOfCall, FieldRole, HostFunction, Kernel, KernelArgument,
    MatrixFacts, PlainFunction, PlainLinks, Shape, dagger_if,
};
use crate::backend::{AnyField, Backend, BackendError, Cpu, HostField, Memory};
use crate::in_precision;

/// Options of a case.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct CaseOptions<'a> {
    pub lattice: Lattice,
    /// The sites of the target. It is ignored if the target of the kernel always has all sites.
    pub sites: Sites,
    pub precision: Precision,
    /// The precision of the input of a conversion; the usual one by default.
    pub from: Option<Precision>,
    /// The number of spinors or colour vectors of a site.
    pub parts: usize,
    /// The object of the fields, for kernels that accept any; spinors by default.
    pub object: Option<Object>,
    /// The extent of the fifth dimension; by default the number of spinors of a site.
    pub ls: Option<usize>,
    /// Whether matrices along s are Hermitian conjugates.
    pub matrix_dagger: bool,
    /// The number of components of a right-hand side.
    pub rhs_parts: usize,
    /// The number of fields in a list.
    pub listed: usize,
    /// How links are stored, and their boundary phases.
    pub links: DoubledGauge,
    /// The links. By default they are random numbers, since no time depends on them.
    pub configuration: Option<&'a Configuration>,
    pub legs: LegOrder,
    /// The direction of slices: sums are over the slices across it.
    pub direction: Direction,
    /// The kind of numbers in fields.
    pub numbers: Numbers,
    /// The generator of the numbers.
    pub data: TestData,
}

impl CaseOptions<'_> {
    /// Options with ordinary numbers.
    pub fn new(lattice: Lattice, sites: Sites, precision: Precision, links: DoubledGauge, parts: usize) -> Self {
        Self {
            lattice,
            sites,
            precision,
            from: None,
            parts,
            object: None,
            ls: None,
            matrix_dagger: false,
            rhs_parts: 1,
            listed: 1,
            links,
            configuration: None,
            legs: LegOrder::DEFAULT,
            direction: Direction::T,
            numbers: Numbers::Ordinary,
            data: TestData::new(1),
        }
    }
}

/// A kernel with arguments on the host.
#[derive(Clone, Debug)]
pub struct Case {
    shape: Shape,
    fields: Vec<(&'static str, Vec<HostField>)>,
    stencil: Option<Stencil>,
    matrix: Option<SMatrix>,
    scalars: Vec<(&'static str, Scalars)>,
    indices: Vec<usize>,
}

/// The scalar value of an argument.
#[derive(Clone, PartialEq, Debug)]
pub enum Scalars {
    /// A real scalar.
    One(f64),
    /// A complex scalar.
    Complex(Complex<f64>),
    /// One real scalar for each right-hand side, or real and imaginary part for each pair of them.
    Several(Vec<f64>),
}

/// All arguments of a call, except for the stencil, which follows from the target. The fields determine the rest.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct GivenArguments {
    /// The fields by name; those of a list together. The contents of fields that are only written do not matter.
    pub fields: Vec<(&'static str, Vec<HostField>)>,
    pub matrix: Option<SMatrix>,
    pub scalars: Vec<(&'static str, Scalars)>,
    pub indices: Vec<usize>,
    pub legs: LegOrder,
    pub rhs_parts: usize,
    pub direction: Direction,
}

/// The result of a kernel.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say what they are")]
pub struct Outcome {
    pub fields: Vec<(&'static str, HostField)>,
    pub sums: Vec<f64>,
}

impl Case {
    /// Creates arguments for a kernel.
    ///
    /// # Errors
    /// The lattice does not have the requested sites, the links are not in SU(3), or there is not enough memory.
    pub fn new(kernel: &'static Kernel, options: &CaseOptions<'_>) -> Result<Self, BackendError> {
        let shape = Self::shape_of(kernel, options);
        let CaseOptions { numbers, data, precision, .. } = *options;
        let scalar_numbers = if numbers == Numbers::Tiny { Numbers::Ordinary } else { numbers };
        let mut drawn = 0;
        let mut scalar = || {
            drawn += 1;
            in_precision!(precision, R => data.scalar::<R>(scalar_numbers, drawn - 1))
        };
        let mut fields = Vec::new();
        for (number, role) in (1..).zip(kernel.fields()) {
            let Some(&of_role) = shape.field(role.name) else { continue };
            let count = if is_list(kernel, role.name) { options.listed } else { 1 };
            let several = (0..count).map(|k| Self::field(of_role, role, number_of(number, k), options));
            fields.push((role.name, several.collect::<Result<Vec<_>, _>>()?));
        }
        let (mut stencil, mut matrix, mut scalars, mut indices) = (None, None, Vec::new(), Vec::new());
        for argument in kernel.arguments {
            match *argument {
                KernelArgument::Stencil => stencil = Some(Stencil::new(shape.target.lattice, shape.target.sites)?),
                KernelArgument::Matrix(form) => matrix = Some(Self::along_s(form, &shape)?),
                KernelArgument::Scalar(name) => scalars.push((name, Scalars::One(scalar()))),
                // Coefficients of clover terms: a diagonal near 4.
                KernelArgument::Double(name) => {
                    let value = data.scalar::<f64>(Numbers::Ordinary, 64 + scalars.len() as u32);
                    scalars.push((name, Scalars::One(if name == "diagonal" { 2.0 + value.abs() } else { value })));
                }
                KernelArgument::Complex(name) => {
                    scalars.push((name, Scalars::Complex(Complex::new(scalar(), scalar()))));
                }
                KernelArgument::Scalars(names) => {
                    for name in names {
                        let count = shape.parts() / shape.rhs_parts;
                        scalars.push((*name, Scalars::Several((0..count).map(|_| scalar()).collect())));
                    }
                }
                KernelArgument::Coefficients { name, of } => {
                    let parts = shape.field(of).map_or(0, |field| field.object.parts()) * shape.parts();
                    let count = 2 * parts / (shape.rhs_parts * shape.rhs_parts);
                    scalars.push((name, Scalars::Several((0..count).map(|_| scalar()).collect())));
                }
                KernelArgument::Indices { .. } => indices = taken(options),
                _ => {}
            }
        }
        Ok(Self { shape, fields, stencil, matrix, scalars, indices })
    }

    /// A kernel with these arguments. Except for the target, they are checked against their roles only when the kernel runs.
    ///
    /// # Errors
    /// [`BackendError::Argument`] if there is no target; an error if the lattice does not have the sites of the target.
    pub fn given(kernel: &'static Kernel, given: GivenArguments) -> Result<Self, BackendError> {
        let GivenArguments { fields, matrix, scalars, indices, legs, rhs_parts, direction } = given;
        let shapes = fields.iter().filter_map(|(name, fields)| {
            let shape = fields.first()?.shape();
            Some(FieldOfCall { name, shape })
        });
        let shapes: Vec<FieldOfCall> = shapes.collect();
        let Some(target) = shapes.iter().find(|field| field.name == kernel.target()) else {
            let (argument, given, expected) = (kernel.target().to_owned(), "missing".to_owned(), "a field".to_owned());
            return Err(BackendError::Argument { kernel: kernel.name, argument, given, expected });
        };
        let target = target.shape;
        let listed = fields.iter().find(|(name, _)| is_list(kernel, name)).map_or(1, |(_, fields)| fields.len());
        let facts = |matrix: &SMatrix| MatrixFacts { form: matrix.form(), ls: matrix.ls(), dagger: matrix.dagger() };
        let matrix_facts = matrix.as_ref().map(facts);
        let takes_stencil = kernel.arguments.iter().any(|argument| matches!(argument, KernelArgument::Stencil));
        let stencil = takes_stencil.then(|| Stencil::new(target.lattice, target.sites)).transpose()?;
        let shape = Shape { kernel, target, fields: shapes, legs, matrix: matrix_facts, rhs_parts, direction, listed };
        Ok(Self { shape, fields, stencil, matrix, scalars, indices })
    }

    /// The shape of the call, without creating any numbers.
    pub fn shape_of(kernel: &'static Kernel, options: &CaseOptions<'_>) -> Shape {
        let CaseOptions { lattice, sites, precision, parts, links, rhs_parts, .. } = *options;
        let mut shape = Shape::usual(kernel, (lattice, sites), precision, links, parts);
        shape.legs = options.legs;
        shape.direction = options.direction;
        shape.listed = options.listed;
        shape.rhs_parts = rhs_parts;
        if let Some(MatrixFacts { ls, dagger, .. }) = &mut shape.matrix {
            *ls = options.ls.unwrap_or(parts);
            *dagger = dagger_if(options.matrix_dagger);
        }
        // Only where the target may be anything.
        let takes_any = kernel.fields().any(|role| role.name == kernel.target() && role.holds == FieldContents::Any);
        let object = options.object.filter(|_| takes_any);
        // Of several right-hand sides every second is taken, and put back; where any number does, x has as many, which are fewer than those of y.
        let listed = kernel.arguments.iter().find_map(|argument| match *argument {
            KernelArgument::Indices { of, .. } => Some(of),
            _ => None,
        });
        let any_number = kernel.fields().find(|role| role.holds == FieldContents::AnyNumber).map(|role| role.name);
        let listed = listed.or(any_number);
        let object_of = |name: &str, holds: FieldContents, usual: Object| {
            let any = matches!(holds, FieldContents::Any | FieldContents::AnyNumber | FieldContents::Converted);
            let object = object.filter(|_| any).unwrap_or(usual);
            match listed == Some(name) {
                true => object.with_parts(taken(options).len() * rhs_parts).unwrap_or(object),
                false => object,
            }
        };
        shape.target.object = object_of(kernel.target(), FieldContents::Any, shape.target.object);
        for role in kernel.fields() {
            for field in shape.fields.iter_mut().filter(|field| field.name == role.name) {
                field.shape.object = object_of(role.name, role.holds, field.shape.object);
                if let (Some(from), FieldContents::Converted) = (options.from, role.holds) {
                    let in_scalar = lattice.in_scalar(from.scalar()).unwrap_or(lattice);
                    field.shape = FieldShape { precision: from, lattice: in_scalar, ..field.shape };
                }
            }
        }
        shape
    }

    fn field(
        shape: FieldShape,
        role: FieldRole,
        number: u32,
        options: &CaseOptions<'_>,
    ) -> Result<HostField, BackendError> {
        let FieldShape { lattice, sites, object, precision } = shape;
        let CaseOptions { configuration, links, numbers, data, .. } = *options;
        in_precision!(precision, R => Ok(match (role.holds, configuration) {
            (FieldContents::DoubledLinks, Some(configuration)) => {
                HostField::new(double::<R>(configuration, lattice, sites, links)?.into_data())
            }
            (FieldContents::Links, Some(configuration)) => {
                HostField::new(raw::<R>(configuration, lattice, links.boundary)?.into_data())
            }
            _ => HostField::new(data.field::<R, Object>(lattice, sites, object, numbers, number)?.into_data()),
        }))
    }

    fn along_s(form: MatrixForm, shape: &Shape) -> Result<SMatrix, BackendError> {
        let (ls, dagger) = shape.matrix.map_or((1, Dagger::No), |matrix| (matrix.ls, matrix.dagger));
        let diagonal = MobiusCoefficients::new(ls, 0.1, 1.4, 1.5, 0.5)?.diagonal();
        let diagonal = if dagger == Dagger::Yes { diagonal.dagger() } else { diagonal };
        Ok(match form {
            MatrixForm::Tridiagonal => diagonal.matrix(),
            MatrixForm::Sweep => diagonal.inverse(InverseForm::Sweep)?,
            MatrixForm::Dense => diagonal.inverse(InverseForm::Dense)?,
        })
    }

    /// The kernel, its fields and its layout.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The kernel.
    pub fn kernel(&self) -> &'static Kernel {
        self.shape.kernel
    }

    /// The fields with this name: several for a list, else one.
    pub fn fields(&self, name: &str) -> &[HostField] {
        self.fields.iter().find(|(known, _)| *known == name).map_or(&[], |(_, fields)| fields)
    }

    /// The scalars by name, without lists of several.
    pub fn scalars(&self) -> impl Iterator<Item = (&'static str, Complex<f64>)> {
        self.scalars.iter().filter_map(|(name, scalars)| match scalars {
            Scalars::One(value) => Some((*name, Complex::new(*value, 0.0))),
            Scalars::Complex(value) => Some((*name, *value)),
            Scalars::Several(_) => None,
        })
    }

    /// The lists of scalars, one scalar for each right-hand side, by name.
    pub fn scalars_of_rhs(&self) -> impl Iterator<Item = (&'static str, &[f64])> {
        self.scalars.iter().filter_map(|(name, scalars)| match scalars {
            Scalars::Several(values) => Some((*name, &values[..])),
            _ => None,
        })
    }

    /// The list of right-hand side numbers, with the name of its argument, if the kernel has one.
    pub fn indices(&self) -> Option<(&'static str, &[usize])> {
        let name = self.kernel().arguments.iter().find_map(|argument| match *argument {
            KernelArgument::Indices { name, .. } => Some(name),
            _ => None,
        });
        name.map(|name| (name, &self.indices[..]))
    }

    /// The matrix along s, if the kernel has one.
    pub fn matrix(&self) -> Option<&SMatrix> {
        self.matrix.as_ref()
    }

    /// The number with which [`TestData::field`] creates field `k` with this name. It is the position of its role among the kernel's fields, counted
    /// from 1, plus 32 for each earlier field of a list. `None` if the kernel has no field with this name.
    pub fn field_number(kernel: &Kernel, name: &str, k: usize) -> Option<u32> {
        let place = (1..).zip(kernel.fields()).find(|(_, role)| role.name == name);
        place.map(|(number, _)| number_of(number, k))
    }

    /// Replaces the first field with this name. It is checked against its role only when the kernel runs.
    pub fn replace(&mut self, name: &str, field: HostField) {
        let fields = self.fields.iter_mut().find(|(known, _)| *known == name);
        if let Some(first) = fields.and_then(|(_, fields)| fields.first_mut()) {
            *first = field;
        }
    }

    /// Fills the fields that the kernel only writes with ones in every bit, a NaN that no operation returns. Afterwards, elements that still have
    /// this value were not written.
    pub fn spoil_outputs(&mut self) {
        let kernel = self.kernel();
        for (name, fields) in &mut self.fields {
            if kernel.fields().any(|role| role.name == *name && role.access == Access::Write) {
                fields.iter_mut().for_each(HostField::fill_with_ones);
            }
        }
    }

    /// Changes the leg order. No argument depends on it.
    pub fn set_legs(&mut self, legs: LegOrder) {
        self.shape.legs = legs;
    }

    /// Copies the arguments to a backend.
    ///
    /// # Errors
    /// Errors of the backend, for example too little memory.
    pub fn on<B: Memory>(&self, backend: &B) -> Result<CaseOn<B>, BackendError> {
        let held = |fields: &Vec<HostField>| {
            fields.iter().map(|field| AnyField::store(backend, Cow::Borrowed(field))).collect::<Result<Vec<_>, _>>()
        };
        let fields = self.fields.iter().map(|(name, fields)| Ok::<_, BackendError>((*name, held(fields)?)));
        Ok(CaseOn {
            fields: fields.collect::<Result<_, _>>()?,
            stencil: self.stencil.as_ref().map(|stencil| backend.stencil(stencil.clone())).transpose()?,
            matrix: self.matrix.as_ref().map(|m| backend.matrix(m, self.shape.precision())).transpose()?,
        })
    }

    /// The result of the kernel on a backend.
    ///
    /// # Errors
    /// Errors of the backend.
    pub fn run<B: Backend>(&self, backend: &B, sum: Sum) -> Result<Outcome, BackendError> {
        let mut held = self.on(backend)?;
        let sums = held.launch(self, backend, sum)?;
        held.outcome(self, backend, sums)
    }

    /// The result of the scalar reference. `links`: those from which the case was created.
    ///
    /// # Errors
    /// Never for a case that was created from the specification.
    pub fn in_plain_loops(&self, cpu: &Cpu, links: &PlainLinks<'_>, sum: Sum) -> Result<Outcome, BackendError> {
        self.run_plain(cpu, self.kernel().plain, links, sum)
    }

    /// The result of a scalar reference, of this kernel or another one.
    ///
    /// # Errors
    /// Those of [`Self::in_plain_loops`].
    pub fn run_plain(
        &self,
        cpu: &Cpu,
        plain: PlainFunction,
        links: &PlainLinks<'_>,
        sum: Sum,
    ) -> Result<Outcome, BackendError> {
        let mut held = self.on(cpu)?;
        let mut call = held.arguments(self).call()?;
        let sums = match plain {
            HostFunction::Launch(plain) => plain(&mut call, links).map(|()| Vec::new())?,
            HostFunction::Reduce(plain) => plain(&mut call, links, sum)?,
            HostFunction::None => Vec::new(),
        };
        drop(call);
        held.outcome(self, cpu, sums)
    }

    /// Calls `look` with the call of this case on the host.
    ///
    /// # Errors
    /// Those of `look`.
    pub fn look<T>(
        &self,
        cpu: &Cpu,
        look: impl FnOnce(&mut super::HostCall<'_>) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let mut held = self.on(cpu)?;
        let mut call = held.arguments(self).call()?;
        look(&mut call)
    }
}

/// The number of field `k` of a list, which differs for each.
fn number_of(role: u32, k: usize) -> u32 {
    role + 32 * k as u32
}

/// The selected right-hand sides: every second one, in reverse order.
fn taken(options: &CaseOptions<'_>) -> Vec<usize> {
    (0..(options.parts / options.rhs_parts).max(1)).step_by(2).rev().collect()
}

fn is_list(kernel: &Kernel, name: &str) -> bool {
    kernel.arguments.iter().any(|argument| matches!(argument, KernelArgument::Fields(list, _) if *list == name))
}

/// The arguments of a case on a backend. Errors are those of the backend.
pub struct CaseOn<B: Memory> {
    fields: Vec<(&'static str, Vec<AnyField<B::Storage>>)>,
    stencil: Option<B::Table>,
    matrix: Option<B::Table>,
}

impl<B: Memory> CaseOn<B> {
    fn arguments<'a>(&'a mut self, case: &'a Case) -> Arguments<'a, B> {
        let kernel = case.kernel();
        let mut arguments = Arguments::new(kernel)
            .legs(case.shape.legs)
            .rhs_parts(case.shape.rhs_parts)
            .direction(case.shape.direction);
        if let Some(stencil) = &self.stencil {
            arguments = arguments.stencil(stencil);
        }
        if let Some(matrix) = &self.matrix {
            arguments = arguments.matrix(matrix);
        }
        for (name, scalars) in &case.scalars {
            let value = match scalars {
                Scalars::One(scalar) => ArgumentValue::Scalar(*scalar),
                Scalars::Complex(scalar) => ArgumentValue::Complex(*scalar),
                Scalars::Several(scalars) => ArgumentValue::Scalars(scalars),
            };
            arguments = arguments.value(name, value);
        }
        for argument in kernel.arguments {
            if let KernelArgument::Indices { name, .. } = *argument {
                arguments = arguments.value(name, ArgumentValue::Indices(&case.indices));
            }
        }
        for (name, fields) in &mut self.fields {
            let role = kernel.fields().find(|role| role.name == *name);
            let value = match (role.map(|role| role.access), is_list(kernel, name), &mut fields[..]) {
                (_, true, fields) => ArgumentValue::Reads(fields.iter().collect()),
                (Some(Access::Write | Access::Update), _, [field, ..]) => ArgumentValue::Write(field),
                (_, _, [field, ..]) => ArgumentValue::Read(field),
                _ => continue,
            };
            arguments = arguments.value(name, value);
        }
        arguments
    }

    /// Launches the kernel, and returns its sums, if it has any.
    pub fn launch(&mut self, case: &Case, backend: &B, sum: Sum) -> Result<Vec<f64>, BackendError>
    where
        B: Backend,
    {
        let call = self.arguments(case).call()?;
        match case.kernel().sums() {
            true => Ok(backend.reduce(call, sum)?.round()),
            false => backend.launch(call).map(|()| Vec::new()),
        }
    }

    /// Sets the outputs to zero, so that a kernel that writes nothing is detected.
    pub fn clear(&mut self, case: &Case, backend: &B) -> Result<(), BackendError> {
        let written = |name: &str| case.kernel().fields().any(|role| role.name == name && role.access == Access::Write);
        for (_, fields) in self.fields.iter_mut().filter(|(name, _)| written(name)) {
            fields.iter_mut().try_for_each(|field| backend.fill_zero(field))?;
        }
        Ok(())
    }

    /// The fields that the kernel wrote, with these sums.
    pub fn outcome(&self, case: &Case, backend: &B, sums: Vec<f64>) -> Result<Outcome, BackendError> {
        let written = |name: &str| case.kernel().fields().any(|role| role.name == name && role.access != Access::Read);
        let fields = self.fields.iter().filter(|(name, _)| written(name));
        let loaded = fields.flat_map(|(name, fields)| fields.iter().map(|field| Ok((*name, backend.load(field)?))));
        Ok(Outcome { fields: loaded.collect::<Result<_, BackendError>>()?, sums })
    }
}
