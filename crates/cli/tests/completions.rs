//! `lanefield completions` and the manual pages: each command is in them.

use std::process::Command;

use super::{Folder, assert_contains, commands, text};

#[test]
fn the_scripts_of_shells_complete_commands_and_options() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        folder.says(&format!("completions {shell}"), &["propagator", "origin-time"]);
    }
    folder.misuses("completions tcsh", &["'tcsh'", "bash, elvish, fish, powershell, zsh"]);
}

#[test]
fn bash_takes_its_script_and_completes_a_subcommand() {
    let folder = Folder::new();
    folder.write("lanefield.bash", folder.succeeds("completions bash").as_bytes());
    let line = "source ./lanefield.bash; COMP_WORDS=(lanefield corr) COMP_CWORD=1; _lanefield lanefield corr lanefield; echo ${COMPREPLY[@]}";
    let output = Command::new("bash").args(["--norc", "-c", line]).current_dir(folder.path("")).output();
    // Where there is a bash.
    if let Ok(output) = output {
        assert_eq!(text(&output.stdout).trim(), "correlator", "{}", text(&output.stderr));
    }
}

#[test]
fn every_command_has_a_manual_page_with_its_options_and_examples() {
    let folder = Folder::new();
    folder.succeeds("man .");
    for command in commands() {
        let page = text(&folder.read(&format!("lanefield-{}.1", command.replace(' ', "-"))));
        assert_contains(&page, &[".SH NAME", ".SH OPTIONS", "Example"]);
    }
    let page = text(&folder.read("lanefield.1"));
    assert!(page.contains("lanefield\\-solve(1)") && !page.contains("lanefield\\-man"), "{page}");
    let output = folder.careful_command("man .").output().unwrap();
    assert_contains(&text(&output.stderr), &["already exists"]);
}
