//! Ensembles of the pure gauge theory: the same bits on every backend, for all lanes and precisions that are given, and the plaquettes that are known.

use lanefield::gauge::{
    Action, GaugeField, Hmc, HmcParameters, Integrator, Quenched, QuenchedError, QuenchedImproved, QuenchedParameters,
};
use lanefield::prelude::*;
use lanefield_reference::layout::LaneWidth;

use crate::common::backends::{cpu, opencl};

const PARAMETERS: QuenchedParameters = QuenchedParameters { beta: 5.7, overrelaxations: 2, seed: 11 };

fn extents(extents: [usize; 4]) -> Extents {
    Extents::new(extents).unwrap()
}

/// The links and the plaquette after so many sweeps from a hot start.
fn evolved<B: Backend, R: Vectors>(
    backend: &B,
    lattice: [usize; 4],
    sweeps: u64,
    lanes: LaneChoice,
) -> (Vec<u64>, u64) {
    let start = Configuration::hot(extents(lattice), 3);
    let mut field = Quenched::<_, R>::new(backend, &start, PARAMETERS, 0, lanes).unwrap();
    (0..sweeps).for_each(|_| field.sweep().unwrap());
    let plaquette = field.plaquette().unwrap();
    let links = field.configuration().unwrap().into_links();
    (links.iter().flat_map(|z| [z.re.to_bits(), z.im.to_bits()]).collect(), plaquette.to_bits())
}

const LATTICES: [[usize; 4]; 2] = [[4, 4, 4, 4], [2, 4, 6, 4]];

#[test]
fn sweeps_have_the_same_bits_for_all_lanes() {
    for lattice in LATTICES {
        let expected = evolved::<_, f64>(&cpu(), lattice, 2, LaneChoice::Auto);
        for width in [LaneWidth::ALL[1], LaneWidth::ALL[2]] {
            assert_eq!(evolved::<_, f64>(&cpu(), lattice, 2, LaneChoice::UpTo(width)), expected, "{width:?}");
        }
    }
}

#[test]
#[ignore = "test-all: two lattices in two precisions on the device"]
fn sweeps_have_the_same_bits_on_opencl() {
    fn check<R: Vectors>(device: &OpenCl) {
        for lattice in LATTICES {
            let [found, expected] = [
                evolved::<_, R>(device, lattice, 2, LaneChoice::Auto),
                evolved::<_, R>(&cpu(), lattice, 2, LaneChoice::Auto),
            ];
            assert_eq!(found, expected, "{}", R::NAME);
        }
    }
    let Some(device) = opencl() else { return };
    check::<f64>(&device);
    check::<f32>(&device);
}

#[test]
fn a_run_that_goes_on_has_the_bits_of_one_that_was_never_ended() {
    let (backend, start) = (cpu(), Configuration::hot(extents([4, 4, 2, 4]), 5));
    let evolve = |start: &Configuration, from: u64, sweeps: usize| {
        let mut field = Quenched::<_, f64>::new(&backend, start, PARAMETERS, from, LaneChoice::Auto).unwrap();
        (0..sweeps).for_each(|_| field.sweep().unwrap());
        assert_eq!(field.sweeps(), from + sweeps as u64);
        field.configuration().unwrap()
    };
    assert_eq!(evolve(&evolve(&start, 0, 2), 2, 3), evolve(&start, 0, 5));
    assert_ne!(evolve(&evolve(&start, 0, 2), 3, 3), evolve(&start, 0, 5), "sweeps have random numbers of their own");
}

#[test]
fn the_plaquette_is_that_of_the_configuration_and_links_stay_in_su3() {
    let backend = cpu();
    let start = Configuration::hot(extents([4, 2, 4, 6]), 8);
    let mut field = Quenched::<_, f64>::new(&backend, &start, PARAMETERS, 0, LaneChoice::Auto).unwrap();
    for _ in 0..3 {
        field.sweep().unwrap();
        let configuration = field.configuration().unwrap();
        assert!((field.plaquette().unwrap() - configuration.plaquette()).abs() < 1e-14);
        assert!(configuration.unitarity_defect().defect < 1e-14);
    }
}

