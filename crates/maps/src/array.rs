//! Arrays of 1 to 6 dimensions on a backend, row by row: the last dimension is the fastest.

use std::fmt;
use std::marker::PhantomData;

use lanefield::backend::BackendError;
use lanefield::body::dialect::Dialect;
use lanefield::body::program::Kind;

use super::error::MapError;
use super::point::Element;
use super::role::MOST_DIMENSIONS;

/// Where an array is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Storage {
    /// Device memory.
    #[default]
    Global,
    /// Host memory that the device can access, pinned if the memories are separate. Kernels access it more slowly, but the host needs no copy.
    PinnedHost,
}

/// Memory for arrays on a backend.
pub trait MapMemory {
    /// Storage for the numbers of an array.
    type Numbers: fmt::Debug;

    /// Allocates memory for `elements` numbers, all zero.
    ///
    /// # Errors
    /// Errors of the backend, as for every function of this trait.
    fn zero_numbers(
        &self,
        kind: Kind,
        elements: usize,
        storage: Storage,
        what: &str,
    ) -> Result<Self::Numbers, BackendError>;
    /// Copies all bytes from the host.
    fn write_numbers(&self, numbers: &mut Self::Numbers, bytes: &[u8]) -> Result<(), BackendError>;
    /// Copies all bytes to the host.
    fn read_numbers(&self, numbers: &Self::Numbers, bytes: &mut [u8]) -> Result<(), BackendError>;
}

/// An array of a backend.
#[derive(Debug)]
pub struct ArrayOn<B: MapMemory + ?Sized, T, const D: usize> {
    numbers: B::Numbers,
    extents: [usize; D],
    /// Elements from the start of one row to the start of the next.
    pitch: usize,
    storage: Storage,
    holds: PhantomData<T>,
}

impl<B: MapMemory + ?Sized, T: Element, const D: usize> ArrayOn<B, T, D> {
    /// An array of zeros.
    ///
    /// # Errors
    /// [`MapError::Extents`], and errors of the backend.
    pub fn zeros(backend: &B, extents: [usize; D], storage: Storage) -> Result<Self, MapError> {
        Self::padded(backend, extents, storage, size_of::<T>())
    }

    /// An array of zeros whose rows (along the last dimension) begin at multiples of `bytes`. Nothing reads the elements between two rows. All rows
    /// then have the same alignment, whatever their length. No bit of any result depends on it.
    ///
    /// # Errors
    /// [`MapError::Padding`] if `bytes` is not a multiple of the size of an element, and the errors of [`Self::zeros`].
    pub fn padded(backend: &B, extents: [usize; D], storage: Storage, bytes: usize) -> Result<Self, MapError> {
        const { assert!(1 <= D && D <= MOST_DIMENSIONS, "an array has 1 to 6 dimensions") };
        let element = size_of::<T>();
        if bytes == 0 || !bytes.is_multiple_of(element) {
            return Err(MapError::Padding { bytes, element });
        }
        let pitch = extents[D - 1].next_multiple_of(bytes / element);
        let what = format!("array {extents:?} of {}", Dialect::OpenCl.type_of(T::KIND));
        let elements = elements(&with_pitch(&extents, pitch))?;
        let numbers = backend.zero_numbers(T::KIND, elements, storage, &what)?;
        Ok(Self { numbers, extents, pitch, storage, holds: PhantomData })
    }

    /// An array with these numbers.
    ///
    /// # Errors
    /// [`MapError::Length`], and the errors of [`Self::zeros`].
    pub fn new(backend: &B, extents: [usize; D], storage: Storage, numbers: &[T]) -> Result<Self, MapError> {
        let mut array = Self::zeros(backend, extents, storage)?;
        array.write(backend, numbers)?;
        Ok(array)
    }

    /// The number of elements in each dimension.
    pub fn extents(&self) -> [usize; D] {
        self.extents
    }

    /// Elements from the start of one row to the start of the next: the last extent plus padding.
    pub fn pitch(&self) -> usize {
        self.pitch
    }

    /// Where the array is stored.
    pub fn storage(&self) -> Storage {
        self.storage
    }

    /// Copies numbers from the host.
    ///
    /// # Errors
    /// [`MapError::Length`], and errors of the backend.
    pub fn write(&mut self, backend: &B, numbers: &[T]) -> Result<(), MapError> {
        let expected = elements(&self.extents)?;
        if numbers.len() != expected {
            return Err(MapError::Length { given: numbers.len(), expected, extents: self.extents.to_vec() });
        }
        let row = self.extents[D - 1];
        if self.pitch == row || expected == 0 {
            return Ok(backend.write_numbers(&mut self.numbers, bytemuck::cast_slice(numbers))?);
        }
        let mut padded = vec![T::default(); expected / row * self.pitch];
        for (to, from) in padded.chunks_mut(self.pitch).zip(numbers.chunks(row)) {
            to[..row].copy_from_slice(from);
        }
        Ok(backend.write_numbers(&mut self.numbers, bytemuck::cast_slice(&padded))?)
    }

    /// Copies the numbers to the host.
    pub fn read(&self, backend: &B) -> Result<Vec<T>, MapError> {
        let mut numbers = vec![T::default(); elements(&with_pitch(&self.extents, self.pitch))?];
        backend.read_numbers(&self.numbers, bytemuck::cast_slice_mut(&mut numbers))?;
        let row = self.extents[D - 1];
        if self.pitch != row {
            numbers = numbers.chunks(self.pitch).flat_map(|padded| &padded[..row]).copied().collect();
        }
        Ok(numbers)
    }

    #[doc(hidden)]
    pub fn numbers(&self) -> &B::Numbers {
        &self.numbers
    }
}

/// The extents, with the pitch as the last one.
pub(super) fn with_pitch(extents: &[usize], pitch: usize) -> Vec<usize> {
    let mut extents = extents.to_vec();
    if let Some(row) = extents.last_mut() {
        *row = pitch;
    }
    extents
}

/// The number of elements of an array with these extents.
pub(super) fn elements(extents: &[usize]) -> Result<usize, MapError> {
    const MOST: u64 = i64::MAX as u64 / 8;
    let fits = extents.iter().all(|&extent| extent <= i32::MAX as usize);
    let product = extents.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent as u64));
    match product.filter(|&product| fits && product <= MOST).map(usize::try_from) {
        Some(Ok(elements)) => Ok(elements),
        _ => Err(MapError::Extents { what: "an array".to_owned(), extents: extents.to_vec(), most: MOST }),
    }
}
