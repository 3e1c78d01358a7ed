//! Gauge fields on every backend (`src/gauge`): what is measured on them, their flow and their smearing, by identities, and with the same bits everywhere.

use lanefield::gauge::{Action, Flow, GaugeField, GaugeFieldError, LinkField, Smearing, StepChoice};
use lanefield::prelude::*;
use lanefield_reference::gauge::{GaugeTransformation, Projection, SITE_WORDS};
use lanefield_reference::object::ColourMatrix;

use crate::common::backends::{cpu, on_every_backend, opencl};
use crate::common::fields::{download, lattice};

on_every_backend! {
    the_average_plaquette_has_the_bits_of_the_configuration;
    in test-all:
    a_constant_flux_has_the_loops_and_the_charge_of_its_phases,
    what_is_measured_does_not_depend_on_the_gauge,
    a_loop_round_one_plaquette_is_the_plaquette,
    a_step_of_stout_smearing_is_one_of_the_flow_by_euler,
    the_flow_commutes_with_gauge_transformations,
    smearing_commutes_with_gauge_transformations,
    smeared_links_are_in_su3,
    the_unit_field_stays_as_it_is,
    the_error_of_the_flow_falls_with_the_third_power_of_the_step,
    an_adaptive_flow_is_as_near_as_its_tolerance_says,
    exponentials_of_diagonal_matrices_have_their_phases,
    projections_of_multiples_of_links_are_the_links,
}

fn extents() -> Extents {
    Extents::new([4, 4, 2, 6]).unwrap()
}

fn field<'b, B: Backend>(backend: &'b B, configuration: &Configuration) -> GaugeField<'b, B> {
    GaugeField::new(backend, configuration, LaneChoice::default()).unwrap()
}

fn flowed<B: Backend>(
    backend: &B,
    configuration: &Configuration,
    action: Action,
    step: f64,
    steps: u32,
) -> Configuration {
    let mut flow = Flow::new(field(backend, configuration), action, StepChoice::Fixed(step)).unwrap();
    for k in 1..=steps {
        flow.advance(step * f64::from(k)).unwrap();
    }
    flow.field().configuration().unwrap()
}

fn smeared<B: Backend>(backend: &B, configuration: &Configuration, smearing: &str) -> Configuration {
    let mut field = field(backend, configuration);
    field.smear(&smearing.parse().unwrap()).unwrap();
    field.configuration().unwrap()
}

/// The largest difference of two elements.
fn distance(a: &Configuration, b: &Configuration) -> f64 {
    a.links().iter().zip(b.links()).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

fn the_average_plaquette_has_the_bits_of_the_configuration(backend: &impl Backend) {
    let hot = Configuration::hot(extents(), 3);
    let plaquettes = field(backend, &hot).plaquettes().unwrap();
    assert_eq!(plaquettes.all.to_bits(), hot.plaquette().to_bits());
    assert!((plaquettes.all - 0.5 * (plaquettes.spatial + plaquettes.temporal)).abs() < 1e-15);
    assert!(plaquettes.spatial != plaquettes.temporal);
}

/// Links of diag(e^iθ, e^−iθ, 1) whose plaquettes are those of θ = `flux` 2π/(L L') in the planes xy and zt, and 1 in all others.
fn constant_flux(extents: Extents, flux: [u32; 2]) -> (Configuration, [f64; 2]) {
    let l = extents.as_array().map(|l| l as f64);
    let phases = [(0, flux[0]), (2, flux[1])].map(|(mu, n)| std::f64::consts::TAU * f64::from(n) / (l[mu] * l[mu + 1]));
    let mut links = Vec::with_capacity(extents.volume() * SITE_WORDS);
    for site in 0..extents.volume() {
        let x = extents.coordinate(site);
        for mu in 0..4 {
            let (plane, phase) = (mu / 2, phases[mu / 2]);
            let (first, second) = (x[2 * plane] as f64, x[2 * plane + 1] as f64);
            // U_ν = e^{iθ x_μ}, and on the last slice U_μ = e^{−iθ L_μ x_ν}.
            let angle = match mu % 2 {
                1 => phase * first,
                _ if x[mu] + 1 == extents[mu] => -phase * l[mu] * second,
                _ => 0.0,
            };
            let (zero, one) = (Complex::new(0.0, 0.0), Complex::new(1.0, 0.0));
            let turn = Complex::from_polar(1.0, angle);
            links.extend([turn, zero, zero, zero, turn.conj(), zero, zero, zero, one]);
        }
    }
    (Configuration::new(extents, links).unwrap(), phases)
}

fn a_constant_flux_has_the_loops_and_the_charge_of_its_phases(backend: &impl Backend) {
    let extents = Extents::new([4, 6, 4, 8]).unwrap();
    let (configuration, [a, b]) = constant_flux(extents, [1, 2]);
    let field = field(backend, &configuration);
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-13, "{found}, not {expected}");
    // Of three planes of space one has the phase a, and of three with time one has b.
    let of = |phase: f64| (2.0 * phase.cos() + 1.0) / 3.0;
    let plaquettes = field.plaquettes().unwrap();
    near(plaquettes.spatial, (of(a) + 2.0) / 3.0);
    near(plaquettes.temporal, (of(b) + 2.0) / 3.0);
    let rectangles = field.rectangles().unwrap();
    near(rectangles.spatial, (of(2.0 * a) + 2.0) / 3.0);
    near(rectangles.all, (of(2.0 * a) + of(2.0 * b) + 4.0) / 6.0);
    // F = i·diag(sin θ, −sin θ, 0) at every site.
    let clover = field.clover().unwrap();
    near(clover.spatial, 2.0 * a.sin() * a.sin());
    near(clover.temporal, 2.0 * b.sin() * b.sin());
    let volume = extents.volume() as f64;
    near(clover.charge, volume * 2.0 * a.sin() * b.sin() / (4.0 * std::f64::consts::PI.powi(2)));
    // In the continuum it is 2 n₁ n₂, which sin θ for θ takes a little away from.
    let continuum = volume * 2.0 * a * b / (4.0 * std::f64::consts::PI.powi(2));
    near(continuum, 4.0);
    assert!(clover.charge < 4.0 && clover.charge > 3.7);
    // Squares of two steps have four times the phase: what is left is of fourth order.
    let improved = field.improved_clover().unwrap();
    let sine = |phase: f64| 4.0 / 3.0 * phase.sin() - (4.0 * phase).sin() / 12.0;
    near(improved.temporal, 2.0 * sine(b) * sine(b));
    near(improved.charge, volume * 2.0 * sine(a) * sine(b) / (4.0 * std::f64::consts::PI.powi(2)));
}

