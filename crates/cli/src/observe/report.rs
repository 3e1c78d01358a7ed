//! What `lanefield observe` measured: a table for people, JSON for programs.

use lanefield_figure::Figure;
use lanefield_figure::physics::{Observable, history};

use crate::numbers::{with_bits, with_error};
use crate::output::{joined, table};
use crate::prelude::*;
use crate::resampling::Bins;

/// What was measured. As JSON, these fields.
#[derive(Serialize)]
pub struct Report {
    pub lattice: [usize; 4],
    /// Time and step of the Wilson flow that was taken first; null if there was none.
    pub flow: Option<String>,
    /// What the links were smeared by first; null if they were not.
    pub smearing: Option<String>,
    /// Of several configurations, means.
    pub values: Vec<Value>,
    /// Of several configurations, the values of each in the same order; empty of one.
    pub history: Vec<Measured>,
    /// How errors are made; not there of one configuration.
    #[serde(flatten)]
    pub bins: Option<Bins>,
}

#[derive(Serialize)]
pub struct Measured {
    pub file: String,
    pub values: Vec<f64>,
}

#[derive(Serialize)]
pub struct Value {
    pub name: String,
    pub value: f64,
    pub bits: String,
    /// Null of one configuration.
    pub error: Option<f64>,
}

impl Report {
    /// The history of several configurations.
    pub fn figure(&self, title: &str) -> Figure {
        let observable = |(k, value): (usize, &Value)| Observable {
            name: value.name.clone(),
            mean: (value.value, value.error),
            values: self.history.iter().filter_map(|measured| measured.values.get(k).copied()).collect(),
        };
        let observables: Vec<Observable> = self.values.iter().enumerate().map(observable).collect();
        let files: Vec<&str> = self.history.iter().map(|measured| measured.file.as_str()).collect();
        let bins = self.bins.as_ref().map_or_else(String::new, |bins| format!("; {}", bins.describe()));
        history(&observables, &files, title).noted(format!("means with errors as bands{bins}"))
    }

    pub fn text(&self) -> String {
        let smeared = self.smearing.as_ref().map_or_else(String::new, |smearing| format!(", smeared by {smearing}"));
        let flowed = self.flow.as_ref().map_or_else(String::new, |flow| format!(", after the Wilson flow {flow}"));
        let head = format!("{}{flowed}{smeared}", joined(&self.lattice, "."));
        if let Some(bins) = &self.bins {
            let mut table = table(["observable", "mean"], 1..2);
            for Value { name, value, error, .. } in &self.values {
                table.add_row([name.clone(), with_error(*value, *error)]);
            }
            return format!("{head}\n{table}\n\n{}", bins.describe());
        }
        let mut table = table(["observable", "value"], 1..2);
        for Value { name, value, .. } in &self.values {
            table.add_row([name.clone(), with_bits(*value)]);
        }
        format!("{head}\n{table}")
    }
}
