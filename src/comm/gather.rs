//! Arrays of the whole lattice at one rank, and what every rank knows of all: slice by slice across t, so that no rank needs room for more than it has and a
//! slice.

use bytemuck::Pod;
use lanefield_reference::layout::Extents;

use super::{CommError, Communicator, Decomposition};

/// Brings arrays together at rank 0.
#[derive(Clone, Copy)]
pub struct Gathered<'c> {
    communicator: &'c dyn Communicator,
    decomposition: &'c Decomposition,
}

impl<'c> Gathered<'c> {
    /// From the parts of a decomposition.
    pub fn new(communicator: &'c dyn Communicator, decomposition: &'c Decomposition) -> Self {
        Self { communicator, decomposition }
    }

    /// Whether this rank is the one that gets them.
    pub fn is_first(&self) -> bool {
        self.communicator.rank() == 0
    }

    /// The lattice.
    pub fn whole(&self) -> Extents {
        self.decomposition.whole()
    }

    /// Gives rank 0 an array in site order of `words` numbers a site, one slice across t after the other. `here` is the part of this rank, in its own site
    /// order. What goes wrong with `take` at rank 0 is told there; the others go on.
    ///
    /// # Errors
    /// [`CommError`]; those of `take`.
    pub fn slices<T: Pod, E: From<CommError>>(
        &self,
        words: usize,
        here: &[T],
        mut take: impl FnMut(&[T]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (whole, part) = (self.whole(), self.decomposition.part(self.communicator.rank()));
        let of_slice = part.volume() / part[3] * words;
        let mut taken = Ok(());
        for t in 0..whole[3] {
            let first = part.origin()[3];
            let mine = match (first..first + part[3]).contains(&t) {
                true => &here[(t - first) * of_slice..][..of_slice],
                false => &[],
            };
            let Some(parts) = self.communicator.gather(bytemuck::cast_slice(mine))? else { continue };
            if taken.is_ok() {
                taken = self.assembled(words, t, &parts).map_err(E::from).and_then(|slice| take(&slice));
            }
        }
        taken
    }

    /// A slice of the whole lattice from what each rank has of it.
    fn assembled<T: Pod>(&self, words: usize, t: usize, parts: &[Vec<u8>]) -> Result<Vec<T>, CommError> {
        let whole = self.whole();
        let mut slice = vec![T::zeroed(); whole.volume() / whole[3] * words];
        for (rank, bytes) in parts.iter().enumerate() {
            let part = self.decomposition.part(rank);
            let ([x0, y0, z0, t0], [lx, ly, lz, lt]) = (part.origin(), part.as_array());
            let expected = if (t0..t0 + lt).contains(&t) { lx * ly * lz * words * size_of::<T>() } else { 0 };
            if bytes.len() != expected {
                return Err(CommError::Length { rank, here: 0, found: bytes.len(), expected });
            }
            let rows = bytes.chunks_exact((lx * words * size_of::<T>()).max(1)).enumerate();
            for (number, row) in rows {
                let (y, z) = (number % ly, number / ly);
                let first = (x0 + whole[0] * (y0 + y + whole[1] * (z0 + z))) * words;
                let to: &mut [u8] = bytemuck::cast_slice_mut(&mut slice[first..first + lx * words]);
                to.copy_from_slice(row);
            }
        }
        Ok(slice)
    }

    /// The whole array at rank 0; none elsewhere.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn whole_array<T: Pod>(&self, words: usize, here: &[T]) -> Result<Option<Vec<T>>, CommError> {
        let mut all = Vec::new();
        self.slices(words, here, |slice: &[T]| {
            all.extend_from_slice(slice);
            Ok::<_, CommError>(())
        })?;
        Ok(self.is_first().then_some(all))
    }

    /// The part of this rank of an array of the whole lattice.
    pub fn part_of<T: Copy>(&self, words: usize, whole: &[T]) -> Vec<T> {
        let part = self.decomposition.part(self.communicator.rank());
        let sites = (0..part.volume()).map(|site| part.global_site(site) as usize);
        sites.flat_map(|site| whole[site * words..][..words].iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Decomposition, ThreadRanks};
    use super::*;

    #[test]
    fn arrays_come_together_in_site_order() {
        let whole = Extents::new([4, 6, 2, 8]).unwrap();
        for cut in ["1.1.1.3", "2.3.1.2", "1.1.1.1"] {
            let decomposition = Decomposition::new(whole, cut.parse().unwrap()).unwrap();
            let all: Vec<u32> = (0..2 * whole.volume() as u32).collect();
            let gathered = ThreadRanks::run(decomposition.cut().ranks(), |comm| {
                let gathered = Gathered::new(&comm, &decomposition);
                let here = gathered.part_of(2, &all);
                gathered.whole_array(2, &here).unwrap()
            });
            assert_eq!(gathered[0].as_ref(), Some(&all));
            assert!(gathered[1..].iter().all(Option::is_none));
        }
    }
}
