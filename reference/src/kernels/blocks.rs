//! The order in which a stencil visits rows of outer sites, chosen so that neighbours are still in a cache. A neighbour in time is read three times.
//! In between, two slices of all outer sites are read and written. If these do not fit into a thread's share of the last cache, the lattice is
//! divided in y and z into columns that do.

use std::ops::Range;

use bytemuck::Pod;

use crate::domains;
use crate::layout::{BlockOrder, DIMENSIONS};
use crate::memory::last_cache_of_a_thread;
use crate::tasks::{self, Parts};

/// Extents of the lattice of outer sites, whose rows are along x, and the number of bytes that are read and written for a row.
pub(super) type OuterRows = ([usize; DIMENSIONS], usize);

/// Calls `work` with the number and the items of each row of `out`, as [`map_rows`] visits them.
pub(super) fn for_each_row<V: Pod>(
    out: &mut [V],
    outer: OuterRows,
    a_task: usize,
    work: impl Fn(usize, &mut [V]) + Sync,
) {
    let row_items = out.len() / outer.0[1..].iter().product::<usize>();
    let out = Parts::of(out);
    map_rows(outer, a_task, |rows| {
        for &row in rows {
            // SAFETY: each row is in one task.
            work(row, unsafe { out.part(row_items, row) });
        }
    });
}

/// The results of `work` for the rows of each task. It receives their numbers in an order that suits caches. With several memory domains, each
/// thread computes the rows whose pages are in its domain. Otherwise tasks of `a_task` rows go to the next free thread.
pub(super) fn map_rows<T: Send>(outer: OuterRows, a_task: usize, work: impl Fn(&[usize]) -> T + Sync) -> Vec<T> {
    let order = order(outer, last_cache_of_a_thread());
    let all = order.osites();
    let rows = |places: Range<usize>| -> Vec<usize> { places.map(|place| order.osite_at(place)).collect() };
    match domains::are_several(tasks::threads()) {
        true => map_at_home(&rows(0..all), &work),
        false => tasks::map(all.div_ceil(a_task), |task| work(&rows(task * a_task..all.min((task + 1) * a_task)))),
    }
}

/// The results of `work` for the rows of each thread of the current pool, whose pages are in its domain.
fn map_at_home<T: Send>(rows: &[usize], work: &(dyn Fn(&[usize]) -> T + Sync)) -> Vec<T> {
    let (all, threads) = (rows.len(), rayon::current_num_threads());
    rayon::broadcast(|thread| {
        let at_home = |row: &usize| domains::part_of(*row, all, threads) == thread.index();
        work(&rows.iter().copied().filter(at_home).collect::<Vec<_>>())
    })
}

/// The order in which rows are visited, column by column.
fn order(([_, y, z, t], row_bytes): OuterRows, cache: usize) -> BlockOrder {
    let [y_block, z_block] = column([y, z], row_bytes, cache);
    BlockOrder::of_extents([1, y, z, t], [1, y_block, z_block, t])
}

/// The extents in y and z of a column. Two slices of it must fit into half of a cache of `cache` bytes; among those, it has the fewest neighbours
/// outside. It is the whole lattice if that fits, or if not even one row does.
fn column([y, z]: [usize; 2], row_bytes: usize, cache: usize) -> [usize; 2] {
    let fits = |[y, z]: &[usize; 2]| 2 * y * z * row_bytes <= cache / 2;
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
    use std::sync::Arc;

    use super::*;

    #[test]
    fn columns_fit_the_cache_and_have_few_neighbours_outside() {
        let cache = 2 << 20;
        assert_eq!(column([8, 8], 1024, cache), [8, 8]);
        assert_eq!(column([12, 12], 27 << 10, cache), [3, 6]);
        assert_eq!(column([24, 2], 48 << 10, cache), [4, 2]);
        assert_eq!(column([4, 4], 1 << 20, cache), [4, 4]);
        assert_eq!(column([12, 12], 27 << 10, 64 << 20), [12, 12]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes")]
    fn every_row_is_worked_on_once_with_its_own_items() {
        let (outer, row_words) = (([2, 12, 12, 4], 48 << 10), 2 << 10);
        let on = |threads| Arc::new(rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
        let mut words = vec![0_u64; row_words * 12 * 12 * 4];
        let add = |row: usize, words: &mut [u64]| words.iter_mut().for_each(|word| *word += row as u64 + 1);
        on(2).install(|| for_each_row(&mut words, outer, 5, add));
        for threads in [1, 2, 5] {
            tasks::lead(&on(threads), || for_each_row(&mut words, outer, 5, add));
        }
        assert!(words.iter().enumerate().all(|(k, &word)| word == 4 * (k / row_words + 1) as u64));

        let order = order(outer, 2 << 20);
        let rows: Vec<usize> = (0..order.osites()).map(|place| order.osite_at(place)).collect();
        assert_ne!(rows[6], 6, "the lattice is cut into columns");
        let mut visited = on(3).install(|| map_at_home(&rows, &<[usize]>::to_vec)).concat();
        assert_ne!(visited, rows);
        visited.sort_unstable();
        assert!(visited.into_iter().eq(0..12 * 12 * 4));
    }
}
