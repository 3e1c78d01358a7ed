//! The sources of `propagator` and `spectrum measure`: twelve columns by name or from a file, and the links on which they are smeared.

use std::str::FromStr;

use lanefield::comm::WholeLattice;
use lanefield::gauge::{GaugeField, Smearing};
use lanefield::io::npy::{self, ComplexValues};
use lanefield::io::sidecar::{ConfigurationInput, SourceInput, SourceKind};
use lanefield::observable::{COLUMNS, QuarkSource, Source, Wuppertal, columns_of_propagator, times_of_columns};
use serde::Deserialize;

use crate::configuration::ReadArgs;
use crate::files::{check_beside, npy_error};
use crate::output::joined;
use crate::prelude::*;
use crate::ranks::RanksArgs;
use crate::source::field::described;

/// Smearing of sources and sinks, and its links.
#[derive(Args, Clone, Debug)]
pub struct SmearArgs {
    /// Smear the source within its time slice (Wuppertal): ALPHA,STEPS
    #[arg(long, value_name = "ALPHA,STEPS", allow_hyphen_values = true)]
    pub smear_source: Option<Wuppertal>,
    /// Smear quarks on other links than the operator's: those of this file, or of the configuration smeared as by `lanefield smear --smear`
    #[arg(long, value_name = "FILE|KIND:NUMBERS")]
    pub smear_links: Option<SmearLinks>,
}

/// The links on which quarks are smeared.
#[derive(Clone, Debug)]
pub enum SmearLinks {
    Smeared(Smearing),
    File(PathBuf),
}

impl FromStr for SmearLinks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(smearing) => Ok(Self::Smeared(smearing)),
            Err(_) if Path::new(text).exists() => Ok(Self::File(text.into())),
            Err(error) => Err(format!("there is no file '{text}', and as a smearing: {error}")),
        }
    }
}

/// These links, which may still have to be computed, and their description.
pub struct Links {
    of: Result<Configuration, Smearing>,
    pub description: String,
}

impl SmearArgs {
    /// The file that is read, with the name of its argument.
    pub fn file(&self) -> Option<(&'static str, &Path)> {
        match &self.smear_links {
            Some(SmearLinks::File(path)) => Some(("--smear-links", path)),
            _ => None,
        }
    }

    /// Fails if there are links for smearing but nothing is smeared.
    pub fn require_use(&self, smears_sink: bool) -> anyhow::Result<()> {
        ensure!(
            self.smear_links.is_none() || self.smear_source.is_some() || smears_sink,
            "--smear-links needs smeared quarks: add --smear-source, or leave out --smear-links"
        );
        Ok(())
    }

    /// The links, if they are not those of the operator.
    pub fn links(&self, read: &ReadArgs, ranks: &RanksArgs, lattice: &WholeLattice) -> anyhow::Result<Option<Links>> {
        Ok(match &self.smear_links {
            None => None,
            Some(SmearLinks::Smeared(smearing)) => {
                smearing.check()?;
                Some(Links { of: Err(*smearing), description: smearing.to_string() })
            }
            Some(SmearLinks::File(path)) => {
                let file = read.read_any(ranks, path)?;
                let (its, needed) = (file.lattice.extents(), lattice.extents());
                ensure!(
                    its.as_array() == needed.as_array(),
                    "--smear-links {} has the lattice {its}, and the configuration has {needed}: they must be the same",
                    path.display()
                );
                let digest = ConfigurationInput::of(&file.configuration, &file.lattice)?.sha256_of_links;
                Some(Links { of: Ok(file.configuration), description: format!("SHA-256 {digest}") })
            }
        })
    }
}

impl Links {
    /// The links, computed from a configuration if they are not from a file.
    pub fn on(&self, backend: &AnyBackend, configuration: &Configuration) -> anyhow::Result<Configuration> {
        let smearing = match &self.of {
            Ok(links) => return Ok(links.clone()),
            Err(smearing) => smearing,
        };
        let smear = || {
            let mut field = GaugeField::new(backend, configuration, LaneChoice::Auto)?;
            field.smear(smearing)?;
            field.configuration()
        };
        smear().with_context(|| format!("failed to smear links by {smearing}"))
    }
}

/// A source, complete except for the links that smear it.
pub struct Columns {
    pub source: Source,
    /// For a file: its columns, their digest, and their time slice if they lie in one.
    file: Option<(Vec<Complex<f64>>, String, Option<usize>)>,
}

