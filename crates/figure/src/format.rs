//! The formats of files.

use std::path::Path;

use thiserror::Error;

use crate::drawing::Drawing;
use crate::svg::Colours;

/// How a drawing is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Scalable Vector Graphics, with text as text.
    Svg,
    /// PDF with its font.
    Pdf,
    /// Pixels, 300 to the inch.
    Png,
}

/// The extension of a file names no format.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("cannot write {0}: expected .svg, .pdf or .png")]
pub struct UnknownFormat(String);

impl Format {
    /// By the extension of a file's name. What lies in /dev has none, and is SVG.
    pub fn of(path: &Path) -> Result<Self, UnknownFormat> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("pdf") => Ok(Self::Pdf),
            Some("png") => Ok(Self::Png),
            _ if path.starts_with("/dev") => Ok(Self::Svg),
            _ => Err(UnknownFormat(path.display().to_string())),
        }
    }
}

impl Drawing {
    /// The bytes of a file.
    pub fn bytes(&self, format: Format) -> Vec<u8> {
        match format {
            Format::Svg => self.svg(Colours::Paper).into_bytes(),
            Format::Pdf => self.pdf(),
            Format::Png => self.png(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_name_formats() {
        assert_eq!(Format::of(Path::new("a/flow.svg")), Ok(Format::Svg));
        assert_eq!(Format::of(Path::new("flow.PDF")), Ok(Format::Pdf));
        assert_eq!(Format::of(Path::new("flow.png")), Ok(Format::Png));
        assert_eq!(Format::of(Path::new("/dev/stdout")), Ok(Format::Svg));
        let error = Format::of(Path::new("plot.gif")).unwrap_err();
        assert_eq!(error.to_string(), "cannot write plot.gif: expected .svg, .pdf or .png");
        assert!(Format::of(Path::new("plot")).is_err());
    }
}
