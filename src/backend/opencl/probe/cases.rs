//! The operands and operations of the arithmetic probe, with the IEEE results of the host. Counterpart on the device: `probe.cl`.

use std::ops::{Add, Div, Mul, Neg, Sub};

use bytemuck::Pod;

/// `f32` or `f64`, with the operations that the probe needs.
pub(crate) trait Real:
    Pod + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Its name in reports.
    const NAME: &'static str;
    /// Its name in OpenCL C.
    const CL_NAME: &'static str;
    const EXPONENT_BITS: u32;
    const MANTISSA_BITS: u32;
    fn from_low_bits(bits: u64) -> Self;
    fn low_bits(self) -> u64;
    fn fused(self, b: Self, c: Self) -> Self;
    fn root(self) -> Self;
    fn subnormal(self) -> bool;
    fn nan(self) -> bool;
    /// The value in decimal with its bits.
    fn describe(self) -> String;
}

macro_rules! real {
    ($real:ident, $bits:ident, $cl:literal, $exponent:literal, $mantissa:literal) => {
        impl Real for $real {
            const NAME: &'static str = stringify!($real);
            const CL_NAME: &'static str = $cl;
            const EXPONENT_BITS: u32 = $exponent;
            const MANTISSA_BITS: u32 = $mantissa;

            fn from_low_bits(bits: u64) -> Self {
                // Truncated on purpose: the low bits are the value.
                Self::from_bits(bits as $bits)
            }
            fn low_bits(self) -> u64 {
                self.to_bits().into()
            }
            fn fused(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            fn root(self) -> Self {
                self.sqrt()
            }
            fn subnormal(self) -> bool {
                self.is_subnormal()
            }
            fn nan(self) -> bool {
                self.is_nan()
            }
            fn describe(self) -> String {
                format!("{self:e} (0x{:0width$x})", self.to_bits(), width = size_of::<Self>() * 2)
            }
        }
    };
}

real!(f32, u32, "float", 8, 23);
real!(f64, u64, "double", 11, 52);

/// One operation: the device's `case`, its name in reports, and the host's result.
pub(crate) struct Operation<R> {
    pub(crate) case: &'static str,
    pub(crate) name: &'static str,
    /// Whether subnormal operands and results get a separate check: devices flush them separately.
    pub(crate) subnormals_apart: bool,
    pub(crate) result: fn(R, R, R) -> R,
    /// The second result of operations that also compute the exact error of the first.
    pub(crate) error: Option<fn(R, R, R) -> R>,
}

impl<R: Real> Operation<R> {
    fn new(case: &'static str, name: &'static str, result: fn(R, R, R) -> R) -> Self {
        Self { case, name, subnormals_apart: false, result, error: None }
    }

    fn subnormals_apart(self) -> Self {
        Self { subnormals_apart: true, ..self }
    }

    fn with_error(self, error: fn(R, R, R) -> R) -> Self {
        Self { error: Some(error), ..self }
    }

    /// Both results. The second is zero if there is none.
    pub(crate) fn host(&self, a: R, b: R, c: R) -> [R; 2] {
        [(self.result)(a, b, c), self.error.map_or(R::from_low_bits(0), |error| error(a, b, c))]
    }
}

/// All operations, in the order of their numbers.
pub(crate) fn operations<R: Real>() -> Vec<Operation<R>> {
    vec![
        Operation::new("ADD", "a + b", |a, b, _: R| a + b).subnormals_apart(),
        Operation::new("SUB", "a - b", |a, b, _: R| a - b).subnormals_apart(),
        Operation::new("MUL", "a * b", |a, b, _: R| a * b).subnormals_apart(),
        Operation::new("DIV", "a / b", |a, b, _: R| a / b).subnormals_apart(),
        Operation::new("SQRT", "sqrt(a)", |a: R, _, _| a.root()).subnormals_apart(),
        Operation::new("MUL_ADD", "a * b + c", |a, b, c: R| a * b + c),
        Operation::new("MUL_SUB", "a * b - c", |a, b, c: R| a * b - c),
        Operation::new("NEG_MUL_ADD", "-a * b + c", |a, b, c: R| -a * b + c),
        Operation::new("NEG_MUL_SUB", "-a * b - c", |a, b, c: R| -a * b - c),
        Operation::new("ADD_MUL", "c + a * b", |a, b, c: R| c + a * b),
        Operation::new("SUB_MUL", "c - a * b", |a, b, c: R| c - a * b),
        Operation::new("NEG_ADD_MUL", "-c + a * b", |a, b, c: R| -c + a * b),
        Operation::new("NEG_SUB_MUL", "-c - a * b", |a, b, c: R| -c - a * b),
        Operation::new("FMA", "fma(a, b, c)", |a: R, b, c| a.fused(b, c)).subnormals_apart(),
        Operation::new("FMA_NEG_C", "fma(a, b, -c)", |a: R, b, c| a.fused(b, -c)),
        Operation::new("FMA_NEG_A", "fma(-a, b, c)", |a: R, b, c| (-a).fused(b, c)),
        Operation::new("FMA_NEG_AC", "fma(-a, b, -c)", |a: R, b, c| (-a).fused(b, -c)),
        Operation::new("NEG_FMA", "-fma(a, b, c)", |a: R, b, c| -a.fused(b, c)),
        Operation::new("NEG_FMA_NEG_C", "-fma(a, b, -c)", |a: R, b, c| -a.fused(b, -c)),
        Operation::new("NEG_FMA_NEG_A", "-fma(-a, b, c)", |a: R, b, c| -(-a).fused(b, c)),
        Operation::new("NEG_FMA_NEG_AC", "-fma(-a, b, -c)", |a: R, b, c| -(-a).fused(b, -c)),
        Operation::new("TWO_SUM", "two_sum(a, b)", |a, b, _: R| a + b).with_error(|a, b, _| {
            let sum = a + b;
            let b_seen = sum - a;
            (a - (sum - b_seen)) + (b - b_seen)
        }),
        Operation::new("TWO_PROD", "two_prod(a, b)", |a, b, _: R| a * b).with_error(|a, b, _| a.fused(b, -(a * b))),
    ]
}

/// Operands for all operations.
pub(crate) struct Operands<R> {
    pub(crate) a: Vec<R>,
    pub(crate) b: Vec<R>,
    pub(crate) c: Vec<R>,
}

/// Random triples of each of the four kinds below.
const RANDOM_PER_KIND: usize = 16384;

/// All triples of special values, and random ones from a fixed seed, of four kinds:
/// - any bits;
/// - exponents so close that rounding decides, with c close to −a·b;
/// - sums and products at the edge of the subnormal numbers;
/// - quotients there.
pub(crate) fn operands<R: Real>(seed: u64) -> Operands<R> {
    let mut random = Random(seed);
    let mut triples = special_triples::<R>();
    triples.extend((0..RANDOM_PER_KIND).map(|_| [random.any(), random.any(), random.any()]));
    triples.extend((0..RANDOM_PER_KIND).map(|_| near_triple(&mut random)));
    triples.extend((0..RANDOM_PER_KIND).map(|_| tiny_triple(&mut random)));
    triples.extend((0..RANDOM_PER_KIND).map(|_| tiny_quotient(&mut random)));
    let column = |place: usize| triples.iter().map(|triple| triple[place]).collect();
    Operands { a: column(0), b: column(1), c: column(2) }
}

fn special_triples<R: Real>() -> Vec<[R; 3]> {
    let (exponent_bits, mantissa_bits) = (R::EXPONENT_BITS, R::MANTISSA_BITS);
    let infinity = ((1u64 << exponent_bits) - 1) << mantissa_bits;
    let one = (infinity >> 1) & infinity;
    let least_normal = 1u64 << mantissa_bits;
    let magnitudes = [
        0,                             // zero
        1,                             // smallest subnormal
        least_normal / 2 + 1,          // a subnormal in the middle
        least_normal - 1,              // largest subnormal
        least_normal,                  // smallest normal
        least_normal + 1,              // the one after
        one - 1,                       // just below one
        one,                           // one
        one + 1,                       // just above one
        infinity - 1,                  // largest
        infinity,                      // infinity
        infinity | (least_normal / 2), // quiet NaN
    ];
    let sign = 1u64 << (exponent_bits + mantissa_bits);
    let values: Vec<R> = magnitudes.iter().flat_map(|&bits| [bits, bits | sign]).map(R::from_low_bits).collect();
    let mut triples = Vec::with_capacity(values.len().pow(3));
    for &a in &values {
        for &b in &values {
            triples.extend(values.iter().map(|&c| [a, b, c]));
        }
    }
    triples
}

fn near_triple<R: Real>(random: &mut Random) -> [R; 3] {
    let bias = bias::<R>();
    let near = bias - 6..=bias + 6;
    let (a, b): (R, R) = (random.real(near.clone()), random.real(near.clone()));
    let c = match random.below(3) {
        0 => random.real(near),
        // Cancels all but the rounding error of the product.
        1 => R::from_low_bits((-(a * b)).low_bits().wrapping_add(random.below(5)).wrapping_sub(2)),
        // Small enough to decide how the product is rounded, and no more.
        _ => {
            let distance = u64::from(R::MANTISSA_BITS);
            random.real(bias - distance - 3..=bias - distance + 3)
        }
    };
    [a, b, c]
}

fn tiny_triple<R: Real>(random: &mut Random) -> [R; 3] {
    let c = random.real(0..=2);
    if random.below(2) == 0 {
        return [random.real(0..=2), random.real(0..=2), c];
    }
    // The exponents of a and b add up to a product from just above the smallest normal number to below the subnormals.
    let (bias, depth) = (bias::<R>(), u64::from(R::MANTISSA_BITS) + 2);
    let a = 1 + random.below(bias - depth);
    let b = bias + 2 - a - random.below(depth + 2);
    [random.real(a..=a), random.real(b..=b), c]
}

fn tiny_quotient<R: Real>(random: &mut Random) -> [R; 3] {
    let bias = bias::<R>();
    let numerator = random.below(u64::from(R::MANTISSA_BITS) + 4);
    let [a, b] = [numerator..=numerator, bias..=bias + u64::from(R::MANTISSA_BITS)].map(|range| random.real(range));
    [a, b, random.any()]
}

/// The biased exponent of 1.
fn bias<R: Real>() -> u64 {
    (1 << (R::EXPONENT_BITS - 1)) - 1
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; nearly uniform, which is enough here.
    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound
    }

    /// Any bit pattern.
    fn any<R: Real>(&mut self) -> R {
        R::from_low_bits(self.next())
    }

    /// Any sign and mantissa, and a biased exponent in the range.
    fn real<R: Real>(&mut self, exponents: std::ops::RangeInclusive<u64>) -> R {
        let exponent = exponents.start() + self.below(exponents.end() - exponents.start() + 1);
        let sign_and_mantissa = self.next();
        let mantissa = sign_and_mantissa & ((1 << R::MANTISSA_BITS) - 1);
        let sign = (sign_and_mantissa >> 63) << (R::EXPONENT_BITS + R::MANTISSA_BITS);
        R::from_low_bits(sign | (exponent << R::MANTISSA_BITS) | mantissa)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of the operands for which `hit` holds.
    fn share<R: Real>(operands: &Operands<R>, hit: impl Fn(R, R, R) -> bool) -> f64 {
        let triples = operands.a.iter().zip(&operands.b).zip(&operands.c);
        triples.filter(|((a, b), c)| hit(**a, **b, **c)).count() as f64 / operands.a.len() as f64
    }

    fn finds_what_devices_do_wrong<R: Real>() {
        let operands = operands::<R>(1);
        let differs = |x: R, y: R| !(x.nan() && y.nan()) && x.low_bits() != y.low_bits();
        for (what, least, found) in [
            ("contraction", 0.02, share(&operands, |a, b, c| differs(a * b + c, a.fused(b, c)))),
            ("subnormal sums", 0.02, share(&operands, |a, b, _| (a + b).subnormal())),
            ("subnormal products", 0.02, share(&operands, |a, b, _| (a * b).subnormal() && !a.subnormal())),
            ("subnormal quotients", 0.02, share(&operands, |a, b, _| (a / b).subnormal() && !a.subnormal())),
            (
                "division by reciprocal",
                0.02,
                share(&operands, |a, b, _| {
                    let one = R::from_low_bits(bias::<R>() << R::MANTISSA_BITS);
                    differs(a / b, a * (one / b))
                }),
            ),
        ] {
            assert!(found > least, "{}: {what} in {found} of the operands", R::NAME);
        }
    }

    #[test]
    fn the_operands_find_contraction_flushing_and_loose_division() {
        finds_what_devices_do_wrong::<f32>();
        finds_what_devices_do_wrong::<f64>();
    }

    #[test]
    fn one_seed_gives_one_set_of_operands() {
        let bits = |operands: Operands<f64>| operands.c.iter().map(|c| c.low_bits()).collect::<Vec<_>>();
        assert_eq!(bits(operands(7)), bits(operands(7)));
        assert_ne!(bits(operands(7)), bits(operands(8)));
    }
}
