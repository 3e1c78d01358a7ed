//! Choices of layout and build that change no bit.

use lanefield::backend::opencl::{
    AccessWidth, Accumulators, GroupSize, LaneForm, LinkLoads, LinkSharing, Mapping, Neighbours, SiteOrder, Stores,
    Traversal, Tuning, Walk,
};
use lanefield::verify::KernelBuild;

/// Ways to lay fields out, and to build and launch stencil kernels, in which every choice appears.
pub fn builds() -> [KernelBuild; 3] {
    let few_groups = Tuning {
        walk: Some(Walk::Persistent(Some(1))),
        group_size: Some(GroupSize::Required),
        lane_form: Some(LaneForm::WorkItems),
        neighbours: Some(Neighbours::LocalMemory),
        link_sharing: Some(LinkSharing::Shared),
        ..Tuning::default()
    };
    let sites_first = Tuning {
        mapping: Some(Mapping::SiteFast),
        group_size: Some(GroupSize::Required),
        lane_form: Some(LaneForm::WorkItems),
        neighbours: Some(Neighbours::LocalMemory),
        link_sharing: Some(LinkSharing::Shared),
        ..Tuning::default()
    };
    let most = Tuning {
        link_loads: Some(LinkLoads::PastL1),
        stores: Some(Stores::Streaming),
        walk: Some(Walk::Persistent(None)),
        traversal: Some(Traversal::Blocks([1, 2, 3, 1])),
        mapping: Some(Mapping::SiteFast),
        group_size: Some(GroupSize::Any),
        most_registers: Some(64),
        lane_form: Some(LaneForm::Vectors),
        neighbours: Some(Neighbours::LocalMemory),
        link_sharing: Some(LinkSharing::Each),
    };
    let build = |access, site_order, tuning, accumulators| KernelBuild {
        access: Some(access),
        site_order: Some(site_order),
        tuning,
        accumulators: Some(accumulators),
    };
    let subdomains = SiteOrder::Subdomains([2, 1, 2, 3]);
    [
        build(AccessWidth::Word, subdomains, few_groups, Accumulators::Registers),
        build(AccessWidth::Eight, subdomains, sites_first, Accumulators::LocalMemory),
        build(AccessWidth::Sixteen, SiteOrder::Lexicographic, most, Accumulators::Registers),
    ]
}
