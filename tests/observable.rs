//! Propagators and correlators of mesons: agreement with Grid on a random configuration, and identities.

use std::sync::LazyLock;

use lanefield::observable::{
    COLUMNS, CorrelatorError, CorrelatorProjection, Gamma, Hadron, Momentum, PropagatorError, Quark, meson_correlator,
    meson_correlators, propagator,
};
use lanefield::prelude::*;
use lanefield::solver::SolveReport;
use lanefield_reference::field::Propagator;
use lanefield_reference::layout::Coordinate;
use lanefield_reference::real::Real as _;

use crate::common::backends::{cpu, on_every_backend};
use crate::common::grid::{GridData, MASS, distance};
use crate::common::models::antiperiodic;
use crate::common::solves::{how, quiet};

/// Relative distance from Grid's correlators that rounding can explain.
const ROUNDING: f64 = 1e-13;

static HOT: LazyLock<GridData> = LazyLock::new(GridData::hot);

fn clover() -> CloverParameters {
    CloverParameters { mass: MASS, csw_r: 1.3, csw_t: 1.3, hop: antiperiodic() }
}

fn even_odd<R: Vectors, M>(operator: M) -> Solve<M> {
    how::<R, _>(operator, Preconditioning::EvenOdd, Method::ConjugateGradients)
}

fn from_point<R: Vectors, B: Backend, Q: Quark>(
    backend: &B,
    configuration: &Configuration,
    point: Coordinate,
    operator: Q,
) -> SolveReport<R> {
    let how = even_odd::<R, _>(operator);
    propagator(backend, configuration, point.into(), &how, &mut quiet(), None).unwrap()
}

fn grids_propagator() -> Vec<Complex<f64>> {
    HOT.field("clover_pointprop_ap").values.into_f64()
}

/// Column 3·spin + colour of the source: a spinor a site.
fn column<T: Copy>(propagator: &[T], k: usize) -> Vec<T> {
    let spinor = |site: &[T]| -> Vec<T> {
        (0..Spinors::WORDS).map(|w| site[((w / 3 * 4 + k / 3) * 3 + w % 3) * 3 + k % 3]).collect()
    };
    propagator.chunks_exact(Propagator::WORDS).flat_map(spinor).collect()
}

fn correlators_of_grids_propagator_are_those_of_grid(backend: &impl Backend) {
    let cases = [
        (Gamma::FIVE, "pion_g5"),
        (Gamma::X, "rho_gx"),
        (Gamma::Y, "rho_gy"),
        (Gamma::Z, "rho_gz"),
        (Gamma::T, "gt"),
        (Gamma::IDENTITY, "scalar_1"),
    ];
    let (s, extents) = (grids_propagator(), HOT.configuration.extents());
    for (gamma, name) in cases {
        let found = meson_correlator(backend, extents, &s, gamma, 0, LaneChoice::Auto).unwrap();
        let expected = HOT.complex_numbers("mesons_clover_ap", name);
        for (t, (found, expected)) in found.iter().zip(&expected).enumerate() {
            // Terms of both signs cancel in all but the pion: what rounding can do is relative to the pion, the sum of their magnitudes.
            let scale = HOT.complex_numbers("mesons_clover_ap", "pion_g5")[t].re;
            let difference = (found - expected).norm();
            assert!(difference <= ROUNDING * scale, "{name} at t = {t}: {found}, Grid's {expected}");
        }
        assert!(distance(&found, &expected) <= ROUNDING, "{name}");
    }
}

fn pion_and_rho_agree_with_grid_number_by_number(backend: &impl Backend) {
    let extents = HOT.configuration.extents();
    let found = meson_correlators(backend, extents, &grids_propagator(), 0, LaneChoice::Auto).unwrap();
    let grids = |name| HOT.complex_numbers("mesons_clover_ap", name).into_iter().map(|c| c.re).collect::<Vec<f64>>();
    let [x, y, z] = ["rho_gx", "rho_gy", "rho_gz"].map(grids);
    let average: Vec<f64> = (0..x.len()).map(|t| (x[t] + y[t] + z[t]) / 3.0).collect();
    for (name, found, expected) in [
        ("pion", &found.pion, &grids("pion_g5")),
        ("rho x", &found.rho_components[0], &x),
        ("rho y", &found.rho_components[1], &y),
        ("rho z", &found.rho_components[2], &z),
        ("rho", &found.rho, &average),
    ] {
        assert_eq!(found.len(), expected.len());
        for (t, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!((found / expected - 1.0).abs() <= ROUNDING, "{name} at t = {t}: {found}, Grid's {expected}");
        }
    }
}

