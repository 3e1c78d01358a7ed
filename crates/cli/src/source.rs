//! The inputs of `apply` and `solve`: a configuration, and a source from a file, from a seed, or at a point.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use lanefield::comm::{CommError, WholeLattice};
use lanefield::io::sidecar::SourceInput;
use lanefield::reference::field::{FieldError, list_of};
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{Coordinate, DIMENSION_NAMES, Extents};
use lanefield::reference::random::{Stream, gaussian_pair, z4_number};
use num_complex::Complex;

use super::fields::{FieldShape, interleaved};
use super::files::{ConfigurationFile, read_configuration_on};
use super::ranks::RanksArgs;

/// What an operator acts in, and on.
#[derive(Args, Clone, Debug)]
pub struct InputArgs {
    /// The gauge configuration: a NERSC, ILDG, SciDAC or MILC file, or a NumPy array (T, Z, Y, X, 4, 3, 3) if it ends in .npy
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// The source: a NumPy array (T, Z, Y, X, 4, 3), complex64 or complex128, for five-dimensional operators (Ls, T, Z, Y, X, 4, 3), for
    /// operators on colour vectors (T, Z, Y, X, N, 3); gauss:SEED, Gaussian random numbers of variance 1 in each real of such a field; z4:SEED,
    /// each number one of 1, i, -1, -i; or point:x,y,z,t,spin,colour, 1 there and 0 elsewhere (of colour vectors the component instead of the spin)
    #[arg(long, value_name = "FILE.npy|gauss:SEED|z4:SEED|point:x,y,z,t,spin,colour")]
    pub source: Source,
    #[command(flatten)]
    pub ranks: RanksArgs,
}

/// A source in site order, on the part of this rank.
pub struct Loaded {
    /// What it holds at each site.
    pub shape: FieldShape,
    pub values: Vec<Complex<f64>>,
}

impl InputArgs {
    /// The files that are read, with the names of their arguments.
    pub fn files(&self) -> Vec<(&str, &Path)> {
        let source = match &self.source {
            Source::File(path) => Some(("--source", path.as_path())),
            Source::Gauss(_) | Source::Z4(_) | Source::Point { .. } => None,
        };
        [("--config", self.config.as_path())].into_iter().chain(source).collect()
    }

    /// The configuration, on the part of this rank.
    pub fn configuration(&self) -> anyhow::Result<ConfigurationFile> {
        read_configuration_on(&self.ranks, &self.config)
    }

    /// A source of `shape`; where `physical` ones are welcome, they may be in place of five-dimensional ones, and a point is one.
    pub fn source(&self, shape: FieldShape, extents: Extents, physical: bool) -> anyhow::Result<Loaded> {
        let is_physical_point =
            physical && matches!((&self.source, shape), (Source::Point { .. }, FieldShape::FiveDimensional(_)));
        let shape = if is_physical_point { FieldShape::Spinor } else { shape };
        self.source.load(shape, extents, physical, &self.config.display().to_string())
    }

    /// Random sources of `nrhs` consecutive seeds, as one field.
    pub fn batch(&self, shape: FieldShape, extents: Extents, nrhs: u16) -> anyhow::Result<Loaded> {
        let (seed, random): (u64, fn(u64, FieldShape, Extents) -> _) = match self.source {
            Source::Gauss(seed) => (seed, gaussian),
            Source::Z4(seed) => (seed, z4),
            _ => bail!(
                "--batch takes its right-hand sides from --source gauss:SEED or z4:SEED, not from {}",
                self.source
            ),
        };
        let last = seed.checked_add(u64::from(nrhs) - 1).with_context(|| {
            let last = u64::MAX;
            format!("--batch {nrhs} needs the seeds from {seed} on, and the last one is {last}: give a smaller seed")
        })?;
        let batch = (seed..=last).map(|seed| random(seed, shape, extents)).collect::<Result<Vec<_>, _>>()?;
        Ok(Loaded { shape, values: interleaved(&batch, shape.words())? })
    }
}

/// A field to be made.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Read from a NumPy array.
    File(PathBuf),
    /// Gaussian numbers from a seed: they depend on the seed, the site and the component alone.
    Gauss(u64),
    /// Numbers 1, i, −1, −i from a seed, in the same way.
    Z4(u64),
    /// 1 at one site, spin (or component) and colour.
    Point { coordinate: Coordinate, spin: usize, colour: usize },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Gauss(seed) => write!(f, "gauss:{seed}"),
            Self::Z4(seed) => write!(f, "z4:{seed}"),
            Self::Point { coordinate: [x, y, z, t], spin, colour } => {
                write!(f, "point:{x},{y},{z},{t},{spin},{colour}")
            }
        }
    }
}

