//! Many devices: what a stencil kernel takes on the part of a rank, with what is sent meanwhile, and an iteration of conjugate gradients.
//!
//! A launch packs what other parts read, has it fetched, sent and put back while the sites are computed that need nothing of it, unpacks, and computes the
//! others. So it takes
//!
//! ```text
//! pack + max(interior, exchange + to host + between ranks + to device) + unpack + border
//! ```
//!
//! An iteration on the normal equations, even-odd, launches the kernel four times, reads and writes ten fields beside, and takes two sums.

use lanefield::comm::Decomposition;
use lanefield_reference::field::Spinors;
use lanefield_reference::layout::Extents;
use lanefield_reference::real::Precision;
use serde::Serialize;

use super::EstimateError;
use super::stencil::{KernelWork, stencil};
use crate::machine::{Cluster, Machine};

/// Sites of the lattice that times a site are taken from, at most: tables of it are made.
const MOST_SITES: usize = 1 << 20;
/// Launches of the kernel in an iteration.
const LAUNCHES: f64 = 4.0;
/// Fields of one parity that vector operations of an iteration read and write.
const FIELDS: f64 = 10.0;
/// Launches of vector operations in an iteration.
const VECTOR_LAUNCHES: f64 = 5.0;
/// Sums in an iteration.
const SUMS: f64 = 2.0;

/// What a kernel and an iteration take on so many ranks.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RanksEstimate {
    /// How many.
    pub ranks: usize,
    /// In each direction.
    pub cut: [usize; 4],
    /// The largest part.
    pub part: [usize; 4],
    /// Bytes that a rank sends in a launch, one parity.
    pub sent_bytes: f64,
    /// The kernel alone on such a part.
    pub alone_seconds: f64,
    /// All that has to do with other parts: it overlaps with the sites that need nothing of them.
    pub exchange_seconds: f64,
    /// A launch.
    pub launch_seconds: f64,
    /// An iteration.
    pub iteration_seconds: f64,
    /// The larger of computing and sending.
    pub binds: Binding,
    /// Sites of one parity that all ranks compute in a second.
    pub sites_per_second: f64,
}

/// What a launch waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    /// The device.
    Device,
    /// The link between device and host.
    HostLink,
    /// Packets between ranks.
    Network,
}

/// Estimates a kernel and an iteration on so many ranks of a cluster, on the whole lattice of `work`.
///
/// # Errors
/// [`EstimateError`], and numbers of ranks that the lattice has no room for.
pub fn on_ranks(cluster: &Cluster, work: &KernelWork, ranks: usize) -> Result<RanksEstimate, EstimateError> {
    let machine = Machine::named(&cluster.device)?;
    let decomposition = Decomposition::of_ranks(work.extents, ranks)?;
    let part = decomposition.part(0);
    let sites = part.volume() as f64 / 2.0;
    let launch = machine.launch_microseconds * 1e-6;
    let a_site = seconds_a_site(&machine, work, part)?;
    let alone = launch + sites * a_site;

    let site_bytes = packet_bytes(work) as f64;
    let faces: Vec<(usize, f64)> =
        part.cut_dimensions().map(|d| (d, 2.0 * sites / part[d] as f64 * site_bytes)).collect();
    let sent: f64 = faces.iter().map(|(_, bytes)| bytes).sum();
    let border: f64 = 1.0 - part.cut_dimensions().map(|d| 1.0 - (2.0 / part[d] as f64).min(1.0)).product::<f64>();

    let copy = machine.copy_gb_per_second * 1e9;
    let packing = if sent > 0.0 { 2.0 * launch + 4.0 * sent / copy } else { 0.0 };
    let host_link = sent / (cluster.to_host_gb_per_second * 1e9) + sent / (cluster.to_device_gb_per_second * 1e9);
    let between = between_ranks(cluster, &decomposition, &faces);
    let exchange = if sent > 0.0 { cluster.exchange_microseconds * 1e-6 + host_link + between } else { 0.0 };
    let interior = (1.0 - border) * sites * a_site;
    let border_seconds = if sent > 0.0 { launch + border * sites * a_site } else { 0.0 };
    let launch_seconds = launch + packing + interior.max(exchange) + border_seconds;

    let field = sites * (work.parts * work.precision.device_bytes(Spinors::WORDS)) as f64;
    let stages = (ranks as f64).log2().ceil();
    let sum = cluster.sum_microseconds + cluster.stage_microseconds * stages;
    let vectors = VECTOR_LAUNCHES * launch + FIELDS * field / copy;
    let iteration_seconds = LAUNCHES * launch_seconds + vectors + SUMS * sum * 1e-6;
    let binds = match () {
        () if exchange <= interior => Binding::Device,
        () if host_link >= between => Binding::HostLink,
        () => Binding::Network,
    };
    Ok(RanksEstimate {
        ranks,
        cut: decomposition.cut().0,
        part: part.as_array(),
        sent_bytes: sent,
        alone_seconds: alone,
        exchange_seconds: exchange,
        launch_seconds,
        iteration_seconds,
        binds,
        sites_per_second: work.extents.volume() as f64 / 2.0 / launch_seconds,
    })
}

