//! Kernels that are emitted: compiled by the compilers that are there, run on arrays in site order, and compared with the CPU kernel bit for bit. The
//! programs that do so read files (`tests/emit/harness.h`), so that they can run elsewhere: with `LANEFIELD_EMIT_EXPORT=DIR` the test
//! `emitted_kernels_are_written_for_another_machine` leaves all of them in a folder, with a script for nvcc or hipcc.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lanefield::backend::{Cpu, HostField, Sum};
use lanefield::body::prelude::*;
use lanefield::dynamic::HopKernel;
use lanefield::emit::{Dialect, EmitOptions, emit};
use lanefield::in_precision;
use lanefield::kernel::blas::CG_UPDATE;
use lanefield::kernel::convert::CONVERT;
use lanefield::kernel::{self, Case, CaseOptions, Kernel, KernelList, KernelSource, Links, Numbers, Role, TestData};
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{
    Extents, LEGS, LaneChoice, LaneWidth, Lattice, LatticeOptions, Leg, LegOrder, Parity, Sites, gather,
};
use lanefield_reference::links::{BoundaryPhases, DoubledGauge, LinkFormat};
use lanefield_reference::object::Object;
use lanefield_reference::real::Precision;

use crate::body::{
    COVARIANT_SUM, CROSSWISE, DENSITY, EVERYTHING, FURTHER_AWAY, SUMS_OF_NEIGHBOURS, TWICE, UPDATE_AND_NORM,
    WILSON_HOP, WORDS,
};
use crate::functions::{FUNCTIONS, LEAST_PART, REAL_NUMBERS};

/// Two terms of each component for one sum.
#[lane_kernel]
fn two_terms<S: Site>(psi: Read<S, Spinors>, sum: ExactSum<S>, b: Scalar<S>) {
    sum.add(psi.here().norm2());
    sum.add(-b.get().promoted());
}

/// A body whose arguments have names that mean something in C.
#[lane_kernel]
fn doubled<S: Site>(int: Write<S, ColourVectors>, part: Read<S, ColourVectors>, v1: ComplexScalar<S>) {
    int.write(part.here().madd(v1.get(), part.here()));
}

/// Whether a kernel is written once.
fn has_body(kernel: &&Kernel) -> bool {
    matches!(kernel.source, KernelSource::Body(_))
}

/// The hops of the library that are written once.
fn hops() -> impl Iterator<Item = &'static Kernel> {
    HopKernel::all().map(HopKernel::kernel).filter(has_body)
}

/// The kernels that are run, beside these.
static OTHERS: [&Kernel; 16] = [
    &COVARIANT_SUM,
    &WILSON_HOP,
    &SUMS_OF_NEIGHBOURS,
    &UPDATE_AND_NORM,
    &WORDS,
    &EVERYTHING,
    &FUNCTIONS,
    &REAL_NUMBERS,
    &FURTHER_AWAY,
    &DENSITY,
    &CROSSWISE,
    &TWO_TERMS,
    &LEAST_PART,
    &DOUBLED,
    &CG_UPDATE,
    &CONVERT,
];

/// A kernel in a precision, and a format of links.
#[derive(Clone, Copy)]
struct Variant {
    kernel: &'static Kernel,
    precision: Precision,
    links: LinkFormat,
}

impl Variant {
    fn all() -> impl Iterator<Item = Self> {
        let formats = |kernel: &Kernel| if kernel.reads_links() { &LinkFormat::ALL[..] } else { &LinkFormat::ALL[..1] };
        hops().chain(OTHERS).flat_map(move |kernel| {
            Precision::OF_ARITHMETIC
                .into_iter()
                .flat_map(move |precision| formats(kernel).iter().map(move |&links| Self { kernel, precision, links }))
        })
    }

    fn name(&self) -> String {
        format!("{}-{}-{}", self.kernel.name, self.precision, self.links.reals())
    }

    fn options(&self, language: Dialect) -> EmitOptions {
        let &Self { precision, links, .. } = self;
        EmitOptions { precision, links, ..EmitOptions::new(language) }
    }

    fn source(&self, language: Dialect) -> String {
        emit(self.kernel, &self.options(language)).unwrap()
    }

