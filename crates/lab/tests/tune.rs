//! The tuner: which choices a search takes and drops, and how files of choices are kept, found and passed over. Counterparts:
//! `src/tune`, and the library's `src/backend/opencl/tuning/{lookup,file}.rs`. No test knows a time of a real device.

use std::path::Path;
use std::time::Duration;

use lanefield::backend::opencl::{
    AccessWidth, Cache, DeviceInfo, GridStride, KernelKey, SiteOrder, Tuned, Tuning, TuningFile, TuningSource,
};
use lanefield::kernel::{self, Numbers, TestData};
use lanefield::operator::HopOperator;
use lanefield::prelude::*;
use lanefield_lab::tune::{
    Axis, Candidate, KernelReport, Searched, Trial, TuneOptions, TuneReport, Verdict, save, search, subjects, tune,
};
use lanefield_reference::layout::AcceleratorThreads;
use lanefield_reference::real::Real;

use crate::common;

fn threads(number: usize) -> Tuning {
    Tuning { accelerator_threads: Some(AcceleratorThreads::new(number).unwrap()), ..Tuning::OPEN }
}

fn number_of(choice: &Tuning) -> Option<usize> {
    choice.accelerator_threads.map(AcceleratorThreads::get)
}

/// A kernel whose time is 100 s less its threads; each run or sample moves the clock on by a second.
struct Invented {
    clock: u64,
    /// Threads with which the result has other bits, and those that are refused.
    wrong: Option<usize>,
    refused: Option<usize>,
    /// Seconds less for each thread.
    gain: f64,
}

impl Invented {
    fn new() -> Self {
        Self { clock: 0, wrong: None, refused: None, gain: 1.0 }
    }

    fn searched(&mut self, seconds: u64) -> Result<Searched, String> {
        let values = [4, 16, 32].map(threads).into();
        let axes = [Axis { name: "threads", values }];
        search(self, threads(8), &0, &axes, Duration::from_secs(seconds))
    }
}

impl Trial for Invented {
    type Output = u32;
    fn run(&mut self, choice: &Tuning) -> Result<u32, String> {
        self.clock += 1;
        match number_of(choice) {
            n if n == self.refused => Err("too many work-items".to_owned()),
            n => Ok(u32::from(n == self.wrong)),
        }
    }
    fn time(&mut self, choice: &Tuning) -> Result<f64, String> {
        self.clock += 1;
        Ok(100.0 - self.gain * number_of(choice).unwrap_or_default() as f64)
    }
    fn difference(&self, found: &u32, expected: &u32) -> Option<String> {
        (found != expected).then(|| format!("{found} instead of {expected}"))
    }
    fn elapsed(&mut self) -> Duration {
        Duration::from_secs(self.clock)
    }
}

fn verdict_of(searched: &Searched, number: usize) -> &Verdict {
    let of = |candidate: &&Candidate| candidate.choice == threads(number);
    &searched.candidates.iter().find(of).unwrap().verdict
}

#[test]
fn the_fastest_candidate_is_chosen_and_the_others_say_why_they_lost() {
    let searched = Invented::new().searched(1000).unwrap();
    assert_eq!((searched.choice, searched.default_seconds, searched.seconds), (threads(32), 92.0, 68.0));
    assert_eq!(verdict_of(&searched, 32), &Verdict::Chosen);
    assert_eq!(verdict_of(&searched, 8), &Verdict::Slower { percent: 100.0 * (92.0 / 68.0 - 1.0) });
    assert_eq!(searched.candidates.len(), 4);
}

#[test]
fn a_candidate_with_other_bits_or_that_is_refused_is_out_however_fast_and_such_a_default_ends_the_search() {
    let wrong = Verdict::BitsDiffer { difference: "1 instead of 0".to_owned() };
    let refused = Verdict::Refused { reason: "too many work-items".to_owned() };
    for (mut invented, verdict) in [
        (Invented { wrong: Some(32), ..Invented::new() }, wrong),
        (Invented { refused: Some(32), ..Invented::new() }, refused),
    ] {
        let searched = invented.searched(1000).unwrap();
        assert_eq!((searched.choice, verdict_of(&searched, 32)), (threads(16), &verdict));
    }
    let error = Invented { wrong: Some(8), ..Invented::new() }.searched(1000).unwrap_err();
    assert!(error.contains("differs from the CPU reference: 1 instead of 0"), "{error}");
}

