/* Doubled links (docs/arithmetic.md §5): eight matrices a site, in the order of the site that uses them, stored with 18, 12 or 8 reals. */
#pragma once
#include "arithmetic.h"

/* Complex words that are stored of a link of so many reals. */
constexpr int link_words(int reals) { return reals / 2; }

/* Row 2, from rows 0 and 1: (f · c.re, −f · c.im) with c = row 0 × row 1. */
DEVICE void third_row(Complex<R> (&u)[3][3], R f) {
    constexpr int order[3][3] = {{1, 2, 0}, {2, 0, 1}, {0, 1, 2}};
#pragma unroll
    for (int n = 0; n < 3; n++) {
        const int i = order[n][0], j = order[n][1], k = order[n][2];
        const Complex<R> c = madd(-u[0][j], u[1][i], mul(u[0][i], u[1][j]));
        u[2][k] = {f * c.re, (-f) * c.im};
    }
}

/* All of a link from the words v1, v2, (x, z1), (z2, z3). `phase`: 1, −1 or 0. */
DEVICE void rebuild(const Complex<R> (&stored)[4], R phase, Complex<R> (&u)[3][3]) {
    const Complex<R> v1 = stored[0], v2 = stored[1];
    const R x = stored[2].re, z1 = stored[2].im, z2 = stored[3].re, z3 = stored[3].im;
    const R g = R(-0.5) * phase, e = signbit(x) ? -g : g;
    const R s = fused(R(2), fabs(x), R(-1.25)), P = fused(s, s, R(1));
    const R D = fused(v1.re, v1.re, fused(v1.im, v1.im, fused(v2.re, v2.re, fused(v2.im, v2.im, P))));
    const R T = fused(z1, z1, fused(z2, z2, fused(z3, z3, R(1))));
    const R B = D * P, q = R(2) / (B * T), r = q * (P * T), h = q * B, k0 = -(q * T);
    const R m = R(2) - T, w = g * (h * h);
    const Complex<R> alpha = {w * fused(R(0.25) * m, m, -(T - R(1))), (w * m) * z1}, beta = {(w * m) * z2, (w * m) * z3};
    const Complex<R> c = madd(conj(v2), beta, mul(conj(v1), alpha));
    const Complex<R> k = {k0 * fused(s, -c.im, c.re), k0 * fused(s, c.re, c.im)};
    u[1][0] = {fused(s, -k.im, k.re), fused(s, k.re, k.im)};
    u[1][1] = madd(k, v1, alpha);
    u[1][2] = madd(k, v2, beta);
    const R er = e * r;
    u[0][0] = {er * fused(R(-0.5), D, R(1)), er * s};
    u[0][1] = er * v1;
    u[0][2] = er * v2;
    third_row(u, R(-2) * phase);
}

/* Link number `leg` of the site at `place`. `phase`: that of the boundary if the leg crosses it, else 1. */
template <int REALS, typename R>
static __device__ __forceinline__ void load_link(const Complex<R>* links, unsigned sites, unsigned place, int leg, int phase, Complex<R> (&u)[3][3]) {
    const Complex<R>* first = links + (size_t)(leg * link_words(REALS)) * sites + place;
    if constexpr (REALS == 8) {
        Complex<R> stored[4];
#pragma unroll
        for (int word = 0; word < 4; word++)
            stored[word] = first[(size_t)word * sites];
        rebuild(stored, R(phase), u);
    } else {
#pragma unroll
        for (int word = 0; word < link_words(REALS); word++)
            u[word / 3][word % 3] = first[(size_t)word * sites];
        if constexpr (REALS == 12)
            third_row(u, phase == -1 ? R(2) : R(-2));
    }
}
