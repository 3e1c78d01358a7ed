//! `lanefield verify` on ranks: compares solves on random decompositions with one rank. The ranks are those of mpirun, or threads.

use lanefield::backend::opencl::{OpenCl, Tuning};
use lanefield::comm::WholeLattice;
use lanefield::verify::{PartsCase, PartsOutcome};

use crate::args::PlaceArgs;
use crate::interrupt::interrupted;
use crate::numbers::bits;
use crate::output::table;
use crate::prelude::*;
use crate::progress::Steps;
use crate::ranks;

/// The random cases, and where they run.
pub struct OnDecompositions {
    pub place: PlaceArgs,
    pub cases: u32,
    /// Run only the case with this number.
    pub only: Option<u64>,
    pub seed: u64,
}

/// The comparisons. As JSON, these fields.
#[derive(Serialize, Default)]
struct Report {
    #[serde(skip)]
    device: String,
    /// Whether the ranks are threads of one process.
    threads: bool,
    /// Number of ranks; null for threads, whose number is random.
    ranks_in_all: Option<usize>,
    seed: u64,
    cases: usize,
    /// Number of squared residuals that were compared, over all iterations.
    residuals: usize,
    numbers: usize,
    operators: Vec<OfOperator>,
    /// Cases in which ranks have other bits than one rank.
    differences: Vec<Difference>,
}

#[derive(Serialize)]
struct OfOperator {
    operator: &'static str,
    solves: usize,
}

#[derive(Serialize)]
struct Difference {
    case: String,
    what: String,
}

impl OnDecompositions {
    pub fn run(&self, json: bool) -> anyhow::Result<Outcome> {
        let host = AnyBackend::from(self.place.open_cpu()?);
        let mut report = Report { threads: !ranks::are_several(), seed: self.seed, ..Report::default() };
        let backend = self.place.open(Precision::F32, Tuning::OPEN)?;
        let device = match (report.threads, backend.opencl()) {
            (true, None) => {
                report.device = format!("the CPU reference, one thread for each rank, against {}", backend.describe());
                self.all(&host, &mut report, |case| Ok(Some(case.on_threads(|_| Ok(None))?)))?;
                None
            }
            (true, Some(device)) => {
                let info = device.context().info();
                report.device = format!("{info} on odd ranks, the CPU reference on even ones, against one rank");
                let open = |rank: usize| match rank % 2 {
                    1 => OpenCl::open(info).map(Some),
                    _ => Ok(None),
                };
                self.all(&host, &mut report, |case| Ok(Some(case.on_threads(open)?)))?;
                Some(info.into())
            }
            (false, _) => Some(self.on_ranks(backend, &host, &mut report)?),
        };
        let differ = ranks::communicator().any(!report.differences.is_empty())?;
        show(json, Head::on(Kind::VerifyRanks, device), &report, Report::text)?;
        Ok(if differ { Outcome::CheckFailed } else { Outcome::Done })
    }

    /// The comparison on the started ranks.
    fn on_ranks(
        &self,
        backend: AnyBackend,
        host: &AnyBackend,
        report: &mut Report,
    ) -> anyhow::Result<lanefield_lab::Device> {
        let communicator = ranks::communicator();
        report.ranks_in_all = Some(communicator.ranks());
        report.device = format!("{}, {} ranks, against one", backend.describe(), communicator.ranks());
        let device = backend.device();
        let mut free = Some(backend);
        self.all(host, report, |case| {
            let backend = free.take().context("the backend of this rank went away")?;
            let lattice = WholeLattice::new(communicator.clone(), case.decomposition);
            let backend = backend.on_ranks(&lattice, case.options);
            let outcome = case.on_rank(&backend, &lattice);
            free = Some(backend);
            Ok(outcome?)
        })?;
        Ok(device)
    }

    /// All cases, each compared with one rank on rank 0.
    fn all(
        &self,
        host: &AnyBackend,
        report: &mut Report,
        mut run: impl FnMut(&PartsCase) -> anyhow::Result<Option<PartsOutcome>>,
    ) -> anyhow::Result<()> {
        let numbers: Vec<u64> = self.only.map_or_else(|| (0..self.cases.into()).collect(), |only| vec![only]);
        let mut steps = Steps::new("decompositions", numbers.len());
        for number in numbers {
            // The same for all ranks.
            if ranks::communicator().any(interrupted())? {
                break;
            }
            let case = PartsCase::draw(self.seed, number, report.ranks_in_all)?;
            let found = run(&case).with_context(|| case.to_string())?;
            if let Some(found) = found {
                report.take(&case, &case.alone(host)?, &found);
            }
            report.cases += 1;
            if ranks::is_first() {
                steps.done(report.cases, &format!("{} residuals compared", report.residuals));
            }
        }
        steps.end();
        Ok(())
    }
}

impl Report {
    fn take(&mut self, case: &PartsCase, expected: &PartsOutcome, found: &PartsOutcome) {
        self.residuals += expected.history.len();
        self.numbers += expected.solution.as_ref().map_or(0, Vec::len);
        let operator = case.model.name();
        match self.operators.iter_mut().find(|known| known.operator == operator) {
            Some(known) => known.solves += 1,
            None => self.operators.push(OfOperator { operator, solves: 1 }),
        }
        if found == expected {
            return;
        }
        let differing = expected.history.iter().zip(&found.history).position(|(a, b)| a != b);
        let what = match differing {
            Some(place) => {
                let [expected, found] = [expected, found].map(|of| bits(f64::from_bits(of.history[place])));
                format!("|r|² number {place} is {found} on ranks, and {expected} on one")
            }
            None if expected.history.len() != found.history.len() => {
                format!("ranks have {} residuals, one has {}", found.history.len(), expected.history.len())
            }
            None => "the solutions differ, or why there is none".to_owned(),
        };
        self.differences.push(Difference { case: case.to_string(), what });
    }

    fn text(&self) -> String {
        let mut rows = table(["operator", "solves"], [1]);
        for OfOperator { operator, solves } in &self.operators {
            rows.add_row([(*operator).to_owned(), solves.to_string()]);
        }
        let mut text = format!("{}\n{rows}", self.device);
        for Difference { case, what } in &self.differences {
            text += &format!("\n{case}: {what}");
        }
        let verdict = if self.differences.is_empty() { "same bits" } else { "DIFFERENT" };
        let Self { cases, residuals, numbers, .. } = self;
        text + &format!(
            "\n\n{verdict}: {cases} random decompositions, {residuals} residuals, {numbers} numbers of solutions"
        )
    }
}
