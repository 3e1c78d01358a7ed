//! The clover family on one random case: field strength, clover term and its inverse, the product with blocks, and the kernels that go on from
//! a hop, on one parity.

use lanefield_reference::field::{CloverBlocks, ComplexNumber, Field, FieldStrength, Gauge, Spinors};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::{Dagger, HopTerm};
use lanefield_reference::layout::{Checkerboard, Parity, Sites, Stencil};
use lanefield_reference::links::{DoubledGauge, double, raw};

use super::kernels::{KernelChecks, both};
use super::{Compared, HopInputs, Reference, Rows, Subject, VerifyError};
use crate::backend::Backend;
use crate::operator::{CloverParameters, HopParameters};

/// Spinors a site, in turn: the kernels for one and those for several.
const SPINORS: [usize; 2] = [1, 3];

/// What clover terms are made of.
pub struct CloverInputs<'a, R: Vectors> {
    /// The operator; its hop's boundary has the fixed phases.
    pub parameters: CloverParameters,
    /// The links, for plain loops.
    pub configuration: &'a Configuration,
    /// The same in lanes, without phases.
    pub links: &'a Field<R, Gauge>,
    /// Neighbours of all sites.
    pub stencil: &'a Stencil,
}

/// Blocks on one parity, spinors there, and the hop that is done first.
pub struct CloverHopInputs<'a, R: Vectors> {
    /// The hop onto the parity.
    pub hop: &'a HopInputs<'a, R>,
    /// The blocks.
    pub blocks: &'a Field<R, CloverBlocks>,
    /// What the hop acts on.
    pub source: &'a Field<R, Spinors>,
    /// χ of `clover_minus_hop`; where there is none, the blocks multiply the hop.
    pub chi: Option<&'a Field<R, Spinors>>,
    /// The hop, or its conjugate.
    pub dagger: Dagger,
}

/// What clover terms go through.
pub struct CloverFields<R: Vectors> {
    /// Field strengths of all sites.
    pub strength: Field<R, FieldStrength>,
    /// Clover term of all sites.
    pub term: Field<R, CloverBlocks>,
    /// Its inverse.
    pub inverse: Field<R, CloverBlocks>,
    /// The pivots.
    pub pivots: Field<R, ComplexNumber>,
}

/// Clover terms on any backend.
pub(super) fn terms_on<R: Vectors, B: Backend>(
    backend: &B,
    inputs: &CloverInputs<'_, R>,
) -> Result<CloverFields<R>, VerifyError> {
    let lattice = *inputs.stencil.lattice();
    let links = backend.upload(inputs.links.clone())?;
    let stencil = backend.stencil(inputs.stencil.clone())?;
    let mut strength = backend.zeros(lattice, Sites::Full, FieldStrength)?;
    backend.field_strength::<R>(&mut strength, &stencil, &links)?;
    let mut term = backend.zeros(lattice, Sites::Full, CloverBlocks)?;
    backend.clover_term(&mut term, &strength, inputs.parameters.coefficients())?;
    let mut inverse = backend.zeros(lattice, Sites::Full, CloverBlocks)?;
    let mut pivots = backend.zeros(lattice, Sites::Full, ComplexNumber)?;
    backend.clover_inverse(&mut inverse, &mut pivots, &term)?;
    Ok(CloverFields {
        strength: backend.download(&strength)?,
        term: backend.download(&term)?,
        inverse: backend.download(&inverse)?,
        pivots: backend.download(&pivots)?,
    })
}

