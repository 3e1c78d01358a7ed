//! Gauge actions of plaquettes and rectangles, as the sum of staples that multiplies each link (`docs/arithmetic.md` §20).

use lanefield_reference::layout::{DIMENSIONS, Direction};

use super::{GaugeField, LinkField};
use crate::backend::{Backend, BackendError};
use crate::kernel::prelude::*;

/// An action, c0 · plaquettes + c1 · rectangles of 1 by 2, with c0 + 8 c1 = 1.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Action {
    /// Plaquettes only.
    #[default]
    Wilson,
    /// c1 = −1/12: the tree-level improved action of Lüscher and Weisz.
    Symanzik,
    /// c1 = −0.331: the Iwasaki action.
    Iwasaki,
}

impl Action {
    /// c1.
    pub fn rectangle(self) -> f64 {
        match self {
            Self::Wilson => 0.0,
            Self::Symanzik => -1.0 / 12.0,
            Self::Iwasaki => -0.331,
        }
    }

    /// c0 = 1 − 8 c1.
    pub fn plaquette(self) -> f64 {
        1.0 - 8.0 * self.rectangle()
    }
}

lanefield_reference::named!(Action, "gauge action": Wilson = "wilson", Symanzik = "symanzik", Iwasaki = "iwasaki");

/// Temporary fields for the rectangles.
pub(super) struct StapleParts<B: Backend> {
    up: LinkField<B>,
    down: LinkField<B>,
    forward: LinkField<B>,
    backward: LinkField<B>,
}

impl<B: Backend> StapleParts<B> {
    /// The fields that an action needs; `None` if it has no rectangles.
    pub(super) fn of(field: &GaugeField<'_, B>, action: Action) -> Result<Option<Self>, BackendError> {
        if action.rectangle() == 0.0 {
            return Ok(None);
        }
        let [up, down, forward, backward] = field.four_zeros()?;
        Ok(Some(Self { up, down, forward, backward }))
    }
}

impl<B: Backend> GaugeField<'_, B> {
    /// The matrices that multiply the links of each direction in an action: c0 · staples + c1 · the remaining five links of each rectangle that
    /// contains the link.
    pub(super) fn staples(
        &self,
        sums: &mut [LinkField<B>; DIMENSIONS],
        action: Action,
        parts: &mut Option<StapleParts<B>>,
    ) -> Result<(), BackendError> {
        let mut all = Direction::ALL.into_iter().zip(sums);
        all.try_for_each(|(mu, sum)| self.staples_of(mu, sum, action, parts))
    }

    /// The same for one direction.
    pub(super) fn staples_of(
        &self,
        mu: Direction,
        sum: &mut LinkField<B>,
        action: Action,
        parts: &mut Option<StapleParts<B>>,
    ) -> Result<(), BackendError> {
        let links = self.all();
        let Some(parts) = parts else { return self.backend.staple_sum(sum, &self.stencil, [links, links], mu) };
        self.backend.staple_sum(&mut parts.up, &self.stencil, [links, links], mu)?;
        self.backend.scale(sum, action.plaquette(), &parts.up)?;
        let mut others = Direction::ALL.into_iter().filter(|&nu| nu != mu);
        others.try_for_each(|nu| self.add_rectangles(sum, (mu, nu), action.rectangle(), parts))
    }

    /// Adds c times the remaining links of the rectangles in a plane that contain a link in direction μ.
    fn add_rectangles(
        &self,
        sum: &mut LinkField<B>,
        plane: (Direction, Direction),
        c: f64,
        parts: &mut StapleParts<B>,
    ) -> Result<(), BackendError> {
        let (mu, nu) = plane;
        let (backend, stencil) = (self.backend, &self.stencil);
        let [u, v] = [self.links.along(mu), self.links.along(nu)];
        let StapleParts { up, down, forward, backward } = parts;
        for field in [&mut *up, &mut *down, &mut *forward, &mut *backward] {
            backend.clear(field)?;
        }
        backend.staple_up(up, stencil, plane, 1.0, [v, u, v])?;
        backend.staple_down(down, stencil, plane, 1.0, [v, u, v])?;
        // The sides of the rectangles that are two steps long in direction μ, ahead of the link and behind it.
        backend.staple_up(forward, stencil, (nu, mu), 1.0, [u, v, u])?;
        backend.staple_down(backward, stencil, (nu, mu), 1.0, [u, v, u])?;
        backend.staple_up(sum, stencil, plane, c, [v, up, v])?;
        backend.staple_down(sum, stencil, plane, c, [v, down, v])?;
        for sides in [[v, &*forward], [&*backward, v]] {
            backend.staple_up(sum, stencil, plane, c, [sides[0], u, sides[1]])?;
            backend.staple_down(sum, stencil, plane, c, [sides[0], u, sides[1]])?;
        }
        Ok(())
    }
}