/// A source as files of correlators and reports name it: a point by its coordinates, others by a description.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NamedSource {
    Point([usize; 4]),
    Other(String),
}

impl NamedSource {
    pub fn text(&self) -> String {
        match self {
            Self::Point(position) => format!("x,y,z,t = {}", joined(position, ",")),
            Self::Other(name) => name.clone(),
        }
    }
}

impl Columns {
    /// Reads the local volume of a source, if it is a file.
    pub fn read(source: &Source, extents: Extents, lattice: &WholeLattice) -> anyhow::Result<Self> {
        source.require_inside(extents)?;
        let Source::File(path) = source else { return Ok(Self { source: source.clone(), file: None }) };
        check_beside(path)?;
        let values = columns_of_file(path, extents)?;
        let times = times_of_columns(&values, extents, lattice)?;
        ensure!(!times.is_empty(), "the source {} is zero everywhere", path.display());
        let time = (times.len() == 1).then(|| times[0]);
        let digest = lattice.digest(&values)?;
        Ok(Self { source: source.clone(), file: Some((values, digest, time)) })
    }

    pub fn of<'a>(&'a self, smearing: Option<Wuppertal>, links: Option<&'a Configuration>) -> QuarkSource<'a> {
        let file = self.file.as_ref().map(|(values, _, time)| (&values[..], *time));
        QuarkSource { source: self.source.clone(), file, smearing, links }
    }

    pub fn time(&self) -> Option<usize> {
        self.of(None, None).time()
    }

    /// `point:0,0,0,0`; for a file its digest.
    pub fn name(&self) -> String {
        self.file.as_ref().map_or_else(|| self.source.to_string(), |(_, digest, _)| format!("of SHA-256 {digest}"))
    }

    pub fn named(&self) -> NamedSource {
        match self.source {
            Source::Point { position, .. } => NamedSource::Point(position),
            _ => NamedSource::Other(self.name()),
        }
    }

    /// The description for a sidecar.
    pub fn described(&self, smear: &SmearArgs, links: Option<&Links>) -> SourceInput {
        let kind = match &self.file {
            Some((_, digest, time)) => SourceKind::File { sha256_of_numbers: digest.clone(), time: *time },
            None => described(&self.source, String::new(), 1),
        };
        let smearing = smear.smear_source.map(|smearing| smearing.to_string());
        SourceInput { kind, smearing, smear_links: links.map(|links| links.description.clone()) }
    }
}

/// The twelve columns of an array (T, Z, Y, X, 4, 4, 3, 3) or (12, T, Z, Y, X, 4, 3), as spinors at each site.
fn columns_of_file(path: &Path, extents: Extents) -> anyhow::Result<Vec<Complex<f64>>> {
    let failed = |error| npy_error(path, error);
    let shape = npy::read_header(path).map_err(failed)?.shape;
    let of_site = shape.get(4..).unwrap_or_default();
    let is_list = shape.len() == 7 && shape[0] == COLUMNS && shape[5..] == [4, 3];
    if !is_list && of_site != [4, 4, 3, 3] {
        let one = if of_site == [4, 3] { ", and `lanefield solve` accepts a single spinor field" } else { "" };
        bail!(
            "the source {} has the shape {shape:?}: a propagator is solved from twelve columns, (T, Z, Y, X, 4, 4, 3, 3) or (12, T, Z, Y, X, 4, 3){one}",
            path.display()
        );
    }
    let array = if extents.is_part() { npy::read_part(path, is_list.into(), extents) } else { npy::read_complex(path) };
    let array = array.map_err(failed)?;
    array.require_finite().map_err(failed)?;
    let (its, values): (Extents, ComplexValues) = match is_list {
        true => array.into_fermion5().map(|fermion| (fermion.extents, fermion.values)).map_err(failed)?,
        false => array.into_propagator().map(|propagator| (propagator.extents, propagator.values)).map_err(failed)?,
    };
    ensure!(
        its.as_array() == extents.as_array(),
        "the source {} has the lattice {its}, and the configuration has {extents}: they must be the same",
        path.display()
    );
    let values = values.into_f64();
    if is_list { Ok(values) } else { Ok(columns_of_propagator(&values)?) }
}
