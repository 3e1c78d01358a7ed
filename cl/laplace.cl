// The Laplacian's hop (docs/arithmetic.md §15): each work-item computes one lane of one output site, for VECTORS_AT_ONCE of the colour vectors
// there: the sum over the legs (colour_vectors.clh), times 2. Traffic a site: eight links and each vector read once, each result written once; the
// other seven neighbour reads should hit in cache. Counterpart: reference/src/kernels/laplace.rs.

#include "colour_vectors.clh"

#define ADD_PRODUCT(point, first) add_leg(point, first, osite, f, sum, 0, 1)

// out ← laplace_hop(in). `out`: `vectors` colour vectors on the output sites, a multiple of VECTORS_AT_ONCE; `links`: their doubled links;
// `in`: as many colour vectors on the sites that `neighbours` names. Launched over (lane, vectors / VECTORS_AT_ONCE, osite): work-items of a
// group that share a site find its links in the nearest cache.
STENCIL_KERNEL void laplace_hop(__global stored* restrict out, HOP_ARGUMENTS, uint vectors) {
    accelerator_for2d(osite, osites, part, vectors / VECTORS_AT_ONCE) {
        const vector_hop_inputs f = {links, in, neighbours, lane_steps, boundary, vectors, part * VECTORS_AT_ONCE};
        colour_vector sum[VECTORS_AT_ONCE];
        FOR_LEGS(ADD_PRODUCT);
#pragma unroll
        for (uint k = 0; k < VECTORS_AT_ONCE; ++k)
#pragma unroll
            for (uint colour = 0; colour < 3; ++colour)
                sum[k].element[colour] = (real)2 * sum[k].element[colour];
        write_vectors(out, osite, f, sum);
    }
}
