//! Configurations that `lanefield config` writes.

use lanefield::comm::WholeLattice;
use lanefield::io::claims;
use lanefield::io::configuration::{Described, Origin, is_stream};

use super::summary::Summary;
use crate::configuration::{FormatArgs, ReadArgs};
use crate::prelude::*;
use crate::ranks::RanksArgs;

/// A configuration to write, of which this rank has a local volume.
pub struct Made<'a> {
    pub configuration: &'a Configuration,
    pub lattice: &'a WholeLattice,
    pub ranks: &'a RanksArgs,
}

impl Made<'_> {
    /// Writes the configuration, reads the file again, and shows its summary.
    pub fn write(
        &self,
        path: &Path,
        format: &FormatArgs,
        (origin, made_by, described): (Option<&Origin>, Option<String>, Option<Described>),
        json: bool,
    ) -> anyhow::Result<Outcome> {
        let &Self { configuration, lattice, ranks } = self;
        format.write(path, (configuration, lattice), origin, (made_by, described))?;
        if !lattice.communicator().any(lattice.is_first() && !is_stream(path))? {
            // A device or a pipe cannot be read again.
            return Ok(Outcome::Done);
        }
        let summary = Summary::of(path, &ReadArgs::default().read_any(ranks, &claims::written_to(path))?)?;
        show(json, Head::of(Kind::Config), &summary, Summary::text)
    }
}
