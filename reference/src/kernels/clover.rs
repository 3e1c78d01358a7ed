//! Products of the two Hermitian 6×6 blocks of a site with spinors, with and without a hop, on the CPU: `docs/arithmetic.md` §13 with `wide`
//! vectors. `clover_term.rs` computes the blocks. Counterpart: `cl/clover.cl`.

use super::checks::{check_like, check_place};
use super::hop::{Hop, HopFinish, HostHop, VectorPlace};
use super::with_vectors::LaneOperation;
use crate::field::{CloverBlocks, Field, FieldError, Spinors};
use crate::half::Half;
use crate::layout::LaneWidth;
use crate::links::LinkFormat;
use crate::real::Real;
use crate::tasks::{for_each_chunk, items_a_task};
use crate::tensor::spin::FullSpinor;
use crate::tensor::su3::{Factor, conj_madd, madd};
use crate::tensor::{InstructionSet, LaneVector, Task};

/// Floating-point operations of the product of blocks and a spinor, for a site: 12 rows, each a real times a complex number (2) and five complex
/// multiply-adds (8 each).
pub const FLOPS_PER_SITE: u64 = 504;

/// Ideal bytes of the product for a site: blocks and spinor are read once, the result is written once.
pub fn ideal_bytes_per_site(real_bytes: usize) -> u64 {
    (2 * (CloverBlocks::WORDS + 2 * Spinors::WORDS) * real_bytes) as u64
}

/// Ideal bytes of the inverse blocks times a hop for a site (1056 in f32 with reconstruct 18): those of the hop, and the blocks.
pub fn inverse_hop_bytes_per_site(format: LinkFormat, real_bytes: usize) -> u64 {
    super::hop::ideal_bytes_per_site(format, real_bytes) + (2 * CloverBlocks::WORDS * real_bytes) as u64
}

/// Ideal bytes of the blocks times a spinor minus a hop for a site (1152 in f32 with reconstruct 18): one more spinor.
pub fn minus_hop_bytes_per_site(format: LinkFormat, real_bytes: usize) -> u64 {
    inverse_hop_bytes_per_site(format, real_bytes) + (2 * Spinors::WORDS * real_bytes) as u64
}

/// out = blocks · x, for each spinor of a site.
///
/// # Errors
/// [`FieldError::Mismatch`] unless all are on the same sites of the same lattice, and x has as many spinors at a site as out.
pub fn clover_apply<R: Compiled>(
    out: &mut Field<R, Spinors>,
    blocks: &Field<R, CloverBlocks>,
    x: &Field<R, Spinors>,
) -> Result<(), FieldError> {
    check_place("the blocks to multiply with", blocks, out.lattice(), out.sites())?;
    check_like("a product with blocks", x, out)?;
    R::run_clover_apply(out.lattice().width(), Apply { out, blocks, x });
    Ok(())
}

/// out = `inverse` · hop: ψe = Mee⁻¹ Meo ψo, with the hop in registers.
///
/// # Errors
/// Those of [`super::hop::hop`], and [`FieldError::Mismatch`] unless the blocks are on the sites of `out`.
pub fn eo_clover<R: Compiled>(
    out: &mut Field<R, Spinors>,
    inverse: &Field<R, CloverBlocks>,
    hop: HostHop<'_, R>,
) -> Result<(), FieldError> {
    check_place("the blocks to multiply with", inverse, out.lattice(), out.sites())?;
    let hop = Hop::checked(out, hop)?;
    R::run_clover_hop(hop.fields.width(), CloverHop { hop, blocks: inverse, chi: None });
    Ok(())
}

/// out = `term` · χ − hop: χo = Moo χ − Moe ψe, with the hop in registers.
///
/// # Errors
/// Those of [`eo_clover`], and [`FieldError::Mismatch`] unless χ is like `out`.
pub fn oe_clover<R: Compiled>(
    out: &mut Field<R, Spinors>,
    term: &Field<R, CloverBlocks>,
    chi: &Field<R, Spinors>,
    hop: HostHop<'_, R>,
) -> Result<(), FieldError> {
    check_place("the blocks to multiply with", term, out.lattice(), out.sites())?;
    check_like("a product with blocks", chi, out)?;
    let hop = Hop::checked(out, hop)?;
    R::run_clover_hop(hop.fields.width(), CloverHop { hop, blocks: term, chi: Some(chi) });
    Ok(())
}

compiled! {
    fn run_clover_apply(width, Apply { out, blocks, x }) {
        let (blocks, x) = (blocks.as_f32(), x.as_f32());
        out.in_f32(|out| f32::run_clover_apply(width, Apply { out, blocks, x }));
    }
    fn run_clover_hop(width, CloverHop { hop: Hop { fields, dagger }, blocks, chi }) {
        let (blocks, chi) = (blocks.as_f32(), chi.map(Field::as_f32));
        fields.in_f32(|fields| f32::run_clover_hop(width, CloverHop { hop: Hop { fields, dagger }, blocks, chi }));
    }
}

/// A product whose fields have been checked.
#[doc(hidden)]
pub struct Apply<'a, R> {
    pub(super) out: &'a mut Field<R, Spinors>,
    pub(super) blocks: &'a Field<R, CloverBlocks>,
    pub(super) x: &'a Field<R, Spinors>,
}