    /// Writes the source and a program that runs it.
    fn write(&self, folder: &Path, language: Dialect) -> PathBuf {
        let source = self.source(language);
        let (file, main) = (format!("kernel.{}", language.extension()), format!("main.{}", language.extension()));
        fs::write(folder.join(&file), &source).unwrap();
        fs::write(folder.join(&main), program(self.kernel, &source, &file)).unwrap();
        folder.join(main)
    }

    /// Writes arguments, and what the CPU kernel makes of them, into folders of their own: hard numbers, several lattices, sites and components.
    fn write_cases(&self, folder: &Path) -> Vec<PathBuf> {
        let Self { kernel, precision, links, .. } = *self;
        let cpu = Cpu::new(None).unwrap();
        let mut folders = Vec::new();
        let boundaries = ["1,1,1,-1", "-1,0,1,0", "1,1,1,1", "0,-1,-1,-1"];
        let extents = [[2, 2, 2, 2], [4, 2, 6, 2], [4, 4, 2, 6], [2, 6, 2, 4]];
        let sites = [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)];
        for number in 0..12 {
            let numbers = Numbers::ALL[number % 4];
            let parts = if takes_parts(kernel) { [1, 3][number / 2 % 2] } else { 1 };
            let width = LaneWidth::new(precision.scalar().bytes()).unwrap();
            let options = LatticeOptions { lanes: LaneChoice::Width(width), ..LatticeOptions::default() };
            let extents = Extents::new(extents[number % 4]).unwrap();
            let lattice = Lattice::new(extents, precision.scalar(), options).unwrap();
            let boundary: BoundaryPhases = boundaries[number / 3].parse().unwrap();
            let kind =
                if links == LinkFormat::Eight || number % 2 == 0 { Links::Hot } else { Links::Arbitrary(numbers) };
            let data = TestData::new(number as u64);
            let configuration = in_precision!(precision, R => data.configuration::<R>(extents, kind)).unwrap();
            let other = if precision == Precision::F64 { Precision::F32 } else { Precision::F64 };
            let object = (number % 3 == 1).then_some(Object::Propagator).filter(|_| parts == 1);
            let case = CaseOptions {
                configuration: kernel.reads_links().then_some(&configuration),
                numbers,
                data,
                object,
                from: Some(other),
                ..CaseOptions::new(
                    lattice,
                    sites[number % 3],
                    precision,
                    DoubledGauge { format: links, boundary },
                    parts,
                )
            };
            let path = folder.join(format!("case{number}"));
            fs::create_dir_all(&path).unwrap();
            write_case(&path, &Case::new(kernel, &case).unwrap(), &cpu, lists_of_terms(&self.source(Dialect::C)));
            folders.push(path);
        }
        folders
    }
}

/// Whether sites may have several components.
fn takes_parts(kernel: &Kernel) -> bool {
    let KernelSource::Body(body) = kernel.source else { return false };
    body.roles.iter().all(|role| !matches!(role, Role::Field { repeated: false, .. }))
}

/// Lists of terms that a kernel writes for its sums, as many for each of them.
fn lists_of_terms(source: &str) -> usize {
    source.matches(" terms[").count()
}

