//! The CPU kernels, one file a family, named as in `cl/`. Each runs on the `rayon` pool that it is called in; none of their results
//! depends on the number of threads, nor on the lane width.

pub mod blas;
mod blocks;
pub mod clover;
pub mod clover_term;
mod colour_vectors;
pub mod convert;
pub mod domain_wall;
mod half;
pub mod hop;
pub mod laplace;
pub mod reduce;
pub mod rhs;
pub mod staggered;

use num_complex::Complex;

use crate::exact::ExactSum;
use crate::field::{FieldData, FieldError, describe};
use crate::layout::{LaneWidth, Lattice, Sites};
use crate::real::Real;
use crate::tensor::LaneVector;

/// A kernel that is generic over the vector type of a lane width.
pub(crate) trait LaneOperation<R> {
    /// Its result.
    type Output;
    /// Runs with words made of `blocks` vectors `V` each.
    fn run<V: LaneVector<Real = R>>(self, blocks: usize) -> Self::Output;
}

/// The kernels of one precision, with the vectors of each lane width. They are methods of the two precisions, not generic functions,
/// so that they are compiled once, here, and not again in every crate that calls them.
pub trait Vectors: Real {
    #[doc(hidden)]
    fn run_hop(width: LaneWidth, hop: hop::Hop<'_, Self>);
    #[doc(hidden)]
    fn run_laplace_hop(width: LaneWidth, hop: laplace::LaplaceHop<'_, Self>);
    #[doc(hidden)]
    fn run_staggered_hop(width: LaneWidth, hop: staggered::StaggeredHop<'_, Self>);
    #[doc(hidden)]
    fn run_clover_apply(width: LaneWidth, apply: clover::Apply<'_, Self>);
    #[doc(hidden)]
    fn run_clover_hop(width: LaneWidth, hop: clover::CloverHop<'_, Self>);
    #[doc(hidden)]
    fn run_scale(width: LaneWidth, scale: blas::Scale<'_, Self>);
    #[doc(hidden)]
    fn run_axpy(width: LaneWidth, axpy: blas::Axpy<'_, Self>);
    #[doc(hidden)]
    fn run_axpby(width: LaneWidth, axpby: blas::Axpby<'_, Self>);
    #[doc(hidden)]
    fn run_axpy_norm(width: LaneWidth, axpy: blas::Axpy<'_, Self>) -> ExactSum;
    #[doc(hidden)]
    fn run_axpby_norm(width: LaneWidth, axpby: blas::Axpby<'_, Self>) -> ExactSum;
    #[doc(hidden)]
    fn run_complex_update(width: LaneWidth, update: blas::ComplexUpdate<'_, Self>);
    #[doc(hidden)]
    fn run_cg_update(width: LaneWidth, update: blas::CgUpdate<'_, Self>);
    #[doc(hidden)]
    fn run_norm2(width: LaneWidth, norm: reduce::Norm2<'_, Self>) -> ExactSum;
    #[doc(hidden)]
    fn run_inner_products(width: LaneWidth, products: reduce::InnerProducts<'_, Self>) -> Vec<[ExactSum; 2]>;
    #[doc(hidden)]
    fn run_tree_norm2(width: LaneWidth, norm: reduce::TreeNorm2<'_, Self>) -> f64;
    #[doc(hidden)]
    fn run_tree_inner_product(width: LaneWidth, product: reduce::TreeInnerProduct<'_, Self>) -> Complex<f64>;
    #[doc(hidden)]
    fn run_rhs_axpy(width: LaneWidth, axpy: rhs::RhsAxpy<'_, Self>);
    #[doc(hidden)]
    fn run_rhs_cg_update(width: LaneWidth, update: rhs::RhsCgUpdate<'_, Self>);
    #[doc(hidden)]
    fn run_rhs_products(width: LaneWidth, products: rhs::RhsProducts<'_, Self>) -> Vec<ExactSum>;
    #[doc(hidden)]
    fn run_s_multiply(width: LaneWidth, product: domain_wall::SMultiply<'_, Self>);
    #[doc(hidden)]
    fn run_word_sums(sums: reduce::WordSums<'_, Self>) -> reduce::PartialSums;
}

macro_rules! vectors {
    ($real:ty, $($bytes:literal)|+ => $narrow:ty, $($more:literal => $vector:ty),+; $widest:ty) => {
        const _: () = {
            fn with_vectors<O: LaneOperation<$real>>(width: LaneWidth, operation: O) -> O::Output {
                match width.bytes() {
                    $($bytes)|+ => operation.run::<$narrow>(1),
                    $($more => operation.run::<$vector>(1),)+
                    bytes => operation.run::<$widest>(bytes / size_of::<$widest>()),
                }
            }

            impl Vectors for $real {
                fn run_hop(width: LaneWidth, hop: hop::Hop<'_, Self>) {
                    with_vectors(width, hop);
                }
                fn run_laplace_hop(width: LaneWidth, hop: laplace::LaplaceHop<'_, Self>) {
                    with_vectors(width, hop);
                }
                fn run_staggered_hop(width: LaneWidth, hop: staggered::StaggeredHop<'_, Self>) {
                    with_vectors(width, hop);
                }
                fn run_clover_apply(width: LaneWidth, apply: clover::Apply<'_, Self>) {
                    with_vectors(width, apply);
                }
                fn run_clover_hop(width: LaneWidth, hop: clover::CloverHop<'_, Self>) {
                    with_vectors(width, hop);
                }
                fn run_scale(width: LaneWidth, scale: blas::Scale<'_, Self>) {
                    with_vectors(width, scale);
                }
                fn run_axpy(width: LaneWidth, axpy: blas::Axpy<'_, Self>) {
                    with_vectors(width, axpy);
                }
                fn run_axpby(width: LaneWidth, axpby: blas::Axpby<'_, Self>) {
                    with_vectors(width, axpby);
                }
                fn run_axpy_norm(width: LaneWidth, axpy: blas::Axpy<'_, Self>) -> ExactSum {
                    with_vectors(width, blas::WithNorm(axpy))
                }
                fn run_axpby_norm(width: LaneWidth, axpby: blas::Axpby<'_, Self>) -> ExactSum {
                    with_vectors(width, blas::WithNorm(axpby))
                }
                fn run_complex_update(width: LaneWidth, update: blas::ComplexUpdate<'_, Self>) {
                    with_vectors(width, update);
                }
                fn run_cg_update(width: LaneWidth, update: blas::CgUpdate<'_, Self>) {
                    with_vectors(width, update);
                }
                fn run_norm2(width: LaneWidth, norm: reduce::Norm2<'_, Self>) -> ExactSum {
                    with_vectors(width, norm)
                }
                fn run_inner_products(
                    width: LaneWidth,
                    products: reduce::InnerProducts<'_, Self>,
                ) -> Vec<[ExactSum; 2]> {
                    with_vectors(width, products)
                }
                fn run_tree_norm2(width: LaneWidth, norm: reduce::TreeNorm2<'_, Self>) -> f64 {
                    with_vectors(width, norm)
                }
                fn run_tree_inner_product(
                    width: LaneWidth,
                    product: reduce::TreeInnerProduct<'_, Self>,
                ) -> Complex<f64> {
                    with_vectors(width, product)
                }
                fn run_rhs_axpy(width: LaneWidth, axpy: rhs::RhsAxpy<'_, Self>) {
                    with_vectors(width, axpy);
                }
                fn run_rhs_cg_update(width: LaneWidth, update: rhs::RhsCgUpdate<'_, Self>) {
                    with_vectors(width, update);
                }
                fn run_rhs_products(width: LaneWidth, products: rhs::RhsProducts<'_, Self>) -> Vec<ExactSum> {
                    with_vectors(width, products)
                }
                fn run_s_multiply(width: LaneWidth, product: domain_wall::SMultiply<'_, Self>) {
                    with_vectors(width, product);
                }
                fn run_word_sums(sums: reduce::WordSums<'_, Self>) -> reduce::PartialSums {
                    sums.run()
                }
            }
        };
    };
}
vectors!(f32, 8 => crate::tensor::Pair<f32>, 16 => wide::f32x4, 32 => wide::f32x8; wide::f32x16);
// No f64 lattice has 8-byte lanes.
vectors!(f64, 8 | 16 => wide::f64x2, 32 => wide::f64x4; wide::f64x8);

/// Reals in memory of one field, and how many of them make a part of an outer site, and a task. To vector operations and norms, a field
/// with n parts a site is one with n times as many outer sites.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    an_osite: usize,
    a_task: usize,
}

impl Shape {
    fn of<R: Real>(field: &FieldData<R>) -> Self {
        let an_osite = field.reals_a_part();
        Self { an_osite, a_task: osites_a_task(field.osites() * field.object().parts()) * an_osite }
    }
}

/// Refuses fields that do not lie on `lattice` and `sites`.
pub(crate) fn check_place<R: Real>(
    what: &'static str,
    field: &FieldData<R>,
    lattice: &Lattice,
    sites: Sites,
) -> Result<(), FieldError> {
    match field.lattice() == lattice && field.sites() == sites {
        true => Ok(()),
        false => Err(FieldError::Mismatch {
            what,
            left: field.describe(),
            right: describe::<R>(lattice, sites, field.object()),
        }),
    }
}

/// Refuses fields that do not lie on the same sites of the same lattice, or hold different things there.
pub(crate) fn check_like<R: Real>(
    what: &'static str,
    field: &FieldData<R>,
    other: &FieldData<R>,
) -> Result<(), FieldError> {
    check_place(what, field, other.lattice(), other.sites())?;
    match field.object() == other.object() {
        true => Ok(()),
        false => Err(FieldError::Mismatch { what, left: field.describe(), right: other.describe() }),
    }
}

/// Outer sites a task: enough tasks to balance the load, each long enough to be worth one.
pub(crate) fn osites_a_task(osites: usize) -> usize {
    osites.div_ceil(8 * rayon::current_num_threads()).max(1)
}
