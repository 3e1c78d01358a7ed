//! Every kernel of the list: the same bits on the CPU and in plain loops, and on OpenCL and on the CPU, on awkward lattices, in every precision and link format
//! that it takes; and the list against the kernels of `cl/`, in both directions. `lanefield verify` does the first at random, and at length.

use lanefield::kernel::KernelList;
use lanefield::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;

use lanefield::body::opencl::{Components, Named, kernel_text};
use lanefield::check::CUTS;
use lanefield::in_precision;
use lanefield::kernel::{
    self, Access, Case, CaseOptions, FieldContents, Geometry, HostFunction, Kernel, KernelArgument, KernelSource,
    Links, Numbers, PlainLinks, TestData,
};
use lanefield_reference::layout::{Checkerboard, Direction, LaneWidth, LegOrder, TreePlan};
use lanefield_reference::links::DoubledGauge;

use crate::common::backends::{assert_same_outcome, host, opencl};
use crate::common::fields::lattice_in;

const ALL_SITES: [Sites; 3] = [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)];

/// A lattice, what lies on it, and the backends.
struct Bench<'a> {
    cpu: &'a Cpu,
    device: Option<&'a OpenCl>,
    lattice: Lattice,
    precision: Precision,
    links: Links,
    numbers: Numbers,
    configuration: Configuration,
    boundary: BoundaryPhases,
    /// Whether plain loops run, too. They take longer than all else where programs are built already.
    in_plain_loops: bool,
}

impl<'a> Bench<'a> {
    fn new(
        (cpu, device): (&'a Cpu, Option<&'a OpenCl>),
        (extents, nsimd, nodes): ([usize; 4], usize, Option<[usize; 4]>),
        precision: Precision,
        (links, numbers): (Links, Numbers),
    ) -> Self {
        let extents = Extents::new(extents).unwrap();
        let lanes = LaneChoice::Width(LaneWidth::new(nsimd * precision.scalar().bytes()).unwrap());
        let lattice = lattice_in(extents, precision.scalar(), lanes, nodes);
        let data = TestData::new(extents.volume() as u64);
        let configuration = in_precision!(precision, R => data.configuration::<R>(extents, links).unwrap());
        let boundary = "1,-1,1,-1".parse().unwrap();
        Self { cpu, device, lattice, precision, links, numbers, configuration, boundary, in_plain_loops: true }
    }

    fn options(&self, kernel: &Kernel, sites: Sites, format: LinkFormat, parts: usize) -> CaseOptions<'_> {
        let links = DoubledGauge { format, boundary: self.boundary };
        let reads_links =
            kernel.fields().any(|role| matches!(role.holds, FieldContents::DoubledLinks | FieldContents::Links));
        CaseOptions {
            configuration: reads_links.then_some(&self.configuration),
            numbers: self.numbers,
            data: TestData::new(3),
            ..CaseOptions::new(self.lattice, sites, self.precision, links, parts)
        }
    }

    /// The kernel on all the sites that it takes, of one component and of several, with links in these formats, and in all other ways that its
    /// arguments leave.
    fn check(&self, kernel: &'static Kernel, formats: &[LinkFormat], few: bool) {
        let sites = match self.lattice.checkerboard() {
            _ if kernel.is_full_only() => &ALL_SITES[..1],
            Checkerboard::FullOnly if kernel.is_onto_parity_only() => return,
            Checkerboard::FullOnly => &ALL_SITES[..1],
            Checkerboard::RedBlack if kernel.is_onto_parity_only() => &ALL_SITES[1..],
            Checkerboard::RedBlack => &ALL_SITES,
        };
        let formats = if kernel.reads_links() { formats } else { &[LinkFormat::Full] };
        for (&sites, &format) in sites.iter().flat_map(|sites| formats.iter().map(move |format| (sites, format))) {
            for parts in parts_of(kernel, few) {
                let options = self.options(kernel, sites, format, parts);
                for options in variants(kernel, options, few) {
                    self.check_case(kernel, &options);
                }
            }
        }
    }

    fn check_case(&self, kernel: &'static Kernel, options: &CaseOptions<'_>) {
        let CaseOptions { sites, parts, links, .. } = *options;
        let case = Case::new(kernel, options).unwrap();
        let tree = Sum::Tree(TreePlan::with_warp(32, 4, 8).unwrap());
        for sum in [Sum::Exact, tree].into_iter().take(if kernel.sums() { 2 } else { 1 }) {
            let what = format!(
                "{kernel} in {} from {:?}, {} links, {sites} sites of {} in {} lanes, {parts} components, {} reals, {sum}",
                self.precision,
                options.from,
                self.links,
                self.lattice.extents(),
                self.lattice.nsimd(),
                links.format
            );
            let expected = case.run(self.cpu, sum).unwrap();
            assert!(!expected.fields.is_empty() || !expected.sums.is_empty(), "{what}: nothing to compare");
            let mut found = Vec::new();
            if let Some(device) = self.device {
                let mut held = case.on(device).unwrap();
                let sums = held.launch(&case, device, sum).unwrap_or_else(|error| panic!("{what}: {error}"));
                found.push(("OpenCL", held.outcome(&case, device, sums).unwrap()));
            }
            if self.in_plain_loops {
                let has_twin = !matches!(kernel.plain, HostFunction::None);
                assert!(has_twin, "{kernel} has no twin: name it in #[lane_kernel(twin = function)]");
                let links = PlainLinks { configuration: &self.configuration, boundary: self.boundary };
                found.push(("plain loops", case.in_plain_loops(self.cpu, &links, sum).unwrap()));
            }
            for (backend, found) in found {
                assert_same_outcome(&found, &expected, &format!("{what}: {backend}"));
            }
        }
    }
}

