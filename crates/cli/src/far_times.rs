//! How well propagators are known far from their source, where they may be smaller than the solver's tolerance.

/// Fewer than three digits.
const TOO_LARGE: f64 = 1e-3;

/// Of errors by time the larger ones; those that are not known count as none.
pub fn largest<'a>(all: impl IntoIterator<Item = &'a Vec<f64>>) -> Vec<f64> {
    all.into_iter().fold(Vec::new(), |mut largest, errors| {
        largest.resize(largest.len().max(errors.len()), 0.0);
        largest.iter_mut().zip(errors).for_each(|(largest, &error)| *largest = largest.max(error));
        largest
    })
}

/// The largest and its time, for people.
pub fn describe(relative_errors: &[f64]) -> Option<String> {
    let worst = relative_errors.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1));
    worst.map(|(t, error)| format!("estimated relative error of S {error:.1e} at most, at t = {t} from the source"))
}

/// Warns of times whose correlators have fewer than three digits, whatever the residual of the whole lattice.
pub fn warn(relative_errors: &[f64]) {
    let few = || relative_errors.iter().enumerate().filter(|(_, error)| **error > TOO_LARGE);
    let (Some((first, _)), Some((last, _))) = (few().next(), few().next_back()) else { return };
    let worst = few().map(|(_, error)| *error).fold(0.0, f64::max);
    let times = if first == last { format!("t = {first}") } else { format!("t = {first} to {last}") };
    if crate::ranks::is_first() {
        say!(
            "warning: correlators at {times} from the source have fewer than three digits: the estimated relative error of the propagator there is up to \
             {worst:.1e}; solve with a smaller --tolerance"
        );
    }
}
