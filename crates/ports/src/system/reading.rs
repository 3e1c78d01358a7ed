//! The possible meanings of a solution array.

use std::fmt;

use crate::order::GammaBasis;

/// A possible meaning of an array.
#[derive(Clone, Copy, Default)]
pub struct Reading {
    pub gamma: GammaBasis,
    /// Source and sink of a propagator are exchanged in spin, or in colour.
    pub spins: bool,
    pub colours: bool,
    pub conjugated: bool,
    /// Staggered phases in the order t, x, y, z.
    pub phases_of_milc: bool,
}

impl Reading {
    /// All meanings except the array as it is.
    pub fn all(is_propagator: bool, has_spins: bool) -> Vec<Self> {
        let exchanges: &[(bool, bool)] =
            if is_propagator { &[(false, false), (true, false), (true, true)] } else { &[(false, false)] };
        let bases: &[GammaBasis] =
            if is_propagator || has_spins { GammaBasis::ALL } else { &[GammaBasis::DegrandRossi] };
        let mut readings = Vec::new();
        for &(spins, colours) in exchanges {
            readings.extend(bases.iter().map(|&gamma| Self { gamma, spins, colours, ..Self::default() }));
            readings.push(Self { spins, colours, conjugated: true, ..Self::default() });
        }
        if !is_propagator && !has_spins {
            readings.push(Self { phases_of_milc: true, ..Self::default() });
        }
        // The first one is the array as it is.
        readings.remove(0);
        readings
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exchanged = match (self.spins, self.colours) {
            (true, true) => Some("the spins and colours of source and sink exchanged".to_owned()),
            (true, false) => Some("the spins of source and sink exchanged".to_owned()),
            _ => None,
        };
        let conjugated = self.conjugated.then(|| "complex conjugation".to_owned());
        let basis =
            (self.gamma != GammaBasis::DegrandRossi).then(|| format!("the basis {} of the γ matrices", self.gamma));
        let phases = self.phases_of_milc.then(|| "staggered phases in the order t, x, y, z, as MILC's".to_owned());
        f.write_str(
            &exchanged.into_iter().chain(conjugated).chain(basis).chain(phases).collect::<Vec<_>>().join(" and "),
        )
    }
}
