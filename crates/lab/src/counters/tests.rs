use crate::binding::Unit;
use std::path::{Path, PathBuf};

use super::profile::short_name;
use super::*;
use crate::Limit;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/counters").join(name)
}

fn profile(files: &[&str]) -> Vec<KernelCounters> {
    let mut profile = Profile::default();
    files.iter().for_each(|file| profile.read(&data(file), Kilobyte::Thousand).unwrap());
    profile.kernels(Some(1075.46e9))
}

fn of_texts(texts: &[&str]) -> Result<Vec<KernelCounters>, CountersError> {
    let directory = tempfile::tempdir().unwrap();
    let mut profile = Profile::default();
    for (number, text) in texts.iter().enumerate() {
        let path = directory.path().join(format!("{number}.csv"));
        std::fs::write(&path, text).unwrap();
        profile.read(&path, Kilobyte::Thousand)?;
    }
    Ok(profile.kernels(None))
}

fn error(text: &str) -> String {
    of_texts(&[text]).unwrap_err().to_string()
}

fn close(value: Option<f64>, expected: f64) -> bool {
    value.is_some_and(|value| (value - expected).abs() <= 1e-9 * expected.abs())
}

#[test]
fn bandwidths_of_the_sprint_report_come_out() {
    // EmPRiSM sprint report: (TOTAL_RW, average time, GB/s, % of 1075.46 GB/s).
    for (bytes, time, rate, share) in
        [("77.87891MB", "0.270821ms", 287.566, 26.7), ("1.29009797 GB", "2.671374 ms", 482.934, 44.9)]
    {
        let (bytes, seconds) = (parse_bytes(bytes).unwrap(), parse_seconds(time).unwrap());
        let row = KernelCounters::by_hand("EOCloverFBCGPU", bytes, seconds, Some(1075.46e9));
        assert!((row.bytes_per_second.unwrap() / 1e9 - rate).abs() < 5e-4, "{row:?}");
        assert!((100.0 * row.share_of_ceiling.unwrap() - share).abs() < 0.05, "{row:?}");
    }
}

#[test]
fn total_rw_and_time_are_averages_over_the_calls_of_a_kernel() {
    let kernels = profile(&["rocprof.csv"]);
    let [clover, axpy] = &kernels[..] else { panic!("{kernels:?}") };
    assert_eq!((clover.kernel.as_str(), clover.work_items, clover.calls), ("EOCloverFBCGPU", Some(65536), 2));
    // (65000 + 12878 + 65000 + 12879.82) / 2 kilobytes in (270000 + 271642) / 2 ns.
    assert!(close(clover.total_rw_bytes, 77.87891e6) && close(clover.seconds, 270.821e-6), "{clover:?}");
    assert!((clover.bytes_per_second.unwrap() / 1e9 - 287.566).abs() < 5e-4);
    assert!(close(clover.l2_hit_percent, 60.2) && close(clover.registers, 44.0) && close(clover.local_bytes, 24576.0));
    assert_eq!(
        (clover.scalar_registers, clover.scratch_bytes, clover.group_size),
        (Some(64.0), Some(20.0), Some(256.0))
    );
    assert_eq!((axpy.kernel.as_str(), axpy.calls), ("axpy", 1));
}

#[test]
fn a_kilobyte_may_have_1024_bytes() {
    let mut profile = Profile::default();
    profile.read(&data("rocprof.csv"), Kilobyte::Binary).unwrap();
    assert!(close(profile.kernels(None)[0].total_rw_bytes, 77878.91 * 1024.0));
}

#[test]
fn times_of_a_run_that_counts_nothing_are_preferred() {
    for files in [["rocprof.csv", "rocprof.stats.csv"], ["rocprof.stats.csv", "rocprof.csv"]] {
        let kernels = profile(&files);
        let [clover, axpy] = &kernels[..] else { panic!("{kernels:?}") };
        assert!(close(clover.seconds, 260e-6) && close(clover.total_rw_bytes, 77.87891e6), "{clover:?}");
        assert_eq!((clover.calls, axpy.calls), (100, 100));
    }
}

