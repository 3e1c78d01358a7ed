//! Observes a described run, with or without a change. `runner.rs` runs it.

use lanefield::backend::opencl::Context;

use super::described::{Described, Moved, Often, PassOf};
use super::error::DoctorError;
use super::facts::{code_of, efficiencies_of};
use super::finding::Remedy;
use super::observation::{ArrayAccess, DeviceFacts, Observation, OtherGroup, Pass, Timeline};
use super::runner::{BACK_TO_BACK, Runner};
use crate::{Compared, Spread};

impl Described {
    /// The same with a change; `pass` is the kernel with the fault. `None` if the change is one of the source.
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
            Remedy::LaneFast | Remedy::Source | Remedy::Several => return None,
        }
        Some(changed)
    }

    pub fn observe(
        &self,
        context: &Context,
        machine: &DeviceFacts,
        samples: usize,
    ) -> Result<Observation, DoctorError> {
        let mut runner = Runner::new(context, self, self.options(context))?;
        let (times, timeline) = runner.watch(samples)?;
        let description = &self.description;
        let outputs = description.buffers.iter().filter(|buffer| buffer.output);
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
            outputs: outputs.map(|buffer| buffer.name.clone()).collect(),
            timeline,
            estimated: None,
            estimated_limit: None,
        })
    }

    /// The build options, with those that make the compiler report resources, if it can.
    fn options(&self, context: &Context) -> String {
        let verbose = if context.info().limits_registers() { " -cl-nv-verbose" } else { "" };
        format!("{}{verbose}", self.description.options)
    }

    fn pass(
        &self,
        context: &Context,
        machine: &DeviceFacts,
        runner: &Runner<'_>,
        pass: &PassOf,
        seconds: Spread,
    ) -> Result<Pass, DoctorError> {
        let moved = |moved: &[Moved]| moved.iter().map(|moved| (moved.buffer.clone(), moved.bytes)).collect();
        let bytes_of = |name: &str| {
            let all = pass.reads.iter().chain(&pass.writes);
            all.filter(|moved| moved.buffer == name).map(|moved| moved.bytes).sum()
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
            ..Pass::default()
        })
    }

    fn other_groups(
        &self,
        context: &Context,
        machine: &DeviceFacts,
        pass: &PassOf,
        samples: usize,
    ) -> Result<Vec<OtherGroup>, DoctorError> {
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
            let compared = self.compared(&changed, context, samples, |passes, _| passes[number])?;
            others.push(OtherGroup { size, compared });
        }
        Ok(others)
    }

    /// Runs it with and without a change, alternately. `of` extracts the number to compare from the seconds of the passes and the timeline.
    pub fn compared(
        &self,
        changed: &Self,
        context: &Context,
        samples: usize,
        of: impl Fn(&[f64], &Timeline) -> f64,
    ) -> Result<Compared, DoctorError> {
        let mut runners = [
            Runner::new(context, self, self.options(context))?,
            Runner::new(context, changed, changed.options(context))?,
        ];
        // Each run consists of several, back to back.
        Compared::alternately(samples.div_ceil(BACK_TO_BACK), |is_changed| {
            let (times, timeline) = runners[usize::from(is_changed)].watch(1)?;
            let passes: Vec<f64> = times.iter().map(|spread| spread.median).collect();
            Ok(of(&passes, &timeline))
        })
    }
}

fn without_register_limit(options: &str) -> (String, Option<usize>) {
    const LIMIT: &str = "-cl-nv-maxrregcount=";
    let limit = options.split_whitespace().find_map(|option| option.strip_prefix(LIMIT)?.parse().ok());
    let others: Vec<&str> = options.split_whitespace().filter(|option| !option.starts_with(LIMIT)).collect();
    (others.join(" "), limit)
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
}
