//! `lanefield man`, a hidden command: writes manual pages for a distribution (`make dist`), one for the program and one for each subcommand.

use clap::Command;
use clap_mangen::Man;
use lanefield::io::atomic::write_atomically;

use super::files::{require_no_file, require_outputs};
use crate::prelude::*;

/// Write the manual pages of the program and its commands.
#[derive(Args)]
#[command(hide = true)]
pub struct Manual {
    /// Directory to write
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

impl Manual {
    pub fn run(self, program: Command) -> anyhow::Result<Outcome> {
        require_no_file(&self.directory)?;
        let mut program = program.long_version(None::<&str>).disable_help_subcommand(true);
        program.build();
        let mut pages = Vec::new();
        collect(program, &mut pages)?;
        let pages: Vec<_> = pages.into_iter().map(|(name, page)| (self.directory.join(name), page)).collect();
        let outputs: Vec<_> = pages.iter().map(|(path, _)| ("the manual page", path.as_path())).collect();
        require_outputs(&outputs, &[])?;
        for (path, page) in &pages {
            write_atomically(path, |writer| writer.write_all(page))?;
        }
        Ok(Outcome::Done)
    }
}

/// The pages of a command and of the commands below it, by file name.
fn collect(command: Command, pages: &mut Vec<(String, Vec<u8>)>) -> anyhow::Result<()> {
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        collect(subcommand.clone(), pages)?;
    }
    let page = Man::new(command).manual("Lanefield");
    let mut text = Vec::new();
    page.render(&mut text).context("failed to make a manual page")?;
    pages.push((page.get_filename(), text));
    Ok(())
}
