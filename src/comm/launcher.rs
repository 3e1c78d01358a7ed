//! Detects launchers that start many processes, by their environment variables. A program whose processes do not share the work would do
//! all of it in each process, over the same files; it has to find this out before it begins.

/// The variables in which a launcher numbers its processes.
struct Launcher {
    name: &'static str,
    /// The variable with the number of a process.
    rank: &'static str,
    /// The variable with the number of processes, if the launcher has one.
    ranks: Option<&'static str>,
}

const fn launcher(name: &'static str, rank: &'static str, ranks: Option<&'static str>) -> Launcher {
    Launcher { name, rank, ranks }
}

const SLURM: &str = "Slurm";

/// Launchers of message passing libraries come before those of batch systems, because mpirun has Slurm start its own daemons.
const LAUNCHERS: [Launcher; 13] = [
    launcher("Open MPI", "OMPI_COMM_WORLD_RANK", Some("OMPI_COMM_WORLD_SIZE")),
    launcher("MVAPICH", "MV2_COMM_WORLD_RANK", Some("MV2_COMM_WORLD_SIZE")),
    launcher("MVAPICH", "MVP_COMM_WORLD_RANK", Some("MVP_COMM_WORLD_SIZE")),
    launcher("PMI (MPICH, Intel MPI, Cray)", "PMI_RANK", Some("PMI_SIZE")),
    launcher("Hydra", "MPI_LOCALRANKID", Some("MPI_LOCALNRANKS")),
    launcher("PALS", "PALS_RANKID", Some("PALS_SIZE")),
    launcher("jsrun", "JSM_NAMESPACE_RANK", Some("JSM_NAMESPACE_SIZE")),
    launcher("Flux", "FLUX_TASK_RANK", Some("FLUX_JOB_SIZE")),
    launcher(SLURM, "SLURM_PROCID", Some("SLURM_STEP_NUM_TASKS")),
    launcher("PMIx", "PMIX_RANK", None),
    launcher("HPE MPI", "MPT_LRANK", None),
    launcher("ALPS", "ALPS_APP_PE", None),
    launcher("mpirun_rsh", "MPIRUN_RANK", Some("MPIRUN_NPROCS")),
];

/// What a launcher's variables say about the processes that it started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launched {
    launcher: &'static str,
    /// The number of this process.
    pub rank: usize,
    /// The number of processes, if the launcher says it.
    pub ranks: Option<usize>,
    /// The variable with the number of processes, or else with the number of this process.
    variable: &'static str,
}

impl Launched {
    /// The variables by which launchers number processes. A launcher that this process starts must not inherit any of them.
    pub fn variables() -> impl Iterator<Item = &'static str> {
        LAUNCHERS.iter().flat_map(|launcher| std::iter::once(launcher.rank).chain(launcher.ranks))
    }

    /// Reads the environment. `None` if no launcher started this process.
    pub fn of_environment() -> Option<Self> {
        Self::of(|name| std::env::var(name).ok())
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
        LAUNCHERS.iter().find_map(|&Launcher { name: launcher, rank, ranks }| {
            let found = |number, counted, variable| Self { launcher, rank: number, ranks: counted, variable };
            let counted = ranks.and_then(|ranks| Some((ranks, number(ranks)?)));
            match (counted, number(rank)) {
                (Some((ranks, counted)), number) => Some(found(number.unwrap_or(0), Some(counted), ranks)),
                // A batch script, which is a single process, has the process number but no job step.
                (None, Some(0)) if launcher == SLURM => None,
                (None, number) => Some(found(number?, None, rank)),
            }
        })
    }

    /// Whether the launcher started several processes, as far as its variables say. A process with a number above 0 is one of several.
    pub fn are_several(&self) -> bool {
        self.ranks.unwrap_or(self.rank + 1) > 1
    }

    /// A message for processes that do not know of each other. `why` says why this one does not; `cure` says what would help.
    pub fn in_words(&self, why: &str, cure: &str) -> String {
        let Self { launcher, rank, ranks, variable } = self;
        let (started, said) = match ranks {
            Some(ranks) => (format!("{ranks} processes were started"), *ranks),
            None => (format!("several processes were started, of which this is number {rank}"), *rank),
        };
        let alone = if ranks.is_some() { "1" } else { "0" };
        format!(
            "{started} ({launcher}: {variable}={said}), and {why}: each would do all of the work, over the same files; {cure}, or, if each is to do work of its \
             own, set {variable}={alone}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(set: &[(&str, &str)]) -> Option<Launched> {
        Launched::of(|name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn every_launcher_is_recognised_by_its_variables() {
        for Launcher { name, rank, ranks } in &LAUNCHERS {
            let found = match ranks {
                Some(ranks) => {
                    assert!(of(&[(rank, "0"), (ranks, "1")]).is_some_and(|one| !one.are_several()), "{name}");
                    of(&[(rank, "3"), (ranks, "8")]).unwrap()
                }
                None => {
                    assert!(of(&[(rank, "0")]).is_some_and(|one| !one.are_several()), "{name}");
                    of(&[(rank, "3")]).unwrap()
                }
            };
            assert!(found.are_several() && found.rank == 3, "{name}: {found:?}");
            let said = found.in_words("why", "cure");
            let variable = ranks.unwrap_or(rank);
            assert!(
                said.contains(&format!("{name}: {variable}="))
                    && said.contains("and why: each")
                    && said.contains("; cure, or"),
                "{said}"
            );
        }
    }

    #[test]
    fn a_batch_script_and_a_single_task_are_one_process_and_mpirun_within_slurm_counts() {
        assert_eq!(of(&[]), None);
        let several = |set: &[(&str, &str)]| of(set).is_some_and(|found| found.are_several());
        assert!(!several(&[("SLURM_JOB_ID", "7"), ("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0")]));
        assert!(!several(&[("SLURM_NTASKS", "8"), ("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1")]));
        assert!(several(&[("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "8")]));
        assert!(several(&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1"), ("OMPI_COMM_WORLD_SIZE", "2")]));
        assert!(!several(&[("SLURM_STEP_NUM_TASKS", "4"), ("PMI_RANK", "0"), ("PMI_SIZE", "1")]));
    }
}
