//! Fields in lane layout (array of structures of arrays): word `w` of lane `lane` of outer site `o` has the index `((o · words + w) · nsimd +
//! lane)`, in complex numbers. Fields are converted from and to site order (x fastest), which does not depend on lanes. If the lane layout is Grid's
//! default, the bytes are those of Grid's GPU layout at the same width.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};
use num_complex::Complex;
use thiserror::Error;

use crate::half::Half;
use crate::layout::{GhostSites, Lattice, LayoutError, Place, Sites};
use crate::memory;
use crate::real::{Precision, Real};
use crate::tasks::{for_each_chunk, items_a_task};

pub use crate::object::*;

/// An error of a field. Messages are fragments.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "the messages name the fields")]
#[non_exhaustive]
pub enum FieldError {
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error("a lattice of {lattice} lanes cannot hold a field of {field}")]
    Precision { lattice: &'static str, field: &'static str },
    #[error("a {object} field on {extents} has {needed} complex numbers in site order, not {given}")]
    Length { given: usize, needed: usize, object: &'static str, extents: String },
    #[error("a {object} without complex words cannot be a field: give it at least one")]
    NoWords { object: &'static str },
    #[error(
        "the {what} has {parts} components in all, but at most {most} are supported: use a smaller lattice, or fewer components of a site"
    )]
    TooLarge { what: String, parts: usize, most: usize },
    #[error("a {field} does not have right-hand sides {wanted:?} of {rhs_parts} components each")]
    RightHandSides { wanted: Vec<usize>, rhs_parts: usize, field: String },
    #[error(
        "no room for {bytes} bytes of {what} in the host's memory: use a smaller lattice, f32, or reconstruct 12 or 8"
    )]
    OutOfMemory { what: String, bytes: usize },
    #[error("reconstruct 8 needs links in SU(3): {why}; use reconstruct 18 or 12")]
    NotSu3 { why: String },
    #[error(transparent)]
    Links(#[from] LinkError),
    #[error("{what}: {left} does not match {right}")]
    Mismatch { what: &'static str, left: String, right: String },
}

/// 64 bytes, aligned to 64 bytes: the unit in which fields are stored.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Block([u64; 8]);

/// The shape of a field: everything but its numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FieldShape {
    /// Its lattice.
    pub lattice: Lattice,
    /// Its sites.
    pub sites: Sites,
    /// The object at each site.
    pub object: Object,
    /// How its numbers are stored.
    pub precision: Precision,
}

impl FieldShape {
    /// Number of outer sites.
    pub fn osites(&self) -> usize {
        self.lattice.osites(self.sites)
    }

    /// Number of sites.
    pub fn volume(&self) -> usize {
        self.osites() * self.lattice.nsimd()
    }

    /// The number of outer sites of the halo, which follow the field's own; 0 on a whole lattice.
    pub fn ghost_osites(&self) -> usize {
        let held = |reach| GhostSites::new(&self.lattice, self.sites).len(reach);
        self.object.reach().filter(|_| self.lattice.extents().is_part()).map_or(0, held)
    }

    /// The size of its own sites in a device's memory, in bytes.
    pub fn device_bytes(&self) -> usize {
        self.volume() * self.site_bytes()
    }

    /// The size in a device's memory, in bytes, including the halo.
    pub fn device_bytes_with_ghosts(&self) -> usize {
        (self.osites() + self.ghost_osites()) * self.lattice.nsimd() * self.site_bytes()
    }

    fn site_bytes(&self) -> usize {
        self.object.parts() * self.precision.device_bytes(self.object.part_words())
    }

    /// Refuses a shape that a field cannot have, on a host or on a device.
    pub fn check(&self) -> Result<(), FieldError> {
        let Self { lattice, sites, object, precision } = self;
        check_precision(lattice, *sites, *object, *precision)
    }

    /// For example `f32 spinor field on 4.4.4.8, even sites, 64-byte lanes, lane layout 1.1.2.4`.
    pub fn describe(&self) -> String {
        let Self { lattice, sites, object, precision } = self;
        let (name, extents, width, nodes) = (object.name(), lattice.extents(), lattice.width(), lattice.nodes());
        let count = if object.parts() == 1 { String::new() } else { format!("{} ", object.parts()) };
        format!("{precision} {count}{name} field on {extents}, {sites} sites, {width}-byte lanes, lane layout {nodes}")
    }
}

