//! Advice on a wrong command line: the flag or position that this command has for the same thing, and the nearest of the expected values.

use std::error::Error as _;
use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use strsim::damerau_levenshtein;

/// Flags that mean the same here, in other commands or in other programs.
const SAME: [&[&str]; 14] = [
    &["csw", "c-sw", "csw-r", "clover"],
    &["batch", "nrhs", "rhs"],
    &["source", "src"],
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
    &["mass", "m", "m0", "mq", "quark-mass", "bare-mass"],
];

/// Names of values in other programs, with our names.
const VALUES: [(&str, &str); 7] = [
    ("double", "f64"),
    ("single", "f32"),
    ("float", "f32"),
    ("tm", "twisted-mass"),
    ("domain-wall", "dwf"),
    ("naive", "staggered"),
    ("conjugate-gradients", "cg"),
];

/// The command that a command line names, or the program.
pub fn named<'a>(program: &'a Command, arguments: &[OsString]) -> &'a Command {
    let words = arguments.iter().skip(1).filter_map(|word| word.to_str());
    words.fold(program, |command, word| command.find_subcommand(word).unwrap_or(command))
}

/// Adds advice to an error of clap's.
pub fn advise(error: Error, program: &Command, arguments: &[OsString]) -> Error {
    let mut error = without_jargon(error);
    let command = named(program, arguments);
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let advice = match error.kind() {
        ErrorKind::UnknownArgument => context(ContextKind::InvalidArg).and_then(|given| of_argument(&given, command)),
        ErrorKind::ValueValidation => error.source().and_then(|cause| nearest(&cause.to_string())),
        ErrorKind::InvalidValue if error.get(ContextKind::SuggestedValue).is_none() => {
            context(ContextKind::InvalidValue).and_then(|given| {
                let spelt = given.to_lowercase().replace('_', "-");
                let meant = VALUES.iter().find(|(name, _)| *name == spelt).map_or(spelt.as_str(), |(_, meant)| meant);
                let Some(ContextValue::Strings(valid)) = error.get(ContextKind::ValidValue) else { return None };
                valid.iter().find(|valid| *valid == meant).map(|valid| format!("did you mean '{valid}'?"))
            })
        }
        _ => None,
    };
    if error.kind() == ErrorKind::UnknownArgument {
        // Clap's hint that a flag could be a value helps with no command.
        error.remove(ContextKind::Suggested);
    }
    if let Some(advice) = advice {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(advice)]));
    }
    error
}

/// Replaces the errors of Rust's number parsers by what is expected.
fn without_jargon(error: Error) -> Error {
    let text = |kind| error.get(kind).map(ToString::to_string);
    let (Some(argument), Some(value)) = (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue)) else {
        return error;
    };
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    let expected = match cause.as_str() {
        "invalid digit found in string" if value.starts_with('-') => {
            "expected a whole number that is not negative".into()
        }
        "invalid digit found in string" => "expected a whole number".into(),
        "number too large to fit in target type" => "the number is too large".into(),
        "invalid float literal" => "expected a number".into(),
        cause => match cause.split_once(" is not in ").and_then(|(_, range)| in_words(range)) {
            Some(expected) => expected,
            None => return error,
        },
    };
    let message =
        format!("invalid value '{value}' for '{argument}': {expected}\n\nFor more information, try '--help'.\n");
    Error::raw(error.kind(), message)
}

/// A range as clap writes it: 1..=256, or 1..18446744073709551615 if it has no end.
fn in_words(range: &str) -> Option<String> {
    let (first, last) = range.split_once("..")?;
    Some(match last.strip_prefix('=') {
        Some(last) if last.len() < 19 => format!("expected a whole number from {first} to {last}"),
        None if last.len() < 19 && !last.is_empty() => {
            format!("expected a whole number from {first} to {}", last.parse::<u64>().ok()? - 1)
        }
        _ => format!("expected a whole number of {first} or more"),
    })
}

