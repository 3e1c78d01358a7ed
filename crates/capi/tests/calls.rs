//! The functions, called as C does: results are those of plain loops and of the library, and what is wrong is said.

use std::ffi::{CStr, CString, c_void};
use std::ptr::{null, null_mut};

use lanefield::dynamic::HopKernel;
use lanefield::operator::definitions;
use lanefield::prelude::*;
use lanefield::reference::scalar::ScalarWilson;
use lanefield_capi::*;

use crate::handles::{
    Case, EXTENTS, FULL, INVALID, OK, Operator, SCHUR, assert_same_bits, complex, configuration, fails, gauss, must,
    refused, said, text,
};

#[test]
fn hops_and_the_wilson_operator_are_those_of_plain_loops() {
    let (case, configuration) = (Case::new(), configuration());
    let legs: LegOrder = "+x-x+y-y+z-z+t-t".parse().unwrap();
    for (links, reals, phases) in [
        (LinkFormat::Full, "18", "1,1,1,-1"),
        (LinkFormat::TwoRows, "12", "1,1,1,-1"),
        (LinkFormat::Eight, "8", "1,1,1,-1"),
        (LinkFormat::Full, "18", "0.3pi,-0.5pi,0,2pi/3"),
    ] {
        let boundary = phases.parse().unwrap();
        let plain = ScalarWilson { configuration: &configuration, boundary, format: links, legs };
        let parameters = [("reconstruct", reals), ("legs", "+x-x+y-y+z-z+t-t"), ("boundary", phases)];
        let hop = case.operator("hop", &parameters);
        let source = gauss(hop.reals());
        let full = hop.apply(FULL, &source);
        assert_same_bits(&full, &plain.hop(&complex(&source), Sites::Full, Dagger::No));
        let wilson = case.operator("wilson", &[&parameters[..], &[("mass", "-0.3")]].concat());
        let conjugate = wilson.apply_dagger(FULL, 1, &source);
        assert_same_bits(&conjugate, &plain.m(&complex(&source), -0.3, Dagger::Yes));
        let schur = wilson.apply(SCHUR, &source);
        assert_same_bits(&schur, &plain.mpc(&complex(&source), -0.3, Dagger::No));
    }
}

/// A device in addition to the CPU reference; `None` if tests run without one.
fn device() -> Option<&'static str> {
    if std::env::var("LANEFIELD_SKIP_OPENCL").is_ok_and(|value| value == "1") {
        return None;
    }
    let mut count = 0;
    // SAFETY: a place of this function.
    must(unsafe { lf_device_count(&raw mut count) });
    assert!(count > 0, "{}; LANEFIELD_SKIP_OPENCL=1 does without", said());
    Some("0")
}

#[test]
fn every_operator_on_a_device_passes_the_check_with_the_reference() {
    let Some(device) = device() else { return };
    let case = Case::on(device, EXTENTS);
    let hops = HopKernel::all().map(|hop| (hop.kernel().name, &[][..]));
    for (name, parameters) in hops.chain(definitions().map(|known| (known.name, known.verified))) {
        let operator = case.operator(name, parameters);
        let source = gauss(operator.reals());
        let result = operator.apply(FULL, &source);
        let (status, report) = operator.check(FULL, &source, &result);
        assert_eq!((status, report.compared), (OK, source.len() as u64), "{name}: {}", text(&report));
    }
}

#[test]
fn every_operator_has_its_pieces() {
    let case = Case::new();
    for known in definitions() {
        let operator = case.operator(known.name, known.verified);
        let source = gauss(operator.reals());
        let of = |piece, sites| operator.apply((piece, sites), &source);
        // M = Meooe + Mooee, up to rounding, on each parity.
        let full = operator.apply(FULL, &source);
        let mut sum = vec![0.0; source.len()];
        for sites in [lf_sites::LF_EVEN, lf_sites::LF_ODD] {
            for piece in [lf_piece::LF_MEOOE, lf_piece::LF_MOOEE] {
                sum.iter_mut().zip(of(piece, sites)).for_each(|(sum, part)| *sum += part);
            }
        }
        let far = full.iter().zip(&sum).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 1e-12, "{}: {far}", known.name);
        let schur = operator.apply(SCHUR, &source);
        let (status, report) = operator.check(SCHUR, &source, &schur);
        assert_eq!((status, report.compared), (OK, source.len() as u64 / 2), "{}: {}", known.name, text(&report));
    }
}

