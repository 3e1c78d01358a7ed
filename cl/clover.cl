// Products of the two Hermitian 6×6 blocks of a site with spinors (docs/arithmetic.md §13), alone and after a hop: the kernels EOClover and
// OEClover of even-odd preconditioned clover fermions. The hop stays with the work-item, and is not stored. Traffic a site beside the hop's:
// 36 words of blocks, and for OEClover the spinor χ. The blocks are made by clover_term.cl.
// With ACCUMULATORS_IN_LOCAL a work-item adds up its hop in local memory, 12 words each, as the first GPU versions of these kernels did to
// save registers; the bits are the same. To build sooner, a program has the product alone (APPLY_ONLY), or the kernels after a hop for one
// spinor a site, or those for many (MANY).
// Counterpart: reference/src/kernels/clover.rs.

#include "hop.clh"

// Words of a block: 0…2 the diagonal, two real numbers a word; then the strict upper triangle row by row.
#define BLOCK_WORDS 18

// Blocks, too, are read once, unless many spinors a site share them.
#ifdef MANY
#define BLOCKS_PAST_L1 0
#else
#define BLOCKS_PAST_L1 1
#endif

// Word of element (i, j), i < j.
#define UPPER(i, j) (3 + 15 - (6 - (i)) * (5 - (i)) / 2 + (j) - (i) - 1)

// Rows 6·block… of the blocks of an outer site times x. `block` is a constant at every call.
accelerator_inline void times_block(const uint block, __global const stored* restrict blocks, ulong osite, spinor x,
                                    spinor* y) {
    cplx c[BLOCK_WORDS];
    extract_words(blocks, 2 * osite + block, 0, BLOCK_WORDS, BLOCK_WORDS, accelerator_lane(), BLOCKS_PAST_L1, c);
#pragma unroll
    for (uint i = 0; i < 6; ++i) {
        const vreal diagonal = i % 2 ? imaginary_part(c[i / 2]) : real_part(c[i / 2]);
        cplx sum = times_real(diagonal, x.spin[2 * block + i / 3].element[i % 3]);
#pragma unroll
        for (uint j = 0; j < 6; ++j) {
            const cplx xj = x.spin[2 * block + j / 3].element[j % 3];
            if (i < j)
                sum = madd(c[UPPER(i, j)], xj, sum);
            else if (i > j)
                sum = madd(conj(c[UPPER(j, i)]), xj, sum);
        }
        y->spin[2 * block + i / 3].element[i % 3] = sum;
    }
}

accelerator_inline spinor times_blocks(__global const stored* restrict blocks, ulong osite, spinor x) {
    spinor y;
    times_block(0, blocks, osite, x, &y);
    times_block(1, blocks, osite, x, &y);
    return y;
}

#ifdef APPLY_ONLY

// out ← blocks · in, for `spinors` spinors a site, launched over (lane, spinor, osite).
SITE_KERNEL void clover_apply(__global stored* restrict out, __global const stored* restrict blocks,
                           __global const stored* restrict in, uint osites, uint spinors) {
    accelerator_for2d(osite, osites, part, spinors) {
        const ulong which = (ulong)osite * spinors + part;
        write_spinor(out, which, times_blocks(blocks, osite, read_spinor(in, which)));
    }
}

#else

#ifdef ACCUMULATORS_IN_LOCAL
// SPINOR_WORDS · SPINORS_AT_ONCE words for each work-item of a group.
#define ACCUMULATORS_ARGUMENT , __local cplx *restrict memory
#define ACCUMULATORS(sum) const accumulators sum = {memory + item_of_group(), items_of_group()}
#else
#define ACCUMULATORS_ARGUMENT
#define ACCUMULATORS(sum) spinor sum[SPINORS_AT_ONCE]
#endif

// Spinor k of the hop.
accelerator_inline spinor hop_of(accumulators sum, const uint k) {
    spinor s;
#pragma unroll
    for (uint word = 0; word < SPINOR_WORDS; ++word)
        s.spin[word / 3].element[word % 3] = ACCUMULATOR(sum, k, word);
    return s;
}

// out ← blocks · hop(in). `inside`: whether it is to be stored.
accelerator_inline void eo_site(const int dagger, ulong osite, hop_inputs f, const uint inside, accumulators sum,
                                __global const stored* restrict blocks, __global stored* restrict out) {
    hop_site(dagger, osite, f, sum);
    if (!inside)
        return;
#pragma unroll
    for (uint k = 0; k < SPINORS_AT_ONCE; ++k)
        write_spinor(out, osite * f.spinors + f.first + k, times_blocks(blocks, osite, hop_of(sum, k)));
}

// out ← blocks · chi − hop(in).
accelerator_inline void oe_site(const int dagger, ulong osite, hop_inputs f, const uint inside, accumulators sum,
                                __global const stored* restrict blocks, __global const stored* restrict chi,
                                __global stored* restrict out) {
    hop_site(dagger, osite, f, sum);
    if (!inside)
        return;
#pragma unroll
    for (uint k = 0; k < SPINORS_AT_ONCE; ++k) {
        const ulong which = osite * f.spinors + f.first + k;
        spinor y = times_blocks(blocks, osite, read_spinor(chi, which));
#pragma unroll
        for (uint word = 0; word < SPINOR_WORDS; ++word)
            y.spin[word / 3].element[word % 3] -= ACCUMULATOR(sum, k, word);
        write_spinor(out, which, y);
    }
}

