//! A small timeline of a trace: how each track spent its time, in a few hundred columns, and the middle of the device's run, command by command.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;

use super::frame::Size;
use super::words::{list, seconds};

/// Of the names in front of tracks; on a phone they stand above them.
const LABELS: f64 = 172.0;
const ABOVE: f64 = 16.0;
const COLUMNS: usize = 500;
const TRACK: f64 = 22.0;
const GAP: f64 = 6.0;
/// Number of commands in the closer view.
const CLOSE: usize = 40;
/// Colours for the names that take longest; all others share one.
const COLOURS: usize = 8;

#[derive(Serialize, Debug)]
pub(super) struct Timeline {
    title: String,
    width: f64,
    height: f64,
    track: f64,
    tracks: Vec<Track>,
    ticks: Vec<(f64, String)>,
    legend: Vec<(usize, String)>,
    /// From the top of a track to the line on which its name stands.
    name: f64,
    /// The same for a phone.
    narrow: Option<Box<Self>>,
}

#[derive(Serialize, Debug)]
struct Track {
    label: String,
    y: f64,
    slices: Vec<Slice>,
}

#[derive(Serialize, Debug)]
struct Slice {
    x: f64,
    width: f64,
    colour: usize,
    tip: String,
}

struct Event<'a> {
    name: &'a str,
    track: (u64, u64),
    start: f64,
    end: f64,
}

/// The whole run, and its middle; empty if the trace has no slices.
pub(super) fn timelines(trace: &Value) -> Vec<Timeline> {
    let events = list(&trace["traceEvents"]);
    let names = track_names(events);
    let mut slices: Vec<Event<'_>> = events.iter().filter_map(slice).collect();
    slices.sort_by(|a, b| a.start.total_cmp(&b.start));
    let (Some(first), Some(last)) = (slices.first(), slices.iter().map(|event| event.end).reduce(f64::max)) else {
        return Vec::new();
    };
    let whole = (first.start, last.max(first.start + 1e-3));
    let colours = colours(&slices);
    let both = |title: &str, span: (f64, f64)| {
        let of_size = |size: Size| chart(size, title, &slices, span, &names, &colours);
        Timeline { narrow: Some(Box::new(of_size(Size::Narrow))), ..of_size(Size::Wide) }
    };
    let mut charts = vec![both("The whole run", whole)];
    let device: Vec<&Event<'_>> = slices.iter().filter(|event| event.track.0 != 1).collect();
    if device.len() > 2 * CLOSE {
        let middle = &device[device.len() / 2 - CLOSE / 2..device.len() / 2 + CLOSE / 2];
        let end = middle.iter().map(|event| event.end).fold(middle[0].start, f64::max);
        let title = format!("{CLOSE} commands in the middle of the run");
        charts.push(both(&title, (middle[0].start, end.max(middle[0].start + 1e-3))));
    }
    charts
}

fn slice(event: &Value) -> Option<Event<'_>> {
    let start = event["ts"].as_f64()?;
    let track = (event["pid"].as_u64().unwrap_or(0), event["tid"].as_u64().unwrap_or(0));
    let end = start + event["dur"].as_f64()?.max(0.0);
    (event["ph"] == "X").then_some(Event { name: event["name"].as_str().unwrap_or_default(), track, start, end })
}

/// "process, thread" of each track.
fn track_names(events: &[Value]) -> HashMap<(u64, u64), String> {
    let named = |what: &str| -> HashMap<(u64, u64), &str> {
        let of = events.iter().filter(|event| event["ph"] == "M" && event["name"] == what);
        of.filter_map(|event| {
            let track = (event["pid"].as_u64()?, event["tid"].as_u64().unwrap_or(0));
            Some((track, event["args"]["name"].as_str()?))
        })
        .collect()
    };
    let processes: HashMap<u64, &str> = named("process_name").into_iter().map(|((pid, _), name)| (pid, name)).collect();
    let threads = named("thread_name");
    let short = |name: &str| match name.chars().count() {
        0..=16 => name.to_owned(),
        _ => name.chars().take(15).chain(['…']).collect::<String>(),
    };
    threads
        .into_iter()
        .map(|(track, name)| match (track.0, processes.get(&track.0)) {
            (1, _) | (_, None) => (track, format!("host, {}", short(name))),
            (_, Some(process)) => (track, format!("{}: {}", short(process), short(name))),
        })
        .collect()
}

