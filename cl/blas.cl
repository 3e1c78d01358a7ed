// The vector operations of conjugate gradients that end in a norm (docs/arithmetic.md §7, §8), each one pass over its fields; those without one are
// bodies (src/kernel/blas.rs). The scalars are of the field's type, rounded by the host. Counterpart: reference/src/kernels/blas.rs.

#include "accelerator.clh"
#include "complex.clh"
#include "reduction.clh"
#include "words.clh"

// y ← a·x + y, or a·x + b·y, and |y|². A work-item reads what it needs of a few words of a site before it writes those words.
accelerator_inline void update_with_norm(__global stored* y, real a, __global const stored* x, const bool scaled, real b,
                                         uint osites, uint words, REDUCTION_ARGUMENTS) {
    running sum = running_empty();
    for_elements(element, osites * NSIMD) {
        const size_t osite = stored_at(element / NSIMD);
        const uint lane = element % NSIMD;
        double s = 0;
        UNROLL_WORDS for (uint first = 0; first < SITE_WORDS(words); first += NORM_WORDS_AT_ONCE) {
            cplx from_x[NORM_WORDS_AT_ONCE], z[NORM_WORDS_AT_ONCE];
            extract_words(x, osite, first, NORM_WORDS_AT_ONCE, SITE_WORDS(words), lane, 0, from_x);
            extract_words(y, osite, first, NORM_WORDS_AT_ONCE, SITE_WORDS(words), lane, 0, z);
#pragma unroll
            for (uint k = 0; k < NORM_WORDS_AT_ONCE; ++k)
                z[k] = fma((cplx)(a), from_x[k], scaled ? b * z[k] : z[k]);
            store_site_words(y, osite, first, NORM_WORDS_AT_ONCE, SITE_WORDS(words), lane, z);
#pragma unroll
            for (uint k = 0; k < NORM_WORDS_AT_ONCE; ++k) {
                const double2 v = convert_double2(z[k]);
                s = fma(v.x, v.x, s);
                s = fma(v.y, v.y, s);
            }
        }
        running_add(&sum, s, spill_target_of(spills, 0));
    }
    finish_group(&sum, 1, 0, partials, result, retired, spills, exchange);
}

// Launched as `norm2` is (reduce.cl).
REDUCTION_KERNEL void axpy_norm(__global stored* y, real a, __global const stored* x, uint osites, uint words,
                                REDUCTION_ARGUMENTS) {
    update_with_norm(y, a, x, false, 1, osites, words, partials, result, retired, spills, exchange);
}
REDUCTION_KERNEL void axpby_norm(__global stored* y, real a, __global const stored* x, real b, uint osites, uint words,
                                 REDUCTION_ARGUMENTS) {
    update_with_norm(y, a, x, true, b, osites, words, partials, result, retired, spills, exchange);
}
