//! Momenta of correlators.

use std::f64::consts::TAU;
use std::fmt;
use std::str::FromStr;

use lanefield_reference::layout::{Coordinate, Extents};
use lanefield_reference::links::{BoundaryPhases, cis_pi};
use num_complex::Complex;
use serde::{Deserialize, Serialize};

/// A momentum p = 2π n / L, given by three integers n for x, y and z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Momentum {
    /// The integers n.
    pub numbers: [i32; 3],
}

impl Momentum {
    /// Zero momentum.
    pub const ZERO: Self = Self { numbers: [0; 3] };

    /// |p|² for these spatial extents, in lattice units.
    pub fn squared(self, extents: Extents) -> f64 {
        let squares = (0..3).map(|d| (TAU * f64::from(self.numbers[d]) / extents[d] as f64).powi(2));
        squares.fold(0.0, |all, square| all + square)
    }

    /// exp(+i p·x), as (x · y) · z: a source with this momentum.
    pub fn wave(self, extents: Extents, coordinate: Coordinate) -> Complex<f64> {
        let of_direction = |d: usize| {
            let extent = extents[d];
            let number = i64::from(self.numbers[d]).rem_euclid(extent as i64) as usize;
            root(number * coordinate[d] % extent, extent).conj()
        };
        of_direction(0) * of_direction(1) * of_direction(2)
    }

    /// exp(−i p·(x − y)) with p = (2πn + θ)/L, for a source at y and boundary phases e^{iθ}. The steps x − y do not cross the boundary. `None` if
    /// all phases are 1.
    pub(super) fn phases(self, extents: Extents, source: Coordinate, boundary: BoundaryPhases) -> Option<Phases> {
        let angles = [0, 1, 2].map(|d| boundary.phase(d).angle());
        let of_direction = |d: usize| -> Vec<Complex<f64>> {
            let extent = extents[d];
            let number = i64::from(self.numbers[d]).rem_euclid(extent as i64) as usize;
            let turns = |x: usize| number * ((x + extent - source[d]) % extent) % extent;
            let of_angle = |x: usize, phase: Complex<f64>| match angles[d] {
                0.0 => phase,
                angle => phase * cis_pi(angle * (source[d] as f64 - x as f64) / extent as f64),
            };
            (0..extent).map(|x| of_angle(x, root(turns(x), extent))).collect()
        };
        (self != Self::ZERO || angles != [0.0; 3]).then(|| Phases { of_directions: [0, 1, 2].map(of_direction) })
    }
}

/// exp(−2πi k / n), 0 ≤ k < n. The functions are from the `libm` crate, and are the same on every machine. Multiples of a quarter turn are exact.
fn root(k: usize, n: usize) -> Complex<f64> {
    if (4 * k).is_multiple_of(n) {
        return [Complex::ONE, -Complex::I, -Complex::ONE, Complex::I][4 * k / n];
    }
    let (sin, cos) = libm::sincos(TAU * (k as f64 / n as f64));
    Complex::new(cos, -sin)
}

/// The phases of each spatial coordinate.
pub(super) struct Phases {
    of_directions: [Vec<Complex<f64>>; 3],
}

impl Phases {
    /// The phase of a site: (x · y) · z.
    pub(super) fn at(&self, coordinate: Coordinate) -> Complex<f64> {
        let [x, y, z] = [0, 1, 2].map(|d| self.of_directions[d][coordinate[d]]);
        x * y * z
    }
}

impl fmt::Display for Momentum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.numbers;
        write!(f, "{x},{y},{z}")
    }
}

impl FromStr for Momentum {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Option<Vec<i32>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
        let numbers = numbers.and_then(|numbers| numbers.try_into().ok());
        numbers.map(|numbers| Self { numbers }).ok_or_else(|| {
            format!("invalid momentum '{text}': expected three whole numbers n, of p = 2πn/L, as in 1,0,0")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_are_one_at_the_source_and_turn_once_around_the_lattice() {
        let (extents, source) = (Extents::new([6, 4, 8, 2]).unwrap(), [5, 1, 3, 0]);
        let phases_of =
            |momentum: Momentum, boundary: &str| momentum.phases(extents, source, boundary.parse().unwrap());
        let phases = phases_of(Momentum { numbers: [1, -1, 9] }, "1,1,1,-1").unwrap();
        assert_eq!(phases.at(source), Complex::ONE);
        assert!((phases.at([0, 1, 3, 0]) - Complex::cis(-TAU / 6.0)).norm() < 1e-15);
        assert_eq!(phases.at([5, 2, 3, 1]), Complex::I);
        // 9 is 1 on eight sites.
        assert!((phases.at([5, 1, 4, 0]) - Complex::cis(-TAU / 8.0)).norm() < 1e-15);
        assert!(phases_of(Momentum::ZERO, "1,1,0,-1").is_none());
        // x = 0 is five steps before the source, not one after it.
        let phases = phases_of(Momentum::ZERO, "0.25pi,1,1,-1").unwrap();
        assert!((phases.at([0, 1, 3, 0]) - Complex::cis(TAU / 8.0 * 5.0 / 6.0)).norm() < 1e-15);
    }

    #[test]
    fn a_wave_is_the_conjugate_of_the_phase() {
        let extents = Extents::new([6, 4, 8, 2]).unwrap();
        let momentum = Momentum { numbers: [1, -1, 9] };
        let phases = momentum.phases(extents, [0; 4], BoundaryPhases::PERIODIC).unwrap();
        for x in [[0, 0, 0, 0], [5, 2, 3, 1], [1, 3, 7, 0]] {
            assert!((momentum.wave(extents, x) - phases.at(x).conj()).norm() < 1e-15);
            assert_eq!(Momentum::ZERO.wave(extents, x), Complex::ONE);
        }
    }

    #[test]
    fn momenta_are_read_as_they_are_written() {
        let momentum = Momentum { numbers: [0, -2, 1] };
        assert_eq!(momentum.to_string().parse(), Ok(momentum));
        for wrong in ["", "1", "1,2", "1,2,3,4", "1,2,x"] {
            assert!(wrong.parse::<Momentum>().unwrap_err().contains(&format!("'{wrong}'")));
        }
    }
}
