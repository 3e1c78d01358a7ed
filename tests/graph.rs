//! Graphs of launches: the bits of the launches in turn, for any graph and any number of queues. Graphs are `crates/kernels/src/backend/graph/`.

use std::sync::LazyLock;

use lanefield::backend::graph::{Fusion, Graph, GraphBuilder, GraphError, GraphLaunch, Slot};
use lanefield::backend::{AnyField, Backend, BackendError, FieldOn, HostField, OpenCl};
use lanefield::dynamic::AnyBackend;
use lanefield::kernel::blas::{AXPY, COPY, SCALE};
use lanefield::kernel::fusion::fusion;
use lanefield::kernel::prelude::*;
use lanefield::kernel::twisted_mass::{EO_TWISTED_MASS, EoTwistedMassBody, TWISTED_MASS_APPLY, TwistedMassApplyBody};
use lanefield::reference::field::{Field, FieldShape, SiteObject as _, Spinors};
use lanefield::reference::gauge::Configuration;
use lanefield::reference::kernels::Vectors;
use lanefield::reference::layout::{Extents, Lattice, LatticeOptions, Parity, Sites, Stencil};
use lanefield::reference::links::{BoundaryPhases, DoubledGauge, LinkFormat, double};
use lanefield::reference::real::{Precision, Real as _};
use num_complex::Complex;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::common::backends::{cpu, on_every_backend, opencl};

type On<B> = FieldOn<B, f64, Spinors>;

static TWISTED_TWICE: LazyLock<Fusion> = LazyLock::new(|| {
    fusion::<EoTwistedMassBody, TwistedMassApplyBody, 0, 2>(&EO_TWISTED_MASS, &TWISTED_MASS_APPLY).unwrap()
});

/// Fields that live longer than a graph, and those that live within a run.
const KEPT: usize = 3;
const WITHIN: usize = 4;

fn shape() -> FieldShape {
    let lattice = Lattice::new(Extents::new([4, 4, 2, 2]).unwrap(), f64::COMPLEX, LatticeOptions::default()).unwrap();
    FieldShape { lattice, sites: Sites::Full, object: Spinors::ONE.object(), precision: Precision::F64 }
}

fn field<B: Backend>(backend: &B, number: usize) -> On<B> {
    let values = |site: usize, words: &mut [Complex<f64>]| {
        for (k, word) in words.iter_mut().enumerate() {
            *word = Complex::new(0.1 * ((site * 7 + k * 3 + number) % 101) as f64, 1.0 / (1 + k + number) as f64);
        }
    };
    backend.upload(Field::from_sites(shape().lattice, Sites::Full, Spinors::ONE, values).unwrap()).unwrap()
}

/// A launch: to ← a · from, to ← a · from + to, or to ← from.
#[derive(Clone, Copy, Debug)]
struct Op {
    kind: usize,
    to: usize,
    from: usize,
    a: f64,
}

/// Those that make a graph: no field onto itself, and none that lives within a run before it is written.
fn sound(ops: &[Op]) -> Vec<Op> {
    let mut is_written = [[true; KEPT].as_slice(), &[false; WITHIN]].concat();
    let mut kept = Vec::new();
    for op in ops {
        let reads_nothing = !is_written[op.from] || (op.kind == 1 && !is_written[op.to]);
        if op.to != op.from && !reads_nothing {
            is_written[op.to] = true;
            kept.push(*op);
        }
    }
    kept
}

fn in_turn<B: Backend>(backend: &B, ops: &[Op], fields: &mut [On<B>]) {
    for &Op { kind, to, from, a } in ops {
        let mut out = std::mem::replace(&mut fields[to], field(backend, 0));
        match kind {
            0 => backend.scale(&mut out, a, &fields[from]),
            1 => backend.axpy(a, &fields[from], &mut out),
            _ => backend.copy(&mut out, &fields[from]),
        }
        .unwrap();
        fields[to] = out;
    }
}

fn graph_of<'b, B: Backend>(backend: &'b B, ops: &[Op], queues: usize) -> (Graph<'b, B>, Vec<Slot>) {
    let mut graph = GraphBuilder::new();
    let mut slots: Vec<Slot> = (0..KEPT).map(|number| graph.persistent(field(backend, number).into_any())).collect();
    slots.extend((0..WITHIN).map(|_| graph.scope(shape())));
    for &Op { kind, to, from, a } in ops {
        graph.launch(match kind {
            0 => GraphLaunch::new(&SCALE).write("out", slots[to]).read("x", slots[from]).scalar("a", a),
            1 => GraphLaunch::new(&AXPY).write("y", slots[to]).read("x", slots[from]).scalar("a", a),
            _ => GraphLaunch::new(&COPY).write("out", slots[to]).read("x", slots[from]),
        });
    }
    (graph.build(backend, queues).unwrap(), slots)
}

