//! Specifications of kernels that are defined by kernel functions, as `#[lane_kernel]` creates them.

use lanefield_reference::body::{FieldUse, Role};
use lanefield_reference::field::FieldError;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::bodies::{BodyArgument, BodyCall};
use lanefield_reference::kernels::reduce::{PartialSums, Sum};
use lanefield_reference::object::Object;

pub use super::coordinates::COORDINATES;
use super::usual::USUAL;
use super::{
    Access, BuildOption, FieldContents, FieldRole, FieldSites, Geometry, HostCall, Kernel, KernelArgument,
    KernelSource, Shape, Work,
};
use crate::in_precision;

/// A kernel that reads neighbours.
pub const STENCIL: Kernel = Kernel {
    options: &[BuildOption::Reconstruct, BuildOption::PartsPerWorkItem("AT_ONCE")],
    geometry: Geometry::Stencil { over_parts: true, stages: false, accumulates: false, splits: false },
    work: work_of_body,
    ..USUAL
};

/// A kernel that loops over the words of any object.
pub const WORDS: Kernel =
    Kernel { options: &[BuildOption::Sums], geometry: Geometry::Elements, work: work_of_body, ..USUAL };

/// A kernel on components of a given object, which does not read neighbours.
pub const LOCAL: Kernel = Kernel { geometry: Geometry::Parts { vectors: true }, work: work_of_body, ..USUAL };

/// A kernel that sums. In half precision, the terms are computed from numbers before they are rounded for storage.
pub const SUMS: Kernel = Kernel { geometry: Geometry::SumOfSites, work: work_of_body, ..USUAL };

/// As [`SUMS`], over each slice.
pub const SLICE_SUMS: Kernel = Kernel { geometry: Geometry::SumOfSitesInSlices, ..SUMS };

/// An argument of a kernel function as an argument of a kernel.
pub const fn argument(name: &'static str, role: Role) -> KernelArgument {
    match role {
        Role::Field { used, object, repeated: _ } => {
            let (access, at) = match used {
                FieldUse::Read | FieldUse::EvenDistance => (Access::Read, FieldSites::Target),
                FieldUse::Neighbours | FieldUse::OddDistance => (Access::Read, FieldSites::Neighbours),
                FieldUse::Write => (Access::Write, FieldSites::Target),
                FieldUse::Update => (Access::Update, FieldSites::Target),
                FieldUse::Converted => (Access::Read, FieldSites::Target),
            };
            let holds = if let FieldUse::Converted = used { FieldContents::Converted } else { holds(object) };
            KernelArgument::Field(FieldRole { name, access, holds, at })
        }
        Role::Links => KernelArgument::Field(FieldRole {
            name,
            access: Access::Read,
            holds: FieldContents::DoubledLinks,
            at: FieldSites::Target,
        }),
        Role::Scalar => KernelArgument::Scalar(name),
        Role::Complex => KernelArgument::Complex(name),
        Role::Sums(_) | Role::SliceSums(_) | Role::Extreme(_) | Role::Coordinates => {
            panic!("sums, extremes and coordinates are not arguments of the OpenCL kernel")
        }
    }
}

const fn holds(object: Option<Object>) -> FieldContents {
    match object {
        None => FieldContents::Any,
        Some(Object::Spinors(_)) => FieldContents::Spinors,
        Some(Object::ColourVectors(_)) => FieldContents::ColourVectors,
        Some(Object::ComplexNumber) => FieldContents::ComplexNumber,
        Some(object) => FieldContents::Exactly(object),
    }
}

/// The work of a launch: each field is read once and written once, plus the operations of the kernel function.
pub(crate) fn work_of_body(shape: &Shape) -> Work {
    let flops = match shape.kernel.source {
        KernelSource::Body(body) => {
            let program = body.program(shape.kernel.name, shape.legs);
            program.map_or(0, |program| program.flops(shape.target.object.part_words()))
        }
        _ => 0,
    };
    Work { flops: flops * shape.volume() * shape.parts() as u64, bytes: shape.field_bytes() }
}

/// Runs a kernel function on the CPU.
///
/// # Errors
/// Never for a call that has been checked.
pub fn launch(call: &mut HostCall<'_>) -> Result<(), FieldError> {
    reduce(call, Sum::Exact).map(drop)
}

/// Runs a kernel function that sums on the CPU.
///
/// # Errors
/// Never for a call that has been checked.
pub fn reduce(call: &mut HostCall<'_>, sum: Sum) -> Result<PartialSums, FieldError> {
    in_precision!(call.shape().precision(), R => in_precision_of::<R>(call, sum))
}

fn in_precision_of<R: Vectors>(call: &mut HostCall<'_>, sum: Sum) -> Result<PartialSums, FieldError> {
    let KernelSource::Body(body) = call.kernel().source else {
        unreachable!("the function of a body is that of a kernel of one");
    };
    let mut arguments = Vec::with_capacity(body.names.len());
    for (&name, role) in body.names.iter().zip(body.roles) {
        arguments.push(match role {
            Role::Field { used: FieldUse::Write | FieldUse::Update, .. } => {
                BodyArgument::Write(call.data_mut::<R>(name)?)
            }
            Role::Field { used: FieldUse::Converted, .. } => {
                let precision = call.shape().field(name).map_or(R::PRECISION, |field| field.precision);
                BodyArgument::Converted(in_precision!(precision, Q => call.data::<Q>(name)?.into()))
            }
            Role::Field { .. } | Role::Links => BodyArgument::Read(call.data::<R>(name)?),
            Role::Scalar => BodyArgument::Scalar(call.scalar(name)),
            Role::Complex => BodyArgument::Complex(call.complex(name)),
            Role::Sums(_) | Role::SliceSums(_) | Role::Extreme(_) => BodyArgument::Sums,
            Role::Coordinates => BodyArgument::Coordinates,
        });
    }
    let stencil = if body.is_stencil() { Some(call.host_stencil()?) } else { None };
    let (legs, direction, dagger) = (call.shape().legs, call.shape().direction, body.dagger);
    body.compiled.run(BodyCall { arguments, names: body.names, stencil, legs, dagger, direction, sum })
}
