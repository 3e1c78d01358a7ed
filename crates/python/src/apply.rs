//! An operator, or one of its even-odd pieces, applied to an array.

use lanefield::backend::{Backend, BackendError, FieldOn};
use lanefield::operator::{EvenOdd as _, Model, ModelTask, Operator as _, SchurComplement};
use lanefield::reference::field::{Field, SiteObject};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::{Checkerboard, Lattice, LatticeOptions, Parity, Sites};
use num_complex::Complex;
use pyo3::prelude::*;

use super::arrays::Number;
use super::device::on_backend;
use super::errors::{self, value};
use super::fields::Axes;
use super::operator::Operator;
use super::running;

/// What of an operator is applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// M on all sites.
    Full,
    /// The part of M that connects the parities, onto these sites.
    Meooe(Parity),
    /// The part of M that stays on a parity.
    Mooee(Parity),
    /// Its inverse.
    MooeeInverse(Parity),
    /// The Schur complement on the odd sites.
    Mpc,
}

impl Piece {
    /// A piece by its name, onto the sites of a parity.
    pub fn new(name: &str, parity: Option<Parity>) -> PyResult<Self> {
        match (name, parity) {
            ("full", None) => Ok(Self::Full),
            ("full", Some(_)) => Err(value("the whole operator acts on all sites: leave parity out, or give a piece")),
            ("mpc", None | Some(Parity::Odd)) => Ok(Self::Mpc),
            ("mpc", Some(Parity::Even)) => Err(value("the piece mpc acts on the odd sites: leave parity out")),
            ("meooe", Some(onto)) => Ok(Self::Meooe(onto)),
            ("mooee", Some(onto)) => Ok(Self::Mooee(onto)),
            ("mooeeinv", Some(onto)) => Ok(Self::MooeeInverse(onto)),
            ("meooe" | "mooee" | "mooeeinv", None) => {
                Err(value(format!("the piece {name} needs parity=\"even\" or \"odd\": the sites of the result")))
            }
            _ => Err(value(format!("unknown piece '{name}': expected full, meooe, mooee, mooeeinv or mpc"))),
        }
    }

    /// Whether it divides by the diagonal.
    pub fn divides(self) -> bool {
        matches!(self, Self::MooeeInverse(_) | Self::Mpc)
    }

    fn onto(self) -> Sites {
        match self {
            Self::Full => Sites::Full,
            Self::Meooe(parity) | Self::Mooee(parity) | Self::MooeeInverse(parity) => Sites::Parity(parity),
            Self::Mpc => Sites::Parity(Parity::Odd),
        }
    }
}

/// The piece of the operator, or its Hermitian conjugate, of numbers in the array's order. Where it does not act, the result is 0.
pub fn apply<R: Number>(
    py: Python<'_>,
    operator: &Operator,
    axes: &Axes,
    psi: &[Complex<R>],
    piece: Piece,
    dagger: bool,
) -> PyResult<Vec<Complex<R>>> {
    let checkerboard = if piece == Piece::Full { Checkerboard::FullOnly } else { Checkerboard::RedBlack };
    let options = LatticeOptions { lanes: operator.device().lanes(), nodes: None, checkerboard };
    let configuration = operator.configuration().get();
    let lattice = Lattice::new(configuration.extents(), R::COMPLEX, options).map_err(value)?;
    let dagger = if dagger { Dagger::Yes } else { Dagger::No };
    let (model, device) = (operator.model(), operator.device().backend());
    let applied = running::run(py, None, |_| {
        let psi = &axes.in_site_order(psi)[..];
        on_backend!(device, backend => {
            model.run(Task { backend, configuration, lattice, psi, rhs: axes.rhs, piece, dagger })
        })
        .map(|result| axes.in_array_order(result))
    })?;
    applied.map_err(errors::backend)
}

/// One application, on any backend.
struct Task<'a, B, R> {
    backend: &'a B,
    configuration: &'a Configuration,
    lattice: Lattice,
    psi: &'a [Complex<R>],
    rhs: usize,
    piece: Piece,
    dagger: Dagger,
}

impl<B: Backend, R: Number> Task<'_, B, R> {
    /// Uploads `psi` to `from`, applies, and downloads the result.
    fn on<K: SiteObject>(
        &self,
        object: K,
        from: Sites,
        apply: impl FnOnce(&mut FieldOn<B, R, K>, &FieldOn<B, R, K>) -> Result<(), BackendError>,
    ) -> Result<Vec<Complex<R>>, BackendError> {
        let psi = self.backend.upload(Field::from_site_order(self.lattice, from, object, self.psi)?)?;
        let mut out = self.backend.zeros(self.lattice, self.piece.onto(), object)?;
        apply(&mut out, &psi)?;
        Ok(self.backend.download(&out)?.try_to_site_order()?)
    }
}

impl<B: Backend, R: Number> ModelTask for Task<'_, B, R> {
    type Output = Result<Vec<Complex<R>>, BackendError>;

    fn run<M: Model>(self, model: M) -> Self::Output {
        let Self { backend, configuration, lattice, dagger, .. } = self;
        let (object, onto) = (model.object(self.rhs), self.piece.onto());
        if self.piece == Piece::Full {
            let mut full = model.full::<B, R>(backend, configuration, lattice)?;
            return self.on(object, onto, |out, psi| full.apply(out, psi, dagger));
        }
        let mut pieces = model.even_odd::<B, R>(backend, configuration, lattice)?;
        match self.piece {
            Piece::Meooe(_) => self.on(object, onto.neighbours(), |out, psi| pieces.meooe(out, psi, dagger)),
            Piece::Mooee(_) => self.on(object, onto, |out, psi| pieces.mooee(out, psi, dagger)),
            Piece::MooeeInverse(_) => self.on(object, onto, |out, psi| pieces.mooee_inv(out, psi, dagger)),
            Piece::Full | Piece::Mpc => {
                let mut schur = SchurComplement::new(pieces)?;
                self.on(object, onto, |out, psi| schur.apply(out, psi, dagger))
            }
        }
    }
}
