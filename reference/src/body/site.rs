//! A site as a body sees it, and the arguments of a body: handles on fields by role, each bound to a site. What they do is done by the [`Site`], of
//! which there is one for lanes of vectors (`lanes.rs`), and others that record.

use std::marker::PhantomData;

use super::number::{Carried, Choice, ComplexNumber, Number, RealNumber};
use super::value::{BodyObject, Coloured, HalfSpinor, Matrix, Value};
use crate::dagger::Dagger;
use crate::extreme::Extreme;
use crate::layout::{Direction, Displacement, LEGS, Leg};
use crate::object::{Object, Spinors};

/// Where a body runs: one site, or the sites of all lanes of an outer site. Fields are numbered by their place among the arguments; bodies use them
/// through the handles of this module.
pub trait Site: Copy {
    /// A real number of each lane.
    type Real: RealNumber<Choice = Self::Choice, Double = Self::Double>;
    /// A complex number of each lane.
    type Complex: ComplexNumber<Real = Self::Real, Choice = Self::Choice, Double = Self::Double>;
    /// A double of each lane.
    type Double: Number;
    /// Yes or no of each lane.
    type Choice: Choice;
    /// A number that counts: of a word, or of a turn of a loop.
    type Index: Copy;

    /// The legs of a nearest-neighbour stencil, in the order of the call.
    fn legs(self) -> [Leg; LEGS];
    /// Whether the call is of the Hermitian conjugate: of kernels that have one, of the same body.
    fn dagger(self) -> Dagger;
    /// A field's value here.
    fn read<T: Value<Self::Complex>>(self, argument: usize) -> T;
    /// A field's value at the neighbour along a leg.
    fn read_at<T: Value<Self::Complex>>(self, argument: usize, leg: Leg) -> T;
    /// A field's value at a displacement.
    fn read_displaced<T: Value<Self::Complex>>(self, argument: usize, displacement: Displacement) -> T;
    /// The two independent rows of the projected spinor at the neighbour along a leg.
    fn read_projected(self, argument: usize, leg: Leg, dagger: Dagger) -> HalfSpinor<Self::Complex>;
    /// The doubled link of a leg, its boundary phase included.
    fn link(self, argument: usize, leg: Leg) -> Matrix<Self::Complex>;
    /// The doubled link of a leg times `h`.
    fn link_times<T: Coloured<Self::Complex>>(self, argument: usize, leg: Leg, h: T) -> T {
        self.link(argument, leg).times(h)
    }
    /// Makes a value the field's here.
    fn write<T: Value<Self::Complex>>(self, argument: usize, value: T);
    /// One word of a field's value here.
    fn read_word(self, argument: usize, word: Self::Index) -> Self::Complex;
    /// One word of the value here of a field in another precision, rounded to that in which one computes.
    fn read_converted(self, argument: usize, word: Self::Index) -> Self::Complex;
    /// Makes a number a word of the field's value here.
    fn write_word(self, argument: usize, word: Self::Index, value: Self::Complex);
    /// Words of a component of a field.
    fn words(self, argument: usize) -> Self::Index;
    /// A count.
    fn count(self, number: usize) -> Self::Index;
    /// Takes `turns` turns, each from what the last one gave. A long loop stays one in every language.
    fn repeat<T: Carried>(self, turns: Self::Index, initial: T, turn: impl FnMut(Self::Index, T) -> T) -> T;
    /// A scalar of the call.
    fn scalar(self, argument: usize) -> Self::Real;
    /// A complex scalar of the call.
    fn complex_scalar(self, argument: usize) -> Self::Complex;
    /// Adds a number to sum number `part` of an argument, exactly; to an extreme, takes it into account.
    fn add_to_sum(self, argument: usize, part: usize, term: Self::Double);
    /// The site's coordinate, a whole number.
    fn coordinate(self, argument: usize, direction: Direction) -> Self::Real;
    /// Four uniform random numbers of the site ([`Coordinates::uniform`]).
    fn uniform(self, argument: usize, key: [Self::Real; 3], event: Self::Real, draw: Self::Real) -> [Self::Real; 4];
    /// Whether the sum of the site's coordinates in these directions is odd.
    fn is_odd(self, argument: usize, directions: &[Direction]) -> Self::Choice;
}

