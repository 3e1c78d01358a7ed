//! Hybrid Monte Carlo of the pure gauge theory: trajectories are reversible, their energies are conserved to the order of the integrator, the same bits on
//! every backend, and the plaquette that the heat bath has, too.

use lanefield::gauge::{Action, Hmc, HmcParameters, Integrator};
use lanefield::prelude::*;
use lanefield_reference::layout::LaneWidth;

use crate::common::backends::{cpu, opencl};

const PARAMETERS: HmcParameters = HmcParameters {
    action: Action::Wilson,
    beta: 5.7,
    seed: 4,
    integrator: Integrator::Omelyan,
    steps: 4,
    length: 0.5,
};

fn start() -> Configuration {
    Configuration::weak(Extents::new([4, 2, 4, 4]).unwrap(), 7, 0.3)
}

fn of<B: Backend>(backend: &B, parameters: HmcParameters, lanes: LaneChoice) -> Hmc<'_, B> {
    Hmc::new(backend, &start(), parameters, 0, lanes).unwrap()
}

fn distance(a: &Configuration, b: &Configuration) -> f64 {
    a.links().iter().zip(b.links()).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

#[test]
fn a_trajectory_there_and_back_ends_where_it_began() {
    for action in [Action::Wilson, Action::Symanzik] {
        for integrator in [Integrator::Leapfrog, Integrator::Omelyan] {
            let backend = cpu();
            let mut hmc = of(&backend, HmcParameters { action, integrator, ..PARAMETERS }, LaneChoice::Auto);
            let there = hmc.along(1.0).unwrap();
            let at_the_end = hmc.field().configuration().unwrap();
            assert!(distance(&at_the_end, &start()) > 0.1, "links move");
            let back = hmc.back(1.0).unwrap();
            assert!(distance(&hmc.field().configuration().unwrap(), &start()) < 1e-12, "{action}, {integrator}");
            assert!((there + back).abs() < 1e-9, "{there} {back}");
        }
    }
}

/// Of integrators of second order the error of the energy falls by 4 where steps are halved.
#[test]
fn the_energy_is_conserved_to_the_second_order_of_the_step() {
    for action in [Action::Wilson, Action::Symanzik] {
        let mut errors = Vec::new();
        for integrator in [Integrator::Leapfrog, Integrator::Omelyan] {
            let of_steps = |steps| {
                let backend = cpu();
                of(&backend, HmcParameters { action, integrator, steps, ..PARAMETERS }, LaneChoice::Auto)
                    .along(1.0)
                    .unwrap()
            };
            let [coarse, fine] = [8, 16].map(of_steps);
            assert!((3.0..5.0).contains(&(coarse / fine)), "{action}, {integrator}: {coarse} {fine}");
            errors.push(fine.abs());
        }
        assert!(errors[1] < errors[0] / 4.0, "{action}: {errors:?}");
    }
}

#[test]
fn trajectories_have_the_same_bits_on_every_backend_and_for_all_lanes() {
    fn made<B: Backend>(backend: &B, lanes: LaneChoice) -> (Vec<u64>, Configuration) {
        let mut hmc = of(backend, PARAMETERS, lanes);
        let differences = (0..2).map(|_| hmc.trajectory().unwrap().energy_difference.to_bits()).collect();
        (differences, hmc.field().configuration().unwrap())
    }
    let expected = made(&cpu(), LaneChoice::Auto);
    assert_eq!(made(&cpu(), LaneChoice::UpTo(LaneWidth::ALL[1])), expected);
    if let Some(device) = opencl() {
        assert_eq!(made(&device, LaneChoice::Auto), expected, "on the device");
    }
}

#[test]
fn a_trajectory_that_is_refused_leaves_the_links() {
    let backend = cpu();
    // So long a step that the energy is far off.
    let parameters = HmcParameters { steps: 1, length: 3.0, integrator: Integrator::Leapfrog, ..PARAMETERS };
    let mut hmc = of(&backend, parameters, LaneChoice::Auto);
    let made = hmc.trajectory().unwrap();
    assert!(!made.accepted && made.energy_difference > 10.0, "{made:?}");
    assert_eq!(hmc.field().configuration().unwrap(), start());
    assert_eq!(hmc.trajectories(), 1);
}

/// ⟨exp(−ΔH)⟩ = 1, and the plaquette on 2⁴ sites at β = 5.5 is that of Gaugefields.jl and latticeqcd-rs.
#[test]
#[ignore = "test-all: statistics"]
fn the_distribution_is_that_of_the_heat_bath() {
    const BINS: usize = 16;
    let backend = cpu();
    let start = Configuration::hot(Extents::new([2, 2, 2, 2]).unwrap(), 3);
    let parameters = HmcParameters { beta: 5.5, steps: 5, length: 1.0, ..PARAMETERS };
    let mut hmc = Hmc::new(&backend, &start, parameters, 0, LaneChoice::Auto).unwrap();
    for _ in 0..40 {
        hmc.trajectory().unwrap();
    }
    let (mut bins, mut weights, mut accepted) = ([0.0; BINS], [0.0; BINS], 0);
    let per_bin = 25;
    for (bin, weight) in bins.iter_mut().zip(&mut weights) {
        for _ in 0..per_bin {
            let made = hmc.trajectory().unwrap();
            *weight += (-made.energy_difference).exp() / f64::from(per_bin);
            *bin += hmc.field().plaquettes().unwrap().all / f64::from(per_bin);
            accepted += usize::from(made.accepted);
        }
    }
    let mean_and_error = |bins: [f64; BINS]| {
        let mean = bins.iter().sum::<f64>() / BINS as f64;
        let variance = bins.iter().map(|bin| (bin - mean).powi(2)).sum::<f64>() / (BINS * (BINS - 1)) as f64;
        (mean, variance.sqrt())
    };
    let (plaquette, error) = mean_and_error(bins);
    assert!((plaquette - 0.5669).abs() < 5.0 * error.hypot(0.0018), "{plaquette} ± {error}");
    let (weight, error) = mean_and_error(weights);
    assert!((weight - 1.0).abs() < 5.0 * error && error < 0.1, "{weight} ± {error}");
    assert!(accepted > 200, "{accepted}");
}

#[test]
fn what_is_no_trajectory_is_refused() {
    let backend = cpu();
    let refused = |parameters| Hmc::new(&backend, &start(), parameters, 0, LaneChoice::Auto).err().unwrap().to_string();
    assert_eq!(refused(HmcParameters { beta: -1.0, ..PARAMETERS }), "beta is -1: expected a finite number, at least 0");
    assert_eq!(refused(HmcParameters { steps: 0, ..PARAMETERS }), "the number of steps is 0: expected at least 1");
    assert!(refused(HmcParameters { length: 0.0, ..PARAMETERS }).contains("above 0"));
}
