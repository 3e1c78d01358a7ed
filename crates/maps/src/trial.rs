//! Runs maps on their cases: on the CPU, and on a device in every schedule and with several block sizes, and compares the bits.

use std::fmt;
use std::ops::Range;

use lanefield::body::program::{Kind, Program};
use lanefield_reference::random::{self, Stream};

use super::array::{Storage, elements};
use super::bounds::{self, Bounds, bounds};
use super::error::MapError;
use super::kernel::{Given, MapCase, MapKernel, MapOptions, Schedule};
use super::launch::{MapBackend, MapCall, Value};
use super::program::{BLOCK_DIMENSIONS, PointLanguage};
use super::role::{self, MapRole, Use};

/// A case of a map with its arrays on a backend. The numbers depend on the map, the number of the case, and a key.
#[derive(Debug)]
pub struct Trial<B: MapBackend + ?Sized> {
    map: &'static MapKernel,
    case: MapCase,
    arrays: Vec<Option<HeldArray<B::Numbers>>>,
}

/// An array of a case, with its initial numbers.
#[derive(Debug)]
struct HeldArray<N> {
    numbers: N,
    first: Vec<u8>,
}

/// The results of a case: the bytes of each array that is written, and the bits of the numbers that the map returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Results {
    arrays: Vec<Option<Vec<u8>>>,
    numbers: Vec<u64>,
}

impl<B: MapBackend + ?Sized> Trial<B> {
    /// Creates the arguments of a case on a backend.
    ///
    /// # Errors
    /// [`MapError::Case`] if the case does not match the map, and errors of the backend.
    pub fn new(map: &'static MapKernel, number: usize, key: u64, backend: &B) -> Result<Self, MapError> {
        let refused = |what: String| MapError::Case { map: map.name, what };
        let case = *map.cases.get(number).ok_or_else(|| refused("it has no case: add `case(range = …)`".to_owned()))?;
        let mut arrays = Vec::new();
        for (argument, (role, given)) in map.roles.iter().zip(case.arguments).enumerate() {
            let MapRole::Array { kind, rank, .. } = role else {
                arrays.push(None);
                continue;
            };
            let (extents, within) = match given {
                Given::Array(extents) => (*extents, -1000..1000),
                Given::Integers(extents, within) => (*extents, within.clone()),
                Given::Number(_) | Given::Result => (&[][..], 0..0),
            };
            if extents.len() != *rank || within.is_empty() {
                let name = map.names[argument];
                return Err(refused(format!("{name} is an array of {rank} dimensions, but the case has {given:?}")));
            }
            let elements = elements(extents)?;
            let seed = key ^ (number as u64) << 40 ^ (argument as u64) << 48;
            let bytes = drawn(*kind, elements, seed, &within);
            let mut numbers = backend.zero_numbers(*kind, elements, Storage::Global, map.names[argument])?;
            backend.write_numbers(&mut numbers, &bytes)?;
            arrays.push(Some(HeldArray { numbers, first: bytes }));
        }
        Ok(Self { map, case, arrays })
    }

    /// Runs the map on the current contents of the arrays.
    ///
    /// # Errors
    /// Those of every launch.
    pub fn launch(&self, backend: &B, options: MapOptions) -> Result<Vec<u64>, MapError> {
        let mut call = MapCall::new(self.map);
        for ((role, given), array) in self.map.roles.iter().zip(self.case.arguments).zip(&self.arrays) {
            call = call.value(match (role, given, array) {
                (_, Given::Array(extents) | Given::Integers(extents, _), Some(HeldArray { numbers, .. })) => {
                    Value::Array { numbers, extents: extents.to_vec(), pitch: extents.last().copied().unwrap_or(1) }
                }
                (MapRole::Scalar(kind), Given::Number(number), _) => Value::Number(role::bits_of(*kind, *number)),
                _ => Value::Result,
            });
        }
        call.launch_over(backend, self.case.range, options)
    }

    /// Where a launch reads and writes.
    pub(super) fn bounds(&self, program: &Program<PointLanguage>) -> Bounds {
        let extents = |given: &Given| match given {
            Given::Array(extents) | Given::Integers(extents, _) => extents.to_vec(),
            Given::Number(_) | Given::Result => Vec::new(),
        };
        let scalar = |given: &Given| if let Given::Number(number) = given { Some(*number as i64) } else { None };
        let extents: Vec<_> = self.case.arguments.iter().map(extents).collect();
        let scalars: Vec<_> = self.case.arguments.iter().map(scalar).collect();
        bounds(program, bounds::Given { range: self.case.range, extents: &extents, scalars: &scalars })
    }