/// One component a site, and several, as far as the kernel takes them; with right-hand sides, and along s, whole ones. `few`: once where it takes
/// both.
fn parts_of(kernel: &Kernel, few: bool) -> Vec<usize> {
    match kernel.geometry {
        Geometry::AlongS => vec![4],
        _ if kernel.is_of_right_hand_sides() => vec![6],
        _ => {
            let mut all: Vec<usize> = [3, 1].into_iter().filter(|&parts| kernel.takes_parts(parts)).collect();
            all.truncate(if few && !kernel.reads_links() { 1 } else { 2 });
            all
        }
    }
}

/// The ways that the arguments of a kernel leave.
fn variants<'a>(kernel: &Kernel, base: CaseOptions<'a>, few: bool) -> Vec<CaseOptions<'a>> {
    let has = |wanted: fn(&KernelArgument) -> bool| kernel.arguments.iter().any(wanted);
    let mut all = vec![base];
    if kernel.is_of_right_hand_sides() {
        all = vec![CaseOptions { rhs_parts: 2, ..base }];
    }
    if has(|argument| matches!(argument, KernelArgument::Matrix(_))) {
        let of_ls = |ls| [false, true].map(|matrix_dagger| CaseOptions { ls: Some(ls), matrix_dagger, ..base });
        all = [1, 2, 4].into_iter().flat_map(of_ls).collect();
    }
    if has(|argument| matches!(argument, KernelArgument::Fields(..))) {
        all = [1, 3].map(|listed| CaseOptions { listed, ..base }).to_vec();
    }
    if has(|argument| matches!(argument, KernelArgument::Slices)) {
        let directions = if few { vec![Direction::X, Direction::T] } else { Direction::ALL.to_vec() };
        all = directions.into_iter().map(|direction| CaseOptions { direction, ..base }).collect();
    }
    if kernel.fields().any(|role| role.holds == FieldContents::Converted) {
        let from = Precision::ALL.into_iter().filter(|from| base.lattice.in_scalar(from.scalar()).is_ok());
        all = from.map(|from| CaseOptions { from: Some(from), ..base }).collect();
    }
    if has(|argument| matches!(argument, KernelArgument::Stencil)) && !few {
        all.push(CaseOptions { legs: "+x-x+t-z-t+z+y-y".parse::<LegOrder>().unwrap(), ..base });
    }
    all
}

