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

/* For mkdir. */
#define _POSIX_C_SOURCE 200809L

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

/* The field that says of which parts and precision a call is: the first that is written or, of sums, one that is read. */
static const lfr_named_field *target_of(const lfr_call *call)
{
    const char *names[] = {"out", "y", "psi", "x"};
    for (int k = 0; k < 4; k++)
        if (find_field(call, names[k]) != NULL)
            return find_field(call, names[k]);
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

#ifndef LFR_NO_MAIN

#include <sys/stat.h>

/* -------------------------------------------------------------- .npy files ------------------------------------------------------------- */

enum { MOST_AXES = 8, PATH_LENGTH = 1024 };

/* An array of a file: `<f4`, `<f8`, `<c8` or `<c16`, in C order. */
typedef struct {
    char type[8];
    int axes;
    size_t shape[MOST_AXES];
    size_t bytes;
    void *data;
} array;

static size_t size_of_type(const char *type)
{
    return strcmp(type, "<f4") == 0 ? 4 : strcmp(type, "<c16") == 0 ? 16 : 8;
}

static size_t length_of(const array *a)
{
    size_t length = 1;
    for (int k = 0; k < a->axes; k++)
        length *= a->shape[k];
    return length;
}

static void *room_for(size_t bytes)
{
    void *room = calloc(bytes == 0 ? 1 : bytes, 1);
    if (room == NULL) {
        fprintf(stderr, "no memory for %lu bytes\n", (unsigned long)bytes);
        exit(70);
    }
    return room;
}

/* Reads a file of version 1.0. 0, or -1 with a message. */
static int read_array(const char *path, array *a)
{
    unsigned char start[10];
    char header[2048], *at;
    FILE *file = fopen(path, "rb");
    memset(a, 0, sizeof *a);
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY\x01", 7) != 0) {
        fprintf(stderr, "%s is no .npy file of version 1.0\n", path);
        fclose(file);
        return -1;
    }
    const size_t length = start[8] + 256u * start[9];
    if (length >= sizeof header || fread(header, 1, length, file) != length) {
        fprintf(stderr, "%s: its header is cut off, or longer than %lu bytes\n", path, (unsigned long)sizeof header);
        fclose(file);
        return -1;
    }
    header[length] = 0;
    at = strstr(header, "'descr': '");
    int understood = at != NULL && sscanf(at + 10, "%7[^']", a->type) == 1 && strstr(header, "'fortran_order': False") != NULL &&
                     (strcmp(a->type, "<f4") == 0 || strcmp(a->type, "<f8") == 0 || strcmp(a->type, "<c8") == 0 || strcmp(a->type, "<c16") == 0);
    at = strstr(header, "'shape': (");
    understood = understood && at != NULL;
    for (at += 10; understood && *at != ')' && *at != 0;) {
        char *end;
        const unsigned long extent = strtoul(at, &end, 10);
        understood = end != at && a->axes < MOST_AXES;
        if (understood)
            a->shape[a->axes++] = extent;
        for (at = end; *at == ',' || *at == ' ';)
            at++;
    }
    if (!understood) {
        fprintf(stderr, "%s: its header is not understood: %s\n", path, header);
        fclose(file);
        return -1;
    }
    a->bytes = length_of(a) * size_of_type(a->type);
    a->data = room_for(a->bytes);
    const size_t found = fread(a->data, 1, a->bytes, file);
    fclose(file);
    if (found != a->bytes) {
        fprintf(stderr, "%s has %lu bytes of numbers; its shape needs %lu\n", path, (unsigned long)found, (unsigned long)a->bytes);
        free(a->data);
        return -1;
    }
    return 0;
}

/* Makes the folders of a path. */
static void make_folders(const char *path)
{
    char folder[PATH_LENGTH];
    for (size_t k = 1; path[k] != 0 && k + 1 < sizeof folder; k++)
        if (path[k] == '/') {
            memcpy(folder, path, k);
            folder[k] = 0;
            mkdir(folder, 0777);
        }
}

/* Writes a file that is not there yet, as NumPy does: its header takes a multiple of 64 bytes. 0, or -1 with a message. */
static int write_array(const char *path, const array *a)
{
    char text[512], header[1024];
    size_t used = (size_t)sprintf(text, "{'descr': '%s', 'fortran_order': False, 'shape': (", a->type);
    for (int k = 0; k < a->axes; k++)
        used += (size_t)sprintf(text + used, a->axes == 1 ? "%lu," : k + 1 < a->axes ? "%lu, " : "%lu", (unsigned long)a->shape[k]);
    used += (size_t)sprintf(text + used, "), }");
    const size_t length = (10 + used + 1 + 63) / 64 * 64;
    memset(header, ' ', length);
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)((length - 10) % 256);
    header[9] = (char)((length - 10) / 256);
    memcpy(header + 10, text, used);
    header[length - 1] = '\n';

    FILE *file = fopen(path, "rb");
    if (file != NULL) {
        fprintf(stderr, "%s is there already: name an empty directory\n", path);
        fclose(file);
        return -1;
    }
    make_folders(path);
    file = fopen(path, "wb");
    const int written = file != NULL && fwrite(header, 1, length, file) == length && fwrite(a->data, 1, a->bytes, file) == a->bytes;
    if ((file != NULL && fclose(file) != 0) || !written) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    return 0;
}