#[test]
fn a_check_names_the_first_number_that_differs_and_counts_them() {
    let case = Case::new();
    let operator = case.operator("mobius", &[("mass", "0.1"), ("ls", "4")]);
    let source = gauss(operator.reals());
    let right = operator.apply(FULL, &source);
    // Site 1,0,1,2: number 1 + 4·(0 + 2·(1 + 2·2)) = 41; s 3, spin 2, colour 1, imaginary part.
    let place = (41 * 48 + (4 * 3 + 2) * 3 + 1) * 2 + 1;
    let mut wrong = right.clone();
    wrong[place] = f64::from_bits(wrong[place].to_bits() + 5);
    wrong[place + 7] = f64::NAN;
    let (status, report) = operator.check(FULL, &source, &wrong);
    assert_eq!(status, lf_status::LF_DIFFERENT);
    assert_eq!((report.site, report.s, report.spin, report.colour, report.part), ([1, 0, 1, 2], 3, 2, 1, 1));
    assert_eq!((report.differing, report.ulp, report.most_ulp), (2, 5, u64::MAX));
    assert_eq!((report.found_bits, report.expected_bits), (wrong[place].to_bits(), right[place].to_bits()));
    assert!(
        said().starts_with("2 of 6144 real numbers differ, first at site x,y,z,t = 1,0,1,2, s 3, spin 2, "),
        "{}",
        said()
    );
    // What does not live on the sites of a piece is not looked at.
    let mut odd = operator.apply((lf_piece::LF_MEOOE, lf_sites::LF_ODD), &source);
    odd[0] = 1.0;
    assert_eq!(operator.check((lf_piece::LF_MEOOE, lf_sites::LF_ODD), &source, &odd).0, OK);
}

#[test]
fn a_check_says_what_may_be_the_cause() {
    let case = Case::new();
    let hop = case.operator("hop", &[]);
    let periodic = case.operator("hop", &[("boundary", "1,1,1,1")]);
    let source = gauss(hop.reals());
    let wrong = periodic.apply(FULL, &source);
    let (status, report) = hop.check(FULL, &source, &wrong);
    assert_eq!(status, lf_status::LF_DIFFERENT);
    // SAFETY: a text of the report.
    let cause = unsafe { CStr::from_ptr(report.cause.as_ptr()) }.to_str().unwrap();
    assert!(cause.contains("boundary") && cause.contains('t'), "{cause}");
}

#[test]
fn norms_and_inner_products_are_exact_sums_of_rounded_contributions() {
    let case = Case::new();
    let (x, y) = (gauss(24 * 6000), gauss(24 * 6000 + 2)[2..].to_vec());
    let fold = |of: &dyn Fn(&[f64], &[f64]) -> f64| {
        let mut sum = lanefield::reference::exact::ExactSum::new();
        x.chunks(24).zip(y.chunks(24)).for_each(|(x, y)| sum.add(of(x, y)));
        sum.round()
    };
    let norm = fold(&|x, _| x.iter().fold(0.0, |s, x| x.mul_add(*x, s)));
    let re = fold(&|x, y| x.iter().zip(y).fold(0.0, |s, (x, y)| x.mul_add(*y, s)));
    let im =
        fold(&|x, y| x.chunks(2).zip(y.chunks(2)).fold(0.0, |s, (x, y)| (-x[1]).mul_add(y[0], x[0].mul_add(y[1], s))));
    let (mut norm2, mut inner, mut sums) = (0.0, [0.0; 2], [0.0; 24]);
    // SAFETY: arrays of these lengths.
    unsafe {
        must(lf_norm2_f64(case.context, x.as_ptr(), 6000, 12, &raw mut norm2));
        must(lf_inner_f64(case.context, x.as_ptr(), y.as_ptr(), 6000, 12, inner.as_mut_ptr()));
        must(lf_sum_f64(case.context, x.as_ptr(), 6000, 12, sums.as_mut_ptr()));
    }
    assert_eq!((norm2.to_bits(), inner.map(f64::to_bits)), (norm.to_bits(), [re, im].map(f64::to_bits)));
    for (place, sum) in sums.iter().enumerate() {
        let mut exact = lanefield::reference::exact::ExactSum::new();
        x.iter().skip(place).step_by(24).for_each(|x| exact.add(*x));
        assert_eq!(sum.to_bits(), exact.round().to_bits());
    }
    // Ranks that merge what they contribute.
    let (mut total, mut rank) = (null_mut(), null_mut());
    let mut merged = 0.0;
    // SAFETY: halves of the array, and handles of this test.
    unsafe {
        must(lf_exact_sum_create(&raw mut total));
        must(lf_exact_sum_create(&raw mut rank));
        must(lf_exact_sum_add_norm2_f64(total, x.as_ptr(), 2500, 12));
        must(lf_exact_sum_add_norm2_f64(rank, x.as_ptr().add(24 * 2500), 3500, 12));
        must(lf_exact_sum_merge(total, rank));
        must(lf_exact_sum_round(total, &raw mut merged));
        assert_eq!(lf_exact_sum_merge(total, total), INVALID);
        lf_exact_sum_free(total);
        lf_exact_sum_free(rank);
    }
    assert_eq!(merged.to_bits(), norm.to_bits());
}

