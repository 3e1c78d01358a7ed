/* The kernels that port.cu launches, to be compiled alone: for a GPU that is not here, or to look at registers (Makefile, `make gfx90a`). */
#include "exact.h"
#include "kernels.h"

#define HOP(R, REALS, DAGGER, THEN)                                                                                                                \
    template __global__ void hop<R, REALS, DAGGER, THEN>(                                                                                          \
        Lattice, const Complex<R>* __restrict__, const Complex<R>* __restrict__, const Complex<R>* __restrict__, const Complex<R>* __restrict__,   \
        Complex<R>* __restrict__);
#define HOPS(R, REALS)                                                                                                                             \
    HOP(R, REALS, false, STORE) HOP(R, REALS, true, STORE) HOP(R, REALS, false, MULTIPLY) HOP(R, REALS, true, MULTIPLY)                             \
    HOP(R, REALS, false, SUBTRACT) HOP(R, REALS, true, SUBTRACT)
#define ALL(R)                                                                                                                                     \
    HOPS(R, 18) HOPS(R, 12) HOPS(R, 8)                                                                                                             \
    template __global__ void clover_apply<R>(unsigned, const Complex<R>* __restrict__, const Complex<R>* __restrict__, Complex<R>* __restrict__);   \
    template __global__ void norm2<R>(unsigned, int, const Complex<R>* __restrict__, Accumulator*);

ALL(float)
ALL(double)
