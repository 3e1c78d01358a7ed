//! `lanefield apply`: an operator on a field, from file to file. Definitions of the operators: `docs/arithmetic.md`.

use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum};
use lanefield::backend::{Backend, Sum};
use lanefield::io::npy::ArrayReal;
use lanefield::operator::{HopOperator, Operator as _, Wilson, WilsonParameters};
use lanefield::reference::field::{Field, Spinors};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::kernels::hop::Dagger;
use lanefield::reference::layout::{Checkerboard, Lattice, LatticeOptions, Parity, Sites};
use num_complex::Complex;
use serde::Serialize;

use super::Outcome;
use super::args::{BackendArgs, BackendTask, HopArgs, Precision, check_diagonal, mass};
use super::files::{require_distinct, require_writable, write_spinor};
use super::output::{bits, facts, print, print_json, with_bits};
use super::source::{InputArgs, rounded};

/// Apply an operator to a field, and write the result.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate hot --lattice 4.4.4.8 --seed 1 --output hot.nersc
  lanefield apply --operator hop --config hot.nersc --source gauss:7 \\
      --output hop.npy
  lanefield apply --operator hop --parity even --dagger --precision f32 \\
      --config hot.nersc --source hop.npy --output even.npy
  lanefield apply --operator wilson --mass -0.1 --config hot.nersc \\
      --source point:0,0,0,0,0,0 --output wilson.npy --device cpu")]
pub struct Apply {
    /// The operator
    #[arg(long, value_name = "OPERATOR")]
    operator: Operator,
    /// Apply the Hermitian conjugate
    #[arg(long)]
    dagger: bool,
    /// For hop: onto the sites of this parity, even or odd, from those of the other; the rest of the result is zero
    #[arg(long, value_name = "PARITY")]
    parity: Option<Parity>,
    #[command(flatten)]
    input: InputArgs,
    /// The NumPy array (T, Z, Y, X, 4, 3) to write, complex64 for f32 and complex128 for f64
    #[arg(long, value_name = "FILE.npy")]
    output: PathBuf,
    /// For wilson: bare quark mass in lattice units
    #[arg(long, value_name = "M", value_parser = mass, allow_negative_numbers = true)]
    mass: Option<f64>,
    #[command(flatten)]
    hop: HopArgs,
    /// Precision of the operator and of the result
    #[arg(long, value_name = "PRECISION", default_value = "f64")]
    precision: Precision,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    backend: BackendArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Operator {
    /// The Wilson hop, Grid's Dhop
    Hop,
    /// The Wilson operator, hop + (4 + mass)
    Wilson,
}

impl Apply {
    pub fn run(self) -> anyhow::Result<Outcome> {
        match self.operator {
            Operator::Hop => ensure!(self.mass.is_none(), "--mass is for --operator wilson; the hop has none"),
            Operator::Wilson => ensure!(
                self.parity.is_none(),
                "--parity is for --operator hop; wilson acts on all sites, so leave it out"
            ),
        }
        require_distinct(&[("--output", &self.output)], &self.input.files())?;
        require_writable(&self.output)?;
        match self.precision {
            Precision::F32 => self.apply::<f32>(),
            Precision::F64 => self.apply::<f64>(),
        }?;
        Ok(Outcome::Done)
    }

