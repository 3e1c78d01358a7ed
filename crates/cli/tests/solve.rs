//! `lanefield solve`: a history that is the same file everywhere, and honest exit codes.

use lanefield::io::npy;

use super::{Folder, assert_contains, opencl, text};

const SOLVE: &str = "solve --config gauge.nersc --source gauss:4 --mass 0.1";

fn the_history_is_the_same_file(precisions: &[&str]) {
    let folder = Folder::with_gauge();
    let devices =
        [Some("--device cpu --threads 1".to_owned()), Some("--device cpu --threads 2 --lanes 16".into()), opencl()];
    for precision in precisions {
        let mut first = None;
        for device in devices.iter().flatten() {
            for lanes in ["--lanes 64", "--lanes 16"] {
                let solve = format!("{SOLVE} --precision {precision} {device} --history h.csv --output x.npy");
                folder.succeeds(&if device.contains("--lanes") { solve } else { format!("{solve} {lanes}") });
                let files = (folder.read("h.csv"), folder.read("x.npy"));
                let first = first.get_or_insert_with(|| files.clone());
                assert!(files.0 == first.0, "{precision} {device} {lanes}: {}", text(&files.0));
                assert!(files.1 == first.1, "{precision} {device} {lanes}: the solutions differ");
            }
        }
    }
}

#[test]
fn the_history_is_the_same_file_for_any_threads_lanes_and_device() {
    the_history_is_the_same_file(&["f64"]);
}

#[test]
#[ignore = "test-all: f32, all sites and links of 12 reals on a device"]
fn the_history_is_the_same_file_in_other_precisions_and_links() {
    the_history_is_the_same_file(&["f32", "f64 --unpreconditioned --links 12"]);
}

#[test]
fn the_history_is_decimal_and_bits_of_the_squared_residual() {
    let folder = Folder::with_gauge();
    let json = folder.json(&format!("{SOLVE} --device cpu --history h.csv"));
    let history = text(&folder.read("h.csv"));
    let mut lines = history.lines();
    assert_eq!(lines.next(), Some("iteration,residual,residual_bits"));
    let mut last = None;
    for (number, line) in lines.enumerate() {
        let [iteration, residual, bits] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert_eq!(iteration, number.to_string());
        assert_eq!(residual.parse::<f64>().unwrap().to_bits(), u64::from_str_radix(bits, 16).unwrap());
        assert!(bits.len() == 16 && bits == bits.to_lowercase());
        last = Some((number, bits.to_owned()));
    }
    let (iterations, bits) = last.unwrap();
    assert_eq!(json["iterations"], iterations);
    assert_eq!(json["residual_squared_bits"], bits);
    assert!(history.ends_with('\n') && !history.contains('\r'));
}

#[test]
fn the_solution_solves_the_equation() {
    let folder = Folder::with_gauge();
    let json = folder.json(&format!("{SOLVE} --device cpu --output x.npy --bandwidth"));
    assert_eq!(json["converged"], true);
    assert!(json["true_residual"].as_f64().unwrap() <= 1e-9 && json["solution_residual"].as_f64().unwrap() < 1e-8);
    for number in
        ["seconds", "flops_per_second", "bytes_per_second", "copy_bytes_per_second", "share_of_copy_bandwidth"]
    {
        assert!(json[number].as_f64().unwrap() > 0.0, "{number}");
    }
    // M x is the source again.
    folder.succeeds(
        "apply --operator wilson --mass 0.1 --device cpu --config gauge.nersc --source x.npy --output mx.npy",
    );
    let mx = npy::read_spinor(&folder.path("mx.npy")).unwrap().values.into_f64();
    let (mut difference, mut whole) = (0.0, 0.0);
    for (i, z) in (0u64..).zip(mx) {
        use lanefield::reference::random::{Stream, gaussian_pair};
        let (re, im) = gaussian_pair(4, Stream::SpinorSource, i / 12, (i % 12) as u32);
        difference += (z.re - re).powi(2) + (z.im - im).powi(2);
        whole += re * re + im * im;
    }
    assert!((difference / whole).sqrt() < 1e-8, "{difference} of {whole}");
}