/// What a call does with a field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldUse {
    /// It reads it here.
    Read,
    /// It reads it at the neighbours.
    Neighbours,
    /// It reads it at displacements of an odd number of steps: it lies on the sites of the neighbours.
    OddDistance,
    /// It reads it here, and at displacements of an even number of steps.
    EvenDistance,
    /// It writes all of it.
    Write,
    /// It reads and writes it here.
    Update,
    /// It reads it here, in whatever precision it is.
    Converted,
}

/// What an argument of a body is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// A field.
    Field {
        /// What is done with it.
        used: FieldUse,
        /// What a component of it is; `None` for whatever the first field holds that is written.
        object: Option<Object>,
        /// Whether a site may have any number of components.
        repeated: bool,
    },
    /// Doubled links.
    Links,
    /// A real number.
    Scalar,
    /// A complex number.
    Complex,
    /// So many exact sums over all sites.
    Sums(usize),
    /// So many exact sums over each slice across a direction of the call.
    SliceSums(usize),
    /// The greatest or the least number of all sites.
    Extreme(Extreme),
    /// The coordinates of the site.
    Coordinates,
}

impl Role {
    /// Sums that the argument has, over all sites or over each slice, or extremes.
    pub const fn sums(self) -> usize {
        match self {
            Self::Sums(count) | Self::SliceSums(count) => count,
            Self::Extreme(_) => 1,
            _ => 0,
        }
    }
}

/// An argument of a body, bound to a site.
pub trait Argument<S: Site> {
    /// Its role.
    const ROLE: Role;
    /// Argument number `number` at a site.
    fn at(site: S, number: usize) -> Self;
}

/// What any component holds: the body goes through its words.
#[derive(Clone, Copy, Debug)]
pub struct Any;

/// What a field of a body holds.
pub trait Holds {
    /// What a component of it is; `None` for whatever the target holds.
    const OBJECT: Option<Object>;
    /// Whether a site may have any number of components.
    const REPEATED: bool;
}

impl Holds for Any {
    const OBJECT: Option<Object> = None;
    const REPEATED: bool = true;
}

impl<K: BodyObject> Holds for K {
    const OBJECT: Option<Object> = Some(K::OBJECT);
    const REPEATED: bool = K::REPEATED;
}

macro_rules! handles {
    ($($(#[$meta:meta])* $name:ident<K>: $used:ident;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<S, K> {
            site: S,
            number: usize,
            kind: PhantomData<K>,
        }

        impl<S: Site, K: Holds> Argument<S> for $name<S, K> {
            const ROLE: Role = Role::Field { used: FieldUse::$used, object: K::OBJECT, repeated: K::REPEATED };
            #[inline(always)]
            fn at(site: S, number: usize) -> Self {
                Self { site, number, kind: PhantomData }
            }
        }
    )+};
    ($($(#[$meta:meta])* $name:ident: $role:expr;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<S> {
            site: S,
            number: usize,
        }

        impl<S: Site> Argument<S> for $name<S> {
            const ROLE: Role = $role;
            #[inline(always)]
            fn at(site: S, number: usize) -> Self {
                Self { site, number }
            }
        }
    )+};
}

handles! {
    /// A field that is read here.
    Read<K>: Read;
    /// A field that is read at the neighbours: it lies on their sites.
    Neighbours<K>: Neighbours;
    /// A field that is read at displacements of an odd number of steps: it lies on the sites of the neighbours.
    OddDistance<K>: OddDistance;
    /// A field that is read here, and at displacements of an even number of steps.
    EvenDistance<K>: EvenDistance;
    /// A field all of which is written.
    Write<K>: Write;
    /// A field that is read and written here.
    Update<K>: Update;
}

handles! {
    /// A field that is read here, in whatever precision it is, and holds what the target holds. The lanes of both hold the same sites.
    Converted: Role::Field { used: FieldUse::Converted, object: None, repeated: true };
    /// Doubled links: read with reconstruction, boundary phases included.
    Links: Role::Links;
    /// A real number of the call, rounded to the precision in which one computes.
    Scalar: Role::Scalar;
    /// A complex number of the call, the same.
    ComplexScalar: Role::Complex;
    /// An exact sum over all sites.
    ExactSum: Role::Sums(1);
    /// The coordinates of the site.
    Coordinates: Role::Coordinates;
    /// Two exact sums over all sites: of the real and of the imaginary parts.
    ComplexSum: Role::Sums(2);
    /// An exact sum over each slice of the lattice across a direction of the call.
    SliceSum: Role::SliceSums(1);
    /// Two exact sums over each slice: of the real and of the imaginary parts.
    ComplexSliceSum: Role::SliceSums(2);
    /// The greatest number of all sites.
    Greatest: Role::Extreme(Extreme::Greatest);
    /// The least number of all sites.
    Least: Role::Extreme(Extreme::Least);
}

