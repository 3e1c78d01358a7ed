//! `lanefield bench ranks`: what several ranks gain, and what their communication costs. It times kernels and iterations on local volumes and on
//! one rank, and the links between ranks.

use crate::kernels::Known;
use crate::prelude::*;
use lanefield::backend::ghosts::{Halo, PacketRoom as _};
use lanefield::comm::WholeLattice;
use lanefield::dynamic::ArrayShape;
use lanefield::kernel::Case;
use lanefield::operator::{SchurComplement, System};
use lanefield::reference::exact::ExactSum;
use lanefield::solver::conjugate_gradient;
use lanefield_lab::plausible;
use lanefield_lab::{BenchCase, Spread, TimedCase};

use super::arguments::{LayoutArgs, StudiedKernels, TimingArgs, sampled};
use crate::args::{of_storage, supported};
use crate::numbers::{bytes, number};
use crate::output::{facts, fitted, joined, table, table_of};
use crate::ranks::{self, RanksArgs};
use crate::source::field::gaussian;

/// Time kernels, a solver and communication on several ranks.
///
/// Start it with mpirun or a similar launcher. It times kernels and iterations of a solver on all ranks and on one rank, and measures the connections
/// between ranks.
///
/// "SingleRank" is one rank on a lattice of the extents of its local volume, which needs no communication. Its time divided by that on ranks is the
/// weak scaling. "Whole" is rank 0 on the whole lattice. Its time divided by that on ranks is the strong scaling, at best the number of ranks.
///
/// Times are wall times per launch of several in a row, of the slowest rank, until the device is done. A number that cannot be measured is left out,
/// with the reason. --stats shows the time that packing and unpacking take.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield bench ranks --lattice 4.4.4.8 --samples 3 --iterations 10
  lanefield bench ranks --lattice 4.4.4.8 --kernel hop --precision f32 \\
      --iterations 0 --samples 3 --json")]
pub struct Ranks {
    /// Extents of the whole lattice [default: in t as many lattices as ranks, of 32.32.32.64, or 8.8.8.16 on CPUs]
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    #[command(flatten)]
    kernels: StudiedKernels,
    /// Precisions of fields
    #[arg(long, value_name = "PRECISION,…", value_delimiter = ',', value_parser = of_storage(), default_value = "f32,f64")]
    precision: Vec<Precision>,
    /// Iterations of the solver: conjugate gradients with the even-odd clover operator; 0 for none
    #[arg(long, value_name = "N", default_value_t = 100)]
    iterations: usize,
    /// Skip the whole lattice on rank 0
    #[arg(long)]
    no_whole: bool,
    #[command(flatten)]
    layout: LayoutArgs,
    #[command(flatten)]
    ranks: RanksArgs,
    #[command(flatten)]
    timing: TimingArgs,
}

const IN_A_ROW: usize = 16;

#[derive(Serialize)]
struct Study {
    #[serde(skip)]
    device: String,
    ranks_in_all: usize,
    lattice: [usize; 4],
    part: [usize; 4],
    samples: u32,
    rows: Vec<Row>,
    sums: Vec<SumRow>,
    /// Packets sent to neighbours in one call, without a kernel.
    links: Vec<LinkRow>,
}

/// A kernel, or an iteration of a solver.
#[derive(Serialize)]
struct Row {
    name: String,
    precision: Precision,
    /// Bytes that rank 0 sends in a launch; null for an iteration.
    sent_bytes: Option<usize>,
    /// One rank on a lattice with the extents of its local volume.
    #[serde(rename = "alone_seconds")]
    alone: Spread,
    #[serde(rename = "on_ranks_seconds")]
    on_ranks: Spread,
    /// Rank 0 on the whole lattice; null if it was left out.
    #[serde(rename = "whole_seconds")]
    whole: Option<Spread>,
    weak_scaling: Option<f64>,
    strong_scaling: Option<f64>,
    /// Why a scaling is null although it was measured.
    implausible: Vec<String>,
}

#[derive(Serialize)]
struct SumRow {
    sums: usize,
    seconds: Spread,
}

#[derive(Serialize)]
struct LinkRow {
    bytes: usize,
    /// From the device into pinned memory; null for the CPU reference.
    #[serde(rename = "to_host_seconds")]
    to_host: Option<Spread>,
    #[serde(rename = "between_ranks_seconds")]
    between_ranks: Spread,
    /// Whether neighbours read packets in place. Then nothing is sent, and the time is that of the notification.
    in_place: bool,
    /// From pinned memory to the device.
    #[serde(rename = "to_device_seconds")]
    to_device: Option<Spread>,
}

