//! Kernels compiled for AMD's GPUs by clang, without a GPU, a driver or ROCm. `cl/offline_amd.clh`, which precedes a kernel's source, defines what
//! AMD's device library would define.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use lanefield::backend::opencl::SourceError;

use super::amd_assembly::kernels;
use super::facts::CodeFacts;
use crate::sources::expand;

/// The names of clang to look for, in this order: versions that support AMD's GPUs from CDNA2 on.
const NAMES: [&str; 8] =
    ["clang-15", "clang-16", "clang-17", "clang-18", "clang-19", "clang-20", "clang", "/opt/rocm/llvm/bin/clang"];

/// The environment variable that names another clang.
const VARIABLE: &str = "LANEFIELD_CLANG";

#[derive(Clone, Debug)]
pub struct Clang {
    program: PathBuf,
    pub version: String,
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClangError {
    #[error(
        "no clang is here that compiles for AMD's GPUs (looked for {looked_for}): install one (Debian and Ubuntu: apt-get install clang-15), \
         or name one in {VARIABLE}"
    )]
    NotFound { looked_for: String },
    #[error("failed to run {program}: {reason}")]
    Run { program: String, reason: String },
    #[error("{program} ({version}) does not compile for {architecture}: {reason}")]
    Architecture { program: String, version: String, architecture: String, reason: String },
    #[error("failed to compile {what} for {architecture}: {reason}")]
    Compile { what: String, architecture: String, reason: String },
    #[error("{what} has no kernel {kernel}: there are {known}")]
    NoSuchKernel { what: String, kernel: String, known: String },
    #[error(
        "{what}, kernel {kernel}: {calls} calls are left in the code ({functions}), so that registers cannot be counted; define what is called in \
         crates/lab/cl/offline_amd.clh"
    )]
    Calls { what: String, kernel: String, calls: usize, functions: String },
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl Clang {
    /// Finds clang: the one in `LANEFIELD_CLANG`, else the first of clang-15 to clang-20, then clang.
    pub fn find() -> Result<Self, ClangError> {
        match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            Some(program) => Self::at(Path::new(&program)),
            None => NAMES
                .iter()
                .find_map(|name| Self::at(Path::new(name)).ok())
                .ok_or_else(|| ClangError::NotFound { looked_for: NAMES.join(", ") }),
        }
    }

    /// Uses the clang at this path, or with this name on the search path.
    pub fn at(program: &Path) -> Result<Self, ClangError> {
        let output = Command::new(program).arg("--version").stderr(Stdio::null()).output();
        let version = output.ok().filter(|output| output.status.success()).and_then(|output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.lines().next().map(|line| line.trim().to_owned())
        });
        match version {
            Some(version) => Ok(Self { program: program.to_owned(), version }),
            None => Err(ClangError::NotFound { looked_for: program.display().to_string() }),
        }
    }

    pub fn compile(
        &self,
        what: &str,
        source: &str,
        options: &str,
        architecture: &str,
        kernel: &str,
    ) -> Result<CodeFacts, ClangError> {
        let mut facts = self.compile_all(what, source, options, architecture, &[kernel])?;
        Ok(facts.swap_remove(0))
    }

    /// The facts of each of the `wanted` kernels, in this order, from an OpenCL C source that is compiled once. Options that are specific to other
    /// compilers are an error of the caller.
    ///
    /// gfx942 needs clang 17; older versions compile it as gfx940, and [`CodeFacts::target`] says so.
    pub(crate) fn compile_all(
        &self,
        what: &str,
        source: &str,
        options: &str,
        architecture: &str,
        wanted: &[&str],
    ) -> Result<Vec<CodeFacts>, ClangError> {
        let source = format!("{}\n{source}", expand("offline_amd.clh")?);
        let (assembly, target) = match self.assembly(what, &source, options, architecture) {
            Err(ClangError::Architecture { .. }) if architecture == "gfx942" => {
                (self.assembly(what, &source, options, "gfx940")?, "gfx940, for gfx942")
            }
            result => (result?, architecture),
        };
        let all = kernels(&assembly, target, &self.version);
        let of_name = |&kernel: &&str| {
            let Some(facts) = all.iter().find(|facts| facts.kernel == kernel) else {
                let known = all.iter().map(|facts| facts.kernel.as_str()).collect::<Vec<_>>().join(", ");
                return Err(ClangError::NoSuchKernel { what: what.to_owned(), kernel: kernel.to_owned(), known });
            };
            let calls = facts.counts.as_ref().map_or(0, |counts| counts.calls);
            if calls == 0 {
                return Ok(facts.clone());
            }
            let functions = assembly.lines().filter_map(|line| line.trim().strip_prefix(".hidden\t"));
            let functions = functions.collect::<Vec<_>>().join(", ");
            Err(ClangError::Calls { what: what.to_owned(), kernel: kernel.to_owned(), calls, functions })
        };
        wanted.iter().map(of_name).collect()
    }

    /// The diagnostics of clang for a program and a target (its name, and the arguments that select it), each with its position: errors, and the
    /// warnings that `arguments` enable. No code is generated.
    ///
    /// # Errors
    /// [`ClangError::Architecture`] if clang does not know the target.
    pub fn faults(
        &self,
        source: &str,
        options: &str,
        (target, arguments): (&str, &[&str]),
    ) -> Result<Vec<String>, ClangError> {
        let output = self.output(source, options, target, &[&["-fsyntax-only"], arguments].concat())?;
        let said = String::from_utf8_lossy(&output.stderr);
        let is_fault = |line: &&str| ["error: ", "warning: "].iter().any(|kind| line.contains(kind));
        let faults: Vec<String> = said.lines().filter(is_fault).map(str::to_owned).collect();
        let is_silent = faults.is_empty() && !output.status.success();
        Ok(if is_silent { vec![format!("it ended with {}", output.status)] } else { faults })
    }

    fn assembly(&self, what: &str, source: &str, options: &str, architecture: &str) -> Result<String, ClangError> {
        let processor = format!("-mcpu={architecture}");
        let arguments = ["-target", "amdgcn-amd-amdhsa", "-nogpulib", "-O3", "-S", "-o", "-", &processor];
        let output = self.output(source, options, architecture, &arguments)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let reason = reason(&String::from_utf8_lossy(&output.stderr));
        Err(ClangError::Compile { what: what.to_owned(), architecture: architecture.to_owned(), reason })
    }

    fn output(&self, source: &str, options: &str, target: &str, arguments: &[&str]) -> Result<Output, ClangError> {
        let run = |reason: std::io::Error| ClangError::Run {
            program: self.program.display().to_string(),
            reason: reason.to_string(),
        };
        let mut child = Command::new(&self.program)
            .args(["-x", "cl"])
            .args(arguments)
            .args(options.split_whitespace())
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(run)?;
        // A compiler that fails early closes its input; its message is then the reason.
        let _ = child.stdin.take().map(|mut input| input.write_all(source.as_bytes()));
        let output = child.wait_with_output().map_err(run)?;
        let said = String::from_utf8_lossy(&output.stderr);
        let of_target = ["invalid target ID", "unknown target", "unsupported argument", "unable to create target"];
        if !output.status.success() && of_target.iter().any(|text| said.contains(text)) {
            let (program, version) = (self.program.display().to_string(), self.version.clone());
            let reason = reason(&said);
            return Err(ClangError::Architecture { program, version, architecture: target.to_owned(), reason });
        }
        Ok(output)
    }
}

fn reason(said: &str) -> String {
    said.lines().find(|line| line.contains("error:")).unwrap_or("it gave no reason").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_that_is_not_there_is_named_with_how_to_get_one() {
        let error = Clang::at(Path::new("/nonexistent/clang")).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/clang") && error.contains("apt-get install clang-15"), "{error}");
    }
}
