//! The inputs of `apply` and `solve`: a configuration, and a source from a file, from a seed, or at a point.

use clap::builder::{OsStringValueParser, TypedValueParser};
use lanefield::comm::{CommError, WholeLattice};
use lanefield::dynamic::ArrayShape;
use lanefield::io::configuration::ConfigurationFile;
use lanefield::io::sidecar::{NoiseInput, SourceInput, SourceKind};
use lanefield::observable::{Component, Noise, Source};
use lanefield::reference::field::FieldError;

use crate::configuration::ConfigArgs;
use crate::fields::{interleaved, read_field};
use crate::files::check_beside;
use crate::prelude::*;
use crate::ranks::RanksArgs;

/// Configuration and source of an operator.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Input")]
pub struct InputArgs {
    #[command(flatten)]
    pub configuration: ConfigArgs,
    /// Source field: a .npy file, gauss:SEED, z4:SEED, z2:SEED, point:…, wall:… or momentum:…
    ///
    /// A file is a NumPy array of complex64 or complex128. Its axes are (T, Z, Y, X, 4, 3); for five-dimensional operators (Ls, T, Z, Y, X, 4, 3);
    /// for operators on colour vectors (T, Z, Y, X, N, 3).
    ///
    /// gauss:SEED has Gaussian random numbers of variance 1 in each real; z4:SEED has one of 1, i, -1, -i in each number; z2:SEED has 1 or -1. With
    /// SEED,t, the numbers are on time slice t alone.
    ///
    /// point:x,y,z,t,spin,colour is 1 there and 0 elsewhere; wall:t,spin,colour is 1 on a time slice; momentum:nx,ny,nz,t,spin,colour is exp(ip·x) on
    /// a time slice with p = 2πn/L. For colour vectors, the component takes the place of the spin
    #[arg(long, value_name = "SOURCE", value_parser = source_or_file(Source::field))]
    pub source: Source,
    #[command(flatten)]
    pub ranks: RanksArgs,
}

/// Reads a source, or the name of its file, which need not be UTF-8.
pub fn source_or_file(read: fn(&str) -> Result<Source, String>) -> impl TypedValueParser<Value = Source> {
    OsStringValueParser::new().try_map(move |given| match given.to_str() {
        Some(text) => read(text),
        None => Ok(Source::File(given.into())),
    })
}

/// A source in site order, on the local volume of this rank.
pub struct Loaded {
    /// What it contains at each site.
    pub shape: ArrayShape,
    pub values: Vec<Complex<f64>>,
}

impl InputArgs {
    /// The files that are read, with the names of their arguments.
    pub fn files(&self) -> Vec<(&str, &Path)> {
        let source = match &self.source {
            Source::File(path) => Some(("--source", path.as_path())),
            _ => None,
        };
        [("--config", self.configuration.config.as_path())].into_iter().chain(source).collect()
    }

    /// The configuration, on the local volume of this rank.
    pub fn configuration(&self) -> anyhow::Result<ConfigurationFile> {
        self.configuration.read(&self.ranks)
    }

    /// A source of `shape`. If `physical` ones are accepted, they can replace five-dimensional ones, and a point is physical.
    pub fn source(&self, shape: ArrayShape, extents: Extents, physical: bool) -> anyhow::Result<Loaded> {
        let is_physical_point = physical
            && matches!(self.source, Source::Point { .. } | Source::Wall { .. })
            && matches!(shape, ArrayShape::FiveDimensional(_));
        let shape = if is_physical_point { ArrayShape::Spinor } else { shape };
        load(&self.source, shape, extents, physical, &self.configuration.config.display().to_string())
    }

