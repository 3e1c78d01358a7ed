//! Hybrid Monte Carlo of pure gauge theory (Duane, Kennedy, Pendleton and Roweth 1987), as a basis for work with dynamical fermions: momenta, a
//! trajectory of molecular dynamics, and a Metropolis test. The result of a trajectory depends only on the field, the seed and the number of the
//! trajectory.

use lanefield_reference::ensure;
use lanefield_reference::gauge::Configuration;
use lanefield_reference::layout::{DIMENSIONS, Direction, LaneChoice};
use lanefield_reference::random::{Stream, uniform};
use thiserror::Error;

use super::staples::StapleParts;
use super::{Action, GaugeField, GaugeFieldError, LinkField};
use crate::backend::{Backend, BackendError};
use crate::kernel::prelude::*;

/// Trajectory numbers are less than this: a trajectory and a direction make one event of the random numbers.
pub(crate) const MOST_TRAJECTORIES: u32 = 1 << 22;

/// How molecular dynamics is integrated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Integrator {
    /// Half a step of the momenta, a step of the links, half a step of the momenta.
    Leapfrog,
    /// The second-order integrator with the smallest error (Omelyan, Mryglod and Folk 2003, λ = 0.1931833…).
    #[default]
    Omelyan,
}

lanefield_reference::named!(Integrator, "integrator": Leapfrog = "leapfrog", Omelyan = "omelyan");

/// λ of [`Integrator::Omelyan`].
const LAMBDA: f64 = 0.193_183_327_503_783_6;

/// The parameters of a trajectory.
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

/// Why a field cannot be evolved. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum HmcError {
    #[error("{what} is {value}: expected {expected}")]
    Parameter { what: &'static str, value: f64, expected: &'static str },
    #[error("trajectory {0} has no random numbers of its own: they are numbered from 0 to {last}; continue with another seed", last = MOST_TRAJECTORIES - 1)]
    Trajectories(u64),
    #[error(transparent)]
    Field(#[from] GaugeFieldError),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// The result of a trajectory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trajectory {
    /// H at the end minus H at the start.
    pub energy_difference: f64,
    /// Whether the trajectory was accepted.
    pub accepted: bool,
}

/// A gauge field under hybrid Monte Carlo, on a backend, in f64.
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
    /// Starts from a field after `trajectories` trajectories. `lanes` changes no bit.
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
            return refuse("beta", beta, "a finite number, at least 0");
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

    /// Trajectories done so far, which is the number of the next one.
    pub fn trajectories(&self) -> u64 {
        u64::from(self.trajectory)
    }

    /// The field.
    pub fn field(&self) -> &GaugeField<'b, B> {
        &self.field
    }

    /// Computes a trajectory, and accepts its end or restores its start.
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
        // An energy that is NaN is rejected.
        let accepted = energy_difference <= 0.0 || threshold < libm::exp(-energy_difference);
        if !accepted {
            self.field.set(&self.before)?;
        }
        self.trajectory += 1;
        Ok(Trajectory { energy_difference, accepted })
    }

    /// Draws the momenta of the next trajectory and integrates a fraction `part` of it, without a Metropolis test. Returns the change of H. Use it
    /// to study an integrator.
    pub fn along(&mut self, part: f64) -> Result<f64, HmcError> {
        self.draw_momenta()?;
        self.change(part)
    }

    /// Integrates backwards with the current momenta.
    pub fn back(&mut self, part: f64) -> Result<f64, HmcError> {
        self.change(-part)
    }

    fn change(&mut self, part: f64) -> Result<f64, HmcError> {
        let before = self.energy()?;
        self.integrate(part)?;
        Ok(self.energy()? - before)
    }

    /// Draws the momenta of the next trajectory.
    fn draw_momenta(&mut self) -> Result<(), BackendError> {
        for (direction, momentum) in Direction::ALL.into_iter().zip(&mut self.momenta) {
            let event = self.trajectory * DIMENSIONS as u32 + direction.index() as u32;
            // A failed trajectory may have left NaNs in the fields.
            self.field.backend.clear(momentum)?;
            self.field.backend.random_momentum(momentum, (0.0, 1.0), self.parameters.seed, event)?;
        }
        Ok(())
    }

    /// H = −Σ tr P² − (β/3) Σ (c0 Re tr plaquette + c1 Re tr rectangle).
    fn energy(&mut self) -> Result<f64, HmcError> {
        /// Plaquettes and rectangles per site.
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

    /// Integrates along a trajectory, or back along it if `direction` is −1.
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
