//! Solves M ψ = η for arrays, on the CPU reference or on the context's device.

use std::ffi::{c_char, c_void};
use std::sync::mpsc;

use lanefield::backend::Memory as _;
use lanefield::dynamic::Applicable;
use lanefield::operator::AnyModel;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::LaneChoice;
use lanefield::reference::real::Precision;
use lanefield::solver::{
    Method, Preconditioning, Recurrence, Solve, SolvedRhs, SolverInfo, SolverParams, Stopped, UnknownMethod, Watcher,
    Watchers, solve_from,
};
use num_complex::Complex;

use crate::operator::{lf_operator, precision_of};
use crate::pointer::{array, complex, handle, room, text_or_none, write};
use crate::status::{Failure, Outcome, guarded, lf_status};
use crate::struct_size::{Growing, check_sized, get_sized, put_sized};

/// The type of a function that is called before the first iteration, with `iteration` 0, and after each iteration. `residual`: |r|/|b| of
/// the recurrence; of a batch, that of the right-hand side that takes longest. If it returns anything but 0, the solve ends with
/// LF_STOPPED. The thread that called lf_solve() calls it. It must return: neither longjmp nor an exception may leave it.
pub type lf_progress = Option<unsafe extern "C" fn(user: *mut c_void, iteration: u64, residual: f64) -> i32>;

/// The precision of a solve.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum lf_precision {
    /// 64-bit floating point.
    LF_F64 = 0,
    /// 32-bit floating point.
    LF_F32 = 1,
}

/// How to solve. Set everything to zero, and then `size`: zero means the default.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lf_solve_options {
    /// sizeof(lf_solve_options), set by the caller. Later versions add members at the end.
    pub size: usize,
    /// The solver; null for "cg".
    /// - "cg": conjugate gradients, on the normal equations if the operator is not positive
    /// - "block-cg": the same for all right-hand sides in one block
    /// - "mixed-f32", "mixed-half": the same in f64, with a recurrence in f32 or half precision and reliable updates
    /// - "bicgstab"
    pub method: *const c_char,
    /// 1: solve with M itself instead of the even-odd Schur complement.
    pub unpreconditioned: i32,
    /// An lf_precision: the precision of the recurrence and the solution.
    pub precision: i32,
    /// The solve ends when |r| <= tolerance |b|; 0 means 1e-10 in f64 and 1e-6 in f32.
    pub tolerance: f64,
    /// The maximum number of iterations; 0 means 10000.
    pub max_iterations: u64,
    /// The solve fails after this number of iterations without a new minimum of |r|; 0 means 1000.
    pub patience: u64,
    /// The number of right-hand sides, which are stored one after the other in the arrays; 0 means 1. Only cg and block-cg solve several.
    pub right_hand_sides: u64,
    /// Called during the solve; may be null.
    pub progress: lf_progress,
    /// The first argument of `progress`.
    pub user: *mut c_void,
}

impl Growing for lf_solve_options {
    const NAME: &'static str = "lf_solve_options";
}

/// The results of a solve, apart from the solution. Before the call, set everything to zero, then `size`. If you want the arrays, also set
/// `history` and `history_room`, and `source_scales` and `source_scales_room`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lf_solve_info {
    /// sizeof(lf_solve_info), set by the caller. Later versions add members at the end.
    pub size: usize,
    /// Receives |r|² of the recurrence for the first right-hand side: that of the guess, then that after each iteration. At most
    /// `history_room` numbers are written; may be null.
    pub history: *mut f64,
    /// The number of elements of `history`.
    pub history_room: u64,
    /// The length of the history: the number of iterations plus one.
    pub history_length: u64,
    /// The number of iterations; of a batch the largest.
    pub iterations: u64,
    /// |r|/|b| of the recurrence at the end; of a batch the largest.
    pub residual: f64,
    /// |b - A x|/|b| of the system that was solved, recomputed in f64; NaN if there was not enough memory for that. Of a batch the largest.
    pub true_residual: f64,
    /// |η - M ψ|/|η| on the whole lattice, recomputed in f64; NaN if there was not enough memory for that. Of a batch the largest.
    pub solution_residual: f64,
    /// Wall time of the recurrence in seconds, without building kernels.
    pub seconds: f64,
    /// Wall time of building kernels in seconds.
    pub building_seconds: f64,
    /// Number of floating-point operations of the recurrence.
    pub flops: u64,
    /// Number of bytes that the recurrence must move at least.
    pub bytes: u64,
    /// The exponent of the power of two that multiplied the first source for the solve; each |r|² of the history is multiplied by the
    /// square of that power. 0 unless the source's numbers are very small or large. Each source of a batch has its own exponent.
    pub source_scale: i64,
    /// Receives the exponent for each right-hand side, at most `source_scales_room` of them; may be null.
    pub source_scales: *mut i64,
    /// The number of elements of `source_scales`.
    pub source_scales_room: u64,
}

