//! Kernel functions in blocked form. A kernel function is compiled once, for a site whose numbers stand for blocks of lanes ([`numbers`]). Each of
//! its operations calls a loop over the block. This works for lanes of any width, in every precision, on every processor. The native form of
//! `site.rs` is faster, but takes much longer to compile: it is for the kernels in which solvers spend their time.

mod machine;
mod numbers;
mod operations;

use std::cell::RefCell;
use std::marker::PhantomData;

use machine::Machine;
use numbers::{Choices, Complexes, Doubles, Reals};
use operations::LANES;

use super::super::blocks::map_rows;
use super::super::hop::{phase_across, signed_factor};
use super::super::reduce::PartialSums;
use super::super::{LaneOperation, WithVectors};
use super::launch::{Bound, BoundField, Launch};
use super::sums::{Sums, TaskSums};
use super::sweep::sum_over;
use crate::body::Site;
use crate::body::number::{Carried, ComplexNumber as _};
use crate::body::value::{HalfSpinor, Matrix, Spinor, Value};
use crate::dagger::Dagger;
use crate::exact::ExactSum;
use crate::instructions::Instructions;
use crate::layout::{DIMENSIONS, Direction, Displacement, LEGS, LaneWidth, Leg, Stencil};
use crate::links::LinkFormat;
use crate::random;
use crate::real::{Precision, Real};
use crate::tasks::{self, items_a_task};
use crate::tensor::sets;
use crate::tensor::su3::rebuilt_link;
use crate::tensor::{InstructionSet, LaneVector, Task};

/// A kernel function in this form.
pub type BlockedBody = fn(BlockSite<'_>);

/// The maximum number of lanes of a word: complex f32 in 256 bytes.
const MOST_NSIMD: usize = 32;

/// For each lane of a word at the site, the lane of the neighbour's word that belongs to it.
type LaneMap = [u8; MOST_NSIMD];

/// A component of an outer site. Its lanes are `nsimd` lanes of a block.
#[derive(Clone, Copy, Default)]
struct Item {
    osite: usize,
    component: usize,
}

/// Where the words of an item are read: the number of a component of a field, and the lanes, if they are permuted.
#[derive(Clone, Copy)]
struct Source {
    component: usize,
    lanes: Option<LaneMap>,
}

/// A launch, and its sums.
struct Sweep<'a> {
    launch: &'a Launch<'a>,
    precision: Precision,
    nsimd: usize,
    /// The number of components of a site of the target.
    parts: usize,
    sums: Sums,
}

/// What the operations of a kernel function on one block have in common.
pub struct Place<'a> {
    sweep: &'a Sweep<'a>,
    machine: &'a Machine,
    items: &'a [Item],
    sums: &'a RefCell<TaskSums>,
    /// Memory for the sources of the items.
    sources: &'a RefCell<Vec<Source>>,
}

/// The site of a kernel function in this form: the lanes of several components.
#[derive(Clone, Copy)]
pub struct BlockSite<'a>(&'a Place<'a>);

/// Runs a launch on all threads.
pub fn run(launch: &Launch<'_>, precision: Precision, body: BlockedBody) -> PartialSums {
    let (target, nsimd) = (launch.target, launch.target.lattice.nsimd());
    let parts = target.object.parts();
    let sweep = Sweep { launch, precision, nsimd, parts, sums: Sums::new(launch) };
    let tasks = if launch.stencil.is_some() {
        let outer = target.lattice.outer_extents(target.sites);
        let real = if precision == Precision::F64 { size_of::<f64>() } else { size_of::<f32>() };
        let row_bytes = outer[0] * launch.words() * nsimd * 2 * real;
        let rows_a_task = items_a_task(target.osites()).div_ceil(outer[0]);
        map_rows((outer, row_bytes), rows_a_task, |rows| {
            let osites: Vec<usize> = rows.iter().flat_map(|row| row * outer[0]..(row + 1) * outer[0]).collect();
            sweep.task(body, |run| {
                for osites in osites.chunks(LANES / nsimd) {
                    (0..parts).for_each(|part| {
                        run(&mut osites.iter().map(|&osite| Item { osite, component: osite * parts + part }));
                    });
                }
            })
        })
    } else {
        let components = target.osites() * parts;
        let a_task = items_a_task(components).next_multiple_of(LANES / nsimd);
        tasks::map(components.div_ceil(a_task), |task| {
            let end = components.min((task + 1) * a_task);
            sweep.task(body, |run| {
                for first in (task * a_task..end).step_by(LANES / nsimd) {
                    let block = first..end.min(first + LANES / nsimd);
                    run(&mut block.map(|component| Item { osite: component / parts, component }));
                }
            })
        })
    };
    sweep.sums.taken(tasks)
}

