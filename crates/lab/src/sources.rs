//! The embedded OpenCL C sources of `crates/lab/cl`, in addition to those of the library.

use std::sync::Arc;

use lanefield::backend::opencl::{Context, OpenClError, Program, SourceError, expand_with};

macro_rules! embedded {
    ($($file:literal),* $(,)?) => {
        &[$(($file, include_str!(concat!("../cl/", $file)))),*]
    };
}

/// Every file of `crates/lab/cl`, by its name there. A new file needs one line here.
const FILES: &[(&str, &str)] = embedded![
    "guidelines_arithmetic.cl",
    "guidelines_launches.cl",
    "guidelines_memory.cl",
    "hints.clh",
    "offline_amd.clh",
    "peak.cl",
    "peak_caches.cl",
    "peak_intensity.cl",
];

/// The source `file`, of this crate or of the library, with the files that it includes.
pub fn expand(file: &str) -> Result<String, SourceError> {
    expand_with(FILES, file)
}

/// The program of the source `file`, built with `options`.
pub fn program(context: &Context, file: &str, options: &str) -> Result<Arc<Program>, OpenClError> {
    // SAFETY: the sources are those of this crate and of the library, each launched by one module, with the sizes for which it is written.
    unsafe { context.program(file, &expand(file)?, options) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_file_expands() {
        for (file, _) in FILES {
            expand(file).unwrap();
        }
    }
}
