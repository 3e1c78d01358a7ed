//! `include/lanefield.h` is what cbindgen writes from the sources.

use std::fs;

use crate::package;

/// The sources in the order in which the header has them.
const SOURCES: [&str; 11] =
    ["status", "device", "context", "configuration", "operator", "check", "sum", "source", "solve", "field", "golden"];

fn header() -> String {
    let config = cbindgen::Config::from_file(package().join("cbindgen.toml")).unwrap();
    let sources = SOURCES.iter().map(|name| package().join(format!("src/{name}.rs")));
    let builder = sources.fold(cbindgen::Builder::new().with_config(config), |builder, path| builder.with_src(path));
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn the_header_is_that_of_the_sources() {
    let path = package().join("include/lanefield.h");
    let header = header();
    if std::env::var("LANEFIELD_UPDATE_DATA").is_ok_and(|value| value == "1") {
        fs::write(&path, &header).unwrap();
        return;
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let differs = committed.lines().zip(header.lines()).position(|(a, b)| a != b);
    assert!(
        committed == header,
        "{} is not what cbindgen writes, from line {} on: LANEFIELD_UPDATE_DATA=1 cargo test -p lanefield-capi header",
        path.display(),
        differs.unwrap_or_else(|| committed.lines().count().min(header.lines().count())) + 1
    );
}

/// The body of the function that a text begins with, up to the brace at the start of a line.
fn body(text: &str) -> &str {
    text.split("\n}\n").next().unwrap_or(text)
}

#[test]
fn every_function_that_is_exported_is_declared_and_lets_no_panic_out() {
    let header = header();
    for path in fs::read_dir(package().join("src")).unwrap().map(|entry| entry.unwrap().path()) {
        let source = fs::read_to_string(&path).unwrap();
        for function in source.split("#[unsafe(no_mangle)]").skip(1) {
            let name = function.split("fn ").nth(1).unwrap().split('(').next().unwrap();
            assert!(header.contains(&format!("{name}(")), "{name} of {} is not in the header", path.display());
            // By itself, or by the one function that it calls; these two compute nothing that could.
            let is_guarded = |text: &str| text.contains("guarded(") || text.contains("quietly(");
            let called =
                body(function).rsplit("unsafe { ").next().and_then(|call| call.split('(').next()).unwrap_or("");
            let helper = source.split(&format!("unsafe fn {called}")).nth(1).map_or("", body);
            let computes_nothing = ["lf_status_name", "lf_version"].contains(&name);
            assert!(is_guarded(body(function)) || is_guarded(helper) || computes_nothing, "{name} lets panics out");
        }
    }
}