macro_rules! reads {
    ($($name:ident)+) => {$(
        impl<S: Site, K: BodyObject> $name<S, K> {
            /// The value here.
            #[inline(always)]
            pub fn here(self) -> K::Value<S::Complex> {
                self.site.read(self.number)
            }
        }

        impl<S: Site> $name<S, Any> {
            /// Word `word` of the value here.
            #[inline(always)]
            pub fn word(self, word: S::Index) -> S::Complex {
                self.site.read_word(self.number, word)
            }
            /// Words of a component.
            #[inline(always)]
            pub fn words(self) -> S::Index {
                self.site.words(self.number)
            }
        }
    )+};
}
reads!(Read Update);

macro_rules! writes {
    ($($name:ident)+) => {$(
        impl<S: Site, K: BodyObject> $name<S, K> {
            /// Makes `value` the value here.
            #[inline(always)]
            pub fn write(self, value: K::Value<S::Complex>) {
                self.site.write(self.number, value);
            }
        }

        impl<S: Site> $name<S, Any> {
            /// Makes `value` the word `word` of the value here.
            #[inline(always)]
            pub fn write_word(self, word: S::Index, value: S::Complex) {
                self.site.write_word(self.number, word, value);
            }
        }
    )+};
}
writes!(Write Update);

impl<S: Site> Converted<S> {
    /// Word `word` of the value here, rounded to the precision in which one computes: to nearest even, to half precision by way of f32.
    #[inline(always)]
    pub fn word(self, word: S::Index) -> S::Complex {
        self.site.read_converted(self.number, word)
    }
    /// Words of a component.
    #[inline(always)]
    pub fn words(self) -> S::Index {
        self.site.words(self.number)
    }
}

impl<S: Site> Write<S, Any> {
    /// Words of a component.
    #[inline(always)]
    pub fn words(self) -> S::Index {
        self.site.words(self.number)
    }
}

impl<S: Site, K: BodyObject> Neighbours<S, K> {
    /// The value at the neighbour along a leg.
    #[inline(always)]
    pub fn at(self, leg: Leg) -> K::Value<S::Complex> {
        self.site.read_at(self.number, leg)
    }
}

impl<S: Site, K: BodyObject> OddDistance<S, K> {
    /// The value at a displacement.
    ///
    /// # Panics
    /// If it has an even number of steps.
    #[inline(always)]
    #[track_caller]
    pub fn at(self, displacement: Displacement) -> K::Value<S::Complex> {
        assert!(displacement.is_odd(), "a field of odd distances is read at one of an even number of steps");
        self.site.read_displaced(self.number, displacement)
    }
}

impl<S: Site, K: BodyObject> EvenDistance<S, K> {
    /// The value here.
    #[inline(always)]
    pub fn here(self) -> K::Value<S::Complex> {
        self.site.read(self.number)
    }
    /// The value at a displacement.
    ///
    /// # Panics
    /// If it has an odd number of steps.
    #[inline(always)]
    #[track_caller]
    pub fn at(self, displacement: Displacement) -> K::Value<S::Complex> {
        assert!(!displacement.is_odd(), "a field of even distances is read at one of an odd number of steps");
        self.site.read_displaced(self.number, displacement)
    }
}

impl<S: Site> Neighbours<S, Spinors> {
    /// The two independent rows of (1 ∓ γ_μ)ψ at the neighbour along a leg: 1 − γ of a forward leg, 1 + γ of a backward one, and the other way round
    /// with dagger.
    #[inline(always)]
    pub fn projected(self, leg: Leg, dagger: Dagger) -> HalfSpinor<S::Complex> {
        self.site.read_projected(self.number, leg, dagger)
    }
}

impl<S: Site> Links<S> {
    /// The legs, in the order of the call: part of a kernel's definition, since they change the bits of a sum.
    #[inline(always)]
    pub fn legs(self) -> [Leg; LEGS] {
        self.site.legs()
    }

    /// The link of a leg: U_μ(x) of a forward one, U_μ(x − μ)† of a backward one, times what the format of doubled links folds in.
    #[inline(always)]
    pub fn at(self, leg: Leg) -> Matrix<S::Complex> {
        self.site.link(self.number, leg)
    }