/* ---------------------------------------------------------- Lines of cases.tsv --------------------------------------------------------- */

enum { MOST_KEYS = 64, MOST_FIELDS = 16 };

/* A line, cut at tabs, and at the first '=' of each key. */
typedef struct {
    char *keys[MOST_KEYS], *values[MOST_KEYS];
    int count;
} case_line;

static void cut_line(char *text, case_line *line)
{
    line->count = 0;
    text[strcspn(text, "\r\n")] = 0;
    for (char *at = text; *at != 0 && line->count < MOST_KEYS;) {
        char *end = at + strcspn(at, "\t"), *equals = strchr(at, '=');
        const int last = *end == 0;
        *end = 0;
        if (equals != NULL && equals < end) {
            *equals = 0;
            line->keys[line->count] = at;
            line->values[line->count++] = equals + 1;
        }
        at = last ? end : end + 1;
    }
}

static const char *value_of(const case_line *line, const char *key)
{
    for (int k = 0; k < line->count; k++)
        if (strcmp(line->keys[k], key) == 0)
            return line->values[k];
    return NULL;
}

static int number_of(const case_line *line, const char *key, int otherwise)
{
    const char *value = value_of(line, key);
    return value == NULL ? otherwise : atoi(value);
}

/* "1,1,1,-1" */
static int read_phases(const char *text, int phases[4])
{
    return sscanf(text, "%d,%d,%d,%d", &phases[0], &phases[1], &phases[2], &phases[3]) == 4;
}

/* "-t-y-z+t+y+z-x+x" */
static int read_legs(const char *text, int legs[8])
{
    for (int k = 0; k < 8; k++) {
        const char *direction = strlen(text) == 16 ? strchr("xyzt", text[2 * k + 1]) : NULL;
        if (direction == NULL)
            return 0;
        legs[k] = (int)(direction - "xyzt") + (text[2 * k] == '+' ? 0 : 4);
    }
    return 1;
}

static int join(char path[PATH_LENGTH], const char *folder, const char *name, size_t length)
{
    const int needed = snprintf(path, PATH_LENGTH, "%s/%.*s", folder, (int)length, name);
    if (needed < 0 || needed >= PATH_LENGTH) {
        fprintf(stderr, "%s/%s is too long a path\n", folder, name);
        return -1;
    }
    return 0;
}

/* ------------------------------------------------------------ Fields of files ---------------------------------------------------------- */

/* Between the axes of files and ours: the vectors of a site of colour vectors come outermost here. Spinors have their s outermost in both. */
static void reorder_vectors(const array *from, array *to, int to_file)
{
    const size_t volume = from->shape[0] * from->shape[1] * from->shape[2] * from->shape[3], parts = from->shape[4];
    const size_t bytes = from->bytes / (volume * parts);
    for (size_t site = 0; site < volume; site++)
        for (size_t part = 0; part < parts; part++) {
            const size_t in_file = (site * parts + part) * bytes, here = (part * volume + site) * bytes;
            memcpy((char *)to->data + (to_file ? in_file : here), (char *)from->data + (to_file ? here : in_file), bytes);
        }
}

/* What a field holds at a site, from the name of the kernel and of the field. */
enum { SPINORS, VECTORS, OTHERS };

static int kind_of(const char *kernel, const char *name)
{
    const char *others[] = {"links", "blocks", "strength", "term", "pivots"};
    for (int k = 0; k < 5; k++)
        if (strcmp(name, others[k]) == 0)
            return OTHERS;
    if (strcmp(name, "out") == 0 && (strcmp(kernel, "field_strength") == 0 || strncmp(kernel, "clover_term", 11) == 0 ||
                                     strcmp(kernel, "clover_inverse") == 0))
        return OTHERS;
    return strstr(kernel, "laplace") != NULL || strstr(kernel, "staggered") != NULL ? VECTORS : SPINORS;
}

/* All that a case holds. */
typedef struct {
    lfr_call call;
    lfr_named_field fields[MOST_FIELDS];
    array arrays[MOST_FIELDS];
    lfr_named_numbers numbers[MOST_KEYS];
    double values[MOST_KEYS][8];
    array matrix;
    double sums[4096];
} golden_case;

