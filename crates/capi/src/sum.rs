//! Exact sums of arrays, rounded once (`docs/arithmetic.md` §8), and accumulating sums, which several threads or ranks can merge.

use lanefield::reference::ensure;
use lanefield::reference::exact::{ExactSum, WORDS};
use lanefield::reference::kernels::Vectors;
use num_complex::Complex;
use rayon::prelude::*;

use crate::context::lf_context;
use crate::pointer::{array, complex, free, give, handle, handle_mut, put, room, write};
use crate::status::{Failure, Outcome, guarded, lf_status, quietly};

/// Number of words of a serialised sum: lf_exact_sum_words().
pub const LF_EXACT_SUM_WORDS: usize = 72;

const _: () = assert!(LF_EXACT_SUM_WORDS == WORDS);

/// An accumulating exact sum of doubles. Only one thread at a time may use a sum; several threads use one each, and merge them.
pub struct lf_exact_sum(ExactSum);

/// The number of site objects that a task sums.
const OBJECTS_A_TASK: usize = 1 << 12;

/// An array of `objects` site objects of `words` complex words each.
///
/// # Safety
/// As [`array`].
unsafe fn objects<'a, R: Vectors>(
    x: *const R,
    (objects, words): (usize, usize),
    name: &str,
) -> Outcome<&'a [Complex<R>]> {
    ensure!(words != 0, Failure::argument("0 words in an object: a spinor has 12, a colour vector 3"));
    let reals = objects.checked_mul(words).and_then(|words| words.checked_mul(2));
    let reals = reals.ok_or_else(|| Failure::argument(format!("{objects} objects of {words} words are too many")))?;
    // SAFETY: the caller's promise.
    Ok(complex(unsafe { array(x, reals, name) }?))
}

fn norm2_of<R: Vectors>(object: &[Complex<R>]) -> f64 {
    object.iter().flat_map(|z| [z.re.to_f64(), z.im.to_f64()]).fold(0.0, |s, x| fused(x, x, s))
}

fn inner_of<R: Vectors>(x: &[Complex<R>], y: &[Complex<R>]) -> (f64, f64) {
    x.iter().zip(y).fold((0.0, 0.0), |(re, im), (x, y)| {
        let [xr, xi, yr, yi] = [x.re, x.im, y.re, y.im].map(R::to_f64);
        let re = fused(xi, yi, fused(xr, yr, re));
        (re, fused(-xi, yr, fused(xr, yi, im)))
    })
}

/// a·b + c, rounded once.
fn fused(a: f64, b: f64, c: f64) -> f64 {
    lanefield::reference::real::Real::fused(a, b, c)
}

/// Exact sums over objects with `N` contributions each, in tasks on the thread pool in which it is called.
fn sums<const N: usize>(objects: usize, contributions: impl Fn(usize) -> [f64; N] + Sync) -> [ExactSum; N] {
    let none = || std::array::from_fn::<_, N, _>(|_| ExactSum::new());
    let of_task = |task: usize| {
        let mut sums = none();
        for object in task * OBJECTS_A_TASK..objects.min((task + 1) * OBJECTS_A_TASK) {
            for (sum, term) in sums.iter_mut().zip(contributions(object)) {
                sum.add(term);
            }
        }
        sums
    };
    // Merging is exact: the order of the tasks does not matter.
    (0..objects.div_ceil(OBJECTS_A_TASK)).into_par_iter().map(of_task).reduce(none, |mut left, right| {
        left.iter_mut().zip(&right).for_each(|(left, right)| left.merge(right));
        left
    })
}

fn norm2<R: Vectors>(x: &[Complex<R>], words: usize) -> ExactSum {
    let [sum] = sums(x.len() / words, |object| [norm2_of(&x[object * words..][..words])]);
    sum
}

fn inner<R: Vectors>(x: &[Complex<R>], y: &[Complex<R>], words: usize) -> [ExactSum; 2] {
    sums(x.len() / words, |object| {
        let (re, im) = inner_of(&x[object * words..][..words], &y[object * words..][..words]);
        [re, im]
    })
}

/// The sums of re and im for each word.
fn sums_of_words<R: Vectors>(x: &[Complex<R>], words: usize) -> Vec<ExactSum> {
    let of_word = |word: usize| {
        sums(x.len() / words, |object| {
            let z = x[object * words + word];
            [z.re.to_f64(), z.im.to_f64()]
        })
    };
    (0..words).flat_map(of_word).collect()
}

