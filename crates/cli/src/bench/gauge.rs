//! `lanefield bench gauge`: times operations on whole gauge fields (heat bath, flow, smearing), and compares them with a copy of the links.

use lanefield::comm::WholeLattice;
use lanefield::gauge::{
    Action, Flow, GaugeField, Hmc, HmcParameters, Integrator, Quenched, QuenchedImproved, QuenchedParameters, Smearing,
    StepChoice,
};
use lanefield::reference::gauge::SITE_WORDS;
use lanefield_lab::Spread;
use lanefield_lab::bandwidth::Operation;

use super::arguments::sampled;
use crate::args::OnLatticeArgs;
use crate::output::{facts, fitted, joined, table};
use crate::prelude::*;
use crate::progress::progress_bar;
use crate::ranks;

/// Time gauge updates, gradient flow, smearing and observables.
///
/// Times sweeps of the heat bath, steps of the gradient flow, smearing, and observables. A copy of the links is timed in the same run.
///
/// Times are wall times until the work is done; with several ranks, those of the slowest rank. "Copies" is the number of times that all links could
/// be read and written in the same time, at the copy bandwidth of all ranks together. It is the cost of the work on any machine that is limited by
/// memory bandwidth.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield bench gauge --lattice 4.4.4.8 --samples 3
  lanefield bench gauge --lattice 4.4.4.8 --samples 3 --only flow --json")]
pub struct Gauge {
    /// Extents of the lattice, multiples of 4
    #[arg(long, value_name = "X.Y.Z.T", default_value = "16.16.16.32")]
    lattice: Extents,
    /// Measure only what has TEXT in its name
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Number of timed runs of each measurement
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    samples: u32,
    #[command(flatten)]
    on: OnLatticeArgs,
}

#[derive(Serialize)]
struct Study {
    #[serde(skip)]
    device: String,
    ranks_in_all: usize,
    lattice: [usize; 4],
    samples: u32,
    /// Copy bandwidth of rank 0, in bytes a second.
    copy_bytes_per_second: f64,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    precision: Precision,
    seconds: Spread,
    /// The time divided by that of a copy of the links.
    copies: f64,
}

struct Bench<'b> {
    backend: &'b AnyBackend,
    configuration: &'b Configuration,
    lattice: &'b WholeLattice,
    copy: f64,
    rows: Vec<Row>,
    /// Names that `--only` excludes.
    others: Vec<&'static str>,
}

const FLOW_STEP: f64 = 0.01;

