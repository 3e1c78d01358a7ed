//! The arithmetic in plain C (`crates/capi/reference`), which was written from `docs/arithmetic.md` alone: it has the bits of the plain loops, of the SIMD
//! reference and of OpenCL, for every kernel and operator, from every compiler at every optimisation.

mod kernels;
mod library;
mod operators;

use lanefield::check::CUTS;
use lanefield::prelude::*;
use lanefield_reference::layout::{Checkerboard, LaneWidth, LegOrder};
use lanefield_reference::random::{Stream, bits};

/// Draws of a case, each a function of (subject, number, which).
struct Draws {
    subject: u64,
    number: u64,
    next: u32,
}

impl Draws {
    fn new(subject: u64, number: u64) -> Self {
        Self { subject, number, next: 0 }
    }

    fn below(&mut self, n: usize) -> usize {
        let [word, ..] = bits(self.subject, Stream::TestData, self.number, self.next);
        self.next += 1;
        word as usize % n
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    fn boundary(&mut self) -> BoundaryPhases {
        let phases: Vec<String> = (0..4).map(|_| self.one_of(&[1, 1, -1, -1, 0]).to_string()).collect();
        phases.join(",").parse().unwrap()
    }

    fn legs(&mut self) -> LegOrder {
        let mut legs = LegOrder::DEFAULT.legs();
        for k in (1..legs.len()).rev() {
            legs.swap(k, self.below(k + 1));
        }
        LegOrder::new(legs).unwrap()
    }
}

/// Small lattices that two lanes just divide. On OpenCL all take the same programs, those of `tests/kernels.rs`.
const IN_TWO_LANES: [[usize; 4]; 6] =
    [[2, 2, 2, 4], [4, 2, 2, 4], [2, 4, 2, 4], [2, 2, 6, 4], [2, 6, 2, 4], [2, 2, 2, 8]];
/// The same in one lane, some without parities, and in four lanes.
const IN_ONE_LANE: [[usize; 4]; 5] = [[2, 2, 2, 2], [4, 2, 2, 6], [3, 5, 1, 2], [2, 2, 6, 2], [1, 3, 2, 5]];
const IN_FOUR_LANES: [[usize; 4]; 3] = [[4, 4, 2, 2], [2, 2, 4, 4], [2, 4, 4, 2]];

fn lattice(extents: [usize; 4], nsimd: usize, scalar: Scalar) -> Lattice {
    let red_black = extents.iter().all(|extent| extent % 2 == 0);
    let checkerboard = if red_black { Checkerboard::RedBlack } else { Checkerboard::FullOnly };
    let lanes = LaneChoice::Width(LaneWidth::new(nsimd * scalar.bytes()).unwrap());
    let nodes = (nsimd == 2).then_some(CUTS[0]);
    Lattice::new(Extents::new(extents).unwrap(), scalar, LatticeOptions { lanes, nodes, checkerboard }).unwrap()
}

/// f32, f64 and half precision in turn.
fn precision(number: u64) -> Precision {
    Precision::ALL[(number % 3) as usize]
}
