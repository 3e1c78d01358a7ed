//! The site and the arguments of a kernel function. Arguments are handles on fields by role, each bound to a site. They call the [`Site`], which is
//! implemented for lane vectors (`lanes.rs`) and for recorders.

use std::marker::PhantomData;

use super::number::{Carried, Choice, ComplexNumber, Number, RealNumber};
use super::value::{BodyObject, Coloured, HalfSpinor, Matrix, Value};
use crate::dagger::Dagger;
use crate::extreme::Extreme;
use crate::layout::{Direction, Displacement, LEGS, Leg};
use crate::object::{Object, Spinors};

/// The place where a kernel function runs: one site, or the sites of all lanes of an outer site. Fields are numbered by their position among the
/// arguments. Kernel functions use fields through the handles of this module.
pub trait Site: Copy {
    /// A real number in each lane.
    type Real: RealNumber<Choice = Self::Choice, Double = Self::Double>;
    /// A complex number in each lane.
    type Complex: ComplexNumber<Real = Self::Real, Choice = Self::Choice, Double = Self::Double>;
    /// A double in each lane.
    type Double: Number;
    /// The type of comparisons.
    type Choice: Choice;
    /// The number of a word, or of a loop's turn.
    type Index: Copy;

    /// The legs of a nearest-neighbour stencil, in the leg order of the call.
    fn legs(self) -> [Leg; LEGS];
    /// Whether the call is for the Hermitian conjugate, if the kernel has one.
    fn dagger(self) -> Dagger;
    /// A field's value at the site.
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
    /// Writes a field's value at the site.
    fn write<T: Value<Self::Complex>>(self, argument: usize, value: T);
    /// One word of a field's value at the site.
    fn read_word(self, argument: usize, word: Self::Index) -> Self::Complex;
    /// One word of the value at the site of a field in another precision, rounded to the working precision.
    fn read_converted(self, argument: usize, word: Self::Index) -> Self::Complex;
    /// Writes one word of a field's value at the site.
    fn write_word(self, argument: usize, word: Self::Index, value: Self::Complex);
    /// The number of words of a component of a field.
    fn words(self, argument: usize) -> Self::Index;
    /// A count as an index.
    fn count(self, number: usize) -> Self::Index;
    /// Calls `turn` `turns` times. Each turn receives what the last one returned. In generated code it stays a loop.
    fn repeat<T: Carried>(self, turns: Self::Index, initial: T, turn: impl FnMut(Self::Index, T) -> T) -> T;
    /// A scalar of the call.
    fn scalar(self, argument: usize) -> Self::Real;
    /// A complex scalar of the call.
    fn complex_scalar(self, argument: usize) -> Self::Complex;
    /// Adds a number to sum number `part` of an argument, exactly. If the argument is an extreme, includes the number in it.
    fn add_to_sum(self, argument: usize, part: usize, term: Self::Double);
    /// The site's coordinate, an integer.
    fn coordinate(self, argument: usize, direction: Direction) -> Self::Real;
    /// Four uniform random numbers of the site ([`Coordinates::uniform`]).
    fn uniform(self, argument: usize, key: [Self::Real; 3], event: Self::Real, draw: Self::Real) -> [Self::Real; 4];
    /// Whether the sum of the site's coordinates in these directions is odd.
    fn is_odd(self, argument: usize, directions: &[Direction]) -> Self::Choice;
}

/// How a call uses a field.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldUse {
    /// It reads the field at the site.
    Read,
    /// It reads the field at the neighbours.
    Neighbours,
    /// It reads the field at displacements of an odd number of steps. The field is on the sites of the neighbours.
    OddDistance,
    /// It reads the field at the site, and at displacements of an even number of steps.
    EvenDistance,
    /// It overwrites the field.
    Write,
    /// It reads and writes the field at the site.
    Update,
    /// It reads the field at the site, in any precision.
    Converted,
}

/// The role of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// A field.
    Field {
        /// How it is used.
        used: FieldUse,
        /// The object of one component; `None` for that of the first field that is written.
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
    /// Exact sums over all sites. The number is how many.
    Sums(usize),
    /// Exact sums over each slice across a direction of the call. The number is how many.
    SliceSums(usize),
    /// The greatest or the least number of all sites.
    Extreme(Extreme),
    /// The coordinates of the site.
    Coordinates,
}

