// Fields of several right-hand sides: vector operations with a scalar for each right-hand side, and a norm or a product
// of each. Column c has the parts c·k … c·k + k − 1 of every site; k is `rhs_parts`. Every rhs gets the bits that it would get alone
// (docs/arithmetic.md §7, §8). Counterpart: reference/src/kernels/rhs.rs.

#include "accelerator.clh"
#include "complex.clh"
#include "reduction.clh"

// Words of a part.
#ifndef WORDS
#define WORDS 12
#endif

// Right-hand sides of x that a work-item of `rhs_gram` takes with one of y, 1 to 4. It divides their number.
#ifndef FIELDS
#define FIELDS 1
#endif

typedef struct {
    cplx word[WORDS];
} part_words;

accelerator_inline part_words read_part(__global const stored* field, ulong part, uint lane) {
    part_words w;
    extract_words(field, part, 0, WORDS, WORDS, lane, 0, w.word);
    return w;
}

accelerator_inline part_words axpy_part(real a, part_words x, part_words y) {
#pragma unroll
    for (uint word = 0; word < WORDS; ++word)
        x.word[word] = fma((cplx)(a), x.word[word], y.word[word]);
    return x;
}

// Each site's and part's own contribution, in the order of a field that has this rhs alone.
#define for_rhs_elements(element, part, lane)                                                                       \
    for_elements(element, osites* rhs_parts* NSIMD)                                                                 \
        for (uint lane = element % NSIMD, row_part = element / NSIMD,                                                  \
                  part = (uint)stored_at(row_part / rhs_parts) * parts + row_id() * rhs_parts + row_part % rhs_parts, \
                  once = 1;                                                                                            \
             once; once = 0)

// Re⟨x, y⟩ of each right-hand side, one launch row for each; x and y may be the same field.
REDUCTION_KERNEL void rhs_products(__global const stored* x, __global const stored* y, uint osites, uint parts,
                                      uint rhs_parts, REDUCTION_ARGUMENTS) {
    running sum = running_empty();
    const spill_target target = spill_target_of(spills, row_id());
    for_rhs_elements(element, part, lane) {
        const part_words from_x = read_part(x, part, lane), from_y = read_part(y, part, lane);
        f64 s = f64_zero;
#pragma unroll
        for (uint word = 0; word < WORDS; ++word)
            s = plus_product(s, from_x.word[word], from_y.word[word]);
        running_add(&sum, s, target);
    }
    finish_group(&sum, 1, first_sum(1), partials, result, retired, spills, exchange);
}

// ⟨x_i, y_j⟩ of each right-hand side of x with each of y, sums 2(j·n_x + i) and 2(j·n_x + i) + 1. A launch row has FIELDS of x with one of y; rows are
// neighbours in the launch, so that groups that run at the same time read the same sites, from a cache all but the first. `parts`: those of y.
REDUCTION_KERNEL void rhs_gram(__global const stored* x, __global const stored* y, uint osites, uint parts,
                               uint rhs_parts, uint x_parts, REDUCTION_ARGUMENTS) {
    const uint rows_of_x = x_parts / (rhs_parts * FIELDS);
    const uint of_x = row_id() % rows_of_x * FIELDS * rhs_parts, of_y = row_id() / rows_of_x * rhs_parts;
    const ulong first = first_sum(2 * FIELDS);
    running sums[2 * FIELDS];
#pragma unroll
    for (uint k = 0; k < 2 * FIELDS; ++k)
        sums[k] = running_empty();
    for_elements(element, osites* rhs_parts* NSIMD) {
        const uint lane = element % NSIMD, row_part = element / NSIMD, part = row_part % rhs_parts;
        const ulong osite = stored_at(row_part / rhs_parts);
        const part_words from_y = read_part(y, osite * parts + of_y + part, lane);
#pragma unroll
        for (uint k = 0; k < FIELDS; ++k) {
            const part_words from_x = read_part(x, osite * x_parts + of_x + k * rhs_parts + part, lane);
            f64 re = f64_zero, im = f64_zero;
#pragma unroll
            for (uint word = 0; word < WORDS; ++word) {
                re = plus_product(re, from_x.word[word], from_y.word[word]);
                im = plus_imaginary_product(im, from_x.word[word], from_y.word[word]);
            }
            running_add_both(&sums[2 * k], re, spill_target_of(spills, first + 2 * k), &sums[2 * k + 1], im,
                             spill_target_of(spills, first + 2 * k + 1));
        }
    }
    finish_group(sums, 2 * FIELDS, first, partials, result, retired, spills, exchange);
}

