//! Compares a caller's array with the result of the reference, bit for bit.

use std::ffi::c_char;
use std::sync::Arc;

use lanefield::dynamic::Piece;
use lanefield::io::npy::{ComplexArray, ComplexValues};
use lanefield::reference::field::Object;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::{Extents, Sites};
use lanefield::reference::real::Precision;
use lanefield_ports::compare::{self, CompareOptions};
use num_complex::Complex;
use rayon::prelude::*;

use crate::configuration::lf_configuration;
use crate::context::lf_context;
use crate::operator::{Place, dagger, lf_operator, lf_parameter, parameters, sites_of};
use crate::pointer::{array, complex, fixed_text, handle};
use crate::status::{Outcome, guarded, lf_status, note};
use crate::struct_size::{Growing, check_sized, put_sized};

/// Size of the text of a report, including the zero byte at its end.
pub const LF_REPORT_LENGTH: usize = 512;

/// The result of a comparison. Set `size` before the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct lf_report {
    /// sizeof(lf_report), set by the caller. Later versions add members at the end.
    pub size: usize,
    /// Number of reals that were compared: those on the sites of the result.
    pub compared: u64,
    /// Number of reals whose bits differ. Any NaN equals any other; +0 and -0 differ.
    pub differing: u64,
    /// Largest distance in units in the last place; UINT64_MAX if one of two values is NaN.
    pub most_ulp: u64,
    /// Site x, y, z, t of the first difference, in site order. This and the following numbers are meaningless if nothing differs.
    pub site: [i32; 4],
    /// Its coordinate along the fifth dimension; -1 if there is none.
    pub s: i32,
    /// Its spin; for colour vectors the number of the vector.
    pub spin: i32,
    /// Its colour.
    pub colour: i32,
    /// 0: the real part; 1: the imaginary part.
    pub part: i32,
    /// The caller's number. An f32 is given as a double, exactly.
    pub found: f64,
    /// The reference's number.
    pub expected: f64,
    /// The bits of the caller's number; an f32 is in the lower half.
    pub found_bits: u64,
    /// The bits of the reference's number.
    pub expected_bits: u64,
    /// Distance of the two numbers in units in the last place; UINT64_MAX if one is NaN.
    pub ulp: u64,
    /// The report as text.
    pub text: [c_char; LF_REPORT_LENGTH],
    /// Possible causes, inferred from the pattern of the differences, the most certain first; empty if none is known. A is the caller's
    /// array, B the reference's.
    pub cause: [c_char; LF_REPORT_LENGTH],
}

impl Growing for lf_report {
    const NAME: &'static str = "lf_report";
}

/// The first difference.
#[derive(Clone, Copy)]
struct First {
    /// Its index among the reals in site order.
    place: usize,
    differing: u64,
    most_ulp: u64,
}

/// The minimum number of reals that a task compares.
const REALS_A_TASK: usize = 1 << 14;

fn ulp<R: Vectors>(a: R, b: R) -> u64 {
    if a.is_nan() || b.is_nan() { u64::MAX } else { a.ulp_distance(b) }
}

/// Compares the arrays on the sites of a result. Runs on the thread pool in which it is called.
fn count<R: Vectors>(
    found: &[R],
    expected: &[R],
    (extents, sites, words): (Extents, Sites, usize),
) -> (u64, Option<First>) {
    let reals_a_site = 2 * words;
    let sites_a_task = REALS_A_TASK.div_ceil(reals_a_site);
    let compare_task = |task: usize| {
        let (mut compared, mut first) = (0, None::<First>);
        let range = task * sites_a_task..extents.volume().min((task + 1) * sites_a_task);
        for site in range.filter(|site| sites.contain(extents.coordinate(*site))) {
            compared += reals_a_site as u64;
            for place in site * reals_a_site..(site + 1) * reals_a_site {
                let (found, expected) = (found[place], expected[place]);
                if !found.same_bits(expected) {
                    let first = first.get_or_insert(First { place, differing: 0, most_ulp: 0 });
                    first.differing += 1;
                    first.most_ulp = first.most_ulp.max(ulp(found, expected));
                }
            }
        }
        (compared, first)
    };
    let merge = |a: (u64, Option<First>), b: (u64, Option<First>)| {
        let first = match (a.1, b.1) {
            (Some(a), Some(b)) => Some(First {
                place: a.place.min(b.place),
                differing: a.differing + b.differing,
                most_ulp: a.most_ulp.max(b.most_ulp),
            }),
            (a, b) => a.or(b),
        };
        (a.0 + b.0, first)
    };
    (0..extents.volume().div_ceil(sites_a_task)).into_par_iter().map(compare_task).reduce(|| (0, None), merge)
}

