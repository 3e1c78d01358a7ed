//! A recording in the trace format of Chrome, which Perfetto (<https://ui.perfetto.dev>) opens. Process 1 is the host, with a track for each
//! thread. Each device is a process, with a track of what runs, and counters of commands in its queue, of memory in use, and of bytes and
//! operations so far. Format: "Trace Event Format", Google. Times are in microseconds.

use std::io::{self, Write};

use lanefield::backend::timeline::{Command, CommandKind, Group, Recording};
use serde::Serialize;
use serde_json::{Value, json};

use super::hotspots::hotspots;

const HOST: usize = 1;
/// The largest number of processes in the trace for one of several processes: itself and its devices.
const PROCESSES: usize = 1000;

#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'a str>,
    ph: &'static str,
    pid: usize,
    tid: usize,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
}

fn microseconds(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e3
}

struct Events<'a> {
    out: &'a mut dyn Write,
    any: bool,
    /// Added to process numbers.
    first: usize,
    prefix: String,
}

impl Events<'_> {
    fn all_of(&mut self, recording: &Recording, process: &str) -> io::Result<()> {
        host(self, recording, process)?;
        recording
            .queues
            .iter()
            .enumerate()
            .try_for_each(|(queue, device)| device_events(self, recording, queue, device))
    }

    fn put(&mut self, event: Event<'_>) -> io::Result<()> {
        self.out.write_all(if self.any { b",\n" } else { b"\n" })?;
        self.any = true;
        let event = Event { pid: self.first + event.pid, ..event };
        serde_json::to_writer(&mut *self.out, &event).map_err(io::Error::from)
    }

    fn named(&mut self, what: &'static str, pid: usize, tid: usize, name: &str) -> io::Result<()> {
        let prefix = if what == "process_name" { &*self.prefix } else { "" };
        let args = json!({ "name": format!("{prefix}{name}") });
        self.put(Event { name: what, cat: None, ph: "M", pid, tid, ts: 0.0, dur: None, args })
    }

    /// A slice on a track of a process, from one time to another.
    fn slice(
        &mut self,
        (name, group): (&str, Group),
        (pid, tid): (usize, usize),
        [start, end]: [i64; 2],
        args: Value,
    ) -> io::Result<()> {
        let (ts, dur) = (microseconds(start), Some(microseconds(end - start)));
        self.put(Event { name, cat: Some(group.name()), ph: "X", pid, tid, ts, dur, args })
    }

    fn counter(&mut self, name: &str, pid: usize, at: i64, args: Value) -> io::Result<()> {
        self.put(Event { name, cat: None, ph: "C", pid, tid: 0, ts: microseconds(at), dur: None, args })
    }
}

/// The events of a recording for a trace that another process writes, in which this one has a number. Times start at the beginning of its
/// recording.
pub fn chrome_events(recording: &Recording, process: &str, number: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut events =
        Events { out: &mut bytes, any: true, first: number * PROCESSES, prefix: format!("rank {number}: ") };
    events.all_of(recording, process)?;
    Ok(bytes)
}

/// Writes a recording of `process` with its hotspots, and the events of other processes ([`chrome_events`]).
pub fn write_chrome(recording: &Recording, process: &str, others: &[Vec<u8>], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"kind\":\"trace\",\"command\":{},\"displayTimeUnit\":\"ns\",", Value::from(process))?;
    write!(out, "\"devices\":{},\"hotspots\":", Value::from(recording.queues.clone()))?;
    serde_json::to_writer(&mut *out, &hotspots(recording)).map_err(io::Error::from)?;
    out.write_all(b",\"traceEvents\":[")?;
    let prefix = if others.is_empty() { String::new() } else { "rank 0: ".to_owned() };
    let mut events = Events { out, any: false, first: 0, prefix };
    events.all_of(recording, process)?;
    others.iter().try_for_each(|other| events.out.write_all(other))?;
    events.out.write_all(b"\n]}\n")
}

