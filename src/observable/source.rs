//! Sources of propagators: a point, smeared or not.

use std::ops::Range;

use lanefield_reference::field::{Spinors, list_of};
use lanefield_reference::gauge::Configuration;
use lanefield_reference::layout::{Coordinate, DIMENSION_NAMES, Extents};
use num_complex::Complex;
use thiserror::Error;

use super::Wuppertal;
use crate::backend::{Backend, BackendError};

/// Colours of a source.
const COLOURS: usize = 3;

/// Where a quark propagates from, in each spin and colour.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PointSource {
    /// The point.
    pub point: Coordinate,
    /// How it is smeared within its time slice, if it is.
    pub smearing: Option<Wuppertal>,
}

/// A point, not smeared.
impl From<Coordinate> for PointSource {
    fn from(point: Coordinate) -> Self {
        Self { point, smearing: None }
    }
}

/// A point that is not on the lattice. The message is a fragment.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{dimension} = {value} of the point source is outside 0 to {last} on {extents}")]
pub struct OutsidePoint {
    /// x, y, z or t.
    pub dimension: &'static str,
    /// The coordinate.
    pub value: usize,
    /// The largest there is.
    pub last: usize,
    /// Of the lattice.
    pub extents: Box<Extents>,
}

/// Refuses a point that is not on the lattice, or on the whole one where `extents` are those of a part.
pub fn require_inside(extents: Extents, point: Coordinate) -> Result<(), OutsidePoint> {
    let extents = extents.global();
    for (d, dimension) in DIMENSION_NAMES.into_iter().enumerate() {
        let (value, last) = (point[d], extents[d] - 1);
        if value > last {
            return Err(OutsidePoint { dimension, value, last, extents: Box::new(extents) });
        }
    }
    Ok(())
}

impl PointSource {
    /// Columns 3·spin + colour of it, as many spinors a site, in site order. On a part of a lattice they are those of its sites.
    pub(super) fn columns<B: Backend>(
        self,
        backend: &B,
        configuration: &Configuration,
        columns: Range<usize>,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        let extents = configuration.extents();
        let colours = self.colours(backend, configuration)?;
        let words = columns.len() * Spinors::WORDS;
        let length = extents.volume() * words;
        let what = || format!("{} sources on {extents}", columns.len());
        let mut sources = list_of(what, length, std::iter::repeat(Complex::ZERO))?;
        for (site, colours) in sources.chunks_exact_mut(words).zip(colours.chunks_exact(COLOURS * COLOURS)) {
            for (spinor, column) in site.chunks_exact_mut(Spinors::WORDS).zip(columns.clone()) {
                let (spin, colour) = (column / COLOURS, column % COLOURS);
                spinor[COLOURS * spin..][..COLOURS].copy_from_slice(&colours[COLOURS * colour..][..COLOURS]);
            }
        }
        Ok(sources)
    }

    /// Three colour vectors a site, one for each colour of the source.
    fn colours<B: Backend>(
        self,
        backend: &B,
        configuration: &Configuration,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        let extents = configuration.extents();
        let length = extents.volume() * COLOURS * COLOURS;
        let what = || format!("the colours of a source on {extents}");
        let mut colours = list_of(what, length, std::iter::repeat(Complex::ZERO))?;
        if let Some(here) = extents.here(self.point) {
            let site = &mut colours[extents.site(here) * COLOURS * COLOURS..];
            (0..COLOURS).for_each(|colour| site[COLOURS * colour + colour] = Complex::ONE);
        }
        match self.smearing {
            Some(smearing) => smearing.smear(backend, configuration, &colours),
            None => Ok(colours),
        }
    }
}
