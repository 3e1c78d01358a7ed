//! The content of an array, and the axes that follow: lattice, fifth dimension, spin, colour, direction. If a shape is ambiguous, the numbers
//! decide.

use lanefield::reference::layout::{Extents, LEGS};
use num_complex::Complex;

use crate::projection::{distance, size};
use crate::words::words;

words! {
    Content, "content of an array" {
        /// `(T, Z, Y, X, 4, 3)`.
        Spinor = "spinor",
        /// Several spinors per site, or a five-dimensional fermion: `(n, T, Z, Y, X, 4, 3)`.
        Spinors = "spinors",
        /// The contribution of each leg of a hop: `(T, Z, Y, X, 8, 4, 3)`.
        Legs = "legs",
        /// h0 and h1, or w0 and w1, of each leg: `(T, Z, Y, X, 8, 2, 3)`.
        HalfSpinors = "half-spinors",
        /// `(T, Z, Y, X, 2, 3)`.
        HalfSpinor = "half-spinor",
        /// `(T, Z, Y, X, 3)`.
        ColourVector = "colour-vector",
        /// Several colour vectors per site: `(T, Z, Y, X, n, 3)`.
        ColourVectors = "colour-vectors",
        /// `(T, Z, Y, X, 3, 3)`.
        ColourMatrix = "colour-matrix",
        /// `(T, Z, Y, X, 4, 3, 3)`.
        Links = "links",
        /// With 18 reals: `(T, Z, Y, X, 8, 3, 3)`.
        DoubledLinks = "doubled-links",
        /// With 12 reals: `(T, Z, Y, X, 8, 2, 3)`.
        TwoRows = "doubled-links-12",
        /// With 8 reals: `(T, Z, Y, X, 8, 4)`.
        EightReals = "doubled-links-8",
        /// `(T, Z, Y, X, 6, 3, 3)`.
        FieldStrength = "field-strength",
        /// `(T, Z, Y, X, 2, 18)`.
        CloverBlocks = "clover-blocks",
        /// `(T, Z, Y, X, 4, 4, 3, 3)`.
        Propagator = "propagator",
        /// `(T, Z, Y, X)`.
        ComplexNumber = "complex-number",
        /// Any numbers per site: `(T, Z, Y, X, …)`.
        Words = "words",
        List = "list",
    }
}

const ANY: usize = 0;

/// The axes of a site: their names and extents, the slowest first.
type SiteAxes = &'static [(&'static str, usize)];

impl Content {
    pub const fn object(self) -> &'static str {
        match self {
            Self::Spinor => "spinor",
            Self::Spinors => "five-dimensional fermion",
            Self::Legs => "spinors of legs",
            Self::HalfSpinors => "half spinors of legs",
            Self::HalfSpinor => "half spinor",
            Self::ColourVector => "colour vector",
            Self::ColourVectors => "colour vectors",
            Self::ColourMatrix => "colour matrix",
            Self::Links => "links",
            Self::DoubledLinks => "doubled links",
            Self::TwoRows => "doubled links of 12 reals",
            Self::EightReals => "doubled links of 8 reals",
            Self::FieldStrength => "field strength",
            Self::CloverBlocks => "clover blocks",
            Self::Propagator => "propagator",
            Self::ComplexNumber => "complex number",
            Self::Words => "numbers of sites",
            Self::List => "list of numbers",
        }
    }

    /// The axes of a site; `None` if they may be any.
    pub(crate) const fn site(self) -> Option<SiteAxes> {
        Some(match self {
            Self::Spinor | Self::Spinors => &[("spin", 4), ("colour", 3)],
            Self::Legs => &[("leg", LEGS), ("spin", 4), ("colour", 3)],
            Self::HalfSpinors => &[("leg", LEGS), ("h", 2), ("colour", 3)],
            Self::HalfSpinor => &[("spin", 2), ("colour", 3)],
            Self::ColourVector => &[("colour", 3)],
            Self::ColourVectors => &[("component", ANY), ("colour", 3)],
            Self::ColourMatrix => &[("row", 3), ("column", 3)],
            Self::Links => &[("direction", 4), ("row", 3), ("column", 3)],
            Self::DoubledLinks => &[("leg", LEGS), ("row", 3), ("column", 3)],
            Self::TwoRows => &[("leg", LEGS), ("row", 2), ("column", 3)],
            Self::EightReals => &[("leg", LEGS), ("word", 4)],
            Self::FieldStrength => &[("plane", 6), ("row", 3), ("column", 3)],
            Self::CloverBlocks => &[("chirality", 2), ("word", 18)],
            Self::Propagator => &[("sink spin", 4), ("source spin", 4), ("sink colour", 3), ("source colour", 3)],
            Self::ComplexNumber => &[],
            Self::Words | Self::List => return None,
        })
    }

    /// Whether there is an axis s before those of the lattice.
    pub(crate) const fn has_s(self) -> bool {
        matches!(self, Self::Spinors)
    }

    /// The content according to the shape: `(n, T, Z, Y, X, 4, 3)` is taken for n spinors even if n could be T and X is 8, and `(T, Z, Y, X, 8, 2,
    /// 3)` for links.
    pub(crate) fn of_shape(shape: &[usize]) -> Self {
        let mut known: Vec<Self> = Self::ALL.to_vec();
        known.retain(|content| !matches!(content, Self::Legs | Self::HalfSpinors));
        // Contents with free extents last.
        known.sort_by_key(|content| content.site().is_none_or(|site| site.iter().any(|(_, extent)| *extent == ANY)));
        known.into_iter().find(|content| content.fits(shape)).unwrap_or(Self::List)
    }

    pub fn fits(self, shape: &[usize]) -> bool {
        let Some(shape) = (if self.has_s() { shape.get(1..) } else { Some(shape) }) else { return false };
        let Some((&[t, z, y, x], extents)) = shape.split_first_chunk() else { return self == Self::List };
        let is_lattice = Extents::new([x, y, z, t]).is_ok();
        match self.site() {
            None => self == Self::List || is_lattice,
            Some(site) => {
                let same = site.iter().zip(extents).all(|((_, axis), extent)| *axis == ANY || axis == extent);
                is_lattice && site.len() == extents.len() && same
            }
        }
    }

    /// The content according to the shape or, if that is ambiguous, to the numbers. Spinors of legs are projected; rows of links are normalised.
    /// `reals` has at least the real and imaginary parts of the array's first numbers.
    pub(crate) fn of_complex(shape: &[usize], reals: &[f64]) -> Self {
        match Self::of_shape(shape) {
            Self::Spinors if Self::Legs.fits(shape) && are_legs(reals) => Self::Legs,
            Self::TwoRows if !are_rows_of_links(reals) => Self::HalfSpinors,
            content => content,
        }
    }

    pub fn axes(self) -> String {
        let extent = |(_, extent): &(&str, usize)| if *extent == ANY { "n".to_owned() } else { extent.to_string() };
        let site = match (self, self.site()) {
            (Self::List, _) => return "any axes".to_owned(),
            (_, None) => vec!["…".to_owned()],
            (_, Some(site)) => site.iter().map(extent).collect(),
        };
        let before = self.has_s().then(|| "n".to_owned());
        let lattice = ["T", "Z", "Y", "X"].map(str::to_owned);
        format!("({})", before.into_iter().chain(lattice).chain(site).collect::<Vec<_>>().join(", "))
    }
}

