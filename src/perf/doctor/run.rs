//! Running what a description says, with some of it changed or not, and observing it.

use std::time::Instant;

use super::DoctorError;
use super::described::{ArgumentOf, BufferOf, Description, Often, PassOf, ValueOf};
use super::finding::Remedy;
use super::machine::{code_of, efficiencies_of};
use super::observation::{ArrayAccess, Machine, Observation, Pass, Timeline};
use crate::backend::opencl::{Arg, Buffer, Context, Launch, LaunchEvent, OpenClError};
use crate::perf::Spread;

/// Runs before anything is timed.
const WARM_UP: usize = 2;
/// Runs that are queued one after the other when the timeline is watched.
const BACK_TO_BACK: usize = 4;

/// A description that was read, with its source.
#[derive(Clone, Debug)]
pub struct Described {
    /// What it says.
    pub description: Description,
    /// The OpenCL C source.
    pub source: String,
}

impl Described {
    /// The same with a change made; `pass`: the kernel that has the fault. `None` where the change is one of the source.
    pub fn changed(&self, pass: &str, remedy: Remedy) -> Option<Self> {
        let mut changed = self.clone();
        let description = &mut changed.description;
        let mut passes = description.passes.iter_mut().filter(|candidate| candidate.kernel == pass);
        match remedy {
            Remedy::GroupSize(size) => {
                let pass = passes.next()?;
                pass.local = std::iter::once(size).chain(std::iter::repeat(1)).take(pass.local.len()).collect();
                pass.global[0] = pass.global[0].next_multiple_of(size * pass.slices);
            }
            Remedy::Groups(groups) => {
                let pass = passes.next()?;
                pass.global = pass.local.clone();
                pass.global[0] *= groups;
            }
            Remedy::AllRegisters => description.options = without_register_limit(&description.options).0,
            Remedy::KeepOnDevice => {
                for buffer in &mut description.buffers {
                    (buffer.written, buffer.read) =
                        (buffer.written.map(|_| Often::Once), buffer.read.map(|_| Often::Once));
                }
            }
            Remedy::KeepBuffers => description.buffers.iter_mut().for_each(|buffer| buffer.allocated = Often::Once),
            Remedy::OneLaunch => description.passes.iter_mut().for_each(|pass| pass.slices = 1),
            Remedy::LaneFast | Remedy::Source => return None,
        }
        Some(changed)
    }

    /// Runs it, `samples` times and more, and says what was seen.
    ///
    /// # Errors
    /// What the runtime reports; a pattern of addresses that cannot be read.
    pub fn observe(&self, context: &Context, machine: &Machine, samples: usize) -> Result<Observation, DoctorError> {
        let mut runner = Runner::new(context, self, self.options(context))?;
        let (times, timeline) = runner.watch(samples)?;
        let description = &self.description;
        let mut passes = Vec::with_capacity(description.passes.len());
        for (pass, seconds) in description.passes.iter().zip(times) {
            let mut observed = self.pass(context, machine, &runner, pass, seconds)?;
            if pass.any_group_size && !machine.stands_for_gpu {
                observed.other_groups = self.other_groups(context, machine, pass, samples)?;
            }
            passes.push(observed);
        }
        Ok(Observation {
            subject: description.name.clone(),
            machine: machine.clone(),
            bytes: description.bytes,
            flops: description.flops,
            passes,
            outputs: description
                .buffers
                .iter()
                .filter(|buffer| buffer.output)
                .map(|buffer| buffer.name.clone())
                .collect(),
            timeline,
            estimated: None,
        })
    }

    /// The build options, so that the compiler says what kernels take where it can.
    fn options(&self, context: &Context) -> String {
        let verbose = if context.info().limits_registers() { " -cl-nv-verbose" } else { "" };
        format!("{}{verbose}", self.description.options)
    }

