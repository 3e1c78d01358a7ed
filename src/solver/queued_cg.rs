//! Iterations of conjugate gradients that a backend queues without waiting for their scalars
//! ([`QueuedIterations`](crate::backend::QueuedIterations)): how many at a time, and how the host uses their sums. The steps are the same as when it
//! waits for each scalar, so histories, calls of watchers and errors are the same.

use std::time::{Duration, Instant};

use lanefield_reference::field::Repeated;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;

use super::recurrence::{Recurrence, Watcher, watch};
use super::{SolverError, SolverInfo, SolverParams};
use crate::backend::{
    Backend, BackendError, FieldOn, MOST_QUEUED, QueuedBounds, QueuedIterations, QueuedSums, Step, Sum,
};
use crate::kernel::Arguments;
use crate::kernel::blas::{CG_ADVANCE, CG_ITERATION, CG_RESIDUAL};
use crate::kernel::prelude::*;
use crate::kernel::reduce::CG_CURVATURE;
use crate::operator::DynOperator;

/// The longest time of queued iterations, estimated from earlier ones: meanwhile there is no progress report, and the solve cannot be stopped.
const MOST_TIME: Duration = Duration::from_millis(50);
/// Number of recent iterations from which the decrease of |r|² is estimated.
const LATELY: usize = 16;
/// The number of queued iterations grows at most by this factor from one time to the next.
const GROWTH: usize = 4;
/// The fraction of the estimated remaining iterations that is queued: |r|² may fall much faster near the end.
const SHARE_OF_LEFT: f64 = 0.5;
/// If the remaining iterations take no longer than this, all are queued: a wait for sums costs as much as a few short iterations too many.
const SOON: Duration = Duration::from_micros(500);

/// How many iterations are queued at a time, and the queue.
pub(super) struct QueuedCg<B: Backend> {
    /// The number set by the user.
    pub chosen: Option<usize>,
    /// The number of iterations queued last, and the time of each.
    last: usize,
    time: Duration,
    /// The queue of the last iterations, if the next ones follow them.
    queued: Option<Box<dyn QueuedIterations<B>>>,
}

impl<B: Backend> Default for QueuedCg<B> {
    fn default() -> Self {
        Self { chosen: None, last: 0, time: Duration::ZERO, queued: None }
    }
}

impl<B: Backend> QueuedCg<B> {
    /// Ends the queue: the next iterations do not follow the last ones, or use other fields.
    pub(super) fn forget(&mut self) {
        self.queued = None;
    }

    /// How many iterations fit in this time.
    fn in_time(&self, time: Duration) -> usize {
        time.as_nanos().checked_div(self.time.as_nanos()).map_or(0, |number| number.min(MOST_QUEUED as u128) as usize)
    }

    /// The number of iterations to queue now, at least one. It is small at first, and half of the estimated number left until |r|² is `low`, since
    /// iterations after convergence are wasted. It does not exceed the number that is allowed, or the number until the watcher needs the state.
    fn iterations(&self, params: &SolverParams, info: &SolverInfo, low: f64, until_state: usize) -> usize {
        let wanted = self.chosen.unwrap_or_else(|| {
            let left = iterations_left(&info.history, low);
            let of_left = ((left * SHARE_OF_LEFT) as usize).max(self.in_time(SOON).min(left.ceil() as usize));
            let by_time = if self.time.is_zero() { MOST_QUEUED } else { self.in_time(MOST_TIME) };
            of_left.min(GROWTH * self.last).min(by_time)
        });
        let may = params.max_iterations.saturating_sub(info.iterations).min(until_stagnation(params, info));
        wanted.min(MOST_QUEUED).min(until_state).min(may).max(1)
    }
}

/// Estimated number of iterations left until |r|² is `low`, from the faster of the recent decrease and that over the last half of the iterations;
/// infinite if |r|² does not fall.
fn iterations_left(history: &[f64], low: f64) -> f64 {
    let Some((&now, before)) = history.split_last() else { return f64::INFINITY };
    let rate = |iterations: usize| match before.len().checked_sub(iterations) {
        Some(at) if iterations > 0 => (before[at] / now).ln() / iterations as f64,
        _ => 0.0,
    };
    let rate = rate(before.len().div_ceil(2)).max(rate(LATELY));
    if rate > 0.0 { (now / low).ln() / rate } else { f64::INFINITY }
}

