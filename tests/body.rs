//! Kernels written once, outside of the library's own: each against its twin in plain loops, against itself on OpenCL, and against identities.

use lanefield::backend::{Cpu, Memory as _};
use lanefield::body::prelude::*;
use lanefield::check::IdentityFields;
use lanefield::dynamic::HopKernel;
use lanefield::in_precision;
use lanefield::kernel::{
    Case, CaseOptions, FieldContents, FieldSites, HostFunction, Kernel, KernelArgument, KernelSource, LOCAL, OwnFiles,
    read, write,
};
use lanefield::twin::PlainCall;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Extents, Lattice, LatticeOptions, Leg, LegOrder, Sites, Stencil};
use lanefield_reference::links::{DoubledGauge, LinkFormat};
use lanefield_reference::real::{Precision, Real as _};
use lanefield_reference::scalar::{madd, matrix_times_vector, mul, real_madd, real_times, site_norm2};
use num_complex::Complex;

/// The sum over all legs of a link times the neighbour's colour vector.
#[lane_kernel]
pub(crate) fn covariant_sum<S: Site>(sum: Write<S, ColourVectors>, links: Links<S>, phi: Neighbours<S, ColourVectors>) {
    let mut total = ColourVector::empty_sum();
    for leg in links.legs() {
        total += links.at(leg) * phi.at(leg);
    }
    sum.write(total);
}

/// The sum of vectors from the first one on.
pub(crate) fn sum_of<R: Vectors>(vectors: impl IntoIterator<Item = [Complex<R>; 3]>) -> [Complex<R>; 3] {
    vectors.into_iter().reduce(|sum, vector| std::array::from_fn(|c| sum[c] + vector[c])).unwrap()
}

/// The link of a leg times the colour vector phi at a site.
pub(crate) fn link_times<R: Vectors>(
    call: &PlainCall<'_, R>,
    site: usize,
    leg: Leg,
    of_phi: usize,
    part: usize,
) -> [Complex<R>; 3] {
    let phi = call.read("phi", of_phi, part);
    matrix_times_vector(&call.link(site, leg), &[phi[0], phi[1], phi[2]])
}

/// The covariant sum of phi at a site, in plain loops.
fn plain_covariant_sum<R: Vectors>(call: &PlainCall<'_, R>, site: usize, part: usize) -> [Complex<R>; 3] {
    sum_of(call.legs().map(|leg| link_times(call, site, leg, call.neighbour(site, leg), part)))
}

fn covariant_sum_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, part| call.write("sum", site, part, &plain_covariant_sum(call, site, part)));
}

check_kernel!(covariant_sum, twin = covariant_sum_twin, linear, covariant);

/// The Wilson hop.
#[lane_kernel]
pub(crate) fn wilson_hop<S: Site>(out: Write<S, Spinors>, links: Links<S>, psi: Neighbours<S, Spinors>) {
    let mut sum = Spinor::empty_sum();
    for leg in links.legs() {
        sum = sum.plus_projected(leg, Dagger::No, links.times(leg, psi.projected(leg, Dagger::No)));
    }
    out.write(sum);
}

check_kernel!(wilson_hop, linear, covariant);

/// The norm of a covariant sum that is not stored, and its product with the field in the middle.
#[lane_kernel]
pub(crate) fn sums_of_neighbours<S: Site>(
    phi: Neighbours<S, ColourVectors>,
    chi: Read<S, ColourVectors>,
    links: Links<S>,
    norm: ExactSum<S>,
    product: ComplexSum<S>,
) {
    let mut total = ColourVector::empty_sum();
    for leg in links.legs() {
        total += links.times(leg, phi.at(leg));
    }
    norm.add(total.norm2());
    product.add(chi.here().inner_product(total));
}

fn sums_of_neighbours_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, part| {
        let (sum, chi) = (plain_covariant_sum(call, site, part), call.read("chi", site, part));
        let product = lanefield_reference::scalar::site_inner_product(&chi, &sum);
        call.add(0, site, part, site_norm2(&sum));
        call.add(1, site, part, product.re);
        call.add(2, site, part, product.im);
    });
}