/// Advice on an argument that the command does not have.
fn of_argument(given: &str, command: &Command) -> Option<String> {
    let takes = |name: &str| command.get_arguments().any(|argument| argument.get_long() == Some(name));
    let positional = command.get_positionals().next();
    let Some(flag) = given.strip_prefix("--") else {
        let names_kernel = crate::kernels::Known::LIBRARY.named(given).is_ok();
        let flags = if names_kernel { ["kernel", "kernels"] } else { ["config", "input"] };
        return flags.into_iter().find(|flag| takes(flag)).map(|flag| format!("did you mean '--{flag} {given}'?"));
    };
    let same = SAME.iter().find(|names| names.contains(&flag))?;
    match same.iter().find(|name| takes(name)) {
        Some(name) => Some(format!("'{given}' is called '--{name}' here")),
        None if matches!(same[0], "config" | "kernel" | "source") => {
            let place = positional?.get_value_names()?.first()?;
            let takes_it = matches!(
                (same[0], place.as_str()),
                ("config", "FILE" | "FILES" | "IN") | ("kernel", "KERNEL") | ("source", "KIND:NUMBERS")
            );
            takes_it.then(|| format!("<{place}> is given without '{given}' here"))
        }
        None => None,
    }
}

/// The expected value that is nearest to the value that an error quotes first. For KIND:NUMBERS, the nearest kind.
pub fn nearest(error: &str) -> Option<String> {
    let given = error.split('\'').nth(1)?;
    let kind = |text: &str| text.split(':').next().unwrap_or_default().to_lowercase();
    let (_, expected) = error.rsplit_once("one of ").or_else(|| error.rsplit_once("expected "))?;
    let names = expected.split([',', ';']).flat_map(|part| part.split(" or ")).map(str::trim);
    let names = names.filter(|name| !name.is_empty() && !name.contains(' ') && *name != given);
    // Of KIND:NUMBERS, only the kind can be misspelt.
    let names = names.filter(|name| name.contains(':') || !given.contains(':'));
    let names = names.filter_map(|name| name.split(':').next()).filter(|name| given.split(':').next() != Some(name));
    let distance = |name: &str| match kind(given).starts_with(&kind(name)) && kind(name).len() > 2 {
        true => 0,
        false => damerau_levenshtein(&kind(given), &kind(name)),
    };
    // A single letter is not considered a misspelling.
    let names = names.filter(|name| name.len() > 1);
    let (distance, name) = names.map(|name| (distance(name), name)).min_by_key(|(distance, _)| *distance)?;
    (3 * distance <= kind(given).chars().count().max(3)).then(|| format!("did you mean '{name}'?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_said_in_words() {
        for (range, words) in [
            ("1..=256", "from 1 to 256"),
            ("0..8", "from 0 to 7"),
            ("1..18446744073709551615", "of 1 or more"),
            ("1..=18446744073709551615", "of 1 or more"),
            ("2..", "of 2 or more"),
        ] {
            assert_eq!(in_words(range), Some(format!("expected a whole number {words}")));
        }
        assert_eq!(in_words("x"), None);
    }

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
        assert_eq!(nearest("invalid loops '2': expected two whole numbers from 1 on, R,T"), "");
        let sources = "expected gauss:SEED, z4:SEED, point:x,y,z,t,spin,colour, or a file";
        for (given, meant) in
            [("gaussian:1", "'gauss'"), ("piont:0,0,0,0,0,0", "'point'"), ("Z4:1", "'z4'"), ("gauss", ""), ("s:1", "")]
        {
            let said = nearest(&format!("there is no file '{given}' and no source '{given}': {sources}"));
            assert!(said.contains(meant) && said.is_empty() == meant.is_empty(), "{said}");
        }
        assert_eq!(
            nearest("invalid smearing 'stot:0.1,2': expected stout:RHO,STEPS or ape:ALPHA,STEPS"),
            "did you mean 'stout'?"
        );
    }
}