impl Growing for lf_solve_info {
    const NAME: &'static str = "lf_solve_info";
}

/// The progress function asked to stop.
#[derive(Debug, thiserror::Error)]
#[error("the progress function stopped the solve after iteration {0}")]
struct StoppedByCaller(usize);

/// Asks the calling thread whether to continue.
struct Asking {
    tell: mpsc::SyncSender<(usize, f64)>,
    answer: mpsc::Receiver<bool>,
}

impl Watcher for Asking {
    fn begin(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.iteration(recurrence)
    }
    fn iteration(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.passed(recurrence.info())
    }
    fn passed(&mut self, info: &SolverInfo) -> Result<(), Stopped> {
        // If nobody listens, nobody can stop the solve.
        let told = self.tell.send((info.iterations, info.relative_residual()));
        match told.is_ok() && self.answer.recv().unwrap_or(false) {
            true => Err(Stopped(Box::new(StoppedByCaller(info.iterations)))),
            false => Ok(()),
        }
    }
    fn next_state(&self, _: usize) -> usize {
        usize::MAX
    }
}

/// The data of a solve that are reported.
struct Solved {
    /// The right-hand sides one after the other, in f64.
    solution: Vec<f64>,
    rhs: Vec<SolvedRhs>,
    seconds: f64,
    building: f64,
    flops: u64,
    bytes: u64,
}

/// The options of a solve with a model, on the backend of an operator's context.
fn how<R: Vectors>(
    operator: &lf_operator,
    model: AnyModel,
    options: &lf_solve_options,
    method: Method,
) -> Outcome<Solve<AnyModel>> {
    let mut params = SolverParams::auto::<R>();
    let invalid = |what: String| Err(Failure::argument(what));
    match options.tolerance {
        0.0 => (),
        tolerance if tolerance > 0.0 && tolerance < 1.0 => params.tolerance = tolerance,
        tolerance => {
            let expected = "expected more than 0 and less than 1, or 0 for the default";
            return invalid(format!("invalid tolerance {tolerance}: {expected}"));
        }
    }
    let count = |given: u64, default: usize| match given {
        0 => default,
        _ => usize::try_from(given).unwrap_or(usize::MAX),
    };
    params.max_iterations = count(options.max_iterations, params.max_iterations);
    params.patience = count(options.patience, params.patience);
    let preconditioning = match options.unpreconditioned {
        0 => Preconditioning::EvenOdd,
        1 => Preconditioning::None,
        other => return invalid(format!("invalid unpreconditioned {other}: expected 0 or 1")),
    };
    let lanes = operator.context.backend().lanes(LaneChoice::Auto);
    Ok(Solve { operator: model, preconditioning, method, params, lanes })
}

