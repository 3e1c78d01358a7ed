//! Maps that are emitted: C is compiled by the compiler that is there, run, and compared with the CPU bit for bit; CUDA and HIP are compiled where clang is.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lanefield::dynamic::IndexKernel;
use lanefield::emit::Dialect;

use super::folds::{
    EXTREMES, HIERARCHICAL_HISTOGRAM, HISTOGRAM, Histogram, STATISTICS, extremes_by_loops, hard_numbers, statistics_on,
};
use super::numbers::{FUNCTIONS, Functions, INTEGER_OPERATIONS, IntegerOperations};
use super::schedules::{COLLATZ, LAPLACIAN, RUNNING_SUM, RunningSum, laplacian_on};
use super::thread_blocks::{PRODUCT, THROUGH_LOCAL_MEMORY};
use super::*;

/// A program that calls an emitted map: its arrays, the arguments in their order, and what is printed.
#[derive(Default)]
struct Program {
    before: String,
    given: Vec<String>,
    after: String,
}

impl Program {
    fn array<T: Element>(mut self, name: &str, numbers: &[T], extents: &[usize], is_written: bool) -> Self {
        let bits: Vec<String> = numbers.iter().map(|number| format!("0x{:x}ull", number.bits())).collect();
        let ty = Dialect::C.type_of(T::KIND);
        let count = numbers.len();
        let _ = writeln!(
            self.before,
            "    static const unsigned long long {name}_bits[] = {{{}}};\n    static {ty} {name}[{count}];\n    for (int entry = 0; entry < {count}; ++entry)\n        \
             memcpy({name} + entry, {name}_bits + entry, sizeof *{name});",
            bits.join(", ")
        );
        self.given.push(name.to_owned());
        self.given.extend(extents.iter().chain(extents.last()).map(usize::to_string));
        if is_written { self.printed(name, count) } else { self }
    }

    /// A number that points make, with what it is at first.
    fn result(mut self, ty: &str, name: &str, first: &str) -> Self {
        let _ = writeln!(self.before, "    {ty} {name}[1] = {{{first}}};");
        self.given.push(name.to_owned());
        self.printed(name, 1)
    }

    fn exact_sum(mut self, name: &str, sum: &str, points: usize) -> Self {
        let _ = writeln!(self.before, "    static double {name}[{points}];\n    double {name}_sum[1];");
        let _ = writeln!(self.after, "    {name}_sum[0] = {sum}({name}, {points});");
        self.given.push(name.to_owned());
        self.printed(&format!("{name}_sum"), 1)
    }

    fn number(mut self, number: impl ToString) -> Self {
        self.given.push(number.to_string());
        self
    }

    fn printed(mut self, name: &str, count: usize) -> Self {
        let _ = writeln!(
            self.after,
            "    for (int entry = 0; entry < {count}; ++entry) {{\n        unsigned long long bits = 0;\n        memcpy(&bits, {name} + entry, sizeof *{name});\n        \
             printf(\"%llx\\n\", bits);\n    }}"
        );
        self
    }

    /// Compiles it with the source of a map over an index space, and returns the bits that it prints.
    fn run(mut self, map: &'static MapKernel, range: &[usize]) -> Vec<u64> {
        self.given.extend(range.iter().map(usize::to_string));
        let source = map.source(Dialect::C).unwrap();
        let main = format!(
            "{source}\n#include <stdio.h>\n\nint main(void) {{\n{}    map_{}({});\n{}    return 0;\n}}\n",
            self.before,
            map.name,
            self.given.join(", "),
            self.after
        );
        let program = folder().join(format!("{}.program", map.name));
        let file = program.with_extension("c");
        fs::write(&file, main).unwrap();
        let options = [
            "-std=c99",
            "-O2",
            "-ffp-contract=off",
            "-Wall",
            "-Wextra",
            "-Wno-unused-variable",
            "-Wno-unused-parameter",
        ];
        run(Command::new("cc").args(options).arg("-Werror").arg(&file).arg("-o").arg(&program).arg("-lm"));
        let printed = run(&mut Command::new(&program));
        printed.lines().map(|line| u64::from_str_radix(line, 16).unwrap()).collect()
    }
}

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("emitted-maps-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_stencil_in_c_has_the_bits_of_the_cpu() {
    let (n, m) = (7, 13);
    let a: Vec<f64> = numbers(n * m).into_iter().map(|x| f64::from(x) / 3.0).collect();
    let program = Program::default().array("out", &vec![0f64; n * m], &[n, m], true).array("a", &a, &[n, m], false);
    let found = program.number(-4.1).run(&LAPLACIAN, &[n, m]);
    assert_eq!(found, laplacian_on(&host(), [n, m], DEFAULT));
}

