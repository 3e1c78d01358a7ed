//! Worker processes: this program once more. Most of the time of a first run goes into building programs, which drivers do one after the other within a
//! process, and a driver that crashes takes its worker with it, not the run.
//!
//! A worker reads a question, a line of JSON, from its standard input, and answers with another; other lines are a driver's, and passed over. It ends
//! where its input ends, after the question at which it is: none outlives the program for long.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lanefield::comm::Launched;
use serde::de::DeserializeOwned;

use crate::interrupt::interrupted;
use crate::prelude::*;

/// Most worker processes where nobody chose: each has a context of its own on the device.
const MOST_JOBS: usize = 8;
/// How long a signal waits at most.
const PATIENCE: Duration = Duration::from_millis(100);
/// What is told of a worker's last words, at most, in bytes.
const LAST_WORDS: u64 = 2000;

/// The cores of this machine, as far as the process may use them.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// How many worker processes there are where nobody chose.
pub fn usual_jobs() -> usize {
    cores().min(MOST_JOBS)
}

/// What follows a number of things to do in so many worker processes; nothing where there is one.
pub fn in_processes(jobs: usize) -> String {
    if jobs > 1 { format!(", in {jobs} worker processes") } else { String::new() }
}

/// Answers on standard output the questions on standard input.
pub fn answer<Q: DeserializeOwned, A: Serialize>(mut run: impl FnMut(Q) -> A) -> anyhow::Result<()> {
    for line in std::io::stdin().lines() {
        let line = line.context("failed to read a question")?;
        let question = serde_json::from_str(&line).with_context(|| format!("'{line}' is no question to a worker"))?;
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, &run(question))?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

/// Processes that are started when they are first needed, and stay until this is dropped.
pub struct Workers {
    arguments: Vec<OsString>,
    environment: &'static [(&'static str, &'static str)],
    places: Vec<Worker>,
}

impl Workers {
    /// So many, of this program with these arguments.
    pub fn new(arguments: Vec<OsString>, number: usize) -> Self {
        Self { arguments, environment: &[], places: (0..number.max(1)).map(|_| Worker::default()).collect() }
    }

    /// The same with these variables in their environment.
    pub fn with_environment(mut self, environment: &'static [(&'static str, &'static str)]) -> Self {
        self.environment = environment;
        self
    }

    /// How many there are at most.
    pub fn number(&self) -> usize {
        self.places.len()
    }

    /// Has questions answered, and gives each answer with the question's place to `take` as it comes, and nothing now and then, until all are done, a
    /// signal comes, or `take` wants no more. `failed` stands for what a worker left that died; after an answer that `is_last` its worker is replaced.
    pub fn distribute<Q: Serialize + Sync, A: DeserializeOwned + Send>(
        &self,
        questions: &[Q],
        failed: impl Fn(usize, String) -> A + Sync,
        is_last: impl Fn(&A) -> bool + Sync,
        mut take: impl FnMut(Option<(usize, A)>) -> bool,
    ) -> anyhow::Result<()> {
        let next = AtomicUsize::new(0);
        let workers = &self.places[..self.number().min(questions.len())];
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            for worker in workers {
                let (sender, next, failed, is_last) = (sender.clone(), &next, &failed, &is_last);
                scope.spawn(move || {
                    let mut pipes = worker.held().pipes.take();
                    loop {
                        let place = next.fetch_add(1, Ordering::Relaxed);
                        let Some(question) = questions.get(place).filter(|_| !interrupted()) else { break };
                        let answer = worker.pipes(&mut pipes, self).map(|pipes| pipes.ask(question));
                        let outcome = match answer.context("failed to start a worker process") {
                            Ok(Ok(answer)) => {
                                if is_last(&answer) {
                                    pipes = None;
                                    worker.wait();
                                }
                                Ok((place, answer))
                            }
                            Ok(Err(_)) => {
                                pipes = None;
                                Ok((place, failed(place, worker.last_words())))
                            }
                            Err(error) => Err(error),
                        };
                        let stop = outcome.is_err() || interrupted();
                        if sender.send(outcome).is_err() || stop {
                            break;
                        }
                    }
                    worker.held().pipes = pipes;
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
            next.store(questions.len(), Ordering::Relaxed);
            // What was answered before the workers are killed counts.
            while let Ok(Ok(done)) = receiver.try_recv() {
                take(Some(done));
            }
            workers.iter().for_each(Worker::kill);
            outcome
        })
    }
}

impl Drop for Workers {
    /// Their input ends, and so do they.
    fn drop(&mut self) {
        for worker in &self.places {
            worker.held().pipes = None;
        }
        self.places.iter().for_each(Worker::wait);
    }
}

/// A worker process, or the place of one.
#[derive(Default)]
struct Worker(Mutex<Held>);

#[derive(Default)]
struct Held {
    process: Option<(Child, File)>,
    /// Those of the process, while nothing is asked.
    pipes: Option<Pipes>,
    /// No process is wanted any more.
    stopped: bool,
}

/// What a worker is asked by, and answers by.
struct Pipes {
    asked: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Pipes {
    fn ask<Q: Serialize, A: DeserializeOwned>(&mut self, question: &Q) -> anyhow::Result<A> {
        let mut question = serde_json::to_vec(question)?;
        question.push(b'\n');
        self.asked.write_all(&question)?;
        loop {
            let mut line = String::new();
            ensure!(self.answers.read_line(&mut line)? > 0, "it has ended");
            if let Ok(answer) = serde_json::from_str(&line) {
                return Ok(answer);
            }
        }
    }
}

impl Worker {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pipes of the process there is, or of a new one.
    fn pipes<'p>(&self, pipes: &'p mut Option<Pipes>, all: &Workers) -> anyhow::Result<&'p mut Pipes> {
        match pipes {
            Some(pipes) => Ok(pipes),
            none => Ok(none.insert(self.start(all)?)),
        }
    }

    fn start(&self, all: &Workers) -> anyhow::Result<Pipes> {
        // Its standard error is looked at only if it dies.
        let words = tempfile::tempfile()?;
        let mut command = Command::new(std::env::current_exe()?);
        // It works for this process alone.
        for variable in Launched::variables() {
            command.env_remove(variable);
        }
        command.args(&all.arguments).envs(all.environment.iter().copied());
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