static void free_case(golden_case *of)
{
    for (int k = 0; k < of->call.field_count; k++)
        free(of->arrays[k].data);
    free(of->matrix.data);
}

/* Adds a field whose array is there, in the order of files. */
static int add_field(golden_case *of, const char *name, array a, int half)
{
    if (of->call.field_count == MOST_FIELDS || a.axes < 4) {
        fprintf(stderr, "%s: too many fields, or too few axes\n", name);
        free(a.data);
        return -1;
    }
    lfr_named_field *field = &of->fields[of->call.field_count];
    const int kind = kind_of(of->call.kernel, name);
    const size_t volume = lfr_volume(of->call.extents), words = a.bytes / size_of_type(a.type) / volume;
    field->name = name;
    field->precision = strcmp(a.type, "<c16") == 0 ? LFR_F64 : half ? LFR_HALF : LFR_F32;
    field->parts = kind == OTHERS ? 1 : (int)(words / (kind == VECTORS ? 3 : 12));
    field->words = (int)words / field->parts;
    if (kind == VECTORS) {
        array ours = a;
        ours.data = room_for(a.bytes);
        reorder_vectors(&a, &ours, 0);
        free(a.data);
        a = ours;
    }
    field->data = a.data;
    of->arrays[of->call.field_count++] = a;
    return 0;
}

/* Reads the fields of a comma-separated list of files. */
static int add_files(golden_case *of, const char *directory, const char *name, const char *list, int half)
{
    while (*list != 0) {
        const size_t length = strcspn(list, ",");
        char path[PATH_LENGTH];
        array a;
        if (join(path, directory, list, length) != 0 || read_array(path, &a) != 0 || add_field(of, name, a, half) != 0)
            return -1;
        list += length + (list[length] == ',');
    }
    return 0;
}

/* An array of zeros for a field that the kernel writes. */
static int add_written(golden_case *of, const case_line *line, const char *name, const char *precision)
{
    const int kind = kind_of(of->call.kernel, name), parts = number_of(line, "parts", 1);
    const size_t sites[4] = {(size_t)of->call.extents[3], (size_t)of->call.extents[2], (size_t)of->call.extents[1], (size_t)of->call.extents[0]};
    array a;
    memset(&a, 0, sizeof a);
    strcpy(a.type, strcmp(precision, "f64") == 0 ? "<c16" : "<c8");
    if (kind == SPINORS && parts > 1)
        a.shape[a.axes++] = (size_t)parts;
    for (int k = 0; k < 4; k++)
        a.shape[a.axes++] = sites[k];
    if (kind == VECTORS) {
        a.shape[a.axes++] = (size_t)parts;
        a.shape[a.axes++] = 3;
    } else if (kind == SPINORS) {
        a.shape[a.axes++] = 4;
        a.shape[a.axes++] = 3;
    } else if (strcmp(of->call.kernel, "field_strength") == 0) {
        a.shape[a.axes++] = 6;
        a.shape[a.axes++] = 3;
        a.shape[a.axes++] = 3;
    } else if (strcmp(name, "out") == 0) {
        a.shape[a.axes++] = 2;
        a.shape[a.axes++] = 18;
    }
    a.bytes = length_of(&a) * size_of_type(a.type);
    a.data = room_for(a.bytes);
    return add_field(of, name, a, strcmp(precision, "half") == 0);
}

/* Numbers: 16 hex digits of doubles, or whole numbers. */
static void add_numbers(golden_case *of, const char *name, const char *list, int are_bits)
{
    const int k = of->call.number_count;
    int count = 0;
    for (; *list != 0 && count < 8 && k < MOST_KEYS; count++) {
        char *end;
        const unsigned long long number = strtoull(list, &end, are_bits ? 16 : 10);
        const uint64_t bits = number;
        if (are_bits)
            memcpy(&of->values[k][count], &bits, sizeof bits);
        else
            of->values[k][count] = (double)number;
        list = *end == ',' ? end + 1 : end + strlen(end);
    }
    of->numbers[k].name = name;
    of->numbers[k].values = of->values[k];
    of->numbers[k].count = count;
    of->call.number_count++;
}

static int has_key(const char *key, const char *start, const char **rest)
{
    const size_t length = strlen(start);
    *rest = key + length;
    return strncmp(key, start, length) == 0;
}

/* Puts +0 at the sites that a field does not have. */
static void clear_other_sites(const lfr_call *call, const lfr_named_field *field)
{
    const size_t volume = lfr_volume(call->extents), bytes = (size_t)field->words * (field->precision == LFR_F64 ? 16 : 8);
    for (size_t site = 0; site < volume && call->sites != LFR_FULL; site++) {
        size_t rest = site, sum = 0;
        for (int d = 0; d < 4; d++) {
            sum += rest % (size_t)call->extents[d];
            rest /= (size_t)call->extents[d];
        }
        for (size_t part = 0; part < (size_t)field->parts && sum % 2 != (call->sites == LFR_ODD); part++)
            memset((char *)field->data + (part * volume + site) * bytes, 0, bytes);
    }
}