/// Solves for a number of right-hand sides on the backend of the context.
fn solved<R: Vectors>(
    operator: &lf_operator,
    how: &Solve<AnyModel>,
    (eta, rhs): (&[Complex<f64>], usize),
    watcher: &mut dyn Watcher,
) -> Outcome<Solved> {
    let (backend, words) = (operator.context.backend().as_ref(), how.operator.object().words());
    let eta = transposed(eta, rhs, words);
    let report = solve_from::<R, _, _>(backend, &operator.configuration, &eta, how, watcher, None)?;
    report.require_intact()?;
    let promoted = |z: &Complex<R>| Complex::new(z.re.to_f64(), z.im.to_f64());
    let promoted: Vec<Complex<f64>> = report.solution.iter().map(promoted).collect();
    let solution = bytemuck::cast_slice(&transposed(&promoted, promoted.len() / rhs / words, words)).to_vec();
    let (seconds, building, flops, bytes) = (report.seconds, report.building, report.flops, report.bytes);
    Ok(Solved { solution, rhs: report.rhs, seconds, building, flops, bytes })
}

/// Transposes a matrix of objects with `rows` rows. Turns separate right-hand sides into words that are together at each site, and the
/// reverse.
fn transposed(all: &[Complex<f64>], rows: usize, words: usize) -> Vec<Complex<f64>> {
    let columns = all.len() / rows / words;
    let object = |row: usize, column: usize| &all[(row * columns + column) * words..][..words];
    (0..columns).flat_map(|column| (0..rows).flat_map(move |row| object(row, column))).copied().collect()
}

/// Solves on the context's threads. If there is a progress function, the calling thread calls it during the solve.
fn solve_on<R: Vectors>(
    operator: &lf_operator,
    options: &lf_solve_options,
    method: Method,
    eta: (&[Complex<f64>], usize),
) -> Outcome<Solved> {
    operator.check_precision::<R>()?;
    let Applicable::Model(model) = operator.what else {
        return Err(Failure::argument("a hop cannot be solved: give an operator, for example \"wilson\""));
    };
    let how = &how::<R>(operator, model, options, method)?;
    let Some(progress) = options.progress else {
        return operator.context.install(|| solved::<R>(operator, how, eta, &mut Watchers::default()));
    };
    let (tell, told) = mpsc::sync_channel(0);
    let (answer, answers) = mpsc::sync_channel(0);
    std::thread::scope(|scope| {
        let solving = std::thread::Builder::new().name("lanefield solve".to_owned()).spawn_scoped(scope, move || {
            let mut watcher = Asking { tell, answer: answers };
            operator.context.install(|| solved::<R>(operator, how, eta, &mut watcher))
        });
        let solving = solving.map_err(|error| {
            Failure::new(lf_status::LF_OUT_OF_MEMORY, format!("failed to start a thread for the solve: {error}"))
        })?;
        for (iteration, residual) in told {
            // SAFETY: the caller's function, with the argument that goes with it.
            let stop = unsafe { progress(options.user, iteration as u64, residual) } != 0;
            if answer.send(stop).is_err() {
                break;
            }
        }
        solving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn method_of(name: Option<&str>) -> Outcome<Method> {
    name.map_or(Ok(Method::default()), |name| {
        name.parse().map_err(|error: UnknownMethod| Failure::argument(error.to_string()))
    })
}

/// The largest of some numbers; NaN if one of them is NaN.
fn worst(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |worst, number| if number.is_nan() || number > worst { number } else { worst })
}

/// Solves M ψ = η, on the device of the context that the operator was created with, or on the CPU reference.
///
/// `source`: η, `reals` numbers in site order over the whole lattice. `reals` is the number that lf_operator_reals() returns, times the
/// number of right-hand sides. η is rounded to the precision of the solve. For a five-dimensional operator it is five-dimensional, too.
/// `solution`: receives ψ, as many numbers (those of a solve in f32 are promoted to doubles). It may be the same array as `source`, and is
/// written only if the status is LF_OK. `options`: may be null for the defaults. `info`: receives the statistics of the solve; may be null.
///
/// The solution is checked before it is returned: the true residual is recomputed in f64. Histories and solutions have the same bits on
/// every device.
///
/// Errors: LF_STOPPED if the progress function stopped the solve; LF_NOT_CONVERGED, with the course of the residual; LF_NO_RESULT;
/// LF_INVALID_ARGUMENT; LF_OUT_OF_MEMORY; LF_DEVICE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_solve(
    op: *const lf_operator,
    source: *const f64,
    solution: *mut f64,
    reals: usize,
    options: *const lf_solve_options,
    info: *mut lf_solve_info,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        let operator = handle(op, "operator")?;
        room(solution, "solution")?;
        let options = get_sized(options)?;
        if !info.is_null() {
            check_sized(info)?;
        }
        let method = method_of(text_or_none(options.method, "method")?)?;
        let rhs = usize::try_from(options.right_hand_sides.max(1)).unwrap_or(usize::MAX);
        if !reals.is_multiple_of(rhs) {
            return Err(Failure::argument(format!("arrays of {reals} real numbers are not {rhs} right-hand sides")));
        }
        operator.check_reals(reals / rhs)?;
        let eta = complex(array(source, reals, "source")?);
        if let Some(place) = eta.iter().position(|z| !(z.re.is_finite() && z.im.is_finite())) {
            return Err(Failure::argument(format!("the source holds {} in complex number {place}", eta[place])));
        }
        let solved = match precision_of(options.precision)? {
            Precision::F32 => solve_on::<f32>(operator, &options, method, (eta, rhs)),
            _ => solve_on::<f64>(operator, &options, method, (eta, rhs)),
        }?;
        write(solution, &solved.solution, "solution")?;
        if info.is_null() { Ok(()) } else { tell(&solved, info) }
    })
}

