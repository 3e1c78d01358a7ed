// Sums over sites (docs/arithmetic.md §8). Groups walk over the osites in strides of the whole launch (a thousand groups fill
// any device, and keep the partial sums few); each work-item makes one double of each site it meets, in the canonical word
// order, and adds it to its exact accumulator (exact.clh). `exact_merge` then adds the groups' partial sums. Since the sum is
// exact, neither the number of groups nor their size can change a bit. Counterpart: reference/src/kernels/reduce.rs.

#include "accelerator.clh"
#include "exact.clh"

// Complex words of a site: 12 for a spinor.
#ifndef WORDS
#define WORDS 12
#endif

// The largest work-group that `exact_merge` may be launched with.
#ifndef MERGE_THREADS
#define MERGE_THREADS 1024
#endif

// Partial sums of |x|². `partials`: EXACT_WORDS words a group. `terms`: 8 bytes a work-item at least; `limbs`: EXACT_WORDS words at least.
__kernel void norm2(__global const cplx* restrict x, uint osites, __global long* restrict partials,
                    __local long* terms, __local long* limbs) {
    exact_sum sum;
    exact_clear(&sum);
    accelerator_for_strided(osite, osites) {
        double s = 0;
#pragma unroll
        for (uint word = 0; word < WORDS; ++word) {
            const double2 v = convert_double2(coalesced_read(x, osite, word, WORDS));
            s = fma(v.x, v.x, s);
            s = fma(v.y, v.y, s);
        }
        exact_add(&sum, s);
    }
    exact_write_partial(&sum, 0, 1, partials, terms, limbs);
}

// Partial sums of ⟨x, y⟩ = Σ conj(x)·y: the real part is accumulator 0, the imaginary part is 1. `x` and `y` may be the same.
// `partials`: 2·EXACT_WORDS words a group. `terms`: 8 bytes a work-item at least; `limbs`: EXACT_WORDS words at least.
__kernel void inner_product(__global const cplx* x, __global const cplx* y, uint osites,
                            __global long* restrict partials, __local long* terms, __local long* limbs) {
    exact_sum re, im;
    exact_clear(&re);
    exact_clear(&im);
    accelerator_for_strided(osite, osites) {
        double s = 0, t = 0;
#pragma unroll
        for (uint word = 0; word < WORDS; ++word) {
            const double2 v = convert_double2(coalesced_read(x, osite, word, WORDS));
            const double2 w = convert_double2(coalesced_read(y, osite, word, WORDS));
            s = fma(v.x, w.x, s);
            s = fma(v.y, w.y, s);
            t = fma(v.x, w.y, t);
            t = fma(-v.y, w.x, t);
        }
        exact_add(&re, s);
        exact_add(&im, t);
    }
    exact_write_partial(&re, 0, 2, partials, terms, limbs);
    exact_write_partial(&im, 1, 2, partials, terms, limbs);
}

// out[which·EXACT_WORDS + word] ← the sum over `groups` of their partials. Groups share out the words, and the work-items of
// a group share out the partial sums of a word, so any launch geometry serves; one group a word, of 64 work-items, is quick.
__kernel void exact_merge(__global const long* restrict partials, uint groups, uint accumulators,
                          __global long* restrict out) {
    __local long exchange[MERGE_THREADS];
    const uint words = accumulators * EXACT_WORDS;
    const uint group = (uint)(get_group_id(1) * get_num_groups(0) + get_group_id(0));
    const uint all_groups = (uint)(get_num_groups(0) * get_num_groups(1));
    for (uint word = group; word < words; word += all_groups) {
        long mine = 0;
        for (uint g = group_thread(); g < groups; g += group_threads())
            mine += partials[(size_t)g * words + word];
        const long total = group_sum(exchange, mine);
        if (group_thread() == 0)
            out[word] = total;
    }
}
