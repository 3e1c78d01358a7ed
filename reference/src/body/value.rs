//! The values that a kernel function reads and writes at a site: colour vectors, matrices, spinors, and lists of complex words. They are generic
//! over the number, so that one source is both the CPU kernel and the recorded one. Counterparts: `reference/src/tensor`, `cl/su3.clh`,
//! `cl/spin.clh`.

use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

use super::number::{Carried, ComplexNumber};
use crate::dagger::Dagger;
use crate::layout::{DIMENSIONS, Leg};
use crate::object::{ColourMatrix, ColourVectors, Gauge, Object, Propagator, SiteObject, Spinors};
use crate::object::{ComplexNumber as OneComplex, HalfSpinor as HalfSpinorObject};

/// A value at a site: a list of complex words.
pub trait Value<C>: Copy {
    /// The array of its words.
    type Words: AsRef<[C]> + AsMut<[C]> + Copy;
    /// An array of words that are all `word`.
    fn filled(word: C) -> Self::Words;
    /// The value with these words.
    fn from_words(words: Self::Words) -> Self;
    /// Its words.
    fn to_words(self) -> Self::Words;
}

/// The object of a field of a kernel function. A kernel function reads and writes one component at a time.
pub trait BodyObject: 'static {
    /// The number of complex words of a component.
    const WORDS: usize;
    /// The object with one component.
    const OBJECT: Object;
    /// Whether a site may have any number of components. A kernel function computes one of them at a time.
    const REPEATED: bool;
    /// Its value, with complex numbers `C`.
    type Value<C: ComplexNumber>: Value<C>;
}

macro_rules! values {
    ($($(#[$meta:meta])* $name:ident, $words:literal;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name<C>(pub [C; $words]);

        impl<C: Copy> Value<C> for $name<C> {
            type Words = [C; $words];
            #[inline(always)]
            fn filled(word: C) -> [C; $words] {
                [word; $words]
            }
            #[inline(always)]
            fn from_words(words: [C; $words]) -> Self {
                Self(words)
            }
            #[inline(always)]
            fn to_words(self) -> [C; $words] {
                self.0
            }
        }

        impl<C: Carried> Carried for $name<C> {
            fn replaced(self, by: &mut dyn FnMut(u32) -> u32) -> Self {
                Self(self.0.replaced(by))
            }
        }

        linear!($name, $words);
    )+};
}

/// Implements sums, differences and multiples, word by word.
macro_rules! linear {
    ($name:ident, $words:literal) => {
        impl<C: ComplexNumber> Add for $name<C> {
            type Output = Self;
            #[inline(always)]
            fn add(mut self, other: Self) -> Self {
                for k in 0..$words {
                    self.0[k] += other.0[k];
                }
                self
            }
        }
        impl<C: ComplexNumber> Sub for $name<C> {
            type Output = Self;
            #[inline(always)]
            fn sub(mut self, other: Self) -> Self {
                for k in 0..$words {
                    self.0[k] -= other.0[k];
                }
                self
            }
        }
        impl<C: ComplexNumber> AddAssign for $name<C> {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                *self = Add::add(*self, other);
            }
        }
        impl<C: ComplexNumber> SubAssign for $name<C> {
            #[inline(always)]
            fn sub_assign(&mut self, other: Self) {
                *self = Sub::sub(*self, other);
            }
        }
        impl<C: ComplexNumber> Mul<f64> for $name<C> {
            type Output = Self;
            /// As [`Self::scaled`].
            #[inline(always)]
            fn mul(self, factor: f64) -> Self {
                self.scaled(factor)
            }
        }
        impl<C: ComplexNumber> Neg for $name<C> {
            type Output = Self;
            #[inline(always)]
            fn neg(mut self) -> Self {
                for k in 0..$words {
                    self.0[k] = -self.0[k];
                }
                self
            }
        }
        impl<C: ComplexNumber> $name<C> {
            /// All words +0.
            #[inline(always)]
            pub fn zero() -> Self {
                Self([C::zero(); $words])
            }
            /// All words −0. A sum starts with it, since −0 + x is x for every x.
            #[inline(always)]
            pub fn empty_sum() -> Self {
                Self([C::empty_sum(); $words])
            }
            /// s · self: each part of each word rounded once.
            #[inline(always)]
            pub fn scaled(mut self, s: impl Into<C::Real>) -> Self {
                let s = s.into();
                for k in 0..$words {
                    self.0[k] = self.0[k].scaled(s);
                }
                self
            }
            /// s · self + c: each part of each word rounded once.
            #[inline(always)]
            pub fn scaled_add(mut self, s: impl Into<C::Real>, c: Self) -> Self {
                let s = s.into();
                for k in 0..$words {
                    self.0[k] = self.0[k].scaled_add(s, c.0[k]);
                }
                self
            }
            /// a · self + c with a complex a, word by word by `madd`.
            #[inline(always)]
            pub fn madd(mut self, a: C, c: Self) -> Self {
                for k in 0..$words {
                    self.0[k] = a.madd(self.0[k], c.0[k]);
                }
                self
            }
            /// i · self, exactly.
            #[inline(always)]
            pub fn times_i(mut self) -> Self {
                for k in 0..$words {
                    self.0[k] = self.0[k].times_i();
                }
                self
            }
            /// `yes` if `choice` is true, else `no`.
            #[inline(always)]
            pub fn select(choice: C::Choice, mut yes: Self, no: Self) -> Self {
                for k in 0..$words {
                    yes.0[k] = C::select(choice, yes.0[k], no.0[k]);
                }
                yes
            }
            /// |self|², in doubles, summed in the order of words from +0 (`docs/arithmetic.md` §8).
            #[inline(always)]
            pub fn norm2(self) -> C::Double {
                let mut sum = <C::Double as super::number::Number>::constant(0.0);
                for k in 0..$words {
                    sum = self.0[k].norm2_onto(sum);
                }
                sum
            }
            /// ⟨self, other⟩, antilinear in self, in doubles, summed in the order of words from +0 (`docs/arithmetic.md` §8).
            #[inline(always)]
            pub fn inner_product(self, other: Self) -> [C::Double; 2] {
                let zero = <C::Double as super::number::Number>::constant(0.0);
                let mut sum = [zero, zero];
                for k in 0..$words {
                    sum = self.0[k].inner_product_onto(other.0[k], sum);
                }
                sum
            }
        }
    };
}

