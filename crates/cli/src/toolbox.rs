//! The tools of the program `lanefield` over other kernels: a program calls [`main`] with its own, and is `verify`, `bench`, `tune`, `doctor`,
//! `occupancy` and the others for them.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use lanefield::kernel::{Kernel, use_kernels};

use super::{access, bench, building, devices, doctor, emit, estimate, occupancy, peak, trace, tune, verify};

/// Kernels of one's own: compared, timed, tuned, explained and translated.
#[derive(Parser)]
#[command(about, propagate_version = true, max_term_width = 120)]
struct Toolbox {
    #[command(subcommand)]
    command: Tool,
    #[command(flatten)]
    trace: trace::TraceArgs,
    /// Replace files that are there already
    #[arg(long, global = true, help_heading = "Files")]
    force: bool,
}

commands! {
    Tool {
        Devices(devices::Devices),
        Verify(verify::Verify),
        Bench(Box<bench::Bench>),
        Tune(tune::Tune),
        Peak(peak::Peak),
        Occupancy(Box<occupancy::Occupancy>),
        Access(Box<access::Access>),
        Estimate(Box<estimate::Estimate>),
        Doctor(Box<doctor::Doctor>),
        Emit(emit::Emit),
        #[command(hide = true)]
        BuildPrograms(building::BuildPrograms),
    }
}

/// The whole of a program whose kernels these are: reads the command line, does what it says, and tells how that ended.
///
/// ```no_run
/// use lanefield::body::prelude::*;
///
/// /// Twice the field.
/// #[lane_kernel]
/// fn twice<S: Site>(out: Write<S, ColourVectors>, phi: Read<S, ColourVectors>) {
///     out.write(phi.here() + phi.here());
/// }
///
/// fn main() -> std::process::ExitCode {
///     lanefield_cli::toolbox::main(&[&TWICE])
/// }
/// ```
pub fn main(kernels: &[&'static Kernel]) -> ExitCode {
    run(kernels, std::env::args_os())
}

/// As [`main`], of this command line: the name of the program, and its arguments.
pub fn run(kernels: &[&'static Kernel], arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    if let Err(error) = use_kernels(kernels) {
        say!("error: {error}");
        return ExitCode::from(2);
    }
    let name = arguments.first().and_then(|name| std::path::Path::new(name).file_stem());
    let name = name.map_or_else(|| "toolbox".into(), |name| name.to_string_lossy().into_owned());
    let matches = Toolbox::command().name(name).get_matches_from(arguments);
    let Toolbox { command, trace, force } = Toolbox::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    super::run(&matches, trace, force, || command.run())
}
