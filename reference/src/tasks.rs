//! Division of work among threads: those of the pool that a thread leads, or of the `rayon` pool in which it runs.
//!
//! rayon's iterators are generic over the work, so each kernel would compile rayon's code again for each lane width and precision. That was half of
//! the code of a build. Here the work is a `dyn Fn` that is called once for each task, so that rayon's code is compiled once.

mod crew;

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytemuck::Pod;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::{domains, forks};

thread_local! {
    /// The pool that this thread leads.
    static LED: RefCell<Option<Arc<ThreadPool>>> = const { RefCell::new(None) };
}

/// Runs `work` on the calling thread, which shares its tasks with the threads of `pool`, up to the total number of threads of the pool. Handing the
/// work to the pool and waiting would take longer than a kernel on a small lattice. With several memory domains the work is handed over all the
/// same, because only the pool's threads are bound to domains.
pub fn lead<T: Send>(pool: &Arc<ThreadPool>, work: impl FnOnce() -> T + Send) -> T {
    /// Restores the pool that was led before, even if the work panics.
    struct Before(Option<Arc<ThreadPool>>);
    impl Drop for Before {
        fn drop(&mut self) {
            LED.set(self.0.take());
        }
    }
    if domains::are_several(pool.current_num_threads()) {
        return pool.install(work);
    }
    let _before = Before(LED.replace(Some(Arc::clone(pool))));
    work()
}

/// The number of threads that share the tasks of the calling thread.
pub fn threads() -> usize {
    LED.with_borrow(|led| led.as_ref().map_or_else(rayon::current_num_threads, |pool| pool.current_num_threads()))
}

/// The number of items of a task, out of `items`: enough tasks to balance the load, each long enough to be worthwhile.
pub fn items_a_task(items: usize) -> usize {
    items.div_ceil(8 * threads()).max(1)
}

/// Calls `work` with the number of each task.
pub fn each(tasks: usize, work: &(dyn Fn(usize) + Sync)) {
    match LED.with_borrow(Clone::clone) {
        Some(pool) => crew::run(&pool, tasks, work),
        // The pool that the whole process shares may be that of a parent.
        None if is_forked() && rayon::current_thread_index().is_none() => (0..tasks).for_each(work),
        None => (0..tasks).into_par_iter().for_each(work),
    }
}

/// Whether this process was forked after an ancestor ran its first task.
fn is_forked() -> bool {
    static BEFORE: OnceLock<usize> = OnceLock::new();
    let forks = forks::count();
    *BEFORE.get_or_init(|| forks) != forks
}

/// The results of `work` for the number of each task, in the order of the numbers.
pub fn map<T: Send>(tasks: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let made: Vec<Mutex<Option<T>>> = (0..tasks).map(|_| Mutex::new(None)).collect();
    each(tasks, &|task| *made[task].lock().unwrap_or_else(PoisonError::into_inner) = Some(work(task)));
    let made = made.into_iter().map(|made| made.into_inner().unwrap_or_else(PoisonError::into_inner));
    made.map(|made| made.expect("each task was worked on")).collect()
}

/// A slice that tasks divide among themselves.
pub(crate) struct Parts<'a, T> {
    start: *mut T,
    length: usize,
    items: PhantomData<&'a mut [T]>,
}

// SAFETY: it gives out parts of the items, which are plain data, and whoever takes them promises that they do not overlap.
unsafe impl<T: Pod> Sync for Parts<'_, T> {}

impl<'a, T: Pod> Parts<'a, T> {
    pub(crate) fn of(items: &'a mut [T]) -> Self {
        Self { start: items.as_mut_ptr(), length: items.len(), items: PhantomData }
    }

    /// Part number `part`, if the slice is divided into parts of `a_part` items; the last may have fewer.
    ///
    /// # Safety
    /// Nothing else may use this part, or one of another size that overlaps it.
    #[expect(clippy::mut_from_ref, reason = "the caller promises that it is the only one")]
    pub(crate) unsafe fn part(&self, a_part: usize, part: usize) -> &mut [T] {
        let first = part * a_part;
        assert!(first < self.length, "part {part} of {a_part} items, of {}", self.length);
        // SAFETY: it lies within the items, which are borrowed, and nobody else has it.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(first), a_part.min(self.length - first)) }
    }
}

/// Calls `work` with each task's number and its `a_task` items of `out`. The last task may have fewer.
pub fn for_each_chunk<T: Pod>(out: &mut [T], a_task: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    let (tasks, out) = (out.len().div_ceil(a_task), Parts::of(out));
    // SAFETY: each task is worked on once.
    each(tasks, &|task| work(task, unsafe { out.part(a_task, task) }));
}

/// As [`for_each_chunk`], for two slices of the same length.
pub(crate) fn for_each_chunk_of_two<T: Pod>(
    first: &mut [T],
    second: &mut [T],
    a_task: usize,
    work: impl Fn(usize, &mut [T], &mut [T]) + Sync,
) {
    let second = Parts::of(second);
    // SAFETY: each task is worked on once.
    for_each_chunk(first, a_task, |task, first| work(task, first, unsafe { second.part(a_task, task) }));
}

/// The results of `work` for each task's number and its `a_task` items of `out`, in the order of the numbers.
pub(crate) fn map_chunks<T: Pod, S: Send>(
    out: &mut [T],
    a_task: usize,
    work: impl Fn(usize, &mut [T]) -> S + Sync,
) -> Vec<S> {
    let (tasks, out) = (out.len().div_ceil(a_task), Parts::of(out));
    // SAFETY: each task is worked on once.
    map(tasks, |task| work(task, unsafe { out.part(a_task, task) }))
}

/// The `a_task` items of task number `task`; the last task may have fewer.
pub fn chunk<T>(items: &[T], a_task: usize, task: usize) -> &[T] {
    let first = task * a_task;
    &items[first..items.len().min(first + a_task)]
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

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

    #[test]
    fn a_leader_and_its_pool_work_on_each_task_once() {
        let pool = |threads| Arc::new(rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
        for (leaders, pool_threads) in [(1, 1), (1, 2), (1, 7), (3, 4)] {
            let pool = pool(pool_threads);
            std::thread::scope(|scope| {
                for _ in 0..leaders {
                    scope.spawn(|| {
                        for tasks in (0..60).chain([400]) {
                            let squares = lead(&pool, || {
                                assert_eq!(threads(), pool_threads);
                                map(tasks, |task| map(task % 3, |k| task * k).len() + task * task)
                            });
                            assert!(squares.into_iter().enumerate().all(|(k, square)| square == k * k + k % 3));
                        }
                    });
                }
            });
        }
        assert_eq!(threads(), rayon::current_num_threads());
    }

    #[test]
    fn a_panic_in_a_task_is_one_of_its_leader_after_all_others_are_done() {
        let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap());
        let done = AtomicUsize::new(0);
        let work = |task: usize| match task {
            17 => panic!("task {task}"),
            _ => done.fetch_add(1, SeqCst),
        };
        let panic = catch_unwind(AssertUnwindSafe(|| lead(&pool, || map(40, work)))).expect_err("a task panics");
        assert_eq!(panic.downcast_ref::<String>().expect("text"), "task 17");
        assert_eq!(done.into_inner(), 39);
        assert_eq!(lead(&pool, || map(5, |task| task)), [0, 1, 2, 3, 4]);
        assert!(LED.with_borrow(Option::is_none));
    }
}
