//! Facts about this build of the program. `build.rs` collects them.

use serde::Serialize;

/// A build of the program. As JSON, these fields.
#[derive(Serialize)]
pub struct Build {
    /// The release.
    pub version: &'static str,
    /// The commit that was checked out, or that the package was made from; `unknown` if the build did not find one.
    pub commit: &'static str,
}

pub const BUILD: Build = Build { version: env!("CARGO_PKG_VERSION"), commit: env!("LANEFIELD_COMMIT") };

/// The text of `lanefield --version`: the release on the first line, then facts about the build. `lanefield -V` prints only the first line.
pub fn long_version() -> String {
    let facts = [
        ("commit", format!("{} of {}", BUILD.commit, env!("LANEFIELD_COMMIT_DATE"))),
        ("target", env!("LANEFIELD_TARGET").to_owned()),
        ("compiler", format!("{}, opt-level {}", env!("LANEFIELD_RUSTC"), env!("LANEFIELD_OPT_LEVEL"))),
        ("MPI", if cfg!(feature = "mpi") { "yes" } else { "no: --features mpi builds it in" }.to_owned()),
        ("target features", env!("LANEFIELD_TARGET_FEATURE").replace(',', " ")),
    ];
    let lines = facts.map(|(name, value)| format!("{name:16} {value}"));
    format!("{}\n{}", BUILD.version, lines.join("\n"))
}
