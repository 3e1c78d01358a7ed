/* The C interface of Lanefield: lattice fields on OpenCL devices and on CPUs, with the same bits.
 *
 * cbindgen writes this file from crates/capi/src. docs/c.md is a tutorial; docs/arithmetic.md defines every result.
 *
 * Every function that can fail returns an lf_status: LF_OK, or an error that lf_last_error() describes. That text belongs to the calling
 * thread. No function ends the process or throws an exception. Results are written through pointers, and only on success unless a function
 * says otherwise.
 *
 * Handles (lf_context, lf_configuration, lf_operator, lf_field, lf_exact_sum) belong to the caller, who frees each with the function of its
 * name that ends in _free, in any order. All but lf_exact_sum may be used by several threads at once.
 *
 * Arrays are in site order, x fastest: the number of a site is x + X·(y + Y·(z + Z·t)). The complex words of a site follow each other, each
 * as re and im. Their order in an object:
 *
 *   spinor                     12 words       3·spin + colour
 *   five-dimensional fermion   12·Ls words    (4·s + spin)·3 + colour
 *   n colour vectors           3·n words      3·number + colour
 *   links                      36 words       (3·mu + row)·3 + column, mu = 0 to 3 for x, y, z, t
 *
 * Lengths count real numbers unless said otherwise. Gamma matrices are Grid's, with gamma5 = diag(1, 1, -1, -1).
 */


#ifndef LANEFIELD_H
#define LANEFIELD_H

#include <stddef.h>
#include <stdint.h>

/*
 Size of a name, including the zero byte at its end.
 */
#define LF_NAME_LENGTH 128

/*
 Real numbers of the links of one site: 4 directions, 3 rows, 3 columns, re and im.
 */
#define LF_LINK_REALS_A_SITE 72

/*
 Size of the text of a report, including the zero byte at its end.
 */
#define LF_REPORT_LENGTH 512

/*
 Number of words of a serialised sum: lf_exact_sum_words().
 */
#define LF_EXACT_SUM_WORDS 72

/*
 The status that a function returns. 0 is success; for any other value lf_last_error() says more. Later versions may add values.
 */
enum lf_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   Success.
   */
  LF_OK = 0,
  /*
   A comparison was done, and the arrays differ. The report says where.
   */
  LF_DIFFERENT = 1,
  /*
   The progress function of a solve asked to stop.
   */
  LF_STOPPED = 2,
  /*
   An argument is wrong: a null pointer, an unknown name, a length that does not fit.
   */
  LF_INVALID_ARGUMENT = 3,
  /*
   A file cannot be read or written, or has the wrong content.
   */
  LF_FILE = 4,
  /*
   There is no such device, or its driver failed.
   */
  LF_DEVICE = 5,
  /*
   There is not enough memory on the host or on the device.
   */
  LF_OUT_OF_MEMORY = 6,
  /*
   A solver did not reach the tolerance in the allowed iterations, or stagnated.
   */
  LF_NOT_CONVERGED = 7,
  /*
   There is no result: an operator without inverse, a recurrence that broke down, numbers beyond the precision.
   */
  LF_NO_RESULT = 8,
  /*
   A bug in the library. The handles in use may be unusable; free them.
   */
  LF_INTERNAL = 9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum lf_status lf_status;
#else
typedef int32_t lf_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 The part of an operator that is applied.
 */
enum lf_piece
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   The operator itself, on all sites; a hop also onto one parity.
   */
  LF_FULL = 0,
  /*
   Meooe, the part that connects the parities: the result is on one parity, the source on the other.
   */
  LF_MEOOE = 1,
  /*
   Mooee, the part that stays on a parity.
   */
  LF_MOOEE = 2,
  /*
   The inverse of Mooee.
   */
  LF_MOOEE_INVERSE = 3,
  /*
   The Schur complement Mpc = Moo - Moe Mee^-1 Meo, on the odd sites.
   */
  LF_MPC = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum lf_piece lf_piece;
#else
typedef int32_t lf_piece;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 The sites of a result.
 */
enum lf_sites
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   All sites.
   */
  LF_ALL_SITES = 0,
  /*
   Those with x + y + z + t even.
   */
  LF_EVEN = 1,
  /*
   Those with x + y + z + t odd.
   */
  LF_ODD = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum lf_sites lf_sites;
#else
typedef int32_t lf_sites;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 The precision of a solve.
 */
enum lf_precision
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   64-bit floating point.
   */
  LF_F64 = 0,
  /*
   32-bit floating point.
   */
  LF_F32 = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum lf_precision lf_precision;
#else
typedef int32_t lf_precision;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 The kind of a device's processor.
 */
