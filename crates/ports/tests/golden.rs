//! Golden data: the same bytes from every backend and layout, and the comparison of a port's results with them.

use std::fs;
use std::path::Path;

use lanefield::dynamic::AnyBackend;
use lanefield::io::directory::DirectoryError;
use lanefield::kernel::{self, Kernel, KernelList};
use lanefield::prelude::*;
use lanefield::reference::layout::{LaneWidth, LegOrder};
use lanefield_ports::Content;
use lanefield_ports::compare::Axes;
use lanefield_ports::golden::{CheckOptions, Exported, GoldenError, GoldenOptions, Manifest, check, export};
use tempfile::TempDir;

use super::common::opencl_device;

pub fn options(kernels: &[&str], extents: [usize; 4], lanes: usize) -> GoldenOptions {
    let named = |word: &&str| -> Vec<&'static Kernel> { KernelList::LIBRARY.named(word).unwrap() };
    GoldenOptions {
        kernels: kernels.iter().flat_map(named).collect(),
        extents: Extents::new(extents).unwrap(),
        seed: 3,
        precisions: Precision::ALL.to_vec(),
        boundary: "1,-1,0,-1".parse().unwrap(),
        legs: LegOrder::DEFAULT,
        lanes: LaneChoice::Width(LaneWidth::new(lanes).unwrap()),
    }
}

pub fn on_cpu(directory: &Path, options: &GoldenOptions) -> Exported {
    let cpu = AnyBackend::from(Cpu::new(None).unwrap());
    cpu.install(|| export(&cpu, options, directory, false, &|_| true)).unwrap()
}

/// A small set, and an empty directory beside it.
fn small() -> (TempDir, std::path::PathBuf, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let [golden, other] = ["golden", "other"].map(|name| folder.path().join(name));
    on_cpu(&golden, &options(&["scale", "norm2", "hop"], [2, 2, 2, 4], 16));
    fs::create_dir(&other).unwrap();
    (folder, golden, other)
}

fn copy(from: &Path, to: &Path, file: &str) {
    fs::create_dir_all(to.join(file).parent().unwrap()).unwrap();
    fs::copy(from.join(file), to.join(file)).unwrap();
}

const HOP: &str = "cases/hop/f32-r18-even/out.npy";
const NORM2: &str = "cases/norm2/f64-full/sums.npy";

/// Every file of both, by the hashes of one and the bytes of the manifests.
fn assert_same_bytes(a: &Path, b: &Path) {
    let [manifest, other] = [a, b].map(|directory| fs::read(directory.join("manifest.json")).unwrap());
    assert!(manifest == other, "the manifests of {} and {} differ", a.display(), b.display());
    let manifest = Manifest::read(a).unwrap();
    manifest.verify(a).unwrap();
    manifest.verify(b).unwrap();
}

