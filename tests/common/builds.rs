//! Choices of layout and build that change no bit.

use lanefield::backend::opencl::{
    AccessWidth, Accumulators, GridStride, GroupSize, LaneForm, LinkLoads, LinkSharing, Mapping, Neighbours, SiteOrder,
    Stores, Traversal, Tuning,
};

/// Ways to lay fields out, and to build and launch stencil kernels, in which every choice appears.
pub fn builds() -> [Tuning; 3] {
    let subdomains = Some(SiteOrder::Subdomains([2, 1, 2, 3]));
    let few_groups = Tuning {
        access: Some(AccessWidth::Word),
        site_order: subdomains,
        accumulators: Some(Accumulators::Registers),
        link_loads: Some(LinkLoads::Ahead),
        grid_stride: Some(GridStride::On(Some(1))),
        group_size: Some(GroupSize::Required),
        lane_form: Some(LaneForm::WorkItems),
        neighbours: Some(Neighbours::LocalMemory),
        link_sharing: Some(LinkSharing::Shared),
        ..Tuning::OPEN
    };
    let sites_first = Tuning {
        access: Some(AccessWidth::Eight),
        site_order: subdomains,
        accumulators: Some(Accumulators::LocalMemory),
        grid_stride: Some(GridStride::Slice),
        mapping: Some(Mapping::SiteFast),
        group_size: Some(GroupSize::Required),
        lane_form: Some(LaneForm::WorkItems),
        neighbours: Some(Neighbours::LocalMemory),
        link_sharing: Some(LinkSharing::Shared),
        ..Tuning::OPEN
    };
    let most = Tuning {
        access: Some(AccessWidth::Sixteen),
        site_order: Some(SiteOrder::Lexicographic),
        accumulators: Some(Accumulators::Registers),
        link_loads: Some(LinkLoads::PastL1),
        stores: Some(Stores::Streaming),
        grid_stride: Some(GridStride::On(None)),
        traversal: Some(Traversal::Blocks([1, 2, 3, 1])),
        mapping: Some(Mapping::SiteFast),
        group_size: Some(GroupSize::Any),
        max_registers: Some(64),
        lane_form: Some(LaneForm::Vectors),
        neighbours: Some(Neighbours::LocalMemory),
        link_sharing: Some(LinkSharing::Each),
        ..Tuning::OPEN
    };
    [few_groups, sites_first, most]
}
