//! Kernels of bodies fused: one kernel that does what two do one after the other, in which what goes from the first to the second stays at the site and needs no
//! memory. A graph of launches puts them in place of the two (`backend/graph/`).

use lanefield_reference::body::{Body, Fused, Role};
use lanefield_reference::real::Precision;

use super::body_kernel::{LOCAL, STENCIL, argument, launch};
use super::interpreter::Interpreted;
use super::plain::launch_plain;
use super::{HostFunction, Kernel, KernelArgument, KernelSource};
use crate::backend::graph::Fusion;
use crate::body::{BodyKernel, uses_displacements, uses_neighbours};

/// A text for as long as the process runs.
fn kept(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// The fusion of two kernels with the bodies `A` and `B`, of which the second reads as argument number `READ` of its body, at the site itself, what the first writes
/// as argument number `WRITTEN`. `None` for kernels that have no such bodies, that sum, that go through the words of whatever their fields hold, or of which one is a Hermitian conjugate and the other is not. What is made
/// is there as long as the process runs: make it once.
///
/// In half precision a field is rounded when it is written, so there the kernels are not fused.
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