impl Sweep<'_> {
    /// Runs a kernel function on the blocks of a task, each with its items.
    fn task(
        &self,
        body: BlockedBody,
        blocks: impl FnOnce(&mut dyn FnMut(&mut dyn Iterator<Item = Item>)),
    ) -> Vec<ExactSum> {
        let (machine, sums) = (Machine::new(self.precision), RefCell::new(TaskSums::new(self.sums.count())));
        let sources = RefCell::new(Vec::with_capacity(LANES / self.nsimd));
        machine.run(|| {
            let empty = machine.position();
            let mut items = [Item::default(); LANES];
            blocks(&mut |given| {
                let mut count = 0;
                for (item, given) in items.iter_mut().zip(given) {
                    *item = given;
                    count += 1;
                }
                let items = &items[..count];
                body(BlockSite(&Place { sweep: self, machine: &machine, items, sums: &sums, sources: &sources }));
                machine.release(empty);
            });
        });
        sums.into_inner().into_exact()
    }

    fn stencil(&self) -> &Stencil {
        let Some(stencil) = self.launch.stencil else { unreachable!("the call was checked") };
        stencil
    }
}

/// Copies words of a field of `Q` into blocks of `R`, or back.
struct Copying<Q, R>(PhantomData<fn(Q, R)>);

/// Words of components, and the blocks that hold them.
struct Words<'a> {
    field: BoundField,
    first: usize,
    nsimd: usize,
    blocks: &'a [Complexes],
}

impl Words<'_> {
    #[inline(always)]
    fn at<W>(&self, component: usize, word: usize) -> *mut W {
        let BoundField { start, words, .. } = self.field;
        // SAFETY: `Place::words` saw that the word lies within the field.
        unsafe { start.cast::<W>().add(component * words + self.first + word) }
    }
}

/// Runs `$work` with the number of lanes of a word as a constant `L`, so that they are copied as vectors.
macro_rules! with_constant_nsimd {
    ($nsimd:expr, $L:ident => $work:expr) => {
        match $nsimd {
            1 => with_constant_nsimd!(@ $L, 1, $work),
            2 => with_constant_nsimd!(@ $L, 2, $work),
            4 => with_constant_nsimd!(@ $L, 4, $work),
            8 => with_constant_nsimd!(@ $L, 8, $work),
            16 => with_constant_nsimd!(@ $L, 16, $work),
            _ => with_constant_nsimd!(@ $L, MOST_NSIMD, $work),
        }
    };
    (@ $L:ident, $constant:expr, $work:expr) => {{
        const $L: usize = $constant;
        $work
    }};
}

