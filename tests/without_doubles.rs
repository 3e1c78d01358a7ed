//! Arithmetic of devices that lack it: doubles in integers (`cl/f64.clh`), f32 division and square roots by doubles and in integers (`cl/division.clh`),
//! fma of f32 by doubles (`cl/fused.clh`), against the processor, bit for bit.

use bytemuck::{cast_slice, cast_slice_mut};
use lanefield::backend::opencl::{Arg, Buffer, Cache, Context, Launch};

use crate::common;

const DOUBLES: &str = concat!(
    "#define real float\n",
    include_str!("../cl/f64.clh"),
    "
kernel void apply(uint operation, global const ulong *a, global const ulong *b, global const ulong *c, global ulong *out) {
    const size_t i = get_global_id(0);
    const ulong x = a[i], y = b[i], z = c[i];
    switch (operation) {
    case 0: out[i] = f64_add(x, y); break;
    case 1: out[i] = f64_sub(x, z); break;
    case 2: out[i] = f64_mul(x, y); break;
    case 3: out[i] = f64_div(x, y); break;
    case 4: out[i] = f64_fma(x, y, z); break;
    case 5: out[i] = as_uint(f64_to_real(x)); break;
    case 6: out[i] = f64_of(as_float((uint)x)); break;
    case 7: out[i] = f64_less(x, y) | f64_at_most(x, y) << 1 | f64_equal(x, y) << 2; break;
    case 8: out[i] = f64_plus_product(z, as_float((uint)x), as_float((uint)y)); break;
    case 9: out[i] = f64_is_finite(f64_add(x, z)) ? f64_two_sum(x, z).error : 0; break;
    case 10: out[i] = f64_scaled(x, (int)(y % 1800) - 900); break;
    }
}
"
);

/// The same of the processor.
type OfBits = fn(u64, u64, u64) -> u64;
const HOST: [(&str, OfBits); 11] = [
    ("a + b", |a, b, _| (f64::from_bits(a) + f64::from_bits(b)).to_bits()),
    ("a - c", |a, _, c| (f64::from_bits(a) - f64::from_bits(c)).to_bits()),
    ("a b", |a, b, _| (f64::from_bits(a) * f64::from_bits(b)).to_bits()),
    ("a / b", |a, b, _| (f64::from_bits(a) / f64::from_bits(b)).to_bits()),
    ("fma(a, b, c)", |a, b, c| f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)).to_bits()),
    ("a as f32", |a, _, _| (f64::from_bits(a) as f32).to_bits().into()),
    ("f32 as f64", |a, _, _| f64::from(f32::from_bits(a as u32)).to_bits()),
    ("comparisons", |a, b, _| {
        let (a, b) = (f64::from_bits(a), f64::from_bits(b));
        u64::from(a < b) | u64::from(a <= b) << 1 | u64::from(a == b) << 2
    }),
    ("c + a b of f32", |a, b, c| {
        let [a, b] = [a, b].map(|bits| f64::from(f32::from_bits(bits as u32)));
        a.mul_add(b, f64::from_bits(c)).to_bits()
    }),
    ("error of a + c", |a, _, c| {
        // The greater one first (Dekker).
        let [a, c] = if a << 1 > c << 1 { [a, c] } else { [c, a] }.map(f64::from_bits);
        let sum = a + c;
        // Not -0.
        if sum.is_finite() { (c - (sum - a) + 0.0).to_bits() } else { 0 }
    }),
    ("m 2^e", |a, b, _| ((a as f64) * 2f64.powi((b % 1800) as i32 - 900)).to_bits()),
];

const QUOTIENTS: &str = concat!(
    include_str!("../cl/division.clh"),
    "
kernel void divide(global const uint *a, global const uint *b, global uint *quotients, global uint *roots) {
    const size_t i = get_global_id(0);
    quotients[i] = as_uint(f32_divided(as_float(a[i]), as_float(b[i])));
    roots[i] = as_uint(f32_root(as_float(a[i])));
}
"
);

const FUSED: &str = concat!(
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
    include_str!("../cl/fused.clh"),
    "
kernel void fuse(global const float *a, global const float *b, global const float *c, global float *of_one, global float2 *of_two) {
    const size_t i = get_global_id(0);
    of_one[i] = fma(a[i], b[i], c[i]);
    of_two[i] = fma((float2)(b[i], -a[i]), (float2)(a[i], b[i]), (float2)(c[i], -c[i]));
}
"
);