#[test]
fn every_kernel_gives_the_same_bytes_in_lanes_of_16_and_of_128() {
    let folder = tempfile::tempdir().unwrap();
    let [narrow, wide] = [16, 128].map(|lanes| {
        let directory = folder.path().join(lanes.to_string());
        let exported = on_cpu(&directory, &options(&["all"], [4, 4, 4, 4], lanes));
        (directory, exported)
    });
    assert_eq!(narrow.1, wide.1);
    assert_same_bytes(&narrow.0, &wide.0);
    let manifest = Manifest::read(&narrow.0).unwrap();
    let launched = kernel::all().filter(|kernel| kernel.is_launched());
    let missing: Vec<&str> = launched
        .map(|kernel| kernel.name)
        .filter(|name| !manifest.cases.iter().any(|case| case.kernel == *name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
#[ignore = "test-all: builds kernels"]
fn a_device_writes_the_bytes_of_the_cpu() {
    let Some(device) = opencl_device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [cpu, opencl] = ["cpu", "opencl"].map(|name| folder.path().join(name));
    // A program each, that is long to build: a few kernels in one precision.
    let mut options = options(&["hop", "axpy_norm", "clover_term", "take_rhs"], [4, 2, 2, 4], 16);
    options.precisions = vec![Precision::F32];
    on_cpu(&cpu, &options);
    let device = OpenCl::open(&device).unwrap();
    export(&device.into(), &options, &opencl, false, &|_| true).unwrap();
    assert_same_bytes(&cpu, &opencl);
}

#[test]
fn golden_data_are_the_same_as_themselves() {
    let (_folder, golden, _) = small();
    let checked = check(&golden, &golden, CheckOptions::default()).unwrap();
    assert!(checked.is_same());
    assert_eq!((checked.differ(), checked.missing()), (0, 0));
    assert!(checked.groups.iter().all(|group| group.compared > 0));
}

#[test]
fn one_flipped_bit_is_found_and_named() {
    let (_folder, golden, other) = small();
    copy(&golden, &other, NORM2);
    copy(&golden, &other, HOP);
    let mut bytes = fs::read(other.join(HOP)).unwrap();
    // The last bit of the imaginary part of the first element of the second site of the row: an odd one, and so a zero.
    let place = 128 + 12 * 8 + 4;
    assert_eq!(bytes[place..place + 4], [0; 4]);
    bytes[place] ^= 1;
    fs::write(other.join(HOP), bytes).unwrap();
    let checked = check(&golden, &other, CheckOptions::default()).unwrap();
    assert_eq!((checked.compared(), checked.differ()), (2, 1));
    let first = checked.first.unwrap();
    let comparison = first.comparison.unwrap();
    let number = comparison.first.unwrap();
    assert_eq!((first.file.as_str(), number.site, number.part), (HOP, Some([1, 0, 0, 0]), Some("im")));
    assert_eq!((number.b_bits.as_str(), number.ulp), ("0000000000000001", Some(1)));
    assert_eq!(comparison.causes[0].kind, "flipped_bit");
    assert!(check(&golden, &other, CheckOptions { ulps: 1, ..CheckOptions::default() }).unwrap().is_same());
}

#[test]
fn a_file_that_is_missing_is_named_and_is_no_difference() {
    let (_folder, golden, other) = small();
    copy(&golden, &other, HOP);
    let checked = check(&golden, &other, CheckOptions::default()).unwrap();
    assert!(checked.is_same());
    let hop = checked.groups.iter().find(|group| group.name == "hop").unwrap();
    assert_eq!(hop.compared, 1);
    assert!(hop.missing.contains(&"cases/hop/f32-r18-odd/out.npy".to_owned()));
    assert!(checked.groups.iter().any(|group| group.name == "stages/hop" && group.compared == 0));
}

/// Writes a result with its first number changed, which is no zero.
fn copy_changed(from: &Path, to: &Path, file: &str) {
    copy(from, to, file);
    let mut bytes = fs::read(to.join(file)).unwrap();
    bytes[128] ^= 1;
    fs::write(to.join(file), bytes).unwrap();
}

#[test]
fn files_that_are_misspelt_are_named_and_every_difference_if_that_is_wanted() {
    let (_folder, golden, other) = small();
    fs::create_dir_all(other.join("cases/hop/f32-18-even")).unwrap();
    fs::copy(golden.join(HOP), other.join("cases/hop/f32-18-even/out.npy")).unwrap();
    fs::write(other.join("port.log"), "no array").unwrap();
    let error = check(&golden, &other, CheckOptions::default()).unwrap_err().to_string();
    assert!(error.ends_with(", and not as cases/hop/f32-18-even/out.npy"), "{error}");
    const LEGS: &str = "stages/hop/legs.f64.npy";
    copy(&golden, &other, "inputs/spinor.f32.3.npy");
    [HOP, NORM2].iter().for_each(|file| copy_changed(&golden, &other, file));
    copy_changed(&golden, &other, LEGS);
    let checked = check(&golden, &other, CheckOptions::default()).unwrap();
    assert_eq!(checked.unknown, ["cases/hop/f32-18-even/out.npy"]);
    assert!(checked.others.is_empty() && checked.differ() == 3);
    let checked = check(&golden, &other, CheckOptions { all: true, ..CheckOptions::default() }).unwrap();
    assert_eq!(checked.first.as_ref().unwrap().file, LEGS);
    assert_eq!(checked.others.iter().map(|other| other.file.as_str()).collect::<Vec<_>>(), [NORM2, HOP]);
    assert!(checked.others.iter().all(|other| !other.comparison.as_ref().unwrap().causes.is_empty()));
    assert!(checked.others[1].what.starts_with("1 of 768 numbers differ, first site x,y,z,t = 0,0,0,0, spin 0"));
    // The axes are those that the manifest says.
    let legs = checked.first.as_ref().unwrap().comparison.as_ref().unwrap();
    assert_eq!((legs.object, legs.first.as_ref().unwrap().at[0].axis), ("spinors of legs", "leg"));
}

#[test]
fn the_manifest_says_what_every_array_holds() {
    let (_folder, golden, _) = small();
    let manifest = Manifest::read(&golden).unwrap();
    for (path, holds) in [
        ("configuration.npy", Content::Links),
        (HOP, Content::Spinor),
        (NORM2, Content::List),
        ("stages/hop/projected.f32.npy", Content::HalfSpinors),
        ("stages/hop/transported_dagger.f64.npy", Content::HalfSpinors),
        ("stages/hop/legs.f64.npy", Content::Legs),
        ("stages/links/doubled.f32-r12.npy", Content::TwoRows),
        ("stages/links/doubled.half-r8.npy", Content::EightReals),
        ("stages/half/spinor.fractions.npy", Content::Spinor),
        ("stages/sums/inner.f64.terms.npy", Content::ComplexNumber),
    ] {
        assert_eq!(manifest.files[path].holds, Some(holds), "{path}");
    }
    for (path, entry) in manifest.files.iter().filter(|(path, _)| path.ends_with(".npy")) {
        let fits = entry.holds.and_then(|holds| Axes::holding(holds, entry.shape.as_ref().unwrap()));
        assert!(fits.is_some(), "{path}");
    }
}

#[test]
fn a_file_of_another_shape_or_none_at_all_differs() {
    let (_folder, golden, other) = small();
    copy(&golden, &other, HOP);
    fs::copy(golden.join(NORM2), other.join(HOP)).unwrap();
    let what = check(&golden, &other, CheckOptions::default()).unwrap().first.unwrap().what;
    assert_eq!(what, "it is <f8 (1,) instead of <c8 (4, 2, 2, 2, 4, 3)");
    fs::write(other.join(HOP), "no array").unwrap();
    let what = check(&golden, &other, CheckOptions::default()).unwrap().first.unwrap().what;
    assert!(what.contains("not a NumPy array"), "{what}");
}

#[test]
fn a_record_may_say_less_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let [golden, other] = ["golden", "other"].map(|name| folder.path().join(name));
    on_cpu(&golden, &GoldenOptions { precisions: vec![Precision::F32], ..options(&["wilson"], [2, 2, 2, 4], 16) });
    const RECORD: &str = "stages/cg/f32/record.jsonl";
    let record = fs::read_to_string(golden.join(RECORD)).unwrap();
    fs::create_dir_all(other.join(RECORD).parent().unwrap()).unwrap();
    let outcome = |text: &str| {
        fs::write(other.join(RECORD), text).unwrap();
        check(&golden, &other, CheckOptions::default()).unwrap().first.map(|first| first.what)
    };
    assert_eq!(outcome(&record), None);
    // Without digests, checks and what is 0.
    let sums = record.lines().filter(|line| !line.contains("sha256"));
    let without = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        for name in ["check", "rhs", "links", "source", "solution"] {
            line.as_object_mut().unwrap().remove(name);
        }
        line.to_string()
    };
    let least: Vec<String> = sums.map(without).collect();
    assert_eq!(outcome(&least.join("\n")), None);
    let (last, rest) = least.split_last().unwrap();
    assert_eq!(outcome(&rest.join("\n")).unwrap().split(':').next().unwrap(), "it ends before {\"end\"");
    let twice = [rest, &[rest[1].clone(), last.clone()]].concat().join("\n");
    assert!(outcome(&twice).unwrap().contains(" instead of {\"end\":"));
    let wrong = record.replacen("\"sha256\":\"", "\"sha256\":\"0", 1);
    assert!(outcome(&wrong).unwrap().starts_with("line 2 says "));
    assert!(outcome(&(record.clone() + last)).unwrap().ends_with("and should not be there"));
}

#[test]
fn damaged_golden_data_are_refused_by_the_file() {
    let (_folder, golden, _) = small();
    let mut bytes = fs::read(golden.join(HOP)).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(golden.join(HOP), bytes).unwrap();
    let error = check(&golden, &golden, CheckOptions::default()).unwrap_err();
    assert!(matches!(&error, GoldenError::Damaged { file, .. } if file == HOP), "{error}");
    fs::remove_file(golden.join(HOP)).unwrap();
    let error = check(&golden, &golden, CheckOptions::default()).unwrap_err();
    assert!(error.to_string().contains("cannot be read"), "{error}");
}

#[test]
fn what_has_nothing_in_common_is_refused() {
    let (folder, golden, other) = small();
    let error = check(&golden, &other, CheckOptions::default()).unwrap_err();
    assert!(matches!(error, GoldenError::NothingInCommon { .. }), "{error}");
    let error = check(&other, &golden, CheckOptions::default()).unwrap_err();
    assert!(matches!(error, GoldenError::NotGolden { .. }), "{error}");
    let error = check(&golden, &folder.path().join("nothing"), CheckOptions::default()).unwrap_err();
    assert!(
        error.to_string().ends_with("nothing is not there: expected the directory with the results of a port"),
        "{error}"
    );
    let error = check(&golden, &golden.join("cases.tsv"), CheckOptions::default()).unwrap_err();
    assert!(error.to_string().contains("cases.tsv is no directory: expected"), "{error}");
    let mut others = options(&["norm2"], [2, 2, 2, 4], 16);
    others.seed = 4;
    let another = folder.path().join("another");
    on_cpu(&another, &others);
    let error = check(&golden, &another, CheckOptions::default()).unwrap_err().to_string();
    assert!(error.ends_with("has another seed, 4 instead of 3: export both with the same"), "{error}");
}

/// Whether a directory was refused since it is not empty; `replaceable`: since it holds golden data.
fn is_not_empty(error: &GoldenError, replaceable: bool) -> bool {
    matches!(error, GoldenError::Directory(DirectoryError::NotEmpty { replaceable: known, .. }) if *known == replaceable)
}

#[test]
fn only_golden_data_are_replaced_and_only_where_that_is_allowed() {
    let (_folder, golden, other) = small();
    let few = options(&["norm2"], [2, 2, 2, 4], 16);
    let cpu = AnyBackend::from(Cpu::new(None).unwrap());
    let again = |directory: &Path, replace| export(&cpu, &few, directory, replace, &|_| true);
    let error = again(&golden, false).unwrap_err();
    assert!(is_not_empty(&error, true), "{error}");
    fs::write(other.join("mine"), "mine").unwrap();
    let error = again(&other, true).unwrap_err();
    assert!(is_not_empty(&error, false), "{error}");
    assert_eq!(fs::read(other.join("mine")).unwrap(), b"mine");
    again(&golden, true).unwrap();
    assert!(!golden.join(HOP).exists() && golden.join(NORM2).exists());
    let left: Vec<_> =
        fs::read_dir(golden.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn an_export_that_is_stopped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let cpu = AnyBackend::from(Cpu::new(None).unwrap());
    let directory = folder.path().join("golden");
    let all = options(&["blas"], [2, 2, 2, 4], 16);
    let error = export(&cpu, &all, &directory, false, &|what| !what.contains("axpy")).unwrap_err();
    assert!(matches!(error, GoldenError::Stopped { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_list_of_cases_says_what_the_manifest_says() {
    let (_folder, golden, _) = small();
    let manifest = Manifest::read(&golden).unwrap();
    let lines = fs::read_to_string(golden.join("cases.tsv")).unwrap();
    assert_eq!(lines.lines().count(), manifest.cases.len());
    let line = lines.lines().find(|line| line.starts_with("case=hop/half-r8-odd\t")).unwrap();
    let expected = "case=hop/half-r8-odd\tkernel=hop\tdefinition=6\tprecision=half\treconstruct=8\tsites=odd\tboundary=1,-1,0,-1\t\
                    legs=-t-y-z+t+y+z-x+x\tin.in=inputs/spinor.half.3.npy\tin.links=stages/links/doubled.half-r8.npy\t\
                    out.out=cases/hop/half-r8-odd/out.npy";
    assert_eq!(line, expected);
    for (case, line) in manifest.cases.iter().zip(lines.lines()) {
        assert!(line.starts_with(&format!("case={}\tkernel={}\t", case.case, case.kernel)), "{line}");
        let paths = line.split('\t').filter_map(|field| field.split_once('=')).flat_map(|(_, value)| value.split(','));
        for path in paths.filter(|path| path.ends_with(".npy")) {
            assert!(manifest.files.contains_key(path), "{path}");
        }
    }
}
