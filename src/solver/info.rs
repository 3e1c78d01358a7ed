//! The report of every solver: iterations and residual history.

/// Iterations and residual history of a solve.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SolverInfo {
    /// Number of iterations.
    pub iterations: usize,
    /// |r|² of the recurrence after each iteration, starting with that of the guess.
    pub history: Vec<f64>,
    /// |b|².
    pub source_norm2: f64,
}

impl SolverInfo {
    /// |r| / |b| of the recurrence at the end; 0 if b is 0.
    pub fn relative_residual(&self) -> f64 {
        match self.history.last() {
            Some(&last) if self.source_norm2 > 0.0 => (last / self.source_norm2).sqrt(),
            _ => 0.0,
        }
    }

    pub(super) fn push(&mut self, residual_norm2: f64) {
        self.iterations += usize::from(!self.history.is_empty());
        self.history.push(residual_norm2);
    }

    /// A summary of the history, in a few words.
    pub(super) fn shape(&self) -> String {
        let relative = |c: f64| if self.source_norm2 > 0.0 { (c / self.source_norm2).sqrt() } else { c.sqrt() };
        let least = self.history.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        match (self.history.first(), least, self.history.last()) {
            (Some(&first), Some((at, &least)), Some(&last)) => format!(
                "|r|/|b| was {:.3e} at first, {:.3e} at its least, after {at} iterations, and {:.3e} at the end",
                relative(first),
                relative(least),
                relative(last)
            ),
            _ => "there was no iteration yet".to_owned(),
        }
    }
}
