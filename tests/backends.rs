//! A backend of one's own, from outside of the library: it wraps another, and counts what it is asked to do. Operators and solvers run on it as they
//! are, and give the same bits. Where it has a fault, no wrong solution is accepted.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use lanefield::backend::specification::{Call, Shape};
use lanefield::backend::{AnyField, HostField};
use lanefield::prelude::*;
use lanefield::solver::{SolveError, SolveReport, WilsonSolve};
use lanefield_reference::field::FieldShape;
use lanefield_reference::kernels::domain_wall::SMatrix;
use lanefield_reference::kernels::reduce::PartialSums;
use lanefield_reference::layout::Stencil;

use crate::common::backends::on_every_backend;
use crate::common::fields::gaussian;
use crate::common::grid::distance;

/// Calls of a kernel, and the bytes that they have to move at least.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Count {
    calls: u64,
    bytes: u64,
}

#[derive(Debug, thiserror::Error)]
#[error("no room for fields in {0}")]
struct NoRoom(Precision);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// A bit of a number is lost as the field of this number is stored.
    Store(u64, u32),
    /// The same as it is loaded.
    Load(u64, u32),
    /// The launch of this number does nothing.
    Launch(u64),
}

/// A backend that counts; it may have no room for fields in one precision, and a fault.
struct Recording<'b, B> {
    inner: &'b B,
    refused: Option<Precision>,
    fault: Option<Fault>,
    counts: Mutex<BTreeMap<&'static str, Count>>,
    /// Fields stored and loaded, and launches.
    done: [AtomicU64; 3],
}

impl<'b, B> Recording<'b, B> {
    fn new(inner: &'b B, refused: Option<Precision>) -> Self {
        Self { inner, refused, fault: None, counts: Mutex::default(), done: Default::default() }
    }

    /// One more of a kind; the number of those before.
    fn next(&self, kind: usize) -> u64 {
        self.done[kind].fetch_add(1, Ordering::Relaxed)
    }

    /// A field without a bit of one of its numbers, if that is the fault.
    fn damaged(&self, field: HostField, here: impl Fn(u32) -> Fault) -> HostField {
        match (self.fault, field) {
            (Some(fault @ (Fault::Store(number, bit) | Fault::Load(number, bit))), HostField::F64(mut field))
                if fault == here(bit) =>
            {
                let reals = field.reals_mut();
                let at = (1009 * number as usize + 17) % reals.len();
                reals[at] = f64::from_bits(reals[at].to_bits() ^ 1 << bit);
                HostField::F64(field)
            }
            (_, field) => field,
        }
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
    fn allocate(&self, shape: &FieldShape) -> Result<B::Storage, BackendError> {
        match self.refused.filter(|refused| *refused == shape.precision) {
            Some(refused) => Err(BackendError::device(NoRoom(refused))),
            None => self.inner.allocate(shape),
        }
    }
    fn fill_zero(&self, field: &mut AnyField<B::Storage>) -> Result<(), BackendError> {
        self.inner.fill_zero(field)
    }
    fn store(&self, field: Cow<'_, HostField>) -> Result<B::Storage, BackendError> {
        let number = self.next(0);
        let field = self.damaged(field.into_owned(), |bit| Fault::Store(number, bit));
        self.inner.store(Cow::Owned(field))
    }
    fn load(&self, field: &AnyField<B::Storage>) -> Result<HostField, BackendError> {
        let number = self.next(1);
        Ok(self.damaged(self.inner.load(field)?, |bit| Fault::Load(number, bit)))
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
        if self.fault == Some(Fault::Launch(self.next(2))) { Ok(()) } else { self.inner.launch(call.on()) }
    }
}

impl<B: Reduce> Reduce for Recording<'_, B> {
    fn reduce(&self, call: Call<'_, Self>, sum: Sum) -> Result<PartialSums, BackendError> {
        self.count(call.shape());
        self.inner.reduce(call.on(), sum)
    }
}

fn solved<R: Vectors, B: Backend>(backend: &B, preconditioning: Preconditioning) -> SolveReport<R> {
    try_solve(backend, preconditioning, 0.1).unwrap()
}

/// A Wilson solve on an awkward lattice.
fn try_solve<R: Vectors, B: Backend>(
    backend: &B,
    preconditioning: Preconditioning,
    mass: f64,
) -> Result<SolveReport<R>, SolveError> {
    let configuration = Configuration::hot(Extents::new([4, 6, 2, 4]).unwrap(), 3);
    let eta: Vec<Complex<f64>> = gaussian(configuration.extents(), Spinors::WORDS, 19);
    let hop = HopParameters { boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME, ..HopParameters::default() };
    let solve_how = WilsonSolve {
        operator: WilsonParameters { mass, hop },
        preconditioning,
        params: SolverParams::auto::<R>(),
        lanes: LaneChoice::Auto,
        method: Method::ConjugateGradients,
    };
    solve::<R, B, _>(backend, &configuration, &eta, &solve_how, |_, _| ())
}

