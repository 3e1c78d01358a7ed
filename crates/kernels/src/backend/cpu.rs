//! The CPU backend: runs the reference's kernels on a thread pool of its own.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, OnceLock};

use lanefield_reference::domains;
use lanefield_reference::field::{FieldData, FieldShape};
use lanefield_reference::forks;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::instructions::Instructions;
use lanefield_reference::kernels::blas;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::layout::{Face, LaneChoice, LaneWidth, Lattice, Reach, Sites, Stencil};
use lanefield_reference::links::BoundaryPhases;
use lanefield_reference::real::Precision;
use lanefield_reference::tasks;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::any_field::AnyField;
use super::error::BackendError;
use super::host_field::HostField;
use super::memory::Memory;
use super::table::HostTable;
use super::timeline::{Group, SpanGuard, Timeline};
use crate::in_precision;

/// A number of CPU threads, from 1 to [`Self::MOST`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads(usize);

impl Threads {
    /// The largest number of threads. With more, starting the pool takes longer than most kernels run.
    pub const MOST: usize = 512;

    /// A number of threads, 1 to [`Self::MOST`]; `None` for any other.
    pub fn new(threads: usize) -> Option<Self> {
        (1..=Self::MOST).contains(&threads).then_some(Self(threads))
    }

    /// The number.
    pub fn get(self) -> usize {
        self.0
    }
}

impl FromStr for Threads {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.parse().ok().and_then(Self::new);
        number.ok_or_else(|| format!("invalid number of threads '{text}': expected 1 to {}", Self::MOST))
    }
}

/// The faces of lattices.
type FacesOf = HashMap<(Lattice, Sites, Reach), Arc<[Face]>>;

/// A thread pool. A forked child process starts its own.
struct CpuThreads {
    threads: Arc<ThreadPool>,
    /// [`forks::count`] when the pool was started.
    forks: usize,
    /// The pool of a forked child.
    of_child: OnceLock<Box<CpuThreads>>,
}

impl CpuThreads {
    fn new(number: usize) -> Result<Self, ThreadPoolBuildError> {
        let keep = move |thread| domains::keep_in_domain(thread, number);
        let threads = Arc::new(ThreadPoolBuilder::new().num_threads(number).start_handler(keep).build()?);
        Ok(Self { threads, forks: forks::count(), of_child: OnceLock::new() })
    }

    /// The pool of this process.
    fn here(&self) -> &Arc<ThreadPool> {
        if self.forks == forks::count() {
            return &self.threads;
        }
        let number = self.threads.current_num_threads();
        let anew = || match Self::new(number) {
            Ok(pool) => Box::new(pool),
            Err(error) => {
                panic!("failed to start {number} CPU threads in a forked process: {error}; fork fewer processes")
            }
        };
        self.of_child.get_or_init(anew).here()
    }
}

impl Drop for CpuThreads {
    fn drop(&mut self) {
        if self.forks != forks::count() {
            // The threads are the parent's, and one of them may have held a lock at the fork.
            std::mem::forget(Arc::clone(&self.threads));
        }
    }
}

/// The CPU reference: runs kernels on a thread pool of its own. Clones share the pool. While a kernel runs, the calling thread works as one of its
/// threads.
#[derive(Clone)]
pub struct Cpu {
    pool: Arc<CpuThreads>,
    timeline: OnceLock<Arc<Timeline>>,
    /// The links of the scalar reference, if this backend runs that instead of the kernels.
    pub(super) plain: Option<Arc<(Configuration, BoundaryPhases)>>,
    /// Faces of local volumes, by lattice and sites.
    pub(super) faces: Arc<Mutex<FacesOf>>,
}

impl Cpu {
    /// A pool of `threads` threads. With `None`, it has `RAYON_NUM_THREADS` threads, or as many as the machine has cores if that is not set.
    ///
    /// # Errors
    /// [`BackendError::Threads`] if the system cannot start them.
    pub fn new(threads: Option<Threads>) -> Result<Self, BackendError> {
        // Rayon reads the same variable, and would start any number.
        let from_environment = || std::env::var("RAYON_NUM_THREADS").ok()?.parse::<usize>().ok();
        let threads = threads.map(Threads::get).or_else(from_environment).unwrap_or(0);
        if threads > Threads::MOST {
            let reason = format!("at most {} are accepted", Threads::MOST);
            return Err(BackendError::Threads { threads, reason });
        }
        let number = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let fewer =
            || std::iter::successors(Some(number / 2), |number| Some(number / 2)).take_while(|&number| number > 0);
        // Nobody asked for so many: fewer will do.
        let pool = CpuThreads::new(number).or_else(|error| match threads {
            0 => fewer().find_map(|number| CpuThreads::new(number).ok()).ok_or(error),
            _ => Err(error),
        });
        let cpu = |pool| {
            let timeline = Timeline::of_process().map_or_else(OnceLock::new, |timeline| Arc::clone(timeline).into());
            Self { pool: Arc::new(pool), timeline, plain: None, faces: Arc::default() }
        };
        pool.map(cpu).map_err(|e| BackendError::Threads { threads: number, reason: e.to_string() })
    }