enum lf_device_kind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   A processor of the host.
   */
  LF_DEVICE_CPU = 0,
  /*
   A graphics processor.
   */
  LF_DEVICE_GPU = 1,
  /*
   An accelerator card.
   */
  LF_DEVICE_ACCELERATOR = 2,
  /*
   Anything else.
   */
  LF_DEVICE_OTHER = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum lf_device_kind lf_device_kind;
#else
typedef int32_t lf_device_kind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 A gauge configuration: SU(3) links on a periodic lattice. It is immutable, and may be used by several threads at once.
 */
typedef struct lf_configuration lf_configuration;

/*
 Where the library computes: the CPU reference with its own threads, or an OpenCL device. A context may be used by several threads at
 once.
 */
typedef struct lf_context lf_context;

/*
 An accumulating exact sum of doubles. Only one thread at a time may use a sum; several threads use one each, and merge them.
 */
typedef struct lf_exact_sum lf_exact_sum;

/*
 A field that a context stores. It may be used by several threads at once; they then wait for each other.
 */
typedef struct lf_field lf_field;

/*
 An operator on a configuration. It may be used by several threads at once; they then wait for each other.
 */
typedef struct lf_operator lf_operator;

/*
 An OpenCL device. Set `size` before the call.
 */
typedef struct lf_device {
  /*
   sizeof(lf_device), set by the caller. Later versions add members at the end.
   */
  size_t size;
  /*
   Its name, truncated if it is too long.
   */
  char name[LF_NAME_LENGTH];
  /*
   The name of its platform, which identifies the driver.
   */
  char platform[LF_NAME_LENGTH];
  /*
   The version of the driver.
   */
  char driver[LF_NAME_LENGTH];
  /*
   The kind of processor: an lf_device_kind.
   */
  int32_t kind;
  /*
   1 if it can run lattice kernels; 0 if not, for example because it has no double precision.
   */
  int32_t usable;
  /*
   The number of compute units.
   */
  uint32_t compute_units;
  /*
   The highest clock rate in MHz; 0 if the driver does not report it.
   */
  uint32_t clock_mhz;
  /*
   Global memory in bytes.
   */
  uint64_t memory_bytes;
} lf_device;

/*
 A parameter of an operator, by name. Its value is `text`, or `number` if `text` is null.
 */
typedef struct lf_parameter {
  /*
   Its name, for example "mass".
   */
  const char *name;
  /*
   Its value as a number.
   */
  double number;
  /*
   Its value as text, for example "1,1,1,-1"; null if the value is a number.
   */
  const char *text;
} lf_parameter;

/*
 The result of a comparison. Set `size` before the call.
 */
typedef struct lf_report {
  /*
   sizeof(lf_report), set by the caller. Later versions add members at the end.
   */
  size_t size;
  /*
   Number of reals that were compared: those on the sites of the result.
   */
  uint64_t compared;
  /*
   Number of reals whose bits differ. Any NaN equals any other; +0 and -0 differ.
   */
  uint64_t differing;
  /*
   Largest distance in units in the last place; UINT64_MAX if one of two values is NaN.
   */
  uint64_t most_ulp;
  /*
   Site x, y, z, t of the first difference, in site order. This and the following numbers are meaningless if nothing differs.
   */
  int32_t site[4];
  /*
   Its coordinate along the fifth dimension; -1 if there is none.
   */
  int32_t s;
  /*
   Its spin; for colour vectors the number of the vector.
   */
  int32_t spin;
  /*
   Its colour.
   */
  int32_t colour;
  /*
   0: the real part; 1: the imaginary part.
   */
  int32_t part;
  /*
   The caller's number. An f32 is given as a double, exactly.
   */
  double found;
  /*
   The reference's number.
   */
  double expected;
  /*
   The bits of the caller's number; an f32 is in the lower half.
   */
  uint64_t found_bits;
  /*
   The bits of the reference's number.
   */
  uint64_t expected_bits;
  /*
   Distance of the two numbers in units in the last place; UINT64_MAX if one is NaN.
   */
  uint64_t ulp;
  /*
   The report as text.
   */
  char text[LF_REPORT_LENGTH];
  /*
   Possible causes, inferred from the pattern of the differences, the most certain first; empty if none is known. A is the caller's
   array, B the reference's.
   */
  char cause[LF_REPORT_LENGTH];
} lf_report;

/*
 The type of a function that is called before the first iteration, with `iteration` 0, and after each iteration. `residual`: |r|/|b| of
 the recurrence; of a batch, that of the right-hand side that takes longest. If it returns anything but 0, the solve ends with
 LF_STOPPED. The thread that called lf_solve() calls it. It must return: neither longjmp nor an exception may leave it.
 */
typedef int32_t (*lf_progress)(void *user, uint64_t iteration, double residual);

/*
 How to solve. Set everything to zero, and then `size`: zero means the default.
 */