/// Writes the statistics of a solve.
///
/// # Safety
/// `info` is a structure whose first member is its size.
unsafe fn tell(solved: &Solved, info: *mut lf_solve_info) -> Outcome<()> {
    let rhs = &solved.rhs;
    // SAFETY: the caller's promise.
    let given = unsafe { get_sized(info) }?;
    let history = rhs.first().map_or(&[][..], |rhs| &rhs.info.history);
    if !given.history.is_null() {
        let room = usize::try_from(given.history_room).unwrap_or(usize::MAX).min(history.len());
        // SAFETY: the caller's promise: there is room for as many.
        unsafe { write(given.history, &history[..room], "history") }?;
    }
    let scales: Vec<i64> = rhs.iter().map(|rhs| rhs.source_scale.into()).collect();
    if !given.source_scales.is_null() {
        let room = usize::try_from(given.source_scales_room).unwrap_or(usize::MAX).min(scales.len());
        // SAFETY: the same.
        unsafe { write(given.source_scales, &scales[..room], "source_scales") }?;
    }
    let told = lf_solve_info {
        history_length: history.len() as u64,
        iterations: rhs.iter().map(|rhs| rhs.info.iterations as u64).max().unwrap_or(0),
        residual: worst(rhs.iter().map(|rhs| rhs.info.relative_residual())),
        true_residual: worst(rhs.iter().map(|rhs| rhs.true_residual)),
        solution_residual: worst(rhs.iter().map(|rhs| rhs.solution_residual)),
        seconds: solved.seconds,
        building_seconds: solved.building,
        flops: solved.flops,
        bytes: solved.bytes,
        source_scale: scales.first().copied().unwrap_or(0),
        ..given
    };
    // SAFETY: the caller's promise.
    unsafe { put_sized(info, told) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_hand_sides_are_interleaved_and_taken_apart() {
        let number = |k: usize| Complex::new(k as f64, 0.0);
        let one_after_the_other: Vec<_> = (0..24).map(number).collect();
        let words = transposed(&one_after_the_other, 2, 3);
        assert_eq!(words[..6], [0, 1, 2, 12, 13, 14].map(number));
        assert_eq!(transposed(&words, 4, 3), one_after_the_other);
    }

    #[test]
    fn the_worst_of_numbers_is_a_nan_where_there_is_one() {
        assert_eq!(worst([0.1, 0.3, 0.2].into_iter()), 0.3);
        assert!(worst([0.1, f64::NAN, 0.2].into_iter()).is_nan());
    }
}
