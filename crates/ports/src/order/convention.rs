//! The layout of a program's fields: the order of sites, the spin basis, the order within a spinor.

use serde::{Deserialize, Serialize};

use super::gamma::GammaBasis;
use crate::words::words;

words! {
    /// The order in memory of the sites of a field, and of the links of a site.
    #[derive(Default)]
    SiteOrder, "order of sites" {
        /// x fastest, then y, z, t; the links of a site together. Ours, and that of Grid's files.
        #[default]
        Lexicographic = "lexicographic",
        /// First all sites with x + y + z + t even, then all odd ones, each with x fastest; the links of a site together.
        EvenOdd = "even-odd",
        /// The same with odd sites before even ones.
        OddEven = "odd-even",
        /// MILC's `node_index` on one node, and QUDA's `QUDA_MILC_GAUGE_ORDER`: sites as [`SiteOrder::EvenOdd`]; the links of a site together.
        Milc = "milc",
        /// QDP++'s layout cb2, its default: sites as [`SiteOrder::EvenOdd`]; one field of links for each direction, the direction slowest.
        Qdp = "qdp",
        /// QUDA's host order, `QUDA_QDP_GAUGE_ORDER` and `QUDA_DIRAC_ORDER`: sites as [`SiteOrder::EvenOdd`], the direction of links slowest.
        Quda = "quda",
        /// gpt's lists of fields, and QDP++'s layout lexicographic: sites as [`SiteOrder::Lexicographic`], the direction of links slowest.
        Gpt = "gpt",
    }
}

impl SiteOrder {
    /// Whether the sites of one parity come before those of the other.
    pub const fn has_parities(self) -> bool {
        !matches!(self, Self::Lexicographic | Self::Gpt)
    }

    /// Whether links have a separate field for each direction.
    pub const fn has_direction_slowest(self) -> bool {
        matches!(self, Self::Qdp | Self::Quda | Self::Gpt)
    }
}

words! {
    /// The order of the twelve numbers of a spinor.
    #[derive(Default)]
    Inner, "order within a spinor" {
        /// Number 3 · spin + colour: ours, Grid's, QDP++'s, MILC's, and QUDA's `QUDA_DIRAC_ORDER`.
        #[default]
        SpinColour = "spin-colour",
        /// Number 4 · colour + spin: QUDA's `QUDA_QDP_DIRAC_ORDER`.
        ColourSpin = "colour-spin",
    }
}

/// The layout of a program's fields. The default is ours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Convention {
    pub order: SiteOrder,
    pub gamma: GammaBasis,
    pub inner: Inner,
}

impl Convention {
    pub const OURS: Self =
        Self { order: SiteOrder::Lexicographic, gamma: GammaBasis::DegrandRossi, inner: Inner::SpinColour };
}
