//! A port's profile next to our measurements: kernels of both are joined by name, or by a map of names.

use std::collections::BTreeSet;
use std::path::Path;
use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;

use super::error::CountersError;
use super::kernel::KernelCounters;
use crate::Kind;

/// A pair of names of the same kernel, in a port and here: `EOCloverFBCGPU=eo_clover`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameMap {
    pub theirs: String,
    pub ours: String,
}

impl FromStr for NameMap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=').map(|(theirs, ours)| (theirs.trim(), ours.trim())) {
            Some((theirs, ours)) if !theirs.is_empty() && !ours.is_empty() => {
                Ok(Self { theirs: theirs.to_owned(), ours: ours.to_owned() })
            }
            _ => Err(format!("invalid pair of names '{text}': expected THEIRS=OURS, as EOCloverFBCGPU=eo_clover")),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OurKernel {
    pub kernel: String,
    pub variant: String,
    pub lattice: Option<[u64; 4]>,
    pub precision: String,
    pub seconds: f64,
    /// The ideal bytes divided by the time, in bytes per second.
    pub bytes_per_second: Option<f64>,
    pub share_of_ceiling: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    pub theirs: KernelCounters,
    /// Our fastest measurement of the kernel with this name, on one lattice in one precision, with correct bits; `None` if there is none.
    pub ours: Option<OurKernel>,
    /// Their time divided by ours: above 1 if ours is faster.
    pub times_ours: Option<f64>,
}

/// The rows of a JSON document of `lanefield bench` that were timed and have correct bits.
pub fn our_kernels(path: &Path) -> Result<Vec<OurKernel>, CountersError> {
    let text =
        lanefield::bounded::read(path).map_err(|source| CountersError::Read { path: path.to_owned(), source })?;
    let no_bench =
        |reason: &str| CountersError::unfit(path, format!("is not a JSON document of `lanefield bench`: {reason}"));
    let document: Value = serde_json::from_slice(&text).map_err(|error| no_bench(&error.to_string()))?;
    let kind = document["kind"].as_str().and_then(Kind::of).filter(|kind| kind.name().starts_with(Kind::Bench.name()));
    let kind = kind.ok_or_else(|| no_bench(&format!("its kind is {}", document["kind"])))?;
    if document["schema"] != kind.schema() {
        let (found, read) = (&document["schema"], kind.schema());
        return Err(no_bench(&format!("its schema is {found}, and this version reads {read}: print it again")));
    }
    let rows = document["rows"].as_array().ok_or_else(|| no_bench("it has no rows"))?;
    let ours: Vec<OurKernel> = rows.iter().filter(|row| row["bit_true"] != false).filter_map(our_kernel).collect();
    if ours.is_empty() { Err(no_bench("no row has a kernel and a median time")) } else { Ok(ours) }
}

fn our_kernel(row: &Value) -> Option<OurKernel> {
    let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    Some(OurKernel {
        kernel: row["kernel"].as_str()?.to_owned(),
        variant: text("variant"),
        lattice: serde_json::from_value(row["lattice"].clone()).ok(),
        precision: text("precision"),
        seconds: row["seconds"]["median"].as_f64()?,
        bytes_per_second: row["bytes_per_second"].as_f64(),
        share_of_ceiling: row["share_of_ceiling"].as_f64(),
    })
}

impl Beside {
    /// Joins kernels by name, ignoring case, after applying `maps`. A profile has neither lattice nor precision, so there is a row for each
    /// combination that we measured, with our fastest result.
    pub fn join(theirs: Vec<KernelCounters>, ours: &[OurKernel], maps: &[NameMap]) -> Result<Vec<Self>, CountersError> {
        let check = |name: &str, place: &str, known: BTreeSet<&str>| match known.contains(name) {
            true => Ok(()),
            false => Err(CountersError::NoSuchKernel {
                name: name.to_owned(),
                place: place.to_owned(),
                known: known.into_iter().collect::<Vec<_>>().join(", "),
            }),
        };
        for map in maps {
            check(&map.theirs, "the profile", theirs.iter().map(|kernel| kernel.kernel.as_str()).collect())?;
            check(&map.ours, "our measurements", ours.iter().map(|kernel| kernel.kernel.as_str()).collect())?;
        }
        let mut joined = Vec::new();
        for theirs in theirs {
            let mapped = maps.iter().find(|map| map.theirs == theirs.kernel).map(|map| map.ours.as_str());
            let name = mapped.unwrap_or(&theirs.kernel);
            let mut fastest: Vec<&OurKernel> = Vec::new();
            for ours in ours.iter().filter(|ours| ours.kernel.eq_ignore_ascii_case(name)) {
                let alike =
                    |other: &&mut &OurKernel| (other.lattice, &other.precision) == (ours.lattice, &ours.precision);
                match fastest.iter_mut().find(alike) {
                    Some(known) if known.seconds <= ours.seconds => {}
                    Some(known) => *known = ours,
                    None => fastest.push(ours),
                }
            }
            let beside = |ours: Option<&OurKernel>| Self {
                times_ours: theirs.seconds.zip(ours).map(|(seconds, ours)| seconds / ours.seconds),
                theirs: theirs.clone(),
                ours: ours.cloned(),
            };
            match fastest.is_empty() {
                true => joined.push(beside(None)),
                false => joined.extend(fastest.into_iter().map(|ours| beside(Some(ours)))),
            }
        }
        Ok(joined)
    }
}
