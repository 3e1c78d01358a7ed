//! Quark operators: how physical, four-dimensional spinors are converted to and from the fields on which the operator acts.

use lanefield_reference::field::{Object, SiteObject as _};
use lanefield_reference::kernels::domain_wall::from_walls;
use lanefield_reference::layout::Checkerboard;
use lanefield_reference::prelude::*;
use lanefield_reference::real::Real as _;

use crate::backend::{Backend, BackendError};
use crate::operator::{
    AnyModel, CloverParameters, DomainWallParameters, Model as _, ModelChoice, TwistedMassParameters, WilsonParameters,
};

/// An operator that describes a quark. An operator that is chosen at run time may be a different kind ([`require_quark`]). Fields are in site order
/// over the whole lattice, with the spinors of all right-hand sides at each site. For domain wall fermions, physical sources are put on the walls,
/// and physical solutions are read from them (`docs/arithmetic.md` §14).
pub trait Quark: ModelChoice + Into<AnyModel> {
    /// The boundary phases.
    fn boundary(&self) -> BoundaryPhases {
        (*self).into().hop().boundary
    }

    /// The right-hand sides with which the operator is solved, for physical sources `eta`. They are computed in f64 whatever the precision of the
    /// solve, which rounds them.
    fn import_sources<B: Backend>(
        &self,
        backend: &B,
        configuration: &Configuration,
        eta: Vec<Complex<f64>>,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        let AnyModel::DomainWall(walls) = (*self).into() else { return Ok(eta) };
        let options = LatticeOptions { checkerboard: Checkerboard::FullOnly, ..LatticeOptions::default() };
        let lattice = Lattice::new(configuration.extents(), f64::COMPLEX, options)?;
        let backend = backend.in_f64();
        let eta = backend.upload(field(lattice, &eta)?)?;
        let mut operator = walls.full::<B, f64>(backend, configuration, lattice)?;
        Ok(backend.download(&operator.import_physical_source(&eta)?)?.try_to_site_order()?)
    }

    /// The physical solutions that correspond to the operator's solutions `psi`. `lattice` has the layout of fields in precision `R`.
    fn export_solutions<R: Vectors>(
        &self,
        lattice: Lattice,
        psi: Vec<Complex<R>>,
    ) -> Result<Vec<Complex<R>>, BackendError> {
        match (*self).into() {
            AnyModel::DomainWall(walls) => Ok(from_walls(&field(lattice, &psi)?, walls.ls)?.try_to_site_order()?),
            _ => Ok(psi),
        }
    }
}

impl Quark for WilsonParameters {}
impl Quark for TwistedMassParameters {}
impl Quark for CloverParameters {}
impl Quark for DomainWallParameters {}
impl Quark for AnyModel {}

/// The operator is not one of a quark. The message is a fragment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operator} does not act on spinors, and has no quark propagator")]
pub struct NoQuark {
    /// The operator with its parameters.
    pub operator: String,
}

/// Returns an error if the operator describes no quark.
pub fn require_quark(model: &AnyModel) -> Result<(), NoQuark> {
    match model.object() {
        Object::Spinors(_) => Ok(()),
        _ => Err(NoQuark { operator: model.describe() }),
    }
}

/// Spinors in site order on all sites; their number per site follows from the length.
fn field<R: Vectors>(lattice: Lattice, values: &[Complex<R>]) -> Result<Field<R, Spinors>, BackendError> {
    let count = values.len() / (lattice.extents().volume() * Spinors::ONE.words());
    Ok(Field::from_site_order(lattice, Sites::Full, Spinors::new(count), values)?)
}