    /// This backend, with the scalar reference of each kernel instead of its vector code: a slow oracle for whole operators and solves.
    /// `configuration` and `boundary` must be those of all links that kernels read.
    pub fn in_plain_loops(self, configuration: Configuration, boundary: BoundaryPhases) -> Self {
        Self { plain: Some(Arc::new((configuration, boundary))), ..self }
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.pool.threads.current_num_threads()
    }

    /// Starts recording the times of calls on a timeline. Returns false if this backend already records: it has at most one timeline, and that of
    /// the process is attached when the backend is created.
    pub fn record_into(&self, timeline: Arc<Timeline>) -> bool {
        self.timeline.set(timeline).is_ok()
    }

    /// Runs and records one call of the backend.
    pub(super) fn run<T: Send>(&self, name: &str, work: impl FnOnce() -> T + Send) -> T {
        let _span = self.timeline.get().map_or_else(SpanGuard::none, |timeline| timeline.span(Group::Cpu, name));
        tasks::lead(self.pool.here(), work)
    }

    /// Runs `work` on this backend's threads.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.pool.here().install(work)
    }

    /// The vector instructions that the kernels use on this processor.
    pub fn vector_instructions() -> &'static str {
        Instructions::in_use().describe()
    }
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

/// A copy of a field, or an error if there is not enough memory.
pub(super) fn copy(field: &HostField) -> Result<HostField, BackendError> {
    Ok(match field {
        HostField::F32(field) => HostField::F32(field.try_clone()?),
        HostField::F64(field) => HostField::F64(field.try_clone()?),
        HostField::Half(field) => HostField::Half(field.try_clone()?),
    })
}

impl Memory for Cpu {
    type Storage = HostField;
    type Table = HostTable;

    fn describe(&self) -> String {
        let threads = self.threads();
        let plural = if threads == 1 { "" } else { "s" };
        format!("CPU reference, {threads} thread{plural}, {}", Self::vector_instructions())
    }

    fn lanes(&self, asked_for: LaneChoice) -> LaneChoice {
        match (asked_for, LaneWidth::new(Instructions::in_use().vector_bytes())) {
            (LaneChoice::Auto, Ok(vector)) => LaneChoice::UpTo(vector),
            _ => asked_for,
        }
    }

    fn allocate(&self, shape: &FieldShape) -> Result<HostField, BackendError> {
        let FieldShape { lattice, sites, object, precision } = *shape;
        in_precision!(precision, R => Ok(HostField::new(FieldData::<R>::zeros(lattice, sites, object)?)))
    }

    fn fill_zero(&self, field: &mut AnyField<HostField>) -> Result<(), BackendError> {
        self.run("clear", || match field.storage_mut() {
            HostField::F32(field) => blas::clear(field),
            HostField::F64(field) => blas::clear(field),
            HostField::Half(field) => blas::clear(field),
        });
        Ok(())
    }

    fn store(&self, field: Cow<'_, HostField>) -> Result<HostField, BackendError> {
        match field {
            Cow::Owned(field) => Ok(field),
            Cow::Borrowed(field) => copy(field),
        }
    }

    fn load(&self, field: &AnyField<HostField>) -> Result<HostField, BackendError> {
        copy(field.storage())
    }

    fn stencil(&self, stencil: Stencil) -> Result<HostTable, BackendError> {
        Ok(HostTable::Stencil(stencil))
    }

    fn matrix(&self, matrix: &SMatrix, precision: Precision) -> Result<HostTable, BackendError> {
        Ok(HostTable::Matrix(matrix.clone(), precision))
    }

    fn finish(&self) -> Result<(), BackendError> {
        Ok(())
    }
}
