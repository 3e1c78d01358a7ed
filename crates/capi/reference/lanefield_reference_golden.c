/*
 * The kernels of Lanefield by name, and the program
 *
 *     lanefield_reference golden DIR OUT     computes every case and stage of golden data (lanefield golden export DIR) and writes the results to OUT
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
#include <stdarg.h>
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
    OE_STAGGERED, HISQ_FULL, EO_HISQ, OE_HISQ, TWISTED_MASS_FULL, EO_TWISTED_MASS, OE_TWISTED_MASS, TWISTED_MASS_APPLY, COPY, SCALE, AXPY, AXPY_NORM,
    AXPBY_NORM, COMPLEX_AXPY,
    COMPLEX_XPAY, CG_UPDATE, TAKE_RHS, PUT_RHS, RHS_PRODUCTS, RHS_AXPY_NORM, RHS_CG_UPDATE, RHS_GRAM, RHS_MADD, CONVERT, NORM2, INNER_PRODUCTS, SUM, SLICE_SUMS, UNKNOWN
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
    {"hisq_full", "out x links long_links psi", "a"},
    {"eo_hisq", "out links long_links psi", "a"},
    {"oe_hisq", "out x links long_links psi", "a"},
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
    {"rhs_gram", "x y", ""},
    {"rhs_madd", "y x", "m"},
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

#ifndef LFR_NO_MAIN

#include <sys/stat.h>

/* -------------------------------------------------------------- .npy files ------------------------------------------------------------- */

enum { MOST_AXES = 8, PATH_LENGTH = 1024 };

/* An array of a file: `<f4`, `<f8`, `<c8` or `<c16`, in C order; `<i2` and `<i8` are only written. */
typedef struct {
    char type[8];
    int axes;
    size_t shape[MOST_AXES];
    size_t bytes;
    void *data;
} array;

static size_t size_of_type(const char *type)
{
    return strcmp(type, "<i2") == 0 ? 2 : strcmp(type, "<f4") == 0 ? 4 : strcmp(type, "<c16") == 0 ? 16 : 8;
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

/* An array of zeros; whoever makes it frees its data. */
static array new_array(const char *type, int axes, const size_t *shape)
{
    array a;
    memset(&a, 0, sizeof a);
    strcpy(a.type, type);
    a.axes = axes;
    memcpy(a.shape, shape, (size_t)axes * sizeof *shape);
    a.bytes = length_of(&a) * size_of_type(type);
    a.data = room_for(a.bytes);
    return a;
}

/* One whose axes are `before`, T, Z, Y, X, `first`, `second`, `third`, of which those that are 0 are left out. */
static array lattice_array(const char *type, const int extents[4], size_t before, size_t first, size_t second, size_t third)
{
    const size_t axes[MOST_AXES] = {before, (size_t)extents[3], (size_t)extents[2], (size_t)extents[1], (size_t)extents[0], first, second, third};
    size_t shape[MOST_AXES];
    int count = 0;
    for (int k = 0; k < MOST_AXES; k++)
        if (axes[k] != 0)
            shape[count++] = axes[k];
    return new_array(type, count, shape);
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
        a->data = NULL;
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

/* Opens a file that is not there yet. NULL with a message where that does not succeed. */
static FILE *open_new(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file != NULL) {
        fprintf(stderr, "%s is there already: name an empty directory\n", path);
        fclose(file);
        return NULL;
    }
    make_folders(path);
    file = fopen(path, "wb");
    if (file == NULL)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return file;
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

    FILE *file = open_new(path);
    if (file == NULL)
        return -1;
    const int written = fwrite(header, 1, length, file) == length && fwrite(a->data, 1, a->bytes, file) == a->bytes;
    if (fclose(file) != 0 || !written) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    return 0;
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

/* All of a file as text. NULL with a message where it cannot be read. */
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t room = 65536, length = 0;
    char *text = room_for(room);
    while (file != NULL && (length += fread(text + length, 1, room - 1 - length, file)) == room - 1) {
        char *more = room_for(2 * room);
        memcpy(more, text, length);
        free(text);
        text = more;
        room *= 2;
    }
    if (file == NULL || ferror(file)) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        free(text);
        text = NULL;
    }
    if (file != NULL)
        fclose(file);
    return text;
}

/* -------------------------------------------------- Section 18: digests and records --------------------------------------------------- */

/* SHA-256 (FIPS 180-4) of bytes as they come. */
typedef struct {
    uint32_t state[8];
    unsigned char block[64];
    uint64_t length;
} sha256;

static void sha256_start(sha256 *sha)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sha->state, start, sizeof start);
    sha->length = 0;
}