#[test]
fn the_table_says_what_was_run_how_fast_and_how_well() {
    let folder = Folder::with_gauge();
    let output = folder.run(&format!("{SOLVE} --device cpu --threads 1 --lanes 64 --tolerance 1e-4 --bandwidth"));
    assert_eq!(output.status.code(), Some(0));
    let rows = [
        "CPU reference, 1 thread",
        "4.4.4.8",
        "64-byte lanes",
        "plaquette",
        "iterations",
        "true residual",
        "|η − Mψ| / |η|",
        "GFlop/s",
        "GB/s",
        "% of the copy bandwidth",
        "tolerance 1e-4",
    ];
    assert_contains(&text(&output.stdout), &rows);
    // No progress bar where standard error is no terminal.
    assert_eq!(
        text(&output.stderr),
        "running on CPU reference, 1 thread, ".to_owned() + lanefield::backend::Cpu::vector_instructions() + "\n"
    );
}

#[test]
fn no_bandwidth_is_measured_unless_it_is_asked_for() {
    let folder = Folder::with_gauge();
    let json = folder.json(&format!("{SOLVE} --device cpu --tolerance 1e-2"));
    assert!(json["bytes_per_second"].is_number());
    assert!(json["copy_bytes_per_second"].is_null() && json["share_of_copy_bandwidth"].is_null());
    let table = folder.succeeds(&format!("{SOLVE} --device cpu --tolerance 1e-2"));
    assert!(table.contains("GB/s") && !table.contains("copy bandwidth"), "{table}");
}

#[test]
fn negative_masses_and_coefficients_are_values() {
    let folder = Folder::with_gauge();
    let solve = "solve --config gauge.nersc --source gauss:4 --device cpu --tolerance 1e-2 --operator";
    let json = folder.json(&format!("{solve} clover --mass -0.1 --csw -0.5 --csw-t -0.25"));
    let expected = serde_json::json!({ "mass": -0.1, "csw_r": -0.5, "csw_t": -0.25 });
    assert_eq!(json["parameters"], expected);
    let json = folder.json(&format!("{solve} twisted-mass --mass -1e-1 --mu -1e-4"));
    assert_eq!(json["parameters"], serde_json::json!({ "mass": -0.1, "mu": -1e-4 }));
    let json = folder.json(&format!("{solve} mobius --mass 0.1 --ls 4 --m5 1.5 --b 1.25 --c 0.25 --s-inverse dense"));
    let expected = serde_json::json!({ "mass": 0.1, "ls": 4, "m5": 1.5, "b": 1.25, "c": 0.25, "s_inverse": "dense" });
    assert_eq!(json["parameters"], expected);
}

#[test]
fn no_convergence_is_exit_code_1_with_the_history_until_then() {
    let folder = Folder::with_gauge();
    let error = folder.fails(1, &format!("{SOLVE} --device cpu --max-iterations 3 --history h.csv --output x.npy"));
    assert_contains(&error, &["no convergence in 3 iterations", "allow more iterations"]);
    assert_eq!(text(&folder.read("h.csv")).lines().count(), 5);
    assert_eq!(folder.names(), ["gauge.nersc", "h.csv"]);
    let output = folder.run(&format!("{SOLVE} --device cpu --max-iterations 3 --json"));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["converged"], &json["iterations"]), (&false.into(), &3.into()));
    assert!(json["failure"].as_str().unwrap().contains("no convergence") && json["seconds"].is_null());
}

#[test]
fn a_tolerance_that_f32_cannot_hold_is_exit_code_1() {
    let folder = Folder::with_gauge();
    let error = folder.fails(1, &format!("{SOLVE} --device cpu --precision f32 --tolerance 1e-12"));
    assert_contains(&error, &["f32"]);
}