    fn apply<R: Vectors + ArrayReal>(&self) -> anyhow::Result<()> {
        let hop = self.hop.parameters();
        let step = match (self.operator, self.mass) {
            (Operator::Hop, _) => Step::Hop { onto: self.parity.map_or(Sites::Full, Sites::Parity) },
            (Operator::Wilson, Some(mass)) => {
                check_diagonal::<R>(mass)?;
                Step::Wilson(WilsonParameters { mass, hop })
            }
            (Operator::Wilson, None) => bail!("--operator wilson needs --mass M"),
        };
        self.backend.limit_host_threads();
        let (configuration, source) = self.input.read()?;
        let source = rounded::<R>(&source)?;
        let checkerboard = if self.parity.is_some() { Checkerboard::RedBlack } else { Checkerboard::FullOnly };
        let options = LatticeOptions { lanes: self.backend.lanes, nodes: None, checkerboard };
        let lattice =
            Lattice::new(configuration.extents(), R::COMPLEX, options).context("failed to lay out the lattice")?;
        let backend = self.backend.open()?;
        let dagger = if self.dagger { Dagger::Yes } else { Dagger::No };
        let task = Task { step, hop, dagger, lattice, configuration: &configuration, source: &source };
        let Applied { result, source_norm2, result_norm2 } =
            backend.run(task).context("failed to apply the operator")?;
        write_spinor(&self.output, configuration.extents(), &result)?;
        Report {
            device: backend.describe(),
            lattice: configuration.extents().as_array(),
            lane_bytes: lattice.width().bytes(),
            virtual_nodes: lattice.nodes().as_array(),
            precision: R::NAME,
            plaquette: configuration.plaquette(),
            source_norm2,
            source_norm2_bits: bits(source_norm2),
            result_norm2,
            result_norm2_bits: bits(result_norm2),
            output: self.output.display().to_string(),
        }
        .print(self.json)
    }
}

/// One application, on any backend.
struct Task<'a, R> {
    step: Step,
    hop: lanefield::operator::HopParameters,
    dagger: Dagger,
    lattice: Lattice,
    configuration: &'a Configuration,
    source: &'a [Complex<R>],
}

#[derive(Clone, Copy)]
enum Step {
    Hop { onto: Sites },
    Wilson(WilsonParameters),
}

/// A result in site order, and the squared norms.
struct Applied<R> {
    result: Vec<Complex<R>>,
    source_norm2: f64,
    result_norm2: f64,
}

impl<R: Vectors> BackendTask for Task<'_, R> {
    type Output = anyhow::Result<Applied<R>>;

    fn run<B: Backend>(self, backend: &B) -> anyhow::Result<Applied<R>> {
        let Self { step, hop, dagger, lattice, configuration, source } = self;
        let onto = match step {
            Step::Hop { onto } => onto,
            Step::Wilson(_) => Sites::Full,
        };
        let psi = backend.upload(Field::from_site_order(lattice, onto.neighbours(), Spinors::ONE, source)?)?;
        let mut out = backend.zeros(lattice, onto, Spinors::ONE)?;
        match step {
            Step::Hop { onto } => {
                HopOperator::<B, R>::new(backend, configuration, lattice, hop, &[onto])?.apply(&mut out, &psi, dagger)
            }
            Step::Wilson(parameters) => {
                Wilson::<B, R>::full(backend, configuration, lattice, parameters)?.apply(&mut out, &psi, dagger)
            }
        }?;
        Ok(Applied {
            source_norm2: backend.norm2(&psi, Sum::Exact)?,
            result_norm2: backend.norm2(&out, Sum::Exact)?,
            result: backend.download(&out)?.to_site_order(),
        })
    }
}

/// What was applied. As JSON, these fields.
#[derive(Serialize)]
struct Report {
    /// What it ran on.
    device: String,
    /// Extents x, y, z, t.
    lattice: [usize; 4],
    /// Bytes of a vector.
    lane_bytes: usize,
    /// The cut into lanes, x, y, z, t.
    virtual_nodes: [usize; 4],
    /// f32 or f64.
    precision: &'static str,
    /// Average plaquette of the configuration.
    plaquette: f64,
    /// |source|² over the sites that the operator reads: the exact sum, rounded once.
    source_norm2: f64,
    /// Its 16 hex digits.
    source_norm2_bits: String,
    /// |result|², likewise.
    result_norm2: f64,
    /// Its 16 hex digits.
    result_norm2_bits: String,
    /// The file written.
    output: String,
}

impl Report {
    fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return print_json(self);
        }
        let dots = |numbers: [usize; 4]| numbers.map(|n| n.to_string()).join(".");
        let nodes = dots(self.virtual_nodes);
        print(facts([
            (
                "lattice",
                format!("{} in {}, {}-byte lanes cut {nodes}", dots(self.lattice), self.precision, self.lane_bytes),
            ),
            ("plaquette", self.plaquette.to_string()),
            ("|source|²", with_bits(self.source_norm2)),
            ("|result|²", with_bits(self.result_norm2)),
            ("written", self.output.clone()),
        ]))
    }
}
