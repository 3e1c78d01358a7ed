//! The Wilson hop (Grid's Dhop) on the CPU: `docs/arithmetic.md` §6 on `wide` vectors, one outer site after the other, rayon tasks of
//! neighbouring outer sites. Counterpart: `cl/hop.cl`.

use rayon::prelude::*;

use super::{LaneOperation, Vectors, check_place, osites_a_task};
use crate::field::{Field, FieldError, Spinor};
use crate::layout::{LEGS, Leg, LegOrder, Stencil};
use crate::links::{DoubledGauge, LinkFormat};
use crate::memory::prefetch;
use crate::real::Real;
use crate::tensor::LaneVector;
use crate::tensor::spin::{FullSpinor, accumulate, project, reconstruct};
use crate::tensor::su3::{HalfSpinor, link_times_half_spinor, third_row};

/// Whether an operator or its Hermitian conjugate is applied.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dagger {
    /// The operator.
    No,
    /// Its Hermitian conjugate.
    Yes,
}

impl Dagger {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::No, Self::Yes];
}

/// Floating-point operations a site, as Grid and QUDA count them: 8 legs of 2 matrix-vector products (66), projections (12),
/// and 7 sums of spinors (24).
pub const FLOPS_PER_SITE: u64 = 1320;

/// Bytes a site that have to be moved at least: each input read once, the output written once.
pub fn ideal_bytes_per_site(format: LinkFormat, real_bytes: usize) -> u64 {
    ((LEGS * format.reals() + 2 * 2 * Spinor::WORDS) * real_bytes) as u64
}

/// out = hop(source) at the stencil's sites.
///
/// # Errors
/// [`FieldError::Mismatch`] unless `links` and `out` lie on the stencil's lattice and sites, and `source` on the sites of their
/// neighbours.
pub fn hop<R: Vectors>(
    out: &mut Field<R, Spinor>,
    stencil: &Stencil,
    links: &Field<R, DoubledGauge>,
    source: &Field<R, Spinor>,
    legs: LegOrder,
    dagger: Dagger,
) -> Result<(), FieldError> {
    let (lattice, sites) = (stencil.lattice(), stencil.sites());
    check_place("the hop's links", links, lattice, sites)?;
    check_place("the hop's result", out, lattice, sites)?;
    check_place("the hop's source", source, lattice, sites.neighbours())?;
    R::with_vectors(lattice.width(), Hop { out, stencil, links, source, legs, dagger });
    Ok(())
}

struct Hop<'a, R> {
    out: &'a mut Field<R, Spinor>,
    stencil: &'a Stencil,
    links: &'a Field<R, DoubledGauge>,
    source: &'a Field<R, Spinor>,
    legs: LegOrder,
    dagger: Dagger,
}

impl<R: Vectors> LaneOperation<R> for Hop<'_, R> {
    type Output = ();

    fn run<V: LaneVector<Real = R>, const BLOCKS: usize>(self) {
        match (self.links.kind().format, self.dagger) {
            (LinkFormat::Full, Dagger::No) => self.sweep::<V, BLOCKS, false, false>(),
            (LinkFormat::Full, Dagger::Yes) => self.sweep::<V, BLOCKS, false, true>(),
            (LinkFormat::TwoRows, Dagger::No) => self.sweep::<V, BLOCKS, true, false>(),
            (LinkFormat::TwoRows, Dagger::Yes) => self.sweep::<V, BLOCKS, true, true>(),
        }
    }
}

/// A word of a field: `BLOCKS` vectors.
type Word<V, const BLOCKS: usize> = [V; BLOCKS];

impl<R: Vectors> Hop<'_, R> {
    fn sweep<V: LaneVector<Real = R>, const BLOCKS: usize, const TWO_ROWS: bool, const DAGGER: bool>(self) {
        let edges: [Edge<V, BLOCKS>; LEGS] =
            std::array::from_fn(|point| Edge::new(self.stencil, point, self.links.kind()));
        let site = Sweep::<V, BLOCKS, TWO_ROWS, DAGGER> {
            neighbours: self.stencil.neighbours(),
            edges: &edges,
            links: self.links.vectors(),
            source: self.source.vectors(),
            interior_factor: signed_factor(|_| false),
        };
        let legs = self.legs;
        let osites_a_task = osites_a_task(self.stencil.osites());
        self.out.vectors_mut::<Word<V, BLOCKS>>().par_chunks_mut(Spinor::WORDS * osites_a_task).enumerate().for_each(
            |(task, out)| {
                for (k, out) in out.chunks_exact_mut(Spinor::WORDS).enumerate() {
                    let osite = task * osites_a_task + k;
                    for block in 0..BLOCKS {
                        let sum = match legs == LegOrder::DEFAULT {
                            true => site.default_legs(osite, block),
                            false => site.any_legs(osite, block, legs),
                        };
                        for (word, value) in out.iter_mut().zip(sum.as_flattened()) {
                            word[block] = *value;
                        }
                    }
                }
            },
        );
    }
}

