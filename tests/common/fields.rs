//! Fields of the tests of operators, from site order and back.

use lanefield::prelude::*;
use lanefield_reference::field::{Repeated, SiteObject};
use lanefield_reference::layout::{Checkerboard, Scalar};
use lanefield_reference::random::{Stream, gaussian_pair};
use lanefield_reference::scalar::ScalarWilson;

pub const EVEN: Sites = Sites::Parity(Parity::Even);
pub const ODD: Sites = Sites::Parity(Parity::Odd);

/// The default layout.
pub fn lattice<R: Vectors>(extents: Extents) -> Lattice {
    Lattice::new(extents, R::COMPLEX, LatticeOptions::default()).unwrap()
}

/// A lattice in lanes, with parities if its extents have them.
pub fn lattice_in(extents: Extents, scalar: Scalar, lanes: LaneChoice, nodes: Option<[usize; 4]>) -> Lattice {
    let red_black = extents.as_array().iter().all(|extent| extent % 2 == 0);
    let checkerboard = if red_black { Checkerboard::RedBlack } else { Checkerboard::FullOnly };
    Lattice::new(extents, scalar, LatticeOptions { lanes, nodes, checkerboard }).unwrap()
}

/// Plain loops of a hop.
pub fn plain_loops(configuration: &Configuration, hop: HopParameters) -> ScalarWilson<'_> {
    let HopParameters { boundary, links: format, legs } = hop;
    ScalarWilson { configuration, boundary, format, legs }
}

/// A Gaussian field of `words` numbers a site, in site order.
pub fn gaussian(extents: Extents, words: usize, seed: u64) -> Vec<Complex<f64>> {
    let draw = |k: usize| gaussian_pair(seed, Stream::TestData, (k / words) as u64, (k % words) as u32);
    (0..extents.volume() * words).map(draw).map(|(re, im)| Complex::new(re, im)).collect()
}

/// A field of as many spinors or colour vectors a site as `values`, in site order, make.
pub fn upload<R: Vectors, K: Repeated, B: Backend>(
    backend: &B,
    lattice: Lattice,
    sites: Sites,
    values: &[Complex<f64>],
) -> FieldOn<B, R, K> {
    let kind = K::repeated(values.len() / lattice.extents().volume() / K::repeated(1).words());
    let rounded: Vec<Complex<R>> = values.iter().map(|c| Complex::new(R::from_f64(c.re), R::from_f64(c.im))).collect();
    backend.upload(Field::from_site_order(lattice, sites, kind, &rounded).unwrap()).unwrap()
}

/// A field in site order.
pub fn download<R: Vectors, K: SiteObject, B: Backend>(backend: &B, field: &FieldOn<B, R, K>) -> Vec<Complex<f64>> {
    let values = backend.download(field).unwrap().to_site_order();
    values.iter().map(|c| Complex::new(c.re.to_f64(), c.im.to_f64())).collect()
}

/// What `apply` writes to `to`, from `source` on `from`, in site order.
pub fn applied<R: Vectors, K: Repeated, B: Backend>(
    backend: &B,
    lattice: Lattice,
    [to, from]: [Sites; 2],
    source: &[Complex<f64>],
    apply: impl FnOnce(&mut FieldOn<B, R, K>, &FieldOn<B, R, K>),
) -> Vec<Complex<f64>> {
    let source = upload::<R, K, B>(backend, lattice, from, source);
    let mut out = backend.zeros(lattice, to, source.kind()).unwrap();
    apply(&mut out, &source);
    download::<R, K, B>(backend, &out)
}

/// The spinors numbered `part` of each site.
pub fn one_of(several: &Field<f32, Spinors>, part: usize) -> Field<f32, Spinors> {
    let count = several.kind().count();
    let values = several.to_site_order();
    let spinors = values.chunks_exact(Spinors::WORDS).skip(part).step_by(count);
    let values = spinors.flatten().copied().collect::<Vec<_>>();
    Field::from_site_order(*several.lattice(), several.sites(), Spinors::ONE, &values).unwrap()
}
