//! Landau and Coulomb gauge (`docs/arithmetic.md` §26): a gauge transformation is relaxed, one parity after the other and with overrelaxation,
//! towards the maximum of F = Σ Re tr U_μ / (3 N_d V) of the transformed links. F and the stopping criterion are exact sums, so the number of
//! iterations and all bits are the same on every backend. It reads links, and the transformation at nearest neighbours, so it works on local volumes
//! too.

use std::fmt;
use std::str::FromStr;

use lanefield_reference::exact::ExactSum;
use lanefield_reference::kernels::reduce::{MergeError, PartialSums};
use lanefield_reference::layout::{DIMENSIONS, LayoutError, Stencil};
use lanefield_reference::links::{DoubledGauge, double};
use lanefield_reference::object::ColourMatrix;
use lanefield_reference::prelude::*;
use lanefield_reference::random::su3_random;
use lanefield_reference::real::Real as _;
use thiserror::Error;

use super::{LinkField, LinkFields};
use crate::backend::{Backend, BackendError, FieldOn};
use crate::kernel::gauge_fixing::{GaugeFixingKernels as _, Surroundings};

/// The largest ω: with ω = 2 the functional would not change.
pub const LARGEST_OVERRELAXATION: f64 = 1.99;

/// A gauge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gauge {
    /// With the links of all directions.
    Landau,
    /// With the links of all directions but one, separately on each slice across that direction.
    Coulomb {
        /// The direction that is left out: time.
        time: Direction,
    },
}

impl Gauge {
    /// The number of directions whose links are fixed.
    pub fn directions(self) -> usize {
        match self {
            Self::Landau => DIMENSIONS,
            Self::Coulomb { .. } => DIMENSIONS - 1,
        }
    }

    /// The first direction in the leg order, and the weight of its links.
    fn weight(self) -> (Direction, f64) {
        match self {
            Self::Landau => (Direction::T, 1.0),
            Self::Coulomb { time } => (time, 0.0),
        }
    }
}

impl fmt::Display for Gauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Landau => "landau",
            Self::Coulomb { .. } => "coulomb",
        })
    }
}

impl FromStr for Gauge {
    type Err = String;

    /// Coulomb gauge has t as its time direction.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "landau" => Ok(Self::Landau),
            "coulomb" => Ok(Self::Coulomb { time: Direction::T }),
            _ => Err(format!("unknown gauge '{text}': expected landau or coulomb")),
        }
    }
}

/// The gauge transformation from which to start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GaugeStart {
    /// 1 at every site.
    #[default]
    Identity,
    /// Random SU(3) matrices, from a seed.
    Random(u64),
}

/// Why a gauge was not fixed. Messages are fragments.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages name the fields")]
pub enum GaugeFixingError {
    #[error("{what} is {value}: expected {expected}")]
    Parameter { what: &'static str, value: f64, expected: &'static str },
    #[error("the functional is {functional} and θ is {theta} after {iteration} iterations: links are not finite")]
    NotFinite { iteration: usize, functional: f64, theta: f64 },
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// When to stop, and the parameters of the iteration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stopping {
    /// The target for θ, greater than 0.
    pub tolerance: f64,
    /// The overrelaxation parameter ω, 1 to [`LARGEST_OVERRELAXATION`].
    pub overrelaxation: f64,
    /// The maximum number of iterations.
    pub max_iterations: usize,
    /// θ is measured each time this number of iterations is done, and at the end.
    pub every: usize,
}

impl Default for Stopping {
    fn default() -> Self {
        Self { tolerance: 1e-12, overrelaxation: 1.7, max_iterations: 10_000, every: 1 }
    }
}

impl Stopping {
    fn check(&self) -> Result<(), GaugeFixingError> {
        let refuse = |what, value, expected| Err(GaugeFixingError::Parameter { what, value, expected });
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            return refuse("the tolerance", self.tolerance, "a finite number greater than 0");
        }
        if !(1.0..=LARGEST_OVERRELAXATION).contains(&self.overrelaxation) {
            return refuse("ω", self.overrelaxation, "a number from 1 to 1.99");
        }
        if self.every == 0 {
            return refuse("the number of iterations between measurements", 0.0, "at least 1");
        }
        Ok(())
    }
}

