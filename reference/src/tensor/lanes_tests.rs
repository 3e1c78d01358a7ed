//! Every vector computes the same bits as single numbers, in a task of its instruction set, on numbers of all kinds.

use super::*;
use crate::instructions::Instructions;
use crate::tensor::{Task, sets};
#[cfg(target_arch = "x86_64")]
use crate::tensor::{sets::Avx2, x86};

/// Numbers with different signs and exponents, zeros, subnormal and infinite ones.
fn number<R: Real>(k: usize) -> R {
    let special = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 1e-40, -1e-310, f64::NAN];
    R::from_f64(match k % 11 {
        place if place < special.len() && k > 40 => special[place],
        _ => (k as f64 * 0.37 - 9.0).sin() * 2f64.powi((k as i32 * 7) % 40 - 20),
    })
}

fn vector<V: LaneVector>(first: usize) -> V {
    V::from_reals(|k| number(first + k))
}

fn reals<V: LaneVector>(vector: V) -> Vec<V::Real> {
    bytemuck::cast_slice(std::slice::from_ref(&vector)).to_vec()
}

/// Compares a vector with the expected reals.
#[track_caller]
fn holds<V: LaneVector>(what: &str, found: V, expected: impl Fn(usize) -> V::Real) {
    for (k, found) in reals(found).into_iter().enumerate() {
        let expected = expected(k);
        assert!(found.same_bits(expected), "{what}, real {k} of {}: {found:?}, not {expected:?}", V::REALS);
    }
}

struct EveryOperation<V>(PhantomData<V>);

impl<V: LaneVector> Task<usize> for EveryOperation<V> {
    type Output = ();
    #[inline(always)]
    fn run(&self, first: usize) {
        let [a, b, c] = [0, 101, 203].map(|offset| vector::<V>(first + offset));
        let [x, y, z] = [0, 101, 203].map(|offset| move |k: usize| number::<V::Real>(first + offset + k));
        let negative = |x: V::Real| x.to_f64().is_sign_negative();
        holds("splat", V::splat(x(0)), |_| x(0));
        holds("add", a.add(b), |k| x(k) + y(k));
        holds("sub", a.sub(b), |k| x(k) - y(k));
        holds("times", a.times(b), |k| x(k) * y(k));
        holds("negate", a.negate(), |k| -x(k));
        holds("fused", a.fused(b, c), |k| x(k).fused(y(k), z(k)));
        holds("divided_by", a.divided_by(b), |k| x(k) / y(k));
        holds("magnitude", a.magnitude(), |k| if negative(x(k)) { -x(k) } else { x(k) });
        holds("times_sign_of", a.times_sign_of(b), |k| if negative(y(k)) { -x(k) } else { x(k) });
        holds("real_parts", a.real_parts(), |k| x(k & !1));
        holds("imaginary_parts", a.imaginary_parts(), |k| x(k | 1));
        holds("real_parts_at", V::real_parts_at(&a), |k| x(k & !1));
        holds("imaginary_parts_at", V::imaginary_parts_at(&a), |k| x(k | 1));
        holds("with_imaginary_parts", a.with_imaginary_parts(b), |k| if k % 2 == 0 { x(k) } else { y(k) });
        holds("times_i", a.times_i(), |k| if k % 2 == 0 { -x(k + 1) } else { x(k - 1) });
        holds("times_minus_i", a.times_minus_i(), |k| if k % 2 == 0 { x(k + 1) } else { -x(k - 1) });
        holds("add_i", a.add_i(b), |k| if k % 2 == 0 { x(k) - y(k + 1) } else { x(k) + y(k - 1) });
        holds("sub_i", a.sub_i(b), |k| if k % 2 == 0 { x(k) + y(k + 1) } else { x(k) - y(k - 1) });
        holds("blend", a.blend(b, c), |k| if negative(z(k)) { y(k) } else { x(k) });

        // Every place may take any lane, also one that another place takes.
        let lanes = V::REALS / 2;
        for turn in 0..lanes {
            for stride in [1, 3, 0] {
                let from = |lane: usize| (stride * lane + turn) % lanes;
                let positions: Vec<u32> = (0..V::REALS).map(|k| (2 * from(k / 2) + k % 2) as u32).collect();
                holds("permute", a.permute(&V::permutation(&positions)), |k| x(positions[k] as usize));
            }
        }
    }
}

