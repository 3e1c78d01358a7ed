//! Many devices: the time of a kernel and of an iteration on the ranks of a cluster.

use lanefield_lab::estimate::{RanksEstimate, RanksLimit, on_ranks};
use lanefield_lab::machine::Cluster;
use lanefield_lab::model::KernelWork;

use crate::machines::described;
use crate::numbers::bytes;
use crate::output::{facts, fitted, joined, table_of};
use crate::prelude::*;

/// A cluster, and the number of its devices.
#[derive(Args)]
#[command(next_help_heading = "Ranks")]
pub struct RanksArgs {
    /// Numbers of ranks of a cluster for which to estimate the kernel. The estimate includes communication. It also covers an iteration of conjugate
    /// gradients that launches the kernel four times (even-odd, on the normal equations)
    #[arg(long, value_name = "N,…", value_delimiter = ',', requires_all = ["kernel", "cluster"], value_parser = ranks)]
    ranks: Vec<usize>,
    /// Cluster of the ranks: h200-infiniband or mi250x-slingshot, which are built in, or a file that ends in .toml
    #[arg(long, value_name = "NAME|FILE", requires = "ranks")]
    cluster: Option<String>,
}

fn ranks(text: &str) -> Result<usize, String> {
    const MOST: usize = 1 << 20;
    let ranks = text.trim().parse().ok().filter(|ranks| (1..=MOST).contains(ranks));
    ranks.ok_or_else(|| format!("invalid number of ranks '{text}': expected a whole number from 1 to {MOST}"))
}

#[derive(Serialize)]
struct Report {
    cluster: Cluster,
    kernel: &'static str,
    lattice: [usize; 4],
    precision: String,
    reconstruct: usize,
    estimates: Vec<RanksEstimate>,
}

impl RanksArgs {
    pub fn are_wanted(&self) -> bool {
        !self.ranks.is_empty()
    }

    pub fn estimate(&self, works: &[KernelWork], json: bool) -> anyhow::Result<Outcome> {
        let name = self.cluster.as_deref().unwrap_or_default();
        let cluster = if name.ends_with(".toml") { described(Path::new(name))? } else { Cluster::named(name)? };
        let [work] = works else {
            let names = works.iter().map(|work| work.kernel.name).collect::<Vec<_>>().join(", ");
            anyhow::bail!("--ranks is for one kernel, and --kernel names several: {names}");
        };
        ensure!(
            work.kernel.reads_links(),
            "--ranks is for kernels that read neighbours, and {} reads none",
            work.kernel
        );
        let estimates = self.ranks.iter().map(|&ranks| on_ranks(&cluster, work, ranks));
        let report = Report {
            estimates: estimates.collect::<Result<_, _>>()?,
            cluster,
            kernel: work.kernel.name,
            lattice: work.extents.as_array(),
            precision: work.precision.to_string(),
            reconstruct: work.links.reals(),
        };
        show(json, Head::of(Kind::EstimateRanks), &report, Report::text)
    }
}

impl Report {
    fn text(&self) -> String {
        let about = format!("{}: {}", self.cluster.name, self.cluster.about);
        let fields = format!("{}, {}, reconstruct {}", joined(&self.lattice, "."), self.precision, self.reconstruct);
        let heading = facts([("cluster", about), ("kernel", self.kernel.to_owned()), ("lattice", fields)]);
        let first = self.estimates.first();
        let cells = |of: &RanksEstimate| {
            let micro = |seconds: f64| format!("{:.1}", 1e6 * seconds);
            let times = first.map_or(1.0, |first| first.iteration_seconds / of.iteration_seconds);
            let binds = match of.launch.binds {
                RanksLimit::Device => "device",
                RanksLimit::HostLink => "link to the host",
                RanksLimit::Network => "packets between hosts",
            };
            [
                ("ranks", of.ranks.to_string()),
                ("cut", joined(&of.cut, ".")),
                ("part", joined(&of.part, ".")),
                ("sent", bytes(of.launch.sent_bytes as u64)),
                ("alone, µs", micro(of.launch.alone_seconds)),
                ("exchange, µs", micro(of.launch.exchange_seconds)),
                ("launch, µs", micro(of.launch.launch_seconds)),
                ("iteration, µs", micro(of.iteration_seconds)),
                ("speed-up", format!("{times:.1}")),
                ("binds", binds.to_owned()),
            ]
        };
        let rows = table_of(self.estimates.iter().map(cells), 3..9);
        let rows = fitted(rows, &["cut", "sent", "alone, µs", "exchange, µs", "part"]);
        format!("{heading}\n{rows}")
    }
}
