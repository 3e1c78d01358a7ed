//! Sources by name, such as `point:0,0,0,0` or `z2:7,3`, for all commands and interfaces, and the twelve right-hand sides of propagators that they
//! define (`docs/spectrum.md`).

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use lanefield_reference::ensure;
use lanefield_reference::field::{FieldError, Propagator, list_of};
use lanefield_reference::layout::{Coordinate, DIMENSION_NAMES};
use lanefield_reference::prelude::*;
use lanefield_reference::random::{Stream, gaussian_pair, z2_number, z4_number};
use thiserror::Error;

use super::columns::{COLUMNS, word_of_column};
use super::{Momentum, Wuppertal};
use crate::backend::{Backend, BackendError};
use crate::comm::{CommError, WholeLattice};

/// Colours of a source.
const COLOURS: usize = 3;

/// Distributions of random sources. Each number depends only on the seed, the site and the word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Noise {
    /// Gaussian, with variance 1 for each real.
    Gauss,
    /// One of 1, i, −1, −i, with equal probability.
    Z4,
    /// 1 or −1, with equal probability.
    Z2,
}

lanefield_reference::named!(Noise: Gauss = "gauss", Z4 = "z4", Z2 = "z2");

impl Noise {
    fn number(self, seed: u64, site: u64, word: u32) -> Complex<f64> {
        match self {
            Self::Gauss => {
                let (re, im) = gaussian_pair(seed, Stream::SpinorSource, site, word);
                Complex::new(re, im)
            }
            Self::Z4 => z4_number(seed, Stream::Z4Source, site, word),
            Self::Z2 => z2_number(seed, Stream::Z4Source, site, word),
        }
    }
}

/// A spin (or a component of colour vectors) and a colour.
pub type Component = [usize; 2];

/// A source by its name. Noise, and sources with a spin and a colour, are one field. Points, walls and waves without spin and colour are the twelve
/// columns of a propagator, and so is noise on a time slice.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Source {
    /// Read from an array.
    File(PathBuf),
    /// Random numbers, on all sites or on a time slice.
    Noise { noise: Noise, seed: u64, time: Option<usize> },
    /// exp(+ip·x) on a time slice; 1 at rest.
    Wall {
        momentum: Momentum,
        time: usize,
        /// The spin and colour; `None` for a source in each spin and colour.
        component: Option<Component>,
    },
    /// 1 at a site.
    Point {
        position: Coordinate,
        /// The spin and colour; `None` for a source in each spin and colour.
        component: Option<Component>,
    },
}

/// N non-negative integers, separated by commas.
fn whole_numbers<const N: usize>(text: &str) -> Option<[usize; N]> {
    let numbers: Option<Vec<usize>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    numbers?.try_into().ok()
}

/// Integers, optionally followed by a spin and a colour.
fn with_component<const N: usize, const M: usize>(text: &str) -> Option<([usize; N], Option<Component>)> {
    if let Some(numbers) = whole_numbers::<N>(text) {
        return Some((numbers, None));
    }
    let numbers = whole_numbers::<M>(text)?;
    Some((numbers[..N].try_into().ok()?, Some(numbers[N..].try_into().ok()?)))
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, numbers) = text.split_once(':').unwrap_or((text, ""));
        let invalid = |what: &str, expected: &str| format!("invalid {what} '{text}': expected {expected}");
        let noise = |noise: Noise| {
            let (seed, time) = numbers.split_once(',').map_or((numbers, None), |(seed, time)| (seed, Some(time)));
            let seed = seed.trim().parse().map_err(|_| {
                format!("invalid seed '{seed}' in '{text}': expected a whole number from 0 to {}", u64::MAX)
            })?;
            let time = time.map(|time| time.trim().parse()).transpose();
            let time = time.map_err(|_| invalid("source", "SEED or SEED,t, as in z2:7 or z2:7,3"))?;
            Ok::<_, String>(Self::Noise { noise, seed, time })
        };
        let source = match kind {
            _ if !text.contains(':') => None,
            "point" => {
                let expected = "four whole numbers, as in point:0,0,0,0 for x,y,z,t, or six with a spin and a colour";
                let (position, component) =
                    with_component::<4, 6>(numbers).ok_or_else(|| invalid("point", expected))?;
                Some(Self::Point { position, component })
            }
            "wall" => {
                let expected = "a time slice, as in wall:0, or three whole numbers t,spin,colour";
                let ([time], component) = with_component::<1, 3>(numbers).ok_or_else(|| invalid("wall", expected))?;
                Some(Self::Wall { momentum: Momentum::ZERO, time, component })
            }
            "momentum" => {
                let expected =
                    "four whole numbers, as in momentum:1,0,-1,0 for nx,ny,nz,t, or six with a spin and a colour";
                let read = || {
                    let (at, _) = numbers.match_indices(',').nth(2)?;
                    Some((numbers[..at].parse().ok()?, with_component::<1, 3>(&numbers[at + 1..])?))
                };
                let (momentum, ([time], component)) = read().ok_or_else(|| invalid("source", expected))?;
                Some(Self::Wall { momentum, time, component })
            }
            _ => Noise::ALL.into_iter().find(|known| known.name() == kind).map(noise).transpose()?,
        };
        let is_word = !kind.is_empty() && kind.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        match source {
            Some(
                Self::Point { component: Some([_, colour]), .. } | Self::Wall { component: Some([_, colour]), .. },
            ) if colour >= COLOURS => Err(format!("invalid colour {colour} in '{text}': expected 0 to 2")),
            Some(source) => Ok(source),
            None if is_word && !Path::new(text).exists() => {
                Err(format!("there is no file '{text}' and no source '{kind}': expected {}, or a file", Self::KINDS))
            }
            None => Ok(Self::File(text.into())),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (numbers, component) = match self {
            Self::File(path) => return write!(f, "{}", path.display()),
            Self::Noise { seed, time: None, .. } => (seed.to_string(), None),
            Self::Noise { seed, time: Some(time), .. } => (format!("{seed},{time}"), None),
            Self::Wall { momentum: Momentum::ZERO, time, component } => (time.to_string(), *component),
            Self::Wall { momentum, time, component } => (format!("{momentum},{time}"), *component),
            Self::Point { position: [x, y, z, t], component } => (format!("{x},{y},{z},{t}"), *component),
        };
        write!(f, "{}:{numbers}", self.kind())?;
        component.map_or(Ok(()), |[spin, colour]| write!(f, ",{spin},{colour}"))
    }
}

