//! The factor with which an array solves a system best.

use num_complex::Complex;

/// |b − M x| / |b|, the factor c with which x/c solves the system best, and the residual that is then left. It works for numbers of any magnitude,
/// whose squares could underflow or overflow.
pub fn fit(mx: &[Complex<f64>], b: &[Complex<f64>]) -> (f64, Complex<f64>, f64) {
    let (of_mx, of_b) = (power(mx), power(b));
    let most = of_mx.max(of_b);
    let times = |z: Complex<f64>, power: i32| z * 2f64.powi(power / 2) * 2f64.powi(power - power / 2);
    let norm = |of: &dyn Fn(Complex<f64>, Complex<f64>) -> Complex<f64>| {
        mx.iter().zip(b).map(|(x, b)| of(*x, *b).norm_sqr()).sum::<f64>().sqrt()
    };
    let size = norm(&|_, b| times(b, -of_b));
    let overlap: Complex<f64> = mx.iter().zip(b).map(|(x, b)| times(b.conj(), -of_b) * times(*x, -of_mx)).sum();
    let c = overlap / (size * size);
    let plain = norm(&|x, b| times(b, -most) - times(x, -most)) / size;
    // M x = c b.
    let left = norm(&|x, b| times(b, -of_b) - times(x, -of_mx) / c) / size;
    (times(plain.into(), most - of_b).re, times(c, of_mx - of_b), left)
}

/// The power of two of the largest number.
fn power(numbers: &[Complex<f64>]) -> i32 {
    let most = numbers.iter().fold(0.0, |most: f64, z| most.max(z.re.abs()).max(z.im.abs()));
    if most > 0.0 && most.is_finite() { most.log2().floor() as i32 } else { 0 }
}