typedef struct lf_solve_options {
  /*
   sizeof(lf_solve_options), set by the caller. Later versions add members at the end.
   */
  size_t size;
  /*
   The solver; null for "cg".
   - "cg": conjugate gradients, on the normal equations if the operator is not positive
   - "block-cg": the same for all right-hand sides in one block
   - "mixed-f32", "mixed-half": the same in f64, with a recurrence in f32 or half precision and reliable updates
   - "bicgstab"
   */
  const char *method;
  /*
   1: solve with M itself instead of the even-odd Schur complement.
   */
  int32_t unpreconditioned;
  /*
   An lf_precision: the precision of the recurrence and the solution.
   */
  int32_t precision;
  /*
   The solve ends when |r| <= tolerance |b|; 0 means 1e-10 in f64 and 1e-6 in f32.
   */
  double tolerance;
  /*
   The maximum number of iterations; 0 means 10000.
   */
  uint64_t max_iterations;
  /*
   The solve fails after this number of iterations without a new minimum of |r|; 0 means 1000.
   */
  uint64_t patience;
  /*
   The number of right-hand sides, which are stored one after the other in the arrays; 0 means 1. Only cg and block-cg solve several.
   */
  uint64_t right_hand_sides;
  /*
   Called during the solve; may be null.
   */
  lf_progress progress;
  /*
   The first argument of `progress`.
   */
  void *user;
} lf_solve_options;

/*
 The results of a solve, apart from the solution. Before the call, set everything to zero, then `size`. If you want the arrays, also set
 `history` and `history_room`, and `source_scales` and `source_scales_room`.
 */
typedef struct lf_solve_info {
  /*
   sizeof(lf_solve_info), set by the caller. Later versions add members at the end.
   */
  size_t size;
  /*
   Receives |r|² of the recurrence for the first right-hand side: that of the guess, then that after each iteration. At most
   `history_room` numbers are written; may be null.
   */
  double *history;
  /*
   The number of elements of `history`.
   */
  uint64_t history_room;
  /*
   The length of the history: the number of iterations plus one.
   */
  uint64_t history_length;
  /*
   The number of iterations; of a batch the largest.
   */
  uint64_t iterations;
  /*
   |r|/|b| of the recurrence at the end; of a batch the largest.
   */
  double residual;
  /*
   |b - A x|/|b| of the system that was solved, recomputed in f64; NaN if there was not enough memory for that. Of a batch the largest.
   */
  double true_residual;
  /*
   |η - M ψ|/|η| on the whole lattice, recomputed in f64; NaN if there was not enough memory for that. Of a batch the largest.
   */
  double solution_residual;
  /*
   Wall time of the recurrence in seconds, without building kernels.
   */
  double seconds;
  /*
   Wall time of building kernels in seconds.
   */
  double building_seconds;
  /*
   Number of floating-point operations of the recurrence.
   */
  uint64_t flops;
  /*
   Number of bytes that the recurrence must move at least.
   */
  uint64_t bytes;
  /*
   The exponent of the power of two that multiplied the first source for the solve; each |r|² of the history is multiplied by the
   square of that power. 0 unless the source's numbers are very small or large. Each source of a batch has its own exponent.
   */
  int64_t source_scale;
  /*
   Receives the exponent for each right-hand side, at most `source_scales_room` of them; may be null.
   */
  int64_t *source_scales;
  /*
   The number of elements of `source_scales`.
   */
  uint64_t source_scales_room;
} lf_solve_info;

/*
 The content of golden data. Set everything to zero, and then `size`: zero means the default.
 */
typedef struct lf_golden_options {
  /*
   sizeof(lf_golden_options), set by the caller. Later versions add members at the end.
   */
  size_t size;
  /*
   Comma-separated names of kernels or families, for example "hop,eo_clover"; null for all.
   */
  const char *kernels;
  /*
   Comma-separated precisions of results, for example "f32,f64,half"; null for all.
   */
  const char *precisions;
  /*
   Boundary phases in x,y,z,t; null for "1,1,1,-1".
   */
  const char *boundary;
  /*
   The leg order of the hop; null for the default.
   */
  const char *legs;
  /*
   The lattice, with even extents; zeros for 4.6.2.8.
   */
  int32_t extents[4];
  /*
   1: replace a directory that contains golden data.
   */
  int32_t replace;
  /*
   Seed of links, fields and scalars; 0 for 1.
   */
  uint64_t seed;
} lf_golden_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Returns why the last call of this thread did not return LF_OK: one sentence without a full stop, in UTF-8. It is empty after a success
 without remarks. The text belongs to the library, and is valid until this thread calls any other function of the library.
 */
const char *lf_last_error(void);

/*
 Returns the name of a status, for example "LF_OK"; "unknown status" for other numbers. Do not free the text.
 */
const char *lf_status_name(int32_t status);

/*
 Returns the version of the library that is running: major · 65536 + minor · 256 + patch.
 */
