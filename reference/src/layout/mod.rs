//! Geometry in integers only: extents, lanes, virtual nodes, parities, stencil tables, launches. Every number about the position of sites that a
//! kernel needs is computed here, once, for the CPU kernels and the OpenCL kernels.

mod coordinates;
mod direction;
mod displacement;
mod error;
mod extents;
mod faces;
mod ghosts;
mod half;
mod lattice;
mod launch;
mod leg;
mod parity;
mod plan;
mod site_lists;
mod slices;
mod stencil;
mod traversal;
mod virtual_nodes;
mod width;

pub use coordinates::SiteCoordinates;
pub use direction::Direction;
pub use displacement::Displacement;
pub use error::LayoutError;
pub use extents::{Coordinate, DIMENSION_NAMES, DIMENSIONS, Extents, PLANES};
pub use faces::Face;
pub use ghosts::{GhostSites, OuterCoordinate, Reach};
pub use half::osites_in_full;
pub use lattice::{Lattice, LatticeOptions, Place};
pub use launch::{AcceleratorThreads, LaunchGeometry, PartsShape, reduction_groups};
pub use leg::{LEGS, Leg, LegOrder, directions};
pub use parity::{Checkerboard, Parity, Sites};
pub use plan::{ReductionDevice, TreePlan, get_num_blocks_and_threads};
pub use site_lists::{gather, spread};
pub use slices::Slices;
pub use stencil::{Neighbour, Stencil};
pub use traversal::BlockOrder;
pub use virtual_nodes::VirtualNodes;
pub use width::{LaneChoice, LaneWidth, Scalar};
