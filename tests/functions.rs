//! Bodies that use functions of real numbers, real numbers of a site, and coordinates: against their twins, on OpenCL, and a plane wave.

use lanefield::backend::{Cpu, Memory as _, Sum};
use lanefield::body::prelude::*;
use lanefield::kernel::plain::PlainCall;
use lanefield_reference::field::Field;
use lanefield_reference::kernels::Vectors;
use lanefield_reference::layout::{Extents, Lattice, LatticeOptions, Scalar as OfLanes, Sites};
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
