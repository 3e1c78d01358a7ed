//! Gauge fields on ranks: what reads corners, and further than the nearest neighbours, has the bits of one rank on any decomposition, also where some ranks
//! compute on the CPU and others with OpenCL.

use std::sync::Arc;

use lanefield::backend::opencl::OpenCl;
use lanefield::comm::{Communicator as _, Decomposition, OnRanks, RanksOptions, ThreadRanks, WholeLattice};
use lanefield::gauge::{
    Action, Flow, Gauge, GaugeField, GaugeFixing, GaugeStart, Hmc, HmcParameters, Integrator, Quenched,
    QuenchedImproved, QuenchedParameters, Smearing, StepChoice, Stopping,
};
use lanefield::prelude::*;

use super::{common, cpu};

/// Even and uneven cuts, in one direction and in two.
const CUTS: [&str; 4] = ["1.1.1.2", "2.1.1.1", "1.1.3.1", "1.2.1.2"];

fn lattice() -> Extents {
    Extents::new([4, 4, 8, 8]).unwrap()
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}

fn link_bits(links: &[Complex<f64>]) -> Vec<u64> {
    links.iter().flat_map(|z| [z.re.to_bits(), z.im.to_bits()]).collect()
}

/// What is computed of a configuration: one, and numbers.
trait Work: Sync {
    fn of<B: Backend>(&self, backend: &B, configuration: &Configuration) -> (Configuration, Vec<f64>);
}

/// Holds work on cuts against that on one rank: all ranks on the CPU, and on the last cut every other one on a device.
fn agree(work: &impl Work, cuts: &[&str]) {
    let whole = Configuration::weak(lattice(), 7, 0.3);
    let (expected, numbers) = work.of(&cpu(), &whole);
    let (expected, numbers) = (link_bits(expected.links()), bits(&numbers));
    let device = common::opencl_device();
    for cut in cuts {
        let decomposition = Decomposition::new(lattice(), cut.parse().unwrap()).unwrap();
        for is_mixed in [false, true] {
            if is_mixed && (device.is_none() || Some(cut) != cuts.last()) {
                continue;
            }
            let found = ThreadRanks::run(decomposition.cut().ranks(), |comm| {
                let on_device = is_mixed && comm.rank() % 2 == 0;
                let lattice = WholeLattice::new(Arc::new(comm), decomposition);
                let part = whole.part(lattice.part()).unwrap();
                let options = RanksOptions { check_packets: true, by_messages: is_mixed };
                let (made, numbers) = match device.as_ref().filter(|_| on_device) {
                    None => work.of(&OnRanks::new(cpu(), lattice.clone(), options), &part),
                    Some(device) => {
                        let mut device = OpenCl::open(device).unwrap();
                        device.set_on_parts(true);
                        work.of(&OnRanks::new(device, lattice.clone(), options), &part)
                    }
                };
                // What is around a part is what its neighbours have.
                let links = lattice.gathered(made.links()).unwrap();
                (links, bits(&numbers), made)
            });
            let made = Configuration::new(lattice(), found[0].0.clone().unwrap()).unwrap();
            assert_eq!(link_bits(made.links()), expected, "{cut}, mixed: {is_mixed}");
            for (_, of_rank, part) in &found {
                assert_eq!(*of_rank, numbers, "{cut}, mixed: {is_mixed}");
                assert_eq!(*part, made.part(part.extents()).unwrap(), "{cut}, mixed: {is_mixed}");
            }
        }
    }
}

struct HeatBath;

impl Work for HeatBath {
    fn of<B: Backend>(&self, backend: &B, configuration: &Configuration) -> (Configuration, Vec<f64>) {
        let parameters = QuenchedParameters { beta: 5.7, overrelaxations: 1, seed: 3 };
        let mut field = Quenched::<_, f64>::new(backend, configuration, parameters, 0, LaneChoice::Auto).unwrap();
        let mut plaquettes = Vec::new();
        for _ in 0..2 {
            field.sweep().unwrap();
            plaquettes.push(field.plaquette().unwrap());
        }
        (field.configuration().unwrap(), plaquettes)
    }
}

#[test]
fn heat_bath_and_overrelaxation_have_the_bits_of_one_rank() {
    agree(&HeatBath, &["2.2.2.2", "1.1.1.2", "2.1.1.1", "1.1.3.1", "1.2.1.2"]);
}

struct ImprovedHeatBath;