/* Reads what a case needs. */
static int read_case(const char *directory, const case_line *line, const int extents[4], golden_case *of)
{
    const char *sites = value_of(line, "sites"), *precision = value_of(line, "precision"), *rest;
    lfr_call *call = &of->call;
    memset(of, 0, sizeof *of);
    call->kernel = value_of(line, "kernel");
    if (call->kernel == NULL || sites == NULL || precision == NULL) {
        fprintf(stderr, "a line without kernel=, sites= or precision=\n");
        return -1;
    }
    memcpy(call->extents, extents, sizeof call->extents);
    call->sites = strcmp(sites, "even") == 0 ? LFR_EVEN : strcmp(sites, "odd") == 0 ? LFR_ODD : LFR_FULL;
    call->links.reconstruct = number_of(line, "reconstruct", 18);
    memcpy(call->links.legs, lfr_default_legs, sizeof call->links.legs);
    if ((value_of(line, "boundary") != NULL && !read_phases(value_of(line, "boundary"), call->links.phases)) ||
        (value_of(line, "legs") != NULL && !read_legs(value_of(line, "legs"), call->links.legs))) {
        fprintf(stderr, "boundary= or legs= is not understood\n");
        return -1;
    }
    call->ls = number_of(line, "ls", 1);
    call->rhs_parts = number_of(line, "rhs_parts", 1);
    call->direction = value_of(line, "direction") == NULL ? 3 : (int)strcspn("xyzt", value_of(line, "direction"));
    call->fields = of->fields;
    call->numbers = of->numbers;
    call->sums = of->sums;
    call->sum_room = (int)(sizeof of->sums / sizeof of->sums[0]);
    const int half = strcmp(precision, "half") == 0;
    for (int k = 0; k < line->count; k++) {
        const char *value = line->values[k];
        if ((has_key(line->keys[k], "in.", &rest) || has_key(line->keys[k], "before.", &rest)) &&
            add_files(of, directory, rest, value, half) != 0)
            return -1;
        if (has_key(line->keys[k], "scalar.", &rest) || has_key(line->keys[k], "scalars.", &rest))
            add_numbers(of, rest, value, 1);
        if (has_key(line->keys[k], "indices.", &rest))
            add_numbers(of, rest, value, 0);
        if (has_key(line->keys[k], "matrix.", &rest)) {
            char path[PATH_LENGTH];
            if (join(path, directory, value, strlen(value)) != 0 || read_array(path, &of->matrix) != 0)
                return -1;
            of->numbers[call->number_count].name = rest;
            of->numbers[call->number_count].values = of->matrix.data;
            of->numbers[call->number_count++].count = (int)length_of(&of->matrix);
        }
    }
    for (int k = 0; k < line->count; k++)
        if (has_key(line->keys[k], "out.", &rest) && find_field(call, rest) == NULL && add_written(of, line, rest, precision) != 0)
            return -1;
    for (int k = 0; k < line->count; k++)
        if (has_key(line->keys[k], "before.", &rest))
            clear_other_sites(call, find_field(call, rest));
    return 0;
}

/* Writes what a case gave. */
static int write_case(const char *directory, const case_line *line, const golden_case *of)
{
    char path[PATH_LENGTH];
    const char *rest;
    for (int k = 0; k < line->count; k++) {
        const char *value = line->values[k];
        if (strcmp(line->keys[k], "sums") == 0) {
            array a = {"<f8", 1, {(size_t)of->call.sum_count}, (size_t)of->call.sum_count * sizeof(double), (void *)of->sums};
            if (join(path, directory, value, strlen(value)) != 0 || write_array(path, &a) != 0)
                return -1;
        } else if (has_key(line->keys[k], "out.", &rest)) {
            const lfr_named_field *field = find_field(&of->call, rest);
            array a = of->arrays[field - of->call.fields], in_file = a;
            if (join(path, directory, value, strlen(value)) != 0)
                return -1;
            if (kind_of(of->call.kernel, rest) == VECTORS) {
                in_file.data = room_for(a.bytes);
                reorder_vectors(&a, &in_file, 1);
            }
            const int status = write_array(path, &in_file);
            if (in_file.data != a.data)
                free(in_file.data);
            if (status != 0)
                return -1;
        }
    }
    return 0;
}

