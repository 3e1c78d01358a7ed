//! Operations on the whole lattice by all ranks together: digests, averages over all sites, and arrays in site order at rank 0. Arrays are
//! sent one time slice after the other, so no rank needs memory for more than its local volume and a slice.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Pod;
use lanefield_reference::exact::{ExactSum, ExactSumError, WORDS};
use lanefield_reference::prelude::*;
use lanefield_reference::real::Real;

use super::{CommError, Communicator, Decomposition, SingleRank};
use crate::sha256_of_numbers::Sha256OfNumbers;

/// A lattice that ranks store together. All of them make the same calls.
#[derive(Clone)]
pub struct WholeLattice {
    communicator: Arc<dyn Communicator>,
    decomposition: Decomposition,
    /// To stop, and to save the state.
    wishes: Arc<[Wish; 2]>,
}

/// A request that all ranks do something together. The request of one rank travels with the sums that all ranks merge anyway, so all of
/// them see it after the same sum.
#[derive(Default)]
struct Wish {
    wanted: AtomicBool,
    agreed: AtomicBool,
}

impl fmt::Debug for WholeLattice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WholeLattice").field("decomposition", &self.decomposition).finish_non_exhaustive()
    }
}

impl WholeLattice {
    /// A lattice divided among the ranks of `communicator`.
    pub fn new(communicator: Arc<dyn Communicator>, decomposition: Decomposition) -> Self {
        Self { communicator, decomposition, wishes: Arc::default() }
    }

    /// A lattice on a single rank.
    pub fn alone(extents: Extents) -> Self {
        Self::new(Arc::new(SingleRank), Decomposition::alone(extents))
    }

    /// The communicator of the ranks.
    pub fn communicator(&self) -> &Arc<dyn Communicator> {
        &self.communicator
    }

    /// The division of the lattice among the ranks.
    pub fn decomposition(&self) -> &Decomposition {
        &self.decomposition
    }

    /// Whether this is rank 0, which receives gathered arrays and writes files.
    pub fn is_first(&self) -> bool {
        self.communicator.rank() == 0
    }

    /// The extents of the whole lattice.
    pub fn extents(&self) -> Extents {
        self.decomposition.whole()
    }

    /// The extents of this rank's local volume.
    pub fn part(&self) -> Extents {
        self.decomposition.part(self.communicator.rank())
    }

    /// Asks all ranks to stop after one of the next sums.
    pub fn ask_to_stop(&self) {
        self.wishes[0].wanted.store(true, Ordering::Relaxed);
    }

    /// Whether a rank had asked to stop by the last sum. All ranks return the same.
    pub fn is_stopping(&self) -> bool {
        let alone = self.communicator.ranks() == 1;
        (if alone { &self.wishes[0].wanted } else { &self.wishes[0].agreed }).load(Ordering::Relaxed)
    }

    /// Asks all ranks to save their state after one of the next sums.
    pub fn ask_to_save(&self) {
        self.wishes[1].wanted.store(true, Ordering::Relaxed);
    }

    /// Whether a rank had asked to save by the last sum. All ranks return the same. This clears the request.
    pub fn takes_save(&self) -> bool {
        let alone = self.communicator.ranks() == 1;
        (if alone { &self.wishes[1].wanted } else { &self.wishes[1].agreed }).swap(false, Ordering::Relaxed)
    }

    /// Merges exact sums of all ranks as integers. Every rank gets the same result.
    pub fn merge(&self, sums: &[ExactSum]) -> Result<Vec<ExactSum>, CommError> {
        let mut words: Vec<i64> = sums.iter().flat_map(ExactSum::to_words).collect();
        let [stop, save] = &*self.wishes;
        words.extend([stop.wanted.load(Ordering::Relaxed), save.wanted.swap(false, Ordering::Relaxed)].map(i64::from));
        self.communicator.sum(&mut words)?;
        for wish in [save, stop] {
            if words.pop().is_some_and(|ranks| ranks > 0) {
                wish.agreed.store(true, Ordering::Relaxed);
            }
        }
        let damaged =
            |error: ExactSumError| CommError::Library { call: "the sum over ranks", reason: error.to_string() };
        words.chunks_exact(WORDS).map(|words| ExactSum::from_words(words).map_err(damaged)).collect()
    }

