// The Wilson hop (docs/arithmetic.md §6; Grid's Dhop). Each work-item computes one lane of one output site: for each of eight
// legs it reads the neighbour's spinor, projects it to two spins, multiplies them by the leg's link, and adds the four rows
// that follow to its result, which stays in registers until the end. The same kernel serves the full lattice and one parity:
// only the tables and the links differ. Traffic a site: eight links and one spinor read once, one spinor written; the other
// seven neighbour reads should hit in cache. Counterpart: reference/src/kernels/hop.rs.

#include "accelerator.clh"
#include "spin.clh"
#include "su3.clh"

// The order in which the legs are added: points, 0…3 = +x +y +z +t, 4…7 = −x −y −z −t. Part of the operator's definition.
// The default is −t −y −z +t +y +z −x +x.
#ifndef LEG_0
#define LEG_0 7
#define LEG_1 5
#define LEG_2 6
#define LEG_3 3
#define LEG_4 1
#define LEG_5 2
#define LEG_6 4
#define LEG_7 0
#endif

// In `neighbours`: the neighbour is in another lane. In `lane_steps`: the step leaves the lattice.
#define TOP_BIT 0x80000000u

#define SPINOR_WORDS 12

typedef struct {
    colour_vector spin[4];
} spinor;

typedef struct {
    __global const cplx* restrict links;
    __global const cplx* restrict in;
    __global const uint* restrict neighbours;
    __global const uint* restrict lane_steps;
    uint antiperiodic;
} hop_inputs;

// result ← the rows of leg `point` if it is the first one, else result + these rows. `point`, `dagger` and `first` are
// constants at every call.
accelerator_inline void add_leg(const uint point, const int dagger, const int first, size_t osite, hop_inputs f,
                           spinor* result) {
    const int direction = point & 3;
    const int backward = point >= 4;
    const int plus = dagger ? !backward : backward;

    const uint neighbour = f.neighbours[osite * 8 + point];
    // Read whether needed or not: with a branch here, LLVM moves the arithmetic of all legs behind the last of eight branches,
    // which keeps every load's result in a register until then.
    const uint step = f.lane_steps[point * NSIMD + accelerator_lane()];
    const int edge = (neighbour & TOP_BIT) != 0;
    const uint lane = edge ? step & ~TOP_BIT : accelerator_lane();
    const int flips = edge && (step & TOP_BIT) && ((f.antiperiodic >> direction) & 1);
    const real phase = flips ? -1 : 1;

    const colour_matrix u = read_link(f.links, osite, point, phase);

    colour_vector h0, h1;
#pragma unroll
    for (uint colour = 0; colour < 3; ++colour) {
        const size_t site = neighbour & ~TOP_BIT;
        project(direction, plus, extract_lane(f.in, site, colour, SPINOR_WORDS, lane),
                extract_lane(f.in, site, 3 + colour, SPINOR_WORDS, lane),
                extract_lane(f.in, site, 6 + colour, SPINOR_WORDS, lane),
                extract_lane(f.in, site, 9 + colour, SPINOR_WORDS, lane), &h0.element[colour], &h1.element[colour]);
    }

#pragma unroll
    for (uint colour = 0; colour < 3; ++colour) {
        const cplx w0 = row_times_vector(u.row[colour], h0);
        const cplx w1 = row_times_vector(u.row[colour], h1);
        cplx w2, w3;
        reconstruct(direction, plus, w0, w1, &w2, &w3);
        result->spin[0].element[colour] = first ? w0 : result->spin[0].element[colour] + w0;
        result->spin[1].element[colour] = first ? w1 : result->spin[1].element[colour] + w1;
        result->spin[2].element[colour] = first ? w2 : result->spin[2].element[colour] + w2;
        result->spin[3].element[colour] = first ? w3 : result->spin[3].element[colour] + w3;
    }
}

accelerator_inline void hop_site(const int dagger, size_t osite, hop_inputs f, __global cplx* restrict out) {
    spinor result;
    add_leg(LEG_0, dagger, 1, osite, f, &result);
    add_leg(LEG_1, dagger, 0, osite, f, &result);
    add_leg(LEG_2, dagger, 0, osite, f, &result);
    add_leg(LEG_3, dagger, 0, osite, f, &result);
    add_leg(LEG_4, dagger, 0, osite, f, &result);
    add_leg(LEG_5, dagger, 0, osite, f, &result);
    add_leg(LEG_6, dagger, 0, osite, f, &result);
    add_leg(LEG_7, dagger, 0, osite, f, &result);
#pragma unroll
    for (uint word = 0; word < SPINOR_WORDS; ++word)
        coalesced_write(out, osite, word, SPINOR_WORDS, result.spin[word / 3].element[word % 3]);
}

// out ← hop(in). `out`: a spinor on the output sites; `links`: their doubled links (word = point·LINK_REALS/2 + 3·row +
// column); `in`: a spinor on the sites that `neighbours` names.
// `neighbours[osite·8 + point]`: bits 0–30 the neighbour's osite; bit 31 clear: it is in the same lane; set: it is in lane
// `lane_steps[point·NSIMD + lane]` (bits 0–30), and bit 31 of that says whether this lane's step leaves the lattice.
// `antiperiodic`: bit μ set = boundary phase −1 in direction μ; read only with LINK_REALS 12.
__kernel void hop(__global cplx* restrict out, __global const cplx* restrict links, __global const cplx* restrict in,
                  __global const uint* restrict neighbours, __global const uint* restrict lane_steps, uint osites,
                  uint antiperiodic) {
    const hop_inputs f = {links, in, neighbours, lane_steps, antiperiodic};
    accelerator_for(osite, osites) { hop_site(0, osite, f, out); }
}

// out ← hop†(in): the signs of the projectors swapped, all else as in `hop`.
__kernel void hop_dagger(__global cplx* restrict out, __global const cplx* restrict links,
                         __global const cplx* restrict in, __global const uint* restrict neighbours,
                         __global const uint* restrict lane_steps, uint osites, uint antiperiodic) {
    const hop_inputs f = {links, in, neighbours, lane_steps, antiperiodic};
    accelerator_for(osite, osites) { hop_site(1, osite, f, out); }
}