fn does_what_single_numbers_do<V: LaneVector>() {
    for first in 0..60 {
        V::Set::run(&EveryOperation::<V>(PhantomData), first);
    }
}

struct EveryDouble<D>(PhantomData<D>);

impl<D: Doubles> Task<usize> for EveryDouble<D> {
    type Output = ();
    #[inline(always)]
    fn run(&self, first: usize) {
        let [x, y, z] = [0, 101, 203].map(|offset| move |k: usize| number::<f64>(first + offset + k));
        let [a, b, c] = [
            D::from_f64(&std::array::from_fn(x)),
            D::from_f64(&std::array::from_fn(y)),
            D::from_f64(&std::array::from_fn(z)),
        ];
        let holds = |what: &str, found: D, expected: &dyn Fn(usize) -> f64| {
            for (k, found) in found.to_array().into_iter().enumerate() {
                assert!(found.same_bits(expected(k)), "{what}, double {k}: {found:e}, not {:e}", expected(k));
            }
        };
        holds("splat", D::splat(x(0)), &|_| x(0));
        holds("add", a.add(b), &|k| x(k) + y(k));
        holds("sub", a.sub(b), &|k| x(k) - y(k));
        holds("negate", a.negate(), &|k| -x(k));
        holds("fused", a.fused(b, c), &|k| x(k).fused(y(k), z(k)));
        holds("from_f32", D::from_f32(&std::array::from_fn(|k| x(k) as f32)), &|k| f64::from(x(k) as f32));
        let (even, odd) = D::unzip(a, b);
        holds("even places", even, &|k| if k % 2 == 0 { x(k) } else { y(k - 1) });
        holds("odd places", odd, &|k| if k % 2 == 0 { x(k + 1) } else { y(k) });
        assert!(!D::splat(0.0).any_bit() && D::splat(-0.0).any_bit());
        assert!(!D::splat(0.0).or_differences(a, a).any_bit());
        for place in 0..8 {
            let mut other = a.to_array();
            other[place] = f64::from_bits(other[place].to_bits() ^ 1 << (first % 64));
            assert!(D::splat(0.0).or_differences(a, D::from_f64(&other)).any_bit());
            assert!(D::splat(0.0).or_differences(a, D::from_f64(&other)).or_differences(a, a).any_bit());
        }
    }
}

fn doubles_do_what_single_numbers_do<D: Doubles, I: sets::InstructionSet>() {
    for first in 0..60 {
        I::run(&EveryDouble::<D>(PhantomData), first);
    }
}

#[test]
fn vectors_of_every_processor() {
    does_what_single_numbers_do::<Pair<f32, Baseline>>();
    does_what_single_numbers_do::<Pair<f64, Baseline>>();
    does_what_single_numbers_do::<f32x4>();
    does_what_single_numbers_do::<f64x2>();
    doubles_do_what_single_numbers_do::<Portable, Baseline>();
}

#[cfg(target_arch = "x86_64")]
#[test]
fn vectors_of_avx2() {
    if Instructions::best() < Instructions::Avx2 {
        println!("not run: this processor has no AVX2");
        return;
    }
    does_what_single_numbers_do::<Pair<f32, Avx2>>();
    does_what_single_numbers_do::<x86::F32x8>();
    does_what_single_numbers_do::<x86::F64x4>();
    doubles_do_what_single_numbers_do::<x86::TwiceFourDoubles, Avx2>();
}

#[cfg(target_arch = "x86_64")]
#[test]
fn vectors_of_avx512() {
    if Instructions::best() < Instructions::Avx512 {
        println!("not run: this processor has no AVX-512");
        return;
    }
    does_what_single_numbers_do::<x86::F32x16>();
    does_what_single_numbers_do::<x86::F64x8>();
    doubles_do_what_single_numbers_do::<x86::EightDoubles, sets::Avx512>();
}
