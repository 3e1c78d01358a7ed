//! Local memory in banks, and the rows of two-dimensional arrays: bank conflicts, padding, pitch.
//!
//! Banks are 4 bytes wide, and word w is in bank w mod `banks`. One pass delivers one word from each bank; delivering the same word to several
//! work-items is free. An access is split so that no part asks for more than all banks hold. A part is `banks` work-items for 4 bytes, half of that
//! for 8 bytes and a quarter for 16. (With 32 banks, a warp of 32 is served whole, in halves or in quarters; a wavefront of 64 needs twice as many
//! parts.) Smaller elements count as the words that contain them.

use serde::Serialize;

use crate::model::WaveAccess;

const BANK_BYTES: u64 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct BankPasses {
    pub banks: u64,
    pub passes: u64,
    pub least: u64,
    /// The largest number of distinct words that one bank must deliver at once: 1 without conflicts, n for an n-way conflict.
    pub ways: u64,
}

/// The passes of an access in `banks` banks, at least one.
pub fn bank_passes(access: &WaveAccess, banks: u64) -> BankPasses {
    let banks = banks.max(1);
    let words_each = access.bytes.div_ceil(BANK_BYTES).max(1);
    let at_once = (banks / words_each).max(1) as usize;
    let (mut passes, mut ways) = (0, 0);
    for part in access.addresses.chunks(at_once) {
        let words = WaveAccess { bytes: access.bytes, addresses: part.to_vec() }.segments(BANK_BYTES);
        let mut asked = vec![0; banks as usize];
        words.iter().for_each(|word| asked[(word % banks) as usize] += 1);
        let worst = asked.into_iter().max().unwrap_or(0);
        passes += worst;
        ways = ways.max(worst);
    }
    // An element with more words than there are banks takes several passes.
    let least = access.addresses.len().div_ceil(at_once) as u64 * words_each.div_ceil(banks);
    BankPasses { banks, passes, least, ways }
}

/// The smallest padding of each row of a local array with `width` elements of `element` bytes, in elements, for which a column is read without
/// conflicts: one element by each of at most `work_items` work-items. It is 0 if no padding is needed, and if none helps because an element fills
/// all banks.
pub fn row_padding(width: u64, element: u64, work_items: u64, banks: u64) -> u64 {
    let free = |padding: &u64| {
        let passes = bank_passes(&WaveAccess::strided((width + padding) * element, element, work_items), banks);
        passes.passes <= passes.least
    };
    (0..=banks).find(free).unwrap_or(0)
}

/// The smallest row pitch, in elements, that keeps every row of an array `base + x + pitch·y` aligned for the contiguous bytes of a wavefront: the
/// least multiple of `wavefront` elements that is at least `width`.
pub fn row_pitch(width: u64, wavefront: u64) -> u64 {
    width.next_multiple_of(wavefront.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_follow_from_stride_and_width() {
        // Stride, bytes, work-items, banks; passes, the least, ways of the conflict.
        for (name, [stride, bytes, items, banks], expected) in [
            ("neighbouring words", [4, 4, 32, 32], [1, 1, 1]),
            ("every second word", [8, 4, 32, 32], [2, 1, 2]),
            ("odd strides", [12, 4, 32, 32], [1, 1, 1]),
            ("a stride of all banks", [128, 4, 32, 32], [32, 1, 32]),
            ("the same word for all", [0, 4, 32, 32], [1, 1, 1]),
            ("eight bytes go in halves", [8, 8, 32, 32], [2, 2, 1]),
            ("sixteen bytes go in quarters", [16, 16, 32, 32], [4, 4, 1]),
            ("every second sixteen bytes", [32, 16, 32, 32], [8, 4, 2]),
            ("a wavefront of 64 in 32 banks", [4, 4, 64, 32], [2, 2, 1]),
            ("a wavefront of 64 in 64 banks", [4, 4, 64, 64], [1, 1, 1]),
            ("every second word in 64 banks", [8, 4, 64, 64], [2, 1, 2]),
            ("a column of rows of 33 words", [33 * 4, 4, 32, 32], [1, 1, 1]),
        ] {
            let BankPasses { passes, least, ways, .. } = bank_passes(&WaveAccess::strided(stride, bytes, items), banks);
            assert_eq!([passes, least, ways], expected, "{name}");
        }
    }

    #[test]
    fn one_element_more_a_row_frees_the_columns_of_a_square() {
        let padding = |[width, element, items, banks]: [u64; 4]| row_padding(width, element, items, banks);
        let rows = [[32, 4, 32, 32], [33, 4, 32, 32], [32, 8, 32, 32], [64, 4, 64, 64]];
        assert_eq!(rows.map(padding), [1, 0, 1, 1]);
    }

    #[test]
    fn a_pitch_is_the_next_multiple_of_the_wavefront() {
        assert_eq!([row_pitch(1, 32), row_pitch(96, 32), row_pitch(97, 32), row_pitch(100, 64)], [32, 96, 128, 128]);
    }
}
