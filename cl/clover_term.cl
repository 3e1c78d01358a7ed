// What a clover operator is made of, once: field strengths, clover term, its inverse (docs/arithmetic.md §13), and the sites of one parity of a
// field. Everything is computed in f64, whatever the fields' precision. Loops stay loops: these kernels need not be fast, but build quickly.
// The products with spinors are in clover.cl. Counterpart: reference/src/kernels/clover_term.rs.

#include "accelerator.clh"
#include "f64.clh"

#define TOP_BIT 0x80000000u
#define LINK_WORDS 9
#define GAUGE_WORDS 36
#define STRENGTH_WORDS 54
#define BLOCK_WORDS 18
#define ROWS 6

// Complex numbers in f64, as docs/arithmetic.md §2 defines them.
typedef struct {
    f64 re, im;
} complex64;
accelerator_inline complex64 complex64_of(f64 re, f64 im) {
    const complex64 z = {re, im};
    return z;
}
accelerator_inline complex64 widen(cplx a) { return complex64_of(f64_of(a.x), f64_of(a.y)); }
accelerator_inline cplx narrow(complex64 a) { return (cplx)(f64_to_real(a.re), f64_to_real(a.im)); }
accelerator_inline complex64 conjugate(complex64 a) { return complex64_of(a.re, f64_neg(a.im)); }
accelerator_inline complex64 minus(complex64 a) { return complex64_of(f64_neg(a.re), f64_neg(a.im)); }
accelerator_inline complex64 add(complex64 a, complex64 b) { return complex64_of(f64_add(a.re, b.re), f64_add(a.im, b.im)); }
accelerator_inline complex64 scaled(f64 s, complex64 a) { return complex64_of(f64_mul(s, a.re), f64_mul(s, a.im)); }
accelerator_inline complex64 mul(complex64 a, complex64 b) {
    return complex64_of(f64_fma(f64_neg(a.im), b.im, f64_mul(a.re, b.re)), f64_fma(a.im, b.re, f64_mul(a.re, b.im)));
}
accelerator_inline complex64 madd(complex64 a, complex64 b, complex64 c) {
    return complex64_of(f64_fma(f64_neg(a.im), b.im, f64_fma(a.re, b.re, c.re)), f64_fma(a.im, b.re, f64_fma(a.re, b.im, c.im)));
}

typedef struct {
    uint osite, lane;
} place;

typedef struct {
    complex64 element[9];
} matrix;

// The neighbour of `from` at `point`; the tables are those of the hop on all sites.
accelerator_inline place follow(place from, uint point, __global const uint* restrict neighbours,
                                __global const uint* restrict lane_steps) {
    const uint entry = neighbours[(ulong)from.osite * 8 + point];
    const place to = {entry & ~TOP_BIT,
                      entry & TOP_BIT ? lane_steps[point * NSIMD + from.lane] & ~TOP_BIT : from.lane};
    return to;
}

// U_direction, or its Hermitian conjugate, at a place.
accelerator_inline matrix read_raw_link(__global const stored* restrict links, uint direction, int backward, place at) {
    matrix u;
    for (uint row = 0; row < 3; ++row) {
        for (uint column = 0; column < 3; ++column) {
            const uint word = backward ? 3 * column + row : 3 * row + column;
            const complex64 element =
                widen(extract_lane(links, at.osite, direction * LINK_WORDS + word, GAUGE_WORDS, at.lane));
            u.element[3 * row + column] = backward ? conjugate(element) : element;
        }
    }
    return u;
}

accelerator_inline matrix product(matrix a, matrix b) {
    matrix c;
    for (uint row = 0; row < 3; ++row) {
        for (uint column = 0; column < 3; ++column) {
            const complex64 first = mul(a.element[3 * row], b.element[column]);
            const complex64 second = madd(a.element[3 * row + 1], b.element[3 + column], first);
            c.element[3 * row + column] = madd(a.element[3 * row + 2], b.element[6 + column], second);
        }
    }
    return c;
}

