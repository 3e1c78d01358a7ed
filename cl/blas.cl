// The vector operations of conjugate gradients (docs/arithmetic.md §7), each one pass over its fields. `out` may be any of the
// inputs: a work-item reads what it needs of a few words of a site before it writes those words, and no other work-item touches
// them. The scalars are of the field's type, rounded by the host. Counterpart: reference/src/kernels/blas.rs.

#include "accelerator.clh"
#include "complex.clh"
#include "reduction.clh"
#include "words.clh"

typedef struct {
    cplx word[WORDS_AT_ONCE];
} words_of_site;

accelerator_inline words_of_site read_words(__global const stored* field, size_t osite, uint first, uint words,
                                            uint lane) {
    words_of_site w;
    extract_words(field, osite, first, WORDS_AT_ONCE, words, lane, 0, w.word);
    return w;
}

accelerator_inline void write_words(__global stored* field, size_t osite, uint first, uint words, uint lane,
                                    words_of_site w) {
    store_site_words(field, osite, first, WORDS_AT_ONCE, words, lane, w.word);
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
#define for_words(first) UNROLL_WORDS for (uint first = 0; first < SITE_WORDS(words); first += WORDS_AT_ONCE)

// The few words from `first` on, of this work-item's site.
#define READ(field) read_words(field, osite, first, SITE_WORDS(words), lane)
#define WRITE(field, values) write_words(field, osite, first, SITE_WORDS(words), lane, values)

__kernel void copy(__global stored* out, __global const stored* x, uint osites, uint words) {
    const uint lane = accelerator_lane();
    accelerator_for(osite, osites) {
        for_words(first) { WRITE(out, READ(x)); }
    }
}

__kernel void scale(__global stored* out, real a, __global const stored* x, uint osites, uint words) {
    const uint lane = accelerator_lane();
    accelerator_for(osite, osites) {
        for_words(first) { WRITE(out, scale_words(a, READ(x))); }
    }
}

// out ← a·x + y.
__kernel void axpy(__global stored* out, real a, __global const stored* x, __global const stored* y, uint osites, uint words) {
    const uint lane = accelerator_lane();
    accelerator_for(osite, osites) {
        for_words(first) { WRITE(out, axpy_words(a, READ(x), READ(y))); }
    }
}

// out ← a·x + y, or a·x + b·y, and |out|².
accelerator_inline void update_with_norm(__global stored* out, real a, __global const stored* x, const bool scaled, real b,
                                         __global const stored* y, uint osites, uint words, REDUCTION_ARGUMENTS) {
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
            store_site_words(out, osite, first, NORM_WORDS_AT_ONCE, SITE_WORDS(words), lane, z);
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
REDUCTION_KERNEL void axpy_norm(__global stored* out, real a, __global const stored* x, __global const stored* y, uint osites,
                                uint words, REDUCTION_ARGUMENTS) {
    update_with_norm(out, a, x, false, 1, y, osites, words, partials, result, retired, spills, exchange);
}
REDUCTION_KERNEL void axpby_norm(__global stored* out, real a, __global const stored* x, real b, __global const stored* y,
                                 uint osites, uint words, REDUCTION_ARGUMENTS) {
    update_with_norm(out, a, x, true, b, y, osites, words, partials, result, retired, spills, exchange);
}

accelerator_inline words_of_site complex_axpy_words(cplx a, words_of_site x, words_of_site y) {
#pragma unroll
    for (uint k = 0; k < WORDS_AT_ONCE; ++k)
        x.word[k] = madd(a, x.word[k], y.word[k]);
    return x;
}

// out ← a·x + y with the complex number a = re + i·im. One of x and y may be `out`.
__kernel void complex_axpy(__global stored* out, real re, real im, __global const stored* x, __global const stored* y,
                           uint osites, uint words) {
    const uint lane = accelerator_lane();
    accelerator_for(osite, osites) {
        for_words(first) { WRITE(out, complex_axpy_words((cplx)(re, im), READ(x), READ(y))); }
    }
}

// out ← b·y + x with the complex number b = re + i·im. One of x and y may be `out`.
__kernel void complex_xpay(__global stored* out, real re, real im, __global const stored* y, __global const stored* x,
                           uint osites, uint words) {
    const uint lane = accelerator_lane();
    accelerator_for(osite, osites) {
        for_words(first) { WRITE(out, complex_axpy_words((cplx)(re, im), READ(y), READ(x))); }
    }
}

// psi ← a·p + psi, then p ← b·p + r with the old p.
__kernel void cg_update(__global stored* psi, __global stored* p, __global const stored* r, real a, real b, uint osites,
                        uint words) {
    const uint lane = accelerator_lane();
    accelerator_for(osite, osites) {
        for_words(first) {
            const words_of_site old_p = READ(p), old_psi = READ(psi), residual = READ(r);
            WRITE(psi, axpy_words(a, old_p, old_psi));
            WRITE(p, axpy_words(b, old_p, residual));
        }
    }
}
