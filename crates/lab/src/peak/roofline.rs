//! The roofline model (S. Williams, A. Waterman and D. Patterson, 2009): the highest possible rate of a kernel as a function of its operations per
//! byte. A bandwidth is a slanted roof, the rate of arithmetic a horizontal one, and they meet at the ridge.

use lanefield::kernel::Ceiling;
use serde::Serialize;

use super::{Peak, Stored};
use crate::KernelRecord;
use crate::json::si::giga;
use crate::plausible;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Roof {
    pub name: String,
    #[serde(rename = "bytes_per_second", serialize_with = "giga")]
    pub gb_per_second: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LevelRoof {
    pub name: String,
    #[serde(rename = "flops_per_second", serialize_with = "giga")]
    pub gflop_per_second: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Point {
    /// The name of the kernel, and the properties of its fields.
    pub name: String,
    /// Operations per ideal byte.
    pub flops_per_byte: f64,
    #[serde(rename = "flops_per_second", serialize_with = "giga")]
    pub gflop_per_second: f64,
    /// Its share of what the memory roof allows; `None` if fields stay in a cache, which shows in a share that memory could not reach.
    pub share_of_memory_roof: Option<f64>,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Roofline {
    /// From memory to the nearest cache, as far as they were measured.
    pub roofs: Vec<Roof>,
    pub levels: Vec<LevelRoof>,
    pub points: Vec<Point>,
}

pub fn ridge(gb_per_second: f64, gflop_per_second: f64) -> f64 {
    gflop_per_second / gb_per_second
}

pub fn attainable(gb_per_second: f64, gflop_per_second: f64, flops_per_byte: f64) -> f64 {
    (gb_per_second * flops_per_byte).min(gflop_per_second)
}

impl Roofline {
    /// The roofs of a device, with the kernels that were timed on it and do arithmetic.
    pub fn new(peak: &Peak, kernels: &[KernelRecord]) -> Self {
        let roof = |name: &str, rate: Option<f64>| Some(Roof { name: name.to_owned(), gb_per_second: usable(rate)? });
        let level = |name: Stored, rate: Option<f64>| {
            Some(LevelRoof { name: name.to_string(), gflop_per_second: usable(rate)? })
        };
        let roofs = [
            roof("memory (copy)", peak.copy_gb_per_second),
            roof("L2", peak.l2_gb_per_second),
            roof("L1", peak.l1_gb_per_second),
        ];
        let levels = [level(Stored::F32, peak.f32_gflop_per_second), level(Stored::F64, peak.f64_gflop_per_second)];
        Self {
            roofs: roofs.into_iter().flatten().collect(),
            levels: levels.into_iter().flatten().collect(),
            points: kernels.iter().filter_map(|kernel| point(peak, kernel)).collect(),
        }
    }
}

fn usable(rate: Option<f64>) -> Option<f64> {
    rate.filter(|rate| *rate > 0.0 && rate.is_finite())
}

fn point(peak: &Peak, kernel: &KernelRecord) -> Option<Point> {
    let (work, rate) = (kernel.work?, usable(kernel.rates().map(|(flops, _)| flops))?);
    let flops_per_byte = usable(Some(work.flops as f64 / work.bytes as f64))?;
    let memory = match kernel.ceiling {
        Ceiling::Copy => peak.copy_gb_per_second,
        Ceiling::Read => peak.read_gb_per_second,
    };
    let links = kernel.fields.reconstruct.map(|reals| format!(", reconstruct {reals}")).unwrap_or_default();
    Some(Point {
        name: format!("{} {}{links}", kernel.kernel, kernel.fields.precision),
        flops_per_byte,
        gflop_per_second: rate / 1e9,
        share_of_memory_roof: usable(memory)
            .and_then(|memory| plausible::share(rate / 1e9 / (memory * flops_per_byte)).ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_the_ridge_memory_binds_and_above_it_arithmetic() {
        let (memory, arithmetic) = (4000.0, 64_000.0);
        assert_eq!(ridge(memory, arithmetic), 16.0);
        assert_eq!(attainable(memory, arithmetic, 1.0), 4000.0);
        assert_eq!(attainable(memory, arithmetic, 16.0), 64_000.0);
        assert_eq!(attainable(memory, arithmetic, 100.0), 64_000.0);
    }

    #[test]
    fn what_was_not_measured_has_no_roof() {
        let peak = Peak {
            copy_gb_per_second: Some(4000.0),
            l2_gb_per_second: Some(f64::NAN),
            f64_gflop_per_second: Some(33_000.0),
            ..Peak::default()
        };
        let roofline = Roofline::new(&peak, &[]);
        let names: Vec<&str> = roofline.roofs.iter().map(|roof| roof.name.as_str()).collect();
        assert_eq!(names, ["memory (copy)"]);
        assert_eq!(roofline.levels, [LevelRoof { name: "f64".to_owned(), gflop_per_second: 33_000.0 }]);
    }
}
