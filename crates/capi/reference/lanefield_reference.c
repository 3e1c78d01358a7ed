/*
 * The canonical arithmetic of Lanefield in plain C99, written from docs/arithmetic.md. lanefield_reference.h describes the layout of arrays and how
 * to build this file. Section numbers are those of docs/arithmetic.md. The second half of this file is for one precision; the first half includes it
 * twice. There REAL is float or double, and LFR(name) is lfr_name_f32 or lfr_name_f64.
 *
 * It is written to be read and ported, not to be fast: one function for each definition, loops over sites, and no parallelism.
 */
#ifndef LFR

#include "lanefield_reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Section 1 forbids what -ffast-math allows, and excess precision. lfr_check_compiler() finds what the preprocessor cannot.
 * (LFR_TRY_FAST_MATH is for the test of that function.) */
#ifndef LFR_TRY_FAST_MATH
#if defined(__FAST_MATH__) || defined(_M_FP_FAST) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "compile without -ffast-math, -Ofast, -ffinite-math-only, /fp:fast: they reassociate, flush subnormal numbers, lose NaN"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "float and double are computed in more than their precision: compile for SSE2 (-msse2 -mfpmath=sse)"
#endif
#endif

const int lfr_default_legs[8] = {7, 5, 6, 3, 1, 2, 4, 0};

/* ---------------------------------------------------------------- Sites ---------------------------------------------------------------- */

size_t lfr_volume(const int extents[4])
{
    return (size_t)extents[0] * (size_t)extents[1] * (size_t)extents[2] * (size_t)extents[3];
}

size_t lfr_field_words(const lfr_shape *shape)
{
    return (size_t)shape->parts * (size_t)shape->words * lfr_volume(shape->extents);
}

static void coordinates_of(const int extents[4], size_t site, int x[4])
{
    for (int d = 0; d < 4; d++) {
        x[d] = (int)(site % (size_t)extents[d]);
        site /= (size_t)extents[d];
    }
}

static size_t site_at(const int extents[4], const int x[4])
{
    size_t site = 0;
    for (int d = 3; d >= 0; d--)
        site = site * (size_t)extents[d] + (size_t)x[d];
    return site;
}

size_t lfr_neighbour(const int extents[4], size_t site, int leg)
{
    const int d = leg % 4;
    int x[4];
    coordinates_of(extents, site, x);
    x[d] = (x[d] + (leg < 4 ? 1 : extents[d] - 1)) % extents[d];
    return site_at(extents, x);
}

/* Whether a field has this site. */
static int has_site(const lfr_shape *shape, size_t site)
{
    int x[4];
    if (shape->sites == LFR_FULL)
        return 1;
    coordinates_of(shape->extents, site, x);
    return (x[0] + x[1] + x[2] + x[3]) % 2 == (shape->sites == LFR_ODD);
}

/* Section 5: the phase that multiplies the link of a leg at a site. */
static int phase_of(const int extents[4], const int phases[4], size_t site, int leg)
{
    const int d = leg % 4;
    int x[4];
    coordinates_of(extents, site, x);
    return x[d] == (leg < 4 ? extents[d] - 1 : 0) ? phases[d] : 1;
}

/* Section 16: the phase eta of direction d. */
static int staggered_phase(const int extents[4], size_t site, int d)
{
    int x[4], sum = 0;
    coordinates_of(extents, site, x);
    for (int before = 0; before < d; before++)
        sum += x[before];
    return sum % 2 == 0 ? 1 : -1;
}

int lfr_link_words(int reconstruct)
{
    return reconstruct == 18 ? 9 : reconstruct == 12 ? 6 : 4;
}

static lfr_shape on_sites(lfr_shape shape, int sites)
{
    shape.sites = sites;
    return shape;
}

static int other_parity(int sites)
{
    return sites == LFR_EVEN ? LFR_ODD : LFR_EVEN;
}

/* Allocates memory with all bits zero. */
static void *fresh_memory(size_t count, size_t size)
{
    void *memory = calloc(count == 0 ? 1 : count, size);
    if (memory == NULL) {
        fprintf(stderr, "lanefield_reference: no memory for %lu times %lu bytes\n", (unsigned long)count, (unsigned long)size);
        exit(70);
    }
    return memory;
}

/* ------------------------------------------------------- Section 8: sums of doubles ----------------------------------------------------- */

enum { LIMBS = sizeof(((lfr_exact_sum *)0)->limbs) / sizeof(int64_t) };

void lfr_exact_start(lfr_exact_sum *sum)
{
    memset(sum, 0, sizeof *sum);
}

/* Carries, so that all limbs but the last one are from 0 to 2^32 - 1. */
static void make_carries(lfr_exact_sum *sum)
{
    for (int k = 0; k + 1 < LIMBS; k++) {
        const int64_t low = (int64_t)((uint64_t)sum->limbs[k] & 0xffffffffu);
        sum->limbs[k + 1] += (sum->limbs[k] - low) / 4294967296;
        sum->limbs[k] = low;
    }
    sum->since_carry = 0;
}

void lfr_exact_add(lfr_exact_sum *sum, double term)
{
    uint64_t bits;
    memcpy(&bits, &term, sizeof bits);
    const int negative = (int)(bits >> 63), exponent = (int)(bits >> 52 & 2047);
    const uint64_t fraction = bits & 0xfffffffffffffu;

    sum->terms++;
    if (bits != (uint64_t)1 << 63)
        sum->other_than_minus_zero = 1;
    if (exponent == 2047) {
        if (fraction != 0)
            sum->nans++;
        else if (negative)
            sum->minus_infinities++;
        else
            sum->plus_infinities++;
        return;
    }
    /* |term| = mantissa 2^(shift - 1074). Its bits go to three limbs. */
    const uint64_t mantissa = exponent == 0 ? fraction : fraction | (uint64_t)1 << 52;
    const int shift = exponent == 0 ? 0 : exponent - 1, limb = shift / 32;
    const uint64_t low = (mantissa & 0xffffffffu) << (shift % 32), high = (mantissa >> 32) << (shift % 32);
    const int64_t pieces[3] = {(int64_t)(low & 0xffffffffu), (int64_t)((low >> 32) + (high & 0xffffffffu)), (int64_t)(high >> 32)};
    for (int k = 0; k < 3; k++)
        sum->limbs[limb + k] += negative ? -pieces[k] : pieces[k];
    if (++sum->since_carry == (uint32_t)1 << 28)
        make_carries(sum);
}

void lfr_exact_merge(lfr_exact_sum *sum, const lfr_exact_sum *other)
{
    lfr_exact_sum carried = *other;
    make_carries(&carried);
    make_carries(sum);
    for (int k = 0; k < LIMBS; k++)
        sum->limbs[k] += carried.limbs[k];
    sum->since_carry = 1;
    sum->terms += other->terms;
    sum->nans += other->nans;
    sum->plus_infinities += other->plus_infinities;
    sum->minus_infinities += other->minus_infinities;
    sum->other_than_minus_zero |= other->other_than_minus_zero;
}

static double double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double lfr_exact_round(const lfr_exact_sum *sum)
{
    const uint64_t minus = (uint64_t)1 << 63, infinity = (uint64_t)2047 << 52;
    if (sum->nans > 0 || (sum->plus_infinities > 0 && sum->minus_infinities > 0))
        return double_of_bits(infinity | 1u << 1 | (uint64_t)1 << 51);
    if (sum->plus_infinities > 0 || sum->minus_infinities > 0)
        return double_of_bits(sum->plus_infinities > 0 ? infinity : minus | infinity);

    lfr_exact_sum magnitude = *sum;
    make_carries(&magnitude);
    const int negative = magnitude.limbs[LIMBS - 1] < 0;
    if (negative) {
        for (int k = 0; k < LIMBS; k++)
            magnitude.limbs[k] = -magnitude.limbs[k];
        make_carries(&magnitude);
    }
    int top = 32 * LIMBS - 1;
    while (top >= 0 && (magnitude.limbs[top / 32] >> (top % 32) & 1) == 0)
        top--;
    if (top < 0)
        return double_of_bits(sum->terms > 0 && !sum->other_than_minus_zero ? minus : 0);

    /* Bits from `lowest` on are kept; of a subnormal number all are. */
    const int lowest = top > 52 ? top - 52 : 0;
    uint64_t mantissa = 0;
    for (int bit = top; bit >= lowest; bit--)
        mantissa = mantissa << 1 | (uint64_t)(magnitude.limbs[bit / 32] >> (bit % 32) & 1);
    int half = 0, more = 0;
    for (int bit = lowest - 1; bit >= 0; bit--) {
        const int here = (int)(magnitude.limbs[bit / 32] >> (bit % 32) & 1);
        if (bit == lowest - 1)
            half = here;
        else
            more |= here;
    }
    /* Rounded up, a mantissa of all ones becomes the next power of two, and adds 1 to the exponent by itself; so does a subnormal number. */
    if (half && (more || mantissa % 2 == 1))
        mantissa++;
    const uint64_t bits = mantissa + ((uint64_t)lowest << 52);
    return double_of_bits((bits >= infinity ? infinity : bits) | (negative ? minus : 0));
}

void lfr_exact_words(const lfr_exact_sum *sum, int64_t words[LFR_EXACT_WORDS])
{
    lfr_exact_sum carried = *sum;
    make_carries(&carried);
    memcpy(words, carried.limbs, sizeof carried.limbs);
    words[LIMBS] = carried.plus_infinities;
    words[LIMBS + 1] = carried.minus_infinities;
    words[LIMBS + 2] = carried.nans;
    words[LIMBS + 3] = carried.other_than_minus_zero;
    words[LIMBS + 4] = carried.terms;
}

/* Each warp is folded by halves, and the warps of a block are added in order. */
static double fold_block(const lfr_tree *tree, double *s)
{
    double z = 0;
    for (int first = 0; first < tree->threads; first += tree->warp) {
        for (int k = tree->warp / 2; k >= 1; k /= 2)
            for (int v = 0; v < k; v++)
                s[first + v] = s[first + v] + s[first + v + k];
        z = z + s[first];
    }
    return z;
}

void lfr_tree_blocks(const double *terms, size_t n, const lfr_tree *tree, double *blocks)
{
    const size_t threads = (size_t)tree->threads, count = (size_t)tree->blocks;
    double *s = fresh_memory(threads, sizeof *s);
    for (size_t b = 0; b < count; b++) {
        for (size_t t = 0; t < threads; t++) {
            s[t] = 0;
            for (size_t i = 2 * threads * b + t; i < n; i += 2 * threads * count) {
                s[t] = s[t] + terms[i];
                if (i + threads < n)
                    s[t] = s[t] + terms[i + threads];
            }
        }
        blocks[b] = fold_block(tree, s);
    }
    free(s);
}

static double tree_sum(const lfr_tree *tree, const double *terms, size_t n)
{
    const size_t threads = (size_t)tree->threads, blocks = (size_t)tree->blocks;
    double *s = fresh_memory(threads, sizeof *s), *buffer = fresh_memory(blocks, sizeof *buffer);
    lfr_tree_blocks(terms, n, tree, buffer);
    for (size_t t = 0; t < threads; t++) {
        s[t] = 0;
        for (size_t i = t; i < blocks; i += threads)
            s[t] = s[t] + buffer[i];
    }
    const double z = fold_block(tree, s);
    free(s);
    free(buffer);
    return z;
}

double lfr_sum_terms(const double *terms, size_t n, const lfr_tree *tree)
{
    lfr_exact_sum sum;
    if (tree != NULL)
        return tree_sum(tree, terms, n);
    lfr_exact_start(&sum);
    for (size_t i = 0; i < n; i++)
        lfr_exact_add(&sum, terms[i]);
    return lfr_exact_round(&sum);
}

/* The sites of a field in the order of summation; returns their number. Exact sums do not depend on the order. For trees it is outer site by outer
 * site, and within each lane by lane. Only sites whose coordinate in `direction` is `slice`; all for direction -1. */
static size_t sites_in_order(const lfr_shape *shape, const lfr_tree *tree, int direction, int slice, size_t *order)
{
    const int whole[4] = {1, 1, 1, 1};
    const int *cut = tree == NULL ? whole : tree->cut;
    int lanes[4], outer[4]; /* extents of the lattice of lanes, and of outer sites */
    size_t n = 0;
    for (int d = 0; d < 4; d++) {
        const int extent = d == 0 && shape->sites != LFR_FULL ? shape->extents[0] / 2 : shape->extents[d];
        lanes[d] = cut[d];
        outer[d] = extent / cut[d];
    }
    for (size_t o = 0; o < lfr_volume(outer); o++)
        for (size_t lane = 0; lane < lfr_volume(lanes); lane++) {
            int x[4], l[4];
            coordinates_of(outer, o, x);
            coordinates_of(lanes, lane, l);
            for (int d = 0; d < 4; d++)
                x[d] += outer[d] * l[d];
            if (shape->sites != LFR_FULL) /* x is half of the coordinate */
                x[0] = 2 * x[0] + (x[1] + x[2] + x[3] + (shape->sites == LFR_ODD)) % 2;
            if (direction < 0 || x[direction] == slice)
                order[n++] = site_at(shape->extents, x);
        }
    return n;
}

/* ------------------------------------------------------- Section 11: random numbers ----------------------------------------------------- */

void lfr_random_bits(uint64_t seed, uint32_t stream, uint64_t site, uint32_t component, uint32_t out[4])
{
    uint32_t counter[4] = {(uint32_t)site, (uint32_t)(site >> 32), component, stream};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int round = 0; round < 10; round++) {
        const uint64_t even = (uint64_t)0xd2511f53u * counter[0], odd = (uint64_t)0xcd9e8d57u * counter[2];
        counter[0] = (uint32_t)(odd >> 32) ^ counter[1] ^ key[0];
        counter[2] = (uint32_t)(even >> 32) ^ counter[3] ^ key[1];
        counter[1] = (uint32_t)odd;
        counter[3] = (uint32_t)even;
        key[0] += 0x9e3779b9u;
        key[1] += 0xbb67ae85u;
    }
    memcpy(out, counter, sizeof counter);
}

double lfr_uniform(uint64_t seed, uint32_t stream, uint64_t site, uint32_t component)
{
    uint32_t bits[4];
    const double spacing = 1.0 / 9007199254740992.0; /* 2^-53 */
    lfr_random_bits(seed, stream, site, component, bits);
    const uint64_t k = ((uint64_t)bits[1] << 32 | bits[0]) >> 11;
    return k == 0 ? 0.5 * spacing : (double)k * spacing;
}

/* ------------------------------------------------ Section 14: real matrices along s, in f64 -------------------------------------------- */

void lfr_make_ring(int ls, double diagonal, double beside, double mass, double *d, double *p, double *m)
{
    for (int s = 0; s < ls; s++) {
        d[s] = diagonal;
        p[s] = m[s] = beside;
    }
    p[0] = -(mass * beside);
    m[ls - 1] = -(mass * beside);
}

/* The site k along s in the order of an elimination. */
static int in_order(int ls, int descending, int k)
{
    return descending ? ls - 1 - k : k;
}

