//! Choices of layout and build that change no bit.

use lanefield::backend::opencl::{AccessWidth, LaneForm, LinkLoads, Stores, Traversal, Tuning, Walk};

/// Ways to lay fields out, and to build and launch stencil kernels, in which every choice appears; the last one has most of them.
pub fn builds() -> [(AccessWidth, Tuning); 3] {
    let few_groups =
        Tuning { walk: Some(Walk::Persistent(Some(1))), lane_form: Some(LaneForm::WorkItems), ..Tuning::default() };
    let all = Tuning {
        link_loads: Some(LinkLoads::PastL1),
        stores: Some(Stores::Streaming),
        walk: Some(Walk::Persistent(None)),
        traversal: Some(Traversal::Blocks([1, 2, 3, 1])),
        most_registers: Some(64),
        lane_form: Some(LaneForm::Vectors),
    };
    [(AccessWidth::Word, few_groups), (AccessWidth::Eight, Tuning::default()), (AccessWidth::Sixteen, all)]
}