fn options() -> lf_solve_options {
    // SAFETY: all of its members may be zero.
    let mut options: lf_solve_options = unsafe { std::mem::zeroed() };
    options.size = size_of::<lf_solve_options>();
    options
}

#[test]
fn a_solve_has_the_bits_and_the_history_of_the_library() {
    let case = Case::new();
    let wilson = case.operator("wilson", &[("mass", "0.4")]);
    let eta = gauss(wilson.reals());
    let hop = HopParameters { boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME, ..HopParameters::default() };
    let how = Solve {
        operator: WilsonParameters { mass: 0.4, hop },
        preconditioning: Preconditioning::EvenOdd,
        method: Method::ConjugateGradients,
        params: SolverParams { tolerance: 1e-8, ..SolverParams::auto::<f64>() },
        lanes: LaneChoice::Auto,
    };
    let expected =
        solve::<f64, _, _>(&Cpu::new(None).unwrap(), &configuration(), &complex(&eta), &how, |_, _| ()).unwrap();
    let (mut psi, mut history) = (vec![0.0; eta.len()], vec![0.0; 100]);
    let options = lf_solve_options { tolerance: 1e-8, ..options() };
    // SAFETY: all of its members may be zero.
    let mut info: lf_solve_info = unsafe { std::mem::zeroed() };
    (info.size, info.history, info.history_room) = (size_of::<lf_solve_info>(), history.as_mut_ptr(), 100);
    // SAFETY: arrays of this length.
    must(unsafe { lf_solve(wilson.0, eta.as_ptr(), psi.as_mut_ptr(), eta.len(), &raw const options, &raw mut info) });
    assert_same_bits(&psi, &expected.solution);
    history.truncate(info.history_length as usize);
    assert_eq!(history, expected.info().history);
    assert_eq!(info.iterations as usize, expected.info().iterations);
    // Two right-hand sides, one after the other.
    let two = [&eta[..], &eta[..]].concat();
    let options = lf_solve_options { right_hand_sides: 2, ..options };
    let mut both = vec![0.0; two.len()];
    must(wilson.solve(&two, &mut both, &options));
    assert_same_bits(&both, &[&expected.solution[..], &expected.solution].concat());
    // In one block, of two that are not the same.
    let block = lf_solve_options { method: c"block-cg".as_ptr(), ..options };
    let others = [eta.clone(), gauss(eta.len() + 2)[2..].to_vec()].concat();
    must(wilson.solve(&others, &mut both, &block));
    assert!(both.iter().zip(&psi).all(|(x, y)| (x - y).abs() < 1e-5));
    // The second so small that its |b|² underflows: it has a scale of its own.
    let small = 2.0_f64.powi(-515);
    let two = [eta.clone(), eta.iter().map(|x| x * small).collect()].concat();
    let mut scales = [i64::MIN; 3];
    (info.source_scales, info.source_scales_room) = (scales.as_mut_ptr(), 3);
    // SAFETY: arrays of this length.
    must(unsafe { lf_solve(wilson.0, two.as_ptr(), both.as_mut_ptr(), two.len(), &raw const options, &raw mut info) });
    assert_eq!([scales[0], scales[2], info.source_scale], [0, i64::MIN, 0]);
    assert!(scales[1] > 400, "{scales:?}");
    // A caller of an earlier version has no such member, and its array stays as it is.
    (info.size, scales[1]) = (std::mem::offset_of!(lf_solve_info, source_scales), 7);
    // SAFETY: the same.
    must(unsafe { lf_solve(wilson.0, two.as_ptr(), both.as_mut_ptr(), two.len(), &raw const options, &raw mut info) });
    assert_eq!(scales[1], 7);
    let of_small: Vec<_> = expected.solution.iter().map(|c| c * small).collect();
    assert_same_bits(&both, &[&expected.solution[..], &of_small].concat());
}

