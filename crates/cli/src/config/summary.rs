//! The summary of a configuration.

use std::fmt::Display;
use std::path::Path;

use lanefield::io::configuration::{self, ConfigurationFile, Header};
use lanefield::io::nersc::NerscHeader;
use lanefield::reference::gauge::{LINK_WORDS, SITE_WORDS};
use serde::Serialize;

use crate::numbers::small;
use crate::numbers::with_bits;
use crate::output::{facts, joined};

/// The summary of a configuration. As JSON, these fields.
#[derive(Serialize)]
pub struct Summary {
    file: String,
    /// `nersc`, `ildg`, `milc`, `openqcd`, `ddalphaamg`, `hirep`, `npy` or `hdf5`.
    format: String,
    lattice: [usize; 4],
    /// DATATYPE; null except for NERSC.
    datatype: Option<&'static str>,
    /// FLOATING_POINT, or NumPy's dtype. For other formats, what a NERSC file would have.
    floating_point: &'static str,
    /// CHECKSUM, 8 hex digits; suma and sumb for ILDG, sum29 and sum31 for MILC; or null.
    checksum: Option<String>,
    /// Average plaquette of the links; 1 for the free field.
    plaquette: f64,
    /// Average link trace of the links.
    link_trace: f64,
    /// The largest |U U† − 1| or |det U − 1| of any link.
    unitarity_defect: f64,
    /// The logical file name, which ILDG files and sidecars can contain; null if there is none.
    lfn: Option<String>,
    /// ENSEMBLE_ID, ENSEMBLE_LABEL, SEQUENCE_NUMBER, CREATOR and CREATION_DATE of the file; for ILDG files and sidecars the first three; null if
    /// there are none.
    provenance: Option<Provenance>,
}

#[derive(Serialize)]
struct Provenance {
    #[serde(flatten)]
    of: configuration::Provenance,
    /// Null except for NERSC.
    creator: Option<String>,
    creation_date: Option<String>,
}

impl Summary {
    pub fn of(path: &Path, file: &ConfigurationFile) -> anyhow::Result<Self> {
        let ConfigurationFile { configuration, lattice, origin, .. } = file;
        let header = if let Header::Nersc(header) = &origin.header { Some(header) } else { None };
        let two = |[a, b]: [u32; 2]| format!("{a:08x} {b:08x}");
        let checksum = match &origin.header {
            Header::Nersc(header) => header.checksum.map(|sum| format!("{sum:08x}")),
            Header::Ildg(header) => header.checksums.map(|sums| two([sums.a, sums.b])),
            Header::Milc(header) => Some(two(header.checksums)),
            Header::Plain(_) | Header::Npy(_) | Header::Hdf5(_) => None,
        };
        let floating_point = match (origin.floating_point(), &origin.header) {
            (Some(numbers), _) => numbers.name(),
            (None, Header::Npy(precision) | Header::Hdf5(precision)) => precision.dtype(),
            (None, _) => "unknown",
        };
        let mut provenance = origin.provenance();
        Ok(Self {
            file: path.display().to_string(),
            format: origin.format().to_string(),
            lattice: lattice.extents().as_array(),
            datatype: header.map(|header| header.rows.datatype()),
            floating_point,
            checksum,
            plaquette: file.plaquette()?,
            link_trace: lattice.link_trace(configuration)?,
            unitarity_defect: lattice.largest(configuration.unitarity_defect().defect)?,
            lfn: provenance.as_mut().and_then(|provenance| provenance.lfn.take()),
            provenance: provenance.filter(|of| header.is_some() || *of != Default::default()).map(|of| {
                let by = |field: fn(&NerscHeader) -> &String| header.map(|header| field(header).clone());
                Provenance {
                    of,
                    creator: by(|header| &header.creator),
                    creation_date: by(|header| &header.creation_date),
                }
            }),
        })
    }

    pub fn text(&self) -> String {
        let links = self.lattice.iter().product::<usize>() * SITE_WORDS / LINK_WORDS;
        let mut rows = vec![
            ("lattice", format!("{}, {links} links", joined(&self.lattice, "."))),
            ("plaquette", with_bits(self.plaquette)),
            ("link trace", self.link_trace.to_string()),
            ("largest deviation", small(self.unitarity_defect, 2)),
        ];
        let mut row = |name, value: &dyn Display| rows.push((name, value.to_string()));
        match &self.checksum {
            Some(checksum) => row("checksum", checksum),
            None if matches!(&*self.format, "ildg" | "nersc") => {
                row("checksum", &"none in the file: damage cannot be detected");
            }
            None => {}
        }
        row("numbers", &self.floating_point);
        if let Some(datatype) = self.datatype {
            row("datatype", &datatype);
        }
        if let Some(lfn) = &self.lfn {
            row("logical file name", lfn);
        }
        if let Some(Provenance { of, creator, creation_date }) = &self.provenance {
            row("ensemble", &format!("{} {} {}", of.ensemble_id, of.ensemble_label, of.sequence_number));
            if let (Some(creator), Some(date)) = (creator, creation_date) {
                row("creator", &format!("{creator}, {date}"));
            }
        }
        format!("{}\n{}", self.file, facts(rows))
    }
}
