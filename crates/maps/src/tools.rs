//! Maps as tools use them: the program of `lanefield_cli::toolbox` compares, times, tunes and translates them.

use lanefield::backend::opencl::expand_with;
use lanefield::backend::{BackendError, Cpu};
use lanefield::body::program::Program;
use lanefield::dynamic::{AnyBackend, Compared, Here, IndexKernel, PreparedLaunch};
use lanefield::emit::{Dialect, EmitError};
use lanefield_reference::exact;

use super::arguments::kernel_name;
use super::c;
use super::error::MapError;
use super::kernel::{MapKernel, MapOptions};
use super::launch::MapBackend;
use super::opencl::{Form, Walk, kernel_text};
use super::program::PointLanguage;
use super::role::MapRole;
use super::trial::{MapComparison, Trial, compare, ways};

/// The key of the random numbers on which maps are timed.
const KEY: u64 = 1;
/// The greatest work-group size on the CPU reference, which does not have work-groups.
const ANY_GROUP: usize = 1024;

fn failed(error: MapError) -> BackendError {
    match error {
        MapError::Backend(error) => error,
        other => BackendError::device(other),
    }
}

impl MapKernel {
    fn options(&self, backend: &AnyBackend) -> Vec<MapOptions> {
        let most_items = match backend.here() {
            Here::Cpu(_) => ANY_GROUP,
            Here::OpenCl(device) => device.context().info().max_work_group_size,
        };
        ways(self, self.cases.last().map_or(0, |case| case.range.len()), most_items)
    }

    /// The number of dimensions of the index space for which the source is written.
    fn rank(&self, program: &Program<PointLanguage>) -> usize {
        program.needs.rank.or(self.cases.last().map(|case| case.range.len())).unwrap_or(1)
    }

    /// The OpenCL C source with everything that it includes, for one work-item for each point, or one work-group for each block.
    fn opencl(&self) -> Result<String, EmitError> {
        let program = self.program()?;
        let (tile, block) = (self.options.tile, self.options.block.or(program.needs.block));
        let form = Form { walk: Walk::Each(tile), rank: self.rank(&program), guarded: false, tracked: Vec::new() };
        let text = kernel_text(self, &program, &form)?;
        let file = format!("{}.cl", kernel_name(self.name));
        let expanded = expand_with(&[(&file, &text)], &file).map_err(BackendError::device)?;
        let groups = match block {
            Some([z, y, x]) => format!("Groups of {x} x {y} x {z} work-items"),
            None => "Groups of any size".to_owned(),
        };
        let mut emitted = format!(
            "// Written by Lanefield {}, with all that it includes. Build with:\n//   -cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt -DEXACT_LIMBS={}\n\
             // No -cl-fast-relaxed-math, nor any part of it. {groups}; the last dimension is the first of the device. No index may lie beyond its array.\n",
            env!("CARGO_PKG_VERSION"),
            exact::LIMBS,
        );
        // Places in files that a reader does not have.
        emitted.extend(expanded.lines().filter(|line| !line.starts_with("#line ")).map(|line| format!("{line}\n")));
        Ok(emitted)
    }

    fn prepared<'b, B: MapBackend>(
        &'static self,
        options: MapOptions,
        backend: &'b B,
    ) -> Result<PreparedLaunch<'b>, BackendError> {
        let trial = Trial::new(self, self.cases.len().saturating_sub(1), KEY, backend).map_err(failed)?;
        let bytes = trial.bytes();
        let launch = Box::new(move || trial.launch(backend, options).map(drop).map_err(failed));
        Ok(PreparedLaunch { bytes, launch })
    }
}

/// The last case is the one that is timed.
impl IndexKernel for MapKernel {
    fn name(&'static self) -> &'static str {
        self.name
    }
    fn computes(&'static self) -> &'static str {
        self.computes
    }

    fn ways(&'static self, backend: &AnyBackend) -> Vec<String> {
        self.options(backend).iter().map(ToString::to_string).collect()
    }

    fn compare(&'static self, key: u64, cpu: &Cpu, backend: &AnyBackend) -> Result<Compared, BackendError> {
        let found = match backend.here() {
            Here::Cpu(other) => compare(self, key, (cpu, other), ANY_GROUP),
            Here::OpenCl(device) => compare(self, key, (cpu, device), device.context().info().max_work_group_size),
        };
        let MapComparison { launches, numbers, mismatches } = found.map_err(failed)?;
        let differences = mismatches.iter().map(ToString::to_string).collect();
        Ok(Compared { launches: launches as u64, numbers, differences })
    }

    fn prepare<'b>(&'static self, way: usize, backend: &'b AnyBackend) -> Result<PreparedLaunch<'b>, BackendError> {
        let options = self.options(backend).get(way).copied().unwrap_or(self.options);
        match backend.here() {
            Here::Cpu(cpu) => self.prepared(options, cpu),
            Here::OpenCl(device) => self.prepared(options, device),
        }
    }

    fn source(&'static self, language: Dialect) -> Result<String, EmitError> {
        match language {
            Dialect::OpenCl => self.opencl(),
            _ => {
                let program = self.program()?;
                Ok(c::kernel_text(self, &program, self.rank(&program), language)?)
            }
        }
    }

    fn remarks(&'static self, _: &AnyBackend) -> Result<Vec<String>, BackendError> {
        let program = self.program().map_err(BackendError::device)?;
        let cpu = Cpu::new(None)?;
        let trial = Trial::new(self, self.cases.len().saturating_sub(1), KEY, &cpu).map_err(failed)?;
        let bounds = trial.bounds(&program);
        let mut remarks = Vec::new();
        if bounds.guarded {
            remarks.push(
                "indices are checked on the device, and the host waits for the result: it cannot be seen before the launch that they lie inside; \
                 index by sums of multiples of the point, or by `at_or` and `write_inside`"
                    .to_owned(),
            );
        }
        if let Some(&argument) = bounds.tracked.first() {
            remarks.push(format!(
                "each write to {} needs one more atomic operation, to detect elements that two points write: give each point its own elements",
                self.names[argument]
            ));
        }
        if self.roles.iter().any(|role| matches!(role, MapRole::ExactSum | MapRole::Fold(..))) {
            remarks.push("the host waits for the numbers that the map returns".to_owned());
        }
        Ok(remarks)
    }
}
