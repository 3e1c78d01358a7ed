//! What a report shows of physics: figures, a line for the summary, and tables of correlators and masses, the static potential, gradient flows, and the
//! histories of observables.

use lanefield::gauge::{FlowPoint, REFERENCE, flow_slope};
use lanefield_figure::physics::{
    self, Correlator, FittedMass, FittedPotential, Flow, Observable, Potential, Value as Measured,
};
use lanefield_figure::{Colours, Figure, short, with_error};
use serde::Serialize;
use serde_json::Value;

use super::document::Document;
use super::table::Table;
use super::words::{list, text};
use crate::Kind;

/// A figure for a screen or paper, and one for a phone.
#[derive(Serialize, Debug)]
pub(super) struct Drawn {
    title: String,
    wide: String,
    narrow: String,
}

/// Widths, in points: text has the size of that of the page on a column of 46 rem, and on a phone.
const WIDE: f64 = 500.0;
const NARROW: f64 = 290.0;

/// The figures of a document; none of most kinds.
pub(super) fn figures(document: &Document) -> Vec<Drawn> {
    let value = &document.value;
    let figure = match document.kind {
        Kind::SpectrumFit | Kind::Correlator => physics::correlators(&correlators(document), ""),
        Kind::Potential => physics::potential(&potential(value), ""),
        Kind::Flow => physics::flow(&flow(value), ""),
        Kind::Observe => {
            let files: Vec<String> = list(&value["history"]).iter().map(|one| text(one, "file")).collect();
            physics::history(&observables(value), &files.iter().map(String::as_str).collect::<Vec<_>>(), "")
        }
        _ => return Vec::new(),
    };
    let has_points = figure.panels.iter().flat_map(|panel| &panel.series).any(|series| !series.points.is_empty());
    let title = match document.kind {
        Kind::SpectrumFit | Kind::Correlator => "Correlators and effective masses",
        Kind::Potential => "The static potential",
        Kind::Flow => "t²E over flow time",
        _ => "Histories, with means and their errors",
    };
    if has_points { vec![drawn(title, figure)] } else { Vec::new() }
}

fn drawn(title: &str, figure: Figure) -> Drawn {
    let of_width = |width: f64| {
        let mut drawing = Figure { width, ..figure.clone() }.draw();
        // For those who do not see it: the caption above it is the title of what is seen.
        title.clone_into(&mut drawing.title);
        drawing.svg(Colours::Page)
    };
    Drawn { title: title.to_owned(), wide: of_width(WIDE), narrow: of_width(NARROW) }
}

/// A number with bits and error, or null.
fn measured(value: &Value) -> Option<Measured> {
    Some((value["value"].as_f64()?, value["error"].as_f64()))
}

fn say(value: &Value) -> String {
    measured(value).map_or_else(|| "–".to_owned(), |(value, error)| with_error(value, error))
}

fn quality(fit: &Value) -> String {
    let (Some(chi_squared), Some(degrees)) = (fit["chi_squared"].as_f64(), fit["degrees"].as_u64()) else {
        return String::new();
    };
    let p = fit["p_value"].as_f64().map_or_else(String::new, |p| format!(", p = {}", short(p, 1)));
    format!("χ²/dof = {chi_squared:.2}/{degrees}{p}")
}

/// Of `spectrum fit`, or of `correlator`.
fn correlators(document: &Document) -> Vec<Correlator> {
    let value = &document.value;
    if document.kind == Kind::Correlator {
        let of = |name: &str| {
            let times = || list(&value["times"]).iter().map(move |row| &row[name]);
            let mass =
                |meson: &Value| Some((meson["effective_mass"].as_f64()?, meson["effective_mass_error"].as_f64()));
            Correlator {
                name: name.to_owned(),
                correlator: times().filter_map(measured).collect(),
                masses: times().map(mass).collect(),
                fits: Vec::new(),
            }
        };
        return ["pion", "rho"].map(of).into_iter().filter(|curve| !curve.correlator.is_empty()).collect();
    }
    let of = |hadron: &Value| {
        let name = text(hadron, "hadron");
        let correlator: Vec<Measured> = list(&hadron["correlator"]).iter().filter_map(measured).collect();
        // Some are negative in the sign of their program.
        let sign = if correlator.iter().skip(1).map(|(c, _)| c).sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
        let fits = list(&value["fits"]).iter().filter(|fit| text(fit, "hadron") == name).filter_map(fitted_mass);
        Correlator {
            correlator: correlator.into_iter().map(|(c, error)| (sign * c, error)).collect(),
            masses: list(&hadron["effective_masses"]).iter().map(measured).collect(),
            fits: fits.collect(),
            name,
        }
    };
    list(&value["hadrons"]).iter().map(of).collect()
}

