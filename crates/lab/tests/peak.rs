//! The kernels that ceilings are measured with do what they are said to: results, and what is counted as read, written and computed. Never a
//! time.

use lanefield::backend::Cpu;
use lanefield::backend::opencl::{Buffer, Context, DeviceKind};
use lanefield_lab::bandwidth::{DeviceStreams, HostStreams, Operation, Shape, Walk, Way, random_word, random_words};
use lanefield_lab::peak::caches::{Reader, Sets};
use lanefield_lab::peak::intensity::Mixed;
use lanefield_lab::peak::latency::Chaser;
use lanefield_lab::peak::{Part, Peak, PeakOptions, Stored, chain};

use crate::common;

fn context() -> Option<Context> {
    Some(Context::open(&common::opencl_device()?).unwrap())
}

fn is_cpu(context: &Context) -> bool {
    context.info().kind == DeviceKind::Cpu
}

fn words<T: bytemuck::Pod>(context: &Context, buffer: &Buffer) -> Vec<T> {
    let mut words = vec![T::zeroed(); buffer.bytes() / size_of::<T>()];
    context.read(buffer, 0, bytemuck::cast_slice_mut(&mut words)).unwrap();
    words
}

/// Ways to go through memory, of one build: with and without a rest for the last elements, with more groups than there is work.
fn shapes() -> [Shape; 4] {
    let strided = Shape { at_once: 8, groups_a_unit: Some(3), ..Shape::PLAIN };
    [
        Shape::PLAIN,
        strided,
        Shape { walk: Walk::Chunk, ..strided },
        Shape { walk: Walk::Chunk, groups_a_unit: None, ..strided },
    ]
}

/// No multiple of a group's elements.
const AWKWARD: usize = 64 * 1777;

#[test]
fn buffers_are_filled_with_the_random_numbers_of_the_host() {
    let Some(context) = context() else { return };
    let buffer = random_words(&context, AWKWARD, 1000).unwrap();
    let expected: Vec<u32> = (1000..).take(AWKWARD / 4).map(random_word).collect();
    assert_eq!(words::<u32>(&context, &buffer), expected);
    let magnitudes = expected.iter().map(|&word| f32::from_bits(word).abs());
    assert!(magnitudes.clone().all(|x| (1.0..2.0).contains(&x)));
    let negative = expected.iter().filter(|&&word| f32::from_bits(word) < 0.0).count();
    assert!((expected.len() * 2 / 5..expected.len() * 3 / 5).contains(&negative), "{negative}");
}

#[test]
fn streams_in_any_shape_do_to_every_element_what_they_say() {
    let Some(context) = context() else { return };
    for shape in shapes() {
        let run = |operation, buffers| {
            let streams = DeviceStreams::new(&context, operation, AWKWARD).unwrap();
            assert_eq!(streams.bytes_moved(), buffers * AWKWARD);
            streams.run(&shape).unwrap();
            streams
        };
        let copy = run(Operation::Copy, 2);
        let [to, from] = [0, 1].map(|k| words::<u32>(&context, &copy.buffers[k]));
        assert!(to == from, "{shape}");
        let triad = run(Operation::Triad, 3);
        let [out, x, y] = [0, 1, 2].map(|k| words::<f32>(&context, &triad.buffers[k]));
        let wrong = (0..out.len()).find(|&k| out[k].to_bits() != 0.4f32.mul_add(y[k], x[k]).to_bits());
        assert_eq!(wrong, None, "a fused triad, {shape}");
        let written = words::<[u32; 4]>(&context, &run(Operation::Write, 1).buffers[0]);
        let wrong = (0..written.len()).find(|&k| written[k] != [(k as u32).wrapping_mul(2_654_435_761); 4]);
        assert_eq!(wrong, None, "a write, {shape}");
    }
}

#[test]
fn k_steps_with_factor_and_term_one_add_k_to_every_number() {
    let Some(context) = context() else { return };
    for stored in Stored::ALL {
        let mixed = Mixed::new(&context, stored, is_cpu(&context));
        let n = 2 * mixed.grain();
        let (x, out) = [(); 2].map(|()| context.allocate(n * stored.bytes(), "numbers").unwrap()).into();
        let number = |k: usize| (k % 100) as i16 - 50;
        let bytes: Vec<u8> = match stored {
            Stored::F32 => (0..n).flat_map(|k| f32::from(number(k)).to_ne_bytes()).collect(),
            Stored::F64 => (0..n).flat_map(|k| f64::from(number(k)).to_ne_bytes()).collect(),
            Stored::Half => (0..n).flat_map(|k| number(k).to_ne_bytes()).collect(),
        };
        context.write(&x, 0, &bytes).unwrap();
        for k in [0, 1, 13, 256] {
            mixed.run((&out, &x), n, (1.0, 1.0), k).unwrap();
            let found: Vec<f64> = match stored {
                Stored::F32 => words::<f32>(&context, &out).into_iter().map(f64::from).collect(),
                Stored::F64 => words::<f64>(&context, &out),
                Stored::Half => words::<i16>(&context, &out).into_iter().map(f64::from).collect(),
            };
            let wrong = (0..n).find(|&place| found[place] != f64::from(number(place)) + f64::from(k));
            assert_eq!(wrong, None, "{stored}, {k} steps");
        }
    }
}

