//! Spin projection with 1 ± γ and reconstruction (`docs/arithmetic.md` §4). Counterpart: `cl/spin.clh`.

use super::LaneVector;
use super::su3::HalfSpinor;

/// Four spins times three colours.
pub type FullSpinor<V> = [[V; 3]; 4];

/// The two independent rows of (1 + γ_d)ψ, or of (1 − γ_d)ψ where not `PLUS`. `psi(spin, colour)` gives ψ.
#[inline(always)]
pub fn project<V: LaneVector, const DIMENSION: usize, const PLUS: bool>(
    psi: impl Fn(usize, usize) -> V,
) -> HalfSpinor<V> {
    let row = |combine: fn(V, V) -> V, upper: usize, lower: usize| {
        std::array::from_fn(|colour| combine(psi(upper, colour), psi(lower, colour)))
    };
    match (DIMENSION, PLUS) {
        (0, true) => [row(V::add_i, 0, 3), row(V::add_i, 1, 2)],
        (0, false) => [row(V::sub_i, 0, 3), row(V::sub_i, 1, 2)],
        (1, true) => [row(V::sub, 0, 3), row(V::add, 1, 2)],
        (1, false) => [row(V::add, 0, 3), row(V::sub, 1, 2)],
        (2, true) => [row(V::add_i, 0, 2), row(V::sub_i, 1, 3)],
        (2, false) => [row(V::sub_i, 0, 2), row(V::add_i, 1, 3)],
        (_, true) => [row(V::add, 0, 2), row(V::add, 1, 3)],
        (_, false) => [row(V::sub, 0, 2), row(V::sub, 1, 3)],
    }
}

/// Adds the four rows that follow from the two of `h` to `sum`.
#[inline(always)]
pub fn accumulate<V: LaneVector, const DIMENSION: usize, const PLUS: bool>(sum: &mut FullSpinor<V>, h: HalfSpinor<V>) {
    let (lower2, lower3) = lower_rows::<V, DIMENSION, PLUS>();
    for colour in 0..3 {
        sum[0][colour] = sum[0][colour].add(h[0][colour]);
        sum[1][colour] = sum[1][colour].add(h[1][colour]);
        sum[2][colour] = (lower2.add)(sum[2][colour], h[lower2.of][colour]);
        sum[3][colour] = (lower3.add)(sum[3][colour], h[lower3.of][colour]);
    }
}

/// The four rows that follow from the two of `h`: the first leg of a sum.
#[inline(always)]
pub fn reconstruct<V: LaneVector, const DIMENSION: usize, const PLUS: bool>(h: HalfSpinor<V>) -> FullSpinor<V> {
    let (lower2, lower3) = lower_rows::<V, DIMENSION, PLUS>();
    [h[0], h[1], h[lower2.of].map(lower2.assign), h[lower3.of].map(lower3.assign)]
}

/// How a lower row follows from an upper one: `assign` gives it, `add` adds it to a sum.
struct LowerRow<V> {
    of: usize,
    assign: fn(V) -> V,
    add: fn(V, V) -> V,
}

#[inline(always)]
fn lower_rows<V: LaneVector, const DIMENSION: usize, const PLUS: bool>() -> (LowerRow<V>, LowerRow<V>) {
    let same = |of| LowerRow { of, assign: (|h| h) as fn(V) -> V, add: V::add };
    let minus = |of| LowerRow { of, assign: V::negate, add: V::sub };
    let i = |of| LowerRow { of, assign: V::times_i, add: V::add_i };
    let minus_i = |of| LowerRow { of, assign: V::times_minus_i, add: V::sub_i };
    match (DIMENSION, PLUS) {
        (0, true) => (minus_i(1), minus_i(0)),
        (0, false) => (i(1), i(0)),
        (1, true) => (same(1), minus(0)),
        (1, false) => (minus(1), same(0)),
        (2, true) => (minus_i(0), i(1)),
        (2, false) => (i(0), minus_i(1)),
        (_, true) => (same(0), same(1)),
        (_, false) => (minus(0), minus(1)),
    }
}