fn launched(precision: Precision) -> impl Iterator<Item = &'static Kernel> {
    kernel::all().filter(move |kernel| kernel.is_launched() && kernel.takes(precision))
}

/// Extents, and lanes that only just divide them.
const AWKWARD: [([usize; 4], usize); 5] =
    [([2, 2, 2, 2], 1), ([6, 4, 2, 10], 2), ([3, 5, 1, 7], 1), ([2, 6, 4, 4], 4), ([4, 4, 4, 8], 8)];

/// On each lattice in these link formats; `few`: in few of the other ways that arguments leave.
fn on_the_cpu(formats: impl Fn(usize) -> &'static [LinkFormat], few: bool) {
    let cpu = host();
    for (number, precision) in Precision::ALL.into_iter().enumerate() {
        for (place, numbers) in (number..).zip(AWKWARD).zip(Numbers::ALL.into_iter().cycle()) {
            let (turn, (extents, nsimd)) = place;
            let bench = Bench::new((&cpu, None), (extents, nsimd, None), precision, (Links::Hot, numbers));
            for kernel in launched(precision) {
                bench.check(kernel, formats(turn), few);
            }
        }
    }
}

#[test]
fn every_kernel_on_the_cpu_has_the_bits_of_plain_loops() {
    on_the_cpu(|turn| &LinkFormat::ALL[turn % 3..][..1], true);
}

#[test]
#[ignore = "test-all: all link formats, orders of legs and directions on each lattice"]
fn every_kernel_on_the_cpu_has_the_bits_of_plain_loops_in_every_way() {
    on_the_cpu(|_| &LinkFormat::ALL, false);
}

/// Two lanes of one cut: one build for each kernel, precision and link format. The last lattice takes several groups.
const ON_OPENCL: [([usize; 4], Numbers); 3] =
    [([2, 2, 2, 4], Numbers::Wide), ([6, 2, 10, 4], Numbers::Special), ([8, 4, 6, 8], Numbers::Ordinary)];

/// Each format takes another build of a stencil kernel: f32 takes all of them, and what takes longest to build one in each precision.
fn formats(kernel: &Kernel, precision: Precision) -> &'static [LinkFormat] {
    match (kernel.geometry, precision) {
        (Geometry::Stencil { accumulates: true, .. }, Precision::F32) => &[LinkFormat::Full],
        (Geometry::Stencil { .. }, Precision::F64) => &[LinkFormat::TwoRows],
        (Geometry::Stencil { .. }, Precision::Half) => &[LinkFormat::Eight],
        _ => &LinkFormat::ALL,
    }
}