fn the_clover_propagator_is_that_of_grid(backend: &impl Backend) {
    let found = from_point::<f64, _, _>(backend, &HOT.configuration, [0; 4], clover());
    let relative = distance(&found.solution, &grids_propagator());
    assert!(relative <= 1e-9, "relative distance {relative:e}");
    assert!(found.rhs.len() == COLUMNS && found.rhs.iter().all(|column| column.solution_residual <= 1e-9));
}

fn each_column_has_the_bits_of_its_own_solve(backend: &impl Backend) {
    let (configuration, point) = (&HOT.configuration, [1, 3, 2, 1]);
    let how = even_odd::<f64, _>(clover());
    let batch = propagator::<f64, _, _>(backend, configuration, point.into(), &how, &mut quiet(), None).unwrap();
    let site = configuration.extents().site(point);
    for k in 0..COLUMNS {
        let mut eta = vec![Complex::ZERO; configuration.extents().volume() * Spinors::WORDS];
        eta[site * Spinors::WORDS + k] = Complex::ONE;
        let single = solve::<f64, _, _>(backend, configuration, &eta, &how, |_, _| ()).unwrap();
        assert!(column(&batch.solution, k) == single.solution, "column {k}");
        assert_eq!(batch.rhs[k].info.history, single.rhs[0].info.history, "column {k}");
    }
}

fn a_domain_wall_propagator_is_the_exported_solution_for_imported_sources(backend: &impl Backend) {
    let configuration = &HOT.configuration;
    let shamir = DomainWallParameters { hop: antiperiodic(), ..DomainWallParameters::shamir(4, 0.3, 1.8) };
    let mobius = DomainWallParameters { b: 1.5, c: 0.5, ..shamir };
    let lattice = Lattice::new(configuration.extents(), f64::COMPLEX, LatticeOptions::default()).unwrap();
    for parameters in [shamir, mobius] {
        let found = from_point::<f64, _, _>(backend, configuration, [0, 1, 0, 3], parameters);
        let (site, k) = (configuration.extents().site([0, 1, 0, 3]), 7);
        let mut eta = vec![Complex::ZERO; configuration.extents().volume() * Spinors::WORDS];
        eta[site * Spinors::WORDS + k] = Complex::ONE;
        let held = |values: &[Complex<f64>], count| {
            let field = Field::from_site_order(lattice, Sites::Full, Spinors::new(count), values).unwrap();
            backend.upload(field).unwrap()
        };
        let mut operator = parameters.full::<_, f64>(backend, configuration, lattice).unwrap();
        let source = operator.import_physical_source(&held(&eta, 1)).unwrap();
        let source = backend.download(&source).unwrap().to_site_order();
        let single =
            solve::<f64, _, _>(backend, configuration, &source, &even_odd::<f64, _>(parameters), |_, _| ()).unwrap();
        let expected = operator.export_physical_solution(&held(&single.solution, parameters.ls)).unwrap();
        let expected = backend.download(&expected).unwrap().to_site_order();
        assert!(column(&found.solution, k) == expected, "{parameters:?}");
    }
}

fn times_are_counted_from_the_sources_time_slice(backend: &impl Backend) {
    let (s, extents) = (grids_propagator(), HOT.configuration.extents());
    let from = |origin| meson_correlator(backend, extents, &s, Gamma::X, origin, LaneChoice::Auto).unwrap();
    let (all, from_three) = (from(0), from(3));
    assert_eq!(from_three, [all[3], all[0], all[1], all[2]]);
}

on_every_backend! {
    times_are_counted_from_the_sources_time_slice;
    in test-all:
    correlators_of_grids_propagator_are_those_of_grid,
    pion_and_rho_agree_with_grid_number_by_number,
    the_clover_propagator_is_that_of_grid,
    each_column_has_the_bits_of_its_own_solve,
    a_domain_wall_propagator_is_the_exported_solution_for_imported_sources,
}

