//! The kernels on fields of 16-bit storage: those of f32, after which a result is rounded to what its storage holds
//! (`docs/arithmetic.md` §12).

use num_complex::Complex;

use super::blas::{Axpby, Axpy, CgUpdate, ComplexUpdate, Scale};
use super::clover::{Apply, CloverHop};
use super::colour_vectors::ColourHop;
use super::domain_wall::SMultiply;
use super::hop::Hop;
use super::laplace::LaplaceHop;
use super::reduce::{InnerProducts, Norm2, PartialSums, SiteWords, TreeInnerProduct, TreeNorm2, WordSums};
use super::rhs::{RhsAxpy, RhsCgUpdate, RhsProducts};
use super::staggered::StaggeredHop;
use super::{Shape, Vectors};
use crate::exact::ExactSum;
use crate::field::{Field, SiteObject};
use crate::half::Half;
use crate::layout::LaneWidth;
use crate::real::Real;

/// Lanes of a lattice of f32 complex numbers.
fn nsimd(width: LaneWidth) -> usize {
    width.bytes() / size_of::<Complex<f32>>()
}

/// Runs a kernel of f32 that writes `out`.
fn quantized<K: SiteObject>(out: &mut Field<Half, K>, kernel: impl FnOnce(&mut Field<f32, K>)) {
    kernel(out.as_f32_mut());
    out.quantize();
}

/// The same of a hop of colour vectors.
fn colour_hop(hop: ColourHop<'_, Half>, kernel: impl FnOnce(ColourHop<'_, f32>)) {
    let ColourHop { out, stencil, links, source, legs } = hop;
    let (links, source) = (links.as_f32(), source.as_f32());
    quantized(out, |out| kernel(ColourHop { out, stencil, links, source, legs }));
}

fn quantize(width: LaneWidth, shape: Shape, out: &mut [Half]) {
    Half::quantize(out, shape.an_osite, nsimd(width));
}

fn to_f32(x: Half) -> f32 {
    x.to_f64() as f32
}

use Half as S;

