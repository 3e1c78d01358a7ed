/* The C interface of Lanefield: lattice fields on OpenCL devices and on CPUs, with the same bits.
 *
 * Written by cbindgen from crates/capi/src; docs/c.md is a walk through it, docs/arithmetic.md defines every result.
 *
 * Every function that can fail returns an lf_status, LF_OK if all is well; lf_last_error() then says more, in a text of each thread's own. No function
 * ends the process or lets anything be thrown through it. Results are written through pointers, and only where the status says so.
 *
 * Handles (lf_context, lf_configuration, lf_operator, lf_field, lf_exact_sum) are made by functions that say so, belong to the caller, and are freed by the
 * function of that name that ends in _free, in any order. All but lf_exact_sum may be used by several threads at once.
 *
 * Arrays are in site order: the number of a site is x + X·(y + Y·(z + Z·t)), x fastest; all complex words of a site lie together, each as re and im. A spinor has
 * 12 words, 3·spin + colour; a five-dimensional fermion 12·Ls, (4·s + spin)·3 + colour; n colour vectors 3·n, 3·number + colour; links 36,
 * (3·mu + row)·3 + column for mu = x, y, z, t. Lengths count real numbers unless said otherwise. Gamma matrices are Grid's, with gamma5 = diag(1, 1, -1, -1).
 */


#ifndef LANEFIELD_H
#define LANEFIELD_H

#include <stddef.h>
#include <stdint.h>

/*
 Characters of a name, with the zero byte at its end.
 */
#define LF_NAME_LENGTH 128

/*
 Real numbers of the links of one site: 4 directions, 3 rows, 3 columns, re and im.
 */
#define LF_LINK_REALS_A_SITE 72

/*
 Characters of the text of a report, with the zero byte at its end.
 */
#define LF_REPORT_LENGTH 512

/*
 Words of a sum as it is written down: lf_exact_sum_words().
 */
#define LF_EXACT_SUM_WORDS 72

/*
 What a function returns. 0 is success; after anything else lf_last_error() says more. Later versions may have more values.
 */
enum lf_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   Done.
   */
  LF_OK = 0,
  /*
   Of a comparison: it was done, and the arrays differ. The report says where.
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
   A file cannot be read or written, or does not hold what it should.
   */
  LF_FILE = 4,
  /*
   There is no such device, or its driver failed.
   */
  LF_DEVICE = 5,
  /*
   There is no room in the memory of the host or of the device.
   */
  LF_OUT_OF_MEMORY = 6,
  /*
   A solver did not reach the tolerance in the iterations allowed, or no longer got nearer.
   */
  LF_NOT_CONVERGED = 7,
  /*
   There is no result: an operator without inverse, a recurrence that broke down, numbers beyond the precision.
   */
  LF_NO_RESULT = 8,
  /*
   A fault of the library. The handles in use may be unusable; free them.
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
 What of an operator is applied.
 */
enum lf_piece
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   The operator itself, on all sites; of a hop also onto one parity.
   */
  LF_FULL = 0,
  /*
   The part that connects the parities: the result on one, the source on the other.
   */
  LF_MEOOE = 1,
  /*
   The part that stays on a parity.
   */
  LF_MOOEE = 2,
  /*
   The inverse of that.
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
 In which precision a solve is done.
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
 What kind of processor a device is.
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
 A gauge configuration: SU(3) links on a periodic lattice. It does not change, and may be used by several threads at once.
 */
typedef struct lf_configuration lf_configuration;

/*
 Where is computed: the CPU reference with threads of its own, or an OpenCL device. It may be used by several threads at once.
 */
typedef struct lf_context lf_context;

/*
 A sum of doubles that goes on. One thread at a time may use one sum; sums of several threads are merged.
 */
typedef struct lf_exact_sum lf_exact_sum;

/*
 A field that a context holds. It may be used by several threads at once, which then wait for each other.
 */
typedef struct lf_field lf_field;

/*
 An operator on a configuration. It may be used by several threads at once, which then wait for each other.
 */
typedef struct lf_operator lf_operator;

/*
 An OpenCL device. Set `size` before the call.
 */
