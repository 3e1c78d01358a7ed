//! What holds of every hop of nearest neighbours: in lanes it has the bits of plain loops over coordinates, at every lane width and on any number of
//! threads; its parities add up; and it is gauge covariant.

use lanefield_reference::field::{FieldError, SiteObject};
use lanefield_reference::gauge::{GaugeTransformation, SITE_WORDS};
use lanefield_reference::half::Half;
use lanefield_reference::kernels::hop::{HopTerm, hop};
use lanefield_reference::layout::{Checkerboard, Stencil};
use lanefield_reference::links::{DoubledGauge, double};
use lanefield_reference::prelude::*;
use lanefield_reference::scalar::ScalarWilson;
use proptest::prelude::*;
use proptest::sample::select;

use super::{ALL_SITES, Numbers, any_boundary, any_checkerboard, any_extents, any_legs, any_numbers, extents};
use super::{every_width, first_difference, in_pools, lattice, random_words, relative_distance};

type FieldOf<R, H> = Field<R, <H as Hop>::Object>;

/// A hop, in lanes and in plain loops.
pub trait Hop: Copy + Sync {
    type Object: SiteObject;

    fn object(self) -> Self::Object;
    fn in_lanes<R: Vectors>(
        self,
        out: &mut FieldOf<R, Self>,
        stencil: &Stencil,
        links: &Field<R, DoubledGauge>,
        source: &FieldOf<R, Self>,
        legs: LegOrder,
    ) -> Result<(), FieldError>;
    fn in_plain_loops<R: Vectors>(self, operator: &ScalarWilson, psi: &[Complex<R>], sites: Sites) -> Vec<Complex<R>>;

    fn random<R: Vectors>(self, extents: Extents, seed: u64, numbers: Numbers) -> Vec<Complex<R>> {
        random_words(extents, self.object().words(), seed, numbers)
    }

    /// In lanes, from site order to site order.
    fn apply<R: Vectors>(
        self,
        operator: &ScalarWilson,
        lattice: Lattice,
        psi: &[Complex<R>],
        sites: Sites,
    ) -> Vec<Complex<R>> {
        let kind = DoubledGauge { format: operator.format, boundary: operator.boundary };
        let links = double(operator.configuration, lattice, sites, kind).unwrap();
        let source = Field::from_site_order(lattice, sites.neighbours(), self.object(), psi).unwrap();
        let mut out = Field::zeros(lattice, sites, self.object()).unwrap();
        self.in_lanes(&mut out, &Stencil::new(lattice, sites).unwrap(), &links, &source, operator.legs).unwrap();
        out.to_site_order()
    }

    /// In f64, at all sites, in the widest lanes.
    fn of_all(self, operator: &ScalarWilson, psi: &[Complex<f64>]) -> Vec<Complex<f64>> {
        let extents = operator.configuration.extents();
        let lattice = *every_width::<f64>(extents, Checkerboard::FullOnly).last().unwrap();
        self.apply(operator, lattice, psi, Sites::Full)
    }
}

#[derive(Clone, Copy)]
pub struct WilsonHop(pub Dagger);

impl Hop for WilsonHop {
    type Object = Spinors;

    fn object(self) -> Spinors {
        Spinors::ONE
    }
    fn in_lanes<R: Vectors>(
        self,
        out: &mut FieldOf<R, Self>,
        stencil: &Stencil,
        links: &Field<R, DoubledGauge>,
        source: &FieldOf<R, Self>,
        legs: LegOrder,
    ) -> Result<(), FieldError> {
        hop(out, HopTerm { stencil, links, source, legs, dagger: self.0 })
    }
    fn in_plain_loops<R: Vectors>(self, operator: &ScalarWilson, psi: &[Complex<R>], sites: Sites) -> Vec<Complex<R>> {
        operator.hop(psi, sites, self.0)
    }
}

/// Makes a hop of so many colour vectors per site of a function in lanes, and of the method of its name in plain loops.
macro_rules! colour_hop {
    ($Hop:ident: $hop:ident) => {
        #[derive(Clone, Copy)]
        struct $Hop(usize);

        impl $crate::common::hops::Hop for $Hop {
            type Object = lanefield_reference::field::ColourVectors;

            fn object(self) -> Self::Object {
                Self::Object::new(self.0)
            }
            fn in_lanes<R: lanefield_reference::kernels::Vectors>(
                self,
                out: &mut lanefield_reference::field::Field<R, Self::Object>,
                stencil: &lanefield_reference::layout::Stencil,
                links: &lanefield_reference::field::Field<R, lanefield_reference::links::DoubledGauge>,
                source: &lanefield_reference::field::Field<R, Self::Object>,
                legs: lanefield_reference::layout::LegOrder,
            ) -> Result<(), lanefield_reference::field::FieldError> {
                $hop(out, stencil, links, source, legs)
            }
            fn in_plain_loops<R: lanefield_reference::kernels::Vectors>(
                self,
                operator: &lanefield_reference::scalar::ScalarWilson,
                psi: &[num_complex::Complex<R>],
                sites: lanefield_reference::layout::Sites,
            ) -> Vec<num_complex::Complex<R>> {
                operator.$hop(psi, self.0, sites)
            }
        }
    };
}
pub(crate) use colour_hop;

