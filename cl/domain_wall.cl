// Matrices along the fifth dimension of domain wall and Möbius fermions (docs/arithmetic.md §14): real, one for each chirality, on each column
// of ls spinors of a site, s fastest. Words 0…5 of a spinor have chirality +, words 6…11 chirality −. Coefficients come as a small table, in
// the order of `Form` in reference/src/kernels/domain_wall/matrix.rs; all work-items of a group read the same few of them at once.
// Counterpart: reference/src/kernels/domain_wall.rs.

#include "complex.clh"

#define SPINOR_WORDS 12
#define HALF_WORDS (SPINOR_WORDS / 2)

// Results along s that one work-item of `s_dense` makes, so that it reads the column once for all of them. Must divide ls.
#ifndef S_AT_ONCE
#define S_AT_ONCE 1
#endif

// One spinor of a tridiagonal product: `spinor` is its number, osite·(spinors a site) + which, and s its place in the column. Each spinor is
// read twice, by halves: the second time from cache.
accelerator_inline void tridiagonal_spinor(const int add, __global stored* restrict out, __global const real* restrict matrix,
                                           __global const stored* restrict x, __global const stored* restrict z,
                                           ulong spinor, uint s, uint ls, uint dagger) {
    const ulong previous = s == 0 ? spinor + (ls - 1) : spinor - 1;
    const ulong next = s + 1 == ls ? spinor - s : spinor + 1;
    const ulong beside_plus = dagger ? next : previous;
    const ulong beside_minus = dagger ? previous : next;
    const real diagonal = matrix[s], plus = matrix[ls + s], minus = matrix[2 * ls + s];
    const uint lane = accelerator_lane();
    cplx y[SPINOR_WORDS], here[SPINOR_WORDS], there[SPINOR_WORDS];
    extract_words(x, spinor, 0, SPINOR_WORDS, SPINOR_WORDS, lane, 0, here);
    extract_words(x, beside_plus, 0, HALF_WORDS, SPINOR_WORDS, lane, 0, there);
    extract_words(x, beside_minus, HALF_WORDS, HALF_WORDS, SPINOR_WORDS, lane, 0, there + HALF_WORDS);
    if (add)
        extract_words(z, spinor, 0, SPINOR_WORDS, SPINOR_WORDS, lane, 0, y);
#pragma unroll
    for (uint word = 0; word < SPINOR_WORDS; ++word) {
        const cplx first = add ? madd_real(diagonal, here[word], y[word]) : diagonal * here[word];
        y[word] = madd_real(word < HALF_WORDS ? plus : minus, there[word], first);
    }
    coalesced_write_all(out, spinor, SPINOR_WORDS, y);
}

// out ← matrix · x. Launched over (lane, spinor of the site, osite).
SITE_KERNEL void s_tridiagonal(__global stored* restrict out, __global const real* restrict matrix,
                            __global const stored* restrict x, uint osites, uint spinors, uint ls, uint dagger) {
    accelerator_for2d(osite, osites, part, spinors) {
        tridiagonal_spinor(0, out, matrix, x, x, (ulong)osite * spinors + part, part % ls, ls, dagger);
    }
}

// out ← matrix · x + z.
SITE_KERNEL void s_tridiagonal_add(__global stored* restrict out, __global const real* restrict matrix,
                                __global const stored* restrict x, __global const stored* restrict z, uint osites,
                                uint spinors, uint ls, uint dagger) {
    accelerator_for2d(osite, osites, part, spinors) {
        tridiagonal_spinor(1, out, matrix, x, z, (ulong)osite * spinors + part, part % ls, ls, dagger);
    }
}

// The two chiralities run through s in opposite directions, so a whole spinor is never at hand: not with storage that scales whole spinors.
#if PRECISION != 16
// Half a spinor, that of one chirality: a part of half the words.
accelerator_inline void read_half(__global const stored* restrict x, ulong spinor, uint minus, uint lane, cplx* half_spinor) {
    extract_words(x, 2 * spinor + minus, 0, HALF_WORDS, HALF_WORDS, lane, 0, half_spinor);
}
accelerator_inline void write_half(__global stored* restrict out, ulong spinor, uint minus, uint lane,
                                   const cplx* half_spinor) {
    store_words(out, 2 * spinor + minus, 0, HALF_WORDS, HALF_WORDS, lane, half_spinor);
}

