//! Two bodies as one: what the first writes at a site goes to the second by its numbers, and through no memory. That is right where the second reads it at
//! the site itself, and the bits are those of one body after the other, in any precision in which one computes.

use std::cell::Cell;
use std::marker::PhantomData;

use super::site::{Body, FieldUse, MOST_ARGUMENTS, Role, Site};
use super::value::{Coloured, HalfSpinor, Matrix, Value};
use crate::dagger::Dagger;
use crate::layout::{Direction, Displacement, LEGS, Leg};

use super::number::Carried;

/// Complex words that may go from one body to the next: those of two spinors.
const MOST_BETWEEN: usize = 24;

/// The body `A`, and then `B`, which reads as its argument number `READ` what `A` writes as its argument number `WRITTEN`. The arguments are those of `A`, then
/// those of `B`, without these two.
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

/// The site of one of the two bodies, whose argument `BETWEEN` is no field.
struct OneOf<'b, S: Site, const BETWEEN: usize> {
    site: S,
    between: &'b [Cell<Option<S::Complex>>; MOST_BETWEEN],
    /// Arguments before those of this body.
    before: usize,
    /// Whether it is the body that writes what is between.
    writes: bool,
}

impl<S: Site, const BETWEEN: usize> Clone for OneOf<'_, S, BETWEEN> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Site, const BETWEEN: usize> Copy for OneOf<'_, S, BETWEEN> {}

impl<S: Site, const BETWEEN: usize> OneOf<'_, S, BETWEEN> {
    /// The number of an argument among those of both.
    #[inline(always)]
    fn number(self, argument: usize) -> usize {
        self.before + argument - usize::from(argument > BETWEEN)
    }
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
    fn read_at<T: Value<S::Complex>>(self, argument: usize, leg: Leg) -> T {
        self.site.read_at(self.number(argument), leg)
    }
    #[inline(always)]
    fn read_displaced<T: Value<S::Complex>>(self, argument: usize, displacement: Displacement) -> T {
        self.site.read_displaced(self.number(argument), displacement)
    }
    #[inline(always)]
    fn read_projected(self, argument: usize, leg: Leg, dagger: Dagger) -> HalfSpinor<S::Complex> {
        self.site.read_projected(self.number(argument), leg, dagger)
    }
    #[inline(always)]
    fn link(self, argument: usize, leg: Leg) -> Matrix<S::Complex> {
        self.site.link(self.number(argument), leg)
    }
    #[inline(always)]
    fn link_times<T: Coloured<S::Complex>>(self, argument: usize, leg: Leg, h: T) -> T {
        self.site.link_times(self.number(argument), leg, h)
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
    fn read_word(self, argument: usize, word: S::Index) -> S::Complex {
        self.site.read_word(self.number(argument), word)
    }
    #[inline(always)]
    fn read_converted(self, argument: usize, word: S::Index) -> S::Complex {
        self.site.read_converted(self.number(argument), word)
    }
    #[inline(always)]
    fn write_word(self, argument: usize, word: S::Index, value: S::Complex) {
        self.site.write_word(self.number(argument), word, value);
    }
    #[inline(always)]
    fn words(self, argument: usize) -> S::Index {
        self.site.words(self.number(argument))
    }
    #[inline(always)]
    fn count(self, number: usize) -> S::Index {
        self.site.count(number)
    }
    #[inline(always)]
    fn repeat<T: Carried>(self, turns: S::Index, initial: T, turn: impl FnMut(S::Index, T) -> T) -> T {
        self.site.repeat(turns, initial, turn)
    }
    #[inline(always)]
    fn scalar(self, argument: usize) -> S::Real {
        self.site.scalar(self.number(argument))
    }
    #[inline(always)]
    fn complex_scalar(self, argument: usize) -> S::Complex {
        self.site.complex_scalar(self.number(argument))
    }
    #[inline(always)]
    fn add_to_sum(self, argument: usize, part: usize, term: S::Double) {
        self.site.add_to_sum(self.number(argument), part, term);
    }
    #[inline(always)]
    fn coordinate(self, argument: usize, direction: Direction) -> S::Real {
        self.site.coordinate(self.number(argument), direction)
    }
    #[inline(always)]
    fn uniform(self, argument: usize, key: [S::Real; 3], event: S::Real, draw: S::Real) -> [S::Real; 4] {
        self.site.uniform(self.number(argument), key, event, draw)
    }
    #[inline(always)]
    fn is_odd(self, argument: usize, directions: &[Direction]) -> S::Choice {
        self.site.is_odd(self.number(argument), directions)
    }
}
