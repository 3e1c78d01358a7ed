//! How far a long command is: bars on standard error, where that is a terminal, else a plain line now and then.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lanefield_lab::Progress;

/// A bar of no length yet, of work that takes steps.
pub fn progress_bar() -> ProgressBar {
    styled_bar("{elapsed_precise} [{wide_bar}] {pos}/{len} {msg}")
}

/// A bar of no length yet, with a template of indicatif.
pub fn styled_bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// Does some work under a bar, which shows what the work tells of its progress.
pub fn with_bar<T>(work: impl FnOnce(&mut (dyn FnMut(Progress<'_>) + Send)) -> T) -> T {
    let bar = progress_bar();
    let given = work(&mut |Progress { done, steps, now }| {
        bar.set_length(steps as u64);
        bar.set_position(done as u64);
        bar.set_message(now.to_owned());
    });
    bar.finish_and_clear();
    given
}

/// Between plain lines.
const QUIET: Duration = Duration::from_secs(20);

/// Work in so many steps, with an estimate of the rest.
pub struct Steps {
    what: &'static str,
    steps: usize,
    done: usize,
    message: String,
    start: Instant,
    last: Instant,
    bar: Option<ProgressBar>,
}

impl Steps {
    /// None of the steps is done yet.
    pub fn new(what: &'static str, steps: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = styled_bar("{elapsed_precise} [{wide_bar}] {pos}/{len} {msg}, {eta} left");
            bar.set_length(steps as u64);
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        let now = Instant::now();
        Self { what, steps, done: 0, message: String::new(), start: now, last: now, bar }
    }

    /// So many are done.
    pub fn done(&mut self, done: usize, message: &str) {
        (self.done, self.message) = (done, message.to_owned());
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
            bar.set_message(message.to_owned());
        }
        self.tick();
    }

    /// Whether all are.
    pub fn is_done(&self) -> bool {
        self.done == self.steps
    }

    /// Time passes: without a bar a line says how far the work is.
    pub fn tick(&mut self) {
        if self.bar.is_none() && self.last.elapsed() >= QUIET {
            self.last = Instant::now();
            let Self { what, steps, done, message, .. } = self;
            let seconds = self.start.elapsed().as_secs();
            // That nobody reads it is no error.
            let _ = writeln!(std::io::stderr(), "{what}: {done} of {steps} after {seconds} s, {message}");
        }
    }

    /// Prints something else while the bar is away.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
