//! Ranks: every operator, by every method, has the bits of one rank on any decomposition; files of parts are those of one rank; packets with other bytes than
//! they were sent with are found. The ranks are threads here; their backends are the CPU reference and OpenCL, also mixed.

use lanefield::backend::opencl::OpenCl;
use lanefield::backend::{BackendError, Cpu, Threads};
use lanefield::operator::definitions;
use lanefield::verify::PartsCase;

mod eigen;
mod files;
mod gauge;
mod ghosts;
mod packets;

#[path = "../common/device.rs"]
mod common;

fn cpu() -> Cpu {
    Cpu::new(Threads::new(1)).unwrap()
}

/// Holds cases among any number of ranks against one rank; gives how many residuals were compared.
fn agree(
    numbers: impl Iterator<Item = u64>,
    open: impl Fn(u64, usize) -> Result<Option<OpenCl>, BackendError> + Sync,
) -> usize {
    let mut residuals = 0;
    for number in numbers {
        let case = PartsCase::draw(5, number, None).unwrap();
        let expected = case.alone(&cpu().into()).unwrap();
        let found = case.on_threads(|rank| open(number, rank)).unwrap();
        assert_eq!(found, expected, "{case}");
        residuals += expected.history.len();
    }
    residuals
}

/// Cases until each operator has come with each method.
fn one_round() -> u64 {
    let methods = 8;
    definitions().count() as u64 * methods
}

#[test]
fn every_operator_by_every_method_has_the_bits_of_one_rank_on_the_cpu_reference() {
    let residuals = agree(0..one_round(), |_, _| Ok(None));
    assert!(residuals > 1000, "{residuals}");
}

#[test]
fn every_operator_by_every_method_has_the_bits_of_one_rank_on_opencl_and_mixed() {
    let Some(device) = common::opencl_device() else { return };
    // Programs are built for each: one in three, all ranks on the device or every other one.
    let drawn = (0..one_round()).filter(|number| (number + number / 8) % 3 == 0);
    let residuals =
        agree(drawn, |number, rank| match (number + rank as u64).is_multiple_of(2) || number.is_multiple_of(3) {
            true => OpenCl::open(&device).map(Some),
            false => Ok(None),
        });
    assert!(residuals > 100, "{residuals}");
}
