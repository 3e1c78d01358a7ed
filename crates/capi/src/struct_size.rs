//! Extensible structures. The first member is the size of the structure in the caller's version. A caller of an earlier version has fewer
//! members: the missing ones have their defaults when the structure is read, and are not written.

use std::mem::MaybeUninit;

use lanefield::reference::ensure;

use crate::status::{Failure, Outcome};

/// A structure of C whose first member is its `size`.
pub trait Growing: Copy {
    /// Its name in messages.
    const NAME: &'static str;
}

/// The number of bytes that the caller's structure has.
///
/// # Safety
/// `there` is null, or a structure whose first member is its size.
unsafe fn known<T: Growing>(there: *const T) -> Outcome<usize> {
    ensure!(!there.is_null(), Failure::argument(format!("the {} is a null pointer", T::NAME)));
    // SAFETY: the caller's promise: `size` is the first member.
    let size = unsafe { there.cast::<usize>().read_unaligned() };
    // If the size is far beyond that of any version, the member was not set.
    match size {
        _ if size < size_of::<usize>() || size > 1 << 16 => Err(Failure::argument(format!(
            "size of the {} is {size}: set it to sizeof({}) before the call",
            T::NAME,
            T::NAME
        ))),
        _ => Ok(size.min(size_of::<T>())),
    }
}

/// Writes the members that the caller's version has; `size` is unchanged.
///
/// # Safety
/// `there` is null, or a structure whose first member is its size.
pub unsafe fn put_sized<T: Growing>(there: *mut T, value: T) -> Outcome<()> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { known(there) }?;
    let (skip, from) = (size_of::<usize>(), std::ptr::from_ref(&value).cast::<u8>());
    // SAFETY: the caller has `bytes` bytes, and so has `value`.
    unsafe { std::ptr::copy_nonoverlapping(from.add(skip), there.cast::<u8>().add(skip), bytes - skip) };
    Ok(())
}

/// Reads the members that the caller's version has; none if the pointer is null. Others are zero, which means the default.
///
/// # Safety
/// As [`put_sized`]; any bytes are a valid value of the structure.
pub unsafe fn get_sized<T: Growing>(there: *const T) -> Outcome<T> {
    // SAFETY: the caller's promise.
    let bytes = if there.is_null() { 0 } else { unsafe { known(there) }? };
    let mut read = MaybeUninit::<T>::zeroed();
    // SAFETY: the caller has `bytes` bytes, and so has `read`; any bytes are a value.
    unsafe {
        std::ptr::copy_nonoverlapping(there.cast::<u8>(), read.as_mut_ptr().cast(), bytes);
        Ok(read.assume_init())
    }
}

/// Checks that a structure can be written.
///
/// # Safety
/// As [`put_sized`].
pub unsafe fn check_sized<T: Growing>(there: *const T) -> Outcome<()> {
    // SAFETY: the caller's promise.
    unsafe { known(there) }.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Now {
        size: usize,
        first: u64,
        second: u64,
    }

    impl Growing for Now {
        const NAME: &'static str = "now";
    }

    #[test]
    fn a_caller_of_an_earlier_version_keeps_what_lies_behind_its_structure() {
        let mut earlier = Now { size: 16, first: 1, second: 99 };
        let value = Now { size: 24, first: 7, second: 8 };
        // SAFETY: it is as large as it says, and larger.
        unsafe { put_sized(&raw mut earlier, value) }.unwrap();
        assert_eq!(earlier, Now { size: 16, first: 7, second: 99 });
        // SAFETY: likewise.
        let read = unsafe { get_sized(&raw const earlier) }.unwrap();
        assert_eq!(read, Now { size: 16, first: 7, second: 0 });
    }

    #[test]
    fn a_size_that_nobody_set_is_refused() {
        for size in [0, 3, usize::MAX] {
            let unset = Now { size, first: 0, second: 0 };
            // SAFETY: nothing is read beyond the size.
            let failure = unsafe { get_sized(&raw const unset) }.unwrap_err();
            assert!(failure.message.contains("sizeof(now)"), "{failure:?}");
        }
    }
}