fn what_is_measured_does_not_depend_on_the_gauge(backend: &impl Backend) {
    let weak = Configuration::weak(extents(), 5, 0.4);
    let turned = GaugeTransformation { seed: 8 }.of_links(&weak);
    let [one, other] = [&weak, &turned].map(|configuration| {
        let field = field(backend, configuration);
        let (plaquettes, rectangles, clover) =
            (field.plaquettes().unwrap(), field.rectangles().unwrap(), field.clover().unwrap());
        let polyakov = Direction::ALL.map(|direction| field.polyakov_loop(direction).unwrap());
        let loops = field.wilson_loops(2, 3).unwrap().concat();
        let improved = field.improved_clover().unwrap();
        let of_planes = [
            plaquettes.all,
            rectangles.all,
            clover.spatial,
            clover.temporal,
            clover.charge,
            improved.temporal,
            improved.charge,
        ];
        let traces = polyakov.into_iter().flat_map(|trace| [trace.re, trace.im]);
        of_planes.into_iter().chain(traces).chain(loops).collect::<Vec<f64>>()
    });
    for (one, other) in one.iter().zip(&other) {
        assert!((one - other).abs() < 1e-13, "{one} and {other}");
        assert!(one.abs() > 1e-6, "{one} says nothing");
    }
}

fn a_loop_round_one_plaquette_is_the_plaquette(backend: &impl Backend) {
    let field = field(backend, &Configuration::weak(extents(), 6, 0.3));
    let loops = field.wilson_loops(2, 2).unwrap();
    assert!((loops[0][0] - field.plaquettes().unwrap().temporal).abs() < 1e-15);
    let error = field.wilson_loops(3, 1).unwrap_err();
    assert_eq!(error.to_string(), "loops of 3 steps do not fit 4.4.2.6: expected 1 to 2");
}

fn a_step_of_stout_smearing_is_one_of_the_flow_by_euler(backend: &impl Backend) {
    // A flow by Euler's scheme differs from that of third order by the second power of the step.
    let weak = Configuration::weak(extents(), 4, 0.3);
    let difference = |rho: f64| {
        let stout = smeared(backend, &weak, &format!("stout:{rho},1"));
        distance(&stout, &flowed(backend, &weak, Action::Wilson, rho, 1))
    };
    let (coarse, fine) = (difference(0.01), difference(0.005));
    assert!(coarse > 1e-5 && (3.5..4.5).contains(&(coarse / fine)), "{coarse} and {fine}");
}