impl<Q: Real, R: Real> Task<(&Words<'_>, &[Source])> for Copying<Q, R> {
    type Output = ();
    #[inline(always)]
    fn run(&self, (words, sources): (&Words<'_>, &[Source])) {
        with_constant_nsimd!(words.nsimd, L => self.load::<L>(words, sources));
    }
}

impl<Q: Real, R: Real> Copying<Q, R> {
    #[inline(always)]
    fn load<const L: usize>(&self, words: &Words<'_>, sources: &[Source]) {
        let converted = |x: Q| R::from_f64(x.to_f64());
        for (item, source) in sources.iter().enumerate() {
            for (number, block) in words.blocks.iter().enumerate() {
                let (mut re, mut im) = ([R::default(); L], [R::default(); L]);
                let from = words.at::<[[Q; 2]; L]>(source.component, number);
                // SAFETY: the word has so many lanes, which nobody writes meanwhile.
                unsafe {
                    match &source.lanes {
                        None => {
                            let from = from.read();
                            for lane in 0..L {
                                (re[lane], im[lane]) = (converted(from[lane][0]), converted(from[lane][1]));
                            }
                        }
                        Some(lanes) => {
                            for lane in 0..L {
                                let [x, y] = (*from)[usize::from(lanes[lane])];
                                (re[lane], im[lane]) = (converted(x), converted(y));
                            }
                        }
                    }
                }
                // SAFETY: a block of complex numbers has place for the lanes of every item, and nobody else has it yet.
                unsafe {
                    let to = block.0.cast::<R>().add(item * L);
                    to.cast::<[R; L]>().write(re);
                    to.add(LANES).cast::<[R; L]>().write(im);
                }
            }
        }
    }
}

impl<R: Real> Task<(&Words<'_>, &[Item])> for Copying<R, R> {
    type Output = ();
    #[inline(always)]
    fn run(&self, (words, items): (&Words<'_>, &[Item])) {
        with_constant_nsimd!(words.nsimd, L => self.store::<L>(words, items));
    }
}

impl<R: Real> Copying<R, R> {
    #[inline(always)]
    fn store<const L: usize>(&self, words: &Words<'_>, items: &[Item]) {
        for (item, Item { component, .. }) in items.iter().enumerate() {
            for (number, block) in words.blocks.iter().enumerate() {
                // SAFETY: as above, and nobody writes the block.
                let (re, im) = unsafe {
                    let from = block.0.cast::<R>().add(item * L);
                    (from.cast::<[R; L]>().read(), from.add(LANES).cast::<[R; L]>().read())
                };
                let mut word = [[R::default(); 2]; L];
                for lane in 0..L {
                    word[lane] = [re[lane], im[lane]];
                }
                // SAFETY: the word has so many lanes; nobody else writes this site, or reads what is written.
                unsafe { words.at::<[[R; 2]; L]>(*component, number).write(word) };
            }
        }
    }
}

/// Links that are stored as fewer words: the stored words, the phases of each lane that are not stored, and the destination of the rebuilt links.
#[derive(Clone, Copy)]
struct Rebuilding<'a> {
    stored: &'a [Complexes],
    phases: &'a [f64; LANES],
    whole: &'a [Complexes; 9],
}

/// Rebuilds links with vectors `V`.
struct RebuildingWith<V>(PhantomData<fn(V)>);

impl<R: Real> LaneOperation<R> for Rebuilding<'_> {
    type Output = ();
    fn run<V: LaneVector<Real = R>>(self, _: usize) {
        V::Set::run(&RebuildingWith::<V>(PhantomData), self);
    }
}

impl<V: LaneVector> Task<Rebuilding<'_>> for RebuildingWith<V> {
    type Output = ();
    #[inline(always)]
    fn run(&self, Rebuilding { stored, phases, whole }: Rebuilding<'_>) {
        const TWO_ROWS: usize = LinkFormat::TwoRows.words();
        const EIGHT: usize = LinkFormat::Eight.words();
        for first in (0..LANES).step_by(V::REALS / 2) {
            let word = |word: usize| {
                // SAFETY: a block of complex numbers has so many reals.
                let parts = unsafe { stored[word].0.cast::<[[V::Real; LANES]; 2]>().as_ref() };
                V::from_reals(|k| parts[k % 2][first + k / 2])
            };
            let factor = signed_factor(|lane| phases[first + lane]);
            let rows = match stored.len() {
                TWO_ROWS => rebuilt_link::<V, TWO_ROWS>(word, factor),
                _ => rebuilt_link::<V, EIGHT>(word, factor),
            };
            for (block, element) in whole.iter().zip(rows.as_flattened()) {
                // SAFETY: as above, and nobody else has these yet.
                let parts = unsafe { block.0.cast::<[[V::Real; LANES]; 2]>().as_mut() };
                for (k, &real) in bytemuck::cast_slice::<V, V::Real>(std::slice::from_ref(element)).iter().enumerate() {
                    parts[k % 2][first + k / 2] = real;
                }
            }
        }
    }
}

/// Draws uniform numbers of precision `R`.
struct Drawing<R>(PhantomData<fn(R)>);

/// The coordinates of the site of each lane.
type SitesOfLanes = [[u16; LANES]; DIMENSIONS];

impl<R: Real> Task<(&SitesOfLanes, [Reals; 5], [Reals; 4])> for Drawing<R> {
    type Output = ();
    #[inline(always)]
    fn run(&self, (coordinates, given, drawn): (&SitesOfLanes, [Reals; 5], [Reals; 4])) {
        let mut numbers = [[0.0; LANES]; 5];
        for (numbers, block) in numbers.iter_mut().zip(given) {
            // SAFETY: a block of reals has so many.
            let reals = unsafe { block.0.cast::<[R; LANES]>().as_ref() };
            numbers.iter_mut().zip(reals).for_each(|(number, real)| *number = real.to_f64());
        }
        for (bits, block) in random::bits_at_each(*coordinates, numbers).into_iter().zip(drawn) {
            // SAFETY: as above, and nobody else has these yet.
            let reals = unsafe { block.0.cast::<[R; LANES]>().as_mut() };
            reals.iter_mut().zip(bits).for_each(|(real, bits)| *real = random::uniform_of_bits(bits));
        }
    }
}

