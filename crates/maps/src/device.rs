//! Maps (`crate`) on a device: arrays in device memory or in host memory that the device can access; kernels, built and launched by their schedule;
//! sums and extremes over all points. Counterparts: `crates/maps/src/opencl.rs`, which writes the kernels, and `crates/maps/src/cpu.rs`, the same on
//! the CPU.

use lanefield::backend::BackendError;
use lanefield::backend::opencl::{Arg, Buffer, DeviceError, DeviceKind, KernelInfo, Launch, OpenCl, Source};
use lanefield::body::program::Kind;
use lanefield_reference::exact::{self, ExactSum};

use super::arguments::kernel_name;
use super::array::{MapMemory, Storage};
use super::error::MapError;
use super::kernel::Schedule;
use super::launch::{CheckedCall, MapBackend, Outcome, Value};
use super::opencl::{Form, Walk, kernel_text};
use super::program::{BLOCK_DIMENSIONS, slots};
use super::role::{MapRole, bytes, identity, ordered, unordered};

/// The storage of an array in device memory.
#[derive(Debug)]
pub struct DeviceNumbers {
    buffer: Buffer,
    storage: Storage,
}

/// The least work-group size if none was chosen, in work-items.
const LEAST_BLOCK: usize = 32;
/// Work-groups of a persistent launch for each compute unit.
const GROUPS_A_UNIT: usize = 8;
/// 64-bit words of a spilled sum, as in `cl/exact.clh`.
const SPILL_WORDS: usize = exact::LIMBS + 4;
/// The number of terms that a running sum can add without overflow (`cl/exact.clh`).
const MOST_TERMS: u64 = 1 << 22;

impl MapMemory for OpenCl {
    type Numbers = DeviceNumbers;

    fn zero_numbers(
        &self,
        kind: Kind,
        elements: usize,
        storage: Storage,
        what: &str,
    ) -> Result<DeviceNumbers, BackendError> {
        let bytes = elements.saturating_mul(bytes(kind));
        let buffer = match storage {
            Storage::Global => self.context().allocate(bytes, what)?,
            Storage::PinnedHost => self.context().allocate_reachable(bytes, what)?,
        };
        self.context().fill_zero(&buffer)?;
        Ok(DeviceNumbers { buffer, storage })
    }

    fn write_numbers(&self, numbers: &mut DeviceNumbers, bytes: &[u8]) -> Result<(), BackendError> {
        match numbers.storage {
            Storage::Global => self.context().write(&numbers.buffer, 0, bytes)?,
            Storage::PinnedHost => self.context().write_mapped(&mut numbers.buffer, 0, bytes)?,
        }
        Ok(())
    }

    fn read_numbers(&self, numbers: &DeviceNumbers, bytes: &mut [u8]) -> Result<(), BackendError> {
        Ok(self.context().read(&numbers.buffer, 0, bytes)?)
    }
}

impl MapBackend for OpenCl {
    fn run_map(&self, call: &CheckedCall<'_, Self>) -> Result<Outcome, MapError> {
        Run { backend: self, call }.run()
    }
}

/// The size of a launch.
struct Size {
    launch: Launch,
    groups: usize,
}

struct Run<'a> {
    backend: &'a OpenCl,
    call: &'a CheckedCall<'a, OpenCl>,
}

