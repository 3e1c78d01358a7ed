/*
 * The canonical arithmetic of Lanefield in plain C99. It implements docs/arithmetic.md up to section 19, section by section, with the same bits.
 *
 * Numbers. Every function exists twice: lfr_NAME_f32 for float, and lfr_NAME_f64 for double. Half precision (section 12) is f32 whose
 * results are rounded to 16-bit fractions when they are stored. The arrays contain the floats that the fractions stand for.
 *
 * Sites. All arrays contain the sites of the whole lattice with x fastest, then y, z, t: site = x + X (y + Y (z + Z t)). A field on one
 * parity has room for all sites; functions read and write those of its parity, and do not change the others. On even sites x + y + z + t is
 * even.
 *
 *   spinors           site * 12 + spin * 3 + colour                       complex numbers, each re and im
 *   colour vectors    site * 3 + colour
 *   several a site    part * volume * words + the above: parts (the s of a five-dimensional fermion, right-hand sides) are outermost
 *   links U           ((site * 4 + mu) * 3 + row) * 3 + column            always double; mu = 0 .. 3 is x, y, z, t
 *   stored links      (site * 8 + leg) * words + word                     words = 9, 6 or 4 for reconstruct 18, 12 or 8 (section 5)
 *   field strength    ((site * 6 + plane) * 3 + row) * 3 + column         planes xy, xz, xt, yz, yt, zt (section 13)
 *   clover blocks     (site * 2 + block) * 18 + word
 *
 * Legs are numbered 0 .. 3 for +x, +y, +z, +t and 4 .. 7 for -x, -y, -z, -t.
 *
 * Build without contraction: cc -std=c99 -O2 -ffp-contract=off, for GCC also -fno-tree-slp-vectorize, and link with -lm. Call
 * lfr_check_compiler() once: it tests the code that the compiler generated. Nothing else is needed, and there is no global state.
 *
 * If there is no memory for temporary fields, the program ends with a message on standard error.
 */
#ifndef LANEFIELD_REFERENCE_H
#define LANEFIELD_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Complex numbers. */
typedef struct {
    float re, im;
} lfr_complex_f32;
typedef struct {
    double re, im;
} lfr_complex_f64;

/* The sites of a field. */
enum { LFR_FULL = 0, LFR_EVEN = 1, LFR_ODD = 2 };

/* The hops. */
enum { LFR_WILSON_HOP = 0, LFR_LAPLACE_HOP = 1, LFR_STAGGERED_HOP = 2 };

/* The type of a field. */
typedef struct {
    int extents[4]; /* sites in x, y, z, t */
    int sites;      /* LFR_FULL, LFR_EVEN or LFR_ODD */
    int parts;      /* number of spinors, colour vectors, ... at each site */
    int words;      /* complex numbers of one part: 12, 3, ... */
    int half;       /* 1: stored numbers are rounded to half precision; f32 only */
} lfr_shape;

/* The definition of a hop, apart from its links. All of it changes the bits. */
typedef struct {
    int phases[4];   /* boundary phases in x, y, z, t: 1, -1, or 0 (fixed) */
    int legs[8];     /* the order in which legs are added */
    int reconstruct; /* reals that are stored for a link: 18, 12 or 8 */
} lfr_links;

/* The default order of the legs: -t -y -z +t +y +z -x +x. */
extern const int lfr_default_legs[8];

/* A plan of a tree sum (section 8): threads of a block, blocks, threads of a warp, and the lane layout. */
typedef struct {
    int threads, blocks, warp;
    int cut[4];
} lfr_tree;

/* An exact sum of doubles during accumulation: a number of 67 limbs of 32 bits, in units of 2^-1074, with pending carries, and the number of
 * terms of each kind. */
typedef struct {
    int64_t limbs[67];
    uint32_t since_carry;
    int64_t plus_infinities, minus_infinities, nans, terms;
    int other_than_minus_zero; /* whether there was a term other than -0 */
} lfr_exact_sum;