void lfr_invert_ring(const lfr_ring *ring, int dagger, lfr_sweep *sweep)
{
    const int ls = ring->ls;
    sweep->ls = ls;
    for (int chirality = 0; chirality < 2; chirality++) {
        const double *beside = chirality == 0 ? ring->p : ring->m;
        /* The transpose has p'_s = p_(s+1) and m'_s = m_(s-1). */
        const int shift = !dagger ? 0 : chirality == 0 ? 1 : ls - 1;
        double *c = sweep->c[chirality], *t = sweep->t[chirality], *r = sweep->r[chirality];
        const int descending = (chirality == 1) != (dagger != 0);
        const int first = in_order(ls, descending, 0);
        sweep->descending[chirality] = descending;
        double q = -beside[(first + shift) % ls];
        for (int k = ls - 1; k >= 1; k--) {
            const int s = in_order(ls, descending, k);
            r[s] = 1 / ring->d[s];
            c[s] = q * r[s];
            t[s] = -(beside[(s + shift) % ls] * r[s]);
            q = q * t[s];
        }
        r[first] = 1 / (ring->d[first] - q);
        c[first] = 1;
        t[first] = 0;
    }
}

void lfr_dense_inverse(const lfr_sweep *sweep, double *n[2])
{
    const int ls = sweep->ls;
    double *y = fresh_memory((size_t)ls, sizeof *y);
    for (int chirality = 0; chirality < 2; chirality++) {
        const double *c = sweep->c[chirality], *t = sweep->t[chirality], *r = sweep->r[chirality];
        const int descending = sweep->descending[chirality], first = in_order(ls, descending, 0);
        for (int column = 0; column < ls; column++) {
            double f = first == column ? 1 : 0;
            for (int k = 1; k < ls; k++) {
                const int s = in_order(ls, descending, k);
                f = fma(c[s], s == column ? 1 : 0, f);
            }
            y[first] = r[first] * f;
            for (int k = 1; k < ls; k++) {
                const int s = in_order(ls, descending, k), before = in_order(ls, descending, k - 1);
                y[s] = fma(t[s], y[before], r[s] * (s == column ? 1 : 0));
            }
            for (int s = 0; s < ls; s++)
                n[chirality][s * ls + column] = y[s];
        }
    }
    free(y);
}

/* A ring whose arrays are at the beginning of `room`, which is advanced. */
static lfr_ring new_ring(double **room, int ls, double diagonal, double beside, double mass)
{
    double *d = *room;
    const lfr_ring ring = {ls, d, d + ls, d + 2 * ls};
    lfr_make_ring(ls, diagonal, beside, mass, d, d + ls, d + 2 * ls);
    *room += 3 * ls;
    return ring;
}

static lfr_sweep new_sweep(double **room, const lfr_ring *ring, int dagger)
{
    lfr_sweep sweep;
    for (int chirality = 0; chirality < 2; chirality++) {
        sweep.c[chirality] = *room;
        sweep.t[chirality] = *room + ring->ls;
        sweep.r[chirality] = *room + 2 * ring->ls;
        *room += 3 * ring->ls;
    }
    lfr_invert_ring(ring, dagger, &sweep);
    return sweep;
}

/* ---------------------------------------------- What clover (13) and packed links (5) need in f64 -------------------------------------- */

static lfr_complex_f64 wide(double re, double im)
{
    const lfr_complex_f64 z = {re, im};
    return z;
}

static lfr_complex_f64 wide_mul(lfr_complex_f64 a, lfr_complex_f64 b)
{
    return wide(fma(-a.im, b.im, a.re * b.re), fma(a.im, b.re, a.re * b.im));
}

static lfr_complex_f64 wide_madd(lfr_complex_f64 a, lfr_complex_f64 b, lfr_complex_f64 c)
{
    return wide(fma(-a.im, b.im, fma(a.re, b.re, c.re)), fma(a.im, b.re, fma(a.re, b.im, c.im)));
}

static lfr_complex_f64 wide_scaled(double s, lfr_complex_f64 a)
{
    return wide(s * a.re, s * a.im);
}

static lfr_complex_f64 wide_neg(lfr_complex_f64 a)
{
    return wide(-a.re, -a.im);
}

static lfr_complex_f64 wide_conj(lfr_complex_f64 a)
{
    return wide(a.re, -a.im);
}

/* A 3x3 matrix, row by row. */
typedef struct {
    lfr_complex_f64 e[9];
} wide_matrix;

static wide_matrix wide_product(wide_matrix a, wide_matrix b)
{
    wide_matrix out;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out.e[3 * i + j] =
                wide_madd(a.e[3 * i + 2], b.e[6 + j], wide_madd(a.e[3 * i + 1], b.e[3 + j], wide_mul(a.e[3 * i], b.e[j])));
    return out;
}

static wide_matrix wide_sum(wide_matrix a, wide_matrix b)
{
    for (int i = 0; i < 9; i++)
        a.e[i] = wide(a.e[i].re + b.e[i].re, a.e[i].im + b.e[i].im);
    return a;
}

/* The planes xy, xz, xt, yz, yt, zt as (mu, nu). */
static const int first_of_plane[6] = {0, 0, 0, 1, 1, 2}, second_of_plane[6] = {1, 2, 3, 2, 3, 3};

/* Where C_ij for i < j is stored in a block. */
static int word_of_pair(int i, int j)
{
    return 3 + (15 - (6 - i) * (5 - i) / 2 + j - i - 1);
}

/* 0 for the words of spins 0 and 1 (chirality +), 1 for those of spins 2 and 3. */
static int chirality_of(size_t word)
{
    return word < 6 ? 0 : 1;
}

/* The operation on a hop, word by word: none, a x + hop, a hop, a x - hop. */
enum { JUST_HOP, HOP_PLUS, TIMES_HOP, MINUS_HOP };

/* Whether w w^dagger = 1 and det w = 1 to 10^-5. */
static int is_in_su3(const lfr_complex_f64 w[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int k = (i + 1) % 3, l = (i + 2) % 3, m = (j + 1) % 3, n = (j + 2) % 3;
            /* In SU(3) an element is the conjugate of its cofactor, and rows are unit vectors. */
            const lfr_complex_f64 minor =
                wide_madd(wide_neg(w[3 * k + n]), w[3 * l + m], wide_mul(w[3 * k + m], w[3 * l + n]));
            const double re = minor.re - w[3 * i + j].re, im = minor.im + w[3 * i + j].im;
            if (!(re * re + im * im < 1e-10))
                return 0;
        }
    double norm = 0;
    for (int j = 0; j < 3; j++)
        norm += w[j].re * w[j].re + w[j].im * w[j].im;
    return norm > 1 - 1e-5 && norm < 1 + 1e-5;
}

/* ---------------------------------------------------- Section 10: what all solvers need ------------------------------------------------- */

static void start_report(lfr_solve_report *report)
{
    report->recorded = report->iterations = report->converged = 0;
}

static void record(lfr_solve_report *report, double squared_residual)
{
    if (report->recorded < report->room)
        report->history[report->recorded] = squared_residual;
    report->recorded++;
}

static void watch(const lfr_solve_parameters *parameters, const lfr_iteration *now)
{
    if (parameters->watcher != NULL)
        parameters->watcher(parameters->watched_by, now);
}

/* The exponent e of 2^e <= x < 2^(e+1). */
static int exponent_of(double x)
{
    int e = 0;
    for (; x >= 2; x *= 0.5)
        e++;
    for (; x < 1; x *= 2)
        e--;
    return e;
}

static double power_of_two(int e)
{
    double power = 1;
    for (; e > 0; e--)
        power *= 2;
    for (; e < 0; e++)
        power *= 0.5;
    return power;
}

/* x times 2^e, even if 2^e is not a double. */
static double times_power(double x, int e)
{
    return e > 1000 ? (x * power_of_two(1000)) * power_of_two(e - 1000) : x * power_of_two(e);
}

/* The exponent by which a source is divided; 0 if it can stay unchanged. */
static int exponent_to_divide(double largest, int low_precision)
{
    if (!(largest > 0) || largest > DBL_MAX)
        return 0;
    const int e = exponent_of(largest), bound = low_precision ? 40 : 300;
    return e > bound || e < -bound ? e : 0;
}

/* Complex numbers of BiCGStab: every operation is rounded. */
static lfr_complex_f64 rounded_product(lfr_complex_f64 a, lfr_complex_f64 b)
{
    const lfr_complex_f64 product = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    return product;
}

static lfr_complex_f64 rounded_quotient(lfr_complex_f64 a, lfr_complex_f64 b)
{
    const double w = b.re * b.re + b.im * b.im;
    const lfr_complex_f64 quotient = {(a.re * b.re + a.im * b.im) / w, (a.im * b.re - a.re * b.im) / w};
    return quotient;
}

/* ------------------------------------------------------- What has a precision ---------------------------------------------------------- */

#define REAL float
#define LFR(name) lfr_##name##_f32
#define FMA fmaf
#include "lanefield_reference.c"
#undef REAL
#undef LFR
#undef FMA

#define REAL double
#define LFR(name) lfr_##name##_f64
#define FMA fma
#include "lanefield_reference.c"
#undef REAL
#undef LFR
#undef FMA

/* ------------------------------------------------- What takes two precisions (10 and 12) ----------------------------------------------- */

void lfr_convert_f32_from_f64(const lfr_shape *shape, const lfr_complex_f64 *in, lfr_complex_f32 *out)
{
    const size_t words = lfr_field_words(shape), of_site = (size_t)shape->words, volume = lfr_volume(shape->extents);
    for (size_t i = 0; i < words; i++)
        if (has_site(shape, i / of_site % volume)) {
            out[i].re = (float)in[i].re;
            out[i].im = (float)in[i].im;
        }
    if (shape->half)
        lfr_round_to_half_f32(shape, out);
}

void lfr_convert_f64_from_f32(const lfr_shape *shape, const lfr_complex_f32 *in, lfr_complex_f64 *out)
{
    const size_t words = lfr_field_words(shape), of_site = (size_t)shape->words, volume = lfr_volume(shape->extents);
    for (size_t i = 0; i < words; i++)
        if (has_site(shape, i / of_site % volume)) {
            out[i].re = in[i].re;
            out[i].im = in[i].im;
        }
}

void lfr_convert_f32_from_f32(const lfr_shape *shape, const lfr_complex_f32 *in, lfr_complex_f32 *out)
{
    lfr_copy_f32(shape, in, out);
}

void lfr_convert_f64_from_f64(const lfr_shape *shape, const lfr_complex_f64 *in, lfr_complex_f64 *out)
{
    lfr_copy_f64(shape, in, out);
}

void lfr_mixed_cg(const lfr_shape *shape, lfr_matrix_f64 *matrix, const void *context, const lfr_shape *low_shape,
                  lfr_matrix_f32 *low_matrix, const void *low_context, const lfr_complex_f64 *b, lfr_complex_f64 *psi,
                  const lfr_solve_parameters *parameters, lfr_solve_report *report)
{
    const lfr_tree *tree = parameters->tree;
    const double delta = parameters->delta != 0 ? parameters->delta : low_shape->half ? 0.03 : 0.001;
    lfr_complex_f64 *r = lfr_fresh_f64(shape), *wide = lfr_fresh_f64(shape);
    lfr_complex_f32 *low_r = lfr_fresh_f32(low_shape), *p = lfr_fresh_f32(low_shape), *q = lfr_fresh_f32(low_shape);
    lfr_complex_f32 *x = lfr_fresh_f32(low_shape), *zero = lfr_fresh_f32(low_shape);

    start_report(report);
    const double target = parameters->tolerance * parameters->tolerance * lfr_norm2_f64(shape, b, tree);
    lfr_residual_f64(shape, matrix, context, b, psi, r, tree);
    const double start = lfr_norm2_f64(shape, r, tree);
    record(report, start);
    report->converged = start <= target;

    lfr_convert_f32_from_f64(low_shape, r, low_r);
    lfr_copy_f32(low_shape, low_r, p);
    double c = lfr_norm2_f32(low_shape, low_r, tree), largest = c;
    while (!report->converged && report->iterations < parameters->most_iterations) {
        low_matrix(low_context, p, q);
        const double a = c / lfr_inner_f32(low_shape, p, q, tree).re;
        lfr_axpy_f32(low_shape, (float)-a, q, low_r);
        const double next = lfr_norm2_f32(low_shape, low_r, tree);
        report->iterations++;
        if (next <= target || next < (delta * delta) * largest) {
            lfr_axpy_f32(low_shape, (float)a, p, x);
            lfr_convert_f64_from_f32(shape, x, wide);
            lfr_axpy_f64(shape, 1, wide, psi);
            lfr_copy_f32(low_shape, zero, x);
            matrix(context, psi, wide);
            lfr_copy_f64(shape, b, r);
            lfr_axpy_f64(shape, -1, wide, r);
            const double squared_residual = lfr_norm2_f64(shape, r, tree);
            record(report, squared_residual);
            report->converged = squared_residual <= target;
            if (report->converged)
                break;
            lfr_convert_f32_from_f64(low_shape, r, low_r);
            const double replaced = lfr_norm2_f32(low_shape, low_r, tree);
            const double overlap = lfr_inner_f32(low_shape, low_r, p, tree).re;
            lfr_axpy_f32(low_shape, (float)-(overlap / replaced), low_r, p);
            lfr_axpby_f32(low_shape, 1, low_r, (float)(replaced / c), p);
            c = largest = replaced;
        } else {
            lfr_cg_update_f32(low_shape, (float)a, (float)(next / c), p, low_r, x);
            c = next;
            largest = largest > c ? largest : c;
            record(report, c);
        }
    }
    free(r);
    free(wide);
    free(low_r);
    free(p);
    free(q);
    free(x);
    free(zero);
}

void lfr_mixed_solve(const lfr_operator_f64 *fermion, const lfr_operator_f32 *low, int even_odd, const lfr_complex_f64 *eta,
                     lfr_complex_f64 *psi, const lfr_solve_parameters *parameters, lfr_solve_report *report)
{
    const lfr_shape shape = on_sites(fermion->shape, even_odd ? LFR_ODD : LFR_FULL), low_shape = on_sites(low->shape, shape.sites);
    const int exponent = exponent_to_divide(lfr_largest_f64(&fermion->shape, eta), 1);
    lfr_complex_f64 *source = lfr_fresh_f64(&fermion->shape), *b = lfr_fresh_f64(&fermion->shape);

    lfr_scaled_copy_f64(&fermion->shape, -exponent, eta, source);
    lfr_normal_source_f64(fermion, even_odd, 1, source, b);
    lfr_clear_f64(&fermion->shape, psi);
    lfr_mixed_cg(&shape, even_odd ? lfr_normal_schur_f64 : lfr_normal_full_f64, fermion, &low_shape,
                 even_odd ? lfr_normal_schur_f32 : lfr_normal_full_f32, low, b, psi, parameters, report);
    if (even_odd)
        lfr_even_solution_f64(fermion, source, psi);
    lfr_scaled_copy_f64(&fermion->shape, exponent, psi, psi);
    free(source);
    free(b);
}

