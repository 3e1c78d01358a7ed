//! The Monte Carlo history of observables, each with its mean and the error of it.

use std::path::Path;

use super::Value;
use crate::{Axis, Band, Figure, Panel, Point, Series, with_error};

/// An observable on several configurations.
#[derive(Clone, PartialEq, Debug)]
pub struct Observable {
    /// "plaquette spatial".
    pub name: String,
    /// Mean and error.
    pub mean: Value,
    /// On each configuration.
    pub values: Vec<f64>,
}

const HEIGHT: f64 = 78.0;

/// Observables that share a panel (all planes, those in space and those with time; real and imaginary part; loops of one distance), and which of them it is.
fn group(name: &str) -> (&str, &str) {
    for part in [" spatial", " temporal", " re", " im"] {
        if let Some(whole) = name.strip_suffix(part) {
            return (whole, part.trim_start());
        }
    }
    name.split_once(',').map_or((name, ""), |(loops, time)| (loops, time))
}

/// The figure of histories, over the numbers in the names of the configurations' files.
pub fn history(observables: &[Observable], files: &[&str], title: &str) -> Figure {
    let (x_name, numbers) = match numbers(files) {
        Some(numbers) => ("number of the configuration", numbers),
        None => ("configuration", (1..=files.len()).map(|k| k as f64).collect()),
    };
    let ends_of = |values: &[f64]| {
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (x.min(low), x.max(high)))
    };
    let ends = ends_of(&numbers);
    let mut groups: Vec<(&str, Vec<&Observable>)> = Vec::new();
    for observable in observables {
        let (whole, _) = group(&observable.name);
        match groups.iter_mut().find(|(known, _)| *known == whole) {
            Some((_, members)) => members.push(observable),
            None => groups.push((whole, vec![observable])),
        }
    }
    // What is on another scale than the first one (a sum of the others) has a panel of its own.
    let meet = |a: &Observable, b: &Observable| {
        let (a, b) = (ends_of(&a.values), ends_of(&b.values));
        a.0 <= b.1 && b.0 <= a.1
    };
    let groups = groups.into_iter().flat_map(|(whole, members)| {
        let first = members[0];
        let (near, far): (Vec<_>, Vec<_>) = members.into_iter().partition(|member| meet(first, member));
        [(whole, near), (whole, far)].into_iter().filter(|(_, members)| !members.is_empty())
    });
    let panels = groups.map(|(whole, members)| {
        let mut panel = Panel::new(Axis::linear(x_name), Axis::linear(short_name(whole))).high(HEIGHT);
        for (style, Observable { name, mean: (mean, error), values }) in members.iter().enumerate() {
            let points = values.iter().zip(&numbers).map(|(value, x)| Point::new(*x, *value)).collect();
            let (_, part) = group(name);
            let part = if part.is_empty() && members.len() > 1 { "all" } else { part };
            let said = format!("{part} {}", with_error(*mean, *error)).trim().to_owned();
            panel.series.push(Series::points(said, style, points).joined());
            let points = [ends.0, ends.1].map(|x| (x, *mean, error.unwrap_or(0.0)));
            panel.bands.push(Band { name: String::new(), style, points: points.into() });
        }
        panel
    });
    Figure { shares_x: true, ..Figure::new(title, panels.collect()) }
}

/// So that it fits next to a low panel.
fn short_name(whole: &str) -> String {
    whole.replace("topological charge", "Q").replace("energy density", "E").replace("Polyakov loop", "Polyakov")
}

/// The numbers in the names of files, if each has one and they ascend: 000120.nersc is number 120.
fn numbers(files: &[&str]) -> Option<Vec<f64>> {
    let number = |file: &&str| {
        let stem = Path::new(file).file_stem()?.to_str()?;
        let digits = stem.rsplit(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u32>().ok().map(f64::from)
    };
    let numbers = files.iter().map(number).collect::<Option<Vec<f64>>>()?;
    numbers.windows(2).all(|pair| pair[0] < pair[1]).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observables_of_one_kind_and_scale_share_a_panel() {
        assert_eq!(group("plaquette"), ("plaquette", ""));
        assert_eq!(group("Polyakov loop t im"), ("Polyakov loop t", "im"));
        assert_eq!(group("Wilson loop 2,3"), ("Wilson loop 2", "3"));
        let observable = |name: &str, values: [f64; 2]| Observable {
            name: name.to_owned(),
            mean: (values[0], None),
            values: values.into(),
        };
        let all = [
            observable("plaquette", [0.5, 0.6]),
            observable("plaquette spatial", [0.55, 0.65]),
            observable("energy density", [2.0, 2.1]),
            observable("energy density spatial", [1.0, 1.1]),
        ];
        let figure = history(&all, &["a.1", "a.2"], "");
        let shown: Vec<(&str, usize)> =
            figure.panels.iter().map(|panel| (&*panel.y.name, panel.series.len())).collect();
        assert_eq!(shown, [("plaquette", 2), ("E", 1), ("E", 1)]);
    }

    #[test]
    fn configurations_are_where_the_numbers_of_their_files_say() {
        assert_eq!(numbers(&["e/000010.nersc", "e/000030.nersc"]), Some(vec![10.0, 30.0]));
        assert_eq!(numbers(&["cfg_l8.5", "cfg_l8.4"]), None);
        assert_eq!(numbers(&["a.nersc", "b.nersc"]), None);
    }
}