/// The time of a site of one parity, on a lattice like the part that is not too large for tables.
fn seconds_a_site(machine: &Machine, work: &KernelWork, part: Extents) -> Result<f64, EstimateError> {
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

/// Bytes of a packet for each site of a face: half spinors, whole ones in half precision.
fn packet_bytes(work: &KernelWork) -> usize {
    let words = if work.precision == Precision::Half { Spinors::WORDS } else { Spinors::WORDS / 2 };
    work.parts * work.precision.device_bytes(words)
}

/// All packets of a rank: those to other hosts and those within one go side by side.
fn between_ranks(cluster: &Cluster, decomposition: &Decomposition, faces: &[(usize, f64)]) -> f64 {
    // Ranks of a host follow each other, x fastest: neighbours that are fewer ranks away than a host has are in it, as a rule.
    let cut = decomposition.cut().0;
    let away = |d: usize| cut[..d].iter().product::<usize>();
    let within = |d: usize| away(d) * cut[d] <= cluster.devices_per_node as usize;
    let (mut node, mut network) = (0.0, 0.0);
    let (mut any_in_node, mut any_beyond) = (false, false);
    for &(d, bytes) in faces {
        let side = if within(d) { (&mut node, &mut any_in_node) } else { (&mut network, &mut any_beyond) };
        *side.0 += bytes;
        *side.1 = true;
    }
    let seconds = |any: bool, bytes: f64, gb: f64, latency: f64| {
        if any { latency * 1e-6 + bytes / (gb * 1e9) } else { 0.0 }
    };
    let node = seconds(any_in_node, node, cluster.node_gb_per_second, cluster.node_microseconds);
    node.max(seconds(any_beyond, network, cluster.network_gb_per_second, cluster.network_microseconds))
}

#[cfg(test)]
mod tests {
    use lanefield::kernel::clover::EO_CLOVER;
    use lanefield_reference::links::LinkFormat;

    use super::*;

    fn estimates(ranks: &[usize]) -> Vec<RanksEstimate> {
        let (_, cluster) = &Cluster::shipped()[0];
        let extents = Extents::new([32, 32, 32, 64]).unwrap();
        let work = KernelWork::new(&EO_CLOVER, extents, Precision::F32, LinkFormat::TwoRows);
        ranks.iter().map(|&ranks| on_ranks(cluster, &work, ranks).unwrap()).collect()
    }

    #[test]
    fn one_rank_sends_nothing_and_takes_what_the_kernel_takes() {
        let [one] = &estimates(&[1])[..] else { panic!() };
        assert_eq!((one.sent_bytes, one.exchange_seconds), (0.0, 0.0));
        assert_eq!(one.launch_seconds, one.alone_seconds);
    }

    #[test]
    fn two_ranks_send_two_slices_of_half_spinors() {
        let [two] = &estimates(&[2])[..] else { panic!() };
        assert_eq!((two.cut, two.part), ([1, 1, 1, 2], [32, 32, 32, 32]));
        assert_eq!(two.sent_bytes, 2.0 * 32f64.powi(3) / 2.0 * 48.0);
    }

    #[test]
    fn more_ranks_take_less_time_until_packets_bind() {
        let all = estimates(&[1, 2, 4, 8, 256]);
        assert!(all.windows(2).all(|pair| pair[1].launch_seconds < 1.5 * pair[0].launch_seconds));
        assert_eq!(all[0].binds, Binding::Device);
        assert_ne!(all[4].binds, Binding::Device);
    }
}
