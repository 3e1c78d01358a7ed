//! The programs of `examples/`, compiled against the shared and the static library, and run: as they are, under valgrind, and with sanitizers.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::library::installed;
use crate::{is_there, package, run};

/// The system libraries that a static library needs.
const SYSTEM: [&str; 6] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

#[derive(Clone, Copy, PartialEq)]
enum Against {
    Shared,
    Static,
}

/// Compiles examples with a compiler to a program in `folder`.
fn compile(compiler: &[&str], files: &[&str], against: Against, folder: &Path) -> PathBuf {
    let kind = if against == Against::Shared { "shared" } else { "static" };
    let name = Path::new(files.last().unwrap()).file_name().unwrap().to_string_lossy();
    let program = folder.join(format!("{name}-{kind}"));
    let (name, options) = compiler.split_first().unwrap();
    let mut command = Command::new(name);
    command.args(options).arg("-I").arg(installed().include()).current_dir(folder);
    command.args(files.iter().map(|file| {
        let example = package().join("examples").join(file);
        if example.exists() { example } else { package().join("include").join(file) }
    }));
    command.arg("-o").arg(&program);
    let lib = installed().lib();
    match against {
        Against::Shared => {
            command.arg("-L").arg(&lib).arg("-llanefield").arg(format!("-Wl,-rpath,{}", lib.display()));
        }
        Against::Static => {
            command.arg(lib.join("liblanefield.a"));
        }
    }
    run(command.args(SYSTEM));
    program
}

/// Compiles examples against both libraries, and runs them on the CPU reference. Gives what they wrote, which is the same.
fn both(compiler: &[&str], files: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let said = [Against::Shared, Against::Static]
        .map(|against| run(&mut Command::new(compile(compiler, files, against, folder.path()))));
    let [shared, linked] = said;
    assert_eq!(shared, linked);
    shared
}

const C: [&str; 7] = ["cc", "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-O1", "-Wall", "-Wextra", "-Werror"];

#[test]
fn a_c_program_solves_and_finds_a_planted_fault() {
    let said = both(&C, &["solve_and_check.c"]);
    assert!(said.contains("LF_DIFFERENT: 1 of 768 real numbers differ, first at site x,y,z,t = 1,1,0,0, spin 2, colour 1, imaginary part: "), "{said}");
    assert!(said.contains("LF_INVALID_ARGUMENT: unknown operator 'overlap': expected hop, "), "{said}");
}

#[test]
fn threads_of_a_c_program_merge_exact_sums() {
    let said = both(&C, &["sums.c"]);
    assert!(said.contains("the sum of 120001 terms is 0x0.0000000000001p-1022"), "{said}");
}