/// Adds terms to an exact sum.
struct Adding;

impl Task<(&mut TaskSums, usize, &[f64])> for Adding {
    type Output = ();
    #[inline(always)]
    fn run(&self, (sums, number, terms): (&mut TaskSums, usize, &[f64])) {
        terms.iter().for_each(|&term| sums.0[number].one(term));
    }
}

impl<'a> Place<'a> {
    fn field(&self, argument: usize) -> BoundField {
        let Bound::Field(field) = self.sweep.launch.bound[argument] else { unreachable!("the call was checked") };
        field
    }

    /// The words of a field's components, and blocks for them.
    fn words<'b>(
        &self,
        argument: usize,
        first: usize,
        mut components: impl Iterator<Item = usize>,
        blocks: &'b [Complexes],
    ) -> Words<'b> {
        let (field, nsimd) = (self.field(argument), self.sweep.nsimd);
        let real = if field.in_doubles { size_of::<f64>() } else { size_of::<f32>() };
        let count = field.bytes / (field.words * nsimd * 2 * real);
        assert!(
            components.all(|component| component < count) && first + blocks.len() <= field.words,
            "the call was checked"
        );
        Words { field, first, nsimd, blocks }
    }

    /// Loads words into new blocks, each item from its source. Nothing is read for lanes beyond the items.
    fn load(&self, argument: usize, first: usize, source: impl Fn(Item) -> Source, blocks: &mut [Complexes]) {
        blocks.iter_mut().for_each(|block| *block = Complexes(self.machine.complexes()));
        let mut sources = self.sources.borrow_mut();
        sources.clear();
        sources.extend(self.items.iter().map(|item| source(*item)));
        let words = self.words(argument, first, sources.iter().map(|source| source.component), blocks);
        let given = (&words, &sources[..]);
        match (words.field.in_doubles, self.sweep.precision == Precision::F64) {
            (true, true) => sets::run(&Copying::<f64, f64>(PhantomData), given),
            (true, false) => sets::run(&Copying::<f64, f32>(PhantomData), given),
            (false, true) => sets::run(&Copying::<f32, f64>(PhantomData), given),
            (false, false) => sets::run(&Copying::<f32, f32>(PhantomData), given),
        }
    }

    fn store(&self, argument: usize, first: usize, blocks: &[Complexes]) {
        let words = self.words(argument, first, self.items.iter().map(|item| item.component), blocks);
        match self.sweep.precision {
            Precision::F64 => sets::run(&Copying::<f64, f64>(PhantomData), (&words, self.items)),
            _ => sets::run(&Copying::<f32, f32>(PhantomData), (&words, self.items)),
        }
    }

    /// The value of a field at the outer site to which `osite_of` leads from that of each item, and its lane permutation.
    fn value<T: Value<Complexes>>(&self, argument: usize, osite_of: impl Fn(usize) -> (usize, Option<LaneMap>)) -> T {
        let (parts, target_parts) = (self.field(argument).parts, self.sweep.parts);
        let source = |Item { osite, component }| {
            let (there, lanes) = osite_of(osite);
            let part = if parts == 1 { 0 } else { component - osite * target_parts };
            Source { component: there * parts + part, lanes }
        };
        let mut words = T::filled(Complexes(std::ptr::NonNull::dangling()));
        self.load(argument, 0, source, words.as_mut());
        T::from_words(words)
    }

    fn word(&self, argument: usize, word: usize) -> Complexes {
        let parts = self.field(argument).parts;
        let component = |item: Item| if parts == 1 { item.osite } else { item.component };
        let mut words = [Complexes(std::ptr::NonNull::dangling())];
        self.load(argument, word, |item| Source { component: component(item), lanes: None }, &mut words);
        words[0]
    }

    /// For each lane, the lane to which a step along a leg leads if it leaves the virtual node, and whether it crosses the boundary of the lattice.
    fn lane_steps(&self, leg: Leg) -> &[u32] {
        &self.sweep.stencil().lane_steps()[leg.point() * self.sweep.nsimd..][..self.sweep.nsimd]
    }

    /// Follows a leg from (osite, lanes).
    fn follow(
        &self,
        stencil: &Stencil,
        (osite, lanes): (usize, Option<LaneMap>),
        leg: Leg,
    ) -> (usize, Option<LaneMap>) {
        let entry = stencil.neighbours()[osite * LEGS + leg.point()];
        let there = (entry & !Stencil::MARK) as usize;
        if entry & Stencil::MARK == 0 {
            return (there, lanes);
        }
        let (steps, mut moved) =
            (self.lane_steps(leg), lanes.unwrap_or_else(|| std::array::from_fn(|lane| lane as u8)));
        for lane in &mut moved[..steps.len()] {
            *lane = (steps[usize::from(*lane)] & !Stencil::MARK) as u8;
        }
        (there, Some(moved))
    }

    /// Writes a function of the item and its lane into a block of reals.
    fn reals_of_lanes(&self, real: impl Fn(Item, usize) -> f64) -> Reals {
        let block = self.machine.reals();
        for lane in 0..self.items.len() * self.sweep.nsimd {
            let value = real(self.items[lane / self.sweep.nsimd], lane % self.sweep.nsimd);
            // SAFETY: a block of reals has room for every lane.
            unsafe {
                match self.sweep.precision {
                    Precision::F64 => block.cast::<f64>().add(lane).write(value),
                    _ => block.cast::<f32>().add(lane).write(value as f32),
                }
            }
        }
        Reals(block)
    }

    fn coordinates(&self, item: Item, lane: usize) -> [u16; DIMENSIONS] {
        let Some(coordinates) = &self.sweep.launch.coordinates else { unreachable!("the call was checked") };
        let (here, origin) = (coordinates.osites()[item.osite], coordinates.lanes()[lane]);
        std::array::from_fn(|d| here[d] + origin[d])
    }

    fn number(&self, argument: usize) -> num_complex::Complex<f64> {
        let Bound::Complex(value) = self.sweep.launch.bound[argument] else { unreachable!("the call was checked") };
        value
    }
}