/* --------------------------------------------------- Section 1: what the compiler does -------------------------------------------------- */

/* Every number comes from and goes to memory that is opaque to the compiler, so that it computes everything at run time. */
static volatile double given_f64[16];
static volatile float given_f32[16];

static double opaque_f64(double x)
{
    given_f64[0] = x;
    return given_f64[0];
}

static float opaque_f32(float x)
{
    given_f32[0] = x;
    return given_f32[0];
}

/* 2^e, made by the processor alone. */
static double two_to(int e)
{
    return double_of_bits((uint64_t)(e + 1023) << 52);
}

static int same_f64(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static int same_f32(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* a b - c, c - a b and a b - c d must round the first product. Each is an expression of its own numbers: what a compiler may use twice, it does not
 * fuse. (1 + u)(1 - u) is 1 where it is rounded, and 1 - u^2 where it is not. */
static int contracts(void)
{
    const double u = two_to(-30);
    const float v = (float)two_to(-14);
    const double ab_minus_c = opaque_f64(1 + u) * opaque_f64(1 - u) - opaque_f64(1);
    const double c_minus_ab = opaque_f64(1) - opaque_f64(1 + u) * opaque_f64(1 - u);
    const double ab_minus_cd = opaque_f64(1 + u) * opaque_f64(1 - u) - opaque_f64(1 - u) * opaque_f64(1 + u);
    const float fg_minus_h = opaque_f32(1 + v) * opaque_f32(1 - v) - opaque_f32(1);
    const float h_minus_fg = opaque_f32(1) - opaque_f32(1 + v) * opaque_f32(1 - v);
    const float fg_minus_hk = opaque_f32(1 + v) * opaque_f32(1 - v) - opaque_f32(1 - v) * opaque_f32(1 + v);
    return !same_f64(ab_minus_c, 0) || !same_f64(c_minus_ab, 0) || !same_f64(ab_minus_cd, 0) || !same_f32(fg_minus_h, 0) ||
           !same_f32(h_minus_fg, 0) || !same_f32(fg_minus_hk, 0);
}

/* A sum must be rounded to its own type before it is used. */
static int has_excess_precision(void)
{
    const double u = opaque_f64(two_to(-53)), less = opaque_f64(two_to(-80)), one = opaque_f64(1);
    const float v = opaque_f32((float)two_to(-24)), little = opaque_f32((float)two_to(-40)), single = opaque_f32(1);
    const double sum = one + (u + less);
    const float total = single + (v + little);
    return !same_f64(sum - one, two_to(-52)) || !same_f32(total - single, (float)two_to(-23));
}

static int flushes_subnormals(void)
{
    const double least = opaque_f64(DBL_MIN), half = opaque_f64(0.5);
    const float small = opaque_f32(FLT_MIN), part = opaque_f32(0.5f);
    const double d = least * half;
    const float f = small * part;
    return !same_f64(d, double_of_bits((uint64_t)1 << 51)) || !same_f64(d + d, DBL_MIN) || !same_f32(f, (float)two_to(-127)) ||
           !same_f32(f + f, FLT_MIN) || !same_f64((double)f, two_to(-127)) || !same_f32((float)opaque_f64(two_to(-149)) + 0, (float)two_to(-149));
}

/* (a + b) - a, and a sum that is long enough to be taken in vectors. The numbers are so far apart that no excess precision holds both. */
static int reassociates(void)
{
    const double large = opaque_f64(two_to(100)), one = opaque_f64(1);
    const float big = opaque_f32((float)two_to(100)), single = opaque_f32(1);
    double terms[16], sum = 0;
    float few[16], total = 0;
    for (int i = 0; i < 16; i++) {
        given_f64[i] = i % 4 == 0 ? two_to(100) : i % 4 == 2 ? -two_to(100) : 1;
        given_f32[i] = i % 4 == 0 ? (float)two_to(100) : i % 4 == 2 ? (float)-two_to(100) : 1;
    }
    for (int i = 0; i < 16; i++) {
        terms[i] = given_f64[i];
        few[i] = given_f32[i];
    }
    for (int i = 0; i < 16; i++)
        sum += terms[i];
    for (int i = 0; i < 16; i++)
        total += few[i];
    /* Of 2^100, 1, -2^100, 1 the first 1 is lost, and the second one at the next 2^100: only the last one of all counts. */
    return !same_f64((large + one) - large, 0) || !same_f64((one - large) + large, 0) || !same_f32((big + single) - big, 0) ||
           !same_f32((single - big) + big, 0) || !same_f64(sum, 1) || !same_f32(total, 1);
}

/* (1 + u)(1 - u) - 1 is -u^2 where fma rounds once. */
static int fma_is_not_fused(void)
{
    const double u = two_to(-30);
    const float v = (float)two_to(-14);
    return !same_f64(fma(opaque_f64(1 + u), opaque_f64(1 - u), opaque_f64(-1)), -two_to(-60)) ||
           !same_f32(fmaf(opaque_f32(1 + v), opaque_f32(1 - v), opaque_f32(-1)), (float)-two_to(-28)) ||
           /* rounded to double in between, this would be 1 + 2^-11 */
           !same_f32(fmaf(opaque_f32(1 + (float)two_to(-12)), opaque_f32(1 + (float)two_to(-12)), opaque_f32((float)two_to(-80))),
                     (float)(1 + two_to(-11) + two_to(-23)));
}

/* A quotient q of floats is right if |a - q b| is at most half an ulp of q times |b|; in double that is exact. */
static int float_quotient_is_wrong(float a, float b, float q)
{
    uint32_t bits;
    float next;
    memcpy(&bits, &q, sizeof bits);
    bits++;
    memcpy(&next, &bits, sizeof next);
    const double remainder = (double)a - (double)q * (double)b, half_ulp = ((double)next - (double)q) * 0.5 * (double)b;
    return (remainder < 0 ? -remainder : remainder) > half_ulp;
}

/* A root q of a float is right if (q - ulp / 2)^2 < a < (q + ulp / 2)^2. */
static int float_root_is_wrong(float a, float q)
{
    uint32_t bits;
    float next;
    memcpy(&bits, &q, sizeof bits);
    bits++;
    memcpy(&next, &bits, sizeof next);
    const double half_ulp = ((double)next - (double)q) * 0.5, above = (double)q + half_ulp, below = (double)q - half_ulp;
    return !(below * below < (double)a && (double)a < above * above);
}

static int division_is_approximate(void)
{
    float quotients[16];
    double fine[16];
    for (int divisor = 3; divisor < 60; divisor += 2) {
        for (int i = 0; i < 16; i++) {
            given_f32[i] = (float)(7 * i + 1);
            given_f64[i] = 7 * i + 1;
        }
        const float b = given_f32[3] * 0 + (float)divisor;
        const double wide = given_f64[3] * 0 + divisor;
        for (int i = 0; i < 16; i++) /* one divisor for many: a reciprocal would be taken once */
            quotients[i] = given_f32[i] / b;
        for (int i = 0; i < 16; i++)
            fine[i] = given_f64[i] / wide;
        for (int i = 0; i < 16; i++) {
            const double q = fine[i], residual = fma(-q, wide, (double)(7 * i + 1));
            /* An ulp of q is at most q 2^-52; (residual / wide) / q is the error of q. */
            if (float_quotient_is_wrong((float)(7 * i + 1), (float)divisor, quotients[i]) ||
                !((residual < 0 ? -residual : residual) <= q * wide * two_to(-53)))
                return 1;
        }
    }
    const double divisor = opaque_f64(49), first = opaque_f64(1) / divisor, second = opaque_f64(5) / divisor, third = opaque_f64(49) / divisor;
    const float narrow = opaque_f32(49), one = opaque_f32(49) / narrow, two = opaque_f32(98) / narrow, four = opaque_f32(196) / narrow;
    if (!same_f32(one, 1) || !same_f32(two, 2) || !same_f32(four, 4) || !same_f64(third, 1))
        return 1;
    return !same_f64(opaque_f64(1) / opaque_f64(3), double_of_bits(0x3fd5555555555555u)) ||
           !same_f64(first, double_of_bits(0x3f94e5e0a72f0539u)) ||
           !same_f64(second, double_of_bits(0x3fba1f58d0fac688u));
}

static int root_is_approximate(void)
{
    for (int i = 1; i < 200; i++)
        if (float_root_is_wrong((float)(3 * i), sqrtf(opaque_f32((float)(3 * i)))))
            return 1;
    return !same_f64(sqrt(opaque_f64(2)), double_of_bits(0x3ff6a09e667f3bcdu)) ||
           !same_f64(sqrt(opaque_f64(3)), double_of_bits(0x3ffbb67ae8584caau));
}

/* Two numbers are rounded to float and promoted: GCC 12 drops the rounding where it takes the pair for a vector. */
static void through_float(const lfr_complex_f64 *in, lfr_complex_f64 *out)
{
    out->re = (double)(float)in->re;
    out->im = (double)(float)in->im;
}

/* Called through this, it stays the function that it is. */
static void (*volatile round_pair)(const lfr_complex_f64 *in, lfr_complex_f64 *out) = through_float;

static int rounding_to_float_is_dropped(void)
{
    const lfr_complex_f64 in = {opaque_f64(1 + two_to(-29)), opaque_f64(1 - two_to(-29))};
    lfr_complex_f64 out;
    round_pair(&in, &out);
    const double x = opaque_f64(1 + two_to(-29));
    return !same_f64(out.re, 1) || !same_f64(out.im, 1) || !same_f64((double)(float)x, 1);
}

/* -0 + 0 is +0, 0 - 0 is +0, and NaN and infinities are what they are. */
static int zeros_or_infinities_are_lost(void)
{
    const double minus_zero = opaque_f64(-0.0), zero = opaque_f64(0.0), huge = opaque_f64(DBL_MAX);
    const double a = opaque_f64(3), b = opaque_f64(3);
    const double infinity = huge * 2, nan = infinity - infinity;
    const volatile double again = nan;
    return !same_f64(minus_zero + 0.0, 0.0) || !same_f64(-(a - b), -0.0) || !same_f64(zero * -1.0, -0.0) || !same_f64(0.0 - zero, 0.0) ||
           !same_f64(infinity, double_of_bits((uint64_t)2047 << 52)) || again == again || nan == nan;
}

static int rounds_otherwise(void)
{
    const double one = opaque_f64(1), up = opaque_f64(3 * two_to(-54)), down = opaque_f64(two_to(-54)), even = opaque_f64(two_to(-53));
    return !same_f64(one + up, 1 + two_to(-52)) || !same_f64(one + down, 1) || !same_f64(one + even, 1) ||
           !same_f64(-one - up, -1 - two_to(-52));
}

const char *lfr_check_compiler(void)
{
    if (rounds_otherwise())
        return "sums are not rounded to nearest even: set the rounding mode (fesetround(FE_TONEAREST)), compile without -frounding-math";
    if (flushes_subnormals())
        return "subnormal numbers are flushed to zero: compile and link without -ffast-math, -Ofast, -ftz, /Qftz (also other parts of the program)";
    if (reassociates())
        return "sums are reassociated: compile without -ffast-math, -fassociative-math; icx: -fp-model=precise";
    if (has_excess_precision())
        return "sums are kept in more than their precision: compile for SSE2 (-msse2 -mfpmath=sse) or with -ffloat-store";
    if (contracts())
        return "a * b + c is contracted to fma: compile with -ffp-contract=off (nvcc: -fmad=false)";
    if (fma_is_not_fused())
        return "fma and fmaf round twice: take another libm, or a processor with fma (-mfma)";
    if (division_is_approximate())
        return "division is not rounded correctly: compile without -freciprocal-math, -mrecip; nvcc: -prec-div=true";
    if (root_is_approximate())
        return "sqrt is not rounded correctly: compile without -mrecip; nvcc: -prec-sqrt=true";
    if (rounding_to_float_is_dropped())
        return "(double)(float)x is not rounded to float: GCC takes it for x in vectors; compile with -fno-tree-slp-vectorize";
    if (zeros_or_infinities_are_lost())
        return "zeros lose their sign, or infinities and NaN are taken for numbers: compile without -fno-signed-zeros, -ffinite-math-only";
    return NULL;
}

#else /* LFR: the functions of one precision */

#define COMPLEX LFR(complex)

/* --------------------------------------------------- Section 2: complex numbers -------------------------------------------------------- */

static COMPLEX LFR(number)(REAL re, REAL im)
{
    const COMPLEX z = {re, im};
    return z;
}

static COMPLEX LFR(add)(COMPLEX a, COMPLEX b)
{
    return LFR(number)(a.re + b.re, a.im + b.im);
}

static COMPLEX LFR(sub)(COMPLEX a, COMPLEX b)
{
    return LFR(number)(a.re - b.re, a.im - b.im);
}

static COMPLEX LFR(neg)(COMPLEX a)
{
    return LFR(number)(-a.re, -a.im);
}

static COMPLEX LFR(conj)(COMPLEX a)
{
    return LFR(number)(a.re, -a.im);
}

static COMPLEX LFR(times_i)(COMPLEX a)
{
    return LFR(number)(-a.im, a.re);
}

static COMPLEX LFR(times_minus_i)(COMPLEX a)
{
    return LFR(number)(a.im, -a.re);
}

static COMPLEX LFR(scaled)(REAL s, COMPLEX a)
{
    return LFR(number)(s * a.re, s * a.im);
}

/* s a + c, fused */
static COMPLEX LFR(scaled_add)(REAL s, COMPLEX a, COMPLEX c)
{
    return LFR(number)(FMA(s, a.re, c.re), FMA(s, a.im, c.im));
}

static COMPLEX LFR(mul)(COMPLEX a, COMPLEX b)
{
    return LFR(number)(FMA(-a.im, b.im, a.re * b.re), FMA(a.im, b.re, a.re * b.im));
}

static COMPLEX LFR(madd)(COMPLEX a, COMPLEX b, COMPLEX c)
{
    return LFR(number)(FMA(-a.im, b.im, FMA(a.re, b.re, c.re)), FMA(a.im, b.re, FMA(a.re, b.im, c.im)));
}

static COMPLEX LFR(rounded)(lfr_complex_f64 a)
{
    return LFR(number)((REAL)a.re, (REAL)a.im);
}

/* --------------------------------------------------- Section 3: matrix times vector ---------------------------------------------------- */

static LFR(vector) LFR(times)(LFR(link) u, LFR(vector) h)
{
    LFR(vector) out;
    for (int a = 0; a < 3; a++)
        out.c[a] = LFR(madd)(u.e[a][2], h.c[2], LFR(madd)(u.e[a][1], h.c[1], LFR(mul)(u.e[a][0], h.c[0])));
    return out;
}

static LFR(vector) LFR(add_vectors)(LFR(vector) a, LFR(vector) b)
{
    for (int k = 0; k < 3; k++)
        a.c[k] = LFR(add)(a.c[k], b.c[k]);
    return a;
}

static LFR(vector) LFR(sub_vectors)(LFR(vector) a, LFR(vector) b)
{
    for (int k = 0; k < 3; k++)
        a.c[k] = LFR(sub)(a.c[k], b.c[k]);
    return a;
}

static LFR(vector) LFR(neg_vector)(LFR(vector) a)
{
    for (int k = 0; k < 3; k++)
        a.c[k] = LFR(neg)(a.c[k]);
    return a;
}

static LFR(vector) LFR(times_i_vector)(LFR(vector) a)
{
    for (int k = 0; k < 3; k++)
        a.c[k] = LFR(times_i)(a.c[k]);
    return a;
}

static LFR(vector) LFR(times_minus_i_vector)(LFR(vector) a)
{
    for (int k = 0; k < 3; k++)
        a.c[k] = LFR(times_minus_i)(a.c[k]);
    return a;
}

/* ---------------------------------------------- Section 4: spin projection and reconstruction ------------------------------------------ */

/* a + i b and a - i b */
static LFR(vector) LFR(add_i)(LFR(vector) a, LFR(vector) b)
{
    return LFR(add_vectors)(a, LFR(times_i_vector)(b));
}

static LFR(vector) LFR(sub_i)(LFR(vector) a, LFR(vector) b)
{
    return LFR(sub_vectors)(a, LFR(times_i_vector)(b));
}

LFR(half_spinor) LFR(project)(int direction, int plus, LFR(spinor) psi)
{
    LFR(half_spinor) h;
    switch (direction) {
    case 0:
        h.s[0] = plus ? LFR(add_i)(psi.s[0], psi.s[3]) : LFR(sub_i)(psi.s[0], psi.s[3]);
        h.s[1] = plus ? LFR(add_i)(psi.s[1], psi.s[2]) : LFR(sub_i)(psi.s[1], psi.s[2]);
        break;
    case 1:
        h.s[0] = plus ? LFR(sub_vectors)(psi.s[0], psi.s[3]) : LFR(add_vectors)(psi.s[0], psi.s[3]);
        h.s[1] = plus ? LFR(add_vectors)(psi.s[1], psi.s[2]) : LFR(sub_vectors)(psi.s[1], psi.s[2]);
        break;
    case 2:
        h.s[0] = plus ? LFR(add_i)(psi.s[0], psi.s[2]) : LFR(sub_i)(psi.s[0], psi.s[2]);
        h.s[1] = plus ? LFR(sub_i)(psi.s[1], psi.s[3]) : LFR(add_i)(psi.s[1], psi.s[3]);
        break;
    default:
        h.s[0] = plus ? LFR(add_vectors)(psi.s[0], psi.s[2]) : LFR(sub_vectors)(psi.s[0], psi.s[2]);
        h.s[1] = plus ? LFR(add_vectors)(psi.s[1], psi.s[3]) : LFR(sub_vectors)(psi.s[1], psi.s[3]);
        break;
    }
    return h;
}

LFR(spinor) LFR(reconstruct)(int direction, int plus, LFR(half_spinor) w)
{
    LFR(spinor) rows;
    rows.s[0] = w.s[0];
    rows.s[1] = w.s[1];
    switch (direction) {
    case 0:
        rows.s[2] = plus ? LFR(times_minus_i_vector)(w.s[1]) : LFR(times_i_vector)(w.s[1]);
        rows.s[3] = plus ? LFR(times_minus_i_vector)(w.s[0]) : LFR(times_i_vector)(w.s[0]);
        break;
    case 1:
        rows.s[2] = plus ? w.s[1] : LFR(neg_vector)(w.s[1]);
        rows.s[3] = plus ? LFR(neg_vector)(w.s[0]) : w.s[0];
        break;
    case 2:
        rows.s[2] = plus ? LFR(times_minus_i_vector)(w.s[0]) : LFR(times_i_vector)(w.s[0]);
        rows.s[3] = plus ? LFR(times_i_vector)(w.s[1]) : LFR(times_minus_i_vector)(w.s[1]);
        break;
    default:
        rows.s[2] = plus ? w.s[0] : LFR(neg_vector)(w.s[0]);
        rows.s[3] = plus ? w.s[1] : LFR(neg_vector)(w.s[1]);
        break;
    }
    return rows;
}

/* --------------------------------------------------- Section 12: half precision -------------------------------------------------------- */

/* NaN, made without a warning of the compiler. */
static REAL LFR(nan)(void)
{
    return (REAL)double_of_bits((uint64_t)0xfff << 51);
}

REAL LFR(half_step)(const COMPLEX *words, int n)
{
    REAL largest = 0, s = (REAL)power_of_two(-111);
    for (int i = 0; i < n; i++) {
        const REAL parts[2] = {words[i].re < 0 ? -words[i].re : words[i].re, words[i].im < 0 ? -words[i].im : words[i].im};
        for (int k = 0; k < 2; k++) {
            if (!(parts[k] < (REAL)power_of_two(112))) /* so is NaN */
                return LFR(nan)();
            largest = parts[k] > largest ? parts[k] : largest;
        }
    }
    while (s <= largest)
        s = s * 2;
    return s * (REAL)power_of_two(-15);
}

/* x to the nearest integer, to even where two are as near; |x| <= 32768. */
static int LFR(nearest_integer)(REAL x)
{
    int below = (int)x;
    if ((REAL)below > x)
        below--;
    const REAL rest = x - (REAL)below;
    return rest > (REAL)0.5 || (rest == (REAL)0.5 && below % 2 != 0) ? below + 1 : below;
}

static int LFR(fraction)(REAL x, REAL step)
{
    const int q = LFR(nearest_integer)(x / step);
    return q > 32767 ? 32767 : q < -32767 ? -32767 : q;
}

void LFR(half_fractions)(const COMPLEX *words, int n, int16_t *fractions)
{
    const REAL step = LFR(half_step)(words, n);
    for (int i = 0; i < n; i++) {
        fractions[2 * i] = (int16_t)(step == step ? LFR(fraction)(words[i].re, step) : 0);
        fractions[2 * i + 1] = (int16_t)(step == step ? LFR(fraction)(words[i].im, step) : 0);
    }
}

static void LFR(round_part)(COMPLEX *words, int n)
{
    const REAL step = LFR(half_step)(words, n);
    for (int i = 0; i < n; i++)
        words[i] = step == step ? LFR(number)((REAL)LFR(fraction)(words[i].re, step) * step, (REAL)LFR(fraction)(words[i].im, step) * step)
                                : LFR(number)(step, step);
}

void LFR(round_to_half)(const lfr_shape *shape, COMPLEX *field)
{
    const size_t volume = lfr_volume(shape->extents), words = (size_t)shape->words;
    for (size_t part = 0; part < (size_t)shape->parts; part++)
        for (size_t site = 0; site < volume; site++)
            if (has_site(shape, site))
                LFR(round_part)(field + (part * volume + site) * words, shape->words);
}

/* The last step of every named operation. */
static void LFR(store)(const lfr_shape *shape, COMPLEX *field)
{
    if (shape->half)
        LFR(round_to_half)(shape, field);
}

/* --------------------------------------------------------- Section 5: links ------------------------------------------------------------ */

/* The matrix that a leg takes from the configuration: U of this site, or its adjoint of the one before. */
static void LFR(link_of_leg)(const int extents[4], const lfr_complex_f64 *u, size_t site, int leg, lfr_complex_f64 w[9])
{
    const lfr_complex_f64 *from = u + ((leg < 4 ? site : lfr_neighbour(extents, site, leg)) * 4 + (size_t)(leg % 4)) * 9;
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++) {
            w[3 * row + column] = leg < 4 ? from[3 * row + column] : from[3 * column + row];
            if (leg >= 4)
                w[3 * row + column].im = -w[3 * row + column].im;
        }
}

/* phase times z: signs alone, or +0 */
static COMPLEX LFR(with_phase)(int phase, COMPLEX z)
{
    return phase == 0 ? LFR(number)(0, 0) : phase < 0 ? LFR(neg)(z) : z;
}

void LFR(pack_eight)(const lfr_complex_f64 w[9], COMPLEX stored[4])
{
    const double sigma = w[0].re < 0 ? -1 : 1;
    const lfr_complex_f64 a[3] = {wide_scaled(sigma, w[0]), wide_scaled(sigma, w[1]), wide_scaled(sigma, w[2])}, *b = w + 3;
    const double n = 1 / (1 + a[0].re), s = n * a[0].im, x = sigma * fma(s, 0.5, 0.625);
    const lfr_complex_f64 v1 = wide_scaled(n, a[1]), v2 = wide_scaled(n, a[2]);
    const lfr_complex_f64 u = wide_mul(wide(1, -s), b[0]);
    const double P = fma(s, s, 1);
    const lfr_complex_f64 t = wide(u.re / P, u.im / P);
    const lfr_complex_f64 alpha = wide_madd(wide_neg(t), v1, b[1]), beta = wide_madd(wide_neg(t), v2, b[2]);

    const double q0 = alpha.re, q1 = alpha.im, q2 = beta.re, q3 = beta.im;
    const double rho2 = fma(q1, q1, fma(q2, q2, q3 * q3)), rho = sqrt(rho2), l = sqrt(fma(q0, q0, rho2));
    double z[3] = {1, 0, 0};
    if (q0 >= 0 || rho != 0) {
        double f;
        if (q0 >= 0) {
            const double c = sqrt(0.5 * (1 + q0 / l));
            f = 1 / ((2 * l) * (c * (1 + c)));
        } else {
            const double d = sqrt(0.5 * (1 - q0 / l)), c = rho / ((2 * l) * d);
            f = d / ((1 + c) * rho);
        }
        z[0] = f * q1;
        z[1] = f * q2;
        z[2] = f * q3;
    }
    stored[0] = LFR(rounded)(v1);
    stored[1] = LFR(rounded)(v2);
    stored[2] = LFR(number)((REAL)x, (REAL)z[0]);
    stored[3] = LFR(number)((REAL)z[1], (REAL)z[2]);
}

int LFR(store_links)(const int extents[4], const lfr_links *links, int half, const lfr_complex_f64 *u, COMPLEX *stored)
{
    const int words = lfr_link_words(links->reconstruct);
    for (size_t site = 0; site < lfr_volume(extents); site++) {
        COMPLEX *of_site = stored + site * 8 * (size_t)words;
        for (int leg = 0; leg < 8; leg++) {
            lfr_complex_f64 w[9];
            LFR(link_of_leg)(extents, u, site, leg, w);
            if (links->reconstruct == 8) {
                if (!is_in_su3(w))
                    return -1;
                LFR(pack_eight)(w, of_site + leg * words);
            } else {
                const int phase = phase_of(extents, links->phases, site, leg);
                for (int word = 0; word < words; word++)
                    of_site[leg * words + word] = LFR(with_phase)(phase, LFR(scaled)((REAL)-0.5, LFR(rounded)(w[word])));
            }
        }
        if (half)
            LFR(round_part)(of_site, 8 * words);
    }
    return 0;
}

void LFR(raw_links)(const int extents[4], const int phases[4], const lfr_complex_f64 *u, COMPLEX *raw)
{
    for (size_t site = 0; site < lfr_volume(extents); site++)
        for (int mu = 0; mu < 4; mu++)
            for (size_t word = 0; word < 9; word++) {
                const size_t at = (site * 4 + (size_t)mu) * 9 + word;
                raw[at] = phase_of(extents, phases, site, mu) == 0 ? LFR(number)(0, 0) : LFR(rounded)(u[at]);
            }
}

/* The third row from the first two, with the factor f. */
static void LFR(rebuild_third_row)(LFR(link) *v, REAL f)
{
    for (int k = 0; k < 3; k++) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        const COMPLEX c = LFR(madd)(LFR(neg)(v->e[0][j]), v->e[1][i], LFR(mul)(v->e[0][i], v->e[1][j]));
        v->e[2][k] = LFR(number)(f * c.re, (-f) * c.im);
    }
}

