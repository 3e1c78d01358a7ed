//! Packing and unpacking of the sites that neighbouring ranks exchange. Backends launch these kernels by themselves, before a kernel that reads
//! neighbours.

use lanefield_reference::real::Precision;

use super::usual::USUAL;
use super::{Geometry, Kernel, Work};
use crate::backend::ghosts::{PACK, UNPACK};

/// The kernels of the family.
pub static KERNELS: &[&Kernel] = &[&PACK_GHOSTS, &UNPACK_GHOSTS];

const BASE: Kernel = Kernel {
    family: "ghosts",
    geometry: Geometry::PartOfOthers,
    precisions: &Precision::ALL,
    work: |_| Work::default(),
    ..USUAL
};

/// Sites of faces, packed.
pub(crate) static PACK_GHOSTS: Kernel =
    Kernel { name: PACK, computes: "what neighbouring parts of a lattice read, packed", ..BASE };
/// Sites of faces, unpacked.
pub(crate) static UNPACK_GHOSTS: Kernel =
    Kernel { name: UNPACK, computes: "what neighbouring parts of a lattice sent, put behind a field", ..BASE };
