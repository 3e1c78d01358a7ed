//! The static potential from Wilson loops, its fit by V₀ − α/r + σ r, and the Sommer scale r₀ (R. Sommer, Nucl. Phys. B 411 (1994) 839).

use nalgebra::{Matrix3, Vector3};

/// r² dV/dr at r₀.
pub(crate) const SOMMER: f64 = 1.65;

/// V(r) = ln [W(r, t) / W(r, t + 1)]; `None` unless both loops are positive.
pub fn potential(earlier: f64, later: f64) -> Option<f64> {
    (earlier > 0.0 && later > 0.0).then(|| libm::log(earlier / later)).filter(|v| v.is_finite())
}

/// The potential at a distance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PotentialPoint {
    /// r / a.
    pub distance: f64,
    /// a V.
    pub potential: f64,
    /// The error of the potential, which sets its weight.
    pub error: f64,
}

/// V(r) = V₀ − α/r + σ r, in lattice units.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cornell {
    /// V₀.
    pub constant: f64,
    /// α.
    pub coulomb: f64,
    /// The string tension σ.
    pub tension: f64,
}

impl Cornell {
    /// The least-squares fit, each point weighted by its own error alone. `None` if there are fewer than three distances, or errors that are not
    /// positive.
    pub fn fit(points: &[PotentialPoint]) -> Option<Self> {
        let mut normal = Matrix3::zeros();
        let mut right = Vector3::zeros();
        for &PotentialPoint { distance, potential, error } in points {
            let terms = Vector3::new(1.0, -1.0 / distance, distance) / (error > 0.0).then_some(error)?;
            normal += terms * terms.transpose();
            right += terms * (potential / error);
        }
        let found = normal.cholesky()?.solve(&right);
        let fit = Self { constant: found[0], coulomb: found[1], tension: found[2] };
        (points.len() >= 3 && found.iter().all(|parameter| parameter.is_finite())).then_some(fit)
    }

    /// V(r).
    pub fn at(&self, distance: f64) -> f64 {
        self.constant - self.coulomb / distance + self.tension * distance
    }

    /// Σ [(V(r) − fit) / error]².
    pub fn chi_squared(&self, points: &[PotentialPoint]) -> f64 {
        let of_point = |point: &PotentialPoint| ((point.potential - self.at(point.distance)) / point.error).powi(2);
        points.iter().map(of_point).fold(0.0, |sum, square| sum + square)
    }

    /// r₀ / a = √((1.65 − α) / σ); `None` if the potential does not confine.
    pub fn sommer(&self) -> Option<f64> {
        let square = (SOMMER - self.coulomb) / self.tension;
        (square > 0.0).then(|| square.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORNELL: Cornell = Cornell { constant: 0.62, coulomb: 0.29, tension: 0.0468 };

    fn points(distances: std::ops::RangeInclusive<u8>) -> Vec<PotentialPoint> {
        let point = |r: u8| {
            let distance = f64::from(r);
            PotentialPoint { distance, potential: CORNELL.at(distance), error: 0.001 * distance * distance }
        };
        distances.map(point).collect()
    }

    #[test]
    fn a_potential_of_three_terms_is_found_again_with_its_scale() {
        for last in [3, 8] {
            let found = Cornell::fit(&points(1..=last)).unwrap();
            assert!((found.constant - CORNELL.constant).abs() < 1e-10, "{found:?}");
            assert!((found.coulomb - CORNELL.coulomb).abs() < 1e-10, "{found:?}");
            assert!((found.tension - CORNELL.tension).abs() < 1e-10, "{found:?}");
            assert!(found.chi_squared(&points(1..=last)) < 1e-10);
        }
        let scale = CORNELL.sommer().unwrap();
        let force = CORNELL.coulomb / (scale * scale) + CORNELL.tension;
        assert!((scale * scale * force - SOMMER).abs() < 1e-12);
    }

    #[test]
    fn too_few_distances_and_potentials_that_do_not_confine_give_nothing() {
        assert_eq!(Cornell::fit(&points(1..=2)), None);
        let without_error = PotentialPoint { error: 0.0, ..points(1..=1)[0] };
        assert_eq!(Cornell::fit(&[vec![without_error], points(2..=5)].concat()), None);
        assert_eq!(Cornell { tension: -0.01, ..CORNELL }.sommer(), None);
    }

    #[test]
    fn a_potential_needs_positive_loops() {
        assert!((potential(0.3, 0.2).unwrap() - 1.5f64.ln()).abs() < 1e-15);
        assert_eq!((potential(-0.3, 0.2), potential(0.3, 0.0), potential(f64::NAN, 0.1)), (None, None, None));
    }
}
