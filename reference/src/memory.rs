//! Hints to the memory system, which change times but no results: huge pages for fields, prefetches for streams of neighbours.

use std::alloc::Layout;

use bytemuck::Zeroable;

use crate::{domains, tasks};

/// `length` zeros, on huge pages if the system has them; `None` if there is not enough memory. Kernels read ten streams at once, and with small
/// pages would wait for page tables.
pub(crate) fn zeros<T: Zeroable>(length: usize) -> Option<Vec<T>> {
    let layout = Layout::array::<T>(length).ok()?;
    if layout.size() == 0 {
        return Some(Vec::new());
    }
    // SAFETY: the layout is of `length` Ts and not empty, so the memory can be handed to a Vec of that capacity; all of it is zeroed
    // before, which makes valid Ts. The advice, which must come before the first write, changes no content.
    unsafe {
        let start = std::alloc::alloc(layout);
        if start.is_null() {
            return None;
        }
        advise_huge_pages(start, layout.size());
        zero(start, layout.size());
        Some(Vec::from_raw_parts(start.cast(), length, length))
    }
}

/// Writes zeros, with each thread of the pool writing its part. So the system clears pages in parallel, and they are in the memory domain of the
/// thread.
///
/// # Safety
/// `start` must be an allocation of `bytes` bytes that nothing else uses.
unsafe fn zero(start: *mut u8, bytes: usize) {
    // Below this, waking the threads takes longer than it gains.
    let worthwhile = if domains::are_several(tasks::threads()) { 4 << 20 } else { 64 << 20 };
    if bytes < worthwhile {
        // SAFETY: as the caller promises.
        return unsafe { start.write_bytes(0, bytes) };
    }
    let address = start.expose_provenance();
    rayon::broadcast(|thread| {
        let [begin, end] = [thread.index(), thread.index() + 1].map(|part| bytes * part / thread.num_threads());
        // SAFETY: the parts do not overlap, and lie within the allocation, which outlives this call.
        unsafe { std::ptr::with_exposed_provenance_mut::<u8>(address + begin).write_bytes(0, end - begin) };
    });
}

/// Asks the system to back large, freshly allocated memory with huge pages. It does no harm if the system refuses.
fn advise_huge_pages(start: *mut u8, bytes: usize) {
    /// Below this size, huge pages gain nothing.
    const WORTHWHILE: usize = 4 << 20;
    #[cfg(all(target_os = "linux", not(miri)))]
    if bytes >= WORTHWHILE {
        const PAGE: usize = 4096;
        let skipped = start.addr().next_multiple_of(PAGE) - start.addr();
        // SAFETY: the range lies within the allocation, and this advice leaves its content as it is.
        unsafe { libc::madvise(start.add(skipped).cast(), bytes - skipped, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (start, bytes, WORTHWHILE);
}

/// The number of outer sites by which kernels prefetch ahead, by the size of a word: an outer site of narrow words takes less time than a memory
/// access.
#[inline(always)]
pub(crate) const fn outer_sites_ahead(word_bytes: usize) -> usize {
    if word_bytes < 64 { 64 / word_bytes } else { 1 }
}

/// The number of outer sites by which kernels prefetch links ahead into the second cache, by the size of the links of an outer site. It covers the
/// latency of memory, which is more than the first cache can hold.
#[inline(always)]
pub(crate) const fn links_ahead(bytes_an_osite: usize) -> usize {
    const FAR: usize = 16 << 10;
    FAR.div_ceil(bytes_an_osite)
}

/// Whether a result of `bytes` bytes is written past the caches. That is so if other streams would evict it before it is read again.
pub(crate) const fn is_past_caches(bytes: usize) -> bool {
    bytes >= 16 << 20
}

/// Orders stores past the caches before everything that follows.
#[inline(always)]
pub(crate) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: no operands, and every processor of this architecture has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// The size of the last cache for each thread of the current pool, as far as the system reports it. In a virtual machine, the reported cache may be
/// shared with other machines.
pub(crate) fn last_cache_of_a_thread() -> usize {
    /// The second cache of a common server core.
    const UNKNOWN: usize = 2 << 20;
    const MOST: usize = 48 << 20;
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: a question to the system, without pointers.
    let told = unsafe { libc::sysconf(libc::_SC_LEVEL3_CACHE_SIZE) };
    #[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
    let told = 0;
    usize::try_from(told).map_or(0, |bytes| bytes / tasks::threads()).clamp(UNKNOWN, MOST)
}

/// Prefetches the cache lines of a slice that will be read soon.
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

/// Prefetches for a stream that is read in order and has reached `here`: lines far ahead into the second cache, near ones into the first. Hardware
/// prefetchers stop at the end of a page. Call it once for each cache line.
#[inline(always)]
pub(crate) fn prefetch_stream<T>(here: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        const FAR: usize = 16 << 10;
        const NEAR: usize = 2 << 10;
        let here: *const i8 = std::ptr::from_ref(here).cast();
        // SAFETY: a prefetch reads nothing that a program could see; one of an address that is not mapped does nothing.
        unsafe {
            _mm_prefetch::<_MM_HINT_T1>(here.wrapping_add(FAR));
            _mm_prefetch::<_MM_HINT_T0>(here.wrapping_add(NEAR));
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = here;
}

/// Prefetches the cache lines of a slice that will be read after many others, into the second cache.
#[inline(always)]
pub(crate) fn prefetch_slice_far<T>(slice: &[T]) {
    const LINE: usize = 64;
    slice.iter().step_by((LINE / size_of::<T>()).max(1)).for_each(prefetch_far);
}

/// Prefetches a cache line that will be read after many others, into the second cache.
#[inline(always)]
pub(crate) fn prefetch_far<T>(there: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that a program could see, and the address is that of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(there).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = there;
}
