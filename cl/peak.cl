// The ceilings that memory-bound kernels are compared with: a copy of 16-byte elements, one a work-item, and a read of such
// elements, which are as simple for the memory system as kernels can be. Elements are integers, so that no bit pattern is touched
// on its way. Counterpart: src/backend/bandwidth.rs (the CPU's bandwidths are measured there).

// out ← in, n elements of 16 bytes.
__kernel void copy_ceiling(__global uint4* restrict out, __global const uint4* restrict in, ulong n) {
    const size_t element = get_global_id(0);
    if (element < n)
        out[element] = in[element];
}

// Elements that a work-item asks for before it looks at any.
#ifndef READ_AT_ONCE
#define READ_AT_ONCE 8
#endif

// Reads n elements of 16 bytes; out receives something only if they are of a kind that nobody stores, so that no read is left out.
__kernel void read_ceiling(__global uint4* restrict out, __global const uint4* restrict in, ulong n) {
    const size_t stride = get_global_size(0);
    uint4 all = (uint4)(0);
    size_t element = get_global_id(0);
    for (; element + (READ_AT_ONCE - 1) * stride < n; element += READ_AT_ONCE * stride) {
        uint4 some[READ_AT_ONCE];
#pragma unroll
        for (uint k = 0; k < READ_AT_ONCE; ++k)
            some[k] = in[element + k * stride];
#pragma unroll
        for (uint k = 0; k < READ_AT_ONCE; ++k)
            all ^= some[k];
    }
    for (; element < n; element += stride)
        all ^= in[element];
    if (all.x == 0x5eed5eed && all.y == 0x0ddba11 && all.z == 0xfeedbeef && all.w == 0xdecade)
        out[0] = all;
}