#[test]
fn overrelaxation_keeps_the_energy() {
    let backend = cpu();
    let start = Configuration::hot(extents([4, 4, 4, 4]), 21);
    // At β = 0 every new link is refused, so that only overrelaxation moves links.
    let parameters = QuenchedParameters { beta: 0.0, overrelaxations: 3, seed: 1 };
    let mut field = Quenched::<_, f64>::new(&backend, &start, parameters, 0, LaneChoice::Auto).unwrap();
    let before = field.plaquette().unwrap();
    field.sweep().unwrap();
    assert!((field.plaquette().unwrap() - before).abs() < 1e-14);
    let moved = field.configuration().unwrap();
    let distance: f64 = moved.links().iter().zip(start.links()).map(|(a, b)| (a - b).norm_sqr()).sum();
    assert!(distance > 100.0, "links are moved: {distance}");
}

/// The mean of plaquettes in a run, and its error from bins.
fn plaquette(lattice: [usize; 4], beta: f64, thermalisation: usize, sweeps: usize) -> (f64, f64) {
    const BINS: usize = 20;
    let (backend, start) = (cpu(), Configuration::hot(extents(lattice), 1));
    let parameters = QuenchedParameters { beta, overrelaxations: 1, seed: 2 };
    let mut field = Quenched::<_, f64>::new(&backend, &start, parameters, 0, LaneChoice::Auto).unwrap();
    binned::<BINS>(thermalisation, sweeps / BINS, || {
        field.sweep().unwrap();
        field.plaquette().unwrap()
    })
}

/// The mean of what is measured after thermalisation, so often a bin, and its error from bins.
fn binned<const BINS: usize>(thermalisation: usize, of_bin: usize, mut measure: impl FnMut() -> f64) -> (f64, f64) {
    for _ in 0..thermalisation {
        measure();
    }
    let bins: [f64; BINS] = std::array::from_fn(|_| (0..of_bin).map(|_| measure()).sum::<f64>() / of_bin as f64);
    let mean = bins.iter().sum::<f64>() / BINS as f64;
    let variance = bins.iter().map(|bin| (bin - mean).powi(2)).sum::<f64>() / (BINS * (BINS - 1)) as f64;
    (mean, variance.sqrt())
}

/// Within five of the errors of both, which fails by chance once in a million times: and random numbers are always the same.
fn agrees((mean, error): (f64, f64), (known, its_error): (f64, f64)) {
    let difference = (mean - known).abs();
    assert!(difference < 5.0 * error.hypot(its_error), "{mean} ± {error}, and not {known} ± {its_error}");
}

/// On 2⁴ sites, by Gaugefields.jl and latticeqcd-rs.
#[test]
#[ignore = "test-all: statistics"]
fn plaquettes_on_two_to_the_fourth_sites_are_those_of_other_programs() {
    for (beta, known) in [(5.5, (0.5669, 0.0018)), (5.7, (0.5889, 0.0017)), (6.0, (0.6192, 0.0012))] {
        agrees(plaquette([2, 2, 2, 2], beta, 50, 600), known);
    }
}

/// Strong coupling: P = β/18 + (β/18)²/2 + … of one plaquette, and 4 u⁵ from the cubes around it in four dimensions.
#[test]
#[ignore = "test-all: statistics"]
fn the_plaquette_at_strong_coupling_is_that_of_the_expansion() {
    const U: f64 = 0.060_126_554_8;
    agrees(plaquette([4, 4, 4, 4], 1.0, 20, 400), (U + 4.0 * U.powi(5), 0.0));
}

const IMPROVED: [Action; 2] = [Action::Symanzik, Action::Iwasaki];

/// c0 · plaquettes + c1 · rectangles, a site.
fn action_of<B: Backend>(field: &GaugeField<'_, B>, action: Action) -> f64 {
    let (plaquettes, rectangles) = (field.plaquettes().unwrap().all, field.rectangles().unwrap().all);
    6.0 * action.plaquette() * plaquettes + 12.0 * action.rectangle() * rectangles
}

/// No two links that are reflected together are part of the same loop.
#[test]
fn overrelaxation_keeps_the_energy_of_actions_with_rectangles() {
    let (backend, start) = (cpu(), Configuration::hot(extents([4, 4, 4, 8]), 21));
    for action in IMPROVED {
        // At β = 0 every new link is refused.
        let parameters = QuenchedParameters { beta: 0.0, overrelaxations: 1, seed: 1 };
        let mut of = QuenchedImproved::new(&backend, &start, (action, parameters), 0, LaneChoice::Auto).unwrap();
        let before = action_of(of.field(), action);
        of.sweep().unwrap();
        assert!((action_of(of.field(), action) - before).abs() < 1e-13, "{action}");
        let moved = of.field().configuration().unwrap();
        let distance: f64 = moved.links().iter().zip(start.links()).map(|(a, b)| (a - b).norm_sqr()).sum();
        assert!(distance > 100.0, "links are moved: {distance}");
    }
}