#[test]
fn what_the_budget_does_not_allow_is_left_out_and_said() {
    // The default takes 4 s, each candidate as much; three quarters of 9 s are for them.
    let searched = Invented::new().searched(9).unwrap();
    let slower = Verdict::Slower { percent: 100.0 * (96.0 / 92.0 - 1.0) };
    assert_eq!((searched.choice, verdict_of(&searched, 4)), (threads(8), &slower));
    assert_eq!([16, 32].map(|n| verdict_of(&searched, n)), [&Verdict::LeftOut; 2]);
}

#[test]
fn a_gain_of_less_than_a_percent_leaves_the_default() {
    let axes = [Axis { name: "threads", values: vec![threads(9)] }];
    let mut trial = Invented::new();
    let searched = search(&mut trial, threads(8), &0, &axes, Duration::from_secs(4)).unwrap();
    assert_eq!(searched.choice, threads(8));
    // 96 and 95.5: within the noise.
    let mut close = Invented { gain: 0.5, ..Invented::new() };
    let searched = search(&mut close, threads(8), &0, &axes, Duration::from_secs(100)).unwrap();
    assert_eq!((searched.choice, searched.candidates.len()), (threads(8), 2));
    assert!(verdict_of(&searched, 9) != &Verdict::LeftOut);
}

/// A device that no machine has, made of one that this machine has: descriptions have no constructor.
fn invented_device(name: &str) -> Option<DeviceInfo> {
    let device = common::opencl_device()?;
    let (name, architecture) = (name.to_owned(), "xy90".to_owned());
    Some(DeviceInfo { name, architecture, driver_version: "1.0".to_owned(), ..device })
}

fn key(volume_class: u32) -> KernelKey {
    KernelKey {
        kernel: "hop",
        precision: Precision::F32,
        links: LinkFormat::Full,
        parts: 1,
        lanes: 8,
        volume_class,
        access: AccessWidth::Eight,
        site_order: SiteOrder::Lexicographic,
        slices_in_cache: true,
    }
}

/// A report that chose so many threads for one kernel.
fn report(key: KernelKey, number: usize) -> TuneReport {
    let candidates = vec![
        Candidate { choice: threads(8), seconds: Some(2e-6), verdict: Verdict::Slower { percent: 100.0 } },
        Candidate { choice: threads(number), seconds: Some(1e-6), verdict: Verdict::Chosen },
    ];
    let searched = Searched { choice: threads(number), default_seconds: 2e-6, seconds: 1e-6, candidates };
    let lattice = [4; 4];
    let (access, site_order) = (key.access, key.site_order);
    let kernels = vec![KernelReport { gain: 1.0, kernel: key.to_string(), key, lattice, access, site_order, searched }];
    let (failures, left_out) = (Vec::new(), Vec::new());
    TuneReport { access, site_order, kernels, failures, left_out, seconds: 1.0 }
}

fn threads_of(tuned: &Tuned, device: &DeviceInfo, key: &KernelKey) -> Option<usize> {
    number_of(&tuned.choice(device, key))
}

#[test]
fn what_was_kept_is_found_again_with_its_access_width() {
    let Some(device) = invented_device("Invented 1") else { return };
    let directory = tempfile::tempdir().unwrap();
    let source = TuningSource::Directory(directory.path().to_owned());
    let path = source.file(&device).unwrap();
    save(&path, &device, &report(key(8), 3)).unwrap();
    save(&path, &device, &report(key(16), 5)).unwrap();
    save(&path, &device, &report(key(16), 6)).unwrap();
    let tuned = Tuned::load(&source, &device);
    assert_eq!((tuned.warnings(), tuned.access()), (&[][..], Some(AccessWidth::Eight)));
    assert_eq!([8, 16].map(|class| threads_of(&tuned, &device, &key(class))), [Some(3), Some(6)]);
    let text = std::fs::read_to_string(path).unwrap();
    for part in ["tuned-us = 1.0", "default-us = 2.0", "slower by 100.0 %", "volume-class = 16", "Invented 1"] {
        assert!(text.contains(part), "no {part} in {text}");
    }
}