check_kernel!(sums_of_neighbours, twin = sums_of_neighbours_twin);

/// y ← a·x + b·y word by word, and |y|².
#[lane_kernel(parts = 1)]
pub(crate) fn update_and_norm<S: Site>(
    site: S,
    y: Update<S, Any>,
    a: ComplexScalar<S>,
    x: Read<S, Any>,
    b: Scalar<S>,
    norm: ExactSum<S>,
) {
    let zero = S::Double::constant(0.0);
    norm.add(site.repeat(y.words(), zero, |word, sum| {
        let z = a.get().madd(x.word(word), y.word(word).scaled(b.get()));
        y.write_word(word, z);
        z.norm2_onto(sum)
    }));
}

fn update_and_norm_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let (a, b) = (call.complex("a"), call.scalar("b"));
    call.each(|call, site, part| {
        let (x, y) = (call.read("x", site, part), call.read("y", site, part));
        let z: Vec<_> = x.iter().zip(&y).map(|(&x, &y)| madd(a, x, real_times(b, y))).collect();
        call.write("y", site, part, &z);
        call.add(0, site, part, site_norm2(&z));
    });
}

check_kernel!(update_and_norm, twin = update_and_norm_twin);

/// y ← a·x + y, with x in another precision, and |y|².
#[lane_kernel]
pub(crate) fn other_added<S: Site>(site: S, y: Update<S, Any>, a: Scalar<S>, x: Converted<S>, norm: ExactSum<S>) {
    let zero = S::Double::constant(0.0);
    norm.add(site.repeat(x.words(), zero, |word, sum| {
        let z = x.word(word).scaled_add(a.get(), y.word(word));
        y.write_word(word, z);
        z.norm2_onto(sum)
    }));
}

fn other_added_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let a = call.scalar("a");
    call.each(|call, site, part| {
        let (x, y) = (call.read("x", site, part), call.read("y", site, part));
        let z: Vec<_> = x.iter().zip(&y).map(|(&x, &y)| real_madd(a, x, y)).collect();
        call.write("y", site, part, &z);
        call.add(0, site, part, site_norm2(&z));
    });
}

check_kernel!(other_added, twin = other_added_twin);

/// For each slice |x|² word by word, of whatever fields hold.
#[lane_kernel]
pub(crate) fn slice_norms<S: Site>(site: S, x: Read<S, Any>, norms: SliceSum<S>) {
    let zero = S::Double::constant(0.0);
    norms.add(site.repeat(x.words(), zero, |word, sum| x.word(word).norm2_onto(sum)));
}

fn slice_norms_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, part| {
        let x = call.read("x", site, part);
        call.add(0, site, part, site_norm2(&x));
    });
}

check_kernel!(slice_norms, twin = slice_norms_twin);

/// A correlator of a covariant sum that is written as well: the real part and the whole product, for each slice, on sites weighted by their parity.
#[lane_kernel]
pub(crate) fn slice_products<S: Site>(
    out: Write<S, ColourVectors>,
    links: Links<S>,
    phi: Neighbours<S, ColourVectors>,
    chi: Read<S, ColourVectors>,
    x: Coordinates<S>,
    real: SliceSum<S>,
    product: ComplexSliceSum<S>,
) {
    let mut total = ColourVector::empty_sum();
    for leg in links.legs() {
        total += links.times(leg, phi.at(leg));
    }
    let odd = x.is_odd(&[Direction::X, Direction::Z]);
    let chosen = ColourVector(std::array::from_fn(|c| S::Complex::select(odd, -total.0[c], total.0[c])));
    out.write(chosen);
    let [re, im] = chi.here().inner_product(chosen);
    real.add(re);
    product.add([re, im]);
}

