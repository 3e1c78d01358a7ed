//! Runs a description: its buffers, its launches, and the time of each.

use std::sync::Arc;
use std::time::Instant;

use lanefield::backend::opencl::{Arg, Buffer, Context, Launch, LaunchEvent, OpenClError, Program, explaining_crashes};

use super::described::{ArgumentOf, BufferOf, Described, Description, Often, PassOf, ValueOf};
use super::error::DoctorError;
use super::observation::Timeline;
use crate::Spread;

const WARM_UP: usize = 2;
/// A kernel of the user may access any memory, which includes the program's own if the device is the host.
const CRASHED: &str = "a kernel of the description crashed: it touches memory outside its buffers, or runs for ever; compare the bytes of the buffers with \
                       the global sizes, with the arguments and with the source";
/// Number of runs queued back to back when the timeline is watched.
pub(super) const BACK_TO_BACK: usize = 4;

pub(super) struct Runner<'c> {
    context: &'c Context,
    description: &'c Description,
    pub program: Arc<Program>,
    buffers: Vec<Option<Buffer>>,
    /// The data that the host writes, as long as the largest buffer, and to which it reads.
    data: Vec<u8>,
    back: Vec<u8>,
}

impl<'c> Runner<'c> {
    pub fn new(context: &'c Context, described: &'c Described, options: String) -> Result<Self, DoctorError> {
        let description = &described.description;
        // SAFETY: the user asks to run this source with the arguments of the description.
        let program = unsafe { context.program(&description.name, &described.source, &options)? };
        let longest = description.buffers.iter().map(|buffer| buffer.bytes).max().unwrap_or(0);
        // The device rejects what is too large before the host allocates as many bytes. Buffers that are created in each run are tried too.
        let mut buffers = Vec::with_capacity(description.buffers.len());
        for buffer in &description.buffers {
            let made = context.allocate(buffer.bytes, &buffer.name)?;
            buffers.push((buffer.allocated == Often::Once).then_some(made));
        }
        let runner = Self { context, description, program, buffers, data: numbers(longest), back: vec![0; longest] };
        for (buffer, made) in description.buffers.iter().zip(&runner.buffers) {
            if let Some(made) = made {
                runner.write(buffer, made, Often::Once)?;
            }
        }
        Ok(runner)
    }

    fn write(&self, description: &BufferOf, buffer: &Buffer, when: Often) -> Result<(), OpenClError> {
        match description.written {
            Some(often) if often == when => self.context.write(buffer, 0, &self.data[..description.bytes]),
            // Buffers that nobody writes are initialised.
            None if when == Often::Once => self.context.fill_zero(buffer),
            _ => Ok(()),
        }
    }

    /// Seconds of each pass in all runs, and the time of one among several runs back to back.
    pub fn watch(&mut self, samples: usize) -> Result<(Vec<Spread>, Timeline), DoctorError> {
        explaining_crashes(CRASHED, || self.watched(samples))
    }

    fn watched(&mut self, samples: usize) -> Result<(Vec<Spread>, Timeline), DoctorError> {
        for _ in 0..WARM_UP {
            self.run(&mut Timeline::default())?;
        }
        self.context.finish()?;
        let runs = samples.div_ceil(BACK_TO_BACK).max(1);
        let mut times = vec![Vec::new(); self.description.passes.len()];
        let mut timelines = Vec::with_capacity(runs);
        for _ in 0..runs {
            let mut timeline = self.planned();
            let start = Instant::now();
            let several = (0..BACK_TO_BACK).map(|_| self.run(&mut timeline)).collect::<Result<Vec<_>, _>>()?;
            self.context.finish()?;
            timeline.wall = start.elapsed().as_secs_f64();
            for events in several {
                let mut each = vec![0.0; times.len()];
                for (pass, event) in &events {
                    each[*pass] += self.context.times(event)?.seconds();
                }
                timeline.kernels += each.iter().sum::<f64>();
                times.iter_mut().zip(each).for_each(|(times, seconds)| times.push(seconds));
            }
            let Timeline { wall, kernels, transfers, allocations, .. } = &mut timeline;
            for seconds in [wall, kernels, transfers, allocations] {
                *seconds /= BACK_TO_BACK as f64;
            }
            timelines.push(timeline);
        }
        timelines.sort_by(|a, b| a.wall.total_cmp(&b.wall));
        let timeline = timelines.get(timelines.len() / 2).copied().unwrap_or_default();
        Ok((times.into_iter().filter_map(Spread::of).collect(), timeline))
    }