/// A field of precision `R` in lane layout, whose site object is known at run time. Backends, and kernels that accept any object, use a [`Field`] in
/// this form.
#[derive(Clone)]
#[repr(C)]
pub struct FieldData<R> {
    lattice: Lattice,
    sites: Sites,
    object: Object,
    /// The number of reals of its own sites. Those of the halo follow.
    reals: usize,
    ghost_reals: usize,
    blocks: Vec<Block>,
    precision: PhantomData<R>,
}

/// A field with `K` objects of precision `R`, in lane layout.
#[derive(Clone)]
#[repr(transparent)]
pub struct Field<R, K> {
    data: FieldData<R>,
    kind: PhantomData<K>,
}

impl<R: Real> FieldData<R> {
    /// A field of zeros.
    ///
    /// # Errors
    /// The errors of [`check`], and [`FieldError::OutOfMemory`].
    pub fn zeros(lattice: Lattice, sites: Sites, object: Object) -> Result<Self, FieldError> {
        check::<R>(&lattice, sites, object)?;
        let shape = FieldShape { lattice, sites, object, precision: R::PRECISION };
        let reals_of = |osites: usize| osites * object.words() * lattice.nsimd() * 2;
        let (reals, ghost_reals) = (reals_of(shape.osites()), reals_of(shape.ghost_osites()));
        let bytes = (reals + ghost_reals) * size_of::<R>();
        let blocks = memory::zeros(bytes.div_ceil(size_of::<Block>()))
            .ok_or_else(|| FieldError::OutOfMemory { what: describe::<R>(&lattice, sites, object), bytes })?;
        Ok(Self { lattice, sites, object, reals, ghost_reals, blocks, precision: PhantomData })
    }

    /// The field, if its objects are `K`.
    pub fn of<K: SiteObject>(&self) -> Option<&Field<R, K>> {
        K::of(self.object)?;
        // SAFETY: `Field` is a transparent wrapper of `FieldData`, beside a type without size; that the objects are `K`s was asked.
        Some(unsafe { &*std::ptr::from_ref(self).cast::<Field<R, K>>() })
    }

    /// As [`Self::of`], for writing.
    pub fn of_mut<K: SiteObject>(&mut self) -> Option<&mut Field<R, K>> {
        K::of(self.object)?;
        // SAFETY: as in `of`.
        Some(unsafe { &mut *std::ptr::from_mut(self).cast::<Field<R, K>>() })
    }

    /// As [`Self::of`], by value.
    pub fn into_of<K: SiteObject>(self) -> Option<Field<R, K>> {
        K::of(self.object)?;
        Some(Field { data: self, kind: PhantomData })
    }

    /// Overwrites every site object with `fill`, as [`Self::from_sites`].
    pub(crate) fn overwrite(&mut self, fill: impl Fn(usize, &mut [Complex<R>]) + Sync) {
        let Self { lattice, sites, .. } = *self;
        self.write_places(|place, object| fill(lattice.extents().site(lattice.coordinate(sites, place)), object));
    }

    /// Overwrites every site object with `fill`, which receives its place and its words.
    pub(crate) fn write_places(&mut self, fill: impl Fn(Place, &mut [Complex<R>]) + Sync) {
        let (words, nsimd, osites_a_task) = (self.object.words(), self.lattice.nsimd(), items_a_task(self.osites()));
        for_each_chunk(self.words_mut(), words * nsimd * osites_a_task, |task, of_task| {
            let mut object = vec![Complex::new(R::default(), R::default()); words];
            for (osite, there) in (task * osites_a_task..).zip(of_task.chunks_exact_mut(words * nsimd)) {
                for lane in 0..nsimd {
                    fill(Place { osite, lane }, &mut object);
                    for (word, value) in object.iter().enumerate() {
                        there[word * nsimd + lane] = *value;
                    }
                }
            }
        });
        self.quantize();
    }

