// Kernels with a fault each, planted on purpose, and the same without it. Described by the TOML files beside this one; run by tests/doctor.rs.

// out ← 2 in, an element of 16 bytes a work-item.
__kernel void twice(__global float4* restrict out, __global const float4* restrict in) {
    const size_t item = get_global_id(0);
    out[item] = 2.0f * in[item];
}

// The same for a part of the elements, from `first` on.
__kernel void twice_from(__global float4* restrict out, __global const float4* restrict in, uint first) {
    const size_t item = first + get_global_id(0);
    out[item] = 2.0f * in[item];
}

// The second of two passes: out ← in + 1.
__kernel void one_more(__global float4* restrict out, __global const float4* restrict in) {
    const size_t item = get_global_id(0);
    out[item] = in[item] + 1.0f;
}

// Both passes in one.
__kernel void twice_and_one_more(__global float4* restrict out, __global const float4* restrict in) {
    const size_t item = get_global_id(0);
    out[item] = 2.0f * in[item] + 1.0f;
}

// Each work-item adds up `terms` neighbouring numbers: its wavefront reads a number of every line, over and over.
__kernel void serial_sums(__global float* restrict out, __global const float* restrict in, uint terms) {
    const size_t item = get_global_id(0);
    float sum = 0.0f;
    for (uint k = 0; k < terms; ++k)
        sum += in[item * terms + k];
    out[item] = sum;
}

// As many sums of as many numbers, those of neighbouring work-items beside each other.
__kernel void coalesced_sums(__global float* restrict out, __global const float* restrict in, uint terms) {
    const size_t item = get_global_id(0), items = get_global_size(0);
    float sum = 0.0f;
    for (uint k = 0; k < terms; ++k)
        sum += in[k * items + item];
    out[item] = sum;
}

// Sums of n numbers by however many work-items there are.
__kernel void sums(__global float* restrict out, __global const float* restrict in, uint n) {
    float sum = 0.0f;
    for (size_t k = get_global_id(0); k < n; k += get_global_size(0))
        sum += in[k];
    out[get_global_id(0)] = sum;
}

#ifndef HELD
#define HELD 96
#endif

// Holds HELD numbers at once, and picks among them by an index that the compiler does not know: they lie in memory.
__kernel void bundle_in_memory(__global float* restrict out, __global const float* restrict in, uint shift) {
    const size_t item = get_global_id(0), items = get_global_size(0);
    float held[HELD];
    for (uint k = 0; k < HELD; ++k)
        held[(k * shift) % HELD] = in[(k % 4) * items + item];
    float sum = 0.0f;
    for (uint k = 0; k < HELD; ++k)
        sum = fma(sum, 0.5f, held[(k + shift) % HELD]);
    out[item] = sum;
}

// The same numbers, each used as it is read.
__kernel void bundle_in_registers(__global float* restrict out, __global const float* restrict in, uint shift) {
    const size_t item = get_global_id(0), items = get_global_size(0);
    const float held[4] = {in[item], in[items + item], in[2 * items + item], in[3 * items + item]};
    float sum = 0.0f;
    for (uint k = 0; k < HELD / 4; ++k) {
        sum = fma(sum, 0.5f, held[0]);
        sum = fma(sum, 0.5f, held[1]);
        sum = fma(sum, 0.5f, held[2]);
        sum = fma(sum, 0.5f, held[3]);
    }
    out[item] = sum;
}