/// Writes the arguments of a case, and what is expected, as the head of the source says how they lie.
fn write_case(path: &Path, case: &Case, cpu: &Cpu, lists: usize) {
    let (shape, kernel) = (case.shape(), case.kernel());
    let (extents, sites) = (shape.lattice().extents(), shape.sites());
    let write = |name: &str, bytes: &[u8]| fs::write(path.join(name), bytes).unwrap();
    let write_number = |name: &str, number: usize| write(name, &(number as u32).to_ne_bytes());
    let list = |field: &HostField| in_precision!(field.shape().precision, R => bytes_of::<R>(field));
    let outcome = case.run(cpu, Sum::Exact).unwrap();
    for role in kernel.fields() {
        write(role.name, &list(&case.fields(role.name)[0]));
    }
    for (name, field) in &outcome.fields {
        write(&format!("{name}.expected"), &list(field));
    }
    for (name, value) in case.scalars() {
        let real = |x: f64| match shape.precision() {
            Precision::F64 => x.to_ne_bytes().to_vec(),
            _ => (x as f32).to_ne_bytes().to_vec(),
        };
        write(name, &real(value.re));
        write(&format!("{name}_re"), &real(value.re));
        write(&format!("{name}_im"), &real(value.im));
    }
    let own: Vec<_> =
        (0..extents.volume()).map(|site| extents.coordinate(site)).filter(|&c| sites.contain(c)).collect();
    let there: Vec<_> =
        (0..extents.volume()).map(|site| extents.coordinate(site)).filter(|&c| sites.neighbours().contain(c)).collect();
    let (mut neighbours, mut coordinates) = (Vec::new(), Vec::new());
    for &here in &own {
        for leg in Leg::all() {
            let next = extents.neighbour(here, leg);
            let number = there.iter().position(|&c| c == next).unwrap() as u32;
            let d = leg.dimension();
            let leaves = if leg.is_forward() { here[d] == extents[d] - 1 } else { here[d] == 0 };
            neighbours.extend((number | u32::from(leaves) << 31).to_ne_bytes());
        }
        coordinates.extend(here.into_iter().flat_map(|x| (x as u32).to_ne_bytes()));
    }
    assert_eq!(neighbours.len(), 4 * LEGS * own.len());
    if let KernelSource::Body(body) = kernel.source {
        let displacements = body.program(kernel.name, shape.legs).unwrap().displacements();
        let mut displaced = Vec::new();
        for &here in &own {
            for displacement in &displacements {
                let end = displacement.legs().fold(here, |x, leg| extents.neighbour(x, leg));
                let among = if displacement.is_odd() { &there } else { &own };
                displaced.extend((among.iter().position(|&c| c == end).unwrap() as u32).to_ne_bytes());
            }
        }
        write("displaced", &displaced);
    }
    write("neighbours", &neighbours);
    write("coordinates", &coordinates);
    write_number("sites", own.len());
    write_number("parts", shape.parts());
    write_number("words", shape.target.object.part_words());
    write_number("boundary", shape.links().map_or(0, |links| links.boundary.kernel_masks() as usize));
    if kernel.sums() {
        // Terms that are not written are found out.
        write("terms", &vec![0xff; 8 * own.len() * shape.parts() * lists]);
        write("sums.expected", &outcome.sums.iter().flat_map(|sum| sum.to_ne_bytes()).collect::<Vec<_>>());
    }
}

/// A field in site order, those of its own sites alone.
fn bytes_of<R: Vectors>(field: &HostField) -> Vec<u8> {
    let field = field.get::<R>().unwrap();
    let words = gather(field.lattice().extents(), field.sites(), field.object().words(), &field.to_site_order());
    let bytes = |x: R| {
        if size_of::<R>() == 8 { x.to_f64().to_ne_bytes().to_vec() } else { (x.to_f64() as f32).to_ne_bytes().to_vec() }
    };
    words.into_iter().flat_map(|word| [word.re, word.im]).flat_map(bytes).collect()
}

/// A program that runs an emitted kernel on the files of the folders that it is given. The arguments are read off the source.
fn program(kernel: &Kernel, source: &str, file: &str) -> String {
    let declaration = source.split(&format!("void {}", kernel.name)).nth(1).unwrap();
    let (function, declaration) = declaration.split_once('(').unwrap();
    let function = format!("{}{function}", kernel.name);
    let declared = declaration.split(')').next().unwrap().replace("__restrict__", "restrict");
    let (mut before, mut after, mut given) = (String::new(), String::new(), Vec::new());
    for argument in declared.split(',').map(str::trim) {
        let (ty, name) = argument.rsplit_once(' ').unwrap();
        // Names of C are followed by a line.
        let file = name.trim_end_matches('_').replace("__", "_");
        if let Some(element) = ty.strip_suffix("* restrict") {
            let plain = element.trim_start_matches("const ");
            let _ = writeln!(before, "        array {name} = read_array(argv[k], \"{file}\");");
            given.push(format!("({element}*){name}.device"));
            if plain == element {
                let _ = writeln!(after, "        fetch(&{name}, \"{file}\");");
                let _ = writeln!(
                    after,
                    "        differences += compare(argv[k], \"{file}\", {name}.host, {name}.bytes, sizeof({plain}));"
                );
            }
        } else {
            let _ = writeln!(before, "        {ty} {name};");
            let _ = writeln!(before, "        read_number(argv[k], \"{file}\", &{name}, sizeof {name});");
            given.push(name.to_owned());
        }
    }
    if kernel.sums() {
        let KernelSource::Body(body) = kernel.source else { unreachable!("only bodies are run") };
        let _ = writeln!(
            after,
            "        double sums[{0}];\n        for (int s = 0; s < {0}; ++s)\n            sums[s] = {function}_{2}((const double*)terms.host + s * \
             (terms.bytes / {1}), terms.bytes / {1});\n        differences += compare(argv[k], \"sums\", sums, sizeof sums, 8);",
            body.sums(),
            8 * body.sums(),
            body.extreme().map_or("sum", |extreme| extreme.name())
        );
    }
    let parts = if declared.contains(" parts") { "sites * parts" } else { "sites" };
    format!(
        "#include \"{file}\"\n#include \"harness.h\"\n\nint main(int argc, char** argv) {{\n    int differences = 0;\n    for (int k = 1; k < argc; ++k) {{\n\
         {before}#ifdef RUNTIME\n        {function}<<<({parts} + 95) / 96, 96>>>({0});\n        if (RUNTIME(DeviceSynchronize)())\n            fail(\"failed to \
         run\", argv[k]);\n#else\n        {function}({0});\n#endif\n{after}    }}\n    return differences != 0;\n}}\n",
        given.join(", ")
    )
}

