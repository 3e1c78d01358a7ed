//! Groups of ranks, each of which solves for some columns of a propagator, and the results of all groups.

use std::ops::Range;

use lanefield::comm::{Receive, Send as Packet};
use lanefield::io::npy::ArrayReal;
use lanefield::observable::COLUMNS;
use lanefield::reference::field::list_of;
use lanefield::solver::SolveReport;

use crate::far_times;
use crate::fields::interleaved;
use crate::prelude::*;
use crate::ranks;
use crate::solving::course::RhsSummary;

#[derive(Clone, Copy)]
pub struct Groups(pub usize);

impl Groups {
    fn of_group(&self) -> usize {
        ranks::communicator().ranks() / self.0
    }

    /// The summaries of the solves of all groups, on rank 0.
    pub fn rhs<R>(&self, report: &SolveReport<R>) -> anyhow::Result<Vec<RhsSummary>> {
        let here = report.rhs.iter().flat_map(|rhs| RhsSummary::from(rhs).to_words()).flat_map(u64::to_le_bytes);
        let gathered = ranks::communicator().gather(&here.collect::<Vec<u8>>())?.unwrap_or_default();
        let first_of_groups = gathered.iter().step_by(self.of_group());
        let words = |bytes: &Vec<u8>| bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let words: Vec<u64> = first_of_groups.flat_map(|bytes| -> Vec<u64> { words(bytes) }).collect();
        Ok(words.as_chunks().0.iter().map(RhsSummary::of_words).collect())
    }

    /// The relative errors on each time slice from the source on, the largest of all groups, on rank 0.
    pub fn relative_errors<R>(&self, report: &SolveReport<R>) -> anyhow::Result<Vec<f64>> {
        let bytes: Vec<u8> = report.relative_errors.iter().copied().flat_map(f64::to_le_bytes).collect();
        let gathered = ranks::communicator().gather(&bytes)?.unwrap_or_default();
        let numbers = |bytes: &Vec<u8>| bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        Ok(far_times::largest(&gathered.iter().map(numbers).collect::<Vec<Vec<f64>>>()))
    }

    /// The report with all columns on the ranks of the first group, and with their own columns on others.
    pub fn with_all_columns<R: Vectors + ArrayReal>(&self, report: SolveReport<R>) -> anyhow::Result<SolveReport<R>> {
        if self.0 == 1 {
            return Ok(report);
        }
        report.require_intact()?;
        let (communicator, of_group) = (ranks::communicator(), self.of_group());
        let (rank, length) = (communicator.rank(), report.solution.len());
        if rank >= of_group {
            let bytes = bytemuck::cast_slice(&report.solution);
            communicator.exchange(&[Packet { to: rank % of_group, tag: 0, bytes }], &mut [])?;
            return Ok(report);
        }
        let room = |_| -> anyhow::Result<Vec<Complex<R>>> {
            let what = || "the columns of another group".to_owned();
            Ok(list_of(what, length, std::iter::repeat_n(Complex::default(), length))?)
        };
        let mut others: Vec<Vec<Complex<R>>> = (1..self.0).map(room).collect::<anyhow::Result<_>>()?;
        let mut receives: Vec<Receive<'_>> = (1..self.0)
            .zip(&mut others)
            .map(|(group, room)| {
                let bytes = bytemuck::cast_slice_mut(room);
                Receive { from: rank + group * of_group, tag: 0, bytes }
            })
            .collect();
        communicator.exchange(&[], &mut receives)?;
        let words = self.columns(0).len() * Spinors::WORDS;
        let solution = interleaved(&[vec![report.solution.clone()], others].concat(), words)?;
        Ok(report.with_solution(solution))
    }

    /// The columns that a group solves for.
    pub fn columns(&self, group: usize) -> Range<usize> {
        let of_group = COLUMNS / self.0;
        group * of_group..(group + 1) * of_group
    }
}
