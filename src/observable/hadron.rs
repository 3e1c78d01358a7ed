//! Correlators of hadrons by name: mesons, which have two quarks, and the nucleon, which has three (`docs/arithmetic.md` §11).

use lanefield_reference::links::Phase;
use lanefield_reference::prelude::*;
use lanefield_reference::real::Real;
use serde::{Deserialize, Serialize};

use super::correlator::{CorrelatorError, CorrelatorProjection, projected, trace};
use super::nucleon::{NucleonParts, parts};
use super::{EffectiveMass, Gamma};
use crate::backend::Backend;

/// A hadron of degenerate quarks. Disconnected contractions are left out, so mesons are isovectors; for twisted mass they are the charged ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hadron {
    /// Γ = γ5.
    Pion,
    /// Γ = γx, γy, γz, averaged.
    Rho,
    /// Γ = 1.
    A0,
    /// Γ = γx γ5, γy γ5, γz γ5, averaged.
    A1,
    /// Γ = γx γy, γy γz, γz γx, averaged.
    B1,
    /// ε_abc (uᵀ_a C γ5 d_b) u_c, with positive parity.
    Nucleon,
}

impl Hadron {
    /// The spin matrices of a meson; empty for the nucleon.
    pub(crate) fn gammas(self) -> Vec<Gamma> {
        let vectors = [Gamma::X, Gamma::Y, Gamma::Z];
        match self {
            Self::Pion => vec![Gamma::FIVE],
            Self::Rho => vectors.to_vec(),
            Self::A0 => vec![Gamma::IDENTITY],
            Self::A1 => vectors.map(|vector| vector.times(Gamma::FIVE)).to_vec(),
            Self::B1 => vec![Gamma::X.times(Gamma::Y), Gamma::Y.times(Gamma::Z), Gamma::Z.times(Gamma::X)],
            Self::Nucleon => Vec::new(),
        }
    }

    /// The form of its correlator. Mesons run both ways around the lattice, which makes a cosh. The nucleon's backward-running partner of the other
    /// parity is a different particle.
    pub const fn effective_mass(self) -> EffectiveMass {
        match self {
            Self::Nucleon => EffectiveMass::Exponential,
            _ => EffectiveMass::Cosh,
        }
    }

    /// Its correlator at times 0 to T − 1 after the source.
    ///
    /// The propagators of the up and the down quark are in site order, with 144 words at each site, and have these boundary phases. On ranks, they
    /// and `extents` are those of the local volume. Both are the same, except for twisted mass, where both are in the physical basis
    /// ([`super::TwistAngle::rotate`]). Mesons need only the propagator of the up quark, since S_d = γ5 S_u† γ5.
    ///
    /// The nucleon is averaged with its antiparticle, which runs backwards, unless the boundary in time is fixed. If a spatial direction has a
    /// boundary phase e^{iθ}, the nucleon has the momentum (2πn + 3θ)/L there, with 3θ from −π to π. In mesons the phases of quark and antiquark
    /// cancel.
    pub fn correlator<R: Real, B: Backend>(
        self,
        backend: &B,
        extents: Extents,
        [up, down]: [&[Complex<R>]; 2],
        at: CorrelatorProjection,
        boundary: BoundaryPhases,
    ) -> Result<Vec<Complex<f64>>, CorrelatorError> {
        if self == Self::Nucleon {
            return nucleon(backend, extents, [up, down], at, boundary.of_quarks(3));
        }
        let gammas = self.gammas();
        let mut sum = vec![Complex::ZERO; extents.global()[3]];
        for &gamma in &gammas {
            let of_gamma =
                projected(backend, extents, [up], (at, BoundaryPhases::PERIODIC), |[site]| trace(site, gamma))?;
            sum.iter_mut().zip(of_gamma).for_each(|(sum, value)| *sum += value);
        }
        Ok(sum.into_iter().map(|sum| sum / gammas.len() as f64).collect())
    }
}

/// C₊(t), and the backward-running part C₋(T − t), which equals C₊(t) on average, times the boundary phase. `boundary`: the phase of three quarks,
/// which is removed where they crossed the boundary.
fn nucleon<R: Real, B: Backend>(
    backend: &B,
    extents: Extents,
    quarks: [&[Complex<R>]; 2],
    at: CorrelatorProjection,
    boundary: BoundaryPhases,
) -> Result<Vec<Complex<f64>>, CorrelatorError> {
    let part = |pick: fn(NucleonParts) -> Complex<f64>| {
        projected(backend, extents, quarks, (at, boundary), |sites| pick(parts(sites)))
    };
    let (positive, negative) = (part(NucleonParts::positive)?, part(NucleonParts::negative)?);
    let (times, phase) = (extents.global()[3], boundary.phase(3));
    let unwound = |c: &[Complex<f64>], t: usize| match t + at.source[3] >= times && phase != Phase::Fixed {
        true => phase.times(c[t]),
        false => c[t],
    };
    let average = |t: usize| match phase {
        Phase::Fixed => positive[t],
        _ if t == 0 => unwound(&positive, 0),
        _ => (unwound(&positive, t) + phase.of_crossings(-1).times(unwound(&negative, times - t))) / 2.0,
    };
    Ok((0..times).map(average).collect())
}

lanefield_reference::named!(Hadron, "hadron":
    Pion = "pion", Rho = "rho", A0 = "a0", A1 = "a1", B1 = "b1", Nucleon = "nucleon"
);