const SITES: usize = 3;

fn complex(reals: &[f64]) -> Vec<Complex<f64>> {
    reals.as_chunks().0.iter().map(|&[re, im]| Complex::new(re, im)).collect()
}

/// Whether numbers are spinors of the eight legs of some sites: each projected with the sign of its leg, or all with the opposite sign.
fn are_legs(reals: &[f64]) -> bool {
    let numbers = complex(&reals[..reals.len().min(SITES * LEGS * 24)]);
    let spinors = numbers.as_chunks::<12>().0;
    let are_projected = |dagger: bool| {
        spinors.iter().enumerate().all(|(k, spinor)| {
            let (point, largest) = (k % LEGS, spinor.iter().fold(0.0, |largest, z| size(*z).max(largest)));
            distance(spinor, point % 4, (point < 4) != dagger) <= 1e-5 * largest
        })
    };
    spinors.iter().flatten().any(|z| size(*z) > 0.0) && (are_projected(false) || are_projected(true))
}

/// Whether numbers are rows of links times 1/2, or zeros of a fixed boundary.
fn are_rows_of_links(reals: &[f64]) -> bool {
    let numbers = complex(&reals[..reals.len().min(SITES * LEGS * 12)]);
    let mut norms = numbers.as_chunks::<3>().0.iter().map(|row| row.iter().map(Complex::norm_sqr).sum::<f64>());
    norms.all(|norm| norm == 0.0 || (norm - 0.25).abs() < 0.01)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_whatever_their_spelling() {
        assert_eq!("Color_Vectors".parse(), Ok(Content::ColourVectors));
        assert_eq!(Content::Legs.axes(), "(T, Z, Y, X, 8, 4, 3)");
        assert_eq!(Content::Spinors.axes(), "(n, T, Z, Y, X, 4, 3)");
        assert_eq!(Content::ColourVectors.axes(), "(T, Z, Y, X, n, 3)");
    }

    #[test]
    fn every_content_but_those_with_twins_is_known_by_its_shape() {
        for &content in Content::ALL {
            let Some(site) = content.site() else { continue };
            let site = site.iter().map(|(_, extent)| if *extent == ANY { 5 } else { *extent });
            let shape: Vec<usize> = content.has_s().then_some(5).into_iter().chain([8, 6, 2, 4]).chain(site).collect();
            assert!(content.fits(&shape), "{content}");
            let expected = match content {
                Content::Legs => Content::Spinors,
                Content::HalfSpinors => Content::TwoRows,
                other => other,
            };
            assert_eq!(Content::of_shape(&shape), expected, "{shape:?}");
        }
        assert_eq!(Content::of_shape(&[2, 3]), Content::List);
        assert_eq!(Content::of_shape(&[8, 4, 4, 4, 5, 2]), Content::Words);
    }
}
