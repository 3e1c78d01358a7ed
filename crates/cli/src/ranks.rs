//! Ranks: which one this process is, what it prints, and which local volume it has. Rank 0 prints and writes files. An error on any rank ends
//! all.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use lanefield::comm::{Communicator, Cut, Decomposition, Launched, RanksOptions, SingleRank, WholeLattice};

use crate::prelude::*;

/// How the lattice is divided among ranks.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Ranks (mpirun)")]
pub struct RanksArgs {
    /// Ranks in each direction [default: as many lanes as possible, then the least communication]
    #[arg(long, value_name = "X.Y.Z.T")]
    ranks: Option<Cut>,
    /// Send a checksum with each packet, and stop at the first mismatch
    #[arg(long)]
    check_packets: bool,
    /// Send packets by MPI within a host, too: by default, ranks of one host read them in place
    #[arg(long)]
    by_messages: bool,
}

impl RanksArgs {
    /// The lattice, with the local volume of this rank.
    pub fn lattice(&self, extents: Extents) -> anyhow::Result<WholeLattice> {
        let communicator = {
            let group = GROUP.read().unwrap_or_else(PoisonError::into_inner);
            group.clone().unwrap_or_else(communicator)
        };
        let ranks = communicator.ranks();
        let decomposition = match self.ranks {
            Some(cut) => Decomposition::among(extents, cut, ranks),
            None => Decomposition::of_ranks(extents, ranks),
        };
        let decomposition = decomposition.context("failed to divide the lattice among ranks")?;
        let _ = CUT.set(decomposition.cut());
        Ok(WholeLattice::new(communicator, decomposition))
    }

    pub fn options(&self) -> RanksOptions {
        RanksOptions { check_packets: self.check_packets, by_messages: self.by_messages }
    }
}

/// The communicator of the ranks; `None` before the program has started on them, and after it has ended.
static COMMUNICATOR: RwLock<Option<Arc<dyn Communicator>>> = RwLock::new(None);
/// The decomposition of the command's lattice.
static CUT: OnceLock<Cut> = OnceLock::new();

/// The ranks that work on the same lattice, if the started ranks work in groups.
static GROUP: RwLock<Option<Arc<dyn Communicator>>> = RwLock::new(None);

/// Divides the ranks into groups of the same size, each of which has the whole lattice. Returns the number of this rank's group.
pub fn work_in_groups(groups: usize) -> anyhow::Result<usize> {
    let communicator = communicator();
    let ranks = communicator.ranks();
    ensure!(
        ranks.is_multiple_of(groups),
        "{ranks} ranks cannot be divided into {groups} equal groups: start a multiple of {groups}"
    );
    let group = communicator.rank() / (ranks / groups);
    *GROUP.write().unwrap_or_else(PoisonError::into_inner) = Some(communicator.group(group)?);
    Ok(group)
}

pub fn communicator() -> Arc<dyn Communicator> {
    let known = COMMUNICATOR.read().unwrap_or_else(PoisonError::into_inner);
    known.clone().unwrap_or_else(|| Arc::new(SingleRank))
}

pub fn rank() -> usize {
    communicator().rank()
}

/// Whether this is the rank that prints and writes files.
pub fn is_first() -> bool {
    rank() == 0
}

pub fn are_several() -> bool {
    communicator().ranks() > 1
}

/// Ranks in each direction, if a lattice is divided among several.
pub fn cut() -> Option<[usize; 4]> {
    CUT.get().filter(|_| are_several()).map(|cut| cut.0)
}

/// Finds the other ranks, if a launcher started several.
pub fn start() -> anyhow::Result<()> {
    let Some(launched) = Launched::of_environment() else { return Ok(()) };
    let started = communicator_of(&launched)?;
    *COMMUNICATOR.write().unwrap_or_else(PoisonError::into_inner) = Some(started);
    if are_several() {
        // Without this, other ranks would wait for a rank that panicked.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            hook(panic);
            communicator().abort(101);
        }));
    }
    Ok(())
}

/// Ends on all ranks, which have all ended in the same way.
pub fn end() {
    for last in [&GROUP, &COMMUNICATOR] {
        last.write().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Ends all ranks because of an error. If rank 0 has the same error, only rank 0 prints it.
pub fn abort(say: impl FnOnce(), code: u8) {
    if !are_several() {
        return say();
    }
    if !is_first() {
        std::thread::sleep(FIRST_SPEAKS);
    }
    say();
    communicator().abort(code.into())
}

/// The time that other ranks leave rank 0 to print an error.
const FIRST_SPEAKS: Duration = Duration::from_millis(500);

pub fn total<const N: usize>(here: [u64; N]) -> anyhow::Result<[u64; N]> {
    let mut words = here.map(|amount| amount as i64);
    communicator().sum(&mut words)?;
    Ok(words.map(|amount| amount as u64))
}

/// Fails if there are several ranks, for commands that use one.
pub fn require_one(command: &str) -> anyhow::Result<()> {
    ensure!(
        !are_several(),
        "{command} runs on one rank, and {} were started: start it without mpirun; on several run {}",
        communicator().ranks(),
        "solve, eigen, propagator, apply, reduce, config, flow, smear, gaugefix, observe, potential, spectrum measure, verify and bench ranks"
    );
    Ok(())
}

/// The communicator of the ranks that a launcher started. Fails if there are several and each would work alone, because this program has no MPI,
/// or another MPI than the launcher.
fn communicator_of(launched: &Launched) -> anyhow::Result<Arc<dyn Communicator>> {
    // A single rank needs no MPI, which some launchers do not allow to start.
    if !launched.are_several() && launched.ranks.is_some() {
        return Ok(Arc::new(SingleRank));
    }
    let (started, [why, cure]) = started()?;
    let knows_all = match launched.ranks {
        Some(ranks) => ranks == started.ranks(),
        None => started.ranks() > launched.rank,
    };
    ensure!(knows_all, launched.in_words(&why, &cure));
    Ok(started)
}

#[cfg(feature = "mpi")]
fn started() -> anyhow::Result<(Arc<dyn Communicator>, [String; 2])> {
    let started = lanefield_mpi::Mpi::start().context("failed to start MPI")?;
    let why = format!("MPI knows of {}", started.ranks());
    let cure = "start them with the launcher of the MPI that this program was built with (mpirun, mpiexec, srun --mpi=pmix or --mpi=pmi2)";
    Ok((Arc::new(started), [why, cure.to_owned()]))
}

#[cfg(not(feature = "mpi"))]
fn started() -> anyhow::Result<(Arc<dyn Communicator>, [String; 2])> {
    let said = ["this program was built without MPI", "build it with --features mpi, or start it once"];
    Ok((Arc::new(SingleRank), said.map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lattice_is_divided_among_as_many_ranks_as_there_are() {
        let extents = Extents::new([4, 4, 4, 8]).unwrap();
        let lattice = RanksArgs::default().lattice(extents).unwrap();
        assert!(lattice.is_first() && lattice.part() == extents);
        let two = RanksArgs { ranks: Some("1.1.1.2".parse().unwrap()), ..RanksArgs::default() };
        let error = format!("{:#}", two.lattice(extents).unwrap_err());
        assert!(error.contains("1.1.1.2 needs 2 ranks, and there are 1"), "{error}");
    }
}