/// A point of the lattice, from which a quark propagates in each spin and colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Point(pub Coordinate);

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let point = text.strip_prefix("point:").and_then(whole_numbers).map(Self);
        point.ok_or_else(|| {
            format!("invalid point '{text}': expected four whole numbers, as in point:0,0,0,0 for x,y,z,t")
        })
    }
}

/// So many whole numbers with commas between them.
pub fn whole_numbers<const N: usize>(text: &str) -> Option<[usize; N]> {
    let numbers: Option<Vec<usize>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    numbers?.try_into().ok()
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(seed) = text.strip_prefix("gauss:") {
            return super::args::seed(seed).map(Self::Gauss);
        }
        if let Some(seed) = text.strip_prefix("z4:") {
            return super::args::seed(seed).map(Self::Z4);
        }
        let Some(point) = text.strip_prefix("point:") else { return Ok(Self::File(text.into())) };
        let Some([x, y, z, t, spin, colour]) = whole_numbers(point) else {
            return Err(format!(
                "invalid point '{text}': expected six whole numbers, as in point:0,0,0,0,0,0 for x,y,z,t,spin,colour"
            ));
        };
        if colour >= 3 {
            return Err(format!("invalid colour {colour} in '{text}': expected 0 to 2"));
        }
        Ok(Self::Point { coordinate: [x, y, z, t], spin, colour })
    }
}

impl Source {
    /// What a source of these numbers is, or so many right-hand sides, for a sidecar.
    pub fn described(
        &self,
        values: &[Complex<f64>],
        lattice: &WholeLattice,
        nrhs: Option<u16>,
    ) -> Result<SourceInput, CommError> {
        let nrhs = nrhs.map_or(1, usize::from);
        Ok(match *self {
            Self::File(_) => SourceInput::File { sha256_of_numbers: lattice.digest(values)? },
            Self::Gauss(seed) => SourceInput::Gauss { seed, nrhs },
            Self::Z4(seed) => SourceInput::Z4 { seed, nrhs },
            Self::Point { coordinate: position, spin, colour } => {
                SourceInput::Point { position, spin: Some(spin), colour: Some(colour), smearing: None }
            }
        })
    }

    /// The field in site order, on the part of this rank. `config` names what has the extents.
    pub fn load(&self, shape: FieldShape, extents: Extents, physical: bool, config: &str) -> anyhow::Result<Loaded> {
        match self {
            Self::File(path) => {
                let (shape, its_extents, values) = shape.read(path, physical, extents)?;
                ensure!(
                    its_extents.as_array() == extents.as_array(),
                    "the source {} has the lattice {its_extents}, and the configuration {config} has {extents}: they must be the same",
                    path.display(),
                );
                Ok(Loaded { shape, values })
            }
            &Self::Gauss(seed) => Ok(Loaded { shape, values: gaussian(seed, shape, extents)? }),
            &Self::Z4(seed) => Ok(Loaded { shape, values: z4(seed, shape, extents)? }),
            &Self::Point { coordinate, spin, colour } => {
                for (d, name) in DIMENSION_NAMES.iter().enumerate() {
                    let (value, last) = (coordinate[d], extents.global()[d] - 1);
                    ensure!(
                        value <= last,
                        "{name} = {value} of the point source is outside 0 to {last} on {}",
                        extents.global()
                    );
                }
                let (name, count) = shape.components();
                ensure!(spin < count, "{name} {spin} of the point source is outside 0 to {}", count - 1);
                let what = || format!("a source on {extents}");
                let mut values = list_of(what, extents.volume() * shape.words(), std::iter::repeat(Complex::ZERO))?;
                if let Some(here) = extents.here(coordinate) {
                    values[extents.site(here) * shape.words() + 3 * spin + colour].re = 1.0;
                }
                Ok(Loaded { shape, values })
            }
        }
    }
}

/// Gaussian numbers of variance 1 in each real, in site order.
pub fn gaussian(seed: u64, shape: FieldShape, extents: Extents) -> Result<Vec<Complex<f64>>, FieldError> {
    random(shape, extents, |site, word| {
        let (re, im) = gaussian_pair(seed, Stream::SpinorSource, site, word);
        Complex::new(re, im)
    })
}

/// Numbers 1, i, −1, −i with equal probability, in site order.
pub fn z4(seed: u64, shape: FieldShape, extents: Extents) -> Result<Vec<Complex<f64>>, FieldError> {
    random(shape, extents, |site, word| z4_number(seed, Stream::Z4Source, site, word))
}

