//! Lines on standard error, above all bars, with the name of the running program.

use std::borrow::Cow;
use std::fmt;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, OnceLock};

use indicatif::MultiProgress;

use super::ranks;

/// Prints a line on standard error, above the bars.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::terminal::say(format_args!($($words)*))
    };
}

/// All bars of the program, one below the other.
pub static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Prints while the bars are hidden; they return by themselves. (`MultiProgress::suspend` panics if the terminal is gone.)
pub fn aside<T>(print: impl FnOnce() -> T) -> T {
    let _ = BARS.clear();
    print()
}

/// Prints a line on standard error, above the bars. If nobody reads it any more, that is no error.
pub fn say(words: fmt::Arguments<'_>) {
    let words = words.to_string();
    if words.starts_with("interrupted:") {
        TOLD.store(true, Ordering::Relaxed);
    }
    let words = of_this_program(&words);
    let rank = ranks::rank();
    // Rank 0 prints for all ranks, except for errors and warnings of others.
    if rank > 0 && !["error:", "warning:"].iter().any(|serious| words.starts_with(serious)) {
        return;
    }
    let who = if rank > 0 { format!("rank {rank}: ") } else { String::new() };
    aside(|| {
        let _ = writeln!(std::io::stderr(), "{who}{}", visible(&words));
    });
}

/// Whether a line has reported what a signal did to the work.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Whether a line has reported what a signal did to the work.
pub fn told_of_interruption() -> bool {
    TOLD.load(Ordering::Relaxed)
}

/// A program with its own kernels: its name as it was called, and its tools.
pub struct Program {
    pub name: String,
    pub tools: Vec<String>,
}

/// That program, if this process is one.
static PROGRAM: OnceLock<Program> = OnceLock::new();

pub fn call_program(program: Program) {
    let _ = PROGRAM.set(program);
}

/// A text that names commands of `lanefield`. In another program, it names that program.
pub fn of_this_program(text: &str) -> Cow<'_, str> {
    PROGRAM.get().map_or(Cow::Borrowed(text), |program| program.named_in(text).into())
}

impl Program {
    /// A text with the name of this program in place of `lanefield`, if it names one of these tools.
    pub fn named_in(&self, text: &str) -> String {
        let rename =
            |text: String, tool: &String| text.replace(&format!("lanefield {tool}"), &format!("{} {tool}", self.name));
        self.tools.iter().fold(text.to_owned(), rename)
    }
}

/// A text that cannot control the terminal: control characters and those that change the direction of writing are escaped, as in JSON. Files and
/// drivers may contain them.
pub fn visible(text: &str) -> Cow<'_, str> {
    let commands = |c: char| {
        let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        turns || (c.is_control() && !matches!(c, '\n' | '\t'))
    };
    match text.contains(commands) {
        false => Cow::Borrowed(text),
        true => {
            let escaped = |c: char| if commands(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
            text.chars().map(escaped).collect()
        }
    }
}
