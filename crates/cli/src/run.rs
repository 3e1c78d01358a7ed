//! `lanefield run`: runs any kernel of the list on arrays, from files to files. The specification of a kernel has its arguments.

mod arguments;
mod axes;
mod describe;
mod kernel_arguments;

use lanefield::io::atomic::write_atomically;
use lanefield_ports::golden::field_array;

use arguments::Named;
pub use arguments::Run;

use super::files::{npy_name, require_outputs};
use super::kernels::Known;
use super::numbers::{bits, with_bits};
use super::output::{facts, joined, print};
use super::ranks::RanksArgs;
use crate::prelude::*;

#[derive(Serialize)]
struct Report {
    kernel: &'static str,
    precision: String,
    sites: String,
    lattice: [usize; 4],
    /// Whether links that include their boundary phases were read.
    #[serde(skip)]
    has_phases: bool,
    outputs: Vec<String>,
    sums: Vec<SumOf>,
}

#[derive(Serialize)]
struct SumOf {
    value: f64,
    bits: String,
}

impl Report {
    fn text(&self) -> String {
        let lattice = joined(&self.lattice, ".");
        let place = format!("{} in {} on {} sites of {lattice}", self.kernel, self.precision, self.sites);
        let sums = self.sums.iter().map(|sum| ("sum", with_bits(sum.value)));
        let outputs = self.outputs.iter().map(|file| ("written", file.clone()));
        let phases = self.has_phases.then(|| ("boundary", "as the links were stored".to_owned()));
        facts([("kernel", place)].into_iter().chain(phases).chain(outputs).chain(sums))
    }
}

impl Run {
    pub fn run(self, list: &Known) -> anyhow::Result<Outcome> {
        if self.describe {
            print(self.describe_arguments())?;
            return Ok(Outcome::Done);
        }
        self.require_arguments(list)?;
        let written: Vec<(String, &Path)> =
            self.outputs.iter().map(|out| (format!("--out {}", out.name), Path::new(&out.value))).collect();
        for Named { name, value } in &self.outputs {
            npy_name(Path::new(value)).map_err(|error| anyhow::anyhow!("--out {name}: {error}"))?;
        }
        let read: Vec<(String, &Path)> = self.files().collect();
        let outputs: Vec<(&str, &Path)> = written.iter().map(|(name, path)| (name.as_str(), *path)).collect();
        let inputs: Vec<(&str, &Path)> = read.iter().map(|(name, path)| (name.as_str(), *path)).collect();
        require_outputs(&outputs, &inputs)?;
        if self.has_phases() && self.hop.boundary != BoundaryPhases::ANTIPERIODIC_IN_TIME {
            say!(
                "note: --boundary changes nothing: links that are read as they are stored already include their phases"
            );
        }
        let loaded = self.load()?;
        let configuration = match &self.config {
            Some(path) => Some(self.read.read(&RanksArgs::default(), path)?.configuration),
            None => None,
        };
        let extents = self.extents(&loaded, configuration.as_ref())?;
        let backend = self.backend.open(self.precision)?;
        let case = backend.install(|| self.case(&backend, &loaded, configuration.as_ref(), extents))?;
        let sum = self.sums.sum(size_of::<Complex<f64>>()).context("failed to plan the sums")?;
        let outcome = backend.install(|| case.run(&backend, sum));
        let outcome = outcome.with_context(|| format!("failed to run {}", self.kernel))?;
        let mut files = Vec::new();
        for Named { name, value } in &self.outputs {
            let Some((_, field)) = outcome.fields.iter().find(|(known, _)| known == name) else { continue };
            let path = Path::new(value);
            let file = field_array(field)?.to_file()?;
            write_atomically(path, |out| out.write_all(&file))?;
            files.push(value.clone());
        }
        let report = Report {
            kernel: self.kernel.name,
            precision: self.precision.to_string(),
            sites: self.sites.to_string(),
            lattice: extents.as_array(),
            has_phases: self.has_phases(),
            outputs: files,
            sums: outcome.sums.iter().map(|&value| SumOf { value, bits: bits(value) }).collect(),
        };
        show(self.json, Head::on(Kind::Run, backend.device()), &report, Report::text)
    }
}
