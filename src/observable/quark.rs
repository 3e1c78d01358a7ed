//! Operators of quarks: how physical spinors, of four dimensions, enter and leave the fields that the operator acts on.

use lanefield_reference::field::{Object, SiteObject as _};
use lanefield_reference::kernels::domain_wall::from_walls;
use lanefield_reference::layout::Checkerboard;
use lanefield_reference::prelude::*;
use lanefield_reference::real::Real as _;

use crate::backend::{Backend, BackendError};
use crate::operator::{
    AnyModel, CloverParameters, DomainWallParameters, Model as _, ModelChoice, TwistedMassParameters, WilsonParameters,
};

/// An operator that describes a quark; one that is known at run time may be another ([`require_quark`]). Fields are in site order over the whole lattice, the
/// spinors of all right-hand sides at each site. Onto the walls of domain wall fermions physical sources go, and physical solutions are read from them
/// (`docs/arithmetic.md` §14).
pub trait Quark: ModelChoice + Into<AnyModel> {
    /// Its boundary phases.
    fn boundary(&self) -> BoundaryPhases {
        (*self).into().hop().boundary
    }

    /// The sources that the operator is solved with, for physical sources `eta`. They are computed in f64, whatever the precision of the solve, which rounds
    /// them.
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

    /// The physical solutions of the operator's solutions `psi`. `lattice` is one of fields of precision `R`.
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

/// An operator of no quark. The message is a fragment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{operator} does not act on spinors, and has no quark propagator")]
pub struct NoQuark {
    /// It, with its parameters.
    pub operator: String,
}

/// Refuses an operator that describes no quark.
pub fn require_quark(model: &AnyModel) -> Result<(), NoQuark> {
    match model.object() {
        Object::Spinors(_) => Ok(()),
        _ => Err(NoQuark { operator: model.describe() }),
    }
}

/// Spinors in site order on all sites, as many a site as there are.
fn field<R: Vectors>(lattice: Lattice, values: &[Complex<R>]) -> Result<Field<R, Spinors>, BackendError> {
    let count = values.len() / (lattice.extents().volume() * Spinors::ONE.words());
    Ok(Field::from_site_order(lattice, Sites::Full, Spinors::new(count), values)?)
}
