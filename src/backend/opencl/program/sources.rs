//! The OpenCL C sources of `cl/`, embedded in the library. Their `#include`s are resolved here, since a driver cannot see the files.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::backend::opencl::device::{DeviceInfo, SourceError};

/// The files of `cl/`.
static SOURCES: include_dir::Dir<'_> = include_dir::include_dir!("$CARGO_MANIFEST_DIR/cl");

/// The files of `cl/` with their names.
fn files<'a>() -> impl Iterator<Item = (&'a str, &'a str)> {
    SOURCES.files().filter_map(|file| Some((file.path().to_str()?, file.contents_utf8()?)))
}

/// The source of a program: a file of `cl/`, or a text with its own files, which may include those of `cl/`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Source {
    /// The name of the file.
    pub file: String,
    /// Files in addition to those of `cl/`, each with its text. They override files of the same name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<(String, String)>,
    /// The kernel that is needed. Others in the file are omitted, since a driver compiles everything that it receives. `None`: all kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
}

impl Source {
    /// A file of `cl/`.
    pub fn of_library(file: impl Into<String>) -> Self {
        Self { file: file.into(), own: Vec::new(), kernel: None }
    }

    /// The same source with only this kernel.
    pub(crate) fn of_kernel(self, kernel: impl Into<String>) -> Self {
        Self { kernel: Some(kernel.into()), ..self }
    }

    /// A text as a file of this name.
    pub fn written(file: impl Into<String>, text: String) -> Self {
        let file = file.into();
        Self { own: vec![(file.clone(), text)], file, kernel: None }
    }
}

/// The source `file` with every `#include "name"` replaced by that file.
///
/// Each file is included once; headers thus need no guards. Includes must be outside of `#if`. `#line` directives let build errors name the
/// file and its line. Files are those of `more`, each with its name, and those of this library. If two have the same name, the one of
/// `more` is used.
///
/// # Errors
/// If a file does not exist; the error names the place of the include.
pub fn expand_with(more: &[(&str, &str)], file: &str) -> Result<String, SourceError> {
    expand_from(&more.iter().copied().chain(files()).collect::<Vec<_>>(), file)
}

/// A source in the form that suits a device's compiler and the build options.
///
/// The form of the pragma for unrolling differs. If a loop that indexes an array still exists when LLVM's AMDGPU backend allocates
/// registers, the array stays in memory. The trip count of some loops is known only after their function is inlined. Such a loop is
/// unrolled if it is marked for full unrolling; with `#pragma unroll`, LLVM tries too early, and drops the pragma. (The Wilson hop in f64
/// on gfx90a, clang 15: 1500 bytes of private memory for each work-item, and none with the other pragma.)
///
/// Similarly, PoCL keeps a copy of such an array for each work-item of a group. If work-items have vectors of all lanes, hops take half as
/// long or less with the other pragma. No bit of any result depends on it.
pub(crate) fn expand_for(device: &DeviceInfo, source: &Source, options: &str) -> Result<String, SourceError> {
    let own: Vec<(&str, &str)> = source.own.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let text = expand_with(&own, &source.file)?;
    let source = match &source.kernel {
        Some(kernel) => without_others(&text, kernel),
        None => text,
    };
    Ok(match device.architecture.starts_with("gfx") || options.contains("-DLANE_VECTORS") {
        true => source.replace("#pragma unroll\n", "#pragma clang loop unroll(full)\n"),
        false => source,
    })
}

/// Removes all kernels except `kernel` from a text, leaving empty lines. The first line of a kernel contains its name, and begins with a
/// word that ends in `kernel`, in upper or lower case. A line with only a brace ends it.
fn without_others(text: &str, kernel: &str) -> String {
    let name = |line: &str| -> Option<String> {
        let (word, rest) = line.split_once(' ')?;
        let is_kernel = word.to_ascii_lowercase().ends_with("kernel") && !word.starts_with('#');
        let (_, rest) = rest.split_once("void ").filter(|_| is_kernel)?;
        rest.split_once('(').map(|(name, _)| name.to_owned())
    };
    let mut output = String::with_capacity(text.len());
    let mut left_out = false;
    for line in text.lines() {
        left_out |= name(line).is_some_and(|name| name != kernel);
        if !left_out {
            output.push_str(line);
        }
        output.push('\n');
        left_out &= line != "}";
    }
    output
}

fn expand_from(files: &[(&str, &str)], file: &str) -> Result<String, SourceError> {
    let text =
        find(files, file).ok_or_else(|| SourceError::NoSuchFile { file: file.to_owned(), known: names(files) })?;
    let mut output = String::new();
    append(files, file, text, &mut HashSet::from([file.to_owned()]), &mut output)?;
    Ok(output)
}

fn append(
    files: &[(&str, &str)],
    file: &str,
    text: &str,
    included: &mut HashSet<String>,
    output: &mut String,
) -> Result<(), SourceError> {
    let position = |output: &mut String, line: usize| *output += &format!("#line {line} \"{file}\"\n");
    position(output, 1);
    for (index, line) in text.lines().enumerate() {
        let Some(name) = included_name(line) else {
            output.push_str(line);
            output.push('\n');
            continue;
        };
        let number = index + 1;
        let header = find(files, name).ok_or_else(|| SourceError::NoSuchInclude {
            file: file.to_owned(),
            line: number,
            included: name.to_owned(),
            known: names(files),
        })?;
        if included.insert(name.to_owned()) {
            append(files, name, header, included, output)?;
            position(output, number + 1);
        } else {
            output.push('\n');
        }
    }
    Ok(())
}

