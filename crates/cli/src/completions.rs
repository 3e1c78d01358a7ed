//! `lanefield completions`: the script that lets a shell complete command lines.

use clap::Command;
use clap_complete::{Shell, generate};

use super::output::print;
use crate::prelude::*;

/// Print the completion script of a shell.
#[derive(Args)]
#[command(after_help = "Examples:
  lanefield completions bash
  lanefield completions zsh
  lanefield completions fish

Where to keep what is printed:
  bash  ~/.local/share/bash-completion/completions/lanefield
  zsh   in a directory of $fpath, as _lanefield
  fish  ~/.config/fish/completions/lanefield.fish")]
pub struct Completions {
    /// Name of the shell
    shell: Shell,
}

impl Completions {
    pub fn run(self, mut program: Command) -> anyhow::Result<Outcome> {
        let mut script = Vec::new();
        generate(self.shell, &mut program, "lanefield", &mut script);
        let script = String::from_utf8(script).context("the script is not UTF-8")?;
        print(script.trim_end())?;
        Ok(Outcome::Done)
    }
}