    fn pass(
        &self,
        context: &Context,
        machine: &Machine,
        runner: &Runner<'_>,
        pass: &PassOf,
        seconds: Spread,
    ) -> Result<Pass, DoctorError> {
        let moved =
            |moved: &[super::described::Moved]| moved.iter().map(|moved| (moved.buffer.clone(), moved.bytes)).collect();
        let bytes_of = |name: &str| {
            let of = |moved: &&super::described::Moved| moved.buffer == name;
            pass.reads.iter().chain(&pass.writes).filter(of).map(|moved| moved.bytes).sum()
        };
        let mut accesses = Vec::with_capacity(pass.accesses.len());
        for access in &pass.accesses {
            let (efficiency, line_efficiency) = efficiencies_of(access, machine, pass.group())?;
            accesses.push(ArrayAccess {
                array: access.buffer.clone(),
                bytes: bytes_of(&access.buffer),
                efficiency,
                line_efficiency,
                pattern: access.pattern.clone(),
            });
        }
        let program = (&*runner.program, self.source.as_str(), self.description.options.as_str());
        let mut code = code_of(context, machine, program, &pass.kernel)?;
        code.most_registers = without_register_limit(&self.description.options).1;
        Ok(Pass {
            kernel: pass.kernel.clone(),
            work_items: pass.work_items() / pass.slices,
            turns: 1,
            group: pass.group(),
            any_group_size: pass.any_group_size,
            any_number_of_groups: pass.any_number_of_groups,
            lanes: 1,
            launches: pass.slices,
            seconds,
            code,
            accesses,
            reads: moved(&pass.reads),
            writes: moved(&pass.writes),
            lane_fast: None,
            other_groups: Vec::new(),
        })
    }

    /// The pass in groups of one wavefront and of a few.
    fn other_groups(
        &self,
        context: &Context,
        machine: &Machine,
        pass: &PassOf,
        samples: usize,
    ) -> Result<Vec<(usize, Spread)>, DoctorError> {
        let number = self.description.passes.iter().position(|other| other == pass).unwrap_or(0);
        let sizes = [1, 2, 4, 8].map(|wavefronts| wavefronts * machine.wavefront.max(32));
        let mut others = Vec::new();
        for size in sizes.into_iter().filter(|&size| size != pass.group() && size <= context.info().max_work_group_size)
        {
            let Some(changed) = self.changed(&pass.kernel, Remedy::GroupSize(size)) else { continue };
            if changed.description.passes[number].work_items() != pass.work_items() {
                // The kernel might not know where to stop.
                continue;
            }
            let (times, _) = Runner::new(context, &changed, changed.options(context))?.watch(samples)?;
            others.extend(times.get(number).map(|&seconds| (size, seconds)));
        }
        Ok(others)
    }
}

/// Build options without the limit of registers, and that limit.
fn without_register_limit(options: &str) -> (String, Option<usize>) {
    const LIMIT: &str = "-cl-nv-maxrregcount=";
    let limit = options.split_whitespace().find_map(|option| option.strip_prefix(LIMIT)?.parse().ok());
    let others: Vec<&str> = options.split_whitespace().filter(|option| !option.starts_with(LIMIT)).collect();
    (others.join(" "), limit)
}

/// What one run took.
#[derive(Default)]
struct Run {
    events: Vec<(usize, LaunchEvent)>,
    transfers: f64,
    allocations: f64,
}

/// A description with its program and the buffers that stay.
struct Runner<'c> {
    context: &'c Context,
    description: &'c Description,
    program: std::sync::Arc<crate::backend::opencl::Program>,
    buffers: Vec<Option<Buffer>>,
    /// What the host writes, as long as the largest buffer, and where it reads to.
    data: Vec<u8>,
    back: Vec<u8>,
}