fn slice_products_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, part| {
        let x = call.coordinate(site);
        let is_odd = (x[0] + x[2]) % 2 == 1;
        let chosen = plain_covariant_sum(call, site, part).map(|word| if is_odd { -word } else { word });
        call.write("out", site, part, &chosen);
        let product = lanefield_reference::scalar::site_inner_product(&call.read("chi", site, part), &chosen);
        call.add(0, site, part, product.re);
        call.add(1, site, part, product.re);
        call.add(2, site, part, product.im);
    });
}

check_kernel!(slice_products, twin = slice_products_twin);

/// Sums over sites one and three steps away, and over corners, of fields of both kinds of sites.
#[lane_kernel]
pub(crate) fn further_away<S: Site>(
    out: Write<S, ColourVectors>,
    odd: OddDistance<S, ColourVectors>,
    even: EvenDistance<S, Spinors>,
    links: Links<S>,
    phi: Neighbours<S, ColourVectors>,
) {
    let mut sum = ColourVector::empty_sum();
    for direction in Direction::ALL {
        for steps in [1, -1, 3, -3] {
            sum += odd.at(Displacement::along(direction, steps));
        }
        sum += odd.at(Displacement::new([1, 1, -1, 0]));
        let [up, down] = [2, -2].map(|steps| even.at(Displacement::along(direction, steps)));
        sum.0[0] = sum.0[0] + up.0[direction.index()] - down.0[11];
    }
    for corner in [[1, 1, 0, 0], [-1, 0, 1, 0], [0, -1, 0, -1], [1, -1, 1, -1]] {
        sum.0[1] += even.at(Displacement::new(corner)).0[4];
    }
    sum.0[2] -= even.here().0[7];
    let leg = links.legs()[0];
    out.write(sum + links.times(leg, phi.at(leg)));
}

fn further_away_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, part| {
        let odd = |call: &PlainCall<'_, R>, steps: [i8; 4]| {
            call.read("odd", call.displaced(site, Displacement::new(steps)), part)
        };
        let even = |call: &PlainCall<'_, R>, steps: [i8; 4]| {
            call.read("even", call.displaced(site, Displacement::new(steps)), part)
        };
        let add = |sum: Option<[Complex<R>; 3]>, x: Vec<Complex<R>>| match sum {
            Some(sum) => Some(std::array::from_fn(|c| sum[c] + x[c])),
            None => Some([x[0], x[1], x[2]]),
        };
        let mut sum = None;
        for d in 0..4 {
            let along = |steps: i8| std::array::from_fn(|k| if k == d { steps } else { 0 });
            for steps in [1, -1, 3, -3] {
                sum = add(sum, odd(call, along(steps)));
            }
            let mut there = add(sum, odd(call, [1, 1, -1, 0])).unwrap();
            there[0] = there[0] + even(call, along(2))[d] - even(call, along(-2))[11];
            sum = Some(there);
        }
        let mut sum = sum.unwrap();
        for corner in [[1, 1, 0, 0], [-1, 0, 1, 0], [0, -1, 0, -1], [1, -1, 1, -1]] {
            sum[1] = sum[1] + even(call, corner)[4];
        }
        sum[2] = sum[2] - call.read("even", site, part)[7];
        let leg = call.legs()[0];
        let hopped = link_times(call, site, leg, call.neighbour(site, leg), part);
        call.write("out", site, part, &sum_of([sum, hopped]));
    });
}

check_kernel!(further_away, twin = further_away_twin);

/// The sum over all legs of a link times the neighbour, and of a long link times the value three steps away: two fields of links.
#[lane_kernel]
fn with_long_links<S: Site>(
    out: Write<S, ColourVectors>,
    links: Links<S>,
    long_links: Links<S>,
    phi: OddDistance<S, ColourVectors>,
) {
    let mut sum = ColourVector::empty_sum();
    for leg in links.legs() {
        sum += links.times(leg, phi.at(along(leg, 1)));
        sum += long_links.times(leg, phi.at(along(leg, 3)));
    }
    out.write(sum);
}