/// The kernels that `formats` names some of in this precision.
fn on_opencl(precision: Precision, formats: impl Fn(usize, &'static Kernel) -> &'static [LinkFormat]) {
    let (Some(device), cpu) = (opencl(), host()) else { return };
    for (extents, numbers) in ON_OPENCL {
        let nodes = CUTS[0];
        let place = (extents, nodes.iter().product(), Some(nodes));
        let mut bench = Bench::new((&cpu, Some(&device)), place, precision, (Links::Hot, numbers));
        // The CPU's kernels are held against them above, on lattices of as many shapes.
        bench.in_plain_loops = false;
        for (number, kernel) in kernel::all().filter(|kernel| kernel.is_launched()).enumerate() {
            let formats = formats(number, kernel);
            if kernel.takes(precision) && !formats.is_empty() {
                bench.check(kernel, formats, true);
            }
        }
    }
}

/// Each kernel in one precision and one link format, which take turns: one build.
#[test]
fn every_kernel_on_opencl_has_the_bits_of_the_reference() {
    for precision in Precision::ALL {
        on_opencl(precision, |number, kernel| {
            let format = number / Precision::ALL.len() % LinkFormat::ALL.len();
            match kernel.precisions[number % kernel.precisions.len()] == precision {
                true => &LinkFormat::ALL[format..=format],
                false => &[],
            }
        });
    }
}

fn every_kernel_on_opencl_in(precision: Precision) {
    on_opencl(precision, |_, kernel| formats(kernel, precision));
}

#[test]
#[ignore = "test-all: all link formats"]
fn every_kernel_in_f32_on_opencl_has_the_bits_of_the_reference() {
    every_kernel_on_opencl_in(Precision::F32);
}

#[test]
#[ignore = "test-all: all kernels in f64"]
fn every_kernel_in_f64_on_opencl_has_the_bits_of_the_reference() {
    every_kernel_on_opencl_in(Precision::F64);
}

#[test]
#[ignore = "test-all: all kernels in half precision"]
fn every_kernel_in_half_precision_on_opencl_has_the_bits_of_the_reference() {
    every_kernel_on_opencl_in(Precision::Half);
}

/// Lattices of every lane width, where virtual nodes have one or two sites in a direction; links and numbers that are hard.
const LANES: [([usize; 4], usize, Links, Numbers); 5] = [
    ([3, 5, 1, 7], 1, Links::Arbitrary(Numbers::Special), Numbers::Ordinary),
    ([2, 6, 4, 4], 4, Links::Arbitrary(Numbers::Wide), Numbers::Special),
    ([4, 4, 4, 6], 8, Links::Hot, Numbers::Tiny),
    ([4, 4, 8, 8], 16, Links::Arbitrary(Numbers::Ordinary), Numbers::Wide),
    ([3, 2, 4, 4], 32, Links::Hot, Numbers::Special),
];

/// Kernels are built for the lanes: one with neighbours of each family in every width, the others in two lanes (above).
#[test]
#[ignore = "test-all: builds for five lane widths"]
fn hops_on_opencl_have_the_bits_of_the_reference_in_every_lane_width() {
    let (Some(device), cpu) = (opencl(), host()) else { return };
    for ((extents, nsimd, links, numbers), turn) in LANES.into_iter().zip(0..) {
        let precision = if nsimd == 32 || turn % 2 == 0 { Precision::F32 } else { Precision::F64 };
        let bench = Bench::new((&cpu, Some(&device)), (extents, nsimd, None), precision, (links, numbers));
        let format = links.formats()[turn % links.formats().len()];
        let is_one_of_each = |name: &str| {
            name == "hop"
                || name.ends_with("_hop")
                || ["eo_clover", "eo_twisted_mass", "field_strength"].contains(&name)
        };
        for kernel in launched(precision).filter(|kernel| is_one_of_each(kernel.name)) {
            bench.check(kernel, &[format], true);
        }
    }
}

// The list and the files of `cl/`

/// A parameter of an OpenCL C kernel.
#[derive(Clone, PartialEq, Debug)]
struct Parameter {
    /// Its type, without `restrict`.
    kind: String,
    name: String,
}

/// What macros of parameters stand for; local memory, which is there or not, is left out.
const MACROS: [(&str, &str); 3] = [
    (
        "HOP_ARGUMENTS",
        "__global const stored* links, __global const stored* in, __global const uint* neighbours, __global const uint* lane_steps, uint osites, \
         uint boundary",
    ),
    ("REDUCTION_ARGUMENTS", ""),
    ("ACCUMULATORS_ARGUMENT", ""),
];

/// The kernels that are declared in a source.
fn declared(source: &str) -> Vec<(String, Vec<Parameter>)> {
    let lines =
        source.lines().map(|line| line.split("//").next().unwrap_or_default()).filter(|line| !line.starts_with('#'));
    let mut text = lines.collect::<Vec<_>>().join(" ");
    for (name, stands_for) in MACROS {
        text = text.replace(name, stands_for);
    }
    let mut kernels = Vec::new();
    let mut rest = &text[..];
    while let Some(at) = rest.find("kernel void ").or_else(|| rest.find("KERNEL void ")).map(|_| {
        let ends = ["kernel void ", "KERNEL void "].map(|word| rest.find(word).map(|at| at + word.len()));
        ends.into_iter().flatten().min().unwrap_or_default()
    }) {
        let (name, after) = rest[at..].split_once('(').unwrap();
        let (list, after) = after.split_once(')').unwrap();
        let parameters = list.split(',').map(str::trim).filter(|text| !text.is_empty()).map(parameter).collect();
        kernels.push((name.trim().to_owned(), parameters));
        rest = after;
    }
    kernels
}

fn parameter(text: &str) -> Parameter {
    let text = text.replace("restrict", "").replace('*', " * ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let (name, kind) = words.split_last().unwrap();
    Parameter { kind: kind.join(" "), name: (*name).to_owned() }
}

/// The parameters that an argument of a specification stands for: types, and the name where the role gives it.
fn parameters_of(argument: &KernelArgument, is_of_body: bool) -> Vec<(&'static str, Option<&'static str>)> {
    const READ: &str = "__global const stored *";
    const WRITTEN: &str = "__global stored *";
    const TABLE: &str = "__global const uint *";
    match *argument {
        KernelArgument::Field(role) if role.holds == FieldContents::Converted => {
            vec![("__global const source_word *", Some(role.name))]
        }
        KernelArgument::Field(role) if role.access == Access::Read => vec![(READ, Some(role.name))],
        KernelArgument::Field(role) if role.access == Access::Write => vec![(WRITTEN, Some(role.name))],
        // What is read and written at once may come as two parameters, of which the first is called `out`.
        KernelArgument::Field(_) => vec![(WRITTEN, None)],
        KernelArgument::Fields(_, most) => vec![(READ, None); most],
        KernelArgument::Stencil => vec![(TABLE, Some("neighbours")), (TABLE, Some("lane_steps"))],
        KernelArgument::OfNeighbours => vec![(TABLE, Some("of_neighbours"))],
        KernelArgument::Matrix(_) => vec![("__global const real *", Some("matrix"))],
        KernelArgument::Computed(_) => vec![(TABLE, None)],
        KernelArgument::Scalar(name) => vec![("real", Some(name))],
        // What is written from a body has the name of the number in both.
        KernelArgument::Complex(name) if is_of_body => {
            ["re", "im"].map(|part| ("real", Some(&*format!("{name}_{part}").leak()))).to_vec()
        }
        KernelArgument::Complex(_) => vec![("real", Some("re")), ("real", Some("im"))],
        KernelArgument::Double(name) => vec![("f64", Some(name))],
        KernelArgument::Scalars(_) => vec![("__global const real *", None)],
        KernelArgument::Coefficients { name, .. } => vec![("__global const real *", Some(name))],
        KernelArgument::Indices { name, .. } => vec![(TABLE, Some(name))],
        KernelArgument::Slices => [vec![(TABLE, None); 2], vec![("uint", None); 3]].concat(),
        KernelArgument::Osites | KernelArgument::Elements => vec![("uint", Some("osites"))],
        KernelArgument::Boundary => vec![("uint", Some("boundary"))],
        KernelArgument::RhsParts => vec![("uint", Some("rhs_parts"))],
        KernelArgument::Ls => vec![("uint", Some("ls"))],
        KernelArgument::Dagger => vec![("uint", Some("dagger"))],
        KernelArgument::LaunchedParts => vec![("uint", Some("first")), ("uint", Some("count"))],
        KernelArgument::PartWords | KernelArgument::Words => vec![("uint", Some("words"))],
        KernelArgument::Parts
        | KernelArgument::PartsOf(_)
        | KernelArgument::Fermions(_)
        | KernelArgument::Constant(_) => vec![("uint", None)],
        KernelArgument::Stage | KernelArgument::SharedLinks | KernelArgument::Accumulators => Vec::new(),
    }
}

/// The kernels of each family as its file declares them, or what is written from its bodies.
fn families() -> BTreeMap<String, Vec<(String, Vec<Parameter>)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cl");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let sources = files.filter(|path| path.extension().is_some_and(|suffix| suffix == "cl"));
    let family = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let in_files = sources.map(|path| (family(&path), declared(&std::fs::read_to_string(&path).unwrap())));
    let mut all: BTreeMap<_, Vec<_>> = in_files.collect();
    for kernel in kernel::all() {
        if let KernelSource::Body(body) = kernel.source {
            let program = body.program(kernel.name, LegOrder::DEFAULT).unwrap_or_else(|error| panic!("{error}"));
            let text = kernel_text(
                Named { name: kernel.name, computes: kernel.computes, body },
                &program,
                Components::AtOnce(2),
            )
            .unwrap();
            all.entry(kernel.family.to_owned()).or_default().extend(declared(&text));
        }
    }
    all
}

#[test]
fn every_kernel_of_the_list_is_in_the_file_of_its_family() {
    let families = families();
    for kernel in kernel::all() {
        let file = families.get(kernel.family).unwrap_or_else(|| panic!("{kernel}: cl/{} is not there", kernel.file()));
        assert!(file.iter().any(|(name, _)| name == kernel.name), "{kernel} is not in cl/{}", kernel.file());
    }
}

#[test]
fn every_kernel_of_a_file_is_in_the_list() {
    for (family, declared) in families() {
        assert!(!declared.is_empty(), "cl/{family}.cl has no kernels");
        for (name, _) in declared {
            let known = kernel::all().any(|kernel| kernel.family == family && kernel.name == name);
            assert!(known, "{name} of cl/{family}.cl is in no list");
        }
    }
}

#[test]
fn names_in_the_list_are_each_of_one_kernel() {
    let mut names: Vec<&str> = kernel::all().map(|kernel| kernel.name).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
    for kernel in kernel::all() {
        assert_eq!(KernelList::LIBRARY.named(kernel.name).unwrap(), [kernel]);
        if let Some(tuned_as) = kernel.tuned_as {
            assert_eq!(tuned_as, kernel.name.trim_end_matches("_dagger"), "{kernel}");
        }
    }
}

#[test]
fn arguments_of_the_list_are_the_parameters_of_the_files() {
    let families = families();
    for kernel in kernel::all().filter(|kernel| kernel.is_launched()) {
        let (_, declared) = families[kernel.family].iter().find(|(name, _)| name == kernel.name).unwrap();
        let is_of_body = matches!(kernel.source, KernelSource::Body(_));
        let arguments = kernel.arguments.iter();
        let expected: Vec<_> = arguments.flat_map(|argument| parameters_of(argument, is_of_body)).collect();
        let kinds: Vec<&str> = declared.iter().map(|parameter| &parameter.kind[..]).collect();
        assert_eq!(kinds, expected.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), "{kernel}: {declared:?}");
        for (parameter, (_, name)) in declared.iter().zip(&expected) {
            assert!(name.is_none_or(|name| name == parameter.name), "{kernel}: {} is not {name:?}", parameter.name);
        }
    }
}

