//! Maps on the CPU: all threads compute chunks of points. Counterpart: `device.rs`.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use lanefield::backend::{BackendError, Cpu};
use lanefield::body::program::Kind;
use rayon::prelude::*;

use super::array::{MapMemory, Storage};
use super::error::MapError;
use super::kernel::Schedule;
use super::launch::{CheckedCall, MapBackend, Outcome, Value};
use super::plain_point::{BlockState, HostCall, HostNumbers};
use super::program::slots;
use super::role::{MapRole, bytes, folded};

/// A vector of zeros, or an error if there is not enough memory.
fn room<T>(elements: usize, what: &str, zero: impl Fn() -> T) -> Result<Vec<T>, BackendError> {
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(elements).map_err(|_| {
        BackendError::device(NoRoom { bytes: elements.saturating_mul(size_of::<T>()), what: what.to_owned() })
    })?;
    numbers.resize_with(elements, zero);
    Ok(numbers)
}

/// The host does not have enough memory.
#[derive(Debug, thiserror::Error)]
#[error("no room for {bytes} bytes of {what} in the host's memory: use smaller arrays, or end other programs")]
struct NoRoom {
    bytes: usize,
    what: String,
}

impl MapMemory for Cpu {
    type Numbers = HostNumbers;

    fn zero_numbers(&self, kind: Kind, elements: usize, _: Storage, what: &str) -> Result<HostNumbers, BackendError> {
        Ok(match bytes(kind) {
            8 => HostNumbers::Long(room(elements, what, || AtomicU64::new(0))?),
            _ => HostNumbers::Short(room(elements, what, || AtomicU32::new(0))?),
        })
    }

    fn write_numbers(&self, numbers: &mut HostNumbers, bytes: &[u8]) -> Result<(), BackendError> {
        match numbers {
            HostNumbers::Short(numbers) => {
                for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks().0) {
                    *number.get_mut() = u32::from_ne_bytes(*bytes);
                }
            }
            HostNumbers::Long(numbers) => {
                for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks().0) {
                    *number.get_mut() = u64::from_ne_bytes(*bytes);
                }
            }
        }
        Ok(())
    }

    fn read_numbers(&self, numbers: &HostNumbers, bytes: &mut [u8]) -> Result<(), BackendError> {
        match numbers {
            HostNumbers::Short(numbers) => {
                for (number, bytes) in numbers.iter().zip(bytes.as_chunks_mut().0) {
                    *bytes = number.load(Relaxed).to_ne_bytes();
                }
            }
            HostNumbers::Long(numbers) => {
                for (number, bytes) in numbers.iter().zip(bytes.as_chunks_mut().0) {
                    *bytes = number.load(Relaxed).to_ne_bytes();
                }
            }
        }
        Ok(())
    }
}

impl MapBackend for Cpu {
    fn run_map(&self, call: &CheckedCall<'_, Self>) -> Result<Outcome, MapError> {
        let program = call.program;
        let unset = |count: usize| (0..count).map(|_| AtomicU32::new(u32::MAX)).collect::<Vec<_>>();
        let arguments = call.map.roles.len();
        let mut owners: Vec<Option<Vec<AtomicU32>>> = Vec::new();
        for argument in 0..arguments {
            let elements = call.stored_extents(argument).iter().product();
            owners.push(match call.bounds.tracked.contains(&argument) {
                true => Some(room(elements, "owners of elements", || AtomicU32::new(0))?),
                false => None,
            });
        }
        let arrays = call
            .values
            .iter()
            .map(|value| if let Value::Array { numbers, .. } = value { Some(*numbers) } else { None });
        let scalars = call.values.iter().map(|value| if let Value::Number(bits) = value { *bits } else { 0 });
        let host = HostCall {
            program,
            roles: call.map.roles,
            range: &call.range,
            threads: program.needs.block.map_or(1, |block| block.iter().product()),
            arrays: arrays.collect(),
            extents: (0..arguments).map(|argument| call.extents(argument)).collect(),
            pitches: (0..arguments)
                .map(|argument| call.stored_extents(argument).last().copied().unwrap_or(1))
                .collect(),
            scalars: scalars.collect(),
            owners,
            beyond: unset(slots(&program.needs, arguments)),
            conflicts: unset(arguments),
        };
        let points = |first: u64, end: u64| {
            let state = BlockState::new(&host);
            for number in first..end {
                state.begin(number, &call.range);
                (call.map.run)(&host, &state);
            }
            (state.sums.into_inner(), state.folds.into_inner())
        };
        let (mut sums, mut folds) = match call.options.schedule {
            Schedule::Sequential => points(0, call.points),
            _ => {
                // Some chunks for each thread; none is so small that it does not pay.
                const LEAST: u64 = 256;
                let least = if program.needs.is_of_blocks() { 1 } else { LEAST };
                let chunk = (call.points / (8 * self.threads() as u64)).max(least);
                let chunks = call.points.div_ceil(chunk);
                let of_chunks: Vec<_> = self.install(|| {
                    let one = |k: u64| points(k * chunk, ((k + 1) * chunk).min(call.points));
                    (0..chunks).into_par_iter().map(one).collect()
                });
                let mut all = of_chunks.into_iter();
                let (mut sums, mut folds) = all.next().unwrap_or_default();
                for (more, others) in all {
                    sums.iter_mut().zip(&more).for_each(|(sum, more)| sum.merge(more));
                    for ((role, fold), other) in call.map.roles.iter().zip(&mut folds).zip(others) {
                        if let MapRole::Fold(kind, of) = role {
                            *fold = folded(*kind, *of, *fold, other);
                        }
                    }
                }
                (sums, folds)
            }
        };
        let results = call.map.roles.iter().zip(sums.drain(..)).zip(folds.drain(..));
        let results = results.filter_map(|((role, sum), fold)| match role {
            MapRole::ExactSum => Some(sum.round().to_bits()),
            MapRole::Fold(..) => Some(u64::from(fold)),
            _ => None,
        });
        let first = |noted: Vec<AtomicU32>| -> Vec<Option<u32>> {
            noted.into_iter().map(|first| Some(first.into_inner()).filter(|&first| first != u32::MAX)).collect()
        };
        Ok(Outcome { results: results.collect(), beyond: first(host.beyond), conflicts: first(host.conflicts) })
    }
}
