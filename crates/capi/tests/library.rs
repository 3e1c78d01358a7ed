//! The libraries as they are installed: what they export, and under which version.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::{package, run};

/// An installation of the static library that cargo built with these tests, made once a process.
pub struct Installed {
    folder: PathBuf,
}

impl Installed {
    pub fn lib(&self) -> PathBuf {
        self.folder.join("lib")
    }
    pub fn include(&self) -> PathBuf {
        self.folder.join("include")
    }
}

/// The static library that cargo built with these tests, in the same directory. Like theirs, its name has a hash there.
fn archive() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let files = program.parent().unwrap().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let is_archive = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("liblanefield_capi") && name.ends_with(".a")
    };
    // Others are of earlier builds.
    let newest = files.filter(is_archive).max_by_key(|path| path.metadata().unwrap().modified().unwrap());
    newest.unwrap_or_else(|| panic!("there is no static library near {}", program.display()))
}

static INSTALLED: LazyLock<Installed> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi");
    let script = package().join("../../scripts/install_capi");
    run(Command::new(script).arg(&folder).env("LANEFIELD_CAPI_ARCHIVE", archive()));
    Installed { folder }
});

pub fn installed() -> &'static Installed {
    &INSTALLED
}

/// The functions that the header declares.
fn declared() -> Vec<String> {
    let header = std::fs::read_to_string(package().join("include/lanefield.h")).unwrap();
    let names = header.lines().filter(|line| !line.starts_with([' ', '*', '/', '#'])).flat_map(|line| {
        let (before, _) = line.split_once('(')?;
        let name = before.rsplit([' ', '*']).next()?;
        (name.starts_with("lf_") && !line.starts_with("typedef")).then(|| name.to_owned())
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn the_shared_library_exports_the_functions_of_the_header_with_their_version_and_nothing_else() {
    let library = installed().lib().join("liblanefield.so");
    let listed = run(Command::new("nm").args(["--dynamic", "--defined-only", "--with-symbol-versions"]).arg(&library));
    let mut exported: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    exported.retain(|name| *name != "LANEFIELD_0.1");
    exported.sort_unstable();
    let expected: Vec<String> = declared().into_iter().map(|name| format!("{name}@@LANEFIELD_0.1")).collect();
    assert!(expected.len() > 40, "{expected:?}");
    assert_eq!(exported, expected);
}

#[test]
fn the_shared_library_has_a_name_with_its_major_version() {
    let library = installed().lib().join("liblanefield.so");
    let told = run(Command::new("objdump").arg("-p").arg(&library));
    assert!(told.lines().any(|line| line.split_whitespace().eq(["SONAME", "liblanefield.so.0"])), "{told}");
    // OpenCL is loaded where it is there, not needed.
    assert!(!told.contains("libOpenCL"), "{told}");
    assert!(std::fs::canonicalize(library).unwrap().ends_with("liblanefield.so.0.1.0"));
}

#[test]
fn pkg_config_tells_where_all_is() {
    if !crate::is_there("pkg-config") {
        return;
    }
    let path = installed().lib().join("pkgconfig");
    let told = run(Command::new("pkg-config").args(["--cflags", "--libs", "lanefield"]).env("PKG_CONFIG_PATH", &path));
    let of = |flag: &str, path: &Path| format!("{flag}{}", path.display());
    let expected = [of("-I", &installed().include()), of("-L", &installed().lib()), "-llanefield".to_owned()];
    assert_eq!(told.split_whitespace().collect::<Vec<_>>(), expected);
    let version = run(Command::new("pkg-config").args(["--modversion", "lanefield"]).env("PKG_CONFIG_PATH", &path));
    assert_eq!(version.trim(), env!("CARGO_PKG_VERSION"));
}