fn along(leg: Leg, steps: i8) -> Displacement {
    Displacement::along(Direction::ALL[leg.dimension()], if leg.is_forward() { steps } else { -steps })
}

fn with_long_links_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    call.each(|call, site, part| {
        let steps = call.legs().into_iter().flat_map(|leg| [(leg, 1), (leg, 3)]);
        let there = |(leg, steps)| link_times(call, site, leg, call.displaced(site, along(leg, steps)), part);
        let sum = sum_of(steps.map(there));
        call.write("out", site, part, &sum);
    });
}

check_kernel!(with_long_links, twin = with_long_links_twin, linear);

/// A covariant sum with a mass at each site: an operator with a diagonal.
#[lane_kernel]
fn massive_sum<S: Site>(
    out: Write<S, ColourVectors>,
    mass: Read<S, ComplexNumber>,
    x: Read<S, ColourVectors>,
    links: Links<S>,
    phi: Neighbours<S, ColourVectors>,
) {
    let mut sum = x.here().scaled(mass.here().0[0].re());
    for leg in links.legs() {
        sum += links.times(leg, phi.at(leg));
    }
    out.write(sum);
}

check_kernel!(massive_sum, linear(in = [x, phi]), hermitian(in = [x, phi], out = out));

/// What a check that fails says.
pub(crate) fn failure(check: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(check).expect_err("the fault is found");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn identities_are_about_the_fields_that_are_named() {
    let not_linear = failure(|| lanefield::check::linear(&MASSIVE_SUM, IdentityFields::ALL));
    assert!(not_linear.contains("K(a x + b y) = a K(x) + b K(y): the two sides differ"), "{not_linear}");
    let not_one = failure(|| lanefield::check::hermitian(&MASSIVE_SUM, IdentityFields::ALL));
    assert_eq!(
        not_one,
        "massive_sum reads mass, x, phi and writes out: name the vector of this identity, hermitian(in = mass, out = out)"
    );
    let among = |inputs| IdentityFields { inputs, ..IdentityFields::ALL };
    let unlike = failure(|| lanefield::check::hermitian(&MASSIVE_SUM, among(&["phi", "mass"])));
    assert!(unlike.contains("mass is no field like phi"), "{unlike}");
    let unknown = failure(|| lanefield::check::linear(&MASSIVE_SUM, among(&["psi"])));
    assert_eq!(unknown, "massive_sum reads no field psi: expected one of mass, x, phi");
}

fn small_lattice() -> Lattice {
    let (extents, scalar) = (Extents::new([4, 4, 4, 4]).unwrap(), lanefield_reference::layout::Scalar::ComplexD);
    Lattice::new(extents, scalar, LatticeOptions::default()).unwrap()
}

#[test]
fn links_that_are_stored_in_two_ways_are_refused() {
    let (backend, lattice) = (Cpu::new(None).unwrap(), small_lattice());
    let stencil = backend.stencil(Stencil::new(lattice, Sites::Full).unwrap()).unwrap();
    let run = |format| {
        let links =
            |format| backend.zeros(lattice, Sites::Full, DoubledGauge { format, ..DoubledGauge::default() }).unwrap();
        let (links, long_links) = (links(LinkFormat::Full), links(format));
        let phi = backend.zeros(lattice, Sites::Full, ColourVectors::new(1)).unwrap();
        let mut out = backend.zeros::<f64, _>(lattice, Sites::Full, ColourVectors::new(1)).unwrap();
        let kernel = WithLongLinks { out: &mut out, links: &links, long_links: &long_links, phi: &phi };
        kernel.launch(&backend, &stencil, LegOrder::DEFAULT).map_err(|error| error.to_string())
    };
    assert_eq!(run(LinkFormat::Full), Ok(()));
    let refusal = run(LinkFormat::TwoRows).unwrap_err();
    assert!(
        refusal.starts_with("argument long_links of with_long_links is an f64 ")
            && refusal.ends_with("expected links with as many reals and the same boundary phases as links"),
        "{refusal}"
    );
}

/// out = a·x − i·y, word by word.
#[lane_kernel]
pub(crate) fn words<S: Site>(site: S, out: Write<S, Any>, a: Scalar<S>, x: Read<S, Any>, y: Read<S, Any>) {
    site.repeat(out.words(), (), |word, ()| {
        out.write_word(word, x.word(word).scaled(a.get()).sub_i(y.word(word)));
    });
}

fn words_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let a = call.scalar("a");
    call.each(|call, site, part| {
        let (x, y) = (call.read("x", site, part), call.read("y", site, part));
        let minus_i = |y: Complex<R>| Complex::new(y.im, -y.re);
        let out: Vec<_> = x.iter().zip(&y).map(|(&x, &y)| real_times(a, x) + minus_i(y)).collect();
        call.write("out", site, part, &out);
    });
}