impl lf_report {
    fn new<R: Vectors>(
        found: &[R],
        expected: &[R],
        (extents, object): (Extents, Object),
        (compared, first): (u64, Option<First>),
    ) -> Self {
        let mut report = Self {
            size: size_of::<Self>(),
            compared,
            differing: 0,
            most_ulp: 0,
            site: [-1; 4],
            s: -1,
            spin: -1,
            colour: -1,
            part: -1,
            found: 0.0,
            expected: 0.0,
            found_bits: 0,
            expected_bits: 0,
            ulp: 0,
            text: fixed_text(&format!("all {compared} real numbers have the same bits")),
            cause: [0; LF_REPORT_LENGTH],
        };
        let Some(First { place, differing, most_ulp }) = first else { return report };
        let (found, expected, words) = (found[place], expected[place], object.words());
        let (site, word) = (place / 2 / words, place / 2 % words);
        let [x, y, z, t] = extents.coordinate(site);
        let number = |value: usize| i32::try_from(value).unwrap_or(i32::MAX);
        report.site = [x, y, z, t].map(number);
        let (s, spin) = match object {
            Object::Spinors(1) => (None, word / 3),
            Object::Spinors(_) => (Some(word / 12), word % 12 / 3),
            _ => (None, word / 3),
        };
        (report.s, report.spin, report.colour) = (s.map_or(-1, number), number(spin), number(word % 3));
        report.part = number(place % 2);
        (report.differing, report.most_ulp) = (differing, most_ulp);
        (report.found, report.expected) = (found.to_f64(), expected.to_f64());
        (report.found_bits, report.expected_bits) = (found.bits(), expected.bits());
        report.ulp = ulp(found, expected);
        let s = s.map_or(String::new(), |s| format!("s {s}, "));
        let spin = match object {
            Object::ColourVectors(_) => format!("component {spin}"),
            _ => format!("spin {spin}"),
        };
        let (part, digits) = (if place % 2 == 0 { "real" } else { "imaginary" }, R::HEX_DIGITS);
        let apart = match report.ulp {
            u64::MAX => "one of them is NaN".to_owned(),
            ulp => format!("{ulp} ulp apart"),
        };
        report.text = fixed_text(&format!(
            "{differing} of {compared} real numbers differ, first at site x,y,z,t = {x},{y},{z},{t}, {s}{spin}, colour {}, {part} part: \
             {found:e} ({:0digits$x}) instead of {expected:e} ({:0digits$x}), {apart}",
            word % 3,
            found.bits(),
            expected.bits()
        ));
        report
    }

    fn said(&self) -> String {
        let bytes: Vec<u8> = self.text.iter().map(|&c| c as u8).take_while(|&byte| byte != 0).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn check<R: Vectors>(
    operator: &lf_operator,
    (piece, dagger): (Piece, Dagger),
    source: &[R],
    result: &[R],
) -> Outcome<lf_report> {
    let expected = operator.apply(Place::Reference, (piece, dagger), complex(source))?;
    let expected: &[R] = bytemuck::cast_slice(&expected);
    let (extents, object) = (operator.configuration.extents(), operator.object());
    let found = operator.context.install(|| count(result, expected, (extents, piece.onto(), object.words())));
    let differs = found.1.is_some();
    let mut report = lf_report::new(result, expected, (extents, object), found);
    if differs {
        let arrays = [result, expected].map(|array| file_array(array, (extents, object, piece.onto())));
        report.cause = fixed_text(&operator.context.install(|| causes(&arrays)));
    }
    Ok(report)
}

/// An array in site order as in a file, with zeros on the sites that the result does not have.
fn file_array<R: Vectors>(reals: &[R], (extents, object, sites): (Extents, Object, Sites)) -> ComplexArray {
    let ([x, y, z, t], words) = (extents.as_array(), object.words());
    let (parts, shape) = match object {
        Object::Spinors(1) => (1, vec![t, z, y, x, 4, 3]),
        Object::Spinors(ls) => (ls, vec![ls, t, z, y, x, 4, 3]),
        _ => (1, vec![t, z, y, x, words / 3, 3]),
    };
    let of_part = words / parts;
    let number = |part: usize, site: usize, word: usize| {
        let place = 2 * (site * words + part * of_part + word);
        match sites.contain(extents.coordinate(site)) {
            true => Complex::new(reals[place], reals[place + 1]),
            false => Complex::default(),
        }
    };
    let sites = 0..extents.volume();
    let of_site = |part: usize, site: usize| (0..of_part).map(move |word| (part, site, word));
    let numbers = (0..parts)
        .flat_map(|part| sites.clone().map(move |site| (part, site)))
        .flat_map(|(part, site)| of_site(part, site));
    let numbers = numbers.map(|(part, site, word)| number(part, site, word));
    let values = match R::PRECISION {
        Precision::F64 => ComplexValues::F64(numbers.map(|z| Complex::new(z.re.to_f64(), z.im.to_f64())).collect()),
        _ => ComplexValues::F32(numbers.map(|z| Complex::new(z.re.to_f64() as f32, z.im.to_f64() as f32)).collect()),
    };
    ComplexArray { shape, values }
}

/// Possible causes of the differences between two arrays, as text.
fn causes([found, expected]: &[ComplexArray; 2]) -> String {
    // The arrays have the same shape.
    let Ok(comparison) = compare::compare(found, expected, CompareOptions::default()) else { return String::new() };
    comparison.causes.iter().map(|cause| cause.sentence.as_str()).collect::<Vec<_>>().join("; ")
}

/// Writes a report. If something differs, its text also becomes the last error.
///
/// # Safety
/// `to` is null, or a report whose first member is its size.
unsafe fn deliver(report: lf_report, to: *mut lf_report) -> Outcome<lf_status> {
    // SAFETY: the caller's promise.
    unsafe { put_sized(to, report) }?;
    if report.differing == 0 {
        return Ok(lf_status::LF_OK);
    }
    note(&report.said());
    Ok(lf_status::LF_DIFFERENT)
}

unsafe fn check_arrays<R: Vectors>(
    operator: &lf_operator,
    (piece, sites, conjugate): (i32, i32, i32),
    (source, result, reals): (*const R, *const R, usize),
    report: *mut lf_report,
) -> Outcome<lf_status> {
    let piece = (operator.piece(piece, sites_of(sites)?)?, dagger(conjugate)?);
    operator.check_reals(reals)?;
    // SAFETY: the caller's promise.
    unsafe {
        let (source, result) = (array(source, reals, "source")?, array(result, reals, "result")?);
        deliver(check(operator, piece, source, result)?, report)
    }
}

unsafe fn check_operator<R: Vectors>(
    operator: *const lf_operator,
    which: (i32, i32, i32),
    arrays: (*const R, *const R, usize),
    report: *mut lf_report,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        check_sized(report)?;
        check_arrays(handle(operator, "operator")?, which, arrays, report)
    })
}