impl Work for ImprovedHeatBath {
    fn of<B: Backend>(&self, backend: &B, configuration: &Configuration) -> (Configuration, Vec<f64>) {
        let parameters = QuenchedParameters { beta: 2.2, overrelaxations: 0, seed: 3 };
        let of_action = (Action::Iwasaki, parameters);
        let mut of = QuenchedImproved::new(backend, configuration, of_action, 0, LaneChoice::Auto).unwrap();
        of.sweep().unwrap();
        (of.field().configuration().unwrap(), vec![of.field().rectangles().unwrap().all])
    }
}

#[test]
fn the_heat_bath_of_an_action_with_rectangles_has_the_bits_of_one_rank() {
    agree(&ImprovedHeatBath, &CUTS[2..]);
}

struct Flows(StepChoice);

impl Work for Flows {
    fn of<B: Backend>(&self, backend: &B, configuration: &Configuration) -> (Configuration, Vec<f64>) {
        let field = GaugeField::new(backend, configuration, LaneChoice::Auto).unwrap();
        let mut flow = Flow::new(field, Action::Symanzik, self.0).unwrap();
        let mut numbers = Vec::new();
        while flow.time() < 0.02 {
            let step = flow.advance(0.02).unwrap();
            numbers.extend([step.step, step.distance.unwrap_or(0.0)]);
        }
        let clover = flow.field().clover().unwrap();
        numbers.extend([clover.temporal, clover.spatial, clover.charge]);
        (flow.field().configuration().unwrap(), numbers)
    }
}

#[test]
fn flows_of_fixed_steps_have_the_bits_of_one_rank() {
    agree(&Flows(StepChoice::Fixed(0.01)), &CUTS[2..]);
}

#[test]
fn flows_of_adaptive_steps_take_the_steps_of_one_rank() {
    agree(&Flows(StepChoice::Adaptive { first: 0.01, tolerance: 1e-6 }), &CUTS[2..]);
}

struct Smeared(&'static str);

impl Work for Smeared {
    fn of<B: Backend>(&self, backend: &B, configuration: &Configuration) -> (Configuration, Vec<f64>) {
        let mut field = GaugeField::new(backend, configuration, LaneChoice::Auto).unwrap();
        field.smear(&self.0.parse::<Smearing>().unwrap()).unwrap();
        let (plaquettes, rectangles) = (field.plaquettes().unwrap(), field.rectangles().unwrap());
        let polyakov = [Direction::X, Direction::T].map(|direction| field.polyakov_loop(direction).unwrap());
        let mut numbers: Vec<f64> = field.wilson_loops(2, 3).unwrap().concat();
        let improved = field.improved_clover().unwrap();
        numbers.extend([plaquettes.spatial, plaquettes.temporal, rectangles.all, improved.temporal, improved.charge]);
        numbers.extend(polyakov.iter().flat_map(|z| [z.re, z.im]));
        (field.configuration().unwrap(), numbers)
    }
}

#[test]
fn smearing_and_observables_have_the_bits_of_one_rank() {
    for smearing in ["stout:0.1,2", "ape:0.5,1", "hyp:0.75,0.6,0.3,1"] {
        agree(&Smeared(smearing), &CUTS[1..]);
    }
}

struct Trajectory;

impl Work for Trajectory {
    fn of<B: Backend>(&self, backend: &B, configuration: &Configuration) -> (Configuration, Vec<f64>) {
        let parameters = HmcParameters {
            action: Action::Symanzik,
            beta: 5.0,
            integrator: Integrator::Omelyan,
            steps: 2,
            length: 0.2,
            seed: 5,
        };
        let mut hmc = Hmc::new(backend, configuration, parameters, 0, LaneChoice::Auto).unwrap();
        let trajectory = hmc.trajectory().unwrap();
        (hmc.field().configuration().unwrap(), vec![trajectory.energy_difference])
    }
}

#[test]
fn trajectories_have_the_bits_of_one_rank() {
    agree(&Trajectory, &CUTS[3..]);
}

struct Fixed;

impl Work for Fixed {
    fn of<B: Backend>(&self, backend: &B, configuration: &Configuration) -> (Configuration, Vec<f64>) {
        let gauge = Gauge::Coulomb { time: Direction::T };
        let mut fixing =
            GaugeFixing::new(backend, configuration, gauge, GaugeStart::Random(2), LaneChoice::Auto).unwrap();
        let stopping = Stopping { max_iterations: 6, every: 3, ..Stopping::default() };
        let fixed = fixing.fix(&stopping, |_| {}).unwrap();
        let numbers = fixed.history.iter().flat_map(|point| [point.functional, point.theta]).collect();
        (fixing.fixed().unwrap(), numbers)
    }
}

#[test]
fn gauges_are_fixed_with_the_bits_of_one_rank() {
    agree(&Fixed, &CUTS);
}
