//! `lanefield access`: which lines of memory the work-items of a wavefront touch at once. `lanefield_lab::access` counts them.

mod report;

use crate::kernels::Known;
use crate::prelude::*;
use clap::ArgGroup;
use lanefield_lab::access::{EXAMPLES, Example, Index, Pattern, bank_passes, kernel_arrays, row_padding, row_pitch};
use lanefield_lab::machine::Machine;
use lanefield_lab::model::{Counts, KernelWork, WaveAccess};

use report::{ArrayTotal, Counted, LocalRow, OfKernel, OfPattern, OfRow, Report};

use super::kernel_args::KernelWorkArgs;
use super::machines::machine_named;
use super::tuning::TuningArgs;

/// Count memory transactions and bank conflicts of a kernel.
///
/// Counts the transactions, cache lines and bank conflicts of a wavefront. Its accesses are those of a kernel of the library, of an address
/// expression (--pattern), or of a named example.
///
/// A transaction is an aligned segment of 32, 64 or 128 bytes that an access of a wavefront touches. Efficiency is the number of requested bytes
/// divided by the bytes of the 32-byte sectors that are moved. A byte that several work-items request counts once.
#[derive(Args)]
#[command(group(ArgGroup::new("what").required(true).args(["kernel", "pattern", "example", "row"])))]
#[command(after_help = "Examples:
  lanefield access --kernel hop --lattice 8.8.8.16
  lanefield access --kernel hop --lattice 8.8.8.16 --mapping site-fast
  lanefield access --pattern 16*lane+1536*site+128*word --element 16 \\
      --lanes 8 --sites 8 --words 12 --fast lane --serial word --wavefront 64
  lanefield access --example all
  lanefield access --row 100 --element 4")]
pub struct Access {
    /// Kernels to analyse: all, a family or a kernel
    #[arg(long, alias = "kernels", value_name = "KERNEL")]
    kernel: Option<String>,
    /// Expression for an address in bytes: integers, the names lane, site, word, item and group, the operators + - * / %, and parentheses
    #[arg(long, value_name = "ADDRESS", allow_hyphen_values = true)]
    pattern: Option<String>,
    /// Example of a good or bad order of iteration, or all of them
    #[arg(long, value_name = "NAME|all")]
    example: Option<String>,
    /// Elements in a row of a two-dimensional array: advises on its pitch in memory and its padding in local memory
    #[arg(long, value_name = "ELEMENTS", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    row: Option<u64>,
    /// Work-items in a wavefront [default: that of --machine for kernels, 64 for examples, else 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    wavefront: Option<u64>,
    /// Bytes in a cache line [default: that of --machine for kernels, else 128]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(4..=4096))]
    line: Option<u64>,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    /// Lane width in bytes of kernels, or number of lanes of patterns: a width may be auto [default: auto; 1]
    #[arg(long, value_name = "LANES")]
    lanes: Option<String>,
    #[command(flatten)]
    by_hand: PatternArgs,
    #[command(flatten)]
    of_kernel: KernelArgs,
}

#[derive(Args)]
#[command(next_help_heading = "Patterns")]
struct PatternArgs {
    /// Size of an element in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 4)]
    element: u64,
    /// Outer sites per work-group
    #[arg(long, value_name = "N", default_value_t = 1)]
    sites: u64,
    /// Words per site
    #[arg(long, value_name = "N", default_value_t = 1)]
    words: u64,
    /// Number of work-groups
    #[arg(long, value_name = "N", default_value_t = 1)]
    groups: u64,
    /// Index that differs between neighbouring work-items: the other indices follow in the order lane, site, word
    #[arg(long, value_name = "lane|site|word", default_value = "lane")]
    fast: Index,
    /// Indices that each work-item loops over
    #[arg(long, value_name = "INDEX,…", value_delimiter = ',')]
    serial: Vec<Index>,
}

#[derive(Args)]
#[command(next_help_heading = "Kernels")]
struct KernelArgs {
    #[command(flatten)]
    work: KernelWorkArgs,
    /// Machine whose default tuning is used: a name from `lanefield estimate --list`, a file that ends in .toml, or host
    #[arg(long, value_name = "NAME|FILE|host", default_value = "h200")]
    machine: String,
    #[command(flatten)]
    tuning: TuningArgs,
}

/// Bytes of a line if no machine determines it.
const LINE: u64 = 128;

