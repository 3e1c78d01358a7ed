//! The numbers that half precision stores: fractions and steps.

use lanefield::io::npy::RawArray;
use lanefield::kernel::Numbers;
use lanefield::prelude::*;
use lanefield::reference::field::Object;
use lanefield::reference::half::Half;

use super::stage::Stage;
use crate::golden::array::{axes_of, content_of};
use crate::golden::directory::Writer;
use crate::golden::error::GoldenError;
use crate::golden::inputs::input;
use crate::golden::setup::Setup;

/// Writes the fractions and steps of a field, given before rounding, for objects whose components come after the lattice's axes. Fractions have an
/// axis for re and im after those of the field; there is a step for each component of a site.
pub(super) fn stored(
    stage: &mut Stage<'_>,
    name: &str,
    object: Object,
    extents: Extents,
    values: &[Complex<f32>],
) -> Result<(), GoldenError> {
    let (mut fractions, mut steps) = (Vec::new(), Vec::new());
    for part in values.chunks_exact(object.part_words()) {
        let reals: Vec<f32> = part.iter().flat_map(|z| [z.re, z.im]).collect();
        let (step, of_part) = Half::fractions(&reals);
        steps.push(if step.is_nan() { f32::NAN } else { step });
        fractions.extend(of_part);
    }
    let mut axes = axes_of(object, extents);
    let of_steps: Vec<usize> =
        axes[..4].iter().copied().chain((object.parts() > 1).then_some(object.parts())).collect();
    axes.push(2);
    stage.array_of(&format!("{name}.fractions"), content_of(object), &RawArray::i16(&axes, &fractions))?;
    stage.array(&format!("{name}.steps"), &RawArray::f32(&of_steps, &steps))
}

pub(super) fn export(setup: &Setup<'_>, writer: &mut Writer) -> Result<(), GoldenError> {
    setup.tell("half precision")?;
    const NUMBER: u32 = 2;
    let (spinor, extents) = (Object::Spinors(1), setup.options.extents);
    let before = input(setup, writer, Precision::F32, spinor, NUMBER)?;
    let after = input(setup, writer, Precision::Half, spinor, NUMBER)?;
    let about = "fractions and steps of the spinors of the parameter before, and the numbers that they stand for: those of the parameter after";
    let mut stage = Stage::new(writer, "half", "12", about).with("before", before).with("after", after);
    let lattice = setup.lattice(Precision::F32)?;
    let field = setup.data.field::<f32, Spinors>(lattice, Sites::Full, Spinors::ONE, Numbers::Ordinary, NUMBER)?;
    stored(&mut stage, "spinor", spinor, extents, &field.to_site_order())?;
    stage.done();
    Ok(())
}