typedef struct lf_device {
  /*
   sizeof(lf_device): what the caller knows of it. Later versions add members at the end.
   */
  size_t size;
  /*
   Its name, cut where it is too long.
   */
  char name[LF_NAME_LENGTH];
  /*
   The name of its platform: of the driver's family.
   */
  char platform[LF_NAME_LENGTH];
  /*
   Version of the driver.
   */
  char driver[LF_NAME_LENGTH];
  /*
   What kind of processor: an lf_device_kind.
   */
  int32_t kind;
  /*
   1 if it can run lattice kernels, else 0: no double precision, say.
   */
  int32_t usable;
  /*
   Number of compute units.
   */
  uint32_t compute_units;
  /*
   Highest clock in MHz; 0 where the driver does not tell.
   */
  uint32_t clock_mhz;
  /*
   Global memory in bytes.
   */
  uint64_t memory_bytes;
} lf_device;

/*
 A parameter of an operator by name: a number, or a text where `text` is not null.
 */
typedef struct lf_parameter {
  /*
   Its name, "mass" say.
   */
  const char *name;
  /*
   Its value.
   */
  double number;
  /*
   Its value as text, "1,1,1,-1" say; null for the number.
   */
  const char *text;
} lf_parameter;

/*
 What a comparison found. Set `size` before the call.
 */
typedef struct lf_report {
  /*
   sizeof(lf_report): what the caller knows of it. Later versions add members at the end.
   */
  size_t size;
  /*
   Real numbers compared: those of the sites of the result.
   */
  uint64_t compared;
  /*
   How many of them have other bits. Any NaN is the same as any other; +0 and -0 differ.
   */
  uint64_t differing;
  /*
   The largest distance in units in the last place; UINT64_MAX where one of the two is NaN.
   */
  uint64_t most_ulp;
  /*
   The site of the first that differs, in site order: x, y, z, t. Meaningless, as all that follows, where none does.
   */
  int32_t site[4];
  /*
   Its coordinate along the fifth dimension; -1 where there is none.
   */
  int32_t s;
  /*
   Its spin; of colour vectors the number of the vector.
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
   The caller's number; of f32 as a double, exactly.
   */
  double found;
  /*
   The reference's.
   */
  double expected;
  /*
   The bits of the caller's number; of f32 in the lower half.
   */
  uint64_t found_bits;
  /*
   The bits of the reference's.
   */
  uint64_t expected_bits;
  /*
   The distance of the two in units in the last place; UINT64_MAX where one is NaN.
   */
  uint64_t ulp;
  /*
   All of this in words.
   */
  char text[LF_REPORT_LENGTH];
  /*
   What the pattern of the differences tells of their cause, the most certain first; A is the caller's array, B the reference's. Empty where it
   tells nothing.
   */
  char cause[LF_REPORT_LENGTH];
} lf_report;

/*
 Called before the first iteration, with number 0, and after each: with the iterations so far and |r|/|b| of the recurrence, of a batch that of
 the right-hand side that takes longest. Where it returns anything but 0, the solve ends with LF_STOPPED. It is called by the thread that called
 lf_solve(), and must return: neither longjmp nor an exception may leave it.
 */
typedef int32_t (*lf_progress)(void *user, uint64_t iteration, double residual);

/*
 How to solve. Set all to zero, and then `size`: what is zero has its default.
 */
typedef struct lf_solve_options {
  /*
   sizeof(lf_solve_options): what the caller knows of it. Later versions add members at the end.
   */
  size_t size;
  /*
   "cg" (if null): conjugate gradients, on the normal equations where the operator is not positive; "block-cg": the same of all right-hand sides
   in one block; "mixed-f32", "mixed-half": the same with
   reliable updates of a recurrence in f32 or half precision, for solutions in f64; "bicgstab".
   */
  const char *method;
  /*
   1: solve M itself, not the even-odd Schur complement.
   */
  int32_t unpreconditioned;
  /*
   An lf_precision: that of the recurrence and the solution.
   */
  int32_t precision;
  /*
   Stop when |r| <= tolerance |b|; 0: 1e-10 in f64, 1e-6 in f32.
   */
  double tolerance;
  /*
   Give up after so many iterations; 0: 10000.
   */
  uint64_t max_iterations;
  /*
   Give up after so many iterations in which |r| reached no new low; 0: 1000.
   */
  uint64_t patience;
  /*
   Right-hand sides, which lie one after the other in the arrays; 0: 1. Several are solved together, by cg and block-cg alone.
   */
  uint64_t right_hand_sides;
  /*
   Is called as the solve goes on; may be null.
   */
  lf_progress progress;
  /*
   The first argument of it.
   */
  void *user;
} lf_solve_options;