fn bits<B: Backend>(backend: &B, field: &AnyField<B::Storage>) -> Vec<u64> {
    let HostField::F64(host) = backend.load(field).unwrap() else { panic!("an f64 field") };
    host.reals().iter().map(|x| x.to_bits()).collect()
}

/// Runs the graph twice, and the launches in turn twice.
fn has_the_bits_of_its_launches_in_turn<B: Backend>(
    backend: &B,
    ops: &[Op],
    queues: usize,
) -> Result<(), TestCaseError> {
    let ops = sound(ops);
    let (mut graph, slots) = graph_of(backend, &ops, queues);
    let mut fields: Vec<On<B>> = (0..KEPT + WITHIN).map(|number| field(backend, number)).collect();
    for run in 0..2 {
        graph.run(backend).unwrap();
        in_turn(backend, &ops, &mut fields);
        for number in 0..KEPT {
            let of_graph = bits(backend, graph.field(slots[number]).unwrap());
            prop_assert_eq!(of_graph, bits(backend, fields[number].any()), "field {} after run {}", number, run);
        }
    }
    Ok(())
}

fn check<B: Backend>(backend: &B, cases: u32) {
    let op = (0..3usize, 0..KEPT + WITHIN, 0..KEPT + WITHIN, -1.25f64..1.25);
    let op = op.prop_map(|(kind, to, from, a)| Op { kind, to, from, a });
    let graphs = (proptest::collection::vec(op, 1..40), 1..5usize);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let test = |(ops, queues): (Vec<Op>, usize)| has_the_bits_of_its_launches_in_turn(backend, &ops, queues);
    TestRunner::new_with_rng(config, proptest::test_runner::TestRng::deterministic_rng(Default::default()))
        .run(&graphs, test)
        .unwrap();
}

#[test]
fn a_graph_has_the_bits_of_its_launches_in_turn_on_the_cpu_reference() {
    check(&cpu(), 24);
}

#[test]
fn a_graph_has_the_bits_of_its_launches_in_turn_on_several_queues() {
    let Some(device) = opencl() else { return };
    check(&device, 48);
    let before = device.context().memory_statistics().allocations();
    let ops: Vec<Op> = (0..20).map(|k| Op { kind: k % 2, to: k % 3, from: (k + 1) % 3, a: 0.5 }).collect();
    let (mut graph, _) = graph_of(&device, &ops, 3);
    for _ in 0..5 {
        graph.run(&device).unwrap();
    }
    // Memory of the graphs before.
    assert_eq!(device.context().memory_statistics().allocations(), before);
}

/// y ← a x + y and out ← a y, a hundred times with another a, beside launches one by one. Now and then another x is put in.
fn a_scalar_and_a_field_vary_between_runs<B: Backend>(backend: &B, queues: usize) {
    let mut graph = GraphBuilder::new();
    let [x, y] = [0, 1].map(|number| graph.persistent(field(backend, number).into_any()));
    let (out, a) = (graph.own(shape()), graph.scalar(0.0));
    graph.launch(GraphLaunch::new(&AXPY).write("y", y).read("x", x).varying("a", a));
    graph.launch(GraphLaunch::new(&SCALE).write("out", out).read("x", y).varying("a", a));
    let mut graph = graph.build(backend, queues).unwrap();
    let (mut of_x, mut of_y, mut of_out) = (field(backend, 0), field(backend, 1), field(backend, 2));
    for run in 0..100 {
        let value = 1.0 / (3.0 + run as f64) - 0.2;
        graph.set(a, value).unwrap();
        if run % 10 == 9 {
            of_x = field(backend, run);
            assert!(graph.put(x, field(backend, run).into_any()).unwrap().is_some());
        }
        graph.run(backend).unwrap();
        backend.axpy(value, &of_x, &mut of_y).unwrap();
        backend.scale(&mut of_out, value, &of_y).unwrap();
        if run % 10 == 9 || run < 3 {
            let found = [y, out].map(|slot| bits(backend, graph.field(slot).unwrap()));
            assert!(found == [&of_y, &of_out].map(|field| bits(backend, field.any())), "run {run}");
        }
    }
    let repetitions = graph.repetitions();
    assert!(repetitions == 0 || repetitions == 99, "{repetitions}");
}