/// How well the gauge is fixed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GaugePoint {
    /// Iterations done so far.
    pub iteration: usize,
    /// F = Σ Re tr U_μ / (3 N_d V), over the N_d directions that are fixed.
    pub functional: f64,
    /// Σ tr Δ Δ† / (3 V) with Δ = Σ_μ A_μ(x) − A_μ(x−μ), A the traceless anti-Hermitian part of U; in Coulomb gauge, the largest value of all
    /// slices.
    pub theta: f64,
}

/// The result of gauge fixing.
#[derive(Clone, PartialEq, Debug)]
pub struct GaugeFixed {
    /// Whether θ reached the tolerance.
    pub converged: bool,
    /// All measurements, including the one at the start.
    pub history: Vec<GaugePoint>,
}

impl GaugeFixed {
    /// The last measurement.
    pub fn last(&self) -> Option<&GaugePoint> {
        self.history.last()
    }
}

/// A gauge transformation that fixes the gauge of a configuration on a backend, in f64.
pub struct GaugeFixing<'a, B: Backend> {
    backend: &'a B,
    configuration: &'a Configuration,
    gauge: Gauge,
    lattice: Lattice,
    /// By parity, as are all fields below.
    transformation: [LinkField<B>; 2],
    links: [FieldOn<B, f64, DoubledGauge>; 2],
    stencils: [B::Table; 2],
    iterations: usize,
}

const PARITIES: [Sites; 2] = [Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)];

/// The unit matrix.
const UNIT: [f64; 9] = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];

/// The number that `su3_random` uses in place of a direction for the matrix of a site.
const OF_THE_SITE: u32 = DIMENSIONS as u32;

impl<'a, B: Backend> GaugeFixing<'a, B> {
    /// Starts to fix a configuration, or the local volume of this rank. `lanes` changes no bit.
    pub fn new(
        backend: &'a B,
        configuration: &'a Configuration,
        gauge: Gauge,
        start: GaugeStart,
        lanes: LaneChoice,
    ) -> Result<Self, GaugeFixingError> {
        let options = LatticeOptions { lanes: backend.lanes(lanes), ..LatticeOptions::default() };
        let extents = configuration.extents();
        let lattice = Lattice::new(extents, f64::COMPLEX, options)?;
        let kind = DoubledGauge { format: LinkFormat::Full, boundary: BoundaryPhases::PERIODIC };
        let links = |sites| -> Result<_, GaugeFixingError> {
            Ok(backend.upload(double(configuration, lattice, sites, kind).map_err(BackendError::from)?)?)
        };
        let stencil = |sites| Ok::<_, GaugeFixingError>(backend.stencil(Stencil::new(lattice, sites)?)?);
        let transformation = |sites| {
            let field = Field::from_sites(lattice, sites, ColourMatrix, |site, words| match start {
                GaugeStart::Identity => words.copy_from_slice(&UNIT.map(Complex::from)),
                GaugeStart::Random(seed) => {
                    words.copy_from_slice(&su3_random(seed, extents.global_site(site), OF_THE_SITE));
                }
            });
            backend.upload(field.map_err(BackendError::from)?)
        };
        Ok(Self {
            backend,
            configuration,
            gauge,
            lattice,
            transformation: [transformation(PARITIES[0])?, transformation(PARITIES[1])?],
            links: [links(PARITIES[0])?, links(PARITIES[1])?],
            stencils: [stencil(PARITIES[0])?, stencil(PARITIES[1])?],
            iterations: 0,
        })
    }

    /// The gauge transformation at the sites of one parity, and its surroundings.
    fn of_parity(&mut self, parity: usize) -> (&mut LinkField<B>, Surroundings<'_, B, f64>) {
        let (direction, weight) = self.gauge.weight();
        let [even, odd] = &mut self.transformation;
        let (here, there) = if parity == 0 { (even, odd) } else { (odd, even) };
        let around =
            Surroundings { stencil: &self.stencils[parity], links: &self.links[parity], there, direction, weight };
        (here, around)
    }

    /// Updates the transformation at the even sites, then at the odd ones, by ω times the step to the maximum of the functional.
    pub fn iterate(&mut self, omega: f64) -> Result<(), BackendError> {
        let backend = self.backend;
        for parity in [0, 1] {
            let (here, around) = self.of_parity(parity);
            backend.gauge_relaxed(here, &around, omega)?;
        }
        self.iterations += 1;
        Ok(())
    }