impl Ranks {
    pub fn run(self, list: &Known) -> anyhow::Result<Outcome> {
        // One backend for the local volume, and one for lattices without borders, which have another layout.
        let (backend, alone) = (self.timing.open()?, self.timing.open()?);
        anyhow::ensure!(
            backend.opencl().is_some() == alone.opencl().is_some(),
            "the device went away while it was opened a second time"
        );
        let extents = match self.lattice {
            Some(extents) => extents,
            None => {
                let [x, y, z, t] = if backend.is_cpu() { [8, 8, 8, 16] } else { [32, 32, 32, 64] };
                Extents::new([x, y, z, t * ranks::communicator().ranks()])?
            }
        };
        let lattice = self.ranks.lattice(extents)?;
        let backend = backend.on_ranks(&lattice, self.ranks.options());
        let on = On { ranks: &backend, alone: &alone, lattice: &lattice };
        let kernels = self.kernels.named(list)?;
        let mut rows = Vec::new();
        let mut packets = Vec::new();
        let precisions = supported(&self.precision, backend.opencl());
        for kernel in kernels {
            for &precision in precisions.iter().filter(|&&precision| kernel.takes(precision)) {
                let case = |extents| self.layout.case(BenchCase::usual(kernel, extents), precision);
                let (row, sent) = self.kernel(&on, case).with_context(|| format!("failed to time {kernel}"))?;
                rows.push(row);
                if !sent.is_empty() && !packets.contains(&sent) {
                    packets.push(sent);
                }
            }
        }
        if self.iterations > 0 {
            for &precision in &self.precision {
                let row = match precision {
                    Precision::F32 => self.iteration::<f32>(&on)?,
                    Precision::F64 => self.iteration::<f64>(&on)?,
                    _ => continue,
                };
                rows.push(row);
            }
        }
        let sums = [1, 3].map(|sums| -> anyhow::Result<SumRow> {
            let accumulators = vec![ExactSum::new(); sums];
            let seconds = sampled(&lattice, self.timing.samples, || Ok(lattice.merge(&accumulators).map(drop)?))?;
            Ok(SumRow { sums, seconds })
        });
        let study = Study {
            device: on.ranks.describe(),
            ranks_in_all: ranks::communicator().ranks(),
            lattice: lattice.extents().as_array(),
            part: lattice.part().as_array(),
            samples: self.timing.samples,
            rows,
            sums: sums.into_iter().collect::<anyhow::Result<_>>()?,
            links: packets.iter().map(|sent| self.links(&on, sent)).collect::<anyhow::Result<_>>()?,
        };
        show(self.timing.json, Head::on(Kind::BenchRanks, on.ranks.device()), &study, Study::text)
    }

    /// Times a kernel, and returns the packets of each leg that it needs.
    fn kernel(&self, on: &On<'_>, case: impl Fn(Extents) -> BenchCase) -> anyhow::Result<(Row, Vec<(Leg, usize)>)> {
        let here = case(on.lattice.part());
        let shape = Case::shape_of(here.kernel, &here.options(here.lattice(on.ranks)?));
        let mut sent = Vec::new();
        for halo in Halo::of(&shape) {
            sent.extend(halo.packets()?);
        }
        let times = self.everywhere(on, |lattice, backend, extents| self.in_a_row(lattice, backend, &case(extents)))?;
        let bytes = sent.iter().map(|(_, bytes)| bytes).sum();
        Ok((Row::new(here.kernel.name.to_owned(), here.precision, Some(bytes), times), sent))
    }

    fn iteration<R: Vectors>(&self, on: &On<'_>) -> anyhow::Result<Row> {
        let times = self.everywhere(on, |lattice, backend, extents| self.iterate::<R>(lattice, backend, extents))?;
        Ok(Row::new("clover CG iteration".to_owned(), R::PRECISION, None, times))
    }