/* The words of an exact sum. */
enum { LFR_EXACT_WORDS = 72 };

/* A real tridiagonal matrix along s, closed to a ring. Each chirality has one diagonal next to the main one (section 14). */
typedef struct {
    int ls;
    const double *d, *p, *m;
} lfr_ring;

/* The coefficients of the inverse of such a matrix, for the chiralities + and -: c, t and r of section 14. */
typedef struct {
    int ls;
    double *c[2], *t[2], *r[2];
    int descending[2]; /* whether the order of the sites along s is ls - 1 .. 0 */
} lfr_sweep;

/* The operators. */
enum {
    LFR_WILSON,
    LFR_TWISTED_MASS,
    LFR_CLOVER,
    LFR_DOMAIN_WALL, /* with b = 1, c = 0 Shamir's, otherwise Moebius */
    LFR_LAPLACIAN,
    LFR_STAGGERED
};

/* The parameters of an operator. Those that it does not need are ignored. */
typedef struct {
    int kind;           /* LFR_WILSON, ... */
    double mass;        /* also the quark mass of domain wall and staggered fermions */
    double mu;          /* twisted mass */
    double csw_r, csw_t; /* clover coefficients of the planes without and with t */
    double m5, b, c;    /* domain wall */
    int ls;             /* extent of the fifth dimension */
    int dense;          /* how inverses along s are applied: 0 by a sweep, 1 by a dense matrix */
    int components;     /* colour vectors at each site (Laplacian, staggered) */
} lfr_parameters;

/* The state of conjugate gradients, before the first iteration and after each one. Before the first one, |r|^2 is the only scalar that is
 * set. The fields are those of the recurrence, in the precision of the solve. They may only be read, and only during the call. */
typedef struct {
    int iterations;          /* done so far */
    double p_a_p, a;         /* Re <p, A p> and a of the last iteration */
    double squared_residual; /* |r|^2 now */
    double beta;
    const void *psi, *r, *p;
} lfr_iteration;
typedef void lfr_watcher(void *context, const lfr_iteration *iteration);

/* The parameters of a solve. */
typedef struct {
    double tolerance;     /* the solve ends when |r|^2 <= tolerance^2 |b|^2 */
    int most_iterations;
    double delta;         /* for reliable updates; 0 means that of section 10 */
    const lfr_tree *tree; /* the plan of tree sums; NULL for exact sums */
    lfr_watcher *watcher; /* if not NULL, called by lfr_cg and lfr_solve; other solvers ignore it */
    void *watched_by;     /* the first argument of the watcher */
} lfr_solve_parameters;

/* The results of a solve. history has room for `room` numbers, and receives the first ones of the history of section 10. */
typedef struct {
    double *history;
    int room;
    int recorded;   /* length of the history, including numbers for which there was no room */
    int iterations;
    int converged;
} lfr_solve_report;

/* Section 1: tests the rules. Returns NULL, or a text with the rule that the compiler broke and the flag that repairs it. */
const char *lfr_check_compiler(void);

size_t lfr_volume(const int extents[4]);
/* The number of complex numbers of a field, with all sites and parts. */
size_t lfr_field_words(const lfr_shape *shape);
/* The neighbour of a site on the torus; leg 0 .. 7. */
size_t lfr_neighbour(const int extents[4], size_t site, int leg);
/* The number of complex words of one stored link. */
int lfr_link_words(int reconstruct);

/* Section 8: exact sums. */
void lfr_exact_start(lfr_exact_sum *sum);
void lfr_exact_add(lfr_exact_sum *sum, double term);
void lfr_exact_merge(lfr_exact_sum *sum, const lfr_exact_sum *other);
double lfr_exact_round(const lfr_exact_sum *sum);
/* Its words after carries: limbs, the least significant one first; then the numbers of terms that are +infinity, -infinity, NaN; whether
 * one is not -0; and the number of terms. */