/// (f, −f) in every lane, with f = −2, or +2 where the rebuilt row belongs to a link with phase −1.
fn signed_factor<V: LaneVector>(minus: impl Fn(usize) -> bool) -> V {
    let two = V::Real::from_f64(2.0);
    V::from_reals(|k| if minus(k / 2) != (k % 2 == 1) { two } else { -two })
}

/// What a leg needs at outer sites from which it leaves the virtual node.
struct Edge<V: LaneVector, const BLOCKS: usize> {
    /// Positions of the neighbour's reals within its word.
    positions: Vec<u32>,
    /// The same as a permutation, where a word is one vector.
    permutation: Option<V::Permutation>,
    /// Factors of a rebuilt third row.
    factor: [V; BLOCKS],
}

impl<V: LaneVector, const BLOCKS: usize> Edge<V, BLOCKS> {
    fn new(stencil: &Stencil, point: usize, links: DoubledGauge) -> Self {
        let nsimd = stencil.lattice().nsimd();
        let steps = &stencil.lane_steps()[point * nsimd..][..nsimd];
        let positions: Vec<u32> = (0..2 * nsimd).map(|k| 2 * (steps[k / 2] & !Stencil::MARK) + k as u32 % 2).collect();
        let antiperiodic = links.boundary.is_antiperiodic(point % (LEGS / 2));
        Self {
            permutation: (BLOCKS == 1).then(|| V::permutation(&positions)),
            positions,
            factor: std::array::from_fn(|block| {
                signed_factor(|k| antiperiodic && steps[block * V::REALS / 2 + k] & Stencil::MARK != 0)
            }),
        }
    }

    /// One block of a neighbour's word, with its lanes in their places.
    #[inline(always)]
    fn permuted(&self, word: &Word<V, BLOCKS>, block: usize) -> V {
        match &self.permutation {
            Some(permutation) => word[0].permute(permutation),
            None => {
                let reals: &[V::Real] = bytemuck::cast_slice(word);
                V::from_reals(|k| reals[self.positions[block * V::REALS + k] as usize])
            }
        }
    }
}

/// All that the sum over the legs at one outer site reads.
struct Sweep<'a, V: LaneVector, const BLOCKS: usize, const TWO_ROWS: bool, const DAGGER: bool> {
    neighbours: &'a [u32],
    edges: &'a [Edge<V, BLOCKS>; LEGS],
    links: &'a [Word<V, BLOCKS>],
    source: &'a [Word<V, BLOCKS>],
    interior_factor: V,
}

/// Runs `$leg::<DIMENSION, PLUS>(arguments)` for a point known when the program runs. Forward legs project with 1 − γ, backward ones with
/// 1 + γ, and the other way round with dagger.
macro_rules! with_leg {
    ($self:ident.$leg:ident($point:expr, $($argument:expr),*)) => {
        match ($point, DAGGER) {
            (0, false) | (4, true) => $self.$leg::<0, false>($point, $($argument),*),
            (1, false) | (5, true) => $self.$leg::<1, false>($point, $($argument),*),
            (2, false) | (6, true) => $self.$leg::<2, false>($point, $($argument),*),
            (3, false) | (7, true) => $self.$leg::<3, false>($point, $($argument),*),
            (0, true) | (4, false) => $self.$leg::<0, true>($point, $($argument),*),
            (1, true) | (5, false) => $self.$leg::<1, true>($point, $($argument),*),
            (2, true) | (6, false) => $self.$leg::<2, true>($point, $($argument),*),
            _ => $self.$leg::<3, true>($point, $($argument),*),
        }
    };
}

