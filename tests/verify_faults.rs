//! That a verification as a whole can fail: a reference with one wrong bit in one kernel is caught, in that kernel's rows alone, with the
//! place of the bit and the number of the case that repeats it.

use lanefield::backend::{Cpu, Sum};
use lanefield::reference::field::{ColourVectors, Field, SiteObject, Spinors};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::domain_wall::SMatrix;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::Direction;
use lanefield::solver::WilsonSolve;
use lanefield::verify::{
    CloverFields, CloverHopInputs, CloverInputs, HopInputs, Mismatch, Reference, Solved, VerifyError, VerifyOptions,
    VerifyReport, verify,
};
use num_complex::Complex;

type SpinorField<R> = Field<R, Spinors>;

/// The CPU reference, whose axpy gets the sign of the last real wrong.
struct WrongAxpy(Cpu);

impl Reference for WrongAxpy {
    fn name(&self) -> &'static str {
        "CPU reference with a wrong axpy"
    }
    fn axpy<R: Vectors>(&self, a: f64, x: &SpinorField<R>, y: &mut SpinorField<R>) -> Result<(), VerifyError> {
        Reference::axpy(&self.0, a, x, y)?;
        let last = y.reals_mut().last_mut().expect("no field is empty");
        *last = if last.is_nan() { R::from_f64(1.0) } else { -*last };
        Ok(())
    }

    fn hop<R: Vectors>(
        &self,
        inputs: &HopInputs<'_, R>,
        source: &SpinorField<R>,
        dagger: Dagger,
    ) -> Result<SpinorField<R>, VerifyError> {
        Reference::hop(&self.0, inputs, source, dagger)
    }
    fn clover_terms<R: Vectors>(&self, inputs: &CloverInputs<'_, R>) -> Result<CloverFields<R>, VerifyError> {
        Reference::clover_terms(&self.0, inputs)
    }
    fn clover_hop<R: Vectors>(&self, inputs: &CloverHopInputs<'_, R>) -> Result<SpinorField<R>, VerifyError> {
        Reference::clover_hop(&self.0, inputs)
    }
    fn laplace_hop<R: Vectors>(
        &self,
        inputs: &HopInputs<'_, R>,
        source: &Field<R, ColourVectors>,
    ) -> Result<Field<R, ColourVectors>, VerifyError> {
        Reference::laplace_hop(&self.0, inputs, source)
    }
    fn scale<R: Vectors>(&self, a: f64, x: &SpinorField<R>) -> Result<SpinorField<R>, VerifyError> {
        Reference::scale(&self.0, a, x)
    }
    fn axpy_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &Field<R, K>,
        y: &mut Field<R, K>,
        sum: Sum,
    ) -> Result<f64, VerifyError> {
        Reference::axpy_norm(&self.0, a, x, y, sum)
    }
    fn axpby_norm<R: Vectors, K: SiteObject>(
        &self,
        a: f64,
        x: &Field<R, K>,
        b: f64,
        y: &mut Field<R, K>,
        sum: Sum,
    ) -> Result<f64, VerifyError> {
        Reference::axpby_norm(&self.0, a, x, b, y, sum)
    }
    fn cg_update<R: Vectors>(
        &self,
        psi: &mut SpinorField<R>,
        p: &mut SpinorField<R>,
        r: &SpinorField<R>,
        a: f64,
        b: f64,
    ) -> Result<(), VerifyError> {
        Reference::cg_update(&self.0, psi, p, r, a, b)
    }
    fn norm2<R: Vectors, K: SiteObject>(&self, x: &Field<R, K>, sum: Sum) -> Result<f64, VerifyError> {
        Reference::norm2(&self.0, x, sum)
    }
    fn inner_products<R: Vectors, K: SiteObject>(
        &self,
        xs: &[&Field<R, K>],
        y: &Field<R, K>,
        sum: Sum,
    ) -> Result<Vec<Complex<f64>>, VerifyError> {
        Reference::inner_products(&self.0, xs, y, sum)
    }
    fn sum<R: Vectors, K: SiteObject>(&self, x: &Field<R, K>, sum: Sum) -> Result<Vec<Complex<f64>>, VerifyError> {
        Reference::sum(&self.0, x, sum)
    }
    fn slice_sums<R: Vectors, K: SiteObject>(
        &self,
        x: &Field<R, K>,
        direction: Direction,
        sum: Sum,
    ) -> Result<Vec<Vec<Complex<f64>>>, VerifyError> {
        Reference::slice_sums(&self.0, x, direction, sum)
    }
    fn s_multiply<R: Vectors>(
        &self,
        matrix: &SMatrix,
        x: &SpinorField<R>,
        z: Option<&SpinorField<R>>,
    ) -> Result<SpinorField<R>, VerifyError> {
        Reference::s_multiply(&self.0, matrix, x, z)
    }
    fn solve<R: Vectors>(
        &self,
        configuration: &Configuration,
        eta: &[Complex<f64>],
        solve: &WilsonSolve,
    ) -> Result<Solved<R>, VerifyError> {
        Reference::solve(&self.0, configuration, eta, solve)
    }
}

fn run(only: Option<u64>) -> VerifyReport {
    let cpu = || Cpu::new(None).unwrap();
    let options = VerifyOptions { cases: 4, only, large_lattices: false, ..VerifyOptions::quick(5) };
    verify(&mut cpu(), &WrongAxpy(cpu()), &cpu(), &options, |_| ()).unwrap()
}

#[test]
fn one_wrong_bit_in_one_kernel_is_found_there_and_can_be_repeated() {
    let report = run(None);
    assert!(!report.same_bits());
    for row in &report.rows {
        assert_eq!(row.same_bits(), row.kernel != "axpy", "{}", row.kernel);
    }
    let failure = report.rows.iter().find_map(|row| row.failure.as_ref()).expect("a row that failed says how");
    let Mismatch::Field(mismatch) = &failure.mismatch else { panic!("{}", failure.mismatch) };
    assert!(mismatch.to_string().contains("lane"), "{mismatch}");

    let repeated = run(Some(failure.case));
    let again = repeated.rows.iter().find_map(|row| row.failure.as_ref()).expect("the case fails again");
    assert_eq!(again.mismatch.to_string(), failure.mismatch.to_string());
}