/* The fractions and the step of the eight links of each site. */
static int write_fractions(const char *directory, char name[128], int reals, const array *stored)
{
    char path[PATH_LENGTH];
    const size_t volume = stored->shape[0] * stored->shape[1] * stored->shape[2] * stored->shape[3];
    const int words = (int)(length_of(stored) / volume);
    array fractions = *stored, steps = *stored;
    strcpy(fractions.type, "<i2");
    fractions.shape[fractions.axes++] = 2;
    fractions.bytes = length_of(&fractions) * sizeof(int16_t);
    fractions.data = room_for(fractions.bytes);
    strcpy(steps.type, "<f4");
    steps.axes = 4;
    steps.bytes = volume * sizeof(float);
    steps.data = room_for(steps.bytes);
    for (size_t site = 0; site < volume; site++) {
        const lfr_complex_f32 *part = (const lfr_complex_f32 *)stored->data + site * (size_t)words;
        ((float *)steps.data)[site] = lfr_half_step_f32(part, words);
        lfr_half_fractions_f32(part, words, (int16_t *)fractions.data + site * 2 * (size_t)words);
    }
    sprintf(name, "stages/links/doubled.half-r%d.fractions.npy", reals);
    int failed = join(path, directory, name, strlen(name)) != 0 || write_array(path, &fractions) != 0;
    sprintf(name, "stages/links/doubled.half-r%d.steps.npy", reals);
    failed = failed || join(path, directory, name, strlen(name)) != 0 || write_array(path, &steps) != 0;
    free(fractions.data);
    free(steps.data);
    return failed;
}

/* The steps of each leg of the hop, of a case with links of 18 reals on all sites. */
static int write_steps_of_hop(const char *directory, const golden_case *of, int dagger)
{
    const char *names[] = {"projected", "transported", "legs"};
    const lfr_named_field *in = find_field(&of->call, "in");
    const int wide = in->precision == LFR_F64;
    array steps[3];
    int failed = 0;
    for (int k = 0; k < 3; k++) {
        const array a = {"", 7, {(size_t)of->call.extents[3], (size_t)of->call.extents[2], (size_t)of->call.extents[1],
                                 (size_t)of->call.extents[0], 8, k < 2 ? 2 : 4, 3}, 0, NULL};
        steps[k] = a;
        strcpy(steps[k].type, wide ? "<c16" : "<c8");
        steps[k].bytes = length_of(&a) * size_of_type(steps[k].type);
        steps[k].data = room_for(steps[k].bytes);
    }
    if (wide)
        lfr_steps_of_hop_f64(&of->call, dagger, steps[0].data, steps[1].data, steps[2].data);
    else
        lfr_steps_of_hop_f32(&of->call, dagger, steps[0].data, steps[1].data, steps[2].data);
    for (int k = 0; k < 3; k++) {
        char name[128], path[PATH_LENGTH];
        sprintf(name, "stages/hop/%s%s.%s.npy", names[k], dagger ? "_dagger" : "", wide ? "f64" : "f32");
        failed = failed || join(path, directory, name, strlen(name)) != 0 || write_array(path, &steps[k]) != 0;
        free(steps[k].data);
    }
    return failed ? -1 : 0;
}