fn fitted_mass(fit: &Value) -> Option<FittedMass> {
    let state = list(&fit["states"]).first()?;
    let mass = (state["mass"].as_f64()?, state["mass_error"].as_f64());
    let [first, last] = [&fit["first"], &fit["last"]].map(Value::as_u64);
    let (first, last) = (first? as usize, last? as usize);
    let said = with_error(mass.0, mass.1);
    let label = format!("{}, {first} to {last}: a m = {said}, {}", text(fit, "hadron"), quality(fit));
    Some(FittedMass { first, last, mass, label })
}

fn potential(value: &Value) -> Potential {
    let distance = |distance: &Value| {
        Some((distance["r"].as_f64()?, list(&distance["potential"]).iter().map(measured).collect::<Vec<_>>()))
    };
    let fit = |fit: &Value| {
        let at = |fitted: &Value| Some((fitted["r"].as_f64()?, measured(fitted)?));
        Some(FittedPotential {
            time: fit["time"].as_u64()? as usize,
            curve: list(&fit["curve"]).iter().filter_map(at).collect(),
            tension: measured(&fit["tension"]),
            r0: measured(&fit["r0"]),
            quality: quality(fit),
        })
    };
    Potential {
        distances: list(&value["distances"]).iter().filter_map(distance).collect(),
        fits: list(&value["fits"]).iter().filter_map(fit).collect(),
    }
}

fn flow(value: &Value) -> Flow {
    let point = |row: &Value| Some(FlowPoint { time: row["t"].as_f64()?, energy: row["energy"].as_f64()? });
    let points: Vec<FlowPoint> = list(&value["times"]).iter().filter_map(point).collect();
    let [t0, w0] = ["t0", "w0"].map(|name| value[name].as_f64());
    Flow {
        energy: points.iter().map(|point| (point.time, point.time * point.time * point.energy)).collect(),
        slope: flow_slope(&points),
        reference: REFERENCE,
        t0,
        w0,
    }
}

fn observables(value: &Value) -> Vec<Observable> {
    let history = list(&value["history"]);
    let of = |(k, observable): (usize, &Value)| {
        Some(Observable {
            name: text(observable, "name"),
            mean: measured(observable)?,
            values: history.iter().filter_map(|one| one["values"][k].as_f64()).collect(),
        })
    };
    if history.is_empty() { Vec::new() } else { list(&value["values"]).iter().enumerate().filter_map(of).collect() }
}

/// What a document found, in lines for the summary.
pub(super) fn results(document: &Document) -> Vec<String> {
    let value = &document.value;
    match document.kind {
        Kind::SpectrumFit => list(&value["fits"]).iter().filter_map(fitted_mass).map(|fit| fit.label).collect(),
        Kind::Potential => {
            let fits = list(&value["fits"]).iter().filter(|fit| fit["r0"].is_object());
            let said = |fit: &Value| {
                format!("t = {}: r₀/a = {}, σ a² = {}", text(fit, "time"), say(&fit["r0"]), say(&fit["tension"]))
            };
            fits.map(said).collect()
        }
        Kind::Flow => {
            let scale = |name: &str, key: &str| Some(format!("{name} = {}", short(value[key].as_f64()?, 4)));
            let scales: Vec<String> = [scale("t₀/a²", "t0"), scale("w₀/a", "w0")].into_iter().flatten().collect();
            if scales.is_empty() { Vec::new() } else { vec![scales.join(", ")] }
        }
        Kind::Observe => {
            let wanted = |one: &&Value| matches!(one["name"].as_str(), Some("plaquette" | "topological charge"));
            let said = |one: &Value| format!("{} {}", text(one, "name"), say(one));
            list(&value["values"]).iter().filter(wanted).map(said).collect()
        }
        _ => Vec::new(),
    }
}