/// Compilers of C that are there, each with options.
fn c_compilers() -> Vec<Vec<&'static str>> {
    let there: Vec<&str> =
        ["gcc", "clang-15", "clang"].into_iter().filter(|compiler| is_there(compiler)).take(2).collect();
    assert!(!there.is_empty(), "neither gcc nor clang is there");
    let native = if cfg!(target_arch = "x86_64") { "-march=native" } else { "-O3" };
    there.into_iter().flat_map(|compiler| [vec![compiler, "-O0"], vec![compiler, "-O3", native]]).collect()
}

fn is_there(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn harness() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emit")
}

/// Runs a command, and tells what it wrote if it failed.
fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = [&output.stdout[..], &output.stderr].concat();
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&said));
}

/// Compiles a program, and runs it on all cases.
fn compile_and_run(compiler: &[&str], main: &Path, cases: &[PathBuf]) {
    let program = main.with_extension("program");
    let (name, options) = compiler.split_first().unwrap();
    run(Command::new(name).args(options).arg(main).arg("-I").arg(harness()).arg("-o").arg(&program).arg("-lm"));
    run(Command::new(&program).args(cases));
}

fn kernels_in_c_are_the_cpu_kernels(precision: Precision) {
    for variant in Variant::all().filter(|variant| variant.precision == precision) {
        let folder = tempfile::tempdir().unwrap();
        let main = variant.write(folder.path(), Dialect::C);
        let cases = variant.write_cases(folder.path());
        for compiler in c_compilers() {
            let options = ["-std=c99", "-ffp-contract=off", "-Wall", "-Wextra", "-Werror"];
            compile_and_run(&[&compiler[..], &options].concat(), &main, &cases);
        }
    }
}

#[test]
#[ignore = "test-all: all compilers"]
fn kernels_in_c_have_the_bits_of_the_cpu_kernels_in_f32() {
    kernels_in_c_are_the_cpu_kernels(Precision::F32);
}

#[test]
#[ignore = "test-all: all compilers"]
fn kernels_in_c_have_the_bits_of_the_cpu_kernels_in_f64() {
    kernels_in_c_are_the_cpu_kernels(Precision::F64);
}

/// Compiles every kernel in a language for a device that is not there, with the headers of `tests/emit/stub`.
fn clang_takes_all(language: Dialect, options: &[&str]) {
    let Some(compiler) = ["clang-15", "clang"].into_iter().find(|compiler| is_there(compiler)) else { return };
    let folder = tempfile::tempdir().unwrap();
    for variant in Variant::all() {
        let source = folder.path().join("kernel");
        fs::write(&source, variant.source(language)).unwrap();
        let stub = harness().join("stub");
        let mut command = Command::new(compiler);
        command.args(options).args(["-O3", "-S", "-Werror", "-o", "-", "-I"]).arg(&stub);
        run(command.arg("-include").arg(stub.join("hip/hip_runtime.h")).arg(source));
    }
}

#[test]
#[ignore = "test-all: compiles every kernel"]
fn kernels_in_hip_are_compiled_for_a_gpu_of_amd() {
    let device = ["-x", "hip", "--cuda-device-only", "--offload-arch=gfx90a", "-nogpuinc", "-nogpulib"];
    clang_takes_all(Dialect::Hip, &device);
}

