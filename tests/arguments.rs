//! Calls whose arguments do not fit the roles that a kernel's specification gives them: each is refused before anything is launched, with the
//! kernel, the argument, what was given, and what would be right.

use lanefield::backend::opencl::DeviceError;
use lanefield::kernel::{self, ArgumentValue, Arguments, Kernel};
use lanefield::prelude::*;
use lanefield_reference::field::{CloverBlocks, DoubledGauge, FieldError};
use lanefield_reference::kernels::domain_wall::{InverseForm, MobiusCoefficients};
use lanefield_reference::kernels::hop::HopTerm;
use lanefield_reference::layout::{LegOrder, Stencil};
use lanefield_reference::real::Real as _;

use crate::common::backends::on_every_backend;
use crate::common::fields::{EVEN, ODD};

fn lattice() -> Lattice {
    Lattice::new(Extents::new([4, 4, 4, 4]).unwrap(), f32::COMPLEX, LatticeOptions::default()).unwrap()
}

fn spinors<B: Backend>(backend: &B, sites: Sites, count: usize) -> FieldOn<B, f32, Spinors> {
    backend.zeros(lattice(), sites, Spinors::new(count)).unwrap()
}

fn links<B: Backend>(backend: &B, sites: Sites) -> FieldOn<B, f32, DoubledGauge> {
    let kind = DoubledGauge { format: LinkFormat::Full, boundary: BoundaryPhases::PERIODIC };
    backend.zeros(lattice(), sites, kind).unwrap()
}

fn stencil<B: Backend>(backend: &B, sites: Sites) -> B::Table {
    backend.stencil(Stencil::new(lattice(), sites).unwrap()).unwrap()
}

/// What was refused: kernel, argument, and the whole message.
#[track_caller]
fn refused<T>(outcome: Result<T, BackendError>, kernel: &str, argument: &str, words: &[&str]) {
    let Err(error) = outcome else { panic!("{argument} of {kernel} was taken") };
    let text = error.to_string();
    match &error {
        BackendError::Argument { kernel: of, argument: wrong, .. } => {
            assert_eq!((*of, &wrong[..]), (kernel, argument), "{text}");
        }
        _ => panic!("{text}"),
    }
    for words in words {
        assert!(text.contains(words), "'{words}' is not in '{text}'");
    }
}

/// Arguments of a hop, of which a test leaves out or exchanges some.
fn hop<'a, B: Backend>(
    kernel: &'static Kernel,
    out: &'a mut FieldOn<B, f32, Spinors>,
    links: &'a FieldOn<B, f32, DoubledGauge>,
    source: &'a FieldOn<B, f32, Spinors>,
    stencil: &'a B::Table,
) -> Arguments<'a, B> {
    Arguments::new(kernel).write("out", out).read("links", links).read("in", source).stencil(stencil)
}

const HOP: &Kernel = &kernel::hop::HOP;

fn what_is_missing_is_named<B: Backend>(backend: &B) {
    let (mut out, links, source) = (spinors(backend, EVEN, 1), links(backend, EVEN), spinors(backend, ODD, 1));
    let stencil = stencil(backend, EVEN);
    backend.launch(hop(HOP, &mut out, &links, &source, &stencil).call().unwrap()).unwrap();

    let no_out = Arguments::<B>::new(HOP).read("links", &links).read("in", &source).stencil(&stencil).call();
    refused(no_out.map(drop), "hop", "out", &["missing", "a field that is written"]);
    let no_links = Arguments::<B>::new(HOP).write("out", &mut out).read("in", &source).stencil(&stencil).call();
    refused(no_links.map(drop), "hop", "links", &["missing", "a field that is read"]);
    let no_stencil = Arguments::<B>::new(HOP).write("out", &mut out).read("links", &links).read("in", &source).call();
    refused(no_stencil.map(drop), "hop", "stencil", &["missing", "a stencil"]);
    let [x, mut y] = [1, 1].map(|count| spinors(backend, EVEN, count));
    let no_scalar = Arguments::<B>::new(&kernel::blas::AXPY).write("y", &mut y).read("x", &x).call();
    refused(no_scalar.map(drop), "axpy", "a", &["missing", "a real number"]);
    let nothing =
        Arguments::<B>::new(&kernel::reduce::INNER_PRODUCTS).value("xs", ArgumentValue::Reads(vec![])).read("y", &y);
    refused(nothing.call().map(drop), "inner_products", "xs", &["0 fields that are read", "1 to 4 fields"]);
    let five = ArgumentValue::Reads(vec![x.any(); 5]);
    let five = Arguments::<B>::new(&kernel::reduce::INNER_PRODUCTS).value("xs", five).read("y", &y);
    refused(five.call().map(drop), "inner_products", "xs", &["5 fields that are read", "1 to 4 fields"]);
}