/// The tables of a document; none of kinds whose tables are those of what is there.
pub(super) fn tables(document: &Document) -> Option<Vec<Table>> {
    let value = &document.value;
    let tables = match document.kind {
        Kind::SpectrumFit => {
            let fit = |fit: &Value| {
                let states = list(&fit["states"]);
                let mass = |k: usize| match states.get(k) {
                    Some(state) => with_error(state["mass"].as_f64().unwrap_or(f64::NAN), state["mass_error"].as_f64()),
                    None => "–".to_owned(),
                };
                let times = format!("{} to {}", text(fit, "first"), text(fit, "last"));
                [text(fit, "hadron"), times, mass(0), mass(1), quality(fit)]
            };
            let fits = list(&value["fits"]).iter().map(fit);
            let curves = correlators(document);
            let row = |t: usize| {
                let cells = curves.iter().map(move |curve| match curve.masses.get(t).copied().flatten() {
                    Some((mass, error)) => with_error(mass, error),
                    None => "–".to_owned(),
                });
                std::iter::once(format!("{t} to {}", t + 1)).chain(cells).collect()
            };
            let times = curves.iter().map(|curve| curve.masses.len()).max().unwrap_or(0);
            let names = std::iter::once("t / a".to_owned()).chain(curves.iter().map(|curve| curve.name.clone()));
            vec![
                Table::of_texts("Fits", ["hadron", "times", "a m", "second state", "quality"], fits),
                Table::of_cells("Effective masses", names.collect(), (0..times).map(row).collect()).map(Table::folded),
            ]
        }
        Kind::Potential => {
            let fit = |fit: &Value| {
                let numbers = ["constant", "coulomb", "tension", "r0"].map(|name| say(&fit[name]));
                let [constant, coulomb, tension, r0] = numbers;
                [text(fit, "time"), constant, coulomb, tension, r0, quality(fit)]
            };
            let fits = list(&value["fits"]).iter().map(fit);
            let distances = list(&value["distances"]);
            let times = distances.first().map_or(0, |distance| list(&distance["potential"]).len());
            let names = std::iter::once("r / a".to_owned()).chain((1..=times).map(|t| format!("t / a = {t}")));
            let row = |distance: &Value| {
                let cells = list(&distance["potential"]).iter().map(say);
                std::iter::once(text(distance, "r")).chain(cells).collect()
            };
            vec![
                Table::of_texts("Fits of V₀ − α/r + σ r", ["t / a", "a V₀", "α", "σ a²", "r₀/a", "quality"], fits),
                Table::of_cells("a V(r)", names.collect(), distances.iter().map(row).collect()),
            ]
        }
        Kind::Observe => {
            let is_mean = value["history"].as_array().is_some_and(|history| !history.is_empty());
            let said = |one: &Value| match is_mean {
                true => say(one),
                false => format!("{:.8}", one["value"].as_f64().unwrap_or(f64::NAN)),
            };
            let rows = list(&value["values"]).iter().map(|one| [text(one, "name"), said(one)]);
            let caption = if is_mean { "Means" } else { "Values" };
            vec![Table::of_texts(caption, ["observable", if is_mean { "mean" } else { "value" }], rows)]
        }
        Kind::Flow => {
            let columns = "t t2_energy energy energy_temporal energy_spatial plaquette charge";
            vec![Table::of_columns("Flow times", list(&value["times"]), columns).map(Table::folded)]
        }
        Kind::Correlator => {
            let columns = "t pion.value pion.error pion.effective_mass pion.effective_mass_error rho.value rho.error \
                rho.effective_mass rho.effective_mass_error";
            vec![Table::of_columns("Correlators", list(&value["times"]), columns).map(Table::folded)]
        }
        _ => return None,
    };
    Some(tables.into_iter().flatten().collect())
}