values! {
    /// One complex number.
    One, 1;
    /// Three colours.
    ColourVector, 3;
    /// A 3×3 colour matrix: word 3·row + column.
    Matrix, 9;
    /// Two spins times three colours: word 3·spin + colour.
    HalfSpinor, 6;
    /// Four spins times three colours: word 3·spin + colour.
    Spinor, 12;
    /// Four links: word 9·μ + 3·row + column.
    Links4, 36;
    /// A matrix of spin and colour, in the order of [`Propagator`].
    SpinColourMatrix, 144;
}

/// A list of `N` words.
#[derive(Clone, Copy, Debug)]
pub struct List<C, const N: usize>(pub [C; N]);

impl<C: Copy, const N: usize> Value<C> for List<C, N> {
    type Words = [C; N];
    #[inline(always)]
    fn filled(word: C) -> [C; N] {
        [word; N]
    }
    #[inline(always)]
    fn from_words(words: [C; N]) -> Self {
        Self(words)
    }
    #[inline(always)]
    fn to_words(self) -> [C; N] {
        self.0
    }
}

impl<C: Carried, const N: usize> Carried for List<C, N> {
    fn replaced(self, by: &mut dyn FnMut(u32) -> u32) -> Self {
        Self(self.0.replaced(by))
    }
}

/// A list as 2·`N` real numbers: 2k and 2k + 1 are the real and imaginary part of word k.
impl<C: ComplexNumber, const N: usize> List<C, N> {
    /// Real number `k`.
    #[inline(always)]
    pub fn real(self, k: usize) -> C::Real {
        let word = self.0[k / 2];
        if k.is_multiple_of(2) { word.re() } else { word.im() }
    }

    /// The list with the real number `number(k)` for each k.
    #[inline(always)]
    pub fn of_reals(mut number: impl FnMut(usize) -> C::Real) -> Self {
        Self(std::array::from_fn(|word| {
            let re = number(2 * word);
            C::new(re, number(2 * word + 1))
        }))
    }
}

/// Fields of [`Object::Words`], with `N` words at a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordList<const N: usize>;

impl<const N: usize> SiteObject for WordList<N> {
    fn object(&self) -> Object {
        Object::Words(N)
    }
    fn of(object: Object) -> Option<Self> {
        (object == Object::Words(N)).then_some(Self)
    }
}

impl<const N: usize> BodyObject for WordList<N> {
    const WORDS: usize = N;
    const OBJECT: Object = Object::Words(N);
    const REPEATED: bool = false;
    type Value<C: ComplexNumber> = List<C, N>;
}

