//! Each fault planted in an observation that is otherwise good: the check of that fault finds it, and no other does.

use super::diagnose;
use crate::binding::Unit;
use crate::counters::{KernelCounters, Kilobyte, Profile, Stall};
use crate::doctor::finding::{Fault, Finding, Remedy};
use crate::doctor::observation::{ArrayAccess, Code, DeviceFacts, Observation, OtherGroup, Pass, Timeline};
use crate::doctor::of_profile;
use crate::{Compared, Limit, Spread};

fn spread(median: f64) -> Spread {
    Spread { median, tenth: 0.99 * median, ninetieth: 1.01 * median }
}

/// Groups of another size, and the times of the present size measured alternately.
fn other(size: usize, seconds: f64, present: f64) -> OtherGroup {
    OtherGroup { size, compared: Compared { present: spread(present), changed: spread(seconds) } }
}

/// A copy of 64 MB on a GPU of 1 TB/s, in 128 µs.
fn good() -> Observation {
    let machine = DeviceFacts {
        name: "Test GPU".to_owned(),
        wavefront: 32,
        units: 100,
        copy_bandwidth: 1e12,
        launch: 5e-6,
        ..DeviceFacts::default()
    };
    let (source, target) = (("source".to_owned(), 64_000_000), ("target".to_owned(), 64_000_000));
    let access = |array: &str| ArrayAccess {
        array: array.to_owned(),
        bytes: 64_000_000,
        efficiency: 1.0,
        line_efficiency: 1.0,
        pattern: "16*item".to_owned(),
    };
    let pass = Pass {
        kernel: "copy".to_owned(),
        work_items: 4_000_000,
        turns: 1,
        group: 256,
        any_group_size: true,
        any_number_of_groups: true,
        lanes: 1,
        launches: 1,
        seconds: spread(130e-6),
        code: Code { registers: Some(16), spilled_bytes: Some(0), scratch_bytes: Some(0), most_registers: None },
        accesses: vec![access("source"), access("target")],
        reads: vec![source],
        writes: vec![target],
        lane_fast: None,
        other_groups: vec![other(128, 131e-6, 130e-6), other(512, 129.5e-6, 130e-6)],
        counters: None,
    };
    Observation {
        subject: "copy".to_owned(),
        machine,
        bytes: 128_000_000,
        passes: vec![pass],
        outputs: vec!["target".to_owned()],
        timeline: Timeline { wall: 132e-6, kernels: 130e-6, launches: 1, ..Timeline::default() },
        ..Observation::default()
    }
}

/// The finding in a slow version of it: that fault alone.
fn only_finding(change: impl FnOnce(&mut Observation)) -> Finding {
    let mut observation = good();
    change(&mut observation);
    let findings = diagnose(&observation);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.into_iter().next().unwrap()
}

/// The time of the kernel in a run of its own.
fn slow(observation: &mut Observation, seconds: f64) {
    observation.passes[0].seconds = spread(seconds);
    observation.timeline.kernels = seconds;
    observation.timeline.wall = seconds + 2e-6;
    observation.passes[0].other_groups.clear();
}

#[test]
fn the_json_of_a_finding_has_all_of_it() {
    let finding = only_finding(|run| {
        slow(run, 400e-6);
        run.passes[0].group = 8;
    });
    let json = serde_json::to_value(&finding).unwrap();
    assert_eq!(json["fault"], "group-size");
    assert!(json["gain"].as_f64().is_some_and(|gain| gain > 0.0), "{json}");
    for text in ["title", "kernel", "change"] {
        assert!(json[text].as_str().is_some_and(|text| !text.is_empty()), "{text}: {json}");
    }
    assert!(json["evidence"][0].is_string() && json["confirmed_gain"].is_null() && json["unconfirmed"].is_null());
}

#[test]
fn a_good_kernel_has_no_finding() {
    assert_eq!(diagnose(&good()), Vec::new());
}

/// The one fault in a slow version of it, its remedy, the gain, and words of the title or of the evidence.
fn planted(fault: Fault, remedy: Remedy, gain: f64, words: &str, change: impl FnOnce(&mut Observation)) -> Finding {
    let found = only_finding(change);
    assert_eq!((found.fault, found.remedy), (fault, remedy), "{found:?}");
    assert!((found.gain - gain).abs() < 1e-9, "{found:?}");
    let told = format!("{}\n{}", found.title, found.evidence.join("\n"));
    assert!(told.contains(words), "{found:?}");
    found
}