impl Source {
    /// The kinds of sources that are computed, for messages.
    pub const KINDS: &str =
        "gauss:SEED, z4:SEED, z2:SEED, point:x,y,z,t,spin,colour, wall:t,spin,colour, momentum:nx,ny,nz,t,spin,colour";

    /// The name of the kind of source.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Noise { noise, .. } => noise.name(),
            Self::Wall { momentum: Momentum::ZERO, .. } => "wall",
            Self::Wall { .. } => "momentum",
            Self::Point { .. } => "point",
        }
    }

    /// Parses a source that is one field.
    pub fn field(text: &str) -> Result<Self, String> {
        let source: Self = text.parse()?;
        match source {
            Self::Wall { component: None, .. } | Self::Point { component: None, .. } => Err(format!(
                "'{text}' is a source in each spin and colour, twelve fields: one field needs a spin and a colour, as in {text},0,0"
            )),
            source => Ok(source),
        }
    }

    /// Parses a source that has the twelve columns of a propagator.
    pub fn columns(text: &str) -> Result<Self, String> {
        let source: Self = text.parse()?;
        match source {
            Self::Wall { component: Some(_), .. } | Self::Point { component: Some(_), .. } => Err(format!(
                "'{text}' is one field, and a propagator is solved from each spin and colour: leave spin and colour out"
            )),
            Self::Noise { noise: Noise::Gauss, .. } => Err(format!(
                "'{text}': the one-end trick needs numbers of modulus 1, and Gaussian ones are not: use z2:SEED,t or z4:SEED,t"
            )),
            Self::Noise { time: None, .. } => {
                Err(format!("'{text}' has no time slice, from which correlators count: add one, as in {text},0"))
            }
            source => Ok(source),
        }
    }

    /// The time slice of the source; `None` for a file, or for noise on all sites.
    pub const fn time(&self) -> Option<usize> {
        match self {
            Self::File(_) => None,
            Self::Noise { time, .. } => *time,
            Self::Wall { time, .. } => Some(*time),
            Self::Point { position, .. } => Some(position[3]),
        }
    }

    /// Checks that a point or a time slice is on the lattice; on the whole lattice if `extents` are those of a local volume.
    pub fn require_inside(&self, extents: Extents) -> Result<(), OutsidePoint> {
        let first = match self {
            Self::Point { position, .. } => *position,
            source => [0, 0, 0, source.time().unwrap_or(0)],
        };
        outside(self.kind(), extents, first)
    }

    /// Checks that the spin, or the component of colour vectors, is less than `count`.
    pub fn require_component(&self, name: &str, count: usize) -> Result<(), String> {
        match self {
            Self::Wall { component: Some([spin, _]), .. } | Self::Point { component: Some([spin, _]), .. }
                if *spin >= count =>
            {
                Err(format!("{name} {spin} of the {} source is outside 0 to {}", self.kind(), count - 1))
            }
            _ => Ok(()),
        }
    }

    /// The field with `words` words per site, in site order; on a rank, on its local volume. A file yields none.
    pub fn field_on(&self, extents: Extents, words: usize) -> Result<Vec<Complex<f64>>, FieldError> {
        let what = || format!("a source on {extents}");
        let mut values = list_of(what, extents.volume() * words, std::iter::repeat(Complex::ZERO))?;
        for (site, object) in values.chunks_exact_mut(words).enumerate() {
            let x = extents.in_whole(extents.coordinate(site).map(|x| x as isize));
            self.fill(extents.global(), x, 0..words, object);
        }
        Ok(values)
    }

    /// The number that each spin and colour has at a site of the whole lattice; for noise, that of word 0.
    fn number(&self, whole: Extents, x: Coordinate, word: u32) -> Complex<f64> {
        match *self {
            Self::Noise { noise, seed, time } if time.is_none_or(|time| time == x[3]) => {
                noise.number(seed, whole.site(x) as u64, word)
            }
            Self::Wall { momentum, time, .. } if time == x[3] => momentum.wave(whole, x),
            Self::Point { position, .. } if position == x => Complex::ONE,
            _ => Complex::ZERO,
        }
    }

    /// The numbers of a field at a site of the whole lattice, for words 3·spin + colour, or for the words of noise. A file yields none.
    pub fn fill(&self, whole: Extents, x: Coordinate, words: Range<usize>, object: &mut [Complex<f64>]) {
        let component = match self {
            Self::Wall { component, .. } | Self::Point { component, .. } => *component,
            _ => None,
        };
        for (word, number) in words.zip(object) {
            *number = match component {
                Some([spin, colour]) if word != COLOURS * spin + colour => Complex::ZERO,
                _ => self.number(whole, x, word as u32),
            };
        }
    }
}

