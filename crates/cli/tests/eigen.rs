//! `lanefield eigen`, `--deflate` and `--solver block-cg`: the same files everywhere, fewer iterations, and honest errors.

use super::{Folder, assert_contains, opencl};

const EIGEN: &str = "eigen --config gauge.nersc --mass 0.1 --number 6 --tolerance 1e-9";

/// The iterations of a solve of which `--json` is printed.
fn iterations(document: &serde_json::Value) -> u64 {
    document["iterations"].as_u64().unwrap()
}

#[test]
#[ignore = "test-all: the same files on a device"]
fn eigenvectors_are_the_same_file_on_every_device() {
    let folder = Folder::with_gauge();
    let devices = [Some("--device cpu --lanes 16".to_owned()), Some("--device cpu --threads 2".into()), opencl()];
    let mut first = None;
    for (number, device) in devices.iter().flatten().enumerate() {
        let name = format!("{number}.eigen");
        let document = folder.json(&format!("{EIGEN} --output {name} {device}"));
        let found = (document["eigenpairs"].clone(), document["sha256"].clone(), folder.read(&name));
        assert!(found == *first.get_or_insert_with(|| found.clone()), "{device}");
        let lambda = |k: usize| document["eigenpairs"][k]["lambda"].as_f64().unwrap();
        assert!(lambda(0) > 0.0 && (1..6).all(|k| lambda(k - 1) <= lambda(k)));
    }
}

#[test]
fn solves_begin_with_eigenvectors_of_their_own_operator_alone() {
    let folder = Folder::with_gauge();
    folder.succeeds(&format!("{EIGEN} --output low.eigen --device cpu"));
    let solve = "solve --config gauge.nersc --source gauss:3 --mass 0.1 --device cpu";
    let without = folder.json(solve);
    let with = folder.json(&format!("{solve} --deflate low.eigen --checkpoint state --checkpoint-every 5"));
    assert_eq!((without["deflation"].as_u64(), with["deflation"].as_u64()), (None, Some(6)));
    assert!(iterations(&with) < iterations(&without), "{with}, {without}");
    assert!(with["true_residual"].as_f64().unwrap() < 1e-9);
    // The checkpoint is of a solve with these eigenvectors.
    let refused = folder.fails(2, &format!("{solve} --checkpoint state --resume"));
    assert_contains(&refused, &["its solver is cg, deflated by 6 eigenvectors of SHA-256"]);
    for solver in ["cg --batch 2", "block-cg --batch 2", "mixed-f32"] {
        let document = folder.json(&format!("{solve} --solver {solver} --deflate low.eigen"));
        assert_eq!(document["deflation"].as_u64(), Some(6), "{solver}");
    }

    let fails = |line: &str, part: &str| assert_contains(&folder.fails(2, line), &[part]);
    let other = "solve --config gauge.nersc --source gauss:3 --device cpu --deflate low.eigen";
    fails(&format!("{other} --mass 0.2"), "its operator is wilson, mass 0.1");
    fails(&format!("{other} --mass 0.1 --unpreconditioned"), "its preconditioning is even-odd");
    fails(&format!("{other} --mass 0.1 --boundary 1,1,1,1"), "its boundary is");
    fails(&format!("{other} --mass 0.1 --solver bicgstab"), "bicgstab solves the operator itself");
    fails(&format!("{other} --mass 0.1 --shifts 0,1"), "--deflate has eigenvectors of one system");
    folder.succeeds("config generate hot --lattice 4.4.4.4 --seed 5 --output other.nersc");
    fails(
        "solve --config other.nersc --source gauss:3 --mass 0.1 --device cpu --deflate low.eigen",
        "its configuration is",
    );
    fails(&format!("{solve} --deflate gauge.nersc"), "it is not a checkpoint");
    fails(&format!("{solve} --deflate none.eigen"), "cannot deflate with none.eigen");
    fails(&format!("{EIGEN} --basis 7 --device cpu"), "a basis of 7 vectors is too small for 6 eigenpairs");
}