#[test]
fn rocprofv3_has_a_row_for_each_counter_of_a_call() {
    let kernels = profile(&["rocprofv3_counter_collection.csv"]);
    let [clover] = &kernels[..] else { panic!("{kernels:?}") };
    assert_eq!((clover.calls, clover.work_items), (1, Some(1 << 20)));
    assert!(close(clover.total_rw_bytes, 1.516e9), "{clover:?}");
    // Time stamps since 1970 lose nothing: 1570720 ns exactly.
    assert!(close(clover.seconds, 1570720e-9), "{clover:?}");
}

#[test]
fn nsight_compute_is_read_metric_by_metric_whatever_it_says_before() {
    let kernels = profile(&["ncu_long.csv"]);
    let [clover] = &kernels[..] else { panic!("{kernels:?}") };
    // "(1,024, 1, 1)" groups of "(256, 1, 1)".
    assert_eq!((clover.kernel.as_str(), clover.calls, clover.work_items), ("EOCloverFBCGPU", 1, Some(1 << 18)));
    assert!(close(clover.total_rw_bytes, 70e6) && close(clover.seconds, 126.07e-6), "{clover:?}");
    assert_eq!(
        (clover.registers, clover.l2_hit_percent, clover.occupancy_percent),
        (Some(76.0), Some(59.45), Some(12.0))
    );
}

#[test]
fn nsight_compute_is_read_launch_by_launch_below_a_row_of_units() {
    let kernels = profile(&["ncu_raw.csv"]);
    let [clover] = &kernels[..] else { panic!("{kernels:?}") };
    assert_eq!((clover.kernel.as_str(), clover.calls, clover.work_items), ("EOCloverFBCGPU<(int)4>", 2, Some(1 << 20)));
    assert!(close(clover.total_rw_bytes, 1.20636e9) && close(clover.seconds, 1.66558e-3), "{clover:?}");
    assert!(close(clover.local_bytes, 24580.0));
    // EmPRiSM sprint report, V100: 724.277 GB/s.
    assert!((clover.bytes_per_second.unwrap() / 1e9 - 724.29).abs() < 0.01, "{clover:?}");
}

#[test]
fn errors_name_line_and_column() {
    let message = error("KernelName,FETCH_SIZE,DurationNs\nk,1,2\nk,x,3\n");
    assert!(message.contains("line 3, column \"FETCH_SIZE\": 'x' is not a number"), "{message}");
    let message = error("KernelName,FETCH_SIZE,DurationNs\nk,1\n");
    assert!(message.contains("line 2 has 2 cells, and the header 3"), "{message}");
    let message =
        error("==PROF== x\nID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,k,dram__bytes_read.sum,furlong,1\n");
    assert!(message.contains("line 3, column \"Metric Unit\": 'furlong' is not a unit of bytes"), "{message}");
    let message = error("KernelName,BeginNs,EndNs\nk,20,10\n");
    assert!(message.contains("column \"EndNs\": '10' is before BeginNs, 20"), "{message}");
    let message = error("KernelName,FETCH_SIZE\nk,-4\n");
    assert!(message.contains("'-4' is negative"), "{message}");
}

#[test]
fn a_table_of_another_kind_is_refused_with_its_columns() {
    let message = error("apples,pears\n1,2\n");
    assert!(message.contains("\"apples\", \"pears\"") && message.contains("rocprof"), "{message}");
    assert!(error("").contains("it is empty"));
    assert!(error("KernelName,FETCH_SIZE\n").contains("has no kernels"));
}

#[test]
fn thousands_may_be_separated_and_decimal_commas_are_refused() {
    use super::units::number;
    assert_eq!(number("1,234,567.5"), Some(1234567.5));
    assert_eq!(number("12'345"), Some(12345.0));
    assert_eq!([number("1,5"), number("NaN"), number(""), number("1,2345")], [None; 4]);
    assert_eq!([number("0,270"), number("1234,567"), number(",270")], [None; 3]);
}

#[test]
fn bytes_and_times_by_hand_need_a_unit_and_sizes_that_can_be() {
    assert_eq!(parse_bytes("64KiB"), Ok(65536.0));
    assert_eq!(parse_bytes("2 TiByte"), Ok((1u64 << 41) as f64));
    assert_eq!(parse_seconds("12 µs"), Ok(12.0 * 1e-6));
    assert!(parse_seconds("1ns").is_ok() && parse_bytes("1e6TB").is_ok());
    type Parse = fn(&str) -> Result<f64, String>;
    let cases: [(Parse, &[&str], &str); 3] = [
        (parse_bytes, &["77", "MB", "-1MB", "0MB", "1 ms"], "with its unit"),
        (parse_bytes, &["1e300TB", "1e308TiB", "2e18B"], "more than one call can move"),
        (parse_seconds, &["0.9ns", "1e-300s"], "at least 1ns"),
    ];
    for (parse, texts, said) in cases {
        texts.iter().for_each(|text| assert!(parse(text).unwrap_err().contains(said), "{text}"));
    }
}

