//! A study: kernels in several variants, as data, and the one function that times them all.

use lanefield::backend::opencl::Tuning;
use lanefield::kernel::Kernel;
use lanefield_reference::layout::{Extents, LegOrder};
use serde::{Deserialize, Serialize};

use super::bench::{BenchCase, BenchOptions, Progress};
use super::record::KernelRecord;
use super::timed::Timed;
use super::timing::{Sampling, TimedCase};
use crate::json::text;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Way {
    pub name: String,
    pub tuning: Tuning,
    /// The leg order, which changes bits.
    #[serde(with = "text")]
    pub legs: LegOrder,
    /// Whether arithmetic is relaxed: the bits are then undefined.
    pub relaxed_math: bool,
}

impl From<Tuning> for Way {
    /// Named by the choices of the tuning.
    fn from(tuning: Tuning) -> Self {
        Self { name: tuning.to_string(), tuning, legs: LegOrder::DEFAULT, relaxed_math: false }
    }
}

impl Way {
    fn time<B: Timed>(&self, backend: &mut B, case: &mut TimedCase<B>, sampling: Sampling) -> KernelRecord {
        case.case.set_legs(self.legs);
        backend.set_relaxed_math(self.relaxed_math);
        let record = case.time(backend, self.tuning, sampling);
        backend.set_relaxed_math(false);
        KernelRecord { variant: self.name.clone(), bit_true: !self.relaxed_math, ..record }
    }
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Run<K = &'static Kernel> {
    pub case: BenchCase<K>,
    pub way: Way,
}

impl Run {
    pub fn new(case: BenchCase, way: impl Into<Way>) -> Self {
        Self { case, way: way.into() }
    }

    pub fn all(options: &BenchOptions, tuning: Tuning) -> Vec<Self> {
        options.cases().into_iter().map(|case| Self::new(case, tuning)).collect()
    }

    /// Times a single run. If it cannot run, the record has the reason.
    pub fn time<B: Timed>(&self, backend: &mut B, sampling: Sampling) -> KernelRecord {
        match self.case.prepare(backend) {
            Ok(mut timed) => self.way.time(backend, &mut timed, sampling),
            Err(error) => self.case.unprepared(backend, self.way.tuning, error.to_string()),
        }
    }
}

/// Times all runs. Those of one case run one after the other on the same fields. If a kernel cannot run, its record has the reason; if its fields
/// cannot be created, there is one record for the case. The records are in the order of the runs.
pub fn time<B: Timed>(
    backend: &mut B,
    runs: &[Run],
    sampling: impl Fn(Extents) -> Sampling,
    mut observe: impl FnMut(Progress<'_>) -> bool,
) -> Vec<KernelRecord> {
    let mut records: Vec<Option<KernelRecord>> = vec![None; runs.len()];
    let mut order: Vec<usize> = (0..runs.len()).collect();
    order.sort_by_key(|&run| runs.iter().position(|first| first.case == runs[run].case));
    let mut done = 0;
    let mut goes_on = |done, now: &str| observe(Progress { done, steps: runs.len(), now });
    'all: for same in order.chunk_by(|&a, &b| runs[a].case == runs[b].case) {
        let case = &runs[same[0]].case;
        if !goes_on(done, &format!("fields of {}", case.kernel)) {
            break;
        }
        let mut timed = case.prepare(backend).map_err(|error| error.to_string());
        for &run in if timed.is_ok() { same } else { &same[..1] } {
            let way = &runs[run].way;
            let now = format!("{}, {}", case.kernel, way.name);
            if !goes_on(done, &now) {
                break 'all;
            }
            let record = match &mut timed {
                Ok(timed) => way.time(backend, timed, sampling(case.extents)),
                Err(error) => case.unprepared(backend, way.tuning, error.clone()),
            };
            done += if timed.is_ok() { 1 } else { same.len() };
            // A run that was ended by a signal did not fail.
            if record.failure.is_some() && !goes_on(done, &now) {
                break 'all;
            }
            records[run] = Some(record);
        }
    }
    records.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use lanefield::backend::{Cpu, Threads};
    use lanefield::kernel::blas::{AXPY, COPY};

    use super::*;

    #[test]
    fn records_are_in_the_order_of_the_runs_and_relaxed_math_is_marked() {
        let case = |kernel, extents| BenchCase::usual(kernel, Extents::new([extents; 4]).unwrap());
        let relaxed = || Way { name: "relaxed".to_owned(), relaxed_math: true, ..Way::from(Tuning::OPEN) };
        let run = |case, way| Run { case, way };
        // Extents of 3 have no lane layout.
        let runs = [
            run(case(&COPY, 2), relaxed()),
            run(case(&AXPY, 3), relaxed()),
            run(case(&AXPY, 2), Tuning::OPEN.into()),
            run(case(&COPY, 2), Tuning::OPEN.into()),
            run(case(&AXPY, 3), Tuning::OPEN.into()),
        ];
        let (mut cpu, mut seen) = (Cpu::new(Threads::new(1)).unwrap(), Vec::new());
        let records = time(
            &mut cpu,
            &runs,
            |_| Sampling { samples: 1, back_to_back: false },
            |progress| {
                seen.push(progress.now.to_owned());
                true
            },
        );
        let found = records.iter().map(|record| (record.kernel.name, record.bit_true, record.failure.is_some()));
        let expected = [("copy", false, false), ("axpy", true, true), ("axpy", true, false), ("copy", true, false)];
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(seen[..3], ["fields of copy", "copy, relaxed", "copy, default"]);
        assert!(time(&mut cpu, &runs, |_| unreachable!("{runs:?}"), |_| false).is_empty());
    }
}