/// Blocks times a hop, or blocks times χ minus a hop, on any backend.
pub(super) fn hop_on<R: Vectors, B: Backend>(
    backend: &B,
    inputs: &CloverHopInputs<'_, R>,
) -> Result<Field<R, Spinors>, VerifyError> {
    let CloverHopInputs { hop, blocks, source, chi, dagger } = *inputs;
    let stencil = backend.stencil(hop.stencil.clone())?;
    let (links, blocks) = (backend.upload(hop.links.clone())?, backend.upload(blocks.clone())?);
    let mut out = backend.zeros(*hop.stencil.lattice(), hop.stencil.sites(), source.kind())?;
    let source = backend.upload(source.clone())?;
    let held = HopTerm { stencil: &stencil, links: &links, source: &source, legs: hop.parameters.legs, dagger };
    match chi {
        None => backend.clover_inverse_hop(&mut out, &blocks, held)?,
        Some(chi) => backend.clover_minus_hop(&mut out, &blocks, &backend.upload(chi.clone())?, held)?,
    }
    Ok(backend.download(&out)?)
}

impl<B: Backend, P: Reference + Sync> KernelChecks<'_, B, P> {
    /// The terms on all sites, then the kernels that go on from a hop on one parity, for lattices that have them.
    pub(super) fn clover<R: Vectors>(&self, rows: &mut Rows, configuration: &Configuration) -> Result<(), VerifyError> {
        let Self { tested, reference, host, case, .. } = *self;
        let (lattice, legs) = (case.lattice, case.legs);
        if lattice.checkerboard() != Checkerboard::RedBlack {
            return Ok(());
        }
        let turn = case.number as usize / 2;
        let words = || format!("{case}");
        let number = case.number;
        let mut formats = case.links.formats().to_vec();
        formats.retain(|&format| tested.takes_links::<R>(format).is_ok());
        let hop = HopParameters { boundary: case.boundary, links: formats[turn % formats.len()], legs };
        // Those of 16-bit storage are rounded ones of f32.
        if R::BITS != 16 {
            let parameters = CloverParameters { mass: 0.1, csw_r: 1.3, csw_t: 0.9, hop };
            let links = host.install(|| raw::<R>(configuration, lattice, case.boundary))?;
            let stencil = Stencil::new(lattice, Sites::Full)?;
            let inputs = CloverInputs { parameters, configuration, links: &links, stencil: &stencil };
            rows.check::<R>(Subject::CloverTerm, (number, &words), || {
                let found = terms_on(tested, &inputs)?;
                let expected = host.install(|| reference.clover_terms(&inputs))?;
                let term =
                    both(self.same(&found.strength, &expected.strength)?, self.same(&found.term, &expected.term)?);
                let inverse = self.same(&found.inverse, &expected.inverse)?;
                Ok(both(term, both(inverse, self.same(&found.pivots, &expected.pivots)?)))
            })?;
        }

        let sites = Sites::Parity(Parity::BOTH[turn / 2 % 2]);
        let kind = Spinors::new(SPINORS[turn % 2]);
        let random =
            |sites, number| host.install(|| case.data.field::<R, _>(lattice, sites, kind, case.spinors, number));
        let (source, chi) = (random(sites.neighbours(), 8)?, random(sites, 9)?);
        let blocks = host.install(|| case.data.field::<R, _>(lattice, sites, CloverBlocks, case.spinors, 10))?;
        let doubled = DoubledGauge { format: hop.links, boundary: case.boundary };
        let links = host.install(|| double(configuration, lattice, sites, doubled))?;
        let stencil = Stencil::new(lattice, sites)?;
        let hop = HopInputs { configuration, parameters: hop, links: &links, stencil: &stencil };
        for chi in [None, Some(&chi)] {
            rows.check::<R>(Subject::CloverHop(chi.is_some()), (number, &words), || {
                let check = |dagger| {
                    let inputs = CloverHopInputs { hop: &hop, blocks: &blocks, source: &source, chi, dagger };
                    let expected = host.install(|| reference.clover_hop(&inputs))?;
                    self.same(&hop_on(tested, &inputs)?, &expected)
                };
                Ok::<Compared, VerifyError>(both(check(Dagger::No)?, check(Dagger::Yes)?))
            })?;
        }
        Ok(())
    }
}
