//! Bodies that use functions of real numbers, real numbers of a site, and coordinates: against their twins, on OpenCL, and a plane wave.

use lanefield::backend::{Cpu, Memory as _, Reduce as _, Sum};
use lanefield::body::prelude::*;
use lanefield::kernel::{Arguments, KernelSource};
use lanefield::twin::PlainCall;
use lanefield_reference::extreme::Extreme;
use lanefield_reference::field::Field;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Extents, Lattice, LatticeOptions, LegOrder, Scalar as OfLanes, Sites, TreePlan};
use lanefield_reference::scalar::functions::{cos_sin, exp, log};
use lanefield_reference::scalar::mul;
use num_complex::Complex;

/// Functions of real numbers.
#[lane_kernel(hot)]
pub(crate) fn functions<S: Site>(out: Write<S, WordList<3>>, number: Read<S, ComplexNumber>) {
    let [z] = number.here().0;
    let (x, y) = (z.re(), z.im());
    let angle = y * 1000.0;
    out.write(List([
        S::Complex::new(x.exp(), x.abs().log()),
        S::Complex::new(angle.cos(), angle.sin()),
        S::Complex::new(y.log(), (x * -20.0).exp()),
    ]));
}

fn functions_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    for site in call.sites() {
        let Complex { re: x, im: y } = call.read("number", site, 0)[0];
        let magnitude = R::from_f64(x.to_f64().abs());
        let [cosine, sine] = cos_sin(y * R::from_f64(1000.0));
        let (large, small) = (Complex::new(exp(x), log(magnitude)), Complex::new(log(y), exp(x * R::from_f64(-20.0))));
        call.write("out", site, 0, &[large, Complex::new(cosine, sine), small]);
    }
}

check_kernel!(functions, twin = functions_twin);

/// Real numbers of a site times the sum of the first three, in another order.
#[lane_kernel]
pub(crate) fn real_numbers<S: Site>(out: Write<S, WordList<2>>, x: Read<S, WordList<2>>) {
    let x = x.here();
    let sum = x.real(0) + x.real(1) + x.real(2);
    out.write(List::of_reals(|k| x.real((k + 1) % 4) * sum));
}

fn real_numbers_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    for site in call.sites() {
        let x: Vec<R> = call.read("x", site, 0).into_iter().flat_map(|z| [z.re, z.im]).collect();
        let sum = x[0] + x[1] + x[2];
        call.write("out", site, 0, &[Complex::new(x[1] * sum, x[2] * sum), Complex::new(x[3] * sum, x[0] * sum)]);
    }
}

check_kernel!(real_numbers, twin = real_numbers_twin);

/// The sum of a field over each slice with the phase of a momentum.
#[lane_kernel]
pub(crate) fn momentum_sums<S: Site>(
    phi: Read<S, ComplexNumber>,
    x: Coordinates<S>,
    px: Scalar<S>,
    py: Scalar<S>,
    pz: Scalar<S>,
    sums: ComplexSliceSum<S>,
) {
    let [x, y, z] = [Direction::X, Direction::Y, Direction::Z].map(|direction| x.get(direction));
    let angle = px.get() * x + py.get() * y + pz.get() * z;
    let phase = S::Complex::new(angle.cos(), -angle.sin());
    sums.add((phase * phi.here().0[0]).promoted());
}

fn momentum_sums_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let momentum = ["px", "py", "pz"].map(|name| call.scalar(name));
    for site in call.sites() {
        let x = call.coordinate(site);
        let part = |d: usize| momentum[d] * R::from_f64(x[d] as f64);
        let [cosine, sine] = cos_sin(part(0) + part(1) + part(2));
        let term = mul(Complex::new(cosine, -sine), call.read("phi", site, 0)[0]);
        call.add(0, site, 0, term.re.to_f64());
        call.add(1, site, 0, term.im.to_f64());
    }
}

check_kernel!(momentum_sums, twin = momentum_sums_twin);

/// The greatest of three numbers of a component, of all components and sites, and the greatest imaginary part.
#[lane_kernel(hot)]
pub(crate) fn greatest_parts<S: Site>(psi: Read<S, ColourVectors>, real: Greatest<S>, imaginary: Greatest<S>) {
    let [a, b, c] = psi.here().0;
    real.take(a.re().greater(b.re()).greater(c.re()).promoted());
    // Two numbers of a site.
    imaginary.take(a.im().promoted());
    imaginary.take(b.im().smaller(c.im()).promoted());
}

fn greatest_parts_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    let greater = |a: R, b: R| if a < b { b } else { a };
    call.each(|call, site, part| {
        let psi = call.read("psi", site, part);
        let [a, b, c] = [psi[0], psi[1], psi[2]];
        call.add(0, site, part, greater(greater(a.re, b.re), c.re).to_f64());
        let smaller = if c.im < b.im { c.im } else { b.im };
        call.add(1, site, part, Extreme::Greatest.of(a.im.to_f64(), smaller.to_f64()));
    });
}

check_kernel!(greatest_parts, twin = greatest_parts_twin);

/// The least real part of all sites, beside something that is written.
#[lane_kernel]
pub(crate) fn least_part<S: Site>(out: Update<S, ComplexNumber>, least: Least<S>) {
    let [z] = out.here().0;
    least.take(z.re().promoted());
    out.write(One([z * z]));
}

