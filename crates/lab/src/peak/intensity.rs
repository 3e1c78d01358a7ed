//! Bandwidth and arithmetic as functions of arithmetic intensity: each number is read, processed by k fused multiply-adds and written
//! (`cl/peak_intensity.cl`).

use lanefield::backend::BackendError;
use lanefield::backend::opencl::{Arg, Buffer, Context, DeviceKind, Launch};

use super::measuring::{Measuring, rate, sampled};
use super::record::{Intensity, Peak, Stored};
use crate::Spread;
use crate::bandwidth::random_words;
use crate::sources;

const MOST_STEPS: u32 = 256;
/// x ← b − x: every bit keeps changing, and no number becomes large or subnormal.
const FACTOR: f32 = -1.0;
/// The b of [`FACTOR`], of the magnitude of the numbers, which are 16-bit integers, or f32 and f64 near 1.
fn term(stored: Stored) -> f32 {
    if stored == Stored::Half { 1000.0 } else { 1.5 }
}

/// The values of k in a sweep: 0, 1, 2, 4, … 256; every second one if `quick`.
pub(super) fn steps(quick: bool) -> Vec<u32> {
    let powers = (0..=MOST_STEPS.ilog2()).map(|power| 1 << power);
    let powers = powers.filter(|k: &u32| !quick || k.ilog2().is_multiple_of(2));
    std::iter::once(0).chain(powers).collect()
}

pub struct Mixed<'c> {
    context: &'c Context,
    options: String,
    group: usize,
    an_item: usize,
}

impl<'c> Mixed<'c> {
    pub fn new(context: &'c Context, stored: Stored, is_cpu: bool) -> Self {
        // As many vectors as are needed to hide the latency of each.
        let (vector_bytes, chains, group) = if is_cpu { (64, 8, 16) } else { (16, 4, 256) };
        // For half precision, a vector in registers is one of f32.
        let in_a_vector = vector_bytes / stored.bytes().max(4);
        let options = format!("-DSTORED_BITS={} -DVECTOR_BYTES={vector_bytes} -DCHAINS={chains}", 8 * stored.bytes());
        Self { context, options, group: context.info().group_of(group), an_item: in_a_vector * chains }
    }

    /// The build options for a device, and the work-items per group.
    pub(crate) fn build_of(context: &'c Context, stored: Stored) -> (String, usize) {
        let mixed = Self::new(context, stored, context.info().kind == DeviceKind::Cpu);
        (mixed.options, mixed.group)
    }

    /// Runs once on a few bytes, so that the kernel is built.
    pub(crate) fn try_on(context: &'c Context, stored: Stored, bytes: usize) -> Result<(), BackendError> {
        let mixed = Self::new(context, stored, context.info().kind == DeviceKind::Cpu);
        let [out, x] = [0, 1].map(|part| random_words(context, bytes, part));
        mixed.run((&out?, &x?), bytes / stored.bytes(), (FACTOR, term(stored)), 0).map(drop)
    }

    /// Numbers per group: a launch processes a multiple of them.
    pub fn grain(&self) -> usize {
        self.group * self.an_item
    }

    /// Seconds to apply x · a + b k times to the first `n` numbers, rounded down to a multiple of the grain.
    pub fn run(&self, (out, x): (&Buffer, &Buffer), n: usize, (a, b): (f32, f32), k: u32) -> Result<f64, BackendError> {
        let program = sources::program(self.context, "peak_intensity.cl", &self.options)?;
        let launch = Launch { global: [n / self.grain() * self.group, 1, 1], local: [self.group, 1, 1] };
        let arguments = [Arg::Buffer(out), Arg::Buffer(x), Arg::F32(a), Arg::F32(b), Arg::U32(k)];
        Ok(self.context.launch_timed(&program, "mixed", launch, &arguments)?)
    }
}

pub(super) fn measure(Measuring { context, scale, peak, tell }: Measuring<'_>) -> Result<(), BackendError> {
    // At least one group of each kernel fits.
    let bytes = scale.intensity_bytes.max(64 << 10);
    let (x, out) = (random_words(context, bytes, 0)?, context.allocate(bytes, "results of a measurement")?);
    for stored in Stored::ALL {
        let mixed = Mixed::new(context, stored, scale.is_cpu);
        let n = bytes / stored.bytes() / mixed.grain() * mixed.grain();
        for k in steps(scale.quick) {
            tell(&format!("{stored}, {k} fma a number"))?;
            let seconds = sampled(scale.samples, || mixed.run((&out, &x), n, (FACTOR, term(stored)), k))?;
            peak.keep_intensity(intensity(stored, k, n, seconds));
        }
    }
    Ok(())
}

pub(super) fn intensity(stored: Stored, k: u32, n: usize, seconds: Spread) -> Intensity {
    let (flops, bytes) = (2 * k as usize, 2 * stored.bytes());
    Intensity {
        stored,
        fma_per_element: k,
        flops_per_byte: flops as f64 / bytes as f64,
        gb_per_second: rate(n * bytes, &seconds),
        gflop_per_second: rate(n * flops, &seconds),
        seconds,
    }
}

impl Peak {
    /// Keeps a point of a sweep, and the highest rate of each storage format.
    pub(super) fn keep_intensity(&mut self, point: Intensity) {
        let highest = match point.stored {
            Stored::F32 => &mut self.f32_gflop_per_second,
            Stored::F64 => &mut self.f64_gflop_per_second,
            Stored::Half => &mut self.half_gflop_per_second,
        };
        *highest = Some(highest.unwrap_or(0.0).max(point.gflop_per_second));
        self.intensity.push(point);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_goes_from_no_arithmetic_to_256_steps() {
        assert_eq!(steps(false), [0, 1, 2, 4, 8, 16, 32, 64, 128, 256]);
        assert_eq!(steps(true), [0, 1, 4, 16, 64, 256]);
    }

    #[test]
    fn a_fused_multiply_add_is_two_operations_and_a_number_is_read_and_written() {
        let seconds = Spread { median: 1e-3, tenth: 1e-3, ninetieth: 1e-3 };
        let point = intensity(Stored::F32, 4, 1_000_000, seconds);
        assert_eq!((point.flops_per_byte, point.gb_per_second, point.gflop_per_second), (1.0, 8.0, 8.0));
        let point = intensity(Stored::Half, 4, 1_000_000, seconds);
        assert_eq!((point.flops_per_byte, point.gb_per_second), (2.0, 4.0));
    }
}
