//! The kernels whose accesses can be modelled.

use lanefield::kernel::{Access, FieldContents, FieldSites, Geometry, Kernel, KernelArgument};

/// Whether the accesses of a kernel follow from its specification. This is so for stencils that read doubled links and fields at neighbours, and
/// for kernels that process the words of each component one after the other.
pub fn is_described(kernel: &Kernel) -> bool {
    let mut fields = kernel.fields();
    match kernel.geometry {
        Geometry::Stencil { .. } => {
            let goes_further = kernel.arguments.iter().any(|argument| matches!(argument, KernelArgument::OfNeighbours));
            kernel.reads_links() && fields.any(|role| role.at == FieldSites::Neighbours) && !goes_further
        }
        Geometry::Elements => true,
        Geometry::SumOfSites => {
            let alone =
                fields.next().is_some_and(|role| role.access == Access::Read && role.holds == FieldContents::Any);
            alone && fields.next().is_none()
        }
        _ => false,
    }
}
