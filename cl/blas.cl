// The vector operations of conjugate gradients that end in a norm (docs/arithmetic.md §7, §8), each one pass over its fields; those without one are
// bodies (crates/kernels/src/kernel/blas.rs). The scalars are of the field's type, rounded by the host. Counterpart: reference/src/kernels/blas.rs. And what iterations take
// that are queued (queued_cg.clh): the same operations with scalars from sums on the device.

#include "accelerator.clh"
#include "complex.clh"
#include "queued_cg.clh"
#include "reduction.clh"
#include "sum_in_launch.clh"
#include "words.clh"

// y ← a·x + y, or a·x + b·y, and |y|², which is sum number `number`. A work-item reads what it needs of a few words of a site before it writes those words.
accelerator_inline void update_with_norm(__global stored* y, real a, __global const stored* x, const bool scaled, real b,
                                         uint osites, uint words, uint number, REDUCTION_ARGUMENTS) {
    running sum = running_empty();
    for_elements(element, osites * NSIMD) {
        const ulong osite = stored_at(element / NSIMD);
        const uint lane = element % NSIMD;
        f64 s = f64_zero;
        UNROLL_WORDS for (uint first = 0; first < SITE_WORDS(words); first += NORM_WORDS_AT_ONCE) {
            cplx from_x[NORM_WORDS_AT_ONCE], z[NORM_WORDS_AT_ONCE];
            extract_words(x, osite, first, NORM_WORDS_AT_ONCE, SITE_WORDS(words), lane, 0, from_x);
            extract_words(y, osite, first, NORM_WORDS_AT_ONCE, SITE_WORDS(words), lane, 0, z);
#pragma unroll
            for (uint k = 0; k < NORM_WORDS_AT_ONCE; ++k)
                z[k] = fma((cplx)(a), from_x[k], scaled ? b * z[k] : z[k]);
            store_site_words(y, osite, first, NORM_WORDS_AT_ONCE, SITE_WORDS(words), lane, z);
#pragma unroll
            for (uint k = 0; k < NORM_WORDS_AT_ONCE; ++k)
                s = plus_product(s, z[k], z[k]);
        }
        running_add(&sum, s, spill_target_of(spills, number));
    }
    finish_group(&sum, 1, number, partials, result, retired, spills, exchange);
}

// Launched as `norm2` is (reduce.cl).
REDUCTION_KERNEL void axpy_norm(__global stored* y, real a, __global const stored* x, uint osites, uint words,
                                REDUCTION_ARGUMENTS) {
    update_with_norm(y, a, x, false, 1, osites, words, 0, partials, result, retired, spills, exchange);
}
REDUCTION_KERNEL void axpby_norm(__global stored* y, real a, __global const stored* x, real b, uint osites, uint words,
                                 REDUCTION_ARGUMENTS) {
    update_with_norm(y, a, x, true, b, osites, words, 0, partials, result, retired, spills, exchange);
}

// Of iteration `iteration`: r ← −a·product + r, and |r|².
REDUCTION_KERNEL void cg_residual(__global stored* r, __global const stored* product, uint osites, uint words,
                                  uint iteration, f64 c, REDUCTION_ARGUMENTS) {
    const real a = -f64_to_real(queued_step(result, iteration, c));
    update_with_norm(r, a, product, false, 1, has_step(result, iteration) ? osites : 0, words, 2 * iteration + 1,
                     partials, result, retired, spills, exchange);
}

// And then ψ ← a·p + ψ, p ← b·p + r with the old p, as `cg_update`; not where |r|² is not above `keep`.
__kernel void cg_advance(__global stored* restrict psi, __global stored* restrict p, __global const stored* restrict r,
                         uint osites, uint words, uint iteration, f64 c, f64 keep, __global const f64* result) {
    const f64 next = queued_sum(result, 2 * iteration + 1);
    if (!has_step(result, iteration) || !is_known(result, 2 * iteration + 1) || !f64_less(keep, next))
        return;
    const real a = f64_to_real(queued_step(result, iteration, c));
    const real b = f64_to_real(f64_div(next, queued_c(result, iteration, c)));
    accelerator_for(component, osites) {
        const uint lane = accelerator_lane();
        UNROLL_WORDS for (uint first = 0; first < SITE_WORDS(words); first += WORDS_AT_ONCE) {
            cplx old[WORDS_AT_ONCE], to_psi[WORDS_AT_ONCE], to_p[WORDS_AT_ONCE];
            extract_words(p, component, first, WORDS_AT_ONCE, SITE_WORDS(words), lane, 0, old);
            extract_words(psi, component, first, WORDS_AT_ONCE, SITE_WORDS(words), lane, 0, to_psi);
            extract_words(r, component, first, WORDS_AT_ONCE, SITE_WORDS(words), lane, 0, to_p);
#pragma unroll
            for (uint k = 0; k < WORDS_AT_ONCE; ++k) {
                to_psi[k] = fma((cplx)(a), old[k], to_psi[k]);
                to_p[k] = fma((cplx)(b), old[k], to_p[k]);
            }
            store_site_words(psi, component, first, WORDS_AT_ONCE, SITE_WORDS(words), lane, to_psi);
            store_site_words(p, component, first, WORDS_AT_ONCE, SITE_WORDS(words), lane, to_p);
        }
    }
}