#[test]
fn misuse_is_refused_with_what_would_be_right() {
    let folder = Folder::with_gauge();
    let misused =
        |what: &str| folder.misused(&format!("solve --config gauge.nersc --source gauss:1 --device cpu {what}"));
    let fails = |what: &str| folder.fails(2, &format!("{SOLVE} --device cpu {what}"));
    assert_contains(&misused(""), &["--mass"]);
    for tolerance in ["0", "1e-300", "1", "-1e-3", "nan", "x"] {
        assert_contains(&misused(&format!("--mass 1 --tolerance={tolerance}")), &["from 1e-100 to below 1"]);
    }
    for number in ["0", "99999999999999999999"] {
        let error = misused(&format!("--mass 1 --max-iterations {number}"));
        assert_contains(&error, &[&format!("invalid number of iterations '{number}'"), "a whole number from 1 to "]);
    }
    assert_contains(&misused("--mass 1 --precision f16"), &["possible values: f32, f64"]);
    assert_contains(&misused("--mass 1 --operator hop"), &["possible values: wilson"]);
    assert_contains(&fails("--history absent/h.csv"), &["absent/h.csv"]);
    assert_contains(&fails("--output ."), &["directory"]);
    for same in ["--output s.npy --history s.npy", "--output s.npy --history ./s.npy", "--history ./gauge.nersc"] {
        assert_contains(&fails(same), &["name the same file"]);
    }
    let error = folder.fails(2, "solve --config gauge.nersc --source gauss:1 --device cpu --mass -4");
    assert_contains(&error, &["mass -4", "--unpreconditioned"]);
    let twisted = "solve --config gauge.nersc --source gauss:1 --device cpu --operator twisted-mass --mass -4 --mu";
    assert_contains(&folder.fails(2, &format!("{twisted} 0")), &["mass -4, mu 0 is 0", "--unpreconditioned"]);
    assert_eq!(folder.names(), ["gauge.nersc"]);
}

#[test]
fn an_odd_lattice_is_solved_without_preconditioning_alone() {
    let folder = Folder::new();
    folder.succeeds("config generate unit --lattice 3.4.4.4 --output odd.nersc");
    let solve = "solve --config odd.nersc --source gauss:1 --mass 0.5 --device cpu";
    assert_contains(&folder.fails(2, solve), &["extent 3 of x is odd", "--unpreconditioned"]);
    folder.succeeds(&format!("{solve} --unpreconditioned"));
}

#[test]
fn a_solve_that_does_not_fit_the_device_says_so_and_has_the_same_history() {
    let Some(device) = opencl() else { return };
    let folder = Folder::with_gauge();
    let limited = |what: &str, limit: &str| {
        let output = folder.command(&format!("{SOLVE} {device} {what}")).env("LANEFIELD_MEMORY_LIMIT", limit).output();
        output.unwrap()
    };
    let whole = folder.json(&format!("{SOLVE} {device} --history whole.csv"));
    assert_eq!(whole["fallback_bytes"], 0);
    let output = limited("--history limited.csv --json", "200K");
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_contains(&said, &["warning: no room for "]);
    assert_eq!(said.matches("lies in the host's memory").count(), 1, "{said}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["fallback_bytes"].as_u64().unwrap() > 100_000, "{json}");
    assert_eq!(folder.read("limited.csv"), folder.read("whole.csv"));
    assert_contains(&text(&limited("", "200K").stdout), &["bytes did not fit the device"]);
    // 8 links of 9 complex numbers on each of 512 sites do not fit a quarter of that.
    let lacks = [("LANEFIELD_DEVICE_LACKS", "large-buffers"), ("LANEFIELD_MEMORY_LIMIT", "400K")];
    let output = folder.command(&format!("{SOLVE} {device}")).envs(lacks).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_contains(&text(&output.stderr), &["CL_INVALID_BUFFER_SIZE", "at most 102400 in one buffer"]);
    let output = limited("", "much");
    assert_eq!(output.status.code(), Some(2));
    assert_contains(&text(&output.stderr), &["invalid LANEFIELD_MEMORY_LIMIT 'much': expected a number of bytes"]);
}