fn scalars_and_fields_vary_between_runs(backend: &impl Backend) {
    a_scalar_and_a_field_vary_between_runs(backend, 1);
    a_scalar_and_a_field_vary_between_runs(backend, 2);
}

/// Each run after the first only queues what was kept: it allocates nothing, and looks for no program. Who looks at launches sees all of them.
#[test]
fn runs_after_the_first_repeat_kept_launches_without_preparation() {
    let Some(device) = opencl() else { return };
    let ops: Vec<Op> = (0..20).map(|k| Op { kind: k % 3, to: k % 3, from: (k + 1) % 3, a: 0.5 }).collect();
    for queues in [1, 3] {
        let (mut graph, slots) = graph_of(&device, &ops, queues);
        let mut fields: Vec<On<OpenCl>> = (0..KEPT + WITHIN).map(|number| field(&device, number)).collect();
        graph.run(&device).unwrap();
        let statistics = device.context().memory_statistics();
        for _ in 0..5 {
            graph.run(&device).unwrap();
        }
        assert_eq!((graph.repetitions(), device.context().memory_statistics()), (5, statistics));
        let launches = device.launches_of(&mut || graph.run(&device)).unwrap();
        assert_eq!((launches.len(), graph.repetitions()), (graph.launches(), 5));
        graph.run(&device).unwrap();
        assert_eq!(graph.repetitions(), 6);
        for _ in 0..8 {
            in_turn(&device, &ops, &mut fields);
        }
        for number in 0..KEPT {
            assert_eq!(bits(&device, graph.field(slots[number]).unwrap()), bits(&device, fields[number].any()));
        }
    }
}

/// Two chains that have nothing to do with each other, and one launch that joins them.
fn chains_run_on_queues_of_their_own_and_share_memory(backend: &impl Backend) {
    let mut ops = Vec::new();
    for step in 0..6 {
        ops.push(Op {
            kind: 0,
            to: if step == 5 { 1 } else { KEPT + step % 2 },
            from: if step == 0 { 0 } else { KEPT + (step - 1) % 2 },
            a: 1.5,
        });
        ops.push(Op {
            kind: 0,
            to: KEPT + 2 + step % 2,
            from: if step == 0 { 2 } else { KEPT + 2 + (step - 1) % 2 },
            a: 0.5,
        });
    }
    ops.push(Op { kind: 1, to: 1, from: KEPT + 3, a: 1.0 });
    let (graph, slots) = graph_of(backend, &ops, 4);
    assert_eq!((graph.launches(), graph.queues_used(), graph.waits()), (13, 2, 1));
    assert!(graph.places() <= KEPT + WITHIN);
    assert!(matches!(graph.field(slots[KEPT]), Err(GraphError::NoField { .. })));

    // A chain through many fields that live within a run takes two places.
    let mut chain = GraphBuilder::new();
    let (from, to) = (chain.persistent(field(backend, 0).into_any()), chain.own(shape()));
    let within: Vec<Slot> = (0..8).map(|_| chain.scope(shape())).collect();
    let all: Vec<Slot> = [from].into_iter().chain(within).chain([to]).collect();
    for pair in all.windows(2) {
        chain.launch(GraphLaunch::new(&SCALE).write("out", pair[1]).read("x", pair[0]).scalar("a", 2.0));
    }
    let mut chain = chain.build(backend, 2).unwrap();
    assert_eq!((chain.places(), chain.queues_used()), (4, 1));
    chain.run(backend).unwrap();
    let mut expected = field(backend, 0);
    backend.scale(&mut expected, 512.0, &field(backend, 0)).unwrap();
    assert_eq!(bits(backend, chain.field(to).unwrap()), bits(backend, expected.any()));

    // Another field in place of one that was handed in.
    assert!(chain.put(from, field(backend, 1).into_any()).unwrap().is_some());
    chain.run(backend).unwrap();
    backend.scale(&mut expected, 512.0, &field(backend, 1)).unwrap();
    assert_eq!(bits(backend, &chain.take(to).unwrap()), bits(backend, expected.any()));
    let error = chain.run(backend).unwrap_err();
    assert!(matches!(error.of_device(), Some(GraphError::NoField { .. })), "{error}");
}