/*
 What a solve took. Set all to zero, then `size`, and `history` and `history_room`, `source_scales` and `source_scales_room` if you want these
 arrays, before the call.
 */
typedef struct lf_solve_info {
  /*
   sizeof(lf_solve_info): what the caller knows of it. Later versions add members at the end.
   */
  size_t size;
  /*
   Receives |r|² of the recurrence after each iteration of the first right-hand side, that of the guess first, as many as there is room for; may
   be null.
   */
  double *history;
  /*
   Numbers that there is room for.
   */
  uint64_t history_room;
  /*
   Numbers that the history has: one more than iterations.
   */
  uint64_t history_length;
  /*
   Iterations; of a batch the most.
   */
  uint64_t iterations;
  /*
   |r|/|b| of the recurrence at its end; of a batch the largest.
   */
  double residual;
  /*
   |b - A x|/|b| of the system that was solved, computed anew in f64; NaN where there was no room for that. Of a batch the largest.
   */
  double true_residual;
  /*
   |η - M ψ|/|η| on the whole lattice, in f64, likewise.
   */
  double solution_residual;
  /*
   Wall time of the recurrence in seconds, without that of building kernels.
   */
  double seconds;
  /*
   Wall time of building kernels in seconds.
   */
  double building_seconds;
  /*
   Floating-point operations of the recurrence.
   */
  uint64_t flops;
  /*
   Bytes that the recurrence has to move at least.
   */
  uint64_t bytes;
  /*
   The power of two that the first source was multiplied by for the solve, and each |r|² of the history twice; 0 unless its numbers are very small
   or large. Each source of a batch has a power of its own.
   */
  int64_t source_scale;
  /*
   Receives the power of each right-hand side, as many as there is room for; may be null.
   */
  int64_t *source_scales;
  /*
   Numbers that there is room for.
   */
  uint64_t source_scales_room;
} lf_solve_info;

/*
 What golden data are to hold. Set all to zero, and then `size`: what is zero has its default.
 */
typedef struct lf_golden_options {
  /*
   sizeof(lf_golden_options): what the caller knows of it. Later versions add members at the end.
   */
  size_t size;
  /*
   Names of kernels or families of them, with commas between, "hop,eo_clover" say; null for all.
   */
  const char *kernels;
  /*
   Precisions of results, with commas between, "f32,f64,half" say; null for all.
   */
  const char *precisions;
  /*
   Boundary phases in x,y,z,t; null for "1,1,1,-1".
   */
  const char *boundary;
  /*
   The order in which the hop adds its legs; null for the usual one.
   */
  const char *legs;
  /*
   The lattice, of even extents; zeros for 4.6.2.8.
   */
  int32_t extents[4];
  /*
   1: replace a directory that holds golden data.
   */
  int32_t replace;
  /*
   Of links, fields and scalars; 0 for 1.
   */
  uint64_t seed;
} lf_golden_options;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Why the last call of this thread did not return LF_OK: one sentence without a full stop, in UTF-8; empty after a success that left nothing to say.
 The text belongs to the library, and stays until the next call of any function of the library by this thread.
 */
const char *lf_last_error(void);

/*
 The name of a status, "LF_OK" say; "unknown status" for numbers that are none. The text is never freed.
 */
const char *lf_status_name(int32_t status);

/*
 The version of the library that is running: major · 65536 + minor · 256 + patch.
 */
uint32_t lf_version(void);

