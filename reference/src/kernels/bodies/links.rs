//! The links of a site, as a hot kernel function reads them on the CPU: stored or rebuilt.

use super::lanes::Lanes;
use super::sweep::{LINK_WORDS, OfTask, TWO_ROWS};
use crate::body::value::Coloured;
use crate::layout::{LEGS, Stencil};
use crate::links::LinkFormat;
use crate::tensor::su3::{Factor, Left, link_times_vectors, rebuilt_link, third_row};
use crate::tensor::{LaneVector, Task};

/// One block of the words of a component of an outer site. If components are counted consecutively, `osite` is that of the first.
#[derive(Clone, Copy)]
pub struct Spot {
    pub osite: usize,
    pub part: usize,
    pub block: usize,
}

/// The signed factor of the part of a link that is not stored, at a point.
#[inline(always)]
pub fn factor_of_link<V: LaneVector>(sweep: &OfTask<'_, V>, at: Spot, point: usize) -> V {
    match sweep.edges {
        Some(edges) if sweep.neighbours[at.osite][point] & Stencil::MARK != 0 => edges[point].factor[at.block],
        _ => sweep.interior_factor,
    }
}

/// Rebuilds the links of a site in memory, once for all components. It is used for reconstruct 8, and for reconstruct 12 if a site has several
/// components. It is a separate call, so that kernel functions are not compiled again for it.
pub struct RebuildLinks;

impl<V: LaneVector> Task<(&OfTask<'_, V>, Spot)> for RebuildLinks {
    type Output = ();
    #[inline(always)]
    fn run(&self, (sweep, at): (&OfTask<'_, V>, Spot)) {
        const EIGHT: usize = LinkFormat::Eight.words();
        let blocks = sweep.blocks;
        for argument in sweep.arguments.iter().filter(|argument| !argument.rebuilt.is_null()) {
            let words = argument.words / LEGS;
            assert!(at.osite < argument.objects, "the call was checked");
            for point in 0..LEGS {
                let factor = factor_of_link(sweep, at, point);
                let skipped = (at.osite * LEGS + point) * words * blocks + at.block;
                // SAFETY: the link lies within the field, and has so many words; there is room for all links of the site, which no other task sees.
                unsafe {
                    let first = argument.start.add(skipped);
                    let word = |word: usize| *first.add(word * blocks);
                    let rebuilt = match words {
                        TWO_ROWS => rebuilt_link::<V, TWO_ROWS>(word, factor),
                        _ => rebuilt_link::<V, EIGHT>(word, factor),
                    };
                    argument.rebuilt.add(point * LINK_WORDS).cast::<[[V; 3]; 3]>().write(rebuilt);
                }
            }
        }
    }
}

/// Where the words of a link are stored: three rows, or two if the third follows from them. Consecutive words are `stride` vectors apart.
#[derive(Clone, Copy)]
pub struct LinkRows<V> {
    pub first: *const V,
    pub stride: usize,
    /// The signed factor of the third row, if it is not stored.
    pub factor: Option<V>,
}

impl<V: LaneVector> LinkRows<V> {
    #[inline(always)]
    pub fn row<'a>(self, row: usize) -> [&'a V; 3] {
        assert!(row < 3);
        // SAFETY: there are so many rows, and nobody writes them in the call of a body.
        let word = |column: usize| unsafe { &*self.first.add((3 * row + column) * self.stride) };
        [word(0), word(1), word(2)]
    }

    #[inline(always)]
    fn left(self, row: usize) -> [Left<V>; 3] {
        let [u0, u1, u2] = self.row(row);
        [Left::at(u0), Left::at(u1), Left::at(u2)]
    }

    /// The third row, computed from the others if it is not stored.
    #[inline(always)]
    pub fn third(self, factor: V) -> [V; 3] {
        let [v0, v1, v2] = self.row(1);
        third_row(self.left(0), [*v0, *v1, *v2], factor)
    }

    /// The product with the `M` colour vectors of one component, which fit in registers.
    #[inline(always)]
    pub fn times_vectors<T: Coloured<Lanes<V, N>>, const N: usize, const M: usize>(self, h: T) -> T {
        let mut words = h.to_words();
        let mut vectors = [[V::zeroed(); 3]; M];
        // Indices: iterators were seen to be compiled to calls.
        for k in 0..3 * M {
            vectors[k / 3][k % 3] = words.as_ref()[k].0[0];
        }
        let product = match self.factor {
            Some(factor) => {
                let third = self.third(factor);
                let left = |row: usize, column: usize| match row {
                    2 => Left::new(third[column]),
                    _ => Left::at(self.row(row)[column]),
                };
                link_times_vectors(left, vectors)
            }
            None => link_times_vectors(|row, column| Left::at(self.row(row)[column]), vectors),
        };
        for k in 0..3 * M {
            words.as_mut()[k].0[0] = product[k / 3][k % 3];
        }
        T::from_words(words)
    }

    /// The product with many colour vectors.
    #[inline(always)]
    pub fn times_many<T: Coloured<Lanes<V, N>>, const N: usize>(self, h: T) -> T {
        let h = h.to_words();
        let mut product = h;
        for row in 0..3 {
            let u = match row {
                2 if let Some(factor) = self.factor => {
                    let [u0, u1, u2] = self.third(factor);
                    [Left::new(u0), Left::new(u1), Left::new(u2)]
                }
                _ => self.left(row),
            };
            for vector in 0..T::VECTORS {
                for item in 0..N {
                    let factor = |column: usize| Factor::new(h.as_ref()[3 * vector + column].0[item]);
                    product.as_mut()[3 * vector + row].0[item] =
                        u[2].madd(factor(2), u[1].madd(factor(1), u[0].mul(factor(0))));
                }
            }
        }
        T::from_words(product)
    }
}