fn what_makes_no_graph_is_an_error_that_says_which_launch(backend: &impl Backend) {
    fn build<'b, B: Backend>(backend: &'b B, launch: impl FnOnce([Slot; 2]) -> GraphLaunch<'b, B>) -> BackendError {
        let mut graph = GraphBuilder::new();
        let slots = [graph.own(shape()), graph.scope(shape())];
        graph.launch(launch(slots));
        graph.build(backend, 1).err().unwrap()
    }
    let error = build(backend, |[own, scope]| GraphLaunch::new(&COPY).write("out", own).read("x", scope));
    assert!(
        matches!(error.of_device(), Some(GraphError::NotWritten { launch: 0, kernel: "copy", field: "x" })),
        "{error}"
    );
    let error = build(backend, |[own, _]| GraphLaunch::new(&COPY).write("out", own).read("x", own));
    assert!(matches!(error.of_device(), Some(GraphError::Aliased { field: "out", .. })), "{error}");
    let of_another = {
        let mut other = GraphBuilder::<AnyBackend>::new();
        other.scalar(0.0);
        other.scalar(1.0)
    };
    let error = build(backend, |[own, scope]| {
        GraphLaunch::new(&SCALE).write("out", scope).read("x", own).varying("a", of_another)
    });
    assert_eq!(error.to_string(), "there is no scalar 1 in this graph, which has 0");
    let error = build(backend, |[own, scope]| GraphLaunch::new(&SCALE).write("out", scope).read("x", own));
    assert_eq!(error.to_string(), "argument a of scale is missing: expected a real number");
}

/// A hop with a factor, and another factor.
fn neighbouring_site_maps_become_one_with_the_same_bits(backend: &impl Backend) {
    fn of<B: Backend, R: Vectors>(backend: &B) -> [HostField; 2] {
        let extents = Extents::new([4, 4, 4, 4]).unwrap();
        let lattice = Lattice::new(extents, R::COMPLEX, LatticeOptions::default()).unwrap();
        let (configuration, odd) = (Configuration::weak(extents, 5, 0.4), Sites::Parity(Parity::Odd));
        let links = DoubledGauge { format: LinkFormat::Full, boundary: BoundaryPhases::ANTIPERIODIC_IN_TIME };
        let doubled = double::<R>(&configuration, lattice, odd, links).unwrap();
        let stencil = backend.stencil(Stencil::new(lattice, odd).unwrap()).unwrap();
        let psi = Field::<R, Spinors>::from_sites(lattice, odd.neighbours(), Spinors::ONE, |site, words| {
            for (k, word) in words.iter_mut().enumerate() {
                *word = Complex::new(R::from_f64((site % 13) as f64 - 6.0), R::from_f64(k as f64 / 8.0));
            }
        });
        let psi = psi.unwrap();
        let shape = FieldShape { lattice, sites: odd, object: Spinors::ONE.object(), precision: R::PRECISION };
        let mut fields = Vec::new();
        for fuse in [false, true] {
            let mut graph = GraphBuilder::new();
            let links = graph.persistent(backend.upload(doubled.clone()).unwrap().into_any());
            let psi = graph.persistent(backend.upload(psi.clone()).unwrap().into_any());
            let (between, out) = (graph.scope(shape), graph.own(shape));
            let [a, b] = [Complex::new(0.5, 0.25), Complex::new(-1.5, 0.3)];
            let hop = GraphLaunch::new(&EO_TWISTED_MASS).write("out", between).complex("a", a).read("links", links);
            graph.launch(hop.read("psi", psi).stencil(&stencil));
            graph.launch(GraphLaunch::new(&TWISTED_MASS_APPLY).write("out", out).complex("a", b).read("x", between));
            let made = if fuse { graph.fuse(&[&TWISTED_TWICE]) } else { 0 };
            let mut graph = graph.build(backend, 1).unwrap();
            assert_eq!((graph.launches(), graph.places(), made), if fuse { (1, 3, 1) } else { (2, 4, 0) });
            graph.run(backend).unwrap();
            fields.push(backend.load(graph.field(out).unwrap()).unwrap());
        }
        fields.try_into().unwrap()
    }
    let [HostField::F64(apart), HostField::F64(one)] = of::<_, f64>(backend) else { panic!("f64 fields") };
    assert_eq!(apart.reals(), one.reals());
    let [HostField::F32(apart), HostField::F32(one)] = of::<_, f32>(backend) else { panic!("f32 fields") };
    assert_eq!(apart.reals(), one.reals());
}

on_every_backend!(
    neighbouring_site_maps_become_one_with_the_same_bits,
    chains_run_on_queues_of_their_own_and_share_memory,
    what_makes_no_graph_is_an_error_that_says_which_launch,
    scalars_and_fields_vary_between_runs,
);
