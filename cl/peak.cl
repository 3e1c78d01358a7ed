// The ceiling that every memory-bound kernel is compared with: a copy of 16-byte elements, one a work-item, which is as
// simple for the memory system as a kernel can be. Elements are integers, so that no bit pattern is touched on its way.
// Counterpart: src/backend/bandwidth.rs (the CPU's copy is measured there).

// out ← in, n elements of 16 bytes.
__kernel void copy_ceiling(__global uint4* restrict out, __global const uint4* restrict in, ulong n) {
    const size_t element = get_global_id(0);
    if (element < n)
        out[element] = in[element];
}
