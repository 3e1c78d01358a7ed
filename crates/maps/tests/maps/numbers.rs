//! Operations on numbers: functions of real ones, and integers that wrap around.

use lanefield_reference::scalar::functions as plain_functions;

use super::*;

/// Functions of real numbers, in both precisions.
#[map_kernel]
pub(super) fn functions<P: Point>(p: P, single: Write<P, f32, 1>, double: Write<P, f64, 1>, x: Read<P, f32, 1>) {
    let (i, x) = (p.index(), x.at(p.index()));
    let wide = x.promoted();
    single.write(i, x.exp() + (x.abs().log() + x.cos() * x.sin()));
    double.write(i, wide.exp() + (wide.abs().log() + wide.cos() * wide.sin()));
}

#[test]
fn functions_of_real_numbers_are_those_of_plain_loops() {
    fn plain<R: lanefield_reference::real::Real>(x: R) -> u64 {
        let [cosine, sine] = plain_functions::cos_sin(x);
        let magnitude = if x < R::from_f64(0.0) { -x } else { x };
        (plain_functions::exp(x) + (plain_functions::log(magnitude) + cosine * sine)).bits()
    }
    let hard = [0.0, -0.0, 1e-45, f32::MAX, 1e6, 2e6, 88.7, f32::INFINITY, f32::NAN];
    let x: Vec<f32> = (1..300).map(|k| 0.37 * k as f32).chain(hard).flat_map(|x| [x, -x]).collect();
    let (single, double) = everywhere!(|backend| {
        let (mut single, mut double) = (backend.zero_array([x.len()]).unwrap(), backend.zero_array([x.len()]).unwrap());
        let of_x = backend.array([x.len()], &x).unwrap();
        Functions { single: &mut single, double: &mut double, x: &of_x }.launch(backend, [x.len()]).unwrap();
        // Any not a number is as good as another one.
        let single: Vec<f32> = single.read(backend).unwrap();
        let double: Vec<f64> = double.read(backend).unwrap();
        let of_single = |x: f32| if x.is_nan() { None } else { Some(x.bits()) };
        let of_double = |x: f64| if x.is_nan() { None } else { Some(x.bits()) };
        (single.into_iter().map(of_single).collect::<Vec<_>>(), double.into_iter().map(of_double).collect::<Vec<_>>())
    });
    for (k, &x) in x.iter().enumerate() {
        if let (Some(single), Some(double)) = (single[k], double[k]) {
            assert_eq!((single, double), (plain(x), plain(f64::from(x))), "{x}");
        } else {
            assert!(x.is_nan() || x.abs() > 1048576.0, "{x}");
        }
    }
}

/// Integer operations, where they wrap around and where they divide by nothing.
#[map_kernel]
pub(super) fn integer_operations<P: Point>(
    p: P,
    out: Write<P, i32, 2>,
    unsigned: Write<P, u32, 2>,
    x: Read<P, i32, 1>,
) {
    let ([i, j], [a, b]) = (p.index(), p.index::<2>().map(|k| x.at([k])));
    let sum = (a + b).bit_xor(a - b).bit_or(a * b).bit_and(a.shifted_right(3) + b.shifted_left(5));
    out.write([i, j], (a / b) + (a % b) * 3 + sum + a.least(b) - a.greatest(b));
    let (a, b) = (p.unsigned(a), p.unsigned(b));
    let chosen = P::U32::select(a.less(b).and(a.equals(b).not()), a / b, a % b);
    unsigned.write([i, j], (chosen + a.shifted_right(7)).bit_xor(a * b - 1));
}

#[test]
fn integers_wrap_around_and_divide_by_nothing_as_they_do_on_the_cpu() {
    let mut x = vec![0, 1, -1, 2, 7, i32::MIN, i32::MAX, i32::MIN + 1, 32];
    x.extend(integers(20));
    let n = x.len();
    let (signed, unsigned) = everywhere!(|backend| {
        let (mut out, mut unsigned) = (backend.zero_array([n, n]).unwrap(), backend.zero_array([n, n]).unwrap());
        let x = backend.array([n], &x).unwrap();
        IntegerOperations { out: &mut out, unsigned: &mut unsigned, x: &x }.launch(backend, [n, n]).unwrap();
        (out.read(backend).unwrap(), unsigned.read(backend).unwrap())
    });
    for (k, (found, of_unsigned)) in signed.into_iter().zip(unsigned).enumerate() {
        let [a, b] = [x[k / n], x[k % n]].map(i64::from);
        let low = |x: i64| x as i32;
        let bits = (low(a + b) ^ low(a - b) | low(a * b)) & low(i64::from(low(a >> 3)) + i64::from(low(b << 5)));
        let (quotient, rest) = if b == 0 { (0, a) } else { (a / b, a % b) };
        let expected = i64::from(low(quotient)) + rest * 3 + i64::from(bits) + a.min(b) - a.max(b);
        assert_eq!(found, low(expected), "{a} and {b}");
        let [a, b] = [x[k / n], x[k % n]].map(|x| u64::from(x as u32));
        let chosen = if a < b {
            a / b
        } else if b == 0 {
            a
        } else {
            a % b
        };
        assert_eq!(
            of_unsigned,
            (chosen as u32).wrapping_add((a >> 7) as u32) ^ (a as u32).wrapping_mul(b as u32).wrapping_sub(1)
        );
    }
}