/// Iterations until the solve would count as stagnated.
fn until_stagnation(params: &SolverParams, info: &SolverInfo) -> usize {
    let numbered = info.history.iter().enumerate();
    let lowest = numbered.min_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(number, _)| number);
    lowest.saturating_add(params.patience).saturating_add(1).saturating_sub(info.history.len())
}

/// A recurrence whose iterations can be queued.
pub(super) trait Queueable: Recurrence {
    type Backend: Backend;
    fn params(&self) -> &SolverParams;
    fn ahead(&self) -> &QueuedCg<Self::Backend>;
    fn ahead_mut(&mut self) -> &mut QueuedCg<Self::Backend>;
    /// Where queued iterations start and halt.
    fn bounds(&self) -> QueuedBounds;
    /// Queues iterations, and waits for their sums; `None` if the backend does not queue.
    fn queue(&mut self, bounds: QueuedBounds, iterations: usize) -> Result<Option<QueuedSums>, SolverError>;
    /// One iteration. The sums in `known` have been computed, and if `done`, all of it has. Returns whether the next one, if queued, was started.
    fn iterate(&mut self, known: &[f64], done: bool, watcher: &mut dyn Watcher) -> Result<bool, SolverError>;
    /// Takes over |r|² of an iteration that is complete. Returns whether the next one, if queued, was started. Does nothing for an iteration that
    /// ends otherwise.
    fn follow(&mut self, next: f64) -> bool;
}

/// One iteration, or several queued ones.
pub(super) fn step(recurrence: &mut impl Queueable, watcher: &mut dyn Watcher) -> Result<(), SolverError> {
    let bounds = recurrence.bounds();
    let until_state = watcher.next_state(recurrence.info().iterations).saturating_sub(recurrence.info().iterations);
    let sums = match bounds.hold() {
        true => {
            let (params, info) = (recurrence.params(), recurrence.info());
            let iterations = recurrence.ahead().iterations(params, info, bounds.low, until_state);
            let begin = Instant::now();
            let sums = recurrence.queue(bounds, iterations)?;
            let ahead = recurrence.ahead_mut();
            (ahead.last, ahead.time) = (iterations, begin.elapsed() / iterations as u32);
            sums
        }
        false => None,
    };
    let goes_on = match sums {
        Some(sums) => replay(recurrence, &sums, watcher),
        None => recurrence.iterate(&[], false, watcher).map(|_| false),
    };
    // A watcher may allocate memory for the state and free it; that memory would have to wait for what is kept here.
    let ahead = recurrence.ahead_mut();
    if !matches!(goes_on, Ok(true)) || ahead.last == until_state {
        ahead.forget();
    }
    goes_on.map(drop)
}

/// Processes queued iterations. Returns whether all of them were done and the recurrence continues after them.
fn replay(recurrence: &mut impl Queueable, sums: &QueuedSums, watcher: &mut dyn Watcher) -> Result<bool, SolverError> {
    let mut queued = sums.iterations().peekable();
    while let Some((known, done)) = queued.next() {
        let goes_on = recurrence.iterate(known, done, watcher);
        let (stopped, behind) = match goes_on {
            Ok(true) if queued.peek().is_some() => match watcher.passed(recurrence.info()) {
                Ok(()) => continue,
                Err(stopped) => (stopped, None),
            },
            Ok(goes_on) => return Ok(goes_on && done),
            Err(SolverError::Stopped(stopped)) => (stopped, Some((known, done))),
            Err(error) => return Err(error),
        };
        // The fields are those after the last iteration, and so must be the history.
        for (known, done) in behind.into_iter().chain(queued) {
            let was_done = |&&next: &&f64| done && known[0] > 0.0 && next.is_finite();
            if !known.get(1).filter(was_done).is_some_and(|&next| recurrence.follow(next)) {
                break;
            }
        }
        return Err(SolverError::Stopped(stopped));
    }
    Ok(false)
}