// out ← F of the six planes, a part each; launched over (lane, plane, osite). `links`: raw links, no phases.
__kernel void field_strength(__global stored* restrict out, __global const stored* restrict links,
                             __global const uint* restrict neighbours, __global const uint* restrict lane_steps,
                             uint osites) {
    accelerator_for2d(osite, osites, plane, 6) {
        // xy, xz, xt, yz, yt, zt.
        const uint mu = plane < 3 ? 0 : plane < 5 ? 1 : 2;
        const uint nu = plane < 3 ? plane + 1 : plane < 5 ? plane - 1 : 3;
        matrix sum;
        for (uint leaf = 0; leaf < 4; ++leaf) {
            place at = {osite, accelerator_lane()};
            matrix path;
            // Steps +μ, +ν, −μ, −ν in a circle.
            for (uint k = 0; k < 4; ++k) {
                const uint step = (leaf + k) % 4;
                const uint direction = step % 2 ? nu : mu;
                const int backward = step >= 2;
                const place there = follow(at, backward ? direction + 4 : direction, neighbours, lane_steps);
                const matrix u = read_raw_link(links, direction, backward, backward ? there : at);
                path = k == 0 ? u : product(path, u);
                at = there;
            }
            for (uint word = 0; word < 9; ++word)
                sum.element[word] = leaf == 0 ? path.element[word] : add(sum.element[word], path.element[word]);
        }
        cplx words[9];
        for (uint row = 0; row < 3; ++row)
            for (uint column = 0; column < 3; ++column)
                words[3 * row + column] =
                    narrow(scaled(f64_from_bits(0x3fc0000000000000UL), // 1/8
                                  add(sum.element[3 * row + column], minus(conjugate(sum.element[3 * column + row])))));
        coalesced_write_all(out, (ulong)osite * 6 + plane, 9, words);
    }
}

// Word of element (i, j), i < j, of a block.
accelerator_inline uint upper(uint i, uint j) { return 3 + 15 - (6 - i) * (5 - i) / 2 + j - i - 1; }

// fma(c_space, F_space, c_time · F_time) of one element.
accelerator_inline complex64 pair_of_planes(__global const stored* restrict strength, ulong osite, uint element,
                                             f64 c_space, uint space, f64 c_time, uint time) {
    const complex64 s = widen(coalesced_read(strength, 6 * osite + space, element, 9));
    const complex64 t = widen(coalesced_read(strength, 6 * osite + time, element, 9));
    return complex64_of(f64_fma(c_space, s.re, f64_mul(c_time, t.re)), f64_fma(c_space, s.im, f64_mul(c_time, t.im)));
}

// out ← the two blocks of the clover term, a part each; launched over (lane, block, osite).
__kernel void clover_term(__global stored* restrict out, __global const stored* restrict strength, f64 diagonal,
                          f64 spatial, f64 temporal, uint osites) {
    accelerator_for2d(osite, osites, block, 2) {
        const f64 time = block == 0 ? f64_neg(temporal) : temporal;
        f64 real_part[ROWS];
        cplx words[BLOCK_WORDS];
        for (uint i = 0; i < 3; ++i) {
            for (uint j = 0; j < 3; ++j) {
                const uint element = 3 * i + j;
                const complex64 a = pair_of_planes(strength, osite, element, spatial, 0, time, 5);
                const complex64 b = pair_of_planes(strength, osite, element, spatial, 1, f64_neg(time), 4);
                const complex64 g = pair_of_planes(strength, osite, element, spatial, 3, time, 2);
                words[upper(i, j + 3)] = narrow(complex64_of(f64_sub(b.re, g.im), f64_add(b.im, g.re)));
                if (i == j) {
                    real_part[i] = f64_sub(diagonal, a.im);
                    real_part[i + 3] = f64_add(diagonal, a.im);
                } else if (i < j) {
                    words[upper(i, j)] = narrow(complex64_of(f64_neg(a.im), a.re));
                    words[upper(i + 3, j + 3)] = narrow(complex64_of(a.im, f64_neg(a.re)));
                }
            }
        }
        for (uint k = 0; k < 3; ++k)
            words[k] = narrow(complex64_of(real_part[2 * k], real_part[2 * k + 1]));
        coalesced_write_all(out, (ulong)osite * 2 + block, BLOCK_WORDS, words);
    }
}

