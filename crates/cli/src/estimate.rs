//! `lanefield estimate`: the shortest time that a workload takes on a machine, what binds, and whether that is enough. `lanefield_lab::estimate`
//! computes it.

mod ranks;
mod report;

use crate::kernels::Known;
use crate::prelude::*;

use clap::ArgGroup;
use lanefield::backend::opencl::{AccessWidth, DeviceKind, Tuning};
use lanefield::backend::select::DeviceChoice;
use lanefield_lab::BenchCase;
use lanefield_lab::estimate::{Workload, stencil};
use lanefield_lab::machine::Machine;
use lanefield_lab::model::KernelWork;
use lanefield_lab::study::Run;

use report::{Kernels, Listed, Listing, OfKernel, OfWorkload, Report, Times};

use super::args::PlaceArgs;
use super::bench::arguments::sampling;
use super::kernel_args::KernelWorkArgs;
use super::machines::{described, machine_named, read};

/// Estimate the run time of a workload on a machine.
///
/// Before anything is built, it shows each limit and which one applies, and says GO or NO-GO for a required rate. NO-GO ends with exit code 1.
///
/// For kernels of the library, it counts all bytes from the layout: to and from memory, between the last cache and the compute units, and of the
/// first cache. It also counts instructions. With --device, it also runs the kernel there. docs/memory.md lists the memory that solves and
/// propagators need.
#[derive(Args)]
#[command(group(ArgGroup::new("what").required(true).args(["kernel", "traversal", "workload", "list"])))]
#[command(after_help = "Examples:
  lanefield estimate --list
  lanefield estimate --machine proxy --traversal --levels 24
  lanefield estimate --machine h200 --kernel hop --lattice 16.16.16.32 \\
      --want 10000
  lanefield estimate --machine mi250x --kernel eo_clover --reconstruct 12 \\
      --lattice 16.16.16.32 --json
  printf 'levels = 24\\ndivergence = 0.1\\n' > rays.toml && \\
      lanefield estimate --machine proxy --workload rays.toml
  LANEFIELD_DEVICE=NVIDIA lanefield peak --json > peak.json && \\
      lanefield estimate --machine h200 --peak peak.json --traversal
  lanefield estimate --kernel hop --lattice 8.8.8.8 --device cpu
  lanefield estimate --kernel eo_clover --lattice 32.32.32.64 \\
      --cluster h200-infiniband --ranks 1,2,4,8")]
pub struct Estimate {
    /// Machine to estimate for: a built-in name, a file that ends in .toml, or host, which is measured [default: that of --device]
    #[arg(long, value_name = "NAME|FILE|host")]
    machine: Option<String>,
    /// Use measured rates instead of the machine's: JSON of `lanefield peak`. Traversals and workloads use only the read bandwidth
    #[arg(long, value_name = "FILE")]
    peak: Option<PathBuf>,
    /// List the built-in machines
    #[arg(long)]
    list: bool,
    /// Estimate a traversal of trees with one cache line per node
    #[arg(long)]
    traversal: bool,
    /// Number of levels of the tree
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=1000))]
    levels: u32,
    /// Estimate a workload: a TOML file with any of name, levels, divergence, lines, hits, fetches, register-bytes, instructions, regroupings,
    /// occupied
    #[arg(long, value_name = "FILE")]
    workload: Option<PathBuf>,
    /// Estimate kernels of the library: all, a family or a kernel
    #[arg(long, alias = "kernels", value_name = "KERNEL")]
    kernel: Option<String>,
    /// Required rate per second: of traversals, of pieces of work of wavefronts, or of launches of kernels
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = super::args::finite)]
    want: Option<f64>,
    #[command(flatten)]
    ranks: ranks::RanksArgs,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    of_kernel: KernelArgs,
}

#[derive(Args)]
#[command(next_help_heading = "Kernels")]
struct KernelArgs {
    #[command(flatten)]
    work: KernelWorkArgs,
    /// Lane width in bytes, or lane layout: 8, 16, 32, 64, 128 or 256; a layout such as 2.1.4.1; or auto
    #[arg(long, value_name = "BYTES|X.Y.Z.T|auto", default_value_t)]
    lanes: LaneChoice,
    /// Bytes per access: word, 8 or 16 [default: that of the machine]
    #[arg(long, value_name = "BYTES")]
    access: Option<AccessWidth>,
    /// Run the kernel on this device, too: cpu, auto, a number from `lanefield devices`, or part of a device's name
    #[arg(long, value_name = "DEVICE", requires = "kernel")]
    device: Option<DeviceChoice>,
    /// Number of timed launches
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    samples: u32,
}

