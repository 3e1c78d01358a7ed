//! The clover operator M = hop + C, on the full lattice and in its even-odd pieces. C is computed on the backend from the configuration: field
//! strengths, clover term, and for even-odd pieces its inverse. `docs/arithmetic.md` §13 defines it; the kernels are in
//! `reference/src/kernels/clover.rs` and `clover_term.rs`, and in files of the same names in `cl/`.

use std::fmt;

use lanefield_reference::field::{
    CloverBlocks, ComplexNumber, Field, FieldError, FieldStrength, Gauge, SiteObject as _, Spinors,
};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::kernels::clover::{
    FLOPS_PER_SITE, ideal_bytes_per_site, inverse_hop_bytes_per_site, minus_hop_bytes_per_site,
};
use lanefield_reference::kernels::clover_term::CloverCoefficients;
use lanefield_reference::kernels::hop::Dagger;
use lanefield_reference::layout::{
    Checkerboard, Coordinate, LaneChoice, Lattice, LatticeOptions, Place, Sites, Stencil,
};
use lanefield_reference::links::{raw, raw_with_border};

use super::hop::{PARITIES, number_of_sites};
use super::model::{Defined, Definition, Parameter, ParameterValues};
use super::traits::acts_as;
use super::traits::{AXPY_FLOPS, SpinorsOn, bytes_of, fit};
use super::{ActsOn, EvenOdd, HopOperator, HopParameters, Model, Operator};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::prelude::*;

/// The parameters of a clover operator.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CloverParameters {
    /// Bare quark mass in lattice units.
    pub mass: f64,
    /// Clover coefficient of the spatial planes xy, xz, yz.
    pub csw_r: f64,
    /// Clover coefficient of the planes xt, yt, zt.
    pub csw_t: f64,
    /// The parameters of the hop. Among the boundary phases, only fixed ones affect the clover term.
    pub hop: HopParameters,
}

impl CloverParameters {
    /// The coefficients of the clover term: 4 + mass, csw_r / 2, csw_t / 2.
    pub fn coefficients(&self) -> CloverCoefficients {
        CloverCoefficients { diagonal: 4.0 + self.mass, spatial: self.csw_r / 2.0, temporal: self.csw_t / 2.0 }
    }
}

/// The smallest pivot of the inverted blocks, and its location: how close the clover term is to being singular.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SmallestPivot {
    /// |d_j| of the L D L† decomposition of a block.
    pub pivot: f64,
    /// The site; if several have the same pivot, the first in site order.
    pub site: Coordinate,
    /// 0 for spins 0 and 1; 1 for spins 2 and 3.
    pub block: usize,
}

impl fmt::Display for SmallestPivot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z, t] = self.site;
        write!(f, "{:.6e} at site x,y,z,t = {x},{y},{z},{t}, block {}", self.pivot, self.block)
    }
}

impl SmallestPivot {
    fn is_singular(&self) -> bool {
        !self.pivot.is_finite() || self.pivot == 0.0
    }

    /// The smallest pivot of a field of pivots; a singular block compares as less than any other. `None` for a field without sites.
    fn of<R: Vectors>(pivots: &Field<R, ComplexNumber>) -> Option<Self> {
        let (lattice, nsimd) = (*pivots.lattice(), pivots.lattice().nsimd());
        let origin = lattice.extents().origin();
        let of_word = |(k, word): (usize, &num_complex::Complex<R>)| {
            let here = lattice.coordinate(pivots.sites(), Place { osite: k / nsimd, lane: k % nsimd });
            let site = std::array::from_fn(|d| origin[d] + here[d]);
            [(0, word.re), (1, word.im)].map(|(block, pivot)| Self { pivot: pivot.to_f64(), site, block })
        };
        pivots.words().iter().enumerate().flat_map(of_word).reduce(|a, b| Self::smaller(a, b, lattice))
    }

