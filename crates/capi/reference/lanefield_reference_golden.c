/*
 * The kernels of Lanefield by name, and the program
 *
 *     lanefield_reference golden DIR OUT     computes every case of golden data (lanefield golden export DIR) and writes the results to OUT
 *     lanefield_reference self-test          checks identities
 *     lanefield_reference check-compiler     says what the compiler made of section 1
 *
 * Arithmetic is in lanefield_reference.c; here are names, and files. As there, what has a precision stands in the second half of this file, which the
 * first half includes twice. Build: cc -std=c99 -O2 -ffp-contract=off -fno-tree-slp-vectorize lanefield_reference.c lanefield_reference_golden.c -lm
 * (clang: without -fno-tree-slp-vectorize); with -DLFR_NO_MAIN as a library.
 */
#ifndef LFR

#include "lanefield_reference_golden.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------ Arguments of a call ------------------------------------------------------ */

static const lfr_named_field *find_field(const lfr_call *call, const char *name)
{
    for (int k = 0; k < call->field_count; k++)
        if (strcmp(call->fields[k].name, name) == 0)
            return &call->fields[k];
    return NULL;
}

static const double *find_numbers(const lfr_call *call, const char *name, int count)
{
    for (int k = 0; k < call->number_count; k++)
        if (strcmp(call->numbers[k].name, name) == 0 && call->numbers[k].count >= count)
            return call->numbers[k].values;
    return NULL;
}

/* The field that a kernel writes first: its parts and precision are those of the call. */
static const lfr_named_field *target_of(const lfr_call *call)
{
    const char *names[] = {"out", "y", "psi", "x"};
    for (int k = 0; k < 4; k++) {
        const lfr_named_field *field = find_field(call, names[k]);
        /* psi is a target in cg_update alone; elsewhere there is an `out`. */
        if (field != NULL)
            return field;
    }
    return NULL;
}

static lfr_shape shape_of(const lfr_call *call, const lfr_named_field *field)
{
    lfr_shape shape = {{call->extents[0], call->extents[1], call->extents[2], call->extents[3]}, call->sites, 1, 1, 0};
    shape.parts = field->parts;
    shape.words = field->words;
    shape.half = field->precision == LFR_HALF;
    return shape;
}

static void put_sum(lfr_call *call, double sum)
{
    if (call->sum_count < call->sum_room)
        call->sums[call->sum_count] = sum;
    call->sum_count++;
}

static int ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), of_end = strlen(end);
    return length >= of_end && strcmp(text + length - of_end, end) == 0;
}

/* The families that a name has with `_dagger` and `_many` taken away. */
enum {
    HOP, EO_CLOVER, OE_CLOVER, CLOVER_APPLY, FIELD_STRENGTH, CLOVER_TERM, CLOVER_INVERSE, PICK_CHECKERBOARD, S_TRIDIAGONAL, S_TRIDIAGONAL_ADD, S_SWEEP,
    S_DENSE, WILSON_FULL, EO_WILSON, OE_WILSON, LAPLACE_HOP, LAPLACE_FULL, EO_LAPLACE, OE_LAPLACE, STAGGERED_HOP, STAGGERED_FULL, EO_STAGGERED,
    OE_STAGGERED, TWISTED_MASS_FULL, EO_TWISTED_MASS, OE_TWISTED_MASS, TWISTED_MASS_APPLY, COPY, SCALE, AXPY, AXPY_NORM, AXPBY_NORM, COMPLEX_AXPY,
    COMPLEX_XPAY, CG_UPDATE, TAKE_RHS, PUT_RHS, RHS_PRODUCTS, RHS_AXPY_NORM, RHS_CG_UPDATE, CONVERT, NORM2, INNER_PRODUCTS, SUM, SLICE_SUMS, UNKNOWN
};