    /// The link of a leg times each colour vector of `h`.
    #[inline(always)]
    pub fn times<T: Coloured<S::Complex>>(self, leg: Leg, h: T) -> T {
        self.site.link_times(self.number, leg, h)
    }
}

impl<S: Site> Scalar<S> {
    /// The number.
    #[inline(always)]
    pub fn get(self) -> S::Real {
        self.site.scalar(self.number)
    }
}

impl<S: Site> ComplexScalar<S> {
    /// The number.
    #[inline(always)]
    pub fn get(self) -> S::Complex {
        self.site.complex_scalar(self.number)
    }
}

macro_rules! sums {
    ($($real:ident $complex:ident)+) => {$(
        impl<S: Site> $real<S> {
            /// Adds the site's term.
            #[inline(always)]
            pub fn add(self, term: S::Double) {
                self.site.add_to_sum(self.number, 0, term);
            }
        }

        impl<S: Site> $complex<S> {
            /// Adds the site's term, real and imaginary part.
            #[inline(always)]
            pub fn add(self, [re, im]: [S::Double; 2]) {
                self.site.add_to_sum(self.number, 0, re);
                self.site.add_to_sum(self.number, 1, im);
            }
        }
    )+};
}
sums!(ExactSum ComplexSum SliceSum ComplexSliceSum);

macro_rules! extremes {
    ($($name:ident)+) => {$(
        impl<S: Site> $name<S> {
            /// Takes the site's number into account.
            #[inline(always)]
            pub fn take(self, number: S::Double) {
                self.site.add_to_sum(self.number, 0, number);
            }
        }
    )+};
}
extremes!(Greatest Least);

impl<S: Site> Coordinates<S> {
    /// The coordinate in a direction, a whole number.
    #[inline(always)]
    pub fn get(self, direction: Direction) -> S::Real {
        self.site.coordinate(self.number, direction)
    }

    /// Four uniform random numbers in (0, 1), a function of the site's coordinates in the whole lattice, a key ([`crate::random::key_of_seed`]), an event
    /// and a draw, whole numbers below 2²⁴: the same on every backend, and independent of those of other sites, keys, events and draws
    /// (`docs/arithmetic.md` §23).
    #[inline(always)]
    pub fn uniform(self, key: [S::Real; 3], event: S::Real, draw: S::Real) -> [S::Real; 4] {
        self.site.uniform(self.number, key, event, draw)
    }

    /// Whether the sum of the coordinates in these directions is odd: of all four, whether the site is.
    #[inline(always)]
    pub fn is_odd(self, directions: &[Direction]) -> S::Choice {
        self.site.is_odd(self.number, directions)
    }
}

/// A kernel that is written once: what it does at a site, and its arguments.
pub trait Body: 'static {
    /// Its arguments, in order.
    const ROLES: &'static [Role];
    /// What it does at a site. It has to be `#[inline(always)]`, and so have functions of weight that it calls.
    fn run<S: Site>(site: S);
}

/// Arguments that a body may have.
pub const MOST_ARGUMENTS: usize = 16;

/// Whether one of the roles is such.
macro_rules! has {
    ($roles:ident, $role:pat) => {{
        let (mut k, mut found) = (0, false);
        while k < $roles.len() {
            found |= matches!($roles[k], $role);
            k += 1;
        }
        found
    }};
}

/// Whether a body sums over slices.
pub const fn sums_over_slices(roles: &[Role]) -> bool {
    has!(roles, Role::SliceSums(_))
}

/// The extreme that a body takes instead of sums: one body has one.
pub const fn extreme(roles: &[Role]) -> Option<Extreme> {
    let mut k = 0;
    while k < roles.len() {
        if let Role::Extreme(extreme) = roles[k] {
            return Some(extreme);
        }
        k += 1;
    }
    None
}

/// Whether a body reads at neighbours, or further away.
pub const fn uses_neighbours(roles: &[Role]) -> bool {
    has!(roles, Role::Links | Role::Field { used: FieldUse::Neighbours, .. }) || uses_displacements(roles)
}

/// Whether a body reads at displacements.
pub const fn uses_displacements(roles: &[Role]) -> bool {
    has!(roles, Role::Field { used: FieldUse::OddDistance | FieldUse::EvenDistance, .. })
}