/// Writes sums over arrays, each rounded once.
unsafe fn write_sums<R: Vectors, S: AsRef<[ExactSum]>, const N: usize>(
    context: *const lf_context,
    arrays: [(&str, *const R); N],
    (count, words): (usize, usize),
    (name, values): (&str, *mut f64),
    sums: impl FnOnce([&[Complex<R>]; N]) -> S + Send,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        room(values, name)?;
        let context = &handle(context, "context")?.0;
        let mut read = [&[][..]; N];
        for (read, (name, array)) in read.iter_mut().zip(arrays) {
            *read = objects(array, (count, words), name)?;
        }
        let rounded: Vec<f64> = context.install(|| sums(read).as_ref().iter().map(ExactSum::round).collect());
        write(values, &rounded, name)
    })
}

unsafe fn add_norm2<R: Vectors>(sum: *mut lf_exact_sum, x: *const R, (count, words): (usize, usize)) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let (sum, x) = (handle_mut(sum, "sum")?, objects(x, (count, words), "x")?);
        x.chunks_exact(words).for_each(|object| sum.0.add(norm2_of(object)));
        Ok(())
    })
}

unsafe fn add_inner<R: Vectors>(
    [re, im]: [*mut lf_exact_sum; 2],
    [x, y]: [*const R; 2],
    (count, words): (usize, usize),
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        two(re, im)?;
        let (re, im) = (handle_mut(re, "re")?, handle_mut(im, "im")?);
        let (x, y) = (objects(x, (count, words), "x")?, objects(y, (count, words), "y")?);
        for (x, y) in x.chunks_exact(words).zip(y.chunks_exact(words)) {
            let (of_re, of_im) = inner_of(x, y);
            re.0.add(of_re);
            im.0.add(of_im);
        }
        Ok(())
    })
}

/// norm2 = |x|²: the exact sum over `count` objects of `words` complex words each, rounded once.
///
/// For spinors `words` is 12 and `count` the number of sites (in five dimensions Ls times that); for colour vectors `words` is 3. `x`: 2 ·
/// count · words real numbers. `count` is the number of objects, not of real numbers as in lf_solve(). The contribution of an object is
/// rounded as docs/arithmetic.md §8 says. Neither the order of the objects nor the number of threads changes a bit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_norm2_f64(
    context: *const lf_context,
    x: *const f64,
    count: usize,
    words: usize,
    norm2: *mut f64,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { write_sums(context, [("x", x)], (count, words), ("norm2", norm2), |[x]| [self::norm2(x, words)]) }
}

/// As lf_norm2_f64(), for arrays in f32, whose numbers are promoted first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_norm2_f32(
    context: *const lf_context,
    x: *const f32,
    count: usize,
    words: usize,
    norm2: *mut f64,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { write_sums(context, [("x", x)], (count, words), ("norm2", norm2), |[x]| [self::norm2(x, words)]) }
}

/// `inner[0]` + i·`inner[1]` = ⟨x, y⟩ = Σ conj(x) y over `count` objects of `words` complex words each. Both parts are exact sums, rounded
/// once, as in lf_norm2_f64(). `x`, `y`: 2 · count · words real numbers each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_inner_f64(
    context: *const lf_context,
    x: *const f64,
    y: *const f64,
    count: usize,
    words: usize,
    inner: *mut f64,
) -> lf_status {
    let arrays = [("x", x), ("y", y)];
    // SAFETY: the caller's promise.
    unsafe { write_sums(context, arrays, (count, words), ("inner", inner), |[x, y]| self::inner(x, y, words)) }
}

/// As lf_inner_f64(), for arrays in f32, whose numbers are promoted first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_inner_f32(
    context: *const lf_context,
    x: *const f32,
    y: *const f32,
    count: usize,
    words: usize,
    inner: *mut f64,
) -> lf_status {
    let arrays = [("x", x), ("y", y)];
    // SAFETY: the caller's promise.
    unsafe { write_sums(context, arrays, (count, words), ("inner", inner), |[x, y]| self::inner(x, y, words)) }
}

/// `sums[2·word]` and `sums[2·word + 1]` = the exact sums of re and im of each word, over `count` objects of `words` complex words each.
/// Each is rounded once. `x`: 2 · count · words real numbers; `sums` has room for 2 · words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_sum_f64(
    context: *const lf_context,
    x: *const f64,
    count: usize,
    words: usize,
    sums: *mut f64,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { write_sums(context, [("x", x)], (count, words), ("sums", sums), |[x]| sums_of_words(x, words)) }
}

