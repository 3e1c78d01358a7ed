//! The commands of README.md and of the pages of docs, run as they are, page by page, and the outputs that the pages show. A unit test of the program checks
//! that all of them are command lines.

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

/// A command of a page, and the output that the page shows for it.
struct Step {
    command: String,
    shown: Option<String>,
}

/// The commands of `lanefield` in the blocks of a shell. A block `text` that follows shows the output of the last of them.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut last_of_shell = false;
    for (number, part) in page.split("```").enumerate() {
        if number % 2 == 0 {
            last_of_shell &= part.trim().is_empty();
            continue;
        }
        let Some((kind, block)) = part.split_once('\n') else { continue };
        if kind.trim() == "text" && last_of_shell {
            steps.last_mut().unwrap().shown = Some(block.to_owned());
        }
        let commands = |block: &str| -> Vec<Step> {
            let block = block.replace("\\\n", " ");
            let lines = block.lines().filter_map(|line| line.strip_prefix("lanefield "));
            let words = lines
                .filter_map(|line| Some(line.split(" # ").next()?.split(" > ").next()?.split(" | ").next()?.trim()));
            words.map(|command| Step { command: command.to_owned(), shown: None }).collect()
        };
        last_of_shell = false;
        if ["sh", "bash", "console", ""].contains(&kind.trim()) {
            let found = commands(block);
            last_of_shell = kind.trim() == "sh" && !found.is_empty();
            steps.extend(found);
        }
    }
    steps
}

/// Whether an output is what a page shows: a line "…" stands for any lines, "…" within a line for any text.
fn is_shown(shown: &[&str], printed: &[&str]) -> bool {
    match (shown, printed) {
        ([], printed) => printed.iter().all(|line| line.trim().is_empty()),
        ([any, rest @ ..], _) if any.trim() == "…" => {
            (0..=printed.len()).any(|skip| is_shown(rest, &printed[skip..]))
        }
        ([line, rest @ ..], [first, others @ ..]) => {
            is_shown_line(line.trim_end(), first.trim_end()) && is_shown(rest, others)
        }
        ([line, rest @ ..], []) => line.trim().is_empty() && is_shown(rest, &[]),
    }
}

fn is_shown_line(shown: &str, printed: &str) -> bool {
    match shown.split_once('…') {
        None => shown == printed,
        Some((start, rest)) => printed.strip_prefix(start).is_some_and(|printed| {
            let ends = printed.char_indices().map(|(at, _)| at).chain([printed.len()]);
            ends.into_iter().any(|at| is_shown_line(rest, &printed[at..]))
        }),
    }
}

#[test]
fn what_a_page_shows_may_leave_out_lines_and_words() {
    for (shown, printed, same) in [
        ("a\nb", "a\nb\n", true),
        ("a\n…\nd", "a\nb\nc\nd", true),
        ("a\n…", "a", true),
        ("time … s, … left", "time 1.5 s, 2 left", true),
        ("a\nb", "a\nc", false),
        ("a", "a\nb", false),
        ("x … y", "x 1 z", false),
    ] {
        let lines = |text: &'static str| text.lines().collect::<Vec<_>>();
        assert_eq!(is_shown(&lines(shown), &lines(printed)), same, "{shown} and {printed}");
    }
}

/// All pages of a folder and of those below it.
fn pages_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = entries
        .flat_map(|path| if path.is_dir() { pages_below(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    pages
}

#[test]
#[ignore = "test-all: all commands of the documentation"]
fn the_commands_of_the_documentation_work_as_they_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = pages_below(&root.join("docs"));
    pages.extend([root.join("README.md"), root.join("examples/ports/cuda/README.md")]);
    let (mut run, mut compared, mut unused): (_, _, Vec<_>) = (0, 0, NOT_RUN.map(|(start, _)| start).into());
    let mut wrong = Vec::new();
    for page in &pages {
        let steps = steps(&std::fs::read_to_string(page).unwrap());
        // What a page begins with that is the reader's own.
        let folder = if page.ends_with("traces.md") { with_files_of_examples() } else { Folder::new() };
        if page.ends_with("traces.md") {
            std::fs::copy(folder.path("hop.csv"), folder.path("ncu.csv")).unwrap();
        }
        if !steps.is_empty() {
            folder.succeeds("config generate weak --lattice 4.4.4.8 --seed 1 --output cfg.nersc");
            folder.succeeds("config generate weak --lattice 4.4.4.8 --seed 1 --output weak.nersc");
            folder.succeeds("config generate hot --lattice 4.4.4.4 --seed 1 --output hot.nersc");
            folder.succeeds("config convert hot.nersc hot.lime");
            folder.succeeds("config convert cfg.nersc far.npy");
            // Of docs/background/exact-sums.md.
            let four = [2f64.powi(53), 1.0, 1.0, 1.0].map(|re| num_complex::Complex::new(re, 0.0));
            lanefield::io::npy::write_complex(&folder.path("four.npy"), &[1, 1, 1, 4], &four).unwrap();
        }
        let mut prepared = vec!["cfg.nersc", "weak.nersc", "hot.nersc", "hot.lime", "far.npy"];
        for Step { command, shown } in steps.iter().filter(|step| !step.command.contains('…')) {
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
            if !output.status.success() {
                wrong.push(format!("{}: lanefield {command}: {stderr}", page.display()));
            }
            if let Some(shown) = shown {
                compared += 1;
                let printed = String::from_utf8_lossy(&output.stdout);
                if !is_shown(&shown.lines().collect::<Vec<_>>(), &printed.lines().collect::<Vec<_>>()) {
                    wrong.push(format!(
                        "{}: lanefield {command} prints\n{printed}\nand the page shows\n{shown}",
                        page.display()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(
        run > 40 && compared > 20 && unused.is_empty(),
        "{run} commands, {compared} outputs; none begins with {unused:?}"
    );
}
