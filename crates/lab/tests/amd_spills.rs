//! Kernels compiled for AMD's GPUs, of which none need be there: none may start to spill, to memory or to accumulation registers, or to keep arrays in
//! private memory. What does so today is in `tests/data/amd_code.toml`. Needs clang 15, whose numbers those are.

use std::collections::{BTreeMap, BTreeSet};

use lanefield::backend::opencl::{Accumulators, OfflineDevice};
use lanefield::kernel::{self, Geometry};
use lanefield::prelude::*;
use lanefield_lab::code::{Clang, Subject, Surveyed, survey};
use lanefield_lab::model::Demand;
use lanefield_lab::occupancy::occupancy;
use serde::{Deserialize, Serialize};

use crate::found_or_skipped;

const ARCHITECTURES: [&str; 3] = ["gfx908", "gfx90a", "gfx942"];
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/amd_code.toml");
const HEAD: &str = "# Kernels that leave the registers of AMD's GPUs, as Debian's clang 15 compiles them on 16.16.16.32: registers spilled to memory,\n\
                    # accumulation registers taken for others, and bytes of private memory of a work-item. `LANEFIELD_UPDATE_DATA=1 cargo test -p lanefield-lab amd_spills` writes this file.\n\n";

/// clang 15; `None` where there is none and that is allowed.
fn clang() -> Option<Clang> {
    let found = Clang::find().map_err(|error| error.to_string()).and_then(|clang| {
        let wrong = format!("{} is not clang 15, of which the numbers are: name it in LANEFIELD_CLANG", clang.version);
        clang.version.contains("version 15.").then_some(clang).ok_or(wrong)
    });
    found_or_skipped(found)
}

#[derive(Serialize, Deserialize, Default)]
struct Known {
    #[serde(default)]
    kernel: Vec<Spilling>,
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
struct Spilling {
    name: String,
    fields: Precision,
    /// 0: it reads none.
    links: usize,
    gpu: String,
    /// Where a hop is added up: in registers where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accumulators: Option<String>,
    spilled: usize,
    agprs: usize,
    private_bytes: usize,
}

impl Spilling {
    fn of((subject, surveyed): (&Subject, &Surveyed)) -> Self {
        let place = subject.device.tuning.accumulators.filter(|&place| place == Accumulators::LocalMemory);
        Self {
            name: surveyed.compiled.kernel.to_owned(),
            fields: surveyed.compiled.precision,
            links: surveyed.compiled.reconstruct.unwrap_or(0),
            gpu: surveyed.architecture.name.to_owned(),
            accumulators: place.map(|place| place.to_string()),
            spilled: surveyed.compiled.code.spilled_registers.unwrap() + surveyed.compiled.code.spilled_scalar.unwrap(),
            agprs: surveyed.compiled.code.accumulation.unwrap_or(0),
            private_bytes: surveyed.compiled.code.private_bytes.unwrap(),
        }
    }

    fn leaves_registers(&self) -> bool {
        self.numbers() != [0; 3]
    }

    fn numbers(&self) -> [usize; 3] {
        [self.spilled, self.agprs, self.private_bytes]
    }

