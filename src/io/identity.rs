//! The identity of a solve: names and values of everything that its bits depend on. Checkpoints and records contain it. One that belongs to
//! another solve is refused, and the message names the value that differs.

use std::collections::BTreeSet;
use std::fmt;

use lanefield_reference::ensure;
use lanefield_reference::gauge::Configuration;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::comm::{CommError, WholeLattice};
pub use crate::sha256_of_numbers::{Sha256OfNumbers, digest_of_numbers};

/// Names and values in a fixed order: ("precision", "f64"). Device, threads and lane width are not included unless they change bits.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Identity(Vec<(String, String)>);

/// The difference between the identities of two solves.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("it belongs to another solve: its {name} is {theirs}, and here it is {ours}")]
#[allow(missing_docs, reason = "the names say it")]
pub struct IdentityMismatch {
    pub name: String,
    pub theirs: String,
    pub ours: String,
}

impl Identity {
    /// Adds a value.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl fmt::Display) -> Self {
        self.0.push((name.to_owned(), value.to_string()));
        self
    }

    /// Checks that the values that `theirs`, read from a file, contains are those of this identity. Returns the names that it leaves out.
    ///
    /// # Errors
    /// [`IdentityMismatch`] with the first value that differs.
    pub(crate) fn check_given(&self, theirs: &Self) -> Result<Vec<String>, IdentityMismatch> {
        let (given, left_out): (Vec<_>, Vec<_>) =
            self.0.iter().cloned().partition(|(name, _)| theirs.0.iter().any(|(known, _)| known == name));
        Self(given).check(theirs)?;
        Ok(left_out.into_iter().map(|(name, _)| name).collect())
    }

    /// Whether both have the same names.
    pub(crate) fn has_names_of(&self, other: &Self) -> bool {
        let names = |of: &Self| of.0.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<_>>();
        names(self) == names(other)
    }

    /// Checks that `theirs`, read from a file, equals this identity.
    ///
    /// # Errors
    /// [`IdentityMismatch`] with the first value that differs.
    pub fn check(&self, theirs: &Self) -> Result<(), IdentityMismatch> {
        let absent = || "not given".to_owned();
        let value = |of: &Self, name: &str| {
            of.0.iter().find(|(known, _)| known == name).map_or_else(absent, |(_, value)| value.clone())
        };
        for (name, _) in self.0.iter().chain(&theirs.0) {
            let (ours, theirs) = (value(self, name), value(theirs, name));
            ensure!(ours == theirs, IdentityMismatch { name: name.clone(), theirs, ours });
        }
        Ok(())
    }
}

/// Describes a configuration by its extents, the bits of its plaquette, and the digest of its links.
pub(crate) fn describe_configuration(
    configuration: &Configuration,
    lattice: &WholeLattice,
) -> Result<String, CommError> {
    let digest = lattice.digest(configuration.links())?;
    let plaquette = lattice.plaquette(configuration)?.to_bits();
    Ok(format!("{}, plaquette bits {plaquette:016x}, SHA-256 of the links {digest}", lattice.extents()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_that_differs_is_named() {
        let ours = Identity::default().with("operator", "wilson").with("mass", 0.1);
        assert_eq!(ours.check(&ours.clone()), Ok(()));
        let theirs = Identity::default().with("operator", "wilson").with("mass", 0.2);
        let error = ours.check(&theirs).unwrap_err().to_string();
        assert_eq!(error, "it belongs to another solve: its mass is 0.2, and here it is 0.1");
    }

    #[test]
    fn a_value_that_one_of_two_lacks_is_a_difference() {
        let (less, more) = (Identity::default(), Identity::default().with("mass", 1));
        assert!(less.check(&more).unwrap_err().to_string().contains("its mass is 1, and here it is not given"));
        assert!(more.check(&less).is_err());
    }

    #[test]
    fn what_a_file_leaves_out_is_named_and_what_it_gives_must_be_the_same() {
        let ours = Identity::default().with("operator", "wilson").with("mass", 1);
        let theirs = Identity::default().with("mass", 1);
        assert_eq!(ours.check_given(&theirs), Ok(vec!["operator".to_owned()]));
        assert_eq!(ours.check_given(&Identity::default().with("mass", 2)).unwrap_err().name, "mass");
        assert_eq!(ours.check_given(&Identity::default().with("colour", 2)).unwrap_err().name, "colour");
    }
}
