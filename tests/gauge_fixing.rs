//! Landau and Coulomb gauge (`src/gauge/fix.rs`): the same bits on every backend, for all lanes and on ranks; what is fixed is fixed by a measure of its own, and
//! what does not depend on the gauge stays.

use std::sync::Arc;

use lanefield::backend::Threads;
use lanefield::comm::{Decomposition, OnRanks, RanksOptions, ThreadRanks, WholeLattice};
use lanefield::gauge::{
    Gauge, GaugeFixed, GaugeFixing, GaugePoint, GaugeStart, Quenched, QuenchedParameters, Stopping,
};
use lanefield::prelude::*;
use lanefield_reference::gauge::GaugeTransformation;
use lanefield_reference::layout::{Direction, LaneWidth};

use crate::common::backends::{cpu, on_every_backend, opencl};

const LANDAU: Gauge = Gauge::Landau;
const COULOMB: Gauge = Gauge::Coulomb { time: Direction::T };
const GAUGES: [Gauge; 3] = [LANDAU, COULOMB, Gauge::Coulomb { time: Direction::Y }];

on_every_backend! {
    a_gauge_transformation_of_the_free_field_is_undone;
    in test-all:
    what_is_measured_is_that_of_the_links_that_come_out,
    the_functional_never_falls,
    coulomb_gauge_is_fixed_on_every_slice,
    what_does_not_depend_on_the_gauge_stays,
}

fn extents(extents: [usize; 4]) -> Extents {
    Extents::new(extents).unwrap()
}

fn weak() -> Configuration {
    Configuration::weak(extents([4, 4, 2, 6]), 5, 0.4)
}

fn fixing<'a, B: Backend>(backend: &'a B, links: &'a Configuration, gauge: Gauge) -> GaugeFixing<'a, B> {
    GaugeFixing::new(backend, links, gauge, GaugeStart::Identity, LaneChoice::Auto).unwrap()
}

type Matrix = [Complex<f64>; 9];

/// A of the definition in plain numbers.
fn traceless_part(u: &[Complex<f64>]) -> Matrix {
    let anti: Matrix = std::array::from_fn(|k| 0.5 * (u[k] - u[3 * (k % 3) + k / 3].conj()));
    let third = (anti[0] + anti[4] + anti[8]) / 3.0;
    std::array::from_fn(|k| if k % 4 == 0 { anti[k] - third } else { anti[k] })
}

/// θ of each slice across `time`, from links alone, with their directions but `left_out`.
fn plain_theta(links: &Configuration, time: Direction, left_out: Option<Direction>) -> Vec<f64> {
    let extents = links.extents();
    let mut slices = vec![0.0; extents[time.index()]];
    for site in 0..extents.volume() {
        let x = extents.coordinate(site);
        let mut divergence = [Complex::new(0.0, 0.0); 9];
        for mu in (0..4).filter(|&mu| left_out.is_none_or(|direction| direction.index() != mu)) {
            let mut behind = x;
            behind[mu] = (x[mu] + extents[mu] - 1) % extents[mu];
            let [here, there] = [site, extents.site(behind)].map(|site| traceless_part(links.link(site, mu)));
            for (sum, (here, there)) in divergence.iter_mut().zip(here.iter().zip(&there)) {
                *sum += here - there;
            }
        }
        slices[x[time.index()]] += divergence.iter().map(Complex::norm_sqr).sum::<f64>();
    }
    let sites = 3.0 * (extents.volume() / slices.len()) as f64;
    slices.into_iter().map(|sum| sum / sites).collect()
}

/// θ and F of links, as they are defined.
fn plain_point(links: &Configuration, gauge: Gauge) -> (f64, f64) {
    let (theta, left_out) = match gauge {
        Gauge::Landau => {
            let slices = plain_theta(links, Direction::T, None);
            (slices.iter().sum::<f64>() / slices.len() as f64, None)
        }
        Gauge::Coulomb { time } => {
            (plain_theta(links, time, Some(time)).into_iter().fold(0.0, f64::max), Some(time.index()))
        }
    };
    let volume = links.extents().volume();
    let traces = (0..volume).flat_map(|site| (0..4).filter(|&mu| Some(mu) != left_out).map(move |mu| (site, mu)));
    let traces = traces.map(|(site, mu)| links.link(site, mu)).map(|u| u[0].re + u[4].re + u[8].re);
    (theta, traces.sum::<f64>() / (3 * gauge.directions() * volume) as f64)
}

