//! `lanefield new`: a crate for kernels of one's own, with one kernel that builds, passes and is timed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::Args;
use lanefield::io::atomic::write_atomically;

use super::Outcome;
use super::files::{failed_to_write, require_outputs};
use super::output::print;

/// The files of such a crate: `NAME` is its name, `CRATE` the name in Rust, `LANEFIELD` where the packages are.
const FILES: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("new/Cargo.toml.txt")),
    ("src/lib.rs", include_str!("new/lib.rs.txt")),
    ("src/main.rs", include_str!("new/main.rs.txt")),
    ("tests/twins.rs", include_str!("new/twins.rs.txt")),
    ("benches/kernels.rs", include_str!("new/bench.rs.txt")),
];

/// Make a crate for kernels of your own: one kernel, its twin, its tests, its benchmark, and the tools over it.
///
/// The kernel is to be replaced by yours. `cargo test` in the new folder holds it against its twin and an OpenCL device, `cargo run -- verify`, `bench`, `tune` and
/// `doctor` are the tools over it, and `cargo bench` times it.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield new my-kernels
  lanefield new kernels/staple")]
pub struct New {
    /// The folder, which is made; its last part is the name of the crate
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Where Lanefield's sources are [default: those that this program was built from, if they are there; else the released version]
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
}

impl New {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let name = name_of(&self.folder)?;
        let lanefield = self.packages()?;
        let files = FILES.map(|(file, text)| {
            let text = text.replace("NAME", name).replace("CRATE", &name.replace('-', "_"));
            (self.folder.join(file), lanefield.iter().fold(text, |text, (what, place)| text.replace(what, place)))
        });
        for (path, _) in &files {
            let folder = path.parent().unwrap_or(&self.folder);
            fs::create_dir_all(folder).with_context(|| format!("failed to make the folder {}", folder.display()))?;
        }
        let outputs: Vec<(&str, &Path)> = files.iter().map(|(path, _)| ("DIR", path.as_path())).collect();
        require_outputs(&outputs, &[])?;
        for (path, text) in &files {
            write_atomically(path, |out| out.write_all(text.as_bytes())).with_context(|| failed_to_write(path))?;
        }
        print(format!(
            "{name}: the kernel is in {}; in {}\n  cargo test             holds it against its twin, and a device against the CPU\n  \
             cargo run -- verify    compares a device with the CPU, bit for bit\n  cargo bench            times it",
            self.folder.join("src/lib.rs").display(),
            self.folder.display()
        ))?;
        Ok(Outcome::Done)
    }

    /// What stands for the packages, and where they are.
    fn packages(&self) -> anyhow::Result<[(&'static str, String); 2]> {
        let version = env!("CARGO_PKG_VERSION");
        let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let source = match &self.source {
            Some(source) => {
                ensure!(
                    source.join("crates/cli/Cargo.toml").is_file(),
                    "--source {} has no sources of Lanefield: expected the folder with its Cargo.toml, src and crates",
                    source.display()
                );
                Some(source.clone())
            }
            None => Some(built_from).filter(|folder| folder.join("crates/cli/Cargo.toml").is_file()),
        };
        let place = |package: &str| match &source {
            None => Ok(format!("version = \"{version}\"")),
            Some(source) => {
                let folder = source.join(package);
                let folder = folder.canonicalize().with_context(|| format!("failed to find {}", folder.display()))?;
                // A TOML string quotes what JSON quotes.
                let quoted = serde_json::to_string(&folder.to_string_lossy())?;
                Ok::<_, anyhow::Error>(format!("version = \"{version}\", path = {quoted}"))
            }
        };
        Ok([("LANEFIELD_CLI", place("crates/cli")?), ("LANEFIELD", place(".")?)])
    }
}

/// The name of the crate in a folder.
fn name_of(folder: &Path) -> anyhow::Result<&str> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let letters = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_');
    ensure!(
        letters && name.starts_with(|c: char| c.is_ascii_lowercase()) && name != "lanefield",
        "'{name}' is no name for a crate: expected lower-case letters, digits, - and _, a letter first, as in my-kernels"
    );
    Ok(name)
}