impl Run<'_> {
    fn run(&self) -> Result<Outcome, MapError> {
        let Self { backend, call } = self;
        let (map, program, device) = (call.map, call.program, backend.context().info());
        if program.uses_doubles() && !device.fp64 {
            return Err(BackendError::from(DeviceError::NoDoubles { device: device.with_driver() }).into());
        }
        let local_bytes = program.needs.local_bytes();
        if local_bytes as u64 > device.local_memory_bytes {
            return Err(self.local_memory(local_bytes));
        }
        let form = Form {
            walk: match call.options.schedule {
                Schedule::Device => Walk::Each(call.options.tile),
                Schedule::Dynamic { .. } => Walk::Queue,
                Schedule::ThreadBlock | Schedule::Persistent { .. } | Schedule::Sequential => Walk::Strides,
            },
            rank: call.range.len(),
            guarded: call.bounds.guarded,
            tracked: call.bounds.tracked.clone(),
        };
        let source = Source::written(format!("{}.cl", kernel_name(map.name)), kernel_text(map, program, &form)?);
        let options = match device.kind {
            DeviceKind::Cpu => format!("-DCALL_SELDOM_USED -DEXACT_LIMBS={}", exact::LIMBS),
            _ => format!("-DEXACT_LIMBS={}", exact::LIMBS),
        };
        // SAFETY: the text is written from a recorded body, whose indices are checked before the launch or, by guards, in it.
        let built = unsafe { backend.program_of(&source, &options)? };
        let info = built.kernel_info(&kernel_name(map.name)).map_err(BackendError::from)?;
        let Size { launch, groups } = self.size(&info)?;
        let work_items = launch.local.iter().product::<usize>();
        let sums = map.roles.iter().filter(|role| **role == MapRole::ExactSum).count();
        let exchange = if sums > 0 { 2 * size_of::<f64>() * work_items } else { 0 };
        let of_kernel = (info.local_bytes as usize).max(local_bytes) + exchange;
        if of_kernel as u64 > device.local_memory_bytes {
            return Err(self.local_memory(of_kernel));
        }
        if sums > 0 && call.points.div_ceil((groups * work_items) as u64) > MOST_TERMS {
            let most = MOST_TERMS * (groups * work_items) as u64;
            return Err(self.too_many_points(most));
        }
        let memory = Memory::new(backend, call, &form, groups, sums)?;
        let arguments = memory.arguments(call, &form, exchange);
        // SAFETY: the arguments are in the order in which the writer declares them, and the launch is that of the form.
        unsafe { backend.launch_program(&built, &kernel_name(map.name), launch, &arguments)? };
        Ok(memory.outcome(backend, call, sums)?)
    }

    fn local_memory(&self, bytes: usize) -> MapError {
        let device = self.backend.context().info();
        MapError::LocalMemory {
            map: self.call.map.name,
            bytes,
            device: device.with_driver(),
            available: device.local_memory_bytes,
        }
    }

    fn too_many_points(&self, most: u64) -> MapError {
        let call = self.call;
        MapError::Points { map: call.map.name, range: call.range.clone(), points: call.points, most }
    }

    /// The work-group size, starting with the device's first dimension.
    fn block(&self, info: &KernelInfo) -> Result<[usize; 3], MapError> {
        let (call, device) = (self.call, self.backend.context().info());
        let own = call.program.needs.block;
        let most = info.max_work_group_size.min(device.max_work_group_size);
        let chosen = own.or(call.options.block);
        let sequential = call.options.schedule == Schedule::Sequential && own.is_none();
        let block = match chosen {
            _ if sequential => [1; BLOCK_DIMENSIONS],
            Some(block) => block,
            None => {
                let multiple = info.preferred_work_group_multiple.max(1);
                let items = LEAST_BLOCK.next_multiple_of(multiple).min(most).max(1);
                [1, 1, items]
            }
        };
        let items = block.iter().fold(1usize, |items, &size| items.saturating_mul(size));
        let mut local = block;
        local.reverse();
        if items > most || local.iter().zip(device.max_work_item_sizes).any(|(&size, most)| size > most) {
            return Err(MapError::GroupSize {
                map: call.map.name,
                block,
                items,
                device: device.with_driver(),
                most,
                device_most: device.max_work_group_size,
                item_most: device.max_work_item_sizes,
            });
        }
        // What goes in strides, or fetches, counts its work-items in one row; a block of threads stays what it is.
        let rows = own.is_some() || call.options.schedule == Schedule::Device;
        Ok(if rows { local } else { [items, 1, 1] })
    }

    fn size(&self, info: &KernelInfo) -> Result<Size, MapError> {
        let (call, device) = (self.call, self.backend.context().info());
        let local = self.block(info)?;
        let of_blocks = call.program.needs.is_of_blocks();
        let items = local.iter().product::<usize>();
        // As many groups as have something to do.
        let useful = match of_blocks {
            true => call.points,
            false => call.points.div_ceil(items as u64),
        };
        let resident = (device.compute_units as usize * GROUPS_A_UNIT).max(1);
        let in_a_row = |groups: usize| {
            let groups = (groups as u64).min(useful).max(1) as usize;
            Size { launch: Launch { global: [groups * local[0], local[1], local[2]], local }, groups }
        };
        Ok(match call.options.schedule {
            Schedule::ThreadBlock | Schedule::Sequential => in_a_row(1),
            Schedule::Persistent { groups } => in_a_row(groups.unwrap_or(resident)),
            Schedule::Dynamic { chunk } => {
                // The queue goes beyond the last point by a chunk for each group.
                let most = u64::from(u32::MAX).saturating_sub((resident as u64 + 1).saturating_mul(chunk as u64));
                if call.points > most {
                    return Err(self.too_many_points(most));
                }
                in_a_row(resident)
            }
            Schedule::Device => {
                let mut global = [1; 3];
                let mut groups = 1;
                for (dimension, size) in global.iter_mut().enumerate() {
                    let rest = call.range.len().saturating_sub(dimension);
                    let extent = match dimension {
                        2 => call.range[..rest].iter().product::<usize>(),
                        _ => call.range[..rest].last().copied().unwrap_or(1),
                    };
                    let tile = call.options.tile[BLOCK_DIMENSIONS - 1 - dimension];
                    let tile = if dimension < call.range.len() { tile } else { 1 };
                    let a_group = if of_blocks { tile } else { tile.saturating_mul(local[dimension]) };
                    let of_dimension = extent.max(1).div_ceil(a_group);
                    *size = of_dimension.saturating_mul(local[dimension]);
                    groups *= of_dimension;
                }
                Size { launch: Launch { global, local }, groups }
            }
        })
    }
}

