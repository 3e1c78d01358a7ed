//! Read, write, copy and triad in several ways, and the copy at different times: before a device is warm, after that, and after heavy kernels.

use std::thread::sleep;
use std::time::{Duration, Instant};

use lanefield::backend::BackendError;
use lanefield::backend::opencl::Context;

use super::measuring::{Measuring, rate};
use super::record::{Drift, Peak, Stream};
use super::scale::Scale;
use crate::Spread;
use crate::bandwidth::{DeviceStreams, Operation, Shape, Walk, device_ways};
use crate::ceilings::WARM_UP;
use crate::spread::median;

/// A rest in which clocks may recover, but too short for much cooling.
const REST: Duration = Duration::from_secs(1);

/// Simultaneous loads and work-items per group. Groups of more than 256 are built for their size, so there are fewer of these.
const GROUPS: [(usize, usize); 10] =
    [(2, 256), (4, 128), (4, 256), (4, 512), (4, 1024), (8, 128), (8, 256), (8, 512), (8, 1024), (16, 256)];
/// Ways that are recorded for each operation, in addition to the simplest one.
const RECORDED: usize = 8;

/// Warms a device up. Returns the copy bandwidth before and after that, in 10⁹ bytes per second.
pub(super) fn warm_up(context: &Context, scale: &Scale) -> Result<(f64, f64), BackendError> {
    let streams = DeviceStreams::new(context, Operation::Copy, scale.stream_bytes)?;
    // The first launch may build the program; the second one is the first that counts.
    streams.run(&Shape::PLAIN)?;
    let cold = streams.run(&Shape::PLAIN)?;
    let start = Instant::now();
    while start.elapsed() < WARM_UP {
        streams.run(&Shape::PLAIN)?;
    }
    Ok((streams.bytes_moved() as f64 / cold / 1e9, plain_rate(&streams, scale)?))
}

pub(super) fn drift(context: &Context, scale: &Scale, (cold, start): (f64, f64)) -> Result<Drift, BackendError> {
    // New buffers, not from the pool.
    context.trim_memory();
    let streams = DeviceStreams::new(context, Operation::Copy, scale.stream_bytes)?;
    let end = plain_rate(&streams, scale)?;
    sleep(REST);
    Ok(Drift { cold, start, end, rested: plain_rate(&streams, scale)? })
}

/// 10⁹ bytes per second, in the simplest way.
fn plain_rate(streams: &DeviceStreams<'_>, scale: &Scale) -> Result<f64, BackendError> {
    let seconds = median(streams.times(&Shape::PLAIN, scale.samples)?);
    Ok(streams.bytes_moved() as f64 / seconds / 1e9)
}

pub(super) fn shapes(operation: Operation, scale: &Scale) -> Vec<Shape> {
    let plain = Shape::PLAIN;
    if scale.is_cpu || scale.quick {
        return device_ways(operation, scale.is_cpu);
    }
    let many = Shape { at_once: 8, ..plain };
    let mut shapes = vec![plain];
    // Widths of an access.
    for element_bytes in [4, 8] {
        shapes.extend([Shape { element_bytes, ..plain }, Shape { element_bytes, ..many }]);
        shapes.push(Shape { element_bytes, groups_a_unit: Some(8), ..many });
    }
    // Hints, loads in flight, group sizes, numbers of groups, the order.
    shapes.push(Shape { past_caches: true, ..plain });
    for past_caches in [false, true] {
        for (at_once, group) in GROUPS {
            for groups_a_unit in [None, Some(1), Some(2), Some(4), Some(8), Some(16), Some(32)] {
                // Fewer leave a unit without work; groups beyond what it holds wait for each other.
                if groups_a_unit.is_none_or(|groups| (512..=4096).contains(&(groups * group))) {
                    let shape = Shape { at_once, group, groups_a_unit, past_caches, ..plain };
                    shapes.extend([Walk::Stride, Walk::Chunk].map(|walk| Shape { walk, ..shape }));
                }
            }
        }
    }
    shapes
}

/// Measures every operation in every way that the device supports; the best of each comes first.
pub(super) fn measure(Measuring { context, scale, peak, tell }: Measuring<'_>) -> Result<(), BackendError> {
    for operation in Operation::ALL {
        let streams = DeviceStreams::new(context, operation, scale.stream_bytes)?;
        let mut measured = Vec::new();
        let shapes = shapes(operation, scale);
        for shape in &shapes {
            tell(&format!("{operation}: {shape}"))?;
            let few = if shapes.len() > 20 { scale.samples.min(3) } else { scale.samples };
            match streams.times(shape, few) {
                Ok(times) => measured.push((*shape, median(times))),
                // The simplest way must work; the device may be too small for some of the others.
                Err(error) if *shape == Shape::PLAIN => return Err(error),
                Err(_) => {}
            }
        }
        measured.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (plain, rest): (Vec<_>, Vec<_>) = measured.into_iter().partition(|(shape, _)| *shape == Shape::PLAIN);
        // Again, with all samples.
        let mut found = Vec::new();
        for (shape, _) in rest.into_iter().take(RECORDED).chain(plain) {
            let times = streams.times(&shape, scale.samples)?;
            found.push(stream(operation, shape.to_string(), streams.bytes_moved(), times));
        }
        peak.keep_streams(operation, found);
    }
    Ok(())
}

pub(super) fn stream(operation: Operation, way: String, bytes_moved: usize, times: Vec<f64>) -> Stream {
    let seconds = Spread::of_some(times);
    Stream { operation, way, gb_per_second: rate(bytes_moved, &seconds), seconds }
}

impl Peak {
    pub(super) fn keep_streams(&mut self, operation: Operation, mut streams: Vec<Stream>) {
        streams.sort_by(|a, b| b.gb_per_second.total_cmp(&a.gb_per_second));
        let best = streams.first().map(|stream| stream.gb_per_second);
        match operation {
            Operation::Read => self.read_gb_per_second = best,
            Operation::Write => self.write_gb_per_second = best,
            Operation::Copy => self.copy_gb_per_second = best,
            Operation::Triad => self.triad_gb_per_second = best,
        }
        self.streams.extend(streams);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::PeakOptions;
    use super::*;

    #[test]
    fn every_way_of_every_scale_is_tried_once_and_the_plain_one_is_among_them() {
        for quick in [false, true] {
            for is_cpu in [false, true] {
                let options = PeakOptions { quick, most_bytes: None, parts: Vec::new() };
                let scale = Scale { is_cpu, ..Scale::of_host(2, &options) };
                for operation in Operation::ALL {
                    let shapes = shapes(operation, &scale);
                    let distinct: HashSet<Shape> = shapes.iter().copied().collect();
                    assert!(distinct.len() == shapes.len() && distinct.contains(&Shape::PLAIN), "{shapes:?}");
                }
            }
        }
    }
}