    /// Passes an array over the whole lattice, in site order, to `take` at rank 0, one time slice after the other. `here` is the local
    /// volume of this rank. It has the same number of elements for each site, or for each site of one parity. An error of `take` is
    /// returned at rank 0 after all slices have arrived; the other ranks continue.
    ///
    /// # Errors
    /// [`CommError`], and the errors of `take`.
    pub fn slices<T: Pod, E: From<CommError>>(
        &self,
        here: &[T],
        mut take: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (whole, part) = (self.extents(), self.part());
        let of_slice = here.len() / part[3];
        if self.communicator.ranks() == 1 {
            return here.chunks(of_slice.max(1)).try_for_each(take);
        }
        let of_row = here.len() / (part.volume() / part[0]);
        let first = part.origin()[3];
        let mut taken = Ok(());
        for t in 0..whole[3] {
            let mine = match (first..first + part[3]).contains(&t) {
                true => &here[(t - first) * of_slice..][..of_slice],
                false => &[],
            };
            let Some(parts) = self.communicator.gather(bytemuck::cast_slice(mine))? else { continue };
            if taken.is_ok() {
                let slice = self.assembled(|sites| sites * of_row / part[0], t, &parts);
                taken = slice.map_err(E::from).and_then(|slice| take(&slice));
            }
        }
        taken
    }

    /// Assembles a slice of the whole lattice from the pieces of all ranks. `numbers`: how many elements each rank has for a row along x.
    fn assembled<T: Pod>(
        &self,
        numbers: impl Fn(usize) -> usize,
        t: usize,
        parts: &[Vec<u8>],
    ) -> Result<Vec<T>, CommError> {
        let whole = self.extents();
        let mut slice = vec![T::zeroed(); numbers(whole[0]) * whole[1] * whole[2]];
        for (rank, bytes) in parts.iter().enumerate() {
            let part = self.decomposition.part(rank);
            let ([x0, y0, z0, t0], [lx, ly, lz, lt]) = (part.origin(), part.as_array());
            let row_bytes = numbers(lx) * size_of::<T>();
            let expected = if (t0..t0 + lt).contains(&t) { row_bytes * ly * lz } else { 0 };
            if bytes.len() != expected {
                return Err(CommError::Length { rank, here: 0, found: bytes.len(), expected });
            }
            for (number, row) in bytes.chunks_exact(row_bytes.max(1)).enumerate() {
                let (y, z) = (number % ly, number / ly);
                let first = numbers(whole[0]) * (y0 + y + whole[1] * (z0 + z)) + numbers(x0);
                bytemuck::cast_slice_mut(&mut slice[first..first + numbers(lx)]).copy_from_slice(row);
            }
        }
        Ok(slice)
    }

    /// The whole array at rank 0; `None` elsewhere.
    pub fn gathered<T: Pod>(&self, here: &[T]) -> Result<Option<Vec<T>>, CommError> {
        let mut all = Vec::new();
        self.slices(here, |slice: &[T]| {
            all.extend_from_slice(slice);
            Ok::<_, CommError>(())
        })?;
        Ok(self.is_first().then_some(all))
    }