/* Whether the sign bit is set. */
static int LFR(is_negative)(REAL x)
{
    const double wide = x;
    uint64_t bits;
    memcpy(&bits, &wide, sizeof bits);
    return (int)(bits >> 63);
}

static LFR(link) LFR(rebuild_eight)(const COMPLEX stored[4], int phase)
{
    LFR(link) v;
    const COMPLEX v1 = stored[0], v2 = stored[1];
    const REAL x = stored[2].re, z1 = stored[2].im, z2 = stored[3].re, z3 = stored[3].im, one = 1, two = 2;
    const int negative = LFR(is_negative)(x);
    const REAL g = (REAL)-0.5 * (REAL)phase, e = negative ? -g : g;

    const REAL s = FMA(two, negative ? -x : x, (REAL)-1.25), P = FMA(s, s, one);
    const REAL D = FMA(v1.re, v1.re, FMA(v1.im, v1.im, FMA(v2.re, v2.re, FMA(v2.im, v2.im, P))));
    const REAL T = FMA(z1, z1, FMA(z2, z2, FMA(z3, z3, one)));
    const REAL B = D * P, q = two / (B * T), r = q * (P * T), h = q * B, k0 = -(q * T);
    const REAL m = two - T, w = g * (h * h);
    const COMPLEX alpha = LFR(number)(w * FMA((REAL)0.25 * m, m, -(T - one)), (w * m) * z1);
    const COMPLEX beta = LFR(number)((w * m) * z2, (w * m) * z3);
    const COMPLEX c = LFR(madd)(LFR(conj)(v2), beta, LFR(mul)(LFR(conj)(v1), alpha));
    const COMPLEX k = LFR(number)(k0 * FMA(s, -c.im, c.re), k0 * FMA(s, c.re, c.im));

    v.e[1][0] = LFR(number)(FMA(s, -k.im, k.re), FMA(s, k.re, k.im));
    v.e[1][1] = LFR(madd)(k, v1, alpha);
    v.e[1][2] = LFR(madd)(k, v2, beta);
    v.e[0][0] = LFR(number)((e * r) * FMA((REAL)-0.5, D, one), (e * r) * s);
    v.e[0][1] = LFR(scaled)(e * r, v1);
    v.e[0][2] = LFR(scaled)(e * r, v2);
    LFR(rebuild_third_row)(&v, (REAL)-2 * (REAL)phase);
    return v;
}

LFR(link) LFR(load_link)(const int extents[4], const lfr_links *links, const COMPLEX *stored, size_t site, int leg)
{
    const size_t words = (size_t)lfr_link_words(links->reconstruct);
    const COMPLEX *from = stored + (site * 8 + (size_t)leg) * words;
    const int phase = phase_of(extents, links->phases, site, leg);
    LFR(link) v;
    if (links->reconstruct == 8)
        return LFR(rebuild_eight)(from, phase);
    for (size_t word = 0; word < words; word++)
        v.e[word / 3][word % 3] = from[word];
    if (links->reconstruct == 12)
        LFR(rebuild_third_row)(&v, phase < 0 ? 2 : -2);
    return v;
}

/* ------------------------------------------------- Sections 6, 15 and 16: the hops ----------------------------------------------------- */