#ifdef GROUPS_AT_ONCE
// Of iteration `iteration`: `cg_curvature` (reduce.cl), `cg_residual` and `cg_advance` in one launch, whose groups all run at the same time
// (GROUPS_AT_ONCE: exact sums, with RETIREMENT and WORDS). Each work-item has one element at most. In f32 and half precision it keeps p, A p and r in
// registers; in f64, where there are too few, it reads p and A p twice.
#if PRECISION == 64
#define KEPT 0
#else
#define KEPT 1
#endif
accelerator_inline void read_site(__global const stored* field, ulong osite, uint lane, cplx* values) {
    extract_words(field, osite, 0, WORDS, WORDS, lane, 0, values);
}
REDUCTION_KERNEL void cg_iteration(__global stored* restrict psi, __global stored* restrict p, __global stored* restrict r,
                                   __global const stored* restrict product, uint osites, uint words, uint iteration,
                                   f64 c, f64 low, f64 high, f64 keep, REDUCTION_ARGUMENTS) {
    const uint element = block_id() * (uint)get_local_size(0) + (uint)get_local_id(0);
    const ulong osite = element / NSIMD;
    const uint lane = element % NSIMD;
    const bool inside = osite < osites;
    cplx of_p[WORDS], of_product[WORDS], of_r[WORDS];

    const uint launch = begin_at_once(retired);
    const bool begun = is_begun(result, iteration, c, low, high);
    const f64 before = queued_c(result, iteration, c);
    f64 term = f64_zero;
    if (inside && begun) {
        read_site(product, osite, lane, of_product);
        read_site(p, osite, lane, of_p);
#pragma unroll
        for (uint k = 0; k < WORDS; ++k)
            term = plus_product(term, of_p[k], of_product[k]);
        if (KEPT)
            read_site(r, osite, lane, of_r);
    }
    const whole_sum curvature = sum_at_once(term, before, 2 * iteration, launch, partials, result, retired, spills, exchange);

    const bool stepped = begun && curvature.known && f64_less(f64_zero, curvature.value);
    const f64 step = f64_div(before, curvature.value);
    term = f64_zero;
    if (inside && stepped) {
        const real a = -f64_to_real(step);
        if (!KEPT) {
            read_site(product, osite, lane, of_product);
            read_site(r, osite, lane, of_r);
        }
#pragma unroll
        for (uint k = 0; k < WORDS; ++k)
            of_r[k] = fma((cplx)(a), of_product[k], of_r[k]);
        store_site_words(r, osite, 0, WORDS, WORDS, lane, of_r);
#pragma unroll
        for (uint k = 0; k < WORDS; ++k)
            term = plus_product(term, of_r[k], of_r[k]);
        // ψ takes the place of A p, which is not needed any more.
        read_site(psi, osite, lane, of_product);
    }
    const whole_sum norm = sum_at_once(term, before, 2 * iteration + 1, launch, partials, result, retired, spills, exchange);

    end_at_once(launch, retired);
    if (!inside || !stepped || !norm.known || !f64_less(keep, norm.value))
        return;
    const real a = f64_to_real(step), b = f64_to_real(f64_div(norm.value, before));
    if (!KEPT)
        read_site(p, osite, lane, of_p);
#pragma unroll
    for (uint k = 0; k < WORDS; ++k) {
        of_product[k] = fma((cplx)(a), of_p[k], of_product[k]);
        of_p[k] = fma((cplx)(b), of_p[k], of_r[k]);
    }
    store_site_words(psi, osite, 0, WORDS, WORDS, lane, of_product);
    store_site_words(p, osite, 0, WORDS, WORDS, lane, of_p);
}
#endif