    /// A number of arrays that rank 0 writes one after the other.
    pub fn arrays<'a, T: Pod>(
        &'a self,
        count: usize,
        array: impl FnMut(usize) -> io::Result<Cow<'a, [T]>> + 'a,
    ) -> Gathering<'a, T> {
        Gathering { lattice: self, next: 0, count, array: Box::new(array) }
    }

    /// The local volume of this rank, from an array over the whole lattice with `numbers` elements a site.
    pub fn part_of<T: Copy>(&self, numbers: usize, whole: &[T]) -> Vec<T> {
        let part = self.part();
        let sites = (0..part.volume()).map(|site| part.global_site(site) as usize);
        sites.flat_map(|site| whole[site * numbers..][..numbers].iter().copied()).collect()
    }

    /// The digest of the whole array, on all ranks ([`crate::io::identity::digest_of_numbers`]).
    pub fn digest<R: Real>(&self, here: &[Complex<R>]) -> Result<String, CommError> {
        let mut digest = Sha256OfNumbers::default();
        self.slices(here, |slice: &[Complex<R>]| {
            digest.add(slice);
            Ok::<_, CommError>(())
        })?;
        self.told(digest.finish())
    }

    /// The text of rank 0, on all ranks.
    pub fn told(&self, text: String) -> Result<String, CommError> {
        let mut bytes = text.into_bytes();
        self.communicator.broadcast(&mut bytes)?;
        let damaged = |error: std::string::FromUtf8Error| CommError::Library {
            call: "the broadcast of a text",
            reason: error.to_string(),
        };
        String::from_utf8(bytes).map_err(damaged)
    }

    /// The largest value of all ranks; NaN if one of them is NaN.
    pub fn largest(&self, here: f64) -> Result<f64, CommError> {
        // Each rank has a word of its own.
        let mut words = vec![0; self.communicator.ranks()];
        words[self.communicator.rank()] = here.to_bits() as i64;
        self.communicator.sum(&mut words)?;
        // A maximum would drop NaN.
        let larger = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
        Ok(words.into_iter().map(|word| f64::from_bits(word as u64)).fold(here, larger))
    }

    /// The exclusive or of these words over all ranks.
    pub(crate) fn exclusive_or(&self, here: [u32; 2]) -> Result<[u32; 2], CommError> {
        // A sum of single bits is odd where their exclusive or is 1.
        let mut sums: Vec<i64> = here.iter().flat_map(|word| (0..32).map(move |k| i64::from(word >> k & 1))).collect();
        self.communicator.sum(&mut sums)?;
        let word = |sums: &[i64]| sums.iter().enumerate().fold(0, |word, (k, sum)| word | ((sum & 1) as u32) << k);
        Ok([word(&sums[..32]), word(&sums[32..])])
    }

    /// The average plaquette of the whole lattice.
    pub fn plaquette(&self, part: &Configuration) -> Result<f64, CommError> {
        let sums = self.merge(&[part.plaquette_sum()])?;
        Ok(part.plaquette_of(&sums[0]))
    }

    /// The link trace of the whole lattice.
    pub fn link_trace(&self, part: &Configuration) -> Result<f64, CommError> {
        let sums = self.merge(&[part.link_trace_sum()])?;
        Ok(part.link_trace_of(&sums[0]))
    }
}

/// Arrays that are gathered at rank 0 one after the other. If rank 0 stops taking them early (because the disk is full, for example), the
/// remaining ones are still gathered on drop, so no rank is left waiting.
pub struct Gathering<'a, T: Pod> {
    lattice: &'a WholeLattice,
    next: usize,
    count: usize,
    array: Box<dyn FnMut(usize) -> io::Result<Cow<'a, [T]>> + 'a>,
}

impl<T: Pod> Gathering<'_, T> {
    /// Gathers the next array, slice by slice.
    ///
    /// # Errors
    /// The errors of `take` and of creating the array, and [`CommError`].
    pub fn next(&mut self, take: &mut dyn FnMut(&[T]) -> io::Result<()>) -> io::Result<()> {
        let array = (self.array)(self.next)?;
        self.next += 1;
        self.lattice.slices(&array, take)
    }

    /// Gathers all remaining arrays.
    pub fn rest(&mut self, take: &mut dyn FnMut(&[T]) -> io::Result<()>) -> io::Result<()> {
        (self.next..self.count).try_for_each(|_| self.next(take))
    }
}

