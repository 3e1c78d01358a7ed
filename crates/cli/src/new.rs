//! `lanefield new`: creates a crate for your own kernels, with one kernel that builds, passes its tests and is timed.

use std::fs;
use std::process::{Command, Stdio};

use lanefield::io::atomic::write_atomically;

use super::files::{failed_to_write, replaces, require_outputs};
use super::output::print;
use crate::prelude::*;

/// The files of such a crate. `NAME` is its name, `CRATE` its name in Rust, and `@LANEFIELD@` and `@LANEFIELD_CLI@` the places of the packages.
const FILES: [(&str, &str); 6] = [
    (".gitignore", include_str!("new/gitignore.txt")),
    ("Cargo.toml", include_str!("new/Cargo.toml.txt")),
    ("src/lib.rs", include_str!("new/lib.rs.txt")),
    ("src/main.rs", include_str!("new/main.rs.txt")),
    ("tests/twins.rs", include_str!("new/twins.rs.txt")),
    ("benches/kernels.rs", include_str!("new/bench.rs.txt")),
];

const KERNEL: &str = "covariant_sum";

/// Create a crate for kernels of your own.
///
/// It contains one kernel with its reference implementation, tests and benchmark, and the tools for it.
///
/// Replace the kernel with yours. In the new folder, `cargo test` compares it with its reference implementation and with an OpenCL device. `cargo run
/// -- verify`, `bench`, `tune` and `doctor` are the tools, and `cargo bench` times it.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield new my-kernels
  lanefield new kernels/staple")]
pub struct New {
    /// Folder to create: its last part is the name of the crate
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Folder of Lanefield's sources [default: those that this program was built from, if they exist; else the released version]
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
}

impl New {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let name = name_of(&self.folder)?;
        let source = self.source()?;
        let packages = packages(source.as_deref())?;
        let files = FILES.map(|(file, text)| {
            let text = text.replace("NAME", name).replace("CRATE", &name.replace('-', "_"));
            (self.folder.join(file), packages.iter().fold(text, |text, (what, place)| text.replace(what, place)))
        });
        let is_empty = fs::read_dir(&self.folder).map_or(!self.folder.exists(), |mut entries| entries.next().is_none());
        ensure!(
            is_empty || (self.folder.is_dir() && replaces()),
            "{} already exists{}",
            self.folder.display(),
            if self.folder.is_dir() { ", and is not empty; --force writes into it" } else { ", and is not a folder" }
        );
        for (path, _) in &files {
            let folder = path.parent().unwrap_or(&self.folder);
            fs::create_dir_all(folder).with_context(|| format!("failed to make the folder {}", folder.display()))?;
        }
        let outputs: Vec<(&str, &Path)> = files.iter().map(|(path, _)| ("DIR", path.as_path())).collect();
        require_outputs(&outputs, &[])?;
        for (path, text) in &files {
            write_atomically(path, |out| out.write_all(text.as_bytes()))?;
        }
        if let Some(source) = &source {
            self.lock(source)?;
        }
        print(format!(
            "{name}: the kernel is in {}; in {}\n  cargo test             compares it with its scalar reference, and a device with the CPU\n  \
             cargo run -- verify    compares a device with the CPU, bit for bit\n  cargo bench            times it",
            self.folder.join("src/lib.rs").display(),
            self.folder.display()
        ))?;
        Ok(Outcome::Done)
    }

    /// The folder with the sources of Lanefield; `None` for the released version.
    fn source(&self) -> anyhow::Result<Option<PathBuf>> {
        let has_sources = |folder: &Path| folder.join("crates/cli/Cargo.toml").is_file();
        match &self.source {
            Some(source) => ensure!(
                has_sources(source),
                "--source {} has no sources of Lanefield: expected the folder with its Cargo.toml, src and crates",
                source.display()
            ),
            None => {
                let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
                return Ok(Some(built_from).filter(|folder| has_sources(folder)));
            }
        }
        Ok(self.source.clone())
    }

    /// Locks the versions of dependencies that Lanefield itself is built with.
    fn lock(&self, source: &Path) -> anyhow::Result<()> {
        let (from, to) = (source.join("Cargo.lock"), self.folder.join("Cargo.lock"));
        if from.is_file() {
            fs::copy(&from, &to).with_context(|| failed_to_write(&to))?;
            // Removes the packages that this crate does not need. Without cargo or its index, the next build does it.
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let mut update = Command::new(cargo);
            update.args(["update", "--workspace", "--offline", "--quiet"]).current_dir(&self.folder);
            let _ = update.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
        Ok(())
    }
}

/// The placeholders of the packages, and their places.
fn packages(source: Option<&Path>) -> anyhow::Result<[(&'static str, String); 2]> {
    let version = env!("CARGO_PKG_VERSION");
    let place = |package: &str| {
        let Some(source) = source else { return Ok(format!("version = \"{version}\"")) };
        let folder = source.join(package);
        let folder = folder.canonicalize().with_context(|| format!("failed to find {}", folder.display()))?;
        let folder =
            folder.to_str().with_context(|| format!("Cargo.toml cannot name {}: it is not UTF-8", folder.display()))?;
        // A TOML string has the same escapes as a JSON string.
        Ok::<_, anyhow::Error>(format!("version = \"{version}\", path = {}", serde_json::to_string(folder)?))
    };
    Ok([("@LANEFIELD_CLI@", place("crates/cli")?), ("@LANEFIELD@", place(".")?)])
}

/// The most letters in a name, as on crates.io.
const LONGEST: usize = 64;

/// Names that have valid letters but cannot name a crate, with the reason.
const RESERVED: [(&str, &str); 6] = [
    (
        "a keyword of Rust",
        " abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl in let loop macro match mod \
         move mut override priv pub ref return self static struct super trait true try type typeof unsafe unsized use virtual where while yield ",
    ),
    ("a library of Rust", " alloc core proc_macro std test "),
    ("a type of Rust", " bool char f16 f32 f64 f128 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize "),
    ("a package of Lanefield", LANEFIELD),
    ("a folder in which cargo builds", " build deps examples incremental "),
    (
        "a device of Windows",
        " aux com0 com1 com2 com3 com4 com5 com6 com7 com8 com9 con lpt0 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9 nul prn ",
    ),
];
const LANEFIELD: &str = " lanefield lanefield_capi lanefield_cli lanefield_example_outside lanefield_kernels lanefield_lab lanefield_macros lanefield_maps lanefield_mpi \
                         lanefield_ports lanefield_python lanefield_reference ";

/// The name of the crate, which is that of its folder.
fn name_of(folder: &Path) -> anyhow::Result<&str> {
    let last = folder.file_name().with_context(|| {
        format!("'{}' does not end in the name of a crate: expected one such as my-kernels", folder.display())
    })?;
    let shown = last.to_string_lossy();
    let name = last.to_str().unwrap_or_default();
    let letters = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
    ensure!(
        letters && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.len() <= LONGEST,
        "'{shown}' is not a valid name for a crate: expected at most {LONGEST} lower-case letters, digits, - and _, a letter first, as in my-kernels"
    );
    let in_rust = name.replace('-', "_");
    let is_in = |names: &str| names.split_whitespace().any(|name| name == in_rust);
    if let Some((what, _)) = RESERVED.iter().find(|(_, names)| is_in(names)) {
        bail!("'{name}' is not a valid name for a crate: it is {what}; take another, such as my-{name}");
    }
    ensure!(in_rust != KERNEL, "'{name}' is the name of the kernel in the new crate: take another, such as my-kernels");
    Ok(name)
}