uint32_t lf_version(void);

/*
 Counts the OpenCL devices of the machine, usable or not. If there is no OpenCL, `count` is 0, the status is LF_OK, and lf_last_error()
 says what is missing. Drivers are queried once in a process.
 */
lf_status lf_device_count(int32_t *count);

/*
 Detects whether a launcher (Slurm, Open MPI, MPICH and others, by their environment variables) started this process together with
 others. The library does not divide work among processes: each process does all of the work.

 `rank`: the number of this process, 0 if it is alone. `processes`: the number of processes; 1 if it is alone, 0 if there are several and
 the launcher does not say how many.
 */
lf_status lf_launched(uint64_t *rank,
                      uint64_t *processes);

/*
 Returns information about device number `index`, counted from 0. `device->size` must be set.

 Errors: LF_INVALID_ARGUMENT if there is no such device.
 */
lf_status lf_device_info(int32_t index, struct lf_device *device);

/*
 Creates a context.

 `device`: null or "cpu" for the CPU reference; "auto" for the first GPU, or else any OpenCL device, or else the CPU reference
 (lf_last_error() then says why); an index of lf_device_info(); or part of the name of a device or its platform, as in "nvidia" or
 "nvidia:1" (the second one).

 `threads`: number of CPU threads, 1 to 512; 0 for the number in RAYON_NUM_THREADS, or else one for each core.

 Neither changes a bit of any result. The arithmetic of an OpenCL device is tested here: see lf_context_why_not_bitwise().

 `context` receives the context; free it with lf_context_free().

 Errors: LF_DEVICE if there is no such device; LF_INVALID_ARGUMENT; LF_OUT_OF_MEMORY if the threads cannot be started.
 */
lf_status lf_context_create(const char *device,
                            int32_t threads,
                            struct lf_context **context);

/*
 Frees a context; null is ignored. Objects that were created with it remain usable, and may be freed later. Its threads and its device
 are released with the last of them.
 */
void lf_context_free(struct lf_context *context);

/*
 Returns one line about a context: the device and its driver, or the CPU's threads and vector instructions. The text belongs to the
 context.
 */
lf_status lf_context_describe(const struct lf_context *context,
                              const char **text);

/*
 Returns why the results of a context's device cannot be called bit-identical to the reference's: one sentence about how its arithmetic
 differs from the standard. `text` receives null if no difference is known. The text belongs to the context.
 */
lf_status lf_context_why_not_bitwise(const struct lf_context *context,
                                     const char **text);

/*
 Creates the free field on a lattice: every link is 1. `extents`: sites in x, y, z, t. `configuration` receives the configuration; free
 it with lf_configuration_free().
 */
lf_status lf_configuration_unit(const struct lf_context *context,
                                const int32_t *extents,
                                struct lf_configuration **configuration);

/*
 Creates random SU(3) links, uniform in the group. A link depends only on the seed, its site number and its direction, so the links are
 the same on every machine.
 */
lf_status lf_configuration_hot(const struct lf_context *context,
                               const int32_t *extents,
                               uint64_t seed,
                               struct lf_configuration **configuration);

/*
 Creates random links near 1: exponentials of Gaussian algebra elements of width `spread`, for example 0.1. A link depends only on the
 arguments, its site number and its direction.
 */
lf_status lf_configuration_weak(const struct lf_context *context,
                                const int32_t *extents,
                                uint64_t seed,
                                double spread,
                                struct lf_configuration **configuration);

/*
 Creates a configuration from its links, which are copied.

 `links`: `reals` = 72 numbers for each site. Their order is ((((site · 4 + mu) · 3 + row) · 3 + column) · 2 + (0 re, 1 im)), where site
 is x + X·(y + Y·(z + Z·t)), and mu is 0 to 3 for x, y, z, t.

 `tolerance`: how far links may be from SU(3), max |U U† − 1| and |det U − 1|. Reading files uses 1e-5. If it is negative, links must
 only be finite; operators with reconstruct 8 then refuse links that are not in SU(3).

 Errors: LF_INVALID_ARGUMENT for a wrong number of reals, and for a link that is not in SU(3), with its site.
 */
lf_status lf_configuration_from_links(const struct lf_context *context,
                                      const int32_t *extents,
                                      const double *links,
                                      size_t reals,
                                      double tolerance,
                                      struct lf_configuration **configuration);

/*
 Reads a configuration from a file. The first bytes determine the format: NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep, or a
 NumPy or HDF5 array (T, Z, Y, X, 4, 3, 3) in complex64 or complex128. Everything that the file says about its content is verified. Links
 must be in SU(3) within 1e-5.

 Errors: LF_FILE, with the reason.
 */
lf_status lf_configuration_read(const struct lf_context *context,
                                const char *path,
                                struct lf_configuration **configuration);