/// The fields of conjugate gradients.
pub(super) struct CgFields<'a, B: Backend, R: Vectors, K: Repeated> {
    pub psi: &'a mut FieldOn<B, R, K>,
    pub residual: &'a mut FieldOn<B, R, K>,
    pub direction: &'a mut FieldOn<B, R, K>,
    pub product: &'a mut FieldOn<B, R, K>,
}

/// Queues iterations, and waits for their sums.
pub(super) fn queue<B: Backend, R: Vectors, K: Repeated>(
    operator: &mut DynOperator<'_, B, R, K>,
    mut fields: CgFields<'_, B, R, K>,
    ahead: &mut QueuedCg<B>,
    (sum, bounds, iterations): (Sum, QueuedBounds, usize),
) -> Result<Option<QueuedSums>, SolverError> {
    let those_before = ahead.queued.take();
    let Some(mut queued) = those_before.or_else(|| operator.backend().queued_iterations(sum)) else { return Ok(None) };
    queued.begin(bounds, iterations)?;
    for _ in 0..iterations {
        if !queued.repeat(operator.backend())? {
            operator.apply(fields.product, fields.direction, Dagger::No)?;
            launch_vectors(operator.backend(), &mut *queued, &mut fields)?;
        }
        queued.end(operator.backend())?;
    }
    let sums = queued.sums(operator.backend())?;
    ahead.queued = Some(queued);
    Ok(Some(sums))
}

/// a = `c` / ⟨p, A p⟩, and |r|² after it, for one iteration: from the `known` sums if they include it, otherwise computed.
pub(super) fn scalars<B: Backend, R: Vectors, K: Repeated>(
    operator: &mut DynOperator<'_, B, R, K>,
    CgFields { residual, direction, product, .. }: CgFields<'_, B, R, K>,
    (c, sum): (f64, Sum),
    known: &[f64],
    (watcher, info): (&mut dyn Watcher, &SolverInfo),
) -> Result<[f64; 2], SolverError> {
    let curvature = match known.first() {
        Some(&curvature) => curvature,
        None => {
            operator.apply(product, direction, Dagger::No)?;
            operator.backend().inner_product(direction, product, sum)?.re
        }
    };
    watch(watcher, (0, "<p, A p>"), curvature, info)?;
    if curvature <= 0.0 {
        return Err(SolverError::Indefinite { curvature, info: info.clone() });
    }
    let a = c / curvature;
    let next = match known.get(1) {
        Some(&next) => next,
        None => operator.backend().axpy_norm(-a, product, residual, sum)?,
    };
    watch(watcher, (0, "|r|²"), next, info)?;
    Ok([a, next])
}

