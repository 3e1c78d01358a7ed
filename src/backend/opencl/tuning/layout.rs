//! The layout of fields in device memory.

use super::access::AccessWidth;
use super::site_order::SiteOrder;

/// The layout of fields in device memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Layout {
    /// Bytes of an access, which words that lie together fill.
    pub access: AccessWidth,
    /// The order of outer sites.
    pub site_order: SiteOrder,
}
