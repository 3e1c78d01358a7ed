//! Packets that come with other bytes than they were sent with: found by their checksums, each time; without them by the true residual, where they matter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lanefield::comm::{
    CommError, Communicator, Decomposition, OnRanks, RanksOptions, Receive, Send, ThreadRanks, WholeLattice,
};
use lanefield::gauge::GaugeField;
use lanefield::prelude::*;
use lanefield::solver::SolveError;
use lanefield_reference::random::{Stream, bits, gaussian_pair};

use super::cpu;

/// Ranks of which one gets one packet with one bit flipped.
struct Faulty {
    ranks: ThreadRanks,
    /// What number of exchange of packets of rank 1; and which bit of all that comes with it.
    fault: (u64, u64),
    exchanges: AtomicU64,
}

impl Communicator for Faulty {
    fn rank(&self) -> usize {
        self.ranks.rank()
    }
    fn ranks(&self) -> usize {
        self.ranks.ranks()
    }
    fn local(&self) -> (usize, usize) {
        self.ranks.local()
    }
    fn exchange(&self, sends: &[Send<'_>], receives: &mut [Receive<'_>]) -> Result<(), CommError> {
        self.ranks.exchange(sends, receives)?;
        let (exchange, bit) = self.fault;
        // What ranks say of their memory before they send anything is shorter.
        let are_packets = receives.iter().any(|receive| receive.bytes.len() > 64);
        if self.rank() == 1 && are_packets && self.exchanges.fetch_add(1, Ordering::Relaxed) == exchange {
            let all: u64 = receives.iter().map(|receive| 8 * receive.bytes.len() as u64).sum();
            let mut bit = (bit % all) as usize;
            for receive in receives {
                match bit.checked_sub(8 * receive.bytes.len()) {
                    Some(rest) => bit = rest,
                    None => {
                        receive.bytes[bit / 8] ^= 1 << (bit % 8);
                        break;
                    }
                }
            }
        }
        Ok(())
    }
    fn sum(&self, words: &mut [i64]) -> Result<(), CommError> {
        self.ranks.sum(words)
    }
    fn gather(&self, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        self.ranks.gather(bytes)
    }
    fn broadcast(&self, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        self.ranks.broadcast(bytes)
    }
    fn group(&self, number: usize) -> Result<Arc<dyn Communicator>, CommError> {
        self.ranks.group(number)
    }
    fn abort(&self, status: i32) -> ! {
        self.ranks.abort(status)
    }
}

const TOLERANCE: f64 = 1e-8;

/// A solve on two ranks with such a fault: what rank 1 finds, and how large |η − Mψ| / |η| is.
fn with_fault(fault: (u64, u64), check_packets: bool) -> Result<f64, SolveError> {
    let whole = Extents::new([4, 4, 4, 4]).unwrap();
    let decomposition = Decomposition::new(whole, "1.1.1.2".parse().unwrap()).unwrap();
    let outcomes = ThreadRanks::run(2, |ranks| {
        let comm = Faulty { ranks, fault, exchanges: AtomicU64::new(0) };
        let lattice = WholeLattice::new(Arc::new(comm), decomposition);
        let part = lattice.part();
        let backend = OnRanks::new(cpu(), lattice, RanksOptions { check_packets, by_messages: true });
        let eta: Vec<Complex<f64>> = (0..part.volume())
            .flat_map(|site| (0..12).map(move |word| (part.global_site(site), word)))
            .map(|(site, word)| gaussian_pair(7, Stream::SpinorSource, site, word))
            .map(|(re, im)| Complex::new(re, im))
            .collect();
        let how = Solve {
            operator: WilsonParameters { mass: 0.3, hop: HopParameters::default() },
            preconditioning: Preconditioning::EvenOdd,
            method: Method::ConjugateGradients,
            params: SolverParams { tolerance: TOLERANCE, max_iterations: 500, ..SolverParams::auto::<f64>() },
            lanes: LaneChoice::Auto,
        };
        let configuration = Configuration::weak(part, 3, 0.3);
        let solved = solve::<f64, _, _>(&backend, &configuration, &eta, &how, |_, _| ());
        solved.map(|report| report.rhs[0].solution_residual)
    });
    outcomes.into_iter().nth(1).unwrap()
}

/// Runs of the test; as many as this variable says.
fn runs() -> u64 {
    std::env::var("LANEFIELD_FAULTY_PACKETS").map_or(40, |runs| runs.parse().unwrap())
}

fn fault(run: u64) -> (u64, u64) {
    let [a, b, c, _] = bits(11, Stream::TestData, run, 0);
    // A solve has some fifty exchanges.
    (u64::from(a) % 40, u64::from(b) << 32 | u64::from(c))
}

#[test]
fn a_packet_with_another_bit_is_found_by_its_checksum_each_time() {
    assert!(with_fault((u64::MAX, 0), true).unwrap() < 10.0 * TOLERANCE);
    for run in 0..runs() {
        let error = with_fault(fault(run), true).unwrap_err().to_string();
        let named = error.contains("from rank 0 to rank 1") && error.contains("leg ") && error.contains("exchange ");
        assert!(named && error.contains("CRC-32"), "run {run}: {error}");
    }
}

#[test]
fn without_checksums_no_wrong_solution_passes_the_true_residual() {
    let (mut found, mut harmless) = (0, 0);
    for run in 0..runs() {
        match with_fault(fault(run), false) {
            // It changed no more than the tolerance allows.
            Ok(residual) => {
                assert!(residual <= 100.0 * TOLERANCE, "run {run}: |η − Mψ| / |η| is {residual:e}");
                harmless += 1;
            }
            Err(SolveError::Backend(error)) => panic!("run {run}: {error}"),
            Err(_) => found += 1,
        }
    }
    println!("{found} found, {harmless} harmless");
    assert!(found > 0 && harmless > 0, "{found} found, {harmless} harmless");
}

#[test]
fn links_that_were_not_written_since_are_sent_once() {
    let whole = Configuration::weak(Extents::new([4, 4, 4, 8]).unwrap(), 2, 0.3);
    let decomposition = Decomposition::new(whole.extents(), "1.1.1.2".parse().unwrap()).unwrap();
    let sent = ThreadRanks::run(2, |ranks| {
        let counting = Arc::new(Faulty { ranks, fault: (u64::MAX, 0), exchanges: AtomicU64::new(0) });
        let lattice = WholeLattice::new(counting.clone(), decomposition);
        let part = whole.part(lattice.part()).unwrap();
        let options = RanksOptions { check_packets: false, by_messages: true };
        let backend = OnRanks::new(cpu(), lattice, options);
        let mut field = GaugeField::new(&backend, &part, LaneChoice::Auto).unwrap();
        let measured = |field: &GaugeField<'_, _>| {
            let before = counting.exchanges.load(Ordering::Relaxed);
            field.plaquettes().unwrap();
            counting.exchanges.load(Ordering::Relaxed) - before
        };
        let (first, again) = (measured(&field), measured(&field));
        field.smear(&"stout:0.1,1".parse().unwrap()).unwrap();
        (first, again, measured(&field))
    });
    // Each direction's links once: rank 1 counts.
    assert_eq!(sent[1], (4, 0, 4));
}