    /// Random sources of `nrhs` consecutive seeds, as one field.
    pub fn batch(&self, shape: ArrayShape, extents: Extents, nrhs: u16) -> anyhow::Result<Loaded> {
        let Source::Noise { noise, seed, time } = self.source else {
            bail!(
                "--batch takes its right-hand sides from --source gauss:SEED, z4:SEED or z2:SEED, not from {}",
                self.source
            );
        };
        let last = seed.checked_add(u64::from(nrhs) - 1).with_context(|| {
            let last = u64::MAX;
            format!("--batch {nrhs} needs the seeds from {seed} on, and the last one is {last}: give a smaller seed")
        })?;
        let of_seed = |seed| made(&Source::Noise { noise, seed, time }, shape, extents);
        let batch = (seed..=last).map(of_seed).collect::<Result<Vec<_>, _>>()?;
        Ok(Loaded { shape, values: interleaved(&batch, shape.words())? })
    }
}

/// The description of a source with `nrhs` right-hand sides; for a file, with the digest of its numbers.
pub fn described(source: &Source, sha256_of_numbers: String, nrhs: usize) -> SourceKind {
    let of = |component: Option<Component>| (component.map(|[spin, _]| spin), component.map(|[_, colour]| colour));
    match *source {
        Source::File(_) => SourceKind::File { sha256_of_numbers, time: None },
        Source::Noise { noise, seed, time } => {
            let input = NoiseInput { seed, nrhs, time };
            match noise {
                Noise::Gauss => SourceKind::Gauss(input),
                Noise::Z4 => SourceKind::Z4(input),
                Noise::Z2 => SourceKind::Z2(input),
            }
        }
        Source::Wall { momentum, time, component } => {
            let (spin, colour) = of(component);
            SourceKind::Wall { momentum: momentum.numbers, time, spin, colour }
        }
        Source::Point { position, component } => {
            let (spin, colour) = of(component);
            SourceKind::Point { position, spin, colour }
        }
    }
}

/// The description of a source with these numbers, or of `nrhs` right-hand sides, for a sidecar.
pub fn input_of(
    source: &Source,
    values: &[Complex<f64>],
    lattice: &WholeLattice,
    nrhs: Option<u16>,
) -> Result<SourceInput, CommError> {
    let digest = match source {
        Source::File(_) => lattice.digest(values)?,
        _ => String::new(),
    };
    let kind = described(source, digest, nrhs.map_or(1, usize::from));
    Ok(SourceInput { kind, smearing: None, smear_links: None })
}

/// The field in site order, on the local volume of this rank. `config` is the name of the argument that determines the extents.
pub fn load(
    source: &Source,
    shape: ArrayShape,
    extents: Extents,
    physical: bool,
    config: &str,
) -> anyhow::Result<Loaded> {
    if let Source::File(path) = source {
        check_beside(path)?;
        let (shape, its_extents, values) = read_field(shape, path, physical, extents)?;
        ensure!(
            its_extents.as_array() == extents.as_array(),
            "the source {} has the lattice {its_extents}, and the configuration {config} has {extents}: they must be the same",
            path.display(),
        );
        return Ok(Loaded { shape, values });
    }
    source.require_inside(extents)?;
    let (name, count) = shape.components();
    source.require_component(name, count).map_err(anyhow::Error::msg)?;
    Ok(Loaded { shape, values: made(source, shape, extents)? })
}

/// The numbers of a source that is not a file, in site order.
fn made(source: &Source, shape: ArrayShape, extents: Extents) -> Result<Vec<Complex<f64>>, FieldError> {
    source.field_on(extents, shape.words())
}

/// Gaussian numbers of variance 1 in each real, in site order.
pub fn gaussian(seed: u64, shape: ArrayShape, extents: Extents) -> Result<Vec<Complex<f64>>, FieldError> {
    made(&Source::Noise { noise: Noise::Gauss, seed, time: None }, shape, extents)
}

