//! The arguments that determine how a kernel is launched, to run it or to inspect its launch.

use crate::kernels::Known;
use crate::prelude::*;
use lanefield::backend::opencl::Tuning;
use lanefield::kernel::Kernel;
use lanefield_lab::BenchCase;
use lanefield_lab::model::{KernelWork, is_described};

use super::args::of_storage;
use super::bench::arguments::LayoutArgs;
use super::kernels::wanted;
use super::tuning::TuningArgs;

/// A kernel's fields and tuning.
#[derive(Args)]
#[command(next_help_heading = "Kernels")]
pub struct CaseArgs {
    /// Extents of the lattice [default: 32.32.32.32; 8.8.8.8 on CPUs]
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    /// Precision of fields
    #[arg(long, value_name = "PRECISION", default_value = "f32", value_parser = of_storage())]
    precision: Precision,
    #[command(flatten)]
    layout: LayoutArgs,
    /// Number of right-hand sides: spinors or colour vectors per site [default: the usual number of the kernel]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    rhs: Option<u16>,
    #[command(flatten)]
    tuning: TuningArgs,
}

impl CaseArgs {
    pub fn tuning(&self) -> Tuning {
        self.tuning.tuning()
    }

    /// The case that a kernel runs on, on a CPU or a GPU.
    pub fn case(&self, is_cpu: bool, kernel: &'static Kernel) -> anyhow::Result<BenchCase> {
        let usual = if is_cpu { [8; 4] } else { [32; 4] };
        let extents = self.lattice.map_or_else(|| Extents::new(usual), Ok)?;
        require_precision(kernel, self.precision)?;
        let usual = BenchCase { rhs: self.rhs.map(usize::from), ..BenchCase::usual(kernel, extents) };
        let case = self.layout.case(usual, self.precision);
        require_rhs(kernel, case.components())?;
        Ok(case)
    }
}

/// Fails if a kernel does not have a precision.
pub fn require_precision(kernel: &Kernel, precision: Precision) -> anyhow::Result<()> {
    let known: Vec<String> = kernel.precisions.iter().map(ToString::to_string).collect();
    ensure!(kernel.takes(precision), "{kernel} does not take {precision}: expected {}", known.join(" or "));
    Ok(())
}

/// Fields of a kernel whose launch is analysed before anything runs, for `access` and `estimate`.
#[derive(Args)]
#[command(next_help_heading = "Kernels")]
pub struct KernelWorkArgs {
    /// Extents of the lattice
    #[arg(long, value_name = "X.Y.Z.T", default_value = "16.16.16.32")]
    lattice: Extents,
    /// Sites of the result: full, even or odd
    #[arg(long, value_name = "SITES", default_value = "even", value_parser = sites)]
    onto: Sites,
    /// Precision of fields
    #[arg(long, value_name = "PRECISION", default_value = "f32", value_parser = of_storage())]
    precision: Precision,
    /// Gauge compression: 18, 12 or 8 reals stored per link
    #[arg(long = "reconstruct", alias = "links", value_name = "NUMBERS", default_value_t)]
    links: LinkFormat,
    /// Number of right-hand sides: spinors or colour vectors per site [default: the usual number of the kernel]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    rhs: Option<u16>,
}

impl KernelWorkArgs {
    /// The kernels that a word names, if their accesses are described, each with a launch on these fields.
    pub fn of(&self, list: &Known, word: &str) -> anyhow::Result<Vec<KernelWork>> {
        let kernels = wanted(list, &[word.to_owned()], is_described, "has no description of its accesses")?;
        let launch = |kernel: &'static Kernel| {
            let parts = self.rhs.map_or(kernel.usual_parts, usize::from);
            require_rhs(kernel, parts)?;
            let work = KernelWork::new(kernel, self.lattice, self.precision, self.links);
            Ok(KernelWork { sites: self.onto, parts, ..work })
        };
        kernels.into_iter().map(launch).collect()
    }
}

/// Fails if a kernel is not built for this number of right-hand sides.
pub fn require_rhs(kernel: &Kernel, rhs: usize) -> anyhow::Result<()> {
    let many = format!("{}_many", kernel.name);
    let other = lanefield::kernel::all().find(|other| other.name == many).map(|other| format!(": take {other}"));
    ensure!(kernel.takes_parts(rhs), "{kernel} does not take {rhs} right-hand sides{}", other.unwrap_or_default());
    Ok(())
}

/// Reads the sites of a field.
pub fn sites(text: &str) -> Result<Sites, String> {
    let sites = [Sites::Full, Sites::Parity(Parity::Even), Sites::Parity(Parity::Odd)];
    let named = sites.into_iter().find(|sites| sites.to_string() == text);
    named.ok_or_else(|| format!("invalid sites '{text}': expected full, even or odd"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_all_or_those_of_one_parity() {
        assert_eq!(sites("even"), Ok(Sites::Parity(Parity::Even)));
        assert!(sites("both").unwrap_err().contains("'both'"));
    }

    #[test]
    fn a_kernel_of_one_right_hand_side_names_the_one_of_several() {
        assert!(require_rhs(&lanefield::kernel::hop::HOP, 1).is_ok());
        let error = require_rhs(&lanefield::kernel::hop::HOP, 2).unwrap_err().to_string();
        assert_eq!(error, "hop does not take 2 right-hand sides: take hop_many");
    }
}