/* What each kernel takes: fields (of a list one), then numbers with how many of them. */
static const struct {
    const char *name, *fields, *numbers;
} kernels[] = {
    {"hop", "out links in", ""},
    {"eo_clover", "out blocks links in", ""},
    {"oe_clover", "out blocks chi links in", ""},
    {"clover_apply", "out blocks in", ""},
    {"field_strength", "out links", ""},
    {"clover_term", "out strength", "diagonal spatial temporal"},
    {"clover_inverse", "out pivots term", ""},
    {"pick_checkerboard", "out x", ""},
    {"s_tridiagonal", "out x", "matrix"},
    {"s_tridiagonal_add", "out x z", "matrix"},
    {"s_sweep", "out x", "matrix"},
    {"s_dense", "out x", "matrix"},
    {"wilson_full", "out x links psi", "a"},
    {"eo_wilson", "out links psi", "a"},
    {"oe_wilson", "out x links psi", "a"},
    {"laplace_hop", "out links in", ""},
    {"laplace_full", "out x links psi", "a"},
    {"eo_laplace", "out links psi", "a"},
    {"oe_laplace", "out x links psi", "a"},
    {"staggered_hop", "out links in", ""},
    {"staggered_full", "out x links psi", "a"},
    {"eo_staggered", "out links psi", "a"},
    {"oe_staggered", "out x links psi", "a"},
    {"twisted_mass_full", "out x links psi", "a"},
    {"eo_twisted_mass", "out links psi", "a"},
    {"oe_twisted_mass", "out x links psi", "a"},
    {"twisted_mass_apply", "out x", "a"},
    {"copy", "out x", ""},
    {"scale", "out x", "a"},
    {"axpy", "y x", "a"},
    {"axpy_norm", "y x", "a"},
    {"axpby_norm", "y x", "a b"},
    {"complex_axpy", "y x", "a"},
    {"complex_xpay", "y x", "b"},
    {"cg_update", "psi p r", "a b"},
    {"take_rhs", "out x", "wanted"},
    {"put_rhs", "out x", "wanted"},
    {"rhs_products", "x y", ""},
    {"rhs_axpy_norm", "y x", "a"},
    {"rhs_cg_update", "psi p r", "a b"},
    {"convert", "out x", ""},
    {"norm2", "x", ""},
    {"inner_products", "xs y", ""},
    {"sum", "x", ""},
    {"slice_sums", "x", ""},
};

/* The number of a kernel in the list above; dagger is set. Only hops have a dagger, and only spinors `_many`. */
static int kernel_of_name(const char *name, int *dagger)
{
    char stem[64];
    if (strlen(name) >= sizeof stem)
        return UNKNOWN;
    strcpy(stem, name);
    *dagger = ends_with(stem, "_dagger");
    if (*dagger)
        stem[strlen(stem) - strlen("_dagger")] = 0;
    const int many = ends_with(stem, "_many");
    if (many)
        stem[strlen(stem) - strlen("_many")] = 0;
    for (int kernel = 0; kernel < UNKNOWN; kernel++)
        if (strcmp(kernels[kernel].name, stem) == 0) {
            const int of_spinors = kernel <= OE_CLOVER, of_wilson = of_spinors || (kernel >= WILSON_FULL && kernel <= OE_WILSON) ||
                                                                    (kernel >= TWISTED_MASS_FULL && kernel <= OE_TWISTED_MASS);
            return (many && !of_spinors) || (*dagger && !of_wilson) ? UNKNOWN : kernel;
        }
    return UNKNOWN;
}

int lfr_has_kernel(const char *name)
{
    int dagger;
    return kernel_of_name(name, &dagger) != UNKNOWN;
}

/* Whether all names of a list of words are there. */
static int has_all(const lfr_call *call, const char *list, int numbers)
{
    char word[32];
    int length;
    for (const char *at = list; sscanf(at, "%31s%n", word, &length) == 1; at += length)
        if (numbers ? find_numbers(call, word, 1) == NULL : find_field(call, word) == NULL)
            return 0;
    return 1;
}

#define REAL float
#define LFR(name) lfr_##name##_f32
#include "lanefield_reference_golden.c"
#undef REAL
#undef LFR

#define REAL double
#define LFR(name) lfr_##name##_f64
#include "lanefield_reference_golden.c"
#undef REAL
#undef LFR

/* From one precision to another: the only kernel whose fields differ in it. */
static void run_convert(const lfr_call *call)
{
    const lfr_named_field *out = find_field(call, "out"), *x = find_field(call, "x");
    const lfr_shape shape = shape_of(call, out);
    if (out->precision == LFR_F64 && x->precision == LFR_F64)
        lfr_convert_f64_from_f64(&shape, x->data, out->data);
    else if (out->precision == LFR_F64)
        lfr_convert_f64_from_f32(&shape, x->data, out->data);
    else if (x->precision == LFR_F64)
        lfr_convert_f32_from_f64(&shape, x->data, out->data);
    else
        lfr_convert_f32_from_f32(&shape, x->data, out->data);
}