unsafe extern "C" fn stop_at(user: *mut c_void, iteration: u64, _: f64) -> i32 {
    // SAFETY: what the test gave.
    let told = unsafe { &mut *user.cast::<Vec<(u64, std::thread::ThreadId)>>() };
    told.push((iteration, std::thread::current().id()));
    i32::from(iteration == 3)
}

#[test]
fn a_progress_function_is_called_by_the_thread_that_called_and_may_stop_the_solve() {
    let case = Case::new();
    let wilson = case.operator("wilson", &[("mass", "0.4")]);
    let eta = gauss(wilson.reals());
    let mut psi = vec![0.0; eta.len()];
    let mut told: Vec<(u64, std::thread::ThreadId)> = Vec::new();
    let options = lf_solve_options { progress: Some(stop_at), user: (&raw mut told).cast(), ..options() };
    assert_eq!(wilson.solve(&eta, &mut psi, &options), lf_status::LF_STOPPED);
    assert_eq!(said(), "the progress function stopped the solve after iteration 3");
    let here = std::thread::current().id();
    assert_eq!(told, (0..=3).map(|iteration| (iteration, here)).collect::<Vec<_>>());
    assert!(psi.iter().all(|x| *x == 0.0));
}

#[test]
fn solves_that_cannot_be_say_why() {
    let case = Case::new();
    let wilson = case.operator("wilson", &[("mass", "0.4")]);
    let hop = case.operator("hop", &[]);
    let eta = gauss(wilson.reals());
    let mut psi = vec![0.0; eta.len()];
    let none = options();
    for (operator, options, length, message) in [
        (&hop, none, eta.len(), "a hop cannot be solved"),
        (&wilson, none, eta.len() - 2, "acts on 1536"),
        (&wilson, lf_solve_options { right_hand_sides: 5, ..none }, eta.len(), "5 right-hand sides"),
        (&wilson, lf_solve_options { tolerance: -1.0, ..none }, eta.len(), "tolerance -1"),
        (&wilson, lf_solve_options { precision: 7, ..none }, eta.len(), "precision 7"),
        (&wilson, lf_solve_options { size: 0, ..none }, eta.len(), "sizeof(lf_solve_options)"),
        (&wilson, lf_solve_options { method: c"gmres".as_ptr(), ..none }, eta.len(), "'gmres'"),
        (&wilson, lf_solve_options { precision: 1, method: c"mixed-f32".as_ptr(), ..none }, eta.len(), "in f64"),
    ] {
        refused(operator.solve(&eta[..length], &mut psi, &options), message);
    }
    let two_iterations = lf_solve_options { max_iterations: 2, ..none };
    fails(wilson.solve(&eta, &mut psi, &two_iterations), lf_status::LF_NOT_CONVERGED, "no convergence in 2");
}

#[test]
fn operators_that_cannot_be_say_what_would_be_right() {
    let case = Case::new();
    for (name, parameters, message) in [
        ("overlap", &[][..], "unknown operator 'overlap': expected hop, "),
        ("wilson", &[], "needs mass"),
        ("wilson", &[("mass", "heavy")], "invalid mass 'heavy': expected a finite number"),
        ("wilson", &[("mass", "1"), ("csw", "1")], "no parameter csw"),
        ("hop", &[("mass", "1")], "hop has no parameter mass"),
        ("wilson", &[("mass", "1"), ("mass", "2")], "operator wilson is given mass twice"),
        ("hop", &[("links", "18"), ("reconstruct", "12")], "operator hop is given reconstruct twice"),
        ("hop", &[("boundary", "1,1,1")], "1,1,1"),
        ("hop", &[("boundary", "nanpi,1,1,1")], "invalid boundary phases 'nanpi,1,1,1'"),
        ("hop", &[("boundary", "0.3pi,1,1,1"), ("reconstruct", "12")], "need reconstruct 18"),
        ("wilson", &[("mass", "1"), ("boundary", "0.3pi,1,1,1"), ("links", "8")], "need reconstruct 18"),
        ("hop", &[("reconstruct", "9")], "9"),
        ("mobius", &[("mass", "0.1"), ("ls", "0")], "ls '0'"),
    ] {
        let (status, operator) = case.create(name, parameters);
        refused(status, message);
        assert!(operator.is_null(), "{name}");
    }
    let wilson = case.operator("wilson", &[("mass", "1")]);
    let source = gauss(wilson.reals());
    for (piece, sites, dagger, message) in [
        (9, 0, 0, "invalid piece 9"),
        (0, 3, 0, "invalid sites 3"),
        (0, 0, 2, "invalid dagger 2"),
        (0, 1, 0, "acts on all sites"),
        (1, 0, 0, "LF_EVEN or LF_ODD"),
        (4, 1, 0, "LF_ODD"),
    ] {
        refused(wilson.try_apply([piece, sites, dagger], &source).0, message);
    }
    for hop in HopKernel::all().filter(|hop| hop.dagger().is_none()) {
        let name = hop.kernel().name;
        let hop = case.operator(name, &[]);
        let (status, _) = hop.try_apply([0, 0, 1], &source[..hop.reals()]);
        refused(status, &format!("{name} has no kernel of its Hermitian conjugate"));
    }
    // A lattice without parities has the operator, but no pieces.
    let odd = Case::on("cpu", [3, 2, 2, 4]);
    let wilson = odd.operator("wilson", &[("mass", "1")]);
    let source = gauss(wilson.reals());
    wilson.apply(FULL, &source);
    refused(wilson.try_apply([1, 1, 0], &source).0, "");
    // Numbers beyond f32, and a clover term that has no inverse.
    let heavy = case.operator("wilson", &[("mass", "1e300")]);
    let (from, mut to) = (vec![0f32; heavy.reals()], vec![0f32; heavy.reals()]);
    // SAFETY: arrays of this length.
    let status = unsafe { lf_operator_apply_f32(heavy.0, 0, 0, 0, from.as_ptr(), to.as_mut_ptr(), from.len()) };
    refused(status, "mass 1e300 is beyond f32");
    let singular = case.operator("clover", &[("mass", "-4"), ("csw", "0")]);
    let (status, _) = singular.try_apply([3, 1, 0], &gauss(singular.reals()));
    fails(status, lf_status::LF_NO_RESULT, "");
}

