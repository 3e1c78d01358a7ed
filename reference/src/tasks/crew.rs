//! Tasks that a thread shares with those of a pool.
//!
//! Each thread has a share of consecutive tasks. It works through its own share in order, then helps with the others. Consecutive tasks read the same
//! neighbours, so most of them are found in the caches of one thread. The leader starts at once and wakes two helpers, each of which wakes two more. It
//! waits only for helpers that have started.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::ThreadPool;

/// Calls `work` with the number of each task, in the calling thread and those of the pool, and returns when all are done.
pub(super) fn run(pool: &ThreadPool, tasks: usize, work: &(dyn Fn(usize) + Sync)) {
    let threads = pool.current_num_threads().min(tasks);
    if threads < 2 {
        return (0..tasks).for_each(work);
    }
    let work: *const (dyn Fn(usize) + Sync + '_) = work;
    // SAFETY: only how long it is borrowed is forgotten; nobody follows the pointer once `Crew::wait` has returned.
    let work =
        unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync)>(work) };
    let share = |number| Share {
        next: AtomicUsize::new(number * tasks / threads),
        end: (number + 1) * tasks / threads,
        is_taken: AtomicBool::new(false),
    };
    let crew = Arc::new(Crew {
        work,
        shares: (0..threads).map(share).collect(),
        at_work: AtomicUsize::new(0),
        panic: Mutex::new(None),
    });
    for helper in [1, 2] {
        Crew::call(&crew, helper, |help| pool.spawn(help));
    }
    crew.work(threads - 1);
    crew.wait();
    if let Some(panic) = crew.panic.lock().unwrap_or_else(PoisonError::into_inner).take() {
        resume_unwind(panic);
    }
}

/// The tasks of a thread. Each is on a cache line of its own, together with the line that is fetched with it.
#[repr(align(128))]
struct Share {
    /// The next task. The share is empty once this reaches `end`.
    next: AtomicUsize,
    end: usize,
    is_taken: AtomicBool,
}

struct Crew {
    work: *const (dyn Fn(usize) + Sync),
    shares: Vec<Share>,
    /// Helpers that have started and not finished.
    at_work: AtomicUsize,
    /// The payload of the first panic.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: the work may be called by several threads at once, and is followed only as `run` says.
unsafe impl Send for Crew {}
// SAFETY: as above.
unsafe impl Sync for Crew {}

impl Crew {
    /// Calls helper number `helper` (the leader is 0), if the crew is large enough.
    fn call(crew: &Arc<Self>, helper: usize, spawn: impl FnOnce(Box<dyn FnOnce() + Send>)) {
        if helper < crew.shares.len() {
            let crew = Arc::clone(crew);
            spawn(Box::new(move || crew.help(helper)));
        }
    }

    fn help(self: Arc<Self>, helper: usize) {
        if self.is_done() {
            return;
        }
        for next in [2 * helper + 1, 2 * helper + 2] {
            Self::call(&self, next, rayon::spawn);
        }
        // Before the first task is taken: the leader, which finds that none is left, then waits for this thread.
        self.at_work.fetch_add(1, SeqCst);
        self.work(rayon::current_thread_index().unwrap_or(helper));
        self.at_work.fetch_sub(1, SeqCst);
    }

    fn is_done(&self) -> bool {
        self.shares.iter().all(|share| share.next.load(SeqCst) >= share.end)
    }

    /// Runs tasks until none is left: first those of a free share, if possible the preferred one, then those of the others.
    fn work(&self, preferred: usize) {
        let shares = self.shares.len();
        let is_free = |share: &usize| !self.shares[*share].is_taken.swap(true, SeqCst);
        let first = (preferred..preferred + shares).map(|share| share % shares).find(is_free).unwrap_or(preferred);
        for share in (first..first + shares).map(|share| &self.shares[share % shares]) {
            while share.next.load(SeqCst) < share.end {
                let task = share.next.fetch_add(1, SeqCst);
                if task >= share.end {
                    break;
                }
                // SAFETY: there was a task left, so `run` has not returned.
                let work = AssertUnwindSafe(|| unsafe { &*self.work }(task));
                if let Err(panic) = catch_unwind(work) {
                    self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
                }
            }
        }
    }

    /// Waits until no helper is at work. It is called when all tasks are taken: a helper that starts later finds none.
    fn wait(&self) {
        /// The number of checks before yielding the processor.
        const LOOKS: usize = 256;
        let mut looks = 0;
        while self.at_work.load(SeqCst) > 0 {
            looks += 1;
            if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }
}