void lfr_exact_words(const lfr_exact_sum *sum, int64_t words[LFR_EXACT_WORDS]);
/* The sum of an array, exact or by a tree. */
double lfr_sum_terms(const double *terms, size_t n, const lfr_tree *tree);
/* The sums of the blocks of a tree. `blocks` has room for one number for each block. */
void lfr_tree_blocks(const double *terms, size_t n, const lfr_tree *tree, double *blocks);

/* Section 11: Philox4x32-10, and the uniform numbers of the open interval (0, 1). */
void lfr_random_bits(uint64_t seed, uint32_t stream, uint64_t site, uint32_t component, uint32_t out[4]);
double lfr_uniform(uint64_t seed, uint32_t stream, uint64_t site, uint32_t component);

/* Section 14. ring: d, p, m have room for ls numbers each. */
void lfr_make_ring(int ls, double diagonal, double beside, double mass, double *d, double *p, double *m);
/* The inverse of a ring or, with dagger, of its transpose. sweep's arrays have room for ls numbers each. */
void lfr_invert_ring(const lfr_ring *ring, int dagger, lfr_sweep *sweep);
/* The dense inverse: n[chirality][s * ls + s']. */
void lfr_dense_inverse(const lfr_sweep *sweep, double *n[2]);

/* The functions of f32 and of f64. */
#define REAL float
#define LFR(name) lfr_##name##_f32
#include "lanefield_reference.h"
#undef REAL
#undef LFR
#define REAL double
#define LFR(name) lfr_##name##_f64
#include "lanefield_reference.h"
#undef REAL
#undef LFR

/* Section 12: converts a field to another precision; from f64 to half it goes by way of f32. shape is that of the output. */
void lfr_convert_f32_from_f64(const lfr_shape *shape, const lfr_complex_f64 *in, lfr_complex_f32 *out);
void lfr_convert_f64_from_f32(const lfr_shape *shape, const lfr_complex_f32 *in, lfr_complex_f64 *out);
void lfr_convert_f32_from_f32(const lfr_shape *shape, const lfr_complex_f32 *in, lfr_complex_f32 *out);
void lfr_convert_f64_from_f64(const lfr_shape *shape, const lfr_complex_f64 *in, lfr_complex_f64 *out);

/* Section 10: conjugate gradients for A psi = b with reliable updates. A is given in f64 and, on the same sites, in f32 or half precision. */
void lfr_mixed_cg(const lfr_shape *shape, lfr_matrix_f64 *matrix, const void *context, const lfr_shape *low_shape,
                  lfr_matrix_f32 *low_matrix, const void *low_context, const lfr_complex_f64 *b, lfr_complex_f64 *psi,
                  const lfr_solve_parameters *parameters, lfr_solve_report *report);

/* Solves M psi = eta by conjugate gradients with reliable updates, with or without even-odd preconditioning. low: the same operator in f32 or
 * half precision. */
void lfr_mixed_solve(const lfr_operator_f64 *fermion, const lfr_operator_f32 *low, int even_odd, const lfr_complex_f64 *eta,
                     lfr_complex_f64 *psi, const lfr_solve_parameters *parameters, lfr_solve_report *report);

#ifdef __cplusplus
}
#endif

#endif /* LANEFIELD_REFERENCE_H */

#ifdef LFR

/* A colour vector, a 3x3 matrix, a projected spinor, a spinor. */
typedef struct {
    LFR(complex) c[3];
} LFR(vector);
typedef struct {
    LFR(complex) e[3][3];
} LFR(link);
typedef struct {
    LFR(vector) s[2];
} LFR(half_spinor);
typedef struct {
    LFR(vector) s[4];
} LFR(spinor);

/* Section 5. Converts the links U of a configuration to the form that kernels read, for all sites. half: round to half precision. Returns 0,
 * or -1 if U is not in SU(3) and reconstruct is 8. */
