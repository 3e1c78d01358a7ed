// The staggered hop (docs/arithmetic.md §16): each work-item computes one lane of one output site, for VECTORS_AT_ONCE of the colour vectors
// there: the sum over the legs (colour_vectors.clh), each product with its sign. The phases of a site are the exclusive or of two small tables, one of
// outer sites and one of lanes (reference/src/layout/phases.rs): 4 bytes an outer site beside its links. Traffic a site: eight links and each
// vector read once, each result written once; the other seven neighbour reads should hit in cache. Counterpart: reference/src/kernels/staggered.rs.

#include "colour_vectors.clh"

// The phases of a work-item's lanes at a site: bit μ set for −1 in direction μ.
#if LANES > 1
typedef uint lane_bits __attribute__((ext_vector_type(NSIMD)));
#else
typedef uint lane_bits;
#endif

accelerator_inline lane_bits read_phases(__global const uint* restrict site_signs, __global const uint* restrict lane_signs,
                                         size_t osite) {
    lane_bits phases;
#if LANES > 1
#pragma unroll
    for (uint lane = 0; lane < NSIMD; ++lane)
        phases[lane] = lane_signs[lane];
#else
    phases = lane_signs[accelerator_lane()];
#endif
    return phases ^ site_signs[osite];
}

// The sign of leg `point`, a constant at every call: −η of a forward leg, η of a backward one. η is always 1 in direction x.
accelerator_inline vreal leg_sign(const uint point, lane_bits phases) {
    const real positive = point < 4 ? -1 : 1;
    if ((point & 3) == 0)
        return positive;
    const lane_bits negative = (phases >> (point & 3)) & 1;
#if LANES > 1
    return positive - 2 * positive * __builtin_convertvector(negative, vreal);
#else
    return negative ? -positive : positive;
#endif
}

#define ADD_SIGNED_PRODUCT(point, first) add_leg(point, first, osite, f, sum, 1, leg_sign(point, phases))

// out ← staggered_hop(in). `out`: `vectors` colour vectors on the output sites, a multiple of VECTORS_AT_ONCE; `links`: their doubled links;
// `in`: as many colour vectors on the sites that `neighbours` names. `site_signs[osite]` and `lane_signs[lane]`: the phases of the output sites.
// Launched over (lane, vectors / VECTORS_AT_ONCE, osite): work-items of a group that share a site find its links in the nearest cache.
STENCIL_KERNEL void staggered_hop(__global stored* restrict out, HOP_ARGUMENTS, uint vectors,
                                  __global const uint* restrict site_signs, __global const uint* restrict lane_signs) {
    accelerator_for2d(osite, osites, part, vectors / VECTORS_AT_ONCE) {
        const vector_hop_inputs f = {links, in, neighbours, lane_steps, boundary, vectors, part * VECTORS_AT_ONCE};
        const lane_bits phases = read_phases(site_signs, lane_signs, osite);
        colour_vector sum[VECTORS_AT_ONCE];
        FOR_LEGS(ADD_SIGNED_PRODUCT);
        write_vectors(out, osite, f, sum);
    }
}
