//! No allocation that grows with the lattice may end the process: the n-th of them fails, for each n, from reading a configuration to writing the
//! solution on the CPU reference, and what comes is an error, after which all memory is free again. Each n is a process of its own: an allocation whose
//! failure nobody handles aborts. And while a solver iterates, there is no such allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicIsize, Ordering};

use lanefield::comm::WholeLattice;
use lanefield::io::{checkpoint, nersc, npy};
use lanefield::prelude::*;
use lanefield::solver::{Checkpoints, solve_from};

/// What counts as large, in bytes: less than a spinor field on the sites of one parity of [`EXTENTS`], and more than any buffer of files.
const LARGE: usize = 300_000;
const EXTENTS: [usize; 4] = [8, 8, 8, 8];

/// Large allocations until one fails; negative: none does.
static LEFT: AtomicIsize = AtomicIsize::new(isize::MIN);
/// Large allocations in use.
static IN_USE: AtomicIsize = AtomicIsize::new(0);
/// Large allocations so far.
static MADE: AtomicIsize = AtomicIsize::new(0);
/// Held by a test that counts: the counts are those of the process.
static COUNTING: Mutex<()> = Mutex::new(());

struct Failing;

#[global_allocator]
static FAILING: Failing = Failing;

impl Failing {
    /// Whether an allocation is to succeed.
    fn grants(&self, bytes: usize) -> bool {
        bytes < LARGE || LEFT.load(Ordering::Relaxed) < 0 || LEFT.fetch_sub(1, Ordering::Relaxed) != 0
    }
}

