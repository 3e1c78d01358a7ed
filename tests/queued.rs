//! Iterations of conjugate gradients that are queued without waiting for their scalars: histories, states, errors and what watchers see are those of the CPU
//! reference, which waits for each. The solvers are `src/solver/{cg,mixed,queued_cg}.rs`, the device's part `src/backend/opencl/{queued_cg,queue/replay}.rs`.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use lanefield::backend::opencl::{Finish, SumOptions};
use lanefield::backend::timeline::{Group, Timeline};
use lanefield::backend::{Backend, MOST_QUEUED, Memory as _, OpenCl, QueuedBounds, Reduce as _, Step, Sum};
use lanefield::kernel::Arguments;
use lanefield::kernel::blas::{CG_ADVANCE, CG_RESIDUAL};
use lanefield::kernel::prelude::*;
use lanefield::kernel::reduce::CG_CURVATURE;
use lanefield::operator::{
    DynOperator, HopParameters, Model as _, Operator, SchurComplement, System, WilsonParameters,
};
use lanefield::solver::{
    ConjugateGradients, MixedConjugateGradients, Recurrence, SavedState, SolverError, SolverInfo, SolverParams,
    Stopped, WatchedScalar, Watcher, run,
};
use lanefield_reference::field::{Field, Spinors};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::half::Half;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Extents, Lattice, LatticeOptions, TreePlan};
use lanefield_reference::random::{Stream, gaussian_pair};
use lanefield_reference::real::Real as _;
use num_complex::Complex;

use crate::common::backends::{cpu, opencl};
use crate::common::by_function::ByFunction;
use crate::common::fields::ODD;
use crate::common::solves::bits as bits_of;

/// Iterations that are queued at a time; none: as many as the solver likes.
const AHEAD: [Option<usize>; 4] = [Some(1), Some(3), Some(32), None];

fn configuration() -> Configuration {
    Configuration::weak(Extents::new([4, 4, 2, 4]).unwrap(), 11, 0.4)
}

/// The device with each way in which the vector operations of an iteration are launched: one after the other, and at once. None without a device.
fn ways() -> Vec<OpenCl> {
    let way = |at_once| {
        let mut device = opencl()?;
        device.set_sum_options(SumOptions { at_once: Some(at_once), ..SumOptions::default() });
        Some(device)
    };
    [false, true].into_iter().filter_map(way).collect()
}

/// The f64 lattice; those of the other precisions have the same cut.
fn lattice<R: Vectors>() -> Lattice {
    let of_f64 = Lattice::new(configuration().extents(), f64::COMPLEX, LatticeOptions::default()).unwrap();
    of_f64.in_scalar(R::COMPLEX).unwrap()
}

fn wilson<B: Backend, R: Vectors>(backend: &B) -> impl Operator<B, R, Object = Spinors> {
    let parameters = WilsonParameters { mass: -0.1, hop: HopParameters::default() };
    let pieces = parameters.even_odd(backend, &configuration(), lattice::<R>()).unwrap();
    System::new(SchurComplement::new(pieces).unwrap(), true).unwrap()
}

/// A Gaussian source, as `at` changes it at a site.
fn source<R: Vectors>(at: impl Fn(usize, f64) -> f64 + Sync) -> Field<R, Spinors> {
    Field::from_sites(lattice::<R>(), ODD, Spinors::ONE, |site, words| {
        for (k, word) in words.iter_mut().enumerate() {
            let (re, im) = gaussian_pair(5, Stream::TestData, site as u64, k as u32);
            *word = Complex::new(R::from_f64(at(site, re)), R::from_f64(at(site, im)));
        }
    })
    .unwrap()
}

fn gaussian<R: Vectors>() -> Field<R, Spinors> {
    source(|_, x| x)
}