/* Links as they are stored, as they are rebuilt, and the field strength: of the configuration, with the boundary of the cases. */
static int write_stages(const char *directory, const int extents[4], const int phases[4], const array *u)
{
    const char *precisions[] = {"f32", "f64", "half"};
    const int reals[] = {18, 12, 8};
    const size_t volume = lfr_volume(extents);
    char name[128], path[PATH_LENGTH];
    for (int p = 0; p < 3; p++) {
        array a = {"", 7, {u->shape[0], u->shape[1], u->shape[2], u->shape[3], 4, 3, 3}, 0, NULL};
        strcpy(a.type, p == LFR_F64 ? "<c16" : "<c8");
        const size_t size = size_of_type(a.type);
        for (int r = 0; r < 3; r++) {
            lfr_links links = {{phases[0], phases[1], phases[2], phases[3]}, {0}, reals[r]};
            array stored = a, rebuilt = a;
            const size_t words = (size_t)lfr_link_words(reals[r]);
            stored.shape[4] = rebuilt.shape[4] = 8;
            stored.axes = reals[r] == 8 ? 6 : 7;
            stored.shape[5] = words == 4 ? 4 : words / 3;
            stored.bytes = volume * 8 * words * size;
            stored.data = room_for(stored.bytes);
            rebuilt.bytes = volume * 72 * size;
            rebuilt.data = room_for(rebuilt.bytes);
            const int refused = p == LFR_F64 ? lfr_store_links_f64(extents, &links, 0, u->data, stored.data)
                                             : lfr_store_links_f32(extents, &links, p == LFR_HALF, u->data, stored.data);
            for (size_t k = 0; k < volume * 8 && !refused; k++) {
                const lfr_link_f32 narrow = p == LFR_F64 ? (lfr_link_f32){0} : lfr_load_link_f32(extents, &links, stored.data, k / 8, (int)(k % 8));
                const lfr_link_f64 wide = p == LFR_F64 ? lfr_load_link_f64(extents, &links, stored.data, k / 8, (int)(k % 8)) : (lfr_link_f64){0};
                memcpy((char *)rebuilt.data + k * 9 * size, p == LFR_F64 ? (const void *)&wide : (const void *)&narrow, 9 * size);
            }
            sprintf(name, "stages/links/doubled.%s-r%d.npy", precisions[p], reals[r]);
            int failed = refused || join(path, directory, name, strlen(name)) != 0 || write_array(path, &stored) != 0;
            sprintf(name, "stages/links/rebuilt.%s-r%d.npy", precisions[p], reals[r]);
            failed = failed || (reals[r] != 18 && (join(path, directory, name, strlen(name)) != 0 || write_array(path, &rebuilt) != 0));
            if (p == LFR_HALF && !failed)
                failed = write_fractions(directory, name, reals[r], &stored);
            free(stored.data);
            free(rebuilt.data);
            if (failed)
                return -1;
        }
        if (p == LFR_HALF)
            continue;
        array strength = a;
        a.bytes = volume * 36 * size;
        a.data = room_for(a.bytes);
        strength.shape[4] = 6;
        strength.bytes = volume * 54 * size;
        strength.data = room_for(strength.bytes);
        if (p == LFR_F64) {
            lfr_raw_links_f64(extents, phases, u->data, a.data);
            lfr_field_strength_f64(extents, a.data, strength.data);
        } else {
            lfr_raw_links_f32(extents, phases, u->data, a.data);
            lfr_field_strength_f32(extents, a.data, strength.data);
        }
        sprintf(name, "stages/links/raw.%s.npy", precisions[p]);
        int failed = join(path, directory, name, strlen(name)) != 0 || write_array(path, &a) != 0;
        sprintf(name, "stages/clover/strength.%s.npy", precisions[p]);
        failed = failed || join(path, directory, name, strlen(name)) != 0 || write_array(path, &strength) != 0;
        free(a.data);
        free(strength.data);
        if (failed)
            return -1;
    }
    return 0;
}

static int golden(const char *from, const char *to)
{
    static char text[65536];
    static golden_case of;
    char path[PATH_LENGTH];
    array u;
    int done = 0, unknown = 0, phases[4] = {1, 1, 1, 1}, has_phases = 0;
    case_line line;
    if (strcmp(from, to) == 0) {
        fprintf(stderr, "%s holds the golden data: name another directory for the results\n", to);
        return 2;
    }
    if (join(path, from, "configuration.npy", strlen("configuration.npy")) != 0 || read_array(path, &u) != 0)
        return 2;
    if (u.axes != 7 || strcmp(u.type, "<c16") != 0) {
        fprintf(stderr, "%s is no complex128 array (T, Z, Y, X, 4, 3, 3)\n", path);
        return 2;
    }
    const int extents[4] = {(int)u.shape[3], (int)u.shape[2], (int)u.shape[1], (int)u.shape[0]};
    if (join(path, from, "cases.tsv", strlen("cases.tsv")) != 0)
        return 2;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 2;
    }
    while (fgets(text, sizeof text, file) != NULL) {
        cut_line(text, &line);
        if (line.count == 0)
            continue;
        const char *name = value_of(&line, "kernel"), *boundary = value_of(&line, "boundary");
        has_phases = has_phases || (boundary != NULL && read_phases(boundary, phases));
        if (name != NULL && !lfr_has_kernel(name)) {
            fprintf(stderr, "left out: %s: no such kernel here\n", name);
            unknown++;
            continue;
        }
        const char *refused = "its files cannot be read";
        if (read_case(from, &line, extents, &of) == 0)
            refused = lfr_run_kernel(&of.call);
        if (refused == NULL && write_case(to, &line, &of) != 0)
            refused = "its results cannot be written";
        const int dagger = name != NULL && strcmp(name, "hop_dagger") == 0;
        if (refused == NULL && (dagger || strcmp(name, "hop") == 0) && of.call.links.reconstruct == 18 && of.call.sites == LFR_FULL &&
            find_field(&of.call, "in")->precision != LFR_HALF && write_steps_of_hop(to, &of, dagger) != 0)
            refused = "the steps of its legs cannot be written";
        free_case(&of);
        if (refused != NULL) {
            fprintf(stderr, "%s: %s\n", value_of(&line, "case") == NULL ? "a case without a name" : value_of(&line, "case"), refused);
            fclose(file);
            return 1;
        }
        done++;
    }
    fclose(file);
    const int failed = has_phases && write_stages(to, extents, phases, &u) != 0;
    free(u.data);
    printf("%d cases written to %s, %d of unknown kernels left out\n", done, to, unknown);
    return failed || unknown > 0;
}

