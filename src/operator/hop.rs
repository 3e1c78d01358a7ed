//! The Wilson hop as an operator, with links and stencils for its target sites on a backend.

use lanefield_reference::field::{FieldError, SiteObject, Spinors};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::hop::{Dagger, FLOPS_PER_SITE, HopTerm, ideal_bytes_per_site};
use lanefield_reference::layout::{Lattice, LegOrder, Parity, Sites, Stencil};
use lanefield_reference::links::{BoundaryPhases, DoubledGauge, LinkFormat, double};

use crate::backend::{Backend, BackendError, FieldOn, HopOn};
use crate::kernel::prelude::*;
use crate::kernel::with_hop::{Kernels, WithHop};
use crate::kernel::{ArgumentValue, Arguments};

/// The parameters of a hop. Each of them can change bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HopParameters {
    /// Boundary phases of the fermion.
    pub boundary: BoundaryPhases,
    /// Number of reals stored per link.
    pub links: LinkFormat,
    /// The order in which legs are added (leg order).
    pub legs: LegOrder,
}

/// The hop onto one parity, or onto the full lattice.
pub(super) struct Onto<B: Backend, R: Vectors> {
    sites: Sites,
    pub(super) stencil: B::Table,
    pub(super) links: FieldOn<B, R, DoubledGauge>,
}

/// The Wilson hop onto the sites for which it was prepared.
pub struct HopOperator<'b, B: Backend, R: Vectors> {
    backend: &'b B,
    lattice: Lattice,
    legs: LegOrder,
    format: LinkFormat,
    targets: Vec<Onto<B, R>>,
}

impl<'b, B: Backend, R: Vectors> HopOperator<'b, B, R> {
    /// Prepares the hop onto each of `targets`, for example `[Sites::Full]` or both parities. Each target needs its own copy of the links.
    ///
    /// # Errors
    /// Fails for extents that differ between configuration and lattice, and for a parity on a lattice without a checkerboard. Links to be stored as
    /// 8 reals must be in SU(3). Also fails if the backend does.
    pub fn new(
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
        parameters: HopParameters,
        targets: &[Sites],
    ) -> Result<Self, BackendError> {
        let HopParameters { boundary, links: format, legs } = parameters;
        let onto = |&sites: &Sites| -> Result<Onto<B, R>, BackendError> {
            let links = double(configuration, lattice, sites, DoubledGauge { format, boundary })?;
            let stencil = backend.stencil(Stencil::new(lattice, sites)?)?;
            Ok(Onto { sites, stencil, links: backend.upload(links)? })
        };
        let targets = targets.iter().map(onto).collect::<Result<_, _>>()?;
        Ok(Self { backend, lattice, legs, format, targets })
    }

    /// The backend that runs it.
    pub fn backend(&self) -> &'b B {
        self.backend
    }

    /// The lattice on which it acts.
    pub fn lattice(&self) -> Lattice {
        self.lattice
    }

    /// The order in which legs are added.
    pub(super) fn legs(&self) -> LegOrder {
        self.legs
    }

    /// out = hop(ψ) on the sites of `out`; ψ is on their neighbours.
    ///
    /// # Errors
    /// [`BackendError::Field`] if the hop was not prepared for these sites, or if fields do not match.
    pub fn apply(
        &self,
        out: &mut FieldOn<B, R, Spinors>,
        psi: &FieldOn<B, R, Spinors>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        let HopTerm { stencil, links, source, legs, dagger } = self.term(out.sites(), psi, dagger)?;
        self.backend.hop(out, stencil, links, source, legs, dagger)
    }

    /// The hop of ψ onto `sites`, for a kernel that uses it as a term.
    ///
    /// # Errors
    /// [`BackendError::Field`] if the hop was not prepared for these sites.
    pub fn term<'a, K: SiteObject>(
        &'a self,
        sites: Sites,
        psi: &'a FieldOn<B, R, K>,
        dagger: Dagger,
    ) -> Result<HopOn<'a, B, R, K>, BackendError> {
        let onto = self.onto(sites)?;
        Ok(HopTerm { stencil: &onto.stencil, links: &onto.links, source: psi, legs: self.legs, dagger })
    }

    /// Writes to `out` the result of a kernel that uses the hop of ψ onto the sites of `out`, in one launch.
    pub(crate) fn with_hop<'a, K: SiteObject, N: Into<ArgumentValue<'a, B::Storage>>>(
        &'a self,
        kernels: &Kernels,
        out: &'a mut FieldOn<B, R, K>,
        done: WithHop<'a, FieldOn<B, R, K>, N>,
        psi: &'a FieldOn<B, R, K>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        self.with_hop_and(None, kernels, out, done, psi, dagger)
    }

    /// The same for kernels that also read other doubled links, under this name.
    pub(super) fn with_hop_and<'a, K: SiteObject, N: Into<ArgumentValue<'a, B::Storage>>>(
        &'a self,
        others: Option<(&'static str, &'a FieldOn<B, R, DoubledGauge>)>,
        kernels: &Kernels,
        out: &'a mut FieldOn<B, R, K>,
        done: WithHop<'a, FieldOn<B, R, K>, N>,
        psi: &'a FieldOn<B, R, K>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        let onto = self.onto(out.sites())?;
        let (pair, a, x) = match done {
            WithHop::Sum(a, x) => (kernels.sum, a, Some(x)),
            WithHop::Product(a) => (kernels.product, a, None),
            WithHop::Difference(a, x) => (kernels.difference, a, Some(x)),
        };
        let kernel = pair[usize::from(dagger == Dagger::Yes)];
        let mut arguments = Arguments::new(kernel).write("out", out).value("a", a.into());
        if let Some(x) = x {
            arguments = arguments.read("x", x);
        }
        if let Some((name, links)) = others {
            arguments = arguments.read(name, links);
        }
        arguments = arguments.read("links", &onto.links).read("psi", psi).stencil(&onto.stencil).legs(self.legs);
        self.backend.launch(arguments.call()?)
    }

    /// Number of reals stored per link.
    pub fn format(&self) -> LinkFormat {
        self.format
    }

    /// Stencil and links of the hop onto `sites`.
    pub(super) fn onto(&self, sites: Sites) -> Result<&Onto<B, R>, BackendError> {
        self.targets.iter().find(|onto| onto.sites == sites).ok_or_else(|| {
            let prepared: Vec<String> = self.targets.iter().map(|onto| onto.sites.to_string()).collect();
            BackendError::from(FieldError::Mismatch {
                what: "a hop's result",
                left: format!("{sites} sites"),
                right: format!("a hop prepared for {} sites", prepared.join(" and ")),
            })
        })
    }

    /// Floating-point operations of one application onto `sites`: 1320 per site.
    pub fn flops(&self, sites: Sites) -> u64 {
        number_of_sites(self.lattice, sites) * FLOPS_PER_SITE
    }

    /// Least number of bytes that one application onto `sites` moves.
    pub fn bytes(&self, sites: Sites) -> u64 {
        number_of_sites(self.lattice, sites) * ideal_bytes_per_site(self.format, R::BITS as usize / 8)
    }
}

/// The sites on which even-odd pieces act.
pub(super) const PARITIES: [Sites; 2] = [Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)];

/// Number of sites of a field on `sites`.
pub(super) fn number_of_sites(lattice: Lattice, sites: Sites) -> u64 {
    (lattice.osites(sites) * lattice.nsimd()) as u64
}