check_kernel!(words, twin = words_twin, linear);

/// Everything else that a body can say, on one site: coordinates, parity, comparison, choice, division, root, links of all directions, a list of words,
/// a long loop.
#[lane_kernel]
pub(crate) fn everything<S: Site>(
    site: S,
    out: Write<S, WordList<5>>,
    gauge: Read<S, Gauge>,
    matrix: Read<S, ColourMatrix>,
    number: Read<S, ComplexNumber>,
    x: Coordinates<S>,
) {
    let [mut z] = number.here().0;
    let trace = (gauge.here().link(1) * matrix.here().adjoint()).trace();
    let ratio = trace.re() / trace.im();
    let root = (z.re().abs() + S::Real::constant(2.0)).sqrt();
    let larger = ratio.less(root).and(root.at_most(z.im()).not()).or(x.is_odd(&Direction::ALL));
    let chosen = S::Complex::select(larger, trace, z.conj());
    let of_place = S::Complex::new(x.get(Direction::T), x.get(Direction::X) - x.get(Direction::Y));
    z = site.repeat(site.count(7), z, |_, z| z.scaled_add(S::Real::constant(0.5), chosen));
    let sign = S::Real::select(x.is_odd(&[Direction::Z]), S::Real::constant(-1.0), ratio.fma(root, root));
    out.write(List([chosen, of_place, z, S::Complex::new(sign, root), -trace.times_i()]));
}

fn everything_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    for site in call.sites() {
        let [x, y, z, t] = call.coordinate(site);
        let real = |x: f64| R::from_f64(x);
        let (gauge, matrix, number) =
            (call.read("gauge", site, 0), call.read("matrix", site, 0), call.read("number", site, 0)[0]);
        // Row i of U, times column k of M†, which is row k of M conjugated.
        let element = |i: usize, k: usize| {
            let (u, m) = (&gauge[9 + 3 * i..9 + 3 * i + 3], &matrix[3 * k..3 * k + 3]);
            madd(u[2], m[2].conj(), madd(u[1], m[1].conj(), mul(u[0], m[0].conj())))
        };
        let trace = element(0, 0) + element(1, 1) + element(2, 2);
        let ratio = trace.re / trace.im;
        let magnitude = if number.re.to_f64().is_sign_negative() { -number.re } else { number.re };
        let root = real((magnitude + real(2.0)).to_f64().sqrt());
        let at_most = root <= number.im;
        let larger = ratio < root && !at_most || (x + y + z + t) % 2 == 1;
        let chosen = if larger { trace } else { number.conj() };
        let loops = (0..7).fold(number, |z, _| real_madd(real(0.5), z, chosen));
        let sign = if z % 2 == 1 { real(-1.0) } else { ratio.fused(root, root) };
        let of_place = Complex::new(real(t as f64), real(x as f64) - real(y as f64));
        let last = Complex::new(trace.im, -trace.re);
        call.write("out", site, 0, &[chosen, of_place, loops, Complex::new(sign, root), last]);
    }
}