#[test]
fn a_search_whose_restarts_run_out_continues_to_the_same_file() {
    let folder = Folder::with_gauge();
    let search = format!("{EIGEN} --device cpu");
    folder.succeeds(&format!("{search} --output whole.eigen"));
    let error = folder.fails(1, &format!("{search} --max-restarts 1 --output low.eigen"));
    let continues = "--checkpoint low.stopped.eigen --resume and a larger --max-restarts continues";
    assert_contains(&error, &["eigenpairs were found in 1 restarts", continues]);
    let run = format!("{search} --checkpoint state --checkpoint-every 1000");
    let error = folder.fails(1, &format!("{run} --max-restarts 1 --output low.eigen"));
    assert_contains(&error, &["with --resume and a larger --max-restarts continues from state"]);
    assert!(!folder.path("low.eigen").exists() && folder.read("state") == folder.read("low.stopped.eigen"));
    assert!(folder.json(&format!("{run} --resume --output low.eigen"))["resumed_from"].as_u64().unwrap() > 0);
    assert!(folder.read("low.eigen") == folder.read("whole.eigen"), "the eigenvectors differ");
    // A file of the other kind is no state, and not eigenpairs.
    let refused = folder.fails(2, &format!("{search} --checkpoint low.eigen --resume"));
    assert_contains(&refused, &["low.eigen", "it holds lowest eigenpairs", "wrote as its --checkpoint"]);
    let solve = "solve --config gauge.nersc --source gauss:3 --mass 0.1 --device cpu";
    let refused = folder.fails(2, &format!("{solve} --deflate state"));
    assert_contains(&refused, &["cannot deflate with state", "Lanczos", "not eigenpairs", "lanefield eigen"]);
}

#[test]
#[ignore = "test-all: the same files on a device"]
fn a_block_is_the_same_files_on_every_device_and_goes_on_from_a_checkpoint() {
    let folder = Folder::with_gauge();
    let solve = "solve --config gauge.nersc --source gauss:3 --mass 0.1 --batch 3 --solver block-cg";
    let devices = [Some("--device cpu --lanes 16".to_owned()), Some("--device cpu --threads 2".into()), opencl()];
    let mut first = None;
    for device in devices.iter().flatten() {
        let document = folder.json(&format!("{solve} --output x.npy --history h.csv {device}"));
        assert_eq!(document["solver"], "block-cg");
        let found = (folder.read("x.npy"), folder.read("h.csv"));
        assert!(found == *first.get_or_insert_with(|| found.clone()), "{device}");
    }
    let Some((x, h)) = first else { panic!("there is no device") };
    let checkpoint =
        format!("{solve} --output y.npy --history g.csv --checkpoint state --checkpoint-every 4 --device cpu");
    folder.fails(1, &format!("{checkpoint} --max-iterations 9"));
    folder.succeeds(&format!("{checkpoint} --resume"));
    assert!((folder.read("y.npy"), folder.read("g.csv")) == (x, h));
}

#[test]
fn propagators_are_solved_in_a_block_and_deflated() {
    let folder = Folder::with_gauge();
    folder.succeeds(&format!("{EIGEN} --output low.eigen --device cpu"));
    let propagator = "propagator --operator wilson --config gauge.nersc --source point:0,0,0,0 --mass 0.1 --device cpu";
    let of = |more: &str, name: &str| {
        let document = folder.json(&format!("{propagator} {more} --output {name}.npy"));
        let rhs = document["rhs"].as_array().unwrap();
        assert!(rhs.iter().all(|rhs| rhs["true_residual"].as_f64().unwrap() < 1e-9));
        rhs.iter().map(iterations).max().unwrap()
    };
    let batch = of("", "batch");
    assert!(of("--solver block-cg", "block") < batch);
    assert!(of("--deflate low.eigen", "deflated") < batch);
    assert!(of("--solver block-cg --deflate low.eigen", "both") < batch);
    let refused = folder.fails(2, &format!("{propagator} --solver block-cg --groups 2 --output g.npy"));
    assert_contains(&refused, &["--groups 2 divides the twelve right-hand sides"]);
}
