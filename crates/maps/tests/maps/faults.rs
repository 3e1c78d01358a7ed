//! Faults are found: a planted one, and what a capture shows when it is run again.

use std::sync::atomic::{AtomicBool, Ordering};

use lanefield::backend::BackendError;
use lanefield::capture::Capture;

use super::*;

static IS_FAULTY: AtomicBool = AtomicBool::new(false);

/// The square of a number; with a fault that is switched on after it was recorded, in one element another one.
#[map_kernel]
fn faulty<P: Point>(p: P, out: Write<P, f32, 1>, x: Read<P, f32, 1>) {
    let [i] = p.index();
    let x = x.at([i]);
    let square = x * x;
    out.write([i], square);
    if IS_FAULTY.load(Ordering::Relaxed) {
        p.when(i.equals(P::I32::constant(70)), || out.write([i], x.fma(x, square * P::F32::constant(1e-7))));
    }
}

#[test]
fn a_planted_fault_in_one_bit_of_one_element_is_found() {
    fn squares<B: MapBackend>(backend: &B) -> Vec<u64> {
        let x = backend.array([71], &numbers(71)).unwrap();
        let mut out = backend.zero_array([71]).unwrap();
        Faulty { out: &mut out, x: &x }.launch(backend, [71]).unwrap();
        bits(out.read(backend).unwrap())
    }
    let right = everywhere!(|backend| squares(backend));
    IS_FAULTY.store(true, Ordering::Relaxed);
    // The recording is from before; the CPU runs the body itself.
    let found = squares(&host());
    let differs: Vec<usize> = (0..71).filter(|&k| found[k] != right[k]).collect();
    assert_eq!(differs, [70]);
    if let Some(device) = device() {
        assert_eq!(squares(device), right);
    }
}

/// Numbers times a number.
#[map_kernel]
fn scaled<P: Point>(p: P, out: Write<P, f64, 1>, a: Scalar<P, f64>, x: Read<P, f64, 1>) {
    let [i] = p.index();
    out.write([i], x.at([i]) * a.get());
}

#[test]
fn a_captured_map_has_the_same_bits_when_it_is_run_again() {
    let Some(device) = opened() else { return };
    let x: Vec<f64> = (0..1000).map(|k| f64::from(k) / 7.0).collect();
    let held = ArrayOn::new(&device, [1000], Storage::Global, &x).unwrap();
    let mut out = ArrayOn::new(&device, [1000], Storage::Global, &[0.0; 1000]).unwrap();
    let mut work = || Scaled { out: &mut out, a: 1.5, x: &held }.launch(&device, [1000]).map_err(BackendError::device);
    let captured = Capture::new(device.capture("map_scaled", &mut work).unwrap(), device.context().info());
    let found = opened().unwrap().context().replay(&captured.launch).unwrap();
    assert_eq!(captured.differences(&found), []);
    let written = captured.launch.buffers.iter().find_map(|buffer| buffer.after.as_ref()).unwrap();
    let expected: Vec<u8> = x.iter().flat_map(|x| (x * 1.5).to_ne_bytes()).collect();
    assert!(written.starts_with(&expected));
}
