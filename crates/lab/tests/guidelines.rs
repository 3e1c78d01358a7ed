//! Guidelines as experiments: both sides of each give the same on the OpenCL device for tests, and the list has every topic. No time is looked at.

use lanefield::backend::opencl::{Cache, Context};
use lanefield_lab::guidelines::{Options, Outcome, Scale, Verdict, all, named, run};

use crate::common;

fn context() -> Option<(Context, tempfile::TempDir)> {
    let device = common::opencl_device()?;
    let directory = tempfile::tempdir().unwrap();
    Some((Context::open_with_cache(&device, Cache::at(directory.path())).unwrap(), directory))
}

fn tiny(context: &Context, names: &[&str]) -> Vec<Outcome> {
    run(context, &named(names).unwrap(), Options { scale: Scale::Tiny, samples: Some(1) }, |_| true)
}

#[test]
#[ignore = "test-all: all experiments"]
fn both_sides_of_every_experiment_give_the_same() {
    let Some((context, _directory)) = context() else { return };
    let outcomes = tiny(&context, &[]);
    assert_eq!(outcomes.len(), all().len());
    for Outcome { guideline, factor, verdict, remark, samples, .. } in outcomes {
        let name = &guideline.name;
        match verdict {
            Verdict::Unclear => {
                assert!(factor.is_some_and(|factor| factor.median > 0.0) && samples == 1, "{name}");
            }
            Verdict::Observed => assert_eq!(name, "beyond-memory"),
            Verdict::DoesNotApply => assert!(remark.is_some_and(|reason| !reason.is_empty()), "{name}"),
            // One pair of samples is no ground for a verdict.
            _ => panic!("{name}: {verdict}, {remark:?}"),
        }
    }
}

#[test]
fn memory_that_there_is_not_is_refused_with_the_drivers_status() {
    let Some((context, _directory)) = context() else { return };
    let before = context.memory();
    let [outcome] = &tiny(&context, &["beyond-memory"])[..] else { panic!() };
    let told = outcome.remark.as_deref().unwrap();
    assert!(told.starts_with("one buffer of ") && told.contains(" GiB, twice the largest"), "{told}");
    if context.shares_host_memory() {
        assert!(told.ends_with("the host's memory, which is not filled"), "{told}");
    }
    assert_eq!(context.memory(), before);
}

#[test]
fn an_experiment_that_the_device_cannot_do_is_a_row_with_its_reason() {
    let Some((context, _directory)) = context() else { return };
    let outcomes = tiny(&context, &["mapped-host-memory", "zero-copy"]);
    // One of them is for devices with memory of their own, the other for those without.
    let [left_out, done] = if context.shares_host_memory() { [0, 1] } else { [1, 0] };
    assert_eq!(outcomes[left_out].verdict, Verdict::DoesNotApply);
    assert!(outcomes[left_out].remark.as_deref().unwrap().contains(&context.info().name));
    assert!(outcomes[left_out].without_seconds.is_none() && outcomes[done].without_seconds.is_some());
}

#[test]
fn the_list_has_every_topic_of_the_two_documents() {
    let names: Vec<&str> = all().iter().map(|guideline| guideline.name.as_str()).collect();
    let expected = "coalesced aligned wide-8 wide-16 natural-alignment padded-rows local-memory bank-conflicts \
        constant-memory constant-uniform images local-loads register-reuse fused-passes \
        group-fills-wavefront group-multiple-of-wavefront occupancy block-size persistent-groups \
        range-dimensions division native-functions single-precision instruction-parallelism divergence \
        atomics barriers launch-granularity overlap one-queue-for-sequences concurrent-kernels \
        keep-on-device batched-transfers pinned-host-memory mapped-host-memory zero-copy allocate-once \
        beyond-memory";
    assert_eq!(names.join(" "), expected);
}

/// The words in a cell that stand between backticks.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn the_table_of_recommendations_names_tests_and_guidelines_that_there_are() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = std::fs::read_to_string(root.join("docs/recommendations.md")).unwrap();
    let is_test = |name: &str| {
        let (module, function) = name.rsplit_once("::").unwrap_or((name, ""));
        let path = format!("{}.rs", module.replace("::", "/"));
        let of = |folder: &str| std::fs::read_to_string(root.join(folder).join(&path)).ok();
        let source = ["tests", "crates/lab/tests", "crates/maps/tests"].into_iter().find_map(of).unwrap_or_default();
        ["(", "<"].iter().any(|end| source.contains(&format!("fn {function}{end}")))
    };
    let (mut rows, mut measured) = (0, std::collections::BTreeSet::new());
    for line in table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| recommendation")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [recommendation, offered, _, test, by] = cells[..] else { panic!("five columns: {line}") };
        // What cannot be had is argued.
        assert!(names(test).count() > 0 || offered.starts_with("out of reach"), "no test: {recommendation}");
        assert!(!offered.is_empty() && offered != "–", "not offered: {recommendation}");
        names(test).for_each(|name| assert!(is_test(name), "there is no test {name}: {recommendation}"));
        measured.extend(names(by));
        rows += 1;
    }
    let known = all().iter().map(|guideline| guideline.name.as_str()).collect();
    assert_eq!(measured, known);
    assert!(rows > 50, "{rows}");
}
