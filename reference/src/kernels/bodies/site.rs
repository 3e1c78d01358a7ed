//! The site that a hot body sees on the CPU, in its native form: vectors of the lanes of one or several components.

use std::cell::RefCell;

use super::super::hop::Edge;
use super::lanes::{ChoiceLanes, DoubleLanes, Lanes, RealLanes, place_of};
use super::sums::TaskSums;
use super::sweep::{OfTask, sum_over};
use crate::body::Site;
use crate::body::number::Carried;
use crate::body::value::{Coloured, HalfSpinor, Matrix, Spinor, Value, projected};
use crate::dagger::Dagger;
use crate::layout::{DIMENSIONS, Direction, Displacement, LEGS, Leg, Stencil};
use crate::links::LinkFormat;
use crate::memory::{links_ahead, outer_sites_ahead, prefetch, prefetch_slice_far, prefetch_stream};
use crate::random;
use crate::real::Real;
use crate::tensor::su3::{Factor, Left, rebuilt_link};
use crate::tensor::{Doubles as _, LaneVector, Task};

/// A vector of numbers that may have another precision, each rounded to that of the vector.
///
/// # Safety
/// There are as many numbers.
#[inline(always)]
unsafe fn converted<V: LaneVector, Q: Real>(from: *const Q) -> V {
    let mut vector = [V::zeroed()];
    for (k, to) in bytemuck::cast_slice_mut::<V, V::Real>(&mut vector).iter_mut().enumerate() {
        // SAFETY: as the caller promises.
        *to = V::Real::from_f64(unsafe { *from.add(k) }.to_f64());
    }
    vector[0]
}

/// Steps of a displacement, at most.
const MOST_STEPS: usize = DIMENSIONS;
/// Vectors of a word, at most: of 256 bytes, in vectors of 16.
const MOST_BLOCKS: usize = 16;

/// One block of the words of a component of an outer site; where components are counted through, `osite` is the number of the first.
#[derive(Clone, Copy)]
pub struct Spot {
    pub osite: usize,
    pub part: usize,
    pub block: usize,
}

/// Words of a link that is stored whole.
const LINK_WORDS: usize = LinkFormat::Full.words();

/// Words of the links of a site that are stored whole, or rebuilt.
pub const WHOLE_LINKS: usize = LEGS * LINK_WORDS;

/// Rebuilds the links of a site that are not stored whole, each once for all components. A call of its own: what a body does with links is compiled for whole
/// links alone.
pub struct RebuildLinks;

impl<V: LaneVector> Task<(&OfTask<'_, V>, Spot)> for RebuildLinks {
    type Output = ();
    #[inline(always)]
    fn run(&self, (sweep, at): (&OfTask<'_, V>, Spot)) {
        const TWO_ROWS: usize = LinkFormat::TwoRows.words();
        const EIGHT: usize = LinkFormat::Eight.words();
        let blocks = sweep.blocks;
        for argument in sweep.arguments.iter().filter(|argument| !argument.rebuilt.is_null()) {
            let words = argument.words / LEGS;
            assert!(at.osite < argument.objects, "the call was checked");
            for (point, entry) in sweep.neighbours[at.osite].iter().enumerate() {
                let factor = match sweep.edges {
                    Some(edges) if entry & Stencil::MARK != 0 => edges[point].factor[at.block],
                    _ => sweep.interior_factor,
                };
                let skipped = (at.osite * LEGS + point) * words * blocks + at.block;
                // SAFETY: the link lies within the field, and has so many words; there is room for all links of the site, which no other task sees.
                unsafe {
                    let first = argument.start.add(skipped);
                    let word = |word: usize| *first.add(word * blocks);
                    let rebuilt = match words {
                        TWO_ROWS => rebuilt_link::<V, TWO_ROWS>(word, factor),
                        _ => rebuilt_link::<V, EIGHT>(word, factor),
                    };
                    argument.rebuilt.add(point * LINK_WORDS).cast::<[[V; 3]; 3]>().write(rebuilt);
                }
            }
        }
    }
}

/// Where the nine words of a link stand, row after row, `stride` vectors apart.
#[derive(Clone, Copy)]
struct LinkRows<V> {
    first: *const V,
    stride: usize,
}

impl<V: Copy> LinkRows<V> {
    #[inline(always)]
    fn row<'a>(self, row: usize) -> [&'a V; 3] {
        assert!(row < 3);
        // SAFETY: there are nine words, and nobody writes them in the call of a body.
        let word = |column: usize| unsafe { &*self.first.add((3 * row + column) * self.stride) };
        [word(0), word(1), word(2)]
    }
}

