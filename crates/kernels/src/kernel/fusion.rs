//! Fusion of kernels that are defined by kernel functions: one kernel computes two in sequence. The value that goes from the first to the second
//! stays at the site and is not stored. A graph of launches replaces the two kernels by the fused one (`backend/graph/`).

use lanefield_reference::body::{Body, Fused, Role};
use lanefield_reference::real::Precision;

use super::body_kernel::{LOCAL, STENCIL, argument, launch};
use super::interpreter::Interpreted;
use super::plain::launch_plain;
use super::{HostFunction, Kernel, KernelArgument, KernelSource};
use crate::backend::graph::Fusion;
use crate::body::{BodyKernel, uses_displacements, uses_neighbours};

/// Keeps a text until the process ends.
fn kept(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// The fusion of two kernels with the kernel functions `A` and `B`. The second reads, as its argument number `READ` and only at the site itself, the
/// field that the first writes as its argument number `WRITTEN`.
///
/// Returns `None` if the kernels do not have these kernel functions, if one of them sums or loops over the words of any object, or if only one of
/// them is a Hermitian conjugate. The fused kernel is kept until the process ends: create it once.
///
/// In half precision the kernels are not fused, because a field is rounded when it is written.
pub fn fusion<A: Body, B: Body, const WRITTEN: usize, const READ: usize>(
    first: &'static Kernel,
    second: &'static Kernel,
) -> Option<Fusion> {
    let (KernelSource::Body(of_first), KernelSource::Body(of_second)) = (first.source, second.source) else {
        return None;
    };
    let roles = <Fused<A, B, WRITTEN, READ> as Body>::ROLES;
    let simple = |role: &Role| match role {
        Role::Field { object, .. } => object.is_some(),
        role => !matches!(role, Role::Sums(_) | Role::SliceSums(_) | Role::Extreme(_) | Role::Coordinates),
    };
    let roles_fit = (of_first.roles, of_second.roles) == (A::ROLES, B::ROLES) && roles.iter().all(simple);
    if !roles_fit || of_first.dagger != of_second.dagger {
        return None;
    }
    let mut names: Vec<&'static str> = of_first.names.to_vec();
    let written = names.remove(WRITTEN);
    let mut renamed = Vec::new();
    for (number, &name) in of_second.names.iter().enumerate() {
        if number != READ {
            let other = if names.contains(&name) { kept(format!("{name}_of_{}", second.name)) } else { name };
            names.push(other);
            renamed.push((name, other));
        }
    }
    let mut arguments: Vec<KernelArgument> =
        names.iter().zip(roles).map(|(name, role)| argument(name, *role)).collect();
    let is_stencil = uses_neighbours(roles);
    if is_stencil {
        arguments.push(KernelArgument::Stencil);
    }
    if uses_displacements(roles) {
        arguments.push(KernelArgument::OfNeighbours);
    }
    arguments.push(KernelArgument::Osites);
    if is_stencil {
        arguments.push(KernelArgument::Boundary);
    }
    arguments.push(KernelArgument::Parts);
    let name = kept(format!("{}_then_{}", first.name, second.name));
    let base = if is_stencil { STENCIL } else { LOCAL };
    let kernel = Kernel {
        name,
        family: name,
        dagger: of_first.dagger,
        computes: kept(format!("{}, then {}", first.computes, second.computes)),
        arguments: arguments.leak(),
        precisions: &Precision::OF_ARITHMETIC,
        tuned_as: if is_stencil { first.tuned_as.or(second.tuned_as) } else { None },
        source: KernelSource::Body(
            BodyKernel::new::<Fused<A, B, WRITTEN, READ>>(names.leak()).with_dagger(of_first.dagger),
        ),
        cpu: HostFunction::Launch(launch),
        plain: HostFunction::Launch(launch_plain::<Interpreted>),
        ..base
    };
    let read = of_second.names[READ];
    Some(Fusion { first, written, second, read, kernel: Box::leak(Box::new(kernel)), renamed })
}
