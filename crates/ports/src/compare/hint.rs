//! How to make two arrays comparable whose shapes or types differ.

use super::numbers::{Kind, Numbers};
use super::wording::counted;
use crate::Content;
use crate::order::{Convention, Inner, Layout, SiteOrder};

/// For shapes: an order in which one equals the other, an exchange of axes, or the axes that differ.
pub(super) fn of_shapes(a: &[usize], b: &[usize]) -> String {
    if let Some(said) = order(a, b) {
        return said;
    }
    let sorted = |shape: &[usize]| {
        let mut sorted = shape.to_vec();
        sorted.sort_unstable();
        sorted
    };
    let product = |shape: &[usize]| shape.iter().product::<usize>();
    if a.len() == b.len() && sorted(a) == sorted(b) {
        if let (Some((&[t, z, y, x], of_a)), Some((of_b, site))) = (a.split_first_chunk(), b.split_first_chunk())
            && *of_b == [x, y, z, t]
            && of_a == site
        {
            return "B has the axes (X, Y, Z, T) where A has (T, Z, Y, X): transpose one of them".to_owned();
        }
        return format!(
            "they are permutations of each other: B may have A's axes in another order; {}",
            differing_axes(a, b)
        );
    }
    if a.len() == b.len() {
        return differing_axes(a, b);
    }
    let axes = format!("{} and {}", counted(a.len() as u64, "axis"), b.len());
    match product(a) == product(b) {
        true => format!("{axes}, with as many numbers: reshape one of them, if they lie in the same order"),
        false => axes,
    }
}

/// An order of another program in which one array would have the shape of the other.
fn order(a: &[usize], b: &[usize]) -> Option<String> {
    const ORDERS: [(SiteOrder, &str); 4] = [
        (SiteOrder::Lexicographic, ""),
        (SiteOrder::EvenOdd, "an axis of parities and X/2"),
        (SiteOrder::Gpt, "the direction of links first"),
        (SiteOrder::Quda, "the direction of links first, then parities and X/2"),
    ];
    for (name, prefix, ours, theirs) in [("B", "--", a, b), ("A", "--a-", b, a)] {
        for inner in [Inner::SpinColour, Inner::ColourSpin] {
            for (order, has) in ORDERS {
                let convention = Convention { order, inner, ..Convention::OURS };
                let layout = Layout::of(theirs, Content::of_shape(theirs), convention);
                if convention == Convention::OURS || !layout.is_ok_and(|layout| layout.our_shape() == ours) {
                    continue;
                }
                let (colour, option) = match inner {
                    Inner::ColourSpin => ("colour before spin", format!(" {prefix}inner {inner}")),
                    Inner::SpinColour => ("", String::new()),
                };
                let and = if has.is_empty() || colour.is_empty() { "" } else { ", and " };
                let options = match order {
                    SiteOrder::Lexicographic => option,
                    order => format!(" {prefix}order {order}{option}"),
                };
                let odd = match order {
                    SiteOrder::EvenOdd => " (odd-even, if its odd sites come first)",
                    _ => "",
                };
                return Some(format!("{name} has {has}{and}{colour}: read it with{options}{odd}"));
            }
        }
    }
    None
}

/// "axes 0 (8 and 4), 3 (4 and 8) differ"
fn differing_axes(a: &[usize], b: &[usize]) -> String {
    let pairs = a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b);
    let axes: Vec<String> = pairs.map(|(axis, (a, b))| format!("{axis} ({a} and {b})")).collect();
    match &axes[..] {
        [axis] => format!("axis {axis} differs"),
        axes => format!("axes {} differ", axes.join(", ")),
    }
}

/// For types: real and imaginary part as a separate axis.
pub(super) fn of_types(a: &Numbers, b: &Numbers) -> Option<String> {
    let (name, reals, other) = match (a.parts, b.parts) {
        (2, 1) => ("B", b, a),
        (1, 2) => ("A", a, b),
        _ => return None,
    };
    let complex = match reals.kind {
        Kind::F32 => "c8",
        Kind::F64 => "c16",
        Kind::Whole => return None,
    };
    let is_so = matches!(&reals.shape[..], [shape @ .., 2] if shape == other.shape);
    let array = name.to_lowercase();
    is_so.then(|| {
        format!(
            "{name} has real and imaginary parts as its last axis: {array}.view('{complex}')[..., 0] makes complex numbers of it"
        )
    })
}