/// The lanes of `N` components: of one outer site (`OF_SITE`), or of whatever site.
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

    /// The number of component `item` in a field of so many components a site.
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

    /// Where component number `object` of a field begins, which has `words` words in this block.
    #[inline(always)]
    fn start(self, argument: usize, object: usize, words: usize) -> *mut V {
        let at = &self.sweep.arguments[argument];
        assert!(object < at.objects && words <= at.words, "the call was checked");
        // SAFETY: the component lies within the field.
        unsafe { at.start.add(object * at.words * self.blocks()) }
    }

    /// Word `word` of a component that starts there.
    ///
    /// # Safety
    /// The component has so many words.
    #[inline(always)]
    unsafe fn load(self, start: *mut V, word: usize) -> V {
        // SAFETY: as the caller promises.
        unsafe { *start.add(word * self.blocks() + self.block()) }
    }

    /// Asks for what a leg of the next components, or of one of the next outer sites, will read: hardware prefetchers do not follow ten streams at once.
    #[inline(always)]
    fn prefetch(self, argument: usize, leg: Leg, is_link: bool) {
        let parts = self.sweep.parts;
        let (next_osite, blocks) = (self.at.part + N >= parts, self.blocks());
        if self.block() > 0 || (is_link && !next_osite) {
            return;
        }
        let ahead = if parts == 1 { outer_sites_ahead(blocks * size_of::<V>()) } else { 1 };
        let osite = if next_osite { self.at.osite + ahead } else { self.at.osite };
        let at = &self.sweep.arguments[argument];
        if is_link {
            let words = at.words / LEGS;
            let of_leg = |osite: usize| (osite * at.words + leg.point() * words, words);
            let far = self.at.osite + links_ahead(at.words * blocks * size_of::<V>());
            if let Some(links) = self.ahead(argument, of_leg(osite)) {
                prefetch(links);
            }
            if let Some(links) = self.ahead(argument, of_leg(far)) {
                prefetch_slice_far(links);
            }
            return;
        }
        let Some(entries) = self.sweep.neighbours.get(osite) else { return };
        let neighbour = (entries[leg.point()] & !Stencil::MARK) as usize;
        let object = neighbour * at.parts + if next_osite { 0 } else { self.at.part + N };
        if let Some(words) = self.ahead(argument, (object * at.words, at.words * N.min(at.parts))) {
            prefetch(words);
        }
    }

    /// The vectors of so many words from one word of a field on, if it has them.
    #[inline(always)]
    fn ahead(self, argument: usize, (first, words): (usize, usize)) -> Option<&'a [V]> {
        let (at, blocks) = (&self.sweep.arguments[argument], self.blocks());
        let is_there = first + words <= at.objects * at.words;
        // SAFETY: the words lie within the field, which is borrowed as long as the launch.
        is_there.then(|| unsafe { std::slice::from_raw_parts(at.start.add(first * blocks), words * blocks) })
    }

    /// The neighbour along a leg, and the edge that the step crosses, if it leaves the virtual node.
    #[inline(always)]
    fn neighbour(self, leg: Leg) -> (usize, Option<&'a Edge<V>>) {
        let entry = self.sweep.neighbours[self.at.osite][leg.point()];
        let edge = match (entry & Stencil::MARK != 0, self.sweep.edges) {
            (true, Some(edges)) => Some(&edges[leg.point()]),
            _ => None,
        };
        ((entry & !Stencil::MARK) as usize, edge)
    }

    /// The link of a leg: in memory, or where it was rebuilt.
    #[inline(always)]
    fn whole_link(self, argument: usize, leg: Leg) -> LinkRows<V> {
        self.prefetch(argument, leg, true);
        let (at, point) = (&self.sweep.arguments[argument], leg.point());
        if !at.rebuilt.is_null() {
            // SAFETY: there is room for the links of all legs.
            return LinkRows { first: unsafe { at.rebuilt.add(point * LINK_WORDS) }, stride: 1 };
        }
        assert!(self.at.osite < at.objects && at.words == WHOLE_LINKS, "the call was checked");
        let skipped = (self.at.osite * LEGS + point) * LINK_WORDS * self.blocks() + self.block();
        // SAFETY: the link lies within the field.
        LinkRows { first: unsafe { at.start.add(skipped) }, stride: self.blocks() }
    }

    /// Word `word` of the neighbour's component, of each of `N`, before its lanes are moved.
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

    /// Where a displacement leads: the outer site, and the edges that its steps cross, the last one first.
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

    /// One word of a site that lies further away, with its lanes in their places.
    ///
    /// # Safety
    /// The component has so many words.
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

    /// One word of a neighbour, with its lanes in their places.
    ///
    /// # Safety
    /// The component has so many words.
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
        self.prefetch(argument, leg, false);
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
        self.prefetch(argument, leg, false);
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
        let rows = self.whole_link(argument, leg);
        let mut link = Matrix([Lanes([V::zeroed(); N]); 9]);
        for (row, elements) in link.0.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            for (element, value) in elements.iter_mut().zip(rows.row(row)) {
                *element = Lanes([*value; N]);
            }
        }
        link
    }

    #[inline(always)]
    fn link_times<T: Coloured<Lanes<V, N>>>(self, argument: usize, leg: Leg, h: T) -> T {
        let rows = self.whole_link(argument, leg);
        let h = h.to_words();
        let mut product = h;
        for row in 0..3 {
            let [u0, u1, u2] = rows.row(row);
            let u = [Left::at(u0), Left::at(u1), Left::at(u2)];
            for vector in 0..T::VECTORS {
                for item in 0..N {
                    let factor = |column: usize| Factor::new(h.as_ref()[3 * vector + column].0[item]);
                    product.as_mut()[3 * vector + row].0[item] =
                        u[2].madd(factor(2), u[1].madd(factor(1), u[0].mul(factor(0))));
                }
            }
        }
        T::from_words(product)
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

    /// Puts the terms of sum number `number` where their sites stand in memory.
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