// out ← the inverse by elimination: f gathers the corner, then y runs along s. Launched over (lane, chirality and column, osite): place 2·column
// has chirality +. x is read twice, and nothing else is kept but one half spinor.
SITE_KERNEL void s_sweep(__global stored* restrict out, __global const real* restrict matrix, __global const stored* restrict x,
                      uint osites, uint halves, uint ls, uint dagger) {
    accelerator_for2d(osite, osites, part, halves) {
        const uint minus = part & 1;
        const uint descending = minus != dagger;
        const uint lane = accelerator_lane();
        const ulong column = ((ulong)osite * (halves / 2) + part / 2) * ls;
        __global const real* restrict corner = matrix + minus * 3 * ls;
        __global const real* restrict step = corner + ls;
        __global const real* restrict reciprocal = step + ls;

        const uint start = descending ? ls - 1 : 0;
        cplx y[HALF_WORDS], here[HALF_WORDS];
        read_half(x, column + start, minus, lane, y);
        for (uint k = 1; k < ls; ++k) {
            const uint s = descending ? ls - 1 - k : k;
            const real factor = corner[s];
            read_half(x, column + s, minus, lane, here);
#pragma unroll
            for (uint w = 0; w < HALF_WORDS; ++w)
                y[w] = madd_real(factor, here[w], y[w]);
        }
#pragma unroll
        for (uint w = 0; w < HALF_WORDS; ++w)
            y[w] = reciprocal[start] * y[w];
        write_half(out, column + start, minus, lane, y);
        for (uint k = 1; k < ls; ++k) {
            const uint s = descending ? ls - 1 - k : k;
            const real factor = step[s];
            const real diagonal = reciprocal[s];
            read_half(x, column + s, minus, lane, here);
#pragma unroll
            for (uint w = 0; w < HALF_WORDS; ++w)
                y[w] = madd_real(factor, y[w], diagonal * here[w]);
            write_half(out, column + s, minus, lane, y);
        }
    }
}
#endif

// The spinor at `from` times its column of the matrix, added to S_AT_ONCE results from s on. `first` is a constant at every call.
accelerator_inline void dense_term(const int first, cplx (*y)[SPINOR_WORDS], __global const real* restrict matrix,
                                   __global const stored* restrict x, ulong column, uint from, uint s, uint ls) {
    real plus[S_AT_ONCE], minus[S_AT_ONCE];
#pragma unroll
    for (uint k = 0; k < S_AT_ONCE; ++k) {
        plus[k] = matrix[(s + k) * ls + from];
        minus[k] = matrix[(ls + s + k) * ls + from];
    }
    // Few words at a time: the results take most registers.
#pragma unroll
    for (uint word = 0; word < SPINOR_WORDS; word += WORDS_TOGETHER) {
        cplx values[WORDS_TOGETHER];
        extract_words(x, column + from, word, WORDS_TOGETHER, SPINOR_WORDS, accelerator_lane(), 0, values);
#pragma unroll
        for (uint w = 0; w < WORDS_TOGETHER; ++w) {
#pragma unroll
            for (uint k = 0; k < S_AT_ONCE; ++k) {
                const real factor = word + w < HALF_WORDS ? plus[k] : minus[k];
                y[k][word + w] = first ? factor * values[w] : madd_real(factor, values[w], y[k][word + w]);
            }
        }
    }
}

// out ← the inverse as a dense matrix. Launched over (lane, spinors / S_AT_ONCE, osite): work-items of a group that share a column find its
// spinors in the nearest cache.
SITE_KERNEL void s_dense(__global stored* restrict out, __global const real* restrict matrix, __global const stored* restrict x,
                      uint osites, uint spinors, uint ls) {
    accelerator_for2d(osite, osites, part, spinors / S_AT_ONCE) {
        const uint s = part * S_AT_ONCE % ls;
        const ulong spinor = (ulong)osite * spinors + part * S_AT_ONCE;
        cplx y[S_AT_ONCE][SPINOR_WORDS];
        dense_term(1, y, matrix, x, spinor - s, 0, s, ls);
        for (uint from = 1; from < ls; ++from)
            dense_term(0, y, matrix, x, spinor - s, from, s, ls);
#pragma unroll
        for (uint k = 0; k < S_AT_ONCE; ++k)
            coalesced_write_all(out, spinor + k, SPINOR_WORDS, y[k]);
    }
}
