//! `lanefield correlator`: the correlators of pion and rho of propagators in files, and their effective masses.

pub mod plot;
mod propagators;

use comfy_table::Table;
use lanefield::io::npy::{ComplexValues, PropagatorArray};
use lanefield::io::sidecar::path_of;
use lanefield::observable::{EffectiveMass, MesonCorrelators, TwistAngle, meson_correlators};
use lanefield::statistics::{Estimate, Resampling, Samples, mean};
use lanefield_figure::physics;
use serde_json::{Map, Value};

use super::args::BackendArgs;
use super::csv_output::{columns_with_bits, with_bits, write_csv};
use super::far_times;
use super::files::{figure, given, named, npy_error, require_outputs, write_figure};
use super::numbers::bits;
use super::numbers::with_error;
use super::ordered_array::read_array;
use super::output::table;
use super::twist::{self, TwistArgs};
use crate::prelude::*;
use plot::{Title, plot};
use propagators::{Propagator, PropagatorFacts};

/// Compute the pion and rho correlators of a propagator.
///
/// Sums over each time slice are exact: the bits are the same on every device.
///
/// C(t) is the sum over time slice t of tr[γ5 S† γ5 Γ S Γ], with Γ = γ5 for the pion, and the average over γx, γy and γz for the rho. The effective
/// mass m solves C(t) / C(t+1) = cosh(m(T/2 − t)) / cosh(m(T/2 − t − 1)).
///
/// The sidecar of a propagator, P.npy.json, contains its source position, operator and configuration. Options that contradict it are rejected.
///
/// Several propagators, of different sources or configurations, are averaged, with jackknife errors. The errors are over configurations if there are
/// several, else over sources. Errors over sources say nothing about the spread between configurations.
///
/// Propagators of twisted mass are in the twisted basis, and are rotated to the physical one first. docs/agreement.md lists the conventions of other
/// programs.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc
  lanefield propagator --config weak.nersc --source point:0,0,0,2 \\
      --operator wilson --mass 0.2 --output p.npy
  lanefield correlator --propagator p.npy
  lanefield propagator --config weak.nersc --source point:2,2,2,6 \\
      --operator wilson --mass 0.2 --output q.npy
  lanefield correlator --propagator p.npy q.npy --csv c.csv --plot c.pdf \\
      --json")]
pub struct Correlator {
    /// Propagators to average, or a single one: arrays (T, Z, Y, X, 4, 4, 3, 3) of sink spin, source spin, sink colour, source colour. They are NumPy
    /// files, or HDF5 files as QDP++ (Chroma) writes them
    #[arg(long = "propagator", value_name = "P.npy", required = true, num_args = 1..)]
    propagators: Vec<PathBuf>,
    /// Time slice of the source, from which times are counted [default: that of the sidecar]
    #[arg(long, value_name = "T")]
    origin_time: Option<usize>,
    #[command(flatten)]
    twist: TwistArgs,
    /// Write the correlators as CSV: time, each correlator with the 16 hex digits of its double, effective masses, and errors. Undefined values are
    /// empty
    #[arg(long, help_heading = "Output", value_name = "C.csv")]
    csv: Option<PathBuf>,
    /// Draw correlators and effective masses: .svg, .pdf or .png
    #[arg(long, help_heading = "Output", value_name = "FILE", value_parser = named(figure))]
    plot: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    backend: BackendArgs,
}