#[test]
fn a_cpp_program_solves_by_handles_that_free_themselves() {
    if is_there("g++") {
        let options = ["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];
        let said = both(&options, &["solve.cpp"]);
        assert!(said.contains("clover, mass 0.5, csw 1.2"), "{said}");
        assert!(said.contains("stopped as asked"), "{said}");
    }
}

#[test]
fn a_fortran_program_solves_and_finds_a_planted_fault() {
    if is_there("gfortran") {
        let said = both(&["gfortran", "-O1", "-Wall"], &["lanefield.f90", "solve.f90"]);
        assert!(said.contains("first at site x,y,z,t = 2,0,1,3, spin 1, colour 2, real part"), "{said}");
    }
}

/// Compiles `check_compiler.f90` with flags, and runs it: whether it went well, and what it says.
fn checked_by_fortran(flags: &[&str]) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("check_compiler");
    let mut command = Command::new("gfortran");
    command.args(["-std=f2008", "-Wall", "-Werror"]).args(flags).current_dir(folder.path());
    run(command.arg(package().join("examples/check_compiler.f90")).arg("-o").arg(&program));
    let output = Command::new(program).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_fortran_program_says_which_rule_the_compiler_breaks() {
    if !is_there("gfortran") {
        return;
    }
    // Every 64-bit Arm processor has fma; of x86-64 it is an extension.
    #[cfg(target_arch = "x86_64")]
    let has_fma = std::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let has_fma = cfg!(target_arch = "aarch64");
    let fma: &[&str] = if has_fma && cfg!(target_arch = "x86_64") { &["-mfma"] } else { &[] };

    let good = ["-ffp-contract=off", "-fno-tree-slp-vectorize"];
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        let flags = [&[level][..], &good, fma].concat();
        assert_eq!(checked_by_fortran(&flags), (true, "the compiler keeps the rules\n".to_owned()), "{flags:?}");
    }
    let mut bad = vec![
        (vec!["-O2", "-ffast-math"], "subnormal numbers are flushed to zero: "),
        (vec!["-O2", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math"], "sums are reassociated: "),
        (vec!["-O2", "-fno-signed-zeros"], "zeros lose their sign, "),
    ];
    for (flags, _) in &mut bad {
        flags.extend(good);
    }
    if has_fma {
        bad.push(([&["-O3", "-ffp-contract=fast"][..], fma].concat(), "a * b + c is contracted to fma: "));
    }
    for (flags, broken) in bad {
        let (kept, said) = checked_by_fortran(&flags);
        assert!(!kept && said.starts_with(broken), "{flags:?}: {said}");
    }
}

#[test]
fn the_program_of_the_documentation_says_what_is_wrong_with_a_hop() {
    let page = std::fs::read_to_string(package().join("../../docs/c.md")).unwrap();
    let program = page.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    // No hop at all.
    let hop = "\nvoid my_hop(const double *links, const double *psi, double *result) {\n    (void)links;\n    \
               for (size_t k = 0; k < 24 * 512; ++k)\n        result[k] = psi[k];\n}\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("check.c");
    std::fs::write(&path, format!("{program}{hop}")).unwrap();
    let compiled = compile(&C, &[path.to_str().unwrap()], Against::Shared, folder.path());
    let output = Command::new(compiled).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.starts_with("12288 of 12288 real numbers differ, first at site x,y,z,t = 0,0,0,0, spin 0, "),
        "{said}"
    );
}

#[test]
fn the_header_is_c99_and_cpp11_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    for (compiler, name) in [(["cc", "-std=c99"], "alone.c"), (["g++", "-std=c++11"], "alone.cpp")] {
        if !is_there(compiler[0]) {
            continue;
        }
        let path = folder.path().join(name);
        std::fs::write(&path, "#include <lanefield.h>\n#include <lanefield.h>\n").unwrap();
        let mut command = Command::new(compiler[0]);
        command.args([compiler[1], "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"]);
        run(command.arg(package().join("include")).arg(path));
    }
}

#[test]
fn c_programs_leak_nothing_and_read_nothing_that_is_not_theirs_under_valgrind() {
    if !is_there("valgrind") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for file in ["solve_and_check.c", "sums.c"] {
        let program = compile(&[&C[..], &["-g"]].concat(), &[file], Against::Shared, folder.path());
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite,indirect"]);
        // What is possibly lost is the system's memory of threads that are about to end. Valgrind knows no AVX-512.
        valgrind.args(["--errors-for-leak-kinds=definite,indirect"]).env("LANEFIELD_INSTRUCTIONS", "avx2");
        let said = run(valgrind.arg(&program));
        assert!(said.contains("ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)"), "{said}");
    }
}

#[test]
fn c_programs_are_clean_with_sanitizers_of_addresses_and_undefined_behaviour() {
    let folder = tempfile::tempdir().unwrap();
    let probe = folder.path().join("probe.c");
    std::fs::write(&probe, "int main(void) { return 0; }\n").unwrap();
    let sanitize = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"];
    let has = Command::new("cc").args(sanitize).arg(&probe).arg("-o").arg(folder.path().join("probe")).output();
    if !has.is_ok_and(|output| output.status.success()) {
        eprintln!("left out: cc has no sanitizers (libasan, libubsan)");
        return;
    }
    for file in ["solve_and_check.c", "sums.c"] {
        for against in [Against::Shared, Against::Static] {
            let program = compile(&[&C[..], &sanitize].concat(), &[file], against, folder.path());
            run(Command::new(program).env("ASAN_OPTIONS", "detect_leaks=1"));
        }
    }
}
