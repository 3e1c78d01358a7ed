//! In which order a stencil visits rows of outer sites, so that it finds in the cache of a core what it read before: a neighbour in time is
//! read three times, with two slices of all outer sites in between. Where these do not fit, the lattice is cut in y and z into columns that do.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::domains;
use crate::layout::{BlockOrder, DIMENSIONS};

/// Bytes that three slices of a column may have: half of the second cache of a common server core.
const COLUMN_BYTES: usize = 1 << 20;

/// The rows of a field of `row_words` vectors a row, each with its number, in the order in which they are to be visited. `outer`: extents of the
/// lattice of outer sites, whose rows lie in x; `row_bytes`: what is read of a row of neighbours.
pub(super) fn rows_in_order<V>(
    out: &mut [V],
    row_words: usize,
    outer: [usize; DIMENSIONS],
    row_bytes: usize,
) -> Vec<(usize, &mut [V])> {
    let [_, y, z, t] = outer;
    let [y_block, z_block] = column([y, z], row_bytes);
    let order = BlockOrder::of_extents([1, y, z, t], [1, y_block, z_block, t]);
    let mut rows: Vec<&mut [V]> = out.chunks_exact_mut(row_words).collect();
    let at = |place| {
        let row = order.osite_at(place);
        (row, std::mem::take(&mut rows[row]))
    };
    (0..order.osites()).map(at).collect()
}

/// Runs `work` for every row. Where there are several memory domains, each thread takes those rows whose pages lie with it, in the same order; else
/// tasks of `a_task` rows go to whoever is free.
pub(super) fn for_each_row<V: Send>(
    rows: Vec<(usize, &mut [V])>,
    a_task: usize,
    work: impl Fn((usize, &mut [V])) + Sync + Send,
) {
    match domains::are_several() {
        true => for_each_row_at_home(rows, work),
        false => rows.into_par_iter().with_min_len(a_task).for_each(work),
    }
}

fn for_each_row_at_home<V: Send>(rows: Vec<(usize, &mut [V])>, work: impl Fn((usize, &mut [V])) + Sync + Send) {
    let (all, threads) = (rows.len(), rayon::current_num_threads());
    let mut shares: Vec<Vec<(usize, &mut [V])>> = (0..threads).map(|_| Vec::new()).collect();
    for (row, words) in rows {
        shares[domains::part_of(row, all, threads)].push((row, words));
    }
    let shares: Vec<_> = shares.into_iter().map(|share| Mutex::new(Some(share))).collect();
    rayon::broadcast(|thread| {
        let share = shares[thread.index()].lock().unwrap_or_else(PoisonError::into_inner).take();
        share.into_iter().flatten().for_each(&work);
    });
}

/// The extents in y and z of the column with the fewest neighbours outside; both whole ones where three slices fit anyway, or where not even one row
/// does.
fn column([y, z]: [usize; 2], row_bytes: usize) -> [usize; 2] {
    let fits = |[y, z]: &[usize; 2]| 3 * y * z * row_bytes <= COLUMN_BYTES;
    if fits(&[y, z]) {
        return [y, z];
    }
    let divisors = |extent: usize| (1..=extent).filter(move |&divisor| extent.is_multiple_of(divisor));
    let outside = |[a, b]: &[usize; 2]| {
        let of = |block: usize, extent: usize| if block < extent { 1.0 / block as f64 } else { 0.0 };
        of(*a, y) + of(*b, z)
    };
    let columns = divisors(y).flat_map(|a| divisors(z).map(move |b| [a, b])).filter(fits);
    columns.min_by(|a, b| outside(a).total_cmp(&outside(b))).unwrap_or([y, z])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_the_cache_and_have_few_neighbours_outside() {
        assert_eq!(column([8, 8], 1024), [8, 8]);
        assert_eq!(column([12, 12], 18 << 10), [3, 6]);
        assert_eq!(column([24, 2], 32 << 10), [4, 2]);
        assert_eq!(column([4, 4], 1 << 20), [4, 4]);
    }

    #[test]
    fn every_row_is_worked_on_once_at_home() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let mut words = vec![0usize; 2 * 12 * 12 * 4];
        let rows = rows_in_order(&mut words, 2, [2, 12, 12, 4], 18 << 10);
        pool.install(|| for_each_row_at_home(rows, |(row, words)| words.iter_mut().for_each(|word| *word += row + 1)));
        assert!(words.iter().enumerate().all(|(k, &word)| word == k / 2 + 1));
    }

    #[test]
    fn every_row_is_visited_once_with_its_own_words() {
        let outer = [2, 12, 12, 4];
        let rows = 12 * 12 * 4;
        let mut words: Vec<usize> = (0..3 * rows).collect();
        let mut visited = vec![false; rows];
        for (row, words) in rows_in_order(&mut words, 3, outer, 18 << 10) {
            assert!(!std::mem::replace(&mut visited[row], true));
            assert_eq!(*words, [3 * row, 3 * row + 1, 3 * row + 2]);
        }
        assert!(visited.into_iter().all(|visited| visited));
    }
}