    /// Rounds the field to the values that its storage can hold ([`Real::quantize`]).
    pub fn quantize(&mut self) {
        let (a_part, nsimd) = (self.reals_a_part(), self.lattice.nsimd());
        R::quantize(self.reals_mut(), a_part, nsimd);
    }

    /// Copies values from an array in site order over the whole lattice, words fastest. Only those of the field's own sites are used.
    pub fn assign(&mut self, values: &[Complex<R>]) -> Result<(), FieldError> {
        let words = self.object.words();
        let needed = self.lattice.extents().volume() * words;
        if values.len() != needed {
            let extents = self.lattice.extents().to_string();
            return Err(FieldError::Length { given: values.len(), needed, object: self.object.name(), extents });
        }
        self.overwrite(|site, object| object.copy_from_slice(&values[site * words..][..words]));
        Ok(())
    }

    /// The field in site order over the whole lattice, words fastest. The other sites are zero.
    pub fn to_site_order(&self) -> Vec<Complex<R>> {
        let zero = Complex::new(R::default(), R::default());
        let mut values = vec![zero; self.lattice.extents().volume() * self.object.words()];
        self.put_into_site_order(&mut values);
        values
    }

    /// As [`Self::to_site_order`], or an error if there is not enough memory.
    pub fn try_to_site_order(&self) -> Result<Vec<Complex<R>>, FieldError> {
        let length = self.lattice.extents().volume() * self.object.words();
        let mut values = memory::zeros(length).ok_or_else(|| FieldError::OutOfMemory {
            what: format!("a {} in site order", self.describe()),
            bytes: length * size_of::<Complex<R>>(),
        })?;
        self.put_into_site_order(&mut values);
        Ok(values)
    }

    /// A copy, or an error if there is not enough memory.
    pub fn try_clone(&self) -> Result<Self, FieldError> {
        let what = || format!("a copy of a {}", self.describe());
        Ok(Self { blocks: list_of(what, self.blocks.len(), self.blocks.iter().copied())?, ..*self })
    }

    /// Writes the field into a list in site order over the whole lattice, words fastest. The list keeps its values on the other sites. If the list
    /// is shorter or longer than a field, only the sites that both have are written.
    pub fn put_into_site_order(&self, values: &mut [Complex<R>]) {
        let (words, nsimd, extents) = (self.object.words(), self.lattice.nsimd(), self.lattice.extents());
        let (field, sites) = (self.words(), extents.volume().min(values.len() / words));
        let sites_a_task = items_a_task(sites);
        for_each_chunk(&mut values[..sites * words], words * sites_a_task, |task, objects| {
            for (site, object) in (task * sites_a_task..).zip(objects.chunks_exact_mut(words)) {
                let coordinate = extents.coordinate(site);
                if self.sites.contain(coordinate) {
                    let Place { osite, lane } = self.lattice.place(self.sites, coordinate);
                    for (w, value) in object.iter_mut().enumerate() {
                        *value = field[(osite * words + w) * nsimd + lane];
                    }
                }
            }
        });
    }

    /// The lattice of the field.
    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// The sites of the field.
    pub fn sites(&self) -> Sites {
        self.sites
    }

    /// The shape of the field: everything but its numbers.
    pub fn shape(&self) -> FieldShape {
        let Self { lattice, sites, object, .. } = *self;
        FieldShape { lattice, sites, object, precision: R::PRECISION }
    }

    /// The object at each site.
    pub fn object(&self) -> Object {
        self.object
    }

    /// Number of outer sites.
    pub fn osites(&self) -> usize {
        self.lattice.osites(self.sites)
    }

    /// Number of reals of one component of an outer site.
    pub fn reals_a_part(&self) -> usize {
        self.reals_an_osite() / self.object.parts()
    }

    /// Number of reals of one outer site: twice the words times the lanes.
    pub fn reals_an_osite(&self) -> usize {
        2 * self.object.words() * self.lattice.nsimd()
    }

    /// The reals of the field, in the order of memory.
    pub fn reals(&self) -> &[R] {
        &bytemuck::cast_slice(&self.blocks)[..self.reals]
    }

