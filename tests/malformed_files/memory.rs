//! The allocator of this test: the system's, and counters.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// The system's allocator, with the largest allocation and the most memory held at once while [`MEASURING`].
struct Counting;

static MEASURING: AtomicBool = AtomicBool::new(false);
static LARGEST: AtomicUsize = AtomicUsize::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST_HELD: AtomicUsize = AtomicUsize::new(0);

impl Counting {
    fn took(size: usize) {
        // Wrapping, so that what was there before the measurement and is freed during it does no harm.
        let held = HELD.fetch_add(size, Relaxed).wrapping_add(size);
        if MEASURING.load(Relaxed) {
            LARGEST.fetch_max(size, Relaxed);
            MOST_HELD.fetch_max(held, Relaxed);
        }
    }
}

// SAFETY: every call is passed on to `System` unchanged; the counters do not touch the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::took(layout.size());
        // SAFETY: the caller's promise about `layout` is the one that `System` asks for.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::took(layout.size());
        // SAFETY: as for `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::took(size);
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `pointer` came from `System` with this `layout`; `size` is the caller's promise.
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `pointer` came from `System` with this `layout`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// One test at a time: the counters are those of the process.
pub static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// What `f` gives, the largest single allocation that it made, and the most that it held at once, in bytes.
pub fn measured<T>(f: impl FnOnce() -> T) -> (T, usize, usize) {
    let before = HELD.load(Relaxed);
    LARGEST.store(0, Relaxed);
    MOST_HELD.store(before, Relaxed);
    MEASURING.store(true, Relaxed);
    let result = f();
    MEASURING.store(false, Relaxed);
    (result, LARGEST.load(Relaxed), MOST_HELD.load(Relaxed).saturating_sub(before))
}
