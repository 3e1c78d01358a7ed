//! Who computes the lanes of an outer site: a work-item for each, or one with vectors of all. Counterparts: LANE_VECTORS in `cl/accelerator.clh`,
//! and `cl/legs.clh`.

use std::fmt::Write as _;
use std::sync::OnceLock;

use lanefield_reference::layout::{LEGS, Lattice, Leg, VirtualNodes};

use crate::backend::opencl::device::{DeviceInfo, DeviceKind};
use crate::backend::opencl::probe::probe_vectors;
use crate::backend::opencl::queue::Context;

/// How stencil kernels, products with clover blocks and matrices along s take the lanes of an outer site. No bit of any result depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LaneForm {
    /// One work-item computes one lane.
    WorkItems,
    /// One work-item computes all lanes, with vectors. On CPUs, in 32 and 64 bits, for 2 to 16 lanes whose words lie one by one, and where the
    /// compiler keeps the arithmetic of vectors; elsewhere as [`Self::WorkItems`].
    Vectors,
}

lanefield_reference::named!(LaneForm, "lane form": WorkItems = "work-items", Vectors = "vectors");

impl LaneForm {
    /// The form where nobody chose: a CPU's compiler finds the vectors in work-items only where these read no neighbours.
    pub(crate) fn of_device(device: &DeviceInfo) -> Self {
        match device.kind {
            DeviceKind::Cpu => Self::Vectors,
            _ => Self::WorkItems,
        }
    }
}

/// Lanes that OpenCL has vectors, and functions of vectors, for.
pub(crate) const MOST_LANES: usize = 16;

/// The lanes of a work-item of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum WorkItemLanes {
    One,
    All,
    /// All, of a program that steps from lane to lane; and of which legs, by their points, the last steps cross the boundary of the whole lattice.
    AllOf(VirtualNodes, [bool; LEGS]),
}

impl WorkItemLanes {
    /// For a program that reads neighbours.
    pub(crate) fn with_steps(self, lattice: &Lattice) -> Self {
        let ends = Leg::all().map(|leg| (leg.point(), lattice.extents().ends_at_boundary(leg)));
        let mut ends_at_boundary = [true; LEGS];
        ends.for_each(|(point, ends)| ends_at_boundary[point] = ends);
        if self == Self::All { Self::AllOf(lattice.nodes(), ends_at_boundary) } else { self }
    }

    /// Work-items side by side for the `nsimd` lanes of an outer site.
    pub(crate) fn launched(self, nsimd: usize) -> usize {
        if self == Self::One { nsimd } else { 1 }
    }

    pub(crate) fn each(self, nsimd: usize) -> usize {
        nsimd / self.launched(nsimd)
    }

    pub(crate) fn options(self) -> String {
        match self {
            Self::One => String::new(),
            Self::All => " -DLANE_VECTORS".to_owned(),
            Self::AllOf(nodes, ends_at_boundary) => {
                let mut options = Self::All.options();
                for leg in Leg::all() {
                    let steps = (0..nodes.count()).map(|lane| nodes.step(lane, leg));
                    let crosses_here = |crosses: bool| u8::from(crosses && ends_at_boundary[leg.point()]).to_string();
                    let parts = |lane: usize| format!("{},{}", 2 * lane, 2 * lane + 1);
                    let (places, crosses): (Vec<_>, Vec<_>) =
                        steps.map(|(lane, crosses)| (parts(lane), crosses_here(crosses))).unzip();
                    for (name, numbers) in [("STEPS", places), ("CROSSES", crosses)] {
                        // Writing to a string does not fail.
                        let _ = write!(options, " -DLANE_{name}_{}={}", leg.point(), numbers.join(","));
                    }
                }
                options
            }
        }
    }
}

/// Whether the compiler keeps the arithmetic of vectors as well as that of numbers; found out once. One that knows no such vectors does not.
#[derive(Default)]
pub(crate) struct VectorsVerdict(OnceLock<bool>);

impl VectorsVerdict {
    pub(crate) fn of(&self, context: &Context) -> bool {
        *self.0.get_or_init(|| probe_vectors(context).is_ok_and(|verdict| verdict.is_bitwise()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_work_item_has_one_lane_or_all() {
        assert_eq!((WorkItemLanes::One.launched(8), WorkItemLanes::One.each(8)), (8, 1));
        assert_eq!((WorkItemLanes::All.launched(8), WorkItemLanes::All.each(8)), (1, 8));
    }

    #[test]
    fn steps_are_constants_of_programs_that_read_neighbours() {
        let extents = lanefield_reference::layout::Extents::new([4, 4, 4, 8]).unwrap();
        let checkerboard = lanefield_reference::layout::Checkerboard::RedBlack;
        let nodes = VirtualNodes::explicit([1, 1, 1, 4], extents, 4, checkerboard).unwrap();
        let options = WorkItemLanes::AllOf(nodes, [true; LEGS]).options();
        for option in [
            "-DLANE_STEPS_3=2,3,4,5,6,7,0,1",
            "-DLANE_CROSSES_3=0,0,0,1",
            "-DLANE_STEPS_7=6,7,0,1,2,3,4,5",
            "-DLANE_STEPS_0=0,1,2,3,4,5,6,7",
        ] {
            assert!(options.contains(option), "{option} of {options}");
        }
        assert_eq!(WorkItemLanes::One.options(), "");
    }
}
