//! The coefficients of Shamir's domain wall and Möbius fermions (Brower, Neff and Orginos, arXiv:1206.5214; Grid's `CayleyFermion5D` with ω = 1):
//! the matrices along s in M = DW·Din + T, with DW = hop + (4 − M5).

use super::matrix::{DomainWallError, Tridiagonal, check_ls};

/// The parameters of a Möbius operator, which have been checked, and its matrices along s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MobiusCoefficients {
    ls: usize,
    mass: f64,
    m5: f64,
    b: f64,
    c: f64,
}

impl MobiusCoefficients {
    /// Creates them from the extent of the fifth dimension, the quark mass, the domain wall height M5, and Möbius' b and c (1 and 0 for Shamir's).
    pub fn new(ls: usize, mass: f64, m5: f64, b: f64, c: f64) -> Result<Self, DomainWallError> {
        check_ls(ls)?;
        for (parameter, value) in [("the mass", mass), ("M5", m5), ("b", b), ("c", c)] {
            if !value.is_finite() {
                return Err(DomainWallError::NotFinite { parameter, value });
            }
        }
        // Grid's b_s and c_s with ω = 1, in its order.
        let (sum, difference) = (b + c, b - c);
        Ok(Self { ls, mass, m5, b: 0.5 * (sum + difference), c: 0.5 * (sum - difference) })
    }

    /// Extent of the fifth dimension.
    pub fn ls(&self) -> usize {
        self.ls
    }

    /// c, the same for every s.
    pub fn c(&self) -> f64 {
        self.c
    }

    /// 4 − M5, the diagonal of DW.
    pub fn height(&self) -> f64 {
        4.0 - self.m5
    }

    /// Din: b on the diagonal, c off the diagonal, −mass·c in the corners. `None` if it is the identity (b = 1, c = 0) and is left out.
    pub fn input(&self) -> Option<Tridiagonal> {
        let identity = self.b == 1.0 && self.c == 0.0;
        (!identity).then(|| self.ring(self.b, self.c))
    }

    /// T: 1 on the diagonal, −1 off the diagonal, +mass in the corners.
    pub fn walls(&self) -> Tridiagonal {
        self.ring(1.0, -1.0)
    }

    /// Mooee: b(4 − M5) + 1 on the diagonal, c(4 − M5) − 1 off the diagonal, and −mass times the latter in the corners.
    pub fn diagonal(&self) -> Tridiagonal {
        let cee = 1.0 - self.c * self.height();
        self.ring(self.b * self.height() + 1.0, -cee)
    }

    fn ring(&self, diagonal: f64, beside: f64) -> Tridiagonal {
        Tridiagonal::ring(self.ls, diagonal, beside, -(self.mass * beside))
    }
}
