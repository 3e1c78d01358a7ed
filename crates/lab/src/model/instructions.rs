//! The arithmetic of one spinor or colour vector, counted in the sources of `cl/` (in the forms of docs/arithmetic.md): real multiplications,
//! additions and multiply-adds are one instruction each. Loads and stores come from the access model. Addresses, tables and loops are not counted,
//! so the number of issue slots is an underestimate.

use lanefield::kernel::{Access, FieldContents, FieldRole, FieldSites};
use lanefield::prelude::*;
use lanefield_reference::layout::LEGS;
use serde::Serialize;

use super::launched::Launched;

#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Instructions {
    /// Arithmetic, in the precision of the fields; in f32 for half precision.
    pub arithmetic: f64,
    /// Bit operations that convert between stored halves and numbers.
    pub conversion: f64,
    pub memory: f64,
}

impl Instructions {
    pub fn all(&self) -> f64 {
        self.arithmetic + self.conversion + self.memory
    }
}

const COMPLEX: f64 = 4.0;
const ROW: f64 = 3.0 * COMPLEX;
const SPINOR_SUM: f64 = 24.0;
const PROJECTION: f64 = 12.0;
/// Rebuilding the third row: two complex products and a scale for each of three elements.
const THIRD_ROW: f64 = 3.0 * (2.0 * COMPLEX + 2.0);
/// Rebuilding the first two rows from 8 reals (`rebuild_two_rows`), with a division counted as eight instructions.
const TWO_ROWS: f64 = 62.0;
/// Blocks of a clover term times a spinor: twelve rows with one real and five complex elements.
const BLOCKS: f64 = 12.0 * (2.0 + 5.0 * COMPLEX);
/// Storing a number as a fraction: one bit operation and one multiply-add. Its rounding: a magnitude and its maximum, a multiply-add, two clamps,
/// and for two numbers three bit operations.
const CLAMPED: f64 = 4.0;

impl Launched {
    /// Instructions for one component of a launch. For a stencil: those of its legs, and of the fields that it reads at the site itself. For all
    /// other kernels, two operations count as one multiply-add.
    pub(crate) fn instructions(&self) -> Instructions {
        let shape = &self.shape;
        let words = shape.target.object.part_words() as f64;
        let at_once = self.at_once as f64;
        let memory = self.program().len() as f64 / at_once;
        let legs = LEGS as f64;
        let links = shape.links();
        let rebuilt = match links.map_or(LinkFormat::Full, |links| links.format) {
            LinkFormat::Full => 0.0,
            LinkFormat::TwoRows => THIRD_ROW,
            LinkFormat::Eight => THIRD_ROW + TWO_ROWS,
        } / at_once;
        let arithmetic = match self.stencil {
            None => shape.work().flops as f64 / (2.0 * shape.volume() as f64 * shape.parts() as f64),
            Some(_) => {
                let read = |role: &FieldRole| match (role.holds, role.at) {
                    (FieldContents::Spinors, FieldSites::Neighbours) => {
                        legs * (PROJECTION + 2.0 * 3.0 * ROW + SPINOR_SUM + rebuilt) - SPINOR_SUM
                    }
                    (FieldContents::ColourVectors, FieldSites::Neighbours) => legs * (3.0 * ROW + 6.0 + rebuilt),
                    (FieldContents::CloverBlocks, _) => BLOCKS,
                    (FieldContents::Spinors | FieldContents::ColourVectors, _) => 2.0 * words,
                    _ => 0.0,
                };
                let roles = shape.kernel.fields().filter(|role| role.access == Access::Read);
                roles.map(|role| read(&role)).sum()
            }
        };
        let (mut scaled, mut conversion) = (0.0, 0.0);
        if shape.precision() == Precision::Half {
            let loaded = match (self.stencil.is_some(), links) {
                (true, Some(links)) => legs * (words + links.format.words() as f64 / at_once),
                _ => words,
            };
            let stored = if self.program().iter().any(|instruction| instruction.store) { words } else { 0.0 };
            scaled = 2.0 * (loaded + CLAMPED * stored);
            conversion = 2.0 * loaded + 5.0 * stored;
        }
        Instructions { arithmetic: arithmetic + scaled, conversion, memory }
    }
}