    /// Resets the arrays to their initial numbers, runs the map, and returns the results.
    ///
    /// # Errors
    /// Those of every launch.
    pub fn run(&mut self, backend: &B, options: MapOptions) -> Result<Results, MapError> {
        for HeldArray { numbers, first } in self.arrays.iter_mut().flatten() {
            backend.write_numbers(numbers, first)?;
        }
        let numbers = self.launch(backend, options)?;
        let mut arrays = Vec::new();
        for (role, array) in self.map.roles.iter().zip(&self.arrays) {
            arrays.push(match array {
                Some(HeldArray { numbers, first }) if is_written(role) => {
                    let mut written = vec![0; first.len()];
                    backend.read_numbers(numbers, &mut written)?;
                    Some(written)
                }
                _ => None,
            });
        }
        Ok(Results { arrays, numbers })
    }

    /// The least number of bytes that the map moves: each array once, or twice if it is read and written.
    pub fn bytes(&self) -> u64 {
        let times =
            |role: &MapRole| 1 + u64::from(matches!(role, MapRole::Array { used: Use::Update | Use::Accumulate, .. }));
        let arrays = self.map.roles.iter().zip(&self.arrays).filter_map(|(role, array)| Some((role, array.as_ref()?)));
        arrays.map(|(role, array)| times(role) * array.first.len() as u64).sum()
    }
}

fn is_written(role: &MapRole) -> bool {
    matches!(role, MapRole::Array { used: Use::Write | Use::Update | Use::Accumulate, .. })
}

/// Random numbers as bytes: of both signs and many magnitudes, some of them −0 or subnormal.
fn drawn(kind: Kind, elements: usize, seed: u64, within: &Range<i64>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(elements * role::bytes(kind));
    for element in 0..elements as u64 {
        let [low, high, ..] = random::bits(seed, Stream::TestData, element, 0);
        let z = u64::from(low) | u64::from(high) << 32;
        let integer = within.start + ((z >> 8) % within.end.abs_diff(within.start)) as i64;
        let is_small = z.is_multiple_of(67);
        let size = match (z.is_multiple_of(61), is_small) {
            (true, _) => -0.0,
            (_, true) => f64::MIN_POSITIVE / 8.0,
            _ => 2f64.powi((z % 13) as i32 - 6),
        };
        let real = ((z >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * size;
        match kind {
            Kind::F32 if is_small => bytes.extend(((z >> 40) as f32 * 1e-44).to_ne_bytes()),
            Kind::F32 => bytes.extend((real as f32).to_ne_bytes()),
            Kind::F64 => bytes.extend(real.to_ne_bytes()),
            Kind::U32 => bytes.extend((integer as u32).to_ne_bytes()),
            _ => bytes.extend((integer as i32).to_ne_bytes()),
        }
    }
    bytes
}

/// The ways to launch a map on a device with this work-group limit: every schedule, and several shapes of blocks and tiles.
pub fn ways(map: &MapKernel, dimensions: usize, most_items: usize) -> Vec<MapOptions> {
    let own = map.options;
    let mut ways = vec![own];
    let schedules = [
        Schedule::Device,
        Schedule::ThreadBlock,
        Schedule::Persistent { groups: None },
        Schedule::Persistent { groups: Some(3) },
        Schedule::Dynamic { chunk: 5 },
        Schedule::Sequential,
    ];
    for schedule in schedules {
        ways.push(MapOptions { schedule, block: own.block, tile: [1; BLOCK_DIMENSIONS] });
    }
    if map.program().is_ok_and(|program| !program.needs.is_of_blocks()) {
        for block in [[1, 1, 64], [1, 1, 256], [1, 4, 16], [1, 8, 32], [2, 2, 8]] {
            for tile in [[1, 1, 1], [1, 1, 4], [1, 2, 2]] {
                let fits = |sizes: [usize; 3]| sizes.iter().rev().skip(dimensions).all(|&size| size == 1);
                if fits(block) && fits(tile) && block.iter().product::<usize>() <= most_items {
                    ways.push(MapOptions { schedule: Schedule::Device, block: Some(block), tile });
                }
            }
        }
    }
    let mut kept: Vec<MapOptions> = Vec::new();
    ways.retain(|way| {
        let is_new = !kept.contains(way);
        kept.push(*way);
        is_new
    });
    ways
}

/// A case whose bits differ between two backends, or between two ways to launch it.
#[derive(Clone, PartialEq, Debug)]
pub struct MapMismatch {
    /// The name of the map.
    pub map: &'static str,
    /// The number of the case.
    pub case: usize,
    /// The options of the launch.
    pub options: MapOptions,
    /// What differs: an element of an argument, or a number that the map returns.
    pub what: String,
    /// The expected bits, then the actual ones.
    pub bits: [u64; 2],
}

impl fmt::Display for MapMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { map, case, options, what, bits: [expected, found] } = self;
        write!(f, "map {map}, case {case}, {options}: {what}: expected {expected:016x}, found {found:016x}")
    }
}