/* --------------------------------------------------------------- Self-test ------------------------------------------------------------- */

static int failures;

static void expect(int holds, const char *what)
{
    printf("%s  %s\n", holds ? "ok    " : "FAILED", what);
    failures += !holds;
}

/* Links in SU(3): random rows, made orthonormal. No bits are claimed of them. */
static void random_links(const int extents[4], lfr_complex_f64 *u)
{
    for (size_t k = 0; k < lfr_volume(extents) * 4; k++) {
        lfr_complex_f64 *a = u + 9 * k, *b = a + 3, *c = a + 6;
        for (uint32_t w = 0; w < 6; w++) {
            a[w].re = lfr_uniform(1, 4, k, 2 * w) - 0.5;
            a[w].im = lfr_uniform(1, 4, k, 2 * w + 1) - 0.5;
        }
        for (int row = 0; row < 2; row++) {
            lfr_complex_f64 overlap = {0, 0};
            double norm = 0;
            for (int j = 0; j < 3; j++) {
                overlap.re += a[j].re * b[j].re + a[j].im * b[j].im;
                overlap.im += a[j].re * b[j].im - a[j].im * b[j].re;
            }
            lfr_complex_f64 *of = row == 0 ? a : b;
            for (int j = 0; j < 3 && row == 1; j++) {
                b[j].re -= a[j].re * overlap.re - a[j].im * overlap.im;
                b[j].im -= a[j].re * overlap.im + a[j].im * overlap.re;
            }
            for (int j = 0; j < 3; j++)
                norm += of[j].re * of[j].re + of[j].im * of[j].im;
            /* Newton's square root: this file has none other. */
            double root = 1;
            for (int n = 0; n < 60; n++)
                root = 0.5 * (root + norm / root);
            for (int j = 0; j < 3; j++) {
                of[j].re /= root;
                of[j].im /= root;
            }
        }
        for (int i = 0; i < 3; i++) {
            const int j = (i + 1) % 3, l = (i + 2) % 3;
            c[i].re = (a[j].re * b[l].re - a[j].im * b[l].im) - (a[l].re * b[j].re - a[l].im * b[j].im);
            c[i].im = -((a[j].re * b[l].im + a[j].im * b[l].re) - (a[l].re * b[j].im + a[l].im * b[j].re));
        }
    }
}

static double distance(const lfr_shape *shape, const lfr_complex_f64 *x, lfr_complex_f64 *y)
{
    lfr_axpy_f64(shape, -1, x, y);
    return lfr_norm2_f64(shape, y, NULL);
}

static void test_operator(const char *name, lfr_parameters parameters, int reconstruct)
{
    const int extents[4] = {4, 2, 2, 4};
    lfr_links links = {{1, 1, 1, -1}, {0}, reconstruct};
    lfr_operator_f64 fermion;
    char what[128];
    lfr_complex_f64 *u = room_for(lfr_volume(extents) * 36 * sizeof *u);
    memcpy(links.legs, lfr_default_legs, sizeof links.legs);
    random_links(extents, u);
    expect(lfr_make_operator_f64(&fermion, extents, &links, &parameters, 0, u) == 0, name);
    const lfr_shape *shape = &fermion.shape;
    const size_t words = lfr_field_words(shape);
    lfr_complex_f64 *x = room_for(words * sizeof *x), *y = room_for(words * sizeof *y), *mx = room_for(words * sizeof *x),
                    *my = room_for(words * sizeof *y);
    for (size_t k = 0; k < words; k++) {
        x[k].re = lfr_uniform(2, 4, k, 0) - 0.5;
        x[k].im = lfr_uniform(2, 4, k, 1) - 0.5;
        y[k].re = lfr_uniform(3, 4, k, 0) - 0.5;
        y[k].im = lfr_uniform(3, 4, k, 1) - 0.5;
    }
    lfr_apply_f64(&fermion, 0, x, mx);
    lfr_apply_f64(&fermion, 1, y, my);
    const lfr_complex_f64 left = lfr_inner_f64(shape, y, mx, NULL), right = lfr_inner_f64(shape, my, x, NULL);
    const double re = left.re - right.re, im = left.im - right.im;
    sprintf(what, "%s: <y, M x> = <M^dagger y, x>", name);
    expect(re * re + im * im < 1e-18 * lfr_norm2_f64(shape, mx, NULL), what);
    for (int even_odd = 0; even_odd < 2; even_odd++) {
        double history[500];
        lfr_solve_parameters asked = {1e-8, 499, 0, NULL, NULL, NULL};
        lfr_solve_report report = {history, 500, 0, 0, 0};
        lfr_solve_f64(&fermion, even_odd, x, my, &asked, &report);
        lfr_apply_f64(&fermion, 0, my, mx);
        sprintf(what, "%s: M psi = eta after %d iterations%s", name, report.iterations, even_odd ? ", even-odd" : "");
        expect(report.converged && distance(shape, x, mx) < 1e-10 * lfr_norm2_f64(shape, x, NULL), what);
    }
    lfr_free_operator_f64(&fermion);
    free(u);
    free(x);
    free(y);
    free(mx);
    free(my);
}