/// Numbers that depend on the site, as the whole lattice numbers it, and on the word alone.
fn random(
    shape: FieldShape,
    extents: Extents,
    number: impl Fn(u64, u32) -> Complex<f64>,
) -> Result<Vec<Complex<f64>>, FieldError> {
    let words = shape.words() as u32;
    let draw = |(site, word): (usize, u32)| number(extents.global_site(site), word);
    let places = (0..extents.volume()).flat_map(|site| (0..words).map(move |word| (site, word)));
    list_of(|| format!("a source on {extents}"), extents.volume() * shape.words(), places.map(draw))
}

/// Refuses a source that the precision of the computation cannot hold.
pub fn require_in_range<R: Vectors>(source: &[Complex<f64>]) -> anyhow::Result<()> {
    let finite = |x: f64| R::from_f64(x).to_f64().is_finite();
    match source.iter().find(|z| !(finite(z.re) && finite(z.im))) {
        Some(number) => bail!("the source holds {number:e}, which is beyond {}: use --precision f64", R::NAME),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_seed_a_point_or_a_file() {
        assert_eq!("gauss:7".parse(), Ok(Source::Gauss(7)));
        assert_eq!("z4:7".parse(), Ok(Source::Z4(7)));
        let point = Source::Point { coordinate: [1, 2, 3, 4], spin: 3, colour: 2 };
        assert_eq!("point:1,2,3,4,3,2".parse(), Ok(point));
        assert_eq!("eta.npy".parse(), Ok(Source::File("eta.npy".into())));
    }

    #[test]
    fn a_point_is_four_whole_numbers() {
        assert_eq!("point:1,2,3,40".parse(), Ok(Point([1, 2, 3, 40])));
        for wrong in ["1,2,3,4", "point:1,2,3", "point:1,2,3,4,5", "point:1,2,3,-4", "gauss:1"] {
            let error = wrong.parse::<Point>().unwrap_err();
            assert!(error.contains(wrong) && error.contains("four whole numbers"), "{error}");
        }
    }

    #[test]
    fn a_point_that_does_not_exist_is_refused_with_the_range() {
        let refusal = |text: &str| text.parse::<Source>().unwrap_err();
        assert!(refusal("point:0,0,0,0,0,3").contains("invalid colour 3"));
        assert!(refusal("point:0,0,0").contains("six whole numbers"));
        assert!(refusal("gauss:x").contains("invalid seed 'x'"));
    }

    #[test]
    fn a_point_source_is_one_at_its_place_alone() {
        let source: Source = "point:1,0,0,1,2,1".parse().unwrap();
        let extents = Extents::new([2, 1, 1, 2]).unwrap();
        let values = source.load(FieldShape::Spinor, extents, false, "c").unwrap().values;
        let place = 3 * 12 + 7;
        assert!(values.iter().enumerate().all(|(i, z)| *z == Complex::new(f64::from(i == place), 0.0)));
        let refusal = |source: &str, shape, extents| {
            let source: Source = source.parse().unwrap();
            source.load(shape, Extents::new(extents).unwrap(), false, "c").err().unwrap().to_string()
        };
        let error = refusal("point:1,0,0,1,2,1", FieldShape::Spinor, [1, 1, 1, 2]);
        assert_eq!(error, "x = 1 of the point source is outside 0 to 0 on 1.1.1.2");
        let error = refusal("point:0,0,0,0,4,0", FieldShape::FiveDimensional(8), [1, 1, 1, 2]);
        assert_eq!(error, "spin 4 of the point source is outside 0 to 3");
        let error = refusal("point:0,0,0,0,4,0", FieldShape::ColourVectors(2), [1, 1, 1, 2]);
        assert_eq!(error, "component 4 of the point source is outside 0 to 1");
    }

    #[test]
    fn a_z4_source_has_each_of_four_numbers_a_quarter_of_the_time() {
        let extents = Extents::new([4, 4, 4, 4]).unwrap();
        let values = z4(7, FieldShape::Spinor, extents).unwrap();
        assert_eq!(values, z4(7, FieldShape::Spinor, extents).unwrap());
        assert_ne!(values, z4(8, FieldShape::Spinor, extents).unwrap());
        for (re, im) in [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)] {
            let count = values.iter().filter(|z| **z == Complex::new(re, im)).count();
            // 3072 draws: six standard deviations.
            assert!(count.abs_diff(values.len() / 4) < 144, "{re} {im}: {count}");
        }
        assert!(values.iter().all(|z| z.re.to_bits() != (-0.0f64).to_bits() && z.im.to_bits() != (-0.0f64).to_bits()));
    }

    #[test]
    fn a_source_beyond_f32_is_refused_for_f32_alone() {
        let source = [Complex::new(1e300, 0.0)];
        assert!(require_in_range::<f32>(&source).unwrap_err().to_string().contains("use --precision f64"));
        require_in_range::<f64>(&source).unwrap();
    }
}
