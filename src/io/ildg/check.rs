//! Lists the defects and missing records of an ILDG or SciDAC file.

use std::io::BufReader;
use std::path::Path;

use lanefield_reference::gauge::SU3_TOLERANCE;
use lanefield_reference::layout::Extents;

use super::header::{record_for, text_of};
use super::reader::{links, observables};
use super::xml::elements;
use super::{CHECKSUM, DATA, FORMAT, IldgError, IldgHeader, LFN, PRIVATE_FILE, PRIVATE_RECORD};
use crate::comm::WholeLattice;
use crate::io::lime::{LimeError, records};
use crate::io::open::open;

/// Lists every defect of the file at `path`, one a line. The list is empty if the ILDG would accept the file. `given`: the lattice, for
/// files that do not say it.
///
/// # Errors
/// [`IldgError::Open`] and [`IldgError::Read`] if the file cannot be judged.
pub fn check(path: &Path, given: Option<Extents>) -> Result<Vec<String>, IldgError> {
    let (file, length) = open(path)?;
    let mut reader = BufReader::new(file);
    let found = match records(&mut reader, length) {
        Err(LimeError::Read(error)) => return Err(error.into()),
        Err(error) => return Ok(vec![error.to_string()]),
        Ok(found) => found,
    };
    let mut defects = Vec::new();
    let of_kind = |kind: &str| found.iter().filter(|record| record.kind == kind).count();
    for kind in [FORMAT, LFN, CHECKSUM, PRIVATE_FILE, PRIVATE_RECORD].into_iter().chain(DATA) {
        if of_kind(kind) > 1 {
            defects.push(format!("there are {} records {kind}: the first one is taken", of_kind(kind)));
        }
    }
    if of_kind(FORMAT) == 0 {
        defects.push(format!("there is no record {FORMAT}: it is not an ILDG file"));
    }
    if of_kind(CHECKSUM) == 0 {
        defects.push(format!("there is no record {CHECKSUM}: damage to the links cannot be detected"));
    }
    if let Some(data) = found.iter().find(|record| DATA.contains(&record.kind.as_str())) {
        for name in [FORMAT, CHECKSUM, PRIVATE_FILE, PRIVATE_RECORD] {
            let Some(record) = record_for(&found, data, name) else { continue };
            match text_of(&mut reader, record, name) {
                Err(IldgError::Read(error)) => return Err(error.into()),
                Err(error) => defects.push(error.to_string()),
                Ok(text) => {
                    if let Err(problem) = elements(&text) {
                        defects.push(format!("the record {name} cannot be understood: {problem}"));
                    }
                }
            }
        }
    }
    let header = match IldgHeader::read(&mut reader, length, given) {
        Err(IldgError::Read(error)) => return Err(error.into()),
        Err(error) => {
            let error = error.to_string();
            if !defects.contains(&error) {
                defects.push(error);
            }
            return Ok(defects);
        }
        Ok(header) => header,
    };
    let unseen = header.problems.iter().filter(|problem| !defects.contains(problem)).cloned().collect::<Vec<_>>();
    defects.extend(unseen);
    let lattice = WholeLattice::alone(header.extents);
    let (configuration, sums) = links(reader, &header, &lattice)?;
    if let Some(said) = header.checksums.filter(|said| *said != sums) {
        let (header, data) = (said, sums);
        let error = IldgError::Checksum { header: header.a, header_b: header.b, data: data.a, data_b: data.b };
        defects.push(error.to_string());
    }
    match configuration.require_finite() {
        Err(error) => defects.push(error.to_string()),
        Ok(()) => {
            let su3 = configuration.require_su3(SU3_TOLERANCE);
            defects.extend(su3.err().map(|error| error.to_string()));
            let of_observables = observables(&header.observables, &configuration, &lattice)?;
            defects.extend(of_observables.into_iter().map(|error| error.to_string()));
        }
    }
    Ok(defects)
}
