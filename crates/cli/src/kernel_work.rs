//! The arguments that say which launch of a kernel is looked at before anything is run: its fields, as `access` and `estimate` take them.

use clap::Args;
use lanefield::backend::opencl::{AccessWidth, StoredPrecision};
use lanefield::reference::layout::{Extents, Parity, Sites};
use lanefield::reference::links::LinkFormat;
use lanefield_lab::access::StencilKernel;
use lanefield_lab::estimate::KernelWork;

/// The fields of a kernel.
#[derive(Args)]
#[command(next_help_heading = "Kernels")]
pub struct KernelWorkArgs {
    /// Extents X.Y.Z.T
    #[arg(long, value_name = "X.Y.Z.T", default_value = "16.16.16.32")]
    lattice: Extents,
    /// The sites of the result: full, even or odd
    #[arg(long, value_name = "SITES", default_value = "even", value_parser = sites)]
    onto: Sites,
    /// Precision of fields: f32, f64 or 16-bit
    #[arg(long, value_name = "PRECISION", default_value = "f32")]
    precision: StoredPrecision,
    /// Reals stored a link
    #[arg(long, value_name = "REALS", default_value_t)]
    links: LinkFormat,
    /// Spinors or colour vectors a site [default: 1; 16 of a domain wall]
    #[arg(long, value_name = "N")]
    spinors: Option<usize>,
    /// Bytes of an access: word, 8 or 16 [default: that of the machine]
    #[arg(long, value_name = "BYTES")]
    access: Option<AccessWidth>,
}

impl KernelWorkArgs {
    /// A launch of `kernel` on them, in the lanes and with the choices that are usual.
    pub fn of(&self, kernel: StencilKernel) -> KernelWork {
        KernelWork {
            sites: self.onto,
            parts: self.spinors.unwrap_or(kernel.usual_parts()),
            access: self.access,
            ..KernelWork::new(kernel, self.lattice, self.precision, self.links)
        }
    }
}

/// Reads the sites of a field.
fn sites(text: &str) -> Result<Sites, String> {
    match text {
        "full" => Ok(Sites::Full),
        "even" => Ok(Sites::Parity(Parity::Even)),
        "odd" => Ok(Sites::Parity(Parity::Odd)),
        _ => Err(format!("'{text}' are no sites: use full, even or odd")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_all_or_those_of_one_parity() {
        assert_eq!(sites("even"), Ok(Sites::Parity(Parity::Even)));
        assert!(sites("both").unwrap_err().contains("'both'"));
    }
}