impl Role {
    /// The number of sums or extremes of the argument.
    pub const fn sums(self) -> usize {
        match self {
            Self::Sums(count) | Self::SliceSums(count) => count,
            Self::Extreme(_) => 1,
            _ => 0,
        }
    }
}

/// An argument of a kernel function, bound to a site.
pub trait Argument<S: Site> {
    /// Its role.
    const ROLE: Role;
    /// The argument with this number, at a site.
    fn at(site: S, number: usize) -> Self;
}

/// Any object: the kernel function loops over the words of a component.
#[derive(Clone, Copy, Debug)]
pub struct Any;

/// The kind of object in a field of a kernel function.
pub trait Holds {
    /// The object of one component; `None` for that of the target.
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
    /// A field that is read at the site.
    Read<K>: Read;
    /// A field that is read at the neighbours. It is on their sites.
    Neighbours<K>: Neighbours;
    /// A field that is read at displacements of an odd number of steps. It is on the sites of the neighbours.
    OddDistance<K>: OddDistance;
    /// A field that is read at the site, and at displacements of an even number of steps.
    EvenDistance<K>: EvenDistance;
    /// A field that is overwritten.
    Write<K>: Write;
    /// A field that is read and written at the site.
    Update<K>: Update;
}

handles! {
    /// A field that is read at the site, in any precision, with the object of the target. The lanes of both must hold the same sites.
    Converted: Role::Field { used: FieldUse::Converted, object: None, repeated: true };
    /// Doubled links, rebuilt from the stored reals, with boundary phases.
    Links: Role::Links;
    /// A real number of the call, rounded to the working precision.
    Scalar: Role::Scalar;
    /// A complex number of the call, rounded to the working precision.
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
    /// The greatest number over all sites.
    Greatest: Role::Extreme(Extreme::Greatest);
    /// The least number over all sites.
    Least: Role::Extreme(Extreme::Least);
}

macro_rules! reads {
    ($($name:ident)+) => {$(
        impl<S: Site, K: BodyObject> $name<S, K> {
            /// The value at the site.
            #[inline(always)]
            pub fn here(self) -> K::Value<S::Complex> {
                self.site.read(self.number)
            }
        }

        impl<S: Site> $name<S, Any> {
            /// Word `word` of the value at the site.
            #[inline(always)]
            pub fn word(self, word: S::Index) -> S::Complex {
                self.site.read_word(self.number, word)
            }
            /// The number of words of a component.
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
            /// Writes the value at the site.
            #[inline(always)]
            pub fn write(self, value: K::Value<S::Complex>) {
                self.site.write(self.number, value);
            }
        }

        impl<S: Site> $name<S, Any> {
            /// Writes word `word` of the value at the site.
            #[inline(always)]
            pub fn write_word(self, word: S::Index, value: S::Complex) {
                self.site.write_word(self.number, word, value);
            }
        }
    )+};
}
writes!(Write Update);

impl<S: Site> Converted<S> {
    /// Word `word` of the value at the site, rounded to the working precision: to nearest even, to half precision by way of f32.
    #[inline(always)]
    pub fn word(self, word: S::Index) -> S::Complex {
        self.site.read_converted(self.number, word)
    }
    /// The number of words of a component.
    #[inline(always)]
    pub fn words(self) -> S::Index {
        self.site.words(self.number)
    }
}

impl<S: Site> Write<S, Any> {
    /// The number of words of a component.
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
    /// If the displacement has an even number of steps.
    #[inline(always)]
    #[track_caller]
    pub fn at(self, displacement: Displacement) -> K::Value<S::Complex> {
        assert!(displacement.is_odd(), "a field of odd distances is read at one of an even number of steps");
        self.site.read_displaced(self.number, displacement)
    }
}

impl<S: Site, K: BodyObject> EvenDistance<S, K> {
    /// The value at the site.
    #[inline(always)]
    pub fn here(self) -> K::Value<S::Complex> {
        self.site.read(self.number)
    }
    /// The value at a displacement.
    ///
    /// # Panics
    /// If the displacement has an odd number of steps.
    #[inline(always)]
    #[track_caller]
    pub fn at(self, displacement: Displacement) -> K::Value<S::Complex> {
        assert!(!displacement.is_odd(), "a field of even distances is read at one of an odd number of steps");
        self.site.read_displaced(self.number, displacement)
    }
}