/// Antiperiodic in time, with whole links and the usual order of the legs.
pub fn antiperiodic(configuration: &Configuration) -> ScalarWilson<'_> {
    let boundary = BoundaryPhases::ANTIPERIODIC_IN_TIME;
    ScalarWilson { configuration, boundary, format: LinkFormat::Full, legs: LegOrder::DEFAULT }
}

/// Compares a hop in lanes with plain loops, on all the sites and at every width that the lattice has. In half precision numbers are rounded where they
/// are stored.
pub fn is_the_same_at_every_width<R: Vectors>(
    hop: impl Hop,
    operator: &ScalarWilson,
    checkerboard: Checkerboard,
    (seed, numbers): (u64, Numbers),
) -> Result<(), TestCaseError> {
    let extents = operator.configuration.extents();
    let stored = |values: &[Complex<R>]| {
        let lattice = every_width::<R>(extents, Checkerboard::FullOnly)[0];
        Field::from_site_order(lattice, Sites::Full, hop.object(), values).unwrap().to_site_order()
    };
    let psi = stored(&hop.random::<R>(extents, seed, numbers));
    let some_sites = if checkerboard == Checkerboard::RedBlack { &ALL_SITES[..] } else { &ALL_SITES[..1] };
    for &sites in some_sites {
        let expected = stored(&hop.in_plain_loops(operator, &psi, sites));
        for lattice in every_width::<R>(extents, checkerboard) {
            let difference = first_difference(&hop.apply(operator, lattice, &psi, sites), &expected);
            prop_assert!(difference.is_none(), "{lattice:?}, {sites} sites: {difference:?}");
        }
    }
    Ok(())
}

/// What differs between random cases.
#[derive(Clone, Debug)]
pub struct Case {
    checkerboard: Checkerboard,
    extents: Extents,
    seed: u32,
    numbers: [Numbers; 2],
    boundary: BoundaryPhases,
    format: LinkFormat,
    legs: LegOrder,
    precision: Precision,
}

pub fn any_case(volume: usize) -> impl Strategy<Value = Case> {
    (
        any_checkerboard().prop_flat_map(move |c| (Just(c), any_extents(c, volume))),
        any::<u32>(),
        [any_numbers(), any_numbers()],
        any_boundary(),
        select(LinkFormat::ALL.to_vec()),
        prop_oneof![Just(LegOrder::DEFAULT), any_legs()],
        select(Precision::ALL.to_vec()),
    )
        .prop_map(|((checkerboard, extents), seed, numbers, boundary, format, legs, precision)| Case {
            checkerboard,
            extents,
            seed,
            numbers,
            boundary,
            format,
            legs,
            precision,
        })
}

impl Case {
    /// Links that are no SU(3) matrices, but any numbers, where the format takes them: the arithmetic does not care.
    fn configuration(&self) -> Configuration {
        let (extents, seed, numbers) = (self.extents, u64::from(self.seed), self.numbers[1]);
        if numbers == Numbers::Gaussian || !LinkFormat::OF_ANY_MATRICES.contains(&self.format) {
            return Configuration::hot(extents, seed);
        }
        Configuration::new(extents, random_words(extents, SITE_WORDS, seed + 1, numbers)).unwrap()
    }

    pub fn check(&self, hop: impl Hop) -> Result<(), TestCaseError> {
        let Self { checkerboard, boundary, format, legs, .. } = *self;
        let operator = ScalarWilson { configuration: &self.configuration(), boundary, format, legs };
        let numbers = (self.seed.into(), self.numbers[0]);
        match self.precision {
            Precision::F32 => is_the_same_at_every_width::<f32>(hop, &operator, checkerboard, numbers),
            Precision::F64 => is_the_same_at_every_width::<f64>(hop, &operator, checkerboard, numbers),
            Precision::Half => is_the_same_at_every_width::<Half>(hop, &operator, checkerboard, numbers),
        }
    }
}