impl Correlator {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let outputs: Vec<_> = given([("--csv", &self.csv), ("--plot", &self.plot)]).collect();
        let inputs: Vec<_> = self.propagators.iter().map(|path| ("--propagator", path.as_path())).collect();
        require_outputs(&outputs, &inputs)?;
        let propagators = propagators::open(&self.propagators, self.origin_time)?;
        let quark = propagators[0].sidecar.as_ref().map(|sidecar| &sidecar.inputs);
        let twist = self.twist.of(quark.map(|inputs| (inputs.operator.as_str(), &inputs.parameters)))?;
        let first = self.read(&propagators[0])?;
        let (extents, precision) = (first.extents, precision_of(&first.values));
        let backend = self.backend.open(precision)?;
        let mut correlators = vec![self.correlators((&backend, twist), &propagators[0], first)?];
        for propagator in &propagators[1..] {
            let array = self.read(propagator)?;
            // Sidecars say that lattices are the same; what is in the files counts.
            anyhow::ensure!(
                array.extents == extents,
                "{} is on {}, not on {extents}",
                propagator.path.display(),
                array.extents
            );
            correlators.push(self.correlators((&backend, twist), propagator, array)?);
        }
        propagators::require_different_links(&propagators, &correlators)?;
        for Propagator { path, .. } in propagators.iter().filter(|propagator| propagator.sidecar.is_none()) {
            let sidecar = path_of(path);
            let (array, sidecar) = (path.display(), sidecar.display());
            say!("warning: {array} has no sidecar {sidecar}: source, operator and configuration are not checked");
        }
        let samples = propagators::samples(&propagators);
        let rows = rows(&correlators, &samples, extents);
        let errors_from = (samples.len() > 1).then(|| match propagators::configurations(&propagators) {
            1 => "sources",
            _ => "configurations",
        });
        let header = std::iter::once("t".to_owned()).chain(columns_with_bits(&COLUMNS));
        write_csv(self.csv.as_deref(), header, rows.iter().map(cells))?;
        if let Some(path) = &self.plot {
            let basis = twist.map_or_else(String::new, |angle| format!("; {}", twist::describe(angle)));
            let of = propagators::describe(&propagators).map(|of| of + &basis);
            let title = Title { extents, of, errors_from };
            let curves = [curve("pion", &rows, |row| &row.pion), curve("rho", &rows, |row| &row.rho)];
            write_figure(path, &plot(&curves, &title))?;
        }
        let (operator, parameters) = quark.map(|inputs| (inputs.operator.clone(), inputs.parameters.clone())).unzip();
        far_times::warn(&far_times::largest(propagators.iter().map(Propagator::relative_errors)));
        let report = Report {
            lattice: extents.as_array(),
            precision,
            operator,
            parameters,
            basis: twist.map(TwistAngle::basis),
            twist_angle: twist,
            propagators: propagators.iter().map(PropagatorFacts::from).collect(),
            errors_from,
            times: rows,
        };
        show(self.json, Head::on(Kind::Correlator, backend.device()), &report, Report::text)
    }

    fn read(&self, propagator: &Propagator) -> anyhow::Result<PropagatorArray> {
        let error = |error| npy_error(&propagator.path, error);
        let array = read_array(&propagator.path, None)?.into_propagator().map_err(error)?;
        array.require_finite().map_err(error)?;
        Ok(array)
    }

    fn correlators(
        &self,
        (backend, twist): (&AnyBackend, Option<TwistAngle>),
        propagator: &Propagator,
        PropagatorArray { extents, mut values }: PropagatorArray,
    ) -> anyhow::Result<MesonCorrelators> {
        let (origin, lanes) = (propagator.origin_time, self.backend.lanes);
        let twist = twist.unwrap_or(TwistAngle::ZERO);
        match &mut values {
            ComplexValues::F32(propagator) => twist.rotate(propagator),
            ComplexValues::F64(propagator) => twist.rotate(propagator),
        }
        let correlators = backend.install(|| match &values {
            ComplexValues::F32(propagator) => meson_correlators(backend, extents, propagator, origin, lanes),
            ComplexValues::F64(propagator) => meson_correlators(backend, extents, propagator, origin, lanes),
        });
        correlators.with_context(|| format!("failed to compute the correlators of {}", propagator.path.display()))
    }
}

/// The precision of the numbers of a file.
fn precision_of(values: &ComplexValues) -> Precision {
    match values {
        ComplexValues::F32(_) => Precision::F32,
        ComplexValues::F64(_) => Precision::F64,
    }
}

/// What was computed. As JSON, these fields.
#[derive(Serialize)]
struct Report {
    lattice: [usize; 4],
    /// f32 or f64: the file's; correlators are f64.
    precision: Precision,
    /// The operator of the quark, from the sidecar; null without one.
    operator: Option<String>,
    /// Its parameters by name; null without a sidecar.
    parameters: Option<Map<String, Value>>,
    /// `physical` or `twisted`, of twisted mass; null of others, and so is the angle in degrees.
    basis: Option<&'static str>,
    twist_angle: Option<TwistAngle>,
    propagators: Vec<PropagatorFacts>,
    /// `configurations` or `sources`: what the errors are taken over; null where there are none.
    errors_from: Option<&'static str>,
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
    bits: String,
    /// Null where there are not several samples.
    error: Option<f64>,
    /// Null where there is none.
    effective_mass: Option<f64>,
    effective_mass_bits: Option<String>,
    /// Null where there are not several samples, or one of them has no mass.
    effective_mass_error: Option<f64>,
}