    /// As [`Self::reals`], followed by the halo, for kernels that read neighbours.
    pub fn reals_with_ghosts(&self) -> &[R] {
        &bytemuck::cast_slice(&self.blocks)[..self.reals + self.ghost_reals]
    }

    /// The complex words of the halo, outer site by outer site, for writing.
    pub fn ghosts_mut(&mut self) -> &mut [Complex<R>] {
        let reals: &mut [R] = bytemuck::cast_slice_mut(&mut self.blocks);
        bytemuck::cast_slice_mut(&mut reals[self.reals..self.reals + self.ghost_reals])
    }

    /// The reals of the field in the order of memory, for writing.
    pub fn reals_mut(&mut self) -> &mut [R] {
        &mut bytemuck::cast_slice_mut(&mut self.blocks)[..self.reals]
    }

    /// The field in the order of memory, as vectors of a type that divides it, such as a `wide` type or an array of them.
    ///
    /// # Panics
    /// If the size of the field is not a multiple of that of `V`.
    pub fn vectors<V: Pod>(&self) -> &[V] {
        bytemuck::cast_slice(self.reals())
    }

    /// As [`Self::vectors`], followed by the halo.
    ///
    /// # Panics
    /// Those of [`Self::vectors`].
    pub fn vectors_with_ghosts<V: Pod>(&self) -> &[V] {
        bytemuck::cast_slice(self.reals_with_ghosts())
    }

    /// As [`Self::vectors`], for writing.
    ///
    /// # Panics
    /// If the size of the field is not a multiple of that of `V`.
    pub fn vectors_mut<V: Pod>(&mut self) -> &mut [V] {
        bytemuck::cast_slice_mut(self.reals_mut())
    }

    /// The complex words of the field, in the order of memory.
    pub fn words(&self) -> &[Complex<R>] {
        bytemuck::cast_slice(self.reals())
    }

    /// The complex words of the field in the order of memory, for writing.
    pub fn words_mut(&mut self) -> &mut [Complex<R>] {
        bytemuck::cast_slice_mut(self.reals_mut())
    }

    /// For example "f32 spinor field on 4.4.4.8, even sites, 64-byte lanes".
    pub fn describe(&self) -> String {
        describe::<R>(&self.lattice, self.sites, self.object)
    }
}

impl<R: Real, K: SiteObject> Field<R, K> {
    /// A field of zeros.
    ///
    /// # Errors
    /// The errors of [`check`], and [`FieldError::OutOfMemory`].
    pub fn zeros(lattice: Lattice, sites: Sites, kind: K) -> Result<Self, FieldError> {
        Ok(Self { data: FieldData::zeros(lattice, sites, kind.object())?, kind: PhantomData })
    }

    /// The object at each site.
    pub fn kind(&self) -> K {
        match K::of(self.data.object) {
            Some(kind) => kind,
            None => unreachable!("a field holds the objects that it was made for"),
        }
    }

    /// The field without the type of its objects.
    pub fn into_data(self) -> FieldData<R> {
        self.data
    }

    /// A field whose site objects are written by `fill(number of the site, words of the site)`, in parallel.
    pub fn from_sites(
        lattice: Lattice,
        sites: Sites,
        kind: K,
        fill: impl Fn(usize, &mut [Complex<R>]) + Sync,
    ) -> Result<Self, FieldError> {
        let mut field = Self::zeros(lattice, sites, kind)?;
        field.overwrite(fill);
        Ok(field)
    }

    /// A field from an array in site order over the whole lattice, words fastest. A field of one parity uses only its own sites.
    ///
    /// # Errors
    /// The errors of [`Self::zeros`], and [`FieldError::Length`].
    pub fn from_site_order(lattice: Lattice, sites: Sites, kind: K, values: &[Complex<R>]) -> Result<Self, FieldError> {
        let mut field = Self::zeros(lattice, sites, kind)?;
        field.assign(values)?;
        Ok(field)
    }

