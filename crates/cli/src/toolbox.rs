//! The tools of the program `lanefield` over other kernels: a program calls [`main`] with its own, and is `verify`, `bench`, `tune`, `doctor`,
//! `occupancy` and the others for them.

use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use lanefield::kernel::{Kernel, use_kernels};

use super::{access, bench, building, devices, doctor, emit, estimate, occupancy, peak, run, trace, tune, verify};

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
    if let Err(error) = use_kernels(kernels) {
        say!("error: {error}");
        return ExitCode::from(2);
    }
    let name = std::env::args().next().unwrap_or_default();
    let name = std::path::Path::new(&name)
        .file_stem()
        .map_or_else(|| "toolbox".into(), |name| name.to_string_lossy().into_owned());
    let matches = Toolbox::command().name(name).get_matches();
    let Toolbox { command, trace, force } = Toolbox::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    run(&matches, trace, force, || command.run())
}