fn a_solve_on_it_has_the_same_bits_and_every_launch_is_counted<B: Backend>(backend: &B) {
    for (preconditioning, sites) in [(Preconditioning::EvenOdd, 96), (Preconditioning::None, 192)] {
        let recording = Recording::new(backend, None);
        let (expected, found) = (solved::<f64, _>(backend, preconditioning), solved(&recording, preconditioning));
        let bits = |report: &SolveReport<f64>| {
            let history: Vec<u64> = report.info().history.iter().map(|residual| residual.to_bits()).collect();
            let solution: Vec<u64> = report.solution.iter().flat_map(|c| [c.re.to_bits(), c.im.to_bits()]).collect();
            (history, solution)
        };
        assert!(bits(&found) == bits(&expected), "{preconditioning:?}");

        // An iteration has one update of three fields, two of which it writes anew too.
        let iterations = found.info().iterations as u64;
        let counts = recording.counts.lock().unwrap();
        let update = Count { calls: iterations, bytes: iterations * 5 * sites * 12 * 16 };
        assert_eq!(counts["cg_update"], update, "{preconditioning:?}");
        let of_hop = match preconditioning {
            Preconditioning::EvenOdd => &["eo_wilson", "oe_wilson", "eo_wilson_dagger", "oe_wilson_dagger"][..],
            Preconditioning::None => &["wilson_full", "wilson_full_dagger"],
        };
        for &kernel in of_hop {
            assert!(counts[kernel].calls >= iterations, "{kernel}: {counts:?}");
        }
    }
}

fn a_solution_that_cannot_be_checked_is_returned_and_says_why<B: Backend>(backend: &B) {
    let recording = Recording::new(backend, Some(Precision::F64));
    let (expected, found) =
        (solved::<f32, _>(backend, Preconditioning::EvenOdd), solved::<f32, _>(&recording, Preconditioning::EvenOdd));
    assert!(found.solution == expected.solution && expected.unchecked.is_none());
    assert_eq!(found.unchecked.as_deref(), Some("no room for fields in f64"));
    assert!(found.rhs[0].true_residual.is_nan() && found.rhs[0].solution_residual.is_nan());
}

/// Every `step`th fault of a solve.
fn no_wrong_solution_is_accepted(step: usize) {
    let cpu = crate::common::backends::cpu();
    // Of a large mass: one solve for each of its launches.
    let mass = 4.0;
    for preconditioning in [Preconditioning::EvenOdd, Preconditioning::None] {
        let right = Recording::new(&cpu, None);
        let expected = try_solve::<f64, _>(&right, preconditioning, mass).unwrap().solution;
        let [stores, loads, launches] = right.done.each_ref().map(|done| done.load(Ordering::Relaxed));
        let bits = [63, 56, 44];
        let of_stores = (0..stores).flat_map(|number| bits.map(|bit| Fault::Store(number, bit)));
        let of_loads = (0..loads).flat_map(|number| bits.map(|bit| Fault::Load(number, bit)));
        let (mut refused, mut of_even_sites) = (0, 0);
        for fault in of_stores.chain(of_loads).chain((0..launches).map(Fault::Launch)).step_by(step) {
            let faulty = Recording { fault: Some(fault), ..Recording::new(&cpu, None) };
            match try_solve::<f64, _>(&faulty, preconditioning, mass) {
                Ok(found) => {
                    let distance = distance(&found.solution, &expected);
                    assert!(
                        found.unchecked.is_none() && distance < 1e-8,
                        "{preconditioning:?}, {fault:?}: {distance:e}"
                    );
                }
                Err(SolveError::EvenSites { .. }) => of_even_sites += 1,
                Err(_) => refused += 1,
            }
        }
        assert!(refused * step as u64 >= stores, "{refused} of {stores} stores, {loads} loads, {launches} launches");
        assert!(step > 1 || (of_even_sites > 0) == (preconditioning == Preconditioning::EvenOdd));
    }
}

#[test]
fn no_wrong_solution_is_accepted_of_a_device_with_a_fault() {
    // Coprime to the number of bits that are flipped, so that each bit is.
    no_wrong_solution_is_accepted(16);
}

#[test]
#[ignore = "test-all: a solve for each fault"]
fn no_wrong_solution_is_accepted_of_a_device_with_any_fault() {
    no_wrong_solution_is_accepted(1);
}

on_every_backend! {
    a_solve_on_it_has_the_same_bits_and_every_launch_is_counted;
    in test-all:
    a_solution_that_cannot_be_checked_is_returned_and_says_why,
}