/*
 As lf_configuration_read(). `extents`: the lattice of a file that does not say it (a LIME file that has only links); null for other
 files. `projection`: "polar" or "max-re-tr" projects the links to SU(3), however far from it they are; null leaves them.
 */
lf_status lf_configuration_read_as(const struct lf_context *context,
                                   const char *path,
                                   const int32_t *extents,
                                   const char *projection,
                                   struct lf_configuration **configuration);

/*
 Writes a configuration to a file, whole or not at all. Its name determines the format: .nersc (or no extension), .lime (ILDG), .milc (32
 bits), .npy, .h5. An existing file is replaced.

 A configuration that was read from a file is written with the precision and the labels of that file. Labels that the format cannot hold
 are written to a sidecar, PATH.json.

 Errors: LF_FILE, with the reason.
 */
lf_status lf_configuration_write(const struct lf_configuration *configuration,
                                 const char *path);

/*
 As lf_configuration_write(), in the format "nersc", "ildg", "milc", "npy" or "hdf5", whatever the name; if null, as the name says.
 */
lf_status lf_configuration_write_as(const struct lf_configuration *configuration,
                                    const char *path,
                                    const char *format);

/*
 Frees a configuration; null is ignored. Operators that were created with it remain usable.
 */
void lf_configuration_free(struct lf_configuration *configuration);

/*
 Returns the extents of a configuration: `extents` receives four numbers, for x, y, z, t.
 */
lf_status lf_configuration_extents(const struct lf_configuration *configuration, int32_t *extents);

/*
 Copies the links of a configuration to `links`, which has room for `reals` = 72 numbers for each site, in the order of
 lf_configuration_from_links().
 */
lf_status lf_configuration_links(const struct lf_configuration *configuration, double *links, size_t reals);

/*
 Computes the average plaquette, Re tr P / 3 over all sites and planes: 1 for the free field. It is the exact sum, rounded once, and has
 the same bits on every machine.
 */
lf_status lf_configuration_plaquette(const struct lf_configuration *configuration,
                                     double *value);

/*
 Computes the link trace, Re tr U / 3 over all links: 1 for the free field. It is the exact sum, rounded once.
 */
lf_status lf_configuration_link_trace(const struct lf_configuration *configuration, double *value);

/*
 Creates an operator on a configuration.

 `name`: a name that lf_operator_name() lists. It is an operator ("wilson") or the kernel of a hop ("hop"). The parameters of an operator
 (mass, csw, mu, ls, m5, …) are those in `lanefield solve --help`; those without a default are required. A hop has none of these.

 All accept three more parameters:
 - "boundary", a text with the phases in x,y,z,t; the default is "1,1,1,-1". A phase is 1, -1, 0 for fixed, or an angle: "0.25pi" for
   psi(x + L) = exp(i pi/4) psi(x). Angles need reconstruct 18.
 - "reconstruct", 18, 12 or 8: the number of reals that are stored for a link. It changes the last bits, and is part of the definition.
 - "legs", a text: the order in which the hop adds its legs.

 `parameters`: an array of `count` parameters; null if `count` is 0. `op` receives the operator; free it with lf_operator_free(). Its
 parts are created when they are first applied, and kept. Configuration and context may be freed before it.

 Errors: LF_INVALID_ARGUMENT for an unknown name, parameter or value; the message lists the known ones.
 */
lf_status lf_operator_create(const struct lf_context *context,
                             const struct lf_configuration *configuration,
                             const char *name,
                             const struct lf_parameter *parameters,
                             size_t count,
                             struct lf_operator **op);

/*
 Frees an operator; null is ignored.
 */
void lf_operator_free(struct lf_operator *op);

/*
 Returns the name of operator number `index` of those that lf_operator_create() knows, counted from 0; null if there are no more. Do not
 free the text.
 */
const char *lf_operator_name(size_t index);

/*
 Returns an operator with its parameters as text, for example "clover, mass 0.1, csw 1.3". The text belongs to the operator.
 */
lf_status lf_operator_describe(const struct lf_operator *op,
                               const char **text);

/*
 Returns the number of real numbers in the arrays that an operator acts on: 2 · words for each site · sites. A site has 12 complex words
 for a spinor (spin, then colour), 12·Ls in five dimensions (s, spin, colour), and 3·n for n colour vectors.
 */
lf_status lf_operator_reals(const struct lf_operator *op,
                            size_t *reals);

