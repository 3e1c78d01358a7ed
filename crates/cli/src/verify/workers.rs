//! Worker processes of a verification: this program once more, with the same arguments. Most of the time of a first run goes into building programs,
//! which drivers do one after the other within a process, and a driver that crashes takes its worker with it, not the run.
//!
//! A worker reads the number of a unit from each line of its standard input, and answers with a line of JSON ([`UnitReport`]); other lines are a
//! driver's, and passed over. It ends where its input ends, after the unit at which it is: none outlives the program for long.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use lanefield::verify::UnitReport;

use crate::interrupt::interrupted;

/// The argument by which a worker knows that it is one.
pub const WORKER: &str = "--worker";
/// How long a signal waits at most.
const PATIENCE: Duration = Duration::from_millis(100);
/// What is told of a worker's last words, at most, in bytes.
const LAST_WORDS: u64 = 2000;

/// Answers on standard output the units that standard input names.
pub fn answer(mut run: impl FnMut(usize) -> UnitReport) -> anyhow::Result<()> {
    for line in std::io::stdin().lines() {
        let line = line.context("failed to read the number of a unit")?;
        let unit = line.trim().parse().with_context(|| format!("'{line}' is no number of a unit"))?;
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, &run(unit))?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

/// Has `units` run by `workers` processes, and gives each to `take` as it comes, and nothing now and then, until all are done, a signal comes, or `take`
/// wants no more. `failed` stands for what a
/// worker left that died.
pub fn distribute(
    (units, workers): (usize, usize),
    failed: impl Fn(usize, String) -> UnitReport + Sync,
    mut take: impl FnMut(Option<(usize, UnitReport)>) -> bool,
) -> anyhow::Result<()> {
    let next = AtomicUsize::new(0);
    let workers: Vec<Worker> = (0..workers.min(units)).map(|_| Worker::default()).collect();
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for worker in &workers {
            let (sender, next, failed) = (sender.clone(), &next, &failed);
            scope.spawn(move || {
                let mut pipes = None;
                loop {
                    let unit = next.fetch_add(1, Ordering::Relaxed);
                    if unit >= units || interrupted() {
                        break;
                    }
                    let answer = worker.pipes(&mut pipes).map(|pipes| pipes.run(unit));
                    let outcome = match answer.context("failed to start a worker process") {
                        Ok(Ok(report)) => {
                            // After an error a driver may answer all that follows with one.
                            if report.error.is_some() {
                                pipes = None;
                                worker.wait();
                            }
                            Ok((unit, report))
                        }
                        Ok(Err(_)) => {
                            pipes = None;
                            Ok((unit, failed(unit, worker.last_words())))
                        }
                        Err(error) => Err(error),
                    };
                    let stop = outcome.is_err() || interrupted();
                    if sender.send(outcome).is_err() || stop {
                        break;
                    }
                }
                // Its input ends, and so does the worker.
                drop(pipes);
                worker.wait();
            });
        }
        drop(sender);
        let outcome = loop {
            if interrupted() {
                break Ok(());
            }
            let goes_on = match receiver.recv_timeout(PATIENCE) {
                Ok(Ok(done)) => take(Some(done)),
                Ok(Err(error)) => break Err(error),
                Err(RecvTimeoutError::Timeout) => take(None),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            if !goes_on {
                break Ok(());
            }
        };
        next.store(units, Ordering::Relaxed);
        // What was answered before the workers are killed counts.
        while let Ok(Ok(done)) = receiver.try_recv() {
            take(Some(done));
        }
        workers.iter().for_each(Worker::kill);
        outcome
    })
}

/// A worker process, or the place of one.
#[derive(Default)]
struct Worker(Mutex<Held>);

#[derive(Default)]
struct Held {
    process: Option<(Child, File)>,
    /// No process is wanted any more.
    stopped: bool,
}

/// What a worker is asked by, and answers by.
struct Pipes {
    asked: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Pipes {
    fn run(&mut self, unit: usize) -> anyhow::Result<UnitReport> {
        writeln!(self.asked, "{unit}")?;
        loop {
            let mut line = String::new();
            ensure!(self.answers.read_line(&mut line)? > 0, "it has ended");
            if let Ok(report) = serde_json::from_str(&line) {
                return Ok(report);
            }
        }
    }
}

impl Worker {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pipes of the process there is, or of a new one.
    fn pipes<'p>(&self, pipes: &'p mut Option<Pipes>) -> anyhow::Result<&'p mut Pipes> {
        match pipes {
            Some(pipes) => Ok(pipes),
            none => Ok(none.insert(self.start()?)),
        }
    }

    fn start(&self) -> anyhow::Result<Pipes> {
        // Its standard error is looked at only if it dies.
        let words = tempfile::tempfile()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(std::env::args_os().skip(1)).arg(WORKER);
        // A terminal's Ctrl-C is for the program alone.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut held = self.held();
        ensure!(!held.stopped, "the run ends");
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(words.try_clone()?).spawn()?;
        let (Some(asked), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            bail!("it has no pipes")
        };
        held.process = Some((process, words));
        Ok(Pipes { asked, answers: BufReader::new(answers) })
    }

    /// How a process ended that did not answer, and what it said last.
    fn last_words(&self) -> String {
        let taken = self.held().process.take();
        let Some((mut process, mut words)) = taken else { return "the worker process is gone".to_owned() };
        let _ = process.kill();
        let ended = process.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        let length = words.metadata().map_or(0, |metadata| metadata.len());
        let mut last = Vec::new();
        let start = SeekFrom::Start(length.saturating_sub(LAST_WORDS));
        let _ = words.seek(start).and_then(|_| words.read_to_end(&mut last));
        match String::from_utf8_lossy(&last).trim() {
            "" => format!("the worker process ended ({ended})"),
            last => format!("the worker process ended ({ended}) after saying: {last}"),
        }
    }

    fn kill(&self) {
        let mut held = self.held();
        held.stopped = true;
        if let Some((process, _)) = &mut held.process {
            let _ = process.kill();
        }
    }

    fn wait(&self) {
        let mut patience = Duration::from_millis(1);
        // Not for as long as it takes: it may have to be killed meanwhile.
        while !self.has_ended() {
            std::thread::sleep(patience);
            patience = (2 * patience).min(PATIENCE);
        }
    }

    fn has_ended(&self) -> bool {
        let mut held = self.held();
        let ended = held.process.as_mut().is_none_or(|(process, _)| !matches!(process.try_wait(), Ok(None)));
        if ended {
            held.process = None;
        }
        ended
    }
}