macro_rules! objects {
    ($($object:ty: $value:ident, $words:expr, $constant:expr, $repeated:literal;)+) => {$(
        impl BodyObject for $object {
            const WORDS: usize = $words;
            const OBJECT: Object = $constant;
            const REPEATED: bool = $repeated;
            type Value<C: ComplexNumber> = $value<C>;
        }
    )+};
}

objects! {
    OneComplex: One, 1, Object::ComplexNumber, false;
    HalfSpinorObject: HalfSpinor, 6, Object::HalfSpinor, false;
    ColourMatrix: Matrix, 9, Object::ColourMatrix, false;
    Gauge: Links4, 36, Object::Gauge, false;
    Propagator: SpinColourMatrix, 144, Object::Propagator, false;
    Spinors: Spinor, 12, Object::Spinors(1), true;
    ColourVectors: ColourVector, 3, Object::ColourVectors(1), true;
}

/// A value that a colour matrix can multiply: several colour vectors, one after the other.
pub trait Coloured<C>: Value<C> {
    /// The number of colour vectors.
    const VECTORS: usize;
}

impl<C: Copy> Coloured<C> for ColourVector<C> {
    const VECTORS: usize = 1;
}
impl<C: Copy> Coloured<C> for HalfSpinor<C> {
    const VECTORS: usize = 2;
}
impl<C: Copy> Coloured<C> for Spinor<C> {
    const VECTORS: usize = 4;
}

impl<C: ComplexNumber> Links4<C> {
    /// The link in direction μ.
    #[inline(always)]
    pub fn link(self, mu: usize) -> Matrix<C> {
        let mut link = Matrix([self.0[0]; 9]);
        link.0.copy_from_slice(&self.0[9 * mu..9 * mu + 9]);
        link
    }
}

impl<C: ComplexNumber> Matrix<C> {
    /// The Hermitian conjugate, exactly.
    #[inline(always)]
    pub fn adjoint(self) -> Self {
        let mut adjoint = self;
        for row in 0..3 {
            for column in 0..3 {
                adjoint.0[3 * row + column] = self.0[3 * column + row].conj();
            }
        }
        adjoint
    }

    /// self times each colour vector of `h`: `mul`, then `madd`, with columns in order (`docs/arithmetic.md` §3).
    #[inline(always)]
    pub fn times<T: Coloured<C>>(self, h: T) -> T {
        let h = h.to_words();
        let mut product = h;
        for vector in 0..T::VECTORS {
            for row in 0..3 {
                let (u, h) = (&self.0[3 * row..3 * row + 3], &h.as_ref()[3 * vector..3 * vector + 3]);
                product.as_mut()[3 * vector + row] = C::dot([u[0], u[1], u[2]], [h[0], h[1], h[2]]);
            }
        }
        T::from_words(product)
    }

    /// The trace: the sum of the diagonal, in order.
    #[inline(always)]
    pub fn trace(self) -> C {
        self.0[0] + self.0[4] + self.0[8]
    }
}

impl<C: ComplexNumber> Mul<ColourVector<C>> for Matrix<C> {
    type Output = ColourVector<C>;
    #[inline(always)]
    fn mul(self, h: ColourVector<C>) -> ColourVector<C> {
        self.times(h)
    }
}

impl<C: ComplexNumber> Mul for Matrix<C> {
    type Output = Self;
    /// Element (row, column): `mul`, then `madd`, with the inner index in order.
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let mut product = self;
        for row in 0..3 {
            for column in 0..3 {
                let (a, b) = (&self.0[3 * row..3 * row + 3], [0, 3, 6].map(|first| other.0[first + column]));
                product.0[3 * row + column] = C::dot([a[0], a[1], a[2]], b);
            }
        }
        product
    }
}

/// a + b, a − b, a + i·b or a − i·b.
#[derive(Clone, Copy)]
enum Joined {
    Add,
    Sub,
    AddI,
    SubI,
}

impl Joined {
    #[inline(always)]
    fn of<C: ComplexNumber>(self, a: C, b: C) -> C {
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::AddI => a.add_i(b),
            Self::SubI => a.sub_i(b),
        }
    }
}

/// The rows of 1 ± γ of a dimension (`docs/arithmetic.md` §4). For the upper spins 0 and 1: the lower spin that is added, and how. For the lower
/// spins 2 and 3: the upper row from which each follows, and how it is added to a sum.
struct Projector {
    upper: [(Joined, usize); 2],
    lower: [(Joined, usize); 2],
}

use Joined::{Add as A, AddI as AI, Sub as S, SubI as SI};

