//! The inputs of `apply` and `solve`: a configuration, and a source from a file, from a seed, or at a point.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{bail, ensure};
use clap::Args;
use lanefield::io::npy;
use lanefield::reference::field::Spinors;
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{Coordinate, DIMENSION_NAMES, Extents};
use lanefield::reference::random::{Stream, gaussian_pair};
use num_complex::Complex;

use super::files::{npy_error, read_configuration};

/// What an operator acts in, and on.
#[derive(Args, Clone, Debug)]
pub struct InputArgs {
    /// The gauge configuration: a NERSC file, or a NumPy array (T, Z, Y, X, 4, 3, 3) if it ends in .npy
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// The source: a NumPy array (T, Z, Y, X, 4, 3), complex64 or complex128; gauss:SEED, Gaussian numbers of variance 1 in each
    /// real component; or point:x,y,z,t,spin,colour, 1 there and 0 elsewhere
    #[arg(long, value_name = "FILE.npy|gauss:SEED|point:x,y,z,t,spin,colour")]
    pub source: Source,
}

impl InputArgs {
    /// The files that are read, with the names of their arguments.
    pub fn files(&self) -> Vec<(&str, &Path)> {
        let source = match &self.source {
            Source::File(path) => Some(("--source", path.as_path())),
            Source::Gauss(_) | Source::Point { .. } => None,
        };
        [("--config", self.config.as_path())].into_iter().chain(source).collect()
    }

    /// The configuration, and the source in site order.
    pub fn read(&self) -> anyhow::Result<(Configuration, Vec<Complex<f64>>)> {
        let configuration = read_configuration(&self.config)?.configuration;
        let source = self.source.values(configuration.extents(), &self.config.display().to_string())?;
        Ok((configuration, source))
    }
}

/// A spinor field to be made.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Read from a NumPy array.
    File(PathBuf),
    /// Gaussian numbers from a seed: they depend on the seed, the site and the component alone.
    Gauss(u64),
    /// 1 at one site, spin and colour.
    Point { coordinate: Coordinate, spin: usize, colour: usize },
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(seed) = text.strip_prefix("gauss:") {
            return super::args::seed(seed).map(Self::Gauss);
        }
        let Some(point) = text.strip_prefix("point:") else { return Ok(Self::File(text.into())) };
        let form =
            || format!("'{text}' is no point: give six whole numbers, as in point:0,0,0,0,0,0 for x,y,z,t,spin,colour");
        let numbers: Vec<usize> =
            point.split(',').map(|n| n.trim().parse().map_err(|_| form())).collect::<Result<_, _>>()?;
        let [x, y, z, t, spin, colour] = numbers.try_into().map_err(|_| form())?;
        if spin >= 4 {
            return Err(format!("spin {spin} of '{text}' is outside 0 to 3"));
        }
        if colour >= 3 {
            return Err(format!("colour {colour} of '{text}' is outside 0 to 2"));
        }
        Ok(Self::Point { coordinate: [x, y, z, t], spin, colour })
    }
}

impl Source {
    /// The field in site order. `config` names what has the extents.
    fn values(&self, extents: Extents, config: &str) -> anyhow::Result<Vec<Complex<f64>>> {
        match self {
            Self::File(path) => {
                let array = npy::read_spinor(path).map_err(|error| npy_error(path, error))?;
                array.require_finite().map_err(|error| npy_error(path, error))?;
                ensure!(
                    array.extents == extents,
                    "the source {} lies on {}, and the configuration {config} on {extents}: they must be the same lattice",
                    path.display(),
                    array.extents
                );
                Ok(array.values.into_f64())
            }
            &Self::Gauss(seed) => {
                let words = (0..extents.volume()).flat_map(|site| (0..Spinors::WORDS as u32).map(move |w| (site, w)));
                let draw = |(site, word)| {
                    let (re, im) = gaussian_pair(seed, Stream::SpinorSource, site as u64, word);
                    Complex::new(re, im)
                };
                Ok(words.map(draw).collect())
            }
            &Self::Point { coordinate, spin, colour } => {
                for (d, name) in DIMENSION_NAMES.iter().enumerate() {
                    let (value, last) = (coordinate[d], extents[d] - 1);
                    ensure!(value <= last, "{name} = {value} of the point source is outside 0 to {last} on {extents}");
                }
                let mut values = vec![Complex::new(0.0, 0.0); extents.volume() * Spinors::WORDS];
                values[extents.site(coordinate) * Spinors::WORDS + 3 * spin + colour].re = 1.0;
                Ok(values)
            }
        }
    }
}

/// The source rounded to the precision of the computation.
pub fn rounded<R: Vectors>(source: &[Complex<f64>]) -> anyhow::Result<Vec<Complex<R>>> {
    let finite = |x: f64| R::from_f64(x).to_f64().is_finite();
    if let Some(word) = source.iter().position(|z| !(finite(z.re) && finite(z.im))) {
        bail!("the source has {:e}, which is beyond {}: use --precision f64", source[word], R::NAME);
    }
    Ok(source.iter().map(|z| Complex::new(R::from_f64(z.re), R::from_f64(z.im))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_seed_a_point_or_a_file() {
        assert_eq!("gauss:7".parse(), Ok(Source::Gauss(7)));
        let point = Source::Point { coordinate: [1, 2, 3, 4], spin: 3, colour: 2 };
        assert_eq!("point:1,2,3,4,3,2".parse(), Ok(point));
        assert_eq!("eta.npy".parse(), Ok(Source::File("eta.npy".into())));
    }

    #[test]
    fn a_point_that_does_not_exist_is_refused_with_the_range() {
        let refusal = |text: &str| text.parse::<Source>().unwrap_err();
        assert!(refusal("point:0,0,0,0,4,0").contains("spin 4") && refusal("point:0,0,0,0,4,0").contains("0 to 3"));
        assert!(refusal("point:0,0,0,0,0,3").contains("outside 0 to 2"));
        assert!(refusal("point:0,0,0").contains("six whole numbers"));
        assert!(refusal("gauss:x").contains("'x' is no seed"));
    }

    #[test]
    fn a_point_source_is_one_at_its_place_alone() {
        let source: Source = "point:1,0,0,1,2,1".parse().unwrap();
        let extents = Extents::new([2, 1, 1, 2]).unwrap();
        let values = source.values(extents, "c").unwrap();
        let place = 3 * Spinors::WORDS + 7;
        assert!(values.iter().enumerate().all(|(i, z)| *z == Complex::new(f64::from(i == place), 0.0)));
        let error = source.values(Extents::new([1, 1, 1, 2]).unwrap(), "c").unwrap_err().to_string();
        assert_eq!(error, "x = 1 of the point source is outside 0 to 0 on 1.1.1.2");
    }

    #[test]
    fn a_source_beyond_f32_is_refused_for_f32_alone() {
        let source = [Complex::new(1e300, 0.0)];
        assert!(rounded::<f32>(&source).unwrap_err().to_string().contains("use --precision f64"));
        assert_eq!(rounded::<f64>(&source).unwrap(), source);
    }
}