fn what_is_no_argument_or_given_twice_is_named<B: Backend>(backend: &B) {
    let [x, z, mut y] = [1, 1, 1].map(|count| spinors(backend, EVEN, count));
    let unknown = Arguments::<B>::new(&kernel::blas::COPY).write("out", &mut y).read("x", &x).read("z", &z).call();
    refused(unknown.map(drop), "copy", "z", &["no argument of this name"]);
    let twice = Arguments::<B>::new(&kernel::blas::COPY).write("out", &mut y).read("x", &x).read("x", &z).call();
    refused(twice.map(drop), "copy", "x", &["given twice"]);
    let wrong = Arguments::<B>::new(&kernel::blas::SCALE).write("out", &mut y).read("x", &x).read("a", &z).call();
    refused(wrong.map(drop), "scale", "a", &["a field that is read", "a real number"]);
    let read = Arguments::<B>::new(&kernel::blas::COPY).read("out", &z).read("x", &x).call();
    refused(read.map(drop), "copy", "out", &["a field that is read", "a field that is written"]);
    let written =
        Arguments::<B>::new(&kernel::blas::COPY).write("out", &mut y).value("x", ArgumentValue::Scalar(1.0)).call();
    refused(written.map(drop), "copy", "x", &["a real number", "a field that is read"]);
}

fn buffers_that_are_exchanged_are_named<B: Backend>(backend: &B) {
    let (mut out, links, source) = (spinors(backend, EVEN, 1), links(backend, EVEN), spinors(backend, ODD, 1));
    let stencil = stencil(backend, EVEN);
    let exchanged =
        Arguments::<B>::new(HOP).write("out", &mut out).read("links", &source).read("in", &links).stencil(&stencil);
    refused(exchanged.call().map(drop), "hop", "links", &["spinor field", "doubled links"]);
    // What is written lies on one parity, and what is read on the other.
    let mut source = source;
    let other = backend.zeros(lattice(), EVEN, Spinors::ONE).unwrap();
    let exchanged = hop(HOP, &mut source, &links, &other, &stencil).call();
    refused(exchanged.map(drop), "hop", "links", &["even sites", "odd sites"]);
    // χ is where the result is, the source of the hop on the neighbours.
    let blocks = backend.zeros::<f32, _>(lattice(), EVEN, CloverBlocks).unwrap();
    let chi = spinors(backend, EVEN, 1);
    let swapped =
        HopTerm { stencil: &stencil, links: &links, source: &chi, legs: LegOrder::DEFAULT, dagger: Dagger::No };
    refused(backend.oe_clover(&mut out, &blocks, &source, swapped), "oe_clover", "chi", &["odd sites", "even sites"]);
}

fn fields_of_another_precision_are_named<B: Backend>(backend: &B) {
    let [x, mut y] = [1, 1].map(|count| spinors(backend, EVEN, count));
    // In f64, on a lattice of f64; and in half precision, on the very lattice.
    let f64_lattice = Lattice::new(lattice().extents(), f64::COMPLEX, LatticeOptions::default()).unwrap();
    let in_f64 = backend.zeros::<f64, _>(f64_lattice, EVEN, Spinors::ONE).unwrap();
    let copy = || Arguments::<B>::new(&kernel::blas::COPY);
    refused(copy().write("out", &mut y).read("x", &in_f64).call().map(drop), "copy", "x", &["an f64", "in f32"]);
    let half = backend.zeros::<lanefield_reference::half::Half, _>(lattice(), EVEN, Spinors::ONE).unwrap();
    refused(copy().write("out", &mut y).read("x", &half).call().map(drop), "copy", "x", &["a half", "in f32"]);
    copy().write("out", &mut y).read("x", &x).call().map(drop).unwrap();
    // A kernel that makes no half precision.
    let sum = Arguments::<B>::new(&kernel::reduce::SUM).read("x", &half).call();
    refused(sum.map(drop), "sum", "x", &["a half", "f32 or f64"]);
    let matrix = MobiusCoefficients::new(2, 0.1, 1.8, 1.0, 0.0).unwrap().diagonal();
    let [x, mut y] = [2, 2].map(|count| spinors(backend, EVEN, count));
    for inverse in InverseForm::ALL {
        let matrix = matrix.inverse(inverse).unwrap();
        let of_f64 = backend.matrix(&matrix, Precision::F64).unwrap();
        let kernel = if inverse == InverseForm::Dense { "s_dense" } else { "s_sweep" };
        refused(backend.s_multiply(&mut y, &of_f64, &x), kernel, "matrix", &["fields in f64", "fields in f32"]);
        backend.s_multiply(&mut y, &backend.matrix(&matrix, Precision::Half).unwrap(), &x).unwrap();
    }
}