#[test]
fn null_pointers_are_refused_by_name() {
    let case = Case::new();
    let operator = case.operator("hop", &[]);
    let mut number = 0.0;
    let context = case.context;
    // SAFETY: null, or handles of this test.
    unsafe {
        let refused = |status: lf_status, name: &str| refused(status, &format!("{name} is a null pointer"));
        refused(lf_context_create(null(), 0, null_mut()), "context");
        refused(lf_configuration_hot(null(), EXTENTS.as_ptr(), 1, null_mut()), "configuration");
        let mut made = null_mut();
        refused(lf_configuration_hot(null(), EXTENTS.as_ptr(), 1, &raw mut made), "context");
        refused(lf_configuration_hot(context, null(), 1, &raw mut made), "extents");
        refused(lf_configuration_read(context, null(), &raw mut made), "path");
        refused(lf_configuration_plaquette(null(), &raw mut number), "configuration");
        refused(lf_configuration_plaquette(case.configuration, null_mut()), "value");
        refused(lf_operator_apply_f64(null(), 0, 0, 0, null(), null_mut(), 0), "operator");
        let reals = operator.reals();
        refused(lf_operator_apply_f64(operator.0, 0, 0, 0, null(), &raw mut number, reals), "source");
        refused(lf_operator_apply_f64(operator.0, 0, 0, 0, null(), null_mut(), reals), "result");
        refused(lf_check_operator_f64(operator.0, 0, 0, 0, null(), null(), reals, null_mut()), "the lf_report");
        refused(lf_norm2_f64(context, null(), 1, 12, &raw mut number), "x");
        refused(lf_norm2_f64(null(), null(), 0, 12, &raw mut number), "context");
        refused(lf_exact_sum_add(null_mut(), 1.0), "sum");
        refused(lf_solve(null(), null(), null_mut(), 0, null(), null_mut()), "operator");
        // These free nothing.
        lf_context_free(null_mut());
        lf_configuration_free(null_mut());
        lf_operator_free(null_mut());
        lf_exact_sum_free(null_mut());
    }
}

#[test]
fn handles_may_be_freed_in_any_order() {
    let case = Case::new();
    let wilson = case.operator("wilson", &[("mass", "0.1")]);
    let source = gauss(wilson.reals());
    drop(case);
    wilson.apply(FULL, &source);
}

#[test]
fn threads_share_an_operator() {
    let case = Case::new();
    let wilson = &case.operator("wilson", &[("mass", "0.1")]);
    let source = &gauss(wilson.reals());
    let (expected, schur) = (wilson.apply(FULL, source), wilson.apply(SCHUR, source));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (expected, schur) = (&expected, &schur);
            scope.spawn(move || {
                for _ in 0..5 {
                    match thread % 2 {
                        0 => assert_eq!(&wilson.apply(FULL, source), expected),
                        _ => assert_eq!(&wilson.apply(SCHUR, source), schur),
                    }
                }
            });
        }
    });
}

