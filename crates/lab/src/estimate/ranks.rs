//! Many devices: the time of a stencil kernel on the local volume of a rank, with its exchange of halos, and of an iteration of conjugate
//! gradients.
//!
//! A launch packs the sites that neighbours read. While these packets are fetched, sent and put back, it computes the sites that need no halo. Then
//! it unpacks, and computes the others. Packets go in two batches: one is fetched while the other is put back. Ranks of one host read each other's
//! packets in place. The time is the longer of
//!
//! ```text
//! pack + all sites + two launches more
//! pack + exchange, 3/4 (to the host + to the device), between hosts, unpack + the other sites
//! ```
//!
//! An iteration on the normal equations, even-odd, launches the kernel four times (for a clover operator, each of its two kernels twice), reads and
//! writes ten further fields, and computes two sums.

use lanefield::comm::Decomposition;
use lanefield::kernel::clover::{EO_CLOVER, OE_CLOVER};
use lanefield::prelude::*;
use serde::Serialize;

use super::stencil::stencil;
use crate::machine::{Cluster, Machine};
use crate::model::{KernelWork, ModelError};

/// The largest lattice from which the time per site is computed, because tables of it are created.
const MOST_SITES: usize = 1 << 20;
/// Launches of each of the two kernels per iteration.
const LAUNCHES: f64 = 2.0;
/// Fields of one parity that the vector operations of an iteration read and write.
const FIELDS: f64 = 10.0;
/// Launches of vector operations per iteration.
const VECTOR_LAUNCHES: f64 = 5.0;
const SUMS: f64 = 2.0;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RanksEstimate {
    pub ranks: usize,
    pub cut: [usize; 4],
    pub part: [usize; 4],
    #[serde(flatten)]
    pub launch: RanksLaunch,
    pub iteration_seconds: f64,
    /// Sites of one parity per second, for all ranks together.
    pub sites_per_second: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RanksLaunch {
    /// Bytes that a rank sends, for one parity.
    pub sent_bytes: f64,
    /// The kernel alone on such a local volume.
    pub alone_seconds: f64,
    /// The exchange of packets, during which sites that need no halo are computed.
    pub exchange_seconds: f64,
    pub launch_seconds: f64,
    pub binds: RanksLimit,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RanksLimit {
    Device,
    HostLink,
    Network,
}

/// Estimates a kernel and an iteration on `ranks` ranks of a cluster, on the whole lattice of `work`.
pub fn on_ranks(cluster: &Cluster, work: &KernelWork, ranks: usize) -> Result<RanksEstimate, ModelError> {
    let machine = Machine::named(&cluster.device)?;
    let decomposition = Decomposition::of_ranks(work.extents, ranks)?;
    let launch_of = |work: &KernelWork| launch_on_ranks(cluster, &machine, work, &decomposition);
    let of_kernel = launch_of(work)?;
    let partner = match work.kernel.name {
        name if name == EO_CLOVER.name => launch_of(&KernelWork { kernel: &OE_CLOVER, ..*work })?.launch_seconds,
        _ => of_kernel.launch_seconds,
    };
    let part = decomposition.part(0);
    let sites = part.volume() as f64 / 2.0;
    let (launch, copy) = (machine.launch_microseconds * 1e-6, machine.copy_gb_per_second * 1e9);

    let field = sites * (work.parts * work.precision.device_bytes(Spinors::WORDS)) as f64;
    let stages = (ranks as f64).log2().ceil();
    let sum = cluster.sum_microseconds + cluster.stage_microseconds * stages;
    let vectors = VECTOR_LAUNCHES * launch + FIELDS * field / copy;
    let iteration_seconds = LAUNCHES * (of_kernel.launch_seconds + partner) + vectors + SUMS * sum * 1e-6;
    Ok(RanksEstimate {
        ranks,
        cut: decomposition.cut().0,
        part: part.as_array(),
        iteration_seconds,
        sites_per_second: work.extents.volume() as f64 / 2.0 / of_kernel.launch_seconds,
        launch: of_kernel,
    })
}

fn launch_on_ranks(
    cluster: &Cluster,
    machine: &Machine,
    work: &KernelWork,
    decomposition: &Decomposition,
) -> Result<RanksLaunch, ModelError> {
    let part = decomposition.part(0);
    let sites = part.volume() as f64 / 2.0;
    let launch = machine.launch_microseconds * 1e-6;
    let a_site = seconds_a_site(machine, work, part)?;
    let alone_seconds = launch + sites * a_site;

    let site_bytes = packet_bytes(work) as f64;
    let faces: Vec<(usize, f64)> =
        part.cut_dimensions().map(|d| (d, 2.0 * sites / part[d] as f64 * site_bytes)).collect();
    let sent_bytes: f64 = faces.iter().fold(0.0, |sum, (_, bytes)| sum + bytes);
    if sent_bytes == 0.0 {
        let (exchange_seconds, launch_seconds, binds) = (0.0, alone_seconds, RanksLimit::Device);
        return Ok(RanksLaunch { sent_bytes, alone_seconds, exchange_seconds, launch_seconds, binds });
    }
    let border: f64 = 1.0 - part.cut_dimensions().map(|d| 1.0 - (2.0 / part[d] as f64).min(1.0)).product::<f64>();

    let packing = launch + 4.0 * sent_bytes / (machine.copy_gb_per_second * 1e9);
    let there_and_back = 1.0 / cluster.to_host_gb_per_second + 1.0 / cluster.to_device_gb_per_second;
    let host_link = 0.75 * sent_bytes * there_and_back / 1e9;
    let network = beyond_the_host(cluster, decomposition, &faces);
    let exchange_seconds = cluster.exchange_microseconds * 1e-6 + host_link + network;
    let device = packing + alone_seconds + 2.0 * launch;
    let packets = packing + launch + exchange_seconds + launch + border * sites * a_site;
    let binds = match () {
        () if packets <= device => RanksLimit::Device,
        () if host_link >= network => RanksLimit::HostLink,
        () => RanksLimit::Network,
    };
    Ok(RanksLaunch { sent_bytes, alone_seconds, exchange_seconds, launch_seconds: device.max(packets), binds })
}

/// The time per site of one parity, on a lattice like the local volume that is small enough for tables.
fn seconds_a_site(machine: &Machine, work: &KernelWork, part: Extents) -> Result<f64, ModelError> {
    let mut extents = part.as_array();
    while extents.iter().product::<usize>() > MOST_SITES {
        let longest = (0..extents.len()).max_by_key(|&d| extents[d]).unwrap_or(0);
        extents[longest] = (extents[longest] / 4).max(1) * 2;
    }
    let extents = Extents::new(extents)?;
    let estimate = stencil(machine, &KernelWork { extents, ..*work })?;
    let computing = estimate.prediction.seconds - estimate.prediction.launch_seconds;
    Ok(computing / (extents.volume() as f64 / 2.0))
}

/// Bytes of a packet per site of a face: half spinors; whole ones in half precision.
fn packet_bytes(work: &KernelWork) -> usize {
    let words = if work.precision == Precision::Half { Spinors::WORDS } else { Spinors::WORDS / 2 };
    work.parts * work.precision.device_bytes(words)
}

/// Seconds for packets to other hosts.
fn beyond_the_host(cluster: &Cluster, decomposition: &Decomposition, faces: &[(usize, f64)]) -> f64 {
    // Ranks are assigned to hosts in order, x fastest: neighbours whose ranks differ by less than the number per host are usually on the same host.
    let cut = decomposition.cut().0;
    let away = |d: usize| cut[..d].iter().product::<usize>();
    let is_beyond = |d: usize| away(d) * cut[d] > cluster.devices_per_node as usize;
    let bytes: f64 = faces.iter().filter(|(d, _)| is_beyond(*d)).map(|(_, bytes)| bytes).sum();
    let latency = if bytes > 0.0 { cluster.network_microseconds * 1e-6 } else { 0.0 };
    latency + bytes / (cluster.network_gb_per_second * 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimates(ranks: &[usize]) -> Vec<RanksEstimate> {
        let (_, cluster) = &Cluster::shipped()[0];
        let extents = Extents::new([32, 32, 32, 64]).unwrap();
        let work = KernelWork::new(&EO_CLOVER, extents, Precision::F32, LinkFormat::TwoRows);
        ranks.iter().map(|&ranks| on_ranks(cluster, &work, ranks).unwrap()).collect()
    }

    #[test]
    fn ranks_send_slices_of_half_spinors_and_take_less_time_until_packets_bind() {
        let all = estimates(&[1, 2, 4, 8, 256]);
        let (one, two) = (&all[0].launch, &all[1].launch);
        assert_eq!((one.sent_bytes, one.exchange_seconds), (0.0, 0.0));
        assert_eq!(one.launch_seconds, one.alone_seconds, "one takes what the kernel takes");
        assert_eq!((all[1].cut, all[1].part), ([1, 1, 1, 2], [32, 32, 32, 32]));
        assert_eq!(two.sent_bytes, 2.0 * 32f64.powi(3) / 2.0 * 48.0);
        assert!(all.windows(2).all(|pair| pair[1].launch.launch_seconds < 1.5 * pair[0].launch.launch_seconds));
        assert_eq!(one.binds, RanksLimit::Device);
        assert_ne!(all[4].launch.binds, RanksLimit::Device);
    }
}
