//! The OpenCL C sources of `crates/lab/cl`, embedded, beside those of the library.

use lanefield::backend::opencl::{SourceError, expand_with};

macro_rules! embedded {
    ($($file:literal),* $(,)?) => {
        &[$(($file, include_str!(concat!("../cl/", $file)))),*]
    };
}

/// Every file of `crates/lab/cl`, by its name there. A new file is one line here.
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

/// The source `file`, of the laboratory or of the library, with what it includes.
///
/// # Errors
/// A file that does not exist, with the place that asks for it.
pub fn expand(file: &str) -> Result<String, SourceError> {
    expand_with(FILES, file)
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