const char *lfr_run_kernel(lfr_call *call)
{
    int dagger;
    const int kernel = kernel_of_name(call->kernel, &dagger);
    call->sum_count = 0;
    if (kernel == UNKNOWN)
        return "there is no such kernel here";
    if (!has_all(call, kernels[kernel].fields, 0))
        return "a field of the kernel is missing";
    if (!has_all(call, kernels[kernel].numbers, 1))
        return "a number of the kernel is missing";
    if (kernel == CONVERT)
        run_convert(call);
    else if (target_of(call)->precision == LFR_F64)
        return lfr_run_f64(call, kernel, dagger);
    else
        return lfr_run_f32(call, kernel, dagger);
    return NULL;
}

#else /* LFR: kernels of one precision */

#define COMPLEX LFR(complex)

static COMPLEX *LFR(field)(const lfr_call *call, const char *name)
{
    const lfr_named_field *field = find_field(call, name);
    return field == NULL ? NULL : field->data;
}

/* A scalar, rounded to the precision of the fields. */
static REAL LFR(scalar)(const lfr_call *call, const char *name)
{
    const double *values = find_numbers(call, name, 1);
    return (REAL)values[0];
}

static COMPLEX LFR(complex_scalar)(const lfr_call *call, const char *name)
{
    const double *values = find_numbers(call, name, 1);
    const double *both = find_numbers(call, name, 2);
    const COMPLEX a = {(REAL)values[0], (REAL)(both == NULL ? 0 : both[1])};
    return a;
}

static const char *LFR(run_along_s)(const lfr_call *call, int kernel, const lfr_shape *shape)
{
    const int ls = call->ls, dagger = call->matrix_dagger;
    const double *table = find_numbers(call, "matrix", kernel == S_SWEEP ? 6 * ls : kernel == S_DENSE ? 2 * ls * ls : 3 * ls);
    const COMPLEX *x = LFR(field)(call, "x");
    COMPLEX *out = LFR(field)(call, "out");
    if (ls < 1 || shape->parts % ls != 0)
        return "the parts of a site are no multiple of ls";
    if (table == NULL)
        return "the matrix along s has too few coefficients";
    if (kernel == S_DENSE) {
        double *copy = malloc(2 * (size_t)(ls * ls) * sizeof *copy);
        if (copy == NULL)
            return "no memory";
        memcpy(copy, table, 2 * (size_t)(ls * ls) * sizeof *copy);
        double *const n[2] = {copy, copy + ls * ls};
        LFR(s_dense)(shape, ls, n, x, out);
        free(copy);
    } else if (kernel == S_SWEEP) {
        double *copy = malloc(6 * (size_t)ls * sizeof *copy);
        if (copy == NULL)
            return "no memory";
        memcpy(copy, table, 6 * (size_t)ls * sizeof *copy);
        const lfr_sweep sweep = {ls, {copy, copy + 3 * ls}, {copy + ls, copy + 4 * ls}, {copy + 2 * ls, copy + 5 * ls}, {dagger, !dagger}};
        LFR(s_sweep)(shape, &sweep, x, out);
        free(copy);
    } else {
        /* The table of a conjugate matrix is transposed; lfr_s_multiply transposes by itself. */
        double *pm = malloc(2 * (size_t)ls * sizeof *pm);
        if (pm == NULL)
            return "no memory";
        for (int s = 0; s < ls; s++) {
            pm[s] = table[ls + (dagger ? (s + ls - 1) % ls : s)];
            pm[ls + s] = table[2 * ls + (dagger ? (s + 1) % ls : s)];
        }
        const lfr_ring ring = {ls, table, pm, pm + ls};
        LFR(s_multiply)(shape, &ring, dagger, x, kernel == S_TRIDIAGONAL_ADD ? LFR(field)(call, "z") : NULL, out);
        free(pm);
    }
    return NULL;
}

