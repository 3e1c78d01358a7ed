//! What the tests of solvers share: the lattice, operators, watchers, and solves that must have the same bits wherever they run.

use lanefield::backend::Threads;
use lanefield::dynamic::AnyBackend;
use lanefield::operator::{SchurComplement, System};
use lanefield::prelude::*;
use lanefield::solver::{Recurrence, SolveReport, Stopped, Watcher};
use lanefield_reference::layout::LaneWidth;

use super::backends::{cpu, opencl};
use super::fields::lattice;
use super::models::antiperiodic;

pub fn configuration() -> Configuration {
    Configuration::weak(Extents::new([4, 4, 4, 8]).unwrap(), 11, 0.4)
}

pub fn staggered() -> StaggeredParameters {
    StaggeredParameters { mass: 0.2, components: 1, hop: antiperiodic() }
}

pub type Normal<'b, B, R> = System<B, R, SchurComplement<'b, B, R, Spinors>>;

/// The normal equations of the Schur complement.
pub fn normal<B: Backend, R: Vectors>(backend: &B, wilson: WilsonParameters) -> Normal<'_, B, R> {
    let pieces = wilson.even_odd(backend, &configuration(), lattice::<R>(configuration().extents())).unwrap();
    System::new(SchurComplement::new(pieces).unwrap(), true).unwrap()
}

/// A solve with the parameters of the precision.
pub fn how<R: Vectors, M>(operator: M, preconditioning: Preconditioning, method: Method) -> Solve<M> {
    Solve { operator, preconditioning, method, params: SolverParams::auto::<R>(), lanes: LaneChoice::Auto }
}

pub fn quiet() -> impl Watcher {
    |_: usize, _: f64| ()
}

/// Stops after so many iterations.
pub struct After(pub usize);

impl Watcher for After {
    fn iteration(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        if recurrence.info().iterations == self.0 { Err(Stopped("enough".into())) } else { Ok(()) }
    }
}

pub fn bits(history: &[f64]) -> Vec<u64> {
    history.iter().map(|c| c.to_bits()).collect()
}

/// Histories and solutions as integers; no history is trivial.
pub fn bits_of<R: Vectors>(report: &SolveReport<R>) -> (Vec<Vec<u64>>, Vec<u64>) {
    let histories: Vec<_> = report.rhs.iter().map(|rhs| bits(&rhs.info.history)).collect();
    assert!(histories.iter().all(|history| history.len() > 5));
    (histories, report.solution.iter().flat_map(|c| [c.re.bits(), c.im.bits()]).collect())
}

/// What `run` gives on the CPU, which is the same on so many threads in lanes of so many bytes, and on OpenCL in lanes of these bytes.
pub fn is_the_same<T: PartialEq>(
    on_the_cpu: &[(usize, usize)],
    on_opencl: &[usize],
    run: impl Fn(&AnyBackend, LaneChoice) -> T,
) {
    let lanes = |bytes| LaneChoice::Width(LaneWidth::new(bytes).unwrap());
    let expected = run(&cpu(), lanes(64));
    for &(threads, bytes) in on_the_cpu {
        let cpu = Cpu::new(Threads::new(threads)).unwrap().into();
        assert!(run(&cpu, lanes(bytes)) == expected, "{threads} threads, {bytes}-byte lanes");
    }
    for &bytes in on_opencl {
        let Some(device) = opencl() else { return };
        assert!(run(&device.into(), lanes(bytes)) == expected, "OpenCL, {bytes}-byte lanes");
    }
}