/// In all link formats, on a lattice that is laid out in `widths` widths if that is given.
pub fn has_the_bits_of_plain_loops<R: Vectors>(
    hop: impl Hop,
    (text, widths): (&str, Option<usize>),
    boundary: &str,
    checkerboard: Checkerboard,
) {
    let configuration = Configuration::hot(extents(text), 9);
    let boundary = boundary.parse().unwrap();
    let found = every_width::<R>(configuration.extents(), checkerboard).len();
    assert_eq!(found, widths.unwrap_or(found));
    for format in LinkFormat::ALL {
        let operator = ScalarWilson { configuration: &configuration, boundary, format, legs: LegOrder::DEFAULT };
        is_the_same_at_every_width::<R>(hop, &operator, checkerboard, (1, Numbers::Gaussian)).unwrap();
    }
}

/// Compares an f32 hop on one thread with that on two and five, on all the sites.
pub fn does_not_depend_on_the_number_of_threads(hop: impl Hop) {
    let extents = extents("6.4.4.10");
    let configuration = Configuration::hot(extents, 3);
    let operator = antiperiodic(&configuration);
    let psi = hop.random::<f32>(extents, 4, Numbers::Gaussian);
    let lattice = lattice::<f32>(extents, 32, Checkerboard::RedBlack);
    for sites in ALL_SITES {
        let [one, two, five] = in_pools(|| hop.apply(&operator, lattice, &psi, sites));
        assert_eq!(first_difference(&one, &two), None);
        assert_eq!(first_difference(&one, &five), None);
    }
}

pub fn even_and_odd_together_are_the_hop_of_all_sites_exactly(hop: impl Hop) {
    let extents = extents("4.6.2.4");
    let configuration = Configuration::hot(extents, 5);
    let operator = antiperiodic(&configuration);
    let psi = hop.random::<f64>(extents, 6, Numbers::Gaussian);
    for lattice in every_width::<f64>(extents, Checkerboard::RedBlack) {
        let [full, even, odd] = ALL_SITES.map(|sites| hop.apply(&operator, lattice, &psi, sites));
        // Each is +0 where it does not live, and no sum of these is −0 by accident: x + 0 = x.
        let sum: Vec<_> = even.iter().zip(&odd).map(|(a, b)| a + b).collect();
        assert_eq!(first_difference(&sum, &full), None);
    }
}

/// ψ(x) → g(x) ψ(x) and U_μ(x) → g(x) U_μ(x) g(x + μ)† turn D ψ into g D ψ.
pub fn is_gauge_covariant(hop: impl Hop) {
    let (extents, words) = (extents("4.4.6.2"), hop.object().words());
    let before = Configuration::hot(extents, 12);
    let g = GaugeTransformation { seed: 13 };
    let after = g.of_links(&before);
    let psi = hop.random::<f64>(extents, 14, Numbers::Gaussian);
    for format in LinkFormat::ALL {
        let covariant = g.of_field(words, &hop.of_all(&ScalarWilson { format, ..antiperiodic(&before) }, &psi));
        let found = hop.of_all(&ScalarWilson { format, ..antiperiodic(&after) }, &g.of_field(words, &psi));
        assert!(relative_distance(&found, &covariant) < 1e-14);
    }
}

/// Boundary phases e^{iθ} in all directions.
pub const TWISTED: &str = "0.3pi,-0.5pi,-1,2pi/3";

/// Momenta of the tests of plane waves, in waves around the lattice.
pub const WAVES: [[u32; 4]; 6] = [[0, 0, 0, 0], [1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 3], [3, 4, 1, 6]];

/// The momentum (2πn + θ)/L of n waves around the lattice, with the boundary phase e^{iθ}.
pub fn momentum(extents: Extents, n: [u32; 4], boundary: BoundaryPhases) -> [f64; 4] {
    let turns = |d: usize| f64::from(n[d]) + boundary.phase(d).angle() / 2.0;
    std::array::from_fn(|d| std::f64::consts::TAU * turns(d) / extents[d] as f64)
}

/// e^{ipx} χ.
pub fn plane_wave(extents: Extents, p: [f64; 4], chi: &[Complex<f64>]) -> Vec<Complex<f64>> {
    let phase = |x: [usize; 4]| Complex::from_polar(1.0, (0..4).map(|d| p[d] * x[d] as f64).sum::<f64>());
    let of_site = |site| chi.iter().map(move |chi| phase(extents.coordinate(site)) * chi);
    (0..extents.volume()).flat_map(of_site).collect()
}