#[test]
fn groups_that_leave_lanes_or_units_idle_are_found() {
    // Three quarters of the lanes are idle, but only 272 of 402 µs are above the floor.
    let words = "fill 25% of 1 wavefront of 32";
    let found = planted(Fault::GroupSize, Remedy::GroupSize(32), 272.0 / 402.0, words, |run| {
        slow(run, 400e-6);
        run.passes[0].group = 8;
    });
    assert!(found.evidence[0].contains(words), "{found:?}");
    let words = "10 groups of 256 work-items use 10% of the device";
    let found = planted(Fault::LaunchShape, Remedy::Groups(200), 872.0 / 1002.0, words, |run| {
        slow(run, 1e-3);
        (run.passes[0].work_items, run.passes[0].group) = (2560, 256);
    });
    assert!(found.title.starts_with(words), "{found:?}");
}

#[test]
fn spilled_registers_and_arrays_in_scratch_memory_are_found() {
    // 4 million work-items move 128 MB more: twice as much as necessary.
    planted(Fault::Spills, Remedy::AllRegisters, 200.0 / 402.0, "limited to 40 registers", |run| {
        slow(run, 400e-6);
        run.passes[0].code.spilled_bytes = Some(32);
        run.passes[0].code.most_registers = Some(40);
    });
    planted(Fault::Spills, Remedy::Source, 272.0 / 402.0, "192 bytes of scratch memory", |run| {
        slow(run, 400e-6);
        run.passes[0].code.scratch_bytes = Some(192);
    });
}

#[test]
fn accesses_that_waste_sectors_or_lines_are_found_by_array() {
    // 576 MB are moved for 128.
    let gain = (1.0 - 128.0 / 500.0) * 500.0 / 502.0;
    let words = "for source are not used";
    let found = planted(Fault::Access, Remedy::Source, gain, words, |run| {
        slow(run, 500e-6);
        run.passes[0].accesses[0].efficiency = 0.125;
    });
    assert!(found.title.contains(words), "{found:?}");
    let words = "source, target touch 2.0 times as many cache lines as necessary";
    let found = planted(Fault::Access, Remedy::LaneFast, 250.0 / 502.0, words, |run| {
        slow(run, 500e-6);
        run.passes[0].lane_fast = Some(false);
        run.passes[0].accesses.iter_mut().for_each(|access| access.line_efficiency = 0.5);
    });
    assert!(found.title.contains(words), "{found:?}");
}

#[test]
fn what_is_done_between_kernels_in_every_run_is_found() {
    // Written and read again: half of what is moved.
    planted(Fault::Passes, Remedy::Source, 130.0 / 262.0, "pack writes 64.0 MB to bundle, reduce reads them", |run| {
        let mut second = run.passes[0].clone();
        (run.passes[0].kernel, second.kernel) = ("pack".to_owned(), "reduce".to_owned());
        run.passes[0].writes = vec![("bundle".to_owned(), 64_000_000)];
        second.reads = run.passes[0].writes.clone();
        second.accesses.clear();
        run.passes.push(second);
        (run.timeline.kernels, run.timeline.wall, run.timeline.launches) = (260e-6, 262e-6, 2);
    });
    planted(Fault::Transfers, Remedy::KeepOnDevice, 1000.0 / 1132.0, "transfers between host and device", |run| {
        (run.timeline.wall, run.timeline.transfers, run.timeline.transferred_bytes) = (1132e-6, 1e-3, 12_000_000);
    });
    planted(Fault::Allocations, Remedy::KeepBuffers, 200.0 / 332.0, "2 buffers allocated in a run", |run| {
        (run.timeline.wall, run.timeline.allocations, run.timeline.allocated_buffers) = (332e-6, 200e-6, 2);
    });
    // A millisecond of gaps, and 99 launches of 5 µs.
    planted(Fault::Launches, Remedy::OneLaunch, 1495.0 / 1600.0, "93% of the time is overhead of launching", |run| {
        (run.timeline.launches, run.passes[0].launches) = (100, 100);
        slow(run, 600e-6);
        run.timeline.wall = 1600e-6;
    });
}