#[test]
fn the_pion_is_positive_and_the_sum_of_squares() {
    let wilson = WilsonParameters { mass: MASS, hop: antiperiodic() };
    let extents = HOT.configuration.extents();
    let s = from_point::<f32, _, _>(&cpu(), &HOT.configuration, [2, 0, 1, 2], wilson).solution;
    let pion = meson_correlators(&cpu(), extents, &s, 2, LaneChoice::Auto).unwrap().pion;
    let slice = s.len() / extents[3];
    for (t, &c) in pion.iter().enumerate() {
        let words = &s[(t + 2) % extents[3] * slice..][..slice];
        let squares: f64 = words.iter().map(|z| f64::from(z.re).powi(2) + f64::from(z.im).powi(2)).sum();
        assert!(c > 0.0 && (c / squares - 1.0).abs() <= 1e-12, "t = {t}: {c}, not {squares}");
    }
}

#[test]
fn lanes_change_no_bit_of_a_correlator() {
    let (s, extents) = (grids_propagator(), HOT.configuration.extents());
    let of = |lanes: &str| meson_correlators(&cpu(), extents, &s, 0, lanes.parse().unwrap()).unwrap();
    assert_eq!(of("16"), of("64"));
    assert_eq!(of("16"), of("128"));
}

#[test]
fn a_point_or_a_time_outside_the_lattice_is_refused_with_the_range() {
    let error = propagator::<f64, _, _>(
        &cpu(),
        &HOT.configuration,
        [0, 4, 0, 0].into(),
        &even_odd::<f64, _>(clover()),
        &mut quiet(),
        None,
    );
    let Err(error @ PropagatorError::Point(_)) = error else { panic!("{error:?}") };
    assert_eq!(error.to_string(), "y = 4 of the point source is outside 0 to 3 on 4.4.4.4");
    let (s, extents) = (grids_propagator(), HOT.configuration.extents());
    let error = meson_correlators(&cpu(), extents, &s, 4, LaneChoice::Auto).unwrap_err();
    assert!(matches!(error, CorrelatorError::OriginTime { origin: 4, .. }));
    assert_eq!(error.to_string(), "time slice 4 of the source is outside 0 to 3 on 4.4.4.4");
}

#[test]
fn a_propagator_of_another_length_is_refused() {
    let (s, extents) = (grids_propagator(), HOT.configuration.extents());
    for scale in [1e-200, 1e200] {
        let scaled: Vec<_> = s.iter().map(|z| z * scale).collect();
        let error = meson_correlators(&cpu(), extents, &scaled, 0, LaneChoice::Auto).unwrap_err();
        assert!(matches!(error, CorrelatorError::OutOfRange { time: 0, .. }), "{error}");
        assert!(error.to_string().ends_with("multiply it by a power of two"), "{error}");
    }
    // The squares are in range, and the cubes of the nucleon are not. A correlator that is 0 by a symmetry is none of these.
    let small: Vec<_> = s.iter().map(|z| z * 1e-120).collect();
    let at = CorrelatorProjection { source: [0; 4], momentum: Momentum::ZERO, lanes: LaneChoice::Auto };
    let correlator =
        |hadron: Hadron, s: &[Complex<f64>]| hadron.correlator(&cpu(), extents, [s, s], at, BoundaryPhases::PERIODIC);
    assert!(correlator(Hadron::Pion, &small).is_ok());
    let error = correlator(Hadron::Nucleon, &small).unwrap_err();
    assert!(matches!(error, CorrelatorError::OutOfRange { norm2, .. } if norm2 > 0.0), "{error}");
    let one_spin: Vec<_> = (0..s.len()).map(|k| if k % 144 == 0 { s[k] } else { Complex::ZERO }).collect();
    assert_eq!(correlator(Hadron::Rho, &one_spin).unwrap(), [Complex::ZERO; 4]);
    let error = meson_correlators(&cpu(), extents, &s[1..], 0, LaneChoice::Auto).unwrap_err();
    let (given, needed) = (s.len() - 1, s.len());
    assert!(error.to_string().contains(&format!("not {given}")), "{error}");
    assert!(error.to_string().contains(&format!("has {needed} complex numbers")), "{error}");
}
