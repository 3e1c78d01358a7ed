//! Applies an operator, or one of its even-odd pieces, to an array. Intermediate data, such as links in the device's layout, are kept for the
//! next call.

use std::borrow::Cow;

use lanefield::backend::{BackendError, HostField};
use lanefield::dynamic::{AnyBackend, Applied, DynField, KeptOperator, Piece};
use lanefield::reference::field::{FieldError, FieldShape};
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::Parity;
use lanefield::reference::real::Real;
use num_complex::Complex;
use pyo3::prelude::*;

use super::arrays::Number;
use super::errors::{self, value};
use super::fields::Axes;
use super::running;

/// A piece by its name and target parity.
pub fn piece(name: &str, parity: Option<Parity>) -> PyResult<Piece> {
    match (name, parity) {
        ("full", None) => Ok(Piece::Full),
        ("full", Some(_)) => Err(value("the whole operator acts on all sites: leave out parity, or give a piece")),
        ("mpc", None | Some(Parity::Odd)) => Ok(Piece::Mpc),
        ("mpc", Some(Parity::Even)) => Err(value("the piece mpc acts on the odd sites: leave out parity")),
        ("meooe", Some(onto)) => Ok(Piece::Meooe(onto)),
        ("mooee", Some(onto)) => Ok(Piece::Mooee(onto)),
        ("mooeeinv", Some(onto)) => Ok(Piece::MooeeInverse(onto)),
        (_, None) => Err(value(format!("the piece {name} needs parity=\"even\" or \"odd\": the sites of the result"))),
        _ => Err(value(format!("unknown piece '{name}': expected full, meooe, mooee, mooeeinv or mpc"))),
    }
}

/// The piece of an operator that is applied, and the fields that it acts on.
#[derive(Clone, Copy)]
pub struct Applying<'a> {
    pub piece: Piece,
    pub dagger: Dagger,
    /// The shape of fields on all sites.
    pub shape: FieldShape,
    pub axes: &'a Axes,
}

impl Applying<'_> {
    /// Applies the piece to the array `psi` on a backend, and writes the result to `out`.
    fn on<R: Number>(
        &self,
        backend: &AnyBackend,
        operator: &mut (dyn Applied + Send + '_),
        psi: &[Complex<R>],
        out: &mut [Complex<R>],
    ) -> Result<(), BackendError> {
        let Self { piece, dagger, shape, axes } = *self;
        let on = |sites| FieldShape { sites, ..shape };
        let psi = HostField::new(axes.field(on(piece.from()), psi)?);
        let psi = DynField::store(backend, Cow::Owned(psi))?;
        let mut result = DynField::zeros(backend, on(piece.onto()))?;
        operator.apply(piece, dagger, &mut result, &psi)?;
        let shown = backend.show(&result)?;
        let field = shown.get::<R>().ok_or_else(|| FieldError::Mismatch {
            what: "reading a field",
            left: result.shape().describe(),
            right: R::NAME.to_owned(),
        })?;
        axes.read(field, out);
        Ok(())
    }

    /// Applies the piece of the operator, or of its Hermitian conjugate, to `psi`. `out` has the same axes, and is 0 on sites of the other parity.
    pub fn apply<R: Number>(
        &self,
        py: Python<'_>,
        kept: &KeptOperator,
        psi: &[Complex<R>],
        out: &mut [Complex<R>],
    ) -> PyResult<()> {
        let (precision, backend) = (<R as Real>::PRECISION, kept.backend());
        let applied = running::run(py, None, |_| {
            kept.with(precision, |operator| backend.install(|| self.on(backend, operator, psi, out)))
        })?;
        applied.map_err(errors::backend)
    }
}