/// The twelve columns from which a propagator is solved, smeared if requested.
#[derive(Clone)]
pub struct QuarkSource<'a> {
    /// The source. Column 3·spin + colour has its numbers in that spin and colour; noise has the same numbers in all columns.
    pub source: Source,
    /// For a file: its twelve columns, as twelve spinors per site in site order, and the time slice that contains them all.
    pub file: Option<(&'a [Complex<f64>], Option<usize>)>,
    /// Smearing within the time slice, if any.
    pub smearing: Option<Wuppertal>,
    /// The links with which to smear, if they are not those of the operator.
    pub links: Option<&'a Configuration>,
}

impl From<Source> for QuarkSource<'_> {
    fn from(source: Source) -> Self {
        Self { source, file: None, smearing: None, links: None }
    }
}

/// A point source without smearing.
impl From<Coordinate> for QuarkSource<'_> {
    fn from(position: Coordinate) -> Self {
        Source::Point { position, component: None }.into()
    }
}

/// The source is not on the lattice. The message is a fragment.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{dimension} = {value} of the {kind} source is outside 0 to {last} on {extents}")]
#[allow(missing_docs, reason = "the names say it")]
pub struct OutsidePoint {
    pub kind: &'static str,
    /// The direction: x, y, z or t.
    pub dimension: &'static str,
    pub value: usize,
    pub last: usize,
    pub extents: Box<Extents>,
}

/// Checks that a point is on the lattice; on the whole lattice if `extents` are those of a local volume.
pub fn require_inside(extents: Extents, point: Coordinate) -> Result<(), OutsidePoint> {
    outside("point", extents, point)
}

fn outside(kind: &'static str, extents: Extents, point: Coordinate) -> Result<(), OutsidePoint> {
    let extents = extents.global();
    for (d, dimension) in DIMENSION_NAMES.into_iter().enumerate() {
        let (value, last) = (point[d], extents[d] - 1);
        ensure!(value <= last, OutsidePoint { kind, dimension, value, last, extents: Box::new(extents) });
    }
    Ok(())
}

/// The time slices in which twelve columns are not zero, from the spinors at each site of this rank's local volume.
pub fn times_of_columns(
    columns: &[Complex<f64>],
    extents: Extents,
    lattice: &WholeLattice,
) -> Result<Vec<usize>, CommError> {
    let mut here = vec![false; lattice.extents()[3]];
    for (site, numbers) in columns.chunks_exact(Propagator::WORDS).enumerate() {
        here[extents.coordinate(site)[3] + extents.origin()[3]] |= numbers.iter().any(|z| *z != Complex::ZERO);
    }
    let mut times = Vec::new();
    for (t, is_here) in here.into_iter().enumerate() {
        if lattice.communicator().any(is_here)? {
            times.push(t);
        }
    }
    Ok(times)
}

/// The twelve columns of a propagator in site order, as spinors at each site.
pub fn columns_of_propagator(propagator: &[Complex<f64>]) -> Result<Vec<Complex<f64>>, FieldError> {
    let number = |k: usize| {
        let (site, column, word) = (k / Propagator::WORDS, k / Spinors::WORDS % COLUMNS, k % Spinors::WORDS);
        propagator[Propagator::WORDS * site + word_of_column(column, word)]
    };
    list_of(|| "the columns of a propagator".to_owned(), propagator.len(), (0..propagator.len()).map(number))
}