const FETCHED: &str = "KernelName,FETCH_SIZE,DurationNs\nk,1000,2000\n";
const WRITTEN: &str = "KernelName,WRITE_SIZE,DurationNs\nk,500,4000\n";

#[test]
fn files_of_one_run_tell_of_the_same_calls() {
    let kernels = of_texts(&[FETCHED, WRITTEN]).unwrap();
    let [kernel] = &kernels[..] else { panic!("{kernels:?}") };
    assert_eq!((kernel.calls, kernel.total_rw_bytes, &kernel.remark), (1, Some(1.5e6), &None));
    assert!(close(kernel.seconds, 3e-6), "{kernel:?}");
    let ncu = |metric: &str| format!("ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n0,k,{metric},byte,7\n");
    let kernels = of_texts(&[&ncu("dram__bytes_read.sum"), &ncu("dram__bytes_write.sum")]).unwrap();
    assert_eq!((kernels[0].calls, kernels[0].total_rw_bytes), (1, Some(14.0)));
}

#[test]
fn half_of_the_bytes_is_no_total() {
    for (text, counted) in [(FETCHED, "only what it reads was counted, 1.00000 MB"), (WRITTEN, "only what it writes")] {
        let kernels = of_texts(&[text]).unwrap();
        assert_eq!((kernels[0].total_rw_bytes, kernels[0].bytes_per_second), (None, None));
        assert!(kernels[0].remark.as_ref().is_some_and(|remark| remark.contains(counted)), "{kernels:?}");
    }
}

#[test]
fn names_lose_their_arguments_and_not_their_templates() {
    assert_eq!(short_name("k<float, (int)4>(float2 *, int) [clone .kd]"), "k<float, (int)4>");
    assert_eq!(short_name("axpy.kd"), "axpy");
    assert_eq!(short_name(" plain "), "plain");
}

#[test]
fn kernels_are_joined_by_map_or_name_with_the_fastest_of_ours() {
    let ours = |kernel: &str, seconds| OurKernel {
        kernel: kernel.to_owned(),
        variant: String::new(),
        lattice: None,
        precision: "f32".to_owned(),
        seconds,
        bytes_per_second: None,
        share_of_ceiling: None,
    };
    let ours = [ours("eo_clover", 200e-6), ours("eo_clover", 100e-6), ours("AXPY", 50e-6)];
    let map: NameMap = "EOCloverFBCGPU=eo_clover".parse().unwrap();
    let joined = Beside::join(profile(&["rocprof.csv"]), &ours, std::slice::from_ref(&map)).unwrap();
    assert!(close(joined[0].times_ours, 2.70821) && close(joined[1].times_ours, 0.5), "{joined:?}");
    // Another precision is another row.
    let both = [ours[0].clone(), OurKernel { precision: "f64".to_owned(), ..ours[1].clone() }];
    assert_eq!(Beside::join(profile(&["rocprof.csv"]), &both, std::slice::from_ref(&map)).unwrap().len(), 3);
    let error = Beside::join(profile(&["rocprof.csv"]), &ours[2..], &[map]).unwrap_err().to_string();
    assert!(error.contains("no kernel \"eo_clover\" in our measurements; there are: AXPY"), "{error}");
}

fn of_name<'k>(kernels: &'k [KernelCounters], name: &str) -> &'k KernelCounters {
    kernels.iter().find(|kernel| kernel.kernel == name).unwrap()
}

fn share_of(kernel: &KernelCounters, unit: Unit) -> Option<f64> {
    kernel.units.iter().find(|busy| busy.unit == unit).map(|busy| busy.share)
}

