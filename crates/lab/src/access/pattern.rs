//! An address for each lane, outer site and word, a mapping of work-items to these, and the memory that wavefronts touch as a result.

use lanefield::reference::ensure;
use serde::Serialize;
use thiserror::Error;

use super::banks::{BankPasses, bank_passes};
use super::expression::{Expression, ExpressionError, Names};
use crate::model::{Counts, WaveAccess, count};

const MOST: u64 = 1 << 22;

/// An index of a pattern, in the order of [`Names`]. After the fastest index, the others follow in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Index {
    Lane,
    Site,
    Word,
}
lanefield_reference::named!(Index, "index of a pattern": Lane = "lane", Site = "site", Word = "word");

/// Why a pattern has no addresses. Messages are fragments.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum PatternError {
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    #[error("the address {value} of lane {}, site {}, word {} is below 0: add a base", .names.0[0], .names.0[1], .names.0[2])]
    Negative { value: i64, names: Names },
    #[error(
        "a pattern of {lanes} lanes, {sites} sites, {words} words and {groups} groups: expected 1 to {MOST} accesses in all"
    )]
    Extent { lanes: u64, sites: u64, words: u64, groups: u64 },
    #[error("{what} of {value}: expected 1 to {most}")]
    Size { what: &'static str, value: u64, most: u64 },
    #[error("{0} cannot be both the fastest index of the work-items and serial in each of them")]
    Serial(Index),
    #[error("{0} is named twice among the serial indices: name each once")]
    Repeated(Index),
}

#[derive(Clone, Debug)]
pub struct Pattern {
    pub address: Expression,
    pub element: u64,
    pub lanes: u64,
    pub sites: u64,
    pub words: u64,
    pub groups: u64,
    /// The index in which neighbouring work-items differ. The others follow in the order lane, site, word.
    pub fast: Index,
    /// The indices over which each work-item loops, one access after the other, instead of being spread over work-items.
    pub serial: Vec<Index>,
    pub wavefront: u64,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PatternReport {
    pub work_items: u64,
    pub wavefronts: u64,
    pub accesses_a_work_item: u64,
    pub sector_efficiency: f64,
    pub all: Counts,
    pub first: Counts,
    /// Number of elements whose address is not a multiple of their size: hardware splits such accesses, or does not support them.
    pub misaligned: u64,
    /// The first access of the first wavefront, if the array were in local memory with 32 or 64 banks.
    pub banks: Vec<BankPasses>,
}

impl Pattern {
    fn extent(&self, index: Index) -> u64 {
        [self.lanes, self.sites, self.words][index as usize]
    }

    fn check(&self) -> Result<(), PatternError> {
        let Self { lanes, sites, words, groups, .. } = *self;
        let all = [lanes, sites, words, groups].into_iter().try_fold(1u64, |all, extent| all.checked_mul(extent));
        ensure!(all.is_some_and(|all| (1..=MOST).contains(&all)), PatternError::Extent { lanes, sites, words, groups });
        for (what, value, most) in [("an element", self.element, 4096), ("a wavefront", self.wavefront, 1024)] {
            ensure!((1..=most).contains(&value), PatternError::Size { what, value, most });
        }
        let mut serial = self.serial.iter().enumerate();
        if let Some((_, repeated)) = serial.find(|(at, index)| self.serial[..*at].contains(index)) {
            return Err(PatternError::Repeated(*repeated));
        }
        if self.serial.contains(&self.fast) { Err(PatternError::Serial(self.fast)) } else { Ok(()) }
    }

    /// The accesses of all wavefronts, group by group, with all accesses of a wavefront together.
    pub fn accesses(&self) -> Result<Vec<WaveAccess>, PatternError> {
        self.check()?;
        let order = std::iter::once(self.fast).chain(Index::ALL.into_iter().filter(|&index| index != self.fast));
        let (serial, across): (Vec<Index>, Vec<Index>) = order.partition(|index| self.serial.contains(index));
        let size = |indices: &[Index]| indices.iter().map(|&index| self.extent(index)).product::<u64>();
        let (items, steps) = (size(&across), size(&serial));
        let mut accesses = Vec::new();
        for group in 0..self.groups {
            for first in (0..items).step_by(self.wavefront as usize) {
                for step in 0..steps {
                    let wave = first..(first + self.wavefront).min(items);
                    let addresses = wave.map(|item| self.address_of([(&across, item), (&serial, step)], group));
                    accesses.push(WaveAccess { bytes: self.element, addresses: addresses.collect::<Result<_, _>>()? });
                }
            }
        }
        Ok(accesses)
    }

    /// From the indices across work-items with the number of the item, and the serial ones with that of the step.
    fn address_of(&self, numbers: [(&[Index], u64); 2], group: u64) -> Result<u64, PatternError> {
        let mut names = Names([0, 0, 0, numbers[0].1 as i64, group as i64]);
        for (indices, mut rest) in numbers {
            for &index in indices {
                names.0[index as usize] = (rest % self.extent(index)) as i64;
                rest /= self.extent(index);
            }
        }
        let value = self.address.value(&names)?;
        u64::try_from(value).map_err(|_| PatternError::Negative { value, names })
    }

    pub fn report(&self, line: u64) -> Result<PatternReport, PatternError> {
        let accesses = self.accesses()?;
        let serial: u64 = self.serial.iter().map(|&index| self.extent(index)).product();
        let elements = accesses.iter().flat_map(|access| &access.addresses);
        let all = count(&accesses, line);
        Ok(PatternReport {
            work_items: self.lanes * self.sites * self.words * self.groups / serial,
            wavefronts: accesses.len() as u64 / serial,
            accesses_a_work_item: serial,
            sector_efficiency: all.sector_efficiency(),
            all,
            first: count(accesses.first(), line),
            misaligned: elements.filter(|&&address| !address.is_multiple_of(self.element)).count() as u64,
            banks: [32, 64].into_iter().filter_map(|n| Some(bank_passes(accesses.first()?, n))).collect(),
        })
    }
}
