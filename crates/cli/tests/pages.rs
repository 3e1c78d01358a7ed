//! The commands of README.md and of the pages of docs, run as they are, page by page. That all of them are command lines, a unit test of the program says.

use std::path::Path;

use super::{Folder, with_files_of_examples, words};

/// Commands that are not run, by how they begin, and why.
const NOT_RUN: [(&str, &str); 12] = [
    ("tune ", "searches on a device: tune.rs"),
    ("guidelines ", "times a device: guidelines.rs"),
    ("doctor ", "times a device: doctor.rs"),
    ("peak ", "times a device: peak.rs"),
    ("report ", "reads what the three above write: report.rs"),
    ("verify ", "verify.rs"),
    ("hunt ", "takes ten minutes: the examples of its help take five seconds"),
    ("config generate heatbath --beta 5.7 --lattice 8.8.8.16", "takes an hour"),
    ("compare x.npy theirs.npy", "another program's solution is not there: compare.rs"),
    ("golden check golden", "what a port wrote is not there: golden.rs"),
    ("occupancy --kernel hop --device NVIDIA", "needs a GPU"),
    ("occupancy --kernel all", "compiles every kernel for three GPUs"),
];

/// The lines of `lanefield` between fences, of a shell's.
fn commands(page: &str) -> Vec<String> {
    let shell = page.split("```").skip(1).step_by(2).filter_map(|block| {
        let (kind, lines) = block.split_once('\n')?;
        ["sh", "bash", "console", ""].contains(&kind.trim()).then(|| lines.replace("\\\n", " "))
    });
    let lines = shell.flat_map(|lines| lines.lines().map(str::to_owned).collect::<Vec<_>>());
    let lines = lines.filter_map(|line| Some(line.strip_prefix("lanefield ")?.to_owned()));
    lines
        .filter_map(|line| Some(line.split(" # ").next()?.split(" > ").next()?.split(" | ").next()?.trim().to_owned()))
        .collect()
}

#[test]
#[ignore = "test-all: all commands of the documentation"]
fn the_commands_of_the_documentation_work_as_they_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<_> = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.extend([root.join("README.md"), root.join("examples/ports/cuda/README.md")]);
    let (mut run, mut unused): (_, Vec<_>) = (0, NOT_RUN.map(|(start, _)| start).into());
    for page in pages.iter().filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
        let commands = commands(&std::fs::read_to_string(page).unwrap());
        // What a page begins with that is the reader's own.
        let folder = if page.ends_with("traces.md") { with_files_of_examples() } else { Folder::new() };
        if page.ends_with("traces.md") {
            std::fs::copy(folder.path("hop.csv"), folder.path("ncu.csv")).unwrap();
        }
        if !commands.is_empty() {
            folder.succeeds("config generate weak --lattice 4.4.4.8 --seed 1 --output cfg.nersc");
            folder.succeeds("config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc");
            folder.succeeds("config generate hot --lattice 4.4.4.4 --seed 1 --output hot.nersc");
            folder.succeeds("config convert hot.nersc hot.lime");
            folder.succeeds("config convert cfg.nersc far.npy");
        }
        let mut prepared = vec!["cfg.nersc", "weak.nersc", "hot.nersc", "hot.lime", "far.npy"];
        for command in commands.iter().filter(|command| !command.contains('…')) {
            if let Some((start, _)) = NOT_RUN.iter().find(|(start, _)| command.starts_with(start)) {
                unused.retain(|known| known != start);
                continue;
            }
            if command.contains("gfx90a") && lanefield_lab::code::Clang::find().is_err() {
                continue;
            }
            run += 1;
            let words = words(command);
            let made = words.iter().skip_while(|word| *word != "--output").nth(1);
            let made = made.or_else(|| words.get(3).filter(|_| command.starts_with("config convert")));
            if let Some(at) = prepared.iter().position(|file| Some(*file) == made.map(|made| made.as_str())) {
                // The page makes its own.
                std::fs::remove_file(folder.path(prepared.swap_remove(at))).unwrap();
            }
            let output = folder.command("").args(&words).env("LANEFIELD_DEVICE", "cpu").output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}: lanefield {command}: {stderr}", page.display());
        }
    }
    assert!(run > 40 && unused.is_empty(), "{run} commands; none begins with {unused:?}");
}