static LFR(vector) LFR(read_vector)(const COMPLEX *words)
{
    LFR(vector) v;
    for (int k = 0; k < 3; k++)
        v.c[k] = words[k];
    return v;
}

/* Steps 1 to 4 of section 6. */
static void LFR(wilson_leg)(const lfr_links *links, const int extents[4], const COMPLEX *stored, const COMPLEX *psi, int dagger,
                            size_t site, int leg, COMPLEX *out)
{
    const int direction = leg % 4, plus = (leg >= 4) != (dagger != 0);
    const COMPLEX *from = psi + lfr_neighbour(extents, site, leg) * 12;
    LFR(spinor) at_neighbour, rows;
    for (int spin = 0; spin < 4; spin++)
        at_neighbour.s[spin] = LFR(read_vector)(from + 3 * spin);
    const LFR(half_spinor) h = LFR(project)(direction, plus, at_neighbour);
    const LFR(link) v = LFR(load_link)(extents, links, stored, site, leg);
    LFR(half_spinor) w;
    w.s[0] = LFR(times)(v, h.s[0]);
    w.s[1] = LFR(times)(v, h.s[1]);
    rows = LFR(reconstruct)(direction, plus, w);
    for (int word = 0; word < 12; word++)
        out[word] = rows.s[word / 3].c[word % 3];
}

/* V psi of a colour vector; the sign of section 16 belongs to the product. */
static void LFR(colour_leg)(int hop, const lfr_links *links, const int extents[4], const COMPLEX *stored, const COMPLEX *psi,
                            size_t site, int leg, COMPLEX *out)
{
    const LFR(link) v = LFR(load_link)(extents, links, stored, site, leg);
    LFR(vector) w = LFR(times)(v, LFR(read_vector)(psi + lfr_neighbour(extents, site, leg) * 3));
    if (hop == LFR_STAGGERED_HOP && staggered_phase(extents, site, leg % 4) == (leg < 4 ? 1 : -1))
        w = LFR(neg_vector)(w);
    for (int k = 0; k < 3; k++)
        out[k] = w.c[k];
}

static void LFR(term_of_hop)(int hop, const lfr_links *links, const int extents[4], const COMPLEX *stored, const COMPLEX *psi,
                             int dagger, size_t site, int leg, COMPLEX *out)
{
    if (hop == LFR_WILSON_HOP)
        LFR(wilson_leg)(links, extents, stored, psi, dagger, site, leg, out);
    else
        LFR(colour_leg)(hop, links, extents, stored, psi, site, leg, out);
}

/* hop(psi) of one spinor or colour vector at one site: the first leg assigns, each later one is added. */
static void LFR(hop_at)(int hop, const lfr_links *links, const lfr_shape *shape, const COMPLEX *stored, const COMPLEX *psi,
                        int dagger, size_t site, COMPLEX *sum)
{
    COMPLEX term[12];
    for (int k = 0; k < 8; k++) {
        LFR(term_of_hop)(hop, links, shape->extents, stored, psi, dagger, site, links->legs[k], term);
        for (int word = 0; word < shape->words; word++)
            sum[word] = k == 0 ? term[word] : LFR(add)(sum[word], term[word]);
    }
    if (hop == LFR_LAPLACE_HOP)
        for (int word = 0; word < shape->words; word++)
            sum[word] = LFR(scaled)(2, sum[word]);
}

void LFR(leg)(int hop, const lfr_links *links, const lfr_shape *shape, const COMPLEX *stored, const COMPLEX *in, int dagger, int leg,
              COMPLEX *out)
{
    const size_t volume = lfr_volume(shape->extents), words = (size_t)shape->words;
    for (size_t part = 0; part < (size_t)shape->parts; part++)
        for (size_t site = 0; site < volume; site++)
            if (has_site(shape, site))
                LFR(term_of_hop)(hop, links, shape->extents, stored, in + part * volume * words, dagger, site, leg,
                                 out + (part * volume + site) * words);
}

static void LFR(with_hop)(int done, int hop, const lfr_links *links, const lfr_shape *shape, REAL a, const COMPLEX *x,
                          const COMPLEX *stored, const COMPLEX *psi, int dagger, COMPLEX *out)
{
    const size_t volume = lfr_volume(shape->extents), words = (size_t)shape->words;
    for (size_t part = 0; part < (size_t)shape->parts; part++)
        for (size_t site = 0; site < volume; site++) {
            const size_t first = (part * volume + site) * words;
            COMPLEX sum[12];
            if (!has_site(shape, site))
                continue;
            LFR(hop_at)(hop, links, shape, stored, psi + part * volume * words, dagger, site, sum);
            for (size_t word = 0; word < words; word++)
                out[first + word] = done == JUST_HOP    ? sum[word]
                                    : done == HOP_PLUS  ? LFR(scaled_add)(a, x[first + word], sum[word])
                                    : done == TIMES_HOP ? LFR(scaled)(a, sum[word])
                                                             : LFR(sub)(LFR(scaled)(a, x[first + word]), sum[word]);
        }
    LFR(store)(shape, out);
}

void LFR(hop)(int hop, const lfr_links *links, const lfr_shape *shape, const COMPLEX *stored, const COMPLEX *in, int dagger, COMPLEX *out)
{
    LFR(with_hop)(JUST_HOP, hop, links, shape, 0, NULL, stored, in, dagger, out);
}

void LFR(hop_plus)(int hop, const lfr_links *links, const lfr_shape *shape, REAL a, const COMPLEX *x, const COMPLEX *stored,
                   const COMPLEX *psi, int dagger, COMPLEX *out)
{
    LFR(with_hop)(HOP_PLUS, hop, links, shape, a, x, stored, psi, dagger, out);
}

void LFR(times_hop)(int hop, const lfr_links *links, const lfr_shape *shape, REAL a, const COMPLEX *stored, const COMPLEX *psi, int dagger,
                    COMPLEX *out)
{
    LFR(with_hop)(TIMES_HOP, hop, links, shape, a, NULL, stored, psi, dagger, out);
}

void LFR(minus_hop)(int hop, const lfr_links *links, const lfr_shape *shape, REAL a, const COMPLEX *x, const COMPLEX *stored,
                    const COMPLEX *psi, int dagger, COMPLEX *out)
{
    LFR(with_hop)(MINUS_HOP, hop, links, shape, a, x, stored, psi, dagger, out);
}

/* --------------------------------------------------- Section 7: vector operations ------------------------------------------------------ */

/* Whether word i of a field is at one of its sites. */
static int LFR(has_word)(const lfr_shape *shape, size_t i)
{
    return shape->sites == LFR_FULL || has_site(shape, i / (size_t)shape->words % lfr_volume(shape->extents));
}

void LFR(copy)(const lfr_shape *shape, const COMPLEX *x, COMPLEX *out)
{
    for (size_t i = 0; i < lfr_field_words(shape); i++)
        if (LFR(has_word)(shape, i))
            out[i] = x[i];
    LFR(store)(shape, out);
}

void LFR(scale)(const lfr_shape *shape, REAL a, const COMPLEX *x, COMPLEX *out)
{
    for (size_t i = 0; i < lfr_field_words(shape); i++)
        if (LFR(has_word)(shape, i))
            out[i] = LFR(scaled)(a, x[i]);
    LFR(store)(shape, out);
}

void LFR(axpy)(const lfr_shape *shape, REAL a, const COMPLEX *x, COMPLEX *y)
{
    for (size_t i = 0; i < lfr_field_words(shape); i++)
        if (LFR(has_word)(shape, i))
            y[i] = LFR(scaled_add)(a, x[i], y[i]);
    LFR(store)(shape, y);
}

void LFR(axpby)(const lfr_shape *shape, REAL a, const COMPLEX *x, REAL b, COMPLEX *y)
{
    for (size_t i = 0; i < lfr_field_words(shape); i++)
        if (LFR(has_word)(shape, i))
            y[i] = LFR(scaled_add)(a, x[i], LFR(scaled)(b, y[i]));
    LFR(store)(shape, y);
}

void LFR(complex_axpy)(const lfr_shape *shape, COMPLEX a, const COMPLEX *x, COMPLEX *y)
{
    for (size_t i = 0; i < lfr_field_words(shape); i++)
        if (LFR(has_word)(shape, i))
            y[i] = LFR(madd)(a, x[i], y[i]);
    LFR(store)(shape, y);
}

void LFR(complex_xpay)(const lfr_shape *shape, const COMPLEX *x, COMPLEX b, COMPLEX *y)
{
    for (size_t i = 0; i < lfr_field_words(shape); i++)
        if (LFR(has_word)(shape, i))
            y[i] = LFR(madd)(b, y[i], x[i]);
    LFR(store)(shape, y);
}

void LFR(cg_update)(const lfr_shape *shape, REAL a, REAL b, COMPLEX *p, const COMPLEX *r, COMPLEX *psi)
{
    for (size_t i = 0; i < lfr_field_words(shape); i++)
        if (LFR(has_word)(shape, i)) {
            const COMPLEX old = p[i];
            psi[i] = LFR(scaled_add)(a, old, psi[i]);
            p[i] = LFR(scaled_add)(b, old, r[i]);
        }
    LFR(store)(shape, psi);
    LFR(store)(shape, p);
}

static COMPLEX *LFR(fresh)(const lfr_shape *shape)
{
    return fresh_memory(lfr_field_words(shape), sizeof(COMPLEX));
}

static void LFR(clear)(const lfr_shape *shape, COMPLEX *x)
{
    for (size_t i = 0; i < lfr_field_words(shape); i++)
        if (LFR(has_word)(shape, i))
            x[i] = LFR(number)(0, 0);
}

/* The largest real or imaginary part; 0 if there is a NaN. */
static double LFR(largest)(const lfr_shape *shape, const COMPLEX *x)
{
    double largest = 0;
    for (size_t i = 0; i < lfr_field_words(shape); i++) {
        const double parts[2] = {x[i].re < 0 ? -x[i].re : x[i].re, x[i].im < 0 ? -x[i].im : x[i].im};
        for (int k = 0; k < 2; k++) {
            if (parts[k] != parts[k])
                return 0;
            largest = parts[k] > largest ? parts[k] : largest;
        }
    }
    return largest;
}

/* x times 2^e */
static void LFR(scaled_copy)(const lfr_shape *shape, int e, const COMPLEX *x, COMPLEX *out)
{
    for (size_t i = 0; i < lfr_field_words(shape); i++)
        out[i] = e == 0 ? x[i] : LFR(number)((REAL)times_power(x[i].re, e), (REAL)times_power(x[i].im, e));
}

/* ---------------------------------------------------- Section 8: sums over sites ------------------------------------------------------- */

/* The terms of <x, y> of one part of a site. */
static lfr_complex_f64 LFR(term_of_inner)(const COMPLEX *x, const COMPLEX *y, int words)
{
    lfr_complex_f64 s = {0, 0};
    for (int w = 0; w < words; w++) {
        s.re = fma(x[w].re, y[w].re, s.re);
        s.re = fma(x[w].im, y[w].im, s.re);
        s.im = fma(x[w].re, y[w].im, s.im);
        s.im = fma(-x[w].im, y[w].re, s.im);
    }
    return s;
}

lfr_complex_f64 LFR(inner)(const lfr_shape *shape, const COMPLEX *x, const COMPLEX *y, const lfr_tree *tree)
{
    const size_t volume = lfr_volume(shape->extents), parts = (size_t)shape->parts, words = (size_t)shape->words;
    size_t *order = fresh_memory(volume, sizeof *order), n = 0;
    double *re = fresh_memory(volume * parts, sizeof *re), *im = fresh_memory(volume * parts, sizeof *im);
    const size_t sites = sites_in_order(shape, tree, -1, 0, order);
    const size_t lanes = tree == NULL ? 1 : lfr_volume(tree->cut);
    for (size_t outer = 0; outer < sites; outer += lanes)
        for (size_t part = 0; part < parts; part++)
            for (size_t lane = 0; lane < lanes; lane++) {
                const size_t first = (part * volume + order[outer + lane]) * words;
                const lfr_complex_f64 term = LFR(term_of_inner)(x + first, y + first, shape->words);
                re[n] = term.re;
                im[n++] = term.im;
            }
    const lfr_complex_f64 product = {lfr_sum_terms(re, n, tree), lfr_sum_terms(im, n, tree)};
    free(order);
    free(re);
    free(im);
    return product;
}

/* The norm has the terms of the real part of <x, x>. */
double LFR(norm2)(const lfr_shape *shape, const COMPLEX *x, const lfr_tree *tree)
{
    return LFR(inner)(shape, x, x, tree).re;
}

/* The sums of each word over the sites whose coordinate in `direction` is `slice`, or over all sites for direction -1. */
static void LFR(sum_words)(const lfr_shape *shape, const COMPLEX *x, int direction, int slice, const lfr_tree *tree, double *out)
{
    const size_t volume = lfr_volume(shape->extents), words = (size_t)shape->words;
    size_t *order = fresh_memory(volume, sizeof *order);
    double *re = fresh_memory(volume, sizeof *re), *im = fresh_memory(volume, sizeof *im);
    const size_t n = sites_in_order(shape, tree, direction, slice, order);
    for (size_t part = 0; part < (size_t)shape->parts; part++)
        for (size_t word = 0; word < words; word++) {
            for (size_t i = 0; i < n; i++) {
                const COMPLEX here = x[(part * volume + order[i]) * words + word];
                re[i] = here.re;
                im[i] = here.im;
            }
            out[2 * (part * words + word)] = lfr_sum_terms(re, n, tree);
            out[2 * (part * words + word) + 1] = lfr_sum_terms(im, n, tree);
        }
    free(order);
    free(re);
    free(im);
}

void LFR(sum)(const lfr_shape *shape, const COMPLEX *x, const lfr_tree *tree, double *out)
{
    LFR(sum_words)(shape, x, -1, 0, tree, out);
}

void LFR(slice_sums)(const lfr_shape *shape, const COMPLEX *x, int direction, const lfr_tree *tree, double *out)
{
    for (int slice = 0; slice < shape->extents[direction]; slice++)
        LFR(sum_words)(shape, x, direction, slice, tree, out + (size_t)slice * 2 * (size_t)(shape->parts * shape->words));
}

/* -------------------------------------------------------- Section 13: clover ----------------------------------------------------------- */

static REAL LFR(diagonal_of)(const COMPLEX *block, int i)
{
    return i % 2 == 0 ? block[i / 2].re : block[i / 2].im;
}

static void LFR(set_diagonal)(COMPLEX *block, int i, REAL value)
{
    if (i % 2 == 0)
        block[i / 2].re = value;
    else
        block[i / 2].im = value;
}

/* C_ij for i != j. */
static COMPLEX LFR(element_of)(const COMPLEX *block, int i, int j)
{
    return i < j ? block[word_of_pair(i, j)] : LFR(conj)(block[word_of_pair(j, i)]);
}