    /// The times of one rank on a lattice with the extents of its local volume, of all ranks, and of rank 0 on the whole lattice unless that is
    /// left out.
    fn everywhere(
        &self,
        on: &On<'_>,
        time: impl Fn(&WholeLattice, &AnyBackend, Extents) -> anyhow::Result<Spread>,
    ) -> anyhow::Result<(Spread, Spread, Option<Spread>)> {
        let (part, all) = (on.lattice.part(), on.lattice.extents());
        let on_ranks = time(on.lattice, on.ranks, part)?;
        // A separate lattice with the extents of the local volume.
        let alone = time(on.lattice, on.alone, Extents::new(part.as_array())?)?;
        let whole = match self.no_whole || !on.lattice.is_first() {
            true => None,
            false => Some(time(&WholeLattice::alone(all), on.alone, all)?),
        };
        on.lattice.communicator().barrier()?;
        let medians = [Some(alone), Some(on_ranks), whole].into_iter().flatten().map(|spread| spread.median);
        let empty_launch = on.alone.memory().empty_launch(medians.clone().reduce(f64::min))?;
        for seconds in medians {
            plausible::time(seconds, empty_launch)?;
        }
        Ok((alone, on_ranks, whole))
    }

    /// Seconds of each of several launches in a row, on the slowest rank.
    fn in_a_row(&self, lattice: &WholeLattice, backend: &AnyBackend, case: &BenchCase) -> anyhow::Result<Spread> {
        let mut timed: TimedCase<AnyBackend> = case.prepare(backend)?;
        let in_a_row = sampled(lattice, self.timing.samples, || {
            (0..IN_A_ROW).try_for_each(|_| timed.launch(backend))?;
            Ok(backend.finish()?)
        })?;
        Ok(each(in_a_row, IN_A_ROW))
    }

    /// Seconds of an iteration on the slowest rank: that of solves with a fixed number of iterations, from the start until the device has
    /// finished. Backends that queue iterations do so.
    fn iterate<R: Vectors>(
        &self,
        ranks: &WholeLattice,
        backend: &AnyBackend,
        extents: Extents,
    ) -> anyhow::Result<Spread> {
        let (boundary, links) = (BoundaryPhases::ANTIPERIODIC_IN_TIME, self.layout.links);
        let hop = HopParameters { boundary, links, ..HopParameters::default() };
        let operator = CloverParameters { mass: 0.1, csw_r: 1.0, csw_t: 1.0, hop };
        let options = LatticeOptions { lanes: self.layout.lanes, ..LatticeOptions::default() };
        let lattice = Lattice::new(extents, R::COMPLEX, options)?;
        let pieces = operator.even_odd::<AnyBackend, R>(backend, &Configuration::weak(extents, 1, 0.2), lattice)?;
        let mut normal = System::new(SchurComplement::new(pieces)?, true)?;
        let eta = gaussian(7, ArrayShape::Spinor, extents)?;
        let eta: Vec<_> = eta.iter().map(|z| Complex::new(R::from_f64(z.re), R::from_f64(z.im))).collect();
        let source = Field::from_site_order(lattice, Sites::Parity(Parity::Odd), Spinors::ONE, &eta)?;
        let source = backend.upload(source)?;
        // No iteration reaches this tolerance.
        let params = SolverParams { tolerance: 1e-99, max_iterations: self.iterations, ..SolverParams::auto::<R>() };
        let mut iterations = self.iterations;
        let solves = sampled(ranks, self.timing.samples, || {
            let mut psi = normal.zeros()?;
            let solved = conjugate_gradient(&mut normal, &source, &mut psi, params, |_, _| ());
            backend.finish()?;
            iterations = match &solved {
                Ok(info) => info.iterations,
                Err(error) => error.info().map_or(0, |info| info.iterations),
            };
            match solved {
                Err(error) if iterations == 0 => Err(error.into()),
                _ => Ok(()),
            }
        });
        Ok(each(solves.context("failed to solve")?, iterations))
    }

    /// Sends packets of that size to all neighbours, step by step.
    fn links(&self, on: &On<'_>, sent: &[(Leg, usize)]) -> anyhow::Result<LinkRow> {
        let samples = self.timing.samples;
        let mut room = on.ranks.room(sent)?.context("there is one rank, which sends nothing")?;
        let in_place = room.is_in_place();
        let between_ranks = sampled(on.lattice, samples, || {
            let packets = 0..sent.len();
            room.outgoing(&packets);
            Ok(room.exchange(packets)?)
        })?;
        let bytes: usize = sent.iter().map(|(_, bytes)| bytes).sum();
        let Some(device) = on.alone.opencl() else {
            return Ok(LinkRow { bytes, to_host: None, between_ranks, in_place, to_device: None });
        };
        let context = device.context();
        let buffer = context.allocate(bytes, "packets")?;
        let mut pinned = context.allocate_host(bytes, "packets")?;
        let write = || Ok(context.write(&buffer, 0, &pinned.as_slice()[..bytes])?);
        let to_device = sampled(on.lattice, samples, write)?;
        let read = || Ok(context.read(&buffer, 0, &mut pinned.as_mut_slice()[..bytes])?);
        let to_host = sampled(on.lattice, samples, read)?;
        Ok(LinkRow { bytes, to_host: Some(to_host), between_ranks, in_place, to_device: Some(to_device) })
    }
}