impl QuarkSource<'_> {
    /// The time slice of the source.
    pub fn time(&self) -> Option<usize> {
        self.file.map_or_else(|| self.source.time(), |(_, time)| time)
    }

    /// Columns 3·spin + colour as spinors at each site, in site order; on a rank, on its local volume.
    pub(super) fn columns<B: Backend>(
        &self,
        backend: &B,
        (configuration, boundary): (&Configuration, BoundaryPhases),
        columns: Range<usize>,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        let extents = configuration.extents();
        let words = columns.len() * Spinors::WORDS;
        let length = extents.volume() * words;
        let what = || format!("{} sources on {extents}", columns.len());
        if let Some((values, _)) = self.file {
            let sites = values.chunks_exact(super::COLUMNS * Spinors::WORDS);
            let words = sites.flat_map(|site| &site[columns.start * Spinors::WORDS..][..words]).copied();
            return self.smeared(backend, (configuration, boundary), list_of(what, length, words)?);
        }
        let colours = self.colours(backend, configuration, boundary)?;
        let mut sources = list_of(what, length, std::iter::repeat(Complex::ZERO))?;
        for (site, colours) in sources.chunks_exact_mut(words).zip(colours.chunks_exact(COLOURS * COLOURS)) {
            for (spinor, column) in site.chunks_exact_mut(Spinors::WORDS).zip(columns.clone()) {
                let (spin, colour) = (column / COLOURS, column % COLOURS);
                spinor[COLOURS * spin..][..COLOURS].copy_from_slice(&colours[COLOURS * colour..][..COLOURS]);
            }
        }
        Ok(sources)
    }

    /// Three colour vectors per site, one for each colour of the source.
    fn colours<B: Backend>(
        &self,
        backend: &B,
        configuration: &Configuration,
        boundary: BoundaryPhases,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        let (extents, whole) = (configuration.extents(), configuration.extents().global());
        let length = extents.volume() * COLOURS * COLOURS;
        let what = || format!("the colours of a source on {extents}");
        let mut colours = list_of(what, length, std::iter::repeat(Complex::ZERO))?;
        for (k, site) in colours.chunks_exact_mut(COLOURS * COLOURS).enumerate() {
            let x = extents.in_whole(extents.coordinate(k).map(|x| x as isize));
            let number = self.source.number(whole, x, 0);
            (0..COLOURS).for_each(|colour| site[COLOURS * colour + colour] = number);
        }
        self.smeared(backend, (configuration, boundary), colours)
    }

    /// Colour vectors, smeared if requested.
    fn smeared<B: Backend>(
        &self,
        backend: &B,
        (configuration, boundary): (&Configuration, BoundaryPhases),
        vectors: Vec<Complex<f64>>,
    ) -> Result<Vec<Complex<f64>>, BackendError> {
        match self.smearing {
            Some(smearing) => smearing.smear(backend, self.links.unwrap_or(configuration), boundary, &vectors),
            None => Ok(vectors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_as_they_are_written() {
        for text in [
            "gauss:7",
            "z4:7",
            "z2:7,3",
            "point:1,2,3,40",
            "point:1,2,3,4,3,2",
            "wall:3",
            "wall:3,1,2",
            "momentum:1,0,-1,2",
            "momentum:1,0,-1,2,3,0",
            "eta.npy",
        ] {
            let source: Source = text.parse().unwrap();
            assert_eq!(source.to_string(), text);
            let is_field = !["point:1,2,3,40", "wall:3", "momentum:1,0,-1,2"].contains(&text);
            assert_eq!(Source::field(text).is_ok(), is_field, "{text}");
            let is_columns = !is_field || ["z2:7,3", "eta.npy"].contains(&text);
            assert_eq!(Source::columns(text).is_ok(), is_columns, "{text}");
        }
    }

    #[test]
    fn what_is_no_source_is_refused_with_what_there_is() {
        let refusal = |text: &str| text.parse::<Source>().unwrap_err();
        assert!(refusal("point:0,0,0,0,0,3").contains("invalid colour 3"));
        assert!(refusal("gauss:x").contains("invalid seed 'x'"));
        for wrong in ["point:0,0,0", "point:1,2,3,-4", "wall:", "wall:1,2", "momentum:1,0,0", "momentum:1,0,x,0"] {
            let error = refusal(wrong);
            assert!(error.contains(wrong) && error.contains("expected"), "{error}");
        }
        for misspelt in ["gaussian:1", "Gauss:1", "gauss", "z3:3", "points:0,0,0,0,0,0"] {
            assert!(refusal(misspelt).contains("expected gauss:SEED, z4:SEED, z2:SEED, point:"), "{misspelt}");
        }
    }
}
