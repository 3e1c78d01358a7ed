//! The propagators that `lanefield correlator` reads, and what their sidecars say of them. What contradicts them is refused.

use lanefield::io::sidecar::{ConfigurationInput, Sidecar, SidecarInputs, SourceInput, path_of};
use lanefield::observable::MesonCorrelators;
use serde_json::{Map, Value};

use crate::configuration::list::are_of_same_links;
use crate::prelude::*;

pub struct Propagator {
    pub path: PathBuf,
    pub sidecar: Option<Sidecar>,
    /// The time slice of its source.
    pub origin_time: usize,
}

impl Propagator {
    /// Estimated errors at times from the source, where they are known.
    pub fn relative_errors(&self) -> &Vec<f64> {
        const UNKNOWN: &Vec<f64> = &Vec::new();
        self.sidecar.as_ref().map_or(UNKNOWN, |sidecar| &sidecar.relative_errors)
    }
}

#[derive(Serialize)]
pub struct PropagatorFacts {
    file: String,
    /// The time slice of its source.
    origin_time: usize,
    /// Null without a sidecar.
    source: Option<SourceInput>,
    /// Null without a sidecar.
    configuration: Option<ConfigurationInput>,
    /// Estimated on each time slice, from the source on; empty where they are not known.
    relative_errors: Vec<f64>,
}

impl From<&Propagator> for PropagatorFacts {
    fn from(propagator: &Propagator) -> Self {
        let relative_errors = propagator.relative_errors().clone();
        let inputs = propagator.sidecar.as_ref().map(|sidecar| sidecar.inputs.clone());
        let (source, configuration) = inputs.map(|inputs| (inputs.source, inputs.configuration)).unzip();
        let file = propagator.path.display().to_string();
        Self { file, origin_time: propagator.origin_time, source, configuration, relative_errors }
    }
}

/// Reads the sidecars, and holds them against the arrays, against the time slice that was given, and against each other.
pub fn open(paths: &[PathBuf], origin_time: Option<usize>) -> anyhow::Result<Vec<Propagator>> {
    let several = paths.len() > 1;
    let propagators = paths.iter().map(|path| open_one(path, origin_time, several));
    let propagators = propagators.collect::<anyhow::Result<Vec<_>>>()?;
    for (k, other) in propagators.iter().enumerate() {
        propagators[..k].iter().try_for_each(|one| require_different_sources(one, other))?;
        require_same_quark(&propagators[0], other)?;
    }
    Ok(propagators)
}

fn open_one(path: &Path, origin_time: Option<usize>, several: bool) -> anyhow::Result<Propagator> {
    let sidecar = Sidecar::<SidecarInputs>::read(path)?;
    let (array, beside) = (path.display(), path_of(path));
    let beside = beside.display();
    if let Some(sidecar) = &sidecar {
        sidecar.check(path)?;
    }
    let told = sidecar.as_ref().and_then(|sidecar| sidecar.inputs.source.time());
    let origin_time = match (told, origin_time) {
        (Some(told), Some(given)) if told != given => bail!(
            "--origin-time {given} contradicts {beside}: the source of {array} is at t = {told}; leave --origin-time out"
        ),
        (Some(told), _) => told,
        (None, _) if several => bail!(
            "{array} has no sidecar {beside} that says what it is: propagators are averaged only where each has one"
        ),
        (None, Some(given)) => given,
        (None, None) => {
            let metadata = path.metadata().with_context(|| format!("cannot read {array}"))?;
            ensure!(metadata.is_file(), "cannot read {array}: it is not a file");
            bail!("{array} has no sidecar {beside} that says where its source is: give its time slice, --origin-time T")
        }
    };
    Ok(Propagator { path: path.to_owned(), sidecar, origin_time })
}

/// Only propagators of one quark can be averaged: configurations and sources may differ, and what changes last bits alone.
fn require_same_quark(one: &Propagator, other: &Propagator) -> anyhow::Result<()> {
    let (Some(first), Some(second)) = (&one.sidecar, &other.sidecar) else { return Ok(()) };
    let counts = |name: &str| {
        ["operator", "boundary", "precision", "source.kind", "source.momentum"].contains(&name)
            || ["parameters.", "configuration.lattice"].iter().any(|start| name.starts_with(start))
    };
    if let Some(found) = first.inputs.difference(&second.inputs, counts) {
        bail!(
            "{} and {} cannot be averaged: {} is {} in the sidecar of the first, and {} in that of the second",
            one.path.display(),
            other.path.display(),
            found.name,
            found.first,
            found.second
        );
    }
    Ok(())
}