fn what_is_measured_is_that_of_the_links_that_come_out(backend: &impl Backend) {
    let weak = weak();
    for gauge in GAUGES {
        let mut fixing = fixing(backend, &weak, gauge);
        for iterations in [0, 3, 200] {
            (0..iterations).for_each(|_| fixing.iterate(1.6).unwrap());
            let GaugePoint { theta, functional, .. } = fixing.measure().unwrap();
            let (plain, average) = plain_point(&fixing.fixed().unwrap(), gauge);
            assert!((theta - plain).abs() < 1e-13 * (1.0 + 1e3 * theta), "{gauge}, {iterations}: {theta} and {plain}");
            assert!((functional - average).abs() < 1e-13, "{gauge}, {iterations}: {functional} and {average}");
            assert!(if iterations == 200 { plain < 1e-12 } else { plain > 1e-3 }, "{gauge}, {iterations}: {plain}");
        }
    }
}

fn the_functional_never_falls(backend: &impl Backend) {
    let hot = Configuration::hot(extents([4, 2, 4, 4]), 6);
    for gauge in [LANDAU, COULOMB] {
        for omega in [1.0, 1.5, 1.99] {
            let mut fixing = fixing(backend, &hot, gauge);
            let mut before = fixing.measure().unwrap().functional;
            for iteration in 0..30 {
                fixing.iterate(omega).unwrap();
                let functional = fixing.measure().unwrap().functional;
                assert!(functional >= before, "{gauge}, ω = {omega}, {iteration}: {before} to {functional}");
                before = functional;
            }
            assert!(before > 0.3, "{gauge}, ω = {omega}: {before}");
        }
    }
}

fn coulomb_gauge_is_fixed_on_every_slice(backend: &impl Backend) {
    let weak = weak();
    for time in [Direction::T, Direction::X] {
        let mut fixing = fixing(backend, &weak, Gauge::Coulomb { time });
        let stopping = Stopping { tolerance: 1e-11, ..Stopping::default() };
        let GaugeFixed { converged, history } = fixing.fix(&stopping, |_| ()).unwrap();
        assert!(converged && history.len() > 10);
        let fixed = fixing.fixed().unwrap();
        let slices = plain_theta(&fixed, time, Some(time));
        assert_eq!(slices.len(), fixed.extents()[time.index()]);
        assert!(slices.iter().all(|&theta| theta <= 1.0001e-11), "{slices:?}");
        // Nothing is done about links in time.
        assert!(plain_theta(&fixed, time, None).iter().all(|&theta| theta > 1e-3));
    }
}

fn what_does_not_depend_on_the_gauge_stays(backend: &impl Backend) {
    let weak = weak();
    for gauge in [LANDAU, COULOMB] {
        let start = GaugeStart::Random(3);
        let mut fixing = GaugeFixing::new(backend, &weak, gauge, start, LaneChoice::Auto).unwrap();
        assert!(fixing.fix(&Stopping::default(), |_| ()).unwrap().converged);
        let fixed = fixing.fixed().unwrap();
        assert!((fixed.plaquette() - weak.plaquette()).abs() < 1e-14);
        assert!((fixed.link_trace() - weak.link_trace()).abs() > 1e-3);
        fixed.require_su3(1e-14).unwrap();
    }
}

fn a_gauge_transformation_of_the_free_field_is_undone(backend: &impl Backend) {
    let turned = GaugeTransformation { seed: 4 }.of_links(&Configuration::unit(extents([4, 4, 4, 4])));
    let mut fixing = fixing(backend, &turned, LANDAU);
    let stopping = Stopping { tolerance: 1e-24, ..Stopping::default() };
    let fixed = fixing.fix(&stopping, |_| ()).unwrap();
    assert!((fixed.last().unwrap().functional - 1.0).abs() < 1e-13, "{:?}", fixed.last());
}

/// All that comes out, as bits.
fn bits<B: Backend>(backend: &B, gauge: Gauge, lanes: LaneChoice) -> (Vec<[u64; 2]>, Configuration) {
    let hot = Configuration::hot(extents([4, 6, 2, 4]), 9);
    let mut fixing = GaugeFixing::new(backend, &hot, gauge, GaugeStart::Random(2), lanes).unwrap();
    let stopping = Stopping { max_iterations: 12, every: 5, ..Stopping::default() };
    let GaugeFixed { converged, history } = fixing.fix(&stopping, |_| ()).unwrap();
    assert_eq!(history.iter().map(|point| point.iteration).collect::<Vec<_>>(), [0, 5, 10, 12]);
    assert!(!converged);
    let history = history.iter().map(|point| [point.functional, point.theta].map(f64::to_bits)).collect();
    (history, fixing.fixed().unwrap())
}

#[test]
fn a_gauge_is_fixed_with_the_same_bits_for_all_lanes() {
    for gauge in GAUGES {
        let expected = bits(&cpu(), gauge, LaneChoice::Auto);
        assert_eq!(bits(&cpu(), gauge, LaneChoice::UpTo(LaneWidth::ALL[1])), expected, "{gauge}");
    }
}

