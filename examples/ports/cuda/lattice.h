/* Sites. A field lies on all sites or on those of one parity, in the order of their numbers x + X·(y + Y·(z + Z·t)); its words lie one after the other,
   each for all sites: word w of site number i is field[w · sites + i]. So threads of neighbouring sites read neighbouring memory. */
#pragma once
#include "gpu.h"

/* The sites on which a kernel writes. */
struct Lattice {
    unsigned extent[4];
    /* Phases of links that cross the boundary: 1, −1, or 0 (fixed). */
    int phase[4];
    /* 0 even, 1 odd, −1 all sites. With a parity X must be even. */
    int parity;

    __host__ __device__ unsigned volume() const { return extent[0] * extent[1] * extent[2] * extent[3]; }
    __host__ __device__ unsigned sites() const { return parity < 0 ? volume() : volume() / 2; }

    /* The place of a site in a field. */
    __host__ __device__ unsigned place(const unsigned (&x)[4]) const {
        const unsigned site = x[0] + extent[0] * (x[1] + extent[1] * (x[2] + extent[2] * x[3]));
        return parity < 0 ? site : site / 2;
    }

    /* The coordinates of the site at a place. */
    __host__ __device__ void coordinates(unsigned place, unsigned (&x)[4]) const {
        const unsigned row = parity < 0 ? extent[0] : extent[0] / 2;
        x[0] = place % row;
        place /= row;
        x[1] = place % extent[1];
        place /= extent[1];
        x[2] = place % extent[2];
        x[3] = place / extent[2];
        if (parity >= 0)
            x[0] = 2 * x[0] + ((x[1] + x[2] + x[3] + (unsigned)parity) & 1);
    }

    /* Whether the step in direction d from x, forward or backward, crosses the boundary. */
    __host__ __device__ bool crosses(const unsigned (&x)[4], int d, bool forward) const {
        return x[d] == (forward ? extent[d] - 1 : 0);
    }

    /* The place of the neighbour of x in the field on its sites. */
    __host__ __device__ unsigned neighbour(const unsigned (&x)[4], int d, bool forward) const {
        unsigned y[4] = {x[0], x[1], x[2], x[3]};
        const bool wraps = crosses(x, d, forward);
        y[d] = forward ? (wraps ? 0 : x[d] + 1) : (wraps ? extent[d] - 1 : x[d] - 1);
        return place(y);
    }
};
