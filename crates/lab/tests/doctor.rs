//! The doctor on kernels with a fault each, planted on purpose (`tests/data/doctor`): it finds that fault, and nothing else. The device stands
//! for a GPU with wavefronts of 32 where it is a CPU; how much time anything takes is never looked at.

use std::path::PathBuf;

use lanefield::backend::opencl::{Cache, Context};
use lanefield_lab::doctor::{Described, Description, Fault, Finding, Machine, Remedy, diagnose};

use crate::common;

/// Timed runs of each.
const SAMPLES: usize = 4;

fn context() -> Option<Context> {
    Some(Context::open_with_cache(&common::opencl_device()?, Cache::from_environment()).unwrap())
}

/// The device as a GPU with wavefronts of 32. A CPU's registers say nothing: kernels are compiled for one of AMD's GPUs there.
fn machine(context: &Context) -> Machine {
    let machine = Machine::of(context, Some(32)).unwrap();
    let compiled_for = machine.is_cpu.then(|| "gfx90a".to_owned());
    Machine { compiled_for, ..machine }
}

fn described(name: &str) -> Described {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/doctor/{name}.toml"));
    let (description, source) = Description::read(&path).unwrap();
    Described { description, source }
}

/// What is found in each of some descriptions.
fn findings(names: &[&str]) -> Option<Vec<Vec<Finding>>> {
    let context = context()?;
    let machine = machine(&context);
    let examine = |name: &&str| diagnose(&described(name).observe(&context, &machine, SAMPLES).unwrap());
    Some(names.iter().map(examine).collect())
}

#[test]
fn each_planted_fault_is_found_and_nothing_else() {
    let planted = [
        ("group-size", Fault::GroupSize),
        ("launch-shape", Fault::LaunchShape),
        ("spills", Fault::Spills),
        ("passes", Fault::Passes),
        ("access", Fault::Access),
        ("transfers", Fault::Transfers),
        ("allocations", Fault::Allocations),
        ("launches", Fault::Launches),
    ];
    let Some(found) = findings(&planted.map(|(name, _)| name)) else { return };
    for ((name, fault), found) in planted.into_iter().zip(found) {
        let faults: Vec<Fault> = found.iter().map(|finding| finding.fault).collect();
        assert_eq!(faults, [fault], "{name}: {found:#?}");
        assert!(found[0].gain > 0.02 && found[0].gain <= 1.0, "{name}: {}", found[0].gain);
        assert!(!found[0].evidence.is_empty() && !found[0].change.is_empty(), "{name}: {:?}", found[0]);
    }
}

#[test]
fn the_same_kernels_without_their_faults_have_no_finding() {
    let Some(found) = findings(&["good", "fused", "coalesced", "registers"]) else { return };
    assert!(found.iter().all(Vec::is_empty), "{found:#?}");
}

#[test]
fn a_change_of_how_a_run_is_made_takes_its_fault_away() {
    let Some(context) = context() else { return };
    let machine = machine(&context);
    let changes = [
        ("group-size", "twice", Remedy::GroupSize(32)),
        ("launch-shape", "sums", Remedy::Groups(machine.units * 4)),
        ("transfers", "", Remedy::KeepOnDevice),
        ("allocations", "", Remedy::KeepBuffers),
        ("launches", "", Remedy::OneLaunch),
    ];
    for (name, kernel, remedy) in changes {
        let changed = described(name).changed(kernel, remedy).unwrap();
        let found = diagnose(&changed.observe(&context, &machine, SAMPLES).unwrap());
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
    assert!(described("access").changed("serial_sums", Remedy::Source).is_none());
}