/* out = block psi, of the six words of two spins. */
static void LFR(block_times)(const COMPLEX *block, const COMPLEX *psi, COMPLEX *out)
{
    for (int i = 0; i < 6; i++) {
        COMPLEX y = LFR(scaled)(LFR(diagonal_of)(block, i), psi[i]);
        for (int j = 0; j < 6; j++)
            if (j != i)
                y = LFR(madd)(LFR(element_of)(block, i, j), psi[j], y);
        out[i] = y;
    }
}

/* out = C psi of a spinor, with both blocks of a site. */
static void LFR(blocks_times)(const COMPLEX *blocks, const COMPLEX *psi, COMPLEX *out)
{
    LFR(block_times)(blocks, psi, out);
    LFR(block_times)(blocks + 18, psi + 6, out + 6);
}

void LFR(clover_apply)(const lfr_shape *shape, const COMPLEX *blocks, const COMPLEX *in, COMPLEX *out)
{
    const size_t volume = lfr_volume(shape->extents);
    for (size_t part = 0; part < (size_t)shape->parts; part++)
        for (size_t site = 0; site < volume; site++)
            if (has_site(shape, site))
                LFR(blocks_times)(blocks + site * 36, in + (part * volume + site) * 12, out + (part * volume + site) * 12);
    LFR(store)(shape, out);
}

void LFR(clover_hop)(const lfr_links *links, const lfr_shape *shape, const COMPLEX *blocks, const COMPLEX *stored, const COMPLEX *in,
                     int dagger, COMPLEX *out)
{
    const size_t volume = lfr_volume(shape->extents);
    for (size_t part = 0; part < (size_t)shape->parts; part++)
        for (size_t site = 0; site < volume; site++)
            if (has_site(shape, site)) {
                COMPLEX sum[12];
                LFR(hop_at)(LFR_WILSON_HOP, links, shape, stored, in + part * volume * 12, dagger, site, sum);
                LFR(blocks_times)(blocks + site * 36, sum, out + (part * volume + site) * 12);
            }
    LFR(store)(shape, out);
}

void LFR(clover_minus_hop)(const lfr_links *links, const lfr_shape *shape, const COMPLEX *blocks, const COMPLEX *chi, const COMPLEX *stored,
                           const COMPLEX *in, int dagger, COMPLEX *out)
{
    const size_t volume = lfr_volume(shape->extents);
    for (size_t part = 0; part < (size_t)shape->parts; part++)
        for (size_t site = 0; site < volume; site++)
            if (has_site(shape, site)) {
                const size_t first = (part * volume + site) * 12;
                COMPLEX sum[12], product[12];
                LFR(hop_at)(LFR_WILSON_HOP, links, shape, stored, in + part * volume * 12, dagger, site, sum);
                LFR(blocks_times)(blocks + site * 36, chi + first, product);
                for (size_t word = 0; word < 12; word++)
                    out[first + word] = LFR(sub)(product[word], sum[word]);
            }
    LFR(store)(shape, out);
}

static wide_matrix LFR(promoted_link)(const COMPLEX *link, int adjoint)
{
    wide_matrix out;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const COMPLEX from = adjoint ? link[3 * j + i] : link[3 * i + j];
            out.e[3 * i + j] = wide(from.re, adjoint ? -from.im : from.im);
        }
    return out;
}

/* The link of a step from a site. Moves `site` to the next one. */
static wide_matrix LFR(link_of_step)(const int extents[4], const COMPLEX *raw, size_t *site, int step)
{
    const size_t from = *site, next = lfr_neighbour(extents, from, step);
    *site = next;
    return LFR(promoted_link)(raw + ((step < 4 ? from : next) * 4 + (size_t)(step % 4)) * 9, step >= 4);
}

/* Leaf L1 ... L4 (0 ... 3) of a plane: ((A B) C) D of the links along +mu, +nu, -mu, -nu, from that step on. */
static wide_matrix LFR(leaf)(const int extents[4], const COMPLEX *raw, size_t site, int mu, int nu, int leaf)
{
    const int steps[4] = {mu, nu, mu + 4, nu + 4};
    wide_matrix product = LFR(link_of_step)(extents, raw, &site, steps[leaf]);
    for (int k = 1; k < 4; k++)
        product = wide_product(product, LFR(link_of_step)(extents, raw, &site, steps[(leaf + k) % 4]));
    return product;
}

void LFR(field_strength)(const int extents[4], const COMPLEX *raw, COMPLEX *strength)
{
    for (size_t site = 0; site < lfr_volume(extents); site++)
        for (int plane = 0; plane < 6; plane++) {
            const int mu = first_of_plane[plane], nu = second_of_plane[plane];
            wide_matrix s = LFR(leaf)(extents, raw, site, mu, nu, 0);
            for (int leaf = 1; leaf < 4; leaf++)
                s = wide_sum(s, LFR(leaf)(extents, raw, site, mu, nu, leaf));
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    const lfr_complex_f64 a = s.e[3 * i + j], b = s.e[3 * j + i];
                    strength[(site * 6 + (size_t)plane) * 9 + (size_t)(3 * i + j)] =
                        LFR(number)((REAL)(0.125 * (a.re - b.re)), (REAL)(0.125 * (a.im + b.im)));
                }
        }
}

void LFR(clover_term)(const lfr_shape *shape, const COMPLEX *strength, double diagonal, double spatial, double temporal, COMPLEX *blocks)
{
    enum { XY, XZ, XT, YZ, YT, ZT };
    for (size_t site = 0; site < lfr_volume(shape->extents); site++) {
        const COMPLEX *f = strength + site * 54;
        if (!has_site(shape, site))
            continue;
        for (int block = 0; block < 2; block++) {
            COMPLEX *out = blocks + (site * 2 + (size_t)block) * 18;
            const double sigma = block == 0 ? -1 : 1;
            lfr_complex_f64 a[9], b[9], g[9];
            for (int i = 0; i < 9; i++) {
                a[i].re = fma(spatial, f[XY * 9 + i].re, (sigma * temporal) * (double)f[ZT * 9 + i].re);
                a[i].im = fma(spatial, f[XY * 9 + i].im, (sigma * temporal) * (double)f[ZT * 9 + i].im);
                b[i].re = fma(spatial, f[XZ * 9 + i].re, (-sigma * temporal) * (double)f[YT * 9 + i].re);
                b[i].im = fma(spatial, f[XZ * 9 + i].im, (-sigma * temporal) * (double)f[YT * 9 + i].im);
                g[i].re = fma(spatial, f[YZ * 9 + i].re, (sigma * temporal) * (double)f[XT * 9 + i].re);
                g[i].im = fma(spatial, f[YZ * 9 + i].im, (sigma * temporal) * (double)f[XT * 9 + i].im);
            }
            for (int i = 0; i < 6; i++) {
                const double of_a = a[4 * (i % 3)].im;
                LFR(set_diagonal)(out, i, (REAL)(i < 3 ? diagonal - of_a : diagonal + of_a));
                for (int j = i + 1; j < 6; j++) {
                    const int at = 3 * (i % 3) + j % 3;
                    lfr_complex_f64 element;
                    if (j < 3)
                        element = wide(-a[at].im, a[at].re);
                    else if (i >= 3)
                        element = wide(a[at].im, -a[at].re);
                    else
                        element = wide(b[at].re - g[at].im, b[at].im + g[at].re);
                    out[word_of_pair(i, j)] = LFR(rounded)(element);
                }
            }
            if (shape->half)
                LFR(round_part)(out, 18);
        }
    }
}

/* The inverse of one block by L D L^dagger, in double; the pivot is returned. */
static double LFR(invert_block)(const COMPLEX *block, COMPLEX *inverse)
{
    lfr_complex_f64 s[6], l[6][6], w[6][6], m[6][6];
    double d[6], r[6], pivot = 0;
    for (int j = 0; j < 6; j++) {
        for (int i = j; i < 6; i++) {
            if (i == j) {
                s[i] = wide(LFR(diagonal_of)(block, i), 0);
            } else {
                const COMPLEX element = LFR(element_of)(block, i, j);
                s[i] = wide(element.re, element.im);
            }
            for (int k = 0; k < j; k++)
                s[i] = wide_madd(wide_neg(l[i][k]), w[j][k], s[i]);
            if (i == j) {
                d[j] = s[j].re;
                r[j] = 1 / d[j];
            } else {
                l[i][j] = wide_scaled(r[j], s[i]);
                w[i][j] = wide_conj(wide_scaled(d[j], l[i][j]));
            }
        }
    }
    for (int j = 0; j < 6; j++) {
        const double size = d[j] < 0 ? -d[j] : d[j];
        if (!(size <= DBL_MAX)) {
            pivot = size - size; /* NaN */
            break;
        }
        pivot = j == 0 || size < pivot ? size : pivot;
    }
    for (int j = 0; j < 6; j++) {
        m[j][j] = wide(1, 0);
        for (int i = j + 1; i < 6; i++) {
            lfr_complex_f64 sum = l[i][j];
            for (int k = j + 1; k < i; k++)
                sum = wide_madd(l[i][k], m[k][j], sum);
            m[i][j] = wide_neg(sum);
        }
    }
    for (int i = 0; i < 6; i++)
        for (int j = i; j < 6; j++) {
            lfr_complex_f64 sum = i == j ? wide(r[j], 0) : wide_scaled(r[j], wide_conj(m[j][i]));
            for (int k = j + 1; k < 6; k++)
                sum = wide_madd(wide_scaled(r[k], wide_conj(m[k][i])), m[k][j], sum);
            if (i == j)
                LFR(set_diagonal)(inverse, i, (REAL)sum.re);
            else
                inverse[word_of_pair(i, j)] = LFR(rounded)(sum);
        }
    return pivot;
}

void LFR(clover_inverse)(const lfr_shape *shape, const COMPLEX *blocks, COMPLEX *inverse, COMPLEX *pivots)
{
    for (size_t site = 0; site < lfr_volume(shape->extents); site++) {
        if (!has_site(shape, site))
            continue;
        for (size_t block = 0; block < 2; block++) {
            const size_t at = (site * 2 + block) * 18;
            const REAL pivot = (REAL)LFR(invert_block)(blocks + at, inverse + at);
            if (block == 0)
                pivots[site].re = pivot;
            else
                pivots[site].im = pivot;
            if (shape->half)
                LFR(round_part)(inverse + at, 18);
        }
    }
}

/* ------------------------------------------- Section 14: real matrices along s of fermions --------------------------------------------- */

void LFR(s_multiply)(const lfr_shape *shape, const lfr_ring *ring, int dagger, const COMPLEX *x, const COMPLEX *z, COMPLEX *out)
{
    const size_t volume = lfr_volume(shape->extents), ls = (size_t)ring->ls;
    for (size_t part = 0; part < (size_t)shape->parts; part++)
        for (size_t site = 0; site < volume; site++)
            for (size_t word = 0; word < 12 && has_site(shape, site); word++) {
                const size_t s = part % ls, before = (s + ls - 1) % ls, after = (s + 1) % ls;
                const double *beside_of = chirality_of(word) == 0 ? ring->p : ring->m;
                /* + reads the s before, - the one after; the transpose the other way round, with the coefficient of there. */
                const size_t from = (chirality_of(word) == 0) == (dagger == 0) ? before : after;
                const REAL d = (REAL)ring->d[s], beside = (REAL)beside_of[dagger ? from : s];
                const size_t at = (part * volume + site) * 12 + word, other = ((part - s + from) * volume + site) * 12 + word;
                const COMPLEX here = z == NULL ? LFR(scaled)(d, x[at]) : LFR(scaled_add)(d, x[at], z[at]);
                out[at] = LFR(scaled_add)(beside, x[other], here);
            }
    LFR(store)(shape, out);
}

void LFR(s_sweep)(const lfr_shape *shape, const lfr_sweep *sweep, const COMPLEX *x, COMPLEX *out)
{
    const size_t volume = lfr_volume(shape->extents);
    const int ls = sweep->ls;
    for (size_t fermion = 0; fermion < (size_t)(shape->parts / ls); fermion++)
        for (size_t site = 0; site < volume; site++)
            for (size_t word = 0; word < 12 && has_site(shape, site); word++) {
                const int chirality = chirality_of(word), descending = sweep->descending[chirality];
                const double *c = sweep->c[chirality], *t = sweep->t[chirality], *r = sweep->r[chirality];
                COMPLEX f, y;
                for (int k = 0; k < ls; k++) {
                    const int s = in_order(ls, descending, k);
                    const COMPLEX here = x[((fermion * (size_t)ls + (size_t)s) * volume + site) * 12 + word];
                    f = k == 0 ? here : LFR(scaled_add)((REAL)c[s], here, f);
                }
                for (int k = 0; k < ls; k++) {
                    const int s = in_order(ls, descending, k);
                    const size_t at = ((fermion * (size_t)ls + (size_t)s) * volume + site) * 12 + word;
                    y = k == 0 ? LFR(scaled)((REAL)r[s], f) : LFR(scaled_add)((REAL)t[s], y, LFR(scaled)((REAL)r[s], x[at]));
                    out[at] = y;
                }
            }
    LFR(store)(shape, out);
}

void LFR(s_dense)(const lfr_shape *shape, int ls, double *const n[2], const COMPLEX *x, COMPLEX *out)
{
    const size_t volume = lfr_volume(shape->extents);
    for (size_t part = 0; part < (size_t)shape->parts; part++)
        for (size_t site = 0; site < volume; site++)
            for (size_t word = 0; word < 12 && has_site(shape, site); word++) {
                const size_t s = part % (size_t)ls;
                const double *row = n[chirality_of(word)] + s * (size_t)ls;
                COMPLEX y = LFR(number)(0, 0);
                for (size_t from = 0; from < (size_t)ls; from++) {
                    const COMPLEX there = x[((part - s + from) * volume + site) * 12 + word];
                    y = from == 0 ? LFR(scaled)((REAL)row[0], there) : LFR(scaled_add)((REAL)row[from], there, y);
                }
                out[(part * volume + site) * 12 + word] = y;
            }
    LFR(store)(shape, out);
}

/* ----------------------------------------------------- Section 17: twisted mass -------------------------------------------------------- */

/* a for spins 0 and 1, conj(a) for spins 2 and 3 */
static COMPLEX LFR(twist_of_word)(COMPLEX a, size_t word)
{
    return word < 6 ? a : LFR(conj)(a);
}

void LFR(twist)(const lfr_shape *shape, COMPLEX a, const COMPLEX *x, COMPLEX *out)
{
    for (size_t i = 0; i < lfr_field_words(shape); i++)
        if (LFR(has_word)(shape, i))
            out[i] = LFR(mul)(LFR(twist_of_word)(a, i % 12), x[i]);
    LFR(store)(shape, out);
}