#[test]
fn sets_are_read_as_often_as_is_counted_and_evenly() {
    let Some(context) = context() else { return };
    let reader = Reader::new(&context, is_cpu(&context), false).unwrap();
    let (number, bytes) = (2, 4096);
    let groups = reader.groups(number, 1024);
    // Numbers of which sums are exact, and different in the two sets.
    let memory: Vec<f32> = (0..number * bytes / 4).map(|k| if k < bytes / 4 { 1.0 } else { 3.0 }).collect();
    let sets = context.allocate(number * bytes, "sets").unwrap();
    context.write(&sets, 0, bytemuck::cast_slice(&memory)).unwrap();
    let out = context.allocate(reader.result_bytes(groups), "sums").unwrap();
    let (_, read) = reader.run((&out, &sets), Sets { bytes, number, read: 100_000 }, groups).unwrap();
    assert!((100_000..400_000).contains(&read) || read.is_multiple_of(reader.result_bytes(groups)), "{read}");
    let sum: f64 = words::<f32>(&context, &out).into_iter().map(f64::from).sum();
    // Each number is 4 bytes; half of the groups read ones, half threes.
    assert_eq!(sum, (read / 4) as f64 * 2.0);
}

#[test]
fn local_memory_is_read_as_often_as_is_counted() {
    let Some(context) = context() else { return };
    let reader = Reader::new(&context, is_cpu(&context), false).unwrap();
    let groups = reader.groups(1, 1024);
    let out = context.allocate(reader.result_bytes(groups), "sums").unwrap();
    let element = if is_cpu(&context) { 64 } else { 16 };
    let (_, read) = reader.run_local(&out, 4096, groups, 1 << 20).unwrap();
    assert!(read >= 1 << 20 && read.is_multiple_of(4096), "{read}");
    let sum: f64 = words::<f32>(&context, &out).into_iter().map(f64::from).sum();
    // Element k of a set holds k in each of its numbers, and every element is read equally often.
    let elements = 4096 / element;
    let mean = (elements - 1) as f64 / 2.0;
    assert_eq!(sum, (read / 4) as f64 * mean);
}

#[test]
fn a_chase_comes_to_every_line_once() {
    let Some(context) = context() else { return };
    let chaser = Chaser::new(&context).unwrap();
    let next = chain(64 << 10, 64);
    let buffer = chaser.upload(&next).unwrap();
    let lines = (next.len() / 16) as u32;
    let (_, visited) = chaser.run(&buffer, 0, lines).unwrap();
    // Places 0, 16, 32, …
    let sum = 16 * (u64::from(lines) * (u64::from(lines) - 1) / 2);
    assert_eq!((visited.at, u64::from(visited.sum)), (0, sum));
    assert_ne!(chaser.run(&buffer, 0, lines - 8).unwrap().1.at, 0);

    let next = chain(1024, 4);
    let buffer = chaser.upload(&next).unwrap();
    let (_, visited) = chaser.run_local(&buffer, 256, 256).unwrap();
    assert_eq!((visited.at, visited.sum), (0, 255 * 256 / 2));
}

#[test]
fn a_triad_of_the_hosts_threads_is_fused_and_a_copy_is_one_in_each_way() {
    let cpu = Cpu::new(None).unwrap();
    let n = AWKWARD as u32 / 4;
    let number = |place: u32| f32::from_bits(random_word(place));
    let triad = (0..n).map(|k| 0.4f32.mul_add(number(2 * n + k), number(n + k)).to_bits()).collect();
    let copy = (n..2 * n).map(random_word).collect();
    let cases: [(Operation, Vec<u32>); 2] = [(Operation::Triad, triad), (Operation::Copy, copy)];
    for (operation, expected) in cases {
        for &way in Way::of(operation) {
            let found = cpu.install(|| {
                let mut streams = HostStreams::new(operation, AWKWARD).unwrap();
                streams.run(way);
                bytemuck::cast_slice::<u64, u32>(streams.target()).to_vec()
            });
            assert!(found == expected, "{operation}, {way}");
        }
    }
}

#[test]
fn what_was_measured_is_read_back_from_json() {
    let options = PeakOptions { quick: true, most_bytes: Some(64 << 10), parts: Part::ALL.to_vec() };
    let cpu = Cpu::new(None).unwrap();
    let mut told = Vec::new();
    let peak = Peak::measure_cpu(&cpu, &options, |progress| {
        told.push(progress.now.to_owned());
        true
    });
    let peak = peak.unwrap();
    told.dedup();
    assert_eq!(told, Part::ALL.map(|part| part.to_string()));
    let json = serde_json::to_value(&peak).unwrap();
    // Bytes and seconds, whatever the tables are in.
    let read = json["read_bytes_per_second"].as_f64().unwrap();
    assert!((read - 1e9 * peak.read_gb_per_second.unwrap()).abs() < 1.0, "{json}");
    let launch = json["launch_seconds"].as_f64().unwrap();
    assert!((launch - 1e-6 * peak.launch_microseconds.unwrap()).abs() < 1e-15, "{json}");
    for figure in
        [peak.read_gb_per_second, peak.copy_gb_per_second, peak.f64_gflop_per_second, peak.launch_microseconds]
    {
        assert!(figure.is_some_and(|figure| figure > 0.0), "{figure:?}");
    }
    assert_eq!((peak.buffer_bytes, peak.transfers.len(), peak.local_gb_per_second), (64 << 10, 0, None));
}