fn host(events: &mut Events<'_>, recording: &Recording, process: &str) -> io::Result<()> {
    events.named("process_name", HOST, 0, process)?;
    for (tid, name) in recording.threads.iter().enumerate() {
        events.named("thread_name", HOST, tid + 1, name)?;
    }
    for span in &recording.spans {
        let what = (recording.name(span.name), span.group);
        events.slice(what, (HOST, span.thread + 1), [span.start, span.end], Value::Null)?;
    }
    Ok(())
}

fn device_events(events: &mut Events<'_>, recording: &Recording, queue: usize, device: &str) -> io::Result<()> {
    let pid = HOST + 1 + queue;
    events.named("process_name", pid, 0, device)?;
    let mut commands: Vec<&Command> = recording.commands.iter().filter(|command| command.queue == queue).collect();
    commands.sort_by_key(|command| command.stages.started);
    // If a launch starts before the previous one ends, one track cannot show both, because slices of a track nest.
    let mut tracks: Vec<i64> = Vec::new();
    for command in &commands {
        let stages = command.stages;
        let track = tracks.iter().position(|&until| until <= stages.started).unwrap_or_else(|| {
            tracks.push(i64::MIN);
            tracks.len() - 1
        });
        tracks[track] = stages.ended;
        let what = (recording.name(command.name), command.kind.group());
        events.slice(what, (pid, track + 1), [stages.started, stages.ended], arguments(command))?;
    }
    for track in 0..tracks.len() {
        let name = if track == 0 { "running".to_owned() } else { format!("running at the same time, {}", track + 1) };
        events.named("thread_name", pid, track + 1, &name)?;
    }
    counters(events, recording, queue, &commands)
}

fn arguments(command: &Command) -> Value {
    let Command { kind, stages, work, call, .. } = command;
    let mut arguments = json!({
        "queued_us": microseconds(stages.queued),
        "submitted_us": microseconds(stages.submitted),
        "waited_us": microseconds(stages.started - stages.queued),
        "call_us": microseconds(*call),
    });
    if let CommandKind::Kernel { global, local } = kind {
        arguments["global"] = json!(global);
        arguments["local"] = json!(local);
    }
    let seconds = stages.seconds();
    for (amount, name, rate) in [(work.bytes, "bytes", "bytes_per_second"), (work.flops, "flops", "flops_per_second")] {
        if amount > 0 {
            arguments[name] = json!(amount);
            if seconds > 0.0 {
                arguments[rate] = json!(amount as f64 / seconds);
            }
        }
    }
    arguments
}

/// Commands in the queue, bytes and operations so far, and memory in use.
fn counters(events: &mut Events<'_>, recording: &Recording, queue: usize, commands: &[&Command]) -> io::Result<()> {
    let pid = HOST + 1 + queue;
    let mut steps: Vec<(i64, i64)> =
        commands.iter().flat_map(|command| [(command.stages.queued, 1), (command.stages.ended, -1)]).collect();
    steps.sort_unstable();
    let mut waiting = 0;
    for (at, step) in steps {
        waiting += step;
        events.counter("commands in the queue", pid, at, json!({ "commands": waiting }))?;
    }
    let mut by_end = commands.to_vec();
    by_end.sort_by_key(|command| command.stages.ended);
    let (mut bytes, mut flops) = (0, 0);
    for command in by_end {
        let (work, at) = (command.work, command.stages.ended);
        bytes += work.bytes;
        flops += work.flops;
        if work.bytes > 0 {
            events.counter("bytes moved", pid, at, json!({ "bytes": bytes }))?;
        }
        if work.flops > 0 {
            events.counter("operations", pid, at, json!({ "flops": flops }))?;
        }
    }
    for held in recording.held.iter().filter(|held| held.queue == queue) {
        events.counter("memory held", pid, held.at, json!({ "bytes": held.bytes }))?;
    }
    Ok(())
}
