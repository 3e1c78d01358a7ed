//! `lanefield devices`.

use std::process::Command;

use super::{Folder, assert_contains, common, text};

#[test]
fn the_cpu_reference_is_always_listed() {
    let listed = Folder::new().succeeds("devices");
    assert_contains(&listed, &["cpu: CPU reference", "threads", "vector instructions", "--device auto takes "]);
    let json = Folder::new().json("devices");
    assert!(json["cpu"]["compute_units"].as_u64().unwrap() >= 1);
    assert!(json["cpu"]["vector_instructions"].is_string() && json["auto"].is_string());
}

#[test]
fn an_opencl_device_is_listed_with_the_verdict_on_its_arithmetic() {
    let Some(device) = common::opencl_device() else { return };
    let json = Folder::new().json("devices");
    let listed = &json["opencl"][device.index];
    assert_eq!(listed["name"], device.name.as_str());
    assert_eq!(listed["bitwise"].as_bool(), Some(listed["verdict"] == "bitwise"));
    assert!(listed["preferred_work_group_multiple"].as_u64().unwrap() >= 1);
    let table = Folder::new().succeeds("devices");
    let rows =
        ["platform", "memory", "largest buffer", "local memory", "compute units", "multiples of", "f64", "arithmetic"];
    assert_contains(&table, &rows);
    assert_contains(&table, &[&format!("{}: {}", device.index, device.name)]);
}

#[test]
fn without_opencl_the_list_says_how_to_get_it() {
    let folder = Folder::new();
    let mut command = folder.command("devices");
    let output = command.env("OCL_ICD_VENDORS", "/nonexistent").output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let listed = text(&output.stdout);
    assert_contains(
        &listed,
        &[
            "cpu: CPU reference",
            "there is no OpenCL here",
            "/nonexistent holds no .icd file",
            "pocl-opencl-icd",
            "--device auto takes cpu",
        ],
    );
}

/// `devices` and what is said on standard error by a solve that takes `auto`, with a variable of the environment.
#[cfg(target_os = "linux")]
fn fallen_back(variable: (&str, &std::path::Path)) -> [String; 2] {
    let folder = Folder::with_gauge();
    let run = |words: &str| folder.command(words).env(variable.0, variable.1).output().unwrap();
    let solve = "apply --operator hop --config gauge.nersc --source gauss:1 --output o.npy --device auto";
    [text(&run("devices").stdout), text(&run(solve).stderr)]
}

#[test]
#[cfg(target_os = "linux")]
fn a_driver_that_offers_nothing_is_listed_with_its_reason_and_auto_says_it() {
    let drivers = tempfile::tempdir().unwrap();
    let file = drivers.path().join("broken.icd");
    std::fs::write(&file, "/nonexistent/libdriver.so\n").unwrap();
    for said in fallen_back(("OCL_ICD_VENDORS", drivers.path())) {
        assert_contains(&said, &["broken.icd names '/nonexistent/libdriver.so', which cannot be loaded"]);
        assert!(!said.contains("apt-get"), "{said}");
    }
    // A library that the process has already is no driver for that.
    for (content, why) in [
        (
            "libm.so.6\n",
            "broken.icd names 'libm.so.6', which is not an OpenCL driver: it lacks clGetExtensionFunctionAddress",
        ),
        ("\n", "broken.icd is empty: expected the name of the driver's library"),
    ] {
        std::fs::write(&file, content).unwrap();
        for said in fallen_back(("OCL_ICD_VENDORS", drivers.path())) {
            assert_contains(&said, &[why]);
            assert!(!said.contains("apt-get"), "{said}");
        }
    }
    let library = std::path::Path::new("/nonexistent/libOpenCL.so");
    for said in fallen_back(("OPENCL_DYLIB_PATH", library)) {
        assert_contains(&said, &["OPENCL_DYLIB_PATH names '/nonexistent/libOpenCL.so', which cannot be loaded"]);
    }
    if common::opencl_device().is_some_and(|device| device.platform_name == "Portable Computing Language") {
        for said in fallen_back(("POCL_CACHE_DIR", std::path::Path::new("/proc/nonexistent"))) {
            assert_contains(&said, &["Portable Computing Language lists no device", "POCL_CACHE_DIR"]);
            assert!(!said.contains("apt-get"), "{said}");
        }
        // A cache that cannot be written is noticed by the first program only.
        let folder = Folder::with_gauge();
        let solve = "solve --config gauge.nersc --source gauss:1 --mass 0.3 --device portable";
        let output = folder.command(solve).env("POCL_CACHE_DIR", "/dev/null").output().unwrap();
        assert_contains(&text(&output.stderr), &["it cannot write its cache /dev/null", "set POCL_CACHE_DIR to"]);
    }
}

