//! The site of a hot kernel function on the CPU, in native form: vectors of the lanes of one or several components.

use std::cell::RefCell;

use super::super::hop::Edge;
use super::lanes::{ChoiceLanes, DoubleLanes, Lanes, RealLanes, place_of};
use super::links::{LinkRows, Spot, factor_of_link};
use super::sums::TaskSums;
use super::sweep::{At, LINK_WORDS, OfTask, TWO_ROWS, WHOLE_LINKS, sum_over};
use crate::body::Site;
use crate::body::number::Carried;
use crate::body::value::{Coloured, HalfSpinor, Matrix, Spinor, Value, projected};
use crate::dagger::Dagger;
use crate::layout::{DIMENSIONS, Direction, Displacement, LEGS, Leg, Stencil};
use crate::memory::{outer_sites_ahead, prefetch, prefetch_stream};
use crate::random;
use crate::real::Real;
use crate::tensor::{Doubles as _, LaneVector};

/// Loads a vector of numbers in any precision, rounding each to that of the vector.
///
/// # Safety
/// There must be as many numbers as a vector has.
#[inline(always)]
unsafe fn converted<V: LaneVector, Q: Real>(from: *const Q) -> V {
    let mut vector = [V::zeroed()];
    for (k, to) in bytemuck::cast_slice_mut::<V, V::Real>(&mut vector).iter_mut().enumerate() {
        // SAFETY: as the caller promises.
        *to = V::Real::from_f64(unsafe { *from.add(k) }.to_f64());
    }
    vector[0]
}

/// The maximum number of steps of a displacement.
const MOST_STEPS: usize = DIMENSIONS;
/// The maximum number of vectors of a word: 256 bytes in vectors of 16.
const MOST_BLOCKS: usize = 16;

/// The lanes of `N` components, of one outer site if `OF_SITE`, else of any.
pub struct LaneSite<'a, V: LaneVector, const ONE_BLOCK: bool, const N: usize, const OF_SITE: bool> {
    pub sweep: &'a OfTask<'a, V>,
    pub at: Spot,
    pub sums: &'a RefCell<TaskSums<V::Doubles>>,
}

