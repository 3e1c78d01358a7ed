//! Hybrid Monte Carlo of the pure gauge theory (Duane, Kennedy, Pendleton and Roweth 1987), as the base of dynamical work: momenta, a trajectory of molecular
//! dynamics, and Metropolis' test. What a trajectory makes of a field is a function of the field, the seed and its number.

use lanefield_reference::ensure;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::layout::{DIMENSIONS, Direction, LaneChoice};
use lanefield_reference::random::{Stream, uniform};
use thiserror::Error;

use super::staples::StapleParts;
use super::{Action, GaugeField, GaugeFieldError, LinkField};
use crate::backend::{Backend, BackendError};
use crate::kernel::prelude::*;

/// Trajectories are numbered below this: an event of the random numbers is a trajectory and a direction.
pub(crate) const MOST_TRAJECTORIES: u32 = 1 << 22;

/// How molecular dynamics are integrated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Integrator {
    /// Half a step of the momenta, a step of the links, half a step of the momenta.
    Leapfrog,
    /// Of second order, with the least error (Omelyan, Mryglod and Folk 2003, λ = 0.1931833…).
    #[default]
    Omelyan,
}

lanefield_reference::named!(Integrator, "integrator": Leapfrog = "leapfrog", Omelyan = "omelyan");

/// λ of [`Integrator::Omelyan`].
const LAMBDA: f64 = 0.193_183_327_503_783_6;

/// What trajectories are of.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct HmcParameters {
    pub action: Action,
    pub beta: f64,
    pub seed: u64,
    pub integrator: Integrator,
    pub steps: usize,
    pub length: f64,
}

/// Why a field is not evolved. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum HmcError {
    #[error("{what} is {value}: expected {expected}")]
    Parameter { what: &'static str, value: f64, expected: &'static str },
    #[error("trajectory {0} has no random numbers of its own: they are numbered from 0 to {last}; go on with another seed", last = MOST_TRAJECTORIES - 1)]
    Trajectories(u64),
    #[error(transparent)]
    Field(#[from] GaugeFieldError),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// A trajectory that was made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trajectory {
    /// H at its end less H at its beginning.
    pub energy_difference: f64,
    /// Whether its end was taken.
    pub accepted: bool,
}

/// A gauge field in its evolution, on a backend, in f64.
pub struct Hmc<'b, B: Backend> {
    field: GaugeField<'b, B>,
    parameters: HmcParameters,
    momenta: [LinkField<B>; DIMENSIONS],
    staples: [LinkField<B>; DIMENSIONS],
    before: [LinkField<B>; DIMENSIONS],
    parts: Option<StapleParts<B>>,
    /// The number of the next trajectory.
    trajectory: u32,
}

impl<'b, B: Backend> Hmc<'b, B> {
    /// A field after so many trajectories. `lanes` changes no bit.
    pub fn new(
        backend: &'b B,
        configuration: &Configuration,
        parameters: HmcParameters,
        trajectories: u64,
        lanes: LaneChoice,
    ) -> Result<Self, HmcError> {
        let refuse = |what, value, expected| Err(HmcError::Parameter { what, value, expected });
        let HmcParameters { beta, steps, length, .. } = parameters;
        if !(beta >= 0.0 && beta.is_finite()) {
            return refuse("beta", beta, "a finite number from 0 on");
        }
        if steps == 0 {
            return refuse("the number of steps", 0.0, "at least 1");
        }
        if !(length > 0.0 && length.is_finite()) {
            return refuse("the length of a trajectory", length, "a finite number above 0");
        }
        let next = u32::try_from(trajectories).ok().filter(|next| *next <= MOST_TRAJECTORIES);
        let trajectory = next.ok_or(HmcError::Trajectories(trajectories))?;
        let field = GaugeField::new(backend, configuration, lanes)?;
        let (momenta, staples, before) = (field.four_zeros()?, field.four_zeros()?, field.four_zeros()?);
        let parts = StapleParts::of(&field, parameters.action)?;
        Ok(Self { field, parameters, momenta, staples, before, parts, trajectory })
    }

    /// Trajectories that were made: the number of the next one.
    pub fn trajectories(&self) -> u64 {
        u64::from(self.trajectory)
    }