check_kernel!(everything, twin = everything_twin);

/// The length of the field's product with itself, as a field.
#[lane_kernel(twin = density_twin)]
pub(crate) fn density<S: Site>(out: Write<S, ComplexNumber>, psi: Read<S, Spinors>) {
    let zero = S::Real::constant(0.0);
    let mut sum = zero;
    for word in psi.here().0 {
        sum = word.im().fma(word.im(), word.re().fma(word.re(), sum));
    }
    out.write(One([S::Complex::new(sum, zero)]));
}

fn density_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    for site in call.sites() {
        let psi = call.read("psi", site, 0);
        let sum = psi.iter().fold(R::from_f64(0.0), |sum, x| x.im.fused(x.im, x.re.fused(x.re, sum)));
        call.write("out", site, 0, &[Complex::new(sum, R::from_f64(0.0))]);
    }
}

check_kernel!(density);

#[test]
fn what_is_counted_of_a_body_is_what_the_field_counts() {
    let flops = |kernel: &'static Kernel, words| match kernel.source {
        KernelSource::Body(body) => body.program(kernel.name, LegOrder::DEFAULT).unwrap().flops(words),
        _ => unreachable!("kernels of this file have bodies"),
    };
    assert_eq!(flops(&COVARIANT_SUM, 3), 8 * 66 + 7 * 6);
    assert_eq!(flops(&WILSON_HOP, 12), lanefield_reference::kernels::hop::FLOPS_PER_SITE);
    let lattice =
        Lattice::new(Extents::new([4, 2, 2, 2]).unwrap(), Precision::F64.scalar(), LatticeOptions::default()).unwrap();
    for hop in HopKernel::all().filter(|hop| matches!(hop.kernel().source, KernelSource::Body(_))) {
        let options = CaseOptions::new(lattice, Sites::Full, Precision::F64, DoubledGauge::default(), 1);
        let shape = Case::shape_of(hop.kernel(), &options);
        let of_site = (hop.kernel().work)(&shape).flops / shape.volume();
        // Signs, which the field does not count, are products: then all 8 vectors are fused multiply-adds, and not 7 sums.
        let has_signs = hop.kernel().arguments.iter().any(|argument| matches!(argument, KernelArgument::Computed(_)));
        let of_signs = if has_signs { 8 * 12 - 7 * 6 } else { 0 };
        assert_eq!(flops(hop.kernel(), hop.object().part_words()), of_site + of_signs, "{}", hop.kernel());
    }
    // Each word: a complex product and sum, a real multiple, and a norm of two fused operations.
    assert_eq!(flops(&UPDATE_AND_NORM, 12), 12 * (8 + 2 + 4));
}

/// A loop that hands two numbers on crosswise.
#[lane_kernel]
pub(crate) fn crosswise<S: Site>(site: S, out: Write<S, WordList<2>>, number: Read<S, ComplexNumber>) {
    let [z] = number.here().0;
    let (a, b) = site.repeat(site.count(5), (z, z.times_i()), |_, (a, b)| (b, a.scaled_add(S::Real::constant(0.5), b)));
    let (a, b) = site.repeat(site.count(3), (a, b), |_, (a, b)| (b, a));
    out.write(List([a, b]));
}

fn crosswise_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    for site in call.sites() {
        let z = call.read("number", site, 0)[0];
        let first = (z, Complex::new(-z.im, z.re));
        let (a, b) = (0..5).fold(first, |(a, b), _| (b, real_madd(R::from_f64(0.5), a, b)));
        call.write("out", site, 0, &[b, a]);
    }
}

check_kernel!(crosswise, twin = crosswise_twin);

/// A field of one component a site, beside one of several.
#[lane_kernel]
fn uneven<S: Site>(out: Write<S, ColourVectors>, once: Write<S, ComplexNumber>, phi: Read<S, ColourVectors>) {
    let phi = phi.here();
    once.write(One([phi.0[0]]));
    out.write(phi);
}

