// What is nearer than memory: bandwidth of working sets of every size and of local memory, latency of loads that wait for each other, and a
// kernel that does nothing. Launched by crates/lab/src/peak/{caches,latency,launches}.rs.

// Bytes of an access: 16 on GPUs, 64 on CPUs.
#ifndef ELEMENT_BYTES
#define ELEMENT_BYTES 16
#endif
// Loads of a work-item that do not wait for each other.
#ifndef AT_ONCE
#define AT_ONCE 4
#endif

#include "hints.clh"

// out ← the sum of what is read in `loads` loads of a work-item, from place `at` on in steps of the group, of a set of mask + 1 elements (a power
// of two). Sums are of f32, since GPUs have twice as many units for them as for integers.
#define READ_AGAIN(ELEMENT)                                                                                            \
    const uint step = get_local_size(0);                                                                               \
    reals_t all[AT_ONCE];                                                                                              \
    _Pragma("unroll")                                                                                                  \
    for (uint k = 0; k < AT_ONCE; ++k)                                                                                 \
        all[k] = (reals_t)(0);                                                                                         \
    for (uint load = 0; load < loads; load += AT_ONCE) {                                                               \
        _Pragma("unroll")                                                                                              \
        for (uint k = 0; k < AT_ONCE; ++k)                                                                             \
            all[k] += ELEMENT((at + k * step) & mask);                                                                 \
        at += AT_ONCE * step;                                                                                          \
    }                                                                                                                  \
    reals_t sum = (reals_t)(0);                                                                                        \
    _Pragma("unroll")                                                                                                  \
    for (uint k = 0; k < AT_ONCE; ++k)                                                                                 \
        sum += all[k];                                                                                                 \
    out[get_global_id(0)] = sum

// Reads sets again and again. There are `sets` sets, one after the other, and groups take them in turn, so that those of one compute unit, which
// come `sets` groups after each other where there are as many sets as units, have the same one. Groups start `apart` elements from each other in
// it.
__kernel OF_GROUP void read_again(__global reals_t* restrict out, __global const element_t* restrict in, uint mask,
                                  uint sets, uint apart, uint loads) {
    const uint group = get_group_id(0);
    __global const element_t* set = in + (size_t)(group % sets) * ((size_t)mask + 1);
    uint at = (uint)get_local_id(0) + group / sets * apart;
#define OF_SET(place) AS_REALS(load_element(set + (place)))
    READ_AGAIN(OF_SET);
}

// The same of local memory, `mask` + 1 elements a group.
__kernel OF_GROUP void read_local_again(__global reals_t* restrict out, uint mask, uint loads, __local reals_t* restrict set) {
    for (uint place = get_local_id(0); place <= mask; place += get_local_size(0))
        set[place] = (reals_t)((float)place);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint at = get_local_id(0);
#define OF_LOCAL_SET(place) set[place]
    READ_AGAIN(OF_LOCAL_SET);
}

// Follows `steps` links from `at` on, a multiple of 8; out ← where that ends, and the sum of the places it came to.
#define CHASE(links)                                                                                                   \
    uint sum = 0;                                                                                                      \
    for (uint step = 0; step < steps; step += 8) {                                                                     \
        _Pragma("unroll")                                                                                              \
        for (uint k = 0; k < 8; ++k) {                                                                                 \
            at = links[at];                                                                                            \
            sum += at;                                                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    out[0] = at;                                                                                                       \
    out[1] = sum

__kernel void chase(__global uint* restrict out, __global const uint* restrict next, uint at, uint steps) {
    CHASE(next);
}

// The same in local memory, where n links are copied first.
__kernel void chase_local(__global uint* restrict out, __global const uint* restrict next, uint n, uint steps,
                          __local uint* restrict links) {
    for (uint place = get_local_id(0); place < n; place += get_local_size(0))
        links[place] = next[place];
    barrier(CLK_LOCAL_MEM_FENCE);
    uint at = 0;
    CHASE(links);
}

// Nothing: what is left is the launch.
__kernel void nothing(__global uint* restrict out) {
}
