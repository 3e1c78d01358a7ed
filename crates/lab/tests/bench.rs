//! Every kernel of the list can be timed and examined. No test looks at a time.

use lanefield::backend::Threads;
use lanefield::backend::opencl::{AccessWidth, Mapping, Tuning};
use lanefield::kernel;
use lanefield::kernel::KernelList;
use lanefield::prelude::*;
use lanefield_lab::doctor::{DeviceFacts, Examination};
use lanefield_lab::study::{self, Run};
use lanefield_lab::{BenchCase, BenchOptions, KernelRecord, Sampling, Timed, kernels_to_time};

use crate::common;

const ONCE: Sampling = Sampling { samples: 1, back_to_back: false };

fn options() -> BenchOptions {
    BenchOptions::new(kernels_to_time(&KernelList::LIBRARY, ["all"]).unwrap(), Extents::new([4, 2, 4, 4]).unwrap())
}

/// Times everything, and tells what could not be run.
fn failures<B: Timed>(backend: &mut B, options: &BenchOptions, tuning: Tuning) -> Vec<String> {
    let records = study::time(backend, &study::Run::all(options, tuning), |_| ONCE, |_| true);
    assert_eq!(records.len(), options.cases().len());
    let line = |record: &KernelRecord| {
        let failure = record.failure.as_ref()?;
        Some(format!("{}, {}: {failure}", record.kernel, record.fields))
    };
    records.iter().filter_map(line).collect()
}

#[test]
fn every_kernel_is_timed_on_the_cpu() {
    let mut cpu = Cpu::new(Threads::new(1)).unwrap();
    assert_eq!(failures(&mut cpu, &options(), Tuning::OPEN), [] as [String; 0]);
}

#[test]
#[ignore = "test-all: builds every kernel"]
fn every_kernel_is_timed_on_a_device_in_one_layout_after_the_other() {
    let Some(device) = common::opencl_device() else { return };
    let mut device = OpenCl::open(&device).unwrap();
    let options = BenchOptions { precisions: vec![Precision::F32], links: vec![LinkFormat::TwoRows], ..options() };
    assert_eq!(failures(&mut device, &options, Tuning::OPEN), [] as [String; 0]);
    // The same arguments, laid out anew.
    let [hop] = kernels_to_time(&KernelList::LIBRARY, ["hop"]).unwrap()[..] else { panic!("one kernel") };
    let mut case = BenchCase::usual(hop, options.extents).prepare(&device).unwrap();
    for access in AccessWidth::ALL {
        let tuning = Tuning { access: Some(access), mapping: Some(Mapping::SiteFast), ..Tuning::OPEN };
        let record = case.time(&mut device, tuning, ONCE);
        assert_eq!((record.failure, record.tuning), (None, tuning));
        assert_eq!(record.variant, format!("access {access}, mapping site-fast"));
        assert_eq!(device.layout().access, access);
    }
}

#[test]
fn a_record_names_its_kernel_and_what_was_chosen() {
    let [hop] = kernels_to_time(&KernelList::LIBRARY, ["hop_dagger"]).unwrap()[..] else { panic!("one kernel") };
    let case = BenchCase::usual(hop, Extents::new([2; 4]).unwrap());
    let odd = BenchCase { extents: Extents::new([3; 4]).unwrap(), ..case };
    let runs = [case, odd].map(|case| Run::new(case, Tuning::OPEN));
    let records = study::time(&mut Cpu::new(Threads::new(1)).unwrap(), &runs, |_| ONCE, |_| true);
    let [record, odd] = &records[..] else { panic!("{records:?}") };
    let json = serde_json::to_value(record).unwrap();
    assert_eq!((&json["kernel"], &json["family"]), (&"hop_dagger".into(), &"hop".into()));
    assert_eq!((&json["precision"], &json["reconstruct"], &json["spinors"]), (&"f32".into(), &18.into(), &1.into()));
    assert_eq!((&json["variant"], &json["ceiling"]), (&"default".into(), &"copy".into()));
    assert_eq!(json["work"]["flops"], 8 * 1320);
    assert!(odd.failure.is_some() && odd.fields.sites.is_none() && odd.work.is_none());
}

#[test]
#[ignore = "test-all: builds all hops"]
fn a_kernel_of_the_list_is_examined_whether_or_not_the_models_describe_it() {
    let Some(device) = common::opencl_device() else { return };
    let mut device = OpenCl::open(&device).unwrap();
    let machine = DeviceFacts::of(device.context(), Some(32)).unwrap();
    let of_colour_vectors = kernel::all().map(|kernel| kernel.name).filter(|name| name.ends_with("_hop"));
    let kernels =
        kernels_to_time(&KernelList::LIBRARY, ["hop", "axpy", "s_dense"].into_iter().chain(of_colour_vectors)).unwrap();
    for kernel in kernels {
        let mut case = BenchCase::usual(kernel, Extents::new([4, 4, 4, 4]).unwrap()).prepare(&device).unwrap();
        let examination = Examination { tuning: Tuning::OPEN, machine: &machine, samples: 2, other_groups: false };
        let seen = examination.observe(&mut device, &mut case).unwrap();
        assert!(seen.subject.starts_with(kernel.name) && seen.bytes > 0, "{}", seen.subject);
        let arrays: Vec<&str> = seen.passes[0].accesses.iter().map(|access| access.array.as_str()).collect();
        let expected: &[&str] = match kernel.name {
            "axpy" => &["x", "y"],
            "s_dense" => &[],
            _ => &["in", "links", "out"],
        };
        assert_eq!(arrays, expected, "{kernel}");
    }
}