// Not derived: that would ask it of `V`'s parts.
impl<V: LaneVector, const ONE_BLOCK: bool, const N: usize, const OF_SITE: bool> Clone
    for LaneSite<'_, V, ONE_BLOCK, N, OF_SITE>
{
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<V: LaneVector, const ONE_BLOCK: bool, const N: usize, const OF_SITE: bool> Copy
    for LaneSite<'_, V, ONE_BLOCK, N, OF_SITE>
{
}

impl<'a, V: LaneVector, const ONE_BLOCK: bool, const N: usize, const OF_SITE: bool>
    LaneSite<'a, V, ONE_BLOCK, N, OF_SITE>
{
    #[inline(always)]
    fn blocks(self) -> usize {
        if ONE_BLOCK { 1 } else { self.sweep.blocks }
    }

    #[inline(always)]
    fn block(self) -> usize {
        if ONE_BLOCK { 0 } else { self.at.block }
    }

    /// The number of component `item` in a field with `parts` components at a site.
    #[inline(always)]
    fn object(self, item: usize, parts: usize) -> usize {
        let target_parts = self.sweep.parts;
        match OF_SITE {
            true if parts == 1 && target_parts > 1 => self.at.osite,
            true => self.at.osite * parts + self.at.part + item,
            false => {
                let element = self.at.osite + item;
                if parts == 1 && target_parts > 1 { element / target_parts } else { element }
            }
        }
    }

    /// The address of component number `object` of a field, with `words` words, in this block.
    #[inline(always)]
    fn start(self, argument: usize, object: usize, words: usize) -> *mut V {
        let at = &self.sweep.arguments[argument];
        assert!(object < at.objects && words <= at.words, "the call was checked");
        // SAFETY: the component lies within the field.
        unsafe { at.start.add(object * at.words * self.blocks()) }
    }

    /// Word `word` of the component at `start`.
    ///
    /// # Safety
    /// The component must have this word.
    #[inline(always)]
    unsafe fn load(self, start: *mut V, word: usize) -> V {
        // SAFETY: as the caller promises.
        unsafe { *start.add(word * self.blocks() + self.block()) }
    }

    /// Prefetches the components of `words` words that a leg of the next components, or of the next outer site, will read. It does so only if
    /// several components are computed together: with one, prefetching only links is faster (`docs/performance.md`, "On 16 cores").
    #[inline(always)]
    fn prefetch_neighbour(self, argument: usize, leg: Leg, words: usize) {
        let at = &self.sweep.arguments[argument];
        if N == 1 || self.block() > 0 || at.parts < N {
            return;
        }
        let next_osite = self.at.part + N >= self.sweep.parts;
        let osite = if next_osite { self.at.osite + 1 } else { self.at.osite };
        let Some(entries) = self.sweep.neighbours.get(osite) else { return };
        let neighbour = (entries[leg.point()] & !Stencil::MARK) as usize;
        let object = neighbour * at.parts + if next_osite { 0 } else { self.at.part + N };
        if object + N <= at.objects {
            // SAFETY: the components lie within the field, which is borrowed as long as the launch.
            prefetch(unsafe { self.stored(at, object * at.words, N * words) });
        }
    }

    /// Prefetches the link at a point of one of the next outer sites: hardware prefetchers cannot follow ten streams at once.
    #[inline(always)]
    fn prefetch_link(self, at: &At<V>, point: usize) {
        let parts = self.sweep.parts;
        let ahead = if parts == 1 { outer_sites_ahead(self.blocks() * size_of::<V>()) } else { 1 };
        let osite = self.at.osite + ahead;
        if self.block() > 0 || self.at.part + N < parts || osite >= at.objects {
            return;
        }
        let words = at.words / LEGS;
        let first = osite * at.words + point * words;
        // SAFETY: the link lies within the field, which is borrowed as long as the launch.
        unsafe {
            // Of constant lengths, which need no loop.
            match words {
                LINK_WORDS => prefetch(self.stored(at, first, LINK_WORDS)),
                TWO_ROWS => prefetch(self.stored(at, first, TWO_ROWS)),
                _ => prefetch(self.stored(at, first, words)),
            }
        }
    }

    /// The vectors of `words` words of a field, starting at word number `first` of the field.
    ///
    /// # Safety
    /// The field must have these words.
    #[inline(always)]
    unsafe fn stored(self, at: &At<V>, first: usize, words: usize) -> &'a [V] {
        let blocks = self.blocks();
        // SAFETY: as the caller promises.
        unsafe { std::slice::from_raw_parts(at.start.add(first * blocks), words * blocks) }
    }

    /// The neighbour along a leg, and the edge that the step crosses if it leaves the virtual node.
    #[inline(always)]
    fn neighbour(self, leg: Leg) -> (usize, Option<&'a Edge<V>>) {
        let entry = self.sweep.neighbours[self.at.osite][leg.point()];
        let edge = match (entry & Stencil::MARK != 0, self.sweep.edges) {
            (true, Some(edges)) => Some(&edges[leg.point()]),
            _ => None,
        };
        ((entry & !Stencil::MARK) as usize, edge)
    }

    /// The link of a leg: in memory, or rebuilt.
    #[inline(always)]
    fn rows_of_link(self, argument: usize, leg: Leg) -> LinkRows<V> {
        let (at, point) = (&self.sweep.arguments[argument], leg.point());
        self.prefetch_link(at, point);
        if !at.rebuilt.is_null() {
            // SAFETY: there is room for the links of all legs.
            return LinkRows { first: unsafe { at.rebuilt.add(point * LINK_WORDS) }, stride: 1, factor: None };
        }
        assert!(
            self.at.osite < at.objects && (at.words == WHOLE_LINKS || at.words == TWO_ROWS * LEGS),
            "the call was checked"
        );
        let skipped = (self.at.osite * at.words + point * (at.words / LEGS)) * self.blocks() + self.block();
        let is_whole = at.words == WHOLE_LINKS;
        let factor = (!is_whole).then(|| factor_of_link(self.sweep, Spot { block: self.block(), ..self.at }, point));
        // SAFETY: the link lies within the field.
        LinkRows { first: unsafe { at.start.add(skipped) }, stride: self.blocks(), factor }
    }

    /// The addresses of the neighbour's components, for each of `N`, before lanes are permuted.
    #[inline(always)]
    fn at_neighbour(self, argument: usize, neighbour: usize, words: usize) -> [*mut V; N] {
        let at = &self.sweep.arguments[argument];
        let mut starts = [std::ptr::null_mut(); N];
        for (item, start) in starts.iter_mut().enumerate() {
            let object = if at.parts == 1 { neighbour } else { neighbour * at.parts + self.at.part + item };
            *start = self.start(argument, object, words);
        }
        starts
    }

    /// The outer site to which a displacement leads, and the edges that its steps cross, the last one first.
    #[inline(always)]
    fn at_distance(self, displacement: Displacement) -> (usize, [Option<&'a Edge<V>>; MOST_STEPS]) {
        let (mut osite, mut edges) = (self.at.osite, [None; MOST_STEPS]);
        for (step, leg) in displacement.legs().enumerate() {
            let table = if step % 2 == 0 { self.sweep.neighbours } else { self.sweep.all.of_neighbours };
            let entry = table[osite][leg.point()];
            osite = (entry & !Stencil::MARK) as usize;
            if entry & Stencil::MARK != 0 {
                edges[MOST_STEPS - 1 - step] = self.sweep.edges.map(|edges| &edges[leg.point()]);
            }
        }
        (osite, edges)
    }

    /// One word of a site that is several steps away, with permuted lanes.
    ///
    /// # Safety
    /// The component must have this word.
    #[inline(always)]
    unsafe fn moved_far(self, start: *mut V, word: usize, edges: &[Option<&Edge<V>>; MOST_STEPS]) -> V {
        let blocks = self.blocks();
        // SAFETY: as the caller promises.
        let word = unsafe { std::slice::from_raw_parts(start.add(word * blocks), blocks) };
        if ONE_BLOCK {
            return edges.iter().flatten().fold(word[0], |word, edge| edge.permuted_word(word));
        }
        // A step may take a lane of any block.
        let mut moved = [V::zeroed(); MOST_BLOCKS];
        moved[..blocks].copy_from_slice(word);
        for edge in edges.iter().flatten() {
            let before = moved;
            for (block, moved) in moved[..blocks].iter_mut().enumerate() {
                *moved = edge.permuted(&before[..blocks], block);
            }
        }
        moved[self.block()]
    }

    /// One word of a neighbour, with permuted lanes.
    ///
    /// # Safety
    /// The component must have this word.
    #[inline(always)]
    unsafe fn moved(self, start: *mut V, word: usize, edge: Option<&Edge<V>>) -> V {
        let blocks = self.blocks();
        // SAFETY: as the caller promises.
        let word = unsafe { std::slice::from_raw_parts(start.add(word * blocks), blocks) };
        match edge {
            Some(edge) if ONE_BLOCK => edge.permuted_word(word[0]),
            Some(edge) => edge.permuted(word, self.block()),
            None => word[self.block()],
        }
    }
}

impl<V: LaneVector, const ONE_BLOCK: bool, const N: usize, const OF_SITE: bool> Site
    for LaneSite<'_, V, ONE_BLOCK, N, OF_SITE>
{
    type Real = RealLanes<V, N>;
    type Complex = Lanes<V, N>;
    type Double = DoubleLanes<V, N>;
    type Choice = ChoiceLanes<V, N>;
    type Index = usize;

    #[inline(always)]
    fn legs(self) -> [Leg; LEGS] {
        self.sweep.legs
    }
    #[inline(always)]
    fn dagger(self) -> Dagger {
        self.sweep.dagger
    }

    #[inline(always)]
    fn read<T: Value<Lanes<V, N>>>(self, argument: usize) -> T {
        let mut words = T::filled(Lanes([V::zeroed(); N]));
        let (count, parts) = (words.as_ref().len(), self.sweep.arguments[argument].parts);
        for item in 0..N {
            let start = self.start(argument, self.object(item, parts), count);
            for (k, word) in words.as_mut().iter_mut().enumerate() {
                // SAFETY: the component has so many words.
                word.0[item] = unsafe { self.load(start, k) };
            }
        }
        T::from_words(words)
    }

    #[inline(always)]
    fn read_at<T: Value<Lanes<V, N>>>(self, argument: usize, leg: Leg) -> T {
        self.prefetch_neighbour(argument, leg, T::filled(Lanes([V::zeroed(); N])).as_ref().len());
        let (neighbour, edge) = self.neighbour(leg);
        let mut words = T::filled(Lanes([V::zeroed(); N]));
        let count = words.as_ref().len();
        for (item, start) in self.at_neighbour(argument, neighbour, count).into_iter().enumerate() {
            for (k, word) in words.as_mut().iter_mut().enumerate() {
                // SAFETY: the component has so many words.
                word.0[item] = unsafe { self.moved(start, k, edge) };
            }
        }
        T::from_words(words)
    }

    #[inline(always)]
    fn read_displaced<T: Value<Lanes<V, N>>>(self, argument: usize, displacement: Displacement) -> T {
        let (osite, edges) = self.at_distance(displacement);
        let mut words = T::filled(Lanes([V::zeroed(); N]));
        let count = words.as_ref().len();
        for (item, start) in self.at_neighbour(argument, osite, count).into_iter().enumerate() {
            for (k, word) in words.as_mut().iter_mut().enumerate() {
                // SAFETY: the component has so many words.
                word.0[item] = unsafe { self.moved_far(start, k, &edges) };
            }
        }
        T::from_words(words)
    }

    #[inline(always)]
    fn read_projected(self, argument: usize, leg: Leg, dagger: Dagger) -> HalfSpinor<Lanes<V, N>> {
        const WORDS: usize = 12;
        if !ONE_BLOCK {
            return self.read_at::<Spinor<_>>(argument, leg).projected(leg, dagger);
        }
        // Lanes move as well after the projection as before it, and then there are fewer.
        self.prefetch_neighbour(argument, leg, WORDS);
        let (neighbour, edge) = self.neighbour(leg);
        let starts = self.at_neighbour(argument, neighbour, WORDS);
        let word = |k: usize| {
            let mut word = [V::zeroed(); N];
            for (word, start) in word.iter_mut().zip(starts) {
                // SAFETY: a spinor has so many words.
                *word = unsafe { self.load(start, k) };
            }
            Lanes(word)
        };
        let mut h = projected(word, leg, dagger);
        if let Some(edge) = edge {
            for word in h.0.iter_mut().flat_map(|word| &mut word.0) {
                *word = edge.permuted_word(*word);
            }
        }
        h
    }

    #[inline(always)]
    fn link(self, argument: usize, leg: Leg) -> Matrix<Lanes<V, N>> {
        let rows = self.rows_of_link(argument, leg);
        let mut link = Matrix([Lanes([V::zeroed(); N]); 9]);
        let third = match rows.factor {
            Some(factor) => rows.third(factor),
            None => rows.row(2).map(|word| *word),
        };
        let [row0, row1] = [rows.row(0), rows.row(1)];
        for (column, third) in third.into_iter().enumerate() {
            link.0[column] = Lanes([*row0[column]; N]);
            link.0[3 + column] = Lanes([*row1[column]; N]);
            link.0[6 + column] = Lanes([third; N]);
        }
        link
    }

    #[inline(always)]
    fn link_times<T: Coloured<Lanes<V, N>>>(self, argument: usize, leg: Leg, h: T) -> T {
        let rows = self.rows_of_link(argument, leg);
        match const { (N, T::VECTORS) } {
            (1, 1) => rows.times_vectors::<_, _, 1>(h),
            (1, 2) => rows.times_vectors::<_, _, 2>(h),
            _ => rows.times_many(h),
        }
    }

    #[inline(always)]
    fn write<T: Value<Lanes<V, N>>>(self, argument: usize, value: T) {
        let words = value.to_words();
        let (count, parts) = (words.as_ref().len(), self.sweep.arguments[argument].parts);
        for item in 0..N {
            let start = self.start(argument, self.object(item, parts), count);
            for (k, word) in words.as_ref().iter().enumerate() {
                // SAFETY: the component has so many words, and nobody else writes this site, or reads what is written.
                unsafe { *start.add(k * self.blocks() + self.block()) = word.0[item] };
            }
        }
    }

    #[inline(always)]
    fn read_word(self, argument: usize, word: usize) -> Lanes<V, N> {
        let parts = self.sweep.arguments[argument].parts;
        let mut lanes = [V::zeroed(); N];
        for (item, lane) in lanes.iter_mut().enumerate() {
            let start = self.start(argument, self.object(item, parts), word + 1);
            // SAFETY: the component has so many words.
            *lane = unsafe {
                let from = start.add(word * self.blocks() + self.block());
                prefetch_stream(&*from);
                *from
            };
        }
        Lanes(lanes)
    }

    #[inline(always)]
    fn read_converted(self, argument: usize, word: usize) -> Lanes<V, N> {
        let at = &self.sweep.arguments[argument];
        let mut lanes = [V::zeroed(); N];
        for (item, lane) in lanes.iter_mut().enumerate() {
            let object = self.object(item, at.parts);
            assert!(object < at.objects && word < at.words, "the call was checked");
            let vector = (object * at.words + word) * self.blocks() + self.block();
            // SAFETY: the component has so many words, of as many reals in each vector as those of the target.
            *lane = unsafe {
                match at.in_doubles {
                    true => converted::<V, f64>(at.start.cast::<f64>().add(vector * V::REALS)),
                    false => converted::<V, f32>(at.start.cast::<f32>().add(vector * V::REALS)),
                }
            };
        }
        Lanes(lanes)
    }

    #[inline(always)]
    fn write_word(self, argument: usize, word: usize, value: Lanes<V, N>) {
        let parts = self.sweep.arguments[argument].parts;
        for (item, lane) in value.0.into_iter().enumerate() {
            let start = self.start(argument, self.object(item, parts), word + 1);
            // SAFETY: the component has so many words, and nobody else writes this site, or reads what is written.
            unsafe { *start.add(word * self.blocks() + self.block()) = lane };
        }
    }

    #[inline(always)]
    fn words(self, argument: usize) -> usize {
        self.sweep.arguments[argument].words
    }

    #[inline(always)]
    fn count(self, number: usize) -> usize {
        number
    }

    #[inline(always)]
    fn repeat<T: Carried>(self, turns: usize, initial: T, mut turn: impl FnMut(usize, T) -> T) -> T {
        let mut carried = initial;
        for k in 0..turns {
            carried = turn(k, carried);
        }
        carried
    }

    #[inline(always)]
    fn scalar(self, argument: usize) -> RealLanes<V, N> {
        RealLanes([self.sweep.arguments[argument].value; N])
    }

    #[inline(always)]
    fn complex_scalar(self, argument: usize) -> Lanes<V, N> {
        Lanes([self.sweep.arguments[argument].value; N])
    }

    #[inline(always)]
    fn add_to_sum(self, argument: usize, part: usize, term: DoubleLanes<V, N>) {
        let number = self.sweep.arguments[argument].first_sum + part;
        if self.sweep.in_order {
            return self.put_in_order(number, term);
        }
        let sums = &mut self.sums.borrow_mut().0[number];
        for eight in 0..DoubleLanes::<V, N>::EIGHTS {
            let terms = term.0[eight];
            if N.is_multiple_of(const { crate::tensor::eight::osites::<V>() }) {
                sums.eight(terms);
                continue;
            }
            for (place, term) in terms.to_array().into_iter().enumerate() {
                if place_of::<V, N>(eight, place).is_some() {
                    sums.one(term);
                }
            }
        }
    }

    #[inline(always)]
    fn coordinate(self, _: usize, direction: Direction) -> RealLanes<V, N> {
        let (d, mut lanes) = (direction.index(), [V::zeroed(); N]);
        for (item, lane) in lanes.iter_mut().enumerate() {
            let here = self.first_coordinate(item)[d];
            *lane = V::splat(V::Real::from_f64(f64::from(here))).add(self.sweep.all.origins[d][self.block()]);
        }
        RealLanes(lanes)
    }

    #[inline(always)]
    fn uniform(
        self,
        _: usize,
        key: [RealLanes<V, N>; 3],
        event: RealLanes<V, N>,
        draw: RealLanes<V, N>,
    ) -> [RealLanes<V, N>; 4] {
        const AT_ONCE: usize = 8;
        let mut numbers = [RealLanes([V::zeroed(); N]); 4];
        let lanes = V::REALS / 2;
        for first in (0..N * lanes).step_by(AT_ONCE) {
            let mut coordinates = [[0; AT_ONCE]; DIMENSIONS];
            let mut given = [[0.0; AT_ONCE]; 5];
            for k in 0..AT_ONCE.min(N * lanes - first) {
                let (item, real) = ((first + k) / lanes, 2 * ((first + k) % lanes));
                let here = self.first_coordinate(item);
                for d in 0..DIMENSIONS {
                    coordinates[d][k] = here[d] + real_of(&self.sweep.all.origins[d][self.block()], real) as u16;
                }
                for (number, vector) in [&key[0], &key[1], &key[2], &event, &draw].into_iter().enumerate() {
                    given[number][k] = real_of(&vector.0[item], real);
                }
            }
            let bits = random::bits_at_each(coordinates, given);
            for (number, bits) in numbers.iter_mut().zip(&bits) {
                for (k, &bits) in bits.iter().enumerate().take(N * lanes - first) {
                    let (item, real) = ((first + k) / lanes, 2 * ((first + k) % lanes));
                    let vector = std::slice::from_mut(&mut number.0[item]);
                    let reals = bytemuck::cast_slice_mut::<V, V::Real>(vector);
                    reals[real] = random::uniform_of_bits(bits);
                    reals[real + 1] = reals[real];
                }
            }
        }
        numbers
    }

    #[inline(always)]
    fn is_odd(self, _: usize, directions: &[Direction]) -> ChoiceLanes<V, N> {
        let mut set = 0;
        for direction in directions {
            set ^= 1 << direction.index();
        }
        let mut lanes = [V::zeroed(); N];
        for (item, lane) in lanes.iter_mut().enumerate() {
            let here = sum_over(self.first_coordinate(item), set) % 2;
            *lane = self.sweep.all.odd[set][here as usize][self.block()];
        }
        ChoiceLanes::new(lanes)
    }
}

/// Real number `k` of a vector.
#[inline(always)]
fn real_of<V: LaneVector>(vector: &V, k: usize) -> f64 {
    bytemuck::cast_slice::<V, V::Real>(std::slice::from_ref(vector))[k].to_f64()
}

impl<V: LaneVector, const ONE_BLOCK: bool, const N: usize, const OF_SITE: bool> LaneSite<'_, V, ONE_BLOCK, N, OF_SITE> {
    /// The coordinates of a component's site in the first lane.
    #[inline(always)]
    fn first_coordinate(self, item: usize) -> [u16; DIMENSIONS] {
        self.sweep.all.coordinates[self.object(item, 1)]
    }

    /// Puts the terms of sum number `number` at the positions of their sites in memory.
    #[inline(always)]
    fn put_in_order(self, number: usize, term: DoubleLanes<V, N>) {
        let (parts, lanes) = (self.sweep.parts, V::REALS / 2);
        for eight in 0..DoubleLanes::<V, N>::EIGHTS {
            for (place, term) in term.0[eight].to_array().into_iter().enumerate() {
                if let Some((item, lane)) = place_of::<V, N>(eight, place) {
                    let lane = self.block() * lanes + lane;
                    // SAFETY: this site's terms are written by its task alone.
                    unsafe { self.sweep.all.sums.put(number, self.object(item, parts), lane, term) };
                }
            }
        }
    }
}