/* twist(a, x) + hop, twist(a, hop), twist(a, x) - hop */
static void LFR(twist_with_hop)(int done, const lfr_links *links, const lfr_shape *shape, COMPLEX a, const COMPLEX *x, const COMPLEX *stored,
                                const COMPLEX *psi, int dagger, COMPLEX *out)
{
    const size_t volume = lfr_volume(shape->extents);
    for (size_t part = 0; part < (size_t)shape->parts; part++)
        for (size_t site = 0; site < volume; site++) {
            const size_t first = (part * volume + site) * 12;
            COMPLEX sum[12];
            if (!has_site(shape, site))
                continue;
            LFR(hop_at)(LFR_WILSON_HOP, links, shape, stored, psi + part * volume * 12, dagger, site, sum);
            for (size_t word = 0; word < 12; word++) {
                const COMPLEX b = LFR(twist_of_word)(a, word);
                out[first + word] = done == HOP_PLUS    ? LFR(madd)(b, x[first + word], sum[word])
                                    : done == TIMES_HOP ? LFR(mul)(b, sum[word])
                                                             : LFR(sub)(LFR(mul)(b, x[first + word]), sum[word]);
            }
        }
    LFR(store)(shape, out);
}

void LFR(twist_plus_hop)(const lfr_links *links, const lfr_shape *shape, COMPLEX a, const COMPLEX *x, const COMPLEX *stored,
                         const COMPLEX *psi, int dagger, COMPLEX *out)
{
    LFR(twist_with_hop)(HOP_PLUS, links, shape, a, x, stored, psi, dagger, out);
}

void LFR(twist_hop)(const lfr_links *links, const lfr_shape *shape, COMPLEX a, const COMPLEX *stored, const COMPLEX *psi, int dagger,
                    COMPLEX *out)
{
    LFR(twist_with_hop)(TIMES_HOP, links, shape, a, NULL, stored, psi, dagger, out);
}

void LFR(twist_minus_hop)(const lfr_links *links, const lfr_shape *shape, COMPLEX a, const COMPLEX *x, const COMPLEX *stored,
                          const COMPLEX *psi, int dagger, COMPLEX *out)
{
    LFR(twist_with_hop)(MINUS_HOP, links, shape, a, x, stored, psi, dagger, out);
}

/* ----------------------------------------------------- Section 25: the HISQ hop ---------------------------------------------------- */

static void LFR(with_hisq_hop)(int done, const lfr_links *links, const lfr_shape *shape, REAL a, const COMPLEX *x, const COMPLEX *stored,
                               const COMPLEX *stored_long, const COMPLEX *psi, COMPLEX *out)
{
    const int *extents = shape->extents;
    const size_t volume = lfr_volume(extents);
    for (size_t part = 0; part < (size_t)shape->parts; part++)
        for (size_t site = 0; site < volume; site++) {
            const COMPLEX *source = psi + 3 * part * volume;
            LFR(vector) sum;
            if (!has_site(shape, site))
                continue;
            for (int k = 0; k < 16; k++) {
                const int leg = links->legs[k / 2];
                size_t there = lfr_neighbour(extents, site, leg);
                if (k % 2 == 1)
                    there = lfr_neighbour(extents, lfr_neighbour(extents, there, leg), leg);
                const LFR(link) v = LFR(load_link)(extents, links, k % 2 == 0 ? stored : stored_long, site, leg);
                LFR(vector) w = LFR(times)(v, LFR(read_vector)(source + 3 * there));
                if (staggered_phase(extents, site, leg % 4) == (leg < 4 ? 1 : -1))
                    w = LFR(neg_vector)(w);
                sum = k == 0 ? w : LFR(add_vectors)(sum, w);
            }
            for (int word = 0; word < 3; word++) {
                const size_t at = 3 * (part * volume + site) + (size_t)word;
                out[at] = done == HOP_PLUS    ? LFR(scaled_add)(a, x[at], sum.c[word])
                          : done == TIMES_HOP ? LFR(scaled)(a, sum.c[word])
                                              : LFR(sub)(LFR(scaled)(a, x[at]), sum.c[word]);
            }
        }
    LFR(store)(shape, out);
}

void LFR(hisq_plus_hop)(const lfr_links *links, const lfr_shape *shape, REAL a, const COMPLEX *x, const COMPLEX *stored,
                        const COMPLEX *stored_long, const COMPLEX *psi, COMPLEX *out)
{
    LFR(with_hisq_hop)(HOP_PLUS, links, shape, a, x, stored, stored_long, psi, out);
}

void LFR(times_hisq_hop)(const lfr_links *links, const lfr_shape *shape, REAL a, const COMPLEX *stored, const COMPLEX *stored_long,
                         const COMPLEX *psi, COMPLEX *out)
{
    LFR(with_hisq_hop)(TIMES_HOP, links, shape, a, NULL, stored, stored_long, psi, out);
}

void LFR(minus_hisq_hop)(const lfr_links *links, const lfr_shape *shape, REAL a, const COMPLEX *x, const COMPLEX *stored,
                         const COMPLEX *stored_long, const COMPLEX *psi, COMPLEX *out)
{
    LFR(with_hisq_hop)(MINUS_HOP, links, shape, a, x, stored, stored_long, psi, out);
}

/* --------------------------------------------- Sections 9 and 13 to 17: the operators -------------------------------------------------- */

static int LFR(make_clover)(LFR(operator) *fermion, const lfr_complex_f64 *u)
{
    const lfr_parameters *of = &fermion->parameters;
    const int half = fermion->shape.half;
    const size_t volume = lfr_volume(fermion->shape.extents);
    lfr_shape blocks = fermion->shape;
    COMPLEX *raw = fresh_memory(volume * 36, sizeof *raw), *strength = fresh_memory(volume * 54, sizeof *strength);
    COMPLEX *pivots = fresh_memory(volume, sizeof *pivots);
    int singular = 0;

    fermion->blocks = fresh_memory(volume * 36, sizeof(COMPLEX));
    fermion->inverse = fresh_memory(volume * 36, sizeof(COMPLEX));
    LFR(raw_links)(blocks.extents, fermion->links.phases, u, raw);
    LFR(field_strength)(blocks.extents, raw, strength);
    /* In half precision both are made in f32, and each is rounded at the end. */
    blocks.half = 0;
    LFR(clover_term)(&blocks, strength, 4 + of->mass, of->csw_r / 2, of->csw_t / 2, fermion->blocks);
    LFR(clover_inverse)(&blocks, fermion->blocks, fermion->inverse, pivots);
    for (size_t block = 0; half && block < 2 * volume; block++) {
        LFR(round_part)(fermion->blocks + block * 18, 18);
        LFR(round_part)(fermion->inverse + block * 18, 18);
    }
    for (size_t site = 0; site < volume; site++)
        singular |= !(pivots[site].re != 0 && pivots[site].im != 0 && pivots[site].re - pivots[site].re == 0 &&
                      pivots[site].im - pivots[site].im == 0);
    free(raw);
    free(strength);
    free(pivots);
    return singular ? -2 : 0;
}

static void LFR(make_domain_wall)(LFR(operator) *fermion)
{
    const lfr_parameters *of = &fermion->parameters;
    const int ls = of->ls;
    const double b = 0.5 * ((of->b + of->c) + (of->b - of->c)), c = 0.5 * ((of->b + of->c) - (of->b - of->c)), h = 4 - of->m5;
    double *room = fresh_memory((size_t)(3 * 3 * ls + 2 * 6 * ls + 4 * ls * ls), sizeof *room);

    fermion->coefficients = room;
    fermion->h = h;
    fermion->input_is_identity = b == 1 && c == 0;
    fermion->input = new_ring(&room, ls, b, c, of->mass);
    fermion->along = new_ring(&room, ls, 1, -1, of->mass);
    fermion->diagonal = new_ring(&room, ls, b * h + 1, -(1 - c * h), of->mass);
    for (int dagger = 0; dagger < 2; dagger++) {
        fermion->inverse_sweep[dagger] = new_sweep(&room, &fermion->diagonal, dagger);
        for (int chirality = 0; chirality < 2; chirality++) {
            fermion->dense[dagger][chirality] = room;
            room += ls * ls;
        }
        lfr_dense_inverse(&fermion->inverse_sweep[dagger], fermion->dense[dagger]);
    }
}

int LFR(make_operator)(LFR(operator) *fermion, const int extents[4], const lfr_links *links, const lfr_parameters *parameters, int half,
                       const lfr_complex_f64 *u)
{
    const int kind = parameters->kind;
    const size_t words = lfr_volume(extents) * 8 * (size_t)lfr_link_words(links->reconstruct);
    memset(fermion, 0, sizeof *fermion);
    fermion->parameters = *parameters;
    fermion->links = *links;
    memcpy(fermion->shape.extents, extents, sizeof fermion->shape.extents);
    fermion->shape.sites = LFR_FULL;
    fermion->shape.half = half;
    fermion->shape.words = kind == LFR_LAPLACIAN || kind == LFR_STAGGERED ? 3 : 12;
    fermion->shape.parts = kind == LFR_LAPLACIAN || kind == LFR_STAGGERED ? parameters->components : kind == LFR_DOMAIN_WALL ? parameters->ls : 1;
    fermion->stored = fresh_memory(words, sizeof(COMPLEX));
    if (LFR(store_links)(extents, links, half, u, fermion->stored) != 0)
        return -1;
    if (kind == LFR_DOMAIN_WALL)
        LFR(make_domain_wall)(fermion);
    return kind == LFR_CLOVER ? LFR(make_clover)(fermion, u) : 0;
}

void LFR(free_operator)(LFR(operator) *fermion)
{
    free(fermion->stored);
    free(fermion->blocks);
    free(fermion->inverse);
    free(fermion->coefficients);
    memset(fermion, 0, sizeof *fermion);
}

/* What multiplies psi beside the hop: dm, 8 + mass^2, or the mass, in double. */
static double LFR(diagonal)(const LFR(operator) *fermion)
{
    const double mass = fermion->parameters.mass;
    switch (fermion->parameters.kind) {
    case LFR_LAPLACIAN:
        return 8 + mass * mass;
    case LFR_STAGGERED:
        return mass;
    default:
        return 4 + mass;
    }
}

/* Twisted mass: d = dm + i mu, or conj(d). */
static COMPLEX LFR(twisted_diagonal)(const LFR(operator) *fermion, int dagger)
{
    const COMPLEX d = LFR(number)((REAL)(4 + fermion->parameters.mass), (REAL)fermion->parameters.mu);
    return dagger ? LFR(conj)(d) : d;
}

/* e = 1 / d, or conj(e). */
static COMPLEX LFR(twisted_inverse)(const LFR(operator) *fermion, int dagger)
{
    const double dm = 4 + fermion->parameters.mass, mu = fermion->parameters.mu;
    lfr_complex_f64 e;
    if ((mu < 0 ? -mu : mu) <= (dm < 0 ? -dm : dm)) {
        const double r = mu / dm, q = 1 / (dm + mu * r);
        e.re = q;
        e.im = -(r * q);
    } else {
        const double r = dm / mu, q = 1 / (mu + dm * r);
        e.re = r * q;
        e.im = -q;
    }
    return dagger ? LFR(conj)(LFR(rounded)(e)) : LFR(rounded)(e);
}

/* The hop of an operator onto some sites. */
static void LFR(hop_of)(const LFR(operator) *fermion, int sites, int dagger, const COMPLEX *in, COMPLEX *out)
{
    const lfr_shape shape = on_sites(fermion->shape, sites);
    const int kind = fermion->parameters.kind;
    const int hop = kind == LFR_LAPLACIAN ? LFR_LAPLACE_HOP : kind == LFR_STAGGERED ? LFR_STAGGERED_HOP : LFR_WILSON_HOP;
    LFR(hop)(hop, &fermion->links, &shape, fermion->stored, in, dagger, out);
}

static void LFR(apply_domain_wall)(const LFR(operator) *fermion, int dagger, const COMPLEX *in, COMPLEX *out)
{
    const lfr_shape *shape = &fermion->shape;
    const REAL h = (REAL)fermion->h;
    COMPLEX *x = LFR(fresh)(shape), *dw = LFR(fresh)(shape);
    if (!dagger) {
        if (fermion->input_is_identity)
            LFR(copy)(shape, in, x);
        else
            LFR(s_multiply)(shape, &fermion->input, 0, in, NULL, x);
        LFR(hop_of)(fermion, LFR_FULL, 0, x, dw);
        LFR(axpy)(shape, h, x, dw);
        LFR(s_multiply)(shape, &fermion->along, 0, in, dw, out);
    } else {
        LFR(hop_of)(fermion, LFR_FULL, 1, in, dw);
        LFR(axpy)(shape, h, in, dw);
        if (fermion->input_is_identity)
            LFR(copy)(shape, dw, x);
        else
            LFR(s_multiply)(shape, &fermion->input, 1, dw, NULL, x);
        LFR(s_multiply)(shape, &fermion->along, 1, in, x, out);
    }
    free(x);
    free(dw);
}

void LFR(apply)(const LFR(operator) *fermion, int dagger, const COMPLEX *in, COMPLEX *out)
{
    const lfr_shape *shape = &fermion->shape;
    const REAL diagonal = (REAL)LFR(diagonal)(fermion);
    COMPLEX *hop = LFR(fresh)(shape);
    switch (fermion->parameters.kind) {
    case LFR_DOMAIN_WALL:
        LFR(apply_domain_wall)(fermion, dagger, in, out);
        break;
    case LFR_TWISTED_MASS:
        LFR(twist_plus_hop)(&fermion->links, shape, LFR(twisted_diagonal)(fermion, dagger), in, fermion->stored, in, dagger, out);
        break;
    case LFR_CLOVER:
        LFR(hop_of)(fermion, LFR_FULL, dagger, in, hop);
        LFR(clover_apply)(shape, fermion->blocks, in, out);
        LFR(axpy)(shape, 1, hop, out);
        break;
    case LFR_STAGGERED:
        if (dagger) {
            LFR(hop_of)(fermion, LFR_FULL, 0, in, hop);
            LFR(scale)(shape, diagonal, in, out);
            LFR(axpy)(shape, -1, hop, out);
            break;
        }
        /* fall through */
    default:
        LFR(hop_of)(fermion, LFR_FULL, dagger, in, out);
        LFR(axpy)(shape, diagonal, in, out);
        break;
    }
    free(hop);
}

void LFR(meooe)(const LFR(operator) *fermion, int target, int dagger, const COMPLEX *in, COMPLEX *out)
{
    const lfr_shape to = on_sites(fermion->shape, target), from = on_sites(fermion->shape, other_parity(target));
    if (fermion->parameters.kind != LFR_DOMAIN_WALL || fermion->input_is_identity) {
        LFR(hop_of)(fermion, target, dagger, in, out);
        return;
    }
    COMPLEX *x = LFR(fresh)(&fermion->shape);
    if (!dagger) {
        LFR(s_multiply)(&from, &fermion->input, 0, in, NULL, x);
        LFR(hop_of)(fermion, target, 0, x, out);
    } else {
        LFR(hop_of)(fermion, target, 1, in, x);
        LFR(s_multiply)(&to, &fermion->input, 1, x, NULL, out);
    }
    free(x);
}