fn require_different_sources(one: &Propagator, other: &Propagator) -> anyhow::Result<()> {
    let key = |propagator: &Propagator| {
        let inputs = propagator.sidecar.as_ref().map(|sidecar| &sidecar.inputs);
        inputs.map(|inputs| (inputs.source.clone(), inputs.configuration.sha256_of_links.clone()))
    };
    ensure!(
        key(one) != key(other) || key(one).is_none(),
        "{} and {} have the same source on the same configuration: an average needs different ones",
        one.path.display(),
        other.path.display()
    );
    Ok(())
}

/// Refuses a propagator of the same source as an earlier one on a copy of its configuration, rounded or in another gauge: it would count twice.
pub fn require_different_links(propagators: &[Propagator], correlators: &[MesonCorrelators]) -> anyhow::Result<()> {
    let all: Vec<_> = propagators.iter().zip(correlators).collect();
    for (k, (other, theirs)) in all.iter().enumerate() {
        for (one, ours) in &all[..k] {
            let (Some(first), Some(second)) = (&one.sidecar, &other.sidecar) else { continue };
            let [a, b] = [first, second].map(|sidecar| &sidecar.inputs);
            let measured = [(&ours.pion, &theirs.pion), (&ours.rho, &theirs.rho)];
            let plaquettes = [a.configuration.plaquette, b.configuration.plaquette];
            ensure!(
                a.source != b.source || !are_of_same_links(plaquettes, measured.into_iter()),
                "{} and {} have the same source on copies of one configuration, rounded or in another gauge: it would count twice; leave one of them out",
                one.path.display(),
                other.path.display()
            );
        }
    }
    Ok(())
}

/// The samples whose spread is the error: for each configuration the places of its propagators, where there are several configurations; else each
/// propagator for itself.
pub fn samples(propagators: &[Propagator]) -> Vec<Vec<usize>> {
    let mut of_configurations: Vec<(&str, Vec<usize>)> = Vec::new();
    for (k, propagator) in propagators.iter().enumerate() {
        let Some(sidecar) = &propagator.sidecar else { continue };
        let configuration = sidecar.inputs.configuration.sha256_of_links.as_str();
        match of_configurations.iter_mut().find(|(known, _)| *known == configuration) {
            Some((_, places)) => places.push(k),
            None => of_configurations.push((configuration, vec![k])),
        }
    }
    match of_configurations.len() {
        0 | 1 => (0..propagators.len()).map(|k| vec![k]).collect(),
        _ => of_configurations.into_iter().map(|(_, places)| places).collect(),
    }
}

/// Operator, parameters and configurations in words: "clover, mass 0.2, csw 1, csw_t 1; weak.nersc". None without sidecars.
pub fn describe(propagators: &[Propagator]) -> Option<String> {
    let sidecar = propagators.first()?.sidecar.as_ref()?;
    let operator = describe_operator(&sidecar.inputs.operator, &sidecar.inputs.parameters);
    let (sources, configurations) = (propagators.len(), configurations(propagators));
    let file = sidecar.files.get("config").map_or("one configuration", String::as_str);
    let on = match (sources, configurations) {
        (1, _) => file.to_owned(),
        (sources, 1) => format!("{sources} sources on {file}"),
        (sources, configurations) => format!("{sources} sources on {configurations} configurations"),
    };
    Some(format!("{operator}; {on}").replace(char::is_control, " "))
}

fn describe_operator(name: &str, parameters: &Map<String, Value>) -> String {
    let mut parameters: Vec<_> = parameters.iter().collect();
    parameters.sort_by_key(|(key, _)| *key != "mass");
    let parameters = parameters.iter().map(|(key, value)| format!(", {key} {}", value.to_string().replace('"', "")));
    format!("{name}{}", parameters.collect::<String>())
}

pub fn configurations(propagators: &[Propagator]) -> usize {
    let digests = propagators.iter().filter_map(|propagator| propagator.sidecar.as_ref());
    let digests = digests.map(|sidecar| sidecar.inputs.configuration.sha256_of_links.as_str());
    digests.collect::<std::collections::BTreeSet<_>>().len()
}
