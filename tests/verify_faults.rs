//! That a verification as a whole can fail: a backend with one wrong bit in one kernel is caught, in that kernel's rows alone, with the place of
//! the bit and the number of the case that repeats it.

use std::borrow::Cow;

use lanefield::backend::opencl::{SumOptions, Tuning};
use lanefield::backend::specification::Call;
use lanefield::backend::{AnyField, BackendError, Cpu, HostField, HostTable, Launch, Memory, Reduce, Sum};
use lanefield::in_precision;
use lanefield::kernel::blas::AXPY;
use lanefield::reference::field::FieldShape;
use lanefield::reference::kernels::blas;
use lanefield::reference::kernels::domain_wall::SMatrix;
use lanefield::reference::kernels::reduce::PartialSums;
use lanefield::reference::layout::Stencil;
use lanefield::reference::real::{Precision, Real};
use lanefield::verify::{Against, Mismatch, RowVerdict, Tested, VerifyOptions, VerifyReport, verify};

/// The CPU backend, whose axpy gets the sign of the last real wrong.
struct WrongAxpy(Cpu);

impl Memory for WrongAxpy {
    type Storage = HostField;
    type Table = HostTable;
    fn describe(&self) -> String {
        "a wrong axpy".to_owned()
    }
    fn allocate(&self, shape: &FieldShape) -> Result<HostField, BackendError> {
        self.0.allocate(shape)
    }
    fn fill_zero(&self, field: &mut AnyField<HostField>) -> Result<(), BackendError> {
        self.0.fill_zero(field)
    }
    fn store(&self, field: Cow<'_, HostField>) -> Result<HostField, BackendError> {
        self.0.store(field)
    }
    fn load(&self, field: &AnyField<HostField>) -> Result<HostField, BackendError> {
        self.0.load(field)
    }
    fn stencil(&self, stencil: Stencil) -> Result<HostTable, BackendError> {
        self.0.stencil(stencil)
    }
    fn matrix(&self, matrix: &SMatrix, precision: Precision) -> Result<HostTable, BackendError> {
        self.0.matrix(matrix, precision)
    }
    fn finish(&self) -> Result<(), BackendError> {
        self.0.finish()
    }
}

impl Launch for WrongAxpy {
    fn launch(&self, call: Call<'_, Self>) -> Result<(), BackendError> {
        let mut call = call.on::<Cpu>();
        if call.kernel() != &AXPY {
            return self.0.launch(call);
        }
        in_precision!(call.shape().precision(), R => {
            let y = call.data_mut::<R>("y")?;
            blas::axpy_norm(call.scalar("a"), call.data::<R>("x")?, y, Sum::Exact)?;
            let last = y.reals_mut().last_mut().expect("no field is empty");
            *last = if last.is_nan() { R::from_f64(1.0) } else { -*last };
        });
        Ok(())
    }
}

impl Reduce for WrongAxpy {
    fn reduce(&self, call: Call<'_, Self>, sum: Sum) -> Result<PartialSums, BackendError> {
        self.0.reduce(call.on(), sum)
    }
}

impl Tested for WrongAxpy {
    fn set_tuning(&mut self, tuning: Tuning) -> Result<(), BackendError> {
        self.0.set_tuning(tuning)
    }
    fn set_sum_options(&mut self, options: SumOptions) {
        self.0.set_sum_options(options);
    }
    fn can_retire(&self) -> bool {
        self.0.can_retire()
    }
}

fn run(cases: u32, only: Option<u64>) -> VerifyReport {
    let cpu = || Cpu::new(None).unwrap();
    let options = VerifyOptions { cases, only, ..VerifyOptions::standard(5) };
    verify(&mut WrongAxpy(cpu()), Against::Cpu, &cpu(), &options, |_| ()).unwrap()
}

fn one_wrong_bit_is_found_and_can_be_repeated(cases: u32) {
    let report = run(cases, None);
    assert!(!report.same_bits());
    // Solves go through axpy.
    for row in report.rows.iter().filter(|row| row.iterations.is_none()) {
        assert_eq!(row.verdict == RowVerdict::SameBits, row.kernel != "axpy", "{}", row.kernel);
    }
    let failure = report.rows.iter().find_map(|row| row.failure.as_ref()).expect("a row that failed says how");
    let Mismatch::Field { mismatch, .. } = &failure.mismatch else { panic!("{}", failure.mismatch) };
    assert!(mismatch.to_string().contains("lane"), "{mismatch}");

    let repeated = run(cases, Some(failure.case));
    let again = repeated.rows.iter().find_map(|row| row.failure.as_ref()).expect("the case fails again");
    assert_eq!(again.mismatch.to_string(), failure.mismatch.to_string());
}

#[test]
fn one_wrong_bit_in_one_kernel_is_found_there_and_can_be_repeated() {
    one_wrong_bit_is_found_and_can_be_repeated(1);
}

#[test]
#[ignore = "test-all: more cases"]
fn one_wrong_bit_in_one_kernel_is_found_in_more_cases() {
    one_wrong_bit_is_found_and_can_be_repeated(4);
}