#ifndef MANY
#define ONE_SPINOR {links, in, neighbours, lane_steps, boundary, osites, 1, 0 STAGE_OF_ITEM}

// ψe = Mee⁻¹ Meo ψo: `blocks` are the inverse ones. The other arguments are those of `hop`.
STENCIL_KERNEL void eo_clover(__global stored* restrict out, __global const stored* restrict blocks,
                              HOP_ARGUMENTS ACCUMULATORS_ARGUMENT) {
    const hop_inputs f = ONE_SPINOR;
    ACCUMULATORS(sum);
    accelerator_for(osite, osites) { eo_site(0, osite, f, 1, sum, blocks, out); }
}

STENCIL_KERNEL void eo_clover_dagger(__global stored* restrict out, __global const stored* restrict blocks,
                                     HOP_ARGUMENTS ACCUMULATORS_ARGUMENT) {
    const hop_inputs f = ONE_SPINOR;
    ACCUMULATORS(sum);
    accelerator_for(osite, osites) { eo_site(1, osite, f, 1, sum, blocks, out); }
}

// χo = Moo χ − Moe ψe: `blocks` are those of the term.
STENCIL_KERNEL void oe_clover(__global stored* restrict out, __global const stored* restrict blocks,
                              __global const stored* restrict chi, HOP_ARGUMENTS ACCUMULATORS_ARGUMENT) {
    const hop_inputs f = ONE_SPINOR;
    ACCUMULATORS(sum);
    accelerator_for(osite, osites) { oe_site(0, osite, f, 1, sum, blocks, chi, out); }
}

STENCIL_KERNEL void oe_clover_dagger(__global stored* restrict out, __global const stored* restrict blocks,
                                     __global const stored* restrict chi, HOP_ARGUMENTS ACCUMULATORS_ARGUMENT) {
    const hop_inputs f = ONE_SPINOR;
    ACCUMULATORS(sum);
    accelerator_for(osite, osites) { oe_site(1, osite, f, 1, sum, blocks, chi, out); }
}
#else

// The same for `spinors` spinors a site, launched as hop_many.
#define SOME_SPINORS(part)                                                                                             \
    {links, in, neighbours, lane_steps, boundary, osites, spinors, (part) * SPINORS_AT_ONCE STAGE_OF_ITEM SHARED_LINKS_OF_ITEM}

STENCIL_KERNEL void eo_clover_many(__global stored* restrict out, __global const stored* restrict blocks, HOP_ARGUMENTS,
                                   uint spinors ACCUMULATORS_ARGUMENT) {
    ACCUMULATORS(sum);
    accelerator_for2d_together(osite, osites, part, spinors / SPINORS_AT_ONCE, inside) {
        ASK_FOR_NEXT_LINKS(osite, part, spinors / SPINORS_AT_ONCE);
        const hop_inputs f = SOME_SPINORS(part);
        eo_site(0, osite, f, inside, sum, blocks, out);
    }
}

STENCIL_KERNEL void eo_clover_many_dagger(__global stored* restrict out, __global const stored* restrict blocks,
                                          HOP_ARGUMENTS, uint spinors ACCUMULATORS_ARGUMENT) {
    ACCUMULATORS(sum);
    accelerator_for2d_together(osite, osites, part, spinors / SPINORS_AT_ONCE, inside) {
        ASK_FOR_NEXT_LINKS(osite, part, spinors / SPINORS_AT_ONCE);
        const hop_inputs f = SOME_SPINORS(part);
        eo_site(1, osite, f, inside, sum, blocks, out);
    }
}

STENCIL_KERNEL void oe_clover_many(__global stored* restrict out, __global const stored* restrict blocks,
                                   __global const stored* restrict chi, HOP_ARGUMENTS,
                                   uint spinors ACCUMULATORS_ARGUMENT) {
    ACCUMULATORS(sum);
    accelerator_for2d_together(osite, osites, part, spinors / SPINORS_AT_ONCE, inside) {
        ASK_FOR_NEXT_LINKS(osite, part, spinors / SPINORS_AT_ONCE);
        const hop_inputs f = SOME_SPINORS(part);
        oe_site(0, osite, f, inside, sum, blocks, chi, out);
    }
}

STENCIL_KERNEL void oe_clover_many_dagger(__global stored* restrict out, __global const stored* restrict blocks,
                                          __global const stored* restrict chi, HOP_ARGUMENTS,
                                          uint spinors ACCUMULATORS_ARGUMENT) {
    ACCUMULATORS(sum);
    accelerator_for2d_together(osite, osites, part, spinors / SPINORS_AT_ONCE, inside) {
        ASK_FOR_NEXT_LINKS(osite, part, spinors / SPINORS_AT_ONCE);
        const hop_inputs f = SOME_SPINORS(part);
        oe_site(1, osite, f, inside, sum, blocks, chi, out);
    }
}

#endif
#endif