#[test]
fn the_nearest_volume_then_the_architecture_then_the_crate_are_fallen_back_to() {
    let Some(device) = invented_device("Invented 1") else { return };
    let directory = tempfile::tempdir().unwrap();
    let source = TuningSource::Directory(directory.path().to_owned());
    let keep = |device: &DeviceInfo, class, number| {
        save(&source.file(device).unwrap(), device, &report(key(class), number)).unwrap();
    };
    keep(&device, 8, 3);
    keep(&device, 16, 5);
    let relative = DeviceInfo { name: "Invented 2".to_owned(), ..device.clone() };
    let stranger = DeviceInfo { architecture: "xy80".to_owned(), ..relative.clone() };
    let threads_on = |device: &DeviceInfo, key| threads_of(&Tuned::load(&source, device), device, &key);
    assert_eq!([9, 14, 30].map(|class| threads_on(&device, key(class))), [Some(3), Some(5), Some(5)]);
    assert_eq!(threads_on(&relative, key(16)), Some(5), "of the same architecture");
    assert_eq!(threads_on(&stranger, key(16)), Some(8), "a default of the crate");
    // Its own results come first.
    keep(&relative, 30, 7);
    assert_eq!(threads_on(&relative, key(16)), Some(7));
    // Another kernel, another number of lanes: nothing was tuned for them.
    assert_eq!(threads_on(&device, KernelKey { lanes: 4, ..key(16) }), Some(8));
    assert_eq!(threads_on(&device, KernelKey { kernel: "eo_clover", ..key(16) }), Some(8));
    // Another access width is better than nothing.
    assert_eq!(threads_on(&device, KernelKey { access: AccessWidth::Word, ..key(16) }), Some(5));
}

#[test]
fn a_stale_or_damaged_file_is_passed_over_with_a_sentence_that_says_how_to_renew_it() {
    let Some(device) = invented_device("Invented 1") else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("choices.toml");
    let source = TuningSource::File(path.clone());
    save(&path, &device, &report(key(8), 3)).unwrap();
    let sound = std::fs::read_to_string(&path).unwrap();
    let passed_over = |device: &DeviceInfo, parts: &[&str]| {
        let tuned = Tuned::load(&source, device);
        assert_eq!((threads_of(&tuned, device, &key(8)), tuned.access()), (Some(8), None));
        let [sentence] = tuned.warnings() else { panic!("{:?}", tuned.warnings()) };
        for part in [parts, &["choices.toml", "`lanefield tune --device 'Invented 1'`"]].concat() {
            assert!(sentence.contains(part), "no {part} in {sentence}");
        }
        assert!(!sentence.contains('\n'), "{sentence}");
    };
    let other_driver = DeviceInfo { driver_version: "2.0".to_owned(), ..device.clone() };
    passed_over(&other_driver, &["the driver was 1.0 and is 2.0"]);
    let version = format!("lanefield = \"{}\"", env!("CARGO_PKG_VERSION"));
    std::fs::write(&path, sound.replace(&version, "lanefield = \"0.0.1\"")).unwrap();
    passed_over(&device, &["lanefield was 0.0.1"]);
    for (damaged, fault) in [
        (&sound[..sound.len() / 2], "is damaged"),
        ("\u{0}\u{1}", "is damaged (line 1"),
        (&sound.replace("accelerator-threads = 3", "accelerator-threads = 0"), "accelerator-threads"),
        (&sound.replace("accelerator-threads", "acelerator-threads"), "acelerator-threads"),
    ] {
        std::fs::write(&path, damaged).unwrap();
        passed_over(&device, &[fault]);
    }
    // The next results replace it.
    save(&path, &device, &report(key(8), 4)).unwrap();
    assert_eq!(threads_of(&Tuned::load(&source, &device), &device, &key(8)), Some(4));
}

#[test]
fn writers_at_the_same_time_keep_each_others_results() {
    let Some(device) = invented_device("Invented 1") else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("below/choices.toml");
    std::thread::scope(|scope| {
        for class in 1..=8 {
            let (path, device) = (&path, &device);
            scope.spawn(move || {
                for _ in 0..5 {
                    save(path, device, &report(key(class), 10 + class as usize)).unwrap();
                }
            });
        }
    });
    let tuned = Tuned::load(&TuningSource::File(path.clone()), &device);
    assert_eq!(tuned.warnings(), &[] as &[String]);
    for class in 1..=8 {
        assert_eq!(threads_of(&tuned, &device, &key(class)), Some(10 + class as usize));
    }
    assert_eq!(TuningFile::parse(&std::fs::read_to_string(&path).unwrap()).unwrap().kernel.len(), 8);
    let files = std::fs::read_dir(path.parent().unwrap()).unwrap();
    assert_eq!(files.count(), 2, "the file and its lock, and nothing else");
}

