//! Handles of the C interface that free themselves, as tests use them, and what calls say.

use std::ffi::{CStr, CString};
use std::ptr::null_mut;

use lanefield::prelude::*;
use lanefield::reference::random::{Stream, gaussian_pair};
use lanefield_capi::*;

pub const OK: lf_status = lf_status::LF_OK;
pub const INVALID: lf_status = lf_status::LF_INVALID_ARGUMENT;
pub const EXTENTS: [i32; 4] = [4, 2, 2, 4];
pub const FULL: (lf_piece, lf_sites) = (lf_piece::LF_FULL, lf_sites::LF_ALL_SITES);
pub const SCHUR: (lf_piece, lf_sites) = (lf_piece::LF_MPC, lf_sites::LF_ODD);

pub fn said() -> String {
    // SAFETY: the text of this thread, before any other call.
    unsafe { CStr::from_ptr(lf_last_error()) }.to_str().unwrap().to_owned()
}

#[track_caller]
pub fn must(status: lf_status) {
    assert_eq!(status, OK, "{}", said());
}

/// Checks that a call failed in a way, and that it says why.
#[track_caller]
pub fn fails(status: lf_status, expected: lf_status, message: &str) {
    assert_eq!(status, expected, "{}", said());
    assert!(said().contains(message), "{}", said());
}

#[track_caller]
pub fn refused(status: lf_status, message: &str) {
    fails(status, INVALID, message);
}

/// Handles that are freed at the end of a test, as a C program would.
pub struct Case {
    pub context: *mut lf_context,
    pub configuration: *mut lf_configuration,
}

impl Case {
    pub fn on(device: &str, extents: [i32; 4]) -> Self {
        let (mut context, mut configuration) = (null_mut(), null_mut());
        let device = CString::new(device).unwrap();
        // SAFETY: places of this function.
        unsafe {
            must(lf_context_create(device.as_ptr(), 2, &raw mut context));
            must(lf_configuration_hot(context, extents.as_ptr(), 7, &raw mut configuration));
        }
        Self { context, configuration }
    }

    pub fn new() -> Self {
        Self::on("cpu", EXTENTS)
    }

    pub fn create(&self, name: &str, parameters: &[(&str, &str)]) -> (lf_status, *mut lf_operator) {
        let texts: Vec<[CString; 2]> =
            parameters.iter().map(|(name, value)| [name, value].map(|text| CString::new(*text).unwrap())).collect();
        let of_c = |[name, text]: &[CString; 2]| lf_parameter { name: name.as_ptr(), number: 0.0, text: text.as_ptr() };
        let parameters: Vec<lf_parameter> = texts.iter().map(of_c).collect();
        let (name, mut operator) = (CString::new(name).unwrap(), null_mut());
        // SAFETY: handles of this test, and texts that live.
        let status = unsafe {
            lf_operator_create(
                self.context,
                self.configuration,
                name.as_ptr(),
                parameters.as_ptr(),
                parameters.len(),
                &raw mut operator,
            )
        };
        (status, operator)
    }

    pub fn operator(&self, name: &str, parameters: &[(&str, &str)]) -> Operator {
        let (status, operator) = self.create(name, parameters);
        must(status);
        Operator(operator)
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        // SAFETY: made here, and not used again.
        unsafe {
            lf_configuration_free(self.configuration);
            lf_context_free(self.context);
        }
    }
}

pub struct Operator(pub *mut lf_operator);

// SAFETY: the header says that operators may be used by several threads at once.
unsafe impl Sync for Operator {}

impl Operator {
    pub fn reals(&self) -> usize {
        let mut reals = 0;
        // SAFETY: a handle of this test.
        must(unsafe { lf_operator_reals(self.0, &raw mut reals) });
        reals
    }

    /// Applies it by the numbers of C.
    pub fn try_apply(&self, [piece, sites, dagger]: [i32; 3], source: &[f64]) -> (lf_status, Vec<f64>) {
        let mut result = vec![f64::NAN; source.len()];
        let (from, to) = (source.as_ptr(), result.as_mut_ptr());
        // SAFETY: arrays of this length.
        let status = unsafe { lf_operator_apply_f64(self.0, piece, sites, dagger, from, to, source.len()) };
        (status, result)
    }

    pub fn apply_dagger(&self, (piece, sites): (lf_piece, lf_sites), dagger: i32, source: &[f64]) -> Vec<f64> {
        let (status, result) = self.try_apply([piece as i32, sites as i32, dagger], source);
        must(status);
        result
    }

    pub fn apply(&self, piece: (lf_piece, lf_sites), source: &[f64]) -> Vec<f64> {
        self.apply_dagger(piece, 0, source)
    }

    pub fn solve(&self, eta: &[f64], psi: &mut [f64], options: &lf_solve_options) -> lf_status {
        let (from, to) = (eta.as_ptr(), psi.as_mut_ptr());
        // SAFETY: arrays of which the second one is as long as the first.
        unsafe { lf_solve(self.0, from, to, eta.len(), options, null_mut()) }
    }

    pub fn check(
        &self,
        (piece, sites): (lf_piece, lf_sites),
        source: &[f64],
        result: &[f64],
    ) -> (lf_status, lf_report) {
        let mut report = empty_report();
        // SAFETY: arrays of this length.
        let status = unsafe {
            let (from, to) = (source.as_ptr(), result.as_ptr());
            lf_check_operator_f64(self.0, piece as i32, sites as i32, 0, from, to, source.len(), &raw mut report)
        };
        (status, report)
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // SAFETY: made here, and not used again.
        unsafe { lf_operator_free(self.0) };
    }
}

pub fn empty_report() -> lf_report {
    // SAFETY: all of its members are numbers.
    let mut report: lf_report = unsafe { std::mem::zeroed() };
    report.size = size_of::<lf_report>();
    report
}

pub fn text(report: &lf_report) -> String {
    // SAFETY: a text of the report.
    unsafe { CStr::from_ptr(report.text.as_ptr()) }.to_str().unwrap().to_owned()
}

pub fn gauss(reals: usize) -> Vec<f64> {
    let pair = |k: usize| gaussian_pair(5, Stream::TestData, k as u64, 0);
    (0..reals / 2).flat_map(|k| [pair(k).0, pair(k).1]).collect()
}

pub fn complex(reals: &[f64]) -> Vec<Complex<f64>> {
    reals.chunks(2).map(|pair| Complex::new(pair[0], pair[1])).collect()
}

#[track_caller]
pub fn assert_same_bits(found: &[f64], expected: &[Complex<f64>]) {
    let bits = |x: &f64| x.to_bits();
    assert!(found.iter().map(bits).eq(expected.iter().flat_map(|z| [&z.re, &z.im]).map(bits)));
}

pub fn configuration() -> Configuration {
    Configuration::hot(Extents::new(EXTENTS.map(|extent| extent as usize)).unwrap(), 7)
}