// SAFETY: all that is granted is the system's; a null pointer says that there is no memory.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !self.grants(layout.size()) {
            return std::ptr::null_mut();
        }
        IN_USE.fetch_add((layout.size() >= LARGE).into(), Ordering::Relaxed);
        MADE.fetch_add((layout.size() >= LARGE).into(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        IN_USE.fetch_sub((layout.size() >= LARGE).into(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(start, layout) }
    }
}

fn alone() -> WholeLattice {
    WholeLattice::alone(Extents::new(EXTENTS).unwrap())
}

/// How a run ended, and how many allocations of it are still in use.
fn run<M: Model>(folder: &Path, how: &Solve<M>, left: isize) -> (Result<(), Box<dyn std::error::Error>>, isize) {
    let cpu = Cpu::new("1".parse().ok()).unwrap();
    let before = IN_USE.load(Ordering::Relaxed);
    LEFT.store(left, Ordering::Relaxed);
    let solve = || -> Result<(), Box<dyn std::error::Error>> {
        let configuration = nersc::read(&folder.join("gauge.nersc"))?.configuration;
        let eta = npy::read_spinor(&folder.join("eta.npy"))?.values.into_f64();
        let path = folder.join("state");
        let warn = |_: &_| ();
        let mut watcher = Checkpoints { path, every: 2, identity: Default::default(), lattice: alone(), warn };
        let report = solve_from::<f64, _, _>(&cpu, &configuration, &eta, how, &mut watcher, None)?;
        if let Some(why) = report.unchecked {
            return Err(why.into());
        }
        let state = checkpoint::read(&folder.join("state"), &Default::default(), &alone())?;
        drop(report.solution);
        let report = solve_from::<f64, _, _>(&cpu, &configuration, &eta, how, &mut watcher, Some(&state))?;
        if let Some(why) = report.unchecked {
            return Err(why.into());
        }
        Ok(npy::write_spinor(&folder.join("psi.npy"), configuration.extents(), &report.solution)?)
    };
    let ended = solve();
    LEFT.store(isize::MIN, Ordering::Relaxed);
    (ended, IN_USE.load(Ordering::Relaxed) - before)
}

/// Runs one of the solves with its `left`-th allocation failing.
fn run_case(folder: &Path, case: usize, left: isize) -> (Result<(), Box<dyn std::error::Error>>, isize) {
    let wilson = WilsonParameters { mass: 0.5, hop: HopParameters::default() };
    let clover = CloverParameters { mass: 0.5, csw_r: 1.0, csw_t: 1.0, hop: HopParameters::default() };
    let params = SolverParams { tolerance: 1e-2, ..SolverParams::auto::<f64>() };
    let (preconditioning, method, lanes) = (Preconditioning::EvenOdd, Method::ConjugateGradients, LaneChoice::Auto);
    let how = Solve { operator: wilson, preconditioning, method, params, lanes };
    match case {
        0 => run(folder, &how, left),
        1 => run(folder, &Solve { preconditioning: Preconditioning::None, method: Method::BiCgStab, ..how }, left),
        2 => run(folder, &Solve { method: Method::MixedHalf, ..how }, left),
        _ => run(folder, &Solve { operator: clover, preconditioning, method, params, lanes }, left),
    }
}

/// The variable by which a process knows that it is one for a case and an n.
const CHILD: &str = "LANEFIELD_TEST_ALLOCATION";

#[test]
fn each_allocation_that_fails_is_an_error_that_names_it_and_leaves_nothing() {
    let text = |name: &str| std::env::var(name).ok();
    if let Some(child) = text(CHILD) {
        let words: Vec<&str> = child.split(' ').collect();
        let (ended, in_use) = run_case(Path::new(words[2]), words[0].parse().unwrap(), words[1].parse().unwrap());
        println!("ended: {in_use} {}", ended.map_or_else(|error| error.to_string(), |()| "well".to_owned()));
        return;
    }
    let _counting = COUNTING.lock().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let extents = Extents::new(EXTENTS).unwrap();
    let configuration = Configuration::weak(extents, 3, 0.3);
    nersc::write(&folder.path().join("gauge.nersc"), &configuration, &nersc::NerscOptions::default()).unwrap();
    let eta: Vec<Complex<f64>> = (0..extents.volume() * 12).map(|k| Complex::new((k % 7) as f64, 1.0)).collect();
    npy::write_spinor(&folder.path().join("eta.npy"), extents, &eta).unwrap();
    let child = |case: usize, left: isize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "--exact",
            "each_allocation_that_fails_is_an_error_that_names_it_and_leaves_nothing",
            "--nocapture",
        ]);
        let output = command.env(CHILD, format!("{case} {left} {}", folder.path().display())).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = text.split("ended: ").nth(1).and_then(|rest| rest.lines().next()).map(str::to_owned);
        said.unwrap_or_else(|| panic!("case {case}, allocation {left}: {}", String::from_utf8_lossy(&output.stderr)))
    };
    for case in 0..4 {
        let mut failed = 0;
        for left in 0.. {
            let said = child(case, left);
            let (in_use, message) = said.split_once(' ').unwrap();
            assert_eq!(in_use, "0", "case {case}, allocation {left}: {message}");
            if message == "well" {
                break;
            }
            assert!(message.contains(" bytes"), "case {case}, allocation {left}: {message}");
            failed += 1;
        }
        assert!(failed > 20, "case {case}: only {failed} allocations were seen");
    }
}

#[test]
fn iterations_allocate_nothing_as_large_as_a_field() {
    let _counting = COUNTING.lock().unwrap();
    let (cpu, extents) = (Cpu::new("2".parse().ok()).unwrap(), Extents::new(EXTENTS).unwrap());
    let configuration = Configuration::weak(extents, 3, 0.3);
    let eta: Vec<Complex<f64>> = (0..extents.volume() * 12).map(|k| Complex::new((k % 7) as f64, 1.0)).collect();
    let operator = WilsonParameters { mass: 0.3, hop: HopParameters::default() };
    for method in [Method::ConjugateGradients, Method::BiCgStab, Method::MixedF32] {
        let (preconditioning, lanes) = (Preconditioning::EvenOdd, LaneChoice::Auto);
        let how = Solve { operator, preconditioning, method, params: SolverParams::auto::<f64>(), lanes };
        let mut made = Vec::with_capacity(1000);
        let watch = |_: usize, _: f64| made.push(MADE.load(Ordering::Relaxed));
        solve::<f64, _, _>(&cpu, &configuration, &eta, &how, watch).unwrap();
        assert!(made.len() > 5 && made[0] > 5, "{method:?}: {made:?}");
        assert!(made.iter().all(|&made_until_then| made_until_then == made[0]), "{method:?}: {made:?}");
    }
}
