//! Digests of numbers, which depend only on their values.

use bytemuck::cast_slice;
use lanefield_reference::real::Real;
use num_complex::Complex;
use sha2::{Digest as _, Sha256};

/// SHA-256 of complex numbers, each as its real and its imaginary part in little-endian f64, as 64 hex digits.
pub fn digest_of_numbers<R: Real>(values: &[Complex<R>]) -> String {
    let mut digest = Sha256OfNumbers::default();
    digest.add(values);
    digest.finish()
}

/// The same for numbers that arrive in several pieces.
#[derive(Default)]
pub struct Sha256OfNumbers(Sha256);

impl Sha256OfNumbers {
    /// Adds numbers.
    pub fn add<R: Real>(&mut self, values: &[Complex<R>]) {
        let mut bytes: Vec<[u8; 8]> = Vec::new();
        for chunk in values.chunks(1 << 14) {
            bytes.clear();
            bytes.extend(chunk.iter().flat_map(|z| [z.re, z.im].map(|x| x.to_f64().to_le_bytes())));
            self.0.update(cast_slice(&bytes));
        }
    }

    /// The digest of all numbers that were added.
    pub fn finish(self) -> String {
        hex::encode(self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_of_little_endian_parts() {
        let bytes: Vec<u8> = [1.0f64, -2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(digest_of_numbers(&[Complex::new(1.0, -2.0)]), hex::encode(Sha256::digest(&bytes)));
    }
}
