//! `lanefield emit`: where a source goes, and what is refused. What it is: the tests of the library.

use lanefield::kernel::{self, KernelSource};

use super::{Folder, assert_contains, hops, text};

/// The kernels that are written once.
fn bodies() -> Vec<&'static str> {
    let bodies = kernel::all().filter(|kernel| matches!(kernel.source, KernelSource::Body(_)));
    bodies.map(|kernel| kernel.name).collect()
}

#[test]
fn a_source_goes_to_standard_output_or_to_a_file() {
    let folder = Folder::new();
    for name in hops().filter(|name| bodies().contains(name)) {
        let emit = format!("emit --kernel {name} --language c --precision f64");
        let printed = folder.succeeds(&emit);
        assert_contains(&printed, &[&format!("// {name}: "), "double* restrict out", "-ffp-contract=off"]);
        folder.succeeds(&format!("{emit} --output {name}.c"));
        assert_eq!(text(&folder.read(&format!("{name}.c"))), printed);
    }
    let rebuilt = folder.succeeds("emit --kernel staggered_hop --language hip --links 8");
    assert_contains(&rebuilt, &["#include <hip/hip_runtime.h>", "rebuild_two_rows", "coordinates[4 * site"]);
    folder.says("emit --kernel hop --language opencl", &["#define NSIMD 1", "void hop("]);
}

#[test]
fn what_cannot_be_emitted_is_refused_with_what_can() {
    let folder = Folder::new();
    let error = folder.fails(2, "emit --kernel axpy_norm --language cuda");
    let start = "axpy_norm is written by hand in OpenCL C, and is not emitted in cuda: expected opencl, or one of ";
    assert_eq!(error, format!("{start}{}", bodies().join(", ")));
    for name in hops().filter(|name| bodies().contains(name)) {
        let error = folder.fails(2, &format!("emit --kernel {name} --language c --precision half"));
        assert_eq!(error, format!("{name} is not emitted in c for half: expected f32 or f64"));
    }
    let error = folder.fails(2, "emit --kernel wilson_full --language c --output wilson.cu");
    assert!(error.starts_with("--output wilson.cu has the extension of cuda") && error.ends_with(".c"), "{error}");
    folder.misuses("emit --kernel nothing --language c", &["unknown kernel 'nothing'", "one of hop, "]);
    folder.misuses("emit --kernel hop --language rust", &["unknown language 'rust'", "c, cuda or hip"]);
}