    /// F and θ. Sums over all sites are exact, and rounded once.
    pub fn measure(&mut self) -> Result<GaugePoint, GaugeFixingError> {
        const COLOURS: f64 = 3.0;
        let backend = self.backend;
        let mut sum = |parity| {
            let (here, around) = self.of_parity(parity);
            backend.gauge_condition(here, &around)
        };
        let (mut sums, odd) = (sum(0)?, sum(1)?);
        sums.merge(&odd).map_err(BackendError::from)?;
        let PartialSums::Exact(sums) = sums else { return Err(BackendError::from(MergeError::Tree).into()) };
        // One sum per slice, one after the other.
        let total = |sums: &mut dyn Iterator<Item = &ExactSum>| {
            let mut total = ExactSum::new();
            sums.for_each(|sum| total.merge(sum));
            total.round()
        };
        let volume = self.lattice.extents().global_volume() as f64;
        let divergences = sums.iter().skip(1).step_by(2);
        let theta = match self.gauge {
            Gauge::Landau => total(&mut divergences.into_iter()) / (COLOURS * volume),
            Gauge::Coulomb { .. } => {
                let sites = COLOURS * volume / divergences.len() as f64;
                // A maximum would drop a NaN.
                let larger = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
                divergences.map(|sum| sum.round() / sites).fold(0.0, larger)
            }
        };
        // Each link appears at both of its ends.
        let functional = total(&mut sums.iter().step_by(2)) / (2.0 * COLOURS * self.gauge.directions() as f64 * volume);
        let iteration = self.iterations;
        match functional.is_finite() && theta.is_finite() {
            true => Ok(GaugePoint { iteration, functional, theta }),
            false => Err(GaugeFixingError::NotFinite { iteration, functional, theta }),
        }
    }

    /// Iterates until θ reaches the tolerance. `watch` is called with each measurement.
    pub fn fix(
        &mut self,
        stopping: &Stopping,
        mut watch: impl FnMut(&GaugePoint),
    ) -> Result<GaugeFixed, GaugeFixingError> {
        self.fix_while(stopping, |point| {
            watch(point);
            true
        })
    }

    /// Like [`Self::fix`]; it stops, unconverged, when `goes_on` returns false for a measurement.
    pub fn fix_while(
        &mut self,
        stopping: &Stopping,
        mut goes_on: impl FnMut(&GaugePoint) -> bool,
    ) -> Result<GaugeFixed, GaugeFixingError> {
        stopping.check()?;
        let last = self.iterations.saturating_add(stopping.max_iterations);
        let mut history = Vec::new();
        loop {
            let point = self.measure()?;
            let ends = !goes_on(&point);
            history.push(point);
            let converged = point.theta <= stopping.tolerance;
            if converged || ends || point.iteration >= last {
                return Ok(GaugeFixed { converged, history });
            }
            for _ in 0..stopping.every.min(last - point.iteration) {
                self.iterate(stopping.overrelaxation)?;
            }
        }
    }

    /// The gauge transformation in site order, nine numbers per site, row by row; on a rank, for the sites of its local volume.
    pub fn transformation(&self) -> Result<Vec<Complex<f64>>, BackendError> {
        let [even, odd] = &self.transformation;
        let (mut all, odd) =
            (self.backend.download(even)?.to_site_order(), self.backend.download(odd)?.to_site_order());
        let extents = self.lattice.extents();
        for (site, (words, odd)) in all.chunks_exact_mut(UNIT.len()).zip(odd.chunks_exact(UNIT.len())).enumerate() {
            if PARITIES[1].contain(extents.coordinate(site)) {
                words.copy_from_slice(odd);
            }
        }
        Ok(all)
    }

    /// The transformed links.
    pub fn fixed(&self) -> Result<Configuration, GaugeFixingError> {
        let of_parity = |parity: usize, sites: Sites| -> Result<_, GaugeFixingError> {
            let mut of_parity = LinkFields::<B, f64>::new(self.backend, self.lattice, sites, self.configuration)?;
            let around = [&self.transformation[parity], &self.transformation[1 - parity]];
            for direction in Direction::ALL {
                let link = of_parity.along_mut(direction);
                self.backend.gauge_transformed(link, &self.stencils[parity], direction, around)?;
            }
            Ok(of_parity)
        };
        let [even, odd] = [of_parity(0, PARITIES[0])?, of_parity(1, PARITIES[1])?];
        Ok(LinkFields::configuration(&[&even, &odd], self.backend)?)
    }
}
