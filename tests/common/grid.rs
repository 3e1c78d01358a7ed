//! Output of Grid in `tests/data`, to compare with; `tests/data/README.md` says where it came from.

use std::path::{Path, PathBuf};

use lanefield::io::{nersc, npy};
use lanefield::prelude::*;
use serde_json::Value;

/// The mass of all Wilson operators in the data.
pub const MASS: f64 = 0.1;

/// The boundary conditions in the data, by the ending of the names of files.
pub const BOUNDARIES: [(&str, BoundaryPhases); 2] =
    [("p", BoundaryPhases::PERIODIC), ("ap", BoundaryPhases::ANTIPERIODIC_IN_TIME)];

/// What Grid wrote about one configuration.
pub struct GridData {
    folder: PathBuf,
    meta: Value,
    pub configuration: Configuration,
}

impl GridData {
    /// Random SU(3), 4.4.4.4.
    pub fn hot() -> Self {
        Self::load("hot-4x4x4x4", "tests/data/hot-4x4x4x4/gauge.nersc")
    }

    /// Weak field, 8.4.4.8.
    pub fn tepid() -> Self {
        Self::load("tepid-8x4x4x8", "tests/data/tepid-8x4x4x8/gauge.nersc")
    }

    /// Thermalised, 8.8.8.16.
    pub fn quenched() -> Self {
        Self::load("quenched-8x8x8x16", "examples/quenched-8x8x8x16.nersc")
    }

    fn load(folder: &str, configuration: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = root.join("tests/data").join(folder);
        let meta = serde_json::from_slice(&std::fs::read(folder.join("meta.json")).unwrap()).unwrap();
        let configuration = nersc::read(&root.join(configuration)).unwrap().configuration;
        Self { folder, meta, configuration }
    }

    /// A spinor field in site order.
    pub fn spinor(&self, name: &str) -> Vec<Complex<f64>> {
        npy::read_spinor(&self.folder.join(format!("{name}.npy"))).unwrap().values.into_f64()
    }

    /// A five-dimensional fermion in site order, s fastest.
    pub fn fermion5(&self, name: &str) -> Vec<Complex<f64>> {
        npy::read_fermion5(&self.folder.join(format!("{name}.npy"))).unwrap().values.into_f64()
    }

    /// A field of any site object.
    pub fn field(&self, name: &str) -> npy::FieldArray {
        npy::read_complex(&self.folder.join(format!("{name}.npy"))).unwrap().into_field().unwrap()
    }

    /// A real number that Grid computed.
    pub fn number(&self, section: &str, name: &str) -> f64 {
        self.meta[section][name].as_f64().unwrap()
    }

    /// Complex numbers that Grid computed: a list, or one.
    pub fn complex_numbers(&self, section: &str, name: &str) -> Vec<Complex<f64>> {
        let numbers = &self.meta[section][name];
        let list = if numbers[0].is_array() { numbers.as_array().unwrap() } else { std::slice::from_ref(numbers) };
        list.iter().map(|z| Complex::new(z[0].as_f64().unwrap(), z[1].as_f64().unwrap())).collect()
    }

    /// Iterations of a solve by Grid.
    pub fn iterations(&self, name: &str) -> usize {
        let solves = self.meta["solves_and_checks"].as_array().unwrap();
        solves.iter().find(|solve| solve["name"] == name).unwrap()["iterations"].as_u64().unwrap() as usize
    }

    /// Iterations and true residual of a solve by Grid; of an even-odd one, that of the system on the odd sites.
    pub fn solve(&self, name: &str) -> (usize, f64) {
        let solves = self.meta["solves_and_checks"].as_array().unwrap();
        let solve = solves.iter().find(|solve| solve["name"] == name).unwrap();
        let residual = solve["true_residual"].as_f64().or(solve["inner_true_residual"].as_f64());
        (self.iterations(name), residual.unwrap())
    }

    /// The folder's name.
    pub fn name(&self) -> String {
        self.folder.file_name().unwrap().to_string_lossy().into_owned()
    }
}

/// Compares a spinor field, or a five-dimensional one, with the one in Grid's file `name`: rounding in `R` must explain their distance.
pub fn assert_agrees<R: Vectors>(data: &GridData, name: &str, found: &[Complex<f64>]) {
    let tolerance = if R::BITS == 32 { 2e-6 } else { 1e-13 };
    let is_spinor = found.len() == Spinors::WORDS * data.configuration.extents().volume();
    let expected = if is_spinor { data.spinor(name) } else { data.fermion5(name) };
    let distance = distance(found, &expected);
    assert!(distance < tolerance, "{} {} {name}: relative distance {distance:e}", R::NAME, data.name());
}

/// ‖found − expected‖ / ‖expected‖.
pub fn distance(found: &[Complex<f64>], expected: &[Complex<f64>]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let difference: f64 = found.iter().zip(expected).map(|(a, b)| (a - b).norm_sqr()).sum();
    let norm: f64 = expected.iter().map(|c| c.norm_sqr()).sum();
    (difference / norm).sqrt()
}