static uint32_t rotated(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void sha256_block(sha256 *sha)
{
    static const uint32_t constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
        0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
        0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
        0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
        0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
        0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64], a[8];
    for (int i = 0; i < 16; i++) {
        const unsigned char *byte = sha->block + 4 * i;
        w[i] = (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 | byte[3];
    }
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (rotated(w[i - 15], 7) ^ rotated(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (rotated(w[i - 2], 17) ^ rotated(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(a, sha->state, sizeof a);
    for (int i = 0; i < 64; i++) {
        const uint32_t one = a[7] + (rotated(a[4], 6) ^ rotated(a[4], 11) ^ rotated(a[4], 25)) + ((a[4] & a[5]) ^ (~a[4] & a[6])) + constants[i] + w[i];
        const uint32_t two = (rotated(a[0], 2) ^ rotated(a[0], 13) ^ rotated(a[0], 22)) + ((a[0] & a[1]) ^ (a[0] & a[2]) ^ (a[1] & a[2]));
        memmove(a + 1, a, 7 * sizeof *a);
        a[4] += one;
        a[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        sha->state[i] += a[i];
}

static void sha256_add(sha256 *sha, const void *bytes, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        sha->block[sha->length++ % 64] = ((const unsigned char *)bytes)[k];
        if (sha->length % 64 == 0)
            sha256_block(sha);
    }
}

/* The 64 hex digits of the bytes so far; more may follow. */
static void sha256_digits(const sha256 *sha, char digits[65])
{
    sha256 end = *sha;
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(8 * sha->length >> (56 - 8 * i));
    sha256_add(&end, "\x80", 1);
    while (end.length % 64 != 56)
        sha256_add(&end, "", 1);
    sha256_add(&end, length, 8);
    for (int i = 0; i < 8; i++)
        sprintf(digits + 8 * i, "%08lx", (unsigned long)end.state[i]);
}

/* Whether a site is one of those: LFR_FULL, LFR_EVEN or LFR_ODD. */
static int is_among(const int extents[4], int sites, size_t site)
{
    size_t sum = 0;
    for (int d = 0; d < 4; d++) {
        sum += site % (size_t)extents[d];
        site /= (size_t)extents[d];
    }
    return sites == LFR_FULL || sum % 2 == (sites == LFR_ODD);
}

/* The digest of the complex numbers of a field of one part, floats or doubles, on the sites of its shape. */
static void digest(const lfr_shape *shape, const void *field, int wide, char digits[65])
{
    const size_t reals = 2 * (size_t)shape->words;
    sha256 sha;
    sha256_start(&sha);
    for (size_t site = 0; site < lfr_volume(shape->extents); site++)
        for (size_t k = site * reals; k < (site + 1) * reals && is_among(shape->extents, shape->sites, site); k++) {
            const double number = wide ? ((const double *)field)[k] : ((const float *)field)[k];
            uint64_t bits;
            unsigned char bytes[8];
            memcpy(&bits, &number, sizeof bits);
            for (int i = 0; i < 8; i++)
                bytes[i] = (unsigned char)(bits >> (8 * i));
            sha256_add(&sha, bytes, 8);
        }
    sha256_digits(&sha, digits);
}

/* Ends a line of a record with its check. The line is given up to the comma before that; so_far has what was given of all lines before. */
static void check_line(sha256 *so_far, char *line)
{
    char digits[65];
    sha256_add(so_far, line, strlen(line));
    sha256_digits(so_far, digits);
    sprintf(line + strlen(line), ",\"check\":\"%.16s\"}\n", digits);
}

/* --------------------------------------------------------------- Stages ---------------------------------------------------------------- */

/* What stages are made from, and where they go. */
typedef struct {
    const char *from, *to;
    char *manifest;      /* the text of manifest.json */
    int extents[4];
    lfr_links links;     /* the boundary, the order of the legs, and 18 reals */
    array configuration; /* the links U */
    int files;           /* written so far */
    int failed;
} golden_data;

/* The value of the next member of this name, from a place in a text of JSON on. NULL where there is none. */
static const char *value_of_member(const char *text, const char *name)
{
    char quoted[64];
    sprintf(quoted, "\"%.60s\"", name);
    while (text != NULL && (text = strstr(text, quoted)) != NULL) {
        text += strlen(quoted);
        text += strspn(text, " \t\r\n");
        if (*text == ':')
            return text + 1 + strspn(text + 1, " \t\r\n");
    }
    return NULL;
}

/* What stands between the quotes of a value; 0 where it is no string, or a longer one. */
static int string_of_value(const char *value, char *string, size_t room)
{
    const size_t length = value != NULL && *value == '"' ? strcspn(value + 1, "\"") : room;
    if (length >= room)
        return 0;
    memcpy(string, value + 1, length);
    string[length] = 0;
    return 1;
}

enum { PARAMETER_LENGTH = 256 };

/* A parameter of a stage, as text. 0 where there is none: so of a stage that there is not. */
static int parameter_of_stage(const golden_data *data, const char *stage, const char *name, char parameter[PARAMETER_LENGTH])
{
    char found[PARAMETER_LENGTH];
    for (const char *at = data->manifest; (at = value_of_member(at, "stage")) != NULL;)
        if (string_of_value(at, found, sizeof found) && strcmp(found, stage) == 0) {
            const char *parameters = value_of_member(at, "parameters"), *value = value_of_member(parameters, name);
            return value != NULL && value < strchr(parameters, '}') && string_of_value(value, parameter, PARAMETER_LENGTH);
        }
    return 0;
}

static double number_of_stage(golden_data *data, const char *stage, const char *name)
{
    char parameter[PARAMETER_LENGTH];
    if (parameter_of_stage(data, stage, name, parameter))
        return strtod(parameter, NULL);
    fprintf(stderr, "manifest.json: stage %s has no parameter %s\n", stage, name);
    data->failed = 1;
    return 0;
}

/* Reads a field of so many complex numbers a site. 0 with a message where that does not succeed. */
static int read_field(golden_data *data, const char *name, const char *type, int words, array *a)
{
    char path[PATH_LENGTH];
    if (join(path, data->from, name, strlen(name)) == 0 && read_array(path, a) == 0) {
        if (strcmp(a->type, type) == 0 && length_of(a) == lfr_volume(data->extents) * (size_t)words)
            return 1;
        fprintf(stderr, "%s does not hold %d numbers %s for each site\n", path, words, type);
        free(a->data);
    }
    data->failed = 1;
    return 0;
}

/* The same of a file that is a parameter of a stage. 0 also where there is no such parameter. */
static int read_file_of_stage(golden_data *data, const char *stage, const char *name, const char *type, int words, array *a)
{
    char parameter[PARAMETER_LENGTH];
    return parameter_of_stage(data, stage, name, parameter) && read_field(data, parameter, type, words, a);
}

/* The path of a file of a stage, where the golden data have this file; 0 elsewhere. */
static int path_in_stages(const golden_data *data, const char *name, char path[PATH_LENGTH])
{
    char quoted[PATH_LENGTH];
    return snprintf(quoted, sizeof quoted, "\"stages/%s\"", name) < PATH_LENGTH && strstr(data->manifest, quoted) != NULL &&
           snprintf(path, PATH_LENGTH, "%s/stages/%s", data->to, name) < PATH_LENGTH;
}

/* How many files of stages the golden data have: members of the list of all files, where a path stands before a colon. */
static int files_of_stages(const char *manifest)
{
    int count = 0;
    for (const char *at = manifest; (at = strstr(at, "\"stages/")) != NULL;) {
        at += strcspn(at + 1, "\"") + 1;
        count += at[strspn(at, "\" \t\r\n")] == ':';
    }
    return count;
}

/* Writes an array to stages/NAME.npy where the golden data have this file. The name is put together as printf does. */
static void put_array(golden_data *data, const array *a, const char *format, ...)
{
    char name[PATH_LENGTH], path[PATH_LENGTH];
    va_list names;
    va_start(names, format);
    const int length = vsnprintf(name, sizeof name - 4, format, names);
    va_end(names);
    if (length < 0 || length >= (int)sizeof name - 4) {
        fprintf(stderr, "%s: too long a name\n", format);
        data->failed = 1;
        return;
    }
    strcpy(name + length, ".npy");
    if (!path_in_stages(data, name, path))
        return;
    data->failed |= write_array(path, a) != 0;
    data->files++;
}

static lfr_shape shape_of_stage(const golden_data *data, int sites, int parts, int words)
{
    lfr_shape shape = {{data->extents[0], data->extents[1], data->extents[2], data->extents[3]}, LFR_FULL, 1, 1, 0};
    shape.sites = sites;
    shape.parts = parts;
    shape.words = words;
    return shape;
}

/* The fractions of a field of floats, with an axis for re and im at the end, and the step of each of its parts: as many words, one after the other. */
static void put_fractions(golden_data *data, const array *a, int words, const char *name)
{
    const size_t parts = length_of(a) / (size_t)words, of_site = parts / lfr_volume(data->extents);
    array fractions = *a, steps = lattice_array("<f4", data->extents, 0, of_site > 1 ? of_site : 0, 0, 0);
    fractions.shape[fractions.axes++] = 2;
    fractions = new_array("<i2", fractions.axes, fractions.shape);
    for (size_t part = 0; part < parts; part++) {
        const lfr_complex_f32 *first = (const lfr_complex_f32 *)a->data + part * (size_t)words;
        ((float *)steps.data)[part] = lfr_half_step_f32(first, words);
        lfr_half_fractions_f32(first, words, (int16_t *)fractions.data + 2 * part * (size_t)words);
    }
    put_array(data, &fractions, "%s.fractions", name);
    put_array(data, &steps, "%s.steps", name);
    free(fractions.data);
    free(steps.data);
}

/* The sums of some lists of terms, a list for each row; terms of trees in site order. */
static void put_sums(golden_data *data, const char *name, double *const *lists, size_t count)
{
    lfr_tree tree = {0, 0, 0, {1, 1, 1, 1}};
    tree.threads = (int)number_of_stage(data, "sums", "plan_threads");
    tree.blocks = (int)number_of_stage(data, "sums", "plan_blocks");
    tree.warp = (int)number_of_stage(data, "sums", "plan_warp");
    if (tree.threads < 1 || tree.blocks < 1 || tree.warp < 1 || tree.threads % tree.warp != 0) {
        fprintf(stderr, "manifest.json: the plan of stage sums is none\n");
        data->failed = 1;
        return;
    }
    const size_t volume = lfr_volume(data->extents), of_blocks = (size_t)tree.blocks;
    array blocks = new_array("<f8", 2, (const size_t[]){count, of_blocks}), sums = new_array("<f8", 1, &count);
    array words = new_array("<i8", 2, (const size_t[]){count, LFR_EXACT_WORDS}), exact = new_array("<f8", 1, &count);
    for (size_t k = 0; k < count; k++) {
        lfr_exact_sum sum;
        lfr_exact_start(&sum);
        for (size_t site = 0; site < volume; site++)
            lfr_exact_add(&sum, lists[k][site]);
        lfr_exact_words(&sum, (int64_t *)words.data + k * LFR_EXACT_WORDS);
        ((double *)exact.data)[k] = lfr_exact_round(&sum);
        lfr_tree_blocks(lists[k], volume, &tree, (double *)blocks.data + k * of_blocks);
        ((double *)sums.data)[k] = lfr_sum_terms(lists[k], volume, &tree);
    }
    put_array(data, &blocks, "sums/%s.blocks", name);
    put_array(data, &sums, "sums/%s.tree", name);
    put_array(data, &words, "sums/%s.words", name);
    put_array(data, &exact, "sums/%s.exact", name);
    free(blocks.data);
    free(sums.data);
    free(words.data);
    free(exact.data);
}

/* Section 14: the rings of an operator in the order of lfr_operator_f64: Din, T, Mooee. */
static const char *const names_of_rings[3] = {"din", "walls", "mooee"};

/* A solve that is written down while it goes on. */
typedef struct {
    golden_data *data;
    const char *stage; /* cg/f32 or cg/f64 */
    FILE *record;      /* NULL where the golden data have none */
    sha256 lines;      /* of the record, so far */
    double *scalars;   /* four of an iteration */
    int room;          /* iterations for which there is room */
} watched_solve;

/* Adds a line to the record, given without its check. */
static void put_line(watched_solve *solve, const char *format, ...)
{
    char line[2048];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line - 64, format, values);
    va_end(values);
    check_line(&solve->lines, line);
    if (solve->record != NULL)
        fputs(line, solve->record);
}

/* The line of a sum over sites. */
static void put_line_of_sum(watched_solve *solve, int iteration, const char *quantity, double sum)
{
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    put_line(solve, "{\"iteration\":%d,\"rhs\":0,\"quantity\":\"%s\",\"bits\":\"%08lx%08lx\"", iteration, quantity, (unsigned long)(bits >> 32),
             (unsigned long)(bits & 0xffffffffu));
}

/* Opens the record, and writes its first line: of what solve it is. Of the identity `configuration` is left out, since it needs the plaquette; the last line
 * has the digest of the links. */
static void start_record(watched_solve *solve, const char *precision)
{
    golden_data *data = solve->data;
    const int *phases = data->links.phases, *legs = data->links.legs;
    char mass[PARAMETER_LENGTH] = "", source[PARAMETER_LENGTH] = "", tolerance[PARAMETER_LENGTH] = "", order[17] = "";
    char name[64], path[PATH_LENGTH];
    parameter_of_stage(data, solve->stage, "mass", mass);
    parameter_of_stage(data, solve->stage, "source", source);
    parameter_of_stage(data, solve->stage, "tolerance", tolerance);
    for (int k = 0; k < 8; k++)
        sprintf(order + 2 * k, "%c%c", legs[k] < 4 ? '+' : '-', "xyzt"[legs[k] % 4]);
    sprintf(name, "%s/record.jsonl", solve->stage);
    if (path_in_stages(data, name, path)) {
        solve->record = open_new(path);
        data->failed |= solve->record == NULL;
        data->files++;
    }
    sha256_start(&solve->lines);
    put_line(solve,
             "{\"format\":\"lanefield record\",\"version\":2,\"every\":1,\"identity\":[[\"operator\",\"wilson, mass %s\"],"
             "[\"boundary\",\"%d,%d,%d,%d\"],[\"links\",\"18\"],[\"legs\",\"%s\"],[\"source\",\"%s\"],[\"precision\",\"%s\"],"
             "[\"solver\",\"cg\"],[\"preconditioning\",\"even-odd\"],[\"tolerance\",\"%s\"],[\"sum\",\"exact\"]]",
             mass, phases[0], phases[1], phases[2], phases[3], order, source, precision, tolerance);
}

static void end_record(watched_solve *solve)
{
    if (solve->record == NULL)
        return;
    const int not_written = ferror(solve->record);
    if (fclose(solve->record) != 0 || not_written) {
        fprintf(stderr, "%s/stages/%s/record.jsonl: %s\n", solve->data->to, solve->stage, strerror(errno));
        solve->data->failed = 1;
    }
}

/* Keeps the scalars of the iteration that is over, and writes the lines of its sums. */
static void put_scalars(watched_solve *solve, const lfr_iteration *now)
{
    const double scalars[4] = {now->p_a_p, now->a, now->squared_residual, now->beta};
    if (now->iterations > solve->room) {
        const size_t kept = 4 * (size_t)solve->room * sizeof *scalars;
        double *more = room_for(2 * kept + sizeof scalars);
        if (kept > 0)
            memcpy(more, solve->scalars, kept);
        free(solve->scalars);
        solve->scalars = more;
        solve->room = 2 * solve->room + 1;
    }
    memcpy(solve->scalars + 4 * (now->iterations - 1), scalars, sizeof scalars);
    put_line_of_sum(solve, now->iterations - 1, "<p, A p>", now->p_a_p);
    put_line_of_sum(solve, now->iterations - 1, "|r|\xc2\xb2", now->squared_residual); /* a superscript 2, in UTF-8 */
}

#endif /* LFR_NO_MAIN */

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

/* ---------------------------------------------------------- Lines of cases.tsv --------------------------------------------------------- */

enum { MOST_KEYS = 64, MOST_FIELDS = 16, MOST_NUMBERS = 256 };

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
    const char *others[] = {"links", "long_links", "blocks", "strength", "term", "pivots"};
    for (int k = 0; k < 6; k++)
        if (strcmp(name, others[k]) == 0)
            return OTHERS;
    if (strcmp(name, "out") == 0 && (strcmp(kernel, "field_strength") == 0 || strncmp(kernel, "clover_term", 11) == 0 ||
                                     strcmp(kernel, "clover_inverse") == 0))
        return OTHERS;
    return strstr(kernel, "laplace") != NULL || strstr(kernel, "staggered") != NULL || strstr(kernel, "hisq") != NULL ? VECTORS : SPINORS;
}

/* All that a case holds. */
typedef struct {
    lfr_call call;
    lfr_named_field fields[MOST_FIELDS];
    array arrays[MOST_FIELDS];
    lfr_named_numbers numbers[MOST_KEYS];
    double values[MOST_KEYS][MOST_NUMBERS];
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
    const int kind = kind_of(of->call.kernel, name), parts = number_of(line, "parts", 1), *extents = of->call.extents;
    const char *type = strcmp(precision, "f64") == 0 ? "<c16" : "<c8";
    array a;
    if (kind == SPINORS)
        a = lattice_array(type, extents, parts > 1 ? (size_t)parts : 0, 4, 3, 0);
    else if (kind == VECTORS)
        a = lattice_array(type, extents, 0, (size_t)parts, 3, 0);
    else if (strcmp(of->call.kernel, "field_strength") == 0)
        a = lattice_array(type, extents, 0, 6, 3, 3);
    else if (strcmp(name, "out") == 0)
        a = lattice_array(type, extents, 0, 2, 18, 0);
    else
        a = lattice_array(type, extents, 0, 0, 0, 0);
    return add_field(of, name, a, strcmp(precision, "half") == 0);
}

/* Numbers: 16 hex digits of doubles, or whole numbers. */
static void add_numbers(golden_case *of, const char *name, const char *list, int are_bits)
{
    const int k = of->call.number_count;
    int count = 0;
    for (; *list != 0 && count < MOST_NUMBERS && k < MOST_KEYS; count++) {
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
    for (size_t site = 0; site < volume; site++)
        for (size_t part = 0; part < (size_t)field->parts && !is_among(call->extents, call->sites, site); part++)
            memset((char *)field->data + (part * volume + site) * bytes, 0, bytes);
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

/* Section 12: a spinor before it is rounded. */
static void half_stage(golden_data *data)
{
    array a;
    if (!read_file_of_stage(data, "half", "before", "<c8", 12, &a))
        return;
    put_fractions(data, &a, 12, "half/spinor");
    free(a.data);
}

/* Section 14: the coefficients of one kind of operator, then products with them. */
static void along_s_stage(golden_data *data, const char *stage)
{
    char parameter[PARAMETER_LENGTH];
    lfr_operator_f64 fermion;
    lfr_parameters parameters = {LFR_DOMAIN_WALL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    if (!parameter_of_stage(data, stage, "ls", parameter))
        return;
    parameters.ls = atoi(parameter);
    if (parameters.ls < 1) {
        fprintf(stderr, "manifest.json: stage %s has ls %s\n", stage, parameter);
        data->failed = 1;
        return;
    }
    parameters.mass = number_of_stage(data, stage, "mass");
    parameters.m5 = number_of_stage(data, stage, "m5");
    parameters.b = number_of_stage(data, stage, "b");
    parameters.c = number_of_stage(data, stage, "c");
    lfr_make_operator_f64(&fermion, data->extents, &data->links, &parameters, 0, data->configuration.data);
    const lfr_ring *rings[3] = {&fermion.input, &fermion.along, &fermion.diagonal};
    const size_t ls = (size_t)parameters.ls, of_ring[2] = {3, ls}, of_sweep[3] = {2, 3, ls}, of_dense[3] = {2, ls, ls};
    for (int k = fermion.input_is_identity; k < 3; k++)
        for (int dagger = 0; dagger < 2; dagger++) {
            array ring = new_array("<f8", 2, of_ring);
            double *row = ring.data;
            for (size_t s = 0; s < ls; s++) {
                row[s] = rings[k]->d[s];
                row[ls + s] = rings[k]->p[dagger ? (s + 1) % ls : s];
                row[2 * ls + s] = rings[k]->m[dagger ? (s + ls - 1) % ls : s];
            }
            put_array(data, &ring, "%s/%s%s.tridiagonal", stage, names_of_rings[k], dagger ? "_dagger" : "");
            free(ring.data);
        }
    for (int dagger = 0; dagger < 2; dagger++) {
        array sweep = new_array("<f8", 3, of_sweep), dense = new_array("<f8", 3, of_dense);
        for (size_t chirality = 0; chirality < 2; chirality++) {
            double *row = (double *)sweep.data + 3 * ls * chirality;
            memcpy(row, fermion.inverse_sweep[dagger].c[chirality], ls * sizeof *row);
            memcpy(row + ls, fermion.inverse_sweep[dagger].t[chirality], ls * sizeof *row);
            memcpy(row + 2 * ls, fermion.inverse_sweep[dagger].r[chirality], ls * sizeof *row);
            memcpy((double *)dense.data + ls * ls * chirality, fermion.dense[dagger][chirality], ls * ls * sizeof *row);
        }
        put_array(data, &sweep, "%s/mooee%s.sweep", stage, dagger ? "_dagger" : "");
        put_array(data, &dense, "%s/mooee%s.dense", stage, dagger ? "_dagger" : "");
        free(sweep.data);
        free(dense.data);
    }
    lfr_free_operator_f64(&fermion);
    lfr_products_along_s_f32(data, stage, &parameters);
    lfr_products_along_s_f64(data, stage, &parameters);
}

/* All stages of which the manifest says. */
static void write_stages(golden_data *data)
{
    lfr_links_stage_f32(data, 0);
    lfr_links_stage_f32(data, 1);
    lfr_links_stage_f64(data, 0);
    lfr_hop_stage_f32(data);
    lfr_hop_stage_f64(data);
    lfr_clover_stage_f32(data);
    lfr_clover_stage_f64(data);
    along_s_stage(data, "along_s/shamir");
    along_s_stage(data, "along_s/mobius");
    half_stage(data);
    lfr_sums_stage_f32(data);
    lfr_sums_stage_f64(data);
    lfr_cg_stage_f32(data);
    lfr_cg_stage_f64(data);
}

/* Reads what stages are made from. 0, or -1 with a message. */
static int read_golden_data(const char *from, const char *to, golden_data *data)
{
    char path[PATH_LENGTH], boundary[PARAMETER_LENGTH], legs[PARAMETER_LENGTH];
    array *u = &data->configuration;
    memset(data, 0, sizeof *data);
    data->from = from;
    data->to = to;
    if (join(path, from, "configuration.npy", strlen("configuration.npy")) != 0 || read_array(path, u) != 0)
        return -1;
    if (u->axes != 7 || strcmp(u->type, "<c16") != 0 || u->shape[4] * u->shape[5] * u->shape[6] != 36) {
        fprintf(stderr, "%s is no complex128 array (T, Z, Y, X, 4, 3, 3)\n", path);
        return -1;
    }
    for (int d = 0; d < 4; d++)
        data->extents[d] = (int)u->shape[3 - d];
    if (join(path, from, "manifest.json", strlen("manifest.json")) != 0 || (data->manifest = read_text(path)) == NULL)
        return -1;
    /* The first members of these names are those of all cases and stages. */
    data->links.reconstruct = 18;
    if (!string_of_value(value_of_member(data->manifest, "boundary"), boundary, sizeof boundary) || !read_phases(boundary, data->links.phases) ||
        !string_of_value(value_of_member(data->manifest, "legs"), legs, sizeof legs) || !read_legs(legs, data->links.legs)) {
        fprintf(stderr, "%s: \"boundary\" or \"legs\" is not understood\n", path);
        return -1;
    }
    return 0;
}

static void free_golden_data(golden_data *data)
{
    free(data->manifest);
    free(data->configuration.data);
}

/* Computes the cases. 0, or what the program is to end with. */
static int write_cases(const golden_data *data, int *done, int *unknown)
{
    static char text[65536];
    static golden_case of;
    char path[PATH_LENGTH];
    case_line line;
    if (join(path, data->from, "cases.tsv", strlen("cases.tsv")) != 0)
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
        const char *name = value_of(&line, "kernel");
        if (name != NULL && !lfr_has_kernel(name)) {
            fprintf(stderr, "left out: %s: no such kernel here\n", name);
            ++*unknown;
            continue;
        }
        const char *refused = "its files cannot be read";
        if (read_case(data->from, &line, data->extents, &of) == 0)
            refused = lfr_run_kernel(&of.call);
        if (refused == NULL && write_case(data->to, &line, &of) != 0)
            refused = "its results cannot be written";
        free_case(&of);
        if (refused != NULL) {
            fprintf(stderr, "%s: %s\n", value_of(&line, "case") == NULL ? "a case without a name" : value_of(&line, "case"), refused);
            fclose(file);
            return 1;
        }
        ++*done;
    }
    fclose(file);
    return 0;
}

static int golden(const char *from, const char *to)
{
    golden_data data;
    int done = 0, unknown = 0, status = 2;
    if (strcmp(from, to) == 0) {
        fprintf(stderr, "%s holds the golden data: name another directory for the results\n", to);
        return 2;
    }
    if (read_golden_data(from, to, &data) == 0)
        status = write_cases(&data, &done, &unknown);
    if (status == 0) {
        write_stages(&data);
        const int left_out = files_of_stages(data.manifest) - data.files;
        printf("%d cases and %d files of stages written to %s; %d cases of unknown kernels and %d files left out\n", done, data.files, to, unknown, left_out);
        status = data.failed || unknown > 0 || left_out != 0;
    }
    free_golden_data(&data);
    return status;
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

/* What section 18 prints of three numbers and of two lines, and the words of an exact sum. */
static void test_digests(void)
{
    const lfr_shape one_site = {{1, 1, 1, 1}, LFR_FULL, 1, 3, 0};
    double x[6];
    char digits[65], first[256], second[256];
    int64_t words[LFR_EXACT_WORDS];
    lfr_exact_sum sum;
    sha256 lines;
    sha256_start(&lines);
    sha256_add(&lines, "abc", 3);
    sha256_digits(&lines, digits);
    expect(strcmp(digits, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") == 0, "SHA-256 of abc, as FIPS 180-4 prints it");
    for (int k = 0; k < 6; k++)
        x[k] = (37 * k % 101 - 50) / 17.0;
    digest(&one_site, x, 1, digits);
    expect(strcmp(digits, "5cfe3062a9880557c3bd43cefdd720cdcc02dfbaf561b965d7b5f42b145f66d2") == 0, "a digest of three numbers");
    sha256_start(&lines);
    strcpy(first, "{\"format\":\"lanefield record\",\"version\":2,\"every\":10,\"identity\":[[\"mass\",\"0.5\"]]");
    strcpy(second, "{\"iteration\":0,\"rhs\":0,\"quantity\":\"|r|\xc2\xb2\",\"bits\":\"3ff0000000000000\"");
    check_line(&lines, first);
    check_line(&lines, second);
    expect(strstr(first, "\"check\":\"87dc6476f111718b\"}") != NULL && strstr(second, "\"check\":\"4f16dbcb27eea9e4\"}") != NULL, "checks of lines");
    lfr_exact_start(&sum);
    lfr_exact_add(&sum, 5e-324);
    lfr_exact_add(&sum, -1e-323);
    lfr_exact_words(&sum, words);
    expect(words[0] == 0xffffffff && words[65] == 0xffffffff && words[66] == -1 && words[67] == 0 && words[70] == 1 && words[71] == 2,
           "words of an exact sum of -2^-1074");
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
    test_digests();
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
    if (kernel == RHS_GRAM || kernel == RHS_MADD) {
        const int of_x = find_field(call, "x")->parts / call->rhs_parts;
        const double *m = find_numbers(call, "m", 2 * of_x * count);
        if (kernel == RHS_MADD && m == NULL)
            return "there are fewer coefficients than pairs of right-hand sides";
        /* In half precision a multiply-add of all right-hand sides of x is rounded once. */
        lfr_shape unrounded = one;
        unrounded.half = 0;
        for (int j = 0; j < count; j++) {
            COMPLEX *y = LFR(field)(call, "y") + (size_t)j * of_rhs;
            for (int i = 0; i < of_x; i++) {
                const COMPLEX *x = LFR(field)(call, "x") + (size_t)i * of_rhs;
                if (kernel == RHS_GRAM) {
                    const lfr_complex_f64 product = LFR(inner)(&one, x, y, call->tree);
                    put_sum(call, product.re);
                    put_sum(call, product.im);
                } else {
                    const COMPLEX factor = {(REAL)m[2 * (i * count + j)], (REAL)m[2 * (i * count + j) + 1]};
                    LFR(complex_axpy)(&unrounded, factor, x, y);
                }
            }
            if (kernel == RHS_MADD)
                LFR(copy)(&one, y, y);
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
    case HISQ_FULL:
        LFR(hisq_plus_hop)(links, shape, LFR(scalar)(call, "a"), x, stored, LFR(field)(call, "long_links"), psi, out);
        break;
    case EO_HISQ:
        LFR(times_hisq_hop)(links, shape, LFR(scalar)(call, "a"), stored, LFR(field)(call, "long_links"), psi, out);
        break;
    case OE_HISQ:
        LFR(minus_hisq_hop)(links, shape, LFR(scalar)(call, "a"), x, stored, LFR(field)(call, "long_links"), psi, out);
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
    case RHS_GRAM:
    case RHS_MADD:
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

#ifndef LFR_NO_MAIN

/* --------------------------------------------------------------- Stages ---------------------------------------------------------------- */

#define WIDE (sizeof(REAL) == sizeof(double))
#define PRECISION (WIDE ? "f64" : "f32")
#define TYPE (WIDE ? "<c16" : "<c8")

/* Section 5: links as they are stored, and as kernels rebuild them. half: of half precision, which has no raw ones. */
static void LFR(links_stage)(golden_data *data, int half)
{
    const char *precision = half ? "half" : PRECISION;
    const int reals[] = {18, 12, 8};
    char name[64], path[PATH_LENGTH];
    sprintf(name, "links/doubled.%s-r18.npy", precision);
    if (!path_in_stages(data, name, path))
        return;
    for (int r = 0; r < 3; r++) {
        const size_t words = (size_t)lfr_link_words(reals[r]);
        array stored = lattice_array(TYPE, data->extents, 0, 8, words == 4 ? 4 : words / 3, words == 4 ? 0 : 3);
        array rebuilt = lattice_array(TYPE, data->extents, 0, 8, 3, 3);
        lfr_links links = data->links;
        links.reconstruct = reals[r];
        if (LFR(store_links)(data->extents, &links, half, data->configuration.data, stored.data) != 0) {
            fprintf(stderr, "configuration.npy has a link that is not in SU(3): it has no 8 reals\n");
            data->failed = 1;
        }
        for (size_t site = 0; site < lfr_volume(data->extents); site++)
            for (size_t leg = 0; leg < 8; leg++)
                ((LFR(link) *)rebuilt.data)[site * 8 + leg] = LFR(load_link)(data->extents, &links, stored.data, site, (int)leg);
        sprintf(name, "links/doubled.%s-r%d", precision, reals[r]);
        put_array(data, &stored, "%s", name);
        put_array(data, &rebuilt, "links/rebuilt.%s-r%d", precision, reals[r]);
        if (half)
            put_fractions(data, &stored, 8 * (int)words, name);
        free(stored.data);
        free(rebuilt.data);
    }
    array raw = lattice_array(TYPE, data->extents, 0, 4, 3, 3);
    LFR(raw_links)(data->extents, data->links.phases, data->configuration.data, raw.data);
    put_array(data, &raw, "links/raw.%s", precision);
    free(raw.data);
}

/* Section 6: of each leg at each site h0 and h1, w0 and w1, and the four rows. */
static void LFR(hop_stage)(golden_data *data)
{
    const lfr_shape shape = shape_of_stage(data, LFR_FULL, 1, 12);
    const size_t volume = lfr_volume(data->extents);
    array in;
    if (!read_file_of_stage(data, "hop", WIDE ? "in.f64" : "in.f32", TYPE, 12, &in))
        return;
    COMPLEX *stored = room_for(volume * 72 * sizeof *stored), *rows = room_for(volume * 12 * sizeof *rows);
    LFR(store_links)(data->extents, &data->links, 0, data->configuration.data, stored);
    for (int dagger = 0; dagger < 2; dagger++) {
        const char *of = dagger ? "_dagger" : "";
        array projected = lattice_array(TYPE, data->extents, 0, 8, 2, 3), transported = lattice_array(TYPE, data->extents, 0, 8, 2, 3);
        array legs = lattice_array(TYPE, data->extents, 0, 8, 4, 3);
        for (size_t leg = 0; leg < 8; leg++) {
            LFR(leg)(LFR_WILSON_HOP, &data->links, &shape, stored, in.data, dagger, (int)leg, rows);
            for (size_t site = 0; site < volume; site++) {
                const size_t at = site * 8 + leg;
                const LFR(spinor) psi = ((const LFR(spinor) *)in.data)[lfr_neighbour(data->extents, site, (int)leg)];
                ((LFR(half_spinor) *)projected.data)[at] = LFR(project)((int)leg % 4, (leg >= 4) != (dagger != 0), psi);
                memcpy((LFR(half_spinor) *)transported.data + at, rows + site * 12, sizeof(LFR(half_spinor)));
                memcpy((LFR(spinor) *)legs.data + at, rows + site * 12, sizeof(LFR(spinor)));
            }
        }
        put_array(data, &projected, "hop/projected%s.%s", of, PRECISION);
        put_array(data, &transported, "hop/transported%s.%s", of, PRECISION);
        put_array(data, &legs, "hop/legs%s.%s", of, PRECISION);
        free(projected.data);
        free(transported.data);
        free(legs.data);
    }
    free(stored);
    free(rows);
    free(in.data);
}

/* Section 13: each step from what the one before stored. f32 also gives the blocks of half precision. */
static void LFR(clover_stage)(golden_data *data)
{
    char parameter[PARAMETER_LENGTH];
    if (!parameter_of_stage(data, "clover", "mass", parameter))
        return;
    const double diagonal = 4 + number_of_stage(data, "clover", "mass"), spatial = number_of_stage(data, "clover", "csw_r") / 2,
                 temporal = number_of_stage(data, "clover", "csw_t") / 2;
    lfr_shape shape = shape_of_stage(data, LFR_FULL, 1, 36);
    array raw = lattice_array(TYPE, data->extents, 0, 4, 3, 3), strength = lattice_array(TYPE, data->extents, 0, 6, 3, 3);
    array term = lattice_array(TYPE, data->extents, 0, 2, 18, 0), inverse = lattice_array(TYPE, data->extents, 0, 2, 18, 0);
    array pivots = lattice_array(TYPE, data->extents, 0, 0, 0, 0);
    LFR(raw_links)(data->extents, data->links.phases, data->configuration.data, raw.data);
    LFR(field_strength)(data->extents, raw.data, strength.data);
    LFR(clover_term)(&shape, strength.data, diagonal, spatial, temporal, term.data);
    LFR(clover_inverse)(&shape, term.data, inverse.data, pivots.data);
    put_array(data, &strength, "clover/strength.%s", PRECISION);
    put_array(data, &term, "clover/term.%s", PRECISION);
    put_array(data, &inverse, "clover/inverse.%s", PRECISION);
    put_array(data, &pivots, "clover/pivots.%s", PRECISION);
    if (!WIDE) {
        /* The inverse is that of the term before it is rounded. */
        shape.half = 1;
        LFR(clover_inverse)(&shape, term.data, inverse.data, pivots.data);
        LFR(clover_term)(&shape, strength.data, diagonal, spatial, temporal, term.data);
        put_array(data, &term, "clover/term.half");
        put_array(data, &inverse, "clover/inverse.half");
        put_fractions(data, &term, 18, "clover/term.half");
        put_fractions(data, &inverse, 18, "clover/inverse.half");
    }
    free(raw.data);
    free(strength.data);
    free(term.data);
    free(inverse.data);
    free(pivots.data);
}

/* Section 14: products of a fermion with the matrices of one kind of operator. */
static void LFR(products_along_s)(golden_data *data, const char *stage, const lfr_parameters *parameters)
{
    const lfr_shape shape = shape_of_stage(data, LFR_FULL, parameters->ls, 12);
    LFR(operator) fermion;
    array x;
    if (!read_file_of_stage(data, stage, WIDE ? "x.f64" : "x.f32", TYPE, 12 * parameters->ls, &x))
        return;
    array out = new_array(x.type, x.axes, x.shape);
    LFR(make_operator)(&fermion, data->extents, &data->links, parameters, 0, data->configuration.data);
    const lfr_ring *rings[3] = {&fermion.input, &fermion.along, &fermion.diagonal};
    for (int dagger = 0; dagger < 2; dagger++) {
        const char *of = dagger ? "_dagger" : "";
        for (int k = fermion.input_is_identity; k < 3; k++) {
            LFR(s_multiply)(&shape, rings[k], dagger, x.data, NULL, out.data);
            put_array(data, &out, "%s/%s%s.tridiagonal.product.%s", stage, names_of_rings[k], of, PRECISION);
        }
        LFR(s_sweep)(&shape, &fermion.inverse_sweep[dagger], x.data, out.data);
        put_array(data, &out, "%s/mooee%s.sweep.product.%s", stage, of, PRECISION);
        LFR(s_dense)(&shape, parameters->ls, fermion.dense[dagger], x.data, out.data);
        put_array(data, &out, "%s/mooee%s.dense.product.%s", stage, of, PRECISION);
    }
    LFR(free_operator)(&fermion);
    free(x.data);
    free(out.data);
}

/* Section 8: the terms of |x|^2 and of <x, y>, and their sums. */
static void LFR(sums_stage)(golden_data *data)
{
    const lfr_shape one_site = {{1, 1, 1, 1}, LFR_FULL, 1, 12, 0};
    const size_t volume = lfr_volume(data->extents);
    array x, y;
    if (!read_file_of_stage(data, "sums", WIDE ? "x.f64" : "x.f32", TYPE, 12, &x))
        return;
    if (read_file_of_stage(data, "sums", WIDE ? "y.f64" : "y.f32", TYPE, 12, &y)) {
        array norms = lattice_array("<f8", data->extents, 0, 0, 0, 0), products = lattice_array("<f8", data->extents, 0, 2, 0, 0);
        double *re = room_for(volume * sizeof *re), *im = room_for(volume * sizeof *im);
        double *lists[2] = {re, im}, *list_of_norms[1] = {norms.data};
        for (size_t site = 0; site < volume; site++) {
            /* The sum of one site is its term. */
            const COMPLEX *here = (const COMPLEX *)x.data + 12 * site, *there = (const COMPLEX *)y.data + 12 * site;
            const lfr_complex_f64 product = LFR(inner)(&one_site, here, there, NULL);
            ((double *)norms.data)[site] = LFR(norm2)(&one_site, here, NULL);
            ((double *)products.data)[2 * site] = re[site] = product.re;
            ((double *)products.data)[2 * site + 1] = im[site] = product.im;
        }
        put_array(data, &norms, "sums/norm2.%s.terms", PRECISION);
        put_sums(data, WIDE ? "norm2.f64" : "norm2.f32", list_of_norms, 1);
        put_array(data, &products, "sums/inner.%s.terms", PRECISION);
        put_sums(data, WIDE ? "inner.f64" : "inner.f32", lists, 2);
        free(norms.data);
        free(products.data);
        free(re);
        free(im);
        free(y.data);
    }
    free(x.data);
}

/* Writes down an iteration of conjugate gradients: the watcher of the solve below. */
static void LFR(watch)(void *context, const lfr_iteration *now)
{
    watched_solve *solve = context;
    const lfr_shape odd = shape_of_stage(solve->data, LFR_ODD, 1, 12);
    const char *names[] = {"psi", "r", "p"};
    const void *fields[] = {now->psi, now->r, now->p};
    if (now->iterations > 0)
        put_scalars(solve, now);
    for (int k = 0; k < 3; k++) {
        char digits[65];
        array a = lattice_array(TYPE, solve->data->extents, 0, 4, 3, 0);
        LFR(copy)(&odd, fields[k], a.data);
        put_array(solve->data, &a, "%s/%s.%d", solve->stage, names[k], now->iterations);
        digest(&odd, a.data, WIDE, digits);
        put_line(solve, "{\"iteration\":%d,\"field\":\"%s\",\"sha256\":\"%s\"", now->iterations, names[k], digits);
        free(a.data);
    }
}

/* Section 10: M psi = eta for Wilson fermions, even-odd. The source is read, as the configuration is: its Gaussian numbers are those of one library. */
static void LFR(cg_stage)(golden_data *data)
{
    enum { MOST_ITERATIONS = 10000 };
    const lfr_shape shape = shape_of_stage(data, LFR_FULL, 1, 12), of_links = shape_of_stage(data, LFR_FULL, 1, 36);
    watched_solve solve = {data, WIDE ? "cg/f64" : "cg/f32", NULL, {{0}, {0}, 0}, NULL, 0};
    lfr_parameters parameters = {LFR_WILSON, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    LFR(operator) fermion;
    char tolerance[PARAMETER_LENGTH], name[64], digits[3][65];
    array eta;
    if (!parameter_of_stage(data, solve.stage, "tolerance", tolerance))
        return;
    sprintf(name, "stages/%s/source.npy", solve.stage);
    if (!read_field(data, name, "<c16", 12, &eta))
        return;
    start_record(&solve, PRECISION);
    parameters.mass = number_of_stage(data, solve.stage, "mass");
    array solution = lattice_array(TYPE, data->extents, 0, 4, 3, 0), history = new_array("<f8", 1, &(size_t){MOST_ITERATIONS + 1});
    COMPLEX *source = room_for(solution.bytes);
    for (size_t k = 0; k < 2 * length_of(&solution); k++)
        ((REAL *)source)[k] = (REAL)((const double *)eta.data)[k];
    const lfr_solve_parameters asked = {strtod(tolerance, NULL), MOST_ITERATIONS, 0, NULL, LFR(watch), &solve};
    lfr_solve_report report = {history.data, MOST_ITERATIONS + 1, 0, 0, 0};
    LFR(make_operator)(&fermion, data->extents, &data->links, &parameters, 0, data->configuration.data);
    LFR(solve)(&fermion, 1, source, solution.data, &asked, &report);
    LFR(free_operator)(&fermion);

    digest(&of_links, data->configuration.data, 1, digits[0]);
    digest(&shape, eta.data, 1, digits[1]);
    digest(&shape, solution.data, WIDE, digits[2]);
    put_line(&solve, "{\"end\":%d,\"links\":\"%s\",\"source\":\"%s\",\"solution\":%s%s%s", report.iterations, digits[0], digits[1],
             report.converged ? "\"" : "", report.converged ? digits[2] : "null", report.converged ? "\"" : "");
    end_record(&solve);
    array scalars = new_array("<f8", 2, (const size_t[]){(size_t)report.iterations, 4});
    if (scalars.bytes > 0)
        memcpy(scalars.data, solve.scalars, scalars.bytes);
    history.shape[0] = (size_t)report.recorded;
    history.bytes = history.shape[0] * sizeof(double);
    put_array(data, &eta, "%s/source", solve.stage);
    put_array(data, &history, "%s/history", solve.stage);
    put_array(data, &scalars, "%s/scalars", solve.stage);
    put_array(data, &solution, "%s/solution", solve.stage);
    free(eta.data);
    free(source);
    free(solution.data);
    free(history.data);
    free(scalars.data);
    free(solve.scalars);
}

#undef WIDE
#undef PRECISION
#undef TYPE

#endif /* LFR_NO_MAIN */

#undef COMPLEX

#endif