#[test]
fn every_kernel_is_defined_in_a_section_of_the_contract() {
    let contract = include_str!("../docs/arithmetic.md");
    for kernel in kernel::all() {
        let section = kernel::definition(kernel).unwrap_or_else(|| panic!("{kernel} has no section"));
        let is_there = contract.contains(&format!("\n## {section}. "));
        assert!(is_there, "docs/arithmetic.md has no section {section}, which list.rs names for {kernel}");
    }
}

#[test]
fn every_body_of_a_file_is_in_the_list() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/kernels/src/kernel");
    let listed: Vec<&str> = kernel::all().map(|kernel| kernel.name).collect();
    let (mut seen, mut missing) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for (options, text) in text.split("\n#[lane_kernel").skip(1).filter_map(|text| text.split_once("\npub fn ")) {
            let Some((name, _)) = text.split_once('<') else { continue };
            let has_dagger = options.split([',', '(', ')']).any(|option| option.trim() == "dagger");
            let dagger = has_dagger.then(|| format!("{name}_dagger"));
            for name in [name.to_owned()].into_iter().chain(dagger) {
                seen += 1;
                if !listed.contains(&&name[..]) {
                    missing.push(format!("{name} of {}", path.display()));
                }
            }
        }
    }
    assert!(
        seen > 40 && missing.is_empty(),
        "of {seen} bodies these are not in the list: {}; each stands in KERNELS of its file, and each family in crates/kernels/src/kernel/list.rs",
        missing.join(", ")
    );
}