#[test]
fn configurations_are_read_given_and_copied() {
    use lanefield::io::{nersc, npy};
    let (case, expected) = (Case::new(), configuration());
    let folder = tempfile::tempdir().unwrap();
    let [in_nersc, in_npy, in_lime] = ["hot.nersc", "hot.npy", "hot.lime"].map(|name| folder.path().join(name));
    nersc::write(&in_nersc, &expected, &nersc::NerscOptions::default()).unwrap();
    npy::write_gauge(&in_npy, &expected).unwrap();
    let links: Vec<f64> = expected.links().iter().flat_map(|z| [z.re, z.im]).collect();
    let mut made = [null_mut::<lf_configuration>(); 4];
    let name = |path: &std::path::Path| CString::new(path.to_str().unwrap()).unwrap();
    // SAFETY: texts, arrays and handles of this test.
    unsafe {
        must(lf_configuration_read(case.context, name(&in_nersc).as_ptr(), &raw mut made[0]));
        must(lf_configuration_read(case.context, name(&in_npy).as_ptr(), &raw mut made[1]));
        must(lf_configuration_write(made[0], name(&in_lime).as_ptr()));
        must(lf_configuration_read(case.context, name(&in_lime).as_ptr(), &raw mut made[3]));
        fails(lf_configuration_write(made[0], c"hot.cfg".as_ptr()), lf_status::LF_FILE, "hot.cfg");
        must(lf_configuration_write_as(made[0], name(&in_lime).as_ptr(), c"milc".as_ptr()));
        let read_as = |extents, projection: &CStr, place| {
            lf_configuration_read_as(case.context, name(&in_lime).as_ptr(), extents, projection.as_ptr(), place)
        };
        let mut other = null_mut();
        must(read_as(null(), c"max-re-tr", &raw mut other));
        lf_configuration_free(other);
        let argument = lf_status::LF_INVALID_ARGUMENT;
        fails(read_as([2, 2, 2, 2].as_ptr(), c"polar", &raw mut other), lf_status::LF_FILE, "not on 2.2.2.2");
        fails(read_as(null(), c"nearest", &raw mut other), argument, "nearest");
        fails(lf_configuration_write_as(made[0], name(&in_lime).as_ptr(), c"gzip".as_ptr()), argument, "gzip");
        must(lf_configuration_write(made[0], name(&in_lime).as_ptr()));
        let (extents, place) = (EXTENTS.as_ptr(), &raw mut made[2]);
        must(lf_configuration_from_links(case.context, extents, links.as_ptr(), links.len(), 1e-6, place));
        for configuration in made {
            let (mut copy, mut extents, mut plaquette, mut trace) = (vec![0.0; links.len()], [0; 4], 0.0, 0.0);
            must(lf_configuration_links(configuration, copy.as_mut_ptr(), copy.len()));
            must(lf_configuration_extents(configuration, extents.as_mut_ptr()));
            must(lf_configuration_plaquette(configuration, &raw mut plaquette));
            must(lf_configuration_link_trace(configuration, &raw mut trace));
            assert!(copy == links && extents == EXTENTS);
            assert_eq!((plaquette, trace), (expected.plaquette(), expected.link_trace()));
            assert_eq!(lf_configuration_links(configuration, copy.as_mut_ptr(), 7), INVALID);
            lf_configuration_free(configuration);
        }
        let mut none = null_mut();
        let missing = name(&folder.path().join("missing.nersc"));
        let read = |name: &CString, place| lf_configuration_read(case.context, name.as_ptr(), place);
        fails(read(&missing, &raw mut none), lf_status::LF_FILE, "missing.nersc");
        std::fs::write(&in_npy, b"no array").unwrap();
        fails(read(&name(&in_npy), &raw mut none), lf_status::LF_FILE, "hot.npy");
        let twice: Vec<f64> = links.iter().map(|x| 2.0 * x).collect();
        let (extents, place) = (EXTENTS.as_ptr(), &raw mut none);
        let from = |length| lf_configuration_from_links(case.context, extents, twice.as_ptr(), length, 1e-6, place);
        refused(from(twice.len()), "not in SU(3)");
        refused(from(71), "");
        assert!(none.is_null());
    }
}

