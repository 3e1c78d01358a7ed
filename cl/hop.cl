// The Wilson hop (docs/arithmetic.md §6; Grid's Dhop). Each work-item computes one lane, or all, of one output site. The same kernels serve the full
// lattice and one parity: only the tables and the links differ. Traffic a site: eight links and one spinor read once, one spinor
// written; the other seven neighbour reads should hit in cache. Counterpart: reference/src/kernels/hop.rs.

#include "hop.clh"

// `inside`: whether the result is to be stored.
accelerator_inline void hop_and_store(const int dagger, ulong osite, hop_inputs f, const uint inside,
                                      __global stored* restrict out) {
    spinor result[SPINORS_AT_ONCE];
    hop_site(dagger, osite, f, result);
    if (!inside)
        return;
#pragma unroll
    for (uint k = 0; k < SPINORS_AT_ONCE; ++k)
        write_spinor(out, osite * f.spinors + f.first + k, result[k]);
}

#if SPINORS_AT_ONCE == 1 && !defined(LINKS_SHARED)
// out ← hop(in). `out`: a spinor on the output sites; `links`: their doubled links (word = point·LINK_REALS/2 + 3·row +
// column); `in`: a spinor on the sites that `neighbours` names.
STENCIL_KERNEL void hop(__global stored* restrict out, HOP_ARGUMENTS) {
    const hop_inputs f = {links, in, neighbours, lane_steps, boundary, osites, 1, 0 STAGE_OF_ITEM};
    accelerator_for(osite, osites) { hop_and_store(0, osite, f, 1, out); }
}

// out ← hop†(in): the signs of the projectors swapped, all else as in `hop`.
STENCIL_KERNEL void hop_dagger(__global stored* restrict out, HOP_ARGUMENTS) {
    const hop_inputs f = {links, in, neighbours, lane_steps, boundary, osites, 1, 0 STAGE_OF_ITEM};
    accelerator_for(osite, osites) { hop_and_store(1, osite, f, 1, out); }
}
#endif

// The same for `count` of `spinors` spinors a site, from number `first` on, launched over (lane, count / SPINORS_AT_ONCE, osite): work-items of
// a group that share a site find its links in the nearest cache.
#define SOME_SPINORS(part)                                                                                             \
    {links, in, neighbours, lane_steps, boundary, osites, spinors, first + (part) * SPINORS_AT_ONCE STAGE_OF_ITEM SHARED_LINKS_OF_ITEM}

STENCIL_KERNEL void hop_many(__global stored* restrict out, HOP_ARGUMENTS, uint spinors, uint first, uint count) {
    accelerator_for2d_together(osite, osites, part, count / SPINORS_AT_ONCE, inside) {
        ASK_FOR_NEXT_LINKS(osite, part, count / SPINORS_AT_ONCE);
        const hop_inputs f = SOME_SPINORS(part);
        hop_and_store(0, osite, f, inside, out);
    }
}

STENCIL_KERNEL void hop_many_dagger(__global stored* restrict out, HOP_ARGUMENTS, uint spinors, uint first,
                                    uint count) {
    accelerator_for2d_together(osite, osites, part, count / SPINORS_AT_ONCE, inside) {
        ASK_FOR_NEXT_LINKS(osite, part, count / SPINORS_AT_ONCE);
        const hop_inputs f = SOME_SPINORS(part);
        hop_and_store(1, osite, f, inside, out);
    }
}