/// Names by the time that they take, in descending order. The span of the whole command contains all others.
fn colours<'a>(slices: &[Event<'a>]) -> Vec<&'a str> {
    let mut totals: HashMap<&str, f64> = HashMap::new();
    for event in slices.iter().filter(|event| event.name != "command") {
        // The work of devices is the most interesting.
        let weight = if event.track.0 == 1 { 1e-3 } else { 1.0 };
        *totals.entry(event.name).or_default() += (event.end - event.start) * weight;
    }
    let mut names: Vec<(&str, f64)> = totals.into_iter().collect();
    names.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    names.into_iter().take(COLOURS).map(|(name, _)| name).collect()
}

fn chart(
    size: Size,
    title: &str,
    slices: &[Event<'_>],
    (from, to): (f64, f64),
    names: &HashMap<(u64, u64), String>,
    colours: &[&str],
) -> Timeline {
    let mut ids: Vec<(u64, u64)> = slices.iter().map(|event| event.track).collect();
    ids.sort_unstable();
    ids.dedup();
    let width = size.width();
    let (left, above) = if size == Size::Wide { (LABELS, 0.0) } else { (0.0, ABOVE) };
    let x = |at: f64| left + (at - from) / (to - from) * (width - left);
    let tracks: Vec<Track> = ids
        .iter()
        .enumerate()
        .map(|(number, id)| {
            let events = slices.iter().filter(|event| event.track == *id && event.end >= from && event.start <= to);
            let label = names.get(id).cloned().unwrap_or_else(|| format!("{}, {}", id.0, id.1));
            let y = GAP + above + number as f64 * (TRACK + GAP + above);
            Track { label, y, slices: columns(events, (from, to), &x, colours) }
        })
        .collect();
    let height = GAP + tracks.len() as f64 * (TRACK + GAP + above) + 22.0;
    let parts = if size == Size::Wide { 4 } else { 2 };
    let tick = |part: i32| {
        let at = f64::from(part) / f64::from(parts) * (to - from);
        (x(from + at), if part == 0 { "0".to_owned() } else { seconds(at * 1e-6) })
    };
    let ticks = (0..=parts).map(tick).collect();
    let legend = colours.iter().enumerate().map(|(number, name)| (number + 1, (*name).to_owned())).collect();
    let name = if size == Size::Wide { 15.0 } else { -4.0 };
    Timeline { title: title.to_owned(), width, height, track: TRACK, tracks, ticks, legend, name, narrow: None }
}

/// A track's time in columns: each shows the name that took most of it; adjacent columns with the same name become one slice.
fn columns<'a, 'e: 'a>(
    events: impl Iterator<Item = &'a Event<'e>>,
    (from, to): (f64, f64),
    x: &dyn Fn(f64) -> f64,
    colours: &[&str],
) -> Vec<Slice> {
    let width = (to - from) / COLUMNS as f64;
    let mut taken: Vec<HashMap<&str, f64>> = vec![HashMap::new(); COLUMNS];
    let mut nested: Vec<&Event<'_>> = events.collect();
    // Inner spans count more than those around them.
    nested.sort_by(|a, b| (b.end - b.start).total_cmp(&(a.end - a.start)));
    for event in nested {
        let [first, last] =
            [event.start, event.end].map(|at| ((at - from) / width).clamp(0.0, COLUMNS as f64 - 1.0) as usize);
        for (column, names) in taken.iter_mut().enumerate().take(last + 1).skip(first) {
            let (begin, end) = (from + column as f64 * width, from + (column + 1) as f64 * width);
            let covered = event.end.min(end) - event.start.max(begin);
            if covered >= 0.99 * width {
                names.clear();
            }
            *names.entry(event.name).or_default() += covered.max(0.0);
        }
    }
    let mut slices: Vec<(usize, usize, &str, f64)> = Vec::new();
    for (column, names) in taken.iter().enumerate() {
        let busy: f64 = names.values().sum();
        let Some((name, _)) = names.iter().max_by(|(a, x), (b, y)| x.total_cmp(y).then(b.cmp(a))) else { continue };
        if busy < 0.02 * width {
            continue;
        }
        match slices.last_mut() {
            Some((_, end, last, time)) if *end == column && last == name => {
                *end += 1;
                *time += busy;
            }
            _ => slices.push((column, column + 1, *name, busy)),
        }
    }
    slices
        .into_iter()
        .map(|(first, end, name, busy)| {
            let [start, stop] = [first, end].map(|column| x(from + column as f64 * width));
            let colour = colours.iter().position(|known| *known == name).map_or(0, |number| number + 1);
            Slice { x: start, width: stop - start, colour, tip: format!("{name}, {} busy", seconds(busy * 1e-6)) }
        })
        .collect()
}