#[test]
fn nsight_compute_tells_units_bytes_occupancy_and_stalls() {
    let kernels = profile(&["ncu_h200_raw.csv"]);
    assert_eq!(kernels.len(), 4);
    let hop = of_name(&kernels, "hop");
    assert_eq!((hop.work_items, hop.group_size, hop.registers), (Some(16 * 8 * 4096), Some(128.0), Some(90.0)));
    assert!(close(hop.dram_read_bytes, 412.3e6) && close(hop.dram_written_bytes, 100.6633e6), "{hop:?}");
    assert!(close(hop.l2_bytes, 1.29e9) && close(hop.l1_bytes, 1.52e9) && close(hop.private_bytes, 0.0), "{hop:?}");
    assert_eq!((hop.l1_hit_percent, hop.l2_hit_percent), (Some(22.4), Some(58.9)));
    assert_eq!((hop.sectors_per_load, hop.sectors_per_store), (Some(15.9), Some(16.0)));
    for (unit, percent) in [
        (Unit::Dram, 68.1),
        (Unit::L2, 74.6),
        (Unit::L1, 91.2),
        (Unit::Issue, 41.3),
        // Cycles in which a pipe is busy come before instructions.
        (Unit::Fma, 25.0),
        (Unit::Alu, 12.7),
        (Unit::Lsu, 30.2),
    ] {
        assert!(close(share_of(hop, unit), percent / 100.0), "{unit}");
    }
    assert_eq!((hop.occupancy_percent, hop.theoretical_occupancy_percent), (Some(30.4), Some(31.25)));
    assert_eq!((&hop.occupancy_limits[..], hop.waves), (&[OccupancyLimit::Registers][..], Some(6.21)));
    let largest = &hop.stalls[..2];
    assert_eq!((largest[0].reason, largest[1].reason), (Stall::LG_THROTTLE, Stall::LONG_SCOREBOARD));
    assert!((largest[0].share - 0.41).abs() < 1e-12 && (largest[1].share - 0.33).abs() < 1e-12, "{largest:?}");
    assert!((hop.stalls.iter().map(|stalled| stalled.share).sum::<f64>() - 1.0).abs() < 1e-12);
    let norm2 = of_name(&kernels, "norm2");
    assert!(close(norm2.private_bytes, 16384.0) && close(norm2.local_bytes, 5120.0), "{norm2:?}");
}

#[test]
fn what_binds_follows_from_the_written_rule() {
    let kernels = profile(&["ncu_h200_raw.csv"]);
    for (name, limit, because) in [
        ("hop", Limit::Unit(Unit::L1), "L1 throughput 91%"),
        ("axpy", Limit::Unit(Unit::Dram), "DRAM throughput 92%"),
        (
            "norm2",
            Limit::Latency,
            "latency: no unit above 60% (DRAM throughput 45%), warps stalled on long scoreboard 48%, occupancy 25%, limited by registers",
        ),
        ("finish", Limit::Launch, "launch: no unit above 60% (issue slots 4%), its groups fill 0% of the device"),
    ] {
        let binds = of_name(&kernels, name).binds.as_ref().unwrap();
        assert_eq!((binds.limit, binds.because.as_str()), (limit, because), "{name}");
    }
}

/// A profile of one kernel with these metrics, each with its unit and value.
fn of_metrics(metrics: &[(&str, &str, f64)]) -> KernelCounters {
    let mut text = "ID,Kernel Name,Metric Name,Metric Unit,Metric Value\n".to_owned();
    for (metric, unit, value) in metrics {
        text += &format!("0,k,{metric},{unit},{value}\n");
    }
    of_texts(&[&text]).unwrap().remove(0)
}

const DRAM: &str = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed";
const L2: &str = "lts__throughput.avg.pct_of_peak_sustained_elapsed";
const L1: &str = "l1tex__throughput.avg.pct_of_peak_sustained_active";
const ISSUE: &str = "smsp__issue_active.avg.pct_of_peak_sustained_active";

