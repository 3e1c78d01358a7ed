use super::*;

fn stages(started: i64, ended: i64) -> Stages {
    Stages { queued: started - 20, submitted: started - 10, started, ended }
}

fn command(name: NameId, started: i64, ended: i64) -> Command {
    let kind = CommandKind::Kernel { global: [8, 1, 1], local: [4, 1, 1] };
    Command { queue: 0, kind, name, stages: stages(started, ended), work: Work { flops: 10, bytes: 100 }, call: 3 }
}

#[test]
fn totals_are_the_sums_of_what_was_recorded() {
    let timeline = Timeline::new(true);
    let [hop, axpy] = ["hop", "axpy"].map(|name| timeline.name(name));
    timeline.add_commands([command(hop, 100, 200), command(axpy, 200, 230), command(hop, 230, 530)]);
    let recording = timeline.recording();
    assert_eq!(recording.commands.len(), 3);
    let (group, name, total) = recording.totals[0];
    assert_eq!((group, recording.name(name)), (Group::Kernel, "hop"));
    assert_eq!((total.calls, total.work), (2, Work { flops: 20, bytes: 200 }));
    for (seconds, nanoseconds) in [(total.least, 100.0), (total.most, 300.0), (total.seconds, 400.0)] {
        assert!((seconds * 1e9 - nanoseconds).abs() < 1e-6, "{total:?}");
    }
}

#[test]
fn without_events_the_totals_are_kept_alone() {
    let timeline = Timeline::new(false);
    let hop = timeline.name("hop");
    timeline.add_commands([command(hop, 100, 200)]);
    timeline.add_held(0, 1 << 20);
    drop(timeline.span(Group::File, "read"));
    let recording = timeline.recording();
    assert!(recording.commands.is_empty() && recording.held.is_empty() && recording.spans.is_empty());
    assert_eq!(recording.totals.len(), 2);
}

#[test]
fn a_span_inside_another_begins_after_it_and_ends_before_it() {
    let timeline = Timeline::new(true);
    {
        let _outer = timeline.span(Group::Host, "outer");
        let _inner = timeline.span(Group::Wait, "inner");
    }
    let recording = timeline.recording();
    let [inner, outer] = recording.spans[..] else { panic!("{recording:?}") };
    assert_eq!([inner, outer].map(|span| recording.name(span.name)), ["inner", "outer"]);
    assert!(outer.start <= inner.start && inner.end <= outer.end && inner.thread == outer.thread);
}

#[test]
fn what_is_announced_is_taken_once() {
    announce(Work { flops: 1, bytes: 2 });
    assert_eq!(taken(), Work { flops: 1, bytes: 2 });
    assert_eq!(taken(), Work::default());
}