/*
 Counts the OpenCL devices of the machine, usable or not. Where there is no OpenCL, `count` is 0, the status LF_OK, and lf_last_error() says what
 is missing. Drivers are asked once in a process.
 */
lf_status lf_device_count(int32_t *count);

/*
 Tells whether a launcher (Slurm, Open MPI, MPICH and others, by their environment variables) started this process with others. The library shares
 no work among processes: each does all that it is asked. `rank`: the number of this process, 0 if it is alone. `processes`: how many there are; 1
 if it is alone, 0 if there are several and the launcher does not say how many.
 */
lf_status lf_launched(uint64_t *rank,
                      uint64_t *processes);

/*
 Tells what is known of device number `index`, from 0 on. `device->size` must be set.

 Errors: LF_INVALID_ARGUMENT where there is no such device.
 */
lf_status lf_device_info(int32_t index, struct lf_device *device);

/*
 Makes a context.

 `device`: null or "cpu" for the CPU reference; "auto" for the first GPU, else any OpenCL device, else the CPU reference; a number as
 lf_device_info() counts; or part of the name of a device or its platform, as "nvidia" or "nvidia:1" (the second); where "auto" is the CPU reference,
 lf_last_error() says why. `threads`: threads of the CPU, 1 to 512; 0 for as many as
 RAYON_NUM_THREADS says, else as there are cores. None of it changes a bit of any result. An OpenCL device is asked for its arithmetic here: see
 lf_context_why_not_bitwise().

 `context` receives the context, to be freed by lf_context_free().

 Errors: LF_DEVICE where there is no such device; LF_INVALID_ARGUMENT; LF_OUT_OF_MEMORY where the threads cannot be started.
 */
lf_status lf_context_create(const char *device,
                            int32_t threads,
                            struct lf_context **context);

/*
 Frees a context; null is ignored. What was made with it may be used on, and freed later: threads and device go with the last of it.
 */
void lf_context_free(struct lf_context *context);

/*
 One line about a context: the device and its driver, or the CPU's threads and vector instructions. The text belongs to the context.
 */
lf_status lf_context_describe(const struct lf_context *context,
                              const char **text);

/*
 Why the results of a context's device cannot be called the same bits as the reference's: what its arithmetic does otherwise than the standard, in
 one sentence. `text` receives null if nothing is known against it. The text belongs to the context.
 */
lf_status lf_context_why_not_bitwise(const struct lf_context *context,
                                     const char **text);

/*
 Makes the free field on a lattice: every link is 1. `extents`: sites in x, y, z, t. `configuration` receives it, to be freed by
 lf_configuration_free().
 */
lf_status lf_configuration_unit(const struct lf_context *context,
                                const int32_t *extents,
                                struct lf_configuration **configuration);

/*
 Makes random SU(3) links, uniform in the group. A link depends on the seed, its site number and its direction alone: the same links everywhere.
 */
lf_status lf_configuration_hot(const struct lf_context *context,
                               const int32_t *extents,
                               uint64_t seed,
                               struct lf_configuration **configuration);

/*
 Makes links near 1: exponentials of Gaussian algebra elements of width `spread`, 0.1 say. A link depends on the arguments, its site number and
 its direction alone.
 */
lf_status lf_configuration_weak(const struct lf_context *context,
                                const int32_t *extents,
                                uint64_t seed,
                                double spread,
                                struct lf_configuration **configuration);

/*
 Makes a configuration from its links, which are copied.

 `links`: `reals` = 72 numbers a site, ((((site · 4 + mu) · 3 + row) · 3 + column) · 2 + (0 re, 1 im), with the site's number x + X·(y + Y·(z +
 Z·t)) and mu 0 to 3 for x, y, z, t. `tolerance`: how far links may be from SU(3), max |U U† − 1| and |det U − 1|: 1e-5 is what files are read
 with. Below 0 links are not checked, but that they are finite; operators with links of 8 reals then refuse those that are not in SU(3).

 Errors: LF_INVALID_ARGUMENT for another number of reals, and with the site of a link that is not in SU(3).
 */
