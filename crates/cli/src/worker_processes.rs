//! Worker processes, which run this program too. A first run spends most of its time on building programs, and a driver builds only one at a time
//! in a process. If a driver crashes, only its worker ends, and not the run.
//!
//! A worker reads a question, a line of JSON, from its standard input, and answers with another line. Other lines come from drivers, and are
//! ignored. When its input ends, a worker finishes its question and ends, so none outlives the program for long.

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

/// The default for the largest number of worker processes, each of which has its own context on the device.
const MOST_JOBS: usize = 8;
/// The longest time that a signal waits.
const PATIENCE: Duration = Duration::from_millis(100);
/// The longest quotation of a worker's last output, in bytes.
const LAST_WORDS: u64 = 2000;

/// The cores of this machine that the process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The default number of worker processes.
pub fn usual_jobs() -> usize {
    cores().min(MOST_JOBS)
}

/// The text after a number of tasks in this many worker processes; empty for one.
pub fn in_processes(jobs: usize) -> String {
    if jobs > 1 { format!(", in {jobs} worker processes") } else { String::new() }
}

/// Answers questions from standard input on standard output.
pub fn answer<Q: DeserializeOwned, A: Serialize>(mut run: impl FnMut(Q) -> A) -> anyhow::Result<()> {
    for line in std::io::stdin().lines() {
        let line = line.context("failed to read a question")?;
        let question =
            serde_json::from_str(&line).with_context(|| format!("'{line}' is not a question to a worker"))?;
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, &run(question))?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}

/// Processes that start when they are first needed, and run until this is dropped.
pub struct Workers {
    arguments: Vec<OsString>,
    environment: &'static [(&'static str, &'static str)],
    places: Vec<Worker>,
}

impl Workers {
    /// This number of workers, which run this program with these arguments.
    pub fn new(arguments: Vec<OsString>, number: usize) -> Self {
        Self { arguments, environment: &[], places: (0..number.max(1)).map(|_| Worker::default()).collect() }
    }

    /// The same workers with these variables in their environment.
    pub fn with_environment(mut self, environment: &'static [(&'static str, &'static str)]) -> Self {
        self.environment = environment;
        self
    }

    /// The largest number of workers.
    pub fn number(&self) -> usize {
        self.places.len()
    }

    /// Distributes questions to workers. `take` receives each answer with the number of its question as it comes, and nothing from time to time.
    /// This ends when all are answered, when a signal comes, or when `take` wants no more. `failed` makes an answer for a worker that died.
    /// After an answer that `is_last`, its worker is replaced.
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
            // Answers that came before the workers are killed count.
            while let Ok(Ok(done)) = receiver.try_recv() {
                take(Some(done));
            }
            workers.iter().for_each(Worker::kill);
            outcome
        })
    }
}

impl Drop for Workers {
    /// Closes the workers' input, which ends them.
    fn drop(&mut self) {
        for worker in &self.places {
            worker.held().pipes = None;
        }
        self.places.iter().for_each(Worker::wait);
    }
}

/// A worker process, or a place for one.
#[derive(Default)]
struct Worker(Mutex<Held>);

#[derive(Default)]
struct Held {
    process: Option<(Child, File)>,
    /// The pipes of the process, while no question is pending.
    pipes: Option<Pipes>,
    /// No more processes are wanted.
    stopped: bool,
}

/// The pipes for questions and answers.
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

    /// The pipes of the present process, or of a new one.
    fn pipes<'p>(&self, pipes: &'p mut Option<Pipes>, all: &Workers) -> anyhow::Result<&'p mut Pipes> {
        match pipes {
            Some(pipes) => Ok(pipes),
            none => Ok(none.insert(self.start(all)?)),
        }
    }

    fn start(&self, all: &Workers) -> anyhow::Result<Pipes> {
        // Its standard error is read only if it dies.
        let words = tempfile::tempfile()?;
        let mut command = Command::new(std::env::current_exe()?);
        // The worker belongs to this process alone, not to a launcher.
        for variable in Launched::variables() {
            command.env_remove(variable);
        }
        command.args(&all.arguments).envs(all.environment.iter().copied());
        // Ctrl-C in a terminal is only for the program.
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

    /// How a process that did not answer ended, and its last output.
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
        // It does not wait indefinitely, because the process may have to be killed meanwhile.
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