int LFR(store_links)(const int extents[4], const lfr_links *links, int half, const lfr_complex_f64 *u, LFR(complex) *stored);
/* The matrix V of a leg at a site from stored links. */
LFR(link) LFR(load_link)(const int extents[4], const lfr_links *links, const LFR(complex) *stored, size_t site, int leg);
/* The eight numbers of an SU(3) matrix, computed in double and rounded. */
void LFR(pack_eight)(const lfr_complex_f64 w[9], LFR(complex) stored[4]);
/* The rounded links U that the field strength reads. Those that leave the last slice of a fixed boundary are +0. */
void LFR(raw_links)(const int extents[4], const int phases[4], const lfr_complex_f64 *u, LFR(complex) *raw);

/* Section 4. Rows h0 and h1 of (1 + gamma_d) psi (plus = 1) or (1 - gamma_d) psi; and all four rows, from these two. */
LFR(half_spinor) LFR(project)(int direction, int plus, LFR(spinor) psi);
LFR(spinor) LFR(reconstruct)(int direction, int plus, LFR(half_spinor) w);

/* Sections 6, 15, 16: out = hop(in) on the sites of shape. in is read on all their neighbours. hop: LFR_WILSON_HOP, ... */
void LFR(hop)(int hop, const lfr_links *links, const lfr_shape *shape, const LFR(complex) *stored, const LFR(complex) *in,
              int dagger, LFR(complex) *out);
/* One leg of a hop: V times the field at the neighbour, with projection and reconstruction for Wilson's. A hop is the sum of these terms. */
void LFR(leg)(int hop, const lfr_links *links, const lfr_shape *shape, const LFR(complex) *stored, const LFR(complex) *in,
              int dagger, int leg, LFR(complex) *out);
/* out = a x + hop(psi);  a hop(psi);  a x - hop(psi). In half precision each is rounded once. */
void LFR(hop_plus)(int hop, const lfr_links *links, const lfr_shape *shape, REAL a, const LFR(complex) *x,
                   const LFR(complex) *stored, const LFR(complex) *psi, int dagger, LFR(complex) *out);
void LFR(times_hop)(int hop, const lfr_links *links, const lfr_shape *shape, REAL a, const LFR(complex) *stored,
                    const LFR(complex) *psi, int dagger, LFR(complex) *out);
void LFR(minus_hop)(int hop, const lfr_links *links, const lfr_shape *shape, REAL a, const LFR(complex) *x,
                    const LFR(complex) *stored, const LFR(complex) *psi, int dagger, LFR(complex) *out);

/* Section 7: vector operations on fields of any kind. */
void LFR(copy)(const lfr_shape *shape, const LFR(complex) *x, LFR(complex) *out);
void LFR(scale)(const lfr_shape *shape, REAL a, const LFR(complex) *x, LFR(complex) *out);
void LFR(axpy)(const lfr_shape *shape, REAL a, const LFR(complex) *x, LFR(complex) *y);
void LFR(axpby)(const lfr_shape *shape, REAL a, const LFR(complex) *x, REAL b, LFR(complex) *y);
void LFR(complex_axpy)(const lfr_shape *shape, LFR(complex) a, const LFR(complex) *x, LFR(complex) *y);
void LFR(complex_xpay)(const lfr_shape *shape, const LFR(complex) *x, LFR(complex) b, LFR(complex) *y);
void LFR(cg_update)(const lfr_shape *shape, REAL a, REAL b, LFR(complex) *p, const LFR(complex) *r, LFR(complex) *psi);

/* Section 8: sums over the sites of a field, exact if tree is NULL. out has 2 words doubles for a sum, and (slice, word, re and im) for slice
 * sums. */
double LFR(norm2)(const lfr_shape *shape, const LFR(complex) *x, const lfr_tree *tree);
lfr_complex_f64 LFR(inner)(const lfr_shape *shape, const LFR(complex) *x, const LFR(complex) *y, const lfr_tree *tree);
void LFR(sum)(const lfr_shape *shape, const LFR(complex) *x, const lfr_tree *tree, double *out);
void LFR(slice_sums)(const lfr_shape *shape, const LFR(complex) *x, int direction, const lfr_tree *tree, double *out);

