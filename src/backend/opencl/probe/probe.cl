// The start-up probe of the canonical arithmetic (docs/arithmetic.md): one operation on many operands, compared bit for bit with the
// host's IEEE results. Host side, operands and verdict: ../probe.rs.
//
// A launch runs one operation. Each has its own `case`: some compilers fuse a product with an addition, but not if several operations
// share the product. The probe would then miss what happens in kernels.
//
// Built once for each precision with
//   NUMBER          float or double
//   LANES           numbers of an operation: 1, or 8 for vectors, which compilers may treat differently
//   PROBE_...       the number of each operation; the host's table gives the numbers

#pragma OPENCL FP_CONTRACT OFF

#include "division.clh"
#include "fused.clh"

#ifndef NUMBER
#define NUMBER float
#endif
#ifndef LANES
#define LANES 1
#endif

#if LANES == 1
typedef NUMBER REAL;
#else
typedef NUMBER REAL __attribute__((ext_vector_type(LANES)));
#endif

// The same definitions as in kernels.
#if DIVIDE == 0 || defined(NUMBER_IS_DOUBLE)
#define DIVIDED(a, b) ((a) / (b))
#define ROOT(a) sqrt(a)
#elif LANES == 1
#define DIVIDED(a, b) f32_divided(a, b)
#define ROOT(a) f32_root(a)
#else
static REAL DIVIDED(REAL a, REAL b) {
    REAL quotient;
    for (int lane = 0; lane < LANES; ++lane)
        quotient[lane] = f32_divided(a[lane], b[lane]);
    return quotient;
}
static REAL ROOT(REAL a) {
    REAL root;
    for (int lane = 0; lane < LANES; ++lane)
        root[lane] = f32_root(a[lane]);
    return root;
}
#endif

// x and y receive the result; y stays 0 if an operation has only one.
kernel void probe(uint operation, global const REAL *a_in, global const REAL *b_in, global const REAL *c_in,
                  global REAL *x_out, global REAL *y_out)
{
    const ulong i = get_global_id(0);
    const REAL a = a_in[i];
    const REAL b = b_in[i];
    const REAL c = c_in[i];
    REAL x = 0;
    REAL y = 0;
    switch (operation) {
    case PROBE_ADD: x = a + b; break;
    case PROBE_SUB: x = a - b; break;
    case PROBE_MUL: x = a * b; break;
    case PROBE_DIV: x = DIVIDED(a, b); break;
    case PROBE_SQRT: x = ROOT(a); break;

    // A product and a sum, each rounded.
    case PROBE_MUL_ADD: x = a * b + c; break;
    case PROBE_MUL_SUB: x = a * b - c; break;
    case PROBE_NEG_MUL_ADD: x = -a * b + c; break;
    case PROBE_NEG_MUL_SUB: x = -a * b - c; break;
    case PROBE_ADD_MUL: x = c + a * b; break;
    case PROBE_SUB_MUL: x = c - a * b; break;
    case PROBE_NEG_ADD_MUL: x = -c + a * b; break;
    case PROBE_NEG_SUB_MUL: x = -c - a * b; break;

    // One rounding.
    case PROBE_FMA: x = fma(a, b, c); break;
    case PROBE_FMA_NEG_C: x = fma(a, b, -c); break;
    case PROBE_FMA_NEG_A: x = fma(-a, b, c); break;
    case PROBE_FMA_NEG_AC: x = fma(-a, b, -c); break;
    case PROBE_NEG_FMA: x = -fma(a, b, c); break;
    case PROBE_NEG_FMA_NEG_C: x = -fma(a, b, -c); break;
    case PROBE_NEG_FMA_NEG_A: x = -fma(-a, b, c); break;
    case PROBE_NEG_FMA_NEG_AC: x = -fma(-a, b, -c); break;

    // Knuth's sum with its exact error: any reassociation breaks it.
    case PROBE_TWO_SUM: {
        const REAL sum = a + b;
        const REAL b_seen = sum - a;
        x = sum;
        y = (a - (sum - b_seen)) + (b - b_seen);
        break;
    }
    // A product with its exact error.
    case PROBE_TWO_PROD: {
        const REAL product = a * b;
        x = product;
        y = fma(a, b, -product);
        break;
    }
    }
    x_out[i] = x;
    y_out[i] = y;
}