#[test]
fn a_missing_directory_has_no_choices_and_no_warnings() {
    let Some(device) = invented_device("Invented 1") else { return };
    let nowhere = TuningSource::Directory(Path::new("/not/there").to_owned());
    let tuned = Tuned::load(&nowhere, &device);
    assert_eq!((threads_of(&tuned, &device, &key(8)), tuned.warnings()), (Some(8), &[][..]));
    assert_eq!(TuningSource::Off.file(&device), None);
    let cache = Cache::at("/not/there");
    // Whatever the environment of the tests says, the cache's directory is the last resort.
    if std::env::var_os("LANEFIELD_TUNING").is_none() {
        assert_eq!(TuningSource::from_environment(&cache), nowhere);
    }
}

#[test]
fn what_was_set_by_hand_comes_before_what_was_tuned() {
    let Some(device) = common::opencl_device() else { return };
    let mut opened = OpenCl::open(&device).unwrap();
    let tuned = Tuning { grid_stride: Some(GridStride::On(Some(2))), ..threads(2) };
    opened.set_tuned(Tuned::fixed(tuned));
    let choice = opened.choice(&key(8));
    assert_eq!((number_of(&choice), choice.grid_stride), (Some(2), Some(GridStride::On(Some(2)))));
    assert!(choice.stores.is_some(), "what is open is a default of the crate");
    // The same bits, whatever decides.
    let cpu = Cpu::new(None).unwrap();
    let expected = hop(&cpu);
    assert_eq!(hop(&opened), expected);
    opened.set_tuning(threads(3));
    assert_eq!(hop(&opened), expected);
}

fn hop<B: Backend>(backend: &B) -> Vec<u32> {
    let extents = Extents::new([4, 4, 4, 8]).unwrap();
    let lattice = Lattice::new(extents, <f32 as Real>::COMPLEX, LatticeOptions::default()).unwrap();
    let configuration = Configuration::hot(extents, 3);
    let hop =
        HopOperator::<B, f32>::new(backend, &configuration, lattice, HopParameters::default(), &[Sites::Full]).unwrap();
    let source = TestData::new(2).field::<f32, _>(lattice, Sites::Full, Spinors::ONE, Numbers::Ordinary, 0).unwrap();
    let source = backend.upload(source).unwrap();
    let mut out = backend.zeros(lattice, Sites::Full, Spinors::ONE).unwrap();
    hop.apply(&mut out, &source, Dagger::No).unwrap();
    backend.download(&out).unwrap().reals().iter().map(|real| real.to_bits()).collect()
}

#[test]
#[ignore = "test-all: searches on a device"]
fn a_device_is_tuned_with_the_bits_of_the_reference_and_left_as_it_was() {
    let Some(device) = common::opencl_device() else { return };
    let mut opened = OpenCl::open(&device).unwrap();
    let (layout, before) = (opened.layout(), opened.choice(&key(8)));
    let kernels: Vec<_> = kernel::all().collect();
    let extents = Some(Extents::new([4, 4, 4, 4]).unwrap());
    let place = (device.kind, LaneChoice::Auto);
    let subjects = subjects(&kernels, &[Precision::F32], &[LinkFormat::TwoRows], extents, place).unwrap();
    let number = subjects.len();
    let tuned = kernels.iter().filter(|kernel| kernel.tuned_as == Some(kernel.name) && kernel.takes(Precision::F32));
    assert!(number > 5 && number == tuned.count(), "{subjects:?}");
    // Time for the first kernel's default and little more: the others are left out, and named.
    let options = TuneOptions {
        subjects,
        access: vec![layout.access],
        site_orders: vec![SiteOrder::Lexicographic, SiteOrder::Subdomains([2, 2, 2, 1])],
        budget: Duration::from_secs(4),
    };
    let report = tune(&mut opened, &Cpu::new(None).unwrap(), &options, &mut |_, _| (), |_| true);
    assert!(report.same_bits(), "{:?}", report.failures);
    assert_eq!(report.kernels[0].kernel, "hop f32 reconstruct 12");
    assert!(report.kernels[0].searched.candidates.iter().any(|one| one.verdict == Verdict::Chosen));
    let mut tuned: Vec<&str> = report.kernels.iter().map(|kernel| kernel.kernel.as_str()).collect();
    tuned.dedup();
    let tuned = tuned.len();
    assert!(tuned + report.left_out.iter().filter(|said| said.ends_with("not tuned")).count() == number, "{report:?}");
    assert_eq!((opened.layout(), opened.choice(&key(8))), (layout, before));
    assert_eq!(layout.site_order, SiteOrder::Lexicographic);
}