/*
 result = operator · source, in f64, with the bits that docs/arithmetic.md defines.

 `piece`: an lf_piece. `sites`: an lf_sites. For LF_FULL it is LF_ALL_SITES (for a hop any), for a piece the sites of the result; LF_MPC
 needs LF_ODD. `dagger`: 1 for the Hermitian conjugate, else 0.

 `source`, `result`: arrays of `reals` numbers each, the number that lf_operator_reals() returns. They contain the whole lattice in site
 order (x fastest, then y, z, t), for each site its words, for each word re and im. A piece reads only some sites of the source, and the
 result is +0 on sites that it does not have. The two arrays may be the same.

 Errors: LF_INVALID_ARGUMENT; LF_NO_RESULT for a clover term or a diagonal without inverse; LF_OUT_OF_MEMORY; LF_DEVICE.
 */
lf_status lf_operator_apply_f64(const struct lf_operator *op,
                                int32_t piece,
                                int32_t sites,
                                int32_t dagger,
                                const double *source,
                                double *result,
                                size_t reals);

/*
 As lf_operator_apply_f64(), in f32.
 */
lf_status lf_operator_apply_f32(const struct lf_operator *op,
                                int32_t piece,
                                int32_t sites,
                                int32_t dagger,
                                const float *source,
                                float *result,
                                size_t reals);

/*
 Compares `result`, which the caller computed from `source`, with the result of the CPU reference, whatever the context's device. The
 arguments are those of lf_operator_apply_f64(). Sites on which a piece has no result are not compared. `report->size` must be set; all
 other members of `report` are written.

 Returns LF_OK if all bits are the same, and LF_DIFFERENT if not (lf_last_error() then returns the text of the report). Other values say
 what is wrong with the arguments.
 */
lf_status lf_check_operator_f64(const struct lf_operator *op,
                                int32_t piece,
                                int32_t sites,
                                int32_t dagger,
                                const double *source,
                                const double *result,
                                size_t reals,
                                struct lf_report *report);

/*
 As lf_check_operator_f64(), in f32.
 */
lf_status lf_check_operator_f32(const struct lf_operator *op,
                                int32_t piece,
                                int32_t sites,
                                int32_t dagger,
                                const float *source,
                                const float *result,
                                size_t reals,
                                struct lf_report *report);

/*
 Compares a Wilson hop (docs/arithmetic.md §6) with the reference's, as lf_check_operator_f64() does with the operator "hop".

 `parameters`: `count` of "boundary", "reconstruct" and "legs", as in lf_operator_create(). `sites`: the sites of the result, an
 lf_sites. `source`, `result`: 24 real numbers for each site, `reals` in total.
 */
lf_status lf_check_hop_f64(const struct lf_context *context,
                           const struct lf_configuration *configuration,
                           const struct lf_parameter *parameters,
                           size_t count,
                           int32_t sites,
                           int32_t dagger,
                           const double *source,
                           const double *result,
                           size_t reals,
                           struct lf_report *report);

/*
 As lf_check_hop_f64(), in f32.
 */
lf_status lf_check_hop_f32(const struct lf_context *context,
                           const struct lf_configuration *configuration,
                           const struct lf_parameter *parameters,
                           size_t count,
                           int32_t sites,
                           int32_t dagger,
                           const float *source,
                           const float *result,
                           size_t reals,
                           struct lf_report *report);

/*
 norm2 = |x|²: the exact sum over `count` objects of `words` complex words each, rounded once.

 For spinors `words` is 12 and `count` the number of sites (in five dimensions Ls times that); for colour vectors `words` is 3. `x`: 2 ·
 count · words real numbers. `count` is the number of objects, not of real numbers as in lf_solve(). The contribution of an object is
 rounded as docs/arithmetic.md §8 says. Neither the order of the objects nor the number of threads changes a bit.
 */
lf_status lf_norm2_f64(const struct lf_context *context,
                       const double *x,
                       size_t count,
                       size_t words,
                       double *norm2);

/*
 As lf_norm2_f64(), for arrays in f32, whose numbers are promoted first.
 */
lf_status lf_norm2_f32(const struct lf_context *context, const float *x, size_t count, size_t words, double *norm2);

/*
 `inner[0]` + i·`inner[1]` = ⟨x, y⟩ = Σ conj(x) y over `count` objects of `words` complex words each. Both parts are exact sums, rounded
 once, as in lf_norm2_f64(). `x`, `y`: 2 · count · words real numbers each.
 */
lf_status lf_inner_f64(const struct lf_context *context,
                       const double *x,
                       const double *y,
                       size_t count,
                       size_t words,
                       double *inner);

/*
 As lf_inner_f64(), for arrays in f32, whose numbers are promoted first.
 */
lf_status lf_inner_f32(const struct lf_context *context,
                       const float *x,
                       const float *y,
                       size_t count,
                       size_t words,
                       double *inner);

/*
 `sums[2·word]` and `sums[2·word + 1]` = the exact sums of re and im of each word, over `count` objects of `words` complex words each.
 Each is rounded once. `x`: 2 · count · words real numbers; `sums` has room for 2 · words.
 */
