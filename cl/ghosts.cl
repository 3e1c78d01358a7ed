// What neighbouring parts of a lattice send each other: components of sites are packed in the order of faces, and unpacked to where a field holds its
// neighbours (docs/ranks.md). A work-item moves one stored word of a component. Counterpart: reference/src/kernels/ghosts.rs.
//
//   COMPONENT_WORDS     complex words of a component
//   PROJECTED           of a spinor the two spins are packed that the leg projects out, for DAGGER the legs of the Hermitian conjugate
//
// `places[site]`: (osite·NSIMD + lane, point of the leg).

#include "accelerator.clh"
#include "complex.clh"

#ifndef COMPONENT_WORDS
#define COMPONENT_WORDS 12
#endif
#ifndef DAGGER
#define DAGGER 0
#endif

#define FIELD_WORDS STORED_WORDS(COMPONENT_WORDS)
#ifdef PROJECTED
#define PACKET_WORDS 6
#else
#define PACKET_WORDS FIELD_WORDS
#endif

// One stored word of a component. In the order of the loops below its number is no constant.
#define WORD_AT(field, osite, part, parts, word, lane)                                                                 \
    field[lane_index((ulong)(osite) * (parts) + (part), word, FIELD_WORDS, lane)]

#ifdef PROJECTED
// The rows that 1 + γ adds to rows 0 and 1 in x, y, z, t, and the power of i that each is multiplied by; 1 − γ subtracts them.
__constant uchar ADDED_ROW[8] = {3, 2, 3, 2, 2, 3, 2, 3};
__constant uchar ADDED_POWER[8] = {1, 1, 2, 0, 1, 3, 0, 0};

accelerator_inline uint added_row(uint point, uint spin) { return ADDED_ROW[2 * (point & 3) + spin]; }
accelerator_inline uint added_power(uint point, uint spin) {
    const uint backward = point >= 4, plus = DAGGER ? !backward : backward;
    return (ADDED_POWER[2 * (point & 3) + spin] + (plus ? 0 : 2)) & 3;
}

accelerator_inline stored times_power_of_i(uint power, stored a) {
    const stored turned = power & 1 ? (stored)(-a.y, a.x) : a;
    return power & 2 ? -turned : turned;
}

// What becomes −0 − 0i when it is multiplied by a power of i: to add that changes no number, −0 included.
accelerator_inline stored nothing(uint power) {
    const real minus = -0.0f, plus = 0.0f;
    return power == 0 ? (stored)(minus, minus)
           : power == 1 ? (stored)(minus, plus)
           : power == 2 ? (stored)(plus, plus)
                        : (stored)(plus, minus);
}
#endif

// The block that follows runs for each word of a packet.
#define for_packet_words(words, site, part, word, count, parts)                                                        \
    const uint site##_item = (uint)get_global_id(0);                                                                   \
    const uint word = site##_item % (words), part = site##_item / (words) % (parts), site = site##_item / (words) / (parts); \
    if (site < (count))

__kernel void pack_ghosts(__global stored* restrict packet, __global const stored* restrict in,
                          __global const uint2* restrict places, uint count, uint parts) {
    for_packet_words(PACKET_WORDS, site, part, word, count, parts) {
        const uint osite = places[site].x / NSIMD, lane = places[site].x % NSIMD;
        stored sent = WORD_AT(in, osite, part, parts, word, lane);
#ifdef PROJECTED
        const uint spin = word / 3, colour = word % 3, point = places[site].y;
        sent += times_power_of_i(added_power(point, spin),
                                 WORD_AT(in, osite, part, parts, 3 * added_row(point, spin) + colour, lane));
#endif
        packet[((ulong)site * parts + part) * PACKET_WORDS + word] = sent;
    }
}

__kernel void unpack_ghosts(__global stored* restrict in, __global const stored* restrict packet,
                            __global const uint2* restrict places, uint count, uint parts) {
    for_packet_words(FIELD_WORDS, site, part, word, count, parts) {
        const uint osite = places[site].x / NSIMD, lane = places[site].x % NSIMD;
        const ulong component = (ulong)site * parts + part;
#ifdef PROJECTED
        const uint point = places[site].y;
        const uint spin = word / 3 == added_row(point, 0) ? 0 : 1;
        const stored held = word < 6 ? packet[component * PACKET_WORDS + word] : nothing(added_power(point, spin));
#else
        const stored held = packet[component * PACKET_WORDS + word];
#endif
        WORD_AT(in, osite, part, parts, word, lane) = held;
    }
}
