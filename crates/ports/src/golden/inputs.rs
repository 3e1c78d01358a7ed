//! Files that several cases and stages read.

use lanefield::in_precision;
use lanefield::kernel::Numbers;
use lanefield::prelude::*;
use lanefield::reference::field::Object;
use lanefield::reference::kernels::domain_wall::MatrixForm;

use super::array::{content_of, in_site_order, name_of};
use super::directory::Writer;
use super::error::GoldenError;
use super::setup::Setup;

/// A field of the test data on all sites, by number. Its file is written if it does not exist yet.
pub(super) fn input(
    setup: &Setup<'_>,
    writer: &mut Writer,
    precision: Precision,
    object: Object,
    number: u32,
) -> Result<String, GoldenError> {
    let path = format!("inputs/{}.{precision}.{number}.npy", name_of(object));
    if !writer.has(&path) {
        let (lattice, extents) = (setup.lattice(precision)?, setup.options.extents);
        let array = in_precision!(precision, R => {
            let field = setup.data.field::<R, Object>(lattice, Sites::Full, object, Numbers::Ordinary, number)?;
            in_site_order(object, extents, &field.to_site_order())
        });
        writer.array_of(&path, content_of(object), &array?)?;
    }
    Ok(path)
}

/// The name of a form of a matrix along s in file names.
pub(super) fn form_name(form: MatrixForm) -> &'static str {
    match form {
        MatrixForm::Tridiagonal => "tridiagonal",
        MatrixForm::Sweep => "sweep",
        MatrixForm::Dense => "dense",
    }
}

pub(super) fn raw_path(precision: Precision) -> String {
    format!("stages/links/raw.{precision}.npy")
}

pub(super) fn doubled_path(precision: Precision, format: LinkFormat) -> String {
    format!("stages/links/doubled.{precision}-r{format}.npy")
}