impl Gauge {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let lattice = self.on.ranks.lattice(self.lattice)?;
        let configuration = Configuration::weak(lattice.part(), 1, 0.3);
        let backend = self.on.open(&lattice, Precision::F64)?;
        let study = backend.install(|| self.measure(&backend, &configuration, &lattice))?;
        show(self.on.json, Head::on(Kind::BenchGauge, backend.device()), &study, Study::text)
    }

    fn measure(
        &self,
        backend: &AnyBackend,
        configuration: &Configuration,
        lattice: &WholeLattice,
    ) -> anyhow::Result<Study> {
        let copy = backend.memory().ceiling(Operation::Copy, None)?;
        let mut bench = Bench { backend, configuration, lattice, copy, rows: Vec::new(), others: Vec::new() };
        self.heat_baths(&mut bench)?;
        self.fields(&mut bench)?;
        if let (Some(only), []) = (&self.only, &bench.rows[..]) {
            bench.others.dedup();
            bail!("--only '{only}' is part of no name: expected one of {}, or part of one", bench.others.join("; "));
        }
        Ok(Study {
            device: backend.describe(),
            ranks_in_all: ranks::communicator().ranks(),
            lattice: lattice.extents().as_array(),
            samples: self.samples,
            copy_bytes_per_second: copy,
            rows: bench.rows,
        })
    }

    fn heat_baths(&self, bench: &mut Bench<'_>) -> anyhow::Result<()> {
        let (b, links, lanes) = (bench.backend, bench.configuration, self.on.backend.lanes);
        let parameters = |overrelaxations| QuenchedParameters { beta: 6.0, overrelaxations, seed: 1 };
        for (name, overrelaxations) in [("heat bath", 0), ("heat bath, 4 overrelaxations", 4)] {
            let single = || Ok(Quenched::<_, f32>::new(b, links, parameters(overrelaxations), 0, lanes)?);
            self.row(bench, name, Precision::F32, single, |field| Ok(field.sweep()?))?;
            let double = || Ok(Quenched::<_, f64>::new(b, links, parameters(overrelaxations), 0, lanes)?);
            self.row(bench, name, Precision::F64, double, |field| Ok(field.sweep()?))?;
        }
        let improved = || Ok(QuenchedImproved::new(b, links, (Action::Symanzik, parameters(0)), 0, lanes)?);
        self.row(bench, "heat bath, symanzik", Precision::F64, improved, |field| Ok(field.sweep()?))
    }

    fn fields(&self, bench: &mut Bench<'_>) -> anyhow::Result<()> {
        let (b, links, lanes) = (bench.backend, bench.configuration, self.on.backend.lanes);
        let double = Precision::F64;
        let field = || Ok(GaugeField::new(b, links, lanes)?);
        for (name, action) in [("flow step", Action::Wilson), ("flow step, symanzik", Action::Symanzik)] {
            let flow = || Ok(Flow::new(GaugeField::new(b, links, lanes)?, action, StepChoice::Fixed(FLOW_STEP))?);
            self.row(bench, name, double, flow, |flow| {
                let next = flow.time() + FLOW_STEP;
                Ok(flow.advance(next).map(drop)?)
            })?;
        }
        for (name, kind) in
            [("stout step", "stout:0.1,1"), ("ape step", "ape:0.5,1"), ("hyp step", "hyp:0.75,0.6,0.3,1")]
        {
            let smearing: Smearing = kind.parse().map_err(anyhow::Error::msg)?;
            self.row(bench, name, double, field, |field| Ok(field.smear(&smearing)?))?;
        }
        self.row(bench, "plaquettes", double, field, |field| Ok(field.plaquettes().map(drop)?))?;
        self.row(bench, "clover", double, field, |field| Ok(field.clover().map(drop)?))?;
        let parameters = HmcParameters {
            action: Action::Wilson,
            beta: 6.0,
            integrator: Integrator::Omelyan,
            steps: 10,
            length: 0.5,
            seed: 1,
        };
        let hmc = || Ok(Hmc::new(b, links, parameters, 0, lanes)?);
        self.row(bench, "hmc, 10 omelyan steps", double, hmc, |hmc| Ok(hmc.trajectory().map(drop)?))
    }

    fn row<T>(
        &self,
        bench: &mut Bench<'_>,
        name: &'static str,
        precision: Precision,
        make: impl FnOnce() -> anyhow::Result<T>,
        mut work: impl FnMut(&mut T) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        if self.only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            bench.others.push(name);
            return Ok(());
        }
        let bar = progress_bar();
        bar.set_message(format!("{name} in {precision}"));
        let failed = || format!("failed to time {name}");
        let mut made = make().with_context(failed)?;
        let seconds = sampled(bench.lattice, self.samples, || {
            work(&mut made)?;
            Ok(bench.backend.finish()?)
        });
        let seconds = seconds.with_context(failed)?;
        let copied = 2 * precision.device_bytes(SITE_WORDS) * bench.configuration.extents().volume();
        let copies = seconds.median * bench.copy / copied as f64;
        bench.rows.push(Row { name, precision, seconds, copies });
        bar.finish_and_clear();
        Ok(())
    }
}

impl Study {
    fn text(&self) -> String {
        let heading = facts([
            ("device", self.device.clone()),
            ("lattice", joined(&self.lattice, ".")),
            ("copy", format!("{:.1} GB/s", 1e-9 * self.copy_bytes_per_second)),
        ]);
        let mut rows = table(["", "precision", "ms, median (10–90%)", "copies of the links"], 2..);
        for Row { name, precision, seconds: Spread { median, tenth, ninetieth }, copies } in &self.rows {
            rows.add_row([
                (*name).to_owned(),
                precision.to_string(),
                format!("{:.3} ({:.3}–{:.3})", 1e3 * median, 1e3 * tenth, 1e3 * ninetieth),
                format!("{copies:.1}"),
            ]);
        }
        format!("{heading}\n{}", fitted(rows, &["copies of the links"]))
    }
}