impl Vectors for Half {
    fn run_hop(width: LaneWidth, hop: Hop<'_, Self>) {
        let Hop { out, stencil, links, source, legs, dagger } = hop;
        let (links, source) = (links.as_f32(), source.as_f32());
        quantized(out, |out| f32::run_hop(width, Hop { out, stencil, links, source, legs, dagger }));
    }
    fn run_laplace_hop(width: LaneWidth, hop: LaplaceHop<'_, Self>) {
        colour_hop(hop.0, |hop| f32::run_laplace_hop(width, LaplaceHop(hop)));
    }
    fn run_staggered_hop(width: LaneWidth, hop: StaggeredHop<'_, Self>) {
        let StaggeredHop { hop, phases } = hop;
        colour_hop(hop, |hop| f32::run_staggered_hop(width, StaggeredHop { hop, phases }));
    }
    fn run_s_multiply(width: LaneWidth, product: SMultiply<'_, Self>) {
        let SMultiply { out, matrix, x, z } = product;
        let (x, z) = (x.as_f32(), z.map(Field::as_f32));
        quantized(out, |out| f32::run_s_multiply(width, SMultiply { out, matrix, x, z }));
    }
    fn run_clover_apply(width: LaneWidth, apply: Apply<'_, Self>) {
        let Apply { out, blocks, x } = apply;
        let (blocks, x) = (blocks.as_f32(), x.as_f32());
        quantized(out, |out| f32::run_clover_apply(width, Apply { out, blocks, x }));
    }
    fn run_clover_hop(width: LaneWidth, hop: CloverHop<'_, Self>) {
        let CloverHop { hop: Hop { out, stencil, links, source, legs, dagger }, blocks, chi } = hop;
        let (links, source, blocks) = (links.as_f32(), source.as_f32(), blocks.as_f32());
        let chi = chi.map(Field::as_f32);
        quantized(out, |out| {
            let hop = Hop { out, stencil, links, source, legs, dagger };
            f32::run_clover_hop(width, CloverHop { hop, blocks, chi });
        });
    }
    fn run_rhs_axpy(width: LaneWidth, axpy: RhsAxpy<'_, Self>) {
        let RhsAxpy { shape, a, x, y } = axpy;
        f32::run_rhs_axpy(width, RhsAxpy { shape, a: S::as_f32(a), x: S::as_f32(x), y: S::as_f32_mut(y) });
        quantize(width, shape.parts(), y);
    }
    fn run_rhs_cg_update(width: LaneWidth, update: RhsCgUpdate<'_, Self>) {
        let RhsCgUpdate { shape, a, b, psi, p, r } = update;
        let (a, b) = (S::as_f32(a), S::as_f32(b));
        let in_f32 = RhsCgUpdate { shape, a, b, psi: S::as_f32_mut(psi), p: S::as_f32_mut(p), r: S::as_f32(r) };
        f32::run_rhs_cg_update(width, in_f32);
        quantize(width, shape.parts(), psi);
        quantize(width, shape.parts(), p);
    }
    fn run_rhs_products(width: LaneWidth, products: RhsProducts<'_, Self>) -> Vec<ExactSum> {
        let RhsProducts { shape, x, y } = products;
        f32::run_rhs_products(width, RhsProducts { shape, x: S::as_f32(x), y: S::as_f32(y) })
    }
    fn run_scale(width: LaneWidth, scale: Scale<'_, Self>) {
        let Scale { shape, out, a, x } = scale;
        f32::run_scale(width, Scale { shape, out: S::as_f32_mut(out), a: to_f32(a), x: S::as_f32(x) });
        quantize(width, shape, out);
    }
    fn run_axpy(width: LaneWidth, axpy: Axpy<'_, Self>) {
        let Axpy { shape, a, x, y } = axpy;
        f32::run_axpy(width, Axpy { shape, a: to_f32(a), x: S::as_f32(x), y: S::as_f32_mut(y) });
        quantize(width, shape, y);
    }
    fn run_axpby(width: LaneWidth, axpby: Axpby<'_, Self>) {
        let Axpby { shape, a, x, b, y } = axpby;
        let (a, b) = (to_f32(a), to_f32(b));
        f32::run_axpby(width, Axpby { shape, a, x: S::as_f32(x), b, y: S::as_f32_mut(y) });
        quantize(width, shape, y);
    }
    fn run_axpy_norm(width: LaneWidth, axpy: Axpy<'_, Self>) -> ExactSum {
        let Axpy { shape, a, x, y } = axpy;
        Self::run_axpy(width, Axpy { shape, a, x, y: &mut *y });
        Self::run_norm2(width, Norm2 { shape, x: y })
    }
    fn run_axpby_norm(width: LaneWidth, axpby: Axpby<'_, Self>) -> ExactSum {
        let Axpby { shape, a, x, b, y } = axpby;
        Self::run_axpby(width, Axpby { shape, a, x, b, y: &mut *y });
        Self::run_norm2(width, Norm2 { shape, x: y })
    }
    fn run_complex_update(width: LaneWidth, update: ComplexUpdate<'_, Self>) {
        let ComplexUpdate { shape, a, x, y, scaled } = update;
        let in_f32 = ComplexUpdate { shape, a: a.map(to_f32), x: S::as_f32(x), y: S::as_f32_mut(y), scaled };
        f32::run_complex_update(width, in_f32);
        quantize(width, shape, y);
    }
    fn run_cg_update(width: LaneWidth, update: CgUpdate<'_, Self>) {
        let CgUpdate { shape, a, b, psi, p, r } = update;
        let (a, b) = (to_f32(a), to_f32(b));
        let in_f32 = CgUpdate { shape, a, b, psi: S::as_f32_mut(psi), p: S::as_f32_mut(p), r: S::as_f32(r) };
        f32::run_cg_update(width, in_f32);
        quantize(width, shape, psi);
        quantize(width, shape, p);
    }
    fn run_norm2(width: LaneWidth, norm: Norm2<'_, Self>) -> ExactSum {
        f32::run_norm2(width, Norm2 { shape: norm.shape, x: S::as_f32(norm.x) })
    }
    fn run_inner_products(width: LaneWidth, products: InnerProducts<'_, Self>) -> Vec<[ExactSum; 2]> {
        let InnerProducts { shape, xs, y } = products;
        let xs = xs.into_iter().map(S::as_f32).collect();
        f32::run_inner_products(width, InnerProducts { shape, xs, y: S::as_f32(y) })
    }
    fn run_tree_norm2(width: LaneWidth, norm: TreeNorm2<'_, Self>) -> f64 {
        let TreeNorm2 { shape, x, plan } = norm;
        f32::run_tree_norm2(width, TreeNorm2 { shape, x: S::as_f32(x), plan })
    }
    fn run_tree_inner_product(width: LaneWidth, product: TreeInnerProduct<'_, Self>) -> Complex<f64> {
        let TreeInnerProduct { shape, x, y, plan } = product;
        f32::run_tree_inner_product(width, TreeInnerProduct { shape, x: S::as_f32(x), y: S::as_f32(y), plan })
    }
    fn run_word_sums(sums: WordSums<'_, Self>) -> PartialSums {
        let WordSums { sites: SiteWords { field, words, nsimd }, classes, groups, sum } = sums;
        let sites = SiteWords { field: bytemuck::cast_slice(field), words, nsimd };
        f32::run_word_sums(WordSums { sites, classes, groups, sum })
    }
}
