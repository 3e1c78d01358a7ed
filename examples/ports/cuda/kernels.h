/* The Wilson hop (docs/arithmetic.md §6), alone and with clover blocks (§13): one thread a site. */
#pragma once
#include "lattice.h"
#include "links.h"

/* What is done with the hop at a site. */
enum Then {
    STORE,    /* out = hop(in) */
    MULTIPLY, /* out = blocks · hop(in): Mee⁻¹ Meo ψ with the inverse blocks */
    SUBTRACT, /* out = blocks · chi − hop(in): Moo χ − Moe ψ */
};

/* A spinor of a field. */
template <typename R>
struct SpinorAt {
    const Complex<R>* first;
    unsigned sites;
    __device__ __forceinline__ Complex<R> operator()(int spin, int colour) const { return first[(size_t)(3 * spin + colour) * sites]; }
};

/* Adds leg number LEG (0 to 3: +x, +y, +z, +t; 4 to 7: −x, −y, −z, −t) at the site x; the first one assigns. */
template <int LEG, bool FIRST, int REALS, bool DAGGER, typename R>
static __device__ __forceinline__ void add_leg(
    const Lattice& lattice, const unsigned (&x)[4], unsigned place, const Complex<R>* links, const Complex<R>* in, Complex<R> (&sum)[4][3]) {
    constexpr int D = LEG % 4;
    constexpr bool FORWARD = LEG < 4, PLUS = FORWARD == DAGGER;
    const unsigned sites = lattice.sites();
    const SpinorAt<R> psi = {in + lattice.neighbour(x, D, FORWARD), sites};
    Complex<R> h[2][3], w[2][3], u[3][3];
    project<D, PLUS>(psi, h[0], h[1]);
    load_link<REALS>(links, sites, place, LEG, lattice.crosses(x, D, FORWARD) ? lattice.phase[D] : 1, u);
    matrix_times_vector(u, h[0], w[0]);
    matrix_times_vector(u, h[1], w[1]);
#pragma unroll
    for (int c = 0; c < 3; c++) {
        Complex<R> row[4];
        rows<D, PLUS>(w[0][c], w[1][c], row);
#pragma unroll
        for (int spin = 0; spin < 4; spin++)
            sum[spin][c] = FIRST ? row[spin] : sum[spin][c] + row[spin];
    }
}

/* y = blocks · psi: two Hermitian 6×6 matrices a site, of which the diagonal and the upper triangle are stored in 18 words each. */
template <typename R, typename Spinor>
static __device__ __forceinline__ void multiply_blocks(const Complex<R>* blocks, unsigned sites, const Spinor& psi, Complex<R> (&y)[4][3]) {
#pragma unroll
    for (int b = 0; b < 2; b++) {
        const Complex<R>* block = blocks + (size_t)(18 * b) * sites;
        const auto word = [=](int w) { return block[(size_t)w * sites]; };
        Complex<R> x[6];
#pragma unroll
        for (int i = 0; i < 6; i++)
            x[i] = psi(2 * b + i / 3, i % 3);
#pragma unroll
        for (int i = 0; i < 6; i++) {
            const Complex<R> pair = word(i / 2);
            Complex<R> sum = (i % 2 ? pair.im : pair.re) * x[i];
#pragma unroll
            for (int j = 0; j < 6; j++)
                if (j != i) {
                    const int row = i < j ? i : j, column = i < j ? j : i;
                    const Complex<R> element = word(3 + 15 - (6 - row) * (5 - row) / 2 + column - row - 1);
                    sum = madd(i < j ? element : conj(element), x[j], sum);
                }
            y[2 * b + i / 3][i % 3] = sum;
        }
    }
}

template <typename R>
struct SpinorInRegisters {
    const Complex<R> (&word)[4][3];
    __device__ __forceinline__ Complex<R> operator()(int spin, int colour) const { return word[spin][colour]; }
};

template <typename R>
static __device__ __forceinline__ void store(Complex<R>* out, unsigned sites, unsigned place, const Complex<R> (&psi)[4][3]) {
#pragma unroll
    for (int word = 0; word < 12; word++)
        out[(size_t)word * sites + place] = psi[word / 3][word % 3];
}

/* The hop onto the sites of `lattice`, with what THEN says. `in` lies on their neighbours: on the other parity, or on all sites. `blocks` and `chi` are
   read where THEN asks for them. */
template <typename R, int REALS, bool DAGGER, Then THEN>
__global__ void __launch_bounds__(128)
hop(Lattice lattice, const Complex<R>* __restrict__ links, const Complex<R>* __restrict__ in, const Complex<R>* __restrict__ blocks,
    const Complex<R>* __restrict__ chi, Complex<R>* __restrict__ out) {
    const unsigned place = blockIdx.x * blockDim.x + threadIdx.x, sites = lattice.sites();
    if (place >= sites)
        return;
    unsigned x[4];
    lattice.coordinates(place, x);
    Complex<R> sum[4][3];
    /* The default order of the legs: −t −y −z +t +y +z −x +x. */
    add_leg<7, true, REALS, DAGGER>(lattice, x, place, links, in, sum);
    add_leg<5, false, REALS, DAGGER>(lattice, x, place, links, in, sum);
    add_leg<6, false, REALS, DAGGER>(lattice, x, place, links, in, sum);
    add_leg<3, false, REALS, DAGGER>(lattice, x, place, links, in, sum);
    add_leg<1, false, REALS, DAGGER>(lattice, x, place, links, in, sum);
    add_leg<2, false, REALS, DAGGER>(lattice, x, place, links, in, sum);
    add_leg<4, false, REALS, DAGGER>(lattice, x, place, links, in, sum);
    add_leg<0, false, REALS, DAGGER>(lattice, x, place, links, in, sum);
    if constexpr (THEN == STORE) {
        store(out, sites, place, sum);
    } else if constexpr (THEN == MULTIPLY) {
        Complex<R> result[4][3];
        multiply_blocks(blocks + place, sites, SpinorInRegisters<R>{sum}, result);
        store(out, sites, place, result);
    } else {
        Complex<R> result[4][3];
        multiply_blocks(blocks + place, sites, SpinorAt<R>{chi + place, sites}, result);
#pragma unroll
        for (int word = 0; word < 12; word++) {
            Complex<R>& y = result[word / 3][word % 3];
            const Complex<R> h = sum[word / 3][word % 3];
            y = {fused(R(-1), h.re, y.re), fused(R(-1), h.im, y.im)};
        }
        store(out, sites, place, result);
    }
}

/* out = blocks · in */
template <typename R>
__global__ void clover_apply(unsigned sites, const Complex<R>* __restrict__ blocks, const Complex<R>* __restrict__ in, Complex<R>* __restrict__ out) {
    const unsigned place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= sites)
        return;
    Complex<R> result[4][3];
    multiply_blocks(blocks + place, sites, SpinorAt<R>{in + place, sites}, result);
    store(out, sites, place, result);
}
