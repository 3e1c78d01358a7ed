//! Ranks: which one this process is, what it says, and which part of a lattice it has. Rank 0 prints, and writes files; an error on any rank ends all of them.

use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args;
use lanefield::comm::{Alone, Communicator, Cut, Decomposition, RanksOptions, WholeLattice};
use lanefield::reference::layout::Extents;

/// How the lattice is divided among ranks, where there are several.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Ranks (mpirun)")]
pub struct RanksArgs {
    /// Ranks in each direction [default: as many lanes as possible, and the least that is sent]
    #[arg(long, value_name = "X.Y.Z.T")]
    ranks: Option<Cut>,
    /// Send a checksum with each packet, and end at the first that came with other bytes
    #[arg(long)]
    check_packets: bool,
    /// Send packets to ranks of the same host too, which otherwise read them where they lie
    #[arg(long)]
    by_messages: bool,
}

impl RanksArgs {
    /// The lattice, and the part of this rank.
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

    /// How they work together.
    pub fn options(&self) -> RanksOptions {
        RanksOptions { check_packets: self.check_packets, by_messages: self.by_messages }
    }
}

/// What ranks talk by; none before the program is started on them, and after it has ended.
static COMMUNICATOR: RwLock<Option<Arc<dyn Communicator>>> = RwLock::new(None);
/// The decomposition of the lattice that the command is about.
static CUT: OnceLock<Cut> = OnceLock::new();

/// The ranks that work on the same lattice, where those that were started work in groups.
static GROUP: RwLock<Option<Arc<dyn Communicator>>> = RwLock::new(None);

/// Divides the ranks into so many groups of as many ranks, each of which has the whole lattice. Gives the number of the group of this rank.
pub fn work_in_groups(groups: usize) -> anyhow::Result<usize> {
    let communicator = communicator();
    let ranks = communicator.ranks();
    ensure!(
        ranks.is_multiple_of(groups),
        "{groups} groups need as many ranks each, and {ranks} were started: start a multiple of {groups}"
    );
    let group = communicator.rank() / (ranks / groups);
    *GROUP.write().unwrap_or_else(PoisonError::into_inner) = Some(communicator.group(group)?);
    Ok(group)
}

/// What ranks talk by.
pub fn communicator() -> Arc<dyn Communicator> {
    let known = COMMUNICATOR.read().unwrap_or_else(PoisonError::into_inner);
    known.clone().unwrap_or_else(|| Arc::new(Alone))
}

/// The number of this rank.
pub fn rank() -> usize {
    communicator().rank()
}

/// Whether this is the rank that prints, and that writes files.
pub fn is_first() -> bool {
    rank() == 0
}

/// Whether there are several.
pub fn are_several() -> bool {
    communicator().ranks() > 1
}

/// Ranks in each direction, where there are several and a lattice is divided among them.
pub fn cut() -> Option<[usize; 4]> {
    CUT.get().filter(|_| are_several()).map(|cut| cut.0)
}

/// Finds the other ranks, where a launcher has started several.
pub fn start() -> anyhow::Result<()> {
    let Some(launched) = Launched::of_environment() else { return Ok(()) };
    let started = launched.start()?;
    *COMMUNICATOR.write().unwrap_or_else(PoisonError::into_inner) = Some(started);
    if are_several() {
        // Others would wait for a rank that panicked.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            hook(panic);
            communicator().abort(101);
        }));
    }
    Ok(())
}

/// Ends on all ranks, which have all ended the same way.
pub fn end() {
    for last in [&GROUP, &COMMUNICATOR] {
        last.write().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// An error here ends all ranks. Where rank 0 has the same one, it says it for all.
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

/// How long other ranks leave rank 0 to say what went wrong.
const FIRST_SPEAKS: Duration = Duration::from_millis(500);

/// Amounts of all ranks together.
pub fn total<const N: usize>(here: [u64; N]) -> anyhow::Result<[u64; N]> {
    let mut words = here.map(|amount| amount as i64);
    communicator().sum(&mut words)?;
    Ok(words.map(|amount| amount as u64))
}

/// Refuses several ranks, for commands that use one.
pub fn require_one(command: &str) -> anyhow::Result<()> {
    ensure!(
        !are_several(),
        "{command} runs on one rank, and {} were started: start it without mpirun; on several run {}",
        communicator().ranks(),
        "solve, eigen, propagator, apply, reduce, config, flow, smear, gaugefix, observe, potential, spectrum measure, verify and bench ranks"
    );
    Ok(())
}

/// What a launcher says of the processes that it started.
struct Launched {
    rank: usize,
    /// Where it says so.
    ranks: Option<usize>,
}

impl Launched {
    /// Open MPI, MPICH and its kin, PMIx (Slurm), MVAPICH, PALS.
    const VARIABLES: [(&str, &str); 5] = [
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("PMIX_RANK", "SLURM_STEP_NUM_TASKS"),
        ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
        ("PALS_RANKID", "PALS_SIZE"),
    ];

    fn of_environment() -> Option<Self> {
        let number = |name: &str| std::env::var(name).ok()?.trim().parse().ok();
        Self::VARIABLES.iter().find_map(|(rank, ranks)| Some(Self { rank: number(rank)?, ranks: number(ranks) }))
    }

    #[cfg(feature = "mpi")]
    fn start(&self) -> anyhow::Result<Arc<dyn Communicator>> {
        let started = lanefield_mpi::Mpi::start().context("failed to start MPI")?;
        let is_of_this_launcher = self.ranks.is_none_or(|ranks| ranks == started.ranks());
        if !is_of_this_launcher && self.rank > 0 {
            // Rank 0 says it for all.
            std::process::exit(2);
        }
        ensure!(
            is_of_this_launcher,
            "{} processes were started, and MPI says that there are {}: this program was built with another MPI than the one of the launcher",
            self.ranks.unwrap_or_default(),
            started.ranks()
        );
        Ok(Arc::new(started))
    }

    #[cfg(not(feature = "mpi"))]
    fn start(&self) -> anyhow::Result<Arc<dyn Communicator>> {
        let ranks = self.ranks.unwrap_or(1);
        if ranks > 1 && self.rank > 0 {
            // Rank 0 says it for all.
            std::process::exit(2);
        }
        ensure!(
            ranks == 1,
            "{ranks} processes were started, and this program was built without MPI: build it with --features mpi, or start it once"
        );
        Ok(Arc::new(Alone))
    }
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
        assert!(error.contains("1.1.1.2 are 2 ranks, and there are 1"), "{error}");
    }
}
