//! Two kernel functions fused into one: the second uses the numbers that the first writes at a site, without storing them. This is correct if the
//! second reads that field only at the site itself. The bits are those of one after the other, in f32 and f64.

use std::cell::Cell;
use std::marker::PhantomData;

use super::site::{Body, FieldUse, MOST_ARGUMENTS, Role, Site};
use super::value::{Coloured, HalfSpinor, Matrix, Value};
use crate::dagger::Dagger;
use crate::layout::{Direction, Displacement, LEGS, Leg};

use super::number::Carried;

/// The maximum number of complex words that pass from one to the other: those of two spinors.
const MOST_BETWEEN: usize = 24;

/// The kernel function `A` followed by `B`, whose argument number `READ` is what `A` writes as its argument number `WRITTEN`. The arguments are
/// those of `A`, then those of `B`, without these two.
#[derive(Clone, Copy, Debug)]
pub struct Fused<A, B, const WRITTEN: usize, const READ: usize>(PhantomData<fn() -> (A, B)>);

impl<A: Body, B: Body, const WRITTEN: usize, const READ: usize> Fused<A, B, WRITTEN, READ> {
    const COUNT: usize = A::ROLES.len() + B::ROLES.len() - 2;
    const ALL: [Role; MOST_ARGUMENTS] = {
        assert!(
            match A::ROLES[WRITTEN] {
                Role::Field { used: FieldUse::Write, object: Some(object), .. } => object.part_words() <= MOST_BETWEEN,
                _ => false,
            },
            "the first body writes all of that argument, which holds a named object of at most 24 words"
        );
        assert!(
            matches!(B::ROLES[READ], Role::Field { used: FieldUse::Read, object: Some(_), .. }),
            "the second body reads that argument at the site itself"
        );
        let mut all = [Role::Coordinates; MOST_ARGUMENTS];
        let (mut k, mut to) = (0, 0);
        while k < A::ROLES.len() + B::ROLES.len() {
            let of_first = k < A::ROLES.len();
            let is_between = if of_first { k == WRITTEN } else { k - A::ROLES.len() == READ };
            if !is_between {
                all[to] = if of_first { A::ROLES[k] } else { B::ROLES[k - A::ROLES.len()] };
                to += 1;
            }
            k += 1;
        }
        all
    };
    const ALL_OF_THEM: &'static [Role; MOST_ARGUMENTS] = &Self::ALL;
}

impl<A: Body, B: Body, const WRITTEN: usize, const READ: usize> Body for Fused<A, B, WRITTEN, READ> {
    const ROLES: &'static [Role] = Self::ALL_OF_THEM.split_at(Self::COUNT).0;

    #[inline(always)]
    fn run<S: Site>(site: S) {
        let between = [const { Cell::new(None) }; MOST_BETWEEN];
        A::run(OneOf::<S, WRITTEN> { site, between: &between, before: 0, writes: true });
        B::run(OneOf::<S, READ> { site, between: &between, before: A::ROLES.len() - 1, writes: false });
    }
}

/// The site as one of the two kernel functions sees it. Its argument `BETWEEN` is not a field in memory.
struct OneOf<'b, S: Site, const BETWEEN: usize> {
    site: S,
    between: &'b [Cell<Option<S::Complex>>; MOST_BETWEEN],
    /// The number of arguments before those of this kernel function.
    before: usize,
    /// Whether this kernel function writes the value that is passed.
    writes: bool,
}

impl<S: Site, const BETWEEN: usize> Clone for OneOf<'_, S, BETWEEN> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Site, const BETWEEN: usize> Copy for OneOf<'_, S, BETWEEN> {}

impl<S: Site, const BETWEEN: usize> OneOf<'_, S, BETWEEN> {
    /// The number of an argument among the arguments of both.
    #[inline(always)]
    fn number(self, argument: usize) -> usize {
        self.before + argument - usize::from(argument > BETWEEN)
    }
}

/// Passes a call on with the number of the argument among those of both.
macro_rules! of_argument {
    ($($name:ident $(<$T:ident: $Bound:path>)? ($($parameter:ident: $type:ty),*) $(-> $result:ty)?;)+) => {$(
        #[inline(always)]
        fn $name $(<$T: $Bound>)? (self, argument: usize $(, $parameter: $type)*) $(-> $result)? {
            self.site.$name(self.number(argument) $(, $parameter)*)
        }
    )+};
}

impl<S: Site, const BETWEEN: usize> Site for OneOf<'_, S, BETWEEN> {
    type Real = S::Real;
    type Complex = S::Complex;
    type Double = S::Double;
    type Choice = S::Choice;
    type Index = S::Index;

    #[inline(always)]
    fn legs(self) -> [Leg; LEGS] {
        self.site.legs()
    }
    #[inline(always)]
    fn dagger(self) -> Dagger {
        self.site.dagger()
    }
    #[inline(always)]
    fn read<T: Value<S::Complex>>(self, argument: usize) -> T {
        let known = self.between[0].get();
        match known {
            Some(first) if argument == BETWEEN && !self.writes => {
                let mut words = T::filled(first);
                for (word, between) in words.as_mut().iter_mut().zip(self.between) {
                    *word = between.get().unwrap_or(*word);
                }
                T::from_words(words)
            }
            _ => self.site.read(self.number(argument)),
        }
    }
    #[inline(always)]
    fn write<T: Value<S::Complex>>(self, argument: usize, value: T) {
        if argument == BETWEEN && self.writes {
            for (between, word) in self.between.iter().zip(value.to_words().as_ref()) {
                between.set(Some(*word));
            }
        } else {
            self.site.write(self.number(argument), value);
        }
    }
    #[inline(always)]
    fn count(self, number: usize) -> S::Index {
        self.site.count(number)
    }
    #[inline(always)]
    fn repeat<T: Carried>(self, turns: S::Index, initial: T, turn: impl FnMut(S::Index, T) -> T) -> T {
        self.site.repeat(turns, initial, turn)
    }
    of_argument! {
        read_at<T: Value<S::Complex>>(leg: Leg) -> T;
        read_displaced<T: Value<S::Complex>>(displacement: Displacement) -> T;
        read_projected(leg: Leg, dagger: Dagger) -> HalfSpinor<S::Complex>;
        link(leg: Leg) -> Matrix<S::Complex>;
        link_times<T: Coloured<S::Complex>>(leg: Leg, h: T) -> T;
        read_word(word: S::Index) -> S::Complex;
        read_converted(word: S::Index) -> S::Complex;
        write_word(word: S::Index, value: S::Complex);
        words() -> S::Index;
        scalar() -> S::Real;
        complex_scalar() -> S::Complex;
        add_to_sum(part: usize, term: S::Double);
        coordinate(direction: Direction) -> S::Real;
        uniform(key: [S::Real; 3], event: S::Real, draw: S::Real) -> [S::Real; 4];
        is_odd(directions: &[Direction]) -> S::Choice;
    }
}
