//! What is known of this build of the program; `build.rs` finds it.

use serde::Serialize;

/// A build of the program. As JSON, these fields.
#[derive(Serialize)]
pub struct Build {
    /// The release.
    pub version: &'static str,
    /// The commit that was checked out, or that the package was made from; `unknown` where the build found none.
    pub commit: &'static str,
}

/// This one.
pub const BUILD: Build = Build { version: env!("CARGO_PKG_VERSION"), commit: env!("LANEFIELD_COMMIT") };