void LFR(mooee)(const LFR(operator) *fermion, int target, int dagger, const COMPLEX *in, COMPLEX *out)
{
    const lfr_shape shape = on_sites(fermion->shape, target);
    switch (fermion->parameters.kind) {
    case LFR_DOMAIN_WALL:
        LFR(s_multiply)(&shape, &fermion->diagonal, dagger, in, NULL, out);
        break;
    case LFR_TWISTED_MASS:
        LFR(twist)(&shape, LFR(twisted_diagonal)(fermion, dagger), in, out);
        break;
    case LFR_CLOVER:
        LFR(clover_apply)(&shape, fermion->blocks, in, out);
        break;
    default:
        LFR(scale)(&shape, (REAL)LFR(diagonal)(fermion), in, out);
        break;
    }
}

void LFR(mooee_inverse)(const LFR(operator) *fermion, int target, int dagger, const COMPLEX *in, COMPLEX *out)
{
    const lfr_shape shape = on_sites(fermion->shape, target);
    switch (fermion->parameters.kind) {
    case LFR_DOMAIN_WALL:
        if (fermion->parameters.dense)
            LFR(s_dense)(&shape, fermion->parameters.ls, fermion->dense[dagger != 0], in, out);
        else
            LFR(s_sweep)(&shape, &fermion->inverse_sweep[dagger != 0], in, out);
        break;
    case LFR_TWISTED_MASS:
        LFR(twist)(&shape, LFR(twisted_inverse)(fermion, dagger), in, out);
        break;
    case LFR_CLOVER:
        LFR(clover_apply)(&shape, fermion->inverse, in, out);
        break;
    default:
        LFR(scale)(&shape, (REAL)(1 / LFR(diagonal)(fermion)), in, out);
        break;
    }
}

void LFR(mpc)(const LFR(operator) *fermion, int dagger, const COMPLEX *in, COMPLEX *out)
{
    const lfr_shape even = on_sites(fermion->shape, LFR_EVEN), odd = on_sites(fermion->shape, LFR_ODD);
    const lfr_links *links = &fermion->links;
    COMPLEX *on_even = LFR(fresh)(&fermion->shape), *next = LFR(fresh)(&fermion->shape);
    switch (fermion->parameters.kind) {
    case LFR_CLOVER:
        LFR(clover_hop)(links, &even, fermion->inverse, fermion->stored, in, dagger, on_even);
        LFR(clover_minus_hop)(links, &odd, fermion->blocks, in, fermion->stored, on_even, dagger, out);
        break;
    case LFR_TWISTED_MASS:
        LFR(twist_hop)(links, &even, LFR(twisted_inverse)(fermion, dagger), fermion->stored, in, dagger, on_even);
        LFR(twist_minus_hop)(links, &odd, LFR(twisted_diagonal)(fermion, dagger), in, fermion->stored, on_even, dagger, out);
        break;
    case LFR_STAGGERED: /* D^dagger D on the odd sites */
        LFR(meooe)(fermion, LFR_EVEN, 0, in, on_even);
        LFR(meooe)(fermion, LFR_ODD, 0, on_even, next);
        LFR(scale)(&odd, (REAL)(fermion->parameters.mass * fermion->parameters.mass), in, out);
        LFR(axpy)(&odd, -1, next, out);
        break;
    default:
        LFR(meooe)(fermion, LFR_EVEN, dagger, in, next);
        LFR(mooee_inverse)(fermion, LFR_EVEN, dagger, next, on_even);
        LFR(meooe)(fermion, LFR_ODD, dagger, on_even, next);
        LFR(mooee)(fermion, LFR_ODD, dagger, in, out);
        LFR(axpy)(&odd, -1, next, out);
        break;
    }
    free(on_even);
    free(next);
}

void LFR(import_physical)(const LFR(operator) *fermion, const COMPLEX *eta, COMPLEX *chi)
{
    const lfr_shape *shape = &fermion->shape;
    const size_t volume = lfr_volume(shape->extents), last = (size_t)shape->parts - 1;
    LFR(clear)(shape, chi);
    for (size_t i = 0; i < volume * 12; i++)
        chi[(chirality_of(i % 12) == 0 ? 0 : last) * volume * 12 + i] = eta[i];
    const double b = fermion->parameters.b, bare = fermion->parameters.c, c = 0.5 * ((b + bare) - (b - bare));
    if (c != 0) {
        COMPLEX *dw = LFR(fresh)(shape);
        LFR(hop_of)(fermion, LFR_FULL, 0, chi, dw);
        LFR(axpy)(shape, (REAL)fermion->h, chi, dw);
        LFR(axpy)(shape, (REAL)-c, dw, chi);
        free(dw);
    }
}

void LFR(export_physical)(const LFR(operator) *fermion, const COMPLEX *psi, COMPLEX *physical)
{
    const size_t volume = lfr_volume(fermion->shape.extents), last = (size_t)fermion->shape.parts - 1;
    for (size_t i = 0; i < volume * 12; i++)
        physical[i] = psi[(chirality_of(i % 12) == 0 ? last : 0) * volume * 12 + i];
}

/* ---------------------------------------------------- Section 10: the solvers ---------------------------------------------------------- */

/* r = b where the guess is 0, otherwise b - A psi */
static void LFR(residual)(const lfr_shape *shape, LFR(matrix) *matrix, const void *context, const COMPLEX *b, const COMPLEX *psi, COMPLEX *r,
                          const lfr_tree *tree)
{
    LFR(copy)(shape, b, r);
    if (LFR(norm2)(shape, psi, tree) != 0) {
        COMPLEX *product = LFR(fresh)(shape);
        matrix(context, psi, product);
        LFR(axpy)(shape, -1, product, r);
        free(product);
    }
}

void LFR(cg)(const lfr_shape *shape, LFR(matrix) *matrix, const void *context, const COMPLEX *b, COMPLEX *psi,
             const lfr_solve_parameters *parameters, lfr_solve_report *report)
{
    const lfr_tree *tree = parameters->tree;
    COMPLEX *r = LFR(fresh)(shape), *p = LFR(fresh)(shape), *q = LFR(fresh)(shape);
    lfr_iteration now = {0, 0, 0, 0, 0, psi, r, p};
    start_report(report);
    const double target = parameters->tolerance * parameters->tolerance * LFR(norm2)(shape, b, tree);
    LFR(residual)(shape, matrix, context, b, psi, r, tree);
    LFR(copy)(shape, r, p);
    double c = LFR(norm2)(shape, r, tree);
    record(report, c);
    report->converged = c <= target;
    now.squared_residual = c;
    watch(parameters, &now);
    while (!report->converged && report->iterations < parameters->most_iterations) {
        matrix(context, p, q);
        const double d = LFR(inner)(shape, p, q, tree).re, a = c / d;
        LFR(axpy)(shape, (REAL)-a, q, r);
        const double next = LFR(norm2)(shape, r, tree), beta = next / c;
        LFR(cg_update)(shape, (REAL)a, (REAL)beta, p, r, psi);
        c = next;
        report->iterations++;
        record(report, c);
        report->converged = c <= target;
        now.iterations = report->iterations;
        now.p_a_p = d;
        now.a = a;
        now.squared_residual = c;
        now.beta = beta;
        watch(parameters, &now);
    }
    free(r);
    free(p);
    free(q);
}

static COMPLEX LFR(rounded_negative)(lfr_complex_f64 a)
{
    return LFR(number)((REAL)-a.re, (REAL)-a.im);
}

void LFR(bicgstab)(const lfr_shape *shape, LFR(matrix) *matrix, const void *context, const COMPLEX *b, COMPLEX *psi,
                   const lfr_solve_parameters *parameters, lfr_solve_report *report)
{
    const lfr_tree *tree = parameters->tree;
    COMPLEX *r = LFR(fresh)(shape), *shadow = LFR(fresh)(shape), *p = LFR(fresh)(shape), *v = LFR(fresh)(shape), *t = LFR(fresh)(shape);
    start_report(report);
    const double target = parameters->tolerance * parameters->tolerance * LFR(norm2)(shape, b, tree);
    LFR(residual)(shape, matrix, context, b, psi, r, tree);
    LFR(copy)(shape, r, shadow);
    LFR(copy)(shape, r, p);
    lfr_complex_f64 rho = {LFR(norm2)(shape, r, tree), 0};
    record(report, rho.re);
    report->converged = rho.re <= target;
    while (!report->converged && report->iterations < parameters->most_iterations) {
        matrix(context, p, v);
        const lfr_complex_f64 alpha = rounded_quotient(rho, LFR(inner)(shape, shadow, v, tree));
        LFR(complex_axpy)(shape, LFR(rounded_negative)(alpha), v, r);
        matrix(context, r, t);
        const lfr_complex_f64 overlap = LFR(inner)(shape, t, r, tree);
        const double squared = LFR(norm2)(shape, t, tree);
        const lfr_complex_f64 omega = {squared == 0 ? 0 : overlap.re / squared, squared == 0 ? 0 : overlap.im / squared};
        LFR(complex_axpy)(shape, LFR(rounded)(alpha), p, psi);
        LFR(complex_axpy)(shape, LFR(rounded)(omega), r, psi);
        LFR(complex_axpy)(shape, LFR(rounded_negative)(omega), t, r);
        const double squared_residual = LFR(norm2)(shape, r, tree);
        report->iterations++;
        record(report, squared_residual);
        report->converged = squared_residual <= target;
        if (report->converged)
            break;
        const lfr_complex_f64 next = LFR(inner)(shape, shadow, r, tree);
        const lfr_complex_f64 beta = rounded_product(rounded_quotient(next, rho), rounded_quotient(alpha, omega));
        LFR(complex_axpy)(shape, LFR(rounded_negative)(omega), v, p);
        LFR(complex_xpay)(shape, r, LFR(rounded)(beta), p);
        rho = next;
    }
    free(r);
    free(shadow);
    free(p);
    free(v);
    free(t);
}

/* Whether an operator is Hermitian and positive, and is solved without normal equations: in full, and its Schur complement. */
static int LFR(is_hermitian)(const LFR(operator) *fermion, int even_odd)
{
    const int kind = fermion->parameters.kind;
    return kind == LFR_LAPLACIAN || (kind == LFR_STAGGERED && even_odd);
}

static void LFR(full)(const void *fermion, const COMPLEX *in, COMPLEX *out)
{
    LFR(apply)(fermion, 0, in, out);
}

static void LFR(schur)(const void *fermion, const COMPLEX *in, COMPLEX *out)
{
    LFR(mpc)(fermion, 0, in, out);
}

/* M^dagger M, or M where it is Hermitian. */
static void LFR(normal_full)(const void *context, const COMPLEX *in, COMPLEX *out)
{
    const LFR(operator) *fermion = context;
    if (LFR(is_hermitian)(fermion, 0)) {
        LFR(apply)(fermion, 0, in, out);
        return;
    }
    COMPLEX *product = LFR(fresh)(&fermion->shape);
    LFR(apply)(fermion, 0, in, product);
    LFR(apply)(fermion, 1, product, out);
    free(product);
}

static void LFR(normal_schur)(const void *context, const COMPLEX *in, COMPLEX *out)
{
    const LFR(operator) *fermion = context;
    if (LFR(is_hermitian)(fermion, 1)) {
        LFR(mpc)(fermion, 0, in, out);
        return;
    }
    COMPLEX *product = LFR(fresh)(&fermion->shape);
    LFR(mpc)(fermion, 0, in, product);
    LFR(mpc)(fermion, 1, product, out);
    free(product);
}

/* b of the solve for M psi = eta: with normal equations or, for BiCGStab, without. */
static void LFR(normal_source)(const LFR(operator) *fermion, int even_odd, int normal, const COMPLEX *eta, COMPLEX *b)
{
    const lfr_shape odd = on_sites(fermion->shape, LFR_ODD);
    COMPLEX *x = LFR(fresh)(&fermion->shape), *y = LFR(fresh)(&fermion->shape);
    if (!even_odd) {
        if (normal && !LFR(is_hermitian)(fermion, 0))
            LFR(apply)(fermion, 1, eta, b);
        else
            LFR(copy)(&fermion->shape, eta, b);
    } else {
        LFR(mooee_inverse)(fermion, LFR_EVEN, 0, eta, x);
        LFR(meooe)(fermion, LFR_ODD, 0, x, y);
        LFR(copy)(&odd, eta, x);
        LFR(axpy)(&odd, -1, y, x);
        if (fermion->parameters.kind == LFR_STAGGERED)
            LFR(scale)(&odd, (REAL)fermion->parameters.mass, x, b);
        else if (normal && !LFR(is_hermitian)(fermion, 1))
            LFR(mpc)(fermion, 1, x, b);
        else
            LFR(copy)(&odd, x, b);
    }
    free(x);
    free(y);
}

/* psi on the even sites from that on the odd ones. */
static void LFR(even_solution)(const LFR(operator) *fermion, const COMPLEX *eta, COMPLEX *psi)
{
    const lfr_shape even = on_sites(fermion->shape, LFR_EVEN);
    COMPLEX *x = LFR(fresh)(&fermion->shape), *y = LFR(fresh)(&fermion->shape);
    LFR(meooe)(fermion, LFR_EVEN, 0, psi, y);
    LFR(copy)(&even, eta, x);
    LFR(axpy)(&even, -1, y, x);
    LFR(mooee_inverse)(fermion, LFR_EVEN, 0, x, psi);
    free(x);
    free(y);
}

static void LFR(solve_by)(const LFR(operator) *fermion, int even_odd, int normal, const COMPLEX *eta, COMPLEX *psi,
                          const lfr_solve_parameters *parameters, lfr_solve_report *report)
{
    const lfr_shape shape = on_sites(fermion->shape, even_odd ? LFR_ODD : LFR_FULL);
    const int exponent = exponent_to_divide(LFR(largest)(&fermion->shape, eta), sizeof(REAL) == sizeof(float));
    COMPLEX *source = LFR(fresh)(&fermion->shape), *b = LFR(fresh)(&fermion->shape);
    LFR(scaled_copy)(&fermion->shape, -exponent, eta, source);
    LFR(normal_source)(fermion, even_odd, normal, source, b);
    LFR(clear)(&fermion->shape, psi);
    if (normal)
        LFR(cg)(&shape, even_odd ? LFR(normal_schur) : LFR(normal_full), fermion, b, psi, parameters, report);
    else
        LFR(bicgstab)(&shape, even_odd ? LFR(schur) : LFR(full), fermion, b, psi, parameters, report);
    if (even_odd)
        LFR(even_solution)(fermion, source, psi);
    LFR(scaled_copy)(&fermion->shape, exponent, psi, psi);
    free(source);
    free(b);
}

void LFR(solve)(const LFR(operator) *fermion, int even_odd, const COMPLEX *eta, COMPLEX *psi, const lfr_solve_parameters *parameters,
                lfr_solve_report *report)
{
    LFR(solve_by)(fermion, even_odd, 1, eta, psi, parameters, report);
}

void LFR(solve_bicgstab)(const LFR(operator) *fermion, int even_odd, const COMPLEX *eta, COMPLEX *psi,
                         const lfr_solve_parameters *parameters, lfr_solve_report *report)
{
    LFR(solve_by)(fermion, even_odd, 0, eta, psi, parameters, report);
}

#undef COMPLEX

#endif
