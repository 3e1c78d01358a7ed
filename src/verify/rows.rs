//! The rows of a report while comparisons run.

use std::time::Instant;

use super::compare::Mismatch;
use super::error::VerifyError;
use super::report::{Failure, Row, Subject};

#[derive(Default)]
pub(super) struct ReportRows {
    pub rows: Vec<Row>,
}

pub(super) struct Compared {
    pub components: u64,
    pub mismatch: Option<Mismatch>,
}

impl ReportRows {
    /// Runs one check, and adds its time and outcome to its row. `None` if the device lacks a required feature; the row then says so.
    pub(super) fn check(
        &mut self,
        subject: &Subject,
        (number, description): (u64, &dyn Fn() -> String),
        check: impl FnOnce() -> Result<Compared, VerifyError>,
    ) -> Result<Option<&mut Row>, VerifyError> {
        let start = Instant::now();
        let checked = check();
        let seconds = start.elapsed().as_secs_f64();
        let (compared, lacks) = match checked {
            Ok(compared) => (Some(compared), None),
            Err(error) => match error.lacks() {
                Some(lacks) => (None, Some(lacks)),
                None => return Err(error),
            },
        };
        let known = self.rows.iter().position(|row| row.subject() == *subject);
        let index = known.unwrap_or_else(|| {
            self.rows.push(Row::new(subject));
            self.rows.len() - 1
        });
        let row = &mut self.rows[index];
        let Some(Compared { components, mismatch }) = compared else {
            row.lacks = lacks;
            row.judge();
            return Ok(None);
        };
        row.comparisons += 1;
        row.components += components;
        row.seconds += seconds;
        if let Some(mismatch) = mismatch {
            row.different += 1;
            row.failure.get_or_insert_with(|| Failure { case: number, description: description(), mismatch });
        }
        row.judge();
        Ok(Some(row))
    }
}

#[cfg(test)]
mod tests {
    use lanefield_reference::real::Precision;

    use super::super::report::RowVerdict;
    use super::*;
    use crate::backend::BackendError;
    use crate::backend::opencl::DeviceError;

    #[test]
    fn what_a_device_lacks_is_listed_and_other_errors_stay_errors() {
        let mut rows = ReportRows::default();
        let subject = Subject { kernel: "halve".to_owned(), precision: Precision::F64, reconstruct: None };
        let mut check = |error: DeviceError| {
            let failing = || Err(VerifyError::from(BackendError::from(error)));
            rows.check(&subject, (0, &String::new), failing).map(|row| row.is_some())
        };
        let device = "Test CPU".to_owned();
        assert!(matches!(check(DeviceError::NoDoubles { device: device.clone() }), Ok(false)));
        assert!(check(DeviceError::NoBinary { device, kernel: "halve".to_owned() }).is_err());
        let [row] = &rows.rows[..] else { panic!("{:?}", rows.rows) };
        assert_eq!(
            (row.kernel.as_str(), row.precision, row.verdict),
            ("halve", Precision::F64, RowVerdict::NotSupported)
        );
        let reason = row.lacks.as_deref().unwrap();
        assert!(reason.contains("has no f64"), "{reason}");
    }
}
