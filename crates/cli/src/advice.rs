//! What a command line may have meant that no command takes: the flag or place by which another command takes the same thing, and the nearest of the values
//! that are expected.

use std::error::Error as _;
use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use strsim::damerau_levenshtein;

/// Flags by which commands here and elsewhere take the same thing.
const SAME: [&[&str]; 10] = [
    &["config", "configuration", "gauge", "links-from"],
    &["kernel", "kernels"],
    &["kind", "smear", "smearing"],
    &["lattice", "dims", "grid", "geometry", "size"],
    &["tolerance", "tol", "residual", "rsd", "precision-goal"],
    &["max-iterations", "maxiter", "max-iter", "niter", "iterations"],
    &["output", "out", "save"],
    &["precision", "prec", "dtype"],
    &["boundary", "boundary-phases", "bc"],
    &["operator", "action", "fermion", "dirac"],
];

/// Adds to an error of clap's what may have been meant.
pub fn advise(mut error: Error, program: &Command, arguments: &[OsString]) -> Error {
    let mut command = program;
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let advice = match error.kind() {
        ErrorKind::UnknownArgument => context(ContextKind::InvalidArg).and_then(|given| {
            let has_advice = error.get(ContextKind::SuggestedArg).is_some();
            of_argument(&given, command).filter(|_| !has_advice)
        }),
        ErrorKind::ValueValidation => error.source().and_then(|cause| nearest(&cause.to_string())),
        _ => None,
    };
    if error.kind() == ErrorKind::UnknownArgument {
        // That a flag could be a value, which no command takes.
        error.remove(ContextKind::Suggested);
    }
    if let Some(advice) = advice {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(advice)]));
    }
    error
}

/// What an argument may be that a command does not take.
fn of_argument(given: &str, command: &Command) -> Option<String> {
    let takes = |name: &str| command.get_arguments().any(|argument| argument.get_long() == Some(name));
    let positional = command.get_positionals().next();
    let Some(flag) = given.strip_prefix("--") else {
        let names_kernel = lanefield::kernel::named(given).is_ok();
        let flags = if names_kernel { ["kernel", "kernels"] } else { ["config", "input"] };
        return flags.into_iter().find(|flag| takes(flag)).map(|flag| format!("did you mean '--{flag} {given}'?"));
    };
    let same = SAME.iter().find(|names| names.contains(&flag))?;
    match same.iter().find(|name| takes(name)) {
        Some(name) => Some(format!("'{given}' is called '--{name}' here")),
        None if matches!(same[0], "config" | "kernel") => {
            let place = positional?.get_value_names()?.first()?;
            let takes_it =
                matches!((same[0], place.as_str()), ("config", "FILE" | "FILES" | "IN") | ("kernel", "KERNEL"));
            takes_it.then(|| format!("<{place}> is given without '{given}' here"))
        }
        None => None,
    }
}

/// The nearest of the values that an error expects to the one that it quotes first.
pub fn nearest(error: &str) -> Option<String> {
    let given = error.split('\'').nth(1)?;
    let (_, expected) = error.rsplit_once("one of ").or_else(|| error.rsplit_once("expected "))?;
    let names = expected.split([',', ';']).flat_map(|part| part.split(" or ")).map(str::trim);
    let names = names.filter(|name| !name.is_empty() && !name.contains([' ', ':']) && *name != given);
    let (distance, name) =
        names.map(|name| (damerau_levenshtein(given, name), name)).min_by_key(|(distance, _)| *distance)?;
    (3 * distance <= given.chars().count().max(3)).then(|| format!("did you mean '{name}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_expected_value_is_named_if_it_is_near() {
        let nearest = |error: &str| nearest(error).unwrap_or_default();
        assert_eq!(nearest("unknown kernel 'hpo': expected one of clover, hop, axpy"), "did you mean 'hop'?");
        assert_eq!(
            nearest("unknown kernel 'hpo': expected all, or one of hop, axpy; or a study"),
            "did you mean 'hop'?"
        );
        assert_eq!(nearest("invalid sites 'evne': expected full, even or odd"), "did you mean 'even'?");
        assert_eq!(nearest("unknown kernel 'overlap': expected one of clover, hop"), "");
        assert_eq!(nearest("invalid seed 'x': expected a whole number from 0 to 5"), "");
        assert_eq!(nearest("invalid smearing 'stout:0.1': expected stout:RHO,STEPS or ape:ALPHA,STEPS"), "");
        assert_eq!(nearest("no value"), "");
    }
}