struct On<'a> {
    ranks: &'a AnyBackend,
    alone: &'a AnyBackend,
    lattice: &'a WholeLattice,
}

impl Row {
    fn new(
        name: String,
        precision: Precision,
        sent_bytes: Option<usize>,
        (alone, on_ranks, whole): (Spread, Spread, Option<Spread>),
    ) -> Self {
        let mut implausible = Vec::new();
        let mut ratio = |of: Spread, ranks| {
            let found = plausible::speedup(of, on_ranks, ranks);
            found.map_err(|reason| implausible.push(reason.to_string())).ok()
        };
        let weak_scaling = ratio(alone, 1);
        let strong_scaling = whole.and_then(|whole| ratio(whole, ranks::communicator().ranks()));
        Self { name, precision, sent_bytes, alone, on_ranks, whole, weak_scaling, strong_scaling, implausible }
    }

    fn cells(&self) -> [(&'static str, String); 8] {
        let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "–".to_owned());
        [
            ("", self.name.clone()),
            ("precision", self.precision.to_string()),
            ("sent", or_dash(self.sent_bytes.map(|sent| bytes(sent as u64)))),
            ("alone, µs", microseconds(Some(self.alone))),
            ("on ranks, µs", microseconds(Some(self.on_ranks))),
            ("whole, µs", microseconds(self.whole)),
            ("weak", or_dash(self.weak_scaling.map(|share| format!("{:.1}%", 100.0 * share)))),
            ("strong", or_dash(self.strong_scaling.map(|times| format!("{times:.2}×")))),
        ]
    }
}

/// Seconds of one of `number` operations that were timed together.
fn each(Spread { median, tenth, ninetieth }: Spread, number: usize) -> Spread {
    let each = |seconds: f64| seconds / number as f64;
    Spread { median: each(median), tenth: each(tenth), ninetieth: each(ninetieth) }
}

/// `123.4 (120.0–130.1)`, in microseconds.
fn microseconds(spread: Option<Spread>) -> String {
    spread.map_or_else(
        || "–".to_owned(),
        |Spread { median, tenth, ninetieth }| {
            format!("{:.1} ({:.1}–{:.1})", 1e6 * median, 1e6 * tenth, 1e6 * ninetieth)
        },
    )
}

impl Study {
    fn text(&self) -> String {
        let heading = facts([
            ("device", self.device.clone()),
            ("lattice", format!("{}, the part of rank 0 {}", joined(&self.lattice, "."), joined(&self.part, "."))),
        ]);
        let rows = table_of(self.rows.iter().map(Row::cells), 2..);
        let mut text = format!("{heading}\n{}", fitted(rows, &["sent", "whole, µs", "precision"]));
        for Row { name, precision, implausible, .. } in &self.rows {
            implausible.iter().for_each(|reason| text += &format!("\n{name} in {precision}: {reason}"));
        }
        for SumRow { sums, seconds } in &self.sums {
            text += &format!("\n{sums} exact sums merged in {} µs", microseconds(Some(*seconds)));
        }
        if !self.links.is_empty() {
            let rate = |spread: Option<Spread>, sent: usize| {
                let at = |spread: Spread| format!(" at {} GB/s", number(Some(sent as f64 / spread.median / 1e9), 1));
                microseconds(spread) + &spread.map(at).unwrap_or_default()
            };
            let mut links = table(["packets", "to host, µs", "between ranks, µs", "to device, µs"], 0..);
            for LinkRow { bytes: sent, to_host, between_ranks, in_place, to_device } in &self.links {
                let between = match in_place {
                    true => format!("{}, read in place", microseconds(Some(*between_ranks))),
                    false => rate(Some(*between_ranks), *sent),
                };
                links.add_row([bytes(*sent as u64), rate(*to_host, *sent), between, rate(*to_device, *sent)]);
            }
            text += &format!("\n\nwhat a launch sends, step by step\n{links}");
        }
        text
    }
}