#[test]
#[ignore = "test-all: compiles every kernel"]
fn kernels_in_cuda_are_compiled_for_a_gpu_of_nvidia() {
    let device = ["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib"];
    clang_takes_all(Dialect::Cuda, &[&device[..], &["-Wno-unknown-cuda-version"]].concat());
}

#[test]
#[ignore = "test-all: compiles every kernel"]
fn kernels_in_opencl_c_stand_by_themselves() {
    let Some(compiler) = ["clang-15", "clang"].into_iter().find(|compiler| is_there(compiler)) else { return };
    let folder = tempfile::tempdir().unwrap();
    for kernel in OTHERS
        .into_iter()
        .chain([&TWICE])
        .chain(KernelList::LIBRARY.named("all").unwrap())
        .filter(|kernel| kernel.is_launched())
    {
        for &precision in kernel.precisions {
            let source = emit(kernel, &EmitOptions { precision, ..EmitOptions::new(Dialect::OpenCl) }).unwrap();
            assert!(!source.contains("#include") && !source.contains("#line"), "{kernel}");
            let path = folder.path().join("kernel.cl");
            fs::write(&path, source).unwrap();
            let options = ["-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-fsyntax-only"];
            run(Command::new(compiler).args(options).args(["--target=spir64"]).arg(path));
        }
    }
}

/// Programs for all kernels in all languages, their cases, and a script that compiles and runs them.
fn export(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    fs::copy(harness().join("harness.h"), folder.join("harness.h")).unwrap();
    fs::copy(harness().join("run.sh"), folder.join("run.sh")).unwrap();
    for variant in Variant::all() {
        let folder = folder.join(variant.name());
        fs::create_dir_all(&folder).unwrap();
        for language in [Dialect::C, Dialect::Cuda, Dialect::Hip] {
            variant.write(&folder, language);
        }
        variant.write_cases(&folder);
    }
}

#[test]
fn emitted_kernels_are_written_for_another_machine() {
    if let Some(folder) = std::env::var_os("LANEFIELD_EMIT_EXPORT") {
        export(Path::new(&folder));
    }
}

#[test]
#[ignore = "test-all: compiles every kernel"]
fn kernels_in_cuda_have_the_bits_of_the_cpu_kernels() {
    // Where there are a compiler and a GPU.
    if is_there("nvcc") && is_there("nvidia-smi") {
        let folder = tempfile::tempdir().unwrap();
        export(folder.path());
        run(Command::new("sh").arg("run.sh").args(["cu", "nvcc", "-O3", "-arch=native"]).current_dir(folder.path()));
    }
}

#[test]
fn the_order_of_the_legs_is_that_of_the_options() {
    let of = |legs: LegOrder| emit(&WILSON_HOP, &EmitOptions { legs, ..EmitOptions::new(Dialect::C) }).unwrap();
    let first_leg = |source: &str| source.split("const size_t end").nth(1).unwrap()[..1].to_owned();
    assert_eq!(first_leg(&of(LegOrder::DEFAULT)), "7");
    assert_eq!(first_leg(&of("+x,-x,+y,-y,+z,-z,+t,-t".parse().unwrap())), "0");
}

#[test]
fn what_cannot_be_emitted_is_refused() {
    let refusal = |kernel: &'static Kernel, language, precision| {
        emit(kernel, &EmitOptions { precision, ..EmitOptions::new(language) }).unwrap_err().to_string()
    };
    let by_hand = refusal(&TWICE, Dialect::C, Precision::F32);
    let start = "twice is written by hand in OpenCL C, and is not emitted in c: expected opencl, or one of ";
    let bodies: Vec<&str> = kernel::all().filter(has_body).map(|kernel| kernel.name).collect();
    assert_eq!(by_hand, format!("{start}{}", bodies.join(", ")));
    for hop in hops() {
        let expected = format!("{hop} is not emitted in hip for half: expected f32 or f64");
        assert_eq!(refusal(hop, Dialect::Hip, Precision::Half), expected);
    }
    let unknown = "fortran".parse::<Dialect>().unwrap_err().to_string();
    assert_eq!(unknown, "unknown language 'fortran': expected opencl, c, cuda or hip");
}
