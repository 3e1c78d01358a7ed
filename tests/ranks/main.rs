//! Ranks: every operator, by every method, has the bits of one rank on any decomposition. The ranks are threads here; their backends are the CPU reference
//! and OpenCL, also mixed.

use std::sync::Arc;

use lanefield::backend::ghosts::Ghosts;
use lanefield::backend::opencl::{DeviceInfo, OpenCl};
use lanefield::backend::{Backend, Cpu, Threads};
use lanefield::comm::{Communicator as _, Decomposition, OnRanks, RanksOptions, ThreadRanks, WholeLattice};
use lanefield::operator::{AnyModel, HopParameters, Model, ModelTask, definitions};
use lanefield::solver::{Method, Preconditioning, Solve, SolveError, SolverParams, solve};
use lanefield_reference::field::SiteObject as _;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Extents, LaneChoice};
use lanefield_reference::links::{BoundaryPhases, LinkFormat};
use lanefield_reference::random::{Stream, gaussian_pair};
use lanefield_reference::real::Precision;
use num_complex::Complex;

mod files;

#[path = "../common/device.rs"]
mod common;

/// A solve, all of it.
#[derive(Clone, Copy)]
struct Given {
    model: AnyModel,
    method: Method,
    preconditioning: Preconditioning,
    precision: Precision,
    rhs: usize,
}

/// |r|² of all right-hand sides as bits, and those of the solution in site order, or why there is none.
type Outcome = (Vec<u64>, Result<Vec<u64>, String>);

struct On<'a, B, R>(&'a B, &'a Given, &'a Configuration, std::marker::PhantomData<R>);

impl<B: Backend, R: Vectors> ModelTask for On<'_, B, R> {
    type Output = (Vec<u64>, Result<Vec<Complex<f64>>, String>);

    fn run<M: Model>(self, operator: M) -> Self::Output {
        let Self(backend, given, configuration, _) = self;
        let &Given { method, preconditioning, rhs, .. } = given;
        let words = operator.object(1).words() * rhs;
        let extents = configuration.extents();
        let eta: Vec<Complex<f64>> = (0..extents.volume())
            .flat_map(|site| (0..words as u32).map(move |word| (extents.global_site(site), word)))
            .map(|(site, word)| gaussian_pair(5, Stream::SpinorSource, site, word))
            .map(|(re, im)| Complex::new(re, im))
            .collect();
        let params = SolverParams { max_iterations: 24, ..SolverParams::auto::<R>() };
        let solve_it = Solve { operator, preconditioning, method, params, lanes: LaneChoice::Auto };
        let bits = |history: &[f64]| history.iter().map(|c| c.to_bits()).collect::<Vec<_>>();
        match solve::<R, B, _>(backend, configuration, &eta, &solve_it, |_, _| ()) {
            Ok(report) => {
                let history = report.rhs.iter().flat_map(|rhs| bits(&rhs.info.history)).collect();
                let solution = report.solution.iter().map(|z| Complex::new(z.re.to_f64(), z.im.to_f64()));
                (history, Ok(solution.collect()))
            }
            Err(SolveError::Backend(error)) => panic!("{error}"),
            Err(error) => (error.history().map(bits).unwrap_or_default(), Err(error.to_string())),
        }
    }
}

fn on<B: Backend>(
    backend: &B,
    given: &Given,
    configuration: &Configuration,
) -> (Vec<u64>, Result<Vec<Complex<f64>>, String>) {
    match given.precision {
        Precision::F32 => given.model.run(On::<B, f32>(backend, given, configuration, std::marker::PhantomData)),
        _ => given.model.run(On::<B, f64>(backend, given, configuration, std::marker::PhantomData)),
    }
}

fn bits(solution: &[Complex<f64>]) -> Vec<u64> {
    solution.iter().flat_map(|z| [z.re.to_bits(), z.im.to_bits()]).collect()
}

/// On one rank.
fn alone<B: Backend>(backend: &B, given: &Given, configuration: &Configuration) -> Outcome {
    let (history, solution) = on(backend, given, configuration);
    (history, solution.map(|solution| bits(&solution)))
}

/// Which backends the ranks have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Backends<'d> {
    Cpu,
    OpenCl(&'d DeviceInfo),
    /// The CPU reference on even ranks, OpenCL on odd ones.
    Mixed(&'d DeviceInfo),
}

impl<'d> Backends<'d> {
    fn device_of(self, rank: usize) -> Option<&'d DeviceInfo> {
        match self {
            Self::Cpu => None,
            Self::OpenCl(device) => Some(device),
            Self::Mixed(device) => (rank % 2 == 1).then_some(device),
        }
    }
}