lf_status lf_configuration_from_links(const struct lf_context *context,
                                      const int32_t *extents,
                                      const double *links,
                                      size_t reals,
                                      double tolerance,
                                      struct lf_configuration **configuration);

/*
 Reads a configuration from a file: NERSC, ILDG, SciDAC, MILC, openQCD, DD-αAMG or HiRep, or a NumPy or HDF5 array (T, Z, Y, X, 4, 3, 3), complex64 or complex128, which
 its first bytes tell. All that the file says of itself is checked. Links must be in SU(3) within 1e-5.

 Errors: LF_FILE, with what is wrong.
 */
lf_status lf_configuration_read(const struct lf_context *context,
                                const char *path,
                                struct lf_configuration **configuration);

/*
 As lf_configuration_read(). `extents`: those of a file that does not say them, a LIME file with nothing but links; null of others. `projection`: "polar" or
 "max-re-tr" brings the links to SU(3), however far from it they are; null leaves them.
 */
lf_status lf_configuration_read_as(const struct lf_context *context,
                                   const char *path,
                                   const int32_t *extents,
                                   const char *projection,
                                   struct lf_configuration **configuration);

/*
 Writes a configuration to a file in the format that its name says: .nersc (or no extension), .lime (ILDG), .milc (32 bits), .npy, .h5; the file is there
 whole or not at all. One that is there already is replaced. Of a configuration that was read the numbers are those of its file, and its labels go with
 it: what the format cannot say of them is in a sidecar, PATH.json.

 Errors: LF_FILE, with what is wrong.
 */
lf_status lf_configuration_write(const struct lf_configuration *configuration,
                                 const char *path);

/*
 As lf_configuration_write(), in the format "nersc", "ildg", "milc", "npy" or "hdf5", whatever the name says; null: as it says.
 */
lf_status lf_configuration_write_as(const struct lf_configuration *configuration,
                                    const char *path,
                                    const char *format);

/*
 Frees a configuration; null is ignored. Operators that were made with it may be used on.
 */
void lf_configuration_free(struct lf_configuration *configuration);

/*
 Tells the extents of a configuration: `extents` receives four numbers, of x, y, z, t.
 */
lf_status lf_configuration_extents(const struct lf_configuration *configuration, int32_t *extents);

/*
 Copies the links of a configuration to `links`, which has room for `reals` = 72 numbers a site, in the order of lf_configuration_from_links().
 */
lf_status lf_configuration_links(const struct lf_configuration *configuration,
                                 double *links,
                                 size_t reals);

/*
 Computes the average plaquette, Re tr P / 3 over all sites and planes: 1 for the free field. The exact sum, rounded once: the same bits everywhere.
 */
lf_status lf_configuration_plaquette(const struct lf_configuration *configuration,
                                     double *value);

/*
 Computes the link trace, Re tr U / 3 over all links: 1 for the free field. The exact sum, rounded once.
 */
lf_status lf_configuration_link_trace(const struct lf_configuration *configuration, double *value);

/*
 Makes an operator on a configuration.

 `name`: one that lf_operator_name() lists: an operator ("wilson"), with the parameters that the command `lanefield solve --help` tells (mass, csw,
 mu, ls, m5, …), those without a default required; or the kernel of a hop ("hop"), which has none. All take "boundary" (text, phases in x,y,z,t: 1, -1, 0 for fixed, or an angle, "0.25pi" for
 psi(x + L) = exp(i pi/4) psi(x), which needs 18 reals a link; "1,1,1,-1" if not given),
 "reconstruct" (18, 12 or 8: reals stored a link; part of the definition, since it changes the last bits) and "legs" (text, the order in which the
 hop adds its legs).

 `parameters`: `count` of them; null if `count` is 0. `op`: receives the operator, to be freed by lf_operator_free(). Its parts are made when they
 are first applied, and kept; configuration and context may be freed before.

 Errors: LF_INVALID_ARGUMENT for a name, a parameter or a value that is not known, with those that are.
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
 The name of operator number `index` of those that lf_operator_create() knows, from 0 on; null where there are no more. The text is never freed.
 */
const char *lf_operator_name(size_t index);

