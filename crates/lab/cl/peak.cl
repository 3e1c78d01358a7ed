// The ceilings that memory-bound kernels are compared with: reading, writing, copying and a triad, which are as simple for the memory
// system as kernels can be. Elements are integers on their way, so that no bit pattern is touched. Counterparts:
// src/backend/bandwidth/host.rs (the same on the CPU's threads), device.rs (the launches).

// Bytes of an access of a work-item: 4, 8, 16 or 64.
#ifndef ELEMENT_BYTES
#define ELEMENT_BYTES 16
#endif
// Elements that a work-item asks for before it looks at any.
#ifndef AT_ONCE
#define AT_ONCE 8
#endif

#include "hints.clh"

// USEs the ELEMENT of each place of this work-item; AT_ONCE of them are there before any is used. With a chunk of 0 the whole launch steps
// over all n elements; else each group steps over `chunk` elements of its own, one after the other.
#define STREAM(n, chunk, ELEMENT, USE)                                                                                 \
    const ulong step = (chunk) == 0 ? get_global_size(0) : get_local_size(0);                                         \
    const ulong end = (chunk) == 0 ? (n) : min((ulong)(n), (get_group_id(0) + 1) * (ulong)(chunk));                 \
    ulong place = (chunk) == 0 ? get_global_id(0) : get_group_id(0) * (ulong)(chunk) + get_local_id(0);              \
    for (; place + (AT_ONCE - 1) * step < end; place += AT_ONCE * step) {                                              \
        element_t some[AT_ONCE];                                                                                       \
        _Pragma("unroll")                                                                                              \
        for (uint k = 0; k < AT_ONCE; ++k)                                                                             \
            some[k] = ELEMENT(place + k * step);                                                                       \
        _Pragma("unroll")                                                                                              \
        for (uint k = 0; k < AT_ONCE; ++k)                                                                             \
            USE(place + k * step, some[k]);                                                                            \
    }                                                                                                                  \
    for (; place < end; place += step)                                                                                 \
        USE(place, ELEMENT(place))

// Signed numbers from 1 to 2, a hash of their place: every bit of a bus toggles, and nothing can be compressed. Counterpart:
// `random_word` in device.rs.
static inline uint random_word(uint place) {
    uint hash = place * 2654435761u;
    hash ^= hash >> 15;
    hash *= 2246822519u;
    hash ^= hash >> 13;
    return (hash & 0x807fffffu) | 0x3f800000u;
}

// out ← n random words, the first of them number `first`.
__kernel void fill_random(__global uint* restrict out, uint first, ulong n) {
    const size_t place = get_global_id(0);
    if (place < n)
        out[place] = random_word(first + (uint)place);
}

#define LOAD(place) load_element(in + (place))
#define STORE(place, element) store_element(out + (place), element)

// Reads n elements; out receives something only if they are of a kind that nobody stores, so that no read is left out.
__kernel OF_GROUP void read_stream(__global element_t* restrict out, __global const element_t* restrict in, ulong n, ulong chunk) {
    element_t all = (element_t)(0);
#define JOIN(place, element) all ^= element
    STREAM(n, chunk, LOAD, JOIN);
    if (is_strange(all))
        out[0] = all;
}

// out ← its places, hashed.
__kernel OF_GROUP void write_stream(__global element_t* restrict out, ulong n, ulong chunk) {
#define HASH(place) (element_t)((uint)(place) * 2654435761u)
    STREAM(n, chunk, HASH, STORE);
}

// out ← in.
__kernel OF_GROUP void copy_stream(__global element_t* restrict out, __global const element_t* restrict in, ulong n, ulong chunk) {
    STREAM(n, chunk, LOAD, STORE);
}

// out ← x + s · y, of f32, fused.
__kernel OF_GROUP void triad_stream(__global element_t* restrict out, __global const element_t* restrict x,
                           __global const element_t* restrict y, float s, ulong n, ulong chunk) {
#define TRIAD(place) fma_element(s, load_element(y + (place)), load_element(x + (place)))
    STREAM(n, chunk, TRIAD, STORE);
}