    fn subject(&self) -> String {
        let place = self.accumulators.as_ref().map_or(String::new(), |place| format!(", accumulators in {place}"));
        format!("{} {} {} {}{place}", self.name, self.fields, self.links, self.gpu)
    }
}

/// Every kernel in every precision with links of 18 reals, and the hop with the other formats too; those that go on from a hop with accumulators in
/// local memory, too.
fn subjects() -> Vec<Subject> {
    let mut subjects = Vec::new();
    for architecture in ARCHITECTURES {
        let device = OfflineDevice::amd(architecture, Extents::new([16, 16, 16, 32]).unwrap());
        for kernel in kernel::all().filter(|kernel| kernel.is_launched()) {
            let links = if kernel.name == "hop" { &LinkFormat::ALL[..] } else { &[LinkFormat::Full] };
            let places = match kernel.geometry {
                Geometry::Stencil { accumulates: true, .. } => &Accumulators::ALL[..],
                _ => &[Accumulators::Registers],
            };
            for &precision in kernel.precisions {
                for (&links, &place) in links.iter().flat_map(|links| places.iter().map(move |place| (links, place))) {
                    let mut device = device.clone();
                    device.tuning.accumulators = Some(place);
                    subjects.push(Subject { kernel, precision, links, device });
                }
            }
        }
    }
    subjects
}

/// What is worse than known, and what is better.
fn compare(known: &[Spilling], found: &[Spilling]) -> (Vec<String>, Vec<String>) {
    let of = |list: &[Spilling]| -> BTreeMap<String, [usize; 3]> {
        list.iter().map(|entry| (entry.subject(), entry.numbers())).collect()
    };
    let (known, found) = (of(known), of(found));
    let (mut worse, mut better) = (Vec::new(), Vec::new());
    for subject in known.keys().chain(found.keys()).collect::<BTreeSet<_>>() {
        let [before, now] = [&known, &found].map(|all| all.get(subject).copied().unwrap_or_default());
        let line = format!("{subject}: {now:?} (spilled, AGPRs, bytes of private memory), and {before:?} before");
        if now.iter().zip(before).any(|(&now, before)| now > before) {
            worse.push(line);
        } else if now != before {
            better.push(line);
        }
    }
    (worse, better)
}

#[test]
#[ignore = "test-all: compiles every kernel"]
fn no_kernel_leaves_the_registers_of_amd_gpus_more_than_is_known() {
    let Some(clang) = clang() else { return };
    let subjects = subjects();
    let surveyed = survey(&clang, &subjects, &|_| true).unwrap();
    check_against_llvm(&surveyed);
    let found: Vec<Spilling> =
        subjects.iter().zip(&surveyed).map(Spilling::of).filter(Spilling::leaves_registers).collect();
    if std::env::var("LANEFIELD_UPDATE_DATA").is_ok_and(|value| value == "1") {
        let text = toml::to_string(&Known { kernel: found }).unwrap();
        return std::fs::write(DATA, format!("{HEAD}{text}")).unwrap();
    }
    let known: Known = toml::from_str(&std::fs::read_to_string(DATA).unwrap()).unwrap();
    let (worse, better) = compare(&known.kernel, &found);
    assert!(worse.is_empty(), "kernels that leave the registers more than before:\n{}", worse.join("\n"));
    let write = "LANEFIELD_UPDATE_DATA=1 cargo test -p lanefield-lab amd_spills";
    assert!(better.is_empty(), "better than tests/data/amd_code.toml says; {write} renews it:\n{}", better.join("\n"));
}

/// LLVM writes behind each kernel how many waves of a SIMD its registers allow: our rules say the same.
fn check_against_llvm(surveyed: &[Surveyed]) {
    let mut compared = 0;
    for Surveyed { architecture, compiled: kernel, .. } in surveyed {
        if kernel.code.local_bytes != Some(0) {
            continue;
        }
        let demand = Demand { group: architecture.wave, local: 0, ..kernel.code.demand(1, 0).unwrap() };
        let waves = occupancy(architecture, &demand).unwrap().waves / architecture.partitions;
        let name = format!("{} {} on {}", kernel.kernel, kernel.precision, architecture.name);
        // Scalar registers are allotted 16 at a time (AMD's ISA documents), and LLVM counts them singly: with more than 80 it may allow a wave more.
        let by_compiler = kernel.code.waves_by_compiler;
        let by_scalars = demand.scalar > 80 && by_compiler == Some(waves + 1);
        assert!(Some(waves) == by_compiler || by_scalars, "{name}: {demand:?}: {waves}, and {by_compiler:?} by LLVM");
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn a_kernel_that_starts_to_spill_is_found() {
    let entry = |name: &str, spilled, private_bytes| Spilling {
        name: name.to_owned(),
        fields: Precision::F64,
        links: 18,
        gpu: "gfx90a".to_owned(),
        accumulators: None,
        spilled,
        agprs: 0,
        private_bytes,
    };
    let known = [entry("hop", 10, 40), entry("gone", 1, 4)];
    let (worse, better) = compare(&known, &[entry("hop", 11, 40), entry("new", 0, 8)]);
    assert_eq!((worse.len(), better.len()), (2, 1));
    assert!(worse[0].starts_with("hop f64 18 gfx90a: [11, 0, 40]") && worse[1].starts_with("new"), "{worse:?}");
    assert_eq!(compare(&known, &known), (vec![], vec![]));
}

/// A kernel that holds `values` sums at a time and may take so many registers.
fn planted(values: usize, registers: usize) -> String {
    format!(
        "__kernel __attribute__((amdgpu_num_vgpr({registers}))) void planted(__global float* x) {{
            float sums[{values}];
            _Pragma(\"unroll\") for (int k = 0; k < {values}; ++k) sums[k] = x[k + get_global_id(0)];
            _Pragma(\"unroll\") for (int k = 0; k < {values}; ++k)
                x[k + get_global_id(0)] = fma(sums[k], sums[{values} - 1 - k], sums[(k + 7) % {values}]);
        }}"
    )
}

#[test]
fn a_planted_kernel_with_too_few_registers_spills() {
    let Some(clang) = clang() else { return };
    let facts = |values, registers| {
        let source = planted(values, registers);
        clang.compile("planted.cl", &source, "-cl-std=CL1.2", "gfx90a", "planted").unwrap()
    };
    let spilling = facts(64, 24);
    assert!(spilling.spilled_registers.unwrap() > 0 && spilling.private_bytes.unwrap() > 0, "{spilling:?}");
    let counts = spilling.counts.unwrap();
    assert!(counts.private_stores > 0 && counts.private_loads > 0, "{counts:?}");
    let fitting = facts(8, 64);
    assert_eq!((fitting.spilled_registers, fitting.private_bytes), (Some(0), Some(0)));
    let counts = fitting.counts.unwrap();
    assert_eq!((counts.private_stores, counts.calls, counts.fma_f32 + 2 * counts.fma_f32_packed), (0, 0, 8));
}

#[test]
fn a_call_that_is_left_is_an_error_that_names_it() {
    let Some(clang) = clang() else { return };
    let source = "__kernel void wave(__global float* x) { x[0] = sin(x[1]); }";
    let error = clang.compile("wave.cl", source, "-cl-std=CL1.2", "gfx90a", "wave").unwrap_err().to_string();
    assert!(error.contains("kernel wave: 1 calls are left") && error.contains("_Z3sinf"), "{error}");
    let error = clang.compile("wave.cl", source, "-cl-std=CL1.2", "gfx90a", "tide").unwrap_err().to_string();
    assert!(error.contains("no kernel tide"), "{error}");
    let error = clang.compile("wave.cl", source, "-cl-std=CL1.2", "gfx000", "wave").unwrap_err().to_string();
    assert!(error.contains("does not compile for gfx000"), "{error}");
    let error = clang.compile("bad.cl", "kernel void bad( {", "", "gfx90a", "bad").unwrap_err().to_string();
    assert!(error.starts_with("failed to compile bad.cl for gfx90a"), "{error}");
}