static int self_test(void)
{
    const double huge = 1.7976931348623157e308, terms[] = {1, 1e100, 1, -1e100, 5e-324}, zeros[] = {-0.0, -0.0};
    const double over[] = {huge, huge, -huge}, halves[] = {1, 1.1102230246251565e-16, 5e-324};
    uint32_t bits[4];
    const char *broken = lfr_check_compiler();
    expect(broken == NULL, broken == NULL ? "the compiler keeps the rules" : broken);
    expect(lfr_sum_terms(terms, 5, NULL) == 2, "exact sums lose nothing");
    expect(1 / lfr_sum_terms(zeros, 2, NULL) < 0 && 1 / lfr_sum_terms(zeros, 0, NULL) > 0, "exact sums of -0, and of nothing");
    expect(lfr_sum_terms(over, 3, NULL) == huge && lfr_sum_terms(over, 2, NULL) > huge, "exact sums overflow at the end alone");
    expect(lfr_sum_terms(halves, 3, NULL) == 1 + 2.220446049250313e-16 && lfr_sum_terms(halves, 2, NULL) == 1, "exact sums round once");
    lfr_random_bits(0, 0, 0, 0, bits);
    expect(bits[0] == 0x6627e8d5u && bits[1] == 0xe169c58du && bits[2] == 0xbc57ac4cu && bits[3] == 0x9b00dbd8u,
           "Philox4x32-10 of zeros, as its authors print it");
    const lfr_parameters base = {LFR_WILSON, 0.5, 0.3, 1.1, 0.9, 1.8, 1.5, 0.5, 4, 0, 2};
    const char *names[] = {"wilson", "twisted mass", "clover", "moebius", "laplacian", "staggered"};
    for (int kind = 0; kind < 6; kind++) {
        lfr_parameters parameters = base;
        parameters.kind = kind;
        test_operator(names[kind], parameters, kind % 3 == 0 ? 18 : kind % 3 == 1 ? 12 : 8);
    }
    printf("%d failed\n", failures);
    return failures > 0;
}

int main(int count, char **words)
{
    if (count == 4 && strcmp(words[1], "golden") == 0) {
        const char *broken = lfr_check_compiler();
        if (broken != NULL) {
            fprintf(stderr, "%s\n", broken);
            return 3;
        }
        return golden(words[2], words[3]);
    }
    if (count == 2 && strcmp(words[1], "self-test") == 0)
        return self_test();
    if (count == 2 && strcmp(words[1], "check-compiler") == 0) {
        const char *broken = lfr_check_compiler();
        puts(broken == NULL ? "the compiler keeps the rules" : broken);
        return broken != NULL;
    }
    fprintf(stderr, "usage: %s golden DIR OUT | self-test | check-compiler\n", words[0]);
    return 2;
}

#endif /* LFR_NO_MAIN */

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

/* The steps of section 6 for each leg of a site: h0 and h1, w0 and w1, and the four rows. Called for golden data alone. */
#ifndef LFR_NO_MAIN
static void LFR(steps_of_hop)(const lfr_call *call, int dagger, COMPLEX *projected, COMPLEX *transported, COMPLEX *legs)
{
    const lfr_shape shape = shape_of(call, target_of(call));
    const size_t volume = lfr_volume(shape.extents);
    const COMPLEX *in = LFR(field)(call, "in");
    COMPLEX *rows = malloc(volume * 12 * sizeof *rows);
    for (size_t leg = 0; leg < 8 && rows != NULL; leg++) {
        LFR(leg)(LFR_WILSON_HOP, &call->links, &shape, LFR(field)(call, "links"), in, dagger, (int)leg, rows);
        for (size_t site = 0; site < volume; site++) {
            const size_t at = site * 8 + leg;
            LFR(spinor) psi;
            memcpy(&psi, in + lfr_neighbour(shape.extents, site, (int)leg) * 12, sizeof psi);
            const LFR(half_spinor) h = LFR(project)((int)leg % 4, (leg >= 4) != (dagger != 0), psi);
            memcpy(projected + at * 6, &h, sizeof h);
            memcpy(transported + at * 6, rows + site * 12, sizeof h);
            memcpy(legs + at * 12, rows + site * 12, sizeof psi);
        }
    }
    free(rows);
}
#endif

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