#[test]
fn thresholds_are_60_and_80_percent_and_the_busiest_unit_binds() {
    let because = |dram: f64, l2: f64, l1: f64, issue: f64| {
        let units = [(DRAM, "%", dram), (L2, "%", l2), (L1, "%", l1), (ISSUE, "%", issue)];
        let stall = ("smsp__warp_issue_stalled_wait_per_warp_active.pct", "%", 31.0);
        of_metrics(&[&units[..], &[stall]].concat()).binds.unwrap().because
    };
    assert_eq!(because(80.0, 70.0, 10.0, 20.0), "DRAM throughput 80%");
    assert_eq!(because(79.9, 70.0, 10.0, 20.0), "DRAM throughput 80%, warps stalled on wait 31%");
    assert_eq!(because(10.0, 70.0, 69.0, 60.0), "L2 throughput 70%, warps stalled on wait 31%");
    assert_eq!(because(10.0, 20.0, 30.0, 85.0), "issue slots 85%");
    assert_eq!(
        because(10.0, 59.9, 30.0, 20.0),
        "latency: no unit above 60% (L2 throughput 60%), warps stalled on wait 31%"
    );
}

#[test]
fn nothing_is_said_to_bind_where_a_busier_unit_may_not_have_been_counted() {
    assert_eq!(of_metrics(&[(DRAM, "%", 50.0), (L2, "%", 20.0)]).binds, None);
    assert_eq!(of_metrics(&[(DRAM, "%", 70.0), (L2, "%", 20.0)]).binds, None);
    assert_eq!(of_metrics(&[(DRAM, "%", 90.0)]).binds.unwrap().limit, Limit::Unit(Unit::Dram));
    assert_eq!(of_metrics(&[("dram__bytes_read.sum", "byte", 1.0)]).binds, None);
}

#[test]
fn sections_of_a_report_say_the_same_as_raw_metrics() {
    let (details, raw) = (profile(&["ncu_h200_details.csv"]), profile(&["ncu_h200_raw.csv"]));
    let [details] = &details[..] else { panic!("{details:?}") };
    let raw = of_name(&raw, "norm2");
    assert_eq!(details.binds, raw.binds);
    for unit in [Unit::Dram, Unit::L2, Unit::L1, Unit::Issue] {
        assert_eq!(share_of(details, unit), share_of(raw, unit), "{unit}");
    }
    assert_eq!((details.seconds, details.waves, details.registers), (raw.seconds, raw.waves, raw.registers));
    assert_eq!((&details.occupancy_limits, details.l1_hit_percent), (&raw.occupancy_limits, raw.l1_hit_percent));
    assert_eq!((details.work_items, details.group_size, details.calls), (raw.work_items, raw.group_size, 1));
    // For stalls that are reported; the number of others follows from the active warps.
    assert_eq!(details.stalls[0].reason, Stall::LONG_SCOREBOARD);
    assert!((details.stalls[0].share - 0.48).abs() < 1e-12, "{:?}", details.stalls);
}

#[test]
fn stalls_are_shares_whichever_way_they_were_counted() {
    let samples = of_metrics(&[
        ("smsp__pcsamp_warps_issue_stalled_long_scoreboard", "", 30.0),
        ("smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued", "", 7.0),
        ("smsp__pcsamp_warps_issue_stalled_no_instructions", "", 10.0),
        ("smsp__pcsamp_warps_issue_stalled_selected", "", 60.0),
    ]);
    let shares: Vec<_> = samples.stalls.iter().map(|stalled| (stalled.reason, stalled.share)).collect();
    assert_eq!(shares, [(Stall::SELECTED, 0.6), (Stall::LONG_SCOREBOARD, 0.3), (Stall::NO_INSTRUCTION, 0.1)]);
    // An issued instruction is not a stall.
    assert_eq!(samples.largest_stall().unwrap().reason, Stall::LONG_SCOREBOARD);
    let per_issue = of_metrics(&[
        ("smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "inst", 2.0),
        ("smsp__average_warp_latency_per_inst_issued.ratio", "cycle", 8.0),
    ]);
    assert_eq!(per_issue.stalls[0].share, 0.25);
}

#[test]
fn a_share_in_another_unit_is_refused_with_the_column() {
    let text = format!("ID,Kernel Name,{DRAM}\n,,inst\n0,k,50\n");
    let message = error(&text);
    assert!(
        message.contains(&format!("line 2, column \"{DRAM}\": 'inst' is not a unit of a share: expected %")),
        "{message}"
    );
    let newer = of_metrics(&[("dram__bytes_op_read.sum", "Kbyte", 2.0), ("dram__bytes_op_write.sum", "byte", 48.0)]);
    assert_eq!(newer.total_rw_bytes, Some(2048.0));
}