    fn smaller(a: Self, b: Self, lattice: Lattice) -> Self {
        let rank = |p: &Self| if p.is_singular() { f64::NEG_INFINITY } else { p.pivot };
        let place = |p: &Self| (lattice.extents().global().site(p.site), p.block);
        match rank(&a).total_cmp(&rank(&b)).then_with(|| place(&a).cmp(&place(&b))).is_le() {
            true => a,
            false => b,
        }
    }
}

/// The blocks for one parity, or for the full lattice.
struct CloverPiece<B: Backend, R: Vectors> {
    sites: Sites,
    term: FieldOn<B, R, CloverBlocks>,
    /// Only for even-odd pieces.
    inverse: Option<FieldOn<B, R, CloverBlocks>>,
}

/// The clover operator.
pub struct Clover<'b, B: Backend, R: Vectors> {
    hop: HopOperator<'b, B, R>,
    pieces: Vec<CloverPiece<B, R>>,
    /// A temporary field for the hop of M on the full lattice.
    between: Option<SpinorsOn<B, R>>,
    pivot: Option<SmallestPivot>,
}

impl<'b, B: Backend, R: Vectors> Clover<'b, B, R> {
    /// The smallest pivot of the inverted blocks; `None` for M on the full lattice, which inverts no block.
    pub fn smallest_pivot(&self) -> Option<SmallestPivot> {
        self.pivot
    }

    fn piece(&self, sites: Sites) -> Result<&CloverPiece<B, R>, BackendError> {
        let found = self.pieces.iter().find(|piece| piece.sites == sites);
        found.ok_or_else(|| self.not_prepared(format!("{sites} sites")))
    }

    fn inverse(&self, sites: Sites) -> Result<&FieldOn<B, R, CloverBlocks>, BackendError> {
        self.piece(sites)?.inverse.as_ref().ok_or_else(|| self.not_prepared(format!("the inverse on {sites} sites")))
    }

    fn not_prepared(&self, wanted: String) -> BackendError {
        let prepared: Vec<String> = self.pieces.iter().map(|piece| piece.sites.to_string()).collect();
        BackendError::from(FieldError::Mismatch {
            what: "a clover operator's result",
            left: wanted,
            right: format!("an operator prepared for {} sites", prepared.join(" and ")),
        })
    }
}

/// Blocks in half precision are rounded from those in f32.
fn stored<B: Backend, R: Vectors>(
    backend: &B,
    pieces: Vec<CloverPiece<B, f32>>,
) -> Result<Vec<CloverPiece<B, R>>, BackendError> {
    let round = |blocks: FieldOn<B, f32, CloverBlocks>| -> Result<FieldOn<B, R, CloverBlocks>, BackendError> {
        let mut rounded = backend.zeros(*blocks.lattice(), blocks.sites(), CloverBlocks)?;
        backend.convert(&mut rounded, &blocks)?;
        Ok(rounded)
    };
    let piece = |CloverPiece { sites, term, inverse }: CloverPiece<B, f32>| -> Result<CloverPiece<B, R>, BackendError> {
        Ok(CloverPiece { sites, term: round(term)?, inverse: inverse.map(round).transpose()? })
    };
    pieces.into_iter().map(piece).collect()
}

/// The blocks of all sites.
fn full_piece<B: Backend, R: Vectors>(
    backend: &B,
    configuration: &Configuration,
    lattice: Lattice,
    parameters: CloverParameters,
) -> Result<Vec<CloverPiece<B, R>>, BackendError> {
    let term = clover_term(backend, configuration, lattice, parameters)?;
    Ok(vec![CloverPiece { sites: Sites::Full, term, inverse: None }])
}

