//! The file of measured correlators: what the quark and its sources are, and for each configuration its correlators. `docs/spectrum.md` describes it.

use lanefield::bounded;
use lanefield::io::atomic::write_atomically;
use lanefield::io::seal::{sealed, unseal};
use lanefield::observable::{Hadron, Momentum, TwistAngle};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::configuration::list::are_of_same_links;
use crate::prelude::*;
use crate::source::quark::NamedSource;

/// The `kind` of every such file.
const KIND: &str = "lanefield spectrum";
const FORMAT: u32 = 1;

/// Correlators of hadrons on several configurations. As JSON, these fields.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Data {
    kind: String,
    format: u32,
    /// The version of the program that wrote it.
    lanefield: String,
    /// The inputs other than the configuration that determine the bits of the correlators.
    pub inputs: Inputs,
    /// In the order in which they were measured.
    pub configurations: Vec<Measured>,
    /// The configuration under way, if some of its sources are done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_way: Option<UnderWay>,
}

/// A quark, its sources, and what was measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Inputs {
    pub lattice: [usize; 4],
    pub operator: String,
    pub parameters: Map<String, Value>,
    /// Boundary phases in x,y,z,t.
    pub boundary: String,
    pub reconstruct: usize,
    /// The order in which the hop adds its legs.
    pub legs: String,
    pub precision: String,
    pub tolerance: f64,
    /// `even-odd` or `none`.
    pub preconditioning: String,
    /// Points x, y, z, t, or names of other sources: the correlators are the averages over them.
    pub sources: Vec<NamedSource>,
    /// The links of the smearing, if they are not the operator's: how they were smeared, or their SHA-256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smear_links: Option<String>,
    /// α and steps of Wuppertal smearing, or null.
    pub source_smearing: Option<String>,
    /// The same at the sink.
    pub sink_smearing: Option<String>,
    /// ω in degrees, of the rotation to the physical basis; null without twisted mass.
    #[serde(default)]
    pub twist_angle: Option<TwistAngle>,
    pub hadrons: Vec<Hadron>,
    /// In units of 2π/L.
    pub momenta: Vec<Momentum>,
}

