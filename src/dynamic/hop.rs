//! The kernels of hops, which are no operators of their own, but what those are made of.

use std::sync::Arc;

use lanefield_reference::field::{DoubledGauge, Object};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{Lattice, Sites, Stencil};
use lanefield_reference::links::double;

use super::applied::{Applied, DynField, Piece};
use super::backend::{AnyBackend, AnyTable};
use crate::backend::{BackendError, FieldOn, Launch as _, Memory as _};
use crate::kernel::{
    self, Access, ArgumentValue, Arguments, FieldContents, FieldRole, FieldSites, Geometry, Kernel, KernelArgument,
};
use crate::operator::HopParameters;

/// A kernel that does nothing but a hop, of one spinor or colour vector a site, with its fields by role.
#[derive(Clone, Copy, Debug)]
pub struct HopKernel {
    kernel: &'static Kernel,
    out: FieldRole,
    links: FieldRole,
    source: FieldRole,
}

impl HopKernel {
    /// The hops by name.
    pub fn all() -> impl Iterator<Item = Self> {
        kernel::all().filter(|kernel| kernel.dagger == Dagger::No).filter_map(Self::of)
    }

    /// The kernel.
    pub fn kernel(self) -> &'static Kernel {
        self.kernel
    }

    /// The hop of its Hermitian conjugate, if there is a kernel of that.
    pub fn dagger(self) -> Option<Self> {
        self.with(Dagger::Yes)
    }

    /// The kernel as a hop, if it is one: it reads doubled links and the neighbours of its target, and nothing else, not even a number.
    pub fn of(kernel: &'static Kernel) -> Option<Self> {
        let fields: Vec<FieldRole> = kernel.fields().collect();
        let [out, links, source] = fields[..] else { return None };
        let takes_numbers = kernel
            .arguments
            .iter()
            .any(|known| matches!(known, KernelArgument::Scalar(_) | KernelArgument::Complex(_)));
        let is_stencil = !takes_numbers && matches!(kernel.geometry, Geometry::Stencil { .. }) && kernel.takes_parts(1);
        let of_hop = out.access == Access::Write
            && links.holds == FieldContents::DoubledLinks
            && (source.holds, source.at, source.access) == (out.holds, FieldSites::Neighbours, Access::Read);
        (is_stencil && of_hop).then_some(Self { kernel, out, links, source })
    }

    /// The hop itself, or the kernel of its Hermitian conjugate.
    fn with(self, dagger: Dagger) -> Option<Self> {
        let conjugate = |kernel: &&'static Kernel| {
            (kernel.family, kernel.tuned_as, kernel.dagger) == (self.kernel.family, self.kernel.tuned_as, dagger)
        };
        if dagger == Dagger::No {
            return Some(self);
        }
        kernel::all().filter(conjugate).find_map(Self::of)
    }

    /// What it acts on.
    pub fn object(self) -> Object {
        if self.out.holds == FieldContents::ColourVectors { Object::ColourVectors(1) } else { Object::Spinors(1) }
    }
}

/// Links and stencil onto some sites.
struct PreparedHop<R: Vectors> {
    lattice: Lattice,
    sites: Sites,
    links: FieldOn<AnyBackend, R, DoubledGauge>,
    stencil: AnyTable,
}

/// A hop that a backend holds.
pub(super) struct OfHop<'b, R: Vectors> {
    backend: &'b AnyBackend,
    hop: HopKernel,
    parameters: HopParameters,
    configuration: Arc<Configuration>,
    prepared: Vec<PreparedHop<R>>,
}

impl<'b, R: Vectors> OfHop<'b, R> {
    pub(super) fn new(
        backend: &'b AnyBackend,
        hop: HopKernel,
        parameters: HopParameters,
        configuration: Arc<Configuration>,
    ) -> Self {
        Self { backend, hop, parameters, configuration, prepared: Vec::new() }
    }

    fn onto(&mut self, lattice: Lattice, sites: Sites) -> Result<&PreparedHop<R>, BackendError> {
        let known = |onto: &PreparedHop<R>| (onto.lattice, onto.sites) == (lattice, sites);
        let place = match self.prepared.iter().position(known) {
            Some(place) => place,
            None => {
                let HopParameters { boundary, links: format, .. } = self.parameters;
                self.backend.takes_links(format, R::PRECISION)?;
                let links = double::<R>(&self.configuration, lattice, sites, DoubledGauge { format, boundary })?;
                let links = self.backend.upload(links)?;
                let stencil = self.backend.stencil(Stencil::new(lattice, sites)?)?;
                self.prepared.push(PreparedHop { lattice, sites, links, stencil });
                self.prepared.len() - 1
            }
        };
        Ok(&self.prepared[place])
    }
}

impl<R: Vectors> Applied for OfHop<'_, R> {
    fn apply(&mut self, _: Piece, dagger: Dagger, out: &mut DynField, psi: &DynField) -> Result<(), BackendError> {
        // One that it has not was refused before.
        let hop = self.hop.with(dagger).unwrap_or(self.hop);
        let (backend, legs) = (self.backend, self.parameters.legs);
        let (lattice, sites) = (out.shape().lattice, out.shape().sites);
        let onto = self.onto(lattice, sites)?;
        let arguments = Arguments::new(hop.kernel).value(hop.out.name, ArgumentValue::Write(out));
        let arguments = arguments.read(hop.links.name, &onto.links).read_any(hop.source.name, psi);
        backend.launch(arguments.stencil(&onto.stencil).legs(legs).call()?)
    }
}
