//! `lanefield correlator`: the correlators of pion and rho of a propagator in a file, and their effective masses.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use comfy_table::Table;
use lanefield::io::atomic::write_atomically;
use lanefield::io::npy::{self, ComplexValues, PropagatorArray};
use lanefield::observable::{MesonCorrelators, effective_masses, meson_correlators};
use lanefield::reference::real::Precision;
use serde::Serialize;

use super::Outcome;
use super::args::{BackendArgs, on_backend};
use super::correlator_plot::{Curve, plot};
use super::files::{given, npy_error, require_outputs, svg};
use super::output::{Head, Kind, bits, number, ruled_table, show};

/// Compute the correlators of pion and rho from a propagator, time slice by time slice, with the same bits on every device.
///
/// C(t) is the sum over time slice t of tr[γ5 S† γ5 Γ S Γ], with Γ = γ5 for the pion, and the average over γx, γy and γz for the rho. The
/// effective mass m solves C(t) / C(t+1) = cosh(m(T/2 − t)) / cosh(m(T/2 − t − 1)).
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc
  lanefield propagator --config weak.nersc --source point:0,0,0,2 \\
      --operator wilson --mass 0.2 --output p.npy
  lanefield correlator --propagator p.npy --origin-time 2
  lanefield correlator --propagator p.npy --origin-time 2 \\
      --csv c.csv --plot c.svg --json")]
pub struct Correlator {
    /// The propagator: a NumPy array (T, Z, Y, X, 4, 4, 3, 3) of sink spin, source spin, sink colour, source colour
    #[arg(long, value_name = "P.npy")]
    propagator: PathBuf,
    /// The time slice of the source, from which times are counted
    #[arg(long, value_name = "T", default_value_t = 0)]
    origin_time: usize,
    /// Write the correlators as CSV: time, then each correlator with the 16 hex digits of its double; an effective mass that does not
    /// exist is empty
    #[arg(long, value_name = "C.csv")]
    csv: Option<PathBuf>,
    /// Draw correlators and effective masses as SVG
    #[arg(long, value_name = "C.svg", value_parser = svg)]
    plot: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    backend: BackendArgs,
}

impl Correlator {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let outputs: Vec<_> = given([("--csv", &self.csv), ("--plot", &self.plot)]).collect();
        require_outputs(&outputs, &[("--propagator", &self.propagator)])?;
        self.backend.place.limit_host_threads();
        let error = |error| npy_error(&self.propagator, error);
        let array = npy::read_propagator(&self.propagator).map_err(error)?;
        array.require_finite().map_err(error)?;
        let PropagatorArray { extents, values } = array;
        let precision = match values {
            ComplexValues::F32(_) => Precision::F32,
            ComplexValues::F64(_) => Precision::F64,
        };
        let backend = self.backend.open()?;
        let (origin, lanes) = (self.origin_time, self.backend.lanes);
        let correlators = on_backend!(&backend, b => match &values {
            ComplexValues::F32(propagator) => meson_correlators(b, extents, propagator, origin, lanes),
            ComplexValues::F64(propagator) => meson_correlators(b, extents, propagator, origin, lanes),
        });
        let correlators = correlators.context("failed to compute the correlators")?;
        let rows = rows(&correlators);
        if let Some(Row { t, pion, .. }) = rows.iter().find(|row| !row.pion.value.is_normal()) {
            bail!(
                "the pion's correlator at t = {t} is {:e}: squares of the propagator's numbers there are out of range; multiply it by a power of two",
                pion.value
            );
        }
        if let Some(path) = &self.csv {
            write_csv(path, &rows)?;
        }
        if let Some(path) = &self.plot {
            let curve = |name, pick: fn(&Row) -> &Meson| Curve {
                name,
                correlator: rows.iter().map(|row| pick(row).value).collect(),
                masses: rows.iter().map(|row| pick(row).effective_mass).collect(),
            };
            let svg = plot(&[curve("pion", |row| &row.pion), curve("rho", |row| &row.rho)], extents)?;
            write_atomically(path, |writer| writer.write_all(svg.as_bytes()))?;
        }
        let report = Report { lattice: extents.as_array(), precision, origin_time: origin, times: rows };
        show(self.json, Head::on(Kind::Correlator, backend.device()), &report, |report| correlator_table(&report.times))
    }
}

