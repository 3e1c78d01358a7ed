//! The kernels on the links of gauge fields, `crates/kernels/src/kernel/staples.rs`, `loops.rs`, `links.rs` and `gauge_fixing.rs`: the same bits on OpenCL and on the CPU as in plain loops.

use crate::common::backends::check_library_kernels;

check_library_kernels! {
    staples::staple_sum: twin;
    staples::staple_up: twin;
    staples::staple_down: twin;
    loops::plaquette_sum: twin;
    loops::rectangle_sum: twin;
    loops::clover_leaves: twin;
    loops::wide_clover_leaves: twin;
    loops::transported: twin;
    loops::shifted: twin;
    loops::loop_sum: twin;
    loops::link_distance: twin;
    links::flow_link: twin;
    links::exponential_times: twin;
    links::u3_projected: twin;
    links::su3_projected: twin;
    gauge_fixing::gauge_relaxed: twin;
    gauge_fixing::gauge_condition: twin;
    gauge_fixing::gauge_transformed: twin;
}
