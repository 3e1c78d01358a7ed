//! The progress of long commands: bars on standard error if it is a terminal, else a line from time to time.

use std::fmt;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use lanefield_lab::Progress;

use super::interrupt::{self, interrupted};
use super::ranks;
use super::terminal::{BARS, aside};

/// A bar for work in steps, without a length yet.
pub fn progress_bar() -> ProgressBar {
    styled_bar("{elapsed_precise} [{wide_bar}] {pos}/{len} {msg}{left}")
}

/// A bar without a length yet, with a template of indicatif.
pub fn styled_bar(template: &str) -> ProgressBar {
    let bar = if ranks::is_first() { BARS.add(ProgressBar::new(0)) } else { ProgressBar::hidden() };
    bar.set_style(style(template));
    bar
}

/// A bar for a share of the work, from 0 to 1.
pub struct ShareBar(ProgressBar);

impl ShareBar {
    const STEPS: u64 = 1000;

    pub fn new() -> Self {
        let bar = styled_bar("{elapsed_precise} [{wide_bar}] {msg}{left}");
        bar.set_length(Self::STEPS);
        Self(bar)
    }

    pub fn show(&self, share: f64, message: String) {
        self.0.set_position((share.clamp(0.0, 1.0) * Self::STEPS as f64) as u64);
        self.0.set_message(message);
    }

    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    style.with_key("left", left).progress_chars("=> ")
}

/// ", 20 seconds left", once some of the work is done.
fn left(state: &ProgressState, line: &mut dyn fmt::Write) {
    if state.pos() > 0 && state.len().is_some_and(|steps| state.pos() < steps) {
        let _ = write!(line, ", {} left", HumanDuration(state.eta()));
    }
}

/// Does some work under a bar, which shows the progress that the work reports. A signal ends the work.
pub fn with_bar<T>(work: impl FnOnce(&mut (dyn FnMut(Progress<'_>) -> bool + Send)) -> T) -> T {
    let bar = progress_bar();
    let given = work(&mut |Progress { done, steps, now }| {
        bar.set_length(steps as u64);
        bar.set_position(done as u64);
        bar.set_message(now.to_owned());
        goes_on(done)
    });
    bar.finish_and_clear();
    given
}

/// Whether to continue after this number of steps. From now on, a signal does not lose them.
pub fn goes_on(done: usize) -> bool {
    if done > 0 {
        interrupt::keep();
    }
    !interrupted()
}

/// The time between lines.
pub const QUIET: Duration = Duration::from_secs(20);

/// Work in a known number of steps, with an estimate of the remaining time.
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
    /// The work before its first step.
    pub fn new(what: &'static str, steps: usize) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = progress_bar();
            bar.set_length(steps as u64);
            bar.set_message(what);
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        let now = Instant::now();
        Self { what, steps, done: 0, message: String::new(), start: now, last: now, bar }
    }

    pub fn done(&mut self, done: usize, message: &str) {
        (self.done, self.message) = (done, message.to_owned());
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
            bar.set_message(message.to_owned());
        }
        self.tick();
    }

    pub fn is_done(&self) -> bool {
        self.done == self.steps
    }

    /// Lets time pass: without a bar, this prints a line with the progress from time to time.
    pub fn tick(&mut self) {
        if self.bar.is_none() && self.last.elapsed() >= QUIET {
            self.last = Instant::now();
            let Self { what, steps, done, message, .. } = self;
            let seconds = self.start.elapsed().as_secs();
            say!("{what}: {done} of {steps} after {seconds} s, {message}");
        }
    }

    /// Prints something else while the bar is hidden.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(_) => aside(print),
            None => print(),
        }
    }

    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
