//! Site orders and spin bases of other programs, and their conversion to ours: sites with x fastest, then y, z, t; the links of a site together;
//! spin slower than colour; γ matrices as in `docs/arithmetic.md` §4. `docs/ports.md` explains each word.

mod convention;
mod convert;
mod error;
mod gamma;
mod layout;
mod shapes;

pub use convention::{Convention, Inner, SiteOrder};
pub use convert::{from_ours, to_ours};
pub use error::OrderError;
pub(crate) use error::show_shape;
pub use gamma::{GammaBasis, SpinMatrix};
pub(crate) use layout::{Layout, Places, site_places};
pub use shapes::require_shape;