/// Operands a launch.
const OPERANDS: usize = 1 << 18;

/// Every NaN is one.
fn double(bits: u64) -> u64 {
    if f64::from_bits(bits).is_nan() { f64::NAN.to_bits() } else { bits }
}
fn single(bits: u32) -> u32 {
    if f32::from_bits(bits).is_nan() { f32::NAN.to_bits() } else { bits }
}

/// A sequence of 64-bit numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An operand: any bits, or what roundings, cancellations and the ends of the range ask for beside `near`.
    fn operand(&mut self, near: u64, (exponent_bits, bits): (u32, u32)) -> u64 {
        let (any, choice) = (self.next() >> (64 - bits), self.next());
        let fraction_bits = bits - 1 - exponent_bits;
        let (one, most) = (1u64 << fraction_bits, (1u64 << exponent_bits) - 1);
        let (sign, fraction) = (any & (1 << (bits - 1)), any & (one - 1));
        let near_exponent = (near / one) & most;
        let at = |exponent: u64| sign | (exponent.min(most) * one) | fraction;
        match choice % 8 {
            0 => {
                sign | [0, 1, one - 1, one, most * one - 1, most * one, most * one + 1, most / 2 * one]
                    [choice as usize / 8 % 8]
            }
            1 => any,
            2 => at((near_exponent + choice / 8 % 130).saturating_sub(65)),
            3 => at(most / 2 + choice / 8 % 60 - 30),
            4 => sign | (near_exponent * one) | one >> (1 + choice / 8 % u64::from(fraction_bits)),
            5 => (near ^ sign).wrapping_add(choice / 8 % 5).wrapping_sub(2) & (u64::MAX >> (64 - bits)),
            6 => at(choice / 8 % 4),
            _ => (any & !(one - 1)) | (one - 1) >> (choice / 8 % u64::from(fraction_bits)),
        }
    }
}

fn context() -> Option<(Context, tempfile::TempDir)> {
    let device = common::opencl_device()?;
    let directory = tempfile::tempdir().unwrap();
    Some((Context::open_with_cache(&device, Cache::at(directory.path())).unwrap(), directory))
}

fn upload<T: bytemuck::Pod>(context: &Context, values: &[T]) -> Buffer {
    let buffer = context.allocate(size_of_val(values), "operands").unwrap();
    context.write(&buffer, 0, cast_slice(values)).unwrap();
    buffer
}

const LAUNCH: Launch = Launch { global: [OPERANDS, 1, 1], local: [16, 1, 1] };

fn doubles_in_integers_have_the_bits_of_the_processor(rounds: u64) {
    let Some((context, _directory)) = context() else { return };
    // SAFETY: the kernel has a work-item for each number of the buffers that it is launched with.
    let program = unsafe { context.program("doubles", DOUBLES, "-DSOFT_F64").unwrap() };
    for round in 0..rounds {
        let mut random = Random(round);
        let mut operands = [(); 3].map(|()| Vec::with_capacity(OPERANDS));
        for _ in 0..OPERANDS {
            let a = random.operand(1f64.to_bits(), (11, 64));
            let b = random.operand(a, (11, 64));
            let product = (f64::from_bits(a) * f64::from_bits(b)).to_bits();
            let c =
                if random.next().is_multiple_of(16) { product ^ 1 << 63 } else { random.operand(product, (11, 64)) };
            operands.iter_mut().zip([a, b, c]).for_each(|(column, bits)| column.push(bits));
        }
        let on_device = operands.each_ref().map(|column| upload(&context, column));
        let mut results = vec![0u64; OPERANDS];
        let out = upload(&context, &results);
        for (number, (name, host)) in (0u32..).zip(HOST) {
            let [a, b, c] = on_device.each_ref().map(Arg::Buffer);
            context.launch(&program, "apply", LAUNCH, &[Arg::U32(number), a, b, c, Arg::Buffer(&out)]).unwrap();
            context.read(&out, 0, cast_slice_mut(&mut results)).unwrap();
            for (k, &result) in results.iter().enumerate() {
                let [a, b, c] = operands.each_ref().map(|column| column[k]);
                let expected = host(a, b, c);
                let is_same = match name {
                    "a as f32" => single(result as u32) == single(expected as u32),
                    _ => double(result) == double(expected),
                };
                assert!(is_same, "{name} of {a:#x}, {b:#x}, {c:#x}: {result:#x} instead of {expected:#x}");
            }
        }
    }
}

