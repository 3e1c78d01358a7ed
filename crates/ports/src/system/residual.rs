//! How well one array solves a system.

use serde::Serialize;

/// The largest residual of an array that counts as a solution.
pub const MOST: f64 = 1e-3;
/// A changed system is reported only if its residual is smaller by at least this factor.
pub const BETTER: f64 = 100.0;

/// How well an array solves a system.
#[derive(Clone, Serialize)]
pub struct Residual {
    /// |b − M x| / |b|.
    pub residual: f64,
    /// The change to the system or the array with which the array is a solution; null if none is needed, or if none that was tried helps.
    pub changed: Option<String>,
    /// The factor by which the array is a solution, as real and imaginary part; null if it is not a solution.
    pub factor: Option<[f64; 2]>,
    /// The residual of the changed system with the array divided by the factor.
    pub residual_with_factor: f64,
}

impl Residual {
    pub fn of_nothing() -> Self {
        Self { residual: f64::NAN, changed: None, factor: None, residual_with_factor: f64::NAN }
    }

    /// Whether it solves the original system, and no change is much better.
    pub fn solves(&self) -> bool {
        self.residual <= MOST && self.residual <= BETTER * self.residual_with_factor.max(f64::EPSILON)
    }

    /// "A solves the system, residual 1.2e-10"
    pub fn words(&self, name: &str) -> String {
        match (&self.changed, self.factor) {
            _ if self.solves() => format!("{name} solves the system, residual {:.1e}", self.residual),
            (_, None) => {
                format!("{name} solves neither the system nor one near it, residual {:.1e}", self.residual)
            }
            (changed, Some([re, im])) => {
                let times = match ((re - 1.0).hypot(im) > 10.0 * self.residual_with_factor, im.abs() <= 1e-9 * re.abs())
                {
                    (false, _) => String::new(),
                    (_, true) => format!(" times {re:.10}"),
                    _ => format!(" times {re:.10} {im:+.10} i"),
                };
                let with = changed.as_ref().map_or_else(String::new, |changed| format!(" with {changed}"));
                format!("{name} is the solution{with}{times}, residual {:.1e}", self.residual_with_factor)
            }
        }
    }
}