/// What a watcher is told, bit by bit.
#[derive(Clone, PartialEq, Debug)]
enum Told {
    Scalar(usize, &'static str, u64),
    Iteration(usize, u64),
}

/// Keeps what it is told, and states of every so many iterations; may end the solve.
#[derive(Default)]
struct Seen {
    told: Vec<Told>,
    states: Vec<SavedState>,
    every: Option<usize>,
    /// Asks to stop after this iteration, at the next moment at which there is a state.
    interrupted_at: Option<usize>,
    /// Stops as soon as it is told so much.
    stops_at: Option<usize>,
}

impl Seen {
    fn tell(&mut self, told: Told) -> Result<(), Stopped> {
        self.told.push(told);
        if self.stops_at == Some(self.told.len()) { Err(Stopped("enough".into())) } else { Ok(()) }
    }
}

impl Watcher for Seen {
    fn scalar(&mut self, scalar: WatchedScalar) -> Result<(), Stopped> {
        self.tell(Told::Scalar(scalar.iteration, scalar.quantity, scalar.value.to_bits()))
    }
    fn iteration(&mut self, recurrence: &dyn Recurrence) -> Result<(), Stopped> {
        self.passed(recurrence.info())?;
        let iterations = recurrence.info().iterations;
        if self.every.is_some_and(|every| iterations.is_multiple_of(every)) {
            self.states.push(recurrence.save().unwrap());
        }
        match self.interrupted_at.is_some_and(|at| iterations >= at) {
            true => Err(Stopped("interrupted".into())),
            false => Ok(()),
        }
    }
    fn passed(&mut self, info: &SolverInfo) -> Result<(), Stopped> {
        self.tell(Told::Iteration(info.iterations, info.history.last().unwrap().to_bits()))
    }
    fn next_state(&self, iterations: usize) -> usize {
        self.every.map_or(usize::MAX, |every| (iterations / every + 1) * every)
    }
}

/// How a solve ended, without the bits of NaNs.
#[derive(PartialEq, Debug)]
struct Ended {
    error: Option<String>,
    history: Vec<u64>,
    told: Vec<Told>,
    state: Vec<u64>,
}

fn bits(state: &SavedState) -> Vec<u64> {
    let scalars = state.scalars.iter().flat_map(|(_, scalars)| scalars.iter().copied());
    let fields = state.fields.iter().flat_map(|field| field.values.iter().flat_map(|c| [c.re, c.im]));
    scalars.chain(fields).map(|x| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }).collect()
}

fn ended(recurrence: &mut dyn Recurrence, watcher: &mut Seen) -> Ended {
    let error = run(recurrence, watcher).err();
    if let Some(SolverError::Backend(error)) = error {
        panic!("{error}");
    }
    Ended {
        error: error.map(|error| format!("{error:?}")),
        history: bits_of(&recurrence.info().history),
        told: std::mem::take(&mut watcher.told),
        state: bits(&recurrence.save().unwrap()),
    }
}

fn solved<B: Backend, R: Vectors>(
    operator: &mut DynOperator<'_, B, R, Spinors>,
    b: &Field<R, Spinors>,
    (params, ahead): (SolverParams, Option<usize>),
    watcher: &mut Seen,
) -> Ended {
    let b = operator.backend().upload(b.clone()).unwrap();
    let mut psi = operator.zeros().unwrap();
    let mut recurrence = ConjugateGradients::new(operator, &b, &mut psi, params).unwrap();
    if let Some(iterations) = ahead {
        recurrence.set_iterations_ahead(iterations);
    }
    ended(&mut recurrence, watcher)
}

/// A solve by the Wilson operator.
fn wilson_solved<B: Backend, R: Vectors>(
    backend: &B,
    params: SolverParams,
    ahead: Option<usize>,
    watcher: &mut Seen,
) -> Ended {
    solved(&mut wilson::<B, R>(backend), &gaussian::<R>(), (params, ahead), watcher)
}