#[derive(Serialize)]
struct Number {
    value: f64,
    bits: String,
}

/// The averages of all samples, each of which is the average over some of the propagators.
fn rows(correlators: &[MesonCorrelators], samples: &[Vec<usize>], extents: Extents) -> Vec<Row> {
    let average = |of: &dyn Fn(&MesonCorrelators) -> &Vec<f64>| -> Vec<Vec<f64>> {
        let members = |sample: &Vec<usize>| sample.iter().map(|&k| of(&correlators[k])).collect::<Vec<_>>();
        samples.iter().filter_map(|sample| mean(&members(sample))).collect()
    };
    let meson = |of: &dyn Fn(&MesonCorrelators) -> &Vec<f64>| {
        let samples = Samples::of(&average(of));
        let values = Resampling::Jackknife.estimates(&samples, |mean| mean.iter().copied().map(Some).collect());
        let masses = Resampling::Jackknife.estimates(&samples, |mean| EffectiveMass::Cosh.of(mean));
        move |t: usize| {
            let Estimate { value, error } = values[t].unwrap_or(Estimate { value: f64::NAN, error: None });
            let mass = masses.get(t).copied().flatten();
            Meson {
                value,
                bits: bits(value),
                error,
                effective_mass: mass.map(|mass| mass.value),
                effective_mass_bits: mass.map(|mass| bits(mass.value)),
                effective_mass_error: mass.and_then(|mass| mass.error),
            }
        }
    };
    let (pion, rho) = (meson(&|c| &c.pion), meson(&|c| &c.rho));
    let components = [0, 1, 2].map(|k| mean(&average(&|c| &c.rho_components[k])).unwrap_or_default());
    let row = |t: usize| Row {
        t,
        pion: pion(t),
        rho: rho(t),
        rho_components: components.each_ref().map(|c| Number { value: c[t], bits: bits(c[t]) }),
    };
    (0..extents[3]).map(row).collect()
}

/// What the picture shows of a meson.
fn curve(name: &str, rows: &[Row], pick: fn(&Row) -> &Meson) -> physics::Correlator {
    let mesons = || rows.iter().map(pick);
    physics::Correlator {
        name: name.to_owned(),
        correlator: mesons().map(|meson| (meson.value, meson.error)).collect(),
        masses: mesons().map(|meson| Some((meson.effective_mass?, meson.effective_mass_error))).collect(),
        fits: Vec::new(),
    }
}

impl Report {
    fn text(&self) -> String {
        let basis = self.twist_angle.map_or_else(String::new, |angle| format!("\n\n{}", twist::describe(angle)));
        let table = format!("{}{basis}", correlator_table(&self.times));
        let Some(from) = self.errors_from else { return table };
        let only =
            if from == "sources" { " on one configuration, without the spread between configurations" } else { "" };
        format!("{table}\n\nmeans of {} propagators; jackknife errors over {from}{only}", self.propagators.len())
    }
}

fn correlator_table(rows: &[Row]) -> Table {
    let mut table = table(["t", "pion", "rho", "pion effective mass", "rho effective mass"], 0..5);
    let mass = |meson: &Meson| match meson.effective_mass {
        Some(mass) => with_error(mass, meson.effective_mass_error),
        None => "–".to_owned(),
    };
    for Row { t, pion, rho, .. } in rows {
        table.add_row([
            t.to_string(),
            with_error(pion.value, pion.error),
            with_error(rho.value, rho.error),
            mass(pion),
            mass(rho),
        ]);
    }
    table
}

/// The numbers of the CSV at each time.
const COLUMNS: [&str; 11] = [
    "pion",
    "rho",
    "rho_x",
    "rho_y",
    "rho_z",
    "pion_effective_mass",
    "rho_effective_mass",
    "pion_error",
    "rho_error",
    "pion_effective_mass_error",
    "rho_effective_mass_error",
];

fn cells(Row { t, pion, rho, rho_components: [x, y, z] }: &Row) -> Vec<String> {
    let numbers = [pion.value, rho.value, x.value, y.value, z.value].map(Some);
    let errors = [pion.error, rho.error, pion.effective_mass_error, rho.effective_mass_error];
    let numbers = numbers.into_iter().chain([pion.effective_mass, rho.effective_mass]).chain(errors);
    std::iter::once(t.to_string()).chain(numbers.flat_map(with_bits)).collect()
}
