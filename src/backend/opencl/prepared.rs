//! What is made once for calls that are alike: the built kernel with its plan, and tables.

use std::sync::Arc;

use lanefield_reference::field::FieldShape;
use lanefield_reference::layout::LaunchGeometry;

use super::program::Program;
use super::tuning::{Layout, Plan};

/// A kernel that was built, and its plan.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub program: Arc<Program>,
    pub plan: Arc<Plan>,
    pub launched: LaunchGeometry,
}

/// What a table on the device was made for.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct TableKey {
    pub name: &'static str,
    pub target: FieldShape,
    pub layout: Layout,
    pub direction: usize,
}