/// A configuration of which some sources are done.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct UnderWay {
    pub sha256_of_links: String,
    /// The first ones, in the order of [`Inputs::sources`].
    pub sources: Vec<OfSource>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct OfSource {
    /// Real parts, of each hadron at each momentum ([`Data::kinds`]).
    pub correlators: Vec<Vec<f64>>,
    /// Of each propagator, as those of [`Measured`].
    pub relative_errors: Vec<Vec<f64>>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measured {
    pub file: String,
    pub sha256_of_links: String,
    pub plaquette: f64,
    /// Estimated relative errors of the propagators on each time slice, from the source on: the largest of all solves. Empty where they are not
    /// known.
    #[serde(default)]
    pub relative_errors: Vec<f64>,
    /// Of each hadron at each momentum.
    pub correlators: Vec<Correlator>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Correlator {
    pub hadron: Hadron,
    pub momentum: Momentum,
    /// Real parts at times 0 to T − 1 from the source.
    pub values: Vec<f64>,
}

impl Measured {
    /// Whether it was measured on the same links, also rounded or in another gauge.
    pub fn is_copy_of(&self, other: &Self) -> bool {
        let correlators = self.correlators.iter().zip(&other.correlators).map(|(a, b)| (&a.values, &b.values));
        self.sha256_of_links == other.sha256_of_links
            || are_of_same_links([self.plaquette, other.plaquette], correlators)
    }
}

impl Data {
    pub fn new(inputs: Inputs) -> Self {
        let lanefield = env!("CARGO_PKG_VERSION").to_owned();
        Self { kind: KIND.to_owned(), format: FORMAT, lanefield, inputs, configurations: Vec::new(), under_way: None }
    }

    /// Reads a file, whose correlators are as many and as long as it says.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let text = bounded::read_text(path).with_context(|| format!("cannot read {name}"))?;
        let not = || format!("{name} is not a file of lanefield spectrum measure");
        let mut value: Value = serde_json::from_str(&text).with_context(not)?;
        ensure!(value.get("kind").and_then(Value::as_str) == Some(KIND), "{}: its kind is not \"{KIND}\"", not());
        let format = value.get("format").and_then(Value::as_u64);
        ensure!(
            format == Some(FORMAT.into()),
            "{name} has format {}, and this program reads {FORMAT}",
            format.map_or_else(|| "none".to_owned(), |format| format.to_string())
        );
        unseal(&mut value).map_err(|damage| anyhow::anyhow!("{name}: {damage}"))?;
        let data: Self = serde_json::from_value(value).with_context(not)?;
        ensure!(
            !data.inputs.parameters.contains_key("mu") || data.inputs.twist_angle.is_some(),
            "{name} has correlators of twisted mass, and no twist angle: an earlier version measured them in the twisted basis; measure them again"
        );
        let times = data.inputs.lattice[3];
        for measured in &data.configurations {
            let of = &measured.file;
            for &hadron in &data.inputs.hadrons {
                for &momentum in &data.inputs.momenta {
                    let correlator = measured.correlators.iter().find(|c| (c.hadron, c.momentum) == (hadron, momentum));
                    let Some(correlator) = correlator else {
                        bail!("{name}: {of} has no {hadron} at momentum {momentum}")
                    };
                    let found = correlator.values.len();
                    ensure!(found == times, "{name}: {hadron} of {of} has {found} times, on a lattice of {times}");
                }
            }
        }
        let kinds = data.kinds().count();
        let is_whole =
            |of: &OfSource| of.correlators.len() == kinds && of.correlators.iter().all(|values| values.len() == times);
        if let Some(UnderWay { sources, .. }) = &data.under_way {
            ensure!(
                sources.len() < data.inputs.sources.len() && sources.iter().all(is_whole),
                "{name}: the configuration under way has other sources or correlators than the file says"
            );
        }
        Ok(data)
    }

    /// Writes the file, whose bytes depend on the numbers alone.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = sealed(self)?;
        write_atomically(path, |writer| writer.write_all(text.as_bytes()))?;
        Ok(())
    }

    /// Refuses to continue, or to be combined, with data that was measured with other inputs.
    pub fn require_same(&self, other: &Inputs, who: [&str; 2]) -> anyhow::Result<()> {
        let values = [serde_json::to_value(&self.inputs)?, serde_json::to_value(other)?];
        if let Some(found) = lanefield::io::sidecar::difference_of(&values[0], &values[1], |_| true) {
            bail!("{} was measured with {} {}, and {} with {}", who[0], found.name, found.first, who[1], found.second);
        }
        Ok(())
    }

    /// Whether the configuration of these links was measured.
    pub fn has(&self, sha256_of_links: &str) -> bool {
        self.configurations.iter().any(|measured| measured.sha256_of_links == sha256_of_links)
    }

    /// What the first sources gave on the configuration of these links, which was under way.
    pub fn sources_of(&self, sha256_of_links: &str) -> Vec<OfSource> {
        let of_links = self.under_way.iter().filter(|under_way| under_way.sha256_of_links == sha256_of_links);
        of_links.flat_map(|under_way| under_way.sources.clone()).collect()
    }

    pub fn measured(&self, hadron: Hadron, momentum: Momentum) -> Vec<Vec<f64>> {
        let of = |measured: &Measured| {
            let found = measured.correlators.iter().find(|c| (c.hadron, c.momentum) == (hadron, momentum));
            found.map(|correlator| correlator.values.clone())
        };
        self.configurations.iter().filter_map(of).collect()
    }

    pub fn kinds(&self) -> impl Iterator<Item = (Hadron, Momentum)> {
        self.inputs
            .hadrons
            .iter()
            .flat_map(|&hadron| self.inputs.momenta.iter().map(move |&momentum| (hadron, momentum)))
    }
}

/// "pion", or "pion at 1,0,0".
pub fn name_of(hadron: Hadron, momentum: Momentum) -> String {
    if momentum == Momentum::ZERO { hadron.to_string() } else { format!("{hadron} at {momentum}") }
}
