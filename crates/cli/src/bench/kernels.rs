//! `lanefield bench --kernel KERNEL,…`: times kernels in every requested precision, gauge compression and lane width.

use crate::kernels::Known;
use crate::prelude::*;
use lanefield_lab::study::Run;
use lanefield_lab::{BenchOptions, kernels_to_time};

use super::arguments::{TimingArgs, extents_or_usual, tuning_of};
use super::table::Report;
use crate::args::{of_storage, supported};
use crate::maps::{MapReport, TimedMap, table_of_times};
use crate::tuning::TuningArgs;

#[derive(Args)]
pub struct Kernels {
    /// Kernels to time: all, a family or a kernel [default: all]
    #[arg(long = "kernel", alias = "kernels", value_name = "KERNEL,…", value_delimiter = ',')]
    kernels: Vec<String>,
    #[arg(hide = true, value_name = "KERNEL", conflicts_with = "kernels")]
    positional: Vec<String>,
    /// Extents of the lattice [default: 16.16.16.32; 8.8.8.8 on CPUs]
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    /// Precisions of fields
    #[arg(long, value_name = "PRECISION,…", value_delimiter = ',', value_parser = of_storage(), default_value = "f32,f64,half")]
    precision: Vec<Precision>,
    /// Gauge compression: 18, 12 or 8 reals stored per link
    #[arg(
        long = "reconstruct",
        alias = "links",
        value_name = "NUMBERS,…",
        value_delimiter = ',',
        default_value = "18,12,8"
    )]
    links: Vec<LinkFormat>,
    /// Number of right-hand sides: spinors or colour vectors per site, or 16 times that number for kernels along the fifth dimension. Kernels without
    /// this number are left out [default: the usual number of the kernel]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    rhs: Option<u16>,
    /// Lane widths in bytes: 8, 16, 32, 64, 128, 256, or auto
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', default_value = "auto")]
    lanes: Vec<LaneChoice>,
    #[command(flatten)]
    timing: TimingArgs,
    #[command(flatten)]
    tuning: TuningArgs,
}

impl Kernels {
    pub fn run(mut self, list: &Known) -> anyhow::Result<Outcome> {
        self.kernels.append(&mut self.positional);
        let maps = list.maps_of(&self.kernels)?;
        if !maps.is_empty() {
            let backend = self.timing.open()?;
            let maps = TimedMap::all(&maps, &backend, self.timing.samples, false)?;
            let head = Head::on(Kind::Bench, backend.device());
            return show(self.timing.json, head, &MapReport { rows: [], maps }, |report| table_of_times(&report.maps));
        }
        self.timing.study(Kind::Bench, |backend| self.runs(list, backend), |report| report, Report::text)
    }

    fn runs(&self, list: &Known, backend: &AnyBackend) -> anyhow::Result<Vec<Run>> {
        let tuning = tuning_of(self.tuning, backend)?;
        let words: &[String] = if self.kernels.is_empty() { &["all".to_owned()] } else { &self.kernels };
        let options = BenchOptions {
            kernels: kernels_to_time(list, words.iter().map(String::as_str)).map_err(anyhow::Error::msg)?,
            extents: extents_or_usual(self.lattice, backend)?,
            precisions: supported(&self.precision, backend.opencl()),
            links: self.links.clone(),
            rhs: self.rhs.map(usize::from),
            lanes: self.lanes.clone(),
        };
        let runs = Run::all(&options, tuning);
        ensure!(
            !runs.is_empty(),
            "there is nothing to time: none of these kernels takes {}these precisions; see `lanefield verify --list`",
            options.rhs.map_or_else(String::new, |rhs| format!("{rhs} right-hand sides in "))
        );
        Ok(runs)
    }
}