// Element (i, j), i > j, of a 6×6 matrix of which no more is needed.
#define LOWER(m, i, j) m[(i) * ((i) - 1) / 2 + (j)]

// LDL† of a block at this work-item's site: writes the inverse, returns the pivot.
accelerator_inline f64 invert_block(__global stored* restrict out, __global const stored* restrict term,
                                    ulong part) {
    f64 d[ROWS], r[ROWS];
    complex64 l[15], m[15];
    for (uint j = 0; j < ROWS; ++j) {
        for (uint i = j; i < ROWS; ++i) {
            complex64 s;
            if (i == j) {
                const cplx two = coalesced_read(term, part, j / 2, BLOCK_WORDS);
                s = complex64_of(f64_of(j % 2 ? two.y : two.x), f64_zero);
            } else {
                s = conjugate(widen(coalesced_read(term, part, upper(j, i), BLOCK_WORDS)));
            }
            for (uint k = 0; k < j; ++k)
                s = madd(minus(LOWER(l, i, k)), conjugate(scaled(d[k], LOWER(l, j, k))), s);
            if (i == j) {
                d[j] = s.re;
                r[j] = f64_div(f64_of(1.0f), s.re);
            } else {
                LOWER(l, i, j) = scaled(r[j], s);
            }
        }
    }

    for (uint j = 0; j < ROWS; ++j) {
        for (uint i = j + 1; i < ROWS; ++i) {
            complex64 s = LOWER(l, i, j);
            for (uint k = j + 1; k < i; ++k)
                s = madd(LOWER(l, i, k), LOWER(m, k, j), s);
            LOWER(m, i, j) = minus(s);
        }
    }

    f64 real_part[ROWS];
    cplx words[BLOCK_WORDS];
    for (uint j = 0; j < ROWS; ++j) {
        for (uint i = 0; i <= j; ++i) {
            complex64 s = i == j ? complex64_of(r[j], f64_zero) : scaled(r[j], conjugate(LOWER(m, j, i)));
            for (uint k = j + 1; k < ROWS; ++k)
                s = madd(scaled(r[k], conjugate(LOWER(m, k, i))), LOWER(m, k, j), s);
            if (i == j)
                real_part[j] = s.re;
            else
                words[upper(i, j)] = narrow(s);
        }
    }
    for (uint k = 0; k < 3; ++k)
        words[k] = narrow(complex64_of(real_part[2 * k], real_part[2 * k + 1]));
    coalesced_write_all(out, part, BLOCK_WORDS, words);

    const f64 infinity = f64_from_bits(F64_INFINITY);
    f64 least = infinity;
    int finite = 1;
    for (uint j = 0; j < ROWS; ++j) {
        const f64 size = f64_from_bits(f64_bits(d[j]) & ~F64_SIGN);
        least = f64_less(size, least) ? size : least;
        finite = finite && f64_less(size, infinity);
    }
    return finite ? least : f64_from_bits(F64_NAN);
}

// out ← the inverse of each block of `term`; pivots ← (pivot of block 0, of block 1).
__kernel void clover_inverse(__global stored* restrict out, __global stored* restrict pivots,
                             __global const stored* restrict term, uint osites) {
    accelerator_for(osite, osites) {
        f64 pivot[2];
        for (uint block = 0; block < 2; ++block)
            pivot[block] = invert_block(out, term, (ulong)osite * 2 + block);
        cplx both = narrow(complex64_of(pivot[0], pivot[1]));
        coalesced_write_all(pivots, osite, 1, &both);
    }
}

// out ← the sites of one parity of x. `full`: for each outer site of out that of x, which has the same lanes.
__kernel void pick_checkerboard(__global stored* restrict out, __global const stored* restrict x,
                                __global const uint* restrict full, uint osites, uint words) {
    accelerator_for(osite, osites) {
        for (uint word = 0; word < words; ++word)
            insert_lane(out, osite, word, words, accelerator_lane(), coalesced_read(x, full[osite], word, words));
    }
}
