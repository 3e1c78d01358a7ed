//! Announces builds of kernels that take long, wherever they happen.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use lanefield::backend::opencl::Builds;

use super::progress::{QUIET, styled_bar};

/// Whether the current builds have already been announced.
static IS_ANNOUNCED: AtomicBool = AtomicBool::new(false);

/// Runs work that announces its builds itself.
pub fn announced<T>(work: impl FnOnce() -> T) -> T {
    IS_ANNOUNCED.store(true, Ordering::Relaxed);
    let given = work();
    IS_ANNOUNCED.store(false, Ordering::Relaxed);
    given
}

/// How often the state of builds is checked.
const LOOK: Duration = Duration::from_millis(250);
/// Shorter builds are not reported on a terminal, and shorter pauses do not end a build.
const SHORT: Duration = Duration::from_secs(1);

/// Announces on standard error that a device builds programs, if it takes long: with a bar on a terminal, else with a line from time to time.
pub fn announce(builds: &Arc<Builds>) {
    let builds = Arc::downgrade(builds);
    // Without the thread, nothing is announced.
    let _ = std::thread::Builder::new().name("building".to_owned()).spawn(move || watch(&builds));
}

struct Spell {
    start: Instant,
    last: Instant,
    told: Instant,
    before: usize,
    bar: Option<indicatif::ProgressBar>,
}

fn watch(builds: &Weak<Builds>) {
    let on_terminal = std::io::stderr().is_terminal();
    let mut spell: Option<Spell> = None;
    while let Some(builds) = builds.upgrade() {
        let now = Instant::now();
        if builds.is_running() && !IS_ANNOUNCED.load(Ordering::Relaxed) {
            let before = builds.programs();
            spell.get_or_insert(Spell { start: now, last: now, told: now, before, bar: None }).last = now;
        }
        if let Some(spell) = spell.as_mut().filter(|spell| now - spell.start >= SHORT) {
            let (built, seconds) = (builds.programs() - spell.before, (now - spell.start).as_secs());
            let words = format!("building programs that are not in the cache: {built} after {seconds} s");
            if on_terminal {
                spell.bar.get_or_insert_with(|| styled_bar("{spinner} {msg}")).set_message(words);
            } else if now - spell.told >= QUIET {
                spell.told = now;
                say!("{words}");
            }
        }
        if let Some(ended) = spell.take_if(|spell| now - spell.last >= SHORT)
            && let Some(bar) = ended.bar
        {
            bar.finish_and_clear();
        }
        drop(builds);
        std::thread::sleep(LOOK);
    }
    if let Some(bar) = spell.and_then(|spell| spell.bar) {
        bar.finish_and_clear();
    }
}
