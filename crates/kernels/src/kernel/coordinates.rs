//! The coordinates of sites as kernels read them: tables that depend only on the lattice.

use lanefield_reference::layout::SiteCoordinates;

use super::{ComputedTable, TableRows};

/// The tables in the order of arguments: x and y of outer sites, z and t of outer sites, then x and y, z and t of lanes.
pub const COORDINATES: [ComputedTable; 4] = [
    ComputedTable {
        name: "coordinates x and y of outer sites",
        rows: TableRows::Osites,
        make: |lattice, sites| Ok(SiteCoordinates::packed(SiteCoordinates::new(lattice, sites)?.osites(), 0)),
    },
    ComputedTable {
        name: "coordinates z and t of outer sites",
        rows: TableRows::Osites,
        make: |lattice, sites| Ok(SiteCoordinates::packed(SiteCoordinates::new(lattice, sites)?.osites(), 2)),
    },
    ComputedTable {
        name: "coordinates x and y of lanes",
        rows: TableRows::Lanes,
        make: |lattice, sites| Ok(SiteCoordinates::packed(SiteCoordinates::new(lattice, sites)?.lanes(), 0)),
    },
    ComputedTable {
        name: "coordinates z and t of lanes",
        rows: TableRows::Lanes,
        make: |lattice, sites| Ok(SiteCoordinates::packed(SiteCoordinates::new(lattice, sites)?.lanes(), 2)),
    },
];