fn included_name(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    rest.strip_prefix('"')?.split_once('"').map(|(name, _)| name)
}

fn find<'a>(files: &[(&str, &'a str)], file: &str) -> Option<&'a str> {
    files.iter().find(|(name, _)| *name == file).map(|(_, text)| *text)
}

fn names(files: &[(&str, &str)]) -> String {
    files.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &[(&str, &str)] = &[
        ("hop.cl", "// hop\n#include \"su3.clh\"\n#include \"complex.clh\"\nkernel\n"),
        ("su3.clh", "#include \"complex.clh\"\nsu3\n"),
        ("complex.clh", "complex\n"),
        ("loop.clh", "# include \"loop.clh\"\nonce\n"),
        ("bad.cl", "\n#include \"gone.clh\"\n"),
    ];

    #[test]
    fn includes_are_expanded_once_and_lines_are_numbered() {
        let expected = "#line 1 \"hop.cl\"\n// hop\n#line 1 \"su3.clh\"\n#line 1 \"complex.clh\"\ncomplex\n\
                        #line 2 \"su3.clh\"\nsu3\n#line 3 \"hop.cl\"\n\nkernel\n";
        assert_eq!(expand_from(SAMPLE, "hop.cl").unwrap(), expected);
    }

    #[test]
    fn a_file_that_includes_itself_ends() {
        assert_eq!(expand_from(SAMPLE, "loop.clh").unwrap(), "#line 1 \"loop.clh\"\n\nonce\n");
    }

    #[test]
    fn an_unknown_include_is_named_with_its_place() {
        let message = expand_from(SAMPLE, "bad.cl").unwrap_err().to_string();
        assert!(message.starts_with("bad.cl:2: gone.clh is included, but"), "{message}");
        let message = expand_from(SAMPLE, "none.cl").unwrap_err().to_string();
        assert!(message.contains("none.cl is not among") && message.contains("complex.clh"), "{message}");
    }

    #[test]
    fn amd_gpus_and_vectors_are_unrolled_wholly_and_lines_stay_where_they_are() {
        let device = |architecture: &str| DeviceInfo {
            architecture: architecture.into(),
            ..crate::backend::opencl::device::testing::device("GPU")
        };
        let hop =
            |name: &str, options: &str| expand_for(&device(name), &Source::of_library("hop.cl"), options).unwrap();
        let [plain, amd, nvidia] = ["", "gfx90a", "sm_90"].map(|name| hop(name, ""));
        assert_eq!(hop("", "-DNSIMD=8 -DLANE_VECTORS"), amd);
        assert_eq!((plain.clone(), plain.lines().count()), (nvidia, amd.lines().count()));
        assert_eq!(amd.matches("loop unroll(full)").count(), plain.matches("#pragma unroll").count());
        assert!(!amd.contains("#pragma unroll"));
    }

    #[test]
    fn of_one_kernel_the_others_are_left_out_and_lines_stay_where_they_are() {
        let device = crate::backend::opencl::device::testing::device("GPU");
        for (file, kernels) in [
            ("hop.cl", &["hop", "hop_dagger", "hop_many", "hop_many_dagger"][..]),
            ("clover.cl", &["clover_apply", "eo_clover", "oe_clover_many_dagger"]),
            ("reduce.cl", &["norm2", "inner_products", "sum", "slice_sums", "pack", "finish"]),
            ("rhs.cl", &["rhs_products", "rhs_gram", "rhs_madd", "put_rhs", "take_rhs"]),
            ("domain_wall.cl", &["s_tridiagonal", "s_tridiagonal_add", "s_sweep", "s_dense"]),
            ("clover_term.cl", &["field_strength", "clover_term", "clover_inverse", "pick_checkerboard"]),
            ("blas.cl", &["axpy_norm", "axpby_norm"]),
        ] {
            let all = expand_for(&device, &Source::of_library(file), "").unwrap();
            for kernel in kernels {
                let alone = expand_for(&device, &Source::of_library(file).of_kernel(*kernel), "").unwrap();
                let there = |text: &str, name: &str| text.contains(&format!("void {name}("));
                assert!(
                    kernels.iter().all(|name| there(&all, name) && there(&alone, name) == (name == kernel)),
                    "{kernel}"
                );
                assert_eq!(alone.lines().count(), all.lines().count());
                assert_eq!(alone.matches('{').count(), alone.matches('}').count(), "{kernel}");
                let kept = all.lines().zip(alone.lines()).all(|(all, alone)| alone.is_empty() || all == alone);
                assert!(kept, "{kernel}");
            }
        }
    }

    #[test]
    fn files_of_the_caller_include_those_of_the_library() {
        let more = [("mine.cl", "#include \"mine.clh\"\n#include \"complex.clh\"\n"), ("mine.clh", "mine\n")];
        let source = expand_with(&more, "mine.cl").unwrap();
        assert!(source.starts_with("#line 1 \"mine.cl\"\n#line 1 \"mine.clh\"\nmine\n"), "{source}");
        assert!(source.contains("#line 1 \"complex.clh\""), "{source}");
        let message = expand_with(&more[..1], "mine.cl").unwrap_err().to_string();
        assert!(message.starts_with("mine.cl:1: mine.clh is included, but") && message.contains("hop.cl"), "{message}");
    }

    #[test]
    fn every_embedded_file_expands() {
        for (file, _) in files() {
            expand_with(&[], file).unwrap();
        }
    }
}
