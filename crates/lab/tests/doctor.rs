//! The doctor on kernels with a fault each, planted on purpose (`tests/data/doctor`): it finds that fault, and nothing else. The device stands
//! for a GPU with wavefronts of 32 where it is a CPU. What is counted comes from real runs (launches, bytes, code, addresses); times are invented, so
//! that no measurement decides.

use std::path::PathBuf;

use lanefield::backend::opencl::{Cache, Context};
use lanefield_lab::Spread;
use lanefield_lab::doctor::{
    Described, Description, DeviceFacts, Fault, Finding, Observation, Remedy, Timeline, diagnose,
};

use crate::common;

/// Timed runs of each.
const SAMPLES: usize = 4;

fn context() -> Option<Context> {
    Some(Context::open_with_cache(&common::opencl_device()?, Cache::from_environment()).unwrap())
}

/// The device as a GPU with wavefronts of 32. A CPU's registers say nothing: kernels are compiled for one of AMD's GPUs there.
fn machine(context: &Context) -> DeviceFacts {
    let machine = DeviceFacts::of(context, Some(32)).unwrap();
    let compiled_for = machine.is_cpu.then(|| "gfx90a".to_owned());
    DeviceFacts { compiled_for, ..machine }
}

fn described(name: &str) -> Described {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/doctor/{name}.toml"));
    Description::read(&path).unwrap()
}

/// What is found in a run, were each launch 10 µs long, twice an empty one, were what is moved and what is allocated 20 µs, and did memory need half
/// the time of the kernels.
fn examined(run: &Described, context: &Context, machine: &DeviceFacts) -> Vec<Finding> {
    let mut observed = run.observe(context, machine, SAMPLES).unwrap();
    for pass in &mut observed.passes {
        let seconds = 10e-6 * pass.launches as f64;
        pass.seconds = Spread { median: seconds, tenth: seconds, ninetieth: seconds };
        pass.other_groups.clear();
    }
    let kernels = observed.kernel_seconds();
    let Timeline { transferred_bytes, allocated_buffers, .. } = observed.timeline;
    let if_any = |number: u64| if number > 0 { 20e-6 } else { 0.0 };
    let (transfers, allocations) = (if_any(transferred_bytes), if_any(allocated_buffers as u64));
    let wall = kernels + transfers + allocations;
    let timeline = Timeline { wall, kernels, transfers, allocations, ..observed.timeline };
    let copy_bandwidth = observed.bytes as f64 / (kernels / 2.0);
    let machine = DeviceFacts { launch: 5e-6, copy_bandwidth, ..observed.machine };
    diagnose(&Observation { machine, timeline, ..observed })
}

/// What is found in each of some descriptions.
fn findings(names: &[&str]) -> Option<Vec<Vec<Finding>>> {
    let context = context()?;
    let machine = machine(&context);
    Some(names.iter().map(|name| examined(&described(name), &context, &machine)).collect())
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
#[ignore = "test-all: builds what the other tests have faults in"]
fn the_same_kernels_without_their_faults_have_no_finding() {
    let Some(found) = findings(&["good", "fused", "coalesced", "registers"]) else { return };
    assert!(found.iter().all(Vec::is_empty), "{found:#?}");
}

#[test]
#[ignore = "test-all: builds in other groups"]
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
        let found = examined(&changed, &context, &machine);
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
    assert!(described("access").changed("serial_sums", Remedy::Source).is_none());
}
