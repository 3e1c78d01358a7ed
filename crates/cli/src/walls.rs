//! Physical sources and solutions of domain wall fermions: onto the walls before a solve, and from them after it.

use lanefield::backend::{Backend, BackendError};
use lanefield::operator::{DomainWallParameters, Model as _};
use lanefield::reference::field::{Field, Spinors};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::domain_wall::from_walls;
use lanefield::reference::layout::{Checkerboard, LaneChoice, Lattice, LatticeOptions, Sites};
use num_complex::Complex;

fn lattice<R: Vectors>(configuration: &Configuration) -> Result<Lattice, BackendError> {
    let options = LatticeOptions { lanes: LaneChoice::Auto, nodes: None, checkerboard: Checkerboard::FullOnly };
    Ok(Lattice::new(configuration.extents(), R::COMPLEX, options)?)
}

/// The five-dimensional source of a physical one, in f64; both in site order.
pub fn import_source<B: Backend>(
    backend: &B,
    configuration: &Configuration,
    parameters: DomainWallParameters,
    eta: &[Complex<f64>],
) -> Result<Vec<Complex<f64>>, BackendError> {
    let lattice = lattice::<f64>(configuration)?;
    let eta = backend.upload(Field::from_site_order(lattice, Sites::Full, Spinors::ONE, eta)?)?;
    let mut operator = parameters.full::<B, f64>(backend, configuration, lattice)?;
    let source = operator.import_physical_source(&eta)?;
    Ok(backend.download(&source)?.to_site_order())
}

/// The physical solution of a five-dimensional one; both in site order.
pub fn export_solution<R: Vectors>(
    configuration: &Configuration,
    parameters: DomainWallParameters,
    psi: &[Complex<R>],
) -> Result<Vec<Complex<R>>, BackendError> {
    let (lattice, ls) = (lattice::<R>(configuration)?, parameters.ls);
    let psi = Field::from_site_order(lattice, Sites::Full, Spinors::new(ls), psi)?;
    Ok(from_walls(&psi, ls)?.to_site_order())
}