fn least_part_twin<R: Vectors>(call: &mut PlainCall<'_, R>) {
    for site in call.sites() {
        let z = call.read("out", site, 0)[0];
        call.add(0, site, 0, z.re.to_f64());
        call.write("out", site, 0, &[mul(z, z)]);
    }
}

check_kernel!(least_part, twin = least_part_twin);

#[test]
fn extremes_order_zeros_and_are_nan_where_a_term_is() {
    let cpu = Cpu::new(None).unwrap();
    let lattice =
        Lattice::new(Extents::new([4, 2, 2, 2]).unwrap(), OfLanes::ComplexD, LatticeOptions::default()).unwrap();
    let least_of = |number: &dyn Fn(usize) -> f64| {
        let numbers: Vec<_> = (0..32).map(|site| Complex::new(number(site), 0.0)).collect();
        let field = || {
            let field = Field::<f64, _>::from_site_order(lattice, Sites::Full, ComplexNumber, &numbers).unwrap();
            cpu.upload(field).unwrap()
        };
        let least = LeastPart { out: &mut field() }.reduce(&cpu).unwrap().round()[0];
        // The plan of a tree changes nothing.
        let (plan, mut field) = (TreePlan::new(8, 2).unwrap(), field());
        let call = Arguments::new(&LEAST_PART).write("out", &mut field).call().unwrap();
        assert_eq!(cpu.reduce(call, Sum::Tree(plan)).unwrap().round()[0].to_bits(), least.to_bits());
        least
    };
    let zeros = least_of(&|site| if site == 7 { -0.0 } else { 0.0 });
    assert_eq!(zeros.to_bits(), (-0.0f64).to_bits());
    assert_eq!(least_of(&|site| 3.0 - site as f64), -28.0);
    let nan = least_of(&|site| if site == 9 { -f64::NAN } else { f64::NEG_INFINITY });
    assert_eq!(nan.to_bits(), f64::NAN.to_bits());
}

/// Two terms of a site for a sum over slices.
#[lane_kernel]
fn two_terms_a_slice<S: Site>(phi: Read<S, ComplexNumber>, sums: SliceSum<S>) {
    sums.add(phi.here().norm2());
    sums.add(phi.here().norm2());
}

/// Two terms of a site for a sum over all sites.
#[lane_kernel]
fn two_terms_a_site<S: Site>(phi: Read<S, ComplexNumber>, sum: ExactSum<S>) {
    sum.add(phi.here().norm2());
    sum.add(phi.here().norm2());
}

#[test]
fn several_terms_of_a_site_in_an_ordered_sum_are_refused() {
    let KernelSource::Body(body) = TWO_TERMS_A_SLICE.source else { unreachable!("it is one") };
    let error = body.program("two_terms_a_slice", LegOrder::DEFAULT).unwrap_err().to_string();
    assert!(error.contains("adds several terms of a site to sums"), "{error}");
    let cpu = Cpu::new(None).unwrap();
    let lattice = Lattice::new(Extents::new([2; 4]).unwrap(), OfLanes::ComplexD, LatticeOptions::default()).unwrap();
    let ones = [Complex::new(1.0, 0.0); 16];
    let phi =
        cpu.upload(Field::<f64, _>::from_site_order(lattice, Sites::Full, ComplexNumber, &ones).unwrap()).unwrap();
    let sum = |sum| TwoTermsASite { phi: &phi }.reduce(&cpu, sum);
    assert_eq!(sum(Sum::Exact).unwrap().round(), [32.0]);
    let error = sum(Sum::Tree(TreePlan::new(8, 2).unwrap())).unwrap_err().to_string();
    assert!(error.contains("adds several terms of a site to sum:"), "{error}");
}

#[test]
fn a_plane_wave_has_one_momentum() {
    let (backend, extents) = (Cpu::new(None).unwrap(), Extents::new([4, 4, 4, 4]).unwrap());
    let lattice = Lattice::new(extents, OfLanes::ComplexD, LatticeOptions::default()).unwrap();
    let unit = std::f64::consts::TAU / 4.0;
    // e^{ip·x} with p = (1, 2, 0) in units of 2π/4.
    let wave = |site: usize| {
        let x = extents.coordinate(site);
        Complex::cis(unit * (x[0] + 2 * x[1]) as f64)
    };
    let phi: Vec<_> = (0..extents.volume()).map(wave).collect();
    let phi =
        backend.upload(Field::<f64, _>::from_site_order(lattice, Sites::Full, ComplexNumber, &phi).unwrap()).unwrap();
    let sums = |[nx, ny, nz]: [f64; 3]| {
        let call = MomentumSums { phi: &phi, px: unit * nx, py: unit * ny, pz: unit * nz };
        call.reduce(&backend, Direction::T, Sum::Exact).unwrap().round()
    };
    for (slice, sum) in sums([1.0, 2.0, 0.0]).chunks(2).enumerate() {
        assert!((sum[0] - 64.0).abs() < 1e-12 && sum[1].abs() < 1e-12, "{slice}: {sum:?}");
    }
    assert!(sums([1.0, 2.0, 1.0]).iter().all(|sum| sum.abs() < 1e-12));
}
