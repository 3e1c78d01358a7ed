//! Estimates of kernels against what was measured on an H200, and what they must say of any machine.

use lanefield::backend::opencl::Tuning;
use lanefield::dynamic::HopKernel;
use lanefield::kernel;
use lanefield::prelude::*;
use lanefield::reference::field::Object;
use lanefield::reference::layout::LaneWidth;
use lanefield_lab::Limit;
use lanefield_lab::estimate::stencil;
use lanefield_lab::machine::Machine;
use lanefield_lab::model::{KernelWork, is_described};
use serde::Deserialize;

use super::kernel_named;

#[derive(Deserialize)]
struct Measured {
    kernel: String,
    lattice: String,
    sites: String,
    precision: String,
    links: String,
    spinors: usize,
    microseconds: f64,
    held: String,
    tuning: Option<String>,
}

impl Measured {
    fn all() -> Vec<Self> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/h200-kernels.csv");
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_path(path).unwrap();
        reader.deserialize().map(Result::unwrap).collect()
    }

    fn work(&self) -> KernelWork {
        let (kernel, precision) = (kernel_named(&self.kernel), self.precision.parse().unwrap());
        let sites = match self.sites.as_str() {
            "even" => Sites::Parity(Parity::Even),
            "odd" => Sites::Parity(Parity::Odd),
            _ => Sites::Full,
        };
        let work = KernelWork::new(kernel, self.lattice.parse().unwrap(), precision, self.links.parse().unwrap());
        let work = KernelWork { sites, parts: self.spinors, ..work };
        match self.chosen() {
            Some(tuning) => KernelWork { lanes: LaneChoice::UpTo(LaneWidth::OF_GPUS), tuning, ..work },
            None => work,
        }
    }

    /// The choices that were the defaults when it was measured, where others are now.
    fn chosen(&self) -> Option<Tuning> {
        let mut tuning = Tuning::OPEN;
        for choice in self.tuning.as_ref()?.split(", ").filter(|choice| *choice != "default") {
            let (name, value) = choice.split_once(' ').unwrap();
            Tuning::parameter(name).unwrap().set(&mut tuning, value).unwrap();
        }
        Some(tuning)
    }
}

fn h200() -> Machine {
    Machine::named("h200").unwrap()
}

fn ratio(row: &Measured) -> f64 {
    stencil(&h200(), &row.work()).unwrap().prediction.seconds * 1e6 / row.microseconds
}

fn outside(held: bool, most: f64) -> Vec<String> {
    let rows = Measured::all().into_iter().filter(|row| (row.held == "yes") == held);
    let line = |row: Measured| {
        let ratio = ratio(&row);
        let Measured { kernel, lattice, sites, precision, links, spinors, .. } = &row;
        let line = format!("{kernel} x{spinors} on {lattice}, {sites}, {precision}, {links} reals: {ratio:.3}");
        ((ratio - 1.0).abs() > most).then_some(line)
    };
    rows.filter_map(line).collect()
}

#[test]
fn wilson_clover_and_domain_wall_kernels_are_within_15_percent_of_the_measurement() {
    assert_eq!(outside(true, 0.15), [] as [String; 0]);
}

#[test]
fn what_is_not_held_is_off_by_less_than_40_percent() {
    assert_eq!(outside(false, 0.40), [] as [String; 0]);
}

fn work(kernel: &str, extents: [usize; 4], precision: Precision) -> KernelWork {
    KernelWork::new(kernel_named(kernel), Extents::new(extents).unwrap(), precision, LinkFormat::Full)
}

#[test]
fn bytes_of_memory_are_those_of_each_field_once() {
    let sites = (8 * 8 * 8 * 16 / 2) as f64;
    let bytes = |kernel, precision| {
        stencil(&h200(), &work(kernel, [8, 8, 8, 16], precision)).unwrap().streams.ideal_bytes / sites
    };
    assert_eq!(bytes("hop", Precision::F32), 768.0);
    assert_eq!(bytes("eo_clover", Precision::F32), 1056.0);
    assert_eq!(bytes("oe_clover", Precision::F64), 2.0 * 1152.0);
    // 16 spinors a site share the links, as colour vectors do.
    assert_eq!(bytes("hop_many", Precision::F32), 16.0 * 192.0 + 576.0);
    // With a scale for each spinor, and one for all links of a site.
    assert_eq!(bytes("hop", Precision::Half), 2.0 * 52.0 + 73.0 * 4.0);
    for hop in HopKernel::all().filter(|hop| matches!(hop.object(), Object::ColourVectors(_))) {
        let vectors = hop.kernel().usual_parts as f64;
        assert_eq!(bytes(hop.kernel().name, Precision::F32), vectors * 2.0 * 24.0 + 576.0, "{}", hop.kernel());
    }
    assert_eq!(bytes("axpy", Precision::F32), 288.0);
}

#[test]
fn what_binds_follows_from_the_machine() {
    let hop = work("hop", [16, 16, 32, 32], Precision::F32);
    let binds = |machine: Machine| stencil(&machine, &hop).unwrap().prediction.binds;
    let without_launch = Machine { launch_microseconds: 0.0, ..h200() };
    assert_eq!(binds(without_launch.clone()), Limit::Memory);
    let much_memory = Machine { copy_gb_per_second: 1e6, ..without_launch.clone() };
    assert_eq!(binds(much_memory.clone()), Limit::SecondCache);
    let slow = Machine { clock_mhz: 1.0, ..much_memory };
    assert!(matches!(binds(slow), Limit::Arithmetic | Limit::Issue | Limit::FirstCache));
    let launches = Machine { launch_microseconds: 1e3, ..h200() };
    assert_eq!(binds(launches), Limit::Launch);
}

#[test]
fn a_measured_copy_bandwidth_scales_what_memory_binds() {
    let machine = h200().with_measured("peak", r#"{"copy_bytes_per_second": 2120e9}"#).unwrap();
    let work = work("eo_clover", [16; 4], Precision::F32);
    let seconds = |machine: &Machine| {
        let limits = stencil(machine, &work).unwrap().prediction.limits;
        limits.iter().find(|limit| limit.kind == Limit::Memory).unwrap().seconds
    };
    assert!((seconds(&machine) / seconds(&h200()) - 2.0).abs() < 1e-12);
}

#[test]
fn every_machine_that_ships_gives_every_kernel_a_time() {
    for (name, machine) in Machine::shipped() {
        for kernel in kernel::all().filter(|kernel| is_described(kernel)) {
            let work = KernelWork::new(kernel, Extents::new([8; 4]).unwrap(), Precision::F64, LinkFormat::TwoRows);
            let estimate = stencil(machine, &work).unwrap();
            let least = estimate.streams.bytes() / (machine.peak_gb_per_second * 1e9);
            assert!(estimate.prediction.seconds >= least && estimate.prediction.seconds < 1.0, "{name} {kernel}");
        }
    }
}

#[test]
fn lattices_and_numbers_that_cannot_be_are_refused() {
    let work = |extents| work("hop", extents, Precision::F32);
    assert!(stencil(&h200(), &work([3, 4, 4, 4])).unwrap_err().to_string().contains('3'));
    assert!(stencil(&h200(), &work([256, 256, 256, 32])).unwrap_err().to_string().contains("at most 2^28 sites"));
    let none = KernelWork { parts: 0, ..work([4; 4]) };
    assert!(stencil(&h200(), &none).unwrap_err().to_string().contains("spinors = 0"));
}