/// The blocks of both parities with their inverses, and the smallest pivot.
#[allow(clippy::type_complexity, reason = "a list, and what was found on the way")]
fn even_odd_pieces<B: Backend, R: Vectors>(
    backend: &B,
    configuration: &Configuration,
    lattice: Lattice,
    parameters: CloverParameters,
) -> Result<(Vec<CloverPiece<B, R>>, Option<SmallestPivot>), BackendError> {
    let everywhere: FieldOn<B, R, CloverBlocks> = clover_term(backend, configuration, lattice, parameters)?;
    let (mut pieces, mut pivot) = (Vec::new(), None);
    for sites in PARITIES {
        let mut term = backend.zeros(lattice, sites, CloverBlocks)?;
        backend.pick_checkerboard(&mut term, &everywhere)?;
        let mut inverse = backend.zeros(lattice, sites, CloverBlocks)?;
        let mut pivots: FieldOn<B, R, ComplexNumber> = backend.zeros(lattice, sites, ComplexNumber)?;
        backend.clover_inverse(&mut inverse, &mut pivots, &term)?;
        let smallest = SmallestPivot::of(&backend.download(&pivots)?);
        pivot = pivot.into_iter().chain(smallest).reduce(|a, b| SmallestPivot::smaller(a, b, lattice));
        pieces.push(CloverPiece { sites, term, inverse: Some(inverse) });
    }
    Ok((pieces, smallest_of_all(backend, pivot, lattice)?))
}

/// The smallest pivot of all ranks.
fn smallest_of_all<B: Backend>(
    backend: &B,
    here: Option<SmallestPivot>,
    lattice: Lattice,
) -> Result<Option<SmallestPivot>, BackendError> {
    let (whole, rank) =
        (lattice.extents().global(), |p: &SmallestPivot| if p.is_singular() { f64::INFINITY } else { -p.pivot });
    if !lattice.extents().is_part() {
        return Ok(here);
    }
    let Some(here) = here else { return Ok(None) };
    let smallest = backend.largest(rank(&here))?;
    // If several are equal, the first in site order wins; the numbers are exact.
    let place = (2 * whole.site(here.site) + here.block) as f64;
    let first = -backend.largest(if rank(&here) == smallest { -place } else { f64::NEG_INFINITY })?;
    let (site, block) = (whole.coordinate(first as usize / 2), first as usize % 2);
    // A singular pivot is 0 or NaN; only its own rank knows which.
    let pivot = if smallest == f64::INFINITY { 0.0 } else { -smallest };
    Ok(Some(if first == place { here } else { SmallestPivot { pivot, site, block } }))
}

/// F at all sites. A local volume is extended by the sites around it, since leaves have corners there.
fn field_strength<B: Backend, R: Vectors>(
    backend: &B,
    configuration: &Configuration,
    lattice: Lattice,
    parameters: CloverParameters,
) -> Result<FieldOn<B, R, FieldStrength>, BackendError> {
    let boundary = parameters.hop.boundary;
    let of = |lattice: Lattice, links: Field<R, Gauge>| {
        let links = backend.upload(links)?;
        let stencil = backend.stencil(Stencil::new(lattice, Sites::Full)?)?;
        let mut strength = backend.zeros(lattice, Sites::Full, FieldStrength)?;
        backend.field_strength(&mut strength, &stencil, &links)?;
        Ok::<_, BackendError>(strength)
    };
    if !lattice.extents().is_part() {
        return of(lattice, raw::<R>(configuration, lattice, boundary)?);
    }
    let (around, first) = (configuration.around(), configuration.first_around());
    let lanes = LaneChoice::UpTo(lattice.width());
    let options = LatticeOptions { lanes, nodes: None, checkerboard: Checkerboard::FullOnly };
    let with_border = Lattice::new(around, R::COMPLEX, options)?;
    let strength = of(with_border, raw_with_border::<R>(configuration, with_border, boundary)?)?;
    let all = backend.download(&strength)?.try_to_site_order()?;
    let (words, here) = (FieldStrength.words(), lattice.extents());
    let own = Field::from_sites(lattice, Sites::Full, FieldStrength, |site, object| {
        let x = here.coordinate(site);
        let there = around.site(std::array::from_fn(|d| x[d].wrapping_add_signed(-first[d])));
        object.copy_from_slice(&all[there * words..][..words]);
    })?;
    backend.upload(own)
}

