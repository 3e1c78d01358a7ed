//! `lanefield bench orders`: times the hop with several leg orders.

use lanefield::kernel::hop::HOP;
use lanefield_lab::BenchCase;
use lanefield_lab::orders::studied;
use lanefield_lab::study::Run;

use super::arguments::{LayoutArgs, TimingArgs, extents_or_usual, tuning_of};
use crate::prelude::*;
use lanefield_lab::fastest;

use super::table::{Report, or_others};
use crate::args::of_storage;
use crate::tuning::TuningArgs;

/// A note for users of a faster order.
const PART_OF_THE_OPERATOR: &str = "The order of the legs is part of the operator: another order changes bits of every result. Choose one by --legs, once and for all.";

/// Time the hop with its legs in several orders.
///
/// Times the hop onto even sites, and shows which order is the fastest on this device. The order of the legs is part of the operator: another order
/// changes bits of every result. No command changes it by itself.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield bench orders --lattice 4.4.4.8 --samples 5")]
pub struct Orders {
    /// Extents of the lattice [default: 16.16.16.32; 8.8.8.8 on CPUs]
    #[arg(long, value_name = "X.Y.Z.T")]
    lattice: Option<Extents>,
    /// Additional leg order to time; can be repeated
    #[arg(long, value_name = "ORDER", allow_hyphen_values = true)]
    legs: Vec<LegOrder>,
    /// Precision of fields
    #[arg(long, value_name = "PRECISION", default_value = "f32", value_parser = of_storage())]
    precision: Precision,
    #[command(flatten)]
    layout: LayoutArgs,
    #[command(flatten)]
    timing: TimingArgs,
    #[command(flatten)]
    tuning: TuningArgs,
}

#[derive(Serialize)]
struct Study {
    #[serde(flatten)]
    report: Report,
    fastest: Option<String>,
    /// Orders whose times, from the 10th to the 90th percentile, overlap with those of the fastest. These samples do not distinguish them.
    as_fast: Vec<String>,
    note: &'static str,
}

impl Orders {
    pub fn run(self) -> anyhow::Result<Outcome> {
        self.timing.study(Kind::BenchOrders, |backend| self.runs(backend), Study::new, Study::text)
    }

    fn runs(&self, backend: &AnyBackend) -> anyhow::Result<Vec<Run>> {
        let extents = extents_or_usual(self.lattice, backend)?;
        let case = self.layout.case(BenchCase::usual(&HOP, extents), self.precision);
        let orders = studied(tuning_of(self.tuning, backend)?, &self.legs)?;
        Ok(orders.into_iter().map(|way| Run { case, way }).collect())
    }
}

impl Study {
    fn new(report: Report) -> Self {
        let timed = report.rows.iter().filter_map(|row| Some((row.fields.legs.clone()?, row.seconds?)));
        let (fastest, as_fast) = fastest(timed).map(|(legs, _, others)| (legs, others)).unzip();
        Self { fastest, as_fast: as_fast.unwrap_or_default(), report, note: PART_OF_THE_OPERATOR }
    }

    fn text(&self) -> String {
        let table = self.report.text();
        let verdict = match &self.fastest {
            None => "none could be timed".to_owned(),
            Some(fastest) => format!("fastest here: {fastest}{}", or_others(&self.as_fast)),
        };
        format!("{table}\n\n{verdict}\n{}", self.note)
    }
}