/// Launches the vector operations of an iteration that follow the operator.
fn launch_vectors<B: Backend, R: Vectors, K: Repeated>(
    backend: &B,
    queued: &mut dyn QueuedIterations<B>,
    CgFields { psi, residual, direction, product }: &mut CgFields<'_, B, R, K>,
) -> Result<(), BackendError> {
    let at_once = Arguments::new(&CG_ITERATION).write("psi", psi).write("p", direction).write("r", residual);
    if queued.launch_at_once(backend, at_once.read("product", product).call()?)? {
        return Ok(());
    }
    let step = Step::default();
    let curvature = Arguments::new(&CG_CURVATURE).read("x", direction).read("y", product);
    queued.launch(backend, curvature.call()?, &step)?;
    let next = Arguments::new(&CG_RESIDUAL).write("r", residual).read("product", product);
    queued.launch(backend, next.call()?, &step)?;
    let advance = Arguments::new(&CG_ADVANCE).write("psi", psi).write("p", direction).read("r", residual);
    queued.launch(backend, advance.call()?, &step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Cpu;

    const PARAMS: SolverParams =
        SolverParams { tolerance: 1e-5, max_iterations: 1000, patience: 1000, sum: Sum::Exact };

    fn info(history: &[f64]) -> SolverInfo {
        SolverInfo { iterations: history.len() - 1, history: history.to_vec(), source_norm2: 1.0 }
    }

    fn ahead(last: usize) -> QueuedCg<Cpu> {
        QueuedCg { last, ..QueuedCg::default() }
    }

    /// |r|² falls to a tenth in each iteration.
    fn tenths(iterations: usize) -> SolverInfo {
        info(&(0..=iterations).map(|k| 10f64.powi(-(k as i32))).collect::<Vec<_>>())
    }

    #[test]
    fn the_number_of_iterations_grows_up_to_half_of_those_that_are_left() {
        let number = |last, done, low| ahead(last).iterations(&PARAMS, &tenths(done), low, usize::MAX);
        let growing: Vec<usize> = [0, 1, 2, 8, 16, 32].map(|last| number(last, 20, 1e-300)).into();
        assert_eq!(growing, [1, 4, 8, 32, 64, 128]);
        // From 1e-20 on to a bit below 1e-40, and so on.
        let left: Vec<usize> = [1e-41, 1e-27, 1e-25, 1e-23, 1e-21, 0.0].map(|low| number(32, 20, low / 2.0)).into();
        assert_eq!(left, [10, 3, 2, 1, 1, 128]);
        // All remaining iterations, if they take too little time to be worth a wait.
        let short = |micros| QueuedCg { time: Duration::from_micros(micros), ..ahead(32) };
        let soon = [60, 200, 600].map(|micros| short(micros).iterations(&PARAMS, &tenths(20), 5e-24, usize::MAX));
        assert_eq!(soon, [4, 2, 1]);
        assert_eq!(ahead(4).iterations(&PARAMS, &info(&[1.0, 2.0]), 1e-10, usize::MAX), 16);
    }

    /// The early decrease of |r|² says nothing about the end, where it is slower.
    #[test]
    fn the_rate_is_that_of_the_last_half_or_of_the_last_iterations() {
        let falls = |rates: &[(usize, f64)]| {
            let mut c = 1.0;
            let falling = rates.iter().flat_map(|&(iterations, rate)| std::iter::repeat_n(rate, iterations));
            std::iter::once(1.0)
                .chain(falling.map(|rate| {
                    c /= rate;
                    c
                }))
                .collect::<Vec<f64>>()
        };
        let left = |rates: &[(usize, f64)]| {
            let history = falls(rates);
            iterations_left(&history, history[history.len() - 1] / 1024.0).round()
        };
        assert_eq!(left(&[(64, 4.0), (64, 2.0)]), 10.0);
        assert_eq!(left(&[(64, 2.0), (48, 2.0), (16, 4.0)]), 5.0);
        assert_eq!(left(&[(64, 2.0), (48, 4.0), (16, 1.0)]), 7.0);
        assert_eq!(left(&[(3, 2.0)]), 10.0);
    }

    #[test]
    fn it_is_bounded_by_iterations_patience_watchers_and_time() {
        let number = |ahead: QueuedCg<Cpu>, params, until| ahead.iterations(&params, &tenths(20), 1e-300, until);
        let all = || ahead(16);
        assert_eq!(number(all(), PARAMS, 7), 7);
        assert_eq!(number(all(), PARAMS, 1), 1);
        assert_eq!(number(all(), SolverParams { max_iterations: 23, ..PARAMS }, usize::MAX), 3);
        assert_eq!(number(all(), SolverParams { patience: 6, ..PARAMS }, usize::MAX), 6);
        assert_eq!(number(QueuedCg { time: Duration::from_millis(7), ..all() }, PARAMS, usize::MAX), 7);
        assert_eq!(number(QueuedCg { time: Duration::from_secs(7), ..all() }, PARAMS, usize::MAX), 1);
        assert_eq!(number(QueuedCg { chosen: Some(9), time: Duration::from_secs(7), ..all() }, PARAMS, usize::MAX), 9);
    }

    /// According to `may_go_on`, which is called before each iteration.
    #[test]
    fn no_iteration_is_queued_before_which_a_solve_could_stand_still() {
        use super::super::recurrence::may_go_on;
        let histories = [&[1.0, 0.5, 0.7, 0.5, 0.6, 0.9][..], &[1.0], &[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]];
        for history in histories {
            for patience in 1..8 {
                let params = SolverParams { patience, ..PARAMS };
                let may = until_stagnation(&params, &info(history));
                // Later iterations reach no new minimum.
                let longer = |more: usize| info(&[history, &vec![9.0; more]].concat());
                for more in 0..10 {
                    assert_eq!(may_go_on(&params, &longer(more)).is_ok(), more < may, "{history:?} {patience} {more}");
                }
            }
        }
    }
}
