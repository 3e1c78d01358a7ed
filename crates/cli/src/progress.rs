//! Bars on standard error, where that is a terminal.

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
