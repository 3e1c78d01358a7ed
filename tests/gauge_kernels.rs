//! The kernels on the links of gauge fields, `src/kernel/staples.rs`, `loops.rs`, `links.rs` and `gauge_fixing.rs`: the same bits on OpenCL and on the CPU as in plain loops.

use lanefield::body::check_kernel;

check_kernel!(lanefield::kernel::staples::staple_sum, twin);
check_kernel!(lanefield::kernel::staples::staple_up, twin);
check_kernel!(lanefield::kernel::staples::staple_down, twin);
check_kernel!(lanefield::kernel::loops::plaquette_sum, twin);
check_kernel!(lanefield::kernel::loops::rectangle_sum, twin);
check_kernel!(lanefield::kernel::loops::clover_leaves, twin);
check_kernel!(lanefield::kernel::loops::wide_clover_leaves, twin);
check_kernel!(lanefield::kernel::loops::transported, twin);
check_kernel!(lanefield::kernel::loops::shifted, twin);
check_kernel!(lanefield::kernel::loops::loop_sum, twin);
check_kernel!(lanefield::kernel::loops::link_distance, twin);
check_kernel!(lanefield::kernel::links::flow_link, twin);
check_kernel!(lanefield::kernel::links::exponential_times, twin);
check_kernel!(lanefield::kernel::links::u3_projected, twin);
check_kernel!(lanefield::kernel::links::su3_projected, twin);
check_kernel!(lanefield::kernel::gauge_fixing::gauge_relaxed, twin);
check_kernel!(lanefield::kernel::gauge_fixing::gauge_condition, twin);
check_kernel!(lanefield::kernel::gauge_fixing::gauge_transformed, twin);