    /// The timeline of a run according to the description, before it runs.
    fn planned(&self) -> Timeline {
        let Description { buffers, passes, .. } = self.description;
        let each_run = |often: Option<Often>| often == Some(Often::EachRun);
        let bytes = |buffer: &BufferOf| {
            (u64::from(each_run(buffer.written)) + u64::from(each_run(buffer.read))) * buffer.bytes as u64
        };
        Timeline {
            launches: passes.iter().map(|pass| pass.slices).sum(),
            transferred_bytes: buffers.iter().map(bytes).sum(),
            allocated_buffers: buffers.iter().filter(|buffer| buffer.allocated == Often::EachRun).count(),
            ..Timeline::default()
        }
    }

    /// Runs once, and adds the times of transfers and allocations. Returns the launches, each with its pass.
    fn run(&mut self, timeline: &mut Timeline) -> Result<Vec<(usize, LaunchEvent)>, DoctorError> {
        let description = self.description;
        let mut events = Vec::new();
        for (number, buffer) in description.buffers.iter().enumerate() {
            if buffer.allocated == Often::EachRun {
                let start = Instant::now();
                let made = self.context.allocate(buffer.bytes, &buffer.name)?;
                // Some drivers only allocate memory when it is first touched.
                self.context.fill_zero(&made)?;
                self.context.finish()?;
                timeline.allocations += start.elapsed().as_secs_f64();
                self.buffers[number] = Some(made);
            }
            if buffer.written == Some(Often::EachRun)
                && let Some(made) = &self.buffers[number]
            {
                self.context.finish()?;
                let start = Instant::now();
                self.write(buffer, made, Often::EachRun)?;
                timeline.transfers += start.elapsed().as_secs_f64();
            }
        }
        for (number, pass) in description.passes.iter().enumerate() {
            for slice in 0..pass.slices {
                events.push((number, self.launch(pass, slice)?));
            }
        }
        for (number, buffer) in description.buffers.iter().enumerate() {
            if buffer.read == Some(Often::EachRun)
                && let Some(made) = &self.buffers[number]
            {
                self.context.finish()?;
                let start = Instant::now();
                self.context.read(made, 0, &mut self.back[..buffer.bytes])?;
                timeline.transfers += start.elapsed().as_secs_f64();
            }
            if buffer.allocated == Often::EachRun {
                self.context.finish()?;
                let start = Instant::now();
                self.buffers[number] = None;
                // Described runs have no memory pool.
                self.context.trim_memory();
                timeline.allocations += start.elapsed().as_secs_f64();
            }
        }
        Ok(events)
    }

    fn launch(&self, pass: &PassOf, slice: usize) -> Result<LaunchEvent, DoctorError> {
        let of = |sizes: &[usize]| -> [usize; 3] { std::array::from_fn(|k| sizes.get(k).copied().unwrap_or(1)) };
        let (mut global, local) = (of(&pass.global), of(&pass.local));
        global[0] /= pass.slices;
        let argument = |argument: &ArgumentOf| match argument {
            ArgumentOf::Buffer(name) => {
                let number = self.description.buffers.iter().position(|buffer| buffer.name == *name);
                let buffer = number.and_then(|number| self.buffers[number].as_ref());
                buffer.map(Arg::Buffer).ok_or_else(|| DoctorError::NoBuffer { name: name.clone() })
            }
            ArgumentOf::Value(value) => Ok(match *value {
                ValueOf::U32(number) => Arg::U32(number),
                ValueOf::U64(number) => Arg::U64(number),
                ValueOf::F32(number) => Arg::F32(number),
                ValueOf::F64(number) => Arg::F64(number),
                ValueOf::Local(bytes) => Arg::Local(bytes),
                ValueOf::First(_) => Arg::U32((slice * global[0]) as u32),
            }),
        };
        let arguments = pass.arguments.iter().map(argument).collect::<Result<Vec<Arg<'_>>, _>>()?;
        Ok(self.context.launch_event(&self.program, &pass.kernel, Launch { global, local }, &arguments)?)
    }
}

/// Distinct f32 numbers from 1 to 2, as bytes: none is slow to compute with.
fn numbers(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let words = (0..bytes.div_ceil(4)).flat_map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (0x3f80_0000 | (state >> 9)).to_le_bytes()
    });
    words.take(bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_host_writes_are_numbers_between_one_and_two() {
        let bytes = numbers(4096);
        let all: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        assert!(all.iter().all(|number| (1.0..2.0).contains(number)));
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(numbers(5).len(), 5);
    }
}
