//! The Laplacian's hop in wide lanes: the same bits as plain loops over coordinates (`scalar/laplace.rs`), whatever the lattice, the lane
//! width, the colour vectors a site and the number of threads.

use lanefield_reference::kernels::laplace::laplace_hop;
use lanefield_reference::layout::Checkerboard;
use proptest::prelude::*;

use crate::common;
use crate::common::hops::{self, any_case, colour_hop, has_the_bits_of_plain_loops};

colour_hop!(LaplaceHop: laplace_hop);

proptest! {
    #![proptest_config(common::cases(100))]

    #[test]
    fn hop_is_bitwise_equal_to_plain_loops(case in any_case(600), vectors in 1..10usize) {
        case.check(LaplaceHop(vectors))?;
    }
}

#[test]
fn hop_is_bitwise_equal_to_plain_loops_at_every_width() {
    // The widest lanes cut a dimension into four and more, where a stencil rotates lanes and does not just swap them.
    for text in ["4.4.4.8", "2.2.2.64"] {
        has_the_bits_of_plain_loops::<f32>(LaplaceHop(5), (text, Some(6)), "1,1,-1,-1", Checkerboard::RedBlack);
        has_the_bits_of_plain_loops::<f64>(LaplaceHop(5), (text, Some(5)), "1,1,-1,-1", Checkerboard::RedBlack);
    }
}

#[test]
fn hop_does_not_depend_on_the_number_of_threads() {
    hops::does_not_depend_on_the_number_of_threads(LaplaceHop(3));
}
