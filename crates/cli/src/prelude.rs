//! Names that most commands use: their arguments, errors and results, functions that print, and the library's prelude.

pub use std::path::{Path, PathBuf};

pub use anyhow::{Context as _, bail, ensure};
pub use clap::Args;
pub use lanefield::dynamic::AnyBackend;
pub use lanefield::prelude::*;
pub use lanefield_lab::Timed;
pub use serde::Serialize;

pub use crate::outcome::Outcome;
pub use crate::output::{Head, Kind, show};