/* Each right-hand side is a field by itself. */
static const char *LFR(run_of_rhs)(lfr_call *call, int kernel, const lfr_shape *shape)
{
    const size_t of_rhs = (size_t)call->rhs_parts * (size_t)shape->words * lfr_volume(shape->extents);
    lfr_shape one = *shape;
    if (call->rhs_parts < 1 || shape->parts % call->rhs_parts != 0)
        return "the parts of a site are no multiple of those of a right-hand side";
    const int count = shape->parts / call->rhs_parts;
    one.parts = call->rhs_parts;
    if (kernel == TAKE_RHS || kernel == PUT_RHS) {
        const lfr_named_field *out = find_field(call, "out"), *x = find_field(call, "x");
        const int of_out = out->parts / call->rhs_parts, of_x = x->parts / call->rhs_parts;
        const int listed = kernel == TAKE_RHS ? of_out : of_x, among = kernel == TAKE_RHS ? of_x : of_out;
        const double *wanted = find_numbers(call, "wanted", listed);
        if (wanted == NULL)
            return "there are fewer numbers of right-hand sides than right-hand sides";
        for (int k = 0; k < listed; k++) {
            const size_t number = (size_t)wanted[k];
            if (wanted[k] < 0 || number >= (size_t)among)
                return "there is no right-hand side of that number";
            const size_t to = kernel == TAKE_RHS ? (size_t)k : number, from = kernel == TAKE_RHS ? number : (size_t)k;
            LFR(copy)(&one, (COMPLEX *)x->data + from * of_rhs, (COMPLEX *)out->data + to * of_rhs);
        }
        return NULL;
    }
    const double *a = find_numbers(call, "a", count), *b = find_numbers(call, "b", count);
    for (int k = 0; k < count; k++) {
        const size_t first = (size_t)k * of_rhs;
        if (kernel == RHS_PRODUCTS) {
            put_sum(call, LFR(inner)(&one, LFR(field)(call, "x") + first, LFR(field)(call, "y") + first, call->tree).re);
        } else if (a == NULL || (kernel == RHS_CG_UPDATE && b == NULL)) {
            return "there are fewer scalars than right-hand sides";
        } else if (kernel == RHS_AXPY_NORM) {
            COMPLEX *y = LFR(field)(call, "y") + first;
            LFR(axpy)(&one, (REAL)a[k], LFR(field)(call, "x") + first, y);
            put_sum(call, LFR(norm2)(&one, y, call->tree));
        } else {
            LFR(cg_update)(&one, (REAL)a[k], (REAL)b[k], LFR(field)(call, "p") + first, LFR(field)(call, "r") + first,
                           LFR(field)(call, "psi") + first);
        }
    }
    return NULL;
}

