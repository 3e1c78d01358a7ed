//! Handles, texts and arrays from C. Except for callbacks, this is the only file that reads and writes through pointers.

use std::ffi::{CStr, c_char};
use std::path::PathBuf;

use bytemuck::Pod;
use lanefield::reference::ensure;
use lanefield::reference::layout::Extents;
use num_complex::Complex;

use crate::status::{Failure, Outcome};

/// The object of a handle.
///
/// # Safety
/// `handle` is null, or came from the library and was not freed.
pub unsafe fn handle<'a, T>(handle: *const T, name: &str) -> Outcome<&'a T> {
    // SAFETY: the caller's promise.
    unsafe { handle.as_ref() }.ok_or_else(|| null(name))
}

/// As [`handle`], mutably: nobody else may use it at the same time.
///
/// # Safety
/// As [`handle`].
pub unsafe fn handle_mut<'a, T>(handle: *mut T, name: &str) -> Outcome<&'a mut T> {
    // SAFETY: the caller's promise.
    unsafe { handle.as_mut() }.ok_or_else(|| null(name))
}

fn null(name: &str) -> Failure {
    Failure::argument(format!("{name} is a null pointer"))
}

/// Writes a result.
///
/// # Safety
/// `place` is null, or may be written.
pub unsafe fn put<T>(place: *mut T, value: T, name: &str) -> Outcome<()> {
    ensure!(!place.is_null(), null(name));
    // SAFETY: the caller's promise. What was there is not dropped: it may never have been written.
    unsafe { place.write(value) };
    Ok(())
}

/// Passes a new handle to the caller. Check with [`room`] that it can be written, before anything is created.
///
/// # Safety
/// As [`put`].
pub unsafe fn give<T>(place: *mut *mut T, value: T, name: &str) -> Outcome<()> {
    room(place, name)?;
    // SAFETY: the caller's promise.
    unsafe { put(place, Box::into_raw(Box::new(value)), name) }
}

/// Checks that a pointer for a result is not null.
pub fn room<T>(place: *mut T, name: &str) -> Outcome<()> {
    if place.is_null() { Err(null(name)) } else { Ok(()) }
}

/// Frees a handle; null is ignored.
///
/// # Safety
/// As [`handle`], and it is not used again.
pub unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: it came from `give`.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// A text; `None` if it is null.
///
/// # Safety
/// `text` is null, or ends in a zero byte.
pub unsafe fn text_or_none<'a>(text: *const c_char, name: &str) -> Outcome<Option<&'a str>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| Failure::argument(format!("{name} is not UTF-8: {}", text.to_string_lossy())))
}

/// A text.
///
/// # Safety
/// As [`text_or_none`].
pub unsafe fn text<'a>(text: *const c_char, name: &str) -> Outcome<&'a str> {
    // SAFETY: the caller's promise.
    unsafe { text_or_none(text, name) }?.ok_or_else(|| null(name))
}

/// The path of a file. On Unix its bytes are used unchanged.
///
/// # Safety
/// As [`text_or_none`].
pub unsafe fn path(path: *const c_char, name: &str) -> Outcome<PathBuf> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        ensure!(!path.is_null(), null(name));
        // SAFETY: the caller's promise.
        let bytes = unsafe { CStr::from_ptr(path) }.to_bytes();
        Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
    }
    #[cfg(not(unix))]
    {
        // SAFETY: the caller's promise.
        Ok(PathBuf::from(unsafe { text(path, name) }?))
    }
}

/// An array that is read. It may be null if its length is 0.
///
/// # Safety
/// `array` is null, or has `length` elements, which nobody writes at the same time.
pub unsafe fn array<'a, T: Pod>(array: *const T, length: usize, name: &str) -> Outcome<&'a [T]> {
    match (array.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(null(name)),
        _ if !array.is_aligned() => Err(Failure::argument(format!(
            "{name} is not aligned to {} bytes, as its numbers must be",
            align_of::<T>()
        ))),
        _ if length > isize::MAX as usize / size_of::<T>() => {
            Err(Failure::argument(format!("{name} is said to have {length} numbers, more than memory can hold")))
        }
        // SAFETY: the caller's promise; alignment and size were looked at.
        _ => Ok(unsafe { std::slice::from_raw_parts(array, length) }),
    }
}

/// Alternating real and imaginary parts as complex numbers.
pub fn complex<R: Pod>(reals: &[R]) -> &[Complex<R>] {
    bytemuck::cast_slice(reals)
}

/// Writes an array, which may be one that was read before.
///
/// # Safety
/// `to` is null, or has room for the values.
pub unsafe fn write<T: Pod>(to: *mut T, values: &[T], name: &str) -> Outcome<()> {
    if values.is_empty() {
        return Ok(());
    }
    room(to, name)?;
    ensure!(to.is_aligned(), Failure::argument(format!("{name} is not aligned to {} bytes", align_of::<T>())));
    // SAFETY: the caller's promise; `values` is memory of the library, so the two do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), to, values.len()) };
    Ok(())
}

/// A text in an array of fixed size, with a zero byte at its end. If it is too long, it is truncated between characters.
pub fn fixed_text<const N: usize>(text: &str) -> [c_char; N] {
    let mut cut = [0; N];
    let length = (0..N).rev().find(|&length| text.is_char_boundary(length)).unwrap_or(0);
    for (to, byte) in cut.iter_mut().zip(&text.as_bytes()[..length]) {
        *to = *byte as c_char;
    }
    cut
}

/// The extents of a lattice.
///
/// # Safety
/// `extents` is null, or has four numbers.
pub unsafe fn extents(extents: *const i32) -> Outcome<Extents> {
    // SAFETY: the caller's promise.
    let given: [i32; 4] = match unsafe { array(extents, 4, "extents") }? {
        &[x, y, z, t] => [x, y, z, t],
        _ => return Err(null("extents")),
    };
    let as_given = || given.map(|extent| extent.to_string()).join(".");
    let extents = given.map(|extent| usize::try_from(extent).unwrap_or(0));
    Extents::new(extents).map_err(|_| {
        let most = Extents::MAX_VOLUME;
        Failure::argument(format!(
            "invalid extents {}: expected four numbers of at least 1, at most {most} sites",
            as_given()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_is_cut_between_characters() {
        let cut = fixed_text::<8>("ääää");
        let bytes = cut.map(|c| c as u8);
        assert_eq!(&bytes, b"\xc3\xa4\xc3\xa4\xc3\xa4\0\0");
        assert_eq!(fixed_text::<4>("gpu").map(|c| c as u8), *b"gpu\0");
    }

    #[test]
    fn arrays_that_cannot_be_are_refused() {
        let number = 1.0f64;
        // SAFETY: none of these is read.
        unsafe {
            assert!(array(std::ptr::null::<f64>(), 3, "x").unwrap_err().message.contains("x is a null pointer"));
            assert!(array(std::ptr::null::<f64>(), 0, "x").unwrap().is_empty());
            let odd = (&raw const number).cast::<u8>().wrapping_add(1).cast::<f64>();
            assert!(array(odd, 1, "x").unwrap_err().message.contains("not aligned"));
            assert!(array(&raw const number, usize::MAX, "x").unwrap_err().message.contains("more than memory"));
            for bad in [[4, 4, 4, 0], [4, -1, 4, 4], [i32::MAX; 4]] {
                assert!(extents(bad.as_ptr()).unwrap_err().message.contains("invalid extents"));
            }
        }
    }
}