lf_status lf_sum_f64(const struct lf_context *context,
                     const double *x,
                     size_t count,
                     size_t words,
                     double *sums);

/*
 As lf_sum_f64(), for arrays in f32, whose numbers are promoted first.
 */
lf_status lf_sum_f32(const struct lf_context *context, const float *x, size_t count, size_t words, double *sums);

/*
 Creates an empty sum; free it with lf_exact_sum_free().
 */
lf_status lf_exact_sum_create(struct lf_exact_sum **sum);

/*
 Frees a sum; null is ignored.
 */
void lf_exact_sum_free(struct lf_exact_sum *sum);

/*
 Adds one term.
 */
lf_status lf_exact_sum_add(struct lf_exact_sum *sum, double term);

/*
 Adds `count` terms.
 */
lf_status lf_exact_sum_add_array(struct lf_exact_sum *sum, const double *terms, size_t count);

/*
 Adds the contributions of `count` objects of `words` complex words to |x|². Several ranks can merge their sums, and then round once.
 */
lf_status lf_exact_sum_add_norm2_f64(struct lf_exact_sum *sum,
                                     const double *x,
                                     size_t count,
                                     size_t words);

/*
 As lf_exact_sum_add_norm2_f64(), for arrays in f32, whose numbers are promoted first.
 */
lf_status lf_exact_sum_add_norm2_f32(struct lf_exact_sum *sum, const float *x, size_t count, size_t words);

/*
 Adds the contributions of objects to the real and the imaginary part of ⟨x, y⟩ to two different sums.
 */
lf_status lf_exact_sum_add_inner_f64(struct lf_exact_sum *re,
                                     struct lf_exact_sum *im,
                                     const double *x,
                                     const double *y,
                                     size_t count,
                                     size_t words);

/*
 As lf_exact_sum_add_inner_f64(), for arrays in f32, whose numbers are promoted first.
 */
lf_status lf_exact_sum_add_inner_f32(struct lf_exact_sum *re,
                                     struct lf_exact_sum *im,
                                     const float *x,
                                     const float *y,
                                     size_t count,
                                     size_t words);

/*
 Adds the terms of another sum, which does not change. Merging is exact, in any order.
 */
lf_status lf_exact_sum_merge(struct lf_exact_sum *sum, const struct lf_exact_sum *other);

/*
 Rounds the sum once, to nearest even; the sum itself does not change. A sum without terms is +0.
 */
lf_status lf_exact_sum_round(const struct lf_exact_sum *sum, double *value);

/*
 Serialises a sum as LF_EXACT_SUM_WORDS integers. Equal sums have equal words. The words of up to 2^31 sums may be added as integers,
 element by element (for example with MPI_SUM of MPI_INT64_T). lf_exact_sum_set_words() then reads the total.

 `words` has room for LF_EXACT_SUM_WORDS integers.
 */
lf_status lf_exact_sum_words(const struct lf_exact_sum *sum,
                             int64_t *words);

/*
 Replaces a sum by one that is read from LF_EXACT_SUM_WORDS integers.

 Errors: LF_INVALID_ARGUMENT for integers that no sum can have; the sum is then unchanged.

 `words` has LF_EXACT_SUM_WORDS integers.
 */
lf_status lf_exact_sum_set_words(struct lf_exact_sum *sum, const int64_t *words);

/*
 Creates a source by its name for an operator. It has the same numbers as in the commands `lanefield apply` and `lanefield source`.

 `name`: one of
 - "gauss:SEED": Gaussian numbers of variance 1 in each real
 - "z4:SEED": each number is 1, i, -1 or -i
 - "z2:SEED": each number is 1 or -1
 - "gauss:SEED,t", "z4:SEED,t", "z2:SEED,t": the same on time slice t alone
 - "point:x,y,z,t,spin,colour": 1 there and 0 elsewhere (colour vectors have a component instead of the spin)
 - "wall:t,spin,colour": 1 on a time slice
 - "momentum:nx,ny,nz,t,spin,colour": exp(ip·x) on a time slice, with p = 2 pi n/L
 - the file of a NumPy array (T, Z, Y, X, 4, 3), in five dimensions (Ls, T, Z, Y, X, 4, 3), or (T, Z, Y, X, N, 3) for N colour vectors

 In five dimensions a point, a wall or a wave is at s = 0. `values` receives `reals` numbers in site order, the number that
 lf_operator_reals() returns.

 Errors: LF_INVALID_ARGUMENT for an unknown name, and for a position or a spin that does not exist; LF_FILE, also for an array that its
 sidecar does not describe; LF_OUT_OF_MEMORY.
 */
lf_status lf_source(const struct lf_operator *op,
                    const char *name,
                    double *values,
                    size_t reals);