impl<'c> Runner<'c> {
    fn new(context: &'c Context, described: &'c Described, options: String) -> Result<Self, DoctorError> {
        let description = &described.description;
        let program = context.program(&description.name, &described.source, &options)?;
        let longest = description.buffers.iter().map(|buffer| buffer.bytes).max().unwrap_or(0);
        // The device refuses what is too large before the host makes room for as many bytes; buffers of each run are tried, too.
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
            // What nobody writes is not left undefined.
            None if when == Often::Once => self.context.fill_zero(buffer),
            _ => Ok(()),
        }
    }

    /// Seconds of each pass over the runs, and what a run takes among several that follow each other.
    fn watch(&mut self, samples: usize) -> Result<(Vec<Spread>, Timeline), DoctorError> {
        for _ in 0..WARM_UP {
            self.run()?;
        }
        self.context.finish()?;
        let runs = samples.div_ceil(BACK_TO_BACK).max(1);
        let mut times = vec![Vec::new(); self.description.passes.len()];
        let mut timelines = Vec::with_capacity(runs);
        for _ in 0..runs {
            let start = Instant::now();
            let several = (0..BACK_TO_BACK).map(|_| self.run()).collect::<Result<Vec<Run>, _>>()?;
            self.context.finish()?;
            let wall = start.elapsed().as_secs_f64() / BACK_TO_BACK as f64;
            let mut timeline = Timeline { wall, ..self.planned() };
            for run in several {
                let mut each = vec![0.0; times.len()];
                for (pass, event) in &run.events {
                    each[*pass] += self.context.times(event)?.seconds();
                }
                timeline.kernels += each.iter().sum::<f64>() / BACK_TO_BACK as f64;
                timeline.transfers += run.transfers / BACK_TO_BACK as f64;
                timeline.allocations += run.allocations / BACK_TO_BACK as f64;
                times.iter_mut().zip(each).for_each(|(times, seconds)| times.push(seconds));
            }
            timelines.push(timeline);
        }
        timelines.sort_by(|a, b| a.wall.total_cmp(&b.wall));
        let timeline = timelines.get(timelines.len() / 2).copied().unwrap_or_default();
        Ok((times.into_iter().filter_map(Spread::of).collect(), timeline))
    }

    /// What the description says of a run's timeline before it is run.
    fn planned(&self) -> Timeline {
        let each_run = |often: Option<Often>| often == Some(Often::EachRun);
        let bytes = |buffer: &BufferOf| {
            (u64::from(each_run(buffer.written)) + u64::from(each_run(buffer.read))) * buffer.bytes as u64
        };
        Timeline {
            launches: self.description.passes.iter().map(|pass| pass.slices).sum(),
            transferred_bytes: self.description.buffers.iter().map(bytes).sum(),
            allocated_buffers: self
                .description
                .buffers
                .iter()
                .filter(|buffer| buffer.allocated == Often::EachRun)
                .count(),
            ..Timeline::default()
        }
    }

    fn run(&mut self) -> Result<Run, DoctorError> {
        let description = self.description;
        let mut run = Run::default();
        for (number, buffer) in description.buffers.iter().enumerate() {
            if buffer.allocated == Often::EachRun {
                let start = Instant::now();
                let made = self.context.allocate(buffer.bytes, &buffer.name)?;
                // The memory of some drivers is only there once it was touched.
                self.context.fill_zero(&made)?;
                self.context.finish()?;
                run.allocations += start.elapsed().as_secs_f64();
                self.buffers[number] = Some(made);
            }
            if buffer.written == Some(Often::EachRun)
                && let Some(made) = &self.buffers[number]
            {
                self.context.finish()?;
                let start = Instant::now();
                self.write(buffer, made, Often::EachRun)?;
                run.transfers += start.elapsed().as_secs_f64();
            }
        }
        for (number, pass) in description.passes.iter().enumerate() {
            for slice in 0..pass.slices {
                run.events.push((number, self.launch(pass, slice)?));
            }
        }
        for (number, buffer) in description.buffers.iter().enumerate() {
            if buffer.read == Some(Often::EachRun)
                && let Some(made) = &self.buffers[number]
            {
                self.context.finish()?;
                let start = Instant::now();
                self.context.read(made, 0, &mut self.back[..buffer.bytes])?;
                run.transfers += start.elapsed().as_secs_f64();
            }
            if buffer.allocated == Often::EachRun {
                self.context.finish()?;
                let start = Instant::now();
                self.buffers[number] = None;
                run.allocations += start.elapsed().as_secs_f64();
            }
        }
        Ok(run)
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

/// Bytes of f32 numbers from 1 to 2, all different: none is slow to compute with, and none is like the next one.
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
    fn the_limit_of_registers_is_taken_out_of_build_options() {
        let (options, limit) = without_register_limit("-DN=4 -cl-nv-maxrregcount=40 -DM");
        assert_eq!((options.as_str(), limit), ("-DN=4 -DM", Some(40)));
        assert_eq!(without_register_limit("-DN=4"), ("-DN=4".to_owned(), None));
    }

    #[test]
    fn what_the_host_writes_are_numbers_between_one_and_two() {
        let bytes = numbers(4096);
        let all: Vec<f32> = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        assert!(all.iter().all(|number| (1.0..2.0).contains(number)));
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(numbers(5).len(), 5);
    }
}