/// Device memory of one launch, in addition to its arrays.
struct Memory {
    folds: Vec<Option<Buffer>>,
    queue: Option<Buffer>,
    partials: Option<(Buffer, usize)>,
    spills: Option<Buffer>,
    status: Option<Buffer>,
    owners: Vec<Buffer>,
}

impl Memory {
    fn new(
        backend: &OpenCl,
        call: &CheckedCall<'_, OpenCl>,
        form: &Form,
        groups: usize,
        sums: usize,
    ) -> Result<Self, BackendError> {
        let context = backend.context();
        let zeros = |bytes: usize, what: &str| {
            let buffer = context.allocate(bytes, what)?;
            context.fill_zero(&buffer)?;
            Ok::<_, BackendError>(buffer)
        };
        let mut folds = Vec::new();
        for role in call.map.roles {
            folds.push(match role {
                MapRole::Fold(kind, fold) => {
                    let buffer = context.allocate(size_of::<u32>(), "a number of all points")?;
                    context.write(&buffer, 0, &ordered(*kind, identity(*kind, *fold)).to_ne_bytes())?;
                    Some(buffer)
                }
                _ => None,
            });
        }
        let queue = match form.walk {
            Walk::Queue => Some(zeros(size_of::<u32>(), "a queue of points")?),
            _ => None,
        };
        let (partials, spills) = match sums {
            0 => (None, None),
            _ => {
                let partials = context.allocate(3 * size_of::<f64>() * sums * groups, "sums of groups")?;
                (Some((partials, groups)), Some(zeros(SPILL_WORDS * size_of::<i64>() * sums, "spilled sums")?))
            }
        };
        let noted = form.guarded || !form.tracked.is_empty();
        let status = match noted {
            true => {
                let arguments = call.map.roles.len();
                let words = vec![u32::MAX; slots(&call.program.needs, arguments) + arguments];
                let buffer = context.allocate(size_of_val(&words[..]), "indices out of range")?;
                context.write(&buffer, 0, bytemuck::cast_slice(&words))?;
                Some(buffer)
            }
            false => None,
        };
        let owners = form.tracked.iter().map(|&argument| {
            let elements: usize = call.stored_extents(argument).iter().product();
            zeros(elements * size_of::<u32>(), "owners of elements")
        });
        let owners = owners.collect::<Result<_, _>>()?;
        Ok(Self { folds, queue, partials, spills, status, owners })
    }