#[test]
fn several_processes_of_a_launcher_that_know_nothing_of_each_other_are_refused() {
    let folder = Folder::with_gauge();
    let solve = "solve --config gauge.nersc --source gauss:1 --mass 0.3 --device cpu --threads 1 --output x.npy";
    let run = |variables: [(&str, &str); 2]| folder.command(solve).envs(variables).output().unwrap();
    let refused = run([("SLURM_PROCID", "3"), ("SLURM_STEP_NUM_TASKS", "8")]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert_contains(&said, &["8 processes were started (Slurm: SLURM_STEP_NUM_TASKS=8)", "SLURM_STEP_NUM_TASKS=1"]);
    assert!(!folder.path("x.npy").exists());
    // A batch script has no step of its own.
    let batch = run([("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]);
    assert!(batch.status.success(), "{}", text(&batch.stderr));
}

#[test]
fn a_device_that_does_not_exist_is_refused_with_the_list() {
    let folder = Folder::with_gauge();
    let apply = "apply --operator hop --config gauge.nersc --source gauss:1 --output o.npy";
    folder.refuses(&format!("{apply} --device 99"), &["no OpenCL device 99", "CPU reference (cpu)"]);
    folder.refuses(&format!("{apply} --device nonesuch"), &["\"nonesuch\""]);
}

/// Whether tests run on PoCL, which takes limits and compiler flags from the environment.
fn is_pocl() -> bool {
    common::opencl_device().is_some_and(|device| device.platform_name == "Portable Computing Language")
}

#[test]
fn devices_of_small_work_groups_compute_the_same_bits() {
    if !is_pocl() {
        return;
    }
    let folder = Folder::with_gauge();
    let solve = "solve --config gauge.nersc --source gauss:1 --mass 0.3 --precision f32 --tolerance 1e-5";
    folder.succeeds(&format!("{solve} --device cpu --threads 1 --output cpu.npy"));
    for most in ["16", "8", "1"] {
        let run = |words: &str| folder.command(words).env("POCL_MAX_WORK_GROUP_SIZE", most).output().unwrap();
        // With vectors of all lanes, and with a work-item for each lane, of which a group has not all.
        for form in ["vectors", "work-items"] {
            let output = run(&format!("{solve} --device pocl --lane-form {form} --output x.npy"));
            assert!(output.status.success(), "{most}, {form}: {}", text(&output.stderr));
            assert!(folder.read("x.npy") == folder.read("cpu.npy"), "{most}, {form}");
        }
        let refused = run(&format!("{solve} --device pocl --accelerator-threads 32 --output x.npy"));
        assert_eq!(refused.status.code(), Some(2));
        assert_contains(
            &text(&refused.stderr),
            &[&format!("runs at most {most} for this kernel"), "where none is chosen"],
        );
    }
}

#[test]
#[ignore = "test-all: searches on a device"]
fn devices_of_small_work_groups_are_tuned_within_them() {
    if !is_pocl() {
        return;
    }
    let folder = Folder::with_gauge();
    let apply = "apply --operator hop --links 12 --config gauge.nersc --source gauss:1 --precision f32";
    folder.succeeds(&format!("{apply} --device cpu --output cpu.npy"));
    for most in [16, 8, 1] {
        let run = |words: &str| {
            let mut command = folder.command(words);
            command.env("POCL_MAX_WORK_GROUP_SIZE", most.to_string());
            let output = command.env("LANEFIELD_TUNING", format!("{most}.toml")).output().unwrap();
            assert!(output.status.success(), "{most}: {}", text(&output.stderr));
            text(&output.stdout)
        };
        let tune = "tune --kernel hop --precision f32 --links 12 --lattice 4.4.4.8 --budget 3 --access word";
        let json: serde_json::Value = serde_json::from_str(&run(&format!("{tune} --device pocl --json"))).unwrap();
        assert_eq!((&json["same_bits"], &json["failures"]), (&true.into(), &serde_json::json!([])), "{most}: {json}");
        run(&format!("{apply} --device pocl --output x.npy"));
        assert!(folder.read("x.npy") == folder.read("cpu.npy"), "{most}");
    }
}

#[test]
fn a_verdict_is_that_of_the_environment_of_the_compiler() {
    if !is_pocl() {
        return;
    }
    let folder = Folder::new();
    let verdict = |flags: Option<&str>| {
        let mut command = folder.command("devices --json");
        command.env("LANEFIELD_CACHE_DIR", folder.path("cache"));
        if let Some(flags) = flags {
            command.env("POCL_EXTRA_BUILD_FLAGS", flags);
        }
        let listed: serde_json::Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
        let pocl = common::opencl_device().unwrap().index;
        listed["opencl"][pocl]["bitwise"].as_bool()
    };
    let relaxed = Some("-cl-fast-relaxed-math");
    assert_eq!([verdict(relaxed), verdict(None), verdict(relaxed)], [Some(false), Some(true), Some(false)]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_driver_that_ends_the_program_while_devices_are_listed_is_told_of() {
    let folder = Folder::with_gauge();
    let (source, driver) = (folder.path("driver.c"), folder.path("driver.so"));
    let crashing = "#include <signal.h>\n#include <stdlib.h>\n\
                   void *clGetExtensionFunctionAddress(const char *name) { raise(atoi(getenv(\"SIGNAL\"))); return 0; }\n";
    std::fs::write(&source, crashing).unwrap();
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&driver, &source]).output();
    if !compiled.is_ok_and(|compiled| compiled.status.success()) {
        return;
    }
    std::fs::write(folder.path("driver.icd"), format!("{}\n", driver.display())).unwrap();
    let with_driver = |line: &str, signal: i32| {
        let mut command = folder.command(line);
        command.env("OCL_ICD_VENDORS", folder.path("driver.icd")).env("SIGNAL", signal.to_string());
        command.output().unwrap()
    };
    let observe = "observe --config gauge.nersc --observables plaquette";
    for (signal, line) in [(libc::SIGABRT, "devices"), (libc::SIGSEGV, "devices"), (libc::SIGABRT, observe)] {
        let output = with_driver(line, signal);
        assert_eq!(output.status.code(), Some(2), "{line}: {output:?}");
        let crashed_in = format!("it crashed in {}\n", driver.display());
        let said = text(&output.stderr);
        assert_contains(&said, &["an OpenCL driver crashed", "OCL_ICD_VENDORS", "--device cpu", &crashed_in]);
    }
    assert!(with_driver(&format!("{observe} --device cpu"), libc::SIGABRT).status.success());
}

/// What a command says, on a device that lacks something.
fn lacking(folder: &Folder, lacks: &str, words: &str) -> String {
    let output = folder.command(words).env("LANEFIELD_DEVICE_LACKS", lacks).output().unwrap();
    assert!(output.status.success(), "{words}: {}", text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn mixed_solves_compute_in_f64_on_the_cpu_where_a_device_has_none() {
    let Some(device) = common::opencl_device() else { return };
    let folder = Folder::with_gauge();
    for solver in ["mixed-half", "cg --precision f32"] {
        let solve = format!("solve --config gauge.nersc --source gauss:1 --mass 0.3 --solver {solver}");
        folder.succeeds(&format!("{solve} --device cpu --history cpu.csv --output cpu.npy"));
        let on_device = format!("{solve} --device {} --history x.csv --output x.npy", device.index);
        let said = lacking(&folder, "f64,division", &on_device);
        assert_contains(&said, &["true residual"]);
        for file in ["csv", "npy"] {
            assert!(folder.read(&format!("x.{file}")) == folder.read(&format!("cpu.{file}")), "{solver}: {file}");
        }
    }
}

#[test]
fn what_computes_in_f64_takes_the_cpu_unless_a_device_is_named() {
    let Some(device) = common::opencl_device() else { return };
    let folder = Folder::with_gauge();
    let observe = "observe --config gauge.nersc --device";
    let said = lacking(&folder, "f64", &format!("{observe} auto"));
    assert_contains(&said, &["has no f64: taking the CPU reference", "plaquette"]);
    let named = folder.command(&format!("{observe} {}", device.index)).env("LANEFIELD_DEVICE_LACKS", "f64").output();
    let named = named.unwrap();
    assert_eq!(named.status.code(), Some(2));
    assert_contains(&text(&named.stderr), &["has no f64 (cl_khr_fp64)", &device.driver_version]);
    let bench = "bench --kernel axpy --lattice 4.4.4.4 --samples 1 --precision f32,f64 --device";
    let said = lacking(&folder, "f64", &format!("{bench} {}", device.index));
    assert_contains(&said, &["has no f64: f64 is left out"]);
    let said = lacking(&folder, "f64", &format!("demo --device {}", device.index));
    assert_contains(&said, &["Same bits as published.", "has no f64, which this solve needs"]);
    let said = lacking(&folder, "f64", &format!("hunt --seconds 1 --seed 1 --device {}", device.index));
    assert_contains(&said, &["same bits"]);
}

#[test]
fn facts_about_drivers_are_listed_and_a_file_takes_their_place() {
    let Some(device) = common::opencl_device() else { return };
    let folder = Folder::new();
    let listed = |facts: &str| {
        let output = folder.command("devices --json").env("LANEFIELD_DRIVERS", facts).output().unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    assert_eq!(listed("none")["opencl"][device.index]["known"], serde_json::json!([]));
    folder.write(
        "facts.toml",
        b"[[driver]]\nwrong = 'f64 is slow'\ninstead = 'f64 is not used'\nseen = 'here'\nlacks = 'f64'\n",
    );
    let facts = folder.path("facts.toml");
    let of_file = &listed(facts.to_str().unwrap())["opencl"][device.index];
    assert_eq!(of_file["fp64"], false);
    assert_eq!(of_file["known"][0]["instead"], "f64 is not used");
    folder.write("facts.toml", b"[[driver]]\nwrong = 'f64 is slow'\n");
    let refused = listed(facts.to_str().unwrap());
    assert_contains(refused["no_opencl"].as_str().unwrap(), &["LANEFIELD_DRIVERS names '", "facts.toml", "instead"]);
    let refused = listed("/nonexistent/facts.toml");
    assert_contains(refused["no_opencl"].as_str().unwrap(), &["which cannot be read", "or none"]);
}

#[test]
#[ignore = "test-all: verifies each device"]
fn a_report_has_what_was_found_and_no_folders() {
    let Some(device) = common::opencl_device() else { return };
    let folder = Folder::new();
    let said = folder.succeeds("devices --report report.json");
    assert_contains(&said, &["same bits", "report.json"]);
    let report = text(&folder.read("report.json"));
    let json: serde_json::Value = serde_json::from_str(&report).unwrap();
    let found = &json["found"][device.index];
    assert_eq!(found["ended"], "same bits");
    assert_eq!(found["verify"]["verdict"], "same bits");
    assert!(found["checks"].as_array().unwrap().iter().all(|check| check["failures"] == 0));
    assert_eq!(json["opencl"][device.index]["name"], device.name.as_str());
    for personal in ["USER", "HOME", "HOSTNAME", "PWD"].iter().filter_map(|name| std::env::var(name).ok()) {
        assert!(personal.len() < 4 || !report.contains(&personal), "{personal}");
    }
}
