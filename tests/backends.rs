//! A backend of one's own, from outside of the library: it wraps another, and counts what it is asked to do. Operators and solvers run on it as they
//! are, and give the same bits.

use std::collections::BTreeMap;
use std::sync::Mutex;

use lanefield::backend::specification::{Call, Shape};
use lanefield::backend::{AnyField, Backend, BackendError, HostField, Launch, Memory, Reduce, Sum};
use lanefield::operator::{HopParameters, WilsonParameters};
use lanefield::solver::{Method, Preconditioning, SolveReport, SolverParams, WilsonSolve, solve};
use lanefield_reference::field::{FieldShape, Spinors};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::kernels::reduce::PartialSums;
use lanefield_reference::layout::{Extents, LaneChoice, Stencil};
use lanefield_reference::links::{BoundaryPhases, LinkFormat};
use lanefield_reference::real::Precision;
use num_complex::Complex;

use crate::common::backends::on_every_backend;
use crate::common::fields::gaussian;

/// Calls of a kernel, and the bytes that they have to move at least.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Count {
    calls: u64,
    bytes: u64,
}

/// A backend that counts.
struct Recording<'b, B> {
    inner: &'b B,
    counts: Mutex<BTreeMap<&'static str, Count>>,
}

impl<'b, B> Recording<'b, B> {
    fn new(inner: &'b B) -> Self {
        Self { inner, counts: Mutex::default() }
    }

    fn count(&self, shape: &Shape) {
        let mut counts = self.counts.lock().unwrap();
        let count = counts.entry(shape.kernel.name).or_default();
        *count = Count { calls: count.calls + 1, bytes: count.bytes + shape.work().bytes };
    }
}

impl<B: Memory> Memory for Recording<'_, B> {
    type Storage = B::Storage;
    type Table = B::Table;

    fn describe(&self) -> String {
        format!("{}, counted", self.inner.describe())
    }
    fn lanes(&self, asked_for: LaneChoice) -> LaneChoice {
        self.inner.lanes(asked_for)
    }
    fn takes_links(&self, format: LinkFormat, precision: Precision) -> Result<(), BackendError> {
        self.inner.takes_links(format, precision)
    }
    fn allocate(&self, shape: &FieldShape) -> Result<B::Storage, BackendError> {
        self.inner.allocate(shape)
    }
    fn fill_zero(&self, field: &mut AnyField<B::Storage>) -> Result<(), BackendError> {
        self.inner.fill_zero(field)
    }
    fn store(&self, field: HostField) -> Result<B::Storage, BackendError> {
        self.inner.store(field)
    }
    fn load(&self, field: &AnyField<B::Storage>) -> Result<HostField, BackendError> {
        self.inner.load(field)
    }
    fn stencil(&self, stencil: Stencil) -> Result<B::Table, BackendError> {
        self.inner.stencil(stencil)
    }
    fn matrix(&self, matrix: &SMatrix, precision: Precision) -> Result<B::Table, BackendError> {
        self.inner.matrix(matrix, precision)
    }
    fn finish(&self) -> Result<(), BackendError> {
        self.inner.finish()
    }
}

impl<B: Launch> Launch for Recording<'_, B> {
    fn launch(&self, call: Call<'_, Self>) -> Result<(), BackendError> {
        self.count(call.shape());
        self.inner.launch(call.on())
    }
}

impl<B: Reduce> Reduce for Recording<'_, B> {
    fn reduce(&self, call: Call<'_, Self>, sum: Sum) -> Result<PartialSums, BackendError> {
        self.count(call.shape());
        self.inner.reduce(call.on(), sum)
    }
}

/// A Wilson solve on an awkward lattice.
fn solved<B: Backend>(backend: &B, preconditioning: Preconditioning) -> SolveReport<f64> {
    let configuration = Configuration::hot(Extents::new([4, 6, 2, 4]).unwrap(), 3);
    let eta: Vec<Complex<f64>> = gaussian(configuration.extents(), Spinors::WORDS, 19);
    let hop = HopParameters { boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME, ..HopParameters::default() };
    let solve_how = WilsonSolve {
        operator: WilsonParameters { mass: 0.1, hop },
        preconditioning,
        params: SolverParams::auto::<f64>(),
        lanes: LaneChoice::Auto,
        method: Method::ConjugateGradients,
    };
    solve::<f64, B, _>(backend, &configuration, &eta, &solve_how, |_, _| ()).unwrap()
}

fn a_solve_on_it_has_the_same_bits_and_every_launch_is_counted<B: Backend>(backend: &B) {
    for preconditioning in [Preconditioning::EvenOdd, Preconditioning::None] {
        let recording = Recording::new(backend);
        let (expected, found) = (solved(backend, preconditioning), solved(&recording, preconditioning));
        let bits = |report: &SolveReport<f64>| {
            let history: Vec<u64> = report.info().history.iter().map(|residual| residual.to_bits()).collect();
            let solution: Vec<u64> = report.solution.iter().flat_map(|c| [c.re.to_bits(), c.im.to_bits()]).collect();
            (history, solution)
        };
        assert!(bits(&found) == bits(&expected), "{preconditioning:?}");

        let iterations = found.info().iterations as u64;
        println!("{preconditioning:?} {iterations} {:?}", recording.counts.lock().unwrap());
    }
}

on_every_backend!(a_solve_on_it_has_the_same_bits_and_every_launch_is_counted);