    /// The field.
    pub fn field(&self) -> &GaugeField<'b, B> {
        &self.field
    }

    /// Makes a trajectory, and takes its end or goes back to its beginning.
    pub fn trajectory(&mut self) -> Result<Trajectory, HmcError> {
        ensure!(self.trajectory < MOST_TRAJECTORIES, HmcError::Trajectories(self.trajectories()));
        let HmcParameters { seed, .. } = self.parameters;
        self.draw_momenta()?;
        for (before, links) in self.before.iter_mut().zip(self.field.all()) {
            self.field.backend.copy(before, links)?;
        }
        let at_start = self.energy()?;
        self.integrate(1.0)?;
        let energy_difference = self.energy()? - at_start;
        let threshold = uniform(seed, Stream::Metropolis, u64::from(self.trajectory), 0);
        // An energy that is no number is not taken.
        let accepted = energy_difference <= 0.0 || threshold < libm::exp(-energy_difference);
        if !accepted {
            self.field.set(&self.before)?;
        }
        self.trajectory += 1;
        Ok(Trajectory { energy_difference, accepted })
    }

    /// Draws the momenta of the next trajectory and goes along a part of it, 1 for all, without Metropolis' test; returns how much H has changed. To see what an
    /// integrator does.
    pub fn along(&mut self, part: f64) -> Result<f64, HmcError> {
        self.draw_momenta()?;
        self.change(part)
    }

    /// Goes back, with the momenta that there are.
    pub fn back(&mut self, part: f64) -> Result<f64, HmcError> {
        self.change(-part)
    }

    fn change(&mut self, part: f64) -> Result<f64, HmcError> {
        let before = self.energy()?;
        self.integrate(part)?;
        Ok(self.energy()? - before)
    }

    /// New momenta, of the next trajectory.
    fn draw_momenta(&mut self) -> Result<(), BackendError> {
        for (direction, momentum) in Direction::ALL.into_iter().zip(&mut self.momenta) {
            let event = self.trajectory * DIMENSIONS as u32 + direction.index() as u32;
            // What is left of a trajectory that went wrong may be no numbers.
            self.field.backend.clear(momentum)?;
            self.field.backend.random_momentum(momentum, (0.0, 1.0), self.parameters.seed, event)?;
        }
        Ok(())
    }

    /// H = −Σ tr P² − (β/3) Σ (c0 Re tr plaquette + c1 Re tr rectangle).
    fn energy(&mut self) -> Result<f64, HmcError> {
        /// Plaquettes a site, and rectangles.
        const LOOPS: [f64; 2] = [6.0, 12.0];
        let HmcParameters { action, beta, .. } = self.parameters;
        let mut energy = 0.0;
        for momentum in &self.momenta {
            energy += self.field.backend.kinetic_energy(momentum)?;
        }
        let volume = self.field.lattice.extents().global_volume() as f64;
        energy -= beta * action.plaquette() * LOOPS[0] * volume * self.field.plaquettes()?.all;
        if action.rectangle() != 0.0 {
            energy -= beta * action.rectangle() * LOOPS[1] * volume * self.field.rectangles()?.all;
        }
        Ok(energy)
    }

    /// Goes along a trajectory, or back along it where `direction` is −1.
    fn integrate(&mut self, direction: f64) -> Result<(), BackendError> {
        let HmcParameters { integrator, steps, length, .. } = self.parameters;
        let step = direction * length / steps as f64;
        match integrator {
            Integrator::Leapfrog => {
                self.kick(0.5 * step)?;
                for number in 1..=steps {
                    self.drift(step)?;
                    self.kick(if number == steps { 0.5 * step } else { step })?;
                }
            }
            Integrator::Omelyan => {
                self.kick(LAMBDA * step)?;
                for number in 1..=steps {
                    self.drift(0.5 * step)?;
                    self.kick((1.0 - 2.0 * LAMBDA) * step)?;
                    self.drift(0.5 * step)?;
                    self.kick(if number == steps { LAMBDA * step } else { 2.0 * LAMBDA * step })?;
                }
            }
        }
        Ok(())
    }

    /// P ← P + (β/6)·step·Z, with Z the traceless anti-Hermitian part of staples·U†.
    fn kick(&mut self, step: f64) -> Result<(), BackendError> {
        let HmcParameters { action, beta, .. } = self.parameters;
        self.field.staples(&mut self.staples, action, &mut self.parts)?;
        for (d, links) in self.field.all().into_iter().enumerate() {
            self.field.backend.momentum_step(&mut self.momenta[d], beta / 6.0 * step, links, &self.staples[d])?;
        }
        Ok(())
    }

    fn drift(&mut self, step: f64) -> Result<(), BackendError> {
        for (direction, momentum) in Direction::ALL.into_iter().zip(&self.momenta) {
            self.field.backend.link_step(self.field.links.along_mut(direction), step, momentum)?;
        }
        Ok(())
    }
}