#[test]
fn devices_are_listed_and_those_that_are_not_there_are_refused() {
    let mut context = null_mut();
    // SAFETY: places of this test.
    unsafe {
        for (device, threads, status) in [
            (c"no such device", 0, lf_status::LF_DEVICE),
            (c"", 0, INVALID),
            (c"cpu", -1, INVALID),
            (c"cpu", 513, INVALID),
        ] {
            assert_eq!(lf_context_create(device.as_ptr(), threads, &raw mut context), status, "{}", said());
            assert!(context.is_null() && !said().is_empty());
        }
        let mut count = -1;
        must(lf_device_count(&raw mut count));
        let [mut rank, mut processes] = [7, 7];
        must(lf_launched(&raw mut rank, &raw mut processes));
        assert_eq!((rank, processes), (0, 1));
        let mut device: lf_device = std::mem::zeroed();
        assert_eq!(lf_device_info(0, &raw mut device), INVALID);
        device.size = size_of::<lf_device>();
        for index in 0..count {
            must(lf_device_info(index, &raw mut device));
            assert!(!CStr::from_ptr(device.name.as_ptr()).is_empty() && device.memory_bytes > 0);
        }
        assert_eq!(lf_device_info(count, &raw mut device), INVALID);
        let names = (0..).map(|index| lf_operator_name(index)).take_while(|name| !name.is_null());
        let names: Vec<&str> = names.map(|name| CStr::from_ptr(name).to_str().unwrap()).collect();
        assert_eq!(names.len(), HopKernel::all().count() + definitions().count(), "{names:?}");
    }
}

#[test]
fn golden_data_are_those_of_the_library() {
    let case = Case::new();
    let folder = tempfile::tempdir().unwrap();
    let name = CString::new(folder.path().join("golden").to_str().unwrap()).unwrap();
    // SAFETY: all of its members may be zero.
    let mut options: lf_golden_options = unsafe { std::mem::zeroed() };
    (options.size, options.extents, options.seed) = (size_of::<lf_golden_options>(), [2, 2, 2, 4], 3);
    (options.kernels, options.precisions) = (c"hop".as_ptr(), c"f64".as_ptr());
    // SAFETY: texts and handles of this test.
    unsafe {
        must(lf_golden_export(case.context, name.as_ptr(), &raw const options));
        fails(lf_golden_export(case.context, name.as_ptr(), &raw const options), lf_status::LF_FILE, "set replace");
        options.replace = 1;
        must(lf_golden_export(case.context, name.as_ptr(), &raw const options));
        options.kernels = c"jump".as_ptr();
        refused(lf_golden_export(case.context, name.as_ptr(), &raw const options), "'jump'");
    }
    let expected = lanefield_ports::golden::GoldenOptions {
        kernels: lanefield::kernel::all().filter(|kernel| kernel.name == "hop" || kernel.family == "hop").collect(),
        extents: Extents::new([2, 2, 2, 4]).unwrap(),
        seed: 3,
        precisions: vec![lanefield::reference::real::Precision::F64],
        boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME,
        legs: LegOrder::DEFAULT,
        lanes: LaneChoice::Auto,
    };
    let other = folder.path().join("other");
    let cpu = Cpu::new(None).unwrap();
    lanefield_ports::golden::export(&cpu.into(), &expected, &other, false, &|_| true).unwrap();
    let manifest = |of: &std::path::Path| std::fs::read_to_string(of.join(lanefield_ports::golden::MANIFEST)).unwrap();
    assert_eq!(manifest(&folder.path().join("golden")), manifest(&other));
}

/// Fields that free themselves.
struct Held(*mut lf_field);

impl Held {
    fn new(operator: &Operator, sites: lf_sites) -> Self {
        let mut field = null_mut();
        // SAFETY: a handle of the test.
        must(unsafe { lf_field_create(operator.0, sites as i32, lf_precision::LF_F64 as i32, &raw mut field) });
        Self(field)
    }

    fn of(operator: &Operator, sites: lf_sites, values: &[f64]) -> Self {
        let field = Self::new(operator, sites);
        // SAFETY: an array of this length.
        must(unsafe { lf_field_upload_f64(field.0, values.as_ptr(), values.len()) });
        field
    }

    fn values(&self, reals: usize) -> Vec<f64> {
        let mut values = vec![f64::NAN; reals];
        // SAFETY: an array of this length.
        must(unsafe { lf_field_download_f64(self.0, values.as_mut_ptr(), reals) });
        values
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: made here, and not used again.
        unsafe { lf_field_free(self.0) };
    }
}