/// The links after a sweep.
fn swept<B: Backend>(backend: &B, lanes: LaneChoice) -> Configuration {
    let start = Configuration::hot(extents([4, 4, 4, 4]), 3);
    let of_action = (Action::Symanzik, PARAMETERS);
    let mut of = QuenchedImproved::new(backend, &start, of_action, 0, lanes).unwrap();
    of.sweep().unwrap();
    of.field().configuration().unwrap()
}

#[test]
fn sweeps_of_actions_with_rectangles_have_the_same_bits_for_all_lanes() {
    let expected = swept(&cpu(), LaneChoice::Auto);
    assert!(expected.unitarity_defect().defect < 1e-14);
    assert_eq!(swept(&cpu(), LaneChoice::UpTo(LaneWidth::ALL[1])), expected);
}

#[test]
#[ignore = "test-all: tests/hmc.rs runs most of these kernels on the device"]
fn sweeps_of_actions_with_rectangles_have_the_same_bits_on_opencl() {
    if let Some(device) = opencl() {
        assert_eq!(swept(&device, LaneChoice::Auto), swept(&cpu(), LaneChoice::Auto));
    }
}

/// Two algorithms that have the staples in common, and nothing else.
#[test]
#[ignore = "test-all: statistics of minutes"]
fn plaquettes_of_actions_with_rectangles_are_those_of_hybrid_monte_carlo() {
    const BINS: usize = 10;
    let (backend, start) = (cpu(), Configuration::hot(extents([4, 4, 4, 4]), 2));
    for (action, beta) in [(Action::Symanzik, 4.0), (Action::Iwasaki, 2.0)] {
        let parameters = QuenchedParameters { beta, overrelaxations: 1, seed: 6 };
        let mut heat_bath = QuenchedImproved::new(&backend, &start, (action, parameters), 0, LaneChoice::Auto).unwrap();
        let by_heat_bath = binned::<BINS>(20, 8, || {
            heat_bath.sweep().unwrap();
            heat_bath.field().plaquettes().unwrap().all
        });
        let integrator = Integrator::Omelyan;
        let parameters = HmcParameters { action, beta, seed: 7, integrator, steps: 6, length: 1.0 };
        let mut hmc = Hmc::new(&backend, &start, parameters, 0, LaneChoice::Auto).unwrap();
        agrees(
            by_heat_bath,
            binned::<BINS>(20, 8, || {
                hmc.trajectory().unwrap();
                hmc.field().plaquettes().unwrap().all
            }),
        );
    }
}

#[test]
fn extents_that_are_no_multiples_of_four_are_refused_for_actions_with_rectangles() {
    let (backend, start) = (cpu(), Configuration::unit(extents([4, 4, 6, 4])));
    let made = QuenchedImproved::new(&backend, &start, (Action::Iwasaki, PARAMETERS), 0, LaneChoice::Auto);
    let error = made.err().map(|error| error.to_string()).unwrap();
    assert!(error.contains("multiples of 4, not 4.4.6.4"), "{error}");
}

#[test]
fn what_is_no_ensemble_is_refused() {
    let (backend, start) = (cpu(), Configuration::unit(extents([2, 2, 2, 2])));
    let of = |beta, sweep| {
        let parameters = QuenchedParameters { beta, overrelaxations: 1, seed: 1 };
        Quenched::<_, f64>::new(&backend, &start, parameters, sweep, LaneChoice::Auto)
            .err()
            .map(|error| error.to_string())
    };
    assert_eq!(of(-1.0, 0).unwrap(), "beta -1 is out of range: expected a finite number, at least 0");
    assert!(of(f64::NAN, 0).is_some());
    assert!(of(6.0, 1 << 23).unwrap().contains("8388608"));
    let odd = Configuration::unit(extents([2, 2, 2, 3]));
    let parameters = PARAMETERS;
    assert!(matches!(
        Quenched::<_, f64>::new(&backend, &odd, parameters, 0, LaneChoice::Auto),
        Err(QuenchedError::Layout(_))
    ));
}