impl<S: Site> Neighbours<S, Spinors> {
    /// The two independent rows of (1 ∓ γ_μ)ψ at the neighbour along a leg: 1 − γ for a forward leg, 1 + γ for a backward one; with dagger it is the
    /// reverse.
    #[inline(always)]
    pub fn projected(self, leg: Leg, dagger: Dagger) -> HalfSpinor<S::Complex> {
        self.site.read_projected(self.number, leg, dagger)
    }
}

impl<S: Site> Links<S> {
    /// The legs, in the leg order of the call. The order is part of a kernel's definition, since it changes the bits of a sum.
    #[inline(always)]
    pub fn legs(self) -> [Leg; LEGS] {
        self.site.legs()
    }

    /// The doubled link of a leg: U_μ(x) for a forward leg, U_μ(x − μ)† for a backward one, with the factors that doubled links include.
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
    /// The value of the number.
    #[inline(always)]
    pub fn get(self) -> S::Real {
        self.site.scalar(self.number)
    }
}

impl<S: Site> ComplexScalar<S> {
    /// The value of the number.
    #[inline(always)]
    pub fn get(self) -> S::Complex {
        self.site.complex_scalar(self.number)
    }
}

macro_rules! sums {
    ($($real:ident $complex:ident)+) => {$(
        impl<S: Site> $real<S> {
            /// Adds the term of the site.
            #[inline(always)]
            pub fn add(self, term: S::Double) {
                self.site.add_to_sum(self.number, 0, term);
            }
        }

        impl<S: Site> $complex<S> {
            /// Adds the term of the site, real and imaginary part.
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
            /// Includes the number of the site.
            #[inline(always)]
            pub fn take(self, number: S::Double) {
                self.site.add_to_sum(self.number, 0, number);
            }
        }
    )+};
}
extremes!(Greatest Least);

impl<S: Site> Coordinates<S> {
    /// The coordinate in a direction, an integer.
    #[inline(always)]
    pub fn get(self, direction: Direction) -> S::Real {
        self.site.coordinate(self.number, direction)
    }

    /// Four uniform random numbers in (0, 1). They are a function of the site's coordinates in the whole lattice, of a key
    /// ([`crate::random::key_of_seed`]), an event and a draw, which are integers below 2²⁴. They are the same on every backend, and independent of
    /// those of other sites, keys, events and draws (`docs/arithmetic.md` §23).
    #[inline(always)]
    pub fn uniform(self, key: [S::Real; 3], event: S::Real, draw: S::Real) -> [S::Real; 4] {
        self.site.uniform(self.number, key, event, draw)
    }

    /// Whether the sum of the coordinates in these directions is odd. With all four, this is whether the site is odd.
    #[inline(always)]
    pub fn is_odd(self, directions: &[Direction]) -> S::Choice {
        self.site.is_odd(self.number, directions)
    }
}

/// A kernel function: what it computes at a site, and its arguments.
pub trait Body: 'static {
    /// Its arguments, in order.
    const ROLES: &'static [Role];
    /// Computes a site. It must be `#[inline(always)]`, and so must all expensive functions that it calls.
    fn run<S: Site>(site: S);
}

/// The maximum number of arguments of a kernel function.
pub const MOST_ARGUMENTS: usize = 16;

/// Whether one of the roles matches a pattern.
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

/// Whether a kernel function sums over slices.
pub const fn sums_over_slices(roles: &[Role]) -> bool {
    has!(roles, Role::SliceSums(_))
}

/// The extreme that a kernel function computes instead of sums. It has at most one.
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

/// Whether a kernel function reads at neighbours, or further away.
pub const fn uses_neighbours(roles: &[Role]) -> bool {
    has!(roles, Role::Links | Role::Field { used: FieldUse::Neighbours, .. }) || uses_displacements(roles)
}

/// Whether a kernel function reads at displacements.
pub const fn uses_displacements(roles: &[Role]) -> bool {
    has!(roles, Role::Field { used: FieldUse::OddDistance | FieldUse::EvenDistance, .. })
}