/* Section 12: rounds every part of a field on its sites. */
void LFR(round_to_half)(const lfr_shape *shape, LFR(complex) *field);
/* One part: the step (a power of two, or NaN), and the fractions. */
REAL LFR(half_step)(const LFR(complex) *words, int n);
void LFR(half_fractions)(const LFR(complex) *words, int n, int16_t *fractions);

/* Section 13. term and inverse: coefficients c_s = csw_r / 2 and c_t = csw_t / 2. The shapes give extents, sites and half. */
void LFR(field_strength)(const int extents[4], const LFR(complex) *raw, LFR(complex) *strength);
void LFR(clover_term)(const lfr_shape *shape, const LFR(complex) *strength, double diagonal, double spatial, double temporal,
                      LFR(complex) *blocks);
void LFR(clover_inverse)(const lfr_shape *shape, const LFR(complex) *blocks, LFR(complex) *inverse, LFR(complex) *pivots);
void LFR(clover_apply)(const lfr_shape *shape, const LFR(complex) *blocks, const LFR(complex) *in, LFR(complex) *out);
/* out = blocks hop(in);  blocks chi - hop(in). In half precision rounded once. */
void LFR(clover_hop)(const lfr_links *links, const lfr_shape *shape, const LFR(complex) *blocks, const LFR(complex) *stored,
                     const LFR(complex) *in, int dagger, LFR(complex) *out);
void LFR(clover_minus_hop)(const lfr_links *links, const lfr_shape *shape, const LFR(complex) *blocks, const LFR(complex) *chi,
                           const LFR(complex) *stored, const LFR(complex) *in, int dagger, LFR(complex) *out);

/* Section 14: products of a matrix along s with each fermion of ls parts. dagger: the transpose of the ring. z may be NULL. */
void LFR(s_multiply)(const lfr_shape *shape, const lfr_ring *ring, int dagger, const LFR(complex) *x, const LFR(complex) *z,
                     LFR(complex) *out);
void LFR(s_sweep)(const lfr_shape *shape, const lfr_sweep *sweep, const LFR(complex) *x, LFR(complex) *out);
/* n[chirality][s * ls + s'] in double. */
void LFR(s_dense)(const lfr_shape *shape, int ls, double *const n[2], const LFR(complex) *x, LFR(complex) *out);

/* Section 17: out = twist(a, x);  twist_add(a, x, hop(psi));  twist(a, hop(psi));  twist(a, x) - hop(psi). In half precision rounded once. */
void LFR(twist)(const lfr_shape *shape, LFR(complex) a, const LFR(complex) *x, LFR(complex) *out);
void LFR(twist_plus_hop)(const lfr_links *links, const lfr_shape *shape, LFR(complex) a, const LFR(complex) *x,
                         const LFR(complex) *stored, const LFR(complex) *psi, int dagger, LFR(complex) *out);
void LFR(twist_hop)(const lfr_links *links, const lfr_shape *shape, LFR(complex) a, const LFR(complex) *stored,
                    const LFR(complex) *psi, int dagger, LFR(complex) *out);
void LFR(twist_minus_hop)(const lfr_links *links, const lfr_shape *shape, LFR(complex) a, const LFR(complex) *x,
                          const LFR(complex) *stored, const LFR(complex) *psi, int dagger, LFR(complex) *out);

/* Section 25: out = a x + hisq_hop(psi);  a hisq_hop(psi);  a x - hisq_hop(psi), with doubled fat links and doubled long
 * links. In half precision each is rounded once. */
void LFR(hisq_plus_hop)(const lfr_links *links, const lfr_shape *shape, REAL a, const LFR(complex) *x, const LFR(complex) *stored,
                        const LFR(complex) *stored_long, const LFR(complex) *psi, LFR(complex) *out);
