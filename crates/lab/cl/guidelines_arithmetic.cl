// Arithmetic and control flow, as performance guidelines advise for and against them. Both sides of a pair give the same values: exactly, but for
// the native functions, whose accuracy no standard names. Counterpart: crates/lab/src/guidelines/kernels.rs.

// Divides and multiplies by turns by the same power of two, so that values stay what they are, and every rounding is exact.
__kernel void divide(__global float* restrict out, __global const float* restrict in, uint rounds, float by, float inverse) {
    const uint item = get_global_id(0);
    float x = in[item];
    for (uint round = 0; round < rounds; ++round) {
        x = x / by;
        x = x / inverse;
    }
    out[item] = x;
}

// The same by multiplication with the reciprocals.
__kernel void multiply_by_reciprocal(__global float* restrict out, __global const float* restrict in, uint rounds, float by, float inverse) {
    const uint item = get_global_id(0);
    float x = in[item];
    for (uint round = 0; round < rounds; ++round) {
        x = x * inverse;
        x = x * by;
    }
    out[item] = x;
}

// out ← Σ sin(x) · exp(−x) at points x from 0 to 1, in each function's own accuracy.
#define SERIES(SIN, EXP)                                                                                                                \
    const uint item = get_global_id(0);                                                                                                 \
    float x = in[item], sum = 0.0f;                                                                                                     \
    for (uint round = 0; round < rounds; ++round) {                                                                                     \
        sum += SIN(x) * EXP(-x);                                                                                                        \
        x = x * 0.9375f + 0.03125f;                                                                                                     \
    }                                                                                                                                   \
    out[item] = sum;

__kernel void series(__global float* restrict out, __global const float* restrict in, uint rounds) {
    SERIES(sin, exp)
}

__kernel void series_by_native_functions(__global float* restrict out, __global const float* restrict in, uint rounds) {
    SERIES(native_sin, native_exp)
}

// Four chains of fused multiply-adds an item, one after the other: each step waits for the one before.
__kernel void chains_in_turn(__global float4* restrict out, __global const float4* restrict in, uint rounds, float a) {
    const uint item = get_global_id(0);
    float x[4] = {in[item].x, in[item].y, in[item].z, in[item].w};
#pragma unroll
    for (uint chain = 0; chain < 4; ++chain)
        for (uint round = 0; round < rounds; ++round)
            x[chain] = fma(x[chain], a, x[chain]);
    out[item] = (float4)(x[0], x[1], x[2], x[3]);
}

// The same chains side by side: four steps at a time wait for none of each other.
__kernel void chains_together(__global float4* restrict out, __global const float4* restrict in, uint rounds, float a) {
    const uint item = get_global_id(0);
    float x[4] = {in[item].x, in[item].y, in[item].z, in[item].w};
    for (uint round = 0; round < rounds; ++round) {
#pragma unroll
        for (uint chain = 0; chain < 4; ++chain)
            x[chain] = fma(x[chain], a, x[chain]);
    }
    out[item] = (float4)(x[0], x[1], x[2], x[3]);
}

// A chain of multiply-adds whose values are small integers, in a type that is given as REAL: exact in either.
#define CHAIN_OF(REAL)                                                                                                                  \
    const uint item = get_global_id(0);                                                                                                 \
    REAL x = (REAL)(in[item] & 255u);                                                                                                   \
    for (uint round = 0; round < rounds; ++round) {                                                                                     \
        x = fma(x, (REAL)a, (REAL)b);                                                                                                   \
        x = fma(x, (REAL)a, (REAL)(-b));                                                                                                \
    }                                                                                                                                   \
    out[item] = (uint)x;

__kernel void chain_in_single(__global uint* restrict out, __global const uint* restrict in, uint rounds, float a, float b) {
    CHAIN_OF(float)
}

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void chain_in_double(__global uint* restrict out, __global const uint* restrict in, uint rounds, float a, float b) {
    CHAIN_OF(double)
}
#endif

// Words of odd and of even index are worked on in two ways that cost the same. With `by_group` of `run` items the two kinds go to
// different runs of items, without to neighbouring items.
__kernel void two_ways(__global uint* restrict out, __global const uint* restrict in, uint rounds, uint run) {
    const uint item = get_global_id(0), base = item / (2 * run) * (2 * run), place = item % (2 * run);
    const uint word = base + 2 * (place % run) + place / run;
    uint x = in[word];
    if (word & 1) {
        for (uint round = 0; round < rounds; ++round)
            x = (x ^ (x >> 7)) * 0x9e3779b1u;
    } else {
        for (uint round = 0; round < rounds; ++round)
            x = (x ^ (x << 5)) * 0x85ebca6bu;
    }
    out[word] = x;
}