/*
 Tells an operator with its parameters, "clover, mass 0.1, csw 1.3" say. The text belongs to the operator.
 */
lf_status lf_operator_describe(const struct lf_operator *op, const char **text);

/*
 Tells how many real numbers the arrays have that an operator acts on: 2 · words a site · sites. A site has 12 complex words for a spinor (spin,
 then colour), 12·Ls in five dimensions (s, spin, colour), and 3·n for n colour vectors.
 */
lf_status lf_operator_reals(const struct lf_operator *op,
                            size_t *reals);

/*
 result = operator · source, in f64, with the bits that docs/arithmetic.md defines.

 `piece`: an lf_piece. `sites`: an lf_sites: LF_ALL_SITES for LF_FULL (of a hop any), the sites of the result for a piece; LF_MPC is on the odd
 ones. `dagger`: 1 for the Hermitian conjugate, else 0. `source`, `result`: `reals` numbers each, as many as lf_operator_reals() tells: the whole
 lattice in site order, x fastest, then y, z, t; of each site its words, of each word re and im. Of a piece only the sites that it reads matter,
 and the result is +0 where it does not live. The two arrays may be the same one.

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
 The same in f32.
 */
lf_status lf_operator_apply_f32(const struct lf_operator *op,
                                int32_t piece,
                                int32_t sites,
                                int32_t dagger,
                                const float *source,
                                float *result,
                                size_t reals);

/*
 Compares `result`, which the caller computed from `source`, with what the CPU reference computes, whatever the context. The arguments are those
 of lf_operator_apply_f64(). On sites where a piece has no result nothing is compared. `report->size` must be set; all else in `report` is
 written.

 Returns LF_OK if all bits are the same, LF_DIFFERENT if not (lf_last_error() then has the text of the report), or what is wrong with the arguments.
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
 The same in f32.
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
 Compares a Wilson hop (docs/arithmetic.md §6) with the reference's, as lf_check_operator_f64() would with the operator "hop". `parameters`:
 `count` of "boundary", "reconstruct" and "legs", as of lf_operator_create(). `sites`: those of the result, an lf_sites. `source`, `result`: 24
 real numbers a site each, `reals` in all.
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
 The same in f32.
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
 norm2 = |x|², the exact sum over `count` objects of `words` complex words each, rounded once: of spinors `words` is 12 and `count` the number of
 sites (in five dimensions Ls times as many), of colour vectors 3. What an object contributes is rounded as docs/arithmetic.md §8 says; no order
 of objects, and no number of threads, changes a bit. `x`: 2 · count · words real numbers; `count` is of objects, not of real numbers as in
 lf_solve().
 */
lf_status lf_norm2_f64(const struct lf_context *context,
                       const double *x,
                       size_t count,
                       size_t words,
                       double *norm2);

/*
 The same of arrays in f32, whose numbers are promoted first.
 */
lf_status lf_norm2_f32(const struct lf_context *context, const float *x, size_t count, size_t words, double *norm2);

/*
 `inner[0]` + i·`inner[1]` = ⟨x, y⟩ = Σ conj(x) y over `count` objects of `words` complex words each; both parts are exact sums, rounded once, as in
 the norm. `x`, `y`: 2 · count · words real numbers each.
 */
lf_status lf_inner_f64(const struct lf_context *context,
                       const double *x,
                       const double *y,
                       size_t count,
                       size_t words,
                       double *inner);

/*
 The same of arrays in f32, whose numbers are promoted first.
 */
lf_status lf_inner_f32(const struct lf_context *context,
                       const float *x,
                       const float *y,
                       size_t count,
                       size_t words,
                       double *inner);

/*
 `sums[2·word]` and `sums[2·word + 1]` = the exact sums of re and im of each word over `count` objects of `words` complex words each, each rounded once.
 `x`: 2 · count · words real numbers; `sums` has room for 2 · words.
 */
lf_status lf_sum_f64(const struct lf_context *context,
                     const double *x,
                     size_t count,
                     size_t words,
                     double *sums);

/*
 The same of arrays in f32, whose numbers are promoted first.
 */