#[test]
fn doubles_in_integers_have_the_bits_of_doubles() {
    doubles_in_integers_have_the_bits_of_the_processor(1);
}

/// 10⁹ operations.
#[test]
#[ignore = "test-all: a minute"]
fn a_thousand_million_operations_in_integers_have_the_bits_of_doubles() {
    doubles_in_integers_have_the_bits_of_the_processor(400);
}

#[test]
fn quotients_and_roots_are_rounded_without_the_drivers_help() {
    let Some((context, _directory)) = context() else { return };
    for (round, options) in [(0, "-DDIVIDE=32"), (1, "-DDIVIDE=64")] {
        // SAFETY: the kernel has a work-item for each number of the buffers that it is launched with.
        let program = unsafe { context.program("quotients", QUOTIENTS, options).unwrap() };
        let mut random = Random(round);
        let [mut a, mut b] = [(); 2].map(|()| Vec::with_capacity(OPERANDS));
        for _ in 0..OPERANDS {
            a.push(random.operand(1f32.to_bits().into(), (8, 32)) as u32);
            b.push(random.operand(a[a.len() - 1].into(), (8, 32)) as u32);
        }
        let [mut quotients, mut roots] = [(); 2].map(|()| vec![0u32; OPERANDS]);
        let buffers = [&a, &b, &quotients, &roots].map(|column| upload(&context, column));
        context.launch(&program, "divide", LAUNCH, &buffers.each_ref().map(Arg::Buffer)).unwrap();
        context.read(&buffers[2], 0, cast_slice_mut(&mut quotients)).unwrap();
        context.read(&buffers[3], 0, cast_slice_mut(&mut roots)).unwrap();
        for k in 0..OPERANDS {
            let [x, y] = [a[k], b[k]].map(f32::from_bits);
            assert_eq!(single(quotients[k]), single((x / y).to_bits()), "{x:e} / {y:e} with {options}");
            assert_eq!(single(roots[k]), single(x.sqrt().to_bits()), "the root of {x:e} with {options}");
        }
    }
}

#[test]
fn fma_of_doubles_rounds_once() {
    let Some((context, _directory)) = context() else { return };
    // SAFETY: the kernel has a work-item for each number of the buffers that it is launched with.
    let program = unsafe { context.program("fused", FUSED, "-DFMA=64").unwrap() };
    let mut random = Random(3);
    let [mut a, mut b, mut c] = [(); 3].map(|()| Vec::with_capacity(OPERANDS));
    for _ in 0..OPERANDS {
        let mut near = |bits: u32| random.operand(bits.into(), (8, 32)) as u32;
        let x = near(1f32.to_bits());
        let y = near(x);
        c.push(near((-f32::from_bits(x) * f32::from_bits(y)).to_bits()));
        a.push(x);
        b.push(y);
    }
    let (mut one, mut two) = (vec![0u32; OPERANDS], vec![0u32; 2 * OPERANDS]);
    let buffers = [&a, &b, &c, &one, &two].map(|column| upload(&context, column));
    context.launch(&program, "fuse", LAUNCH, &buffers.each_ref().map(Arg::Buffer)).unwrap();
    context.read(&buffers[3], 0, cast_slice_mut(&mut one)).unwrap();
    context.read(&buffers[4], 0, cast_slice_mut(&mut two)).unwrap();
    for k in 0..OPERANDS {
        let [x, y, z] = [a[k], b[k], c[k]].map(f32::from_bits);
        let (expected, negative) = (x.mul_add(y, z).to_bits(), (-x).mul_add(y, -z).to_bits());
        for (found, expected) in [(one[k], expected), (two[2 * k], expected), (two[2 * k + 1], negative)] {
            assert_eq!(single(found), single(expected), "fma({x:e}, {y:e}, {z:e})");
        }
    }
}