#[test]
fn other_sizes_of_groups_that_were_measured_decide() {
    let threads = |others: Vec<OtherGroup>| {
        let mut run = good();
        slow(&mut run, 200e-6);
        (run.passes[0].lanes, run.passes[0].group) = (8, 128);
        run.passes[0].other_groups = others;
        diagnose(&run)
    };
    let found = threads(vec![other(8, 150e-6, 200e-6), other(32, 400e-6, 200e-6)]);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].fault, found[0].change.as_str()), (Fault::GroupSize, "--accelerator-threads 8"));
    assert!((found[0].gain - 50.0 / 202.0).abs() < 1e-9);
    assert!(threads(vec![other(8, 198e-6, 200e-6), other(32, 203e-6, 200e-6)]).is_empty());
    // A size that was slower on its own was not faster when timed alternately.
    assert!(threads(vec![other(8, 150e-6, 150e-6)]).is_empty());
    // Idle lanes without a cost are not a finding.
    let mut run = good();
    run.passes[0].group = 48;
    assert!(diagnose(&run).is_empty());
}

#[test]
fn groups_that_stay_spill_at_every_turn() {
    let gain = |turns| {
        let run = |run: &mut Observation| {
            slow(run, 1e-3);
            run.passes[0].code.spilled_bytes = Some(8);
            run.passes[0].turns = turns;
        };
        only_finding(run).gain
    };
    assert!(gain(4) > 2.0 * gain(1));
}

#[test]
fn findings_come_with_the_largest_gain_first() {
    let mut run = good();
    slow(&mut run, 500e-6);
    run.passes[0].accesses[0].efficiency = 0.5;
    run.passes[0].code.spilled_bytes = Some(4);
    let faults: Vec<Fault> = diagnose(&run).iter().map(|finding| finding.fault).collect();
    assert_eq!(faults, [Fault::Access, Fault::Spills]);
}

#[test]
fn what_binds_is_the_greatest_of_the_times_that_are_known() {
    let binds = |change: fn(&mut Observation)| {
        let mut observation = good();
        change(&mut observation);
        let binding = observation.binding(false);
        (binding.limit, (100.0 * binding.share).round() as i64)
    };
    // 128 µs of 132 are the bytes at the copy bandwidth.
    assert_eq!(binds(|_| ()), (Limit::Memory, 97));
    // Data that fit a cache may take less time from there.
    assert_eq!(good().binding(true).limit, Limit::Execution);
    assert_eq!(binds(|observation| slow(observation, 500e-6)), (Limit::Execution, 75));
    assert_eq!(binds(|observation| slow(observation, 30e-6)).0, Limit::Cache);
    let little = |observation: &mut Observation| {
        slow(observation, 6e-6);
        observation.bytes = 1000;
    };
    assert_eq!(binds(little).0, Limit::Launch);
    assert_eq!(binds(|observation| observation.timeline.wall = 1e-3), (Limit::Gaps, 87));
    let arithmetic = |observation: &mut Observation| {
        slow(observation, 400e-6);
        (observation.estimated, observation.estimated_limit) = (Some(300e-6), Some(Limit::Arithmetic));
    };
    assert_eq!(binds(arithmetic), (Limit::Arithmetic, 75));
}

