//! Sources by name have the numbers of the library, and what is wrong is said.

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use lanefield::io::npy;
use lanefield::observable::Source;
use lanefield::operator::{Definition, definitions};
use lanefield::prelude::*;
use lanefield::reference::random::{Stream, gaussian_pair};
use lanefield_capi::*;

use crate::handles::{EXTENTS, INVALID, Operator, complex, configuration, must, said};

impl Operator {
    /// One on the free field, which keeps what it needs.
    fn of_numbers(name: &CStr, parameters: &[(&CStr, f64)]) -> Self {
        let of_c = |&(name, number): &(&CStr, f64)| lf_parameter { name: name.as_ptr(), number, text: null() };
        let parameters: Vec<lf_parameter> = parameters.iter().map(of_c).collect();
        let (mut context, mut configuration, mut operator) = (null_mut(), null_mut(), null_mut());
        let (given, count) = (parameters.as_ptr(), parameters.len());
        // SAFETY: places and texts of this function.
        unsafe {
            must(lf_context_create(c"cpu".as_ptr(), 1, &raw mut context));
            must(lf_configuration_unit(context, EXTENTS.as_ptr(), &raw mut configuration));
            must(lf_operator_create(context, configuration, name.as_ptr(), given, count, &raw mut operator));
            lf_configuration_free(configuration);
            lf_context_free(context);
        }
        Self(operator)
    }

    fn source(&self, name: &str) -> Result<Vec<Complex<f64>>, (lf_status, String)> {
        let (name, mut values) = (CString::new(name).unwrap(), vec![f64::NAN; self.reals()]);
        // SAFETY: a handle of this test, and an array of this length.
        match unsafe { lf_source(self.0, name.as_ptr(), values.as_mut_ptr(), values.len()) } {
            lf_status::LF_OK => Ok(complex(&values)),
            status => {
                assert!(values.iter().all(|x| x.is_nan()), "written where the status is {status:?}");
                Err((status, said()))
            }
        }
    }

    #[track_caller]
    fn refuses(&self, name: &str, status: lf_status, message: &str) {
        let error = self.source(name).unwrap_err();
        assert!(error.0 == status && error.1.contains(message), "{error:?}");
    }
}

/// Every operator, and its words per site: with two colour vectors where it takes several.
fn every_operator() -> Vec<(Operator, usize)> {
    let of = |known: &'static Definition| {
        let components =
            known.parameters.iter().find(|parameter| parameter.name == "components").map(|_| ("components", "2"));
        let given: Vec<(&str, &str)> = known.verified.iter().copied().chain(components).collect();
        let model = known.model(given.iter().copied(), HopParameters::default()).unwrap();
        let of_c = |text| CString::new(text).unwrap();
        let numbers: Vec<(CString, f64)> =
            given.iter().map(|&(name, text)| (of_c(name), text.parse().unwrap())).collect();
        let numbers: Vec<(&CStr, f64)> = numbers.iter().map(|(name, number)| (name.as_c_str(), *number)).collect();
        (Operator::of_numbers(&of_c(known.name), &numbers), model.object().words())
    };
    definitions().map(of).collect()
}

#[test]
fn sources_by_name_are_those_of_the_library() {
    let extents = configuration().extents();
    for (operator, words) in every_operator().into_iter().chain([(Operator::of_numbers(c"hop", &[]), 12)]) {
        for name in ["gauss:7", "z4:7", "z2:7,3", "point:3,1,0,2,0,1", "wall:1,0,2", "momentum:1,0,-1,3,0,0"] {
            let (found, source) = (operator.source(name).unwrap(), Source::field(name).unwrap());
            let mut expected = vec![Complex::ONE; words];
            for (site, object) in found.chunks_exact(words).enumerate() {
                source.fill(extents, extents.coordinate(site), 0..words, &mut expected);
                assert_eq!(object, expected, "{name} of {words} words at site {site}");
            }
        }
    }
    let wilson = Operator::of_numbers(c"wilson", &[(c"mass", 0.5)]);
    let (re, im) = gaussian_pair(7, Stream::SpinorSource, 5, 11);
    assert_eq!(wilson.source("gauss:7").unwrap()[5 * 12 + 11], Complex::new(re, im));
    let point = wilson.source("point:1,0,0,1,2,1").unwrap();
    let place = 12 * extents.site([1, 0, 0, 1]) + 7;
    assert!(point.iter().enumerate().all(|(k, z)| *z == Complex::new(f64::from(k == place), 0.0)));
}

#[test]
fn a_source_from_a_file_has_its_numbers_in_site_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("eta.npy");
    let (name, extents) = (path.to_str().unwrap(), configuration().extents());
    let wilson = Operator::of_numbers(c"wilson", &[(c"mass", 0.5)]);
    let eta = wilson.source("gauss:3").unwrap();
    npy::write_spinor(&path, extents, &eta).unwrap();
    assert_eq!(wilson.source(name).unwrap(), eta);
    let dwf = Operator::of_numbers(c"dwf", &[(c"mass", 0.5), (c"ls", 4.0), (c"m5", 1.8)]);
    dwf.refuses(name, lf_status::LF_FILE, "[4, 2, 2, 4, 4, 3], and the operator acts on [4, 4, 2, 2, 4, 4, 3]");
    let eta = dwf.source("gauss:3").unwrap();
    npy::write_fermion5(&path, extents, 4, &eta).unwrap();
    assert_eq!(dwf.source(name).unwrap(), eta);
    std::fs::write(folder.path().join("eta.npy.json"), "{}").unwrap();
    dwf.refuses(name, lf_status::LF_FILE, "eta.npy.json is not the sidecar of an array");
}

#[test]
fn what_is_no_source_is_refused() {
    let wilson = Operator::of_numbers(c"wilson", &[(c"mass", 0.5)]);
    let staggered = Operator::of_numbers(c"staggered", &[(c"mass", 0.5)]);
    for (name, message) in [
        ("gaussian:7", "no source 'gaussian': expected gauss:SEED"),
        ("point:0,0,0,0", "one field needs a spin and a colour, as in point:0,0,0,0,0,0"),
        ("point:4,0,0,0,0,0", "x = 4 of the point source is outside 0 to 3 on 4.2.2.4"),
        ("wall:0,4,0", "spin 4 of the wall source is outside 0 to 3"),
        ("z2:-1", "invalid seed '-1'"),
    ] {
        wilson.refuses(name, INVALID, message);
    }
    staggered.refuses("wall:0,1,0", INVALID, "component 1 of the wall source is outside 0 to 0");
    wilson.refuses("./eta.npy", lf_status::LF_FILE, "eta.npy");
    let mut values = [0.0; 24];
    // SAFETY: what is null or too short is not written.
    unsafe {
        let few = lf_source(wilson.0, c"gauss:7".as_ptr(), values.as_mut_ptr(), values.len());
        assert!(few == INVALID && said().contains("24 real numbers"), "{}", said());
        for (operator, name, place) in [
            (null(), c"gauss:7".as_ptr(), values.as_mut_ptr()),
            (wilson.0.cast_const(), null(), values.as_mut_ptr()),
            (wilson.0.cast_const(), c"gauss:7".as_ptr(), null_mut()),
        ] {
            assert_eq!(lf_source(operator, name, place, 24 * 64), INVALID);
            assert!(said().contains("null pointer"), "{}", said());
        }
    }
}