/// C at all sites.
fn clover_term<B: Backend, R: Vectors>(
    backend: &B,
    configuration: &Configuration,
    lattice: Lattice,
    parameters: CloverParameters,
) -> Result<FieldOn<B, R, CloverBlocks>, BackendError> {
    let strength = field_strength(backend, configuration, lattice, parameters)?;
    let mut term = backend.zeros(lattice, Sites::Full, CloverBlocks)?;
    backend.clover_term(&mut term, &strength, parameters.coefficients())?;
    Ok(term)
}

acts_as!(Clover<'_, B, R>, [B: Backend, R: Vectors], hop, Spinors, |_, rhs| Spinors::new(rhs));

impl<B: Backend, R: Vectors> Operator<B, R> for Clover<'_, B, R> {
    fn apply(&mut self, out: &mut SpinorsOn<B, R>, psi: &SpinorsOn<B, R>, dagger: Dagger) -> Result<(), BackendError> {
        let backend = self.hop.backend();
        backend.clover_apply(out, &self.piece(Sites::Full)?.term, psi)?;
        let Some(between) = &mut self.between else {
            return Err(self.not_prepared("full sites".to_owned()));
        };
        fit::<B, R, _>(between, psi, backend)?;
        self.hop.apply(between, psi, dagger)?;
        backend.axpy(1.0, between, out)
    }

    /// The hop (1320 a site), the product with C (504), and an axpy (48).
    fn flops(&self) -> u64 {
        let sites = number_of_sites(self.hop.lattice(), Sites::Full);
        self.hop.flops(Sites::Full) + FLOPS_PER_SITE * sites + AXPY_FLOPS * self.words(Sites::Full)
    }

    fn bytes(&self) -> u64 {
        let lattice = self.hop.lattice();
        let apply = ideal_bytes_per_site(R::BITS as usize / 8) * number_of_sites(lattice, Sites::Full);
        self.hop.bytes(Sites::Full) + apply + 3 * bytes_of::<R>(self.words(Sites::Full))
    }
}

impl<B: Backend, R: Vectors> EvenOdd<B, R> for Clover<'_, B, R> {
    fn meooe(&mut self, out: &mut SpinorsOn<B, R>, psi: &SpinorsOn<B, R>, dagger: Dagger) -> Result<(), BackendError> {
        self.hop.apply(out, psi, dagger)
    }

    fn mooee(&mut self, out: &mut SpinorsOn<B, R>, psi: &SpinorsOn<B, R>, _: Dagger) -> Result<(), BackendError> {
        self.hop.backend().clover_apply(out, &self.piece(out.sites())?.term, psi)
    }

    fn mooee_inv(&mut self, out: &mut SpinorsOn<B, R>, psi: &SpinorsOn<B, R>, _: Dagger) -> Result<(), BackendError> {
        self.hop.backend().clover_apply(out, self.inverse(out.sites())?, psi)
    }

    /// In a single launch.
    fn inverse_hop(
        &mut self,
        out: &mut SpinorsOn<B, R>,
        _: &mut SpinorsOn<B, R>,
        psi: &SpinorsOn<B, R>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        let hop = self.hop.term(out.sites(), psi, dagger)?;
        self.hop.backend().eo_clover(out, self.inverse(out.sites())?, hop)
    }

    /// In a single launch.
    fn diagonal_minus_hop(
        &mut self,
        out: &mut SpinorsOn<B, R>,
        _: &mut SpinorsOn<B, R>,
        chi: &SpinorsOn<B, R>,
        psi: &SpinorsOn<B, R>,
        dagger: Dagger,
    ) -> Result<(), BackendError> {
        let hop = self.hop.term(out.sites(), psi, dagger)?;
        self.hop.backend().oe_clover(out, &self.piece(out.sites())?.term, chi, hop)
    }

    /// Two hops (1320 flops a site), two products with blocks (504 each), and a difference, counted as an axpy (48), as in QUDA.
    fn schur_flops(&self) -> u64 {
        let sites = number_of_sites(self.hop.lattice(), PARITIES[0]);
        2 * (self.hop.flops(PARITIES[0]) + FLOPS_PER_SITE * sites) + AXPY_FLOPS * self.words(PARITIES[0])
    }
    fn schur_bytes(&self) -> u64 {
        let (format, real_bytes) = (self.hop.format(), R::BITS as usize / 8);
        let a_site = inverse_hop_bytes_per_site(format, real_bytes) + minus_hop_bytes_per_site(format, real_bytes);
        a_site * number_of_sites(self.hop.lattice(), PARITIES[0])
    }
}

