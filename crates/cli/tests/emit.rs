//! `lanefield emit`: where a source goes, and what is refused. What it is: the tests of the library.

use super::{Folder, assert_contains, text};

#[test]
fn a_source_goes_to_standard_output_or_to_a_file() {
    let folder = Folder::new();
    let printed = folder.succeeds("emit --kernel laplace_hop --language c --precision f64");
    assert_contains(&printed, &["// laplace_hop: ", "double* restrict out", "-ffp-contract=off"]);
    folder.succeeds("emit --kernel laplace_hop --language c --precision f64 --output laplace.c");
    assert_eq!(text(&folder.read("laplace.c")), printed);
    let rebuilt = folder.succeeds("emit --kernel staggered_hop --language hip --links 8");
    assert_contains(&rebuilt, &["#include <hip/hip_runtime.h>", "rebuild_two_rows", "coordinates[4 * site"]);
    folder.says("emit --kernel hop --language opencl", &["#define NSIMD 1", "void hop("]);
}

#[test]
fn what_cannot_be_emitted_is_refused_with_what_can() {
    let folder = Folder::new();
    let error = folder.fails(2, "emit --kernel axpy_norm --language cuda");
    let start = "axpy_norm is written by hand in OpenCL C, and is not emitted in cuda: expected opencl, or one of ";
    assert!(error.starts_with(start) && error.contains("laplace_hop, laplace_full, "), "{error}");
    let error = folder.fails(2, "emit --kernel laplace_hop --language c --precision half");
    assert_eq!(error, "laplace_hop is not emitted in c for half: expected f32 or f64");
    let error = folder.fails(2, "emit --kernel laplace_hop --language c --output laplace.cu");
    assert!(error.starts_with("--output laplace.cu ends as files of cuda do") && error.ends_with(".c"), "{error}");
    folder.misuses("emit --kernel nothing --language c", &["unknown kernel 'nothing'", "laplace_hop"]);
    folder.misuses("emit --kernel hop --language rust", &["unknown language 'rust'", "c, cuda or hip"]);
}
