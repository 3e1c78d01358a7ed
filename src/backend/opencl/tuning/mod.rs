//! How kernels are built and launched: the layout of fields, the tuning parameters, where their values are looked up, and the resulting
//! plan. Nothing here changes a bit of any result.
//!
//! | file | subject |
//! |---|---|
//! | `access.rs`, `site_order.rs` | the layout in device memory: words of a lane, and outer sites |
//! | `lane_form.rs` | a work-item for each lane, or one for all |
//! | `neighbours.rs`, `link_sharing.rs` | neighbours' spinors, and links, in local memory |
//! | `choices.rs`, `parameters.rs` | the tuning parameters, each declared once |
//! | `lookup.rs`, `file.rs`, `defaults.toml` | lookup of parameters: tuning results, and the defaults of the library |
//! | `plan/` | plans: how a kernel is built and launched, from its specification and the parameters |

mod access;
mod choices;
mod file;
mod lane_form;
mod link_sharing;
mod lookup;
mod neighbours;
mod parameters;
mod plan;
mod site_order;

pub use access::{AccessWidth, PartLayout};
pub use choices::{Accumulators, Count, GridStride, GroupSize, LinkLoads, Mapping, Stores, Traversal};
pub use file::{KernelKey, OneOf, TunedKernel, TunedOn, TuningFile, Where};
pub use lane_form::LaneForm;
pub(crate) use lane_form::VectorsVerdict;
pub use link_sharing::LinkSharing;
pub(crate) use lookup::Choices;
pub use lookup::{Tuned, TuningSource};
pub use neighbours::Neighbours;
pub use parameters::{Parameter, Tuning};
pub(crate) use plan::{
    COUNTS_AT_ONCE, ChoiceSource, LocalMemory, Plan, Planner, Reduction, SumBuild, exchange_bytes, sums_file,
};
pub use plan::{Finish, SumForm, SumOptions, registers_in};
pub use site_order::{Layout, SiteOrder};
pub(crate) use site_order::{to_device, to_host};