impl Site for BlockSite<'_> {
    type Real = Reals;
    type Complex = Complexes;
    type Double = Doubles;
    type Choice = Choices;
    type Index = usize;

    fn legs(self) -> [Leg; LEGS] {
        self.0.sweep.launch.legs.legs()
    }
    fn dagger(self) -> Dagger {
        self.0.sweep.launch.dagger
    }

    fn read<T: Value<Complexes>>(self, argument: usize) -> T {
        self.0.value(argument, |osite| (osite, None))
    }
    fn read_at<T: Value<Complexes>>(self, argument: usize, leg: Leg) -> T {
        self.0.value(argument, |osite| self.0.follow(self.0.sweep.stencil(), (osite, None), leg))
    }
    fn read_displaced<T: Value<Complexes>>(self, argument: usize, displacement: Displacement) -> T {
        let stencil = self.0.sweep.stencil();
        let tables = [stencil, self.0.sweep.launch.of_neighbours.unwrap_or(stencil)];
        self.0.value(argument, |osite| {
            let legs = displacement.legs().enumerate();
            legs.fold((osite, None), |at, (step, leg)| self.0.follow(tables[step % 2], at, leg))
        })
    }
    fn read_projected(self, argument: usize, leg: Leg, dagger: Dagger) -> HalfSpinor<Complexes> {
        self.read_at::<Spinor<_>>(argument, leg).projected(leg, dagger)
    }

    fn link(self, argument: usize, leg: Leg) -> Matrix<Complexes> {
        let (place, words) = (self.0, self.0.field(argument).words / LEGS);
        let source = |item: Item| Source { component: item.osite, lanes: None };
        let mut whole = Matrix([Complexes(std::ptr::NonNull::dangling()); 9]);
        if words == whole.0.len() {
            place.load(argument, leg.point() * words, source, &mut whole.0);
            return whole;
        }
        let mut stored = [whole.0[0]; LinkFormat::TwoRows.words()];
        let stored = &mut stored[..words];
        place.load(argument, leg.point() * words, source, stored);
        whole.0.fill_with(|| Complexes(place.machine.complexes()));
        let across = phase_across(leg.dimension(), place.sweep.launch.links.unwrap_or_default());
        let (neighbours, steps) = (place.sweep.stencil().neighbours(), place.lane_steps(leg));
        let phases = std::array::from_fn(|k| {
            let edge = |item: &Item| neighbours[item.osite * LEGS + leg.point()] & Stencil::MARK != 0;
            let is_edge = place.items.get(k / steps.len()).is_some_and(edge);
            if is_edge && steps[k % steps.len()] & Stencil::MARK != 0 { across } else { 1.0 }
        });
        let links = Rebuilding { stored, phases: &phases, whole: &whole.0 };
        let width = LaneWidth::new(Instructions::in_use().vector_bytes()).unwrap_or(LaneWidth::DEFAULT);
        match place.sweep.precision {
            Precision::F64 => f64::with_vectors(width, links),
            _ => f32::with_vectors(width, links),
        }
        whole
    }

    fn write<T: Value<Complexes>>(self, argument: usize, value: T) {
        self.0.store(argument, 0, value.to_words().as_ref());
    }
    fn read_word(self, argument: usize, word: usize) -> Complexes {
        self.0.word(argument, word)
    }
    fn read_converted(self, argument: usize, word: usize) -> Complexes {
        self.0.word(argument, word)
    }
    fn write_word(self, argument: usize, word: usize, value: Complexes) {
        self.0.store(argument, word, &[value]);
    }
    fn words(self, argument: usize) -> usize {
        self.0.field(argument).words
    }
    fn count(self, number: usize) -> usize {
        number
    }

    fn repeat<T: Carried>(self, turns: usize, initial: T, mut turn: impl FnMut(usize, T) -> T) -> T {
        let mut carried = initial;
        let start = self.0.machine.position();
        for k in 0..turns {
            carried = turn(k, carried);
            // What carries nothing leaves no block that anybody uses.
            if size_of::<T>() == 0 {
                self.0.machine.release(start);
            }
        }
        carried
    }

    fn scalar(self, argument: usize) -> Reals {
        Reals(self.0.machine.real_constant(self.0.number(argument).re))
    }
    fn complex_scalar(self, argument: usize) -> Complexes {
        let value = self.0.number(argument);
        Complexes::constant(value.re, value.im)
    }

    fn add_to_sum(self, argument: usize, part: usize, term: Doubles) {
        let Bound::Sums(first) = self.0.sweep.launch.bound[argument] else { unreachable!("the call was checked") };
        let (number, nsimd) = (first + part, self.0.sweep.nsimd);
        // SAFETY: a block of doubles has so many.
        let terms = &unsafe { term.0.cast::<[f64; LANES]>().as_ref() }[..self.0.items.len() * nsimd];
        if !self.0.sweep.sums.are_in_order() {
            return sets::run(&Adding, (&mut *self.0.sums.borrow_mut(), number, terms));
        }
        for (item, terms) in self.0.items.iter().zip(terms.chunks_exact(nsimd)) {
            for (lane, &term) in terms.iter().enumerate() {
                // SAFETY: this site's terms are written by its task alone.
                unsafe { self.0.sweep.sums.put(number, item.component, lane, term) };
            }
        }
    }

    fn coordinate(self, _: usize, direction: Direction) -> Reals {
        self.0.reals_of_lanes(|item, lane| f64::from(self.0.coordinates(item, lane)[direction.index()]))
    }
    fn is_odd(self, _: usize, directions: &[Direction]) -> Choices {
        let set = directions.iter().fold(0, |set, direction| set ^ (1 << direction.index()));
        let block = self.0.machine.reals();
        for lane in 0..self.0.items.len() * self.0.sweep.nsimd {
            let x = self.0.coordinates(self.0.items[lane / self.0.sweep.nsimd], lane % self.0.sweep.nsimd);
            // SAFETY: a block of choices has room for every lane.
            unsafe { block.cast::<u32>().add(lane).write(sum_over(x, set) % 2) };
        }
        Choices(block)
    }
    fn uniform(self, _: usize, key: [Reals; 3], event: Reals, draw: Reals) -> [Reals; 4] {
        let place = self.0;
        let mut coordinates = [[0; LANES]; DIMENSIONS];
        let lanes = place.items.len() * place.sweep.nsimd;
        for (d, coordinates) in coordinates.iter_mut().enumerate() {
            for (lane, x) in coordinates.iter_mut().enumerate().take(lanes) {
                *x = place.coordinates(place.items[lane / place.sweep.nsimd], lane % place.sweep.nsimd)[d];
            }
        }
        let drawn = std::array::from_fn(|_| Reals(place.machine.reals()));
        let given = [key[0], key[1], key[2], event, draw];
        match place.sweep.precision {
            Precision::F64 => sets::run(&Drawing::<f64>(PhantomData), (&coordinates, given, drawn)),
            _ => sets::run(&Drawing::<f32>(PhantomData), (&coordinates, given, drawn)),
        }
        drawn
    }
}