impl<R: Real> LaneOperation<R> for Apply<'_, R> {
    type Output = ();

    fn run<V: LaneVector<Real = R>>(self, vectors: usize) {
        let Self { out, blocks, x } = self;
        let osites_a_task = items_a_task(x.osites());
        let (clover, parts) = (CloverWords::<V>::of(blocks, vectors), x.kind().count());
        let apply = ApplyTask { clover, x: CloverWords::of(x, vectors), parts, osites_a_task };
        let a_task = Spinors::WORDS * vectors * parts * osites_a_task;
        for_each_chunk(out.vectors_mut::<V>(), a_task, |task, out| V::Set::run(&apply, (task, out)));
    }
}

/// The product of blocks and spinors, with `parts` spinors at a site.
struct ApplyTask<'a, V> {
    clover: CloverWords<'a, V>,
    x: CloverWords<'a, V>,
    parts: usize,
    osites_a_task: usize,
}

impl<V: LaneVector> Task<(usize, &mut [V])> for ApplyTask<'_, V> {
    type Output = ();
    #[inline(always)]
    fn run(&self, (task, out): (usize, &mut [V])) {
        let Self { clover, x, parts, osites_a_task } = self;
        let vectors = x.vectors;
        for (k, out) in out.chunks_exact_mut(Spinors::WORDS * vectors).enumerate() {
            let (osite, spinor) = (task * osites_a_task + k / parts, task * osites_a_task * parts + k);
            for vector in 0..vectors {
                let y = times_blocks(clover.of_site(osite, vector), x.spinor(spinor, vector));
                super::hop::store(out, vectors, vector, y);
            }
        }
    }
}

/// A hop that is multiplied by blocks, or subtracted from blocks times χ.
#[doc(hidden)]
pub struct CloverHop<'a, R> {
    pub(super) hop: Hop<'a, R>,
    pub(super) blocks: &'a Field<R, CloverBlocks>,
    pub(super) chi: Option<&'a Field<R, Spinors>>,
}

impl<R: Real> LaneOperation<R> for CloverHop<'_, R> {
    type Output = ();

    fn run<V: LaneVector<Real = R>>(self, vectors: usize) {
        let Self { hop, blocks, chi } = self;
        let chi = chi.map(|chi| CloverWords::of(chi, vectors));
        let blocks = BlocksOfSum { clover: CloverWords::<V>::of(blocks, vectors), chi, parts: hop.parts() };
        hop.run_and::<V>(vectors, &blocks);
    }
}

/// Combines the hop with blocks: their product, or blocks times χ minus the hop. It is one type for both kernels, because the sum over legs, which
/// takes long to compile, is then compiled once.
struct BlocksOfSum<'a, V> {
    clover: CloverWords<'a, V>,
    chi: Option<CloverWords<'a, V>>,
    /// The number of spinors at a site.
    parts: usize,
}

impl<V: LaneVector> HopFinish<V> for BlocksOfSum<'_, V> {
    #[inline(always)]
    fn finish(&self, VectorPlace { osite, part, block }: VectorPlace, hop: FullSpinor<V>) -> FullSpinor<V> {
        let x = match &self.chi {
            Some(chi) => chi.spinor(osite * self.parts + part, block),
            None => hop,
        };
        let mut y = times_blocks(self.clover.of_site(osite, block), x);
        if self.chi.is_some() {
            for (y, hop) in y.as_flattened_mut().iter_mut().zip(hop.as_flattened()) {
                *y = y.sub(*hop);
            }
        }
        y
    }
}

/// The words of a field, of `vectors` vectors each.
struct CloverWords<'a, V> {
    all: &'a [V],
    vectors: usize,
}

impl<'a, V: LaneVector> CloverWords<'a, V> {
    fn of<K: crate::field::SiteObject>(field: &'a Field<V::Real, K>, vectors: usize) -> Self {
        Self { all: field.vectors(), vectors }
    }

    /// One vector of each word of the blocks of an outer site.
    #[inline(always)]
    fn of_site(&self, osite: usize, vector: usize) -> impl Fn(usize) -> V {
        let (words, vectors) = (CloverBlocks::WORDS * self.vectors, self.vectors);
        let site = &self.all[osite * words..][..words];
        move |word| site[word * vectors + vector]
    }

    #[inline(always)]
    fn spinor(&self, spinor: usize, vector: usize) -> FullSpinor<V> {
        let words = Spinors::WORDS * self.vectors;
        let all = &self.all[spinor * words..][..words];
        std::array::from_fn(|spin| std::array::from_fn(|colour| all[(3 * spin + colour) * self.vectors + vector]))
    }
}

/// Both blocks of `clover`, by word, times a spinor.
#[inline(always)]
fn times_blocks<V: LaneVector>(clover: impl Fn(usize) -> V, x: FullSpinor<V>) -> FullSpinor<V> {
    const ROWS: usize = 6;
    let mut y = x;
    for block in 0..CloverBlocks::PARTS {
        let word = |k: usize| clover(block * CloverBlocks::BLOCK_WORDS + k);
        let x: [V; ROWS] = std::array::from_fn(|i| x[2 * block + i / 3][i % 3]);
        let factors = x.map(Factor::new);
        for i in 0..ROWS {
            let pair = word(i / 2);
            let diagonal = if i % 2 == 0 { pair.real_parts() } else { pair.imaginary_parts() };
            let mut sum = diagonal.times(x[i]);
            for (j, &factor) in factors.iter().enumerate() {
                if i < j {
                    sum = madd(word(3 + CloverBlocks::upper(i, j)), factor, sum);
                } else if i > j {
                    sum = conj_madd(word(3 + CloverBlocks::upper(j, i)), factor, sum);
                }
            }
            y[2 * block + i / 3][i % 3] = sum;
        }
    }
    y
}