/// The counters of a hypothetical profile: units by their shares, stalls by theirs.
fn counted(units: &[(Unit, f64)], stalls: &[(Stall, f64)]) -> KernelCounters {
    let metric = |unit: &Unit| match unit {
        Unit::Dram => "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        Unit::L2 => "lts__throughput.avg.pct_of_peak_sustained_elapsed",
        Unit::L1 => "l1tex__throughput.avg.pct_of_peak_sustained_active",
        Unit::Issue => "smsp__issue_active.avg.pct_of_peak_sustained_active",
        other => panic!("{other}"),
    };
    let mut text =
        "ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,copy,gpu__time_duration.sum,us,130\n".to_owned();
    for (unit, share) in units {
        text += &format!("0,copy,{},%,{}\n", metric(unit), 100.0 * share);
    }
    for (stall, share) in stalls {
        let name = stall.to_string().replace(' ', "_");
        text += &format!("0,copy,smsp__warp_issue_stalled_{name}_per_warp_active.pct,%,{}\n", 100.0 * share);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile.csv");
    std::fs::write(&path, text).unwrap();
    let mut profile = Profile::default();
    profile.read(&path, Kilobyte::default()).unwrap();
    profile.kernels(None).remove(0)
}

/// The finding for a pass with these counters that takes twice its floor.
fn finding_of(counters: KernelCounters) -> Option<Finding> {
    let mut observation = good();
    observation.passes[0].seconds = spread(256e-6);
    observation.passes[0].other_groups.clear();
    observation.timeline = Timeline { wall: 258e-6, kernels: 256e-6, ..observation.timeline };
    assert_eq!(observation.add_counters(std::slice::from_ref(&counters)), 1);
    let binding = observation.binding(false);
    assert_eq!(binding.limit, counters.binds.unwrap().limit);
    let mut findings = diagnose(&observation);
    assert!(findings.len() <= 1, "{findings:?}");
    findings.pop()
}

#[test]
fn counters_say_what_binds_and_what_to_try_with_no_more_gain_than_the_next_unit_leaves() {
    let full = [(Unit::Dram, 0.6), (Unit::L2, 0.3), (Unit::L1, 0.9), (Unit::Issue, 0.2)];
    let finding = finding_of(counted(&full, &[(Stall::LG_THROTTLE, 0.4)])).unwrap();
    assert_eq!((finding.fault, finding.remedy), (Fault::Counters, Remedy::Several));
    assert_eq!(finding.title, "counters: L1 throughput 90%");
    assert!((finding.gain - 1.0 / 3.0 * 256.0 / 258.0).abs() < 1e-9, "{finding:?}");
    assert!(finding.evidence[0].ends_with("at most: the next limit is DRAM throughput"), "{finding:?}");
    assert!(finding.evidence.iter().any(|line| line == "warps stalled on lg throttle 40%"), "{finding:?}");
    assert!(finding.change.contains("--access 16"), "{finding:?}");
}

#[test]
fn latency_by_counters_is_answered_by_its_largest_stall() {
    let idle = [(Unit::Dram, 0.4), (Unit::L2, 0.3), (Unit::L1, 0.2)];
    for (stall, change) in [
        (Stall::LONG_SCOREBOARD, "more bytes in flight"),
        (Stall::SHORT_SCOREBOARD, "less local memory"),
        (Stall::BARRIER, "fewer barriers"),
        (Stall::NO_INSTRUCTION, "shorter code"),
        (Stall::WAIT, "fewer instructions"),
    ] {
        let finding = finding_of(counted(&idle, &[(stall, 0.5), (Stall::SELECTED, 0.45)])).unwrap();
        assert!(finding.change.starts_with(change), "{stall}: {}", finding.change);
        assert!(finding.title.contains(&format!("warps stalled on {stall} 50%")), "{}", finding.title);
        // Not more than the part above the floor, although the counters leave 60%.
        assert!((finding.gain - 0.5 * 256.0 / 258.0).abs() < 1e-9, "{finding:?}");
    }
}

#[test]
fn memory_that_is_full_of_bytes_that_must_be_moved_is_no_finding() {
    let counters = counted(&[(Unit::Dram, 0.99), (Unit::L2, 0.3)], &[]);
    assert_eq!(finding_of(counters.clone()), None);
    // Twice the bytes that must be moved.
    let moved = KernelCounters { total_rw_bytes: Some(256e6), ..counters };
    let finding = finding_of(moved).unwrap();
    assert!((finding.gain - 0.5 * 256.0 / 258.0).abs() < 1e-9, "{finding:?}");
    assert!(finding.change.starts_with("fewer bytes"), "{finding:?}");
}

#[test]
fn counters_of_another_size_are_not_taken() {
    let counters = counted(&[(Unit::Dram, 0.9)], &[]);
    let mut observation = good();
    let other = KernelCounters { work_items: Some(17), ..counters.clone() };
    assert_eq!(observation.add_counters(&[other]), 0);
    let same = KernelCounters { work_items: Some(4_000_000), ..counters };
    assert_eq!(observation.add_counters(&[same]), 1);
}

#[test]
fn a_profile_alone_is_judged_by_what_was_counted() {
    let idle = [(Unit::Dram, 0.4), (Unit::L2, 0.3), (Unit::L1, 0.2)];
    let counters = KernelCounters { group_size: Some(256.0), ..counted(&idle, &[(Stall::LONG_SCOREBOARD, 0.5)]) };
    let observations = of_profile(&[counters, KernelCounters::by_hand("other", 1.0, 1.0, None)]);
    assert_eq!(observations.len(), 2);
    let [finding] = &diagnose(&observations[0])[..] else { panic!("one finding") };
    assert!((finding.gain - 0.6).abs() < 1e-9 && finding.kernel == "copy", "{finding:?}");
    assert!(diagnose(&observations[1]).is_empty());
}