/// What a rank finds.
fn on_rank<B: Ghosts>(
    ranks: &OnRanks<B>,
    given: &Given,
    configuration: &Configuration,
) -> (Vec<u64>, Result<Option<Vec<Complex<f64>>>, String>) {
    let part = configuration.part(ranks.lattice().part()).unwrap();
    let (history, solution) = on(ranks, given, &part);
    (history, solution.map(|solution| ranks.lattice().gathered(&solution).unwrap()))
}

/// On ranks that are threads.
fn on_ranks(
    decomposition: &Decomposition,
    backends: Backends<'_>,
    given: &Given,
    configuration: &Configuration,
) -> Outcome {
    let options = RanksOptions { check_packets: true };
    let outcomes = ThreadRanks::run(decomposition.cut().ranks(), |comm| {
        let device = backends.device_of(comm.rank());
        let lattice = WholeLattice::new(Arc::new(comm), *decomposition);
        match device {
            None => on_rank(&OnRanks::new(cpu(), lattice, options), given, configuration),
            Some(device) => {
                let mut backend = OpenCl::open(device).unwrap();
                backend.set_on_parts(true);
                on_rank(&OnRanks::new(backend, lattice, options), given, configuration)
            }
        }
    });
    let mut outcomes = outcomes.into_iter();
    let (history, solution) = outcomes.next().unwrap();
    for (other, _) in outcomes {
        assert_eq!(other, history, "ranks of {decomposition}");
    }
    (history, solution.map(|solution| bits(&solution.unwrap())))
}

fn extents() -> Extents {
    Extents::new([4, 4, 4, 8]).unwrap()
}

fn decomposition(cut: &str) -> Decomposition {
    Decomposition::new(extents(), cut.parse().unwrap()).unwrap()
}

fn cpu() -> Cpu {
    Cpu::new(Threads::new(1)).unwrap()
}

/// Every operator by every method.
fn all() -> Vec<Given> {
    let hop = HopParameters {
        boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME,
        links: LinkFormat::TwoRows,
        ..HopParameters::default()
    };
    let methods = [
        (Method::ConjugateGradients, 1, Precision::F32, Preconditioning::EvenOdd),
        (Method::ConjugateGradients, 3, Precision::F64, Preconditioning::EvenOdd),
        (Method::ConjugateGradients, 1, Precision::F64, Preconditioning::None),
        (Method::MixedF32, 1, Precision::F64, Preconditioning::EvenOdd),
        (Method::MixedHalf, 1, Precision::F64, Preconditioning::EvenOdd),
        (Method::BiCgStab, 1, Precision::F64, Preconditioning::EvenOdd),
    ];
    definitions()
        .flat_map(|definition| {
            let model = definition.model(definition.verified.iter().copied(), hop).unwrap();
            methods.map(|(method, rhs, precision, preconditioning)| Given {
                model,
                method,
                preconditioning,
                precision,
                rhs,
            })
        })
        .collect()
}

#[test]
fn every_operator_by_every_method_has_the_bits_of_one_rank_on_the_cpu_reference() {
    let configuration = Configuration::hot(extents(), 3);
    let cuts = ["1.1.1.2", "1.1.2.2", "1.1.1.3", "2.2.2.2", "2.1.1.1", "1.2.1.4"];
    for (number, given) in all().into_iter().enumerate() {
        let expected = alone(&cpu(), &given, &configuration);
        for cut in [cuts[number % 6], cuts[(number + 3) % 6]] {
            agrees(cut, Backends::Cpu, &given, &configuration, &expected);
        }
    }
}

fn agrees(cut: &str, backends: Backends<'_>, given: &Given, configuration: &Configuration, expected: &Outcome) {
    let found = on_ranks(&decomposition(cut), backends, given, configuration);
    let what = || format!("{} by {:?} on {cut}, {backends:?}", given.model.name(), given.method);
    assert!(expected.0.len() > 3 * given.rhs, "{}: {} residuals", what(), expected.0.len());
    assert_eq!(found.0, expected.0, "{}", what());
    assert_eq!(found.1, expected.1, "{}", what());
}

#[test]
fn every_operator_by_every_method_has_the_bits_of_one_rank_on_opencl_and_mixed() {
    let Some(device) = common::opencl_device() else { return };
    let configuration = Configuration::hot(extents(), 3);
    let cuts = ["1.1.1.2", "1.1.2.2", "2.1.1.1", "1.2.1.2"];
    // Each operator by two of the methods: programs are built for each.
    let drawn = all().into_iter().enumerate().filter(|(number, _)| (number + number / 6) % 3 == 0);
    for (number, given) in drawn {
        let expected = alone(&cpu(), &given, &configuration);
        let backends = [Backends::OpenCl(&device), Backends::Mixed(&device)][number % 2];
        agrees(cuts[(number + number / 6) % 4], backends, &given, &configuration, &expected);
    }
}
