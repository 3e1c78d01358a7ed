//! Device memory of the backend's users: the numbers of fields, and tables. The layout belongs to the field.

use lanefield_reference::prelude::*;

use super::memory::Buffer;
use super::tuning::Layout;
use crate::backend::specification::MatrixFacts;
use crate::backend::{Table, TableFacts};

/// The numbers of a field in device memory.
#[derive(Debug)]
pub struct DeviceStorage {
    pub(crate) buffer: Buffer,
    pub(crate) layout: Layout,
}

impl DeviceStorage {
    /// Its layout.
    pub fn layout(&self) -> Layout {
        self.layout
    }
}

/// A table in device memory.
#[derive(Debug)]
pub struct DeviceTable(pub(crate) Tables);

#[derive(Debug)]
pub(crate) enum Tables {
    Stencil { lattice: Box<Lattice>, sites: Sites, layout: Layout, neighbours: Buffer, lane_steps: Buffer },
    Matrix { facts: MatrixFacts, precision: Precision, coefficients: Buffer },
}

impl Table for DeviceTable {
    fn facts(&self) -> TableFacts {
        match &self.0 {
            Tables::Stencil { lattice, sites, .. } => TableFacts::Stencil { lattice: **lattice, sites: *sites },
            Tables::Matrix { facts, precision, .. } => TableFacts::Matrix { facts: *facts, precision: *precision },
        }
    }
}