impl Model for CloverParameters {
    type Object = Spinors;
    type Full<'b, B: Backend + 'b, R: Vectors> = Clover<'b, B, R>;
    type Pieces<'b, B: Backend + 'b, R: Vectors> = Clover<'b, B, R>;

    fn name(&self) -> &'static str {
        Self::DEFINITIONS[0].name
    }
    fn mass(&self) -> f64 {
        self.mass
    }
    /// The diagonal part is a matrix at each site.
    fn diagonal(&self) -> f64 {
        1.0
    }
    fn hop(&self) -> HopParameters {
        self.hop
    }
    fn object(&self, rhs: usize) -> Spinors {
        Spinors::new(rhs)
    }
    fn full<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Clover<'b, B, R>, BackendError> {
        let hop = HopOperator::new(backend, configuration, lattice, self.hop, &[Sites::Full])?;
        let pieces = match R::BITS {
            16 => stored(backend, full_piece::<B, f32>(backend, configuration, lattice, *self)?)?,
            _ => full_piece(backend, configuration, lattice, *self)?,
        };
        let between = Some(backend.zeros(lattice, Sites::Full, Spinors::ONE)?);
        Ok(Clover { hop, pieces, between, pivot: None })
    }
    fn even_odd<'b, B: Backend, R: Vectors>(
        &self,
        backend: &'b B,
        configuration: &Configuration,
        lattice: Lattice,
    ) -> Result<Clover<'b, B, R>, BackendError> {
        let hop = HopOperator::new(backend, configuration, lattice, self.hop, &PARITIES)?;
        let (pieces, pivot) = match R::BITS {
            16 => {
                let (pieces, pivot) = even_odd_pieces::<B, f32>(backend, configuration, lattice, *self)?;
                (stored(backend, pieces)?, pivot)
            }
            _ => even_odd_pieces(backend, configuration, lattice, *self)?,
        };
        if let Some(SmallestPivot { pivot, site, block }) = pivot.filter(SmallestPivot::is_singular) {
            let CloverParameters { mass, csw_r, csw_t, .. } = *self;
            return Err(BackendError::SingularClover { site, block, pivot, mass, csw_r, csw_t });
        }
        Ok(Clover { hop, pieces, between: None, pivot })
    }
}

impl Defined for CloverParameters {
    const DEFINITIONS: &'static [Definition] = &[Definition {
        name: "clover",
        meaning: "clover fermions",
        formula: "M = 4 + mass + W - ½ Σ_μ<ν csw Σ_μν F_μν, with Σ_μν = ½ [γ_μ, γ_ν], and F the anti-Hermitian part of the mean of four leaves; csw is \
                  that of planes in space, csw_t of those with t. F does not see the boundary, but where it is fixed",
        parameters: &[
            Parameter::BARE_MASS,
            Parameter {
                key: Some("csw_r"),
                ..Parameter::number("csw", Some(1.0), "clover coefficient of the spatial planes")
            },
            Parameter {
                follows: Some("csw"),
                ..Parameter::number("csw-t", None, "clover coefficient of the planes with time")
            },
        ],
        verified: &[("mass", "-0.5")],
    }];

    fn of(_: &str, values: &ParameterValues, hop: HopParameters) -> Self {
        Self { mass: values.get("mass"), csw_r: values.get("csw"), csw_t: values.get("csw-t"), hop }
    }
    fn values(&self) -> Vec<f64> {
        vec![self.mass, self.csw_r, self.csw_t]
    }
}
