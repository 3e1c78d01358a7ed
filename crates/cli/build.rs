//! What is known of a build when it is made, as environment variables for `src/build_facts.rs`. A build outside a git checkout, or without git,
//! works as any other: what cannot be found is `unknown`.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    println!("cargo::rerun-if-changed=build.rs");
    let commit = packaged_commit(package).or_else(|| checked_out_commit(package));
    println!("cargo::rustc-env=LANEFIELD_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    // Of the commit, not of the build: a build is the same whenever it is made.
    let date = commit.and_then(|commit| git(package, &["show", "--no-patch", "--format=%cs", &commit]));
    println!("cargo::rustc-env=LANEFIELD_COMMIT_DATE={}", date.as_deref().unwrap_or("unknown"));
    let of_cargo = |name: &str| env::var(name).unwrap_or_else(|_| "unknown".to_owned());
    for name in ["TARGET", "OPT_LEVEL", "CARGO_CFG_TARGET_FEATURE"] {
        println!("cargo::rustc-env=LANEFIELD_{}={}", name.trim_start_matches("CARGO_CFG_"), of_cargo(name));
    }
    let rustc = Command::new(of_cargo("RUSTC")).arg("--version").output().ok();
    let rustc = rustc.and_then(|output| String::from_utf8(output.stdout).ok());
    println!("cargo::rustc-env=LANEFIELD_RUSTC={}", rustc.as_deref().map_or("unknown", str::trim));
}

/// The commit that cargo wrote into the package, if this is one.
fn packaged_commit(package: &Path) -> Option<String> {
    let path = package.join(".cargo_vcs_info.json");
    let text = fs::read_to_string(&path).ok()?;
    println!("cargo::rerun-if-changed={}", path.display());
    let hash = text.split_once("\"sha1\"")?.1.split('"').nth(1)?;
    is_hash(hash).then(|| hash.to_owned())
}

/// The commit of the checkout that the workspace is, if it is one: a repository further up is another project's.
fn checked_out_commit(package: &Path) -> Option<String> {
    let workspace = package.parent()?.parent()?;
    if !workspace.join(".git").exists() {
        return None;
    }
    // The commit changes with the file HEAD, or with the branch that it names, which may be among the packed ones.
    let branch = git(workspace, &["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        if let Some(path) = git(workspace, &["rev-parse", "--git-path", name]) {
            let path = workspace.join(path);
            // Cargo builds anew each time where a file is named that does not exist.
            if path.exists() {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
    }
    git(workspace, &["rev-parse", "HEAD"]).filter(|hash| is_hash(hash))
}

/// What a git command prints, if it succeeds.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

fn is_hash(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