// y_j ← y_j + Σ x_i·m_ij, i ascending: m has m_00, m_01, …, m_10, …, real and imaginary part of each. A work-item has a part of y, and its group the
// same part of other right-hand sides of y, which read the same of x. `parts`: those of y.
__kernel void rhs_madd(__global stored* y, __global const stored* x, __global const real* m, uint osites, uint parts,
                       uint rhs_parts, uint x_parts) {
    const uint lane = accelerator_lane();
    accelerator_for2d(osite, osites, part, parts) {
        const ulong at = (ulong)osite * parts + part;
        const uint rhs = part / rhs_parts, n_y = parts / rhs_parts;
        part_words z = read_part(y, at, lane);
        for (uint i = 0; i < x_parts / rhs_parts; ++i) {
            const part_words w = read_part(x, (ulong)osite * x_parts + i * rhs_parts + part % rhs_parts, lane);
            const cplx factor = (cplx)(m[2 * (i * n_y + rhs)], m[2 * (i * n_y + rhs) + 1]);
#pragma unroll
            for (uint word = 0; word < WORDS; ++word)
                z.word[word] = madd(factor, w.word[word], z.word[word]);
        }
        insert_all(y, at, WORDS, lane, z.word);
    }
}

// y ← a·x + y with the a of each right-hand side, and |y|² of each.
REDUCTION_KERNEL void rhs_axpy_norm(__global stored* y, __global const real* a, __global const stored* x, uint osites,
                                       uint parts, uint rhs_parts, REDUCTION_ARGUMENTS) {
    running sum = running_empty();
    const spill_target target = spill_target_of(spills, row_id());
    const real of_rhs = a[row_id()];
    for_rhs_elements(element, part, lane) {
        part_words z = axpy_part(of_rhs, read_part(x, part, lane), read_part(y, part, lane));
        insert_all(y, part, WORDS, lane, z.word);
        f64 s = f64_zero;
#pragma unroll
        for (uint word = 0; word < WORDS; ++word)
            s = plus_product(s, z.word[word], z.word[word]);
        running_add(&sum, s, target);
    }
    finish_group(&sum, 1, first_sum(1), partials, result, retired, spills, exchange);
}

// ψ ← a·p + ψ, then p ← b·p + r with the old p, with the a and b of each right-hand side: `scalars` holds all a, then all b.
__kernel void rhs_cg_update(__global stored* psi, __global stored* p, __global const stored* r,
                               __global const real* scalars, uint osites, uint parts, uint rhs_parts) {
    const uint lane = accelerator_lane();
    accelerator_for2d(osite, osites, part, parts) {
        const ulong at = (ulong)osite * parts + part;
        const uint rhs = part / rhs_parts;
        const part_words old_p = read_part(p, at, lane);
        part_words new_psi = axpy_part(scalars[rhs], old_p, read_part(psi, at, lane));
        part_words new_p = axpy_part(scalars[parts / rhs_parts + rhs], old_p, read_part(r, at, lane));
        insert_all(psi, at, WORDS, lane, new_psi.word);
        insert_all(p, at, WORDS, lane, new_p.word);
    }
}

// Right-hand side wanted[k] of `out` ← that of number k of x. `parts`: those of x.
__kernel void put_rhs(__global stored* out, __global const stored* x, __global const uint* wanted, uint osites,
                          uint parts, uint rhs_parts, uint out_parts) {
    const uint lane = accelerator_lane();
    accelerator_for2d(osite, osites, part, parts) {
        const ulong to = (ulong)osite * out_parts + wanted[part / rhs_parts] * rhs_parts + part % rhs_parts;
        part_words w = read_part(x, (ulong)osite * parts + part, lane);
        insert_all(out, to, WORDS, lane, w.word);
    }
}

// Right-hand side k of `out` ← wanted[k] of x.
__kernel void take_rhs(__global stored* out, __global const stored* x, __global const uint* wanted, uint osites,
                           uint parts, uint rhs_parts, uint x_parts) {
    const uint lane = accelerator_lane();
    accelerator_for2d(osite, osites, part, parts) {
        const ulong from = (ulong)osite * x_parts + wanted[part / rhs_parts] * rhs_parts + part % rhs_parts;
        part_words w = read_part(x, from, lane);
        insert_all(out, (ulong)osite * parts + part, WORDS, lane, w.word);
    }
}