impl Estimate {
    pub fn run(self, list: &Known) -> anyhow::Result<Outcome> {
        if self.want.is_some_and(|want| want <= 0.0) {
            bail!("invalid rate '{}' of --want: expected a number above 0", self.want.unwrap_or_default());
        }
        if self.list {
            return self.list_machines();
        }
        if let (Some(kernel), true) = (&self.kernel, self.ranks.are_wanted()) {
            return self.ranks.estimate(&self.of_kernel.work.of(list, kernel)?, self.json);
        }
        let backend = match &self.of_kernel.device {
            Some(device) => {
                Some(PlaceArgs { device: device.clone(), threads: None }.open(Precision::F32, Tuning::OPEN)?)
            }
            None => None,
        };
        let machine = self.machine(backend.as_ref())?;
        if let (None, Some(file)) = (&self.kernel, &self.peak)
            && !machine.read_measured
        {
            bail!(
                "{} has no read_bytes_per_second, which traversals and workloads need: `lanefield peak --parts streams --json` measures it",
                file.display()
            );
        }
        match (&self.kernel, &self.workload) {
            (Some(kernel), _) => self.estimate_kernels(&machine, (list, kernel), backend),
            (None, Some(file)) => {
                let workload: Workload = described(file)?;
                let report = workload.on(&machine);
                let rate = report.wavefronts_per_second;
                let report = self.report("workload", machine, rate, OfWorkload { workload, report });
                self.tell(Kind::EstimateWorkload, &report, report::workload)
            }
            (None, None) => {
                let report = machine.traversal(self.levels);
                // The rate of a wavefront: the lower of its memory bound, and of the bound by the fetches of all its lanes.
                let lanes = f64::from(machine.lanes);
                let rate = report.memory_bound.min(report.fetch_bound / lanes);
                self.tell(Kind::EstimateTraversal, &self.report("traversal", machine, rate, report), report::traversal)
            }
        }
    }

    fn list_machines(&self) -> anyhow::Result<Outcome> {
        let listed = |(id, machine): &(&'static str, Machine)| Listed {
            id,
            f32_flops_per_second: machine.f32_flops(),
            f64_flops_per_second: machine.f64_flops(),
            machine: machine.clone(),
        };
        let listing = Listing { machines: Machine::shipped().iter().map(listed).collect() };
        show(self.json, Head::of(Kind::EstimateList), &listing, report::machines)
    }

    /// The named machine, or that of the device with its measured rates.
    fn machine(&self, backend: Option<&AnyBackend>) -> anyhow::Result<Machine> {
        let machine = match (&self.machine, backend) {
            (Some(name), _) => machine_named(name)?,
            (None, Some(backend)) => match backend.opencl().map(|device| device.context().info()) {
                None => Machine::host()?,
                Some(info) => match (info.kind, Machine::of_device(info)) {
                    (_, Some(machine)) => machine,
                    (DeviceKind::Cpu, None) => Machine::host()?,
                    (_, None) => {
                        bail!("there is no built-in machine for the device {}: name one with --machine", info.name)
                    }
                },
            },
            (None, None) => {
                bail!("--machine is missing: expected a name from --list, a file that ends in .toml, or host")
            }
        };
        match &self.peak {
            None => Ok(machine),
            Some(file) => Ok(machine.with_measured(&file.display().to_string(), &read(file)?)?),
        }
    }

    fn estimate_kernels(
        &self,
        machine: &Machine,
        (list, word): (&Known, &str),
        mut backend: Option<AnyBackend>,
    ) -> anyhow::Result<Outcome> {
        let KernelArgs { lanes, access, samples, .. } = self.of_kernel;
        let mut kernels = Vec::new();
        for work in self.of_kernel.work.of(list, word)? {
            let work = KernelWork { lanes, access, ..work };
            let estimate = stencil(machine, &work)?;
            let measured = backend.as_mut().map(|backend| measure(backend, &work, samples)).transpose()?;
            let seconds = estimate.prediction.seconds;
            let of_kernel = OfKernel {
                kernel: work.kernel,
                lattice: work.extents.as_array(),
                onto: work.sites.to_string(),
                precision: work.precision,
                reconstruct: work.links.reals(),
                spinors: work.parts,
                ratio: measured.as_ref().map(|times| seconds / times.best()),
                estimate,
                measured,
            };
            kernels.push(self.report("kernel", machine.clone(), 1.0 / seconds, of_kernel));
        }
        let missed = kernels.iter().any(|report| report.go == Some(false));
        let head = Head::on(Kind::EstimateKernel, backend.map(|backend| backend.device()));
        show(self.json, head, &Kernels { kernels }, |all| {
            all.kernels.iter().map(report::kernel).collect::<Vec<_>>().join("\n\n")
        })?;
        Ok(if missed { Outcome::CheckFailed } else { Outcome::Done })
    }

    fn report<T>(&self, subject: &'static str, machine: Machine, rate_per_second: f64, estimate: T) -> Report<T> {
        let go = self.want.map(|want| rate_per_second >= want);
        Report { machine, subject, rate_per_second, want_per_second: self.want, go, estimate }
    }

    fn tell<T: Serialize>(
        &self,
        kind: Kind,
        report: &Report<T>,
        text: impl FnOnce(&Report<T>) -> String,
    ) -> anyhow::Result<Outcome> {
        show(self.json, Head::of(kind), report, text)?;
        Ok(if report.go == Some(false) { Outcome::CheckFailed } else { Outcome::Done })
    }
}

/// Runs a kernel on a backend with the timing of `lanefield bench`.
fn measure(backend: &mut AnyBackend, work: &KernelWork, samples: u32) -> anyhow::Result<Times> {
    let KernelWork { kernel, extents, sites, precision, links, parts, lanes, access, .. } = *work;
    let case = BenchCase { kernel, extents, sites, precision, links, rhs: Some(parts), lanes };
    let record = Run::new(case, Tuning { access, ..Tuning::OPEN }).time(backend, sampling(extents, samples));
    let failed = || format!("failed to time {kernel}: {}", record.failure.unwrap_or_default());
    Ok(Times {
        device: backend.describe(),
        seconds: record.seconds.with_context(failed)?.median,
        back_to_back_seconds: record.back_to_back_seconds,
    })
}