#[test]
#[ignore = "test-all: runs on the CPU"]
fn a_gauge_is_fixed_with_the_same_bits_on_opencl() {
    let Some(device) = opencl() else { return };
    for gauge in GAUGES {
        let expected = bits(&cpu(), gauge, LaneChoice::Auto);
        assert_eq!(bits(&device, gauge, LaneChoice::Auto), expected, "{gauge}");
    }
}

#[test]
fn a_gauge_is_fixed_with_the_same_bits_on_ranks() {
    fn made<B: Backend>(backend: &B, links: &Configuration, gauge: Gauge) -> (GaugeFixed, Vec<Complex<f64>>) {
        let mut fixing = GaugeFixing::new(backend, links, gauge, GaugeStart::Random(2), LaneChoice::Auto).unwrap();
        let stopping = Stopping { max_iterations: 6, ..Stopping::default() };
        let fixed = fixing.fix(&stopping, |_| ()).unwrap();
        (fixed, fixing.transformation().unwrap())
    }
    let whole = extents([4, 4, 2, 8]);
    let one_thread = || Cpu::new(Threads::new(1)).unwrap();
    for gauge in GAUGES {
        let expected = made(&one_thread(), &Configuration::hot(whole, 7), gauge);
        for cut in ["1.1.1.2", "2.1.1.2", "1.2.1.1"] {
            let decomposition = Decomposition::new(whole, cut.parse().unwrap()).unwrap();
            let found = ThreadRanks::run(decomposition.cut().ranks(), |comm| {
                let lattice = WholeLattice::new(Arc::new(comm), decomposition);
                let ranks = OnRanks::new(one_thread(), lattice.clone(), RanksOptions::default());
                let (fixed, part) = made(&ranks, &Configuration::hot(lattice.part(), 7), gauge);
                (fixed, lattice.gathered(&part).unwrap())
            });
            assert!(found.iter().all(|(fixed, _)| *fixed == expected.0), "{gauge} on {cut}");
            assert_eq!(found[0].1.as_ref(), Some(&expected.1), "{gauge} on {cut}");
        }
    }
}

/// At β = 8 a lattice so small has one maximum, as far as starts tell.
#[test]
#[ignore = "test-all: fixes a gauge many times"]
fn a_smooth_configuration_has_the_same_functional_from_every_start() {
    let backend = cpu();
    let parameters = QuenchedParameters { beta: 8.0, overrelaxations: 2, seed: 5 };
    let unit = Configuration::unit(extents([4, 4, 4, 4]));
    let mut field = Quenched::<_, f64>::new(&backend, &unit, parameters, 0, LaneChoice::Auto).unwrap();
    (0..30).for_each(|_| field.sweep().unwrap());
    let links = field.configuration().unwrap();
    for gauge in [LANDAU, COULOMB] {
        let functionals: Vec<f64> = [3, 4, 5, 6]
            .into_iter()
            .map(|seed| {
                let start = GaugeStart::Random(seed);
                let mut fixing = GaugeFixing::new(&backend, &links, gauge, start, LaneChoice::Auto).unwrap();
                let stopping = Stopping { tolerance: 1e-20, ..Stopping::default() };
                let fixed = fixing.fix(&stopping, |_| ()).unwrap();
                assert!(fixed.converged && fixed.history[0].functional < 0.1, "{gauge}, {seed}");
                fixed.last().unwrap().functional
            })
            .collect();
        assert!(functionals.iter().all(|other| (other - functionals[0]).abs() < 1e-10), "{gauge}: {functionals:?}");
        assert!((0.8..1.0).contains(&functionals[0]), "{gauge}: {functionals:?}");
    }
}

#[test]
fn what_cannot_be_fixed_is_refused_by_name() {
    let (backend, unit) = (cpu(), Configuration::unit(extents([2, 2, 2, 2])));
    let refused = |stopping: Stopping| {
        let error = fixing(&backend, &unit, LANDAU).fix(&stopping, |_| ()).unwrap_err();
        error.to_string()
    };
    let usual = Stopping::default();
    assert_eq!(refused(Stopping { overrelaxation: 2.0, ..usual }), "ω is 2: expected a number from 1 to 1.99");
    assert!(refused(Stopping { tolerance: 0.0, ..usual }).contains("a finite number greater than 0"));
    assert!(refused(Stopping { every: 0, ..usual }).contains("at least 1"));
    let odd = Configuration::unit(extents([2, 3, 2, 2]));
    assert!(GaugeFixing::new(&backend, &odd, LANDAU, GaugeStart::Identity, LaneChoice::Auto).is_err());
    let mut links = unit.into_links();
    links[7] = Complex::new(f64::NAN, 0.0);
    let none = Configuration::new(extents([2, 2, 2, 2]), links).unwrap();
    let error = fixing(&backend, &none, COULOMB).measure().unwrap_err().to_string();
    assert!(error.contains("links are not finite"), "{error}");
}
