// The Laplacian's hop (docs/arithmetic.md §15): each work-item computes one lane of one output site, for VECTORS_AT_ONCE of the colour vectors
// there. For each of eight legs it reads the leg's link once, multiplies the neighbour's vectors by it, and adds the products to its results,
// which stay in registers. Traffic a site: eight links and each vector read once, each result written once; the other seven neighbour reads
// should hit in cache. Counterpart: reference/src/kernels/laplace.rs.

#include "accelerator.clh"
#include "legs.clh"
#include "su3.clh"

// Colour vectors of a site that one work-item takes, so that it reads each link once for all of them: 1 or more, as registers allow.
#ifndef VECTORS_AT_ONCE
#define VECTORS_AT_ONCE 1
#endif

#define VECTOR_WORDS 3

typedef struct {
    __global const stored* restrict links;
    __global const stored* restrict in;
    __global const uint* restrict neighbours;
    __global const uint* restrict lane_steps;
    uint boundary;
    // Colour vectors of a site, and the first of them that this work-item takes.
    uint vectors;
    uint first;
} laplace_inputs;

// result[k] ← the link of leg `point` times the neighbour's vector if it is the first leg, else result[k] + this product. `point` and `first`
// are constants at every call.
accelerator_inline void add_leg(const uint point, const int first, size_t osite, laplace_inputs f, colour_vector* result) {
    const leg_end end = find_neighbour(point, osite, f.neighbours, f.lane_steps, f.boundary);
    const colour_matrix u = read_link(f.links, osite, point, end.phase);
#pragma unroll
    for (uint k = 0; k < VECTORS_AT_ONCE; ++k) {
        const size_t site = (size_t)end.osite * f.vectors + f.first + k;
        colour_vector h;
        extract_neighbour(f.in, point, end, site, VECTOR_WORDS, h.element);
#pragma unroll
        for (uint colour = 0; colour < 3; ++colour) {
            const cplx w = row_times_vector(u.row[colour], h);
            result[k].element[colour] = first ? w : result[k].element[colour] + w;
        }
    }
}

// out ← laplace_hop(in). `out`: `vectors` colour vectors on the output sites, a multiple of VECTORS_AT_ONCE; `links`: their doubled links;
// `in`: as many colour vectors on the sites that `neighbours` names. Launched over (lane, vectors / VECTORS_AT_ONCE, osite): work-items of a
// group that share a site find its links in the nearest cache.
STENCIL_KERNEL void laplace_hop(__global stored* restrict out, HOP_ARGUMENTS, uint vectors) {
    accelerator_for2d(osite, osites, part, vectors / VECTORS_AT_ONCE) {
        const laplace_inputs f = {links, in, neighbours, lane_steps, boundary, vectors, part * VECTORS_AT_ONCE};
        colour_vector sum[VECTORS_AT_ONCE];
        add_leg(LEG_0, 1, osite, f, sum);
        add_leg(LEG_1, 0, osite, f, sum);
        add_leg(LEG_2, 0, osite, f, sum);
        add_leg(LEG_3, 0, osite, f, sum);
        add_leg(LEG_4, 0, osite, f, sum);
        add_leg(LEG_5, 0, osite, f, sum);
        add_leg(LEG_6, 0, osite, f, sum);
        add_leg(LEG_7, 0, osite, f, sum);
#pragma unroll
        for (uint k = 0; k < VECTORS_AT_ONCE; ++k) {
            cplx words[VECTOR_WORDS];
#pragma unroll
            for (uint colour = 0; colour < 3; ++colour)
                words[colour] = (real)2 * sum[k].element[colour];
            coalesced_write_all(out, (size_t)osite * f.vectors + f.first + k, VECTOR_WORDS, words);
        }
    }
}