/// As lf_sum_f64(), for arrays in f32, whose numbers are promoted first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_sum_f32(
    context: *const lf_context,
    x: *const f32,
    count: usize,
    words: usize,
    sums: *mut f64,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { write_sums(context, [("x", x)], (count, words), ("sums", sums), |[x]| sums_of_words(x, words)) }
}

/// Refuses the same sum as both arguments.
fn two(a: *const lf_exact_sum, b: *const lf_exact_sum) -> Outcome<()> {
    if std::ptr::eq(a, b) { Err(Failure::argument("the two sums are the same one")) } else { Ok(()) }
}

/// Creates an empty sum; free it with lf_exact_sum_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_exact_sum_create(sum: *mut *mut lf_exact_sum) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { give(sum, lf_exact_sum(ExactSum::new()), "sum") })
}

/// Frees a sum; null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_exact_sum_free(sum: *mut lf_exact_sum) {
    // SAFETY: the caller's promise.
    quietly((), || unsafe { free(sum) });
}

/// Adds one term.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_exact_sum_add(sum: *mut lf_exact_sum, term: f64) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { handle_mut(sum, "sum").map(|sum| sum.0.add(term)) })
}

/// Adds `count` terms.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_exact_sum_add_array(sum: *mut lf_exact_sum, terms: *const f64, count: usize) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let (sum, terms) = (handle_mut(sum, "sum")?, array(terms, count, "terms")?);
        sum.0.add_slice(terms);
        Ok(())
    })
}

/// Adds the contributions of `count` objects of `words` complex words to |x|². Several ranks can merge their sums, and then round once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_exact_sum_add_norm2_f64(
    sum: *mut lf_exact_sum,
    x: *const f64,
    count: usize,
    words: usize,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { add_norm2(sum, x, (count, words)) }
}

/// As lf_exact_sum_add_norm2_f64(), for arrays in f32, whose numbers are promoted first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_exact_sum_add_norm2_f32(
    sum: *mut lf_exact_sum,
    x: *const f32,
    count: usize,
    words: usize,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { add_norm2(sum, x, (count, words)) }
}

/// Adds the contributions of objects to the real and the imaginary part of ⟨x, y⟩ to two different sums.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_exact_sum_add_inner_f64(
    re: *mut lf_exact_sum,
    im: *mut lf_exact_sum,
    x: *const f64,
    y: *const f64,
    count: usize,
    words: usize,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { add_inner([re, im], [x, y], (count, words)) }
}

/// As lf_exact_sum_add_inner_f64(), for arrays in f32, whose numbers are promoted first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_exact_sum_add_inner_f32(
    re: *mut lf_exact_sum,
    im: *mut lf_exact_sum,
    x: *const f32,
    y: *const f32,
    count: usize,
    words: usize,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { add_inner([re, im], [x, y], (count, words)) }
}

/// Adds the terms of another sum, which does not change. Merging is exact, in any order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_exact_sum_merge(sum: *mut lf_exact_sum, other: *const lf_exact_sum) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        two(sum, other)?;
        let (sum, other) = (handle_mut(sum, "sum")?, handle(other, "other")?);
        sum.0.merge(&other.0);
        Ok(())
    })
}

/// Rounds the sum once, to nearest even; the sum itself does not change. A sum without terms is +0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_exact_sum_round(sum: *const lf_exact_sum, value: *mut f64) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { put(value, handle(sum, "sum")?.0.round(), "value") })
}

/// Serialises a sum as LF_EXACT_SUM_WORDS integers. Equal sums have equal words. The words of up to 2^31 sums may be added as integers,
/// element by element (for example with MPI_SUM of MPI_INT64_T). lf_exact_sum_set_words() then reads the total.
///
/// `words` has room for LF_EXACT_SUM_WORDS integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_exact_sum_words(sum: *const lf_exact_sum, words: *mut i64) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe { write(words, &handle(sum, "sum")?.0.to_words(), "words") })
}

/// Replaces a sum by one that is read from LF_EXACT_SUM_WORDS integers.
///
/// Errors: LF_INVALID_ARGUMENT for integers that no sum can have; the sum is then unchanged.
///
/// `words` has LF_EXACT_SUM_WORDS integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_exact_sum_set_words(sum: *mut lf_exact_sum, words: *const i64) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let (sum, words) = (handle_mut(sum, "sum")?, array(words, LF_EXACT_SUM_WORDS, "words")?);
        sum.0 = ExactSum::from_words(words).map_err(|error| Failure::argument(error.to_string()))?;
        Ok(())
    })
}