fn fields_have_the_bits_of_arrays(device: &str) {
    let case = Case::on(device, EXTENTS);
    let wilson = case.operator("wilson", &[("mass", "0.1")]);
    let reals = wilson.reals();
    let (x, y) = (gauss(reals), gauss(reals + 2)[2..].to_vec());
    let [all, odd, even] = [lf_sites::LF_ALL_SITES, lf_sites::LF_ODD, lf_sites::LF_EVEN];
    let (on_x, on_y, image) = (Held::of(&wilson, all, &x), Held::of(&wilson, all, &y), Held::new(&wilson, all));
    // SAFETY: handles of this test.
    unsafe { must(lf_field_apply(wilson.0, 0, 1, on_x.0, image.0)) };
    assert_eq!(image.values(reals), wilson.apply_dagger(FULL, 1, &x));
    let (mut of_field, mut of_array) = ([0.0; 3], [0.0; 3]);
    // SAFETY: handles of this test, and arrays of this length.
    unsafe {
        must(lf_field_norm2(on_x.0, &raw mut of_field[0]));
        must(lf_field_inner(on_x.0, on_y.0, of_field[1..].as_mut_ptr()));
        must(lf_norm2_f64(case.context, x.as_ptr(), reals / 24, 12, &raw mut of_array[0]));
        must(lf_inner_f64(case.context, x.as_ptr(), y.as_ptr(), reals / 24, 12, of_array[1..].as_mut_ptr()));
        assert_eq!(of_field.map(f64::to_bits), of_array.map(f64::to_bits));
        must(lf_field_copy(on_y.0, image.0));
        must(lf_field_axpy(-0.7, on_x.0, image.0));
        must(lf_field_scale(3.0, image.0, on_y.0));
    }
    let expected: Vec<f64> = x.iter().zip(&y).map(|(x, y)| 3.0 * (-0.7f64).mul_add(*x, *y)).collect();
    assert_eq!(on_y.values(reals), expected);
    // A piece, from one parity to the other.
    let (from, onto) = (Held::of(&wilson, odd, &x), Held::new(&wilson, even));
    // SAFETY: handles of this test.
    unsafe { must(lf_field_apply(wilson.0, 1, 0, from.0, onto.0)) };
    assert_eq!(onto.values(reals), wilson.apply((lf_piece::LF_MEOOE, even), &x));
    // What does not fit is refused, and leaves the fields as they are.
    let on_colour_vectors = definitions().filter(|known| known.parameters.iter().any(|one| one.name == "components"));
    for known in on_colour_vectors {
        let colours = Held::new(&case.operator(known.name, known.verified), all);
        // SAFETY: handles of this test.
        unsafe {
            assert_eq!(lf_field_apply(wilson.0, 0, 0, on_x.0, colours.0), INVALID);
            assert!(said().starts_with("the result is a "), "{}", said());
            assert_eq!(lf_field_axpy(1.0, colours.0, on_x.0), INVALID);
        }
    }
    // SAFETY: handles of this test.
    unsafe {
        assert_eq!(lf_field_apply(wilson.0, 1, 0, onto.0, onto.0), INVALID);
        refused(lf_field_apply(wilson.0, 0, 0, on_x.0, on_x.0), "the same one");
        assert_eq!(lf_field_upload_f32(on_x.0, null(), reals), INVALID);
        assert_eq!(lf_field_upload_f64(on_x.0, x.as_ptr(), reals - 2), INVALID);
        let other = Case::new();
        let foreign = other.operator("wilson", &[("mass", "0.1")]);
        assert_eq!(lf_field_apply(foreign.0, 0, 0, on_x.0, image.0), INVALID);
    }
    assert_eq!(on_x.values(reals), x);
}

#[test]
fn fields_of_the_reference_have_the_bits_of_arrays() {
    fields_have_the_bits_of_arrays("cpu");
}

#[test]
fn fields_of_a_device_have_the_bits_of_arrays() {
    if let Some(device) = device() {
        fields_have_the_bits_of_arrays(device);
    }
}

#[test]
fn threads_share_a_device() {
    let Some(device) = device() else { return };
    let case = Case::on(device, EXTENTS);
    let operators = ["0.1", "0.2"].map(|mass| case.operator("wilson", &[("mass", mass)]));
    let source = &gauss(operators[0].reals());
    let expected = operators.each_ref().map(|operator| operator.apply(FULL, source));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (operator, expected) = (&operators[thread % 2], &expected[thread % 2]);
            scope.spawn(move || (0..10).for_each(|_| assert_eq!(&operator.apply(FULL, source), expected)));
        }
    });
}