lf_status lf_sum_f32(const struct lf_context *context, const float *x, size_t count, size_t words, double *sums);

/*
 Makes an empty sum, to be freed by lf_exact_sum_free().
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
 Adds to a sum what `count` objects of `words` complex words contribute to |x|²: sums of several ranks are merged, and then rounded once.
 */
lf_status lf_exact_sum_add_norm2_f64(struct lf_exact_sum *sum,
                                     const double *x,
                                     size_t count,
                                     size_t words);

/*
 The same of arrays in f32, whose numbers are promoted first.
 */
lf_status lf_exact_sum_add_norm2_f32(struct lf_exact_sum *sum, const float *x, size_t count, size_t words);

/*
 Adds to two sums, which are not the same one, what objects contribute to the real and the imaginary part of ⟨x, y⟩.
 */
lf_status lf_exact_sum_add_inner_f64(struct lf_exact_sum *re,
                                     struct lf_exact_sum *im,
                                     const double *x,
                                     const double *y,
                                     size_t count,
                                     size_t words);

/*
 The same of arrays in f32, whose numbers are promoted first.
 */
lf_status lf_exact_sum_add_inner_f32(struct lf_exact_sum *re,
                                     struct lf_exact_sum *im,
                                     const float *x,
                                     const float *y,
                                     size_t count,
                                     size_t words);

/*
 Adds the terms of another sum, which stays as it is: exact, in any order.
 */
lf_status lf_exact_sum_merge(struct lf_exact_sum *sum, const struct lf_exact_sum *other);

/*
 Rounds the sum once, to nearest even; the sum stays as it is. No term gives +0.
 */
lf_status lf_exact_sum_round(const struct lf_exact_sum *sum, double *value);

/*
 Writes a sum down, as LF_EXACT_SUM_WORDS integers: equal sums have equal words. Words of several sums may be added up one by one as integers
 (MPI_SUM of MPI_INT64_T, say), of at most 2^31 of them; lf_exact_sum_set_words() then reads the total.

 `words` has room for LF_EXACT_SUM_WORDS integers.
 */
lf_status lf_exact_sum_words(const struct lf_exact_sum *sum,
                             int64_t *words);

/*
 Reads a sum from LF_EXACT_SUM_WORDS integers, in place of what it was.

 Errors: LF_INVALID_ARGUMENT for integers that no sum can have; the sum is then as it was.

 `words` has LF_EXACT_SUM_WORDS integers.
 */
lf_status lf_exact_sum_set_words(struct lf_exact_sum *sum, const int64_t *words);

/*
 Makes a source by its name, of what an operator acts on: the numbers that the commands `lanefield apply` and `lanefield source` take for the same one.

 `name`: "gauss:SEED", Gaussian numbers of variance 1 in each real; "z4:SEED", each number one of 1, i, -1, -i; "z2:SEED", 1 or -1 (with "SEED,t" on time
 slice t alone); "point:x,y,z,t,spin,colour", 1 there and 0 elsewhere (of colour vectors the component instead of the spin);
 "wall:t,spin,colour", 1 on a time slice; "momentum:nx,ny,nz,t,spin,colour", exp(ip·x) there with p = 2 pi n/L; or the file of a NumPy array
 (T, Z, Y, X, 4, 3), in five dimensions (Ls, T, Z, Y, X, 4, 3), of N colour vectors (T, Z, Y, X, N, 3). In five dimensions a point, a wall or a wave is at
 s = 0. `values` receives `reals` numbers in site order, as many as lf_operator_reals() tells.

 Errors: LF_INVALID_ARGUMENT for a name that is not known, and for a place or a spin that there is not; LF_FILE also for an array that is not the one
 that its sidecar describes; LF_OUT_OF_MEMORY.
 */
lf_status lf_source(const struct lf_operator *op,
                    const char *name,
                    double *values,
                    size_t reals);