impl<V: LaneVector, const BLOCKS: usize, const TWO_ROWS: bool, const DAGGER: bool>
    Sweep<'_, V, BLOCKS, TWO_ROWS, DAGGER>
{
    /// The sum over the legs in the default order, unrolled.
    #[inline(always)]
    fn default_legs(&self, osite: usize, block: usize) -> FullSpinor<V> {
        const LEGS_IN_ORDER: [Leg; LEGS] = LegOrder::DEFAULT.legs();
        let mut sum = with_leg!(self.first(const { LEGS_IN_ORDER[0].point() }, osite, block));
        macro_rules! then {
            ($($k:literal)*) => {
                $(with_leg!(self.add(const { LEGS_IN_ORDER[$k].point() }, &mut sum, osite, block));)*
            };
        }
        then!(1 2 3 4 5 6 7);
        sum
    }

    /// The sum over the legs in any order.
    #[inline(always)]
    fn any_legs(&self, osite: usize, block: usize, legs: LegOrder) -> FullSpinor<V> {
        let [first, rest @ ..] = legs.legs();
        let mut sum = with_leg!(self.first(first.point(), osite, block));
        for leg in rest {
            with_leg!(self.add(leg.point(), &mut sum, osite, block));
        }
        sum
    }

    #[inline(always)]
    fn first<const DIMENSION: usize, const PLUS: bool>(
        &self,
        point: usize,
        osite: usize,
        block: usize,
    ) -> FullSpinor<V> {
        reconstruct::<V, DIMENSION, PLUS>(self.leg::<DIMENSION, PLUS>(point, osite, block))
    }

    #[inline(always)]
    fn add<const DIMENSION: usize, const PLUS: bool>(
        &self,
        point: usize,
        sum: &mut FullSpinor<V>,
        osite: usize,
        block: usize,
    ) {
        accumulate::<V, DIMENSION, PLUS>(sum, self.leg::<DIMENSION, PLUS>(point, osite, block));
    }

    /// Asks for what a leg of the next outer site will read: hardware prefetchers do not follow ten streams at once.
    #[inline(always)]
    fn prefetch(&self, osite: usize, point: usize) {
        let Some(entry) = self.neighbours.get(osite * LEGS + point) else { return };
        let neighbour = (entry & !Stencil::MARK) as usize * Spinor::WORDS;
        prefetch(&self.source[neighbour..][..Spinor::WORDS]);
        let words = if TWO_ROWS { 6 } else { 9 };
        prefetch(&self.links[(osite * LEGS + point) * words..][..words]);
    }

    /// The link of one leg times the projected neighbour.
    #[inline(always)]
    fn leg<const DIMENSION: usize, const PLUS: bool>(&self, point: usize, osite: usize, block: usize) -> HalfSpinor<V> {
        if block == 0 {
            self.prefetch(osite + 1, point);
        }
        let entry = self.neighbours[osite * LEGS + point];
        let neighbour = (entry & !Stencil::MARK) as usize;
        let psi: &[Word<V, BLOCKS>; Spinor::WORDS] = first_words(&self.source[neighbour * Spinor::WORDS..]);
        let at_edge = entry & Stencil::MARK != 0;
        let edge = &self.edges[point];
        let h = match at_edge {
            false => project::<V, DIMENSION, PLUS>(|spin, colour| psi[3 * spin + colour][block]),
            true => project::<V, DIMENSION, PLUS>(|spin, colour| edge.permuted(&psi[3 * spin + colour], block)),
        };
        if TWO_ROWS {
            let link: &[Word<V, BLOCKS>; 6] = first_words(&self.links[(osite * LEGS + point) * 6..]);
            let rows: [[V; 3]; 2] = std::array::from_fn(|row| std::array::from_fn(|c| link[3 * row + c][block]));
            let factor = if at_edge { edge.factor[block] } else { self.interior_factor };
            let third = third_row(rows[0], rows[1], factor);
            link_times_half_spinor(|row, column| if row < 2 { rows[row][column] } else { third[column] }, h)
        } else {
            let link: &[Word<V, BLOCKS>; 9] = first_words(&self.links[(osite * LEGS + point) * 9..]);
            link_times_half_spinor(|row, column| link[3 * row + column][block], h)
        }
    }
}

/// The first `N` of `words`: one bounds check for all of them.
#[inline(always)]
fn first_words<T, const N: usize>(words: &[T]) -> &[T; N] {
    words.first_chunk().expect("fields and tables were checked to lie on the same lattice")
}
