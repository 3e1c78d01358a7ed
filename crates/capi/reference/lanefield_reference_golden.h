/*
 * Runs a kernel of Lanefield by its name, with the arithmetic of lanefield_reference.h. Golden data and tests use it.
 */
#ifndef LANEFIELD_REFERENCE_GOLDEN_H
#define LANEFIELD_REFERENCE_GOLDEN_H

#include "lanefield_reference.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Precisions. Fields of half precision are the floats that the fractions stand for. */
enum { LFR_F32 = 0, LFR_F64 = 1, LFR_HALF = 2 };

/* A field, by its name in the kernel, in site order (lanefield_reference.h). Each field of a list has its own entry. */
typedef struct {
    const char *name;
    int precision;
    int parts;  /* number of spinors, colour vectors, ... at each site */
    int words;  /* complex numbers of one of them */
    void *data; /* lfr_complex_f32 or lfr_complex_f64 */
} lfr_named_field;

/* Numbers by name: a scalar (complex ones as two), scalars of right-hand sides, indices, coefficients of a matrix along s. */
typedef struct {
    const char *name;
    const double *values;
    int count;
} lfr_named_numbers;

/* A call of a kernel. */
typedef struct {
    const char *kernel;
    int extents[4];
    int sites;           /* of the target */
    lfr_links links;
    int ls, rhs_parts;   /* extent of the fifth dimension; parts of one right-hand side */
    int matrix_dagger;   /* whether a matrix along s is the conjugate, whose coefficients are transposed */
    int direction;       /* of slice sums */
    const lfr_tree *tree;
    const lfr_named_field *fields;
    int field_count;
    const lfr_named_numbers *numbers;
    int number_count;
    double *sums;        /* receives the sums, as many as there is room for */
    int sum_room;
    int sum_count;       /* the number of sums; set by the call */
} lfr_call;

/* Returns NULL, or why the kernel was not run: it is unknown, or an argument is missing. */
const char *lfr_run_kernel(lfr_call *call);

/* Whether there is a kernel of this name. */
int lfr_has_kernel(const char *name);

#ifdef __cplusplus
}
#endif

#endif