fn fields_on_other_sites_or_of_other_components_are_named<B: Backend>(backend: &B) {
    let (mut out, links_here, source) = (spinors(backend, EVEN, 1), links(backend, EVEN), spinors(backend, ODD, 1));
    let (here, there) = (stencil(backend, EVEN), stencil(backend, ODD));
    refused(
        hop(HOP, &mut out, &links(backend, ODD), &source, &here).call().map(drop),
        "hop",
        "links",
        &["odd sites", "on even sites of the lattice of an f32 spinor field"],
    );
    let full = spinors(backend, Sites::Full, 1);
    refused(
        hop(HOP, &mut out, &links_here, &full, &here).call().map(drop),
        "hop",
        "in",
        &["full sites", "on odd sites"],
    );
    refused(
        hop(HOP, &mut out, &links_here, &source, &there).call().map(drop),
        "hop",
        "stencil",
        &["that of odd sites"],
    );
    let two = spinors(backend, ODD, 2);
    refused(
        hop(HOP, &mut out, &links_here, &two, &here).call().map(drop),
        "hop",
        "in",
        &["2 spinors", "as many spinors"],
    );
    let mut out_of_two = spinors(backend, EVEN, 2);
    let many = &kernel::hop::HOP_MANY;
    hop(many, &mut out_of_two, &links_here, &two, &here).call().map(drop).unwrap();
    let one_where_two = hop(HOP, &mut out_of_two, &links_here, &two, &here).call();
    refused(one_where_two.map(drop), "hop", "out", &["2 spinors", "one component a site"]);
    let two_where_one = hop(many, &mut out, &links_here, &source, &here).call();
    refused(two_where_one.map(drop), "hop_many", "out", &["several components a site"]);
    // As many words, and another object.
    let vectors = backend.zeros::<f32, _>(lattice(), EVEN, ColourVectors::new(4)).unwrap();
    let copied = Arguments::<B>::new(&kernel::blas::COPY).write("out", &mut out).read("x", &vectors).call();
    refused(copied.map(drop), "copy", "x", &["4 colour vectors", "the same at each site"]);
    // Another lattice of the same extents.
    let options = LatticeOptions { lanes: "16".parse().unwrap(), ..LatticeOptions::default() };
    let other = Lattice::new(lattice().extents(), f32::COMPLEX, options).unwrap();
    let narrow = backend.zeros::<f32, _>(other, EVEN, Spinors::ONE).unwrap();
    refused(backend.copy(&mut out, &narrow), "copy", "x", &["16-byte lanes"]);
    let narrow = backend.stencil(Stencil::new(other, EVEN).unwrap()).unwrap();
    refused(hop(HOP, &mut out, &links_here, &source, &narrow).call().map(drop), "hop", "stencil", &["4.4.4.4", "cut"]);
}

fn tables_of_another_kind_are_named<B: Backend>(backend: &B) {
    let (mut out, links, source) = (spinors(backend, EVEN, 1), links(backend, EVEN), spinors(backend, ODD, 1));
    let here = stencil(backend, EVEN);
    let tridiagonal = MobiusCoefficients::new(2, 0.1, 1.8, 1.0, 0.0).unwrap().diagonal();
    let matrix = backend.matrix(&tridiagonal.matrix(), Precision::F32).unwrap();
    let no_stencil = hop(HOP, &mut out, &links, &source, &matrix).call();
    refused(no_stencil.map(drop), "hop", "stencil", &["a matrix along s"]);
    let [x, mut y] = [2, 2].map(|count| spinors(backend, EVEN, count));
    let along_s = |kernel| Arguments::<B>::new(kernel);
    let kernel = &kernel::domain_wall::S_DENSE;
    refused(along_s(kernel).write("out", &mut y).read("x", &x).call().map(drop), "s_dense", "matrix", &["missing"]);
    let no_matrix = along_s(kernel).write("out", &mut y).read("x", &x).matrix(&here).call();
    refused(no_matrix.map(drop), "s_dense", "matrix", &["a stencil"]);
    let other_form = along_s(kernel).write("out", &mut y).read("x", &x).matrix(&matrix).call();
    refused(other_form.map(drop), "s_dense", "matrix", &["tridiagonal", "dense"]);
}

