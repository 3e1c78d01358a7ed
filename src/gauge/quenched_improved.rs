//! Ensembles of gauge actions with rectangles (`docs/arithmetic.md` §23). Links of one direction share a rectangle if they are at most two sites
//! apart. A direction is therefore updated on four sublattices, one after the other: those of Σ_ν x_ν + x_μ mod 4, on which no two links are part of
//! the same loop. Staples are computed at all sites, and set to 0 where links must not change: with zero staples, heat bath and overrelaxation
//! change a link only by rounding.

use lanefield_reference::object::ColourMatrix;
use lanefield_reference::prelude::*;

use super::quenched::QuenchedUpdate;
use super::staples::StapleParts;
use super::{Action, GaugeField, LinkField, QuenchedError, QuenchedParameters};
use crate::backend::{Backend, BackendError};
use crate::kernel::gauge_fixing::GaugeFixingKernels as _;

/// Sublattices of a direction.
const SUBLATTICES: usize = 4;

/// A gauge field under heat bath and overrelaxation with an action that has rectangles, on a backend, in f64.
pub struct QuenchedImproved<'b, B: Backend> {
    field: GaugeField<'b, B>,
    action: Action,
    parameters: QuenchedParameters,
    staples: LinkField<B>,
    parts: Option<StapleParts<B>>,
    /// For each sublattice of each direction: 1 on its sites, 0 elsewhere.
    sublattices: Vec<[LinkField<B>; SUBLATTICES]>,
    /// 1 at all sites.
    unit: LinkField<B>,
    /// The number of the next sweep.
    sweep: u32,
}

impl<'b, B: Backend> QuenchedImproved<'b, B> {
    /// Starts from a field after `sweep` sweeps. `lanes` changes no bit.
    pub fn new(
        backend: &'b B,
        configuration: &Configuration,
        (action, parameters): (Action, QuenchedParameters),
        sweep: u64,
        lanes: LaneChoice,
    ) -> Result<Self, QuenchedError> {
        let sweep = parameters.check(sweep)?;
        let extents = configuration.extents();
        if extents.global().as_array().iter().any(|extent| extent % SUBLATTICES != 0) {
            return Err(QuenchedError::Sublattices { extents: extents.global().to_string() });
        }
        let field = GaugeField::new(backend, configuration, lanes)?;
        let matrices = |is_one: &(dyn Fn(usize) -> bool + Sync)| -> Result<LinkField<B>, BackendError> {
            let matrices =
                Field::from_sites(field.lattice(), Sites::Full, ColourMatrix, |site, words: &mut [Complex<f64>]| {
                    for row in 0..3 {
                        words[4 * row] = Complex::from(f64::from(u8::from(is_one(site))));
                    }
                })?;
            backend.upload(matrices)
        };
        let of_direction = |mu: Direction| {
            let sublattice = |number: usize| {
                matrices(&|site| {
                    let x = extents.in_whole(extents.coordinate(site).map(|x| x as isize));
                    (x.iter().sum::<usize>() + x[mu.index()]) % SUBLATTICES == number
                })
            };
            Ok::<_, BackendError>([sublattice(0)?, sublattice(1)?, sublattice(2)?, sublattice(3)?])
        };
        let sublattices = Direction::ALL.into_iter().map(of_direction).collect::<Result<_, _>>()?;
        let (unit, staples, parts) = (matrices(&|_| true)?, field.zeros()?, StapleParts::of(&field, action)?);
        Ok(Self { field, action, parameters, staples, parts, sublattices, unit, sweep })
    }

    /// Sweeps done so far, which is the number of the next one.
    pub fn sweeps(&self) -> u64 {
        u64::from(self.sweep)
    }

    /// The field.
    pub fn field(&self) -> &GaugeField<'b, B> {
        &self.field
    }

    /// One heat bath sweep, and the overrelaxation sweeps after it.
    pub fn sweep(&mut self) -> Result<(), QuenchedError> {
        // The sublattices of a direction have no site in common, so each draws different numbers of the same event.
        for update in self.parameters.updates(self.sweep)? {
            self.each(update)?;
        }
        self.sweep += 1;
        Ok(())
    }

    /// Updates the links of each direction and sublattice, in the field of their staples.
    fn each(&mut self, update: QuenchedUpdate) -> Result<(), BackendError> {
        let Self { field, action, staples, parts, sublattices, unit, .. } = self;
        for (direction, sublattices) in Direction::ALL.into_iter().zip(sublattices) {
            for sublattice in sublattices {
                field.staples_of(direction, staples, *action, parts)?;
                field.backend.gauge_transformed(staples, &field.stencil, direction, [sublattice, unit])?;
                update.of(field.backend, direction, field.links.along_mut(direction), staples)?;
            }
        }
        Ok(())
    }
}