/*
 Solves M ψ = η, on the device of the context that the operator was created with, or on the CPU reference.

 `source`: η, `reals` numbers in site order over the whole lattice. `reals` is the number that lf_operator_reals() returns, times the
 number of right-hand sides. η is rounded to the precision of the solve. For a five-dimensional operator it is five-dimensional, too.
 `solution`: receives ψ, as many numbers (those of a solve in f32 are promoted to doubles). It may be the same array as `source`, and is
 written only if the status is LF_OK. `options`: may be null for the defaults. `info`: receives the statistics of the solve; may be null.

 The solution is checked before it is returned: the true residual is recomputed in f64. Histories and solutions have the same bits on
 every device.

 Errors: LF_STOPPED if the progress function stopped the solve; LF_NOT_CONVERGED, with the course of the residual; LF_NO_RESULT;
 LF_INVALID_ARGUMENT; LF_OUT_OF_MEMORY; LF_DEVICE.
 */
lf_status lf_solve(const struct lf_operator *op,
                   const double *source,
                   double *solution,
                   size_t reals,
                   const struct lf_solve_options *options,
                   struct lf_solve_info *info);

/*
 Creates a field of zeros that an operator can act on, on the device of the operator's context.

 `sites`: an lf_sites; `precision`: an lf_precision. `field` receives the field; free it with lf_field_free(). Operator and context may
 be freed before it.

 Errors: LF_INVALID_ARGUMENT for a parity of a lattice with odd extents; LF_OUT_OF_MEMORY; LF_DEVICE.
 */
lf_status lf_field_create(const struct lf_operator *op,
                          int32_t sites,
                          int32_t precision,
                          struct lf_field **field);

/*
 Frees a field; null is ignored.
 */
void lf_field_free(struct lf_field *field);

/*
 Copies an array to a field in f64. The array has `reals` numbers for the whole lattice in site order, as in lf_operator_apply_f64(). A
 field on one parity receives the numbers of its sites.
 */
lf_status lf_field_upload_f64(struct lf_field *field,
                              const double *values,
                              size_t reals);

/*
 As lf_field_upload_f64(), for a field in f32.
 */
lf_status lf_field_upload_f32(struct lf_field *field, const float *values, size_t reals);

/*
 Copies a field in f64 to an array of `reals` numbers, with +0 on sites that the field does not have. Waits for all earlier operations on
 the field.
 */
lf_status lf_field_download_f64(const struct lf_field *field,
                                double *values,
                                size_t reals);

/*
 As lf_field_download_f64(), for a field in f32.
 */
lf_status lf_field_download_f32(const struct lf_field *field, float *values, size_t reals);

/*
 result = operator · source. lf_field_create() must have created the fields with this operator, or with one on the same lattice that acts
 on the same objects. Both must have the same precision. `piece` and `dagger` are those of lf_operator_apply_f64(); the sites are those of
 `result`.

 Errors: LF_INVALID_ARGUMENT also if the fields are not on the sites that the piece reads and writes.
 */
lf_status lf_field_apply(const struct lf_operator *op,
                         int32_t piece,
                         int32_t dagger,
                         const struct lf_field *source,
                         struct lf_field *result);

/*
 to = from. Both fields have the same type.
 */
lf_status lf_field_copy(const struct lf_field *from, struct lf_field *to);

/*
 out = a·x. Both fields have the same type. Each real number is rounded once; a is first rounded to their precision (docs/arithmetic.md
 §7).
 */
lf_status lf_field_scale(double a,
                         const struct lf_field *x,
                         struct lf_field *out);

/*
 y = a·x + y. Both fields have the same type. Each real number is one fused multiply-add; a is first rounded to their precision.
 */
lf_status lf_field_axpy(double a,
                        const struct lf_field *x,
                        struct lf_field *y);

/*
 norm2 = |x|²: the exact sum over the sites of the field, rounded once. It has the bits of lf_norm2_f64() of the downloaded array.
 */
lf_status lf_field_norm2(const struct lf_field *x,
                         double *norm2);

/*
 `inner[0]` + i·`inner[1]` = ⟨x, y⟩, computed like lf_field_norm2(). x and y are two different fields of the same type.
 */
lf_status lf_field_inner(const struct lf_field *x,
                         const struct lf_field *y,
                         double *inner);

/*
 Writes golden data to a directory: inputs, intermediates and results of kernels as .npy files, with a manifest (docs/golden.md). They
 depend only on `options`: the bytes are the same on every device. The directory is written whole or not at all.

 `options`: may be null for the defaults, all kernels in all precisions. These take seconds on a CPU, and minutes on a device whose
 kernels are not built yet.

 Errors: LF_FILE if the directory is not empty or cannot be written; LF_INVALID_ARGUMENT; LF_DEVICE.
 */
lf_status lf_golden_export(const struct lf_context *context,
                           const char *directory,
                           const struct lf_golden_options *options);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LANEFIELD_H */