fn lists_of_right_hand_sides_are_as_long_as_there_are_some<B: Backend>(backend: &B) {
    let [x, mut y] = [6, 6].map(|count| spinors(backend, EVEN, count));
    let axpy = |y: &mut FieldOn<B, f32, Spinors>, a: &[f64], rhs_parts: usize| {
        let axpy = Arguments::<B>::new(&kernel::rhs::RHS_AXPY_NORM).write("y", y).read("x", &x);
        axpy.scalars("a", a).rhs_parts(rhs_parts).call().map(drop)
    };
    let name = "rhs_axpy_norm";
    axpy(&mut y, &[1.0; 3], 2).unwrap();
    refused(axpy(&mut y, &[1.0; 2], 2), name, "a", &["2 scalars", "of 3 right-hand sides"]);
    refused(axpy(&mut y, &[1.0; 2], 4), name, "y", &["whole right-hand sides of 4"]);
    refused(axpy(&mut y, &[1.0; 2], 0), name, "y", &["whole right-hand sides of 0"]);

    let mut two = spinors(backend, EVEN, 4);
    let take = |out: &mut FieldOn<B, f32, Spinors>, wanted: &[usize]| {
        let take = Arguments::<B>::new(&kernel::rhs::TAKE_RHS).write("out", out).read("x", &x);
        take.indices("wanted", wanted).rhs_parts(2).call().map(drop)
    };
    take(&mut two, &[2, 0]).unwrap();
    let expected = "a number below 3 for each of 2 right-hand sides of out";
    refused(take(&mut two, &[0, 3]), "take_rhs", "wanted", &["[0, 3]", expected]);
    refused(take(&mut two, &[usize::MAX, 0]), "take_rhs", "wanted", &[expected]);
    refused(take(&mut two, &[1]), "take_rhs", "wanted", &["[1]", expected]);
    let put = |out: &mut FieldOn<B, f32, Spinors>, wanted: &[usize]| {
        let put = Arguments::<B>::new(&kernel::rhs::PUT_RHS).write("out", out).read("x", &two);
        put.indices("wanted", wanted).rhs_parts(2).call().map(drop)
    };
    put(&mut y, &[2, 0]).unwrap();
    refused(put(&mut y, &[0, 1, 2]), "put_rhs", "wanted", &["a number below 3 for each of 2 right-hand sides of x"]);
    // The functions of the family look before they make room for the result.
    let error = backend.take_rhs(&x, &[usize::MAX], 2).map(drop).unwrap_err();
    assert!(matches!(error, BackendError::Field(FieldError::RightHandSides { .. })), "{error}");
}

fn kernels_that_sum_are_not_launched_and_others_not_reduced<B: Backend>(backend: &B) {
    let [x, mut y] = [1, 1].map(|count| spinors(backend, EVEN, count));
    let norm2 = Arguments::<B>::new(&kernel::reduce::NORM2).read("x", &x).call().unwrap();
    refused(backend.launch(norm2), "norm2", "kernel", &["one that sums", "sums nothing"]);
    let copy = Arguments::<B>::new(&kernel::blas::COPY).write("out", &mut y).read("x", &x).call().unwrap();
    refused(backend.reduce(copy, Sum::Exact), "copy", "kernel", &["one that sums nothing"]);
    // Parts of sums are launched by backends alone.
    for part in [&kernel::reduce::PACK, &kernel::reduce::FINISH] {
        let Err(error) = Arguments::<B>::new(part).call().map(drop) else { panic!("{part} was taken") };
        assert!(
            matches!(error, BackendError::Argument { .. }) && error.of_device::<DeviceError>().is_none(),
            "{error}"
        );
    }
}

on_every_backend!(
    what_is_missing_is_named,
    what_is_no_argument_or_given_twice_is_named,
    buffers_that_are_exchanged_are_named,
    fields_of_another_precision_are_named,
    fields_on_other_sites_or_of_other_components_are_named,
    tables_of_another_kind_are_named,
    lists_of_right_hand_sides_are_as_long_as_there_are_some,
    kernels_that_sum_are_not_launched_and_others_not_reduced,
);
