//! Work shared among the threads of the `rayon` pool that it is called in.
//!
//! rayon's iterators are generic in the work: each kernel would compile rayon's machinery again for each lane width and precision, which was half of
//! the code of a build. Here the work is behind a `dyn Fn` that is called once a task, so that the machinery is compiled once.

use bytemuck::Pod;
use rayon::prelude::*;

/// Items a task, of `items` in all: enough tasks to balance the load, each long enough to be worth one.
pub fn items_a_task(items: usize) -> usize {
    items.div_ceil(8 * rayon::current_num_threads()).max(1)
}

/// What `work` makes of the number of each task, in the order of the numbers.
pub fn map<T: Send>(tasks: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let work: &(dyn Fn(usize) -> T + Sync) = &work;
    (0..tasks).into_par_iter().map(work).collect()
}

/// Calls `work` with each task's number and its `a_task` items of `out`; the last has fewer where that does not divide them.
pub fn for_each_chunk<T: Pod>(out: &mut [T], a_task: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    chunks_of_bytes(bytes(out), a_task * size_of::<T>(), &|task, out| work(task, bytemuck::cast_slice_mut(out)));
}

/// As [`for_each_chunk`], of two fields of the same length.
pub fn for_each_chunk_of_two<T: Pod>(
    first: &mut [T],
    second: &mut [T],
    a_task: usize,
    work: impl Fn(usize, &mut [T], &mut [T]) + Sync,
) {
    chunks_of_bytes_of_two([bytes(first), bytes(second)], a_task * size_of::<T>(), &|task, [first, second]| {
        work(task, bytemuck::cast_slice_mut(first), bytemuck::cast_slice_mut(second));
    });
}

/// What `work` makes of each task's number and its `a_task` items of `out`, in the order of the numbers.
pub fn map_chunks<T: Pod, S: Send>(out: &mut [T], a_task: usize, work: impl Fn(usize, &mut [T]) -> S + Sync) -> Vec<S> {
    map_chunks_of_bytes(bytes(out), a_task * size_of::<T>(), &|task, out| work(task, bytemuck::cast_slice_mut(out)))
}

/// The `a_task` items of task number `task`; the last task may have fewer.
pub fn chunk<T>(items: &[T], a_task: usize, task: usize) -> &[T] {
    let first = task * a_task;
    &items[first..items.len().min(first + a_task)]
}

fn bytes<T: Pod>(items: &mut [T]) -> &mut [u8] {
    bytemuck::cast_slice_mut(items)
}

fn chunks_of_bytes(out: &mut [u8], a_task: usize, work: &(dyn Fn(usize, &mut [u8]) + Sync)) {
    out.par_chunks_mut(a_task).enumerate().for_each(|(task, out)| work(task, out));
}

fn map_chunks_of_bytes<S: Send>(
    out: &mut [u8],
    a_task: usize,
    work: &(dyn Fn(usize, &mut [u8]) -> S + Sync),
) -> Vec<S> {
    out.par_chunks_mut(a_task).enumerate().map(|(task, out)| work(task, out)).collect()
}

fn chunks_of_bytes_of_two(
    [first, second]: [&mut [u8]; 2],
    a_task: usize,
    work: &(dyn Fn(usize, [&mut [u8]; 2]) + Sync),
) {
    let chunks = first.par_chunks_mut(a_task).zip(second.par_chunks_mut(a_task));
    chunks.enumerate().for_each(|(task, (first, second))| work(task, [first, second]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_in_one_task_with_its_number() {
        for (items, a_task) in [(0, 3), (7, 1), (7, 3), (9, 3), (4, 9)] {
            let mut out = vec![0_u32; items];
            for_each_chunk(&mut out, a_task, |task, out| {
                out.iter_mut().enumerate().for_each(|(k, out)| *out += (task * a_task + k) as u32 + 1);
            });
            assert!(out.iter().zip(1..).all(|(&out, number)| out == number), "{out:?}");

            let mut copy = vec![0_u32; items];
            for_each_chunk_of_two(&mut out, &mut copy, a_task, |task, out, copy| {
                out.iter_mut().for_each(|out| *out += task as u32);
                copy.copy_from_slice(out);
            });
            assert!(out.iter().enumerate().all(|(k, &out)| out as usize == k + 1 + k / a_task) && out == copy);

            let read = map(items.div_ceil(a_task), |task| chunk(&out, a_task, task).to_vec());
            assert_eq!(read.concat(), out);
            let sums = map_chunks(&mut out, a_task, |_, out| out.iter().sum::<u32>());
            assert_eq!(sums, read.iter().map(|items| items.iter().sum()).collect::<Vec<u32>>());
        }
    }
}