    /// The field in another precision (rounded to nearest even) and another lane layout of the same extents.
    ///
    /// # Errors
    /// [`FieldError::Mismatch`] if the extents differ, and the errors of [`Self::zeros`].
    pub fn convert<S: Real>(&self, lattice: Lattice) -> Result<Field<S, K>, FieldError> {
        if lattice.extents() != self.data.lattice.extents() {
            return Err(FieldError::Mismatch {
                what: "converting a field",
                left: self.data.lattice.extents().to_string(),
                right: lattice.extents().to_string(),
            });
        }
        let (words, nsimd, extents) = (self.object().words(), self.data.lattice.nsimd(), self.data.lattice.extents());
        let field = self.words();
        Field::from_sites(lattice, self.data.sites, self.kind(), |site, object| {
            let Place { osite, lane } = self.data.lattice.place(self.data.sites, extents.coordinate(site));
            for (w, value) in object.iter_mut().enumerate() {
                let c = field[(osite * words + w) * nsimd + lane];
                *value = Complex::new(S::from_f64(c.re.to_f64()), S::from_f64(c.im.to_f64()));
            }
        })
    }
}

impl<R, K> Deref for Field<R, K> {
    type Target = FieldData<R>;
    fn deref(&self) -> &FieldData<R> {
        &self.data
    }
}

impl<R, K> DerefMut for Field<R, K> {
    fn deref_mut(&mut self) -> &mut FieldData<R> {
        &mut self.data
    }
}

impl<K: SiteObject> Field<Half, K> {
    /// The same numbers in f32.
    pub fn as_f32(&self) -> &Field<f32, K> {
        // SAFETY: a transparent wrapper of what `FieldData::as_f32` may see so.
        unsafe { &*std::ptr::from_ref(self).cast::<Field<f32, K>>() }
    }

    /// Runs an f32 kernel that writes the field, and rounds the result.
    pub(crate) fn in_f32(&mut self, kernel: impl FnOnce(&mut Field<f32, K>)) {
        // SAFETY: as in `as_f32`.
        kernel(unsafe { &mut *std::ptr::from_mut(self).cast::<Field<f32, K>>() });
        self.quantize();
    }
}

/// Refuses a shape that a field cannot have, on a host or on a device.
///
/// # Errors
/// [`FieldError::Precision`] if the lattice's lanes do not have the precision `R`; [`LayoutError::NotRedBlack`] if it has no parities;
/// [`FieldError::NoWords`]; [`FieldError::TooLarge`].
pub fn check<R: Real>(lattice: &Lattice, sites: Sites, object: Object) -> Result<(), FieldError> {
    check_precision(lattice, sites, object, R::PRECISION)
}

fn check_precision(lattice: &Lattice, sites: Sites, object: Object, precision: Precision) -> Result<(), FieldError> {
    /// Kernels number the lanes of components with 32 bits, and do arithmetic with these numbers.
    const MOST: usize = i32::MAX as usize;
    lattice.check(sites)?;
    if lattice.scalar() != precision.scalar() {
        return Err(FieldError::Precision { lattice: lattice.scalar().name(), field: precision.scalar().name() });
    }
    if object.words() == 0 {
        return Err(FieldError::NoWords { object: object.name() });
    }
    let parts = (lattice.osites(sites) * lattice.nsimd()).saturating_mul(object.parts());
    if parts > MOST {
        let shape = FieldShape { lattice: *lattice, sites, object, precision };
        return Err(FieldError::TooLarge { what: shape.describe(), parts, most: MOST });
    }
    Ok(())
}

/// The first `length` items as a list, or an error if there is not enough memory; `what` describes the list in the error.
pub fn list_of<T>(
    what: impl FnOnce() -> String,
    length: usize,
    items: impl IntoIterator<Item = T>,
) -> Result<Vec<T>, FieldError> {
    let mut list = Vec::new();
    let reserved = list.try_reserve_exact(length);
    reserved.map_err(|_| FieldError::OutOfMemory { what: what(), bytes: length.saturating_mul(size_of::<T>()) })?;
    list.extend(items.into_iter().take(length));
    Ok(list)
}

/// A line about a field in precision `R`, for error messages.
pub fn describe<R: Real>(lattice: &Lattice, sites: Sites, object: Object) -> String {
    FieldShape { lattice: *lattice, sites, object, precision: R::PRECISION }.describe()
}

impl<R: Real> fmt::Debug for FieldData<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl<R: Real, K: SiteObject> fmt::Debug for Field<R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}
