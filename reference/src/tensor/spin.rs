//! Spin projection with 1 ± γ and sums of reconstructed rows (`docs/arithmetic.md` §4). Counterpart: `cl/spin.clh`.

use super::LaneVector;
use super::su3::HalfSpinor;

/// Four spins times three colours.
pub type FullSpinor<V> = [[V; 3]; 4];

/// The two independent rows of (1 + γ_d)ψ if `PLUS`, else of (1 − γ_d)ψ. `psi(spin, colour)` returns ψ.
#[inline(always)]
pub fn project<V: LaneVector, const DIMENSION: usize, const PLUS: bool>(
    psi: impl Fn(usize, usize) -> V,
) -> HalfSpinor<V> {
    // Arguments of functions, not captures of closures: a closure is compiled for itself, and may be called.
    match (DIMENSION, PLUS) {
        (0, true) => [row(&psi, 0, SpinSum::AddI, 3), row(&psi, 1, SpinSum::AddI, 2)],
        (0, false) => [row(&psi, 0, SpinSum::SubI, 3), row(&psi, 1, SpinSum::SubI, 2)],
        (1, true) => [row(&psi, 0, SpinSum::Sub, 3), row(&psi, 1, SpinSum::Add, 2)],
        (1, false) => [row(&psi, 0, SpinSum::Add, 3), row(&psi, 1, SpinSum::Sub, 2)],
        (2, true) => [row(&psi, 0, SpinSum::AddI, 2), row(&psi, 1, SpinSum::SubI, 3)],
        (2, false) => [row(&psi, 0, SpinSum::SubI, 2), row(&psi, 1, SpinSum::AddI, 3)],
        (_, true) => [row(&psi, 0, SpinSum::Add, 2), row(&psi, 1, SpinSum::Add, 3)],
        (_, false) => [row(&psi, 0, SpinSum::Sub, 2), row(&psi, 1, SpinSum::Sub, 3)],
    }
}

#[inline(always)]
fn row<V: LaneVector>(psi: &impl Fn(usize, usize) -> V, upper: usize, sum: SpinSum, lower: usize) -> [V; 3] {
    let mut row = [V::zeroed(); 3];
    for (colour, word) in row.iter_mut().enumerate() {
        *word = sum.of(psi(upper, colour), psi(lower, colour));
    }
    row
}

/// Adds the four rows that follow from the two of `h` to `sum`.
#[inline(always)]
pub fn accumulate<V: LaneVector, const DIMENSION: usize, const PLUS: bool>(sum: &mut FullSpinor<V>, h: HalfSpinor<V>) {
    let [(sum2, upper2), (sum3, upper3)] = const { lower_rows::<DIMENSION, PLUS>() };
    for colour in 0..3 {
        sum[0][colour] = sum[0][colour].add(h[0][colour]);
        sum[1][colour] = sum[1][colour].add(h[1][colour]);
        sum[2][colour] = sum2.of(sum[2][colour], h[upper2][colour]);
        sum[3][colour] = sum3.of(sum[3][colour], h[upper3][colour]);
    }
}

/// a + b, a − b, a + i·b or a − i·b. It is always a constant when it is used.
#[derive(Clone, Copy)]
enum SpinSum {
    Add,
    Sub,
    AddI,
    SubI,
}

impl SpinSum {
    #[inline(always)]
    fn of<V: LaneVector>(self, a: V, b: V) -> V {
        match self {
            Self::Add => a.add(b),
            Self::Sub => a.sub(b),
            Self::AddI => a.add_i(b),
            Self::SubI => a.sub_i(b),
        }
    }
}

/// For the lower rows 2 and 3: the upper row from which each follows, and how it is added.
const fn lower_rows<const DIMENSION: usize, const PLUS: bool>() -> [(SpinSum, usize); 2] {
    match (DIMENSION, PLUS) {
        (0, true) => [(SpinSum::SubI, 1), (SpinSum::SubI, 0)],
        (0, false) => [(SpinSum::AddI, 1), (SpinSum::AddI, 0)],
        (1, true) => [(SpinSum::Add, 1), (SpinSum::Sub, 0)],
        (1, false) => [(SpinSum::Sub, 1), (SpinSum::Add, 0)],
        (2, true) => [(SpinSum::SubI, 0), (SpinSum::AddI, 1)],
        (2, false) => [(SpinSum::AddI, 0), (SpinSum::SubI, 1)],
        (_, true) => [(SpinSum::Add, 0), (SpinSum::Add, 1)],
        (_, false) => [(SpinSum::Sub, 0), (SpinSum::Sub, 1)],
    }
}