#[test]
fn functions_of_real_numbers_in_c_have_the_bits_of_the_cpu() {
    let x: Vec<f32> = (1..200).map(|k| 0.37 * k as f32).flat_map(|x| [x, -x]).collect();
    let n = x.len();
    let (mut single, mut double) = (host().zero_array([n]).unwrap(), host().zero_array([n]).unwrap());
    let of_x = host().array([n], &x).unwrap();
    Functions { single: &mut single, double: &mut double, x: &of_x }.launch(&host(), [n]).unwrap();
    let expected = [bits(single.read(&host()).unwrap()), bits(double.read(&host()).unwrap())].concat();
    let program = Program::default().array("single", &vec![0f32; n], &[n], true);
    let program = program.array("double_", &vec![0f64; n], &[n], true).array("x", &x, &[n], false);
    assert_eq!(program.run(&FUNCTIONS, &[n]), expected);
}

#[test]
fn integers_in_c_have_the_bits_of_the_cpu() {
    let mut x = vec![0, 1, -1, 2, 7, i32::MIN, i32::MAX, i32::MIN + 1, 32];
    x.extend(integers(20));
    let n = x.len();
    let (mut out, mut unsigned) = (host().zero_array([n, n]).unwrap(), host().zero_array([n, n]).unwrap());
    let of_x = host().array([n], &x).unwrap();
    IntegerOperations { out: &mut out, unsigned: &mut unsigned, x: &of_x }.launch(&host(), [n, n]).unwrap();
    let expected = [bits(out.read(&host()).unwrap()), bits(unsigned.read(&host()).unwrap())].concat();
    let program = Program::default().array("out", &vec![0i32; n * n], &[n, n], true);
    let program = program.array("of_unsigned", &vec![0u32; n * n], &[n, n], true).array("x", &x, &[n], false);
    assert_eq!(program.run(&INTEGER_OPERATIONS, &[n, n]), expected);
}

/// The bits of a real number from the integer of the same order, as the head of a source has them.
fn unordered(ordered: u64) -> u64 {
    let bits = if ordered >> 31 == 1 { ordered & 0x7fff_ffff } else { !ordered & 0xffff_ffff };
    if f32::from_bits(bits as u32).is_nan() { 0x7fc0_0000 } else { bits }
}

#[test]
fn sums_and_extremes_in_c_are_those_of_the_cpu() {
    let (n, m) = (11, 17);
    let mut x = numbers(n * m);
    for (k, x) in x.iter_mut().enumerate() {
        *x *= [1.0, 1e30, -1e30, 1e-30][k % 4];
    }
    x[5] = -0.0;
    let (sums, of_integers, negative, integer, reals) = statistics_on(&host(), &x, [n, m], DEFAULT);
    let program = Program::default().array("x", &x, &[n, m], false).array("k", &integers(n * m), &[n, m], false);
    let program =
        program.exact_sum("sum", "map_statistics_sum", n * m).exact_sum("squares", "map_statistics_sum", n * m);
    let program = program.result("int", "of_integers", "0").result("unsigned int", "negative", "0");
    let program = program.result("int", "least", "2147483647").result("int", "greatest", "-2147483647 - 1");
    let program = program.result("unsigned int", "least_real", "0xff800000u");
    let found = program.result("unsigned int", "greatest_real", "0x007fffffu").run(&STATISTICS, &[n, m]);
    let low = |x: i32| u64::from(x as u32);
    let expected = [sums[0], sums[1], low(of_integers), u64::from(negative), low(integer[0]), low(integer[1])];
    assert_eq!(found[..6], expected);
    assert_eq!([unordered(found[6]), unordered(found[7])], reals.map(u64::from));
}

