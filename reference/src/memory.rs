//! Hints to the memory system, which change times and never results: huge pages for fields, prefetches for streams of neighbours.

/// Asks the system to back a large, freshly allocated slice with huge pages, so that kernels which read ten streams at once do not
/// wait for page tables. A refusal does no harm.
pub(crate) fn advise_huge_pages<T>(slice: &[T]) {
    /// Below this, huge pages gain nothing.
    const WORTHWHILE: usize = 4 << 20;
    #[cfg(target_os = "linux")]
    if size_of_val(slice) >= WORTHWHILE {
        const PAGE: usize = 4096;
        let range = slice.as_ptr_range();
        let start = range.start.addr().next_multiple_of(PAGE);
        let bytes = range.end.addr().saturating_sub(start);
        // SAFETY: the range lies within a live allocation, and this advice leaves its content as it is.
        unsafe { libc::madvise(start as *mut libc::c_void, bytes, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (slice, WORTHWHILE);
}

/// Asks for the cache lines of a slice that will be read soon.
#[inline(always)]
pub(crate) fn prefetch<T>(slice: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        const LINE: usize = 64;
        let start: *const i8 = slice.as_ptr().cast();
        for offset in (0..size_of_val(slice)).step_by(LINE) {
            // SAFETY: a prefetch reads nothing that a program could see, and the address lies within the slice.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(offset)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice;
}
