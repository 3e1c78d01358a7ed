// The vector operations of conjugate gradients (docs/arithmetic.md §7), each one pass over its fields. `out` may be any of the
// inputs: a work-item reads what it needs of a few words of a site before it writes those words, and no other work-item touches
// them. The scalars are of the field's type, rounded by the host. Counterpart: reference/src/kernels/blas.rs.

#include "accelerator.clh"
#include "exact.clh"

// Complex words of a site: 12 for a spinor.
#ifndef WORDS
#define WORDS 12
#endif

// Words that a work-item reads before it writes. Must divide WORDS. Two are the best on an H200 (f32, NSIMD 8, 2²⁰ sites: cg_update
// 3640 GB/s, against 2810 with one word, 1730 with six and 1990 with twelve; the other kernels care less).
#ifndef WORDS_AT_ONCE
#define WORDS_AT_ONCE (WORDS % 2 == 0 ? 2 : 1)
#endif

typedef struct {
    cplx word[WORDS_AT_ONCE];
} words_of_site;

accelerator_inline words_of_site read_words(__global const cplx* field, size_t osite, uint first) {
    words_of_site w;
#pragma unroll
    for (uint k = 0; k < WORDS_AT_ONCE; ++k)
        w.word[k] = coalesced_read(field, osite, first + k, WORDS);
    return w;
}

accelerator_inline void write_words(__global cplx* field, size_t osite, uint first, words_of_site w) {
#pragma unroll
    for (uint k = 0; k < WORDS_AT_ONCE; ++k)
        coalesced_write(field, osite, first + k, WORDS, w.word[k]);
}

accelerator_inline words_of_site scale_words(real a, words_of_site x) {
#pragma unroll
    for (uint k = 0; k < WORDS_AT_ONCE; ++k)
        x.word[k] = a * x.word[k];
    return x;
}

accelerator_inline words_of_site axpy_words(real a, words_of_site x, words_of_site y) {
#pragma unroll
    for (uint k = 0; k < WORDS_AT_ONCE; ++k)
        x.word[k] = fma((cplx)(a), x.word[k], y.word[k]);
    return x;
}

// The block that follows runs for each few words of the site.
#define for_words(first) for (uint first = 0; first < WORDS; first += WORDS_AT_ONCE)

__kernel void copy(__global cplx* out, __global const cplx* x, uint osites) {
    accelerator_for(osite, osites) {
#pragma unroll
        for_words(first) { write_words(out, osite, first, read_words(x, osite, first)); }
    }
}

__kernel void scale(__global cplx* out, real a, __global const cplx* x, uint osites) {
    accelerator_for(osite, osites) {
#pragma unroll
        for_words(first) { write_words(out, osite, first, scale_words(a, read_words(x, osite, first))); }
    }
}

// out ← a·x + y.
__kernel void axpy(__global cplx* out, real a, __global const cplx* x, __global const cplx* y, uint osites) {
    accelerator_for(osite, osites) {
#pragma unroll
        for_words(first) {
            write_words(out, osite, first, axpy_words(a, read_words(x, osite, first), read_words(y, osite, first)));
        }
    }
}

// out ← a·x + y, and the partial sums of |out|², to be launched and merged as `norm2` is (reduce.cl).
__kernel void axpy_norm(__global cplx* out, real a, __global const cplx* x, __global const cplx* y, uint osites,
                        __global long* restrict partials, __local long* terms, __local long* limbs) {
    exact_sum sum;
    exact_clear(&sum);
    accelerator_for_strided(osite, osites) {
        double s = 0;
#pragma unroll
        for_words(first) {
            const words_of_site z = axpy_words(a, read_words(x, osite, first), read_words(y, osite, first));
            write_words(out, osite, first, z);
#pragma unroll
            for (uint k = 0; k < WORDS_AT_ONCE; ++k) {
                const double2 v = convert_double2(z.word[k]);
                s = fma(v.x, v.x, s);
                s = fma(v.y, v.y, s);
            }
        }
        exact_add(&sum, s);
    }
    exact_write_partial(&sum, 0, 1, partials, terms, limbs);
}

// psi ← a·p + psi, then p ← b·p + r with the old p.
__kernel void cg_update(__global cplx* psi, __global cplx* p, __global const cplx* r, real a, real b, uint osites) {
    accelerator_for(osite, osites) {
#pragma unroll
        for_words(first) {
            const words_of_site old_p = read_words(p, osite, first);
            const words_of_site old_psi = read_words(psi, osite, first);
            const words_of_site residual = read_words(r, osite, first);
            write_words(psi, osite, first, axpy_words(a, old_p, old_psi));
            write_words(p, osite, first, axpy_words(b, old_p, residual));
        }
    }
}
