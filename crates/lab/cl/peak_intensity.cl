// Arithmetic beside memory: each element is read once, taken through k fused multiply-adds and written once, so that a sweep of k goes from
// what memory bounds to what arithmetic does. Half precision is computed with in f32. Launched by crates/lab/src/peak/intensity.rs.

// Bits of a stored number: 64, 32 or 16.
#ifndef STORED_BITS
#define STORED_BITS 32
#endif
// Bytes of an access in registers: 16 on GPUs; 64 on CPUs, whose compilers do not put work-items with loops into vectors.
#ifndef VECTOR_BYTES
#define VECTOR_BYTES 16
#endif
// Vectors of a work-item: chains of operations that do not wait for each other.
#ifndef CHAINS
#define CHAINS 4
#endif

// Names that belong to the vectors of an access.
#if STORED_BITS == 64 && VECTOR_BYTES == 16
#define OF_VECTOR(before, after) before##2##after
#elif STORED_BITS == 64
#define OF_VECTOR(before, after) before##8##after
#elif VECTOR_BYTES == 16
#define OF_VECTOR(before, after) before##4##after
#else
#define OF_VECTOR(before, after) before##16##after
#endif

#if STORED_BITS == 64
typedef double real;
typedef OF_VECTOR(double, ) reals;
#else
typedef float real;
typedef OF_VECTOR(float, ) reals;
#endif
#if STORED_BITS == 16
typedef OF_VECTOR(short, ) stored;
#define TO_REALS OF_VECTOR(convert_float, )
#define TO_STORED OF_VECTOR(convert_short, _sat_rte)
#else
typedef reals stored;
#define TO_REALS(stored) (stored)
#define TO_STORED(reals) (reals)
#endif

// DOes something with each chain. Chains have names: not every compiler keeps an array of them in registers.
#if CHAINS == 8
#define EACH_CHAIN(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#elif CHAINS == 4
#define EACH_CHAIN(DO) DO(0) DO(1) DO(2) DO(3)
#else
#error "CHAINS is 4 or 8"
#endif
#define LOAD(c) reals x##c = TO_REALS(in[first + c * get_local_size(0)]);
#define STEP(c) x##c = fma(x##c, factor, term);
#define STORE(c) out[first + c * get_local_size(0)] = TO_STORED(x##c);
#define STEP_OF_ALL EACH_CHAIN(STEP)

// out ← x taken k times through x · a + b. One work-item takes CHAINS vectors; the launch has as many work-items as that needs.
__kernel void mixed(__global stored* restrict out, __global const stored* restrict in, float a, float b, uint k) {
    const size_t first = get_group_id(0) * get_local_size(0) * CHAINS + get_local_id(0);
    const reals factor = (reals)((real)a), term = (reals)((real)b);
    EACH_CHAIN(LOAD)
    // Eight steps a turn, so that the loop itself takes few of the instructions.
    for (uint turn = 0; turn < k / 8; ++turn) {
        STEP_OF_ALL STEP_OF_ALL STEP_OF_ALL STEP_OF_ALL STEP_OF_ALL STEP_OF_ALL STEP_OF_ALL STEP_OF_ALL
    }
    for (uint rest = 0; rest < k % 8; ++rest) {
        STEP_OF_ALL
    }
    EACH_CHAIN(STORE)
}