/// The result of comparing a map.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MapComparison {
    /// The number of launches that were compared.
    pub launches: usize,
    /// The number of array elements and results that were compared.
    pub numbers: u64,
    /// The first difference of each launch that has one.
    pub mismatches: Vec<MapMismatch>,
}

/// Compares all cases of a map on a backend with the CPU, in every way to launch it. If both report the same error, they agree.
///
/// # Errors
/// An error that the CPU reports for the default launch, or one that only the backend reports.
pub fn compare<B: MapBackend>(
    map: &'static MapKernel,
    key: u64,
    (cpu, backend): (&lanefield::backend::Cpu, &B),
    most_items: usize,
) -> Result<MapComparison, MapError> {
    let mut comparison = MapComparison::default();
    for number in 0..map.cases.len().max(1) {
        let mut reference = Trial::new(map, number, key, cpu)?;
        let mut trial = Trial::new(map, number, key, backend)?;
        let expected = reference.run(cpu, map.options)?;
        for options in ways(map, trial.case.range.len(), most_items) {
            let found = match trial.run(backend, options) {
                Ok(found) => found,
                Err(error) => match reference.run(cpu, options) {
                    Err(other) if other.to_string() == error.to_string() => continue,
                    _ => return Err(error),
                },
            };
            comparison.launches += 1;
            comparison.numbers += expected.count(map);
            comparison.mismatches.extend(expected.mismatch(&found, map).map(|(what, bits)| MapMismatch {
                map: map.name,
                case: number,
                options,
                what,
                bits,
            }));
        }
    }
    Ok(comparison)
}

impl Results {
    fn arrays<'a>(&'a self, map: &'a MapKernel) -> impl Iterator<Item = (usize, Kind, &'a [u8])> {
        self.arrays.iter().zip(map.roles).enumerate().filter_map(|(argument, (bytes, role))| match (bytes, role) {
            (Some(bytes), MapRole::Array { kind, .. }) => Some((argument, *kind, &bytes[..])),
            _ => None,
        })
    }

    fn count(&self, map: &MapKernel) -> u64 {
        let of_arrays: usize = self.arrays(map).map(|(_, kind, bytes)| bytes.len() / role::bytes(kind)).sum();
        (of_arrays + self.numbers.len()) as u64
    }

    /// The first number that differs: its description, and the bits of both. Any NaN equals any other.
    fn mismatch(&self, other: &Self, map: &MapKernel) -> Option<(String, [u64; 2])> {
        for ((argument, kind, ours), (_, _, theirs)) in self.arrays(map).zip(other.arrays(map)) {
            let numbers = |bytes: &[u8]| -> Vec<u64> { bytes.chunks_exact(role::bytes(kind)).map(bits_of).collect() };
            let (ours, theirs) = (numbers(ours), numbers(theirs));
            let differ =
                |k: &usize| ours[*k] != theirs[*k] && !(role::is_nan(kind, ours[*k]) && role::is_nan(kind, theirs[*k]));
            if let Some(element) = (0..ours.len()).find(differ) {
                let what = format!("element {element} of {}, row by row", map.names[argument]);
                return Some((what, [ours[element], theirs[element]]));
            }
        }
        let made = self.numbers.iter().zip(&other.numbers).position(|(ours, theirs)| ours != theirs)?;
        Some((format!("number {made} that it returns"), [self.numbers[made], other.numbers[made]]))
    }
}

fn bits_of(bytes: &[u8]) -> u64 {
    let mut bits = [0; 8];
    bits[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(bits)
}