fn the_flow_commutes_with_gauge_transformations(backend: &impl Backend) {
    let (weak, turn) = (Configuration::weak(extents(), 5, 0.4), GaugeTransformation { seed: 9 });
    for action in [Action::Wilson, Action::Symanzik] {
        let one = turn.of_links(&flowed(backend, &weak, action, 0.05, 3));
        let other = flowed(backend, &turn.of_links(&weak), action, 0.05, 3);
        assert!(distance(&one, &other) < 1e-13, "{action}: {}", distance(&one, &other));
        assert!(distance(&flowed(backend, &weak, action, 0.05, 3), &weak) > 0.1);
        one.require_su3(1e-13).unwrap();
    }
}

const SMEARINGS: [&str; 5] =
    ["stout:0.1,3", "ape:0.6,2", "hyp:0.75,0.6,0.3,1", "spatial-ape:0.6,2,max-re-tr", "hyp:0.75,0.6,0.3,1,max-re-tr"];

fn smearing_commutes_with_gauge_transformations(backend: &impl Backend) {
    let (weak, turn) = (Configuration::weak(extents(), 5, 0.4), GaugeTransformation { seed: 9 });
    for smearing in SMEARINGS {
        let one = turn.of_links(&smeared(backend, &weak, smearing));
        let other = smeared(backend, &turn.of_links(&weak), smearing);
        assert!(distance(&one, &other) < 1e-12, "{smearing}: {}", distance(&one, &other));
    }
}

fn smeared_links_are_in_su3(backend: &impl Backend) {
    let weak = Configuration::weak(extents(), 7, 0.4);
    for smearing in SMEARINGS {
        let smooth = smeared(backend, &weak, smearing);
        smooth.require_su3(1e-13).unwrap();
        assert!(smooth.plaquette() > weak.plaquette(), "{smearing}");
        assert!((smooth.plaquette() - 1.0).abs() > 1e-6, "{smearing}");
    }
}

fn the_unit_field_stays_as_it_is(backend: &impl Backend) {
    let unit = Configuration::unit(extents());
    for smearing in SMEARINGS {
        assert!(distance(&smeared(backend, &unit, smearing), &unit) < 1e-15, "{smearing}");
    }
    for action in [Action::Wilson, Action::Symanzik] {
        assert_eq!(distance(&flowed(backend, &unit, action, 0.1, 2), &unit), 0.0, "{action}");
    }
}

fn the_error_of_the_flow_falls_with_the_third_power_of_the_step(backend: &impl Backend) {
    let weak = Configuration::weak(extents(), 5, 0.4);
    let exact = flowed(backend, &weak, Action::Wilson, 0.0125, 16);
    let [coarse, fine] = [(0.1, 2), (0.05, 4)]
        .map(|(step, steps)| distance(&flowed(backend, &weak, Action::Wilson, step, steps), &exact));
    assert!((5.0..14.0).contains(&(coarse / fine)), "{coarse} and {fine}");
}

fn an_adaptive_flow_is_as_near_as_its_tolerance_says(backend: &impl Backend) {
    let weak = Configuration::weak(extents(), 5, 0.4);
    let exact = flowed(backend, &weak, Action::Wilson, 0.0125, 16);
    let tolerance = 1e-5;
    let choice = StepChoice::Adaptive { first: 0.2, tolerance };
    let mut flow = Flow::new(field(backend, &weak), Action::Wilson, choice).unwrap();
    let (mut steps, mut rejected) = (0, 0);
    while flow.time() < 0.2 {
        let step = flow.advance(0.2).unwrap();
        assert!(step.distance.unwrap() <= tolerance);
        (steps, rejected) = (steps + 1, rejected + step.rejected);
    }
    assert_eq!(flow.time(), 0.2);
    assert!(rejected > 0 && steps > 1, "{steps} steps, {rejected} rejected");
    let error = distance(&flow.into_field().configuration().unwrap(), &exact);
    assert!(error < 10.0 * tolerance, "{error}");
}

/// A matrix for each site of a lattice, and what a kernel makes of it.
fn made_of<B: Backend>(
    backend: &B,
    matrices: &[Complex<f64>],
    make: impl Fn(&mut LinkField<B>, &LinkField<B>),
) -> Vec<Complex<f64>> {
    let lattice = lattice::<f64>(extents());
    let field = Field::from_site_order(lattice, Sites::Full, ColourMatrix, matrices).unwrap();
    let mut out = backend.zeros(lattice, Sites::Full, ColourMatrix).unwrap();
    make(&mut out, &backend.upload(field).unwrap());
    download(backend, &out)
}

fn diagonal(words: [Complex<f64>; 3]) -> [Complex<f64>; 9] {
    std::array::from_fn(|k| if k % 4 == 0 { words[k / 4] } else { Complex::new(0.0, 0.0) })
}