/// What was computed. As JSON, these fields.
#[derive(Serialize)]
struct Report {
    /// Extents x, y, z, t.
    lattice: [usize; 4],
    /// f32 or f64: the file's; correlators are f64.
    precision: Precision,
    /// The time slice of the source.
    origin_time: usize,
    times: Vec<Row>,
}

/// The correlators at one time from the source.
#[derive(Serialize)]
struct Row {
    t: usize,
    pion: Meson,
    /// The average of the three components.
    rho: Meson,
    /// Γ = γx, γy, γz.
    rho_components: [Number; 3],
}

/// A correlator at one time, and its effective mass between that time and the next.
#[derive(Serialize)]
struct Meson {
    value: f64,
    /// Its 16 hex digits.
    bits: String,
    /// Null where there is none.
    effective_mass: Option<f64>,
    /// Its 16 hex digits.
    effective_mass_bits: Option<String>,
}

#[derive(Serialize)]
struct Number {
    value: f64,
    bits: String,
}

fn rows(correlators: &MesonCorrelators) -> Vec<Row> {
    let MesonCorrelators { pion, rho_components, rho } = correlators;
    let masses = [pion, rho].map(|correlator| effective_masses(correlator));
    let meson = |value: f64, mass: Option<&Option<f64>>| {
        let effective_mass = mass.copied().flatten();
        let effective_mass_bits = effective_mass.map(bits);
        Meson { value, bits: bits(value), effective_mass, effective_mass_bits }
    };
    let row = |t: usize| Row {
        t,
        pion: meson(pion[t], masses[0].get(t)),
        rho: meson(rho[t], masses[1].get(t)),
        rho_components: rho_components.each_ref().map(|c| Number { value: c[t], bits: bits(c[t]) }),
    };
    (0..pion.len()).map(row).collect()
}

fn correlator_table(rows: &[Row]) -> Table {
    let mut table = ruled_table(["t", "pion", "rho", "pion effective mass", "rho effective mass"]);
    for Row { t, pion, rho, .. } in rows {
        table.add_row([
            t.to_string(),
            format!("{:.9e}", pion.value),
            format!("{:.9e}", rho.value),
            number(pion.effective_mass, 6),
            number(rho.effective_mass, 6),
        ]);
    }
    table
}

/// A number and its 16 hex digits in columns of their own. The bytes depend on the correlators alone.
fn write_csv(path: &Path, rows: &[Row]) -> anyhow::Result<()> {
    const COLUMNS: [&str; 7] = ["pion", "rho", "rho_x", "rho_y", "rho_z", "pion_effective_mass", "rho_effective_mass"];
    write_atomically(path, |writer| {
        let mut csv = csv::Writer::from_writer(writer);
        let header = COLUMNS.iter().flat_map(|name| [(*name).to_owned(), format!("{name}_bits")]);
        csv.write_record(std::iter::once("t".to_owned()).chain(header))?;
        for Row { t, pion, rho, rho_components: [x, y, z] } in rows {
            let numbers = [pion.value, rho.value, x.value, y.value, z.value].map(Some);
            let numbers = numbers.into_iter().chain([pion.effective_mass, rho.effective_mass]);
            let cells = numbers.flat_map(|number| match number {
                Some(number) => [format!("{number:e}"), bits(number)],
                None => [String::new(), String::new()],
            });
            csv.write_record(std::iter::once(t.to_string()).chain(cells))?;
        }
        csv.flush()
    })?;
    Ok(())
}
