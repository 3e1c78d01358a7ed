//! Lines within a box.

/// The pieces of a line that are inside a box from one corner to another.
pub(crate) fn clipped(points: &[[f64; 2]], low: [f64; 2], high: [f64; 2]) -> Vec<Vec<[f64; 2]>> {
    let mut pieces: Vec<Vec<[f64; 2]>> = Vec::new();
    for pair in points.windows(2) {
        let Some([from, to]) = segment([pair[0], pair[1]], low, high) else { continue };
        match pieces.last_mut() {
            Some(piece) if piece.last() == Some(&from) => piece.push(to),
            _ => pieces.push(vec![from, to]),
        }
    }
    pieces
}

/// Liang and Barsky: the part of a segment that is inside.
fn segment([from, to]: [[f64; 2]; 2], low: [f64; 2], high: [f64; 2]) -> Option<[[f64; 2]; 2]> {
    let along = [to[0] - from[0], to[1] - from[1]];
    let (mut first, mut last) = (0.0f64, 1.0f64);
    for axis in 0..2 {
        for (step, room) in [(-along[axis], from[axis] - low[axis]), (along[axis], high[axis] - from[axis])] {
            if step == 0.0 {
                if room < 0.0 {
                    return None;
                }
            } else if step < 0.0 {
                first = first.max(room / step);
            } else {
                last = last.min(room / step);
            }
        }
    }
    let at = |part: f64| match part {
        0.0 => from,
        1.0 => to,
        part => [from[0] + part * along[0], from[1] + part * along[1]],
    };
    (first <= last).then(|| [at(first), at(last)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_at_the_edges_and_comes_back() {
        let line = [[-1.0, 0.5], [0.5, 0.5], [0.5, 2.0], [0.8, 2.0], [0.8, 0.5]];
        let pieces = clipped(&line, [0.0, 0.0], [1.0, 1.0]);
        assert_eq!(pieces, [vec![[0.0, 0.5], [0.5, 0.5], [0.5, 1.0]], vec![[0.8, 1.0], [0.8, 0.5]]]);
        assert!(clipped(&[[2.0, 2.0], [3.0, 3.0]], [0.0, 0.0], [1.0, 1.0]).is_empty());
    }
}
