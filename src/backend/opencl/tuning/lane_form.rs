//! How work-items compute the lanes of an outer site: one work-item for each lane, or one with vectors of all lanes. Counterparts:
//! LANE_VECTORS in `cl/accelerator.clh`, and `cl/legs.clh`.

use std::fmt::Write as _;
use std::sync::OnceLock;

use lanefield_reference::layout::{LEGS, Lattice, Leg, VirtualNodes};

use crate::backend::opencl::device::{DeviceInfo, DeviceKind};
use crate::backend::opencl::probe::probe_vectors;
use crate::backend::opencl::queue::Context;

/// How stencil kernels, products with clover blocks and matrices along s divide the lanes of an outer site among work-items. No bit of any
/// result depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LaneForm {
    /// One work-item computes one lane.
    WorkItems,
    /// One work-item computes all lanes, with vectors. Only on CPUs, in f32 and f64, for 2 to 16 lanes with the host's layout of words, and
    /// if the compiler preserves the arithmetic in vectors; otherwise as [`Self::WorkItems`].
    Vectors,
}

lanefield_reference::named!(LaneForm, "lane form": WorkItems = "work-items", Vectors = "vectors");

impl LaneForm {
    /// The default form. A CPU's compiler vectorises across work-items only if they read no neighbours.
    pub(crate) fn of_device(device: &DeviceInfo) -> Self {
        match device.kind {
            DeviceKind::Cpu => Self::Vectors,
            _ => Self::WorkItems,
        }
    }
}

/// The largest number of lanes for which OpenCL has vectors and functions of vectors.
pub(crate) const MOST_LANES: usize = 16;

/// The lanes that a work-item of a program computes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum WorkItemLanes {
    One,
    All,
    /// All lanes, in a program that steps from lane to lane. Has the lane layout, and for each leg, by its point, whether the last step
    /// crosses the boundary of the whole lattice.
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

    /// The number of adjacent work-items for the `nsimd` lanes of an outer site.
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

/// Whether the compiler preserves the arithmetic in vectors as it does for numbers. It is tested once. A compiler without such vectors does
/// not.
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