const PLUS: [Projector; DIMENSIONS] = [
    Projector { upper: [(AI, 3), (AI, 2)], lower: [(SI, 1), (SI, 0)] },
    Projector { upper: [(S, 3), (A, 2)], lower: [(A, 1), (S, 0)] },
    Projector { upper: [(AI, 2), (SI, 3)], lower: [(SI, 0), (AI, 1)] },
    Projector { upper: [(A, 2), (A, 3)], lower: [(A, 0), (A, 1)] },
];

const MINUS: [Projector; DIMENSIONS] = [
    Projector { upper: [(SI, 3), (SI, 2)], lower: [(AI, 1), (AI, 0)] },
    Projector { upper: [(A, 3), (S, 2)], lower: [(S, 1), (A, 0)] },
    Projector { upper: [(SI, 2), (AI, 3)], lower: [(AI, 0), (SI, 1)] },
    Projector { upper: [(S, 2), (S, 3)], lower: [(S, 0), (S, 1)] },
];

/// Runs `$body` with the projector of a leg as a constant, so that the compiler specialises each of the eight.
macro_rules! with_projector {
    ($leg:expr, $dagger:expr, |$projector:ident| $body:expr) => {
        match ($leg.dimension(), $leg.is_forward() == ($dagger == Dagger::Yes)) {
            (0, true) => with_projector!($projector, PLUS[0], $body),
            (1, true) => with_projector!($projector, PLUS[1], $body),
            (2, true) => with_projector!($projector, PLUS[2], $body),
            (_, true) => with_projector!($projector, PLUS[3], $body),
            (0, false) => with_projector!($projector, MINUS[0], $body),
            (1, false) => with_projector!($projector, MINUS[1], $body),
            (2, false) => with_projector!($projector, MINUS[2], $body),
            (_, false) => with_projector!($projector, MINUS[3], $body),
        }
    };
    ($projector:ident, $constant:expr, $body:expr) => {{
        let $projector = const { &$constant };
        $body
    }};
}

/// The two independent rows of (1 ∓ γ_μ)ψ of a leg: 1 − γ for a forward leg, 1 + γ for a backward one; with dagger it is the reverse.
#[inline(always)]
pub fn projected<C: ComplexNumber>(word: impl Fn(usize) -> C, leg: Leg, dagger: Dagger) -> HalfSpinor<C> {
    with_projector!(leg, dagger, |projector| {
        let mut h = HalfSpinor([word(0); 6]);
        for (spin, (join, lower)) in projector.upper.into_iter().enumerate() {
            for colour in 0..3 {
                h.0[3 * spin + colour] = join.of(word(3 * spin + colour), word(3 * lower + colour));
            }
        }
        h
    })
}

impl<C: ComplexNumber> Spinor<C> {
    /// The two independent rows of (1 ∓ γ_μ)self, as for a leg of a hop: 1 − γ for a forward leg, 1 + γ for a backward one; with dagger it is the
    /// reverse.
    #[inline(always)]
    pub fn projected(self, leg: Leg, dagger: Dagger) -> HalfSpinor<C> {
        projected(|word| self.0[word], leg, dagger)
    }

    /// self plus the four rows that follow from the two rows of a leg's half spinor.
    #[inline(always)]
    pub fn plus_projected(mut self, leg: Leg, dagger: Dagger, h: HalfSpinor<C>) -> Self {
        with_projector!(leg, dagger, |projector| {
            let [(join2, upper2), (join3, upper3)] = projector.lower;
            for colour in 0..3 {
                self.0[colour] += h.0[colour];
                self.0[3 + colour] += h.0[3 + colour];
                self.0[6 + colour] = join2.of(self.0[6 + colour], h.0[3 * upper2 + colour]);
                self.0[9 + colour] = join3.of(self.0[9 + colour], h.0[3 * upper3 + colour]);
            }
        });
        self
    }

    /// (a.re + i·a.im·γ5) · self: spins 0 and 1 times a, spins 2 and 3 times its conjugate, by `mul` (`docs/arithmetic.md` §17).
    #[inline(always)]
    pub fn twisted(mut self, a: C) -> Self {
        let conjugate = a.conj();
        for k in 0..6 {
            self.0[k] = a * self.0[k];
            self.0[6 + k] = conjugate * self.0[6 + k];
        }
        self
    }

    /// (a.re + i·a.im·γ5) · self + c, by `madd`; a.re is added first.
    #[inline(always)]
    pub fn twisted_add(mut self, a: C, c: Self) -> Self {
        let conjugate = a.conj();
        for k in 0..6 {
            self.0[k] = a.madd(self.0[k], c.0[k]);
            self.0[6 + k] = conjugate.madd(self.0[6 + k], c.0[6 + k]);
        }
        self
    }
}