/*
 Solves M ψ = η, on the device of the context that the operator was made with, or on the CPU reference.

 `source`: η, `reals` numbers in site order over the whole lattice, as many as lf_operator_reals() tells, times the right-hand sides; η is rounded
 to the precision of the solve. In five dimensions it is five-dimensional, too. `solution`: receives ψ, as many numbers (of a solve in f32 each is
 an f32, promoted); it may be the same array. It is written only where the status is LF_OK. `options`: may be null for the defaults. `info`: what
 the solve took; may be null.

 The solution is checked before it is given out: the true residual is computed anew in f64. Histories and solutions are the same bits on every
 device.

 Errors: LF_STOPPED by the progress function; LF_NOT_CONVERGED, with how the residual went; LF_NO_RESULT; LF_INVALID_ARGUMENT; LF_OUT_OF_MEMORY;
 LF_DEVICE.
 */
lf_status lf_solve(const struct lf_operator *op,
                   const double *source,
                   double *solution,
                   size_t reals,
                   const struct lf_solve_options *options,
                   struct lf_solve_info *info);

/*
 Makes a field of zeros that an operator acts on, where the operator's context computes.

 `sites`: an lf_sites; `precision`: an lf_precision. `field` receives it, to be freed by lf_field_free(). Operator and context may be freed before.

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
 Copies an array to a field in f64: `reals` numbers of the whole lattice in site order, as of lf_operator_apply_f64(), of which a field on one
 parity takes those of its sites.
 */
lf_status lf_field_upload_f64(struct lf_field *field,
                              const double *values,
                              size_t reals);

/*
 The same of a field in f32.
 */
lf_status lf_field_upload_f32(struct lf_field *field, const float *values, size_t reals);

/*
 Copies a field in f64 to an array of `reals` numbers, +0 on sites that the field does not live on. Waits until all that was asked of the field is
 done.
 */
lf_status lf_field_download_f64(const struct lf_field *field,
                                double *values,
                                size_t reals);

/*
 The same of a field in f32.
 */
lf_status lf_field_download_f32(const struct lf_field *field, float *values, size_t reals);

/*
 result = operator · source, of fields that lf_field_create() made with this operator, or with one on the same lattice that acts on the same
 objects, in one precision. `piece` and `dagger` are those of lf_operator_apply_f64(); on which sites is said by `result`.

 Errors: LF_INVALID_ARGUMENT also for fields on other sites than the piece reads and writes.
 */
lf_status lf_field_apply(const struct lf_operator *op,
                         int32_t piece,
                         int32_t dagger,
                         const struct lf_field *source,
                         struct lf_field *result);

/*
 to = from, of fields alike.
 */
lf_status lf_field_copy(const struct lf_field *from, struct lf_field *to);

/*
 out = a·x, of fields alike: each real number rounded once; a is rounded to their precision first (docs/arithmetic.md §7).
 */
lf_status lf_field_scale(double a,
                         const struct lf_field *x,
                         struct lf_field *out);

/*
 y = a·x + y, of fields alike: each real number one fused multiply-add; a is rounded to their precision first.
 */
lf_status lf_field_axpy(double a, const struct lf_field *x, struct lf_field *y);

/*
 norm2 = |x|²: the exact sum over the sites of the field, rounded once; the bits of lf_norm2_f64() of the downloaded array.
 */
lf_status lf_field_norm2(const struct lf_field *x,
                         double *norm2);

/*
 `inner[0]` + i·`inner[1]` = ⟨x, y⟩ of fields alike, which are not the same one, likewise.
 */
lf_status lf_field_inner(const struct lf_field *x, const struct lf_field *y, double *inner);

/*
 Writes golden data to a directory: inputs, intermediates and results of kernels as .npy files, with a manifest (docs/golden.md). All of it is a
 function of `options` alone: the same bytes on every device. It is made beside the directory first, and is there whole or not at all.

 `options`: may be null for the defaults: all kernels in all precisions, which takes seconds on a CPU and minutes on a device whose kernels are
 not built yet.

 Errors: LF_FILE where the directory holds something, or cannot be written; LF_INVALID_ARGUMENT; LF_DEVICE.
 */
lf_status lf_golden_export(const struct lf_context *context,
                           const char *directory,
                           const struct lf_golden_options *options);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LANEFIELD_H */