impl Access {
    pub fn run(self, list: &Known) -> anyhow::Result<Outcome> {
        let (mut line, mut wavefront) = (LINE, if self.example.is_some() { 64 } else { 32 });
        let mut machine = None;
        if self.kernel.is_some() {
            let named = machine_named(&self.of_kernel.machine)?;
            (line, wavefront) = (named.line_bytes, u64::from(named.lanes));
            machine = Some(named);
        }
        let (line, wavefront) = (self.line.unwrap_or(line), self.wavefront.unwrap_or(wavefront));
        let (kind, counted) = match (&self.kernel, &machine, self.row, &self.example) {
            (Some(word), Some(machine), ..) => {
                let works = self.of_kernel.work.of(list, word)?.into_iter();
                let counted = works.map(|work| self.of_kernel(work, (wavefront, line), machine));
                (Kind::AccessKernel, Counted::Kernels(counted.collect::<anyhow::Result<_>>()?))
            }
            (.., Some(row), _) => (Kind::AccessRow, Counted::Row(self.of_row(row, wavefront)?)),
            (.., Some(name)) => (Kind::AccessPattern, Counted::Patterns(of_examples(name, (wavefront, line))?)),
            _ => {
                let pattern = of_pattern(&self.pattern(wavefront)?, line, None)?;
                (Kind::AccessPattern, Counted::Patterns(vec![pattern]))
            }
        };
        show(self.json, Head::of(kind), &Report { wavefront, line, counted }, report::text)
    }

    fn of_kernel(
        &self,
        work: KernelWork,
        (wavefront, line): (u64, u64),
        machine: &Machine,
    ) -> anyhow::Result<OfKernel> {
        let lanes: LaneChoice = self.lanes.as_deref().unwrap_or("auto").parse()?;
        let tuning = self.of_kernel.tuning.tuning();
        let work = KernelWork { lanes, access: tuning.access, tuning, ..work };
        let launched = work.launched(machine)?;
        let arrays = kernel_arrays(&launched, wavefront as usize, line);
        let sum = |of: fn(&Counts) -> u64| arrays.iter().map(|row| of(&row.counts)).sum::<u64>() as f64;
        let wavefronts = arrays.first().map_or(1, |row| row.wavefronts).max(1) as f64;
        let moved = sum(Counts::moved_bytes);
        let items: f64 = arrays.first().map_or(1.0, |row| {
            row.counts.asked_bytes as f64 / (row.widest.max(1) * row.accesses_a_work_item.max(1)) as f64
        });
        let total = ArrayTotal {
            sectors_a_wavefront: sum(|counts| counts.transactions_32) / wavefronts,
            bytes_moved_a_work_item: moved / items.max(1.0),
            sector_efficiency: if moved > 0.0 { sum(|counts| counts.distinct_bytes) / moved } else { 1.0 },
        };
        Ok(OfKernel {
            kernel: work.kernel,
            lattice: work.extents.as_array(),
            precision: work.precision,
            reconstruct: work.links.reals(),
            spinors: work.parts,
            lane_bytes: launched.shape.lattice().width().bytes(),
            access: launched.access,
            mapping: launched.mapping.to_string(),
            group: launched.geometry.local,
            launch: launched.tuning.to_string(),
            arrays,
            total,
        })
    }

    fn of_row(&self, row: u64, wavefront: u64) -> anyhow::Result<OfRow> {
        let element = self.by_hand.element;
        if !(1..=4096).contains(&element) {
            bail!("invalid --element {element}: expected 1 to 4096 bytes");
        }
        let column =
            |stride: u64, banks| bank_passes(&WaveAccess::strided(stride * element, element, wavefront), banks);
        let local = [32, 64].map(|banks| {
            let padding = row_padding(row, element, wavefront, banks);
            LocalRow { banks, padding, column_without: column(row, banks), column_with: column(row + padding, banks) }
        });
        Ok(OfRow { row, element, pitch: row_pitch(row, wavefront), local: local.into() })
    }

    fn pattern(&self, wavefront: u64) -> anyhow::Result<Pattern> {
        let PatternArgs { element, sites, words, groups, fast, serial } = &self.by_hand;
        let lanes = match &self.lanes {
            None => 1,
            Some(text) => {
                let lanes = text.parse().ok().filter(|&lanes: &u64| lanes > 0);
                lanes.with_context(|| format!("invalid number of lanes '{text}' of a pattern: expected at least 1"))?
            }
        };
        Ok(Pattern {
            address: self.pattern.as_deref().unwrap_or_default().parse()?,
            element: *element,
            lanes,
            sites: *sites,
            words: *words,
            groups: *groups,
            fast: *fast,
            serial: serial.clone(),
            wavefront,
        })
    }
}

fn of_examples(name: &str, (wavefront, line): (u64, u64)) -> anyhow::Result<Vec<OfPattern>> {
    let examples = match (name, Example::named(name)) {
        ("all", _) => EXAMPLES.to_vec(),
        (_, Some(example)) => vec![example],
        _ => {
            let names: Vec<&str> = EXAMPLES.iter().map(|example| example.name).collect();
            bail!("unknown example '{name}': expected {} or all", names.join(", "));
        }
    };
    examples.iter().map(|example| of_pattern(&example.pattern(wavefront)?, line, Some(example))).collect()
}

fn of_pattern(pattern: &Pattern, line: u64, example: Option<&Example>) -> anyhow::Result<OfPattern> {
    let counted = pattern.report(line)?;
    Ok(OfPattern {
        name: example.map(|example| example.name),
        about: example.map(|example| example.about),
        good: example.map(|example| example.good),
        pattern: pattern.address.to_string(),
        element: pattern.element,
        fast: pattern.fast,
        serial: pattern.serial.clone(),
        counted,
    })
}
