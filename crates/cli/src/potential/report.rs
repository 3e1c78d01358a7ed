//! What `lanefield potential` found: a table for people, JSON for programs, rows of CSV.

use lanefield_figure::Figure;
use lanefield_figure::physics::{self, FittedPotential};

use crate::csv_output::{decimal, with_bits};
use crate::output::{fitted, table};
use crate::prelude::*;
use crate::resampling::{Bins, Number, Quality};

#[derive(Serialize)]
pub struct Report {
    pub lattice: [usize; 4],
    /// What the links were smeared by first, one after the other.
    pub smearing: Vec<String>,
    #[serde(flatten)]
    pub bins: Bins,
    pub distances: Vec<Distance>,
    /// The distances that were fitted; null where smearing leaves too few.
    pub first: Option<usize>,
    pub last: Option<usize>,
    /// At each time at which all of their potentials have an error.
    pub fits: Vec<Fit>,
    /// Why there are no fits at other times, and what there is to say of the distances.
    pub warnings: Vec<String>,
}

#[derive(Serialize)]
pub struct Distance {
    pub r: usize,
    /// At t = 1, 2, …; null where a loop is not positive.
    pub potential: Vec<Option<Number>>,
}

/// V₀ − α/r + σ r.
#[derive(Serialize)]
pub struct Fit {
    /// t.
    pub time: usize,
    /// V₀.
    pub constant: Option<Number>,
    /// α.
    pub coulomb: Option<Number>,
    /// σ a².
    pub tension: Option<Number>,
    /// r₀ / a; null of a potential that does not confine.
    pub r0: Option<Number>,
    #[serde(flatten)]
    pub quality: Quality,
    /// From the first distance to the last one.
    pub curve: Vec<Fitted>,
}

/// The fitted potential at a distance.
#[derive(Serialize)]
pub struct Fitted {
    pub r: f64,
    pub value: f64,
    /// Null where there is none.
    pub error: Option<f64>,
}

/// Steps of the curve of a fit.
pub const CURVE: usize = 20;

impl Report {
    pub fn text(&self) -> String {
        let times = self.distances.first().map_or(0, |distance| distance.potential.len());
        let titles = (1..=times).map(|t| format!("t = {t}"));
        let mut potentials = table(std::iter::once("r".to_owned()).chain(titles), 0..1);
        let shown = |number: &Option<Number>| number.as_ref().map_or_else(String::new, Number::digits);
        for Distance { r, potential } in &self.distances {
            potentials.add_row(std::iter::once(r.to_string()).chain(potential.iter().map(shown)));
        }
        let smeared = match self.smearing.is_empty() {
            true => String::new(),
            false => format!(", links smeared by {}", self.smearing.join(", then ")),
        };
        let mut text = format!("V(r) = ln [W(r, t) / W(r, t + 1)]{smeared}\n{potentials}");
        if let (Some(first), Some(last), false) = (self.first, self.last, self.fits.is_empty()) {
            let mut fits = table(["t", "V₀", "α", "σ a²", "r₀ / a"].into_iter().chain(Quality::TITLES), []);
            for fit in &self.fits {
                let numbers = [&fit.constant, &fit.coulomb, &fit.tension, &fit.r0].map(shown);
                fits.add_row(std::iter::once(fit.time.to_string()).chain(numbers).chain(fit.quality.shown()));
            }
            let fits = fitted(fits, &["χ² per degree", "V₀", "α"]);
            text += &format!("\n\nV₀ − α/r + σ r to r = {first} to {last}\n{fits}");
        }
        text + &format!("\n\n{}", self.bins.describe())
    }

    pub fn figure(&self, title: &str) -> Figure {
        let value = |number: &Number| (number.value, number.error);
        let of_distance = |distance: &Distance| {
            (distance.r as f64, distance.potential.iter().map(|number| number.as_ref().map(value)).collect())
        };
        let fitted = |fit: &Fit| FittedPotential {
            time: fit.time,
            curve: fit.curve.iter().map(|fitted| (fitted.r, (fitted.value, fitted.error))).collect(),
            tension: fit.tension.as_ref().map(value),
            r0: fit.r0.as_ref().map(value),
            quality: fit.quality.label(),
        };
        let distances = self.distances.iter().map(of_distance).collect();
        let potential = physics::Potential { distances, fits: self.fits.iter().map(fitted).collect() };
        let smeared = match self.smearing.is_empty() {
            true => String::new(),
            false => format!("links smeared by {}; ", self.smearing.join(", then ")),
        };
        physics::potential(&potential, title).noted(format!("{smeared}{}", self.bins.describe()))
    }

    /// The rows of the CSV: those of the potential, then those of the fits.
    pub fn rows(&self) -> impl Iterator<Item = Vec<String>> {
        let cells = |number: &Option<Number>| {
            let [value, bits] = with_bits(number.as_ref().map(|number| number.value));
            [value, bits, decimal(number.as_ref().and_then(|number| number.error))]
        };
        let potentials = self.distances.iter().flat_map(move |Distance { r, potential }| {
            potential.iter().enumerate().map(move |(k, number)| {
                let [value, bits, error] = cells(number);
                let mut row = vec![r.to_string(), (k + 1).to_string(), value, bits, error];
                row.resize(HEADER.len() + Quality::COLUMNS.len(), String::new());
                row
            })
        });
        let fits = self.fits.iter().map(move |fit| {
            let mut row = vec![String::new(), fit.time.to_string()];
            row.resize(5, String::new());
            row.extend([self.first, self.last].map(|r| r.map_or_else(String::new, |r| r.to_string())));
            for number in [&fit.constant, &fit.coulomb, &fit.tension, &fit.r0] {
                let [value, _, error] = cells(number);
                row.extend([value, error]);
            }
            row.extend(fit.quality.cells());
            row
        });
        potentials.chain(fits).map(|mut row| {
            row.extend(self.bins.cells());
            row
        })
    }
}

/// The columns of the CSV, before those of the quality of fits and of bins.
pub const HEADER: [&str; 15] = [
    "r",
    "t",
    "potential",
    "potential_bits",
    "error",
    "fit_first",
    "fit_last",
    "constant",
    "constant_error",
    "coulomb",
    "coulomb_error",
    "tension",
    "tension_error",
    "r0",
    "r0_error",
];
