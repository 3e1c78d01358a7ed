//! Operators of quarks: how physical spinors, of four dimensions, enter and leave the fields that the operator acts on.

use lanefield_reference::field::{Field, SiteObject as _, Spinors};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::domain_wall::from_walls;
use lanefield_reference::layout::{Checkerboard, Lattice, LatticeOptions, Sites};
use lanefield_reference::real::Real as _;
use num_complex::Complex;

use crate::backend::{Backend, BackendError};
use crate::operator::{CloverParameters, DomainWallParameters, Model, TwistedMassParameters, WilsonParameters};

/// An operator that describes a quark. Fields are in site order over the whole lattice, the spinors of all right-hand sides at each site.
pub trait Quark: Model<Object = Spinors> {
    /// The sources that the operator is solved with, for physical sources `eta`.
    fn import_sources<B: Backend>(
        &self,
        _backend: &B,
        _configuration: &Configuration,
        eta: Vec<Complex<f64>>,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        Ok(eta)
    }

    /// The physical solutions of the operator's solutions `psi`. `lattice` is one of fields of precision `R`.
    ///
    /// # Errors
    /// Spinors that make no whole columns.
    fn export_solutions<R: Vectors>(
        &self,
        _lattice: Lattice,
        psi: Vec<Complex<R>>,
    ) -> Result<Vec<Complex<R>>, BackendError> {
        Ok(psi)
    }
}

impl Quark for WilsonParameters {}
impl Quark for TwistedMassParameters {}
impl Quark for CloverParameters {}

/// Physical sources go onto the walls and physical solutions are read from them (`docs/arithmetic.md` §14). Sources are computed in f64,
/// whatever the precision of the solve, which rounds them.
impl Quark for DomainWallParameters {
    fn import_sources<B: Backend>(
        &self,
        backend: &B,
        configuration: &Configuration,
        eta: Vec<Complex<f64>>,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        let options = LatticeOptions { checkerboard: Checkerboard::FullOnly, ..LatticeOptions::default() };
        let lattice = Lattice::new(configuration.extents(), f64::COMPLEX, options)?;
        let eta = backend.upload(field(lattice, &eta)?)?;
        let mut operator = self.full::<B, f64>(backend, configuration, lattice)?;
        Ok(backend.download(&operator.import_physical_source(&eta)?)?.try_to_site_order()?)
    }

    fn export_solutions<R: Vectors>(
        &self,
        lattice: Lattice,
        psi: Vec<Complex<R>>,
    ) -> Result<Vec<Complex<R>>, BackendError> {
        Ok(from_walls(&field(lattice, &psi)?, self.ls)?.try_to_site_order()?)
    }
}

/// Spinors in site order on all sites, as many a site as there are.
fn field<R: Vectors>(lattice: Lattice, values: &[Complex<R>]) -> Result<Field<R, Spinors>, BackendError> {
    let count = values.len() / (lattice.extents().volume() * Spinors::ONE.words());
    Ok(Field::from_site_order(lattice, Sites::Full, Spinors::new(count), values)?)
}