void LFR(times_hisq_hop)(const lfr_links *links, const lfr_shape *shape, REAL a, const LFR(complex) *stored, const LFR(complex) *stored_long,
                         const LFR(complex) *psi, LFR(complex) *out);
void LFR(minus_hisq_hop)(const lfr_links *links, const lfr_shape *shape, REAL a, const LFR(complex) *x, const LFR(complex) *stored,
                         const LFR(complex) *stored_long, const LFR(complex) *psi, LFR(complex) *out);

/* Sections 9, 13 to 17: an operator, with everything that it needs from a configuration. */
typedef struct {
    lfr_parameters parameters;
    lfr_links links;
    lfr_shape shape;         /* of its fields, on all sites */
    LFR(complex) *stored;    /* links */
    LFR(complex) *blocks;    /* clover */
    LFR(complex) *inverse;
    double *coefficients;    /* domain wall: the memory that the following members point to */
    lfr_ring input, along, diagonal;
    lfr_sweep inverse_sweep[2]; /* of the diagonal, and of its transpose */
    double *dense[2][2];
    int input_is_identity;
    double h;
} LFR(operator);

/* Returns 0, -1 if U is not in SU(3) and reconstruct is 8, or -2 if a clover block is singular. half: half precision (f32). */
int LFR(make_operator)(LFR(operator) *fermion, const int extents[4], const lfr_links *links, const lfr_parameters *parameters,
                       int half, const lfr_complex_f64 *u);
void LFR(free_operator)(LFR(operator) *fermion);
/* M on all sites. */
void LFR(apply)(const LFR(operator) *fermion, int dagger, const LFR(complex) *in, LFR(complex) *out);
/* Its pieces. target, the parity of the result, is LFR_EVEN or LFR_ODD. */
void LFR(meooe)(const LFR(operator) *fermion, int target, int dagger, const LFR(complex) *in, LFR(complex) *out);
void LFR(mooee)(const LFR(operator) *fermion, int target, int dagger, const LFR(complex) *in, LFR(complex) *out);
void LFR(mooee_inverse)(const LFR(operator) *fermion, int target, int dagger, const LFR(complex) *in, LFR(complex) *out);
/* The Schur complement, on the odd sites. */
void LFR(mpc)(const LFR(operator) *fermion, int dagger, const LFR(complex) *in, LFR(complex) *out);

/* Section 14: converts a physical source (spinors) to a five-dimensional one, and a five-dimensional solution to a physical one. */
void LFR(import_physical)(const LFR(operator) *fermion, const LFR(complex) *eta, LFR(complex) *chi);
void LFR(export_physical)(const LFR(operator) *fermion, const LFR(complex) *psi, LFR(complex) *physical);

/* Section 10: solves A psi = b for a matrix that is given as a function; psi is the guess. A watcher of lfr_cg or lfr_solve receives fields of
 * this precision; with a Schur complement, on the odd sites alone. */
typedef void LFR(matrix)(const void *context, const LFR(complex) *in, LFR(complex) *out);
void LFR(cg)(const lfr_shape *shape, LFR(matrix) *matrix, const void *context, const LFR(complex) *b, LFR(complex) *psi,
             const lfr_solve_parameters *parameters, lfr_solve_report *report);
void LFR(bicgstab)(const lfr_shape *shape, LFR(matrix) *matrix, const void *context, const LFR(complex) *b, LFR(complex) *psi,
                   const lfr_solve_parameters *parameters, lfr_solve_report *report);
/* Solves M psi = eta, starting from psi = 0. even_odd: by the Schur complement. A batch is a separate solve for each right-hand side. */
void LFR(solve)(const LFR(operator) *fermion, int even_odd, const LFR(complex) *eta, LFR(complex) *psi,
                const lfr_solve_parameters *parameters, lfr_solve_report *report);
void LFR(solve_bicgstab)(const LFR(operator) *fermion, int even_odd, const LFR(complex) *eta, LFR(complex) *psi,
                         const lfr_solve_parameters *parameters, lfr_solve_report *report);

#endif