/// Fails if the working precision cannot hold the source.
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
    fn a_point_source_is_one_at_its_place_alone() {
        let source: Source = "point:1,0,0,1,2,1".parse().unwrap();
        let extents = Extents::new([2, 1, 1, 2]).unwrap();
        let values = load(&source, ArrayShape::Spinor, extents, false, "c").unwrap().values;
        let place = 3 * 12 + 7;
        assert!(values.iter().enumerate().all(|(i, z)| *z == Complex::new(f64::from(i == place), 0.0)));
        let refusal = |source: &str, shape, extents| {
            let source: Source = source.parse().unwrap();
            load(&source, shape, Extents::new(extents).unwrap(), false, "c").err().unwrap().to_string()
        };
        let error = refusal("point:1,0,0,1,2,1", ArrayShape::Spinor, [1, 1, 1, 2]);
        assert_eq!(error, "x = 1 of the point source is outside 0 to 0 on 1.1.1.2");
        let error = refusal("point:0,0,0,0,4,0", ArrayShape::FiveDimensional(8), [1, 1, 1, 2]);
        assert_eq!(error, "spin 4 of the point source is outside 0 to 3");
        let error = refusal("point:0,0,0,0,4,0", ArrayShape::ColourVectors(2), [1, 1, 1, 2]);
        assert_eq!(error, "component 4 of the point source is outside 0 to 1");
    }

    #[test]
    fn a_z4_source_has_each_of_four_numbers_a_quarter_of_the_time() {
        let extents = Extents::new([4, 4, 4, 4]).unwrap();
        let z4 = |seed| made(&Source::Noise { noise: Noise::Z4, seed, time: None }, ArrayShape::Spinor, extents);
        let values = z4(7).unwrap();
        assert_eq!(values, z4(7).unwrap());
        assert_ne!(values, z4(8).unwrap());
        for (re, im) in [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)] {
            let count = values.iter().filter(|z| **z == Complex::new(re, im)).count();
            // 3072 draws: six standard deviations.
            assert!(count.abs_diff(values.len() / 4) < 144, "{re} {im}: {count}");
        }
        assert!(values.iter().all(|z| z.re.to_bits() != (-0.0f64).to_bits() && z.im.to_bits() != (-0.0f64).to_bits()));
    }

    #[test]
    fn a_wall_is_the_sum_of_its_points_and_a_wave_at_rest() {
        let extents = Extents::new([2, 4, 2, 3]).unwrap();
        let of = |source: &str| {
            let source: Source = source.parse().unwrap();
            load(&source, ArrayShape::Spinor, extents, false, "c").unwrap().values
        };
        let mut sum = vec![Complex::ZERO; 12 * extents.volume()];
        for (x, y, z) in (0..2).flat_map(|x| (0..4).flat_map(move |y| (0..2).map(move |z| (x, y, z)))) {
            let point = of(&format!("point:{x},{y},{z},1,2,1"));
            sum.iter_mut().zip(point).for_each(|(sum, z)| *sum += z);
        }
        assert_eq!(of("wall:1,2,1"), sum);
        assert_eq!(of("momentum:0,0,0,1,2,1"), sum);
        let wave = of("momentum:1,-1,0,1,2,1");
        let number = |x: [usize; 4]| wave[12 * extents.site(x) + 7];
        assert_eq!((number([1, 0, 1, 1]), number([0, 1, 0, 1])), (-Complex::ONE, -Complex::I));
    }

    #[test]
    fn z2_noise_squares_to_one_and_has_both_signs() {
        let extents = Extents::new([4, 4, 4, 4]).unwrap();
        let of = |time| Source::Noise { noise: Noise::Z2, seed: 7, time };
        let values = made(&of(None), ArrayShape::Spinor, extents).unwrap();
        let on_slice = made(&of(Some(2)), ArrayShape::Spinor, extents).unwrap();
        let slice = 12 * 128..12 * 192;
        assert_eq!(on_slice[slice.clone()], values[slice.clone()]);
        assert!(on_slice.iter().enumerate().all(|(k, z)| slice.contains(&k) || *z == Complex::ZERO));
        assert!(values.iter().all(|z| *z * *z == Complex::ONE));
        let positive = values.iter().filter(|z| z.re > 0.0).count();
        assert!(positive.abs_diff(values.len() / 2) < 168, "{positive}");
    }

    #[test]
    fn a_source_beyond_f32_is_refused_for_f32_alone() {
        let source = [Complex::new(1e300, 0.0)];
        assert!(require_in_range::<f32>(&source).unwrap_err().to_string().contains("use --precision f64"));
        require_in_range::<f64>(&source).unwrap();
    }
}