struct OfHop {
    context: *const lf_context,
    configuration: *const lf_configuration,
    parameters: *const lf_parameter,
    count: usize,
}

unsafe fn check_hop<R: Vectors>(
    OfHop { context, configuration, parameters: given, count }: OfHop,
    (sites, conjugate): (i32, i32),
    arrays: (*const R, *const R, usize),
    report: *mut lf_report,
) -> lf_status {
    // SAFETY: the caller's promise.
    guarded(|| unsafe {
        check_sized(report)?;
        let context = &handle(context, "context")?.0;
        let configuration = Arc::clone(&handle(configuration, "configuration")?.configuration);
        let operator = lf_operator::new(context, &configuration, "hop", &parameters(given, count)?)?;
        check_arrays(&operator, (0, sites, conjugate), arrays, report)
    })
}

/// Compares `result`, which the caller computed from `source`, with the result of the CPU reference, whatever the context's device. The
/// arguments are those of lf_operator_apply_f64(). Sites on which a piece has no result are not compared. `report->size` must be set; all
/// other members of `report` are written.
///
/// Returns LF_OK if all bits are the same, and LF_DIFFERENT if not (lf_last_error() then returns the text of the report). Other values say
/// what is wrong with the arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_check_operator_f64(
    op: *const lf_operator,
    piece: i32,
    sites: i32,
    dagger: i32,
    source: *const f64,
    result: *const f64,
    reals: usize,
    report: *mut lf_report,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { check_operator(op, (piece, sites, dagger), (source, result, reals), report) }
}

/// As lf_check_operator_f64(), in f32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_check_operator_f32(
    op: *const lf_operator,
    piece: i32,
    sites: i32,
    dagger: i32,
    source: *const f32,
    result: *const f32,
    reals: usize,
    report: *mut lf_report,
) -> lf_status {
    // SAFETY: the caller's promise.
    unsafe { check_operator(op, (piece, sites, dagger), (source, result, reals), report) }
}

/// Compares a Wilson hop (docs/arithmetic.md §6) with the reference's, as lf_check_operator_f64() does with the operator "hop".
///
/// `parameters`: `count` of "boundary", "reconstruct" and "legs", as in lf_operator_create(). `sites`: the sites of the result, an
/// lf_sites. `source`, `result`: 24 real numbers for each site, `reals` in total.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_check_hop_f64(
    context: *const lf_context,
    configuration: *const lf_configuration,
    parameters: *const lf_parameter,
    count: usize,
    sites: i32,
    dagger: i32,
    source: *const f64,
    result: *const f64,
    reals: usize,
    report: *mut lf_report,
) -> lf_status {
    let of_hop = OfHop { context, configuration, parameters, count };
    // SAFETY: the caller's promise.
    unsafe { check_hop(of_hop, (sites, dagger), (source, result, reals), report) }
}

/// As lf_check_hop_f64(), in f32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lf_check_hop_f32(
    context: *const lf_context,
    configuration: *const lf_configuration,
    parameters: *const lf_parameter,
    count: usize,
    sites: i32,
    dagger: i32,
    source: *const f32,
    result: *const f32,
    reals: usize,
    report: *mut lf_report,
) -> lf_status {
    let of_hop = OfHop { context, configuration, parameters, count };
    // SAFETY: the caller's promise.
    unsafe { check_hop(of_hop, (sites, dagger), (source, result, reals), report) }
}