#[test]
fn extremes_in_c_are_those_of_plain_loops() {
    for x in hard_numbers() {
        // C has no arrays without elements.
        let array = if x.is_empty() { &[f32::NAN] } else { &x[..] };
        let program = Program::default().array("x", array, &[array.len()], false);
        let program = program.result("unsigned int", "least", "0xff800000u");
        let found = program.result("unsigned int", "greatest", "0x007fffffu").run(&EXTREMES, &[x.len()]);
        assert_eq!(found.into_iter().map(unordered).collect::<Vec<_>>(), extremes_by_loops(&x).map(u64::from), "{x:?}");
    }
}

#[test]
fn elements_that_several_points_change_and_points_in_their_order_are_those_of_the_cpu_in_c() {
    let x = numbers(500);
    let (mut bins, mut largest) = (host().zero_array([7]).unwrap(), host().zero_array([7]).unwrap());
    let of_x = host().array([500], &x).unwrap();
    Histogram { bins: &mut bins, largest: &mut largest, x: &of_x }.launch(&host(), [500]).unwrap();
    let expected = [bits(bins.read(&host()).unwrap()), bits(largest.read(&host()).unwrap())].concat();
    let program = Program::default().array("bins", &[0u32; 7], &[7], true).array("largest", &[0i32; 7], &[7], true);
    assert_eq!(program.array("x", &x, &[500], false).run(&HISTOGRAM, &[500]), expected);

    let mut sums = host().array([100], &integers(100)).unwrap();
    RunningSum { x: &mut sums }.launch(&host(), [100]).unwrap();
    let program = Program::default().array("x", &integers(100), &[100], true);
    assert_eq!(program.run(&RUNNING_SUM, &[100]), bits(sums.read(&host()).unwrap()));
}

#[test]
fn maps_in_cuda_and_hip_are_taken_by_the_compiler() {
    let maps: [&'static MapKernel; 9] = [
        &LAPLACIAN,
        &FUNCTIONS,
        &INTEGER_OPERATIONS,
        &STATISTICS,
        &HISTOGRAM,
        &COLLATZ,
        &PRODUCT,
        &THROUGH_LOCAL_MEMORY,
        &HIERARCHICAL_HISTOGRAM,
    ];
    let product = PRODUCT.source(Dialect::Cuda).unwrap();
    for line in
        ["__shared__ float l0[", "__syncthreads();", "(int)threadIdx.x;", "extern \"C\" __global__ void map_product("]
    {
        assert!(product.contains(line), "{line} is missing from\n{product}");
    }
    let is_there = |compiler: &&str| Command::new(compiler).arg("--version").output().is_ok();
    let Some(compiler) = ["clang-15", "clang"].into_iter().find(is_there) else { return };
    let stub = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/emit/stub");
    let cuda = ["-x", "cuda", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib", "-Wno-unknown-cuda-version"];
    let hip = ["-x", "hip", "--offload-arch=gfx90a", "-nogpuinc", "-nogpulib", "-O3"];
    for map in maps {
        for (language, options) in [(Dialect::Cuda, cuda), (Dialect::Hip, hip)] {
            let file = folder().join(format!("{}.{}", map.name, language.extension()));
            fs::write(&file, map.source(language).unwrap()).unwrap();
            let mut command = Command::new(compiler);
            command.args(options).args(["--cuda-device-only", "-S", "-Werror", "-o", "-", "-I"]).arg(&stub);
            run(command.arg("-include").arg(stub.join("hip/hip_runtime.h")).arg(file));
        }
    }
}

#[test]
fn what_a_language_does_not_have_is_refused_with_what_has_it() {
    let refused = |map: &'static MapKernel, language| map.source(language).unwrap_err().to_string();
    assert_eq!(
        refused(&PRODUCT, Dialect::C),
        "the body of product has thread-block maps, which C does not have: emit it in opencl, cuda or hip"
    );
    assert_eq!(
        refused(&RUNNING_SUM, Dialect::Cuda),
        "the body of running_sum reads what another point may write: emit it in c, where points come one after the other"
    );
}
