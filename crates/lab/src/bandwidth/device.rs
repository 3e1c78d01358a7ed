//! Bandwidths of an OpenCL device's memory, measured with the kernels of `cl/peak.cl` in device time.

use std::fmt;
use std::time::{Duration, Instant};

use lanefield::backend::BackendError;
use lanefield::backend::opencl::{Arg, Buffer, Context, DeviceKind, Launch};
use serde::{Deserialize, Serialize};

use super::{Operation, RUNS, TRIAD_FACTOR};
use crate::sources;
use crate::spread::median;

const CPU_BYTES: usize = 256 << 20;
/// The size of one buffer on a GPU, if its memory allows.
const GPU_BYTES: usize = 1 << 30;
/// Buffer sizes are multiples of this, the widest element.
const GRAIN: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Walk {
    /// The whole launch strides over the buffer: at any time, groups work next to each other.
    Stride,
    /// Each group works on its own piece of the buffer.
    Chunk,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Shape {
    /// Bytes per access: 4, 8, 16 or 64.
    pub element_bytes: usize,
    /// Number of elements that a work-item loads before it uses any.
    pub at_once: usize,
    pub group: usize,
    /// Groups per compute unit; `None` for as many as are needed if each work-item handles `at_once` elements.
    pub groups_a_unit: Option<usize>,
    pub walk: Walk,
    /// Whether loads and stores have hints not to use the caches.
    pub past_caches: bool,
}

impl Shape {
    /// One 16-byte element per work-item: the simplest kernel.
    pub const PLAIN: Self =
        Self { element_bytes: 16, at_once: 1, group: 256, groups_a_unit: None, walk: Walk::Stride, past_caches: false };

    /// The build options. If a work-item has a single element, any `AT_ONCE` will do. Without the group size, NVIDIA's driver builds a kernel for
    /// at most 256 work-items.
    pub(crate) fn options(&self) -> String {
        let Self { element_bytes, at_once, past_caches, group, .. } = *self;
        let hints = if past_caches { " -DPAST_CACHES" } else { "" };
        let size = if group > Self::PLAIN.group { format!(" -DGROUP={group}") } else { String::new() };
        format!("-DELEMENT_BYTES={element_bytes} -DAT_ONCE={}{hints}{size}", if at_once == 1 { 8 } else { at_once })
    }

    /// The number of groups in a launch over `elements` on `units` compute units, and the elements of each group's piece (0 if the launch strides).
    fn groups(&self, units: usize, elements: usize) -> (usize, usize) {
        let groups = match self.groups_a_unit {
            Some(groups) => (units * groups).clamp(1, elements.div_ceil(self.group).max(1)),
            None => elements.div_ceil(self.group * self.at_once).max(1),
        };
        match self.walk {
            Walk::Stride => (groups, 0),
            Walk::Chunk => (groups, elements.div_ceil(groups).next_multiple_of(self.group)),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { element_bytes, at_once, group, groups_a_unit, walk, past_caches } = self;
        write!(f, "{at_once} × {element_bytes} bytes, groups of {group}")?;
        match groups_a_unit {
            Some(groups) => write!(f, ", {groups} a unit")?,
            None => f.write_str(", one pass")?,
        }
        match walk {
            Walk::Stride => {}
            Walk::Chunk => f.write_str(", in pieces")?,
        }
        if *past_caches { f.write_str(", past the caches") } else { Ok(()) }
    }
}

/// An operation on buffers of random numbers on a device.
pub struct DeviceStreams<'c> {
    context: &'c Context,
    operation: Operation,
    /// The first is written, or read if nothing is written; the others are read.
    pub buffers: Vec<Buffer>,
    sink: Buffer,
    bytes: usize,
}

impl<'c> DeviceStreams<'c> {
    /// Creates buffers of at least `bytes` bytes each. Their bits are random, because zeros toggle no wires, and some devices compress them.
    pub fn new(context: &'c Context, operation: Operation, bytes: usize) -> Result<Self, BackendError> {
        let bytes = bytes.max(1).next_multiple_of(GRAIN);
        let make = |number: usize| random_words(context, bytes, (number * (bytes / 4)) as u32);
        let buffers = (0..operation.buffers()).map(make).collect::<Result<_, _>>()?;
        let sink = context.allocate(GRAIN, "target of a read")?;
        Ok(Self { context, operation, buffers, sink, bytes })
    }

    pub fn bytes_moved(&self) -> usize {
        self.operation.buffers() * self.bytes
    }

    /// Runs it once and returns the seconds. If the device does not support the group size, groups are as large as it allows.
    pub fn run(&self, shape: &Shape) -> Result<f64, BackendError> {
        let shape = &Shape { group: self.context.info().group_of(shape.group), ..*shape };
        let elements = self.bytes / shape.element_bytes;
        let units = self.context.info().compute_units.max(1) as usize;
        let (groups, chunk) = shape.groups(units, elements);
        let launch = Launch { global: [groups * shape.group, 1, 1], local: [shape.group, 1, 1] };
        let program = sources::program(self.context, "peak.cl", &shape.options())?;
        let sink = (self.operation == Operation::Read).then_some(&self.sink);
        let mut arguments: Vec<Arg<'_>> = sink.into_iter().chain(&self.buffers).map(Arg::Buffer).collect();
        if self.operation == Operation::Triad {
            arguments.push(Arg::F32(TRIAD_FACTOR));
        }
        arguments.extend([Arg::U64(elements as u64), Arg::U64(chunk as u64)]);
        Ok(self.context.launch_timed(&program, &self.operation.kernel(), launch, &arguments)?)
    }

    /// Seconds of several runs, after a warm-up run.
    pub fn times(&self, shape: &Shape, runs: usize) -> Result<Vec<f64>, BackendError> {
        self.run(shape)?;
        (0..runs.max(1)).map(|_| self.run(shape)).collect()
    }
}

/// A buffer of f32 of either sign with magnitudes from 1 to 2: words `first` and up of a pseudo-random sequence. All bits but those of the
/// exponents toggle.
pub fn random_words(context: &Context, bytes: usize, first: u32) -> Result<Buffer, BackendError> {
    let words = bytes / 4;
    let buffer = context.allocate(bytes, "source of a bandwidth measurement")?;
    let program = sources::program(context, "peak.cl", &Shape::PLAIN.options())?;
    let group = context.info().group_of(Shape::PLAIN.group);
    let launch = Launch { global: [words.max(1).next_multiple_of(group), 1, 1], local: [group, 1, 1] };
    let arguments = [Arg::Buffer(&buffer), Arg::U32(first), Arg::U64(words as u64)];
    context.launch(&program, "fill_random", launch, &arguments)?;
    Ok(buffer)
}

/// Bandwidth of a device's memory in bytes per second of device time, the best of a few shapes, after a warm-up of this length. Buffers are larger
/// than the caches if there is room.
pub(crate) fn device_bandwidth(
    context: &Context,
    operation: Operation,
    warm_up: Duration,
) -> Result<f64, BackendError> {
    let streams = DeviceStreams::new(context, operation, usual_bytes(context))?;
    // The first run may build programs.
    streams.run(&Shape::PLAIN)?;
    let start = Instant::now();
    while start.elapsed() < warm_up {
        streams.run(&Shape::PLAIN)?;
    }
    Ok(streams.bytes_moved() as f64 / best_time(&streams)?)
}

/// Seconds of device time of an operation on buffers of this size, the best of a few shapes.
pub(crate) fn device_time(context: &Context, operation: Operation, bytes: usize) -> Result<f64, BackendError> {
    best_time(&DeviceStreams::new(context, operation, bytes)?)
}

/// The simplest shape must work; the device may be too small for another.
fn best_time(streams: &DeviceStreams<'_>) -> Result<f64, BackendError> {
    let mut best = median(streams.times(&Shape::PLAIN, RUNS)?);
    let is_cpu = streams.context.info().kind == DeviceKind::Cpu;
    for shape in device_ways(streams.operation, is_cpu).iter().filter(|shape| **shape != Shape::PLAIN) {
        best = best.min(streams.times(shape, RUNS).map_or(f64::INFINITY, median));
    }
    Ok(best)
}

/// A few shapes for an operation, the simplest first. A CPU compiler vectorises across work-items if each has one element. With loops it does not,
/// and goes through each group's memory item by item; there one work-item has all of a group's memory.
pub(crate) fn device_ways(operation: Operation, is_cpu: bool) -> Vec<Shape> {
    let plain = Shape::PLAIN;
    if is_cpu {
        let pieces =
            Shape { element_bytes: 64, at_once: 4, group: 1, groups_a_unit: Some(4), walk: Walk::Chunk, ..plain };
        return match operation {
            Operation::Read => vec![plain, pieces],
            _ => vec![plain, pieces, Shape { past_caches: true, ..pieces }, Shape { past_caches: true, ..plain }],
        };
    }
    let of_groups = |groups_a_unit| Shape { at_once: 8, groups_a_unit, ..plain };
    std::iter::once(plain).chain([None, Some(4), Some(8), Some(16), Some(32)].map(of_groups)).collect()
}

/// A buffer size larger than the caches, if the device has room.
fn usual_bytes(context: &Context) -> usize {
    let info = context.info();
    let wanted = if info.kind == DeviceKind::Cpu { CPU_BYTES } else { GPU_BYTES };
    let most = (info.max_allocation_bytes).min(info.global_memory_bytes / 8) as usize;
    (wanted.min(most) / GRAIN * GRAIN).max(GRAIN)
}
