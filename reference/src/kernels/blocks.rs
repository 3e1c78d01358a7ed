//! In which order a stencil visits rows of outer sites, so that it finds in a cache what it read before: a neighbour in time is read three times, with two
//! slices of all outer sites in between, and all that is read and written for them. Where these do not fit into a thread's part of the last cache, the lattice is
//! cut in y and z into columns that do.

use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;
use rayon::prelude::*;

use crate::domains;
use crate::layout::{BlockOrder, DIMENSIONS};
use crate::memory::last_cache_of_a_thread;

/// Extents of the lattice of outer sites, whose rows lie in x, and bytes that are read and written for a row.
pub(super) type OuterRows = ([usize; DIMENSIONS], usize);

/// Calls `work` with the number and the items of each row of `out`, in an order that suits caches. Where there are several memory domains, each thread takes those rows whose pages lie with it; else tasks of `a_task` rows go
/// to whoever is free.
pub(super) fn for_each_row<V: Pod>(
    out: &mut [V],
    outer: OuterRows,
    a_task: usize,
    work: impl Fn(usize, &mut [V]) + Sync,
) {
    let rows = rows_in_order(bytemuck::cast_slice_mut(out), &order(outer, last_cache_of_a_thread()));
    let work: Work = &|row, out| work(row, bytemuck::cast_slice_mut(out));
    match domains::are_several() {
        true => each_row_at_home(rows, work),
        false => each_row(rows, a_task, work),
    }
}

/// What `work` makes of the rows of each task: their numbers, in an order that suits caches. Where there are several memory domains, each thread takes those rows whose pages lie with it.
pub(super) fn map_rows<T: Send>(outer: OuterRows, a_task: usize, work: impl Fn(&[usize]) -> T + Sync) -> Vec<T> {
    let order = order(outer, last_cache_of_a_thread());
    let rows: Vec<usize> = (0..order.osites()).map(|place| order.osite_at(place)).collect();
    let work: &(dyn Fn(&[usize]) -> T + Sync) = &work;
    match domains::are_several() {
        true => {
            let (all, threads) = (rows.len(), rayon::current_num_threads());
            let share = |thread: usize| -> Vec<usize> {
                rows.iter().copied().filter(|&row| domains::part_of(row, all, threads) == thread).collect()
            };
            rayon::broadcast(|thread| work(&share(thread.index())))
        }
        false => rows.par_chunks(a_task).map(work).collect(),
    }
}

/// What is done with a row: its number, and its bytes. rayon's machinery is compiled for this alone, as in [`crate::tasks`].
type Work<'a> = &'a (dyn Fn(usize, &mut [u8]) + Sync);

/// The rows of a field, each with its number, in the order in which they are to be visited.
fn rows_in_order<'a>(out: &'a mut [u8], order: &BlockOrder) -> Vec<(usize, &'a mut [u8])> {
    let mut rows: Vec<&mut [u8]> = out.chunks_exact_mut(out.len() / order.osites()).collect();
    let at = |place| {
        let row = order.osite_at(place);
        (row, std::mem::take(&mut rows[row]))
    };
    (0..order.osites()).map(at).collect()
}

fn each_row(rows: Vec<(usize, &mut [u8])>, a_task: usize, work: Work) {
    rows.into_par_iter().with_min_len(a_task).for_each(|(row, bytes)| work(row, bytes));
}

fn each_row_at_home(rows: Vec<(usize, &mut [u8])>, work: Work) {
    let (all, threads) = (rows.len(), rayon::current_num_threads());
    let mut shares: Vec<Vec<(usize, &mut [u8])>> = (0..threads).map(|_| Vec::new()).collect();
    for (row, bytes) in rows {
        shares[domains::part_of(row, all, threads)].push((row, bytes));
    }
    let shares: Vec<_> = shares.into_iter().map(|share| Mutex::new(Some(share))).collect();
    rayon::broadcast(|thread| {
        let share = shares[thread.index()].lock().unwrap_or_else(PoisonError::into_inner).take();
        share.into_iter().flatten().for_each(|(row, bytes)| work(row, bytes));
    });
}

/// The order in which rows are visited, column by column.
fn order(([_, y, z, t], row_bytes): OuterRows, cache: usize) -> BlockOrder {
    let [y_block, z_block] = column([y, z], row_bytes, cache);
    BlockOrder::of_extents([1, y, z, t], [1, y_block, z_block, t])
}

/// The extents in y and z of the column with the fewest neighbours outside, of those of which two slices fit into half of a cache of so many bytes; both
/// whole ones where that fits anyway, or where not even one row does.
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
        let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut words = vec![0_u64; row_words * 12 * 12 * 4];
        let add = |row: usize, words: &mut [u64]| words.iter_mut().for_each(|word| *word += row as u64 + 1);
        on(2).install(|| for_each_row(&mut words, outer, 5, add));
        let rows = rows_in_order(bytemuck::cast_slice_mut(&mut words), &order(outer, 2 << 20));
        assert_ne!(rows[6].0, 6, "the lattice is cut into columns");
        on(3).install(|| each_row_at_home(rows, &|row, bytes| add(row, bytemuck::cast_slice_mut(bytes))));
        assert!(words.iter().enumerate().all(|(k, &word)| word == 2 * (k / row_words + 1) as u64));
    }
}