fn exponentials_of_diagonal_matrices_have_their_phases(backend: &impl Backend) {
    // Phases up to 8, the most that docs/arithmetic.md promises.
    let phases = |site: usize| {
        let a = 8.0 * (site as f64 / extents().volume() as f64 - 0.5);
        [2.0 * a, -a, -a].map(|phase| if site.is_multiple_of(2) { phase } else { -phase })
    };
    let of = |of: fn(f64) -> Complex<f64>| {
        (0..extents().volume()).flat_map(|site| diagonal(phases(site).map(of))).collect::<Vec<_>>()
    };
    let (matrices, expected) = (of(|phase| Complex::new(0.0, phase)), of(|phase| Complex::from_polar(1.0, phase)));
    let one = diagonal([Complex::new(1.0, 0.0); 3]).repeat(extents().volume());
    let found = made_of(backend, &matrices, |out, x| {
        let unit = Field::from_site_order(lattice::<f64>(extents()), Sites::Full, ColourMatrix, &one).unwrap();
        backend.exponential_times(out, (1.0, x), (0.0, x), &backend.upload(unit).unwrap()).unwrap();
    });
    let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    assert!(worst < 200.0 * 1.1e-16, "{worst:e}");
}

fn projections_of_multiples_of_links_are_the_links(backend: &impl Backend) {
    let hot = Configuration::hot(extents(), 4);
    let links: Vec<_> = (0..extents().volume()).flat_map(|site| hot.link(site, 0).to_vec()).collect();
    for (size, phase) in [(1.0, 0.0), (0.3, 0.5), (7.0, -1.0), (1e-3, 1.04)] {
        let multiples: Vec<_> = links.iter().map(|z| z * Complex::from_polar(size, phase)).collect();
        let found = made_of(backend, &multiples, |out, v| backend.su3_projected(out, v).unwrap());
        let worst = found.iter().zip(&links).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(worst < 1e-14, "{size} e^{phase}i: {worst:e}");
        let mut on_host = multiples;
        Projection::Polar.project(&mut on_host);
        assert_eq!(found, on_host);
    }
}

fn same_bits_on_opencl(actions: &[Action], smearings: &[&str]) {
    let (Some(device), cpu) = (opencl(), cpu()) else { return };
    let hot = Configuration::hot(extents(), 2);
    for &action in actions {
        let [one, other] = [flowed(&cpu, &hot, action, 0.02, 2), flowed(&device, &hot, action, 0.02, 2)];
        assert_eq!(one, other, "{action}");
    }
    for &smearing in smearings {
        assert_eq!(smeared(&cpu, &hot, smearing), smeared(&device, &hot, smearing), "{smearing}");
    }
    let measured = (field(&cpu, &hot).clover().unwrap(), field(&device, &hot).clover().unwrap());
    assert_eq!(measured.0, measured.1);
}

#[test]
fn flow_and_smearing_have_the_same_bits_on_opencl() {
    same_bits_on_opencl(&[Action::Wilson], &SMEARINGS[..1]);
}

#[test]
#[ignore = "test-all: all actions and smearings"]
fn every_flow_and_smearing_has_the_same_bits_on_opencl() {
    same_bits_on_opencl(&[Action::Wilson, Action::Symanzik], &SMEARINGS);
}

#[test]
fn steps_that_a_flow_cannot_take_are_refused() {
    let (cpu, unit) = (cpu(), Configuration::unit(extents()));
    let error = |choice| match Flow::new(field(&cpu, &unit), Action::Wilson, choice) {
        Err(error @ (GaugeFieldError::Step { .. } | GaugeFieldError::Tolerance { .. })) => error.to_string(),
        _ => panic!("it is taken"),
    };
    assert_eq!(error(StepChoice::Fixed(0.5)), "invalid flow step 0.5: expected a number above 0 and at most 0.2");
    assert_eq!(error(StepChoice::Fixed(f64::NAN)), "invalid flow step NaN: expected a number above 0 and at most 0.2");
    assert!(
        error(StepChoice::Adaptive { first: 0.1, tolerance: 0.0 })
            .contains("tolerance 0e0 at t = 0, where the next step would be")
    );
}

#[test]
fn a_smearing_with_coefficients_that_it_has_not_is_refused() {
    let cpu = cpu();
    let mut field = field(&cpu, &Configuration::unit(extents()));
    let error = field.smear(&Smearing::Ape { alpha: 1.5, steps: 1, projection: Projection::Polar }).unwrap_err();
    assert_eq!(error.to_string(), "invalid α 1.5 of APE smearing: expected a number from 0 to 1");
    let error = "stout:-1.1,1".parse::<Smearing>().unwrap_err();
    assert_eq!(error, "invalid ρ -1.1 of stout smearing: expected a number from -1 to 1");
    assert!("stout:-1,1".parse::<Smearing>().is_ok());
}