static const char *LFR(run)(lfr_call *call, int kernel, int dagger)
{
    const lfr_shape target = shape_of(call, target_of(call)), *shape = &target;
    const lfr_links *links = &call->links;
    COMPLEX *out = LFR(field)(call, "out"), *psi = LFR(field)(call, "psi"), *y = LFR(field)(call, "y");
    const COMPLEX *in = LFR(field)(call, "in"), *x = LFR(field)(call, "x"), *stored = LFR(field)(call, "links");
    const COMPLEX *blocks = LFR(field)(call, "blocks");
    const int hop = kernel >= STAGGERED_HOP && kernel <= OE_STAGGERED ? LFR_STAGGERED_HOP
                    : kernel >= LAPLACE_HOP && kernel <= OE_LAPLACE   ? LFR_LAPLACE_HOP
                                                                      : LFR_WILSON_HOP;
    lfr_shape blocks_of = target;
    switch (kernel) {
    case HOP:
    case LAPLACE_HOP:
    case STAGGERED_HOP:
        LFR(hop)(hop, links, shape, stored, in, dagger, out);
        break;
    case WILSON_FULL:
    case LAPLACE_FULL:
    case STAGGERED_FULL:
        LFR(hop_plus)(hop, links, shape, LFR(scalar)(call, "a"), x, stored, psi, dagger, out);
        break;
    case EO_WILSON:
    case EO_LAPLACE:
    case EO_STAGGERED:
        LFR(times_hop)(hop, links, shape, LFR(scalar)(call, "a"), stored, psi, dagger, out);
        break;
    case OE_WILSON:
    case OE_LAPLACE:
    case OE_STAGGERED:
        LFR(minus_hop)(hop, links, shape, LFR(scalar)(call, "a"), x, stored, psi, dagger, out);
        break;
    case TWISTED_MASS_FULL:
        LFR(twist_plus_hop)(links, shape, LFR(complex_scalar)(call, "a"), x, stored, psi, dagger, out);
        break;
    case EO_TWISTED_MASS:
        LFR(twist_hop)(links, shape, LFR(complex_scalar)(call, "a"), stored, psi, dagger, out);
        break;
    case OE_TWISTED_MASS:
        LFR(twist_minus_hop)(links, shape, LFR(complex_scalar)(call, "a"), x, stored, psi, dagger, out);
        break;
    case TWISTED_MASS_APPLY:
        LFR(twist)(shape, LFR(complex_scalar)(call, "a"), x, out);
        break;
    case EO_CLOVER:
        LFR(clover_hop)(links, shape, blocks, stored, in, dagger, out);
        break;
    case OE_CLOVER:
        LFR(clover_minus_hop)(links, shape, blocks, LFR(field)(call, "chi"), stored, in, dagger, out);
        break;
    case CLOVER_APPLY:
        LFR(clover_apply)(shape, blocks, in, out);
        break;
    case FIELD_STRENGTH:
        LFR(field_strength)(shape->extents, stored, out);
        break;
    case CLOVER_TERM:
        LFR(clover_term)(&blocks_of, LFR(field)(call, "strength"), *find_numbers(call, "diagonal", 1), *find_numbers(call, "spatial", 1),
                         *find_numbers(call, "temporal", 1), out);
        break;
    case CLOVER_INVERSE:
        LFR(clover_inverse)(&blocks_of, LFR(field)(call, "term"), out, LFR(field)(call, "pivots"));
        break;
    case S_TRIDIAGONAL:
    case S_TRIDIAGONAL_ADD:
    case S_SWEEP:
    case S_DENSE:
        return LFR(run_along_s)(call, kernel, shape);
    case PICK_CHECKERBOARD:
    case COPY:
        LFR(copy)(shape, x, out);
        break;
    case SCALE:
        LFR(scale)(shape, LFR(scalar)(call, "a"), x, out);
        break;
    case AXPY:
    case AXPY_NORM:
        LFR(axpy)(shape, LFR(scalar)(call, "a"), x, y);
        break;
    case AXPBY_NORM:
        LFR(axpby)(shape, LFR(scalar)(call, "a"), x, LFR(scalar)(call, "b"), y);
        break;
    case COMPLEX_AXPY:
        LFR(complex_axpy)(shape, LFR(complex_scalar)(call, "a"), x, y);
        break;
    case COMPLEX_XPAY:
        LFR(complex_xpay)(shape, x, LFR(complex_scalar)(call, "b"), y);
        break;
    case CG_UPDATE:
        LFR(cg_update)(shape, LFR(scalar)(call, "a"), LFR(scalar)(call, "b"), LFR(field)(call, "p"), LFR(field)(call, "r"), psi);
        break;
    case TAKE_RHS:
    case PUT_RHS:
    case RHS_PRODUCTS:
    case RHS_AXPY_NORM:
    case RHS_CG_UPDATE:
        return LFR(run_of_rhs)(call, kernel, shape);
    case NORM2:
        put_sum(call, LFR(norm2)(shape, x, call->tree));
        break;
    case INNER_PRODUCTS:
        for (int k = 0; k < call->field_count; k++)
            if (strcmp(call->fields[k].name, "xs") == 0) {
                const lfr_complex_f64 product = LFR(inner)(shape, call->fields[k].data, y, call->tree);
                put_sum(call, product.re);
                put_sum(call, product.im);
            }
        break;
    default: { /* SUM and SLICE_SUMS */
        const int slices = kernel == SUM ? 1 : shape->extents[call->direction], n = 2 * slices * shape->parts * shape->words;
        double *sums = malloc((size_t)n * sizeof *sums);
        if (sums == NULL)
            return "no memory";
        if (kernel == SUM)
            LFR(sum)(shape, x, call->tree, sums);
        else
            LFR(slice_sums)(shape, x, call->direction, call->tree, sums);
        for (int k = 0; k < n; k++)
            put_sum(call, sums[k]);
        free(sums);
        break;
    }
    }
    if (kernel == AXPY_NORM || kernel == AXPBY_NORM)
        put_sum(call, LFR(norm2)(shape, y, call->tree));
    return NULL;
}

#undef COMPLEX

#endif