impl<T: Pod> Drop for Gathering<'_, T> {
    fn drop(&mut self) {
        // On one rank nobody waits. An error here also fails the next call.
        if self.lattice.communicator.ranks() > 1 {
            let _ = self.rest(&mut |_| Ok(()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ThreadRanks;
    use super::*;
    use crate::io::identity::digest_of_numbers;

    fn on_ranks<T: std::marker::Send>(decomposition: Decomposition, work: impl Fn(WholeLattice) -> T + Sync) -> Vec<T> {
        ThreadRanks::run(decomposition.cut().ranks(), |comm| work(WholeLattice::new(Arc::new(comm), decomposition)))
    }

    #[test]
    fn arrays_come_together_in_site_order() {
        let whole = Extents::new([4, 6, 2, 8]).unwrap();
        for cut in ["1.1.1.3", "2.3.1.2", "1.1.1.1"] {
            let decomposition = Decomposition::new(whole, cut.parse().unwrap()).unwrap();
            let all: Vec<u32> = (0..2 * whole.volume() as u32).collect();
            let gathered = on_ranks(decomposition, |lattice| {
                let here = lattice.part_of(2, &all);
                lattice.gathered(&here).unwrap()
            });
            assert_eq!(gathered[0].as_ref(), Some(&all));
            assert!(gathered[1..].iter().all(Option::is_none));
        }
    }

    #[test]
    fn arrays_of_one_parity_do_too() {
        let whole = Extents::new([8, 6, 2, 4]).unwrap();
        let decomposition = Decomposition::new(whole, "2.3.1.2".parse().unwrap()).unwrap();
        let odd = |extents: Extents| {
            let sites = (0..extents.volume()).filter(move |&site| Parity::of(extents.coordinate(site)) == Parity::Odd);
            sites.map(|site| extents.global_site(site)).collect::<Vec<u64>>()
        };
        let gathered = on_ranks(decomposition, |lattice| lattice.gathered(&odd(lattice.part())).unwrap());
        assert_eq!(gathered[0], Some(odd(whole)));
    }

    #[test]
    fn one_rank_that_asks_stops_all_after_the_next_sum() {
        let decomposition =
            Decomposition::new(Extents::new([4, 4, 4, 8]).unwrap(), "1.1.1.3".parse().unwrap()).unwrap();
        let seen = on_ranks(decomposition, |lattice| {
            if !lattice.is_first() {
                lattice.ask_to_stop();
            }
            let before = lattice.is_stopping();
            lattice.merge(&[ExactSum::new()]).unwrap();
            (before, lattice.is_stopping())
        });
        assert_eq!(seen, [(false, true); 3]);
        let alone = WholeLattice::alone(decomposition.whole());
        alone.ask_to_stop();
        assert!(alone.is_stopping());
    }

    #[test]
    fn one_rank_that_asks_lets_all_save_once_after_the_next_sum() {
        let decomposition =
            Decomposition::new(Extents::new([4, 4, 4, 8]).unwrap(), "1.1.1.3".parse().unwrap()).unwrap();
        let seen = on_ranks(decomposition, |lattice| {
            if !lattice.is_first() {
                lattice.ask_to_save();
            }
            let before = lattice.takes_save();
            lattice.merge(&[ExactSum::new()]).unwrap();
            let after = [lattice.takes_save(), lattice.takes_save()];
            lattice.merge(&[ExactSum::new()]).unwrap();
            (before, after, lattice.takes_save(), lattice.is_stopping())
        });
        assert_eq!(seen, [(false, [true, false], false, false); 3]);
    }

    #[test]
    fn digests_and_averages_are_those_of_one_rank_on_all() {
        let whole = Extents::new([4, 6, 2, 8]).unwrap();
        let configuration = Configuration::hot(whole, 3);
        let decomposition = Decomposition::new(whole, "2.1.1.3".parse().unwrap()).unwrap();
        let expected =
            (digest_of_numbers(configuration.links()), configuration.plaquette(), configuration.link_trace());
        let found = on_ranks(decomposition, |lattice| {
            let part = configuration.part(lattice.part()).unwrap();
            let averages = (lattice.plaquette(&part).unwrap(), lattice.link_trace(&part).unwrap());
            (lattice.digest(part.links()).unwrap(), averages.0, averages.1)
        });
        assert_eq!(found, vec![expected; 6]);
    }
}