    /// The kernel's arguments, in the order of `crates/maps/src/opencl.rs`.
    fn arguments<'a>(&'a self, call: &'a CheckedCall<'_, OpenCl>, form: &Form, exchange: usize) -> Vec<Arg<'a>> {
        let mut arguments = Vec::new();
        for ((role, value), fold) in call.map.roles.iter().zip(&call.values).zip(&self.folds) {
            match (role, value) {
                (MapRole::Array { .. }, Value::Array { numbers, extents, pitch }) => {
                    arguments.push(Arg::Buffer(&numbers.buffer));
                    arguments.extend(extents.iter().map(|&extent| Arg::I32(extent as i32)));
                    arguments.push(Arg::I32(*pitch as i32));
                }
                (MapRole::Scalar(kind), Value::Number(bits)) => arguments.push(match kind {
                    Kind::F32 => Arg::F32(f32::from_bits(*bits as u32)),
                    Kind::F64 => Arg::F64(f64::from_bits(*bits)),
                    Kind::U32 => Arg::U32(*bits as u32),
                    _ => Arg::I32(*bits as u32 as i32),
                }),
                _ => arguments.extend(fold.as_ref().map(Arg::Buffer)),
            }
        }
        arguments.extend(call.range.iter().map(|&extent| Arg::I32(extent as i32)));
        arguments.push(Arg::U64(call.points));
        if let (Some(queue), Schedule::Dynamic { chunk }) = (&self.queue, call.options.schedule) {
            arguments.extend([Arg::Buffer(queue), Arg::U32(chunk.min(u32::MAX as usize) as u32)]);
        }
        if let (Some((partials, _)), Some(spills)) = (&self.partials, &self.spills) {
            arguments.extend([Arg::Buffer(partials), Arg::Buffer(spills), Arg::Local(exchange)]);
        }
        arguments.extend(self.status.as_ref().map(Arg::Buffer));
        debug_assert_eq!(self.owners.len(), form.tracked.len());
        arguments.extend(self.owners.iter().map(Arg::Buffer));
        arguments
    }

    /// The results of the launch. It waits for the kernel only if there is something to report.
    fn outcome(&self, backend: &OpenCl, call: &CheckedCall<'_, OpenCl>, sums: usize) -> Result<Outcome, BackendError> {
        let context = backend.context();
        let mut outcome = Outcome::default();
        let mut exact = self.sums(backend, sums)?.into_iter();
        for (role, fold) in call.map.roles.iter().zip(&self.folds) {
            match (role, fold) {
                (MapRole::ExactSum, _) => outcome.results.extend(exact.next().map(|sum| sum.round().to_bits())),
                (MapRole::Fold(kind, _), Some(buffer)) => {
                    let mut bits = [0; 4];
                    context.read(buffer, 0, &mut bits)?;
                    outcome.results.push(u64::from(unordered(*kind, u32::from_ne_bytes(bits))));
                }
                _ => {}
            }
        }
        if let Some(status) = &self.status {
            let mut words = vec![0u32; status.bytes() / size_of::<u32>()];
            context.read(status, 0, bytemuck::cast_slice_mut(&mut words))?;
            let mut first = words.into_iter().map(|first| Some(first).filter(|&first| first != u32::MAX));
            let slots = slots(&call.program.needs, call.map.roles.len());
            outcome.beyond = first.by_ref().take(slots).collect();
            outcome.conflicts = first.collect();
        }
        Ok(outcome)
    }

    fn sums(&self, backend: &OpenCl, sums: usize) -> Result<Vec<ExactSum>, BackendError> {
        let (Some((partials, groups)), Some(spills)) = (&self.partials, &self.spills) else { return Ok(Vec::new()) };
        let context = backend.context();
        let mut of_groups = vec![[0f64; 3]; groups * sums];
        context.read(partials, 0, bytemuck::cast_slice_mut(&mut of_groups))?;
        let mut words = vec![[0i64; SPILL_WORDS]; sums];
        context.read(spills, 0, bytemuck::cast_slice_mut(words.as_flattened_mut()))?;
        let sum = |number: usize| {
            let (limbs, counts) = words[number].split_at(exact::LIMBS);
            let mut sum = match counts[3] {
                0 => ExactSum::new(),
                // As many terms as could be: they are not counted.
                _ => ExactSum::from_limbs(limbs, [counts[0], counts[1], counts[2], 1, 1 << 62]).map_err(|error| {
                    DeviceError::DamagedSum { device: context.info().with_driver(), reason: error.to_string() }
                })?,
            };
            for [high, low, any] in of_groups.iter().skip(number).step_by(sums) {
                if *any != 0.0 {
                    sum.add_pair(*high, *low, if counts[3] == 0 { 1 } else { 0 });
                }
            }
            Ok::<_, BackendError>(sum)
        };
        (0..sums).map(sum).collect()
    }
}
