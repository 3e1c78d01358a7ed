//! What a launch moves from and to memory: each input once, each output once, and what must be read again because the last cache did not keep it.
//!
//! A stencil reads each site of its source from nine directions. In direction μ, the visits of the two neighbours are as many sites earlier and
//! later as there are sites in a step of μ. If three such slices fit the last cache, each is read once, otherwise twice more (the layer condition).
//! If the lattice is visited in blocks, a step inside a block is that of the block. A step across its faces has the sites of all blocks before the
//! next one in μ.
//!
//! Launches are assumed to repeat, as in a solver. If the fields are at most half the size of the last cache, all of them are still there from the
//! launch before. If they are as large as the cache, nothing is; in between, the share is interpolated.

use lanefield_reference::layout::DIMENSIONS;
use serde::Serialize;

use super::launched::Launched;
use crate::machine::Machine;

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Streams {
    /// Each input once, and each output once.
    pub ideal_bytes: f64,
    pub read_again_bytes: f64,
    /// Bytes that are not moved because the last cache has them from the launch before.
    pub kept_bytes: f64,
}

impl Streams {
    pub fn bytes(&self) -> f64 {
        self.ideal_bytes + self.read_again_bytes - self.kept_bytes
    }
}

impl Launched {
    pub(crate) fn streams(&self, machine: &Machine) -> Streams {
        let shape = &self.shape;
        let source = self.source_bytes() as f64;
        let again = match self.stencil {
            Some(_) => read_again(self.block(), shape.lattice().outer_extents(shape.sites()), source, machine.l2_bytes),
            None => 0.0,
        };
        let (ideal_bytes, read_again_bytes) =
            (shape.field_bytes() as f64, shape.target.osites() as f64 * source * again);
        let kept_bytes = kept_share(ideal_bytes, machine.l2_bytes) * (ideal_bytes + read_again_bytes);
        Streams { ideal_bytes, read_again_bytes, kept_bytes }
    }
}

/// The fraction of the fields, of this size in bytes, that is still in the cache after a launch.
fn kept_share(fields: f64, cache: u64) -> f64 {
    (2.0 * (1.0 - fields / cache as f64)).clamp(0.0, 1.0)
}

/// How many times the source is read again, on average, if an outer site of it has `object` bytes.
fn read_again(block: [usize; DIMENSIONS], outer: [usize; DIMENSIONS], object: f64, cache: u64) -> f64 {
    let volume: usize = block.iter().product();
    let kept = |step: usize| 3.0 * step as f64 * object <= cache as f64;
    let (mut step_inside, mut blocks_before, mut again) = (1, 1, 0.0);
    for mu in 0..DIMENSIONS {
        let faces = 1.0 / block[mu] as f64;
        // If a block is as long as the lattice, these are the faces of the lattice.
        let step_across = if block[mu] == outer[mu] { step_inside * block[mu] } else { volume * blocks_before };
        if outer[mu] > 1 && !kept(step_inside) {
            again += 2.0 * (1.0 - faces);
        }
        if outer[mu] > 1 && !kept(step_across) {
            again += 2.0 * faces;
        }
        step_inside *= block[mu];
        blocks_before *= outer[mu] / block[mu].max(1);
    }
    again
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: [usize; 4] = [8, 16, 16, 32];

    #[test]
    fn a_cache_of_three_slices_reads_each_site_once_but_for_the_faces_of_the_lattice() {
        // A slice in time has 8·16·16 = 2048 outer sites.
        assert_eq!(read_again(WHOLE, WHOLE, 1.0, 3 * 2048), 2.0 / 32.0);
        assert_eq!(read_again(WHOLE, WHOLE, 1.0, 3 * 2048 * 32), 0.0);
    }

    #[test]
    fn a_cache_keeps_fields_of_half_its_size_and_none_of_its_own() {
        assert_eq!([0.0, 50.0, 75.0, 100.0, 1e9].map(|fields| kept_share(fields, 100)), [1.0, 1.0, 0.5, 0.0, 0.0]);
    }

    #[test]
    fn a_smaller_cache_reads_time_neighbours_again_and_then_those_in_z() {
        assert_eq!(read_again(WHOLE, WHOLE, 1.0, 3 * 2048 - 1), 2.0 + 2.0 / 16.0);
        // A row of y and x has 128.
        assert_eq!(read_again(WHOLE, WHOLE, 1.0, 3 * 128 - 1), 4.0 + 2.0 / 16.0);
    }

    #[test]
    fn blocks_keep_their_inside_and_lose_their_faces() {
        // Slices of 8·8·4 fit; faces in y and z do not, nor the last slice of all.
        assert_eq!(read_again([8, 8, 4, 32], WHOLE, 1.0, 3 * 256), 2.0 / 8.0 + 2.0 / 4.0 + 2.0 / 32.0);
    }

    #[test]
    fn blocks_of_one_slice_that_follow_each_other_are_the_order_of_time() {
        // Blocks of 4·8·4·1 on 4·8·16·16: three slices of 512 fit.
        assert_eq!(read_again([4, 8, 4, 1], [4, 8, 16, 16], 1.0, 3 * 512), 0.0);
        assert_eq!(read_again([4, 8, 4, 1], [4, 8, 16, 16], 1.0, 3 * 512 - 1), 2.0);
    }
}
