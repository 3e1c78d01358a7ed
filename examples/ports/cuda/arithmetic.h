/* Complex numbers (docs/arithmetic.md §2), a matrix times a vector (§3), and the projection of spinors (§4). Every rounding is written down: the compiler
   must fuse nothing by itself (Makefile). */
#pragma once
#include "gpu.h"

template <typename R>
struct alignas(2 * sizeof(R)) Complex {
    R re, im;
};

#define DEVICE template <typename R> static __device__ __forceinline__

DEVICE Complex<R> operator+(Complex<R> a, Complex<R> b) { return {a.re + b.re, a.im + b.im}; }
DEVICE Complex<R> operator-(Complex<R> a, Complex<R> b) { return {a.re - b.re, a.im - b.im}; }
DEVICE Complex<R> operator-(Complex<R> a) { return {-a.re, -a.im}; }
DEVICE Complex<R> conj(Complex<R> a) { return {a.re, -a.im}; }
/* i·a */
DEVICE Complex<R> times_i(Complex<R> a) { return {-a.im, a.re}; }
DEVICE Complex<R> operator*(R s, Complex<R> a) { return {s * a.re, s * a.im}; }

DEVICE Complex<R> mul(Complex<R> a, Complex<R> b) {
    return {fused(-a.im, b.im, a.re * b.re), fused(a.im, b.re, a.re * b.im)};
}

/* a·b + c */
DEVICE Complex<R> madd(Complex<R> a, Complex<R> b, Complex<R> c) {
    return {fused(-a.im, b.im, fused(a.re, b.re, c.re)), fused(a.im, b.re, fused(a.re, b.im, c.im))};
}

/* w = U h */
DEVICE void matrix_times_vector(const Complex<R> (&u)[3][3], const Complex<R> (&h)[3], Complex<R> (&w)[3]) {
#pragma unroll
    for (int a = 0; a < 3; a++)
        w[a] = madd(u[a][2], h[2], madd(u[a][1], h[1], mul(u[a][0], h[0])));
}

/* The rows h0 and h1 of (1 + γ_D)ψ, or of (1 − γ_D)ψ where PLUS is false. `psi` gives the word of a spin and a colour. */
template <int D, bool PLUS, typename R, typename Spinor>
static __device__ __forceinline__ void project(const Spinor& psi, Complex<R> (&h0)[3], Complex<R> (&h1)[3]) {
#pragma unroll
    for (int c = 0; c < 3; c++) {
        const Complex<R> s0 = psi(0, c), s1 = psi(1, c), s2 = psi(2, c), s3 = psi(3, c);
        if constexpr (D == 0) {
            h0[c] = PLUS ? s0 + times_i(s3) : s0 - times_i(s3);
            h1[c] = PLUS ? s1 + times_i(s2) : s1 - times_i(s2);
        } else if constexpr (D == 1) {
            h0[c] = PLUS ? s0 - s3 : s0 + s3;
            h1[c] = PLUS ? s1 + s2 : s1 - s2;
        } else if constexpr (D == 2) {
            h0[c] = PLUS ? s0 + times_i(s2) : s0 - times_i(s2);
            h1[c] = PLUS ? s1 - times_i(s3) : s1 + times_i(s3);
        } else {
            h0[c] = PLUS ? s0 + s2 : s0 - s2;
            h1[c] = PLUS ? s1 + s3 : s1 - s3;
        }
    }
}

/* The four rows that follow from w0 and w1. */
template <int D, bool PLUS, typename R>
static __device__ __forceinline__ void rows(Complex<R> w0, Complex<R> w1, Complex<R> (&row)[4]) {
    row[0] = w0;
    row[1] = w1;
    if constexpr (D == 0) {
        row[2] = PLUS ? -times_i(w1) : times_i(w1);
        row[3] = PLUS ? -times_i(w0) : times_i(w0);
    } else if constexpr (D == 1) {
        row[2] = PLUS ? w1 : -w1;
        row[3] = PLUS ? -w0 : w0;
    } else if constexpr (D == 2) {
        row[2] = PLUS ? -times_i(w0) : times_i(w0);
        row[3] = PLUS ? times_i(w1) : -times_i(w1);
    } else {
        row[2] = PLUS ? w0 : -w0;
        row[3] = PLUS ? w1 : -w1;
    }
}
