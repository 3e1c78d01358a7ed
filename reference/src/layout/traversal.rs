//! Orders of outer sites by blocks. The lattice of outer sites is divided into blocks of equal extents. The sites of a block are consecutive.
//! Blocks, and the sites of each, are in lexicographic order, x fastest. A launch may visit outer sites in such an order, and a device may store
//! them in one. Counterpart: `cl/traversal.clh`.

use super::DIMENSIONS;

/// An order of outer sites by blocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BlockOrder {
    outer: [usize; DIMENSIONS],
    block: [usize; DIMENSIONS],
}

impl BlockOrder {
    /// Blocks with these extents. Extents that do not divide those of the lattice are reduced until they do.
    pub fn of_extents(outer: [usize; DIMENSIONS], extents: [usize; DIMENSIONS]) -> Self {
        let outer = outer.map(|extent| extent.max(1));
        Self { outer, block: std::array::from_fn(|mu| largest_divisor(outer[mu], extents[mu])) }
    }

    /// The order with these numbers of blocks in each direction. Numbers that do not divide the extents of the lattice are reduced until they do.
    pub fn of_numbers(outer: [usize; DIMENSIONS], numbers: [usize; DIMENSIONS]) -> Self {
        let outer = outer.map(|extent| extent.max(1));
        Self { outer, block: std::array::from_fn(|mu| outer[mu] / largest_divisor(outer[mu], numbers[mu])) }
    }

    /// Extents of the lattice of outer sites.
    pub fn outer(&self) -> [usize; DIMENSIONS] {
        self.outer
    }

    /// Extents of a block.
    pub fn block(&self) -> [usize; DIMENSIONS] {
        self.block
    }

    /// Number of outer sites.
    pub fn osites(&self) -> usize {
        self.outer.iter().product()
    }

    /// Whether it is the lexicographic order of the whole lattice. That is so if blocks are whole in the faster directions, and one site thick in
    /// those slower than the first in which the lattice is divided.
    pub fn is_lexicographic(&self) -> bool {
        let first_cut = (0..DIMENSIONS).find(|&mu| self.block[mu] < self.outer[mu]).unwrap_or(DIMENSIONS);
        self.block.iter().skip(first_cut + 1).all(|&extent| extent == 1)
    }

    /// The outer site, by its lexicographic number, at a place of the order. Places beyond the lattice are returned as they are.
    pub fn osite_at(&self, place: usize) -> usize {
        let volume: usize = self.block.iter().product();
        let (mut inside, mut block) = (place % volume, place / volume);
        let (mut osite, mut stride) = (0, 1);
        for mu in 0..DIMENSIONS {
            // The blocks of the slowest direction have no end.
            let blocks = if mu + 1 < DIMENSIONS { self.outer[mu] / self.block[mu] } else { usize::MAX };
            osite += stride * (inside % self.block[mu] + block % blocks * self.block[mu]);
            inside /= self.block[mu];
            block /= blocks;
            stride *= self.outer[mu];
        }
        osite
    }

    /// The place of an outer site: the inverse of [`Self::osite_at`].
    pub fn place_of(&self, osite: usize) -> usize {
        let (mut inside, mut block) = (0, 0);
        let (mut in_stride, mut block_stride) = (1, 1);
        let mut rest = osite;
        for mu in 0..DIMENSIONS {
            let x = if mu + 1 < DIMENSIONS { rest % self.outer[mu] } else { rest };
            rest /= self.outer[mu];
            inside += in_stride * (x % self.block[mu]);
            block += block_stride * (x / self.block[mu]);
            in_stride *= self.block[mu];
            block_stride *= self.outer[mu] / self.block[mu];
        }
        block * in_stride + inside
    }
}

/// The largest divisor of `extent`, which is at least 1, that is at most `most`, and at least 1.
fn largest_divisor(extent: usize, most: usize) -> usize {
    (1..=most.clamp(1, extent)).rev().find(|&divisor| extent.is_multiple_of(divisor)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_and_numbers_of_blocks_divide_the_lattice() {
        let outer = [12, 7, 4, 6];
        assert_eq!(BlockOrder::of_extents(outer, [8, 4, 16, 0]).block(), [6, 1, 4, 1]);
        assert_eq!(BlockOrder::of_numbers(outer, [8, 4, 16, 1]).block(), [2, 7, 1, 6]);
    }

    #[test]
    fn two_blocks_of_a_row_follow_each_other() {
        // 4 × 2 sites in two blocks of 2 × 2.
        let order = BlockOrder::of_numbers([4, 2, 1, 1], [2, 1, 1, 1]);
        let osites: Vec<usize> = (0..8).map(|place| order.osite_at(place)).collect();
        assert_eq!(osites, [0, 1, 4, 5, 2, 3, 6, 7]);
    }
}
