//! Compiles many kernels for many GPUs that need not be present, to see without an AMD GPU where registers run out.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use lanefield::backend::opencl::{OfflineDevice, OfflineKernel};
use lanefield::kernel::Kernel;
use lanefield::prelude::*;
use rayon::prelude::*;
use serde::Serialize;

use super::clang::{Clang, ClangError};
use super::facts::CodeFacts;
use crate::model::{Architecture, Demand, OccupancyError};

/// A kernel for one architecture, and how to build it.
#[derive(Clone, Debug)]
pub struct Subject {
    pub kernel: &'static Kernel,
    pub precision: Precision,
    /// The link format; ignored by kernels that read no links.
    pub links: LinkFormat,
    pub device: OfflineDevice,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Compiled {
    pub kernel: &'static str,
    pub family: &'static str,
    pub precision: Precision,
    /// Reals per link; `None` if it reads no links.
    pub reconstruct: Option<usize>,
    /// Lanes per outer site.
    pub nsimd: usize,
    pub built: OfflineKernel,
    pub code: CodeFacts,
}

impl Compiled {
    pub fn new(
        (kernel, precision, links): (&'static Kernel, Precision, LinkFormat),
        nsimd: usize,
        built: OfflineKernel,
        code: CodeFacts,
    ) -> Self {
        let reconstruct = kernel.reads_links().then_some(links.reals());
        Self { kernel: kernel.name, family: kernel.family, precision, reconstruct, nsimd, built, code }
    }

    /// The demand on a compute unit; `None` if the compiler does not report registers.
    pub fn demand(&self) -> Option<Demand> {
        self.code.demand(self.built.group_size(), self.built.local_bytes)
    }
}

/// A kernel compiled for a GPU that need not be present.
#[derive(Clone, PartialEq, Debug)]
pub struct Surveyed {
    pub architecture: Architecture,
    pub demand: Demand,
    pub compiled: Compiled,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SurveyError {
    #[error(transparent)]
    Plan(#[from] BackendError),
    #[error(transparent)]
    Clang(#[from] ClangError),
    #[error(transparent)]
    Occupancy(#[from] OccupancyError),
    #[error("{compiler} does not report the registers of {kernel}")]
    NoRegisters { compiler: String, kernel: String },
}

/// Compiles all subjects, each program once, with as many in parallel as rayon has threads. `done` is called after each program with the number of
/// programs done, and returns whether to continue. If not, the results are those compiled so far. Results are in the order of the subjects.
pub fn survey(
    clang: &Clang,
    subjects: &[Subject],
    done: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Vec<Surveyed>, SurveyError> {
    let planned: Vec<OfflineKernel> = subjects
        .iter()
        .map(|subject| subject.device.kernel(subject.kernel, subject.precision, subject.links))
        .collect::<Result<_, _>>()?;
    let mut programs: BTreeMap<(&str, &str, &str), Vec<usize>> = BTreeMap::new();
    for (index, (subject, built)) in subjects.iter().zip(&planned).enumerate() {
        let program = (subject.device.info.architecture.as_str(), built.source.as_str(), built.options.as_str());
        programs.entry(program).or_default().push(index);
    }
    let programs: Vec<_> = programs.into_iter().collect();
    let number = programs.len();
    let goes_on = AtomicBool::new(true);
    let compiled = programs.into_par_iter().with_max_len(1).map(|((architecture, source, options), members)| {
        if !goes_on.load(Ordering::Relaxed) {
            return Ok(Vec::new());
        }
        let kernels: Vec<&str> = members.iter().map(|&index| planned[index].kernel).collect();
        let facts = clang.compile_all(&planned[members[0]].file, source, options, architecture, &kernels);
        if !done(number) {
            goes_on.store(false, Ordering::Relaxed);
        }
        facts.map(|facts| members.into_iter().zip(facts).collect::<Vec<_>>())
    });
    let compiled: Vec<Vec<(usize, CodeFacts)>> = compiled.collect::<Result<_, _>>()?;
    let mut facts: Vec<(usize, CodeFacts)> = compiled.into_iter().flatten().collect();
    facts.sort_by_key(|(index, _)| *index);
    let surveyed = facts.into_iter().map(|(index, code)| of(&subjects[index], planned[index].clone(), code));
    surveyed.collect()
}

fn of(subject: &Subject, built: OfflineKernel, code: CodeFacts) -> Result<Surveyed, SurveyError> {
    let architecture = Architecture::find(&subject.device.info.architecture, code.wave)?;
    let nsimd = subject.device.nsimd(subject.precision)?;
    let compiled = Compiled::new((subject.kernel, subject.precision, subject.links), nsimd, built, code);
    let demand = compiled.demand().ok_or_else(|| SurveyError::NoRegisters {
        compiler: compiled.code.compiler.clone(),
        kernel: subject.kernel.to_string(),
    })?;
    Ok(Surveyed { architecture, demand, compiled })
}