#[test]
fn a_field_of_one_component_is_not_written_by_several() {
    let (backend, lattice) = (Cpu::new(None).unwrap(), small_lattice());
    let run = |parts| {
        let mut out = backend.zeros::<f64, _>(lattice, Sites::Full, ColourVectors::new(parts)).unwrap();
        let mut once = backend.zeros(lattice, Sites::Full, ComplexNumber).unwrap();
        let phi = backend.zeros(lattice, Sites::Full, ColourVectors::new(parts)).unwrap();
        Uneven { out: &mut out, once: &mut once, phi: &phi }.launch(&backend).map_err(|error| error.to_string())
    };
    assert_eq!(run(1), Ok(()));
    let refusal = run(2).unwrap_err();
    assert!(
        refusal.starts_with("argument once of uneven is an f64 complex field")
            && refusal.contains("as many components"),
        "{refusal}"
    );
}

/// Twice a field, in OpenCL C of this file, with a Rust function beside it.
pub(crate) static TWICE: Kernel = Kernel {
    name: "twice",
    family: "twice",
    computes: "out = 2·phi, by hand",
    arguments: &[
        KernelArgument::Field(write("out", FieldContents::ColourVectors, FieldSites::Target)),
        KernelArgument::Field(read("phi", FieldContents::ColourVectors, FieldSites::Target)),
        KernelArgument::Osites,
        KernelArgument::Parts,
    ],
    // SAFETY: it writes the three words of its own component of `out`, and reads those of `phi`.
    source: KernelSource::Files(unsafe {
        OwnFiles::new(&[("twice.cl", TWICE_CL), ("factor.clh", "#define FACTOR 2\n")])
    }),
    cpu: HostFunction::Launch(|call| {
        in_precision!(call.shape().precision(), R => {
            let phi = call.data::<R>("phi")?.to_site_order();
            let twice: Vec<_> = phi.iter().map(|&x| real_times(R::from_f64(2.0), x)).collect();
            call.data_mut::<R>("out")?.assign(&twice)
        })
    }),
    ..LOCAL
};

const TWICE_CL: &str = r#"
#include "accelerator.clh"
#include "complex.clh"
#include "factor.clh"

__kernel void twice(__global stored* restrict out, __global const stored* restrict phi, uint osites, uint parts) {
    accelerator_for2d(osite, osites, part, parts) {
        const size_t component = (size_t)osite * parts + part;
        cplx words[3];
        extract_words(phi, component, 0, 3, 3, accelerator_lane(), 0, words);
        for (uint k = 0; k < 3; ++k)
            words[k] = times_real(FACTOR, words[k]);
        insert_all(out, component, 3, accelerator_lane(), words);
    }
}
"#;

#[test]
fn opencl_c_of_ones_own_has_the_bits_of_the_function_beside_it() {
    lanefield::check::backends(&TWICE);
}

#[test]
fn the_page_names_every_operation_of_numbers_and_values() {
    let page = include_str!("../docs/own-kernels.md");
    let sources = [
        include_str!("../reference/src/body/number.rs"),
        include_str!("../reference/src/body/value.rs"),
        include_str!("../reference/src/body/functions.rs")
            .split("pub trait Functions")
            .nth(1)
            .and_then(|rest| rest.split("\nimpl").next())
            .unwrap(),
    ];
    let of_machinery =
        ["replaced", "from", "filled", "from_words", "to_words", "object", "of", "add", "sub", "mul", "neg"];
    for source in sources {
        for declared in source.split("fn ").skip(1) {
            let name: String =
                declared.chars().take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '_').collect();
            let is_public = source.contains(&format!("pub fn {name}")) || source.contains(&format!("\n    fn {name}("));
            let is_named = page.contains(&format!("{name}(")) || page.contains(&format!("`{name}`"));
            assert!(is_named || !is_public || of_machinery.contains(&&*name) || name.ends_with("_assign"), "{name}");
        }
    }
}
