//! The access order for latency: one cycle through all lines of a set, in random order, so that the next one cannot be predicted.

use lanefield_reference::random::{Stream, bits};

/// For each line of a set of `bytes` bytes, its first 4-byte word is the number of the word at which the next line starts; other words are 0. From
/// any start, as many steps as there are lines visit each line once and return. `line`: bytes per line, a multiple of 4. There is at least one
/// line.
///
/// S. Sattolo, *An algorithm to generate a random cyclic permutation*, 1986.
pub fn chain(bytes: usize, line: usize) -> Vec<u32> {
    let words = (line / size_of::<u32>()).max(1);
    let lines = (bytes / line.max(1)).max(1);
    let mut order: Vec<u32> = (0..lines as u32).collect();
    for last in (1..lines).rev() {
        let [random, ..] = bits(1, Stream::TestData, last as u64, 0);
        order.swap(last, random as usize % last);
    }
    let mut next = vec![0; lines * words];
    for (line, &after) in order.iter().enumerate() {
        next[line * words] = after * words as u32;
    }
    next
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_chain_comes_to_every_line_once_and_back() {
        for (bytes, line) in [(4096, 64), (4096, 128), (1000, 8), (64, 64)] {
            let next = chain(bytes, line);
            let lines = bytes / line;
            let mut visited = HashSet::new();
            let mut at = 0u32;
            for _ in 0..lines {
                assert!(
                    visited.insert(at) && (at as usize).is_multiple_of(line / 4),
                    "{at} of {bytes} in lines of {line}"
                );
                at = next[at as usize];
            }
            assert_eq!((at, visited.len()), (0, lines));
        }
    }

    #[test]
    fn a_set_smaller_than_a_line_is_one_line_that_leads_to_itself() {
        assert_eq!(chain(0, 64)[0], 0);
        assert_eq!(chain(10, 64).len(), 16);
    }

    #[test]
    fn steps_of_a_chain_seldom_go_to_a_neighbour() {
        let next = chain(1 << 20, 64);
        let close = (0..next.len()).step_by(16).filter(|&at| (next[at] as usize).abs_diff(at) <= 64).count();
        assert!(close < 20, "{close} of 16384");
    }
}