/// What `act` makes of the beginning of a solve by the Wilson operator.
fn begun<B: Backend, T>(
    backend: &B,
    (params, ahead): (SolverParams, Option<usize>),
    act: impl FnOnce(&mut ConjugateGradients<'_, B, f64, Spinors>) -> T,
) -> T {
    let mut operator = wilson::<_, f64>(backend);
    let b = backend.upload(gaussian::<f64>()).unwrap();
    let mut psi = operator.zeros().unwrap();
    let mut recurrence = ConjugateGradients::new(&mut operator, &b, &mut psi, params).unwrap();
    if let Some(iterations) = ahead {
        recurrence.set_iterations_ahead(iterations);
    }
    act(&mut recurrence)
}

/// The outcome of a solve that resumes from a state.
fn resumed<B: Backend>(backend: &B, params: SolverParams, state: &SavedState) -> Ended {
    begun(backend, (params, None), |recurrence| {
        recurrence.restore(state).unwrap();
        ended(recurrence, &mut Seen::default())
    })
}

/// The same solve everywhere; how it ended.
fn same_everywhere<R: Vectors>(device: &OpenCl, params: SolverParams) -> Ended {
    let expected = wilson_solved::<_, R>(&cpu(), params, None, &mut Seen::default());
    for ahead in AHEAD {
        let found = wilson_solved::<_, R>(device, params, ahead, &mut Seen::default());
        assert!(found == expected, "{} {ahead:?}: {:?} and {:?}", R::NAME, found.error, expected.error);
    }
    expected
}

fn solves_have_the_bits_of_the_reference<R: Vectors>(params: SolverParams) {
    for device in ways() {
        let ended = same_everywhere::<R>(&device, params);
        assert!(ended.error.is_none() && ended.history.len() > 5, "{ended:?}");
        assert_eq!(ended.told.len(), 3 * (ended.history.len() - 1));
    }
}

#[test]
fn solves_have_the_bits_of_the_reference_however_many_iterations_are_queued() {
    solves_have_the_bits_of_the_reference::<f64>(SolverParams::auto::<f64>());
}

#[test]
#[ignore = "test-all: builds in other precisions"]
fn solves_in_f32_and_half_precision_have_the_bits_of_the_reference() {
    solves_have_the_bits_of_the_reference::<f32>(SolverParams::auto::<f32>());
    let params = SolverParams { tolerance: 1e-3, ..SolverParams::auto::<Half>() };
    solves_have_the_bits_of_the_reference::<Half>(params);
}

#[test]
fn tree_sums_have_the_bits_of_the_reference() {
    let Some(device) = opencl() else { return };
    let sum = Sum::Tree(TreePlan::new(8, 4).unwrap());
    let ended = same_everywhere::<f64>(&device, SolverParams { sum, ..SolverParams::auto::<f64>() });
    assert!(ended.error.is_none());
}

#[test]
#[ignore = "test-all: builds sums in another way"]
fn a_device_that_sums_words_in_one_launch_has_the_same_bits() {
    let Some(mut device) = opencl() else { return };
    device.set_sum_options(SumOptions { finish: Some(Finish::RetirementCount), ..SumOptions::default() });
    let gaussian = device.upload(gaussian::<f64>()).unwrap();
    if device.norm2(&gaussian, Sum::Exact).is_err() {
        return; // Its memory model does not allow it.
    }
    same_everywhere::<f64>(&device, SolverParams::auto::<f64>());
}

#[test]
#[ignore = "test-all: builds in three precisions"]
fn mixed_precision_has_the_bits_of_the_reference() {
    fn solved<B: Backend, S: Vectors>(backend: &B, ahead: Option<usize>) -> Ended {
        let (mut operator, mut low) = (wilson::<B, f64>(backend), wilson::<B, S>(backend));
        let b = backend.upload(gaussian::<f64>()).unwrap();
        let mut psi = operator.zeros().unwrap();
        let params = SolverParams::auto::<f64>();
        let operators = (&mut operator as &mut DynOperator<'_, _, _, _>, &mut low as &mut DynOperator<'_, _, _, _>);
        let mut recurrence = MixedConjugateGradients::new(operators, &b, &mut psi, params).unwrap();
        if let Some(iterations) = ahead {
            recurrence.set_iterations_ahead(iterations);
        }
        let ended = ended(&mut recurrence, &mut Seen::default());
        assert!(recurrence.updates() > 1);
        ended
    }
    fn check<S: Vectors>(device: &OpenCl) {
        let expected = solved::<_, S>(&cpu(), None);
        assert!(expected.error.is_none());
        for ahead in AHEAD {
            assert!(solved::<_, S>(device, ahead) == expected, "{} {ahead:?}", S::NAME);
        }
    }
    for device in ways() {
        check::<f32>(&device);
        check::<Half>(&device);
    }
}

#[test]
fn errors_are_those_of_the_reference_wherever_they_come_among_queued_iterations() {
    for device in ways() {
        let usual = SolverParams::auto::<f64>();
        for (max_iterations, patience) in [(5, 1000), (1, 1000), (4, 1000), (1000, 1), (1000, 2)] {
            let ended =
                same_everywhere::<f64>(&device, SolverParams { max_iterations, patience, tolerance: 0.0, ..usual });
            let expected = if patience == 1000 { "NotConverged" } else { "Stagnation" };
            assert!(ended.error.unwrap().starts_with(expected));
        }
    }
}

/// A matrix of several eigenvalues, on the diagonal.
fn diagonal(site: usize, x: f64) -> f64 {
    (1.0 + (site / 2 % 12) as f64) * x
}

/// Solves by an operator whose work is done on the host: `work` is given the number of the field that it is applied to, from 1 in the order in which they came
/// first, and the site, and changes a real component. How it ended, the same everywhere, and the applications that it took on the device, 32 iterations queued at a time.
fn same_by<R: Vectors>(
    device: &OpenCl,
    b: &Field<R, Spinors>,
    work: impl Fn(usize, usize, f64) -> f64 + Sync + Copy,
) -> (Ended, usize) {
    let params = SolverParams { max_iterations: 30, ..SolverParams::auto::<R>() };
    fn on<B: Backend, R: Vectors>(
        backend: &B,
        b: &Field<R, Spinors>,
        work: impl Fn(usize, usize, f64) -> f64 + Sync,
        how: (SolverParams, Option<usize>),
    ) -> (Ended, usize) {
        let (applications, mut applied_to) = (Cell::new(0), Vec::new());
        let mut operator = ByFunction::new::<R>(backend, lattice::<R>(), ODD, |out, psi, _| {
            applications.set(applications.get() + 1);
            let values = backend.download(psi)?.to_site_order();
            let mut hasher = DefaultHasher::new();
            values.iter().for_each(|c| [c.re, c.im].map(|x| x.to_f64().to_bits()).hash(&mut hasher));
            let known = applied_to.iter().position(|&known| known == hasher.finish());
            let number = 1 + known.unwrap_or_else(|| {
                applied_to.push(hasher.finish());
                applied_to.len() - 1
            });
            let field = Field::from_sites(lattice::<R>(), ODD, Spinors::ONE, |site, object| {
                for (word, value) in object.iter_mut().zip(&values[site * Spinors::WORDS..]) {
                    let [re, im] = [value.re, value.im].map(|x| R::from_f64(work(number, site, x.to_f64())));
                    *word = Complex::new(re, im);
                }
            });
            *out = backend.upload(field.unwrap())?;
            Ok(())
        });
        let ended = solved::<_, R>(&mut operator, b, how, &mut Seen::default());
        (ended, applications.get())
    }
    let (expected, _) = on(&cpu(), b, work, (params, None));
    let mut taken = 0;
    for ahead in [Some(1), Some(3), None, Some(32)] {
        let (found, applications) = on(device, b, work, (params, ahead));
        let (errors, lengths) = ([&found.error, &expected.error], [found.history.len(), expected.history.len()]);
        assert!(found == expected, "{} {ahead:?}: {errors:?} {lengths:?}", R::NAME);
        taken = applications;
    }
    (expected, taken)
}

#[test]
fn sums_that_registers_do_not_hold_are_finished_by_the_host() {
    fn check<R: Vectors>(device: &OpenCl, tiny: f64) {
        let more = |(ended, taken): (Ended, usize)| {
            let (iterations, error) = (ended.history.len() - 1, ended.error.unwrap_or_default());
            assert!(iterations > 3 && (error.is_empty() || error.starts_with("NotConverged")), "{iterations} {error}");
            taken - iterations
        };
        // One product is far smaller than the sum, in iteration 4: that of p with A p.
        let once = more(same_by::<R>(device, &gaussian(), |number, site, x| {
            if number == 4 && site % 5 == 0 { tiny * x } else { diagonal(site, x) }
        }));
        // And that of r with r, from iteration 3 on.
        let b = source::<R>(|site, x| if site % 5 == 0 { 0.0 } else { x });
        let often = more(same_by::<R>(device, &b, |number, site, x| match (site % 5 == 0, number) {
            (true, 3) => tiny,
            (true, _) => 0.0,
            (false, _) => diagonal(site, x),
        }));
        // Both, from the start: numbers of all sizes.
        let b = source::<R>(|site, x| tiny.powf((site % 7) as f64 / 7.0) * x);
        let always = more(same_by::<R>(device, &b, |_, site, x| diagonal(site, x)));
        let usual = more(same_by::<R>(device, &gaussian(), |_, site, x| diagonal(site, x)));
        assert!(usual < once && once < often && once < always, "{usual} {once} {often} {always}");
    }
    for device in ways() {
        check::<f64>(&device, 1e-100);
        check::<f32>(&device, 1e-30);
    }
}

#[test]
fn sums_at_once_hold_more_than_a_pair_of_doubles_and_are_rounded_as_others() {
    let applied: Vec<[usize; 3]> = ways()
        .iter()
        .map(|device| {
            let applied = |binades: f64, sign: f64| {
                let b = source::<f64>(|site, x| (-binades / 2.0 * (site % 11) as f64 / 10.0).exp2() * x);
                let (ended, taken) =
                    same_by::<f64>(device, &b, |_, site, x| if site % 3 == 0 { sign * x } else { diagonal(site, x) });
                assert!(ended.history.len() > 3);
                taken
            };
            // Terms of both signs, whose sum stays positive for a while.
            applied(0.0, -0.01);
            applied(60.0, -0.01);
            [0.0, 20.0, 60.0].map(|binades| applied(binades, 1.0))
        })
        .collect();
    // Where a sum is not known on the device, the operator is applied for nothing.
    if let [pairs, at_once] = applied[..] {
        assert!(at_once[0] == pairs[0] && at_once[1] <= pairs[1] && at_once[2] < pairs[2], "{pairs:?} {at_once:?}");
    }
}

#[test]
fn what_is_no_number_or_not_positive_ends_a_solve_where_it_comes() {
    for device in ways() {
        for (error, wrong) in [
            ("NotFinite { quantity: \"<p, A p>\"", (|_| f64::NAN) as fn(f64) -> f64),
            ("NotFinite { quantity: \"<p, A p>\"", |x| x * f64::INFINITY),
            ("NotFinite { quantity: \"<p, A p>\"", |x| x * 1e308),
            // Where p is 0.
            ("NotFinite { quantity: \"|r|²\"", |x| if x == 0.0 { 1e200 } else { x }),
            ("Indefinite", |x| -x),
            ("Indefinite", |_| 0.0),
            ("Indefinite", |_| -0.0),
        ] {
            let b = source::<f64>(|site, x| if site % 5 == 0 { 0.0 } else { x });
            let (ended, _) =
                same_by::<f64>(
                    &device,
                    &b,
                    |number, site, x| {
                        if number == 4 { wrong(diagonal(site, x)) } else { diagonal(site, x) }
                    },
                );
            let (found, iterations) = (ended.error.unwrap(), ended.history.len() - 1);
            assert!(found.starts_with(error) && iterations == 3, "{found} after {iterations}, not {error}");
        }
    }
}

#[test]
fn states_are_there_when_a_watcher_wants_them_and_solves_go_on_from_them() {
    for device in ways() {
        let params = SolverParams::auto::<f64>();
        let every = |every| Seen { every: Some(every), ..Seen::default() };
        let mut on_host = every(5);
        let expected = wilson_solved::<_, f64>(&cpu(), params, None, &mut on_host);
        assert!(on_host.states.len() > 2);
        for ahead in AHEAD {
            let mut watcher = every(5);
            assert!(wilson_solved::<_, f64>(&device, params, ahead, &mut watcher) == expected);
            let [found, wanted] = [&watcher, &on_host].map(|seen| seen.states.iter().map(bits).collect::<Vec<_>>());
            assert!(found == wanted, "{ahead:?}");

            let resumed = resumed(&device, params, &watcher.states[1]);
            assert!((resumed.history, resumed.state) == (expected.history.clone(), expected.state.clone()));
        }
    }
}

/// As a signal that comes after iteration 7, or a progress function that says stop, or a record that differs.
#[test]
#[ignore = "test-all: many solves"]
fn a_solve_that_is_stopped_among_queued_iterations_leaves_a_state_to_go_on_from() {
    for device in ways() {
        let params = SolverParams::auto::<f64>();
        let whole = wilson_solved::<_, f64>(&cpu(), params, None, &mut Seen::default());
        for ahead in AHEAD {
            for stops_at in [None, Some(1), Some(2), Some(7), Some(8), Some(9), Some(20), Some(21)] {
                let interrupted_at = if stops_at.is_none() { Some(7) } else { None };
                let mut watcher = Seen { stops_at, interrupted_at, ..Seen::default() };
                let state = begun(&device, (params, ahead), |recurrence| {
                    let error = run(recurrence, &mut watcher).unwrap_err();
                    assert!(matches!(error, SolverError::Stopped(_)), "{error}");
                    assert!(whole.told.starts_with(&watcher.told));
                    let state = recurrence.save().unwrap();
                    assert_eq!(state.iterations(), recurrence.info().iterations);
                    state
                });
                let resumed = resumed(&cpu(), params, &state);
                let same = resumed.history == whole.history && resumed.state == whole.state;
                assert!(same && resumed.error.is_none(), "{ahead:?} {stops_at:?}");
            }
        }
    }
}

#[test]
fn queued_iterations_wait_once() {
    for device in ways() {
        // So many iterations, and not yet at the end.
        let params = SolverParams { max_iterations: 9, tolerance: 0.0, ..SolverParams::auto::<f64>() };
        let timeline = Timeline::new(true);
        begun(&device, (params, Some(9)), |recurrence| {
            assert!(device.context().record_into(Arc::clone(&timeline)));
            recurrence.step(&mut |_, _| ()).unwrap();
            assert_eq!(recurrence.info().iterations, 9);
            device.context().finish().unwrap();
        });
        let recording = timeline.recording();
        let waits = recording.spans.iter().filter(|span| span.group == Group::Wait);
        let waits: Vec<&str> =
            waits.map(|span| recording.name(span.name)).filter(|name| name.contains("device")).collect();
        assert_eq!(waits, ["read from device"]);
        let launched =
            |name: &str| recording.commands.iter().filter(|command| recording.name(command.name) == name).count();
        let kernels = ["cg_curvature f64", "cg_residual f64", "cg_advance f64", "cg_iteration f64"];
        let at_once = device.sum_options().at_once == Some(true);
        assert_eq!(kernels.map(launched), if at_once { [0, 0, 0, 9] } else { [9, 9, 9, 0] });
    }
}

/// Launches of an iteration are made again as they were, without the operator, until a state is needed; what else it does is not.
#[test]
#[ignore = "test-all: builds in f32"]
fn an_application_that_is_launches_alone_is_done_once_for_iterations_that_follow_each_other() {
    for device in ways() {
        let params = SolverParams { max_iterations: 9, tolerance: 0.0, ..SolverParams::auto::<f32>() };
        let applications = Cell::new(0);
        let applied = |clears, ahead, every| {
            let seen = || Seen { every, ..Seen::default() };
            let expected = wilson_solved::<_, f32>(&cpu(), params, None, &mut seen());
            applications.set(0);
            let mut operator = wilson::<_, f32>(&device);
            let mut operator = ByFunction::new::<f32>(&device, lattice::<f32>(), ODD, |out, psi, dagger| {
                applications.set(applications.get() + 1);
                if clears {
                    device.clear(out)?;
                }
                operator.apply(out, psi, dagger)
            });
            let found = solved::<_, f32>(&mut operator, &gaussian(), (params, Some(ahead)), &mut seen());
            assert!(found == expected, "{clears} {ahead} {every:?}");
            applications.get()
        };
        // What is launched for the first time is waited for.
        applied(false, 1, None);
        for (ahead, every, expected) in
            [(9, None, [1, 9]), (3, None, [1, 9]), (3, Some(6), [2, 9]), (9, Some(3), [3, 9])]
        {
            assert_eq!([false, true].map(|clears| applied(clears, ahead, every)), expected, "{ahead} {every:?}");
        }
    }
}

/// What iterations are launched again on are the fields of the state that was restored.
#[test]
fn a_state_is_restored_between_iterations_that_follow_each_other() {
    let params = SolverParams { max_iterations: 12, tolerance: 0.0, ..SolverParams::auto::<f64>() };
    let expected = wilson_solved::<_, f64>(&cpu(), params, None, &mut Seen::default());
    for device in ways() {
        let found = begun(&device, (params, Some(3)), |recurrence| {
            let mut seen = Seen::default();
            let begin = recurrence.save().unwrap();
            recurrence.step(&mut seen).unwrap();
            recurrence.step(&mut seen).unwrap();
            recurrence.restore(&begin).unwrap();
            ended(recurrence, &mut Seen::default())
        });
        assert!(found == expected, "{found:?}");
    }
}

/// Who begins to look among iterations that follow each other sees the launches of the next ones.
#[test]
fn launches_are_seen_by_who_begins_to_look() {
    let params = SolverParams { max_iterations: 12, tolerance: 0.0, ..SolverParams::auto::<f64>() };
    for device in ways() {
        let history = begun(&device, (params, Some(3)), |recurrence| {
            for _ in 0..2 {
                recurrence.step(&mut |_, _| ()).unwrap();
            }
            let launches = device.launches_of(&mut || {
                recurrence.step(&mut |_, _| ()).unwrap();
                Ok(())
            });
            let launches = launches.unwrap().len();
            assert!(launches >= 3 * 5, "{launches}");
            recurrence.step(&mut |_, _| ()).unwrap();
            bits_of(&recurrence.info().history)
        });
        let expected = wilson_solved::<_, f64>(&cpu(), params, None, &mut Seen::default());
        assert_eq!(history, expected.history);
    }
}

#[test]
fn more_iterations_than_there_is_room_for_are_refused() {
    let Some(device) = opencl() else { return };
    let bounds = QueuedBounds { c: 3.0, low: 1e-300, high: f64::INFINITY, keep: f64::NEG_INFINITY };
    let mut queued = device.queued_iterations(Sum::Exact).unwrap();
    let error = queued.begin(bounds, MOST_QUEUED + 1).unwrap_err();
    assert_eq!(error.to_string(), "argument iterations of cg_iteration is 257: expected 256 at most");
    queued.begin(bounds, MOST_QUEUED).unwrap();
}

/// Threads share the queue of a device, and memory: none repeats what another launched, or writes where another's field lies by then.
#[test]
fn threads_solve_side_by_side() {
    let Some(device) = opencl() else { return };
    let params = SolverParams::auto::<f32>();
    let expected = wilson_solved::<_, f32>(&cpu(), params, None, &mut Seen::default());
    std::thread::scope(|scope| {
        for ahead in [Some(32), None, Some(7)] {
            let (device, expected) = (&device, &expected);
            scope.spawn(move || {
                for _ in 0..4 {
                    assert!(wilson_solved::<_, f32>(device, params, ahead, &mut Seen::default()) == *expected);
                }
            });
        }
    });
}

/// By hand: |r|² spills where ⟨p, A p⟩ does not; nothing is done behind it, and the next iterations find the spilled part empty.
#[test]
fn kernels_halt_behind_a_sum_that_they_do_not_know() {
    let Some(device) = opencl() else { return };
    let hold = |field: Field<f64, Spinors>| device.upload(field).unwrap();
    let bounds = QueuedBounds { c: 3.0, low: 1e-300, high: f64::INFINITY, keep: f64::NEG_INFINITY };
    let wide = |site: usize, x: f64| 1e-150f64.powi((site % 3) as i32) * x;
    for (is_wide, halts) in [(true, true), (false, false), (true, true)] {
        let (mut psi, mut p, product) = (hold(gaussian()), hold(gaussian()), hold(gaussian()));
        let mut r = hold(if is_wide { source(wide) } else { gaussian() });
        let zero = hold(source(|_, _| 0.0));
        let (old_psi, old_p) = (device.download(&psi).unwrap(), device.download(&p).unwrap());
        let mut queued = device.queued_iterations(Sum::Exact).unwrap();
        queued.begin(bounds, 2).unwrap();
        let step = Step::default();
        for _ in 0..2 {
            assert!(!queued.repeat(&device).unwrap());
            let call = Arguments::new(&CG_CURVATURE).read("x", &p).read("y", &product).call().unwrap();
            queued.launch(&device, call, &step).unwrap();
            let call = Arguments::new(&CG_RESIDUAL).write("r", &mut r).read("product", &zero).call().unwrap();
            queued.launch(&device, call, &step).unwrap();
            let advance = Arguments::new(&CG_ADVANCE).write("psi", &mut psi).write("p", &mut p).read("r", &r);
            queued.launch(&device, advance.call().unwrap(), &step).unwrap();
            queued.end(&device).unwrap();
        }
        let sums = queued.sums(&device).unwrap();
        assert_eq!((sums.values.len(), sums.breaks_off), if halts { (2, true) } else { (4, false) });
        let backend = cpu();
        let curvature = backend.norm2(&backend.upload(gaussian::<f64>()).unwrap(), Sum::Exact).unwrap();
        let norm2 = device.norm2(&r, Sum::Exact).unwrap();
        assert_eq!([sums.values[0], sums.values[1]].map(f64::to_bits), [curvature, norm2].map(f64::to_bits));
        let unchanged = device.download(&psi).unwrap().reals() == old_psi.reals();
        assert_eq!(unchanged && device.download(&p).unwrap().reals() == old_p.reals(), halts);
    }
}
