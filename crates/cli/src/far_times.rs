//! How accurate propagators are far from their source, where they may be smaller than the solver's tolerance.

/// Fewer than three digits.
const TOO_LARGE: f64 = 1e-3;

/// The larger error at each time. Unknown errors are left out.
pub fn largest<'a>(all: impl IntoIterator<Item = &'a Vec<f64>>) -> Vec<f64> {
    all.into_iter().fold(Vec::new(), |mut largest, errors| {
        largest.resize(largest.len().max(errors.len()), 0.0);
        largest.iter_mut().zip(errors).for_each(|(largest, &error)| *largest = largest.max(error));
        largest
    })
}

/// The largest error and its time, as text.
pub fn describe(relative_errors: &[f64]) -> Option<String> {
    let (t, &error) = relative_errors.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1))?;
    Some(match error {
        f64::MAX => format!("{LOST} at t = {t} from the source"),
        _ => format!("estimated relative error of S {error:.1e} at most, at t = {t} from the source"),
    })
}

/// The text for [`f64::MAX`].
const LOST: &str = "the propagator is 0, or its square is out of range,";

/// Warns of times at which correlators have fewer than three digits, whatever the residual on the whole lattice is.
pub fn warn(relative_errors: &[f64]) {
    if !crate::ranks::is_first() {
        return;
    }
    let times = |is_one: &dyn Fn(f64) -> bool| {
        let mut those = relative_errors.iter().enumerate().filter(|(_, error)| is_one(**error)).map(|(t, _)| t);
        let first = those.next()?;
        Some(those.next_back().map_or_else(|| format!("t = {first}"), |last| format!("t = {first} to {last}")))
    };
    if let Some(times) = times(&|error| error == f64::MAX) {
        say!("warning: {LOST} at {times} from the source: check the mass and the precision");
    }
    let is_few = |error| error > TOO_LARGE && error < f64::MAX;
    if let Some(times) = times(&is_few) {
        let worst = relative_errors.iter().copied().filter(|error| is_few(*error)).fold(0.0, f64::max);
        say!(
            "warning: correlators at {times} from the source have fewer than three digits: the estimated relative error of the propagator there is up to \
             {worst:.1e}; solve with a smaller --tolerance"
        );
    }
}
