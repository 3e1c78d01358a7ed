//! What all commands share while they run: signals, ranks, threads, traces, errors and exit codes.

use std::process::ExitCode;

use anyhow::Context as _;
use lanefield::io::claims;
use lanefield::reference::instructions::Instructions;

use super::interrupt;
use super::outcome::Outcome;
use super::terminal::told_of_interruption;
use super::{advice, files, limits, numbers, ranks, trace};

/// The options of every command.
#[derive(clap::Args)]
#[command(next_help_heading = super::help::GENERAL)]
pub struct GeneralArgs {
    #[command(flatten)]
    trace: trace::TraceArgs,
    /// Print doubles with all their digits, and their bits in hex
    #[arg(long, global = true)]
    bits: bool,
    /// Replace existing files
    #[arg(long, global = true)]
    force: bool,
}

/// Runs a command with everything that commands share.
pub fn run(
    matches: &clap::ArgMatches,
    general: GeneralArgs,
    command: impl FnOnce() -> anyhow::Result<Outcome>,
) -> ExitCode {
    let GeneralArgs { trace, bits, force } = general;
    files::replace(force);
    numbers::show_bits(bits);
    // Before any thread is started.
    if let Err(error) = interrupt::heed().and_then(|()| ranks::start()) {
        say!("error: {}", one_line(&error));
        return ExitCode::from(2);
    }
    limits::start_threads(limits::threads_of(matches));
    let ended = trace.around(|| use_instructions().and_then(|()| command()));
    if interrupt::interrupted() && matches!(ended, Ok(Outcome::Done)) && !told_of_interruption() {
        say!("interrupted: a signal came; the results until then are printed, and written to the requested files");
    }
    let displaced = claims::displaced();
    for [wanted, written] in &displaced {
        say!(
            "error: {} appeared during the run and stays as it is: the result is in {}",
            wanted.display(),
            written.display()
        );
    }
    let code = match &ended {
        // The work up to the signal is kept and shown.
        Ok(Outcome::Done) | Err(_) if interrupt::interrupted() => interrupt::EXIT_CODE,
        Ok(Outcome::Done) if displaced.is_empty() => 0,
        Ok(Outcome::Done) => 2,
        Ok(Outcome::CheckFailed) => 1,
        Err(_) => 2,
    };
    match ended {
        Ok(_) => ranks::end(),
        Err(error) => ranks::abort(|| say!("error: {}", one_line(&error)), code),
    }
    ExitCode::from(code)
}

/// Selects the instructions of CPU kernels that the environment names, if it names any.
fn use_instructions() -> anyhow::Result<()> {
    let wanted = Instructions::of_environment().and_then(|wanted| wanted.map_or(Ok(()), Instructions::choose));
    wanted.with_context(|| format!("{} cannot be used", Instructions::VARIABLE))
}

/// The failed attempt, then each cause that the message does not contain yet, because messages of the library quote their causes. At the end,
/// the limit of the system behind the error.
fn one_line(error: &anyhow::Error) -> String {
    let causes = error.chain().map(ToString::to_string);
    let nearest = error.chain().last().and_then(|cause| advice::nearest(&cause.to_string()));
    causes.chain(limits::hint(error)).chain(nearest).fold(String::new(), |line, cause| match line.as_str() {
        "" => cause,
        said if said.contains(&cause) => line,
        _ => format!("{line}: {cause}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_was_quoted_is_not_repeated() {
        let cause = std::io::Error::other("disk on fire");
        let error = anyhow::Error::new(cause).context("cannot write x: disk on fire");
        assert_eq!(one_line(&error), "cannot write x: disk on fire");
        let error = Err::<(), _>(std::io::Error::other("disk on fire")).context("failed to write x").unwrap_err();
        assert_eq!(one_line(&error), "failed to write x: disk on fire");
    }
}
